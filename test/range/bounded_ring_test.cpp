// test/range/bounded_ring_test.cpp — loads that stay within bounds, against a model that counts in
// whole numbers.
#include <keyspan/core/text.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/bounded_ring.hpp>
#include <keyspan/range/ring.hpp>

#include <golden/placement.hpp>
#include <golden/ring.hpp>
#include <range/ring_points.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::bounded_ring;
using keyspan::bounded_ring_options;
using keyspan::errc;
using keyspan::node_index;
using keyspan::ring;
using keyspan::weighted_node;
using test::check;

using node_vector = std::vector<weighted_node>;

constexpr node_vector numbered_nodes(std::size_t count) {
  node_vector nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(keyspan::inline_text<16>{"node-", i});
  return nodes;
}

TEST_CASE("the example of bounded loads reads as it should") {
  // [region: example]
  auto nodes = keyspan::bounded_ring({"ams-1", "ams-2", "fra-1"}, {.bound = 1.25});
  std::uint64_t const hot = 7;  // the token of a key that everybody asks for
  check(nodes.node_of(hot) == 1);

  auto const first = nodes.place(hot);  // on the ring's node, as long as it has room
  check(first == 1 && nodes.load_of(1) == 1 && nodes.capacity_of(1) == 1);
  check(nodes.place(hot) == 2);  // and then on the next one, clockwise
  for (int i = 0; i < 28; ++i) static_cast<void>(nodes.place(hot));
  check(nodes.load() == 30 && nodes.load_of(1) == 13);  // a third of 30, and a quarter of that

  nodes.release(first);  // when the answer is sent
  check(nodes.load_of(1) == 12);
  // [end: example]
}

// Two tokens come and the oldest goes, as make_ring.py does it.
template <std::size_t Nodes>
constexpr bool golden_traffic(bounded_ring nodes, std::array<std::uint32_t, 200> const& expected,
                              std::array<std::uint64_t, Nodes> const& loads,
                              std::array<std::uint64_t, Nodes> const& capacities) {
  std::size_t gone = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::uint64_t const token = test::placed_tokens[i % 5 == 0 ? 0 : i % 32];
    check(nodes.node_of(token) == expected[i] && nodes.place(token) == expected[i]);
    if (i % 2 == 1) nodes.release(expected[gone++]);
  }
  check(nodes.node_count() == Nodes);
  for (node_index node = 0; node < Nodes; ++node) {
    check(nodes.load_of(node) == loads[node]);
    check(nodes.capacity_of(node) == capacities[node]);
  }
  return true;
}

TEST_CASE("loads are those that were reckoned elsewhere") {
  CHECK(golden_traffic(bounded_ring{{"a", 1}, {"b", 2}, {"c", 3}}, test::bounded_ring_three_names,
                       test::bounded_ring_loads_three_names,
                       test::bounded_ring_capacities_three_names));
  auto nodes = numbered_nodes(10);
  CHECK(golden_traffic(
      *bounded_ring::build(nodes, {.bound = 1.0625}), test::bounded_ring_ten_of_one_weight,
      test::bounded_ring_loads_ten_of_one_weight, test::bounded_ring_capacities_ten_of_one_weight));
  nodes = numbered_nodes(40);
  for (std::size_t i = 0; i < 40; ++i) nodes[i].weight = 1 + static_cast<double>(i) / 4;
  CHECK(golden_traffic(*bounded_ring::build(nodes, {.bound = 1.5, .virtual_nodes = 33}),
                       test::bounded_ring_all_weights_differ,
                       test::bounded_ring_loads_all_weights_differ,
                       test::bounded_ring_capacities_all_weights_differ));
}

// Whoever changes this sends the tokens of every program that runs to other nodes.
TEST_CASE("a token has its bounded node for ever") {
  auto nodes = bounded_ring{"ams-1", "ams-2", "fra-1"};
  constexpr std::array<node_index, 16> placed{2, 0, 1, 0, 0, 1, 2, 1, 1, 1, 0, 2, 0, 2, 2, 0};
  for (std::uint64_t token = 0; token < placed.size(); ++token)
    CHECK(nodes.place(token) == placed[token]);
}

