// test/core/json_test.cpp — what is taken and refused, where and in which words, and what is
// written.
#include <keyspan/core/json.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/copy_value.hpp>
#include <support/random.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::string_view_literals;
using keyspan::errc;
using keyspan::json_kind;
using keyspan::json_reader;
using keyspan::json_writer;
using keyspan::result;
using keyspan::text_position;
using test::check;
using test::copy_value;

// [region: read_an_object]
struct stretch {
  std::string_view min;
  std::string_view max;
  int count = 0;
};

constexpr result<stretch> read_stretch(std::string_view text) {
  json_reader in{text};
  stretch read;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "min")
      read.min = in.string();
    else if (name == "max")
      read.max = in.string();
    else if (name == "count")
      read.count = in.integer<int>();
    else
      in.fail_here("no such member: ", name);
  }
  if (read.max.empty()) in.fail_here("the member max is missing");
  return in.finish(read);
}
// [end: read_an_object]

// [region: write_an_object]
constexpr result<std::size_t> write_stretch(stretch const& written, std::span<char> room) {
  json_writer out{room};
  out.begin_object();
  out.name("min").string(written.min);
  out.name("max").string(written.max);
  out.name("count").integer(written.count);
  out.end_object();
  return out.finish().transform(&std::string_view::size);
}
// [end: write_an_object]

constexpr bool an_object_is_read_by_its_schema() {
  auto const read = read_stretch(R"({"min": "", "max": "FF", "count": -5})");
  check(read.has_value() && read->min.empty() && read->max == "FF" && read->count == -5);
  check(read_stretch(R"({"max":"FF","other":1})").error().to_text() ==
        "malformed at line 1, column 13: no such member: other");
  check(read_stretch(R"({"min":"FF" })").error().to_text() ==
        "malformed at line 1, column 13: the member max is missing");
  check(read_stretch("{\"max\":\"FF\",\n \"count\":\"5\"}").error().to_text() ==
        "malformed at line 2, column 10: expected a number, found a string");
  return true;
}
CHECK_BOTH(an_object_is_read_by_its_schema);

constexpr bool an_object_is_written_into_given_room() {
  char room[64]{};
  auto const size = write_stretch({.min = "05C1", .max = "FF", .count = 7}, room);
  check(std::string_view{room, size.value()} == R"({"min":"05C1","max":"FF","count":7})");
  // Every smaller room is too small, and nobody writes beyond it.
  for (std::size_t small = 0; small < *size; ++small) {
    for (char& c : room) c = '~';
    check(write_stretch({.min = "05C1", .max = "FF", .count = 7}, std::span{room}.first(small))
              .error()
              .code == errc::too_large);
    for (std::size_t i = small; i < sizeof room; ++i) check(room[i] == '~');
  }
  return true;
}
CHECK_BOTH(an_object_is_written_into_given_room);

// ---- the grammar

constexpr result<std::string_view> skipped(std::string_view text) {
  json_reader in{text};
  auto const value = in.skip();
  return in.finish(value);
}

constexpr bool what_json_is_is_taken() {
  constexpr std::string_view table[]{
      "null",
      "true",
      "false",
      "0",
      "-0",
      "-0.0e-0",
      "1E+2",
      R"("")",
      R"("a")",
      R"("\"\\\/\b\f\n\r\t\u0000\u20AC\uD83D\uDE00\ud83d\ude00")",
      "\"\x7F h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xE2\x80\xA8\"",
      "[]",
      "{}",
      "[[[[]]],{}]",
      R"({"":0})",
      R"({"a":{"a":{"a":[{"a":1},{"a":2}]}},"A":[]})",
      R"({"a":1,"b":{"b":1,"a":2},"c":[{"a":1},{"c":2}]})",
      R"(["a","a",{"a":"a"}])",
      " \t\r\n [ 1 , 2 ] \t\r\n ",
      "{ \"a\" : 1 , \"b\" : [ ] }",
      "[1.7976931348623157e308,5e-1]",
      "123456789012345678901234567890",
  };
  for (auto const text : table) {
    if (std::is_constant_evaluated() && text.find("308") != text.npos) continue;
    if (std::is_constant_evaluated() && text.size() == 30 && text[0] == '1') continue;
    check(skipped(text).has_value());
  }
  check(*skipped(" [ 1 ] ") == "[ 1 ]");
  return true;
}
CHECK_BOTH(what_json_is_is_taken);

struct refused {
  std::string_view text;
  errc code;
  text_position at;
  std::string_view words;
};

