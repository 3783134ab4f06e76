// keyspan/range/token_range.hpp — a half-open stretch of a space of tokens.
//
//   ------[==================)------>   a partition owns one, a feed reads one,
//      lower              upper         a lease guards one
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

using token_text = inline_text<51>;

constexpr token_text quoted_if_empty(std::string_view text) {
  return text.empty() ? token_text{"\"\""} : token_text{text};
}

// A token as a message names it: long ones are cut, so that two of them fit in an error.
template <token Token>
constexpr token_text text_of_token(Token const& token) {
  if constexpr (writes_hex<Token>) {
    auto const digits = token.to_hex();
    return quoted_if_empty(digits);
  } else if constexpr (std::convertible_to<Token const&, std::string_view>) {
    return quoted_if_empty(token);
  } else if constexpr (text_piece<Token>) {
    return token_text{token};
  } else if constexpr (textual<Token>) {
    auto const text = token.to_text();
    return quoted_if_empty(text);
  } else {
    return token_text{"(a token without a text)"};
  }
}

template <token Token>
constexpr token_text text_of_token(upper_end<Token> const& end) {
  if (!end.is_space_end()) return text_of_token(end.at());
  return writes_hex<Token> ? token_text{"FF"} : token_text{"the end"};
}

// Where a stretch ends: at a token, or, where there is none, at the end of the space.
template <token Token>
constexpr Token const* token_at(upper_end<Token> const& end) {
  return end.is_space_end() ? nullptr : std::addressof(end.at());
}

constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The texts of both ends of a stretch. Where they are long and begin alike, what they have in
// common is left out of the middle: ends that look the same tell nobody where the stretch is.
template <token Token>
struct stretch_text {
  constexpr stretch_text(Token const* from, Token const* to)
      : lower{text_of_end(from)}, upper{text_of_end(to)} {
    if (from == nullptr || to == nullptr || lower != upper) return;
    if constexpr (writes_hex<Token>) {
      auto const a = from->to_hex();
      auto const b = to->to_hex();
      tell_apart(a, b);
    } else if constexpr (std::convertible_to<Token const&, std::string_view>) {
      tell_apart(*from, *to);
    } else if constexpr (!text_piece<Token> && textual<Token>) {
      auto const a = from->to_text();
      auto const b = to->to_text();
      tell_apart(a, b);
    }
  }
  constexpr stretch_text(upper_end<Token> const& from, upper_end<Token> const& to)
      : stretch_text{token_at(from), token_at(to)} {}
  constexpr stretch_text(Token const& from, upper_end<Token> const& to)
      : stretch_text{std::addressof(from), token_at(to)} {}
  constexpr stretch_text(Token const& from, Token const& to)
      : stretch_text{std::addressof(from), std::addressof(to)} {}

  token_text lower;
  token_text upper;

 private:
  static constexpr token_text text_of_end(Token const* token) {
    return token != nullptr ? text_of_token(*token) : text_of_token(upper_end<Token>{space_end});
  }

  constexpr void tell_apart(std::string_view a, std::string_view b) {
    if (a == b) return;
    std::size_t const shared = (std::min)(a.size(), b.size());
    std::size_t differ = 0;
    while (differ < shared && a[differ] == b[differ]) ++differ;
    constexpr std::size_t head = 12;
    constexpr std::size_t context = 8;
    if (differ < head + context) return;
    lower = shortened(a, head, differ - context);
    upper = shortened(b, head, differ - context);
  }
  static constexpr token_text shortened(std::string_view text, std::size_t head, std::size_t tail) {
    while (head > 0 && continues_character(text[head])) --head;
    while (tail < text.size() && continues_character(text[tail])) ++tail;
    return {text.substr(0, head), "\xE2\x80\xA6", text.substr(tail)};
  }
};

template <class T>
concept tells_token = token<T> && (writes_hex<T> || text_piece<T> || textual<T>);

}  // namespace detail

/// The tokens `t` with `lower <= t < upper`. Never empty: a range exists to be owned by somebody.
template <token Token>
class token_range {
 public:
  using token_type = Token;

  /// Requires `lower < upper`.
  constexpr token_range(Token lower, upper_end<Token> upper)
      : lower_{std::move(lower)}, upper_{std::move(upper)} {
    expects(upper_ > lower_, "a token range holds at least one token");
  }
  /// Requires bounds that enclose a token.
  constexpr explicit token_range(token_bounds<Token> bounds)
      : token_range{std::move(bounds.lower), std::move(bounds.upper)} {}

  /// The range between bounds that came from somewhere else.
  /// Errors: `invalid_range`, naming both, where they enclose nothing.
  [[nodiscard]] static constexpr result<token_range> from(Token lower, upper_end<Token> upper) {
    if (upper > lower) return token_range{std::move(lower), std::move(upper)};
    detail::stretch_text<Token> const text{lower, upper};
    return fail(errc::invalid_range, "there is no token from ", text.lower, " on and before ",
                text.upper);
  }
  [[nodiscard]] static constexpr result<token_range> from(token_bounds<Token> bounds) {
    return from(std::move(bounds.lower), std::move(bounds.upper));
  }

  constexpr Token const& lower() const noexcept { return lower_; }
  /// A token, or the end of the space.
  constexpr upper_end<Token> const& upper() const noexcept { return upper_; }

