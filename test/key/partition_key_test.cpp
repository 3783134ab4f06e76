// test/key/partition_key_test.cpp — up to three values, owned and borrowed, and how they compare.
#include <keyspan/core/print.hpp>
#include <keyspan/key/partition_key.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
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
using keyspan::key_value;
using keyspan::none_key;
using keyspan::null;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::undefined;
using test::check;

constexpr std::string_view long_text =
    "more characters than a partition key keeps in itself, so that they are allocated";
static_assert(long_text.size() > 64);

TEST_CASE("the example of partition_key reads as it should") {
  // [region: example]
  using keyspan::partition_key;
  std::string const tenant = "contoso";
  keyspan::partition_key_view const seen{tenant, "mona", 7};  // borrows
  partition_key const kept{seen};                             // owns
  CHECK(kept == seen);
  CHECK(kept.to_text() == R"(["contoso","mona",7])");
  CHECK(kept.prefix(1) == partition_key{"contoso"});
  CHECK(kept.starts_with(keyspan::partition_key_view{"contoso", "mona"}));
  CHECK(kept.prefix(2) < seen);  // a prefix comes before all that are under it
  // [end: example]
}

// ---- zero to three values

constexpr bool a_key_has_zero_to_three_values() {
  check(partition_key{}.empty() && partition_key_view{}.size() == 0);
  partition_key const key{"a", 1.5, null};
  check(key.size() == 3 && !key.empty());
  check(key[0] == key_value{"a"} && key[1] == key_value{1.5} && key[2].is_null());
  check(key.values().size() == 3 && key.end() - key.begin() == 3);
  partition_key_view const view{"a", 1.5, null};
  check(view.size() == 3 && view == key && view[0].string() == "a");
  check(partition_key{undefined}.size() == 1 && partition_key{undefined} != partition_key{});
  key_value const values[]{"x", true};
  check(partition_key_view{std::span{values}} == partition_key{"x", true});
  check(partition_key_view{std::span<key_value const>{}}.empty());
  check(partition_key_view{values[0]} == partition_key{"x"});  // one value, not a list of them
  std::size_t count = 0;
  for (key_value const& value : key) count += value.is_string();
  check(count == 1);
  return true;
}
CHECK_BOTH(a_key_has_zero_to_three_values);

constexpr bool the_key_of_a_document_that_names_none_follows_the_definition() {
  check(none_key(0) == partition_key{} && none_key(0).empty());
  check(none_key(1) == partition_key{undefined});
  check(none_key(3) == partition_key{undefined});
  return true;
}
CHECK_BOTH(the_key_of_a_document_that_names_none_follows_the_definition);

TEST_CASE("what a key does not have is not asked for") {
  partition_key const key{"a"};
  CHECK(test::promise_broken_by([&] { return key[1]; }) ==
        "the partition key has a value of this number");
  CHECK(test::promise_broken_by([&] { return partition_key_view{key}[1]; }) ==
        "the partition key has a value of this number");
  CHECK(test::promise_broken_by([&] { return key.prefix(2); }) ==
        "a prefix is not longer than the key");
  std::array<key_value, 4> const four{};
  CHECK(test::promise_broken_by([&] { return partition_key_view{std::span{four}}; }) ==
        "a partition key has at most three values");
}

template <class... Values>
constexpr bool makes_a_key = std::is_constructible_v<partition_key, Values...>;
template <class... Values>
constexpr bool makes_a_view = std::is_constructible_v<partition_key_view, Values...>;

