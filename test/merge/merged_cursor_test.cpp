// test/merge/merged_cursor_test.cpp — where a merge stands: to the item, in every order, whatever
// became of the partitions; and its text.
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>

#include "resumption.hpp"

#include <feed/journal.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::as_they_come;
using keyspan::ascending;
using keyspan::by_time;
using keyspan::cosmos_v2;
using keyspan::descending;
using keyspan::errc;
using keyspan::identified_by;
using keyspan::round_robin;
using keyspan::token128;
using test::all_manners;
using test::all_of_it;
using test::check;
using test::entry;
using test::journals;
using test::kept_cursor;
using test::manner;
using test::read_merged;
using test::reading;
using test::reviews_in;
using test::sorted;

constexpr auto number = [](entry const& one) { return one.number; };
constexpr auto group = [](entry const& one) { return one.number / 6; };
constexpr auto group_downwards = [](entry const& one) { return -one.number / 6; };
constexpr auto clock_gone_back = [](entry const& one) { return one.number * 7 % 11; };
constexpr auto place_in_group = [](entry const& one) { return one.number % 6; };
// All have the same first eight bytes.
constexpr auto text = [](entry const& one) {
  return "customer " + std::to_string(1000 + one.number / 3);
};
constexpr auto place_in_text = [](entry const& one) { return one.number % 3; };

// What becomes of the partitions between two merges.
using change = void (*)(journals&);
constexpr change nothing = [](journals&) {};
constexpr change a_split = [](journals& all) { all.front().split_in_half("1"); };
constexpr change a_merge = [](journals& all) { all.front().merge("0", "1"); };
constexpr change many = [](journals& all) {
  auto const id = [&](std::size_t at) { return all.front().live()[at].id; };
  all.front().split_in_half(id(2));
  all.front().merge(id(1), id(2));
  for (auto& one : all) one.split_in_half(one.live().front().id);
};

std::vector<int> all_of(journals sources, auto const& order, reading how) {
  std::vector<int> given;
  read_merged(sources, order, how, {}, all_of_it, given);
  return given;
}

journals one_of(int entries) { return {reviews_in(3, entries)}; }
journals three_of(int entries) {
  return {reviews_in(3, entries), reviews_in(1, entries / 3), reviews_in(2, entries / 2)};
}

bool holds_the_same(std::vector<int> const& a, std::vector<int> const& b) {
  return sorted(a) == sorted(b);
}

// Takes n items, goes on elsewhere, and says how the two together differ.
template <class Order>
std::vector<int> resumed(journals sources, Order const& order, reading first, reading second,
                         std::size_t n, change become) {
  std::vector<int> given;
  auto const kept = read_merged(sources, order, first, {}, n, given);
  become(sources);
  read_merged(sources, order, second, kept, all_of_it, given);
  return given;
}

template <class Order>
void goes_on_from_everywhere(journals const& sources, Order const& order, bool is_exact) {
  auto const whole = all_of(sources, order, {});
  test::random rng{7};
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    for (manner const by : all_manners) {
      reading const first{by, 3, 1 + rng.below(9), rng.chance(50)};
      reading const second{all_manners[rng.below(4)], 3, 1 + rng.below(9), rng.chance(50)};
      auto const same = resumed(sources, order, first, second, n, nothing);
      INFO(n << " by " << static_cast<int>(by));
      CHECK((is_exact ? same == whole : holds_the_same(same, whole)));
      change const becomes[] = {a_split, a_merge, many};
      change const become = becomes[(n + static_cast<std::size_t>(by)) % 3];
      CHECK(holds_the_same(resumed(sources, order, first, second, n, become), whole));
      reading other = second;
      other.page_size = static_cast<std::uint32_t>(1 + rng.below(9));
      auto const paged = resumed(sources, order, first, other, n, nothing);
      CHECK((is_exact ? paged == whole : holds_the_same(paged, whole)));
      if (n % 2 == 0) CHECK(holds_the_same(resumed(sources, order, first, other, n, many), whole));
    }
  }
}

TEST_CASE("a merge goes on from every item: by columns, told apart by identity") {
  goes_on_from_everywhere(one_of(40), identified_by(ascending(group), number), true);
  goes_on_from_everywhere(
      three_of(30),
      identified_by(ascending(group), [](entry const& one) { return std::pair{one.number, 0}; }),
      true);
  goes_on_from_everywhere(one_of(40), identified_by(descending(group_downwards), number), true);
}

TEST_CASE("a merge goes on from every item: by columns of which no two items are alike") {
  goes_on_from_everywhere(one_of(40), ascending(number), true);
  goes_on_from_everywhere(one_of(40), descending([](entry const& one) { return -one.number; }),
                          true);
}

TEST_CASE("a merge goes on from every item: by columns of more than what a word tells") {
  goes_on_from_everywhere(one_of(30), identified_by(ascending(text), number), true);
  // What tells items apart that are equal by the order need not do so for others.
  goes_on_from_everywhere(one_of(30), identified_by(ascending(text), place_in_text), true);
  goes_on_from_everywhere(
      one_of(30),
      identified_by(ascending(group).then(ascending([](entry const& one) { return one.number; })),
                    [](entry const&) { return 0; }),
      true);
}

