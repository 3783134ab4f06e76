// How soon do hosts have even shares of many leases, at what cost to the work and to the store? In
// virtual time; hosts of this library act by the plan and the machine that processors act by.
#include <bench/lease/fleet.hpp>
#include <bench/lease/other_ways.hpp>
#include <bench/lease/planned_way.hpp>
#include <bench/support/bench.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using bench::fleet;
using bench::fleet_account;
using bench::planned_habits;
using bench::planned_way;
using bench::scenario;

struct fleet_size {
  std::uint32_t hosts;
  std::uint32_t leases;
  std::uint64_t seeds;
  char const* name;
  char const* target;
};

constexpr fleet_size small{10, 1'000, 5, "10 hosts, 1,000 leases", "10"};
constexpr fleet_size middle{100, 10'000, 5, "100 hosts, 10,000 leases", "100"};
constexpr fleet_size large{1'000, 100'000, 1, "1,000 hosts, 100,000 leases", "1000"};

constexpr planned_habits lists{};
constexpr planned_habits polls{.interval = 2, .settling = 1.8, .polls = true};

constexpr planned_habits announcing(planned_habits habits) {
  habits.notice = 15;
  return habits;
}
constexpr planned_habits keeping_place(planned_habits habits) {
  habits.keeps_place = true;
  return habits;
}

struct contestant {
  std::string name;
  std::function<std::unique_ptr<bench::way>()> make;
  bool is_ours;
  bool is_judged;
};

bool is_polling(contestant const& one) { return one.name.find("polls") != std::string::npos; }

template <class Way>
contestant other(char const* name) {
  return {name, [] { return std::make_unique<Way>(); }, false, true};
}
contestant ours(char const* name, planned_habits const& habits, bool is_judged = true) {
  return {name, [habits] { return std::make_unique<planned_way>(habits); }, true, is_judged};
}

constexpr auto ours_listing = "keyspan, lists each 13 s";
constexpr auto ours_polling = "keyspan, polls each 2 s";
constexpr auto equal_partitions = "EqualPartitions";
constexpr auto kcl = "KCL 2";
constexpr auto greedy = "Event Hubs JS greedy";

// In a rolling restart a host may say first that it leaves, or leave its place to who comes next.
std::vector<contestant> contestants_of(scenario what) {
  std::vector<contestant> all;
  if (what == scenario::rolling_restart) {
    all.push_back(ours("keyspan, lists, at once", lists, false));
    all.push_back(ours("keyspan, lists, 15 s notice", announcing(lists), false));
    all.push_back(ours("keyspan, lists, place kept", keeping_place(lists)));
    all.push_back(ours("keyspan, polls, at once", polls, false));
    all.push_back(ours("keyspan, polls, 15 s notice", announcing(polls), false));
    all.push_back(ours("keyspan, polls, place kept", keeping_place(polls)));
  } else {
    all.push_back(ours(ours_listing, lists));
    all.push_back(ours(ours_polling, polls));
  }
  all.push_back(other<bench::equal_partitions>(equal_partitions));
  all.push_back(other<bench::kcl_taker>(kcl));
  all.push_back(other<bench::event_hubs_greedy>(greedy));
  return all;
}

struct outcome {
  fleet_account account;
  double gap = 0;
  double longest_gap = 0;
};

template <class Value>
Value median(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// What never ends is later than all that does.
constexpr double never = 1e9;

outcome run(scenario what, fleet_size const& size, contestant const& one) {
  std::vector<outcome> runs;
  for (std::uint64_t seed = 1; seed <= size.seeds; ++seed) {
    fleet hosts{what, size.hosts, size.leases, seed};
    auto const by = one.make();
    outcome told{hosts.run(*by)};
    if (told.account.balanced_after < 0) told.account.balanced_after = never;
    if (auto const* planned = dynamic_cast<planned_way const*>(by.get())) {
      told.gap = planned->mean_gap();
      told.longest_gap = planned->longest_gap();
    }
    runs.push_back(told);
  }
  auto const median_of = [&](auto member) {
    std::vector<std::remove_cvref_t<decltype(std::invoke(member, runs[0].account))>> values;
    for (outcome const& each : runs) values.push_back(std::invoke(member, each.account));
    return median(std::move(values));
  };
  outcome told = runs[0];
  told.account.balanced_after = median_of(&fleet_account::balanced_after);
  told.account.moves = median_of(&fleet_account::moves);
  told.account.taken = median_of(&fleet_account::taken);
  told.account.writes = median_of(&fleet_account::writes);
  told.account.lost = median_of(&fleet_account::lost);
  told.account.idle = median_of(&fleet_account::idle);
  return told;
}

std::string line_of(std::string const& name, outcome const& of, bool has_gap) {
  fleet_account const& a = of.account;
  char balanced[32];
  if (a.balanced_after < never) {
    std::snprintf(balanced, sizeof balanced, "%.1f", a.balanced_after);
  } else {
    std::snprintf(balanced, sizeof balanced, "never");
  }
  char gaps[48] = "";
  if (has_gap) std::snprintf(gaps, sizeof gaps, "%10.2f %8.2f", of.gap, of.longest_gap);
  char line[256];
  std::snprintf(line, sizeof line, "  %-28s %10s %9llu %9llu %10llu %10llu %8.2f %s", name.c_str(),
                balanced, static_cast<unsigned long long>(a.moves),
                static_cast<unsigned long long>(a.taken), static_cast<unsigned long long>(a.writes),
                static_cast<unsigned long long>(a.lost), a.idle, gaps);
  return line;
}

// Cells in which one of ours is worse than the best of the others.
struct comparison {
  int moves = 0;
  int taken = 0;
  int lost = 0;
  int time = 0;  // of those that poll, but for the single newcomer of the greedy one
};

void compare(scenario what, std::vector<contestant> const& all, std::vector<outcome> const& came,
             comparison& worse) {
  fleet_account best{.balanced_after = never};
  best.moves = best.taken = best.lost = (std::numeric_limits<std::uint64_t>::max)();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_ours) continue;
    fleet_account const& one = came[i].account;
    best.moves = (std::min)(best.moves, one.moves);
    best.taken = (std::min)(best.taken, one.taken);
    best.lost = (std::min)(best.lost, one.lost);
    if (what != scenario::one_added || all[i].name != greedy)
      best.balanced_after = (std::min)(best.balanced_after, one.balanced_after);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_ours || !all[i].is_judged) continue;
    fleet_account const& one = came[i].account;
    worse.moves += one.moves > best.moves;
    worse.taken += one.taken > best.taken;
    worse.lost += one.lost > best.lost;
    worse.time += is_polling(all[i]) && one.balanced_after > best.balanced_after;
  }
}

