// keyspan/law/transport.hpp — whether a transport keeps what the concept promises to those who send
// through it.
//
// No test framework inside: the check answers with a finding. It sends to a service that gives back
// what it is sent, which who checks provides.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/finding.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/transport.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace keyspan {

namespace law {

struct transport_options {
  /// How many requests the service has seen so far. Where it is given, the check sees as well that
  /// each request is sent once, and that one which is stopped before is not sent.
  std::function<std::size_t()> served{};
  /// How many requests are under way at once.
  std::size_t at_once = 8;
  /// The largest body that is sent.
  std::size_t largest_body = 300'000;
  /// Makes a request that the service answers with an error: 404, say. Where it is given, the check
  /// sees as well that such an answer is a response.
  std::function<request()> refused{};
  /// Makes a request that the service leaves unanswered for a second or longer, and answers others
  /// meanwhile. Where it is given, the check sees as well that a stop and a deadline end it. One
  /// that is ended by neither, and never answered, lets the check wait for ever. `served` is then
  /// asked while the service may count.
  std::function<request()> unanswered{};
};

}  // namespace law

namespace detail {

/// The sentence that a compiler shows for what makes no request of a body.
template <class M>
concept makes_request_of_body = requires(M const& make, std::string body) {
  { make(std::move(body)) } -> std::convertible_to<request>;
};

template <transport Transport, class Echo>
class transport_check {
  using finding = law::finding;

  static constexpr std::string_view answer_law = "a request gets the response to it";
  static constexpr std::string_view body_law = "a body arrives as it was given";
  static constexpr std::string_view header_law = "a header arrives as it was given";
  static constexpr std::string_view request_law = "a request is not changed";
  static constexpr std::string_view once_law = "a request is sent once";
  static constexpr std::string_view stop_law = "a request that was stopped before is not sent";
  static constexpr std::string_view deadline_law =
      "a request whose deadline has passed is not sent";
  static constexpr std::string_view flight_law =
      "a request that is stopped in flight ends, as stopped or with its response";
  static constexpr std::string_view status_law =
      "an answer is a response, whatever its status says";
  static constexpr std::string_view endpoint_law =
      "an endpoint is host and port, never a path, a query or a credential";
  static constexpr std::string_view stop_waiting_law =
      "a request that nobody answers ends when it is stopped";
  static constexpr std::string_view end_waiting_law =
      "a request that nobody answers ends at its deadline";
  static constexpr std::string_view after_law =
      "a transport is as good as before when it has failed";

 public:
  transport_check(Transport& over, Echo const& echo, law::transport_options options)
      : over_{over}, echo_{echo}, options_{std::move(options)} {}

  finding run() {
    if (auto found = check_bodies(); !found) return found;
    if (auto found = check_headers(); !found) return found;
    if (auto found = check_at_once(); !found) return found;
    if (auto found = check_stopped_before(); !found) return found;
    if (auto found = check_deadline(); !found) return found;
    if (auto found = check_stopped_in_flight(); !found) return found;
    if (options_.refused)
      if (auto found = check_refused(); !found) return found;
    return options_.unanswered ? check_unanswered() : finding{};
  }

 private:
  request made(std::string body) const { return echo_(std::move(body)); }
  result<response> sent(request const& what) { return sync_wait(over_.send(what)); }

  // Bytes that no two numbers have in common for long.
  static std::string bytes(std::size_t size, std::size_t number) {
    std::string body(size, '\0');
    std::size_t state = number * 2'654'435'761 + 12'345;
    for (char& one : body) {
      state = state * 1'103'515'245 + 12'345;
      one = static_cast<char>(state >> 16 & 0xFF);
    }
    return body;
  }
  static finding refused(std::string_view law, std::string_view about,
                         result<response> const& got) {
    if (!got) {
      error const& why = got.error();
      if (why.wire.status == 0) return finding{law, about, ": ", name_of(why.code), ", ", why.text};
      return finding{law, about, ": ", name_of(why.code), " with status ", why.wire.status};
    }
    return finding{law, about, ": status ", got->status, ", ", got->body.size(), " bytes"};
  }
  // A deadline is told from a service's own 408 by its having no status.
  static bool ended_as(errc wanted, result<response> const& got) {
    return !got && got.error().code == wanted &&
           (wanted != errc::timed_out || got.error().wire.status == 0);
  }
  static bool is_echo(result<response> const& got, std::string const& body) {
    return got && got->status >= 200 && got->status < 300 && got->body == body;
  }

  finding check_bodies() {
    for (std::size_t const size : {std::size_t{0}, std::size_t{1}, std::size_t{256},
                                   options_.largest_body / 2 + 1, options_.largest_body}) {
      std::string const body = bytes(size, size);
      request const asked = made(body);
      request const copy = asked;
      std::size_t const before = options_.served ? options_.served() : 0;
      result<response> const got = sent(asked);
      if (!(asked == copy)) return finding{request_law, "one with a body of ", size, " bytes"};
      if (!got || got->status < 200 || got->status >= 300)
        return refused(answer_law, "a body was sent", got);
      if (got->body != body)
        return finding{body_law,         size,         " bytes were sent, ",
                       got->body.size(), " came back", got->body.size() == size ? ", others" : ""};
      if (options_.served && options_.served() - before != 1)
        return finding{once_law, "the service saw ", options_.served() - before, " of it"};
      if (got->endpoint.view().find_first_of("/?#@") != std::string_view::npos)
        return finding{endpoint_law, got->endpoint};
    }
    return {};
  }