// The offsets are told apart from the columns by characters of several bytes, é (2), € (3) and 😀
// (4).
constexpr refused refusals[]{
    // nothing, and too much
    {"", errc::malformed, {1, 1, 0}, "expected a value, found the end of the text"},
    {" \n ", errc::malformed, {2, 2, 3}, "expected a value, found the end of the text"},
    {"1 2", errc::malformed, {1, 3, 2}, "expected the end of the text, found '2'"},
    {"{}}", errc::malformed, {1, 3, 2}, "expected the end of the text, found '}'"},
    {"[],", errc::malformed, {1, 3, 2}, "expected the end of the text, found ','"},
    {"null\0"sv, errc::malformed, {1, 5, 4}, "expected the end of the text, found U+0000"},
    {"\xEF\xBB\xBF{}", errc::malformed, {1, 1, 0}, "expected a value, found a byte order mark"},
    {"\v1", errc::malformed, {1, 1, 0}, "expected a value, found U+000B"},
    {"\xC2\xA0"
     "1",
     errc::malformed,
     {1, 1, 0},
     "expected a value, found '\xC2\xA0'"},
    {"// no\n1", errc::malformed, {1, 1, 0}, "expected a value, found '/'"},
    {"[1] /* no */", errc::malformed, {1, 5, 4}, "expected the end of the text, found '/'"},
    {"'a'", errc::malformed, {1, 1, 0}, "expected a value, found '''"},
    {"\xFF", errc::malformed, {1, 1, 0}, "expected a value, found the byte 0xFF"},
    {"\x7F", errc::malformed, {1, 1, 0}, "expected a value, found U+007F"},
    // words
    {"nul", errc::malformed, {1, 1, 0}, "expected null"},
    {"True", errc::malformed, {1, 1, 0}, "expected a value, found 'T'"},
    {"truE", errc::malformed, {1, 1, 0}, "expected true"},
    {"fals", errc::malformed, {1, 1, 0}, "expected false"},
    {"nullx", errc::malformed, {1, 5, 4}, "expected the end of the text, found 'x'"},
    {"NaN", errc::malformed, {1, 1, 0}, "expected a value, found 'N'"},
    {"undefined", errc::malformed, {1, 1, 0}, "expected a value, found 'u'"},
    // numbers
    {"01",
     errc::malformed,
     {1, 2, 1},
     "expected '.' or the end of the number after a leading zero, found '1'"},
    {"[-]", errc::malformed, {1, 3, 2}, "expected a digit, found ']'"},
    {"+1", errc::malformed, {1, 1, 0}, "expected a value, found '+'"},
    {".5", errc::malformed, {1, 1, 0}, "expected a value, found '.'"},
    {"[5.]", errc::malformed, {1, 4, 3}, "expected a digit after '.', found ']'"},
    {"1e",
     errc::malformed,
     {1, 3, 2},
     "expected a digit of the exponent, found the end of the text"},
    {"0x1", errc::malformed, {1, 2, 1}, "expected the end of the text, found 'x'"},
    {"-Infinity", errc::malformed, {1, 2, 1}, "expected a digit, found 'I'"},
    {"[1e999]",
     errc::not_representable,
     {1, 2, 1},
     "1e999 is beyond the largest double, 1.7976931348623157e308"},
    // arrays
    {"[", errc::malformed, {1, 2, 1}, "expected an element or ']', found the end of the text"},
    {"[1",
     errc::malformed,
     {1, 3, 2},
     "expected ',' or ']' after an element, found the end of the text"},
    {"[1 2]", errc::malformed, {1, 4, 3}, "expected ',' or ']' after an element, found '2'"},
    {"[1,]", errc::malformed, {1, 4, 3}, "expected an element after ',', found ']'"},
    {"[,1]", errc::malformed, {1, 2, 1}, "expected a value, found ','"},
    {"[1,", errc::malformed, {1, 4, 3}, "expected a value, found the end of the text"},
    {"[1,,2]", errc::malformed, {1, 4, 3}, "expected a value, found ','"},
    {"[1}", errc::malformed, {1, 3, 2}, "expected ',' or ']' after an element, found '}'"},
    {"[\"\xE2\x82\xAC\"x]",
     errc::malformed,
     {1, 5, 6},
     "expected ',' or ']' after an element, found 'x'"},
    {"]", errc::malformed, {1, 1, 0}, "expected a value, found ']'"},
    // objects
    {"{", errc::malformed, {1, 2, 1}, "expected a member's name or '}', found the end of the text"},
    {"{\"a\"}", errc::malformed, {1, 5, 4}, "expected ':' after a member's name, found '}'"},
    {"{\"a\" 1}", errc::malformed, {1, 6, 5}, "expected ':' after a member's name, found '1'"},
    {"{\"a\":}", errc::malformed, {1, 6, 5}, "expected a value, found '}'"},
    {"{\"a\":1,}", errc::malformed, {1, 8, 7}, "expected a member's name after ',', found '}'"},
    {"{,}", errc::malformed, {1, 2, 1}, "expected a member's name or '}', found ','"},
    {"{a:1}", errc::malformed, {1, 2, 1}, "expected a member's name or '}', found 'a'"},
    {"{1:1}", errc::malformed, {1, 2, 1}, "expected a member's name or '}', found '1'"},
    {"{\"a\":1;\"b\":2}",
     errc::malformed,
     {1, 7, 6},
     "expected ',' or '}' after a member, found ';'"},
    {"{\"a\":1]", errc::malformed, {1, 7, 6}, "expected ',' or '}' after a member, found ']'"},
    {"{\"a\":1\n,\n  5}",
     errc::malformed,
     {3, 3, 11},
     "expected a member's name after ',', found '5'"},
    {"{\"a\":1,\"b\":2,\"a\":3}",
     errc::malformed,
     {1, 14, 13},
     "expected each name once in an object, found again: a"},
    {"{\"a\":1,\"\\u0061\":3}",
     errc::malformed,
     {1, 8, 7},
     "expected each name once in an object, found again: \\u0061"},
    {"{\"\":1,\"\":3}",
     errc::malformed,
     {1, 7, 6},
     "expected each name once in an object, found again: "},
    {"[{\"\\n\":{\"\\n\":[{}]},\"\\u000a\":3}]",
     errc::malformed,
     {1, 20, 19},
     "expected each name once in an object, found again: \\u000a"},
    // strings
    {"\"",
     errc::malformed,
     {1, 2, 1},
     "expected '\"' at the end of a string, found the end of the text"},
    {"\"a\\\"",
     errc::malformed,
     {1, 5, 4},
     "expected '\"' at the end of a string, found the end of the text"},
    {"\"a\nb\"",
     errc::malformed,
     {1, 3, 2},
     "expected an escape such as \\n for a control character in a string, found U+000A"},
    {"\"12345678\0\""sv,
     errc::malformed,
     {1, 10, 9},
     "expected an escape such as \\n for a control character in a string, found U+0000"},
    {"\"\\x\"",
     errc::malformed,
     {1, 3, 2},
     "expected one of \" \\ / b f n r t u after a backslash, found 'x'"},
    {"\"\\",
     errc::malformed,
     {1, 3, 2},
     "expected one of \" \\ / b f n r t u after a backslash, found the end of the text"},
    {"\"\\\0\""sv,
     errc::malformed,
     {1, 3, 2},
     "expected one of \" \\ / b f n r t u after a backslash, found U+0000"},
    {"\"\\u12G4\"",
     errc::malformed,
     {1, 6, 5},
     "expected four hexadecimal digits after \\u, found 'G'"},
    {"\"\\u12",
     errc::malformed,
     {1, 6, 5},
     "expected four hexadecimal digits after \\u, found the end of the text"},
    {"\"\\U0041\"",
     errc::malformed,
     {1, 3, 2},
     "expected one of \" \\ / b f n r t u after a backslash, found 'U'"},
    {"\"\\uD800\"",
     errc::invalid_utf8,
     {1, 2, 1},
     "expected both halves of a surrogate pair, found one alone"},
    {"\"\\uDC00\"",
     errc::invalid_utf8,
     {1, 2, 1},
     "expected both halves of a surrogate pair, found one alone"},
    {"\"ab\\uD83D\\n\"",
     errc::invalid_utf8,
     {1, 4, 3},
     "expected both halves of a surrogate pair, found one alone"},
    {"\"\\uD83D\\u0041\"",
     errc::invalid_utf8,
     {1, 2, 1},
     "expected both halves of a surrogate pair, found one alone"},
    {"\"\\uD83D\\uD83D\\uDE00\"",
     errc::invalid_utf8,
     {1, 2, 1},
     "expected both halves of a surrogate pair, found one alone"},
    {"\"\\uDE00\\uD83D\"",
     errc::invalid_utf8,
     {1, 2, 1},
     "expected both halves of a surrogate pair, found one alone"},
    {"\"\\uD83D\\u\"",
     errc::malformed,
     {1, 10, 9},
     "expected four hexadecimal digits after \\u, found '\"'"},
    {"\"\xC3\xA9\xC0\x80\"",
     errc::invalid_utf8,
     {1, 3, 3},
     "expected well-formed UTF-8 in a string"},
    {"\"\xED\xA0\x80\"", errc::invalid_utf8, {1, 2, 1}, "expected well-formed UTF-8 in a string"},
    {"\"123456789\xF4\x90\x80\x80\"",
     errc::invalid_utf8,
     {1, 11, 10},
     "expected well-formed UTF-8 in a string"},
    {"\"\xE2\x82\"", errc::invalid_utf8, {1, 2, 1}, "expected well-formed UTF-8 in a string"},
    {"{\"\xFF\":1}", errc::invalid_utf8, {1, 3, 2}, "expected well-formed UTF-8 in a string"},
    // lines end with a line feed, a carriage return, or both; columns count characters
    {"[\r\n1,\r\nx]", errc::malformed, {3, 1, 7}, "expected a value, found 'x'"},
    {"[\r1,\rx]", errc::malformed, {3, 1, 5}, "expected a value, found 'x'"},
    {"[\n\n\n  \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\" \xF0\x9F\x98\x80]",
     errc::malformed,
     {4, 9, 18},
     "expected ',' or ']' after an element, found '\xF0\x9F\x98\x80'"},
};

