// bench/lease/other_ways.hpp — how others share leases out, written from what is published of their
// rules: every host looks at all leases, takes some, one write after another, and sleeps.
#pragma once

#include <bench/lease/fleet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bench {

/// A host that takes: from nobody, from the dead, and from the living, who are not asked.
class taking_way : public way {
 public:
  void joins(fleet& of, std::uint32_t h) override { of.in(0, fleet_event::wakes, h); }
  void leaves(fleet& of, std::uint32_t h) override {
    for (std::uint32_t const lease : of.at(h).own) of.idles(lease);
    of.retire(h);
    if (lets_go) expires(of, h);
  }
  void expires(fleet& of, std::uint32_t h) override {
    while (of.count(h) > 0) of.let_go(of.at(h).own.back());
  }
  void wakes(fleet& of, std::uint32_t h) override {
    if (of.at(h).lives) of.in(of.list_time(), fleet_event::lists, h);
  }
  void lists(fleet& of, std::uint32_t h) override {
    if (!of.at(h).lives) return;
    turns_.resize(of.hosts());
    turn& mine = turns_[h];
    mine.wanted.clear();
    mine.next = 0;
    mine.listed_at = of.now();
    decide(of, h, mine.wanted);
    go_on(of, h);
  }
  void answered(fleet& of, std::uint32_t h, std::uint32_t) override {
    if (!of.at(h).lives) return;
    turn& mine = turns_[h];
    wish const one = mine.wanted[mine.next++];
    bool const is_lost =
        of.owner(one.lease) != one.from || of.changed_at(one.lease) > mine.listed_at;
    of.wrote(is_lost);
    if (!is_lost) {
      of.take(one.lease, h, false);
      of.works(one.lease);
    }
    go_on(of, h);
  }

  bool lets_go = true;  ///< of its leases, when it leaves

 protected:
  struct wish {
    std::uint32_t lease;
    std::uint32_t from;
  };

  virtual void decide(fleet& of, std::uint32_t h, std::vector<wish>& wanted) = 0;

  // Hosts without leases are not to be seen.
  static std::uint32_t seen(fleet const& of, std::uint32_t h) {
    return of.owners() + (of.count(h) == 0 ? 1 : 0);
  }
  static std::uint32_t quotient_up(std::uint32_t a, std::uint32_t by) { return (a + by - 1) / by; }

  std::vector<std::uint32_t> drawn_{};

 private:
  struct turn {
    std::vector<wish> wanted{};
    std::size_t next = 0;
    double listed_at = 0;
  };

  void go_on(fleet& of, std::uint32_t h) {
    turn const& mine = turns_[h];
    if (mine.next < mine.wanted.size()) {
      of.in(of.write_time(), fleet_event::answered, h);
    } else {
      of.in(interval, fleet_event::wakes, h);
    }
  }

  std::vector<turn> turns_{};
};

/// The change feed processor of .NET: what is free first, in the order of the list; else one lease
/// of the owner who has most.
class equal_partitions : public taking_way {
 protected:
  void decide(fleet& of, std::uint32_t h, std::vector<wish>& wanted) override {
    std::uint32_t const workers = seen(of, h);
    std::uint32_t const target = of.leases() <= workers ? 1 : quotient_up(of.leases(), workers);
    std::uint32_t const mine = of.count(h);
    if (mine >= target) return;
    std::uint32_t const need = target - mine;
    if (!of.free().empty()) {
      for (std::uint32_t lease = 0; lease < of.leases() && wanted.size() < need; ++lease)
        if (of.owner(lease) == nobody) wanted.push_back({lease, nobody});
      return;
    }
    std::uint32_t donor = 0;
    for (std::uint32_t i = 1; i < of.hosts(); ++i)
      if (of.count(i) >= of.count(donor)) donor = i;
    if (donor == h || of.count(donor) <= target - (need > 1 ? 1 : 0)) return;
    wanted.push_back({*std::ranges::min_element(of.at(donor).own), donor});
  }
};

/// The taker of KCL 1 and 2. What it has not seen renewed for three times the lease's duration it
/// takes without regard to its target, and so what never had an owner.
class kcl_taker : public taking_way {
 public:
  kcl_taker() {
    interval = 20.05;
    tells_expiry = false;
    lets_go = false;
  }
  void leaves(fleet& of, std::uint32_t h) override {
    taking_way::leaves(of, h);
    gone_.push_back(h);
  }
  void crashes(fleet&, std::uint32_t h) override { gone_.push_back(h); }

