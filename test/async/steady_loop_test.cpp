// test/async/steady_loop_test.cpp — coroutines that take turns on one thread, and wait in real
// time.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/steady_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/version.hpp>

#include <async/held.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::instant;
using keyspan::result;
using keyspan::steady_loop;
using keyspan::stop_source;
using keyspan::stop_token;
using keyspan::task;
using test::check;
using test::held;

static_assert(keyspan::clock<steady_loop> && !keyspan::clock<steady_loop const>);
static_assert(!std::is_copy_constructible_v<steady_loop> &&
              !std::is_move_constructible_v<steady_loop>);

// [region: example]
task<int> ring(steady_loop& loop, int times, keyspan::instant::duration every, std::string& log,
               char name) {
  for (int i = 0; i < times; ++i) {
    auto const waited = co_await wait_for(loop, every);  // the others go on meanwhile
    if (!waited) co_return i;
    log += name;
  }
  co_return times;
}
// [end: example]

TEST_CASE("the example of steady_loop reads as it should") {
  // [region: use]
  keyspan::steady_loop loop;
  auto const begun = loop.now();
  std::string log;
  auto const rung = loop.complete(when_all(ring(loop, 3, 4ms, log, 'a'),  //
                                           ring(loop, 1, 6ms, log, 'b')));
  check(rung == std::tuple{3, 1} && log.size() == 4);
  check(loop.now() - begun >= 12ms);
  // [end: use]
  CHECK(std::count(log.begin(), log.end(), 'a') == 3);
}

task<result<void>> note_at(steady_loop& loop, instant due, std::vector<int>& log, int number,
                           stop_token stop = {}) {
  auto const waited = co_await loop.wait_until(due, std::move(stop));
  log.push_back(number);
  if (waited && loop.now() < due) log.push_back(-1);
  co_return waited;
}
held begin(task<result<void>> work) { static_cast<void>(co_await std::move(work)); }

TEST_CASE("waits end in the order of their moments, equal ones in that of their arrival") {
  steady_loop loop;
  std::vector<int> log;
  auto const at = loop.now() + 4ms;
  auto const c = begin(note_at(loop, at + 2ms, log, 3));
  auto const a = begin(note_at(loop, at, log, 1));
  auto const b = begin(note_at(loop, at, log, 2));
  auto const past = begin(note_at(loop, instant{}, log, 0));
  auto const last = loop.complete(note_at(loop, at + 2ms, log, 4));
  CHECK(last.has_value());
  CHECK(log == std::vector{0, 1, 2, 3, 4});
  CHECK(c.is_done());
}

