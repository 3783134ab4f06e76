// test/processor/processor_options_test.cpp — options that go together, and how those that do not
// are told.
#include <keyspan/async/instant.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/plan.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/processor_options.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::instant;
using test::check;

using options = keyspan::processor_options<int>;
using change = std::function<void(options&)>;

// What is said of the usual options after a change; nothing where they are good.
std::string said_of(change const& what) {
  options made;
  what(made);
  auto const checked = keyspan::sound(made);
  if (checked) return {};
  CHECK(checked.error().code == errc::invalid_options);
  CHECK(!checked.error().text.is_cut());
  return std::string{checked.error().text.view()};
}
bool is_good(change const& what) { return said_of(what).empty(); }
bool names_both(std::string const& said, std::string_view one, std::string_view other) {
  return said.find(one) != said.npos && said.find(other) != said.npos;
}

TEST_CASE("the defaults go together, and are those that change feed processors are known by") {
  options const usual;
  CHECK(keyspan::sound(usual).has_value());
  CHECK(usual.lease_renew_interval == 17s);
  CHECK(usual.lease_acquire_interval == 13s);
  CHECK(usual.lease_expiration_interval == 60s);
  CHECK(usual.feed_poll_delay == 5s);
  CHECK(usual.checkpointing == keyspan::checkpointing::automatic);
  CHECK(usual.checkpoint_frequency == keyspan::checkpoint_frequency{});
  CHECK(usual.min_lease_count == 0);
  CHECK(usual.max_lease_count == 0);
  CHECK(!usual.discard_existing_leases);
  CHECK(std::holds_alternative<keyspan::from_now_type>(usual.start));
  CHECK(usual.on_stop == keyspan::stop_manner::hand_over);
  CHECK(usual.on_poison == keyspan::poison_manner::halt);
}

TEST_CASE("an interval that is negative, or that must not be 0, is refused by its name") {
  struct row {
    std::string_view name;
    std::function<void(options&, instant::duration)> set;
    bool may_be_zero;
  };
  using time = instant::duration;
  std::vector<row> const rows{
      {"lease_renew_interval", [](options& o, time t) { o.lease_renew_interval = t; }, false},
      {"lease_acquire_interval", [](options& o, time t) { o.lease_acquire_interval = t; }, false},
      {"lease_expiration_interval", [](options& o, time t) { o.lease_expiration_interval = t; },
       false},
      {"feed_poll_delay", [](options& o, time t) { o.feed_poll_delay = t; }, false},
      {"change_feed_timeout", [](options& o, time t) { o.change_feed_timeout = t; }, false},
      {"store_timeout", [](options& o, time t) { o.store_timeout = t; }, false},
      {"drain_limit", [](options& o, time t) { o.drain_limit = t; }, true},
      {"retry_delay", [](options& o, time t) { o.retry_delay = t; }, true},
      {"layout_poll_interval", [](options& o, time t) { o.layout_poll_interval = t; }, true},
      {"settle_window", [](options& o, time t) { o.settle_window = t; }, true},
      {"place_kept_for", [](options& o, time t) { o.place_kept_for = t; }, true},
      {"checkpoint_frequency.interval",
       [](options& o, time t) { o.checkpoint_frequency.interval = t; }, true},
  };
  for (auto const& [name, set, may_be_zero] : rows) {
    std::string const said = said_of([&](options& o) { set(o, -5ms); });
    CHECK(said ==
          std::string{name} + " is " + (may_be_zero ? "0 or more" : "more than 0") + ", not -5 ms");
    CHECK(is_good([&](options& o) { set(o, 0ms); }) == may_be_zero);
    CHECK(said_of([&](options& o) { set(o, 24h * 365 + 1ms); }) ==
          std::string{name} + " is a year at most, not 31536000001 ms");
    CHECK_FALSE(is_good([&](options& o) { set(o, time::max()); }));
  }
  CHECK(said_of([](options& o) { o.feed_poll_delay = 0ms; }) ==
        "feed_poll_delay is more than 0, not 0 ms");
}

TEST_CASE("intervals that contradict each other are refused by both names, at the first tick") {
  CHECK(said_of([](options& o) { o.lease_renew_interval = 31s; }) ==
        "lease_renew_interval (31000 ms) and lease_expiration_interval (60000 ms) contradict each "
        "other: renew at least twice in that time");
  CHECK(is_good([](options& o) { o.lease_renew_interval = 30s; }));
  CHECK(!is_good([](options& o) { o.lease_renew_interval = 30s + 1ns; }));
  CHECK(names_both(said_of([](options& o) { o.lease_expiration_interval = 33s; }),
                   "lease_renew_interval", "lease_expiration_interval"));
  CHECK(is_good([](options& o) { o.lease_expiration_interval = 34s; }));

  CHECK(said_of([](options& o) { o.store_timeout = 31s; }) ==
        "store_timeout (31000 ms) and lease_expiration_interval (60000 ms) contradict each other: "
        "one lost answer must not cost the lease");
  CHECK(is_good([](options& o) { o.store_timeout = 30s; }));
  CHECK(!is_good([](options& o) { o.store_timeout = 30s + 1ns; }));

  CHECK(said_of([](options& o) { o.layout_poll_interval = 14s; }) ==
        "layout_poll_interval (14000 ms) and lease_acquire_interval (13000 ms) contradict each "
        "other: poll more often than you look at all of it");
  CHECK(is_good([](options& o) { o.layout_poll_interval = 13s; }));
  CHECK(!is_good([](options& o) { o.layout_poll_interval = 13s + 1ns; }));

  CHECK(said_of([](options& o) { o.settle_window = 14s; }) ==
        "settle_window (14000 ms) and lease_acquire_interval (13000 ms) contradict each other: a "
        "host that has come waits no longer than that");
  CHECK(is_good([](options& o) { o.settle_window = 13s; }));
  CHECK(!is_good([](options& o) { o.settle_window = 13s + 1ns; }));

  CHECK(said_of([](options& o) { o.retry_delay = 31s; }) ==
        "retry_delay (31000 ms) and longest_retry_delay (30000 ms) contradict each other: the "
        "first is no longer than the longest");
  CHECK(is_good([](options& o) { o.retry_delay = 30s; }));
  CHECK(is_good([](options& o) { o.retry_delay = o.longest_retry_delay = 0s; }));
}

