// keyspan/hash/identity.hpp — no hash: tokens in the order of the keys, for partitions by range.
//
//   marker of the kind, then   number: 8 bytes   string: each byte raised by one, then 00
//
// Keys compare as their tokens do, and the token of a prefix begins the tokens of all keys under
// it, so that whatever lies together as keys lies together in the space.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/key/key_value.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keyspan {

namespace detail {

// Two kinds would do for a bool with a byte behind it; as kinds of their own they cost one byte.
enum identity_marker : unsigned char {
  identity_undefined = 1,
  identity_null,
  identity_false,
  identity_true,
  identity_number,
  identity_string,
  identity_limit,  // greater than what any token begins with
};

// UTF-8 sorts by code points, keys by UTF-16 code units: there characters of four bytes (F0 to F4)
// come before U+E000 to U+FFFF (EE and EF). These bytes only ever begin a character.
constexpr unsigned char in_utf16_order(unsigned char byte) {
  if (byte < 0xEE) return byte;
  return static_cast<unsigned char>(byte < 0xF0 ? byte + 5 : byte - 2);
}

template <class Token>
constexpr void add_in_order(token_writer<Token>& out, std::string_view text) {
  out.add(identity_string);
  // Runs that need no reordering are whole strings nearly always.
  auto const reordered = [](char c) { return static_cast<unsigned char>(c) >= 0xEE; };
  for (;;) {
    auto const run =
        static_cast<std::size_t>(std::find_if(text.begin(), text.end(), reordered) - text.begin());
    out.add_raised(text.substr(0, run));
    if (run == text.size()) break;
    auto const byte = in_utf16_order(static_cast<unsigned char>(text[run]));
    out.add(static_cast<unsigned char>(byte + 1));
    text.remove_prefix(run + 1);
  }
  out.add(0);
}

template <class Token>
constexpr void add_in_order(token_writer<Token>& out, double number) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  auto const bits = std::bit_cast<std::uint64_t>(number);
  std::uint64_t const ordered = (bits & sign) != 0 ? ~bits : bits | sign;
  out.add(identity_number);
  for (int shift = 56; shift >= 0; shift -= 8)
    out.add(static_cast<unsigned char>(ordered >> shift & 0xFF));
}

}  // namespace detail

/// Keys of any values in their own order, in tokens of at most `Capacity` bytes: a string takes two
/// bytes more than it has, a number nine, any other value one. The keys decide how evenly they are
/// spread: look at yours before sharing the space out.
template <std::size_t Capacity = 128>
struct identity_scheme {
  using token_type = token_bytes<Capacity>;

  /// The token; that of the empty key is the minimum. Errors: `too_large` where the key needs more
  /// bytes than a token has.
  constexpr result<token_type> token_of(std::span<key_value const> values) const {
    token_type token;
    detail::token_writer out{token};
    for (key_value const& value : values) {
      switch (value.kind()) {
        case key_kind::undefined:
          out.add(detail::identity_undefined);
          break;
        case key_kind::null:
          out.add(detail::identity_null);
          break;
        case key_kind::boolean:
          out.add(value.boolean() ? detail::identity_true : detail::identity_false);
          break;
        case key_kind::number:
          detail::add_in_order(out, value.number());
          break;
        case key_kind::string:
          detail::add_in_order(out, value.string());
          break;
      }
    }
    if (!out.fits()) [[unlikely]]
      return fail(errc::too_large, "the key takes ", out.wanted(),
                  " bytes, and a token of this scheme has at most ", Capacity);
    return token;
  }

  constexpr token_type minimum() const noexcept { return {}; }
  constexpr std::string_view name() const noexcept { return "identity"; }

  /// The token that follows in the order of bytes: one more byte of zero while there is room.
  /// Requires a token that lies where keys can.
  constexpr upper_end<token_type> successor(token_type const& t) const {
    expects(t < limit(), "keys can have tokens there");
    auto bytes = copied(t);
    std::size_t size = t.size();
    if (size < Capacity) return token_from(bytes, size + 1);
    while (bytes[size - 1] == 0xFF) --size;
    ++bytes[size - 1];
    auto const next = token_from(bytes, size);
    if (next == limit()) return space_end;
    return next;
  }

