// test/feed/feed_stream_test.cpp — a feed awaited: by pages and by items, over sources that are
// ready and that suspend, stopped, closed and destroyed at every suspension.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/divide.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

#include "journal.hpp"
#include "suspending_source.hpp"

#include <catch2/catch_template_test_macros.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <async/deaths.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::token128;
using test::check;
using test::counted;
using test::entry;
using test::numbers_of;
using test::on_stop;
using test::reviews_in;
using test::reviews_journal;
using test::running;
using test::sorted;
using namespace std::chrono_literals;

using abandonable = test::suspending_source<reviews_journal, true>;
using pinned = test::suspending_source<reviews_journal, false>;

static_assert(std::movable<keyspan::feed_stream<reviews_journal>>);
static_assert(!std::copyable<keyspan::feed_stream<reviews_journal>>);
static_assert(keyspan::awaitable_of<decltype(std::declval<keyspan::feed_stream<pinned>&>().next()),
                                    keyspan::stream_item<entry>>);
static_assert(
    keyspan::awaitable_of<decltype(std::declval<keyspan::feed_stream<pinned>&>().next_page()),
                          keyspan::result<keyspan::page<entry>>*>);

// What a reader has got, and how it ended.
struct story {
  std::vector<int> numbers{};
  std::optional<keyspan::error> why{};
  bool has_ended = false;
};

template <class Stream>
running read_items(Stream& stream, story& to, std::size_t most = 1'000'000) {
  while (to.numbers.size() < most) {
    auto item = co_await stream.next();
    if (!item) break;
    if (!item.has_value()) {
      to.why = item.error();
      break;
    }
    to.numbers.push_back(item->number);
  }
  to.has_ended = true;
}
template <class Stream>
running read_pages(Stream& stream, story& to) {
  for (;;) {
    auto* const page = co_await stream.next_page();
    if (page == nullptr) break;
    if (!*page) {
      to.why = page->error();
      continue;  // null follows
    }
    for (entry const& one : (*page)->items) to.numbers.push_back(one.number);
  }
  to.has_ended = true;
}
// The stream is a part of who reads it, and goes with it.
template <class Feed>
running read_all(Feed& changes, story& to, bool by_pages) {
  auto stream = changes.stream();
  for (;;) {
    if (by_pages) {
      auto* const page = co_await stream.next_page();
      if (page == nullptr) break;
      if (*page)
        for (entry const& one : (*page)->items) to.numbers.push_back(one.number);
    } else {
      auto item = co_await stream.next();
      if (!item.has_value()) break;
      to.numbers.push_back(item->number);
    }
  }
  to.has_ended = true;
}
template <class Stream>
running close_it(Stream& stream, bool& is_closed) {
  co_await stream.close();
  is_closed = true;
}

// [region: example]
// Suspends where the source is not ready, once a page; within a page an item costs a step.
keyspan::task<int> count_good(keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>& ratings) {
  feed changes{ratings};
  auto stream = changes.stream();
  int good = 0;
  while (auto const rating = co_await stream.next()) good += *rating >= 4 ? 1 : 0;
  co_await stream.close();
  co_return good;
}
// [end: example]

// [region: pages]
keyspan::task<keyspan::result<int>> sum_of(
    keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>& ratings) {
  feed changes{ratings};
  auto stream = changes.stream();
  int sum = 0;
  while (auto* const page = co_await stream.next_page()) {  // a result<page_type>*
    if (!*page) co_return keyspan::unexpected{page->error()};
    for (int const rating : (*page)->items) sum += rating;
  }
  co_await stream.close();
  co_return sum;
}
// [end: pages]

TEST_CASE("the examples of feed_stream read as they should") {
  keyspan::scripted_source<int, keyspan::cosmos_v2_scheme> ratings{cosmos_v2, 4};
  for (int i = 0; i < 20; ++i) ratings.write("article " + std::to_string(i), i % 6);
  CHECK(keyspan::sync_wait(count_good(ratings)) == 6);
  CHECK(keyspan::sync_wait(sum_of(ratings)).value() == 46);
}

