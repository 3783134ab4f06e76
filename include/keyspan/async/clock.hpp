// keyspan/async/clock.hpp — who knows what time it is, and wakes who waits for a moment.
//
// The library owns no clock: it is given one. In a program that is the event loop's timer or a
// `thread_clock`, in a test a `manual_clock`.
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>

#include <chrono>
#include <concepts>
#include <utility>

namespace keyspan {

/// Tells the time and lets one wait for a moment: `co_await c.wait_until(due, stop)`.
///
/// Laws:
/// - `now()` never goes back, whoever asks.
/// - A wait succeeds at its moment or later: then `now() >= due`. One for the past succeeds soon.
/// - Where stop is requested before that it ends soon, with `errc::stopped`; where it was requested
///   before the wait began, also if that is for the past. A wait has no other error.
/// - Any number may wait at the same time, and who waits goes on once.
template <class C>
concept clock = requires(C& c, instant due, stop_token stop) {
  { c.now() } -> std::same_as<instant>;
  { c.wait_until(due, std::move(stop)) } -> awaitable_of<result<void>>;
};

namespace detail {

inline unexpected wait_stopped() {
  return fail(errc::stopped, "stop was requested before the moment that was waited for");
}

}  // namespace detail

/// Waits until `delay` from now, the moment of this call: what `by.wait_until` returns. However
/// long the delay is, it does not overflow.
template <clock Clock, class Rep, class Period>
[[nodiscard]] decltype(auto) wait_for(Clock& by, std::chrono::duration<Rep, Period> delay,
                                      stop_token stop = {}) {
  return by.wait_until(instant_after(by.now(), delay), std::move(stop));
}

}  // namespace keyspan
