// test/merge/merged_stream_test.cpp — a merge awaited: stopped, closed and destroyed at every
// suspension, sources that fail, that are not sorted and that are silent, and what is held of them.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/other_orders.hpp>

#include "../feed/journal.hpp"
#include "shelves.hpp"
#include "worlds.hpp"

#include <catch2/catch_template_test_macros.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <async/deaths.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::as_they_come;
using keyspan::ascending;
using keyspan::by_time;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::merge_async;
using keyspan::on_failure;
using keyspan::token128;
using test::check;
using test::counted;
using test::entry;
using test::on_stop;
using test::placed;
using test::reviews_in;
using test::reviews_journal;
using test::running;
using test::shelves;
using test::sources_of;
using namespace std::chrono_literals;

using abandonable = test::suspending_source<reviews_journal, true>;
using pinned = test::suspending_source<reviews_journal, false>;
using pinned_merge = decltype(merge_async(std::declval<pinned&>(), ascending(&entry::number)));
static_assert(std::move_constructible<pinned_merge> && !std::copyable<pinned_merge>);
static_assert(keyspan::awaitable_of<decltype(std::declval<pinned_merge&>().next()),
                                    keyspan::stream_item<entry>>);

using story = test::merged_story<entry>;

std::vector<int> numbers_in(story const& of) {
  std::vector<int> numbers;
  for (auto const& one : of.items) numbers.push_back(one.number);
  return numbers;
}

struct change {
  int lsn;
  int value;
};

// [region: example]
keyspan::task<keyspan::result<int>> best_of(
    keyspan::scripted_source<change, keyspan::fast64_scheme>& container) {
  auto reader = merge_async(container, ascending(&change::lsn));
  int best = 0;
  keyspan::result<int> outcome = 0;
  while (auto* const batch = co_await reader.next_batch()) {
    if (!*batch) {
      outcome = keyspan::unexpected{batch->error()};  // the last that there is
      continue;
    }
    for (change const& one : **batch) best = std::max(best, one.value);
  }
  co_await reader.close();
  if (outcome) outcome = best;
  co_return outcome;
}
// [end: example]

TEST_CASE("the example of merged_stream reads as it should") {
  keyspan::scripted_source<change, keyspan::fast64_scheme> container{keyspan::fast64, 4};
  for (int n = 1; n <= 6; ++n) container.write("city " + std::to_string(n), change{n, n * 7 % 5});
  check(keyspan::sync_wait(best_of(container)).value() == 4);
  container.fail_next(keyspan::error{errc::throttled, "too much was asked"});
  check(keyspan::sync_wait(best_of(container)).error().code == errc::throttled);
}

// --- close, stop and destruction at every suspension
// ----------------------------------------------

// How many operations there are in a whole reading.
template <class Source>
std::size_t operations_of(reviews_journal journal, bool reads_ahead) {
  Source source{journal};
  story got;
  auto stream = merge_async(source, ascending(&entry::number), {.reads_ahead = reads_ahead});
  auto const reader = test::read_by_items(stream, got);
  std::size_t count = 0;
  for (; source.complete(); ++count) {
  }
  CHECK(reader.is_done());
  CHECK(numbers_in(got) == counted(0, static_cast<int>(journal.size())));
  return count;
}

reviews_journal splitting_journal() {
  auto made = reviews_in(3, 40);
  return made;
}

TEMPLATE_TEST_CASE("a merge is closed at every suspension, and ends there", "", abandonable,
                   pinned) {
  for (bool const reads_ahead : {false, true}) {
    std::size_t const all = operations_of<TestType>(splitting_journal(), reads_ahead);
    CHECK(all > 10);
    for (auto const when : {on_stop::ends_at_once, on_stop::ends_later, on_stop::goes_on})
      for (bool const by_batches : {false, true})
        for (std::size_t n = 0; n <= all; ++n) {
          auto journal = splitting_journal();
          journal.before_read = [&] {
            if (journal.reads.size() == 9) journal.split_in_half("1");
          };
          TestType source{journal};
          source.when_stopped = when;
          story got;
          auto stream = merge_async(source, ascending(&entry::number),
                                    {.batch_size = 4, .reads_ahead = reads_ahead});
          auto const reader = test::read_whole(stream, got, by_batches);
          for (std::size_t i = 0; i < n && source.complete(); ++i) {
          }
          bool is_closed = false;
          auto const closer = test::close_it(stream, is_closed);
          source.complete_all();
          CHECK(is_closed);
          CHECK(reader.is_done());
          CHECK(source.in_flight() == 0);
          CHECK_FALSE(got.why.has_value());
          // What was given is the beginning of all, and nothing is given any more.
          CHECK(numbers_in(got) == counted(0, static_cast<int>(got.items.size())));
          CHECK(keyspan::sync_wait(stream.next_batch()) == nullptr);
          CHECK_FALSE(static_cast<bool>(keyspan::sync_wait(stream.next())));
          bool is_closed_again = false;
          auto const again = test::close_it(stream, is_closed_again);
          CHECK(is_closed_again);
        }
  }
}

