// keyspan/key/key_value.hpp — one value of a partition key: undefined, null, a bool, a number or a
// string.
//
// A key value is small and borrows: a string in it stays where it is. It is valid by construction,
// so that nobody who is handed one has to check it again: numbers are finite doubles, strings are
// well-formed UTF-8.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/utf8.hpp>

#include <algorithm>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

/// What a key value is, in the order in which values of different kinds sort.
enum class key_kind : std::uint8_t { undefined, null, boolean, number, string };

namespace detail {
// What an error calls a value of this kind.
constexpr std::string_view words_of(key_kind kind) {
  switch (kind) {
    case key_kind::undefined:
      return "undefined";
    case key_kind::null:
      return "null";
    case key_kind::boolean:
      return "a boolean";
    case key_kind::number:
      return "a number";
    case key_kind::string:
      break;
  }
  return "a string";
}
}  // namespace detail

/// The type of `undefined`.
struct undefined_type {
  explicit constexpr undefined_type() = default;
};
/// The type of `null`.
struct null_type {
  explicit constexpr null_type() = default;
};

/// The value of a property that the document does not have.
inline constexpr undefined_type undefined{};
/// The value of a property that the document says is null. An empty optional is `undefined`.
inline constexpr null_type null{};

/// The underlying value of an enumerator, for who wants it as a key: alone it is none, since its
/// number may change with the next release while keys stay.
template <class Enum>
  requires std::is_enum_v<Enum>
[[nodiscard]] constexpr auto underlying(Enum value) noexcept {
  using type = std::underlying_type_t<Enum>;
  if constexpr (std::same_as<type, char> || detail::odd_character<type>) {
    return +static_cast<type>(value);  // a number here, and no character
  } else {
    return static_cast<type>(value);
  }
}

class key_value;

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
concept key_text =
    std::convertible_to<T const&, std::string_view> && !std::same_as<T, std::nullptr_t>;
template <class T>
concept key_integer = std::integral<T> && sizeof(T) <= sizeof(std::uint64_t) &&
                      !std::same_as<T, bool> && !std::same_as<T, char> && !odd_character<T>;
template <class T>
concept key_number = key_integer<T> || std::same_as<T, double> || std::same_as<T, float>;

template <class T>
concept plain_key_input =
    std::same_as<T, key_value> || std::same_as<T, undefined_type> || std::same_as<T, null_type> ||
    std::same_as<T, bool> || key_number<T> || key_text<T>;

template <class T>
struct can_be_key_value : std::bool_constant<plain_key_input<T>> {};
template <class T>
struct can_be_key_value<std::optional<T>>
    : std::bool_constant<plain_key_input<std::remove_const_t<T>>> {};

// What owns its characters: a value that borrows them must not outlive it.
template <class T>
struct owns_key_text : std::bool_constant<key_text<T> && !std::same_as<T, std::string_view> &&
                                          !std::is_pointer_v<T>> {};
template <class T>
struct owns_key_text<std::optional<T>> : owns_key_text<std::remove_const_t<T>> {};

// The characters, up to the first NUL where they stand in an array or behind a pointer.
template <key_text T>
constexpr std::string_view key_text_of(T const& value) {
  if constexpr (std::is_bounded_array_v<T>) {
    std::string_view const all{value, std::extent_v<T>};  // an array that is full has no NUL
    if (!std::is_constant_evaluated()) return all.substr(0, all.find('\0'));
    std::size_t size = 0;  // g++ 12 under UBSan takes no find here
    while (size < all.size() && all[size] != '\0') ++size;
    return all.substr(0, size);
  } else {
    if constexpr (std::is_pointer_v<T>)
      expects(value != nullptr, "a char pointer that is a key value points at text");
    return value;
  }
}

// By its bits: no arithmetic with an infinity is a constant expression.
constexpr bool is_finite(double value) {
  return (std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FF) != 0x7FF;
}

// Compares as UTF-16 code units do. Bytes of UTF-8 compare like code points, and these differ from
// code units in one place: U+E000 to U+FFFF stand behind the surrogates.
constexpr std::strong_ordering compare_utf16(std::string_view a, std::string_view b) {
  std::size_t const common = (std::min)(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    auto const x = static_cast<unsigned char>(a[i]);
    auto const y = static_cast<unsigned char>(b[i]);
    if (x == y) continue;
    if (x >= 0xEE && y >= 0xEE) return (x < 0xF0) == (y < 0xF0) ? x <=> y : y <=> x;
    return x <=> y;
  }
  return a.size() <=> b.size();
}

}  // namespace detail

