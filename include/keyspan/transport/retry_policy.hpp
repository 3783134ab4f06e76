// keyspan/transport/retry_policy.hpp — whether a request that failed is sent once more, and when: a
// pure function.
//
//   attempt --x  wait  attempt --x  wait, twice as long  attempt --x  …   within a budget
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace keyspan {

/// How patient a sender is. The figures are those of Cosmos DB's own clients.
struct retry_policy {
  /// The first one included. Requires 1 or more.
  int most_attempts = 10;
  /// How long after the beginning of the first attempt the last one may begin.
  instant::duration budget = std::chrono::seconds{30};
  /// The wait after the first attempt; it doubles with each one, up to `longest_wait`. A service
  /// that says how long to wait is waited for at least so long.
  instant::duration first_wait = std::chrono::milliseconds{10};
  instant::duration longest_wait = std::chrono::seconds{1};
  /// Whether the rest is left to somebody above who knows other endpoints: what is repeated here is
  /// what no other one would mend, `throttled` and `contended`.
  bool only_where_busy = false;
  /// The wait where a service throttles and does not say for how long.
  instant::duration throttled_wait = std::chrono::seconds{5};
  /// Up to this share of a wait is added to it, so that those who failed together do not come back
  /// together. Requires 0 to 1.
  double jitter = 0.25;
  /// What the shares are drawn from: the same seed, request and attempt give the same wait.
  std::uint64_t seed = 0;

  friend bool operator==(retry_policy const&, retry_policy const&) = default;
};

/// What is known when an attempt has failed.
struct failed_attempt {
  /// How many have failed by now, this one included.
  int attempts = 1;
  /// Why this one did.
  error why{errc::unavailable};
  /// Since the beginning of the first one.
  instant::duration elapsed{};
  request_kind kind = request_kind::read;
  /// Tells requests apart that are drawn for from one seed.
  std::uint64_t request = 0;
};

namespace detail {

constexpr std::uint64_t mixed(std::uint64_t z) noexcept {
  z += 0x9E37'79B9'7F4A'7C15;
  z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EB;
  return z ^ z >> 31;
}

constexpr void check_policy(retry_policy const& policy) {
  expects(policy.most_attempts > 0, "a request is attempted once at least");
  expects(policy.jitter >= 0 && policy.jitter <= 1, "a jitter is a share from 0 to 1");
}

}  // namespace detail

/// Whether a request that failed by this error may be sent again without doing more than was asked
/// for, and another attempt may help.
///
/// Throttled, contended and unavailable requests were not done, and those that found no connection
/// were not taken. What failed in the service's hands or was lost on the way back is repeated where
/// it is a read or a write that can be done twice. Everything else gives the same answer again, or
/// is somebody else's to deal with: a range that is gone the feed's, a region or a replica that
/// cannot serve it the region's, a deadline the caller's.
[[nodiscard]] constexpr bool may_repeat(error const& why, request_kind kind) {
  switch (why.code) {
    case errc::throttled:
    case errc::contended:
    case errc::unavailable:
    case errc::not_connected:
      return true;
    case errc::service_failed:
    case errc::outcome_unknown:
    case errc::bad_response:
      return kind != request_kind::write;
    case errc::timed_out:  // by a service; a deadline has no status
      return why.wire.status != 0 && kind != request_kind::write;
    default:
      return false;
  }
}

/// How long to wait before the next attempt; none where there is to be none.
[[nodiscard]] constexpr std::optional<instant::duration> wait_before_retry(
    retry_policy const& policy, failed_attempt const& failed) {
  using duration = instant::duration;
  detail::check_policy(policy);
  bool const is_busy = failed.why.code == errc::throttled || failed.why.code == errc::contended;
  if (failed.attempts >= policy.most_attempts || !may_repeat(failed.why, failed.kind) ||
      (policy.only_where_busy && !is_busy))
    return std::nullopt;

  duration wait = policy.first_wait;
  if (failed.why.code == errc::throttled) {
    wait = policy.throttled_wait;
  } else {
    for (int i = 1; i < failed.attempts && wait > duration::zero() && wait < policy.longest_wait;
         ++i)
      wait = wait > policy.longest_wait / 2 ? policy.longest_wait : wait * 2;
    wait = (std::min)(wait, policy.longest_wait);
  }
  duration const asked = std::chrono::milliseconds{failed.why.wire.retry_after_ms};
  if (asked > duration::zero())
    wait = failed.why.code == errc::throttled ? asked : (std::max)(wait, asked);

  std::uint64_t const drawn = detail::mixed(detail::mixed(policy.seed ^ failed.request) ^
                                            static_cast<std::uint64_t>(failed.attempts));
  double const share = static_cast<double>(drawn >> 11) * 0x1p-53 * policy.jitter;
  auto const more = static_cast<double>(wait.count()) * share;
  if (more < static_cast<double>((duration::max)().count() - wait.count()))
    wait += duration{static_cast<duration::rep>(more)};

  if (wait > policy.budget - failed.elapsed) return std::nullopt;
  return wait;
}

}  // namespace keyspan
