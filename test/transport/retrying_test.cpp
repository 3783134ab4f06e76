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
#include <support/contracts.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
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
using keyspan::retry_policy;
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

TEST_CASE("a wait up to the very deadline is not begun, for nothing would be sent at its end") {
  world in;
  in.wire.answers.assign(20, status(429, "100"));
  auto const got = in.send({.deadline = in.clock.now() + 200ms});
  CHECK(got->attempts == 2);
  CHECK(got->status == 429);
}

TEST_CASE("what waits and attempts take counts against the budget") {
  world in;
  in.wire.answers.assign(20, status(503, "10000"));
  CHECK(in.send({})->attempts == 4);  // at 0, 10, 20 and 30 seconds
  CHECK(in.clock.now() == keyspan::instant{} + 30s);
}

TEST_CASE("requests that fail together do not come back together") {
  manual_clock clock;
  keyspan::run_loop loop;
  scripted_transport wire{clock};
  wire.answers = {status(503), status(503)};
  retrying again{wire, keyspan::retry_policy{.seed = 42}, clock};
  static_cast<void>(loop.complete(keyspan::when_all(again.send({}), again.send({})), clock));
  REQUIRE(wire.sent.size() == 4);
  CHECK(wire.sent[0].second == wire.sent[1].second);
  CHECK(wire.sent[2].second != wire.sent[3].second);
}

