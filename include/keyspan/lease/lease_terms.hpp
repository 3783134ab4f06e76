// keyspan/lease/lease_terms.hpp — what all leases of one host have in common, and how long a taker
// waits.
//
//   holder  |--write--------- D by its own clock ---------|  stops by itself
//   taker       |--sees it--- D (1 + r) / (1 - r) ------------|  may take
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/lease/session_id.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace keyspan {

/// What shows that the owner of a lease lives.
enum class liveness : std::uint8_t {
  per_session,  ///< its member record: one write a period for all its leases
  per_lease,    ///< each lease's own record, as in stores that others read as well
};

/// The enumerator's own name: "per_session".
constexpr std::string_view name_of(liveness kind) {
  switch (kind) {
    case liveness::per_session:
      return "per_session";
    case liveness::per_lease:
      return "per_lease";
  }
  expects(false, "a liveness is one of the enumerators");
  return {};
}

/// How long a taker waits, by its own clock, once it has seen a write of a holder who may hold for
/// `hold` by its clock, where every clock's rate is within `rate_bound_ppm` millionths of true
/// time's: `hold (1 + r) / (1 - r)`, rounded up. Requires a hold of 0 or more and a bound below a
/// million.
constexpr instant::duration wait_before_taking(instant::duration hold,
                                               std::uint32_t rate_bound_ppm) {
  expects(hold >= instant::duration::zero() && rate_bound_ppm < 1'000'000,
          "a hold is not negative, and a clock's rate is off by less than all of it");
  instant::rep const slow = 1'000'000 - instant::rep{rate_bound_ppm};
  instant::rep const twice = 2 * instant::rep{rate_bound_ppm};
  instant::rep const whole = hold.count() / slow;
  instant::rep const part = (hold.count() % slow * twice + slow - 1) / slow;
  if (twice != 0 && whole > ((instant::duration::max)().count() - part) / twice)
    return (instant::duration::max)();
  return instant_after(instant{hold}, instant::duration{whole * twice + part}).time_since_epoch();
}

/// What a host's lease machines are told beside their events.
struct lease_terms {
  /// This host, from this start to its end; never nobody.
  session_id session{};
  /// How long it holds a lease, or its session, after the sending of a write that succeeded.
  instant::duration hold = std::chrono::seconds{60};
  std::uint32_t rate_bound_ppm = 1'000;
  keyspan::liveness liveness = liveness::per_session;
  /// Until when the session holds, where that is what shows that the host lives.
  instant session_until{};
  /// It takes nothing any more.
  bool is_stopping = false;
  /// What its leases are kept for while it restarts; 0 where it lets go of them.
  std::uint64_t place = 0;

  friend constexpr bool operator==(lease_terms const&, lease_terms const&) = default;
};

}  // namespace keyspan
