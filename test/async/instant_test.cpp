// test/async/instant_test.cpp — moments that do not overflow.
#include <keyspan/async/instant.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

namespace {

using namespace std::chrono_literals;

using keyspan::instant;
using keyspan::instant_after;
using test::check;

constexpr instant first = (instant::min)();
constexpr instant last = (instant::max)();
constexpr instant noon{12h};

constexpr bool a_moment_is_as_far_away_as_the_delay_says() {
  check(instant_after(noon, 0s) == noon);
  check(instant_after(noon, 30min) == instant{12h + 30min});
  check(instant_after(noon, -30min) == instant{11h + 30min});
  check(instant_after(noon, std::chrono::duration<std::uint8_t>{200}) == noon + 200s);
  check(instant_after(noon, std::chrono::duration<std::int64_t, std::pico>{7'999}) == noon + 7ns);
  check(instant_after(noon, std::chrono::duration<std::int64_t, std::ratio<1, 3>>{4}) ==
        noon + 1'333'333'333ns);
  check(instant_after(noon, std::chrono::duration<double>{1.5}) == noon + 1'500ms);
  check(instant_after(noon, std::chrono::duration<float, std::milli>{-0.25f}) == noon - 250us);
  return true;
}
CHECK_BOTH(a_moment_is_as_far_away_as_the_delay_says);

// Whose numbers have no factor in common with a second's, so that their product fits nowhere.
constexpr bool a_moment_in_odd_units_is_as_far_away_as_the_delay_says() {
  using odd = std::chrono::duration<std::int64_t, std::ratio<1'000'000'007, 998'244'353>>;
  check(instant_after(noon, odd{1}) == noon + 1'001'758'741ns);
  check(instant_after(noon, odd{998'244'352}) == noon + 1'000'000'005'998'241'258ns);
  check(instant_after(noon, odd{998'244'353}) == noon + 1'000'000'007s);
  check(instant_after(noon, -odd{998'244'352}) == noon - 1'000'000'005'998'241'258ns);
  using odder = std::chrono::duration<std::int64_t, std::ratio<1, 9'223'372'036'854'775'783>>;
  check(instant_after(noon, odder{9'223'372'036'854'775'782}) == noon + 999'999'999ns);
  check(instant_after(noon, -odder{9'223'372'036'854'775'782}) == noon - 999'999'999ns);
  check(instant_after(noon, (odder::max)()) == noon + 1s);
  using long_ones = std::chrono::duration<std::int64_t, std::ratio<5'000'000'000>>;
  check(instant_after(instant{}, long_ones{1}) == instant{5'000'000'000s});
  check(instant_after(instant{}, long_ones{2}) == last);
  check(instant_after(instant{}, -long_ones{1}) == instant{-5'000'000'000s});
  check(instant_after(instant{}, -long_ones{2}) == first);
  return true;
}
CHECK_BOTH(a_moment_in_odd_units_is_as_far_away_as_the_delay_says);

constexpr bool a_moment_behind_the_end_of_time_is_the_end() {
  using hours = std::chrono::hours;
  using days = std::chrono::duration<std::int64_t, std::ratio<86'400>>;
  using unsigned_ns = std::chrono::duration<std::uint64_t, std::nano>;
  check(instant_after(noon, (instant::duration::max)()) == last);
  check(instant_after(instant{}, (instant::duration::max)()) == last);
  check(instant_after(instant{-1ns}, (instant::duration::max)()) == last - 1ns);
  check(instant_after(last, 1ns) == last);
  check(instant_after(last - 5ns, 4ns) == last - 1ns);
  check(instant_after(noon, (hours::max)()) == last);
  check(instant_after(noon, (days::max)()) == last);
  check(instant_after(noon, hours{2'562'048}) == last);  // the first that does not fit
  check(instant_after(instant{}, hours{2'562'047}) == instant{hours{2'562'047}});
  check(instant_after(noon, (unsigned_ns::max)()) == last);
  check(instant_after(noon, std::chrono::duration<double>{1e300}) == last);
  check(instant_after(noon, std::chrono::duration<double>{9'223'372'036.854776}) == last);
  check(instant_after(
            noon, std::chrono::duration<double>{std::numeric_limits<double>::infinity()}) == last);
  check(instant_after(
            noon, std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}) == last);

  check(instant_after(-noon.time_since_epoch() + instant{}, (instant::duration::min)()) == first);
  check(instant_after(first, -1ns) == first);
  check(instant_after(first + 5ns, -4ns) == first + 1ns);
  check(instant_after(noon, (instant::duration::min)()) == first + 12h);
  check(instant_after(instant{-1ns}, (hours::min)()) == first);
  check(instant_after(instant{-1ns}, -std::chrono::duration<double>{1e300}) == first);
  return true;
}
CHECK_BOTH(a_moment_behind_the_end_of_time_is_the_end);

TEST_CASE("the example of instant reads as it should") {
  // [region: example]
  keyspan::instant const midday{12h};

  check(keyspan::instant_after(midday, 30min) == keyspan::instant{12h + 30min});
  check(keyspan::instant_after(midday, -1h) == keyspan::instant{11h});
  check(keyspan::instant_after(midday, (std::chrono::hours::max)()) == (keyspan::instant::max)());
  // [end: example]
}

}  // namespace
