// keyspan/merge/sort_image.hpp — the beginning of a sort key as one word, which sorts as the key.
//
//   "redmond"  -> 7265646D6F6E6400        comparing two words takes no branch and follows no
//   "redmond…" -> 7265646D6F6E64E2        pointer; only where they are equal are keys compared
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/key/key_value.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace keyspan {

/// The first 64 bits of a sort key, or 128, as numbers that sort as the key's own `<` does.
/// Specialise it for a key type of your own:
///
///   static std::uint64_t of(Key const&);    the first 64 bits
///   static std::uint64_t low(Key const&);   the next 64; may be missing
///   static constexpr bool is_exact;         whether equal images mean equivalent keys
///
/// Laws, where an image is (of, low), or of alone: `a < b` implies image(a) <= image(b); equivalent
/// keys have equal images; and where `is_exact`, equal images are those of equivalent keys only.
template <class Key>
struct sort_image;

/// A key whose first 64 bits are known; a type without const and reference.
template <class Key>
concept has_sort_image = std::same_as<Key, std::remove_cvref_t<Key>> && requires(Key const& key) {
  { sort_image<Key>::of(key) } -> std::same_as<std::uint64_t>;
  requires std::same_as<decltype(sort_image<Key>::is_exact), bool const>;
  typename std::bool_constant<sort_image<Key>::is_exact>;
};

/// A key whose first 128 bits are known.
template <class Key>
concept has_wide_sort_image = has_sort_image<Key> && requires(Key const& key) {
  { sort_image<Key>::low(key) } -> std::same_as<std::uint64_t>;
};

namespace detail {

// Says all about the key in 64 bits, so that there are 64 more to say something else.
template <class Key>
concept has_exact_word =
    has_sort_image<Key> && !has_wide_sort_image<Key> && sort_image<Key>::is_exact;

inline constexpr std::uint64_t top_bit = std::uint64_t{1} << 63;

// Of at most 8 bytes, the first one highest, and zeros behind the last; no other one is read.
template <byte_like Byte>
constexpr std::uint64_t leading_word(Byte const* from, std::size_t size) noexcept {
  if (size >= 8) return load_be<std::uint64_t>(from);
  if (size >= 4)
    return std::uint64_t{load_be<std::uint32_t>(from)} << 32 |
           std::uint64_t{load_be<std::uint32_t>(from + size - 4)} << (64 - 8 * size);
  if (size == 0) return 0;
  auto const byte = [&](std::size_t i) {
    return std::uint64_t{static_cast<unsigned char>(from[i])} << (56 - 8 * i);
  };
  return byte(0) | byte(size / 2) | byte(size - 1);
}

// Of the 8 bytes behind those.
template <byte_like Byte>
constexpr std::uint64_t second_word(Byte const* from, std::size_t size) noexcept {
  return size > 8 ? leading_word(from + 8, size - 8) : 0;
}

// By the bits, so that no option of a compiler that forgets infinities and the like matters.
template <class Bits, std::floating_point Float>
constexpr Bits floating_image(Float value) noexcept {
  constexpr int fraction = std::numeric_limits<Float>::digits - 1;
  constexpr Bits sign = Bits{1} << (std::numeric_limits<Bits>::digits - 1);
  constexpr Bits infinity = (sign - 1) >> fraction << fraction;
  auto const bits = std::bit_cast<Bits>(value);
  if ((bits & ~sign) > infinity) return sign + infinity + 1;  // not a number, whatever its bits
  return (bits & sign) != 0 ? Bits{0} - bits : sign + bits;   // the zeros meet in the middle
}

// A value among others of other kinds: three bits of the kind, then the value's own.
constexpr std::uint64_t image_among_kinds(unsigned kind, std::uint64_t image) noexcept {
  return std::uint64_t{kind} << 61 | image >> 3;
}

// As UTF-16 code units sort: the bytes EE and EF, which begin U+E000 to U+FFFF, stand behind the
// greater ones, which begin what takes two units. Eight bytes side by side, no carry between them.
constexpr std::uint64_t utf16_image(std::string_view text) noexcept {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
  std::uint64_t const word = leading_word(text.data(), text.size());
  std::uint64_t const tops = word & 0x80 * ones;
  std::uint64_t const rest = word & 0x7F * ones;
  std::uint64_t const from_ee = (rest + 0x12 * ones) & tops;
  std::uint64_t const from_f0 = (rest + 0x10 * ones) & tops;
  return word - (from_f0 >> 6) + ((from_ee ^ from_f0) >> 3);
}

// No image of such a key is all ones, so that one more can be told apart.
template <class Key>
inline constexpr bool image_leaves_room =
    std::floating_point<Key> || (std::integral<Key> && sizeof(Key) < sizeof(std::uint64_t));
template <class Key>
  requires std::is_enum_v<Key>
inline constexpr bool image_leaves_room<Key> = image_leaves_room<std::underlying_type_t<Key>>;
template <class Rep, class Period>
inline constexpr bool image_leaves_room<std::chrono::duration<Rep, Period>> =
    image_leaves_room<Rep>;
template <class Clock, class Duration>
inline constexpr bool image_leaves_room<std::chrono::time_point<Clock, Duration>> =
    image_leaves_room<Duration>;

}  // namespace detail

/// bool, characters and integers of up to 64 bits: the number itself.
template <std::integral Key>
  requires(sizeof(Key) <= sizeof(std::uint64_t))
struct sort_image<Key> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(Key const& key) noexcept {
    if constexpr (std::is_signed_v<Key>) {
      return static_cast<std::uint64_t>(std::int64_t{key}) ^ detail::top_bit;
    } else {
      return std::uint64_t{key};
    }
  }
};

