// keyspan/lease/lease_facts.hpp — what decides who owns a lease: the part of its record that the
// machine goes by.
//
//   owner ada, epoch 7, sequence 120, stamp ada/31     ada writes on:   ada/32, ada/33, …
//   owner bob, epoch 8, sequence 120, stamp ada/34     ada hands over:  the epoch goes up
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/lease/session_id.hpp>

#include <compare>
#include <cstdint>
#include <string_view>

namespace keyspan {

/// Whether a lease is still there to be owned.
enum class lease_phase : std::uint8_t {
  open,   ///< it may be owned
  ended,  ///< its range was split or merged: others have taken its place
};

/// The enumerator's own name: "open".
constexpr std::string_view name_of(lease_phase phase) {
  switch (phase) {
    case lease_phase::open:
      return "open";
    case lease_phase::ended:
      return "ended";
  }
  expects(false, "a lease_phase is one of the enumerators");
  return {};
}

/// What tells one write of a holder or a taker from every other: who wrote, and a number that the
/// same session never uses again.
struct lease_stamp {
  session_id session{};
  std::uint64_t number = 0;

  friend constexpr auto operator<=>(lease_stamp const&, lease_stamp const&) = default;
};

/// Who owns a lease, since when, and how far it was read, as it stands in its record. Nothing here
/// is compared with anybody's clock.
struct lease_facts {
  lease_phase phase = lease_phase::open;
  /// The owner no longer vouches for it with its session: it is judged by its own stamp.
  bool is_detached = false;
  /// Nobody where it is free.
  session_id owner{};
  /// Grows by one with every new owner, and is never used again.
  std::uint64_t epoch = 0;
  /// Of the position: it only grows, also where the position was set back.
  std::uint64_t sequence = 0;
  lease_stamp stamp{};
  /// For how long its last write lets the owner hold it, by the owner's own clock.
  instant::duration held_for{};
  /// Whose place it is kept for while nobody owns it; 0 where it is not.
  std::uint64_t place = 0;

  friend constexpr bool operator==(lease_facts const&, lease_facts const&) = default;
};

/// Whether `one` is certainly an earlier state of the lease than `other`. Lists may be stale, and
/// records carry no time; what cannot be told is not older.
constexpr bool is_older(lease_facts const& one, lease_facts const& other) {
  if (one.epoch != other.epoch) return one.epoch < other.epoch;
  if (one.stamp.session == other.stamp.session) return one.stamp.number < other.stamp.number;
  // Handed over by somebody else, and confirmed by its owner since.
  return one.owner == other.owner && one.stamp.session != one.owner &&
         other.stamp.session == other.owner;
}

}  // namespace keyspan
