// keyspan/merge/sort_order.hpp — by what items are sorted: one column or several, ascending or
// descending.
//
//   ascending(&trade::day).then(descending(&trade::price))
#pragma once

#include <keyspan/merge/sort_image.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

// Orders that are those of the images: a comparison of one's own may mean another one, and so may
// that of a type that the keys only convert to.
template <class Less, class Key>
inline constexpr bool is_natural_less =
    std::same_as<Less, std::ranges::less> || std::same_as<Less, std::less<>> ||
    std::same_as<Less, std::less<Key>>;

enum class direction : bool { ascending, descending };

template <direction Direction, class Projection, class Less>
struct sort_column {
  template <class Item>
  using key_type =
      std::remove_cvref_t<std::invoke_result_t<Projection const&, std::remove_cv_t<Item> const&>>;

  template <class Item>
  static constexpr bool has_image =
      is_natural_less<Less, key_type<Item>> && has_sort_image<key_type<Item>>;
  template <class Item>
  static constexpr bool is_exact = [] {
    if constexpr (has_image<Item>) {
      return sort_image<key_type<Item>>::is_exact;
    } else {
      return false;
    }
  }();
  template <class Item>
  static constexpr bool is_wide = has_image<Item> && has_wide_sort_image<key_type<Item>>;

  static constexpr std::uint64_t directed(std::uint64_t image) noexcept {
    return Direction == direction::ascending ? image : ~image;
  }
  template <class Item>
  constexpr std::uint64_t first(Item const& item) const {
    return directed(sort_image<key_type<Item>>::of(std::invoke(projection, item)));
  }
  template <class Item>
  constexpr std::uint64_t second(Item const& item) const {
    return directed(sort_image<key_type<Item>>::low(std::invoke(projection, item)));
  }
  // By the images where they say all, so that this and the tree are of one mind about -0 and NaN.
  template <class Item>
  constexpr std::weak_ordering compare(Item const& a, Item const& b) const {
    if constexpr (Direction == direction::ascending) {
      return compare_ascending(a, b);
    } else {
      return compare_ascending(b, a);
    }
  }

  // One call of a comparison of one's own, where the above may take two.
  template <class Item>
  constexpr bool is_less(Item const& a, Item const& b) const {
    if constexpr (is_exact<Item>) {
      return compare(a, b) < 0;
    } else if constexpr (Direction == direction::ascending) {
      return std::invoke(less, std::invoke(projection, a), std::invoke(projection, b));
    } else {
      return std::invoke(less, std::invoke(projection, b), std::invoke(projection, a));
    }
  }

  [[no_unique_address]] Projection projection;
  [[no_unique_address]] Less less;

 private:
  template <class Item>
  constexpr std::weak_ordering compare_ascending(Item const& a, Item const& b) const {
    auto&& x = std::invoke(projection, a);
    auto&& y = std::invoke(projection, b);
    if constexpr (is_exact<Item>) {
      using image = sort_image<key_type<Item>>;
      if constexpr (is_wide<Item>)
        if (auto const high = image::of(x) <=> image::of(y); high != 0) return high;
      if constexpr (is_wide<Item>) {
        return image::low(x) <=> image::low(y);
      } else {
        return image::of(x) <=> image::of(y);
      }
    } else if constexpr (is_natural_less<Less, key_type<Item>> &&
                         std::three_way_comparable<key_type<Item>, std::weak_ordering>) {
      return x <=> y;
    } else {
      if (std::invoke(less, x, y)) return std::weak_ordering::less;
      if (std::invoke(less, y, x)) return std::weak_ordering::greater;
      return std::weak_ordering::equivalent;
    }
  }
};

template <class Column, class Item>
concept projects = std::invocable<decltype((std::declval<Column const&>().projection)),
                                  std::remove_cv_t<Item> const&>;
template <class Column, class Item>
concept column_of = projects<Column, Item> &&
                    (Column::template has_image<Item> ||
                     std::strict_weak_order<decltype((std::declval<Column const&>().less)),
                                            typename Column::template key_type<Item> const&,
                                            typename Column::template key_type<Item> const&>);

template <class Order, class Item>
class sorted_keys;

}  // namespace detail

/// An order of items by columns, the first of them first. Made by `ascending` and `descending`.
template <class... Columns>
class sort_order {
 public:
  constexpr sort_order()
    requires(std::default_initializable<Columns> && ...)
  = default;
  constexpr explicit sort_order(std::tuple<Columns...> columns) : columns_{std::move(columns)} {}

  /// The order that goes by these columns where it finds items equal.
  template <class... More>
  [[nodiscard]] constexpr sort_order<Columns..., More...> then(sort_order<More...> more) const {
    return sort_order<Columns..., More...>{std::tuple_cat(columns_, std::move(more).columns())};
  }

  /// How `a` and `b` are ordered.
  template <class Item>
  [[nodiscard]] constexpr std::weak_ordering compare(Item const& a, Item const& b) const {
    return std::apply(
        [&](auto const&... column) {
          std::weak_ordering order = std::weak_ordering::equivalent;
          static_cast<void>(((order = column.compare(a, b), order == 0) && ...));
          return order;
        },
        columns_);
  }
  /// Whether `a` comes before `b`: an order for algorithms of the standard library.
  template <class Item>
  [[nodiscard]] constexpr bool operator()(Item const& a, Item const& b) const {
    return is_less<0>(a, b);
  }

