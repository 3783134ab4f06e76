// test/async/concurrent/meeting.hpp — threads that leave a place at the same time.
#pragma once

#include <atomic>
#include <thread>

namespace test {

/// Nobody is put to sleep, as in std::barrier: those who leave do so within a microsecond, which is
/// what a race needs.
class meeting {
 public:
  explicit meeting(int threads) : threads_{threads} {}

  void meet() {
    int const round = round_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_ = 0;
      ++round_;
      return;
    }
    for (int spins = 0; round_.load() == round; ++spins)
      if (spins > 1'000) std::this_thread::yield();  // machines with less cores than threads
  }

 private:
  int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

}  // namespace test
