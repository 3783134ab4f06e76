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
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace keyspan {

/// What one attempt in a region may do.
struct region_attempt {
  /// Whether the account takes writes in several regions.
  bool writes_in_many = false;
  /// For how long an answer is waited for each time the region is asked; none where it is the only
  /// one that may be.
  std::optional<instant::duration> patience{};
};

/// The sentence that a compiler shows for what does not ask one region: it is called with a
/// `service_region` and a `region_attempt`, and gives an awaitable of a response.
template <class Ask>
concept asks_a_region = requires(Ask& ask, service_region const& of, region_attempt const& within) {
  { ask(of, within) } -> awaitable_of<result<response>>;
};

/// The sentence that a compiler shows for what does not ask an account for its regions: it is
/// called with an endpoint and the moment until which it may take, and gives an awaitable of them.
template <class Look>
concept looks_for_regions = requires(Look& look, service_endpoint const& at, instant deadline) {
  { look(at, deadline) } -> awaitable_of<result<account_regions>>;
};

/// What is sent across regions, and for how long.
struct regional_request {
  region_use use = region_use::read;
  request_kind kind = request_kind::read;
  std::optional<instant> deadline{};
  stop_token stop{};
  /// Whether the region that takes the writes is asked first, whatever is preferred: for what the
  /// others may not have heard of yet.
  bool begins_where_written = false;
};

namespace detail {

// The turn to look; however that ends, the turn does.
class region_look {
 public:
  template <clock Clock>
  region_look(region_directory& regions, Clock& by)
      : regions_{regions}, now_{[&by] { return by.now(); }} {}
  region_look(region_look const&) = delete;
  region_look& operator=(region_look const&) = delete;
  ~region_look() {
    if (is_given_up_ && !said_) {
      regions_.give_up();
    } else {
      regions_.finish(std::move(said_), now_());
    }
  }
  void take(account_regions said) { said_ = std::move(said); }
  // Who looked had no time for it: the next one looks.
  void give_up() { is_given_up_ = true; }

 private:
  region_directory& regions_;
  std::function<instant()> now_;
  std::optional<account_regions> said_{};
  bool is_given_up_ = false;
};

// Half of the time that is left, so that somebody else can be asked in the other half.
inline instant part_of_time(instant now, instant::duration most,
                            std::optional<instant> const& deadline) {
  instant const at_last = instant_after(now, most);
  if (!deadline || *deadline <= now) return deadline ? *deadline : at_last;
  return (std::min)(at_last, now + (*deadline - now) / 2);
}

}  // namespace detail

/// Asks the account for its regions, at each of the addresses where it may be asked, and hands over
/// to the directory what it says; where somebody else is asking does nothing. Errors: those of the
/// first address.
///
/// Cancellation: that of `look`.
template <clock Clock, looks_for_regions Look>
task<result<void>> refresh_regions(region_directory& regions, Clock& by, Look look,
                                   std::optional<instant> deadline = {}) {
  if (!regions.turn(by.now())) co_return result<void>{};
  detail::region_look turn{regions, by};
  std::optional<error> first;
  auto const places = regions.where_to_ask();
  for (service_endpoint const& at : places) {
    instant const at_last = instant_after(by.now(), regions.policy().look_within);
    instant const until = detail::part_of_time(by.now(), regions.policy().look_within, deadline);
    auto&& asked = look(at, until);
    result<account_regions> answer = co_await std::forward<decltype(asked)>(asked);
    if (answer) {
      turn.take(*std::move(answer));
      co_return result<void>{};
    }
    if (!first) first = answer.error();
    bool const is_silent = answer.error().code == errc::timed_out;
    if (answer.error().code == errc::stopped || (is_silent && until < at_last)) turn.give_up();
    if (answer.error().code == errc::stopped) break;
    if (!is_silent && trouble_of(answer.error(), request_kind::read) == region_trouble::none) break;
  }
  co_return unexpected{*first};
}

/// Sends a request to the regions of an account, one after another, as `step_after` says, and
/// answers with what the last one gave; each says how many attempts there were, and what they cost
/// together. `ask` sends it to one region, where only what is busy is repeated
/// (`retry_policy::only_where_busy`): another error is repeated here or by nobody. `look` asks the
/// account for its regions.
///
/// What may be asked of another region is given so long in each: one that is silent for longer
/// cannot be reached.
///
/// Directory, clock and hook outlive it. Errors: those of `ask`; `stopped` in a wait.
///
/// Cancellation: by the request's stop token, in an attempt, where `ask` goes by it, and in a wait.
/// Destruction: that of a task which awaits `ask`, `look` and the clock.
template <clock Clock, asks_a_region Ask, looks_for_regions Look, response_judge Judge>
task<result<response>> send_across(region_directory& regions, Clock& by, regional_request what,
                                   Ask ask, Look look, Judge judge, event_hook const* on_event) {
  instant const began = by.now();
  std::map<region_trouble, int> alike;
  std::vector<service_endpoint> tried;  // in this round
  std::optional<service_region> stays;
  failed_in_region failed{.use = what.use};
  std::size_t attempts = 0;
  double charge = 0;
  for (;;) {
    auto refreshing = refresh_regions(regions, by, look, what.deadline);
    static_cast<void>(co_await std::move(refreshing));  // with what is known else
    region_view const known = regions.view(what.use, by.now());
    auto const& order = known.order;
    region_attempt within{known.writes_in_many, std::nullopt};
    if (what.begins_where_written && attempts == 0 && !known.is_writer_marked) stays = known.writer;
    service_region at = order.front();
    if (stays) {
      at = *stays;
    } else if (auto const* const other = untried_region(order, tried)) {
      at = *other;
    }
    bool const may_move = order.size() > 1 && what.kind != request_kind::write;
    instant const asked_at = by.now();
    if (may_move)
      within.patience =
          detail::part_of_time(asked_at, regions.policy().answer_within, what.deadline) - asked_at;
    auto&& asked = ask(at, within);
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
    failed.trouble =
        trouble_of(*why, what.kind, within.writes_in_many && what.use == region_use::write);
    bool const is_silent = may_move && why->code == errc::timed_out && why->wire.status == 0 &&
                           (!what.deadline || now < *what.deadline);
    if (is_silent)
      failed.trouble =
          what.kind == request_kind::read ? region_trouble::unreachable : region_trouble::unclear;
    bool const is_sought =
        failed.trouble == region_trouble::unclear || failed.trouble == region_trouble::unreachable;
    failed.alike = ++alike[is_sought ? region_trouble::unavailable : failed.trouble];
    failed.writes_in_many = within.writes_in_many;
    failed.elapsed = now - began;
    tried.push_back(at.endpoint);
    failed.untried = static_cast<std::size_t>(
        std::count_if(order.begin(), order.end(), [&](service_region const& one) {
          return std::find(tried.begin(), tried.end(), one.endpoint) == tried.end();
        }));
    region_step step = step_after(regions.policy(), failed);
    // Also where it is not sent again: nobody else is to wait for so long.
    bool const was_awaited = why->wire.status == 0 &&
                             (why->code == errc::timed_out || why->code == errc::outcome_unknown);
    if (is_silent || (was_awaited && now - asked_at >= regions.policy().answer_within))
      (what.use == region_use::read ? step.marks_reads : step.marks_writes) = true;
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
    stays.reset();
    if (step.place == region_place::same) stays = at;
    if (step.place == region_place::write_region) stays = known.writer;
    if (step.place == region_place::next && failed.untried == 0) {
      tried.clear();
      ++failed.rounds;
    }
  }
}

}  // namespace keyspan