TEMPLATE_TEST_CASE("the token of a feed stops the merge at every suspension, as an error", "",
                   abandonable, pinned) {
  for (auto const policy : {on_failure::stop, on_failure::go_on})
    for (auto const when : {on_stop::ends_at_once, on_stop::ends_later, on_stop::goes_on})
      for (std::size_t n = 0;; ++n) {
        auto journal = splitting_journal();
        TestType source{journal};
        source.when_stopped = when;
        keyspan::stop_source stop;
        std::vector<feed<TestType>> feeds;
        feeds.emplace_back(source);
        feeds.emplace_back(source, keyspan::feed_request<token128>{.stop = stop.token()});
        story got;
        auto stream = merge_async(feeds, ascending(&entry::number), {.failure = policy});
        auto const reader = test::read_by_items(stream, got);
        for (std::size_t i = 0; i < n && source.complete(); ++i) {
        }
        bool const was_over = reader.is_done();
        stop.request_stop();
        source.complete_all();
        CHECK(reader.is_done());
        CHECK(source.in_flight() == 0);
        if (was_over) {
          CHECK_FALSE(got.why.has_value());
          CHECK(got.items.size() == 80);
          break;
        }
        REQUIRE(got.why.has_value());
        CHECK(got.why->code == errc::stopped);
        // That is as good as never: the next round is told the same.
        got = {};
        stream.again();
        auto const second = test::read_by_items(stream, got);
        source.complete_all();
        CHECK(second.is_done());
        REQUIRE(got.why.has_value());
        CHECK(got.why->code == errc::stopped);
        bool is_closed = false;
        auto const closer = test::close_it(stream, is_closed);
        CHECK(is_closed);
      }
}

TEST_CASE("each feed may have a token of its own, and any of them stops the merge") {
  for (std::size_t which = 0; which < 3; ++which) {
    std::vector<keyspan::stop_source> stops(3);
    std::vector<reviews_journal> sources(3, reviews_in(1, 9));
    std::vector<feed<reviews_journal>> feeds;
    for (std::size_t i = 0; i < 3; ++i)
      feeds.emplace_back(sources[i], keyspan::feed_request<token128>{.stop = stops[i].token()});
    auto stream =
        merge_async(feeds, ascending(&entry::number), {.batch_size = 2, .reads_ahead = false});
    CHECK(keyspan::sync_wait(stream.next())->number == 0);
    stops[which].request_stop();
    story got;
    CHECK(test::read_by_items(stream, got).is_done());
    REQUIRE(got.why.has_value());
    CHECK(got.why->code == errc::stopped);
  }
}

TEST_CASE("where sources can be abandoned a merge is destroyed at any suspension") {
  for (bool const reads_ahead : {false, true}) {
    std::size_t const all = operations_of<abandonable>(splitting_journal(), reads_ahead);
    for (bool const by_batches : {false, true})
      for (std::size_t n = 0; n <= all; ++n) {
        auto journal = splitting_journal();
        abandonable source{journal};
        story got;
        std::size_t in_flight = 0;
        {
          auto stream =
              merge_async(source, ascending(&entry::number), {.reads_ahead = reads_ahead});
          auto const reader = test::read_whole(stream, got, by_batches);
          for (std::size_t i = 0; i < n && source.complete(); ++i) {
          }
          in_flight = source.in_flight();
        }
        source.complete_all();
        CHECK(source.dropped == in_flight);
        CHECK(numbers_in(got) == counted(0, static_cast<int>(got.items.size())));
      }
  }
}

