// reject-gcc: the expression 'projections_take_the_items<
// reject-clang: projections_take_the_items<
#include <keyspan/merge/merged_ranges.hpp>

#include <vector>

// The order's projection takes trades, and these are quotes.
struct trade {
  int time;
};
struct quote {
  int time;
};

int first_of(std::vector<std::vector<quote>>& quotes) {
#ifdef KEYSPAN_GOOD_TWIN
  auto merged = keyspan::merge(quotes, keyspan::ascending(&quote::time));
#else
  auto merged = keyspan::merge(quotes, keyspan::ascending(&trade::time));
#endif
  return (*merged.begin()).time;
}
