// test/lease/lease_machine_test.cpp — a lease as one host sees it: what happens to it, told as
// stories, and whatever may be told it in any order.
#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_table.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/session_id.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/enumerators.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace {

using keyspan::drain_reason;
using keyspan::instant;
using keyspan::lease_effects;
using keyspan::lease_event;
using keyspan::lease_event_kind;
using keyspan::lease_facts;
using keyspan::lease_machine;
using keyspan::lease_phase;
using keyspan::lease_situation;
using keyspan::lease_stamp;
using keyspan::lease_state;
using keyspan::lease_terms;
using keyspan::lease_write;
using keyspan::liveness;
using keyspan::no_session;
using keyspan::session_id;
using test::check;
using namespace std::chrono_literals;
using enum keyspan::lease_event_kind;

constexpr session_id ada{0xA};
constexpr session_id bob{0xB};

// Ada's or Bob's machine of the one lease, its clock, and what was asked for last.
struct host {
  lease_machine machine{};
  lease_terms terms{};
  instant now{1h};
  lease_effects effects{};
  lease_facts sent{};  // by the last write

  constexpr explicit host(session_id who, liveness how = liveness::per_lease) {
    terms.session = who;
    terms.hold = 60s;
    terms.rate_bound_ppm = 0;
    terms.liveness = how;
    terms.session_until = now + 60s;
  }

  constexpr lease_effects const& tell(lease_event event) {
    event.now = now;
    effects = machine.step(event, terms);
    if (effects.writes) sent = effects.facts;
    return effects;
  }
  constexpr lease_effects const& tell(lease_event_kind kind) { return tell({.kind = kind}); }
  constexpr lease_effects const& sees(lease_facts const& record) {
    return tell({.kind = listed, .record = record});
  }
  // An answer to the write in flight.
  constexpr lease_effects const& is_told(lease_event_kind kind, lease_facts const& record = {}) {
    return tell({.kind = kind, .record = record, .number = situation().numbers});
  }
  // The write in flight is done: what the record is from then on.
  constexpr lease_facts succeeds() {
    check(situation().write != lease_write::none);
    auto const record = sent;
    is_told(written, record);
    return record;
  }
  constexpr void acknowledges(std::uint64_t sequence) {
    tell({.kind = acknowledged, .sequence = sequence});
  }
  constexpr lease_effects const& closes(std::uint64_t sequence) {
    return tell({.kind = closed, .sequence = sequence});
  }
  constexpr lease_situation const& situation() const { return machine.situation(); }
  constexpr bool is(lease_state state) const { return machine.state() == state; }
};

constexpr bool is_nothing(lease_effects const& effects) {
  return !effects.adopts && !effects.writes && !effects.reads_back && !effects.arms &&
         !effects.opens && !effects.stops_reading && !effects.cancels && !effects.restores &&
         !effects.forgets;
}

// Nobody's lease, 120 changes far.
constexpr lease_facts free_lease() {
  return {.epoch = 6, .sequence = 120, .stamp = {session_id{0xF}, 3}, .held_for = 60s};
}
constexpr lease_facts held_by(session_id who, std::uint64_t number = 1) {
  return {.owner = who, .epoch = 7, .sequence = 120, .stamp = {who, number}, .held_for = 60s};
}

// A host that has taken it.
constexpr host holder(session_id who, liveness how = liveness::per_lease) {
  host made{who, how};
  made.sees(free_lease());
  made.tell(wanted);
  made.succeeds();
  check(made.is(lease_state::active));
  return made;
}

// ---- taking

constexpr bool a_free_lease_is_taken_by_a_write_and_read_when_that_has_succeeded() {
  host ada_{ada};
  check(ada_.sees(free_lease()).adopts && ada_.is(lease_state::watching));

  auto const& acquire = ada_.tell(wanted);
  check(acquire.writes && !acquire.opens && ada_.is(lease_state::acquiring));
  check(acquire.facts ==
        lease_facts{.owner = ada, .epoch = 7, .sequence = 120, .stamp = {ada, 1}, .held_for = 60s});
  check(!ada_.machine.holds(ada_.now));

  auto const ordered = ada_.now;
  ada_.now += 10s;
  ada_.succeeds();
  check(ada_.effects.opens && ada_.effects.arms && ada_.effects.adopts && !ada_.effects.writes);
  check(ada_.is(lease_state::active));
  // It counts from when the write was ordered, not from its answer.
  check(ada_.situation().deadline == ordered + 60s);
  check(ada_.machine.holds(ordered + 60s - 1ns) && !ada_.machine.holds(ordered + 60s));
  check(ada_.machine.handles(ordered + 60s - 1ns) && !ada_.machine.handles(ordered + 60s));
  return true;
}
CHECK_BOTH(a_free_lease_is_taken_by_a_write_and_read_when_that_has_succeeded);

constexpr bool a_lease_that_nobody_owns_is_free_whosever_session_is_over() {
  host ada_{ada};
  ada_.sees(free_lease());
  check(ada_.tell({.kind = wanted, .other = bob}).writes);
  return true;
}
CHECK_BOTH(a_lease_that_nobody_owns_is_free_whosever_session_is_over);

constexpr bool of_two_who_take_a_lease_at_once_one_does_and_the_other_waits() {
  host ada_{ada};
  host bob_{bob};
  for (auto* one : {&ada_, &bob_}) {
    one->sees(free_lease());
    one->tell(wanted);
  }
  auto const record = ada_.succeeds();
  bob_.is_told(refused, record);
  check(ada_.is(lease_state::active) && bob_.is(lease_state::watching));
  check(bob_.effects.adopts && !bob_.effects.opens && bob_.situation().base == record);
  check(is_nothing(bob_.tell(wanted)));
  return true;
}
CHECK_BOTH(of_two_who_take_a_lease_at_once_one_does_and_the_other_waits);

constexpr bool a_lease_whose_taking_is_answered_too_late_is_not_opened() {
  host ada_{ada};
  ada_.sees(free_lease());
  ada_.tell(wanted);
  ada_.now += 60s;
  ada_.succeeds();
  check(!ada_.effects.opens && ada_.is(lease_state::watching));
  return true;
}
CHECK_BOTH(a_lease_whose_taking_is_answered_too_late_is_not_opened);

