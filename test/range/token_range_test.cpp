// test/range/token_range_test.cpp — stretches of a space: every pair of them over a few tokens.
#include <keyspan/core/print.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/kafka.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using keyspan::adjacent;
using keyspan::errc;
using keyspan::intersection;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_bounds;
using keyspan::token_range;
using keyspan::upper_end;
using test::check;

using small_range = token_range<int>;

// Tokens 0 … 4 and what lies beyond them: 5 is looked at as a token that only ranges to the end
// have.
constexpr int tokens = 5;

constexpr std::vector<upper_end<int>> every_end() {
  std::vector<upper_end<int>> ends;
  for (int t = 0; t <= tokens; ++t) ends.emplace_back(t);
  ends.emplace_back(space_end);
  return ends;
}

constexpr std::vector<small_range> every_range() {
  std::vector<small_range> ranges;
  for (int lower = 0; lower < tokens; ++lower)
    for (auto const& upper : every_end())
      if (upper > lower) ranges.push_back({lower, upper});
  return ranges;
}

// A range as the set of tokens that are in it, one bit each.
constexpr unsigned bits_of(small_range const& range) {
  unsigned bits = 0;
  for (int t = 0; t <= tokens; ++t)
    if (range.contains(t)) bits |= 1U << t;
  return bits;
}

// Not by way of the range: from the bounds that it was made of.
constexpr unsigned bits_between(int lower, upper_end<int> const& upper) {
  unsigned bits = 0;
  for (int t = lower; t <= tokens; ++t)
    if (upper.is_space_end() || t < upper.at()) bits |= 1U << t;
  return bits;
}

constexpr bool a_range_holds_the_tokens_from_its_lower_bound_on_and_before_its_upper_one() {
  std::size_t made = 0;
  for (int lower = 0; lower < tokens; ++lower) {
    for (auto const& upper : every_end()) {
      auto const range = small_range::from(lower, upper);
      auto const by_bounds = small_range::from(token_bounds<int>{lower, upper});
      check(range == by_bounds);
      check(range.has_value() == (bits_between(lower, upper) != 0));
      if (!range) {
        check(range.error().code == errc::invalid_range);
        continue;
      }
      ++made;
      check(*range == small_range{lower, upper});
      check(*range == small_range{token_bounds<int>{lower, upper}});
      check(range->lower() == lower && range->upper() == upper);
      check(bits_of(*range) == bits_between(lower, upper));
      check(!range->contains(lower - 1) && range->contains(lower));
    }
  }
  check(made == every_range().size() && made == 20);
  return true;
}
CHECK_BOTH(a_range_holds_the_tokens_from_its_lower_bound_on_and_before_its_upper_one);

constexpr bool two_ranges_are_to_each_other_what_their_tokens_are() {
  auto const every = every_range();
  for (auto const& a : every) {
    for (auto const& b : every) {
      unsigned const both = bits_of(a) & bits_of(b);
      check(overlaps(a, b) == (both != 0));
      check(a.contains(b) == (both == bits_of(b)));
      check((a == b) == (bits_of(a) == bits_of(b)));
      auto const shared = intersection(a, b);
      check(shared.has_value() == (both != 0));
      if (shared) check(bits_of(*shared) == both);

      // Together they are one range, and no token is in both.
      bool const follows =
          both == 0 && a < b && bits_of({a.lower(), b.upper()}) == (bits_of(a) | bits_of(b));
      check(adjacent(a, b) == follows);
      if (adjacent(a, b)) check(bits_of(join(a, b)) == (bits_of(a) | bits_of(b)));

      auto const by_bounds =
          a.lower() != b.lower() ? a.lower() <=> b.lower() : a.upper() <=> b.upper();
      check((a <=> b) == by_bounds);
      check((a < b) == (by_bounds < 0));
    }
  }
  return true;
}
CHECK_BOTH(two_ranges_are_to_each_other_what_their_tokens_are);

