// reject-gcc: required for the satisfaction of 'feeds_to_merge<
// reject-clang: does not satisfy 'feeds_to_merge'
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/merge/merge_async.hpp>

#include <vector>

// Ranges in memory are merged by `merge`; what is awaited are page sources and feeds.
struct entry {
  int number;
};
using source = keyspan::scripted_source<entry, keyspan::fast64_scheme>;

void first_of([[maybe_unused]] std::vector<source>& sources,
              [[maybe_unused]] std::vector<std::vector<entry>>& ranges) {
#ifdef KEYSPAN_GOOD_TWIN
  auto merged = keyspan::merge_async(sources, keyspan::ascending(&entry::number));
#else
  auto merged = keyspan::merge_async(ranges, keyspan::ascending(&entry::number));
#endif
  static_cast<void>(merged);
}
