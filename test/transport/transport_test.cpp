// test/transport/transport_test.cpp — what is a transport, and what is none.
#include <keyspan/async/ready.hpp>
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
    if (what.stop.stop_requested()) return keyspan::fail(keyspan::errc::stopped, "not sent");
    if (what.deadline && *what.deadline <= std::chrono::steady_clock::now())
      return keyspan::fail(keyspan::errc::timed_out, "not sent");
    return answer_(what);
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

}  // namespace