TEST_CASE("a stream over a source that is ready gives what a loop gives, without suspending") {
  for (bool const by_pages : {false, true}) {
    auto source = reviews_in(3, 50);
    feed changes{source};
    story got;
    auto const reader = read_all(changes, got, by_pages);
    CHECK(reader.is_done());
    CHECK(sorted(got.numbers) == counted(0, 50));
    CHECK(keeps_order_of_keys(source, got.numbers));
    source.write_many(5);
    CHECK(numbers_of(changes).size() == 5);  // one reader after the other
  }
}

TEST_CASE("nothing is asked before the stream is awaited, and a page only when it is needed") {
  auto source = reviews_in(1, 7);
  feed changes{source};
  auto stream = changes.stream();
  CHECK(source.topologies.empty());
  story got;
  auto reader = read_items(stream, got, 3);
  CHECK(reader.is_done());
  CHECK(source.reads.size() == 1);
  reader = read_items(stream, got, 4);
  CHECK(source.reads.size() == 2);
}

TEMPLATE_TEST_CASE("a stream suspends once a page and a list of partitions", "", abandonable,
                   pinned) {
  for (bool const by_pages : {false, true}) {
    auto source = reviews_in(2, 40);
    TestType slow{source};
    feed changes{slow};
    story got;
    {
      auto stream = changes.stream();
      auto reader = by_pages ? read_pages(stream, got) : read_items(stream, got);
      CHECK_FALSE(reader.is_done());
      CHECK(source.topologies.size() == 1);
      slow.complete_all();
      CHECK(reader.is_done());
    }
    CHECK(got.has_ended);
    CHECK_FALSE(got.why.has_value());
    CHECK(sorted(got.numbers) == counted(0, 40));
    CHECK(slow.suspensions == source.reads.size() + source.topologies.size());
  }
}

TEST_CASE("a stream goes on through splits") {
  for (bool const by_pages : {false, true}) {
    auto source = reviews_in(2, 60);
    pinned slow{source};
    feed changes{slow};
    story got;
    auto stream = changes.stream();
    auto reader = by_pages ? read_pages(stream, got) : read_items(stream, got);
    for (int i = 0; slow.complete(); ++i) {
      if (i == 5) source.split_in_half("0");
      if (i == 11) source.merge("3", "1");
      if (i == 17) source.split_in_half("4");
    }
    CHECK(reader.is_done());
    CHECK(sorted(got.numbers) == counted(0, 60));
    CHECK(keeps_order_of_keys(source, got.numbers));
  }
}

TEST_CASE("every error but one comes in the place of an item or a page, and then the stream ends") {
  for (errc const code : keyspan::all_errc) {
    if (code == errc::range_gone) continue;
    for (bool const by_pages : {false, true}) {
      INFO(keyspan::name_of(code) << by_pages);
      auto source = reviews_in(1, 20);
      keyspan::error const why{code, "so it is"};
      source.before_read = [&] {
        if (source.reads.size() == 3) source.read_errors.push_back(why);
      };
      feed changes{source};
      story got;
      {
        auto stream = changes.stream();
        auto const reader = by_pages ? read_pages(stream, got) : read_items(stream, got);
        CHECK(reader.is_done());
        CHECK(got.why == why);
        CHECK(got.numbers == counted(0, 6));
        CHECK(changes.cursor().parts[0].from.text() == "6");
        story more;
        auto const again = by_pages ? read_pages(stream, more) : read_items(stream, more);
        CHECK(again.is_done());
        CHECK((more.numbers.empty() && !more.why));  // it has ended
      }
      auto stream = changes.stream();  // another one tries again
      auto const reader = read_items(stream, got);
      CHECK(got.numbers == counted(0, 20));
    }
  }
}

TEST_CASE("errors of the request and of the topology come through a stream, too") {
  auto source = reviews_in(1, 3);
  feed wrong{source, {.scope = keyspan::key_prefix{keyspan::partition_key{"a"}, 2}}};
  {
    auto stream = wrong.stream();
    story got;
    auto const reader = read_items(stream, got);
    REQUIRE(got.why.has_value());
    CHECK(got.why->code == errc::key_mismatch);
  }
  feed changes{source};
  source.topology_errors.emplace_back(errc::unauthorized, "who are you");
  auto stream = changes.stream();
  story got;
  auto const reader = read_pages(stream, got);
  REQUIRE(got.why.has_value());
  CHECK(got.why->to_text() == "unauthorized: who are you");
}

