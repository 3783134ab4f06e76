// keyspan/merge/merge_sources.hpp — how a merge asks its sources: a coroutine for each, which hands
// over what it got, and goes on when it is told to.
//
//   a feed --opened--> its ranges     each a source, which splits when its partition does
#pragma once

#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/boxed.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/merge/merge_inbox.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/range/token_range.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::detail {

// What a source has handed over.
enum class fetched : std::uint8_t {
  again,   // nothing yet: it is to go on, from where the merge runs
  page,    // items
  idle,    // nothing new for now; going on waits for more
  end,     // nothing any more, in this round
  split,   // other sources in its place
  failed,  // an error
  thrown,  // an exception
};

// What a merge needs of a source.
enum class slot_need : std::uint8_t {
  page,     // the tree cannot go on without
  nothing,  // the tree has a page of it
  more,     // it has said that nothing is new, and may say otherwise
  no_more,  // it has ended, or failed
  retry,    // it has failed, and is asked again in a while; nobody waits for it
};

struct handing_over {
  using checks_itself = void;

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
    return inbox.push(node);
  }
  void await_resume() const noexcept {}

  merge_inbox& inbox;
  inbox_node& node;
};

// The coroutine of a source. It is suspended where it hands over, or in an operation of the source.
class fetching {
 public:
  class promise_type : public frame_memory, public watches_awaits {
   public:
    template <class Slot>
    promise_type(Slot& slot, merge_inbox& inbox) noexcept
        : inbox_{inbox}, node_{slot}, what_{slot.what}, thrown_{slot.thrown} {}