constexpr bool a_taker_waits_for_as_long_as_the_last_write_that_it_has_seen_lets_the_holder_hold() {
  host bob_{bob};
  bob_.terms.hold = 1s;  // his own hold has nothing to do with it
  bob_.terms.rate_bound_ppm = 1'000;
  bob_.sees(held_by(ada, 5));
  bob_.now += 30s;
  bob_.sees(held_by(ada, 6));  // she lives: the wait begins anew
  auto const seen = bob_.now;
  bob_.now += 20s;
  bob_.sees(held_by(ada, 6));  // the same write, and one from before: it goes on
  bob_.sees(held_by(ada, 5));
  auto const wait = keyspan::wait_before_taking(60s, 1'000);
  bob_.now = seen + wait - 1ns;
  check(is_nothing(bob_.tell(wanted)) && bob_.is(lease_state::watching));
  bob_.now = seen + wait;
  check(bob_.tell(wanted).writes && bob_.is(lease_state::acquiring));
  check(bob_.effects.facts.epoch == 8 && bob_.effects.facts.owner == bob);
  check(bob_.effects.facts.sequence == 120);
  return true;
}
CHECK_BOTH(a_taker_waits_for_as_long_as_the_last_write_that_it_has_seen_lets_the_holder_hold);

constexpr bool where_sessions_show_who_lives_a_lease_is_taken_when_its_owners_session_is_over() {
  host bob_{bob, liveness::per_session};
  bob_.sees(held_by(ada));
  bob_.now += 24h;  // no write of the lease is needed
  bob_.terms.session_until = bob_.now + 60s;
  check(is_nothing(bob_.tell(wanted)));
  check(is_nothing(bob_.tell({.kind = wanted, .other = session_id{0xC}})));
  check(bob_.tell({.kind = wanted, .other = ada}).writes);
  bob_.succeeds();
  check(bob_.is(lease_state::active));
  check(bob_.situation().deadline == bob_.terms.session_until);
  return true;
}
CHECK_BOTH(where_sessions_show_who_lives_a_lease_is_taken_when_its_owners_session_is_over);

constexpr bool a_lease_that_a_session_no_longer_vouches_for_is_waited_for_by_its_own_stamp() {
  host bob_{bob, liveness::per_session};
  auto record = held_by(ada);
  record.is_detached = true;
  bob_.sees(record);
  bob_.now += 60s - 1ns;
  check(is_nothing(bob_.tell(wanted)));
  bob_.now += 1ns;
  check(bob_.tell(wanted).writes && !bob_.effects.facts.is_detached);
  return true;
}
CHECK_BOTH(a_lease_that_a_session_no_longer_vouches_for_is_waited_for_by_its_own_stamp);

constexpr bool a_host_that_stops_takes_nothing_and_passes_on_what_reaches_it() {
  host ada_{ada};
  ada_.terms.is_stopping = true;
  ada_.sees(free_lease());
  check(is_nothing(ada_.tell(wanted)));
  // Bob had handed it over before he knew.
  ada_.sees({.owner = ada, .epoch = 7, .sequence = 130, .stamp = {bob, 9}, .held_for = 60s});
  check(ada_.effects.writes && !ada_.effects.opens && ada_.is(lease_state::releasing));
  check(ada_.effects.facts.owner == no_session && ada_.effects.facts.epoch == 7);
  check(ada_.effects.facts.sequence == 130);
  ada_.succeeds();
  check(ada_.is(lease_state::watching));

  // So does one that begins to stop while it takes a lease.
  host bob_{bob};
  bob_.sees(free_lease());
  bob_.tell(wanted);
  bob_.terms.is_stopping = true;
  auto const taken = bob_.succeeds();
  check(bob_.effects.writes && !bob_.effects.opens && bob_.is(lease_state::releasing));
  check(bob_.effects.facts.owner == no_session && bob_.effects.facts.epoch == taken.epoch);
  return true;
}
CHECK_BOTH(a_host_that_stops_takes_nothing_and_passes_on_what_reaches_it);

// ---- holding

constexpr bool a_beat_lets_a_lease_be_held_from_its_sending_on() {
  auto ada_ = holder(ada);
  ada_.now += 20s;
  auto const ordered = ada_.now;
  check(ada_.tell(beat_due).writes && ada_.is(lease_state::active));
  check(ada_.effects.facts == held_by(ada, 2));
  check(is_nothing(ada_.tell(beat_due)));  // one write at a time
  ada_.now += 5s;
  ada_.succeeds();
  check(ada_.effects.arms && ada_.situation().deadline == ordered + 60s);
  return true;
}
CHECK_BOTH(a_beat_lets_a_lease_be_held_from_its_sending_on);

constexpr bool a_host_whose_beats_are_not_answered_gives_the_lease_up_by_itself() {
  auto ada_ = holder(ada);
  auto const deadline = ada_.situation().deadline;
  ada_.now += 20s;
  ada_.tell(beat_due);
  check(ada_.is_told(unanswered).reads_back && ada_.is(lease_state::active));
  ada_.now = deadline - 1ns;
  check(ada_.tell(lease_event_kind::deadline).arms && ada_.is(lease_state::active));
  ada_.now = deadline;
  check(ada_.tell(lease_event_kind::deadline).cancels && ada_.is(lease_state::lost));
  check(!ada_.machine.holds(ada_.now) && !ada_.machine.handles(ada_.now - 1h));

  // Nothing is written for a handler that was stopped, however far it had come.
  ada_.acknowledges(150);
  check(is_nothing(ada_.effects));
  check(is_nothing(ada_.closes(150)) && ada_.is(lease_state::watching));

  // Nobody else has taken it: it is confirmed in its epoch, and read from its position again.
  ada_.sees(held_by(ada, 2));
  check(ada_.effects.writes && ada_.is(lease_state::acquiring));
  check(ada_.effects.facts.epoch == 7 && ada_.effects.facts.stamp == lease_stamp{ada, 3});
  ada_.succeeds();
  check(ada_.effects.opens && ada_.situation().acknowledged == 120);
  return true;
}
CHECK_BOTH(a_host_whose_beats_are_not_answered_gives_the_lease_up_by_itself);

constexpr bool a_write_without_an_answer_is_read_back() {
  auto ada_ = holder(ada);
  ada_.tell(beat_due);
  check(ada_.is_told(unanswered).reads_back);
  check(is_nothing(ada_.tell(beat_due)));  // it is in flight still
  ada_.succeeds();
  check(ada_.situation().write == lease_write::none);
  check(ada_.tell(beat_due).writes);
  return true;
}
CHECK_BOTH(a_write_without_an_answer_is_read_back);

constexpr bool a_list_that_shows_a_write_before_its_answer_comes_changes_nothing_for_the_holder() {
  for (auto const why : {beat_due, given}) {
    auto ada_ = holder(ada);
    ada_.tell({.kind = why, .other = bob});
    if (why == given) ada_.acknowledges(121);
    ada_.sees(ada_.sent);
    check(ada_.effects.adopts && !ada_.effects.cancels && ada_.situation().base == ada_.sent);
    if (why == given) {  // nor where the handler has closed since
      ada_.closes(122);
      auto record = ada_.sent;
      record.stamp.number += 1;
      ada_.sees(record);
      check(ada_.effects.adopts && ada_.is(lease_state::drained));
    }
    check(ada_.situation().write == lease_write::keep);
    ada_.succeeds();
    check(ada_.is(why == given ? lease_state::releasing : lease_state::active));
  }
  return true;
}
CHECK_BOTH(a_list_that_shows_a_write_before_its_answer_comes_changes_nothing_for_the_holder);

constexpr bool the_answer_to_another_write_than_the_one_in_flight_is_nobodys() {
  auto ada_ = holder(ada);
  auto const before = ada_.situation();
  for (auto const kind : {written, refused, vanished, unanswered}) {
    for (std::uint64_t const number : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}}) {
      check(is_nothing(ada_.tell({.kind = kind, .record = held_by(bob), .number = number})));
      check(ada_.situation() == before);
    }
  }
  ada_.tell(beat_due);
  auto const beating = ada_.situation();
  check(is_nothing(ada_.tell({.kind = refused, .record = held_by(bob), .number = 1})));
  check(ada_.situation() == beating);
  return true;
}
CHECK_BOTH(the_answer_to_another_write_than_the_one_in_flight_is_nobodys);

