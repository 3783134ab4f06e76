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
/// attempts there were, and what they cost together. A wait up to the request's deadline or
/// beyond it is not begun. What a judge leaves out of an error's wire details, `details_of` says.
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
  /// Requires what `retry_policy` does.
  retrying(Transport& to, retry_policy policy, Clock& by, event_hook on_event = {},
           Judge judge = {})
      : to_{&to},
        policy_{policy},
        clock_{&by},
        on_event_{std::move(on_event)},
        judge_{std::move(judge)} {
    detail::check_policy(policy_);
  }

  retry_policy const& policy() const noexcept { return policy_; }

  /// Errors: those of the transport.
  task<result<response>> send(request what) {
    instant const began = clock_->now();
    failed_attempt failed{.attempts = 0,
                          .kind = what.kind,
                          .request = requests_.fetch_add(1, std::memory_order_relaxed)};
    wire_details said;  // of the last attempt, with its own charge
    double charge = 0;
    for (;;) {
      auto&& asked = to_->send(what);
      result<response> answer = co_await std::forward<decltype(asked)>(asked);
      ++failed.attempts;
      std::optional<error> why;
      if (answer) {
        said = details_of(*answer);
        why = judge_(*answer);
        if (why) said = completed(why->wire, said);
      } else {
        why = answer.error();
        said = completed(why->wire, {.endpoint = said.endpoint});  // it is the same one
      }
      said.attempts = static_cast<std::uint16_t>((std::min)(failed.attempts, 0xFFFF));
      charge += said.charge;
      if (answer) {
        answer->attempts = said.attempts;
        answer->charge = charge;
      }
      if (!why) {
        tell(what, began, event_kind::answered, said);
        co_return answer;
      }
      why->wire = said;
      failed.why = *why;
      instant const now = clock_->now();
      failed.elapsed = now - began;
      auto const wait = wait_before_retry(policy_, failed);
      if (!wait || (what.deadline && instant_after(now, *wait) >= *what.deadline)) {
        tell(what, began, event_kind::failed, said, why->code);
        why->wire.charge = charge;
        if (!answer) answer = unexpected{*why};
        co_return answer;
      }
      tell(what, began, event_kind::repeating, said, why->code, *wait);
      result<void> const waited = co_await clock_->wait_until(instant_after(now, *wait), what.stop);
      if (!waited) {
        error stopped = waited.error();
        said.charge = 0;  // it was told with the attempt
        tell(what, began, event_kind::failed, said, stopped.code);
        stopped.wire = said;
        stopped.wire.charge = charge;
        co_return unexpected{stopped};
      }
    }
  }

 private:
  // What the one does not say, as the other says it.
  static wire_details completed(wire_details wire, wire_details const& by) {
    if (wire.status == 0) wire.status = by.status;
    if (wire.substatus == 0) wire.substatus = by.substatus;
    if (wire.retry_after_ms == 0) wire.retry_after_ms = by.retry_after_ms;
    if (wire.charge == 0) wire.charge = by.charge;
    if (wire.activity_id.empty()) wire.activity_id = by.activity_id;
    if (wire.endpoint.empty()) wire.endpoint = by.endpoint;
    return wire;
  }

  void tell(request const& what, instant began, event_kind kind, wire_details const& said,
            std::optional<errc> code = {}, instant::duration wait = {}) const {
    if (!on_event_) return;
    on_event_({.kind = kind,
               .operation = what.method,
               .endpoint = said.endpoint,
               .charge = said.charge,
               .attempts = said.attempts,
               .status = said.status,
               .code = code,
               .wait = wait,
               .elapsed = clock_->now() - began,
               .substatus = said.substatus,
               .activity_id = said.activity_id});
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
