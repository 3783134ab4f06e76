// keyspan/core/error.hpp — what the world can answer instead of a value.
//
// One closed list for the whole library, each entry with its meaning and what to do about it, so
// that a `switch` over it is complete and a message never leaves its reader alone. An error owns
// all it says inline: it is copied without allocation and lives in constant expressions.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keyspan {

/// Every kind of error there is. `all_errc` lists them, `name_of`, `meaning_of` and `advice_for`
/// say in words what they are.
enum class errc : std::uint8_t {
  // text and values
  malformed,
  invalid_utf8,
  not_representable,
  not_a_key,
  too_large,
  unsupported,
  invalid_options,
  // keys, ranges, positions
  key_mismatch,
  gap,
  overlap,
  invalid_range,
  unknown_range,
  conflicting_ranges,
  wrong_container,
  scheme_mismatch,
  position_lost,
  out_of_order,
  // what a service says
  bad_request,
  unauthorized,
  forbidden,
  not_found,
  already_exists,
  range_gone,
  container_changed,
  precondition_failed,
  contended,
  not_attempted,
  throttled,
  session_not_available,
  region_not_writable,
  service_failed,
  unavailable,
  // on the way to it
  not_connected,
  bad_response,
  timed_out,
  stopped,
  outcome_unknown,
  // leases and handlers
  lease_lost,
  foreign_lease,
  handler_failed,
};

namespace detail {

struct errc_words {
  errc code;
  std::string_view name;
  std::string_view meaning;
  std::string_view advice;
};

// docs/reference/core/error.md shows this table; the two are compared in the tests.
inline constexpr errc_words errc_table[]{
    // clang-format off
    {errc::malformed, "malformed", "the text does not follow its grammar",
     "correct the text at the position named"},
    {errc::invalid_utf8, "invalid_utf8", "the text is not well-formed UTF-8",
     "convert it to UTF-8 before handing it over"},
    {errc::not_representable, "not_representable", "the value has no exact form where it should go",
     "give a value of the form and range that the message names"},
    {errc::not_a_key, "not_a_key", "an object or an array stands where a key value belongs",
     "choose a path that leads to a string, a number, a boolean or null"},
    {errc::too_large, "too_large", "a stated limit was exceeded",
     "send less at once, or raise the limit where it is an option"},
    {errc::unsupported, "unsupported", "the form is known but not supported",
     "use one of the forms the message lists"},
    {errc::invalid_options, "invalid_options", "options contradict each other or leave their range",
     "change one of the options named"},
    {errc::key_mismatch, "key_mismatch", "the partition key does not fit the definition",
     "give as many values as the definition has paths, taken from the document itself"},
    {errc::gap, "gap", "the ranges leave a part of the space to nobody",
     "give ranges that follow each other without one, or read the full list again"},
    {errc::overlap, "overlap", "two ranges claim the same part of the space",
     "leave out ranges that were replaced by a split or a merge"},
    {errc::invalid_range, "invalid_range", "the bounds of a range enclose nothing",
     "give a lower bound that lies before the upper one"},
    {errc::unknown_range, "unknown_range", "no range has this id or these bounds",
     "refresh the list of ranges, then look it up again"},
    {errc::conflicting_ranges, "conflicting_ranges", "one range id was given two different bounds",
     "read the full list of ranges again"},
    {errc::wrong_container, "wrong_container", "the position belongs to another container",
     "resume it with the container it was taken from"},
    {errc::scheme_mismatch, "scheme_mismatch", "the container is partitioned by another scheme",
     "open it with the scheme the message names, or with one chosen at run time"},
    {errc::position_lost, "position_lost", "the source no longer keeps what follows this position",
     "start again from now; a feed of latest versions also from the beginning"},
    {errc::out_of_order, "out_of_order", "a source gave its items out of order",
     "sort the source by the order that the merge was given"},
    {errc::bad_request, "bad_request", "the service did not accept the request",
     "correct the request; repeating it gives the same answer"},
    {errc::unauthorized, "unauthorized", "the credentials were refused",
     "check the key or the token, and the clock of this machine"},
    {errc::forbidden, "forbidden", "the credentials do not permit this",
     "ask for the permission, or check the quota"},
    {errc::not_found, "not_found", "there is no such item",
     "check the id together with the partition key"},
    {errc::already_exists, "already_exists", "an item of this id exists already",
     "use another id, or upsert"},
    {errc::range_gone, "range_gone", "the range was split, merged or moved",
     "refresh the list of ranges and go on with its successors; feeds do so by themselves"},
    {errc::container_changed, "container_changed", "the container was recreated or redefined",
     "open the container again"},
    {errc::precondition_failed, "precondition_failed", "somebody else changed the item meanwhile",
     "read it again and decide anew"},
    {errc::contended, "contended", "a write to the same item was in progress",
     "repeat the request after a short wait"},
    {errc::not_attempted, "not_attempted", "another operation of the same batch failed",
     "mend the operation that failed, then send the whole batch again"},
    {errc::throttled, "throttled", "more was asked than the partition is provisioned for",
     "wait as long as retry_after_ms says, or provision more"},
    {errc::session_not_available, "session_not_available",
     "the replica has not yet seen what the session has",
     "repeat the read, or read in the region that was written to"},
    {errc::region_not_writable, "region_not_writable", "this region takes no writes",
     "write in the account's write region"},
    {errc::service_failed, "service_failed", "the service failed while it worked on the request",
     "repeat a read; find out what a write did before repeating it"},
    {errc::unavailable, "unavailable", "the service is not available and did not take the request",
     "repeat it later or in another region"},
    {errc::not_connected, "not_connected", "no connection, or it broke",
     "check the endpoint and the network"},
    {errc::bad_response, "bad_response", "the answer could not be understood",
     "check that the endpoint is the service itself and not a proxy's page"},
    {errc::timed_out, "timed_out", "the deadline passed first",
     "allow more time or ask for less"},
    {errc::stopped, "stopped", "the caller asked to stop",
     "nothing: the position is unmoved and can be resumed"},
    {errc::outcome_unknown, "outcome_unknown", "a write was sent and its answer was lost",
     "read the item to learn whether the write happened"},
    {errc::lease_lost, "lease_lost", "another host owns the lease by now",
     "let go of the range; its new owner goes on from the last checkpoint"},
    {errc::foreign_lease, "foreign_lease", "a program of another kind still moves these leases",
     "stop that fleet, wait for its leases to expire, then start again"},
    {errc::handler_failed, "handler_failed", "the handler gave a batch up",
     "see what the handler reported; the batch was not acknowledged"},
    // clang-format on
};

}  // namespace detail

