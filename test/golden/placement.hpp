// test/golden/placement.hpp — which node each of some tokens belongs to.
//
// Made by make_placement.py beside it, which knows nothing of this library but its pages: whole
// numbers of any size, and logarithms of sixty digits.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace test {

// clang-format off

struct placed_bytes {
  std::string_view hex;
  std::uint64_t key;
};
/// Tokens that are bytes, and their placement keys.
inline constexpr placed_bytes placed_bytes_keys[]{
    {"", 0x0000000000000000},
    {"00", 0x0000000000000000},
    {"01", 0xE01F8B1E4CAD3696},
    {"0001", 0xF3883E14BA3EC785},
    {"0100", 0xE01F8B1E4CAD3696},
    {"22E342F38A486A08", 0x1468D0349ED63A50},
    {"22E342F38A486A088463DFF7838A5963", 0x72CF1CB0A96F1877},
    {"22E342F38A486A088463DFF7838A59630000", 0x72CF1CB0A96F1877},
    {"000000000000000001", 0x3F8115ACDBEF5464},
    {"FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", 0xD5376482B4EF3939},
    {"0123456789AB", 0xF24324CB93A73D80},
};

struct placed_name {
  std::string_view name;
  std::uint64_t number;
};
/// Names of nodes, and their numbers.
inline constexpr placed_name placed_names[]{
    {"", 0x0000000000000000},
    {"a", 0x85555565F6597889},
    {"b", 0x7A98A957B1D3D1EE},
    {"node-1", 0xD1601808EF7260A1},
    {"cache.example.com", 0xC8B6042A889C7062},
    {"0123456789abcdef", 0x4BE06D94CF4AD1A7},
    {"0123456789abcdef0", 0xEB24AE8785A5C075},
};

struct jumped_key {
  std::uint64_t key;
  std::uint32_t nodes;
  std::uint32_t node;
};
/// From the tests of github.com/dgryski/go-jump, which took them from the authors' C++ program, and
/// from 42 on from those of github.com/lithammer/go-jump-consistent-hash.
inline constexpr jumped_key published_jumps[]{
    {0xDEADBEEF, 1, 0}, {0xDEADBEEF, 2, 1}, {0xDEADBEEF, 3, 2}, {0xDEADBEEF, 4, 3},
    {0xDEADBEEF, 5, 3}, {0xDEADBEEF, 6, 5}, {0xDEADBEEF, 16, 5}, {0xDEADBEEF, 17, 16},
    {0xDEADBEEF, 19, 16}, {0x0DDC0FFEEBADF00D, 1, 0}, {0x0DDC0FFEEBADF00D, 2, 1},
    {0x0DDC0FFEEBADF00D, 3, 2}, {0x0DDC0FFEEBADF00D, 15, 2}, {0x0DDC0FFEEBADF00D, 16, 15},
    {0x0DDC0FFEEBADF00D, 19, 15}, {1, 6, 0}, {1, 7, 6}, {1, 17, 6}, {1, 18, 17}, {0, 20, 0},
    {42, 57, 43}, {0xDEAD10CC, 1, 0}, {0xDEAD10CC, 666, 361}, {256, 1024, 520},
};
/// By Python's doubles.
inline constexpr jumped_key reckoned_jumps[]{
    {0x9CA066F1A4AB2EEA, 10u, 6},
    {0xD30B054265133DD7, 100u, 31},
    {0xD7F1515598B6B983, 1000u, 993},
    {0x6AE4C48206C1097E, 12345u, 2251},
    {0x2295674CA6A1E887, 1048576u, 892849},
    {0x23828C1DDF82F350, 2147483647u, 336784384},
    {0x3E278DCA88014E2A, 10u, 1},
    {0x3DEFDD576EE7B7DA, 100u, 20},
    {0xF882315217641BC6, 1000u, 98},
    {0x9ABEE55E7809D5C2, 12345u, 3161},
    {0x19BD02B83CBC82B7, 1048576u, 449106},
    {0xF47686FD2A7956DE, 2147483647u, 1453737009},
    {0x4DD1BDD9424CEAEB, 10u, 1},
    {0x33DADF69D1479245, 100u, 18},
    {0x36B58F9E69A74AAF, 1000u, 479},
    {0xE26C4D18580B84AD, 12345u, 3580},
    {0x32214CFAA835F522, 1048576u, 937388},
    {0x2ECFD2E72F1D6FFE, 2147483647u, 1823860901},
    {0xF834C6C48E12B1FE, 10u, 6},
    {0x078F7AE406F4865F, 100u, 53},
    {0x1B6E65B65E56BCBC, 1000u, 440},
    {0x42A87508EB5887FE, 12345u, 5690},
    {0x60116B8A19F1278A, 1048576u, 906015},
    {0x899435D667B3A28B, 2147483647u, 1534628770},
    {0x0000000000000000, 10u, 0},
    {0x0000000000000001, 100u, 55},
    {0x0000000000000002, 1000u, 338},
    {0x0000000000000003, 12345u, 1517},
    {0x0000000000000004, 1048576u, 2326},
    {0x0000000000000005, 2147483647u, 1968702175},
    {0x0000000000000006, 10u, 9},
    {0x0000000000000007, 100u, 97},
};

