// keyspan/feed/feed_mode.hpp — which changes of an item a feed tells.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>

#include <cstdint>
#include <string_view>

namespace keyspan {

/// Which changes a source tells.
enum class feed_mode : std::uint8_t {
  /// The newest state of each item, once, where it was changed last; deletions are not told.
  latest_version,
  /// Every state that an item had, and its deletion.
  all_versions_and_deletes,
};

/// The enumerator's own name: "latest_version".
constexpr std::string_view name_of(feed_mode mode) {
  switch (mode) {
    case feed_mode::latest_version:
      return "latest_version";
    case feed_mode::all_versions_and_deletes:
      return "all_versions_and_deletes";
  }
  expects(false, "a feed_mode is one of the enumerators");
  return {};
}

/// The mode of this name. Errors: `malformed`, naming the modes there are.
[[nodiscard]] constexpr result<feed_mode> feed_mode_of(std::string_view name) {
  for (feed_mode const mode : {feed_mode::latest_version, feed_mode::all_versions_and_deletes})
    if (name == name_of(mode)) return mode;
  return fail(errc::malformed, "a mode is latest_version or all_versions_and_deletes, not \"",
              inline_text<40>{name}, "\"");
}

}  // namespace keyspan
