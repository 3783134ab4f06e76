// keyspan/lease/lease_machine.hpp — one lease as one host sees it. It has no clock, no thread and
// no I/O: it is told what happened, and says what is to be done.
//
//   auto const effects = machine.step(event, terms);
//   if (effects.writes) store.replace(record with effects.facts, at the version that it had) …
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_table.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/session_id.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

/// Why a lease is let go of.
enum class drain_reason : std::uint8_t {
  none,
  handover,    ///< the plan has given it to somebody else
  stop,        ///< the host stops
  range_gone,  ///< its range was split or merged
};

/// The enumerator's own name: "range_gone".
constexpr std::string_view name_of(drain_reason reason) {
  switch (reason) {
    case drain_reason::none:
      return "none";
    case drain_reason::handover:
      return "handover";
    case drain_reason::stop:
      return "stop";
    case drain_reason::range_gone:
      return "range_gone";
  }
  expects(false, "a drain_reason is one of the enumerators");
  return {};
}

/// What a write in flight is to do.
enum class lease_write : std::uint8_t {
  none,
  acquire,  ///< make this host the owner
  keep,     ///< show that the owner lives, and how far it has come
  leave,    ///< hand it over, or let go of it
  end,      ///< end it
};

/// The enumerator's own name: "end".
constexpr std::string_view name_of(lease_write kind) {
  switch (kind) {
    case lease_write::none:
      return "none";
    case lease_write::acquire:
      return "acquire";
    case lease_write::keep:
      return "keep";
    case lease_write::leave:
      return "leave";
    case lease_write::end:
      return "end";
  }
  expects(false, "a lease_write is one of the enumerators");
  return {};
}

/// One thing that happened. Which members mean something follows from the kind.
struct lease_event {
  lease_event_kind kind{};
  /// When it did, by the host's clock.
  instant now{};
  /// `listed`, `written`, `refused`: the record as it is.
  lease_facts record{};
  /// Answers: the number of the write they are about. Others than the one in flight are nobody's.
  std::uint64_t number = 0;
  /// `wanted`: the owner's session, where it is known not to hold any more. `given`: the new owner.
  session_id other{};
  /// `acknowledged`, `closed`: how far the handler has come.
  std::uint64_t sequence = 0;
};

/// What is to be done, in the order of the members.
struct lease_effects {
  /// Go by the event's record, with its version, from here on.
  bool adopts : 1 = false;
  /// Replace the record that the host goes by: these are its new facts. The record has to be at its
  /// version still, the position is the one of `facts.sequence`, and the answer names
  /// `facts.stamp.number`.
  bool writes : 1 = false;
  /// Read the record until it is answered: `written` where it has the stamp of the write in flight,
  /// `refused` where it has another one, `vanished` where there is none.
  bool reads_back : 1 = false;
  /// Tell of `deadline` when the machine's deadline has come.
  bool arms : 1 = false;
  /// Read from the position of the record, and handle, in this epoch and until the deadline.
  bool opens : 1 = false;
  /// Read no more, handle what was read, close, then tell of `closed`; of `drain_overdue` where
  /// that takes too long.
  bool stops_reading : 1 = false;
  /// Stop the handler at once, acknowledge nothing any more, close, then tell of `closed`.
  bool cancels : 1 = false;
  /// Create the record anew from what is known, with the next epoch, if there is none.
  bool restores : 1 = false;
  /// Nothing is known of the lease any more.
  bool forgets : 1 = false;
  lease_facts facts{};
};

/// All that a machine knows.
struct lease_situation {
  lease_state state = lease_state::unknown;
  drain_reason reason = drain_reason::none;
  lease_write write = lease_write::none;  ///< what is in flight
  bool is_stalled = false;                ///< the handler is overdue: it is to run out
  bool is_missed = false;                 ///< its record is missing
  bool has_news = false;                  ///< the handler has come further than what was written
  lease_facts base{};                     ///< of the record that it goes by
  instant since{};                        ///< when it saw the base first
  instant deadline{};                     ///< until when it may act as the owner
  instant sent{};                         ///< when it ordered what is in flight
  session_id heir{};                      ///< to whom it is handed over
  std::uint64_t acknowledged = 0;         ///< the sequence of what the handler has done
  std::uint64_t numbers = 0;              ///< the number of the last write

  friend bool operator==(lease_situation const&, lease_situation const&) = default;
};

namespace detail {

// What the proof rests on, each by its name, so that a test can break one at a time.
struct lease_rules {
  static constexpr auto const& table = lease_table;

