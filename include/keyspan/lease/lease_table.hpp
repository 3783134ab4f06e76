// keyspan/lease/lease_table.hpp — how a lease goes from state to state, as a table: every pair of a
// state and an event is decided, or this does not compile.
//
//   unknown -> watching -> acquiring -> active -> draining -> releasing -> watching
//                                         |          `-----> ending --> ended
//                                         `-> lost -> watching
#pragma once

#include <keyspan/core/contract.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace keyspan {

/// Where a host stands with a lease.
enum class lease_state : std::uint8_t {
  unknown,    ///< nothing is known of it
  watching,   ///< somebody else's, or nobody's
  acquiring,  ///< a write that makes it this host's is in flight
  active,     ///< this host's: it is read and handled
  draining,   ///< this host's: reading has stopped, the handler is still at work
  drained,    ///< the handler is done, and an earlier write is in flight
  releasing,  ///< the last write is in flight: to another owner, or to nobody
  ending,     ///< the last write is in flight: the range is split or merged
  lost,       ///< somebody else's by now, or it may be: the handler is still at work
  ended,      ///< its range was split or merged
};

/// The enumerator's own name: "ended".
constexpr std::string_view name_of(lease_state state) {
  switch (state) {
    case lease_state::unknown:
      return "unknown";
    case lease_state::watching:
      return "watching";
    case lease_state::acquiring:
      return "acquiring";
    case lease_state::active:
      return "active";
    case lease_state::draining:
      return "draining";
    case lease_state::drained:
      return "drained";
    case lease_state::releasing:
      return "releasing";
    case lease_state::ending:
      return "ending";
    case lease_state::lost:
      return "lost";
    case lease_state::ended:
      return "ended";
  }
  expects(false, "a lease_state is one of the enumerators");
  return {};
}

/// What a machine is told.
enum class lease_event_kind : std::uint8_t {
  listed,          ///< its record, as a list, a read or a watch shows it
  missing,         ///< it has no record
  wanted,          ///< the plan gives it to this host
  written,         ///< the write in flight succeeded
  refused,         ///< it did not: the record is another one
  vanished,        ///< it did not: there is no record
  unanswered,      ///< nobody knows whether it did
  beat_due,        ///< it is time to show that the owner lives
  acknowledged,    ///< the handler has come further
  deadline,        ///< what was armed has come
  session_beaten,  ///< the session holds for longer
  session_lost,    ///< the session does not hold any more
  given,           ///< the plan gives it to somebody else
  stop,            ///< this host lets go of it
  gone,            ///< its range is no partition's any more
  drain_overdue,   ///< the handler takes longer than it may
  closed,          ///< the handler has returned, and was told that it is over
};

/// The enumerator's own name: "closed".
constexpr std::string_view name_of(lease_event_kind kind) {
  switch (kind) {
    case lease_event_kind::listed:
      return "listed";
    case lease_event_kind::missing:
      return "missing";
    case lease_event_kind::wanted:
      return "wanted";
    case lease_event_kind::written:
      return "written";
    case lease_event_kind::refused:
      return "refused";
    case lease_event_kind::vanished:
      return "vanished";
    case lease_event_kind::unanswered:
      return "unanswered";
    case lease_event_kind::beat_due:
      return "beat_due";
    case lease_event_kind::acknowledged:
      return "acknowledged";
    case lease_event_kind::deadline:
      return "deadline";
    case lease_event_kind::session_beaten:
      return "session_beaten";
    case lease_event_kind::session_lost:
      return "session_lost";
    case lease_event_kind::given:
      return "given";
    case lease_event_kind::stop:
      return "stop";
    case lease_event_kind::gone:
      return "gone";
    case lease_event_kind::drain_overdue:
      return "drain_overdue";
    case lease_event_kind::closed:
      return "closed";
  }
  expects(false, "a lease_event_kind is one of the enumerators");
  return {};
}

/// What a row of the table asks for beside its event.
enum class lease_condition : std::uint8_t {
  always,
  record_ended,         ///< the record shows that it has ended
  record_older,         ///< the record is certainly from before
  record_alike,         ///< the record was not written by a holder or taker since
  record_owned,         ///< the record names this host as the owner
  owned_and_stopping,   ///< the same, and the host is stopping
  still_held,           ///< the record names it in the same epoch, and the deadline is ahead
  held_and_gone,        ///< the same, and it is drained because its range is gone
  may_take,             ///< nobody owns it, or the owner cannot be active any more
  too_late,             ///< the deadline that the write gives has passed
  stopping,             ///< the host is stopping
  writing,              ///< a write is in flight
  by_session,           ///< the host's session shows that it lives
  needs_no_beat,        ///< the same, or the handler is overdue
  extended_by_session,  ///< the session's beats extend this lease's deadline
  overdue,              ///< the deadline has passed
  range_gone,           ///< it is drained because its range is gone
  record_missed,        ///< it was lost because its record is missing
};

