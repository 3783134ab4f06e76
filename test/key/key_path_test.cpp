// test/key/key_path_test.cpp — what is a path, where a text stops being one, and how paths compare.
#include <keyspan/core/print.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/key/key_path.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using namespace std::string_view_literals;
using keyspan::errc;
using keyspan::key_path;
using keyspan::path;
using keyspan::text_position;
using test::check;

TEST_CASE("the example of key_path reads as it should") {
  // [region: example]
  constexpr auto city = keyspan::path<"/address/'zip code'">;  // read by the compiler
  STATIC_CHECK(city.size() == 2 && city.segment<1>() == "zip code");
  auto const same = keyspan::key_path::parse("/address/\"zip code\"");
  CHECK(same.value() == city);
  CHECK(same->to_text() == "/address/\"zip code\"");
  auto const wrong = keyspan::key_path::parse("/address/");
  CHECK(wrong.error().to_text() == "malformed at line 1, column 10: a name follows a '/'");
  // [end: example]
}

// ---- what a path is

struct taken {
  std::string_view text;
  std::array<std::string_view, 4> names;
  std::size_t count;
  std::string_view canonical;
};

constexpr taken all_taken[]{
    {"/a", {"a"}, 1, "/a"},
    {"/a/b", {"a", "b"}, 2, "/a/b"},
    {"/tenant/user_1/X9/_", {"tenant", "user_1", "X9", "_"}, 4, "/tenant/user_1/X9/_"},
    {"/\"a\"", {"a"}, 1, "/a"},
    {"/'a'", {"a"}, 1, "/a"},
    {"/\"a/b\"/'c'/d", {"a/b", "c", "d"}, 3, "/\"a/b\"/c/d"},
    {"/'\"'", {"\""}, 1, "/\"\\\"\""},
    {"/\"'\"", {"'"}, 1, "/\"'\""},
    {"/\"\\\"\"", {"\""}, 1, "/\"\\\"\""},
    {"/'\\''", {"'"}, 1, "/\"'\""},
    {"/\"\\'\"", {"'"}, 1, "/\"'\""},
    {"/\"\\\\\"", {"\\"}, 1, "/\"\\\\\""},
    {"/\"\\\\\\\"\\\\\"", {"\\\"\\"}, 1, "/\"\\\\\\\"\\\\\""},
    {"/\"\"", {""}, 1, "/\"\""},  // a property can have no name at all
    {"/''/\"\"/a", {"", "", "a"}, 3, "/\"\"/\"\"/a"},
    {"/\" a \"", {" a "}, 1, "/\" a \""},
    {"/a b", {"a b"}, 1, "/\"a b\""},
    {"/article-id", {"article-id"}, 1, "/\"article-id\""},
    {"/a.b/$c/[0]", {"a.b", "$c", "[0]"}, 3, "/\"a.b\"/\"$c\"/\"[0]\""},
    {"/'*'/'?'/\"[]\"", {"*", "?", "[]"}, 3, "/\"*\"/\"?\"/\"[]\""},
    {"/a*/?b", {"a*", "?b"}, 2, "/\"a*\"/\"?b\""},
    {"/stra\xC3\x9F"
     "e",
     {"stra\xC3\x9F"
      "e"},
     1,
     "/\"stra\xC3\x9F"
     "e\""},
    {"/\xF0\x9F\x98\x80", {"\xF0\x9F\x98\x80"}, 1, "/\"\xF0\x9F\x98\x80\""},
};

constexpr bool what_a_path_is_is_taken() {
  for (taken const& one : all_taken) {
    auto const read = key_path::parse(one.text);
    check(read.has_value() && read->size() == one.count);
    std::size_t i = 0;
    for (std::string_view const name : *read) check(name == one.names[i++]);
    check(i == one.count);
    for (i = 0; i < one.count; ++i) check((*read)[i] == one.names[i]);
    auto const again = key_path::parse(one.canonical);
    check(again.has_value() && *again == *read);
  }
  return true;
}
CHECK_BOTH(what_a_path_is_is_taken);

TEST_CASE("the text of a path has quotes where a reader may need them") {
  for (taken const& one : all_taken) {
    CHECK(key_path::parse(one.text)->to_text() == one.canonical);
    CHECK(key_path::parse(one.canonical)->to_text() == one.canonical);
  }
}

