// keyspan/processor/change_handler.hpp — who is given the changes of the leases that a host owns.
//
//   struct copier {
//     task<result<void>> process(auto& batch) { … }       all that is needed
//     …                                                   open, close, park, lane_of, if wanted
//   };
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

/// Why a handler is told that it is over.
enum class close_reason : std::uint8_t {
  shutdown,     ///< the host stops
  handed_over,  ///< the lease goes to another host
  lease_lost,   ///< it is another host's by now, or may be: what was not acknowledged comes again
  range_gone,   ///< the range was split or merged: others take its place
  paused,       ///< somebody wants it not to be handled for now
  reset,        ///< it is to be read from another position
  handler_failed,  ///< a batch failed too often
};

/// The enumerator's own name: "shutdown".
constexpr std::string_view name_of(close_reason why) {
  switch (why) {
    case close_reason::shutdown:
      return "shutdown";
    case close_reason::handed_over:
      return "handed_over";
    case close_reason::lease_lost:
      return "lease_lost";
    case close_reason::range_gone:
      return "range_gone";
    case close_reason::paused:
      return "paused";
    case close_reason::reset:
      return "reset";
    case close_reason::handler_failed:
      return "handler_failed";
  }
  expects(false, "a close_reason is one of the enumerators");
  return {};
}

namespace detail {

// What a handler's function may return: nothing, a result of nothing, or an awaitable of one of
// them.
template <class T>
concept done_or_failed = std::is_void_v<T> || std::same_as<std::remove_cvref_t<T>, result<void>>;
template <class T>
concept done_some_time = awaitable<T> && done_or_failed<await_result<T>>;
template <class T>
concept outcome_of_handling = done_or_failed<T> || done_some_time<T>;

template <class H, class Batch>
concept has_process = requires(H& h, Batch& batch) {
  { h.process(batch) } -> outcome_of_handling;
};
template <class H, class Batch>
concept is_called_with = requires(H& h, Batch& batch) {
  { h(batch) } -> outcome_of_handling;
};
template <class H, class Lease>
concept has_open = requires(H& h, Lease const& lease) {
  { h.open(lease) } -> outcome_of_handling;
};
template <class H, class Lease>
concept has_close = requires(H& h, Lease const& lease) {
  { h.close(lease, close_reason{}) } -> outcome_of_handling;
};
template <class H, class Batch>
concept has_park = requires(H& h, Batch& batch, error const& why) {
  { h.park(batch, why) } -> outcome_of_handling;
};
template <class H, class Item>
concept has_lanes = requires(H& h, Item const& item) {
  { h.lane_of(item) } -> std::convertible_to<std::uint64_t>;
};

// Whether a class has a member of a name, whatever it is: looking the name up finds two where
// another base has one, too.
struct other_open {
  int open;
};
struct other_close {
  int close;
};
struct other_park {
  int park;
};
struct other_lane_of {
  int lane_of;
};
template <class H, class Other>
struct with_other : H, Other {};
template <class H>
concept may_be_asked_for_names = std::is_class_v<H> && !std::is_final_v<H>;
template <class H>
concept names_open = may_be_asked_for_names<H> && !requires { &with_other<H, other_open>::open; };
template <class H>
concept names_close =
    may_be_asked_for_names<H> && !requires { &with_other<H, other_close>::close; };
template <class H>
concept names_park = may_be_asked_for_names<H> && !requires { &with_other<H, other_park>::park; };
template <class H>
concept names_lane_of =
    may_be_asked_for_names<H> && !requires { &with_other<H, other_lane_of>::lane_of; };

#if KEYSPAN_EXCEPTIONS
// What user code has thrown, as a failure. Called where it is caught.
inline error thrown_by(std::string_view who) {
  try {
    throw;
  } catch (std::exception const& thrown) {
    return error{errc::handler_failed, who, " threw: ", std::string_view{thrown.what()}};
  } catch (...) {
    return error{errc::handler_failed, who, " threw what is no std::exception"};
  }
}
#endif

// Calls user code and awaits what it returns; what it throws is a failure like any other, since one
// handler's exception must not end all the others.
template <class Call>
task<result<void>> outcome_of(Call call) {
  using returned = decltype(call());
#if KEYSPAN_EXCEPTIONS
  try {
#endif
    if constexpr (std::is_void_v<returned>) {
      call();
      co_return result<void>{};
    } else if constexpr (done_or_failed<returned>) {
      co_return call();
    } else {
      auto begun = call();
      if constexpr (std::is_void_v<await_result<returned>>) {
        co_await std::move(begun);
        co_return result<void>{};
      } else {
        result<void> done = co_await std::move(begun);
        co_return done;
      }
    }
#if KEYSPAN_EXCEPTIONS
  } catch (...) {
    co_return unexpected{thrown_by("the handler")};
  }
#endif
}

}  // namespace detail

/// The sentence that a compiler shows for a handler that takes no batches: it has a
/// `process(batch)`, or is called with one, and returns nothing, a `result<void>`, or an awaitable
/// of one of them.
template <class H, class Batch>
concept handles_batches = detail::has_process<H, Batch> || detail::is_called_with<H, Batch>;

/// Who handles the changes of leases, one batch of a lease (or of a lane of it) at a time, batches
/// of different leases at the same time.
///
///   process(batch)       handles it; an error, or an exception, makes it come again
///   open(lease)          if it has one: before the first batch of a lease
///   close(lease, why)    if it has one: behind the last one, once for each `open`
///   park(batch, why)     if it has one: takes what was tried too often, so that the rest goes on
///   lane_of(item)        if it has one: items with one number are handled in their order, others
///                        at the same time where there is more than one lane
///
/// A processor refuses a handler that has one of these names for anything else.
template <class H, class Batch>
concept change_handler = handles_batches<H, Batch>;

}  // namespace keyspan
