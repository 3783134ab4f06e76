// reject-gcc: required for the satisfaction of 'ranges_to_merge<
// reject-clang: does not satisfy 'ranges_to_merge'
#include <keyspan/merge/merged_ranges.hpp>

#include <istream>
#include <ranges>
#include <string>
#include <vector>

// A stream has one text at a time, and reads the next one into the same place.
char first_of(std::istream& in) {
  std::ranges::istream_view<std::string> words{in};
#ifdef KEYSPAN_GOOD_TWIN
  std::vector<std::string> sources;
  for (auto const& one : words) sources.push_back(one);
  auto merged = keyspan::merge(sources);
#else
  auto merged = keyspan::merge(std::move(words));
#endif
  return *merged.begin();
}
