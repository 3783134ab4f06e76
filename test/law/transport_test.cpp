// test/law/transport_test.cpp — the laws of transports: good ones keep them, and for each law there
// is a transport that breaks it and is caught.
#include <keyspan/async/completion.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/finding.hpp>
#include <keyspan/law/transport.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retrying.hpp>
#include <keyspan/transport/transport.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::fail;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::task;
using keyspan::law::check_transport;
using keyspan::law::finding;
using test::check;

void holds(finding const& found) {
  INFO(found.text());
  CHECK(found);
}

// Gives back what it is sent, and counts.
struct echo_service {
  std::size_t served = 0;

  response operator()(request const& what) {
    ++served;
    if (what.target == "/refused") return {.status = 404, .body = "no such thing"};
    response answer{.body = what.body, .endpoint = {"[::1]:8081"}};
    if (auto const echo = what.headers.find("x-echo")) answer.headers.add("X-Echo", *echo);
    return answer;
  }
};

// A transport to a service in this process.
class local_transport {
 public:
  explicit local_transport(echo_service& to) : to_{&to} {}

  keyspan::ready<result<response>> send(request const& what) {
    if (what.stop.stop_requested()) return fail(errc::stopped, "not sent");
    if (what.deadline && *what.deadline <= std::chrono::steady_clock::now())
      return fail(errc::timed_out, "not sent");
    return (*to_)(what);
  }

 private:
  echo_service* to_;
};

TEST_CASE("the example of the laws of transports reads as it should") {
  echo_service service;
  // [region: example]
  // Run over a transport of one's own, to a service that gives back what it is sent.
  local_transport mine{service};
  auto const found = keyspan::law::check_transport(
      mine,
      [](std::string body) {
        return request{.method = "POST", .target = "/echo", .body = std::move(body)};
      },
      {.served = [&] { return service.served; }});
  check(static_cast<bool>(found));  // else found.text() says which law, and in which case
  // [end: example]
}

// ---- transports that break one law each --------------------------------------------------------

// What is held back here is known by its size: that of a body which is stopped in flight, and those
// of bodies that are under way together.
constexpr std::size_t largest_body = 5'001;
constexpr std::size_t size_in_flight = largest_body / 2 + 1;
constexpr std::size_t at_once = 4;

// What the others change. The check sees this class alone, so that it is compiled once.
class echoing {
 public:
  echoing() = default;
  echoing(echoing&&) = delete;
  virtual ~echoing() = default;

  task<result<response>> send(request const& what) {
    if (auto const why = refusal(what)) co_return keyspan::unexpected{*why};
    if (!is_held_back(what)) {
      result<response> at_hand = answer(what);
      co_return at_hand;
    }
    std::optional<keyspan::stop_callback<cutting>> on_stop;
    result<response> later = co_await keyspan::completion_of<result<response>>([&](auto done) {
      if (what.stop.stop_possible()) {
        static_cast<void>(service(what));
        on_stop.emplace(what.stop, cutting{*this, done});
      } else {
        hold_back(what, done);
      }
    });
    co_return later;
  }

  echo_service service{};

 protected:
  virtual std::optional<error> refusal(request const& what) {
    if (what.stop.stop_requested()) return error{errc::stopped, "not sent"};
    if (what.deadline && *what.deadline <= std::chrono::steady_clock::now())
      return error{errc::timed_out, "not sent"};
    return std::nullopt;
  }
  virtual result<response> answer(request const& what) {
    return what.target == "/unanswered" ? late(what) : service(what);
  }
  // Nobody has answered until the deadline.
  virtual result<response> late(request const& what) {
    static_cast<void>(service(what));
    std::this_thread::sleep_until(*what.deadline);
    return fail(errc::timed_out, "nobody answered");
  }
  // Answers that were under way together, in the order of their requests.
  virtual void pass_on(std::vector<result<response>>&) {}
  virtual result<response> cut_off() { return fail(errc::stopped, "cut off"); }

 private:
  using completer = keyspan::completer<result<response>>;

  struct cutting {
    void operator()() const noexcept { done(of.cut_off()); }
    echoing& of;
    completer done;
  };
  struct held_back {
    request const* what;
    completer done;
  };

