// keyspan/cosmos/credential.hpp — by what a request is known to come from somebody who may ask.
//
//   master_key       signs each request: verb, kind, link, date
//   resource_token   and bearer_token are sent as they are
#pragma once

#include <keyspan/core/base64.hpp>
#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/cosmos/hmac_sha256.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/message.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace keyspan::cosmos {

/// The kinds of what an account has, as requests and signatures name them.
enum class resource : std::uint8_t {
  account,
  database,
  container,
  document,
  partition_range,
  stored_procedure,
  trigger,
  user_defined_function,
  user,
  permission,
  conflict,
  offer,
};

/// As it stands in a path and in the text that is signed: "docs". Nothing for the account.
constexpr std::string_view path_name_of(resource what) {
  constexpr std::string_view names[]{"",         "dbs",         "colls",     "docs",
                                     "pkranges", "sprocs",      "triggers",  "udfs",
                                     "users",    "permissions", "conflicts", "offers"};
  auto const at = static_cast<std::size_t>(what);
  expects(at < std::size(names), "a resource is one of the enumerators");
  return names[at];
}

/// A moment as HTTP writes it: "Thu, 27 Apr 2017 00:51:12 GMT". Requires a year from 0 to 9999.
[[nodiscard]] inline inline_text<32> http_date(wall_time at) {
  auto const day = std::chrono::floor<std::chrono::days>(at);
  std::chrono::year_month_day const date{day};
  std::chrono::hh_mm_ss const time{std::chrono::floor<std::chrono::seconds>(at - day)};
  int const year = static_cast<int>(date.year());
  expects(year >= 0 && year <= 9999, "a date of HTTP has a year of four digits");
  constexpr std::string_view weekdays[]{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::string_view months[]{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  inline_text<32> text{weekdays[std::chrono::weekday{day}.c_encoding()], ", "};
  keyspan::detail::append_padded(text, static_cast<unsigned>(date.day()), 2);
  text.append(' ', months[static_cast<unsigned>(date.month()) - 1], ' ');
  keyspan::detail::append_padded(text, year, 4);
  text.append(' ');
  keyspan::detail::append_padded(text, time.hours().count(), 2);
  text.append(':');
  keyspan::detail::append_padded(text, time.minutes().count(), 2);
  text.append(':');
  keyspan::detail::append_padded(text, time.seconds().count(), 2);
  return text.append(" GMT");
}

/// Text as it may stand in a URL or a header: all but letters, digits and "-_.~" as %XX.
[[nodiscard]] inline std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string made;
  made.reserve(text.size());
  for (char const c : text) {
    bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    auto const byte = static_cast<unsigned char>(c);
    if (is_plain) {
      made.push_back(c);
    } else {
      made.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
  }
  return made;
}

/// The text that stands behind its %XX. Errors: `malformed` for a '%' without two digits.
[[nodiscard]] inline result<std::string> percent_decoded(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      made.push_back(text[i]);
      continue;
    }
    unsigned char byte = 0;
    if (!decode_hex(text.substr(i + 1, 2), std::span{&byte, 1}) || text.size() - i < 3) {
      auto const offset = static_cast<std::uint32_t>(i);
      return unexpected{error{errc::malformed, "two hexadecimal digits follow a '%'"}.at(
          {.line = 1, .column = offset + 1, .offset = offset})};
    }
    made.push_back(static_cast<char>(byte));
    i += 2;
  }
  return made;
}

/// What is signed of a request: its method, the kind and the link of what it is about, and its
/// date. A link is such as "dbs/shop/colls/reviews/docs/r-1", its names as they are: for what is
/// listed, created or queried that of what it belongs to, and nothing for the account.
[[nodiscard]] inline std::string text_to_sign(std::string_view method, resource what,
                                              std::string_view link, std::string_view date) {
  std::string_view const kind = path_name_of(what);
  std::string text;
  text.reserve(method.size() + kind.size() + link.size() + date.size() + 5);
  auto const add_lower = [&](std::string_view part) {
    for (char const c : part) text.push_back(keyspan::detail::lower_case(c));
    text.push_back('\n');
  };
  add_lower(method);
  add_lower(kind);
  text.append(link).push_back('\n');
  add_lower(date);
  text.push_back('\n');
  return text;
}

/// The key of an account: it may do everything. It is kept in no text, shown by nothing, and wiped
/// when it goes.
class master_key {
 public:
  /// Reads it as the portal shows it, in base64. Errors: `malformed`, which shows nothing of it.
  static result<master_key> from(std::string_view base64) {
    std::vector<unsigned char> bytes(base64.size());
    auto const size = decode_base64(base64, std::span{bytes});
    if (!size || *size == 0)
      return unexpected{error{errc::malformed, "the master key of an account is a text in base64, ",
                              "and this one is not"}};
    bytes.resize(*size);
    return master_key{std::move(bytes)};
  }
  master_key(master_key const&) = default;
  master_key(master_key&&) = default;
  // What it had goes with the copy.
  master_key& operator=(master_key other) noexcept {
    bytes_.swap(other.bytes_);
    return *this;
  }
  ~master_key() {
    for (unsigned char& byte : bytes_) static_cast<unsigned char volatile&>(byte) = 0;
  }

  /// What the header `authorization` is to say for a request with this text to sign.
  template <makes_hmac_sha256 Hmac = hmac_sha256_function>
  std::string authorization(std::string_view text, Hmac const& hmac = {}) const {
    digest256 const digest = hmac(std::span<unsigned char const>{bytes_}, text);
    std::array<char, base64_size(sizeof(digest))> signature{};
    std::string plain{"type=master&ver=1.0&sig="};
    plain.append(encode_base64(std::span{digest}, std::span<char>{signature}));
    return percent_encoded(plain);
  }

 private:
  explicit master_key(std::vector<unsigned char> bytes) : bytes_{std::move(bytes)} {}

  std::vector<unsigned char> bytes_;
};

/// A token for some resources, as a service of one's own has got it: "type=resource&ver=1&sig=…".
struct resource_token {
  std::string text;
};

/// A token of Microsoft Entra ID: a JWT. It runs out; whoever gets them puts a new one in its
/// place.
struct bearer_token {
  std::string jwt;
};

using credential = std::variant<master_key, resource_token, bearer_token>;

/// Gives a request its date and its authorization, in the place of those that it had.
template <makes_hmac_sha256 Hmac = hmac_sha256_function>
void authorize(request& what, credential const& by, resource about, std::string_view link,
               wall_time now, Hmac const& hmac = {}) {
  auto const date = http_date(now);
  what.headers.set("x-ms-date", date);
  std::string authorization;
  if (auto const* const key = std::get_if<master_key>(&by)) {
    authorization = key->authorization(text_to_sign(what.method, about, link, date), hmac);
  } else if (auto const* const token = std::get_if<resource_token>(&by)) {
    authorization = percent_encoded(token->text);
  } else {
    authorization = percent_encoded("type=aad&ver=1.0&sig=" + std::get<bearer_token>(by).jwt);
  }
  what.headers.set("authorization", authorization);
}

}  // namespace keyspan::cosmos
