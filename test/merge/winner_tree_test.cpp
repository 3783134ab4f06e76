// test/merge/winner_tree_test.cpp — the tree gives what a stable sort of everything gives, however
// it is run, fed and changed meanwhile.
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include "worlds.hpp"

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::descending;
using keyspan::token128;
using keyspan::detail::ends_with_page;
using keyspan::detail::merge_key;
using keyspan::detail::portable_minimum;
using keyspan::detail::quickest_minimum;
using keyspan::detail::replacement;
using keyspan::detail::run_end;
using keyspan::detail::stops_at_page_end;
using keyspan::detail::tree_run;
using keyspan::detail::winner_tree;
using test::check;
using test::place;
using test::placed;
using test::places;
using test::sizes;
using test::sources_of;

template <class Order, class Item, class Minimum = quickest_minimum>
using tree_of = winner_tree<Item, typename Order::template keys<Item>, Minimum>;
template <class Tree, class Order>
Tree make_tree(std::size_t sources, Order order) {
  using keys = std::remove_reference_t<decltype(std::declval<Tree&>().keys())>;
  return Tree{sources, keys{order}};
}

TEST_CASE("the example of winner_tree reads as it should") {
  // [region: example]
  std::vector<int> odd{1, 3, 5};
  std::vector<int> even{2, 4};
  using order = decltype(keyspan::ascending());
  using keys = order::keys<int>;
  keyspan::detail::winner_tree<int, keys> tree{2, keys{order{}}};
  tree.show(0, odd);
  tree.show(1, even);

  std::array<int*, 8> items;
  std::array<std::uint32_t, 8> sources;
  auto const run =
      tree.run(items.data(), sources.data(), items.size(), keyspan::detail::ends_with_page{});
  check(run.count == 5 && run.why == keyspan::detail::run_end::done);
  check(*items[3] == 4 && sources[3] == 1);
  // [end: example]
}

// --- who is the least
// -----------------------------------------------------------------------------

template <class Minimum>
void check_minimum() {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  constexpr std::uint64_t words[] = {
      0, 1, 2, top - 1, top, top + 1, ~std::uint64_t{0} - 1, ~std::uint64_t{0}};
  constexpr std::uint64_t numbers[] = {0, 1, 5, top, top | 1, ~std::uint64_t{0}};
  for (auto const a : words)
    for (auto const b : words)
      for (auto const i : numbers)
        for (auto const j : numbers) {
          merge_key<false> key{b};
          std::uint64_t source = j;
          Minimum::keep({a}, i, key, source);
          auto const least = std::min(std::pair{a, i}, std::pair{b, j});
          check(key.first == least.first && source == least.second);
          for (auto const c : words)
            for (auto const d : {std::uint64_t{0}, top, ~std::uint64_t{0}}) {
              merge_key<true> wide{b, d};
              std::uint64_t of = j;
              Minimum::keep({a, c}, i, wide, of);
              auto const first = std::min(std::tuple{a, c, i}, std::tuple{b, d, j});
              check(std::tuple{wide.first, wide.second, of} == first);
            }
        }
}

TEST_CASE("the less of two is found by the key, then by the source, the same on every machine") {
  check_minimum<portable_minimum>();
  check_minimum<quickest_minimum>();
}

// --- against a sort
// -------------------------------------------------------------------------------

// How a tree is run and fed: so many items at a time, in pages of at most so many; 0 for any number
// each time, in pages for whole sources.
struct manner {
  std::size_t room;
  std::size_t page;
};