/// Every `errc`, in the order of the enumeration.
inline constexpr auto all_errc = [] {
  std::array<errc, std::size(detail::errc_table)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = detail::errc_table[i].code;
  return all;
}();

namespace detail {
constexpr errc_words const& words_of(errc code) {
  auto const index = static_cast<std::size_t>(code);
  expects(index < std::size(errc_table), "an errc is one of the enumerators");
  return errc_table[index];
}
}  // namespace detail

/// The enumerator's own name: "range_gone".
constexpr std::string_view name_of(errc code) { return detail::words_of(code).name; }
/// What it means, as half a sentence: "the range was split, merged or moved".
constexpr std::string_view meaning_of(errc code) { return detail::words_of(code).meaning; }
/// What a caller can do about it.
constexpr std::string_view advice_for(errc code) { return detail::words_of(code).advice; }

/// A place in a text that was read. Lines and columns count from 1, columns in characters; line 0
/// means that the error is not about a place in a text.
struct text_position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t offset = 0;  ///< in bytes, from 0

  constexpr explicit operator bool() const noexcept { return line != 0; }
  friend constexpr auto operator<=>(text_position const&, text_position const&) = default;
};

/// What a service said beside its error. All zero or empty where there was no service.
struct wire_details {
  std::uint16_t status = 0;
  std::uint16_t substatus = 0;
  std::uint16_t attempts = 0;  ///< how often the request was sent
  std::uint32_t retry_after_ms = 0;
  double charge = 0;  ///< what the failure cost, in request units
  inline_text<36> activity_id{};
  inline_text<80> endpoint{};  ///< host and port, never a path, a query or a credential

  friend constexpr bool operator==(wire_details const&, wire_details const&) = default;
};

/// Why there is no value: the kind, a sentence naming what was wrong, and where. Never holds a
/// secret.
struct error {
  errc code;
  text_position position{};
  inline_text<160> text{};
  wire_details wire{};

  /// An error of this kind; the pieces make up its text.
  template <text_piece... Pieces>
  constexpr explicit error(errc kind, Pieces const&... pieces) : code{kind} {
    text.append(pieces...);
  }

  /// The same error at a place in the text that was read.
  [[nodiscard]] constexpr error at(text_position place) const {
    error moved = *this;
    moved.position = place;
    return moved;
  }

  /// "malformed at line 2, column 7: a comma is missing", and the wire's details where there are
  /// any.
  constexpr inline_text<512> to_text() const {
    inline_text<512> out;
    out.append(name_of(code));
    if (position) out.append(" at line ", position.line, ", column ", position.column);
    out.append(": ", text.empty() ? meaning_of(code) : text.view());
    if (wire == wire_details{}) return out;
    std::string_view separator = " (";
    auto const detail = [&](auto const&... pieces) {
      out.append(separator, pieces...);
      separator = ", ";
    };
    if (wire.status != 0 && wire.substatus != 0) {
      detail("status ", wire.status, "/", wire.substatus);
    } else if (wire.status != 0) {
      detail("status ", wire.status);
    }
    if (!wire.endpoint.empty()) detail("from ", wire.endpoint);
    if (!wire.activity_id.empty()) detail("activity ", wire.activity_id);
    if (wire.attempts > 1) detail("after ", wire.attempts, " attempts");
    if (wire.retry_after_ms != 0) detail("retry after ", wire.retry_after_ms, " ms");
    if (separator == ", ") out.append(")");
    return out;
  }

  friend constexpr bool operator==(error const&, error const&) = default;
};

}  // namespace keyspan

/// Equal errors hash alike.
template <>
struct std::hash<keyspan::error> {
  std::size_t operator()(keyspan::error const& e) const noexcept {
    std::size_t const text = std::hash<std::string_view>{}(e.text.view());
    std::size_t const place = (static_cast<std::size_t>(e.position.offset) << 24) ^
                              (static_cast<std::size_t>(e.wire.status) << 8) ^
                              static_cast<std::size_t>(e.code);
    return text ^ (place * static_cast<std::size_t>(0x9E3779B97F4A7C15u));
  }
};
