// What does a step of a lease machine cost over an indirect call and a copy of what the machine
// knows? The first row is the floor.
#include <bench/support/bench.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_table.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/session_id.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace {

using keyspan::instant;
using keyspan::lease_effects;
using keyspan::lease_event;
using keyspan::lease_event_kind;
using keyspan::lease_machine;
using keyspan::lease_situation;
using keyspan::lease_terms;

void copy(lease_situation const& from, lease_situation& to) { to = from; }
lease_effects step(lease_machine& machine, lease_event const& event, lease_terms const& terms) {
  return machine.step(event, terms);
}

// Calls go through these, so that nothing is inlined or known about what is called.
auto* volatile call_copy = &copy;
auto* volatile call_step = &step;

constexpr std::size_t steps = 200;  // few enough to stay in the nearest cache

// A lease that is held, and the events that it is told, a period after one another. They are drawn
// up beforehand, so that nothing but the steps is measured.
struct script {
  lease_machine machine{};
  lease_terms terms{};
  std::vector<lease_event> events{};
};

lease_event event_of(lease_event_kind kind, std::size_t at) {
  lease_event event;
  event.kind = kind;
  event.now = instant{std::chrono::hours{1} + at * std::chrono::seconds{20}};
  event.sequence = at;
  return event;
}

// Tells it one event after the other, each followed by the answer to what it writes.
script script_of(lease_event_kind kind) {
  script made;
  made.terms.session = keyspan::session_id{7};
  made.terms.liveness = keyspan::liveness::per_lease;
  lease_machine machine;
  auto const tell = [&](lease_event const& event) {
    made.events.push_back(event);
    auto const effects = machine.step(event, made.terms);
    if (!effects.writes) return;
    auto answer = event_of(lease_event_kind::written, made.events.size());
    answer.record = effects.facts;
    answer.number = effects.facts.stamp.number;
    made.events.push_back(answer);
    machine.step(answer, made.terms);
  };
  tell(event_of(lease_event_kind::listed, 0));
  tell(event_of(lease_event_kind::wanted, 1));
  made.machine = machine;
  made.events.clear();
  while (made.events.size() < steps) tell(event_of(kind, made.events.size()));
  keyspan::expects(machine.state() == keyspan::lease_state::active, "the lease is held all along");
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  auto& table = run.table("1 step of a lease that is held", "step").batch(steps);
  table.count_allocations();

  constexpr char const* floor = "indirect call, and a copy of the situation";
  table.floor(floor, [from = script_of(lease_event_kind::wanted).machine.situation()] {
    lease_situation to;
    for (std::size_t i = 0; i < steps; ++i) {
      (*call_copy)(from, to);
      bench::keep(to);
    }
  });
  auto const ours = [&](char const* name, lease_event_kind kind) {
    table.row(name, [told = script_of(kind)] {
      auto machine = told.machine;
      for (auto const& event : told.events) bench::keep((*call_step)(machine, event, told.terms));
    });
  };
  ours("beat_due, written", lease_event_kind::beat_due);
  ours("acknowledged, written", lease_event_kind::acknowledged);
  ours("wanted, which changes nothing", lease_event_kind::wanted);

  run.target("lease.lease_machine.beat", table.ratio("beat_due, written", floor), "<=", 3);
  run.target("lease.lease_machine.acknowledged", table.ratio("acknowledged, written", floor),
             "<=", 3);
  run.target("lease.lease_machine.ignored", table.ratio("wanted, which changes nothing", floor),
             "<=", 3);
  run.target("lease.lease_machine.allocations", table.allocations_of("beat_due, written"), "==", 0);
  return run.finish();
}
