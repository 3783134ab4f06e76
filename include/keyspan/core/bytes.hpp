// keyspan/core/bytes.hpp — integers from bytes, and bytes to hexadecimal and back.
//
// Everything here works on any byte-like pointer, in constant expressions too, and allocates
// nothing.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace keyspan {

template <class T>
concept byte_like = std::same_as<T, char> || std::same_as<T, unsigned char> ||
                    std::same_as<T, std::byte> || std::same_as<T, char8_t>;

namespace detail {

template <std::unsigned_integral Integer>
constexpr Integer byte_swapped(Integer value) {
#if defined(__GNUC__)
  // Two loops side by side are turned into one of lanes, which takes longer than two instructions.
  if constexpr (sizeof(Integer) == 8) return static_cast<Integer>(__builtin_bswap64(value));
  if constexpr (sizeof(Integer) == 4) return static_cast<Integer>(__builtin_bswap32(value));
#endif
  Integer swapped = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    swapped = static_cast<Integer>(swapped << 8) | static_cast<Integer>(value & 0xFF);
    value = static_cast<Integer>(value >> 8);
  }
  return swapped;
}

}  // namespace detail

/// The integer whose least significant byte stands first at `from`.
template <std::unsigned_integral Integer, byte_like Byte>
[[nodiscard]] constexpr Integer load_le(Byte const* from) noexcept {
  if (std::is_constant_evaluated()) {
    Integer value = 0;
    for (std::size_t i = sizeof(Integer); i-- > 0;)
      value = static_cast<Integer>(value << 8 | static_cast<unsigned char>(from[i]));
    return value;
  }
  Integer value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::big) value = detail::byte_swapped(value);
  return value;
}

/// The integer whose most significant byte stands first at `from`.
template <std::unsigned_integral Integer, byte_like Byte>
[[nodiscard]] constexpr Integer load_be(Byte const* from) noexcept {
  return detail::byte_swapped(load_le<Integer>(from));
}

/// Writes `value` at `to`, least significant byte first.
template <std::unsigned_integral Integer, byte_like Byte>
constexpr void store_le(Byte* to, Integer value) noexcept {
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      to[i] = static_cast<Byte>(static_cast<unsigned char>(value & 0xFF));
      value = static_cast<Integer>(value >> 8);
    }
    return;
  }
  if constexpr (std::endian::native == std::endian::big) value = detail::byte_swapped(value);
  std::memcpy(to, &value, sizeof value);
}

/// Writes `value` at `to`, most significant byte first.
template <std::unsigned_integral Integer, byte_like Byte>
constexpr void store_be(Byte* to, Integer value) noexcept {
  store_le(to, detail::byte_swapped(value));
}