TEST_CASE("a merge with nothing in flight is destroyed at any time") {
  auto journal = reviews_in(3, 30);
  pinned source{journal};
  source.is_ready = true;
  for (int items = 0; items <= 30; ++items) {
    auto stream = merge_async(source, ascending(&entry::number));
    for (int i = 0; i < items; ++i) CHECK(keyspan::sync_wait(stream.next())->number == i);
  }
  auto const never_read = merge_async(source, ascending(&entry::number));
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("to destroy a merge whose sources cannot be abandoned, in flight, breaks a contract") {
  auto const words = test::last_words_of([] {
    auto journal = reviews_in(2, 10);
    pinned source{journal};
    story got;
    auto stream = std::make_unique<pinned_merge>(merge_async(source, ascending(&entry::number)));
    auto const reader = test::read_by_items(*stream, got);
    source.complete();
    stream.reset();
  });
  CHECK(words.find("before it is destroyed") != std::string::npos);
}
#endif

// Reads to its end, and ends with its stream.
running read_and_drop(std::unique_ptr<pinned_merge>& stream, story& to, bool closes) {
  while (auto item = co_await stream->next())
    if (item.has_value()) to.items.push_back(*item);
  if (closes) co_await stream->close();
  stream.reset();
}
running close_held(std::unique_ptr<pinned_merge>& stream, bool& is_closed) {
  co_await stream->close();
  is_closed = true;
}

TEST_CASE("who reads may close as well, and end with the stream while another one closes it") {
  for (bool const closes : {false, true})
    for (auto const when : {on_stop::ends_at_once, on_stop::ends_later, on_stop::goes_on})
      for (std::size_t n = 0; n < 30; ++n) {
        auto journal = reviews_in(4, 60);
        pinned source{journal};
        source.when_stopped = when;
        story got;
        auto stream =
            std::make_unique<pinned_merge>(merge_async(source, ascending(&entry::number)));
        auto const reader = read_and_drop(stream, got, closes);
        for (std::size_t i = 0; i < n; ++i) source.complete();
        if (reader.is_done()) break;
        bool is_closed = false;
        auto const closer = close_held(stream, is_closed);
        if (when != on_stop::ends_at_once) CHECK(is_closed == (source.in_flight() == 0));
        source.complete_all();
        CHECK(is_closed);
        CHECK(reader.is_done());
        CHECK(stream == nullptr);
      }
}

TEST_CASE("behind a close nothing is given, also not what of a batch was left") {
  auto source = reviews_in(3, 60);
  auto stream = merge_async(source, ascending(&entry::number));
  CHECK(keyspan::sync_wait(stream.next())->number == 0);
  CHECK(keyspan::sync_wait(stream.next())->number == 1);
  keyspan::sync_wait(stream.close());
  CHECK_FALSE(static_cast<bool>(keyspan::sync_wait(stream.next())));
  CHECK_FALSE(static_cast<bool>(keyspan::sync_wait(stream.next())));
  CHECK(keyspan::sync_wait(stream.next_batch()) == nullptr);
  CHECK(test::promise_broken_by([&] {
          stream.again();
          return 0;
        }) == "a stream that was closed is read no more");
}

TEST_CASE("a merge is read by batches or by items, not by both in turn") {
  auto source = reviews_in(3, 60);
  auto stream = merge_async(source, ascending(&entry::number));
  CHECK(keyspan::sync_wait(stream.next())->number == 0);
  CHECK(test::promise_broken_by([&] {
          static_cast<void>(stream.next_batch().operator co_await());
          return 0;
        }) == "a stream is read by batches or by items, not by both in turn");
}

TEST_CASE("behind the last item of a batch a stream may be read by batches") {
  auto source = reviews_in(3, 20);
  auto stream = merge_async(source, ascending(&entry::number), {.batch_size = 1});
  CHECK(keyspan::sync_wait(stream.next())->number == 0);
  auto* const batch = keyspan::sync_wait(stream.next_batch());
  REQUIRE(batch != nullptr);
  CHECK(batch->value()[0].number == 1);
}

TEST_CASE("a stream begins anew behind a batch, not in the middle of one") {
  auto source = reviews_in(2, 20);
  auto stream = merge_async(source, ascending(&entry::number));
  CHECK(keyspan::sync_wait(stream.next())->number == 0);
  CHECK(test::promise_broken_by([&] {
          stream.again();
          return 0;
        }) == "a stream begins anew behind its end, or behind an error");
  CHECK(keyspan::sync_wait(stream.next())->number == 1);
}

// Takes as many batches, or what there is.
template <class Stream>
void take_batches(Stream& stream, std::size_t most, std::vector<int>& given) {
  for (; most > 0; --most) {
    auto* const batch = keyspan::sync_wait(stream.next_batch());
    if (batch == nullptr) return;
    for (entry const& one : batch->value()) given.push_back(one.number);
  }
}

TEST_CASE("a stream by batches begins anew between any two of them, and loses nothing") {
  for (bool const reads_ahead : {false, true})
    for (std::size_t batches = 0; batches < 40; ++batches) {
      auto source = reviews_in(3, 40);
      auto stream = merge_async(source, ascending(&entry::number),
                                {.batch_size = 4, .reads_ahead = reads_ahead});
      std::vector<int> given;
      take_batches(stream, batches, given);
      stream.again();
      take_batches(stream, 100, given);
      CHECK(given == counted(0, 40));
    }
}

TEST_CASE("a cursor of a stream by batches stands behind the batch that was handed out") {
  auto source = reviews_in(3, 40);
  auto const order = ascending(&entry::number);
  for (std::size_t batches = 0; batches < 12; ++batches) {
    auto stream = merge_async(source, order, {.batch_size = 5});
    std::vector<int> given;
    take_batches(stream, batches, given);
    auto rest = merge_async(source, order, stream.cursor());
    take_batches(rest, 100, given);
    CHECK(given == counted(0, 40));
  }
}

TEST_CASE("a batch has room for an item") {
  auto source = reviews_in(3, 6);
  CHECK(test::promise_broken_by([&] {
          static_cast<void>(merge_async(source, ascending(&entry::number), {.batch_size = 0}));
          return 0;
        }) == "a batch has room for an item");
}

TEST_CASE("a merge that is moved goes on where it was") {
  auto source = reviews_in(3, 60);
  auto first = merge_async(source, ascending(&entry::number));
  for (int i = 0; i < 7; ++i) CHECK(keyspan::sync_wait(first.next())->number == i);
  auto second = std::move(first);
  for (int i = 7; i < 60; ++i) CHECK(keyspan::sync_wait(second.next())->number == i);
  CHECK_FALSE(static_cast<bool>(keyspan::sync_wait(second.next())));
}

TEST_CASE("a suspension comes where the page that is needed is not there, and no sooner") {
  auto journal = reviews_in(1, 30);
  pinned source{journal};
  feed changes{source, {.page_size = 10}};
  for (bool const reads_ahead : {false, true}) {
    story got;
    auto stream = merge_async(changes, ascending(&entry::number), {.reads_ahead = reads_ahead});
    auto const reader = test::read_by_items(stream, got);
    while (journal.reads.empty()) source.complete();
    std::size_t const before = journal.reads.size();
    CHECK(got.items.empty());
    source.complete();
    CHECK(got.items.size() == 10);
    CHECK(journal.reads.size() == before + 1);  // once the page has ended, or ahead of that
    source.complete_all();
    CHECK(got.items.size() == 30);
    journal.reads.clear();
  }
}

TEST_CASE("without reading ahead a page is asked for when the one before it was given") {
  auto source = reviews_in(1, 30);
  feed changes{source, {.page_size = 10}};
  for (bool const reads_ahead : {false, true}) {
    source.reads.clear();
    auto stream = merge_async(changes, ascending(&entry::number), {.reads_ahead = reads_ahead});
    for (int i = 0; i < 10; ++i) CHECK(keyspan::sync_wait(stream.next())->number == i);
    CHECK(source.reads.size() == (reads_ahead ? 2 : 1));
    CHECK(keyspan::sync_wait(stream.next())->number == 10);
    CHECK(source.reads.size() == (reads_ahead ? 3 : 2));
  }
}

// --- failures
// -------------------------------------------------------------------------------------

using keyed = placed<std::uint64_t>;

// Source i of k has i, i + k, i + 2k …
sources_of<std::uint64_t> dealt(std::size_t k, std::size_t each) {
  sources_of<std::uint64_t> made(k);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t n = 0; n < each; ++n) made[i].push_back({n * k + i, 0, 0});
  test::number(made);
  return made;
}
std::vector<std::uint64_t> keys_of(std::vector<keyed> const& items) {
  std::vector<std::uint64_t> keys;
  for (auto const& one : items) keys.push_back(one.key);
  return keys;
}
std::vector<std::uint64_t> all_keys(std::uint64_t count, std::uint64_t without = ~std::uint64_t{},
                                    std::uint64_t k = 1) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < count; ++i)
    if (i % k != without) keys.push_back(i);
  return keys;
}

