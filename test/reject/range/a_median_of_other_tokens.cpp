// reject: no matching function for call
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/range/provisioning.hpp>

#include <cstdint>
#include <vector>

std::vector<std::uint16_t> const slots{1, 2};

auto cut() {
#ifdef KEYSPAN_GOOD_TWIN
  return split_point(keyspan::whole_space(keyspan::redis_cluster), slots);
#else
  return split_point(keyspan::whole_space(keyspan::cosmos_v2), slots);
#endif
}
