// test/merge/other_orders_test.cpp — by time, in turn, and as pages come: what each promises, by a
// plain loop that does the same the long way.
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include "worlds.hpp"

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::as_they_come;
using keyspan::by_time;
using keyspan::merge;
using keyspan::orders_items;
using keyspan::round_robin;
using keyspan::detail::run_end;
using keyspan::detail::stops_at_page_end;
using keyspan::detail::winner_tree;
using test::check;
using test::place;
using test::placed;
using test::places;
using test::sources_of;

using timed = placed<std::int64_t>;

TEST_CASE("the example of other_orders reads as it should") {
  std::vector<std::string> seen;
  auto const use = [&](auto const& one) { seen.push_back(one.what); };
  // [region: example]
  struct entry {
    int time;
    std::string what;
  };
  std::vector<std::vector<entry>> logs{{{5, "a"}, {3, "b"}, {9, "c"}},  // its clock went back
                                       {{4, "x"}, {5, "y"}}};
  for (auto const& one : keyspan::merge(logs, keyspan::by_time(&entry::time)))
    use(one);  // x a b y c

  for (auto const& one : keyspan::merge(logs, keyspan::round_robin)) use(one);  // a x b y c
  // [end: example]
  CHECK(seen == std::vector<std::string>{"x", "a", "b", "y", "c", "a", "x", "b", "y", "c"});
}

// --- by time
// --------------------------------------------------------------------------------------

// Times that go back now and then.
sources_of<std::int64_t> draw_logs(test::random& rng, std::size_t count, std::size_t items) {
  sources_of<std::int64_t> logs(count);
  for (auto& one : logs) {
    std::int64_t now = rng.between(-20, 20);
    for (std::uint64_t n = rng.below(items + 1); n > 0; --n) {
      now += rng.between(-3, 5);
      one.push_back({now, 0, 0});
    }
  }
  test::number(logs);
  return logs;
}

std::vector<place> by_time_the_long_way(sources_of<std::int64_t> logs) {
  std::vector<timed> all;
  for (auto& one : logs) {
    for (std::size_t n = 1; n < one.size(); ++n) one[n].key = std::max(one[n].key, one[n - 1].key);
    all.insert(all.end(), one.begin(), one.end());
  }
  test::sort_stably(all, [](timed const& a, timed const& b) { return a.key < b.key; });
  return places(all);
}

TEST_CASE("by time, each source's own order is kept, and of one time the first source is first") {
  test::random rng{1};
  for (std::size_t const count : {0u, 1u, 2u, 3u, 8u, 50u})
    for (int world = 0; world < 20; ++world) {
      auto logs = draw_logs(rng, count, 60);
      check(places(merge(logs, by_time(&timed::key))) == by_time_the_long_way(logs));
    }
}

TEST_CASE("by time, a page goes on with the time that the one before it had") {
  test::random rng{2};
  using keys = decltype(by_time(&timed::key))::keys<timed>;
  for (int world = 0; world < 60; ++world) {
    auto logs = draw_logs(rng, 4, 40);
    winner_tree<timed, keys> tree{4, keys{by_time(&timed::key)}};
    std::vector<std::size_t> shown(4, 0);
    auto const turn = [&](std::size_t i) {
      auto const left = std::span{logs[i]}.subspan(shown[i]);
      if (left.empty()) return tree.end(i);
      std::size_t const size = 1 + rng.below(std::min<std::size_t>(left.size(), 7));
      shown[i] += size;
      tree.show(i, left.first(size));
    };
    for (std::size_t i = 0; i < 4; ++i) turn(i);
    std::vector<place> given;
    std::array<timed*, 5> items;
    std::array<std::uint32_t, 5> numbers;
    for (;;) {
      auto const run = tree.run(items.data(), numbers.data(), 5, stops_at_page_end{});
      for (std::size_t n = 0; n < run.count; ++n) given.push_back(place_of(*items[n]));
      if (run.why == run_end::done) break;
      if (run.why == run_end::page_end) turn(run.source);
    }
    check(given == by_time_the_long_way(logs));
  }
}

TEST_CASE("a time is a number of 64 bits or a time point, and nothing else") {
  using std::chrono::system_clock;
  auto const number = [](auto const& one) { return one.key; };
  using order = decltype(by_time(number));
  static_assert(orders_items<order, placed<int>>);
  static_assert(orders_items<order, placed<std::uint64_t> const>);
  static_assert(orders_items<order, placed<double>>);
  static_assert(orders_items<order, placed<system_clock::time_point>>);
  static_assert(orders_items<order, placed<keyspan::wall_time>>);
  static_assert(!orders_items<order, placed<keyspan::token128>>);
  static_assert(!orders_items<order, placed<std::string>>);
  static_assert(!orders_items<decltype(by_time(&timed::key)), int>);
  using at = system_clock::time_point;
  std::vector<std::vector<placed<at>>> logs{{{at{}, 0, 0}}, {{at{} - std::chrono::hours{1}, 1, 0}}};
  check(places(merge(logs, by_time(&placed<at>::key))) == std::vector<place>{{1, 0}, {0, 0}});
  using keys = decltype(by_time(&placed<at>::key))::keys<placed<at>>;
  check(keys::image_of(at{}) < keys::image_of(at{} + std::chrono::seconds{1}));
}

