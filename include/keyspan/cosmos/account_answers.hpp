// keyspan/cosmos/account_answers.hpp — what an account says of itself: its regions, and how
// consistent its reads are.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// An account, as the service describes it.
struct account_properties {
  std::string id{};
  account_regions regions{};
  /// "Session", "Strong" and others; empty where it is not said.
  std::string consistency{};

  friend bool operator==(account_properties const&, account_properties const&) = default;
};

namespace detail {

// More regions than there are anywhere are not an account's.
inline constexpr std::size_t most_regions = 256;

inline std::vector<service_region> read_regions(json_reader& in) {
  std::vector<service_region> made;
  in.begin_array();
  while (in.next_element()) {
    std::string name, address;
    in.begin_object();
    for (std::string_view member; in.next_member(member);) {
      if (member == "name") {
        name = in.string();
      } else if (member == "databaseAccountEndpoint") {
        address = in.string();
      } else {
        in.skip();
      }
    }
    if (!in.ok()) return made;
    auto endpoint = service_endpoint::parse(address);
    if (!endpoint) {
      in.fail_here("the address of region ", inline_text<40>{std::string_view{name}}, ": ",
                   endpoint.error().text);
    } else if (made.size() == most_regions) {
      in.fail_here("an account has ", most_regions, " regions at most");
    } else {
      made.push_back({std::move(name), *std::move(endpoint)});
    }
  }
  return made;
}

inline std::string read_consistency(json_reader& in) {
  std::string level;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "defaultConsistencyLevel") {
      level = in.string();
    } else {
      in.skip();
    }
  }
  return level;
}

}  // namespace detail

/// Reads the answer to `read_account`. What is not said is empty. Errors: those of
/// `service_errors`; `bad_response` for a body that is none of the service's.
[[nodiscard]] inline result<account_properties> account_in(response const& answer) {
  if (auto const why = service_errors{}(answer)) return unexpected{*why};
  json_reader in{answer.body};
  account_properties made;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "id" && in.peek() == json_kind::string) {
      made.id = in.string();
    } else if (name == "writableLocations" && in.peek() == json_kind::array) {
      made.regions.writable = detail::read_regions(in);
    } else if (name == "readableLocations" && in.peek() == json_kind::array) {
      made.regions.readable = detail::read_regions(in);
    } else if (name == "enableMultipleWriteLocations" && in.peek() == json_kind::boolean) {
      made.regions.writes_everywhere = in.boolean();
    } else if (name == "userConsistencyPolicy" && in.peek() == json_kind::object) {
      made.consistency = detail::read_consistency(in);
    } else {
      in.skip();
    }
  }
  in.finish();
  if (!in.ok()) return detail::not_understood(answer, in.error());
  return made;
}

}  // namespace keyspan::cosmos