  static bool is_held_back(request const& what) {
    if (what.stop.stop_possible()) return what.body.size() == size_in_flight;
    return what.body.size() % 1'000 == 0 && !what.body.empty();
  }
  // All of them are answered when the last one is there, the last one first.
  void hold_back(request const& what, completer const& done) {
    held_.push_back({&what, done});
    if (held_.size() != at_once) return;
    auto const all = std::exchange(held_, {});
    std::vector<result<response>> answers;
    for (auto const& one : all) answers.push_back(service(*one.what));
    pass_on(answers);
    for (std::size_t i = all.size(); i-- > 0;) all[i].done(answers[i]);
  }

  std::vector<held_back> held_{};
};

// A header stands in each, so that there is one to be changed.
request posted(std::string body) {
  return {.method = "POST",
          .target = "/echo",
          .headers = {{"content-type", "application/octet-stream"}},
          .body = std::move(body),
          .kind = keyspan::request_kind::repeatable_write};
}

finding look_at(echoing& wire) {
  return check_transport(wire, &posted,
                         {.served = [&] { return wire.service.served; },
                          .at_once = at_once,
                          .largest_body = largest_body});
}
template <class Wire>
std::string finding_in_a() {
  Wire wire;
  return std::string{look_at(wire).text()};
}

TEST_CASE("a transport that suspends, answers out of order and can be stopped keeps the laws") {
  echoing wire;
  holds(look_at(wire));
  CHECK(wire.service.served > 20);
}

// The whole of the check, with all that a service may be asked to do.
template <class Wire>
finding look_closely_at(Wire& wire, echo_service const& service) {
  return check_transport(wire, &posted,
                         {.served = [&] { return service.served; },
                          .at_once = at_once,
                          .largest_body = largest_body,
                          .refused = [] { return request{.target = "/refused"}; },
                          .unanswered =
                              [] {
                                return request{.target = "/unanswered",
                                               .body = std::string(size_in_flight, 'u')};
                              }});
}
template <class Wire>
std::string close_finding_in_a() {
  Wire wire;
  return std::string{look_closely_at(wire, wire.service).text()};
}

TEST_CASE("a transport to a service that also refuses and is silent keeps the laws") {
  echoing wire;
  holds(look_closely_at(wire, wire.service));
}

TEST_CASE("a transport that makes an error of a refusal is found out") {
  struct judging : echoing {
    result<response> answer(request const& what) override {
      auto got = echoing::answer(what);
      if (got && got->status == 404) return fail(errc::not_found, "no such thing");
      return got;
    }
  };
  CHECK(close_finding_in_a<judging>() ==
        "broken law: an answer is a response, whatever its status says; the service refused: "
        "not_found, no such thing");
  CHECK(finding_in_a<judging>().empty());
  struct glossing_over : echoing {
    result<response> answer(request const& what) override {
      auto got = echoing::answer(what);
      if (got) got->status = 200;
      return got;
    }
  };
  CHECK(close_finding_in_a<glossing_over>() ==
        "broken law: an answer is a response, whatever its status says; the service refused: "
        "status 200, 13 bytes");
}

TEST_CASE("a transport that is of no use when it was refused is found out") {
  struct giving_up : echoing {
    std::optional<error> refusal(request const& what) override {
      if (is_refused) return error{errc::not_connected, "closed for good"};
      is_refused = what.target == "/refused";
      return echoing::refusal(what);
    }
    bool is_refused = false;
  };
  CHECK(close_finding_in_a<giving_up>() ==
        "broken law: a transport is as good as before when it has failed; a request behind it: "
        "not_connected, closed for good");
}

TEST_CASE("a transport that waits on although it was stopped is found out") {
  struct deaf : echoing {
    result<response> cut_off() override { return response{.body = "at last"}; }
    std::optional<error> refusal(request const& what) override {
      // What is stopped in flight with the others it gives up as it should.
      if (what.stop.stop_possible() && what.target != "/unanswered")
        return error{errc::stopped, "at once"};
      return echoing::refusal(what);
    }
  };
  CHECK(close_finding_in_a<deaf>() ==
        "broken law: a request that nobody answers ends when it is stopped; stopped: status 200, "
        "7 bytes");
  CHECK(finding_in_a<deaf>().empty());
}

