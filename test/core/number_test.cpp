// test/core/number_test.cpp — doubles there and back, bit for bit, on every standard library.
#include <keyspan/core/number.hpp>

#include <golden/doubles.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <array>
#include <bit>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::max_number_text;
using keyspan::read_number;
using keyspan::write_number;
using test::check;

constexpr std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

constexpr bool reads(std::string_view text, double value) {
  auto const read = read_number(text);
  return read.has_value() && bits_of(*read) == bits_of(value);
}

constexpr bool writes(double value, std::string_view text) {
  char room[max_number_text]{};
  auto const written = write_number(value, room);
  return written.has_value() && *written == text;
}

// printf is exact to any number of digits.
std::string printed(char const* format, double value) {
  std::array<char, 1500> text{};
  int const size = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(size)};
}
std::string printed(int places, double value) {
  std::array<char, 1500> text{};
  int const size = std::snprintf(text.data(), text.size(), "%.*e", places, value);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string text_of(double value) {
  char room[max_number_text];
  return std::string{write_number(value, room).value()};
}

// [region: both_ways]
constexpr bool a_number_is_read_and_written() {
  char room[keyspan::max_number_text]{};
  double const price = keyspan::read_number("12.50").value();
  return price == 12.5 && keyspan::write_number(price, room).value() == "12.5";
}
static_assert(a_number_is_read_and_written());
// [end: both_ways]

constexpr bool numbers_a_person_writes_are_read_in_constant_expressions() {
  check(reads("0", 0.0) && reads("-0", -0.0) && reads("-0.00e5", -0.0) &&
        reads("0e99999999999", 0.0));
  check(reads("5", 5.0) && reads("-17", -17.0) && reads("1.5", 1.5) && reads("0.1", 0.1));
  check(reads("100.000", 100.0) && reads("1E2", 100.0) && reads("1e+2", 100.0) &&
        reads("25e-1", 2.5));
  check(reads("1e22", 1e22) && reads("1e-22", 1e-22) && reads("123456789.125", 123456789.125));
  check(reads("9007199254740992", 0x1p53) && reads("-9007199254740991e22", -9007199254740991e22));
  check(reads("1000000000000000000000", 1e21) && reads("0.000000000000000000001", 1e-21));
  // Zeros at the end are no digits.
  check(reads("1.50000000000000000000000000000000000000000000000", 1.5));
  return true;
}
CHECK_BOTH(numbers_a_person_writes_are_read_in_constant_expressions);

struct refused {
  std::string_view text;
  std::uint32_t column;
  std::string_view words;
};

constexpr bool only_the_grammar_of_json_is_a_number() {
  constexpr std::string_view zero = "expected '.' or the end of the number after a leading zero";
  constexpr refused table[]{
      {"", 1, "expected a digit"},
      {"-", 2, "expected a digit"},
      {"+1", 1, "expected a digit"},
      {" 1", 1, "expected a digit"},
      {"1 ", 2, "expected the end of the number"},
      {".5", 1, "expected a digit"},
      {"-.5", 2, "expected a digit"},
      {"5.", 3, "expected a digit after '.'"},
      {"5.e1", 3, "expected a digit after '.'"},
      {"01", 2, zero},
      {"-00", 3, zero},
      {"1e", 3, "expected a digit of the exponent"},
      {"1e+", 4, "expected a digit of the exponent"},
      {"1e-x", 4, "expected a digit of the exponent"},
      {"1.5E--1", 6, "expected a digit of the exponent"},
      {"0x10", 2, "expected the end of the number"},
      {"1.5.5", 4, "expected the end of the number"},
      {"1,5", 2, "expected the end of the number"},
      {"inf", 1, "expected a digit"},
      {"-Infinity", 2, "expected a digit"},
      {"NaN", 1, "expected a digit"},
      {"1f", 2, "expected the end of the number"},
  };
  for (auto const& row : table) {
    auto const read = read_number(row.text);
    check(!read.has_value());
    check(read.error().code == errc::malformed);
    check(read.error().position ==
          keyspan::text_position{.line = 1, .column = row.column, .offset = row.column - 1});
    check(read.error().text == row.words);
  }
  return true;
}
CHECK_BOTH(only_the_grammar_of_json_is_a_number);

constexpr bool numbers_are_laid_out_as_javascript_does() {
  check(writes(0.0, "0") && writes(-0.0, "-0") && writes(5.0, "5") && writes(-5.0, "-5"));
  check(writes(1.5, "1.5") && writes(0.1, "0.1") && writes(-12.75, "-12.75"));
  check(writes(100000, "100000") && writes(123456789012345, "123456789012345"));
  check(writes(9007199254740991.0, "9007199254740991") && writes(0x1p53, "9007199254740992"));
  check(writes(1e20, "100000000000000000000") && writes(1e21, "1e+21") &&
        writes(1.5e22, "1.5e+22"));
  check(writes(0.000001, "0.000001") && writes(1e-7, "1e-7") && writes(1.25e-7, "1.25e-7"));
  check(writes(123456e15, "123456000000000000000") && writes(1e22, "1e+22"));
  check(writes(0.00001234, "0.00001234"));
  return true;
}
CHECK_BOTH(numbers_are_laid_out_as_javascript_does);

constexpr bool what_is_not_finite_has_no_text() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  char room[max_number_text]{};
  check(write_number(infinity, room).error().code == errc::not_representable);
  check(write_number(infinity, room).error().text == "infinity has no text");
  check(write_number(-infinity, room).error().text == "minus infinity has no text");
  check(write_number(std::numeric_limits<double>::quiet_NaN(), room).error().text ==
        "not-a-number has no text");
  return true;
}
CHECK_BOTH(what_is_not_finite_has_no_text);

