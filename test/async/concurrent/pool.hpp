// test/async/concurrent/pool.hpp — four threads that do what they are given, or go on with it.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace test {

class pool {
 public:
  explicit pool(int threads = 4) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;
  ~pool() {
    {
      std::lock_guard const lock{mutex_};
      is_over_ = true;
    }
    arrival_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  /// Any callable, or a coroutine that is gone on with.
  void post(std::function<void()> work) {
    std::lock_guard const lock{mutex_};
    queue_.push_back(std::move(work));
    arrival_.notify_one();
  }

  /// Nobody goes on before the pool is let go.
  void hold() {
    std::lock_guard const lock{mutex_};
    is_held_ = true;
  }
  void let_go() {
    {
      std::lock_guard const lock{mutex_};
      is_held_ = false;
    }
    arrival_.notify_all();
  }

  /// Who awaits it goes on on one of the threads.
  struct hop_awaiter {
    pool* to;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) const { to->post(suspended); }
    void await_resume() const noexcept {}
  };
  hop_awaiter hop() noexcept { return {this}; }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock{mutex_};
      arrival_.wait(lock, [this] { return is_over_ || (!is_held_ && !queue_.empty()); });
      if (queue_.empty()) return;
      auto const next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
    }
  }

  std::mutex mutex_{};
  std::condition_variable arrival_{};
  std::deque<std::function<void()>> queue_{};
  bool is_held_ = false;
  bool is_over_ = false;
  std::vector<std::thread> threads_{};
};

}  // namespace test
