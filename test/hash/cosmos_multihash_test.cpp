// test/hash/cosmos_multihash_test.cpp — hierarchical keys: levels, prefixes, widths.
#include <keyspan/hash/cosmos_multihash.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::cosmos_multihash;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::fail;
using keyspan::key_value;
using keyspan::partition_key;
using keyspan::prefix_bounds;
using keyspan::space_end;
using keyspan::to_hex;
using keyspan::token128;
using keyspan::token_multihash;
using keyspan::token_of;
using keyspan::upper_end;
using test::check;

constexpr bool a_prefix_has_the_bounds_of_all_keys_under_it() {
  // [region: example]
  using keyspan::partition_key;
  auto const tenant = *keyspan::prefix_bounds(keyspan::cosmos_multihash, partition_key{"Contoso"},
                                              /*paths=*/3);
  check(tenant.lower.to_hex() == "23C3EC20CBEA798430F192F7BB985CAE");
  check(tenant.upper.to_hex() == "23C3EC20CBEA798430F192F7BB985CAEFF");
  auto const session =
      keyspan::token_of(keyspan::cosmos_multihash, partition_key{"Contoso", "user1", 417});
  check(tenant.lower < session && tenant.upper > session);
  // [end: example]
  return true;
}
CHECK_BOTH(a_prefix_has_the_bounds_of_all_keys_under_it);

template <class... Values>
constexpr bool has(std::string_view hex, Values... values) {
  return to_hex(token_of(cosmos_multihash, partition_key{values...})) == hex;
}

// Rows of the golden files, in constant expressions.
static_assert(to_hex(token_of(cosmos_multihash, partition_key{})) == "");
static_assert(has("0E711127C5B5A8E4726AC6DD306A3E59", true));
static_assert(has("11622DAA78F835834610ABE56EFF5CB5", keyspan::undefined));
static_assert(has("155B95BEDAC4B1E9EC1CDC9BB0DDDE58", 0));
static_assert(has("22E342F38A486A088463DFF7838A5963", "redmond"));
static_assert(has("22E342F38A486A088463DFF7838A596319C08621B135968252FB34B4CF66F811", "redmond",
                  5));
static_assert(has("23DCE5E790C6ED8146730CCE3D7A07C32801FDD1114D78B1BD90A94C7141657F", 6219.42,
                  "/Nym|"));
static_assert(has("28D7FCB721E75FBE0DAC3D71DAB82766378867E4430E67857ACE5C908374FE16",
                  "\xF0\x9F\x98\x80", keyspan::null));
static_assert(
    has("15335910D01122E3D99DA5DE569B065D11A863B906C2B287CCFF7FF7EB63B623"
        "31424D996457102634591FF245DBCC4D",
        9007199254740992.0, -9007199254740992.0, 1.7976931348623157e+308));
static_assert(
    has("0E711127C5B5A8E4726AC6DD306A3E590ED7BC9669F301017F12DCBFB5669AD8"
        "2FE1BE91E90A3439635E0E9E37361EF2",
        true, 2.340745424091235e+100, false));

TEST_CASE("each level is hashed alone, and a prefix of a key has the prefix of its token") {
  test::random random{1};
  for (int round = 0; round < 1'000; ++round) {
    std::array<std::string, 3> texts{};
    std::array<key_value, 3> values{};
    for (std::size_t i = 0; i < 3; ++i) {
      texts[i].assign(random.below(50), static_cast<char>('a' + random.below(26)));
      values[i] = random.chance(70) ? key_value{texts[i]} : key_value{random.any_finite_double()};
    }
    std::string wanted;
    for (std::size_t count = 0; count <= 3; ++count) {
      auto const t = token_of(cosmos_multihash, std::span{values}.first(count));
      REQUIRE(t.to_hex() == wanted);
      REQUIRE(t.size() == 16 * count);
      if (count < 3) wanted += token_of(cosmos_v2, values[count]).to_hex();
    }
  }
}

