// reject-gcc: use of deleted function .*items\(\) &&
// reject-clang: call to deleted member function 'items'
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

// The view would outlive the feed, which owns the place.
using source_type = keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>;

bool is_new(source_type& source) {
#ifdef KEYSPAN_GOOD_TWIN
  keyspan::feed changes{source};
  auto const items = changes.items();
#else
  auto const items = keyspan::feed{source}.items();
#endif
  return items.begin() != items.end();
}
