// test/lease/model/lease_model_test.cpp — the machine of a lease, searched to the end, and with one
// of its rules broken at a time.
#include "lease_model.hpp"

#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_table.hpp>
#include <keyspan/lease/lease_terms.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using keyspan::liveness;
using model::options;

template <class Machine = keyspan::lease_machine>
model::outcome found(std::string_view name, options const& with) {
  auto const out = model::search<Machine>{with}.run();
  std::cout << name << ": " << out.states << " states" << (out.is_complete ? "" : ", cut off");
  if (!out.violation.empty()) std::cout << "; " << out.violation;
  std::cout << '\n';
  for (auto const& step : out.way) std::cout << "    " << step << '\n';
  return out;
}

// Sanitizers watch a part: they take ten times as long, and the states are the same.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_watched = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(undefined_behavior_sanitizer)
constexpr bool is_watched = true;
#else
constexpr bool is_watched = false;
#endif
#else
constexpr bool is_watched = false;
#endif

void holds(std::string_view name, options with, bool is_to_the_end) {
  if (is_watched) with.most_states = std::min<std::size_t>(with.most_states, 100'000);
  auto const out = found(name, with);
  CHECK(out.violation.empty());
  if (is_to_the_end && !is_watched) CHECK(out.is_complete);
}
void part_holds(std::string_view name, options with) {
  with.most_states = 3'000'000;
  holds(name, with, false);
}

// Clocks at the two ends of what the machines reckon with, a fifth apart.
options drifting(options with) {
  with.rates = {5, 7};
  with.rate_bound_ppm = 166'667;
  return with;
}

TEST_CASE("two hosts never handle one lease, in any order of reads, writes, answers and time") {
  holds("a lease that shows itself that it is held", {}, true);
}

TEST_CASE("nor do they where one clock is as slow and the other as fast as they may be") {
  holds("clocks that drift", drifting({.late_writes = false}), true);
}

TEST_CASE("nor do they where the lease is handed to and fro, and handlers are slow") {
  holds("handed to and fro", {.late_writes = false, .handovers = true}, true);
}

TEST_CASE("nor do they where sessions show that the hosts live") {
  holds("sessions", {.liveness = liveness::per_session, .hold = 1, .late_writes = false}, true);
}

TEST_CASE("as far as was searched, they do not where all of it comes together") {
  part_holds("handed over, with late writes", {.hold = 2, .handovers = true});
  part_holds("hosts that stop", {.hold = 2, .handovers = true, .stops = true});
  part_holds("lists that are stale", {.hold = 2, .late_lists = true, .handovers = true});
  part_holds("a record that is removed by hand", {.hold = 2, .late_writes = false, .erased = true});
  part_holds("answers that come late, or twice", {.hold = 2, .old_answers = true});
  part_holds("two changes", {.items = 2, .hold = 2});
  part_holds("sessions that drift", drifting({.liveness = liveness::per_session, .hold = 2}));
  part_holds("sessions, handed over",
             {.liveness = liveness::per_session, .hold = 2, .handovers = true});
}

// ---- one rule broken at a time
// --------------------------------------------------------------------

using rules = keyspan::detail::lease_rules;
template <class Rules>
using machine = keyspan::detail::basic_lease_machine<Rules>;

template <class Machine = keyspan::lease_machine>
void is_caught(std::string_view name, std::string_view why, options with) {
  with.most_states = 3'000'000;
  auto const out = found<Machine>(name, with);
  CHECK(out.violation.starts_with(why));
}

struct holds_from_the_answer : rules {
  static constexpr keyspan::instant held_until(keyspan::instant, keyspan::instant answered,
                                               keyspan::instant::duration hold) {
    return answered + hold;
  }
};
struct waits_without_a_margin : rules {
  static constexpr keyspan::instant may_be_taken(keyspan::instant seen,
                                                 keyspan::lease_facts const& record,
                                                 keyspan::lease_terms const&) {
    return seen + record.held_for;
  }
};
struct takes_any_answer_for_its_own : rules {
  static constexpr bool answers(keyspan::lease_event const&, keyspan::lease_situation const&) {
    return true;
  }
};
struct keeps_the_epoch : rules {
  static constexpr std::uint64_t next_epoch(std::uint64_t epoch) { return epoch; }
};
struct writes_the_position_alone : rules {  // and not what stood in the record, if that is further
  static constexpr std::uint64_t position(keyspan::lease_situation const& at) {
    return at.acknowledged;
  }
};

// A table with one row changed.
template <auto Change>
struct with_table : rules {
  static constexpr auto table = [] {
    auto rows = keyspan::lease_table;
    Change(rows);
    return rows;
  }();
};
constexpr keyspan::lease_row& row_of(auto& rows, keyspan::lease_state state,
                                     keyspan::lease_event_kind event,
                                     keyspan::lease_condition when) {
  for (auto& row : rows)
    if (row.is_for(state) && row.event == event && row.when == when) return row;
  return rows[0];
}
using enum keyspan::lease_state;
using event = keyspan::lease_event_kind;
using when = keyspan::lease_condition;
using action = keyspan::lease_action;

constexpr auto release_before_close = [](auto& rows) {
  auto& row = row_of(rows, active, event::given, when::always);
  row.to = releasing;
  row.does = {action::hand_over, action::stop_reading, action::leave};
};
constexpr auto believe_a_refusal_of_what_it_holds = [](auto& rows) {
  auto& row = row_of(rows, active, event::refused, when::always);
  row.stays = true;
  row.does = {action::take, action::write_again};
};
constexpr auto take_what_is_not_free = [](auto& rows) {
  row_of(rows, watching, event::wanted, when::may_take).when = when::always;
};
constexpr auto go_on_behind_the_deadline = [](auto& rows) {
  auto& row = row_of(rows, active, event::beat_due, when::overdue);
  row.stays = true;
  row.does = {action::beat};
};
constexpr auto open_when_it_is_too_late = [](auto& rows) {
  auto& row = row_of(rows, acquiring, event::written, when::too_late);
  row = row_of(rows, acquiring, event::written, when::always);
};
constexpr auto open_what_was_handed_over_unconfirmed = [](auto& rows) {
  auto& row = row_of(rows, watching, event::listed, when::record_owned);
  row.to = active;
  row.does = {action::take, action::hold, action::arm, action::open};
};
constexpr auto be_held_by_the_session_all_the_same = [](auto& rows) {
  row_of(rows, draining, event::session_beaten, when::extended_by_session).when = when::by_session;
};
constexpr auto forget_to_watch_anew = [](auto& rows) {
  auto& row = row_of(rows, watching, event::listed, when::always);
  row.does = {action::take};
};

TEST_CASE("each rule of a lease is needed: the search notices when one is broken") {
  options const plain{.late_writes = false};
  options const handed{.hold = 2, .late_writes = false, .handovers = true};
  is_caught<machine<holds_from_the_answer>>("holds from the answer on", "I1", plain);
  is_caught<machine<waits_without_a_margin>>("waits without a margin", "I1", drifting(plain));
  is_caught<machine<takes_any_answer_for_its_own>>("takes any answer for its own", "I",
                                                   {.late_writes = false, .old_answers = true});
  is_caught<machine<keeps_the_epoch>>("keeps the epoch", "I2", plain);
  is_caught<machine<writes_the_position_alone>>("writes the position alone", "I4", plain);
  is_caught<machine<with_table<release_before_close>>>("lets go before it closes", "I8", handed);
  is_caught<machine<with_table<believe_a_refusal_of_what_it_holds>>>("goes on when it is refused",
                                                                     "I", plain);
  is_caught<machine<with_table<take_what_is_not_free>>>("takes what is not free", "I1", plain);
  is_caught<machine<with_table<go_on_behind_the_deadline>>>("beats behind the deadline", "I13",
                                                            plain);
  is_caught<machine<with_table<open_when_it_is_too_late>>>("opens when it is too late", "I", plain);
  is_caught<machine<with_table<open_what_was_handed_over_unconfirmed>>>(
      "opens what it was handed without a write of its own", "I", handed);
  is_caught<machine<with_table<forget_to_watch_anew>>>("waits from before the last write", "I",
                                                       plain);
  is_caught<machine<with_table<be_held_by_the_session_all_the_same>>>(
      "lets go of the session, and is held by it", "I1",
      {.liveness = liveness::per_session, .hold = 1, .late_writes = false, .handovers = true});
}

TEST_CASE("what drives a machine has rules, too: the search notices when one is broken") {
  options read{.late_writes = false};
  read.checkpoints_what_was_read = true;
  is_caught("writes the position of what was read", "I4", read);
  options late{.late_writes = false};
  late.delivers_late = true;
  is_caught("hands out behind the deadline", "I", late);
  options blind{.late_writes = false};
  blind.retries_blindly = true;
  is_caught("sends a refused write again", "I", blind);
  options unanswered{};
  unanswered.takes_unanswered_as_done = true;
  is_caught("takes silence for success", "I", unanswered);
}

}  // namespace