// The items of a whole merge.
template <class Tree, class Order, class Key>
std::vector<place> run_whole(sources_of<Key>& sources, Order const& order, manner how,
                             test::random rng) {
  auto tree = make_tree<Tree>(sources.size(), order);
  std::vector<std::size_t> shown(sources.size(), 0);
  auto const turn = [&](std::size_t i) {
    std::span<placed<Key>> const left = std::span{sources[i]}.subspan(shown[i]);
    if (left.empty()) return tree.end(i);
    std::size_t const size =
        how.page == 0 ? left.size() : std::min<std::size_t>(left.size(), 1 + rng.below(how.page));
    shown[i] += size;
    tree.show(i, left.first(size));
  };
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].empty()) turn(i);
  bool const goes_on = rng.chance(50);  // pages are turned on the way, or between two runs
  std::vector<place> given;
  std::vector<placed<Key>*> items;
  std::vector<std::uint32_t> numbers;
  for (;;) {
    std::size_t const room = how.room == 0 ? 1 + rng.below(40) : how.room;
    items.assign(room + 1, nullptr);
    numbers.assign(room + 1, 12345);
    tree_run run;
    if (goes_on) {
      run = tree.run(items.data(), numbers.data(), room, [&](auto&, std::size_t source) {
        turn(source);
        return true;
      });
    } else {
      run = tree.run(items.data(), numbers.data(), room, stops_at_page_end{});
    }
    check(run.count <= room && items[run.count] == nullptr && numbers[run.count] == 12345);
    for (std::size_t n = 0; n < run.count; ++n) {
      check(items[n]->source == numbers[n]);
      given.push_back(place_of(*items[n]));
    }
    if (run.why == run_end::done) return given;
    if (run.why == run_end::page_end) {
      check(!goes_on && tree.rest(run.source).empty() && numbers[run.count - 1] == run.source);
      turn(run.source);
    } else {
      check(run.why == run_end::full && run.count == room);
    }
  }
}

template <class Key, class Order, class Make>
void check_worlds(Order order, Make make, std::uint64_t seed, std::size_t items = 300) {
  using item = placed<Key>;
  test::random rng{seed};
  for (std::size_t const count : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 16u, 17u, 33u, 100u, 300u})
    for (auto const how : test::all_sizes)
      for (bool const in_runs : {false, true}) {
        auto sources = test::draw_sources<Key>(rng, count, items, how, in_runs, order, make);
        auto const expected = places(test::sorted_all(sources, order));
        for (manner const each : {manner{256, 0}, manner{0, 20}}) {
          check(run_whole<tree_of<Order, item>>(sources, order, each, rng.fork()) == expected);
          check(run_whole<tree_of<Order, item, portable_minimum>>(sources, order, each,
                                                                  rng.fork()) == expected);
        }
      }
}

TEST_CASE("a tree of exact keys of 64 bits gives what a stable sort gives") {
  auto const order = ascending(&placed<std::uint64_t>::key);
  static_assert(!decltype(order)::keys<placed<std::uint64_t>>::is_wide);
  check_worlds<std::uint64_t>(order, test::few_numbers{}, 1);
  check_worlds<std::uint64_t>(order, test::any_number{}, 2);
  check_worlds<std::uint64_t>(descending(&placed<std::uint64_t>::key), test::any_number{}, 3);
}

// Their first words are seldom different, their second ones at times.
struct any_token {
  token128 operator()(test::random& rng) const {
    return {.high = rng.chance(80) ? 7 : rng(), .low = rng.chance(50) ? rng.below(3) : rng()};
  }
};

TEST_CASE("a tree of exact keys of 128 bits gives what a stable sort gives") {
  auto const order = ascending(&placed<token128>::key);
  static_assert(decltype(order)::keys<placed<token128>>::is_wide);
  check_worlds<token128>(order, any_token{}, 4);
  check_worlds<token128>(descending(&placed<token128>::key), any_token{}, 5);
}

TEST_CASE("a tree of keys that are not exact gives what a stable sort gives") {
  check_worlds<std::string>(ascending(&placed<std::string>::key), test::any_text{}, 6);
  check_worlds<std::string>(descending(&placed<std::string>::key), test::any_text{}, 7);
  auto const last_letter = [](std::string const& a, std::string const& b) {
    return (a.empty() ? ' ' : a.back()) < (b.empty() ? ' ' : b.back());
  };
  check_worlds<std::string>(ascending(&placed<std::string>::key, last_letter), test::any_text{}, 8);
}

