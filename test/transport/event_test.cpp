// test/transport/event_test.cpp — what an event says of itself.
#include <keyspan/core/error.hpp>
#include <keyspan/transport/event.hpp>

#include <support/check.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace {

using keyspan::event;
using keyspan::event_kind;
using namespace std::chrono_literals;

TEST_CASE("an event reads as a line, and says nothing that is not there") {
  CHECK(
      event{.operation = "upsert", .partition = "3", .endpoint = "shop", .items = 1, .status = 201}
          .to_text() == "answered upsert in 3 from shop: status 201, 1 item");
  CHECK(event{.kind = event_kind::repeating,
              .operation = "GET",
              .endpoint = "localhost:8081",
              .attempts = 2,
              .status = 429,
              .code = keyspan::errc::throttled,
              .wait = 119'000'001ns}
            .to_text() ==
        "repeating GET from localhost:8081: throttled, status 429, after 2 attempts, in 120 ms");
  CHECK(event{.kind = event_kind::failed,
              .operation = "GET",
              .status = 410,
              .code = keyspan::errc::range_gone,
              .substatus = 1002,
              .activity_id = "6d8c-07c2"}
            .to_text() == "failed GET: range_gone, status 410/1002, activity 6d8c-07c2");
  CHECK(event{.kind = event_kind::split, .partition = "0", .items = 2}.to_text() ==
        "split in 0: 2 items");
  CHECK(event{.charge = 2.29, .status = 200}.to_text() == "answered: status 200, charge 2.29");
  CHECK(event{.items = 3, .charge = 1e-7, .attempts = 2}.to_text() ==
        "answered: 3 items, charge 1e-7, after 2 attempts");
  CHECK(event{}.to_text() == "answered");
}

TEST_CASE("every kind of event has a name of its own") {
  std::set<std::string> names;
  for (auto const kind : {event_kind::answered, event_kind::failed, event_kind::repeating,
                          event_kind::split, event_kind::merged, event_kind::expired})
    names.emplace(name_of(kind));
  CHECK(names.size() == 6);
}

TEST_CASE("the example of events reads as it should") {
  // [region: example]
  std::vector<std::string> log;
  double charge = 0;
  keyspan::event_hook const on_event = [&](keyspan::event const& happened) {
    log.emplace_back(happened.to_text().view());
    charge += happened.charge;
  };
  // [end: example]
  on_event({.operation = "read", .charge = 2});
  CHECK(log == std::vector<std::string>{"answered read: charge 2"});
  CHECK(charge == 2);
}

}  // namespace
