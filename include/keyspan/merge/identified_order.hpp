// keyspan/merge/identified_order.hpp — an order, and what tells one item from another, whatever
// their places in it.
//
//   identified_by(ascending(&change::time), &change::id)
#pragma once

#include <keyspan/core/number.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_image.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace keyspan {

class order_value;

namespace detail {

template <class T>
concept identity_integer = std::integral<T> && sizeof(T) <= sizeof(std::uint64_t);

// Where a hash begins: from 0 short texts of different sizes could meet.
inline constexpr std::uint64_t identity_seed = fold_golden;

// The same on every machine, since cursors keep it.
template <class T>
constexpr std::uint64_t identity_hash(std::uint64_t state, T const& value);

template <class T>
        struct identity_kind : std::bool_constant < identity_integer<T> ||
    std::is_enum_v<T> || std::convertible_to<T const&, std::string_view> ||
    requires(T const& value) {
  {
    value.to_hex()
  } -> std::convertible_to<std::string_view>;
}>{};
template <class... Ts>
struct identity_kind<std::tuple<Ts...>>
    : std::bool_constant<(identity_kind<std::remove_cvref_t<Ts>>::value && ...)> {};
template <class A, class B>
struct identity_kind<std::pair<A, B>>
    : std::bool_constant<identity_kind<std::remove_cvref_t<A>>::value &&
                         identity_kind<std::remove_cvref_t<B>>::value> {};

template <class T>
constexpr std::uint64_t identity_hash(std::uint64_t state, T const& value) {
  if constexpr (std::is_enum_v<T>) {
    return identity_hash(state, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::same_as<T, char>) {
    return identity_hash(state, static_cast<unsigned char>(value));  // whatever its sign here
  } else if constexpr (identity_integer<T>) {
    return folded_value(state, static_cast<std::uint64_t>(value), 0, key_kind::number);
  } else if constexpr (std::convertible_to<T const&, std::string_view>) {
    return folded_text(state, static_cast<std::string_view>(value));
  } else if constexpr (requires { value.to_hex(); }) {
    auto const digits = value.to_hex();
    return folded_text(state, static_cast<std::string_view>(digits));
  } else {
    return std::apply(
        [&](auto const&... each) {
          static_cast<void>(((state = identity_hash(state, each)), ...));
          return state;
        },
        value);
  }
}

template <class T>
inline constexpr bool is_tuple_of_keys = false;
template <class... Ts>
inline constexpr bool is_tuple_of_keys<std::tuple<Ts...>> = true;
template <class A, class B>
inline constexpr bool is_tuple_of_keys<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_array_of_bytes = false;
template <class Byte, std::size_t Size>
inline constexpr bool is_array_of_bytes<std::array<Byte, Size>> = sizeof(Byte) == 1;

template <class Key>
concept has_exact_image = has_sort_image<Key> && requires { requires sort_image<Key>::is_exact; };

// Whether `key_hash` tells all that two keys can differ in.
template <class Key>
inline constexpr bool is_hashed_whole =
    identity_kind<Key>::value || has_exact_image<Key> || is_array_of_bytes<Key> ||
    std::same_as<Key, key_value> || std::same_as<Key, order_value>;
template <class T>
inline constexpr bool is_hashed_whole<std::optional<T>> = is_hashed_whole<T>;
template <class... Ts>
inline constexpr bool is_hashed_whole<std::tuple<Ts...>> =
    (is_hashed_whole<std::remove_cvref_t<Ts>> && ...);
template <class A, class B>
inline constexpr bool is_hashed_whole<std::pair<A, B>> =
    is_hashed_whole<std::remove_cvref_t<A>> && is_hashed_whole<std::remove_cvref_t<B>>;

// Of a key that an order goes by: all that two of them can differ in, the same on every machine. Of
// a type of one's own whose images are not exact that is its image, and less than all.
template <class Key>
constexpr std::uint64_t key_hash(std::uint64_t state, Key const& key) {
  if constexpr (identity_kind<Key>::value) {
    return identity_hash(state, key);
  } else if constexpr (has_wide_sort_image<Key> && has_exact_image<Key>) {
    return folded_value(state, sort_image<Key>::of(key), sort_image<Key>::low(key),
                        key_kind::number);
  } else if constexpr (has_exact_image<Key>) {
    return folded_value(state, sort_image<Key>::of(key), 0, key_kind::number);
  } else if constexpr (is_optional<Key>) {
    state = folded_value(state, key.has_value() ? 1 : 0, 0, key_kind::boolean);
    return key ? key_hash(state, *key) : state;
  } else if constexpr (is_tuple_of_keys<Key>) {
    return std::apply(
        [&](auto const&... each) {
          static_cast<void>(((state = key_hash(state, each)), ...));
          return state;
        },
        key);
  } else if constexpr (is_array_of_bytes<Key>) {
    for (auto const byte : key) state = identity_hash(state, static_cast<unsigned char>(byte));
    return state;
  } else if constexpr (std::same_as<Key, key_value> || std::same_as<Key, order_value>) {
    state = folded_value(state, static_cast<std::uint64_t>(key.kind()), 0, key_kind::null);
    if (key.is_string()) return identity_hash(state, key.string());
    if (key.is_number()) return identity_hash(state, std::bit_cast<std::uint64_t>(key.number()));
    if (key.is_boolean()) return identity_hash(state, key.boolean());
    if constexpr (std::same_as<Key, order_value>)
      if (key.is_array() || key.is_object()) return key_hash(state, key.hash());
    return state;
  } else if constexpr (has_sort_image<Key>) {
    return folded_value(state, sort_image<Key>::of(key), 0, key_kind::number);
  } else {
    return state;
  }
}

// What an order tells of an item. An identity is one among those that the order calls equal, and a
// cursor keeps those of a whole page, or of all that share the first word of their keys.
template <class Order, class Item>
std::uint64_t place_hash(Order const&, Item const&) {
  return identity_seed;
}
template <class Projection, class Item>
std::uint64_t place_hash(time_order<Projection> const& order, Item const& item) {
  return identity_hash(identity_seed, time_keys<time_order<Projection>, Item>::image_of(
                                          std::invoke(order.projection(), item)));
}
template <class Column, class Item>
std::uint64_t column_hash(std::uint64_t state, Column const& column, Item const& item) {
  using key_type = typename Column::template key_type<Item>;
  if constexpr (!is_natural_less<std::remove_cvref_t<decltype(column.less)>, key_type>) {
    return state;  // what it calls equal may look different
  } else {
    return key_hash(state, static_cast<key_type const&>(std::invoke(column.projection, item)));
  }
}
// Whether `place_hash` tells apart all that an order does.
template <class Column, class Item>
inline constexpr bool is_column_hashed_whole = [] {
  using key_type = typename Column::template key_type<Item>;
  return is_natural_less<std::remove_cvref_t<decltype(std::declval<Column&>().less)>, key_type> &&
         is_hashed_whole<key_type>;
}();
template <class Order, class Item>
inline constexpr bool is_place_hashed_whole = false;
template <class... Columns, class Item>
inline constexpr bool is_place_hashed_whole<sort_order<Columns...>, Item> =
    (is_column_hashed_whole<Columns, Item> && ...);

template <class... Columns, class Item>
std::uint64_t place_hash(sort_order<Columns...> const& order, Item const& item) {
  std::uint64_t state = identity_seed;
  std::apply(
      [&](auto const&... column) {
        static_cast<void>(((state = column_hash(state, column, item)), ...));
      },
      order.columns());
  return state;
}

template <class Order, class Identity, class Item>
class identified_keys;

}  // namespace detail

/// The sentence that a compiler shows for an identity that is none of integers, enumerators, texts,
/// tokens, and tuples of them.
template <class T>
concept item_identity = detail::identity_kind<std::remove_cvref_t<T>>::value;

/// An order whose items can be told apart; made by `identified_by`.
template <class Order, class Identity>
class identified_order {
 public:
  constexpr identified_order() = default;
  constexpr identified_order(Order order, Identity by)
      : order_(std::move(order)), identity_(std::move(by)) {}