  // A holder counts from when it ordered the write, never from the answer: the store may have done
  // it any time since.
  static constexpr instant held_until(instant ordered, instant, instant::duration hold) {
    return instant_after(ordered, hold);
  }
  static constexpr instant may_be_taken(instant seen, lease_facts const& record,
                                        lease_terms const& terms) {
    return instant_after(seen, wait_before_taking(record.held_for, terms.rate_bound_ppm));
  }
  // An answer counts for the write it is about.
  static constexpr bool answers(lease_event const& event, lease_situation const& at) {
    return at.write != lease_write::none && event.number == at.numbers;
  }
  static constexpr std::uint64_t position(lease_situation const& at) {
    return (std::max)(at.base.sequence, at.acknowledged);
  }
  static constexpr std::uint64_t next_epoch(std::uint64_t epoch) { return epoch + 1; }
};

template <class Rules>
class basic_lease_machine {
 public:
  basic_lease_machine() = default;
  /// Goes on numbering behind `numbers`, so that no write of one session has the number of another.
  constexpr explicit basic_lease_machine(std::uint64_t numbers) { at_.numbers = numbers; }
  constexpr explicit basic_lease_machine(lease_situation const& at) : at_{at} {}

  constexpr lease_state state() const noexcept { return at_.state; }
  constexpr lease_situation const& situation() const noexcept { return at_; }

  /// Whether it may be written as its owner. False behind the deadline, whatever the state: who
  /// does as the effects say asks before each of them. Only what is ordered in `acquiring`, or by
  /// `listed`, needs no deadline: it makes this host the owner, or passes on what reached it late.
  constexpr bool holds(instant now) const noexcept {
    return at_.state >= lease_state::active && at_.state <= lease_state::ending &&
           now < at_.deadline;
  }
  /// Whether its changes may be handled.
  constexpr bool handles(instant now) const noexcept {
    return at_.state >= lease_state::active && at_.state <= lease_state::draining &&
           now < at_.deadline;
  }

  /// Tells what happened. Any event may be told in any state. Complexity: constant.
  constexpr lease_effects step(lease_event const& event, lease_terms const& terms) {
    lease_effects effects;
    if (is_answer(event.kind) && !Rules::answers(event, at_)) return effects;
    if (std::size_t const number = index.number_of(at_.state, event.kind); number != index.nothing)
      (this->*deciders[number - 1])(event, terms, effects);
    return effects;
  }

  friend constexpr bool operator==(basic_lease_machine const&,
                                   basic_lease_machine const&) = default;

 private:
  static constexpr lease_index index{Rules::table};

  // Each set of rows is a function of its own, in which all that the table says is a constant: a
  // step is one call, and branches on nothing but conditions.
  using decider = void (basic_lease_machine::*)(lease_event const&, lease_terms const&,
                                                lease_effects&);

  template <std::size_t Row>
  constexpr bool is_done(lease_event const& event, lease_terms const& terms,
                         lease_effects& effects) {
    constexpr lease_row row = Rules::table[Row];
    if (!holds_true<row.when>(event, terms)) return false;
    act<row.does[0]>(event, terms, effects);
    act<row.does[1]>(event, terms, effects);
    act<row.does[2]>(event, terms, effects);
    act<row.does[3]>(event, terms, effects);
    if constexpr (!row.stays) at_.state = row.to;
    return true;
  }
  template <std::size_t Number>
  constexpr void decide(lease_event const& event, lease_terms const& terms,
                        lease_effects& effects) {
    [&]<std::size_t... At>(std::index_sequence<At...>) {
      static_cast<void>((is_done<index.rows_of(Number).rows[At]>(event, terms, effects) || ...));
    }(std::make_index_sequence<index.rows_of(Number).size>{});
  }
  static constexpr std::array<decider, index.size()> deciders =
      []<std::size_t... At>(std::index_sequence<At...>) {
        return std::array<decider, index.size()>{&basic_lease_machine::decide<At + 1>...};
      }(std::make_index_sequence<index.size()>{});

  static constexpr bool is_answer(lease_event_kind kind) {
    return kind >= lease_event_kind::written && kind <= lease_event_kind::unanswered;
  }
  static constexpr bool is_by_session(lease_terms const& terms) {
    return terms.liveness == liveness::per_session;
  }

