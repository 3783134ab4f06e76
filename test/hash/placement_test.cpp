// test/hash/placement_test.cpp — one key for a token in each of its forms, and nodes by their
// names.
#include <keyspan/core/bytes.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>

#include <golden/placement.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace {

using keyspan::node_id;
using keyspan::node_index;
using keyspan::placement_key;
using keyspan::token128;
using keyspan::weighted_node;
using test::check;

using plain_token = keyspan::token_bytes<24>;
using padded_token = keyspan::token_bytes<24, keyspan::token_order::padded>;

// [region: example]
// The partitioner that many programs begin with. It is a placement, if not a good one: nearly all
// tokens move when a node joins, and `law::check_placement` says so.
struct remainder {
  keyspan::node_index nodes;

  template <keyspan::placeable Token>
  constexpr keyspan::node_index node_of(Token const& token) const {
    return static_cast<keyspan::node_index>(keyspan::placement_key(token) % nodes);
  }
  constexpr std::size_t node_count() const { return nodes; }
  constexpr bool operator==(remainder const&) const = default;
};
static_assert(keyspan::placement<remainder, keyspan::token128>);
// [end: example]

constexpr bool a_token_has_one_key_in_each_of_its_forms() {
  test::random random{1};
  for (int i = 0; i < 40; ++i) {
    token128 const token{.high = random(), .low = i % 4 == 0 ? 0 : random()};
    std::array<unsigned char, 24> bytes{};
    keyspan::store_be(bytes.data(), token.high);
    keyspan::store_be(bytes.data() + 8, token.low);
    auto const key = placement_key(token);
    for (std::size_t size = token.low == 0 ? 8 : 16; size <= bytes.size(); ++size) {
      check(placement_key(*plain_token::from_bytes(std::span{bytes}.first(size))) == key);
      check(placement_key(*padded_token::from_bytes(std::span{bytes}.first(size))) == key);
    }
    if (token.low == 0) check(placement_key(token.high) == key);
  }
  return true;
}
CHECK_BOTH(a_token_has_one_key_in_each_of_its_forms);

