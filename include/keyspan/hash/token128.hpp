// keyspan/hash/token128.hpp — a place among 2^128, as one number.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/token.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

namespace keyspan {

/// A number of 128 bits, `high * 2^64 + low`. The default is 0, the minimum.
struct token128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 upper-case digits, most significant first; the minimum is the empty text.
  constexpr inline_text<32> to_hex() const {
    if ((high | low) == 0) return {};
    char digits[32];
    if (!std::is_constant_evaluated()) {
      detail::encode_hex_words(high, low, digits);
      return inline_text<32>{std::string_view{digits, sizeof digits}};
    }
    std::array<unsigned char, 16> bytes{};
    store_be(bytes.data(), high);
    store_be(bytes.data() + 8, low);
    return inline_text<32>{encode_hex(std::span{bytes}, digits)};
  }
  constexpr inline_text<32> to_text() const { return to_hex(); }

  /// Up to 32 digits of either case; where there are fewer, zeros follow.
  /// Errors: `malformed`, `too_large`; `not_representable` for FF, which is the end and no token.
  [[nodiscard]] static constexpr result<token128> from_hex(std::string_view text) {
    if (detail::is_text_of_space_end(text)) return detail::space_end_is_no_token();
    std::array<unsigned char, 16> bytes{};
    auto const size = decode_hex(text, std::span{bytes});
    if (!size) return unexpected{size.error()};
    return token128{load_be<std::uint64_t>(bytes.data()), load_be<std::uint64_t>(bytes.data() + 8)};
  }

  friend constexpr bool operator==(token128 const&, token128 const&) = default;
  friend constexpr std::strong_ordering operator<=>(token128 const&, token128 const&) = default;
};

static_assert(hex_token<token128>);

namespace detail {

// Arithmetic modulo 2^128, in two words: not every machine has such integers.
constexpr token128 sum(token128 a, token128 b) {
  std::uint64_t const low = a.low + b.low;
  return {a.high + b.high + (low < a.low), low};
}

constexpr token128 difference(token128 a, token128 b) {
  return {a.high - b.high - (a.low < b.low), a.low - b.low};
}

constexpr token128 product(token128 a, std::uint64_t by) {
  std::uint64_t const half = 0xFFFF'FFFF;
  std::uint64_t const low = (a.low & half) * (by & half);
  std::uint64_t const first = (a.low >> 32) * (by & half) + (low >> 32);
  std::uint64_t const second = (a.low & half) * (by >> 32) + (first & half);
  std::uint64_t const carried = (a.low >> 32) * (by >> 32) + (first >> 32) + (second >> 32);
  return {a.high * by + carried, second << 32 | (low & half)};
}

// Requires a divisor other than 0. Digit by digit as on paper; a digit is one bit.
constexpr token128 quotient(token128 a, std::uint64_t by) {
  token128 digits{a.high / by, 0};
  std::uint64_t rest = a.high % by;
  for (int bit = 63; bit >= 0; --bit) {
    bool const carried = rest >> 63 != 0;
    rest = rest << 1 | (a.low >> bit & 1);
    if (carried || rest >= by) {
      rest -= by;
      digits.low |= std::uint64_t{1} << bit;
    }
  }
  return digits;
}

}  // namespace detail

}  // namespace keyspan

/// Equal tokens hash alike. Not folded further: a token of a hash scheme is a hash already.
template <>
struct std::hash<keyspan::token128> {
  std::size_t operator()(keyspan::token128 const& t) const noexcept {
    return static_cast<std::size_t>(t.high ^ t.low * 0x9E37'79B9'7F4A'7C15u);
  }
};
