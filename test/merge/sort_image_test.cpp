// test/merge/sort_image_test.cpp — images sort as their keys do, and tell apart what they can.
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/merge/sort_image.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::string_view_literals;
using keyspan::has_sort_image;
using keyspan::has_wide_sort_image;
using keyspan::key_value;
using keyspan::sort_image;
using keyspan::token128;
using test::check;

constexpr std::uint64_t all_ones = ~std::uint64_t{0};
constexpr std::uint64_t middle = std::uint64_t{1} << 63;

using image = std::pair<std::uint64_t, std::uint64_t>;

template <class Key>
constexpr image image_of(Key const& key) {
  if constexpr (has_wide_sort_image<Key>) {
    return {sort_image<Key>::of(key), sort_image<Key>::low(key)};
  } else {
    return {sort_image<Key>::of(key), 0};
  }
}

template <class Key>
constexpr void check_laws(Key const& a, Key const& b) {
  auto const x = image_of(a);
  auto const y = image_of(b);
  bool const is_less = a < b;
  bool const is_greater = b < a;
  if (is_less) check(x <= y);
  if (is_greater) check(y <= x);
  if (!is_less && !is_greater) check(x == y);
  if (sort_image<Key>::is_exact && (is_less || is_greater)) check(x != y);
}

template <class Keys>
constexpr void check_all_pairs(Keys const& keys) {
  for (auto const& a : keys)
    for (auto const& b : keys) check_laws(a, b);
}

// Each differs from the one before by its image too.
template <class Keys>
constexpr void check_rising(Keys const& keys) {
  for (std::size_t i = 1; i < std::size(keys); ++i) {
    check(keys[i - 1] < keys[i]);
    check(image_of(keys[i - 1]) < image_of(keys[i]));
  }
}

constexpr bool the_example_of_sort_images_reads_as_it_should() {
  // [region: example]
  using keyspan::sort_image;
  check(sort_image<std::string_view>::of("redmond") == 0x7265'646D'6F6E'6400);
  check(sort_image<int>::of(-1) < sort_image<int>::of(0));
  check(sort_image<double>::of(-0.0) == sort_image<double>::of(0));
  check(sort_image<int>::is_exact && !sort_image<std::string_view>::is_exact);
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_sort_images_reads_as_it_should);

}  // namespace

// [region: own]
namespace example {
struct release {
  std::uint32_t major;
  std::uint32_t minor;
  friend auto operator<=>(release const&, release const&) = default;
};
}  // namespace example

template <>
struct keyspan::sort_image<example::release> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(example::release const& key) noexcept {
    return std::uint64_t{key.major} << 32 | key.minor;
  }
};
// [end: own]

// ---- who has one

namespace example {
struct text_without_case {  // in an order that its bytes do not have
  std::string_view text;
  constexpr operator std::string_view() const { return text; }
};
struct lacks_exactness {};
struct changes_exactness {};
struct says_exactness_late {};
struct has_narrow_words {};
struct may_throw {};
}  // namespace example

template <>
struct keyspan::sort_image<example::lacks_exactness> {
  static constexpr std::uint64_t of(example::lacks_exactness const&) { return 0; }
};
template <>
struct keyspan::sort_image<example::changes_exactness> {
  static inline bool is_exact = true;
  static constexpr std::uint64_t of(example::changes_exactness const&) { return 0; }
};
template <>
struct keyspan::sort_image<example::says_exactness_late> {
  static bool const is_exact;  // elsewhere
  static constexpr std::uint64_t of(example::says_exactness_late const&) { return 0; }
};
template <>
struct keyspan::sort_image<example::has_narrow_words> {
  static constexpr bool is_exact = false;
  static constexpr unsigned of(example::has_narrow_words const&) { return 0; }
};
template <>
struct keyspan::sort_image<example::may_throw> {
  static constexpr bool is_exact = true;
  static constexpr std::uint64_t of(example::may_throw const&) { return 0; }
};

