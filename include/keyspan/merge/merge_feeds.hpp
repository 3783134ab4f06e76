// keyspan/merge/merge_feeds.hpp — what can be merged: page sources and feeds, one or many.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

template <class T>
inline constexpr bool is_feed = false;
template <class Source>
inline constexpr bool is_feed<feed<Source>> = true;
template <class Source>
inline constexpr bool is_feed<feed<Source> const> = true;  // it is copied

template <class T>
concept feed_to_merge = is_feed<T> || page_source<T>;

template <class T>
struct source_of_feed {
  using type = T;
};
template <class T>
  requires is_feed<T>
struct source_of_feed<T> {
  using type = typename T::source_type;
};

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
void add_feed(std::vector<range_feed<Source, Manner>>& to, feed<Source> const& of,
              Manner const& manner) {
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

// Whether a feed can go on with what a cursor says of one.
template <class Source, class Manner>
std::optional<error> refusal_of(range_feed<Source, Manner> const& feed,
                                merged_feed_cursor<token_of_source<Source>> const& from) {
  auto const own = feed.progress.cursor();
  auto const whole = from.whole_pages();
  if (auto const same = of_container(whole, own.container); !same) return same.error();
  if (from.scheme != own.scheme)
    return error{errc::scheme_mismatch, "the cursor's tokens are of scheme ",
                 std::string_view{from.scheme}.substr(0, 30), ", the source's of ", own.scheme};
  if (from.mode != own.mode)
    return error{errc::invalid_options, "the cursor is of a feed of mode ", name_of(from.mode),
                 ", this one is of mode ", name_of(own.mode)};
  if (from.key != own.key)
    return error{errc::key_mismatch, "the cursor and the feed do not read the same key"};
  if (auto const two = overlap_of(whole.parts)) return two->why;
  return std::nullopt;
}

// What of some parts lies in the ranges that a feed reads.
template <token Token>
std::vector<merged_part<Token>> parts_within(std::vector<cursor<Token>> ranges,
                                             std::vector<merged_part<Token>> parts) {
  std::sort(ranges.begin(), ranges.end(),
            [](auto const& a, auto const& b) { return a.range < b.range; });
  std::sort(parts.begin(), parts.end(),
            [](auto const& a, auto const& b) { return a.at.range < b.at.range; });
  std::vector<merged_part<Token>> made;
  auto range = ranges.begin();
  for (merged_part<Token>& part : parts) {
    while (range != ranges.end() && !(part.at.range.lower() < range->range.upper())) ++range;
    for (auto at = range; at != ranges.end(); ++at) {
      auto const shared = intersection(part.at.range, at->range);
      if (!shared) break;
      auto& one = made.emplace_back(part);
      // How many of those given lie in it nobody knows, but their identities do.
      if (one.at.range != *shared && one.given.identities.empty()) one.given.alike = 0;
      one.at.range = *shared;
    }
  }
  return made;
}

// Where each feed goes on from.
template <class Source, class Manner>
feeds_and_place<range_feed<Source, Manner>> resumed(std::vector<range_feed<Source, Manner>> all,
                                                    merged_cursor<token_of_source<Source>> from,
                                                    std::string_view order) {
  feeds_and_place<range_feed<Source, Manner>> made{std::move(all)};
  auto& feeds = made.feeds;
  if (from.order != order)
    made.refused.emplace(errc::invalid_options, "the cursor is of a merge \"",
                         std::string_view{from.order}.substr(0, 40), "\", this one is \"", order,
                         "\"");
  if (from.feeds.size() != feeds.size())
    made.refused.emplace(errc::invalid_options, "the cursor is of a merge of ", from.feeds.size(),
                         " feeds, this one has ", feeds.size());
  if (made.refused) {
    made.refused_at.emplace(std::move(from));
    return made;
  }
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    auto& feed = feeds[i];
    if (!feed.progress.sound()) continue;  // says so itself
    auto why = refusal_of(feed, from.feeds[i]);
    if (!why) {
      feed.resumed = parts_within(feed.progress.cursor().parts, from.feeds[i].parts);
      if (feed.resumed.empty())
        why = error{errc::invalid_range, "the cursor has no token in common with feed ", i};
    }
    if (!why) continue;
    feed.refused.emplace(*why);
    feed.refused_at.emplace(std::move(from.feeds[i]));
  }
  return made;
}

}  // namespace detail

/// The items that merging gives.
template <feeds_to_merge T>
using merged_item = typename detail::merge_slot<detail::merged_feed_t<T, draining>>::item_type;

/// Where a merge of them stands.
template <feeds_to_merge T>
using merged_cursor_of = merged_cursor<token_of_source<detail::merged_source_t<T>>>;

}  // namespace keyspan
