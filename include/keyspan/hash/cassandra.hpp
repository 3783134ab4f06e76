// keyspan/hash/cassandra.hpp — the ring of Cassandra's Murmur3Partitioner.
//
// A partition key of one column is hashed as the bytes of its value; of several, each value stands
// between its length in two bytes and a byte of zero.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/integer_space.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/number_bytes.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace keyspan {

/// The type of a column of the partition key.
enum class cassandra_column : std::uint8_t {
  natural,   ///< text for a string, double for a number, boolean for a bool
  bigint,    ///< also timestamp and time: a whole number of 64 bits
  int32,     ///< CQL's int
  smallint,  ///< a whole number of 16 bits
  tinyint,   ///< of 8
  float32,   ///< CQL's float
  uuid,      ///< also timeuuid: a string of 32 digits with its four hyphens
};

/// The types of a partition key's columns, in their order. Where none is named all are natural, and
/// there may be any number of them.
class cassandra_columns {
 public:
  constexpr cassandra_columns() = default;
  template <std::same_as<cassandra_column>... Columns>
    requires(sizeof...(Columns) > 0 && at_most_three_key_values<Columns...>)
  constexpr cassandra_columns(Columns... columns)
      : columns_{columns...}, size_{sizeof...(Columns)} {}

  /// How many are named.
  constexpr std::size_t size() const noexcept { return size_; }

  constexpr cassandra_column operator[](std::size_t i) const noexcept {
    return i < columns_.size() ? columns_[i] : cassandra_column::natural;
  }
  friend constexpr bool operator==(cassandra_columns const&, cassandra_columns const&) = default;

 private:
  std::array<cassandra_column, max_key_values> columns_{};
  std::size_t size_ = 0;
};

namespace detail {

// Cassandra takes the bytes behind the last whole block for signed ones, and a negative one turns
// over every bit above it in its word: each byte is turned over by each negative one before it.
constexpr std::uint64_t cassandra_tail_word(std::uint64_t word) noexcept {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
  std::uint64_t const negative_up_to_here = (word >> 7 & ones) * ones;  // in each byte, a count
  return word ^ (negative_up_to_here << 8 & ones) * 0xFF;
}

constexpr std::int64_t cassandra_token_of(murmur3_128_result const& hash) noexcept {
  using limits = std::numeric_limits<std::int64_t>;
  auto const token = static_cast<std::int64_t>(hash.h1);
  return token == (limits::min)() ? (limits::max)() : token;
}

// 8-4-4-4-12 digits to the 16 bytes that they are.
constexpr bool store_uuid(std::string_view text, char* to) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-')
    return false;
  char digits[32]{};
  char* at = digits;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i != 8 && i != 13 && i != 18 && i != 23) *at++ = text[i];
  return decode_hex(std::string_view{digits, sizeof digits}, std::span{to, 16}).has_value();
}

}  // namespace detail

/// The token that Cassandra's Murmur3Partitioner gives these bytes of a partition key; no bytes
/// have the least token, and the least hash counts as the greatest.
[[nodiscard]] constexpr std::int64_t cassandra_token(std::string_view bytes) noexcept {
  if (bytes.empty()) return (std::numeric_limits<std::int64_t>::min)();
  detail::murmur3_128_rounds all;
  char const* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 16; left -= 16, at += 16)
    all.block(load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + 8));
  if (left > 8) {
    all.tail(detail::cassandra_tail_word(load_le<std::uint64_t>(at)),
             detail::cassandra_tail_word(detail::load_last(at + 8, left - 8)));
  } else if (left > 0) {
    all.tail(detail::cassandra_tail_word(bytes.size() >= 8 ? detail::load_last(at, left)
                                                           : detail::load_few(at, left)));
  }
  return detail::cassandra_token_of(all.finished(bytes.size()));
}

/// Partition keys of a Cassandra table, on the ring of Murmur3Partitioner: the integers of 64 bits,
/// the least of which no row has.
struct cassandra_scheme {
  using token_type = std::int64_t;

  static constexpr integer_space<std::int64_t> space{};
  /// The most bytes that a partition key can have in Cassandra.
  static constexpr std::size_t max_key_bytes = 65535;

  /// For numbers that are not of type double and strings that are not text:
  /// `{.columns = {cassandra_column::uuid, cassandra_column::bigint}}`.
  cassandra_columns columns{};

