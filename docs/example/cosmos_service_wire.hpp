// docs/example/cosmos_service_wire.hpp — how the service's requests and answers are written: paths,
// headers, dates, resource ids, and the JSON of what it refuses.
#pragma once

#include <keyspan/core/base64.hpp>
#include <keyspan/core/bytes.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cosmos_server {

using keyspan::errc;
using keyspan::error;
using keyspan::request;
using keyspan::response;
using keyspan::result;

// ---- answers -----------------------------------------------------------------------------------

/// The word that stands beside a status in the body of a refusal.
constexpr std::string_view word_for(std::uint16_t status) {
  switch (status) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "PreconditionFailed";
    case 413:
      return "RequestEntityTooLarge";
    case 424:
      return "FailedDependency";
    case 429:
      return "TooManyRequests";
    case 431:
      return "RequestHeaderFieldsTooLarge";
    case 500:
      return "InternalServerError";
    case 501:
      return "NotImplemented";
    case 503:
      return "ServiceUnavailable";
    case 507:
      return "InsufficientStorage";
    default:
      return "BadRequest";
  }
}

/// Adds a string of JSON. What is no UTF-8, as a path may be, is not repeated.
inline void append_json(std::string& to, std::string_view text) {
  keyspan::json_writer out{to};
  out.string(keyspan::is_utf8(text) ? text : std::string_view{"(not UTF-8)"});
}
/// Adds a number as JSON and headers have it.
inline void append_number(std::string& to, double value) {
  keyspan::json_writer out{to};
  out.number(value);
}

/// An answer with a body, or without one.
inline response answered(std::uint16_t status, std::string body = {}) {
  response made;
  made.status = status;
  made.body = std::move(body);
  return made;
}
/// An answer that says no, and why.
inline response refused(std::uint16_t status, std::string_view message,
                        std::uint16_t substatus = 0) {
  std::string body{"{\"code\":"};
  append_json(body, word_for(status));
  body.append(",\"message\":");
  append_json(body, message);
  body.push_back('}');
  response made = answered(status, std::move(body));
  if (substatus != 0) made.headers.set("x-ms-substatus", std::to_string(substatus));
  return made;
}

/// The status that an error is told with.
constexpr std::uint16_t status_of(error const& why) {
  switch (why.code) {
    case errc::not_found:
    case errc::unknown_range:
      return 404;
    case errc::already_exists:
      return 409;
    case errc::range_gone:
      return 410;
    case errc::precondition_failed:
      return 412;
    case errc::too_large:
      return 413;
    case errc::throttled:
      return 429;
    case errc::position_lost:
      return 400;  // to come again would not help
    default:
      return why.wire.status != 0 ? why.wire.status : std::uint16_t{400};
  }
}
/// The substatus of an error; a key that does not fit has one that only the service knows.
constexpr std::uint16_t substatus_of(error const& why) {
  if (why.wire.substatus != 0) return why.wire.substatus;
  return why.code == errc::key_mismatch && status_of(why) == 400 ? 1001 : 0;
}
/// An answer that says what error there was.
inline response refused(error const& why) {
  std::string message{why.text.view()};
  if (why.position.line != 0)
    message.append(" (line ")
        .append(std::to_string(why.position.line))
        .append(", column ")
        .append(std::to_string(why.position.column))
        .append(")");
  response made = refused(status_of(why), message, substatus_of(why));
  if (why.code == errc::throttled)
    made.headers.set("x-ms-retry-after-ms", std::to_string(why.wire.retry_after_ms));
  made.charge = why.wire.charge;
  return made;
}

// ---- headers -----------------------------------------------------------------------------------

inline std::string_view header(request const& asked, std::string_view name) {
  return asked.headers.find(name).value_or(std::string_view{});
}
inline bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    auto const lower = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return lower(x) == lower(y);
  });
}
inline bool says_true(request const& asked, std::string_view name) {
  return is_same_word(header(asked, name), "true");
}

/// A whole number, all of the text.
template <std::integral Integer>
std::optional<Integer> number_in(std::string_view text) {
  Integer made{};
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), made);
  if (why != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return made;
}

/// The moment that a date of HTTP names: "Thu, 27 Apr 2017 00:51:12 GMT", in any case.
inline std::optional<keyspan::wall_time> read_http_date(std::string_view text) {
  constexpr std::string_view months = "jan feb mar apr may jun jul aug sep oct nov dec ";
  if (text.size() != 29 || text[3] != ',' || !is_same_word(text.substr(25), " gmt"))
    return std::nullopt;
  std::string month{text.substr(8, 3)};
  for (char& c : month) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  month.push_back(' ');
  auto const at = months.find(month);
  auto const day = number_in<unsigned>(text.substr(5, 2));
  auto const year = number_in<int>(text.substr(12, 4));
  auto const hours = number_in<unsigned>(text.substr(17, 2));
  auto const minutes = number_in<unsigned>(text.substr(20, 2));
  auto const seconds = number_in<unsigned>(text.substr(23, 2));
  if (at == months.npos || at % 4 != 0 || !day || !year || !hours || !minutes || !seconds)
    return std::nullopt;
  std::chrono::year_month_day const date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(at / 4 + 1)},
                                         std::chrono::day{*day}};
  if (!date.ok() || *hours > 23 || *minutes > 59 || *seconds > 60) return std::nullopt;
  return keyspan::wall_time{std::chrono::sys_days{date}} + std::chrono::hours{*hours} +
         std::chrono::minutes{*minutes} + std::chrono::seconds{*seconds};
}

// ---- paths -------------------------------------------------------------------------------------

/// The names of a path, without their escapes; slashes at its ends do not count.
struct asked_path {
  std::vector<std::string> names{};
  std::string query{};  ///< what stands behind a '?', as it was

  std::size_t size() const noexcept { return names.size(); }
  std::string const& operator[](std::size_t i) const { return names[i]; }

  /// The first names, with slashes between them.
  std::string link(std::size_t count) const {
    std::string made;
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) made.push_back('/');
      made.append(names[i]);
    }
    return made;
  }
};
/// None where there is no path to be seen, or a name is empty, is not UTF-8 or not well-formed.
inline std::optional<asked_path> read_path(std::string_view target) {
  asked_path made;
  if (auto const question = target.find('?'); question != target.npos) {
    made.query = target.substr(question + 1);
    target = target.substr(0, question);
  }
  if (!target.starts_with('/')) return std::nullopt;
  while (target.starts_with('/')) target.remove_prefix(1);
  while (target.ends_with('/')) target.remove_suffix(1);
  while (!target.empty()) {
    auto const size = (std::min)(target.find('/'), target.size());
    auto name = keyspan::cosmos::percent_decoded(target.substr(0, size));
    if (!name || name->empty() || !keyspan::is_utf8(*name) || made.size() == 16)
      return std::nullopt;
    made.names.push_back(*std::move(name));
    target.remove_prefix((std::min)(size + 1, target.size()));
  }
  return made;
}

// ---- resource ids ------------------------------------------------------------------------------

/// Base64 of the bytes of numbers, '/' written as '-': what `_rid` says.
inline std::string rid_of(std::span<std::uint32_t const> parts) {
  std::vector<unsigned char> bytes(parts.size() * 4);
  for (std::size_t i = 0; i < parts.size(); ++i) keyspan::store_be(&bytes[i * 4], parts[i]);
  std::string text(keyspan::base64_size(bytes.size()), '\0');
  keyspan::encode_base64(std::span<unsigned char const>{bytes}, std::span<char>{text});
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

}  // namespace cosmos_server
