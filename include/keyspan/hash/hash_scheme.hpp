// keyspan/hash/hash_scheme.hpp — how a partition key becomes a place in a space.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

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

/// A scheme whose tokens are read from hexadecimal text: a token type alone need not know which
/// scheme's text it is, and a scheme may refuse what none of its keys can have.
template <class S>
concept hex_scheme = hash_scheme<S> && requires(S const& scheme, std::string_view text) {
  { scheme.from_hex(text) } -> std::same_as<result<typename S::token_type>>;
};

/// A scheme that knows where the keys lie that begin with some values.
template <class S>
concept prefix_scheme =
    hash_scheme<S> &&
    requires(S const& scheme, std::span<key_value const> values, std::size_t paths) {
      {
        scheme.prefix_bounds(values, paths)
      } -> std::same_as<result<token_bounds<typename S::token_type>>>;
    };

/// The upper end of a range of `scheme` from its text: FF is the end of the space.
/// Errors: those of the scheme's `from_hex`.
template <hex_scheme Scheme>
[[nodiscard]] constexpr result<upper_end<typename Scheme::token_type>> upper_end_from_hex(
    Scheme const& scheme, std::string_view text) {
  using end = upper_end<typename Scheme::token_type>;
  if (detail::is_text_of_space_end(text)) return end{space_end};
  return scheme.from_hex(text).transform([](auto const& at) { return end{at}; });
}

namespace detail {

// Only a hierarchical key has prefixes: of any other, some values say nothing about where it lies.
constexpr result<void> whole_key_of(std::size_t values, std::size_t paths) {
  if (values == paths) return {};
  return fail(errc::key_mismatch, "too ", values < paths ? "few" : "many", " values: the key has ",
              values, ", its container ", paths, paths == 1 ? " path" : " paths",
              values < paths ? ", and only a hierarchical key has prefixes" : "");
}

constexpr unexpected bounds_are_reversed() {
  return fail(errc::invalid_range, "the upper bound is not above the lower one");
}
constexpr unexpected nothing_between_bounds(std::size_t parts) {
  return fail(errc::invalid_range, "there is no room between the bounds for ", parts, " parts");
}

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
  // A token borrows nothing, so that text of a temporary will do.
  template <hash_scheme Scheme, key_input Value>
  constexpr auto operator()(Scheme const& scheme, Value const& value) const {
    return (*this)(scheme, key_value(value));
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

struct prefix_bounds_of_key {
  template <prefix_scheme Scheme>
  constexpr auto operator()(Scheme const& scheme, std::span<key_value const> values,
                            std::size_t paths) const {
    return scheme.prefix_bounds(values, paths);
  }
  template <prefix_scheme Scheme, key_like Key>
  constexpr auto operator()(Scheme const& scheme, Key const& key, std::size_t paths) const {
    return scheme.prefix_bounds(key.values(), paths);
  }
  template <prefix_scheme Scheme, key_input Value>
  constexpr auto operator()(Scheme const& scheme, Value const& value, std::size_t paths) const {
    key_value const borrowed(value);
    return scheme.prefix_bounds(std::span{&borrowed, 1}, paths);
  }
  template <prefix_scheme Scheme, key_like Key>
  constexpr result<token_bounds<typename Scheme::token_type>> operator()(Scheme const& scheme,
                                                                         result<Key> const& key,
                                                                         std::size_t paths) const {
    if (!key) return unexpected{key.error()};
    return scheme.prefix_bounds(key->values(), paths);
  }
};

}  // namespace detail

/// The token of a key, of a span of values, or of one value, `token_of(cosmos_v2, "redmond")`,
/// which then has to be one: a finite number, well-formed UTF-8. Given a `result`, as an extractor
/// returns it, the token is a `result` too. Allocates nothing.
inline constexpr detail::token_of_key token_of{};

/// Where the keys lie that begin with this one, in a container of so many paths:
/// `prefix_bounds(cosmos_multihash, key, 3)`. A whole key has room for itself alone.
/// Errors: `key_mismatch` for more values than paths, and for fewer where the scheme hashes them
/// all at once.
inline constexpr detail::prefix_bounds_of_key prefix_bounds{};

}  // namespace keyspan