constexpr bool what_a_handler_has_done_is_written_and_no_more_than_one_write_is_in_flight() {
  auto ada_ = holder(ada);
  ada_.acknowledges(121);
  check(ada_.effects.writes && ada_.effects.facts.sequence == 121);
  ada_.acknowledges(122);
  check(is_nothing(ada_.effects));
  ada_.acknowledges(125);
  ada_.acknowledges(123);  // out of order: it was further before
  check(is_nothing(ada_.effects));
  ada_.succeeds();  // the newest is written next
  check(ada_.effects.writes && ada_.effects.facts.sequence == 125);
  ada_.succeeds();
  check(!ada_.effects.writes && ada_.situation().base.sequence == 125);
  ada_.acknowledges(124);  // what comes late takes nothing back
  check(ada_.effects.writes && ada_.effects.facts.sequence == 125);
  return true;
}
CHECK_BOTH(what_a_handler_has_done_is_written_and_no_more_than_one_write_is_in_flight);

constexpr bool a_refused_write_is_built_anew_from_the_record_where_the_lease_is_still_held() {
  auto ada_ = holder(ada);
  ada_.acknowledges(125);
  auto record = ada_.situation().base;
  record.sequence = 130;  // somebody has set the position
  ada_.is_told(refused, record);
  check(ada_.effects.adopts && ada_.effects.writes && ada_.is(lease_state::active));
  check(ada_.effects.facts.sequence == 130 && ada_.effects.facts.stamp == lease_stamp{ada, 3});

  // What is its own in another epoch was somebody else's in between; and what has ended, has.
  for (bool const is_ended : {false, true}) {
    auto other = ada_;
    auto again = record;
    again.stamp.number = 9;
    again.phase = is_ended ? lease_phase::ended : lease_phase::open;
    again.epoch = is_ended ? 7 : 9;
    other.is_told(refused, again);
    check(other.effects.cancels && other.is(lease_state::lost));
    other.closes(130);
    check(other.is(lease_state::watching));
    other.now += 24h;
    check(other.tell({.kind = wanted, .other = ada}).writes != is_ended);
  }

  auto const others = lease_facts{.owner = bob, .epoch = 8, .sequence = 120, .stamp = {bob, 1}};
  ada_.is_told(refused, others);
  check(ada_.effects.cancels && !ada_.effects.writes && ada_.is(lease_state::lost));
  ada_.closes(130);
  check(ada_.is(lease_state::watching) && ada_.situation().base == others);
  return true;
}
CHECK_BOTH(a_refused_write_is_built_anew_from_the_record_where_the_lease_is_still_held);

constexpr bool a_holder_that_sees_another_owner_in_the_record_stops_at_once() {
  auto ada_ = holder(ada);
  check(is_nothing(ada_.sees(free_lease())));  // a list from before
  check(ada_.is(lease_state::active));
  auto record = ada_.situation().base;
  record.sequence = 200;  // somebody has set the position, and asked for that in no name
  ada_.sees(record);
  check(ada_.effects.adopts && !ada_.effects.cancels && ada_.situation().base == record);
  host late = ada_;  // that nobody else has written since is known behind the deadline, too
  late.now = late.situation().deadline;
  late.sees(record);
  check(late.effects.adopts && late.is(lease_state::active));
  ada_.sees({.owner = bob, .epoch = 8, .stamp = {bob, 1}});
  check(ada_.effects.cancels && ada_.is(lease_state::lost));
  return true;
}
CHECK_BOTH(a_holder_that_sees_another_owner_in_the_record_stops_at_once);

