// keyspan/processor/processor.hpp — handles all changes of a source, together with every other host
// that does so over the same store.
//
//   processor{source, store, clock, options}   one on each host, as many hosts as you like
//   co_await p.run(handler, stop)              takes its share until it is stopped
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/processing.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/range/token_range.hpp>

#include <string>
#include <utility>
#include <vector>

namespace keyspan {

/// One of any number of hosts that handle the changes of a source together. They share its ranges
/// evenly, hand them on when hosts come and go, take over what a host that died has left, and
/// follow splits and merges. No two hosts begin to handle changes of one range at the same time, as
/// long as their clocks go as evenly as the options say, and every change is handled at least once.
///
/// Source, store and clock outlive it. It owns no thread: it goes on wherever what it awaits is
/// done, one step at a time, and handlers of different leases at the same time. A source, store or
/// handler that blocks its thread blocks what is to be done on that thread.
template <page_source Source, lease_store Store, clock Clock>
class processor {
 public:
  using token_type = token_of_source<Source>;
  using options_type = processor_options<token_type>;

  processor(Source& source, Store& store, Clock& clock, options_type options = {})
      : source_{source}, store_{store}, clock_{clock}, options_{std::move(options)} {}

  /// Takes part until stop is requested, then lets go of all it has as the options say. The handler
  /// outlives it. Requires that it does not run already.
  /// Errors: `invalid_options`; what source and store say for good, as `unauthorized`. Everything
  /// else is tried again, and told to `on_event`.
  template <class Handler>
  task<result<void>> run(Handler& handler, stop_token stop = {}) {
    detail::processing<Source, Store, Clock, Handler> work{source_, store_, clock_, options_,
                                                           handler};
    auto running = work.run(std::move(stop));
    result<void> const done = co_await std::move(running);
    co_return done;
  }

 private:
  Source& source_;
  Store& store_;
  Clock& clock_;
  options_type options_;
};

}  // namespace keyspan