TEST_CASE("a source that fails stops the merge behind what was there, and is asked again") {
  for (bool const reads_ahead : {false, true})
    for (std::size_t const when : {0U, 1U, 5U, 12U}) {
      shelves<std::uint64_t> source{dealt(4, 20)};
      auto stream = merge_async(source, ascending(&keyed::key), {.reads_ahead = reads_ahead});
      test::merged_story<keyed> got;
      source.fails = 2;
      for (std::size_t i = 0; i < when; ++i)
        got.items.push_back(*keyspan::sync_wait(stream.next()));
      source.failing.emplace(errc::throttled, "too much was asked");
      for (int attempt = 0; attempt < 3; ++attempt) {
        CHECK(test::read_by_items(stream, got).is_done());
        REQUIRE(got.why.has_value());
        CHECK(got.why->code == errc::throttled);
        CHECK(stream.failures().empty());
        CHECK(keys_of(got.items) == all_keys(got.items.size()));
        CHECK(got.items.size() < 80);
        CHECK_FALSE(static_cast<bool>(keyspan::sync_wait(stream.next())));
        stream.again();
      }
      source.failing.reset();
      got.why.reset();
      CHECK(test::read_by_items(stream, got).is_done());
      CHECK_FALSE(got.why.has_value());
      CHECK(keys_of(got.items) == all_keys(80));
    }
}

TEST_CASE("a merge goes on without a source that fails, tells of it, and asks it again") {
  for (bool const reads_ahead : {false, true}) {
    shelves<std::uint64_t> source{dealt(4, 20)};
    auto stream = merge_async(source, ascending(&keyed::key),
                              {.failure = on_failure::go_on, .reads_ahead = reads_ahead});
    source.fails = 2;
    source.failing.emplace(errc::throttled, "too much was asked");
    test::merged_story<keyed> got;
    CHECK(test::read_by_items(stream, got).is_done());
    CHECK_FALSE(got.why.has_value());
    CHECK(keys_of(got.items) == all_keys(80, 2, 4));
    REQUIRE(stream.failures().size() == 1);
    CHECK(stream.failures()[0].source == 2);
    CHECK(stream.failures()[0].why.code == errc::throttled);
    stream.again();
    CHECK(test::read_by_items(stream, got).is_done());
    CHECK(got.items.size() == 60);
    CHECK(stream.failures().size() == 1);  // of this round
    source.failing.reset();
    stream.again();
    CHECK(test::read_by_items(stream, got).is_done());
    CHECK(got.items.size() == 80);
    CHECK(stream.failures().empty());
    CHECK(got.items.back().source == 2);
  }
}

TEST_CASE("a list of partitions that cannot be had is the error of its feed") {
  std::vector<reviews_journal> sources;
  sources.push_back(reviews_in(2, 20));
  sources.push_back(reviews_in(2, 20));
  for (auto const policy : {on_failure::stop, on_failure::go_on}) {
    sources[0].topology_errors.emplace_back(errc::unavailable, "nobody knows");
    auto stream = merge_async(sources, ascending(&entry::number), {.failure = policy});
    story got;
    CHECK(test::read_by_items(stream, got).is_done());
    if (policy == on_failure::stop) {
      REQUIRE(got.why.has_value());
      CHECK(got.why->code == errc::unavailable);
      CHECK(got.items.empty());
    } else {
      CHECK_FALSE(got.why.has_value());
      REQUIRE(stream.failures().size() == 1);
      CHECK(stream.failures()[0].source == 0);
      CHECK(numbers_in(got) == counted(0, 20));
      got = {};
    }
    stream.again();
    got.why.reset();
    CHECK(test::read_by_items(stream, got).is_done());
    CHECK_FALSE(got.why.has_value());
    CHECK(got.items.size() == (policy == on_failure::stop ? 40 : 20));
  }
}

