// test/async/concurrent/async_stream_test.cpp — streams whose operations end on other threads, also
// while they are being closed.
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>

#include <async/concurrent/pool.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <coroutine>
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
async_stream<int> one_late_item(pool& on) {
  co_await on.hop();
  co_yield 1;
}

task<int> raced(pool& on, int delay) {
  auto stream = one_late_item(on);
  auto const first = [](async_stream<int>& from) -> task<int> {
    int const* const item = co_await from.next();
    co_return item != nullptr ? 1 : 0;  // where it is there the stream may be closed already
  };
  auto const close_soon = [](async_stream<int>& of, int turns) -> task<> {
    for (int i = 0; i < turns; ++i) std::this_thread::yield();
    co_await of.close();
  };
  auto both = when_all(first(stream), close_soon(stream, delay));
  auto const results = co_await std::move(both);
  co_return std::get<0>(results);
}

TEST_CASE("an item that comes at the moment of close() is given or dropped, and all are resumed") {
  pool on;
  int given = 0;
  for (int round = 0; round < 2000; ++round) given += sync_wait(raced(on, round % 20));
  INFO(given << " of 2000 came in time");
  CHECK(given <= 2000);
}

}  // namespace
