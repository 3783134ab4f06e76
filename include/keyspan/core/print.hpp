// keyspan/core/print.hpp — `<<` for every value of this library that has a text, and `std::format`.
//
// A header of its own, so that only those who print pay for <ostream>.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/version.hpp>

#include <concepts>
#include <cstddef>
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
namespace keyspan {

// Found by argument-dependent lookup alone, so only by types that keyspan has a part in: a foreign
// type with a to_text() of its own keeps its own formatter.
template <textual T>
constexpr auto text_to_format(T const& value) {
  return value.to_text();
}
constexpr auto text_to_format(errc code) { return name_of(code); }
template <std::size_t Capacity>
constexpr auto text_to_format(inline_text<Capacity> const& text) {
  return text;
}

namespace detail::lookup {
void text_to_format();  // hides the ones above from ordinary lookup
template <class T>
concept formattable = requires(T const& value) {
  { text_to_format(value) } -> std::convertible_to<std::string_view>;
};
template <class T>
constexpr auto text_of(T const& value) {
  return text_to_format(value);
}
}  // namespace detail::lookup

}  // namespace keyspan

/// Formats the text; width, fill, alignment and precision apply to it as a whole.
template <keyspan::detail::lookup::formattable T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(T const& value, Context& context) const {
    auto const text = keyspan::detail::lookup::text_of(value);
    return std::formatter<std::string_view, char>::format(std::string_view{text}, context);
  }
};
#endif
