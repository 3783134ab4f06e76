// test/async/manual_clock_test.cpp — who goes on when virtual time passes, and in what order.
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>

#include <async/deaths.hpp>
#include <async/held.hpp>
#include <async/operations.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::instant;
using keyspan::manual_clock;
using keyspan::result;
using keyspan::stop_source;
using keyspan::stop_token;
using keyspan::task;
using test::check;
using test::held;

static_assert(keyspan::clock<manual_clock>);
static_assert(!std::is_copy_constructible_v<manual_clock> &&
              !std::is_move_constructible_v<manual_clock>);
static_assert(manual_clock::wait::abandonable && std::is_copy_constructible_v<manual_clock::wait>);

// Who went on, and when.
struct note {
  char who;
  instant at;
  bool stopped = false;
  friend bool operator==(note const&, note const&) = default;
};
using notes = std::vector<note>;

held note_at(manual_clock& clock, notes& to, char who, instant due, stop_token stop = {}) {
  auto const waited = co_await clock.wait_until(due, std::move(stop));
  to.push_back({who, clock.now(), !waited});
}

TEST_CASE("the example of manual_clock reads as it should") {
  // [region: example]
  manual_clock clock;  // instant{}: it moves only when it is told to
  std::vector<std::string> log;
  auto const ring = [&](std::string what, instant at) -> test::held {
    if (co_await clock.wait_until(at)) log.push_back(std::move(what));
  };
  auto const tea = ring("the tea is ready", instant{3min});
  auto const cake = ring("the cake is ready", instant{40min});

  check(clock.next() == instant{3min});
  clock.advance(2min);
  check(log.empty());
  clock.advance(1h);
  check(log == std::vector<std::string>{"the tea is ready", "the cake is ready"});
  check(clock.now() == instant{1h + 2min} && !clock.next());
  // [end: example]
}

TEST_CASE("waiters go on in the order of their moments, then of their arrival") {
  manual_clock clock;
  notes log;
  auto const a = note_at(clock, log, 'a', instant{30s});
  auto const b = note_at(clock, log, 'b', instant{10s});
  auto const c = note_at(clock, log, 'c', instant{30s});
  auto const d = note_at(clock, log, 'd', instant{20s});
  auto const e = note_at(clock, log, 'e', instant{10s});
  auto const f = note_at(clock, log, 'f', instant{31s});
  CHECK(clock.next() == instant{10s});
  clock.advance_to(instant{30s});
  CHECK(log == notes{{'b', instant{10s}},
                     {'e', instant{10s}},
                     {'d', instant{20s}},
                     {'a', instant{30s}},
                     {'c', instant{30s}}});
  CHECK(clock.now() == instant{30s});
  CHECK(clock.next() == instant{31s});
  CHECK(!f.is_done());
}

struct arrival {
  instant due;
  int number;
  friend bool operator==(arrival const&, arrival const&) = default;
};

TEST_CASE("any order of arrival gives the order of the moments") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::random random{seed};
    manual_clock clock;
    std::vector<arrival> gone_on;
    std::vector<arrival> expected;
    std::vector<held> waiting;
    auto const wait = [](manual_clock& by, std::vector<arrival>& to, arrival mine) -> held {
      static_cast<void>(co_await by.wait_until(mine.due));
      if (by.now() == mine.due) to.push_back(mine);
    };
    for (int number = 0; number < 40; ++number) {
      arrival const one{instant{std::chrono::seconds{1 + random.below(12)}}, number};
      expected.push_back(one);
      waiting.push_back(wait(clock, gone_on, one));
    }
    std::ranges::sort(expected, {},
                      [](arrival const& one) { return std::pair{one.due, one.number}; });
    while (auto const next = clock.next()) clock.advance_to(*next);
    if (gone_on != expected) FAIL_CHECK("wrong order with seed " << seed);
  }
}

TEST_CASE("a moment that has come is ready at once") {
  manual_clock clock;
  clock.advance(1h);
  CHECK(sync_wait(clock.wait_until(instant{1h})).has_value());
  CHECK(sync_wait(clock.wait_until(instant{59min})).has_value());
  CHECK(sync_wait(clock.wait_until((instant::min)())).has_value());
  CHECK(!clock.next());
}

TEST_CASE("what was ready when it was made is a wait when it is awaited later, and the reverse") {
  manual_clock clock;
  auto wait = clock.wait_until(instant{1s});
  clock.advance(2s);
  CHECK(sync_wait(wait).has_value());
}

TEST_CASE("time does not go back") {
  manual_clock clock;
  clock.advance(10s);
  clock.advance_to(instant{5s});
  CHECK(clock.now() == instant{10s});
  clock.advance(0s);
  CHECK(clock.now() == instant{10s});
  CHECK(test::promise_broken_by([&] { clock.advance(-1ns); }) == "time does not go back");
  CHECK(clock.now() == instant{10s});
}

TEST_CASE("the clock stands still at the end of time") {
  manual_clock clock;
  notes log;
  auto const a = note_at(clock, log, 'a', (instant::max)());
  clock.advance((instant::duration::max)() - 1ns);
  CHECK(log.empty());
  clock.advance((instant::duration::max)());
  CHECK(log == notes{{'a', (instant::max)()}});
  clock.advance(1h);
  CHECK(clock.now() == (instant::max)());
}

