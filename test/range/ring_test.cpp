// test/range/ring_test.cpp — points on a circle: whose stretch a token is in, and what moves when
// nodes come and go.
#include <keyspan/core/text.hpp>
#include <keyspan/hash/token128.hpp>
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
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::node_id;
using keyspan::node_index;
using keyspan::ring;
using keyspan::ring_options;
using keyspan::weighted_node;
using test::check;

using node_vector = std::vector<weighted_node>;

constexpr std::uint64_t last_key = ~std::uint64_t{0};

using test::bare_key;
using test::mixed;
using test::node_with_point;
using test::point_of;

constexpr node_vector numbered_nodes(std::size_t count) {
  node_vector nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(keyspan::inline_text<16>{"node-", i});
  return nodes;
}

// A ring as it stands in many programs: its points in a map of the standard library.
struct naive_ring {
  std::map<std::uint64_t, std::pair<node_id, node_index>> points{};

  naive_ring(node_vector const& nodes, std::size_t virtual_nodes) {
    for (node_index node = 0; node < nodes.size(); ++node) {
      auto const count =
          static_cast<std::uint64_t>(nodes[node].weight * static_cast<double>(virtual_nodes) + 0.5);
      for (std::uint64_t i = 0; i < count; ++i) {
        std::pair const owner{nodes[node].id, node};
        auto const [at, is_new] = points.emplace(point_of(nodes[node].id, i), owner);
        if (!is_new) at->second = std::min(at->second, owner);
      }
    }
  }
  node_index node_of_key(std::uint64_t key) const {
    auto const at = points.upper_bound(key);
    return (at == points.end() ? points.begin() : at)->second.second;
  }
};