    fetching get_return_object() noexcept {
      return fetching{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    handing_over final_suspend() const noexcept { return {inbox_, node_}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept {
#if KEYSPAN_EXCEPTIONS
      what_ = fetched::thrown;
      thrown_ = std::current_exception();
#else
      std::terminate();
#endif
    }

   private:
    merge_inbox& inbox_;
    inbox_node& node_;
    fetched& what_;
    std::exception_ptr& thrown_;
  };

  fetching() noexcept = default;

  explicit operator bool() const noexcept { return frame_.handle && !frame_.handle.done(); }
  void go_on() const { frame_.handle.resume(); }

 private:
  explicit fetching(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

  owned_frame<promise_type> frame_{{}};
};

// Where a feed, and a merge of such feeds, stand: nothing of those that have no tokens.
template <class Feed>
struct places_in {
  struct part {};
  struct feed {};
  struct merge {};
};
template <class Feed>
  requires requires { typename Feed::token_type; }
struct places_in<Feed> {
  using part = merged_part<typename Feed::token_type>;
  using feed = merged_feed_cursor<typename Feed::token_type>;
  using merge = merged_cursor<typename Feed::token_type>;
};
template <class Feed>
using part_of_feed = typename places_in<Feed>::part;
template <class Feed>
using cursor_of_feed = typename places_in<Feed>::feed;
template <class Feed>
using cursor_of_merge = typename places_in<Feed>::merge;

// What a merge is of. Where it was to go on from a cursor of another one, that cursor and why not.
template <class Feed>
struct feeds_and_place {
  feeds_and_place(std::vector<Feed> all) : feeds{std::move(all)} {}

  std::vector<Feed> feeds;
  boxed<error> refused{};
  boxed<cursor_of_merge<Feed>> refused_at{};
};

// Sources that can be left in the middle of a page, and gone on with elsewhere.
template <class Feed>
concept remembers_given = requires(Feed& feed) { feed.given; };

// One source: what the tree has of it, and what it has handed over.
template <class Feed>
struct merge_slot : inbox_node {
  using items_type = typename Feed::items_type;
  using item_type = std::remove_pointer_t<decltype(std::ranges::data(
      std::declval<typename Feed::items_type&>()))>;

  using position_type = typename Feed::position_type;

  explicit merge_slot(Feed&& from)
      : feed{std::move(from)}, positions{feed.begin(), feed.begin(), feed.begin()} {}

  Feed feed;
  std::uint32_t number = 0;
  slot_need need = slot_need::page;
  bool is_asking = false;    // it is in flight
  bool has_arrived = false;  // it has handed over what was not looked at yet
  std::uint8_t turn = 0;     // which of the pages is shown
  std::uint8_t place = 0;    // where that begins; behind it others
  items_type pages[2]{};
  position_type positions[3];
  boxed<error> unsorted{};                     // not `why`, which is of what it is in flight for
  std::size_t unsorted_item = ~std::size_t{};  // of the page that is shown
  bool has_passed = false;                     // pages without items, behind that one

  std::uint64_t last[2]{};                     // the key of the last item of the page that is shown
  std::uint64_t state = 0;                     // of the order, before that page
  std::vector<std::span<item_type>> pieces{};  // of that page, where some items are left out
  std::size_t piece = 0;
  given_items given_before{};  // what was left out of it

  std::size_t run_item = ~std::size_t{};  // its first one in a run that is held, in this page or
  boxed<part_of_feed<Feed>> run_part{};   // in one that is gone: where that was

  fetched what = fetched::again;  // what was handed over: a page that comes,
  std::vector<Feed> parts{};      // or these
  boxed<error> why{};
  std::exception_ptr thrown{};
  fetching asks{};  // last: it refers to all of this

  // What the tree has, or had last, and what was handed over. They take turns.
  items_type& shown() noexcept { return pages[turn]; }
  items_type& coming() noexcept { return pages[1 - turn]; }
  // Where the page that is shown begins, and ends, and where the one that comes does.
  position_type& begin() noexcept { return positions[place]; }
  position_type& end() noexcept { return positions[(place + 1) % 3]; }
  position_type& next_end() noexcept { return positions[(place + 2) % 3]; }
  void turn_over() {
    turn = static_cast<std::uint8_t>(1 - turn);
    place = static_cast<std::uint8_t>((place + 1) % 3);
    coming() = items_type{};  // not {}, which a vector may take for a list
    unsorted_item = ~std::size_t{};
    has_passed = false;
  }
  std::span<item_type> page() noexcept {
    return {std::ranges::data(shown()), std::ranges::size(shown())};
  }
  void fail(error const& by) {
    why.emplace(by);
    what = fetched::failed;
  }
};

// Ranges of a page source, in the beginning all that one feed reads: the first thing that it hands
// over is one of these for each range.
template <page_source Source, class Manner>
struct range_feed {
  using source_type = Source;
  using token_type = token_of_source<Source>;
  using items_type =
      std::remove_cvref_t<decltype(std::declval<typename Source::page_type&>().items)>;
  using progress_type = feed_progress<typename Source::scheme_type>;
  using cursor_type = keyspan::cursor<token_of_source<Source>>;

  using position_type = continuation;

  range_feed(Source& from, progress_type of, Manner by, std::size_t number)
      : source{&from}, progress{std::move(of)}, manner{std::move(by)}, feed{number} {}

  void stop_by(stop_token const& token) { progress.stop_by(token); }
  stop_token const& stop() const noexcept { return progress.stop(); }
  void begin_round() noexcept { progress.begin_round(); }
  position_type const& begin() const noexcept { return at.from; }

  // One for each range that it was divided into, in their order.
  std::vector<range_feed> divided() const {
    std::vector<range_feed> parts;
    if (resumed.empty()) {
      add_parts(parts, progress, progress.cursor().parts, at.range, given);
      return parts;
    }
    // Of all that it reads the first reading knows no more than its own part, and is soon copied.
    auto const opened = progress.readings({resumed.front().at});
    for (auto const& one : resumed)
      add_parts(parts, opened.front(), {one.at}, one.at.range, one.given);
    return parts;
  }
  feed_question question(std::optional<instant> now) {
    return is_range ? progress.next(now) : progress.next_to_open();
  }

  Source* source;
  progress_type progress;
  [[no_unique_address]] Manner manner;
  std::size_t feed = 0;                           // the number of the feed that it is a range of
  bool is_range = false;                          // it was divided
  bool has_told = false;                          // that nothing is new
  bool waits_first = false;                       // as the manner says, and asks then
  cursor_type at{whole_space(source->scheme())};  // where it begins
  given_items given{};                            // of the page there
  std::vector<merged_part<token_of_source<Source>>>
      resumed{};           // what is divided, in place of all: in order
  boxed<error> refused{};  // that it was to go on from there:
  boxed<merged_feed_cursor<token_type>> refused_at{};

 private:
  void add_parts(std::vector<range_feed>& to, progress_type const& opened,
                 std::vector<cursor_type> of, token_range<token_type> const& whole,
                 given_items const& of_page) const {
    for (auto& one : opened.readings(std::move(of))) {
      auto& part = to.emplace_back(*source, std::move(one), manner, feed);
      part.is_range = true;
      part.progress.stop_by(progress.stop());
      part.at = std::move(part.progress.cursor().parts.front());
      part.given = of_page;
      // How many of them are here nobody knows, but their identities do.
      if (part.at.range != whole && of_page.identities.empty()) part.given.alike = 0;
    }
  }
};

// Looks at a page, and moves on behind it.
template <class Slot, class Page>
void take_page(Slot& slot, result<Page>&& answer) {
  auto& progress = slot.feed.progress;
  if (!answer) {
    if (!progress.absorb(answer.error())) slot.fail(answer.error());
    return;
  }
  if (auto const sound = progress.accept(*answer); !sound) return slot.fail(sound.error());
  bool const nothing_new = answer->nothing_new;
  progress.pass(answer->continuation, nothing_new,
                nothing_new ? slot.feed.manner.due() : instant{});
  slot.next_end() = progress.from();
  slot.feed.has_told = false;
  if (std::ranges::empty(answer->items)) {
    slot.has_passed = true;
    return;
  }
  slot.coming() = std::move(answer->items);
  slot.what = fetched::page;
}
template <class Slot, class Page>
void take_page(Slot& slot, result<Page> const& answer) {
  take_page(slot, result<Page>{answer});
}

template <class Source, class Manner>
fetching ask(merge_slot<range_feed<Source, Manner>>& slot, merge_inbox& inbox) {
  range_feed<Source, Manner>& feed = slot.feed;
  auto& progress = feed.progress;
  for (;;) {
    slot.what = fetched::again;
    if constexpr (waits<Manner>)
      if (std::exchange(feed.waits_first, false))  // the stop that ends this is told below
        static_cast<void>(co_await feed.manner.wait_until(
            progress.within_deadline(feed.manner.due()), progress.stop()));
    std::optional<instant> const now = feed.manner.now();
    if (feed.refused) {
      slot.fail(*feed.refused);
    } else if (!progress.sound()) {
      slot.fail(progress.sound().error());
    } else if (progress.stop().stop_requested()) {
      slot.fail(error{errc::stopped, "the merge was stopped"});
    } else if (now && progress.is_late(*now)) {
      slot.fail(error{errc::timed_out, "the deadline of the feed has passed"});
    } else {
      feed_question const question = feed.question(now);
      if (question == feed_question::topology) {
        auto asked =
            operation_of<Source>([&] { return feed.source->topology(progress.version()); });
        auto answer = co_await std::move(asked);
        if (!answer) {
          progress.see(answer.error());
          slot.fail(answer.error());
        } else if (auto const taken = progress.take(*std::move(answer)); !taken) {
          slot.fail(taken.error());
        } else if (feed.is_range && progress.size() > 1) {
          slot.parts = feed.divided();
          slot.what = fetched::split;
        }
      } else if (question == feed_question::page) {
        auto asked = operation_of<Source>([&] {
          return feed.source->read(progress.range(), progress.from(), progress.request());
        });
        take_page(slot, co_await std::move(asked));  // moved once, from its place
      } else if (question == feed_question::none) {
        if (feed.is_range) {
          slot.what = fetched::end;
        } else {
          slot.parts = feed.divided();
          slot.what = fetched::split;
        }
      } else if (!std::exchange(feed.has_told, true)) {
        slot.what = fetched::idle;
      } else if constexpr (waits<Manner>) {
        feed.has_told = false;
        result<void> const waited =
            co_await feed.manner.wait_until(progress.due(), progress.stop());
        if (!waited) slot.fail(waited.error());
      }
    }
    co_await handing_over{inbox, slot};
  }
}

}  // namespace keyspan::detail
