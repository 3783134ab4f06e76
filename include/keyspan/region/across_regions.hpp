// keyspan/region/across_regions.hpp — sends a request to the region that comes first, and to the
// next one where that cannot serve it.
//
//   directory --order--> West US --x 503  -->  North Europe --200-->
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/region_directory.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_order.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retrying.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace keyspan {

/// The sentence that a compiler shows for what does not ask one region: it is called with a
/// `service_region` and whether several take writes, and gives an awaitable of a response.
template <class Ask>
concept asks_a_region = requires(Ask& ask, service_region const& of, bool writes_in_many) {
  { ask(of, writes_in_many) } -> awaitable_of<result<response>>;
};

/// The sentence that a compiler shows for what does not ask an account for its regions: it is
/// called with an endpoint and gives an awaitable of them.
template <class Look>
concept looks_for_regions = requires(Look& look, service_endpoint const& at) {
  { look(at) } -> awaitable_of<result<account_regions>>;
};

/// What is sent across regions, and for how long.
struct regional_request {
  region_use use = region_use::read;
  request_kind kind = request_kind::read;
  std::optional<instant> deadline{};
  stop_token stop{};
};

/// Asks the account for its regions, at each of the addresses where it may be asked, and hands over
/// to the directory what it says; where somebody else is asking does nothing. Errors: those of the
/// first address.
template <clock Clock, looks_for_regions Look>
task<result<void>> refresh_regions(region_directory& regions, Clock& by, Look look) {
  if (!regions.turn(by.now())) co_return result<void>{};
  // However it ends, the turn does.
  struct ending {
    region_directory& regions;
    Clock& by;
    std::optional<account_regions> said{};
    ~ending() { regions.finish(std::move(said), by.now()); }
  } turn{regions, by};
  std::optional<error> first;
  auto const places = regions.where_to_ask();
  for (service_endpoint const& at : places) {
    auto&& asked = look(at);
    result<account_regions> answer = co_await std::forward<decltype(asked)>(asked);
    if (answer) {
      turn.said = *std::move(answer);
      co_return result<void>{};
    }
    if (!first) first = answer.error();
    if (trouble_of(answer.error(), request_kind::read) == region_trouble::none) break;
  }
  co_return unexpected{*first};
}

/// Sends a request to the regions of an account, one after another, as `step_after` says, and
/// answers with what the last one gave; each says how many attempts there were, and what they cost
/// together. `ask` sends it to one region, where only what is busy is repeated
/// (`retry_policy::only_where_busy`): another error is repeated here or by nobody. `look` asks the
/// account for its regions.
///
/// Directory, clock and hook outlive it. Errors: those of `ask`; `stopped` in a wait.
///
/// Cancellation: by the request's stop token, in an attempt, where `ask` goes by it, and in a wait.
/// Destruction: that of a task which awaits `ask`, `look` and the clock.
template <clock Clock, asks_a_region Ask, looks_for_regions Look, response_judge Judge>
task<result<response>> send_across(region_directory& regions, Clock& by, regional_request what,
                                   Ask ask, Look look, Judge judge, event_hook const* on_event) {
  instant const began = by.now();
  std::array<int, 8> alike{};  // by trouble
  failed_in_region failed{.use = what.use};
  std::size_t attempts = 0;
  double charge = 0;
  for (;;) {
    auto refreshing = refresh_regions(regions, by, look);
    static_cast<void>(co_await std::move(refreshing));  // with what is known else
    bool const in_many = regions.writes_in_many();
    auto const order = regions.order(what.use, by.now());
    auto const writers = regions.order(region_use::administer, by.now());
    service_region const at = failed.in_write_region
                                  ? writers.front()
                                  : region_of_attempt(order, what.use, in_many, failed.number);
    auto&& asked = ask(at, in_many);
    result<response> answer = co_await std::forward<decltype(asked)>(asked);
    std::optional<error> why = answer ? judge(*answer) : std::optional{answer.error()};
    wire_details said = answer ? details_of(*answer) : answer.error().wire;
    attempts += (std::max)(said.attempts, std::uint16_t{1});
    charge += said.charge;
    said.attempts = static_cast<std::uint16_t>((std::min)(attempts, std::size_t{0xFFFF}));
    if (answer) {
      answer->attempts = said.attempts;
      answer->charge = charge;
    } else {
      error told = answer.error();
      told.wire.attempts = said.attempts;
      told.wire.charge = charge;
      answer = unexpected{told};
    }
    if (!why) co_return answer;

    instant const now = by.now();
    failed.trouble = trouble_of(*why, what.kind, in_many && what.use == region_use::write);
    failed.alike = ++alike[static_cast<std::size_t>(failed.trouble)];
    failed.regions = order.size();
    failed.writes_in_many = in_many;
    failed.elapsed = now - began;
    region_step const step = step_after(regions.policy(), failed);
    regions.take(step, at.endpoint, now);
    if (!step.goes_on) co_return answer;
    instant const due = instant_after(now, step.wait);
    if (what.deadline && due >= *what.deadline) co_return answer;
    if (on_event != nullptr && *on_event)
      (*on_event)({.kind = event_kind::repeating,
                   .operation = "send",
                   .endpoint = said.endpoint,
                   .attempts = said.attempts,
                   .status = said.status,
                   .code = why->code,
                   .wait = step.wait,
                   .elapsed = now - began,
                   .substatus = said.substatus,
                   .activity_id = said.activity_id});
    if (step.wait > instant::duration::zero()) {
      result<void> const waited = co_await by.wait_until(due, what.stop);
      if (!waited) {
        error stopped = waited.error();
        stopped.wire = said;
        stopped.wire.charge = charge;
        co_return unexpected{stopped};
      }
    }
    failed.number = step.number;
    failed.in_write_region = step.in_write_region;
  }
}

}  // namespace keyspan
