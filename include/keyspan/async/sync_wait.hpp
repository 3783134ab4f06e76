// keyspan/async/sync_wait.hpp — awaits from where there is no coroutine: the thread waits.
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/core/version.hpp>

#include <condition_variable>
#include <coroutine>
#include <mutex>

namespace keyspan {

namespace detail {

// One thread waits here, until another one comes.
class rendezvous {
 public:
  void come() noexcept {
    // Told in the lock: as soon as it is left, the other one may be off and this be gone.
    std::lock_guard const lock{mutex_};
    has_come_ = true;
    arrival_.notify_one();
  }
  void wait() noexcept {
    std::unique_lock lock{mutex_};
    while (!has_come_) arrival_.wait(lock);
  }

 private:
  std::mutex mutex_{};
  std::condition_variable arrival_{};
  bool has_come_ = false;
};

// The coroutine that is suspended for a thread, and in the end tells it: `end.come()`.
template <class End>
class waiting_thread {
 public:
  struct promise_type : frame_memory {
    template <class Awaiter>
    promise_type(Awaiter&, End& where) noexcept : end{where} {}

    waiting_thread get_return_object() noexcept {
      return waiting_thread{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    // Told when the coroutine is suspended: who was told destroys it.
    struct telling {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> suspended) noexcept {
        suspended.promise().end.come();
      }
      void await_resume() noexcept {}
    };
    telling final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    // Only starting the operation can throw, in `start`, whose caller hears of it.
    void unhandled_exception() {
#if KEYSPAN_EXCEPTIONS
      throw;
#endif
    }

    End& end;
  };

  explicit waiting_thread(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}
  waiting_thread(waiting_thread const&) = delete;
  waiting_thread& operator=(waiting_thread const&) = delete;
  ~waiting_thread() { frame_.destroy(); }

  void start() { frame_.resume(); }

 private:
  std::coroutine_handle<promise_type> frame_;
};

// Suspends in an operation that has said that it is not ready; its result is asked for elsewhere.
template <class Awaiter>
struct suspended_in {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> suspended) {
    return operation.await_suspend(suspended);
  }
  void await_resume() const noexcept {}

  Awaiter& operation;
};

template <class Awaiter, class End>
waiting_thread<End> wake_after(Awaiter& operation, End&) {
  co_await suspended_in<Awaiter>{operation};
}

}  // namespace detail

/// Awaits `a` and returns its result, by value where it is an rvalue reference; what it throws
/// passes through. Where `a` is ready nothing else happens: no coroutine, no allocation, no lock.
/// Otherwise this thread is blocked until `a` is done, on whatever thread that is.
///
/// Never call it on a thread that `a` needs to be done: one that runs an event loop, a run loop, or
/// the only worker of a pool. It waits for ever there. Not in a coroutine either: `co_await`.
template <awaitable A>
detail::returned<await_result<A>> sync_wait(A&& a) {
  auto&& operation = detail::awaiter_of(static_cast<A&&>(a));
  if (!operation.await_ready()) {
    detail::rendezvous end;
    auto waiting = detail::wake_after(operation, end);
    waiting.start();
    end.wait();
  }
  return operation.await_resume();
}

}  // namespace keyspan
