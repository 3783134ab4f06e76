// keyspan/processor/processor_options.hpp — how a host shares leases with others, and how it reads
// and handles.
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/plan.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/range/token_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace keyspan {

/// When the position of a lease is written behind what was handled. Whichever of the two comes
/// first; where both are 0, behind every batch.
struct checkpoint_frequency {
  std::size_t items = 0;
  instant::duration interval{};

  friend bool operator==(checkpoint_frequency const&, checkpoint_frequency const&) = default;
};

/// Who says that a batch was handled.
enum class checkpointing : std::uint8_t {
  automatic,  ///< it was when the handler has returned
  manual,     ///< `batch.acknowledge()` says so
};

/// What becomes of the leases of a host that stops.
enum class stop_manner : std::uint8_t {
  hand_over,   ///< each goes to another host at once, without a gap
  release,     ///< each is nobody's, for whoever comes first
  keep_place,  ///< they wait, for a time, for the next host that starts
};

/// What becomes of a batch that was tried too often.
enum class poison_manner : std::uint8_t {
  halt,  ///< its lease is paused until somebody resumes it
  park,  ///< the handler's `park` is given each change that fails by itself, and the rest goes on
};

/// How a processor shares, reads and handles. The names and defaults of the first part are those
/// that change feed processors are known by.
template <token Token>
struct processor_options {
  /// What the host calls itself; for people, and for nothing else.
  std::string host_name{};
  /// What the ids of all records begin with: several processors in one store.
  std::string lease_prefix{};
  /// How often the host shows that it lives.
  instant::duration lease_renew_interval = std::chrono::seconds{17};
  /// How often it looks at who is there and what is to be shared.
  instant::duration lease_acquire_interval = std::chrono::seconds{13};
  /// For how long it holds what it has without being able to show that it lives.
  instant::duration lease_expiration_interval = std::chrono::seconds{60};
  /// How long it waits before it asks a range again that had nothing new, or failed.
  instant::duration feed_poll_delay = std::chrono::seconds{5};
  /// How long a read of the source may take for an answer, before it is asked again.
  instant::duration change_feed_timeout = std::chrono::minutes{10};
  keyspan::checkpointing checkpointing = checkpointing::automatic;
  keyspan::checkpoint_frequency checkpoint_frequency{};
  /// How many leases it has at least, where there are enough, and at most; 0 is no bound.
  std::uint32_t min_lease_count = 0;
  std::uint32_t max_lease_count = 0;
  /// Set all positions back to `start` when the host starts. Other hosts go on, from there.
  bool discard_existing_leases = false;
  /// How many changes a page has at most; 0 leaves it to the source. Where that is too large for
  /// it, half of it, and so on, until a page was not.
  std::uint32_t max_item_count = 0;
  /// Where reading begins in a store that has no leases yet: from now, from the beginning, from a
  /// moment, or where a cursor stands. Later their positions count.
  feed_start<Token> start{from_now};
  /// The part of the source whose changes are handled; all of it where nothing is said. All hosts
  /// of a prefix name the same one.
  std::optional<token_range<Token>> range{};
  std::string session_token{};

  /// The rate of every host's clock is within so many millionths of true time's.
  std::uint32_t clock_rate_bound_ppm = 1'000;
  keyspan::liveness liveness = liveness::per_session;
  feed_mode mode = feed_mode::latest_version;
  /// How often it looks at the one small record that tells whether something has changed; 0 leaves
  /// that to `lease_acquire_interval`.
  instant::duration layout_poll_interval = std::chrono::seconds{2};
  /// How long a host that has come waits for others that are coming, before it takes anything.
  instant::duration settle_window = std::chrono::seconds{3};
  /// How long a handler may take when its lease is let go of; later the lease runs out.
  instant::duration drain_limit = std::chrono::seconds{30};
  /// How long the store may take for an answer.
  instant::duration store_timeout = std::chrono::seconds{5};
  stop_manner on_stop = stop_manner::hand_over;
  /// How long a host that hands over works on once it has said that it leaves, so that those who
  /// take its leases are waiting for them.
  instant::duration leaving_notice = std::chrono::seconds{2};
  /// For how long a place is kept.
  instant::duration place_kept_for = std::chrono::minutes{1};
  /// How many batches of a lease are read ahead of the one that is handled.
  std::size_t read_ahead = 2;
  /// How many batches may be handled and not acknowledged, where that is said by hand.
  std::size_t most_unacknowledged = 64;
  /// How many batches of one lease are handled at the same time, where the handler has lanes.
  std::size_t lanes = 1;
  /// How often a batch is tried, and how long after each failure: twice as long each time.
  std::uint32_t most_attempts = 5;
  instant::duration retry_delay = std::chrono::milliseconds{100};
  instant::duration longest_retry_delay = std::chrono::seconds{30};
  poison_manner on_poison = poison_manner::halt;
  /// What is shared out evenly, and how many leases a host gives away at once.
  keyspan::balance_by balance_by = balance_by::count;
  std::size_t most_moves_of_donor = ~std::size_t{0};
  /// The name of this run; drawn at random where it is none.
  session_id session{};
  /// Told what happens, from inside of the processor: it returns soon, throws nothing, and calls
  /// nothing of it.
  std::function<void(processor_event const&)> on_event{};
};

namespace detail {

// No interval is longer, so that sums of some of them can be reckoned with.
inline constexpr instant::duration longest_interval = std::chrono::hours{24 * 365};

template <token Token>
result<void> check_intervals(processor_options<Token> const& of) {
  auto const ms = [](instant::duration time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  struct named {
    std::string_view name;
    instant::duration value;
    bool may_be_zero;
  };
  for (auto const& [name, value, may_be_zero] :
       {named{"lease_renew_interval", of.lease_renew_interval, false},
        named{"lease_acquire_interval", of.lease_acquire_interval, false},
        named{"lease_expiration_interval", of.lease_expiration_interval, false},
        named{"feed_poll_delay", of.feed_poll_delay, false},
        named{"change_feed_timeout", of.change_feed_timeout, false},
        named{"store_timeout", of.store_timeout, false}, named{"drain_limit", of.drain_limit, true},
        named{"retry_delay", of.retry_delay, true},
        named{"longest_retry_delay", of.longest_retry_delay, true},
        named{"layout_poll_interval", of.layout_poll_interval, true},
        named{"settle_window", of.settle_window, true},
        named{"leaving_notice", of.leaving_notice, true},
        named{"place_kept_for", of.place_kept_for, true},
        named{"checkpoint_frequency.interval", of.checkpoint_frequency.interval, true}}) {
    if (value < instant::duration::zero() || (!may_be_zero && value == instant::duration::zero()))
      return fail(errc::invalid_options, name, " is ", may_be_zero ? "0 or more" : "more than 0",
                  ", not ", ms(value), " ms");
    if (value > longest_interval)
      return fail(errc::invalid_options, name, " is a year at most, not ", ms(value), " ms");
  }
  auto const both = [&](std::string_view first, instant::duration one, std::string_view second,
                        instant::duration other, std::string_view why) {
    return fail(errc::invalid_options, first, " (", ms(one), " ms) and ", second, " (", ms(other),
                " ms) contradict each other: ", why);
  };
  if (of.lease_renew_interval > of.lease_expiration_interval / 2)
    return both("lease_renew_interval", of.lease_renew_interval, "lease_expiration_interval",
                of.lease_expiration_interval, "renew at least twice in that time");
  if (of.store_timeout > of.lease_expiration_interval / 2)
    return both("store_timeout", of.store_timeout, "lease_expiration_interval",
                of.lease_expiration_interval, "one lost answer must not cost the lease");
  if (of.layout_poll_interval > of.lease_acquire_interval)
    return both("layout_poll_interval", of.layout_poll_interval, "lease_acquire_interval",
                of.lease_acquire_interval, "poll more often than you look at all of it");
  if (of.settle_window > of.lease_acquire_interval)
    return both("settle_window", of.settle_window, "lease_acquire_interval",
                of.lease_acquire_interval, "a host that has come waits no longer than that");
  if (of.retry_delay > of.longest_retry_delay)
    return both("retry_delay", of.retry_delay, "longest_retry_delay", of.longest_retry_delay,
                "the first is no longer than the longest");
  return {};
}

}  // namespace detail

/// Whether options can be worked with, each by itself and all together. Errors:
/// `invalid_options`, with the names of those that contradict each other, and what to do.
template <token Token>
[[nodiscard]] result<void> sound(processor_options<Token> const& of) {
  if (auto const prefix = lease_ids::from(of.lease_prefix); !prefix)
    return unexpected{prefix.error()};
  if (auto const intervals = detail::check_intervals(of); !intervals) return intervals;
  if (of.clock_rate_bound_ppm > 200'000)
    return fail(errc::invalid_options, "clock_rate_bound_ppm is at most 200000, a fifth, not ",
                of.clock_rate_bound_ppm);
  if (of.max_lease_count != 0 && of.min_lease_count > of.max_lease_count)
    return fail(errc::invalid_options, "min_lease_count (", of.min_lease_count,
                ") and max_lease_count (", of.max_lease_count,
                ") contradict each other: the least is no more than the most");
  if (of.read_ahead == 0 || of.lanes == 0 || of.most_attempts == 0 || of.most_unacknowledged == 0)
    return fail(errc::invalid_options,
                "read_ahead, lanes, most_attempts and most_unacknowledged are 1 at least");
  if (of.session == departed_session)
    return fail(errc::invalid_options, "the session ffffffffffffffff is no host's");
  return {};
}

}  // namespace keyspan
