// keyspan/hash/jump.hpp — jump consistent hash: nodes 0 to n-1, of which only the last comes and
// goes.
//
// As John Lamping and Eric Veach published it in 2014. It keeps no table and shares out exactly.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/hash/placement.hpp>

#include <cstddef>
#include <cstdint>

namespace keyspan {

namespace detail {

// The whole part of `node * (2^31 / draw)` as doubles have it, or anything from 2^31 on where that
// is as large. By whole numbers, which do not keep the next step waiting for conversions; where
// they are too near to an integer to tell how a double would be rounded, by doubles.
constexpr std::uint64_t jump_target(std::uint64_t node, std::uint64_t draw) {
  constexpr std::uint64_t one = std::uint64_t{1} << 31;
  double const stride = 0x1p31 / static_cast<double>(static_cast<std::int64_t>(draw));
  auto const fixed = static_cast<std::uint64_t>(static_cast<std::int64_t>(stride * 0x1p31));
  std::uint64_t const part = node * (fixed % one);
  if (part % one + node + 512 >= one) [[unlikely]]
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(node)) * stride));
  return node * (fixed / one) + part / one;
}

}  // namespace detail

/// The published function: which of `nodes` nodes the bits `key` belong to. Gives what other
/// programs that use it give, so `key` is taken as it is; `jump` mixes tokens first.
/// Requires one node at least, and less than 2^31.
/// Complexity: logarithmic in `nodes`.
[[nodiscard]] constexpr node_index jump_hash(std::uint64_t key, std::uint64_t nodes) {
  expects(nodes > 0, "a placement has one node at least");
  expects(nodes <= 0x7FFF'FFFF, "jump hash is published for less than 2^31 nodes");
  std::uint64_t node = 0;
  // The node of a token while nodes join one after another: `next` is the count at which it moves.
  for (std::uint64_t next = 0; next < nodes;) {
    node = next;
    key = key * 2862933555777941757u + 1;
    next = detail::jump_target(node + 1, (key >> 33) + 1);
  }
  return static_cast<node_index>(node);
}

/// Places tokens among `node_count()` nodes of equal weight. A node has no name but its index, so
/// that only the last one can leave; for nodes that leave from the middle there is `rendezvous`.
class jump {
 public:
  /// Among `nodes` nodes. Requires one at least, and no more than 32 bits can number.
  constexpr explicit jump(std::uint64_t nodes) : nodes_{static_cast<node_index>(nodes)} {
    expects(nodes > 0, "a placement has one node at least");
    expects(nodes <= 0x7FFF'FFFF, "jump hash is published for less than 2^31 nodes");
  }

  /// `jump_hash` of the token's `placement_key`. Allocates nothing.
  /// Complexity: logarithmic in the count of nodes.
  template <placeable Token>
  constexpr node_index node_of(Token const& token) const noexcept(noexcept(placement_key(token))) {
    return jump_hash(placement_key(token), nodes_);
  }
  constexpr std::size_t node_count() const noexcept { return nodes_; }

  friend constexpr bool operator==(jump const&, jump const&) = default;

 private:
  node_index nodes_;
};

static_assert(placement<jump> && placement<jump, token128>);

}  // namespace keyspan
