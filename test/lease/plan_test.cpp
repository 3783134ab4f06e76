// test/lease/plan_test.cpp — what a plan promises: for every state of small sizes, and at random
// for large ones.
#include <keyspan/lease/plan.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::balance_by;
using keyspan::free_lease;
using keyspan::kept_lease;
using keyspan::plan_move;
using keyspan::plan_options;
using keyspan::planned_lease;
using keyspan::planned_member;
using keyspan::planner;
using keyspan::session_id;
using test::check;

using moves_type = std::vector<plan_move>;

struct state {
  std::vector<planned_member> members{};
  std::vector<planned_lease> leases{};
  plan_options options{};
};

moves_type planned(state const& of) {
  planner made;
  auto const moves = made.plan(of.members, of.leases, of.options);
  return {moves.begin(), moves.end()};
}

std::uint64_t some_hash(std::uint64_t number) { return test::random{number}(); }

std::vector<planned_member> plain_members(std::size_t count) {
  std::vector<planned_member> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i].session = session_id{some_hash(i + 100)};
  return made;
}

std::vector<planned_lease> free_leases(std::size_t count) {
  std::vector<planned_lease> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i].id = some_hash(i + 1'000'000);
  return made;
}

std::vector<planned_lease> dealt_leases(std::size_t count, std::size_t members) {
  auto made = free_leases(count);
  for (std::size_t i = 0; i < count; ++i) made[i].owner = static_cast<std::uint32_t>(i % members);
  return made;
}

std::vector<std::uint64_t> counts_of(state const& of) {
  std::vector<std::uint64_t> counts(of.members.size());
  for (auto const& one : of.leases)
    if (one.owner < counts.size()) ++counts[one.owner];
  return counts;
}

std::uint64_t count_of(state const& of, std::uint32_t owner) {
  return static_cast<std::uint64_t>(
      std::ranges::count(of.leases, owner, [](auto const& one) { return one.owner; }));
}

// Who moves has another owner, and a higher epoch.
void make(plan_move const& move, state& of) {
  auto& lease = of.leases[move.lease];
  CHECK(lease.owner == move.from);
  CHECK(move.to < of.members.size());
  CHECK(move.to != move.from);
  lease.owner = move.to;
  ++lease.epoch;
}

void make(moves_type const& moves, state& of) {
  for (auto const& move : moves) make(move, of);
}

// Plans of one state, whatever their order.
moves_type sorted(moves_type moves) {
  std::ranges::sort(moves, {}, &plan_move::lease);
  return moves;
}

bool shares(planned_member const& one) { return one.takes && !one.leaves; }

// ---- what a plan by count should come to, by trying everything ----

struct best_outcome {
  std::uint64_t squares = ~std::uint64_t{0};  // of the counts: the less, the more even
  std::uint64_t moves = ~std::uint64_t{0};
  bool has_room = true;
};

struct bounds {
  std::uint64_t count;
  std::uint64_t first;
  std::uint64_t last;
};

void try_all(std::vector<bounds> const& of, std::size_t i, std::uint64_t left,
             std::uint64_t squares, std::uint64_t moves, best_outcome& best) {
  if (i == of.size()) {
    if (left == 0 && std::pair{squares, moves} < std::pair{best.squares, best.moves}) {
      best.squares = squares;
      best.moves = moves;
    }
    return;
  }
  for (std::uint64_t n = of[i].first; n <= (std::min)(of[i].last, left); ++n)
    try_all(of, i + 1, left - n, squares + n * n, moves + (n - (std::min)(n, of[i].count)), best);
}

best_outcome best_of(state const& of) {
  auto const counts = counts_of(of);
  std::uint64_t shared = count_of(of, free_lease);
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < of.members.size(); ++i) {
    if (shares(of.members[i])) least += of.members[i].least;
    if (shares(of.members[i]) || of.members[i].leaves) shared += counts[i];
  }
  std::vector<bounds> each;
  std::uint64_t room = 0;
  for (std::size_t i = 0; i < of.members.size(); ++i) {
    auto const& one = of.members[i];
    if (!shares(one)) continue;
    auto const most = one.most == 0 ? shared : (std::max)(one.least, one.most);
    each.push_back(least >= shared ? bounds{counts[i], 0, one.least}
                                   : bounds{counts[i], one.least, most});
    room += each.back().last;
  }
  best_outcome best;
  best.has_room = room >= shared;
  try_all(each, 0, (std::min)(room, shared), 0, 0, best);
  return best;
}

