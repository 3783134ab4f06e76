// test/processor/concurrent/strand_test.cpp — coroutines that come back on four threads, and what
// they share without a lock.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/processor/strand.hpp>

#include <async/concurrent/pool.hpp>
#include <support/check.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace {

using keyspan::strand;
using keyspan::sync_wait;
using keyspan::task;
using keyspan::when_all;
using keyspan::detail::signal;
using keyspan::detail::task_group;
using test::check;

// No lock and no atomics: whatever is not one at a time is a race.
struct shared_state {
  bool is_taken = false;
  long count = 0;
  std::vector<int> log{};
  void touch(int who) {
    check(!is_taken);
    is_taken = true;
    ++count;
    log.push_back(who);
    is_taken = false;
  }
};

task<> visit(test::pool& threads, strand& inside, shared_state& state, int who, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    co_await threads.hop();
    co_await inside.enter();
    check(inside.is_inside());
    state.touch(who);
    if (i % 3 == 0) {
      co_await inside.enter();
      state.touch(who);
    }
    if (i % 2 == 0) {
      co_await inside.leave();
      check(!inside.is_inside());
    }
  }
}

TEST_CASE("coroutines of four threads are inside one at a time") {
  test::pool threads;
  strand inside;
  shared_state state;
  std::vector<task<>> all;
  for (int who = 0; who < 12; ++who) all.push_back(visit(threads, inside, state, who, 3'000));
  sync_wait(when_all(std::move(all)));
  CHECK(state.count == 12 * 4'000);
  std::vector<int> each(12);
  for (int const who : state.log) ++each[static_cast<std::size_t>(who)];
  CHECK(each == std::vector<int>(12, 4'000));
}

TEST_CASE("coroutines of four threads pass from one strand to another") {
  test::pool threads;
  strand strands[3];
  shared_state states[3];
  auto const cross = [&](int who) -> task<> {
    for (int i = 0; i < 3'000; ++i) {
      auto const at = static_cast<std::size_t>(who + i) % 3;
      if (i % 5 == 0) co_await threads.hop();
      co_await strands[at].enter();
      states[at].touch(who);
    }
  };
  std::vector<task<>> all;
  for (int who = 0; who < 8; ++who) all.push_back(cross(who));
  sync_wait(when_all(std::move(all)));
  CHECK(states[0].count + states[1].count + states[2].count == 8 * 3'000);
}

TEST_CASE("signals reach those who wait, whichever threads they come from") {
  test::pool threads;
  strand inside;
  signal changed{inside};
  int given = 0;
  int taken = 0;
  auto const give = [&](int count) -> task<> {
    for (; count > 0; --count) {
      co_await threads.hop();
      co_await inside.enter();
      ++given;
      changed.notify();
    }
  };
  auto const take = [&](int count) -> task<> {
    co_await threads.hop();
    co_await inside.enter();
    for (; count > 0; --count) {
      while (taken == given) co_await changed.wait();
      ++taken;
    }
  };
  std::vector<task<>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(take(1'000));
    all.push_back(give(1'000));
  }
  sync_wait(when_all(std::move(all)));
  CHECK(given == 4'000);
  CHECK(taken == 4'000);
}

TEST_CASE("a group is joined by who is inside, wherever its tasks have ended") {
  test::pool threads;
  strand inside;
  task_group group{inside};
  long done = 0;
  auto const work = [&]() -> task<> {
    co_await threads.hop();
    co_await inside.enter();
    ++done;
    co_await inside.leave();
    co_await threads.hop();
  };
  auto const all = [&]() -> task<> {
    co_await inside.enter();
    for (int round = 0; round < 200; ++round) {
      for (int i = 0; i < 10; ++i) group.spawn(work());
      auto joining = group.join();
      co_await std::move(joining);
      check(done == 10 * (round + 1));
    }
  };
  sync_wait(all());
  CHECK(done == 2'000);
}

TEST_CASE("the last of four threads may let the strand go while the others are on their way out") {
  test::pool threads;
  for (int round = 0; round < 10'000; ++round) {
    auto inside = std::make_unique<strand>();
    int left = 6;
    auto const work = [&](bool leaves) -> task<> {
      co_await threads.hop();
      co_await inside->enter();
      if (--left == 0) {
        if (leaves) co_await inside->leave();
        inside.reset();
      }
    };
    std::vector<task<>> all;
    for (int i = 0; i < 6; ++i) all.push_back(work(round % 2 == 0));
    sync_wait(when_all(std::move(all)));
    REQUIRE(inside == nullptr);
  }
}

}  // namespace