// --- in turn
// --------------------------------------------------------------------------------------

TEST_CASE("in turn, each source that has an item left gives one") {
  test::random rng{3};
  for (std::size_t const count : {0u, 1u, 2u, 3u, 8u, 50u})
    for (int world = 0; world < 20; ++world) {
      auto sources = draw_logs(rng, count, 30);
      std::vector<place> expected;
      for (std::uint32_t turn = 0; turn < 30; ++turn)
        for (std::uint32_t i = 0; i < count; ++i)
          if (turn < sources[i].size()) expected.emplace_back(i, turn);
      check(places(merge(sources, round_robin)) == expected);
    }
}

// --- as they come
// ---------------------------------------------------------------------------------

TEST_CASE("as they come, whole pages are given in the order in which they were there") {
  using keys = keyspan::arrival_order::keys<timed>;
  sources_of<std::int64_t> sources(3);
  for (auto& one : sources) one.resize(6);
  test::number(sources);
  winner_tree<timed, keys> tree{3, keys{as_they_come}};
  static_assert(!keys::waits_for_all);
  std::array<timed*, 64> items;
  std::array<std::uint32_t, 64> numbers;
  std::vector<place> given;
  auto const page = [&](std::size_t source, std::size_t from, std::size_t size) {
    tree.show(source, std::span{sources[source]}.subspan(from, size));
  };
  auto const run = [&] {
    auto const one = tree.run(items.data(), numbers.data(), 64, stops_at_page_end{});
    for (std::size_t n = 0; n < one.count; ++n) given.push_back(place_of(*items[n]));
    return one;
  };
  page(2, 0, 3);
  page(0, 0, 1);
  page(1, 0, 2);
  auto end = run();
  check(end.why == run_end::page_end && end.source == 2);
  check(given == std::vector<place>{{2, 0}, {2, 1}, {2, 2}});
  page(2, 3, 3);  // comes again behind the others
  end = run();
  check(end.source == 0);
  tree.end(0);
  end = run();
  check(end.source == 1);
  page(1, 2, 4);
  end = run();
  check(end.source == 2);
  tree.end(2);
  check(run().source == 1);
  tree.end(1);
  check(run().why == run_end::done);
  check(given == std::vector<place>{{2, 0},
                                    {2, 1},
                                    {2, 2},
                                    {0, 0},
                                    {1, 0},
                                    {1, 1},
                                    {2, 3},
                                    {2, 4},
                                    {2, 5},
                                    {1, 2},
                                    {1, 3},
                                    {1, 4},
                                    {1, 5}});
}

TEST_CASE("as they come, ranges in memory are one page each, and stand one behind another") {
  test::random rng{4};
  auto sources = draw_logs(rng, 5, 20);
  std::vector<place> expected;
  for (auto const& one : sources)
    for (auto const& item : one) expected.push_back(place_of(item));
  check(places(merge(sources, as_they_come)) == expected);
}

// --- what is kept of each source
// ------------------------------------------------------------------

template <class Keys>
void check_states(Keys keys) {
  keys.resize(3);
  for (std::size_t i = 0; i < 3; ++i) check(keys.state(i) == 0);
  for (std::size_t i = 0; i < 3; ++i) keys.set_state(i, 10 * (i + 1));
  using replaced = std::vector<keyspan::detail::replacement>;
  keys.replace(replaced{{1, 2}});
  constexpr std::uint64_t two[] = {10, 20, 20, 30};
  for (std::size_t i = 0; i < 4; ++i) check(keys.state(i) == two[i]);
  keys.replace(replaced{{0, 0}});
  constexpr std::uint64_t none[] = {20, 20, 30};
  for (std::size_t i = 0; i < 3; ++i) check(keys.state(i) == none[i]);
  keys.replace(replaced{{2, 1}});
  check(keys.state(2) == 30);
  keys.replace(replaced{{0, 2}, {2, 2}});
  constexpr std::uint64_t both[] = {20, 20, 20, 30, 30};
  for (std::size_t i = 0; i < 5; ++i) check(keys.state(i) == both[i]);
}

TEST_CASE("what replaces a source goes on with its number") {
  check_states(decltype(by_time(&timed::key))::keys<timed>{by_time(&timed::key)});
  check_states(keyspan::round_robin_order::keys<timed>{round_robin});
  check_states(keyspan::arrival_order::keys<timed>{as_they_come});
}

TEST_CASE("a source goes on from its number") {
  auto time = decltype(by_time(&timed::key))::keys<timed>{by_time(&timed::key)};
  time.resize(1);
  time.set_state(0, decltype(time)::image_of(7));
  check(time.key(0, {5, 0, 0}).first == decltype(time)::image_of(7));
  check(time.key(0, {8, 0, 0}).first == decltype(time)::image_of(8));
  check(time.state(0) == decltype(time)::image_of(8));
  auto turns = keyspan::round_robin_order::keys<timed>{round_robin};
  turns.resize(2);
  turns.set_state(1, 4);
  check(turns.key(1, {}).first == 5 && turns.key(1, {}).first == 6 && turns.key(0, {}).first == 1);
}

}  // namespace
