// keyspan/merge/other_orders.hpp — orders that need no sorted sources: by time, in turn, and as
// pages come.
#pragma once

#include <keyspan/merge/sort_image.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

template <class Order, class Item>
class time_keys;
template <class Item>
class turn_keys;
template <class Item>
class arrival_keys;

}  // namespace detail

/// By a time that each source writes in its own log. Clocks go back now and then: an item counts as
/// no earlier than the one before it in its source, so that each source's own order is kept. Items
/// of one time leave in the order of their sources. Made by `by_time`.
template <class Projection>
class time_order {
 public:
  constexpr explicit time_order(Projection by) : projection_(std::move(by)) {}

  constexpr Projection const& projection() const noexcept { return projection_; }

  /// What a merge sorts by it.
  template <class Item>
  using keys = detail::time_keys<time_order, Item>;
  template <class Item>
  using time_type =
      std::remove_cvref_t<std::invoke_result_t<Projection const&, std::remove_cv_t<Item> const&>>;
  template <class Item>
  static constexpr bool takes = std::invocable<Projection const&, std::remove_cv_t<Item> const&>;
  template <class Item>
  static constexpr bool compares = [] {
    if constexpr (has_sort_image<time_type<Item>> && !has_wide_sort_image<time_type<Item>>) {
      return sort_image<time_type<Item>>::is_exact;
    } else {
      return false;
    }
  }();

 private:
  [[no_unique_address]] Projection projection_;
};

/// By the time that `projection` tells of an item: a time point, or any number that counts one.
template <class Projection>
[[nodiscard]] constexpr time_order<Projection> by_time(Projection projection) {
  return time_order<Projection>{std::move(projection)};
}

/// The type of `round_robin`.
struct round_robin_order {
  template <class Item>
  using keys = detail::turn_keys<Item>;
  template <class Item>
  static constexpr bool takes = true;
  template <class Item>
  static constexpr bool compares = true;
};
/// An item of each source in turn.
inline constexpr round_robin_order round_robin{};

/// The type of `as_they_come`.
struct arrival_order {
  template <class Item>
  using keys = detail::arrival_keys<Item>;
  template <class Item>
  static constexpr bool takes = true;
  template <class Item>
  static constexpr bool compares = true;
};
/// Whole pages, the first that is there first. A source whose page was given is asked for the next
/// one, and that stands behind all that came before it: nobody is passed over for ever.
inline constexpr arrival_order as_they_come{};

namespace detail {

// One number of each source.
class source_numbers {
 public:
  void resize(std::size_t sources) { numbers_.assign(sources, 0); }
  // New ones go on with the number of the one that they replace.
  void replace(std::span<replacement const> some) {
    std::vector<std::uint64_t> numbers;
    auto next = some.begin();
    for (std::size_t source = 0; source < numbers_.size(); ++source) {
      bool const is_replaced = next != some.end() && next->source == source;
      numbers.insert(numbers.end(), is_replaced ? (next++)->count : 1, numbers_[source]);
    }
    numbers_ = std::move(numbers);
  }
  std::uint64_t state(std::size_t source) const noexcept { return numbers_[source]; }
  void set_state(std::size_t source, std::uint64_t number) noexcept { numbers_[source] = number; }

 private:
  std::vector<std::uint64_t> numbers_{};
};

template <class Order, class Item>
class time_keys : public source_numbers {
 public:
  static constexpr bool is_checked = false;
  static constexpr bool waits_for_all = true;
  static constexpr bool is_wide = false;
  static constexpr bool is_exact = true;
  using key_type = merge_key<false>;

  explicit time_keys(Order order) : order_(std::move(order)) {}

  static constexpr std::uint64_t image_of(typename Order::template time_type<Item> const& time) {
    return sort_image<typename Order::template time_type<Item>>::of(time);
  }
  key_type key(std::size_t source, Item const& item) {
    std::uint64_t const time = image_of(std::invoke(order_.projection(), item));
    if (time > state(source)) set_state(source, time);
    return {state(source)};
  }
  static std::weak_ordering compare(Item const&, Item const&) noexcept {
    return std::weak_ordering::equivalent;
  }
  static void begin_page(std::size_t) noexcept {}

 private:
  [[no_unique_address]] Order order_;
};

template <class Item>
class turn_keys : public source_numbers {
 public:
  static constexpr bool is_checked = false;
  static constexpr bool waits_for_all = true;
  static constexpr bool is_wide = false;
  static constexpr bool is_exact = true;
  using key_type = merge_key<false>;

  explicit turn_keys(round_robin_order) {}

  // The number of the turn that the item is given in.
  key_type key(std::size_t source, Item const&) {
    std::uint64_t const turn = state(source) + 1;
    set_state(source, turn);
    return {turn};
  }
  static std::weak_ordering compare(Item const&, Item const&) noexcept {
    return std::weak_ordering::equivalent;
  }
  static void begin_page(std::size_t) noexcept {}
};

template <class Item>
class arrival_keys : public source_numbers {
 public:
  static constexpr bool is_checked = false;
  static constexpr bool waits_for_all = false;
  static constexpr bool is_wide = false;
  static constexpr bool is_exact = true;
  using key_type = merge_key<false>;

  explicit arrival_keys(arrival_order) {}

  void begin_page(std::size_t source) noexcept { set_state(source, ++pages_); }
  key_type key(std::size_t source, Item const&) const noexcept { return {state(source)}; }
  static std::weak_ordering compare(Item const&, Item const&) noexcept {
    return std::weak_ordering::equivalent;
  }

 private:
  std::uint64_t pages_ = 0;
};

}  // namespace detail

}  // namespace keyspan
