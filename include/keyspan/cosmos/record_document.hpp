// keyspan/cosmos/record_document.hpp — a record of leases as a document that people, and tools for
// the processors of the SDKs, can read: what they know stands in their members, the record itself
// in a text beside.
//
//   {"id": "orders.lease.20-40", "LeaseToken": "20-40", "Owner": "host 3", …,
//    "properties": {"keyspan": "{\"keyspan\":1,\"lease\":…}", "keyspan_check": "41d07a6e3bc25f19"}}
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/lease_document.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/session_id.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace keyspan::cosmos {

/// How long the beginning of the ids of documents may be.
inline constexpr std::size_t longest_document_prefix = 700;

/// Which document has which record. By itself the id of a document is that of its record. In a
/// container of a processor of the SDKs documents begin as theirs do, and leases that say their
/// bounds have the ids that theirs have:
///
///   orders.lease.20-40   <->   shop.documents.azure.com_AbCd==_AbCdEf=..20-40
///   orders.layout        <->   shop.documents.azure.com_AbCd==_AbCdEf=.keyspan.orders.layout
class record_names {
 public:
  /// The same ids.
  record_names() = default;
  /// Documents that begin with `document_prefix`, and what the ids of the records begin with: the
  /// `lease_prefix` of the processors. Errors: `invalid_options`.
  [[nodiscard]] static result<record_names> from(std::string document_prefix,
                                                 std::string lease_prefix) {
    auto ids = lease_ids::from(std::move(lease_prefix));
    if (!ids) return unexpected{ids.error()};
    if (!document_prefix.empty() &&
        (document_prefix.size() > longest_document_prefix || !is_document_id(document_prefix)))
      return fail(errc::invalid_options, "document_prefix is the beginning of an id: up to ",
                  longest_document_prefix, " bytes without / \\ ? # and control characters");
    record_names made;
    made.prefix_ = std::move(document_prefix);
    made.leases_ = ids->leases();
    return made;
  }

  std::string const& document_prefix() const noexcept { return prefix_; }

  /// The document of a record. Requires that it is the id of one.
  std::string document_of(std::string_view record) const {
    if (prefix_.empty()) return std::string{record};
    if (says_bounds(record))
      return prefix_ + std::string{between} + std::string{record.substr(leases_.size())};
    return prefix_ + std::string{own} + std::string{record};
  }
  /// The record of a document; none where it is the document of no record.
  std::optional<std::string> record_of(std::string_view document) const {
    std::optional<std::string> made;
    if (prefix_.empty()) {
      made.emplace(document);
    } else if (!document.starts_with(prefix_)) {
      return std::nullopt;
    } else if (auto const rest = document.substr(prefix_.size()); rest.starts_with(own)) {
      made.emplace(rest.substr(own.size()));
      if (says_bounds(*made)) return std::nullopt;  // that one is called otherwise
    } else if (rest.starts_with(between)) {
      made.emplace(leases_).append(rest.substr(between.size()));
      if (!says_bounds(*made)) return std::nullopt;
    } else {
      return std::nullopt;
    }
    if (!is_record_id(*made)) return std::nullopt;
    return made;
  }
  /// Whether a document has the id of a lease of the processor whose container it is, be it one
  /// that this library has.
  bool is_lease_of_theirs(std::string_view document) const {
    return !prefix_.empty() && document.starts_with(prefix_) &&
           document.substr(prefix_.size()).starts_with(between);
  }

  friend bool operator==(record_names const&, record_names const&) = default;

 private:
  static constexpr std::string_view between = "..";
  static constexpr std::string_view own = ".keyspan.";

  bool says_bounds(std::string_view record) const {
    return record.starts_with(leases_) &&
           keyspan::detail::is_plain_lease(record.substr(leases_.size()));
  }

  std::string prefix_{};
  std::string leases_{"lease."};
};

namespace detail {

inline constexpr std::string_view record_member = "keyspan";
inline constexpr std::string_view check_member = "keyspan_check";

// What the processors of the SDKs go by, so that it shows when one of them has written: nothing
// where there is nothing to go by.
inline std::string check_of_lease(std::string_view owner, std::string_view continuation) {
  if (owner.empty() && continuation.empty()) return {};
  std::string text{owner};
  text.push_back('\0');
  text.append(continuation);
  return std::string{session_id{murmur3_128(text).h1}.to_text().view()};
}

using service_lease = lease_record<any_token>;

// How far a lease was read, where theirs say so: one place in one range.
inline std::string continuation_of(service_lease const& lease) {
  auto const& parts = lease.position.parts;
  if (parts.size() != 1 || parts[0].from.is_start()) return {};
  std::string text{parts[0].from.text()};
  if (!is_utf8(text)) text.clear();
  return text;
}
inline std::string owner_of(service_lease const& lease) {
  if (!lease.facts.owner) return {};
  if (!lease.owner_name.empty() && is_utf8(lease.owner_name)) return lease.owner_name;
  return std::string{lease.facts.owner.to_text().view()};
}
// What people look for beside: names that no processor of the SDKs has.
inline constexpr std::array state_members{"kind", "phase", "epoch", "paused", "attempts"};

template <class Record>
void say_state(nlohmann::json& members, Record const& lease) {
  for (auto const* const name : state_members) members.erase(name);
  members["kind"] = "lease";
  members["phase"] = std::string{name_of(lease.facts.phase)};
  members["epoch"] = lease.facts.epoch;
  if (!lease.paused.empty())
    members["paused"] = is_utf8(lease.paused) ? lease.paused : std::string{};
  bool const is_tried = lease.attempts.sequence == lease.facts.sequence;
  if (is_tried && lease.attempts.count != 0) members["attempts"] = lease.attempts.count;
}
inline lease_document document_of_lease(service_lease const& lease) {
  lease_document made;
  auto const& upper = lease.range.upper();
  epk_range bounds{std::string{lease.range.lower().to_hex().view()}, "FF"};
  if (!upper.is_space_end()) bounds.upper = upper.at().to_hex().view();
  made.lease_token = lease_token_of(bounds);
  made.range = std::move(bounds);
  made.owner = owner_of(lease);
  made.continuation = continuation_of(lease);
  made.mode = lease.position.mode == feed_mode::all_versions_and_deletes ? "Full-Fidelity Feed"
                                                                         : "Incremental Feed";
  say_state(made.others, lease);
  return made;
}

// What people see of a record that is no lease, or of one that cannot be read here.
inline nlohmann::json document_of_other(std::string_view body) {
  auto made = nlohmann::json::object();
  if (auto const member = member_record::from_text(body)) {
    made["kind"] = "member";
    made["phase"] = std::string{name_of(member->phase)};
    if (!member->name.empty() && is_utf8(member->name)) made["name"] = member->name;
  } else if (layout_record::from_text(body)) {
    made["kind"] = "layout";
  }
  return made;
}

}  // namespace detail

/// Puts a record into the document of a lease, and a check of the owner and the continuation that
/// stand there: who writes these later and not the check is somebody else.
inline void put_record(lease_document& into, std::string_view body) {
  into.properties[std::string{detail::record_member}] = std::string{body};
  auto check = detail::check_of_lease(into.owner, into.continuation);
  if (check.empty()) {
    into.properties.erase(std::string{detail::check_member});
  } else {
    into.properties[std::string{detail::check_member}] = std::move(check);
  }
}

/// A record as the text of a document. Where it is a lease of `scheme`, that of the container whose
/// changes are handled, the members of a lease of the SDKs say what it says; without a scheme only
/// the record itself is there. Errors: `invalid_utf8`.
[[nodiscard]] inline result<std::string> text_of_record(std::string_view document,
                                                        std::string_view body,
                                                        std::optional<any_scheme> const& scheme,
                                                        wall_time now) {
  std::optional<detail::service_lease> lease;
  if (scheme)
    if (auto read = detail::service_lease::from_text(*scheme, body)) lease = *std::move(read);
  nlohmann::json made;
  if (lease) {
    auto theirs = detail::document_of_lease(*lease);
    theirs.id = document;
    theirs.timestamp = time_text(now).view();
    put_record(theirs, body);
    made = theirs.to_json();
  } else {
    made = detail::document_of_other(body);
    made["id"] = std::string{document};
    made["timestamp"] = std::string{time_text(now).view()};
    made["properties"][std::string{detail::record_member}] = std::string{body};
  }
  return text_of(made);
}

/// What a document says of a record.
struct record_text {
  /// The record, as it was written; none where the document holds none.
  std::optional<std::string> body{};
  /// Whether it is a lease as the processors of the SDKs write it.
  bool is_lease = false;
  /// Who holds that lease.
  std::string owner{};
  /// Whether somebody has written it who does not know of the record.
  bool is_foreign = false;

  friend bool operator==(record_text const&, record_text const&) = default;
};

/// Reads the text of a document, whoever has written it. Errors: `malformed` for what is no JSON
/// object, or goes deeper than documents do.
[[nodiscard]] inline result<record_text> record_in(std::string_view document) {
  record_text made;
  std::string continuation;
  std::string check;
  bool has_other_kinds = false;  // members that are no texts, where texts belong
  json_reader in{document, detail::answer_with_documents};
  auto const read_text = [&](std::string& to) {
    if (in.peek() == json_kind::string) {
      to = in.string();
    } else {
      has_other_kinds = has_other_kinds || in.peek() != json_kind::null;
      in.skip();
    }
  };
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "Owner") {
      made.is_lease = true;
      read_text(made.owner);
    } else if (name == "ContinuationToken") {
      made.is_lease = true;
      read_text(continuation);
    } else if (name == "LeaseToken" || name == "PartitionId") {
      made.is_lease = true;
      in.skip();
    } else if (name == "properties" && in.peek() == json_kind::object) {
      in.begin_object();
      for (std::string_view property; in.next_member(property);) {
        if (property == detail::record_member && in.peek() == json_kind::string) {
          made.body.emplace(in.string());
        } else if (property == detail::check_member && in.peek() == json_kind::string) {
          check = in.string();
        } else {
          in.skip();
        }
      }
    } else {
      in.skip();
    }
  }
  in.finish();
  if (!in.ok()) return unexpected{in.error()};
  if (made.body && made.body->empty()) made.body.reset();
  made.is_foreign = made.is_lease && (!made.body || has_other_kinds ||
                                      check != detail::check_of_lease(made.owner, continuation));
  return made;
}

}  // namespace keyspan::cosmos