  constexpr bool contains(Token const& t) const { return lower_ <= t && upper_ > t; }
  /// Whether every token of `part` is a token of this range.
  constexpr bool contains(token_range const& part) const {
    return lower_ <= part.lower_ && part.upper_ <= upper_;
  }

  /// "[05C1…, FF)", cut where a token's text is long: at the end, or, where both bounds begin
  /// alike, in the middle. The least token is "".
  constexpr inline_text<112> to_text() const
    requires detail::tells_token<Token>
  {
    detail::stretch_text<Token> const text{lower_, upper_};
    return inline_text<112>{"[", text.lower, ", ", text.upper, ")"};
  }

  friend bool operator==(token_range const&, token_range const&) = default;
  /// By the lower bound, then by the upper one.
  friend auto operator<=>(token_range const&, token_range const&) = default;

 private:
  Token lower_;
  upper_end<Token> upper_;
};

template <token Token>
token_range(Token, Token) -> token_range<Token>;
template <token Token>
token_range(Token, space_end_type) -> token_range<Token>;

/// All tokens of a scheme, the greatest included.
template <hash_scheme Scheme>
[[nodiscard]] constexpr token_range<token_of_scheme<Scheme>> whole_space(Scheme const& scheme) {
  return {scheme.minimum(), space_end};
}

/// The range between two texts as a service lists them: "" is the least token, FF the end.
/// Errors: those of the scheme's `from_hex`; `invalid_range` where the texts enclose nothing.
template <hex_scheme Scheme>
[[nodiscard]] constexpr result<token_range<token_of_scheme<Scheme>>> range_from_hex(
    Scheme const& scheme, std::string_view lower, std::string_view upper) {
  auto const first = scheme.from_hex(lower);
  if (!first) return unexpected{first.error()};
  auto const end = upper_end_from_hex(scheme, upper);
  if (!end) return unexpected{end.error()};
  return token_range<token_of_scheme<Scheme>>::from(*first, *end);
}

/// Whether some token is in both.
template <token Token>
[[nodiscard]] constexpr bool overlaps(token_range<Token> const& a, token_range<Token> const& b) {
  return b.upper() > a.lower() && a.upper() > b.lower();
}

/// Whether `right` begins where `left` ends.
template <token Token>
[[nodiscard]] constexpr bool adjacent(token_range<Token> const& left,
                                      token_range<Token> const& right) {
  return left.upper() == right.lower();
}

/// The tokens that are in both; none where there are none.
template <token Token>
[[nodiscard]] constexpr std::optional<token_range<Token>> intersection(
    token_range<Token> const& a, token_range<Token> const& b) {
  if (!overlaps(a, b)) return std::nullopt;
  return token_range<Token>{(std::max)(a.lower(), b.lower()), (std::min)(a.upper(), b.upper())};
}

/// Cuts `whole` in two at `at`, which becomes the first token of the right part.
/// Requires `whole.lower() < at < whole.upper()`. Joining the parts gives `whole` back.
template <token Token>
[[nodiscard]] constexpr std::pair<token_range<Token>, token_range<Token>> split(
    token_range<Token> const& whole, std::type_identity_t<Token> const& at) {
  expects(whole.lower() < at && whole.upper() > at, "a range is cut inside, not on a border");
  return {{whole.lower(), at}, {at, whole.upper()}};
}

/// Cuts `whole` at each of `cuts` and returns the parts in token order.
/// Requires rising cuts inside of `whole`.
template <token Token>
[[nodiscard]] constexpr std::vector<token_range<Token>> split(
    token_range<Token> const& whole, std::type_identity_t<std::span<Token const>> cuts) {
  std::vector<token_range<Token>> parts;
  parts.reserve(cuts.size() + 1);
  auto const* rest = &whole.lower();
  for (Token const& at : cuts) {
    expects(*rest < at && whole.upper() > at, "the cuts rise, inside of the range");
    parts.emplace_back(*rest, at);
    rest = &at;
  }
  parts.emplace_back(*rest, whole.upper());
  return parts;
}

template <token Token>
[[nodiscard]] constexpr std::vector<token_range<Token>> split(
    token_range<Token> const& whole, std::type_identity_t<std::initializer_list<Token>> cuts) {
  return split(whole, std::span<Token const>{cuts.begin(), cuts.size()});
}

/// The range of both. Requires that `right` begins where `left` ends.
template <token Token>
[[nodiscard]] constexpr token_range<Token> join(token_range<Token> const& left,
                                                token_range<Token> const& right) {
  expects(adjacent(left, right), "ranges that are joined are neighbours");
  return {left.lower(), right.upper()};
}

}  // namespace keyspan

/// Equal ranges hash alike.
template <class Token>
struct std::hash<keyspan::token_range<Token>> {
  std::size_t operator()(keyspan::token_range<Token> const& range) const noexcept {
    std::size_t const lower = std::hash<Token>{}(range.lower());
    std::size_t const upper = std::hash<keyspan::upper_end<Token>>{}(range.upper());
    return (lower ^ lower >> 17) * static_cast<std::size_t>(0x9E37'79B9'7F4A'7C15u) ^ upper;
  }
};