constexpr bool what_json_is_not_is_refused_by_place_and_words() {
  for (auto const& row : refusals) {
    if (std::is_constant_evaluated() && row.code == errc::not_representable) continue;
    auto const read = skipped(row.text);
    check(!read.has_value());
    check(read.error().code == row.code);
    check(read.error().position == row.at);
    check(read.error().text == row.words);
  }
  return true;
}
CHECK_BOTH(what_json_is_not_is_refused_by_place_and_words);

TEST_CASE("what json is not is refused, row by row") {
  for (auto const& row : refusals) {
    INFO(row.text);
    auto const read = skipped(row.text);
    REQUIRE(!read.has_value());
    auto const& error = read.error();
    CHECK(name_of(error.code) == name_of(row.code));
    CHECK(error.text.view() == row.words);
    CHECK(error.position.line == row.at.line);
    CHECK(error.position.column == row.at.column);
    CHECK(error.position.offset == row.at.offset);
  }
}

// ---- values

constexpr bool strings_are_read_with_their_escapes() {
  json_reader in{
      R"(["", "plain", "\"\\\/\b\f\n\r\t", "\u0041\u00e9\u20AC\uD83D\ude00\u0000.", "a\nb", "12345678\u002D90123456789"])"};
  std::vector<std::string_view> read;
  in.begin_array();
  while (in.next_element()) read.push_back(in.string());
  in.finish();
  check(in.ok());
  // All of them are good until the reader goes.
  check(read.size() == 6);
  check(read[0] == "" && read[1] == "plain" && read[2] == "\"\\/\b\f\n\r\t");
  check(read[3] == "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\0."sv);
  check(read[4] == "a\nb" && read[5] == "12345678-90123456789");
  return true;
}
CHECK_BOTH(strings_are_read_with_their_escapes);

