// keyspan/core/index_view.hpp — what stands at numbered places of an owner, as a range.
//
//   owner[0] owner[1] [ owner[2] owner[3] owner[4] ) owner[5]      nothing is copied or stored
#pragma once

#include <keyspan/core/contract.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

// The one line by which range-v3 takes a type for a view. It is declared here as range-v3 declares
// it, so that nobody who does not use range-v3 has to include it.
namespace ranges::ext {
template <typename T>
struct enable_view;
}  // namespace ranges::ext

namespace keyspan {

namespace detail {

// An element that was made for one look at it.
template <class Element>
struct held_element {
  Element element;
  constexpr Element* operator->() noexcept { return std::addressof(element); }
};

}  // namespace detail

/// Steps through `owner[0]`, `owner[1]`, … of an owner that outlives it. Random access, whatever
/// `operator[]` returns.
template <class Owner>
class index_iterator {
 public:
  using reference = decltype(std::declval<Owner const&>()[std::declval<std::size_t>()]);
  using value_type = std::remove_cvref_t<reference>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category =
      std::conditional_t<std::is_reference_v<reference>, std::random_access_iterator_tag,
                         std::input_iterator_tag>;

  index_iterator() = default;
  constexpr index_iterator(Owner const& owner, std::size_t at) noexcept : owner_{&owner}, at_{at} {}

  /// Which element it stands at.
  constexpr std::size_t index() const noexcept { return at_; }

  constexpr reference operator*() const { return (*owner_)[at_]; }
  /// To a member of the element, which where it is made for the occasion lives as long as the
  /// expression.
  constexpr auto operator->() const {
    if constexpr (std::is_reference_v<reference>) {
      return std::addressof(**this);
    } else {
      return detail::held_element<reference>{**this};
    }
  }
  constexpr reference operator[](difference_type n) const { return *(*this + n); }

  constexpr index_iterator& operator++() {
    ++at_;
    return *this;
  }
  constexpr index_iterator operator++(int) {
    auto const before = *this;
    ++at_;
    return before;
  }
  constexpr index_iterator& operator--() {
    --at_;
    return *this;
  }
  constexpr index_iterator operator--(int) {
    auto const before = *this;
    --at_;
    return before;
  }
  constexpr index_iterator& operator+=(difference_type n) {
    at_ += static_cast<std::size_t>(n);  // modulo, so that it goes back as well
    return *this;
  }
  constexpr index_iterator& operator-=(difference_type n) {
    at_ -= static_cast<std::size_t>(n);
    return *this;
  }
  friend constexpr index_iterator operator+(index_iterator it, difference_type n) {
    return it += n;
  }
  friend constexpr index_iterator operator+(difference_type n, index_iterator it) {
    return it += n;
  }
  friend constexpr index_iterator operator-(index_iterator it, difference_type n) {
    return it -= n;
  }
  friend constexpr difference_type operator-(index_iterator const& a, index_iterator const& b) {
    return static_cast<difference_type>(a.at_ - b.at_);
  }

  /// Only iterators of one owner compare.
  friend constexpr bool operator==(index_iterator const& a, index_iterator const& b) {
    return a.at_ == b.at_;
  }
  friend constexpr std::strong_ordering operator<=>(index_iterator const& a,
                                                    index_iterator const& b) {
    return a.at_ <=> b.at_;
  }

 private:
  Owner const* owner_ = nullptr;
  std::size_t at_ = 0;
};

/// The elements of an owner from one number on and before another, looked at in place: a view of
/// `std::ranges` and of range-v3. The owner outlives it.
template <class Owner>
class index_view : public std::ranges::view_interface<index_view<Owner>> {
 public:
  using iterator = index_iterator<Owner>;

  index_view() = default;
  /// Requires `first <= last`, and that `owner` has all elements before `last`.
  constexpr index_view(Owner const& owner, std::size_t first, std::size_t last)
      : begin_{owner, first}, end_{owner, last} {
    expects(first <= last, "a view ends where it begins, or behind");
  }

  constexpr iterator begin() const noexcept { return begin_; }
  constexpr iterator end() const noexcept { return end_; }
  constexpr std::size_t size() const noexcept { return end_.index() - begin_.index(); }

 private:
  iterator begin_{};
  iterator end_{};
};

}  // namespace keyspan

template <class Owner>
inline constexpr bool std::ranges::enable_borrowed_range<keyspan::index_view<Owner>> = true;

template <typename Owner>
struct ranges::ext::enable_view<keyspan::index_view<Owner>> : std::true_type {};
