// keyspan/hash/cosmos_v1.hpp — Cosmos DB's partition key hash, version 1: containers of old, and
// all that were made without saying a version.
//
// A token is the 32-bit MurmurHash3 of the values, followed by the values themselves, all in a form
// whose bytes sort like what they stand for. So tokens of one hash keep different keys apart.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/key/key_value.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace keyspan {

/// The service's own limit is 336 bytes; three values of the longest kind take 313 at most.
using token_v1 = token_bytes<336>;

namespace detail {

// A string as version 1 sees it: its first 100 UTF-16 code units, and a replacement character where
// the two units of a character stood on both sides of that cut.
struct cosmos_v1_text {
  static constexpr std::string_view replacement = "\xEF\xBF\xBD";

  std::string_view kept;
  bool is_character_cut = false;

  constexpr std::size_t size() const {
    return kept.size() + (is_character_cut ? replacement.size() : 0);
  }
};

constexpr cosmos_v1_text cosmos_v1_cut(std::string_view text) {
  constexpr std::size_t most_units = 100;
  if (text.size() <= most_units) return {text};  // a unit has at least one byte
  std::size_t size = ascii_prefix(text.substr(0, most_units));
  std::size_t units = size;
  while (units < most_units && size < text.size()) {
    auto const lead = static_cast<unsigned char>(text[size]);
    bool const is_pair = lead >= 0xF0;
    if (is_pair && units == most_units - 1) return {text.substr(0, size), true};
    units += is_pair ? 2 : 1;
    size += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  }
  return {text.substr(0, size)};
}

constexpr std::uint32_t cosmos_v1_hash(std::span<key_value const> values) {
  murmur3_32_stream all;
  for (key_value const& value : values) {
    all.add(cosmos_marker(value), 1);
    if (value.is_number()) {
      auto const bits = std::bit_cast<std::uint64_t>(value.number());
      all.add(static_cast<std::uint32_t>(bits), 4);
      all.add(static_cast<std::uint32_t>(bits >> 32), 4);
    } else if (value.is_string()) {
      auto const text = cosmos_v1_cut(value.string());
      all.add(text.kept);
      if (text.is_character_cut) all.add(cosmos_v1_text::replacement);
      all.add(0, 1);
    }
  }
  return all.finished();
}

// Eight bits, then seven at a time above a bit that says whether more follow: bytes that sort like
// the numbers, without the zeros at the end.
template <class Writer>
constexpr void write_ordered_number(Writer& to, double number) {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  auto const bits = std::bit_cast<std::uint64_t>(number);
  std::uint64_t left = bits < top ? bits ^ top : 0 - bits;
  to.add(cosmos_number);
  to.add(static_cast<unsigned char>(left >> 56));
  left <<= 8;
  do {
    auto const seven = static_cast<unsigned char>(left >> 56 & 0xFE);
    left <<= 7;
    to.add(static_cast<unsigned char>(seven | (left != 0 ? 1 : 0)));
  } while (left != 0);
}

// Texts up to 100 bytes end with a zero; of longer ones there are exactly 101 bytes.
template <class Writer>
constexpr void write_ordered_string(Writer& to, std::string_view string) {
  constexpr std::size_t most_bytes = 101;
  auto const text = cosmos_v1_cut(string);
  std::string_view const kept = text.kept.substr(0, most_bytes);
  to.add(cosmos_string);
  to.add_raised(kept);
  if (text.is_character_cut) to.add_raised(text.replacement.substr(0, most_bytes - kept.size()));
  if (text.size() < most_bytes) to.add(0);
}

// The hash that a token begins with; of no bytes, 0. Nothing where it begins otherwise.
constexpr std::optional<std::uint32_t> cosmos_v1_hash_in(token_v1 const& token) {
  auto const bytes = token.bytes();
  if (bytes.empty()) return 0;
  if (bytes.size() < 3 || bytes[0] != cosmos_number) return std::nullopt;
  std::uint64_t all = std::uint64_t{bytes[1]} << 56;
  int room = 56;
  for (std::size_t i = 2;; ++i) {
    if (i == bytes.size() || room <= 0) return std::nullopt;
    room -= 7;
    auto const seven = std::uint64_t{bytes[i]} >> 1;
    all |= room >= 0 ? seven << room : seven >> -room;
    if ((bytes[i] & 1) == 0) break;
  }
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  double const number = std::bit_cast<double>(all >= top ? all ^ top : 0 - all);
  constexpr double most = (std::numeric_limits<std::uint32_t>::max)();
  if (!(number >= 0 && number <= most)) return std::nullopt;
  auto const hash = static_cast<std::uint32_t>(number);
  return static_cast<double>(hash) == number ? std::optional{hash} : std::nullopt;
}

}  // namespace detail

/// The scheme of containers whose definition says kind Hash and version 1 or none.
class cosmos_v1_scheme {
 public:
  using token_type = token_v1;

