// docs/example/cosmos_service_container.hpp — one container of the service: a `memory_container`,
// and what is asked of it in requests.
//
//   GET/POST        docs       lists, feeds of changes, documents that are new, batches
//   GET/PUT/DELETE  docs/ID    one document
//   GET             pkranges   its physical partitions
#pragma once

#include "cosmos_service_document.hpp"
#include "cosmos_service_wire.hpp"

#include <keyspan/core/base64.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/session_token.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cosmos_server {

using keyspan::any_token;
using range_type = keyspan::token_range<any_token>;
using partition_type = keyspan::partition<any_token>;

/// Where the documents of a container are, in the order of their tokens: lists go on behind any
/// place, whatever is written meanwhile.
class document_index {
 public:
  struct place {
    any_token token;
    std::uint64_t number;  // of the document; no two have the same

    friend auto operator<=>(place const&, place const&) = default;
  };
  using places = std::map<place, keyspan::item_id>;

  places const& all() const noexcept { return places_; }
  /// The number of the document of this name; 0 where there is none.
  std::uint64_t number_of(keyspan::partition_key const& key, std::string_view id) const {
    auto const found = by_name_.find(name_of(key, id));
    return found == by_name_.end() ? 0 : found->second.number;
  }
  void put(any_token const& token, document const& one) {
    auto name = name_of(one.key, one.id);
    erase(name);
    place const at{token, one.number};
    places_.emplace(at, keyspan::item_id{one.key, one.id});
    by_name_.emplace(std::move(name), at);
  }
  void erase(keyspan::partition_key const& key, std::string_view id) { erase(name_of(key, id)); }

 private:
  static std::string name_of(keyspan::partition_key const& key, std::string_view id) {
    return keyspan::to_key_json(key.values()).append("\n").append(id);
  }
  void erase(std::string const& name) {
    auto const found = by_name_.find(name);
    if (found == by_name_.end()) return;
    places_.erase(found->second);
    by_name_.erase(found);
  }

  places places_{};
  std::unordered_map<std::string, place> by_name_{};
};

/// How a container is made.
struct container_settings {
  keyspan::cosmos::container_properties properties{};
  std::string members{};  ///< of its definition, as they were written
  std::vector<std::uint32_t> rid{};
  std::string database_rid{};
  std::string etag{};
  std::size_t partitions = 1;
  std::uint64_t request_units = 0;
  std::uint64_t seed = 0;
  bool has_time_to_live = false;
  std::optional<std::chrono::milliseconds> time_to_live{};
  std::chrono::milliseconds keeps_versions{};
  std::function<keyspan::wall_time()> now{};
  std::shared_ptr<std::size_t> meter{};
  std::size_t most_bytes = 0;  ///< of all that the meter counts
  std::size_t largest_document = 0;
  std::size_t largest_page = 0;  ///< in bytes of documents, about
};

/// One container.
class served_container {
 public:
  using container_type = keyspan::memory_container<document>;

  explicit served_container(container_settings settings)
      : settings_{std::move(settings)},
        created_at_{settings_.now()},
        rid_{rid_of(settings_.rid)},
        owner_{settings_.rid, "dbs/" + settings_.database_rid + "/colls/" + rid_ + "/"},
        form_{settings_.properties.paths, settings_.has_time_to_live, settings_.meter},
        container_{settings_.properties.scheme, document_keys{form_.paths.size()},
                   options_of(settings_)} {
    for (auto const& path : form_.paths) {
      std::string name{path[0]};
      for (std::size_t i = 1; i < path.size(); ++i) name.append("/").append(path[i]);
      path_names_.push_back(std::move(name));
    }
  }

  std::string const& rid() const noexcept { return rid_; }
  container_type& documents() noexcept { return container_; }

  /// What the service says of the container itself.
  std::string to_text() const {
    std::string made{"{"};
    made.append(settings_.members).append(",\"_rid\":\"").append(rid_);
    made.append("\",\"_self\":\"").append(owner_.self).append("\",\"_etag\":");
    append_json(made, settings_.etag);
    made.append(",\"_ts\":").append(std::to_string(seconds_of(created_at_)));
    made.append(
        ",\"_docs\":\"docs/\",\"_sprocs\":\"sprocs/\",\"_triggers\":\"triggers/\","
        "\"_udfs\":\"udfs/\",\"_conflicts\":\"conflicts/\"}");
    return made;
  }
  response described(std::uint16_t status) const {
    response made = answered(status, to_text());
    made.headers.set("etag", settings_.etag);
    made.charge = 1;
    return made;
  }

