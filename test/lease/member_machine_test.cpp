// test/lease/member_machine_test.cpp — a host's own record, told as stories and in any order, and
// what another host makes of it.
#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/member_machine.hpp>
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
#include <vector>

namespace {

using keyspan::instant;
using keyspan::lease_terms;
using keyspan::member_effects;
using keyspan::member_event;
using keyspan::member_event_kind;
using keyspan::member_machine;
using keyspan::member_phase;
using keyspan::member_rule;
using keyspan::member_state;
using keyspan::member_watch;
using test::check;
using namespace std::chrono_literals;
using enum keyspan::member_event_kind;

TEST_CASE("the example of member_machine.hpp reads as it should") {
  // [region: example]
  using kind = keyspan::member_event_kind;
  keyspan::lease_terms const terms{.session = keyspan::session_id{0xA}, .hold = 60s};
  keyspan::instant const start{1h};
  keyspan::member_machine machine;

  auto const joining = machine.step({.kind = kind::start, .now = start}, terms);
  check(joining.creates && joining.beat == 1);

  // Five seconds later the store has done it. The session holds from when that was sent.
  auto const joined =
      machine.step({.kind = kind::written, .now = start + 5s, .beat = joining.beat}, terms);
  check(joined.is_beaten && machine.holds_until() == start + 60s);

  // Another host has seen that record, and sees no other one. It waits a little longer, by its own
  // clock, before it writes that the session is over.
  keyspan::member_watch watch;
  watch.see(keyspan::member_phase::live, 1, terms.hold, start + 7s);
  check(!watch.is_overdue(start + 67s, terms.rate_bound_ppm));
  check(watch.is_overdue(start + 68s, terms.rate_bound_ppm));

  // Then no write of the session succeeds, and it holds no more.
  auto const beat = machine.step({.kind = kind::beat_due, .now = start + 70s}, terms);
  check(beat.writes && beat.beat == 2);
  auto const over = machine.step({.kind = kind::refused,
                                  .now = start + 71s,
                                  .phase = keyspan::member_phase::fenced,
                                  .beat = beat.beat},
                                 terms);
  check(over.is_lost && machine.state() == keyspan::member_state::lost);
  // [end: example]
}

// ---- names, and the table

TEST_CASE("every state, event, rule and phase of a member has its name") {
  CHECK(test::are_named<member_state>(keyspan::member_states));
  CHECK(test::are_named<member_event_kind>(keyspan::member_events));
  CHECK(test::are_named<member_rule>(11));
  CHECK(test::are_named<member_phase>(4));
}

constexpr auto with_a_hole(std::size_t state, std::size_t event) {
  auto table = keyspan::member_table;
  table[state][event] = member_rule::undecided;
  return table;
}
constexpr bool a_table_with_a_hole_anywhere_is_refused() {
  check(keyspan::detail::decides_every_event(keyspan::member_table));
  for (std::size_t state = 0; state < keyspan::member_states; ++state)
    for (std::size_t event = 0; event < keyspan::member_events; ++event)
      check(!keyspan::detail::decides_every_event(with_a_hole(state, event)));
  return true;
}
CHECK_BOTH(a_table_with_a_hole_anywhere_is_refused);

// ---- stories

constexpr bool is_nothing(member_effects const& is) {
  return !is.creates && !is.writes && !is.removes && !is.reads_back && !is.is_beaten && !is.is_lost;
}

struct host {
  member_machine machine{};
  lease_terms terms{};
  instant now{1h};
  member_effects effects{};