// Everything that a plan by count of a small state promises.
void check_plan_by_count(state const& before) {
  auto const moves = planned(before);
  auto const best = best_of(before);
  CHECK(moves.size() == best.moves);  // minimality

  std::vector<int> times(before.leases.size());
  for (auto const& move : moves) CHECK(++times[move.lease] == 1);

  state after = before;
  make(moves, after);
  auto const counts = counts_of(after);
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto const& one = before.members[i];
    if (shares(one)) {
      squares += counts[i] * counts[i];
    } else if (!one.leaves) {
      CHECK(counts[i] == counts_of(before)[i]);  // keeps what it has
    } else if (best.has_room && best.squares != ~std::uint64_t{0}) {
      CHECK(counts[i] == 0);
    }
    if (one.leaves) CHECK(counts[i] <= counts_of(before)[i]);
  }
  if (best.has_room && best.squares != ~std::uint64_t{0}) {
    CHECK(squares == best.squares);  // balance
    CHECK(count_of(after, free_lease) == 0);
  } else if (count_of(after, free_lease) > 0) {
    // What is idle goes before what somebody works on.
    for (auto const& move : moves) CHECK(move.from == free_lease);
  }
  CHECK(count_of(after, kept_lease) == count_of(before, kept_lease));
  CHECK(planned(after).empty());  // fixpoint

  // Confluence: all subsets of a small plan.
  if (moves.size() > 6) return;
  for (std::size_t subset = 1; subset + 1 < std::size_t{1} << moves.size(); ++subset) {
    state between = before;
    moves_type rest;
    for (std::size_t i = 0; i < moves.size(); ++i) {
      if ((subset >> i & 1) != 0) {
        make(moves[i], between);
      } else {
        rest.push_back(moves[i]);
      }
    }
    CHECK(sorted(planned(between)) == sorted(rest));
  }
}

// Calls `body` for each of the numbers of so many digits, the last of which is the first to change.
template <class Body>
void for_each_number(std::size_t digits, std::uint32_t base, Body body) {
  std::vector<std::uint32_t> number(digits);
  for (;;) {
    body(number);
    std::size_t i = 0;
    while (i < digits && ++number[i] == base) number[i++] = 0;
    if (i == digits) return;
  }
}

TEST_CASE("of up to four members and five leases every state has a least plan to balance") {
  for (std::size_t count = 1; count <= 4; ++count) {
    for (std::size_t leases = 0; leases <= 5; ++leases) {
      state one{plain_members(count), free_leases(leases)};
      auto const base = static_cast<std::uint32_t>(count) + 1;
      for_each_number(leases, base, [&](std::vector<std::uint32_t> const& owners) {
        for (std::size_t i = 0; i < leases; ++i)
          one.leases[i].owner = owners[i] < count ? owners[i] : free_lease;
        check_plan_by_count(one);
        auto const counts = counts_of(one);
        auto const [least, most] = std::ranges::minmax(counts);
        if (most - least <= 1 && count_of(one, free_lease) == 0) CHECK(planned(one).empty());
        make(planned(one), one);
        auto const [least_after, most_after] = std::ranges::minmax(counts_of(one));
        CHECK(most_after - least_after <= 1);
      });
    }
  }
}

// What a member may be: bounds, cordoned, leaving, in a zone.
std::vector<planned_member> const kinds_of_member{
    {},
    {.least = 1},
    {.least = 2, .most = 1},
    {.most = 1},
    {.most = 2},
    {.takes = false},
    {.leaves = true},
    {.takes = false, .leaves = true},
    {.zone = 1},
    {.least = 1, .most = 2, .zone = 2},
};

TEST_CASE("bounds, cordons, leaving members and zones leave a small plan least and confluent") {
  auto const kinds = static_cast<std::uint32_t>(kinds_of_member.size());
  for (std::size_t count = 1; count <= 3; ++count) {
    std::size_t const most_leases = count == 3 ? 3 : 4;
    state one{plain_members(count)};
    for_each_number(count, kinds, [&](std::vector<std::uint32_t> const& kind) {
      for (std::size_t i = 0; i < count; ++i) {
        auto const session = one.members[i].session;
        one.members[i] = kinds_of_member[kind[i]];
        one.members[i].session = session;
      }
      one.leases = free_leases(most_leases);
      one.leases[0].zone = 1;
      one.leases[1].zone = 2;
      one.leases[2].epoch = 1;
      auto const base = static_cast<std::uint32_t>(count) + 2;
      for_each_number(most_leases, base, [&](std::vector<std::uint32_t> const& owners) {
        for (std::size_t i = 0; i < most_leases; ++i)
          one.leases[i].owner = owners[i] < count    ? owners[i]
                                : owners[i] == count ? free_lease
                                                     : kept_lease;
        check_plan_by_count(one);
      });
    });
  }
}