TEST_CASE("a stream goes on with the item that a loop was left at, and a loop with a stream's") {
  auto source = reviews_in(1, 12);
  feed changes{source};
  for (entry const& one : changes)
    if (one.number == 4) break;
  {
    auto stream = changes.stream();
    story got;
    auto reader = read_items(stream, got, 3);
    CHECK(got.numbers == std::vector{4, 5, 6});
    CHECK(changes.cursor().parts[0].from.text() == "6");
  }
  CHECK(changes.begin()->number == 6);  // the one at hand was not left behind
  {
    auto stream = changes.stream();  // by pages, whole
    story got;
    auto const reader = read_pages(stream, got);
    CHECK(got.numbers == counted(6, 12));
  }
  CHECK(numbers_of(changes).empty());
}

TEST_CASE("in a stream the cursor moves behind a page as it does in a loop") {
  auto source = reviews_in(1, 6);
  feed changes{source};
  auto stream = changes.stream();
  story got;
  auto reader = read_items(stream, got, 3);
  CHECK(changes.cursor().parts[0].from.is_start());
  reader = read_items(stream, got, 4);
  CHECK(changes.cursor().parts[0].from.text() == "3");
  feed other{source};
  auto pages = other.stream();
  bool is_seen = false;
  auto const one_page = [](auto& from, bool& seen) -> running {
    seen = co_await from.next_page() != nullptr;
  };
  auto const page_reader = one_page(pages, is_seen);
  CHECK(is_seen);
  CHECK(other.cursor().parts[0].from.text() == "3");
}

TEST_CASE("a stream is read by pages or by items, not by both in turn") {
  auto source = reviews_in(1, 6);
  feed changes{source};
  auto stream = changes.stream();
  story got;
  auto const reader = read_items(stream, got, 1);
  CHECK(test::promise_broken_by([&] {
          static_cast<void>(stream.next_page().operator co_await());
          return 0;
        }) == "a stream is read by pages or by items, not by both in turn");
}

// --- stopping and closing
// --------------------------------------------------------------------------

// Who waits is held at the moment when he was told of a page and does not go on yet, as between two
// threads.
TEST_CASE("a close waits until who was told of an item has got it, which comes again then") {
  auto source = reviews_in(1, 6);
  pinned slow{source};
  feed changes{slow};
  {
    auto stream = changes.stream();
    auto asked = keyspan::detail::awaiter_of(stream.next());
    CHECK_FALSE(asked.await_ready());
    CHECK(asked.await_suspend(std::noop_coroutine()));
    slow.complete_all();
    bool is_closed = false;
    auto const closer = close_it(stream, is_closed);
    CHECK_FALSE(is_closed);
    auto const item = asked.await_resume();
    CHECK(is_closed);
    CHECK(item->number == 0);  // good as long as the feed is not asked
    story more;
    auto const reader = read_items(stream, more);
    CHECK((more.has_ended && more.numbers.empty()));
  }
  slow.is_ready = true;
  CHECK(numbers_of(changes) == counted(0, 6));
}
TEST_CASE("a close waits until who was told of a page has got it, which is handed out then") {
  auto source = reviews_in(1, 6);
  pinned slow{source};
  feed changes{slow};
  {
    auto stream = changes.stream();
    auto asked = keyspan::detail::awaiter_of(stream.next_page());
    CHECK_FALSE(asked.await_ready());
    CHECK(asked.await_suspend(std::noop_coroutine()));
    slow.complete_all();
    bool is_closed = false;
    auto const closer = close_it(stream, is_closed);
    CHECK_FALSE(is_closed);
    auto const* const page = asked.await_resume();
    CHECK(is_closed);
    CHECK((*page)->items.size() == 3);
  }
  slow.is_ready = true;
  CHECK(numbers_of(changes) == counted(3, 6));
}