// Every room and every size of pages: where a batch ends changes nothing.
template <class Key, class Order, class Make>
void check_boundaries(Order order, Make make, std::uint64_t seed) {
  test::random rng{seed};
  for (std::size_t const count : {1u, 2u, 3u, 6u})
    for (bool const in_runs : {false, true}) {
      auto sources = test::draw_sources<Key>(rng, count, 60, sizes::uneven, in_runs, order, make);
      auto const expected = places(test::sorted_all(sources, order));
      for (std::size_t room = 1; room <= 40; ++room)
        for (std::size_t const page : {0u, 1u, 2u, 3u, 11u, 30u})
          check(run_whole<tree_of<Order, placed<Key>>>(sources, order, {room, page}, rng.fork()) ==
                expected);
    }
}

TEST_CASE("a tree gives the same wherever runs and pages end") {
  check_boundaries<std::uint64_t>(ascending(&placed<std::uint64_t>::key), test::few_numbers{}, 9);
  check_boundaries<token128>(ascending(&placed<token128>::key), any_token{}, 10);
  check_boundaries<std::string>(ascending(&placed<std::string>::key), test::any_text{}, 11);
}

TEST_CASE("a tree has as many sources as there are") {
  test::random rng{12};
  auto const order = ascending(&placed<std::uint64_t>::key);
  using tree = tree_of<decltype(order), placed<std::uint64_t>>;
  for (std::size_t count = 0; count <= 300; ++count) {
    auto sources = test::draw_sources<std::uint64_t>(rng, count, 3 * count, sizes::uneven, false,
                                                     order, test::few_numbers{});
    check(run_whole<tree>(sources, order, {64, 0}, rng.fork()) ==
          places(test::sorted_all(sources, order)));
  }
}

// --- what is asked, and how often
// -----------------------------------------------------------------

// Keys that are counted: by the order in which each source's items are shown.
struct asking_keys {
  static constexpr bool is_checked = false;
  static constexpr bool is_wide = false;
  static constexpr bool is_exact = true;

  std::map<std::size_t, std::vector<std::uint32_t>>* asked = nullptr;
  std::vector<std::size_t>* pages = nullptr;

  static void resize(std::size_t) {}
  static void replace(std::span<replacement const>) {}
  void begin_page(std::size_t source) const { pages->push_back(source); }
  merge_key<false> key(std::size_t source, placed<std::uint64_t> const& one) const {
    check(source == one.source);
    (*asked)[source].push_back(one.number);
    return {one.key};
  }
};

TEST_CASE("a tree asks once for each item's key, in the order of its source") {
  test::random rng{13};
  auto const order = ascending(&placed<std::uint64_t>::key);
  for (std::size_t const count : {1u, 2u, 3u, 20u})
    for (bool const in_runs : {false, true})
      for (std::size_t const room : {1u, 2u, 3u, 8u, 100u}) {
        auto sources = test::draw_sources<std::uint64_t>(rng, count, 200, sizes::uneven, in_runs,
                                                         order, test::few_numbers{});
        std::map<std::size_t, std::vector<std::uint32_t>> asked;
        std::vector<std::size_t> pages;
        winner_tree<placed<std::uint64_t>, asking_keys> tree{count, asking_keys{&asked, &pages}};
        std::vector<std::size_t> shown;
        for (std::size_t i = 0; i < count; ++i) {
          if (sources[i].empty()) continue;
          tree.show(i, sources[i]);
          shown.push_back(i);
        }
        check(pages == shown);
        std::vector<placed<std::uint64_t>*> items(room);
        std::vector<std::uint32_t> numbers(room);
        while (tree.run(items.data(), numbers.data(), room, ends_with_page{}).count > 0) {
        }
        for (std::size_t i = 0; i < count; ++i) {
          check(asked[i].size() == sources[i].size());
          for (std::size_t n = 0; n < asked[i].size(); ++n) check(asked[i][n] == n);
        }
      }
}

TEST_CASE("a tree allocates when it is made, and never again") {
  test::random rng{14};
  auto const order = ascending(&placed<std::uint64_t>::key);
  auto sources = test::draw_sources<std::uint64_t>(rng, 50, 500, sizes::uneven, true, order,
                                                   test::any_number{});
  auto tree = make_tree<tree_of<decltype(order), placed<std::uint64_t>>>(50, order);
  std::array<placed<std::uint64_t>*, 16> items;
  std::array<std::uint32_t, 16> numbers;
  CHECK(test::allocations_in([&] {
          for (std::size_t i = 0; i < 50; ++i)
            if (!sources[i].empty()) tree.show(i, sources[i]);
          while (tree.run(items.data(), numbers.data(), 16, ends_with_page{}).count > 0) {
          }
        }) == 0);
}

