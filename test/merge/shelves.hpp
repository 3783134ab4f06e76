// test/merge/shelves.hpp — a source whose partitions hold what a world drew for each, by pages of
// random sizes; and coroutines that write down what a merge gives them.
#pragma once

#include <keyspan/async/ready.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include "../feed/suspending_source.hpp"
#include "worlds.hpp"

#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace test {

/// One partition for each of the sources of a world, in their order.
template <class Key>
class shelves {
 public:
  using scheme_type = keyspan::fast64_scheme;
  using token_type = keyspan::token_of_scheme<scheme_type>;
  using page_type = keyspan::page<placed<Key>>;

  std::optional<keyspan::error> failing{};  // the answer to reads of `fails`
  std::size_t fails = 0;
  std::size_t largest_page = 7;
  std::vector<std::size_t> reads{};  // of which partition
  std::string container_id = "shelves";

  explicit shelves(sources_of<Key> items, std::uint64_t seed = 1)
      : items_(std::move(items)), rng_{seed} {
    for (std::size_t i = 1; i < items_.size(); ++i)
      cuts_.push_back(keyspan::fast64.boundary(i, items_.size()));
  }

  std::string_view container() const { return container_id; }
  scheme_type scheme() const { return keyspan::fast64; }
  sources_of<Key>& items() { return items_; }

  keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<token_type> const& range,
                                                  keyspan::continuation const& from,
                                                  keyspan::read_request const& request) {
    std::size_t const which = number_of(range.lower());
    reads.push_back(which);
    if (request.stop.stop_requested())
      return {keyspan::result<page_type>{keyspan::fail(keyspan::errc::stopped, "asked to stop")}};
    if (failing && which == fails)
      return {keyspan::result<page_type>{keyspan::unexpected{*failing}}};
    auto const& all = items_[which];
    std::size_t const at = from.is_start() ? 0 : std::stoul(from.text());
    std::size_t const count =
        rng_.chance(10) ? 0 : std::min(all.size() - at, 1 + rng_.below(largest_page));
    page_type made{};
    using distance = std::ptrdiff_t;
    made.items.assign(all.begin() + static_cast<distance>(at),
                      all.begin() + static_cast<distance>(at + count));
    made.continuation = std::to_string(at + count);
    made.nothing_new = at + count == all.size() && (count == 0 || rng_.chance(50));
    return {keyspan::result<page_type>{std::move(made)}};
  }
  keyspan::ready<keyspan::result<keyspan::partition_page<token_type>>> topology(
      std::string const& known) {
    keyspan::partition_page<token_type> made{};
    made.not_modified = !known.empty();
    made.version = "1";
    if (known.empty())
      for (auto const& range : split(keyspan::whole_space(keyspan::fast64), cuts_))
        made.partitions.push_back({std::to_string(made.partitions.size()), range, {}});
    return {keyspan::result<keyspan::partition_page<token_type>>{std::move(made)}};
  }

 private:
  std::size_t number_of(token_type token) const {
    return static_cast<std::size_t>(std::upper_bound(cuts_.begin(), cuts_.end(), token) -
                                    cuts_.begin());
  }

  sources_of<Key> items_;
  std::vector<token_type> cuts_{};  // where all but the first partition begin
  random rng_;
};
static_assert(keyspan::page_source<shelves<int>>);

/// What a merge gave.
template <class Item>
struct merged_story {
  std::vector<Item> items{};
  std::vector<std::size_t> sources{};
  std::optional<keyspan::error> why{};
  std::size_t batches = 0;
};

template <class Stream>
using story_of = merged_story<std::remove_cv_t<typename Stream::item_type>>;

template <class Stream>
running read_by_items(Stream& stream, story_of<Stream>& to) {
  while (auto item = co_await stream.next()) {
    if (!item.has_value()) {
      to.why = item.error();
    } else {
      to.items.push_back(*item);
      to.sources.push_back(stream.source());
    }
  }
}
template <class Stream>
running read_by_batches(Stream& stream, story_of<Stream>& to) {
  while (auto* const batch = co_await stream.next_batch()) {
    ++to.batches;
    if (!*batch) {
      to.why = batch->error();
      continue;
    }
    for (auto const& one : **batch) to.items.push_back(one);
    for (std::size_t i = 0; i < (*batch)->size(); ++i) to.sources.push_back((*batch)->source(i));
  }
}
template <class Stream>
running read_whole(Stream& stream, story_of<Stream>& to, bool by_batches) {
  return by_batches ? read_by_batches(stream, to) : read_by_items(stream, to);
}

/// What a plain loop over the batches of a merge gives.
template <class Merged>
merged_story<std::ranges::range_value_t<Merged>> loop_over_batches(Merged& merged) {
  merged_story<std::ranges::range_value_t<Merged>> got;
  for (auto const& batch : merged.batches()) {
    ++got.batches;
    if (!batch) {
      got.why = batch.error();
      continue;
    }
    for (auto const& one : *batch) got.items.push_back(one);
    for (std::size_t i = 0; i < batch->size(); ++i) got.sources.push_back(batch->source(i));
  }
  return got;
}

template <class Stream>
running close_it(Stream& stream, bool& is_closed) {
  co_await stream.close();
  is_closed = true;
}

}  // namespace test
