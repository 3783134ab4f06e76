// reject-gcc: the expression 'policy_decides_between_items<
// reject-clang: policy_decides_between_items<
#include <keyspan/merge/merged_ranges.hpp>

#include <vector>

struct quote {
  int time;
};
struct trade {
  int time;
};

// The later of two quotes stays, but these are trades.
int first_of(std::vector<std::vector<trade>>& days) {
#ifdef KEYSPAN_GOOD_TWIN
  auto const later = keyspan::last_writer(&trade::time);
#else
  auto const later = keyspan::last_writer(&quote::time);
#endif
  auto merged = keyspan::merge(
      days, keyspan::united_by(keyspan::ascending(&trade::time), &trade::time, later));
  return (*merged.begin()).time;
}
