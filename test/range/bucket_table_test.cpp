// test/range/bucket_table_test.cpp — the table beside a plain search, with cuts where they hurt.
#include <keyspan/core/bytes.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/range/bucket_table.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace {

using keyspan::bucket_table;
using keyspan::token128;
using test::check;

template <class Token>
constexpr std::size_t searched(std::vector<Token> const& lowers, Token const& token) {
  return static_cast<std::size_t>(std::upper_bound(lowers.begin(), lowers.end(), token) -
                                  lowers.begin() - 1);
}

template <class Token>
constexpr void make_rising(std::vector<Token>& tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

constexpr bool a_table_of_every_set_of_small_tokens_finds_every_token() {
  for (unsigned set = 1; set < 1U << 6; ++set) {
    std::vector<std::uint8_t> lowers;
    for (std::uint8_t t = 0; t < 6; ++t)
      if ((set >> t & 1) != 0) lowers.push_back(t);
    bucket_table<std::uint8_t> const table{lowers};
    for (std::uint8_t t = lowers.front(); t < 9; ++t)
      check(table.position(lowers, t) == searched(lowers, t));
    check(table.position(lowers, 255) == lowers.size() - 1);
  }
  return true;
}
CHECK_BOTH(a_table_of_every_set_of_small_tokens_finds_every_token);

template <class Token, class Draw, class Beside>
void agrees_with_a_search(int sets, std::size_t most, Draw draw, Beside beside) {
  for (int set = 0; set < sets; ++set) {
    test::random random{static_cast<std::uint64_t>(set)};
    std::vector<Token> lowers;
    for (auto left = random.below(most) + 1; left > 0; --left) lowers.push_back(draw(random));
    make_rising(lowers);
    bucket_table<Token> const table{std::span<Token const>{lowers}};
    auto const agree = [&](Token const& token) {
      if (token < lowers.front()) return;
      REQUIRE(table.position(lowers, token) == searched(lowers, token));
    };
    for (auto const& lower : lowers)
      for (int by : {-1, 0, 1}) agree(beside(lower, by));
    for (int i = 0; i < 20; ++i) agree(draw(random));
  }
}

// Spread out, in one corner, at both ends, and close to each other.
std::uint64_t some_number(test::random& random) {
  switch (random.below(5)) {
    case 0:
      return random();
    case 1:
      return random() >> random.below(64);
    case 2:
      return ~(random() >> random.below(64));
    case 3:
      return (random.below(16) << 60) + (random.below(3) << 20);
    default:
      return 0x4444'4444'4444'4444 + random.below(100);
  }
}

TEST_CASE("a table of integers agrees with a search") {
  agrees_with_a_search<std::uint64_t>(3'000, 40, some_number, [](std::uint64_t t, int by) {
    return t + static_cast<std::uint64_t>(by);
  });
  agrees_with_a_search<std::int64_t>(
      1'000, 40, [](test::random& r) { return static_cast<std::int64_t>(some_number(r)); },
      [](std::int64_t t, int by) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(t) +
                                         static_cast<std::uint64_t>(by));
      });
  agrees_with_a_search<std::uint16_t>(
      50, 3000, [](test::random& r) { return static_cast<std::uint16_t>(r()); },
      [](std::uint16_t t, int by) { return static_cast<std::uint16_t>(t + by); });
}

TEST_CASE("a table of tokens that agree in their first 64 bits agrees with a search") {
  agrees_with_a_search<token128>(
      2'000, 60,
      [](test::random& r) {
        return token128{r.chance(50) ? r.below(3) : some_number(r) >> 2, some_number(r)};
      },
      [](token128 const& t, int by) {
        return by < 0 ? keyspan::detail::difference(t, {0, 1})
                      : keyspan::detail::sum(t, {0, static_cast<std::uint64_t>(by)});
      });
}

TEST_CASE("a table of texts agrees with a search") {
  agrees_with_a_search<std::string>(
      3'000, 30,
      [](test::random& r) {
        std::string text(r.below(12), 'a');
        for (auto& c : text)
          if (r.chance(30)) c = static_cast<char>(r());
        return text;
      },
      [](std::string text, int by) {
        if (by > 0) text.push_back('\0');
        if (by < 0 && !text.empty()) text.pop_back();
        return text;
      });
}

