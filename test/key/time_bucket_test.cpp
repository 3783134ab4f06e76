// test/key/time_bucket_test.cpp — moments and the buckets they are in.
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/time_bucket.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <boost/hana/adapt_struct.hpp>

#include "tree.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <string_view>

namespace {

struct event {
  std::string_view host{};
  std::chrono::sys_time<std::chrono::milliseconds> at{};
  std::optional<std::chrono::sys_days> seen{};
  std::int64_t ts = 0;
  double exact = 0;
  std::string_view text{};
  bool flag = false;
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(event, host, at, seen, ts, exact, text, flag);

namespace {

using keyspan::errc;
using keyspan::key_of;
using keyspan::partition_key;
using keyspan::path;
using keyspan::time_bucket;
using keyspan::time_bucket_of;
using keyspan::time_unit;
using keyspan::undefined;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year;
using test::check;
using test::tree;

constexpr std::string_view out_of_range =
    "a time bucket lies in the years 0 to 9999; a number counts seconds since 1970";

constexpr sys_seconds morning = sys_days{year{2026} / 11 / 18} + std::chrono::hours{9} +
                                std::chrono::minutes{59} + std::chrono::seconds{59};

constexpr bool a_moment_is_in_one_bucket_of_each_length() {
  // [region: example]
  struct reading {
    std::string_view sensor;
    std::chrono::sys_seconds at;
  };
  constexpr auto by_day = keyspan::key_of(
      &reading::sensor, keyspan::time_bucket(&reading::at, keyspan::time_unit::day));
  check(*by_day(reading{"s1", morning}) == partition_key{"s1", "2026-11-18"});
  check(*time_bucket_of(morning, time_unit::month) == "2026-11");
  check(*time_bucket_of(morning, time_unit::hour) == "2026-11-18T09");
  // [end: example]
  return true;
}
CHECK_BOTH(a_moment_is_in_one_bucket_of_each_length);

constexpr bool times_before_1970_are_in_the_bucket_that_began_before_them() {
  auto const at = [](std::int64_t seconds) { return sys_seconds{std::chrono::seconds{seconds}}; };
  check(*time_bucket_of(at(0), time_unit::hour) == "1970-01-01T00");
  check(*time_bucket_of(at(-1), time_unit::hour) == "1969-12-31T23");
  check(*time_bucket_of(at(-3600), time_unit::hour) == "1969-12-31T23");
  check(*time_bucket_of(at(-3601), time_unit::hour) == "1969-12-31T22");
  check(*time_bucket_of(at(-86'400), time_unit::day) == "1969-12-31");
  check(*time_bucket_of(at(-86'401), time_unit::day) == "1969-12-30");
  // Fractions of a second as well.
  using std::chrono::nanoseconds, std::chrono::sys_time;
  check(*time_bucket_of(sys_time<nanoseconds>{nanoseconds{-1}}, time_unit::hour) ==
        "1969-12-31T23");
  check(
      *time_bucket_of(sys_time<std::chrono::duration<double>>{std::chrono::duration<double>{-1e-9}},
                      time_unit::hour) == "1969-12-31T23");
  return true;
}
CHECK_BOTH(times_before_1970_are_in_the_bucket_that_began_before_them);

constexpr bool years_have_four_digits() {
  auto const first = sys_seconds{sys_days{year{0} / 1 / 1}};
  auto const last = sys_seconds{sys_days{year{10000} / 1 / 1}} - std::chrono::seconds{1};
  check(*time_bucket_of(first, time_unit::hour) == "0000-01-01T00");
  check(*time_bucket_of(last, time_unit::hour) == "9999-12-31T23");
  check(time_bucket_of(first - std::chrono::seconds{1}, time_unit::day).error().text ==
        out_of_range);
  check(time_bucket_of(last + std::chrono::seconds{1}, time_unit::day).error().code ==
        errc::not_representable);
  return true;
}
CHECK_BOTH(years_have_four_digits);

template <class Duration>
constexpr bool extremes_are_refused() {
  using time = std::chrono::sys_time<Duration>;
  using rep = typename Duration::rep;
  check(
      time_bucket_of(time{Duration{std::numeric_limits<rep>::max()}}, time_unit::day).has_value() ==
      false);
  check(time_bucket_of(time{Duration{std::numeric_limits<rep>::lowest()}}, time_unit::day)
            .has_value() == false);
  check(*time_bucket_of(time{Duration{0}}, time_unit::day) == "1970-01-01");
  return true;
}

template <class Rep, class Period>
constexpr auto day_at(Rep count, Period) {
  using since = std::chrono::duration<Rep, Period>;
  return time_bucket_of(std::chrono::sys_time<since>{since{count}}, time_unit::day);
}

constexpr bool what_a_time_is_counted_in_does_not_matter() {
  using days = std::ratio<86'400>;
  using hours = std::ratio<3600>;
  check(*day_at(20'000u, days{}) == "2024-10-04");
  check(*day_at(std::uint64_t{480'000}, hours{}) == "2024-10-04");
  check(*day_at(29'000'000u, std::ratio<60>{}) == "2025-02-19");
  check(*day_at(static_cast<short>(20'000), days{}) == "2024-10-04");
  check(*day_at(static_cast<short>(-20'000), days{}) == "1915-03-31");
  check(*day_at(static_cast<signed char>(100), days{}) == "1970-04-11");
  check(day_at(~std::uint64_t{0}, std::ratio<1>{}).error().text == out_of_range);
  check(day_at(~std::uint64_t{0}, days{}).error().text == out_of_range);
  check(*day_at(std::uint64_t{1}, std::milli{}) == "1970-01-01");
  return true;
}
CHECK_BOTH(what_a_time_is_counted_in_does_not_matter);

constexpr bool no_length_of_time_overflows() {
  using std::chrono::duration;
  check(extremes_are_refused<std::chrono::seconds>());
  check(extremes_are_refused<std::chrono::milliseconds>());
  check(extremes_are_refused<std::chrono::hours>());
  check(extremes_are_refused<duration<std::int64_t, std::ratio<86'400>>>());
  check(extremes_are_refused<duration<std::int64_t, std::ratio<604'800>>>());
  check(extremes_are_refused<duration<std::int32_t, std::ratio<31'556'952>>>());
  check(extremes_are_refused<duration<double>>());
  check(extremes_are_refused<duration<float, std::ratio<86'400>>>());
  // 64 bit of nanoseconds end in 2262, and begin in 1677.
  using nanoseconds = std::chrono::nanoseconds;
  check(*time_bucket_of(std::chrono::sys_time<nanoseconds>{nanoseconds::max()}, time_unit::day) ==
        "2262-04-11");
  check(*time_bucket_of(std::chrono::sys_time<nanoseconds>{nanoseconds::min()}, time_unit::day) ==
        "1677-09-21");
  return true;
}
CHECK_BOTH(no_length_of_time_overflows);

template <class Period>
constexpr bool ends_are_taken_and_no_more(std::int64_t first, std::string_view first_text,
                                          std::int64_t last, std::string_view last_text) {
  using duration = std::chrono::duration<std::int64_t, Period>;
  auto const bucket = [](std::int64_t count) {
    return time_bucket_of(std::chrono::sys_time<duration>{duration{count}}, time_unit::hour);
  };
  check(*bucket(first) == first_text);
  check(*bucket(last) == last_text);
  check(bucket(first - 1).error().text == out_of_range);
  check(bucket(last + 1).error().text == out_of_range);
  return true;
}

constexpr bool long_units_end_where_the_years_do() {
  using std::chrono::days, std::chrono::hours, std::chrono::minutes, std::chrono::weeks;
  constexpr std::int64_t first = sys_days{year{0} / 1 / 1}.time_since_epoch().count();
  constexpr std::int64_t end = sys_days{year{10000} / 1 / 1}.time_since_epoch().count();
  check(ends_are_taken_and_no_more<minutes::period>(first * 1440, "0000-01-01T00", end * 1440 - 1,
                                                    "9999-12-31T23"));
  check(ends_are_taken_and_no_more<hours::period>(first * 24, "0000-01-01T00", end * 24 - 1,
                                                  "9999-12-31T23"));
  check(ends_are_taken_and_no_more<days::period>(first, "0000-01-01T00", end - 1, "9999-12-31T00"));
  // Weeks of 1970 begin on Thursdays.
  check(ends_are_taken_and_no_more<weeks::period>(-102'789, "0000-01-06T00", 418'985,
                                                  "9999-12-30T00"));
  return true;
}
CHECK_BOTH(long_units_end_where_the_years_do);

TEST_CASE("every day of ten thousand years has the date that the calendar gives it") {
  auto const first = sys_days{year{0} / 1 / 1}.time_since_epoch().count();
  auto const end = sys_days{year{10000} / 1 / 1}.time_since_epoch().count();
  bool all = true;
  for (auto day = first; day < end; ++day) {
    auto const ours = keyspan::detail::civil_from_days(day);
    std::chrono::year_month_day const date{sys_days{std::chrono::days{day}}};
    all = all && ours.year == static_cast<int>(date.year()) &&
          ours.month == static_cast<unsigned>(date.month()) &&
          ours.day == static_cast<unsigned>(date.day());
  }
  CHECK(all);
  CHECK(end - first == 3'652'425);
}

TEST_CASE("texts of buckets sort as their times do") {
  test::random random{18};
  for (int i = 0; i < 2000; ++i) {
    auto const draw = [&] {
      return sys_seconds{std::chrono::seconds{
          random.between(keyspan::detail::first_second, keyspan::detail::end_of_seconds - 1)}};
    };
    auto const a = draw();
    auto const b = draw();
    for (auto const unit : {time_unit::month, time_unit::day, time_unit::hour}) {
      auto const x = *time_bucket_of(a, unit);
      auto const y = *time_bucket_of(b, unit);
      CHECK((x == y || (x < y) == (a < b)));
    }
  }
}

constexpr bool a_number_counts_seconds() {
  event one{};
  one.ts = morning.time_since_epoch().count();
  one.exact = -0.5;
  check(*time_bucket(&event::ts, time_unit::hour)(one) == partition_key{"2026-11-18T09"});
  check(*time_bucket(path<"/exact">, time_unit::hour)(one) == partition_key{"1969-12-31T23"});
  // Milliseconds by mistake are far in the future.
  one.ts *= 1000;
  check(time_bucket(&event::ts, time_unit::day)(one).error().text == out_of_range);
  return true;
}
CHECK_BOTH(a_number_counts_seconds);

constexpr bool numbers_of_seconds_end_where_the_years_do() {
  auto const bucket = [](double seconds) {
    event one{};
    one.exact = seconds;
    return time_bucket(&event::exact, time_unit::hour)(one);
  };
  constexpr double first = -62'167'219'200.0;
  constexpr double end = 253'402'300'800.0;
  // The next numbers that a double holds.
  constexpr double before_first = first - 0x1p-17;
  constexpr double before_end = end - 0x1p-15;
  static_assert(before_first < first && first - 0x1p-19 == first);
  static_assert(before_end < end && end - 0x1p-17 == end);
  check(*bucket(first) == partition_key{"0000-01-01T00"});
  check(*bucket(before_end) == partition_key{"9999-12-31T23"});
  check(bucket(before_first).error().code == errc::not_representable);
  check(bucket(before_first).error().text == out_of_range);
  check(bucket(end).error().code == errc::not_representable);
  check(bucket(end).error().text == out_of_range);
  return true;
}
CHECK_BOTH(numbers_of_seconds_end_where_the_years_do);

TEST_CASE("a timestamp is found wherever a component finds it") {
  event one{.host = "h", .at = morning + std::chrono::milliseconds{999}, .ts = 86'400};
  CHECK(*time_bucket(&event::at, time_unit::hour)(one) == partition_key{"2026-11-18T09"});
  CHECK(*time_bucket(path<"/at">, time_unit::day)(one) == partition_key{"2026-11-18"});
  auto const later = [](event const& e) { return e.at + std::chrono::hours{15}; };
  CHECK(*time_bucket(later, time_unit::hour)(one) == partition_key{"2026-11-19T00"});
  CHECK(*time_bucket(key_of(&event::ts), time_unit::day)(one) == partition_key{"1970-01-02"});
  auto const made = [](event const&) { return partition_key{86'400 * 2}; };
  CHECK(*time_bucket(made, time_unit::day)(one) == partition_key{"1970-01-03"});
  auto const maybe = [](event const& e) {
    return keyspan::result<sys_seconds>{sys_seconds{std::chrono::seconds{e.ts}}};
  };
  CHECK(*time_bucket(maybe, time_unit::day)(one) == partition_key{"1970-01-02"});

  tree const members[]{tree::leaf("_ts", one.ts), tree::leaf("word", "2026-11-18"),
                       tree::object("o", {})};
  auto const document = tree::object("", members);
  CHECK(*time_bucket(path<"/_ts">, time_unit::day)(document) == partition_key{"1970-01-02"});
  CHECK(*time_bucket(*keyspan::key_path::parse("/_ts"), time_unit::month)(document) ==
        partition_key{"1970-01"});
  CHECK(time_bucket(path<"/word">, time_unit::day)(document).error().text ==
        "a time bucket is made of a number of seconds, not of a string");
  CHECK(time_bucket(path<"/o">, time_unit::day)(document).error().code == errc::not_a_key);
}

TEST_CASE("a missing timestamp stays missing") {
  event one{};
  CHECK(*time_bucket(&event::seen, time_unit::day)(one) == partition_key{undefined});
  one.seen = sys_days{year{2000} / 2 / 29};
  CHECK(*time_bucket(&event::seen, time_unit::day)(one) == partition_key{"2000-02-29"});
  auto const nothing = [](event const&) { return keyspan::null; };
  CHECK(*time_bucket(nothing, time_unit::day)(one) == partition_key{keyspan::null});
}

TEST_CASE("a time bucket is no bucket of words or truth values") {
  event const one{};
  auto const of_text = time_bucket(&event::text, time_unit::day)(one);
  CHECK(of_text.error().code == errc::not_representable);
  CHECK(time_bucket(&event::flag, time_unit::day)(one).error().text ==
        "a time bucket is made of a number of seconds, not of a boolean");
}

static_assert(!keyspan::timestamp_component_of<decltype(path<"/nowhere">), event>);
static_assert(keyspan::timestamp_component_of<decltype(&event::at), event>);
static_assert(
    !keyspan::timestamp_component_of<std::chrono::steady_clock::time_point event::*, event>,
    "only the system's clock says what time it is");

TEST_CASE("a time bucket allocates nothing") {
  event const one{.host = "h", .at = morning};
  auto const by_host_and_hour = key_of(&event::host, time_bucket(&event::at, time_unit::hour));
  CHECK(test::allocations_in([&] { static_cast<void>(by_host_and_hour(one)); }) == 0);
}

}  // namespace
