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
template <class Item, class... Columns>
inline_text<60> words_of_item(sort_order<Columns...> const& order, Item const& item) {
  return words_of_key(std::invoke(std::get<0>(order.columns()).projection, item));
}
template <class Item, class Order, class Identity, class Policy>
inline_text<60> words_of_item(united_order<Order, Identity, Policy> const& order,
                              Item const& item) {
  return words_of_item(order.order(), item);
}
template <class Item, class Order, class Identity>
inline_text<60> words_of_item(identified_order<Order, Identity> const& order, Item const& item) {
  return words_of_item(order.order(), item);
}

}  // namespace keyspan::detail
