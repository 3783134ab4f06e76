// test/async/concurrent/asio_test.cpp — Boost.Asio, as an example of other people's work: awaited
// through completion_of, stopped, and made a clock.

// Asio's fences are nothing that ThreadSanitizer knows, and beside its locks nobody needs them.
#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif
#endif

#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>

#include <async/held.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/error_code.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::result;
using keyspan::task;

// An io_context and the threads that run it.
class running_context {
 public:
  explicit running_context(int threads = 1) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { io.run(); });
  }
  running_context(running_context const&) = delete;
  running_context& operator=(running_context const&) = delete;
  ~running_context() {
    work_.reset();
    for (auto& thread : threads_) thread.join();
  }

  bool runs_here() const {
    for (auto const& thread : threads_)
      if (thread.get_id() == std::this_thread::get_id()) return true;
    return false;
  }

  asio::io_context io{};

 private:
  asio::executor_work_guard<asio::io_context::executor_type> work_{io.get_executor()};
  std::vector<std::thread> threads_{};
};

// [region: timer]
keyspan::task<boost::system::error_code> expiry(asio::steady_timer& timer) {
  auto const ec = co_await keyspan::completion_of<boost::system::error_code>(
      [&](auto done) { timer.async_wait(done); });
  co_return ec;  // on a thread that runs the timer's io_context
}
// [end: timer]

TEST_CASE("a timer of Asio is awaited, and who awaits goes on on the thread that runs it") {
  asio::io_context io;
  std::optional<std::thread::id> went_on_in;
  auto const run = [](asio::io_context& in, auto& where) -> test::held {
    asio::steady_timer timer{in, 2ms};
    auto const ec = co_await expiry(timer);
    if (!ec) where = std::this_thread::get_id();
  };
  auto const waiting = run(io, went_on_in);
  std::thread runner{[&] { io.run(); }};
  auto const there = runner.get_id();
  runner.join();
  CHECK(went_on_in == there);
}

// [region: post]
keyspan::task<> move_to(asio::io_context& io) {
  co_await keyspan::completion_of<void>([&](auto done) { asio::post(io, done); });
}
// [end: post]

TEST_CASE("a posted handler completes on another thread, and the coroutine goes on there") {
  asio::io_context io;
  std::optional<std::thread::id> went_on_in;
  auto const run = [](asio::io_context& in, auto& where) -> test::held {
    co_await move_to(in);
    where = std::this_thread::get_id();
  };
  auto const waiting = run(io, went_on_in);
  std::thread runner{[&] { io.run(); }};
  auto const there = runner.get_id();
  runner.join();
  CHECK(went_on_in == there);
}