/// Tokens, and below the nodes of them all among each list of nodes.
inline constexpr std::array<std::uint64_t, 32> placed_tokens{
    0x9CA066F1A4AB2EEA,
    0xD30B054265133DD7,
    0xD7F1515598B6B983,
    0x6AE4C48206C1097E,
    0x2295674CA6A1E887,
    0x23828C1DDF82F350,
    0x3E278DCA88014E2A,
    0x3DEFDD576EE7B7DA,
    0xF882315217641BC6,
    0x9ABEE55E7809D5C2,
    0x19BD02B83CBC82B7,
    0xF47686FD2A7956DE,
    0x4DD1BDD9424CEAEB,
    0x33DADF69D1479245,
    0x36B58F9E69A74AAF,
    0xE26C4D18580B84AD,
    0x32214CFAA835F522,
    0x2ECFD2E72F1D6FFE,
    0xF834C6C48E12B1FE,
    0x078F7AE406F4865F,
    0x1B6E65B65E56BCBC,
    0x42A87508EB5887FE,
    0x60116B8A19F1278A,
    0x899435D667B3A28B,
    0x0000000000000000,
    0x0000000000000001,
    0x0000000000000002,
    0x0000000000000003,
    0x0000000000000004,
    0x0000000000000005,
    0x0000000000000006,
    0x0000000000000007,
};

/// Rendezvous, three names.
inline constexpr std::array<std::uint32_t, 32> rendezvous_three_names{1, 2, 2, 0, 2, 2, 2, 1, 1, 2, 0, 2, 2, 0, 1, 1, 2, 1, 0, 2, 2, 2, 0, 0, 1, 1, 1, 2, 1, 2, 2, 2};
/// Rendezvous, one node.
inline constexpr std::array<std::uint32_t, 32> rendezvous_one_node{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
/// Rendezvous, ten of one weight.
inline constexpr std::array<std::uint32_t, 32> rendezvous_ten_of_one_weight{8, 7, 8, 0, 6, 7, 5, 4, 5, 3, 5, 3, 2, 2, 2, 7, 5, 8, 7, 9, 3, 1, 6, 6, 8, 1, 4, 1, 5, 0, 3, 5};
/// Rendezvous, numbers.
inline constexpr std::array<std::uint32_t, 32> rendezvous_numbers{3, 6, 6, 8, 9, 11, 10, 4, 11, 3, 0, 10, 5, 1, 6, 10, 3, 8, 3, 7, 9, 11, 1, 0, 8, 7, 9, 10, 9, 8, 10, 6};
/// Rendezvous, all weights differ.
inline constexpr std::array<std::uint32_t, 32> rendezvous_all_weights_differ{13, 31, 35, 36, 35, 34, 13, 4, 37, 20, 23, 33, 10, 11, 19, 35, 25, 37, 21, 9, 12, 24, 36, 38, 26, 15, 29, 36, 35, 25, 15, 38};
/// Rendezvous, weights far apart.
inline constexpr std::array<std::uint32_t, 32> rendezvous_weights_far_apart{0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 3, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0};
/// Rendezvous, heavy and light.
inline constexpr std::array<std::uint32_t, 32> rendezvous_heavy_and_light{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
/// Rendezvous, two weights.
inline constexpr std::array<std::uint32_t, 32> rendezvous_two_weights{13, 13, 8, 14, 12, 14, 13, 4, 5, 3, 5, 15, 10, 11, 2, 7, 5, 8, 7, 9, 12, 1, 6, 6, 8, 15, 4, 1, 15, 0, 15, 5};
/// Maglev, three names: the table.
inline constexpr std::array<std::uint16_t, 31> maglev_three_names{2, 1, 1, 2, 1, 1, 0, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 0, 1, 0, 1, 1, 2, 2, 0, 0, 2, 1, 1, 2, 2};
/// Maglev, ten of one weight: the table.
inline constexpr std::array<std::uint16_t, 101> maglev_ten_of_one_weight{0, 9, 5, 1, 4, 7, 1, 7, 0, 6, 3, 9, 2, 2, 1, 4, 6, 6, 2, 4, 6, 3, 3, 3, 9, 5, 4, 9, 8, 4, 8, 0, 7, 2, 5, 5, 2, 9, 0, 2, 6, 7, 0, 1, 5, 5, 0, 0, 3, 7, 9, 1, 8, 2, 0, 5, 6, 7, 1, 1, 4, 3, 2, 9, 5, 8, 7, 1, 8, 9, 0, 4, 3, 3, 8, 4, 8, 6, 0, 6, 7, 8, 2, 7, 3, 5, 3, 6, 2, 9, 4, 1, 9, 0, 6, 5, 8, 4, 8, 1, 7};
/// Maglev, two weights: the table.
inline constexpr std::array<std::uint16_t, 97> maglev_two_weights{6, 14, 2, 9, 9, 9, 1, 12, 11, 2, 4, 4, 12, 0, 7, 14, 2, 13, 11, 9, 14, 7, 12, 13, 4, 7, 4, 11, 0, 13, 2, 15, 5, 13, 0, 13, 6, 11, 1, 1, 1, 13, 1, 7, 1, 5, 14, 13, 10, 3, 15, 0, 9, 12, 9, 15, 11, 9, 7, 15, 5, 9, 10, 3, 15, 3, 10, 5, 10, 7, 1, 1, 0, 3, 5, 3, 11, 3, 15, 3, 7, 3, 6, 11, 13, 11, 8, 6, 5, 7, 8, 15, 15, 5, 8, 5, 8};

// clang-format on

}  // namespace test
