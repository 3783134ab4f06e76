// keyspan/cosmos/service_errors.hpp — which responses of the service are errors: by the status, the
// substatus, and what the body says.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keyspan::cosmos {

/// The substatuses that clients go by. What a number means depends on the status that it stands
/// behind.
struct substatus {
  static constexpr std::uint16_t write_forbidden = 3;           // 403
  static constexpr std::uint16_t key_mismatch = 1001;           // 400
  static constexpr std::uint16_t needs_query_plan = 1004;       // 400
  static constexpr std::uint16_t container_recreated = 1024;    // 400
  static constexpr std::uint16_t account_not_found = 1008;      // 403
  static constexpr std::uint16_t session_not_available = 1002;  // 404
  static constexpr std::uint16_t not_readable_yet = 1013;       // 404
  static constexpr std::uint16_t name_cache_stale = 1000;       // 410
  static constexpr std::uint16_t range_gone = 1002;             // 410
  static constexpr std::uint16_t completing_split = 1007;       // 410
  static constexpr std::uint16_t completing_migration = 1008;   // 410
  static constexpr std::uint16_t region_is_full = 3092;         // 429
};

namespace detail {

// What a status is, together with its substatus.
constexpr errc errc_of(std::uint16_t status, std::uint16_t sub) {
  switch (status) {
    case 400:
      if (sub == substatus::key_mismatch) return errc::key_mismatch;
      if (sub == substatus::needs_query_plan) return errc::unsupported;
      if (sub == substatus::container_recreated) return errc::container_changed;
      return errc::bad_request;
    case 403:
      if (sub == substatus::write_forbidden) return errc::region_not_writable;
      if (sub == substatus::account_not_found) return errc::unavailable;
      return errc::forbidden;
    case 404:
      if (sub == substatus::session_not_available) return errc::session_not_available;
      if (sub == substatus::not_readable_yet) return errc::unavailable;
      return errc::not_found;
    case 410:
      if (sub == substatus::name_cache_stale) return errc::container_changed;
      if (sub == substatus::range_gone || sub == substatus::completing_split ||
          sub == substatus::completing_migration)
        return errc::range_gone;
      return errc::unavailable;  // of a replica, not of the range
    default:
      return keyspan::detail::errc_of_status(status);
  }
}

// The first line, as far as there is room; control characters end it.
constexpr std::string_view first_line(std::string_view text) {
  auto const end = std::find_if(text.begin(), text.end(),
                                [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// What a body says: {"code":"NotFound","message":"…"}; all of it empty for another one.
struct said_by_service {
  std::string code{};
  std::string message{};
};
inline std::optional<said_by_service> read_complaint(std::string_view body) {
  json_reader in{body};
  said_by_service said;
  if (in.peek() != json_kind::object) return std::nullopt;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if ((name == "code" || name == "message") && in.peek() == json_kind::string) {
      (name == "code" ? said.code : said.message) = std::string{in.string()};
    } else {
      in.skip();
    }
  }
  in.finish();
  if (!in.ok()) return std::nullopt;
  return said;
}

}  // namespace detail

/// Says what error a response of the service is, or none: a judge for `retrying`. 200 to 299 and
/// 304 are none. The text is what the body says in its first line, or that it is none of the
/// service's: then something in between has answered.
struct service_errors {
  std::optional<error> operator()(response const& answer) const {
    if ((answer.status >= 200 && answer.status < 300) || answer.status == 304) return std::nullopt;
    auto const details = details_of(answer);
    error why{detail::errc_of(answer.status, details.substatus)};
    why.wire = details;
    if (answer.body.empty()) return why;
    if (auto const said = detail::read_complaint(answer.body)) {
      why.text.append(detail::first_line(said->code));
      if (auto const line = detail::first_line(said->message); !line.empty())
        why.text.append(said->code.empty() ? "" : ": ", line);
    } else {
      why.text.append("the body is none of the service's: is there a proxy in between?");
    }
    return why;
  }
};

}  // namespace keyspan::cosmos
