// keyspan/hash/cosmos_v2.hpp — Cosmos DB's partition key hash, version 2: what containers are made
// with today.
//
// All values of a key are hashed at once by the 128-bit MurmurHash3, and 126 bits of that are the
// token. A container with one path is the usual case; some old ones have several.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/key_value.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keyspan {

namespace detail {

// What stands before a component, by its kind.
inline constexpr unsigned char cosmos_undefined = 0x00;
inline constexpr unsigned char cosmos_null = 0x01;
inline constexpr unsigned char cosmos_false = 0x02;
inline constexpr unsigned char cosmos_true = 0x03;
inline constexpr unsigned char cosmos_number = 0x05;
inline constexpr unsigned char cosmos_string = 0x08;

constexpr unsigned char cosmos_marker(key_value const& value) {
  switch (value.kind()) {
    case key_kind::undefined:
      return cosmos_undefined;
    case key_kind::null:
      return cosmos_null;
    case key_kind::boolean:
      return value.boolean() ? cosmos_true : cosmos_false;
    case key_kind::number:
      return cosmos_number;
    case key_kind::string:
      break;
  }
  return cosmos_string;
}

// The two bits on top are cleared, so that every token is below the text FF.
inline constexpr token128 cosmos_v2_greatest{~std::uint64_t{0} >> 2, ~std::uint64_t{0}};

constexpr token128 cosmos_v2_token(murmur3_128_result const& hash) {
  return {hash.h2 & cosmos_v2_greatest.high, hash.h1};
}

// The hash of 08, the text, FF. The words of that are put together in registers: written to memory
// byte by byte and read back as words they would wait for each other.
constexpr token128 cosmos_v2_token_of_string(std::string_view text) {
  constexpr std::uint64_t end = 0xFF;
  murmur3_128_rounds rounds;
  char const* at = text.data();
  std::size_t left = text.size();
  if (left >= 16) {
    rounds.block(load_le<std::uint64_t>(at) << 8 | cosmos_string, load_le<std::uint64_t>(at + 7));
    for (at += 15, left -= 15; left >= 16; at += 16, left -= 16)
      rounds.block(load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + 8));
    if (left < 8) {
      rounds.tail(load_last(at, left) | end << 8 * left);
    } else {
      auto const first = load_le<std::uint64_t>(at);
      auto const second = load_last(at + 8, left - 8) | end << 8 * (left - 8);
      if (left == 15) {
        rounds.block(first, second);
      } else {
        rounds.tail(first, second);
      }
    }
  } else if (left >= 8) {
    auto const first = load_le<std::uint64_t>(at) << 8 | cosmos_string;
    auto const second = load_last(at + 7, left - 7);
    if (left < 14) {
      rounds.tail(first, second | end << 8 * (left - 7));
    } else if (left == 14) {
      rounds.block(first, second | end << 56);
    } else {
      rounds.block(first, second);
      rounds.tail(end);
    }
  } else {
    rounds.tail(load_few(at, left) << 8 | cosmos_string | end << 8 * left << 8,
                left == 7 ? end : 0);
  }
  return cosmos_v2_token(rounds.finished(text.size() + 2));
}

constexpr token128 cosmos_v2_token_of(key_value const& value) {
  if (value.is_string()) [[likely]]
    return cosmos_v2_token_of_string(value.string());
  murmur3_128_rounds rounds;
  if (value.is_number()) {
    auto const bits = std::bit_cast<std::uint64_t>(value.number());
    rounds.tail(bits << 8 | cosmos_number, bits >> 56);
    return cosmos_v2_token(rounds.finished(9));
  }
  rounds.tail(cosmos_marker(value));
  return cosmos_v2_token(rounds.finished(1));
}

constexpr token128 cosmos_v2_token_of_several(std::span<key_value const> values) {
  murmur3_128_stream all;
  for (key_value const& value : values) {
    all.add(cosmos_marker(value), 1);
    if (value.is_number()) {
      all.add(std::bit_cast<std::uint64_t>(value.number()), 8);
    } else if (value.is_string()) {
      all.add(value.string());
      all.add(0xFF, 1);
    }
  }
  return cosmos_v2_token(all.finished());
}

}  // namespace detail

