// test/merge/merged_ranges_test.cpp — ranges in memory as one: what a stable sort gives, item by
// item, in pipes, left and resumed anywhere.
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>

#include "worlds.hpp"

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <range/v3/range/concepts.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::by_time;
using keyspan::descending;
using keyspan::merge;
using keyspan::round_robin;
using keyspan::token128;
using test::check;
using test::place;
using test::placed;
using test::places;
using test::sizes;
using test::sources_of;

using numbered = placed<std::uint64_t>;
constexpr auto by_key = ascending(&numbered::key);

using merged_numbers = decltype(merge(std::declval<sources_of<std::uint64_t>&>(), by_key));
static_assert(std::movable<merged_numbers> && !std::copyable<merged_numbers>);
static_assert(std::ranges::input_range<merged_numbers>);
static_assert(!std::ranges::forward_range<merged_numbers> && !std::ranges::view<merged_numbers>);
static_assert(std::same_as<std::ranges::range_reference_t<merged_numbers>, numbered&>);
using view_of_numbers = decltype(std::declval<merged_numbers&>().items());
static_assert(std::ranges::view<view_of_numbers> && std::ranges::borrowed_range<view_of_numbers>);
static_assert(std::copyable<view_of_numbers> && std::default_initializable<view_of_numbers>);
static_assert(ranges::input_range<view_of_numbers> && ranges::viewable_range<view_of_numbers>);
static_assert(std::default_initializable<view_of_numbers::iterator>);
static_assert(std::copyable<view_of_numbers::iterator>);
// Nothing is had of a temporary.
template <class Merged>
concept gives_items = requires(Merged m) { static_cast<Merged&&>(m).items(); };
static_assert(gives_items<merged_numbers&> && !gives_items<merged_numbers>);
// Constants stay so; copies are nobody's to change.
template <class Sources>
using item_of = std::ranges::range_reference_t<decltype(merge(std::declval<Sources>()))>;
static_assert(std::same_as<item_of<std::vector<std::vector<int>> const&>, int const&>);
static_assert(std::same_as<item_of<std::vector<std::list<int>>&>, int const&>);
static_assert(std::same_as<item_of<std::vector<std::span<int>>>, int&>);

template <class Sources>
concept can_be_merged = requires(Sources sources) { merge(std::forward<Sources>(sources)); };
using made_lists = decltype(std::views::iota(0, 3) |
                            std::views::transform([](int n) { return std::vector<int>(3, n); }));
using made_spans = decltype(std::declval<std::vector<std::vector<int>>&>() |
                            std::views::transform([](auto& one) { return std::span{one}; }));
static_assert(can_be_merged<std::vector<std::vector<int>>&>);
static_assert(can_be_merged<std::vector<std::vector<int>>>);
static_assert(can_be_merged<made_spans> && !can_be_merged<made_lists>);
static_assert(!can_be_merged<std::vector<int>&>);
// A stream has one text at a time, and writes the next one over it.
static_assert(!can_be_merged<std::ranges::istream_view<std::string>>);

TEST_CASE("the example of merged_ranges reads as it should") {
  struct trade {
    int time;
    std::string what;
  };
  std::vector<std::vector<trade>> days{{{1, "oats"}, {4, "rye"}}, {{2, "corn"}, {4, "oats"}}};
  std::vector<std::string> seen;
  auto const use = [&](trade const& one) { seen.push_back(one.what); };
  // [region: example]
  auto trades = keyspan::merge(days, keyspan::ascending(&trade::time));
  for (trade const& one : trades) {
    if (one.time == 4) break;
    use(one);
  }
  auto const kept = trades.positions();  // one of each was left behind

  auto resumed = keyspan::merge(days, keyspan::ascending(&trade::time), kept);
  for (trade& one : resumed) use(one);  // rye, oats: of one time, so in the order of the sources
  // [end: example]
  CHECK(kept == std::vector<std::uint64_t>{1, 1});
  CHECK(seen == std::vector<std::string>{"oats", "corn", "rye", "oats"});
}

// --- against a sort
// -------------------------------------------------------------------------------

