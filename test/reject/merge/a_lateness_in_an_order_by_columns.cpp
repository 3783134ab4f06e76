// reject-gcc: sources are followed within a time by a merge that is by_time
// reject-clang: sources are followed within a time by a merge that is by_time
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/merge/following_within.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <chrono>

using times = std::chrono::sys_time<std::chrono::seconds>;
struct entry {
  times written;
};
using source_type = keyspan::scripted_source<entry, keyspan::cosmos_v2_scheme>;

// What is late counts as of another time: only an order by that time knows what this means.
std::size_t waited_for(keyspan::feed<source_type>& changes, keyspan::manual_clock& clock) {
  keyspan::following_within const within{clock, std::chrono::seconds{1}, std::chrono::minutes{5},
                                         [] { return times{}; }};
#ifdef KEYSPAN_GOOD_TWIN
  auto merged = keyspan::merge_async(changes, keyspan::by_time(&entry::written), within);
#else
  auto merged = keyspan::merge_async(changes, keyspan::ascending(&entry::written), within);
#endif
  return merged.waits_for().size();
}