// --- what is not sorted
// ---------------------------------------------------------------------------

// Each item of each source made less than the one before it: the run ends there, and has given all
// that came before.
template <class Key, class Order, class Lessen>
void check_disorder(Order order, sources_of<Key> const& sorted, Lessen lessen) {
  for (std::size_t source = 0; source < sorted.size(); ++source)
    for (std::size_t at = 1; at < sorted[source].size(); ++at)
      for (std::size_t const room : {1u, 5u, 1000u}) {
        auto sources = sorted;
        if (!lessen(sources[source][at].key, sources[source][at - 1].key)) continue;
        auto const all = places(test::sorted_all(sorted, order));
        auto tree = make_tree<tree_of<Order, placed<Key>>>(sources.size(), order);
        for (std::size_t i = 0; i < sources.size(); ++i)
          if (!sources[i].empty()) tree.show(i, sources[i]);
        std::vector<placed<Key>*> items(room);
        std::vector<std::uint32_t> numbers(room);
        std::vector<place> given;
        tree_run run;
        do {
          run = tree.run(items.data(), numbers.data(), room, ends_with_page{});
          for (std::size_t n = 0; n < run.count; ++n) given.push_back(place_of(*items[n]));
        } while (run.why == run_end::full);
        check(run.why == run_end::unsorted && run.source == source);
        check(tree.rest(source).data() == &sources[source][at]);
        check(!given.empty() && given.back() == place(source, at - 1));
        check(given.size() <= all.size() && std::equal(given.begin(), given.end(), all.begin()));
      }
}

TEST_CASE("an item that is less than the one before it ends the run, whoever is ahead") {
  test::random rng{15};
  for (std::size_t const count : {1u, 2u, 3u, 5u})
    for (bool const in_runs : {false, true}) {
      auto const order = ascending(&placed<std::uint64_t>::key);
      auto const small = [](test::random& from) { return 1 + from.below(20); };
      check_disorder<std::uint64_t>(
          order,
          test::draw_sources<std::uint64_t>(rng, count, 45, sizes::uneven, in_runs, order, small),
          [](std::uint64_t& key, std::uint64_t before) {
            key = before - 1;
            return true;
          });
      auto const by_token = ascending(&placed<token128>::key);
      auto const low = [](test::random& from) {
        return token128{.high = 5, .low = 1 + from.below(20)};
      };
      auto const tokens =
          test::draw_sources<token128>(rng, count, 45, sizes::uneven, in_runs, by_token, low);
      check_disorder<token128>(by_token, tokens, [](token128& key, token128 const& before) {
        key = {.high = before.high, .low = before.low - 1};
        return true;
      });
      check_disorder<token128>(by_token, tokens, [](token128& key, token128 const& before) {
        key = {.high = before.high - 1, .low = ~std::uint64_t{0}};
        return true;
      });
      auto const by_text = ascending(&placed<std::string>::key);
      check_disorder<std::string>(
          by_text,
          test::draw_sources<std::string>(rng, count, 45, sizes::uneven, in_runs, by_text,
                                          test::any_text{}),
          [](std::string& key, std::string const& before) {
            key = before;
            if (key.empty()) return false;
            key.back() = static_cast<char>(key.back() - 1);
            return true;
          });
    }
}

// --- sources that have nothing yet
// ----------------------------------------------------------------

using numbered = placed<std::uint64_t>;
using number_order = decltype(ascending(&numbered::key));
using number_tree = tree_of<number_order, numbered>;
using replacements = std::vector<replacement>;

// What a tree gives until it stops.
struct stopped {
  std::vector<place> given{};
  tree_run run{};
};
template <class Tree>
stopped run_until_it_stops(Tree& tree) {
  using item = std::remove_reference_t<decltype(tree.rest(0)[0])>;
  std::array<item*, 64> items;
  std::array<std::uint32_t, 64> numbers;
  stopped result;
  result.run = tree.run(items.data(), numbers.data(), items.size(), stops_at_page_end{});
  for (std::size_t n = 0; n < result.run.count; ++n) result.given.push_back(place_of(*items[n]));
  return result;
}

