// What does it cost to find a token's node on a hash ring, over a plain remainder and beside the
// other placements, and how many tokens move when a node joins? The first row is the floor.
#include <bench/support/bench.hpp>
#include <bench/support/placements.hpp>
#include <keyspan/hash/jump.hpp>
#include <keyspan/hash/maglev.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/hash/rendezvous.hpp>
#include <keyspan/range/bounded_ring.hpp>
#include <keyspan/range/ring.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

namespace {

using bench::all_nodes_of;
using bench::remainder_of_key;
using bench::share_moved;
using bench::some_nodes;
using bench::some_tokens;
using keyspan::node_index;
using keyspan::placement_key;

// The points of the ring that they are compared with, so that all of them do the same work.
std::vector<std::pair<std::uint64_t, node_index>> points_of(keyspan::ring const& ring) {
  std::vector<std::pair<std::uint64_t, node_index>> points;
  for (auto const& [range, node] : ring.map())
    if (!range.upper().is_space_end()) points.emplace_back(range.upper().at(), node);
  return points;
}

// As it stands in many programs.
struct map_ring {
  std::map<std::uint64_t, node_index> points;

  explicit map_ring(keyspan::ring const& ring) {
    for (auto const& point : points_of(ring)) points.insert(point);
  }
  node_index node_of(std::uint64_t token) const {
    auto const at = points.upper_bound(placement_key(token));
    return at == points.end() ? points.begin()->second : at->second;
  }
};

// As it stands in the others.
struct vector_ring {
  std::vector<std::pair<std::uint64_t, node_index>> points;

  explicit vector_ring(keyspan::ring const& ring) : points{points_of(ring)} {}
  node_index node_of(std::uint64_t token) const {
    auto const at =
        std::upper_bound(points.begin(), points.end(), placement_key(token),
                         [](std::uint64_t key, auto const& point) { return key < point.first; });
    return at == points.end() ? points.front().second : at->second;
  }
};

// The bounded loads of many programs: a map of points, and the loads in an array.
struct bounded_map_ring {
  map_ring ring;
  std::vector<std::uint64_t> loads;
  std::uint64_t load = 0;

  explicit bounded_map_ring(keyspan::bounded_ring const& nodes)
      : ring{nodes.unbounded()}, loads(nodes.node_count(), 0) {}
  node_index place(std::uint64_t token) {
    double const capacity =
        1.25 * static_cast<double>(load + 1) / static_cast<double>(loads.size());
    auto at = ring.points.upper_bound(placement_key(token));
    for (;; ++at) {
      if (at == ring.points.end()) at = ring.points.begin();
      if (static_cast<double>(loads[at->second]) < capacity) break;
    }
    ++loads[at->second];
    ++load;
    return at->second;
  }
  void release(node_index node) {
    --loads[node];
    --load;
  }
};

// One token is placed and the oldest is released, so that the loads stay as high as they are.
template <class Placement>
class steady_traffic {
 public:
  steady_traffic(std::vector<std::uint64_t> const& tokens, Placement nodes)
      : tokens_{&tokens}, nodes_{std::move(nodes)} {
    for (std::uint64_t const token : tokens) placed_.push_back(nodes_.place(token));
  }
  void operator()() {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      nodes_.release(placed_[i]);
      placed_[i] = nodes_.place((*tokens_)[i]);
    }
  }
  std::vector<node_index> const& placed() const { return placed_; }

 private:
  std::vector<std::uint64_t> const* tokens_;
  Placement nodes_;
  std::vector<node_index> placed_{};
};

