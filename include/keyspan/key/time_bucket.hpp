// keyspan/key/time_bucket.hpp — the day, the month or the hour of a timestamp as a key value.
//
// Buckets are in UTC, so that every program of every region puts a moment into the same one, and
// their texts sort by time.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/key/key_component.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ratio>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

/// How long a bucket is, and how its text looks: "2026-11", "2026-11-18", "2026-11-18T09".
enum class time_unit : std::uint8_t { month, day, hour };

namespace detail {

struct civil_date {
  std::int32_t year;
  std::uint32_t month;  // from 1
  std::uint32_t day;    // from 1
};

// Gregorian, before its invention too. A year that begins in March ends with the leap day, and 400
// years are 146097 days.
constexpr civil_date civil_from_days(std::int64_t days_since_1970) {
  std::int64_t const days = days_since_1970 + 719468;  // since 0000-03-01
  std::int64_t const era = (days >= 0 ? days : days - 146096) / 146097;
  auto const day_of_era = static_cast<std::uint32_t>(days - era * 146097);
  std::uint32_t const year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  std::uint32_t const day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  std::uint32_t const month_from_march = (5 * day_of_year + 2) / 153;
  std::uint32_t const month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {.year = static_cast<std::int32_t>(era * 400 + year_of_era) + (month <= 2 ? 1 : 0),
          .month = month,
          .day = day_of_year - (153 * month_from_march + 2) / 5 + 1};
}

// The years 0 to 9999, whose texts have four digits.
inline constexpr std::int64_t first_second = -62'167'219'200;
inline constexpr std::int64_t end_of_seconds = 253'402'300'800;

constexpr unexpected not_a_time_of_four_digits() {
  return fail(errc::not_representable,
              "a time bucket lies in the years 0 to 9999; a number counts seconds since 1970");
}

using bucket_text = inline_text<13>;

constexpr bucket_text text_of_bucket(std::int64_t seconds, time_unit unit) {
  std::int64_t const hours = (seconds >= 0 ? seconds : seconds - 3599) / 3600;
  std::int64_t const days = (hours >= 0 ? hours : hours - 23) / 24;
  civil_date const date = civil_from_days(days);
  char text[13]{'0', '0', '0', '0', '-', '0', '0', '-', '0', '0', 'T', '0', '0'};
  auto const put = [&text](std::size_t at, std::uint32_t value) {
    text[at] = static_cast<char>('0' + value / 10);
    text[at + 1] = static_cast<char>('0' + value % 10);
  };
  auto const year = static_cast<std::uint32_t>(date.year);
  put(0, year / 100);
  put(2, year % 100);
  put(5, date.month);
  put(8, date.day);
  put(11, static_cast<std::uint32_t>(hours - days * 24));
  std::size_t const size = unit == time_unit::month ? 7 : unit == time_unit::day ? 10 : 13;
  return bucket_text{std::string_view{text, size}};
}

constexpr result<bucket_text> text_of_seconds(double seconds, time_unit unit) {
  if (!(seconds >= static_cast<double>(first_second) &&
        seconds < static_cast<double>(end_of_seconds)))
    return not_a_time_of_four_digits();
  auto whole = static_cast<std::int64_t>(seconds);
  if (static_cast<double>(whole) > seconds) --whole;
  return text_of_bucket(whole, unit);
}

template <class T>
inline constexpr bool is_sys_time = false;
template <class Duration>
inline constexpr bool is_sys_time<std::chrono::sys_time<Duration>> = true;

}  // namespace detail

