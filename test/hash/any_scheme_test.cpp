// test/hash/any_scheme_test.cpp — the scheme that a container's definition names.
#include <keyspan/hash/any_scheme.hpp>

#include <keyspan/core/print.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace {

using keyspan::any_scheme;
using keyspan::any_token;
using keyspan::cosmos_multihash;
using keyspan::cosmos_scheme;
using keyspan::cosmos_v1;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::fail;
using keyspan::partition_key;
using keyspan::space_end;
using keyspan::to_hex;
using keyspan::token128;
using keyspan::token_of;
using keyspan::upper_end;
using test::check;

constexpr bool a_container_opened_by_name_says_its_scheme() {
  // [region: example]
  auto const scheme = *keyspan::any_scheme::of("Hash", 2);
  auto const token = keyspan::token_of(scheme, keyspan::partition_key{"redmond"});
  check(keyspan::to_hex(token) == "22E342F38A486A088463DFF7838A5963");
  check(scheme.name() == "cosmos_v2");
  check(!keyspan::any_scheme::of("Range"));
  // [end: example]
  return true;
}
CHECK_BOTH(a_container_opened_by_name_says_its_scheme);

constexpr bool kind_and_version_choose_the_scheme() {
  check(any_scheme::of("") == any_scheme{cosmos_v1});
  check(any_scheme::of("", 1) == any_scheme{cosmos_v1});
  check(any_scheme::of("", 2) == any_scheme{cosmos_v2});
  check(any_scheme::of("Hash") == any_scheme{cosmos_v1});
  check(any_scheme::of("Hash", 1) == any_scheme{cosmos_v1});
  check(any_scheme::of("Hash", 2) == any_scheme{cosmos_v2});
  check(any_scheme::of("MultiHash", 2) == any_scheme{cosmos_multihash});
  check(any_scheme::of("Hash", 3) ==
        fail(errc::unsupported, "kind Hash has versions 1 and 2, the container says 3"));
  check(any_scheme::of("Hash", -1).error().code == errc::unsupported);
  check(
      any_scheme::of("MultiHash") ==
      fail(errc::unsupported, "kind MultiHash has version 2, the container says 1 by naming none"));
  check(any_scheme::of("MultiHash", 1) ==
        fail(errc::unsupported, "kind MultiHash has version 2, the container says 1"));
  for (std::optional<int> const version : {std::optional<int>{}, {1}, {2}})
    check(any_scheme::of("Range", version) ==
          fail(errc::unsupported,
               "kind Range is of old and hashes nothing; Hash and MultiHash are supported"));
  check(any_scheme::of("hash", 2) ==
        fail(errc::unsupported, "kind \"hash\" is not known; Hash and MultiHash are supported"));
  check(any_scheme{cosmos_v1}.name() == "cosmos_v1" && any_scheme{cosmos_v2} != cosmos_v1);
  check(any_scheme{cosmos_multihash}.scheme() == cosmos_scheme::multihash);
  return true;
}
CHECK_BOTH(kind_and_version_choose_the_scheme);

constexpr any_token v1(std::string_view hex) {
  return any_token{*keyspan::token_v1::from_hex(hex)};
}
constexpr any_token v2(std::string_view hex) { return any_token{*token128::from_hex(hex)}; }
constexpr any_token multihash(std::string_view hex) {
  return any_token{*keyspan::token_multihash::from_hex(hex)};
}

