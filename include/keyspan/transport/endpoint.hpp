// keyspan/transport/endpoint.hpp — where a service listens, as its address is written down.
//
//   https://shop.documents.azure.com:443/     secure, host, port
//   http://[::1]:8081                         not secure, an address of IPv6
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace keyspan {

namespace detail {

// Reads an address of a service from the front. No sentence repeats what stands in the text: it may
// hold a password.
class endpoint_reader {
 public:
  explicit endpoint_reader(std::string_view text) noexcept : text_{text} {}

  template <class Endpoint>
  result<Endpoint> read() {
    Endpoint made;
    if (take_scheme("https://")) {
      made.port = 443;
    } else if (take_scheme("http://")) {
      made.is_secure = false;
      made.port = 80;
    } else {
      return refused("an endpoint begins with https:// or http://");
    }
    std::string_view const place = left().substr(0, left().find_first_of("/?#"));
    if (place.find('@') != std::string_view::npos)
      return refused("an endpoint has no user and no password");
    if (place.empty() || place.front() == ':') return refused("a host is missing here");
    auto const host = place.front() == '[' ? read_address(place) : read_name(place);
    if (!host) return unexpected{host.error()};
    made.host.resize(host->size());
    std::transform(host->begin(), host->end(), made.host.begin(), lower_case);
    if (is_next(':')) {
      ++at_;
      auto const port = read_port();
      if (!port) return unexpected{port.error()};
      made.port = *port;
    }
    if (is_next('/')) ++at_;
    if (!left().empty()) return refused("an endpoint ends behind its port, or with one slash");
    return made;
  }

 private:
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) noexcept { return lower_case(c) >= 'a' && lower_case(c) <= 'z'; }
  static bool is_hex(char c) noexcept {
    return is_digit(c) || (lower_case(c) >= 'a' && lower_case(c) <= 'f');
  }
  static bool are_digits(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  }

  std::string_view left() const noexcept { return text_.substr(at_); }
  bool is_next(char c) const noexcept { return left().starts_with(c); }
  unexpected refused(std::string_view sentence) const { return refused_at(at_, sentence); }
  static unexpected refused_at(std::size_t place, std::string_view sentence) {
    auto const offset = static_cast<std::uint32_t>(place);
    return unexpected{
        error{errc::malformed, sentence}.at({.line = 1, .column = offset + 1, .offset = offset})};
  }

  bool take_scheme(std::string_view scheme) {
    if (!is_same_name(left().substr(0, scheme.size()), scheme)) return false;
    at_ += scheme.size();
    return true;
  }

  // Four numbers up to 255, without leading zeros: some read these as octal.
  static bool is_ipv4(std::string_view text) {
    for (int part = 0; part < 4; ++part) {
      std::string_view const number = text.substr(0, text.find('.'));
      if (!are_digits(number) || number.size() > 3) return false;
      if (number.size() > 1 && number.front() == '0') return false;
      if (number.size() == 3 && number > "255") return false;
      text.remove_prefix(number.size());
      if (part < 3 && text.empty()) return false;
      if (!text.empty()) text.remove_prefix(1);
      if (part == 3 && text.data() != number.data() + number.size()) return false;
    }
    return text.empty();
  }

  // Eight groups of up to four hexadecimal digits; "::" stands for one or more that are zero, and
  // an address of IPv4 for the last two.
  static bool is_ipv6(std::string_view text) {
    int groups = 0;
    bool has_gap = text.starts_with("::");
    if (has_gap) {
      text.remove_prefix(2);
    }
    while (!text.empty()) {
      if (text.find(':') == std::string_view::npos && text.find('.') != std::string_view::npos) {
        if (!is_ipv4(text)) return false;
        groups += 2;
        break;
      }
      std::size_t digits = 0;
      while (digits < text.size() && is_hex(text[digits])) ++digits;
      if (digits == 0 || digits > 4) return false;
      ++groups;
      text.remove_prefix(digits);
      if (text.empty()) break;
      if (text.starts_with("::")) {
        if (has_gap) return false;
        has_gap = true;
        text.remove_prefix(2);
      } else if (text.starts_with(':') && text.size() > 1) {
        text.remove_prefix(1);
      } else {
        return false;
      }
    }
    return has_gap ? groups < 8 : groups == 8;
  }

  result<std::string_view> read_address(std::string_view place) {
    std::size_t const end = place.find(']');
    if (end == std::string_view::npos) return refused("a ']' is missing behind this one");
    std::string_view const address = place.substr(1, end - 1);
    ++at_;
    if (!is_ipv6(address)) return refused("an address of IPv6 stands in brackets, without a zone");
    at_ += address.size() + 1;
    return address;
  }

  result<std::string_view> read_name(std::string_view place) {
    std::string_view const name = place.substr(0, place.find(':'));
    std::size_t const begin = at_;
    std::string_view part;
    for (std::size_t first = 0; first <= name.size(); first += part.size() + 1) {
      part = name.substr(first, name.find('.', first) - first);
      for (std::size_t i = 0; i < part.size(); ++i)
        if (!is_letter(part[i]) && !is_digit(part[i]) && part[i] != '-' && part[i] != '_')
          return refused_at(begin + first + i, "a host has letters, digits, '-', '_' and dots");
      if (part.empty())
        return refused_at(begin + first, "a host has something before and behind each dot");
      if (part.front() == '-' || part.back() == '-' || part.size() > 63)
        return refused_at(begin + first,
                          "a part of a host has 63 characters at most, and no '-' at its ends");
    }
    if (name.size() > 253) return refused("a host has 253 characters at most");
    // What ends with a number is read as an address, by some in forms of fewer parts.
    if (are_digits(part) && !is_ipv4(name))
      return refused("an address of IPv4 is four numbers up to 255");
    at_ += name.size();
    return name;
  }

  result<std::uint16_t> read_port() {
    std::size_t digits = 0;
    std::uint32_t port = 0;
    for (; digits < left().size() && is_digit(left()[digits]); ++digits) {
      port = port * 10 + static_cast<std::uint32_t>(left()[digits] - '0');
      if (port > 65'535) break;
    }
    if (digits == 0) return refused("a port is missing here");
    if (port == 0 || port > 65'535) return refused("a port is a number from 1 to 65535");
    at_ += digits;
    return static_cast<std::uint16_t>(port);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Where a service listens, and whether one speaks to it by TLS.
struct service_endpoint {
  bool is_secure = true;
  /// A name or an address, in lower case; one of IPv6 without its brackets.
  std::string host{};
  std::uint16_t port = 443;

  /// Reads "https://shop.documents.azure.com:443/" or "http://127.0.0.1:8081". Without a port it is
  /// 443, or 80. Errors: `malformed` with the place, also for what such an address may have
  /// elsewhere: a user, a path, a query. No error repeats the text.
  static result<service_endpoint> parse(std::string_view url) {
    return detail::endpoint_reader{url}.read<service_endpoint>();
  }

  /// "https://shop.documents.azure.com:443", always with its port. `parse` reads it back.
  std::string to_text() const { return (is_secure ? "https://" : "http://") + authority(); }

  /// Host and port as errors name them: "shop.documents.azure.com:443", "[::1]:8081".
  std::string authority() const {
    bool const is_address = host.find(':') != std::string::npos;
    return (is_address ? '[' + host + ']' : host) + ':' + std::to_string(port);
  }

  friend bool operator==(service_endpoint const&, service_endpoint const&) = default;
  friend std::strong_ordering operator<=>(service_endpoint const& a, service_endpoint const& b) {
    if (auto const hosts = a.host <=> b.host; hosts != 0) return hosts;
    if (auto const ports = a.port <=> b.port; ports != 0) return ports;
    return a.is_secure <=> b.is_secure;
  }
};

}  // namespace keyspan

/// Equal endpoints hash alike.
template <>
struct std::hash<keyspan::service_endpoint> {
  std::size_t operator()(keyspan::service_endpoint const& where) const noexcept {
    std::size_t const rest = (std::size_t{where.port} << 1) | (where.is_secure ? 1U : 0U);
    return std::hash<std::string_view>{}(where.host) ^
           rest * static_cast<std::size_t>(0x9E3779B97F4A7C15u);
  }
};
