// test/async/concurrent/manual_clock_test.cpp — the clock moves on one thread while another one
// stops who waits: somebody is first, and only that one resumes.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/stop_token.hpp>

#include <async/concurrent/meeting.hpp>
#include <async/held.hpp>
#include <support/random.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::instant;
using keyspan::manual_clock;
using keyspan::stop_source;
using keyspan::stop_token;
using test::held;

struct tally {
  std::atomic<int> reached{0};
  std::atomic<int> stopped{0};
  std::atomic<int> early{0};
};

// What it writes it writes plainly: resumed by two at once it would be a race.
held count_one(manual_clock& clock, instant due, stop_token stop, tally& to, int& resumed) {
  auto const waited = co_await clock.wait_until(due, std::move(stop));
  ++resumed;
  ++(waited ? to.reached : to.stopped);
  if (waited && clock.now() < due) ++to.early;
}

// Goes on on a thread of its own, and stays here until that one is done.
struct elsewhere {
  bool waited;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const {
    std::thread{[suspended] { suspended.resume(); }}.join();
  }
  bool await_resume() const noexcept { return waited; }
};

TEST_CASE("a wait that a stop has ended is over when it gives its result, wherever that is used") {
  manual_clock clock;
  stop_source source;
  int outcome = -1;
  auto const wait = [](manual_clock& by, stop_token stop, int& to) -> held {
    auto later = by.wait_until(instant{1h}, std::move(stop));
    // What waits stands until the end of the line, which is on another thread.
    to = co_await elsewhere(static_cast<bool>(co_await later)) ? 1 : 0;
  };
  auto const waiting = wait(clock, source.token(), outcome);
  source.request_stop();
  CHECK(outcome == 0);
  CHECK(waiting.is_done());
}

TEST_CASE("of a moment and a stop that come at the same time one resumes") {
  constexpr int rounds = 3'000;
  constexpr int waiters = 4;
  manual_clock clock;
  tally to;
  std::vector<stop_source> sources;
  std::vector<int> resumed(waiters, 0);
  std::vector<held> waiting;
  int twice = 0;
  auto const prepare = [&] {
    for (auto& one : resumed) {
      if (!waiting.empty() && one != 1) ++twice;
      one = 0;
    }
    waiting.clear();
    sources = std::vector<stop_source>(waiters);
    for (std::size_t i = 0; i < waiters; ++i)
      waiting.push_back(count_one(clock, clock.now() + 1s, sources[i].token(), to, resumed[i]));
  };
  prepare();
  test::meeting start{2};
  // Now and then one comes before they meet, so that both have a chance on every machine.
  auto const stop_all = [&] {
    for (auto& source : sources) source.request_stop();
  };
  std::thread stopper{[&] {
    for (int round = 0; round < rounds; ++round) {
      if (round % 16 == 0) stop_all();
      start.meet();
      stop_all();
      start.meet();
      start.meet();  // the next ones are waiting
    }
  }};
  for (int round = 0; round < rounds; ++round) {
    if (round % 16 == 8) clock.advance(1s);
    start.meet();
    clock.advance(1s);
    start.meet();
    prepare();
    start.meet();
  }
  stopper.join();
  CHECK(twice == 0);
  CHECK(to.early == 0);
  CHECK(to.reached + to.stopped == rounds * waiters);
  CHECK(to.reached > 0);
  CHECK(to.stopped > 0);
}

TEST_CASE("who begins to wait while stop is requested or the clock is moved goes on once") {
  constexpr int rounds = 3'000;
  manual_clock clock;
  tally to;
  stop_source source;
  int resumed = 0;
  int twice = 0;
  test::meeting start{3};
  std::thread stopper{[&] {
    for (int round = 0; round < rounds; ++round) {
      start.meet();
      source.request_stop();
      start.meet();
      start.meet();  // there is a new source
    }
  }};
  std::thread mover{[&] {
    for (int round = 0; round < rounds; ++round) {
      start.meet();
      clock.advance(1s);
      start.meet();
      start.meet();
    }
  }};
  for (int round = 0; round < rounds; ++round) {
    auto const due = clock.now() + 1s;
    auto const token = source.token();
    start.meet();
    held const waiting = count_one(clock, due, token, to, resumed);
    start.meet();
    if (std::exchange(resumed, 0) != 1) ++twice;
    source = stop_source{};
    start.meet();
  }
  stopper.join();
  mover.join();
  CHECK(twice == 0);
  CHECK(to.early == 0);
  CHECK(to.reached + to.stopped == rounds);
}

TEST_CASE("waits from many threads are all found by the threads that move the clock") {
  constexpr int waits = 3'000;
  manual_clock clock;
  tally to;
  std::atomic<int> left{2};
  auto const tick = [](manual_clock& by, tally& mine, std::atomic<int>& running,
                       std::uint64_t seed) -> held {
    test::random random{seed};
    for (int i = 0; i < waits; ++i) {
      auto const due = by.now() + std::chrono::seconds{random.below(4)};
      auto const waited = co_await by.wait_until(due);
      ++(waited ? mine.reached : mine.stopped);
      if (by.now() < due) ++mine.early;
    }
    --running;
  };
  std::vector<held> ticking(2);
  auto const run = [&](std::size_t mine) {
    ticking[mine] = tick(clock, to, left, 100 + mine);
    while (left > 0) clock.advance(1s);
  };
  std::thread other{run, 0u};
  run(1);
  other.join();
  CHECK(to.reached == 2 * waits);
  CHECK(to.early == 0);
  CHECK(!clock.next());
}

}  // namespace
