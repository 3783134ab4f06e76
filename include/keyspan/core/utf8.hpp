// keyspan/core/utf8.hpp — characters in UTF-8 text: is it well formed, what stands where, how many.
//
// Strict: no overlong forms, no surrogates, nothing above U+10FFFF. Everything works in constant
// expressions, allocates nothing, and passes over ASCII eight bytes at a time.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/text.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keyspan {

/// A character as it stands in a text. A size of 0 says that none stands there.
struct utf8_character {
  char32_t code_point = 0;
  std::size_t size = 0;  ///< in bytes, 1 to 4

  constexpr explicit operator bool() const noexcept { return size != 0; }
  friend constexpr bool operator==(utf8_character const&, utf8_character const&) = default;
};

/// Whether a character can have this number: at most U+10FFFF and no surrogate.
[[nodiscard]] constexpr bool is_code_point(char32_t value) noexcept {
  return value < 0xD800 || (value > 0xDFFF && value <= 0x10'FFFF);
}

/// The character that begins at `offset`, or none where the text ends or is ill-formed there.
[[nodiscard]] constexpr utf8_character decode_utf8(std::string_view text,
                                                   std::size_t offset = 0) noexcept {
  if (offset >= text.size()) return {};
  auto const byte = [&](std::size_t i) -> char32_t {
    return static_cast<unsigned char>(text[offset + i]);
  };
  char32_t const first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xC2 || first > 0xF4) return {};  // C0 and C1 only begin overlong forms
  std::size_t const size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() - offset < size) return {};
  // The first continuation byte is where overlong forms, surrogates and too large values show.
  char32_t const least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  char32_t const greatest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > greatest) return {};
  char32_t value = (first & (0x7Fu >> size)) << 6 | (byte(1) & 0x3F);
  for (std::size_t i = 2; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  return {value, size};
}

namespace detail {
// The first of the bytes that is not ASCII, by the top bits that are set; the first byte is lowest.
constexpr std::size_t first_marked(std::uint64_t tops) {
  return static_cast<std::size_t>(std::countr_zero(tops)) / 8;
}
}  // namespace detail

/// How many bytes at the beginning are ASCII.
[[nodiscard]] constexpr std::size_t ascii_prefix(std::string_view text) noexcept {
  constexpr std::uint64_t tops = 0x8080'8080'8080'8080;
  std::size_t const size = text.size();
  std::size_t i = 0;
  while (size - i >= 8) {
    auto const marked = load_le<std::uint64_t>(text.data() + i) & tops;
    if (marked != 0) return i + detail::first_marked(marked);
    i += 8;
  }
  if (i == 0) {
    if (size >= 4) {
      std::uint64_t const first = load_le<std::uint32_t>(text.data());
      std::uint64_t const last = load_le<std::uint32_t>(text.data() + size - 4);
      auto const marked = (first | last << 8 * (size - 4)) & tops;
      return marked == 0 ? size : detail::first_marked(marked);
    }
    while (i < size && static_cast<unsigned char>(text[i]) < 0x80) ++i;
    return i;
  }
  // The last eight bytes, some of them once more: what was passed over has no mark.
  auto const marked = load_le<std::uint64_t>(text.data() + size - 8) & tops;
  return marked == 0 ? size : size - 8 + detail::first_marked(marked);
}

/// How many bytes at the beginning are well-formed UTF-8: all of them, or the offset of the first
/// sequence that is not.
[[nodiscard]] constexpr std::size_t utf8_prefix(std::string_view text) noexcept {
  std::size_t i = 0;
  for (;;) {
    i += ascii_prefix(text.substr(i));
    // Other letters come in runs, which the eight-byte look would only slow down.
    do {
      auto const character = decode_utf8(text, i);
      if (!character) return i;
      i += character.size;
    } while (i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80);
  }
}

/// Whether the whole text is well-formed UTF-8.
[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
  return utf8_prefix(text) == text.size();
}

/// How many characters a well-formed text has; in any other, how many bytes that do not continue
/// one.
[[nodiscard]] constexpr std::size_t count_characters(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t const ascii = ascii_prefix(text.substr(i));
    count += ascii;
    i += ascii;
    if (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++count;
  }
  return count;
}

/// The one to four bytes of a character.
/// Requires `is_code_point(value)`.
[[nodiscard]] constexpr inline_text<4> encode_utf8(char32_t value) {
  expects(is_code_point(value), "a character is at most U+10FFFF and no surrogate");
  auto const tail = [&](int shift) { return static_cast<char>(0x80 | (value >> shift & 0x3F)); };
  if (value < 0x80) return inline_text<4>{static_cast<char>(value)};
  if (value < 0x800) return inline_text<4>{static_cast<char>(0xC0 | value >> 6), tail(0)};
  if (value < 0x1'0000)
    return inline_text<4>{static_cast<char>(0xE0 | value >> 12), tail(6), tail(0)};
  return inline_text<4>{static_cast<char>(0xF0 | value >> 18), tail(12), tail(6), tail(0)};
}

/// How many UTF-16 code units a character takes: 2 from U+10000 on, else 1.
[[nodiscard]] constexpr std::size_t utf16_size(char32_t value) noexcept {
  return value < 0x1'0000 ? 1 : 2;
}

}  // namespace keyspan
