// reject: at_most_three_key_values
#include <keyspan/key/extractor.hpp>

struct point {
  int x, y, z, t;
};

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto where = keyspan::key_of(&point::x, &point::y, &point::z);
#else
constexpr auto where = keyspan::key_of(&point::x, &point::y, &point::z, &point::t);
#endif