TEST_CASE("more attempts than an answer has room for are told as the most there is") {
  manual_clock clock;
  keyspan::run_loop loop;
  scripted_transport wire{clock};
  wire.answers.assign(70'000, status(503));
  retrying again{wire, {.most_attempts = 66'000, .first_wait = 0ns, .jitter = 0}, clock};
  CHECK(loop.complete(again.send({}), clock)->attempts == 65'535);
  CHECK(wire.sent.size() == 66'000);
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

TEST_CASE("a deadline that has long passed is no endless one") {
  world in;
  in.clock.advance_to(keyspan::instant{} + 1s);
  in.wire.answers.assign(20, status(503));
  CHECK(in.send({.deadline = (keyspan::instant::min)()})->attempts == 1);
  in.wire.answers.assign(2, status(503));
  CHECK(in.send({.deadline = (keyspan::instant::max)()})->attempts == 3);
}

response busy(std::string charge, std::string id) {
  return {.status = 429,
          .headers = {{"x-ms-substatus", "3200"},
                      {"x-ms-request-charge", std::move(charge)},
                      {"x-ms-activity-id", std::move(id)}},
          .endpoint = std::string_view{"localhost:8081"}};
}

// Keeps what was told, texts included.
struct account {
  std::vector<double> charges{};
  std::vector<std::string> ids{};
  std::vector<std::string> endpoints{};
  std::vector<keyspan::instant::duration> elapsed{};
  std::uint16_t status = 0;
  std::uint16_t substatus = 0;

  void operator()(keyspan::event const& one) {
    charges.push_back(one.charge);
    ids.emplace_back(one.activity_id);
    endpoints.emplace_back(one.endpoint);
    elapsed.push_back(one.elapsed);
    status = one.status;
    substatus = one.substatus;
  }
  double sum() const { return std::accumulate(charges.begin(), charges.end(), 0.0); }
};

struct accounted {
  manual_clock clock{};
  keyspan::run_loop loop{};
  scripted_transport wire{clock};
  account told{};
  retrying<scripted_transport, manual_clock> again{
      wire, {.most_attempts = 3, .throttled_wait = 2s, .jitter = 0}, clock, std::ref(told)};

  result<response> send(request const& what) { return loop.complete(again.send(what), clock); }
};

TEST_CASE("an answer carries what all attempts cost, and each event what its own one did") {
  accounted in;
  response done{.headers = {{"x-ms-request-charge", "7"}, {"x-ms-activity-id", "c"}},
                .endpoint = std::string_view{"localhost:8081"}};
  in.wire.answers = {busy("1.5", "a"), busy("0.25", "b"), done};
  auto const got = in.send({});
  CHECK(got->charge == 8.75);
  CHECK(in.told.charges == std::vector{1.5, 0.25, 7.0});
  CHECK(in.told.ids == std::vector<std::string>{"a", "b", "c"});
  CHECK(in.told.elapsed == std::vector<keyspan::instant::duration>{0s, 2s, 4s});
  CHECK(in.told.substatus == 0);
}

TEST_CASE("a response that is given up says all of it when it is judged once more") {
  accounted in;
  in.wire.answers = {busy("1.5", "a"), busy("0.25", "b"), busy("0.5", "c")};
  auto const why = keyspan::http_errors{}(in.send({}).value());
  REQUIRE(why);
  CHECK(why->code == errc::throttled);
  CHECK(why->wire == keyspan::wire_details{.status = 429,
                                           .substatus = 3200,
                                           .attempts = 3,
                                           .charge = 2.25,
                                           .activity_id = {"c"},
                                           .endpoint = {"localhost:8081"}});
  CHECK(in.told.sum() == 2.25);
  CHECK(in.told.substatus == 3200);
}

TEST_CASE("an error after answers says where it comes from and what they cost") {
  accounted in;
  in.wire.answers = {busy("1.5", "a"), keyspan::fail(errc::unauthorized, "no key")};
  auto const got = in.send({});
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().text == "no key");
  CHECK(got.error().wire ==
        keyspan::wire_details{.attempts = 2, .charge = 1.5, .endpoint = {"localhost:8081"}});
  CHECK(in.told.endpoints == std::vector<std::string>{"localhost:8081", "localhost:8081"});
  CHECK(in.told.sum() == 1.5);

  error charged{errc::unauthorized};
  charged.wire.charge = 4;
  charged.wire.endpoint.append("proxy:1");
  in.wire.answers = {busy("1", "b"), keyspan::unexpected{charged}};
  auto const other = in.send({});
  CHECK(other.error().wire.charge == 5);
  CHECK(other.error().wire.endpoint == "proxy:1");
}

TEST_CASE("who stops a wait learns what it was waiting for, and no charge is told twice") {
  accounted in;
  in.wire.answers = {busy("1.5", "a")};
  keyspan::stop_source stopping;
  request const asked{.stop = stopping.token()};
  auto both =
      keyspan::when_all(in.again.send(asked), stop_at(in.clock, in.clock.now() + 1s, stopping));
  auto const [got, none] = in.loop.complete(std::move(both), in.clock);
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().code == errc::stopped);
  CHECK(got.error().wire.status == 429);
  CHECK(got.error().wire.substatus == 3200);
  CHECK(got.error().wire.activity_id == "a");
  CHECK(got.error().wire.endpoint == "localhost:8081");
  CHECK(got.error().wire.charge == 1.5);
  CHECK(in.told.charges == std::vector{1.5, 0.0});
  CHECK(in.told.elapsed == std::vector<keyspan::instant::duration>{0s, 1s});
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

TEST_CASE("a judge is kept with what it knows, and may leave the waiting to the response") {
  struct from {
    std::uint16_t least = 400;
    std::optional<error> operator()(response const& answer) const {
      if (answer.status < least) return std::nullopt;
      return error{errc::unavailable};
    }
  };
  manual_clock clock;
  keyspan::run_loop loop;
  scripted_transport wire{clock};
  wire.answers = {status(299, "700"), status(250)};
  retrying<scripted_transport, manual_clock, from> again{
      wire, {.jitter = 0}, clock, {}, from{.least = 299}};
  CHECK(loop.complete(again.send({}), clock)->status == 250);
  CHECK(clock.now() == keyspan::instant{} + 700ms);
}

TEST_CASE("what a judge leaves out is told from the response, and what it says stands") {
  struct as_late {
    std::optional<error> operator()(response const& answer) const {
      if (answer.status != 429) return std::nullopt;
      error why{errc::timed_out};  // by the service, for there is an answer
      if (answer.headers.find("x-ms-activity-id") == "b") {
        why.wire.status = 408;
        why.wire.substatus = 7;
      }
      return why;
    }
  };
  manual_clock clock;
  keyspan::run_loop loop;
  scripted_transport wire{clock};
  wire.answers = {busy("1.5", "a"), busy("0.25", "b")};
  account told;
  retrying<scripted_transport, manual_clock, as_late> again{
      wire, {.most_attempts = 2, .jitter = 0}, clock, std::ref(told)};
  auto const got = loop.complete(again.send({}), clock);
  CHECK(got->attempts == 2);
  CHECK(told.sum() == 1.75);
  CHECK(told.status == 408);
  CHECK(told.substatus == 7);
  CHECK(told.endpoints == std::vector<std::string>{"localhost:8081", "localhost:8081"});
}

TEST_CASE("a policy that nobody can keep is refused before anything is sent") {
  world all;
  CHECK(test::promise_broken_by([&] {
          keyspan::retrying const none{all.wire, retry_policy{.most_attempts = 0}, all.clock};
        }) == "a request is attempted once at least");
  CHECK(test::promise_broken_by([&] {
          keyspan::retrying const nervous{all.wire, retry_policy{.jitter = 1.5}, all.clock};
        }) == "a jitter is a share from 0 to 1");
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
