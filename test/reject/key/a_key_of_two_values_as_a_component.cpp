// reject: component_of_one_value
#include <keyspan/key/extractor.hpp>

struct point {
  int x, y;
};

constexpr auto both = keyspan::key_of(&point::x, &point::y);
constexpr auto one = keyspan::key_of(&point::x);
#ifdef KEYSPAN_GOOD_TWIN
constexpr auto where = keyspan::key_of(one, &point::y);
#else
constexpr auto where = keyspan::key_of(both, &point::y);
#endif
