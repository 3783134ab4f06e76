// docs/example/cosmos_service_store.hpp — what a container of the service is made of: a
// `memory_container`, an index of where its documents are, and what its answers have in common.
#pragma once

#include "cosmos_service_document.hpp"
#include "cosmos_service_wire.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/session_token.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/memory_options.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/stored.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  std::shared_ptr<std::uint64_t> changes{};  ///< counts what changes
  std::size_t most_bytes = 0;                ///< of all that the meter counts
  std::size_t largest_document = 0;
  std::size_t largest_page = 0;  ///< in bytes of documents, about
};

// ---- what stands in headers --------------------------------------------------------------------

inline keyspan::inline_text<64> etag_asked(request const& asked) {
  auto const text = header(asked, "if-match");
  return text == "*" ? keyspan::inline_text<64>{} : keyspan::inline_text<64>{text};
}
/// "0:-1#17,1:-1#4", as the container has it: "0:17,1:4".
inline result<std::string> session_asked(request const& asked) {
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
/// "0:17", as clients have it.
inline std::string session_text(std::string_view own) {
  auto const colon = own.find(':');
  return std::string{own.substr(0, colon + 1)}.append("-1#").append(own.substr(colon + 1));
}
inline result<std::uint32_t> page_size_asked(request const& asked) {
  auto const text = asked.headers.find("x-ms-max-item-count");
  if (!text) return 100U;
  auto const count = number_in<std::int32_t>(*text);
  if (!count || *count == 0 || *count < -1)
    return keyspan::fail(errc::bad_request, "x-ms-max-item-count is a number, or -1");
  return *count == -1 ? 100U : (std::min)(static_cast<std::uint32_t>(*count), 1000U);
}

inline void say_partition(response& to, std::string_view partition,
                          std::string_view session_token) {
  to.headers.set("x-ms-documentdb-partitionkeyrangeid", partition);
  auto const colon = session_token.find(':');
  if (colon == session_token.npos) return;
  to.headers.set("x-ms-session-token", session_text(session_token));
  to.headers.set("lsn", session_token.substr(colon + 1));
}

/// A container, looked at by those who write and those who read.
struct container_store {
  using container_type = keyspan::memory_container<document>;

  explicit container_store(container_settings made)
      : settings{std::move(made)},
        created_at{settings.now()},
        rid{rid_of(settings.rid)},
        owner{settings.rid, "dbs/" + settings.database_rid + "/colls/" + rid + "/",
              names_of(settings.properties.paths)},
        form{settings.properties.paths, settings.has_time_to_live, settings.meter},
        container{settings.properties.scheme, document_keys{form.paths.size()},
                  options_of(settings)} {}

  result<keyspan::partition_key> whole_key(request const& asked) const {
    auto const text = asked.headers.find("x-ms-documentdb-partitionkey");
    if (!text)
      return keyspan::fail(errc::bad_request, "the header x-ms-documentdb-partitionkey is missing");
    auto key = keyspan::read_key_json(*text);
    if (!key) return keyspan::unexpected{key.error()};
    if (key->size() != form.paths.size())
      return keyspan::fail(errc::key_mismatch, "the partition key has ", key->size(),
                           " values, the container ", form.paths.size(), " paths");
    return key;
  }
  std::optional<response> no_room_for(std::size_t bytes) const {
    if (*settings.meter + bytes <= settings.most_bytes) return std::nullopt;
    return refused(507, "the server keeps no more bytes than it was told: delete something first");
  }
  // A document of a request, with its number.
  result<document> read_body(std::string_view body, bool is_new) {
    auto made = read_document(body, form);
    if (!made) return made;
    auto const known = is_new ? 0 : index.number_of(made->key, made->id);
    made->number = known != 0 ? known : ++last_number;
    return made;
  }
  /// Takes back the numbers of documents that were not stored after all: what was refused leaves
  /// nothing behind.
  class new_numbers {
   public:
    explicit new_numbers(container_store& of) : of_{of}, from_{of.last_number} {}
    new_numbers(new_numbers const&) = delete;
    new_numbers& operator=(new_numbers const&) = delete;
    ~new_numbers() {
      if (!are_kept_) of_.last_number = from_;
    }
    void keep() noexcept { are_kept_ = true; }

   private:
    container_store& of_;
    std::uint64_t from_;
    bool are_kept_ = false;
  };
  void remember(stored_document const& one) {
    auto const token = keyspan::token_of(container.scheme(), one->key);
    if (token) index.put(*token, *one);
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
    auto const token = keyspan::token_of(container.scheme(), key);
    if (!token) return made;
    for (auto const& one : container.partitions())
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
    return container.read(of.range, keyspan::from_now, how).value;
  }
  std::string list_text(std::string_view name, std::string_view items, std::size_t count) const {
    std::string made{"{\"_rid\":\""};
    made.append(rid).append("\",\"").append(name).append("\":[").append(items);
    made.append("],\"_count\":").append(std::to_string(count)).append("}");
    return made;
  }

  container_settings settings;
  keyspan::wall_time created_at;
  std::string rid;
  document_owner owner;
  document_form form;
  document_index index{};
  std::uint64_t last_number = 0;
  container_type container;

 private:
  static bool is_change(keyspan::event const& happened) {
    using kind = keyspan::event_kind;
    if (happened.kind == kind::failed) return false;
    if (happened.kind != kind::answered) return true;
    return happened.operation != "read" && happened.operation != "read_many" &&
           happened.operation != "feed";
  }
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
    // Where units are counted whoever reads leaves others than there were.
    made.on_event = [changes = from.changes,
                     is_metered = from.request_units != 0](keyspan::event const& happened) {
      if (is_metered || is_change(happened)) ++*changes;
    };
    return made;
  }
};

}  // namespace cosmos_server
