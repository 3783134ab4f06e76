// test/merge/resumption.hpp — merges that are left and gone on with elsewhere, through the text of
// their cursor, in every way in which one can be read.
#pragma once

#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/merged_feeds.hpp>

#include <feed/journal.hpp>
#include <feed/suspending_source.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace test {

/// How a merge is read.
enum class manner : std::uint8_t { loop, batches, items, late };  // `late`: never ready
inline constexpr manner all_manners[] = {manner::loop, manner::batches, manner::items,
                                         manner::late};

struct reading {
  manner by = manner::loop;
  std::uint32_t page_size = 3;
  std::size_t batch_size = 7;
  bool reads_ahead = true;

  keyspan::merge_options options() const {
    return {.batch_size = batch_size, .reads_ahead = reads_ahead};
  }
};

using kept_cursor = keyspan::merged_cursor<keyspan::token128>;
using kept_part = keyspan::merged_part<keyspan::token128>;
using journals = std::vector<reviews_journal>;

inline constexpr std::size_t all_of_it = ~std::size_t{};

/// The numbers of the next `n` items; the loop is left at the one behind them.
template <class Merged>
std::vector<int> take_from(Merged& merged, std::size_t n) {
  std::vector<int> numbers;
  for (entry const& one : merged) {
    if (n-- == 0) break;
    numbers.push_back(one.number);
  }
  return numbers;
}

/// One for each journal, by pages of so many items.
inline std::vector<keyspan::feed<reviews_journal>> feeds_of(journals& sources,
                                                            std::uint32_t page_size = 0) {
  std::vector<keyspan::feed<reviews_journal>> feeds;
  for (auto& one : sources)
    feeds.emplace_back(one, keyspan::feed_request<keyspan::token128>{.page_size = page_size});
  return feeds;
}

namespace detail {

// The cursor of a text, which is the same when it is written again; none of no text.
inline std::optional<kept_cursor> cursor_in(std::string const& text) {
  if (text.empty()) return std::nullopt;
  auto found = kept_cursor::from_text(keyspan::cosmos_v2, text);
  keyspan::expects(found.has_value(), "the text of a cursor is read");
  keyspan::expects(found->to_text() == text, "and written again as it was");
  return *std::move(found);
}

// The number of an entry, and what is said where there is none.
template <class Item>
int number_of(Item const& one) {
  keyspan::expects(one.has_value(), "the merge goes on");
  return one->number;
}

// Leaves `n` items behind, and says where it stands.
template <class Feeds, class Order>
std::string loop_over(Feeds& feeds, Order const& order, kept_cursor const* from,
                      keyspan::merge_options options, std::size_t n, std::vector<int>& given) {
  auto merged =
      from ? keyspan::merge(feeds, order, *from, options) : keyspan::merge(feeds, order, options);
  if (n == 0) return merged.cursor().to_text();
  auto const taken = take_from(merged, n);
  given.insert(given.end(), taken.begin(), taken.end());
  return merged.cursor().to_text();
}

// Whole batches until the one that would be too many, then items of another merge from there.
template <class Feeds, class Order>
std::string by_batches(Feeds& feeds, Order const& order, kept_cursor const* from,
                       keyspan::merge_options options, std::size_t n, std::vector<int>& given) {
  std::string kept;
  {
    auto merged =
        from ? keyspan::merge(feeds, order, *from, options) : keyspan::merge(feeds, order, options);
    kept = merged.cursor().to_text();
    if (n == 0) return kept;
    for (auto const& batch : merged.batches()) {
      keyspan::expects(batch.has_value(), "the merge goes on");
      if (batch->size() > n) break;
      for (entry const& one : *batch) given.push_back(one.number);
      n -= batch->size();
      kept = merged.cursor().to_text();
      if (n == 0) return kept;
    }
  }
  auto const here = kept_cursor::from_text(keyspan::cosmos_v2, kept);
  return loop_over(feeds, order, &here.value(), options, n, given);
}

template <class Stream>
keyspan::task<> take(Stream& merged, std::size_t n, std::vector<int>& given, std::string& kept) {
  kept = merged.cursor().to_text();
  for (; n > 0; --n) {
    auto const one = co_await merged.next();
    if (!one) break;
    given.push_back(number_of(one));
  }
  // It moves behind an item when the next one is asked for.
  if (n == 0 && !given.empty()) static_cast<void>(co_await merged.next());
  kept = merged.cursor().to_text();
  co_await merged.close();
}

template <class Feeds, class Order>
std::string by_items(Feeds& feeds, Order const& order, kept_cursor const* from,
                     keyspan::merge_options options, std::size_t n, std::vector<int>& given) {
  auto merged = from ? keyspan::merge_async(feeds, order, *from, options)
                     : keyspan::merge_async(feeds, order, options);
  std::string kept = merged.cursor().to_text();
  if (n > 0) keyspan::sync_wait(take(merged, n, given, kept));
  return kept;
}

template <class Stream>
running run(Stream& merged, std::size_t n, std::vector<int>& given, std::string& kept) {
  co_await take(merged, n, given, kept);
}

}  // namespace detail

/// Takes `n` items of the merge of the journals, or all, from a cursor on or from the beginning;
/// returns the text of the cursor behind them.
template <class Order>
std::string read_merged(journals& sources, Order const& order, reading how, std::string const& from,
                        std::size_t n, std::vector<int>& given) {
  auto const kept = detail::cursor_in(from);
  kept_cursor const* const at = kept ? &*kept : nullptr;
  if (how.by == manner::late) {
    using late_source = suspending_source<reviews_journal, false>;
    std::list<late_source> late;
    std::vector<keyspan::feed<late_source>> feeds;
    for (auto& one : sources)
      feeds.emplace_back(late.emplace_back(one),
                         keyspan::feed_request<keyspan::token128>{.page_size = how.page_size});
    auto merged = at ? keyspan::merge_async(feeds, order, *at, how.options())
                     : keyspan::merge_async(feeds, order, how.options());
    std::string text = merged.cursor().to_text();
    if (n == 0) return text;
    auto const done = detail::run(merged, n, given, text);
    while (!done.is_done()) {
      bool is_any = false;
      for (auto& one : late) is_any = one.complete() || is_any;
      keyspan::expects(is_any, "who waits, waits for a source");
    }
    return text;
  }
  auto feeds = feeds_of(sources, how.page_size);
  if (how.by == manner::loop) return detail::loop_over(feeds, order, at, how.options(), n, given);
  if (how.by == manner::batches)
    return detail::by_batches(feeds, order, at, how.options(), n, given);
  return detail::by_items(feeds, order, at, how.options(), n, given);
}

/// The same by a plain loop alone, where many orders are tried: that compiles sooner.
template <class Order>
std::string read_by_loop(journals& sources, Order const& order, std::uint32_t page_size,
                         std::string const& from, std::size_t n, std::vector<int>& given) {
  auto const kept = detail::cursor_in(from);
  auto feeds = feeds_of(sources, page_size);
  return detail::loop_over(feeds, order, kept ? &*kept : nullptr, {}, n, given);
}

}  // namespace test
