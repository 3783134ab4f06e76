// docs/example/cosmos_service_reading.hpp — requests that read many documents: lists, the one
// query, and changes.
#pragma once

#include "cosmos_service_document.hpp"
#include "cosmos_service_store.hpp"
#include "cosmos_service_wire.hpp"

#include <keyspan/core/base64.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cosmos_server {

/// Whether a query asks for all documents as they are: "SELECT * FROM c".
inline bool asks_for_all(std::string_view text) {
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

/// Where a feed of changes begins.
inline result<keyspan::continuation> start_asked(request const& asked) {
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

/// Reads documents as requests ask.
class document_reading {
 public:
  explicit document_reading(container_store& store) : store_{store} {}

  /// A page of documents.
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
      auto const seen = store_.page_from_now(one, *session);
      if (!seen) return refused(seen.error());
      if (!sessions.empty()) sessions.push_back(',');
      sessions.append(session_text(seen->session_token));
    }
    auto const& all = store_.index.all();
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
    auto const found = store_.container.read_many(ids).value;
    if (!found) return refused(found.error());
    std::string items;
    std::size_t count = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto const& one = found->items[i];
      if (!one) {
        store_.index.erase(ids[i].key, ids[i].id);  // its time has come
        ++*store_.settings.changes;
      } else {
        if (!items.empty() &&
            items.size() + one->members.text().size() > store_.settings.largest_page) {
          is_more = true;
          break;
        }
        if (count++ != 0) items.push_back(',');
        append_document(items, one, store_.owner);
      }
      last = i;
    }
    response made = answered(200, store_.list_text("Documents", items, count));
    made.charge = found->charge;
    made.headers.set("x-ms-item-count", std::to_string(count));
    if (is_more) made.headers.set("x-ms-continuation", continuation_at(places[last]));
    if (!sessions.empty()) made.headers.set("x-ms-session-token", sessions);
    if (target->partitions.size() == 1)
      made.headers.set("x-ms-documentdb-partitionkeyrangeid", target->partitions[0].id);
    return made;
  }

  /// The one query that needs no engine, as clients write it that read all.
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

  /// A page of changes.
  response changes(request const& asked, keyspan::feed_mode mode) {
    bool const is_full = mode == keyspan::feed_mode::all_versions_and_deletes;
    if (is_full && header(asked, "x-ms-cosmos-changefeed-wire-format-version") != "2021-09-15")
      return refused(400,
                     "a full-fidelity feed is asked for with "
                     "x-ms-cosmos-changefeed-wire-format-version: 2021-09-15");
    auto const target = target_of(asked);
    if (!target) return refused(target.error());
    if (target->partitions.size() > 1) {
      if (target->is_prefix)
        return refused(400,
                       "the keys of this prefix are in several partition key ranges: read the "
                       "changes of each, by x-ms-start-epk and x-ms-end-epk");
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
    auto page = store_.container.read(range, *start, how).value;
    if (page)
      if (auto const fitting = items_that_fit(page->items); fitting < page->items.size()) {
        how.page_size = static_cast<std::uint32_t>(fitting);
        page = store_.container.read(range, *start, how).value;
      }
    if (!page) return refused(page.error());
    std::string items;
    for (auto const& one : page->items) {
      if (!items.empty()) items.push_back(',');
      if (is_full) {
        append_change(items, one, store_.owner);
      } else {
        append_document(items, one.item, store_.owner, one.lsn);
      }
    }
    response made = answered(page->nothing_new ? 304 : 200);
    if (!page->nothing_new) made.body = store_.list_text("Documents", items, page->items.size());
    made.headers.set("etag", page->continuation);
    made.headers.set("x-ms-item-count", std::to_string(page->items.size()));
    say_partition(made, own.id, page->session_token);
    made.charge = page->charge;
    return made;
  }

 private:
  struct read_target {
    range_type range;                             // of what is asked for
    std::optional<keyspan::partition_key> key{};  // all of one
    std::vector<partition_type> partitions{};     // that have a part of it
    bool is_all = false;                          // nothing was said
    bool is_prefix = false;                       // of a hierarchical key
  };
  result<read_target> target_of(request const& asked) const {
    auto const& scheme = store_.container.scheme();
    read_target made{.range = keyspan::whole_space(scheme)};
    auto all = store_.container.partitions();
    made.is_all = true;
    if (auto const text = asked.headers.find("x-ms-documentdb-partitionkey")) {
      made.is_all = false;
      auto key = keyspan::read_key_json(*text);
      if (!key) return keyspan::unexpected{key.error()};
      auto const paths = store_.form.paths.size();
      bool const is_prefix = key->size() < paths && !key->empty() &&
                             scheme.scheme() == keyspan::cosmos_scheme::multihash;
      if (key->size() != paths && !is_prefix)
        return keyspan::fail(errc::key_mismatch, "the partition key has ", key->size(),
                             " values, the container ", paths, " paths");
      if (is_prefix) {
        auto const bounds = scheme.prefix_bounds(key->values(), paths);
        if (!bounds) return keyspan::unexpected{bounds.error()};
        made.range = range_type{*bounds};
        made.is_prefix = true;
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
        if (id.substr(0, comma) != store_.rid)
          return gone(1000, "the range is one of another container");
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

  // Where a page ended, bound to the container.
  std::string continuation_at(document_index::place const& at) const {
    std::string plain = store_.rid;
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
    if (first == left.npos || first == last || left.substr(0, first) != store_.rid) return refusal;
    auto const token = store_.container.scheme().from_hex(left.substr(first + 1, last - first - 1));
    auto const number = number_in<std::uint64_t>(left.substr(last + 1));
    if (!token || !number) return refusal;
    return document_index::place{*token, *number};
  }

  std::size_t items_that_fit(std::vector<keyspan::change<document>> const& items) const {
    std::size_t bytes = 0;
    std::size_t count = 0;
    for (auto const& one : items) {
      bytes += one.item->members.text().size();
      if (one.before) bytes += one.before->members.text().size();
      if (count != 0 && bytes > store_.settings.largest_page) break;
      ++count;
    }
    return count;
  }

  container_store& store_;
};

}  // namespace cosmos_server
