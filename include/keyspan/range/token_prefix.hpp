// keyspan/range/token_prefix.hpp — the first 64 bits of a token, in the order of the tokens.
//
// A table over them finds the range of a token that is a hash in one step, however the ranges were
// cut.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace keyspan {

namespace detail {

template <class T>
concept tells_prefix = requires(T const& token) {
  { token.token_prefix() } -> std::same_as<std::uint64_t>;
};

// Texts whose order is that of their characters: what merely turns into a text may have another.
template <class T>
inline constexpr bool is_text = false;
template <>
inline constexpr bool is_text<std::string_view> = true;
template <class Allocator>
inline constexpr bool is_text<std::basic_string<char, std::char_traits<char>, Allocator>> = true;
template <std::size_t Capacity>
inline constexpr bool is_text<inline_text<Capacity>> = true;

template <class T>
concept text_token = is_text<T>;

struct token_prefix_of {
  template <integer_token Token>
  constexpr std::uint64_t operator()(Token token) const noexcept {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    if constexpr (std::is_signed_v<Token>)
      return static_cast<std::uint64_t>(std::int64_t{token}) ^ sign;
    else
      return token;
  }
  template <std::same_as<token128> Token>
  constexpr std::uint64_t operator()(Token const& token) const noexcept {
    return token.high;
  }
  template <std::size_t Capacity, token_order Order>
  constexpr std::uint64_t operator()(token_bytes<Capacity, Order> const& token) const noexcept {
    return first_word(token.bytes());
  }
  // Tokens of different schemes lie apart, in the order of the schemes.
  template <std::same_as<any_token> Token>
  constexpr std::uint64_t operator()(Token const& token) const noexcept {
    std::uint64_t prefix = 0;
    if (auto const* const v1 = token.template get_if<token_v1>()) prefix = first_word(v1->bytes());
    if (auto const* const v2 = token.template get_if<token128>()) prefix = v2->high;
    if (auto const* const many = token.template get_if<token_multihash>())
      prefix = first_word(many->bytes());
    return static_cast<std::uint64_t>(token.scheme()) << 62 | prefix >> 2;
  }
  // The characters of a text compare as bytes without a sign.
  template <text_token Token>
  constexpr std::uint64_t operator()(Token const& token) const noexcept {
    return first_word(std::string_view(token));
  }
  template <tells_prefix Token>
  constexpr std::uint64_t operator()(Token const& token) const
      noexcept(noexcept(token.token_prefix())) {
    return token.token_prefix();
  }

 private:
  template <class Bytes>
  static constexpr std::uint64_t first_word(Bytes const& bytes) noexcept {
    if (bytes.size() >= 8) return load_be<std::uint64_t>(bytes.data());
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (56 - 8 * i);
    return word;
  }
};

}  // namespace detail

/// 64 bits that never fall where tokens rise: a token of a greater prefix is greater, tokens of one
/// prefix need another look. An integer is its own, a `token128` has its high word, bytes and text
/// their first eight bytes. A token of one's own may have a member
/// `std::uint64_t token_prefix() const`; that it turns into one of these types does not do, for it
/// may have an order of its own. Allocates nothing.
inline constexpr detail::token_prefix_of token_prefix{};

/// A token that has such bits. A map of tokens that have none finds them by binary search.
template <class T>
concept prefixed_token = token<T> && requires(T const& t) {
  { token_prefix(t) } -> std::same_as<std::uint64_t>;
};

}  // namespace keyspan