TEST_CASE("a transport that waits on behind the deadline is found out") {
  struct patient : echoing {
    result<response> late(request const&) override { return response{.body = "at last"}; }
  };
  CHECK(close_finding_in_a<patient>() ==
        "broken law: a request that nobody answers ends at its deadline; timed_out: status 200, "
        "7 bytes");
  CHECK(finding_in_a<patient>().empty());
}

TEST_CASE("a transport whose deadline looks like a service's own is found out") {
  struct with_a_status : echoing {
    std::optional<error> refusal(request const& what) override {
      auto why = echoing::refusal(what);
      if (why && why->code == errc::timed_out) why->wire.status = 408;
      return why;
    }
  };
  CHECK(finding_in_a<with_a_status>() ==
        "broken law: a request whose deadline has passed is not sent; timed_out: timed_out with "
        "status 408");
  struct late_with_a_status : echoing {
    result<response> late(request const&) override {
      error why{errc::timed_out};
      why.wire.status = 408;
      return keyspan::unexpected{why};
    }
  };
  CHECK(close_finding_in_a<late_with_a_status>() ==
        "broken law: a request that nobody answers ends at its deadline; timed_out: timed_out with "
        "status 408");
}

TEST_CASE("a transport that is of no use when nobody has answered is found out") {
  struct stuck_by_stop : echoing {
    std::optional<error> refusal(request const& what) override {
      if (is_stuck) return error{errc::not_connected, "still waiting"};
      is_stuck = what.target == "/unanswered" && !what.deadline;
      return echoing::refusal(what);
    }
    bool is_stuck = false;
  };
  struct stuck_by_deadline : echoing {
    std::optional<error> refusal(request const& what) override {
      if (is_stuck) return error{errc::not_connected, "still waiting"};
      is_stuck = what.target == "/unanswered" && what.deadline;
      return echoing::refusal(what);
    }
    bool is_stuck = false;
  };
  for (std::string const& found :
       {close_finding_in_a<stuck_by_stop>(), close_finding_in_a<stuck_by_deadline>()})
    CHECK(found ==
          "broken law: a transport is as good as before when it has failed; a request behind it: "
          "not_connected, still waiting");
}

// Takes its time until it sends, on a thread for each request, and looks at the token only then.
class slow_to_send {
 public:
  auto send(request const& what) {
    return keyspan::completion_of<result<response>>([this, &what](auto done) {
      threads_.emplace_back([this, &what, done] {
        if (what.target == "/unanswered")
          std::this_thread::sleep_for(std::chrono::milliseconds{20});
        if (auto const why = keyspan::refusal_of(what, std::chrono::steady_clock::now()))
          return done(keyspan::unexpected{*why});
        done(answer(what));
      });
    });
  }
  ~slow_to_send() {
    for (std::thread& one : threads_) one.join();
  }
  std::size_t served() const { return served_; }

 private:
  response answer(request const& what) {
    ++served_;
    response given{.body = what.body};
    if (auto const echo = what.headers.find("x-echo")) given.headers.add("x-echo", *echo);
    return given;
  }

  std::vector<std::thread> threads_{};
  std::atomic<std::size_t> served_{0};
};

TEST_CASE("a request is on its way when it is stopped, where the service counts") {
  slow_to_send wire;
  auto const found =
      check_transport(wire, &posted,
                      {.served = [&] { return wire.served(); },
                       .at_once = at_once,
                       .largest_body = largest_body,
                       .unanswered = [] { return request{.target = "/unanswered"}; }});
  CHECK(found.text() ==
        "broken law: a request that nobody answers ends when it is stopped; stopped: status 200, "
        "0 bytes");
}

