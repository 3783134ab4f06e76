// keyspan/transport/stored.hpp — a document as a container keeps it, and what an operation on one
// answers.
//
//   stored   document . key . id . etag . lsn . when        a handle: copies are cheap
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// A partition key and the id under it as one text: no two pairs have the same, and those of one key
// begin alike. A count of values, then each value as its kind and what it holds.
class item_name {
 public:
  item_name() = default;
  item_name(partition_key_view const& key, key_value const& id) : item_name{key, &id} {}
  // The beginning that all names under a key have.
  explicit item_name(partition_key_view const& key) : item_name{key, nullptr} {}
  item_name(item_name const&) = delete;
  item_name& operator=(item_name const&) = delete;

  std::string_view view() const noexcept {
    return {size_ <= sizeof inline_ ? inline_ : heap_.get(), size_};
  }

 private:
  item_name(partition_key_view const& key, key_value const* id) {
    std::size_t size = 1;
    for (key_value const& value : key) size += size_of(value);
    if (id != nullptr) size += size_of(*id);
    char* to = inline_;
    if (size > sizeof inline_) {
      heap_ = std::make_unique<char[]>(size);
      to = heap_.get();
    }
    size_ = size;
    *to++ = static_cast<char>(key.size());
    for (key_value const& value : key) to = put(to, value);
    if (id != nullptr) put(to, *id);
  }

  static std::size_t size_of(key_value const& value) {
    switch (value.kind()) {
      case key_kind::boolean:
        return 2;
      case key_kind::number:
        return 9;
      case key_kind::string:
        return 5 + value.string().size();
      default:
        return 1;
    }
  }
  static char* put(char* to, key_value const& value) {
    *to++ = static_cast<char>(value.kind());
    if (value.is_boolean()) {
      *to++ = value.boolean() ? 1 : 0;
    } else if (value.is_number()) {
      store_le(to, std::bit_cast<std::uint64_t>(value.number()));
      to += 8;
    } else if (value.is_string()) {
      std::string_view const text = value.string();
      store_le(to, static_cast<std::uint32_t>(text.size()));
      std::memcpy(to + 4, text.data(), text.size());
      to += 4 + text.size();
    }
    return to;
  }

  std::size_t size_ = 0;
  std::unique_ptr<char[]> heap_{};
  char inline_[112];
};

// Takes the value off that a name begins with, its text borrowed.
inline key_value take_value(std::string_view& name) {
  auto const kind = static_cast<key_kind>(name.front());
  name.remove_prefix(1);
  switch (kind) {
    case key_kind::undefined:
      return key_value{undefined};
    case key_kind::null:
      return key_value{null};
    case key_kind::boolean: {
      bool const is_true = name.front() != 0;
      name.remove_prefix(1);
      return key_value{is_true};
    }
    case key_kind::number: {
      auto const bits = load_le<std::uint64_t>(name.data());
      name.remove_prefix(8);
      return key_value{std::bit_cast<double>(bits)};
    }
    case key_kind::string:
      break;
  }
  std::size_t const size = load_le<std::uint32_t>(name.data());
  std::string_view const text = name.substr(4, size);
  name.remove_prefix(4 + size);
  return key_value{text};
}

// What a name was made of, its texts borrowed.
struct named_item {
  explicit named_item(std::string_view name) {
    auto const count = static_cast<std::size_t>(name.front());
    name.remove_prefix(1);
    std::array<key_value, max_key_values> values{};
    for (std::size_t i = 0; i < count; ++i) values[i] = take_value(name);
    key = partition_key_view{std::span<key_value const>{values}.first(count)};
    id = take_value(name);
    rest = name;
  }

  partition_key_view key{};
  key_value id{undefined};
  std::string_view rest{};  // what stands behind the name
};

inline inline_text<24> etag_text(std::uint64_t number) {
  std::array<unsigned char, 8> bytes{};
  store_be(bytes.data(), number);
  char digits[16]{};
  return {'"', encode_hex(std::span{bytes}, digits), '"'};
}

// One version of a document, which is never changed. An etag is a number here, or, where somebody
// else has given it, a text behind the name.
template <class T>
struct stored_version {
  T document;
  std::string name{};
  std::uint64_t etag = 0;
  std::uint64_t lsn = 0;
  wall_time at{};
};

}  // namespace detail