TEST_CASE("a hundred thousand ranges cut in one corner are found as well") {
  std::vector<token128> lowers{{0, 0}};
  for (std::uint64_t i = 0; i < 100'000; ++i) lowers.push_back({1, i << 20});
  bucket_table<token128> const table{std::span<token128 const>{lowers}};
  test::random random{3};
  for (int i = 0; i < 100'000; ++i) {
    token128 const token{random.below(3), random() >> random.below(40)};
    REQUIRE(table.position(lowers, token) == searched(lowers, token));
  }
}

// Counts how often two of them are compared.
struct weighed {
  std::uint64_t number = 0;
  static inline int comparisons = 0;

  std::uint64_t token_prefix() const { return number; }
  friend auto operator<=>(weighed const& a, weighed const& b) {
    ++comparisons;
    return a.number <=> b.number;
  }
  [[maybe_unused]] friend bool operator==(weighed const&, weighed const&) = default;
};

// As the times of this year are, behind a first one that is the least there is.
TEST_CASE("cuts that all lie far behind the first one are told apart without a search") {
  std::vector<weighed> lowers{{0}};
  for (std::uint64_t i = 0; i < 1'000; ++i)
    lowers.push_back({(std::uint64_t{1} << 60) + (i << 20)});
  bucket_table<weighed> const table{std::span<weighed const>{lowers}};
  test::random random{9};
  weighed::comparisons = 0;
  for (int i = 0; i < 1'000; ++i) {
    std::uint64_t const number = random.below(std::uint64_t{1'000} << 20);
    weighed const token{(std::uint64_t{1} << 60) + number};
    REQUIRE(table.position(lowers, token) == 1 + (number >> 20));
  }
  CHECK(weighed::comparisons < 100);  // ten for each token, if a table began at the first cut
  CHECK(table.position(lowers, {1'000}) == 0);
}

TEST_CASE("a table takes sixteen bytes for a token at most and rebuilds itself in its place") {
  std::vector<std::uint64_t> lowers;
  for (std::uint64_t i = 0; i < 1000; ++i) lowers.push_back(i << 54);
  bucket_table<std::uint64_t> table{std::span<std::uint64_t const>{lowers}};
  CHECK(table.memory() <= 16'000);
  lowers.resize(700);
  CHECK(test::allocations_in([&] { table.rebuild(lowers); }) == 0);
  CHECK(table.memory() <= 11'200);
  CHECK(table.position(lowers, ~std::uint64_t{0}) == 699);
  CHECK(table.position(lowers, std::uint64_t{5} << 54) == 5);
  CHECK(bucket_table<std::uint64_t>{}.memory() == 0);
}

// Its prefix rises where it falls: a fault for laws to find, and nothing else.
struct backwards {
  std::uint64_t number = 0;
  std::uint64_t token_prefix() const { return number; }
  [[maybe_unused]] friend auto operator<=>(backwards const& a, backwards const& b) {
    return b.number <=> a.number;
  }
  [[maybe_unused]] friend bool operator==(backwards const&, backwards const&) = default;
};

TEST_CASE("prefixes that fall where tokens rise do no more than lead astray") {
  std::vector<backwards> lowers;
  for (std::uint64_t i = 0; i < 40; ++i) lowers.push_back({(0x8000 + (40 - i) * 64) << 47});
  bucket_table<backwards> const table{std::span<backwards const>{lowers}};
  for (auto const& token : lowers) CHECK(table.position(lowers, token) < lowers.size());
  CHECK(table.position(lowers, {0}) < lowers.size());
}

TEST_CASE("the example of a bucket table reads as it should") {
  // [region: example]
  // The tokens at which a log was cut, in an array of one's own.
  std::array<std::uint64_t, 4> const cuts{0, 1'000, 50'000, 2'000'000};
  keyspan::bucket_table<std::uint64_t> const table{cuts};
  CHECK(table.position(cuts, 999) == 0);
  CHECK(table.position(cuts, 1'000) == 1);
  CHECK(table.position(cuts, ~std::uint64_t{0}) == 3);
  // [end: example]
}

}  // namespace
