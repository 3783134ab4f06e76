// test/transport/transport_test.cpp — what is a transport, and what is none.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/transport.hpp>

#include <support/check.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace {

using keyspan::request;
using keyspan::response;
using keyspan::result;

struct without_send {};
struct by_value {
  keyspan::task<result<response>> send(request what);
};
struct without_await {
  result<response> send(request const& what);
};
struct of_text {
  keyspan::ready<std::string> send(request const& what);
};
struct by_changing {
  keyspan::ready<result<response>> send(request& what);
};
static_assert(keyspan::transport<by_value>);
static_assert(!keyspan::transport<without_send> && !keyspan::transport<without_await> &&
              !keyspan::transport<of_text> && !keyspan::transport<by_changing>);

// [region: example]
// Whatever answers requests in this process: a service under test, or one that is called directly.
class local_service {
 public:
  explicit local_service(std::function<response(request const&)> answer)
      : answer_{std::move(answer)} {}

  keyspan::ready<result<response>> send(request const& what) {
    if (auto const why = keyspan::refusal_of(what, std::chrono::steady_clock::now()))
      return result<response>{keyspan::unexpected{*why}};
    return result<response>{answer_(what)};
  }

 private:
  std::function<response(request const&)> answer_;
};
static_assert(keyspan::transport<local_service>);
// [end: example]

TEST_CASE("a service in this process is a transport") {
  local_service shop{[](request const& what) { return response{.body = what.target}; }};
  CHECK(keyspan::sync_wait(shop.send({.target = "/a"}))->body == "/a");
}

TEST_CASE("a request is refused once it was stopped, and from its deadline on") {
  keyspan::instant const noon{std::chrono::hours{12}};
  constexpr std::chrono::nanoseconds moment{1};
  request what{};
  CHECK_FALSE(keyspan::refusal_of(what, noon));
  what.deadline = noon;
  CHECK_FALSE(keyspan::refusal_of(what, noon - moment));
  auto const late = keyspan::refusal_of(what, noon);
  REQUIRE(late);
  CHECK(late->code == keyspan::errc::timed_out);
  CHECK(late->wire.status == 0);  // else it would count as a service's own
  CHECK_FALSE(late->text.empty());

  keyspan::stop_source stopping;
  what.stop = stopping.token();
  CHECK_FALSE(keyspan::refusal_of(what, noon - moment));
  stopping.request_stop();
  for (auto const at : {noon - moment, noon}) {
    auto const why = keyspan::refusal_of(what, at);
    REQUIRE(why);
    CHECK(why->code == keyspan::errc::stopped);
  }
}

}  // namespace