constexpr bool tokens_keep_the_order_of_their_scheme() {
  check(v1("22") < v1("2200") && v1("22") != v1("2200") && v1("22") == v1("22"));
  check(v2("22") == v2("2200") && v2("22") < v2("23"));
  check(multihash("22") == multihash("2200") && multihash("22") < multihash("2201"));
  // Of different schemes they are never equal, and sort by scheme.
  check(v1("22") != v2("22") && v2("22") != multihash("22"));
  check(v1("3F") < v2("") && v2("3F") < multihash(""));
  check((v1("22") <=> v2("22")) == std::strong_ordering::less);
  check((multihash("") <=> v1("22")) == std::strong_ordering::greater);
  check(v1("22").scheme() == cosmos_scheme::v1);
  check(v2("22").get_if<token128>()->high == 0x2200'0000'0000'0000);
  check(multihash("22").get_if<keyspan::token_multihash>()->size() == 1);
  check(v1("22").get_if<keyspan::token_v1>()->size() == 1);
  return true;
}
CHECK_BOTH(tokens_keep_the_order_of_their_scheme);

TEST_CASE("a token is asked for in its own type alone") {
  CHECK(v1("22").get_if<token128>() == nullptr);
  CHECK(v2("22").get_if<keyspan::token_v1>() == nullptr);
  CHECK(v2("22").get_if<keyspan::token_multihash>() == nullptr);
  CHECK(multihash("22").get_if<token128>() == nullptr);
}

template <class Scheme>
constexpr bool does_what_the_fixed_one_does(Scheme const& fixed) {
  any_scheme const any = fixed;
  auto const same = [](auto const& a, auto const& b) { return to_hex(a) == to_hex(b); };
  check(any.name() == fixed.name());
  check(same(any.minimum(), fixed.minimum()));
  partition_key const key{"Contoso", 5};
  keyspan::result<typename Scheme::token_type> const token = token_of(fixed, key);
  auto const any_key = token_of(any, key);
  check(same(any_key, token));
  check(same(any.successor(*any_key), fixed.successor(*token)));
  check(any.successor(*any_key) > *any_key);
  for (std::size_t i = 0; i < 3; ++i) check(same(any.boundary(i, 3), fixed.boundary(i, 3)));
  check(same(*any.midpoint(*any_key, space_end), *fixed.midpoint(*token, space_end)));
  check(same(*any.cut_point(any.minimum(), any.boundary(1, 2), 2, 3),
             *fixed.cut_point(fixed.minimum(), fixed.boundary(1, 2), 2, 3)));
  check(any.midpoint(*any_key, *any_key).error() == fixed.midpoint(*token, *token).error());
  auto const bounds = keyspan::prefix_bounds(any, key, 2);
  check(same(bounds->lower, keyspan::prefix_bounds(fixed, key, 2)->lower));
  check(same(bounds->upper, keyspan::prefix_bounds(fixed, key, 2)->upper));
  check(keyspan::prefix_bounds(any, key, 1).error() ==
        keyspan::prefix_bounds(fixed, key, 1).error());
  check(any.from_hex(to_hex(*any_key)) == any_key);
  check(any.from_hex("FF").error() == fixed.from_hex("FF").error());
  check(any.from_hex("x").error() == fixed.from_hex("x").error());
  check(to_hex(*keyspan::upper_end_from_hex(any, "FF")) == "FF");
  return true;
}
constexpr bool version_1_chosen_at_run_time_is_version_1() {
  return does_what_the_fixed_one_does(cosmos_v1);
}
constexpr bool version_2_chosen_at_run_time_is_version_2() {
  return does_what_the_fixed_one_does(cosmos_v2);
}
constexpr bool multihash_chosen_at_run_time_is_multihash() {
  any_scheme const any = cosmos_multihash;
  auto const t = *token_of(any, partition_key{"redmond"});
  check(to_hex(any.successor(t, 1)) == "22E342F38A486A088463DFF7838A5964");
  check(any.midpoint(t, any.successor(t, 1), 1).error().code == errc::invalid_range);
  check(any.midpoint(t, any.successor(t, 1), 2).has_value());
  return does_what_the_fixed_one_does(cosmos_multihash);
}
CHECK_BOTH(version_1_chosen_at_run_time_is_version_1);
CHECK_BOTH(version_2_chosen_at_run_time_is_version_2);
CHECK_BOTH(multihash_chosen_at_run_time_is_multihash);

TEST_CASE("what is too large for the fixed scheme is too large for this one") {
  std::array<keyspan::key_value, 400> values{};
  auto const t = token_of(any_scheme{cosmos_v1}, values);
  REQUIRE(!t);
  CHECK(t.error() == token_of(cosmos_v1, values).error());
}

TEST_CASE("a token has the node that it has under the fixed scheme") {
  partition_key const key{"redmond"};
  CHECK(keyspan::placement_key(*token_of(any_scheme{cosmos_v1}, key)) ==
        keyspan::placement_key(*token_of(cosmos_v1, key)));
  CHECK(keyspan::placement_key(*token_of(any_scheme{cosmos_v2}, key)) ==
        keyspan::placement_key(token_of(cosmos_v2, key)));
  CHECK(keyspan::placement_key(*token_of(any_scheme{cosmos_multihash}, key)) ==
        keyspan::placement_key(token_of(cosmos_multihash, key)));
}

TEST_CASE("behind the end of the space there is no token") {
  for (auto const* text : {"FF", "ff", "FF00", "FFFF"}) {
    CAPTURE(text);
    CHECK(cosmos_v1.from_hex(text).error().code == errc::not_representable);
    CHECK(cosmos_v2.from_hex(text).error().code == errc::not_representable);
    CHECK(cosmos_multihash.from_hex(text).error().code == errc::not_representable);
  }
}

TEST_CASE("bounds that are the wrong way round are said to be") {
  auto const reversed = "invalid_range: the upper bound is not above the lower one";
  CHECK(cosmos_v2.midpoint({5, 0}, token128{2, 0}).error().to_text() == reversed);
  CHECK(
      cosmos_multihash.midpoint(*cosmos_multihash.from_hex("22"), *cosmos_multihash.from_hex("11"))
          .error()
          .to_text() == reversed);
  CHECK(cosmos_v1.midpoint(cosmos_v1.boundary(2, 3), cosmos_v1.boundary(1, 3)).error().to_text() ==
        reversed);
}

TEST_CASE("a token of another scheme breaks a promise") {
  any_scheme const scheme = cosmos_v2;
  constexpr auto promise = "a scheme is asked about its own tokens";
  CHECK(test::promise_broken_by([&] { return scheme.successor(v1("22")); }) == promise);
  CHECK(test::promise_broken_by([&] { return scheme.midpoint(v2("22"), multihash("23")); }) ==
        promise);
}

TEST_CASE("tokens of any scheme are plain values that hash alike where they are equal") {
  STATIC_CHECK(std::is_trivially_copyable_v<any_token>);
  STATIC_CHECK(!keyspan::hex_token<any_token>);  // a text does not say which scheme it is of
  std::unordered_set<any_token> set{v1("22"),   v1("2200"),      v2("22"),
                                    v2("2200"), multihash("22"), multihash("2200")};
  CHECK(set.size() == 4);
  CHECK(set.contains(multihash("220000")));
  std::ostringstream out;
  out << v1("22E3") << ' ' << upper_end<any_token>{space_end};
  CHECK(out.str() == "22E3 FF");
}

TEST_CASE("a token chosen at run time allocates nothing") {
  std::string const text(100, 'x');
  CHECK(test::allocations_in([&] {
          for (auto const& [kind, version] :
               {std::pair{"Hash", 1}, std::pair{"Hash", 2}, std::pair{"MultiHash", 2}}) {
            auto const scheme = *any_scheme::of(kind, version);
            keyspan::partition_key_view const key{text, 5};
            auto const t = token_of(scheme, key);
            static_cast<void>(to_hex(t));
            static_cast<void>(scheme.successor(*t));
            static_cast<void>(keyspan::prefix_bounds(scheme, key, 2));
          }
        }) == 0);
}

}  // namespace
