// test/key/key_value_test.cpp — what is a key value and what is none, and how they compare.
#include <keyspan/core/print.hpp>
#include <keyspan/key/key_value.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::string_view_literals;
using keyspan::errc;
using keyspan::key_kind;
using keyspan::key_value;
using keyspan::null;
using keyspan::undefined;
using test::check;

constexpr bool an_enumerator_of_characters_is_a_number_when_asked() {
  enum class letter : char { a = 'a' };
  enum class wide : char8_t { a = 'a' };
  check(key_value{keyspan::underlying(letter::a)} == key_value{97});
  check(key_value{keyspan::underlying(wide::a)} == key_value{97});
  return true;
}
CHECK_BOTH(an_enumerator_of_characters_is_a_number_when_asked);

TEST_CASE("the example of key_value reads as it should") {
  // [region: example]
  using keyspan::key_value;
  std::optional<std::string> const no_user;
  CHECK(key_value{"redmond"}.is_string());  // a char pointer is text, never a bool
  CHECK(key_value{true}.is_boolean());
  CHECK(key_value{no_user}.is_undefined());  // null is keyspan::null alone
  CHECK(key_value{-0.0} == key_value{0});
  auto const id = key_value::from(9'007'199'254'740'993);
  CHECK(id.error().to_text() ==
        "not_representable: 9007199254740993 is no number that a double holds exactly; make it a "
        "string");
  // [end: example]
}

// ---- what it is made of

constexpr bool each_kind_is_told_by_its_type() {
  check(key_value{}.is_undefined() && key_value{undefined}.is_undefined());
  check(key_value{null}.is_null() && !key_value{null}.is_undefined());
  check(key_value{true}.boolean() && !key_value{false}.boolean());
  check(key_value{1.5}.number() == 1.5 && key_value{1.5F}.number() == 1.5);
  check(key_value{-7}.number() == -7 && key_value{7U}.number() == 7);
  check(key_value{"abc"}.string() == "abc" && key_value{"abc"sv}.string() == "abc");
  check(key_value{""}.string().empty() && key_value{std::string_view{}}.is_string());
  key_value const copy{key_value{"abc"}};
  check(copy.string() == "abc" && copy.kind() == key_kind::string);
  key_value const kinds[]{undefined, null, false, 0, ""};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    check(static_cast<std::size_t>(kinds[i].kind()) == i);
    check(kinds[i].is_undefined() == (i == 0) && kinds[i].is_null() == (i == 1));
    check(kinds[i].is_boolean() == (i == 2) && kinds[i].is_number() == (i == 3));
    check(kinds[i].is_string() == (i == 4));
  }
  return true;
}
CHECK_BOTH(each_kind_is_told_by_its_type);

