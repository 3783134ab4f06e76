// keyspan/transport/event.hpp — what happened, for who traces and counts.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/text.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace keyspan {

enum class event_kind : std::uint8_t {
  answered,   ///< an operation is done, and its answer is no error
  failed,     ///< an operation is done, and its answer is an error
  repeating,  ///< an attempt failed, and another one follows after `wait`
  split,      ///< a partition gave way to others
  merged,     ///< partitions gave way to one
  expired,    ///< an item came to the end of its time
};

/// The enumerator's own name: "answered".
constexpr std::string_view name_of(event_kind kind) {
  switch (kind) {
    case event_kind::answered:
      return "answered";
    case event_kind::failed:
      return "failed";
    case event_kind::repeating:
      return "repeating";
    case event_kind::split:
      return "split";
    case event_kind::merged:
      return "merged";
    case event_kind::expired:
      return "expired";
  }
  expects(false, "an event_kind is one of the enumerators");
  return {};
}

/// One thing that happened. Its texts are good during the call that tells it. Never holds a key, a
/// document, a path's query or a credential.
struct event {
  event_kind kind = event_kind::answered;
  /// What was done: "upsert", "read", "GET".
  std::string_view operation{};
  /// Who did it: an id, where it is one partition.
  std::string_view partition{};
  std::string_view endpoint{};
  /// How many documents it was about.
  std::size_t items = 0;
  /// In request units, and told once: the charges of all events add up.
  double charge = 0;
  int attempts = 1;
  std::uint16_t status = 0;
  /// What went wrong, where something did.
  std::optional<errc> code{};
  /// How long it will be until the next attempt.
  instant::duration wait{};
  /// How long it took until now, attempts and waits together; 0 where nobody measures it.
  instant::duration elapsed{};
  std::uint16_t substatus = 0;
  /// What the service calls the operation in its own records.
  std::string_view activity_id{};

  /// "repeating GET from localhost:8081: throttled, status 429, after 2 attempts, in 120 ms".
  inline_text<320> to_text() const {
    inline_text<320> out;
    out.append(name_of(kind));
    if (!operation.empty()) out.append(' ', operation);
    if (!partition.empty()) out.append(" in ", partition);
    if (!endpoint.empty()) out.append(" from ", endpoint);
    std::string_view separator = ": ";
    auto const detail = [&](auto const&... pieces) {
      out.append(separator, pieces...);
      separator = ", ";
    };
    if (code) detail(name_of(*code));
    if (status != 0 && substatus != 0) {
      detail("status ", status, "/", substatus);
    } else if (status != 0) {
      detail("status ", status);
    }
    if (!activity_id.empty()) detail("activity ", activity_id);
    if (items != 0) detail(items, items == 1 ? " item" : " items");
    if (charge != 0) {
      char digits[max_number_text]{};
      if (auto const units = write_number(charge, digits)) detail("charge ", *units);
    }
    if (attempts > 1) detail("after ", attempts, " attempts");
    if (kind == event_kind::repeating)
      detail("in ", std::chrono::ceil<std::chrono::milliseconds>(wait).count(), " ms");
    return out;
  }
};

/// Who is told of events: called on the thread where they happen, maybe by several at once, and
/// while nothing is locked. What it throws passes through to who did the operation. An empty one
/// costs a comparison.
using event_hook = std::function<void(event const&)>;

}  // namespace keyspan
