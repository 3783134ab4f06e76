// test/law/ring_law_test.cpp — rings keep the laws of placement.
#include <keyspan/law/placement.hpp>
#include <keyspan/range/bounded_ring.hpp>
#include <keyspan/range/ring.hpp>

#include "draws.hpp"

#include <support/check.hpp>

#include <cstddef>
#include <span>

namespace {

using keyspan::weighted_node;
using keyspan::law::check_placement;
using keyspan::law::finding;
using keyspan::law::placement_options;
using test::bytes_that_begin_alike;
using test::check;
using test::in_steps_of_a_page;
using test::of_128_bits;
using test::one_after_another;

using node_span = std::span<weighted_node const>;

constexpr auto make_ring = [](node_span nodes) { return keyspan::ring::build(nodes); };
constexpr auto make_fine_ring = [](node_span nodes) {
  return keyspan::ring::build(nodes, {.virtual_nodes = 5'000});
};
constexpr auto make_bounded_ring = [](node_span nodes) {
  return keyspan::bounded_ring::build(nodes);
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
