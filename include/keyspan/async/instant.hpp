// keyspan/async/instant.hpp — a moment of whatever clock is at hand, and the moments around it.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <utility>

namespace keyspan {

/// A moment. It never goes back, and has nothing to do with the time of day.
using instant = std::chrono::steady_clock::time_point;

namespace detail {

// `a * b / by`, without the product, which may be too large: the bits of `b` from the highest on.
// Requires `a < by`, and `by` within 63 bits.
constexpr std::uint64_t product_over(std::uint64_t a, std::uint64_t b, std::uint64_t by) {
  std::uint64_t quotient = 0;
  std::uint64_t rest = 0;
  for (int bit = 63; bit >= 0; --bit) {
    rest *= 2;
    quotient = 2 * quotient + rest / by;
    rest = rest % by + (b >> bit & 1) * a;
    quotient += rest / by;
    rest %= by;
  }
  return quotient;
}

// In the unit of an instant, and no further than that reaches.
template <class Rep, class Period>
constexpr instant::duration saturated(std::chrono::duration<Rep, Period> delay) {
  using limits = std::numeric_limits<instant::rep>;
  using ratio = std::ratio_divide<Period, instant::period>;
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    // The ends are powers of two, so that they are exact; what is no number is for ever. The first
    // comparison is there for products that overflow.
    constexpr auto end = static_cast<Rep>((limits::max)());
    constexpr auto factor = static_cast<Rep>(ratio::num) / static_cast<Rep>(ratio::den);
    if (!(delay.count() < end / factor)) return (instant::duration::max)();
    if (!(delay.count() > -end / factor)) return (instant::duration::min)();
    Rep const ticks = delay.count() * factor;
    if (!(ticks < end)) return (instant::duration::max)();
    if (!(ticks > -end)) return (instant::duration::min)();
    return instant::duration{static_cast<instant::rep>(ticks)};
  } else {
    auto const whole = delay.count() / ratio::den;
    if (std::cmp_greater(whole, (limits::max)() / ratio::num)) return (instant::duration::max)();
    if (std::cmp_less(whole, (limits::min)() / ratio::num)) return (instant::duration::min)();
    auto const steps = static_cast<instant::rep>(whole) * ratio::num;
    auto const rest = static_cast<instant::rep>(delay.count() % ratio::den);
    instant::rep part = 0;
    if constexpr (ratio::num <= (limits::max)() / ratio::den) {
      part = rest * ratio::num / ratio::den;
    } else {
      auto const size = static_cast<std::uint64_t>(rest < 0 ? -rest : rest);
      part = static_cast<instant::rep>(product_over(size, ratio::num, ratio::den));
      if (rest < 0) part = -part;
    }
    if (part > 0 && steps > (limits::max)() - part) return (instant::duration::max)();
    if (part < 0 && steps < (limits::min)() - part) return (instant::duration::min)();
    return instant::duration{steps + part};
  }
}

}  // namespace detail

/// The moment so much later than `from`, or earlier where `delay` is negative; the last moment
/// there is where that would lie behind it, and the first one likewise.
template <class Rep, class Period>
[[nodiscard]] constexpr instant instant_after(instant from,
                                              std::chrono::duration<Rep, Period> delay) {
  instant::duration const by = detail::saturated(delay);
  if (by > instant::duration::zero() && from > (instant::max)() - by) return (instant::max)();
  if (by < instant::duration::zero() && from < (instant::min)() - by) return (instant::min)();
  return from + by;
}

}  // namespace keyspan