TEST_CASE("who has no item yet holds back what it could precede, and of equals those behind it") {
  sources_of<std::uint64_t> sources{{{1}, {4}, {7}}, {}, {{1}, {4}, {7}}};
  test::number(sources);
  auto tree = make_tree<number_tree>(3, ascending(&numbered::key));
  tree.show(0, sources[0]);
  tree.await(1, {4});
  tree.show(2, sources[2]);
  auto first = run_until_it_stops(tree);
  CHECK(first.run.why == run_end::waiting);
  CHECK(first.run.source == 1);
  CHECK(first.given == std::vector<place>{{0, 0}, {2, 0}, {0, 1}});
  CHECK(tree.key_of(1).first == 4);
  CHECK_FALSE(tree.has_ended(1));
  // Still waiting: nothing is given twice, and nothing new.
  auto again = run_until_it_stops(tree);
  CHECK(again.run.why == run_end::waiting);
  CHECK(again.given.empty());
  // It will be 5 at least.
  tree.await(1, {5});
  again = run_until_it_stops(tree);
  CHECK(again.run.why == run_end::waiting);
  CHECK(again.given == std::vector<place>{{2, 1}});
  // An item has come.
  std::vector<numbered> late{{7, 1, 0}};
  tree.show(1, late);
  CHECK(tree.key_of(1).first == 7);
  CHECK(tree.rest(1).size() == 1);
  again = run_until_it_stops(tree);
  CHECK(again.given == std::vector<place>{{0, 2}});
  CHECK(again.run.why == run_end::page_end);
  CHECK(again.run.source == 0);
  tree.end(0);
  CHECK(tree.has_ended(0));
  again = run_until_it_stops(tree);
  CHECK(again.given == std::vector<place>{{1, 0}});
  tree.end(1);
  again = run_until_it_stops(tree);
  CHECK(again.given == std::vector<place>{{2, 2}});
  tree.end(2);
  CHECK(run_until_it_stops(tree).run.why == run_end::done);
}

TEST_CASE("whose page has ended holds back what is not less than its last item") {
  sources_of<std::uint64_t> sources{{{3}}, {{3}, {3}}};
  test::number(sources);
  auto tree = make_tree<number_tree>(2, ascending(&numbered::key));
  tree.show(0, sources[0]);
  tree.show(1, sources[1]);
  auto first = run_until_it_stops(tree);
  CHECK(first.given == std::vector<place>{{0, 0}});
  CHECK(first.run.why == run_end::page_end);
  CHECK(tree.key_of(0).first == 3);
  // Nobody has said what comes next, so it may be a 3 again.
  first = run_until_it_stops(tree);
  CHECK(first.given.empty());
  CHECK(first.run.why == run_end::waiting);
  CHECK(first.run.source == 0);
  std::vector<numbered> more{{3, 0, 1}};
  tree.show(0, more);
  CHECK(run_until_it_stops(tree).given == std::vector<place>{{0, 1}});
}

TEST_CASE("what was shown and not given is gone when the source has none after all") {
  sources_of<std::uint64_t> sources{{{3}, {4}}, {{5}}};
  test::number(sources);
  auto tree = make_tree<number_tree>(2, ascending(&numbered::key));
  tree.show(0, sources[0]);
  tree.show(1, sources[1]);
  tree.await(0, {3});
  CHECK(tree.rest(0).empty());
  auto const waits = run_until_it_stops(tree);
  CHECK(waits.given.empty());
  CHECK(waits.run.why == run_end::waiting);
}

