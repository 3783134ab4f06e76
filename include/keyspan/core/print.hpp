// keyspan/core/print.hpp — `<<` for every value of this library that has a text, and `std::format`.
//
// A header of its own, so that only those who print pay for <ostream>.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/version.hpp>

#include <ostream>
#include <string_view>

#if KEYSPAN_STD_FORMAT
#include <format>
#endif

namespace keyspan {

/// Writes the value's text; width, fill and alignment of the stream apply to it as a whole.
template <textual T>
std::ostream& operator<<(std::ostream& out, T const& value) {
  auto const text = value.to_text();
  return out << std::string_view{text};
}

/// Writes the enumerator's name.
inline std::ostream& operator<<(std::ostream& out, errc code) { return out << name_of(code); }

/// Writes the text itself.
template <std::size_t Capacity>
std::ostream& operator<<(std::ostream& out, inline_text<Capacity> const& text) {
  return out << text.view();
}

}  // namespace keyspan

#if KEYSPAN_STD_FORMAT
template <keyspan::textual T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(T const& value, Context& context) const {
    auto const text = value.to_text();
    return std::formatter<std::string_view, char>::format(std::string_view{text}, context);
  }
};
#endif