template <class Integer>
constexpr result<Integer> integer_of(std::string_view text) {
  json_reader in{text};
  return in.finish(in.integer<Integer>());
}

constexpr bool integers_are_read_to_their_last_value() {
  check(integer_of<int>("0") == 0 && integer_of<int>("-0") == 0 &&
        integer_of<unsigned>("-0") == 0u);
  check(integer_of<std::int8_t>("-128") == std::int8_t{-128});
  check(integer_of<std::int8_t>("127") == std::int8_t{127});
  check(integer_of<std::uint8_t>("255") == std::uint8_t{255});
  check(integer_of<std::int64_t>("-9223372036854775808") ==
        std::numeric_limits<std::int64_t>::min());
  check(integer_of<std::int64_t>("9223372036854775807") ==
        std::numeric_limits<std::int64_t>::max());
  check(integer_of<std::uint64_t>("18446744073709551615") == ~std::uint64_t{0});
  check(
      integer_of<std::int8_t>("128").error().to_text() ==
      "not_representable at line 1, column 1: expected a whole number from -128 to 127, found 128");
  check(!integer_of<std::int8_t>("-129") && !integer_of<std::uint8_t>("256"));
  check(!integer_of<std::uint8_t>("-1") && !integer_of<std::uint64_t>("18446744073709551616"));
  check(!integer_of<std::int64_t>("9223372036854775808"));
  check(!integer_of<std::int64_t>("-9223372036854775809"));
  check(!integer_of<std::uint64_t>("100000000000000000000") && !integer_of<int>("2147483648"));
  check(integer_of<int>("1.0").error().text ==
        "expected a whole number from -2147483648 to 2147483647, found 1.0");
  check(integer_of<int>("1e2").error().code == errc::not_representable);
  check(integer_of<int>("\"1\"").error().code == errc::malformed);
  return true;
}
CHECK_BOTH(integers_are_read_to_their_last_value);

constexpr bool the_next_value_is_known_by_its_kind() {
  json_reader in{R"( [null, true, false, -1, 0, "", [], {"a":1}] )"};
  constexpr json_kind kinds[]{json_kind::null,   json_kind::boolean, json_kind::boolean,
                              json_kind::number, json_kind::number,  json_kind::string,
                              json_kind::array,  json_kind::object};
  check(in.peek() == json_kind::array);
  in.begin_array();
  check(in.peek() == json_kind::end);  // an element has to be asked for
  for (auto const kind : kinds) {
    check(in.next_element());
    check(in.peek() == kind && in.peek() == kind);
    in.skip();
  }
  check(!in.next_element());
  check(in.peek() == json_kind::end);
  in.finish();
  check(in.ok());
  json_reader bad{"?"};
  check(bad.peek() == json_kind::end && !bad.ok());
  return true;
}
CHECK_BOTH(the_next_value_is_known_by_its_kind);

constexpr bool the_rest_tells_the_text_of_what_is_read() {
  json_reader in{R"([ {"a":[1, 2] } ,3])"};
  check(in.rest().size() == 19);
  in.begin_array();
  check(in.next_element() && in.peek() == json_kind::object);
  std::string_view const from = in.rest();
  in.begin_object();
  std::string_view name;
  check(in.next_member(name) && name == "a");
  in.skip();
  check(!in.next_member(name));
  check(from.substr(0, from.size() - in.rest().size()) == R"({"a":[1, 2] })");
  check(in.next_element() && in.integer<int>() == 3 && !in.next_element());
  in.finish();
  check(in.ok() && in.rest().empty());
  json_reader bad{"[1 2]"};
  bad.begin_array();
  check(bad.next_element() && bad.integer<int>() == 1 && !bad.next_element());
  check(!bad.ok() && bad.rest().empty());
  return true;
}
CHECK_BOTH(the_rest_tells_the_text_of_what_is_read);

constexpr bool scalars_are_read_as_they_are() {
  json_reader in{"[true,false,null,1.50,-12e1, 7 ]"};
  in.begin_array();
  check(in.next_element() && in.boolean());
  check(in.next_element() && !in.boolean());
  check(in.next_element());
  in.null();
  check(in.next_element() && in.number_text() == "1.50");
  check(in.next_element() && in.number() == -120.0);
  check(in.next_element() && in.integer<short>() == 7);
  check(in.position() == text_position{1, 30, 29});
  check(!in.next_element());
  check(in.position() == text_position{1, 32, 31});
  in.finish();
  check(in.ok());
  return true;
}
CHECK_BOTH(scalars_are_read_as_they_are);