namespace {

using example::release;
using example::text_without_case;

enum class level : signed char { low = -1, normal, high };

template <class Key>
constexpr bool is_narrow_and_exact =
    has_sort_image<Key> && !has_wide_sort_image<Key> && sort_image<Key>::is_exact;
template <class Key>
constexpr bool is_narrow_only =
    has_sort_image<Key> && !has_wide_sort_image<Key> && !sort_image<Key>::is_exact;
template <class Key>
constexpr bool is_wide_and_exact = has_wide_sort_image<Key> && sort_image<Key>::is_exact;
template <class Key>
constexpr bool is_wide_only = has_wide_sort_image<Key> && !sort_image<Key>::is_exact;

constexpr bool only_keys_whose_order_is_known_have_an_image() {
  check(has_sort_image<release> && !has_wide_sort_image<release>);
  check(!has_sort_image<text_without_case>);
  check(!has_sort_image<char const*> && !has_sort_image<int*> && !has_sort_image<std::nullptr_t>);
  check(!has_sort_image<long double> && !has_sort_image<void>);
  check(!has_sort_image<int const> && !has_sort_image<int&>);
  check(!has_sort_image<example::lacks_exactness>);
  check(!has_sort_image<example::changes_exactness>);
  check(!has_sort_image<example::says_exactness_late>);
  check(!has_sort_image<example::has_narrow_words>);
  check(!has_sort_image<std::optional<text_without_case>>);
  check(!has_sort_image<std::pair<text_without_case, int>>);
  check(!has_sort_image<std::tuple<>>);
  check(!has_sort_image<std::array<char, 4>> && !has_sort_image<std::vector<unsigned char>>);
  check(has_wide_sort_image<token128> && !has_wide_sort_image<example::has_narrow_words>);
  return true;
}
CHECK_BOTH(only_keys_whose_order_is_known_have_an_image);

template <class Key>
constexpr bool never_throws = noexcept(sort_image<Key>::of(std::declval<Key const&>()));
template <class Key>
constexpr bool low_never_throws = noexcept(sort_image<Key>::low(std::declval<Key const&>()));

constexpr bool no_image_of_ours_throws() {
  check(never_throws<int> && never_throws<double> && never_throws<std::string>);
  check(never_throws<std::chrono::seconds> && never_throws<keyspan::wall_time>);
  check(never_throws<key_value> && never_throws<level>);
  check(never_throws<std::array<std::byte, 16>>);
  check(never_throws<token128> && low_never_throws<token128>);
  check(never_throws<keyspan::token_v1> && low_never_throws<keyspan::token_v1>);
  check(never_throws<std::optional<int>> && low_never_throws<std::optional<long long>>);
  check(never_throws<std::pair<int, int>> && low_never_throws<std::pair<int, int>>);
  check(!never_throws<std::optional<example::may_throw>>);
  check(!never_throws<std::pair<example::may_throw, int>>);
  check(never_throws<std::pair<int, example::may_throw>>);
  check(!low_never_throws<std::pair<int, example::may_throw>>);
  return true;
}
CHECK_BOTH(no_image_of_ours_throws);

// ---- numbers

template <class Integer>
constexpr void check_every_value() {
  using limits = std::numeric_limits<Integer>;
  for (int value = int{(limits::min)()}; value < int{(limits::max)()}; ++value) {
    auto const here = static_cast<Integer>(value);
    auto const next = static_cast<Integer>(value + 1);
    check(sort_image<Integer>::of(here) < sort_image<Integer>::of(next));
  }
}

constexpr bool every_small_integer_comes_before_the_next_one() {
  check_every_value<std::int8_t>();
  check_every_value<std::uint8_t>();
  check_every_value<char>();
  check_every_value<bool>();
  return true;
}
CHECK_BOTH(every_small_integer_comes_before_the_next_one);

TEST_CASE("all pairs of small integers keep the laws") {
  std::vector<std::int8_t> bytes;
  std::vector<std::uint8_t> plain_bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<std::int8_t>(i - 128));
    plain_bytes.push_back(static_cast<std::uint8_t>(i));
  }
  check_all_pairs(bytes);
  check_all_pairs(plain_bytes);
  check_every_value<std::int16_t>();
  check_every_value<std::uint16_t>();
}