  // ---- what is asked of docs, docs/ID and pkranges ---------------------------------------------

  response list_or_changes(request const& asked) {
    auto const mode = header(asked, "a-im");
    if (mode.empty()) return listed(asked);
    if (is_same_word(mode, "incremental feed"))
      return changes(asked, keyspan::feed_mode::latest_version);
    if (is_same_word(mode, "full-fidelity feed"))
      return changes(asked, keyspan::feed_mode::all_versions_and_deletes);
    return refused(400, "A-IM is Incremental Feed or Full-Fidelity Feed");
  }

  /// A POST to docs.
  response posted(request const& asked) {
    if (says_true(asked, "x-ms-cosmos-is-batch-request")) return batch(asked);
    bool const is_query = says_true(asked, "x-ms-documentdb-isquery") ||
                          header(asked, "content-type").find("query+json") != std::string::npos;
    if (is_query) return queried(asked);
    return write(
        asked,
        says_true(asked, "x-ms-documentdb-is-upsert") ? write_kind::upsert : write_kind::create,
        {});
  }

  response replace(request const& asked, std::string_view id) {
    return write(asked, write_kind::replace, id);
  }

  response read(request const& asked, std::string_view id) {
    auto const key = whole_key(asked);
    if (!key) return refused(key.error());
    auto const session = session_asked(asked);
    if (!session) return refused(session.error());
    auto const found = container_.read_item(*key, id, {.session_token = *session}).value;
    if (!found) return with_session(refused(found.error()), *key);
    auto const etag = found->item.etag();
    if (auto const known = header(asked, "if-none-match"); !known.empty() && known == etag.view())
      return about(answered(304), *found);
    return about(answered(200, text_of(found->item, owner_)), *found);
  }

  response remove(request const& asked, std::string_view id) {
    auto const key = whole_key(asked);
    if (!key) return refused(key.error());
    auto const gone = container_.remove(*key, id, {.if_match = etag_asked(asked)}).value;
    if (!gone) return with_session(refused(gone.error()), *key);
    index_.erase(*key, id);
    return about(answered(204), *gone);
  }

  response partitions(request const& asked) {
    std::string known{header(asked, "if-none-match")};
    if (!known.empty() && !known.starts_with('"')) known = '"' + known + '"';
    auto const list = container_.topology(known).value;
    if (!list) return refused(list.error());
    response made = answered(304);
    if (!list->not_modified) {
      made = answered(200, partitions_text(list->partitions, container_.partitions().size()));
      made.headers.set("x-ms-item-count", std::to_string(list->partitions.size()));
    }
    made.headers.set("etag", list->version);
    made.charge = 1;
    return made;
  }

  // ---- what no client asks: partitions that come and go ----------------------------------------

  /// Splits a partition, before a token where one is named.
  response split(std::string_view id, std::optional<std::string_view> at) {
    result<std::vector<std::string>> made = std::vector<std::string>{};
    if (at) {
      auto const token = container_.scheme().from_hex(*at);
      if (!token) return refused(token.error());
      made = container_.split(id, *token);
    } else {
      made = container_.split(id);
    }
    if (!made) return refused(made.error());
    return ranges_made(*made);
  }
  response merge(std::string_view one, std::string_view other) {
    auto made = container_.merge(one, other);
    if (!made) return refused(made.error());
    return ranges_made({*made});
  }
  /// Its partitions, and how many documents it has.
  response looked_at() {
    auto const all = container_.partitions();
    std::string body = partitions_text(all, all.size());
    body.pop_back();
    body.append(",\"documents\":").append(std::to_string(container_.size())).append("}");
    return answered(200, std::move(body));
  }

 private:
  enum class write_kind : std::uint8_t { create, upsert, replace };

  static keyspan::memory_options<document> options_of(container_settings const& from) {
    keyspan::memory_options<document> made;
    made.name = from.properties.id;
    made.partitions = from.partitions;
    made.seed = from.seed;
    made.now = from.now;
    made.size_of = [](document const& one) { return one.members.text().size(); };
    made.largest_document = from.largest_document;
    made.largest_batch = from.largest_document;
    made.time_to_live = from.time_to_live;
    if (from.has_time_to_live)
      made.time_to_live_of = [](document const& one) { return one.time_to_live; };
    if (from.keeps_versions.count() > 0) made.keeps_versions = from.keeps_versions;
    made.request_units = from.request_units;
    return made;
  }

  // ---- what stands in headers ------------------------------------------------------------------

