// keyspan/merge/stream_sources.hpp — merges streams: those of feeds, and coroutines of one's own.
//
//   std::vector<keyspan::async_stream<row>> queries;         each gives its rows in order
//   auto reader = merge_async(queries, ascending(&row::id));
#pragma once

#include <keyspan/async/async_stream.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/merge/merge_inbox.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_stream.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// A page of one item, or of none.
template <std::movable T>
class one_item {
 public:
  one_item() = default;
  explicit one_item(T&& item) : item_{std::move(item)} {}

  T* begin() noexcept { return item_ ? std::addressof(*item_) : nullptr; }
  T* end() noexcept { return item_ ? std::addressof(*item_) + 1 : nullptr; }

 private:
  std::optional<T> item_{};
};

// What a stream gives at a time, as items side by side.
template <class T>
struct streamed {
  using items_type = one_item<T>;
  static items_type take(T& from) { return items_type{std::move(from)}; }
};
template <class T>
  requires std::ranges::contiguous_range<T> && std::ranges::sized_range<T> &&
           std::default_initializable<T> && (!std::convertible_to<T const&, std::string_view>)
struct streamed<T> {
  using items_type = T;
  static items_type take(T& from) { return std::move(from); }
};
template <page_of_items T>
struct streamed<T> {
  using items_type = std::remove_cvref_t<decltype(std::declval<T&>().items)>;
  static items_type take(T& from) { return std::move(from.items); }
};
template <class T>
struct streamed<result<T>> : streamed<T> {};

template <class Stream>
struct given_by;
template <class T>
struct given_by<async_stream<T>> {
  using type = T;
  static auto next(async_stream<T>& stream) { return stream.next(); }
};
template <class Source, class Manner>
struct given_by<feed_stream<Source, Manner>> {
  using type = result<typename Source::page_type>;
  static auto next(feed_stream<Source, Manner>& stream) { return stream.next_page(); }
};

template <class T>
concept stream_to_merge = requires { typename given_by<T>::type; };

template <stream_to_merge Stream>
struct stream_source {
  using given_type = typename given_by<Stream>::type;
  using items_type = typename streamed<given_type>::items_type;
  struct position_type {};

  explicit stream_source(Stream& from) : stream{&from} {}

  position_type begin() const noexcept { return {}; }
  void begin_round() const noexcept {}
  auto close() const { return stream->close(); }

  Stream* stream;
};

template <class Stream>
fetching ask(merge_slot<stream_source<Stream>>& slot, merge_inbox& inbox) {
  using given_type = typename given_by<Stream>::type;
  for (;;) {
    auto asked = given_by<Stream>::next(*slot.feed.stream);
    given_type* const given = co_await std::move(asked);
    if (given == nullptr) {
      slot.what = fetched::end;
    } else {
      take_given(slot, *given);
    }
    co_await handing_over{inbox, slot};
  }
}
template <class Slot, class T>
void take_given(Slot& slot, T& given) {
  slot.coming() = streamed<T>::take(given);
  slot.what = std::ranges::size(slot.coming()) == 0 ? fetched::again : fetched::page;
}
template <class Slot, class T>
void take_given(Slot& slot, result<T>& given) {
  if (given) return take_given(slot, *given);
  slot.fail(given.error());
}

}  // namespace detail

/// The sentence that a compiler shows for what is no range of streams: of `async_stream`s, whose
/// values are items, or contiguous ranges or pages of them, or results of either; or of
/// `feed_stream`s.
template <class T>
concept streams_to_merge =
    std::ranges::input_range<T&> &&
    std::is_lvalue_reference_v<std::ranges::range_reference_t<T&>> &&
    detail::stream_to_merge<std::remove_reference_t<std::ranges::range_reference_t<T&>>>;

namespace detail {

template <streams_to_merge T>
using stream_source_of = stream_source<std::remove_reference_t<std::ranges::range_reference_t<T&>>>;

}  // namespace detail

/// Merges streams by `order`, each a source, in their order. What they give is moved out of them.
/// They outlive the reader, nobody else reads them meanwhile, and closing it closes them. Such a
/// merge has no cursor: where a stream stands is its owner's to know.
template <streams_to_merge Streams, class Order>
  requires orders_items<Order,
                        typename detail::merge_slot<detail::stream_source_of<Streams>>::item_type>
[[nodiscard]] auto merge_async(Streams& streams, Order order, merge_options options = {}) {
  std::vector<detail::stream_source_of<Streams>> made;
  for (auto& one : streams) made.emplace_back(one);
  return merged_stream<detail::stream_source_of<Streams>, Order>{std::move(made), std::move(order),
                                                                 options};
}

}  // namespace keyspan
