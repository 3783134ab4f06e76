// keyspan/core/base64.hpp — bytes as base64 and back.
//
//   +/ in the plain alphabet, -_ in the one for URLs; read alike, padded or not
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace keyspan {

/// How base64 is written: plainly, with padding, or for URLs, without.
enum class base64_form : std::uint8_t { plain, url };

namespace detail {

constexpr std::string_view base64_digits(base64_form form) {
  return form == base64_form::plain
             ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
             : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
}

// What a character means in either alphabet; -1 for none.
inline constexpr auto base64_values = [] {
  std::array<signed char, 256> values{};
  values.fill(-1);
  for (base64_form const form : {base64_form::plain, base64_form::url}) {
    std::string_view const digits = base64_digits(form);
    for (std::size_t i = 0; i < digits.size(); ++i)
      values[static_cast<unsigned char>(digits[i])] = static_cast<signed char>(i);
  }
  return values;
}();

}  // namespace detail

/// How many characters so many bytes take.
[[nodiscard]] constexpr std::size_t base64_size(std::size_t bytes, base64_form form = {}) noexcept {
  std::size_t const rest = bytes % 3;
  return bytes / 3 * 4 + (rest == 0 ? 0 : form == base64_form::plain ? 4 : rest + 1);
}

/// Writes bytes into `text` and returns what was written. Requires room for `base64_size` of them.
/// Allocates nothing.
template <class Byte, std::size_t Extent>
  requires byte_like<std::remove_const_t<Byte>>
constexpr std::string_view encode_base64(std::span<Byte, Extent> bytes, std::span<char> text,
                                         base64_form form = {}) {
  std::size_t const size = base64_size(bytes.size(), form);
  expects(text.size() >= size, "there is room for four characters for each three bytes");
  std::string_view const digits = detail::base64_digits(form);
  std::size_t at = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (int shift = 18; shift >= 0 && at < size; shift -= 6) {
      bool const is_padding = i + static_cast<std::size_t>(18 - shift) / 6 > bytes.size();
      text[at++] = is_padding ? '=' : digits[bits >> shift & 63];
    }
  }
  return {text.data(), size};
}

/// Reads text of either alphabet, padded or not, into `bytes`, and returns how many there are.
/// Allocates nothing. Errors: `malformed`, with the place, for any other character, a length that
/// no bytes have, padding in excess, and bits behind the last byte that are not 0; `too_large`
/// where the bytes have not enough room.
template <byte_like Byte, std::size_t Extent>
[[nodiscard]] constexpr result<std::size_t> decode_base64(std::string_view text,
                                                          std::span<Byte, Extent> bytes) {
  auto const at = [](std::size_t offset) {
    auto const place = static_cast<std::uint32_t>(offset);
    return text_position{.line = 1, .column = place + 1, .offset = place};
  };
  std::string_view digits = text;
  while (digits.ends_with('=')) digits.remove_suffix(1);
  std::size_t const rest = digits.size() % 4;
  std::size_t const padding = text.size() - digits.size();
  for (std::size_t i = 0; i < digits.size(); ++i)
    if (detail::base64_values[static_cast<unsigned char>(digits[i])] < 0)
      return unexpected{error{errc::malformed, "not a character of base64"}.at(at(i))};
  if (rest == 1)
    return unexpected{error{errc::malformed, "base64 ends within a byte"}.at(at(digits.size()))};
  if (padding != 0 && padding != (4 - rest) % 4)
    return unexpected{error{errc::malformed,
                            "base64 is padded to a multiple of four characters, "
                            "or not at all"}
                          .at(at(digits.size()))};
  std::size_t const size = digits.size() / 4 * 3 + (rest == 0 ? 0 : rest - 1);
  if (size > bytes.size())
    return fail(errc::too_large, "the text stands for ", size, " bytes, there is room for ",
                bytes.size());
  std::size_t written = 0;
  std::uint32_t bits = 0;
  int count = 0;
  for (char const digit : digits) {
    auto const value = detail::base64_values[static_cast<unsigned char>(digit)];
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes[written++] = static_cast<Byte>(bits >> count & 0xFF);
  }
  if ((bits & ((1U << count) - 1)) != 0)
    return unexpected{
        error{errc::malformed, "bits are left behind the last byte"}.at(at(digits.size() - 1))};
  return written;
}

}  // namespace keyspan