  static keyspan::inline_text<64> etag_asked(request const& asked) {
    auto const text = header(asked, "if-match");
    return text == "*" ? keyspan::inline_text<64>{} : keyspan::inline_text<64>{text};
  }
  result<keyspan::partition_key> whole_key(request const& asked) const {
    auto const text = asked.headers.find("x-ms-documentdb-partitionkey");
    if (!text)
      return keyspan::fail(errc::bad_request, "the header x-ms-documentdb-partitionkey is missing");
    auto key = keyspan::read_key_json(*text);
    if (!key) return keyspan::unexpected{key.error()};
    if (key->size() != form_.paths.size())
      return keyspan::fail(errc::key_mismatch, "the partition key has ", key->size(),
                           " values, the container ", form_.paths.size(), " paths");
    return key;
  }
  // "0:-1#17,1:-1#4", as the container has it: "0:17,1:4".
  static result<std::string> session_asked(request const& asked) {
    auto left = header(asked, "x-ms-session-token");
    std::string made;
    while (!left.empty()) {
      auto const one = left.substr(0, left.find(','));
      left.remove_prefix((std::min)(left.size(), one.size() + 1));
      auto const colon = one.find(':');
      if (colon == one.npos || colon == 0)
        return keyspan::fail(errc::bad_request, "a session token is such as 0:-1#17");
      auto const seen = keyspan::cosmos::range_session::from_text(one.substr(colon + 1));
      if (!seen) return keyspan::unexpected{seen.error()};
      if (!made.empty()) made.push_back(',');
      made.append(one.substr(0, colon + 1));
      made.append(std::to_string((std::max)(seen->lsn, std::int64_t{0})));
    }
    return made;
  }
  static std::string session_text(std::string_view own) {
    auto const colon = own.find(':');
    return std::string{own.substr(0, colon + 1)}.append("-1#").append(own.substr(colon + 1));
  }
  static result<std::uint32_t> page_size_asked(request const& asked) {
    auto const text = asked.headers.find("x-ms-max-item-count");
    if (!text) return 100U;
    auto const count = number_in<std::int32_t>(*text);
    if (!count || *count == 0 || *count < -1)
      return keyspan::fail(errc::bad_request, "x-ms-max-item-count is a number, or -1");
    return *count == -1 ? 100U : (std::min)(static_cast<std::uint32_t>(*count), 1000U);
  }

  // ---- answers ---------------------------------------------------------------------------------

  static void say_partition(response& to, std::string_view partition,
                            std::string_view session_token) {
    to.headers.set("x-ms-documentdb-partitionkeyrangeid", partition);
    auto const colon = session_token.find(':');
    if (colon == session_token.npos) return;
    to.headers.set("x-ms-session-token", session_text(session_token));
    to.headers.set("lsn", session_token.substr(colon + 1));
  }
  response about(response made, keyspan::item_answer<document> const& done) const {
    made.charge = done.charge;
    if (made.status != 204) made.headers.set("etag", done.item.etag());
    say_partition(made, done.partition, done.session_token);
    return made;
  }
  // A refusal says as well how far the partition of the key has come.
  response with_session(response made, keyspan::partition_key const& key) {
    if (made.status != 404 && made.status != 409 && made.status != 412) return made;
    if (made.headers.find("x-ms-substatus")) return made;
    auto const token = keyspan::token_of(container_.scheme(), key);
    if (!token) return made;
    for (auto const& one : container_.partitions())
      if (one.range.contains(*token))
        if (auto const seen = page_from_now(one, {}))
          say_partition(made, one.id, seen->session_token);
    return made;
  }
  result<container_type::page_type> page_from_now(partition_type const& of,
                                                  std::string_view session) {
    keyspan::read_request how;
    how.partition = of.id;
    how.is_whole_partition = true;
    how.page_size = 1;
    how.session_token = session;
    return container_.read(of.range, keyspan::from_now, how).value;
  }
  std::string list_text(std::string_view name, std::string_view items, std::size_t count) const {
    std::string made{"{\"_rid\":\""};
    made.append(rid_).append("\",\"").append(name).append("\":[").append(items);
    made.append("],\"_count\":").append(std::to_string(count)).append("}");
    return made;
  }
  std::string partitions_text(std::vector<partition_type> const& list, std::size_t all) const {
    std::string items;
    for (auto const& one : list) {
      auto const number = number_in<std::uint32_t>(one.id).value_or(0);
      std::vector<std::uint32_t> parts{settings_.rid};
      parts.push_back(number);
      parts.push_back(0x50);  // what tells it from a document
      std::string const own = rid_of(parts);
      if (!items.empty()) items.push_back(',');
      items.append("{\"id\":\"").append(one.id).append("\",\"_rid\":\"").append(own);
      items.append("\",\"_self\":\"").append(owner_.self).append("pkranges/").append(own);
      items.append("/\",\"_etag\":\"\\\"").append(one.id).append("\\\"\",\"_ts\":");
      items.append(std::to_string(seconds_of(created_at_)));
      items.append(",\"minInclusive\":\"").append(one.range.lower().to_hex());
      items.append("\",\"maxExclusive\":\"").append(one.range.upper().to_hex());
      items.append("\",\"ridPrefix\":").append(std::to_string(number));
      items.append(",\"throughputFraction\":");
      append_number(items, 1.0 / static_cast<double>(all));
      items.append(",\"status\":\"online\",\"parents\":[");
      for (std::size_t i = 0; i < one.parents.size(); ++i)
        items.append(i == 0 ? "\"" : ",\"").append(one.parents[i]).append("\"");
      items.append("]}");
    }
    return list_text("PartitionKeyRanges", items, list.size());
  }
  static response ranges_made(std::vector<std::string> const& ids) {
    std::string body{"{\"ranges\":["};
    for (std::size_t i = 0; i < ids.size(); ++i)
      body.append(i == 0 ? "\"" : ",\"").append(ids[i]).append("\"");
    return answered(200, body.append("]}"));
  }

