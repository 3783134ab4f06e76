// test/async/concurrent/async_stream_test.cpp — streams whose operations end on other threads, also
// while they are being closed.
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>

#include <async/concurrent/pool.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

namespace {

using keyspan::async_stream;
using keyspan::own_stop_token;
using keyspan::stop_token;
using keyspan::sync_wait;
using keyspan::task;
using keyspan::when_all;
using test::pool;

async_stream<int> hopping(pool& on, int n) {
  for (int i = 1; i <= n; ++i) {
    if (i % 3 != 0) co_await on.hop();
    co_yield i;
  }
}

task<long> sum_of(async_stream<int> from) {
  long sum = 0;
  while (int const* item = co_await from.next()) sum += *item;
  co_return sum;
}

TEST_CASE("a stream that hops from thread to thread gives every item once") {
  pool on;
  CHECK(sync_wait(sum_of(hopping(on, 2000))) == 2000L * 2001 / 2);
}

TEST_CASE("a stream is asked for each item from outside, and answers from four threads") {
  pool on;
  auto stream = hopping(on, 500);
  long sum = 0;
  while (int const* item = sync_wait(stream.next())) sum += *item;
  CHECK(sum == 500L * 501 / 2);
}

// Ends as soon as stop is requested, on a thread of the pool.
class ends_when_stopped {
 public:
  ends_when_stopped(pool& on, stop_token stop) : on_{on}, stop_{std::move(stop)} {}
  ends_when_stopped(ends_when_stopped const&) = delete;
  ends_when_stopped& operator=(ends_when_stopped const&) = delete;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> suspended) {
    told_.emplace(stop_, posting{&on_, suspended});
  }
  void await_resume() const {}

 private:
  struct posting {
    pool* on;
    std::coroutine_handle<> suspended;
    void operator()() const { on->post(suspended); }
  };

  pool& on_;
  stop_token stop_;
  std::optional<keyspan::stop_callback<posting>> told_{};
};

async_stream<int> until_stopped(pool& on, int items, std::atomic<int>& ended) {
  stop_token const stop = co_await own_stop_token;
  for (int i = 1; i <= items; ++i) {
    co_await on.hop();
    co_yield i;
  }
  // A variable of its own: as a temporary, g++ 12 would copy it.
  ends_when_stopped stopped{on, stop};
  co_await stopped;
  ++ended;
  if (items % 2 == 0) co_yield -1;  // nobody wants it any more
}

task<bool> is_null(async_stream<int>& from) { co_return co_await from.next() == nullptr; }

task<> close_elsewhere(pool& on, async_stream<int>& stream) {
  co_await on.hop();
  co_await stream.close();
}

task<int> consumed_and_closed(pool& on, std::atomic<int>& ended, int items) {
  auto stream = until_stopped(on, items, ended);
  int sum = 0;
  for (int i = 0; i < items; ++i) {
    int const* const item = co_await stream.next();
    sum += *item;
  }
  auto both = when_all(is_null(stream), close_elsewhere(on, stream));
  auto const results = co_await std::move(both);
  co_return std::get<0>(results) ? sum : -1;
}

TEST_CASE("a stream is closed on one thread while its operation ends on another") {
  pool on;
  std::atomic<int> ended = 0;
  for (int round = 0; round < 500; ++round) {
    int const items = 1 + round % 2;
    CHECK(sync_wait(consumed_and_closed(on, ended, items)) == (items == 1 ? 1 : 3));
  }
  CHECK(ended == 500);
}

// The operation ends on its own, at about the time when close() is called.
async_stream<int> one_late_item(pool& on, int item, std::atomic<int>& alive) {
  struct counted {
    explicit counted(std::atomic<int>& of) : alive{of} { ++alive; }
    ~counted() { --alive; }
    counted(counted const&) = delete;
    counted& operator=(counted const&) = delete;
    std::atomic<int>& alive;
  };
  counted const here{alive};
  co_await on.hop();
  co_yield item;
}

// Reads the item while it is being received, which a close waits for.
class value_of_next {
 public:
  explicit value_of_next(async_stream<int>& from)
      : next_{keyspan::detail::awaiter_of(from.next())} {}
  bool await_ready() { return next_.await_ready(); }
  auto await_suspend(std::coroutine_handle<> who) { return next_.await_suspend(who); }
  int await_resume() {
    return next_.received_by([](int const* item) { return item != nullptr ? *item : 0; }, [] {});
  }

 private:
  decltype(keyspan::detail::awaiter_of(std::declval<async_stream<int>&>().next())) next_;
};

// Which of two comes first is for the machine to say in most rounds; in some it is the item, and in
// some the close.
constexpr int rounds = 4020;
constexpr bool is_close_late(int round) { return round > 4000 && round % 2 == 0; }
constexpr bool is_item_late(int round) { return round > 4000 && round % 2 == 1; }
constexpr auto long_enough = std::chrono::milliseconds{3};

task<> close_soon(async_stream<int>& of, int round) {
  for (int i = 0; i < round % 20; ++i) std::this_thread::yield();
  if (is_close_late(round)) std::this_thread::sleep_for(long_enough);
  co_await of.close();
}

task<int> raced(pool& on, int round, std::atomic<int>& alive) {
  auto stream = one_late_item(on, round, alive);
  auto const value = [](async_stream<int>& from) -> task<int> {
    value_of_next next{from};
    co_return co_await next;
  };
  std::thread lets_go;
  if (is_item_late(round)) {
    on.hold();
    lets_go = std::thread{[&on] {
      std::this_thread::sleep_for(long_enough);
      on.let_go();
    }};
  }
  auto both = when_all(value(stream), close_soon(stream, round));
  auto const results = co_await std::move(both);
  if (lets_go.joinable()) lets_go.join();
  co_return std::get<0>(results);
}

TEST_CASE("an item that comes at the moment of close() is whole or null, and the stream is gone") {
  pool on;
  std::atomic<int> alive = 0;
  int given = 0;
  int dropped = 0;
  for (int round = 1; round <= rounds; ++round) {
    int const got = sync_wait(raced(on, round, alive));
    if (got != 0 && got != round) FAIL("item " << round << " was received as " << got);
    ++(got != 0 ? given : dropped);
    if (alive != 0) FAIL("the coroutine is still there");
  }
  CHECK(given > 0);
  CHECK(dropped > 0);
}

// The same awaited on a thread of its own: asked for here, closed there, and done on a third.
TEST_CASE("an item is awaited on one thread, and comes on another while a third one closes") {
  pool on{1};
  std::atomic<int> alive = 0;
  std::atomic<int> got = -1;
  for (int round = 1; round <= 400; ++round) {
    got = -1;
    auto stream = one_late_item(on, round, alive);
    value_of_next next{stream};
    std::atomic<int> asked = 0;
    struct told {
      struct promise_type {
        told get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
      };
    };
    auto const wait = [](value_of_next& of, std::atomic<int>& to) -> told {
      int const value = co_await of;
      to = value;
      to.notify_all();
    };
    std::thread reader{[&] {
      wait(next, got);
      asked = 1;
    }};
    while (asked == 0) std::this_thread::yield();
    for (int i = 0; i < round % 10; ++i) std::this_thread::yield();
    sync_wait(stream.close());
    got.wait(-1);
    reader.join();
    if (got != 0 && got != round) FAIL("item " << round << " was received as " << got);
    if (alive != 0) FAIL("the coroutine is still there");
  }
  SUCCEED();
}

}  // namespace
