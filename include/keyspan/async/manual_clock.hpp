// keyspan/async/manual_clock.hpp — a clock that stands until it is moved: virtual time.
//
//   now --advance(1 h)--> [10:00 a] [10:00 b] [10:20 c] --> now      a, b, c go on one by one, each
//                                                                    at its own moment
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/result.hpp>

#include <algorithm>
#include <coroutine>
#include <mutex>
#include <optional>
#include <utility>

namespace keyspan {

namespace detail {

// A place in a ring of those who wait; it goes through the one who has the list, too.
struct wait_link {
  wait_link() noexcept = default;
  wait_link(wait_link const&) = delete;
  wait_link& operator=(wait_link const&) = delete;

  bool is_alone() const noexcept { return after == this; }
  void join_behind(wait_link& other) noexcept {
    before = &other;
    after = other.after;
    after->before = this;
    other.after = this;
  }
  void leave() noexcept {
    before->after = after;
    after->before = before;
    before = after = this;
  }

  wait_link* before = this;
  wait_link* after = this;
};

}  // namespace detail

/// A `clock` for tests and simulations. It begins at `instant{}` and moves only where `advance`
/// moves it, so hours pass in no time, and the same way each time. All members may be called from
/// any thread. It outlives those who wait for it, and stays where it is.
///
/// Who waits is resumed by the thread that moves the clock, or that requests stop, inside of that
/// call. A wait allocates nothing.
class manual_clock {
  class waiter;

 public:
  /// What `wait_until` returns.
  ///
  /// Cancellation: by its token; who waits goes on inside of `request_stop`.
  ///
  /// Destruction: at any time (abandonable): it is forgotten. Not while another thread resumes it:
  /// see to it that none moves the clock or requests stop meanwhile.
  class [[nodiscard]] wait {
   public:
    static constexpr bool abandonable = true;

    waiter operator co_await() const noexcept;

   private:
    friend manual_clock;
    wait(manual_clock& clock, instant due, stop_token stop) noexcept
        : clock_{&clock}, due_{due}, stop_{std::move(stop)} {}

    manual_clock* clock_;
    instant due_;
    stop_token stop_;
  };

  manual_clock() noexcept = default;
  manual_clock(manual_clock const&) = delete;
  manual_clock& operator=(manual_clock const&) = delete;
  ~manual_clock() { expects(waiting_.is_alone(), "a clock outlives those who wait for it"); }

  [[nodiscard]] instant now() const noexcept {
    std::lock_guard const lock{mutex_};
    return now_;
  }

  /// Waits until the clock has come to `due`; a moment in the past is ready at once. The error is
  /// `stopped` where stop is requested first. To begin is linear in the waits for later moments.
  wait wait_until(instant due, stop_token stop = {}) noexcept {
    return wait{*this, due, std::move(stop)};
  }

  /// Moves the clock, at most to the end of time. On the way whoever waits goes on, in the order of
  /// their moments, and of their arrival where these are equal; the clock stands at that moment
  /// meanwhile. They may wait anew, and are resumed once more where that falls into the same
  /// stretch, move the clock themselves, and request stop. Requires a delay of 0 or more.
  ///
  /// Where several threads move the clock at once nobody is lost and nobody early, but the clock
  /// may have moved on when somebody is resumed.
  void advance(instant::duration by) {
    expects(by >= instant::duration::zero(), "time does not go back");
    advance_to(instant_after(now(), by));
  }

  /// The same up to a moment; does nothing where the clock has passed it.
  void advance_to(instant to) {
    while (auto const goes_on = next_before(to)) goes_on.resume();
  }

  /// The first moment that somebody waits for.
  [[nodiscard]] std::optional<instant> next() const noexcept;

 private:
  // Takes the first who waits for `to` or earlier out of the list and moves the clock there; to
  // `to` where there is none.
  std::coroutine_handle<> next_before(instant to) noexcept;

  mutable std::mutex mutex_{};
  instant now_{};
  detail::wait_link waiting_{};  // by their moment, then by arrival
};

// Whoever takes it out of the list, under the lock, is the one that goes on with it.
class manual_clock::waiter : private detail::wait_link {
 public:
  waiter(manual_clock& clock, instant due, stop_token stop) noexcept
      : clock_{clock}, due_{due}, stop_{std::move(stop)} {}
  ~waiter() {
    if (!is_suspended_) return;
    std::lock_guard const lock{clock_.mutex_};
    expects(stage_ == stage::waiting, "who waits is not destroyed while it is being resumed");
    leave();
    stage_ = stage::reached;  // for a stop that is on its way: the callback's end is awaited
  }

  bool await_ready() noexcept {
    if (stop_.stop_requested()) {
      stage_ = stage::stopped;
      return true;
    }
    if (due_ > clock_.now()) return false;
    stage_ = stage::reached;
    return true;
  }

  // A stop that comes before the wait is in the list finds nobody to resume.
  bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    goes_on_ = suspended;
    if (stop_.stop_possible()) on_stop_.emplace(stop_, stopping{*this});
    std::lock_guard const lock{clock_.mutex_};
    if (stage_ == stage::stopped) return false;
    if (due_ <= clock_.now_) {
      stage_ = stage::reached;
      return false;
    }
    enter();
    return true;
  }

  result<void> await_resume() {
    is_suspended_ = false;
    // Here and not later: inside of a request to stop, another thread would wait for its end.
    on_stop_.reset();
    if (stage_ == stage::stopped) return detail::wait_stopped();
    return {};
  }

 private:
  friend manual_clock;

  enum class stage : unsigned char { begun, waiting, reached, stopped };

  struct stopping {
    void operator()() const noexcept { of.stop(); }
    waiter& of;
  };

  void enter() noexcept {
    detail::wait_link* place = clock_.waiting_.before;
    while (place != &clock_.waiting_ && static_cast<waiter*>(place)->due_ > due_)
      place = place->before;
    join_behind(*place);
    stage_ = stage::waiting;
    is_suspended_ = true;
  }

  void stop() noexcept {
    std::coroutine_handle<> goes_on = std::noop_coroutine();
    {
      std::lock_guard const lock{clock_.mutex_};
      if (stage_ == stage::reached) return;
      if (stage_ == stage::waiting) {
        leave();
        goes_on = goes_on_;
      }
      stage_ = stage::stopped;
    }
    goes_on.resume();
  }

  manual_clock& clock_;
  instant due_;
  stop_token stop_;
  stage stage_ = stage::begun;  // under the clock's lock once `on_stop_` is there
  bool is_suspended_ = false;
  std::coroutine_handle<> goes_on_{};
  std::optional<stop_callback<stopping>> on_stop_{};
};

inline manual_clock::waiter manual_clock::wait::operator co_await() const noexcept {
  return waiter{*clock_, due_, stop_};
}

inline std::optional<instant> manual_clock::next() const noexcept {
  std::lock_guard const lock{mutex_};
  if (waiting_.is_alone()) return std::nullopt;
  return static_cast<waiter const*>(waiting_.after)->due_;
}

inline std::coroutine_handle<> manual_clock::next_before(instant to) noexcept {
  std::lock_guard const lock{mutex_};
  if (!waiting_.is_alone()) {
    auto& first = *static_cast<waiter*>(waiting_.after);
    if (first.due_ <= to) {
      now_ = first.due_;
      first.leave();
      first.stage_ = waiter::stage::reached;
      return first.goes_on_;
    }
  }
  now_ = (std::max)(now_, to);
  return {};
}

static_assert(clock<manual_clock>);

}  // namespace keyspan
