// test/async/concurrent/task_test.cpp — tasks that go on, end and are destroyed on four threads.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>

#include <async/concurrent/pool.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::sync_wait;
using keyspan::task;
using keyspan::when_all;
using test::pool;

task<int> tree(pool& on, int depth) {
  if (depth == 0) {
    co_await on.hop();
    co_return 1;
  }
  co_await on.hop();
  int sum = co_await tree(on, depth - 1);
  sum += co_await tree(on, depth - 1);
  co_return sum;
}

TEST_CASE("tasks that go on on other threads give what they gave on one") {
  pool on;
  CHECK(sync_wait(tree(on, 9)) == 512);
}

task<int> forest(pool& on, int depth) {
  co_await on.hop();
  if (depth == 0) co_return 1;
  auto both = when_all(forest(on, depth - 1), forest(on, depth - 1));
  auto const [a, b] = co_await std::move(both);
  co_return a + b;
}

TEST_CASE("parts that end on four threads at the same time are all awaited") {
  pool on;
  CHECK(sync_wait(forest(on, 9)) == 512);
}

task<int> numbered(pool& on, int n) {
  co_await on.hop();
  if (n % 7 == 3) throw std::runtime_error{std::to_string(n)};
  co_return n;
}

TEST_CASE("the first failure is thrown, whatever thread it comes from") {
  pool on;
  for (int round = 0; round < 50; ++round) {
    std::vector<task<int>> all;
    for (int n = 0; n < 20; ++n) all.push_back(numbered(on, n));
    std::string thrown;
    try {
      sync_wait(when_all(std::move(all)));
    } catch (std::runtime_error const& failure) {
      thrown = failure.what();
    }
    CHECK(thrown == "3");
  }
}

TEST_CASE("four threads wait for tasks that end on four others") {
  pool on;
  std::atomic<int> sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) sum += sync_wait(tree(on, 1));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(sum == 4 * 200 * 2);
}

task<int> made_here(int n) { co_return n; }

TEST_CASE("frames made on one thread are destroyed on another") {
  constexpr int rounds = 50;
  constexpr int frames = 200;
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<task<int>> all;
    for (int n = 0; n < frames; ++n) all.push_back(made_here(1));
    std::thread{[&sum, given = std::move(all)]() mutable {
      for (auto& one : given) sum += sync_wait(std::move(one));
      given.clear();
    }}.join();
  }
  CHECK(sum == rounds * frames);
}

}  // namespace