  constexpr Order const& order() const noexcept { return order_; }
  constexpr Identity const& identity() const noexcept { return identity_; }

  /// What a merge sorts by it.
  template <class Item>
  using keys = detail::identified_keys<Order, Identity, Item>;
  template <class Item>
  static constexpr bool takes =
      Order::template takes<Item> && std::invocable<Identity const&, std::remove_cv_t<Item> const&>;
  template <class Item>
  static constexpr bool compares = Order::template compares<Item>;
  template <class Item>
  static constexpr bool identifies =
      item_identity<std::invoke_result_t<Identity const&, std::remove_cv_t<Item> const&>>;

 private:
  [[no_unique_address]] Order order_{};
  [[no_unique_address]] Identity identity_{};
};

/// `order`, and `by`, which no two items share that the order calls equal: a cursor can then
/// say which of those were given, also when a split deals them out anew. Where items change and
/// come again, as in a feed of latest versions, an id alone is none: take it with what every change
/// makes anew, a version or a log sequence number.
template <class Order, class Identity>
[[nodiscard]] constexpr identified_order<Order, Identity> identified_by(Order order, Identity by) {
  return {std::move(order), std::move(by)};
}

namespace detail {

template <class Keys>
concept tells_apart = requires { requires Keys::tells_apart; };

template <class Order, class Identity, class Item>
class identified_keys : public Order::template keys<Item> {
  using inner = typename Order::template keys<Item>;

 public:
  static constexpr bool tells_apart = true;

  identified_keys() = default;
  explicit identified_keys(identified_order<Order, Identity> order)
      : inner(order.order()), order_(order.order()), identity_(order.identity()) {}

  std::uint64_t identity(Item const& item) const {
    return identity_hash(place_hash(order_, item), std::invoke(identity_, item));
  }
  bool is_same(Item const& a, Item const& b) const {
    return std::invoke(identity_, a) == std::invoke(identity_, b);
  }

 private:
  [[no_unique_address]] Order order_{};
  [[no_unique_address]] Identity identity_{};
};

}  // namespace detail

}  // namespace keyspan
