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
using keyspan::detail::words_of_items;
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
  auto const words = words_of_items(order, row{.price = 3}, row{.price = 2});
  check(words.later.view() == "3" && words.earlier.view() == "2");
  check(words.where.view() == " in column 2");  // the first one tells nothing apart
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

TEST_CASE("an item is shown by the column that tells it apart, whatever that is") {
  auto const words = [](auto projection, row const& item = {}) {
    auto const order = ascending(projection);
    auto const said = words_of_items(order, item, item);
    CHECK(said.where.view().empty());
    CHECK(said.earlier.view() == said.later.view());
    CHECK(words_of_items(identified_by(order, &row::name), item, item).later.view() ==
          said.later.view());
    CHECK(words_of_items(distinct_by(order, &row::name), item, item).later.view() ==
          said.later.view());
    return std::string{said.later.view()};
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

  auto const three =
      ascending(&row::name).then(descending(&row::price)).then(ascending(&row::number));
  auto const first = words_of_items(three, row{.name = "a", .price = 1}, row{.name = "b"});
  CHECK(first.later.view() == "\"a\"");
  CHECK(first.earlier.view() == "\"b\"");
  CHECK(first.where.view() == " in column 1");
  auto const second = words_of_items(three, row{.price = 9}, row{.number = 8});
  CHECK(second.later.view() == "9");
  CHECK(second.where.view() == " in column 2");
  auto const last = words_of_items(three, row{.number = 4}, row{.number = 5});
  CHECK(last.earlier.view() == "5");
  CHECK(last.where.view() == " in column 3");
}

}  // namespace