double greatest_share(keyspan::ring const& ring) {
  std::vector<double> shares(ring.node_count(), 0);
  for (auto const& [range, node] : ring.map()) {
    auto const last =
        range.upper().is_space_end() ? 0x1p64 : static_cast<double>(range.upper().at());
    shares[node] += (last - static_cast<double>(range.lower())) / 0x1p64;
  }
  return *std::max_element(shares.begin(), shares.end()) * static_cast<double>(shares.size());
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  auto const tokens = some_tokens();
  auto& chart = run.chart("A token to its node on a ring", "nodes", "ns per token").log_y();

  for (std::size_t const count : {std::size_t{10}, std::size_t{100}, std::size_t{1'000}}) {
    auto const nodes = some_nodes(count);
    auto const ring = *keyspan::ring::build(nodes);
    auto const bounded = *keyspan::bounded_ring::build(nodes);
    keyspan::jump const jump{count};
    auto const rendezvous = *keyspan::rendezvous::build(nodes);
    auto const maglev = *keyspan::maglev::build(nodes);
    map_ring const in_a_map{ring};
    vector_ring const in_a_vector{ring};
    if (share_moved(ring, in_a_map) + share_moved(ring, in_a_vector) > 0) {
      std::fputs("the rings do not agree\n", stderr);
      return 1;
    }

    auto const of = std::to_string(count);
    auto& table = run.table("1 token among " + of + " nodes", "token").batch(tokens.size());
    table.count_allocations();
    if (count == 1'000) table.rounds(9);
    table.floor("token % n", [&, count] {
      for (std::uint64_t const token : tokens) bench::keep(token % count);
    });
    table.row("mixed token % n", [&, remainder = remainder_of_key{count}] {
      for (std::uint64_t const token : tokens) bench::keep(remainder.node_of(token));
    });
    table.row("keyspan::ring", all_nodes_of(tokens, ring));
    table.row("keyspan::bounded_ring, no loads", all_nodes_of(tokens, bounded));
    table.row("std::map ring", all_nodes_of(tokens, in_a_map));
    table.row("std::vector ring", all_nodes_of(tokens, in_a_vector));
    table.row("keyspan::maglev", all_nodes_of(tokens, maglev));
    table.row("keyspan::jump", all_nodes_of(tokens, jump));
    table.row("keyspan::rendezvous", all_nodes_of(tokens, rendezvous));

    auto const x = static_cast<double>(count);
    for (auto const* name : {"keyspan::ring", "std::map ring", "std::vector ring",
                             "keyspan::maglev", "keyspan::jump", "keyspan::rendezvous"})
      chart.line(name, x, table.ns(name));
    run.target("range.ring." + of + ".allocations", table.allocations_of("keyspan::ring"), "==", 0);
    run.target("range.bounded_ring." + of + ".allocations",
               table.allocations_of("keyspan::bounded_ring, no loads"), "==", 0);
    run.note("for comparison, the greatest share of a node over the ideal one: " +
             std::to_string(greatest_share(ring)));
    auto const slower = [&](char const* peer) { return table.ratio(peer, "keyspan::ring"); };
    if (count != 100) continue;
    run.target("range.ring.map", slower("std::map ring"), ">=", 12);
    run.target("range.ring.vector", slower("std::vector ring"), ">=", 8);
  }

  auto const nodes = some_nodes(100);
  auto const bounded = *keyspan::bounded_ring::build(nodes);
  auto& table = run.table("a token goes and one comes, 100 nodes", "token").batch(tokens.size());
  table.count_allocations();
  steady_traffic<keyspan::bounded_ring> ours{tokens, bounded};
  steady_traffic<bounded_map_ring> theirs{tokens, bounded_map_ring{bounded}};
  if (ours.placed() != theirs.placed()) {
    std::fputs("the bounded rings do not agree\n", stderr);
    return 1;
  }
  std::vector<std::uint64_t> loads(100, 1'000);
  table.floor("ring, and a count for each node", [&] {
    for (std::uint64_t const token : tokens) {
      auto const node = bounded.unbounded().node_of(token);
      --loads[node];
      bench::clobber();
      ++loads[node];
    }
  });
  table.row("keyspan::bounded_ring", [&] { ours(); });
  table.row("std::map ring with loads", [&] { theirs(); });
  run.target("range.bounded_ring.map",
             table.ratio("std::map ring with loads", "keyspan::bounded_ring"), ">=", 6);
  run.target("range.bounded_ring.place.allocations", table.allocations_of("keyspan::bounded_ring"),
             "==", 0);

  // Ideal is 1 in 101.
  auto after = nodes;
  after.push_back("node-100");
  run.target("range.ring.moved_percent",
             100 * share_moved(*keyspan::ring::build(nodes), *keyspan::ring::build(after)),
             "<=", 1.2);
  return run.finish();
}
