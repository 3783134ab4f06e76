#!/usr/bin/env python3
"""Writes ring.hpp: where tokens are on rings, and on rings of bounded loads.

Reckoned anew from what the reference pages say, with whole numbers of any size and fractions. Run it in this
folder: ./make_ring.py > ring.hpp
"""

from bisect import bisect_right
from fractions import Fraction

from make_placement import LISTS, TOKENS, mix, number, numbers, seed


def count(weight, virtual_nodes):
    return int(Fraction(weight) * virtual_nodes + Fraction(1, 2))


def points(nodes, virtual_nodes):
    """All points in order; of those at one place the one of the least number."""
    found = {}
    for index, (node, weight) in enumerate(nodes):
        for i in range(count(weight, virtual_nodes)):
            claim = (number(node), index)
            place = mix(mix(i) ^ seed(node))
            found[place] = min(claim, found.get(place, claim))
    return sorted((place, index) for place, (_, index) in found.items())


def clockwise(circle, key):
    """The nodes of the points behind the key, round the circle."""
    begin = bisect_right([place for place, _ in circle], key)
    return [index for _, index in circle[begin:] + circle[:begin]]


class Bounded:
    def __init__(self, nodes, bound, virtual_nodes):
        self.circle = points(nodes, virtual_nodes)
        self.counts = [count(weight, virtual_nodes) for _, weight in nodes]
        self.loads = [0] * len(nodes)
        self.bound = Fraction(bound)

    def capacity(self, node):
        share = Fraction(self.counts[node], sum(self.counts))
        return -int(-(self.bound * (sum(self.loads) + 1) * share) // 1)

    def place(self, token):
        for node in clockwise(self.circle, mix(token)):
            if self.loads[node] < self.capacity(node):
                self.loads[node] += 1
                return node
        raise AssertionError("some node has room")

    def release(self, node):
        self.loads[node] -= 1


def traffic(bounded, tokens):
    """Two come and the oldest goes, again and again; the same token comes in every fifth place."""
    placed, gone = [], 0
    for i in range(200):
        placed.append(bounded.place(tokens[0 if i % 5 == 0 else i % len(tokens)]))
        if i % 2 == 1:
            bounded.release(placed[gone])
            gone += 1
    return placed


def main():
    print("""// test/golden/ring.hpp — where tokens are on rings, and on rings of bounded loads.
//
// Made by make_ring.py beside it, which knows nothing of this library but its pages: whole numbers
// of any size, and fractions. The tokens and the lists are those of placement.hpp.
#pragma once

#include <array>
#include <cstdint>

namespace test {

// clang-format off
""")
    for name, nodes, virtual_nodes in (
        ("three names", LISTS[0][1], 160),
        ("one node", LISTS[1][1], 160),
        ("ten of one weight", LISTS[2][1], 160),
        ("numbers", LISTS[3][1], 7),
        ("all weights differ", LISTS[4][1], 33),
        ("two weights", LISTS[7][1], 1),
    ):
        circle = points(nodes, virtual_nodes)
        line = numbers(clockwise(circle, mix(token))[0] for token in TOKENS)
        print("/// A ring, %s, %d virtual nodes." % (name, virtual_nodes))
        print("inline constexpr std::array<std::uint32_t, %d> ring_%s%s;"
              % (len(TOKENS), name.replace(" ", "_"), line))
    circle = points(LISTS[0][1], 2)
    print("/// Three names, 2 virtual nodes: the points in order, and their nodes.")
    print("inline constexpr std::array<std::uint64_t, %d> ring_points_of_three_names{" % len(circle))
    for place, _ in circle:
        print("    0x%016X," % place)
    print("};")
    print("inline constexpr std::array<std::uint32_t, %d> ring_nodes_of_three_names%s;"
          % (len(circle), numbers(index for _, index in circle)))
    for name, nodes, bound, virtual_nodes in (
        ("three names", LISTS[0][1], 1.25, 160),
        ("ten of one weight", LISTS[2][1], 1.0625, 160),
        ("all weights differ", LISTS[4][1], 1.5, 33),
    ):
        bounded = Bounded(nodes, bound, virtual_nodes)
        placed = traffic(bounded, TOKENS)
        print("/// Bounded by %s, %s, %d virtual nodes: of 200 tokens, token i %% 32 or each fifth time token 0;"
              % (bound, name, virtual_nodes))
        print("/// after every second one the oldest goes.")
        print("inline constexpr std::array<std::uint32_t, %d> bounded_ring_%s%s;"
              % (len(placed), name.replace(" ", "_"), numbers(placed)))
        print("inline constexpr std::array<std::uint64_t, %d> bounded_ring_loads_%s%s;"
              % (len(nodes), name.replace(" ", "_"), numbers(bounded.loads)))
        print("inline constexpr std::array<std::uint64_t, %d> bounded_ring_capacities_%s%s;"
              % (len(nodes), name.replace(" ", "_"), numbers(map(bounded.capacity, range(len(nodes))))))
    print("""
// clang-format on

}  // namespace test""")


if __name__ == "__main__":
    main()
