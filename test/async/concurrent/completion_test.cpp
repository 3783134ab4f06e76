// test/async/concurrent/completion_test.cpp — callbacks from other threads, before the start has
// returned and after.
#include <keyspan/async/completion.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>

#include <async/concurrent/meeting.hpp>
#include <async/held.hpp>
#include <support/contracts.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using keyspan::completer;
using keyspan::completion_of;
using keyspan::task;
using test::held;

// Threads that call what they are given.
class callers {
 public:
  explicit callers(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  callers(callers const&) = delete;
  callers& operator=(callers const&) = delete;
  ~callers() {
    {
      std::lock_guard const lock{mutex_};
      is_over_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void call(std::function<void()> what) {
    std::lock_guard const lock{mutex_};
    queue_.push_back(std::move(what));
    changed_.notify_one();
  }

 private:
  void work() {
    for (std::unique_lock lock{mutex_};;) {
      changed_.wait(lock, [&] { return is_over_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto const next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<std::function<void()>> queue_{};
  bool is_over_ = false;
  std::vector<std::thread> threads_{};
};

TEST_CASE("a call from 4 threads at any moment is answered once, with its value") {
  constexpr int rounds = 4'000;
  callers threads{4};
  auto const add_up = [](callers& by, int pause) -> task<long> {
    long sum = 0;
    for (int i = 0; i < rounds; ++i) {
      auto const value = co_await completion_of<std::unique_ptr<int>>([&](auto done) {
        by.call([done, i] { done(std::make_unique<int>(i)); });
        for (int spin = 0; spin < i % 8 * pause; ++spin)
          std::atomic_signal_fence(std::memory_order_seq_cst);  // sometimes the call comes first
      });
      sum += *value;
    }
    co_return sum;
  };
  auto const sums = keyspan::sync_wait(
      when_all(add_up(threads, 0), add_up(threads, 100), add_up(threads, 1'000)));
  constexpr long expected = long{rounds} * (rounds - 1) / 2;
  CHECK(sums == std::tuple{expected, expected, expected});
}

TEST_CASE("of two threads that call one breaks the promise, and the other one is heard") {
  constexpr int rounds = 2'000;
  test::throwing_contracts const scope;
  std::atomic<int> broken{0};
  std::vector<int> heard(rounds, 0);
  std::optional<completer<int>> done;
  test::meeting start{2};
  auto const call = [&](int value) {
    auto const mine = *done;
    start.meet();
    try {
      mine(value);
    } catch (test::broken_promise const&) {
      ++broken;
    }
    start.meet();
  };
  std::thread other{[&] {
    for (int round = 0; round < rounds; ++round) {
      start.meet();
      call(2);
    }
  }};
  auto const hear = [](std::optional<completer<int>>& to, int& value) -> held {
    value = co_await completion_of<int>([&to](auto given) { to = std::move(given); });
  };
  int wrong = 0;
  for (auto& value : heard) {
    auto const hearing = hear(done, value);
    start.meet();
    call(1);
    if (value != 1 && value != 2) ++wrong;
  }
  other.join();
  CHECK(broken == rounds);
  CHECK(wrong == 0);
}

TEST_CASE("handles go on one thread while another one destroys who has given up") {
  constexpr int rounds = 2'000;
  std::optional<completer<int>> done;
  test::meeting start{2};
  auto const wait = [](std::optional<completer<int>>& to) -> held {
    static_cast<void>(co_await keyspan::abandonable_completion_of<int>(
        [&to](auto given) { to = std::move(given); }));
  };
  std::optional<held> waiting;
  std::thread other{[&] {
    for (int round = 0; round < rounds; ++round) {
      start.meet();
      done.reset();
      start.meet();
    }
  }};
  for (int round = 0; round < rounds; ++round) {
    waiting.emplace(wait(done));
    start.meet();
    waiting.reset();
    start.meet();
  }
  other.join();
  CHECK(!done);
}

}  // namespace
