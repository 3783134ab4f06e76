// reject-gcc: use of deleted function .*feed\(const keyspan::feed
// reject-clang: call to (implicitly-)?deleted .*constructor of
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

#include <utility>

// A feed is one place in the changes: a second one is made from its cursor.
using source_type = keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>;
using feed_type = keyspan::feed<source_type>;

feed_type other(feed_type& changes) {
#ifdef KEYSPAN_GOOD_TWIN
  return feed_type{changes.source(), {.start = changes.cursor()}};
#else
  return changes;
#endif
}
