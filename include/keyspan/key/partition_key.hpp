// keyspan/key/partition_key.hpp — which logical partition a document belongs to: up to three
// values.
//
//   partition_key_view   borrows its strings: what an extractor sees in a document
//   partition_key        owns them: what a program keeps
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/key_value.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

/// A hierarchical key has three levels at most.
inline constexpr std::size_t max_key_values = 3;

/// The sentence that a compiler shows where somebody gives a key a fourth value.
template <class... Values>
concept at_most_three_key_values = sizeof...(Values) <= max_key_values;

class partition_key;

/// Zero to three key values. Strings are borrowed: their characters outlive the view. The whole key
/// of a container with fewer paths, or the prefix of a hierarchical one, is just shorter.
class partition_key_view {
 public:
  /// The empty key: that of a container without a partition key, and the prefix of every other.
  constexpr partition_key_view() = default;

  /// Requires of each value what `key_value` requires.
  template <class... Values>
    requires(sizeof...(Values) > 0 && at_most_three_key_values<Values...> &&
             (borrowable_key_input<Values> && ...))
  constexpr explicit(sizeof...(Values) == 1) partition_key_view(Values&&... values)
      : values_{key_value(std::forward<Values>(values))...}, size_{sizeof...(Values)} {}

  /// Requires three values at most.
  constexpr explicit partition_key_view(std::span<key_value const> values) {
    expects(values.size() <= max_key_values, "a partition key has at most three values");
    std::copy(values.begin(), values.end(), values_.begin());
    size_ = values.size();
  }

  /// The values of a key that somebody else owns, and keeps.
  constexpr partition_key_view(partition_key const& owner) noexcept;
  partition_key_view(partition_key const&& temporary) = delete;

  /// The key, or why one of the values is none, and which. Errors: those of `key_value::from`.
  template <class... Values>
    requires(at_most_three_key_values<Values...> && (borrowable_key_input<Values> && ...))
  [[nodiscard]] static constexpr result<partition_key_view> from(Values&&... values) {
    // Made where it is returned: copied in wide words it would wait for its narrow ones.
    result<partition_key_view> made{std::in_place};
    if (!(made->add(values) && ...)) [[unlikely]]
      made = refusal(*made, values...);
    return made;
  }

  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Requires `i < size()`.
  constexpr key_value const& operator[](std::size_t i) const {
    expects(i < size_, "the partition key has a value of this number");
    return values_[i];
  }
  constexpr key_value const* begin() const noexcept { return values_.data(); }
  constexpr key_value const* end() const noexcept { return values_.data() + size_; }
  constexpr std::span<key_value const> values() const noexcept { return {values_.data(), size_}; }

  /// The first `count` values. Requires that there are so many.
  [[nodiscard]] constexpr partition_key_view prefix(std::size_t count) const {
    expects(count <= size_, "a prefix is not longer than the key");
    return partition_key_view{values().first(count)};
  }
  /// Whether the key is `prefix`, or is under it in a hierarchy.
  constexpr bool starts_with(partition_key_view const& prefix) const noexcept {
    return prefix.size_ <= size_ && std::equal(prefix.begin(), prefix.end(), begin());
  }

  /// A JSON array; `undefined` is {}, as it is on the wire.
  std::string to_text() const {
    std::string text;
    json_writer out{text};
    out.begin_array();
    for (key_value const& value : *this) detail::write_key_value(out, value);
    out.end_array();
    return text;
  }