void agree(ring const& nodes, naive_ring const& naive) {
  std::size_t differ = 0;
  auto const look_at = [&](std::uint64_t key) {
    differ += nodes.node_of(bare_key{key}) != naive.node_of_key(key) ? 1U : 0U;
  };
  for (auto const& point : naive.points)
    for (std::uint64_t const key : {point.first - 1, point.first, point.first + 1}) look_at(key);
  for (std::uint64_t const key : {std::uint64_t{0}, std::uint64_t{1}, last_key - 1, last_key})
    look_at(key);
  auto random = test::random{naive.points.size()};
  for (int i = 0; i < 2'000; ++i) look_at(random());
  CHECK(differ == 0);
  CHECK(nodes.map().size() == naive.points.size() + (naive.points.contains(0) ? 0U : 1U));
}

TEST_CASE("the example of the ring reads as it should") {
  // [region: example]
  std::vector<std::string> const names{"ams-1", "ams-2", "fra-1"};
  auto const nodes = keyspan::ring::build(names);
  check(nodes.has_value() && nodes->node_count() == 3);
  check(nodes->node_of(keyspan::token128{7, 7}) < 3);

  // Who has which stretch of the circle?
  auto const few = keyspan::ring({{"ams-1", 1.0}, {"fra-1", 2.0}}, {.virtual_nodes = 2});
  std::string owners;
  for (auto const& [range, node] : few.map()) owners += node == 0 ? "a" : "f";
  check(owners == "aaffffa");  // six points, and what lies behind the last belongs to the first
  check(few.points_of(0) == 2 && few.points_of(1) == 4);

  auto const wrong = keyspan::ring::build(names, {.virtual_nodes = 0});
  check(wrong.error().to_text() ==
        "invalid_options: virtual_nodes is 0; a node has one point at least");
  // [end: example]
}

constexpr bool golden_ring(node_vector const& nodes, std::uint32_t virtual_nodes,
                           std::array<std::uint32_t, 32> const& expected) {
  auto const built = ring::build(nodes, {.virtual_nodes = virtual_nodes});
  check(built.has_value());
  for (std::size_t i = 0; i < expected.size(); ++i)
    check(built->node_of(test::placed_tokens[i]) == expected[i]);
  return true;
}

constexpr bool rings_are_those_that_were_reckoned_elsewhere() {
  node_vector of_two_weights = numbered_nodes(16);
  for (std::size_t i = 1; i < 16; i += 2) of_two_weights[i].weight = 2;
  check(golden_ring(of_two_weights, 1, test::ring_two_weights));

  ring const few{{{"a", 1}, {"b", 2}, {"c", 3}}, {.virtual_nodes = 2}};
  auto const& points = test::ring_points_of_three_names;
  check(few.map().size() == points.size() + 1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    check(few.map()[i].range().upper() == points[i]);
    check(few.map()[i].value() == test::ring_nodes_of_three_names[i]);
  }
  return true;
}
CHECK_BOTH(rings_are_those_that_were_reckoned_elsewhere);

TEST_CASE("rings of many points are those that were reckoned elsewhere") {
  CHECK(golden_ring({{"a", 1}, {"b", 2}, {"c", 3}}, 160, test::ring_three_names));
  CHECK(golden_ring({{"alone", 7}}, 160, test::ring_one_node));
  node_vector numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(node_id{i});
  CHECK(golden_ring(numbers, 7, test::ring_numbers));
  CHECK(
      golden_ring(numbered_nodes(10), ring_options{}.virtual_nodes, test::ring_ten_of_one_weight));
  auto nodes = numbered_nodes(40);
  for (std::size_t i = 0; i < 40; ++i) nodes[i].weight = 1 + static_cast<double>(i) / 4;
  CHECK(golden_ring(nodes, 33, test::ring_all_weights_differ));
}

// Whoever changes this sends the tokens of every program that runs to other nodes.
TEST_CASE("a token has its node for ever") {
  auto const nodes = ring{"ams-1", "ams-2", "fra-1"};
  std::string_view const placed = "2210002111010220";
  for (std::uint64_t token = 0; token < placed.size(); ++token)
    CHECK(nodes.node_of(token) == static_cast<node_index>(placed[token] - '0'));
  CHECK(nodes.node_of(
            keyspan::token128{.high = 0x22E3'42F3'8A48'6A08, .low = 0x8463'DFF7'838A'5963}) == 1);
}

// Nodes of one point each at every choice of these places, and every key that matters.
constexpr bool a_token_belongs_to_the_first_point_behind_it() {
  constexpr std::array<std::uint64_t, 6> places{0, 1, 2, 1000, last_key - 1, last_key};
  constexpr std::array<std::uint64_t, 11> keys{
      0, 1, 2, 3, 999, 1000, 1001, last_key / 2, last_key - 2, last_key - 1, last_key};
  for (unsigned chosen = 1; chosen < 1U << places.size(); ++chosen) {
    node_vector nodes;
    std::vector<std::uint64_t> points;
    for (std::size_t i = 0; i < places.size(); ++i)
      if ((chosen >> i & 1) != 0) points.push_back(places[i]);
    for (std::uint64_t const point : points) nodes.push_back(node_with_point(point));
    auto const built = *ring::build(nodes, {.virtual_nodes = 1});
    check(built.map().whole().upper().is_space_end() && built.map().whole().lower() == 0);
    for (std::uint64_t const key : keys) {
      std::size_t first = 0;
      while (first < points.size() && points[first] <= key) ++first;
      check(built.node_of(bare_key{key}) == first % points.size());
    }
  }
  return true;
}
CHECK_BOTH(a_token_belongs_to_the_first_point_behind_it);

TEST_CASE("a ring says what a map of points says") {
  for (std::size_t const count : {1U, 2U, 3U, 10U, 40U}) {
    for (std::uint32_t const virtual_nodes : {1U, 2U, 7U, 160U}) {
      auto nodes = numbered_nodes(count);
      agree(*ring::build(nodes, {.virtual_nodes = virtual_nodes}), {nodes, virtual_nodes});
      for (std::size_t i = 0; i < count; ++i) nodes[i].weight = 0.5 + static_cast<double>(i % 5);
      agree(*ring::build(nodes, {.virtual_nodes = virtual_nodes}), {nodes, virtual_nodes});
    }
  }
}

TEST_CASE("a token is placed by its key") {
  auto const nodes = *ring::build(numbered_nodes(10));
  auto random = test::random{5};
  for (int i = 0; i < 1'000; ++i) {
    std::uint64_t const high = random();
    std::uint64_t const low = random();
    CHECK(nodes.node_of(low) == nodes.node_of(bare_key{mixed(low)}));
    CHECK(nodes.node_of(keyspan::token128{high, low}) ==
          nodes.node_of(bare_key{mixed(mixed(low) ^ high)}));
  }
}

constexpr bool the_order_of_a_ring_list_decides_indices_alone() {
  ring const one({{"a", 1}, {"b", 2}, {"c", 1}}, {.virtual_nodes = 5});
  ring const other({{"c", 1}, {"a", 1}, {"b", 2}}, {.virtual_nodes = 5});
  constexpr std::array<node_index, 3> places{1, 2, 0};
  check(std::ranges::equal(one.map().lowers(), other.map().lowers()));
  for (std::size_t i = 0; i < one.map().size(); ++i)
    check(other.map()[i].value() == places[one.map()[i].value()]);
  check(one != other && one == ring({{"a", 1}, {"b", 2}, {"c", 1}}, {.virtual_nodes = 5}));
  check(one != ring({{"a", 1}, {"b", 2}, {"c", 1}}, {.virtual_nodes = 6}));
  check(one.node_count() == 3);
  return true;
}
CHECK_BOTH(the_order_of_a_ring_list_decides_indices_alone);

// The node of every key of the space, in the stretches between the points of both rings.
template <class Change>
constexpr void for_every_key(ring const& before, ring const& after, Change change) {
  std::vector<std::uint64_t> keys;
  for (auto const* each : {&before, &after})
    keys.insert(keys.end(), each->map().lowers().begin(), each->map().lowers().end());
  for (std::uint64_t const key : keys)
    change(before.node_of(bare_key{key}), after.node_of(bare_key{key}));
}

constexpr bool a_node_that_joins_or_leaves_moves_its_own_tokens_alone() {
  for (std::size_t const count : {1U, 4U}) {
    auto all = numbered_nodes(count + 1);
    all[0].weight = 2;
    auto const with = *ring::build(all, {.virtual_nodes = 7});
    for (std::size_t gone = 0; gone <= count; ++gone) {
      auto rest = all;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
      auto const without = *ring::build(rest, {.virtual_nodes = 7});
      std::size_t moved = 0;
      for_every_key(with, without, [&](node_index from, node_index to) {
        if (from == gone) {
          ++moved;
          return;
        }
        check(to == (from < gone ? from : from - 1));
      });
      check(moved >= 7);
    }
  }
  return true;
}
CHECK_BOTH(a_node_that_joins_or_leaves_moves_its_own_tokens_alone);

constexpr bool a_node_that_grows_heavier_keeps_its_points_and_takes_more() {
  auto nodes = numbered_nodes(4);
  auto const before = *ring::build(nodes, {.virtual_nodes = 8});
  nodes[2].weight = 1.5;
  auto const after = *ring::build(nodes, {.virtual_nodes = 8});
  check(before.points_of(2) == 8 && after.points_of(2) == 12 && after.points_of(1) == 8);
  std::size_t moved = 0;
  for_every_key(before, after, [&](node_index from, node_index to) {
    moved += from != to ? 1 : 0;
    check(from == to || to == 2);
  });
  check(moved > 0);
  return true;
}
CHECK_BOTH(a_node_that_grows_heavier_keeps_its_points_and_takes_more);

// Two nodes of two points at the same two places, the first of one where the second of the other
// is.
constexpr bool of_two_points_at_one_place_that_of_the_lesser_id_counts() {
  node_id const some = node_with_point(1'000, 0);
  node_id const other = node_with_point(1'000, 1);
  check(point_of(some, 0) == point_of(other, 1) && point_of(some, 1) == point_of(other, 0));
  node_id const lesser = (std::min)(some, other);
  node_id const greater = (std::max)(some, other);
  // The third point of each is its own, so each is somewhere on the ring.
  ring_options const three{.virtual_nodes = 3};
  ring const nodes({lesser, greater}, three);
  ring const turned({greater, lesser}, three);
  check(nodes.map().size() == 5 && nodes.points_of(1) == 3);
  ring const with_both({lesser, greater, "c"}, three);
  ring const without_lesser({greater, "c"}, three);
  for (std::uint64_t i = 0; i < 2; ++i) {
    bare_key const before{point_of(lesser, i) - 1};
    check(nodes.node_of(before) == 0 && turned.node_of(before) == 1);
    check(with_both.node_of(before) == 0 && without_lesser.node_of(before) == 0);
  }
  check(nodes.node_of(bare_key{point_of(greater, 2) - 1}) == 1);

  // With two points each there is nothing left for the other.
  auto const refused = ring::build({greater, lesser}, {.virtual_nodes = 2});
  check(refused.error().code == errc::invalid_options);
  check(refused.error().text ==
        "where node 0 has points others have theirs; give it another name or more points");
  check(ring::build({lesser, greater}, {.virtual_nodes = 2})
            .error()
            .text.view()
            .starts_with("where node 1 has points others"));
  return true;
}
CHECK_BOTH(of_two_points_at_one_place_that_of_the_lesser_id_counts);

TEST_CASE("a node has its weight in points, rounded, whatever the others have") {
  auto const points = [](double weight, std::uint32_t virtual_nodes) {
    return keyspan::detail::count_of_ring_points(weight, virtual_nodes);
  };
  CHECK(points(1, 1) == 1);
  CHECK(points(1, 160) == 160);
  CHECK(points(0.5, 160) == 80);
  CHECK(points(2.5, 1) == 3);
  CHECK(points(2.4, 1) == 2);
  CHECK(points(0.003124, 160) == 0);
  CHECK(points(0.003125, 160) == 1);
  CHECK(points(1e-100, 0xFFFF'FFFF) == 0);
  CHECK(points(1, 1 << 24) == 1 << 24);
  CHECK(points(1, (1 << 24) + 1) == (1 << 24) + 1);
  CHECK(points(1e100, 0xFFFF'FFFF) == (1 << 24) + 1);
  CHECK(points(2, 0xFFFF'FFFF) == (1 << 24) + 1);
  for (std::uint32_t twice = 1; twice < 1'000; ++twice)
    CHECK(points(twice / 2.0, 1) == (twice + 1) / 2);

  auto const nodes = *ring::build({{"a", 0.25}, {"b", 1}, {"c", 3.99}});
  CHECK(nodes.points_of(0) == 40);
  CHECK(nodes.points_of(1) == 160);
  CHECK(nodes.points_of(2) == 638);
  CHECK(nodes.map().size() == 40 + 160 + 638 + 1);
}

// What of the circle each node has, over what it should have by weight.
std::vector<double> shares_of(ring const& nodes, node_vector const& list) {
  double weights = 0;
  for (auto const& node : list) weights += node.weight;
  std::vector<double> shares(list.size(), 0);
  for (auto const& [range, node] : nodes.map()) {
    double const upper =
        range.upper().is_space_end() ? 0x1p64 : static_cast<double>(range.upper().at());
    shares[node] +=
        (upper - static_cast<double>(range.lower())) / 0x1p64 * weights / list[node].weight;
  }
  return shares;
}

TEST_CASE("the shares of a ring are those of the weights to within what points can do") {
  auto list = numbered_nodes(100);
  auto const [least, most] = std::ranges::minmax(shares_of(*ring::build(list), list));
  CHECK(most < 1.25);
  CHECK(least > 0.75);
  for (std::size_t i = 0; i < 100; ++i) list[i].weight = i % 4 == 0 ? 3 : 1;
  auto const fine = shares_of(*ring::build(list, {.virtual_nodes = 4'000}), list);
  CHECK(std::ranges::max(fine) < 1.05);
  CHECK(std::ranges::min(fine) > 0.95);
}

constexpr keyspan::error refused(node_vector const& nodes, ring_options options = {}) {
  auto const built = ring::build(nodes, options);
  check(!built.has_value());
  return built.error();
}

constexpr bool what_a_ring_cannot_place_among_is_refused() {
  auto const sentence = [](keyspan::error const& error) {
    check(error.code == errc::invalid_options);
    return error.text;
  };
  auto const of_weight = [&](double weight) { return sentence(refused({"a", {"b", weight}})); };
  check(sentence(refused({})) == "there are no nodes; a placement has one at least");
  check(sentence(refused({"a", "b", "a"})) ==
        "nodes 0 and 2 have the same name; name each node once");
  check(of_weight(0) == "the weight of node 1 is zero; give each node a positive, finite weight");
  check(of_weight(-1) ==
        "the weight of node 1 is negative; give each node a positive, finite weight");
  check(of_weight(std::numeric_limits<double>::quiet_NaN()) ==
        "the weight of node 1 is not a number; give each node a positive, finite weight");
  check(of_weight(std::numeric_limits<double>::infinity()) ==
        "the weight of node 1 is greater than 1e+100; give each node a positive, finite weight");
  check(sentence(refused({"a"}, {.virtual_nodes = 0})) ==
        "virtual_nodes is 0; a node has one point at least");
  check(of_weight(0.003) ==
        "node 1 has no point, so light is it where one of weight 1 has 160; make its weight or "
        "virtual_nodes larger");
  check(of_weight(1e100) ==
        "with node 1 there are more than 16777216 points where one of weight 1 has 160; make all "
        "weights or virtual_nodes smaller");
  check(sentence(refused({"a"}, {.virtual_nodes = 0xFFFF'FFFF})) ==
        "with node 0 there are more than 16777216 points where one of weight 1 has 4294967295; "
        "make all weights or virtual_nodes smaller");
  return true;
}
CHECK_BOTH(what_a_ring_cannot_place_among_is_refused);

constexpr bool points_are_counted_over_all_nodes() {
  node_vector const nodes{"a", "b", "c"};
  auto const counts = [&](std::uint32_t virtual_nodes) {
    return keyspan::detail::counts_of_ring_points(nodes, virtual_nodes);
  };
  check(counts((1 << 24) / 3).has_value());
  check(counts((1 << 24) / 3 + 1).error().text.view().starts_with("with node 2 there are more"));
  check(counts(1 << 23).error().text.view().starts_with("with node 2 there are more"));
  check(counts((1 << 23) + 1).error().text.view().starts_with("with node 1 there are more"));
  return true;
}
CHECK_BOTH(points_are_counted_over_all_nodes);

TEST_CASE("a ring list that cannot be placed among breaks a promise") {
  std::string const promise =
      "a placement has nodes of different names and of positive, finite weights, and a ring has "
      "points of all of them and room for these";
  CHECK(test::promise_broken_by([] { return ring{"a", "a"}; }) == promise);
  CHECK(test::promise_broken_by([] { return ring({"a"}, {.virtual_nodes = 0}); }) == promise);
  CHECK(test::promise_broken_by([] { return ring{"a", "b"}.points_of(2); }) ==
        "the ring has a node of this index");
}

TEST_CASE("to look a token up on a ring allocates nothing") {
  auto const nodes = *ring::build(numbered_nodes(100));
  CHECK(test::allocations_in([&] {
          for (std::uint64_t token = 0; token < 1'000; ++token)
            static_cast<void>(nodes.node_of(token) + nodes.node_of(keyspan::token128{token, 1}));
        }) == 0);
  STATIC_CHECK(noexcept(nodes.node_of(7)) && noexcept(nodes.node_count()));
  STATIC_CHECK(std::is_nothrow_move_constructible_v<ring>);
}

template <class Ring>
concept lends_its_map = requires(Ring&& nodes) { std::forward<Ring>(nodes).map(); };

TEST_CASE("the map of a ring that is about to go is not lent") {
  STATIC_CHECK(lends_its_map<ring const&> && lends_its_map<ring&>);
  STATIC_CHECK(!lends_its_map<ring> && !lends_its_map<ring const>);
}

}  // namespace