template <class Integer>
constexpr void check_borders(int step) {
  using limits = std::numeric_limits<Integer>;
  std::vector<Integer> values{(limits::min)(), static_cast<Integer>((limits::min)() + 1)};
  for (int bit = 0; bit < limits::digits; bit += step) {
    auto const power = static_cast<Integer>(Integer{1} << bit);
    values.push_back(power);
    values.push_back(static_cast<Integer>(power - 1));
    if constexpr (std::is_signed_v<Integer>) values.push_back(static_cast<Integer>(-power));
  }
  values.push_back(static_cast<Integer>((limits::max)() - 1));
  values.push_back((limits::max)());
  check_all_pairs(values);
  check(is_narrow_and_exact<Integer>);
}

constexpr void check_borders_of_every_width(int step) {
  check_borders<short>(step);
  check_borders<unsigned short>(step);
  check_borders<int>(step);
  check_borders<unsigned>(step);
  check_borders<char16_t>(step);
  check_borders<std::int64_t>(step);
  check_borders<std::uint64_t>(step);
}

// Some powers of two, for compilers count the steps of a constant expression.
constexpr bool integers_of_every_width_keep_the_laws() {
  check_borders_of_every_width(10);
  return true;
}
CHECK_BOTH(integers_of_every_width_keep_the_laws);

TEST_CASE("integers keep the laws around every power of two") { check_borders_of_every_width(1); }

TEST_CASE("random integers keep the laws") {
  test::random random{1};
  for (int i = 0; i < 20'000; ++i) {
    auto const a = random() >> random.below(64);
    auto const b = random.chance(20) ? a + random.below(3) : random() >> random.below(64);
    check_laws(a, b);
    check_laws(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
    check_laws(static_cast<int>(a), static_cast<int>(b));
  }
}

#if defined(__SIZEOF_INT128__)
__extension__ using wide = __int128;
__extension__ using plain_wide = unsigned __int128;

constexpr bool integers_of_128_bits_keep_the_laws() {
  std::vector<wide> values;
  std::vector<plain_wide> plain_values;
  constexpr std::uint64_t words[]{0, 1, middle - 1, middle, all_ones};
  for (std::uint64_t const high : words)
    for (std::uint64_t const low : words) {
      plain_values.push_back(plain_wide{high} << 64 | low);
      values.push_back(static_cast<wide>(plain_values.back()));
    }
  check_all_pairs(plain_values);
  check_all_pairs(values);
  check(image_of(plain_values[7]) == image{1, middle - 1});
  check(is_wide_and_exact<wide> && is_wide_and_exact<plain_wide>);
  return true;
}
CHECK_BOTH(integers_of_128_bits_keep_the_laws);

constexpr bool a_count_of_128_bits_is_wide_through_durations_and_moments() {
  using long_time = std::chrono::duration<plain_wide, std::nano>;
  using moment = std::chrono::time_point<std::chrono::system_clock, long_time>;
  check(is_wide_and_exact<long_time> && is_wide_and_exact<moment>);
  long_time const time{plain_wide{3} << 64 | 5};
  check(image_of(time) == image{3, 5} && image_of(moment{time}) == image{3, 5});
  return true;
}
CHECK_BOTH(a_count_of_128_bits_is_wide_through_durations_and_moments);
#endif

enum plain { none, some = 1000 };
enum class huge : std::uint64_t { small, large = all_ones };

constexpr bool enumerators_sort_by_their_numbers() {
  check_rising(std::array{level::low, level::normal, level::high});
  check_rising(std::array{none, some});
  check_rising(std::array{huge::small, huge::large});
  check_rising(std::array{std::byte{0}, std::byte{127}, std::byte{128}, std::byte{255}});
  check(is_narrow_and_exact<level> && is_narrow_and_exact<plain>);
  return true;
}
CHECK_BOTH(enumerators_sort_by_their_numbers);

template <class Float>
constexpr void check_floating(Float finest) {
  using limits = std::numeric_limits<Float>;
  Float const rising[]{-limits::infinity(),
                       -(limits::max)(),
                       -2,
                       -1 - limits::epsilon(),
                       -1,
                       -(limits::min)(),
                       -finest,
                       0,
                       finest,
                       (limits::min)(),
                       limits::epsilon(),
                       1,
                       1 + limits::epsilon(),
                       2,
                       (limits::max)(),
                       limits::infinity()};
  check_rising(rising);
  check_all_pairs(rising);
  check_laws(Float{0}, -Float{0});
  check(is_narrow_and_exact<Float>);
  // What is not a number, whatever its bits: one key behind all others.
  auto const nan = sort_image<Float>::of(limits::quiet_NaN());
  check(nan > sort_image<Float>::of(limits::infinity()));
  check(sort_image<Float>::of(-limits::quiet_NaN()) == nan);
}

constexpr bool floating_numbers_have_an_order_of_all() {
  check_floating<double>(5e-324);
  check_floating<float>(1e-45F);
  auto const nan = sort_image<double>::of(std::numeric_limits<double>::quiet_NaN());
  for (std::uint64_t const bits :
       {0x7FF0'0000'0000'0001u, 0x7FF8'0000'0000'0001u, 0x7FFF'FFFF'FFFF'FFFFu,
        0xFFF0'0000'0000'0001u, 0xFFFF'FFFF'FFFF'FFFFu})
    check(sort_image<double>::of(std::bit_cast<double>(bits)) == nan);
  return true;
}
CHECK_BOTH(floating_numbers_have_an_order_of_all);

TEST_CASE("random doubles and their neighbours keep the laws") {
  test::random random{2};
  for (int i = 0; i < 20'000; ++i) {
    double const a = random.any_finite_double();
    check_laws(a, random.any_finite_double());
    check_laws(a, std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) ^ 1));
    check_laws(a, -a);
    check_laws(static_cast<double>(random.between(-9, 9)),
               static_cast<double>(random.between(-9, 9)));
  }
}

