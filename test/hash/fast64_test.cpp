// test/hash/fast64_test.cpp — the tokens of the small fast scheme: for ever the same, and mixed
// well.
#include <keyspan/hash/fast64.hpp>

#include <keyspan/key/partition_key.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::fast64;
using keyspan::fast64_scheme;
using keyspan::key_value;
using keyspan::partition_key_view;
using test::check;

constexpr std::uint64_t token_of(auto const&... values) {
  return keyspan::token_of(fast64, partition_key_view{values...});
}

constexpr bool the_example_of_fast64_reads_as_it_should() {
  // [region: example]
  check(keyspan::token_of(fast64, partition_key_view{"redmond"}) == 0xE56A'92FA'CEE9'3395);
  check(keyspan::token_of(fast64, partition_key_view{"ab", "c"}) !=
        keyspan::token_of(fast64, partition_key_view{"a", "bc"}));
  constexpr fast64_scheme ours{.seed = 42};
  check(ours != fast64);
  check(keyspan::token_of(ours, partition_key_view{"redmond"}) !=
        keyspan::token_of(fast64, partition_key_view{"redmond"}));
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_fast64_reads_as_it_should);

// Tokens may have been stored: these never change.
constexpr bool tokens_stay_what_they_are() {
  check(token_of() == 0);
  check(token_of("") == 0x8931'AE71'3833'6B2B);
  check(token_of("a") == 0xD3BC'9504'D4AD'212D);
  check(token_of("abc") == 0x0110'40F9'27C5'2E7C);
  check(token_of("0123456789") == 0xF75D'C6FF'1141'D53A);
  check(token_of("01234567-89ab-cdef-0123-456789abcdef") == 0x090C'70E9'123A'F2C5);
  check(token_of(5) == 0xCD1E'B845'30D1'9011);
  check(token_of(true) == 0xC40E'E14D'D4D7'F52C);
  check(token_of(false) == 0xABE4'58AE'DB79'6187);
  check(token_of(keyspan::null) == 0x342F'D822'0062'7BA5);
  check(token_of(keyspan::undefined) == 0x4496'F2DB'FFBF'78F3);
  check(token_of("tenant", "user", 7) == 0x36AF'8D97'78C3'0AC1);
  return true;
}
CHECK_BOTH(tokens_stay_what_they_are);

// As the first release gives them; they never change either.
constexpr bool tokens_of_long_texts_stay_what_they_are() {
  char text[4096]{};
  for (std::size_t i = 0; i < sizeof text; ++i) text[i] = static_cast<char>(' ' + i % 95);
  auto const of_size = [&](std::size_t size) { return token_of(std::string_view{text, size}); };
  check(of_size(255) == 0xFA0C'5FB3'0DE7'4215);
  check(of_size(256) == 0xF319'7609'C840'15A0);
  check(of_size(257) == 0x149F'BCA1'2979'182D);
  check(of_size(511) == 0x9AA0'48AF'09C5'309B);
  check(of_size(512) == 0xC9E1'B1FC'4CE0'1B32);
  check(of_size(1000) == 0x15E2'3B84'4BFC'B189);
  check(of_size(4096) == 0x5AE4'5374'20D4'693B);
  return true;
}
CHECK_BOTH(tokens_of_long_texts_stay_what_they_are);

constexpr bool a_product_is_the_same_from_its_halves() {
  test::random random{36};
  constexpr std::array<std::uint64_t, 6> borders{
      0, 1, 0xFFFF'FFFF, 0x1'0000'0000, 0x8000'0000'0000'0000, 0xFFFF'FFFF'FFFF'FFFF};
  auto const same = [](std::uint64_t a, std::uint64_t b) {
    auto const whole = keyspan::detail::multiplied(a, b);
    auto const halves = keyspan::detail::multiplied_by_halves(a, b);
    check(whole.low == halves.low && whole.high == halves.high && halves.low == a * b);
  };
  for (auto const a : borders)
    for (auto const b : borders) same(a, b);
  for (int i = 0; i < 200; ++i) same(random(), random());
  check(keyspan::detail::multiplied_by_halves(~std::uint64_t{0}, ~std::uint64_t{0}).high ==
        ~std::uint64_t{1});
  return true;
}
CHECK_BOTH(a_product_is_the_same_from_its_halves);

// Of every length, with what is behind the text changed.
constexpr bool every_byte_of_a_text_counts_and_none_behind_it() {
  test::random random{37};
  char text[151]{};
  for (char& c : text) c = static_cast<char>(random.below(128));
  std::uint64_t before = 0;
  for (std::size_t size = 0; size < sizeof text; ++size) {
    std::string_view const key{text, size};
    auto const token = token_of(key);
    check(token != before);
    before = token;
    text[size] ^= 1;
    check(token_of(key) == token);
    for (std::size_t i = 0; i < size; ++i) {
      text[i] ^= 1;
      check(token_of(key) != token);
      text[i] ^= 1;
    }
  }
  return true;
}
TEST_CASE("every byte of a text counts and none behind it") {
  check(every_byte_of_a_text_counts_and_none_behind_it());
}

constexpr bool kinds_and_places_of_values_count() {
  std::array const tokens{token_of(),
                          token_of(""),
                          token_of("", ""),
                          token_of("", "", ""),
                          token_of(keyspan::undefined),
                          token_of(keyspan::null),
                          token_of(false),
                          token_of(true),
                          token_of(0),
                          token_of(1),
                          token_of(-1),
                          token_of("0"),
                          token_of("a", "b"),
                          token_of("b", "a"),
                          token_of("ab"),
                          token_of("ab", ""),
                          token_of("", "ab"),
                          token_of(0, 1),
                          token_of(1, 0),
                          token_of(std::string_view{"\0", 1}),
                          token_of(std::string_view{"\0\0", 2}),
                          token_of(std::string_view{"\0\0\0\0\0\0\0\0", 8}),
                          token_of(std::string_view{"\0\0\0\0\0\0\0\0\0", 9})};
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) check(tokens[i] != tokens[j]);
  return true;
}
CHECK_BOTH(kinds_and_places_of_values_count);

// How often each bit of the token turns over when one bit of the key does.
struct avalanche {
  std::array<int, 64> flips{};
  int samples = 0;

  void add(std::uint64_t changed) {
    for (std::size_t bit = 0; bit < 64; ++bit) flips[bit] += static_cast<int>(changed >> bit & 1);
    ++samples;
  }
  // How far the worst bit is from turning over every other time, in standard deviations.
  double worst() const {
    double most = 0;
    for (int const count : flips) {
      double const off = count - samples / 2.0;
      most = std::max(most, off * off);
    }
    return most / (samples / 4.0);  // squared
  }
};

constexpr double six_deviations = 36;  // one in 500 million, and there are some 100'000 bits below

// Texts of one byte are too few to count: each is told apart above.
TEST_CASE("a bit of a text turns over every bit of the token half the time") {
  test::random random{38};
  for (std::size_t const size : {2u,  3u,  4u,  5u,  7u,  8u,  9u,  15u, 16u, 17u,
                                 24u, 31u, 32u, 33u, 36u, 48u, 49u, 64u, 65u, 97u}) {
    std::vector<avalanche> of_bits(size * 7);  // the eighth would make it no UTF-8
    for (int sample = 0; sample < 250; ++sample) {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>(random.below(128));
      auto const before = token_of(text);
      for (std::size_t bit = 0; bit < of_bits.size(); ++bit) {
        auto const mask = static_cast<char>(1 << (bit % 7));
        text[bit / 7] = static_cast<char>(text[bit / 7] ^ mask);
        of_bits[bit].add(before ^ token_of(text));
        text[bit / 7] = static_cast<char>(text[bit / 7] ^ mask);
      }
    }
    for (auto const& bit : of_bits) {
      INFO("texts of " << size << " bytes");
      CHECK(bit.worst() < six_deviations);
    }
  }
}

TEST_CASE("a bit of a number or of the seed turns over every bit of the token half the time") {
  test::random random{39};
  for (unsigned bit = 0; bit < 64; ++bit) {
    avalanche of_number;
    avalanche of_first;
    avalanche of_seed;
    while (of_number.samples < 500) {
      double const value = random.any_finite_double();
      auto const other =
          std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit);
      if (other - other != 0) continue;
      of_number.add(token_of(value) ^ token_of(other));
      of_first.add(token_of(value, "b") ^ token_of(other, "b"));
      std::uint64_t const seed = random();
      partition_key_view const key{value};
      of_seed.add(keyspan::token_of(fast64_scheme{.seed = seed}, key) ^
                  keyspan::token_of(fast64_scheme{.seed = seed ^ std::uint64_t{1} << bit}, key));
    }
    CHECK(of_number.worst() < six_deviations);
    CHECK(of_first.worst() < six_deviations);
    CHECK(of_seed.worst() < six_deviations);
  }
}

// Each of 1024 buckets should have as many tokens as the others; the sum of squares has a mean of
// 1023 and a deviation of 45.
double unevenness(std::vector<std::uint64_t> const& tokens, int shift) {
  std::vector<double> buckets(1024);
  for (auto const token : tokens) buckets[token >> shift & 1023] += 1;
  double const expected = static_cast<double>(tokens.size()) / 1024;
  double sum = 0;
  for (double const count : buckets) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST_CASE("keys that resemble each other spread over all parts, and none meet") {
  std::vector<std::vector<std::uint64_t>> families(6);
  for (int i = 0; i < 100'000; ++i) {
    char text[48]{};
    std::snprintf(text, sizeof text, "user-%d", i);
    families[0].push_back(token_of(text));
    families[1].push_back(token_of(i));
    families[2].push_back(token_of("tenant", i % 317, i / 317));
    std::snprintf(text, sizeof text, "2024-%02d-%02d/%05d", i % 12, i / 12 % 31, i / 372);
    families[3].push_back(token_of(text));
    std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012x", static_cast<unsigned>(i));
    families[4].push_back(token_of(text));
    std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(i) << 12);
    families[5].push_back(token_of(text, text));
  }
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < families.size(); ++i) {
    for (int const shift : {54, 32, 0}) {
      INFO("family " << i << ", shift " << shift);
      CHECK(unevenness(families[i], shift) > 1023 - 6 * 45);
      CHECK(unevenness(families[i], shift) < 1023 + 6 * 45);
    }
    all.insert(all.end(), families[i].begin(), families[i].end());
  }
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

constexpr bool the_space_is_shared_out_and_cut() {
  check(fast64.boundary(1, 4) == std::uint64_t{1} << 62);
  check(fast64.midpoint(0, keyspan::space_end) == std::uint64_t{1} << 63);
  check(fast64.midpoint(7, 8).error().code == keyspan::errc::invalid_range);
  check(fast64.successor(~std::uint64_t{0}).is_space_end() &&
        fast64.successor(0) == std::uint64_t{1});
  return true;
}
CHECK_BOTH(the_space_is_shared_out_and_cut);

TEST_CASE("a fast token allocates nothing") {
  std::string const key(100, 'k');
  CHECK(test::allocations_in([&] {
          static_cast<void>(keyspan::token_of(fast64, partition_key_view{key, 0.1, true}));
        }) == 0);
}

}  // namespace