/// What a key value can be made of: `undefined`, `null`, a bool, a number, text, a key value, or an
/// optional of one of them. Not a lone char, a long double, an enumerator or any other pointer.
template <class T>
concept key_input = detail::can_be_key_value<std::remove_cvref_t<T>>::value;

/// A key input whose text outlives the expression that it stands in, so that it can be borrowed.
template <class T>
concept borrowable_key_input =
    key_input<T> &&
    (std::is_lvalue_reference_v<T> || !detail::owns_key_text<std::remove_cvref_t<T>>::value);

/// One value of a partition key. Strings are borrowed: their characters outlive it.
class key_value {
 public:
  /// `undefined`.
  constexpr key_value() noexcept : number_{0} {}

  /// Requires what `from` would accept: a finite number, an integer that a double holds exactly,
  /// well-formed UTF-8. Text that belongs to a temporary is not taken.
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, key_value> && borrowable_key_input<T>)
  constexpr key_value(T&& value) : key_value{} {
    expects(assign(value),
            "a key value is a finite number that a double holds exactly, or well-formed UTF-8; "
            "key_value::from() tells what is wrong");
  }

  /// The value, or why it cannot be one. Errors: `not_representable` for an infinity, for what is
  /// not a number, and for an integer that a double does not hold exactly; `invalid_utf8`.
  template <borrowable_key_input T>
  [[nodiscard]] static constexpr result<key_value> from(T&& value) {
    key_value made;
    if (made.assign(value)) [[likely]]
      return made;
    return unexpected{why_not(value)};
  }

  constexpr key_kind kind() const noexcept { return kind_; }
  constexpr bool is_undefined() const noexcept { return kind_ == key_kind::undefined; }
  constexpr bool is_null() const noexcept { return kind_ == key_kind::null; }
  constexpr bool is_boolean() const noexcept { return kind_ == key_kind::boolean; }
  constexpr bool is_number() const noexcept { return kind_ == key_kind::number; }
  constexpr bool is_string() const noexcept { return kind_ == key_kind::string; }

  /// Requires `is_boolean()`.
  constexpr bool boolean() const {
    expects(is_boolean(), "the key value is a boolean");
    return boolean_;
  }
  /// A finite number, and never -0. Requires `is_number()`.
  constexpr double number() const {
    expects(is_number(), "the key value is a number");
    return number_;
  }
  /// The borrowed characters. Requires `is_string()`.
  constexpr std::string_view string() const {
    expects(is_string(), "the key value is a string");
    return {characters_, size_};
  }

  /// As JSON says it; `undefined` is {}, as it is on the wire.
  std::string to_text() const;

  friend constexpr bool operator==(key_value const& a, key_value const& b) noexcept {
    if (a.kind_ != b.kind_) return false;
    switch (a.kind_) {
      case key_kind::boolean:
        return a.boolean_ == b.boolean_;
      case key_kind::number:
        return a.number_ == b.number_;
      case key_kind::string:
        return std::string_view{a.characters_, a.size_} == std::string_view{b.characters_, b.size_};
      default:
        return true;
    }
  }
  /// By kind, then false before true, numbers by size, strings by their UTF-16 code units.
  friend constexpr std::strong_ordering operator<=>(key_value const& a,
                                                    key_value const& b) noexcept {
    if (a.kind_ != b.kind_) return a.kind_ <=> b.kind_;
    switch (a.kind_) {
      case key_kind::boolean:
        return a.boolean_ <=> b.boolean_;
      case key_kind::number:
        return a.number_ < b.number_   ? std::strong_ordering::less
               : a.number_ > b.number_ ? std::strong_ordering::greater
                                       : std::strong_ordering::equal;
      case key_kind::string:
        return detail::compare_utf16({a.characters_, a.size_}, {b.characters_, b.size_});
      default:
        return std::strong_ordering::equal;
    }
  }

 private:
  friend class partition_key_view;
  friend class partition_key;

  // False for what is no key value.
  template <class T>
  constexpr bool assign(T const& value) {
    using type = std::remove_cvref_t<T>;
    if constexpr (detail::is_optional<type>) {
      return !value || assign(*value);
    } else if constexpr (std::same_as<type, key_value>) {
      *this = value;
      return true;
    } else if constexpr (std::same_as<type, undefined_type>) {
      return true;
    } else if constexpr (std::same_as<type, null_type>) {
      kind_ = key_kind::null;
      return true;
    } else if constexpr (std::same_as<type, bool>) {
      kind_ = key_kind::boolean;
      boolean_ = value;
      return true;
    } else if constexpr (detail::key_number<type>) {
      kind_ = key_kind::number;
      number_ = static_cast<double>(value);
      if constexpr (std::integral<type>) return is_exact(value);
      if (number_ == 0) number_ = 0;  // +0 in place of -0
      return detail::is_finite(number_);
    } else {
      std::string_view const text = detail::key_text_of(value);
      kind_ = key_kind::string;
      characters_ = text.data();
      size_ = text.size();
      return is_utf8(text);
    }
  }

  // Exact where no more than 53 bits stand between the first and the last that is set.
  template <std::integral T>
  static constexpr bool is_exact(T value) {
    if constexpr (std::numeric_limits<T>::digits <= 53) {
      return true;
    } else {
      auto magnitude = static_cast<std::uint64_t>(value);
      if (value < 0) magnitude = 0 - magnitude;
      if (magnitude != 0) magnitude >>= std::countr_zero(magnitude);
      return magnitude < std::uint64_t{1} << 53;
    }
  }

  template <class T>
  static constexpr error why_not(T const& value) {
    using type = std::remove_cvref_t<T>;
    if constexpr (detail::is_optional<type>) {
      return why_not(*value);
    } else if constexpr (detail::key_integer<type>) {
      return error{errc::not_representable, value,
                   " is no number that a double holds exactly; make it a string"};
    } else if constexpr (detail::key_number<type>) {
      return error{errc::not_representable, value != value ? "not-a-number is no key value"
                                            : value < 0    ? "minus infinity is no key value"
                                                           : "infinity is no key value"};
    } else if constexpr (detail::key_text<type>) {
      std::string_view const text = detail::key_text_of(value);
      std::string_view const sound = text.substr(0, utf8_prefix(text));
      return error{errc::invalid_utf8, "a key value is UTF-8, this text is not from byte ",
                   sound.size(), " on"}
          .at({.line = 1,
               .column = static_cast<std::uint32_t>(count_characters(sound)) + 1,
               .offset = static_cast<std::uint32_t>(sound.size())});
    } else {
      return error{errc::not_representable};
    }
  }

  union {
    char const* characters_;
    double number_;
    bool boolean_;
  };
  std::size_t size_ = 0;  // of a string
  key_kind kind_ = key_kind::undefined;
};