TEST_CASE("who reads may end with his stream while another one waits for its close") {
  auto source = reviews_in(1, 6);
  pinned slow{source};
  feed changes{slow};
  using stream_type = decltype(changes.stream());
  std::optional<stream_type> stream{changes.stream()};
  auto const end_with_it = [](std::optional<stream_type>& of) -> running {
    auto const item = co_await of->next();
    if (!item) of.reset();
  };
  auto const reader = end_with_it(stream);
  bool is_closed = false;
  auto const closer = close_it(*stream, is_closed);
  slow.complete_all();
  CHECK(reader.is_done());
  CHECK(is_closed);
  CHECK_FALSE(stream.has_value());
}

TEMPLATE_TEST_CASE("the token of the request stops what is in flight, as an error", "", abandonable,
                   pinned) {
  for (on_stop const manner : {on_stop::ends_at_once, on_stop::ends_later, on_stop::goes_on})
    for (bool const by_pages : {false, true})
      for (int completed = 0; completed < 8; ++completed) {
        auto source = reviews_in(2, 20);
        TestType slow{source};
        slow.when_stopped = manner;
        keyspan::stop_source stop;
        feed changes{slow, {.stop = stop.token()}};
        story got;
        auto stream = changes.stream();
        auto reader = by_pages ? read_pages(stream, got) : read_items(stream, got);
        for (int i = 0; i < completed; ++i) slow.complete();
        std::size_t const asked = source.reads.size() + source.topologies.size();
        stop.request_stop();
        slow.complete_all();
        INFO(completed << by_pages);
        CHECK(reader.is_done());
        REQUIRE(got.why.has_value());
        CHECK(got.why->code == errc::stopped);
        CHECK(source.reads.size() + source.topologies.size() == asked);
        // The cursor has not moved: what comes from it is the rest.
        feed resumed{source, {.start = changes.cursor()}};
        for (entry const& one : resumed) got.numbers.push_back(one.number);
        CHECK(sorted(got.numbers) == counted(0, 20));
      }
}

TEMPLATE_TEST_CASE("a stream is closed at every suspension, and ends there", "", abandonable,
                   pinned) {
  for (on_stop const manner : {on_stop::ends_at_once, on_stop::ends_later, on_stop::goes_on})
    for (bool const has_token : {false, true})
      for (bool const by_pages : {false, true})
        for (int completed = 0; completed < 20; ++completed) {
          auto source = reviews_in(2, 20);
          source.before_read = [&] {
            if (source.reads.size() == 4) source.split_in_half("0");
          };
          TestType slow{source};
          slow.when_stopped = manner;
          keyspan::stop_source stop;
          feed changes{slow, {.stop = has_token ? stop.token() : keyspan::stop_token{}}};
          story got;
          auto stream = changes.stream();
          auto reader = by_pages ? read_pages(stream, got) : read_items(stream, got);
          for (int i = 0; i < completed; ++i) slow.complete();
          bool const was_in_flight = slow.in_flight() > 0;
          bool is_closed = false;
          auto closer = close_it(stream, is_closed);
          INFO(completed << by_pages << has_token << static_cast<int>(manner));
          if (was_in_flight && manner != on_stop::ends_at_once) CHECK_FALSE(is_closed);
          bool const is_page = completed >= 2 && completed <= 4;  // behind the list, before a split
          if (is_page && manner == on_stop::ends_at_once) CHECK(is_closed);
          slow.complete_all();
          CHECK(is_closed);
          CHECK(reader.is_done());
          CHECK_FALSE(got.why.has_value());  // who reads sees an end, and no error
          // Closed again, and read again, it has ended.
          bool is_closed_again = false;
          auto const again = close_it(stream, is_closed_again);
          CHECK(is_closed_again);
          story more;
          auto const later = read_items(stream, more);
          CHECK((later.is_done() && more.numbers.empty()));
          // The feed is as it was: nothing is lost, and it is not stopped.
          slow.is_ready = true;
          for (entry const& one : changes) got.numbers.push_back(one.number);
          CHECK(sorted(got.numbers) == counted(0, 20));
          CHECK(keeps_order_of_keys(source, got.numbers));
        }
}