  /// The token of any number of values; of none, the minimum. Three values always fit.
  /// Errors: `too_large` where a longer key has a token of more than 336 bytes.
  [[nodiscard]] static constexpr result<token_v1> token_of(std::span<key_value const> values) {
    result<token_v1> made{std::in_place};
    if (values.empty()) return made;
    detail::token_writer to{*made};
    detail::write_ordered_number(to, detail::cosmos_v1_hash(values));
    for (key_value const& value : values) {
      switch (value.kind()) {
        case key_kind::number:
          detail::write_ordered_number(to, value.number());
          break;
        case key_kind::string:
          detail::write_ordered_string(to, value.string());
          break;
        default:
          to.add(detail::cosmos_marker(value));
      }
    }
    if (!to.fits())
      made = fail(errc::too_large, "a token of cosmos_v1 has at most ", token_v1::capacity(),
                  " bytes, this key's has ", to.wanted());
    return made;
  }

  /// No bytes, and an empty text.
  [[nodiscard]] static constexpr token_v1 minimum() { return {}; }
  [[nodiscard]] static constexpr std::string_view name() { return "cosmos_v1"; }

  /// The bytes as a number, plus one: what follows the token and all that begins with it. No other
  /// key of as many values has a token between, since no such token begins with another. After
  /// bytes that are all FF, the end of the space.
  [[nodiscard]] static constexpr upper_end<token_v1> successor(token_v1 const& t) {
    auto bytes = t.bytes();
    while (!bytes.empty() && bytes.back() == 0xFF) bytes = bytes.first(bytes.size() - 1);
    if (bytes.empty() && !t.empty()) return space_end;
    token_v1 next;
    detail::token_writer to{next};
    if (!bytes.empty())
      for (unsigned char const byte : bytes.first(bytes.size() - 1)) to.add(byte);
    to.add(static_cast<unsigned char>((bytes.empty() ? 0 : bytes.back()) + 1));
    return next;
  }

  /// The first token of partition `i` of `partitions` in a container that is made with so many.
  /// Requires `i < partitions`, of which there are fewer than 2^32.
  [[nodiscard]] static constexpr token_v1 boundary(std::size_t i, std::size_t partitions) {
    expects(i < partitions && partitions <= greatest_hash,
            "a boundary is asked of one of the partitions, of which there are fewer than 2^32");
    return i == 0 ? minimum()
                  : token_of_hash(static_cast<std::uint32_t>(greatest_hash / partitions * i));
  }

  /// The first token of part `i` of `parts` equal parts. Part 0 begins with `lower`.
  /// Requires `i < parts`. Errors: `invalid_range` where the bounds have no room for so many;
  /// `not_representable` for a bound that does not begin with a hash.
  [[nodiscard]] static constexpr result<token_v1> cut_point(token_v1 const& lower,
                                                            upper_end<token_v1> const& upper,
                                                            std::size_t i, std::size_t parts) {
    expects(i < parts, "a cut point is asked of one of the parts");
    auto const first = detail::cosmos_v1_hash_in(lower);
    auto const last = upper.is_space_end() ? greatest_hash : detail::cosmos_v1_hash_in(upper.at());
    if (!first || !last)
      return fail(errc::not_representable,
                  "a bound of cosmos_v1 begins with a whole number of 32 bits");
    if (upper <= lower) return detail::bounds_are_reversed();
    if (*first >= *last || (*last - *first) / parts == 0)
      return detail::nothing_between_bounds(parts);
    if (i == 0) return lower;
    return token_of_hash(static_cast<std::uint32_t>(*first + (*last - *first) / parts * i));
  }
  /// Where the service splits a range in two. Errors: those of `cut_point`.
  [[nodiscard]] static constexpr result<token_v1> midpoint(token_v1 const& lower,
                                                           upper_end<token_v1> const& upper) {
    return cut_point(lower, upper, 1, 2);
  }

  /// The token of a whole key and its successor. Errors: `key_mismatch` where the key has fewer or
  /// more values than the container has paths; those of `token_of`.
  [[nodiscard]] static constexpr result<token_bounds<token_v1>> prefix_bounds(
      std::span<key_value const> values, std::size_t paths) {
    return detail::whole_key_of(values.size(), paths)
        .and_then([&] { return token_of(values); })
        .transform([](token_v1 const& t) { return token_bounds<token_v1>{t, successor(t)}; });
  }

  /// Up to 672 digits of either case. Errors: those of `token_v1::from_hex`, and
  /// `not_representable` for what begins with FF, where the space has ended.
  [[nodiscard]] static constexpr result<token_v1> from_hex(std::string_view text) {
    auto const read = token_v1::from_hex(text);
    if (read && !read->empty() && read->bytes()[0] == 0xFF)
      return fail(errc::not_representable, "a token of cosmos_v1 is below FF, this is ", text);
    return read;
  }

  friend constexpr bool operator==(cosmos_v1_scheme, cosmos_v1_scheme) = default;

 private:
  static constexpr std::uint32_t greatest_hash = (std::numeric_limits<std::uint32_t>::max)();

  static constexpr token_v1 token_of_hash(std::uint32_t hash) {
    token_v1 made;
    detail::token_writer to{made};
    detail::write_ordered_number(to, hash);
    return made;
  }
};

static_assert(splittable_scheme<cosmos_v1_scheme> && hex_scheme<cosmos_v1_scheme> &&
              prefix_scheme<cosmos_v1_scheme>);

/// Hash, version 1: `token_of(cosmos_v1, key)`.
inline constexpr cosmos_v1_scheme cosmos_v1{};

}  // namespace keyspan