TEST_CASE("counts that contradict each other are refused by both names") {
  for (std::uint32_t least = 0; least < 5; ++least) {
    for (std::uint32_t most = 0; most < 5; ++most) {
      std::string const said = said_of([&](options& o) {
        o.min_lease_count = least;
        o.max_lease_count = most;
      });
      CHECK(said.empty() == (most == 0 || least <= most));
      if (!said.empty()) CHECK(names_both(said, "min_lease_count", "max_lease_count"));
    }
  }
  CHECK(said_of([](options& o) {
          o.min_lease_count = 3;
          o.max_lease_count = 2;
        }) ==
        "min_lease_count (3) and max_lease_count (2) contradict each other: the least is no more "
        "than the most");
}

TEST_CASE("counts of nothing are refused") {
  for (change const& nothing : std::vector<change>{
           [](options& o) { o.read_ahead = 0; }, [](options& o) { o.lanes = 0; },
           [](options& o) { o.most_attempts = 0; }, [](options& o) { o.most_unacknowledged = 0; }})
    CHECK(said_of(nothing) ==
          "read_ahead, lanes, most_attempts and most_unacknowledged are 1 at least");
  CHECK(is_good([](options& o) { o.read_ahead = o.lanes = o.most_unacknowledged = 1; }));
  CHECK(is_good([](options& o) { o.most_attempts = 1; }));
}

TEST_CASE("a clock that may be off by more than a fifth is refused") {
  CHECK(is_good([](options& o) { o.clock_rate_bound_ppm = 200'000; }));
  CHECK(is_good([](options& o) { o.clock_rate_bound_ppm = 0; }));
  CHECK(said_of([](options& o) { o.clock_rate_bound_ppm = 200'001; }) ==
        "clock_rate_bound_ppm is at most 200000, a fifth, not 200001");
}

TEST_CASE("a prefix that no store takes, and the session that is nobody's, are refused") {
  CHECK(is_good([](options& o) { o.lease_prefix = "orders."; }));
  CHECK(said_of([](options& o) { o.lease_prefix = "orders/"; }) ==
        "a prefix of leases is at most 100 letters, digits, '.', '-' and '_', the first no dot, "
        "not \"orders/\"");
  CHECK(is_good([](options& o) { o.session = keyspan::session_id{1}; }));
  CHECK(said_of([](options& o) { o.session = keyspan::departed_session; }) ==
        "the session ffffffffffffffff is no host's");
}

TEST_CASE("every contradiction leaves room for the longest numbers") {
  // said_of looks at whether anything is cut off.
  auto const longest = (instant::duration::max)();
  CHECK(!is_good([&](options& o) { o.lease_renew_interval = longest; }));
  CHECK(!is_good([&](options& o) {
    o.lease_expiration_interval = longest;
    o.store_timeout = longest;
  }));
  CHECK(!is_good([&](options& o) { o.layout_poll_interval = longest; }));
  CHECK(!is_good([&](options& o) { o.settle_window = longest; }));
  CHECK(!is_good([&](options& o) { o.retry_delay = longest; }));
  CHECK(!is_good([&](options& o) { o.feed_poll_delay = -longest; }));
  CHECK(!is_good([&](options& o) { o.lease_prefix = std::string(200, '/'); }));
}

TEST_CASE("checkpoint frequencies are equal where both parts are") {
  keyspan::checkpoint_frequency const none;
  CHECK(none == keyspan::checkpoint_frequency{});
  CHECK(none != keyspan::checkpoint_frequency{.items = 1});
  CHECK(none != keyspan::checkpoint_frequency{.interval = 1ns});
}

TEST_CASE("the example of processor_options reads as it should") {
  // [region: example]
  keyspan::processor_options<int> chosen{
      .host_name = "ada",
      .lease_prefix = "orders.",
      .lease_expiration_interval = 30s,
      .checkpoint_frequency = {.items = 1'000, .interval = 5s},
      .start = keyspan::from_beginning,
      .on_stop = keyspan::stop_manner::keep_place,
  };
  auto const refused = keyspan::sound(chosen).error().text;
  check(refused ==
        "lease_renew_interval (17000 ms) and lease_expiration_interval (30000 ms) contradict each "
        "other: renew at least twice in that time");
  chosen.lease_renew_interval = 10s;
  check(keyspan::sound(chosen).has_value());
  // [end: example]
}

}  // namespace
