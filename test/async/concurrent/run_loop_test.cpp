// test/async/concurrent/run_loop_test.cpp — a loop that other threads post to, and wake.
#include <keyspan/async/completion.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/task.hpp>

#include <async/held.hpp>

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::run_loop;
using keyspan::task;
using test::held;

// Posted from its own thread, it goes on in the loop's: there nothing needs a lock.
held append_in_loop(run_loop& loop, std::vector<int>& to, int number, std::thread::id in,
                    int& elsewhere, std::latch& all) {
  co_await loop.schedule();
  to.push_back(number);
  if (std::this_thread::get_id() != in) ++elsewhere;
  all.count_down();
}

TEST_CASE("what 4 threads post goes on in the loop's thread, in the order of each of them") {
  constexpr int each = 2'000;
  constexpr int threads = 4;
  std::vector<int> order;
  int elsewhere = 0;
  std::latch all{each * threads};
  keyspan::completer<void>* told = nullptr;
  std::optional<keyspan::completer<void>> done;
  run_loop loop;
  std::vector<std::vector<held>> posted(threads);
  std::vector<std::thread> posting;
  auto const in = std::this_thread::get_id();
  // The last of those who arrive on another thread says that it is over.
  auto const wait_for_all = [&]() -> task<> {
    co_await keyspan::completion_of<void>([&](auto given) {
      done = std::move(given);
      told = &*done;
      for (std::size_t t = 0; t < threads; ++t)
        posting.emplace_back([&, t] {
          for (int i = 0; i < each; ++i)
            posted[t].push_back(
                append_in_loop(loop, order, static_cast<int>(t) * each + i, in, elsewhere, all));
        });
      posting.emplace_back([&] {
        all.wait();
        (*told)();
      });
    });
  };
  loop.complete(wait_for_all());
  for (auto& thread : posting) thread.join();
  CHECK(order.size() == each * threads);
  CHECK(elsewhere == 0);
  std::array<int, threads> next{};
  int wrong = 0;
  for (int const number : order) {
    auto const t = static_cast<std::size_t>(number / each);
    if (number % each != next[t]++) ++wrong;
  }
  CHECK(wrong == 0);
}

// Goes to another thread, and comes back to the loop, or does not.
task<int> travel(run_loop& loop, std::vector<std::thread>& threads, int rounds, bool comes_back) {
  int away = 0;
  auto const here = std::this_thread::get_id();
  for (int i = 0; i < rounds; ++i) {
    co_await keyspan::completion_of<void>([&](auto done) { threads.emplace_back(done); });
    if (std::this_thread::get_id() != here) ++away;
    if (comes_back) co_await loop.schedule();
  }
  co_return away;
}

TEST_CASE("a coroutine goes to other threads and comes back") {
  run_loop loop;
  std::vector<std::thread> threads;
  int const away = loop.complete(travel(loop, threads, 200, true));
  for (auto& thread : threads) thread.join();
  CHECK(away >= 0);  // a call that comes before the start has returned leaves it where it is
  CHECK(threads.size() == 200);
}

TEST_CASE("a loop that waits is woken by what is done on another thread, and may be gone then") {
  for (int round = 0; round < 300; ++round) {
    std::vector<std::thread> threads;
    {
      run_loop loop;
      static_cast<void>(loop.complete(travel(loop, threads, 1, false)));
    }
    for (auto& thread : threads) thread.join();
  }
}

TEST_CASE("two threads may run one loop") {
  constexpr int coroutines = 4;
  constexpr int turns = 2'000;
  run_loop loop;
  std::array<int, coroutines> taken{};
  std::atomic<int> left{coroutines};
  auto const take_turns = [](run_loop& in, int& mine, std::atomic<int>& running) -> held {
    for (int i = 0; i < turns; ++i) {
      co_await in.schedule();
      ++mine;  // by one thread at a time
    }
    --running;
  };
  std::vector<held> taking;
  for (int& mine : taken) taking.push_back(take_turns(loop, mine, left));
  auto const run = [&] {
    while (left > 0) static_cast<void>(loop.run_one());
  };
  std::thread other{run};
  run();
  other.join();
  for (int const mine : taken) CHECK(mine == turns);
}

}  // namespace
