// keyspan/transport/http_request.hpp — whether a request can be said in HTTP, so that nobody can
// put a message of his own into one: what adapters ask before a byte goes out.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace keyspan {

namespace detail {

constexpr bool is_name_of_http(std::string_view text) noexcept {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [=](char c) {
    char const lower = lower_case(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}
constexpr bool is_value_of_http(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    auto const byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || c == '\t';
  });
}
constexpr bool is_target_of_http(std::string_view text) noexcept {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char c) {
           auto const byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte < 0x7F && c != '#';
         });
}

}  // namespace detail

/// Why a request cannot be sent over HTTP as it is: `bad_request`, which repeats no value, since
/// that may be a secret; none where it can. Names and values hold nothing that could end a line,
/// the target is a path with an optional query, and `Content-Length`, where it is given, is that of
/// the body. How a body is framed is the transport's own.
[[nodiscard]] inline std::optional<error> fault_in_http(request const& what) {
  auto const fault = [](auto const&... pieces) { return error{errc::bad_request, pieces...}; };
  if (!detail::is_name_of_http(what.method)) return fault("a method has letters, and no blanks");
  if (!detail::is_target_of_http(what.target))
    return fault("a target begins with '/', and has neither blanks nor '#' nor control characters");
  if (what.method == "HEAD" && !what.body.empty()) return fault("a HEAD request has no body");
  for (header_field const& field : what.headers) {
    if (!detail::is_name_of_http(field.name))
      return fault("a header's name has a character that no name has");
    if (!detail::is_value_of_http(field.value))
      return fault("the value of header ", inline_text<60>{std::string_view{field.name}},
                   " has a line break or another control character");
    if (detail::is_same_name(field.name, "content-length") &&
        field.value != std::to_string(what.body.size()))
      return fault("the header Content-Length is not the length of the body");
    if (detail::is_same_name(field.name, "transfer-encoding") ||
        detail::is_same_name(field.name, "expect"))
      return fault("the header ", inline_text<60>{std::string_view{field.name}},
                   " is the transport's own");
  }
  return std::nullopt;
}

}  // namespace keyspan