TEST_CASE("who has no text yet holds back every text that begins as it might") {
  using item = placed<std::string>;
  auto const order = ascending(&item::key);
  using keys = decltype(order)::keys<item>;
  sources_of<std::string> sources{{{"redmond-a"}, {"redmond-b"}, {"seattle"}}, {}};
  test::number(sources);
  for (std::size_t const waits : {0u, 1u}) {
    auto tree = make_tree<tree_of<decltype(order), item>>(2, order);
    tree.show(1 - waits, sources[0]);
    item const floor{"redmond-ab", 0, 0};
    tree.await(waits, keys{order}.key(waits, floor));
    // The eight bytes are the same: it may be less than "redmond-b", and who knows about "-a".
    auto const first = run_until_it_stops(tree);
    CHECK(first.given.empty());
    CHECK(first.run.why == run_end::waiting);
    CHECK(first.run.source == waits);
    std::vector<item> come{{"redmond-ab", 7, 0}};
    tree.show(waits, come);
    auto const second = run_until_it_stops(tree);
    CHECK(second.given == std::vector<place>{{0, 0}, {7, 0}});
    CHECK(second.run.source == waits);
    // At the end of the page too, also for who would be given in a row.
    CHECK(run_until_it_stops(tree).given.empty());
    tree.end(waits);
    CHECK(run_until_it_stops(tree).given == std::vector<place>{{0, 1}, {0, 2}});
  }
}

TEST_CASE("a row of texts ends where somebody has none yet that may be less") {
  using item = placed<std::string>;
  auto const order = ascending(&item::key);
  using keys = decltype(order)::keys<item>;
  sources_of<std::string> sources{{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}, {"redmond-a"}}};
  test::number(sources);
  auto tree = make_tree<tree_of<decltype(order), item>>(2, order);
  tree.show(0, sources[0]);
  item const floor{"redmond-zzz", 0, 0};
  tree.await(1, keys{order}.key(1, floor));
  auto const first = run_until_it_stops(tree);
  CHECK(first.given.size() == 6);
  CHECK(first.run.why == run_end::waiting);
  CHECK(first.run.source == 1);
}

// Sources whose items come at any time: the tree never gives one too early.
template <class Key, class Order, class Make>
void check_late(Order order, Make make, std::uint64_t seed) {
  using item = placed<Key>;
  using keys_type = typename Order::template keys<item>;
  test::random rng{seed};
  keys_type const keys{order};
  for (int world = 0; world < 120; ++world) {
    std::size_t const count = 1 + rng.below(9);
    auto sources =
        test::draw_sources<Key>(rng, count, 80, sizes::uneven, rng.chance(50), order, make);
    auto tree = make_tree<tree_of<Order, item>>(count, order);
    std::vector<std::size_t> shown(count, 0);
    std::vector<bool> is_open(count, true);
    auto const come = [&](std::size_t i) {  // something, nothing but a floor, or the end
      auto const left = std::span{sources[i]}.subspan(shown[i]);
      if (left.empty()) {
        is_open[i] = false;
        return tree.end(i);
      }
      if (rng.chance(40)) return tree.await(i, keys.key(i, left.front()));
      auto const size = 1 + rng.below(std::min<std::size_t>(left.size(), 8));
      shown[i] += size;
      tree.show(i, left.first(size));
    };
    for (std::size_t i = 0; i < count; ++i) tree.await(i, {});
    std::vector<place> given;
    for (;;) {
      auto const next = run_until_it_stops(tree);
      given.insert(given.end(), next.given.begin(), next.given.end());
      if (next.run.why == run_end::done) break;
      if (next.run.why == run_end::full) continue;
      check(is_open[next.run.source] && tree.rest(next.run.source).empty());
      come(next.run.source);
    }
    check(given == places(test::sorted_all(sources, order)));
  }
}

TEST_CASE("items that come late are given in order all the same") {
  check_late<std::uint64_t>(ascending(&numbered::key), test::few_numbers{}, 16);
  check_late<token128>(ascending(&placed<token128>::key), any_token{}, 17);
  check_late<std::string>(ascending(&placed<std::string>::key), test::any_text{}, 18);
}

// --- sources that become others
// -------------------------------------------------------------------

