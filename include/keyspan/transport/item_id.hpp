// keyspan/transport/item_id.hpp — which document a container is asked for, and what is said beside
// the question.
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <concepts>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace keyspan {

/// Which document: its partition key, and its id under it.
struct item_id {
  partition_key key{};
  std::string id{};

  friend bool operator==(item_id const&, item_id const&) = default;
};

/// The sentence that a compiler shows for a text that is gone when its expression is done.
template <class Text>
concept text_that_stays = std::convertible_to<Text, std::string_view> &&
                          (std::is_lvalue_reference_v<Text> || std::is_pointer_v<Text> ||
                           std::ranges::borrowed_range<Text>);

/// A text that stays where it is while it is looked at; nothing that owns one and is about to go.
class borrowed_text {
 public:
  constexpr borrowed_text() = default;
  template <class Text>
    requires(!std::same_as<std::remove_cvref_t<Text>, borrowed_text> && text_that_stays<Text>)
  constexpr borrowed_text(Text&& text) : text_{text} {}

  constexpr std::string_view view() const noexcept { return text_; }

 private:
  std::string_view text_{};
};

/// How a read is done.
struct read_options {
  /// What the read is to show at least; opaque, and empty where nothing is asked for. It lives
  /// until the read was called.
  borrowed_text session_token{};
  /// When the caller gives up; `errc::timed_out` then. For containers that have to be waited for.
  std::optional<instant> deadline{};
  /// Stopped when the caller no longer wants the answer; `errc::stopped` then.
  stop_token stop{};
};

namespace detail {

// Whatever `token_of` takes, looked at as a key; what makes one lives while it is looked at.
template <class Key>
partition_key_view view_of_key(Key const& key) {
  if constexpr (key_like<Key>) {
    return key;
  } else if constexpr (std::convertible_to<Key const&, std::span<key_value const>>) {
    return partition_key_view{std::span<key_value const>{key}};
  } else {
    return partition_key_view{key};
  }
}

template <class Key>
concept views_as_key = requires(Key const& key) { view_of_key(key); };

}  // namespace detail

}  // namespace keyspan
