// keyspan/merge/order_value.hpp — a value that documents are ordered by where its type is mixed.
//
//   undefined < null < false < true < numbers < strings < arrays < objects
//
// The values of keys and two kinds more: an array or an object is known by its hash alone.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/merge/sort_image.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace keyspan {

// g++ says that these hide the objects of the same names, though nobody writes them without the
// type.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
/// What an order value is, in the order in which values of different kinds sort.
enum class order_kind : std::uint8_t { undefined, null, boolean, number, string, array, object };
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// One value to order documents by. Strings are borrowed: their characters outlive it.
class order_value {
 public:
  /// `undefined`.
  constexpr order_value() noexcept : number_{0} {}

  /// Requires what `from` would accept. Text that belongs to a temporary is not taken.
  template <borrowable_key_input T>
  constexpr order_value(T&& value) : order_value{} {
    auto const made = key_value::from(value);
    expects(made.has_value(),
            "an order value is a finite number that a double holds exactly, or well-formed UTF-8; "
            "order_value::from() tells what is wrong");
    assign(*made);
  }

  /// The value, or why it cannot be one. Errors: those of `key_value::from`.
  template <borrowable_key_input T>
  [[nodiscard]] static constexpr result<order_value> from(T&& value) {
    auto const made = key_value::from(value);
    if (!made) [[unlikely]]
      return unexpected{made.error()};
    return order_value{*made};
  }

  /// An array of which the service tells a hash of 128 bits, and orders by that.
  [[nodiscard]] static constexpr order_value hashed_array(token128 hash) noexcept {
    return order_value{order_kind::array, hash};
  }
  /// An object of which the service tells a hash of 128 bits, and orders by that.
  [[nodiscard]] static constexpr order_value hashed_object(token128 hash) noexcept {
    return order_value{order_kind::object, hash};
  }

  constexpr order_kind kind() const noexcept { return kind_; }
  constexpr bool is_undefined() const noexcept { return kind_ == order_kind::undefined; }
  constexpr bool is_null() const noexcept { return kind_ == order_kind::null; }
  constexpr bool is_boolean() const noexcept { return kind_ == order_kind::boolean; }
  constexpr bool is_number() const noexcept { return kind_ == order_kind::number; }
  constexpr bool is_string() const noexcept { return kind_ == order_kind::string; }
  constexpr bool is_array() const noexcept { return kind_ == order_kind::array; }
  constexpr bool is_object() const noexcept { return kind_ == order_kind::object; }

  /// Requires `is_boolean()`.
  constexpr bool boolean() const {
    expects(is_boolean(), "the order value is a boolean");
    return boolean_;
  }
  /// A finite number, and never -0. Requires `is_number()`.
  constexpr double number() const {
    expects(is_number(), "the order value is a number");
    return number_;
  }
  /// The borrowed characters. Requires `is_string()`.
  constexpr std::string_view string() const {
    expects(is_string(), "the order value is a string");
    return text();
  }
  /// Requires `is_array() || is_object()`.
  constexpr token128 hash() const {
    expects(is_array() || is_object(), "the order value is an array or an object");
    return hashed();
  }

  /// As JSON says it; `undefined` is {}, and arrays and objects are as in resume values.
  std::string to_text() const;

  friend constexpr bool operator==(order_value const& a, order_value const& b) noexcept {
    if (a.kind_ != b.kind_) return false;
    switch (a.kind_) {
      case order_kind::boolean:
        return a.boolean_ == b.boolean_;
      case order_kind::number:
        return a.number_ == b.number_;
      case order_kind::string:
        return a.text() == b.text();
      case order_kind::array:
      case order_kind::object:
        return a.hashed() == b.hashed();
      default:
        return true;
    }
  }
  /// By kind, then false before true, numbers by size, strings by their UTF-16 code units, arrays
  /// and objects by their hashes.
  friend constexpr std::strong_ordering operator<=>(order_value const& a,
                                                    order_value const& b) noexcept {
    if (a.kind_ != b.kind_) return a.kind_ <=> b.kind_;
    switch (a.kind_) {
      case order_kind::boolean:
        return a.boolean_ <=> b.boolean_;
      case order_kind::number:
        return a.number_ < b.number_   ? std::strong_ordering::less
               : a.number_ > b.number_ ? std::strong_ordering::greater
                                       : std::strong_ordering::equal;
      case order_kind::string:
        return detail::compare_utf16(a.text(), b.text());
      case order_kind::array:
      case order_kind::object:
        return a.hashed() <=> b.hashed();
      default:
        return std::strong_ordering::equal;
    }
  }

