// reject: gives_next_snapshot
#include <keyspan/range/published.hpp>

keyspan::published<int> place{1};

auto update() {
#ifdef KEYSPAN_GOOD_TWIN
  return place.update([](int const& now) { return now + 1; });
#else
  return place.update([](int const& now) { static_cast<void>(now + 1); });
#endif
}
