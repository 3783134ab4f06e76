// test/cosmos/account_answers_test.cpp — what an account says of itself.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/account_answers.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::response;
using keyspan::cosmos::account_in;

response answered(std::string_view body, std::uint16_t status = 200) {
  response made;
  made.status = status;
  made.body = body;
  return made;
}

constexpr std::string_view shop = R"({"_self":"","id":"shop","_rid":"shop","media":"//media/",
  "writableLocations":[{"name":"West US",
    "databaseAccountEndpoint":"https://shop-westus.documents.azure.com:443/"}],
  "readableLocations":[{"name":"West US",
    "databaseAccountEndpoint":"https://shop-westus.documents.azure.com:443/"},
   {"name":"North Europe","more":[1,{"a":null}],
    "databaseAccountEndpoint":"https://shop-northeurope.documents.azure.com:443/"}],
  "enableMultipleWriteLocations":true,
  "userConsistencyPolicy":{"defaultConsistencyLevel":"BoundedStaleness","maxStaleness":100},
  "queryEngineConfiguration":"{\"maxSqlQueryInputLength\":262144}"})";

TEST_CASE("an account says its regions and how consistent its reads are") {
  auto const account = account_in(answered(shop));
  REQUIRE(account);
  CHECK(account->id == "shop");
  CHECK(account->consistency == "BoundedStaleness");
  CHECK(account->regions.writes_everywhere);
  REQUIRE(account->regions.writable.size() == 1);
  REQUIRE(account->regions.readable.size() == 2);
  CHECK(account->regions.writable[0] == account->regions.readable[0]);
  CHECK(account->regions.readable[1].name == "North Europe");
  CHECK(account->regions.readable[1].endpoint.host == "shop-northeurope.documents.azure.com");
}

TEST_CASE("what an emulator does not say is empty") {
  auto const account = account_in(answered("{}"));
  REQUIRE(account);
  CHECK(account->regions.readable.empty());
  CHECK(account->consistency.empty());
  CHECK_FALSE(account->regions.writes_everywhere);
  CHECK(account_in(answered(R"({"writableLocations":null,"id":7})")));
}

TEST_CASE("what is no account's description is an error") {
  CHECK(account_in(answered("", 401)).error().code == errc::unauthorized);
  for (std::string_view const body :
       {"", "<html>", "[]", R"({"writableLocations":[7]})", R"({"writableLocations":[{"name":7}]})",
        R"({"readableLocations":[{"name":"West US"}]})",
        R"({"readableLocations":[{"name":"West US","databaseAccountEndpoint":"ftp://x"}]})",
        R"({"readableLocations":[{"name":"x","databaseAccountEndpoint":"https://u:p@evil/"}]})",
        R"({"userConsistencyPolicy":{"defaultConsistencyLevel":1}})", R"({"id":"a"} {})"}) {
    INFO(body);
    auto const account = account_in(answered(body));
    REQUIRE_FALSE(account);
    CHECK(account.error().code == errc::bad_response);
  }
  std::string many{R"({"readableLocations":[)"};
  for (int i = 0; i < 257; ++i)
    many += std::string{i == 0 ? "" : ","} +
            R"({"name":"r","databaseAccountEndpoint":"https://a.example.com"})";
  CHECK(account_in(answered(many + "]}")).error().code == errc::bad_response);
}

TEST_CASE("an account cut off anywhere is an error and no account") {
  for (std::size_t size = 0; size < shop.size(); ++size)
    CHECK_FALSE(account_in(answered(shop.substr(0, size))));
}

TEST_CASE("the example of account_answers reads as it should") {
  auto const answer = answered(shop);
  // [region: example]
  auto const account = keyspan::cosmos::account_in(answer);
  CHECK(account->regions.writable.front().name == "West US");
  CHECK(account->regions.readable.size() == 2);
  CHECK(account->consistency == "BoundedStaleness");
  // [end: example]
}

}  // namespace
