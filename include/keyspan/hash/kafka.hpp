// keyspan/hash/kafka.hpp — the hash that Kafka's own clients spread keyed records by.
//
//   key --murmur2--> 31 bits, the token --modulo--> one of n partitions
//
// The partition is the remainder, so a partition is no range of tokens.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/key_text.hpp>
#include <keyspan/hash/number_bytes.hpp>
#include <keyspan/key/key_value.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keyspan {

/// MurmurHash2 of 32 bits, with the seed that Kafka gives it.
[[nodiscard]] constexpr std::uint32_t kafka_murmur2(std::string_view bytes) noexcept {
  constexpr std::uint32_t multiplier = 0x5BD1'E995;
  constexpr std::uint32_t seed = 0x9747'B28C;
  char const* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t hash = seed ^ static_cast<std::uint32_t>(left);
  for (; left >= 4; left -= 4, at += 4) {
    std::uint32_t word = load_le<std::uint32_t>(at) * multiplier;
    word ^= word >> 24;
    hash = hash * multiplier ^ word * multiplier;
  }
  if (left > 0) {
    for (std::size_t i = 0; i < left; ++i)
      hash ^= static_cast<std::uint32_t>(static_cast<unsigned char>(at[i])) << (8 * i);
    hash *= multiplier;
  }
  hash ^= hash >> 13;
  hash *= multiplier;
  return hash ^ hash >> 15;
}

/// Keyed records as Kafka's default partitioner sees them. A key is one string, in UTF-8, or a
/// number in the form of its serializer.
struct kafka_scheme {
  using token_type = std::uint32_t;  ///< below 2^31

  /// What producers serialize a number as: LongSerializer is int64, IntegerSerializer int32,
  /// DoubleSerializer float64.
  number_form numbers = number_form::text;

  /// The hash of the key's bytes without its highest bit.
  static constexpr std::uint32_t token_of_bytes(std::string_view key) noexcept {
    return kafka_murmur2(key) & 0x7FFF'FFFF;
  }

  /// The token; that of the empty key is 0. A record without a key goes anywhere, so null has no
  /// token. Errors: those of `key_text`.
  constexpr result<std::uint32_t> token_of(std::span<key_value const> values) const {
    if (values.empty()) return minimum();
    char room[max_number_text]{};
    auto const key = key_text(values, room, numbers);
    if (!key) return unexpected{key.error()};
    return token_of_bytes(*key);
  }

  constexpr std::uint32_t minimum() const noexcept { return 0; }
  constexpr std::string_view name() const noexcept { return "kafka_murmur2"; }

  friend constexpr bool operator==(kafka_scheme const&, kafka_scheme const&) = default;
};

/// Kafka's scheme where keys are strings.
inline constexpr kafka_scheme kafka{};

static_assert(hash_scheme<kafka_scheme>);

/// The partition that a token goes to. Requires a positive count.
[[nodiscard]] constexpr std::uint32_t kafka_partition(std::uint32_t token,
                                                      std::uint32_t partitions) {
  expects(partitions > 0, "a topic has a partition");
  return token % partitions;
}

}  // namespace keyspan