// Moves that a change asks for at least.
std::uint64_t fewest_moves(scenario what, fleet_size const& size) {
  switch (what) {
    case scenario::cold_start:
      return 0;
    case scenario::one_added:
      return size.leases / (size.hosts + 1);
    case scenario::tenth_crashes:
      return size.leases / 10;
    case scenario::rolling_restart:
      return size.leases;
  }
  return 0;
}

struct told_scenario {
  scenario what;
  char const* name;
  char const* target;
  double listing_bound;  // seconds
};

constexpr std::array scenarios{
    told_scenario{scenario::cold_start, "cold start", "cold", 6},
    told_scenario{scenario::one_added, "one host is added", "added", 14},
    told_scenario{scenario::tenth_crashes, "a tenth of the hosts crashes", "crash", 14},
    told_scenario{scenario::rolling_restart, "rolling restart", "restart", 14},
};

void judge(bench::session& to, told_scenario const& of, fleet_size const& size,
           std::vector<contestant> const& all, std::vector<outcome> const& came) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    contestant const& who = all[i];
    if (!who.is_ours) continue;
    fleet_account const& one = came[i].account;
    bool const gives_notice = who.name.ends_with("notice");
    std::string const name = std::string{"lease.balance."} + of.target + '.' + size.target +
                             (is_polling(who) ? ".polls" : ".lists") +
                             (who.is_judged  ? ""
                              : gives_notice ? ".notice"
                                             : ".at_once");
    to.target(name + ".taken", static_cast<double>(one.taken), "==", 0);
    if (who.is_judged)
      to.target(name + ".s", one.balanced_after, "<=", is_polling(who) ? 3.1 : of.listing_bound);
    if (who.is_judged || gives_notice)
      to.target(name + ".moves", static_cast<double>(one.moves),
                "<=", static_cast<double>(fewest_moves(of.what, size)));
    if (gives_notice) to.target(name + ".idle_s", one.idle, "<=", 0.5);
  }
}

// How a newcomer comes to its share.
void draw_newcomer(bench::session& to, fleet_size const& size) {
  auto& chart = to.chart("One host joins 1,000 others with 100,000 leases",
                         "seconds since it joined", "leases that it has");
  for (contestant const& one : contestants_of(scenario::one_added)) {
    fleet hosts{scenario::one_added, size.hosts, size.leases, 1};
    hosts.watch(size.hosts);
    hosts.run(*one.make());
    auto const history = hosts.history();
    for (double time = 0.5; time < 4'000; time *= 1.15) {
      std::size_t count = 0;
      for (auto const& [when, has] : history)
        if (when <= time) count = has;
      chart.line(one.name, time, static_cast<double>(count));
      if (count == history.back().second) break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto told = bench::session{argc, argv};
  auto const said = bench::parse_arguments(argc, argv);
  bool const is_quick = said && said->rounds <= 3;
  comparison worse;
  for (told_scenario const& of : scenarios) {
    for (fleet_size const& size : {small, middle, large}) {
      if (is_quick && size.hosts == large.hosts) continue;
      auto const all = contestants_of(of.what);
      std::vector<outcome> came;
      told.note(std::string{"\n"} + of.name + ": " + size.name);
      told.note(
          "                                balanced               without"
          "     writes                idle    handed over: idle");
      told.note(
          "                                 after s     moves   consent"
          "      tried       lost  s/lease       mean     most");
      for (contestant const& one : all) {
        came.push_back(run(of.what, size, one));
        told.note(line_of(one.name, came.back(), one.is_ours));
      }
      compare(of.what, all, came, worse);
      judge(told, of, size, all, came);
    }
  }
  told.note("\ncells in which a way of ours is worse than the best of the others");
  told.target("lease.balance.worse.moves", worse.moves, "==", 0);
  told.target("lease.balance.worse.taken", worse.taken, "==", 0);
  told.target("lease.balance.worse.lost", worse.lost, "==", 0);
  told.target("lease.balance.worse.time", worse.time, "==", 0);
  if (!is_quick) draw_newcomer(told, large);
  return told.finish();
}
