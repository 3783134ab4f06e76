// test/range/ring_points.hpp — where the points of a node are, and nodes whose points are where a
// test wants them.
#pragma once

#include <keyspan/hash/placement.hpp>

#include <cstdint>

namespace test {

/// A token that is placed by the key it is.
struct bare_key {
  std::uint64_t key;
  constexpr std::uint64_t placement_key() const noexcept { return key; }
};

/// The arithmetic of the reference page once more, and backwards.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xFF51'AFD7'ED55'8CCD;
  x = (x ^ x >> 33) * 0xC4CE'B9FE'1A85'EC53;
  return x ^ x >> 33;
}
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
constexpr std::uint64_t unmixed(std::uint64_t x) {
  x = (x ^ x >> 33) * inverse_of(0xC4CE'B9FE'1A85'EC53);
  x = (x ^ x >> 33) * inverse_of(0xFF51'AFD7'ED55'8CCD);
  return x ^ x >> 33;
}
/// Where point number `i` of a node is.
constexpr std::uint64_t point_of(keyspan::node_id id, std::uint64_t i) {
  return mixed(mixed(i) ^ mixed(id.number() + 0x9E37'79B9'7F4A'7C15));
}
/// The node whose point number `i` is at this place.
constexpr keyspan::node_id node_with_point(std::uint64_t place, std::uint64_t i = 0) {
  return keyspan::node_id{unmixed(unmixed(place) ^ mixed(i)) - 0x9E37'79B9'7F4A'7C15};
}

}  // namespace test
