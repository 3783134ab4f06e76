// keyspan/cosmos/lease_document.hpp — a lease as the change feed processors of the SDKs keep it: a
// document of a container.
//
//   shop.documents.azure.com_AbCd==_AbCdEf=..0            a partition, by its id (version 0)
//   shop.documents.azure.com_AbCd==_AbCdEf=..05C1-0B81    a range (version 1)
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/service_request.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace keyspan::cosmos {

/// What a lease is of.
enum class lease_version : std::uint8_t {
  partition = 0,  ///< a physical partition, named by its id: .NET 2 and 3, Java
  range = 1,      ///< a range of effective partition keys: .NET 3 and Java
};

/// Which members say what the lease is of.
enum class lease_naming : std::uint8_t {
  lease_token,   ///< `LeaseToken`: .NET 3, Java
  partition_id,  ///< `PartitionId`: .NET 2
  both,          ///< a lease of .NET 2 that .NET 3 has written since
};

namespace detail {

// The end of an id tells the leases of a fleet apart.
inline std::string shown_lease(std::string_view id) {
  constexpr std::size_t longest = 44;
  if (id.size() <= longest) return std::string{id};
  id.remove_prefix(id.size() - longest);
  while (!id.empty() && (static_cast<unsigned char>(id.front()) & 0xC0U) == 0x80U)
    id.remove_prefix(1);
  return "..." + std::string{id};
}
template <class... Pieces>
unexpected lease_refused(std::string_view id, errc code, Pieces const&... pieces) {
  std::string const shown = shown_lease(id);
  return fail(code, "lease \"", shown, "\": ", pieces...);
}

// Letters of both cases are one hexadecimal digit.
inline bool is_same_hex(std::string_view a, std::string_view b) {
  auto const upper = [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (upper(a[i]) != upper(b[i])) return false;
  return true;
}

}  // namespace detail

/// A lease of such a processor, as its document says it. What a document has beside is kept, and
/// written again.
struct lease_document {
  std::string id{};
  lease_version version = lease_version::range;
  lease_naming naming = lease_naming::lease_token;
  /// The id of a partition, or the bounds of a range: "05C1-0B81", "-FF".
  std::string lease_token{};
  /// The range, where the document says it: always of version 1, of some of version 0.
  std::optional<epk_range> range{};
  /// Who holds it; nobody where it is empty.
  std::string owner{};
  /// How far it was read; nothing yet where it is empty. .NET, and Java with version 0, keep what
  /// the service has said; Java with version 1 keeps a state of its own in base64.
  std::string continuation{};
  /// When it was written, by the clock of who wrote it, in his words; for people.
  std::string timestamp{};
  /// "Incremental Feed" or "Full-Fidelity Feed"; empty where the document does not say it.
  std::string mode{};
  /// An object: texts, as the SDKs write it.
  nlohmann::json properties = nlohmann::json::object();
  /// The service's own words for this state of the document, and when that was, in seconds since
  /// 1970 by the service's clock. The service writes new ones with every write.
  std::string etag{};
  std::optional<std::int64_t> changed_at{};
  /// All other members.
  nlohmann::json others = nlohmann::json::object();

  /// A text of `properties`; none where there is no such member.
  [[nodiscard]] std::optional<std::string> property(std::string_view name) const {
    auto const found = properties.find(name);
    if (found == properties.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  }

  /// The lease that a document is. Errors, naming the lease and the member: `malformed` for what is
  /// none; `unsupported` for a version other than 0 and 1, and for a range that is said by a key.
  [[nodiscard]] static result<lease_document> from_json(nlohmann::json document);
  /// The same, of its text. Errors: those of `json_from` and `from_json`.
  [[nodiscard]] static result<lease_document> from_text(std::string_view text) {
    auto json = json_from(text);
    if (!json) return unexpected{json.error()};
    return from_json(*std::move(json));
  }

  /// The document, as `from_json` reads it.
  [[nodiscard]] nlohmann::json to_json() const;

  friend bool operator==(lease_document const&, lease_document const&) = default;
};

/// The range that a lease token of version 1 says: "05C1-0B81". None where it is no such text.
[[nodiscard]] inline std::optional<epk_range> range_of_lease_token(std::string_view token) {
  auto const is_hex = [](std::string_view text) {
    return text.find_first_not_of("0123456789ABCDEFabcdef") == text.npos;
  };
  auto const dash = token.find('-');
  if (dash == token.npos) return std::nullopt;
  auto const lower = token.substr(0, dash);
  auto const upper = token.substr(dash + 1);
  if (!is_hex(lower) || !is_hex(upper) || upper.empty()) return std::nullopt;
  return epk_range{std::string{lower}, std::string{upper}};
}
/// The lease token of a range.
[[nodiscard]] inline std::string lease_token_of(epk_range const& range) {
  return range.lower + '-' + range.upper;
}

namespace detail {

// Takes the members of a document one after another; what nobody has taken are the others.
class lease_document_reader {
 public:
  // In parentheses: in braces it would be an array of the document.
  explicit lease_document_reader(nlohmann::json document) : rest_(std::move(document)) {}

  result<lease_document> read() {
    if (!rest_.is_object())
      return fail(errc::malformed, "a lease is an object, this one is ", rest_.type_name());
    lease_document made;
    made.id = text("id");
    if (!refusal_ && made.id.empty()) refuse("id", errc::malformed, "it is missing or empty");
    id_ = made.id;
    read_version(made);
    read_token(made);
    read_range(made);
    made.owner = text("Owner");
    made.continuation = text("ContinuationToken");
    made.timestamp = text("timestamp");
    made.mode = text("Mode");
    made.etag = text("_etag");
    if (auto const ts = taken("_ts"); !ts.is_null()) {
      auto const seconds = integer_from<std::int64_t>(ts);
      if (!seconds) {
        refuse("_ts", seconds.error().code, seconds.error().text);
      } else {
        made.changed_at = *seconds;
      }
    }
    if (auto kept = taken("properties"); !kept.is_null()) {
      if (!kept.is_object())
        refuse("properties", errc::malformed, "an object belongs there, not ", kept.type_name());
      made.properties = std::move(kept);
    }
    if (refusal_) return unexpected{*refusal_};
    made.others = std::move(rest_);
    return made;
  }

 private:
  template <class... Pieces>
  void refuse(std::string_view member, errc code, Pieces const&... pieces) {
    if (!refusal_)
      refusal_ = lease_refused(id_, code, "member \"", member, "\": ", pieces...).error();
  }
  nlohmann::json taken(std::string_view name) {
    auto const found = rest_.find(name);
    if (found == rest_.end()) return {};
    auto value = std::move(*found);
    rest_.erase(found);
    return value;
  }
  std::string text(std::string_view name) {
    auto const value = taken(name);
    if (value.is_null()) return {};
    if (auto const* const found = value.get_ptr<std::string const*>()) return *found;
    refuse(name, errc::malformed, "a text belongs there, not ", value.type_name());
    return {};
  }

  void read_version(lease_document& made) {
    auto const value = taken("version");
    made.version = lease_version::partition;
    if (value.is_null()) return;
    auto const number = integer_from<std::int64_t>(value);
    if (!number) {
      refuse("version", number.error().code, number.error().text);
    } else if (*number == 1) {
      made.version = lease_version::range;
    } else if (*number != 0) {
      refuse("version", errc::unsupported, "0 and 1 are read, this is ", *number);
    }
  }
  void read_token(lease_document& made) {
    std::string of_v2 = text("PartitionId");
    made.lease_token = text("LeaseToken");
    if (of_v2.empty()) return;
    if (made.lease_token.empty()) {
      made.naming = lease_naming::partition_id;
      made.lease_token = std::move(of_v2);
      return;
    }
    made.naming = lease_naming::both;
    if (made.lease_token != of_v2)
      refuse("PartitionId", errc::malformed, "it says ", inline_text<24>{of_v2},
             ", and LeaseToken ", inline_text<24>{made.lease_token});
  }
  void read_range(lease_document& made) {
    auto const feed_range = taken("FeedRange");
    if (!feed_range.is_null()) made.range = bounds_in(feed_range);
    if (made.version == lease_version::partition) {
      if (made.lease_token.empty())
        refuse("LeaseToken", errc::malformed, "it is missing, and PartitionId as well");
      return;
    }
    auto const told = range_of_lease_token(made.lease_token);
    if (!told) {
      refuse("LeaseToken", errc::malformed, "it is two bounds such as 05C1-0B81, not \"",
             inline_text<24>{made.lease_token}, "\"");
    } else if (!made.range) {
      made.range = *told;
    } else if (!is_same_hex(told->lower, made.range->lower) ||
               !is_same_hex(told->upper, made.range->upper)) {
      refuse("FeedRange", errc::malformed, "it is another range than LeaseToken says");
    }
  }
  // {"Range":{"min":"05C1","max":"0B81"}}
  std::optional<epk_range> bounds_in(nlohmann::json const& from) {
    auto const* const found = member_of(from, "Range");
    if (found == nullptr) {
      refuse("FeedRange", errc::unsupported, "a range of keys is read, which is a member Range");
      return std::nullopt;
    }
    auto const* const min = member_of(*found, "min");
    auto const* const max = member_of(*found, "max");
    auto const* const lower = min == nullptr ? nullptr : min->get_ptr<std::string const*>();
    auto const* const upper = max == nullptr ? nullptr : max->get_ptr<std::string const*>();
    if (lower == nullptr || upper == nullptr) {
      refuse("FeedRange", errc::malformed, "a range has the texts min and max");
      return std::nullopt;
    }
    if (is_flag(*found, "isMinInclusive", false) || is_flag(*found, "isMaxInclusive", true)) {
      refuse("FeedRange", errc::unsupported, "a range is [min, max) here");
      return std::nullopt;
    }
    return epk_range{*lower, *upper};
  }
  static nlohmann::json const* member_of(nlohmann::json const& from, std::string_view name) {
    if (!from.is_object()) return nullptr;
    auto const found = from.find(name);
    return found == from.end() || found->is_null() ? nullptr : &*found;
  }
  static bool is_flag(nlohmann::json const& from, std::string_view name, bool value) {
    auto const* const found = member_of(from, name);
    return found != nullptr && *found == nlohmann::json(value);
  }

  nlohmann::json rest_;
  std::string id_{};
  std::optional<error> refusal_{};
};

}  // namespace detail

inline result<lease_document> lease_document::from_json(nlohmann::json document) {
  return detail::lease_document_reader{std::move(document)}.read();
}

inline nlohmann::json lease_document::to_json() const {
  auto made = others;
  auto const text_or_null = [](std::string const& text) {
    return text.empty() ? nlohmann::json{} : nlohmann::json(text);
  };
  made["id"] = id;
  if (version == lease_version::range) made["version"] = 1;
  if (naming != lease_naming::partition_id) made["LeaseToken"] = lease_token;
  if (naming != lease_naming::lease_token) made["PartitionId"] = lease_token;
  if (range) {
    auto bounds = nlohmann::json::object();
    bounds["min"] = range->lower;
    bounds["max"] = range->upper;
    made["FeedRange"]["Range"] = std::move(bounds);
  }
  made["Owner"] = text_or_null(owner);
  made["ContinuationToken"] = text_or_null(continuation);
  made["properties"] = properties;
  if (!timestamp.empty()) made["timestamp"] = timestamp;
  if (!mode.empty()) made["Mode"] = mode;
  if (!etag.empty()) made["_etag"] = etag;
  if (changed_at) made["_ts"] = *changed_at;
  return made;
}

}  // namespace keyspan::cosmos
