// test/golden/ring.hpp — where tokens are on rings, and on rings of bounded loads.
//
// Made by make_ring.py beside it, which knows nothing of this library but its pages: whole numbers
// of any size, and fractions. The tokens and the lists are those of placement.hpp.
#pragma once

#include <array>
#include <cstdint>

namespace test {

// clang-format off

/// A ring, three names, 160 virtual nodes.
inline constexpr std::array<std::uint32_t, 32> ring_three_names{2, 1, 0, 2, 2, 1, 2, 1, 2, 1, 2, 2, 0, 1, 1, 1, 2, 1, 2, 2, 1, 1, 2, 1, 2, 2, 2, 1, 0, 2, 1, 2};
/// A ring, one node, 160 virtual nodes.
inline constexpr std::array<std::uint32_t, 32> ring_one_node{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
/// A ring, ten of one weight, 160 virtual nodes.
inline constexpr std::array<std::uint32_t, 32> ring_ten_of_one_weight{9, 9, 7, 3, 7, 0, 3, 5, 8, 3, 8, 0, 9, 3, 0, 8, 7, 9, 7, 1, 3, 9, 1, 0, 6, 9, 8, 2, 9, 7, 5, 3};
/// A ring, numbers, 7 virtual nodes.
inline constexpr std::array<std::uint32_t, 32> ring_numbers{7, 0, 7, 10, 7, 6, 7, 6, 10, 3, 6, 6, 7, 4, 2, 0, 10, 2, 10, 1, 0, 2, 10, 2, 4, 6, 9, 10, 6, 11, 8, 9};
/// A ring, all weights differ, 33 virtual nodes.
inline constexpr std::array<std::uint32_t, 32> ring_all_weights_differ{21, 30, 7, 34, 33, 19, 10, 20, 30, 34, 8, 13, 14, 33, 32, 37, 28, 22, 32, 34, 38, 28, 14, 25, 30, 11, 8, 2, 15, 19, 36, 13};
/// A ring, two weights, 1 virtual nodes.
inline constexpr std::array<std::uint32_t, 32> ring_two_weights{3, 3, 3, 7, 14, 7, 14, 11, 12, 2, 15, 7, 12, 11, 6, 10, 13, 7, 13, 6, 0, 3, 12, 6, 11, 7, 8, 2, 15, 11, 11, 14};
/// Three names, 2 virtual nodes: the points in order, and their nodes.
inline constexpr std::array<std::uint64_t, 12> ring_points_of_three_names{
    0x027FD24A6631BB33,
    0x09F2EC14FF91B9A9,
    0x0DF5B9A6F65F8CF3,
    0x109B6C21CF79D056,
    0x26AF1A523310167F,
    0x41670FE6A6FEA070,
    0x7FF2FE7BABFD1AC0,
    0x91E58193CA5AC0EC,
    0x938AA8195B005385,
    0xBDFBA21671D8670E,
    0xBF46258663CA04DF,
    0xD615CE3DFE2F446B,
};
inline constexpr std::array<std::uint32_t, 12> ring_nodes_of_three_names{1, 2, 1, 0, 2, 1, 2, 1, 0, 2, 2, 2};
/// Bounded by 1.25, three names, 160 virtual nodes: of 200 tokens, token i % 32 or each fifth time token 0;
/// after every second one the oldest goes.
inline constexpr std::array<std::uint32_t, 200> bounded_ring_three_names{2, 1, 0, 2, 2, 2, 0, 1, 2, 1, 2, 2, 0, 1, 1, 2, 2, 1, 2, 2, 2, 1, 2, 1, 2, 2, 2, 1, 0, 2, 1, 2, 2, 1, 0, 2, 2, 1, 2, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1, 2, 2, 1, 1, 2, 2, 2, 2, 2, 1, 2, 2, 1, 2, 2, 2, 0, 2, 2, 1, 2, 1, 2, 1, 2, 2, 0, 1, 1, 1, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 2, 1, 0, 2, 1, 2, 2, 1, 0, 2, 2, 1, 2, 1, 2, 2, 2, 2, 0, 1, 2, 1, 2, 1, 2, 2, 1, 1, 2, 1, 2, 2, 2, 1, 0, 2, 1, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 1, 2, 2, 2, 2, 0, 2, 1, 2, 2, 1, 0, 2, 2, 2, 2, 1, 2, 1, 2, 2, 0, 1, 1, 2, 2, 1, 2, 2, 2, 1, 2, 1, 2, 2, 2, 1, 0, 2, 2, 2, 2, 1, 0, 2, 2, 1, 2, 1};
inline constexpr std::array<std::uint64_t, 3> bounded_ring_loads_three_names{7, 32, 61};
inline constexpr std::array<std::uint64_t, 3> bounded_ring_capacities_three_names{22, 43, 64};
/// Bounded by 1.0625, ten of one weight, 160 virtual nodes: of 200 tokens, token i % 32 or each fifth time token 0;
/// after every second one the oldest goes.
inline constexpr std::array<std::uint32_t, 200> bounded_ring_ten_of_one_weight{9, 3, 7, 8, 4, 9, 3, 5, 8, 1, 4, 0, 9, 7, 6, 3, 2, 9, 7, 1, 4, 0, 1, 3, 6, 4, 8, 2, 9, 7, 8, 5, 3, 6, 0, 9, 7, 0, 3, 5, 9, 1, 8, 7, 0, 4, 6, 2, 3, 4, 2, 1, 6, 5, 1, 9, 6, 1, 8, 2, 9, 7, 5, 3, 4, 4, 7, 3, 5, 0, 2, 6, 8, 3, 8, 9, 9, 7, 0, 8, 4, 0, 7, 1, 3, 9, 1, 0, 6, 5, 2, 8, 4, 7, 5, 9, 4, 3, 7, 3, 4, 0, 8, 5, 1, 2, 6, 0, 5, 2, 2, 8, 7, 9, 6, 9, 3, 0, 1, 1, 4, 1, 8, 2, 9, 2, 5, 7, 3, 9, 4, 3, 7, 0, 4, 4, 8, 3, 6, 7, 2, 5, 0, 2, 6, 5, 6, 1, 3, 9, 4, 0, 6, 9, 8, 9, 8, 7, 5, 3, 2, 1, 7, 8, 4, 8, 7, 5, 8, 3, 9, 0, 9, 3, 0, 4, 7, 0, 6, 1, 2, 0, 1, 1, 6, 2, 8, 2, 9, 7, 4, 3, 9, 4, 7, 4, 5, 0, 3, 5};
inline constexpr std::array<std::uint64_t, 10> bounded_ring_loads_ten_of_one_weight{11, 9, 11, 10, 11, 9, 8, 10, 10, 11};
inline constexpr std::array<std::uint64_t, 10> bounded_ring_capacities_ten_of_one_weight{11, 11, 11, 11, 11, 11, 11, 11, 11, 11};
/// Bounded by 1.5, all weights differ, 33 virtual nodes: of 200 tokens, token i % 32 or each fifth time token 0;
/// after every second one the oldest goes.
inline constexpr std::array<std::uint32_t, 200> bounded_ring_all_weights_differ{21, 30, 7, 34, 33, 21, 10, 20, 30, 34, 9, 13, 14, 33, 32, 21, 28, 22, 39, 37, 19, 24, 27, 25, 30, 9, 8, 2, 15, 38, 39, 13, 21, 16, 7, 30, 33, 31, 10, 20, 22, 34, 36, 26, 14, 19, 32, 37, 28, 22, 21, 34, 38, 28, 27, 9, 30, 11, 8, 2, 19, 38, 36, 34, 39, 39, 20, 31, 33, 31, 21, 5, 30, 30, 36, 39, 14, 33, 32, 37, 20, 32, 26, 37, 38, 22, 28, 25, 27, 11, 39, 24, 15, 19, 36, 9, 22, 15, 7, 34, 21, 31, 10, 20, 27, 21, 8, 13, 14, 33, 19, 37, 28, 22, 32, 9, 38, 28, 28, 25, 39, 11, 8, 2, 26, 19, 36, 13, 30, 30, 39, 34, 33, 31, 10, 39, 31, 34, 36, 26, 20, 33, 32, 37, 36, 21, 32, 34, 38, 24, 21, 25, 30, 27, 24, 22, 15, 38, 36, 13, 39, 30, 7, 34, 33, 19, 39, 20, 30, 34, 20, 26, 14, 33, 32, 22, 28, 32, 32, 37, 39, 28, 14, 25, 30, 39, 24, 24, 15, 19, 31, 3, 9, 16, 17, 9, 33, 31, 10, 5};
inline constexpr std::array<std::uint64_t, 40> bounded_ring_loads_all_weights_differ{0, 0, 1, 1, 0, 1, 0, 1, 2, 3, 3, 1, 0, 3, 3, 2, 1, 1, 0, 4, 4, 4, 3, 0, 4, 3, 3, 2, 5, 0, 6, 5, 6, 6, 5, 0, 4, 3, 3, 7};
inline constexpr std::array<std::uint64_t, 40> bounded_ring_capacities_all_weights_differ{1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7};

// clang-format on

}  // namespace test
