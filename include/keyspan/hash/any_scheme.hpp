// keyspan/hash/any_scheme.hpp — the scheme of a Cosmos DB container, known only when it is opened.
//
// Gives the tokens that the fixed schemes give, in one type that holds any of them inline. Where
// the program knows the scheme, the fixed one is smaller and faster.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace keyspan {

/// The schemes that Cosmos DB's containers have.
enum class cosmos_scheme : std::uint8_t { v1, v2, multihash };

namespace detail {
template <class T>
concept cosmos_token =
    std::same_as<T, token_v1> || std::same_as<T, token128> || std::same_as<T, token_multihash>;
}  // namespace detail

/// A token of one of Cosmos DB's schemes. Tokens of different schemes are unequal and sort by
/// scheme, so that all of them have one order; between two containers it means nothing.
class any_token {
  // First, for not every compiler evaluates a call of it above.
  template <class F>
  constexpr auto visit(F&& f) const -> std::invoke_result_t<F, token128 const&> {
    switch (scheme_) {
      case cosmos_scheme::v1:
        return f(held_.v1);
      case cosmos_scheme::v2:
        return f(held_.v2);
      case cosmos_scheme::multihash:
        break;
    }
    return f(held_.multihash);
  }

 public:
  constexpr explicit any_token(token_v1 const& t) : held_{t}, scheme_{cosmos_scheme::v1} {}
  constexpr explicit any_token(token128 const& t) : held_{t}, scheme_{cosmos_scheme::v2} {}
  constexpr explicit any_token(token_multihash const& t)
      : held_{t}, scheme_{cosmos_scheme::multihash} {}

  constexpr cosmos_scheme scheme() const noexcept { return scheme_; }

  /// The token in its own type, or null where it is one of another scheme.
  template <detail::cosmos_token Token>
  constexpr Token const* get_if() const noexcept {
    if constexpr (std::same_as<Token, token_v1>) {
      return scheme_ == cosmos_scheme::v1 ? &held_.v1 : nullptr;
    } else if constexpr (std::same_as<Token, token128>) {
      return scheme_ == cosmos_scheme::v2 ? &held_.v2 : nullptr;
    } else {
      return scheme_ == cosmos_scheme::multihash ? &held_.multihash : nullptr;
    }
  }

  /// The text of the token that is held; it does not say which scheme that is.
  constexpr inline_text<2 * token_v1::capacity()> to_hex() const {
    return visit([](auto const& t) {
      return inline_text<2 * token_v1::capacity()>{std::string_view{t.to_hex()}};
    });
  }
  constexpr inline_text<2 * token_v1::capacity()> to_text() const { return to_hex(); }

  /// That of the token that is held.
  constexpr std::uint64_t placement_key() const noexcept {
    return visit([](auto const& t) { return keyspan::placement_key(t); });
  }

  friend constexpr bool operator==(any_token const& a, any_token const& b) noexcept {
    return a.scheme_ == b.scheme_ &&
           a.visit([&](auto const& t) { return t == *b.get_if<std::decay_t<decltype(t)>>(); });
  }
  friend constexpr std::strong_ordering operator<=>(any_token const& a,
                                                    any_token const& b) noexcept {
    if (a.scheme_ != b.scheme_) return a.scheme_ <=> b.scheme_;
    return a.visit([&](auto const& t) { return t <=> *b.get_if<std::decay_t<decltype(t)>>(); });
  }

 private:
  friend struct std::hash<any_token>;

  union storage {
    constexpr explicit storage(token_v1 const& t) : v1{t} {}
    constexpr explicit storage(token128 const& t) : v2{t} {}
    constexpr explicit storage(token_multihash const& t) : multihash{t} {}

    token_v1 v1;
    token128 v2;
    token_multihash multihash;
  };

  storage held_;
  cosmos_scheme scheme_;
};

static_assert(std::is_trivially_copyable_v<any_token> && token<any_token>);

