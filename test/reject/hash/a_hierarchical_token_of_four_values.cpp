// reject: promise_broken
// reject-gcc: in 'constexpr' expansion of .*a hierarchical key has at most three values
// reject-clang: in call to 'expects\(.*a hierarchical key has at most three values
#include <keyspan/hash/cosmos_multihash.hpp>

#ifdef KEYSPAN_GOOD_TWIN
constexpr std::size_t count = 3;
#else
constexpr std::size_t count = 4;
#endif

constexpr bool found = [] {
  keyspan::key_value const values[count]{};
  return !keyspan::token_of(keyspan::cosmos_multihash, values).empty();
}();
