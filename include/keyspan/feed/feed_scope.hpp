// keyspan/feed/feed_scope.hpp — which keys are read: all, those of a range, one, or all under a
// prefix.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/token_range.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace keyspan {

/// The type of `whole_container`.
struct whole_container_type {
  explicit constexpr whole_container_type() = default;
  friend constexpr bool operator==(whole_container_type, whole_container_type) = default;
};
/// All keys.
inline constexpr whole_container_type whole_container{};

/// All keys that begin with these values, in a container of so many paths.
struct key_prefix {
  partition_key values{};
  std::size_t paths = 0;

  friend bool operator==(key_prefix const&, key_prefix const&) = default;
};

/// Which keys a feed reads: `whole_container`, a `token_range`, one `partition_key`, or all under a
/// `key_prefix`.
template <token Token>
using feed_scope =
    std::variant<whole_container_type, token_range<Token>, partition_key, key_prefix>;

/// What a scope comes down to: a range of tokens, and where it is one key, that key.
template <token Token>
struct scope_bounds {
  token_range<Token> range;
  std::optional<partition_key> key{};

  friend bool operator==(scope_bounds const&, scope_bounds const&) = default;
};

namespace detail {

// A token that other keys may have as well: where a scheme cannot say what follows it, the key is
// looked for from its token on.
template <hash_scheme Scheme>
constexpr result<token_range<token_of_scheme<Scheme>>> range_of_key(Scheme const& scheme,
                                                                    partition_key const& key) {
  using range = token_range<token_of_scheme<Scheme>>;
  if constexpr (splittable_scheme<Scheme>) {
    // No values: a key of its own here, and never the prefix of all.
    if (key.empty()) return range{scheme.minimum(), scheme.successor(scheme.minimum())};
  }
  if constexpr (prefix_scheme<Scheme>) {
    auto bounds = prefix_bounds(scheme, key, key.size());
    if (!bounds) return unexpected{bounds.error()};
    return range::from(*std::move(bounds));
  } else {
    result<token_of_scheme<Scheme>> const token = token_of(scheme, key);
    if (!token) return unexpected{token.error()};
    if constexpr (splittable_scheme<Scheme>) {
      return range{*token, scheme.successor(*token)};
    } else {
      return range{*token, space_end};
    }
  }
}

}  // namespace detail

/// The range of tokens where the keys of a scope lie. Errors: `key_mismatch` for a prefix in a
/// scheme whose keys have none, and those of `prefix_bounds` and `token_of`.
template <hash_scheme Scheme>
[[nodiscard]] result<scope_bounds<token_of_scheme<Scheme>>> scope_of(
    Scheme const& scheme, feed_scope<token_of_scheme<Scheme>> scope) {
  using bounds = scope_bounds<token_of_scheme<Scheme>>;
  using range_type = token_range<token_of_scheme<Scheme>>;
  if (auto* const range = std::get_if<range_type>(&scope)) return bounds{std::move(*range)};
  if (auto* const key = std::get_if<partition_key>(&scope)) {
    auto range = detail::range_of_key(scheme, *key);
    if (!range) return unexpected{range.error()};
    return bounds{*std::move(range), std::move(*key)};
  }
  if (auto* const prefix = std::get_if<key_prefix>(&scope)) {
    if constexpr (prefix_scheme<Scheme>) {
      auto range = prefix_bounds(scheme, prefix->values, prefix->paths);
      if (!range) return unexpected{range.error()};
      return range_type::from(*std::move(range)).transform([](range_type found) {
        return bounds{std::move(found)};
      });
    } else {
      return fail(errc::key_mismatch, "keys of scheme ", std::string_view{scheme.name()},
                  " have no prefixes: read the whole container, or one key");
    }
  }
  return bounds{whole_space(scheme)};
}

}  // namespace keyspan