// ---- where a text stops being one

struct refused {
  std::string_view text;
  errc code;
  std::uint32_t column;
  std::uint32_t offset;
  std::string_view words;
};

constexpr std::string_view begins = "a path begins with '/'";
constexpr std::string_view follows = "a name follows a '/'";
constexpr std::string_view closed = "the quote that opens a name is not closed";
constexpr std::string_view inside = "a name with a quote or a backslash in it stands in quotes";
constexpr std::string_view behind = "a '/' or the end follows a closing quote";
constexpr std::string_view escape = "a backslash stands before a quote or another backslash";
constexpr std::string_view spaces = "a name that begins or ends with a space stands in quotes";
constexpr std::string_view control = "a path has no control characters";
constexpr std::string_view wildcard =
    "* and ? and [] are for indexing; a property of that name stands in quotes";

constexpr refused all_refused[]{
    {"", errc::malformed, 1, 0, begins},
    {"a", errc::malformed, 1, 0, begins},
    {"a/b", errc::malformed, 1, 0, begins},
    {" /a", errc::malformed, 1, 0, begins},
    {"\"a\"", errc::malformed, 1, 0, begins},
    {"\xC3\xA9", errc::malformed, 1, 0, begins},
    {"/", errc::malformed, 2, 1, follows},
    {"//", errc::malformed, 2, 1, follows},
    {"//a", errc::malformed, 2, 1, follows},
    {"/a/", errc::malformed, 4, 3, follows},
    {"/a//b", errc::malformed, 4, 3, follows},
    {"/'a'/", errc::malformed, 6, 5, follows},
    {"/\"a", errc::malformed, 2, 1, closed},
    {"/\xC3\xA9/'a", errc::malformed, 4, 4, closed},
    {"/\"", errc::malformed, 2, 1, closed},
    {"/\"a'", errc::malformed, 2, 1, closed},
    {"/\"a\\\"", errc::malformed, 2, 1, closed},
    {"/it's", errc::malformed, 4, 3, inside},
    {"/a\"b\"", errc::malformed, 3, 2, inside},
    {"/a/b\\", errc::malformed, 5, 4, inside},
    {"/\\", errc::malformed, 2, 1, inside},
    {"/\"a\"b", errc::malformed, 5, 4, behind},
    {"/\"a\"\"b\"", errc::malformed, 5, 4, behind},
    {"/'a' /b", errc::malformed, 5, 4, behind},
    {"/'\xE2\x82\xAC'\xE2\x82\xAC", errc::malformed, 5, 6, behind},
    {"/\"\\a\"", errc::malformed, 4, 3, escape},
    {"/\"\\u0041\"", errc::malformed, 4, 3, escape},
    {"/\"\\", errc::malformed, 4, 3, escape},
    {"/ a", errc::malformed, 2, 1, spaces},
    {"/a /b", errc::malformed, 3, 2, spaces},
    {"/a/ ", errc::malformed, 4, 3, spaces},
    {"/*", errc::unsupported, 2, 1, wildcard},
    {"/a/?", errc::unsupported, 4, 3, wildcard},
    {"/a/[]/b", errc::unsupported, 4, 3, wildcard},
    {"/a\nb", errc::malformed, 3, 2, control},
    {"/'\t'", errc::malformed, 3, 2, control},
    {"/\x7F", errc::malformed, 2, 1, control},
    {"/a\0"sv, errc::malformed, 3, 2, control},
    {"/a\xFF", errc::invalid_utf8, 3, 2, "a path is well-formed UTF-8"},
    {"/\xC3\xA9\xED\xA0\x80", errc::invalid_utf8, 3, 3, "a path is well-formed UTF-8"},
};

constexpr bool what_no_path_is_is_refused_at_its_place() {
  for (refused const& one : all_refused) {
    auto const read = key_path::parse(one.text);
    check(!read.has_value());
    check(read.error().code == one.code);
    check(read.error().text == one.words && !read.error().text.is_cut());
    check(read.error().position == text_position{1, one.column, one.offset});
  }
  return true;
}
CHECK_BOTH(what_no_path_is_is_refused_at_its_place);