TEST_CASE("a coroutine is sent from one thread of Asio's to another") {
  running_context first;
  running_context second;
  auto const run = [](running_context& a, running_context& b) -> task<int> {
    int hops = 0;
    for (int i = 0; i < 500; ++i) {
      co_await move_to(a.io);
      if (a.runs_here()) ++hops;
      co_await move_to(b.io);
      if (b.runs_here()) ++hops;
    }
    co_return hops;
  };
  int const hops = keyspan::sync_wait(run(first, second));
  // A handler may run before the start has returned: who awaits then stays on its thread.
  CHECK(hops <= 1'000);
}

TEST_CASE("many coroutines on four threads each get what they waited for") {
  running_context on{4};
  auto const count = [](running_context& in, int& mine) -> task<int> {
    for (int i = 0; i < 500; ++i) {
      mine += co_await keyspan::completion_of<int>(
          [&](auto done) { asio::post(in.io, [done] { done(1); }); });
    }
    co_return mine;
  };
  int counts[4]{};
  auto const all = keyspan::sync_wait(when_all(count(on, counts[0]), count(on, counts[1]),
                                               count(on, counts[2]), count(on, counts[3])));
  CHECK(all == std::tuple{500, 500, 500, 500});
}

// [region: clock]
class asio_clock {
 public:
  explicit asio_clock(asio::io_context& io) : io_{&io} {}

  keyspan::instant now() const { return std::chrono::steady_clock::now(); }

  keyspan::task<keyspan::result<void>> wait_until(keyspan::instant due,
                                                  keyspan::stop_token stop) const {
    if (stop.stop_requested()) co_return keyspan::fail(keyspan::errc::stopped, "not begun");
    // A timer may be used by one thread at a time: a strand of its own sees to that, and keeps the
    // order of what is posted to it. Handlers share the timer, as the last may outlive the wait.
    auto const strand = asio::make_strand(*io_);
    auto const timer = std::make_shared<asio::steady_timer>(strand, due);
    auto const cancel = [strand, timer] { asio::post(strand, [timer] { timer->cancel(); }); };
    std::optional<keyspan::stop_callback<decltype(cancel)>> on_stop;

    auto const ec = co_await keyspan::completion_of<boost::system::error_code>([&](auto done) {
      asio::post(strand, [timer, done] { timer->async_wait(done); });
      on_stop.emplace(stop, cancel);  // behind the start, so that there is something to cancel
    });
    if (ec) co_return keyspan::fail(keyspan::errc::stopped, "the timer was cancelled");
    co_return keyspan::result<void>{};
  }

 private:
  asio::io_context* io_;
};
static_assert(keyspan::clock<asio_clock>);
// [end: clock]

TEST_CASE("a clock made of Asio's timer keeps the laws of a clock") {
  running_context on;
  asio_clock const clock{on.io};
  SECTION("a wait ends at its moment or later") {
    auto const begun = clock.now();
    CHECK(keyspan::sync_wait(keyspan::wait_for(clock, 10ms)).has_value());
    CHECK(clock.now() >= begun + 10ms);
    CHECK(keyspan::sync_wait(clock.wait_until(begun, {})).has_value());
  }
  SECTION("a stop that was requested before ends it, also where it is for the past") {
    keyspan::stop_source source;
    source.request_stop();
    auto const waited = keyspan::sync_wait(clock.wait_until({}, source.token()));
    REQUIRE(!waited);
    CHECK(waited.error().code == errc::stopped);
  }
  SECTION("a stop ends it at once") {
    keyspan::stop_source source;
    std::thread stopper{[&] {
      std::this_thread::sleep_for(2ms);
      source.request_stop();
    }};
    auto const waited = keyspan::sync_wait(keyspan::wait_for(clock, 1h, source.token()));
    stopper.join();
    REQUIRE(!waited);
    CHECK(waited.error().code == errc::stopped);
  }
}

TEST_CASE("a wait by Asio's timer ends once, whether the moment or the stop comes first") {
  running_context on{2};
  asio_clock const clock{on.io};
  int reached = 0;
  int stopped = 0;
  for (int round = 0; round < 400; ++round) {
    keyspan::stop_source source;
    auto const due = clock.now() + 200us;
    std::thread stopper{[&] {
      while (clock.now() < due - 50us) std::this_thread::yield();
      source.request_stop();
    }};
    auto const waited = keyspan::sync_wait(clock.wait_until(due, source.token()));
    stopper.join();
    ++(waited ? reached : stopped);
  }
  CHECK(reached + stopped == 400);
}

TEST_CASE("an exception travels from Asio's thread to who waits for the task") {
  running_context on;
  auto const run = [](running_context& in) -> task<int> {
    co_await move_to(in.io);
    throw std::runtime_error{"there"};
  };
  CHECK_THROWS_AS(keyspan::sync_wait(run(on)), std::runtime_error);
}

TEST_CASE("an io_context that goes drops its handlers, and who waits for them can be destroyed") {
  auto io = std::make_unique<asio::io_context>();
  auto const run = [](asio::io_context& in) -> test::held { co_await move_to(in); };
  auto const waiting = run(*io);
  io.reset();
  CHECK(!waiting.is_done());
}

}  // namespace