  constexpr bool is_own(lease_facts const& record, lease_terms const& terms) const {
    return record.phase == lease_phase::open && record.owner == terms.session;
  }
  constexpr bool is_still_held(lease_event const& event, lease_terms const& terms) const {
    return is_own(event.record, terms) && event.record.epoch == at_.base.epoch &&
           event.now < at_.deadline;
  }
  constexpr bool may_take(lease_event const& event, lease_terms const& terms) const {
    if (terms.is_stopping || at_.base.phase != lease_phase::open) return false;
    if (!at_.base.owner) return true;
    // The end of a session says nothing of leases that are held by themselves.
    if (is_by_session(terms) && event.other == at_.base.owner) return true;
    if (is_by_session(terms) && !at_.base.is_detached) return false;
    return event.now >= Rules::may_be_taken(at_.since, at_.base, terms);
  }
  // Until when the write in flight lets it be held, now that it is known to have succeeded.
  constexpr instant deadline_of_write(lease_event const& event, lease_terms const& terms) const {
    if (!is_by_session(terms)) return Rules::held_until(at_.sent, event.now, terms.hold);
    return at_.is_stalled ? at_.deadline : terms.session_until;
  }

  template <lease_condition Condition>
  constexpr bool holds_true(lease_event const& event, lease_terms const& terms) const {
    if constexpr (Condition == lease_condition::always) {
      return true;
    } else if constexpr (Condition == lease_condition::record_ended) {
      return event.record.phase == lease_phase::ended;
    } else if constexpr (Condition == lease_condition::record_older) {
      return is_older(event.record, at_.base);
    } else if constexpr (Condition == lease_condition::record_alike) {
      return event.record.stamp == at_.base.stamp;
    } else if constexpr (Condition == lease_condition::record_owned) {
      return is_own(event.record, terms);
    } else if constexpr (Condition == lease_condition::owned_and_stopping) {
      return is_own(event.record, terms) && terms.is_stopping;
    } else if constexpr (Condition == lease_condition::still_held) {
      return is_still_held(event, terms);
    } else if constexpr (Condition == lease_condition::held_and_gone) {
      return is_still_held(event, terms) && at_.reason == drain_reason::range_gone;
    } else if constexpr (Condition == lease_condition::may_take) {
      return may_take(event, terms);
    } else if constexpr (Condition == lease_condition::too_late) {
      return deadline_of_write(event, terms) <= event.now;
    } else if constexpr (Condition == lease_condition::stopping) {
      return terms.is_stopping;
    } else if constexpr (Condition == lease_condition::writing) {
      return at_.write != lease_write::none;
    } else if constexpr (Condition == lease_condition::by_session) {
      return is_by_session(terms);
    } else if constexpr (Condition == lease_condition::needs_no_beat) {
      return is_by_session(terms) || at_.is_stalled;
    } else if constexpr (Condition == lease_condition::extended_by_session) {
      return is_by_session(terms) && !at_.is_stalled;
    } else if constexpr (Condition == lease_condition::overdue) {
      return event.now >= at_.deadline;
    } else if constexpr (Condition == lease_condition::range_gone) {
      return at_.reason == drain_reason::range_gone;
    } else if constexpr (Condition == lease_condition::record_missed) {
      return at_.is_missed && at_.base.owner == terms.session;
    }
    return false;
  }

