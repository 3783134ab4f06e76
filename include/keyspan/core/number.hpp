// keyspan/core/number.hpp — doubles from text and back, bit for bit, whatever the standard library.
//
// The grammar is JSON's. The nearest double is read, to even where two are as near; the fewest
// digits that give the double back are written, laid out as JavaScript does. No locale plays a
// part. Constant expressions know every number a person writes down: up to 2^53 as digits, or 15
// digits, times a power of ten from -22 to 22.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>

#if !KEYSPAN_STD_FROM_CHARS_DOUBLE
#if __has_include(<fast_float/fast_float.h>)
#include <fast_float/fast_float.h>
#else
#error "This standard library cannot read a double: install fast_float (Debian: libfast-float-dev)."
#endif
#endif

namespace keyspan {

static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<double>::digits == 53,
              "keyspan's keys are defined for IEEE 754 doubles of 64 bits");

/// Room for the text of any double.
inline constexpr std::size_t max_number_text = 25;

namespace detail {

inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                           1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr int exact_powers_of_ten = 22;  // greater ones are not exact
inline constexpr std::uint64_t exact_integers = std::uint64_t{1} << 53;

// Not constexpr on purpose: their names are what a compiler shows for a number beyond the limits
// above.
inline void reading_this_number_is_not_possible_in_a_constant_expression() {}
inline void writing_this_number_is_not_possible_in_a_constant_expression() {}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number as its text says it: `digits` times ten to the power of `exponent`, and a little more
/// where `is_cut`.
struct scanned_number {
  std::uint64_t digits = 0;  // the first 19 significant ones
  std::int64_t exponent = 0;
  bool is_negative = false;
  bool is_whole = true;         // neither a fraction nor an exponent is written
  bool is_cut = false;          // a digit that is not 0 follows the ones in `digits`
  std::size_t size = 0;         // bytes that belong to the number
  std::string_view expected{};  // what is missing at `size`; empty for a number
};

constexpr scanned_number scan_number(std::string_view text) {
  scanned_number scan;
  char const* at = text.data();
  char const* const end = at + text.size();
  int significant = 0;
  auto const take_digits = [&](int places) {
    char const* const first = at;
    for (; at != end && is_digit(*at); ++at) {
      if (significant < 19) {
        scan.digits = scan.digits * 10 + static_cast<std::uint64_t>(*at - '0');
        significant += scan.digits != 0;
        scan.exponent -= places;
      } else {
        scan.is_cut |= *at != '0';
        scan.exponent += 1 - places;
      }
    }
    return at != first;
  };
  auto const stop = [&](std::string_view expected) {
    scan.size = static_cast<std::size_t>(at - text.data());
    scan.expected = expected;
    return scan;
  };

  if (at != end && *at == '-') {
    scan.is_negative = true;
    ++at;
  }
  if (at != end && *at == '0') {
    ++at;
    if (at != end && is_digit(*at))
      return stop("'.' or the end of the number after a leading zero");
  } else if (!take_digits(0)) {
    return stop("a digit");
  }
  if (at != end && *at == '.') {
    scan.is_whole = false;
    ++at;
    if (!take_digits(1)) return stop("a digit after '.'");
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    scan.is_whole = false;
    ++at;
    bool const below_zero = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    if (at == end || !is_digit(*at)) return stop("a digit of the exponent");
    std::int64_t exponent = 0;
    constexpr std::int64_t enough = 1'000'000'000'000'000'000;  // longer than any text
    for (; at != end && is_digit(*at); ++at)
      exponent = (std::min)(exponent, enough / 10) * 10 + (*at - '0');
    scan.exponent += below_zero ? -exponent : exponent;
  }
  return stop({});
}

inline constexpr auto integer_powers_of_ten = [] {
  std::array<std::uint64_t, 20> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

constexpr int decimal_digits_of(std::uint64_t value) {
  // A bit is worth 0.30103 digits; what that leaves open one comparison decides.
  auto const about = static_cast<std::size_t>(std::bit_width(value | 1)) * 1233 >> 12;
  return static_cast<int>(about) + (value >= integer_powers_of_ten[about] ? 1 : 0) +
         (value == 0 ? 1 : 0);
}

// Writes `value` in decimal and returns the end; `to` has room for 20 digits.
constexpr char* write_decimal(std::uint64_t value, char* to) {
  char* const end = to + decimal_digits_of(value);
  for (char* at = end; at != to; value /= 10) *--at = static_cast<char>('0' + value % 10);
  return end;
}

// The nearest double to a number, by the library. Leaves `value` as it was where the library only
// says that the number is out of range.
inline void read_with_library(std::string_view text, double& value) {
#if KEYSPAN_STD_FROM_CHARS_DOUBLE
  std::from_chars(text.data(), text.data() + text.size(), value);
#else
  fast_float::from_chars(text.data(), text.data() + text.size(), value);
#endif
}

// Texts of any length to at most 800 bytes: every double, and every number half-way between two,
// has at most 767 significant digits, so what follows them only counts as "a little more".
inline std::size_t condense_number(std::string_view text, std::int64_t magnitude, char* to) {
  constexpr int kept = 768;
  char* const begin = to;
  bool is_cut = false;
  int digits = 0;
  for (char const c : text) {
    if (c == 'e' || c == 'E') break;
    if (c == '-') *to++ = c;
    if (!is_digit(c) || (digits == 0 && c == '0')) continue;
    if (digits < kept) {
      *to++ = c;
      ++digits;
    } else {
      is_cut |= c != '0';
    }
  }
  if (is_cut) {
    *to++ = '1';
    ++digits;
  }
  std::int64_t const exponent = magnitude - digits;
  *to++ = 'e';
  if (exponent < 0) *to++ = '-';
  to = write_decimal(static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent), to);
  return static_cast<std::size_t>(to - begin);
}

// The double nearest to a number that was scanned from `text`; infinite where it is too large.
constexpr double nearest_double(scanned_number const& scan, std::string_view text) {
  double const sign = scan.is_negative ? -1.0 : 1.0;
  if (scan.digits == 0) return sign * 0.0;
  std::uint64_t digits = scan.digits;
  std::int64_t exponent = scan.exponent;
  if (!scan.is_cut) {
    while (digits > exact_integers && digits % 10 == 0) {
      digits /= 10;
      ++exponent;
    }
    // Both operands are exact, so the one operation rounds rightly, unless it is done in more than
    // double precision.
    if (digits <= exact_integers && exponent >= -exact_powers_of_ten &&
        exponent <= exact_powers_of_ten && (FLT_EVAL_METHOD == 0 || std::is_constant_evaluated())) {
      double const value = static_cast<double>(digits);
      return sign *
             (exponent < 0 ? value / powers_of_ten[-exponent] : value * powers_of_ten[exponent]);
    }
  }
  // The number lies between the powers of ten of magnitude - 1 and of magnitude.
  std::int64_t const magnitude = decimal_digits_of(scan.digits) + scan.exponent;
  if (magnitude > 310) return sign * std::numeric_limits<double>::infinity();
  if (magnitude < -330) return sign * 0.0;
  if (std::is_constant_evaluated()) reading_this_number_is_not_possible_in_a_constant_expression();
  // Out of range is what some libraries call both ends, and none says which; what the value was
  // before then is the answer.
  double value = sign * (magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0);
  if (text.size() <= 1000) {
    read_with_library(text, value);
  } else {
    char condensed[800];
    read_with_library({condensed, condense_number(text, magnitude, condensed)}, value);
  }
  return value;
}

constexpr unexpected number_too_large(std::string_view text) {
  return fail(errc::not_representable, text.substr(0, 40), text.size() > 40 ? "\xE2\x80\xA6" : "",
              " is beyond the largest double, 1.7976931348623157e308");
}

// The digits of a positive number without zeros at either end; its point stands `point` places to
// the right of where they begin.
struct shortest_digits {
  char digits[20]{};
  int count = 0;  // 0: not found
  int point = 0;
};

constexpr shortest_digits digits_of(std::uint64_t value, int exponent) {
  while (value % 10 == 0) {
    value /= 10;
    ++exponent;
  }
  shortest_digits out;
  out.count = static_cast<int>(write_decimal(value, out.digits) - out.digits);
  out.point = out.count + exponent;
  return out;
}

// By arithmetic that a constant expression can do. No two decimals of up to 15 digits are nearest
// to one double, so the first that gives the double back is the shortest and the only one.
constexpr shortest_digits few_digits_of(double value) {
  constexpr double limit = 1e15;
  if (value <= static_cast<double>(exact_integers)) {
    auto const whole = static_cast<std::uint64_t>(value);
    if (static_cast<double>(whole) == value) return digits_of(whole, 0);
    for (int places = 1; places <= exact_powers_of_ten; ++places) {
      double const scaled = value * powers_of_ten[places];
      if (scaled >= limit) break;
      auto const rounded = static_cast<std::uint64_t>(scaled + 0.5);
      if (static_cast<double>(rounded) / powers_of_ten[places] == value)
        return digits_of(rounded, -places);
    }
    return {};
  }
  for (int places = exact_powers_of_ten; places > 0; --places) {
    double const scaled = value / powers_of_ten[places];
    if (scaled >= limit) break;
    auto const rounded = static_cast<std::uint64_t>(scaled + 0.5);
    if (static_cast<double>(rounded) * powers_of_ten[places] == value)
      return digits_of(rounded, places);
  }
  return {};
}

inline shortest_digits digits_by_library(double value) {
  char text[32];
  auto const end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  shortest_digits out;
  char const* at = text;
  for (; *at != 'e'; ++at)
    if (*at != '.') out.digits[out.count++] = *at;
  ++at;
  if (*at == '+') ++at;  // which from_chars would refuse
  int exponent = 0;
  std::from_chars(at, end, exponent);
  out.point = exponent + 1;
  return out;
}

constexpr shortest_digits shortest_digits_of(double value) {
  if (std::is_constant_evaluated()) {
    auto const few = few_digits_of(value);
    if (few.count == 0) writing_this_number_is_not_possible_in_a_constant_expression();
    return few;
  }
  // A whole number up to 2^53 is told apart from its neighbours by its own digits and no fewer.
  if (value <= static_cast<double>(exact_integers)) {
    auto const whole = static_cast<std::uint64_t>(value);
    if (static_cast<double>(whole) == value) return digits_of(whole, 0);
  }
  return digits_by_library(value);
}

}  // namespace detail

