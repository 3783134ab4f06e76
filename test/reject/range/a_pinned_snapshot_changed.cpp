// reject-gcc: assignment of read-only location
// reject-clang: cannot assign to return value because function .* returns a const value
#include <keyspan/range/published.hpp>

keyspan::published<int> place{1};

void change() {
#ifdef KEYSPAN_GOOD_TWIN
  place.publish(2);
#else
  *place.pin() = 2;
#endif
}
