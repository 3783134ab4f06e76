// reject-gcc: use of deleted function .*stream\(\) &&
// reject-clang: call to deleted member function 'stream'
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

using source_type = keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>;

auto stream_of(source_type& source) {
#ifdef KEYSPAN_GOOD_TWIN
  static keyspan::feed changes{source};
  return changes.stream();
#else
  return keyspan::feed{source}.stream();
#endif
}
