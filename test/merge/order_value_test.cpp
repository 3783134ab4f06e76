// test/merge/order_value_test.cpp — values of all kinds, how they compare, and their images.
#include <keyspan/core/print.hpp>
#include <keyspan/merge/order_value.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using namespace std::string_view_literals;
using keyspan::errc;
using keyspan::key_value;
using keyspan::null;
using keyspan::order_kind;
using keyspan::order_value;
using keyspan::sort_image;
using keyspan::token128;
using keyspan::undefined;
using test::check;

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

TEST_CASE("the example of order_value reads as it should") {
  // [region: example]
  using keyspan::order_value;
  std::vector<order_value> values{"b",
                                  7,
                                  order_value::hashed_array({.high = 1, .low = 2}),
                                  keyspan::null,
                                  true,
                                  "a",
                                  keyspan::undefined};
  std::sort(values.begin(), values.end());
  std::string text;
  for (order_value const& value : values) text += value.to_text() + ' ';
  CHECK(text == R"({} null true 7 "a" "b" {"type":"array","low":2,"high":1} )");
  // [end: example]
}

// ---- what it is made of

constexpr order_value an_array = order_value::hashed_array({.high = 3, .low = 5});
constexpr order_value an_object = order_value::hashed_object({.high = 7, .low = 11});

constexpr bool each_kind_is_told_by_its_type() {
  order_value const kinds[]{undefined, null, false, 0, "", an_array, an_object};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    check(static_cast<std::size_t>(kinds[i].kind()) == i);
    check(kinds[i].is_undefined() == (i == 0) && kinds[i].is_null() == (i == 1));
    check(kinds[i].is_boolean() == (i == 2) && kinds[i].is_number() == (i == 3));
    check(kinds[i].is_string() == (i == 4) && kinds[i].is_array() == (i == 5));
    check(kinds[i].is_object() == (i == 6));
  }
  check(order_value{}.is_undefined() && order_value{true}.boolean());
  check(!order_value{false}.boolean() && order_value{1.5F}.number() == 1.5);
  check(order_value{-7}.number() == -7 && order_value{7U}.number() == 7);
  check(order_value{"abc"}.string() == "abc" && order_value{"a\0b"sv}.string().size() == 3);
  check(an_array.hash() == token128{3, 5} && an_object.hash() == token128{7, 11});
  order_value const copy{an_array};
  check(copy == an_array && std::is_trivially_copyable_v<order_value>);
  return true;
}
CHECK_BOTH(each_kind_is_told_by_its_type);

constexpr bool a_key_value_is_an_order_value() {
  key_value const keys[]{undefined, null, false, true, -1.5, 0, "", "abc"};
  for (key_value const& key : keys) {
    order_value const value = key;
    check(static_cast<int>(value.kind()) == static_cast<int>(key.kind()));
    if (key.is_boolean()) check(value.boolean() == key.boolean());
    if (key.is_number()) check(value.number() == key.number());
    if (key.is_string()) check(value.string().data() == key.string().data());
    if (key.is_string()) check(value.string() == key.string());
    check(order_value::from(key) == value);
    check(sort_image<order_value>::of(value) == sort_image<key_value>::of(key));
    for (key_value const& other : keys) {
      check((value <=> order_value{other}) == (key <=> other));
      check((value == other) == (key == other));
    }
  }
  return true;
}
CHECK_BOTH(a_key_value_is_an_order_value);

constexpr bool an_optional_is_its_value_or_undefined() {
  std::optional<std::string_view> const name = "abc";
  std::optional<double> const nothing;
  std::optional<key_value> const key{null};
  check(order_value{name}.string() == "abc" && order_value{nothing}.is_undefined());
  check(order_value{key}.is_null() && order_value::from(nothing) == order_value{});
  return true;
}
CHECK_BOTH(an_optional_is_its_value_or_undefined);

// A constructor that takes anything would otherwise be asked by every comparison.
template <class T>
constexpr bool is_taken = std::constructible_from<order_value, T>;

constexpr bool what_is_no_key_value_is_no_order_value() {
  check(is_taken<int> && is_taken<bool> && is_taken<std::string&> && is_taken<char const*>);
  check(!is_taken<std::string> && !is_taken<std::optional<std::string>>);  // they do not outlive it
  check(!is_taken<char> && !is_taken<long double> && !is_taken<int*> && !is_taken<std::nullptr_t>);
  check(!is_taken<order_kind> && !is_taken<token128> && !is_taken<std::vector<int>>);
  check(std::is_convertible_v<int, order_value> && !keyspan::key_input<order_value>);
  return true;
}
CHECK_BOTH(what_is_no_key_value_is_no_order_value);

