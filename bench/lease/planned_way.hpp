// bench/lease/planned_way.hpp — how hosts of this library share leases out: who has what is decided
// by `planner`, and each lease of each host is a `lease_machine`, as in a processor.
//
//   a host looks: every 13 s at the list, or every 2 s at one small record, and at the list where
//   that has changed; then it plans, hands over what is to go, and takes what is free and to come
#pragma once

#include <bench/lease/fleet.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/plan.hpp>
#include <keyspan/lease/session_id.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace bench {

/// How a host of `planned_way` looks for news, and leaves.
struct planned_habits {
  double interval = 13;
  double settling = 3;       ///< what is waited after the last host has joined
  double patience = 13;      ///< that is waited at most while others join
  bool polls = false;        ///< a small record, and lists only what has changed
  double notice = 0;         ///< that a host gives before it hands over all it has and leaves
  bool keeps_place = false;  ///< of a host that leaves, for the next to join
};

class planned_way : public way {
 public:
  explicit planned_way(planned_habits const& habits) : habits_{habits} {
    interval = habits.interval;
  }

  void begins(fleet& of) override {
    members_.resize(of.hosts());
    leases_.resize(of.leases());
    records_.resize(of.leases());
    states_.resize(of.hosts());
    for (std::uint32_t h = 0; h < of.hosts(); ++h) {
      members_[h].session = keyspan::session_id{(std::uint64_t{h} + 1) * 0x9E37'79B9'7F4A'7C15};
      members_[h].takes = of.at(h).lives;
    }
    for (std::uint32_t lease = 0; lease < of.leases(); ++lease) {
      leases_[lease].id = (std::uint64_t{lease} + 1) * 0xD6E8'FEB8'6659'FD93;
      std::uint32_t const owner = of.owner(lease);
      if (owner == nobody) continue;
      leases_[lease].owner = owner;
      records_[lease].facts.owner = members_[owner].session;
    }
    // The fleet is at work already: each host confirms what it has.
    for (std::uint32_t h = 0; h < of.hosts(); ++h) {
      if (!of.at(h).lives) continue;
      for (std::uint32_t const lease : of.at(h).own) tell(of, h, lease, seen(of, lease));
      while (!states_[h].queue.empty()) {
        auto const one = states_[h].queue.front();
        states_[h].queue.pop_front();
        write(of, h, one);
      }
    }
  }

  void joins(fleet& of, std::uint32_t h) override {
    members_[h].takes = true;
    ++version_;
    if (std::uint32_t const from = kept_place(of); from != nobody) {
      // What is kept is as good as its own.
      states_[h].place = from;
      states_[from].heir = h;
      for (std::uint32_t const lease : states_[from].kept) leases_[lease].owner = h;
      wake(of, h, of.write_time());
      return;
    }
    joined_last_ = of.now();
    wake(of, h, habits_.settling);
  }

  void leaves(fleet& of, std::uint32_t h) override {
    members_[h].leaves = true;
    ++version_;
    of.retire(h);
    if (habits_.keeps_place) {
      members_[h].leaves = members_[h].takes = false;
      states_[h].kept_until = of.now() + 30;
      places_.push_back(h);
      states_[h].is_stopping = true;
      std::vector<std::uint32_t> const own = of.at(h).own;
      for (std::uint32_t const lease : own) let_go(of, h, lease, {.kind = event::stop});
      send(of, h);
    } else {
      states_[h].leaves_at = of.now() + habits_.notice;
      wake(of, h, habits_.notice);
    }
  }

  void crashes(fleet&, std::uint32_t h) override {
    members_[h].takes = false;  // what it has stays its own
    states_[h].is_dead = true;
  }

  void expires(fleet& of, std::uint32_t h) override {
    ++version_;
    for (std::uint32_t const lease : of.at(h).own) leases_[lease].owner = keyspan::free_lease;
    states_[h].is_fenced = true;
  }

  void wakes(fleet& of, std::uint32_t h) override {
    host_state& mine = states_[h];
    mine.is_to_wake = false;
    if (mine.is_dead || is_gone(of, h)) return;
    beat(of, h);
    double const settled_at = joined_last_ + habits_.settling;
    if (of.now() < settled_at && mine.waited < habits_.patience && !members_[h].leaves &&
        mine.place == nobody) {
      mine.waited += settled_at - of.now();
      wake(of, h, settled_at - of.now());
      return;
    }
    mine.waited = 0;
    if (!mine.expected.empty() && of.now() < mine.looks_at) {
      read_expected(of, h);
      return;
    }
    // Each fifteenth time all is looked at, whatever was told.
    if (habits_.polls && mine.version == version_ && !mine.expects && ++mine.polls % 15 != 0) {
      wake(of, h, habits_.interval);
      return;
    }
    of.in((habits_.polls ? 0.01 : 0) + of.list_time(), fleet_event::lists, h);
  }

  // Where a host decides and acts: by the list as it is, and the plan that follows from it.
  void lists(fleet& of, std::uint32_t h) override {
    host_state& mine = states_[h];
    if (mine.is_dead) return;
    mine.version = version_;
    mine.looks_at = of.now() + habits_.interval;
    mine.expects = false;
    mine.expected.clear();
    for (std::uint32_t const lease : of.at(h).own) tell(of, h, lease, seen(of, lease));
    if (mine.place != nobody) take_place(of, h);
    if (of.now() < mine.leaves_at) {  // others are to see it first
      send(of, h);
      if (mine.in_flight == 0) wake(of, h, mine.leaves_at - of.now());
      return;
    }
    for (keyspan::plan_move const& move : planner_.plan(members_, leases_)) {
      if (move.from == h) {
        mine.expects = true;
        let_go(of, h, move.lease, {.kind = event::given, .other = members_[move.to].session});
      } else if (move.to == h && move.from == keyspan::free_lease) {
        take(of, h, move.lease);
      } else if (move.to == h) {
        mine.expects = true;
        mine.expected.push_back(move.lease);
      }
    }
    mine.is_lost = false;
    send(of, h);
    if (mine.in_flight == 0) rest(of, h);
  }

  void answered(fleet& of, std::uint32_t h, std::uint32_t place) override {
    host_state& mine = states_[h];
    order const one = mine.sent[place];
    mine.unused.push_back(place);
    --mine.in_flight;
    if (mine.is_dead) return;
    write(of, h, one);
    send(of, h);
    if (mine.in_flight > 0 || !mine.queue.empty()) return;
    if (!members_[h].leaves && mine.is_lost && mine.retries++ < 3) {
      mine.looks_at = of.now();
      wake(of, h, 0.2 + 0.5 * of.unit());
    } else {
      mine.retries = 0;
      rest(of, h);
    }
  }

  /// How long leases that were handed over had nobody at work, on average and at most.
  double mean_gap() const { return gaps_ > 0 ? gap_ / static_cast<double>(gaps_) : 0; }
  double longest_gap() const { return longest_gap_; }

 private:
  using event = keyspan::lease_event_kind;

  struct record {
    keyspan::lease_facts facts{};
    std::uint64_t version = 0;
    double closed_at = -1;  // when its owner stopped working to hand it over
  };
  struct held {
    keyspan::lease_machine machine{};
    std::uint64_t version = 0;  // of the record that it goes by
  };
  struct order {
    std::uint32_t lease = 0;
    std::uint64_t version = 0;
    keyspan::lease_facts facts{};
  };
  struct host_state {
    std::unordered_map<std::uint32_t, held> leases{};
    std::deque<order> queue{};
    std::vector<order> sent{};
    std::vector<std::uint32_t> unused{};
    std::vector<std::uint32_t> kept{};  // what is kept for its place
    std::uint32_t in_flight = 0;
    std::uint32_t place = nobody;  // whose it has taken
    std::uint32_t heir = nobody;   // who has taken its place
    std::uint64_t version = 0;
    std::uint64_t numbers = 0;
    double session_until = 60;
    double kept_until = -1;
    double waited = 0;
    double looks_at = 0;    // at all again
    double leaves_at = -1;  // hands over all it has
    std::uint32_t polls = 0;
    std::vector<std::uint32_t> expected{};  // what others are about to hand over to it
    int retries = 0;
    bool expects = false;
    bool is_lost = false;
    bool is_dead = false;
    bool is_fenced = false;
    bool is_stopping = false;
    bool is_to_wake = false;
  };

  static keyspan::instant at(double time) {
    return keyspan::instant{std::chrono::duration_cast<keyspan::instant::duration>(
        std::chrono::duration<double>{time})};
  }

  bool is_gone(fleet const& of, std::uint32_t h) const {
    return states_[h].is_fenced || (states_[h].is_stopping && of.count(h) == 0);
  }

  // Until the next look at all, or only at what is about to come.
  void rest(fleet& of, std::uint32_t h) {
    host_state& mine = states_[h];
    if (members_[h].leaves) {
      if (of.now() < mine.leaves_at) {
        wake(of, h, mine.leaves_at - of.now());
      } else if (of.count(h) > 0) {
        wake(of, h, 0.5);
      } else {
        // Its member record says that it is gone: what reaches it from here on is free.
        mine.is_fenced = true;
      }
    } else if (!mine.is_stopping) {
      double const left = (std::max)(0.0, mine.looks_at - of.now());
      wake(of, h, mine.expected.empty() ? left : (std::min)(left, 0.25));
    }
  }

  void read_expected(fleet& of, std::uint32_t h) {
    host_state& mine = states_[h];
    std::erase_if(mine.expected, [&](std::uint32_t lease) {
      if (of.owner(lease) != h) return false;
      tell(of, h, lease, seen(of, lease));
      return true;
    });
    send(of, h);
    if (mine.in_flight == 0) rest(of, h);
  }

  void wake(fleet& of, std::uint32_t h, double delay) {
    if (states_[h].is_to_wake) return;
    states_[h].is_to_wake = true;
    of.in(delay, fleet_event::wakes, h);
  }

  keyspan::lease_terms terms(std::uint32_t h) const {
    return {.session = members_[h].session,
            .session_until = at(states_[h].session_until),
            .is_stopping = states_[h].is_stopping,
            .place = states_[h].is_stopping && habits_.keeps_place ? std::uint64_t{h} + 1 : 0};
  }

  // One write of its member record, for all its leases.
  void beat(fleet& of, std::uint32_t h) {
    host_state& mine = states_[h];
    if (of.now() < mine.session_until - 50) return;
    mine.session_until = of.now() + 60;
    auto const how = terms(h);
    for (auto& [lease, one] : mine.leases)
      one.machine.step({.kind = event::session_beaten, .now = at(of.now())}, how);
  }

  keyspan::lease_event seen(fleet const& of, std::uint32_t lease) const {
    return {.kind = event::listed, .now = at(of.now()), .record = records_[lease].facts};
  }

  void take(fleet& of, std::uint32_t h, std::uint32_t lease) {
    tell(of, h, lease, seen(of, lease));
    std::uint32_t const owner = of.owner(lease);
    bool const is_fenced = owner != nobody && states_[owner].is_fenced;
    tell(of, h, lease,
         {.kind = event::wanted,
          .now = at(of.now()),
          .other = is_fenced ? members_[owner].session : keyspan::no_session});
  }

  void take_place(fleet& of, std::uint32_t h) {
    for (std::uint32_t const lease : states_[states_[h].place].kept)
      if (of.owner(lease) == nobody) take(of, h, lease);
    states_[h].place = nobody;
  }

  void let_go(fleet& of, std::uint32_t h, std::uint32_t lease, keyspan::lease_event what) {
    what.now = at(of.now());
    auto const found = states_[h].leases.find(lease);
    if (found == states_[h].leases.end() ||
        found->second.machine.state() != keyspan::lease_state::active)
      return;
    tell(of, h, lease, what);
    // The handler has nothing left to do.
    of.idles(lease);
    if (what.kind == event::given) records_[lease].closed_at = of.now();
    tell(of, h, lease, {.kind = event::closed, .now = at(of.now())});
  }

  // Tells a machine, and does what it says.
  void tell(fleet& of, std::uint32_t h, std::uint32_t lease, keyspan::lease_event const& what) {
    host_state& mine = states_[h];
    auto [found, is_new] = mine.leases.try_emplace(lease);
    held& one = found->second;
    if (is_new) one.machine = keyspan::lease_machine{mine.numbers};
    auto const effects = one.machine.step(what, terms(h));
    mine.numbers = (std::max)(mine.numbers, one.machine.situation().numbers);
    if (effects.adopts) one.version = records_[lease].version;
    if (effects.writes) mine.queue.push_back({lease, one.version, effects.facts});
    if (effects.opens) {
      of.works(lease);
      double& closed_at = records_[lease].closed_at;
      if (closed_at >= 0) {
        gap_ += of.now() - closed_at;
        longest_gap_ = (std::max)(longest_gap_, of.now() - closed_at);
        ++gaps_;
        closed_at = -1;
      }
    }
    keyspan::expects(!effects.cancels && !effects.reads_back && !effects.restores,
                     "nothing fails in this world");
    if (one.machine.state() == keyspan::lease_state::watching && what.kind != event::listed)
      mine.leases.erase(found);
  }

  // At most 25 writes of a host are in flight.
  void send(fleet& of, std::uint32_t h) {
    host_state& mine = states_[h];
    while (mine.in_flight < 25 && !mine.queue.empty()) {
      if (mine.unused.empty()) {
        mine.unused.push_back(static_cast<std::uint32_t>(mine.sent.size()));
        mine.sent.emplace_back();
      }
      std::uint32_t const place = mine.unused.back();
      mine.unused.pop_back();
      mine.sent[place] = mine.queue.front();
      mine.queue.pop_front();
      ++mine.in_flight;
      of.in(of.write_time(), fleet_event::answered, h, place);
    }
  }

  // What the store does, and what it answers.
  void write(fleet& of, std::uint32_t h, order const& one) {
    record& there = records_[one.lease];
    bool const is_lost = there.version != one.version;
    of.wrote(is_lost);
    if (is_lost) {
      states_[h].is_lost = true;
    } else {
      bool const is_own = there.facts.owner == members_[h].session;
      there.facts = one.facts;
      ++there.version;
      note_owner(of, h, one.lease, is_own);
    }
    tell(of, h, one.lease,
         {.kind = is_lost ? event::refused : event::written,
          .now = at(of.now()),
          .record = there.facts,
          .number = one.facts.stamp.number});
  }

  void note_owner(fleet& of, std::uint32_t h, std::uint32_t lease, bool was_own) {
    keyspan::lease_facts const& facts = records_[lease].facts;
    if (!facts.owner) {
      of.let_go(lease);
      states_[h].kept.push_back(lease);
      std::uint32_t const heir = states_[h].heir;
      leases_[lease].owner = heir == nobody ? keyspan::kept_lease : heir;
      return;
    }
    std::uint32_t const owner = host_of(facts.owner);
    leases_[lease].owner = states_[owner].is_fenced ? keyspan::free_lease : owner;
    leases_[lease].epoch = facts.epoch;
    of.take(lease, owner, was_own);
  }

  std::uint32_t host_of(keyspan::session_id session) {
    if (numbers_of_.empty())
      for (std::uint32_t h = 0; h < members_.size(); ++h)
        numbers_of_[members_[h].session.value] = h;
    return numbers_of_.at(session.value);
  }

  // The place of somebody who has left, if one is kept.
  std::uint32_t kept_place(fleet const& of) {
    while (!places_.empty() && states_[places_.front()].kept_until <= of.now()) places_.pop_front();
    if (places_.empty()) return nobody;
    std::uint32_t const found = places_.front();
    places_.pop_front();
    return found;
  }

  planned_habits habits_;
  keyspan::planner planner_{};
  std::vector<keyspan::planned_member> members_{};
  std::vector<keyspan::planned_lease> leases_{};
  std::vector<record> records_{};
  std::vector<host_state> states_{};
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_of_{};
  std::deque<std::uint32_t> places_{};
  std::uint64_t version_ = 1;  // of the small record: members come and go
  double joined_last_ = -1e9;
  double gap_ = 0;
  double longest_gap_ = 0;
  std::uint64_t gaps_ = 0;
};

}  // namespace bench
