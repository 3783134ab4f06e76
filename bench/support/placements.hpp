// bench/support/placements.hpp — tokens and nodes for the benches of placements, and what they are
// asked.
#pragma once

#include <bench/support/bench.hpp>
#include <keyspan/hash/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// More than a branch predictor can learn by heart.
inline std::vector<std::uint64_t> some_tokens() {
  auto rng = Rng{42};
  std::vector<std::uint64_t> tokens(1 << 15);
  for (auto& token : tokens) token = rng();
  return tokens;
}

inline std::vector<keyspan::weighted_node> some_nodes(std::size_t count) {
  std::vector<keyspan::weighted_node> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back("node-" + std::to_string(i));
  return nodes;
}

// The partitioner that many programs begin with.
struct remainder_of_key {
  std::uint64_t nodes;
  keyspan::node_index node_of(std::uint64_t token) const {
    return static_cast<keyspan::node_index>(keyspan::placement_key(token) % nodes);
  }
};

template <class Before, class After>
double share_moved(Before const& before, After const& after) {
  std::size_t moved = 0;
  for (std::uint64_t token = 0; token < 1'000'000; ++token)
    if (before.node_of(token) != after.node_of(token)) ++moved;
  return static_cast<double>(moved) / 1'000'000;
}

template <class Placement>
auto all_nodes_of(std::vector<std::uint64_t> const& tokens, Placement const& nodes) {
  return [&] {
    for (std::uint64_t const token : tokens) keep(nodes.node_of(token));
  };
}

}  // namespace bench