TEST_CASE("a fourth value breaks a promise") {
  std::array<key_value, 4> const values{1, 2, 3, 4};
  CHECK(test::promise_broken_by([&] { return token_of(cosmos_multihash, values); }) ==
        "a hierarchical key has at most three values");
}

constexpr token_multihash hex(std::string_view text) { return *cosmos_multihash.from_hex(text); }

constexpr bool one_bound_in_several_widths_is_one_place() {
  constexpr auto narrow = "23C3EC20CBEA798430F192F7BB985C00";
  constexpr auto wide = "23C3EC20CBEA798430F192F7BB985C0000000000000000000000000000000000";
  check(hex(narrow) == hex(wide) && hex(wide) == hex("23C3EC20CBEA798430F192F7BB985C"));
  check(hex(narrow) <= hex(wide) && !(hex(narrow) < hex(wide)));
  check(hex("00") == hex(""));
  check(hex(wide) < hex("23C3EC20CBEA798430F192F7BB985C01"));
  // ... with one successor, one midpoint.
  for (std::size_t paths = 2; paths <= 3; ++paths) {
    check(cosmos_multihash.successor(hex(narrow), paths) ==
          cosmos_multihash.successor(hex(wide), paths));
    check(cosmos_multihash.midpoint(hex(narrow), space_end, paths) ==
          cosmos_multihash.midpoint(hex(wide), space_end, paths));
  }
  return true;
}
CHECK_BOTH(one_bound_in_several_widths_is_one_place);

TEST_CASE("places that are one hash alike") {
  std::hash<token_multihash> const hash{};
  CHECK(hash(hex("22E3")) == hash(hex("22E30000")));
  CHECK(hash(hex("")) == hash(hex("00")));
  CHECK(hash(hex("22E3")) != hash(hex("22E301")));
}

constexpr bool the_successor_is_the_next_number_of_so_many_levels() {
  auto const t = token_of(cosmos_multihash, partition_key{"redmond"});
  check(to_hex(cosmos_multihash.successor(t, 1)) == "22E342F38A486A088463DFF7838A5964");
  check(to_hex(cosmos_multihash.successor(t, 2)) ==
        "22E342F38A486A088463DFF7838A596300000000000000000000000000000001");
  check(to_hex(cosmos_multihash.successor(t)) ==
        "22E342F38A486A088463DFF7838A596300000000000000000000000000000000"
        "00000000000000000000000000000001");
  // A token of more levels keeps them, and zeros that are missing are put back first.
  check(to_hex(cosmos_multihash.successor(hex("22E342F38A486A088463DFF7838A596301"), 1)) ==
        "22E342F38A486A088463DFF7838A596301000000000000000000000000000001");
  check(to_hex(cosmos_multihash.successor(hex("22"), 1)) == "22000000000000000000000000000001");
  check(to_hex(cosmos_multihash.successor({}, 1)) == "00000000000000000000000000000001");
  check(to_hex(cosmos_multihash.successor(hex("00FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"), 1)) ==
        "01000000000000000000000000000000");
  // Carried from level to level.
  check(to_hex(cosmos_multihash.successor(
            hex("00000000000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"), 2)) ==
        "0000000000000000000000000000000100000000000000000000000000000000");
  check(cosmos_multihash.successor(hex("3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"), 1).is_space_end());
  check(!cosmos_multihash.successor(hex("3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"), 2).is_space_end());
  check(cosmos_multihash.successor(*token_multihash::from_hex("FF00")).is_space_end());
  return true;
}
CHECK_BOTH(the_successor_is_the_next_number_of_so_many_levels);

