// keyspan/feed/feed.hpp — the changes of a partitioned source as one lazy range, unaffected by
// splits and merges, and resumable from a cursor.
//
//   for (auto const& change : feed) …                        plain loops, a page when it is needed
//   while (auto page = co_await stream.next_page()) …        the same, awaited
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/token_range.hpp>

#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

namespace keyspan {

/// The changes of a source, one range after another in turn, each in the order they were made. It
/// is a single-pass range of items itself: it fetches a page when its first item is asked for, and
/// it ends when each range has answered once, since the loop began, that nothing is new. A loop
/// that begins anew goes on from there; one that was left in the middle of a page, with the item it
/// was left at.
///
/// A range that was split or merged meanwhile is replaced by its parts. Every other error reaches
/// the caller: loops over items throw `failed`, loops over pages get it as their last result. The
/// cursor is unmoved then, and the next loop tries again.
///
/// Nothing is asked before it is opened, by `open` or by the first loop. Plain loops block the
/// thread while a source is not ready, so they do not run on a thread that the source needs to
/// become so. The source outlives the feed, which has one reader at a time. Moving a feed keeps
/// what it gave out valid.
template <page_source Source>
class feed {
 public:
  using source_type = Source;
  using scheme_type = typename Source::scheme_type;
  using token_type = token_of_source<Source>;
  using page_type = typename Source::page_type;
  using item_type = item_of_source<Source>;
  using request_type = feed_request<token_type>;
  using cursor_type = composite_cursor<token_type>;

  explicit feed(Source& source, request_type request = request_type())
      : state_{std::make_unique<detail::feed_state<Source>>(source, std::move(request))} {}

  /// Asks who owns what, and fixes where *now* is in every range of a feed that begins there: what
  /// is written once this has returned is read. Does nothing where the feed is open.
  /// Errors: those of the request (a cursor of another container, a key that does not fit), then
  /// those of the source.
  result<void> open() { return state().open(); }
  /// The same, awaited: where the source answers on the thread that asks, `open` would wait for
  /// ever. The feed outlives it.
  task<result<void>> open_async() & { return detail::open_awaited(state()); }

  /// Its items until nothing is new; what a loop over the feed itself gives.
  feed_reading<Source> drain() & { return feed_reading<Source>{state()}; }
  /// The same: a copyable view for pipes.
  feed_reading<Source> items() & { return drain(); }
  /// The same by pages, as results.
  auto pages() & { return drain().pages(); }
  /// The same for coroutines.
  feed_stream<Source> stream() & { return drain().stream(); }
  /// Its items for ever: a range that has nothing new is asked again after `delay`, by this clock,
  /// which outlives the reading. Ends by an error: `errc::stopped`, or `errc::timed_out` at the
  /// request's deadline.
  template <clock Clock>
  feed_reading<Source, following<Clock>> follow(Clock& by, typename instant::duration delay) & {
    return feed_reading<Source, following<Clock>>{state(), following<Clock>{by, delay}};
  }
  // What they give would outlive a temporary feed.
  void drain() && = delete;
  void items() && = delete;
  void pages() && = delete;
  void stream() && = delete;
  void open_async() && = delete;
  template <clock Clock>
  void follow(Clock&, typename instant::duration) && = delete;

  auto begin() { return drain().begin(); }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// Where the reading stands. It moves behind a page when the last item of it is left behind in a
  /// loop over items, and when it is handed out in a loop over pages: whoever goes on from a cursor
  /// that was kept after the work was done repeats a page at most, and loses nothing.
  cursor_type cursor() const { return state().progress().cursor(); }
  /// The range that the page which is being read came from. Requires one.
  token_range<token_type> const& range() const { return state().progress().range(); }
  /// Who owns what, as far as the feed knows; null before it is open.
  std::shared_ptr<keyspan::routing<scheme_type> const> const& routing() const noexcept {
    return state().progress().routing();
  }
  /// The charges of all pages and errors so far, in request units.
  double charge() const noexcept { return state().progress().charge(); }
  /// What it knows and where it stands, for who drives its ranges one by one, as a merge does.
  feed_progress<scheme_type> const& progress() const { return state().progress(); }

  Source& source() const noexcept { return state().source(); }

 private:
  detail::feed_state<Source>& state() const {
    expects(state_ != nullptr, "a feed that was moved from is read no more");
    return *state_;
  }

  std::unique_ptr<detail::feed_state<Source>> state_;
};

template <class Source>
feed(Source&) -> feed<Source>;
template <class Source>
feed(Source&, feed_request<token_of_source<Source>>) -> feed<Source>;

/// The cursor whose text was kept of a feed of this source. Errors: those of
/// `composite_cursor::from_text`; `wrong_container` for one of another container.
template <page_source Source>
[[nodiscard]] result<composite_cursor<token_of_source<Source>>> cursor_of(Source const& source,
                                                                          std::string_view text) {
  auto read = composite_cursor<token_of_source<Source>>::from_text(source.scheme(), text);
  if (!read) return read;
  if (auto const own = detail::of_container(*read, source.container()); !own)
    return unexpected{own.error()};
  return read;
}

}  // namespace keyspan
