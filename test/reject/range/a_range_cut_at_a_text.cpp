// reject: no known conversion .*from 'const char.*token128
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/token_range.hpp>

auto cut(keyspan::token_range<keyspan::token128> const& range) {
#ifdef KEYSPAN_GOOD_TWIN
  return keyspan::split(range, *keyspan::from_hex<keyspan::token128>("20"));
#else
  return keyspan::split(range, "20");
#endif
}
