// docs/example/cosmos_service_document.hpp — a document as the server keeps it: its own text,
// number for number as it was written, and beside it what the service has to know of it.
#pragma once

#include "cosmos_service_wire.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/key_path.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/stored.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cosmos_server {

/// A text whose bytes are counted while it is there, wherever it is kept: as the newest version of
/// a document, as one that a feed still tells, or as one that is swept out later.
class metered_text {
 public:
  /// What a document takes beside its text, about.
  static constexpr std::size_t overhead = 768;

  metered_text() = default;
  metered_text(std::string text, std::shared_ptr<std::size_t> meter)
      : text_{std::move(text)}, meter_{std::move(meter)} {
    count();
  }
  metered_text(metered_text const& other) : text_{other.text_}, meter_{other.meter_} { count(); }
  metered_text(metered_text&& other) noexcept
      : text_{std::move(other.text_)}, meter_{std::move(other.meter_)}, counted_{other.counted_} {
    other.meter_ = nullptr;
    other.counted_ = 0;
  }
  metered_text& operator=(metered_text other) noexcept {
    text_.swap(other.text_);
    meter_.swap(other.meter_);
    std::swap(counted_, other.counted_);
    return *this;
  }
  ~metered_text() {
    if (meter_) *meter_ -= counted_;
  }

  std::string const& text() const noexcept { return text_; }

 private:
  void count() {
    if (!meter_) return;
    counted_ = text_.size() + overhead;
    *meter_ += counted_;
  }

  std::string text_{};
  std::shared_ptr<std::size_t> meter_{};
  std::size_t counted_ = 0;
};

/// What is stored.
struct document {
  metered_text members{};  ///< without braces, and without what the service writes
  std::string id{};
  keyspan::partition_key key{};
  /// How long it lives, where it says so itself; for ever is the largest there is.
  std::optional<std::chrono::milliseconds> time_to_live{};
  std::uint64_t number = 0;  ///< of its resource id, another one when it is created anew
};

/// Where a `memory_container` finds the two keys of a document: they were read once.
struct document_keys {
  std::size_t paths = 0;

  std::size_t path_count() const noexcept { return paths; }
  result<keyspan::partition_key_view> key(document const& one) const {
    return keyspan::partition_key_view{one.key};
  }
  result<keyspan::key_value> row_key(document const& one) const {
    return keyspan::key_value{one.id};
  }
};

using stored_document = keyspan::stored<document>;

// ---- reading -----------------------------------------------------------------------------------

inline constexpr keyspan::json_reader_options document_options{.max_depth = 128,
                                                               .max_names = 65'536};

/// Whether an item may be called so.
inline bool is_item_id(std::string_view id) {
  if (id.empty() || id.size() > 1023 || id.back() == ' ') return false;
  return std::none_of(id.begin(), id.end(), [](char c) {
    auto const byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F || c == '/' || c == '\\' || c == '?' || c == '#';
  });
}

/// An object's members, each as it was written, without braces and without those that are left
/// out. The reader stands before the object, and behind it then.
template <class IsLeftOut, class Look>
std::string members_of(keyspan::json_reader& in, IsLeftOut is_left_out, Look look) {
  std::string made;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (is_left_out(name)) {
      in.skip();
      continue;
    }
    if (!made.empty()) made.push_back(',');
    append_json(made, name);
    made.push_back(':');
    std::string const known{name};  // reading on may overwrite it
    auto const kind = in.peek();
    std::string_view const value = in.skip();
    made.append(value);
    if (in.ok()) look(known, kind, value);
  }
  return made;
}

/// The value at the end of a path, from its name `depth` on; `undefined` where it leads nowhere.
/// It lives as long as the text.
inline result<keyspan::partition_key> value_at(std::string_view json, keyspan::key_path const& path,
                                               std::size_t depth = 0) {
  keyspan::json_reader in{json, document_options};
  if (depth == path.size()) {
    auto const value = keyspan::read_key_value(in);
    // {} says undefined in a key, and is an object here.
    if (in.ok() && value.is_undefined())
      return keyspan::fail(errc::not_a_key, "an object is no key value");
    if (!in.ok()) return keyspan::unexpected{in.error()};
    return keyspan::partition_key{value};
  }
  if (in.peek() != keyspan::json_kind::object) return keyspan::partition_key{keyspan::undefined};
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    bool const is_it = name == path[depth];
    std::string_view const value = in.skip();
    if (is_it) return value_at(value, path, depth + 1);
  }
  return keyspan::partition_key{keyspan::undefined};
}

/// The key of a document at these paths.
inline result<keyspan::partition_key> key_of(std::string_view json,
                                             keyspan::key_paths const& paths) {
  std::vector<keyspan::partition_key> found;
  for (auto const& path : paths) {
    auto one = value_at(json, path);
    if (!one)
      return keyspan::fail(one.error().code, "the partition key at ", path.to_text(), ": ",
                           one.error().text);
    found.push_back(*std::move(one));
  }
  std::array<keyspan::key_value, keyspan::max_key_values> values{};
  for (std::size_t i = 0; i < found.size(); ++i) values[i] = found[i][0];
  return keyspan::partition_key{keyspan::partition_key_view{std::span{values}.first(found.size())}};
}

inline bool is_written_by_service(std::string_view name) {
  return name == "_rid" || name == "_self" || name == "_etag" || name == "_attachments" ||
         name == "_ts" || name == "_lsn";
}

/// How the documents of a container are read.
struct document_form {
  keyspan::key_paths paths{};
  bool has_time_to_live = false;
  std::shared_ptr<std::size_t> meter{};
};

