// reject-gcc: the expression 'keys_can_be_compared<
// reject-clang: keys_can_be_compared<
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/other_orders.hpp>

#include <string>
#include <vector>

// What counts as no earlier has to be a number: of a text the merge knows the beginning only.
struct entry {
  std::string written;
  long time;
};

long first_of(std::vector<std::vector<entry>>& logs) {
#ifdef KEYSPAN_GOOD_TWIN
  auto merged = keyspan::merge(logs, keyspan::by_time(&entry::time));
#else
  auto merged = keyspan::merge(logs, keyspan::by_time(&entry::written));
#endif
  return (*merged.begin()).time;
}
