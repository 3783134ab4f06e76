// keyspan/region/region_order.hpp — which region of an account is asked first, and which one next:
// pure functions of what the account says, what the caller prefers, and what was out of order.
//
//   account    West US*, North Europe, Japan East        * takes the writes
//   preferred  Japan East, West US        -->  reads: Japan East, West US
//                                              writes: West US
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace keyspan {

/// Which regions a program would like to talk to.
struct region_preferences {
  /// The nearest one first; where there are none, the account's own order counts.
  std::vector<std::string> preferred{};
  /// Those that are not asked at all, unless nothing else is left.
  std::vector<std::string> excluded{};
  /// Documents are written in the nearest region, where the account takes writes in several.
  bool writes_everywhere = false;

  friend bool operator==(region_preferences const&, region_preferences const&) = default;
};

/// Whether writes of documents go to the nearest region: the account takes them in several, and the
/// caller has asked for it.
[[nodiscard]] inline bool writes_in_many(account_regions const& account,
                                         region_preferences const& like) noexcept {
  return like.writes_everywhere && account.writes_everywhere;
}

/// The regions to ask, the first one first; never empty. `given` is the address that the caller was
/// given: it is asked as long as the account has said nothing, and it alone where nothing is
/// preferred and it is one of the account's regions'.
///
/// Where several regions can serve, the preferred ones come in their order, those that are marked
/// behind the others; without preferences it is the account's order. Where nothing is left of that,
/// it is the region that takes the writes. Where one region takes all writes, those go to the
/// first two of the account's order, whatever is preferred or marked.
[[nodiscard]] inline std::vector<service_region> regions_for(account_regions const& account,
                                                             region_preferences const& like,
                                                             region_marks const& marks,
                                                             region_use use, instant now,
                                                             service_endpoint const& given) {
  bool const chooses =
      use == region_use::read || (use == region_use::write && writes_in_many(account, like));
  auto const& all = use == region_use::read ? account.readable : account.writable;
  if (!chooses) {
    if (all.empty()) return {service_region{{}, given}};
    return {all.begin(), all.begin() + (all.size() > 1 ? 2 : 1)};
  }

  std::vector<service_region> wanted;
  auto const is_excluded = [&](service_region const& one) {
    return std::any_of(like.excluded.begin(), like.excluded.end(),
                       [&](std::string const& name) { return is_same_region(name, one.name); });
  };
  auto const is_listed = [&](service_region const& one) {
    return std::find(wanted.begin(), wanted.end(), one) != wanted.end();
  };
  auto const add = [&](service_region const& one) {
    if (!is_excluded(one) && !is_listed(one)) wanted.push_back(one);
  };
  if (like.preferred.empty()) {
    auto const own = std::find_if(all.begin(), all.end(),
                                  [&](service_region const& one) { return one.endpoint == given; });
    if (own != all.end() && !is_excluded(*own)) return {*own};
    for (service_region const& one : all) add(one);
  } else {
    for (std::string const& name : like.preferred)
      if (service_region const* const one = find_region(all, name)) add(*one);
  }
  if (wanted.empty())
    wanted.push_back(account.writable.empty() ? service_region{{}, given}
                                              : account.writable.front());
  auto const is_marked = [&](service_region const& one) {
    return marks.is_marked(one.endpoint, use, now);
  };
  std::vector<service_region> last;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(last), is_marked);
  std::erase_if(wanted, is_marked);
  wanted.insert(wanted.end(), last.begin(), last.end());
  return wanted;
}

/// The first of `order` that is not among those that were tried; null where all were.
[[nodiscard]] inline service_region const* untried_region(
    std::vector<service_region> const& order, std::vector<service_endpoint> const& tried) {
  auto const found = std::find_if(order.begin(), order.end(), [&](service_region const& one) {
    return std::find(tried.begin(), tried.end(), one.endpoint) == tried.end();
  });
  return found == order.end() ? nullptr : &*found;
}

}  // namespace keyspan
