// keyspan/hash/maglev.hpp — Maglev hashing: the nodes take turns at filling a table of prime size,
// and a token looks its node up.
//
//   nodes, each with an order of its own of all entries --> [2|0|1|1|0|2|0]
//
// As Google's load balancer does it (Eisenbud and others, 2016), with weights.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace keyspan {

/// How a table is built.
struct maglev_options {
  /// A prime number. A hundred entries for each node keep shares within about one in a hundred;
  /// more make the shares finer, and fewer tokens move.
  std::uint32_t table_size = 65'537;
};

namespace detail {

constexpr bool is_prime(std::uint32_t n) {
  if (n < 4) return n >= 2;
  if (n % 2 == 0) return false;
  for (std::uint64_t d = 3; d * d <= n; d += 2)
    if (n % d == 0) return false;
  return true;
}

using maglev_entry = std::uint16_t;
inline constexpr maglev_entry maglev_free = 0xFFFF;  // and no index: there are 65535 nodes at most

// A node that takes its turns: it wants the entries `at`, `at + skip`, … in this order.
struct maglev_claim {
  static constexpr std::uint64_t turn = std::uint64_t{1} << 32;

  maglev_entry node = 0;
  std::uint32_t at = 0;
  std::uint32_t skip = 1;
  std::uint64_t pace = turn;  // how much of a turn each round gives it
  std::uint64_t due = turn / 2;
  bool has_entry = false;
};

// Fills a table of free entries. Requires a claim of full pace.
constexpr void fill_maglev(std::span<maglev_entry> table, std::span<maglev_claim> claims) {
  std::size_t const size = table.size();
  for (std::size_t left = size;;) {
    for (maglev_claim& claim : claims) {
      claim.due += claim.pace;
      if (claim.due < maglev_claim::turn) continue;
      claim.due -= maglev_claim::turn;
      std::size_t at = claim.at;
      auto const next = [&] {
        at = at < size - claim.skip ? at + claim.skip : at - (size - claim.skip);
      };
      while (table[at] != maglev_free) next();
      table[at] = claim.node;
      claim.has_entry = true;
      next();
      claim.at = static_cast<std::uint32_t>(at);
      if (--left == 0) return;
    }
  }
}

}  // namespace detail

/// Places tokens among nodes of any names and weights by one look into a table of
/// `table_size` entries of two bytes. A token of a node that stays moves seldom when another joins
/// or leaves, but it may. The order of the list decides the indices and nothing else.
class maglev {
 public:
  /// Among these nodes: `maglev{{"a", 1.0}, {"b", 2.0}}`. Requires what `build` has errors for.
  constexpr maglev(std::initializer_list<weighted_node> nodes, maglev_options options = {})
      : maglev{checked(build(nodes, options))} {}

  /// Among the nodes of a list of names, ids or `weighted_node`s.
  /// Errors: `invalid_options` for no nodes, for more than 65535, for two of the same name and for
  /// a weight that is not a number from 1e-100 to 1e+100; for a table whose size is no prime number
  /// or that has no entry for some node.
  /// Complexity: `s log s` for a table of size `s` and weights not far apart, at most `s` times the
  /// count of nodes.
  template <detail::node_list Nodes>
  [[nodiscard]] static constexpr result<maglev> build(Nodes const& nodes,
                                                      maglev_options options = {}) {
    auto const list = detail::listed_nodes(nodes);
    auto const order = detail::ordered_nodes(list, detail::maglev_free);
    if (!order) return unexpected{order.error()};
    std::uint32_t const size = options.table_size;
    if (!detail::is_prime(size)) return not_prime(size);
    if (size < list.size())
      return fail(errc::invalid_options, "a table_size of ", size, " is too small for ",
                  list.size(),
                  " nodes; take a prime number a hundred times as large as their count");

    double heaviest = 0;
    for (auto const& node : list) heaviest = (std::max)(heaviest, node.weight);
    std::vector<detail::maglev_claim> claims;
    claims.reserve(list.size());
    // By their ids, so that the order of the list does not matter.
    for (node_index const i : *order) {
      std::uint64_t const seed = detail::node_seed(list[i].id);
      claims.push_back(
          {.node = static_cast<detail::maglev_entry>(i),
           .at = static_cast<std::uint32_t>(seed % size),
           .skip = static_cast<std::uint32_t>(detail::placement_mix(seed) % (size - 1) + 1),
           .pace = static_cast<std::uint64_t>(list[i].weight / heaviest * 0x1p32)});
    }
    std::vector<detail::maglev_entry> table(size, detail::maglev_free);
    detail::fill_maglev(table, claims);

    for (detail::maglev_claim const& claim : claims)
      if (!claim.has_entry)
        return fail(errc::invalid_options, "node ", claim.node, " has no entry in a table of ",
                    size, ", so light is it beside the others; take a larger table_size");
    return maglev{std::move(table), list.size()};
  }
  [[nodiscard]] static constexpr result<maglev> build(std::initializer_list<weighted_node> nodes,
                                                      maglev_options options = {}) {
    return build<std::initializer_list<weighted_node>>(nodes, options);
  }

  /// The node of the entry that the token's `placement_key` points at. Allocates nothing.
  /// Complexity: constant.
  template <placeable Token>
  constexpr node_index node_of(Token const& token) const noexcept(noexcept(placement_key(token))) {
    return table_[detail::entry_of_key(placement_key(token),
                                       static_cast<std::uint32_t>(table_.size()))];
  }
  constexpr std::size_t node_count() const noexcept { return nodes_; }

  /// The index of the node of each entry.
  constexpr std::span<std::uint16_t const> table() const noexcept { return table_; }

  friend constexpr bool operator==(maglev const&, maglev const&) = default;

 private:
  constexpr maglev(std::vector<detail::maglev_entry> table, std::size_t nodes) noexcept
      : table_{std::move(table)}, nodes_{nodes} {}

  static constexpr maglev checked(result<maglev> built) {
    expects(built.has_value(),
            "a placement has nodes of different names and of positive, finite weights, and a table "
            "of prime size with entries for all of them");
    return *std::move(built);
  }

  static constexpr unexpected not_prime(std::uint32_t size) {
    std::uint32_t prime = size;
    while (prime < 0xFFFF'FFFB && !detail::is_prime(prime)) ++prime;  // the greatest of 32 bits
    if (!detail::is_prime(prime))
      return fail(errc::invalid_options, "a table_size of ", size,
                  " is no prime number, nor is any larger one there is room for");
    return fail(errc::invalid_options, "a table_size of ", size,
                " is no prime number; the next one is ", prime);
  }

  std::vector<detail::maglev_entry> table_;
  std::size_t nodes_;
};

static_assert(placement<maglev> && placement<maglev, token128>);

}  // namespace keyspan
