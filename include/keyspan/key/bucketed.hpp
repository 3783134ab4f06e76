// keyspan/key/bucketed.hpp — one key that is too hot, spread over n of them: "2026-11-18.0" to
// "2026-11-18.7".
//
// Which one a document is in follows from its row id, so that who reads one document still asks one
// partition; who reads all of them asks all n.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/key/joined.hpp>
#include <keyspan/key/key_component.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace keyspan {

/// Which of `buckets` buckets a row is in. Requires at least one bucket.
///
/// In any language, in arithmetic modulo 2^32: h = 2166136261; for each byte b of the id in UTF-8,
/// h = (h xor b) * 16777619; then h ^= h >> 16, h *= 0x85EBCA6B, h ^= h >> 13, h *= 0xC2B2AE35,
/// h ^= h >> 16; the bucket is h mod `buckets`. This never changes: keys were stored by it.
[[nodiscard]] constexpr std::uint32_t bucket_of_row(std::string_view row_id,
                                                    std::uint32_t buckets) {
  expects(buckets >= 1, "a key is spread over one bucket at least");
  // Unsigned 64 bit, so that no product is a signed one where int has more than 32.
  std::uint64_t hash = 2'166'136'261u;
  for (char const c : row_id)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u & 0xFFFF'FFFFu;
  hash ^= hash >> 16;
  hash = hash * 0x85EB'CA6Bu & 0xFFFF'FFFFu;
  hash ^= hash >> 13;
  hash = hash * 0xC2B2'AE35u & 0xFFFF'FFFFu;
  hash ^= hash >> 16;
  return static_cast<std::uint32_t>(hash % buckets);
}

namespace detail {

constexpr partition_key key_of_bucket(key_value const& key, std::uint32_t bucket) {
  std::array<char, max_number_text> room;
  inline_text<10> const number{bucket};
  return key_of_texts(std::array{text_of_part(key, room), number.view()}, ".");
}

}  // namespace detail

/// All keys that one key was spread over, made as they are looked at. A key that is undefined or
/// null was not spread: it is the only one.
class bucket_keys {
 public:
  /// Goes over the keys, and refers to the list.
  using iterator = index_iterator<bucket_keys>;

  /// Requires at least one bucket.
  constexpr bucket_keys(key_value const& key, std::uint32_t buckets)
      : key_{key}, size_{detail::is_missing(key) ? 1 : buckets} {
    expects(buckets >= 1, "a key is spread over one bucket at least");
  }

  constexpr std::size_t size() const noexcept { return size_; }
  /// The key of a bucket. Requires `i < size()`.
  [[nodiscard]] constexpr partition_key operator[](std::size_t i) const {
    expects(i < size_, "the key has a bucket of this number");
    if (detail::is_missing(key_[0])) return key_;
    return detail::key_of_bucket(key_[0], static_cast<std::uint32_t>(i));
  }
  constexpr iterator begin() const noexcept { return {*this, 0}; }
  constexpr iterator end() const noexcept { return {*this, size_}; }

 private:
  partition_key key_;
  std::size_t size_;
};

static_assert(std::random_access_iterator<bucket_keys::iterator>);

/// What `bucketed` returns: an extractor of one text, and a component of `key_of`.
template <class Key, class RowId>
class bucketed_extractor {
 public:
  /// Requires at least one bucket.
  constexpr explicit bucketed_extractor(Key key, std::uint32_t buckets, RowId row_id)
      : key_{std::move(key)}, row_id_{std::move(row_id)}, buckets_{buckets} {
    expects(buckets >= 1, "a key is spread over one bucket at least");
  }

  static constexpr std::size_t value_count() noexcept { return 1; }
  constexpr std::uint32_t buckets() const noexcept { return buckets_; }

  /// The text of the key, a dot, and the number of the bucket that the row's id leads to. A key
  /// that is undefined or null stays what it is. Numbers and truth values, of ids too, appear as in
  /// JSON. Allocates only where the text has more than 64 bytes. Errors: those of both components;
  /// `not_representable` where the row id is undefined or null.
  template <class Document>
    requires detail::components_fit<Document, Key, RowId>
  [[nodiscard]] constexpr result<partition_key> operator()(Document const& document) const {
    auto const read_key = detail::read_component(key_, document);
    if (!read_key) return unexpected{read_key.error()};
    key_value const& key = detail::value_in(read_key);
    if (detail::is_missing(key)) return partition_key{key};
    auto const read_id = detail::read_component(row_id_, document);
    if (!read_id) return unexpected{read_id.error()};
    key_value const& id = detail::value_in(read_id);
    if (detail::is_missing(id))
      return fail(errc::not_representable, "a row whose id is ",
                  id.is_null() ? "null" : "undefined", " is in no bucket");
    std::array<char, max_number_text> room;
    return detail::key_of_bucket(key, bucket_of_row(detail::text_of_part(id, room), buckets_));
  }

  /// Every key that this one is spread over, to read them all. Requires of a partition key that it
  /// has one value.
  template <key_input Value>
  [[nodiscard]] constexpr bucket_keys all_keys(Value const& key) const {
    return bucket_keys{key_value{key}, buckets_};
  }
  template <key_like PartitionKey>
  [[nodiscard]] constexpr bucket_keys all_keys(PartitionKey const& key) const {
    expects(key.size() == 1, "a key that is spread has one value");
    return bucket_keys{key[0], buckets_};
  }

 private:
  Key key_;
  RowId row_id_;
  std::uint32_t buckets_;
};

/// Spreads a key over so many: `bucketed(&event::day, 8, &event::id)`. Both are components as those
/// of `key_of` are. Requires at least one bucket; with other than before, what is stored is no
/// longer found.
template <class Key, class RowId>
  requires detail::components_can_fit<Key, RowId>
[[nodiscard]] constexpr bucketed_extractor<Key, RowId> bucketed(Key key, std::uint32_t buckets,
                                                                RowId row_id) {
  return bucketed_extractor<Key, RowId>{std::move(key), buckets, std::move(row_id)};
}

}  // namespace keyspan
