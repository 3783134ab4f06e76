// keyspan/async/steady_loop.hpp — runs coroutines on the thread that calls it, and wakes them when
// their moment has come: an event loop for programs that have none.
//
//   steady_loop loop;                         a clock, too: wait_for(loop, 5ms)
//   loop.complete(work(loop));                sleeps while nobody is to go on
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/result.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

namespace keyspan {

/// A `run_loop` and a `clock` in one: the steady clock of this machine. Who waits is suspended, so
/// any number wait on one thread at the same time; each goes on in the loop. It has no thread:
/// coroutines go on in who calls `complete`, and nowhere while nobody does.
///
/// All members may be called from any thread, and from what runs in the loop, but `complete` by one
/// thread at a time. It outlives those who are queued and those who wait, and stays where it is.
class steady_loop {
 public:
  using turn = run_loop::turn;

  steady_loop() noexcept = default;
  steady_loop(steady_loop const&) = delete;
  steady_loop& operator=(steady_loop const&) = delete;

  [[nodiscard]] instant now() const noexcept { return std::chrono::steady_clock::now(); }

  /// Waits until `due`, then goes on in the loop, behind all that are queued; the error is
  /// `stopped` where stop is requested first, and it goes on there, too. Those whose moments have
  /// come go on in the order of these, and of their arrival where they are equal. To begin is
  /// linear in the waits for later moments.
  ///
  /// Cancellation: by its token, from any thread.
  ///
  /// Destruction: at any time, as that of a task over what is abandonable: it is forgotten. Not
  /// while another thread requests stop of it.
  task<result<void>> wait_until(instant due, stop_token stop = {}) {
    // Whoever waits is entered by the thread that sleeps, so that it knows for how long it may.
    co_await turns_.schedule();
    auto const waited = co_await waits_.wait_until(due, std::move(stop));
    co_await turns_.schedule();
    co_return waited;
  }

  /// Who awaits this goes on in the loop, behind all that are queued already. Allocates nothing.
  turn schedule() noexcept { return turns_.schedule(); }

  /// Awaits `a` and returns its result, as `sync_wait` does, and runs the loop until then. Where
  /// nobody is queued it sleeps until the next moment that somebody waits for, or until another
  /// thread queues somebody, or is done with `a`.
  template <awaitable A>
  detail::returned<await_result<A>> complete(A&& a) {
    // Also where somebody is always queued: those who wait have their turn.
    auto const queue_who_is_due = [this](std::unique_lock<std::mutex>& lock) {
      auto const next = waits_.next();
      if (!next || *next > now()) return;
      lock.unlock();
      waits_.advance_to(now());
      lock.lock();
    };
    auto const sleep = [this](std::unique_lock<std::mutex>& lock) {
      // In pieces: some systems cannot wait for ever when they are given a moment.
      auto const longest = instant_after(now(), std::chrono::hours{1});
      detail::loop_door::changed(turns_).wait_until(
          lock, (std::min)(waits_.next().value_or(longest), longest));
    };
    return detail::loop_door::completed(turns_, static_cast<A&&>(a), queue_who_is_due, sleep);
  }

 private:
  run_loop turns_{};
  manual_clock waits_{};  // stands where somebody was last due
};

static_assert(clock<steady_loop>);

}  // namespace keyspan
