// keyspan/feed/feed_request.hpp — what to read of a source, from where, and how.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/hash/token.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace keyspan {

/// Where a feed begins: `from_beginning`, `from_now`, `from_time{…}`, or where a cursor stands.
template <token Token>
using feed_start =
    std::variant<from_beginning_type, from_now_type, from_time, composite_cursor<Token>>;

/// What to read, from where, and how; `{}` is all of it, the latest version of each item.
///
/// A cursor brings its ranges, its mode and its key with it; a scope beside it narrows the ranges.
template <token Token>
struct feed_request {
  feed_start<Token> start{from_beginning};
  feed_mode mode = feed_mode::latest_version;
  feed_scope<Token> scope{whole_container};
  /// How many items a page has at most; 0 leaves it to the source. A hint.
  std::uint32_t page_size = 0;
  /// What the reads are to show at least; opaque.
  std::string session_token{};
  /// When to give up: sources answer `errc::timed_out` then.
  std::optional<instant> deadline{};
  /// Stops the reading: `errc::stopped`, the cursor unmoved.
  stop_token stop{};
};

}  // namespace keyspan