  constexpr std::tuple<Columns...> const& columns() const& noexcept { return columns_; }
  constexpr std::tuple<Columns...> columns() && { return std::move(columns_); }

  /// What a merge sorts by it.
  template <class Item>
  using keys = detail::sorted_keys<sort_order, Item>;
  template <class Item>
  static constexpr bool takes = (detail::projects<Columns, Item> && ...);
  template <class Item>
  static constexpr bool compares = (detail::column_of<Columns, Item> && ...);

 private:
  // The last column need not tell less from equal.
  template <std::size_t Column, class Item>
  constexpr bool is_less(Item const& a, Item const& b) const {
    if constexpr (Column == sizeof...(Columns)) {
      return false;
    } else if constexpr (Column + 1 == sizeof...(Columns)) {
      return std::get<Column>(columns_).is_less(a, b);
    } else {
      auto const order = std::get<Column>(columns_).compare(a, b);
      return order != 0 ? order < 0 : is_less<Column + 1>(a, b);
    }
  }

  [[no_unique_address]] std::tuple<Columns...> columns_;
};

namespace detail {

// What a compiler shows behind `orders_items`: which part of an order does not fit the items.
template <class Order, class Item>
inline constexpr bool projections_take_the_items = Order::template takes<Item>;
template <class Order, class Item>
inline constexpr bool keys_can_be_compared = Order::template compares<Item>;
template <class Order, class Item>
inline constexpr bool identity_can_be_kept = [] {
  if constexpr (requires { Order::template identifies<Item>; }) {
    return Order::template identifies<Item>;
  } else {
    return true;
  }
}();
template <class Order, class Item>
inline constexpr bool policy_decides_between_items = [] {
  if constexpr (requires { Order::template decides<Item>; }) {
    return Order::template decides<Item>;
  } else {
    return true;
  }
}();

}  // namespace detail

/// The sentence that a compiler shows where an order's projections do not take the items, their
/// keys cannot be compared, or what a union goes by does not fit them.
template <class Order, class Item>
concept orders_items =
    detail::projections_take_the_items<Order, Item> && detail::keys_can_be_compared<Order, Item> &&
    detail::identity_can_be_kept<Order, Item> && detail::policy_decides_between_items<Order, Item>;

/// By what `projection` makes of an item, the least first; by the items themselves without one.
/// With `less` in place of `<` a merge has to call it for every comparison: prefer a projection to
/// a type that has a `sort_image`.
template <class Projection = std::identity, class Less = std::ranges::less>
[[nodiscard]] constexpr auto ascending(Projection projection = {}, Less less = {}) {
  using column = detail::sort_column<detail::direction::ascending, Projection, Less>;
  return sort_order<column>{std::tuple{column{std::move(projection), std::move(less)}}};
}

/// The same, the greatest first.
template <class Projection = std::identity, class Less = std::ranges::less>
[[nodiscard]] constexpr auto descending(Projection projection = {}, Less less = {}) {
  using column = detail::sort_column<detail::direction::descending, Projection, Less>;
  return sort_order<column>{std::tuple{column{std::move(projection), std::move(less)}}};
}

namespace detail {

// The bits that a tree compares in place of the items: those of the first column, and of the second
// one where both are told by 64 bits.
template <class... Columns, class Item>
class sorted_keys<sort_order<Columns...>, Item> {
  static_assert(sizeof...(Columns) > 0, "an order has a column at least");

  using order_type = sort_order<Columns...>;
  using first_column = std::tuple_element_t<0, std::tuple<Columns...>>;
  static constexpr bool has_image = first_column::template has_image<Item>;
  static constexpr bool is_one_wide = sizeof...(Columns) == 1 &&
                                      first_column::template is_exact<Item> &&
                                      first_column::template is_wide<Item>;
  static constexpr bool is_two_narrow =
      sizeof...(Columns) == 2 &&
      ((Columns::template is_exact<Item> && !Columns::template is_wide<Item>) && ...);

 public:
  static constexpr bool is_checked = true;
  static constexpr bool waits_for_all = true;
  static constexpr bool is_wide = is_one_wide || is_two_narrow;
  static constexpr bool is_exact =
      is_wide || (sizeof...(Columns) == 1 && first_column::template is_exact<Item>);
  using key_type = merge_key<is_wide>;

  explicit sorted_keys(order_type order) : order_(std::move(order)) {}

  key_type key(std::size_t, Item const& item) const {
    key_type made;
    auto const& first = std::get<0>(order_.columns());
    if constexpr (has_image) made.first = first.first(item);
    if constexpr (is_one_wide) made.second = first.second(item);
    if constexpr (is_two_narrow) made.second = std::get<1>(order_.columns()).first(item);
    return made;
  }
  std::weak_ordering compare(Item const& a, Item const& b) const { return order_.compare(a, b); }
  bool is_less(Item const& a, Item const& b) const { return order_(a, b); }

  // Sources leave nothing behind but their items.
  static void resize(std::size_t) noexcept {}
  static void replace(std::span<replacement const>) noexcept {}
  static std::uint64_t state(std::size_t) noexcept { return 0; }
  static void set_state(std::size_t, std::uint64_t) noexcept {}
  static void begin_page(std::size_t) noexcept {}

 private:
  [[no_unique_address]] order_type order_;
};

}  // namespace detail

}  // namespace keyspan