TEST_CASE("numbers are laid out as javascript does, beyond what a constant expression writes") {
  CHECK(writes(5e-324, "5e-324"));
  CHECK(writes(std::numeric_limits<double>::max(), "1.7976931348623157e+308"));
  CHECK(writes(std::numeric_limits<double>::min(), "2.2250738585072014e-308"));
  CHECK(writes(0.1 + 0.2, "0.30000000000000004"));
  CHECK(writes(1e23, "1e+23"));
  CHECK(writes(123456789012345680000.0, "123456789012345680000"));
  CHECK(writes(0x1p60, "1152921504606847000"));
  // The longest of all: its text fills the room.
  CHECK(writes(-0.0000012345678901234567, "-0.0000012345678901234567"));
  CHECK(std::string_view{"-0.0000012345678901234567"}.size() == max_number_text);
}

TEST_CASE("the hard doubles are read bit for bit") {
  for (auto const& [text, bits] : test::hard_doubles) {
    std::string const minus = "-" + std::string{text};
    auto const read = read_number(text);
    auto const negative = read_number(minus);
    INFO(text);
    if (bits == 0x7FF0'0000'0000'0000) {
      REQUIRE(!read.has_value());
      REQUIRE(!negative.has_value());
      CHECK(read.error().code == errc::not_representable);
      CHECK(negative.error().code == errc::not_representable);
    } else {
      REQUIRE(read.has_value());
      REQUIRE(negative.has_value());
      if (bits_of(*read) != bits) CHECK(bits_of(*read) == bits);
      if (bits_of(*negative) != (bits | 1ull << 63)) CHECK(bits_of(*negative) == bits);
    }
  }
}

TEST_CASE("100000 doubles of any exponent are written and read back bit for bit") {
  test::random random{20};
  int wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    double const value = random.any_finite_double();
    wrong += !reads(text_of(value), value);
    wrong += !reads(printed("%.17g", value), value);
    wrong += !reads(printed("%.16e", value), value);
    wrong += !reads(printed("%.780g", value), value);
  }
  CHECK(wrong == 0);
}

