// test/merge/sort_order_test.cpp — orders by columns say what they were asked to, and what a merge
// compares agrees with them.
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::descending;
using keyspan::orders_items;
using keyspan::token128;
using test::check;

struct trade {
  int day = 0;
  double price = 0;
  std::string_view symbol{};
};

constexpr bool the_example_of_sort_order_reads_as_it_should() {
  // [region: example]
  constexpr auto order = ascending(&trade::day).then(descending(&trade::price));
  check(order(trade{1, 10}, trade{2, 20}));
  check(order(trade{1, 20}, trade{1, 10}));
  check(order.compare(trade{1, 10, "oats"}, trade{1, 10, "rye"}) == 0);
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_sort_order_reads_as_it_should);

constexpr bool an_order_goes_by_its_columns_one_after_another() {
  constexpr auto order =
      descending(&trade::symbol).then(ascending(&trade::day)).then(ascending(&trade::price));
  constexpr trade rising[] = {{2, 1, "b"}, {2, 2, "b"}, {3, 1, "b"}, {1, 1, "a"}, {1, 2, "a"}};
  for (std::size_t i = 0; i < std::size(rising); ++i)
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      check(order(rising[i], rising[j]) == (i < j));
      check((order.compare(rising[i], rising[j]) < 0) == (i < j));
      check((order.compare(rising[i], rising[j]) > 0) == (i > j));
    }
  return true;
}
CHECK_BOTH(an_order_goes_by_its_columns_one_after_another);

constexpr bool items_are_sorted_by_themselves_without_a_projection() {
  check(ascending()(1, 2) && !ascending()(2, 1) && !ascending()(1, 1));
  check(descending()(2, 1) && !descending()(1, 2) && !descending()(1, 1));
  check(ascending().compare(1, 2) < 0 && descending().compare(1, 2) > 0);
  check(ascending()(std::string_view{"a"}, std::string_view{"b"}));
  return true;
}
CHECK_BOTH(items_are_sorted_by_themselves_without_a_projection);

constexpr bool a_comparison_of_ones_own_takes_the_place_of_less() {
  auto const by_digit = [](int a, int b) { return a % 10 < b % 10; };
  check(ascending(std::identity{}, by_digit)(31, 12));
  check(!ascending(std::identity{}, by_digit)(12, 31));
  check(descending(std::identity{}, by_digit)(12, 31));
  check(ascending(std::identity{}, by_digit).compare(12, 22) == 0);
  check(ascending(std::identity{}, by_digit).compare(13, 22) > 0);
  check(ascending(std::identity{}, std::greater<>{})(2, 1));
  check(ascending(std::identity{}, by_digit).then(ascending())(12, 22));
  check(!ascending(std::identity{}, by_digit).then(ascending())(22, 12));
  return true;
}
CHECK_BOTH(a_comparison_of_ones_own_takes_the_place_of_less);

constexpr bool columns_of_floating_numbers_sort_what_is_none() {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  check(ascending()(infinity, none) && !ascending()(none, none) && descending()(none, infinity));
  check(ascending().compare(0.0, -0.0) == 0);
  return true;
}
CHECK_BOTH(columns_of_floating_numbers_sort_what_is_none);

constexpr bool less_of_another_type_is_another_order() {
  // As unsigned numbers, -1 is the greatest.
  check(ascending(std::identity{}, std::less<unsigned>{})(1, -1));
  check(ascending(std::identity{}, std::less<int>{})(-1, 1));
  check(ascending(std::identity{}, std::less<>{})(-1, 1));
  return true;
}
CHECK_BOTH(less_of_another_type_is_another_order);

// --- what a merge compares
// ------------------------------------------------------------------------

template <class Item, class Order>
constexpr auto keys_of(Order order) {
  return typename Order::template keys<Item>{order};
}
template <class Item, class Order>
constexpr std::pair<bool, bool> wide_and_exact(Order const&) {
  return {Order::template keys<Item>::is_wide, Order::template keys<Item>::is_exact};
}

constexpr bool keys_are_as_wide_and_exact_as_their_columns() {
  using pair = std::pair<bool, bool>;
  constexpr auto by_symbol = ascending(&trade::symbol);
  constexpr auto by_day = ascending(&trade::day);
  constexpr auto by_price = descending(&trade::price);
  check(wide_and_exact<int>(ascending()) == pair{false, true});
  check(wide_and_exact<int const>(ascending()) == pair{false, true});
  check(wide_and_exact<token128>(ascending()) == pair{true, true});
  check(wide_and_exact<std::string>(ascending()) == pair{false, false});
  check(wide_and_exact<trade>(by_day.then(by_price)) == pair{true, true});
  check(wide_and_exact<trade>(by_day.then(by_symbol)) == pair{false, false});
  check(wide_and_exact<trade>(by_symbol.then(by_day)) == pair{false, false});
  check(wide_and_exact<trade>(by_day.then(by_price).then(by_day)) == pair{false, false});
  check(wide_and_exact<token128>(ascending().then(descending())) == pair{false, false});
  check(wide_and_exact<int>(ascending(std::identity{}, std::greater<>{})) == pair{false, false});
  check(wide_and_exact<int>(ascending(std::identity{}, std::less<unsigned>{})) ==
        pair{false, false});
  check(wide_and_exact<int>(ascending(std::identity{}, std::less<int>{})) == pair{false, true});
  return true;
}
CHECK_BOTH(keys_are_as_wide_and_exact_as_their_columns);