TEST_CASE("a request that makes no sense is the first result") {
  auto source = reviews_in(2, 20);
  auto kept = feed{source}.cursor();
  kept.container = "ratings";
  feed changes{source, {.start = kept}};
  auto stream = merge_async(changes, ascending(&entry::number));
  story got;
  CHECK(test::read_by_batches(stream, got).is_done());
  REQUIRE(got.why.has_value());
  CHECK(got.why->code == errc::wrong_container);
  CHECK(source.reads.empty());
}

// --- sources that are not sorted
// ------------------------------------------------------------------

template <class Stream>
std::string unsorted_words(Stream& stream, test::story_of<Stream>& got) {
  CHECK(test::read_by_items(stream, got).is_done());
  REQUIRE(got.why.has_value());
  CHECK(got.why->code == errc::out_of_order);
  return std::string{got.why->text.view()};
}

TEST_CASE("a source that is not sorted is told of, with its number and the two items") {
  // 30 behind 40, within a page, and where a new page begins.
  for (std::size_t const largest : {1U, 100U})
    for (bool const reads_ahead : {false, true})
      for (auto const policy : {on_failure::stop, on_failure::go_on}) {
        INFO("pages of " << largest << ", reads ahead " << reads_ahead);
        sources_of<std::uint64_t> items(3);
        for (std::uint64_t const key : {1U, 50U, 60U}) items[0].push_back({key, 0, 0});
        for (std::uint64_t const key : {10U, 40U, 30U, 45U, 70U}) items[1].push_back({key, 0, 0});
        test::number(items);
        shelves<std::uint64_t> source{items};
        source.largest_page = largest;
        auto stream = merge_async(source, ascending(&keyed::key),
                                  {.failure = policy, .reads_ahead = reads_ahead});
        test::merged_story<keyed> got;
        std::string const words = "source 1 gave 30 behind 40";
        if (policy == on_failure::stop) {
          for (int attempt = 0; attempt < 3; ++attempt) {
            CHECK(unsorted_words(stream, got) == words);
            CHECK(keys_of(got.items) == std::vector<std::uint64_t>{1, 10, 40});
            stream.again();  // it does not get better
          }
        } else {
          for (int attempt = 0; attempt < 3; ++attempt) {
            CHECK(test::read_by_items(stream, got).is_done());
            CHECK_FALSE(got.why.has_value());
            REQUIRE(stream.failures().size() == 1);
            CHECK(stream.failures()[0].source == 1);
            CHECK(stream.failures()[0].why.text.view() == words);
            CHECK(keys_of(got.items) == std::vector<std::uint64_t>{1, 10, 40, 50, 60});
            stream.again();
          }
        }
      }
}

TEST_CASE("a merge that what is not sorted has stopped asks nobody when it is tried again") {
  sources_of<std::uint64_t> items(2);
  for (std::uint64_t const key : {10U, 40U, 30U, 45U}) items[0].push_back({key, 0, 0});
  items[1].push_back({5, 0, 0});  // and has ended
  test::number(items);
  shelves<std::uint64_t> source{items};
  source.largest_page = 5;
  auto stream = merge_async(source, ascending(&keyed::key), {.reads_ahead = false});
  test::merged_story<keyed> got;
  CHECK(test::read_by_items(stream, got).is_done());
  CHECK(got.why.has_value());
  source.reads.clear();
  for (int attempt = 0; attempt < 3; ++attempt) {
    stream.again();
    CHECK(test::read_by_items(stream, got).is_done());
  }
  CHECK(source.reads.empty());
}

TEST_CASE("what a source that is not sorted has in flight is not wanted, whatever it is") {
  for (bool const fails : {false, true})
    for (auto const policy : {on_failure::stop, on_failure::go_on}) {
      sources_of<std::uint64_t> items(2);
      for (std::uint64_t const key : {1U, 50U, 60U, 70U}) items[0].push_back({key, 0, 0});
      for (std::uint64_t const key : {10U, 40U, 30U, 45U, 80U}) items[1].push_back({key, 0, 0});
      test::number(items);
      struct even_pages : shelves<std::uint64_t> {
        using shelves<std::uint64_t>::shelves;
        auto read(keyspan::token_range<token_type> const& range, keyspan::continuation const& from,
                  keyspan::read_request const& request) {
          auto answer = shelves<std::uint64_t>::read(range, from, request);
          while (answer.value && answer.value->items.size() < 3 && !answer.value->nothing_new)
            answer = shelves<std::uint64_t>::read(range, from, request);
          return answer;
        }
      } inner{items};
      inner.largest_page = 3;
      test::suspending_source<even_pages, true> source{inner};
      auto stream = merge_async(source, ascending(&keyed::key), {.failure = policy});
      test::merged_story<keyed> got;
      auto const reader = test::read_by_items(stream, got);
      while (source.in_flight() == 1) source.complete();
      source.complete();  // the first page of each
      if (fails) {
        inner.fails = 1;
        inner.failing.emplace(errc::throttled, "too much was asked");
      }
      source.complete();
      REQUIRE(source.in_flight() == 2);
      source.complete(1);
      source.complete_all();
      CHECK(reader.is_done());
      if (policy == on_failure::stop) {
        REQUIRE(got.why.has_value());
        CHECK(got.why->code == errc::out_of_order);
        stream.again();
        got.why.reset();
        auto const second = test::read_by_items(stream, got);
        source.complete_all();
        CHECK(second.is_done());
        REQUIRE(got.why.has_value());
        CHECK(got.why->text.view() == "source 1 gave 30 behind 40");
      } else {
        CHECK_FALSE(got.why.has_value());
        CHECK(keys_of(got.items) == std::vector<std::uint64_t>{1, 10, 40, 50, 60, 70});
        REQUIRE(stream.failures().size() == 1);
        CHECK(stream.failures()[0].why.text.view() == "source 1 gave 30 behind 40");
      }
    }
}

