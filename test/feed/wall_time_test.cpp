// test/feed/wall_time_test.cpp — moments of the calendar and their texts.
#include <keyspan/core/error.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/feed/wall_time.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::read_time_text;
using keyspan::time_text;
using keyspan::wall_time;
using test::check;

constexpr wall_time at_ms(std::int64_t count) {
  return wall_time{std::chrono::milliseconds{count}};
}

constexpr bool a_moment_has_a_text_and_comes_back() {
  // [region: example]
  keyspan::wall_time const moment{std::chrono::milliseconds{1'234'567'890'123}};
  check(keyspan::time_text(moment) == "2009-02-13T23:31:30.123Z");
  check(keyspan::read_time_text("2009-02-14T00:31:30.123+01:00") == moment);
  // [end: example]
  check(time_text(wall_time{}) == "1970-01-01T00:00:00.000Z");
  check(time_text(at_ms(-1)) == "1969-12-31T23:59:59.999Z");
  check(time_text(at_ms(951'782'400'000)) == "2000-02-29T00:00:00.000Z");
  check(time_text(at_ms(253'402'300'799'999)) == "9999-12-31T23:59:59.999Z");
  check(time_text(at_ms(253'402'300'800'000)) == "+010000-01-01T00:00:00.000Z");
  check(time_text(at_ms(-62'167'219'200'000)) == "0000-01-01T00:00:00.000Z");
  check(time_text(at_ms(-62'167'219'200'001)) == "-000001-12-31T23:59:59.999Z");
  return true;
}
CHECK_BOTH(a_moment_has_a_text_and_comes_back);

constexpr bool the_first_and_the_last_moment_have_texts() {
  constexpr auto last = at_ms((std::numeric_limits<std::int64_t>::max)());
  constexpr auto first = at_ms((std::numeric_limits<std::int64_t>::min)());
  check(time_text(last) == "+292278994-08-17T07:12:55.807Z");
  check(time_text(first) == "-292275055-05-16T16:47:04.192Z");
  check(read_time_text(time_text(last)) == last);
  check(read_time_text(time_text(first)) == first);
  for (std::string_view const text :
       {"+292278994-08-17T07:12:55.808Z", "+292278994-08-18T00:00:00.000Z",
        "-292275055-05-16T16:47:04.191Z", "-292275055-05-15T23:59:59.999Z",
        "+999999999-01-01T00:00:00.000Z", "-999999999-01-01T00:00:00.000Z"})
    check(read_time_text(text).error().code == errc::not_representable);
  return true;
}
CHECK_BOTH(the_first_and_the_last_moment_have_texts);

constexpr bool what_others_write_is_read() {
  constexpr auto moment = at_ms(1'673'778'600'000);
  for (std::string_view const text :
       {"2023-01-15T10:30:00Z", "2023-01-15T10:30:00", "2023-01-15T10:30:00.0000000Z",
        "2023-01-15T10:30:00.0009", "2023-01-15T10:30:00+00:00", "2023-01-15T11:00:00+00:30",
        "2023-01-16T00:30:00+14:00", "2023-01-14T22:30:00.000-12:00", "+002023-01-15T10:30:00Z"})
    check(read_time_text(text) == moment);
  check(read_time_text("2023-01-15T10:30:00.1Z") == moment + std::chrono::milliseconds{100});
  check(read_time_text("2023-01-15T10:30:00.1239999Z") == moment + std::chrono::milliseconds{123});
  return true;
}
CHECK_BOTH(what_others_write_is_read);

constexpr bool what_is_no_moment_is_refused() {
  for (std::string_view const text : {"",
                                      "2023",
                                      "2023-01-15",
                                      "2023-01-15 10:30:00Z",
                                      "2023-1-15T10:30:00Z",
                                      "2023-13-15T10:30:00Z",
                                      "2023-00-15T10:30:00Z",
                                      "2023-02-29T10:30:00Z",
                                      "2023-01-32T10:30:00Z",
                                      "2023-01-00T10:30:00Z",
                                      "2023-01-15T24:00:00Z",
                                      "2023-01-15T10:60:00Z",
                                      "2023-01-15T10:30:60Z",
                                      "2023-01-15T10:30Z",
                                      "2023-01-15T10:30:00.Z",
                                      "2023-01-15T10:30:00,5Z",
                                      "2023-01-15T10:30:00z",
                                      "2023-01-15T10:30:00ZZ",
                                      "2023-01-15T10:30:00+0100",
                                      "2023-01-15T10:30:00+24:00",
                                      "2023-01-15T10:30:00+01:60",
                                      "02023-01-15T10:30:00Z",
                                      "+2023-01-15T10:30:00Z",
                                      "-2023-01-15T10:30:00Z",
                                      "+1234567890-01-15T10:30:00Z",
                                      "2023-01-15T10:30:00 Z"})
    check(read_time_text(text).error().code == errc::malformed);
  check(read_time_text("soon").error().text ==
        "expected a moment such as 2026-11-18T22:30:05.120Z, found \"soon\"");
  return true;
}
CHECK_BOTH(what_is_no_moment_is_refused);

TEST_CASE("every moment has one text, and texts sort like moments") {
  test::random random{23};
  for (int i = 0; i < 20'000; ++i) {
    auto const moment = at_ms(random.chance(50) ? random.between(0, 4'000'000'000'000)
                                                : static_cast<std::int64_t>(random()));
    CHECK(read_time_text(time_text(moment)) == moment);
    auto const other = at_ms(random.between(0, 4'000'000'000'000));
    auto const third = at_ms(random.between(0, 4'000'000'000'000));
    CHECK((time_text(other) <=> time_text(third)) == (other <=> third));
  }
}

TEST_CASE("every day of four hundred years follows the one before") {
  // Against the rule of leap years, counted by hand.
  int year = 1900;
  int month = 1;
  int day = 1;
  constexpr int lengths[]{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (std::int64_t days = -25'567; year < 2300; ++days) {
    auto const text = time_text(at_ms(days * 86'400'000));
    auto const digits = [&](std::size_t from, std::size_t count) {
      int value = 0;
      for (char const c : text.view().substr(from, count)) value = value * 10 + (c - '0');
      return value;
    };
    if (digits(0, 4) != year || digits(5, 2) != month || digits(8, 2) != day)
      FAIL("not " << year << "-" << month << "-" << day << ": " << text);
    bool const leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (++day > lengths[month - 1] + (month == 2 && leap ? 1 : 0)) {
      day = 1;
      if (++month > 12) {
        month = 1;
        ++year;
      }
    }
  }
}

TEST_CASE("a moment is written and read without allocation") {
  CHECK(test::allocations_in([] {
          if (!(read_time_text(time_text(wall_time{})) == wall_time{})) FAIL("another moment");
        }) == 0);
}

}  // namespace
