// reject-gcc: required for the satisfaction of 'ranges_to_merge<
// reject-clang: read_by_pages
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/merge/merged_feeds.hpp>
#include <keyspan/merge/merged_ranges.hpp>

#include <vector>

// Feeds are ranges too, but their partitions' items are in no order: they are merged where they
// stand.
struct entry {
  int number;
};
using source = keyspan::scripted_source<entry, keyspan::fast64_scheme>;

std::vector<keyspan::feed<source>> feeds_of(source& from) {
  std::vector<keyspan::feed<source>> made;
  made.emplace_back(from);
  return made;
}

int first_of(source& from) {
#ifdef KEYSPAN_GOOD_TWIN
  auto feeds = feeds_of(from);
  auto merged = keyspan::merge(feeds, keyspan::ascending(&entry::number));
#else
  auto merged = keyspan::merge(feeds_of(from), keyspan::ascending(&entry::number));
#endif
  return merged.begin()->number;
}