/// The enumerator's own name: "record_missed".
constexpr std::string_view name_of(lease_condition condition) {
  switch (condition) {
    case lease_condition::always:
      return "always";
    case lease_condition::record_ended:
      return "record_ended";
    case lease_condition::record_older:
      return "record_older";
    case lease_condition::record_alike:
      return "record_alike";
    case lease_condition::record_owned:
      return "record_owned";
    case lease_condition::owned_and_stopping:
      return "owned_and_stopping";
    case lease_condition::still_held:
      return "still_held";
    case lease_condition::held_and_gone:
      return "held_and_gone";
    case lease_condition::may_take:
      return "may_take";
    case lease_condition::too_late:
      return "too_late";
    case lease_condition::stopping:
      return "stopping";
    case lease_condition::writing:
      return "writing";
    case lease_condition::by_session:
      return "by_session";
    case lease_condition::needs_no_beat:
      return "needs_no_beat";
    case lease_condition::extended_by_session:
      return "extended_by_session";
    case lease_condition::overdue:
      return "overdue";
    case lease_condition::range_gone:
      return "range_gone";
    case lease_condition::record_missed:
      return "record_missed";
  }
  expects(false, "a lease_condition is one of the enumerators");
  return {};
}

/// What a row of the table does.
enum class lease_action : std::uint8_t {
  none,
  take,          ///< go by this record from here on
  watch,         ///< go by this record, and count the wait from here on
  watch_anew,    ///< count the wait from here on
  forget,        ///< know nothing of it any more
  hold,          ///< the deadline follows from the sending of the write
  hold_session,  ///< the deadline is the session's
  settle,        ///< no write is in flight any more
  acquire,       ///< write: this host owns it, in the next epoch
  confirm,       ///< write: this host, which owns it, is there
  beat,          ///< write: it is still there
  keep_up,       ///< write what is still to be written, if anything is
  write_again,   ///< write the same anew, from the record as it is
  note,          ///< keep the new position for the next write
  checkpoint,    ///< write the new position
  detach,        ///< write: the session does not vouch for it any more
  leave,         ///< write: it is handed over, or nobody's
  end,           ///< write: it has ended
  read_back,     ///< read the record, to learn what became of the write
  arm,           ///< ask to be told when the deadline has come
  open,          ///< read from its position, and handle
  stop_reading,  ///< handle what was read, then close
  stall,         ///< let it run out: no beats any more
  cancel,        ///< stop at once, then close
  miss,          ///< keep in mind that its record is missing
  restore,       ///< make its record anew, from what is known
  hand_over,     ///< keep in mind to whom it goes
  let_go,        ///< keep in mind that it goes to nobody
  range_ended,   ///< keep in mind that its range is gone
};

/// The enumerator's own name: "range_ended".
constexpr std::string_view name_of(lease_action action) {
  switch (action) {
    case lease_action::none:
      return "none";
    case lease_action::take:
      return "take";
    case lease_action::watch:
      return "watch";
    case lease_action::watch_anew:
      return "watch_anew";
    case lease_action::forget:
      return "forget";
    case lease_action::hold:
      return "hold";
    case lease_action::hold_session:
      return "hold_session";
    case lease_action::settle:
      return "settle";
    case lease_action::acquire:
      return "acquire";
    case lease_action::confirm:
      return "confirm";
    case lease_action::beat:
      return "beat";
    case lease_action::keep_up:
      return "keep_up";
    case lease_action::write_again:
      return "write_again";
    case lease_action::note:
      return "note";
    case lease_action::checkpoint:
      return "checkpoint";
    case lease_action::detach:
      return "detach";
    case lease_action::leave:
      return "leave";
    case lease_action::end:
      return "end";
    case lease_action::read_back:
      return "read_back";
    case lease_action::arm:
      return "arm";
    case lease_action::open:
      return "open";
    case lease_action::stop_reading:
      return "stop_reading";
    case lease_action::stall:
      return "stall";
    case lease_action::cancel:
      return "cancel";
    case lease_action::miss:
      return "miss";
    case lease_action::restore:
      return "restore";
    case lease_action::hand_over:
      return "hand_over";
    case lease_action::let_go:
      return "let_go";
    case lease_action::range_ended:
      return "range_ended";
  }
  expects(false, "a lease_action is one of the enumerators");
  return {};
}

