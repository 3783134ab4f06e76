// keyspan/feed/read_request.hpp — what a source is told about a read beside the range and where to
// begin.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/key/partition_key.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace keyspan {

/// One read of one range. What it refers to lives until the read is done; a source whose reads may
/// be abandoned copies what it needs before it suspends.
struct read_request {
  /// The partition that owned the range when the feed looked last.
  std::string_view partition{};
  /// Whether the range is all that the partition owned: no part of it has to be left out.
  bool is_whole_partition = false;
  feed_mode mode = feed_mode::latest_version;
  /// How many items the page is to have at most; 0 leaves it to the source. A hint: what was
  /// changed in one transaction comes in one page, even if that is more.
  std::uint32_t page_size = 0;
  /// The one key whose items are asked for; null for all keys of the range.
  partition_key const* key = nullptr;
  /// What the read is to show at least; opaque, and empty where the caller asks for nothing.
  std::string_view session_token{};
  /// When the caller gives up; `errc::timed_out` then.
  std::optional<instant> deadline{};
  /// Stopped when the caller no longer wants the page; `errc::stopped` then.
  stop_token stop{};
};

}  // namespace keyspan
