// keyspan/merge/order_words.hpp — an order and its items in words: the name by which cursors are
// told apart, and an item as an error shows it.
#pragma once

#include <keyspan/core/number.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace keyspan::detail {

// What a cursor calls an order: only a merge by one of the same name goes on with it.
template <direction Direction, class Projection, class Less>
std::string name_of_column(sort_column<Direction, Projection, Less> const&) {
  return Direction == direction::ascending ? "ascending" : "descending";
}
template <class... Columns>
std::string name_of_order(sort_order<Columns...> const& order) {
  std::string name;
  std::apply(
      [&](auto const&... column) {
        static_cast<void>(((name += (name.empty() ? "" : ", ") + name_of_column(column)), ...));
      },
      order.columns());
  return name;
}
template <class Projection>
std::string name_of_order(time_order<Projection> const&) {
  return "by time";
}
inline std::string name_of_order(round_robin_order) { return "round robin"; }
inline std::string name_of_order(arrival_order) { return "as they come"; }
template <class Order, class Identity>
std::string name_of_order(identified_order<Order, Identity> const& order) {
  return name_of_order(order.order());
}
template <class Order, class Identity, class Policy>
std::string name_of_order(united_order<Order, Identity, Policy> const& order) {
  return name_of_order(order.order()) + ", united";
}

// An item as an error shows it: by the first column of its order.
template <class Key>
inline_text<60> words_of_key(Key const& key) {
  if constexpr (std::convertible_to<Key const&, std::string_view>) {
    return {"\"", inline_text<40>{static_cast<std::string_view>(key)}, "\""};
  } else if constexpr (std::same_as<Key, bool>) {
    return {key ? "true" : "false", ""};
  } else if constexpr (text_piece<Key>) {
    return inline_text<60>{key, ""};
  } else if constexpr (std::is_enum_v<Key>) {
    return words_of_key(+static_cast<std::underlying_type_t<Key>>(key));
  } else if constexpr (requires { std::string_view{key.to_text()}; }) {
    return inline_text<60>{std::string_view{key.to_text()}, ""};
  } else if constexpr (requires { key.time_since_epoch().count(); }) {
    return words_of_key(key.time_since_epoch().count());
  } else if constexpr (std::floating_point<Key>) {
    char digits[max_number_text];
    return inline_text<60>{write_number(static_cast<double>(key), digits).value_or("no number"),
                           ""};
  } else {
    return "an item";
  }
}
// Two items that are not in order, by the first column that tells them apart, and which one that
// is.
struct words_of_two {
  inline_text<60> later;
  inline_text<60> earlier;
  inline_text<30> where{};
};
template <class Item, class... Columns>
words_of_two words_of_items(sort_order<Columns...> const& order, Item const& later,
                            Item const& earlier) {
  words_of_two made;
  std::size_t column = 0;
  auto const look = [&](auto const& one) {
    ++column;
    if (column < sizeof...(Columns) && one.compare(later, earlier) == 0) return false;
    made.later = words_of_key(std::invoke(one.projection, later));
    made.earlier = words_of_key(std::invoke(one.projection, earlier));
    if (sizeof...(Columns) > 1) made.where = {" in column ", column, ""};
    return true;
  };
  std::apply([&](auto const&... one) { static_cast<void>((look(one) || ...)); }, order.columns());
  return made;
}
template <class Item, class Order, class Identity, class Policy>
words_of_two words_of_items(united_order<Order, Identity, Policy> const& order, Item const& later,
                            Item const& earlier) {
  return words_of_items(order.order(), later, earlier);
}
template <class Item, class Order, class Identity>
words_of_two words_of_items(identified_order<Order, Identity> const& order, Item const& later,
                            Item const& earlier) {
  return words_of_items(order.order(), later, earlier);
}

}  // namespace keyspan::detail
