// keyspan/transport/transport.hpp — what carries a request to a service and its response back.
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/message.hpp>

#include <optional>

namespace keyspan {

/// The sentence that a compiler shows where `send` is missing or gives no awaitable of a response.
template <class T>
concept answers_send_with_a_response = requires(T& t, request const& what) {
  { t.send(what) } -> awaitable_of<result<response>>;
};

/// Carries requests to one service: `co_await t.send(what)`.
///
/// Laws, checked by `law::check_transport`:
/// - Each request gets the response to it, whichever is done first; bodies and headers arrive as
///   they were given, and the request is not changed.
/// - Whatever the service answered is a response, whatever its status says. An error means that
///   there is none: `not_connected` where the request was not taken, or is a read whose connection
///   broke; `outcome_unknown` where it is a write that was sent and whose answer was lost;
///   `bad_response` for an answer that is none; `timed_out`, with no status, at the deadline;
///   `stopped`. A write that fails by the last two may have happened.
/// - A request whose stop was requested or whose deadline has passed before it is sent is not sent.
///   One that is stopped in flight ends soon, and leaves the transport as good as before.
/// - It sends once: who wants a request repeated wraps the transport in `retrying`.
///
/// The request lives until the send is done, and so does the transport. One that says
/// `static constexpr bool abandonable = true` of its operations copies what it needs before it
/// suspends.
template <class T>
concept transport = answers_send_with_a_response<T>;

/// Why a request is not sent at this moment: `stopped`, or `timed_out` from its deadline on; none
/// where it is to be sent. What a transport asks before a byte goes out.
[[nodiscard]] inline std::optional<error> refusal_of(request const& what, instant now) {
  if (what.stop.stop_requested()) return error{errc::stopped, "stopped before it was sent"};
  if (what.deadline && *what.deadline <= now)
    return error{errc::timed_out, "the deadline passed before it was sent"};
  return std::nullopt;
}

}  // namespace keyspan
