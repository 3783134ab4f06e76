// test/hash/cosmos_v2_test.cpp — version 2: every length of text against the plain algorithm, and
// the space that tokens share.
#include <keyspan/hash/cosmos_v2.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::fail;
using keyspan::key_value;
using keyspan::partition_key;
using keyspan::space_end;
using keyspan::to_hex;
using keyspan::token128;
using keyspan::token_of;
using keyspan::undefined;
using keyspan::upper_end;
using test::check;

// [region: example]
static_assert(keyspan::to_hex(keyspan::token_of(keyspan::cosmos_v2,
                                                keyspan::partition_key{"redmond"})) ==
              "22E342F38A486A088463DFF7838A5963");
static_assert(keyspan::cosmos_v2.boundary(1, 2).to_hex() == "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
// [end: example]

template <class... Values>
constexpr bool has(std::string_view hex, Values... values) {
  return to_hex(token_of(cosmos_v2, partition_key{values...})) == hex;
}

// Rows of the golden files, in constant expressions.
static_assert(to_hex(token_of(cosmos_v2, partition_key{})) == "");
static_assert(has("0E711127C5B5A8E4726AC6DD306A3E59", true));
static_assert(has("2FE1BE91E90A3439635E0E9E37361EF2", false));
static_assert(has("378867E4430E67857ACE5C908374FE16", keyspan::null));
static_assert(has("11622DAA78F835834610ABE56EFF5CB5", undefined));
static_assert(has("155B95BEDAC4B1E9EC1CDC9BB0DDDE58", 0));
static_assert(has("155B95BEDAC4B1E9EC1CDC9BB0DDDE58", -0.0));
static_assert(has("20CD98B339BA78A5D0CF6953B87070B0", 1));
static_assert(has("19938E7A936C1C5B9E3AE842BBC16839", -1));
static_assert(has("19C08621B135968252FB34B4CF66F811", 5));
static_assert(has("0C746AE2C07859994662C1770E77CCFB", 4294967296));
static_assert(has("0ADE14E8147B2739AB641242CA43D2D2", -5e-324));
static_assert(has("2F8C1E4988A1FD746ED2A5214893E3A4", 2742.79));
static_assert(has("32E9366E637A71B4E710384B2F4970A0", ""));
static_assert(has("1B588E6E8638B71944703AA280EF2A59", "\xC3\x9F"));
static_assert(has("365DB639F06D73B991C949EC64E91311", "\xE7\x94\xB5\xE8\x84\x91"));
static_assert(has("013AEFCF77FA271571CF665A58C933F1", "partitionKey"));
static_assert(has("117284E583D9E05DB6126BDE169BF57C", "=x9QYi vB_I@"));
static_assert(has("363D8B46BD6BB31F5B6BA692510D95A7", "fqx&9Uo6B+koy&UJMDo|_HF?r2'%B<g<~,8"));
static_assert(
    has("08042541D30C8BF90D7092B1519AE0BC",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaa"));

// The definition: what stands in memory, hashed as it is, two bits cleared.
token128 by_definition(std::string const& bytes) {
  auto const [h1, h2] = keyspan::murmur3_128(bytes);
  return {h2 & 0x3FFF'FFFF'FFFF'FFFF, h1};
}

std::string encoded(key_value const& value) {
  switch (value.kind()) {
    case keyspan::key_kind::undefined:
      return std::string(1, '\0');
    case keyspan::key_kind::null:
      return "\x01";
    case keyspan::key_kind::boolean:
      return value.boolean() ? "\x03" : "\x02";
    case keyspan::key_kind::string:
      return std::string{'\x08'}.append(value.string()).append(1, '\xFF');
    case keyspan::key_kind::number:
      break;
  }
  std::string bytes = "\x05";
  auto const bits = std::bit_cast<std::uint64_t>(value.number());
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(bits >> shift);
  return bytes;
}

// Each text stands in an allocation of its own, so that a sanitizer sees a byte read too many.
TEST_CASE("a text of any length has the token of its bytes") {
  test::random random{1};
  for (std::size_t size = 0; size <= 400; ++size) {
    auto const text = std::make_unique<char[]>(size);
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(random.below(128));
    std::string_view const view{text.get(), size};
    key_value const value{view};
    CAPTURE(size);
    CHECK(token_of(cosmos_v2, value) == by_definition(encoded(value)));
  }
}

constexpr bool a_text_has_one_token_by_registers_and_by_pieces() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-ABCDEFGHIJKLMNOPQ";
  for (std::size_t size = 0; size <= letters.size(); ++size) {
    key_value const value{letters.substr(0, size)};
    check(token_of(cosmos_v2, value) ==
          keyspan::detail::cosmos_v2_token_of_several(std::span{&value, 1}));
  }
  return true;
}
CHECK_BOTH(a_text_has_one_token_by_registers_and_by_pieces);

TEST_CASE("any number of values has the token of all their bytes") {
  test::random random{2};
  for (int round = 0; round < 5'000; ++round) {
    std::vector<std::string> texts(random.below(12));
    std::vector<key_value> values;
    std::string bytes;
    for (auto& text : texts) {
      text.assign(random.below(40), 'x');
      for (char& c : text) c = static_cast<char>(random.below(128));
      switch (random.below(5)) {
        case 0:
          values.emplace_back(undefined);
          break;
        case 1:
          values.emplace_back(random.chance(50));
          break;
        case 2:
          values.emplace_back(random.any_finite_double());
          break;
        default:
          values.emplace_back(text);
          break;
      }
      bytes += encoded(values.back());
    }
    if (values.empty()) {
      REQUIRE(token_of(cosmos_v2, values) == cosmos_v2.minimum());
    } else {
      REQUIRE(token_of(cosmos_v2, values) == by_definition(bytes));
    }
  }
}

constexpr bool the_successor_is_the_next_number_at_full_width() {
  check(cosmos_v2.successor({}).to_hex() == "00000000000000000000000000000001");
  check(cosmos_v2.successor({0, ~std::uint64_t{0}}) == token128{1, 0});
  check(to_hex(cosmos_v2.successor(*token128::from_hex("22E3"))) ==
        "22E30000000000000000000000000001");
  auto const last = cosmos_v2.greatest();
  check(to_hex(last) == "3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
  check(cosmos_v2.successor({last.high, last.low - 1}) == last);
  check(cosmos_v2.successor(last).is_space_end());  // where no key can be there is no token
  check(cosmos_v2.successor({~std::uint64_t{0}, 0}).is_space_end());
  return true;
}
CHECK_BOTH(the_successor_is_the_next_number_at_full_width);

constexpr bool the_space_is_shared_out_in_equal_parts() {
  for (std::size_t n : {1u, 2u, 3u, 7u, 100u}) {
    check(cosmos_v2.boundary(0, n) == cosmos_v2.minimum());
    for (std::size_t i = 1; i < n; ++i) {
      check(cosmos_v2.boundary(i - 1, n) < cosmos_v2.boundary(i, n));
      check(cosmos_v2.boundary(i, n) <= cosmos_v2.greatest());
      check(cosmos_v2.cut_point({}, space_end, i, n) == cosmos_v2.boundary(i, n));
    }
  }
  check(cosmos_v2.boundary(1, 2) == cosmos_v2.midpoint({}, space_end));
  return true;
}
CHECK_BOTH(the_space_is_shared_out_in_equal_parts);

constexpr bool a_range_too_narrow_to_cut_is_refused() {
  token128 const t{5, 5};
  auto const none = fail(errc::invalid_range, "there is no room between the bounds for 2 parts");
  auto const reversed = fail(errc::invalid_range, "the upper bound is not above the lower one");
  check(cosmos_v2.midpoint(t, t) == reversed);
  check(cosmos_v2.midpoint(t, token128{5, 4}) == reversed);
  check(cosmos_v2.midpoint(t, token128{5, 6}) == none);
  check(cosmos_v2.midpoint(t, token128{5, 7}) == token128{5, 6});
  check(cosmos_v2.cut_point(t, token128{5, 8}, 1, 4).error().code == errc::invalid_range);
  check(cosmos_v2.cut_point(t, token128{5, 9}, 3, 4) == token128{5, 8});
  check(cosmos_v2.cut_point(t, token128{5, 9}, 0, 4) == t);
  check(cosmos_v2.midpoint(cosmos_v2.greatest(), space_end) == none);
  check(cosmos_v2.midpoint(cosmos_v2.greatest(), token128{~std::uint64_t{0}, 0}) == none);
  return true;
}
CHECK_BOTH(a_range_too_narrow_to_cut_is_refused);

TEST_CASE("cut points rise and lie between the bounds") {
  test::random random{3};
  for (int round = 0; round < 2'000; ++round) {
    auto const any = [&] {
      return token128{random() >> (2 + random.below(62)), random() >> random.below(64)};
    };
    token128 const a = any();
    token128 const b = any();
    auto const lower = (std::min)(a, b);
    upper_end<token128> const upper =
        random.chance(20) ? upper_end<token128>{space_end} : (std::max)(a, b);
    std::size_t const parts = 2 + random.below(20);
    auto before = lower;
    for (std::size_t i = 1; i < parts; ++i) {
      auto const cut = cosmos_v2.cut_point(lower, upper, i, parts);
      if (!cut) break;
      REQUIRE(before < *cut);
      REQUIRE(upper > *cut);
      before = *cut;
    }
  }
}

TEST_CASE("a part that there is not breaks a promise") {
  CHECK(test::promise_broken_by([] { return cosmos_v2.boundary(3, 3); }) ==
        "a boundary is asked of one of the partitions");
  CHECK(test::promise_broken_by([] { return cosmos_v2.boundary(0, 0); }) ==
        "a boundary is asked of one of the partitions");
  CHECK(test::promise_broken_by([] { return cosmos_v2.cut_point({}, space_end, 2, 2); }) ==
        "a cut point is asked of one of the parts");
}

constexpr bool only_a_whole_key_has_bounds() {
  using keyspan::prefix_bounds;
  partition_key const one{"a"};
  auto const token = token_of(cosmos_v2, one);
  check(prefix_bounds(cosmos_v2, one, 1) ==
        keyspan::token_bounds<token128>{token, cosmos_v2.successor(token)});
  check(prefix_bounds(cosmos_v2, partition_key{}, 0)->lower == cosmos_v2.minimum());
  check(prefix_bounds(cosmos_v2, one, 2) ==
        fail(errc::key_mismatch,
             "too few values: the key has 1, its container 2 paths, and only a hierarchical key "
             "has prefixes"));
  check(prefix_bounds(cosmos_v2, partition_key{"a", "b"}, 1) ==
        fail(errc::key_mismatch, "too many values: the key has 2, its container 1 path"));
  return true;
}
CHECK_BOTH(only_a_whole_key_has_bounds);

constexpr bool texts_of_no_key_are_refused() {
  check(cosmos_v2.from_hex("3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF") == cosmos_v2.greatest());
  check(cosmos_v2.from_hex("40") ==
        fail(errc::not_representable, "a token of cosmos_v2 is below 40, this is 40"));
  check(cosmos_v2.from_hex("FF").error().code == errc::not_representable);
  check(cosmos_v2.from_hex("zz").error().position == keyspan::text_position{1, 1, 0});
  check(cosmos_v2.from_hex("") == cosmos_v2.minimum());
  check(cosmos_v2.name() == "cosmos_v2" && cosmos_v2 == keyspan::cosmos_v2_scheme{});
  return true;
}
CHECK_BOTH(texts_of_no_key_are_refused);

TEST_CASE("a token of version 2 allocates nothing") {
  std::string const text(100, 'x');
  CHECK(test::allocations_in([&] {
          keyspan::partition_key_view const key{text, 5, undefined};
          static_cast<void>(to_hex(token_of(cosmos_v2, key)));
          static_cast<void>(to_hex(token_of(cosmos_v2, keyspan::partition_key_view::from(text))));
          static_cast<void>(keyspan::prefix_bounds(cosmos_v2, key, 2));
        }) == 0);
}

}  // namespace