 private:
  constexpr order_value(order_kind kind, token128 hash) noexcept
      : high_{hash.high}, more_{hash.low}, kind_{kind} {}

  constexpr void assign(key_value const& value) {
    kind_ = static_cast<order_kind>(value.kind());
    switch (value.kind()) {
      case key_kind::boolean:
        boolean_ = value.boolean();
        break;
      case key_kind::number:
        number_ = value.number();
        break;
      case key_kind::string:
        characters_ = value.string().data();
        more_ = value.string().size();
        break;
      default:
        break;
    }
  }

  constexpr std::string_view text() const noexcept {
    return {characters_, static_cast<std::size_t>(more_)};
  }
  constexpr token128 hashed() const noexcept { return {.high = high_, .low = more_}; }

  union {
    char const* characters_;
    double number_;
    bool boolean_;
    std::uint64_t high_;  // half of a hash
  };
  std::uint64_t more_ = 0;  // the size of a string, or the other half of a hash
  order_kind kind_ = order_kind::undefined;
};

static_assert(std::is_trivially_copyable_v<order_value> && sizeof(order_value) <= 24);
static_assert(static_cast<int>(order_kind::boolean) == static_cast<int>(key_kind::boolean) &&
                  static_cast<int>(order_kind::string) == static_cast<int>(key_kind::string),
              "the kinds of a key value come first");

inline std::string order_value::to_text() const {
  std::string text;
  json_writer out{text};
  switch (kind()) {
    case order_kind::undefined:
      out.begin_object().end_object();
      break;
    case order_kind::null:
      out.null();
      break;
    case order_kind::boolean:
      out.boolean(boolean());
      break;
    case order_kind::number:
      out.number(number());
      break;
    case order_kind::string:
      out.string(string());
      break;
    case order_kind::array:
    case order_kind::object:
      out.begin_object().name("type").string(is_array() ? "array" : "object");
      out.name("low").integer(hash().low).name("high").integer(hash().high).end_object();
      break;
  }
  return text;
}

/// The kind, then the most significant bits of the value; of a string, as its UTF-16 code units
/// sort. A key value and the order value made of it have the same image.
template <>
struct sort_image<order_value> {
  static constexpr bool is_exact = false;
  static constexpr std::uint64_t of(order_value const& key) noexcept {
    auto const kind = static_cast<unsigned>(key.kind());
    switch (key.kind()) {
      case order_kind::boolean:
        return detail::image_among_kinds(kind, key.boolean() ? detail::top_bit : 0);
      case order_kind::number:
        return detail::image_among_kinds(kind, sort_image<double>::of(key.number()));
      case order_kind::string:
        return detail::image_among_kinds(kind, detail::utf16_image(key.string()));
      case order_kind::array:
      case order_kind::object:
        return detail::image_among_kinds(kind, key.hash().high);
      default:
        return detail::image_among_kinds(kind, 0);
    }
  }
};

static_assert(has_sort_image<order_value>);

}  // namespace keyspan

/// Equal values hash alike.
template <>
struct std::hash<keyspan::order_value> {
  std::size_t operator()(keyspan::order_value const& value) const noexcept {
    auto const kind = static_cast<std::size_t>(value.kind()) * 0x9E37'79B9u;
    switch (value.kind()) {
      case keyspan::order_kind::boolean:
        return kind + value.boolean();
      case keyspan::order_kind::number:
        return kind ^ std::hash<double>{}(value.number());
      case keyspan::order_kind::string:
        return std::hash<std::string_view>{}(value.string());
      case keyspan::order_kind::array:
      case keyspan::order_kind::object:
        return kind ^ std::hash<keyspan::token128>{}(value.hash());
      default:
        return kind;
    }
  }
};
