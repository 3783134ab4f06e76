// keyspan/feed/wall_time.hpp — a moment of the calendar, and its text.
//
//   2026-11-18T22:30:05.120Z     ISO 8601, in UTC, with milliseconds
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keyspan {

/// A moment of the calendar, as services tell when an item was changed.
using wall_time = std::chrono::sys_time<std::chrono::milliseconds>;

namespace detail {

inline constexpr std::int64_t day_ms = 86'400'000;
// The calendar repeats itself after so many years and days; the one of the library knows only the
// years of a few such rounds.
inline constexpr std::int64_t round_years = 400;
inline constexpr std::int64_t round_days = 146'097;

constexpr std::int64_t floored(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

// Digits of a fixed count, and more where the number has more.
template <std::size_t Capacity>
constexpr void append_padded(inline_text<Capacity>& to, std::int64_t value, int digits) {
  std::int64_t limit = 1;
  while (--digits > 0) limit *= 10;
  for (; value < limit && limit > 1; limit /= 10) to.append('0');
  to.append(value);
}

// A text that is taken apart from its beginning.
class time_scanner {
 public:
  constexpr explicit time_scanner(std::string_view text) : left_{text} {}

  constexpr bool done() const { return left_.empty(); }
  constexpr bool take(char wanted) {
    if (!left_.starts_with(wanted)) return false;
    left_.remove_prefix(1);
    return true;
  }
  // A number of at least and at most so many digits.
  constexpr bool number(std::int64_t& to, std::size_t least, std::size_t most) {
    to = 0;
    std::size_t count = 0;
    for (; count < most && count < left_.size() && is_digit(left_[count]); ++count)
      to = to * 10 + (left_[count] - '0');
    left_.remove_prefix(count);
    return count >= least;
  }
  // What stands behind a decimal point, in thousandths; what is finer is cut off.
  constexpr bool thousandths(std::int64_t& to) {
    to = 0;
    std::size_t count = 0;
    for (; count < left_.size() && is_digit(left_[count]); ++count)
      if (count < 3) to = to * 10 + (left_[count] - '0');
    left_.remove_prefix(count);
    for (std::size_t i = count; i < 3; ++i) to *= 10;
    return count > 0;
  }

 private:
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::string_view left_;
};

struct scanned_time {
  std::int64_t days = 0;  // since 1970
  std::int64_t ms = 0;    // since the day began
};

constexpr bool scan_day(time_scanner& in, std::int64_t& days) {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  bool const is_before = in.take('-');
  bool const is_signed = is_before || in.take('+');
  if (!in.number(year, is_signed ? 6 : 4, is_signed ? 9 : 4)) return false;
  if (!in.take('-') || !in.number(month, 2, 2) || !in.take('-') || !in.number(day, 2, 2))
    return false;
  if (is_before) year = -year;
  std::int64_t const round = floored(year - 1970, round_years);
  auto const date = std::chrono::year{static_cast<int>(year - round * round_years)} /
                    static_cast<int>(month) / static_cast<int>(day);
  if (!date.ok()) return false;
  days = std::chrono::sys_days{date}.time_since_epoch().count() + round * round_days;
  return true;
}

constexpr bool scan_time(time_scanner& in, scanned_time& to) {
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  std::int64_t seconds = 0;
  std::int64_t ms = 0;
  if (!scan_day(in, to.days) || !in.take('T') || !in.number(hours, 2, 2) || !in.take(':') ||
      !in.number(minutes, 2, 2) || !in.take(':') || !in.number(seconds, 2, 2))
    return false;
  if (hours > 23 || minutes > 59 || seconds > 59) return false;
  if (in.take('.') && !in.thousandths(ms)) return false;
  to.ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms;
  if (in.done() || in.take('Z')) return in.done();
  bool const is_west = in.take('-');
  if (!is_west && !in.take('+')) return false;
  if (!in.number(hours, 2, 2) || !in.take(':') || !in.number(minutes, 2, 2)) return false;
  if (hours > 23 || minutes > 59) return false;
  std::int64_t const offset = (hours * 60 + minutes) * 60'000;
  to.ms += is_west ? offset : -offset;
  to.days += floored(to.ms, day_ms);
  to.ms -= floored(to.ms, day_ms) * day_ms;
  return in.done();
}

}  // namespace detail

/// "2026-11-18T22:30:05.120Z". Years that do not have four digits have a sign and six to nine of
/// them, as ISO 8601 asks. Allocates nothing.
[[nodiscard]] constexpr inline_text<32> time_text(wall_time time) {
  std::int64_t const count = time.time_since_epoch().count();
  std::int64_t const days = detail::floored(count, detail::day_ms);
  std::int64_t const ms =
      count % detail::day_ms + (count % detail::day_ms < 0 ? detail::day_ms : 0);
  std::int64_t const round = detail::floored(days, detail::round_days);
  std::chrono::year_month_day const date{std::chrono::sys_days{
      std::chrono::days{static_cast<int>(days - round * detail::round_days)}}};
  std::int64_t const year = static_cast<int>(date.year()) + round * detail::round_years;
  inline_text<32> text;
  bool const is_long = year < 0 || year > 9999;
  if (is_long) text.append(year < 0 ? '-' : '+');
  detail::append_padded(text, year < 0 ? -year : year, is_long ? 6 : 4);
  text.append('-');
  detail::append_padded(text, static_cast<unsigned>(date.month()), 2);
  text.append('-');
  detail::append_padded(text, static_cast<unsigned>(date.day()), 2);
  text.append('T');
  detail::append_padded(text, ms / 3'600'000, 2);
  text.append(':');
  detail::append_padded(text, ms / 60'000 % 60, 2);
  text.append(':');
  detail::append_padded(text, ms / 1000 % 60, 2);
  text.append('.');
  detail::append_padded(text, ms % 1000, 3);
  text.append('Z');
  return text;
}

/// The moment that a text of ISO 8601 names: a day and a time to the second, any digits of a
/// fraction, of which three count, and Z, an offset or nothing, which stands for Z. Allocates
/// nothing. Errors: `malformed`; `not_representable` for what is too far away.
[[nodiscard]] constexpr result<wall_time> read_time_text(std::string_view text) {
  detail::time_scanner in{text};
  detail::scanned_time found;
  if (!detail::scan_time(in, found))
    return fail(errc::malformed, "expected a moment such as 2026-11-18T22:30:05.120Z, found \"",
                inline_text<40>{text}, "\"");
  constexpr std::int64_t most_days = 106'751'991'168;  // beyond them a product would turn around
  // A day that is there in part turns around as well, and its time turns it back.
  auto const count = static_cast<std::int64_t>(static_cast<std::uint64_t>(found.days) *
                                                   static_cast<std::uint64_t>(detail::day_ms) +
                                               static_cast<std::uint64_t>(found.ms));
  if (found.days > most_days || found.days < -most_days || (found.days < 0) != (count < 0))
    return fail(errc::not_representable, "the moment ", inline_text<40>{text}, " is too far away");
  return wall_time{wall_time::duration{count}};
}

}  // namespace keyspan