#if defined(__SIZEOF_INT128__)
namespace detail {
__extension__ using signed_128 = __int128;
__extension__ using unsigned_128 = unsigned __int128;
}  // namespace detail

/// The number itself, in two words.
template <>
struct sort_image<detail::unsigned_128> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(detail::unsigned_128 const& key) noexcept {
    return static_cast<std::uint64_t>(key >> 64);
  }
  static constexpr std::uint64_t low(detail::unsigned_128 const& key) noexcept {
    return static_cast<std::uint64_t>(key);
  }
};

/// The number itself, in two words.
template <>
struct sort_image<detail::signed_128> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(detail::signed_128 const& key) noexcept {
    return static_cast<std::uint64_t>(key >> 64) ^ detail::top_bit;
  }
  static constexpr std::uint64_t low(detail::signed_128 const& key) noexcept {
    return static_cast<std::uint64_t>(key);
  }
};
#endif

/// -0 is 0. What is not a number stands behind infinity and is all the same, so that there is an
/// order of all, where `<` has none.
template <>
struct sort_image<float> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(float const& key) noexcept {
    return detail::floating_image<std::uint32_t>(key);
  }
};

/// As that of a float.
template <>
struct sort_image<double> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(double const& key) noexcept {
    return detail::floating_image<std::uint64_t>(key);
  }
};

/// That of its underlying number.
template <class Key>
  requires std::is_enum_v<Key> && has_sort_image<std::underlying_type_t<Key>>
struct sort_image<Key> {
  using underlying_image = sort_image<std::underlying_type_t<Key>>;

  static constexpr bool is_exact = underlying_image::is_exact;
  static constexpr std::uint64_t of(Key const& key) noexcept {
    return underlying_image::of(static_cast<std::underlying_type_t<Key>>(key));
  }
};

/// That of its count.
template <has_sort_image Rep, class Period>
struct sort_image<std::chrono::duration<Rep, Period>> {
  static constexpr bool is_exact = sort_image<Rep>::is_exact;
  static constexpr std::uint64_t of(std::chrono::duration<Rep, Period> const& key) noexcept(
      noexcept(sort_image<Rep>::of(std::declval<Rep const&>()))) {
    return sort_image<Rep>::of(key.count());
  }
  static constexpr std::uint64_t low(std::chrono::duration<Rep, Period> const& key) noexcept(
      noexcept(sort_image<Rep>::low(std::declval<Rep const&>())))
    requires has_wide_sort_image<Rep>
  {
    return sort_image<Rep>::low(key.count());
  }
};

/// That of the time since the clock's epoch.
template <class Clock, has_sort_image Duration>
struct sort_image<std::chrono::time_point<Clock, Duration>> {
  static constexpr bool is_exact = sort_image<Duration>::is_exact;
  static constexpr std::uint64_t of(std::chrono::time_point<Clock, Duration> const& key) noexcept(
      noexcept(sort_image<Duration>::of(std::declval<Duration const&>()))) {
    return sort_image<Duration>::of(key.time_since_epoch());
  }
  static constexpr std::uint64_t low(std::chrono::time_point<Clock, Duration> const& key) noexcept(
      noexcept(sort_image<Duration>::low(std::declval<Duration const&>())))
    requires has_wide_sort_image<Duration>
  {
    return sort_image<Duration>::low(key.time_since_epoch());
  }
};

/// The first eight bytes. Other types that convert to text have none by themselves: who knows in
/// which order they sort.
template <>
struct sort_image<std::string_view> {
  static constexpr bool is_exact = false;
  static constexpr std::uint64_t of(std::string_view const& key) noexcept {
    return detail::leading_word(key.data(), key.size());
  }
};

/// The first eight bytes.
template <class Allocator>
struct sort_image<std::basic_string<char, std::char_traits<char>, Allocator>>
    : sort_image<std::string_view> {};

/// The first eight bytes.
template <std::size_t Capacity>
struct sort_image<inline_text<Capacity>> : sort_image<std::string_view> {};

/// The first eight bytes, or sixteen where these are all.
template <class Byte, std::size_t Size>
  requires std::same_as<Byte, unsigned char> || std::same_as<Byte, std::byte>
