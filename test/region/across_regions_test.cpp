// test/region/across_regions_test.cpp — requests on their way from region to region.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/across_regions.hpp>
#include <keyspan/region/region_directory.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::account_regions;
using keyspan::errc;
using keyspan::error;
using keyspan::instant;
using keyspan::manual_clock;
using keyspan::region_directory;
using keyspan::region_preferences;
using keyspan::region_use;
using keyspan::request_kind;
using keyspan::response;
using keyspan::result;
using keyspan::service_endpoint;
using keyspan::service_region;
using namespace std::chrono_literals;

service_endpoint at(std::string_view host) {
  return *service_endpoint::parse("https://" + std::string{host} + ".example.com");
}
std::vector<service_region> regions(std::vector<std::string> const& names) {
  std::vector<service_region> made;
  for (std::string const& name : names) made.push_back({name, at(name)});
  return made;
}

// The substatuses that say something of a region, as errors.
struct judge {
  std::optional<error> operator()(response const& answer) const {
    auto why = keyspan::http_errors{}(answer);
    if (!why) return why;
    auto const sub = why->wire.substatus;
    if (answer.status == 403 && sub == 3) why->code = errc::region_not_writable;
    if (answer.status == 403 && sub == 1008) why->code = errc::unavailable;
    if (answer.status == 404 && sub == 1002) why->code = errc::session_not_available;
    return why;
  }
};

// An account whose regions answer by a script, 200 where it says nothing, and what was asked.
struct world {
  explicit world(region_preferences like = {}) : directory{at("account"), std::move(like)} {}

  // status * 10000 + substatus; 0 is no connection.
  void says(std::string const& region, std::vector<std::uint32_t> statuses) {
    auto& to = script[region];
    to.insert(to.end(), statuses.begin(), statuses.end());
  }
  result<response> answer_of(service_region const& of) {
    auto const name = of.endpoint.host.substr(0, of.endpoint.host.find('.'));
    asked += (asked.empty() ? "" : " ") + name;
    auto& left = script[name];
    std::uint32_t said = 200'0000;
    if (!left.empty()) {
      said = left.front();
      left.pop_front();
    }
    if (said == 0) return keyspan::fail(errc::not_connected, "nobody listens");
    response made;
    made.status = static_cast<std::uint16_t>(said / 10000);
    if (said % 10000 != 0) made.headers.add("x-ms-substatus", std::to_string(said % 10000));
    made.headers.add("x-ms-request-charge", "2");
    return made;
  }
  keyspan::task<result<response>> attempted(service_region of,
                                            std::optional<instant::duration> patience) {
    if (silent.contains(of.endpoint.host)) {
      asked += (asked.empty() ? "" : " ") + of.name + "...";
      auto waiting = keyspan::wait_for(clock, patience.value_or(9s));
      static_cast<void>(co_await std::move(waiting));
      co_return keyspan::fail(errc::timed_out, "no answer");
    }
    co_return answer_of(of);
  }
  keyspan::task<result<account_regions>> looked(service_endpoint where, instant until) {
    ++looks;
    looked_at = where.host;
    if (silent.contains(where.host)) {
      auto waiting = clock.wait_until(until);
      static_cast<void>(co_await std::move(waiting));
      co_return keyspan::fail(errc::timed_out, "no answer");
    }
    if (down.contains(where.host)) co_return keyspan::fail(errc::not_connected, "nobody listens");
    co_return account;
  }
  result<response> send(keyspan::regional_request what) {
    auto const ask = [this](service_region const& of, keyspan::region_attempt const& within) {
      was_many = within.writes_in_many;
      return attempted(of, within.patience);
    };
    auto const look = [this](service_endpoint const& where, instant until) {
      return looked(where, until);
    };
    auto sending =
        keyspan::send_across(directory, clock, std::move(what), ask, look, judge{}, &hook);
    return loop.complete(std::move(sending), clock);
  }
  result<response> read() { return send({}); }
  result<response> write(request_kind kind = request_kind::write) {
    return send({.use = region_use::write, .kind = kind});
  }