constexpr bool where_sessions_show_who_lives_a_lease_is_held_as_long_as_the_session() {
  auto ada_ = holder(ada, liveness::per_session);
  check(is_nothing(ada_.tell(beat_due)));  // the session's beats are enough
  ada_.now += 20s;
  ada_.terms.session_until = ada_.now + 60s;
  check(ada_.tell(session_beaten).arms);
  check(ada_.situation().deadline == ada_.terms.session_until);
  // A write of the lease lets it be held no longer than the session.
  ada_.now += 20s;
  ada_.acknowledges(121);
  ada_.succeeds();
  check(ada_.situation().deadline == ada_.terms.session_until);
  check(ada_.tell(session_lost).cancels && ada_.is(lease_state::lost));
  return true;
}
CHECK_BOTH(where_sessions_show_who_lives_a_lease_is_held_as_long_as_the_session);

// ---- letting go

constexpr bool a_lease_is_handed_over_in_one_write_when_its_handler_is_closed() {
  auto ada_ = holder(ada);
  ada_.tell({.kind = given, .other = bob});
  check(ada_.effects.stops_reading && !ada_.effects.writes && ada_.is(lease_state::draining));
  check(ada_.machine.handles(ada_.now));
  ada_.now += 20s;
  check(ada_.tell(beat_due).writes);  // it is held, and shows it
  ada_.succeeds();
  ada_.closes(140);
  check(ada_.effects.writes && ada_.is(lease_state::releasing));
  check(ada_.machine.holds(ada_.now) && !ada_.machine.handles(ada_.now));
  check(ada_.effects.facts ==
        lease_facts{.owner = bob, .epoch = 8, .sequence = 140, .stamp = {ada, 3}, .held_for = 60s});

  host bob_{bob};
  bob_.sees(held_by(ada, 2));
  auto const handed = ada_.succeeds();
  check(ada_.is(lease_state::watching));
  bob_.sees(handed);  // he waits for nothing, and reads when he has confirmed it
  check(bob_.effects.writes && !bob_.effects.opens && bob_.is(lease_state::acquiring));
  check(bob_.effects.facts.epoch == 8 && bob_.effects.facts.stamp == lease_stamp{bob, 1});
  bob_.succeeds();
  check(bob_.effects.opens && bob_.situation().acknowledged == 140);
  check(is_older(handed, bob_.situation().base));
  return true;
}
CHECK_BOTH(a_lease_is_handed_over_in_one_write_when_its_handler_is_closed);

constexpr bool a_host_that_stops_leaves_its_lease_to_nobody_or_keeps_its_place() {
  for (std::uint64_t const place : {std::uint64_t{0}, std::uint64_t{77}}) {
    auto ada_ = holder(ada);
    ada_.terms.is_stopping = true;
    ada_.terms.place = place;
    check(ada_.tell(stop).stops_reading);
    check(is_nothing(ada_.tell({.kind = given, .other = bob})));  // it was told already
    ada_.closes(121);
    check(ada_.effects.facts.owner == no_session && ada_.effects.facts.epoch == 7);
    check(ada_.effects.facts.place == place && ada_.effects.facts.sequence == 121);
    auto const left = ada_.succeeds();
    check(ada_.is(lease_state::watching));

    host bob_{bob};
    bob_.sees(left);
    check(bob_.tell(wanted).writes);  // nobody is waited for, and the place is taken
    check(bob_.effects.facts.epoch == 8 && bob_.effects.facts.place == 0);
  }
  return true;
}
CHECK_BOTH(a_host_that_stops_leaves_its_lease_to_nobody_or_keeps_its_place);

constexpr bool a_lease_whose_range_was_split_is_ended() {
  auto ada_ = holder(ada);
  check(ada_.tell(gone).stops_reading && ada_.is(lease_state::draining));
  ada_.closes(133);
  check(ada_.effects.writes && ada_.is(lease_state::ending));
  check(ada_.effects.facts.phase == lease_phase::ended && ada_.effects.facts.owner == no_session &&
        ada_.effects.facts.sequence == 133);
  auto const record = ada_.succeeds();
  check(ada_.is(lease_state::ended));

  host bob_{bob};
  bob_.sees(record);
  check(bob_.is(lease_state::ended) && is_nothing(bob_.tell(wanted)));
  check(bob_.tell(missing).forgets && bob_.is(lease_state::unknown));
  return true;
}
CHECK_BOTH(a_lease_whose_range_was_split_is_ended);

constexpr bool a_lease_that_is_handed_to_its_own_host_is_read_on() {
  auto ada_ = holder(ada);
  ada_.tell({.kind = given, .other = ada});
  ada_.closes(121);
  ada_.succeeds();
  check(ada_.effects.opens && ada_.is(lease_state::active));
  check(ada_.situation().base.epoch == 8 && ada_.situation().acknowledged == 121);
  return true;
}
CHECK_BOTH(a_lease_that_is_handed_to_its_own_host_is_read_on);

constexpr bool whoever_is_refused_since_a_lease_has_ended_knows_that_it_has() {
  for (auto const why : {wanted, stop, gone}) {
    host ada_ = why == wanted ? host{ada} : holder(ada);
    if (why == wanted) ada_.sees(free_lease());
    ada_.tell(why);
    if (why != wanted) ada_.closes(121);
    auto record = ada_.situation().base;
    record.phase = lease_phase::ended;
    record.owner = no_session;
    record.stamp = {bob, 1};
    ada_.is_told(refused, record);
    check(ada_.effects.adopts && !ada_.effects.writes && ada_.is(lease_state::ended));
  }
  return true;
}
CHECK_BOTH(whoever_is_refused_since_a_lease_has_ended_knows_that_it_has);

constexpr bool a_lease_that_has_ended_is_watched_again_where_its_record_was_made_anew() {
  host ada_{ada};
  auto record = held_by(bob, 5);
  record.phase = lease_phase::ended;
  ada_.sees(record);
  check(is_nothing(ada_.sees(held_by(bob, 4))) && ada_.is(lease_state::ended));  // from before
  record.stamp.number = 6;
  check(ada_.sees(record).adopts && ada_.is(lease_state::ended));
  record = {.owner = bob, .epoch = 9, .stamp = {bob, 1}, .held_for = 60s};
  check(ada_.sees(record).adopts && ada_.is(lease_state::watching));
  ada_.now += 60s;
  check(ada_.tell(wanted).writes);
  return true;
}
CHECK_BOTH(a_lease_that_has_ended_is_watched_again_where_its_record_was_made_anew);

