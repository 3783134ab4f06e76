// What does it cost to plan who is to have which of 100,000 leases, over sorting their ids? The
// first row of each table is the floor.
#include <bench/support/bench.hpp>
#include <keyspan/lease/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::balance_by;
using keyspan::free_lease;
using keyspan::planned_lease;
using keyspan::planned_member;

constexpr std::size_t leases = 100'000;
constexpr std::uint32_t members = 1'000;

struct fleet {
  std::vector<planned_member> members;
  std::vector<planned_lease> leases;
};

// The first `dealt` members have all leases, or nobody has.
fleet some_fleet(std::uint32_t dealt) {
  auto rng = bench::Rng{42};
  fleet made{std::vector<planned_member>(members), std::vector<planned_lease>(leases)};
  for (auto& one : made.members) one.session.value = rng();
  std::uint32_t next = 0;
  for (auto& one : made.leases) {
    one.id = rng();
    one.epoch = rng() % 4;
    one.weight = static_cast<double>(1 + rng() % 100);
    if (dealt > 0) one.owner = next++ % dealt;
  }
  return made;
}

// The leases of members in lists of their own, as the rule is told: every list sorted, then shared
// out from the lists.
std::size_t moves_by_lists(fleet const& of) {
  auto const& [people, held] = of;
  auto const lower = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair{held[a].epoch, held[a].id} < std::pair{held[b].epoch, held[b].id};
  };
  std::vector<std::vector<std::uint32_t>> lists(people.size());
  std::vector<std::uint32_t> pool;
  for (std::uint32_t i = 0; i < held.size(); ++i)
    (held[i].owner == free_lease ? pool : lists[held[i].owner]).push_back(i);
  std::sort(pool.begin(), pool.end(), lower);
  std::vector<std::uint32_t> order(people.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return people[a].session < people[b].session;
  });
  std::size_t const even = held.size() / people.size();
  std::size_t more = held.size() % people.size();
  std::vector<std::size_t> quotas(people.size(), even);
  for (bool const has : {true, false})
    for (std::uint32_t const i : order)
      if (more > 0 && quotas[i] == even && (lists[i].size() > even) == has) {
        ++quotas[i];
        --more;
      }
  for (std::uint32_t const i : order) {
    std::sort(lists[i].begin(), lists[i].end(), lower);
    for (std::size_t k = 0; k + quotas[i] < lists[i].size(); ++k) pool.push_back(lists[i][k]);
  }
  std::vector<keyspan::plan_move> moves;
  for (std::uint32_t const i : order)
    for (std::size_t k = lists[i].size(); k < quotas[i]; ++k)
      moves.push_back({pool[moves.size()], held[pool[moves.size()]].owner, i});
  return moves.size();
}

struct situation {
  char const* name;
  char const* target;
  fleet of;
  double bound;
  double bound_by_weight;
  double against_lists;
};

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};

  auto crashed = some_fleet(members);
  for (auto& one : crashed.leases)
    if (one.owner % 10 == 0) one.owner = free_lease;
  crashed.members.erase(
      std::remove_if(crashed.members.begin(), crashed.members.end(),
                     [&](auto const& one) { return (&one - crashed.members.data()) % 10 == 0; }),
      crashed.members.end());
  for (auto& one : crashed.leases)
    if (one.owner != free_lease) one.owner -= one.owner / 10 + 1;

  situation const situations[]{
      {"all are free", "cold", some_fleet(0), 0.6, 5, 3},
      {"all is even", "even", some_fleet(members), 0.05, 0.6, 20},
      {"one member more", "added", some_fleet(members - 1), 0.1, 0.6, 8},
      {"a tenth of the members is gone", "crash", crashed, 0.1, 0.8, 8},
      {"one member has all", "one", some_fleet(1), 2.5, 5, 0.9},
  };
  for (situation const& at : situations) {
    fleet const& of = at.of;
    auto& table = run.table(std::string{"100,000 leases, 1,000 members: "} + at.name, "plan");
    table.count_allocations();
    table.floor("std::sort of the ids", [&of, ids = std::vector<std::uint64_t>(leases)]() mutable {
      for (std::size_t i = 0; i < leases; ++i) ids[i] = of.leases[i].id;
      std::sort(ids.begin(), ids.end());
      bench::keep(ids.data());
    });
    for (auto const by : {balance_by::count, balance_by::weight}) {
      table.row(by == balance_by::count ? "keyspan::planner" : "keyspan::planner, by weight",
                [&of, by, planner = keyspan::planner{}]() mutable {
                  auto const moves = planner.plan(of.members, of.leases, {.by = by});
                  bench::keep(moves.data());
                });
    }
    table.row("a list for each member, sorted", [&of] { bench::keep(moves_by_lists(of)); });
    std::string const prefix = std::string{"lease.plan."} + at.target;
    char const* const floor = "std::sort of the ids";
    run.target(prefix, table.ratio("keyspan::planner", floor), "<=", at.bound);
    run.target(prefix + ".weight", table.ratio("keyspan::planner, by weight", floor),
               "<=", at.bound_by_weight);
    run.target(prefix + ".lists", table.ratio("a list for each member, sorted", "keyspan::planner"),
               ">=", at.against_lists);
    run.target(prefix + ".allocations", table.allocations_of("keyspan::planner"), "==", 0);
  }
  return run.finish();
}
