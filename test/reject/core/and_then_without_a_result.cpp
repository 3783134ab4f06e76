// reject: and_then takes a function that returns a result
#include <keyspan/core/result.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::result<int> twice(int n) { return 2 * n; }
#else
int twice(int n) { return 2 * n; }
#endif

auto four(keyspan::result<int> two) { return two.and_then(twice); }