TEST_CASE("a key owns what a view must borrow") {
  STATIC_CHECK(makes_a_key<std::string> && !makes_a_view<std::string>);
  STATIC_CHECK(makes_a_key<std::string, int, std::string>);
  STATIC_CHECK(makes_a_view<std::string&, int> && !makes_a_view<int, std::string>);
  STATIC_CHECK(makes_a_view<std::string const&> && makes_a_view<std::string_view>);
  STATIC_CHECK(!makes_a_key<int, int, int, int> && !makes_a_view<int, int, int, int>);
  STATIC_CHECK(!makes_a_key<char> && !makes_a_key<std::nullptr_t> && !makes_a_key<int, int*>);
  STATIC_CHECK(makes_a_view<partition_key&> && !makes_a_view<partition_key>);
  STATIC_CHECK(!makes_a_view<partition_key const>);
  STATIC_CHECK(makes_a_key<partition_key_view> && makes_a_key<partition_key>);
  // One value does not become a key by itself, an owner becomes a view.
  STATIC_CHECK(!std::is_convertible_v<int, partition_key>);
  STATIC_CHECK(!std::is_convertible_v<key_value, partition_key_view>);
  STATIC_CHECK(!std::is_convertible_v<partition_key_view, partition_key>);
  STATIC_CHECK(std::is_convertible_v<partition_key const&, partition_key_view>);
  STATIC_CHECK(keyspan::key_like<partition_key&> && keyspan::key_like<partition_key_view const>);
  STATIC_CHECK(!keyspan::key_like<key_value> && !keyspan::key_like<std::span<key_value>>);
  STATIC_CHECK(std::is_trivially_copyable_v<partition_key_view>);
  STATIC_CHECK(std::regular<partition_key> && std::regular<partition_key_view>);
  STATIC_CHECK(std::is_nothrow_move_constructible_v<partition_key>);
  STATIC_CHECK(std::is_nothrow_move_assignable_v<partition_key>);
  STATIC_CHECK(std::ranges::contiguous_range<partition_key>);
}

TEST_CASE("a view shows the owner's own characters") {
  partition_key const key{"abc", long_text};
  partition_key_view const view = key;
  CHECK(view[0].string().data() == key[0].string().data());
  CHECK(key.prefix(1)[0].string().data() == key[0].string().data());
  std::string const name = "borrowed";
  CHECK(partition_key_view{name}[0].string().data() == name.data());
  partition_key const copied{name};
  CHECK(copied[0].string().data() != name.data());
}

// ---- what cannot be

constexpr bool a_refusal_names_the_value_that_is_wrong() {
  double const infinite = std::numeric_limits<double>::infinity();
  auto const ok = partition_key_view::from("a", 2, undefined);
  check(ok.has_value() && *ok == partition_key{"a", 2, undefined});
  check(partition_key_view::from().value().empty() && partition_key::from().value().empty());
  check(partition_key::from("a", 0.5).value() == partition_key{"a", 0.5});
  using keyspan::fail;
  check(partition_key_view::from(infinite) ==
        fail(errc::not_representable, "infinity is no key value"));
  check(partition_key_view::from("a", -infinite, infinite) ==
        fail(errc::not_representable, "value 2 of the key: minus infinity is no key value"));
  check(partition_key::from(1, 2, std::optional{infinite}) ==
        fail(errc::not_representable, "value 3 of the key: infinity is no key value"));
  auto const wrong = partition_key::from("ok \xC3\xA9\xC3", "\xFF");
  check(wrong.error().to_text() ==
        "invalid_utf8: value 1 of the key: a key value is UTF-8, this text is not from byte 5 on");
  check(partition_key::from(1, "\xC3").error().text ==
        "value 2 of the key: a key value is UTF-8, this text is not from byte 0 on");
  return true;
}
CHECK_BOTH(a_refusal_names_the_value_that_is_wrong);

// ---- copies and moves

constexpr void check_copies_and_moves(partition_key_view const& expected) {
  partition_key const original{expected};
  check(original == expected);
  partition_key copy{original};
  check(copy == expected && original == expected);
  partition_key moved{std::move(copy)};
  check(moved == expected);
  check(copy.empty() && copy == partition_key{});  // NOLINT: the state after a move is promised
  copy = moved;                                    // and it can be used again
  check(copy == expected);
  partition_key assigned{"something", "else", long_text};
  assigned = std::move(copy);
  check(assigned == expected && copy.empty());  // NOLINT
  auto& self = assigned;
  assigned = self;
  check(assigned == expected);
  assigned = std::move(self);
  check(assigned == expected);
  std::swap(assigned, copy);
  check(copy == expected && assigned.empty());
  copy = partition_key{};
  check(copy.empty());
  // Where the strings of a copy stand is its own affair.
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i].is_string() && !expected[i].string().empty())
      check(moved[i].string().data() != original[i].string().data());
}

