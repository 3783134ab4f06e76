// test/support/random.hpp — the same random numbers and distributions on every standard library.
//
// The standard distributions differ between libraries, so a seed would not reproduce a run.
// Everything here is defined by its code alone.
#pragma once

#include <keyspan/core/contract.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>

namespace test {

/// xoshiro256**, seeded through splitmix64: one number reproduces the whole stream.
class random {
 public:
  using result_type = std::uint64_t;

  constexpr explicit random(std::uint64_t seed) {
    for (auto& word : state_) word = splitmix(seed);
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  constexpr result_type operator()() {
    std::uint64_t const drawn = std::rotl(state_[1] * 5, 7) * 9;
    std::uint64_t const shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return drawn;
  }

  /// Each of 0 … bound-1 equally often; `bound` is at least 1.
  constexpr std::uint64_t below(std::uint64_t bound) {
    keyspan::expects(bound > 0, "there is a number below the bound");
    // Numbers above the last whole multiple of `bound` would favour the small remainders.
    std::uint64_t const favoured = (~std::uint64_t{0} % bound + 1) % bound;
    for (;;) {
      std::uint64_t const drawn = (*this)();
      if (drawn <= ~std::uint64_t{0} - favoured) return drawn % bound;
    }
  }

  /// Each of first … last equally often, both included.
  constexpr std::int64_t between(std::int64_t first, std::int64_t last) {
    keyspan::expects(first <= last, "there is a number between first and last");
    auto const width = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    std::uint64_t const drawn = width == max() ? (*this)() : below(width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + drawn);
  }

  /// In [0, 1), every multiple of 2^-53 equally often.
  constexpr double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  /// True in `percent` of 100 cases.
  constexpr bool chance(unsigned percent) { return below(100) < percent; }

  /// Waiting times of a Poisson process with this mean.
  constexpr double exponential(double mean) { return -mean * log_of(1.0 - unit()); }

  /// A finite double with every exponent equally likely, subnormals and negative zero among them.
  constexpr double any_finite_double() {
    for (;;) {
      std::uint64_t const bits = (*this)();
      if ((bits >> 52 & 0x7FF) != 0x7FF) return std::bit_cast<double>(bits);
    }
  }

  /// One of the elements.
  template <std::ranges::random_access_range Range>
  constexpr decltype(auto) pick(Range&& from) {
    auto const size = static_cast<std::uint64_t>(std::ranges::size(from));
    return std::ranges::begin(from)[static_cast<std::ptrdiff_t>(below(size))];
  }

  template <std::ranges::random_access_range Range>
  constexpr void shuffle(Range&& range) {
    for (std::uint64_t left = std::ranges::size(range); left > 1; --left) {
      auto const first = std::ranges::begin(range);
      std::ranges::iter_swap(first + static_cast<std::ptrdiff_t>(left - 1),
                             first + static_cast<std::ptrdiff_t>(below(left)));
    }
  }

  /// An independent stream, so that one part of a world drawing more does not move another.
  constexpr random fork() { return random{(*this)()}; }

 private:
  static constexpr std::uint64_t splitmix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

  // The natural logarithm of a positive normal number, from plain arithmetic: the one in <cmath>
  // differs between libraries in the last digit, which is enough to send a simulation another way.
  static constexpr double log_of(double x) {
    auto const bits = std::bit_cast<std::uint64_t>(x);
    auto const exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
    double const m = std::bit_cast<double>((bits & 0x000F'FFFF'FFFF'FFFF) | 0x3FF0'0000'0000'0000);
    double const z = (m - 1) / (m + 1);  // ln m = 2 atanh z, and z < 1/3
    double sum = 0;
    double power = z;
    for (int n = 1; n < 40; n += 2, power *= z * z) sum += power / n;
    return 2 * sum + static_cast<double>(exponent) * 0.69314718055994530942;
  }

  std::uint64_t state_[4]{};
};

}  // namespace test
