// keyspan/hash/hash_scheme.hpp — how a partition key becomes a place in a space.
#pragma once

#include <keyspan/core/result.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace keyspan {

namespace detail {
template <class T, class Token>
concept token_or_result = std::same_as<T, Token> || std::same_as<T, result<Token>>;
}  // namespace detail

/// Turns the values of a key into a token. A scheme whose every key has a token returns the token;
/// one that must refuse some keys returns a `result`.
///
/// Laws, checked by `law::check_hash_scheme`: equal keys have equal tokens; no token is less than
/// `minimum()`; the empty key, where the scheme takes it, has the token `minimum()`; nothing else
/// than the key and the scheme's own value decides.
template <class S>
concept hash_scheme =
    std::copyable<S> && std::equality_comparable<S> && token<typename S::token_type> &&
    requires(S const& scheme, std::span<key_value const> values) {
      { scheme.token_of(values) } -> detail::token_or_result<typename S::token_type>;
      { scheme.minimum() } -> std::same_as<typename S::token_type>;
      { scheme.name() } -> std::convertible_to<std::string_view>;
    };

/// The token type of a scheme.
template <hash_scheme S>
using token_of_scheme = typename S::token_type;

/// A scheme whose space can be shared out and cut: it knows the token that follows another, the
/// first tokens of `parts` equal parts, and the middle of a range.
///
/// Laws, checked by `law::check_splittable_scheme`: the successor of a token is greater than it;
/// boundary 0 is the minimum and boundaries rise; a midpoint lies between the bounds.
template <class S>
concept splittable_scheme =
    hash_scheme<S> && requires(S const& scheme, typename S::token_type const& t,
                               upper_end<typename S::token_type> const& end, std::size_t n) {
      { scheme.successor(t) } -> std::same_as<upper_end<typename S::token_type>>;
      { scheme.boundary(n, n) } -> std::same_as<typename S::token_type>;
      { scheme.midpoint(t, end) } -> std::same_as<result<typename S::token_type>>;
    };

namespace detail {

struct token_of_key {
  /// A token, or a result of one, as the scheme gives it.
  template <hash_scheme Scheme>
  constexpr auto operator()(Scheme const& scheme, std::span<key_value const> values) const {
    return scheme.token_of(values);
  }
  template <hash_scheme Scheme>
  constexpr auto operator()(Scheme const& scheme, key_value const& value) const {
    return scheme.token_of(std::span{&value, 1});
  }
  template <hash_scheme Scheme, key_like Key>
  constexpr auto operator()(Scheme const& scheme, Key const& key) const {
    return scheme.token_of(key.values());
  }
  // Where there is no key there is no token, for the same reason.
  template <hash_scheme Scheme, class Key>
    requires key_like<Key> || std::same_as<Key, key_value>
  constexpr result<typename Scheme::token_type> operator()(Scheme const& scheme,
                                                           result<Key> const& key) const {
    if (!key) return unexpected{key.error()};
    return (*this)(scheme, *key);
  }
};

}  // namespace detail

/// The token of a key, a value, or a span of values: `token_of(cosmos_v2, key)`. Given a `result`,
/// as an extractor returns it, the token is a `result` too. Allocates nothing.
inline constexpr detail::token_of_key token_of{};

}  // namespace keyspan
