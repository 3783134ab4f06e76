// test/law/draws.hpp — tokens of many kinds, for the laws of placements.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/law/placement.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace test {

inline constexpr auto one_after_another = [](std::uint64_t i) { return i; };
inline constexpr auto of_128_bits = [](std::uint64_t i) {
  return keyspan::token128{.high = keyspan::law::spread_tokens{}(i), .low = i};
};
inline constexpr auto in_steps_of_a_page = [](std::uint64_t i) {
  return static_cast<std::int64_t>(i << 12) - 1'000'000;
};
inline constexpr auto bytes_that_begin_alike = [](std::uint64_t i) {
  std::array<unsigned char, 16> bytes{0x22, 0xE3, 0x42, 0xF3};
  keyspan::store_be(bytes.data() + 6, i);
  return *keyspan::token_bytes<16>::from_bytes(std::span{bytes});
};

}  // namespace test
