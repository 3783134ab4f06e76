// keyspan/processor/processor_event.hpp — what a processor tells of itself, for who traces, counts
// and watches.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/lease/session_id.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace keyspan {

/// What happened.
enum class processor_event_kind : std::uint8_t {
  joined,         ///< the host takes part
  left,           ///< it does no more
  session_lost,   ///< others have fenced it, after it was silent: it joins anew
  member_fenced,  ///< it has fenced another host, which was silent
  leases_made,    ///< the first host has made the leases of all ranges
  acquired,       ///< a lease is this host's, and its handler is open
  checkpointed,   ///< the position of a lease was written
  handed_over,    ///< a lease is another host's
  released,       ///< a lease is nobody's
  lost,           ///< a lease is another host's, or may be
  ended,          ///< the range of a lease was split or merged
  created,        ///< a lease takes the place of those that ended
  removed,        ///< the record of an ended lease was removed
  reopened,  ///< a lease that has ended is open again: what was to come of it cannot be any more
  restored,  ///< a record that somebody had removed was made anew
  paused,    ///< a lease is not handled any more for now
  resumed,   ///< it is again
  reset,     ///< a lease is read from another position
  handler_failed,   ///< a batch was tried, and failed
  parked,           ///< a change was given to the handler's `park`
  halted,           ///< a lease is paused because a batch failed too often
  handler_overdue,  ///< a handler takes longer than it may: its lease runs out
  unacknowledged,   ///< so many batches are not acknowledged that no more is read for now
  source_failed,    ///< a read failed, and is repeated
  store_failed,     ///< an operation of the store failed, and is repeated
};

/// The enumerator's own name: "acquired".
constexpr std::string_view name_of(processor_event_kind kind) {
  constexpr std::string_view names[]{"joined",         "left",
                                     "session_lost",   "member_fenced",
                                     "leases_made",    "acquired",
                                     "checkpointed",   "handed_over",
                                     "released",       "lost",
                                     "ended",          "created",
                                     "removed",        "reopened",
                                     "restored",       "paused",
                                     "resumed",        "reset",
                                     "handler_failed", "parked",
                                     "halted",         "handler_overdue",
                                     "unacknowledged", "source_failed",
                                     "store_failed"};
  auto const at = static_cast<std::size_t>(kind);
  expects(at < std::size(names), "a processor_event_kind is one of the enumerators");
  return names[at];
}

/// One thing that happened. What it refers to is good during the call.
struct processor_event {
  processor_event_kind kind{};
  /// The host that tells it.
  session_id host{};
  /// The id of the lease's record, where it is about one.
  std::string_view lease{};
  /// Its range, as `token_range::to_text` prints it.
  std::string_view range{};
  std::uint64_t epoch = 0;
  /// Of the position of the lease, as it stands when this is told.
  std::uint64_t sequence = 0;
  /// The other host, where there is one.
  session_id other{};
  /// What went wrong, where something did.
  error const* why = nullptr;
};

/// How often what happened, since the processor was made.
struct processor_counters {
  std::uint64_t batches = 0;      ///< handled
  std::uint64_t items = 0;        ///< in those
  std::uint64_t failures = 0;     ///< of handlers
  std::uint64_t parked = 0;       ///< changes
  std::uint64_t pages = 0;        ///< read
  std::uint64_t writes = 0;       ///< of lease and member records, tried
  std::uint64_t refused = 0;      ///< of those, because somebody else had written
  std::uint64_t reads = 0;        ///< of single records
  std::uint64_t lists = 0;        ///< of many
  std::uint64_t acquired = 0;     ///< leases
  std::uint64_t handed_over = 0;  ///< leases
  std::uint64_t lost = 0;         ///< leases

  friend bool operator==(processor_counters const&, processor_counters const&) = default;
};

}  // namespace keyspan
