// reject: a handler has process.batch., or is called with one: it returns nothing, a
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/processor.hpp>

// Taking one change at a time would leave nobody to say when a batch is done.
struct handler {
#ifdef KEYSPAN_GOOD_TWIN
  void process(auto& batch);
#else
  void handle(int change);
#endif
};

using source_type = keyspan::scripted_source<int, keyspan::fast64_scheme>;
using store_type = keyspan::memory_store<keyspan::manual_clock>;
using processor_type = keyspan::processor<source_type, store_type, keyspan::manual_clock>;

keyspan::task<keyspan::result<void>> run(processor_type& host, handler& own) {
  return host.run(own);
}