constexpr bool keys_are_copied_and_moved_whole() {
  check_copies_and_moves({});
  check_copies_and_moves(partition_key_view{"a"});
  check_copies_and_moves(partition_key_view{"", "a", ""});
  check_copies_and_moves(partition_key_view{undefined, null, true});
  check_copies_and_moves(partition_key_view{"first", 1.5, "third"});
  check_copies_and_moves(partition_key_view{long_text});
  check_copies_and_moves(partition_key_view{long_text, "short", long_text});
  for (std::size_t size = 62; size <= 66; ++size)  // where the room in the object ends
    check_copies_and_moves(partition_key_view{long_text.substr(0, size - 3), "abc"});
  return true;
}
CHECK_BOTH(keys_are_copied_and_moved_whole);

// A key that is returned by value and one that stands in a constant refer to their own characters.
constexpr partition_key made_elsewhere() {
  partition_key key{"redmond", 5};
  return key;
}
constexpr partition_key in_a_constant{"redmond", 5};
constexpr partition_key returned = made_elsewhere();

TEST_CASE("a key can be a constant") {
  STATIC_CHECK(in_a_constant[0].string() == "redmond" && in_a_constant == made_elsewhere());
  CHECK(in_a_constant == returned);
  auto const* const begin = reinterpret_cast<char const*>(&returned);
  CHECK(std::less_equal<>{}(begin, returned[0].string().data()));
  CHECK(std::less<>{}(returned[0].string().data(), begin + sizeof returned));
}

TEST_CASE("a key outlives what it was made of") {
  std::optional<partition_key> kept;
  {
    std::string name{long_text};
    std::string other = "short";
    kept = partition_key{name, other};
    name.assign(name.size(), '#');
    other = "#####";
  }
  CHECK(*kept == partition_key{long_text, "short"});
  std::vector<partition_key> keys;
  for (int i = 0; i < 100; ++i) keys.emplace_back(std::to_string(i), i);  // moved many times
  for (int i = 0; i < 100; ++i)
    CHECK(keys[static_cast<std::size_t>(i)] == partition_key{std::to_string(i), i});
}

TEST_CASE("a key of its own prefix") {
  partition_key key{"a", long_text, "c"};
  key = partition_key{key.prefix(2)};
  CHECK(key == partition_key{"a", long_text});
  key = partition_key{key.prefix(1)};
  CHECK(key == partition_key{"a"});
}

// ---- order, prefixes, equality, hash

constexpr bool keys_are_ordered_by_the_first_value_that_differs() {
  partition_key const rising[]{partition_key{},
                               partition_key{undefined},
                               partition_key{undefined, undefined},
                               partition_key{undefined, 1},
                               partition_key{null},
                               partition_key{false, "z"},
                               partition_key{true},
                               partition_key{-1},
                               partition_key{0},
                               partition_key{0, undefined},
                               partition_key{0, "a"},
                               partition_key{0, "a", 1},
                               partition_key{0, "b"},
                               partition_key{1},
                               partition_key{""},
                               partition_key{"", ""},
                               partition_key{"a"},
                               partition_key{"a", "b"},
                               partition_key{"ab"},
                               partition_key{"\xF0\x90\x80\x80"},  // U+10000 stands before
                               partition_key{"\xEE\x80\x80"}};     // U+E000
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      partition_key_view const a = rising[i];
      partition_key_view const b = rising[j];
      check((rising[i] <=> rising[j]) == (i <=> j) && (a <=> b) == (i <=> j));
      check((rising[i] <=> b) == (i <=> j) && (a <=> rising[j]) == (i <=> j));
      check((rising[i] == rising[j]) == (i == j) && (a == b) == (i == j));
      check((rising[i] == b) == (i == j) && (a == rising[j]) == (i == j));
    }
  }
  return true;
}
CHECK_BOTH(keys_are_ordered_by_the_first_value_that_differs);