  constexpr host() {
    terms.session = keyspan::session_id{0xA};
    terms.hold = 60s;
  }
  constexpr member_effects const& tell(member_event event) {
    event.now = now;
    effects = machine.step(event, terms);
    return effects;
  }
  constexpr member_effects const& tell(member_event_kind kind) { return tell({.kind = kind}); }
  // An answer to the write in flight.
  constexpr member_effects const& is_told(member_event_kind kind, member_phase phase = {}) {
    return tell({.kind = kind, .phase = phase, .beat = machine.beat()});
  }
  constexpr bool is(member_state state) const { return machine.state() == state; }
};

constexpr host living() {
  host made;
  made.tell(start);
  made.is_told(written);
  check(made.is(member_state::live));
  return made;
}

constexpr bool a_host_joins_by_a_write_and_holds_once_that_has_succeeded() {
  host ada;
  check(ada.is(member_state::absent) && ada.machine.holds_until() == instant{});
  check(is_nothing(ada.tell(beat_due)) && is_nothing(ada.tell(drain)));
  check(ada.tell(start).creates && !ada.effects.writes && ada.effects.beat == 1);
  check(ada.effects.phase == member_phase::live && ada.is(member_state::joining));
  check(ada.machine.is_writing() && ada.machine.holds_until() == instant{});
  check(is_nothing(ada.tell(start)) && is_nothing(ada.tell(beat_due)));

  auto const sent = ada.now;
  ada.now += 7s;
  check(ada.is_told(written).is_beaten && ada.is(member_state::live));
  check(!ada.effects.writes && !ada.machine.is_writing());
  check(ada.machine.holds_until() == sent + 60s);
  return true;
}
CHECK_BOTH(a_host_joins_by_a_write_and_holds_once_that_has_succeeded);

constexpr bool a_session_holds_from_the_sending_of_its_last_beat_on_one_write_at_a_time() {
  auto ada = living();
  for (std::uint64_t beat = 2; beat < 6; ++beat) {
    ada.now += 20s;
    auto const sent = ada.now;
    auto const before = ada.machine.holds_until();
    check(ada.tell(beat_due).writes && ada.effects.beat == beat);
    ada.now += 5s;
    check(is_nothing(ada.tell(beat_due)) && ada.machine.holds_until() == before);
    check(ada.is_told(written).is_beaten && ada.machine.holds_until() == sent + 60s);
  }
  // One that is answered after it has run out says that it has.
  auto const sent = ada.now;
  ada.tell(beat_due);
  ada.now += 24h;
  check(ada.is_told(written).is_beaten && ada.machine.holds_until() == sent + 60s);
  return true;
}
CHECK_BOTH(a_session_holds_from_the_sending_of_its_last_beat_on_one_write_at_a_time);

constexpr bool an_answer_to_another_beat_than_the_one_in_flight_is_nobodys() {
  auto ada = living();
  for (int i = 0; i < 2; ++i) {
    auto const before = ada.machine;
    for (auto const kind : {written, refused, vanished, unanswered}) {
      for (std::uint64_t const beat : {0U, 1U, 3U}) {
        member_event const late{.kind = kind, .phase = member_phase::fenced, .beat = beat};
        check(is_nothing(ada.tell(late)) && ada.machine == before);
      }
    }
    ada.now += 20s;
    ada.tell(beat_due);
  }
  return true;
}
CHECK_BOTH(an_answer_to_another_beat_than_the_one_in_flight_is_nobodys);

constexpr bool a_beat_without_an_answer_is_read_back() {
  auto ada = living();
  ada.now += 20s;
  auto const sent = ada.now;
  ada.tell(beat_due);
  check(ada.is_told(unanswered).reads_back && ada.machine.is_writing());
  check(is_nothing(ada.tell(beat_due)));
  // It was done: it counts from its sending.
  auto done = ada;
  done.now += 30s;
  check(done.is_told(written).is_beaten && done.machine.holds_until() == sent + 60s);
  // It was not, or not yet: another one is built on what is there.
  ada.now += 30s;
  check(ada.is_told(refused, member_phase::live).writes && ada.effects.beat == 3);
  check(ada.is(member_state::live) && !ada.effects.is_lost);
  auto const again = ada.now;
  ada.is_told(written);
  check(ada.machine.holds_until() == again + 60s);
  return true;
}
CHECK_BOTH(a_beat_without_an_answer_is_read_back);

constexpr bool a_record_that_was_there_before_is_gone_on_with() {
  host ada;
  ada.machine = member_machine{41};
  check(ada.tell(start).creates && ada.effects.beat == 42);
  check(ada.is_told(refused, member_phase::draining).writes && ada.effects.beat == 43);
  check(ada.effects.phase == member_phase::live && ada.is(member_state::joining));
  check(ada.is_told(written).is_beaten && ada.is(member_state::live));
  return true;
}
CHECK_BOTH(a_record_that_was_there_before_is_gone_on_with);

constexpr bool a_session_that_was_fenced_is_lost_and_never_holds_again() {
  for (auto const how : {refused, vanished}) {
    for (bool const is_joining : {false, true}) {
      auto ada = is_joining ? host{} : living();
      ada.tell(is_joining ? start : beat_due);
      ada.is_told(how, member_phase::fenced);
      check(ada.effects.is_lost && !ada.effects.writes && ada.is(member_state::lost));
      check(ada.machine.holds_until() == instant{} && !ada.machine.is_writing());
      for (auto const kind : {start, beat_due, drain, written, refused, vanished, unanswered})
        check(is_nothing(ada.is_told(kind)) && ada.is(member_state::lost));
      check(is_nothing(ada.tell(leave)) && ada.is(member_state::gone));
    }
  }
  return true;
}
CHECK_BOTH(a_session_that_was_fenced_is_lost_and_never_holds_again);

constexpr bool a_host_that_drains_says_so_as_soon_as_nothing_is_in_flight() {
  auto ada = living();
  check(ada.tell(drain).writes && ada.effects.phase == member_phase::draining);
  check(ada.is_told(written).is_beaten && !ada.effects.writes);
  ada.now += 20s;
  check(ada.tell(beat_due).writes && ada.effects.phase == member_phase::draining);

  // In the way of a write: behind it, or in its place.
  for (auto const answer : {written, refused}) {
    auto bob = living();
    bob.tell(beat_due);
    check(is_nothing(bob.tell(drain)));
    check(bob.is_told(answer).writes && bob.effects.phase == member_phase::draining);
    check(!bob.is_told(written).writes);
  }
  // While it joins.
  host eve;
  eve.tell(start);
  check(is_nothing(eve.tell(drain)));
  check(eve.is_told(written).writes && eve.effects.phase == member_phase::draining);
  return true;
}
CHECK_BOTH(a_host_that_drains_says_so_as_soon_as_nothing_is_in_flight);

constexpr bool a_host_that_leaves_removes_its_record_or_says_that_its_place_is_kept() {
  for (std::uint64_t const place : {0U, 5U}) {
    auto ada = living();
    ada.terms.place = place;
    ada.tell(leave);
    check(ada.effects.removes == (place == 0) && ada.effects.writes == (place != 0));
    check(place == 0 || ada.effects.phase == member_phase::away);
    check(ada.is(member_state::leaving));
    for (auto const kind : {start, beat_due, drain, leave}) check(is_nothing(ada.tell(kind)));

    // Not done, or not known to be: once more, of what is there.
    check(ada.is_told(unanswered).reads_back);
    ada.is_told(refused, member_phase::live);
    check(ada.effects.removes == (place == 0) && ada.effects.writes == (place != 0));
    check(ada.effects.beat == 3);
    for (auto const kind : {written, vanished}) {
      auto done = ada;
      check(is_nothing(done.is_told(kind)) && done.is(member_state::gone));
      check(done.machine.holds_until() == instant{});
      for (auto const late : {start, beat_due, drain, leave, written, refused})
        check(is_nothing(done.is_told(late)) && done.is(member_state::gone));
    }
    // Somebody has fenced it: it has nothing left to lose.
    check(is_nothing(ada.is_told(refused, member_phase::fenced)) && ada.is(member_state::gone));
  }
  return true;
}
CHECK_BOTH(a_host_that_leaves_removes_its_record_or_says_that_its_place_is_kept);

constexpr bool a_host_that_is_to_leave_during_a_write_leaves_behind_it() {
  for (bool const is_joining : {false, true}) {
    auto ada = is_joining ? host{} : living();
    ada.tell(is_joining ? start : beat_due);
    check(is_nothing(ada.tell(leave)) && !ada.is(member_state::leaving));
    auto other = ada;
    check(ada.is_told(written).removes && ada.is(member_state::leaving));
    check(other.is_told(refused).writes && other.is_told(written).removes);
    check(other.is(member_state::leaving));
  }
  host none;  // that has never been there
  check(is_nothing(none.tell(leave)) && none.is(member_state::gone));
  return true;
}
CHECK_BOTH(a_host_that_is_to_leave_during_a_write_leaves_behind_it);

// ---- any event in any state

TEST_CASE(
    "whatever a member is told in whatever state, one write of its own is in flight at most") {
  std::array<std::array<int, keyspan::member_events>, keyspan::member_states> told{};
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    test::random rng{seed};
    CAPTURE(seed);
    member_machine machine{rng.below(3)};
    lease_terms terms;
    terms.place = rng.below(2);
    instant now{1h};
    instant sent{};
    std::uint64_t last = machine.beat();
    for (int step = 0; step < 60; ++step) {
      now += instant::duration{rng.between(0, 3)} * 10'000'000'000;
      auto const before = machine;
      member_event event{.kind = static_cast<member_event_kind>(rng.below(keyspan::member_events)),
                         .now = now,
                         .phase = static_cast<member_phase>(rng.below(rng.chance(20) ? 4 : 3)),
                         .beat = rng.chance(80) ? machine.beat() : rng.below(last + 2)};
      if (rng.chance(40)) event.kind = rng.chance(60) ? written : beat_due;
      ++told[static_cast<std::size_t>(before.state())][static_cast<std::size_t>(event.kind)];
      CAPTURE(step, name_of(before.state()), name_of(event.kind));
      auto const effects = machine.step(event, terms);

      bool const is_answer = event.kind >= written;
      bool const is_counted = is_answer && before.is_writing() && event.beat == before.beat();
      if (is_answer && !is_counted) {
        REQUIRE(is_nothing(effects));
        REQUIRE(machine == before);
      }
      int const writes = effects.creates + effects.writes + effects.removes;
      REQUIRE(writes <= 1);
      if (writes == 1) {
        // One at a time, each with a number of its own.
        REQUIRE((!before.is_writing() || is_counted));
        REQUIRE(event.kind != unanswered);
        REQUIRE(effects.beat == last + 1);
        REQUIRE(effects.beat == machine.beat());
        REQUIRE(machine.is_writing());
        REQUIRE(effects.phase != member_phase::fenced);
        REQUIRE((effects.creates ? event.kind == start : before.state() != member_state::absent));
        REQUIRE((!effects.removes || machine.state() == member_state::leaving));
        bool const is_away = effects.phase == member_phase::away;
        REQUIRE(is_away == (machine.state() == member_state::leaving && terms.place != 0));
        last = effects.beat;
      }
      REQUIRE(machine.beat() == last);
      if (is_counted && event.kind != unanswered) REQUIRE(machine.is_writing() == (writes == 1));
      REQUIRE(effects.reads_back == (is_counted && event.kind == unanswered));
      // It holds by what was written, from its sending on, and in no other way.
      if (effects.is_beaten) {
        REQUIRE((is_counted && event.kind == written));
        REQUIRE(machine.holds_until() == sent + terms.hold);
      } else if (machine.holds_until() != before.holds_until()) {
        REQUIRE(machine.holds_until() == instant{});
      }
      bool const is_over =
          machine.state() == member_state::lost || machine.state() == member_state::gone;
      if (is_over) {
        REQUIRE(machine.holds_until() == instant{});
        REQUIRE(!machine.is_writing());
      }
      REQUIRE(effects.is_lost ==
              (machine.state() == member_state::lost && before.state() != member_state::lost));
      if (before.state() == member_state::lost) REQUIRE(is_over);
      if (before.state() == member_state::gone) REQUIRE(machine == before);
      if (machine.state() == member_state::joining || machine.state() == member_state::leaving)
        REQUIRE(machine.is_writing());
      if (writes == 1) sent = now;
    }
  }
  for (auto const& of_state : told)
    for (int const times : of_state) CHECK(times >= 10);
}