constexpr bool what_from_refuses_is_what_a_key_value_refuses() {
  auto const fine = std::int64_t{1} << 53;
  check(order_value::from(fine)->number() == 9007199254740992.0);
  check(order_value::from(fine + 1).error() == key_value::from(fine + 1).error());
  check(order_value::from("a\xFF").error() == key_value::from("a\xFF").error());
  check(order_value::from("a\xFF").error().code == errc::invalid_utf8);
  check(order_value::from("abc")->string() == "abc" && order_value::from(null)->is_null());
  return true;
}
CHECK_BOTH(what_from_refuses_is_what_a_key_value_refuses);

TEST_CASE("what from refuses breaks a promise of the constructor") {
  constexpr std::string_view promise =
      "an order value is a finite number that a double holds exactly, or well-formed UTF-8; "
      "order_value::from() tells what is wrong";
  double const infinite = std::numeric_limits<double>::infinity();
  CHECK(order_value::from(infinite).error().code == errc::not_representable);
  CHECK(test::promise_broken_by([&] { return order_value{infinite}; }) == promise);
  CHECK(test::promise_broken_by([&] { return order_value{"\xFF"}; }) == promise);
  CHECK(test::promise_broken_by([&] { return order_value{(std::int64_t{1} << 53) + 1}; }) ==
        promise);
}

TEST_CASE("a value is asked for what it is") {
  CHECK(test::promise_broken_by([] { return order_value{1}.string(); }) ==
        "the order value is a string");
  CHECK(test::promise_broken_by([] { return order_value{"1"}.number(); }) ==
        "the order value is a number");
  CHECK(test::promise_broken_by([] { return order_value{1}.boolean(); }) ==
        "the order value is a boolean");
  CHECK(test::promise_broken_by([] { return order_value{"1"}.hash(); }) ==
        "the order value is an array or an object");
}

// ---- order, equality, hash, image

constexpr order_value rising[]{
    undefined,
    null,
    false,
    true,
    -1e308,
    -5,
    -5e-324,
    0,
    5e-324,
    0.5,
    5,
    1e308,
    "",
    "\0"sv,
    "A",
    "AA",
    "B",
    "a",
    "\xC3\xA9",
    "\xED\x9F\xBF",
    "\xF0\x90\x80\x80",  // two code units, the first one of which is less than any below
    "\xF4\x8F\xBF\xBF",
    "\xEE\x80\x80",
    "\xEF\xBF\xBF",
    order_value::hashed_array({.high = 0, .low = 0}),
    order_value::hashed_array({.high = 0, .low = all_ones}),
    order_value::hashed_array({.high = 1, .low = 0}),
    order_value::hashed_array({.high = all_ones, .low = all_ones}),
    order_value::hashed_object({.high = 0, .low = 0}),
    order_value::hashed_object({.high = 0, .low = 1}),
    order_value::hashed_object({.high = all_ones, .low = 0})};

constexpr bool values_are_ordered_by_kind_and_then_by_size() {
  for (std::size_t i = 0; i < std::size(rising); ++i)
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      check((rising[i] <=> rising[j]) == (i <=> j));
      check((rising[i] == rising[j]) == (i == j));
    }
  check(order_value{-0.0} == order_value{0});
  return true;
}
CHECK_BOTH(values_are_ordered_by_kind_and_then_by_size);

constexpr bool images_sort_as_the_values_do() {
  for (std::size_t i = 0; i < std::size(rising); ++i)
    for (std::size_t j = 0; j < i; ++j)
      check(sort_image<order_value>::of(rising[j]) <= sort_image<order_value>::of(rising[i]));
  check(keyspan::has_sort_image<order_value> && !keyspan::has_wide_sort_image<order_value>);
  check(!sort_image<order_value>::is_exact);
  check(noexcept(sort_image<order_value>::of(rising[0])));
  return true;
}
CHECK_BOTH(images_sort_as_the_values_do);