inline constexpr std::size_t lease_states = 10;
inline constexpr std::size_t lease_events = 17;

/// One row: in one of these states, told of this, where the condition holds, do that and go there.
struct lease_row {
  std::uint16_t states = 0;  ///< a bit each
  lease_event_kind event{};
  lease_condition when{};
  bool stays = false;  ///< in the state that it is in
  lease_state to{};
  std::array<lease_action, 4> does{};

  constexpr bool is_for(lease_state state) const {
    return (states >> static_cast<unsigned>(state) & 1U) != 0;
  }
};

namespace detail {

constexpr std::uint16_t states_of(std::initializer_list<lease_state> states) {
  std::uint16_t bits = 0;
  for (lease_state const one : states)
    bits = static_cast<std::uint16_t>(bits | 1U << static_cast<unsigned>(one));
  return bits;
}

constexpr auto lease_rows_of_table() {
  using enum lease_state;
  using e = lease_event_kind;
  using c = lease_condition;
  using a = lease_action;
  struct target {
    bool stays;
    lease_state to;
    constexpr target(lease_state state) : stays{false}, to{state} {}
    constexpr target(bool same) : stays{same}, to{} {}
  };
  constexpr bool same = true;
  auto const row = [](std::initializer_list<lease_state> in, e event, c when, target to,
                      std::initializer_list<a> does = {}) {
    lease_row made{states_of(in), event, when, to.stays, to.to, {}};
    std::size_t i = 0;
    for (a const one : does) made.does[i++] = one;
    return made;
  };
  return std::array{
      // clang-format off
      // A record is seen.
      row({unknown, watching}, e::listed, c::record_ended, ended, {a::take}),
      row({watching}, e::listed, c::record_older, same),
      row({unknown, watching}, e::listed, c::owned_and_stopping, releasing,
          {a::take, a::let_go, a::leave}),
      row({unknown, watching}, e::listed, c::record_owned, acquiring, {a::take, a::confirm}),
      row({watching}, e::listed, c::record_alike, same, {a::take}),
      row({unknown, watching}, e::listed, c::always, watching, {a::watch}),
      row({active, draining, drained}, e::listed, c::record_older, same),
      row({active, draining, drained}, e::listed, c::record_alike, same, {a::take}),
      row({active, draining, drained}, e::listed, c::still_held, same, {a::take}),
      row({active, draining}, e::listed, c::always, lost, {a::take, a::cancel}),
      row({drained}, e::listed, c::always, watching, {a::watch, a::settle}),
      row({ended}, e::listed, c::record_older, same),
      row({ended}, e::listed, c::record_ended, same, {a::take}),
      row({ended}, e::listed, c::always, watching, {a::watch}),
      row({acquiring, releasing, ending, lost}, e::listed, c::always, same),
      // There is no record.
      row({watching, ended}, e::missing, c::always, unknown, {a::forget}),
      row({active, draining}, e::missing, c::always, lost, {a::miss, a::cancel}),
      row({drained}, e::missing, c::always, unknown, {a::restore, a::forget}),
      row({lost}, e::missing, c::always, same, {a::miss}),
      row({unknown, acquiring, releasing, ending}, e::missing, c::always, same),
      // The plan gives it to this host.
      row({watching}, e::wanted, c::may_take, acquiring, {a::acquire}),
      row({watching}, e::wanted, c::always, same),
      row({unknown, acquiring, active, draining, drained, releasing, ending, lost, ended},
          e::wanted, c::always, same),
      // The write in flight has succeeded.
      row({acquiring}, e::written, c::too_late, watching, {a::watch, a::settle}),
      row({acquiring}, e::written, c::stopping, releasing, {a::take, a::hold, a::let_go, a::leave}),
      row({acquiring}, e::written, c::always, active, {a::take, a::hold, a::arm, a::open}),
      row({active, draining}, e::written, c::too_late, lost, {a::take, a::settle, a::cancel}),
      row({active, draining}, e::written, c::always, same, {a::take, a::hold, a::arm, a::keep_up}),
      row({drained}, e::written, c::too_late, watching, {a::watch, a::settle}),
      row({drained}, e::written, c::range_gone, ending, {a::take, a::hold, a::end}),
      row({drained}, e::written, c::always, releasing, {a::take, a::hold, a::leave}),
      row({releasing}, e::written, c::too_late, watching, {a::watch, a::settle}),
      row({releasing}, e::written, c::owned_and_stopping, same,
          {a::take, a::hold, a::let_go, a::leave}),
      row({releasing}, e::written, c::record_owned, active, {a::take, a::hold, a::arm, a::open}),
      row({releasing}, e::written, c::always, watching, {a::watch, a::settle}),
      row({ending}, e::written, c::always, ended, {a::take, a::settle}),
      row({lost}, e::written, c::always, same, {a::take, a::settle}),
      row({unknown, watching, ended}, e::written, c::always, same),
      // It was refused: somebody has written before.
      row({acquiring, releasing, ending}, e::refused, c::record_ended, ended, {a::take, a::settle}),
      row({acquiring}, e::refused, c::always, watching, {a::watch, a::settle}),
      row({active, draining}, e::refused, c::still_held, same, {a::take, a::write_again}),
      row({active, draining}, e::refused, c::always, lost, {a::take, a::settle, a::cancel}),
      row({drained}, e::refused, c::held_and_gone, ending, {a::take, a::end}),
      row({drained}, e::refused, c::still_held, releasing, {a::take, a::leave}),
      row({releasing}, e::refused, c::still_held, same, {a::take, a::leave}),
      row({ending}, e::refused, c::still_held, same, {a::take, a::end}),
      row({drained, releasing, ending}, e::refused, c::always, watching, {a::watch, a::settle}),
      row({lost}, e::refused, c::always, same, {a::take, a::settle}),
      row({unknown, watching, ended}, e::refused, c::always, same),
      // It was refused: somebody has removed the record.
      row({acquiring}, e::vanished, c::always, unknown, {a::forget}),
      row({active, draining}, e::vanished, c::always, lost, {a::miss, a::settle, a::cancel}),
      row({drained, releasing, ending}, e::vanished, c::always, unknown, {a::restore, a::forget}),
      row({lost}, e::vanished, c::always, same, {a::miss, a::settle}),
      row({unknown, watching, ended}, e::vanished, c::always, same),
      // Its answer never came.
      row({acquiring, active, draining, drained, releasing, ending}, e::unanswered, c::always, same,
          {a::read_back}),
      row({lost}, e::unanswered, c::always, same, {a::settle}),
      row({unknown, watching, ended}, e::unanswered, c::always, same),
      // It is time to show that the owner lives.
      row({active, draining}, e::beat_due, c::overdue, lost, {a::cancel}),
      row({active, draining}, e::beat_due, c::writing, same),
      row({active, draining}, e::beat_due, c::needs_no_beat, same),
      row({active, draining}, e::beat_due, c::always, same, {a::beat}),
      row({unknown, watching, acquiring, drained, releasing, ending, lost, ended},
          e::beat_due, c::always, same),
      // The handler has come further.
      row({active, draining}, e::acknowledged, c::overdue, lost, {a::cancel}),
      row({active, draining}, e::acknowledged, c::writing, same, {a::note}),
      row({active, draining}, e::acknowledged, c::always, same, {a::note, a::checkpoint}),
      row({unknown, watching, acquiring, drained, releasing, ending, lost, ended},
          e::acknowledged, c::always, same),
      // The deadline.
      row({active, draining}, e::deadline, c::overdue, lost, {a::cancel}),
      row({drained, releasing, ending}, e::deadline, c::overdue, watching,
          {a::watch_anew, a::settle}),
      row({active, draining, drained, releasing, ending}, e::deadline, c::always, same, {a::arm}),
      row({unknown, watching, acquiring, lost, ended}, e::deadline, c::always, same),
      // The host's session.
      row({active, draining, drained, releasing, ending},
          e::session_beaten, c::extended_by_session, same, {a::hold_session, a::arm}),
      row({active, draining, drained, releasing, ending}, e::session_beaten, c::always, same),
      row({unknown, watching, acquiring, lost, ended}, e::session_beaten, c::always, same),
      row({active, draining}, e::session_lost, c::always, lost, {a::cancel}),
      row({acquiring, drained, releasing, ending}, e::session_lost, c::always, watching,
          {a::watch_anew, a::settle}),
      row({unknown, watching, lost, ended}, e::session_lost, c::always, same),
      // Why it is let go of.
      row({active}, e::given, c::always, draining, {a::hand_over, a::stop_reading}),
      row({unknown, watching, acquiring, draining, drained, releasing, ending, lost, ended},
          e::given, c::always, same),
      row({active}, e::stop, c::always, draining, {a::let_go, a::stop_reading}),
      row({unknown, watching, acquiring, draining, drained, releasing, ending, lost, ended},
          e::stop, c::always, same),
      row({active}, e::gone, c::always, draining, {a::range_ended, a::stop_reading}),
      row({unknown, watching, acquiring, draining, drained, releasing, ending, lost, ended},
          e::gone, c::always, same),
      // The handler.
      row({draining}, e::drain_overdue, c::overdue, lost, {a::cancel}),
      row({draining}, e::drain_overdue, c::writing, same, {a::stall}),
      row({draining}, e::drain_overdue, c::by_session, same, {a::stall, a::detach}),
      row({draining}, e::drain_overdue, c::always, same, {a::stall}),
      row({unknown, watching, acquiring, active, drained, releasing, ending, lost, ended},
          e::drain_overdue, c::always, same),
      row({draining}, e::closed, c::overdue, watching, {a::watch_anew, a::settle}),
      row({draining}, e::closed, c::writing, drained, {a::note}),
      row({draining}, e::closed, c::range_gone, ending, {a::note, a::end}),
      row({draining}, e::closed, c::always, releasing, {a::note, a::leave}),
      row({lost}, e::closed, c::record_missed, unknown, {a::restore, a::forget}),
      row({lost}, e::closed, c::always, watching, {a::watch_anew, a::settle}),
      row({unknown, watching, acquiring, active, drained, releasing, ending, ended},
          e::closed, c::always, same),
      // clang-format on
  };
}

// Whether every pair of a state and an event has rows, the last of which always holds, and no row
// stands behind that one.
template <std::size_t Size>
constexpr bool decides_every_pair(std::array<lease_row, Size> const& rows) {
  for (std::size_t state = 0; state < lease_states; ++state) {
    for (std::size_t event = 0; event < lease_events; ++event) {
      bool is_decided = false;
      for (lease_row const& row : rows) {
        if (!row.is_for(static_cast<lease_state>(state)) ||
            row.event != static_cast<lease_event_kind>(event))
          continue;
        if (is_decided) return false;
        is_decided = row.when == lease_condition::always;
      }
      if (!is_decided) return false;
    }
  }
  return true;
}

// The rows of each pair, found beforehand, so that a step looks at those alone. Pairs of the same
// rows share a number, and those where nothing happens have none.
template <std::size_t Size>
class lease_index {
 public:
  static constexpr std::size_t nothing = 0;