/// Reads the text of a document. Errors: `bad_request`, also for what is no JSON; `not_a_key`.
inline result<document> read_document(std::string_view body, document_form const& form) {
  document made;
  std::optional<error> why;
  keyspan::json_reader in{body, document_options};
  if (in.peek() != keyspan::json_kind::object)
    return keyspan::fail(errc::bad_request, "a document is a JSON object");
  auto members = members_of(
      in, is_written_by_service,
      [&](std::string_view name, keyspan::json_kind kind, std::string_view value) {
        keyspan::json_reader own{value, document_options};
        if (name == "id") {
          if (kind == keyspan::json_kind::string) made.id = own.string();
          if (!is_item_id(made.id))
            why =
                error{errc::bad_request,
                      "id is a string of 1 to 1023 bytes without / \\ ? # and control characters, ",
                      "and without a blank at its end"};
        } else if (name == "ttl" && form.has_time_to_live && kind != keyspan::json_kind::null) {
          auto const seconds = own.integer<std::int32_t>();
          if (!own.ok() || seconds == 0 || seconds < -1) {
            why = error{errc::bad_request, "ttl is a number of seconds, or -1 for ever"};
          } else {
            made.time_to_live = seconds == -1
                                    ? (std::chrono::milliseconds::max)()
                                    : std::chrono::milliseconds{std::chrono::seconds{seconds}};
          }
        }
      });
  in.finish();
  if (!in.ok()) {
    error const malformed{errc::bad_request, in.error().text};  // too deep a nesting, too
    return keyspan::unexpected{malformed.at(in.error().position)};
  }
  if (why) return keyspan::unexpected{*why};
  if (made.id.empty())
    return keyspan::fail(errc::bad_request, "The input content is invalid because the required ",
                         "properties - 'id; ' - are missing");
  auto key = key_of(body, form.paths);
  if (!key) return keyspan::unexpected{key.error()};
  made.key = *std::move(key);
  made.members = metered_text{std::move(members), form.meter};
  return made;
}

// ---- writing -----------------------------------------------------------------------------------

inline std::int64_t seconds_of(keyspan::wall_time at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

/// What an answer shows of a container when it shows a document.
struct document_owner {
  std::vector<std::uint32_t> rid{};      ///< the numbers of the container's resource id
  std::string self{};                    ///< "dbs/…/colls/…/"
  std::vector<std::string> key_names{};  ///< what the paths of its key are called

  std::string rid_of_document(std::uint64_t number) const {
    std::vector<std::uint32_t> parts{rid};
    parts.push_back(static_cast<std::uint32_t>(number >> 32));
    parts.push_back(static_cast<std::uint32_t>(number));
    return rid_of(parts);
  }
};

inline std::vector<std::string> names_of(keyspan::key_paths const& paths) {
  std::vector<std::string> made;
  for (auto const& path : paths) {
    std::string name;
    for (std::string_view const part : path) name.append(name.empty() ? "" : "/").append(part);
    made.push_back(std::move(name));
  }
  return made;
}

/// Adds the text of a document, with what the service writes into it; the position in a feed where
/// there is one.
inline void append_document(std::string& to, stored_document const& one,
                            document_owner const& owner,
                            std::optional<std::uint64_t> lsn = std::nullopt) {
  std::string const rid = owner.rid_of_document(one->number);
  to.append("{").append(one->members.text());
  to.append(",\"_rid\":\"").append(rid).append("\",\"_self\":\"").append(owner.self);
  to.append("docs/").append(rid).append("/\",\"_etag\":");
  append_json(to, one.etag());
  to.append(",\"_attachments\":\"attachments/\",\"_ts\":");
  to.append(std::to_string(seconds_of(one.modified_at())));
  if (lsn) to.append(",\"_lsn\":").append(std::to_string(*lsn));
  to.push_back('}');
}
inline std::string text_of(stored_document const& one, document_owner const& owner) {
  std::string made;
  append_document(made, one, owner);
  return made;
}

/// Adds a change of a feed of all versions.
inline void append_change(std::string& to, keyspan::change<document> const& one,
                          document_owner const& owner) {
  using kind = keyspan::change_kind;
  bool const is_gone = one.kind == kind::removed || one.kind == kind::expired;
  stored_document const& before = is_gone ? one.item : one.before;
  to.append("{\"current\":");
  if (is_gone) {
    to.append("{}");
  } else {
    append_document(to, one.item, owner, one.lsn);
  }
  if (before) {
    to.append(",\"previous\":");
    append_document(to, before, owner, before.lsn());
  }
  to.append(",\"metadata\":{\"operationType\":\"");
  to.append(is_gone ? "delete" : one.kind == kind::created ? "create" : "replace");
  to.append("\",\"lsn\":").append(std::to_string(one.lsn));
  to.append(",\"crts\":").append(std::to_string(seconds_of(one.at)));
  to.append(",\"previousImageLSN\":").append(std::to_string(before ? before.lsn() : 0));
  to.append(",\"timeToLiveExpired\":").append(one.kind == kind::expired ? "true" : "false");
  to.append(",\"id\":");
  append_json(to, one.item->id);
  to.append(",\"partitionKey\":{");
  for (std::size_t i = 0; i < owner.key_names.size(); ++i) {
    if (i != 0) to.push_back(',');
    append_json(to, owner.key_names[i]);
    to.push_back(':');
    keyspan::key_value const& value = one.item->key[i];
    to.append(value.to_text());
  }
  to.append("}}}");
}

}  // namespace cosmos_server
