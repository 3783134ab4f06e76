// test/async/concurrent/thread_clock_test.cpp — a thread that sleeps is woken by another one.
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/thread_clock.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <latch>
#include <thread>

namespace {

using namespace std::chrono_literals;

using keyspan::thread_clock;

TEST_CASE("a stop from another thread wakes a thread that waits, also one that waits for ever") {
  thread_clock const clock;
  for (auto const due : {clock.now() + 1h, (keyspan::instant::max)()}) {
    keyspan::stop_source source;
    std::latch about_to_wait{1};
    std::thread stopper{[&] {
      about_to_wait.wait();
      std::this_thread::sleep_for(5ms);
      source.request_stop();
    }};
    auto const begun = clock.now();
    about_to_wait.count_down();
    auto const waited = sync_wait(clock.wait_until(due, source.token()));
    CHECK(clock.now() - begun < 30min);
    stopper.join();
    REQUIRE(!waited);
    CHECK(waited.error().code == keyspan::errc::stopped);
  }
}

TEST_CASE("a stop and a moment that come together end a thread's wait once") {
  thread_clock const clock;
  int ended = 0;
  for (int round = 0; round < 300; ++round) {
    keyspan::stop_source source;
    auto const due = clock.now() + 100us;
    std::thread stopper{[&] {
      while (clock.now() < due) std::this_thread::yield();
      source.request_stop();
    }};
    auto const waited = sync_wait(clock.wait_until(due, source.token()));
    if (!waited || clock.now() >= due) ++ended;
    stopper.join();
  }
  CHECK(ended == 300);
}

}  // namespace