constexpr bool every_integer_type_is_a_number() {
  check(key_value{static_cast<signed char>(-3)}.number() == -3);
  check(key_value{static_cast<unsigned char>('A')}.number() == 65);
  check(key_value{std::int8_t{-128}} == key_value{-128});
  check(key_value{std::uint16_t{65'535}} == key_value{65'535});
  check(key_value{short{5}} == key_value{5.0} && key_value{5L} == key_value{5ULL});
  check(key_value{(std::numeric_limits<std::int32_t>::min)()}.number() == -2147483648.0);
  check(key_value{(std::numeric_limits<std::uint32_t>::max)()}.number() == 4294967295.0);
  return true;
}
CHECK_BOTH(every_integer_type_is_a_number);

enum class colour : unsigned char { red = 3 };
enum plain { one = 1 };

constexpr bool an_enumerator_is_a_key_by_its_underlying_value_alone() {
  check(key_value{keyspan::underlying(colour::red)} == key_value{3});
  check(std::is_same_v<decltype(keyspan::underlying(colour::red)), unsigned char>);
  return true;
}
CHECK_BOTH(an_enumerator_is_a_key_by_its_underlying_value_alone);

// A view of somebody else's, a text that owns, and what is no text at all.
struct view_like {
  constexpr operator std::string_view() const { return "view"; }
};

template <class T>
constexpr bool is_taken = keyspan::key_input<T>;
template <class T>
constexpr bool is_borrowed = std::is_constructible_v<key_value, T>;

TEST_CASE("only what is surely meant is taken") {
  STATIC_CHECK(is_taken<bool> && is_taken<int> && is_taken<unsigned char> && is_taken<float>);
  STATIC_CHECK(is_taken<double> && is_taken<char const*> && is_taken<char*> && is_taken<char[4]>);
  STATIC_CHECK(is_taken<char const(&)[4]> && is_taken<std::string> && is_taken<std::string_view>);
  STATIC_CHECK(is_taken<std::string const&> && is_taken<keyspan::inline_text<8>>);
  STATIC_CHECK(is_taken<std::optional<int>> && is_taken<std::optional<std::string>&>);
  STATIC_CHECK(is_taken<std::optional<key_value>> && is_taken<std::optional<bool> const&>);
  STATIC_CHECK(is_taken<key_value&> && is_taken<decltype(undefined)> && is_taken<decltype(null)>);

  STATIC_CHECK(!is_taken<char> && !is_taken<wchar_t> && !is_taken<char8_t>);
  STATIC_CHECK(!is_taken<char16_t> && !is_taken<char32_t> && !is_taken<long double>);
  STATIC_CHECK(!is_taken<std::nullptr_t> && !is_taken<void*> && !is_taken<int*>);
  STATIC_CHECK(!is_taken<unsigned char*> && !is_taken<char8_t const*> && !is_taken<wchar_t*>);
  STATIC_CHECK(!is_taken<colour> && !is_taken<plain> && !is_taken<std::nullopt_t>);
  STATIC_CHECK(!is_taken<std::optional<char>> && !is_taken<std::optional<std::optional<int>>>);
  STATIC_CHECK(!is_taken<std::vector<char>> && !is_taken<std::vector<bool>::reference>);
  STATIC_CHECK(!is_taken<keyspan::result<int>> && !is_taken<keyspan::result<key_value>>);
#ifdef __SIZEOF_INT128__
  __extension__ using wide = __int128;
  STATIC_CHECK(!is_taken<wide>);  // an integer of the GNU dialects
#endif
}

TEST_CASE("text is borrowed from what outlives the expression alone") {
  STATIC_CHECK(is_borrowed<std::string&> && is_borrowed<std::string const&>);
  STATIC_CHECK(!is_borrowed<std::string> && !is_borrowed<std::string const>);
  STATIC_CHECK(!is_borrowed<std::optional<std::string>>);
  STATIC_CHECK(is_borrowed<std::optional<std::string> const&>);
  STATIC_CHECK(is_borrowed<std::optional<std::string_view>>);
  STATIC_CHECK(is_borrowed<std::optional<char const*>> && is_borrowed<std::optional<double>>);
  STATIC_CHECK(is_borrowed<keyspan::inline_text<8>&> && !is_borrowed<keyspan::inline_text<8>>);
  STATIC_CHECK(is_borrowed<view_like&> && !is_borrowed<view_like>);  // it could own its characters
  STATIC_CHECK(is_borrowed<std::string_view> && is_borrowed<char const*>);
  STATIC_CHECK(is_borrowed<char const(&)[3]> && is_borrowed<key_value>);

  std::string const city = "a city whose name is longer than what stands in a string itself";
  key_value const borrowed{city};
  CHECK(borrowed.string().data() == city.data());
  CHECK(key_value{std::optional<std::string_view>{city}}.string().data() == city.data());
}

TEST_CASE("a key value is small and copied like an int") {
  STATIC_CHECK(std::is_trivially_copyable_v<key_value>);
  STATIC_CHECK(std::is_trivially_destructible_v<key_value>);
  STATIC_CHECK(sizeof(key_value) <= 3 * sizeof(double));
  STATIC_CHECK(std::is_nothrow_default_constructible_v<key_value>);
}

constexpr bool an_empty_optional_is_undefined_and_a_full_one_its_value() {
  check(key_value{std::optional<int>{}}.is_undefined());
  check(key_value{std::optional<bool>{false}} == key_value{false});
  check(key_value{std::optional<double>{2.5}} == key_value{2.5});
  check(key_value{std::optional<std::string_view>{}}.is_undefined());
  check(key_value{std::optional<std::string_view>{""}}.is_string());
  check(key_value{std::optional<key_value>{null}}.is_null());
  check(key_value{std::optional<decltype(null)>{null}}.is_null());
  check(key_value::from(std::optional<int>{}).value().is_undefined());
  return true;
}
CHECK_BOTH(an_empty_optional_is_undefined_and_a_full_one_its_value);

TEST_CASE("an optional string lends its characters") {
  std::optional<std::string> name{"lent"};
  key_value const lent{name};
  CHECK(lent.string().data() == name->data());
  name.reset();
  CHECK(key_value{name}.is_undefined());
}

constexpr bool an_array_of_characters_ends_at_its_first_nul_or_with_itself() {
  char const full[]{'a', 'b', 'c'};  // no NUL: nobody reads on behind it
  check(key_value{full}.string() == "abc");
  char buffer[16]{};
  buffer[0] = 'x';
  check(key_value{buffer}.string() == "x");
  check(key_value{"a\0b"}.string() == "a");
  check(key_value{"a\0b"sv}.string().size() == 3);
  check(key_value{static_cast<char const*>("a\0b")}.string() == "a");
  char const wrong[]{'a', '\xC3'};
  check(key_value::from(wrong).error().position.offset == 1);
  return true;
}
CHECK_BOTH(an_array_of_characters_ends_at_its_first_nul_or_with_itself);

// ---- numbers

// The value in 64 bits whose place among all is `bits`, both signs.
constexpr bool holds(std::uint64_t magnitude) {
  // Independent of the library: a double has 53 bits, so what is below the 53rd from the top is 0.
  auto const width = static_cast<int>(std::bit_width(magnitude));
  return width <= 53 || (magnitude & ((std::uint64_t{1} << (width - 53)) - 1)) == 0;
}

template <class Integer>
constexpr void check_integer(Integer value) {
  auto const made = key_value::from(value);
  auto magnitude = static_cast<std::uint64_t>(value);
  if (value < 0) magnitude = 0 - magnitude;
  check(made.has_value() == holds(magnitude));
  if (made) {
    check(made->number() == static_cast<double>(value));
    // Back without loss, where a double beyond the type would be undefined.
    double const back = made->number() < 0 ? -made->number() : made->number();
    check(back >= 18446744073709551616.0 || static_cast<std::uint64_t>(back) == magnitude);
  } else {
    check(made.error().code == errc::not_representable);
    keyspan::inline_text<160> const words{value,
                                          " is no number that a double holds exactly; make it a "
                                          "string"};
    check(made.error().text == words);
  }
}

constexpr bool an_integer_is_taken_where_a_double_holds_it() {
  constexpr std::uint64_t border = std::uint64_t{1} << 53;
  constexpr auto least = (std::numeric_limits<std::int64_t>::min)();
  constexpr auto greatest = (std::numeric_limits<std::int64_t>::max)();
  check(key_value::from(border).has_value() && !key_value::from(border + 1));
  check(key_value::from(border + 2).has_value() && !key_value::from(border + 3));
  check(key_value::from(least).value().number() == -9223372036854775808.0);
  check(!key_value::from(greatest) && !key_value::from(least + 1));
  check(!key_value::from((std::numeric_limits<std::uint64_t>::max)()));
  check(key_value::from(std::uint64_t{1} << 63).value().number() == 9223372036854775808.0);
  // Around every power of two, where the spacing of doubles changes.
  for (int power = 0; power < 64; ++power) {
    for (std::uint64_t off = 0; off < 6; ++off) {
      std::uint64_t const above = (std::uint64_t{1} << power) + off;
      std::uint64_t const below = (std::uint64_t{1} << power) - off;
      check_integer(above);
      check_integer(below);
      check_integer(static_cast<std::int64_t>(above));
      check_integer(static_cast<std::int64_t>(0 - above));
      check_integer(static_cast<std::int64_t>(0 - below));
    }
  }
  return true;
}
CHECK_BOTH(an_integer_is_taken_where_a_double_holds_it);

// One bit or two that are set, or a run of them, at every place, and both signs of all.
TEST_CASE("every pattern of bits in an integer is judged rightly") {
  for (int i = 0; i < 64; ++i) {
    for (int j = i; j < 64; ++j) {
      std::uint64_t const two = std::uint64_t{1} << i | std::uint64_t{1} << j;
      std::uint64_t const run = ~std::uint64_t{0} << i & ~std::uint64_t{0} >> (63 - j);
      for (std::uint64_t const bits : {two, run, ~two, ~run}) {
        check_integer(bits);
        check_integer(static_cast<std::int64_t>(bits));
        check_integer(static_cast<long long>(0 - bits));
      }
    }
  }
  test::random random{1};
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t const bits = random() >> random.below(64) << random.below(64);
    check_integer(bits);
    check_integer(static_cast<std::int64_t>(bits));
  }
}

