// reject-gcc: required for the satisfaction of 'token<Token>' .with Token = double
// reject-clang: because 'double' does not satisfy 'token'
#include <keyspan/range/token_range.hpp>

// A double has no total order: one that is no number lies nowhere.
#ifdef KEYSPAN_GOOD_TWIN
using place = long;
#else
using place = double;
#endif
bool is_in(keyspan::token_range<place> const& range, place t) { return range.contains(t); }
