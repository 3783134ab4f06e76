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
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/processing.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/range/token_range.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// What a host knows.
template <token Token>
struct processor_status {
  session_id session{};
  processor_counters counters{};
  std::vector<lease_status<Token>> leases{};
};

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
  /// Errors: `invalid_options`; what source and store say for good while it starts, as
  /// `unauthorized`. Everything else, and all that is said later, is told to `on_event` and tried
  /// again.
  template <class Handler>
  task<result<void>> run(Handler& handler, stop_token stop = {}) {
    using work_type = detail::processing<Source, Store, Clock, Handler>;
    static_assert(change_handler<Handler, typename work_type::batch_type>,
                  "a handler has process(batch), or is called with one: it returns nothing, a "
                  "result<void>, or an awaitable of one of them");
    using own_type = std::remove_cv_t<Handler>;
    using info_type = lease_info<token_type>;
    static_assert(
        detail::has_open<Handler, info_type> || !detail::names_open<own_type>,
        "a handler's open is called as open(lease), with a lease_info const&, and returns "
        "nothing, a result<void>, or an awaitable of one of them");
    static_assert(
        detail::has_close<Handler, info_type> || !detail::names_close<own_type>,
        "a handler's close is called as close(lease, why), with a lease_info const& and a "
        "close_reason, and returns nothing, a result<void>, or an awaitable of one of "
        "them");
    static_assert(
        detail::has_park<Handler, typename work_type::batch_type> || !detail::names_park<own_type>,
        "a handler's park is called as park(batch, why), with a change_batch& and an "
        "error const&, and returns nothing, a result<void>, or an awaitable of one of "
        "them");
    static_assert(detail::has_lanes<Handler, typename work_type::item_type> ||
                      !detail::names_lane_of<own_type>,
                  "a handler's lane_of is called as lane_of(item), with an item of the feed, and "
                  "returns a number");
    auto const work = std::make_shared<work_type>(source_, store_, clock_, options_, handler);
    {
      std::lock_guard const lock{mutex_};
      expects(!status_, "a processor runs once at a time");
      status_ = [weak = std::weak_ptr{work}] { return status_of(weak); };
    }
    auto running = work->run(std::move(stop));
    result<void> const done = co_await std::move(running);
    {
      std::lock_guard const lock{mutex_};
      status_ = nullptr;
    }
    co_return done;
  }

  /// What this host knows: every lease, and how often what has happened. Empty where it does not
  /// run. May be called from any thread.
  task<processor_status<token_type>> status() {
    std::function<task<processor_status<token_type>>()> ask;
    {
      std::lock_guard const lock{mutex_};
      ask = status_;
    }
    if (!ask) co_return processor_status<token_type>{};
    auto asking = ask();
    co_return co_await std::move(asking);
  }

  /// All leases of all hosts, to look at and to steer.
  lease_control<Source, Store> control() const {
    return lease_control<Source, Store>{source_, store_, options_.lease_prefix};
  }
  options_type const& options() const noexcept { return options_; }

 private:
  template <class Work>
  static task<processor_status<token_type>> status_of(std::weak_ptr<Work> weak) {
    auto const work = weak.lock();
    if (!work) co_return processor_status<token_type>{};
    co_await work->inside().enter();
    processor_status<token_type> told{work->session(), work->counters(), work->status()};
    co_await work->inside().leave();
    co_return told;
  }

  Source& source_;
  Store& store_;
  Clock& clock_;
  options_type options_;
  std::mutex mutex_{};
  std::function<task<processor_status<token_type>>()> status_{};
};

}  // namespace keyspan