template <class Sources, class Order>
void check_merge(Sources& sources, Order const& order) {
  auto const expected = places(test::sorted_all(sources, order));
  auto merged = merge(sources, order);
  std::size_t n = 0;
  for (auto const& one : merged) {
    check(n < expected.size() && place_of(one) == expected[n]);
    check(merged.source() == one.source);
    ++n;
  }
  check(n == expected.size());
  check(merged.begin() == merged.end());
}

template <class Key, class Order, class Make>
void check_worlds(Order order, Make make, std::uint64_t seed) {
  test::random rng{seed};
  for (std::size_t const count : {0u, 1u, 2u, 3u, 5u, 8u, 13u, 64u, 300u})
    for (auto const how : test::all_sizes)
      for (bool const in_runs : {false, true}) {
        auto sources = test::draw_sources<Key>(rng, count, 700, how, in_runs, order, make);
        check_merge(sources, order);
      }
}

TEST_CASE("a merge of numbers is a stable sort of all") {
  check_worlds<std::uint64_t>(by_key, test::few_numbers{}, 1);
  check_worlds<std::uint64_t>(by_key, test::any_number{}, 2);
  check_worlds<std::uint64_t>(descending(&numbered::key), test::any_number{}, 3);
  check_worlds<std::int8_t>(
      ascending(&placed<std::int8_t>::key),
      [](test::random& rng) { return static_cast<std::int8_t>(rng()); }, 4);
}

TEST_CASE("a merge of 128-bit keys is a stable sort of all") {
  auto const draw = [](test::random& rng) {
    return token128{.high = rng.below(3), .low = rng.chance(50) ? rng.below(3) : rng()};
  };
  check_worlds<token128>(ascending(&placed<token128>::key), draw, 5);
  check_worlds<token128>(descending(&placed<token128>::key), draw, 6);
}

TEST_CASE("a merge by two columns is a stable sort of all") {
  using pair = std::pair<std::int32_t, double>;
  using item = placed<pair>;
  auto const draw = [](test::random& rng) {
    return pair{static_cast<std::int32_t>(rng.between(-2, 2)), rng.unit()};
  };
  auto const first = [](item const& one) { return one.key.first; };
  auto const second = [](item const& one) { return one.key.second; };
  check_worlds<pair>(ascending(first).then(ascending(second)), draw, 7);
  check_worlds<pair>(ascending(first).then(descending(second)), draw, 8);
  check_worlds<pair>(descending(first).then(ascending(second)), draw, 9);
  check_worlds<pair>(ascending(&item::key), draw, 10);
}

TEST_CASE("a merge of texts with the same beginning is a stable sort of all") {
  using item = placed<std::string>;
  check_worlds<std::string>(ascending(&item::key), test::any_text{}, 11);
  check_worlds<std::string>(descending(&item::key), test::any_text{}, 12);
  auto const size = [](item const& one) { return one.key.size(); };
  check_worlds<std::string>(ascending(size).then(descending(&item::key)), test::any_text{}, 13);
}

TEST_CASE("a merge by a comparison of one's own is a stable sort of all") {
  auto const by_last_digit = [](std::uint64_t a, std::uint64_t b) { return a % 10 < b % 10; };
  check_worlds<std::uint64_t>(ascending(&numbered::key, by_last_digit), test::any_number{}, 14);
  check_worlds<std::uint64_t>(descending(&numbered::key, by_last_digit), test::any_number{}, 15);
  check_worlds<std::uint64_t>(ascending(&numbered::key, std::greater<>{}), test::any_number{}, 16);
}

TEST_CASE("a merge of floating numbers knows where to put what is none, and that -0 is 0") {
  using item = placed<double>;
  auto const draw = [](test::random& rng) {
    constexpr double odd[] = {0.0,
                              -0.0,
                              std::numeric_limits<double>::quiet_NaN(),
                              -std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              1.5};
    return rng.chance(70) ? rng.pick(odd) : rng.any_finite_double();
  };
  check_worlds<double>(ascending(&item::key), draw, 17);
  check_worlds<double>(descending(&item::key), draw, 18);
}

TEST_CASE("100,000 sources are merged as few are") {
  test::random rng{19};
  for (std::size_t const count : {1'000u, 100'000u}) {
    auto sources = test::draw_sources<std::uint64_t>(rng, count, 2 * count, sizes::uneven, false,
                                                     by_key, test::any_number{});
    check_merge(sources, by_key);
  }
}

// --- ranges of all kinds
// --------------------------------------------------------------------------

