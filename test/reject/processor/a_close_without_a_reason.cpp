// reject: a handler's close is called as close.lease, why.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/processor.hpp>

// Nobody would call it.
struct handler {
  void process(auto& batch);
#ifdef KEYSPAN_GOOD_TWIN
  void close(auto const& lease, keyspan::close_reason why);
#else
  void close(auto const& lease);
#endif
};

using source_type = keyspan::scripted_source<int, keyspan::fast64_scheme>;
using store_type = keyspan::memory_store<keyspan::manual_clock>;
using processor_type = keyspan::processor<source_type, store_type, keyspan::manual_clock>;

keyspan::task<keyspan::result<void>> run(processor_type& host, handler& own) {
  return host.run(own);
}
