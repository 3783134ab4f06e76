// test/region/account_regions_test.cpp — the names and addresses of regions.
#include <keyspan/region/account_regions.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <support/check.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::endpoint_in_region;
using keyspan::is_same_region;
using keyspan::service_endpoint;
using test::check;

constexpr bool regions_are_the_same_whatever_their_case_and_blanks() {
  check(is_same_region("West US", "West US"));
  check(is_same_region("West US", "westus"));
  check(is_same_region(" West  US ", "WESTUS"));
  check(is_same_region("", "  "));
  check(!is_same_region("West US", "West US 2"));
  check(!is_same_region("West US 2", "West US"));
  check(!is_same_region("West US", "East US"));
  check(!is_same_region("West US", ""));
  return true;
}
CHECK_BOTH(regions_are_the_same_whatever_their_case_and_blanks);

TEST_CASE("a region is found by its name") {
  std::vector<keyspan::service_region> const two{
      {"West US", *service_endpoint::parse("https://a-westus.example.com")},
      {"North Europe", *service_endpoint::parse("https://a-northeurope.example.com")}};
  REQUIRE(keyspan::find_region(two, "north europe"));
  CHECK(keyspan::find_region(two, "north europe")->endpoint.host == "a-northeurope.example.com");
  CHECK(keyspan::find_region(two, "Japan East") == nullptr);
  CHECK(keyspan::find_region({}, "West US") == nullptr);
}

std::string in_region(std::string_view account, std::string_view region) {
  auto const made = endpoint_in_region(*service_endpoint::parse(account), region);
  return made ? made->to_text() : "none";
}

TEST_CASE("an account listens in a region under its name with that of the region behind it") {
  CHECK(in_region("https://shop.documents.azure.com", "West US") ==
        "https://shop-westus.documents.azure.com:443");
  CHECK(in_region("https://shop.documents.azure.com:8081", "East US 2") ==
        "https://shop-eastus2.documents.azure.com:8081");
  CHECK(in_region("http://127.0.0.1:8081", "West US") == "none");
  CHECK(in_region("http://[::1]:8081", "West US") == "none");
  CHECK(in_region("http://localhost:8081", "West US") == "none");
  CHECK(in_region("https://shop.documents.azure.com", "") == "none");
  // What would lead to somebody else's host.
  CHECK(in_region("https://shop.documents.azure.com", "x.evil.org/") == "none");
}

TEST_CASE("the example of account_regions reads as it should") {
  // [region: example]
  auto const shop = *keyspan::service_endpoint::parse("https://shop.documents.azure.com");
  auto const there = keyspan::endpoint_in_region(shop, "West US");
  check(there->host == "shop-westus.documents.azure.com");

  keyspan::account_regions const known{.writable = {{"West US", *there}},
                                       .readable = {{"West US", *there}, {"North Europe", shop}}};
  check(keyspan::find_region(known.readable, "northeurope") == &known.readable[1]);
  check(keyspan::find_region(known.writable, "northeurope") == nullptr);
  // [end: example]
}

}  // namespace