constexpr bool a_range_that_is_cut_is_the_join_of_its_parts() {
  for (auto const& whole : every_range()) {
    for (int at = 0; at <= tokens; ++at) {
      if (!whole.contains(at) || at == whole.lower()) continue;
      auto const [left, right] = split(whole, at);
      check(left == small_range{whole.lower(), at} && right == small_range{at, whole.upper()});
      check(bits_of(left) + bits_of(right) == bits_of(whole) && !left.contains(at));
      check(join(left, right) == whole && adjacent(left, right) && !overlaps(left, right));
    }
  }
  return true;
}
CHECK_BOTH(a_range_that_is_cut_is_the_join_of_its_parts);

constexpr bool a_range_is_cut_in_as_many_parts_as_there_are_cuts_and_one() {
  for (auto const& whole : every_range()) {
    unsigned const inside = bits_of(whole) & ~(1U << whole.lower());
    for (unsigned bits = 0; bits < 1U << (tokens + 1); ++bits) {
      if ((bits & ~inside) != 0) continue;
      std::vector<int> cuts;
      for (int at = 0; at <= tokens; ++at)
        if ((bits >> at & 1) != 0) cuts.push_back(at);
      auto const parts = split(whole, cuts);
      check(parts.size() == cuts.size() + 1);
      auto joined = parts.front();
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        check(parts[i + 1].lower() == cuts[i]);
        joined = join(joined, parts[i + 1]);
      }
      check(joined == whole);
    }
  }
  return true;
}
CHECK_BOTH(a_range_is_cut_in_as_many_parts_as_there_are_cuts_and_one);

TEST_CASE("the example of ranges reads as it should") {
  // [region: example]
  auto const space = keyspan::whole_space(keyspan::cosmos_v2);
  auto const at = [](std::string_view digits) {
    return *keyspan::from_hex<keyspan::token128>(digits);
  };
  auto const [left, right] = keyspan::split(space, at("20"));
  check(left.contains(at("1FFF")) && right.contains(at("20")));
  check(keyspan::join(left, right) == space);

  keyspan::token_range const asked{at("10"), at("30")};
  check(overlaps(left, asked) && overlaps(right, asked));
  check(*intersection(left, asked) == keyspan::token_range{at("10"), at("20")});
  check(left.to_text() == "[\"\", 20000000000000000000000000000000)");

  auto const wrong = keyspan::token_range<int>::from(7, 3);  // bounds that came from somewhere
  check(wrong.error().to_text() == "invalid_range: there is no token from 7 on and before 3");
  // [end: example]
}

TEST_CASE("bounds that enclose nothing are an error that names them") {
  auto const text_of = [](auto const& made) { return std::string{made.error().text.view()}; };
  CHECK(text_of(small_range::from(3, 3)) == "there is no token from 3 on and before 3");
  CHECK(text_of(token_range<token128>::from(token128{1, 2}, token128{})) ==
        "there is no token from 00000000000000010000000000000002 on and before \"\"");
  CHECK(text_of(token_range<std::string>::from("b", std::string{"a"})) ==
        "there is no token from b on and before a");
  CHECK(text_of(token_range<std::string>::from("b", std::string{})) ==
        "there is no token from b on and before \"\"");
  std::string const long_text(200, 'x');
  auto const cut = token_range<std::string>::from(long_text, long_text);
  CHECK(!cut.error().text.is_cut());
  CHECK(cut.error().text.view().find("\xE2\x80\xA6 on and before x") != std::string_view::npos);
}

TEST_CASE("a range without a token is a broken promise") {
  std::string const promise = "a token range holds at least one token";
  CHECK(test::promise_broken_by([] { return small_range{3, 3}; }) == promise);
  CHECK(test::promise_broken_by([] { return small_range{3, 2}; }) == promise);
  CHECK(test::promise_broken_by([] { return small_range{token_bounds<int>{3, 1}}; }) == promise);
}