namespace detail {

template <class Scheme>
inline constexpr bool counts_paths = std::same_as<Scheme, cosmos_multihash_scheme>;

template <cosmos_token Token>
constexpr any_token as_any(Token const& t) {
  return any_token{t};
}
template <cosmos_token Token>
constexpr result<any_token> as_any(result<Token> const& t) {
  if (!t) return unexpected{t.error()};
  return any_token{*t};
}
template <cosmos_token Token>
constexpr upper_end<any_token> as_any(upper_end<Token> const& end) {
  if (end.is_space_end()) return space_end;
  return any_token{end.at()};
}

template <cosmos_token Token>
constexpr Token const& own_token(any_token const& t) {
  constexpr auto scheme = std::same_as<Token, token_v1>   ? cosmos_scheme::v1
                          : std::same_as<Token, token128> ? cosmos_scheme::v2
                                                          : cosmos_scheme::multihash;
  expects(t.scheme() == scheme, "a scheme is asked about its own tokens");
  return *t.get_if<Token>();
}
template <cosmos_token Token>
constexpr upper_end<Token> own_end(upper_end<any_token> const& end) {
  if (end.is_space_end()) return space_end;
  return own_token<Token>(end.at());
}

}  // namespace detail

/// One of Cosmos DB's schemes, chosen at run time.
class any_scheme {
  template <class F>
  constexpr auto visit(F&& f) const -> std::invoke_result_t<F, cosmos_v2_scheme> {
    switch (scheme_) {
      case cosmos_scheme::v1:
        return f(cosmos_v1);
      case cosmos_scheme::v2:
        return f(cosmos_v2);
      case cosmos_scheme::multihash:
        break;
    }
    return f(cosmos_multihash);
  }

  // What `f` gives for the fixed scheme and the bounds as its own tokens.
  template <class F>
  constexpr result<any_token> between(any_token const& lower, upper_end<any_token> const& upper,
                                      F const& f) const {
    return visit([&](auto scheme) {
      using own = typename decltype(scheme)::token_type;
      return detail::as_any(f(scheme, detail::own_token<own>(lower), detail::own_end<own>(upper)));
    });
  }

 public:
  using token_type = any_token;

  constexpr explicit(false) any_scheme(cosmos_v1_scheme) : scheme_{cosmos_scheme::v1} {}
  constexpr explicit(false) any_scheme(cosmos_v2_scheme) : scheme_{cosmos_scheme::v2} {}
  constexpr explicit(false) any_scheme(cosmos_multihash_scheme)
      : scheme_{cosmos_scheme::multihash} {}

  /// The scheme that a container's definition names by kind and version. An empty kind and no
  /// version stand for what the definition does not say: Hash, 1.
  /// Errors: `unsupported` for the old kind Range, and for all that is not known.
  [[nodiscard]] static constexpr result<any_scheme> of(
      std::string_view kind, std::optional<std::int64_t> version = std::nullopt) {
    std::int64_t const number = version.value_or(1);
    if (kind.empty() || kind == "Hash") {
      if (number == 1) return any_scheme{cosmos_v1};
      if (number == 2) return any_scheme{cosmos_v2};
      return fail(errc::unsupported, "kind Hash has versions 1 and 2, the container says ", number);
    }
    if (kind == "MultiHash") {
      if (number == 2) return any_scheme{cosmos_multihash};
      return fail(errc::unsupported, "kind MultiHash has version 2, the container says ", number,
                  version ? "" : " by naming none");
    }
    if (kind == "Range")
      return fail(errc::unsupported,
                  "kind Range is of old and hashes nothing; Hash and MultiHash are supported");
    return fail(errc::unsupported, "kind \"", kind.substr(0, 40),
                "\" is not known; Hash and MultiHash are supported");
  }

  constexpr cosmos_scheme scheme() const noexcept { return scheme_; }
  /// The name of the fixed scheme.
  [[nodiscard]] constexpr std::string_view name() const {
    return visit([](auto scheme) { return scheme.name(); });
  }

