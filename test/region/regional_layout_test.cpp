// test/region/regional_layout_test.cpp — who writes where, and reads where.
#include <keyspan/core/error.hpp>
#include <keyspan/region/regional_layout.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::regional_layout;
using names = std::vector<std::string>;

TEST_CASE("with two regions each account is written in one and read in the other") {
  auto const layout = regional_layout::from({"West US", "North Europe"});
  REQUIRE(layout);
  CHECK(layout->size() == 2);
  CHECK(layout->regions_of(0) == names{"West US", "North Europe"});
  CHECK(layout->regions_of(1) == names{"North Europe", "West US"});
  CHECK(layout->find("west us") == std::size_t{0});
  CHECK(layout->find("northeurope") == std::size_t{1});
  CHECK_FALSE(layout->find("Japan East"));
}

TEST_CASE("with any number of regions each is written in once, and every account is read in all") {
  names regions;
  for (int n = 1; n <= 8; ++n) {
    regions.push_back("Region " + std::to_string(n));
    auto const layout = *regional_layout::from(regions);
    std::set<std::string> writable;
    for (std::size_t account = 0; account < layout.size(); ++account) {
      auto const own = layout.regions_of(account);
      writable.insert(own.front());
      CHECK(std::set<std::string>(own.begin(), own.end()) ==
            std::set<std::string>(regions.begin(), regions.end()));
      CHECK(layout.find(own.front()) == account);
    }
    CHECK(writable.size() == regions.size());
  }
}

TEST_CASE("a program prefers its own region of every account") {
  auto const layout = *regional_layout::from({"a", "b", "c"});
  CHECK(layout.preferences_in(1).preferred == names{"b", "c", "a"});
  CHECK_FALSE(layout.preferences_in(1).writes_everywhere);
}

TEST_CASE("a layout of no regions, or of one named twice, is refused") {
  CHECK(regional_layout::from({}).error().code == errc::invalid_options);
  auto const twice = regional_layout::from({"West US", "North Europe", "westus"});
  CHECK(twice.error().text.view() == "the layout names region westus twice");
  CHECK(regional_layout::from({"West US", "  "}).error().text.view() ==
        "region 1 of the layout has no name");
}

TEST_CASE("an account or a region that the layout has not breaks a contract") {
  auto const layout = *regional_layout::from({"a", "b"});
  CHECK(test::promise_broken_by([&] { return layout.regions_of(2); }) ==
        "there are as many accounts as regions");
  CHECK(test::promise_broken_by([&] { return layout.preferences_in(2); }) ==
        "there are as many accounts as regions");
}

TEST_CASE("the example of regional_layout reads as it should") {
  // [region: example]
  auto const layout = *keyspan::regional_layout::from({"West US", "North Europe", "Japan East"});
  auto const here = layout.find("north europe");   // 1, and so the account to write to
  auto const of_usa = layout.regions_of(0);        // how that account is to be set up
  auto const near = layout.preferences_in(*here);  // how each account is opened here
  // [end: example]
  CHECK(here == std::size_t{1});
  CHECK(of_usa == names{"West US", "North Europe", "Japan East"});
  CHECK(near.preferred == names{"North Europe", "Japan East", "West US"});
}

}  // namespace