constexpr bool minus_zero_is_zero() {
  check(std::bit_cast<std::uint64_t>(key_value{-0.0}.number()) == 0);
  check(std::bit_cast<std::uint64_t>(key_value{-0.0F}.number()) == 0);
  check(key_value::from(-0.0).value() == key_value{0});
  check((key_value{-0.0} <=> key_value{0.0}) == std::strong_ordering::equal);
  check(key_value{std::optional<double>{-0.0}} == key_value{0});
  return true;
}
CHECK_BOTH(minus_zero_is_zero);

constexpr bool every_finite_double_is_taken_as_it_is() {
  using limits = std::numeric_limits<double>;
  for (double const x : {(limits::max)(), limits::lowest(), (limits::min)(), limits::denorm_min(),
                         -limits::denorm_min(), limits::epsilon(), 0.1, -0.1}) {
    check(std::bit_cast<std::uint64_t>(key_value::from(x).value().number()) ==
          std::bit_cast<std::uint64_t>(x));
  }
  check(key_value{(std::numeric_limits<float>::max)()}.number() == 0x1.fffffep127);
  check(key_value{std::numeric_limits<float>::denorm_min()}.number() == 0x1p-149);
  return true;
}
CHECK_BOTH(every_finite_double_is_taken_as_it_is);

