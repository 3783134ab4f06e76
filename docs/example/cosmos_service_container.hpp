// docs/example/cosmos_service_container.hpp — one container of the service, and what is asked of
// it.
//
//   GET/POST        docs       lists, feeds of changes, documents that are new, batches
//   GET/PUT/DELETE  docs/ID    one document
//   GET             pkranges   its physical partitions
#pragma once

#include "cosmos_service_document.hpp"
#include "cosmos_service_reading.hpp"
#include "cosmos_service_store.hpp"
#include "cosmos_service_wire.hpp"
#include "cosmos_service_writing.hpp"

#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/transport/message.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cosmos_server {

/// One container.
class served_container {
 public:
  explicit served_container(container_settings settings) : store_{std::move(settings)} {}
  served_container(served_container const&) = delete;
  served_container& operator=(served_container const&) = delete;

  std::string const& rid() const noexcept { return store_.rid; }
  std::size_t partition_count() const { return store_.container.partitions().size(); }

  /// What the service says of the container itself.
  std::string to_text() const {
    std::string made{"{"};
    made.append(store_.settings.members).append(",\"_rid\":\"").append(store_.rid);
    made.append("\",\"_self\":\"").append(store_.owner.self).append("\",\"_etag\":");
    append_json(made, store_.settings.etag);
    made.append(",\"_ts\":").append(std::to_string(seconds_of(store_.created_at)));
    made.append(
        ",\"_docs\":\"docs/\",\"_sprocs\":\"sprocs/\",\"_triggers\":\"triggers/\","
        "\"_udfs\":\"udfs/\",\"_conflicts\":\"conflicts/\"}");
    return made;
  }
  response described(std::uint16_t status) const {
    response made = answered(status, to_text());
    made.headers.set("etag", store_.settings.etag);
    made.charge = 1;
    return made;
  }

  // ---- what is asked of docs, docs/ID and pkranges ---------------------------------------------

  response list_or_changes(request const& asked) {
    auto const mode = header(asked, "a-im");
    if (mode.empty()) return document_reading{store_}.listed(asked);
    if (is_same_word(mode, "incremental feed"))
      return document_reading{store_}.changes(asked, keyspan::feed_mode::latest_version);
    if (is_same_word(mode, "full-fidelity feed"))
      return document_reading{store_}.changes(asked, keyspan::feed_mode::all_versions_and_deletes);
    return refused(400, "A-IM is Incremental Feed or Full-Fidelity Feed");
  }

  /// A POST to docs.
  response posted(request const& asked) {
    if (says_true(asked, "x-ms-cosmos-is-batch-request"))
      return document_writing{store_}.batch(asked);
    bool const is_query = says_true(asked, "x-ms-documentdb-isquery") ||
                          header(asked, "content-type").find("query+json") != std::string::npos;
    if (is_query) return document_reading{store_}.queried(asked);
    return document_writing{store_}.write(
        asked,
        says_true(asked, "x-ms-documentdb-is-upsert") ? write_kind::upsert : write_kind::create,
        {});
  }

  response replace(request const& asked, std::string_view id) {
    return document_writing{store_}.write(asked, write_kind::replace, id);
  }

  response read(request const& asked, std::string_view id) {
    auto const key = store_.whole_key(asked);
    if (!key) return refused(key.error());
    auto const session = session_asked(asked);
    if (!session) return refused(session.error());
    auto const found = store_.container.read_item(*key, id, {.session_token = *session}).value;
    if (!found) return store_.with_session(refused(found.error()), *key);
    auto const etag = found->item.etag();
    if (auto const known = header(asked, "if-none-match"); !known.empty() && known == etag.view())
      return store_.about(answered(304), *found);
    return store_.about(answered(200, text_of(found->item, store_.owner)), *found);
  }

  response remove(request const& asked, std::string_view id) {
    auto const key = store_.whole_key(asked);
    if (!key) return refused(key.error());
    auto const gone = store_.container.remove(*key, id, {.if_match = etag_asked(asked)}).value;
    if (!gone) return store_.with_session(refused(gone.error()), *key);
    store_.index.erase(*key, id);
    return store_.about(answered(204), *gone);
  }

  response partitions(request const& asked) {
    std::string known{header(asked, "if-none-match")};
    if (!known.empty() && !known.starts_with('"')) known = '"' + known + '"';
    auto const list = store_.container.topology(known).value;
    if (!list) return refused(list.error());
    response made = answered(304);
    if (!list->not_modified) {
      made = answered(200, partitions_text(list->partitions, store_.container.partitions().size()));
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
      auto const token = store_.container.scheme().from_hex(*at);
      if (!token) return refused(token.error());
      made = store_.container.split(id, *token);
    } else {
      made = store_.container.split(id);
    }
    if (!made) return refused(made.error());
    return ranges_made(*made);
  }
  response merge(std::string_view one, std::string_view other) {
    auto made = store_.container.merge(one, other);
    if (!made) return refused(made.error());
    return ranges_made({*made});
  }
  /// Its partitions, and how many documents it has.
  response looked_at() {
    auto const all = store_.container.partitions();
    std::string body = partitions_text(all, all.size());
    body.pop_back();
    body.append(",\"documents\":").append(std::to_string(store_.container.size())).append("}");
    return answered(200, std::move(body));
  }

 private:
  std::string partitions_text(std::vector<partition_type> const& list, std::size_t all) const {
    std::string items;
    for (auto const& one : list) {
      auto const number = number_in<std::uint32_t>(one.id).value_or(0);
      std::vector<std::uint32_t> parts{store_.settings.rid};
      parts.push_back(number);
      parts.push_back(0x50);  // what tells it from a document
      std::string const own = rid_of(parts);
      if (!items.empty()) items.push_back(',');
      items.append("{\"id\":\"").append(one.id).append("\",\"_rid\":\"").append(own);
      items.append("\",\"_self\":\"").append(store_.owner.self).append("pkranges/").append(own);
      items.append("/\",\"_etag\":\"\\\"").append(one.id).append("\\\"\",\"_ts\":");
      items.append(std::to_string(seconds_of(store_.created_at)));
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
    return store_.list_text("PartitionKeyRanges", items, list.size());
  }
  static response ranges_made(std::vector<std::string> const& ids) {
    std::string body{"{\"ranges\":["};
    for (std::size_t i = 0; i < ids.size(); ++i)
      body.append(i == 0 ? "\"" : ",\"").append(ids[i]).append("\"");
    return answered(200, body.append("]}"));
  }

  container_store store_;
};

}  // namespace cosmos_server
