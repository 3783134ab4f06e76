// keyspan/lease/member_machine.hpp — one host's own record, by which the others know that it lives;
// and what one host knows of another's.
//
//   absent -> joining -> live -> leaving -> gone
//                          `-> lost                 somebody has fenced it
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/session_id.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keyspan {

/// Whether a host takes part, as its record says.
enum class member_phase : std::uint8_t {
  live,      ///< it takes its share
  draining,  ///< it gives everything away, and goes
  away,      ///< it has gone, and what it had is kept for who takes its place
  fenced,    ///< it was silent for too long: its session holds no more
};

/// The enumerator's own name: "live".
constexpr std::string_view name_of(member_phase phase) {
  switch (phase) {
    case member_phase::live:
      return "live";
    case member_phase::draining:
      return "draining";
    case member_phase::away:
      return "away";
    case member_phase::fenced:
      return "fenced";
  }
  expects(false, "a member_phase is one of the enumerators");
  return {};
}

/// Where a host stands with its own record.
enum class member_state : std::uint8_t {
  absent,   ///< there is none
  joining,  ///< the first write is in flight
  live,     ///< it is there, and was confirmed
  leaving,  ///< the last write is in flight
  gone,     ///< it has left
  lost,     ///< somebody has fenced it: the session never holds again
};

/// The enumerator's own name: "absent".
constexpr std::string_view name_of(member_state state) {
  switch (state) {
    case member_state::absent:
      return "absent";
    case member_state::joining:
      return "joining";
    case member_state::live:
      return "live";
    case member_state::leaving:
      return "leaving";
    case member_state::gone:
      return "gone";
    case member_state::lost:
      return "lost";
  }
  expects(false, "a member_state is one of the enumerators");
  return {};
}

/// What a machine is told.
enum class member_event_kind : std::uint8_t {
  start,       ///< the host begins
  beat_due,    ///< it is time to show that it lives
  drain,       ///< it is to give everything away
  leave,       ///< it has given everything away
  written,     ///< the write in flight succeeded
  refused,     ///< it did not: the record is another one
  vanished,    ///< it did not: there is no record
  unanswered,  ///< nobody knows whether it did
};

/// The enumerator's own name: "start".
constexpr std::string_view name_of(member_event_kind kind) {
  switch (kind) {
    case member_event_kind::start:
      return "start";
    case member_event_kind::beat_due:
      return "beat_due";
    case member_event_kind::drain:
      return "drain";
    case member_event_kind::leave:
      return "leave";
    case member_event_kind::written:
      return "written";
    case member_event_kind::refused:
      return "refused";
    case member_event_kind::vanished:
      return "vanished";
    case member_event_kind::unanswered:
      return "unanswered";
  }
  expects(false, "a member_event_kind is one of the enumerators");
  return {};
}

/// How many there are.
inline constexpr std::size_t member_states = 6;
/// How many there are.
inline constexpr std::size_t member_events = 8;

/// What a pair of a state and an event comes to.
enum class member_rule : std::uint8_t {
  undecided,  ///< none of them is
  stay,       ///< nothing
  join,       ///< write the record for the first time
  beat,       ///< write it anew, unless a write is in flight
  drain,      ///< the same, with the phase changed
  leave,      ///< remove it, or say in it that the place is kept
  confirm,    ///< the session holds from the sending of the write on
  be_gone,    ///< it has left
  look,       ///< go by the record that is there: write again, or see that it is fenced
  lose,       ///< somebody has removed it: a session that others may hold for over stays so
  read_back,  ///< read the record, to learn what became of the write
};

/// The enumerator's own name: "undecided".
constexpr std::string_view name_of(member_rule rule) {
  switch (rule) {
    case member_rule::undecided:
      return "undecided";
    case member_rule::stay:
      return "stay";
    case member_rule::join:
      return "join";
    case member_rule::beat:
      return "beat";
    case member_rule::drain:
      return "drain";
    case member_rule::leave:
      return "leave";
    case member_rule::confirm:
      return "confirm";
    case member_rule::be_gone:
      return "be_gone";
    case member_rule::look:
      return "look";
    case member_rule::lose:
      return "lose";
    case member_rule::read_back:
      return "read_back";
  }
  expects(false, "a member_rule is one of the enumerators");
  return {};
}

namespace detail {

constexpr auto rules_of_members() {
  using enum member_rule;
  return std::array<std::array<member_rule, member_events>, member_states>{{
      // clang-format off
      // start  beat_due drain  leave    written  refused vanished    unanswered
      {{join,   stay,    stay,  be_gone, stay,    stay,   stay,       stay}},       // absent
      {{stay,   stay,    drain, leave,   confirm, look,   lose,       read_back}},  // joining
      {{stay,   beat,    drain, leave,   confirm, look,   lose,       read_back}},  // live
      {{stay,   stay,    stay,  stay,    be_gone, look,   be_gone,    read_back}},  // leaving
      {{stay,   stay,    stay,  stay,    stay,    stay,   stay,       stay}},       // gone
      {{stay,   stay,    stay,  be_gone, stay,    stay,   stay,       stay}},       // lost
      // clang-format on
  }};
}

template <class Table>
constexpr bool decides_every_event(Table const& table) {
  for (auto const& events : table)
    for (member_rule const rule : events)
      if (rule == member_rule::undecided) return false;
  return true;
}

}  // namespace detail

/// What every event comes to in every state.
inline constexpr auto member_table = detail::rules_of_members();

static_assert(detail::decides_every_event(member_table),
              "every state of a member says what every event does");

/// One thing that happened.
struct member_event {
  member_event_kind kind{};
  /// When it did, by the host's clock.
  instant now{};
  /// `refused`: what the record says.
  member_phase phase{};
  /// Answers: the beat of the write that they are about. Others than the one in flight are
  /// nobody's.
  std::uint64_t beat = 0;
};

/// What is to be done.
struct member_effects {
  bool creates : 1 = false;  ///< create the record, with this phase and this beat
  bool writes : 1 = false;   ///< replace the record, with this phase and this beat
  bool removes : 1 = false;  ///< remove the record
  /// Read the record until it is answered: `written` where it has the beat of the write in flight,
  /// `refused` where it has another one, `vanished` where there is none.
  bool reads_back : 1 = false;
  bool is_beaten : 1 = false;  ///< the session holds for longer: tell its leases
  bool is_lost : 1 = false;    ///< the session holds no more: tell its leases
  member_phase phase{};        ///< what a write says
  std::uint64_t beat = 0;      ///< its number, which no other write of the session has
};

/// A host's own record: a value that is told events and answers with what is to be done. A write is
/// built on the record as it was read or written last, and at most one is in flight.
class member_machine {
 public:
  member_machine() = default;
  /// Goes on counting behind `beat`.
  constexpr explicit member_machine(std::uint64_t beat) : beat_{beat} {}

  constexpr member_state state() const noexcept { return state_; }
  /// Until when the session holds, by the host's clock; `instant{}` before it was confirmed, and
  /// once it is lost or gone.
  constexpr instant holds_until() const noexcept { return until_; }
  /// Whether a write is in flight.
  constexpr bool is_writing() const noexcept { return is_writing_; }
  /// The number of the last write.
  constexpr std::uint64_t beat() const noexcept { return beat_; }

  /// Tells what happened. Any event may be told in any state.
  constexpr member_effects step(member_event const& event, lease_terms const& terms) {
    member_effects effects;
    bool const is_answer = event.kind >= member_event_kind::written;
    if (is_answer && (!is_writing_ || event.beat != beat_)) return effects;
    auto const rule =
        member_table[static_cast<std::size_t>(state_)][static_cast<std::size_t>(event.kind)];
    switch (rule) {
      case member_rule::undecided:
      case member_rule::stay:
        break;
      case member_rule::join:
        state_ = member_state::joining;
        write(event, effects, effects_kind::create);
        break;
      case member_rule::beat:
        if (!is_writing_) write(event, effects, effects_kind::replace);
        break;
      case member_rule::drain:
        phase_ = member_phase::draining;
        is_behind_ = true;
        if (!is_writing_) write(event, effects, effects_kind::replace);
        break;
      case member_rule::leave:
        keeps_place_ = terms.place != 0;
        is_leaving_ = true;
        if (!is_writing_) leave(event, effects);
        break;
      case member_rule::confirm:
        confirm(event, terms, effects);
        break;
      case member_rule::be_gone:
        end(member_state::gone, effects);
        break;
      case member_rule::look:
        look(event, effects);
        break;
      case member_rule::lose:
        end(member_state::lost, effects);
        break;
      case member_rule::read_back:
        effects.reads_back = true;
        break;
    }
    return effects;
  }

  friend constexpr bool operator==(member_machine const&, member_machine const&) = default;

 private:
  enum class effects_kind : std::uint8_t { create, replace, remove };

  constexpr void write(member_event const& event, member_effects& effects, effects_kind kind) {
    is_writing_ = true;
    is_behind_ = false;
    sent_ = event.now;
    effects.phase = phase_;
    effects.beat = ++beat_;
    effects.creates = kind == effects_kind::create;
    effects.writes = kind == effects_kind::replace;
    effects.removes = kind == effects_kind::remove;
  }
  constexpr void leave(member_event const& event, member_effects& effects) {
    state_ = member_state::leaving;
    if (keeps_place_) phase_ = member_phase::away;
    write(event, effects, keeps_place_ ? effects_kind::replace : effects_kind::remove);
  }
  constexpr void confirm(member_event const& event, lease_terms const& terms,
                         member_effects& effects) {
    is_writing_ = false;
    state_ = member_state::live;
    // From the sending on: the store may have done it any time since.
    until_ = instant_after(sent_, terms.hold);
    effects.is_beaten = true;
    if (is_leaving_) {
      leave(event, effects);
    } else if (is_behind_) {
      write(event, effects, effects_kind::replace);
    }
  }
  constexpr void end(member_state as, member_effects& effects) {
    state_ = as;
    is_writing_ = false;
    until_ = instant{};
    effects.is_lost = as == member_state::lost;
  }
  constexpr void look(member_event const& event, member_effects& effects) {
    if (event.phase == member_phase::fenced) {
      // Who leaves has nothing left to lose.
      end(state_ == member_state::leaving ? member_state::gone : member_state::lost, effects);
    } else if (state_ == member_state::leaving) {
      leave(event, effects);
    } else {
      write(event, effects, effects_kind::replace);
    }
  }

  member_state state_ = member_state::absent;
  member_phase phase_ = member_phase::live;
  bool is_writing_ = false;
  bool is_behind_ = false;
  bool is_leaving_ = false;
  bool keeps_place_ = false;
  std::uint64_t beat_ = 0;
  instant sent_{};
  instant until_{};
};

/// What one host knows of another's session: since when its record has stood as it does.
struct member_watch {
  session_id session{};
  member_phase phase = member_phase::live;
  std::uint64_t beat = 0;        ///< of the latest record that was seen
  bool is_seen = false;          ///< it was looked for at all
  bool is_absent = false;        ///< there is no record
  instant::duration held_for{};  ///< how long its beats let it hold, by its own clock
  instant since{};               ///< when a change of it was seen last

  /// Sees the record. One from before, as a stale list shows it, changes nothing.
  constexpr void see(member_phase is, std::uint64_t at, instant::duration held, instant now) {
    bool const is_known = is_seen && !is_absent;
    if (is_known && (at < beat || (at == beat && is == phase))) return;
    is_seen = true;
    phase = is;
    beat = at;
    held_for = held;
    is_absent = false;
    since = now;
  }
  /// Sees that there is none.
  constexpr void miss(instant now) {
    if (is_absent) return;
    is_seen = true;
    is_absent = true;
    since = now;
  }
  /// Whether the session cannot hold any more, by the clock of who watches: it is to be fenced
  /// before anything of it is taken. Not of one that was never looked for.
  constexpr bool is_overdue(instant now, std::uint32_t rate_bound_ppm) const {
    return is_seen && now >= instant_after(since, wait_before_taking(held_for, rate_bound_ppm));
  }

  friend constexpr bool operator==(member_watch const&, member_watch const&) = default;
};

}  // namespace keyspan
