// What does a hook for events cost who has none, and what does one that counts cost, in a request
// that is answered at once? The first row is the floor: the same sender without any events in it.
#include <bench/support/bench.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/thread_clock.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/retrying.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace {

using keyspan::error;
using keyspan::request;
using keyspan::response;
using keyspan::result;

constexpr std::size_t batch = 256;

// Answers at once, as no service does: whatever else there is weighs more here than anywhere.
struct at_hand {
  response answer{.headers = {{"content-type", "application/json"},
                              {"etag", "\"7\""},
                              {"x-ms-request-charge", "2.29"},
                              {"x-ms-activity-id", "6d8c07c2-5bc3-4a53-8e7b-3f7b0d1e9a10"}},
                  .body = R"({"id":"r-1"})",
                  .endpoint = {"localhost:8081"}};

  keyspan::ready<result<response>> send(request const&) const { return answer; }
};

// Does what `retrying` does, and can tell nobody of it.
class telling_nobody {
 public:
  telling_nobody(at_hand const& to, keyspan::retry_policy policy, keyspan::thread_clock const& by)
      : to_{&to}, policy_{policy}, clock_{&by} {}

  keyspan::task<result<response>> send(request what) {
    keyspan::instant const began = clock_->now();
    keyspan::failed_attempt failed{.attempts = 0,
                                   .kind = what.kind,
                                   .request = requests_.fetch_add(1, std::memory_order_relaxed)};
    keyspan::wire_details said;
    double charge = 0;
    for (;;) {
      auto asked = to_->send(what);
      result<response> answer = co_await std::move(asked);
      ++failed.attempts;
      std::optional<error> why;
      if (answer) {
        said = keyspan::details_of(*answer);
        why = keyspan::http_errors{}(*answer);
        charge += said.charge;
        answer->attempts = static_cast<std::uint16_t>(failed.attempts);
        answer->charge = charge;
      } else {
        why = answer.error();
      }
      if (!why) co_return answer;
      failed.why = *why;
      keyspan::instant const now = clock_->now();
      failed.elapsed = now - began;
      auto const wait = keyspan::wait_before_retry(policy_, failed);
      if (!wait) co_return answer;
      auto const waited =
          co_await clock_->wait_until(keyspan::instant_after(now, *wait), what.stop);
      if (!waited) co_return keyspan::unexpected{waited.error()};
    }
  }

 private:
  at_hand const* to_;
  keyspan::retry_policy policy_;
  keyspan::thread_clock const* clock_;
  std::atomic<std::uint64_t> requests_{0};
};

template <class Sender>
std::uint64_t sent(Sender& through) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < batch; ++i) {
    auto const got = keyspan::sync_wait(through.send(request{}));
    sum += got->status + got->attempts + static_cast<std::uint64_t>(got->charge);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  at_hand const service;
  keyspan::thread_clock const clock;
  keyspan::retry_policy const policy{};
  std::uint64_t events = 0;
  double charges = 0;

  telling_nobody without{service, policy, clock};
  keyspan::retrying with_none{service, policy, clock};
  keyspan::retrying counting{service, policy, clock, [&](keyspan::event const& happened) {
                               ++events;
                               charges += happened.charge;
                             }};

  auto& table = run.table("1 request that is answered at once", "request").batch(batch);
  table.count_allocations();
  table.floor("without events", [&] { return sent(without); });
  table.row("retrying, no hook", [&] { return sent(with_none); });
  table.row("retrying, a hook that counts", [&] { return sent(counting); });
  run.target("transport.retrying.no_hook", table.ratio("retrying, no hook", "without events"),
             "<=", 1.05);
  run.target("transport.retrying.no_hook.allocations",
             table.allocations_of("retrying, no hook") - table.allocations_of("without events"),
             "==", 0);
  bench::keep(events);
  bench::keep(charges);
  return run.finish();
}