TEST_CASE("a cut that is not inside is a broken promise") {
  std::string const one = "a range is cut inside, not on a border";
  std::string const many = "the cuts rise, inside of the range";
  small_range const range{2, 5};
  for (int const at : {0, 1, 2, 5, 6})
    CHECK(test::promise_broken_by([&] { return split(range, at); }) == one);
  for (int const at : {3, 4})
    CHECK(test::promise_broken_by([&] { return split(range, at); }).empty());
  CHECK(test::promise_broken_by([] { return split(small_range{2, space_end}, 2); }) == one);
  for (std::vector<int> const& cuts :
       {std::vector{2}, {5}, {3, 3}, {4, 3}, {1, 3}, {3, 5}, {3, 4, 6}})
    CHECK(test::promise_broken_by([&] { return split(range, cuts); }) == many);
  CHECK(split(range, std::vector<int>{}) == std::vector{range});
}

TEST_CASE("only neighbours are joined") {
  std::string const promise = "ranges that are joined are neighbours";
  small_range const left{0, 3};
  for (small_range const& right : {small_range{4, 5}, {2, 5}, {0, 3}, {3 - 4, 0}})
    CHECK(test::promise_broken_by([&] { return join(left, right); }) == promise);
  CHECK(test::promise_broken_by(
            [] { return join(small_range{0, space_end}, small_range{3, 4}); }) == promise);
}

// The greatest token of a type that has one.
constexpr bool a_range_to_the_end_holds_the_greatest_token() {
  constexpr auto last = (std::numeric_limits<std::int64_t>::max)();
  token_range<std::int64_t> const to_the_end{0, space_end};
  token_range<std::int64_t> const to_the_last{0, last};
  check(to_the_end.contains(last) && !to_the_last.contains(last));
  check(to_the_end.contains(to_the_last) && !to_the_last.contains(to_the_end));
  auto const [rest, greatest] = split(to_the_end, last);
  check(rest == to_the_last && greatest.contains(last));
  token128 const most{~std::uint64_t{0}, ~std::uint64_t{0}};
  check(token_range<token128>{token128{}, space_end}.contains(most));
  return true;
}
CHECK_BOTH(a_range_to_the_end_holds_the_greatest_token);

template <class Scheme>
constexpr void has_a_whole_space(Scheme const& scheme) {
  auto const space = keyspan::whole_space(scheme);
  check(space.lower() == scheme.minimum() && space.upper().is_space_end());
  check(space.contains(scheme.minimum()));
  if constexpr (keyspan::splittable_scheme<Scheme>) {
    for (std::size_t i = 0; i < 3; ++i) check(space.contains(scheme.boundary(i, 3)));
  }
}

constexpr bool the_whole_space_of_a_scheme_begins_with_its_minimum_and_ends_nowhere() {
  has_a_whole_space(keyspan::cosmos_v1);
  has_a_whole_space(keyspan::cosmos_v2);
  has_a_whole_space(keyspan::cosmos_multihash);
  has_a_whole_space(keyspan::any_scheme{keyspan::cosmos_v2});
  has_a_whole_space(keyspan::redis_cluster);
  has_a_whole_space(keyspan::kafka);
  has_a_whole_space(keyspan::cassandra);
  has_a_whole_space(keyspan::identity);
  has_a_whole_space(keyspan::fast64);
  auto const greatest = keyspan::cosmos_v2.greatest();
  check(keyspan::whole_space(keyspan::cosmos_v2).contains(greatest));
  return true;
}
CHECK_BOTH(the_whole_space_of_a_scheme_begins_with_its_minimum_and_ends_nowhere);

constexpr bool a_range_says_its_bounds() {
  check(small_range{-3, 5}.to_text() == "[-3, 5)");
  check(small_range{-3, space_end}.to_text() == "[-3, the end)");
  check(token_range{token128{1, 2}, space_end}.to_text() ==
        "[00000000000000010000000000000002, FF)");
  check(token_range{token128{}, token128{0, 1}}.to_text() ==
        "[\"\", 00000000000000000000000000000001)");
  return true;
}
CHECK_BOTH(a_range_says_its_bounds);