namespace detail {

// Four bytes, the first one lowest, to eight digits, the first one lowest.
constexpr std::uint64_t hex_digits_of(std::uint32_t four_bytes) {
  std::uint64_t x = four_bytes;
  x = (x | x << 16) & 0x0000'FFFF'0000'FFFF;
  x = (x | x << 8) & 0x00FF'00FF'00FF'00FF;
  x = (x >> 4 | x << 8) & 0x0F0F'0F0F'0F0F'0F0F;  // high half of each byte first
  std::uint64_t const letters = (x + 0x0606'0606'0606'0606) >> 4 & 0x0101'0101'0101'0101;
  return x + 0x3030'3030'3030'3030 + letters * ('A' - '0' - 10);
}

inline constexpr auto hex_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 10; ++i)
    values[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
  for (int i = 0; i < 6; ++i) {
    values[static_cast<std::size_t>('A' + i)] = static_cast<std::int8_t>(10 + i);
    values[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
  }
  return values;
}();

#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)

// Sixteen bytes side by side in one register, whatever the processor calls it.
using byte_lanes [[gnu::vector_size(16)]] = unsigned char;
using pair_lanes [[gnu::vector_size(16)]] = std::uint16_t;
using word_lanes [[gnu::vector_size(16)]] = std::uint64_t;
using half_lanes [[gnu::vector_size(8)]] = unsigned char;

inline void encode_hex_lanes(byte_lanes bytes, char* to) noexcept {
  byte_lanes const high = bytes >> 4;
  byte_lanes const low = bytes & 15;
  byte_lanes const halves[]{
      __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
      __builtin_shufflevector(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                              31)};
  for (byte_lanes const& values : halves) {
    auto const is_letter = reinterpret_cast<byte_lanes>(values > 9);
    byte_lanes const digits = values + '0' + (is_letter & ('A' - '0' - 10));
    std::memcpy(to, &digits, sizeof digits);
    to += sizeof digits;
  }
}

inline void encode_hex_lanes(void const* from, char* to) noexcept {
  byte_lanes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  encode_hex_lanes(bytes, to);
}

// The 32 digits of two words, the most significant first. By way of memory the lanes would wait for
// both.
inline void encode_hex_words(std::uint64_t high, std::uint64_t low, char* to) noexcept {
  constexpr bool little = std::endian::native == std::endian::little;
  word_lanes const words{little ? byte_swapped(high) : high, little ? byte_swapped(low) : low};
  encode_hex_lanes(reinterpret_cast<byte_lanes>(words), to);
}

// False, and nothing written, where one of the sixteen is no digit.
inline bool decode_hex_lanes(char const* from, void* to) noexcept {
  byte_lanes digits;
  std::memcpy(&digits, from, sizeof digits);
  byte_lanes const number = digits - '0';
  byte_lanes const letter = (digits | 0x20) - 'a';  // either case
  auto const is_number = reinterpret_cast<byte_lanes>(number < 10);
  auto const is_letter = reinterpret_cast<byte_lanes>(letter < 6);
  byte_lanes const is_digit = is_number | is_letter;
  std::uint64_t known[2];
  std::memcpy(known, &is_digit, sizeof known);
  if ((known[0] & known[1]) != ~std::uint64_t{0}) return false;
  byte_lanes const values = (number & is_number) | ((letter + 10) & is_letter);
  pair_lanes pairs;
  std::memcpy(&pairs, &values, sizeof pairs);
  constexpr bool little = std::endian::native == std::endian::little;
  pairs = (little ? pairs << 4 | pairs >> 8 : pairs | pairs >> 4) & 0xFF;
  auto const bytes = __builtin_convertvector(pairs, half_lanes);
  std::memcpy(to, &bytes, sizeof bytes);
  return true;
}

#else

inline void encode_hex_lanes(void const* from, char* to) noexcept {
  auto const* bytes = static_cast<unsigned char const*>(from);
  for (int i = 0; i < 4; ++i, bytes += 4, to += 8)
    store_le(to, hex_digits_of(load_le<std::uint32_t>(bytes)));
}

inline void encode_hex_words(std::uint64_t high, std::uint64_t low, char* to) noexcept {
  unsigned char bytes[16];
  store_be(bytes, high);
  store_be(bytes + 8, low);
  encode_hex_lanes(bytes, to);
}

inline bool decode_hex_lanes(char const*, void*) noexcept { return false; }

#endif

}  // namespace detail

/// Writes the two upper-case digits of each byte to `digits` and returns them as text.
/// Requires room for twice as many digits as there are bytes, apart from the bytes themselves.
template <class Byte, std::size_t Extent>
  requires byte_like<std::remove_const_t<Byte>>
constexpr std::string_view encode_hex(std::span<Byte, Extent> bytes, std::span<char> digits) {
  expects(digits.size() / 2 >= bytes.size(), "there is room for two digits per byte");
  auto const* from = bytes.data();
  char* to = digits.data();
  std::size_t left = bytes.size();
  if (!std::is_constant_evaluated())
    for (; left >= 16; left -= 16, from += 16, to += 32) detail::encode_hex_lanes(from, to);
  for (; left >= 4; left -= 4, from += 4, to += 8)
    store_le(to, detail::hex_digits_of(load_le<std::uint32_t>(from)));
  for (; left > 0; --left, ++from, to += 2)
    store_le(to,
             static_cast<std::uint16_t>(detail::hex_digits_of(static_cast<unsigned char>(*from))));
  return {digits.data(), bytes.size() * 2};
}

/// Reads digits of either case into `bytes` and returns how many bytes they make.
/// Errors: `malformed` for an odd number of digits or something that is none, `too_large` where
/// `bytes` has no room for them. What stood in `bytes` may be lost then.
template <byte_like Byte, std::size_t Extent>
[[nodiscard]] constexpr result<std::size_t> decode_hex(std::string_view digits,
                                                       std::span<Byte, Extent> bytes) {
  if (digits.size() % 2 != 0)
    return fail(errc::malformed, "hexadecimal text has two digits per byte, this one has ",
                digits.size(), " in all");
  if (digits.size() / 2 > bytes.size())
    return fail(errc::too_large, "at most ", bytes.size(), " bytes fit, the text has ",
                digits.size() / 2);
  std::size_t i = 0;
  if (!std::is_constant_evaluated())
    while (digits.size() - i >= 16 &&
           detail::decode_hex_lanes(digits.data() + i, bytes.data() + i / 2))
      i += 16;
  for (; i < digits.size(); i += 2) {
    int const high = detail::hex_values[static_cast<unsigned char>(digits[i])];
    int const low = detail::hex_values[static_cast<unsigned char>(digits[i + 1])];
    if ((high | low) < 0) [[unlikely]] {
      auto const offset = static_cast<std::uint32_t>(high < 0 ? i : i + 1);
      return unexpected{error{errc::malformed, "not a hexadecimal digit"}.at(
          {.line = 1, .column = offset + 1, .offset = offset})};
    }
    bytes[i / 2] = static_cast<Byte>(static_cast<unsigned char>(high << 4 | low));
  }
  return digits.size() / 2;
}

}  // namespace keyspan
