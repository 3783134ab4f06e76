// bench/support/companion.hpp — a thread that does something over and over beside a measurement.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace bench {

/// Calls `work` on a thread of its own, as long as it lives.
class companion {
 public:
  explicit companion(std::function<void()> work)
      : thread_{[this, again = std::move(work)] {
          while (!done_.load(std::memory_order_relaxed)) again();
        }} {}
  ~companion() {
    done_ = true;
    thread_.join();
  }
  companion(companion const&) = delete;
  companion& operator=(companion const&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace bench