TEST_CASE("100000 doubles of the sizes of daily life are written and read back bit for bit") {
  test::random random{21};
  int wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    // Some with few digits, which take the short way, and some with all of them.
    double const value =
        random.chance(50)
            ? static_cast<double>(random.between(-1'000'000'000, 1'000'000'000)) /
                  keyspan::detail::powers_of_ten[random.below(10)]
            : (random.unit() - 0.5) * keyspan::detail::powers_of_ten[random.below(23)];
    wrong += !reads(text_of(value), value);
    wrong += !reads(printed("%.17g", value), value);
    wrong += !reads(printed("%.60f", value), value);
  }
  CHECK(wrong == 0);
}

TEST_CASE("whole numbers around the powers of two are written and read back bit for bit") {
  int wrong = 0;
  for (int power = 0; power < 1024; ++power)
    for (int ulps = -3; ulps <= 3; ++ulps) {
      auto const bits = bits_of(1.0) + (static_cast<std::uint64_t>(power) << 52);
      double const value = std::bit_cast<double>(bits + static_cast<std::uint64_t>(ulps));
      wrong += !reads(text_of(value), value);
      wrong += !reads(printed("%.60f", value), value);
      wrong += !reads(text_of(1 / value), 1 / value);
    }
  CHECK(wrong == 0);
}

