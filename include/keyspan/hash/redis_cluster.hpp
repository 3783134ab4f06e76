// keyspan/hash/redis_cluster.hpp — the slots of Redis Cluster.
//
//   {user1000}.following   only what stands between the first { and the next } is hashed, so keys
//   {user1000}.followers   of one tag share a slot; an empty tag is none
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/integer_space.hpp>
#include <keyspan/hash/key_text.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keyspan {

namespace detail {

// Row r is the remainder of each byte with r more bytes of zeros behind it.
inline constexpr auto crc16_tables = [] {
  std::array<std::array<std::uint16_t, 256>, 8> tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned remainder = byte << 8;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder << 1 ^ ((remainder & 0x8000) != 0 ? 0x1021 : 0)) & 0xFFFF;
    tables[0][byte] = static_cast<std::uint16_t>(remainder);
  }
  for (std::size_t row = 1; row < tables.size(); ++row)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      unsigned const before = tables[row - 1][byte];
      tables[row][byte] =
          static_cast<std::uint16_t>((before << 8 & 0xFFFF) ^ tables[0][before >> 8]);
    }
  return tables;
}();

}  // namespace detail

/// CRC16 as XMODEM has it: polynomial 1021, nothing reflected, from 0 and to the plain remainder.
[[nodiscard]] constexpr std::uint16_t crc16(std::string_view bytes) noexcept {
  auto const& tables = detail::crc16_tables;
  unsigned remainder = 0;
  char const* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t const word = load_be<std::uint64_t>(at) ^ static_cast<std::uint64_t>(remainder)
                                                                << 48;
    remainder = 0;
    for (std::size_t row = 0; row < 8; ++row) remainder ^= tables[row][word >> (8 * row) & 0xFF];
  }
  for (; left > 0; --left, ++at)
    remainder =
        (remainder << 8 & 0xFFFF) ^ tables[0][(remainder >> 8) ^ static_cast<unsigned char>(*at)];
  return static_cast<std::uint16_t>(remainder);
}

/// What of a Redis key decides where it goes: its hash tag, or all of it where it has none.
[[nodiscard]] constexpr std::string_view redis_hash_tag(std::string_view key) noexcept {
  std::size_t const open = key.find('{');
  if (open == key.npos) return key;
  std::size_t const close = key.find('}', open + 1);
  if (close == key.npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

/// The keys of a Redis Cluster, in their 16384 slots. A key is one string, or a number in its
/// shortest digits, as clients send it.
struct redis_cluster_scheme {
  using token_type = std::uint16_t;

  static constexpr integer_space<std::uint16_t> space{0, 16383};

  /// The slot of a key, as CLUSTER KEYSLOT tells it.
  static constexpr std::uint16_t slot_of(std::string_view key) noexcept {
    return crc16(redis_hash_tag(key)) & space.last;
  }

  /// The slot; that of the empty key is 0. Errors: those of `key_text`.
  constexpr result<std::uint16_t> token_of(std::span<key_value const> values) const {
    if (values.empty()) return minimum();
    char room[max_number_text]{};
    auto const key = key_text(values, room);
    if (!key) return unexpected{key.error()};
    return slot_of(*key);
  }

  constexpr std::uint16_t minimum() const noexcept { return space.first; }
  constexpr std::string_view name() const noexcept { return "redis_cluster"; }

  /// The next slot. Requires that `t` is one.
  constexpr upper_end<std::uint16_t> successor(std::uint16_t t) const { return space.successor(t); }

  /// The first slot of a node among so many: a multiple of 16384 / parts, rounded to the nearest.
  /// Up to 77 nodes this is the plan of `redis-cli --cluster create`, which adds up floats.
  /// Requires `part < parts` and at most 16384 parts.
  constexpr std::uint16_t boundary(std::size_t part, std::size_t parts) const {
    expects(part < parts && parts <= space.last + std::size_t{1},
            "there are 16384 slots to share out, and a part below the count of parts");
    std::uint64_t const count = parts;
    return static_cast<std::uint16_t>((std::uint64_t{2} * 16384 * part + count) / (2 * count));
  }

  /// The slot in the middle. Requires that the bounds are slots.
  /// Errors: `invalid_range` where no slot lies between them.
  constexpr result<std::uint16_t> midpoint(std::uint16_t lower,
                                           upper_end<std::uint16_t> const& upper) const {
    return space.midpoint(lower, upper);
  }

  friend constexpr bool operator==(redis_cluster_scheme const&,
                                   redis_cluster_scheme const&) = default;
};

/// The scheme of every Redis Cluster.
inline constexpr redis_cluster_scheme redis_cluster{};

static_assert(splittable_scheme<redis_cluster_scheme>);

}  // namespace keyspan
