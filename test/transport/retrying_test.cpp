// test/transport/retrying_test.cpp — what is sent again, when, and what comes of it in the end.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/retrying.hpp>
#include <keyspan/transport/transport.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::manual_clock;
using keyspan::request;
using keyspan::request_kind;
using keyspan::response;
using keyspan::result;
using keyspan::retrying;
using namespace std::chrono_literals;

// Answers as it was told to, then with 200, and knows what it was sent and when.
struct scripted_transport {
  manual_clock& clock;
  std::deque<result<response>> answers{};
  std::vector<std::pair<request, keyspan::instant::duration>> sent{};

  keyspan::ready<result<response>> send(request const& what) {
    sent.emplace_back(what, clock.now() - keyspan::instant{});
    if (answers.empty()) return response{};
    auto answer = answers.front();
    answers.pop_front();
    return answer;
  }
};
static_assert(keyspan::transport<scripted_transport> &&
              keyspan::transport<retrying<scripted_transport, manual_clock>>);

struct world {
  manual_clock clock{};
  keyspan::run_loop loop{};
  scripted_transport wire{clock};
  std::vector<std::string> events{};
  retrying<scripted_transport, manual_clock> again{
      wire, {.jitter = 0}, clock, [this](keyspan::event const& one) {
        events.emplace_back(one.to_text().view());
      }};

  result<response> send(request const& what) { return loop.complete(again.send(what), clock); }
};

response status(std::uint16_t code, std::string retry_after_ms = {}) {
  response made{.status = code};
  if (!retry_after_ms.empty()) made.headers.add("x-ms-retry-after-ms", retry_after_ms);
  return made;
}

TEST_CASE("what succeeds is sent once") {
  world in;
  auto const got = in.send({.method = "PUT", .body = "b", .kind = request_kind::write});
  REQUIRE(got.has_value());
  CHECK(got->attempts == 1);
  REQUIRE(in.wire.sent.size() == 1);
  CHECK(in.wire.sent[0].first.body == "b");
  CHECK(in.events == std::vector<std::string>{"answered PUT: status 200"});
}

TEST_CASE("a request is sent again after the waits of its policy, just as it was") {
  world in;
  in.wire.answers = {status(429, "120"), status(503), keyspan::fail(errc::not_connected)};
  auto const got = in.send({.method = "PUT", .target = "/x", .kind = request_kind::write});
  REQUIRE(got.has_value());
  CHECK(got->attempts == 4);
  REQUIRE(in.wire.sent.size() == 4);
  std::vector<keyspan::instant::duration> when;
  for (auto const& [what, at] : in.wire.sent) {
    CHECK(what == in.wire.sent[0].first);
    when.push_back(at);
  }
  CHECK(when == std::vector<keyspan::instant::duration>{0ms, 120ms, 140ms, 180ms});
  CHECK(in.events == std::vector<std::string>{
                         "repeating PUT: throttled, status 429, in 120 ms",
                         "repeating PUT: unavailable, status 503, after 2 attempts, in 20 ms",
                         "repeating PUT: not_connected, after 3 attempts, in 40 ms",
                         "answered PUT: status 200, after 4 attempts"});
}

TEST_CASE("what is given up is answered with what came last") {
  world in;
  for (int i = 0; i < 12; ++i) in.wire.answers.push_back(status(503));
  auto const refused = in.send({});
  REQUIRE(refused.has_value());
  CHECK(refused->status == 503);
  CHECK(refused->attempts == 10);
  CHECK(in.wire.sent.size() == 10);
  in.wire.answers.assign(12, keyspan::fail(errc::not_connected, "refused"));
  auto const failed = in.send({});
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().text == "refused");
  CHECK(failed.error().wire.attempts == 10);
  in.wire.answers = {status(404)};
  CHECK(in.send({})->attempts == 1);
  CHECK(in.events.back() == "failed GET: not_found, status 404");
}

TEST_CASE("a write whose outcome is unknown is not repeated, one that can be done twice is") {
  for (auto const kind : {request_kind::write, request_kind::repeatable_write}) {
    world in;
    in.wire.answers = {keyspan::fail(errc::outcome_unknown, "lost")};
    auto const got = in.send({.kind = kind});
    CHECK(got.has_value() == (kind == request_kind::repeatable_write));
    CHECK(in.wire.sent.size() == (kind == request_kind::write ? 1u : 2u));
  }
}

TEST_CASE("a wait that would go beyond the deadline is not begun") {
  world in;
  in.wire.answers.assign(20, status(429, "100"));
  auto const got = in.send({.deadline = in.clock.now() + 250ms});
  CHECK(got->attempts == 3);
  CHECK(in.clock.now() == keyspan::instant{} + 200ms);
}

keyspan::task<> stop_at(manual_clock& clock, keyspan::instant when, keyspan::stop_source by) {
  static_cast<void>(co_await clock.wait_until(when));
  by.request_stop();
}

TEST_CASE("a stop ends a wait at once") {
  world in;
  in.wire.answers.assign(20, status(429, "10000"));
  keyspan::stop_source stopping;
  request const asked{.stop = stopping.token()};
  auto both =
      keyspan::when_all(in.again.send(asked), stop_at(in.clock, in.clock.now() + 3s, stopping));
  auto const [got, none] = in.loop.complete(std::move(both), in.clock);
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().code == errc::stopped);
  CHECK(got.error().wire.attempts == 1);
  CHECK(in.clock.now() == keyspan::instant{} + 3s);
}

TEST_CASE("who awaits a repetition may be destroyed, where transport and clock allow it") {
  world in;
  in.wire.answers.assign(20, status(429, "10000"));
  {
    auto waiting = in.again.send({});
    auto stopper = stop_at(in.clock, in.clock.now() + 1s, keyspan::stop_source{});
    in.loop.complete(std::move(stopper), in.clock);
  }
  CHECK(in.wire.sent.empty());  // it is lazy
}

// What a service says beside the status.
struct by_body {
  std::optional<error> operator()(response const& answer) const {
    if (answer.body != "busy") return std::nullopt;
    return error{errc::contended, "busy"};
  }
};

TEST_CASE("a judge of one's own says what is an error") {
  manual_clock clock;
  keyspan::run_loop loop;
  scripted_transport wire{clock};
  wire.answers = {response{.body = "busy"}, status(503)};
  retrying<scripted_transport, manual_clock, by_body> again{wire, {.jitter = 0}, clock};
  auto const got = loop.complete(again.send({}), clock);
  CHECK(got->status == 503);
  CHECK(got->attempts == 2);
}

TEST_CASE("the example of retrying reads as it should") {
  manual_clock clock;
  scripted_transport wire{clock};
  wire.answers = {status(503)};
  keyspan::run_loop loop;
  // [region: example]
  keyspan::retrying patient{wire, keyspan::retry_policy{.most_attempts = 5}, clock};
  auto const answer = loop.complete(patient.send({.target = "/reviews"}), clock);
  // [end: example]
  CHECK(answer->attempts == 2);
}

}  // namespace