TEST_CASE("a range of texts says its bounds, cut where they are long") {
  using text_range = token_range<std::string>;
  CHECK(text_range{"", std::string{"b"}}.to_text() == "[\"\", b)");
  CHECK(text_range{"a", space_end}.to_text() == "[a, the end)");
  auto const text = text_range{std::string(100, 'a'), std::string(100, 'b')}.to_text();
  CHECK(text ==
        "[" + std::string(48, 'a') + "\xE2\x80\xA6, " + std::string(48, 'b') + "\xE2\x80\xA6)");
  CHECK(!text.is_cut());
}

// As those of one tenant do: 52 digits of 64.
TEST_CASE("hierarchical bounds that begin alike are told apart in every text") {
  using keyspan::range_from_hex;
  std::string const tenant = "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123";
  std::string const first = tenant + "456789ABCDEF";
  std::string const second = tenant + "456889ABCDEF";
  auto const lower = *keyspan::cosmos_multihash.from_hex(first);
  auto const upper = *keyspan::cosmos_multihash.from_hex(second);
  CHECK(token_range{lower, upper}.to_text() ==
        "[0123456789AB\xE2\x80\xA6"
        "F0123456789ABCDEF, 0123456789AB\xE2\x80\xA6"
        "F0123456889ABCDEF)");
  auto const wrong = token_range<keyspan::token_multihash>::from(upper, lower);
  CHECK(wrong.error().text ==
        "there is no token from 0123456789AB\xE2\x80\xA6"
        "F0123456889ABCDEF on and before 0123456789AB\xE2\x80\xA6"
        "F0123456789ABCDEF");
  CHECK(range_from_hex(keyspan::cosmos_multihash, second, first).error() == wrong.error());
  // Bounds that are one and the same token are shown as such.
  CHECK(range_from_hex(keyspan::cosmos_multihash, first, first).error().text ==
        "there is no token from 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\xE2\x80\xA6"
        " on and before 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\xE2\x80\xA6");
  // And as they were where the beginnings differ.
  CHECK(token_range{lower, keyspan::upper_end<keyspan::token_multihash>{space_end}}.to_text() ==
        "[0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\xE2\x80\xA6, FF)");
}

TEST_CASE("ranges are streamed as they read") {
  std::ostringstream out;
  out << small_range{1, 2} << ' ' << keyspan::whole_space(keyspan::cosmos_v2);
  CHECK(out.str() == "[1, 2) [\"\", FF)");
}

// A token that can be ordered, and nothing else: no default, no text, no hash.
struct place {
  constexpr explicit place(int n) : number{n} {}
  friend constexpr std::weak_ordering operator<=>(place const& a, place const& b) {
    return a.number <=> b.number;
  }
  friend constexpr bool operator==(place const& a, place const& b) { return a.number == b.number; }
  int number;
};

// Its comparisons are functions of a running program only.
struct written_down {
  explicit written_down(int n) : number{n} {}
  std::strong_ordering operator<=>(written_down const& other) const {
    return number <=> other.number;
  }
  bool operator==(written_down const& other) const { return number == other.number; }
  int number;
};

TEST_CASE("a token that is compared at run time only has ranges as well") {
  token_range const all{written_down{1}, space_end};
  auto const [left, right] = split(all, written_down{5});
  CHECK(left == token_range{written_down{1}, written_down{5}});
  CHECK(left < right);
  CHECK(token_bounds<written_down>{written_down{1}, space_end} !=
        token_bounds<written_down>{written_down{2}, space_end});
}

template <class T>
concept has_a_text = requires(T const& t) { t.to_text(); };

constexpr bool any_token_will_do() {
  token_range const all{place{1}, space_end};
  check(all.contains(place{7}) && !all.contains(place{0}));
  auto const [left, right] = split(all, place{5});
  check(join(left, right) == all && left < right && overlaps(all, left));
  check(*intersection(all, left) == left && !intersection(left, right));
  std::array const cuts{place{2}, place{3}};
  check(split(all, cuts).size() == 3);
  check(token_range<place>::from(place{2}, place{1}).error().text ==
        "there is no token from (a token without a text) on and before (a token without a text)");
  return true;
}
CHECK_BOTH(any_token_will_do);