state random_state(test::random& random, std::size_t most_members, std::size_t most_leases) {
  state made{plain_members(1 + random.below(most_members)), free_leases(random.below(most_leases))};
  made.options.seed = random();
  bool const has_bounds = random.chance(50);
  bool const has_zones = random.chance(50);
  bool const has_leavers = random.chance(50);
  for (auto& one : made.members) {
    one.session.value ^= random();
    if (has_bounds && random.chance(30)) one.least = static_cast<std::uint32_t>(random.below(20));
    if (has_bounds && random.chance(30)) one.most = static_cast<std::uint32_t>(random.below(20));
    if (has_zones) one.zone = random.below(4);
    if (has_leavers) one.leaves = random.chance(10);
    if (has_leavers) one.takes = !random.chance(10);
  }
  auto const crowd = 1 + random.below(made.members.size());  // the only ones who have some
  for (auto& one : made.leases) {
    one.id ^= random();
    one.epoch = random.below(4);
    one.weight = random.exponential(1);
    if (has_zones) one.zone = random.below(4);
    auto const drawn = random.below(10);
    one.owner = drawn == 0   ? free_lease
                : drawn == 1 ? kept_lease
                             : static_cast<std::uint32_t>(random.below(crowd));
  }
  return made;
}

TEST_CASE("a large plan ends balanced, and any part of it leaves the rest") {
  test::random random{1};
  for (int round = 0; round < 400; ++round) {
    auto const before = random_state(random, 40, 400);
    auto moves = planned(before);
    CHECK(std::ranges::all_of(sorted(moves), [last = ~std::uint32_t{0}](auto const& move) mutable {
      return std::exchange(last, move.lease) != move.lease;
    }));

    state between = before;
    random.shuffle(moves);
    auto const made = static_cast<std::ptrdiff_t>(random.below(moves.size() + 1));
    make({moves.begin(), moves.begin() + made}, between);
    moves_type const rest{moves.begin() + made, moves.end()};
    CHECK(sorted(planned(between)) == sorted(rest));

    make(rest, between);
    CHECK(planned(between).empty());
    // Nobody whose bounds would allow another one has two less than somebody whose bounds would
    // allow one less.
    auto const counts = counts_of(between);
    bool const is_full = count_of(between, free_lease) > 0;
    bool const is_short = std::ranges::any_of(before.members, [&](auto const& one) {
      return shares(one) &&
             counts[static_cast<std::size_t>(&one - before.members.data())] < one.least;
    });
    for (std::size_t i = 0; i < counts.size() && !is_short; ++i) {
      auto const& poor = before.members[i];
      if (!shares(poor) || (poor.most > 0 && counts[i] >= (std::max)(poor.most, poor.least)))
        continue;
      CHECK(!is_full);
      for (std::size_t k = 0; k < counts.size(); ++k)
        if (shares(before.members[k]) && counts[k] > before.members[k].least)
          CHECK(counts[k] <= counts[i] + 1);
    }
  }
}

TEST_CASE("a plan is the same in whatever order members and leases are told") {
  test::random random{2};
  for (int round = 0; round < 200; ++round) {
    for (auto const by : {balance_by::count, balance_by::weight}) {
      auto one = random_state(random, 12, 60);
      one.options.by = by;
      std::vector<std::uint32_t> member_at(one.members.size());
      std::vector<std::uint32_t> lease_at(one.leases.size());
      std::iota(member_at.begin(), member_at.end(), 0U);
      std::iota(lease_at.begin(), lease_at.end(), 0U);
      random.shuffle(member_at);
      random.shuffle(lease_at);
      state other = one;
      for (std::size_t i = 0; i < member_at.size(); ++i)
        other.members[member_at[i]] = one.members[i];
      auto const owner_at = [&](std::uint32_t owner) {
        return owner < member_at.size() ? member_at[owner] : owner;
      };
      for (std::size_t i = 0; i < lease_at.size(); ++i) {
        other.leases[lease_at[i]] = one.leases[i];
        other.leases[lease_at[i]].owner = owner_at(one.leases[i].owner);
      }
      auto expected = planned(one);
      for (auto& move : expected)
        move = {lease_at[move.lease], owner_at(move.from), member_at[move.to]};
      CHECK(planned(other) == expected);
    }
  }
}