constexpr bool a_handler_that_closes_while_a_write_is_in_flight_waits_for_its_answer() {
  for (auto const why : {given, stop, gone}) {
    auto ada_ = holder(ada);
    ada_.tell({.kind = why, .other = bob});
    ada_.acknowledges(121);
    ada_.closes(125);
    check(!ada_.effects.writes && ada_.is(lease_state::drained));
    check(ada_.machine.holds(ada_.now) && !ada_.machine.handles(ada_.now));
    ada_.succeeds();
    check(ada_.effects.writes && ada_.effects.facts.sequence == 125);
    check(ada_.is(why == gone ? lease_state::ending : lease_state::releasing));
    ada_.succeeds();
    check(ada_.is(why == gone ? lease_state::ended : lease_state::watching));
  }
  return true;
}
CHECK_BOTH(a_handler_that_closes_while_a_write_is_in_flight_waits_for_its_answer);

constexpr bool a_last_write_that_is_refused_is_built_anew_while_the_lease_is_held() {
  for (auto const why : {given, stop, gone}) {
    for (bool const is_in_flight : {false, true}) {
      auto ada_ = holder(ada);
      ada_.tell({.kind = why, .other = bob});
      if (is_in_flight) ada_.acknowledges(121);
      ada_.closes(125);
      auto record = ada_.situation().base;
      record.sequence = 200;
      ada_.is_told(refused, record);
      check(ada_.effects.writes && ada_.effects.facts.sequence == 200);
      check(ada_.is(why == gone ? lease_state::ending : lease_state::releasing));
      record.owner = bob;
      record.epoch = 8;
      record.stamp = {bob, 1};
      check(!ada_.is_told(refused, record).writes && ada_.is(lease_state::watching));
    }
  }
  return true;
}
CHECK_BOTH(a_last_write_that_is_refused_is_built_anew_while_the_lease_is_held);

constexpr bool a_last_write_that_is_not_answered_is_waited_for_until_the_deadline() {
  auto ada_ = holder(ada);
  ada_.tell(stop);
  ada_.closes(125);
  check(ada_.is_told(unanswered).reads_back && ada_.is(lease_state::releasing));
  ada_.now = ada_.situation().deadline;
  check(is_nothing(ada_.tell(lease_event_kind::deadline)) && ada_.is(lease_state::watching));
  check(ada_.situation().write == lease_write::none);
  return true;
}
CHECK_BOTH(a_last_write_that_is_not_answered_is_waited_for_until_the_deadline);

constexpr bool a_handler_that_closes_behind_the_deadline_writes_nothing() {
  auto ada_ = holder(ada);
  ada_.tell(stop);
  ada_.now = ada_.situation().deadline;
  check(is_nothing(ada_.closes(125)) && ada_.is(lease_state::watching));
  return true;
}
CHECK_BOTH(a_handler_that_closes_behind_the_deadline_writes_nothing);

constexpr bool a_lease_whose_handler_takes_too_long_is_left_to_run_out() {
  auto ada_ = holder(ada);
  ada_.tell({.kind = given, .other = bob});
  auto const deadline = ada_.situation().deadline;
  check(is_nothing(ada_.tell(drain_overdue)) && ada_.is(lease_state::draining));
  ada_.now += 20s;
  check(is_nothing(ada_.tell(beat_due)));
  ada_.now = deadline;
  check(ada_.tell(lease_event_kind::deadline).cancels && ada_.is(lease_state::lost));

  // One that its session holds says so, so that the session's beats hold it no longer.
  auto bob_ = holder(bob, liveness::per_session);
  auto const until = bob_.situation().deadline;
  bob_.tell({.kind = given, .other = ada});
  bob_.tell(drain_overdue);
  check(bob_.effects.writes && bob_.effects.facts.is_detached);
  bob_.succeeds();
  bob_.now += 20s;
  bob_.terms.session_until = bob_.now + 60s;
  check(is_nothing(bob_.tell(session_beaten)) && bob_.situation().deadline == until);
  // It is closed in time after all, and handed over.
  bob_.closes(121);
  check(bob_.effects.writes && !bob_.effects.facts.is_detached);
  check(bob_.effects.facts.owner == ada);
  return true;
}
CHECK_BOTH(a_lease_whose_handler_takes_too_long_is_left_to_run_out);

constexpr bool a_detachment_that_finds_a_write_in_flight_is_written_behind_it() {
  auto ada_ = holder(ada, liveness::per_session);
  ada_.tell({.kind = given, .other = bob});
  ada_.acknowledges(121);
  check(is_nothing(ada_.tell(drain_overdue)));
  ada_.succeeds();
  check(ada_.effects.writes && ada_.effects.facts.is_detached);
  ada_.succeeds();
  check(!ada_.effects.writes);
  return true;
}
CHECK_BOTH(a_detachment_that_finds_a_write_in_flight_is_written_behind_it);

constexpr bool a_lease_that_comes_back_to_a_host_that_stops_is_left_only_while_it_is_held() {
  for (auto const answered : {59s, 60s}) {
    auto ada_ = holder(ada);
    ada_.tell({.kind = given, .other = ada});  // the plan has thought better of it
    ada_.closes(121);
    check(ada_.sent.owner == ada && ada_.sent.epoch == 8);
    ada_.terms.is_stopping = true;
    ada_.now += answered;
    ada_.succeeds();
    check(ada_.effects.writes == (answered < 60s));
    check(!ada_.effects.writes || ada_.effects.facts.owner == no_session);
    check(ada_.is(answered < 60s ? lease_state::releasing : lease_state::watching));
  }
  return true;
}
CHECK_BOTH(a_lease_that_comes_back_to_a_host_that_stops_is_left_only_while_it_is_held);

// ---- records that are gone