template <class Float>
constexpr void check_no_numbers() {
  using limits = std::numeric_limits<Float>;
  using keyspan::fail;
  check(key_value::from(limits::infinity()) ==
        fail(errc::not_representable, "infinity is no key value"));
  check(key_value::from(-limits::infinity()) ==
        fail(errc::not_representable, "minus infinity is no key value"));
  check(key_value::from(limits::quiet_NaN()) ==
        fail(errc::not_representable, "not-a-number is no key value"));
  check(key_value::from(-limits::quiet_NaN()) ==
        fail(errc::not_representable, "not-a-number is no key value"));
  check(key_value::from(std::optional{limits::infinity()}) ==
        fail(errc::not_representable, "infinity is no key value"));
}

constexpr bool infinities_and_what_is_no_number_are_refused() {
  check_no_numbers<double>();
  check_no_numbers<float>();
  return true;
}
CHECK_BOTH(infinities_and_what_is_no_number_are_refused);

TEST_CASE("every class of not-a-number is refused") {
  for (int shift = 0; shift < 52; ++shift) {
    std::uint64_t const bits = std::uint64_t{0x7FF} << 52 | std::uint64_t{1} << shift;
    CHECK_FALSE(key_value::from(std::bit_cast<double>(bits)));
    CHECK_FALSE(key_value::from(std::bit_cast<double>(bits | std::uint64_t{1} << 63)));
  }
  test::random random{2};
  for (int i = 0; i < 1'000; ++i) CHECK(key_value::from(random.any_finite_double()).has_value());
}

// ---- text

constexpr bool text_that_is_not_utf8_is_refused_at_its_place() {
  struct row {
    std::string_view text;
    std::uint32_t offset;
    std::uint32_t column;
  };
  for (row const& one : {row{"\x80", 0, 1}, row{"a\xC3", 1, 2}, row{"\xC3\xA9\xFF", 2, 2},
                         row{"ab\xED\xA0\x80", 2, 3},            // a surrogate
                         row{"\xF0\x9F\x98\x80\xC0\x80", 4, 2},  // an overlong NUL
                         row{"12345678\xF4\x90\x80\x80", 8, 9}}) {
    auto const made = key_value::from(one.text);
    check(!made && made.error().code == errc::invalid_utf8);
    check(made.error().position == keyspan::text_position{1, one.column, one.offset});
    check(made.error().text == keyspan::inline_text<160>{"a key value is UTF-8, this text is not "
                                                         "from byte ",
                                                         one.offset, " on"});
  }
  return true;
}
CHECK_BOTH(text_that_is_not_utf8_is_refused_at_its_place);

TEST_CASE("what from() would refuse breaks the promise of the constructor") {
  constexpr std::string_view promise =
      "a key value is a finite number that a double holds exactly, or well-formed UTF-8; "
      "key_value::from() tells what is wrong";
  double const infinite = std::numeric_limits<double>::infinity();
  std::int64_t const too_fine = (std::int64_t{1} << 53) + 1;
  CHECK(test::promise_broken_by([&] { return key_value{infinite}; }) == promise);
  CHECK(test::promise_broken_by([&] { return key_value{too_fine}; }) == promise);
  CHECK(test::promise_broken_by([&] { return key_value{"\xFF"}; }) == promise);
  CHECK(test::promise_broken_by([&] { return key_value{std::optional{infinite}}; }) == promise);
}

TEST_CASE("a char pointer points at text") {
  char const* const nowhere = nullptr;
  constexpr std::string_view promise = "a char pointer that is a key value points at text";
  CHECK(test::promise_broken_by([&] { return key_value{nowhere}; }) == promise);
  CHECK(test::promise_broken_by([&] { return key_value::from(nowhere); }) == promise);
  CHECK(test::promise_broken_by([&] { return key_value{std::optional{nowhere}}; }) == promise);
}

TEST_CASE("a value is asked for what it is") {
  CHECK(test::promise_broken_by([] { return key_value{1}.string(); }) ==
        "the key value is a string");
  CHECK(test::promise_broken_by([] { return key_value{"1"}.number(); }) ==
        "the key value is a number");
  CHECK(test::promise_broken_by([] { return key_value{1}.boolean(); }) ==
        "the key value is a boolean");
}

// ---- order, equality, hash

constexpr bool values_are_ordered_by_kind_and_then_by_size() {
  key_value const rising[]{
      undefined, null,  false, true,   -1e308, -5,   -5e-324, 0,   5e-324,     0.5,
      5,         1e308, "",    "\0"sv, "A",    "AA", "B",     "a", "\xC3\xA9", "\xEF\xBF\xBF"};
  // The last two: U+00E9 and U+FFFF.
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      check((rising[i] <=> rising[j]) == (i <=> j));
      check((rising[i] == rising[j]) == (i == j));
    }
  }
  return true;
}
CHECK_BOTH(values_are_ordered_by_kind_and_then_by_size);