TEST_CASE("what is not sorted is shown by the column that tells so, whatever that is") {
  struct row {
    std::string name;
    double price;
    bool is_new;
    std::chrono::sys_seconds at;
  };
  using rows = keyspan::scripted_source<row, keyspan::fast64_scheme>;
  rows source{keyspan::fast64, 1};
  source.write("a", row{"b", 2.5, true, std::chrono::sys_seconds{2s}});
  source.write("a", row{"a", 1.5, false, std::chrono::sys_seconds{1s}});
  auto const words = [&](auto order) {
    auto stream = merge_async(source, order);
    test::merged_story<row> got;
    return unsorted_words(stream, got);
  };
  CHECK(words(ascending(&row::name)) == "source 0 gave \"a\" behind \"b\"");
  CHECK(words(ascending(&row::price).then(ascending(&row::name))) ==
        "source 0 gave 1.5 behind 2.5 in column 1");
  CHECK(words(ascending(&row::at)) == "source 0 gave 1 behind 2");
  CHECK(words(ascending([](row const& one) { return std::vector{one.price}; })) ==
        "source 0 gave an item behind an item");
}

// --- sources that throw
// ---------------------------------------------------------------------------

struct throwing : reviews_journal {
  using reviews_journal::reviews_journal;
  int throws = 0;
  auto read(range_type const& range, keyspan::continuation const& from,
            keyspan::read_request const& request) {
    if (throws > 0 && --throws == 0) throw std::runtime_error{"out of paper"};
    return reviews_journal::read(range, from, request);
  }
};

TEST_CASE("what a source throws passes through, and the merge goes on where it was") {
  for (bool const reads_ahead : {false, true})
    for (int when = 1; when <= 12; ++when) {
      throwing source{cosmos_v2, {cosmos_v2.boundary(1, 3), cosmos_v2.boundary(2, 3)}};
      source.write_many(30);
      auto stream = merge_async(source, ascending(&entry::number), {.reads_ahead = reads_ahead});
      story got;
      source.throws = when;
      bool was_thrown = false;
      try {
        while (auto item = keyspan::sync_wait(stream.next())) got.items.push_back(*item);
      } catch (std::runtime_error const& thrown) {
        was_thrown = std::string_view{thrown.what()} == "out of paper";
      }
      CHECK(was_thrown);
      CHECK(numbers_in(got) == counted(0, static_cast<int>(got.items.size())));
      CHECK_FALSE(static_cast<bool>(keyspan::sync_wait(stream.next())));
      stream.again();
      CHECK(test::read_by_items(stream, got).is_done());
      CHECK(numbers_in(got) == counted(0, 30));
    }
}

// --- sources that are followed
// --------------------------------------------------------------------

TEST_CASE("a merge that follows waits for who is silent, says for whom, and goes on") {
  for (bool const reads_ahead : {false, true}) {
    reviews_journal source{cosmos_v2};
    auto const half = cosmos_v2.boundary(1, 2);
    source.split_at("0", {half});
    // "key 0" … by the half that they are in.
    std::vector<std::string> left;
    std::vector<std::string> right;
    for (int i = 0; i < 20; ++i) {
      std::string const key = "key " + std::to_string(i);
      (keyspan::token_of(cosmos_v2, keyspan::partition_key{key}) < half ? left : right)
          .push_back(key);
    }
    REQUIRE((!left.empty() && !right.empty()));
    keyspan::manual_clock clock;
    keyspan::stop_source stop;
    feed changes{source, {.page_size = 2, .stop = stop.token()}};
    auto stream = merge_async(changes, ascending(&entry::number), keyspan::following{clock, 1s},
                              {.reads_ahead = reads_ahead});
    story got;
    auto const reader = test::read_by_items(stream, got);
    CHECK(stream.waits_for() == std::vector<std::size_t>{0, 1});
    for (int i = 0; i < 5; ++i) source.write(left[0]);
    clock.advance(1s);
    CHECK(got.items.empty());
    CHECK(stream.waits_for() == std::vector<std::size_t>{1});
    clock.advance(10s);
    CHECK(got.items.empty());
    source.write(right[0]);  // 5
    clock.advance(1s);
    CHECK(numbers_in(got) == counted(0, 5));  // of the left one may come what is before 5
    CHECK(stream.waits_for() == std::vector<std::size_t>{0});
    source.write(left[0]);  // 6
    clock.advance(1s);
    CHECK(numbers_in(got) == counted(0, 6));
    CHECK(stream.waits_for() == std::vector<std::size_t>{1});
    source.split_in_half("1");
    source.write(right[0]);  // 7
    clock.advance(1s);
    CHECK(numbers_in(got) == counted(0, 7));  // the left one is silent, and so is a part
    for (int i = 0; i < 4; ++i) {
      for (auto const& key : left) source.write(key);
      for (auto const& key : right) source.write(key);
    }
    clock.advance(5s);
    CHECK(got.items.size() > 40);
    CHECK(numbers_in(got) == counted(0, static_cast<int>(got.items.size())));
    CHECK_FALSE(reader.is_done());
    stop.request_stop();
    CHECK(reader.is_done());
    REQUIRE(got.why.has_value());
    CHECK(got.why->code == errc::stopped);
    CHECK_FALSE(clock.next().has_value());
  }
}