constexpr bool an_image_is_the_kind_and_the_first_61_bits_of_the_value() {
  using image = sort_image<order_value>;
  check(image::of(undefined) == 0 && image::of(null) == std::uint64_t{1} << 61);
  check(image::of(false) == std::uint64_t{2} << 61 && image::of(true) == std::uint64_t{5} << 60);
  check(image::of(0) == (std::uint64_t{3} << 61 | std::uint64_t{1} << 60));
  check(image::of("abcdefgh") == (std::uint64_t{4} << 61 | 0x6162'6364'6566'6768 >> 3));
  check(image::of(order_value::hashed_array({.high = 0x1234'5678'9ABC'DEF0, .low = all_ones})) ==
        (std::uint64_t{5} << 61 | 0x1234'5678'9ABC'DEF0 >> 3));
  check(image::of(order_value::hashed_object({.high = all_ones, .low = 0})) ==
        (std::uint64_t{6} << 61 | all_ones >> 3));
  return true;
}
CHECK_BOTH(an_image_is_the_kind_and_the_first_61_bits_of_the_value);

TEST_CASE("the images of random values sort as they do") {
  test::random random{5};
  constexpr std::string_view pieces[]{"",
                                      "a",
                                      "b",
                                      "\0"sv,
                                      "\xC3\xA9",
                                      "\xED\x9F\xBF",
                                      "\xEE\x80\x80",
                                      "\xEF\xBF\xBF",
                                      "\xF0\x90\x80\x80",
                                      "\xF4\x8F\xBF\xBF"};
  std::vector<std::string> texts(400);
  for (auto& text : texts)
    for (auto left = random.below(5); left > 0; --left) text += random.pick(pieces);
  std::vector<order_value> values(std::begin(rising), std::end(rising));
  for (auto const& text : texts) values.emplace_back(text);
  for (int i = 0; i < 200; ++i) {
    values.emplace_back(random.any_finite_double());
    values.emplace_back(random.between(-3, 3));
    token128 const hash{random() >> random.below(64), random.below(3)};
    values.push_back(order_value::hashed_array(hash));
    values.push_back(order_value::hashed_object(hash));
  }
  for (order_value const& a : values)
    for (order_value const& b : values) {
      auto const order = a <=> b;
      auto const by_image = sort_image<order_value>::of(a) <=> sort_image<order_value>::of(b);
      check(order == 0 ? by_image == 0 : by_image == 0 || by_image == order);
      check((order == 0) == (a == b) && (b <=> a) == (0 <=> order));
    }
}

TEST_CASE("equal values hash alike, and most others do not") {
  std::hash<order_value> const hash;
  std::string const owned = "redmond";
  CHECK(hash(order_value{owned}) == hash(order_value{"redmond"}));
  CHECK(hash(order_value{-0.0}) == hash(order_value{0}));
  CHECK(hash(order_value{}) == hash(order_value{undefined}));
  for (auto const& a : rising)
    for (auto const& b : rising) CHECK((hash(a) == hash(b)) == (a == b));
}

// ---- text of its own

TEST_CASE("a value says itself in JSON") {
  CHECK(order_value{undefined}.to_text() == "{}");
  CHECK(order_value{null}.to_text() == "null");
  CHECK(order_value{true}.to_text() == "true");
  CHECK(order_value{-1.5}.to_text() == "-1.5");
  CHECK(order_value{"a\"\n\xC3\xA9"}.to_text() == "\"a\\\"\\n\xC3\xA9\"");
  CHECK(an_array.to_text() == R"({"type":"array","low":5,"high":3})");
  CHECK(order_value::hashed_object({.high = all_ones, .low = 0}).to_text() ==
        R"({"type":"object","low":0,"high":18446744073709551615})");
  CHECK(keyspan::to_text(order_value{5}) == "5");
  std::ostringstream out;
  out << order_value{"redmond"} << ' ' << order_value{};
  CHECK(out.str() == "\"redmond\" {}");
}

TEST_CASE("making, comparing and hashing values allocates nothing") {
  std::string const city(200, 'x');
  CHECK(test::allocations_in([&] {
          order_value const value{city};
          auto const same = order_value::from(city);
          auto const none = order_value::from("\xFF");
          auto const order = value <=> *same;
          static_cast<void>(std::hash<order_value>{}(value) + (order == 0) + none.has_value() +
                            sort_image<order_value>::of(value));
        }) == 0);
}

}  // namespace