// The number plus one has no room in its bytes, or is beyond all tokens.
constexpr bool nothing_follows_the_greatest_number_of_any_count_of_levels() {
  constexpr std::string_view greatest =
      "3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
      "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
  constexpr std::string_view beyond =
      "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
      "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
  constexpr std::string_view just_beyond = "40000000000000000000000000000000";
  for (std::size_t paths = 1; paths <= 3; ++paths) {
    check(cosmos_multihash.successor(hex(greatest.substr(0, 32 * paths)), paths).is_space_end());
    for (std::size_t levels = 1; levels <= 3; ++levels)
      check(cosmos_multihash
                .successor(*token_multihash::from_hex(beyond.substr(0, 32 * levels)), paths)
                .is_space_end());
    check(
        cosmos_multihash.successor(*token_multihash::from_hex(just_beyond), paths).is_space_end());
  }
  return true;
}
CHECK_BOTH(nothing_follows_the_greatest_number_of_any_count_of_levels);

constexpr bool the_bounds_of_a_prefix_hold_what_begins_with_it_and_nothing_else() {
  partition_key const a{"a"};
  partition_key const ab{"a", "b"};
  partition_key const abc{"a", "b", "c"};
  partition_key const b{"b", "b", "b"};
  auto const holds = [](keyspan::token_bounds<token_multihash> const& bounds,
                        partition_key const& key) {
    auto const t = token_of(cosmos_multihash, key);
    return bounds.lower <= t && bounds.upper > t;
  };
  auto const one = *prefix_bounds(cosmos_multihash, a, 3);
  check(holds(one, a) && holds(one, ab) && holds(one, abc) && !holds(one, b));
  auto const two = *prefix_bounds(cosmos_multihash, ab, 3);
  check(!holds(two, a) && holds(two, ab) && holds(two, abc) && !holds(two, b));
  auto const whole = *prefix_bounds(cosmos_multihash, abc, 3);
  check(!holds(whole, ab) && holds(whole, abc) && !holds(whole, b));
  check(whole.upper == cosmos_multihash.successor(whole.lower, 3));
  auto const everything = *prefix_bounds(cosmos_multihash, partition_key{}, 3);
  check(holds(everything, abc) && holds(everything, partition_key{}));
  check(everything.upper.is_space_end());
  check(to_hex(prefix_bounds(cosmos_multihash, a, 1)->upper) ==
        to_hex(cosmos_v2.successor(token_of(cosmos_v2, a))));
  check(prefix_bounds(cosmos_multihash, abc, 2) ==
        fail(errc::key_mismatch, "too many values: the key has 3, its container 2 paths"));
  return true;
}
CHECK_BOTH(the_bounds_of_a_prefix_hold_what_begins_with_it_and_nothing_else);

TEST_CASE("a container has one to three paths") {
  constexpr auto promise = "a hierarchical container has 1 to 3 paths";
  for (std::size_t const paths : {0u, 4u}) {
    CHECK(test::promise_broken_by(
              [&] { return prefix_bounds(cosmos_multihash, partition_key{}, paths); }) == promise);
    CHECK(test::promise_broken_by([&] { return cosmos_multihash.successor({}, paths); }) ==
          promise);
    CHECK(test::promise_broken_by(
              [&] { return cosmos_multihash.midpoint({}, space_end, paths); }) == promise);
  }
}

