// test/processor/host_context_test.cpp — what all parts of a host share.
#include <keyspan/async/instant.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::instant;
using keyspan::manual_clock;
using keyspan::session_id;
using test::check;
using context = keyspan::detail::host_context<keyspan::token128, manual_clock>;
using options_type = keyspan::processor_options<keyspan::token128>;

TEST_CASE("drawn numbers are not alike, and never nobody's") {
  auto const one = keyspan::detail::drawn_number();
  CHECK(one != 0);
  CHECK(one != keyspan::detail::drawn_number());
  manual_clock clock;
  CHECK(context{clock, {}}.terms.session != context{clock, {}}.terms.session);
  context host{clock, {.session = session_id{7}}};
  CHECK(host.terms.session == session_id{7});
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(host.draw());
  CHECK(seen.size() == 1'000);
}

TEST_CASE("the terms of leases come of the options") {
  manual_clock clock;
  context const host{clock,
                     {.lease_expiration_interval = 40s,
                      .clock_rate_bound_ppm = 500,
                      .liveness = keyspan::liveness::per_lease}};
  CHECK(host.terms.hold == 40s);
  CHECK(host.terms.rate_bound_ppm == 500);
  CHECK(host.terms.liveness == keyspan::liveness::per_lease);
  CHECK(host.own_wait() == keyspan::wait_before_taking(40s, 500));
}

TEST_CASE("waiting is a tenth less or more, and doubles with each failure up to the longest") {
  manual_clock clock;
  context host{clock, {.session = session_id{7}}};
  bool is_shorter = false;
  bool is_longer = false;
  for (int i = 0; i < 1'000; ++i) {
    auto const time = host.jittered(10s);
    REQUIRE(time >= 9s);
    REQUIRE(time <= 11s);
    is_shorter = is_shorter || time < 9'500ms;
    is_longer = is_longer || time > 10'500ms;
  }
  CHECK(is_shorter);
  CHECK(is_longer);
  CHECK(host.jittered(0s) == 0s);
  auto const is_about = [](instant::duration time, instant::duration wanted) {
    return time >= wanted * 9 / 10 && time <= wanted * 11 / 10;
  };
  CHECK(is_about(host.delay_behind(1, 100ms, 30s), 100ms));
  CHECK(is_about(host.delay_behind(2, 100ms, 30s), 200ms));
  CHECK(is_about(host.delay_behind(9, 100ms, 30s), 25'600ms));
  CHECK(is_about(host.delay_behind(10, 100ms, 30s), 30s));
  CHECK(is_about(host.delay_behind(~0U, 100ms, 30s), 30s));
  CHECK(is_about(host.delay_behind(~0U, 100ms, instant::duration::max() / 4), 100ms * (1 << 20)));
  CHECK(host.delay_behind(3, 0ms, 30s) == 0s);
  keyspan::error why{errc::throttled, "slower"};
  why.wire.retry_after_ms = 700;
  CHECK(is_about(host.delay_behind(1, 100ms, 30s, &why), 700ms));
}

TEST_CASE("a pause ends at its time, or at once where everything ends") {
  manual_clock clock;
  context host{clock, {}};
  keyspan::run_loop loop;
  auto const waits = [&](bool is_stopped) -> keyspan::task<instant::duration> {
    instant const began = clock.now();
    co_await host.inside.enter();
    if (is_stopped) host.asking.request_stop();
    auto waiting = host.pause_for(3s, host.asking.token());
    co_await std::move(waiting);
    co_return clock.now() - began;
  };
  CHECK(loop.complete(waits(false), clock) == 3s);
  CHECK(loop.complete(waits(true), clock) == 0s);
}

TEST_CASE("the example of host_context reads as it should") {
  manual_clock clock;
  std::vector<std::string> told;
  options_type options;
  options.session = session_id{0xADA};
  options.on_event = [&](keyspan::processor_event const& event) {
    told.push_back(std::string{name_of(event.kind)} + " " + std::string{event.lease} + " " +
                   std::to_string(event.epoch) + " " + std::string{event.range});
    check(event.host == session_id{0xADA});
  };
  // [region: example]
  keyspan::detail::host_context<keyspan::token128, manual_clock> host{clock, options};
  auto const range = whole_space(keyspan::cosmos_v2);
  host.tell(keyspan::processor_event_kind::acquired, "lease.7", range, {.epoch = 3});
  check(host.in(5s) == clock.now() + 5s);
  // [end: example]
  check(told == std::vector<std::string>{"acquired lease.7 3 [\"\", FF)"});
}

}  // namespace