  /// The first token of a part among so many. What is shared out are the strings that begin with
  /// ASCII characters, so far as these go: all other values are in the first part, and strings
  /// beyond ASCII in the last one. Requires `part < parts`.
  constexpr token_type boundary(std::size_t part, std::size_t parts) const {
    expects(part < parts, "a part has a number below the count of parts");
    if (part == 0) return minimum();
    std::uint64_t shares = (std::uint64_t{1} << 63) / parts * part;  // nine digits of seven bits
    expects(shares != 0, "every part has a token");
    std::array<unsigned char, Capacity> bytes{detail::identity_string};
    std::size_t size = 1;
    for (; (shares & ~std::uint64_t{0} >> 1) != 0 && size < Capacity; shares <<= 7)
      bytes[size++] = static_cast<unsigned char>((shares >> 56 & 0x7F) + 1);
    return token_from(bytes, size);
  }

  /// A token in the middle of the bytes between the bounds, of no more bytes than it takes to tell
  /// it from both. Requires that keys can lie at `lower`.
  /// Errors: `invalid_range` where no token lies between the bounds.
  constexpr result<token_type> midpoint(token_type const& lower,
                                        upper_end<token_type> const& upper) const {
    expects(lower < limit(), "keys can have tokens there");
    token_type const at = upper.is_space_end() ? limit() : (std::min)(upper.at(), limit());
    if (lower < at) {
      token_type const middle = halfway(lower, at);
      // Where the bounds differ in no more than zeros at the end, or in the last bit there is.
      auto const between = lower < middle ? upper_end{middle} : successor(lower);
      if (between < at) return between.at();
    }
    return fail(errc::invalid_range, "no token lies between ", lower.to_hex(), " and ",
                upper.to_hex());
  }

  /// Where the keys lie that begin with these values; a key of as many values as there are paths
  /// has its own token alone. Errors: `key_mismatch` for more values than paths; `too_large`.
  constexpr result<token_bounds<token_type>> prefix_bounds(std::span<key_value const> values,
                                                           std::size_t paths) const {
    using bounds = token_bounds<token_type>;
    if (values.size() > paths)
      return fail(errc::key_mismatch, "too many values: the key has ", values.size(),
                  ", there are ", paths, paths == 1 ? " path" : " paths");
    auto const lower = token_of(values);
    if (!lower) return unexpected{lower.error()};
    if (values.size() == paths || lower->size() == Capacity)
      return bounds{*lower, successor(*lower)};
    if (values.empty()) return bounds{*lower, space_end};
    auto behind = copied(*lower);
    behind[lower->size()] = detail::identity_limit;
    return bounds{*lower, token_from(behind, lower->size() + 1)};
  }

  /// Digits of either case. Errors: those of `token_bytes::from_hex`; `not_representable` where no
  /// key can have a token.
  static constexpr result<token_type> from_hex(std::string_view text) {
    auto const read = token_type::from_hex(text);
    if (read && !(*read < limit()))
      return fail(errc::not_representable, "tokens of identity are below 07");
    return read;
  }

  friend constexpr bool operator==(identity_scheme const&, identity_scheme const&) = default;

 private:
  using bytes_type = std::array<unsigned char, Capacity>;

  static constexpr token_type token_from(bytes_type const& bytes, std::size_t size) {
    return *token_type::from_bytes(std::span{bytes}.first(size));
  }
  static constexpr token_type limit() { return token_from({detail::identity_limit}, 1); }
  static constexpr bytes_type copied(token_type const& t) {
    bytes_type bytes{};
    std::copy(t.bytes().begin(), t.bytes().end(), bytes.begin());
    return bytes;
  }

  // Half the sum of two fractions, cut one byte behind the first that tells it from `lower`.
  static constexpr token_type halfway(token_type const& lower, token_type const& upper) {
    auto const low = copied(lower);
    auto const high = copied(upper);
    bytes_type middle{};
    unsigned carry = 0;
    for (std::size_t i = Capacity; i-- > 0;) {
      carry += static_cast<unsigned>(low[i]) + high[i];
      middle[i] = static_cast<unsigned char>(carry & 0xFF);
      carry >>= 8;
    }
    for (unsigned char& byte : middle) {
      unsigned const both = carry << 8 | byte;
      byte = static_cast<unsigned char>(both >> 1);
      carry = both & 1;
    }
    auto const differs = static_cast<std::size_t>(
        std::mismatch(middle.begin(), middle.end(), low.begin()).first - middle.begin());
    std::size_t size = (std::min)(differs + 2, Capacity);
    while (size > 0 && middle[size - 1] == 0) --size;
    return token_from(middle, size);
  }
};

/// Keys in their own order, in tokens of up to 128 bytes.
inline constexpr identity_scheme<> identity{};

static_assert(splittable_scheme<identity_scheme<>> && hex_scheme<identity_scheme<>> &&
              prefix_scheme<identity_scheme<>>);

}  // namespace keyspan
