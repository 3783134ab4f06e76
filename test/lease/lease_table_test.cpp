// test/lease/lease_table_test.cpp — the table of a lease: nothing is left out of it, nothing stands
// in it in vain, and one with a hole or a double is refused.
#include <keyspan/lease/lease_table.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/enumerators.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::lease_action;
using keyspan::lease_condition;
using keyspan::lease_event_kind;
using keyspan::lease_events;
using keyspan::lease_row;
using keyspan::lease_state;
using keyspan::lease_states;
using keyspan::lease_table;
using keyspan::detail::decides_every_pair;
using test::check;
using enum keyspan::lease_state;

constexpr std::size_t rows = lease_table.size();
using table = std::array<lease_row, rows>;

constexpr std::uint16_t bit_of(lease_state state) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(state));
}
constexpr lease_row& row_of(table& of, lease_state state, lease_event_kind event,
                            lease_condition when) {
  return *std::find_if(of.begin(), of.end(), [&](lease_row const& row) {
    return row.is_for(state) && row.event == event && row.when == when;
  });
}

// ---- what is refused

constexpr table with_a_hole() {
  auto made = lease_table;
  auto& row = row_of(made, ended, lease_event_kind::closed, lease_condition::always);
  row.states = static_cast<std::uint16_t>(row.states ^ bit_of(ended));
  return made;
}
constexpr table with_a_pair_that_is_not_always_decided() {
  auto made = lease_table;
  row_of(made, lost, lease_event_kind::closed, lease_condition::always).when =
      lease_condition::overdue;
  return made;
}
constexpr std::array<lease_row, rows + 1> with_a_doubled_pair() {
  std::array<lease_row, rows + 1> made{};
  std::copy(lease_table.begin(), lease_table.end(), made.begin());
  made[rows] = {bit_of(active), lease_event_kind::stop, lease_condition::always, true, {}, {}};
  return made;
}
constexpr table with_a_row_behind_the_one_that_always_holds() {
  auto made = lease_table;
  std::swap(row_of(made, watching, lease_event_kind::wanted, lease_condition::may_take),
            row_of(made, watching, lease_event_kind::wanted, lease_condition::always));
  return made;
}

static_assert(decides_every_pair(lease_table));
static_assert(!decides_every_pair(with_a_hole()));
static_assert(!decides_every_pair(with_a_pair_that_is_not_always_decided()));
static_assert(!decides_every_pair(with_a_doubled_pair()));
static_assert(!decides_every_pair(with_a_row_behind_the_one_that_always_holds()));
static_assert(!decides_every_pair(std::array<lease_row, 0>{}));

TEST_CASE("a table of leases is refused wherever the last row of a pair is missing") {
  std::size_t planted = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (lease_table[i].when != lease_condition::always) continue;
    for (std::size_t state = 0; state < lease_states; ++state) {
      if (!lease_table[i].is_for(static_cast<lease_state>(state))) continue;
      auto made = lease_table;
      made[i].states = static_cast<std::uint16_t>(made[i].states & ~(1U << state));
      REQUIRE(!decides_every_pair(made));
      ++planted;
    }
  }
  CHECK(planted == lease_states * lease_events);
}

TEST_CASE("a table of leases is refused wherever one row more would never be reached") {
  for (auto const& again : lease_table) {
    std::array<lease_row, rows + 1> made{};
    std::copy(lease_table.begin(), lease_table.end(), made.begin());
    made[rows] = again;
    REQUIRE(!decides_every_pair(made));
  }
}

// ---- what stands in it

TEST_CASE("a lease may come to be in each of its states") {
  std::uint16_t reached = bit_of(unknown);
  for (auto before = std::uint16_t{}; before != reached;) {
    before = reached;
    for (auto const& row : lease_table)
      if ((row.states & reached) != 0 && !row.stays)
        reached = static_cast<std::uint16_t>(reached | bit_of(row.to));
  }
  CHECK(reached == (1U << lease_states) - 1);
}

TEST_CASE("a lease that is not ended may come to be in each other state") {
  for (std::size_t from = 0; from < lease_states; ++from) {
    std::uint16_t reached = bit_of(static_cast<lease_state>(from));
    for (auto before = std::uint16_t{}; before != reached;) {
      before = reached;
      for (auto const& row : lease_table)
        if ((row.states & reached) != 0 && !row.stays)
          reached = static_cast<std::uint16_t>(reached | bit_of(row.to));
    }
    CHECK(reached == (1U << lease_states) - 1);  // also from `ended`, where the record is removed
  }
}

TEST_CASE("every condition and every action of the table of leases is used") {
  std::array<bool, 64> conditions{};
  std::array<bool, 64> actions{};
  for (auto const& row : lease_table) {
    conditions[static_cast<std::size_t>(row.when)] = true;
    bool is_over = false;  // nothing stands behind `none`
    for (auto const one : row.does) {
      actions[static_cast<std::size_t>(one)] = true;
      CHECK((!is_over || one == lease_action::none));
      is_over = one == lease_action::none;
    }
  }
  auto const are_used = [](std::array<bool, 64> const& used, auto const& names) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (used[i] == names[i].empty()) return false;
    return true;
  };
  CHECK(are_used(conditions, test::names_by_compiler<lease_condition>()));
  CHECK(are_used(actions, test::names_by_compiler<lease_action>()));
}