  /// The token; that of the empty key is the minimum. Errors: `key_mismatch` for null and
  /// undefined, for a value that its column cannot hold, and for a key that is the empty string
  /// alone, which Cassandra refuses as well; `not_representable` for a number beyond its column's
  /// type, `malformed` for a string that is no uuid; `too_large`.
  constexpr result<std::int64_t> token_of(std::span<key_value const> values) const {
    if (values.empty()) return minimum();
    if (columns.size() != 0 && columns.size() != values.size())
      return fail(errc::key_mismatch, "too ", values.size() < columns.size() ? "few" : "many",
                  " values: the key has ", values.size(), ", the table ", columns.size(),
                  " columns");
    char room[max_number_text]{};
    if (values.size() == 1) {
      auto const bytes = bytes_of(values.front(), 0, room);
      if (!bytes) [[unlikely]]
        return unexpected{bytes.error()};
      if (bytes->empty()) [[unlikely]]
        return fail(errc::key_mismatch, "a partition key of Cassandra is not empty");
      if (bytes->size() > max_key_bytes) [[unlikely]]
        return too_large();
      return cassandra_token(*bytes);
    }
    detail::murmur3_128_stream all;
    std::size_t size = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const bytes = bytes_of(values[i], i, room);
      if (!bytes) return unexpected{bytes.error()};
      size += bytes->size() + 3;
      if (bytes->size() > max_key_bytes || size > max_key_bytes) return too_large();
      all.add(bytes->size() >> 8 | (bytes->size() & 0xFF) << 8, 2);  // the greater byte first
      all.add(*bytes);
      all.add(0, 1);
    }
    return detail::cassandra_token_of(all.finished(detail::cassandra_tail_word));
  }

  constexpr std::int64_t minimum() const noexcept { return space.first; }
  constexpr std::string_view name() const noexcept { return "cassandra_murmur3"; }

  constexpr upper_end<std::int64_t> successor(std::int64_t t) const { return space.successor(t); }

  /// The first token of a node among so many, as Cassandra's manual computes initial tokens.
  /// Requires `part < parts`.
  constexpr std::int64_t boundary(std::size_t part, std::size_t parts) const {
    return space.boundary(part, parts);
  }

  /// Errors: `invalid_range` where no token lies between the bounds.
  constexpr result<std::int64_t> midpoint(std::int64_t lower,
                                          upper_end<std::int64_t> const& upper) const {
    return space.midpoint(lower, upper);
  }

  friend constexpr bool operator==(cassandra_scheme const&, cassandra_scheme const&) = default;

 private:
  static constexpr unexpected too_large() {
    return fail(errc::too_large, "a partition key of Cassandra has at most ", max_key_bytes,
                " bytes");
  }

  constexpr result<std::string_view> bytes_of(key_value const& value, std::size_t i,
                                              std::span<char> room) const {
    cassandra_column const column = columns[i];
    if (value.is_string()) [[likely]] {
      if (column == cassandra_column::natural) return value.string();
      if (column == cassandra_column::uuid) {
        if (!detail::store_uuid(value.string(), room.data()))
          return fail(errc::malformed, "value ", i + 1,
                      " of the key is no uuid, which has 8-4-4-4-12 hexadecimal digits");
        return std::string_view{room.data(), 16};
      }
    } else if (value.is_number() && column != cassandra_column::uuid) {
      return number_bytes(value.number(), form_of(column), room);
    } else if (value.is_boolean() && column == cassandra_column::natural) {
      room[0] = value.boolean() ? 1 : 0;
      return std::string_view{room.data(), 1};
    }
    return fail(errc::key_mismatch, "value ", i + 1, " of the key is ",
                detail::words_of(value.kind()), ", which its column in Cassandra does not hold");
  }

  static constexpr number_form form_of(cassandra_column column) {
    switch (column) {
      case cassandra_column::bigint:
        return number_form::int64;
      case cassandra_column::int32:
        return number_form::int32;
      case cassandra_column::smallint:
        return number_form::int16;
      case cassandra_column::tinyint:
        return number_form::int8;
      case cassandra_column::float32:
        return number_form::float32;
      default:
        return number_form::float64;
    }
  }
};

/// The scheme of a table whose partition key is of type text, double or boolean.
inline constexpr cassandra_scheme cassandra{};

static_assert(splittable_scheme<cassandra_scheme>);

}  // namespace keyspan
