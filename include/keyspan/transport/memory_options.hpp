// keyspan/transport/memory_options.hpp — how a memory_container is set up.
#pragma once

#include <keyspan/feed/wall_time.hpp>
#include <keyspan/range/provisioning.hpp>
#include <keyspan/transport/event.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace keyspan {

/// How a `memory_container` of documents of type `T` is set up; `{}` is one partition without
/// limits. Its functions are called from whatever threads use the container, and but for `on_event`
/// some of them while a partition is locked: they do not use the container.
template <class T>
struct memory_options {
  /// What people call it. Its id, which cursors remember, is this and the seed.
  std::string name{"memory"};
  /// Of equal size. Requires 1 or more, and no more where the scheme does not share its space out.
  std::size_t partitions = 1;
  /// The same seed, operations and times give the same etags, ids and charges.
  std::uint64_t seed = 0;
  /// What time it is; the system's clock where it is empty. A time that goes back stands still.
  std::function<wall_time()> now{};

  /// How large a document counts as, in bytes; 1024 where it is empty.
  std::function<std::size_t(T const&)> size_of{};
  std::size_t largest_document = 2'000'000;
  std::size_t largest_batch = 2'000'000;
  std::size_t most_operations = 100;  ///< in a batch

  /// How long documents live after they were written last; for ever where it is none.
  std::optional<std::chrono::milliseconds> time_to_live{};
  /// The same of one document, before the general rule; none leaves it to that.
  std::function<std::optional<std::chrono::milliseconds>(T const&)> time_to_live_of{};
  /// How long feeds of all versions can go back. None: there are none, and nothing is kept for
  /// them.
  std::optional<std::chrono::milliseconds> keeps_versions{};

  /// Per second, shared evenly by the partitions; who asks for more is throttled. 0 is no limit.
  std::uint64_t request_units = 0;
  /// At which size a partition is full, and how many request units one serves.
  provisioning_limits limits{};
  /// Whether a partition that has become full splits by itself.
  bool splits_when_full = false;

  /// How many items a page has at most where the request leaves it to the container; 1 or more.
  std::size_t page_size = 100;
  /// Is told of every operation, split and expiry.
  event_hook on_event{};
};

}  // namespace keyspan
