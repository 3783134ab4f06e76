// test/lease/lease_terms_test.cpp — how long a taker waits: small numbers all of them, great ones
// at their ends.
#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/session_id.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/enumerators.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace {

using keyspan::instant;
using keyspan::wait_before_taking;
using test::check;
using namespace std::chrono_literals;

using duration = instant::duration;
constexpr std::int64_t million = 1'000'000;
constexpr duration most = (duration::max)();

// The least wait of at least hold (1 + r) / (1 - r). All of it fits 64 bits for small holds.
constexpr bool is_the_least_that_is_long_enough(std::int64_t hold, std::uint32_t ppm) {
  std::int64_t const wait = wait_before_taking(duration{hold}, ppm).count();
  std::int64_t const needed = hold * (million + std::int64_t{ppm});
  std::int64_t const slow = million - std::int64_t{ppm};
  return wait * slow >= needed && (wait - 1) * slow < needed;
}

constexpr std::uint32_t bounds[] = {0,       1,       2,       3,       10,      100,     999,
                                    1'000,   1'001,   9'999,   166'667, 249'999, 333'333, 333'334,
                                    499'999, 500'000, 500'001, 666'667, 900'000, 999'998, 999'999};

constexpr bool a_taker_waits_as_long_as_the_holder_may_hold_and_no_longer() {
  for (auto const ppm : bounds)
    for (std::int64_t hold = 0; hold < 50; ++hold)
      check(is_the_least_that_is_long_enough(hold, ppm));
  return true;
}
CHECK_BOTH(a_taker_waits_as_long_as_the_holder_may_hold_and_no_longer);

TEST_CASE("a taker waits so long for each hold and each bound of a small space") {
  for (auto const ppm : bounds)
    for (std::int64_t hold = 0; hold < 20'000; ++hold)
      REQUIRE(is_the_least_that_is_long_enough(hold, ppm));
  for (std::uint32_t ppm = 0; ppm < 1'000'000; ppm += 7)
    for (std::int64_t const hold : {1, 2, 3, 1'000, 999'999, 1'000'000, 1'000'001, 4'000'000})
      REQUIRE(is_the_least_that_is_long_enough(hold, ppm));
}

// Holds that are longer by 1 - r are waited for longer by 1 + r, so the small ones speak for all.
TEST_CASE("a taker waits so long for long holds, too") {
  test::random rng{3};
  for (int round = 0; round < 200'000; ++round) {
    std::uint32_t const ppm =
        rng.chance(50) ? rng.pick(bounds) : static_cast<std::uint32_t>(rng.below(1'000'000));
    std::int64_t const slow = million - std::int64_t{ppm};
    std::int64_t const fast = million + std::int64_t{ppm};
    auto const rest = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(slow)));
    std::int64_t const of_rest = wait_before_taking(duration{rest}, ppm).count();
    REQUIRE(is_the_least_that_is_long_enough(rest, ppm));
    std::int64_t const times = rng.between(0, (most.count() - of_rest) / fast);
    REQUIRE(wait_before_taking(duration{times * slow + rest}, ppm).count() ==
            times * fast + of_rest);
  }
}

TEST_CASE("a wait that is too long for a clock is for ever") {
  for (auto const ppm : bounds) {
    std::int64_t const slow = million - std::int64_t{ppm};
    std::int64_t const fast = million + std::int64_t{ppm};
    CHECK(wait_before_taking(most, ppm) == most);
    CHECK(wait_before_taking(most - 1ns, ppm) == (ppm == 0 ? most - 1ns : most));
    // The longest hold whose wait is told exactly, and the shortest one whose wait is not.
    std::int64_t const times = most.count() / fast;
    std::int64_t const last = times * fast;
    CHECK(wait_before_taking(duration{times * slow}, ppm).count() == last);
    if (ppm == 0) continue;
    std::int64_t rest = (most.count() - last) * slow / fast;
    CHECK(wait_before_taking(duration{times * slow + rest}, ppm) <= most);
    CHECK(wait_before_taking(duration{times * slow + rest}, ppm) > duration{last - 1});
    CHECK(wait_before_taking(duration{times * slow + rest + 1}, ppm) == most);
  }
}