constexpr bool a_record_that_is_gone_is_made_anew_so_that_nobody_takes_it_at_once() {
  auto ada_ = holder(ada);
  ada_.acknowledges(121);
  check(ada_.is_told(vanished).cancels && ada_.is(lease_state::lost));
  ada_.closes(125);
  check(ada_.effects.restores && ada_.effects.forgets && !ada_.effects.writes);
  check(ada_.is(lease_state::unknown));
  auto const record = ada_.effects.facts;
  check(record.owner == keyspan::departed_session && record.is_detached);
  check(record.epoch == 7 + (std::uint64_t{1} << 32) && record.sequence == 121);
  check(record.stamp == lease_stamp{ada, 3});

  for (auto const how : {liveness::per_lease, liveness::per_session}) {
    host bob_{bob, how};
    bob_.sees(record);
    bob_.now += 60s - 1ns;
    check(is_nothing(bob_.tell(wanted)));
    bob_.now += 1ns;
    check(bob_.tell(wanted).writes);
  }
  return true;
}
CHECK_BOTH(a_record_that_is_gone_is_made_anew_so_that_nobody_takes_it_at_once);

constexpr bool a_record_is_made_anew_by_its_owner_whatever_shows_that_it_is_gone() {
  enum class way { list, late_list, write_lost, list_drained, write_drained, last_write };
  for (auto const how : {way::list, way::late_list, way::write_lost, way::list_drained,
                         way::write_drained, way::last_write}) {
    for (auto const why : {stop, gone}) {
      auto ada_ = holder(ada);
      ada_.acknowledges(121);
      if (how == way::list) {
        check(ada_.tell(missing).cancels);
      } else if (how == way::late_list || how == way::write_lost) {
        ada_.tell(session_lost);
        how == way::late_list ? ada_.tell(missing) : ada_.is_told(vanished);
        check(is_nothing(ada_.effects) && ada_.is(lease_state::lost));
      } else {
        ada_.tell(why);
        if (how == way::last_write) ada_.succeeds();
        ada_.closes(125);
        how == way::list_drained ? ada_.tell(missing) : ada_.is_told(vanished);
      }
      if (ada_.is(lease_state::lost)) ada_.closes(125);
      check(ada_.effects.restores && ada_.effects.forgets && ada_.is(lease_state::unknown));
      check(ada_.effects.facts.epoch == 7 + (std::uint64_t{1} << 32));
      check(ada_.effects.facts.sequence == (how < way::list_drained ? 121U : 125U));
      check(ada_.situation().numbers == ada_.effects.facts.stamp.number);
    }
  }
  return true;
}
CHECK_BOTH(a_record_is_made_anew_by_its_owner_whatever_shows_that_it_is_gone);

constexpr bool who_did_not_own_a_lease_whose_record_is_gone_forgets_it() {
  host bob_{bob};
  bob_.sees(held_by(ada));
  check(bob_.tell(missing).forgets && !bob_.effects.restores && bob_.is(lease_state::unknown));
  bob_.sees(free_lease());
  bob_.tell(wanted);
  check(bob_.is_told(vanished).forgets && !bob_.effects.restores);
  check(bob_.is(lease_state::unknown) && bob_.situation().base == lease_facts{});
  // Its writes are numbered on all the same.
  bob_.sees(free_lease());
  check(bob_.tell(wanted).facts.stamp == lease_stamp{bob, 2});

  // Nor does who has lost it to somebody else before.
  auto ada_ = holder(ada);
  ada_.sees({.owner = bob, .epoch = 8, .stamp = {bob, 1}});
  ada_.tell(missing);
  check(!ada_.closes(120).restores && ada_.is(lease_state::watching));
  return true;
}
CHECK_BOTH(who_did_not_own_a_lease_whose_record_is_gone_forgets_it);

constexpr bool a_machine_goes_on_numbering_where_another_of_its_session_has_ended() {
  host ada_{ada};
  ada_.machine = lease_machine{41};
  ada_.sees(free_lease());
  check(ada_.tell(wanted).facts.stamp == lease_stamp{ada, 42});
  auto const again = lease_machine{ada_.situation()};
  check(again == ada_.machine && again != lease_machine{} && again != lease_machine{42});
  return true;
}
CHECK_BOTH(a_machine_goes_on_numbering_where_another_of_its_session_has_ended);

// ---- anything in any order

// What may be told to a machine: of the record it goes by, of what it wrote, or of anything.
class teller {
 public:
  explicit teller(std::uint64_t seed) : rng_{seed} {
    terms.session = ada;
    terms.hold = instant::duration{20};
    terms.rate_bound_ppm = 100'000;
    terms.liveness = rng_.chance(50) ? liveness::per_session : liveness::per_lease;
  }

  lease_event next(lease_situation const& at) {
    now_ += instant::duration{rng_.chance(90) ? rng_.between(0, 4) : rng_.between(0, 60)};
    if (rng_.chance(20)) terms.session_until = now_ + instant::duration{rng_.between(-3, 20)};
    if (rng_.chance(3)) terms.is_stopping = !terms.is_stopping;
    terms.place = rng_.below(3);
    lease_event event;
    event.kind = rng_.chance(40) ? usual(at.state)
                                 : static_cast<lease_event_kind>(rng_.below(keyspan::lease_events));
    event.now = now_;
    event.record = some_record(at);
    event.number = rng_.chance(80) ? at.numbers : rng_.below(at.numbers + 2);
    event.other = rng_.chance(50) ? at.base.owner : some_session();
    event.sequence = rng_.below(at.acknowledged + 3);
    return event;
  }
  void asked(lease_effects const& effects) {
    if (effects.writes) written_ = effects.facts;
  }

  lease_terms terms{};

 private:
  // What leads on, so that walks come far.
  lease_event_kind usual(lease_state state) {
    switch (state) {
      case lease_state::unknown:
        return listed;
      case lease_state::watching:
        return wanted;
      case lease_state::acquiring:
        return written;
      case lease_state::active:
        return rng_.pick(std::array{acknowledged, beat_due, given, stop, gone, gone});
      case lease_state::draining:
        return rng_.pick(std::array{acknowledged, closed});
      case lease_state::drained:
        return rng_.pick(std::array{written, beat_due, stop});
      case lease_state::lost:
        return closed;
      case lease_state::ended:
        return missing;
      case lease_state::releasing:
      case lease_state::ending:
        break;
    }
    return rng_.pick(std::array{unanswered, session_beaten});
  }
  session_id some_session() {
    return rng_.pick(std::array{no_session, ada, ada, bob, session_id{0xC}});
  }
  lease_facts some_record(lease_situation const& at) {
    if (rng_.chance(35)) return written_;
    lease_facts made = at.base;
    if (rng_.chance(30)) return made;
    if (rng_.chance(30)) ++made.sequence;
    if (rng_.chance(30)) made.epoch += rng_.below(3);
    if (rng_.chance(15)) made.epoch -= (std::min)(made.epoch, std::uint64_t{1});
    if (rng_.chance(30)) made.owner = some_session();
    if (rng_.chance(30)) made.stamp = {some_session(), rng_.below(at.numbers + 2)};
    if (rng_.chance(5)) made.phase = lease_phase::ended;
    made.is_detached = rng_.chance(20);
    made.held_for = instant::duration{rng_.between(0, 30)};
    return made;
  }

