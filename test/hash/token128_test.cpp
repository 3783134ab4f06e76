// test/hash/token128_test.cpp — a number in two words: its text, its order, its arithmetic.
#include <keyspan/hash/token128.hpp>

#include <keyspan/core/print.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <compare>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_set>

namespace {

using keyspan::errc;
using keyspan::fail;
using keyspan::token128;
using test::check;

constexpr bool a_token_of_128_bits_and_its_text_are_one() {
  // [region: example]
  constexpr keyspan::token128 t{0x22E342F38A486A08, 0x8463DFF7838A5963};
  check(t.to_hex() == "22E342F38A486A088463DFF7838A5963");
  check(keyspan::token128::from_hex("22e342f38a486a088463dff7838a5963") == t);
  check(keyspan::token128::from_hex("22E3") == keyspan::token128{0x22E3000000000000, 0});
  check(keyspan::token128{}.to_hex() == "");
  // [end: example]
  return true;
}
CHECK_BOTH(a_token_of_128_bits_and_its_text_are_one);

constexpr std::uint64_t words[]{0,
                                1,
                                0x7FFF'FFFF'FFFF'FFFF,
                                0x8000'0000'0000'0000,
                                0xFFFF'FFFF'FFFF'FFFF,
                                0x0123'4567'89AB'CDEF};

constexpr bool every_number_has_its_digits_and_comes_back() {
  for (std::uint64_t const high : words)
    for (std::uint64_t const low : words) {
      token128 const t{high, low};
      auto const text = t.to_hex();
      check(text.size() == (t == token128{} ? 0u : 32u) && t.to_text() == text);
      check(token128::from_hex(text) == t);
      for (std::size_t i = 0; i < text.size(); ++i) {
        auto const digit = (i < 16 ? high >> (60 - 4 * i) : low >> (124 - 4 * i)) & 15;
        check(text.view()[i] == "0123456789ABCDEF"[digit]);
      }
    }
  return true;
}
CHECK_BOTH(every_number_has_its_digits_and_comes_back);

constexpr bool what_is_no_number_is_refused() {
  check(token128::from_hex("FF") ==
        fail(errc::not_representable,
             "FF is the end of the space and no token; read it as an upper_end"));
  check(token128::from_hex("0").error().code == errc::malformed);
  check(token128::from_hex("00000000000000000000000000000000FF") ==
        fail(errc::too_large, "at most 16 bytes fit, the text has 17"));
  std::string_view const good = "22E342F38A486A088463DFF7838A5963";
  for (std::size_t at = 0; at < good.size(); ++at) {
    char text[32];
    good.copy(text, 32);
    text[at] = 'G';
    auto const place = static_cast<std::uint32_t>(at);
    check(token128::from_hex({text, 32}).error() ==
          keyspan::error{errc::malformed, "not a hexadecimal digit"}.at({1, place + 1, place}));
  }
  return true;
}
CHECK_BOTH(what_is_no_number_is_refused);

constexpr bool numbers_sort_by_the_high_word_first() {
  for (std::uint64_t const a : words)
    for (std::uint64_t const b : words)
      for (std::uint64_t const c : words) {
        check((token128{a, c} <=> token128{b, c}) == (a <=> b));
        check((token128{c, a} <=> token128{c, b}) == (a <=> b));
        check((token128{c, a} == token128{c, b}) == (a == b));
        if (a != b) check((token128{a, c} <=> token128{b, a}) == (a <=> b));
      }
  return true;
}
CHECK_BOTH(numbers_sort_by_the_high_word_first);

using keyspan::detail::difference;
using keyspan::detail::product;
using keyspan::detail::quotient;
using keyspan::detail::sum;

constexpr bool arithmetic_carries_between_the_words() {
  token128 const last{~std::uint64_t{0}, ~std::uint64_t{0}};
  check(sum({0, ~std::uint64_t{0}}, {0, 1}) == token128{1, 0});
  check(sum(last, {0, 1}) == token128{});
  check(difference({1, 0}, {0, 1}) == token128{0, ~std::uint64_t{0}});
  check(product({0, ~std::uint64_t{0}}, ~std::uint64_t{0}) == token128{0xFFFF'FFFF'FFFF'FFFE, 1});
  check(product({1, 2}, 0) == token128{});
  check(quotient(last, 1) == last && quotient({}, 7) == token128{});
  check(quotient({1, 0}, 2) == token128{0, std::uint64_t{1} << 63});
  check(quotient(last, ~std::uint64_t{0}) == token128{1, 1});
  for (std::uint64_t const high : words)
    for (std::uint64_t const low : words)
      for (std::uint64_t const by : words) {
        token128 const a{high, low};
        check(difference(sum(a, {by, low}), {by, low}) == a);
        if (by == 0) continue;
        // What is left over is less than the divisor, so there is only one such quotient.
        token128 const left = difference(a, product(quotient(a, by), by));
        check(left.high == 0 && left.low < by);
        check(product(quotient(a, by), by) <= a);
      }
  return true;
}
CHECK_BOTH(arithmetic_carries_between_the_words);

TEST_CASE("a product is a sum of shifted ones and a quotient undoes it") {
  test::random random{1};
  for (int round = 0; round < 10'000; ++round) {
    token128 const a{random(), random()};
    std::uint64_t const by = random() >> random.below(64);
    token128 added{};
    token128 shifted = a;
    for (std::uint64_t left = by; left != 0; left >>= 1) {
      if (left & 1) added = sum(added, shifted);
      shifted = sum(shifted, shifted);
    }
    REQUIRE(product(a, by) == added);
    if (by == 0) continue;
    auto const left = difference(a, product(quotient(a, by), by));
    REQUIRE((left.high == 0 && left.low < by));
  }
}

TEST_CASE("tokens are kept in hashed sets and streamed") {
  std::unordered_set<token128> set;
  for (std::uint64_t const high : words)
    for (std::uint64_t const low : words) set.insert({high, low});
  CHECK(set.size() == 36);
  CHECK(set.contains(token128{1, 0}));
  std::ostringstream out;
  out << token128{0x10, 1};
  CHECK(out.str() == "00000000000000100000000000000001");
}

TEST_CASE("a token and its text allocate nothing") {
  CHECK(test::allocations_in([] {
          auto const text = token128{1, 2}.to_hex();
          static_cast<void>(token128::from_hex(text));
          static_cast<void>(token128::from_hex("FF"));
        }) == 0);
}

}  // namespace
