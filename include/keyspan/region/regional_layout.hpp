// keyspan/region/regional_layout.hpp — write here, read everywhere: an account for each region,
// written there and copied to all others.
//
//                 West US        North Europe
//   account 0     writes  ---->  reads             a program in a region writes to the account of
//   account 1     reads   <----  writes            its region, and reads all accounts there
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/region_order.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// n regions and n accounts: account i takes its writes in region i, and can be read in all of
/// them. So nobody writes across the world, no document is written in two places, and everybody
/// reads what all have written.
class regional_layout {
 public:
  /// Errors: `invalid_options` where there is no region, or one without a name or named twice.
  [[nodiscard]] static result<regional_layout> from(std::vector<std::string> regions) {
    if (regions.empty()) return fail(errc::invalid_options, "a layout has one region at least");
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (is_same_region(regions[i], ""))
        return fail(errc::invalid_options, "region ", i, " of the layout has no name");
      for (std::size_t j = 0; j < i; ++j)
        if (is_same_region(regions[i], regions[j]))
          return fail(errc::invalid_options, "the layout names region ",
                      inline_text<40>{std::string_view{regions[i]}}, " twice");
    }
    return regional_layout{std::move(regions)};
  }

  std::vector<std::string> const& regions() const noexcept { return regions_; }
  std::size_t size() const noexcept { return regions_.size(); }
  /// The number of a region, which is that of the account that is written there; none where it is
  /// not one of them.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view region) const {
    for (std::size_t i = 0; i < regions_.size(); ++i)
      if (is_same_region(regions_[i], region)) return i;
    return std::nullopt;
  }
  /// The regions of an account in the order in which it is set up: where it is written, then the
  /// others, going round. Requires `account < size()`.
  [[nodiscard]] std::vector<std::string> regions_of(std::size_t account) const {
    expects(account < size(), "there are as many accounts as regions");
    std::vector<std::string> made;
    made.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) made.push_back(regions_[(account + i) % size()]);
    return made;
  }
  /// What a program in a region prefers of every account: its own region first, then the others,
  /// going round. Requires `here < size()`.
  [[nodiscard]] region_preferences preferences_in(std::size_t here) const {
    return {.preferred = regions_of(here)};
  }

  friend bool operator==(regional_layout const&, regional_layout const&) = default;

 private:
  explicit regional_layout(std::vector<std::string> regions) : regions_{std::move(regions)} {}

  std::vector<std::string> regions_;
};

}  // namespace keyspan
