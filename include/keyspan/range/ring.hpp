// keyspan/range/ring.hpp — a consistent-hash ring: every node has points on a circle, and a token
// belongs to the first point behind it.
//
//   0          b          a      b                a       end
//   [----b----)[----a----)[--b--)[-------a-------)[---b---)     behind the last point: the first
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/range_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace keyspan {

/// How a ring is built.
struct ring_options {
  /// The points of a node of weight 1. A share is off by one in the square root of its node's
  /// points, give or take, and the worst of a hundred nodes by two and a half times as much.
  std::uint32_t virtual_nodes = 160;
};

namespace detail {

inline constexpr std::uint32_t most_ring_points = 1 << 24;

// weight * virtual_nodes, rounded; more than `most_ring_points` of them are as good as one more.
// One multiplication and no sum: machines that fuse the two would round in another way.
constexpr std::uint32_t count_of_ring_points(double weight, std::uint32_t virtual_nodes) {
  double const doubled = weight * (2.0 * virtual_nodes);
  if (doubled > 2.0 * most_ring_points) return most_ring_points + 1;
  return (static_cast<std::uint32_t>(doubled) + 1) / 2;
}

// Where a node's point number `i` is: at the key of the token of both.
constexpr std::uint64_t ring_point(std::uint64_t seed, std::uint32_t i) noexcept {
  return placement_key(token128{.high = seed, .low = i});
}

// How many points each node has, or why there can be no such ring.
constexpr result<std::vector<std::uint32_t>> counts_of_ring_points(
    std::span<weighted_node const> nodes, std::uint32_t virtual_nodes) {
  if (virtual_nodes == 0)
    return fail(errc::invalid_options, "virtual_nodes is 0; a node has one point at least");
  std::vector<std::uint32_t> counts;
  counts.reserve(nodes.size());
  std::uint32_t left = most_ring_points;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::uint32_t const count = count_of_ring_points(nodes[i].weight, virtual_nodes);
    if (count == 0)
      return fail(errc::invalid_options, "node ", i,
                  " has no point, so light is it where one of weight 1 has ", virtual_nodes,
                  "; make its weight or virtual_nodes larger");
    if (count > left)
      return fail(errc::invalid_options, "with node ", i, " there are more than ", most_ring_points,
                  " points where one of weight 1 has ", virtual_nodes,
                  "; make all weights or virtual_nodes smaller");
    left -= count;
    counts.push_back(count);
  }
  return counts;
}

// The places of all points, rising, each with the rank of its node: where this stands in the order
// of the ids. Of points at one place that of the least rank counts, wherever its node is in the
// list.
constexpr std::vector<std::pair<std::uint64_t, node_index>> ring_points(
    std::span<weighted_node const> nodes, std::span<node_index const> order,
    std::span<std::uint32_t const> counts) {
  std::vector<std::pair<std::uint64_t, node_index>> points;
  std::size_t size = 0;
  for (std::uint32_t const count : counts) size += count;
  points.reserve(size);
  for (node_index rank = 0; rank < order.size(); ++rank) {
    std::uint64_t const seed = node_seed(nodes[order[rank]].id);
    for (std::uint32_t i = 0; i < counts[order[rank]]; ++i)
      points.emplace_back(ring_point(seed, i), rank);
  }
  std::sort(points.begin(), points.end());
  auto const same_place = [](auto const& a, auto const& b) { return a.first == b.first; };
  points.erase(std::unique(points.begin(), points.end(), same_place), points.end());
  return points;
}

}  // namespace detail

/// Places tokens among nodes of any names and weights by points on a circle of `placement_key`s.
/// Where a node's points are depends on the node alone, so that a node that joins or grows heavier
/// takes tokens, one that leaves or grows lighter gives tokens away, and no token moves between the
/// others. The order of the list decides the indices and nothing else.
class ring {
 public:
  using map_type = range_map<std::uint64_t, node_index>;

  /// Among these nodes: `ring{{"a", 1.0}, {"b", 2.0}}`. Requires what `build` has errors for.
  constexpr ring(std::initializer_list<weighted_node> nodes, ring_options options = {})
      : ring{checked(build(nodes, options))} {}

  /// Among the nodes of a list of names, ids or `weighted_node`s. A node has `weight` times
  /// `virtual_nodes` points, rounded, whatever the others have.
  /// Errors: `invalid_options` for no nodes, for two of the same name and for a weight that is not
  /// a number from 1e-100 to 1e+100; for a node without a point and for more than 2^24 points.
  /// Complexity: `p log p` for `p` points.
  template <detail::node_list Nodes>
  [[nodiscard]] static constexpr result<ring> build(Nodes const& nodes, ring_options options = {}) {
    auto const list = detail::listed_nodes(nodes);
    auto const order = detail::ordered_nodes(list, detail::most_ring_points);
    if (!order) return unexpected{order.error()};
    auto counts = detail::counts_of_ring_points(list, options.virtual_nodes);
    if (!counts) return unexpected{counts.error()};

    auto const points = detail::ring_points(list, *order, *counts);
    std::vector<std::uint32_t> kept(list.size(), 0);
    for (auto const& [place, rank] : points) ++kept[(*order)[rank]];
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i] == 0)
        return fail(errc::invalid_options, "where node ", i,
                    " has points others have theirs; give it another name or more points");

    // From a point on tokens belong to the next one, behind the last and before the first to this.
    std::vector<std::pair<std::uint64_t, node_index>> firsts;
    firsts.reserve(points.size() + 1);
    std::uint64_t first = 0;
    for (auto const& [place, rank] : points) {
      if (place > 0) firsts.emplace_back(first, (*order)[rank]);
      first = place;
    }
    firsts.emplace_back(first, (*order)[points.front().second]);
    auto map = map_type::from_boundaries(std::move(firsts));
    if (!map) return unexpected{map.error()};
    return ring{*std::move(map), *std::move(counts)};
  }
  [[nodiscard]] static constexpr result<ring> build(std::initializer_list<weighted_node> nodes,
                                                    ring_options options = {}) {
    return build<std::initializer_list<weighted_node>>(nodes, options);
  }

  /// The node of the first point behind the token's `placement_key`. Allocates nothing.
  /// Complexity: constant.
  template <placeable Token>
  constexpr node_index node_of(Token const& token) const noexcept(noexcept(placement_key(token))) {
    return map_.at(placement_key(token));
  }
  constexpr std::size_t node_count() const noexcept { return counts_.size(); }

  /// How many points the node has: its weight beside those of the others.
  /// Requires `node < node_count()`.
  constexpr std::uint32_t points_of(node_index node) const {
    expects(node < counts_.size(), "the ring has a node of this index");
    return counts_[node];
  }

  /// Which node each stretch of `placement_key`s belongs to. A range ends at a point of its node;
  /// the last one, behind all points, belongs to the node of the first. To be asked for keys, never
  /// for tokens: `map().at(placement_key(token))`.
  constexpr map_type const& map() const& noexcept { return map_; }
  map_type const& map() const&& = delete;

  friend constexpr bool operator==(ring const&, ring const&) = default;

 private:
  constexpr ring(map_type map, std::vector<std::uint32_t> counts) noexcept
      : map_{std::move(map)}, counts_{std::move(counts)} {}

  static constexpr ring checked(result<ring> built) {
    expects(built.has_value(),
            "a placement has nodes of different names and of positive, finite weights, and a ring "
            "has points of all of them and room for these");
    return *std::move(built);
  }

  map_type map_;
  std::vector<std::uint32_t> counts_;
};

static_assert(placement<ring> && placement<ring, token128>);

}  // namespace keyspan