 protected:
  void decide(fleet& of, std::uint32_t h, std::vector<wish>& wanted) override {
    constexpr double duration = 10;
    std::vector<wish> available;
    std::vector<wish> very_old;
    for (std::uint32_t const lease : of.free()) {
      available.push_back({lease, nobody});
      if (!of.had_owner(lease)) very_old.push_back({lease, nobody});
    }
    if (first_seen_.empty()) first_seen_.assign(std::size_t{of.hosts()} * of.hosts(), -1);
    std::uint32_t workers = 0;
    for (std::uint32_t const other : gone_) {
      if (of.count(other) == 0) continue;
      float& since = first_seen_[std::size_t{h} * of.hosts() + other];
      if (since < 0) since = static_cast<float>(of.now());
      double const age = of.now() - static_cast<double>(since);
      workers += age > duration ? 0 : 1;
      for (std::uint32_t const lease : of.at(other).own) {
        if (age > duration) available.push_back({lease, other});
        if (age > 3 * duration) very_old.push_back({lease, other});
      }
    }
    for (std::uint32_t i = 0; i < of.hosts(); ++i)
      if (of.at(i).lives && (of.count(i) > 0 || i == h)) ++workers;
    std::uint32_t const target = of.leases() <= workers ? 1 : quotient_up(of.leases(), workers);
    if (!very_old.empty()) {
      shuffle(of, very_old, very_old.size());
      wanted = std::move(very_old);
      return;
    }
    if (of.count(h) >= target) return;
    std::uint32_t const need = target - of.count(h);
    if (!available.empty()) {
      std::size_t const count = (std::min)(std::size_t{need}, available.size());
      shuffle(of, available, count);
      wanted.assign(available.begin(), available.begin() + static_cast<std::ptrdiff_t>(count));
      return;
    }
    std::uint32_t donor = 0;
    for (std::uint32_t i = 1; i < of.hosts(); ++i)
      if (of.count(i) > of.count(donor)) donor = i;
    if (donor == h || of.count(donor) < target || (of.count(donor) == target && need == 1)) return;
    of.draw_of(donor, 1, drawn_);
    wanted.push_back({drawn_[0], donor});
  }

 private:
  static void shuffle(fleet& of, std::vector<wish>& list, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      std::swap(list[i], list[i + of.below(static_cast<std::uint32_t>(list.size() - i))]);
  }

  std::vector<std::uint32_t> gone_{};
  std::vector<float> first_seen_{};  // by host, then by who is gone
};

/// The greedy strategy of Event Hubs for JavaScript: all that is missing at once, free ones first,
/// then from those who have most.
class event_hubs_greedy : public taking_way {
 public:
  event_hubs_greedy() {
    interval = 10;
    renewal = 10;
  }

 protected:
  void decide(fleet& of, std::uint32_t h, std::vector<wish>& wanted) override {
    if (of.owners() == 0) {  // it sees nobody but itself
      of.draw_free(of.leases(), drawn_);
      for (std::uint32_t const lease : drawn_) wanted.push_back({lease, nobody});
      return;
    }
    std::uint32_t const workers = seen(of, h);
    std::uint32_t const even = of.leases() / workers;
    std::uint32_t const extra = of.leases() % workers;
    std::uint32_t have_even = 0;
    std::uint32_t have_one_more = 0;
    std::uint32_t have_too_many = 0;
    for (std::uint32_t i = 0; i < of.hosts(); ++i) {
      std::uint32_t const count = of.count(i);
      if (count == 0 && i != h) continue;
      have_even += count == even ? 1 : 0;
      have_one_more += count == even + 1 ? 1 : 0;
      have_too_many += count > even + 1 ? 1 : 0;
    }
    if (have_one_more == extra && have_even + have_one_more == workers) return;
    std::uint32_t const share = even + (have_one_more + have_too_many < extra ? 1 : 0);
    if (of.count(h) >= share) return;
    std::size_t need = share - of.count(h);
    of.draw_free(need, drawn_);
    for (std::uint32_t const lease : drawn_) wanted.push_back({lease, nobody});
    need -= drawn_.size();
    if (need == 0) return;
    donors_.clear();
    for (std::uint32_t i = 0; i < of.hosts(); ++i)
      if (i != h && of.count(i) > even) donors_.push_back(i);
    std::sort(donors_.begin(), donors_.end(), [&](std::uint32_t one, std::uint32_t other) {
      return of.count(one) != of.count(other) ? of.count(one) > of.count(other) : one < other;
    });
    std::uint32_t met = 0;
    for (std::uint32_t const donor : donors_) {
      std::uint32_t const keeps = even + (met++ < extra ? 1 : 0);
      if (need == 0) break;
      if (of.count(donor) <= keeps) continue;
      of.draw_of(donor, (std::min)(need, std::size_t{of.count(donor) - keeps}), drawn_);
      for (std::uint32_t const lease : drawn_) wanted.push_back({lease, donor});
      need -= drawn_.size();
    }
  }

 private:
  std::vector<std::uint32_t> donors_{};
};

}  // namespace bench
