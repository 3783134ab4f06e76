// keyspan/hash/fast64.hpp — a small fast scheme for those who bring none of their own.
//
// Sixteen bytes at a time are folded by one multiplication of 64 to 128 bits, as the wyhash family
// does. The same token on every machine, and of these bytes for ever: tokens may be stored.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/integer_space.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keyspan {

namespace detail {

// Bits behind the point of the golden ratio and of the square roots of 3, 5 and 7: odd numbers that
// nobody chose.
inline constexpr std::uint64_t fold_golden = 0x9E37'79B9'7F4A'7C15;
inline constexpr std::uint64_t fold_root_3 = 0xBB67'AE85'84CA'A73B;
inline constexpr std::uint64_t fold_root_5 = 0x3C6E'F372'FE94'F82B;
inline constexpr std::uint64_t fold_root_7 = 0xA54F'F53A'5F1D'36F1;

struct product128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

constexpr product128 multiplied_by_halves(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t half = 0xFFFF'FFFF;
  std::uint64_t const low = (a & half) * (b & half);
  std::uint64_t const middle = (a >> 32) * (b & half) + (low >> 32);  // too small to overflow
  std::uint64_t const crossed = (a & half) * (b >> 32) + (middle & half);
  return {.low = crossed << 32 | (low & half),
          .high = (a >> 32) * (b >> 32) + (middle >> 32) + (crossed >> 32)};
}

constexpr product128 multiplied(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
  __extension__ using wide = unsigned __int128;
  wide const product = static_cast<wide>(a) * b;
  return {.low = static_cast<std::uint64_t>(product),
          .high = static_cast<std::uint64_t>(product >> 64)};
#else
  return multiplied_by_halves(a, b);
#endif
}

// A factor of zero would forget the other one, so that one is laid over what comes out.
constexpr std::uint64_t folded(std::uint64_t a, std::uint64_t b) noexcept {
  auto const product = multiplied(a, b);
  return (product.low ^ a) ^ product.high;
}

// The end of one value: two words of it, and what tells it from others of the same words.
constexpr std::uint64_t folded_value(std::uint64_t state, std::uint64_t first, std::uint64_t second,
                                     key_kind kind, std::uint64_t size = 0) noexcept {
  std::uint64_t const a = first ^ fold_root_5;
  std::uint64_t const b = second ^ state;
  auto const product = multiplied(a, b);
  std::uint64_t const tag = size ^ static_cast<std::uint64_t>(kind) << 60;
  return folded(product.low ^ a ^ tag ^ fold_root_7, product.high ^ b ^ fold_golden);
}

constexpr std::uint64_t folded_text(std::uint64_t state, std::string_view text) noexcept {
  char const* at = text.data();
  std::size_t const size = text.size();
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  if (size > 16) {
    std::size_t left = size;
    if (left > 48) {  // three at once, for a processor that waits for none of them
      std::uint64_t others[2]{state, state};
      for (; left > 48; left -= 48, at += 48) {
        state = folded(load_le<std::uint64_t>(at) ^ fold_golden,
                       load_le<std::uint64_t>(at + 8) ^ state);
        others[0] = folded(load_le<std::uint64_t>(at + 16) ^ fold_root_3,
                           load_le<std::uint64_t>(at + 24) ^ others[0]);
        others[1] = folded(load_le<std::uint64_t>(at + 32) ^ fold_root_5,
                           load_le<std::uint64_t>(at + 40) ^ others[1]);
      }
      state ^= others[0] ^ others[1];
    }
    for (; left > 16; left -= 16, at += 16)
      state =
          folded(load_le<std::uint64_t>(at) ^ fold_golden, load_le<std::uint64_t>(at + 8) ^ state);
    // The last sixteen bytes, some of them once more.
    first = load_le<std::uint64_t>(at + left - 16);
    second = load_le<std::uint64_t>(at + left - 8);
  } else if (size >= 8) {
    first = load_le<std::uint64_t>(at);
    second = load_le<std::uint64_t>(at + size - 8);
  } else if (size >= 4) {
    first = load_le<std::uint32_t>(at);
    second = load_le<std::uint32_t>(at + size - 4);
  } else if (size > 0) {
    auto const byte = [&](std::size_t i) -> std::uint64_t {
      return static_cast<unsigned char>(at[i]);
    };
    first = byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
  }
  return folded_value(state, first, second, key_kind::string, size);
}

}  // namespace detail

/// Keys of any values, to the integers of 64 bits. Every key has a token. Not for a secret and no
/// defence against keys that somebody chooses to collide, but for what a secret seed does.
struct fast64_scheme {
  using token_type = std::uint64_t;

  static constexpr integer_space<std::uint64_t> space{};

  /// Another seed is another scheme.
  std::uint64_t seed = 0;

  /// The token; that of the empty key is 0.
  constexpr std::uint64_t token_of(std::span<key_value const> values) const noexcept {
    if (values.empty()) return minimum();
    std::uint64_t state = seed ^ detail::fold_root_3;
    for (key_value const& value : values) {
      switch (value.kind()) {
        case key_kind::string:
          state = detail::folded_text(state, value.string());
          break;
        case key_kind::number:
          state = detail::folded_value(state, std::bit_cast<std::uint64_t>(value.number()), 0,
                                       key_kind::number);
          break;
        case key_kind::boolean:
          state = detail::folded_value(state, value.boolean() ? 1 : 0, 0, key_kind::boolean);
          break;
        default:
          state = detail::folded_value(state, 0, 0, value.kind());
      }
    }
    return state;
  }

  constexpr std::uint64_t minimum() const noexcept { return space.first; }
  constexpr std::string_view name() const noexcept { return "fast64"; }

  constexpr upper_end<std::uint64_t> successor(std::uint64_t t) const { return space.successor(t); }

  /// The first token of a part among so many. Requires `part < parts`.
  constexpr std::uint64_t boundary(std::size_t part, std::size_t parts) const {
    return space.boundary(part, parts);
  }

  /// Errors: `invalid_range` where no token lies between the bounds.
  constexpr result<std::uint64_t> midpoint(std::uint64_t lower,
                                           upper_end<std::uint64_t> const& upper) const {
    return space.midpoint(lower, upper);
  }

  friend constexpr bool operator==(fast64_scheme const&, fast64_scheme const&) = default;
};

/// The scheme for those who bring none.
inline constexpr fast64_scheme fast64{};

static_assert(splittable_scheme<fast64_scheme>);

}  // namespace keyspan