  friend constexpr bool operator==(partition_key_view const& a,
                                   partition_key_view const& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  /// By the first value that differs; a prefix comes before what is under it.
  friend constexpr std::strong_ordering operator<=>(partition_key_view const& a,
                                                    partition_key_view const& b) noexcept {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  template <class... Values>
  static constexpr unexpected refusal(partition_key_view made, Values const&... values) {
    error why{errc::not_representable};
    std::size_t number = 0;
    static_cast<void>((made.ended_with(++number, values, why) || ...));
    if (sizeof...(Values) == 1) return unexpected{why};
    return fail(why.code, "value ", made.size_, " of the key: ", why.text);
  }

  template <class T>
  constexpr bool add(T const& value) {
    return values_[size_++].assign(value);
  }
  // Whether the value of this number was the last that was tried; then why it was refused.
  template <class T>
  constexpr bool ended_with(std::size_t number, T const& value, error& why) const {
    if (number != size_) return false;
    why = key_value::why_not(value);
    return true;
  }

  std::array<key_value, max_key_values> values_{};
  std::size_t size_ = 0;
};

static_assert(std::is_trivially_copyable_v<partition_key_view>);

namespace detail {

// The characters of a key's strings, one after another; in the object where they are few.
class key_characters {
 public:
  static constexpr std::size_t inline_size = 64;

  constexpr key_characters() = default;
  constexpr explicit key_characters(std::size_t size) : size_{size} {
    if (size > inline_size) heap_ = new char[size];
  }
  constexpr key_characters(key_characters const& other) : key_characters{other.size_} {
    std::copy_n(other.data(), size_, data());
  }
  constexpr key_characters(key_characters&& other) noexcept { swap(other); }
  constexpr key_characters& operator=(key_characters other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~key_characters() { delete[] heap_; }

  constexpr char* data() noexcept { return heap_ ? heap_ : inline_; }
  constexpr char const* data() const noexcept { return heap_ ? heap_ : inline_; }

 private:
  constexpr void swap(key_characters& other) noexcept {
    std::swap_ranges(inline_, inline_ + inline_size, other.inline_);
    std::swap(heap_, other.heap_);
    std::swap(size_, other.size_);
  }

  char inline_[inline_size]{};
  char* heap_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail

/// Zero to three key values, strings included. Allocates where its strings have more than 64 bytes
/// together.
class partition_key {
 public:
  /// The empty key: that of a container without a partition key, and the prefix of every other.
  constexpr partition_key() = default;

  /// Requires of each value what `key_value` requires.
  template <class... Values>
    requires(sizeof...(Values) > 0 && at_most_three_key_values<Values...> &&
             (key_input<Values> && ...))
  constexpr explicit(sizeof...(Values) == 1) partition_key(Values const&... values)
      : partition_key{partition_key_view{values...}} {}

  /// A copy of what a view shows.
  constexpr explicit partition_key(partition_key_view const& view)
      : characters_{length_of(view)}, size_{view.size()} {
    std::size_t used = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      values_[i] = view[i];
      if (!view[i].is_string()) continue;
      std::string_view const text = view[i].string();
      std::copy_n(text.data(), text.size(), characters_.data() + used);
      used += text.size();
    }
    rebind();
  }
  constexpr partition_key(partition_key const& other) : partition_key{partition_key_view{other}} {}
  constexpr partition_key(partition_key&& other) noexcept
      : values_{other.values_},
        characters_{std::move(other.characters_)},
        size_{std::exchange(other.size_, 0)} {
    rebind();
  }
  constexpr partition_key& operator=(partition_key other) noexcept {
    values_ = other.values_;
    characters_ = std::move(other.characters_);
    size_ = std::exchange(other.size_, 0);
    rebind();
    return *this;
  }
  constexpr ~partition_key() = default;

  /// The key, or why one of the values is none, and which. Errors: those of `key_value::from`.
  template <class... Values>
    requires(at_most_three_key_values<Values...> && (key_input<Values> && ...))
  [[nodiscard]] static constexpr result<partition_key> from(Values const&... values) {
    auto const view = partition_key_view::from(values...);
    if (!view) return unexpected{view.error()};
    return partition_key{*view};
  }

  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Requires `i < size()`.
  constexpr key_value const& operator[](std::size_t i) const& {
    expects(i < size_, "the partition key has a value of this number");
    return values_[i];
  }
  constexpr key_value const* begin() const& noexcept { return values_.data(); }
  constexpr key_value const* end() const& noexcept { return values_.data() + size_; }
  constexpr std::span<key_value const> values() const& noexcept { return {values_.data(), size_}; }
  // What they give would outlive a temporary key.
  void operator[](std::size_t) const&& = delete;
  void begin() const&& = delete;
  void end() const&& = delete;
  void values() const&& = delete;

  /// The first `count` values, still in this key. Requires that there are so many.
  [[nodiscard]] constexpr partition_key_view prefix(std::size_t count) const& {
    return partition_key_view{*this}.prefix(count);
  }
  void prefix(std::size_t) const&& = delete;
  /// Whether the key is `prefix`, or is under it in a hierarchy.
  constexpr bool starts_with(partition_key_view const& prefix) const noexcept {
    return partition_key_view{*this}.starts_with(prefix);
  }

  /// A JSON array; `undefined` is {}, as it is on the wire.
  std::string to_text() const { return partition_key_view{*this}.to_text(); }

  friend constexpr bool operator==(partition_key const& a, partition_key const& b) noexcept {
    return partition_key_view{a} == partition_key_view{b};
  }
  friend constexpr std::strong_ordering operator<=>(partition_key const& a,
                                                    partition_key const& b) noexcept {
    return partition_key_view{a} <=> partition_key_view{b};
  }
  friend constexpr bool operator==(partition_key const& a, partition_key_view const& b) noexcept {
    return partition_key_view{a} == b;
  }
  friend constexpr std::strong_ordering operator<=>(partition_key const& a,
                                                    partition_key_view const& b) noexcept {
    return partition_key_view{a} <=> b;
  }

 private:
  static constexpr std::size_t length_of(partition_key_view const& view) {
    std::size_t length = 0;
    for (key_value const& value : view) length += value.is_string() ? value.string().size() : 0;
    return length;
  }

  // The strings stand one after another in the order of the values.
  constexpr void rebind() noexcept {
    char const* at = characters_.data();
    for (std::size_t i = 0; i < size_; ++i)
      if (values_[i].is_string()) {
        values_[i].characters_ = at;
        at += values_[i].size_;
      }
  }

  std::array<key_value, max_key_values> values_{};
  detail::key_characters characters_{};
  std::size_t size_ = 0;
};

constexpr partition_key_view::partition_key_view(partition_key const& owner) noexcept
    : partition_key_view{owner.values()} {}

/// The key of a document that names none, in a container with so many paths: no value where there
/// is no path, else a single undefined one.
[[nodiscard]] constexpr partition_key none_key(std::size_t paths) {
  return paths == 0 ? partition_key{} : partition_key{undefined};
}

/// What can be looked at as a partition key.
template <class T>
concept key_like = std::same_as<std::remove_cvref_t<T>, partition_key> ||
                   std::same_as<std::remove_cvref_t<T>, partition_key_view>;

}  // namespace keyspan

/// Equal keys hash alike, owned or borrowed.
template <>
struct std::hash<keyspan::partition_key_view> {
  std::size_t operator()(keyspan::partition_key_view const& key) const noexcept {
    std::size_t all = key.size();
    for (keyspan::key_value const& value : key)
      all = all * static_cast<std::size_t>(0x9E37'79B9'7F4A'7C15u) ^
            std::hash<keyspan::key_value>{}(value);
    return all;
  }
};
template <>
struct std::hash<keyspan::partition_key> {
  std::size_t operator()(keyspan::partition_key const& key) const noexcept {
    return std::hash<keyspan::partition_key_view>{}(key);
  }
};
