// keyspan/async/thread_clock.hpp — real time, for who may wait with the whole thread: plain loops,
// demos, small tools.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/result.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <utility>

namespace keyspan {

/// The steady `clock` of this machine. Who awaits a moment is never suspended: its thread is
/// blocked until then. So two waits on one thread come one after the other, in `when_all` as well.
/// Never use it on a thread that others need: one that runs an event loop or a pool's work.
class thread_clock {
 public:
  /// What `wait_until` returns. It waits where it is awaited.
  ///
  /// Cancellation: by its token, from another thread; wakes at once.
  class [[nodiscard]] wait {
   public:
    /// Nothing is ever in flight.
    static constexpr bool abandonable = true;

    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    result<void> await_resume() const;

   private:
    friend thread_clock;
    wait(instant due, stop_token stop) noexcept : due_{due}, stop_{std::move(stop)} {}

    instant due_;
    stop_token stop_;
  };

  [[nodiscard]] instant now() const noexcept { return std::chrono::steady_clock::now(); }

  /// Waits until `due`; the error is `stopped` where stop is requested first. Allocates nothing.
  wait wait_until(instant due, stop_token stop = {}) const noexcept {
    return wait{due, std::move(stop)};
  }
};

inline result<void> thread_clock::wait::await_resume() const {
  if (stop_.stop_requested()) return detail::wait_stopped();
  if (std::chrono::steady_clock::now() >= due_) return {};
  std::mutex mutex;
  std::condition_variable woken;
  bool is_stopped = false;
  stop_callback on_stop{stop_, [&]() noexcept {
                          std::lock_guard const lock{mutex};
                          is_stopped = true;
                          woken.notify_one();
                        }};
  std::unique_lock lock{mutex};
  while (!is_stopped) {
    instant const now = std::chrono::steady_clock::now();
    if (now >= due_) return {};
    // In pieces: some systems cannot wait for ever when they are given a moment.
    woken.wait_until(lock, (std::min)(due_, instant_after(now, std::chrono::hours{1})));
  }
  return detail::wait_stopped();
}

static_assert(clock<thread_clock> && clock<thread_clock const>);

}  // namespace keyspan
