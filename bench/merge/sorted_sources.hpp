// bench/merge/sorted_sources.hpp — sorted items shared out to many sources, and merged as most
// people do it.
#pragma once

#include <bench/support/bench.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace bench {

template <class Item>
using sorted_sources = std::vector<std::vector<Item>>;

/// Sorted `items`, each `run` neighbours of them to a source drawn by lot.
template <class Item>
sorted_sources<Item> shared_out(std::vector<Item> const& items, std::size_t sources,
                                std::size_t run = 1) {
  auto rng = Rng{sources};
  sorted_sources<Item> shared(sources);
  for (auto& one : shared) one.reserve(items.size() / sources + items.size() / sources / 2 + run);
  for (std::size_t i = 0; i < items.size();) {
    auto& drawn = shared[rng.bounded(static_cast<std::uint32_t>(sources))];
    for (std::size_t j = 0; j < run && i < items.size(); ++j) drawn.push_back(items[i++]);
  }
  return shared;
}

/// What all rows do with a key: each step needs the one before, so that another order has another
/// sum, and no compiler makes vectors of it.
inline void look_at(std::uint64_t key, std::uint64_t& sum) { sum = std::rotl(sum, 1) ^ key; }

/// The least of all keys is taken out, and the next one of its source put in.
template <class Item, class Key, class Look>
void merge_by_keys(sorted_sources<Item> const& sources, Key key, Look look) {
  using key_type = std::remove_cvref_t<std::invoke_result_t<Key&, Item const&>>;
  using head = std::pair<key_type, std::size_t>;
  std::priority_queue<head, std::vector<head>, std::greater<>> heads;
  std::vector<std::size_t> at(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].empty()) heads.emplace(std::invoke(key, sources[i].front()), i);
  while (!heads.empty()) {
    std::size_t const source = heads.top().second;
    heads.pop();
    auto const& items = sources[source];
    look(items[at[source]]);
    if (++at[source] < items.size()) heads.emplace(std::invoke(key, items[at[source]]), source);
  }
}

/// Where a source stands: what queues of cursors hold.
template <class Item>
struct source_cursor {
  Item const* at;
  Item const* end;
};

/// The same by a queue of cursors, whose keys are looked up to compare them. `Queue` takes the type
/// of its elements and of what says that one comes after another.
template <template <class, class> class Queue, class Item, class Key, class Look>
void merge_by_cursors(sorted_sources<Item> const& sources, Key key, Look look) {
  using cursor = source_cursor<Item>;
  auto const comes_after = [key](cursor const& a, cursor const& b) {
    return std::invoke(key, *b.at) < std::invoke(key, *a.at);
  };
  Queue<cursor, decltype(comes_after)> heads{comes_after};
  for (auto const& items : sources)
    if (!items.empty()) heads.push({items.data(), items.data() + items.size()});
  while (!heads.empty()) {
    cursor next = heads.top();
    heads.pop();
    look(*next.at);
    if (++next.at != next.end) heads.push(next);
  }
}

template <class T, class ComesAfter>
using standard_queue = std::priority_queue<T, std::vector<T>, ComesAfter>;

}  // namespace bench
