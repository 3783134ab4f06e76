// test/support/support_test.cpp — the tools that other tests trust are tested themselves.
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/enumerators.hpp>
#include <support/random.hpp>

#include <keyspan/core/contract.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using test::check;

// ---- random numbers

// Computed outside of this program from the published definitions of splitmix64 and xoshiro256**.
constexpr bool a_seed_gives_the_published_stream() {
  struct golden {
    std::uint64_t seed;
    std::array<std::uint64_t, 4> first;
    std::uint64_t thousandth;
  };
  constexpr std::array streams{
      golden{0,
             {0x99EC5F36CB75F2B4, 0xBF6E1F784956452A, 0x1A5F849D4933E6E0, 0x6AA594F1262D2D2C},
             0x7AAC8C483A2EDD2F},
      golden{1,
             {0xB3F2AF6D0FC710C5, 0x853B559647364CEA, 0x92F89756082A4514, 0x642E1C7BC266A3A7},
             0xB8517C33C344D153},
      golden{42,
             {0x15780B2E0C2EC716, 0x6104D9866D113A7E, 0xAE17533239E499A1, 0xECB8AD4703B360A1},
             0x8DE5848C61AB8968},
      golden{~std::uint64_t{0},
             {0x8F5520D52A7EAD08, 0xC476A018CAA1802D, 0x81DE31C0D260469E, 0xBF658D7E065F3C2F},
             0xC3C93EA5CDE434CC},
  };
  for (auto const& stream : streams) {
    test::random random{stream.seed};
    for (auto const expected : stream.first) check(random() == expected);
    for (int i = 4; i < 999; ++i) static_cast<void>(random());
    check(random() == stream.thousandth);
  }
  return true;
}
CHECK_BOTH(a_seed_gives_the_published_stream);

constexpr bool what_is_made_of_the_stream_is_fixed_too() {
  test::random parent{42};
  test::random child = parent.fork();
  check(child() == 0x8EE445D14631C453 && parent() == 0x6104D9866D113A7E);

  test::random dice{42};
  for (auto const eye : {0, 0, 5, 5, 4, 0, 4, 3, 4, 5, 1, 1})
    check(dice.below(6) == static_cast<std::uint64_t>(eye));

  // Three quarters of the whole range: one drawn number in four is thrown away and drawn again.
  test::random wide{42};
  for (auto const expected : {1546998764402558742U, 6990951692964543102U, 12544586762248559009U})
    check(wide.below(std::uint64_t{3} << 62) == expected);

  std::array<int, 8> cards{0, 1, 2, 3, 4, 5, 6, 7};
  test::random{7}.shuffle(cards);
  check(cards == std::array{1, 3, 7, 5, 4, 0, 6, 2});

  test::random real{5};
  check(real.unit() == 0.2884112281702357 && real.unit() == 0.6020823331320106);
  return true;
}
CHECK_BOTH(what_is_made_of_the_stream_is_fixed_too);

// Pearson's statistic; about `cells` where all are equally likely, with a spread of sqrt(2 cells).
double deviation_of(std::vector<int> const& counts) {
  double total = 0;
  for (int const n : counts) total += n;
  double const expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (int const n : counts) sum += (n - expected) * (n - expected) / expected;
  return sum;
}