constexpr bool another_kind_of_value_is_refused_by_both_names() {
  auto const refusal = [](auto&& read) {
    json_reader in{"[\"text\"]"};
    in.begin_array();
    in.next_element();
    read(in);
    return in.error();
  };
  auto const at = text_position{1, 2, 1};
  auto const is = [&](keyspan::error const& error, std::string_view words) {
    check(error.code == errc::malformed && error.text == words && error.position == at);
  };
  is(refusal([](json_reader& in) { static_cast<void>(in.number()); }),
     "expected a number, found a string");
  is(refusal([](json_reader& in) { static_cast<void>(in.integer<int>()); }),
     "expected a number, found a string");
  is(refusal([](json_reader& in) { static_cast<void>(in.number_text()); }),
     "expected a number, found a string");
  is(refusal([](json_reader& in) { static_cast<void>(in.boolean()); }),
     "expected a boolean, found a string");
  is(refusal([](json_reader& in) { in.null(); }), "expected null, found a string");
  is(refusal([](json_reader& in) { in.begin_object(); }), "expected an object, found a string");
  is(refusal([](json_reader& in) { in.begin_array(); }), "expected an array, found a string");
  json_reader in{"{}"};
  check(in.string().empty());
  check(in.error().text == "expected a string, found an object");
  return true;
}
CHECK_BOTH(another_kind_of_value_is_refused_by_both_names);

constexpr bool the_first_error_stays_and_ends_every_loop() {
  json_reader in{R"({"a":[1,2,3],"b":4})"};
  in.begin_object();
  std::string_view name;
  check(in.next_member(name) && name == "a");
  in.begin_array();
  check(in.next_element());
  check(in.integer<int>() == 1);
  check(in.next_element());
  check(!in.boolean());
  auto const first = in.error();
  check(first.text == "expected a boolean, found a number");
  // Whatever is asked now, promises are no longer looked at.
  check(!in.next_element() && !in.next_member(name) && in.string().empty() && in.number() == 0);
  check(in.integer<int>() == 0 && !in.boolean() && in.number_text().empty() && in.skip().empty());
  check(in.peek() == json_kind::end);
  in.begin_array();
  in.begin_object();
  in.null();
  in.fail_here("something else");
  in.finish();
  check(in.error() == first && in.finish(1).error() == first);
  return true;
}
CHECK_BOTH(the_first_error_stays_and_ends_every_loop);

constexpr bool an_error_of_another_origin_is_placed_in_this_text() {
  json_reader in{"[\n  \"0G\"]"};
  in.begin_array();
  in.next_element();
  std::array<char, 8> bytes{};
  auto const decoded = keyspan::decode_hex(in.string(), std::span{bytes});
  if (!decoded) in.fail_here(decoded.error());
  check(in.error().to_text() == "malformed at line 2, column 3: not a hexadecimal digit");
  return true;
}
CHECK_BOTH(an_error_of_another_origin_is_placed_in_this_text);

// ---- limits

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST_CASE("nesting ends at the limit") {
  CHECK(skipped(nested(64)).has_value());
  CHECK(skipped(nested(65)).error().to_text() ==
        "too_large at line 1, column 65: objects and arrays are nested deeper than 64 levels");
  for (std::size_t const depth : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 1000u, 1024u}) {
    std::string const fits = depth == 0 ? "1" : nested(depth);
    json_reader good{fits, {.max_depth = depth}};
    good.skip();
    good.finish();
    CHECK(good.ok());
    std::string const deeper = nested(depth + 1);
    json_reader bad{deeper, {.max_depth = depth}};
    bad.skip();
    REQUIRE(!bad.ok());
    CHECK(bad.error().code == errc::too_large);
    CHECK(bad.error().position.offset == depth);
  }
  CHECK(test::promise_broken_by([] { json_reader{"1", {.max_depth = 1025}}.skip(); }) ==
        "max_depth is at most max_json_depth");
}

TEST_CASE("a text of 4 GiB is refused before it is looked at") {
  char const one[]{"1"};
  json_reader in{std::string_view{one, std::numeric_limits<std::uint32_t>::max()}};
  CHECK(in.skip().empty());
  CHECK(in.error().to_text() == "too_large: the text has 4 GiB or more");
}

TEST_CASE("of any number of names the one that comes twice is found") {
  for (int const count : {1, 2, 31, 32, 33, 63, 64, 65, 200, 3000}) {
    std::string text = "{";
    for (int i = 0; i < count; ++i)
      // An object in each keeps the names around it.
      text += "\"n" + std::to_string(i) + R"(":{"a":[{"a":1}],"n0":2},)";
    std::string const good = text + "\"last\":0}";
    CHECK(skipped(good).has_value());
    for (int const again : {0, count / 2, count - 1}) {
      auto const read = skipped(text + "\"n" + std::to_string(again) + "\":0}");
      REQUIRE(!read.has_value());
      CHECK(read.error().position.offset == text.size());
    }
  }
}