TEST_CASE("a merge goes on from every item: by time") {
  goes_on_from_everywhere(one_of(40), identified_by(by_time(clock_gone_back), number), true);
  goes_on_from_everywhere(three_of(24), identified_by(by_time(clock_gone_back), number), true);
  goes_on_from_everywhere(one_of(30),
                          identified_by(by_time(number), [](entry const&) { return 0; }), true);
}

TEST_CASE("a merge goes on from every item: in turn") {
  goes_on_from_everywhere(one_of(40), identified_by(round_robin, number), true);
  goes_on_from_everywhere(three_of(24), identified_by(round_robin, number), true);
}

TEST_CASE("a merge goes on from every item: as they come") {
  goes_on_from_everywhere(one_of(40), identified_by(as_they_come, number), false);
  goes_on_from_everywhere(three_of(24), identified_by(as_they_come, number), false);
}

// How often each number was given.
std::vector<int> counts(std::vector<int> const& given, std::size_t size) {
  std::vector<int> found(size, 0);
  for (int const one : given) ++found[static_cast<std::size_t>(one)];
  return found;
}

template <class Order, class Run>
void repeats_a_run_at_most(Order const& order, Run run, bool is_exact) {
  auto const sources = one_of(40);
  auto const whole = all_of(sources, order, {});
  bool has_repeated = false;
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (manner const by : all_manners) {
      reading const first{by, 3, 5, n % 2 == 0};
      auto const same = resumed(sources, order, first, {manner::loop, 4}, n, nothing);
      CHECK((is_exact ? same == whole : holds_the_same(same, whole)));
      for (change const become : {a_split, many}) {
        auto const given = resumed(sources, order, first, {manner::items, 2}, n, become);
        auto const often = counts(given, whole.size());
        for (std::size_t i = 0; i < often.size(); ++i) {
          CHECK(often[i] >= 1);
          CHECK(often[i] <= 2);
          if (often[i] < 2) continue;
          has_repeated = true;
          // Only what stands beside an item that was not given.
          CHECK(n < whole.size());
          CHECK(std::any_of(whole.begin() + static_cast<std::ptrdiff_t>(n), whole.end(),
                            [&](int next) { return run(next) == run(static_cast<int>(i)); }));
        }
      }
    }
  CHECK(has_repeated);
}

TEST_CASE(
    "without an identity a split repeats the run that the merge stood in, and loses nothing") {
  auto const run = [](int one) { return one / 6; };
  repeats_a_run_at_most(ascending(group), run, true);
  // Of more than the first column the cursor does not tell.
  repeats_a_run_at_most(ascending(group).then(ascending(place_in_group)), run, true);
}

TEST_CASE("without an identity and an order a split repeats the page, and loses nothing") {
  auto const all = [](int) { return 0; };
  repeats_a_run_at_most(by_time(clock_gone_back), all, true);
  repeats_a_run_at_most(round_robin, all, true);
  repeats_a_run_at_most(as_they_come, all, false);
}

// Three merges, each goes on where the one before it stood, which gave m items, or none.
template <class Order>
void goes_on_twice(journals const& at_first, Order const& order, bool is_exact) {
  auto const whole = all_of(at_first, order, {});
  test::random rng{9};
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (std::size_t const m : {0u, 1u, 2u, 4u, 7u})
      for (bool const has_split : {false, true}) {
        auto sources = at_first;
        auto const any = [&] {
          return reading{rng.pick(all_manners), static_cast<std::uint32_t>(1 + rng.below(8)),
                         1 + rng.below(9), rng.chance(50)};
        };
        std::vector<int> given;
        auto const first = read_merged(sources, order, any(), {}, n, given);
        if (has_split) a_split(sources);
        auto const second = read_merged(sources, order, any(), first, m, given);
        if (has_split) many(sources);
        auto const third = read_merged(sources, order, any(), second, m / 2, given);
        read_merged(sources, order, any(), third, all_of_it, given);
        INFO(n << ", " << m);
        CHECK((is_exact && !has_split ? given == whole : holds_the_same(given, whole)));
      }
}

TEST_CASE("a merge that was gone on with is gone on with again") {
  goes_on_twice(one_of(40), identified_by(ascending(group), number), true);
  goes_on_twice(one_of(30), identified_by(ascending(text), place_in_text), true);
  goes_on_twice(one_of(40), identified_by(by_time(clock_gone_back), number), true);
  goes_on_twice(one_of(40), identified_by(round_robin, number), true);
  goes_on_twice(one_of(40), identified_by(as_they_come, number), false);
  goes_on_twice(three_of(21), identified_by(ascending(group), number), true);
}

TEST_CASE("without an identity it goes on exactly as often as partitions stay") {
  auto const sources = one_of(30);
  auto const whole = all_of(sources, ascending(group), {});
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (std::uint32_t page = 1; page < 6; ++page) {
      auto world = sources;
      std::vector<int> given;
      auto const first = read_merged(world, ascending(group), {}, {}, n, given);
      auto const second =
          read_merged(world, ascending(group), {manner::items, page}, first, 2, given);
      read_merged(world, ascending(group), {manner::late, 6 - page}, second, all_of_it, given);
      CHECK(given == whole);
    }
}
}  // namespace