TEST_CASE("a merge that follows is not said to wait for who cannot have the next item") {
  shelves<std::uint64_t> source{[] {
    sources_of<std::uint64_t> items(3);
    items[0] = {{1, 0, 0}, {10, 0, 0}};
    items[1] = {{30, 0, 0}};
    items[2] = {{20, 0, 0}, {40, 0, 0}};
    test::number(items);
    return items;
  }()};
  keyspan::manual_clock clock;
  auto stream = merge_async(source, ascending(&keyed::key), keyspan::following{clock, 1s});
  test::merged_story<keyed> got;
  auto const reader = test::read_by_items(stream, got);
  clock.advance(60s);
  CHECK(keys_of(got.items) == std::vector<std::uint64_t>{1, 10});
  // 20 is there, and only what is before it is waited for: nothing before 30 comes of source 1.
  CHECK(stream.waits_for() == std::vector<std::size_t>{0});
}

TEST_CASE("a merge that follows ends at the deadline of a feed, whatever its policy") {
  for (auto const policy : {on_failure::stop, on_failure::go_on}) {
    auto source = reviews_in(2, 0);
    keyspan::manual_clock clock;
    feed changes{source, {.deadline = keyspan::instant{} + 5s}};
    auto stream = merge_async(changes, ascending(&entry::number), keyspan::following{clock, 2s},
                              {.failure = policy});
    story got;
    auto const reader = test::read_by_items(stream, got);
    clock.advance(4s);
    CHECK_FALSE(reader.is_done());
    CHECK(clock.next() == keyspan::instant{} + 5s);
    clock.advance(1s);
    CHECK(reader.is_done());
    REQUIRE(got.why.has_value());
    CHECK(got.why->code == errc::timed_out);
  }
}

TEST_CASE("a merge that follows is closed and destroyed in the midst of a wait") {
  auto source = reviews_in(2, 3);
  keyspan::manual_clock clock;
  story got;
  {
    auto stream = merge_async(source, as_they_come, keyspan::following{clock, 10s});
    auto const reader = test::read_by_batches(stream, got);
    CHECK(got.items.size() == 3);
    CHECK(stream.waits_for().size() == 2);
    bool is_closed = false;
    auto const closer = test::close_it(stream, is_closed);
    CHECK(is_closed);
    CHECK(reader.is_done());
    CHECK_FALSE(clock.next().has_value());
  }
  {
    auto stream = merge_async(source, as_they_come, keyspan::following{clock, 10s});
    auto const reader = test::read_by_items(stream, got);
    CHECK(clock.next().has_value());
  }
  CHECK_FALSE(clock.next().has_value());
}

TEST_CASE("a merge that follows goes on without who fails, and asks again each time it would") {
  auto source = reviews_in(2, 0);
  auto const range = source.live()[1].range;
  bool is_away = false;
  int asked = 0;
  source.before_read = [&] {
    if (!is_away || !range.contains(source.reads.back().range)) return;
    ++asked;
    source.read_errors.emplace_back(errc::unavailable, "nobody is there");
  };
  keyspan::manual_clock clock;
  keyspan::stop_source stop;
  feed changes{source, {.stop = stop.token()}};
  auto stream = merge_async(changes, as_they_come, keyspan::following{clock, 1s},
                            {.failure = on_failure::go_on});
  story got;
  auto const reader = test::read_by_items(stream, got);
  auto const second = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) clock.advance(1s);
  };
  second(2);
  is_away = true;
  source.write_many(40);
  second(2);
  REQUIRE(stream.failures().size() == 1);
  CHECK(stream.failures()[0].source == 1);
  CHECK(got.items.size() == 40 - source.numbers_in(range).size());
  asked = 0;
  second(3);
  CHECK(asked == 3);
  CHECK(stream.failures().size() == 1);
  // The others split meanwhile: the number of the source is that of the moment.
  source.split_in_half(source.live()[0].id);
  second(2);
  REQUIRE(stream.failures().size() == 1);
  CHECK(stream.failures()[0].source == 2);
  // Whoever was away may have been split as well.
  source.split_in_half("1");
  is_away = false;
  second(2);
  CHECK(stream.failures().empty());
  CHECK(test::sorted(numbers_in(got)) == counted(0, 40));
  source.write_many(20);
  second(2);
  CHECK(test::sorted(numbers_in(got)) == counted(0, 60));
  is_away = true;
  source.split_in_half(source.live().back().id);
  second(2);
  stop.request_stop();
  CHECK(reader.is_done());
  REQUIRE(got.why.has_value());
  CHECK(got.why->code == errc::stopped);
}

TEST_CASE("a feed that cannot be opened holds nobody up whose partitions split meanwhile") {
  std::deque<reviews_journal> sources;
  for (int i = 0; i < 40; ++i) sources.push_back(reviews_in(1, 1));
  keyspan::manual_clock clock;
  keyspan::stop_source stop;
  std::vector<feed<reviews_journal>> feeds;
  for (auto& one : sources)
    feeds.emplace_back(one, keyspan::feed_request<keyspan::token128>{.stop = stop.token()});
  for (int i = 0; i < 30; ++i)
    sources.back().topology_errors.emplace_back(errc::unavailable, "nobody is there");
  auto const minutes = [](entry const& one) { return one.number; };
  auto stream = merge_async(feeds, keyspan::by_time(minutes), keyspan::following{clock, 1s},
                            {.failure = on_failure::go_on});
  story got;
  auto const reader = test::read_by_items(stream, got);
  for (int i = 0; i < 3; ++i) clock.advance(1s);
  CHECK(got.items.size() == 1);  // behind it each source may still have an earlier one
  sources.front().split_in_half("0");
  for (auto& one : sources) one.write_many(40);
  for (int i = 0; i < 4; ++i) clock.advance(1s);
  CHECK(got.items.size() > 20 * 39);
  CHECK(stream.failures().size() == 1);
  stop.request_stop();
  CHECK(reader.is_done());
}