  // ---- writing ---------------------------------------------------------------------------------

  std::optional<response> no_room_for(std::size_t bytes) const {
    if (*settings_.meter + bytes <= settings_.most_bytes) return std::nullopt;
    return refused(507, "the server keeps no more bytes than it was told: delete something first");
  }
  // A document of a request, with its number.
  result<document> read_body(std::string_view body, bool is_new) {
    auto made = read_document(body, form_);
    if (!made) return made;
    auto const known = is_new ? 0 : index_.number_of(made->key, made->id);
    made->number = known != 0 ? known : ++last_number_;
    return made;
  }
  void remember(stored_document const& one) {
    auto const token = keyspan::token_of(container_.scheme(), one->key);
    if (token) index_.put(*token, *one);
  }

  response write(request const& asked, write_kind kind, std::string_view id) {
    auto const key = whole_key(asked);
    if (!key) return refused(key.error());
    if (auto refusal = no_room_for(asked.body.size())) return *std::move(refusal);
    auto read = read_body(asked.body, kind == write_kind::create);
    if (!read) return refused(read.error());
    if (read->key != *key)
      return refused(400,
                     "PartitionKey extracted from document doesn't match the one specified in the "
                     "header",
                     1001);
    if (kind == write_kind::replace && read->id != id)
      return refused(400, "the id of the document is not the one of the path");
    keyspan::write_options const options{.if_match = etag_asked(asked)};
    auto const done = kind == write_kind::create ? container_.create(*std::move(read)).value
                      : kind == write_kind::upsert
                          ? container_.upsert(*std::move(read), options).value
                          : container_.replace(*std::move(read), options).value;
    if (!done) return with_session(refused(done.error()), *key);
    remember(done->item);
    bool const is_silent = is_same_word(header(asked, "prefer"), "return=minimal");
    std::string body;
    if (!is_silent) body = text_of(done->item, owner_);
    return about(answered(done->status, std::move(body)), *done);
  }

  // ---- batches ---------------------------------------------------------------------------------

  struct operation {
    std::string kind{};
    std::string id{};
    std::string_view body{};
    std::string if_match{};
    std::string if_none_match{};
    std::optional<std::string> key{};  // where operations of several keys come together
  };
  static result<std::vector<operation>> read_operations(std::string_view body) {
    std::vector<operation> made;
    keyspan::json_reader in{body, document_options};
    in.begin_array();
    while (in.next_element()) {
      operation one;
      in.begin_object();
      for (std::string_view name; in.next_member(name);) {
        if (name == "operationType") {
          one.kind = in.string();
        } else if (name == "id") {
          one.id = in.string();
        } else if (name == "resourceBody") {
          one.body = in.skip();
        } else if (name == "ifMatch") {
          one.if_match = in.string();
        } else if (name == "ifNoneMatch") {
          one.if_none_match = in.string();
        } else if (name == "partitionKey") {
          one.key = in.string();
        } else {
          in.skip();
        }
      }
      made.push_back(std::move(one));
      if (made.size() > 1000) in.fail_here(error{errc::too_large, "too many operations"});
    }
    in.finish();
    if (!in.ok()) return keyspan::unexpected{in.error()};
    return made;
  }