constexpr bool a_range_is_cut_at_the_first_level_that_has_room() {
  auto const tenant = hex("23C3EC20CBEA798430F192F7BB985CAE");
  auto const next = hex("23C3EC20CBEA798430F192F7BB985CAF");
  // Within a tenant between its users, told by its prefix or by the next number.
  auto const within = *prefix_bounds(cosmos_multihash, partition_key{"Contoso"}, 2);
  auto const half = "23C3EC20CBEA798430F192F7BB985CAE1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
  check(to_hex(*cosmos_multihash.midpoint(within.lower, within.upper, 2)) == half);
  check(to_hex(*cosmos_multihash.midpoint(tenant, next, 2)) == half);
  check(cosmos_multihash.midpoint(tenant, next, 1) ==
        fail(errc::invalid_range, "there is no room between the bounds for 2 parts"));
  check(cosmos_multihash.midpoint(tenant, tenant).error().code == errc::invalid_range);
  check(cosmos_multihash.midpoint(next, tenant).error().code == errc::invalid_range);
  // From the last user of a tenant to the first of the next one.
  auto const last = hex("23C3EC20CBEA798430F192F7BB985CAE3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
  check(to_hex(*cosmos_multihash.midpoint(last, next)) ==
        "23C3EC20CBEA798430F192F7BB985CAE3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
        "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
  check(cosmos_multihash.midpoint(last, next, 2).error().code == errc::invalid_range);
  // The last tenant of all.
  check(to_hex(*cosmos_multihash.midpoint(hex("3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"), space_end)) ==
        "3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
  check(cosmos_multihash.cut_point(tenant, next, 0, 5, 2) == tenant);
  return true;
}
CHECK_BOTH(a_range_is_cut_at_the_first_level_that_has_room);

// Levels near each other and near both ends, where cuts go down a level.
TEST_CASE("cut points of hierarchical ranges rise and lie between the bounds") {
  test::random random{2};
  auto const group = [&]() -> token128 {
    token128 const last = cosmos_v2.greatest();
    switch (random.below(5)) {
      case 0:
        return {0, random.below(4)};
      case 1:
        return {last.high, last.low - random.below(4)};
      case 2:
        return {5, random.below(4)};
      default:
        return {random() >> 2, random()};
    }
  };
  std::size_t cuts = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::size_t const paths = 1 + random.below(3);
    auto const any = [&] {
      std::array<token128, 3> groups{group(), group(), group()};
      return keyspan::detail::token_of_groups(std::span{groups}.first(random.below(paths + 1)));
    };
    auto const a = any();
    auto b = any();
    if (random.chance(20)) {  // the upper end of a prefix
      auto text = std::string{std::string_view{a.to_hex()}};
      if (!text.empty() && text.size() < 96) b = *token_multihash::from_hex(text + "FF");
    }
    auto const& lower = (std::min)(a, b);
    auto const upper = random.chance(20) ? upper_end<token_multihash>{space_end} : (std::max)(a, b);
    std::size_t const parts = 2 + random.below(4);
    auto before = lower;
    for (std::size_t i = 1; i < parts; ++i) {
      auto const cut = cosmos_multihash.cut_point(lower, upper, i, parts, paths);
      REQUIRE(cut.has_value() ==
              cosmos_multihash.cut_point(lower, upper, 0, parts, paths).has_value());
      if (!cut) break;
      ++cuts;
      REQUIRE(before < *cut);
      REQUIRE(upper > *cut);
      before = *cut;
    }
  }
  CHECK(cuts > 10'000);
}

constexpr bool texts_of_no_hierarchical_key_are_refused() {
  check(hex("22E3").size() == 2);
  check(cosmos_multihash.from_hex("4000") ==
        fail(errc::not_representable, "a token of cosmos_multihash is below 40, this is 4000"));
  check(cosmos_multihash.from_hex("FF").error().code == errc::not_representable);
  check(hex("23C3EC20CBEA798430F192F7BB985CAEFF").size() == 17);  // the upper end of a prefix
  check(cosmos_multihash.from_hex("2").error().code == errc::malformed);
  check(cosmos_multihash.name() == "cosmos_multihash");
  check(cosmos_multihash == keyspan::cosmos_multihash_scheme{});
  check(to_hex(cosmos_multihash.boundary(0, 2)) == "");
  check(to_hex(cosmos_multihash.boundary(1, 2)) == "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
  return true;
}
CHECK_BOTH(texts_of_no_hierarchical_key_are_refused);

TEST_CASE("a hierarchical token allocates nothing") {
  std::string const text(100, 'x');
  CHECK(test::allocations_in([&] {
          keyspan::partition_key_view const key{text, 5, text};
          static_cast<void>(to_hex(token_of(cosmos_multihash, key)));
          static_cast<void>(prefix_bounds(cosmos_multihash, key.prefix(2), 3));
          static_cast<void>(cosmos_multihash.midpoint({}, space_end));
        }) == 0);
}

}  // namespace
