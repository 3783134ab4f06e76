// test/merge/identified_order_test.cpp — what tells items apart: what it may be, and that it is the
// same for ever.
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/order_value.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <support/check.hpp>

#include <cctype>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::as_they_come;
using keyspan::ascending;
using keyspan::by_time;
using keyspan::identified_by;
using keyspan::item_identity;
using keyspan::orders_items;
using keyspan::round_robin;
using test::check;

enum class color { red, green };

static_assert(item_identity<int> && item_identity<std::uint64_t const&> && item_identity<bool>);
static_assert(item_identity<color> && item_identity<std::string> && item_identity<char const*>);
static_assert(item_identity<keyspan::token128> && item_identity<std::pair<int, std::string>>);
static_assert(item_identity<std::tuple<int, color const&, std::pair<int, char const*>>>);
static_assert(!item_identity<double> && !item_identity<std::vector<int>>);
static_assert(!item_identity<std::pair<int, double>> && !item_identity<std::tuple<double>>);
static_assert(!item_identity<std::tuple<int, double>> && !item_identity<std::tuple<double, int>>);

struct item {
  std::string name;
  int id = 0;
  double weight = 0;
};
static_assert(orders_items<decltype(identified_by(ascending(&item::name), &item::id)), item>);
static_assert(!orders_items<decltype(identified_by(ascending(&item::name), &item::weight)), item>);
static_assert(!orders_items<decltype(identified_by(ascending(&item::name), &item::id)), int>);
static_assert(orders_items<decltype(identified_by(by_time(&item::id), &item::id)), item>);

TEST_CASE("the example of identified_order reads as it should") {
  // [region: example]
  auto const order = identified_by(ascending(&item::weight), &item::id);
  static_assert(keyspan::orders_items<decltype(order), item>);
  // In a feed of latest versions an item comes again when it changes: its id with its version.
  auto const versions = identified_by(ascending(&item::weight), [](item const& one) {
    return std::pair<int, std::string_view>{one.id, one.name};
  });
  // [end: example]
  static_assert(orders_items<decltype(versions), item>);
}

template <class Order>
std::uint64_t identity_in(Order const& order, item const& one) {
  return typename Order::template keys<item>{order}.identity(one);
}

TEST_CASE("an identity is one among equal items: what the order tells is a part of it") {
  auto const id = &item::id;
  item const a{"customer 1", 7, 1.5};
  item const b{"customer 2", 7, 1.5};
  item const c{"customer 1", 8, 1.5};
  item const d{"customer 1", 7, 2.5};
  auto const by_name = identified_by(ascending(&item::name), id);
  CHECK(identity_in(by_name, a) != identity_in(by_name, b));
  CHECK(identity_in(by_name, a) != identity_in(by_name, c));
  CHECK(identity_in(by_name, a) == identity_in(by_name, d));
  auto const by_both =
      identified_by(ascending(&item::name).then(keyspan::descending(&item::weight)), id);
  CHECK(identity_in(by_both, a) != identity_in(by_both, b));
  CHECK(identity_in(by_both, a) != identity_in(by_both, d));
  auto const in_time = identified_by(by_time(&item::weight), id);
  CHECK(identity_in(in_time, a) != identity_in(in_time, d));
  CHECK(identity_in(in_time, a) == identity_in(in_time, b));
  CHECK(identity_in(identified_by(round_robin, id), a) ==
        identity_in(identified_by(as_they_come, id), d));
  // What a comparison of one's own calls equal is so.
  auto const first_letter = [](std::string const& x, std::string const& y) { return x[0] < y[0]; };
  auto const by_letter = identified_by(ascending(&item::name, first_letter), id);
  CHECK(identity_in(by_letter, a) == identity_in(by_letter, b));
}

TEST_CASE("identities are the same on every machine, since cursors keep them") {
  auto const hash = [](auto const& value) {
    return keyspan::detail::identity_hash(keyspan::detail::identity_seed, value);
  };
  CHECK(hash(7) == 0x5D5EE2BE36410A99);
  CHECK(hash(std::string{"a"}) == 0x24A4E009B61DEF0D);
  CHECK(hash(std::pair{7, "a"}) == 0x3649051BDA8E27FB);
  CHECK(hash(7) == hash(std::int64_t{7}));
  CHECK(hash(color::green) == hash(1));
  CHECK(hash(std::string{"a"}) == hash("a"));
  CHECK(hash(std::tuple{7, std::string{"a"}}) == hash(std::pair{7, "a"}));
  CHECK(hash(-1) == hash(std::int64_t{-1}));
  // Here a char has a sign, there it has none.
  CHECK(hash(static_cast<char>(0xE9)) == 0xD78F20C74B7B41F3);
  for (int byte = 0; byte < 256; ++byte)
    CHECK(hash(static_cast<char>(byte)) == hash(static_cast<unsigned char>(byte)));
  std::set<std::uint64_t> all;
  for (int i = 0; i < 1000; ++i) {
    all.insert(hash(i));
    all.insert(hash(std::to_string(i)));
    all.insert(hash(std::pair{i, 0}));
    all.insert(hash(std::pair{0, i + 1000}));
  }
  CHECK(all.size() == 4000);
}

TEST_CASE("items are the same when their identities are") {
  using order = decltype(identified_by(ascending(&item::name), &item::id));
  order::keys<item> const keys{order{ascending(&item::name), &item::id}};
  CHECK(keys.is_same({"a", 1}, {"b", 1}));
  CHECK(!keys.is_same({"a", 1}, {"a", 2}));
}

struct person {
  std::optional<std::string> first;
  std::optional<std::string> last;
  int id = 1;
};

TEST_CASE("an identity tells a text that is missing from one that stands in another column") {
  auto const order =
      identified_by(ascending(&person::first).then(ascending(&person::last)), &person::id);
  auto const identity = [&](person const& one) {
    using order_type = std::remove_const_t<decltype(order)>;
    return typename order_type::template keys<person>{order}.identity(one);
  };
  CHECK(identity({"a", std::nullopt}) != identity({std::nullopt, "a"}));
  CHECK(identity({std::nullopt, std::nullopt}) != identity({std::nullopt, ""}));
}

TEST_CASE("an identity tells arrays and objects apart by their hashes") {
  using keyspan::order_value;
  using keyspan::token128;
  auto const hash = [](order_value const& value) {
    return keyspan::detail::key_hash(keyspan::detail::identity_seed, value);
  };
  std::set<std::uint64_t> all;
  for (std::uint64_t const word : {0U, 1U, 2U}) {
    all.insert(hash(order_value::hashed_array(token128{word, 7})));
    all.insert(hash(order_value::hashed_array(token128{7, word})));
    all.insert(hash(order_value::hashed_object(token128{word, 7})));
  }
  CHECK(all.size() == 9);
  CHECK(hash(order_value{}) != hash(order_value{keyspan::null}));
  CHECK(hash(order_value{true}) != hash(order_value{false}));
  CHECK(hash(order_value{1}) != hash(order_value{true}));
}

}  // namespace