TEST_CASE("who goes on may wait anew, and goes on again in the same stretch") {
  manual_clock clock;
  notes log;
  auto const tick = [](manual_clock& by, notes& to) -> held {
    for (;;) {
      if (!co_await wait_for(by, 10s)) co_return;
      to.push_back({'t', by.now()});
    }
  };
  auto const ticking = tick(clock, log);
  auto const a = note_at(clock, log, 'a', instant{20s});
  clock.advance(35s);
  // At 20 s it had come first.
  CHECK(log ==
        notes{{'t', instant{10s}}, {'a', instant{20s}}, {'t', instant{20s}}, {'t', instant{30s}}});
  CHECK(clock.next() == instant{40s});
}

TEST_CASE("who goes on may move the clock itself") {
  manual_clock clock;
  notes log;
  auto const mover = [](manual_clock& by, notes& to, instant::duration further) -> held {
    static_cast<void>(co_await by.wait_until(instant{10s}));
    by.advance(further);
    to.push_back({'m', by.now()});
  };
  SECTION("less far than it is being moved") {
    auto const m = mover(clock, log, 10s);
    auto const a = note_at(clock, log, 'a', instant{15s});
    auto const b = note_at(clock, log, 'b', instant{25s});
    clock.advance_to(instant{30s});
    CHECK(log == notes{{'a', instant{15s}}, {'m', instant{20s}}, {'b', instant{25s}}});
    CHECK(clock.now() == instant{30s});
  }
  SECTION("further") {
    auto const m = mover(clock, log, 90s);
    auto const a = note_at(clock, log, 'a', instant{15s});
    auto const b = note_at(clock, log, 'b', instant{25s});
    auto const c = note_at(clock, log, 'c', instant{60s});
    clock.advance_to(instant{30s});
    CHECK(
        log ==
        notes{{'a', instant{15s}}, {'b', instant{25s}}, {'c', instant{60s}}, {'m', instant{100s}}});
    CHECK(clock.now() == instant{100s});
  }
}

TEST_CASE("a stop ends a wait at once, and only that one") {
  manual_clock clock;
  notes log;
  stop_source source;
  stop_source other;
  auto const a = note_at(clock, log, 'a', instant{10s}, source.token());
  auto const b = note_at(clock, log, 'b', instant{10s}, other.token());
  auto const c = note_at(clock, log, 'c', instant{10s});
  clock.advance(3s);
  source.request_stop();
  CHECK(log == notes{{'a', instant{3s}, true}});
  CHECK(clock.next() == instant{10s});
  clock.advance(7s);
  CHECK(log == notes{{'a', instant{3s}, true}, {'b', instant{10s}}, {'c', instant{10s}}});
  other.request_stop();
  CHECK(log.size() == 3);
}

TEST_CASE("the first of many waits is found after any of them was stopped") {
  manual_clock clock;
  notes log;
  stop_source first;
  stop_source middle;
  auto const a = note_at(clock, log, 'a', instant{1s}, first.token());
  auto const b = note_at(clock, log, 'b', instant{2s}, middle.token());
  auto const c = note_at(clock, log, 'c', instant{3s});
  middle.request_stop();
  CHECK(clock.next() == instant{1s});
  first.request_stop();
  CHECK(clock.next() == instant{3s});
}

TEST_CASE("a token that is stopped already stops a wait, also one for the past") {
  manual_clock clock;
  stop_source source;
  source.request_stop();
  for (auto const due : {instant{}, instant{1h}}) {
    auto const waited = sync_wait(clock.wait_until(due, source.token()));
    REQUIRE(!waited);
    CHECK(waited.error().code == errc::stopped);
    CHECK(waited.error().text.view() == "stop was requested before the moment that was waited for");
  }
}

TEST_CASE(
    "stop may be requested by who is resumed by the clock, and the clock moved by who is "
    "resumed by a stop") {
  manual_clock clock;
  notes log;
  stop_source source;
  auto const requester = [](manual_clock& by, stop_source& stop) -> held {
    static_cast<void>(co_await by.wait_until(instant{5s}));
    stop.request_stop();
  };
  auto const mover = [](manual_clock& by, notes& to, stop_token stop) -> held {
    auto const waited = co_await by.wait_until(instant{1h}, std::move(stop));
    by.advance(1min);
    to.push_back({'m', by.now(), !waited});
  };
  auto const r = requester(clock, source);
  auto const m = mover(clock, log, source.token());
  auto const a = note_at(clock, log, 'a', instant{30s});
  auto const b = note_at(clock, log, 'b', instant{5s}, source.token());  // the same moment
  clock.advance(10s);
  // Callbacks are called the latest first.
  CHECK(log == notes{{'b', instant{5s}, true}, {'a', instant{30s}}, {'m', instant{65s}, true}});
  CHECK(clock.now() == instant{65s});
}

