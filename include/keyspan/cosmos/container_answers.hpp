// keyspan/cosmos/container_answers.hpp — what the service says of a container itself: how its keys
// are made and hashed, and which physical partitions it has.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// A container, as the service describes it.
struct container_properties {
  std::string id{};
  /// Another one once the container was deleted and created anew: its `_rid`.
  std::string resource_id{};
  key_paths paths{};
  any_scheme scheme{cosmos_v2};
  /// Its documents have their keys where the service puts them, or none.
  bool is_system_key = false;

  friend bool operator==(container_properties const&, container_properties const&) = default;
};

namespace detail {

// An answer that is none of the service's, though its status says that all went well.
inline unexpected not_understood(response const& answer, error const& why) {
  error told{errc::bad_response, why.text};
  told.position = why.position;
  told.wire = details_of(answer);
  return unexpected{told};
}

struct partition_key_definition {
  std::vector<std::string> paths{};
  std::string kind{};
  std::optional<std::int64_t> version{};
  bool is_system_key = false;
};
inline partition_key_definition read_key_definition(json_reader& in) {
  partition_key_definition made;
  bool has_paths = false;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "paths") {
      has_paths = true;
      in.begin_array();
      while (in.next_element()) made.paths.emplace_back(in.string());
    } else if (name == "kind") {
      made.kind = in.string();
    } else if (name == "version") {
      made.version = in.integer<std::int64_t>();
    } else if (name == "systemKey") {
      made.is_system_key = in.boolean();
    } else {
      in.skip();
    }
  }
  keyspan::detail::expect_member(in, has_paths, "paths");
  return made;
}

// One element of the list; none for a partition that is not for documents.
template <class Scheme>
std::optional<partition<token_of_scheme<Scheme>>> read_partition(Scheme const& scheme,
                                                                 json_reader& in) {
  using token_type = token_of_scheme<Scheme>;
  std::string id, lower, upper;
  std::vector<std::string> parents;
  bool has_lower = false;
  bool has_upper = false;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "id" && in.peek() == json_kind::number) {
      id = std::to_string(in.integer<std::uint64_t>());  // as some emulators write it
    } else if (name == "id") {
      id = in.string();
    } else if (name == "minInclusive") {
      lower = in.string();
      has_lower = true;
    } else if (name == "maxExclusive") {
      upper = in.string();
      has_upper = true;
    } else if (name == "parents" && in.peek() == json_kind::array) {
      in.begin_array();
      while (in.next_element()) parents.emplace_back(in.string());
    } else {
      in.skip();
    }
  }
  keyspan::detail::expect_member(in, !id.empty(), "id");
  keyspan::detail::expect_member(in, has_lower, "minInclusive");
  keyspan::detail::expect_member(in, has_upper, "maxExclusive");
  if (!in.ok() || id == "M") return std::nullopt;
  auto const range = range_from_hex(scheme, lower, upper);
  if (!range) {
    in.fail_here("range ", inline_text<24>{id}, ": ", range.error().text);
    return std::nullopt;
  }
  return partition<token_type>{std::move(id), *range, std::move(parents)};
}

}  // namespace detail

/// Reads the answer to `read_container`. Errors: those of `service_errors`; `bad_response` for a
/// body that is none of the service's; those of `any_scheme::of` and `key_paths::parse`.
[[nodiscard]] inline result<container_properties> container_in(response const& answer) {
  if (auto const why = service_errors{}(answer)) return unexpected{*why};
  json_reader in{answer.body};
  container_properties made;
  std::optional<detail::partition_key_definition> key;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "id") {
      made.id = in.string();
    } else if (name == "_rid") {
      made.resource_id = in.string();
    } else if (name == "partitionKey" && in.peek() == json_kind::object) {
      key = detail::read_key_definition(in);
    } else {
      in.skip();
    }
  }
  keyspan::detail::expect_member(in, !made.id.empty(), "id");
  keyspan::detail::expect_member(in, !made.resource_id.empty(), "_rid");
  in.finish();
  if (!in.ok()) return detail::not_understood(answer, in.error());
  // A container of the oldest kind has no key at all.
  if (!key) key.emplace();
  std::vector<std::string_view> const texts{key->paths.begin(), key->paths.end()};
  auto paths = key_paths::parse(texts);
  if (!paths) return unexpected{paths.error()};
  auto const scheme = any_scheme::of(key->kind, key->version);
  if (!scheme) return unexpected{scheme.error()};
  made.paths = *std::move(paths);
  made.scheme = *scheme;
  made.is_system_key = key->is_system_key;
  return made;
}

/// Reads the answer to `read_partitions`: those that are new, and where the list ends. Errors:
/// those of `service_errors`; `bad_response` for a body that is none of the service's, and for
/// bounds that are none of the scheme's.
template <hash_scheme Scheme>
[[nodiscard]] result<partition_page<token_of_scheme<Scheme>>> partitions_in(
    Scheme const& scheme, response const& answer) {
  if (auto const why = service_errors{}(answer)) return unexpected{*why};
  partition_page<token_of_scheme<Scheme>> made;
  if (auto const etag = answer.headers.find("etag")) made.version = *etag;
  made.not_modified = answer.status == 304;
  if (made.not_modified) return made;  // it wins, even over a body
  json_reader in{answer.body};
  bool has_list = false;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name != "PartitionKeyRanges") {
      in.skip();
      continue;
    }
    has_list = true;
    in.begin_array();
    while (in.next_element())
      if (auto one = detail::read_partition(scheme, in)) made.partitions.push_back(*std::move(one));
  }
  keyspan::detail::expect_member(in, has_list, "PartitionKeyRanges");
  in.finish();
  if (!in.ok()) return detail::not_understood(answer, in.error());
  return made;
}

}  // namespace keyspan::cosmos