constexpr bool an_integer_has_the_key_of_its_value_in_every_type() {
  check(placement_key(std::uint8_t{200}) == placement_key(std::uint64_t{200}));
  check(placement_key(std::int16_t{200}) == placement_key(std::uint64_t{200}));
  check(placement_key(-7) == placement_key(std::int64_t{-7}));
  check(placement_key(std::int64_t{-7}) == placement_key(~std::uint64_t{6}));
  check(placement_key(std::uint32_t{0xFFFF'FFF9}) != placement_key(-7));
  check(placement_key((std::numeric_limits<std::int64_t>::min)()) ==
        placement_key(std::uint64_t{1} << 63));
  check(placement_key('a') == placement_key(97));
  return true;
}
CHECK_BOTH(an_integer_has_the_key_of_its_value_in_every_type);

constexpr bool tokens_of_bytes_have_the_keys_that_were_reckoned_elsewhere() {
  for (auto const& [hex, key] : test::placed_bytes_keys) {
    check(placement_key(*plain_token::from_hex(hex)) == key);
    check(placement_key(*padded_token::from_hex(hex)) == key);
    if (hex.size() == 32) check(placement_key(*token128::from_hex(hex)) == key);
  }
  return true;
}
CHECK_BOTH(tokens_of_bytes_have_the_keys_that_were_reckoned_elsewhere);

// Each bit of the key, for each bit of a token that begins as a small number.
TEST_CASE("a small change of a token changes half of the bits of its key") {
  for (int from = 0; from < 64; ++from) {
    std::array<std::uint64_t, 64> changes{};
    for (std::uint64_t token = 0; token < 2'000; ++token) {
      auto const changed = placement_key(token) ^ placement_key(token ^ std::uint64_t{1} << from);
      for (std::size_t to = 0; to < 64; ++to) changes[to] += changed >> to & 1;
    }
    for (auto const count : changes) CHECK((count > 850 && count < 1'150));
  }
}

TEST_CASE("both halves of a token of 128 bits count") {
  std::unordered_set<std::uint64_t> keys;
  for (std::uint64_t high = 0; high < 100; ++high)
    for (std::uint64_t low = 0; low < 100; ++low)
      keys.insert(placement_key(token128{.high = high, .low = low}));
  CHECK(keys.size() == 10'000);
}

struct own_token {
  std::uint64_t place;
  constexpr std::uint64_t placement_key() const noexcept { return place + 1; }
  constexpr std::string_view bytes() const { return "not these"; }
};
struct throwing_token {
  std::uint64_t placement_key() const { return 0; }
};
struct int_key {
  int placement_key() const { return 0; }
};

constexpr bool a_token_of_ones_own_may_know_its_key() {
  check(placement_key(own_token{7}) == 8);
  check(noexcept(placement_key(own_token{7})) && !noexcept(placement_key(throwing_token{})));
  return true;
}
CHECK_BOTH(a_token_of_ones_own_may_know_its_key);

TEST_CASE("what is no token has no key") {
  STATIC_CHECK(keyspan::placeable<int> && keyspan::placeable<std::uint64_t>);
  STATIC_CHECK(keyspan::placeable<token128> && keyspan::placeable<plain_token>);
  STATIC_CHECK(keyspan::placeable<own_token> && keyspan::placeable<throwing_token>);
  STATIC_CHECK(!keyspan::placeable<bool> && !keyspan::placeable<double>);
  STATIC_CHECK(!keyspan::placeable<char8_t> && !keyspan::placeable<wchar_t>);
  STATIC_CHECK(!keyspan::placeable<char const*> && !keyspan::placeable<std::string>);
  STATIC_CHECK(!keyspan::placeable<int_key> && !keyspan::placeable<void*>);
}

constexpr bool a_node_is_its_name_or_its_number() {
  for (auto const& [name, number] : test::placed_names) check(node_id{name}.number() == number);
  check(node_id{"a"} == node_id{std::string_view{"a"}} && node_id{"a"} != node_id{"b"});
  check(node_id{"a"}.number() == keyspan::murmur3_128("a").h1);
  check(node_id{7} == node_id{std::uint64_t{7}} && node_id{7}.number() == 7);
  check(node_id{-1}.number() == ~std::uint64_t{0});
  check(node_id{7} < node_id{8} && node_id{7} != node_id{"7"});
  weighted_node const plain = "a";
  weighted_node const heavy{"a", 2.5};
  check(plain.id == heavy.id && plain.weight == 1 && heavy.weight == 2.5 && plain != heavy);
  check(weighted_node{node_id{7}}.id == node_id{7});
  return true;
}
CHECK_BOTH(a_node_is_its_name_or_its_number);

TEST_CASE("a number names a node only where it is called an id") {
  STATIC_CHECK(std::convertible_to<std::string, weighted_node>);
  STATIC_CHECK(std::convertible_to<char const*, weighted_node>);
  STATIC_CHECK(std::convertible_to<node_id, weighted_node>);
  STATIC_CHECK(!std::convertible_to<int, weighted_node>);
  STATIC_CHECK(!std::convertible_to<int, node_id> && !std::constructible_from<node_id, double>);
}

TEST_CASE("equal ids hash alike and unlike ones seldom") {
  CHECK(std::hash<node_id>{}("a") == std::hash<node_id>{}(std::string{"a"}));
  std::unordered_set<std::size_t> hashes;
  for (int i = 0; i < 1'000; ++i) hashes.insert(std::hash<node_id>{}(node_id{i}));
  CHECK(hashes.size() == 1'000);
}

struct indices_as_int {
  int node_of(std::uint64_t) const { return 0; }
  std::size_t node_count() const { return 1; }
  bool operator==(indices_as_int const&) const = default;
};
struct without_count {
  node_index node_of(std::uint64_t) const { return 0; }
  bool operator==(without_count const&) const = default;
};

TEST_CASE("a placement says the node of a token and how many nodes there are") {
  STATIC_CHECK(keyspan::placement<remainder> && !keyspan::placement<remainder, std::string>);
  STATIC_CHECK(!keyspan::placement<indices_as_int> && !keyspan::placement<without_count>);
  CHECK(remainder{3}.node_of(token128{1, 2}) < 3);
}

constexpr bool a_key_points_at_every_entry_equally_often() {
  for (std::uint32_t const size : {1U, 2U, 3U, 7U, 97U}) {
    std::array<std::size_t, 97> counts{};
    std::uint64_t const step = (std::uint64_t{1} << 32) / (size * 4);
    for (std::uint64_t i = 0; i < size * std::uint64_t{4}; ++i)
      ++counts[keyspan::detail::entry_of_key((i * step + step / 2) << 32, size)];
    for (std::uint32_t i = 0; i < size; ++i) check(counts[i] == 4);
    check(keyspan::detail::entry_of_key(~std::uint64_t{0}, size) == size - 1);
  }
  check(keyspan::detail::entry_of_key(~std::uint64_t{0}, 0xFFFF'FFFB) == 0xFFFF'FFFA);
  return true;
}
CHECK_BOTH(a_key_points_at_every_entry_equally_often);

TEST_CASE("keys and ids allocate nothing") {
  auto const token = *plain_token::from_hex("22E342F38A486A088463DFF7838A596300");
  std::string const name(100, 'n');
  CHECK(test::allocations_in([&] {
          static_cast<void>(placement_key(token) + placement_key(token128{1, 2}));
          static_cast<void>(weighted_node{name, 2});
        }) == 0);
  STATIC_CHECK(noexcept(placement_key(token)) && noexcept(placement_key(token128{})));
}

}  // namespace