TEST_CASE("each row of the table of leases is for some state, and for none that is not there") {
  for (auto const& row : lease_table) {
    CHECK(row.states != 0);
    CHECK(row.states < 1U << lease_states);
    CHECK(static_cast<std::size_t>(row.event) < lease_events);
    // It says so where a state is kept, so that one reads which rows change it.
    CHECK((row.stays || row.states != bit_of(row.to)));
  }
}

TEST_CASE(
    "handlers are opened, stopped and given up where the table of leases says what it means") {
  for (auto const& row : lease_table) {
    auto const does = [&](lease_action one) {
      return std::find(row.does.begin(), row.does.end(), one) != row.does.end();
    };
    // What is open: active, draining and lost. So a way into them opens, and a way out is `closed`.
    auto const is_open = [](std::uint16_t states) {
      return (states & (bit_of(active) | bit_of(draining) | bit_of(lost))) != 0;
    };
    std::uint16_t const to = row.stays ? row.states : bit_of(row.to);
    if (does(lease_action::open)) {
      CHECK(!is_open(row.states));
      CHECK(to == bit_of(active));
    } else if (!row.stays) {
      CHECK((is_open(row.states) || !is_open(to)));
    }
    if (is_open(row.states) && !is_open(to)) CHECK(row.event == lease_event_kind::closed);
    CHECK(does(lease_action::cancel) == (is_open(row.states) && to == bit_of(lost) && !row.stays));
    CHECK(does(lease_action::stop_reading) == (to == bit_of(draining) && !row.stays));
  }
}

TEST_CASE("whoever is no owner writes nothing, by the table of leases, but to become one") {
  for (auto const& row : lease_table) {
    std::uint16_t const to = row.stays ? row.states : bit_of(row.to);
    for (auto const one : row.does) {
      switch (one) {
        case lease_action::acquire:
          CHECK((row.states == bit_of(watching) && to == bit_of(acquiring)));
          break;
        case lease_action::confirm:
          CHECK(to == bit_of(acquiring));
          break;
        case lease_action::beat:
        case lease_action::checkpoint:
        case lease_action::keep_up:
        case lease_action::write_again:
        case lease_action::detach:
          CHECK((to & ~(bit_of(active) | bit_of(draining))) == 0);
          break;
        case lease_action::leave:
          CHECK(to == bit_of(releasing));
          break;
        case lease_action::end:
          CHECK(to == bit_of(ending));
          break;
        default:
          break;
      }
    }
  }
}

// ---- the index

TEST_CASE("the index of a table of leases names the rows of each pair, in their order") {
  keyspan::detail::lease_index const index{lease_table};
  std::vector<bool> is_used(index.size() + 1, false);
  for (std::size_t s = 0; s < lease_states; ++s) {
    for (std::size_t e = 0; e < lease_events; ++e) {
      auto const state = static_cast<lease_state>(s);
      auto const event = static_cast<lease_event_kind>(e);
      std::vector<std::size_t> wanted;
      for (std::size_t i = 0; i < rows; ++i)
        if (lease_table[i].is_for(state) && lease_table[i].event == event) wanted.push_back(i);
      auto const number = index.number_of(state, event);
      REQUIRE(number <= index.size());
      is_used[number] = true;
      auto const& first = lease_table[wanted.front()];
      bool const is_nothing =
          wanted.size() == 1 && first.stays && first.does == std::array<lease_action, 4>{};
      CHECK((number == index.nothing) == is_nothing);
      if (number == index.nothing) continue;
      auto const& found = index.rows_of(number);
      CHECK(std::equal(wanted.begin(), wanted.end(), found.rows.begin(),
                       found.rows.begin() + static_cast<std::ptrdiff_t>(found.size)));
    }
  }
  CHECK(std::count(is_used.begin(), is_used.end(), false) == 0);
}

// ---- names

TEST_CASE("everything in the table of leases is called by its own name") {
  CHECK(test::are_named<lease_state>(lease_states));
  CHECK(test::are_named<lease_event_kind>(lease_events));
  CHECK(test::are_named<lease_condition>(18));
  CHECK(test::are_named<lease_action>(29));
  using test::promise_broken_by;
  CHECK(promise_broken_by([] { return name_of(lease_state{lease_states}); }) ==
        "a lease_state is one of the enumerators");
  CHECK(promise_broken_by([] { return name_of(lease_event_kind{lease_events}); }) ==
        "a lease_event_kind is one of the enumerators");
  CHECK(promise_broken_by([] { return name_of(lease_condition{18}); }) ==
        "a lease_condition is one of the enumerators");
  CHECK(promise_broken_by([] { return name_of(lease_action{29}); }) ==
        "a lease_action is one of the enumerators");
}

TEST_CASE("the example of lease_table reads as it should") {
  // [region: example]
  // What may become of a lease that is held when a write of it is refused?
  std::vector<std::string_view> ways;
  for (keyspan::lease_row const& row : keyspan::lease_table)
    if (row.is_for(keyspan::lease_state::active) && row.event == keyspan::lease_event_kind::refused)
      ways.push_back(name_of(row.when));
  check(ways == std::vector<std::string_view>{"still_held", "always"});
  // [end: example]
}

}  // namespace
