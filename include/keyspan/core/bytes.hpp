// keyspan/core/bytes.hpp — integers from bytes, and bytes to hexadecimal and back.
//
// Everything here works on any byte-like pointer, in constant expressions too, and allocates nothing.
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
  for (int i = 0; i < 10; ++i) values[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
  for (int i = 0; i < 6; ++i) {
    values[static_cast<std::size_t>('A' + i)] = static_cast<std::int8_t>(10 + i);
    values[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
  }
  return values;
}();

}  // namespace detail

/// Writes the two upper-case digits of each byte to `digits` and returns them as text.
/// Requires room for twice as many digits as there are bytes.
template <byte_like Byte, std::size_t Extent>
constexpr std::string_view encode_hex(std::span<Byte, Extent> bytes, std::span<char> digits) {
  expects(digits.size() / 2 >= bytes.size(), "there is room for two digits per byte");
  auto const* from = bytes.data();
  char* to = digits.data();
  std::size_t left = bytes.size();
  for (; left >= 4; left -= 4, from += 4, to += 8)
    store_le(to, detail::hex_digits_of(load_le<std::uint32_t>(from)));
  for (; left > 0; --left, ++from, to += 2)
    store_le(to, static_cast<std::uint16_t>(
                     detail::hex_digits_of(static_cast<unsigned char>(*from))));
  return {digits.data(), bytes.size() * 2};
}

/// Reads digits of either case into `bytes` and returns how many bytes they make.
/// Errors: `malformed` for an odd number of digits or something that is none, `too_large` where
/// `bytes` has no room for them.
template <byte_like Byte>
[[nodiscard]] constexpr result<std::size_t> decode_hex(std::string_view digits,
                                                       std::span<Byte> bytes) {
  if (digits.size() % 2 != 0)
    return fail(errc::malformed, "hexadecimal text has two digits per byte, this one has ",
                digits.size(), " in all");
  if (digits.size() / 2 > bytes.size())
    return fail(errc::too_large, "at most ", bytes.size(), " bytes fit, the text has ",
                digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
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
