// reject-gcc: required for the satisfaction of 'ranges_to_merge<
// reject-clang: does not satisfy 'ranges_to_merge'
#include <keyspan/merge/merged_ranges.hpp>

#include <vector>

// One range is no range of ranges.
int first_of(std::vector<int>& numbers) {
#ifdef KEYSPAN_GOOD_TWIN
  std::vector<std::vector<int>> sources{numbers};
  auto merged = keyspan::merge(sources);
#else
  auto merged = keyspan::merge(numbers);
#endif
  return *merged.begin();
}
