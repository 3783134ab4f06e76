// keyspan/cosmos/service_request.hpp — what can be asked of the service, as plain values.
//
//   create_document  upsert_document  replace_document  remove_document  read_document
//   execute_batch  query_documents  read_documents  read_changes  read_partitions  read_container
//   create_database  remove_database  create_container  remove_container
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/key_path.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace keyspan::cosmos {

/// A request, and what its signature is about.
struct service_request {
  request message{};
  resource about = resource::account;
  std::string link{};

  friend bool operator==(service_request const&, service_request const&) = default;
};

/// What is said beside a question about one document.
struct document_options {
  /// What the answer is to show at least: `session_tokens::token_for`.
  std::string_view session_token{};
  /// A write: only where the document still has this etag.
  std::string_view if_match{};
  /// A read: only where it has another one, `304` else.
  std::string_view if_none_match{};
};

/// A part of the space of effective partition keys, in hexadecimal: `[lower, upper)`.
struct epk_range {
  std::string lower{};
  std::string upper{};

  friend bool operator==(epk_range const&, epk_range const&) = default;
};

/// Whose documents a page is to have: those of one key, or of a physical partition, of all of it or
/// of a part.
struct page_target {
  partition_key const* key = nullptr;
  std::string_view partition{};
  std::optional<epk_range> part{};
  /// Of this container and no other one that has its name by now: its `resource_id`. Empty for
  /// whichever has it.
  std::string_view container{};
};

/// What is said beside a question for a page.
struct page_options {
  /// How many documents at most; 0 leaves it to the service.
  std::uint32_t most = 0;
  /// What the page before has said in `x-ms-continuation`; empty for the first one.
  std::string_view continuation{};
  std::string_view session_token{};
};

/// What is said of a new container beside its paths.
struct container_settings {
  /// None: `cosmos_v2` for one path, and a hierarchy, `cosmos_multihash`, for several.
  std::optional<any_scheme> scheme{};
  /// How many request units a second it serves; 0 leaves it to the service.
  std::uint32_t request_units = 0;
  /// How long documents live after they were written last, in whole seconds; for ever where it is
  /// none.
  std::optional<std::chrono::seconds> time_to_live{};
  /// How long feeds of all versions can go back; none where nothing is said.
  std::optional<std::chrono::minutes> keeps_versions{};
};

namespace detail {

inline constexpr std::string_view api_version = "2020-07-15";
inline constexpr std::string_view changes_version = "2021-09-15";

inline service_request asked(std::string_view method, std::string target, resource about,
                             std::string link, request_kind kind) {
  service_request made;
  made.message.method = method;
  made.message.target = std::move(target);
  made.message.kind = kind;
  made.message.headers.add("accept", "application/json");
  made.message.headers.add("x-ms-version", api_version);
  // That partitions may be merged is nothing new to this client.
  made.message.headers.add("x-ms-cosmos-sdk-supportedcapabilities", "1");
  made.about = about;
  made.link = std::move(link);
  return made;
}
inline void add_if(request& to, std::string_view name, std::string_view value) {
  if (!value.empty()) to.headers.add(name, value);
}
inline void add_key(request& to, partition_key const& key) {
  to.headers.add("x-ms-documentdb-partitionkey", to_key_json(key.values()));
}
inline void add_body(request& to, std::string body, std::string_view type = "application/json") {
  to.headers.add("content-type", type);
  to.body = std::move(body);
}
inline void add_target(request& to, page_target const& at) {
  expects(at.key == nullptr || !at.part, "a key lies in one place, and is no part of a range");
  if (at.key != nullptr) add_key(to, *at.key);
  add_if(to, "x-ms-documentdb-partitionkeyrangeid", at.partition);
  add_if(to, "x-ms-cosmos-intended-collection-rid", at.container);
  if (!at.part) return;
  // The three go together.
  to.headers.add("x-ms-read-key-type", "EffectivePartitionKeyRange");
  to.headers.add("x-ms-start-epk", at.part->lower);
  to.headers.add("x-ms-end-epk", at.part->upper);
}
// Nothing was changed before the first of these, and nothing will be behind the last one.
inline wall_time told_moment(wall_time at) {
  constexpr wall_time first{};
  constexpr wall_time last{std::chrono::sys_days{std::chrono::year{9999} / 12 / 31}};
  return std::clamp(at, first, last);
}
inline void add_page(request& to, page_options const& how) {
  to.headers.add("x-ms-max-item-count", how.most == 0 ? "-1" : std::to_string(how.most));
  add_if(to, "x-ms-continuation", how.continuation);
  add_if(to, "x-ms-session-token", how.session_token);
}

// What a new container is described by.
inline std::string definition_text(container_address const& what, key_paths const& paths,
                                   container_settings const& how) {
  std::string text;
  json_writer out{text};
  out.begin_object().name("id").string(what.container());
  out.name("partitionKey").begin_object().name("paths").begin_array();
  for (key_path const& path : paths) out.string(path.to_text());
  auto const scheme = how.scheme         ? how.scheme->scheme()
                      : paths.size() > 1 ? cosmos_scheme::multihash
                                         : cosmos_scheme::v2;
  out.end_array().name("kind").string(scheme == cosmos_scheme::multihash ? "MultiHash" : "Hash");
  out.name("version").integer(scheme == cosmos_scheme::v1 ? 1 : 2).end_object();
  if (how.time_to_live) out.name("defaultTtl").integer(how.time_to_live->count());
  if (how.keeps_versions) {
    out.name("changeFeedPolicy").begin_object().name("retentionDuration");
    out.integer(how.keeps_versions->count()).end_object();
  }
  out.end_object();
  return text;
}

inline service_request write_of(container_address const& to, std::string_view method,
                                std::string_view id, partition_key const& key,
                                document_options const& how, request_kind kind) {
  bool const is_new = id.empty();
  auto made = asked(method, is_new ? to.path() + "/docs" : to.path(id), resource::document,
                    is_new ? to.link() : to.link(id), kind);
  add_key(made.message, key);
  add_if(made.message, "if-match", how.if_match);
  add_if(made.message, "x-ms-session-token", how.session_token);
  return made;
}

}  // namespace detail

// ---- one document ------------------------------------------------------------------------------

/// `body` is the document's JSON; the key is its own.
[[nodiscard]] inline service_request create_document(container_address const& to,
                                                     partition_key const& key, std::string body,
                                                     document_options how = {}) {
  auto made = detail::write_of(to, "POST", {}, key, how, request_kind::write);
  detail::add_body(made.message, std::move(body));
  return made;
}
[[nodiscard]] inline service_request upsert_document(container_address const& to,
                                                     partition_key const& key, std::string body,
                                                     document_options how = {}) {
  // With an etag the second one would fail, though the first was done.
  auto const kind = how.if_match.empty() ? request_kind::repeatable_write : request_kind::write;
  auto made = detail::write_of(to, "POST", {}, key, how, kind);
  made.message.headers.add("x-ms-documentdb-is-upsert", "True");
  detail::add_body(made.message, std::move(body));
  return made;
}
[[nodiscard]] inline service_request replace_document(container_address const& to,
                                                      partition_key const& key, std::string_view id,
                                                      std::string body, document_options how = {}) {
  auto const kind = how.if_match.empty() ? request_kind::repeatable_write : request_kind::write;
  auto made = detail::write_of(to, "PUT", id, key, how, kind);
  detail::add_body(made.message, std::move(body));
  return made;
}
[[nodiscard]] inline service_request remove_document(container_address const& to,
                                                     partition_key const& key, std::string_view id,
                                                     document_options how = {}) {
  return detail::write_of(to, "DELETE", id, key, how, request_kind::write);
}
[[nodiscard]] inline service_request read_document(container_address const& from,
                                                   partition_key const& key, std::string_view id,
                                                   document_options how = {}) {
  auto made =
      detail::asked("GET", from.path(id), resource::document, from.link(id), request_kind::read);
  detail::add_key(made.message, key);
  detail::add_if(made.message, "if-none-match", how.if_none_match);
  detail::add_if(made.message, "x-ms-session-token", how.session_token);
  return made;
}

// ---- many documents ----------------------------------------------------------------------------

/// `body` is a JSON array of operations on documents of one key: all of them are done, or none.
[[nodiscard]] inline service_request execute_batch(container_address const& to,
                                                   partition_key const& key, std::string body,
                                                   document_options how = {}) {
  auto made = detail::write_of(to, "POST", {}, key, how, request_kind::write);
  made.message.headers.add("x-ms-cosmos-is-batch-request", "True");
  made.message.headers.add("x-ms-cosmos-batch-atomic", "True");
  made.message.headers.add("x-ms-cosmos-batch-ordered", "True");
  detail::add_body(made.message, std::move(body));
  return made;
}
/// A page of what a query finds; `body` is its JSON: `{"query":"select …","parameters":[…]}`.
[[nodiscard]] inline service_request query_documents(container_address const& in,
                                                     page_target const& at, std::string body,
                                                     page_options how = {}) {
  auto made =
      detail::asked("POST", in.path() + "/docs", resource::document, in.link(), request_kind::read);
  made.message.headers.add("x-ms-documentdb-isquery", "True");
  if (at.key == nullptr)
    made.message.headers.add("x-ms-documentdb-query-enablecrosspartition", "True");
  detail::add_target(made.message, at);
  detail::add_page(made.message, how);
  detail::add_body(made.message, std::move(body), "application/query+json");
  return made;
}
/// A page of all documents, as they are now.
[[nodiscard]] inline service_request read_documents(container_address const& from,
                                                    page_target const& at, page_options how = {}) {
  auto made = detail::asked("GET", from.path() + "/docs", resource::document, from.link(),
                            request_kind::read);
  detail::add_target(made.message, at);
  detail::add_page(made.message, how);
  return made;
}

/// A page of what has changed. Requires a mode that the service can begin there: all versions are
/// told from now on, or from where one was.
[[nodiscard]] inline service_request read_changes(container_address const& from,
                                                  page_target const& at, continuation const& behind,
                                                  feed_mode mode, page_options how = {}) {
  bool const is_full = mode == feed_mode::all_versions_and_deletes;
  expects(!is_full || !behind.is_start() || behind.start() == start_kind::now,
          "all versions are told from now on, or from where one was");
  auto made = detail::asked("GET", from.path() + "/docs", resource::document, from.link(),
                            request_kind::read);
  auto& headers = made.message.headers;
  headers.add("a-im", is_full ? "Full-Fidelity Feed" : "Incremental Feed");
  if (is_full) headers.add("x-ms-cosmos-changefeed-wire-format-version", detail::changes_version);
  // The moment goes along with every page: behind a merge the log is no longer in its order.
  if (behind.start() == start_kind::time)
    headers.add("if-modified-since", http_date(detail::told_moment(behind.time())));
  if (!behind.is_start()) {
    headers.add("if-none-match", behind.text());
  } else if (behind.start() == start_kind::now) {
    headers.add("if-none-match", "*");
  }
  detail::add_target(made.message, at);
  detail::add_page(made.message, how);
  return made;
}

// ---- what there is -----------------------------------------------------------------------------

/// The account: its regions, and how consistent reads are.
[[nodiscard]] inline service_request read_account() {
  return detail::asked("GET", "/", resource::account, {}, request_kind::read);
}
/// Makes a database. Requires what `is_name` says.
[[nodiscard]] inline service_request create_database(std::string_view id) {
  expects(is_name(id), "a database has a name that it may have");
  auto made = detail::asked("POST", "/dbs", resource::database, {}, request_kind::write);
  std::string text;
  json_writer out{text};
  out.begin_object().name("id").string(id).end_object();
  detail::add_body(made.message, std::move(text));
  return made;
}
/// Takes a database away with all that is in it. Requires what `is_name` says.
[[nodiscard]] inline service_request remove_database(std::string_view id) {
  expects(is_name(id), "a database has a name that it may have");
  return detail::asked("DELETE", "/dbs/" + percent_encoded(id), resource::database,
                       "dbs/" + std::string{id}, request_kind::write);
}
/// Makes a container whose documents have their keys at these paths.
[[nodiscard]] inline service_request create_container(container_address const& what,
                                                      key_paths const& paths,
                                                      container_settings how = {}) {
  auto made = detail::asked("POST", "/dbs/" + percent_encoded(what.database()) + "/colls",
                            resource::container, "dbs/" + what.database(), request_kind::write);
  if (how.request_units != 0)
    made.message.headers.add("x-ms-offer-throughput", std::to_string(how.request_units));
  detail::add_body(made.message, detail::definition_text(what, paths, how));
  return made;
}
/// Takes a container away.
[[nodiscard]] inline service_request remove_container(container_address const& what) {
  return detail::asked("DELETE", what.path(), resource::container, what.link(),
                       request_kind::write);
}
/// A container: its id, its definition of keys.
[[nodiscard]] inline service_request read_container(container_address const& of) {
  return detail::asked("GET", of.path(), resource::container, of.link(), request_kind::read);
}
/// A page of its physical partitions: those that are new since this etag, all for none.
[[nodiscard]] inline service_request read_partitions(container_address const& of,
                                                     std::string_view etag = {}) {
  auto made = detail::asked("GET", of.path() + "/pkranges", resource::partition_range, of.link(),
                            request_kind::read);
  made.message.headers.add("a-im", "Incremental Feed");
  made.message.headers.add("x-ms-max-item-count", "-1");
  detail::add_if(made.message, "if-none-match", etag);
  return made;
}

}  // namespace keyspan::cosmos