TEST_CASE("every number below a bound is drawn equally often") {
  test::random random{3};
  for (std::uint64_t const bound : {1U, 2U, 3U, 5U, 7U, 10U, 100U, 255U}) {
    std::vector<int> counts(bound);
    for (std::uint64_t i = 0; i < bound * 1000; ++i) ++counts[random.below(bound)];
    double const free = static_cast<double>(bound) - 1;
    INFO("below " << bound);
    CHECK(std::abs(deviation_of(counts) - free) <= 5 * std::sqrt(2 * free));
  }
  // The last third of this range would come half as often without the numbers thrown away.
  std::vector<int> thirds(3);
  for (int i = 0; i < 30'000; ++i) ++thirds[random.below(std::uint64_t{3} << 62) >> 62];
  CHECK(deviation_of(thirds) < 20);
}

TEST_CASE("both ends of an interval are drawn, up to the whole range of 64 bits") {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  test::random random{4};
  std::vector<int> counts(5);
  for (int i = 0; i < 5'000; ++i) ++counts[static_cast<std::size_t>(random.between(-2, 2) + 2)];
  CHECK(deviation_of(counts) < 4 + 5 * std::sqrt(8));
  CHECK(random.between(7, 7) == 7);
  CHECK(random.between(least, least) == least);
  CHECK(random.between(most, most) == most);
  test::random same = random;
  CHECK(random.between(least, most) ==
        static_cast<std::int64_t>(same() + (std::uint64_t{1} << 63)));
  for (int i = 0; i < 100; ++i) {
    CHECK(random.between(most - 1, most) >= most - 1);
    CHECK(random.between(least, least + 1) <= least + 1);
  }
  CHECK(test::promise_broken_by([&] { return random.below(0); }) ==
        "there is a number below the bound");
  CHECK(test::promise_broken_by([&] { return random.between(1, 0); }) ==
        "there is a number between first and last");
}

TEST_CASE("waiting times have their mean and fall off exponentially") {
  test::random random{5};
  constexpr int drawn = 100'000;
  double sum = 0;
  int longer_than_mean = 0;
  int longer_than_three = 0;
  for (int i = 0; i < drawn; ++i) {
    double const wait = random.exponential(8);
    REQUIRE(wait >= 0);
    REQUIRE(wait <= 8 * 37);  // -ln of the smallest step of unit()
    sum += wait;
    longer_than_mean += wait > 8 ? 1 : 0;
    longer_than_three += wait > 24 ? 1 : 0;
  }
  CHECK(std::abs(sum / drawn - 8) < 0.1);
  CHECK(std::abs(longer_than_mean - drawn * 0.36788) < 800);
  CHECK(std::abs(longer_than_three - drawn * 0.04979) < 400);
  // Our own logarithm against the library's.
  for (int i = 0; i < 1'000; ++i) {
    test::random same = random;
    double const expected = -std::log(1.0 - same.unit());
    CHECK(std::abs(random.exponential(1) - expected) <= 1e-14 * (1 + expected));
  }
}

TEST_CASE("a share of a hundred is met, none and all exactly") {
  test::random random{6};
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    CHECK_FALSE(random.chance(0));
    CHECK(random.chance(100));
    hits += random.chance(30) ? 1 : 0;
  }
  CHECK(std::abs(hits - 3'000) < 250);
}

TEST_CASE("any finite double is finite, and of every size") {
  test::random random{7};
  std::set<int> exponents;
  int negative = 0;
  for (int i = 0; i < 20'000; ++i) {
    double const x = random.any_finite_double();
    REQUIRE(std::isfinite(x));
    exponents.insert(static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7FF));
    negative += std::signbit(x) ? 1 : 0;
  }
  CHECK(exponents.size() > 2'000);
  CHECK(*exponents.begin() == 0);  // subnormal
  CHECK(std::abs(negative - 10'000) < 500);
}

TEST_CASE("every order of a shuffle and every element of a pick come equally often") {
  test::random random{8};
  std::vector<int> orders(24);
  for (int i = 0; i < 24'000; ++i) {
    std::array<int, 4> cards{0, 1, 2, 3};
    random.shuffle(cards);
    std::size_t rank = 0;
    for (std::size_t at = 0; at < 4; ++at) {
      auto const smaller = std::count_if(cards.begin() + static_cast<std::ptrdiff_t>(at),
                                         cards.end(), [&](int other) { return other < cards[at]; });
      rank = rank * (4 - at) + static_cast<std::size_t>(smaller);
    }
    ++orders[rank];
  }
  CHECK(deviation_of(orders) < 23 + 5 * std::sqrt(46));
  std::vector<int> picked(3);
  for (int i = 0; i < 3'000; ++i) ++random.pick(picked);
  CHECK(deviation_of(picked) < 20);
}

TEST_CASE("a fork is another stream, and leaves the parent where one draw would") {
  test::random parent{9};
  test::random same{9};
  auto a = parent.fork();
  auto b = parent.fork();
  static_cast<void>(same());
  static_cast<void>(same());
  CHECK(parent() == same());
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 1'000; ++i) drawn.insert({a(), b(), parent()});
  CHECK(drawn.size() == 3'000);
}

// ---- allocations

// A compiler may leave out an allocation that nobody looks at.
template <class T>
T* seen(T* memory) {
  T* volatile looked_at = memory;
  return looked_at;
}

TEST_CASE("every form of new is counted") {
  struct alignas(64) wide {
    char bytes[64];
  };
  CHECK(test::allocations_in([] { delete seen(new int{1}); }) == 1);
  CHECK(test::allocations_in([] { delete[] seen(new int[3]{}); }) == 1);
  CHECK(test::allocations_in([] { delete seen(new wide{}); }) == 1);
  CHECK(test::allocations_in([] { delete[] seen(new wide[2]{}); }) == 1);
  CHECK(test::allocations_in([] { delete seen(new (std::nothrow) int{1}); }) == 1);
  CHECK(test::allocations_in([] {
          std::string const text(100, 'a');
          auto const shared = std::make_shared<int>(1);
          static_cast<void>(text.size() + static_cast<std::size_t>(*shared));
        }) == 2);
  CHECK(test::allocations_in([] {}) == 0);
}

TEST_CASE("memory has the alignment that was asked for, and impossible sizes are refused") {
  struct alignas(256) wide {
    char bytes[256];
  };
  auto const one = std::make_unique<wide>();
  CHECK(std::bit_cast<std::uintptr_t>(one.get()) % 256 == 0);
  std::size_t const volatile impossible = ~std::size_t{0} - 4;
  CHECK_THROWS_AS(::operator delete(::operator new(impossible)), std::bad_alloc);
  ::operator delete(::operator new(std::size_t{0}));
}

TEST_CASE("each thread counts its own allocations") {
  std::size_t there = 0;
  std::atomic<bool> begun{false};
  std::thread other{[&] {
    begun.wait(false);
    there = test::allocations_in([] {
      for (int i = 0; i < 100; ++i) delete seen(new int{i});
    });
  }};
  std::size_t const here = test::allocations_in([&] {
    begun = true;
    begun.notify_one();
    other.join();
  });
  CHECK(there == 100);
  CHECK(here == 0);
}

// ---- checks and promises

template <bool Holds>
concept compiles_when_checked =
    requires { typename std::bool_constant<(test::check(Holds), true)>; };

TEST_CASE("a failed check does not compile in a constant expression") {
  STATIC_CHECK(compiles_when_checked<true>);
  STATIC_CHECK(!compiles_when_checked<false>);
}

TEST_CASE("a failed check fails the test that runs it", "[!shouldfail]") { test::check(false); }

constexpr bool a_body_runs_in_both_worlds() {
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += i;
  check(sum == 6);
  return true;
}
CHECK_BOTH(a_body_runs_in_both_worlds);

TEST_CASE("the promise that an action breaks is told, and the handler before is put back") {
  auto const before = keyspan::set_contract_handler(nullptr);
  keyspan::set_contract_handler(before);
  CHECK(test::promise_broken_by([] { return keyspan::expects(false, "this holds"), 0; }) ==
        "this holds");
  CHECK(test::promise_broken_by([] { keyspan::expects(true, "this holds"); }).empty());
  CHECK(test::promise_broken_by([] {
          return test::promise_broken_by([] { keyspan::expects(false, "inner"); }) == "inner";
        }).empty());
  CHECK_THROWS_AS(test::promise_broken_by([]() -> int { throw 5; }), int);
  auto const after = keyspan::set_contract_handler(nullptr);
  keyspan::set_contract_handler(after);
  CHECK(before == after);
}

// ---- enumerators

enum class planet : std::uint8_t { mercury, venus, earth };
constexpr std::string_view name_of(planet one) {
  return one == planet::mercury ? "mercury" : one == planet::venus ? "venus" : "earth";
}
enum class moon : std::uint8_t { io, europa };
constexpr std::string_view name_of(moon one) { return one == moon::io ? "io" : "Europa"; }

TEST_CASE("enumerators are called as the compiler calls them") {
  STATIC_CHECK(test::name_by_compiler<planet::venus>() == "venus");
  STATIC_CHECK(test::name_by_compiler<planet{3}>().empty());
  CHECK(test::are_named<planet>(3));
  CHECK(!test::are_named<planet>(2));
  CHECK(!test::are_named<planet>(4));
  CHECK(!test::are_named<moon>(2));
}

}  // namespace