  response batch(request const& asked) {
    if (auto refusal = no_room_for(asked.body.size())) return *std::move(refusal);
    auto const operations = read_operations(asked.body);
    if (!operations) return refused(operations.error());
    if (says_true(asked, "x-ms-cosmos-batch-atomic")) return done_together(asked, *operations);
    return done_apart(asked, *operations);
  }

  response done_together(request const& asked, std::vector<operation> const& operations) {
    auto const key = whole_key(asked);
    if (!key) return refused(key.error());
    keyspan::item_batch<document> work{*key};
    for (std::size_t i = 0; i < operations.size(); ++i) {
      auto const& one = operations[i];
      keyspan::write_options const options{.if_match = keyspan::inline_text<64>{one.if_match}};
      if (one.kind == "Read") {
        work.read(one.id);
      } else if (one.kind == "Delete") {
        work.remove(one.id, options);
      } else if (one.kind == "Create" || one.kind == "Upsert" || one.kind == "Replace") {
        auto read = read_body(one.body, one.kind == "Create");
        if (!read) return refused(in_operation(i, read.error()));
        if (one.kind == "Replace" && read->id != one.id)
          return refused(
              in_operation(i, error{errc::bad_request, "the id is not the one of the document"}));
        if (one.kind == "Create") {
          work.create(*std::move(read));
        } else if (one.kind == "Upsert") {
          work.upsert(*std::move(read), options);
        } else {
          work.replace(*std::move(read), options);
        }
      } else {
        return refused(
            in_operation(i, error{errc::bad_request,
                                  "operations are Create, Upsert, Read, Replace and Delete here"}));
      }
    }
    auto const done = container_.execute(work).value;
    if (!done) return refused(done.error());
    std::string body{"["};
    for (std::size_t i = 0; i < done->operations.size(); ++i) {
      if (i != 0) body.push_back(',');
      append_outcome(body, done->operations[i], operations[i], asked);
      if (done->is_done()) follow(done->operations[i], operations[i], *key);
    }
    response made = answered(done->is_done() ? 200 : 207, body.append("]"));
    made.charge = done->charge;
    if (done->is_done())
      say_partition(made, done->operations[0]->partition, done->operations[0]->session_token);
    return made;
  }
  // Each for itself, as bulk clients ask.
  response done_apart(request const& asked, std::vector<operation> const& operations) {
    std::string body{"["};
    double charge = 0;
    for (auto const& one : operations) {
      if (body.size() > 1) body.push_back(',');
      auto const done = done_alone(asked, one);
      charge += done ? done->charge : done.error().wire.charge;
      append_outcome(body, done, one, asked);
    }
    response made = answered(operations.empty() ? 400 : 207, body.append("]"));
    if (operations.empty()) return refused(400, "a batch has an operation at least");
    made.charge = charge;
    return made;
  }
  result<keyspan::item_answer<document>> done_alone(request const& asked, operation const& one) {
    request own{.headers = asked.headers};
    if (one.key) own.headers.set("x-ms-documentdb-partitionkey", *one.key);
    auto const key = whole_key(own);
    if (!key) return keyspan::unexpected{key.error()};
    keyspan::write_options const options{.if_match = keyspan::inline_text<64>{one.if_match}};
    if (one.kind == "Read") return container_.read_item(*key, one.id).value;
    if (one.kind == "Delete") {
      auto done = container_.remove(*key, one.id, options).value;
      if (done) follow(done, one, *key);
      return done;
    }
    if (one.kind != "Create" && one.kind != "Upsert" && one.kind != "Replace")
      return keyspan::fail(errc::bad_request,
                           "operations are Create, Upsert, Read, Replace and Delete here");
    auto read = read_body(one.body, one.kind == "Create");
    if (!read) return keyspan::unexpected{read.error()};
    if (read->key != *key)
      return keyspan::fail(errc::key_mismatch, "the document has another partition key");
    if (one.kind == "Replace" && read->id != one.id)
      return keyspan::fail(errc::bad_request, "the id is not the one of the document");
    auto done = one.kind == "Create"   ? container_.create(*std::move(read)).value
                : one.kind == "Upsert" ? container_.upsert(*std::move(read), options).value
                                       : container_.replace(*std::move(read), options).value;
    if (done) follow(done, one, *key);
    return done;
  }
  static error in_operation(std::size_t number, error const& why) {
    error made{why.code, "operation ", number, ": ", why.text};
    made.wire = why.wire;
    return made;
  }
  void follow(result<keyspan::item_answer<document>> const& done, operation const& one,
              keyspan::partition_key const& key) {
    if (one.kind == "Delete") {
      index_.erase(key, one.id);
    } else if (one.kind != "Read") {
      remember(done->item);
    }
  }
  void append_outcome(std::string& to, result<keyspan::item_answer<document>> const& done,
                      operation const& one, request const& asked) const {
    to.append("{\"statusCode\":");
    if (!done) {
      auto const& why = done.error();
      auto const status = status_of(why);
      to.append(std::to_string(status)).append(",\"subStatusCode\":");
      to.append(std::to_string(substatus_of(why))).append(",\"requestCharge\":");
      append_number(to, why.wire.charge);
      if (status == 429)
        to.append(",\"retryAfterMilliseconds\":").append(std::to_string(why.wire.retry_after_ms));
      to.push_back('}');
      return;
    }
    bool const is_read = one.kind == "Read";
    bool const is_known =
        is_read && !one.if_none_match.empty() && done->item.etag().view() == one.if_none_match;
    bool const is_silent = !is_read && is_same_word(header(asked, "prefer"), "return=minimal");
    to.append(std::to_string(is_known ? 304 : done->status));
    to.append(",\"subStatusCode\":0,\"requestCharge\":");
    append_number(to, done->charge);
    if (done->status != 204) {
      to.append(",\"eTag\":");
      append_json(to, done->item.etag());
      if (!is_known && !is_silent) {
        to.append(",\"resourceBody\":");
        append_document(to, done->item, owner_);
      }
    }
    to.push_back('}');
  }

