// test/async/run_loop_test.cpp — coroutines that take turns on one thread.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/version.hpp>

#include <async/deaths.hpp>
#include <async/held.hpp>
#include <async/operations.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::instant;
using keyspan::manual_clock;
using keyspan::run_loop;
using keyspan::stop_token;
using keyspan::task;
using test::check;
using test::held;

static_assert(!std::is_copy_constructible_v<run_loop> && !std::is_move_constructible_v<run_loop>);
static_assert(run_loop::turn::abandonable);

// [region: example]
task<int> count_to(run_loop& loop, int last, std::string& log, char name) {
  for (int i = 1; i <= last; ++i) {
    co_await loop.schedule();  // the others have their turn
    log += name;
    log += std::to_string(i);
  }
  co_return last;
}
// [end: example]

TEST_CASE("coroutines take turns in a loop") {
  // [region: use]
  run_loop loop;
  std::string log;
  auto counted = loop.complete(when_all(count_to(loop, 3, log, 'a'), count_to(loop, 2, log, 'b')));
  check(log == "a1b1a2b2a3");
  check(counted == std::tuple{3, 2});
  // [end: use]
}

held note_turn(run_loop& loop, std::string& log, char name, int turns = 1) {
  for (int i = 0; i < turns; ++i) {
    co_await loop.schedule();
    log += name;
  }
}

TEST_CASE("who is queued first goes on first") {
  run_loop loop;
  std::string log;
  CHECK(!loop.run_one());
  CHECK(loop.run() == 0);
  auto const a = note_turn(loop, log, 'a');
  auto const b = note_turn(loop, log, 'b', 2);
  auto const c = note_turn(loop, log, 'c');
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == "a");
  CHECK(loop.run() == 3);  // with the one that came meanwhile
  CHECK(log == "abcb");
  CHECK(!loop.run_one());
}

TEST_CASE("what is ready is completed without a turn or an allocation") {
  run_loop loop;
  std::string log;
  auto const a = note_turn(loop, log, 'a');
  int got = 0;
  CHECK(test::allocations_in([&] { got = loop.complete(keyspan::ready{7}); }) == 0);
  CHECK(got == 7);
  CHECK(log.empty());
  loop.run();
}

TEST_CASE("a loop completes what gives nothing, a reference or a thing that can only be moved") {
  run_loop loop;
  auto const nothing = [](run_loop& in) -> task<> { co_await in.schedule(); };
  loop.complete(nothing(loop));
  static_assert(std::is_void_v<decltype(loop.complete(nothing(loop)))>);

  int kept = 1;
  auto const reference = [](run_loop& in, int& to) -> task<int&> {
    co_await in.schedule();
    co_return to;
  };
  int& got = loop.complete(reference(loop, kept));
  CHECK(&got == &kept);

  auto const owned = [](run_loop& in) -> task<std::unique_ptr<int>> {
    co_await in.schedule();
    co_return std::make_unique<int>(5);
  };
  CHECK(*loop.complete(owned(loop)) == 5);
}

TEST_CASE("what a coroutine throws comes out of the loop that completes it") {
  run_loop loop;
  auto const thrower = [](run_loop& in) -> task<int> {
    co_await in.schedule();
    throw std::runtime_error{"no luck"};
  };
  CHECK_THROWS_AS(loop.complete(thrower(loop)), std::runtime_error);
  CHECK(loop.complete(keyspan::ready{1}) == 1);  // and the loop is as good as before
}

TEST_CASE("what is done leaves others in the queue") {
  run_loop loop;
  std::string log;
  auto const first = [](run_loop& in) -> task<> { co_await in.schedule(); };
  {
    auto const b = note_turn(loop, log, 'b', 2);
    loop.complete(first(loop));
    CHECK(log == "b");
    CHECK(loop.run() == 1);
    CHECK(log == "bb");
  }
}

TEST_CASE("a loop may be run from what runs in it") {
  run_loop loop;
  std::string log;
  auto const nested = [](run_loop& in, std::string& to) -> task<int> {
    co_await in.schedule();
    int const inner = in.complete(count_to(in, 2, to, 'n'));
    co_return inner + 1;
  };
  auto const a = note_turn(loop, log, 'a', 3);
  CHECK(loop.complete(nested(loop, log)) == 3);
  CHECK(log == "aan1an2");
}

TEST_CASE("who is destroyed while it is queued is forgotten") {
  run_loop loop;
  std::string log;
  auto const a = note_turn(loop, log, 'a');
  {
    auto const b = note_turn(loop, log, 'b');
  }
  auto const c = note_turn(loop, log, 'c');
  auto const run = [](task<int> inner) -> held { static_cast<void>(co_await std::move(inner)); };
  {
    auto const d = run(count_to(loop, 1, log, 'd'));
  }
  CHECK(loop.run() == 2);
  CHECK(log == "ac");
}

TEST_CASE("virtual time passes when nobody is queued, and no further than needed") {
  run_loop loop;
  manual_clock clock;
  std::string log;
  auto const naps = [](run_loop& in, manual_clock& by, std::string& to) -> task<int> {
    int turns = 0;
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(co_await wait_for(by, 20min));
      co_await in.schedule();
      ++turns;
      to += 'n';
    }
    co_return turns;
  };
  auto const later = [](manual_clock& by, std::string& to) -> held {
    static_cast<void>(co_await by.wait_until(instant{30min}));
    to += 'l';
    static_cast<void>(co_await by.wait_until(instant{24h}));
    to += '!';
  };
  auto const waiting = later(clock, log);
  CHECK(loop.complete(naps(loop, clock, log), clock) == 3);
  CHECK(clock.now() == instant{1h});
  CHECK(log == "nlnn");
}

TEST_CASE("what cannot be completed any more breaks a contract instead of waiting for ever") {
  run_loop loop;
  manual_clock clock;
  test::abandonable_operation never;
  CHECK(test::promise_broken_by([&] { loop.complete(never, clock); }) ==
        "nothing can complete it any more");
}

TEST_CASE("a turn allocates nothing") {
  run_loop loop;
  auto const turns = [](run_loop& in, std::size_t& allocated) -> task<> {
    std::size_t const before = test::allocations();
    for (int i = 0; i < 100; ++i) co_await in.schedule();
    allocated = test::allocations() - before;
  };
  std::size_t allocated = 1;
  loop.complete(turns(loop, allocated));
  CHECK(allocated == 0);
  // Frames are recycled: the second time all of it is free.
  std::size_t const made = test::allocations_in([&] { loop.complete(turns(loop, allocated)); });
  CHECK((made == 0 || KEYSPAN_THREAD_SANITIZER));
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("a loop outlives those who are queued in it, or the program ends") {
  auto const words = test::last_words_of([] {
    std::string log;
    std::optional<run_loop> loop{std::in_place};
    auto const a = note_turn(*loop, log, 'a');
    loop.reset();
  });
  CHECK(words.find("a loop outlives those who are queued in it") != std::string::npos);
}
#endif

}  // namespace
