// test/key/key_json_test.cpp — keys to their text on the wire and back.
#include <keyspan/key/key_json.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::string_view_literals;
using keyspan::errc;
using keyspan::json_reader;
using keyspan::key_value;
using keyspan::null;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::read_key_json;
using keyspan::read_key_value;
using keyspan::to_key_json;
using keyspan::undefined;
using keyspan::write_key_json;
using test::check;

TEST_CASE("the example of key_json reads as it should") {
  // [region: example]
  using keyspan::partition_key;
  partition_key const key{"caf\xC3\xA9", 5, keyspan::undefined};
  CHECK(keyspan::to_key_json(key) == R"(["caf\u00E9",5,{}])");
  CHECK(keyspan::read_key_json(R"([ "caf\u00e9", 5.0, {} ])") == key);
  auto const wrong = keyspan::read_key_json(R"(["a", ["b"]])");
  CHECK(wrong.error().to_text() == "not_a_key at line 1, column 7: an array is no key value");
  // [end: example]
}

// ---- writing

struct written {
  partition_key_view key;
  std::string_view text;
};

// The rows of the service's own table, and what a header cannot hold as it is.
constexpr written all_written[]{
    {{}, "[]"},
    {partition_key_view{undefined}, "[{}]"},
    {partition_key_view{"a", undefined, "c"}, R"(["a",{},"c"])"},
    {partition_key_view{null}, "[null]"},
    {partition_key_view{true, false}, "[true,false]"},
    {partition_key_view{""}, R"([""])"},
    {partition_key_view{"redmond"}, R"(["redmond"])"},
    {partition_key_view{"\xD0\x9F\xD1\x80"}, R"(["\u041F\u0440"])"},
    {partition_key_view{"\xF0\x9F\x98\x80"}, R"(["\uD83D\uDE00"])"},
    {partition_key_view{"\x7F"}, R"(["\u007F"])"},
    {partition_key_view{"\0\x01\x1F"sv}, R"(["\u0000\u0001\u001F"])"},
    {partition_key_view{"\b\f\n\r\t\"\\/"}, R"(["\b\f\n\r\t\"\\/"])"},
    {partition_key_view{"Infinity"}, R"(["Infinity"])"},
    {partition_key_view{5, 5.0, -5}, "[5,5,-5]"},
    {partition_key_view{-0.0}, "[0]"},
    {partition_key_view{0.1, 1.5, 1e21}, "[0.1,1.5,1e+21]"},
    {partition_key_view{10'000'000'000}, "[10000000000]"},
};

constexpr bool a_key_is_written_as_the_service_wants_it() {
  for (written const& one : all_written) {
    char room[64]{};
    check(write_key_json(one.key, room) == one.text);
    check(read_key_json(one.text) == partition_key{one.key});
    // Every smaller room is too small, and nobody writes beyond it.
    for (std::size_t small = 0; small < one.text.size(); ++small) {
      std::ranges::fill(room, '~');
      auto const failed = write_key_json(one.key, std::span{room}.first(small));
      check(failed.error().code == errc::too_large);
      for (std::size_t i = small; i < sizeof room; ++i) check(room[i] == '~');
    }
  }
  return true;
}
CHECK_BOTH(a_key_is_written_as_the_service_wants_it);

TEST_CASE("numbers are written in the fewest digits that give them back") {
  CHECK(to_key_json(partition_key{5e-324}) == "[5e-324]");
  CHECK(to_key_json(partition_key{1.7976931348623157e308}) == "[1.7976931348623157e+308]");
  CHECK(to_key_json(partition_key{0.1 + 0.2}) == "[0.30000000000000004]");
  CHECK(to_key_json(partition_key{std::int64_t{1} << 62}) == "[4611686018427388000]");
}

TEST_CASE("a key is written at the end of a string") {
  std::string text = "x-ms-documentdb-partitionkey: ";
  auto const header = write_key_json(partition_key{"a", 1}, text);
  CHECK(header == R"(["a",1])"sv);
  CHECK(text == R"(x-ms-documentdb-partitionkey: ["a",1])");
  CHECK(header->data() == text.data() + 30);
}

TEST_CASE("owned and borrowed keys are written, and any list of values") {
  partition_key const key{"a", 1};
  CHECK(to_key_json(key) == R"(["a",1])");
  CHECK(to_key_json(partition_key{"a", 1}) == R"(["a",1])");
  CHECK(to_key_json(key.prefix(1)) == R"(["a"])");
  CHECK(to_key_json(partition_key_view{"a"}) == R"(["a"])");
  std::vector<key_value> const five(5, null);
  CHECK(to_key_json(five) == "[null,null,null,null,null]");
  std::array<key_value, 1> const one{"a"};
  char room[16];
  CHECK(write_key_json(one, room) == R"(["a"])"sv);
}

// ---- reading

constexpr partition_key read(std::string_view text) { return read_key_json(text).value(); }

constexpr bool every_legal_spelling_is_read_to_the_same_key() {
  partition_key const five{5};
  for (auto const text : {"[5]", "[5.0]", "[0.5e1]", "[50E-1]", "[5e+0]", " \t\r\n[ 5 ]\n"})
    check(read(text) == five);
  partition_key const ten{10};
  for (auto const text : {"[10]", "[1E1]", "[1e1]", "[10.00]", "[0.1e2]", "[100e-1]"})
    check(read(text) == ten);
  for (auto const text : {"[0]", "[-0]", "[-0.0]", "[0e5]", "[-0E-5]"}) {
    partition_key const zero = read(text);
    check(zero == partition_key{0});
    check(std::bit_cast<std::uint64_t>(zero[0].number()) == 0);
  }
  partition_key const smile{"a/\xF0\x9F\x98\x80"};
  for (auto const text : {"[\"a/\xF0\x9F\x98\x80\"]", R"(["a\/\uD83D\uDE00"])",
                          R"(["\u0061/\ud83d\ude00"])", R"([ "\u0061\u002f\uD83d\udE00" ])"})
    check(read(text) == smile);
  check(read("[{}]") == partition_key{undefined} && read("[ { \n } ]") == partition_key{undefined});
  check(read(R"(["\u0000",null])") == partition_key{"\0"sv, null});
  check(read(R"(["Infinity"])") == partition_key{"Infinity"});  // a string as good as any
  check(read(R"(["type","MinNumber"])") == partition_key{"type", "MinNumber"});
  return true;
}
CHECK_BOTH(every_legal_spelling_is_read_to_the_same_key);

TEST_CASE("numbers are read as other clients write them") {
  CHECK(read("[10000000000.0]") == read("[1.0E10]"));
  CHECK(read("[5e-324]") == read("[4.9E-324]"));
  CHECK(read("[5e-324]") == read("[4.94065645841247E-324]"));
  CHECK(read("[9007199254740993]") == partition_key{9'007'199'254'740'992});
  CHECK(read("[1e-400]") == partition_key{0});
  CHECK(read("[-1e-400]") == partition_key{0});
}

struct refused {
  std::string_view text;
  errc code;
  std::uint32_t line;
  std::uint32_t column;
  std::string_view words;
};

constexpr std::string_view object = "an object is no key value, only {}, which is undefined";
constexpr std::string_view array = "an array is no key value";

constexpr refused all_refused[]{
    {R"([{"a":1}])", errc::not_a_key, 1, 2, object},
    {R"(["x", { "" : {} }])", errc::not_a_key, 1, 7, object},
    {R"([{"type":"Number"}])", errc::not_a_key, 1, 2, object},
    {R"([{"type":1}])", errc::not_a_key, 1, 2, object},
    {R"([{"kind":"MinNumber"}])", errc::not_a_key, 1, 2, object},
    {R"([{"type":"MinNumber"}])", errc::unsupported, 1, 2,
     "MinNumber is a limit for ranges of keys and no key value"},
    {"[1,\n {\"type\" : \"M\\u0061xNumber\"}]", errc::unsupported, 2, 2,
     "MaxNumber is a limit for ranges of keys and no key value"},
    {R"([{"type":"MinString"}])", errc::unsupported, 1, 2,
     "MinString is a limit for ranges of keys and no key value"},
    {R"([{"type":"MaxString"}])", errc::unsupported, 1, 2,
     "MaxString is a limit for ranges of keys and no key value"},
    {R"("Infinity")", errc::unsupported, 1, 1, "Infinity lies behind all keys and is none"},
    {"\n \"Infinity\"", errc::unsupported, 2, 2, "Infinity lies behind all keys and is none"},
    {R"("infinity")", errc::malformed, 1, 1, "expected an array, found a string"},
    {R"("Infinity" 1)", errc::unsupported, 1, 1, "Infinity lies behind all keys and is none"},
    {"[[]]", errc::not_a_key, 1, 2, array},
    {"[null,\n\"\xC3\xA9\", [1, 2]]", errc::not_a_key, 2, 6, array},
    {"[1,2,3,4]", errc::too_large, 1, 8, "a partition key has at most three values"},
    {"[1,2,3,{}]", errc::too_large, 1, 8, "a partition key has at most three values"},
    {"", errc::malformed, 1, 1, "expected a value, found the end of the text"},
    {"5", errc::malformed, 1, 1, "expected an array, found a number"},
    {"{}", errc::malformed, 1, 1, "expected an array, found an object"},
    {"null", errc::malformed, 1, 1, "expected an array, found null"},
    {"[1", errc::malformed, 1, 3,
     "expected ',' or ']' after an element, found the end of the text"},
    {"[1,]", errc::malformed, 1, 4, "expected an element after ',', found ']'"},
    {"[1] 2", errc::malformed, 1, 5, "expected the end of the text, found '2'"},
    {"[undefined]", errc::malformed, 1, 2, "expected a value, found 'u'"},
    {"[NaN]", errc::malformed, 1, 2, "expected a value, found 'N'"},
    {"[01]", errc::malformed, 1, 3,
     "expected '.' or the end of the number after a leading zero, found '1'"},
    {R"(["a)", errc::malformed, 1, 4,
     "expected '\"' at the end of a string, found the end of the text"},
    {R"([{"a"}])", errc::malformed, 1, 6, "expected ':' after a member's name, found '}'"},
    {R"([[1,2)", errc::malformed, 1, 6,
     "expected ',' or ']' after an element, found the end of the text"},
    {R"(["\uD800"])", errc::invalid_utf8, 1, 3,
     "expected both halves of a surrogate pair, found one alone"},
    {R"(["\uDE00\uD83D"])", errc::invalid_utf8, 1, 3,
     "expected both halves of a surrogate pair, found one alone"},
    {R"(["\U0001F600"])", errc::malformed, 1, 4,
     "expected one of \" \\ / b f n r t u after a backslash, found 'U'"},
    {"[\"a\xFF\"]", errc::invalid_utf8, 1, 4, "expected well-formed UTF-8 in a string"},
};

constexpr bool what_is_no_key_is_refused_at_its_place() {
  for (refused const& one : all_refused) {
    auto const key = read_key_json(one.text);
    check(!key.has_value());
    check(key.error().code == one.code && key.error().text == one.words);
    check(key.error().position.line == one.line && key.error().position.column == one.column);
  }
  return true;
}
CHECK_BOTH(what_is_no_key_is_refused_at_its_place);

TEST_CASE("a number beyond the largest double is refused") {
  auto const key = read_key_json("[1,-1e999]");
  CHECK(key.error().to_text() ==
        "not_representable at line 1, column 4: -1e999 is beyond the largest double, "
        "1.7976931348623157e308");
}

// ---- values out of a reader

constexpr bool values_are_read_one_by_one_out_of_any_array() {
  json_reader in{R"({"key":["a\n",{},1.5,null,true,"z"],"rest":[[1]]})"};
  std::string_view name;
  in.begin_object();
  check(in.next_member(name) && name == "key");
  in.begin_array();
  std::array<key_value, 8> values;
  std::size_t count = 0;
  while (in.next_element()) values[count++] = read_key_value(in);
  check(count == 6 && in.next_member(name) && name == "rest");
  in.skip();
  check(!in.next_member(name));
  in.finish();
  check(in.ok());
  check(values[0] == key_value{"a\n"} && values[1].is_undefined());
  check(values[2] == key_value{1.5} && values[3].is_null());
  check(values[4] == key_value{true} && values[5] == key_value{"z"});
  return true;
}
CHECK_BOTH(values_are_read_one_by_one_out_of_any_array);

TEST_CASE("a string of a value is a view into the text") {
  std::string_view const text = R"(["abc"])";
  json_reader in{text};
  in.begin_array();
  REQUIRE(in.next_element());
  CHECK(read_key_value(in).string().data() == text.data() + 2);
}

constexpr bool after_an_error_every_value_is_undefined() {
  json_reader in{"[[],1]"};
  in.begin_array();
  check(in.next_element() && read_key_value(in).is_undefined());
  check(!in.ok() && in.error().code == errc::not_a_key);
  check(!in.next_element() && read_key_value(in).is_undefined());
  check(in.error().code == errc::not_a_key);
  json_reader limit{R"({"type":"MaxString"})"};
  check(read_key_value(limit).is_undefined() && limit.error().code == errc::unsupported);
  return true;
}
CHECK_BOTH(after_an_error_every_value_is_undefined);

// ---- both ways

TEST_CASE("any key comes back from its text, which is ASCII and no longer than it must be") {
  test::random random{6};
  std::vector<std::string> strings(3);
  auto const any_value = [&](std::string& text) -> key_value {
    switch (random.below(6)) {
      case 0:
        return undefined;
      case 1:
        return null;
      case 2:
        return random.chance(50);
      case 3:
        return random.any_finite_double();
      case 4:
        return static_cast<double>(random.between(-1'000'000, 1'000'000));
      default:
        break;
    }
    text.clear();
    for (auto left = random.below(8); left > 0; --left) {
      char32_t c = 0;
      do {
        c = static_cast<char32_t>(random.chance(50) ? random.below(0x100)
                                                    : random.below(0x11'0000));
      } while (!keyspan::is_code_point(c));
      text += keyspan::encode_utf8(c).view();
    }
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    std::array<key_value, 3> values;
    for (std::size_t k = 0; k < 3; ++k) values[k] = any_value(strings[k]);
    partition_key_view const key{std::span{values}.first(random.below(4))};
    auto const text = to_key_json(key);
    check(std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7F'; }));
    auto const back = read_key_json(text);
    REQUIRE(back);
    check(*back == key && to_key_json(*back) == text);
    for (std::size_t k = 0; k < key.size(); ++k)
      check(!key[k].is_number() || std::bit_cast<std::uint64_t>(key[k].number()) ==
                                       std::bit_cast<std::uint64_t>((*back)[k].number()));
    check(read_key_json(key.to_text()) == partition_key{key});  // the text for people as well
  }
}

TEST_CASE("writing into given room allocates nothing, nor does reading a short key") {
  std::string const city(100, 'x');
  CHECK(test::allocations_in([&] {
          char room[128];
          partition_key_view const key{city, 0.1, undefined};
          static_cast<void>(write_key_json(key, room));
          static_cast<void>(write_key_json(key, std::span{room}.first(20)));
          static_cast<void>(read_key_json(R"(["redmond",5.5,{}])"));
          static_cast<void>(read_key_json(R"([{"type":"MinNumber"}])"));
        }) == 0);
}

}  // namespace
