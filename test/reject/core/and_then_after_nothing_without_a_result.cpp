// reject: and_then takes a function that returns a result
#include <keyspan/core/result.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::result<int> count() { return 1; }
#else
int count() { return 1; }
#endif

auto after(keyspan::result<void> done) { return done.and_then(count); }