constexpr bool a_ring_of_no_loads_is_a_ring() {
  auto list = numbered_nodes(4);
  list[3].weight = 2.5;
  auto const bounded = *bounded_ring::build(list, {.bound = 1.01, .virtual_nodes = 4});
  auto const plain = *ring::build(list, {.virtual_nodes = 4});
  check(bounded.unbounded() == plain && bounded.load() == 0);
  for (std::uint64_t token = 0; token < 100; ++token) {
    check(bounded.node_of(token) == plain.node_of(token));
    keyspan::token128 const wide{.high = token, .low = ~token};
    check(bounded.node_of(wide) == plain.node_of(wide));
  }
  return true;
}
CHECK_BOTH(a_ring_of_no_loads_is_a_ring);

// The first node clockwise with room, looked for in a map of the ring's points, where "room" is
// reckoned in whole numbers: load * points of all * 4 < 5 * points * tokens.
struct model {
  std::map<std::uint64_t, node_index> points{};
  std::vector<std::uint64_t> weights{};
  std::vector<std::uint64_t> loads{};
  std::uint64_t whole = 0;
  std::uint64_t load = 0;

  explicit model(bounded_ring const& nodes) : loads(nodes.node_count(), 0) {
    for (auto const& [range, node] : nodes.unbounded().map())
      if (!range.upper().is_space_end()) points.emplace(range.upper().at(), node);
    for (node_index node = 0; node < nodes.node_count(); ++node) {
      weights.push_back(nodes.unbounded().points_of(node));
      whole += weights.back();
    }
  }
  std::uint64_t capacity_of(node_index node) const {
    return (5 * weights[node] * (load + 1) + 4 * whole - 1) / (4 * whole);
  }
  node_index node_of(std::uint64_t token) const {
    auto at = points.upper_bound(keyspan::placement_key(token));
    for (;; ++at) {
      if (at == points.end()) at = points.begin();
      if (loads[at->second] < capacity_of(at->second)) return at->second;
    }
  }
};

void random_traffic(bounded_ring nodes, std::uint64_t seed) {
  model same{nodes};
  auto random = test::random{seed};
  std::vector<node_index> placed;
  std::size_t differ = 0;
  std::size_t beyond = 0;
  for (int step = 0; step < 100'000; ++step) {
    // Long rises and long falls, so that nodes are often left with more than their capacity.
    unsigned const comes = step / 10'000 % 2 == 0 ? 70 : 40;
    if (!placed.empty() && !random.chance(comes)) {
      std::swap(placed[random.below(placed.size())], placed.back());
      node_index const node = placed.back();
      placed.pop_back();
      nodes.release(node);
      --same.loads[node];
      --same.load;
      differ += nodes.load_of(node) != same.loads[node] ? 1U : 0U;
      continue;
    }
    std::uint64_t const token = random.chance(10) ? 7 : random();
    node_index const node = same.node_of(token);
    std::uint64_t const capacity = same.capacity_of(node);
    differ += nodes.node_of(token) != node || nodes.capacity_of(node) != capacity ? 1U : 0U;
    differ += nodes.place(token) != node ? 1U : 0U;
    ++same.loads[node];
    ++same.load;
    beyond += nodes.load_of(node) > capacity ? 1U : 0U;
    placed.push_back(node);
  }
  CHECK(differ == 0);
  CHECK(beyond == 0);
  CHECK(nodes.load() == placed.size());
  for (node_index node = 0; node < nodes.node_count(); ++node) {
    CHECK(nodes.load_of(node) == same.loads[node]);
    CHECK(nodes.capacity_of(node) == same.capacity_of(node));
  }
}

