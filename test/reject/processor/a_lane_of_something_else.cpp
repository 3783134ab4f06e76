// reject: a handler's lane_of is called as lane_of.item.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/processor.hpp>

// All changes would go one lane.
struct handler {
  void process(auto& batch);
#ifdef KEYSPAN_GOOD_TWIN
  int lane_of(int change);
#else
  int lane_of(char const* name);
#endif
};

using source_type = keyspan::scripted_source<int, keyspan::fast64_scheme>;
using store_type = keyspan::memory_store<keyspan::manual_clock>;
using processor_type = keyspan::processor<source_type, store_type, keyspan::manual_clock>;

keyspan::task<keyspan::result<void>> run(processor_type& host, handler& own) {
  return host.run(own);
}
