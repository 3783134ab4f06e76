// reject-gcc: the expression 'keys_can_be_compared<
// reject-clang: keys_can_be_compared<
#include <keyspan/merge/merged_ranges.hpp>

#include <vector>

// Nobody said which of two trades is the first.
struct trade {
  int time;
};

int first_of(std::vector<std::vector<trade>>& days) {
#ifdef KEYSPAN_GOOD_TWIN
  auto merged = keyspan::merge(days, keyspan::ascending(&trade::time));
#else
  auto merged = keyspan::merge(days);
#endif
  return (*merged.begin()).time;
}