TEST_CASE("what does not stand side by side is merged in pages of copies, with the same result") {
  test::random rng{20};
  for (std::size_t const items : {0u, 1u, 127u, 128u, 129u, 255u, 256u, 257u, 384u, 900u})
    for (std::size_t const count : {1u, 2u, 3u, 5u})
      for (bool const in_runs : {false, true}) {
        auto const sources = test::draw_sources<std::uint64_t>(
            rng, count, items * count, sizes::even, in_runs, by_key, test::few_numbers{});
        auto const expected = places(test::sorted_all(sources, by_key));
        std::vector<std::list<numbered>> lists;
        std::vector<std::deque<numbered>> deques;
        for (auto const& one : sources) {
          lists.emplace_back(one.begin(), one.end());
          deques.emplace_back(one.begin(), one.end());
        }
        check(places(merge(lists, by_key)) == expected);
        check(places(merge(deques, by_key)) == expected);
        // Each made when it is looked at, from what is sorted by it.
        auto made = sources | std::views::transform([](auto const& one) {
                      return std::span{one}.subspan(0) | std::views::take(100'000);
                    });
        check(places(merge(made, by_key)) == expected);
        std::vector<
            std::ranges::transform_view<std::span<numbered const>, numbered (*)(numbered const&)>>
            shown;
        for (auto const& one : sources)
          shown.emplace_back(std::span{one}, +[](numbered const& item) { return item; });
        check(places(merge(shown, by_key)) == expected);
        auto of_lists = merge(lists, by_key);
        std::vector<std::uint64_t> taken(count, 0);
        for (auto const& one : of_lists) {
          check(of_lists.source() == one.source && one.number == taken[one.source]);
          if (one.number % 64 < 2) check(of_lists.positions() == taken);
          ++taken[one.source];
        }
        check(of_lists.positions() == taken);
      }
}

TEST_CASE("ranges that can be read only once are merged") {
  std::vector<std::istringstream> texts;
  std::string odd;
  std::string even;
  for (int i = 0; i < 300; ++i) (i % 2 != 0 ? odd : even) += std::to_string(i) + ' ';
  texts.emplace_back(odd);
  texts.emplace_back(even);
  std::vector<std::ranges::istream_view<int>> streams;
  for (auto& one : texts) streams.emplace_back(one);
  int next = 0;
  for (int const n : merge(streams)) check(n == next++);
  check(next == 300);
}

TEST_CASE("merges are merged") {
  test::random rng{21};
  auto sources = test::draw_sources<std::uint64_t>(rng, 9, 2'000, sizes::uneven, false, by_key,
                                                   test::few_numbers{});
  auto const expected = places(test::sorted_all(sources, by_key));
  std::vector<std::span<std::vector<numbered>>> thirds;
  for (std::size_t i = 0; i < 9; i += 3) thirds.push_back(std::span{sources}.subspan(i, 3));
  std::vector<decltype(merge(thirds[0], by_key))> merges;
  for (auto const& one : thirds) merges.push_back(merge(one, by_key));
  check(places(merge(merges, by_key)) == expected);
}

TEST_CASE("ranges of ranges are given as they are, as a view, or for good") {
  std::vector<std::vector<int>> sources{{1, 3}, {}, {2}};
  std::vector<int> const expected{1, 2, 3};
  auto const taken = [](auto&& merged) {
    std::vector<int> found;
    for (int const n : merged) found.push_back(n);
    return found;
  };
  check(taken(merge(sources)) == expected);
  check(taken(merge(std::as_const(sources))) == expected);
  check(taken(merge(std::span{sources})) == expected);
  check(taken(merge(std::array{std::span{sources[0]}, std::span{sources[2]}})) == expected);
  check(taken(merge(sources | std::views::transform([](auto& one) { return std::span{one}; }))) ==
        expected);
  check(taken(merge(sources | std::views::filter([](auto& one) { return !one.empty(); }))) ==
        expected);
  std::list<std::vector<int>> const listed(sources.begin(), sources.end());
  check(taken(merge(listed)) == expected);
  // The merge keeps what it is given for good, wherever it goes.
  auto owner = std::make_optional(merge(std::vector{sources[0], sources[2]}));
  auto other = std::move(*owner);
  owner.reset();
  check(taken(other) == expected);
}

TEST_CASE("items in memory are given in place, and may be changed") {
  std::vector<std::vector<std::unique_ptr<int>>> sources(2);
  sources[0].push_back(std::make_unique<int>(2));
  sources[1].push_back(std::make_unique<int>(1));
  auto const value = [](std::unique_ptr<int> const& one) { return *one; };
  std::vector<std::unique_ptr<int>> all;
  for (auto& one : merge(sources, ascending(value))) all.push_back(std::move(one));
  check(*all[0] == 1 && *all[1] == 2 && sources[0][0] == nullptr);
}

// --- pipes
// ----------------------------------------------------------------------------------------

TEST_CASE("a merge is piped through the views of the standard library and of range-v3") {
  std::vector<std::vector<int>> sources(3);
  for (int i = 0; i < 1'000; ++i) sources[static_cast<std::size_t>(i % 3)].push_back(i);
  auto const is_even = [](int n) { return n % 2 == 0; };
  auto const half = [](int n) { return n / 2; };
  std::vector<int> expected;
  for (int i = 0; i < 300; ++i) expected.push_back(i);
  std::vector<int> found;
  auto const take = [&](auto&& range) {
    found.clear();
    for (int const n : range) found.push_back(n);
  };
  auto merged = merge(sources);
  take(merged | std::views::filter(is_even) | std::views::transform(half) | std::views::take(300));
  check(found == expected);
  merged = merge(sources);
  take(merged.items() | std::views::filter(is_even) | std::views::transform(half) |
       std::views::take(300));
  check(found == expected);
  take(merge(sources) | std::views::transform(half) | std::views::take(600));
  check(found.size() == 600 && found.back() == 299);
  merged = merge(sources);
  take(merged.items() | ranges::views::filter(is_even) | ranges::views::transform(half) |
       ranges::views::take(300));
  check(found == expected);
  merged = merge(sources);
  take(merged | ranges::views::filter(is_even) | ranges::views::transform(half) |
       ranges::views::take(300));
  check(found == expected);
  merged = merge(sources);
  check(std::ranges::count_if(merged, is_even) == 500);
}

TEST_CASE("what is taken of a merge is gone, and not an item more") {
  test::random rng{22};
  auto sources = test::draw_sources<std::uint64_t>(rng, 4, 900, sizes::uneven, false, by_key,
                                                   test::few_numbers{});
  auto const expected = places(test::sorted_all(sources, by_key));
  for (std::ptrdiff_t const step : {1, 7, 255, 256, 257}) {
    auto merged = merge(sources, by_key);
    std::vector<place> found;
    std::size_t before = 0;
    do {
      before = found.size();
      for (auto const& one : merged | std::views::take(step)) found.push_back(place_of(one));
    } while (found.size() != before);
    check(found == expected);
  }
}

TEST_CASE("a loop that was left goes on with the item that it was left at") {
  test::random rng{23};
  auto sources = test::draw_sources<std::uint64_t>(rng, 4, 900, sizes::uneven, true, by_key,
                                                   test::few_numbers{});
  auto const expected = places(test::sorted_all(sources, by_key));
  auto merged = merge(sources, by_key);
  std::size_t n = 0;
  while (n < expected.size()) {
    std::size_t const until = n + 1 + rng.below(300);
    for (auto const& one : merged) {
      check(place_of(one) == expected[n]);
      if (n == until) break;
      ++n;
    }
  }
  check(merged.begin() == merged.end());
}

TEST_CASE("an iterator steps on without being looked at, and knows its source") {
  std::vector<std::vector<int>> sources(2);
  for (int i = 0; i < 1'000; ++i) sources[static_cast<std::size_t>(i % 2)].push_back(i);
  auto merged = merge(sources);
  auto it = merged.begin();
  for (int i = 0; i < 1'000; ++i) {
    if (i % 3 == 0) check(*it == i && *it.operator->() == i);
    if (i % 5 == 0) check(merged.source() == static_cast<std::size_t>(i % 2));
    if (i % 7 == 0) check(it != merged.end());
    if (i % 2 == 0) {
      ++it;
    } else {
      it++;
    }
  }
  check(it == merged.end());
  check(std::default_sentinel == it);
  CHECK(test::promise_broken_by([&] { return merged.source(); }) == "the loop stands at an item");
  decltype(it) const nowhere;
  check(nowhere == std::default_sentinel);
}

TEST_CASE("what a merge gave out stays valid when it is moved") {
  std::vector<std::vector<int>> sources(2);
  for (int i = 0; i < 1'000; ++i) sources[static_cast<std::size_t>(i % 2)].push_back(i);
  auto first = merge(sources);
  auto const items = first.items();
  auto it = items.begin();
  for (int i = 0; i < 300; ++i) ++it;
  auto second = std::move(first);
  check(*it == 300);
  check(second.positions() == std::vector<std::uint64_t>{150, 150});
  for (int i = 300; i < 1'000; ++i, ++it) check(*it == i);
  check(it == items.end());
  CHECK(test::promise_broken_by([&] { return first.begin(); }) ==
        "a merge that was moved from is read no more");
  CHECK(test::promise_broken_by([&] { return view_of_numbers{}.begin(); }) ==
        "the items are those of a merge");
}

// --- positions
// ------------------------------------------------------------------------------------

// Behind every n: where the merge stands, and that another one goes on from there.
template <class Sources, class Order>
void check_every_position(Sources& sources, Order const& order) {
  auto const expected = places(merge(sources, order));
  auto merged = merge(sources, order);
  std::vector<std::uint64_t> taken(merged.positions().size(), 0);
  auto it = merged.begin();
  for (std::size_t n = 0;; ++n) {
    auto const kept = merged.positions();
    check(kept == taken);
    auto const rest = places(merge(sources, order, kept));
    check(rest.size() == expected.size() - n &&
          std::equal(rest.begin(), rest.end(), expected.begin() + static_cast<std::ptrdiff_t>(n)));
    if (it == merged.end()) break;
    check(merged.positions() == taken);  // looking ahead takes nothing
    ++taken[(*it).source];
    ++it;
  }
}

template <class Key, class Order, class Make>
void check_positions(Order order, Make make, std::uint64_t seed) {
  test::random rng{seed};
  for (std::size_t const count : {1u, 2u, 3u, 6u})
    for (auto const how : test::all_sizes) {
      auto sources = test::draw_sources<Key>(rng, count, 280, how, rng.chance(50), order, make);
      check_every_position(sources, order);
      std::vector<std::list<placed<Key>>> lists;
      for (auto const& one : sources) lists.emplace_back(one.begin(), one.end());
      check_every_position(lists, order);
    }
}

TEST_CASE("a merge goes on from where another one stood, whichever item that is") {
  check_positions<std::uint64_t>(by_key, test::few_numbers{}, 24);
  check_positions<std::string>(descending(&placed<std::string>::key), test::any_text{}, 25);
}

TEST_CASE("orders that look back go on from positions too") {
  test::random rng{26};
  sources_of<std::uint64_t> sources(3);
  for (auto& one : sources)
    for (int i = 0; i < 60; ++i) one.push_back({rng.below(50), 0, 0});  // times jump back
  test::number(sources);
  std::vector<std::list<numbered>> lists;
  for (auto const& one : sources) lists.emplace_back(one.begin(), one.end());
  check_every_position(sources, by_time(&numbered::key));
  check_every_position(lists, by_time(&numbered::key));
  check_every_position(sources, round_robin);
  check_every_position(lists, round_robin);
  check_every_position(sources, keyspan::as_they_come);
}

TEST_CASE("positions are those of the sources") {
  std::vector<std::vector<int>> sources{{1, 3}, {2}};
  using numbers = std::vector<std::uint64_t>;
  auto const at = [&](numbers const& from) {
    return test::promise_broken_by([&] { return merge(sources, ascending(), from); });
  };
  CHECK(at({2, 1}).empty());
  CHECK(at({3, 1}) == "a position lies in its range, or at its end");
  CHECK(at({1}) == "each source has a position");
  CHECK(at({1, 1, 1}) == "each source has a position");
  std::vector<std::list<int>> lists{{1, 3}, {2}};
  CHECK(test::promise_broken_by([&] { return merge(lists, ascending(), numbers{0, 1}); }).empty());
  CHECK(test::promise_broken_by([&] { return merge(lists, ascending(), numbers{0, 2}); }) ==
        "a position lies in its range, or at its end");
}

// --- trouble
// --------------------------------------------------------------------------------------

constexpr auto is_not_sorted = "a merge is given ranges that are sorted by its order";

template <class Sources, class Order>
std::string trouble_in(Sources& sources, Order const& order) {
  return test::promise_broken_by([&] { return places(merge(sources, order)).size(); });
}

TEST_CASE("a range that is not sorted breaks a contract, wherever that is") {
  test::random rng{27};
  for (std::size_t const count : {1u, 2u, 4u})
    for (int world = 0; world < 120; ++world) {
      auto sources = test::draw_sources<std::uint64_t>(
          rng, count, 300 * count, sizes::even, rng.chance(50), by_key,
          [](test::random& from) { return 1 + from.below(1'000); });
      auto& one = rng.pick(sources);
      if (one.size() < 2) continue;
      std::size_t const at =
          world % 4 == 0 && one.size() > 128 ? 128 : 1 + rng.below(one.size() - 1);
      std::vector<std::list<numbered>> lists;
      check(trouble_in(sources, by_key).empty());
      one[at].key = one[at - 1].key - 1;
      for (auto const& each : sources) lists.emplace_back(each.begin(), each.end());
      check(trouble_in(sources, by_key) == is_not_sorted);
      check(trouble_in(lists, by_key) == is_not_sorted);
      check(trouble_in(sources, by_time(&numbered::key)).empty());
      check(trouble_in(lists, by_time(&numbered::key)).empty());
    }
}

TEST_CASE("equal items are sorted, also where a page ends between them") {
  std::vector<std::list<numbered>> lists(2);
  for (std::uint32_t i = 0; i < 400; ++i) lists[i % 2].push_back({7, i % 2, i / 2});
  auto const found = places(merge(lists, by_key));
  check(found.size() == 400 && std::ranges::is_sorted(found));
}

TEST_CASE("what an order throws passes through, and the merge goes on from where it was known") {
  test::random rng{28};
  for (bool const compares : {false, true}) {
    auto sources = test::draw_sources<std::uint64_t>(rng, 5, 2'000, sizes::even, false, by_key,
                                                     test::any_number{});
    auto const expected = places(test::sorted_all(sources, by_key));
    int calls_left = 1'000'000;
    auto const call = [&] {
      if (--calls_left == 0) throw 17;
    };
    auto const key = [&](numbered const& one) {
      if (!compares) call();
      return one.key;
    };
    auto const less = [&](std::uint64_t a, std::uint64_t b) {
      if (compares) call();
      return a < b;
    };
    auto const check_throw = [&](auto const& order) {
      for (int const limit : {30, 700, 1'700}) {
        calls_left = 1'000'000;
        auto merged = merge(sources, order);
        calls_left = limit;
        std::vector<place> found;
        std::vector<std::uint64_t> kept = merged.positions();
        int caught = 0;
        try {
          for (auto const& one : merged) {
            kept = merged.positions();
            ++kept[one.source];
            found.push_back(place_of(one));
          }
        } catch (int thrown) {
          caught = thrown;
        }
        check(caught == 17);
        calls_left = 1'000'000;
        check(test::promise_broken_by([&] { return merged.begin() == merged.end(); }) ==
              "a merge whose order has thrown is read no more");
        check(test::promise_broken_by([&] { return merged.positions(); }) ==
              "a merge whose order has thrown is read no more");
        auto resumed = merge(sources, order, kept);
        for (auto const& one : resumed) found.push_back(place_of(one));
        check(found == expected);
      }
    };
    if (compares) {
      check_throw(ascending(key, less));
    } else {
      check_throw(ascending(key));
    }
  }
}

// --- unions
// ---------------------------------------------------------------------------------------

struct written {
  int key = 0;
  int who = 0;
  int time = 0;
  std::string text{};  // so that a copy is one

  friend bool operator==(written const&, written const&) = default;
};

// Of everything sorted stably, in each run of equal keys one of each name: what a union has to be.
std::vector<written> united_all(std::vector<std::vector<written>> const& sources, bool is_latest) {
  std::vector<written> all;
  for (auto const& one : sources) all.insert(all.end(), one.begin(), one.end());
  test::sort_stably(all, [](written const& a, written const& b) { return a.key < b.key; });
  std::vector<written> kept;
  for (written const& one : all) {
    auto const same = std::find_if(kept.begin(), kept.end(), [&](written const& other) {
      return other.key == one.key && other.who == one.who;
    });
    if (same == kept.end()) {
      kept.push_back(one);
    } else if (is_latest && same->time < one.time) {
      kept.erase(same);
      kept.push_back(one);
    }
  }
  return kept;
}

TEST_CASE("ranges are united: one of each name in a run, the first or the latest") {
  auto const first = distinct_by(ascending(&written::key), &written::who);
  auto const latest =
      united_by(ascending(&written::key), &written::who, keyspan::last_writer(&written::time));
  test::random rng{31};
  for (int world = 0; world < 200; ++world) {
    std::vector<std::vector<written>> sources(1 + rng.below(6));
    int const keys = 1 + static_cast<int>(rng.below(world % 2 == 0 ? 3 : 200));
    for (auto& one : sources) {
      for (std::size_t left = rng.below(500); left > 0; --left)
        one.push_back({static_cast<int>(rng.below(static_cast<std::size_t>(keys))),
                       static_cast<int>(rng.below(40)), static_cast<int>(rng.below(9)),
                       std::string(30, static_cast<char>('a' + rng.below(26)))});
      test::sort_stably(one, [](written const& a, written const& b) { return a.key < b.key; });
    }
    std::vector<std::list<written>> lists;
    for (auto const& one : sources) lists.emplace_back(one.begin(), one.end());
    auto const look = [&](auto const& order, bool is_latest) {
      std::vector<written> got;
      std::vector<written> of_lists;
      auto merged = merge(sources, order);
      for (written const& one : merged) {
        check(one ==
              *std::find(sources[merged.source()].begin(), sources[merged.source()].end(), one));
        got.push_back(one);
      }
      for (written const& one : merge(lists, order)) of_lists.push_back(one);
      CHECK(got == united_all(sources, is_latest));
      CHECK(of_lists == got);
    };
    look(first, false);
    look(latest, true);
  }
}

template <class Merged>
concept has_positions = requires(Merged const& merged) { merged.positions(); };
static_assert(
    !has_positions<decltype(merge(std::declval<std::vector<std::vector<written>>&>(),
                                  distinct_by(ascending(&written::key), &written::who)))>);
static_assert(has_positions<decltype(merge(std::declval<std::vector<std::vector<int>>&>()))>);

// --- memory
// ---------------------------------------------------------------------------------------

template <class Sources, class Order>
std::size_t bytes_a_source(Sources& sources, Order const& order) {
  std::size_t const before = test::allocated_bytes();
  auto const merged = merge(sources, order);
  return (test::allocated_bytes() - before -
          sizeof(keyspan::detail::merging<std::ranges::ref_view<Sources>, Order>)) /
         sources.size();
}

TEST_CASE("a merge takes the bytes a source that are stated, when it is made, and none an item") {
  test::random rng{29};
  for (std::size_t const count : {2u, 3u, 64u, 65u, 1'000u}) {
    auto sources = test::draw_sources<std::uint64_t>(rng, count, 20 * count, sizes::uneven, false,
                                                     by_key, test::any_number{});
    CHECK(bytes_a_source(sources, by_key) == 80);
    auto const wide = ascending([](numbered const& one) { return token128{one.key, one.key}; });
    CHECK(bytes_a_source(sources, wide) == 104);
    CHECK(bytes_a_source(sources, by_time(&numbered::key)) == 88);
    auto merged = merge(sources, by_key);
    std::vector<std::list<numbered>> lists;
    for (auto const& one : sources) lists.emplace_back(one.begin(), one.end());
    auto copied = merge(lists, by_key);
    std::size_t sum = 0;
    CHECK(test::allocations_in([&] {
            for (auto const& one : merged) sum += one.number;
          }) == 0);
    CHECK(test::allocations_in([&] {
            for (auto const& one : copied) sum -= one.number;
          }) == 0);
    CHECK(sum == 0);
  }
}

TEST_CASE("pages of copies are as large as they need to be") {
  std::vector<std::list<int>> small(1'000);
  for (auto& one : small) one = {1, 2, 3};
  std::size_t const before = test::allocated_bytes();
  auto const merged = merge(small);
  CHECK((test::allocated_bytes() - before) / small.size() < 160);
}

}  // namespace
