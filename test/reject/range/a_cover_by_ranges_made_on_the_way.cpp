// reject: range_of returns a reference to the range of an element
#include <keyspan/range/cover.hpp>

#include <vector>

bool is_covered(std::vector<int> const& firsts) {
#ifdef KEYSPAN_GOOD_TWIN
  std::vector<keyspan::token_range<int>> ranges;
  for (int const first : firsts) ranges.push_back({first, first + 1});
  return keyspan::covers_exactly(ranges, keyspan::token_range{0, 9}).has_value();
#else
  auto const range_of = [](int first) { return keyspan::token_range{first, first + 1}; };
  return keyspan::covers_exactly(firsts, keyspan::token_range{0, 9}, range_of).has_value();
#endif
}
