// reject-gcc: use of deleted function .*items\(\) &&
// reject-clang: call to deleted member function 'items'
#include <keyspan/merge/merged_ranges.hpp>

#include <vector>

// The view would outlive the merge, which owns the place.
int first_of(std::vector<std::vector<int>>& sources) {
#ifdef KEYSPAN_GOOD_TWIN
  auto merged = keyspan::merge(sources);
  auto const items = merged.items();
#else
  auto const items = keyspan::merge(sources).items();
#endif
  return *items.begin();
}