TEST_CASE("one more member is given what is above an even share, of the leases that moved least") {
  state one{plain_members(10), dealt_leases(1'000, 9)};
  for (std::size_t i = 0; i < one.leases.size(); ++i) one.leases[i].epoch = i / 9 % 3;
  auto const moves = planned(one);
  CHECK(moves.size() == 100);
  for (auto const& move : moves) {
    CHECK(move.to == 9);
    CHECK(one.leases[move.lease].epoch == 0);
  }
}

TEST_CASE("of leases that moved equally often, those of low ids are given") {
  state one{plain_members(2), dealt_leases(40, 1)};
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> ids;
  for (auto const& lease : one.leases) ids.push_back(lease.id);
  for (auto const& move : planned(one)) given.push_back(one.leases[move.lease].id);
  std::ranges::sort(ids);
  ids.resize(20);
  CHECK(given == ids);
}

TEST_CASE("free leases go by their ids, however many there are and whatever the ids are like") {
  test::random random{13};
  for (unsigned const shift : {0U, 8U, 40U, 63U}) {
    for (std::size_t const count : {1'000U, 1'024U, 5'000U}) {
      state one{plain_members(3), free_leases(count)};
      for (std::size_t i = 0; i < count; ++i) {
        auto& lease = one.leases[i];
        lease.id =
            shift == 63 ? i << 32 | random.below(2) : random() >> shift << 12 >> 12 | i << 52;
        if (shift == 40 && i % 2 == 0) lease.owner = 0;
        lease.epoch = random.below(2);
      }
      moves_type moves = planned(one);
      std::erase_if(moves, [](auto const& move) { return move.from != free_lease; });
      CHECK(std::ranges::is_sorted(moves, {},
                                   [&](auto const& move) { return one.leases[move.lease].id; }));
    }
  }
  state one{plain_members(2), dealt_leases(6'000, 1)};
  for (auto& lease : one.leases) lease.epoch = random.below(3);
  auto const moves = planned(one);
  CHECK(moves.size() == 3'000);
  CHECK(std::ranges::is_sorted(moves, {}, [&](auto const& move) {
    return std::pair{one.leases[move.lease].epoch, one.leases[move.lease].id};
  }));
}

TEST_CASE("who has one more keeps it, and who has none is given one in the order of keys") {
  state one{plain_members(4), dealt_leases(10, 4)};  // 3, 3, 2, 2
  CHECK(planned(one).empty());
  // The seed decides who has one more of free ones: over many sets, everybody.
  std::vector<int> first(4);
  one.leases = free_leases(1);
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    one.options.seed = seed;
    auto const moves = planned(one);
    REQUIRE(moves.size() == 1);
    ++first[moves[0].to];
  }
  for (int const times : first) CHECK(times > 60);
}

TEST_CASE("a dead member's leases stay until it is known that it is not active") {
  state one{plain_members(3), dealt_leases(12, 4)};
  for (auto& lease : one.leases)
    if (lease.owner == 3) lease.owner = kept_lease;
  CHECK(planned(one).empty());
  for (auto& lease : one.leases)
    if (lease.owner == kept_lease) lease.owner = free_lease;
  CHECK(planned(one).size() == 3);
}

TEST_CASE("a lease goes to its zone as long as somebody there has too few") {
  state one{plain_members(4), free_leases(8)};
  for (std::size_t i = 0; i < 4; ++i) one.members[i].zone = i < 2 ? 7 : 8;
  for (std::size_t i = 0; i < 8; ++i) one.leases[i].zone = i < 5 ? 7 : i == 5 ? 9 : 8;
  make(planned(one), one);
  CHECK(counts_of(one) == std::vector<std::uint64_t>{2, 2, 2, 2});
  std::size_t at_home = 0;
  for (auto const& lease : one.leases) at_home += one.members[lease.owner].zone == lease.zone;
  CHECK(at_home == 6);
}

TEST_CASE("as many free leases as can go to their zones do, at random") {
  test::random random{9};
  for (int round = 0; round < 300; ++round) {
    state one{plain_members(1 + random.below(12)), free_leases(random.below(100))};
    for (auto& member : one.members) member.zone = random.below(4);
    for (auto& lease : one.leases) lease.zone = random.below(5);
    auto const moves = planned(one);
    std::vector<std::uint64_t> room(5);
    std::vector<std::uint64_t> of_zone(5);
    std::vector<std::uint64_t> at_home(5);
    for (auto const& move : moves) {
      auto const zone = one.leases[move.lease].zone;
      ++room[one.members[move.to].zone];
      ++of_zone[zone];
      at_home[zone] += zone == one.members[move.to].zone;
    }
    CHECK(moves.size() == one.leases.size());
    for (std::size_t zone = 1; zone < 5; ++zone)
      CHECK(at_home[zone] == (std::min)(room[zone], of_zone[zone]));
  }
}

TEST_CASE("a member gives leases of other zones before its own") {
  for (auto const by : {balance_by::count, balance_by::weight}) {
    state one{plain_members(2), dealt_leases(20, 1), {.by = by}};
    one.members[0].zone = 1;
    for (std::size_t i = 0; i < 20; ++i) {
      one.leases[i].zone = i % 2;
      one.leases[i].epoch = 1 - i % 2;  // those of zone 1 have moved less, to no avail
    }
    for (auto& lease : one.leases) lease.zone = lease.zone == 1 ? 1 : 2;
    auto const moves = planned(one);
    CHECK(moves.size() == 10);
    for (auto const& move : moves) CHECK(one.leases[move.lease].zone == 2);
  }
}

TEST_CASE("without room for all, the planner says how many have none") {
  state one{plain_members(2), free_leases(10)};
  for (auto& member : one.members) member.most = 3;
  for (auto const by : {balance_by::count, balance_by::weight}) {
    planner made;
    one.options.by = by;
    CHECK(made.plan(one.members, one.leases, one.options).size() == 6);
    CHECK(made.without_room() == 4);
    one.members[0].leaves = true;
    CHECK(made.plan(one.members, one.leases, one.options).size() == 3);
    CHECK(made.without_room() == 7);
    one.members[1].most = 0;
    CHECK(made.plan(one.members, one.leases, one.options).size() == 10);
    CHECK(made.without_room() == 0);
    one.members[0].leaves = false;
    one.members[1].most = 3;
  }
}

TEST_CASE("nobody is planned for where nobody takes") {
  for (auto const by : {balance_by::count, balance_by::weight}) {
    planner made;
    CHECK(made.plan({}, free_leases(3), {.by = by}).empty());
    CHECK(made.without_room() == 3);
    CHECK(planned({plain_members(3), {}, {.by = by}}).empty());
    state one{plain_members(2), dealt_leases(5, 2), {.by = by}};
    one.members[0].takes = false;
    one.members[1].leaves = true;
    CHECK(planned(one).empty());
  }
}

TEST_CASE("a bound on what one member gives away makes a plan shorter, not another one") {
  test::random random{3};
  for (auto const by : {balance_by::count, balance_by::weight}) {
    for (int round = 0; round < 100; ++round) {
      auto one = random_state(random, 12, 200);
      one.options.by = by;
      auto const whole = planned(one);
      one.options.most_moves_of_donor = 1 + random.below(3);
      auto const moves = planned(one);
      std::vector<std::size_t> given(one.members.size());
      moves_type expected;
      for (auto const& move : whole)
        if (move.from == free_lease || ++given[move.from] <= one.options.most_moves_of_donor)
          expected.push_back(move);
      CHECK(moves == expected);
    }
  }
  state one{plain_members(4), dealt_leases(100, 1), {.most_moves_of_donor = 5}};
  int rounds = 0;
  for (auto moves = planned(one); !moves.empty(); moves = planned(one), ++rounds) make(moves, one);
  CHECK(rounds == 15);
}

TEST_CASE("leases of no zone are given as those of the member's own are") {
  state one{plain_members(2), dealt_leases(20, 1)};
  one.members[0].zone = 1;
  for (std::size_t i = 0; i < 20; ++i) {
    one.leases[i].zone = i % 2;
    one.leases[i].epoch = i % 2;
  }
  for (auto const& move : planned(one)) CHECK(one.leases[move.lease].zone == 0);
  for (auto& lease : one.leases) lease.epoch = 1 - lease.epoch;
  for (auto const& move : planned(one)) CHECK(one.leases[move.lease].zone == 1);
}

// ---- by weight ----

std::vector<double> loads_of(state const& of) {
  std::vector<double> loads(of.members.size());
  for (auto const& one : of.leases)
    if (one.owner < loads.size()) loads[one.owner] += one.weight;
  return loads;
}

// As the planner rounds them: the nearest power of the square root of 2.
void round_weights(state& of) {
  constexpr double steps[]{1, 0x1.6A09E668p0};
  for (auto& lease : of.leases) {
    double near = 0x1p-20;
    for (int power = -20; power < 40; ++power)
      for (double const step : steps) {
        double const one = step * (power < 0 ? 1.0 / static_cast<double>(1ULL << -power)
                                             : static_cast<double>(1ULL << power));
        auto const ratio = [&](double a) {
          return a > lease.weight ? a / lease.weight : lease.weight / a;
        };
        if (ratio(one) < ratio(near)) near = one;
      }
    lease.weight = near;
  }
}

state weighed_state(test::random& random, std::size_t most_members, std::size_t most_leases) {
  state made{plain_members(2 + random.below(most_members - 1)),
             free_leases(random.below(most_leases)),
             {.by = balance_by::weight}};
  auto const crowd = 1 + random.below(made.members.size());
  bool const has_zones = random.chance(30);
  for (auto& one : made.members) {
    one.session.value ^= random();
    if (has_zones) one.zone = random.below(3);
  }
  for (auto& one : made.leases) {
    one.id ^= random();
    one.epoch = random.below(4);
    one.owner = static_cast<std::uint32_t>(random.below(crowd));
    if (has_zones) one.zone = random.below(3);
    one.weight = 1 + random.exponential(random.chance(5) ? 20 : 2);
  }
  round_weights(made);
  return made;
}

TEST_CASE("any part of a plan by weight makes the sorted loads fall, so that plans end") {
  test::random random{4};
  int longest = 0;
  for (int round = 0; round < 300; ++round) {
    auto one = weighed_state(random, 20, 200);
    int plans = 0;
    for (;; ++plans) {
      auto moves = planned(one);
      if (moves.empty()) break;
      // Any part of it, in any order: where that leads to is where this part leads to in the order
      // of the plan.
      if (random.chance(50)) {
        auto const first = moves.front();
        std::erase_if(moves, [&](auto const&) { return random.chance(50); });
        if (moves.empty()) moves.push_back(first);
      }
      for (auto const& move : moves) {
        auto const loads = loads_of(one);
        double const weight = one.leases[move.lease].weight;
        double const from = loads[move.from];
        double const to = loads[move.to];
        // The heavier of the two falls by more than a step of the scale, and both stay below it: so
        // do the sorted loads.
        CHECK((std::max)(from - weight, to + weight) < from - weight * 0.29);
        CHECK(from - to > from * 0.0999);
        make(move, one);
      }
      REQUIRE(plans < 200);
    }
    longest = (std::max)(longest, plans);
  }
  CHECK(longest > 1);
}

TEST_CASE("where the plan by weight is empty no move would be worth it") {
  test::random random{5};
  for (int round = 0; round < 200; ++round) {
    auto one = weighed_state(random, 10, 80);
    for (auto moves = planned(one); !moves.empty(); moves = planned(one)) make(moves, one);
    auto const loads = loads_of(one);
    for (auto const& lease : one.leases)
      for (double const to : loads) {
        double const from = loads[lease.owner];
        double const falls = from - (std::max)(from - lease.weight, to + lease.weight);
        CHECK((falls < lease.weight * 0.2931 || from - to <= from * 0.1001));
      }
  }
}

TEST_CASE("nobody both gives and is given in one plan by weight") {
  test::random random{6};
  for (int round = 0; round < 300; ++round) {
    auto one = random_state(random, 20, 200);
    one.options.by = balance_by::weight;
    std::vector<bool> gives(one.members.size());
    std::vector<bool> is_given(one.members.size());
    std::vector<int> times(one.leases.size());
    for (auto const& move : planned(one)) {
      if (move.from != free_lease) gives[move.from] = true;
      is_given[move.to] = true;
      CHECK(++times[move.lease] == 1);
      CHECK(move.from == one.leases[move.lease].owner);
      CHECK(shares(one.members[move.to]));
    }
    for (std::size_t i = 0; i < gives.size(); ++i) CHECK(!(gives[i] && is_given[i]));
  }
}

TEST_CASE("bounds hold by weight, too, and what is free or left finds room") {
  test::random random{7};
  for (int round = 0; round < 400; ++round) {
    auto one = random_state(random, 12, 120);
    one.options.by = balance_by::weight;
    auto const before = one;
    int plans = 0;
    std::size_t without_room = 0;
    for (;; ++plans) {
      REQUIRE(plans < 200);
      planner made;
      auto const moves = made.plan(one.members, one.leases, one.options);
      without_room = made.without_room();
      if (moves.empty()) break;
      make({moves.begin(), moves.end()}, one);
    }
    auto const counts = counts_of(one);
    std::uint64_t homeless = count_of(one, free_lease);
    std::uint64_t shared = homeless;
    std::uint64_t least = 0;
    bool is_full = true;
    bool is_needy = false;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      auto const& member = one.members[i];
      if (member.leaves) homeless += counts[i];
      if (member.leaves || shares(member)) shared += counts[i];
      if (!member.leaves && !member.takes) CHECK(counts[i] == counts_of(before)[i]);
      if (!shares(member)) continue;
      least += member.least;
      auto const most = (std::max)(member.least, member.most);
      if (member.most == 0 || counts[i] < most) is_full = false;
      is_needy = is_needy || counts[i] < member.least;
    }
    bool const nobody = std::ranges::none_of(one.members, shares);
    CHECK((homeless == 0 || is_full || nobody));
    if (!nobody) CHECK(without_room == homeless);
    if (least <= shared && homeless == 0) CHECK(!is_needy);
    if (!is_full)
      for (std::size_t i = 0; i < counts.size(); ++i)
        if (shares(one.members[i]) && one.members[i].most > 0)
          CHECK(counts[i] <= (std::max)(one.members[i].least, one.members[i].most));
    CHECK(count_of(one, kept_lease) == count_of(before, kept_lease));
  }
}

TEST_CASE("leases of equal or of no weight are shared out by their number") {
  for (double const weight : {0.0, 1.0, 3e9}) {
    state one{plain_members(7), free_leases(40), {.by = balance_by::weight}};
    for (auto& lease : one.leases) lease.weight = weight;
    auto const moves = planned(one);
    CHECK(moves.size() == 40);
    make(moves, one);
    auto const [least, most] = std::ranges::minmax(counts_of(one));
    CHECK(most - least <= 1);
    CHECK(planned(one).empty());
  }
}

TEST_CASE("what is free goes to the least loaded, the heaviest first") {
  state one{plain_members(3), free_leases(5), {.by = balance_by::weight}};
  double const weights[]{1, 8, 2, 4, 1};
  for (std::size_t i = 0; i < 5; ++i) one.leases[i].weight = weights[i];
  auto const moves = planned(one);
  REQUIRE(moves.size() == 5);
  CHECK(moves[0].lease == 1);
  CHECK(moves[1].lease == 3);
  CHECK(moves[2].lease == 2);
  make(moves, one);
  auto loads = loads_of(one);
  std::ranges::sort(loads);
  CHECK(loads == std::vector<double>{4, 4, 8});
}

TEST_CASE("of what is left and what is free, the heaviest goes first") {
  state one{plain_members(3), free_leases(4), {.by = balance_by::weight}};
  one.members[2].leaves = true;
  one.leases[3].owner = 2;
  one.leases[3].weight = 8;
  auto const moves = planned(one);
  REQUIRE(moves.size() == 4);
  CHECK(moves[0] == plan_move{3, 2, moves[0].to});
  for (std::size_t i = 1; i < 4; ++i) CHECK(moves[i].to != moves[0].to);
}

TEST_CASE("of equal loads, who has fewer leases is given the next") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    state one{plain_members(2), dealt_leases(4, 1), {.by = balance_by::weight, .seed = seed}};
    one.leases[0] = {.id = 1, .owner = 0, .weight = 2};
    one.leases[1] = {.id = 2, .owner = 1, .weight = 1};
    one.leases[2] = {.id = 3, .owner = 1, .weight = 1};
    one.leases[3] = {.id = 4, .weight = 1};
    CHECK(planned(one) == moves_type{{3, free_lease, 0}});
  }
}

TEST_CASE("leases of no work count a little, too") {
  state one{plain_members(2), dealt_leases(512, 1), {.by = balance_by::weight}};
  for (auto& lease : one.leases) lease.weight = 0;
  one.leases[0].weight = one.leases[1].weight = 64;
  one.leases[1].owner = 1;
  auto const moves = planned(one);
  CHECK(!moves.empty());
  for (auto const& move : moves) CHECK(one.leases[move.lease].weight == 0);
}

TEST_CASE(
    "a lease that is as heavy as what a member has too much is not moved if it tips the other") {
  state one{plain_members(5), {}, {.by = balance_by::weight}};
  one.leases = dealt_leases(32, 4);
  for (auto& lease : one.leases) ++lease.owner;
  for (auto lease : free_leases(43)) {
    if (one.leases.size() == 43) break;
    lease.id += 7;
    lease.owner = 0;
    lease.weight = one.leases.size() == 32 ? 8 : 1;
    one.leases.push_back(lease);
  }
  auto const moves = planned(one);
  CHECK(!moves.empty());
  for (auto const& move : moves) CHECK(one.leases[move.lease].weight == 1);
}

TEST_CASE("by weight, a zone takes no more of its leases than its share") {
  state one{plain_members(2), free_leases(40), {.by = balance_by::weight}};
  one.members[0].zone = 1;
  one.members[1].zone = 2;
  for (std::size_t i = 0; i < 40; ++i) one.leases[i].zone = i < 38 ? 1 : 2;
  make(planned(one), one);
  CHECK(counts_of(one)[0] >= 20);
  CHECK(counts_of(one)[0] <= 21);
  one = {plain_members(2), free_leases(40), {.by = balance_by::weight}};
  one.members[0].zone = 1;
  one.members[1].zone = 2;
  for (std::size_t i = 0; i < 40; ++i) one.leases[i].zone = i % 2 + 1;
  make(planned(one), one);
  for (auto const& lease : one.leases) CHECK(one.members[lease.owner].zone == lease.zone);
}

TEST_CASE("by weight, who has fewer than the least number comes before zones") {
  state one{plain_members(3), free_leases(9), {.by = balance_by::weight}};
  one.members[0].zone = 1;
  one.members[1] = {.session = one.members[1].session, .least = 1, .zone = 2};
  for (auto& lease : one.leases) lease.zone = 1;
  CHECK(planned(one)[0].to == 1);
  one.leases = dealt_leases(10, 1);
  for (auto& lease : one.leases) {
    lease.owner = 2;
    lease.zone = 1;
  }
  one.options.most_moves_of_donor = 1;
  auto const moves = planned(one);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].to == 1);
}

