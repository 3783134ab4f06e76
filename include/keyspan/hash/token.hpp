// keyspan/hash/token.hpp — a place in a space, and the end behind the last one.
//
//   minimum                                         end
//      [------------------------------------------->)
//        every token is less than the end, so ranges up to it hold the greatest token as well
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

/// A place in a space: anything that can be copied and is totally ordered. Integers are tokens.
///
/// Laws: the order is a strict total order, and `==` says what it calls equal.
template <class T>
concept token = std::copyable<T> && std::totally_ordered<T> && std::is_object_v<T> &&
                !std::is_pointer_v<T> &&  // in the order of addresses, whatever they point at
                requires(T const& a, T const& b) {
                  { a <=> b } -> std::convertible_to<std::weak_ordering>;
                };

/// A token whose text is its bytes in hexadecimal.
template <class T>
concept hex_token = token<T> && requires(T const& t, std::string_view text) {
  { t.to_hex() } -> std::convertible_to<std::string_view>;
  { T::from_hex(text) } -> std::same_as<result<T>>;
};

namespace detail {
template <class T>
concept writes_hex = requires(T const& t) {
  { t.to_hex() } -> std::convertible_to<std::string_view>;
};
}  // namespace detail

/// The type of `space_end`.
struct space_end_type {
  explicit constexpr space_end_type() = default;
  friend constexpr bool operator==(space_end_type, space_end_type) = default;
  friend constexpr std::strong_ordering operator<=>(space_end_type, space_end_type) = default;
};

/// What is greater than every token of every space; Cosmos DB writes it FF.
inline constexpr space_end_type space_end{};

namespace detail {

// A token or none. Where there is a token to put in its place none is no optional: a compiler that
// looks through one warns of values that are never read.
template <class Token>
class token_or_none : public std::optional<Token> {
 public:
  using std::optional<Token>::optional;
};
template <std::default_initializable Token>
class token_or_none<Token> {
 public:
  constexpr token_or_none() = default;
  constexpr explicit token_or_none(Token token) : token_{std::move(token)}, is_one_{true} {}
  constexpr bool has_value() const noexcept { return is_one_; }
  constexpr Token const& operator*() const noexcept { return token_; }

 private:
  Token token_{};
  bool is_one_ = false;
};

constexpr bool is_text_of_space_end(std::string_view text) {
  return text.size() == 2 && (text[0] == 'F' || text[0] == 'f') &&
         (text[1] == 'F' || text[1] == 'f');
}

constexpr unexpected space_end_is_no_token() {
  return fail(errc::not_representable,
              "FF is the end of the space and no token; read it as an upper_end");
}

}  // namespace detail

/// Where a range of tokens ends: before a token, or nowhere before the space does.
template <token Token>
class upper_end {
 public:
  constexpr upper_end(Token at) : at_{std::move(at)} {}
  constexpr upper_end(space_end_type) {}

  constexpr bool is_space_end() const noexcept { return !at_.has_value(); }
  /// Requires `!is_space_end()`.
  constexpr Token const& at() const {
    expects(at_.has_value(), "the range ends before the space does");
    return *at_;
  }

  /// The token's text, or FF.
  constexpr auto to_hex() const
    requires detail::writes_hex<Token>
  {
    using text = decltype((*at_).to_hex());
    return is_space_end() ? text{std::string_view{"FF"}} : (*at_).to_hex();
  }
  constexpr auto to_text() const
    requires detail::writes_hex<Token>
  {
    return to_hex();
  }
  /// What `to_hex` wrote. Errors: those of the token's own `from_hex`.
  [[nodiscard]] static constexpr result<upper_end> from_hex(std::string_view text)
    requires hex_token<Token>
  {
    if (detail::is_text_of_space_end(text)) return upper_end{space_end};
    auto const at = Token::from_hex(text);
    if (!at) return unexpected{at.error()};
    return upper_end{*at};
  }

  friend constexpr bool operator==(upper_end const& a, upper_end const& b) {
    if (a.is_space_end() || b.is_space_end()) return a.is_space_end() == b.is_space_end();
    return *a.at_ == *b.at_;
  }
  friend constexpr auto operator<=>(upper_end const& a, upper_end const& b)
      -> std::compare_three_way_result_t<Token> {
    if (a.is_space_end() || b.is_space_end()) return a.is_space_end() <=> b.is_space_end();
    return *a.at_ <=> *b.at_;
  }
  friend constexpr bool operator==(upper_end const& a, Token const& b) {
    return !a.is_space_end() && *a.at_ == b;
  }
  friend constexpr auto operator<=>(upper_end const& a, Token const& b)
      -> std::compare_three_way_result_t<Token> {
    if (a.is_space_end()) return std::strong_ordering::greater;
    return *a.at_ <=> b;
  }

 private:
  detail::token_or_none<Token> at_{};
};

/// The tokens from `lower` on and before `upper`.
template <token Token>
struct token_bounds {
  Token lower;
  upper_end<Token> upper;

  constexpr bool contains(Token const& t) const { return lower <= t && upper > t; }

  friend bool operator==(token_bounds const&, token_bounds const&) = default;
};

namespace detail {

struct to_hex_of {
  template <writes_hex T>
  constexpr auto operator()(T const& t) const {
    return t.to_hex();
  }
  // An error passes through, so that the text of a failure is that failure.
  template <writes_hex T>
  constexpr auto operator()(result<T> const& t) const {
    return t.transform([](T const& value) { return value.to_hex(); });
  }
};

template <hex_token Token>
struct from_hex_to {
  [[nodiscard]] constexpr result<Token> operator()(std::string_view text) const {
    return Token::from_hex(text);
  }
};

}  // namespace detail

/// A token's or an upper end's bytes in upper-case hexadecimal, as the service writes them; the
/// minimum is the empty text. Given a `result`, the text is a `result` too. Allocates nothing.
inline constexpr detail::to_hex_of to_hex{};

/// The token whose hexadecimal text this is, in either case.
/// Errors: `malformed`, `too_large`; `not_representable` for FF, which is the end and no token.
template <hex_token Token>
inline constexpr detail::from_hex_to<Token> from_hex{};

}  // namespace keyspan

/// Equal ends hash alike, and like their tokens.
template <class Token>
struct std::hash<keyspan::upper_end<Token>> {
  std::size_t operator()(keyspan::upper_end<Token> const& end) const noexcept {
    return end.is_space_end() ? ~std::size_t{} : std::hash<Token>{}(end.at());
  }
};