// A split: the children go on with the items of the parent, each with some of them. Where it stood
// is kept as a path, so that a stable sort by paths says what the merge is.
TEST_CASE("children stand in the place of their parent, in their order, and all others stay") {
  test::random rng{19};
  struct living {
    std::vector<std::uint32_t> path;
    std::vector<numbered> items;
  };
  for (int world = 0; world < 200; ++world) {
    std::size_t const count = 1 + rng.below(6);
    auto const drawn =
        test::draw_sources<std::uint64_t>(rng, count, 60, sizes::uneven, rng.chance(50),
                                          ascending(&numbered::key), test::few_numbers{});
    // `source` and `number` name an item for ever.
    std::vector<living> alive;
    for (std::uint32_t i = 0; i < count; ++i) alive.push_back({{i}, drawn[i]});
    auto tree = make_tree<number_tree>(count, ascending(&numbered::key));
    for (std::size_t i = 0; i < count; ++i)
      if (!alive[i].items.empty()) tree.show(i, alive[i].items);
    // What has been given and what is left, by key and path.
    using rank = std::tuple<std::uint64_t, std::vector<std::uint32_t>, std::uint32_t>;
    std::vector<place> given;
    std::vector<std::pair<rank, place>> expected;
    for (int changes = 0;; ++changes) {
      std::array<numbered*, 8> items;
      std::array<std::uint32_t, 8> numbers;
      auto const run = tree.run(items.data(), numbers.data(), 1 + rng.below(8), ends_with_page{});
      for (std::size_t n = 0; n < run.count; ++n) {
        auto const& one = *items[n];
        given.push_back(place_of(one));
        expected.emplace_back(rank{one.key, alive[numbers[n]].path, one.number}, place_of(one));
      }
      if (run.why == run_end::done) break;
      if (changes > 12 || rng.chance(30)) continue;
      auto const at = static_cast<std::size_t>(rng.below(alive.size()));
      auto const rest = tree.rest(at);
      std::size_t const into = rest.empty() ? rng.below(4) : 1 + rng.below(3);
      std::vector<living> children(into);
      for (std::uint32_t c = 0; c < into; ++c) {
        children[c].path = alive[at].path;
        children[c].path.push_back(c);
      }
      for (auto const& one : rest) rng.pick(children).items.push_back(one);
      std::vector<std::tuple<std::size_t, bool, std::uint64_t>> before;
      for (std::size_t i = 0; i < tree.size(); ++i)
        if (i != at)
          before.emplace_back(tree.rest(i).size(), tree.has_ended(i), tree.key_of(i).first);
      tree.replace(replacements{{at, into}});
      check(tree.size() == alive.size() - 1 + into);
      for (std::size_t c = 0; c < into; ++c)
        check(tree.has_ended(at + c) && tree.rest(at + c).empty());
      std::vector<std::tuple<std::size_t, bool, std::uint64_t>> behind;
      for (std::size_t i = 0; i < tree.size(); ++i)
        if (i < at || i >= at + into)
          behind.emplace_back(tree.rest(i).size(), tree.has_ended(i), tree.key_of(i).first);
      check(before == behind);
      auto const where = alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
      alive.insert(where, std::make_move_iterator(children.begin()),
                   std::make_move_iterator(children.end()));
      for (std::size_t c = at; c < at + into; ++c)
        if (!alive[c].items.empty()) tree.show(c, alive[c].items);
      if (alive.empty()) {
        alive.push_back({{99}, {}});
        break;
      }
    }
    std::size_t total = 0;
    for (auto const& one : drawn) total += one.size();
    check(given.size() == total);
    test::sort_stably(expected, std::less<>{});
    for (std::size_t n = 0; n < given.size(); ++n) check(given[n] == expected[n].second);
  }
}

TEST_CASE("replaced at once is what is replaced one after another") {
  test::random rng{23};
  for (int world = 0; world < 100; ++world) {
    std::size_t const count = 1 + rng.below(9);
    auto items = test::draw_sources<std::uint64_t>(rng, count, 20, sizes::uneven, true,
                                                   ascending(&numbered::key), test::few_numbers{});
    number_tree trees[] = {make_tree<number_tree>(count, ascending(&numbered::key)),
                           make_tree<number_tree>(count, ascending(&numbered::key))};
    replacements some;
    for (std::size_t i = 0; i < count; ++i) {
      if (!items[i].empty())
        for (auto& tree : trees) tree.show(i, items[i]);
      if (rng.chance(40)) some.push_back({i, rng.below(4)});
    }
    trees[0].replace(some);
    for (std::size_t i = some.size(); i-- > 0;) trees[1].replace(std::span{&some[i], 1});
    REQUIRE(trees[0].size() == trees[1].size());
    for (std::size_t i = 0; i < trees[0].size(); ++i) {
      check(trees[0].has_ended(i) == trees[1].has_ended(i));
      check(trees[0].key_of(i).first == trees[1].key_of(i).first);
      check(trees[0].rest(i).data() == trees[1].rest(i).data());
      check(trees[0].rest(i).size() == trees[1].rest(i).size());
    }
  }
}

