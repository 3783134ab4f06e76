// reject: promise_broken
// reject-gcc: in 'constexpr' expansion of .*a placement has one node at least
// reject-clang: in call to 'expects\(.*a placement has one node at least
#include <keyspan/hash/jump.hpp>

#ifdef KEYSPAN_GOOD_TWIN
constexpr keyspan::jump nodes{1};
#else
constexpr keyspan::jump nodes{0};
#endif