TEST_CASE(
    "a stream that is closed between two items ends, and a loop goes on with the item at hand") {
  auto source = reviews_in(1, 9);
  feed changes{source};
  auto stream = changes.stream();
  story got;
  auto const reader = read_items(stream, got, 2);
  bool is_closed = false;
  auto const closer = close_it(stream, is_closed);
  CHECK(is_closed);
  story more;
  auto const later = read_items(stream, more);
  CHECK((more.has_ended && more.numbers.empty()));
  CHECK(numbers_of(changes) == counted(1, 9));
}

TEST_CASE("a stream that was never read is closed and destroyed without more ado") {
  auto source = reviews_in(1, 3);
  pinned slow{source};
  feed changes{slow};
  {
    auto stream = changes.stream();
    bool is_closed = false;
    auto const closer = close_it(stream, is_closed);
    CHECK(is_closed);
  }
  {
    auto const stream = changes.stream();
  }
  CHECK(slow.suspensions == 0);
}

TEST_CASE("one stream after the other has no part in what the first was told") {
  auto source = reviews_in(1, 30);
  feed changes{source};
  auto first = changes.stream();
  story got;
  auto reader = read_items(first, got, 4);
  auto second = changes.stream();  // while the first is still there
  auto other = read_items(second, got, 8);
  bool is_closed = false;
  auto const closer = close_it(first, is_closed);
  auto const late = close_it(second, is_closed);
  CHECK(sorted(numbers_of(changes)).back() == 29);  // the feed is not stopped
}

// --- destroying
// ------------------------------------------------------------------------------------

TEST_CASE("where a source can be abandoned, its readers are destroyed at any suspension") {
  for (bool const by_pages : {false, true})
    for (bool const has_token : {false, true})
      for (int completed = 0; completed < 20; ++completed) {
        auto source = reviews_in(2, 20);
        source.before_read = [&] {
          if (source.reads.size() == 4) source.split_in_half("0");
        };
        abandonable slow{source};
        keyspan::stop_source stop;
        std::vector<int> numbers;
        {
          feed changes{slow, {.stop = has_token ? stop.token() : keyspan::stop_token{}}};
          story got;
          {
            auto const reader = read_all(changes, got, by_pages);
            for (int i = 0; i < completed; ++i) slow.complete();
            if (reader.is_done()) CHECK(sorted(got.numbers) == counted(0, 20));
          }
          // The feed goes on, while what was abandoned is still in flight.
          slow.is_ready = true;
          for (entry const& one : changes) got.numbers.push_back(one.number);
          numbers = got.numbers;
        }
        std::size_t const in_flight = slow.in_flight();
        slow.complete_all();
        CHECK(slow.dropped == in_flight);
        // An item that was at hand comes again.
        auto all = sorted(numbers);
        all.erase(std::unique(all.begin(), all.end()), all.end());
        CHECK(all == counted(0, 20));
        CHECK(numbers.size() <= 21);
      }
}

TEST_CASE("who awaits may be destroyed while the stream lives, which keeps what comes") {
  for (bool const by_pages : {false, true})
    for (int completed = 0; completed < 14; ++completed) {
      auto source = reviews_in(2, 20);
      pinned slow{source};
      feed changes{slow};
      auto stream = changes.stream();
      story got;
      {
        auto const reader = by_pages ? read_pages(stream, got) : read_items(stream, got);
        for (int i = 0; i < completed; ++i) slow.complete();
      }
      slow.complete_all();
      INFO(by_pages << completed);
      auto const reader = by_pages ? read_pages(stream, got) : read_items(stream, got);
      slow.complete_all();
      CHECK(reader.is_done());
      CHECK(sorted(got.numbers) == counted(0, 20));
    }
}

