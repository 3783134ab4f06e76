// test/async/concurrent/pool.hpp — four threads that go on with whatever is given to them.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>
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

  void post(std::coroutine_handle<> suspended) {
    std::lock_guard const lock{mutex_};
    queue_.push_back(suspended);
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
      auto const next = queue_.front();
      queue_.pop_front();
      lock.unlock();
      next.resume();
    }
  }

  std::mutex mutex_{};
  std::condition_variable arrival_{};
  std::deque<std::coroutine_handle<>> queue_{};
  bool is_held_ = false;
  bool is_over_ = false;
  std::vector<std::thread> threads_{};
};

}  // namespace test
