// bench/lease/fleet.hpp — hosts that share leases out among themselves, in virtual time: what all
// ways to do it have in common, and the account of how each of them does.
//
// A list takes 50 ms and 10 us for each lease, and shows what is there when it ends. A write takes
// 2 ms and 6 ms on average, and is lost if somebody has written since the list.
#pragma once

#include <bench/support/bench.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace bench {

inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

enum class scenario : std::uint8_t { cold_start, one_added, tenth_crashes, rolling_restart };

/// What happens to a host.
enum class fleet_event : std::uint8_t {
  joins,
  leaves,
  crashes,
  expires,  ///< the others may know that it is dead
  wakes,
  lists,     ///< its list has come
  answered,  ///< its write was done, or lost
};

class fleet;

/// How hosts share leases out.
class way {
 public:
  virtual ~way() = default;

  virtual void begins(fleet&) {}
  virtual void joins(fleet&, std::uint32_t host) = 0;
  virtual void leaves(fleet&, std::uint32_t host) = 0;
  virtual void crashes(fleet&, std::uint32_t) {}
  virtual void expires(fleet&, std::uint32_t host) = 0;
  virtual void wakes(fleet&, std::uint32_t host) = 0;
  virtual void lists(fleet&, std::uint32_t host) = 0;
  virtual void answered(fleet&, std::uint32_t host, std::uint32_t what) = 0;

  double interval = 13;  ///< between two looks at the store
  double expiry = 60;    ///< of a lease or a member that is not renewed
  double renewal = 17;
  bool tells_expiry = true;  ///< false: each host finds out by itself
};

/// What came of a run.
struct fleet_account {
  double balanced_after = -1;  ///< seconds since the last that happened to a host; -1: never
  std::uint64_t moves = 0;     ///< of leases from the one who had it last to another
  std::uint64_t taken = 0;     ///< of these, from a live owner, without its consent
  std::uint64_t writes = 0;    ///< tried
  std::uint64_t lost = 0;
  double idle = 0;          ///< seconds per lease
  std::uint64_t least = 0;  ///< leases of one host, at the end
  std::uint64_t most = 0;
};

class fleet {
 public:
  struct host {
    bool lives = false;
    double joined_at = 0;
    std::vector<std::uint32_t> own{};  ///< the leases that the store calls its own
  };

  fleet(scenario what, std::uint32_t hosts, std::uint32_t leases, std::uint64_t seed)
      : what_{what}, first_hosts_{hosts}, rng_{seed} {
    std::uint32_t const all = hosts + (what == scenario::one_added         ? 1
                                       : what == scenario::rolling_restart ? hosts
                                                                           : 0);
    hosts_.resize(all);
    owner_.assign(leases, nobody);
    last_.assign(leases, nobody);
    place_.assign(leases, 0);
    changed_.assign(leases, -1);
    idle_since_.assign(leases, -1);
    for (std::uint32_t i = 0; i < leases; ++i) {
      place_[i] = i;
      free_.push_back(i);
    }
  }

  // ---- what there is ----

  double now() const { return now_; }
  std::uint32_t leases() const { return static_cast<std::uint32_t>(owner_.size()); }
  std::uint32_t hosts() const { return static_cast<std::uint32_t>(hosts_.size()); }
  host const& at(std::uint32_t h) const { return hosts_[h]; }
  std::uint32_t count(std::uint32_t h) const {
    return static_cast<std::uint32_t>(hosts_[h].own.size());
  }
  /// How many hosts own something.
  std::uint32_t owners() const { return owners_; }
  std::uint32_t owner(std::uint32_t lease) const { return owner_[lease]; }
  double changed_at(std::uint32_t lease) const { return changed_[lease]; }
  std::span<std::uint32_t const> free() const { return free_; }
  bool had_owner(std::uint32_t lease) const { return last_[lease] != nobody; }
  scenario what() const { return what_; }

  /// Some of the free ones, or of those of a host, that differ, at random.
  void draw_free(std::size_t count, std::vector<std::uint32_t>& drawn) {
    draw(free_, count, drawn);
  }
  void draw_of(std::uint32_t h, std::size_t count, std::vector<std::uint32_t>& drawn) {
    draw(hosts_[h].own, count, drawn);
  }

  // ---- time ----

  double unit() { return rng_.uniform01(); }
  std::uint32_t below(std::uint32_t bound) { return rng_.bounded(bound); }
  double list_time() const { return 0.05 + 10e-6 * static_cast<double>(leases()); }
  double write_time() { return 0.002 - 0.006 * std::log(1 - unit()); }
  void at(double time, fleet_event what, std::uint32_t h, std::uint32_t detail = 0) {
    events_.push({time, events_told_++, what, h, detail});
  }
  void in(double delay, fleet_event what, std::uint32_t h, std::uint32_t detail = 0) {
    at(now_ + delay, what, h, detail);
  }