  // ---- where a list or a feed is read ----------------------------------------------------------

  struct read_target {
    range_type range;                             // of what is asked for
    std::optional<keyspan::partition_key> key{};  // all of one
    std::vector<partition_type> partitions{};     // that have a part of it
    bool is_all = false;                          // nothing was said
  };
  result<read_target> target_of(request const& asked) const {
    auto const& scheme = container_.scheme();
    read_target made{.range = keyspan::whole_space(scheme)};
    auto all = container_.partitions();
    made.is_all = true;
    if (auto const text = asked.headers.find("x-ms-documentdb-partitionkey")) {
      made.is_all = false;
      auto key = keyspan::read_key_json(*text);
      if (!key) return keyspan::unexpected{key.error()};
      auto const paths = form_.paths.size();
      bool const is_prefix = key->size() < paths && !key->empty() &&
                             scheme.scheme() == keyspan::cosmos_scheme::multihash;
      if (key->size() != paths && !is_prefix)
        return keyspan::fail(errc::key_mismatch, "the partition key has ", key->size(),
                             " values, the container ", paths, " paths");
      if (is_prefix) {
        auto const bounds = scheme.prefix_bounds(key->values(), paths);
        if (!bounds) return keyspan::unexpected{bounds.error()};
        made.range = range_type{*bounds};
      } else {
        auto const token = keyspan::token_of(scheme, *key);
        if (!token) return keyspan::unexpected{token.error()};
        made.range = range_type{*token, scheme.successor(*token, paths)};
        made.key = *std::move(key);
      }
    }
    auto const lower = asked.headers.find("x-ms-start-epk");
    auto const upper = asked.headers.find("x-ms-end-epk");
    if (lower || upper) {
      made.is_all = false;
      if (made.key || made.range != keyspan::whole_space(scheme))
        return keyspan::fail(errc::bad_request,
                             "a partition key and a range of them exclude each other");
      if (!lower || !upper ||
          !is_same_word(header(asked, "x-ms-read-key-type"), "EffectivePartitionKeyRange"))
        return keyspan::fail(errc::bad_request,
                             "x-ms-start-epk, x-ms-end-epk and x-ms-read-key-type: "
                             "EffectivePartitionKeyRange go together");
      auto const range = keyspan::range_from_hex(scheme, *lower, *upper);
      if (!range) return keyspan::fail(errc::bad_request, range.error().text);
      made.range = *range;
    }
    std::string_view id = header(asked, "x-ms-documentdb-partitionkeyrangeid");
    if (!id.empty()) {
      made.is_all = false;
      if (auto const comma = id.find(','); comma != id.npos) {
        if (id.substr(0, comma) != rid_) return gone(1000, "the range is one of another container");
        id.remove_prefix(comma + 1);
      }
      std::erase_if(all, [&](auto const& one) { return one.id != id; });
      if (all.empty()) return gone(1002, "there is no such partition key range now");
      auto const part = keyspan::intersection(all[0].range, made.range);
      if (!part) return gone(1002, "the partition key range has nothing of what is asked for");
      made.range = *part;
    }
    std::erase_if(all, [&](auto const& one) { return !keyspan::overlaps(one.range, made.range); });
    made.partitions = std::move(all);
    return made;
  }
  static keyspan::unexpected gone(std::uint16_t substatus, std::string_view message) {
    error why{errc::range_gone, message};
    why.wire.status = 410;
    why.wire.substatus = substatus;
    return keyspan::unexpected{why};
  }