TEST_CASE("a range asks no more of its token than it needs") {
  STATIC_CHECK(!has_a_text<token_range<place>> && has_a_text<token_range<int>>);
  STATIC_CHECK(std::is_same_v<small_range::token_type, int>);
  STATIC_CHECK(std::is_trivially_copyable_v<token_range<token128>>);
  STATIC_CHECK(!std::is_default_constructible_v<small_range>);
  STATIC_CHECK(std::is_same_v<decltype(token_range{1, 2}), small_range>);
  STATIC_CHECK(std::is_same_v<decltype(token_range{1, space_end}), small_range>);
  STATIC_CHECK(std::is_same_v<decltype(token_range{token_bounds<int>{1, 2}}), small_range>);
  STATIC_CHECK(!std::is_convertible_v<token_bounds<int>, small_range>);
}

TEST_CASE("equal ranges hash alike, and others hardly ever") {
  std::hash<small_range> const hash{};
  std::unordered_set<std::size_t> seen;
  std::unordered_set<small_range> ranges;
  for (int lower = 0; lower < 60; ++lower) {
    for (int upper = lower + 1; upper < 60; ++upper) {
      small_range const range{lower, upper};
      CHECK(hash(range) == hash(small_range{lower, upper}));
      seen.insert(hash(range));
      ranges.insert(range);
    }
  }
  CHECK(ranges.size() == 60 * 59 / 2);
  CHECK(seen.size() == ranges.size());
  CHECK(hash({0, space_end}) == hash({0, space_end}));
  CHECK(hash({0, space_end}) != hash({1, space_end}));
}

TEST_CASE("questions about ranges allocate nothing") {
  token_range const whole = keyspan::whole_space(keyspan::cosmos_v2);
  bool answers = true;
  CHECK(test::allocations_in([&] {
          auto const [left, right] = split(whole, token128{5, 5});
          answers = answers && whole.contains(left) && overlaps(whole, right) &&
                    join(left, right) == whole && intersection(whole, left) == left &&
                    !left.to_text().view().empty() &&
                    !token_range<token128>::from(token128{5, 5}, token128{});
        }) == 0);
  CHECK(answers);
}

TEST_CASE("a range of texts is cut at a list of texts and not at one made of two pointers") {
  using range = token_range<std::string>;
  auto const parts = split(range{"a", space_end}, {"g", "m"});
  CHECK(parts == std::vector{range{"a", std::string{"g"}}, range{"g", std::string{"m"}},
                             range{"m", space_end}});
}

TEST_CASE("a range is read from the texts of its bounds as a service lists them") {
  using keyspan::range_from_hex;
  auto const whole = range_from_hex(keyspan::cosmos_v2, "", "FF");
  CHECK(whole == whole_space(keyspan::cosmos_v2));
  auto const half = range_from_hex(keyspan::cosmos_v2, "1fffffffffffffffffffffffffffffff", "FF");
  CHECK(half.value().lower() == keyspan::cosmos_v2.boundary(1, 2));
  CHECK(range_from_hex(keyspan::cosmos_v1, "05C1DFFFFFFFFC", "FF")->lower() ==
        keyspan::cosmos_v1.boundary(1, 2));
  CHECK(range_from_hex(keyspan::any_scheme{keyspan::cosmos_v1}, "", "05C1DFFFFFFFFC").has_value());
  CHECK(range_from_hex(keyspan::cosmos_v2, "20", "10").error().code == errc::invalid_range);
  CHECK(range_from_hex(keyspan::cosmos_v2, "20", "20").error().code == errc::invalid_range);
  CHECK(range_from_hex(keyspan::cosmos_v2, "2x", "30").error().code == errc::malformed);
  CHECK(range_from_hex(keyspan::cosmos_v2, "20", "30x").error().code == errc::malformed);
  CHECK(range_from_hex(keyspan::cosmos_v2, "FF", "FF").error().code == errc::not_representable);
}

}  // namespace