  finding check_headers() {
    for (std::string_view const value : {"1", "a, b; c=\"d\"", "  ", "W/\"12\""}) {
      request asked = made("header");
      std::string_view const plain = value == "  " ? "" : value;  // blanks around it do not count
      asked.headers.set("X-Echo", plain);
      result<response> const got = sent(asked);
      if (!is_echo(got, "header")) return refused(answer_law, "a header was sent", got);
      auto const back = got->headers.find("x-echo");
      if (!back) return finding{header_law, "X-Echo: ", plain, " was sent, and none came back"};
      if (*back != plain) return finding{header_law, plain, " was sent, ", *back, " came back"};
    }
    return {};
  }

  task<result<response>> one_of_many(request asked) {
    auto&& sending = over_.send(asked);
    result<response> answer = co_await std::forward<decltype(sending)>(sending);
    co_return answer;
  }
  finding check_at_once() {
    std::vector<std::string> bodies;
    std::vector<task<result<response>>> sends;
    for (std::size_t i = 0; i < options_.at_once; ++i) {
      bodies.push_back(bytes(1'000 * (options_.at_once - i), i));
      sends.push_back(one_of_many(made(bodies.back())));
    }
    auto const answers = sync_wait(when_all(std::move(sends)));
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (!is_echo(answers[i], bodies[i]))
        return refused(answer_law, "it was under way with others", answers[i]);
    return {};
  }

  finding check_stopped_before() {
    stop_source stopping;
    stopping.request_stop();
    request asked = made("stopped");
    asked.stop = stopping.token();
    return not_sent(stop_law, asked, errc::stopped);
  }
  finding check_deadline() {
    request asked = made("late");
    asked.deadline = (instant::min)();
    return not_sent(deadline_law, asked, errc::timed_out);
  }
  finding not_sent(std::string_view law, request const& asked, errc wanted) {
    std::size_t const before = options_.served ? options_.served() : 0;
    result<response> const got = sent(asked);
    if (!ended_as(wanted, got)) return refused(law, name_of(wanted), got);
    if (options_.served && options_.served() != before)
      return finding{law, "the service saw ", options_.served() - before, " of it"};
    return still_good();
  }

  task<> stop_it(stop_source by) {
    by.request_stop();
    co_return;
  }
  finding check_stopped_in_flight() {
    for (std::size_t round = 0; round < options_.at_once; ++round) {
      stop_source stopping;
      std::string const body = bytes(options_.largest_body / 2 + 1, round);
      request asked = made(body);
      asked.stop = stopping.token();
      auto const both = sync_wait(when_all(one_of_many(asked), stop_it(stopping)));
      result<response> const& got = std::get<0>(both);
      if (!is_echo(got, body) && (got || got.error().code != errc::stopped))
        return refused(flight_law, "stopped", got);
      if (auto found = still_good(); !found) return found;
    }
    return {};
  }
  finding check_refused() {
    result<response> const got = sent(options_.refused());
    if (!got || (got->status >= 200 && got->status < 300))
      return refused(status_law, "the service refused", got);
    return still_good();
  }

  // Stops what is on its way to the service by now.
  task<> stop_once_served(stop_source by, std::size_t before) {
    auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    while (options_.served && options_.served() == before &&
           std::chrono::steady_clock::now() < give_up)
      std::this_thread::yield();
    by.request_stop();
    co_return;
  }
  finding check_unanswered() {
    std::size_t const before = options_.served ? options_.served() : 0;
    stop_source stopping;
    request asked = options_.unanswered();
    asked.stop = stopping.token();
    auto const both = sync_wait(when_all(one_of_many(asked), stop_once_served(stopping, before)));
    result<response> const& stopped = std::get<0>(both);
    if (!ended_as(errc::stopped, stopped)) return refused(stop_waiting_law, "stopped", stopped);
    if (auto found = still_good(); !found) return found;

    request late = options_.unanswered();
    late.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{50};
    result<response> const got = sent(late);
    if (!ended_as(errc::timed_out, got)) return refused(end_waiting_law, "timed_out", got);
    return still_good();
  }
  finding still_good() {
    result<response> const got = sent(made("again"));
    return is_echo(got, "again") ? finding{} : refused(after_law, "a request behind it", got);
  }

  Transport& over_;
  Echo const& echo_;
  law::transport_options options_;
};

}  // namespace detail

namespace law {

/// Whether `over` is a `transport` in deed: what the concept's comment says, as far as one service
/// can show it. `echo` makes a request of a body, to a service that answers 200 with that body, and
/// with the request's header `x-echo` where it has one.
///
///   CHECK(law::check_transport(mine, [](std::string body) {
///     return request{.method = "POST", .target = "/echo", .body = std::move(body)};
///   }));
///
/// It waits as `sync_wait` does: never call it on a thread that the transport needs.
template <transport Transport, detail::makes_request_of_body Echo>
[[nodiscard]] finding check_transport(Transport& over, Echo const& echo,
                                      transport_options options = {}) {
  return detail::transport_check<Transport, Echo>{over, echo, std::move(options)}.run();
}

}  // namespace law

}  // namespace keyspan
