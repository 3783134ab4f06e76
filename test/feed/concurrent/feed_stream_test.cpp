// test/feed/concurrent/feed_stream_test.cpp — feeds whose pages come on four threads, are stopped
// and closed from others, and divided among them.
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/feed/divide.hpp>
#include <keyspan/feed/feed.hpp>

#include "../journal.hpp"
#include "../pooled_source.hpp"

#include <async/operations.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::feed;
using test::counted;
using test::entry;
using test::pool;
using test::pooled_source;
using test::reviews_in;
using test::reviews_journal;
using test::sorted;

struct story {
  std::vector<int> numbers{};
  std::optional<keyspan::error> why{};
};

template <class Stream>
keyspan::task<story> read(Stream& stream, bool by_pages) {
  story to;
  for (;;) {
    if (by_pages) {
      auto* const page = co_await stream.next_page();
      if (page == nullptr) break;
      if (!*page) {
        to.why = page->error();
        continue;
      }
      for (entry const& one : (*page)->items) to.numbers.push_back(one.number);
    } else {
      auto item = co_await stream.next();
      if (item && !item.has_value()) to.why = item.error();
      if (!item.has_value()) break;
      to.numbers.push_back(item->number);
    }
  }
  co_return to;
}

TEST_CASE("a feed is read whose pages come on four threads, through splits") {
  for (bool const by_pages : {false, true}) {
    pool threads;
    auto source = reviews_in(4, 400);
    pooled_source pooled{source, threads};
    feed changes{pooled};
    auto stream = changes.stream();
    std::thread splits{[&] {
      for (char const* id : {"0", "2", "4", "6"}) {
        pooled.meanwhile([&](reviews_journal& journal) { journal.split_in_half(id); });
        std::this_thread::yield();
      }
    }};
    auto const got = keyspan::sync_wait(read(stream, by_pages));
    splits.join();
    CHECK_FALSE(got.why.has_value());
    CHECK(sorted(got.numbers) == counted(0, 400));
    CHECK(keeps_order_of_keys(source, got.numbers));
  }
}

TEST_CASE("plain loops block until another thread has the page") {
  pool threads;
  auto source = reviews_in(3, 200);
  pooled_source pooled{source, threads};
  feed changes{pooled};
  CHECK(sorted(test::numbers_of(changes)) == counted(0, 200));
}

TEST_CASE(
    "a stream that is stopped from another thread is closed by who reads, and nothing is lost") {
  for (int round = 0; round < 60; ++round) {
    pool threads;
    auto source = reviews_in(2, 300);
    pooled_source pooled{source, threads};
    keyspan::stop_source stop;
    feed changes{pooled, {.stop = stop.token()}};
    story got;
    {
      auto stream = changes.stream();
      std::thread reader{[&] { got = keyspan::sync_wait(read(stream, false)); }};
      for (int i = 0; i < round * 20; ++i) std::this_thread::yield();
      stop.request_stop();
      reader.join();
      keyspan::sync_wait(stream.close());
    }
    CHECK((got.why ? got.why->code == errc::stopped : got.numbers.size() == 300));
    feed resumed{pooled, {.start = changes.cursor()}};
    for (entry const& one : resumed) got.numbers.push_back(one.number);
    CHECK(sorted(got.numbers) == counted(0, 300));
  }
}

// Reads on by one page or one item; false at the end.
template <class Stream>
keyspan::task<bool> read_one(Stream& stream, bool by_pages, std::vector<int>& to) {
  if (by_pages) {
    auto* const page = co_await stream.next_page();
    if (page == nullptr) co_return false;
    for (entry const& one : (*page)->items) to.push_back(one.number);
  } else {
    auto item = co_await stream.next();
    if (!item) co_return false;
    to.push_back(item->number);
  }
  co_return true;
}

// Which of two comes first is for the machine to say in most rounds; in some it is the page, and in
// some the close.
constexpr int rounds = 620;
constexpr bool is_close_late(int round) { return round >= 600 && round % 2 == 0; }
constexpr bool is_page_late(int round) { return round >= 600 && round % 2 == 1; }
constexpr auto long_enough = std::chrono::milliseconds{3};

template <class Stream>
keyspan::task<> close_soon(Stream& stream, int round) {
  for (int i = 0; i < round % 20; ++i) std::this_thread::yield();
  if (is_close_late(round)) std::this_thread::sleep_for(long_enough);
  co_await stream.close();
}

struct race {
  std::vector<int> numbers{};
  bool is_given = false;
  bool has_ended = false;
};

// Asks for one more while somebody closes: it comes on another thread, at about that time.
template <class Stream>
keyspan::task<race> raced(Stream& stream, pool& threads, bool by_pages, int before, int round) {
  race to;
  for (int i = 0; i < before; ++i) co_await read_one(stream, by_pages, to.numbers);
  std::thread lets_go;
  if (is_page_late(round)) {
    threads.hold();
    lets_go = std::thread{[&threads] {
      std::this_thread::sleep_for(long_enough);
      threads.let_go();
    }};
  }
  auto both = when_all(read_one(stream, by_pages, to.numbers), close_soon(stream, round));
  auto const results = co_await std::move(both);
  if (lets_go.joinable()) lets_go.join();
  to.is_given = std::get<0>(results);
  to.has_ended = !co_await read_one(stream, by_pages, to.numbers);
  co_return to;
}