TEST_CASE("an endpoint that says more than host and port is found out") {
  struct talkative : echoing {
    result<response> answer(request const& what) override {
      response said = service(what);
      said.endpoint = {"key@localhost:8081"};
      return said;
    }
  };
  CHECK(finding_in_a<talkative>() ==
        "broken law: an endpoint is host and port, never a path, a query or a credential; "
        "key@localhost:8081");
  struct with_a_path : echoing {
    result<response> answer(request const& what) override {
      response said = service(what);
      said.endpoint = {"localhost:8081/echo"};
      return said;
    }
  };
  CHECK(finding_in_a<with_a_path>() ==
        "broken law: an endpoint is host and port, never a path, a query or a credential; "
        "localhost:8081/echo");
}

TEST_CASE("a transport that repeats keeps the laws of the one that it wraps") {
  echoing wire;
  keyspan::manual_clock clock;
  keyspan::retrying patient{wire, keyspan::retry_policy{}, clock};
  holds(look_closely_at(patient, wire.service));
}

TEST_CASE("a transport that is stopped too late to be cut off may give its response") {
  struct answers_all_the_same : echoing {
    result<response> answer(request const& what) override {
      last = what.body;
      return echoing::answer(what);
    }
    std::optional<error> refusal(request const& what) override {
      last = what.body;
      return echoing::refusal(what);
    }
    result<response> cut_off() override { return response{.body = last}; }
    std::string last{};
  };
  CHECK(finding_in_a<answers_all_the_same>().empty());
}

TEST_CASE("a service that refuses what it is sent is found out, and named by its status") {
  struct refused : echoing {
    result<response> answer(request const&) override { return response{.status = 404}; }
  };
  CHECK(finding_in_a<refused>() ==
        "broken law: a request gets the response to it; a body was sent: "
        "status 404, 0 bytes");
  struct unconnected : echoing {
    result<response> answer(request const&) override {
      return fail(errc::not_connected, "nobody listens");
    }
  };
  CHECK(finding_in_a<unconnected>() ==
        "broken law: a request gets the response to it; a body was sent: "
        "not_connected, nobody listens");
}

TEST_CASE("answers that are mixed up among requests under way are found out") {
  struct mixing : echoing {
    void pass_on(std::vector<result<response>>& answers) override {
      std::rotate(answers.begin(), std::next(answers.begin()), answers.end());
    }
  };
  CHECK(finding_in_a<mixing>() ==
        "broken law: a request gets the response to it; it was under way with others: status 200, "
        "3000 bytes");
}

TEST_CASE("an answer that is lost among requests under way is found out") {
  struct losing : echoing {
    void pass_on(std::vector<result<response>>& answers) override {
      answers[2] = fail(errc::not_connected, "too many at once");
    }
  };
  CHECK(finding_in_a<losing>() ==
        "broken law: a request gets the response to it; it was under way with others: "
        "not_connected, too many at once");
  struct losing_the_last : echoing {
    void pass_on(std::vector<result<response>>& answers) override {
      answers.back() = fail(errc::not_connected, "one too many");
    }
  };
  CHECK(finding_in_a<losing_the_last>() ==
        "broken law: a request gets the response to it; it was under way with others: "
        "not_connected, one too many");
  struct overloaded : echoing {
    void pass_on(std::vector<result<response>>& answers) override { answers[1]->status = 503; }
  };
  CHECK(finding_in_a<overloaded>() ==
        "broken law: a request gets the response to it; it was under way with others: status 503, "
        "3000 bytes");
}

