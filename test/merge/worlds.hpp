// test/merge/worlds.hpp — random sorted sources of every shape, and what their merge has to be.
#pragma once

#include <keyspan/merge/sort_order.hpp>

#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// An item that knows where it stood.
template <class Key>
struct placed {
  Key key{};
  std::uint32_t source = 0;
  std::uint32_t number = 0;
};

using place = std::pair<std::uint32_t, std::uint32_t>;

template <class Key>
constexpr place place_of(placed<Key> const& one) {
  return {one.source, one.number};
}

template <class Key>
using sources_of = std::vector<std::vector<placed<Key>>>;

template <class Key>
void number(sources_of<Key>& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (std::size_t n = 0; n < sources[i].size(); ++n) {
      sources[i][n].source = static_cast<std::uint32_t>(i);
      sources[i][n].number = static_cast<std::uint32_t>(n);
    }
}

/// `std::stable_sort`, without the buffer that libstdc++ 12 borrows from what is deprecated.
template <class Items, class Order>
void sort_stably(Items& items, Order const& order) {
  std::list<typename Items::value_type> all(std::make_move_iterator(items.begin()),
                                            std::make_move_iterator(items.end()));
  all.sort(std::cref(order));
  items.assign(std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
}

/// How many items each source has.
enum class sizes { even, uneven, many_empty, one_long };
inline constexpr sizes all_sizes[] = {sizes::even, sizes::uneven, sizes::many_empty,
                                      sizes::one_long};

/// Sources of keys that `make(rng)` draws, in an order; about `items` of all together. In runs, the
/// sources take turns: each has a stretch of the keys for itself.
template <class Key, class Order, class Make>
sources_of<Key> draw_sources(random& rng, std::size_t count, std::size_t items, sizes how,
                             bool in_runs, Order const& order, Make make) {
  std::vector<std::size_t> size(count);
  std::size_t const share = count == 0 ? 0 : items / count + 1;
  for (std::size_t i = 0; i < count; ++i) {
    size[i] = how == sizes::even         ? share
              : how == sizes::many_empty ? (rng.chance(80) ? 0 : rng.below(4 * share + 1))
              : how == sizes::one_long   ? rng.below(3)
                                         : rng.below(2 * share + 1);
  }
  if (how == sizes::one_long && count > 0) size[rng.below(count)] = items;
  sources_of<Key> sources(count);
  if (in_runs) {
    std::vector<placed<Key>> all;
    for (std::size_t n = 0; n < items; ++n) all.push_back({make(rng), 0, 0});
    sort_stably(all, order);
    for (std::size_t n = 0; n < all.size() && count > 0;) {
      auto& to = sources[rng.below(count)];
      for (std::size_t run = 1 + rng.below(40); run > 0 && n < all.size(); --run)
        to.push_back(all[n++]);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t n = 0; n < size[i]; ++n) sources[i].push_back({make(rng), 0, 0});
      sort_stably(sources[i], order);
    }
  }
  number(sources);
  return sources;
}

/// Everything, stably sorted: what a merge of the sources gives.
template <class Sources, class Order>
auto sorted_all(Sources const& sources, Order const& order) {
  typename Sources::value_type all;
  for (auto const& one : sources) all.insert(all.end(), one.begin(), one.end());
  sort_stably(all, order);
  return all;
}

template <class Items>
std::vector<place> places(Items&& items) {
  std::vector<place> found;
  for (auto&& one : items) found.push_back(place_of(one));
  return found;
}

// --- keys: few of them or many, and those at the ends -------------------------------------------

struct few_numbers {
  std::uint64_t operator()(random& rng) const { return rng.below(10); }
};
struct any_number {
  std::uint64_t operator()(random& rng) const {
    return rng.chance(10) ? 0 : rng.chance(10) ? std::numeric_limits<std::uint64_t>::max() : rng();
  }
};
/// Many with the same first eight bytes, some that are nothing but those.
struct any_text {
  std::string operator()(random& rng) const {
    std::string text = rng.chance(70) ? "redmond-" : "";
    for (std::uint64_t n = rng.below(4); n > 0; --n) text += static_cast<char>('a' + rng.below(3));
    return text;
  }
};

}  // namespace test
