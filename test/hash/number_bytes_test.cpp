// test/hash/number_bytes_test.cpp — numbers in the forms of other systems, refused where they have
// none.
#include <keyspan/hash/number_bytes.hpp>

#include <keyspan/core/bytes.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::number_form;
using test::check;

constexpr std::array whole_forms{number_form::int8, number_form::int16, number_form::int32,
                                 number_form::int64};

constexpr bool the_example_of_number_bytes_reads_as_it_should() {
  // [region: example]
  char room[keyspan::max_number_text]{};
  check(keyspan::number_bytes(1.5, number_form::text, room) == std::string_view{"1.5"});
  check(keyspan::number_bytes(5, number_form::int16, room) == std::string_view{"\0\5", 2});
  check(keyspan::number_bytes(-2, number_form::int8, room) == std::string_view{"\xFE"});
  check(keyspan::number_bytes(300, number_form::int8, room).error().to_text() ==
        "not_representable: the number of the key is no whole number of 8 bits");
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_number_bytes_reads_as_it_should);

constexpr bool whole_numbers_go_as_far_as_their_bits() {
  char room[keyspan::max_number_text]{};
  for (std::size_t i = 0; i < whole_forms.size(); ++i) {
    number_form const form = whole_forms[i];
    double const limit = static_cast<double>(std::uint64_t{1} << ((8u << i) - 1));
    std::size_t const bytes = std::size_t{1} << i;
    check(keyspan::number_bytes(-limit, form, room)->size() == bytes);
    check(room[0] == static_cast<char>(0x80));
    check(keyspan::number_bytes(limit, form, room).error().code == errc::not_representable);
    double const below = i < 3 ? limit - 1 : limit - 1024;  // the next double
    check(keyspan::number_bytes(below, form, room).has_value() && room[0] == 0x7F);
    check(!keyspan::number_bytes(-limit - (i < 3 ? 1 : 2048), form, room));
    for (double const fraction : {0.5, -0.5, 1e-300, 1.0000000000000002})
      check(keyspan::number_bytes(fraction, form, room).error().code == errc::not_representable);
    for (double const far : {1e300, -1e300})
      check(keyspan::number_bytes(far, form, room).error().code == errc::not_representable);
    check(keyspan::number_bytes(0, form, room)->find_first_not_of('\0') == std::string_view::npos);
  }
  return true;
}
CHECK_BOTH(whole_numbers_go_as_far_as_their_bits);

constexpr bool every_number_of_eight_bits_is_its_byte() {
  char room[keyspan::max_number_text]{};
  for (int value = -128; value < 128; ++value) {
    check(*keyspan::number_bytes(value, number_form::int8, room) ==
          std::string_view{std::array{static_cast<char>(value)}.data(), 1});
    check(keyspan::number_bytes(value, number_form::int32, room)->size() == 4);
    check(static_cast<std::int32_t>(keyspan::load_be<std::uint32_t>(room)) == value);
  }
  return true;
}
CHECK_BOTH(every_number_of_eight_bits_is_its_byte);

constexpr bool doubles_are_their_bits_and_floats_only_those_that_are() {
  char room[keyspan::max_number_text]{};
  check(keyspan::number_bytes(-1.5, number_form::float64, room) ==
        std::string_view{"\xBF\xF8\0\0\0\0\0\0", 8});
  check(keyspan::number_bytes(1.5, number_form::float32, room) ==
        std::string_view{"\x3F\xC0\0\0", 4});
  constexpr auto greatest = std::numeric_limits<float>::max();
  check(keyspan::number_bytes(greatest, number_form::float32, room) ==
        std::string_view{"\x7F\x7F\xFF\xFF"});
  check(keyspan::number_bytes(-greatest, number_form::float32, room).has_value());
  check(keyspan::number_bytes(std::numeric_limits<float>::denorm_min(), number_form::float32, room)
            .has_value());
  for (double const none : {0.1, 16777217.0, 1e300, -1e300, 1e-300, greatest * 1.00000001})
    check(keyspan::number_bytes(none, number_form::float32, room).error().text.view() ==
          "the number of the key is no float of 32 bits");
  return true;
}
CHECK_BOTH(doubles_are_their_bits_and_floats_only_those_that_are);

TEST_CASE("a number that a form has comes back from its bytes") {
  test::random random{31};
  char room[keyspan::max_number_text]{};
  for (int i = 0; i < 20'000; ++i) {
    double const any = random.any_finite_double();
    REQUIRE(keyspan::number_bytes(any, number_form::float64, room)->size() == 8);
    CHECK(keyspan::load_be<std::uint64_t>(room) == std::bit_cast<std::uint64_t>(any));
    auto const whole = random.between(-(std::int64_t{1} << 53), std::int64_t{1} << 53)
                       << random.below(10);
    auto const value = static_cast<double>(whole);
    REQUIRE(keyspan::number_bytes(value, number_form::int64, room)->size() == 8);
    CHECK(static_cast<std::int64_t>(keyspan::load_be<std::uint64_t>(room)) == whole);
    auto const few = static_cast<std::int32_t>(random());
    REQUIRE(keyspan::number_bytes(few, number_form::int32, room)->size() == 4);
    CHECK(static_cast<std::int32_t>(keyspan::load_be<std::uint32_t>(room)) == few);
    CHECK(keyspan::number_bytes(any, number_form::text, room) == keyspan::write_number(any, room));
  }
}

TEST_CASE("a number without room breaks a promise, and one with room allocates nothing") {
  char room[keyspan::max_number_text]{};
  CHECK(test::promise_broken_by([&] {
          return keyspan::number_bytes(1, number_form::int8, std::span{room}.first(24));
        }) == "there is room for a number in any form");
  CHECK(test::allocations_in([&] {
          static_cast<void>(keyspan::number_bytes(0.1, number_form::text, room));
          static_cast<void>(keyspan::number_bytes(0.1, number_form::int64, room));
        }) == 0);
}

}  // namespace