// The digits of a text, without point, zeros at the ends and exponent.
std::string digits_in(std::string_view text) {
  std::string digits;
  for (char const c : text.substr(0, text.find('e'))) {
    if (c >= '0' && c <= '9' && !(digits.empty() && c == '0')) digits += c;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return digits;
}

TEST_CASE("a text is the shortest, and of the shortest the nearest") {
  test::random random{22};
  for (int i = 0; i < 100'000; ++i) {
    double const value = random.chance(50) ? random.any_finite_double() : random.unit() * 1000;
    // Below a power of two the doubles are denser than above: there the nearest may lie too far
    // off.
    if ((bits_of(value) & 0xF'FFFF'FFFF'FFFF) == 0) continue;
    auto const digits = digits_in(text_of(value));
    int const count = static_cast<int>(digits.size());
    if (digits_in(printed(count - 1, value)) != digits) FAIL(printed("%.17g", value));
    if (count > 1 && reads(printed(count - 2, value), value)) FAIL(printed("%.17g", value));
  }
}

TEST_CASE("a constant expression writes what the running program writes") {
  test::random random{23};
  int found = 0;
  for (int i = 0; i < 100'000; ++i) {
    double const value = random.chance(10) ? random.unit()
                         : random.chance(50)
                             ? static_cast<double>(random.below(1'000'000'000'000'000)) /
                                   keyspan::detail::powers_of_ten[random.below(23)]
                             : static_cast<double>(random.below(1'000'000'000'000'000)) *
                                   keyspan::detail::powers_of_ten[random.below(23)];
    if (value == 0) continue;
    auto const few = keyspan::detail::few_digits_of(value);
    if (few.count == 0) continue;
    ++found;
    auto const all = keyspan::detail::digits_by_library(value);
    if (few.point != all.point || std::string_view{few.digits} != std::string_view{all.digits})
      FAIL(printed("%.17g", value));
  }
  CHECK(found > 80'000);
}

TEST_CASE("numbers of any length are read") {
  std::string const zeros(1'000'000, '0');
  CHECK(reads("0." + zeros + "1e1000001", 1.0));
  CHECK(reads("1" + zeros + "e-1000000", 1.0));
  CHECK(reads("-25" + zeros + ".0e-1000001", -2.5));
  CHECK(reads("0." + zeros + "1", 0.0));
  CHECK(reads("-0." + zeros + "1", -0.0));
  CHECK(read_number("1" + zeros).error().code == errc::not_representable);
  // 2^53 + 1 lies half-way: the smallest digit behind it decides, however far behind.
  CHECK(reads("9007199254740993." + zeros, 0x1p53));
  CHECK(reads("9007199254740993." + zeros + "1", 0x1p53 + 2));
  CHECK(reads("9007199254740993" + zeros + "1e-1000001", 0x1p53 + 2));
  CHECK(reads("9007199254740992." + std::string(1'000'000, '9'), 0x1p53));
  // Half of the smallest double is 2.4703282292062327208828439643411068618…e-324.
  CHECK(reads("0." + zeros + "24703282292062327208828439643411068619e999677", 0x1p-1074));
  CHECK(reads("0." + zeros + "24703282292062327208828439643411068618e999677", 0.0));
}

TEST_CASE("an exponent of any length is read") {
  CHECK(reads("1e-99999999999999999999999999999", 0.0));
  CHECK(reads("1e-9223372036854775808", 0.0));
  CHECK(reads("0e99999999999999999999999999999", 0.0));
  CHECK(reads("1e00000000000000000000000000002", 100.0));
  CHECK(read_number("1e99999999999999999999999999999").error().code == errc::not_representable);
  CHECK(read_number("-1e9223372036854775807").error().to_text() ==
        "not_representable: -1e9223372036854775807 is beyond the largest double, "
        "1.7976931348623157e308");
}

TEST_CASE("the c locale plays no part") {
  // Debian has none of these by default; where one is, it writes 1,5.
  for (char const* const name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "German_Germany"})
    std::setlocale(LC_NUMERIC, name);
  CHECK(reads("1.5", 1.5));
  CHECK(reads("0.30000000000000004", 0.1 + 0.2));
  CHECK(writes(0.1 + 0.2, "0.30000000000000004"));
  std::setlocale(LC_NUMERIC, "C");
}

TEST_CASE("numbers are read and written without allocation") {
  std::string const longest(5'000, '7');
  std::string const text = "0." + longest;
  CHECK(test::allocations_in([&] {
          char room[max_number_text];
          check(read_number("0.30000000000000004").has_value());
          check(read_number(text).has_value());
          check(write_number(0.1 + 0.2, room).has_value());
          check(!read_number(longest).has_value());
        }) == 0);
}

// (2^53 + 1) / 2^1075 lies half-way between two doubles and has 768 significant digits: whoever
// forgets one of them, or what may follow them, rounds wrongly.
TEST_CASE("the longest number half-way between two doubles is read to its last digit") {
  std::string digits = "9007199254740993";  // 2^53 + 1, times 5^1075 below
  for (int i = 0; i < 1075; ++i) {
    int carry = 0;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      int const product = (*digit - '0') * 5 + carry;
      *digit = static_cast<char>('0' + product % 10);
      carry = product / 10;
    }
    if (carry != 0) digits.insert(digits.begin(), static_cast<char>('0' + carry));
  }
  REQUIRE(digits.size() == 768);
  double const even = 0x1p-1022;
  double const next = 0x1.0000000000001p-1022;
  std::string const tail = "e-1075";
  CHECK(reads(digits + tail, even));
  std::string const zeros(500, '0');
  CHECK(reads(digits + zeros + "e-1575", even));
  CHECK(reads(digits + zeros + "1e-1576", next));
  std::string below = digits;
  below.back() = static_cast<char>(below.back() - 1);
  CHECK(reads(below + zeros + "e-1575", even));
  std::string above = digits;
  above.back() = static_cast<char>(above.back() + 1);
  CHECK(reads(above + zeros + "e-1575", next));
}

TEST_CASE("a number is written where there is room for any") {
  char room[max_number_text - 1];
  CHECK(test::promise_broken_by([&] { return write_number(1, room).has_value(); }) ==
        "there is room for the text of any double");
}

TEST_CASE("a number of 4 GiB is refused before it is looked at") {
  char const one[]{"1"};
  std::string_view const text{one, std::numeric_limits<std::uint32_t>::max()};
  CHECK(read_number(text).error().code == errc::too_large);
}

}  // namespace
