// keyspan/merge/merge_async.hpp — merges feeds and page sources for coroutines.
//
//   auto reader = merge_async(container, ascending(&change::lsn));
//   while (auto item = co_await reader.next()) use(*item);
#pragma once

#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merged_stream.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <utility>

namespace keyspan {

/// Merges a page source, a feed, or many of them, by `order`, each range of each a source of its
/// own: sources are in the order of the feeds, then of their ranges. A feed says what to read, from
/// where and how; it is not moved by this. When a partition splits, its parts take its place.
///
/// Every source is asked for a page at the same time: at most two pages of each are held. They are
/// asked on the thread that awaits, or on the one where the page came that was waited for, never on
/// two at a time.
template <feeds_to_merge Feeds, class Order>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge_async(Feeds& feeds, Order order, merge_options options = {}) {
  using feed_type = detail::merged_feed_t<Feeds, draining>;
  return merged_stream<feed_type, Order>{detail::feeds_of(feeds, draining{}), std::move(order),
                                         options};
}

/// The same for ever: a source that has nothing new is asked again as `manner` says, a
/// `following`. Nothing is given that such a source could still come before.
template <feeds_to_merge Feeds, class Order, detail::waits Manner>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge_async(Feeds& feeds, Order order, Manner manner,
                               merge_options options = {}) {
  using feed_type = detail::merged_feed_t<Feeds, Manner>;
  return merged_stream<feed_type, Order>{detail::feeds_of(feeds, manner), std::move(order),
                                         options};
}

/// The same, going on with the next item behind where another merge of the same feeds stood.
/// Errors, as the first result: `invalid_options` for a cursor of a merge by another order, or of
/// other feeds; `wrong_container`, `scheme_mismatch`, `key_mismatch`; `overlap` for one of no
/// merge.
template <feeds_to_merge Feeds, class Order>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge_async(Feeds& feeds, Order order, merged_cursor_of<Feeds> from,
                               merge_options options = {}) {
  auto made = detail::resumed(detail::feeds_of(feeds, draining{}), std::move(from),
                              detail::name_of_order(order));
  return merged_stream<detail::merged_feed_t<Feeds, draining>, Order>{std::move(made),
                                                                      std::move(order), options};
}

template <feeds_to_merge Feeds, class Order, detail::waits Manner>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge_async(Feeds& feeds, Order order, merged_cursor_of<Feeds> from,
                               Manner manner, merge_options options = {}) {
  auto made = detail::resumed(detail::feeds_of(feeds, manner), std::move(from),
                              detail::name_of_order(order));
  return merged_stream<detail::merged_feed_t<Feeds, Manner>, Order>{std::move(made),
                                                                    std::move(order), options};
}

}  // namespace keyspan
