// test/hash/hash_scheme_test.cpp — what a scheme is, and the verbs that take any of them.
#include <keyspan/hash/hash_scheme.hpp>

#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <support/check.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::fail;
using keyspan::key_value;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::result;
using keyspan::space_end;
using keyspan::to_hex;
using keyspan::token128;
using keyspan::token_of;
using keyspan::upper_end;
using test::check;

// [region: own]
// A shop's orders: one value, a number below 1000, is its own place.
struct by_branch {
  using token_type = int;

  constexpr keyspan::result<int> token_of(std::span<keyspan::key_value const> values) const {
    if (values.empty()) return minimum();
    if (values.size() > 1 || !values[0].is_number())
      return keyspan::fail(keyspan::errc::not_a_key, "a branch is one number");
    return static_cast<int>(values[0].number());
  }
  constexpr int minimum() const { return 0; }
  constexpr std::string_view name() const { return "by_branch"; }

  friend constexpr bool operator==(by_branch, by_branch) = default;
};
static_assert(keyspan::hash_scheme<by_branch>);
static_assert(keyspan::token_of(by_branch{}, keyspan::partition_key{417}) == 417);
// [end: own]

struct nameless : by_branch {
  void name() const = delete;
};
struct of_another_token : by_branch {
  using token_type = long;
};

TEST_CASE("a scheme has tokens, a least one and a name") {
  STATIC_CHECK(keyspan::hash_scheme<by_branch> && !keyspan::splittable_scheme<by_branch>);
  CHECK(by_branch{} == by_branch{});
  STATIC_CHECK(!keyspan::hex_scheme<by_branch> && !keyspan::prefix_scheme<by_branch>);
  STATIC_CHECK(!keyspan::hash_scheme<nameless> && !keyspan::hash_scheme<of_another_token>);
  STATIC_CHECK(!keyspan::hash_scheme<int> && !keyspan::hash_scheme<token128>);
  STATIC_CHECK(keyspan::splittable_scheme<keyspan::cosmos_v2_scheme>);
  STATIC_CHECK(std::same_as<keyspan::token_of_scheme<keyspan::cosmos_v2_scheme>, token128>);
}

constexpr bool a_token_is_taken_of_whatever_holds_a_key() {
  constexpr token128 redmond{0x22E342F38A486A08, 0x8463DFF7838A5963};
  partition_key const key{"redmond"};
  key_value const value{"redmond"};
  check(token_of(cosmos_v2, key) == redmond);
  check(token_of(cosmos_v2, partition_key{"redmond"}) == redmond);
  check(token_of(cosmos_v2, partition_key_view{"redmond"}) == redmond);
  check(token_of(cosmos_v2, value) == redmond);
  check(token_of(cosmos_v2, "redmond") == redmond);  // a value is made of it
  check(token_of(cosmos_v2, keyspan::inline_text<16>{"redmond"}) == redmond);  // and not kept
  check(token_of(cosmos_v2, 5) == token_of(cosmos_v2, key_value{5.0}));
  check(token_of(cosmos_v2, key.values()) == redmond);
  check(token_of(cosmos_v2, std::span{&value, 1}) == redmond);
  check(token_of(cosmos_v2, partition_key{}) == cosmos_v2.minimum());
  return true;
}
CHECK_BOTH(a_token_is_taken_of_whatever_holds_a_key);

struct review {
  std::string id;
  std::string article_id;
};
constexpr auto by_article = [](review const& r) { return partition_key_view::from(r.article_id); };

TEST_CASE("the token of what an extractor returns has a text, and its error goes past both") {
  review const good{"1", "redmond"};
  auto const hex = to_hex(token_of(cosmos_v2, by_article(good)));
  STATIC_CHECK(std::same_as<decltype(hex), result<keyspan::inline_text<32>> const>);
  CHECK(hex == "22E342F38A486A088463DFF7838A5963");

  review const bad{"2", "\xFF"};
  auto const none = to_hex(token_of(cosmos_v2, by_article(bad)));
  REQUIRE(!none);
  CHECK(none.error() == by_article(bad).error());
}

constexpr bool without_a_key_there_is_no_token_for_the_same_reason() {
  auto const why = fail(errc::not_a_key, "an array");
  check(token_of(cosmos_v2, result<partition_key_view>{why}) == why);
  check(token_of(cosmos_v2, result<partition_key>{why}) == why);
  check(token_of(cosmos_v2, result<key_value>{why}) == why);
  check(token_of(by_branch{}, result<key_value>{why}) == why);
  check(token_of(by_branch{}, result<key_value>{key_value{7}}) == 7);
  check(token_of(by_branch{}, result<key_value>{key_value{"7"}}).error().code == errc::not_a_key);
  check(keyspan::prefix_bounds(cosmos_v2, result<partition_key>{why}, 1) == why);
  return true;
}
CHECK_BOTH(without_a_key_there_is_no_token_for_the_same_reason);

constexpr bool bounds_are_taken_of_whatever_holds_a_key() {
  using keyspan::cosmos_multihash;
  using keyspan::prefix_bounds;
  partition_key const key{"Contoso"};
  auto const bounds = *prefix_bounds(cosmos_multihash, key, 2);
  check(bounds.lower == token_of(cosmos_multihash, key));
  check(prefix_bounds(cosmos_multihash, key.values(), 2) == bounds);
  check(prefix_bounds(cosmos_multihash, "Contoso", 2) == bounds);
  check(bounds.contains(token_of(cosmos_multihash, partition_key{"Contoso", 1})));
  check(bounds.contains(bounds.lower) && !bounds.contains(bounds.upper.at()));
  check(!bounds.contains(cosmos_multihash.minimum()));
  check(prefix_bounds(cosmos_multihash, partition_key_view{key}, 2) == bounds);
  check(prefix_bounds(cosmos_multihash, result<partition_key>{key}, 2) == bounds);
  return true;
}
CHECK_BOTH(bounds_are_taken_of_whatever_holds_a_key);

constexpr bool an_upper_end_is_read_by_its_scheme() {
  using keyspan::upper_end_from_hex;
  check(upper_end_from_hex(cosmos_v2, "FF") == upper_end<token128>{space_end});
  check(upper_end_from_hex(cosmos_v2, "fF") == upper_end<token128>{space_end});
  check(upper_end_from_hex(cosmos_v2, "20") == upper_end{token128{std::uint64_t{1} << 61, 0}});
  check(upper_end_from_hex(cosmos_v2, "40").error().code == errc::not_representable);
  check(upper_end_from_hex(cosmos_v2, "2").error().code == errc::malformed);
  return true;
}
CHECK_BOTH(an_upper_end_is_read_by_its_scheme);

}  // namespace
