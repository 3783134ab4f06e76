// test/transport/retry_policy_test.cpp — every error with every kind of request, and how waits
// grow.
#include <keyspan/async/clock.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::failed_attempt;
using keyspan::instant;
using keyspan::request_kind;
using keyspan::retry_policy;
using keyspan::wait_before_retry;
using test::check;
using namespace std::chrono_literals;

constexpr error with_status(errc code, std::uint16_t status, std::uint32_t retry_after_ms = 0) {
  error why{code};
  why.wire.status = status;
  why.wire.retry_after_ms = retry_after_ms;
  return why;
}

constexpr bool what_may_be_repeated_follows_from_the_error_and_the_kind_of_request() {
  for (errc const code : keyspan::all_errc) {
    bool const was_not_done = code == errc::throttled || code == errc::contended ||
                              code == errc::unavailable || code == errc::not_connected;
    bool const may_be_done = code == errc::service_failed || code == errc::outcome_unknown ||
                             code == errc::bad_response || code == errc::timed_out;
    for (auto const kind :
         {request_kind::read, request_kind::repeatable_write, request_kind::write})
      check(keyspan::may_repeat(with_status(code, 408), kind) ==
            (was_not_done || (may_be_done && kind != request_kind::write)));
  }
  // A deadline of the caller is no answer of a service.
  check(!keyspan::may_repeat(error{errc::timed_out}, request_kind::read));
  return true;
}
CHECK_BOTH(what_may_be_repeated_follows_from_the_error_and_the_kind_of_request);

constexpr retry_policy steady{.jitter = 0};

constexpr failed_attempt failing(int attempts, error const& why, instant::duration elapsed = {}) {
  failed_attempt failed;
  failed.attempts = attempts;
  failed.why = why;
  failed.elapsed = elapsed;
  return failed;
}

constexpr bool waits_double_up_to_the_longest() {
  error const why{errc::unavailable};
  instant::duration const wanted[]{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms};
  for (int i = 0; i < 9; ++i) check(wait_before_retry(steady, failing(i + 1, why)) == wanted[i]);
  check(!wait_before_retry(steady, failing(10, why)));
  retry_policy const patient{
      .most_attempts = 1'000'000, .longest_wait = (instant::duration::max)(), .jitter = 0};
  retry_policy const hurried{.first_wait = 3s, .longest_wait = 2s, .jitter = 0};
  check(wait_before_retry(hurried, failing(1, why)) == 2s);
  // No wait doubles to no wait, and takes no longer for being asked so late.
  retry_policy const at_once{.most_attempts = 2'000'000'000, .first_wait = 0s, .jitter = 0};
  check(wait_before_retry(at_once, failing(1'999'999'999, why)) == 0s);
  check(!wait_before_retry(patient, failing(500'000, why)));  // beyond its budget, and no overflow
  return true;
}
CHECK_BOTH(waits_double_up_to_the_longest);

constexpr bool a_service_that_says_how_long_is_waited_for_so_long() {
  check(wait_before_retry(steady, failing(1, with_status(errc::throttled, 429, 120))) == 120ms);
  check(wait_before_retry(steady, failing(9, with_status(errc::throttled, 429, 120))) == 120ms);
  check(wait_before_retry(steady, failing(1, with_status(errc::throttled, 429))) == 5s);
  check(wait_before_retry(steady, failing(1, with_status(errc::unavailable, 503, 120))) == 120ms);
  check(wait_before_retry(steady, failing(8, with_status(errc::unavailable, 503, 120))) == 1s);
  return true;
}
CHECK_BOTH(a_service_that_says_how_long_is_waited_for_so_long);

constexpr bool nobody_waits_beyond_the_budget() {
  error const busy = with_status(errc::throttled, 429, 10'000);
  check(wait_before_retry(steady, failing(1, busy, 20s)) == 10s);
  check(!wait_before_retry(steady, failing(1, busy, 20s + 1ns)));
  check(!wait_before_retry(steady, failing(1, busy, 31s)));
  check(!wait_before_retry(steady, failing(1, busy, (instant::duration::max)())));
  check(!wait_before_retry(steady, failing(1, with_status(errc::throttled, 429, 4'294'967'295))));
  retry_policy const once{.most_attempts = 1};
  check(!wait_before_retry(once, failing(1, busy)));
  return true;
}
CHECK_BOTH(nobody_waits_beyond_the_budget);

TEST_CASE("a jitter adds up to its share, differs from request to request, and is the same again") {
  retry_policy const policy{.seed = 42};
  std::set<instant::duration> waits;
  for (std::uint64_t request = 0; request < 1000; ++request) {
    auto failed = failing(3, error{errc::unavailable});
    failed.request = request;
    auto const wait = wait_before_retry(policy, failed);
    REQUIRE(wait);
    CHECK(*wait >= 40ms);
    CHECK(*wait < 50ms);
    CHECK(wait == wait_before_retry(policy, failed));
    waits.insert(*wait);
  }
  CHECK(waits.size() > 990);
  CHECK(*waits.begin() < 41ms);
  CHECK(*waits.rbegin() > 49ms);
  auto const failed = failing(3, error{errc::unavailable});
  CHECK(wait_before_retry(policy, failing(8, error{errc::unavailable})) !=
        wait_before_retry(policy, failing(9, error{errc::unavailable})));  // both of a second
  retry_policy const other{.seed = 43};
  CHECK(wait_before_retry(policy, failed) != wait_before_retry(other, failed));
}

TEST_CASE("a policy that makes no sense is a broken promise") {
  auto const failed = failing(1, error{errc::unavailable});
  CHECK(test::promise_broken_by([&] {
          return wait_before_retry(retry_policy{.most_attempts = 0}, failed);
        }) == "a request is attempted once at least");
  for (double const jitter : {-0.1, 1.1})
    CHECK(test::promise_broken_by([&] {
            return wait_before_retry(retry_policy{.jitter = jitter}, failed);
          }) == "a jitter is a share from 0 to 1");
}

TEST_CASE("the example of a retry policy reads as it should") {
  // [region: example]
  keyspan::retry_policy const policy{.most_attempts = 4, .budget = 10s, .jitter = 0};
  keyspan::failed_attempt failed{.attempts = 1, .why = keyspan::error{keyspan::errc::unavailable}};
  auto const wait = keyspan::wait_before_retry(policy, failed);  // 10 ms
  failed.attempts = 4;
  auto const no_more = keyspan::wait_before_retry(policy, failed);  // none
  // [end: example]
  CHECK(wait == 10ms);
  CHECK_FALSE(no_more);
}

}  // namespace
