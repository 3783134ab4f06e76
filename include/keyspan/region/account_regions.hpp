// keyspan/region/account_regions.hpp — the regions of an account: which of them take writes, which
// answer reads, and where each listens.
//
//   West US       https://shop-westus.documents.azure.com:443        writable, readable
//   North Europe  https://shop-northeurope.documents.azure.com:443   readable
#pragma once

#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keyspan {

/// A region of an account: what people call it, and where it listens.
struct service_region {
  std::string name{};
  service_endpoint endpoint{};

  friend bool operator==(service_region const&, service_region const&) = default;
};

/// What an account says of its regions, each list in the order in which it fails over itself.
struct account_regions {
  std::vector<service_region> writable{};
  std::vector<service_region> readable{};
  /// Whether all of the writable ones take writes at the same time.
  bool writes_everywhere = false;

  friend bool operator==(account_regions const&, account_regions const&) = default;
};

/// Whether both name the same region: letters' case and blanks are nothing, "West US" is "westus".
[[nodiscard]] constexpr bool is_same_region(std::string_view a, std::string_view b) noexcept {
  std::size_t i = 0;
  std::size_t j = 0;
  for (;;) {
    while (i < a.size() && a[i] == ' ') ++i;
    while (j < b.size() && b[j] == ' ') ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (detail::lower_case(a[i++]) != detail::lower_case(b[j++])) return false;
  }
}

/// The region of this name in a list; null where there is none.
[[nodiscard]] inline service_region const* find_region(std::vector<service_region> const& among,
                                                       std::string_view name) noexcept {
  auto const found = std::find_if(among.begin(), among.end(), [&](service_region const& one) {
    return is_same_region(one.name, name);
  });
  return found == among.end() ? nullptr : &*found;
}

/// Where an account listens in one region, by its own address: "shop-westus.documents.azure.com"
/// for "shop.documents.azure.com" in "West US". Whoever cannot reach the account's own address asks
/// there. None for an address that is no such name: a number, or a host without a domain.
[[nodiscard]] inline std::optional<service_endpoint> endpoint_in_region(
    service_endpoint const& account, std::string_view region) {
  std::string const& host = account.host;
  std::size_t const dot = host.find('.');
  bool const is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  if (dot == std::string::npos || dot == 0 || is_number || host.find(':') != std::string::npos)
    return std::nullopt;
  std::string name;
  for (char const c : region)
    if (c != ' ') name.push_back(detail::lower_case(c));
  bool const is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
  if (!is_plain) return std::nullopt;
  service_endpoint made = account;
  made.host = host.substr(0, dot) + '-' + name + host.substr(dot);
  return made;
}

}  // namespace keyspan
