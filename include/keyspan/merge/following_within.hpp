// keyspan/merge/following_within.hpp — follows sources, and waits for one that has nothing new no
// longer than it may be late.
//
//   now - lateness            now
//   ------|--------------------|----->    what is older than that is given, whoever is silent
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/feed/feed_reading.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

// Of what is no time, so that the class can say so.
template <class T>
struct lateness_of {
  using type = std::chrono::milliseconds;
};
template <class Clock, class Duration>
struct lateness_of<std::chrono::time_point<Clock, Duration>> {
  using type = Duration;
  static constexpr bool is_time = true;
};

}  // namespace detail

/// The manner of following sources of which some are silent for long: a source that has nothing new
/// is taken to have written nothing before `now() - lateness`, so that the items of others up to
/// there are given. What it shows later all the same counts as of that time. For a merge `by_time`
/// whose times are of the type that `now()` returns.
///
/// The moment is looked at whenever a source has answered again, so at least once every `delay`.
template <clock Clock, class Now>
class following_within : public following<Clock> {
 public:
  using time_type = std::remove_cvref_t<std::invoke_result_t<Now const&>>;
  static_assert(
      requires { detail::lateness_of<time_type>::is_time; },
      "following_within asks a function that returns a std::chrono::time_point, of the "
      "type that by_time makes of the items");

  using lateness_type = typename detail::lateness_of<time_type>::type;

  /// Requires a delay above 0, and a lateness that is not negative. The clock outlives the reading.
  following_within(Clock& by, instant::duration delay, lateness_type lateness, Now now)
      : following<Clock>{by, delay},
        lateness_{lateness},
        now_(std::make_shared<Now const>(std::move(now))) {
    expects(lateness >= lateness_type::zero(), "nobody is late by a negative time");
  }

  /// What is older is given.
  time_type watermark() const { return (*now_)() - lateness_; }

 private:
  lateness_type lateness_;
  std::shared_ptr<Now const> now_;  // manners are assigned, and not all that is called can be
};

template <class Clock, class Lateness, class Now>
following_within(Clock&, instant::duration, Lateness, Now) -> following_within<Clock, Now>;

}  // namespace keyspan