/// The bucket that a moment is in. Errors: `not_representable` outside of the years 0 to 9999.
template <class Duration>
[[nodiscard]] constexpr result<inline_text<13>> time_bucket_of(std::chrono::sys_time<Duration> at,
                                                               time_unit unit) {
  using std::chrono::sys_seconds, std::chrono::seconds;
  using rep = typename Duration::rep;
  if constexpr (std::chrono::treat_as_floating_point_v<rep>) {
    std::chrono::duration<double> const since = at.time_since_epoch();
    return detail::text_of_seconds(since.count(), unit);
  } else {
    // In 64 bits and signed, whatever the caller counts in.
    auto const count = at.time_since_epoch().count();
    if constexpr (std::unsigned_integral<rep> && sizeof(rep) >= sizeof(std::int64_t))
      if (count > static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)()))
        return detail::not_a_time_of_four_digits();
    using wide = std::chrono::duration<std::int64_t, typename Duration::period>;
    wide const since{static_cast<std::int64_t>(count)};
    if constexpr (std::ratio_greater_v<typename Duration::period, std::ratio<1>>) {
      // A long unit is compared before it is cut into seconds, of which there could be too many.
      constexpr auto first = std::chrono::ceil<wide>(seconds{detail::first_second});
      constexpr auto last = std::chrono::floor<wide>(seconds{detail::end_of_seconds - 1});
      if (since < first || since > last) return detail::not_a_time_of_four_digits();
      return detail::text_of_bucket(std::chrono::floor<seconds>(since).count(), unit);
    } else {
      auto const whole = std::chrono::floor<seconds>(since).count();
      if (whole < detail::first_second || whole >= detail::end_of_seconds)
        return detail::not_a_time_of_four_digits();
      return detail::text_of_bucket(whole, unit);
    }
  }
}

namespace detail {

// A moment that a component gave, or that it gave none.
template <class Time>
struct moment {
  constexpr moment() = default;
  constexpr moment(Time given) : at{given}, is_given{true} {}

  Time at{};
  bool is_given = false;
};

template <class C, class Document>
inline constexpr bool gives_time = is_sys_time<std::remove_cvref_t<component_value<C, Document>>>;

}  // namespace detail

/// Finds the timestamp of a document: a component that gives a `std::chrono::sys_time`, an optional
/// of one, or the seconds since 1970 as a number.
template <class C, class Document>
concept timestamp_component_of =
    key_component_of<std::conditional_t<detail::gives_time<C, Document>, detail::no_question, C>,
                     Document>;

/// What `time_bucket` returns: an extractor of one text, and a component of `key_of`.
template <class Component>
class time_bucket_extractor {
 public:
  constexpr explicit time_bucket_extractor(Component timestamp, time_unit unit)
      : timestamp_{std::move(timestamp)}, unit_{unit} {}

  static constexpr std::size_t value_count() noexcept { return 1; }
  constexpr time_unit unit() const noexcept { return unit_; }

  /// The bucket of the document's timestamp; undefined or null where that is. Allocates nothing.
  /// Errors: those of the component; `not_representable` outside of the years 0 to 9999, and for a
  /// timestamp that is a string or a boolean.
  template <class Document>
    requires timestamp_component_of<Component, Document>
  [[nodiscard]] constexpr result<partition_key> operator()(Document const& document) const {
    if constexpr (detail::gives_time<Component, Document>) {
      using time = std::remove_cvref_t<detail::component_value<Component, Document>>;
      detail::moment<time> given;
      detail::refusal why;
      if (!detail::read_component_into(timestamp_, document, given, why)) return unexpected{*why};
      if (!given.is_given) return partition_key{undefined};
      return key_of_text(time_bucket_of(given.at, unit_));
    } else {
      auto const given = detail::read_component(timestamp_, document);
      if (!given) return unexpected{given.error()};
      key_value const& value = detail::value_in(given);
      if (value.is_undefined() || value.is_null()) return partition_key{value};
      if (!value.is_number())
        return fail(errc::not_representable,
                    "a time bucket is made of a number of seconds, not of ",
                    detail::words_of(value.kind()));
      return key_of_text(detail::text_of_seconds(value.number(), unit_));
    }
  }

 private:
  static constexpr result<partition_key> key_of_text(result<inline_text<13>> const& text) {
    if (!text) return unexpected{text.error()};
    return partition_key{text->view()};
  }

  Component timestamp_;
  time_unit unit_;
};

/// The day, the month or the hour of a timestamp, in UTC: `time_bucket(&sale::at, time_unit::day)`
/// gives "2026-11-18". A timestamp is a `std::chrono::sys_time`, or a number of seconds since 1970,
/// as `_ts` of a document is.
template <class Component>
[[nodiscard]] constexpr time_bucket_extractor<Component> time_bucket(Component timestamp,
                                                                     time_unit unit) {
  return time_bucket_extractor<Component>{std::move(timestamp), unit};
}

}  // namespace keyspan