  template <lease_action Action>
  constexpr void act(lease_event const& event, lease_terms const& terms, lease_effects& effects) {
    if constexpr (Action == lease_action::none) {
    } else if constexpr (Action == lease_action::take) {
      at_.base = event.record;
      effects.adopts = true;
    } else if constexpr (Action == lease_action::watch) {
      begin_anew();
      at_.base = event.record;
      at_.since = event.now;
      effects.adopts = true;
    } else if constexpr (Action == lease_action::watch_anew) {
      begin_anew();
      at_.since = event.now;
    } else if constexpr (Action == lease_action::forget) {
      begin_anew();
      at_.base = {};
      effects.forgets = true;
    } else if constexpr (Action == lease_action::hold) {
      at_.deadline = deadline_of_write(event, terms);
      at_.write = lease_write::none;
    } else if constexpr (Action == lease_action::hold_session) {
      at_.deadline = (std::max)(at_.deadline, terms.session_until);
    } else if constexpr (Action == lease_action::settle) {
      at_.write = lease_write::none;
    } else if constexpr (Action == lease_action::acquire) {
      write(lease_write::acquire, event, terms, effects);
    } else if constexpr (Action == lease_action::confirm || Action == lease_action::beat ||
                         Action == lease_action::checkpoint || Action == lease_action::detach) {
      write(lease_write::keep, event, terms, effects);
    } else if constexpr (Action == lease_action::keep_up) {
      if (is_behind(terms)) write(lease_write::keep, event, terms, effects);
    } else if constexpr (Action == lease_action::write_again) {
      write(at_.write, event, terms, effects);
    } else if constexpr (Action == lease_action::note) {
      at_.acknowledged = (std::max)(at_.acknowledged, event.sequence);
      at_.has_news = true;
    } else if constexpr (Action == lease_action::leave) {
      write(lease_write::leave, event, terms, effects);
    } else if constexpr (Action == lease_action::end) {
      write(lease_write::end, event, terms, effects);
    } else if constexpr (Action == lease_action::read_back) {
      effects.reads_back = true;
    } else if constexpr (Action == lease_action::arm) {
      effects.arms = true;
    } else if constexpr (Action == lease_action::open) {
      at_.reason = drain_reason::none;
      at_.heir = {};
      at_.is_stalled = false;
      at_.acknowledged = at_.base.sequence;
      effects.opens = true;
    } else if constexpr (Action == lease_action::stop_reading) {
      effects.stops_reading = true;
    } else if constexpr (Action == lease_action::stall) {
      at_.is_stalled = true;
    } else if constexpr (Action == lease_action::cancel) {
      effects.cancels = true;
    } else if constexpr (Action == lease_action::miss) {
      at_.is_missed = true;
    } else if constexpr (Action == lease_action::restore) {
      effects.restores = true;
      effects.facts = restored(terms);
    } else if constexpr (Action == lease_action::hand_over) {
      at_.reason = drain_reason::handover;
      at_.heir = event.other;
    } else if constexpr (Action == lease_action::let_go) {
      at_.reason = drain_reason::stop;
    } else if constexpr (Action == lease_action::range_ended) {
      at_.reason = drain_reason::range_gone;
    }
  }

  // Whether something is to be written that is not.
  constexpr bool is_behind(lease_terms const& terms) const {
    bool const is_to_detach = is_by_session(terms) && at_.is_stalled && !at_.base.is_detached;
    return at_.has_news || is_to_detach;
  }

  constexpr void write(lease_write kind, lease_event const& event, lease_terms const& terms,
                       lease_effects& effects) {
    at_.write = kind;
    at_.sent = event.now;
    at_.has_news = false;
    lease_facts& facts = effects.facts;
    facts = at_.base;
    facts.stamp = {terms.session, ++at_.numbers};
    facts.held_for = terms.hold;
    facts.sequence = Rules::position(at_);
    facts.is_detached = false;
    facts.place = 0;
    switch (kind) {
      case lease_write::none:
        break;
      case lease_write::acquire:
        facts.owner = terms.session;
        facts.epoch = Rules::next_epoch(facts.epoch);
        break;
      case lease_write::keep:
        facts.is_detached = is_by_session(terms) && at_.is_stalled;
        break;
      case lease_write::leave:
        if (at_.reason == drain_reason::handover) {
          facts.owner = at_.heir;
          facts.epoch = Rules::next_epoch(facts.epoch);
        } else {
          facts.owner = no_session;
          facts.place = terms.place;
        }
        break;
      case lease_write::end:
        facts.owner = no_session;
        facts.phase = lease_phase::ended;
        break;
    }
    effects.writes = true;
  }

  // Somebody else may have owned it when its record was removed, in a later epoch, and know nothing
  // of that yet. So nobody takes it before that one has stopped, and its epochs begin anew where
  // nobody has been.
  constexpr lease_facts restored(lease_terms const& terms) {
    return {.is_detached = true,
            .owner = departed_session,
            .epoch = at_.base.epoch + (std::uint64_t{1} << 32),
            .sequence = Rules::position(at_),
            .stamp = {terms.session, ++at_.numbers},
            .held_for = terms.hold};
  }

  // All but what it goes by and the numbers it has used.
  constexpr void begin_anew() {
    lease_facts const base = at_.base;
    std::uint64_t const numbers = at_.numbers;
    lease_state const state = at_.state;
    at_ = {};
    at_.state = state;
    at_.base = base;
    at_.numbers = numbers;
  }

  lease_situation at_{};
};

}  // namespace detail

/// One lease as one host sees it: a value that is told events and answers with what is to be done.
/// Each row of `lease_table` is one thing it may do.
///
/// At most one write of it is in flight, built from the record that it goes by. What it orders as
/// the owner is done while `holds` only: a write that is too late is not sent, and told as
/// `unanswered`.
using lease_machine = detail::basic_lease_machine<detail::lease_rules>;

static_assert(std::is_trivially_copyable_v<lease_machine>);

}  // namespace keyspan