TEST_CASE("nobody who waits in a loop goes on too early or is forgotten") {
  steady_loop loop;
  auto random = test::random{7};
  std::vector<int> log;
  std::vector<instant> due;
  auto const begun = loop.now();
  for (int i = 0; i < 2'000; ++i)
    due.push_back(begun + std::chrono::microseconds{random.below(15'000)});
  std::vector<held> waiting;
  for (std::size_t i = 0; i < due.size(); ++i)
    waiting.push_back(begin(note_at(loop, due[i], log, static_cast<int>(i))));
  CHECK(log.empty());
  CHECK(loop.complete(note_at(loop, begun + 16ms, log, 2'000)).has_value());
  REQUIRE(log.size() == 2'001);  // each once, none of them early
  auto const sorted = [&] {
    auto all = log;
    std::sort(all.begin(), all.end());
    return all;
  }();
  for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<int>(i));
  CHECK(std::all_of(waiting.begin(), waiting.end(), [](auto const& one) { return one.is_done(); }));
}

TEST_CASE("who waits goes on behind those who are queued, and nobody can keep it waiting") {
  steady_loop loop;
  bool is_over = false;
  std::size_t turns = 0;
  // Queued for ever, as a loop under load is.
  auto const busy = [](steady_loop& in, bool const& over, std::size_t& count) -> task<> {
    while (!over) {
      co_await in.schedule();
      ++count;
    }
  };
  auto const wait = [](steady_loop& in, bool& over) -> task<> {
    static_cast<void>(co_await wait_for(in, 3ms));
    over = true;
  };
  loop.complete(when_all(busy(loop, is_over, turns), wait(loop, is_over)));
  CHECK(is_over);
  CHECK(turns > 0);
}

TEST_CASE("a wait in a loop that is stopped ends in the loop, and not inside of the request") {
  steady_loop loop;
  stop_source source;
  std::vector<int> log;
  auto const asleep = begin(note_at(loop, (instant::max)(), log, 1, source.token()));
  auto const stop = [](steady_loop& in, stop_source& of, std::vector<int>& to) -> task<> {
    static_cast<void>(co_await wait_for(in, 1ms));
    of.request_stop();
    to.push_back(0);
    co_await in.schedule();
    co_await in.schedule();
  };
  loop.complete(stop(loop, source, log));
  CHECK(log == std::vector{0, 1});
}

TEST_CASE("a wait in a loop says stopped where stop was requested before, also for the past") {
  steady_loop loop;
  stop_source source;
  source.request_stop();
  for (auto const due : {(instant::min)(), loop.now() + 1h, (instant::max)()}) {
    auto const waited = loop.complete(loop.wait_until(due, source.token()));
    REQUIRE(!waited);
    CHECK(waited.error().code == errc::stopped);
  }
  CHECK(loop.complete(loop.wait_until((instant::min)())).has_value());
  CHECK(loop.complete(wait_for(loop, -1h)).has_value());
}

TEST_CASE("who is destroyed while it waits in a loop, or before, is forgotten") {
  std::vector<int> log;
  steady_loop loop;
  {
    auto const never_begun = loop.wait_until(loop.now());
    auto const queued = begin(note_at(loop, loop.now(), log, 1));
  }
  {
    auto const waiting = begin(note_at(loop, loop.now() + 3ms, log, 2));
    CHECK(loop.complete(wait_for(loop, 1ms)).has_value());
  }
  CHECK(loop.complete(wait_for(loop, 4ms)).has_value());
  CHECK(log.empty());
}

TEST_CASE("what is done leaves others waiting in the loop, who go on when it runs again") {
  steady_loop loop;
  std::vector<int> log;
  auto const later = begin(note_at(loop, loop.now() + 3ms, log, 2));
  CHECK(loop.complete(note_at(loop, loop.now() + 1ms, log, 1)).has_value());
  CHECK(log == std::vector{1});
  CHECK(loop.complete(wait_for(loop, 5ms)).has_value());
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("a loop in real time completes what is ready, what moves, refers, throws and nests") {
  steady_loop loop;
  CHECK(loop.complete(keyspan::ready{7}) == 7);

  int kept = 1;
  auto const reference = [](steady_loop& in, int& to) -> task<int&> {
    co_await in.schedule();
    co_return to;
  };
  CHECK(&loop.complete(reference(loop, kept)) == &kept);

  auto const owned = [](steady_loop& in) -> task<std::unique_ptr<int>> {
    static_cast<void>(co_await wait_for(in, 100us));
    co_return std::make_unique<int>(5);
  };
  CHECK(*loop.complete(owned(loop)) == 5);

  auto const thrower = [](steady_loop& in) -> task<int> {
    static_cast<void>(co_await wait_for(in, 100us));
    throw std::runtime_error{"no luck"};
  };
  CHECK_THROWS_AS(loop.complete(thrower(loop)), std::runtime_error);

  auto const nested = [](steady_loop& in) -> task<bool> {
    co_await in.schedule();
    co_return in.complete(wait_for(in, 1ms)).has_value();
  };
  CHECK(loop.complete(nested(loop)));
}

TEST_CASE("a wait in a loop allocates nothing once its frame is there") {
  steady_loop loop;
  auto const waits = [](steady_loop& in, std::size_t& allocated) -> task<> {
    static_cast<void>(co_await wait_for(in, 10us));
    std::size_t const before = test::allocations();
    for (int i = 0; i < 20; ++i) static_cast<void>(co_await wait_for(in, 10us));
    allocated = test::allocations() - before;
  };
  std::size_t allocated = 1;
  loop.complete(waits(loop, allocated));
  CHECK((allocated == 0 || KEYSPAN_THREAD_SANITIZER));
}

}  // namespace
