// keyspan/async/run_loop.hpp — runs coroutines on the thread that calls it, one after the other:
// for tests and demos, and for programs that have no event loop of their own.
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/contract.hpp>

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <mutex>
#include <utility>

namespace keyspan {

namespace detail {
struct loop_door;
}

/// A queue of coroutines that want to go on, first in, first out. It has no thread: they go on in
/// who calls `run` or `complete`. All members may be called from any thread, and from what runs in
/// the loop. It outlives those who are queued, and stays where it is.
class run_loop {
  class waiter;

 public:
  /// What `schedule` returns.
  ///
  /// Destruction: at any time (abandonable): it is forgotten. Not while another thread resumes it.
  class [[nodiscard]] turn {
   public:
    static constexpr bool abandonable = true;

    waiter operator co_await() const noexcept;

   private:
    friend run_loop;
    explicit turn(run_loop& loop) noexcept : loop_{&loop} {}

    run_loop* loop_;
  };

  run_loop() noexcept = default;
  run_loop(run_loop const&) = delete;
  run_loop& operator=(run_loop const&) = delete;
  ~run_loop() { expects(queue_.is_alone(), "a loop outlives those who are queued in it"); }

  /// Who awaits this goes on in the loop, behind all that are queued already. Allocates nothing.
  turn schedule() noexcept { return turn{*this}; }

  /// Resumes the first in the queue; false where nobody is queued.
  bool run_one() {
    auto const goes_on = next();
    if (!goes_on) return false;
    goes_on.resume();
    return true;
  }

  /// Runs until nobody is queued, those included who come meanwhile. Returns how many were resumed.
  std::size_t run() {
    std::size_t resumed = 0;
    while (run_one()) ++resumed;
    return resumed;
  }

  /// Awaits `a` and returns its result, as `sync_wait` does, and runs the loop until then; where
  /// nobody is queued it waits for other threads to queue somebody, or to be done with `a`.
  template <awaitable A>
  detail::returned<await_result<A>> complete(A&& a) {
    return completed(static_cast<A&&>(a), nothing_ahead{},
                     [this](std::unique_lock<std::mutex>& lock) { changed_.wait(lock); });
  }

  /// The same in virtual time: where nobody is queued the clock is moved to the next moment that
  /// somebody waits for. Requires that all of it goes on here: where nobody waits for the clock
  /// either, nothing could complete it.
  template <awaitable A>
  detail::returned<await_result<A>> complete(A&& a, manual_clock& clock) {
    auto const idle = [&clock](std::unique_lock<std::mutex>& lock) {
      lock.unlock();
      auto const moment = clock.next();
      expects(moment.has_value(), "nothing can complete it any more");
      clock.advance_to(*moment);
      lock.lock();
    };
    return completed(static_cast<A&&>(a), nothing_ahead{}, idle);
  }

 private:
  friend detail::loop_door;

  struct nothing_ahead {
    void operator()(std::unique_lock<std::mutex>&) const noexcept {}
  };

  // Who completes tells it here, on whatever thread.
  struct ending {
    void come() noexcept {
      // Told in the lock: as soon as it is left, the loop may be gone.
      std::lock_guard const lock{loop.mutex_};
      has_come = true;
      loop.wake();
    }
    run_loop& loop;
    bool has_come = false;
  };

  // Calls `ahead` before each turn and `idle` where nobody is queued, both under the lock.
  template <class A, class Ahead, class Idle>
  detail::returned<await_result<A>> completed(A&& a, Ahead ahead, Idle idle) {
    auto&& operation = detail::awaiter_of(static_cast<A&&>(a));
    if (!operation.await_ready()) {
      ending end{*this};
      auto waiting = detail::wake_after(operation, end);
      waiting.start();
      std::unique_lock lock{mutex_};
      while (!end.has_come) {
        ahead(lock);
        if (auto const goes_on = taken()) {
          lock.unlock();
          goes_on.resume();
          lock.lock();
        } else if (!end.has_come) {  // while `ahead` had left the lock
          idle(lock);
        }
      }
    }
    return operation.await_resume();
  }

  std::coroutine_handle<> next() noexcept {
    std::lock_guard const lock{mutex_};
    return taken();
  }
  // Under the lock: takes the first out of the queue.
  std::coroutine_handle<> taken() noexcept;

  // Under the lock, where whoever runs the loop may have something to do.
  void wake() noexcept {
    if (wake_elsewhere_ == nullptr) {
      changed_.notify_all();
    } else {
      wake_elsewhere_(sleeper_);
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  detail::wait_link queue_{};
  void (*wake_elsewhere_)(void*) noexcept = nullptr;
  void* sleeper_ = nullptr;
};

class run_loop::waiter : private detail::wait_link {
 public:
  explicit waiter(run_loop& loop) noexcept : loop_{loop} {}
  ~waiter() {
    if (!is_suspended_) return;
    std::lock_guard const lock{loop_.mutex_};
    expects(!is_alone(), "who is queued is not destroyed while it is being resumed");
    leave();
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    std::lock_guard const lock{loop_.mutex_};
    queue(suspended);
  }
  void await_resume() noexcept { is_suspended_ = false; }

 private:
  friend run_loop;
  friend detail::loop_door;

  // Under the lock.
  void queue(std::coroutine_handle<> suspended) noexcept {
    goes_on_ = suspended;
    is_suspended_ = true;
    join_behind(*loop_.queue_.before);
    loop_.wake();
  }

  run_loop& loop_;
  bool is_suspended_ = false;
  std::coroutine_handle<> goes_on_{};
};

inline run_loop::waiter run_loop::turn::operator co_await() const noexcept {
  return waiter{*loop_};
}

inline std::coroutine_handle<> run_loop::taken() noexcept {
  if (queue_.is_alone()) return {};
  auto& first = *static_cast<waiter*>(queue_.after);
  first.leave();
  return first.goes_on_;
}

namespace detail {

// For loops that are more than a queue: they wait for moments, for sockets, and sleep there.
struct loop_door {
  using waiter = run_loop::waiter;

  static std::mutex& mutex_of(run_loop& loop) noexcept { return loop.mutex_; }
  static std::condition_variable& changed(run_loop& loop) noexcept { return loop.changed_; }

  // Under the lock: whether somebody is queued.
  static bool is_anybody_queued(run_loop const& loop) noexcept { return !loop.queue_.is_alone(); }
  // Under the lock: who has said before where it goes on does so, behind all that are queued.
  static void queue(waiter& who, std::coroutine_handle<> suspended) noexcept {
    who.queue(suspended);
  }

  // `wake` is called, under the lock, instead of telling those who wait for `changed`. Before the
  // loop is used.
  static void sleep_elsewhere(run_loop& loop, void (*wake)(void*) noexcept,
                              void* sleeper) noexcept {
    loop.wake_elsewhere_ = wake;
    loop.sleeper_ = sleeper;
  }

  template <class A, class Ahead, class Idle>
  static returned<await_result<A>> completed(run_loop& loop, A&& a, Ahead ahead, Idle idle) {
    return loop.completed(static_cast<A&&>(a), ahead, idle);
  }
};

}  // namespace detail

static_assert(awaitable_of<run_loop::turn, void>);

}  // namespace keyspan
