// test/law/ring_law_test.cpp — rings keep the laws of placement.
#include <keyspan/core/bytes.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/law/placement.hpp>
#include <keyspan/range/bounded_ring.hpp>
#include <keyspan/range/ring.hpp>

#include <support/check.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using keyspan::weighted_node;
using keyspan::law::check_placement;
using keyspan::law::finding;
using keyspan::law::placement_options;
using test::check;

using node_span = std::span<weighted_node const>;

constexpr auto make_ring = [](node_span nodes) { return keyspan::ring::build(nodes); };
constexpr auto make_fine_ring = [](node_span nodes) {
  return keyspan::ring::build(nodes, {.virtual_nodes = 5'000});
};
constexpr auto make_bounded_ring = [](node_span nodes) {
  return keyspan::bounded_ring::build(nodes);
};

constexpr auto one_after_another = [](std::uint64_t i) { return i; };
constexpr auto of_128_bits = [](std::uint64_t i) {
  return keyspan::token128{.high = keyspan::law::spread_tokens{}(i), .low = i};
};
constexpr auto in_steps_of_a_page = [](std::uint64_t i) {
  return static_cast<std::int64_t>(i << 12) - 1'000'000;
};
constexpr auto bytes_that_begin_alike = [](std::uint64_t i) {
  std::array<unsigned char, 16> bytes{0x22, 0xE3, 0x42, 0xF3};
  keyspan::store_be(bytes.data() + 6, i);
  return *keyspan::token_bytes<16>::from_bytes(std::span{bytes});
};

void holds_of_a_ring(finding const& found) {
  INFO(found.text());
  CHECK(static_cast<bool>(found));
}

// No token strays; the shares of 80 and 160 points are those of chance.
constexpr placement_options coarse{.imbalance = 0.2};

TEST_CASE("a ring keeps the laws to within what points can do") {
  for (std::size_t const nodes : {1U, 2U, 3U, 10U, 99U})
    holds_of_a_ring(check_placement(make_ring, nodes, coarse));
  holds_of_a_ring(check_placement(make_ring, 10, coarse, one_after_another));
  holds_of_a_ring(check_placement(make_ring, 10, coarse, in_steps_of_a_page));
  holds_of_a_ring(check_placement(make_ring, 10, coarse, of_128_bits));
  holds_of_a_ring(check_placement(make_ring, 10, coarse, bytes_that_begin_alike));
}

TEST_CASE("the more points a ring has the finer its shares are") {
  holds_of_a_ring(check_placement(make_fine_ring, 10, {.imbalance = 0.03}));
  CHECK(!check_placement(make_ring, 99, {.tokens = 1'000'000, .imbalance = 0.03}));
}

TEST_CASE("a ring of bounded loads keeps the laws while it has none") {
  for (std::size_t const nodes : {1U, 2U, 10U, 99U})
    holds_of_a_ring(check_placement(make_bounded_ring, nodes, coarse));
  holds_of_a_ring(check_placement(make_bounded_ring, 10, coarse, of_128_bits));
}

constexpr bool the_laws_of_a_ring_can_be_checked_at_compile_time() {
  auto const few = [](node_span nodes) {
    return keyspan::ring::build(nodes, {.virtual_nodes = 3});
  };
  auto const few_bounded = [](node_span nodes) {
    return keyspan::bounded_ring::build(nodes, {.virtual_nodes = 3});
  };
  check(static_cast<bool>(check_placement(few, 2, {.tokens = 12, .imbalance = 1})));
  check(static_cast<bool>(check_placement(few_bounded, 1, {.tokens = 12, .imbalance = 1})));
  return true;
}
CHECK_BOTH(the_laws_of_a_ring_can_be_checked_at_compile_time);

}  // namespace