  // ---- lists -----------------------------------------------------------------------------------

  // Where a page ended, bound to the container.
  std::string continuation_at(document_index::place const& at) const {
    std::string plain = rid_;
    plain.append(":").append(at.token.to_hex()).append(":").append(std::to_string(at.number));
    std::string text(keyspan::base64_size(plain.size(), keyspan::base64_form::url), '\0');
    keyspan::encode_base64(std::span<char const>{plain}, std::span<char>{text},
                           keyspan::base64_form::url);
    return text;
  }
  result<document_index::place> place_of(std::string_view text) const {
    auto const refusal =
        keyspan::fail(errc::bad_request, "x-ms-continuation is none that this container has given");
    std::string plain(text.size(), '\0');
    auto const size = keyspan::decode_base64(text, std::span<char>{plain});
    if (!size) return refusal;
    std::string_view left{plain.data(), *size};
    auto const first = left.find(':');
    auto const last = left.rfind(':');
    if (first == left.npos || first == last || left.substr(0, first) != rid_) return refusal;
    auto const token = container_.scheme().from_hex(left.substr(first + 1, last - first - 1));
    auto const number = number_in<std::uint64_t>(left.substr(last + 1));
    if (!token || !number) return refusal;
    return document_index::place{*token, *number};
  }

  response listed(request const& asked) {
    auto const target = target_of(asked);
    if (!target) return refused(target.error());
    auto const most = page_size_asked(asked);
    if (!most) return refused(most.error());
    auto const session = session_asked(asked);
    if (!session) return refused(session.error());
    std::optional<document_index::place> behind;
    if (auto const text = header(asked, "x-ms-continuation"); !text.empty()) {
      auto const place = place_of(text);
      if (!place) return refused(place.error());
      behind = *place;
    }
    // How far each partition has come, and that it is far enough.
    std::string sessions;
    for (auto const& one : target->partitions) {
      auto const seen = page_from_now(one, *session);
      if (!seen) return refused(seen.error());
      if (!sessions.empty()) sessions.push_back(',');
      sessions.append(session_text(seen->session_token));
    }
    auto const& all = index_.all();
    document_index::place const first{target->range.lower(), 0};
    auto at = behind && !(*behind < first) ? all.upper_bound(*behind) : all.lower_bound(first);
    std::vector<keyspan::item_id> ids;
    std::vector<document_index::place> places;
    for (; at != all.end() && target->range.contains(at->first.token) && ids.size() < *most; ++at) {
      if (target->key && at->second.key != *target->key) continue;
      ids.push_back(at->second);
      places.push_back(at->first);
    }
    bool is_more = at != all.end() && target->range.contains(at->first.token);
    auto const found = container_.read_many(ids).value;
    if (!found) return refused(found.error());
    std::string items;
    std::size_t count = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto const& one = found->items[i];
      if (!one) {
        index_.erase(ids[i].key, ids[i].id);  // its time has come
      } else {
        if (!items.empty() && items.size() + one->members.text().size() > settings_.largest_page) {
          is_more = true;
          break;
        }
        if (count++ != 0) items.push_back(',');
        append_document(items, one, owner_);
      }
      last = i;
    }
    response made = answered(200, list_text("Documents", items, count));
    made.charge = found->charge;
    made.headers.set("x-ms-item-count", std::to_string(count));
    if (is_more) made.headers.set("x-ms-continuation", continuation_at(places[last]));
    if (!sessions.empty()) made.headers.set("x-ms-session-token", sessions);
    if (target->partitions.size() == 1)
      made.headers.set("x-ms-documentdb-partitionkeyrangeid", target->partitions[0].id);
    return made;
  }

  // The one query that needs no engine, as clients write it that read all.
  response queried(request const& asked) {
    std::string text;
    bool has_parameters = false;
    keyspan::json_reader in{asked.body, document_options};
    in.begin_object();
    for (std::string_view name; in.next_member(name);) {
      if (name == "query") {
        text = in.string();
      } else if (name == "parameters" && in.peek() == keyspan::json_kind::array) {
        in.begin_array();
        while (in.next_element()) {
          has_parameters = true;
          in.skip();
        }
      } else {
        in.skip();
      }
    }
    in.finish();
    if (!in.ok()) return refused(in.error());
    if (has_parameters || !asks_for_all(text) ||
        says_true(asked, "x-ms-cosmos-is-query-plan-request"))
      return refused(400,
                     "this server has no query engine: it answers \"SELECT * FROM c\" alone; read "
                     "documents by their ids, list them, or read their changes");
    return listed(asked);
  }
  static bool asks_for_all(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
      auto const begin = text.find_first_not_of(" \t\r\n");
      if (begin == text.npos) break;
      text.remove_prefix(begin);
      words.push_back(text.substr(0, text.find_first_of(" \t\r\n")));
      text.remove_prefix(words.back().size());
    }
    return words.size() == 4 && is_same_word(words[0], "select") && words[1] == "*" &&
           is_same_word(words[2], "from") &&
           std::all_of(words[3].begin(), words[3].end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
           });
  }

  // ---- changes ---------------------------------------------------------------------------------

  static result<keyspan::continuation> start_asked(request const& asked) {
    std::optional<keyspan::wall_time> since;
    if (auto const text = header(asked, "if-modified-since"); !text.empty()) {
      since = read_http_date(text);
      if (!since)
        return keyspan::fail(errc::bad_request,
                             "If-Modified-Since is a date such as Thu, 27 Apr 2017 00:51:12 GMT");
    }
    auto const known = header(asked, "if-none-match");
    if (known == "*") return keyspan::continuation{keyspan::from_now};
    std::string text{known};
    if (!text.empty() && !text.starts_with('"')) text = '"' + text + '"';
    if (text.empty())
      return since ? keyspan::continuation{keyspan::from_time{*since}} : keyspan::continuation{};
    return since ? keyspan::continuation{keyspan::from_time{*since}, std::move(text)}
                 : keyspan::continuation{std::move(text)};
  }

  response changes(request const& asked, keyspan::feed_mode mode) {
    bool const is_full = mode == keyspan::feed_mode::all_versions_and_deletes;
    if (is_full && header(asked, "x-ms-cosmos-changefeed-wire-format-version") != "2021-09-15")
      return refused(400,
                     "a full-fidelity feed is asked for with "
                     "x-ms-cosmos-changefeed-wire-format-version: 2021-09-15");
    auto const target = target_of(asked);
    if (!target) return refused(target.error());
    if (target->partitions.size() > 1) {
      if (!target->is_all)
        return refused(410, "the range is one of several partition key ranges now", 1002);
      return refused(400,
                     "the container has several partition key ranges: read the changes of each, by "
                     "x-ms-documentdb-partitionkeyrangeid");
    }
    auto const most = page_size_asked(asked);
    if (!most) return refused(most.error());
    auto const session = session_asked(asked);
    if (!session) return refused(session.error());
    auto const start = start_asked(asked);
    if (!start) return refused(start.error());
    auto const& own = target->partitions[0];
    range_type const& range = target->key ? own.range : target->range;
    keyspan::read_request how;
    how.partition = own.id;
    how.is_whole_partition = range == own.range;
    how.mode = mode;
    how.page_size = *most;
    how.key = target->key ? &*target->key : nullptr;
    how.session_token = *session;
    auto page = container_.read(range, *start, how).value;
    if (page)
      if (auto const fitting = items_that_fit(page->items); fitting < page->items.size()) {
        how.page_size = static_cast<std::uint32_t>(fitting);
        page = container_.read(range, *start, how).value;
      }
    if (!page) return refused(page.error());
    std::string items;
    for (auto const& one : page->items) {
      if (!items.empty()) items.push_back(',');
      if (is_full) {
        append_change(items, one, owner_, path_names_);
      } else {
        append_document(items, one.item, owner_, one.lsn);
      }
    }
    response made = answered(page->nothing_new ? 304 : 200);
    if (!page->nothing_new) made.body = list_text("Documents", items, page->items.size());
    made.headers.set("etag", page->continuation);
    made.headers.set("x-ms-item-count", std::to_string(page->items.size()));
    say_partition(made, own.id, page->session_token);
    made.charge = page->charge;
    return made;
  }
  std::size_t items_that_fit(std::vector<keyspan::change<document>> const& items) const {
    std::size_t bytes = 0;
    std::size_t count = 0;
    for (auto const& one : items) {
      bytes += one.item->members.text().size();
      if (one.before) bytes += one.before->members.text().size();
      if (count != 0 && bytes > settings_.largest_page) break;
      ++count;
    }
    return count;
  }

  container_settings settings_;
  keyspan::wall_time created_at_;
  std::string rid_;
  document_owner owner_;
  document_form form_;
  std::vector<std::string> path_names_{};
  document_index index_{};
  std::uint64_t last_number_ = 0;
  container_type container_;
};

}  // namespace cosmos_server
