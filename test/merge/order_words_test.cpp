// test/merge/order_words_test.cpp — what cursors call an order, and errors an item.
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/order_words.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>

#include <catch2/catch_test_macros.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::descending;
using keyspan::detail::name_of_order;
using keyspan::detail::words_of_item;
using test::check;
using namespace std::chrono_literals;

enum class colour : std::uint8_t { red, green };

struct row {
  std::string name = "b";
  double price = 2.5;
  std::int64_t number = -7;
  colour is = colour::green;
  std::chrono::sys_seconds at{90s};
  std::optional<int> maybe = 3;
};

TEST_CASE("the example of order_words reads as it should") {
  // [region: example]
  using namespace keyspan::detail;
  auto const order = ascending(&row::name).then(descending(&row::price));
  check(name_of_order(order) == "ascending, descending");
  check(words_of_item(order, row{}).view() == "\"b\"");
  // [end: example]
}

TEST_CASE("an order has a name, by which cursors are told apart") {
  CHECK(name_of_order(ascending(&row::number)) == "ascending");
  CHECK(name_of_order(ascending(&row::name).then(descending(&row::number))) ==
        "ascending, descending");
  CHECK(name_of_order(keyspan::by_time(&row::number)) == "by time");
  CHECK(name_of_order(keyspan::round_robin) == "round robin");
  CHECK(name_of_order(keyspan::as_they_come) == "as they come");
  // What tells items apart is not part of it, but a union gives other items.
  CHECK(name_of_order(identified_by(descending(&row::number), &row::name)) == "descending");
  CHECK(name_of_order(distinct_by(descending(&row::number), &row::name)) == "descending, united");
}

TEST_CASE("an item is shown by the first column, whatever that is") {
  auto const words = [](auto projection, row const& item = {}) {
    auto const order = ascending(projection).then(ascending(&row::name));
    auto const said = words_of_item(order, item);
    CHECK(words_of_item(identified_by(order, &row::name), item).view() == said.view());
    CHECK(words_of_item(distinct_by(order, &row::name), item).view() == said.view());
    return std::string{said.view()};
  };
  CHECK(words(&row::name) == "\"b\"");
  CHECK(words(&row::price) == "2.5");
  CHECK(words(&row::price, {.price = std::numeric_limits<double>::infinity()}) == "no number");
  CHECK(words(&row::number) == "-7");
  CHECK(words(&row::is) == "1");
  CHECK(words(&row::at) == "90");
  CHECK(words([](row const& one) { return one.price > 2; }) == "true");
  CHECK(words([](row const& one) { return std::vector{one.price}; }) == "an item");
  CHECK(words(&row::maybe) == "an item");
  CHECK(words(&row::name, {.name = std::string(100, 'x')}).size() <= 60);
}

}  // namespace