constexpr bool a_key_is_under_each_of_its_prefixes_and_no_other_key() {
  partition_key const key{"a", 1, "c"};
  for (std::size_t size = 0; size <= key.size(); ++size) {
    auto const prefix = key.prefix(size);
    check(prefix.size() == size && key.starts_with(prefix));
    check(partition_key_view{key}.starts_with(prefix) && (prefix <=> key) == (size <=> 3U));
    check(partition_key_view{key}.prefix(size) == prefix);
    check(size == 3 || !prefix.starts_with(key));
  }
  check(!key.starts_with(partition_key_view{"b"}) && !key.starts_with(partition_key_view{"a", 2}));
  check(!key.starts_with(partition_key_view{undefined}));
  check(!key.prefix(1).starts_with(partition_key_view{"a", undefined}));
  check(!key.starts_with(partition_key_view{"a", 1, "cc"}));
  return true;
}
CHECK_BOTH(a_key_is_under_each_of_its_prefixes_and_no_other_key);

TEST_CASE("equal keys hash alike, owned or borrowed") {
  std::hash<partition_key> const hash;
  std::hash<partition_key_view> const view_hash;
  std::string const name{long_text};
  CHECK(hash(partition_key{name, -0.0}) == view_hash(partition_key_view{name, 0}));
  std::unordered_set<std::size_t> hashes;
  partition_key const different[]{partition_key{},
                                  partition_key{undefined},
                                  partition_key{undefined, undefined},
                                  partition_key{undefined, undefined, undefined},
                                  partition_key{0},
                                  partition_key{0, 0},
                                  partition_key{0, 1},
                                  partition_key{1, 0},
                                  partition_key{"a", "b"},
                                  partition_key{"b", "a"},
                                  partition_key{"ab"},
                                  partition_key{"ab", ""},
                                  partition_key{"", "ab"}};
  for (auto const& key : different) {
    CHECK(hash(key) == view_hash(key));
    CHECK(hashes.insert(hash(key)).second);
  }
}

TEST_CASE("random keys compare as their values do") {
  test::random random{4};
  auto const any_value = [&]() -> key_value {
    switch (random.below(6)) {
      case 0:
        return undefined;
      case 1:
        return null;
      case 2:
        return random.chance(50);
      case 3:
        return static_cast<double>(random.between(-2, 2));
      case 4:
        return random.chance(50) ? "a"sv : "b"sv;
      default:
        return random.chance(50) ? ""sv : long_text;
    }
  };
  for (int i = 0; i < 20'000; ++i) {
    std::array<key_value, 3> const left{any_value(), any_value(), any_value()};
    std::array<key_value, 3> const right{any_value(), any_value(), any_value()};
    partition_key const a{partition_key_view{std::span{left}.first(random.below(4))}};
    partition_key const b{partition_key_view{std::span{right}.first(random.below(4))}};
    auto expected = std::strong_ordering::equal;
    for (std::size_t k = 0; k < 3 && expected == 0; ++k) {
      if (k >= a.size() || k >= b.size()) {
        expected = a.size() <=> b.size();
        break;
      }
      expected = left[k] <=> right[k];
    }
    check((a <=> b) == expected);
    check((a == b) == (expected == 0));
    check(!(a == b) || std::hash<partition_key>{}(a) == std::hash<partition_key>{}(b));
  }
}

// ---- text, allocations

TEST_CASE("a key says itself in JSON") {
  CHECK(partition_key{}.to_text() == "[]");
  CHECK(partition_key{undefined}.to_text() == "[{}]");
  CHECK(partition_key{"h\xC3\xA9", 1.5, null}.to_text() == "[\"h\xC3\xA9\",1.5,null]");
  CHECK(partition_key_view{true, -2}.to_text() == "[true,-2]");
  std::ostringstream out;
  out << partition_key{"a", undefined} << ' ' << partition_key_view{5};
  CHECK(out.str() == "[\"a\",{}] [5]");
}

TEST_CASE("a view allocates nothing, a key only for more than 64 bytes of strings") {
  std::string const name(64, 'x');
  std::string const longer(65, 'x');
  CHECK(test::allocations_in([&] {
          partition_key_view const view{longer, "b", 3};
          auto const made = partition_key_view::from(longer, "b", "\xFF");
          static_cast<void>(view.prefix(2).starts_with(view) + made.has_value());
          partition_key key{name, 5, true};
          partition_key const copy{key};
          partition_key moved{std::move(key)};
          moved = copy;
          static_cast<void>(moved == copy);
        }) == 0);
  CHECK(test::allocations_in([&] { partition_key const key{longer}; }) == 1);
  CHECK(test::allocations_in([&] { partition_key const key{name, "y"}; }) == 1);
}

}  // namespace