TEST_CASE("what is replaced comes in the order of the sources, and is there") {
  auto tree = make_tree<number_tree>(3, ascending(&numbered::key));
  auto const broken_by = [&](replacements const& some) {
    return test::promise_broken_by([&] {
      tree.replace(some);
      return 0;
    });
  };
  CHECK(broken_by({{1, 1}, {0, 1}}) ==
        "what is replaced comes in the order of the sources, each once");
  CHECK(broken_by({{2, 1}, {2, 1}}) ==
        "what is replaced comes in the order of the sources, each once");
  CHECK(broken_by({{3, 1}}) == "what is replaced is there");
}

TEST_CASE("a tree without sources is done, also when the last one was taken away") {
  auto tree = make_tree<number_tree>(0, ascending(&numbered::key));
  CHECK(tree.size() == 0);
  CHECK(run_until_it_stops(tree).run.why == run_end::done);
  auto other = make_tree<number_tree>(1, ascending(&numbered::key));
  std::vector<numbered> items{{1}};
  other.show(0, items);
  other.replace(replacements{{0, 0}});
  CHECK(other.size() == 0);
  CHECK(run_until_it_stops(other).run.why == run_end::done);
}

// --- comparisons
// ----------------------------------------------------------------------------------

// A comparison of one's own is all that a tree can go by: once for the source's own order, and once
// for each meeting on the way up.
template <class Items>
double comparisons_per_item(Items& sources, std::size_t& calls) {
  auto const order = ascending(&numbered::key, [&](std::uint64_t a, std::uint64_t b) {
    ++calls;
    return a < b;
  });
  auto tree = make_tree<tree_of<decltype(order), numbered>>(sources.size(), order);
  std::size_t total = 0;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].empty()) tree.show(i, sources[i]);
  std::array<numbered*, 64> items;
  std::array<std::uint32_t, 64> numbers;
  calls = 0;
  for (;;) {
    auto const run = tree.run(items.data(), numbers.data(), 64, ends_with_page{});
    total += run.count;
    if (run.why == run_end::done) break;
  }
  return static_cast<double>(calls) / static_cast<double>(total);
}

TEST_CASE("a comparison of one's own is called once for each level of the tree, and once more") {
  test::random rng{20};
  std::size_t calls = 0;
  for (std::size_t const count : {1u, 2u, 3u, 4u, 7u, 16u, 100u, 300u}) {
    auto const levels = static_cast<double>(std::bit_width(count - 1));
    auto const order = ascending(&numbered::key);
    auto random = test::draw_sources<std::uint64_t>(rng, count, 6'000, sizes::even, false, order,
                                                    test::any_number{});
    // Three in a row at random are looked at in vain.
    double const in_vain = count < 8 ? 1.0 : 0.1;
    double const found = comparisons_per_item(random, calls);
    CAPTURE(count, found);
    CHECK(found <= levels + 1 + in_vain);
    CHECK(found >= (count == 1 ? 0.9 : 1 + 0.7 * levels));
  }
}

TEST_CASE("in a long row a comparison of one's own is called twice an item, among any number") {
  std::size_t calls = 0;
  for (std::size_t const count : {2u, 10u, 200u}) {
    sources_of<std::uint64_t> sources(count);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t n = 0; n < 200; ++n) sources[i].push_back({i * 1000 + n, 0, 0});
    test::number(sources);
    double const found = comparisons_per_item(sources, calls);
    CAPTURE(count, found);
    CHECK(found <= 2.6);
    CHECK(found >= 1.4);
  }
}

}  // namespace
