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

namespace keyspan {

/// A number of 128 bits, `high * 2^64 + low`. The default is 0, the minimum.
struct token128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 upper-case digits, most significant first; the minimum is the empty text.
  constexpr inline_text<32> to_hex() const {
    if (high == 0 && low == 0) return {};
    std::array<unsigned char, 16> bytes{};
    store_be(bytes.data(), high);
    store_be(bytes.data() + 8, low);
    char digits[32];
    return inline_text<32>{encode_hex(std::span{bytes}, digits)};
  }
  constexpr inline_text<32> to_text() const { return to_hex(); }

  /// Up to 32 digits of either case; where there are fewer, zeros follow.
  /// Errors: `malformed`, `too_large`; `not_representable` for FF, which is the end and no token.
  [[nodiscard]] static constexpr result<token128> from_hex(std::string_view text) {
    if (text == "FF" || text == "ff")
      return fail(errc::not_representable,
                  "FF is the end of the space and no token; read it as an upper_end");
    std::array<unsigned char, 16> bytes{};
    auto const size = decode_hex(text, std::span{bytes});
    if (!size) return unexpected{size.error()};
    return token128{load_be<std::uint64_t>(bytes.data()), load_be<std::uint64_t>(bytes.data() + 8)};
  }

  friend constexpr bool operator==(token128 const&, token128 const&) = default;
  friend constexpr std::strong_ordering operator<=>(token128 const&, token128 const&) = default;
};

static_assert(hex_token<token128>);

}  // namespace keyspan

/// Equal tokens hash alike. Not folded further: a token of a hash scheme is a hash already.
template <>
struct std::hash<keyspan::token128> {
  std::size_t operator()(keyspan::token128 const& t) const noexcept {
    return static_cast<std::size_t>(t.high ^ t.low * 0x9E37'79B9'7F4A'7C15u);
  }
};
