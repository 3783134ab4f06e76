// A transport of one's own, as docs/guide/writing_a_transport.md builds it: written, wrapped, and
// held to its laws.
#include <keyspan/keyspan.hpp>
#include <keyspan/law.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <iostream>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>

using keyspan::request;
using keyspan::response;
using keyspan::result;
using namespace std::chrono_literals;

namespace {

// [region: transport]
// Carries requests to a function that is called on a thread of its own.
class worker_transport {
 public:
  explicit worker_transport(std::function<response(request const&)> service)
      : service_{std::move(service)}, worker_{[this] { work(); }} {}
  ~worker_transport() {
    hand_over({});
    worker_.join();
  }

  // [region: answer]
  keyspan::task<result<response>> send(request const& what) {
    co_await keyspan::completion_of<void>([this](auto done) { hand_over(done); });
    // From here on this is the worker's thread.
    if (auto const why = keyspan::refusal_of(what, std::chrono::steady_clock::now()))
      co_return keyspan::unexpected{*why};
    response answer = service_(what);
    answer.endpoint = std::string_view{"worker"};
    co_return answer;
  }
  // [end: answer]

 private:
  using turn = std::function<void()>;  // an empty one is the end of work

  void hand_over(turn next) {
    std::lock_guard const lock{mutex_};
    turns_.push(std::move(next));
    arrived_.notify_one();
  }
  void work() {
    while (turn const now = next()) now();
  }
  turn next() {
    std::unique_lock lock{mutex_};
    arrived_.wait(lock, [this] { return !turns_.empty(); });
    turn first = std::move(turns_.front());
    turns_.pop();
    return first;
  }

  std::function<response(request const&)> service_;
  std::mutex mutex_{};
  std::condition_variable arrived_{};
  std::queue<turn> turns_{};
  std::thread worker_;  // the last, so that it finds all the others
};
static_assert(keyspan::transport<worker_transport>);
// [end: transport]

// [region: service]
// Gives back what it is sent to /echo, and is busy for the first two requests of anything else.
class small_service {
 public:
  response operator()(request const& what) {
    ++served_;
    if (what.target == "/echo") {
      response answer{.body = what.body};
      if (auto const echo = what.headers.find("x-echo")) answer.headers.add("x-echo", *echo);
      return answer;
    }
    if (++others_ <= 2) return {.status = 503};
    return {.status = 200, .body = "two reviews"};
  }
  std::size_t served() const { return served_; }

 private:
  std::size_t served_ = 0;
  std::size_t others_ = 0;
};
// [end: service]

}  // namespace

int main() {
  // [region: send]
  small_service service;
  worker_transport wire{std::ref(service)};

  request const asked{.target = "/articles/redmond/reviews"};
  auto const once = keyspan::sync_wait(wire.send(asked));
  std::cout << "once: " << once->status << " from " << once->endpoint << '\n';
  // [end: send]

  // [region: retrying]
  keyspan::thread_clock clock;
  keyspan::retrying patient{
      wire, keyspan::retry_policy{.most_attempts = 4, .budget = 5s, .jitter = 0}, clock,
      [](keyspan::event const& happened) { std::cout << happened.to_text() << '\n'; }};
  auto const answer = keyspan::sync_wait(patient.send(asked));
  std::cout << answer->body << ", after " << answer->attempts << " attempts\n";
  // [end: retrying]

  // [region: test]
  // A test does not sleep: another thread moves the clock on whenever somebody waits by it.
  small_service busy;
  worker_transport to_busy{std::ref(busy)};
  keyspan::manual_clock time;
  keyspan::retry_policy const rarely{
      .budget = 24h, .first_wait = 1h, .longest_wait = 2h, .jitter = 0};
  keyspan::retrying tested{to_busy, rarely, time};
  std::atomic<bool> is_done = false;
  std::thread hands{[&] {
    while (!is_done) {
      if (auto const next = time.next()) time.advance_to(*next);
      std::this_thread::yield();
    }
  }};
  auto const late = keyspan::sync_wait(tested.send(asked));
  is_done = true;
  hands.join();
  auto const passed = std::chrono::floor<std::chrono::hours>(time.now() - keyspan::instant{});
  std::cout << late->body << ", after " << passed.count() << " hours\n";
  // [end: test]

  // [region: law]
  auto const found = keyspan::law::check_transport(
      wire,
      [](std::string body) {
        return request{.method = "POST", .target = "/echo", .body = std::move(body)};
      },
      {.served = [&] { return service.served(); }});
  std::cout << found.to_text() << '\n';
  return found ? 0 : 1;
  // [end: law]
}