  manual_clock clock{};
  keyspan::run_loop loop{};
  account_regions account{regions({"west"}), regions({"west", "north", "east"})};
  region_directory directory;
  std::map<std::string, std::deque<std::uint32_t>> script{};
  std::set<std::string> down{}, silent{};
  std::string asked{};
  int looks = 0;
  std::string looked_at{};
  bool was_many = false;
  std::vector<std::string> events{};
  keyspan::event_hook hook = [this](keyspan::event const& one) {
    events.emplace_back(one.to_text().view());
  };
};

TEST_CASE("a read goes to the preferred region, a write to the one that takes it") {
  world w{{.preferred = {"north", "east"}}};
  CHECK(w.read()->status == 200);
  CHECK(w.write()->status == 200);
  CHECK(w.asked == "north west");
  CHECK(w.looks == 1);
  CHECK(w.events.empty());
}

TEST_CASE("a region that cannot serve a read is followed by the next one, and answered for") {
  world w{{.preferred = {"north", "east"}}};
  w.says("north", {503'0000});
  auto const answer = w.read();
  CHECK(w.asked == "north east");
  CHECK(answer->status == 200);
  CHECK(answer->attempts == 2);
  CHECK(answer->charge == 4);
  CHECK(w.clock.now() == instant{});
  CHECK(w.events == std::vector<std::string>{"repeating send: unavailable, status 503, in 0 ms"});
  CHECK(w.read());
  CHECK(w.asked == "north east north");  // that was one request, not the region
}

TEST_CASE("a region that cannot be reached is asked last for five minutes") {
  world w{{.preferred = {"north", "east"}}};
  w.says("north", {0});
  CHECK(w.read());
  CHECK(w.read());
  CHECK(w.asked == "north east east");
  w.clock.advance(5min);
  CHECK(w.read());
  CHECK(w.asked == "north east east north");
}

TEST_CASE("a write finds the region that takes it now") {
  world w{{.preferred = {"north", "east"}}};
  CHECK(w.write());
  w.clock.advance(10s);
  w.says("west", {403'0003});
  w.account = {regions({"east"}), regions({"west", "north", "east"})};
  CHECK(w.write()->status == 200);
  CHECK(w.asked == "west west east");
  CHECK(w.looks == 2);
  CHECK(w.clock.now() == instant{} + 10s);
  CHECK(w.write());
  CHECK(w.asked == "west west east east");
}

TEST_CASE("a write waits while no region takes it, and gives up in the end") {
  world w;
  w.says("west", std::vector<std::uint32_t>(200, 403'0003));
  auto const answer = w.write();
  CHECK(answer->status == 403);
  // 30 s of them, a second apart but for the first.
  CHECK(answer->attempts == 32);
  CHECK(w.clock.now() == instant{} + 30s);
}

TEST_CASE("what a replica has not seen is read where it is written") {
  world w{{.preferred = {"north", "east"}}};
  w.says("north", {404'1002});
  CHECK(w.read()->status == 200);
  CHECK(w.asked == "north west");
  w.asked.clear();
  w.says("north", {404'1002});
  w.says("west", {404'1002, 404'1002});
  CHECK(w.read()->status == 404);
  CHECK(w.asked == "north west west");
}

TEST_CASE("where many regions take writes the nearest one does, and the next where it cannot") {
  world w{{.preferred = {"north", "west"}, .writes_everywhere = true}};
  w.account = {regions({"west", "north"}), regions({"west", "north"}), true};
  CHECK(w.write());
  CHECK(w.was_many);
  w.says("north", {0});
  CHECK(w.write());
  CHECK(w.asked == "north north west");
  CHECK(w.send({.use = region_use::administer, .kind = request_kind::write}));
  CHECK(w.asked == "north north west west");
}

TEST_CASE("a write that may have been done is not sent to another region") {
  world w{{.preferred = {"north", "west"}, .writes_everywhere = true}};
  w.account = {regions({"west", "north"}), regions({"west", "north"}), true};
  w.says("north", {500'0000});
  CHECK(w.write()->status == 500);
  CHECK(w.asked == "north");
  w.says("north", {500'0000});
  CHECK(w.write(request_kind::repeatable_write)->status == 200);
  CHECK(w.asked == "north north west");
}

TEST_CASE("an account whose own address is silent is asked at those of its regions") {
  world w{{.preferred = {"north"}}};
  w.down.insert("account.example.com");
  CHECK(w.read());
  CHECK(w.asked == "north");
  CHECK(w.looks == 2);
  CHECK(w.looked_at == "account-north.example.com");
}

TEST_CASE("an account that says nothing of its regions is asked at its address") {
  world w;
  w.down.insert("account.example.com");
  CHECK(w.read());
  CHECK(w.write());
  CHECK(w.asked == "account account");
}

TEST_CASE("a wait that would last until the deadline is not begun") {
  world w;
  w.says("west", std::vector<std::uint32_t>(20, 403'0003));
  auto const answer = w.send(
      {.use = region_use::write, .kind = request_kind::write, .deadline = instant{} + 2500ms});
  CHECK(answer->status == 403);
  CHECK(w.clock.now() == instant{} + 2s);
}

TEST_CASE("a wait ends where stop is requested") {
  world w;
  keyspan::stop_source stop;
  w.says("west", {403'0003, 403'0003, 403'0003});
  w.hook = [&](keyspan::event const& one) {
    if (one.wait > 0s) stop.request_stop();
  };
  auto const answer =
      w.send({.use = region_use::write, .kind = request_kind::write, .stop = stop.token()});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == errc::stopped);
  CHECK(answer.error().wire.attempts == 2);
}

TEST_CASE("an error says how many attempts there were, and what they cost") {
  world w{{.preferred = {"north", "east"}}};
  w.says("north", {503'0000});
  w.says("east", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  w.says("west", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  w.says("north", std::vector<std::uint32_t>(10, 0));
  auto const answer = w.read();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == errc::not_connected);
  CHECK(answer.error().wire.attempts == 10);
  CHECK(answer.error().wire.charge == 2);
}

TEST_CASE("the example of across_regions reads as it should") {
  world w{{.preferred = {"north", "east"}}};
  w.says("north", {503'0000});
  auto& loop = w.loop;
  auto& clock = w.clock;
  auto& directory = w.directory;
  auto const ask_there = [&](service_region const& of) {
    return keyspan::ready<result<response>>{w.answer_of(of)};
  };
  auto const ask_account = [&](service_endpoint const&) {
    return keyspan::ready<result<account_regions>>{w.account};
  };
  // [region: example]
  auto const ask = [&](service_region const& of, keyspan::region_attempt const&) {
    return ask_there(of);
  };
  auto const look = [&](service_endpoint const& at, instant) { return ask_account(at); };
  keyspan::regional_request what{.use = region_use::read, .kind = request_kind::read};
  auto sending =
      keyspan::send_across(directory, clock, what, ask, look, keyspan::http_errors{}, nullptr);
  auto const answer = loop.complete(std::move(sending), clock);
  CHECK(answer->attempts == 2);  // the nearest region was not available
  // [end: example]
  CHECK(answer->status == 200);
  CHECK(w.asked == "north east");
}

TEST_CASE("each region is tried before any is tried again, whatever the troubles are") {
  world w{{.preferred = {"north", "east", "west"}}};
  w.says("north", {503'0000});
  w.says("east", {0});
  CHECK(w.read());
  CHECK(w.asked == "north east west");
  CHECK(w.clock.now() == instant{});
  w.asked.clear();
  w.says("north", {0});
  w.says("west", {503'0000});
  w.says("east", {0});
  CHECK(w.read());
  CHECK(w.asked == "north west east west");
  CHECK(w.clock.now() == instant{} + 10ms);
}

TEST_CASE("a region that is silent is given up after a while, and asked last from then on") {
  world w{{.preferred = {"north", "east"}}};
  w.silent = {"north.example.com"};
  CHECK(w.read());
  CHECK(w.clock.now() == instant{} + 5s);
  CHECK(w.read());
  CHECK(w.asked == "north... east east");
  CHECK(w.clock.now() == instant{} + 5s);
}

TEST_CASE("a read with little time leaves half of it to the next region") {
  world w{{.preferred = {"north", "east", "west"}}};
  CHECK(w.read());
  w.silent = {"north.example.com", "east.example.com"};
  CHECK(w.send({.deadline = instant{} + 2s}));
  CHECK(w.asked == "north north... east... west");
  CHECK(w.clock.now() == instant{} + 1500ms);
}

TEST_CASE("a write that must not be done twice is given all of its time") {
  world w{{.preferred = {"north", "west"}, .writes_everywhere = true}};
  w.account = {regions({"west", "north"}), regions({"west", "north"}), true};
  CHECK(w.read());
  w.silent = {"north.example.com"};
  auto const answer =
      w.send({.use = region_use::write, .kind = request_kind::write, .deadline = instant{} + 9s});
  CHECK(answer.error().code == errc::timed_out);
  CHECK(w.asked == "north north...");
  CHECK(w.clock.now() == instant{} + 9s);
}

TEST_CASE("an account whose own address is silent is asked elsewhere, in time") {
  world w{{.preferred = {"north"}}};
  w.silent = {"account.example.com"};
  CHECK(w.send({.deadline = instant{} + 2s}));
  CHECK(w.asked == "north");
  CHECK(w.looked_at == "account-north.example.com");
  CHECK(w.clock.now() == instant{} + 1s);
}

TEST_CASE("who has no time to look does not keep others from it") {
  world w{{.preferred = {"north"}}};
  w.silent = {"account.example.com", "account-north.example.com"};
  static_cast<void>(w.send({.deadline = instant{} + 1ms}));
  w.silent.clear();
  CHECK(w.read());
  CHECK(w.directory.known().readable.size() == 3);
}

TEST_CASE("what is asked where it is written is asked elsewhere while that cannot be reached") {
  world w{{.preferred = {"north", "east"}}};
  CHECK(w.send({.begins_where_written = true}));
  CHECK(w.asked == "west");
  w.silent = {"west.example.com"};
  CHECK(w.send({.begins_where_written = true}));
  CHECK(w.asked == "west west... north");
  auto const now = w.clock.now();
  CHECK(w.send({.begins_where_written = true}));
  CHECK(w.asked == "west west... north north");
  CHECK(w.clock.now() == now);
}

TEST_CASE("a region that is silent to writes is asked last by the next ones") {
  for (auto const kind : {request_kind::write, request_kind::repeatable_write}) {
    world w{{.preferred = {"north", "west"}, .writes_everywhere = true}};
    w.account = {regions({"west", "north"}), regions({"west", "north"}), true};
    CHECK(w.read());
    w.silent = {"north.example.com"};
    w.asked.clear();
    static_cast<void>(w.write(kind));
    w.asked.clear();
    CHECK(w.write(kind)->status == 200);
    CHECK(w.asked == "west");
  }
}

TEST_CASE("a region that is silent until the caller's deadline is not asked once more") {
  world w{{.preferred = {"north", "east"}}};
  CHECK(w.read());
  w.silent = {"north.example.com", "east.example.com", "west.example.com"};
  w.asked.clear();
  CHECK(w.send({.deadline = instant{} + 1us}).error().code == errc::timed_out);
  CHECK(w.clock.now() <= instant{} + 1us);
}

}  // namespace