TEST_CASE("a source that fails or throws while it is followed is asked again in the next round") {
  for (bool const throws : {false, true}) {
    throwing source{cosmos_v2, {cosmos_v2.boundary(1, 2)}};
    keyspan::manual_clock clock;
    auto stream = merge_async(source, as_they_come, keyspan::following{clock, 1s});
    story got;
    running reader = [](auto& from, story& to, bool& was_thrown) -> running {
      try {
        while (auto item = co_await from.next()) {
          if (!item.has_value()) {
            to.why = item.error();
            break;
          }
          to.items.push_back(*item);
        }
      } catch (std::runtime_error const&) {
        was_thrown = true;
      }
    }(stream, got, source.tells_end_with_items);
    bool& was_thrown = source.tells_end_with_items;
    if (throws) {
      source.throws = 1;
    } else {
      source.read_errors.emplace_back(errc::unavailable, "nobody is there");
    }
    clock.advance(1s);
    CHECK(reader.is_done());
    CHECK(was_thrown == throws);
    CHECK(got.why.has_value() != throws);
    was_thrown = false;
    got = {};
    source.write_many(20);
    stream.again();
    auto const second = test::read_by_items(stream, got);
    clock.advance(30s);
    CHECK(test::sorted(numbers_in(got)) == counted(0, 20));
  }
}

TEST_CASE("a merge of many feeds is asked again while some of them are still opening") {
  for (int const count : {4, 16, 17, 18, 40}) {
    INFO("of " << count);
    using late_source = test::suspending_source<reviews_journal, false>;
    std::vector<reviews_journal> all;
    for (int i = 0; i < count; ++i) all.push_back(reviews_in(1, 2));
    all[1].topology_errors.push_back(keyspan::error{errc::unavailable, "away"});
    std::list<late_source> late;
    std::vector<feed<late_source>> feeds;
    for (auto& one : all)
      feeds.emplace_back(late.emplace_back(one), keyspan::feed_request<keyspan::token128>{});
    auto merged = merge_async(feeds, ascending(&entry::number));
    test::merged_story<entry> got;
    auto const first = test::read_by_items(merged, got);
    late.front().complete_all();              // is open,
    std::next(late.begin())->complete_all();  // and the second one fails
    REQUIRE(first.is_done());
    CHECK(got.why);
    merged.again();
    auto const second = test::read_by_items(merged, got);
    for (bool is_any = true; is_any;) {
      is_any = false;
      for (auto& one : late) is_any = one.complete() || is_any;
    }
    CHECK(second.is_done());
    CHECK(got.items.size() == 2 * static_cast<std::size_t>(count));
  }
}

TEST_CASE("a feed that fails is not waited for beyond its deadline") {
  keyspan::manual_clock clock;
  auto source = reviews_in(1, 0);
  for (int i = 0; i < 1000; ++i)
    source.read_errors.push_back(keyspan::error{errc::unavailable, "away"});
  std::vector<feed<reviews_journal>> feeds;
  feeds.emplace_back(source, keyspan::feed_request<keyspan::token128>{
                                 .deadline = keyspan::instant_after(clock.now(), 10s)});
  auto merged = merge_async(feeds, ascending(&entry::number), keyspan::following{clock, 1h},
                            {.failure = on_failure::go_on});
  story got;
  auto const loop = test::read_by_items(merged, got);
  CHECK_FALSE(got.why.has_value());
  clock.advance(11s);
  REQUIRE(got.why.has_value());
  CHECK(got.why->code == errc::timed_out);
  CHECK(loop.is_done());
}

TEST_CASE("a merge that is asked again still says whom it goes on without") {
  keyspan::manual_clock clock;
  keyspan::stop_source stop;
  std::vector<reviews_journal> all;
  all.push_back(reviews_in(1, 2));
  all.push_back(reviews_in(1, 2));
  for (int i = 0; i < 1000; ++i)
    all[0].read_errors.push_back(keyspan::error{errc::unavailable, "away"});
  all[1].read_errors.push_back(keyspan::error{errc::stopped, "asked to stop"});
  std::vector<feed<reviews_journal>> feeds;
  for (auto& one : all)
    feeds.emplace_back(one, keyspan::feed_request<keyspan::token128>{.stop = stop.token()});
  auto merged = merge_async(feeds, ascending(&entry::number), keyspan::following{clock, 1h},
                            {.failure = on_failure::go_on});
  test::merged_story<entry> got;
  auto const first = test::read_by_items(merged, got);
  REQUIRE(first.is_done());
  CHECK(got.why);
  CHECK(merged.failures().size() == 1);
  merged.again();
  auto const second = test::read_by_items(merged, got);
  CHECK(merged.failures().size() == 1);
  stop.request_stop();
  CHECK(second.is_done());
}

}  // namespace
