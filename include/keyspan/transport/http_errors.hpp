// keyspan/transport/http_errors.hpp — which responses are errors, by what HTTP says of a status,
// and what they say of themselves in their headers.
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

// What a header says; 0 where it is not there, or is no number above 0.
inline double amount_in(header_list const& headers, std::string_view name) {
  auto const text = headers.find(name);
  if (!text) return 0;
  auto const number = read_number(*text);
  return number && *number > 0 ? *number : 0;
}

// Never too soon.
inline std::uint32_t whole_ms(double ms) {
  constexpr double most = 4'294'967'295.0;
  return ms < most ? static_cast<std::uint32_t>(std::ceil(ms)) : static_cast<std::uint32_t>(most);
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

/// What a response says beside its body: its status, attempts and endpoint, and what stands in the
/// headers `x-ms-substatus`, `x-ms-activity-id`, `x-ms-request-charge`, and `x-ms-retry-after-ms`
/// or `retry-after`, in seconds. What is not there, or cannot be read, is 0 or empty. A charge that
/// the response has been given already counts for more than the header.
[[nodiscard]] inline wire_details details_of(response const& answer) {
  wire_details said;
  said.status = answer.status;
  double const substatus = detail::amount_in(answer.headers, "x-ms-substatus");
  if (substatus <= 65'535) said.substatus = static_cast<std::uint16_t>(substatus);
  said.attempts = answer.attempts;
  said.retry_after_ms =
      detail::whole_ms(answer.headers.find("x-ms-retry-after-ms")
                           ? detail::amount_in(answer.headers, "x-ms-retry-after-ms")
                           : detail::amount_in(answer.headers, "retry-after") * 1000);
  said.charge =
      answer.charge != 0 ? answer.charge : detail::amount_in(answer.headers, "x-ms-request-charge");
  if (auto const id = answer.headers.find("x-ms-activity-id")) said.activity_id.append(*id);
  said.endpoint = answer.endpoint;
  return said;
}

/// Says what error a response is, or none: by its status alone, with its `details_of`. What else a
/// service says in its headers and its body, a judge of its own reads.
///
/// 200 to 299 and 304 are no errors; what is neither those nor 400 to 599 is `bad_response`.
struct http_errors {
  std::optional<error> operator()(response const& answer) const {
    if ((answer.status >= 200 && answer.status < 300) || answer.status == 304) return std::nullopt;
    error why{detail::errc_of_status(answer.status)};
    why.wire = details_of(answer);
    return why;
  }
};

}  // namespace keyspan