/// The double nearest to the number that `text` is. Too small a number gives zero, of its sign.
/// Errors: `malformed` where the text is no number, `not_representable` beyond the largest double,
/// `too_large` for a text of 4 GiB.
[[nodiscard]] constexpr result<double> read_number(std::string_view text) {
  if (text.size() > (std::numeric_limits<std::uint32_t>::max)() - 1)
    return fail(errc::too_large, "the text has 4 GiB or more");
  auto const scan = detail::scan_number(text);
  if (!scan.expected.empty() || scan.size != text.size()) [[unlikely]] {
    auto const offset = static_cast<std::uint32_t>(scan.size);
    return unexpected{
        error{errc::malformed, "expected ",
              scan.expected.empty() ? std::string_view{"the end of the number"} : scan.expected}
            .at({.line = 1, .column = offset + 1, .offset = offset})};
  }
  double const value = detail::nearest_double(scan, text);
  if (value > (std::numeric_limits<double>::max)() || value < std::numeric_limits<double>::lowest())
      [[unlikely]]
    return detail::number_too_large(text);
  return value;
}

/// Writes the shortest text that gives `value` back and returns it: "5", "0.1", "1e+21", "1e-7",
/// "-0". Requires room for `max_number_text` bytes. Errors: `not_representable` for an infinity and
/// for what is not a number.
[[nodiscard]] constexpr result<std::string_view> write_number(double value, std::span<char> to) {
  expects(to.size() >= max_number_text, "there is room for the text of any double");
  auto const bits = std::bit_cast<std::uint64_t>(value);
  bool const is_negative = bits >> 63 != 0;
  if ((bits >> 52 & 0x7FF) == 0x7FF)
    return fail(errc::not_representable, value != value ? "not-a-number has no text"
                                         : is_negative  ? "minus infinity has no text"
                                                        : "infinity has no text");
  char* at = to.data();
  auto const done = [&] {
    return std::string_view{to.data(), static_cast<std::size_t>(at - to.data())};
  };
  if (is_negative) {
    *at++ = '-';
    value = -value;
  }
  if (value == 0) {
    *at++ = '0';
    return done();
  }
  auto const number = detail::shortest_digits_of(value);
  char const* const digits = number.digits;
  char const* const digits_end = digits + number.count;
  if (number.point > 21 || number.point < -5) {
    *at++ = *digits;
    if (number.count > 1) {
      *at++ = '.';
      at = std::copy(digits + 1, digits_end, at);
    }
    int const exponent = number.point - 1;
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    at = detail::write_decimal(static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent), at);
  } else if (number.point <= 0) {
    *at++ = '0';
    *at++ = '.';
    at = std::fill_n(at, -number.point, '0');
    at = std::copy(digits, digits_end, at);
  } else if (number.point >= number.count) {
    at = std::copy(digits, digits_end, at);
    at = std::fill_n(at, number.point - number.count, '0');
  } else {
    at = std::copy(digits, digits + number.point, at);
    *at++ = '.';
    at = std::copy(digits + number.point, digits_end, at);
  }
  return done();
}

}  // namespace keyspan