TEST_CASE("a body that is cut short is found out") {
  struct cutting_short : echoing {
    result<response> answer(request const& what) override {
      response whole = service(what);
      whole.body.resize((std::min)(whole.body.size(), std::size_t{1'024}));
      return whole;
    }
  };
  CHECK(finding_in_a<cutting_short>() ==
        "broken law: a body arrives as it was given; 2501 bytes were sent, 1024 came back");
}

TEST_CASE("a body that is cut short above a size is found out") {
  struct limited : echoing {
    result<response> answer(request const& what) override {
      response whole = service(what);
      whole.body.resize((std::min)(whole.body.size(), largest_body - 1));
      return whole;
    }
  };
  CHECK(finding_in_a<limited>() ==
        "broken law: a body arrives as it was given; 5001 bytes were sent, 5000 came back");
}

TEST_CASE("a body that ends at its first zero is found out") {
  struct text_alone : echoing {
    result<response> answer(request const& what) override {
      response whole = service(what);
      whole.body = whole.body.substr(0, whole.body.find('\0'));
      return whole;
    }
  };
  CHECK(finding_in_a<text_alone>().starts_with("broken law: a body arrives as it was given; "));
}

TEST_CASE("a body whose bytes are others is found out") {
  struct without_high_bits : echoing {
    result<response> answer(request const& what) override {
      response changed = service(what);
      if (changed.body.size() == 1) return changed;
      for (char& one : changed.body) one = static_cast<char>(one & 0x7F);
      return changed;
    }
  };
  CHECK(finding_in_a<without_high_bits>() ==
        "broken law: a body arrives as it was given; 256 bytes were sent, 256 came back, others");
}

TEST_CASE("a header that is lost is found out") {
  struct without_headers : echoing {
    result<response> answer(request const& what) override {
      response bare = service(what);
      bare.headers = {};
      return bare;
    }
  };
  CHECK(finding_in_a<without_headers>() ==
        "broken law: a header arrives as it was given; X-Echo: 1 was sent, and none came back");
  struct without_empty_ones : echoing {
    result<response> answer(request const& what) override {
      response bare = service(what);
      if (bare.headers.find("x-echo") == "") bare.headers.remove("x-echo");
      return bare;
    }
  };
  CHECK(finding_in_a<without_empty_ones>() ==
        "broken law: a header arrives as it was given; X-Echo:  was sent, and none came back");
}

TEST_CASE("a header whose value is another one is found out") {
  struct first_of_list : echoing {
    result<response> answer(request const& what) override {
      response changed = service(what);
      if (auto const value = changed.headers.find("x-echo")) {
        std::string const first{value->substr(0, value->find(','))};
        changed.headers.set("x-echo", first);
      }
      return changed;
    }
  };
  CHECK(finding_in_a<first_of_list>() ==
        "broken law: a header arrives as it was given; a, b; c=\"d\" was sent, a came back");
}

TEST_CASE("a header whose value changes case is found out") {
  struct lowering : echoing {
    result<response> answer(request const& what) override {
      response changed = service(what);
      if (auto const value = changed.headers.find("x-echo")) {
        std::string low{*value};
        for (char& one : low) one = keyspan::detail::lower_case(one);
        changed.headers.set("x-echo", low);
      }
      return changed;
    }
  };
  CHECK(finding_in_a<lowering>() ==
        "broken law: a header arrives as it was given; W/\"12\" was sent, w/\"12\" came back");
}

TEST_CASE("a transport that changes the request is found out") {
  struct signing : echoing {
    result<response> answer(request const& what) override {
      // What it has a constant handle of is no constant itself.
      auto& first = const_cast<keyspan::header_field&>(*what.headers.begin());
      first.value = "signed";
      return service(what);
    }
  };
  CHECK(finding_in_a<signing>() ==
        "broken law: a request is not changed; one with a body of 0 bytes");
}

TEST_CASE("a request that is sent twice is found out where the service counts") {
  struct twice : echoing {
    result<response> answer(request const& what) override {
      static_cast<void>(service(what));
      return service(what);
    }
  };
  CHECK(finding_in_a<twice>() == "broken law: a request is sent once; the service saw 2 of it");
  twice unseen;
  holds(check_transport(unseen, &posted, {.at_once = at_once, .largest_body = largest_body}));
}

TEST_CASE("a transport that never sends is found out where the service counts") {
  struct answers_by_itself : echoing {
    result<response> answer(request const& what) override { return response{.body = what.body}; }
  };
  CHECK(finding_in_a<answers_by_itself>() ==
        "broken law: a request is sent once; the service saw 0 of it");
}

TEST_CASE("a transport that sends what was stopped before is found out") {
  struct unstoppable : echoing {
    std::optional<error> refusal(request const& what) override {
      auto const why = echoing::refusal(what);
      return why && why->code == errc::stopped ? std::nullopt : why;
    }
  };
  CHECK(finding_in_a<unstoppable>() ==
        "broken law: a request that was stopped before is not sent; stopped: status 200, 7 bytes");
  struct too_late : echoing {
    std::optional<error> refusal(request const& what) override {
      auto const why = echoing::refusal(what);
      if (why && why->code == errc::stopped) static_cast<void>(service(what));
      return why;
    }
  };
  CHECK(finding_in_a<too_late>() ==
        "broken law: a request that was stopped before is not sent; the service saw 1 of it");
}

TEST_CASE("a transport that gives another error for what was stopped before is found out") {
  struct misnaming : echoing {
    std::optional<error> refusal(request const& what) override {
      if (what.stop.stop_requested()) return error{errc::timed_out, "given up"};
      return echoing::refusal(what);
    }
  };
  CHECK(finding_in_a<misnaming>() ==
        "broken law: a request that was stopped before is not sent; stopped: timed_out, given up");
}

TEST_CASE("a transport that sends behind the deadline is found out") {
  struct patient : echoing {
    std::optional<error> refusal(request const& what) override {
      auto const why = echoing::refusal(what);
      return why && why->code == errc::timed_out ? std::nullopt : why;
    }
  };
  CHECK(finding_in_a<patient>() ==
        "broken law: a request whose deadline has passed is not sent; timed_out: status 200, "
        "4 bytes");
  struct too_late : echoing {
    std::optional<error> refusal(request const& what) override {
      auto const why = echoing::refusal(what);
      if (why && why->code == errc::timed_out) static_cast<void>(service(what));
      return why;
    }
  };
  CHECK(finding_in_a<too_late>() ==
        "broken law: a request whose deadline has passed is not sent; the service saw 1 of it");
}

TEST_CASE("a transport that breaks when it is stopped in flight is found out") {
  struct breaking : echoing {
    result<response> cut_off() override { return fail(errc::not_connected, "closed under it"); }
  };
  CHECK(finding_in_a<breaking>() ==
        "broken law: a request that is stopped in flight ends, as stopped or with its response; "
        "stopped: not_connected, closed under it");
  struct half : echoing {
    result<response> cut_off() override { return response{.body = "half"}; }
  };
  CHECK(finding_in_a<half>() ==
        "broken law: a request that is stopped in flight ends, as stopped or with its response; "
        "stopped: status 200, 4 bytes");
}

TEST_CASE("a transport that gives the answer to what was stopped before is found out") {
  struct lagging : echoing {
    std::optional<error> refusal(request const& what) override {
      if (what.stop.stop_possible()) {
        before = std::move(last);
        last = what.body;
      }
      return echoing::refusal(what);
    }
    result<response> cut_off() override {
      if (before.size() != size_in_flight) return echoing::cut_off();
      return response{.body = before};
    }
    std::string before{};
    std::string last{};
  };
  CHECK(finding_in_a<lagging>() ==
        "broken law: a request that is stopped in flight ends, as stopped or with its response; "
        "stopped: status 200, 2501 bytes");
}

TEST_CASE("a transport that is of no use when it was stopped is found out") {
  struct closing : echoing {
    std::optional<error> refusal(request const& what) override {
      if (is_closed) return error{errc::not_connected, "closed for good"};
      return echoing::refusal(what);
    }
    result<response> cut_off() override {
      is_closed = true;
      return echoing::cut_off();
    }
    bool is_closed = false;
  };
  CHECK(finding_in_a<closing>() ==
        "broken law: a transport is as good as before when it has failed; a request behind it: "
        "not_connected, closed for good");
}

TEST_CASE("a transport that gives what was left over to the next request is found out") {
  struct left_over : echoing {
    std::optional<error> refusal(request const& what) override {
      auto const why = echoing::refusal(what);
      is_behind = is_behind || why.has_value();
      return why;
    }
    result<response> answer(request const& what) override {
      if (is_behind) return response{.body = "what was asked for before"};
      return echoing::answer(what);
    }
    bool is_behind = false;
  };
  CHECK(finding_in_a<left_over>() ==
        "broken law: a transport is as good as before when it has failed; a request behind it: "
        "status 200, 25 bytes");
}

}  // namespace