TEST_CASE(
    "a wait that is nearly too long by its whole parts, and is by the rest, is for ever, too") {
  for (std::uint32_t ppm = 333'335; ppm < 1'000'000; ppm += 11) {
    std::int64_t const slow = million - std::int64_t{ppm};
    for (std::int64_t const whole : {-1, 0, 1}) {
      std::int64_t const times = most.count() / (2 * std::int64_t{ppm}) + whole;
      if (times > (most.count() - slow) / slow) continue;
      REQUIRE(wait_before_taking(duration{times * slow + slow - 1}, ppm) == most);
    }
  }
}

TEST_CASE("a taker never waits less for a longer hold, or for worse clocks") {
  test::random rng{4};
  auto const any_hold = [&] { return duration{rng.between(0, most.count() >> rng.below(63))}; };
  auto const any_bound = [&] { return static_cast<std::uint32_t>(rng.below(1'000'000)); };
  for (int round = 0; round < 200'000; ++round) {
    auto const hold = any_hold();
    auto const longer = (std::max)(hold, any_hold());
    auto const ppm = any_bound();
    auto const worse = (std::max)(ppm, any_bound());
    REQUIRE(wait_before_taking(hold, ppm) >= hold);
    REQUIRE(wait_before_taking(longer, ppm) >= wait_before_taking(hold, ppm));
    REQUIRE(wait_before_taking(hold, worse) >= wait_before_taking(hold, ppm));
  }
}

TEST_CASE("no lease is held for less than no time, and no clock is off by all of it") {
  auto const promise =
      std::string_view{"a hold is not negative, and a clock's rate is off by less than all of it"};
  CHECK(test::promise_broken_by([] { return wait_before_taking(-1ns, 0); }) == promise);
  CHECK(test::promise_broken_by([] { return wait_before_taking(1ns, 1'000'000); }) == promise);
  CHECK(test::promise_broken_by([] { return wait_before_taking(1ns, ~std::uint32_t{}); }) ==
        promise);
  CHECK(test::promise_broken_by([] { return wait_before_taking(0ns, 999'999); }).empty());
}

TEST_CASE("every way to show that an owner lives is called by its own name") {
  CHECK(test::are_named<keyspan::liveness>(2));
  CHECK(test::promise_broken_by([] { return name_of(keyspan::liveness{2}); }) ==
        "a liveness is one of the enumerators");
}

TEST_CASE("terms that differ in anything are not equal") {
  keyspan::lease_terms const usual;
  CHECK(usual == keyspan::lease_terms{});
  CHECK(usual != keyspan::lease_terms{.session = keyspan::session_id{1}});
  CHECK(usual != keyspan::lease_terms{.hold = 59s});
  CHECK(usual != keyspan::lease_terms{.rate_bound_ppm = 0});
  CHECK(usual != keyspan::lease_terms{.liveness = keyspan::liveness::per_lease});
  CHECK(usual != keyspan::lease_terms{.session_until = instant{1ns}});
  CHECK(usual != keyspan::lease_terms{.is_stopping = true});
  CHECK(usual != keyspan::lease_terms{.place = 1});
}

TEST_CASE("the example of lease_terms reads as it should") {
  // [region: example]
  // Clocks whose rates are right to a thousandth: the holder's may be slow, the taker's fast.
  auto const wait = keyspan::wait_before_taking(60s, 1'000);
  check(wait == 60'120'120'121ns);
  check(keyspan::wait_before_taking(60s, 0) == 60s);

  keyspan::lease_terms const terms{.session = keyspan::session_id{0x1F}, .hold = 30s};
  check(terms.liveness == keyspan::liveness::per_session);
  // [end: example]
}

}  // namespace
