// reject: a change has the tokens and the values of the map that it is applied to
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/topology.hpp>

#include <cstdint>

#ifdef KEYSPAN_GOOD_TWIN
using token = keyspan::token128;
#else
using token = std::uint64_t;
#endif

bool change(keyspan::range_map<keyspan::token128, int>& partitions,
            keyspan::split_change<token, int> const& split) {
  return keyspan::apply(partitions, split).has_value();
}
