// A transport of one's own, as docs/guide/writing_a_transport.md builds it: written, wrapped, and
// held to its laws.
#include <keyspan/keyspan.hpp>
#include <keyspan/law.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

using keyspan::errc;
using keyspan::error;
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
  worker_transport(worker_transport const&) = delete;
  worker_transport& operator=(worker_transport const&) = delete;
  ~worker_transport() {
    hand_over(std::nullopt);
    worker_.join();
  }

  auto send(request const& what) {
    return keyspan::completion_of<result<response>>(
        [this, &what](auto done) { hand_over(job{&what, done}); });
  }

 private:
  // The request lives until the send is done, and who waits for it goes on where `done` is called.
  struct job {
    request const* what;
    keyspan::completer<result<response>> done;
  };

  void hand_over(std::optional<job> one) {
    std::lock_guard const lock{mutex_};
    jobs_.push_back(std::move(one));
    arrived_.notify_one();
  }
  std::optional<job> next() {
    std::unique_lock lock{mutex_};
    arrived_.wait(lock, [this] { return !jobs_.empty(); });
    std::optional<job> first = std::move(jobs_.front());
    jobs_.pop_front();
    return first;
  }
  void work() {
    while (auto const one = next()) one->done(answer_to(*one->what));
  }
  // [region: answer]
  result<response> answer_to(request const& what) {
    if (what.stop.stop_requested()) return keyspan::fail(errc::stopped, "not sent");
    if (what.deadline && *what.deadline <= std::chrono::steady_clock::now())
      return keyspan::fail(errc::timed_out, "the deadline passed before it was sent");
    response answer = service_(what);
    answer.endpoint = std::string_view{"worker"};
    return answer;
  }
  // [end: answer]

  std::function<response(request const&)> service_;
  std::mutex mutex_{};
  std::condition_variable arrived_{};
  std::deque<std::optional<job>> jobs_{};  // none is the end of work
  std::thread worker_;                     // the last, so that it finds all the others
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
