// keyspan/merge/merge_feeds.hpp — what can be merged: page sources and feeds, one or many.
#pragma once

#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/merge/merge_sources.hpp>

#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

template <class T>
struct source_of_feed;
template <page_source Source>
struct source_of_feed<Source> {
  using type = Source;
};
template <class Source>
struct source_of_feed<feed<Source>> {
  using type = Source;
};

template <class T>
concept feed_to_merge = requires { typename source_of_feed<std::remove_const_t<T>>::type; };

template <class T>
concept many_feeds_to_merge =
    !feed_to_merge<T> && std::ranges::input_range<T&> &&
    std::is_lvalue_reference_v<std::ranges::range_reference_t<T&>> &&
    feed_to_merge<std::remove_reference_t<std::ranges::range_reference_t<T&>>>;

}  // namespace detail

/// The sentence that a compiler shows for what is neither a page source nor a feed, nor a range of
/// them.
template <class T>
concept feeds_to_merge = detail::feed_to_merge<T> || detail::many_feeds_to_merge<T>;

namespace detail {

template <class T>
struct merged_source {
  using type = typename source_of_feed<T>::type;
};
template <many_feeds_to_merge T>
struct merged_source<T>
    : source_of_feed<std::remove_reference_t<std::ranges::range_reference_t<T&>>> {};

template <feeds_to_merge T>
using merged_source_t = typename merged_source<T>::type;
template <feeds_to_merge T, class Manner>
using merged_feed_t = range_feed<merged_source_t<T>, Manner>;

template <class Source, class Manner>
void add_feed(std::vector<range_feed<Source, Manner>>& to, Source& source, Manner const& manner) {
  using progress = feed_progress<typename Source::scheme_type>;
  to.emplace_back(
      source,
      progress{source.scheme(), source.container(), feed_request<token_of_source<Source>>{}},
      manner, to.size());
}
template <class Source, class Manner>
void add_feed(std::vector<range_feed<Source, Manner>>& to, feed<Source>& of, Manner const& manner) {
  to.emplace_back(of.source(), of.progress(), manner, to.size());
}

// One for each feed; each is divided into its ranges when it is open.
template <feeds_to_merge T, class Manner>
std::vector<merged_feed_t<T, Manner>> feeds_of(T& feeds, Manner const& manner) {
  std::vector<merged_feed_t<T, Manner>> made;
  if constexpr (many_feeds_to_merge<T>) {
    for (auto& one : feeds) add_feed(made, one, manner);
  } else {
    add_feed(made, feeds, manner);
  }
  return made;
}

}  // namespace detail

/// The items that merging gives.
template <feeds_to_merge T>
using merged_item = typename detail::merge_slot<detail::merged_feed_t<T, draining>>::item_type;

}  // namespace keyspan
