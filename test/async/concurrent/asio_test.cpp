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
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

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
#include <coroutine>
#include <exception>
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
  ~running_context() { end(); }

  void end() {
    work_.reset();
    for (auto& thread : std::exchange(threads_, {})) thread.join();
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
class move_to {
 public:
  explicit move_to(asio::io_context& io) : io_{io} {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const { asio::post(io_, h); }
  void await_resume() const noexcept {}

 private:
  asio::io_context& io_;
};
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
  CHECK(keyspan::sync_wait(run(first, second)) == 1'000);
  // A thread of one may still be inside of a posting to the other, whose handler has run.
  first.end();
  second.end();
}

// [region: owner]
// A coroutine that is started at once, and destroyed by who holds it.
class root {
 public:
  struct promise_type {
    root get_return_object() {
      return root{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };

  root(root const&) = delete;
  root& operator=(root const&) = delete;
  ~root() { frame_.destroy(); }
  bool is_done() const { return frame_.done(); }

 private:
  explicit root(std::coroutine_handle<promise_type> frame) : frame_{frame} {}
  std::coroutine_handle<promise_type> frame_;
};

root begin(asio::io_context& io, keyspan::task<> work) {
  co_await move_to(io);  // to a thread that runs it
  co_await std::move(work);
}
// [end: owner]

keyspan::task<> serve(asio::io_context& io, int& served) {
  for (int i = 0; i < 3; ++i) {
    asio::steady_timer timer{io, 1ms};
    co_await expiry(timer);
    ++served;
  }
}

TEST_CASE("a program begins its first task in its loop, and owns it until the loop is over") {
  int served = 0;
  // [region: begin]
  asio::io_context io;
  root const program = begin(io, serve(io, served));
  io.run();  // returns when nothing is posted any more, and nobody waits for a timer
  // [end: begin]
  CHECK(program.is_done());
  CHECK(served == 3);
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

// [region: giving_up]
// What `work` gives, which is asked to stop where it is not done after `patience`.
template <keyspan::clock Clock, class Work>
auto within(Clock& clock, keyspan::instant::duration patience, Work work)
    -> decltype(work(keyspan::stop_token())) {
  keyspan::stop_source too_late;
  keyspan::stop_source done;
  auto const run = [&]() -> decltype(work(keyspan::stop_token())) {
    struct ending {
      ~ending() { done.request_stop(); }
      keyspan::stop_source& done;
    };
    ending const at_end{done};  // also where it throws
    co_return co_await work(too_late.token());
  };
  auto const watch = [&]() -> keyspan::task<> {
    auto const waited = co_await keyspan::wait_for(clock, patience, done.token());
    if (waited) too_late.request_stop();
  };
  auto both = keyspan::when_all(run(), watch());
  auto [answer, nothing] = co_await std::move(both);
  co_return std::move(answer);
}
// [end: giving_up]

using ratings = keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>;

// Reads so many, and waits for those that are not there yet.
// [region: patient]
keyspan::task<result<int>> sum_of(int n, ratings& source, asio_clock const& clock,
                                  keyspan::stop_token stop) {
  keyspan::feed_request<keyspan::token128> request{.stop = std::move(stop)};
  keyspan::feed changes{source, std::move(request)};
  auto stream = changes.follow(clock, 1ms).stream();
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    auto const rating = co_await stream.next();
    if (!rating.has_value()) co_return keyspan::unexpected{rating.error()};  // stopped
    sum += *rating;
  }
  co_await stream.close();
  co_return sum;
}
// [end: patient]

TEST_CASE("a reader gives up after a while, and not before it is done") {
  running_context on{2};
  asio_clock const clock{on.io};
  ratings source{keyspan::cosmos_v2};
  for (int i = 1; i <= 4; ++i) source.write("an article", i);
  auto const read = [&](int n, keyspan::instant::duration patience) {
    auto const work = [&, n](keyspan::stop_token stop) {
      return sum_of(n, source, clock, std::move(stop));
    };
    return keyspan::sync_wait(within(clock, patience, work));
  };
  auto const begun = clock.now();
  CHECK(read(4, 1h) == 10);
  CHECK(clock.now() < begun + 1h);
  auto const given_up = read(5, 20ms);
  REQUIRE(!given_up);
  CHECK(given_up.error().code == errc::stopped);
  auto const thrown = [&] {
    auto const fails = [](keyspan::stop_token) -> task<int> {
      throw std::runtime_error{"at once"};
      co_return 0;
    };
    keyspan::sync_wait(within(clock, 1h, fails));
  };
  CHECK_THROWS_AS(thrown(), std::runtime_error);
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
  auto const run = [](asio::io_context& in) -> test::held {
    co_await keyspan::completion_of<void>([&](auto done) { asio::post(in, done); });
  };
  auto const waiting = run(*io);
  io.reset();
  CHECK(!waiting.is_done());
}

}  // namespace
