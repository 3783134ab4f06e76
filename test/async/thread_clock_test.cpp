// test/async/thread_clock_test.cpp — real time, waited for by the thread.
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/thread_clock.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <chrono>

namespace {

using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::instant;
using keyspan::thread_clock;
using test::check;

static_assert(keyspan::clock<thread_clock> && keyspan::clock<thread_clock const>);
static_assert(thread_clock::wait::abandonable);

TEST_CASE("the example of thread_clock reads as it should") {
  // [region: example]
  keyspan::thread_clock const clock;
  auto const begun = clock.now();
  auto const waited = sync_wait(wait_for(clock, 5ms));  // this thread sleeps
  check(waited.has_value() && clock.now() - begun >= 5ms);
  // [end: example]
}

TEST_CASE("a thread's wait for the past is over at once") {
  thread_clock const clock;
  auto const begun = clock.now();
  CHECK(sync_wait(clock.wait_until(begun)).has_value());
  CHECK(sync_wait(clock.wait_until((instant::min)())).has_value());
  CHECK(sync_wait(wait_for(clock, -1h)).has_value());
}

TEST_CASE("a thread does not wait where stop was requested before") {
  thread_clock const clock;
  keyspan::stop_source source;
  source.request_stop();
  for (auto const due : {(instant::min)(), (instant::max)()}) {
    auto const waited = sync_wait(clock.wait_until(due, source.token()));
    REQUIRE(!waited);
    CHECK(waited.error().code == errc::stopped);
  }
}

TEST_CASE("a thread waits in the await, not before") {
  thread_clock const clock;
  auto const begun = clock.now();
  auto const wait = clock.wait_until(begun + 1h);
  CHECK(clock.now() - begun < 1h);
  CHECK(wait.await_ready());
}

TEST_CASE("a thread's wait allocates nothing") {
  thread_clock const clock;
  keyspan::stop_source source;
  bool waited = false;
  CHECK(test::allocations_in(
            [&] { waited = sync_wait(wait_for(clock, 100us, source.token())).has_value(); }) == 0);
  CHECK(waited);
}

}  // namespace
