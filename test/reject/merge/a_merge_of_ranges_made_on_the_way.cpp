// reject-gcc: required for the satisfaction of 'ranges_to_merge<
// reject-clang: does not satisfy 'ranges_to_merge'
#include <keyspan/merge/merged_ranges.hpp>

#include <ranges>
#include <span>
#include <vector>

// Each vector would be gone before its first item is read.
int first_of(std::vector<std::vector<int>>& sources) {
#ifdef KEYSPAN_GOOD_TWIN
  auto const shown = [](std::vector<int>& one) { return std::span{one}; };
#else
  auto const shown = [](std::vector<int>& one) { return one; };
#endif
  auto merged = keyspan::merge(sources | std::views::transform(shown));
  return *merged.begin();
}
