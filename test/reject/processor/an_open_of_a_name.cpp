// reject: a handler's open is called as open.lease.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/processor.hpp>

// It is the lease that is opened, not its name.
struct handler {
  void process(auto& batch);
#ifdef KEYSPAN_GOOD_TWIN
  void open(auto const& lease);
#else
  void open(char const* name);
#endif
};

using source_type = keyspan::scripted_source<int, keyspan::fast64_scheme>;
using store_type = keyspan::memory_store<keyspan::manual_clock>;
using processor_type = keyspan::processor<source_type, store_type, keyspan::manual_clock>;

keyspan::task<keyspan::result<void>> run(processor_type& host, handler& own) {
  return host.run(own);
}