TEST_CASE("a path has at most 128 names and 4096 bytes in them") {
  std::string text;
  for (std::size_t i = 0; i < keyspan::max_path_segments; ++i) text += "/a";
  auto const longest = key_path::parse(text);
  REQUIRE(longest);
  CHECK(longest->size() == keyspan::max_path_segments);
  auto const deeper = key_path::parse(text + "/a").error();
  CHECK(deeper.to_text() == "too_large at line 1, column 257: a path has at most 128 names");

  // Quotes and escapes do not count, so that a path's own text is never too long.
  std::string name;
  for (std::size_t i = 0; i < keyspan::max_path_size; ++i) name += i % 2 == 0 ? "'" : "\\";
  std::string quoted = "/\"";
  for (char const c : name) quoted += {'\\', c};
  auto const widest = key_path::parse(quoted + '"');
  REQUIRE(widest);
  CHECK((*widest)[0] == name);
  CHECK(key_path::parse(widest->to_text()) == *widest);
  auto const wider = key_path::parse("/a/" + std::string(4096, 'x')).error();
  CHECK(wider.to_text() ==
        "too_large at line 1, column 4: the names of a path have at most 4096 bytes");
  CHECK(key_path::parse(quoted + "x\"").error().code == errc::too_large);
  // The sentences repeat the limits, for they are literals.
  STATIC_CHECK(keyspan::max_path_segments == 128 && keyspan::max_path_size == 4096);
  CHECK(key_path::parse("/" + std::string(std::size_t{1} << 20, 'x')).error().code ==
        errc::too_large);
}

TEST_CASE("the longest text of a path is one where all is in quotes and escaped") {
  constexpr std::size_t each = keyspan::max_path_size / keyspan::max_path_segments;
  std::string name;
  for (std::size_t i = 0; i < each; ++i) name += "\"\\'"[i % 3];
  std::string segment = "/\"";
  for (char const c : name) segment += {'\\', c};
  segment += '"';
  std::string text;
  for (std::size_t i = 0; i < keyspan::max_path_segments; ++i) text += segment;
  REQUIRE(text.size() == 2 * 4096 + 3 * 128);
  auto const longest = key_path::parse(text);
  REQUIRE(longest);
  CHECK(longest->size() == keyspan::max_path_segments);
  for (std::string_view const one : *longest) CHECK(one == name);
  CHECK(key_path::parse(longest->to_text()) == *longest);
  CHECK(key_path::parse(text + 'x').error().code == errc::too_large);
}

// ---- the compiler's own reading

template <keyspan::fixed_string Text>
constexpr bool both_read_the_same() {
  auto const read = key_path::parse(path<Text>.text());
  check(read.has_value() && *read == path<Text> && read->size() == path<Text>.size());
  std::size_t i = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (check(path<Text>.template segment<I>() == (*read)[i++]), ...);
  }(std::make_index_sequence<path<Text>.size()>{});
  return i == read->size();
}

constexpr bool a_path_of_the_compiler_has_the_names_of_one_that_is_read() {
  check(both_read_the_same<"/a">());
  check(both_read_the_same<"/tenant/user/id">());
  check(both_read_the_same<"/\"a/b\"/'c d'/e">());
  check(both_read_the_same<"/'\\'\\\\'/\"\\\"\"/''">());
  check(both_read_the_same<"/stra\xC3\x9F"
                           "e/\xF0\x9F\x98\x80">());
  return true;
}
CHECK_BOTH(a_path_of_the_compiler_has_the_names_of_one_that_is_read);

template <class Path, std::size_t I>
concept has_segment = requires(Path p) { p.template segment<I>(); };

TEST_CASE("the names of a compiler's path are constants of the program") {
  constexpr auto tenant_user = path<"/tenant/'user id'">;
  STATIC_CHECK(tenant_user.size() == 2 && tenant_user.text() == "/tenant/'user id'");
  constexpr std::string_view user = tenant_user.segment<1>();
  STATIC_CHECK(user == "user id");
  CHECK(user.data() == path<"/tenant/'user id'">.segment<1>().data());
  STATIC_CHECK(std::is_empty_v<decltype(tenant_user)>);
  STATIC_CHECK(has_segment<keyspan::static_path<"/a/b">, 1>);
  STATIC_CHECK(!has_segment<keyspan::static_path<"/a/b">, 2>);
  CHECK(tenant_user.to_text() == "/tenant/\"user id\"");
  key_path const kept = tenant_user;  // a conversion, so that either is taken where one is wanted
  CHECK(kept == key_path::parse("/tenant/\"user id\"").value());
}