  test::random rng_;
  instant now_{1h};
  lease_facts written_{};
};

bool are_alike(lease_effects const& one, lease_effects const& other) {
  return one.adopts == other.adopts && one.writes == other.writes &&
         one.reads_back == other.reads_back && one.arms == other.arms && one.opens == other.opens &&
         one.stops_reading == other.stops_reading && one.cancels == other.cancels &&
         one.restores == other.restores && one.forgets == other.forgets && one.facts == other.facts;
}
bool is_open(lease_state state) {
  return state == lease_state::active || state == lease_state::draining ||
         state == lease_state::lost;
}
bool is_answer(lease_event_kind kind) {
  return kind == written || kind == refused || kind == vanished || kind == unanswered;
}

// What holds of each step, whatever was told.
void look_at_write(lease_situation const& before, lease_event const& event,
                   lease_terms const& terms, lease_effects const& effects,
                   lease_machine const& machine) {
  auto const& at = machine.situation();
  auto const& facts = effects.facts;
  // It is one write, numbered anew, from the record that the machine goes by.
  REQUIRE((before.write == lease_write::none || is_answer(event.kind) || event.kind == listed));
  REQUIRE(at.write != lease_write::none);
  REQUIRE(at.sent == event.now);
  REQUIRE(at.numbers == before.numbers + 1);
  REQUIRE(facts.stamp == lease_stamp{terms.session, at.numbers});
  REQUIRE(facts.held_for == terms.hold);
  REQUIRE(facts.sequence >= at.base.sequence);
  REQUIRE(!effects.restores);
  bool const is_in_next_epoch =
      at.write == lease_write::acquire ||
      (at.write == lease_write::leave && at.reason == drain_reason::handover);
  REQUIRE(facts.epoch == at.base.epoch + (is_in_next_epoch ? 1 : 0));
  REQUIRE((facts.phase == lease_phase::ended) ==
          (at.write == lease_write::end || at.base.phase == lease_phase::ended));
  REQUIRE((facts.place == 0 || (at.write == lease_write::leave && facts.place == terms.place)));

  // Nobody writes without holding but to become the owner, or to pass on what has reached him.
  switch (at.write) {
    case lease_write::none:
      break;
    case lease_write::acquire:
      REQUIRE((before.state == lease_state::watching && event.kind == wanted));
      REQUIRE((at.state == lease_state::acquiring && facts.owner == terms.session));
      REQUIRE((!terms.is_stopping && before.base.phase == lease_phase::open));
      break;
    case lease_write::keep:
      if (event.kind == listed) {
        REQUIRE(at.state == lease_state::acquiring);
      } else {
        REQUIRE((at.state == lease_state::active || at.state == lease_state::draining));
        REQUIRE(machine.holds(event.now));
      }
      REQUIRE(facts.owner == at.base.owner);
      break;
    case lease_write::leave:
      REQUIRE(at.state == lease_state::releasing);
      REQUIRE((event.kind == listed || machine.holds(event.now)));
      REQUIRE(facts.owner == (at.reason == drain_reason::handover ? at.heir : no_session));
      break;
    case lease_write::end:
      REQUIRE((at.state == lease_state::ending && machine.holds(event.now)));
      REQUIRE(facts.owner == no_session);
      break;
  }
  REQUIRE((event.kind != listed || at.base.owner == terms.session));
  REQUIRE(facts.is_detached == (at.write == lease_write::keep && at.is_stalled &&
                                terms.liveness == liveness::per_session));
}

