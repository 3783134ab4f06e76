// keyspan/merge/united_order.hpp — an order in which one thing that several sources tell of is
// given once.
//
//   united_by(ascending(&doc::id), &doc::id, last_writer(&doc::time))    the latest of each
//   distinct_by(ascending(&doc::time), &doc::version)                    the first of each
#pragma once

#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace keyspan {

/// Which of two items of one identity stays: the one that was there first. The order of sources
/// decides.
struct first_source {
  template <class Item>
  [[nodiscard]] constexpr bool operator()(Item const&, Item const&) const noexcept {
    return false;
  }
};

/// Which of two items of one identity stays: the one that was written last, by what `Projection`
/// tells of it; the first source's where that is the same.
template <class Projection>
class latest_of {
 public:
  constexpr latest_of() = default;
  constexpr explicit latest_of(Projection projection) : projection_(std::move(projection)) {}

  /// Whether `other` takes the place of `kept`.
  template <class Item>
    requires std::invocable<Projection const&, Item const&>
  [[nodiscard]] constexpr bool operator()(Item const& kept, Item const& other) const {
    return std::invoke(projection_, kept) < std::invoke(projection_, other);
  }

 private:
  [[no_unique_address]] Projection projection_{};
};

/// The last writer wins, by a time or a version that the items tell.
template <class Projection>
[[nodiscard]] constexpr latest_of<Projection> last_writer(Projection projection) {
  return latest_of<Projection>{std::move(projection)};
}

namespace detail {

template <class Order, class Identity, class Policy, class Item>
class united_keys;

// An order that goes by the items alone, so that those it calls equal are side by side.
template <class Order>
inline constexpr bool is_sort_order = false;
template <class... Columns>
inline constexpr bool is_sort_order<sort_order<Columns...>> = true;

}  // namespace detail

/// The sentence that a compiler shows for what does not decide between two items: it is called with
/// the one that is kept and the other one, and says whether that takes its place.
template <class Policy, class Item>
concept decides_between = std::predicate<Policy const&, Item const&, Item const&>;

/// An order in which only one of the items that it calls equal and that share an identity is given;
/// made by `united_by` and `distinct_by`.
template <class Order, class Identity, class Policy>
class united_order {
  static_assert(detail::is_sort_order<Order>,
                "items are united in an order by columns: ascending or descending");

 public:
  constexpr united_order() = default;
  constexpr united_order(Order order, Identity by, Policy which)
      : identified_(std::move(order), std::move(by)), policy_(std::move(which)) {}

  constexpr Order const& order() const noexcept { return identified_.order(); }
  constexpr identified_order<Order, Identity> const& identified() const noexcept {
    return identified_;
  }
  constexpr Policy const& policy() const noexcept { return policy_; }

  /// What a merge sorts by it.
  template <class Item>
  using keys = detail::united_keys<Order, Identity, Policy, Item>;
  template <class Item>
  static constexpr bool takes = identified_order<Order, Identity>::template takes<Item>;
  template <class Item>
  static constexpr bool compares = identified_order<Order, Identity>::template compares<Item>;
  template <class Item>
  static constexpr bool identifies = identified_order<Order, Identity>::template identifies<Item>;
  template <class Item>
  static constexpr bool decides = decides_between<Policy, std::remove_cv_t<Item>>;

 private:
  [[no_unique_address]] identified_order<Order, Identity> identified_{};
  [[no_unique_address]] Policy policy_{};
};

/// Of the items that `order` calls equal and that share what `by` tells of them, one is given:
/// `policy` says of two whether the other one takes the place of the one that is kept. Sorted by
/// the identity itself, that is one of all. Items of an equal run are held until the run has ended.
template <class Order, class Identity, class Policy>
[[nodiscard]] constexpr united_order<Order, Identity, Policy> united_by(Order order, Identity by,
                                                                        Policy policy) {
  return {std::move(order), std::move(by), std::move(policy)};
}

/// The same, and the first source's item is kept: duplicates are left out.
template <class Order, class Identity>
[[nodiscard]] constexpr united_order<Order, Identity, first_source> distinct_by(Order order,
                                                                                Identity by) {
  return {std::move(order), std::move(by), first_source{}};
}

namespace detail {

template <class Keys>
concept unites = requires { requires Keys::unites; };

template <class Order, class Identity, class Policy, class Item>
class united_keys : public identified_keys<Order, Identity, Item> {
  using inner = identified_keys<Order, Identity, Item>;

 public:
  static constexpr bool unites = true;
  // Items of other keys may have the same identity: where no hash tells the keys apart, a cursor in
  // the midst of a run knows none of it.
  static constexpr bool tells_apart = is_place_hashed_whole<Order, Item>;

  united_keys() = default;
  explicit united_keys(united_order<Order, Identity, Policy> order)
      : inner(order.identified()), policy_(order.policy()) {}

  bool replaces(Item const& kept, Item const& other) const {
    return std::invoke(policy_, kept, other);
  }

 private:
  [[no_unique_address]] Policy policy_{};
};

}  // namespace detail

}  // namespace keyspan