  struct some_rows {
    std::array<std::uint8_t, 8> rows{};
    std::size_t size = 0;

    friend constexpr bool operator==(some_rows const&, some_rows const&) = default;
  };

  constexpr explicit lease_index(std::array<lease_row, Size> const& table) {
    for (std::size_t event = 0; event < lease_events; ++event) {
      std::size_t const first = size_;  // other events have other rows
      for (std::size_t state = 0; state < lease_states; ++state) {
        some_rows rows;
        for (std::size_t i = 0; i < Size; ++i)
          if (table[i].event == static_cast<lease_event_kind>(event) &&
              table[i].is_for(static_cast<lease_state>(state)))
            rows.rows[rows.size++] = static_cast<std::uint8_t>(i);
        lease_row const& row = table[rows.rows[0]];
        if (row.when == lease_condition::always && row.stays && row.does[0] == lease_action::none)
          continue;
        std::size_t at = first;
        while (at < size_ && rows_[at] != rows) ++at;
        if (at == size_) rows_[size_++] = rows;
        number_[state][event] = static_cast<std::uint8_t>(at + 1);
      }
    }
  }

  constexpr std::size_t number_of(lease_state state, lease_event_kind event) const {
    return number_[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  }
  // Numbers are from 1 to this one.
  constexpr std::size_t size() const { return size_; }
  constexpr some_rows const& rows_of(std::size_t number) const { return rows_[number - 1]; }

 private:
  std::array<some_rows, lease_states * lease_events> rows_{};
  std::array<std::array<std::uint8_t, lease_events>, lease_states> number_{};
  std::size_t size_ = 0;
};

}  // namespace detail

/// All rows. Of those of one state and one event the first holds whose condition does.
inline constexpr auto lease_table = detail::lease_rows_of_table();

static_assert(detail::decides_every_pair(lease_table),
              "every state of a lease says what every event does, once");

}  // namespace keyspan
