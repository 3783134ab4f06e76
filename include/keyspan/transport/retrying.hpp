// keyspan/transport/retrying.hpp — a transport that repeats what may be repeated, at one endpoint.
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/transport.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

namespace keyspan {

/// Says what error a response is, or none.
template <class J>
concept response_judge = requires(J const& judge, response const& answer) {
  { judge(answer) } -> std::same_as<std::optional<error>>;
};

/// Sends a request again, after a wait, as long as a `retry_policy` says so, and answers with what
/// the last attempt gave: a response, error statuses included, or an error; each says how many
/// attempts there were. A wait that would go beyond the request's deadline is not begun.
///
/// The one owner of repetitions at an endpoint: what is below it sends once, what is above it
/// chooses another endpoint. Transport and clock outlive it. As safe as they are to use from
/// several threads at once.
///
/// Cancellation: by the request's stop token, in an attempt and in a wait.
/// Destruction: that of a task which awaits the transport or the clock.
template <transport Transport, clock Clock, response_judge Judge = http_errors>
class retrying {
 public:
  retrying(Transport& to, retry_policy policy, Clock& by, event_hook on_event = {},
           Judge judge = {})
      : to_{&to},
        policy_{policy},
        clock_{&by},
        on_event_{std::move(on_event)},
        judge_{std::move(judge)} {}

  retry_policy const& policy() const noexcept { return policy_; }

  /// Errors: those of the transport. Requires what `retry_policy` does.
  task<result<response>> send(request what) {
    instant const began = clock_->now();
    failed_attempt failed{.attempts = 0,
                          .kind = what.kind,
                          .request = requests_.fetch_add(1, std::memory_order_relaxed)};
    for (;;) {
      auto&& asked = to_->send(what);
      result<response> answer = co_await std::forward<decltype(asked)>(asked);
      ++failed.attempts;
      auto const attempts = static_cast<std::uint16_t>((std::min)(failed.attempts, 0xFFFF));
      std::optional<error> why;
      if (answer) {
        answer->attempts = attempts;
        why = judge_(*answer);
      } else {
        why = answer.error();
        why->wire.attempts = attempts;
        answer = unexpected{*why};
      }
      if (!why) {
        tell(what, event_kind::answered, *answer, attempts);
        co_return answer;
      }
      instant const now = clock_->now();
      failed.why = *why;
      failed.elapsed = now - began;
      auto const wait = wait_before_retry(policy_, failed);
      if (!wait || (what.deadline && *what.deadline - now < *wait)) {
        tell(what, event_kind::failed, *why, attempts);
        co_return answer;
      }
      tell(what, event_kind::repeating, *why, attempts, *wait);
      result<void> const waited = co_await clock_->wait_until(instant_after(now, *wait), what.stop);
      if (!waited) {
        error stopped = waited.error();
        stopped.wire.attempts = attempts;
        tell(what, event_kind::failed, stopped, attempts);
        co_return unexpected{stopped};
      }
    }
  }

 private:
  void tell(request const& what, event_kind kind, response const& answer, int attempts) const {
    if (!on_event_) return;
    on_event_({.kind = kind,
               .operation = what.method,
               .endpoint = answer.endpoint,
               .attempts = attempts,
               .status = answer.status});
  }
  void tell(request const& what, event_kind kind, error const& why, int attempts,
            instant::duration wait = {}) const {
    if (!on_event_) return;
    on_event_({.kind = kind,
               .operation = what.method,
               .endpoint = why.wire.endpoint,
               .charge = why.wire.charge,
               .attempts = attempts,
               .status = why.wire.status,
               .code = why.code,
               .wait = wait});
  }

  Transport* to_;
  retry_policy policy_;
  Clock* clock_;
  event_hook on_event_;
  Judge judge_;
  std::atomic<std::uint64_t> requests_{0};
};

template <class Transport, class Clock>
retrying(Transport&, retry_policy, Clock&) -> retrying<Transport, Clock>;
template <class Transport, class Clock>
retrying(Transport&, retry_policy, Clock&, event_hook) -> retrying<Transport, Clock>;

}  // namespace keyspan