// ---- order, equality, hash, copies

constexpr key_path read(std::string_view text) { return key_path::parse(text).value(); }

constexpr bool paths_are_equal_and_ordered_by_their_names() {
  check(read("/a") == read("/\"a\"") && read("/a") == path<"/'a'"> && path<"/a"> == read("/a"));
  check(read("/a/b") != read("/\"a/b\"") && read("/ab") != read("/a/b"));
  check(read("/''/a") != read("/a/''"));
  std::string_view const rising[]{"/''",  "/''/a",  "/'/'", "/A",  "/a", "/'a'/''",
                                  "/a/b", "/a/b/c", "/a/c", "/ab", "/b", "/\xC3\xA9"};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      check((read(rising[i]) <=> read(rising[j])) == (i <=> j));
      check((read(rising[i]) == read(rising[j])) == (i == j));
    }
  }
  return true;
}
CHECK_BOTH(paths_are_equal_and_ordered_by_their_names);

constexpr bool a_path_is_copied_and_moved_whole() {
  key_path path = read("/a/'b c'");
  key_path copy = path;
  check(copy == path);
  key_path const moved = std::move(copy);
  check(moved == path && copy.size() == 0);  // NOLINT: the state after a move is promised
  copy = moved;
  check(copy == path && copy[1] == "b c");
  auto& self = copy;
  copy = self;
  check(copy == path);
  copy = read("/c");
  check(copy != path && copy.size() == 1);
  return true;
}
CHECK_BOTH(a_path_is_copied_and_moved_whole);

TEST_CASE("equal paths hash alike, and most others do not") {
  std::hash<key_path> const hash;
  CHECK(hash(read("/a/b")) == hash(read("/'a'/\"b\"")));
  std::unordered_set<std::size_t> hashes;
  for (auto const text : {"/a", "/b", "/a/b", "/b/a", "/ab", "/'a/b'", "/''", "/''/''", "/a/''"})
    CHECK(hashes.insert(hash(read(text))).second);
}

TEST_CASE("a path goes over its names and is printed") {
  STATIC_CHECK(std::forward_iterator<key_path::iterator>);
  key_path const path = read("/a/bb/ccc");
  std::size_t total = 0;
  for (auto it = path.begin(); it != path.end(); it++) total += (*it).size();
  CHECK(total == 6);
  std::ostringstream out;
  out << path << ' ' << keyspan::path<"/'a b'">;
  CHECK(out.str() == "/a/bb/ccc /\"a b\"");
  CHECK(keyspan::to_text(path) == "/a/bb/ccc");
  CHECK(test::promise_broken_by([&] { return path[3]; }) == "the path has a name of this number");
}

TEST_CASE("a compiler's path allocates nothing, nor does a text that has no name") {
  CHECK(test::allocations_in([] {
          static_cast<void>(key_path::parse("a/b"));
          static_cast<void>(keyspan::path<"/a/'b c'">.segment<1>().size());
        }) == 0);
}

// ---- random names

TEST_CASE("any names make a text that is read back to them") {
  test::random random{5};
  for (int i = 0; i < 5'000; ++i) {
    std::vector<std::string> names(1 + random.below(4));
    std::string text;  // as somebody else would write it: always in quotes, escaped or not
    for (std::string& name : names) {
      for (auto left = random.below(6); left > 0; --left) {
        if (random.chance(60)) {
          name += random.pick("\\\"'/ab *?[]_9 -."sv);
        } else {
          char32_t c = 0;
          do c = static_cast<char32_t>(0x20 + random.below(0x11'0000 - 0x20));
          while (!keyspan::is_code_point(c) || c == 0x7F);
          name += keyspan::encode_utf8(c).view();
        }
      }
      char const quote = random.chance(50) ? '"' : '\'';
      text += '/';
      text += quote;
      for (char const c : name) {
        bool const other_quote = (c == '"' || c == '\'') && c != quote;
        if (c == quote || c == '\\' || (other_quote && random.chance(50))) text += '\\';
        text += c;
      }
      text += quote;
    }
    auto const path = key_path::parse(text);
    REQUIRE(path);
    CHECK(std::vector<std::string>(path->begin(), path->end()) == names);
    CHECK(key_path::parse(path->to_text()) == *path);
  }
}

}  // namespace