TEST_CASE("a page that comes at the moment of close() is handed out or comes again") {
  pool threads;
  int given = 0;
  int dropped = 0;
  for (int round = 0; round < rounds; ++round) {
    auto source = reviews_in(2, 12);
    pooled_source pooled{source, threads};
    feed changes{pooled};
    race got;
    {
      auto stream = changes.stream();
      got = keyspan::sync_wait(raced(stream, threads, true, round % 3, round));
    }
    ++(got.is_given ? given : dropped);
    CHECK(got.has_ended);
    for (entry const& one : changes) got.numbers.push_back(one.number);
    CHECK(sorted(got.numbers) == counted(0, 12));  // each once
  }
  CHECK(given > 0);
  CHECK(dropped > 0);
}

TEST_CASE("an item that comes at the moment of close() is good, and comes again") {
  pool threads;
  int given = 0;
  int dropped = 0;
  for (int round = 0; round < rounds; ++round) {
    auto source = reviews_in(2, 12);
    pooled_source pooled{source, threads};
    feed changes{pooled};
    race got;
    {
      auto stream = changes.stream();
      // The first of a page, which is awaited; the others are at hand.
      got = keyspan::sync_wait(raced(stream, threads, false, 3 * (round % 3), round));
    }
    ++(got.is_given ? given : dropped);
    CHECK(got.has_ended);
    if (got.is_given) got.numbers.pop_back();  // it was not left behind
    for (entry const& one : changes) got.numbers.push_back(one.number);
    CHECK(sorted(got.numbers) == counted(0, 12));
  }
  CHECK(given > 0);
  CHECK(dropped > 0);
}

// Tells who waits here for `rung` that it was resumed.
struct place_of_bell {
  std::coroutine_handle<>* place;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const { *place = suspended; }
  void await_resume() const noexcept {}
};
test::started ring(std::coroutine_handle<>& bell, std::atomic<bool>& rung) {
  place_of_bell const place{&bell};
  co_await place;
  rung = true;
  rung.notify_all();
}

TEST_CASE("an item is asked for on one thread, comes on another, and a third one closes") {
  pool threads;
  std::atomic<bool> rung = false;
  int given = 0;
  for (int round = 0; round < 400; ++round) {
    auto source = reviews_in(1, 6);
    pooled_source pooled{source, threads};
    feed changes{pooled};
    std::vector<int> numbers;
    {
      auto stream = changes.stream();
      std::coroutine_handle<> bell;
      rung = false;
      ring(bell, rung);
      std::atomic<bool> asked = false;
      std::thread reader{[&] {
        auto next = keyspan::detail::awaiter_of(stream.next());
        if (!next.await_ready() && next.await_suspend(bell)) {
          asked = true;  // from here on somebody else may close
          rung.wait(false);
        } else {
          bell.resume();
        }
        if (auto const item = next.await_resume()) numbers.push_back(item->number);
        asked = true;
      }};
      while (!asked) std::this_thread::yield();
      for (int i = 0; i < round % 20; ++i) std::this_thread::yield();
      if (round % 40 == 39) std::this_thread::sleep_for(long_enough);
      keyspan::sync_wait(stream.close());
      reader.join();
      CHECK_FALSE(static_cast<bool>(keyspan::sync_wait(stream.next())));
    }
    given += numbers == std::vector{0} ? 1 : 0;
    numbers.clear();  // it comes again
    for (entry const& one : changes) numbers.push_back(one.number);
    CHECK(sorted(numbers) == counted(0, 6));
  }
  CHECK(given > 0);
}

// Reads a page, and closes while the next one is on its way.
keyspan::task<std::size_t> read_a_little(pooled_source& source, int pages) {
  feed changes{source};
  auto stream = changes.stream();
  std::size_t seen = 0;
  for (int i = 0; i < pages; ++i)
    if (auto* const page = co_await stream.next_page(); page != nullptr && *page)
      seen += (*page)->items.size();
  co_await stream.close();
  co_return seen;
}

TEST_CASE("many feeds of one source are read and closed at the same time") {
  pool threads;
  auto source = reviews_in(3, 60);
  pooled_source pooled{source, threads};
  std::vector<std::thread> readers;
  std::vector<std::size_t> seen(4);
  for (std::size_t i = 0; i < seen.size(); ++i)
    readers.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round)
        seen[i] += keyspan::sync_wait(read_a_little(pooled, static_cast<int>(i) + 1));
    });
  for (auto& one : readers) one.join();
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == 20 * 3 * (i + 1));
}

TEST_CASE("a feed that is divided is read by four threads") {
  pool threads;
  auto source = reviews_in(3, 300);
  pooled_source pooled{source, threads};
  feed whole{pooled};
  auto const shares = keyspan::divide(whole, 4).value();
  std::vector<std::vector<int>> numbers(shares.size());
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < shares.size(); ++i)
    readers.emplace_back([&, i] {
      feed share{pooled, {.start = shares[i]}};
      auto stream = share.stream();
      numbers[i] = keyspan::sync_wait(read(stream, true)).numbers;
    });
  for (auto& one : readers) one.join();
  std::vector<int> all;
  for (auto const& some : numbers) all.insert(all.end(), some.begin(), some.end());
  CHECK(sorted(all) == counted(0, 300));
}

}  // namespace
