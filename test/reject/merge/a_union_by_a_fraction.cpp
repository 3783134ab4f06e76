// reject-gcc: the expression 'identity_can_be_kept<
// reject-clang: identity_can_be_kept<
#include <keyspan/merge/merged_ranges.hpp>

#include <vector>

// Whether two fractions are the same nobody should ask.
struct trade {
  int time;
  double price;
};

int first_of(std::vector<std::vector<trade>>& days) {
#ifdef KEYSPAN_GOOD_TWIN
  auto const by = &trade::time;
#else
  auto const by = &trade::price;
#endif
  auto merged = keyspan::merge(days, keyspan::distinct_by(keyspan::ascending(&trade::time), by));
  return (*merged.begin()).time;
}