/// The scheme of containers whose definition says kind Hash, version 2.
class cosmos_v2_scheme {
 public:
  using token_type = token128;

  /// The token of any number of values; of none, the minimum.
  [[nodiscard]] static constexpr token128 token_of(std::span<key_value const> values) {
    if (values.size() == 1) [[likely]]
      return detail::cosmos_v2_token_of(values.front());
    return values.empty() ? minimum() : detail::cosmos_v2_token_of_several(values);
  }

  /// 0, whose text is empty.
  [[nodiscard]] static constexpr token128 minimum() { return {}; }
  /// 2^126 - 1, whose text is 3F and 30 times F.
  [[nodiscard]] static constexpr token128 greatest() { return detail::cosmos_v2_greatest; }
  [[nodiscard]] static constexpr std::string_view name() { return "cosmos_v2"; }

  /// The next number; after the greatest token, the end of the space.
  [[nodiscard]] static constexpr upper_end<token128> successor(token128 const& t) {
    if (t >= greatest()) return space_end;
    return detail::sum(t, {0, 1});
  }

  /// The first token of partition `i` of `partitions` in a container that is made with so many.
  /// Requires `i < partitions`.
  [[nodiscard]] static constexpr token128 boundary(std::size_t i, std::size_t partitions) {
    expects(i < partitions, "a boundary is asked of one of the partitions");
    return detail::product(detail::quotient(greatest(), partitions), i);
  }

  /// The first token of part `i` of `parts` equal parts. Part 0 begins with `lower`.
  /// Requires `i < parts`. Errors: `invalid_range` where the bounds have no room for so many.
  [[nodiscard]] static constexpr result<token128> cut_point(token128 const& lower,
                                                            upper_end<token128> const& upper,
                                                            std::size_t i, std::size_t parts) {
    expects(i < parts, "a cut point is asked of one of the parts");
    token128 const last = upper.is_space_end() ? greatest() : (std::min)(upper.at(), greatest());
    if (upper <= lower) return detail::bounds_are_reversed();
    if (lower >= last) return detail::nothing_between_bounds(parts);
    token128 const step = detail::quotient(detail::difference(last, lower), parts);
    if (step == token128{}) return detail::nothing_between_bounds(parts);
    return detail::sum(lower, detail::product(step, i));
  }
  /// Where the service splits a range in two. Errors: `invalid_range` where nothing lies between.
  [[nodiscard]] static constexpr result<token128> midpoint(token128 const& lower,
                                                           upper_end<token128> const& upper) {
    return cut_point(lower, upper, 1, 2);
  }

  /// The token of a whole key and its successor. Errors: `key_mismatch` where the key has fewer or
  /// more values than the container has paths.
  [[nodiscard]] static constexpr result<token_bounds<token128>> prefix_bounds(
      std::span<key_value const> values, std::size_t paths) {
    return detail::whole_key_of(values.size(), paths).transform([&] {
      token128 const t = token_of(values);
      return token_bounds<token128>{t, successor(t)};
    });
  }

  /// Up to 32 digits of either case; where there are fewer, zeros follow. Errors: those of
  /// `token128::from_hex`, and `not_representable` beyond the greatest token.
  [[nodiscard]] static constexpr result<token128> from_hex(std::string_view text) {
    auto const read = token128::from_hex(text);
    if (read && *read > greatest())
      return fail(errc::not_representable, "a token of cosmos_v2 is below 40, this is ", text);
    return read;
  }

  friend constexpr bool operator==(cosmos_v2_scheme, cosmos_v2_scheme) = default;
};

static_assert(splittable_scheme<cosmos_v2_scheme> && hex_scheme<cosmos_v2_scheme> &&
              prefix_scheme<cosmos_v2_scheme>);

/// Hash, version 2: `token_of(cosmos_v2, key)`.
inline constexpr cosmos_v2_scheme cosmos_v2{};

}  // namespace keyspan