// A plain model: the names of the open objects in a vector of vectors.
TEST_CASE("names are compared within their object, like in a plain model") {
  test::random random{31};
  int twice = 0;
  for (int round = 0; round < 3'000; ++round) {
    std::vector<std::vector<std::uint64_t>> open{{}};
    std::string text = "{";
    bool expected = true;
    bool first = true;
    auto const names = 3 + random.below(300);
    for (int i = 0; i < 80 && expected; ++i) {
      if (open.size() > 1 && random.chance(20)) {
        text += '}';
        open.pop_back();
        first = false;
        continue;
      }
      auto const name = random.below(names);
      for (auto const other : open.back()) expected &= other != name;
      open.back().push_back(name);
      text += (first ? "\"" : ",\"") + std::to_string(name) + "\":";
      first = false;
      if (open.size() < 50 && random.chance(40)) {
        text += '{';
        open.emplace_back();
        first = true;
      } else {
        text += '0';
      }
    }
    text += std::string(open.size(), '}');
    // The name that came twice may have opened an object.
    auto const read = skipped(text);
    if (read.has_value() != expected) FAIL(text);
    twice += !expected;
  }
  CHECK(twice > 500);
  CHECK(twice < 2'500);
}

// ---- bad texts never do worse than be refused

constexpr std::string_view samples[]{
    R"({"v":1,"container":"a\/b=","ranges":[{"min":"","max":"05C1","continuation":"\"12\"","n":-1.5e3},{"min":"05C1","max":"FF","continuation":null,"n":0}],"mode":true})",
    "[\"h\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\", \"\\uD83D\\uDE00\\u00e9\", [[[{}]]], false ]",
    "{\r\n  \"a\" : [ 1 , 2.25 , -0 ] ,\r\n  \"\\u0061b\" : { \"a\" : \"\\t\" }\r\n}",
};

// Reads, and where the text is taken writes what was read.
std::string rewritten(std::string_view text);

void expect_a_value_or_a_place(std::string const& text) {
  // In a buffer of its exact size a sanitizer sees every step too far.
  std::vector<char> const exact(text.begin(), text.end());
  std::string_view const view{exact.data(), exact.size()};
  auto const read = skipped(view);
  if (read.has_value()) {
    if (rewritten(text).empty()) FAIL(text);
    return;
  }
  auto const& error = read.error();
  if (error.position.line == 0 || error.position.column == 0 ||
      error.position.offset > text.size() || error.text.empty())
    FAIL(text);
}

TEST_CASE("every truncation and every change of one byte is taken or refused by its place") {
  for (auto const sample : samples) {
    REQUIRE(skipped(sample).has_value());
    for (std::size_t size = 0; size < sample.size(); ++size) {
      auto const cut = sample.substr(0, size);
      expect_a_value_or_a_place(std::string{cut});
      if (skipped(cut).has_value()) FAIL(cut);  // the samples are closed by their last byte
    }
    for (std::size_t at = 0; at < sample.size(); ++at)
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed{sample};
        changed[at] = static_cast<char>(byte);
        expect_a_value_or_a_place(changed);
      }
  }
}

// ---- writing

constexpr bool values_are_written_without_white_space() {
  std::array<char, 256> room{};
  json_writer out{room};
  out.begin_array();
  out.begin_object().end_object().begin_array().end_array();
  out.begin_object()
      .name("a")
      .null()
      .name("b")
      .begin_array()
      .boolean(true)
      .boolean(false)
      .end_array();
  out.name("c").begin_object().name("d").number(-0.0).end_object().end_object();
  out.string("").number(5).number(0.1).number(1e21);
  out.integer(0).integer(-1).integer(std::int8_t{-128}).integer(std::uint8_t{255});
  out.integer(std::numeric_limits<std::int64_t>::min());
  out.integer(std::numeric_limits<std::uint64_t>::max());
  out.end_array();
  check(
      out.finish() ==
      R"([{},[],{"a":null,"b":[true,false],"c":{"d":-0}},"",5,0.1,1e+21,0,-1,-128,255,-9223372036854775808,18446744073709551615])"sv);
  return true;
}
CHECK_BOTH(values_are_written_without_white_space);

constexpr bool writes(std::string_view text, std::string_view plain, std::string_view ascii) {
  std::array<char, 128> room{};
  json_writer out{room};
  out.string(text);
  std::array<char, 128> more_room{};
  json_writer in_ascii{more_room, {.ascii = true}};
  in_ascii.string(text);
  return out.finish() == plain && in_ascii.finish() == ascii;
}

