// test/async/clock_test.cpp — what a clock is, and moments that do not overflow.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/task.hpp>

#include <support/check.hpp>

#include <chrono>

namespace {

using namespace std::chrono_literals;

using keyspan::instant;
using keyspan::result;
using keyspan::stop_token;
using test::check;

// Clocks, and what is none.
struct stopped_clock {
  instant now() const { return {}; }
  keyspan::ready<result<void>> wait_until(instant, stop_token) const { return {}; }
};
struct clock_of_tasks {
  instant now() { return {}; }
  keyspan::task<result<void>> wait_until(instant, stop_token) { co_return result<void>{}; }
};
struct without_stop {
  instant now() const { return {}; }
  keyspan::ready<result<void>> wait_until(instant) const { return {}; }
};
struct without_errors {
  instant now() const { return {}; }
  keyspan::ready<int> wait_until(instant, stop_token) const { return {}; }
};
struct time_of_day {
  std::chrono::system_clock::time_point now() const { return {}; }
  keyspan::ready<result<void>> wait_until(instant, stop_token) const { return {}; }
};
static_assert(keyspan::clock<stopped_clock> && keyspan::clock<stopped_clock const>);
static_assert(keyspan::clock<clock_of_tasks> && !keyspan::clock<clock_of_tasks const>);
static_assert(!keyspan::clock<without_stop> && !keyspan::clock<without_errors> &&
              !keyspan::clock<time_of_day> && !keyspan::clock<int>);

constexpr instant last = (instant::max)();

TEST_CASE("one waits for a while with any clock") {
  // [region: example]
  keyspan::manual_clock clock;  // in a test; in a program the event loop's, or a thread_clock
  keyspan::run_loop loop;
  keyspan::stop_source source;

  auto const patience = [](keyspan::manual_clock& by,
                           keyspan::stop_token stop) -> keyspan::task<int> {
    int rounds = 0;
    while (co_await keyspan::wait_for(by, 20min, stop)) {
      if (++rounds == 3) co_return rounds;
    }
    co_return -1;  // stop was requested
  };
  check(loop.complete(patience(clock, source.token()), clock) == 3);
  check(clock.now() == keyspan::instant{1h});  // in no time
  // [end: example]
}

TEST_CASE("the delay counts from the call, and however long it is it does not overflow") {
  keyspan::manual_clock clock;
  clock.advance(1h);
  auto late = wait_for(clock, 10min);
  clock.advance(5min);
  keyspan::run_loop loop;
  CHECK(loop.complete(std::move(late), clock).has_value());
  CHECK(clock.now() == instant{1h + 10min});
  CHECK(loop.complete(wait_for(clock, (std::chrono::hours::max)()), clock).has_value());
  CHECK(clock.now() == last);
}

TEST_CASE("a wait by a clock of tasks gives its result") {
  clock_of_tasks clock;
  keyspan::run_loop loop;
  CHECK(loop.complete(keyspan::wait_for(clock, 1s)).has_value());
}

}  // namespace
