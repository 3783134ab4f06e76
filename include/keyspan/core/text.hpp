// keyspan/core/text.hpp — short text that lives inline, and the one way to ask a value for its
// text.
//
// Errors and tokens carry their text in themselves: no allocation, usable in constant expressions,
// copied like an int.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace keyspan {

namespace detail {
// A wide character or a char8_t is neither a number nor a piece of UTF-8 by itself.
template <class T>
concept odd_character = std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                        std::same_as<T, char16_t> || std::same_as<T, char32_t>;
}  // namespace detail

/// What a text is put together from: text, a char, or an integer. A bool or a character of another
/// encoding is none, for nobody could tell in which form it should appear.
template <class Piece>
concept text_piece =
    std::convertible_to<Piece const&, std::string_view> ||
    (std::integral<Piece> && !std::same_as<Piece, bool> && !detail::odd_character<Piece>);

/// At most `Capacity` bytes of UTF-8 held in the object. What does not fit is cut at a character
/// and marked with "…", so that a cut text is seen to be one.
template <std::size_t Capacity>
class inline_text {
  static_assert(Capacity >= 3 && Capacity <= 0xFFFF,
                "room for the mark of a cut, and a short size");

 public:
  constexpr inline_text() = default;

  /// The pieces one after another: text as it is, a char as a character, other integers in decimal.
  /// Text converts by itself, a lone number does not.
  template <text_piece... Pieces>
    requires(sizeof...(Pieces) > 0)
  constexpr explicit(sizeof...(Pieces) == 1 &&
                     !(std::convertible_to<Pieces const&, std::string_view> && ...))
      inline_text(Pieces const&... pieces) {
    append(pieces...);
  }

  /// Adds the pieces at the end. Once something was cut nothing more is added.
  template <text_piece... Pieces>
  constexpr inline_text& append(Pieces const&... pieces) {
    (append_one(pieces), ...);
    return *this;
  }

  constexpr std::string_view view() const noexcept {
    // Told to the optimiser, which otherwise warns of a copy that cannot happen.
    return {bytes_, (std::min)(std::size_t{size_}, Capacity)};
  }
  constexpr operator std::string_view() const noexcept { return view(); }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Whether something did not fit.
  constexpr bool is_cut() const noexcept { return cut_; }
  static constexpr std::size_t capacity() noexcept { return Capacity; }

  friend constexpr bool operator==(inline_text const& a, inline_text const& b) noexcept {
    return a.view() == b.view();
  }
  friend constexpr std::strong_ordering operator<=>(inline_text const& a,
                                                    inline_text const& b) noexcept {
    return a.view() <=> b.view();
  }
  // Another text is compared as it is: made an inline_text first it could be cut.
  template <std::convertible_to<std::string_view> Text>
    requires(!std::same_as<Text, inline_text>)
  friend constexpr bool operator==(inline_text const& a, Text const& b) noexcept {
    return a.view() == std::string_view(b);
  }
  template <std::convertible_to<std::string_view> Text>
    requires(!std::same_as<Text, inline_text>)
  friend constexpr std::strong_ordering operator<=>(inline_text const& a, Text const& b) noexcept {
    return a.view() <=> std::string_view(b);
  }

 private:
  template <class Piece>
  constexpr void append_one(Piece const& piece) {
    if constexpr (std::convertible_to<Piece const&, std::string_view>) {
      append_bytes(piece);
    } else if constexpr (std::same_as<Piece, char>) {
      append_bytes({&piece, 1});
    } else {
      append_decimal(piece);
    }
  }

  template <std::integral Integer>
  constexpr void append_decimal(Integer value) {
    // Digits are taken from the negative side, where the smallest value has room too.
    char digits[std::numeric_limits<Integer>::digits10 + 2]{};  // one more digit, and a sign
    std::size_t first = sizeof digits;
    bool const negative = std::is_signed_v<Integer> && value < 0;
    do {
      int const digit = static_cast<int>(value % 10);
      digits[--first] = static_cast<char>('0' + (digit < 0 ? -digit : digit));
      value = static_cast<Integer>(value / 10);
    } while (value != 0);
    if (negative) digits[--first] = '-';
    append_bytes({digits + first, sizeof digits - first});
  }

  constexpr void append_bytes(std::string_view more) {
    if (cut_) return;
    std::size_t const fits = (std::min)(more.size(), Capacity - size_);
    std::copy_n(more.data(), fits, bytes_ + size_);
    size_ = static_cast<std::uint16_t>(size_ + fits);
    if (fits == more.size()) return;
    cut_ = true;
    std::size_t end = Capacity - mark.size();
    while (end > 0 && (static_cast<unsigned char>(bytes_[end]) & 0xC0) == 0x80) --end;
    std::copy(mark.begin(), mark.end(), bytes_ + end);
    size_ = static_cast<std::uint16_t>(end + mark.size());
  }

  static constexpr std::string_view mark = "\xE2\x80\xA6";

  std::uint16_t size_ = 0;
  bool cut_ = false;
  char bytes_[Capacity]{};
};

/// A value that can say itself in text: `value.to_text()` gives something that reads as a
/// `std::string_view`.
template <class T>
concept textual = requires(T const& value) {
  { value.to_text() } -> std::convertible_to<std::string_view>;
};

namespace detail {
struct to_text_of {
  template <textual T>
  constexpr auto operator()(T const& value) const {
    return value.to_text();
  }
};
}  // namespace detail

/// The text of a value, to pass around: `std::views::transform(tokens, keyspan::to_text)`.
inline constexpr detail::to_text_of to_text{};

}  // namespace keyspan

/// Equal texts hash alike, and like the `std::string_view` of the same characters.
template <std::size_t Capacity>
struct std::hash<keyspan::inline_text<Capacity>> {
  std::size_t operator()(keyspan::inline_text<Capacity> const& text) const noexcept {
    return std::hash<std::string_view>{}(text.view());
  }
};
