// keyspan/region/region_retry.hpp — what is done about a request that failed in one region: whether
// another one is asked, which one, and what is remembered of the first. A pure function.
//
//   West US --x 503       -->  North Europe, at once
//   West US --x 403/3     -->  it takes no writes: mark it, read the account anew, ask again
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace keyspan {

/// How patient a sender is that knows several regions. The figures are those of Cosmos DB's own
/// clients.
struct region_policy {
  /// How long an endpoint that was found out of order is asked last.
  instant::duration mark_lasts = std::chrono::minutes{5};
  /// How old what is known of the account may become.
  instant::duration refresh_every = std::chrono::minutes{5};
  /// The same while the preferred region is not the one that is asked, and the least time between
  /// two looks, whatever happens.
  instant::duration refresh_away_every = std::chrono::seconds{30};
  instant::duration least_refresh_wait = std::chrono::milliseconds{500};
  /// How long a region may take for an answer, where another one may be asked instead; half of the
  /// time that is left, where that is less. And how long the account may take to say its regions.
  instant::duration answer_within = std::chrono::seconds{5};
  instant::duration look_within = std::chrono::seconds{5};
  /// How long after the beginning of the first attempt the last one may begin.
  instant::duration budget = std::chrono::seconds{30};
  /// How often a write looks for the region that takes it: at once, then a second after each look.
  /// The budget may end that sooner.
  int most_not_writable = 120;
  instant::duration not_writable_wait = std::chrono::seconds{1};
  /// How often a request is attempted that no region could serve or be reached for. Each region is
  /// tried at once; behind that there is a wait, twice as long each time.
  int most_unavailable = 10;
  instant::duration first_wait = std::chrono::milliseconds{10};
  instant::duration longest_wait = std::chrono::seconds{1};
  /// How often a region is asked that cannot serve something yet, and the wait before that; it
  /// doubles.
  int most_not_ready = 10;
  instant::duration not_ready_wait = std::chrono::milliseconds{100};
  /// How often the region that takes the writes is asked for what another one has not seen yet.
  int most_behind = 2;

  friend bool operator==(region_policy const&, region_policy const&) = default;
};

/// Why a region did not serve a request, as far as other regions are concerned.
enum class region_trouble : std::uint8_t {
  none,          ///< another region would say the same, or may not be asked
  not_writable,  ///< it takes no writes (any more): 403/3
  not_there,     ///< it is no region of the account (yet): 403/1008
  behind,        ///< it has not seen what the session has: 404/1002
  not_ready,     ///< it cannot serve this yet: 404/1013, 410 of a partition that is being split
  unavailable,   ///< it cannot serve this for now, and has not: 503, 410 of a replica, 429/3092
  unclear,       ///< it failed, and may have done it: 500, 408, a lost answer
  unreachable,   ///< there is no connection to it
};

/// Which of these an error is. It is `unclear` for reads and for writes that can be done twice
/// alone; for another write that is `none`. A deadline of the caller, `stopped`, and all that an
/// endpoint is asked again for by itself (`throttled`, `contended`), or that a feed or a container
/// deals with, is `none`. `writes_in_many` is whether this is a write of an account that takes
/// them in several regions: there 429/3092 is `unavailable`.
[[nodiscard]] constexpr region_trouble trouble_of(error const& why, request_kind kind,
                                                  bool writes_in_many = false) {
  bool const may_be_done_twice = kind != request_kind::write;
  std::uint16_t const status = why.wire.status;
  std::uint16_t const sub = why.wire.substatus;
  switch (why.code) {
    case errc::region_not_writable:
      return region_trouble::not_writable;
    case errc::session_not_available:
      return region_trouble::behind;
    case errc::not_connected:
      return region_trouble::unreachable;
    case errc::unavailable:
      if (status == 403 && sub == 1008) return region_trouble::not_there;
      if (status == 404 && sub == 1013) return region_trouble::not_ready;
      // Of a partition, and told as what is waited for.
      if (status == 410 && (sub == 1002 || sub == 1007 || sub == 1008))
        return region_trouble::not_ready;
      return region_trouble::unavailable;
    case errc::throttled:
      return sub == 3092 && writes_in_many && kind != request_kind::read
                 ? region_trouble::unavailable
                 : region_trouble::none;
    case errc::service_failed:
    case errc::bad_response:
    case errc::outcome_unknown:
      return may_be_done_twice ? region_trouble::unclear : region_trouble::none;
    case errc::timed_out:  // by a service; a deadline has no status
      return status != 0 && may_be_done_twice ? region_trouble::unclear : region_trouble::none;
    default:
      return region_trouble::none;
  }
}

/// What is known when an attempt in a region has failed.
struct failed_in_region {
  region_trouble trouble = region_trouble::none;
  region_use use = region_use::read;
  /// Whether this is a write of an account that takes them in several regions, or a read of one.
  bool writes_in_many = false;
  /// How many attempts have failed so, this one included; `unavailable`, `unclear` and
  /// `unreachable` count as one.
  int alike = 1;
  /// How many regions were not tried since each was tried once last.
  std::size_t untried = 0;
  /// How often each was tried once before that.
  int rounds = 0;
  /// Since the beginning of the first attempt.
  instant::duration elapsed{};
};

/// Where a request is sent again.
enum class region_place : std::uint8_t {
  same,          ///< where it was sent to
  next,          ///< the first region in the order then that was not tried in this round
  write_region,  ///< where the account takes its writes
};

/// What is done about it.
struct region_step {
  /// Whether the request is sent again; else the error is the answer.
  bool goes_on = false;
  region_place place = region_place::same;
  /// What the endpoint that failed is marked for.
  bool marks_reads = false;
  bool marks_writes = false;
  /// Whether the account is asked for its regions first.
  bool refreshes = false;
  instant::duration wait{};

  friend bool operator==(region_step const&, region_step const&) = default;
};

namespace detail {

// The wait doubles so often from `first` on.
constexpr instant::duration doubled(instant::duration first, instant::duration longest, int times) {
  instant::duration wait = first;
  for (int i = 0; i < times && wait > instant::duration::zero() && wait < longest; ++i)
    wait = wait > longest / 2 ? longest : wait * 2;
  return (std::min)(wait, longest);
}

constexpr region_step step_of(region_policy const& policy, failed_in_region const& failed) {
  region_step next{.place = region_place::next};
  bool const chooses =
      failed.use == region_use::read || (failed.use == region_use::write && failed.writes_in_many);
  switch (failed.trouble) {
    case region_trouble::none:
      return region_step{};
    case region_trouble::not_writable:
      next.goes_on = failed.alike < policy.most_not_writable;
      next.marks_writes = true;
      next.refreshes = true;
      if (failed.alike > 1) next.wait = policy.not_writable_wait;
      return next;
    case region_trouble::not_there:
      next.goes_on = chooses && failed.untried > 0;
      next.marks_reads = failed.use == region_use::read;
      next.marks_writes = !next.marks_reads;
      next.refreshes = true;
      return next;
    case region_trouble::behind:
      next.goes_on =
          failed.writes_in_many ? failed.untried > 0 : failed.alike <= policy.most_behind;
      if (!failed.writes_in_many) next.place = region_place::write_region;
      return next;
    case region_trouble::not_ready:
      next.goes_on = failed.alike < policy.most_not_ready;
      next.place = region_place::same;
      next.wait = doubled(policy.not_ready_wait, policy.longest_wait, failed.alike - 1);
      return next;
    case region_trouble::unavailable:
    case region_trouble::unclear:
    case region_trouble::unreachable:
      next.goes_on = failed.alike < policy.most_unavailable;
      next.marks_reads = next.marks_writes = next.refreshes =
          failed.trouble == region_trouble::unreachable;
      if (failed.untried == 0)
        next.wait = doubled(policy.first_wait, policy.longest_wait, failed.rounds);
      return next;
  }
  expects(false, "a region_trouble is one of the enumerators");
  return next;
}

}  // namespace detail

/// What is done about an attempt that failed in a region. Marks and a look at the account are worth
/// it also where the request is not sent again.
[[nodiscard]] constexpr region_step step_after(region_policy const& policy,
                                               failed_in_region const& failed) {
  region_step next = detail::step_of(policy, failed);
  if (next.wait > policy.budget - failed.elapsed) next.goes_on = false;
  if (!next.goes_on) next.wait = instant::duration::zero();
  return next;
}

}  // namespace keyspan