TEST_CASE("floats of every sign, exponent and beginning of a fraction keep the laws") {
  float before = -std::numeric_limits<float>::infinity();
  for (std::uint32_t top = 0xFF7F; top >= 0x8000; --top) {
    auto const next = std::bit_cast<float>(top << 16 | 0xFFFF);
    check_laws(before, next);
    check_laws(next, -next);
    before = next;
  }
  for (std::uint32_t top = 0; top <= 0x7F80; ++top) {
    auto const next = std::bit_cast<float>(top << 16);
    check_laws(before, next);
    before = next;
  }
  CHECK(before == std::numeric_limits<float>::infinity());
}

constexpr bool times_sort_by_their_counts() {
  using namespace std::chrono_literals;
  check_rising(std::array{-2s, -1s, 0s, 1s, 1000s});
  check_rising(std::array{std::chrono::duration<double>{-0.5}, std::chrono::duration<double>{0},
                          std::chrono::duration<double>{0.25}});
  check_rising(
      std::array{keyspan::wall_time{-1ms}, keyspan::wall_time{0ms}, keyspan::wall_time{1ms}});
  check(sort_image<keyspan::wall_time>::of(keyspan::wall_time{7ms}) == middle + 7);
  check(is_narrow_and_exact<std::chrono::nanoseconds>);
  check(is_narrow_and_exact<std::chrono::steady_clock::time_point>);
  return true;
}
CHECK_BOTH(times_sort_by_their_counts);

// ---- bytes

