// keyspan/lease/session_id.hpp — who a host is from one start to its end: a number drawn anew each
// time, so that a restarted host is never taken for the one it was.
#pragma once

#include <keyspan/core/text.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace keyspan {

/// The name of one run of one host. Draw it at random, from all 64 bits, when the host starts; 0 is
/// nobody.
struct session_id {
  std::uint64_t value = 0;

  /// Whether it names somebody.
  constexpr explicit operator bool() const noexcept { return value != 0; }

  /// Sixteen hexadecimal digits in lower case: "00000000000000ff".
  constexpr inline_text<16> to_text() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<char, 16> text{};
    for (std::size_t i = 0; i < text.size(); ++i)
      text[i] = digits[static_cast<std::size_t>(value >> (60 - 4 * i) & 15)];
    return inline_text<16>{std::string_view{text.data(), text.size()}};
  }
  /// The session that a text names; none where it is not such a text.
  static constexpr std::optional<session_id> from_text(std::string_view text) {
    if (text.size() != 16) return std::nullopt;
    session_id made;
    for (char const c : text) {
      bool const is_digit = c >= '0' && c <= '9';
      if (!is_digit && (c < 'a' || c > 'f')) return std::nullopt;
      made.value = made.value << 4 | static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
    }
    return made;
  }

  friend constexpr auto operator<=>(session_id const&, session_id const&) = default;
};

/// Nobody.
inline constexpr session_id no_session{};
/// Somebody of whom nothing is known, and who is waited for as for everybody else. No host is
/// called so.
inline constexpr session_id departed_session{~std::uint64_t{0}};

}  // namespace keyspan

/// Equal sessions hash alike.
template <>
struct std::hash<keyspan::session_id> {
  std::size_t operator()(keyspan::session_id const& session) const noexcept {
    return std::hash<std::uint64_t>{}(session.value);
  }
};
