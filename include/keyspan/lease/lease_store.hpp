// keyspan/lease/lease_store.hpp — what leases are kept in: small records of text, each with a
// version, so that a write is done only where the record is still the one that was decided on.
//
//   read("lease-7")                   -->  {"lease-7", body, version "a"}
//   replace("lease-7", body, "a")     -->  version "b", or precondition_failed
//   create("lease-8", body)           -->  version "c", or already_exists
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keyspan {

/// A record as a store has it. What its body says is nothing to the store.
struct stored_record {
  std::string id;
  std::string body;
  /// The store's own word, new in every write: an ETag.
  std::string version;

  friend bool operator==(stored_record const&, stored_record const&) = default;
};

/// How long who asks a store is going to wait.
struct store_request {
  std::optional<instant> deadline{};
  stop_token stop{};
};

/// How long the id of a record may be.
inline constexpr std::size_t longest_record_id = 200;

/// Whether an id is one that every store takes, in a path and as a name of a file too: 1 to 200
/// letters, digits, `.`, `-` and `_` of ASCII, neither the first nor the last of them a dot.
constexpr bool is_record_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= longest_record_id && id.front() != '.' && id.back() != '.' &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

/// Whether a write that failed so was certainly not done, and never will be. Else it may have
/// been done, or may be later: only reading the record tells.
constexpr bool was_not_done(errc code) {
  switch (code) {
    // Refused before anything was sent.
    case errc::unsupported:
    case errc::invalid_options:
    case errc::wrong_container:
    case errc::scheme_mismatch:
    // Refused by the service.
    case errc::too_large:
    case errc::key_mismatch:
    case errc::bad_request:
    case errc::unauthorized:
    case errc::forbidden:
    case errc::not_found:
    case errc::already_exists:
    case errc::range_gone:
    case errc::container_changed:
    case errc::precondition_failed:
    case errc::contended:
    case errc::not_attempted:
    case errc::throttled:
    case errc::region_not_writable:
    case errc::unavailable:
      return true;
    // Said of an answer just as well as of a request.
    case errc::malformed:
    case errc::invalid_utf8:
    case errc::not_representable:
    case errc::not_a_key:
    case errc::bad_response:
    // Sent, or perhaps sent, and given up.
    case errc::service_failed:
    case errc::not_connected:
    case errc::timed_out:
    case errc::stopped:
    case errc::outcome_unknown:
    // Nothing that a store says of a write, so nobody knows what it would mean.
    case errc::gap:
    case errc::overlap:
    case errc::invalid_range:
    case errc::unknown_range:
    case errc::conflicting_ranges:
    case errc::position_lost:
    case errc::out_of_order:
    case errc::session_not_available:
    case errc::lease_lost:
    case errc::foreign_lease:
    case errc::handler_failed:
      return false;
  }
  expects(false, "an errc is one of the enumerators");
  return false;
}

/// The sentence that a compiler shows where `list` is missing or gives no awaitable of records.
template <class S>
concept answers_list_with_records =
    requires(S& s, std::string_view text, store_request const& request) {
      { s.list(text, request) } -> awaitable_of<result<std::vector<stored_record>>>;
    };

/// The sentence that a compiler shows where `read` is missing or gives no awaitable of a record.
template <class S>
concept answers_read_with_a_record =
    requires(S& s, std::string_view text, store_request const& request) {
      { s.read(text, request) } -> awaitable_of<result<stored_record>>;
    };

/// The sentence that a compiler shows where `create` is missing or gives no awaitable of a version.
template <class S>
concept answers_create_with_a_version =
    requires(S& s, std::string_view text, store_request const& request) {
      { s.create(text, text, request) } -> awaitable_of<result<std::string>>;
    };

/// The sentence that a compiler shows where `replace` is missing or gives no awaitable of a
/// version.
template <class S>
concept answers_replace_with_a_version =
    requires(S& s, std::string_view text, store_request const& request) {
      { s.replace(text, text, text, request) } -> awaitable_of<result<std::string>>;
    };

/// The sentence that a compiler shows where `remove` is missing or gives no awaitable of nothing.
template <class S>
concept answers_remove_with_nothing =
    requires(S& s, std::string_view text, store_request const& request) {
      { s.remove(text, text, request) } -> awaitable_of<result<void>>;
    };

/// The sentence that a compiler shows where `watch` is missing or gives no awaitable of nothing.
template <class S>
concept answers_watch_with_nothing =
    requires(S& s, std::string_view text, store_request const& request) {
      { s.watch(text, request) } -> awaitable_of<result<void>>;
    };

/// A place for records that many hosts share. Each question is answered by an awaitable of a
/// result.
///
///   list(prefix, request)                 the records whose ids begin so, in the order of ids
///   read(id, request)                     one record; `not_found`
///   create(id, body, request)             its version; `already_exists`
///   replace(id, body, version, request)   its new version; `precondition_failed` where it has
///                                         another one than `version`, `not_found`
///   remove(id, version, request)          the same errors
///
/// An id is a `is_record_id`, and compared byte by byte. A body is text in UTF-8, of 1 to 60,000
/// bytes and no NUL among them, and comes back byte by byte. Texts that an operation is given stay
/// where they are until it has answered.
///
/// Laws, checked by `law::check_lease_store`:
/// - A version is never empty, and never the same for two states of a record: not where the same
///   body is written again, and not when the record was removed and created anew.
/// - Of any number of writes that want one version, one is done. Of creations of one id, too.
/// - Who begins to read when a write was answered reads it, or what was written later: `read` is
///   linearizable, from every host.
/// - `list` need not be. It may show what was some time ago, each record as of another moment;
/// while
///   there is writing it may miss one or show one twice. It does not say so. What it shows was
///   there once, under that version; and when nothing is written any more, it soon shows all that
///   is there, once.
/// - An error that says that a write `was_not_done` has changed nothing and will change nothing. A
///   store that sends a write again by itself answers `outcome_unknown` where the repetition finds
///   the condition broken: it may be its own first sending that broke it.
/// - Where stop was requested before, or the deadline has passed, nothing is done: `stopped`,
///   `timed_out`. Later both end the wait soon, and what was sent may be done all the same.
///
/// Nothing makes a write go away that was given up: it may be done long after, where its condition
/// holds then.
///
/// A store may say `static constexpr bool abandonable = true` in what it returns: see `awaitable`.
template <class S>
concept lease_store = answers_list_with_records<S> && answers_read_with_a_record<S> &&
                      answers_create_with_a_version<S> && answers_replace_with_a_version<S> &&
                      answers_remove_with_nothing<S>;

/// A store that can be waited for: `watch(prefix, request)` is done when a record whose id begins
/// so was written, or removed, after the watch had begun. It may be done without that now and
/// then, and may miss a write: it saves time, and replaces no look at the records. `timed_out`
/// where nothing came until the deadline.
///
/// A watch may tell of a write before a list shows it; `read` shows it.
template <class S>
concept watchable_lease_store = lease_store<S> && answers_watch_with_nothing<S>;

}  // namespace keyspan
