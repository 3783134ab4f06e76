#!/usr/bin/env python3
"""Writes placement.hpp: which node each of some tokens belongs to.

Reckoned anew from what the reference pages say, with whole numbers of any size and logarithms of sixty
digits; jump hash in Python's doubles, as its authors wrote it for C's. The table of published values is
from elsewhere, see there. Run it in this folder: ./make_placement.py > placement.hpp
"""

from decimal import Decimal, getcontext

getcontext().prec = 60
MASK = (1 << 64) - 1


def mix(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def rotated(x, by):
    return (x << by | x >> 64 - by) & MASK


def murmur3_first_half(name):
    """MurmurHash3, x64, 128 bits, seed 0: the first half."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = 0
    whole = len(name) // 16 * 16
    words = [int.from_bytes(name[i : i + 8], "little") for i in range(0, len(name), 8)] + [0, 0]
    for i in range(0, whole // 8, 2):
        h1 ^= rotated(words[i] * c1 & MASK, 31) * c2 & MASK
        h1 = ((rotated(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= rotated(words[i + 1] * c2 & MASK, 33) * c1 & MASK
        h2 = ((rotated(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    h1 ^= rotated(words[whole // 8] * c1 & MASK, 31) * c2 & MASK
    h2 ^= rotated(words[whole // 8 + 1] * c2 & MASK, 33) * c1 & MASK
    h1 ^= len(name)
    h2 ^= len(name)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    return (mix(h1) + mix(h2)) & MASK


def key_of_bytes(token):
    key = 0
    for at in reversed(range(0, len(token), 8)):
        key = mix(key ^ int.from_bytes(token[at : at + 8].ljust(8, b"\0"), "big"))
    return key


def number(node):
    return node if isinstance(node, int) else murmur3_first_half(node.encode())


def seed(node):
    return mix(number(node) + 0x9E3779B97F4A7C15 & MASK)


def jump(key, nodes):
    node, after = 0, 0
    while after < nodes:
        node = after
        key = (key * 2862933555777941757 + 1) & MASK
        after = int(float(node + 1) * (float(1 << 31) / float((key >> 33) + 1)))
    return node


def rendezvous(key, nodes):
    def time(node):
        x = (key ^ seed(node[0])) * 0xBF58476D1CE4E5B9 & MASK
        bits = ((x ^ x >> 32) * 0x94D049BB133111EB & MASK) >> 12
        return -(1 - Decimal(2 * bits + 1) / (1 << 53)).ln() / Decimal(node[1])

    return min(range(len(nodes)), key=lambda i: time(nodes[i]))


def maglev(nodes, size):
    heaviest = max(weight for _, weight in nodes)
    claims = []
    for index in sorted(range(len(nodes)), key=lambda i: number(nodes[i][0])):
        node, weight = nodes[index]
        first, skip = seed(node) % size, mix(seed(node)) % (size - 1) + 1
        wanted = iter([(first + turn * skip) % size for turn in range(size)])
        claims.append([index, wanted, int(weight / heaviest * 2**32), 1 << 31])
    table = [None] * size
    while True:
        for claim in claims:
            claim[3] += claim[2]
            if claim[3] < 1 << 32:
                continue
            claim[3] -= 1 << 32
            table[next(entry for entry in claim[1] if table[entry] is None)] = claim[0]
            if None not in table:
                return table


TOKENS = [mix(i * 0x9E3779B97F4A7C15 & MASK) for i in range(1, 25)] + list(range(8))
KEYS = ["", "00", "01", "0001", "0100", "22E342F38A486A08", "22E342F38A486A088463DFF7838A5963",
        "22E342F38A486A088463DFF7838A59630000", "000000000000000001", "FF" * 23, "0123456789AB"]
NAMES = ["", "a", "b", "node-1", "cache.example.com", "0123456789abcdef", "0123456789abcdef0"]
LISTS = [
    ("three names", [("a", 1), ("b", 2), ("c", 3)]),
    ("one node", [("alone", 7)]),
    ("ten of one weight", [("node-%d" % i, 1) for i in range(10)]),
    ("numbers", [(i, 1) for i in range(12)]),
    ("all weights differ", [("node-%d" % i, 1 + i / 4) for i in range(40)]),
    ("weights far apart", [("node-%d" % i, 2.0**-i) for i in range(30)]),
    ("heavy and light", [("heavy", 1e6), ("light", 1), ("lighter", 0.001)]),
    ("two weights", [("node-%d" % i, 1 + i % 2) for i in range(16)]),
]


def numbers(values):
    return "{" + ", ".join("%d" % v for v in values) + "}"


def main():
    print("""// test/golden/placement.hpp — which node each of some tokens belongs to.
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
inline constexpr placed_bytes placed_bytes_keys[]{""")
    for text in KEYS:
        print('    {"%s", 0x%016X},' % (text, key_of_bytes(bytes.fromhex(text))))
    print("""};

struct placed_name {
  std::string_view name;
  std::uint64_t number;
};
/// Names of nodes, and their numbers.
inline constexpr placed_name placed_names[]{""")
    for name in NAMES:
        print('    {"%s", 0x%016X},' % (name, number(name)))
    print("""};

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
inline constexpr jumped_key reckoned_jumps[]{""")
    for i, key in enumerate(TOKENS):
        nodes = (10, 100, 1000, 12345, 1 << 20, (1 << 31) - 1)[i % 6]
        print("    {0x%016X, %du, %d}," % (key, nodes, jump(key, nodes)))
    print("""};

/// Tokens, and below the nodes of them all among each list of nodes.
inline constexpr std::array<std::uint64_t, %d> placed_tokens{""" % len(TOKENS))
    for token in TOKENS:
        print("    0x%016X," % token)
    print("""};
""")
    for name, nodes in LISTS:
        line = numbers(rendezvous(mix(token), nodes) for token in TOKENS)
        print("/// Rendezvous, %s." % name)
        print("inline constexpr std::array<std::uint32_t, %d> rendezvous_%s%s;"
              % (len(TOKENS), name.replace(" ", "_"), line))
    for name, nodes, size in (
        ("three names", LISTS[0][1], 31),
        ("ten of one weight", LISTS[2][1], 101),
        ("two weights", LISTS[7][1], 97),
    ):
        print("/// Maglev, %s: the table." % name)
        print("inline constexpr std::array<std::uint16_t, %d> maglev_%s%s;"
              % (size, name.replace(" ", "_"), numbers(maglev(nodes, size))))
    print("""
// clang-format on

}  // namespace test""")


if __name__ == "__main__":
    main()