static_assert(std::is_trivially_copyable_v<key_value> && key_input<key_value>);

namespace detail {

// The value as one element of a JSON text; the writer's errors cannot happen to a key value.
constexpr void write_key_value(json_writer& out, key_value const& value) {
  switch (value.kind()) {
    case key_kind::undefined:
      out.begin_object().end_object();
      break;
    case key_kind::null:
      out.null();
      break;
    case key_kind::boolean:
      out.boolean(value.boolean());
      break;
    case key_kind::number:
      out.number(value.number());
      break;
    case key_kind::string:
      out.string(value.string());
      break;
  }
}

}  // namespace detail

inline std::string key_value::to_text() const {
  std::string text;
  json_writer out{text};
  detail::write_key_value(out, *this);
  return text;
}

}  // namespace keyspan

/// Equal values hash alike.
template <>
struct std::hash<keyspan::key_value> {
  std::size_t operator()(keyspan::key_value const& value) const noexcept {
    auto const kind = static_cast<std::size_t>(value.kind()) * 0x9E37'79B9u;
    switch (value.kind()) {
      case keyspan::key_kind::boolean:
        return kind + value.boolean();
      case keyspan::key_kind::number:
        return kind ^ std::hash<double>{}(value.number());
      case keyspan::key_kind::string:
        return std::hash<std::string_view>{}(value.string());
      default:
        return kind;
    }
  }
};