constexpr bool a_text_is_known_by_its_first_eight_bytes() {
  constexpr std::uint64_t words[]{0,
                                  0x8100'0000'0000'0000,
                                  0x8182'0000'0000'0000,
                                  0x8182'8300'0000'0000,
                                  0x8182'8384'0000'0000,
                                  0x8182'8384'8500'0000,
                                  0x8182'8384'8586'0000,
                                  0x8182'8384'8586'8700,
                                  0x8182'8384'8586'8788,
                                  0x8182'8384'8586'8788};
  for (std::size_t size = 0; size < std::size(words); ++size) {
    // Of its own, so that reading behind its end is no constant expression.
    std::vector<char> characters;
    characters.reserve(size);
    for (std::size_t i = 0; i < size; ++i) characters.push_back(static_cast<char>(0x81 + i));
    std::string_view const text{characters.data(), size};
    check(sort_image<std::string_view>::of(text) == words[size]);
    check(sort_image<keyspan::inline_text<12>>::of(keyspan::inline_text<12>{text}) == words[size]);
  }
  check(is_narrow_only<std::string> && is_narrow_only<std::string_view>);
  check(is_narrow_only<std::pmr::string> && is_narrow_only<keyspan::inline_text<12>>);
  return true;
}
CHECK_BOTH(a_text_is_known_by_its_first_eight_bytes);

// All texts of up to three of the letters, behind each beginning.
std::vector<std::string> few_letters(std::string_view letters) {
  std::vector<std::string> texts;
  for (auto const start : {""sv, "abcd"sv, "abcdefg"sv, "abcdefgh"sv}) {
    std::size_t first = texts.size();
    texts.emplace_back(start);
    for (int length = 1; length <= 3; ++length) {
      std::size_t const end = texts.size();
      for (; first < end; ++first)
        for (char const letter : letters) texts.push_back(texts[first] + letter);
    }
  }
  return texts;
}

TEST_CASE("texts of few letters and every length keep the laws") {
  auto const texts = few_letters("\0a\x7F\x80\xFF"sv);
  CHECK(texts.size() == 4 * (1 + 5 + 25 + 125));
  check_all_pairs(texts);
  for (auto const& a : texts)
    for (auto const& b : texts) {
      std::string const first = (a + std::string(8, '\0')).substr(0, 8);
      std::string const second = (b + std::string(8, '\0')).substr(0, 8);
      check((sort_image<std::string>::of(a) == sort_image<std::string>::of(b)) ==
            (first == second));
    }
}

TEST_CASE("images of other texts are those of their characters") {
  for (auto const& text : few_letters("\0z\xFF"sv)) {
    auto const wanted = sort_image<std::string_view>::of(text);
    check(sort_image<std::string>::of(text) == wanted);
    check(sort_image<std::pmr::string>::of(std::pmr::string{text}) == wanted);
    check(sort_image<keyspan::inline_text<16>>::of(keyspan::inline_text<16>{text}) == wanted);
  }
}

template <class Byte, std::size_t Size>
void check_arrays(test::random& random) {
  using key = std::array<Byte, Size>;
  auto const any = [&] {
    key made{};
    for (auto& byte : made) byte = static_cast<Byte>(random.chance(70) ? 0x80 : random.below(256));
    return made;
  };
  for (int i = 0; i < 2'000; ++i) {
    key const a = any();
    key b = random.chance(50) ? any() : a;
    if constexpr (Size > 0) {
      if (random.chance(50)) b[random.below(Size)] = static_cast<Byte>(random.below(256));
      std::size_t const told = Size <= 16 ? Size : 8;
      if (!std::equal(a.begin(), a.begin() + told, b.begin())) check(image_of(a) != image_of(b));
    }
    check_laws(a, b);
  }
}

TEST_CASE("arrays of bytes keep the laws at every size") {
  test::random random{3};
  check_arrays<unsigned char, 0>(random);
  check_arrays<unsigned char, 1>(random);
  check_arrays<std::byte, 3>(random);
  check_arrays<std::byte, 4>(random);
  check_arrays<unsigned char, 7>(random);
  check_arrays<std::byte, 8>(random);
  check_arrays<unsigned char, 9>(random);
  check_arrays<std::byte, 12>(random);
  check_arrays<unsigned char, 16>(random);
  check_arrays<unsigned char, 17>(random);
  check_arrays<std::byte, 32>(random);
}

constexpr bool arrays_of_bytes_are_exact_up_to_sixteen() {
  check(is_narrow_and_exact<std::array<std::byte, 0>>);
  check(is_narrow_and_exact<std::array<unsigned char, 8>>);
  check(is_wide_and_exact<std::array<unsigned char, 9>>);
  check(is_wide_and_exact<std::array<std::byte, 16>>);
  check(is_narrow_only<std::array<unsigned char, 17>>);
  std::array<unsigned char, 11> const key{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  check(image_of(key) == image{0x0102'0304'0506'0708, 0x090A'0B00'0000'0000});
  return true;
}
CHECK_BOTH(arrays_of_bytes_are_exact_up_to_sixteen);

// ---- tokens

constexpr bool tokens_of_128_bits_are_their_words() {
  std::vector<token128> tokens;
  constexpr std::uint64_t words[]{0, 1, middle - 1, middle, all_ones};
  for (std::uint64_t const high : words)
    for (std::uint64_t const low : words) tokens.push_back({.high = high, .low = low});
  check_all_pairs(tokens);
  check(image_of(token128{1, 2}) == image{1, 2} && is_wide_and_exact<token128>);
  return true;
}
CHECK_BOTH(tokens_of_128_bits_are_their_words);

template <std::size_t Capacity, keyspan::token_order Order>
using bytes_token = keyspan::token_bytes<Capacity, Order>;
constexpr auto padded = keyspan::token_order::padded;
constexpr auto by_bytes = keyspan::token_order::bytes;

constexpr bool tokens_of_bytes_are_exact_where_all_bytes_fit_and_zeros_do_not_count() {
  check(is_narrow_and_exact<bytes_token<8, padded>>);
  check(is_narrow_only<bytes_token<8, by_bytes>>);
  check(is_wide_and_exact<bytes_token<16, padded>>);
  check(is_wide_only<bytes_token<16, by_bytes>>);
  check(is_wide_only<bytes_token<24, padded>>);
  check(is_wide_only<keyspan::token_v1> && is_wide_only<keyspan::token_multihash>);
  auto const token = keyspan::token_multihash::from_hex("22E342F38A486A088463DFF7");
  check(image_of(*token) == image{0x22E3'42F3'8A48'6A08, 0x8463'DFF7'0000'0000});
  check(image_of(*keyspan::token_multihash::from_hex("22E3")) == image{0x22E3'0000'0000'0000, 0});
  return true;
}
CHECK_BOTH(tokens_of_bytes_are_exact_where_all_bytes_fit_and_zeros_do_not_count);

template <class Token>
void check_tokens(test::random& random) {
  auto const any = [&] {
    std::array<unsigned char, Token::capacity()> bytes{};
    std::size_t const size = random.below(bytes.size() + 1);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<unsigned char>(random.chance(80) ? 0 : random.below(256));
    return *Token::from_bytes(std::span{bytes}.first(size));
  };
  for (int i = 0; i < 5'000; ++i) {
    check_laws(any(), any());
    auto const token = any();
    check_laws(token, token);
  }
}

TEST_CASE("random tokens keep the laws") {
  test::random random{4};
  check_tokens<bytes_token<8, padded>>(random);
  check_tokens<bytes_token<8, by_bytes>>(random);
  check_tokens<bytes_token<16, padded>>(random);
  check_tokens<bytes_token<16, by_bytes>>(random);
  check_tokens<keyspan::token_multihash>(random);
  check_tokens<keyspan::token_v1>(random);
}

// ---- what is put together

template <class Key>
constexpr void check_optionals(std::initializer_list<Key> keys) {
  std::vector<std::optional<Key>> all{std::nullopt};
  for (Key const& key : keys) all.emplace_back(key);
  check_all_pairs(all);
  check(image_of(all.front()) == image{0, 0});
}

constexpr bool no_value_stands_before_all() {
  check_optionals<int>(
      {(std::numeric_limits<int>::min)(), -1, 0, (std::numeric_limits<int>::max)()});
  check_optionals<bool>({false, true});
  check_optionals<std::uint64_t>({0, 1, middle, all_ones - 2, all_ones - 1, all_ones});
  check_optionals<std::int64_t>({(std::numeric_limits<std::int64_t>::min)(), 0,
                                 (std::numeric_limits<std::int64_t>::max)() - 1,
                                 (std::numeric_limits<std::int64_t>::max)()});
  check_optionals<double>(
      {-std::numeric_limits<double>::infinity(), 0, 1, std::numeric_limits<double>::infinity()});
  check_optionals<huge>({huge::small, huge{1}, huge{all_ones - 1}, huge::large});
  check_optionals<token128>(
      {{0, 0}, {0, 1}, {all_ones - 1, 0}, {all_ones - 1, 5}, {all_ones, 0}, {all_ones, 7}});
  check_optionals<std::string_view>(
      {"", "\0"sv, "a", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"});
  check_optionals<std::optional<std::uint64_t>>({std::nullopt, 0, 1, all_ones - 1, all_ones});
  using nothing_known = std::optional<double>;
  auto const nan = sort_image<nothing_known>::of(std::numeric_limits<double>::quiet_NaN());
  check(nan > sort_image<nothing_known>::of(std::numeric_limits<double>::infinity()));
  return true;
}
CHECK_BOTH(no_value_stands_before_all);

constexpr bool an_optional_is_as_exact_as_its_value_where_that_is_known_in_one_word() {
  check(is_narrow_and_exact<std::optional<int>> && is_narrow_and_exact<std::optional<bool>>);
  check(is_narrow_and_exact<std::optional<double>> && is_narrow_and_exact<std::optional<level>>);
  using minutes = std::chrono::duration<int, std::ratio<60>>;
  using full = std::chrono::time_point<std::chrono::system_clock, minutes>;
  check(is_narrow_and_exact<std::optional<minutes>> && is_narrow_and_exact<std::optional<full>>);
  check(is_wide_and_exact<std::optional<std::uint64_t>> && is_wide_and_exact<std::optional<huge>>);
  check(is_wide_and_exact<std::optional<keyspan::wall_time>>);
  check(is_narrow_only<std::optional<std::string>> && is_narrow_only<std::optional<token128>>);
  check(image_of(std::optional<std::uint64_t>{5}) == image{6, 0});
  check(image_of(std::optional<std::uint64_t>{all_ones}) == image{all_ones, 1});
  return true;
}
CHECK_BOTH(an_optional_is_as_exact_as_its_value_where_that_is_known_in_one_word);

constexpr bool pairs_and_tuples_begin_with_their_first() {
  std::vector<std::pair<int, long long>> pairs;
  std::vector<std::tuple<int, long long>> tuples;
  std::vector<std::tuple<int, long long, int>> triples;
  std::vector<std::pair<std::string_view, int>> texts;
  std::vector<std::pair<int, std::string_view>> before_text;
  std::vector<std::pair<token128, int>> tokens;
  std::vector<std::pair<int, token128>> before_tokens;
  for (int const first : {-5, 0, 7})
    for (int const second : {-1, 0, 1}) {
      pairs.emplace_back(first, second);
      tuples.emplace_back(first, second);
      triples.emplace_back(first, second, first);
      triples.emplace_back(first, second, second);
      texts.emplace_back(first < 0 ? "abcdefgh" : first == 0 ? "abcdefghi" : "b", second);
      before_text.emplace_back(first, second < 0 ? "" : second == 0 ? "a" : "b");
      tokens.emplace_back(token128{1, static_cast<std::uint64_t>(first + 5)}, second);
      before_tokens.emplace_back(first, token128{static_cast<std::uint64_t>(second + 1), 0});
    }
  check_all_pairs(pairs);
  check_all_pairs(tuples);
  check_all_pairs(triples);
  check_all_pairs(texts);
  check_all_pairs(before_text);
  check_all_pairs(tokens);
  check_all_pairs(before_tokens);
  check(image_of(std::pair{1, -1}) == image{middle + 1, middle - 1});
  check(image_of(std::tuple{1, -1}) == image{middle + 1, middle - 1});
  check(image_of(std::tuple{1, 2, 3}) == image{middle + 1, 0});
  check(image_of(std::pair{token128{3, 4}, 5}) == image{3, 4});
  check(image_of(std::tuple{token128{3, 4}}) == image{3, 4});
  return true;
}
CHECK_BOTH(pairs_and_tuples_begin_with_their_first);

constexpr bool two_exact_words_make_an_exact_pair() {
  check(is_wide_and_exact<std::pair<int, double>> && is_wide_and_exact<std::tuple<int, double>>);
  check(is_narrow_and_exact<std::tuple<int>> && is_wide_and_exact<std::tuple<token128>>);
  check(is_narrow_only<std::tuple<std::string>> && is_narrow_only<std::tuple<int, int, int>>);
  check(is_narrow_only<std::pair<int, std::string>> && is_narrow_only<std::pair<std::string, int>>);
  check(is_narrow_only<std::pair<int, token128>> && is_wide_only<std::pair<token128, int>>);
  check(is_narrow_only<std::pair<int, text_without_case>>);
  check(is_narrow_only<std::pair<int, std::optional<std::uint64_t>>>);
  return true;
}
CHECK_BOTH(two_exact_words_make_an_exact_pair);

constexpr bool members_that_are_referred_to_count_as_themselves() {
  int const tenant = 7;
  std::string_view const name = "b";
  using tied = decltype(std::tie(tenant, name));
  check(is_narrow_only<tied> && sort_image<tied>::of(std::tie(tenant, name)) == middle + 7);
  using numbers = std::pair<int const&, int const>;
  check(image_of(numbers{tenant, 1}) == image{middle + 7, middle + 1});
  check(is_wide_and_exact<numbers>);
  return true;
}
CHECK_BOTH(members_that_are_referred_to_count_as_themselves);

constexpr bool a_type_of_ones_own_is_like_ours() {
  check_rising(std::array{release{0, 9}, release{1, 0}, release{1, 2}, release{10, 0}});
  check(is_wide_and_exact<std::pair<release, int>> && is_wide_and_exact<std::optional<release>>);
  check_optionals<release>({{0, 0}, {0, 1}, {~0U, ~0U - 1}, {~0U, ~0U}});
  return true;
}
CHECK_BOTH(a_type_of_ones_own_is_like_ours);

// ---- key values

constexpr bool key_values_keep_the_laws_and_are_told_apart() {
  key_value const rising[]{keyspan::undefined,
                           keyspan::null,
                           false,
                           true,
                           -1e308,
                           -5,
                           0,
                           0.5,
                           5,
                           1e308,
                           "",
                           "A",
                           "AA",
                           "B",
                           "a",
                           "é",
                           "中",
                           "\xF0\x90\x80\x80",
                           "\xEE\x80\x80"};
  check_rising(rising);
  check_all_pairs(rising);
  check(is_narrow_only<key_value>);
  check(sort_image<key_value>::of(keyspan::undefined) == 0);
  check(sort_image<key_value>::of("abcdefgh") ==
        (std::uint64_t{4} << 61 | 0x6162'6364'6566'6768 >> 3));
  return true;
}
CHECK_BOTH(key_values_keep_the_laws_and_are_told_apart);

// Characters on each side of every border of the two encodings, at every place in the word.
TEST_CASE("the images of strings sort as UTF-16 does") {
  constexpr std::string_view characters[]{"",
                                          "z",
                                          "\xC2\x80",
                                          "\xE0\xA0\x80",
                                          "\xED\x9F\xBF",
                                          "\xEE\x80\x80",
                                          "\xEE\xBF\xBF",
                                          "\xEF\x80\x80",
                                          "\xEF\xBF\xBF",
                                          "\xF0\x90\x80\x80",
                                          "\xF4\x8F\xBF\xBF"};
  std::vector<std::string> texts;
  for (std::size_t const start : {0U, 5U, 6U, 7U, 8U})
    for (auto const first : characters)
      for (auto const second : characters)
        texts.push_back(std::string(start, 'a') + std::string{first} + std::string{second});
  for (auto const& a : texts)
    for (auto const& b : texts) check_laws(key_value{a}, key_value{b});
  // The last three of 64 bits are lost, and no more.
  CHECK(sort_image<key_value>::of("\xEE\x80\x80") > sort_image<key_value>::of("\xF4\x8F\xBF\xBF"));
  CHECK(sort_image<key_value>::of("aaaaaaa0") < sort_image<key_value>::of("aaaaaaa8"));
}

TEST_CASE("an image allocates nothing") {
  std::string const city(200, 'x');
  std::optional<std::string> const perhaps = city;
  auto const key = std::tie(city, perhaps);
  std::uint64_t sum = 0;
  CHECK(test::allocations_in([&] {
          sum += sort_image<std::string>::of(city);
          sum += sort_image<std::optional<std::string>>::of(perhaps);
          sum += sort_image<std::remove_cv_t<decltype(key)>>::of(key);
          sum += sort_image<key_value>::of(city);
        }) == 0);
  CHECK(sum != 0);
}

}  // namespace
