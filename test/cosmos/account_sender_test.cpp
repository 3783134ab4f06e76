// test/cosmos/account_sender_test.cpp — what every account does with a request before it is sent,
// and while it is repeated.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/cosmos/account_sender.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/message.hpp>

#include <support/contracts.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace {

using keyspan::sync_wait;
using keyspan::cosmos::account_options;
using test::door;
using namespace std::chrono_literals;

using account_behind_a_door = keyspan::cosmos::cosmos_account<door, test::jumping_clock>;
auto const key = *keyspan::cosmos::master_key::from(test::account_key);

// A service that says this status twice, and then 200.
door twice(std::uint16_t status) {
  door made{.service = cosmos_server::cosmos_service{{.key = key}}};
  for (auto const each : {status, status, std::uint16_t{200}})
    made.instead.push_back(door::status(each));
  return made;
}

TEST_CASE("each attempt is signed with a date of its own, by the clock that is given") {
  door wire = twice(503);
  test::jumping_clock clock;
  auto time = keyspan::wall_time{std::chrono::hours{24 * 365 * 50}};
  account_behind_a_door shop{wire, clock, key, {.now = [&] { return time += 1s; }}};
  auto const answer = sync_wait(shop.send(keyspan::cosmos::read_account()));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->attempts == 3);
  std::set<std::string> dates, signatures;
  for (auto const& one : wire.asked) {
    dates.emplace(one.headers.find("x-ms-date").value());
    signatures.emplace(one.headers.find("authorization").value());
  }
  CHECK(dates.size() == 3);
  CHECK(signatures.size() == 3);
}

TEST_CASE("another credential signs what is sent from then on") {
  door wire = twice(200);
  test::jumping_clock clock;
  auto const time = keyspan::wall_time{std::chrono::hours{24 * 365 * 50}};
  account_behind_a_door shop{wire, clock, key, {.now = [time] { return time; }}};
  REQUIRE(sync_wait(shop.send(keyspan::cosmos::read_account())));
  shop.set_credential(*keyspan::cosmos::master_key::from("YW5vdGhlciBrZXk="));
  REQUIRE(sync_wait(shop.send(keyspan::cosmos::read_account())));
  CHECK(wire.asked[0].headers.find("x-ms-date") == wire.asked[1].headers.find("x-ms-date"));
  CHECK(wire.asked[0].headers.find("authorization") != wire.asked[1].headers.find("authorization"));
}

TEST_CASE("two requests do not wait for the same time") {
  test::jumping_clock clock;
  door wire = twice(503);
  account_behind_a_door shop{wire, clock, key, {.retries = {.jitter = 1}}};
  REQUIRE(sync_wait(shop.send(keyspan::cosmos::read_account())));
  wire.instead = twice(503).instead;
  REQUIRE(sync_wait(shop.send(keyspan::cosmos::read_account())));
  REQUIRE(clock.waits.size() == 4);
  CHECK(clock.waits[0] != clock.waits[2]);
}

TEST_CASE("a policy that none can follow breaks a contract") {
  door wire = twice(200);
  test::jumping_clock clock;
  CHECK(test::promise_broken_by([&] {
          account_behind_a_door const shop{wire, clock, key, {.retries = {.jitter = 2}}};
          return 0;
        }) == "a jitter is a share from 0 to 1");
}

TEST_CASE("the example of account_sender reads as it should") {
  door wire = twice(503);
  test::jumping_clock clock;
  int repeated = 0;
  // [region: example]
  auto const count = [&](keyspan::event const& one) {
    if (one.kind == keyspan::event_kind::repeating) ++repeated;
  };
  keyspan::cosmos::account_options const options{.retries = {.most_attempts = 5, .budget = 10s},
                                                 .on_event = count};
  keyspan::cosmos::cosmos_account shop{wire, clock, key, options};
  // [end: example]
  CHECK(sync_wait(shop.send(keyspan::cosmos::read_account()))->attempts == 3);
  CHECK(repeated == 2);
}

}  // namespace
