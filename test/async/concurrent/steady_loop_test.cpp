// test/async/concurrent/steady_loop_test.cpp — a loop that sleeps, and is woken by other threads.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/steady_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>

#include <async/held.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::instant;
using keyspan::steady_loop;
using keyspan::stop_source;
using keyspan::stop_token;
using keyspan::task;
using test::held;

TEST_CASE("a stop from another thread wakes a loop that sleeps, and goes on in its thread") {
  steady_loop loop;
  auto const in = std::this_thread::get_id();
  auto const wait = [&](instant due, stop_token stop) -> task<bool> {
    auto const waited = co_await loop.wait_until(due, std::move(stop));
    co_return !waited && waited.error().code == errc::stopped && std::this_thread::get_id() == in;
  };
  for (auto const due : {loop.now() + 1h, (instant::max)()}) {
    stop_source source;
    std::thread stopper{[&] {
      std::this_thread::sleep_for(3ms);
      source.request_stop();
    }};
    CHECK(loop.complete(wait(due, source.token())));
    stopper.join();
  }
}

TEST_CASE("a stop and a moment that come together end a wait in a loop once") {
  steady_loop loop;
  int ended = 0;
  for (int round = 0; round < 300; ++round) {
    stop_source source;
    auto const due = loop.now() + 100us;
    std::thread stopper{[&] {
      while (loop.now() < due) std::this_thread::yield();
      source.request_stop();
    }};
    auto const waited = loop.complete(loop.wait_until(due, source.token()));
    if (!waited || loop.now() >= due) ++ended;
    stopper.join();
  }
  CHECK(ended == 300);
}

// Begun on a thread of its own, it goes on in the loop's: there nothing needs a lock.
held wait_in_loop(steady_loop& loop, instant due, std::thread::id in, std::size_t& ended,
                  std::size_t& wrong) {
  auto const waited = co_await loop.wait_until(due);
  ++ended;
  if (!waited || loop.now() < due || std::this_thread::get_id() != in) ++wrong;
}

held wait_and_end(steady_loop& loop, stop_source& over) {
  static_cast<void>(co_await wait_for(loop, 1ms));
  over.request_stop();
}

TEST_CASE("a wait that another thread begins shortens the sleep of a loop") {
  steady_loop loop;
  stop_source over;
  auto const begun = loop.now();
  held waiting;
  std::thread other{[&] {
    std::this_thread::sleep_for(3ms);
    waiting = wait_and_end(loop, over);
  }};
  // Only that wait ends this one; two seconds are for a machine with much else to do.
  CHECK(!loop.complete(loop.wait_until(begun + 2s, over.token())));
  other.join();
}

TEST_CASE("what 4 threads wait for in a loop ends in its thread, once and not too early") {
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 250;
  std::size_t ended = 0;
  std::size_t wrong = 0;
  steady_loop loop;
  std::vector<std::vector<held>> begun(threads);
  std::vector<std::thread> others;
  std::latch all_begun{threads};
  auto const in = std::this_thread::get_id();
  for (std::size_t t = 0; t < threads; ++t)
    others.emplace_back([&, t] {
      for (std::size_t i = 0; i < each; ++i) {
        auto const due = loop.now() + std::chrono::microseconds{(i * 37 + t * 11) % 1'500};
        begun[t].push_back(wait_in_loop(loop, due, in, ended, wrong));
        if (i % 50 == 0) std::this_thread::sleep_for(200us);
      }
      all_begun.count_down();
    });
  stop_source over;
  std::thread watcher{[&] {
    all_begun.wait();
    std::this_thread::sleep_for(3ms);
    over.request_stop();
  }};
  CHECK(!loop.complete(loop.wait_until((instant::max)(), over.token())));
  for (auto& thread : others) thread.join();
  watcher.join();
  CHECK(loop.complete(wait_for(loop, 2ms)).has_value());
  CHECK(ended == threads * each);
  CHECK(wrong == 0);
}

TEST_CASE("a loop that sleeps until its next wait is woken by what another thread completes") {
  for (int round = 0; round < 100; ++round) {
    std::thread other;
    {
      steady_loop loop;
      auto const travel = [&]() -> task<> {
        co_await keyspan::completion_of<void>([&](auto done) { other = std::thread{done}; });
      };
      auto const begun = loop.now();
      auto const asleep = [](steady_loop& in) -> held {
        static_cast<void>(co_await wait_for(in, 1h));
      }(loop);
      loop.complete(travel());
      CHECK(loop.now() - begun < 30min);
    }
    other.join();
  }
}

TEST_CASE("several threads have a loop each, and stop each other's waits") {
  constexpr std::size_t threads = 4;
  std::vector<steady_loop> loops(threads);
  std::vector<stop_source> stops(threads);
  std::vector<int> stopped(threads);
  auto const pass_on = [&](std::size_t own) -> task<> {
    auto const waited = co_await loops[own].wait_until((instant::max)(), stops[own].token());
    stopped[own] = waited ? 0 : 1;
    if (own + 1 < threads) stops[own + 1].request_stop();
  };
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] { loops[t].complete(pass_on(t)); });
  stops[0].request_stop();
  for (auto& thread : running) thread.join();
  CHECK(stopped == std::vector<int>(threads, 1));
}

}  // namespace
