// keyspan/transport/http_errors.hpp — which responses are errors, by what HTTP says of a status.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/transport/message.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace keyspan {

namespace detail {

// Milliseconds, of a text that may have a fraction; 0 where it is no number above 0.
inline std::uint32_t waiting_ms(std::string_view text, double unit_ms) {
  constexpr double most = 4'294'967'295.0;
  auto const number = read_number(text);
  if (!number || !(*number > 0)) return 0;
  double const ms = std::ceil(*number * unit_ms);
  return ms < most ? static_cast<std::uint32_t>(ms) : static_cast<std::uint32_t>(most);
}

constexpr errc errc_of_status(std::uint16_t status) {
  switch (status) {
    case 401:
    case 407:
      return errc::unauthorized;
    case 403:
      return errc::forbidden;
    case 404:
      return errc::not_found;
    case 408:
      return errc::timed_out;
    case 409:
      return errc::already_exists;
    case 410:
      return errc::range_gone;
    case 412:
      return errc::precondition_failed;
    case 413:
      return errc::too_large;
    case 429:
      return errc::throttled;
    case 449:
      return errc::contended;
    case 503:
      return errc::unavailable;
    default:
      break;
  }
  if (status >= 500 && status < 600) return errc::service_failed;
  return status >= 400 && status < 500 ? errc::bad_request : errc::bad_response;
}

}  // namespace detail

/// Says what error a response is, or none: by its status alone, and how long to wait before the
/// next attempt by `x-ms-retry-after-ms` or `retry-after`, in seconds. What else a service says in
/// its headers and its body, a judge of its own reads.
///
/// 200 to 299 and 304 are no errors; what is neither those nor 400 to 599 is `bad_response`.
struct http_errors {
  std::optional<error> operator()(response const& answer) const {
    if ((answer.status >= 200 && answer.status < 300) || answer.status == 304) return std::nullopt;
    error why{detail::errc_of_status(answer.status)};
    why.wire.status = answer.status;
    why.wire.attempts = answer.attempts;
    why.wire.endpoint = answer.endpoint;
    if (auto const ms = answer.headers.find("x-ms-retry-after-ms")) {
      why.wire.retry_after_ms = detail::waiting_ms(*ms, 1);
    } else if (auto const seconds = answer.headers.find("retry-after")) {
      why.wire.retry_after_ms = detail::waiting_ms(*seconds, 1000);
    }
    return why;
  }
};

}  // namespace keyspan