/// A document as it was at a moment, with what the container knows of it. A handle: copies share
/// the document, which is never changed and lives as long as one of them.
template <class T>
class stored {
 public:
  using document_type = T;

  /// Nothing: there is no such document.
  stored() noexcept = default;
  explicit stored(std::shared_ptr<detail::stored_version<T> const> version) noexcept
      : version_{std::move(version)} {}

  /// Whether there is a document. Everything below requires that.
  explicit operator bool() const noexcept { return version_ != nullptr; }

  T const& operator*() const { return version().document; }
  T const* operator->() const { return &version().document; }

  /// The partition key that it was written under.
  partition_key key() const { return partition_key{detail::named_item{version().name}.key}; }
  /// What tells it from the others of its key: its row key, a string but in MongoDB's containers.
  /// Borrowed from here.
  key_value id() const& { return detail::named_item{version().name}.id; }
  void id() const&& = delete;
  /// This version, opaque; another one of the same document has another one. Empty where a service
  /// gave none.
  inline_text<64> etag() const {
    auto const given = detail::named_item{version().name}.rest;
    if (!given.empty()) return inline_text<64>{given};
    if (version().etag == 0) return {};  // of a service that gave none
    return inline_text<64>{detail::etag_text(version().etag)};
  }
  /// Its position in the log of its partition.
  std::uint64_t lsn() const { return version().lsn; }
  /// When it was written.
  wall_time modified_at() const { return version().at; }

  /// Whether both are the same version of the same document, or both nothing. Versions of services
  /// are the same by their etags.
  friend bool operator==(stored const& a, stored const& b) {
    if (a.version_ == b.version_) return true;
    if (a.version_ == nullptr || b.version_ == nullptr || a.version_->name != b.version_->name)
      return false;
    return !detail::named_item{a.version_->name}.rest.empty();
  }

 private:
  detail::stored_version<T> const& version() const {
    expects(version_ != nullptr, "a document is looked at where there is one");
    return *version_;
  }

  std::shared_ptr<detail::stored_version<T> const> version_{};
};

/// What happened to a document.
enum class change_kind : std::uint8_t { created, replaced, removed, expired };

/// The enumerator's own name: "created".
constexpr std::string_view name_of(change_kind kind) {
  switch (kind) {
    case change_kind::created:
      return "created";
    case change_kind::replaced:
      return "replaced";
    case change_kind::removed:
      return "removed";
    case change_kind::expired:
      return "expired";
  }
  expects(false, "a change_kind is one of the enumerators");
  return {};
}

/// One change of a document, as a feed tells it: `change->rating`.
template <class T>
struct change {
  change_kind kind = change_kind::created;
  /// The document; of one that is gone, what it was last.
  stored<T> item{};
  /// What it was before: nothing where it was created, and in a feed of latest versions.
  stored<T> before{};
  /// The position of the change in the log of its partition.
  std::uint64_t lsn = 0;
  wall_time at{};

  T const& operator*() const { return *item; }
  T const* operator->() const { return item.operator->(); }

  friend bool operator==(change const&, change const&) = default;
};

/// What an operation on one document answers.
template <class T>
struct item_answer {
  /// What was read or written; of a removal what it was.
  stored<T> item{};
  /// 201 where it was created, 204 where it was removed, else 200.
  std::uint16_t status = 200;
  std::uint16_t attempts = 1;
  /// In request units.
  double charge = 0;
  /// The id of the partition that did it.
  inline_text<24> partition{};
  /// What a later read in the same session is to show; opaque.
  std::string session_token{};
};

/// What reading many documents at once answers.
template <class T>
struct items_answer {
  /// In the order they were asked for; nothing in the place of those that are not there.
  std::vector<stored<T>> items{};
  double charge = 0;
};

/// What a transaction answers.
template <class T>
struct batch_answer {
  /// One for each operation, in their order. Where one failed nothing was done: it has its error,
  /// all others `errc::not_attempted`.
  std::vector<result<item_answer<T>>> operations{};
  double charge = 0;

  /// Whether all was done.
  bool is_done() const noexcept {
    for (auto const& one : operations)
      if (!one) return false;
    return true;
  }
};

}  // namespace keyspan