// What a program in UTF-16 would compare, without a thought of UTF-8.
constexpr std::vector<std::uint32_t> to_utf16(std::string_view text) {
  std::vector<std::uint32_t> units;
  for (std::size_t at = 0; at < text.size();) {
    auto const character = keyspan::decode_utf8(text, at);
    check(static_cast<bool>(character));
    if (character.code_point < 0x1'0000) {
      units.push_back(character.code_point);
    } else {
      units.push_back(0xD800 + ((character.code_point - 0x1'0000) >> 10));
      units.push_back(0xDC00 + ((character.code_point - 0x1'0000) & 0x3FF));
    }
    at += character.size;
  }
  return units;
}

constexpr std::strong_ordering order_by_utf16(std::string_view a, std::string_view b) {
  auto const x = to_utf16(a);
  auto const y = to_utf16(b);
  return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
}

constexpr void check_order(std::string_view a, std::string_view b) {
  auto const order = key_value{a} <=> key_value{b};
  check(order == order_by_utf16(a, b));
  check((order == 0) == (key_value{a} == key_value{b}));
}

constexpr bool strings_are_ordered_as_in_utf16_at_the_surrogates() {
  // U+D7FF, U+E000, U+EFFF, U+F000, U+FFFF, U+10000, U+10FFFF: the code units between them.
  constexpr std::string_view border[]{"\xED\x9F\xBF",
                                      "\xEE\x80\x80",
                                      "\xEE\xBF\xBF",
                                      "\xEF\x80\x80",
                                      "\xEF\xBF\xBF",
                                      "\xF0\x90\x80\x80",
                                      "",
                                      "\xF4\x8F\xBF\xBF",
                                      "z"};
  for (auto const a : border)
    for (auto const b : border) check_order(a, b);
  check(key_value{"\xF0\x90\x80\x80"} < key_value{"\xEE\x80\x80"});  // where bytes say otherwise
  return true;
}
CHECK_BOTH(strings_are_ordered_as_in_utf16_at_the_surrogates);

// Every pair of the characters where the length of UTF-8 or of UTF-16 changes, alone, behind a
// common beginning, and with something behind that would decide otherwise.
TEST_CASE("strings are ordered as in UTF-16 at every border of the two encodings") {
  std::vector<std::string> characters;
  for (char32_t const border : {0x20U, 0x80U, 0x800U, 0xD800U, 0xE000U, 0xF000U, 0x1'0000U,
                                0x1'0400U, 0x2'0000U, 0x10'0000U, 0x11'0000U})
    for (char32_t c = border - 20; c < border + 20; ++c)
      if (keyspan::is_code_point(c)) characters.emplace_back(keyspan::encode_utf8(c).view());
  CHECK(characters.size() == 10 * 40 + 20 - 40);  // half of each border of the surrogates is one
  for (auto const& a : characters) {
    for (auto const& b : characters) {
      check_order(a, b);
      check_order("\xEF\xBF\xBD" + a + "\xF0\x9F\x98\x80", "\xEF\xBF\xBD" + b + "\xEE\x80\x80");
    }
    check_order(a, a + a);
    check_order("", a);
  }
}

TEST_CASE("random strings are ordered as in UTF-16") {
  test::random random{3};
  auto const any_text = [&] {
    std::string text;
    for (auto left = random.below(5); left > 0; --left) {
      char32_t c = 0;
      do {
        c = static_cast<char32_t>(random.chance(50) ? 0xD7FC + random.below(0x2808)
                                                    : random.below(0x11'0000));
      } while (!keyspan::is_code_point(c));
      text += keyspan::encode_utf8(c).view();
    }
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    auto const common = any_text();
    check_order(common + any_text(), common + any_text());
  }
}

TEST_CASE("equal values hash alike, and most others do not") {
  std::hash<key_value> const hash;
  std::string const owned = "redmond";
  CHECK(hash(key_value{owned}) == hash(key_value{"redmond"}));
  CHECK(hash(key_value{-0.0}) == hash(key_value{0}));
  CHECK(hash(key_value{5}) == hash(key_value{5.0F}));
  CHECK(hash(key_value{}) == hash(key_value{undefined}));
  key_value const different[]{undefined, null, false, true, 0, 1, 2, 0.5, "", "0", "1", "a"};
  for (auto const& a : different)
    for (auto const& b : different) CHECK((hash(a) == hash(b)) == (a == b));
}

// ---- text of its own

TEST_CASE("a value says itself in JSON") {
  CHECK(key_value{undefined}.to_text() == "{}");
  CHECK(key_value{null}.to_text() == "null");
  CHECK(key_value{true}.to_text() == "true");
  CHECK(key_value{-1.5}.to_text() == "-1.5");
  CHECK(key_value{1e21}.to_text() == "1e+21");
  CHECK(key_value{"a\"\n\xC3\xA9"}.to_text() == "\"a\\\"\\n\xC3\xA9\"");
  CHECK(keyspan::to_text(key_value{5}) == "5");
  std::ostringstream out;
  out << key_value{"redmond"} << ' ' << key_value{};
  CHECK(out.str() == "\"redmond\" {}");
}

TEST_CASE("making, comparing and hashing values allocates nothing") {
  std::string const city(200, 'x');
  CHECK(test::allocations_in([&] {
          key_value const value{city};
          auto const same = key_value::from(city);
          auto const none = key_value::from("\xFF");
          auto const order = value <=> *same;
          static_cast<void>(std::hash<key_value>{}(value) + (order == 0) + none.has_value());
        }) == 0);
}

}  // namespace