TEST_CASE("a lease that is heavier than an even share is told of, for only to split it helps") {
  state one{plain_members(4), dealt_leases(40, 4), {.by = balance_by::weight}};
  one.leases[8].weight = 1024;
  one.leases[9].weight = 32;
  planner made;
  CHECK(!made.plan(one.members, one.leases, one.options).empty());
  REQUIRE(made.too_heavy().size() == 2);
  CHECK(made.too_heavy()[0] == 8);
  CHECK(made.too_heavy()[1] == 9);
  // Less than a third of what is left: the heavy one counts neither, nor the member it takes.
  one.leases[9].weight = 16;
  CHECK(!made.plan(one.members, one.leases, one.options).empty());
  CHECK(made.too_heavy().size() == 1);
  auto moves = planned(one);
  for (int rounds = 0; !moves.empty(); moves = planned(one), ++rounds) {
    REQUIRE(rounds < 5);
    for (auto const& move : moves) CHECK(move.lease != 8);
    make(moves, one);
  }
  auto const loads = loads_of(one);
  CHECK(loads[0] == 1024);
  one.leases[8].weight = 8;
  one.leases[9].weight = 8;
  CHECK((static_cast<void>(made.plan(one.members, one.leases, one.options)),
         made.too_heavy().empty()));
}