  // ---- what hosts do ----

  /// From here on the store calls `h` the owner. `asked` is whether the one before had agreed.
  void take(std::uint32_t lease, std::uint32_t h, bool asked) {
    std::uint32_t const before = owner_[lease];
    if (before == h) return;
    if (before != nobody) {
      if (!hosts_[before].lives) --of_dead_;
      remove(before, lease);
    } else {
      remove_free(lease);
    }
    if (last_[lease] != nobody && last_[lease] != h) {
      ++account_.moves;
      if (before != nobody && hosts_[before].lives && !asked) ++account_.taken;
    }
    owner_[lease] = last_[lease] = h;
    changed_[lease] = now_;
    add(h, lease);
    if (!hosts_[h].lives) ++of_dead_;
    changed();
  }
  void let_go(std::uint32_t lease) {
    std::uint32_t const before = owner_[lease];
    if (before == nobody) return;
    if (!hosts_[before].lives) --of_dead_;
    remove(before, lease);
    owner_[lease] = nobody;
    changed_[lease] = now_;
    place_[lease] = static_cast<std::uint32_t>(free_.size());
    free_.push_back(lease);
    changed();
  }
  void idles(std::uint32_t lease) {
    if (idle_since_[lease] < 0) idle_since_[lease] = now_;
  }
  void works(std::uint32_t lease) {
    if (idle_since_[lease] < 0) return;
    account_.idle += now_ - idle_since_[lease];
    idle_since_[lease] = -1;
  }
  void wrote(bool is_lost) {
    ++account_.writes;
    account_.lost += is_lost ? 1 : 0;
    changed_last_ = now_;
  }
  /// `h` does not count any more; what it still has is to go to others.
  void retire(std::uint32_t h) {
    if (!hosts_[h].lives) return;
    hosts_[h].lives = false;
    of_dead_ += count(h);
    --living_;
    recount();
    changed();
  }

  // ---- the run ----

  fleet_account run(way& by) {
    begin(by);
    while (!events_.empty()) {
      event const next = events_.top();
      events_.pop();
      now_ = next.time;
      if (now_ > 6 * 3600) break;
      double const quiet = now_ - changed_last_;
      if (to_come_ == 0 && of_dead_ == 0 && quiet > 5 * by.interval + 70 &&
          (balanced_at_ >= 0 || quiet > 400))
        break;
      tell(by, next);
    }
    fleet_account told = account_;
    if (balanced_at_ >= 0) told.balanced_after = (std::max)(0.0, balanced_at_ - happened_last_);
    told.idle /= static_cast<double>(leases());
    told.least = ~std::uint64_t{0};
    for (host const& one : hosts_) {
      if (!one.lives) continue;
      told.least = (std::min)(told.least, std::uint64_t{one.own.size()});
      told.most = (std::max)(told.most, std::uint64_t{one.own.size()});
    }
    return told;
  }

  /// When host `h` came to have how many leases.
  void watch(std::uint32_t h) { watched_ = h; }
  std::span<std::pair<double, std::size_t> const> history() const { return history_; }

 private:
  struct event {
    double time;
    std::uint64_t number;
    fleet_event what;
    std::uint32_t host;
    std::uint32_t detail;

    friend bool operator<(event const& a, event const& b) {  // the earliest is the greatest
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };

  void begin(way& by) {
    if (what_ == scenario::cold_start) {
      for (std::uint32_t i = 0; i < leases(); ++i) idle_since_[i] = 0;
      by.begins(*this);
      for (std::uint32_t h = 0; h < first_hosts_; ++h)
        will_happen(5 * unit(), fleet_event::joins, h);
      return;
    }
    std::vector<std::uint32_t> order(free_);
    for (std::uint32_t i = leases(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    for (std::uint32_t h = 0; h < first_hosts_; ++h) {
      hosts_[h].lives = true;
      hosts_[h].joined_at = -1e9;
      ++living_;
    }
    for (std::uint32_t i = 0; i < leases(); ++i) take(order[i], i % first_hosts_, true);
    changed_.assign(leases(), -1);
    recount();
    changed();
    by.begins(*this);
    account_ = {};
    for (std::uint32_t h = 0; h < first_hosts_; ++h)
      at(by.interval * unit(), fleet_event::wakes, h);
    if (what_ == scenario::one_added) {
      will_happen(0.001, fleet_event::joins, first_hosts_);
    } else if (what_ == scenario::tenth_crashes) {
      std::vector<std::uint32_t> who(first_hosts_);
      for (std::uint32_t h = 0; h < first_hosts_; ++h) who[h] = h;
      for (std::uint32_t i = 0; i < first_hosts_ / 10; ++i) {
        std::swap(who[i], who[i + below(first_hosts_ - i)]);
        will_happen(0.001, fleet_event::crashes, who[i]);
      }
    } else {
      std::uint32_t const batch = (std::max)(std::uint32_t{1}, first_hosts_ / 10);
      for (std::uint32_t h = 0; h < first_hosts_; ++h) {
        double const start = 60.0 * (h / batch);
        will_happen(start + unit(), fleet_event::leaves, h);
        will_happen(start + 10 + unit(), fleet_event::joins, first_hosts_ + h);
      }
    }
  }

  void will_happen(double time, fleet_event what, std::uint32_t h) {
    ++to_come_;
    at(time, what, h);
  }

  void tell(way& by, event const& next) {
    std::uint32_t const h = next.host;
    switch (next.what) {
      case fleet_event::joins:
        happens();
        hosts_[h].lives = true;
        hosts_[h].joined_at = now_;
        ++living_;
        recount();
        changed();
        by.joins(*this, h);
        break;
      case fleet_event::leaves:
        happens();
        by.leaves(*this, h);
        break;
      case fleet_event::crashes:
        happens();
        for (std::uint32_t const lease : hosts_[h].own) idles(lease);
        retire(h);
        by.crashes(*this, h);
        if (by.tells_expiry)
          will_happen(now_ + by.expiry - by.renewal * unit(), fleet_event::expires, h);
        break;
      case fleet_event::expires:
        happens();
        by.expires(*this, h);
        break;
      case fleet_event::wakes:
        by.wakes(*this, h);
        break;
      case fleet_event::lists:
        by.lists(*this, h);
        break;
      case fleet_event::answered:
        by.answered(*this, h, next.detail);
        break;
    }
  }

  void happens() {
    --to_come_;
    happened_last_ = changed_last_ = now_;
  }

  void draw(std::vector<std::uint32_t>& from, std::size_t count,
            std::vector<std::uint32_t>& drawn) {
    drawn.clear();
    for (std::uint32_t i = 0; i < count && i < from.size(); ++i) {
      std::uint32_t const k = i + below(static_cast<std::uint32_t>(from.size()) - i);
      std::swap(from[i], from[k]);
      place_[from[i]] = i;
      place_[from[k]] = k;
      drawn.push_back(from[i]);
    }
  }

  // ---- who has how many ----

  std::uint32_t counts_even(host const& one) const {
    return one.lives && (one.own.size() == even_share_ || one.own.size() == even_share_ + 1);
  }
  void add(std::uint32_t h, std::uint32_t lease) {
    host& one = hosts_[h];
    owners_ += one.own.empty();
    even_ -= counts_even(one);
    place_[lease] = static_cast<std::uint32_t>(one.own.size());
    one.own.push_back(lease);
    even_ += counts_even(one);
    if (h == watched_) history_.push_back({now_, one.own.size()});
  }
  void remove(std::uint32_t h, std::uint32_t lease) {
    host& one = hosts_[h];
    even_ -= counts_even(one);
    remove_from(one.own, lease);
    even_ += counts_even(one);
    owners_ -= one.own.empty();
  }
  void remove_free(std::uint32_t lease) { remove_from(free_, lease); }
  void remove_from(std::vector<std::uint32_t>& list, std::uint32_t lease) {
    std::uint32_t const last = list.back();
    list[place_[lease]] = last;
    place_[last] = place_[lease];
    list.pop_back();
  }
  void recount() {
    even_share_ = living_ > 0 ? leases() / living_ : 0;
    even_ = 0;
    for (host const& one : hosts_) even_ += counts_even(one);
  }
  void changed() {
    changed_last_ = now_;
    bool const is_balanced = free_.empty() && of_dead_ == 0 && living_ > 0 && even_ == living_;
    if (!is_balanced) {
      balanced_at_ = -1;
    } else if (balanced_at_ < 0) {
      balanced_at_ = now_;
    }
  }

  scenario what_;
  std::uint32_t first_hosts_;
  Rng rng_;
  double now_ = 0;
  double happened_last_ = 0;
  double changed_last_ = 0;
  double balanced_at_ = -1;
  std::uint32_t to_come_ = 0;
  std::uint32_t living_ = 0;
  std::uint32_t owners_ = 0;
  std::uint32_t of_dead_ = 0;
  std::uint32_t even_ = 0;  // hosts that have an even share
  std::size_t even_share_ = 0;
  std::uint32_t watched_ = nobody;
  fleet_account account_{};
  std::vector<host> hosts_{};
  std::vector<std::uint32_t> owner_{};
  std::vector<std::uint32_t> last_{};
  std::vector<std::uint32_t> place_{};  // in the list that a lease stands in
  std::vector<double> changed_{};
  std::vector<double> idle_since_{};
  std::vector<std::uint32_t> free_{};
  std::vector<std::pair<double, std::size_t>> history_{};
  std::priority_queue<event> events_{};
  std::uint64_t events_told_ = 0;
};

}  // namespace bench