TEST_CASE("no place takes a node beyond its capacity, and each is where a naive model has it") {
  random_traffic(*bounded_ring::build(numbered_nodes(1)), 1);
  random_traffic(*bounded_ring::build(numbered_nodes(2), {.virtual_nodes = 1}), 2);
  random_traffic(*bounded_ring::build(numbered_nodes(10)), 3);
  auto list = numbered_nodes(30);
  for (std::size_t i = 0; i < list.size(); ++i) list[i].weight = 0.5 + static_cast<double>(i % 7);
  random_traffic(*bounded_ring::build(list, {.virtual_nodes = 12}), 4);
}

TEST_CASE("as long as tokens only come no node has more than its capacity") {
  for (double const bound : {1.001, 1.05, 1.25, 2.0, 1'000.0}) {
    auto list = numbered_nodes(12);
    list[5].weight = 0.25;
    list[6].weight = 3;
    auto nodes = *bounded_ring::build(list, {.bound = bound});
    auto random = test::random{11};
    std::size_t beyond = 0;
    for (int i = 0; i < 5'000; ++i) {
      std::uint64_t const token = random.below(60);
      // Of the tokens that there are then: the next one is counted already.
      std::vector<std::uint64_t> capacities;
      for (node_index node = 0; node < 12; ++node) capacities.push_back(nodes.capacity_of(node));
      static_cast<void>(nodes.place(token));
      for (node_index node = 0; node < 12; ++node)
        beyond += nodes.load_of(node) > capacities[node] ? 1U : 0U;
    }
    CHECK(beyond == 0);
  }
}

TEST_CASE("the tokens of one key spread over as many nodes as it takes") {
  for (double const bound : {1.05, 1.25, 2.0}) {
    auto nodes = *bounded_ring::build(numbered_nodes(20), {.bound = bound});
    for (int i = 0; i < 10'000; ++i) static_cast<void>(nodes.place(std::uint64_t{7}));
    std::size_t used = 0;
    for (node_index node = 0; node < 20; ++node) {
      CHECK(nodes.load_of(node) <= static_cast<std::uint64_t>(bound * 500.05) + 1);
      used += nodes.load_of(node) > 0 ? 1U : 0U;
    }
    CHECK(used == static_cast<std::size_t>(20 / bound + 0.999));
    CHECK(nodes.load_of(nodes.unbounded().node_of(7)) >= 500);
  }
}

TEST_CASE("what is released is as if it had never been placed") {
  auto const empty = *bounded_ring::build(numbered_nodes(9), {.bound = 1.1});
  auto nodes = empty;
  auto random = test::random{3};
  std::vector<node_index> placed;
  for (int i = 0; i < 2'000; ++i) placed.push_back(nodes.place(random.below(100)));
  CHECK(nodes != empty);
  random.shuffle(placed);
  for (std::size_t i = 1'000; i < placed.size(); ++i) nodes.release(placed[i]);
  CHECK(nodes.load() == 1'000);
  for (std::size_t i = 0; i < 1'000; ++i) nodes.release(placed[i]);
  CHECK(nodes == empty);
}

constexpr bool the_last_token_placed_and_released_changes_nothing() {
  bounded_ring nodes({"a", {"b", 2}, "c"}, {.bound = 1.5, .virtual_nodes = 3});
  for (std::uint64_t token = 0; token < 20; ++token) {
    auto const before = nodes;
    node_index const node = nodes.place(token);
    check(nodes != before && nodes.load() == before.load() + 1);
    nodes.release(node);
    check(nodes == before);
    static_cast<void>(nodes.place(token % 5));
  }
  return true;
}
CHECK_BOTH(the_last_token_placed_and_released_changes_nothing);

constexpr bool a_full_node_is_passed_over_as_if_it_had_left() {
  auto const list = numbered_nodes(4);
  for (node_index full = 0; full < 4; ++full) {
    auto rest = list;
    rest.erase(rest.begin() + full);
    auto const without = *ring::build(rest, {.virtual_nodes = 3});
    auto nodes = *bounded_ring::build(list, {.virtual_nodes = 3});
    nodes.set_load(full, 10);
    check(nodes.capacity_of(full) == 4);
    for (std::uint64_t token = 0; token < 60; ++token) {
      node_index const other = without.node_of(token);
      check(nodes.node_of(token) == (other < full ? other : other + 1));
    }
  }
  return true;
}
CHECK_BOTH(a_full_node_is_passed_over_as_if_it_had_left);

constexpr bool the_way_on_leads_round_the_circle() {
  using test::bare_key;
  for (std::uint64_t const first : {std::uint64_t{0}, std::uint64_t{500}}) {
    bounded_ring nodes({test::node_with_point(first), test::node_with_point(1'000),
                        test::node_with_point(~std::uint64_t{0})},
                       {.virtual_nodes = 1});
    check(nodes.node_of(bare_key{2'000}) == 2 && nodes.node_of(bare_key{~std::uint64_t{0}}) == 0);
    nodes.set_load(0, 100);
    check(nodes.node_of(bare_key{2'000}) == 2 && nodes.node_of(bare_key{~std::uint64_t{0}}) == 1);
    nodes.set_load(2, 100);
    check(nodes.node_of(bare_key{2'000}) == 1);
    nodes.set_load(0, 0);
    check(nodes.node_of(bare_key{2'000}) == 0);
  }
  return true;
}
CHECK_BOTH(the_way_on_leads_round_the_circle);

constexpr bool the_one_node_with_room_is_found_from_everywhere() {
  auto nodes = *bounded_ring::build(numbered_nodes(10), {.bound = 1.05, .virtual_nodes = 2});
  for (node_index node = 0; node < 10; ++node) nodes.set_load(node, 10);
  for (node_index node = 0; node < 10; ++node) {
    nodes.set_load(node, 0);
    for (std::uint64_t token = 0; token < 10; ++token) check(nodes.node_of(token) == node);
    nodes.set_load(node, 10);
  }
  return true;
}
CHECK_BOTH(the_one_node_with_room_is_found_from_everywhere);

constexpr bool capacities_are_the_bound_of_the_shares_rounded_up() {
  bounded_ring nodes({{"a", 1}, {"b", 1}, {"c", 2}}, {.virtual_nodes = 1});
  auto const capacities = [&] {
    return std::array{nodes.capacity_of(0), nodes.capacity_of(1), nodes.capacity_of(2)};
  };
  using three = std::array<std::uint64_t, 3>;
  check(capacities() == three{1, 1, 1});  // 0.3125, 0.3125, 0.625
  nodes.set_load(2, 15);
  check(capacities() == three{5, 5, 10});  // of 16: nothing to round
  nodes.set_load(2, 16);
  check(capacities() == three{6, 6, 11});  // of 17: 5.3125 and 10.625
  bounded_ring alone({"a"}, {.virtual_nodes = 1});
  alone.set_load(0, 3);
  check(alone.capacity_of(0) == 5 && alone.node_of(9) == 0);
  bounded_ring tenths({"a", "b", "c"}, {.bound = 1.2, .virtual_nodes = 1});
  tenths.set_load(0, 4);
  check(tenths.capacity_of(0) == 2);  // 1.2 is a little less than 6/5, and 2 is 2
  return true;
}
CHECK_BOTH(capacities_are_the_bound_of_the_shares_rounded_up);

TEST_CASE("loads by weight are within the bound of it") {
  auto list = numbered_nodes(20);
  double whole = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].weight = i % 4 == 0 ? 4 : 1;
    whole += list[i].weight;
  }
  auto nodes = *bounded_ring::build(list, {.bound = 1.1});
  auto random = test::random{8};
  for (int i = 0; i < 35'000; ++i) static_cast<void>(nodes.place(random()));
  for (node_index node = 0; node < 20; ++node) {
    double const share = list[node].weight / whole * 35'000;
    CHECK(static_cast<double>(nodes.load_of(node)) < 1.1 * share + 1);
    CHECK(static_cast<double>(nodes.load_of(node)) > 0.7 * share);
  }
}

// Which of the same tokens in the same order are on another of the nodes that stay.
double strays_of_a_node_that_joins(double bound, std::size_t tokens) {
  auto list = numbered_nodes(101);
  auto after = *bounded_ring::build(list, {.bound = bound});
  list.pop_back();
  auto before = *bounded_ring::build(list, {.bound = bound});
  std::size_t strays = 0;
  for (std::uint64_t token = 0; token < tokens; ++token) {
    node_index const from = before.place(token);
    node_index const to = after.place(token);
    strays += from != to && to != 100 ? 1U : 0U;
  }
  return static_cast<double>(strays) / static_cast<double>(tokens);
}

TEST_CASE("few tokens move between nodes that stay when another joins") {
  CHECK(strays_of_a_node_that_joins(2, 10'000) == 0);
  CHECK(strays_of_a_node_that_joins(1.25, 1'000) < 0.06);
  CHECK(strays_of_a_node_that_joins(1.25, 10'000) < 0.02);
  CHECK(strays_of_a_node_that_joins(1.25, 100'000) < 0.003);
  CHECK(strays_of_a_node_that_joins(1.1, 10'000) < 0.09);
}

constexpr bool loads_can_be_carried_over_to_a_ring_of_other_nodes() {
  auto list = numbered_nodes(4);
  auto before = *bounded_ring::build(list, {.virtual_nodes = 5});
  for (std::uint64_t token = 0; token < 40; ++token) static_cast<void>(before.place(token));
  list.push_back("node-4");
  auto after = *bounded_ring::build(list, {.virtual_nodes = 5});
  for (node_index node = 0; node < 4; ++node) after.set_load(node, before.load_of(node));
  check(after.load() == 40 && after.load_of(4) == 0 && after.capacity_of(4) == 11);
  for (node_index node = 0; node < 4; ++node) check(after.load_of(node) == before.load_of(node));
  auto other = after;
  other.set_load(0, before.load_of(1));
  other.set_load(1, before.load_of(0));
  check(before.load_of(0) != before.load_of(1) && other.load() == 40 && other != after);
  after.set_load(1, 0);
  check(after.load() == 40 - before.load_of(1));
  after.set_load(1, 3);
  after.set_load(1, 2);
  check(after.load_of(1) == 2 && after.load() == 42 - before.load_of(1));
  return true;
}
CHECK_BOTH(loads_can_be_carried_over_to_a_ring_of_other_nodes);

constexpr keyspan::error refused(node_vector const& nodes, bounded_ring_options options) {
  auto const built = bounded_ring::build(nodes, options);
  check(!built.has_value() && built.error().code == errc::invalid_options);
  return built.error();
}

constexpr bool what_cannot_be_bounded_is_refused() {
  auto const of_bound = [](double bound) {
    return refused({"a"}, {.bound = bound, .virtual_nodes = 1}).text;
  };
  check(of_bound(1) ==
        "the bound is not greater than 1; give one like 1.25, which lets a node have a quarter "
        "more than its share");
  check(of_bound(-2).view().starts_with("the bound is not greater than 1; "));
  check(of_bound(-std::numeric_limits<double>::infinity())
            .view()
            .starts_with("the bound is not greater than 1; "));
  check(of_bound(std::numeric_limits<double>::quiet_NaN())
            .view()
            .starts_with("the bound is not a number; "));
  check(of_bound(1'000.001).view().starts_with("the bound is greater than 1000; "));
  check(of_bound(std::numeric_limits<double>::infinity())
            .view()
            .starts_with("the bound is greater than 1000; "));
  check(bounded_ring::build({"a"}, {.bound = 1'000, .virtual_nodes = 1}).has_value());

  check(refused({}, {}).text == "there are no nodes; a placement has one at least");
  check(refused({"a", "a"}, {}).text == "nodes 0 and 1 have the same name; name each node once");
  check(refused({{"a", 0.0}}, {}).text ==
        "the weight of node 0 is zero; give each node a positive, finite weight");
  check(refused({"a"}, {.virtual_nodes = 0}).text ==
        "virtual_nodes is 0; a node has one point at least");
  return true;
}
CHECK_BOTH(what_cannot_be_bounded_is_refused);

TEST_CASE("the least of all bounds and the greatest of all loads leave room for every token") {
  double const least = 1 + std::numeric_limits<double>::epsilon();
  auto list = numbered_nodes(7);
  list[2].weight = 1.7;
  auto nodes = *bounded_ring::build(list, {.bound = least});
  for (std::uint64_t token = 0; token < 10'000; ++token) static_cast<void>(nodes.place(token));
  for (node_index node = 0; node < 7; ++node) {
    CHECK(nodes.load_of(node) <= nodes.capacity_of(node));
    CHECK(nodes.load_of(node) > 0);
  }
  for (node_index node = 0; node < 7; ++node) nodes.set_load(node, 0);
  auto random = test::random{2};
  for (int i = 0; i < 300; ++i) {
    for (node_index node = 0; node < 7; ++node)
      nodes.set_load(node, (std::uint64_t{1} << 44) + random.below(3));
    node_index const node = nodes.node_of(random());
    CHECK(nodes.load_of(node) <= nodes.capacity_of(node));
  }
}

TEST_CASE("promises to a ring of bounded loads are kept") {
  std::string const promise =
      "a placement has nodes of different names and of positive, finite weights, and a ring of "
      "bounded loads has points of all of them and a bound above 1";
  CHECK(test::promise_broken_by([] { return bounded_ring{"a", "a"}; }) == promise);
  CHECK(test::promise_broken_by([] { return bounded_ring({"a"}, {.bound = 1}); }) == promise);

  bounded_ring nodes{"a", "b"};
  auto const broken_by = [&](auto action) {
    return test::promise_broken_by([&] {
      action();
      return 0;
    });
  };
  std::string const no_token = "a node that releases a token has one";
  std::string const no_node = "the ring has a node of this index";
  std::string const too_much = "all nodes have less than 2^48 tokens";
  CHECK(broken_by([&] { nodes.release(0); }) == no_token);
  node_index const node = nodes.place(std::uint64_t{1});
  CHECK(broken_by([&] { nodes.release(1 - node); }) == no_token);
  CHECK(broken_by([&] { nodes.release(2); }) == no_node);
  CHECK(broken_by([&] { nodes.set_load(2, 1); }) == no_node);
  CHECK(broken_by([&] { static_cast<void>(nodes.load_of(2)); }) == no_node);
  CHECK(broken_by([&] { static_cast<void>(nodes.capacity_of(2)); }) == no_node);
  std::uint64_t const most = (std::uint64_t{1} << 48) - 2;  // beside the token of the other
  CHECK(broken_by([&] { nodes.set_load(1 - node, most + 1); }) == too_much);
  CHECK(broken_by([&] { nodes.set_load(1 - node, ~std::uint64_t{0}); }) == too_much);
  CHECK(nodes.load() == 1);
  CHECK(broken_by([&] { nodes.set_load(1 - node, most); }).empty());
  CHECK(broken_by([&] { nodes.set_load(node, 2); }) == too_much);
  CHECK(nodes.load() == most + 1);
}

TEST_CASE("to place and to release tokens allocates nothing") {
  auto nodes = *bounded_ring::build(numbered_nodes(100));
  CHECK(test::allocations_in([&] {
          for (std::uint64_t token = 0; token < 1'000; ++token) {
            nodes.release(nodes.place(token));
            static_cast<void>(nodes.place(keyspan::token128{token, 1}));
            static_cast<void>(nodes.node_of(token) + nodes.capacity_of(7));
          }
        }) == 0);
  STATIC_CHECK(noexcept(nodes.node_of(7)) && noexcept(nodes.place(7)));
  STATIC_CHECK(std::is_nothrow_move_constructible_v<bounded_ring>);
}

template <class Ring>
concept lends_its_ring = requires(Ring&& nodes) { std::forward<Ring>(nodes).unbounded(); };

TEST_CASE("the ring of bounded loads that are about to go is not lent") {
  STATIC_CHECK(lends_its_ring<bounded_ring const&> && lends_its_ring<bounded_ring&>);
  STATIC_CHECK(!lends_its_ring<bounded_ring> && !lends_its_ring<bounded_ring const>);
}

}  // namespace