TEST_CASE("a stream with nothing in flight is destroyed at any time") {
  for (std::size_t items = 0; items < 25; ++items) {
    auto source = reviews_in(2, 20);
    pinned slow{source};
    feed changes{slow};
    story got;
    {
      auto stream = changes.stream();
      auto const reader = read_items(stream, got, items);
      while (!reader.is_done() && slow.complete()) {
      }
    }
    CHECK(slow.in_flight() == 0);
    slow.is_ready = true;
    std::vector<int> all = got.numbers;
    for (entry const& one : changes) all.push_back(one.number);
    all = sorted(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    CHECK(all == counted(0, 20));
  }
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("to destroy a stream whose source cannot be abandoned, in flight, breaks a contract") {
  auto const words = test::last_words_of([] {
    auto source = reviews_in(1, 3);
    pinned slow{source};
    feed changes{slow};
    story got;
    auto const reader = read_all(changes, got, false);
  });
  CHECK(words.find("an operation in flight is awaited or closed before") != words.npos);
}

TEST_CASE("to destroy a feed before the stream that reads it breaks a contract") {
  auto const words = test::last_words_of([] {
    auto source = reviews_in(1, 9);
    std::optional<feed<reviews_journal>> changes{std::in_place, source};
    auto stream = changes->stream();
    story got;
    auto const reader = read_items(stream, got, 1);
    changes.reset();
  });
  CHECK(words.find("a feed outlives the streams that read it") != words.npos);
}
#endif

TEST_CASE("a stream that is destroyed in flight gives the feed its own stop token back") {
  keyspan::scripted_source<int, keyspan::cosmos_v2_scheme> source{cosmos_v2, 2};
  source.write("redmond", 1);
  test::suspending_source<decltype(source), true> slow{source};
  keyspan::stop_source stop;
  feed changes{slow, {.stop = stop.token()}};
  {
    auto stream = changes.stream();
    std::optional<int> got;
    auto const reader = [](auto& from, std::optional<int>& to) -> running {
      auto item = co_await from.next();
      if (item) to = *item;
    }(stream, got);
    slow.complete();
    slow.complete();  // it knows the partitions, and reads
    CHECK(slow.in_flight() == 1);
  }
  slow.is_ready = true;
  std::size_t const before = source.reads().size();
  CHECK(std::ranges::distance(changes) == 1);
  CHECK(source.reads().size() > before);
  CHECK(source.reads().back().stop == stop.token());
  stop.request_stop();
  auto const pages = changes.pages();
  CHECK((*pages.begin()).error().code == errc::stopped);
}

// Opens a feed from a coroutine.
template <class Feed>
running open_it(Feed& changes, std::optional<keyspan::result<void>>& to) {
  auto opening = changes.open_async();
  to = co_await std::move(opening);
}

TEST_CASE("a feed is opened from a coroutine as it is from a thread") {
  auto source = reviews_in(3, 30);
  abandonable slow{source};
  feed news{slow, {.start = keyspan::from_now}};
  std::optional<keyspan::result<void>> opened;
  {
    auto const abandoned = open_it(news, opened);
    CHECK(slow.in_flight() == 1);
  }
  CHECK_FALSE(opened);
  auto const opener = open_it(news, opened);
  slow.complete_all();
  REQUIRE(opened);
  CHECK(opened->has_value());
  for (auto const& part : news.cursor().parts) CHECK_FALSE(part.from.is_start());
  auto const asked = slow.suspensions;
  auto const again = open_it(news, opened);  // is open
  CHECK(again.is_done());
  CHECK(slow.suspensions == asked);
  CHECK(keyspan::divide(news, 2).value().size() == 2);  // and so waits for nobody
  CHECK(slow.suspensions == asked);
  source.write_many(10);
  auto stream = news.stream();
  story got;
  auto const reader = read_items(stream, got);
  slow.complete_all();
  CHECK(sorted(got.numbers) == counted(30, 40));
}

TEST_CASE("opening a feed from a coroutine tells what went wrong, and can be tried again") {
  keyspan::scripted_source<int, keyspan::cosmos_v2_scheme> source{cosmos_v2, 2};
  test::suspending_source<decltype(source), true> slow{source};
  feed news{slow, {.start = keyspan::from_now}};
  std::optional<keyspan::result<void>> opened;
  source.fail_next(keyspan::error{errc::unavailable});
  auto const opener = open_it(news, opened);
  slow.complete_all();
  REQUIRE(opened);
  CHECK(opened->error().code == errc::unavailable);
  auto const again = open_it(news, opened);
  slow.complete_all();
  CHECK(opened->has_value());
}

TEST_CASE("a feed has one reader at a time") {
  auto source = reviews_in(2, 20);
  abandonable slow{source};
  feed changes{slow};
  auto stream = changes.stream();
  story got;
  auto reader = read_items(stream, got);
  CHECK(test::promise_broken_by([&] { return changes.open().has_value(); }) ==
        "a feed has one reader at a time, and one is waiting for a page");
  slow.is_ready = true;
  CHECK(test::promise_broken_by([&] { return changes.begin()->number; }) ==
        "a feed has one reader at a time, and one is waiting for a page");
  slow.complete_all();
  CHECK(sorted(got.numbers) == counted(0, 20));
  source.write_many(1);
  CHECK(numbers_of(changes) == std::vector{20});
}

TEST_CASE("what a source throws passes through, and the feed can be read again") {
  struct odd {};
  struct throwing : reviews_journal {
    using reviews_journal::reviews_journal;
    auto read(range_type const& range, keyspan::continuation const& from,
              keyspan::read_request const& request) {
      if (throws) throw odd{};
      return reviews_journal::read(range, from, request);
    }
    bool throws = false;
  };
  throwing source{cosmos_v2};
  source.write_many(5);
  feed changes{source};
  auto stream = changes.stream();
  auto const take = [](auto& from) -> keyspan::task<int> {
    auto const item = co_await from.next();
    co_return item.has_value() ? item->number : -1;
  };
  for (int i = 0; i < 3; ++i) CHECK(keyspan::sync_wait(take(stream)) == i);
  source.throws = true;
  CHECK_THROWS_AS(keyspan::sync_wait(take(stream)), odd);
  CHECK(keyspan::sync_wait(take(stream)) == -1);  // it has ended
  source.throws = false;
  CHECK(numbers_of(changes) == counted(3, 5));
}

// --- following
// -------------------------------------------------------------------------------------

TEST_CASE("a stream follows by a clock: a delay for who is idle, none for who is busy") {
  auto source = reviews_in(2, 0);
  source.write("redmond");
  keyspan::manual_clock clock;
  keyspan::stop_source stop;
  feed changes{source, {.stop = stop.token()}};
  story got;
  auto stream = changes.follow(clock, 10s).stream();
  auto reader = read_items(stream, got);
  CHECK(got.numbers == counted(0, 1));
  CHECK(clock.next() == keyspan::instant{} + 10s);
  std::size_t const reads = source.reads.size();
  clock.advance(9s);
  CHECK(source.reads.size() == reads);
  source.write("seattle");
  clock.advance(1s);
  CHECK(got.numbers == counted(0, 2));
  CHECK(clock.next() == keyspan::instant{} + 20s);
  source.split_in_half("0");
  source.write_many(6);
  clock.advance(25s);
  CHECK(sorted(got.numbers) == counted(0, 8));
  CHECK_FALSE(reader.is_done());
  stop.request_stop();  // in the midst of a wait
  CHECK(reader.is_done());
  REQUIRE(got.why.has_value());
  CHECK(got.why->code == errc::stopped);
  CHECK_FALSE(clock.next().has_value());
}

TEST_CASE("a stream that follows is closed in the midst of a wait, and destroyed in one") {
  auto source = reviews_in(2, 3);
  keyspan::manual_clock clock;
  feed changes{source};
  story got;
  {
    auto stream = changes.follow(clock, 10s).stream();
    auto const reader = read_pages(stream, got);
    CHECK_FALSE(reader.is_done());
    bool is_closed = false;
    auto const closer = close_it(stream, is_closed);
    CHECK(is_closed);
    CHECK(reader.is_done());
  }
  {
    auto stream = changes.follow(clock, 10s).stream();
    auto const reader = read_items(stream, got);
    CHECK(clock.next().has_value());
  }  // the clock lets itself be abandoned
  CHECK_FALSE(clock.next().has_value());
  source.write_many(2);
  CHECK(sorted(numbers_of(changes)) == counted(3, 5));
}

// --- allocations
// -----------------------------------------------------------------------------------

// Pages that lie there; every `suspends` of them is not ready.
struct lying_pages {
  using scheme_type = keyspan::cosmos_v2_scheme;
  using page_type = keyspan::page<int, std::span<int const>>;
  static constexpr bool abandonable = true;

  template <class T>
  struct answer {
    lying_pages& of;
    keyspan::result<T> value;
    bool suspends;
    bool await_ready() const { return !suspends; }
    void await_suspend(std::coroutine_handle<> suspended) { of.who = suspended; }
    keyspan::result<T>&& await_resume() { return std::move(value); }
  };

  std::string_view container() const { return "numbers"; }
  scheme_type scheme() const { return cosmos_v2; }
  answer<page_type> read(keyspan::token_range<token128> const&, keyspan::continuation const& from,
                         keyspan::read_request const&) {
    unsigned long const at = from.is_start() ? 0 : std::stoul(from.text());
    keyspan::result<page_type> made{std::in_place};
    made->items = items;
    char digits[8];
    char* const end = digits + 8;
    char* first = end;
    for (auto n = at + 1; n > 0; n /= 10) *--first = static_cast<char>('0' + n % 10);
    made->continuation.assign(first, end);
    return {*this, std::move(made), suspends};
  }
  answer<keyspan::partition_page<token128>> topology(std::string const& known) {
    keyspan::result<keyspan::partition_page<token128>> made{std::in_place};
    if (known.empty()) {
      made->partitions.push_back({"0", keyspan::whole_space(cosmos_v2), {}});
      made->version = "1";
    } else {
      made->not_modified = true;
    }
    return {*this, std::move(made), false};
  }

  bool suspends = false;
  std::coroutine_handle<> who{};
  std::vector<int> items = counted(0, 10);
};

TEST_CASE("a stream allocates nothing per item and per page") {
  for (bool const suspends : {false, true})
    for (bool const by_pages : {false, true}) {
      lying_pages source;
      source.suspends = suspends;
      feed changes{source};
      auto stream = changes.stream();
      long sum = 0;
      auto const read = [](auto& from, long& to, bool pages) -> running {
        for (;;) {
          if (pages) {
            auto* const page = co_await from.next_page();
            for (int const one : (*page)->items) to += one;
          } else {
            auto const item = co_await from.next();
            to += *item;
          }
          if (to >= 45 * 2'000) break;
        }
      };
      {
        auto const first = read(stream, sum, by_pages);
        for (int i = 0; i < 100; ++i)
          if (source.who) std::exchange(source.who, {}).resume();
        CHECK((first.is_done() || suspends));
        if (suspends) {
          CHECK(test::allocations_in([&] {
                  while (!first.is_done()) std::exchange(source.who, {}).resume();
                }) == 0);
        }
      }
      if (suspends) continue;
      sum = 0;
      CHECK(test::allocations_in([&] { CHECK(read(stream, sum, by_pages).is_done()); }) <= 1);
    }
}

}  // namespace

TEST_CASE("an item of a stream is an item, an error or the end") {
  int seven = 7;
  keyspan::stream_item<int> const item{&seven};
  CHECK((item && item.has_value() && *item == 7 && item.operator->() == &seven));
  keyspan::stream_item<int> const refused{keyspan::fail(keyspan::errc::throttled, "slowly")};
  CHECK((refused && !refused.has_value()));
  CHECK(refused.error().code == keyspan::errc::throttled);
  CHECK_THROWS_AS(*refused, keyspan::failed);
  keyspan::stream_item<int> const end;
  CHECK((!end && !end.has_value()));
}

TEST_CASE("a loop over awaited items does not end silently on an error") {
  keyspan::scripted_source<int, keyspan::cosmos_v2_scheme> source{cosmos_v2};
  for (int const one : {1, 2, 3}) source.write("redmond", one);
  source.fail_next(keyspan::error{keyspan::errc::throttled, "slowly"});
  feed changes{source};
  auto stream = changes.stream();
  auto const count = [](auto& from) -> keyspan::task<int> {
    int items = 0;
    while (auto const item = co_await from.next()) items += *item > 0;
    co_return items;
  };
  CHECK_THROWS_AS(keyspan::sync_wait(count(stream)), keyspan::failed);
  auto again = changes.stream();
  CHECK(keyspan::sync_wait(count(again)) == 3);
}