// ---- what another host makes of it

constexpr instant begin{1h};

constexpr bool a_session_is_overdue_when_its_record_has_not_changed_for_its_hold_and_a_margin() {
  for (std::uint32_t const rate : {0U, 1'000U, 200'000U}) {
    member_watch watch;
    watch.see(member_phase::live, 1, 60s, begin);
    auto const wait = keyspan::wait_before_taking(60s, rate);
    check(!watch.is_overdue(begin + wait - 1ns, rate) && watch.is_overdue(begin + wait, rate));
    // Every new beat begins it anew, by the hold that it says.
    watch.see(member_phase::live, 2, 30s, begin + 50s);
    auto const next = keyspan::wait_before_taking(30s, rate);
    check(!watch.is_overdue(begin + 50s + next - 1ns, rate));
    check(watch.is_overdue(begin + 50s + next, rate));
  }
  return true;
}
CHECK_BOTH(a_session_is_overdue_when_its_record_has_not_changed_for_its_hold_and_a_margin);

constexpr bool a_session_that_nobody_has_looked_for_is_not_overdue() {
  member_watch const watch;
  check(!watch.is_seen && !watch.is_overdue(begin, 0) && !watch.is_overdue(begin + 24h, 1'000));
  return true;
}
CHECK_BOTH(a_session_that_nobody_has_looked_for_is_not_overdue);

constexpr bool a_record_that_is_seen_again_or_was_there_before_changes_nothing() {
  member_watch watch;
  watch.see(member_phase::live, 5, 60s, begin);
  auto const seen = watch;
  watch.see(member_phase::live, 5, 60s, begin + 20s);
  check(watch == seen);
  watch.see(member_phase::live, 4, 60s, begin + 20s);
  watch.see(member_phase::fenced, 4, 60s, begin + 20s);
  check(watch == seen);
  // What says something else is news.
  watch.see(member_phase::fenced, 5, 60s, begin + 30s);
  check(watch.phase == member_phase::fenced && watch.since == begin + 30s);
  watch.see(member_phase::draining, 6, 10s, begin + 40s);
  check(watch.phase == member_phase::draining && watch.beat == 6 && watch.held_for == 10s &&
        watch.since == begin + 40s);
  return true;
}
CHECK_BOTH(a_record_that_is_seen_again_or_was_there_before_changes_nothing);

constexpr bool a_session_without_a_record_is_waited_for_as_well() {
  member_watch watch;
  watch.held_for = 60s;  // as one of its leases says
  watch.miss(begin);
  watch.miss(begin + 30s);
  check(watch.is_seen && watch.is_absent && watch.since == begin);
  check(!watch.is_overdue(begin + 60s - 1ns, 0) && watch.is_overdue(begin + 60s, 0));
  // It is there after all, with whatever beat.
  watch.see(member_phase::live, 1, 20s, begin + 70s);
  check(!watch.is_absent && watch.since == begin + 70s && !watch.is_overdue(begin + 89s, 0));
  watch.miss(begin + 80s);
  check(watch.is_absent && watch.since == begin + 80s && watch.held_for == 20s);
  watch.see(member_phase::live, 1, 20s, begin + 90s);
  check(!watch.is_absent && watch.since == begin + 90s);
  return true;
}
CHECK_BOTH(a_session_without_a_record_is_waited_for_as_well);

}  // namespace