// Of every pair: the words never contradict the order, and say all where they claim to.
template <class Item, class Order>
void check_keys(Order const& order, std::vector<Item> const& items) {
  auto const keys = keys_of<Item>(order);
  for (auto const& a : items)
    for (auto const& b : items) {
      auto const x = keys.key(0, a);
      auto const y = keys.key(1, b);
      std::strong_ordering words = x.first <=> y.first;
      if constexpr (decltype(keys)::is_wide)
        if (words == 0) words = x.second <=> y.second;
      auto const said = order.compare(a, b);
      if (said < 0) check(words <= 0);
      if (said == 0) check(words == 0);
      if (decltype(keys)::is_exact) check(words == said);
      check(keys.compare(a, b) == said);
      check(keys.is_less(a, b) == (said < 0) && order(a, b) == (said < 0));
      check((order.compare(b, a) < 0) == (said > 0));
    }
}

TEST_CASE("what a merge compares sorts as its order does") {
  test::random rng{1};
  std::vector<trade> trades;
  constexpr std::string_view symbols[] = {"", "oats", "oats-one", "oats-two", "rye"};
  for (int i = 0; i < 60; ++i)
    trades.push_back({static_cast<int>(rng.between(-2, 2)),
                      static_cast<double>(rng.between(-2, 2)) / 2, rng.pick(symbols)});
  check_keys(ascending(&trade::day), trades);
  check_keys(descending(&trade::day), trades);
  check_keys(ascending(&trade::symbol), trades);
  check_keys(descending(&trade::symbol), trades);
  check_keys(ascending(&trade::day).then(ascending(&trade::price)), trades);
  check_keys(ascending(&trade::day).then(descending(&trade::price)), trades);
  check_keys(descending(&trade::price).then(ascending(&trade::day)), trades);
  check_keys(descending(&trade::symbol).then(ascending(&trade::day)), trades);
  check_keys(ascending(&trade::day).then(descending(&trade::symbol)).then(ascending(&trade::price)),
             trades);
  check_keys(ascending(&trade::day, [](int a, int b) { return a * a < b * b; })
                 .then(descending(&trade::price)),
             trades);
  std::vector<token128> tokens;
  for (int i = 0; i < 60; ++i) tokens.push_back({.high = rng.below(3), .low = rng.below(3)});
  check_keys(ascending(), tokens);
  check_keys(descending(), tokens);
  check_keys(ascending(&token128::low).then(descending()), tokens);
}

// --- which items it takes
// -------------------------------------------------------------------------

static_assert(orders_items<decltype(ascending()), int>);
static_assert(orders_items<decltype(ascending()), int const>);
static_assert(orders_items<decltype(ascending(&trade::day)), trade>);
static_assert(!orders_items<decltype(ascending(&trade::day)), int>);
static_assert(!orders_items<decltype(ascending()), trade>);  // nobody said how trades compare
static_assert(!orders_items<decltype(ascending(&trade::day).then(ascending())), trade>);
static_assert(!orders_items<decltype(ascending(&trade::day, std::less<std::string>{})), trade>);
// An order is asked as a constant.
struct changing {
  int calls = 0;
  int operator()(int n) { return n + ++calls; }
};
static_assert(!orders_items<decltype(ascending(changing{})), int>);

TEST_CASE("an order may hold what cannot be made from nothing") {
  int base = 10;
  auto const distance = [&base](int n) { return n < base ? base - n : n - base; };
  auto const order = ascending(distance);
  static_assert(!std::default_initializable<std::remove_const_t<decltype(order)>>);
  static_assert(std::default_initializable<decltype(ascending())>);
  check(order(9, 12) && !order(12, 9) && order.compare(9, 11) == 0);
  check(keys_of<int>(order).key(0, 7).first == keys_of<int>(order).key(0, 13).first);
  std::vector<int> numbers{1, 9, 12};
  std::ranges::sort(numbers, order);
  check(numbers == std::vector{9, 12, 1});
}

TEST_CASE("an order is as large as what it projects by") {
  static_assert(sizeof(ascending(&trade::day)) == sizeof(&trade::day));
  check(true);
}

// A type of several columns asks a comparison of one's own once, where its last column decides.
TEST_CASE("the last column is compared once") {
  int calls = 0;
  auto const counted = [&](int a, int b) {
    ++calls;
    return a < b;
  };
  auto const order = ascending(&trade::symbol).then(ascending(&trade::day, counted));
  check(!order(trade{1, 0, "a"}, trade{1, 0, "a"}) && calls == 1);
  check(!order(trade{2, 0, "a"}, trade{1, 0, "a"}) && calls == 2);
  check(order(trade{2, 0, "a"}, trade{1, 0, "b"}) && calls == 2);
  auto const falling = descending(&trade::day, counted);
  check(falling(trade{2}, trade{1}) && calls == 3);
}

}  // namespace
