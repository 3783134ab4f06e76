// reject: promise_broken
// reject-gcc: in 'constexpr' expansion of 'keyspan::expects\(.*a key value is a finite number
// reject-clang: in call to 'expects\(.*a key value is a finite number
#include <keyspan/key/key_value.hpp>

#include <limits>

#ifdef KEYSPAN_GOOD_TWIN
constexpr keyspan::key_value value{(std::numeric_limits<double>::max)()};
#else
constexpr keyspan::key_value value{std::numeric_limits<double>::infinity()};
#endif