// By hand, to get between the steps of an await.
TEST_CASE("what happens between being asked and being suspended is not missed") {
  manual_clock clock;
  stop_source source;
  auto const moment = clock.wait_until(instant{1s}, source.token());
  auto waiting = keyspan::detail::awaiter_of(moment);
  CHECK(!waiting.await_ready());
  SECTION("the moment comes") {
    clock.advance(1s);
    CHECK(!waiting.await_suspend(std::noop_coroutine()));
    CHECK(waiting.await_resume().has_value());
  }
  SECTION("the stop comes") {
    source.request_stop();
    CHECK(!waiting.await_suspend(std::noop_coroutine()));
    CHECK(waiting.await_resume().error().code == errc::stopped);
  }
  CHECK(!clock.next());
}

TEST_CASE("a stop behind the moment changes nothing") {
  manual_clock clock;
  stop_source source;
  auto const moment = clock.wait_until(instant{1s}, source.token());
  auto waiting = keyspan::detail::awaiter_of(moment);
  CHECK(!waiting.await_ready());
  CHECK(waiting.await_suspend(std::noop_coroutine()));
  clock.advance(1s);
  source.request_stop();  // on another thread, before who waited has come to look
  CHECK(waiting.await_resume().has_value());
}

TEST_CASE("who is destroyed while it waits is forgotten") {
  manual_clock clock;
  notes log;
  stop_source source;
  {
    auto const a = note_at(clock, log, 'a', instant{1s});
    auto const b = note_at(clock, log, 'b', instant{2s}, source.token());
    CHECK(clock.next() == instant{1s});
  }
  CHECK(!clock.next());
  auto const c = note_at(clock, log, 'c', instant{3s});
  source.request_stop();
  clock.advance(1h);
  CHECK(log == notes{{'c', instant{3s}}});
}

TEST_CASE("a task may be destroyed while it waits for the clock") {
  manual_clock clock;
  int alive = 0;
  auto const wait = [](manual_clock& by, test::counted) -> task<> {
    static_cast<void>(co_await by.wait_until(instant{1h}));
  };
  auto const run = [](task<> inner) -> held { co_await std::move(inner); };
  {
    auto const running = run(wait(clock, test::counted{alive}));
    CHECK(clock.next());
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
  CHECK(!clock.next());
}

TEST_CASE("who is resumed may destroy another one that waits for the same moment") {
  manual_clock clock;
  notes log;
  std::optional<held> victim;
  auto const killer = [](manual_clock& by, std::optional<held>& other) -> held {
    static_cast<void>(co_await by.wait_until(instant{1s}));
    other.reset();
  };
  auto const k = killer(clock, victim);
  victim.emplace(note_at(clock, log, 'v', instant{1s}));
  auto const last = note_at(clock, log, 'l', instant{1s});
  clock.advance(1s);
  CHECK(log == notes{{'l', instant{1s}}});
}

TEST_CASE("the source of a stop may be destroyed by who it resumes") {
  manual_clock clock;
  auto source = std::make_unique<stop_source>();
  bool stopped = false;
  auto const wait = [](manual_clock& by, std::unique_ptr<stop_source>& own, bool& to) -> held {
    auto const waited = co_await by.wait_until(instant{1s}, own->token());
    own.reset();
    to = !waited;
  };
  auto const waiting = wait(clock, source, stopped);
  source->request_stop();
  CHECK(stopped);
  CHECK(source == nullptr);
}

TEST_CASE("many moments are waited for at the same time") {
  manual_clock clock;
  std::optional<std::size_t> gone_on;
  auto const both = [](manual_clock& by, std::optional<std::size_t>& to) -> held {
    auto waits = when_all(by.wait_until(instant{1s}), by.wait_until(instant{3s}));
    auto const waited = co_await std::move(waits);
    to = (std::get<0>(waited) ? 1u : 0u) + (std::get<1>(waited) ? 1u : 0u);
  };
  auto const waiting = both(clock, gone_on);
  clock.advance(2s);
  CHECK(!gone_on);
  clock.advance(1s);
  CHECK(gone_on == 2);
}

TEST_CASE("a wait allocates nothing") {
  manual_clock clock;
  stop_source source;
  notes log;
  log.reserve(8);
  auto const wait = [](manual_clock& by, notes& to, stop_token stop,
                       std::size_t& allocated) -> held {
    std::size_t const before = test::allocations();
    auto const waited = co_await by.wait_until(instant{1s}, stop);
    auto const again = co_await by.wait_until(instant{2s}, std::move(stop));
    allocated = test::allocations() - before;
    to.push_back({'w', by.now(), !waited || !again});
  };
  std::size_t allocated = 1;
  auto const waiting = wait(clock, log, source.token(), allocated);
  CHECK(test::allocations_in([&] { clock.advance(5s); }) == 0);
  CHECK(allocated == 0);
  CHECK(log == notes{{'w', instant{2s}}});
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("a clock outlives those who wait for it, or the program ends") {
  auto const words = test::last_words_of([] {
    notes log;
    std::optional<manual_clock> clock{std::in_place};
    auto const a = note_at(*clock, log, 'a', instant{1s});
    clock.reset();
  });
  CHECK(words.find("a clock outlives those who wait for it") != std::string::npos);
}
#endif

}  // namespace
