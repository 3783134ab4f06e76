// keyspan/merge/merge_options.hpp — what a merge does about sources that fail, and how far it may
// read ahead.
#pragma once

#include <keyspan/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace keyspan {

/// What becomes of a merge when one of its sources fails.
enum class on_failure : std::uint8_t {
  stop,   ///< the error is the last result; what the merge was at is kept, and tried again later
  go_on,  ///< the others are merged without it until it is asked again; `failures()` tells of it
};

/// How sources are read.
struct merge_options {
  on_failure failure = on_failure::stop;
  /// How many items a batch has at most. Above 0.
  std::size_t batch_size = 256;
  /// Whether the next page of each source is asked for while this one is merged. Two pages of each
  /// are held at most; else the second one only until what it begins with was looked at. Unless
  /// told, `merge_async` reads ahead and plain loops do not.
  std::optional<bool> reads_ahead{};
};

/// A source that the merge went on without.
struct merge_failure {
  /// Its number in the order of the sources, when it failed.
  std::size_t source = 0;
  /// The number of the feed that it is a range of, in the order of the feeds.
  std::size_t feed = 0;
  error why{errc::stopped};
};

}  // namespace keyspan
