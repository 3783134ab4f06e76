// reject: promise_broken
// reject-gcc: in 'constexpr' expansion of 'keyspan::expects\(.*a range holds at least one token
// reject-clang: in call to 'expects\(.*a range holds at least one token
#include <keyspan/core/contract.hpp>

constexpr int width_of(int lower, int upper) {
  keyspan::expects(lower < upper, "a range holds at least one token");
  return upper - lower;
}

#ifdef KEYSPAN_GOOD_TWIN
constexpr int width = width_of(3, 4);
#else
constexpr int width = width_of(3, 3);
#endif