constexpr bool strings_are_escaped_as_far_as_they_must() {
  check(writes("plain text/", R"("plain text/")", R"("plain text/")"));
  check(writes("\"\\\b\f\n\r\t", R"("\"\\\b\f\n\r\t")", R"("\"\\\b\f\n\r\t")"));
  check(writes("\0\x01\x1F"sv, R"("\u0000\u0001\u001F")", R"("\u0000\u0001\u001F")"));
  check(writes("12345678\x7F.\x7F", "\"12345678\x7F.\x7F\"", R"("12345678\u007F.\u007F")"));
  check(writes("h\xC3\xA9", "\"h\xC3\xA9\"", R"("h\u00E9")"));
  check(writes("\xE2\x82\xAC\x7F\xF0\x9F\x98\x80!", "\"\xE2\x82\xAC\x7F\xF0\x9F\x98\x80!\"",
               R"("\u20AC\u007F\uD83D\uDE00!")"));
  check(writes("\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\"", R"("\uDBFF\uDFFF")"));
  return true;
}
CHECK_BOTH(strings_are_escaped_as_far_as_they_must);

TEST_CASE("after an error the string is as it was, and the error stays") {
  std::string text = "before ";
  auto const refusal = [&](auto&& write) {
    json_writer out{text};
    out.begin_array().string("good");
    write(out);
    // No promise is looked at any more.
    out.end_object().name("x").null().null().end_array();
    CHECK(text == "before ");
    CHECK(!out.ok());
    CHECK(out.finish().error() == out.error());
    return std::string{out.error().to_text()};
  };
  CHECK(refusal([](json_writer& out) { out.string("12345678ab\xC0\x80"); }) ==
        "invalid_utf8: a string to write is not UTF-8 from its byte 10 on");
  CHECK(refusal([](json_writer& out) { out.begin_object().name("\xFF"); }) ==
        "invalid_utf8: a string to write is not UTF-8 from its byte 0 on");
  CHECK(refusal([](json_writer& out) { out.number(std::numeric_limits<double>::infinity()); }) ==
        "not_representable: infinity has no text");
  CHECK(refusal([](json_writer& out) { out.number(std::numeric_limits<double>::quiet_NaN()); }) ==
        "not_representable: not-a-number has no text");
  CHECK(refusal([](json_writer& out) {
          for (int i = 0; i < 2000; ++i) out.begin_array();
        }) == "too_large: objects and arrays are nested deeper than 1024 levels");
  json_writer good{text};
  good.begin_array().string("good").end_array();
  CHECK(good.finish() == R"(["good"])"sv);
  CHECK(text == R"(before ["good"])");
}

TEST_CASE("lack of room is told") {
  std::array<char, 8> room{};
  json_writer out{room};
  out.string("1234567");
  CHECK(out.error().to_text() == "too_large: the text has more than the 8 bytes there is room for");
  json_writer none{std::span<char>{}};
  CHECK(none.null().error().code == errc::too_large);
}

// ---- promises

TEST_CASE("a reader is asked for what can stand there") {
  std::string_view name;
  auto const broken = [](std::string_view text, auto&& action) {
    json_reader in{text};
    return test::promise_broken_by([&] { action(in); });
  };
  CHECK(broken("[1,2]", [](json_reader& in) {
          in.begin_array();
          in.next_element();
          in.next_element();
        }) == "each value is read or skipped before one goes on");
  CHECK(broken("{\"a\":1}", [&](json_reader& in) {
          in.begin_object();
          in.next_member(name);
          in.next_member(name);
        }) == "each value is read or skipped before one goes on");
  CHECK(broken("[1]", [&](json_reader& in) {
          in.begin_array();
          in.next_member(name);
        }) == "members are asked for in an object");
  CHECK(broken("{}", [](json_reader& in) {
          in.begin_object();
          in.next_element();
        }) == "elements are asked for in an array");
  CHECK(broken("1", [](json_reader& in) { in.next_element(); }) ==
        "elements are asked for in an array");
  CHECK(broken("[1]", [](json_reader& in) {
          in.begin_array();
          static_cast<void>(in.number());
        }) == "a value is read where one stands");
  CHECK(broken("[1]", [](json_reader& in) {
          in.begin_array();
          in.skip();
        }) == "a value is read where one stands");
  CHECK(broken("[1]", [](json_reader& in) {
          in.begin_array();
          in.finish();
        }) == "every object and array is read to its end");
  CHECK(broken("1", [](json_reader& in) { in.finish(); }) ==
        "each value is read or skipped before one goes on");
  CHECK(broken("1", [](json_reader& in) { static_cast<void>(in.error()); }) ==
        "error() is asked of a reader that has one");
}

TEST_CASE("a writer is given what can stand there") {
  auto const broken = [](auto&& action) {
    std::string text;
    json_writer out{text};
    return test::promise_broken_by([&] { action(out); });
  };
  CHECK(broken([](json_writer& out) { out.null().null(); }) == "a text is one value");
  CHECK(broken([](json_writer& out) { out.begin_object().null(); }) ==
        "a value in an object has a name");
  CHECK(broken([](json_writer& out) { out.begin_object().name("a").name("b"); }) ==
        "a name stands in an object, before its value");
  CHECK(broken([](json_writer& out) { out.begin_array().name("a"); }) ==
        "a name stands in an object, before its value");
  CHECK(broken([](json_writer& out) { out.begin_object().name("a").end_object(); }) ==
        "an object is ended where one is open");
  CHECK(broken([](json_writer& out) { out.begin_array().end_object(); }) ==
        "an object is ended where one is open");
  CHECK(broken([](json_writer& out) { out.begin_object().end_array(); }) ==
        "an array is ended where one is open");
  CHECK(broken([](json_writer& out) { out.end_array(); }) == "an array is ended where one is open");
  CHECK(broken([](json_writer& out) { static_cast<void>(out.begin_array().finish()); }) ==
        "a text is finished when its one value is complete");
  CHECK(broken([](json_writer& out) { static_cast<void>(out.finish()); }) ==
        "a text is finished when its one value is complete");
  CHECK(broken([](json_writer& out) { static_cast<void>(out.error()); }) ==
        "error() is asked of a writer that has one");
}

// ---- there and back

std::string rewritten(std::string_view text) {
  json_reader in{text};
  std::string copy;
  json_writer out{copy};
  copy_value(in, out);
  in.finish();
  if (!in.ok() || !out.finish()) return {};
  return copy;
}

std::string random_string(test::random& random) {
  std::string text;
  for (auto left = random.below(random.chance(10) ? 60 : 9); left > 0; --left) {
    char32_t c = static_cast<char32_t>(random.below(random.chance(80) ? 0x80 : 0x11'0000));
    if (!keyspan::is_code_point(c)) c = 0x20AC;
    text += keyspan::encode_utf8(c).view();
  }
  return text;
}

void write_random_value(test::random& random, json_writer& out, int depth) {
  switch (random.below(depth == 0 ? 5 : 7)) {
    case 0:
      out.null();
      break;
    case 1:
      out.boolean(random.chance(50));
      break;
    case 2:
      out.number(random.any_finite_double());
      break;
    case 3:
      out.integer(random.between(-1'000'000, 1'000'000));
      break;
    case 4:
      out.string(random_string(random));
      break;
    case 5:
      out.begin_array();
      for (auto left = random.below(5); left > 0; --left)
        write_random_value(random, out, depth - 1);
      out.end_array();
      break;
    default: {
      out.begin_object();
      std::vector<std::string> names;
      for (auto left = random.below(5); left > 0; --left) {
        auto const name = std::to_string(left) + random_string(random);  // each another one
        out.name(name);
        write_random_value(random, out, depth - 1);
      }
      out.end_object();
    }
  }
}

TEST_CASE("what is written is read and written again to the same") {
  test::random random{40};
  for (int round = 0; round < 20'000; ++round) {
    bool const ascii = random.chance(50);
    std::string text;
    json_writer out{text, {.ascii = ascii}};
    write_random_value(random, out, 5);
    REQUIRE(out.finish().has_value());
    if (ascii)
      for (char const c : text)
        if (c < 0x20 || c > 0x7E) FAIL(text);
    auto const copy = rewritten(text);
    if (copy.empty() || (!ascii && copy != text)) FAIL(text);
    // White space changes nothing.
    std::string spaced;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      char const c = text[i];
      spaced += c;
      if (in_string && c == '\\') spaced += text[++i];
      if (c == '"') in_string = !in_string;
      if (!in_string && (c == ',' || c == ':' || c == '[' || c == '{')) spaced += " \r\n\t";
    }
    if (rewritten(copy) != copy) FAIL(copy);
    if (rewritten(spaced) != copy) FAIL(spaced);
  }
}

TEST_CASE("texts without escapes are read, and fixed room is filled, without allocation") {
  // 32 names at once, nested and one after another.
  std::string text = "{\"first\":[{\"a\":1},{\"a\":2}]";
  for (int i = 1; i < 32; ++i) text += ",\"name" + std::to_string(i) + "\":\"h\xC3\xA9\"";
  text += "}";
  CHECK(test::allocations_in([&] { check(skipped(text).has_value()); }) == 0);
  CHECK(test::allocations_in([&] {
          std::array<char, 200> room{};
          json_writer out{room, {.ascii = true}};
          out.begin_object()
              .name("\xE2\x82\xAC")
              .string("\xF0\x9F\x98\x80\n")
              .name("n")
              .number(0.1 + 0.2);
          out.name("deep")
              .begin_array()
              .begin_array()
              .integer(5)
              .end_array()
              .end_array()
              .end_object();
          check(out.finish().has_value());
        }) == 0);
  CHECK(test::allocations_in([&] { check(!skipped("{\"a\":[tru]}").has_value()); }) == 0);
  // However many strings have escapes.
  std::string escaped = "[\"\\n\"";
  for (int i = 0; i < 1000; ++i) escaped += ",\"0123456789\\n\\u20AC\"";
  escaped += "]";
  CHECK(test::allocations_in([&] {
          json_reader in{escaped};
          in.begin_array();
          std::size_t sum = 0;
          while (in.next_element()) sum += in.string().size();
          check(in.finish(sum) == std::size_t{1 + 14'000});
        }) == 1);
}

// Whoever sends a text must not choose how long it takes: names are compared with a bounded number.
TEST_CASE(
    "an object of too many names is refused, and names are counted while their object is open") {
  auto const object_of = [](std::size_t names) {
    std::string text{"{"};
    for (std::size_t i = 0; i < names; ++i)
      text += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\":0";
    return text + "}";
  };
  auto const read = [](std::string const& text, keyspan::json_reader_options options) {
    json_reader in{text, options};
    in.skip();
    return in.finish(true);
  };
  CHECK(read(object_of(4096), {}));
  CHECK(read(object_of(4097), {}).error().code == errc::too_large);
  CHECK(read(object_of(4097), {.max_names = 5000}));
  CHECK(read(object_of(3), {.max_names = 3}));
  auto const refused = read(object_of(4), {.max_names = 3}).error();
  CHECK(std::string{refused.to_text()} ==
        "too_large at line 1, column 23: the open objects have more than 3 names");
  std::string const one_after_another = "[" + object_of(3) + "," + object_of(3) + "]";
  CHECK(read(one_after_another, {.max_names = 3}));
  CHECK(!read("{\"a\":" + object_of(3) + "}", {.max_names = 3}));
}

}  // namespace