void look_at_step(lease_situation const& before, lease_event const& event, lease_terms const& terms,
                  lease_effects const& effects, lease_machine const& machine) {
  auto const& at = machine.situation();
  if (effects.writes) look_at_write(before, event, terms, effects, machine);
  if (is_answer(event.kind) &&
      (before.write == lease_write::none || event.number != before.numbers)) {
    REQUIRE(is_nothing(effects));
    REQUIRE(at == before);
  }
  // Handlers: one at a time, opened by a write of one's own, and told that it is over.
  REQUIRE(effects.opens == (!is_open(before.state) && is_open(at.state)));
  if (effects.opens) {
    REQUIRE((event.kind == written && at.state == lease_state::active && !terms.is_stopping));
    REQUIRE((machine.handles(event.now) && effects.arms));
    REQUIRE((at.reason == drain_reason::none && !at.heir && !at.is_stalled));
    REQUIRE(at.acknowledged == at.base.sequence);
  }
  if (is_open(before.state) && !is_open(at.state)) REQUIRE(event.kind == closed);
  REQUIRE(effects.stops_reading ==
          (before.state == lease_state::active && at.state == lease_state::draining));
  REQUIRE(effects.cancels == (before.state != lease_state::lost && at.state == lease_state::lost));
  // What is known of the record: the newest that was shown, but where a write is to tell more.
  if (event.kind == listed) {
    bool const looks =
        before.state <= lease_state::watching ||
        (before.state >= lease_state::active && before.state <= lease_state::drained) ||
        before.state == lease_state::ended;
    bool const ends =
        before.state <= lease_state::watching && event.record.phase == lease_phase::ended;
    bool const is_older_one = before.state != lease_state::unknown && !ends &&
                              keyspan::is_older(event.record, before.base);
    if (!is_older_one) REQUIRE(effects.adopts == looks);
  }
  bool const is_counted =
      is_answer(event.kind) && before.write != lease_write::none && event.number == before.numbers;
  if (is_counted && (event.kind == written || event.kind == refused)) REQUIRE(effects.adopts);
  // What is answered is in flight no more; another write may be.
  if (is_counted && event.kind != unanswered)
    REQUIRE((at.write == lease_write::none || at.numbers > before.numbers));
  if (effects.adopts) REQUIRE(at.base == event.record);
  if (effects.forgets) REQUIRE((at.base == lease_facts{} && at.state == lease_state::unknown));
  if (!effects.adopts && !effects.forgets) REQUIRE(at.base == before.base);
  if (effects.restores) {
    REQUIRE((effects.forgets && at.numbers == before.numbers + 1));
    REQUIRE(effects.facts.epoch == before.base.epoch + (std::uint64_t{1} << 32));
  } else if (!effects.writes) {
    REQUIRE(at.numbers == before.numbers);
    REQUIRE(effects.facts == lease_facts{});
  }
  // What is in flight.
  bool const must_write = at.state == lease_state::acquiring || at.state == lease_state::drained ||
                          at.state == lease_state::releasing || at.state == lease_state::ending;
  if (must_write) REQUIRE(at.write != lease_write::none);
  if (at.state == lease_state::unknown || at.state == lease_state::watching ||
      at.state == lease_state::ended)
    REQUIRE(at.write == lease_write::none);
  if (at.state == lease_state::releasing)
    REQUIRE((at.reason == drain_reason::stop || at.reason == drain_reason::handover));
  if (effects.reads_back) REQUIRE((event.kind == unanswered && at.write != lease_write::none));
  if (is_counted && event.kind == unanswered)
    REQUIRE((effects.reads_back != (at.write == lease_write::none)));
  // Who watches begins anew.
  if (at.state == lease_state::watching && before.state != lease_state::watching) {
    lease_situation anew;
    anew.state = lease_state::watching;
    anew.base = at.base;
    anew.since = event.now;
    anew.numbers = at.numbers;
    REQUIRE(at == anew);
  }
  // Until when it is held: for longer only by a write of it, or by the session.
  if (at.deadline > before.deadline) {
    REQUIRE((event.kind == written || event.kind == session_beaten));
    if (terms.liveness == liveness::per_session)
      REQUIRE(at.deadline == terms.session_until);
    else
      REQUIRE(at.deadline == before.sent + terms.hold);
  }
  if (event.kind == session_beaten) REQUIRE(at.deadline >= before.deadline);
  if (event.kind == drain_overdue && before.state == lease_state::draining &&
      at.state == lease_state::draining)
    REQUIRE(at.is_stalled);
  if (before.is_stalled && terms.liveness == liveness::per_session)
    REQUIRE(at.deadline <= before.deadline);
  if (machine.handles(event.now)) REQUIRE(machine.holds(event.now));
}

TEST_CASE("whatever a lease is told in whatever state, it writes only as it may, and opens once") {
  std::array<std::array<int, keyspan::lease_events>, keyspan::lease_states> told{};
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    teller tells{seed};
    lease_machine machine;
    CAPTURE(seed);
    for (int step = 0; step < 300; ++step) {
      auto const before = machine.situation();
      auto const event = tells.next(before);
      ++told[static_cast<std::size_t>(before.state)][static_cast<std::size_t>(event.kind)];
      CAPTURE(step, name_of(before.state), name_of(event.kind));
      auto const effects = machine.step(event, tells.terms);
      look_at_step(before, event, tells.terms, effects, machine);
      tells.asked(effects);
    }
  }
  for (auto const& of_state : told)
    for (int const times : of_state) CHECK(times >= 10);
}

TEST_CASE("a lease compares moments with each other, never with the time") {
  constexpr auto later = std::chrono::hours{24 * 365};
  auto const shifted = [&](instant at) { return at == instant{} ? at : at + later; };
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    teller tells{seed};
    lease_machine machine;
    lease_machine other;
    for (int step = 0; step < 300; ++step) {
      auto event = tells.next(machine.situation());
      auto terms = tells.terms;
      auto const effects = machine.step(event, terms);
      event.now += later;
      terms.session_until = shifted(terms.session_until);
      REQUIRE(are_alike(other.step(event, terms), effects));
      auto at = machine.situation();
      at.since = shifted(at.since);
      at.deadline = shifted(at.deadline);
      at.sent = shifted(at.sent);
      REQUIRE(other.situation() == at);
      tells.asked(effects);
    }
  }
}

// ---- names

TEST_CASE("everything that a lease is drained for, and every write of it, has its own name") {
  CHECK(test::are_named<drain_reason>(4));
  CHECK(test::are_named<lease_write>(5));
  CHECK(test::promise_broken_by([] { return name_of(drain_reason{4}); }) ==
        "a drain_reason is one of the enumerators");
  CHECK(test::promise_broken_by([] { return name_of(lease_write{5}); }) ==
        "a lease_write is one of the enumerators");
}

constexpr bool the_example_of_lease_machine_reads_as_it_should() {
  // [region: example]
  using kind = keyspan::lease_event_kind;
  keyspan::lease_terms const terms{
      .session = keyspan::session_id{0xA}, .hold = 60s, .liveness = keyspan::liveness::per_lease};
  keyspan::instant const start{1h};
  keyspan::lease_machine machine;

  // A list shows that nobody owns it, and the plan gives it to this host: so it writes.
  machine.step({.kind = kind::listed, .now = start, .record = {.epoch = 6}}, terms);
  auto const taking = machine.step({.kind = kind::wanted, .now = start}, terms);
  check(taking.writes && taking.facts.owner == terms.session && taking.facts.epoch == 7);

  // Two seconds later the store has done it.
  auto const taken = machine.step({.kind = kind::written,
                                   .now = start + 2s,
                                   .record = taking.facts,
                                   .number = taking.facts.stamp.number},
                                  terms);
  check(taken.opens && machine.handles(start + 59s) && !machine.handles(start + 60s));

  // No later write succeeds: it stops by itself, before anybody may take the lease.
  auto const over = machine.step({.kind = kind::deadline, .now = start + 60s}, terms);
  check(over.cancels && machine.state() == keyspan::lease_state::lost);
  // [end: example]
  return true;
}
static_assert(the_example_of_lease_machine_reads_as_it_should());
TEST_CASE("the example of lease_machine reads as it should") {
  check(the_example_of_lease_machine_reads_as_it_should());
}

}  // namespace