TEST_CASE("weights that are measured a little differently have the same plan") {
  test::random random{8};
  for (int round = 0; round < 50; ++round) {
    auto one = weighed_state(random, 10, 100);
    auto const moves = planned(one);
    for (auto& lease : one.leases) lease.weight *= 0.9 + 0.2 * random.unit();
    CHECK(planned(one) == moves);
  }
}

TEST_CASE("by weight a busy fleet comes to within a fifth of an even load by few moves") {
  test::random random{10};
  for (int round = 0; round < 10; ++round) {
    state one{plain_members(50), dealt_leases(5'000, 50), {.by = balance_by::weight}};
    for (auto& lease : one.leases) {
      double weight = 1;  // lognormal, roughly
      for (int i = 0; i < 12; ++i) weight *= 0.5 + random.unit();
      lease.weight = weight;
    }
    std::size_t moved = 0;
    for (auto moves = planned(one); !moves.empty(); moves = planned(one)) {
      moved += moves.size();
      make(moves, one);
    }
    auto const loads = loads_of(one);
    double const sum = std::accumulate(loads.begin(), loads.end(), 0.0);
    CHECK(*std::ranges::max_element(loads) < 1.2 * sum / 50);
    CHECK(moved < 250);
  }
}

TEST_CASE("weights from the least to the greatest number are understood") {
  state one{plain_members(2), free_leases(4), {.by = balance_by::weight}};
  one.leases[0].weight = (std::numeric_limits<double>::max)();
  one.leases[1].weight = (std::numeric_limits<double>::denorm_min)();
  one.leases[2].weight = (std::numeric_limits<double>::min)();
  one.leases[3].weight = -0.0;
  make(planned(one), one);
  CHECK(counts_of(one)[one.leases[0].owner] == 1);
}

// ---- both ----

TEST_CASE("a planner that has planned as much before allocates nothing") {
  planner made;
  for (auto const by : {balance_by::count, balance_by::weight}) {
    state one{plain_members(50), dealt_leases(2'000, 49), {.by = by}};
    for (std::size_t i = 0; i < 50; ++i) one.members[i].zone = i % 3;
    for (std::size_t i = 0; i < 2'000; ++i) one.leases[i].zone = i % 4;
    for (std::size_t i = 0; i < 100; ++i) one.leases[i].owner = free_lease;
    one.members[3].leaves = true;
    std::size_t moves = made.plan(one.members, one.leases, one.options).size();
    CHECK(test::allocations_in(
              [&] { moves -= made.plan(one.members, one.leases, one.options).size(); }) == 0);
    CHECK(moves == 0);
  }
}

TEST_CASE("what a planner was told before does not matter") {
  test::random random{12};
  planner made;
  for (int round = 0; round < 200; ++round) {
    auto one = random_state(random, 15, 100);
    if (round % 2 == 1) one.options.by = balance_by::weight;
    auto const moves = made.plan(one.members, one.leases, one.options);
    CHECK(moves_type{moves.begin(), moves.end()} == planned(one));
  }
}

TEST_CASE("a planner is told of members whom there are, and of weights that are") {
  using test::promise_broken_by;
  state const good{plain_members(2), free_leases(2)};
  auto const broken_by = [&](auto change) {
    state one = good;
    change(one);
    return promise_broken_by([&] { return planned(one).size(); });
  };
  CHECK(broken_by([](state&) {}).empty());
  CHECK(broken_by([](state& one) { one.leases[1].owner = 2; }) ==
        "the owner of a lease is a member");
  CHECK(broken_by([](state& one) { one.members[1].session = one.members[0].session; }) ==
        "the sessions of members differ");
  for (double const weight :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(broken_by([&](state& one) { one.leases[0].weight = weight; }).empty());
    CHECK(broken_by([&](state& one) {
            one.leases[0].weight = weight;
            one.options.by = balance_by::weight;
          }) == "a weight is finite and not below zero");
  }
}

TEST_CASE("the example of plan reads as it should") {
  // [region: example]
  std::vector<keyspan::planned_member> members{{.session = keyspan::session_id{0xA1}},
                                               {.session = keyspan::session_id{0xB2}}};
  std::vector<keyspan::planned_lease> leases{{.id = 1, .owner = 0},
                                             {.id = 2, .owner = 0},
                                             {.id = 3, .owner = 0},
                                             {.id = 4, .owner = keyspan::free_lease}};
  keyspan::planner planner;
  auto const moves = planner.plan(members, leases);

  check(moves.size() == 2);  // the free one and one of three go to who has none
  check(moves[0].lease == 3 && moves[0].from == keyspan::free_lease && moves[0].to == 1);
  check(moves[1].lease == 0 && moves[1].from == 0 && moves[1].to == 1);

  leases[0].owner = 1;  // whichever is made first, the other one is left
  check(planner.plan(members, leases).size() == 1);
  // [end: example]
}

}  // namespace
