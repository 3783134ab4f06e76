// keyspan/range/bounded_ring.hpp — a ring on which no node takes much more than its share: where a
// node is full, its tokens go on to the next one.
//
//   token --> [--b--)[--a--)[--b--)[--c--)      b and a are full: the token is placed on c
//                x      x      x     here
// Consistent hashing with bounded loads, after Mirrokni, Thorup and Zadimoghaddam (2017).
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/ring.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace keyspan {

/// How a ring of bounded loads is built.
struct bounded_ring_options {
  /// How many times its share a node takes at most: more than 1, at most 1000. The closer to 1, the
  /// more even the loads are and the more tokens are placed far from where they belong.
  double bound = 1.25;
  /// The points of a node of weight 1, as in `ring_options`.
  std::uint32_t virtual_nodes = ring_options{}.virtual_nodes;
};

namespace detail {

inline constexpr double greatest_bound = 1'000;

// Null for a bound that leaves room for every token.
constexpr char const* trouble_with_bound(double bound) {
  if (bound != bound) return "is not a number";
  if (bound <= 1) return "is not greater than 1";
  if (bound > greatest_bound) return "is greater than 1000";
  return nullptr;
}

}  // namespace detail

/// Places tokens on a ring and counts them: a node that has `bound` times its share of all that are
/// placed is passed over, clockwise, for the first one with room. As a value it is a placement too:
/// `node_of` says where a token would go now, and `place` counts it there.
///
/// It knows how many tokens a node has and not which: keep the answer with what was placed. To
/// release some leaves others where they are, so that a node may have more than its capacity then,
/// and takes none until the others have caught up.
class bounded_ring {
 public:
  /// Among these nodes, with no loads. Requires what `build` has errors for.
  constexpr bounded_ring(std::initializer_list<weighted_node> nodes,
                         bounded_ring_options options = {})
      : bounded_ring{checked(build(nodes, options))} {}

  /// Among the nodes of a list of names, ids or `weighted_node`s, with no loads.
  /// Errors: those of `ring::build`; `invalid_options` for a bound that is not a number above 1, up
  /// to 1000.
  template <detail::node_list Nodes>
  [[nodiscard]] static constexpr result<bounded_ring> build(Nodes const& nodes,
                                                            bounded_ring_options options = {}) {
    auto built = ring::build(nodes, {.virtual_nodes = options.virtual_nodes});
    if (!built) return unexpected{built.error()};
    if (auto const* const trouble = detail::trouble_with_bound(options.bound))
      return fail(errc::invalid_options, "the bound ", trouble,
                  "; give one like 1.25, which lets a node have a quarter more than its share");
    return bounded_ring{*std::move(built), options.bound};
  }
  [[nodiscard]] static constexpr result<bounded_ring> build(
      std::initializer_list<weighted_node> nodes, bounded_ring_options options = {}) {
    return build<std::initializer_list<weighted_node>>(nodes, options);
  }

  /// Where the token would be placed now: on the node that it has on the ring, or on the first
  /// behind it that has room. Some node always has. Allocates nothing.
  /// Complexity: constant where there is room at once; the fewer nodes have room, the more points
  /// are passed, all of them at worst.
  template <placeable Token>
  constexpr node_index node_of(Token const& token) const noexcept(noexcept(placement_key(token))) {
    auto const& map = ring_.map();
    auto const nodes = map.values();
    std::size_t at = map.index_of(placement_key(token));
    while (!has_room(nodes[at])) at = at + 1 == nodes.size() ? 0 : at + 1;
    return nodes[at];
  }
  constexpr std::size_t node_count() const noexcept { return seats_.size(); }

  /// Places the token and returns its node, to be given to `release` when the token goes.
  template <placeable Token>
  [[nodiscard]] constexpr node_index place(Token const& token) noexcept(
      noexcept(placement_key(token))) {
    node_index const node = node_of(token);
    ++seats_[node].load;
    ++load_;
    return node;
  }
  /// Takes a token from the node. Requires that the node has one.
  constexpr void release(node_index node) {
    expects(load_of(node) > 0, "a node that releases a token has one");
    --seats_[node].load;
    --load_;
  }

  /// How many tokens the node has. Requires `node < node_count()`.
  constexpr std::uint64_t load_of(node_index node) const {
    expects(node < seats_.size(), "the ring has a node of this index");
    return seats_[node].load;
  }
  /// How many tokens all nodes have.
  constexpr std::uint64_t load() const noexcept { return load_; }
  /// Gives the node a load that is known from elsewhere: that of the ring before nodes joined or
  /// left. Requires `node < node_count()`, and less than 2^48 tokens on all nodes.
  constexpr void set_load(node_index node, std::uint64_t load) {
    std::uint64_t const others = load_ - load_of(node);
    expects(load < most_load && others < most_load - load, "all nodes have less than 2^48 tokens");
    seats_[node].load = load;
    load_ = others + load;
  }
  /// How many tokens the node has at most when the next one is placed: `bound` times its share of
  /// all tokens, with the next one, rounded up. Requires `node < node_count()`.
  constexpr std::uint64_t capacity_of(node_index node) const {
    expects(node < seats_.size(), "the ring has a node of this index");
    double const allowed = seats_[node].allowance * static_cast<double>(load_ + 1);
    auto const capacity = static_cast<std::uint64_t>(allowed / points_);
    return static_cast<double>(capacity) * points_ < allowed ? capacity + 1 : capacity;
  }

  /// The ring itself: where tokens go as long as there is room everywhere.
  constexpr ring const& unbounded() const& noexcept { return ring_; }
  ring const& unbounded() const&& = delete;

  friend constexpr bool operator==(bounded_ring const&, bounded_ring const&) = default;

 private:
  static constexpr std::uint64_t most_load = std::uint64_t{1} << 48;

  struct seat {
    std::uint64_t load = 0;
    double allowance;  // bound * points of the node

    friend constexpr bool operator==(seat const&, seat const&) = default;
  };

  constexpr bounded_ring(ring nodes, double bound) : ring_{std::move(nodes)} {
    seats_.reserve(ring_.node_count());
    std::uint32_t points = 0;
    for (node_index node = 0; node < ring_.node_count(); ++node) {
      seats_.push_back({.allowance = bound * ring_.points_of(node)});
      points += ring_.points_of(node);
    }
    points_ = points;
  }

  static constexpr bounded_ring checked(result<bounded_ring> built) {
    expects(built.has_value(),
            "a placement has nodes of different names and of positive, finite weights, and a ring "
            "of bounded loads has points of all of them and a bound above 1");
    return *std::move(built);
  }

  // load < bound * share * (all + 1), where share is points / points of all. If no node had room,
  // the sum over all of them would say all >= bound * (all + 1): each side is rounded once or
  // twice, by far less than what is missing.
  constexpr bool has_room(node_index node) const noexcept {
    return static_cast<double>(seats_[node].load) * points_ <
           seats_[node].allowance * static_cast<double>(load_ + 1);
  }

  ring ring_;
  std::vector<seat> seats_{};
  std::uint64_t load_ = 0;
  double points_ = 0;
};

static_assert(placement<bounded_ring> && placement<bounded_ring, token128>);

}  // namespace keyspan