struct sort_image<std::array<Byte, Size>> {
  static constexpr bool is_exact = Size <= 16;
  static constexpr std::uint64_t of(std::array<Byte, Size> const& key) noexcept {
    return detail::leading_word(key.data(), Size);
  }
  static constexpr std::uint64_t low(std::array<Byte, Size> const& key) noexcept
    requires(Size > 8 && Size <= 16)
  {
    return detail::second_word(key.data(), Size);
  }
};

/// The number itself, in two words.
template <>
struct sort_image<token128> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(token128 const& key) noexcept { return key.high; }
  static constexpr std::uint64_t low(token128 const& key) noexcept { return key.low; }
};

/// The first eight bytes, or sixteen where there is room for so many. Exact where these are all and
/// zeros at the end do not count.
template <std::size_t Capacity, token_order Order>
struct sort_image<token_bytes<Capacity, Order>> {
  static constexpr bool is_exact = Order == token_order::padded && Capacity <= 16;
  static constexpr std::uint64_t of(token_bytes<Capacity, Order> const& key) noexcept {
    return detail::leading_word(key.bytes().data(), key.size());
  }
  static constexpr std::uint64_t low(token_bytes<Capacity, Order> const& key) noexcept
    requires(Capacity > 8)
  {
    return detail::second_word(key.bytes().data(), key.size());
  }
};

/// The kind, then the most significant bits of the value; of a string, as its UTF-16 code units
/// sort.
template <>
struct sort_image<key_value> {
  static constexpr bool is_exact = false;
  static constexpr std::uint64_t of(key_value const& key) noexcept {
    auto const kind = static_cast<unsigned>(key.kind());
    switch (key.kind()) {
      case key_kind::boolean:
        return detail::image_among_kinds(kind, key.boolean() ? detail::top_bit : 0);
      case key_kind::number:
        return detail::image_among_kinds(kind, sort_image<double>::of(key.number()));
      case key_kind::string:
        return detail::image_among_kinds(kind, detail::utf16_image(key.string()));
      default:
        return detail::image_among_kinds(kind, 0);
    }
  }
};

/// None is 0, and stands before all. What is exact remains so; of 64 bits, that takes one more
/// where a key may be all ones already.
template <has_sort_image Key>
struct sort_image<std::optional<Key>> {
  static constexpr bool is_exact = detail::has_exact_word<Key>;
  static constexpr std::uint64_t of(std::optional<Key> const& key) noexcept(
      noexcept(sort_image<Key>::of(*key))) {
    if (!key) return 0;
    std::uint64_t const image = sort_image<Key>::of(*key);
    return image + (image != ~std::uint64_t{0});
  }
  static constexpr std::uint64_t low(std::optional<Key> const& key) noexcept(
      noexcept(sort_image<Key>::of(*key)))
    requires(detail::has_exact_word<Key> && !detail::image_leaves_room<Key>)
  {
    return key && sort_image<Key>::of(*key) == ~std::uint64_t{0};
  }
};

namespace detail {

// Of what has members that are compared one after another.
template <class Key, has_sort_image First, class... Others>
struct image_of_members {
  using first_image = sort_image<First>;
  static constexpr bool is_alone = sizeof...(Others) == 0;
  static constexpr bool is_pair =
      sizeof...(Others) == 1 && has_exact_word<First> && (has_exact_word<Others> && ...);

  static constexpr bool is_exact = is_pair || (is_alone && first_image::is_exact);
  static constexpr std::uint64_t of(Key const& key) noexcept(
      noexcept(first_image::of(std::get<0>(key)))) {
    return first_image::of(std::get<0>(key));
  }
  static constexpr std::uint64_t low(Key const& key) noexcept(
      noexcept(first_image::low(std::get<0>(key))))
    requires has_wide_sort_image<First>
  {
    return first_image::low(std::get<0>(key));
  }
  static constexpr std::uint64_t low(Key const& key) noexcept(
      noexcept((sort_image<Others>::of(std::get<1>(key)), ...)))
    requires is_pair
  {
    return (sort_image<Others>::of(std::get<1>(key)), ...);
  }
};

}  // namespace detail

/// That of the first, or {first, second} where each is exact in 64 bits.
template <class First, class Second>
  requires has_sort_image<std::remove_cvref_t<First>>
struct sort_image<std::pair<First, Second>>
    : detail::image_of_members<std::pair<First, Second>, std::remove_cvref_t<First>,
                               std::remove_cvref_t<Second>> {};

/// That of the first, or {first, second} where there are two and each is exact in 64 bits.
template <class First, class... Others>
  requires has_sort_image<std::remove_cvref_t<First>>
struct sort_image<std::tuple<First, Others...>>
    : detail::image_of_members<std::tuple<First, Others...>, std::remove_cvref_t<First>,
                               std::remove_cvref_t<Others>...> {};

static_assert(has_sort_image<std::uint64_t> && !has_wide_sort_image<std::uint64_t>);
static_assert(has_sort_image<std::string> && has_sort_image<key_value>);
static_assert(has_wide_sort_image<token128> && sort_image<token128>::is_exact);

}  // namespace keyspan