  /// The token that the fixed scheme gives. Requires three values at most of a hierarchical key.
  /// Errors: those of `cosmos_v1`.
  [[nodiscard]] constexpr result<any_token> token_of(std::span<key_value const> values) const {
    return visit(
        [&](auto scheme) -> result<any_token> { return detail::as_any(scheme.token_of(values)); });
  }

  [[nodiscard]] constexpr any_token minimum() const {
    return visit([](auto scheme) { return any_token{scheme.minimum()}; });
  }
  /// What follows the token. `paths` counts in hierarchical containers alone, here and below.
  /// Requires a token of this scheme, as all that follow do.
  [[nodiscard]] constexpr upper_end<any_token> successor(any_token const& t,
                                                         std::size_t paths = max_key_values) const {
    return visit([&](auto scheme) {
      auto const& own = detail::own_token<typename decltype(scheme)::token_type>(t);
      if constexpr (detail::counts_paths<decltype(scheme)>) {
        return detail::as_any(scheme.successor(own, paths));
      } else {
        return detail::as_any(scheme.successor(own));
      }
    });
  }
  /// The first token of partition `i` of `partitions` in a container that is made with so many.
  [[nodiscard]] constexpr any_token boundary(std::size_t i, std::size_t partitions) const {
    return visit([&](auto scheme) { return any_token{scheme.boundary(i, partitions)}; });
  }
  /// The first token of part `i` of `parts` equal parts. Errors: those of the fixed scheme.
  [[nodiscard]] constexpr result<any_token> cut_point(any_token const& lower,
                                                      upper_end<any_token> const& upper,
                                                      std::size_t i, std::size_t parts,
                                                      std::size_t paths = max_key_values) const {
    return between(lower, upper, [&](auto scheme, auto const& first, auto const& last) {
      if constexpr (detail::counts_paths<decltype(scheme)>) {
        return scheme.cut_point(first, last, i, parts, paths);
      } else {
        return scheme.cut_point(first, last, i, parts);
      }
    });
  }
  /// Where the service splits a range in two. Errors: those of the fixed scheme.
  [[nodiscard]] constexpr result<any_token> midpoint(any_token const& lower,
                                                     upper_end<any_token> const& upper,
                                                     std::size_t paths = max_key_values) const {
    return between(lower, upper, [&](auto scheme, auto const& first, auto const& last) {
      if constexpr (detail::counts_paths<decltype(scheme)>) {
        return scheme.midpoint(first, last, paths);
      } else {
        return scheme.midpoint(first, last);
      }
    });
  }
  /// Where all keys lie that begin with these values. Errors: those of the fixed scheme.
  [[nodiscard]] constexpr result<token_bounds<any_token>> prefix_bounds(
      std::span<key_value const> values, std::size_t paths) const {
    return visit([&](auto scheme) {
      return scheme.prefix_bounds(values, paths).transform([](auto const& bounds) {
        return token_bounds<any_token>{any_token{bounds.lower}, detail::as_any(bounds.upper)};
      });
    });
  }

  /// A token of this scheme from its text. Errors: those of the fixed scheme.
  [[nodiscard]] constexpr result<any_token> from_hex(std::string_view text) const {
    return visit([&](auto scheme) { return detail::as_any(scheme.from_hex(text)); });
  }

  friend constexpr bool operator==(any_scheme, any_scheme) = default;

 private:
  cosmos_scheme scheme_;
};

static_assert(splittable_scheme<any_scheme> && hex_scheme<any_scheme> && prefix_scheme<any_scheme>);

}  // namespace keyspan

/// Equal tokens hash alike.
template <>
struct std::hash<keyspan::any_token> {
  std::size_t operator()(keyspan::any_token const& t) const noexcept {
    return t.visit(
        [](auto const& held) { return std::hash<std::decay_t<decltype(held)>>{}(held); });
  }
};
