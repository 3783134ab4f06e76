// test/cosmos/cosmos_lease_store_regions_test.cpp — leases in an account that listens in several
// regions: which of them is asked for what.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_lease_store.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/regional_account.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/law/lease_store.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::service_endpoint;
using keyspan::sync_wait;
using keyspan::cosmos::cosmos_lease_store;

// One service that listens in two regions, of which west takes writes, and the other has seen of
// what it was not told of no more than it is made to.
struct two_regions {
  struct wire {
    keyspan::ready<result<response>> send(request const& what) {
      bool const is_north = host.starts_with("north");
      if (what.target == "/") return {of->described()};
      of->asked.push_back(what.method + ' ' + host.substr(0, host.find('.')));
      if (is_north && what.method != "GET") return {*test::door::status(403, 3)};
      if (is_north && of->north_is_behind && what.target.find("/docs/") != what.target.npos) {
        if (what.headers.find("x-ms-session-token")) return {*test::door::status(404, 1002)};
        return {result<response>{of->old}};
      }
      return of->service.send(what);
    }
    two_regions* of;
    std::string host;
  };

  two_regions() : service{{.key = *keyspan::cosmos::master_key::from(test::account_key)}} {}

  result<response> described() const {
    constexpr std::string_view at = R"(","databaseAccountEndpoint":"https://)";
    auto const region = [&](std::string_view name) {
      return std::string{R"({"name":")"}.append(name).append(at).append(name).append(
          R"(.example.com:443/"})");
    };
    response made;
    made.body = R"({"id":"shop","writableLocations":[)" + region("west") +
                R"(],"readableLocations":[)" + region("west") + "," + region("north") +
                R"(],"userConsistencyPolicy":{"defaultConsistencyLevel":"Session"}})";
    return made;
  }
  auto opened() {
    auto const dial = [this](service_endpoint const& to) {
      return std::make_unique<wire>(wire{this, to.host});
    };
    return std::make_unique<keyspan::cosmos::regional_account<decltype(dial), test::jumping_clock>>(
        dial, clock, *service_endpoint::parse("https://shop.example.com"),
        *keyspan::cosmos::master_key::from(test::account_key),
        keyspan::cosmos::regional_options{.like = {.preferred = {"north"}}});
  }

  cosmos_server::cosmos_service service;
  test::jumping_clock clock{};
  bool north_is_behind = false;
  response old{};
  std::vector<std::string> asked{};
};

TEST_CASE("a record is touched where writes go, and read where reads do, if that has come as far") {
  two_regions a;
  auto account = a.opened();
  auto const where = *keyspan::cosmos::container_address::from("shop", "leases");
  auto const paths = *keyspan::key_paths::parse(std::vector<std::string_view>{"/id"});
  REQUIRE(sync_wait(account->ask(keyspan::cosmos::create_database("shop"))));
  REQUIRE(sync_wait(account->ask(keyspan::cosmos::create_container(where, paths))));
  auto leases = sync_wait(cosmos_lease_store::open(*account, "shop", "leases"));
  REQUIRE(leases);
  auto const version = sync_wait(leases->create("a", "old", {}));
  REQUIRE(version);
  a.asked.clear();
  CHECK(sync_wait(leases->read("a", {}))->body == "old");
  CHECK(a.asked == std::vector<std::string>{"PUT west", "GET north"});

  a.old = response{};
  a.old.body = R"({"id":"a","_etag":"\"1\"","properties":{"keyspan":"old"}})";
  REQUIRE(sync_wait(leases->replace("a", "new", *version, {})));
  a.north_is_behind = true;
  a.asked.clear();
  CHECK(sync_wait(leases->read("a", {}))->body == "new");
  CHECK(a.asked.front() == "PUT west");
  CHECK(a.asked.back() == "GET west");

  a.north_is_behind = false;
  auto const found = keyspan::law::check_lease_store(*leases, {.records = 20});
  INFO(found.to_text().view());
  CHECK(found);
}

}  // namespace
