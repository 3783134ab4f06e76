// keyspan/hash/cosmos_multihash.hpp — Cosmos DB's hierarchical partition keys: one to three levels.
//
//   tenant            user              session        each value is hashed as in version 2, and
//   [ 16 bytes ]      [ 16 bytes ]      [ 16 bytes ]   the hashes stand one after another, so all
//                                                      keys of a tenant lie next to each other
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keyspan {

/// 16 bytes per value. The service writes one bound in several widths, so zeros at the end do not
/// count.
using token_multihash = token_bytes<16 * max_key_values, token_order::padded>;

namespace detail {

using multihash_groups = std::array<token128, max_key_values>;

constexpr multihash_groups groups_of(token_multihash const& token) {
  std::array<unsigned char, token_multihash::capacity()> bytes{};
  std::copy(token.bytes().begin(), token.bytes().end(), bytes.begin());
  multihash_groups groups;
  for (std::size_t i = 0; i < groups.size(); ++i)
    groups[i] = {load_be<std::uint64_t>(bytes.data() + 16 * i),
                 load_be<std::uint64_t>(bytes.data() + 16 * i + 8)};
  return groups;
}

constexpr token_multihash token_of_groups(std::span<token128 const> groups) {
  token_multihash made;
  token_writer to{made};
  for (token128 const& group : groups) {
    to.add_word(group.high);
    to.add_word(group.low);
  }
  return made;
}

}  // namespace detail

/// The scheme of containers whose definition says kind MultiHash.
class cosmos_multihash_scheme {
 public:
  using token_type = token_multihash;

  /// The token of a key or of a prefix; of no value, the minimum.
  /// Requires three values at most, which is all that a partition key can have.
  [[nodiscard]] static constexpr token_multihash token_of(std::span<key_value const> values) {
    expects(values.size() <= max_key_values, "a hierarchical key has at most three values");
    token_multihash made;
    detail::token_writer to{made};
    for (key_value const& value : values) {
      token128 const hash = detail::cosmos_v2_token_of(value);
      to.add_word(hash.high);
      to.add_word(hash.low);
    }
    return made;
  }

  /// No bytes, and an empty text.
  [[nodiscard]] static constexpr token_multihash minimum() { return {}; }
  [[nodiscard]] static constexpr std::string_view name() { return "cosmos_multihash"; }

  /// The next number of 16 bytes per path, the token's missing bytes being zeros; after the
  /// greatest number, the end of the space. For three paths it is right in every container; for the
  /// container's own number its text is the one that others write. Requires 1 to 3 paths.
  [[nodiscard]] static constexpr upper_end<token_multihash> successor(
      token_multihash const& t, std::size_t paths = max_key_values) {
    expects_paths(paths);
    auto groups = detail::groups_of(t);
    if (groups[0] > cosmos_v2_scheme::greatest()) return space_end;
    std::size_t const width = (std::max)(paths, (t.size() + 15) / 16);
    for (std::size_t i = width; i-- > 0;) {
      groups[i] = detail::sum(groups[i], {0, 1});
      if (groups[i] != token128{}) break;
    }
    if (groups[0] > cosmos_v2_scheme::greatest()) return space_end;
    return detail::token_of_groups(std::span{groups}.first(width));
  }

  /// The first token of partition `i` of `partitions` in a container that is made with so many.
  /// Requires `i < partitions`.
  [[nodiscard]] static constexpr token_multihash boundary(std::size_t i, std::size_t partitions) {
    token128 const first = cosmos_v2_scheme::boundary(i, partitions);
    return i == 0 ? minimum() : detail::token_of_groups({&first, 1});
  }

  /// The first token of part `i` of `parts` parts of equal size, cut at the first level that has
  /// room for so many: where the bounds lie within one tenant, between its users. Part 0 begins
  /// with `lower`. Requires `i < parts` and 1 to 3 paths.
  /// Errors: `invalid_range` where the bounds have no room for so many.
  [[nodiscard]] static constexpr result<token_multihash> cut_point(
      token_multihash const& lower, upper_end<token_multihash> const& upper, std::size_t i,
      std::size_t parts, std::size_t paths = max_key_values) {
    expects(i < parts, "a cut point is asked of one of the parts");
    expects_paths(paths);
    if (upper <= lower) return detail::bounds_are_reversed();
    auto groups = detail::groups_of(lower);
    auto const ends = ends_of(upper);
    bool is_below = false;  // the groups so far are less than those of the upper bound
    for (std::size_t level = 0; level < paths; ++level) {
      token128 const first = groups[level];
      token128 last = ends[level];
      if (first > cosmos_v2_scheme::greatest()) break;
      if (is_below && !has_room(first, last, parts)) last = cosmos_v2_scheme::greatest();
      if (has_room(first, last, parts)) {
        if (i == 0) return lower;
        token128 const step = detail::quotient(detail::difference(last, first), parts);
        groups[level] = detail::sum(first, detail::product(step, i));
        return detail::token_of_groups(std::span{groups}.first(level + 1));
      }
      is_below = is_below || first < last;
    }
    return detail::nothing_between_bounds(parts);
  }
  /// The middle to the letter of the service's own rule, to compare with it. It is not `midpoint`
  /// in one case: between a prefix and the very next one it is the lower bound written at full
  /// width, where nothing can be cut. Requires `lower < upper` and 1 to 3 paths.
  [[nodiscard]] static constexpr token_multihash service_midpoint(
      token_multihash const& lower, upper_end<token_multihash> const& upper,
      std::size_t paths = max_key_values) {
    expects_paths(paths);
    expects(upper > lower, "a range has a lower bound that is less than its upper one");
    auto groups = detail::groups_of(lower);
    auto const ends = ends_of(upper);
    bool is_below = false;  // as above
    for (std::size_t level = 0; level < paths; ++level) {
      token128 const first = groups[level];
      token128 const last =
          is_below && ends[level] < first ? cosmos_v2_scheme::greatest() : ends[level];
      if (has_room(first, last, 2)) {
        groups[level] = detail::sum(first, detail::quotient(detail::difference(last, first), 2));
        return detail::token_of_groups(std::span{groups}.first(level + 1));
      }
      is_below = is_below || first < last;
    }
    return detail::token_of_groups(std::span{groups}.first(paths));
  }

  /// Where the service splits a range in two; where its own rule gives the lower bound again, the
  /// first level below that has room. Requires 1 to 3 paths.
  /// Errors: `invalid_range` where nothing lies between.
  [[nodiscard]] static constexpr result<token_multihash> midpoint(
      token_multihash const& lower, upper_end<token_multihash> const& upper,
      std::size_t paths = max_key_values) {
    expects_paths(paths);
    if (upper <= lower) return detail::bounds_are_reversed();
    token_multihash const middle = service_midpoint(lower, upper, paths);
    if (lower < middle && upper > middle) return middle;
    return cut_point(lower, upper, 1, 2, paths);
  }

  /// Where all keys lie that begin with these values, in a container of so many paths. No value is
  /// the prefix of every key. Requires 1 to 3 paths.
  /// Errors: `key_mismatch` for more values than paths.
  [[nodiscard]] static constexpr result<token_bounds<token_multihash>> prefix_bounds(
      std::span<key_value const> values, std::size_t paths) {
    expects_paths(paths);
    using bounds = token_bounds<token_multihash>;
    if (values.size() > paths)
      return unexpected{detail::whole_key_of(values.size(), paths).error()};
    if (values.empty()) return bounds{minimum(), space_end};
    token_multihash const t = token_of(values);
    if (values.size() == paths) return bounds{t, successor(t, paths)};
    // What follows the prefix in a token begins with 3F at most.
    std::array<unsigned char, token_multihash::capacity()> above{};
    *std::copy(t.bytes().begin(), t.bytes().end(), above.begin()) = 0xFF;
    return bounds{t, *token_multihash::from_bytes(std::span{above}.first(t.size() + 1))};
  }

  /// Up to 96 digits of either case. Errors: those of `token_multihash::from_hex`, and
  /// `not_representable` for what begins with more than 3F.
  [[nodiscard]] static constexpr result<token_multihash> from_hex(std::string_view text) {
    auto const read = token_multihash::from_hex(text);
    if (read && !read->empty() && read->bytes()[0] > 0x3F)
      return fail(errc::not_representable, "a token of cosmos_multihash is below 40, this is ",
                  text);
    return read;
  }

  friend constexpr bool operator==(cosmos_multihash_scheme, cosmos_multihash_scheme) = default;

 private:
  static constexpr void expects_paths(std::size_t paths) {
    expects(paths >= 1 && paths <= max_key_values, "a hierarchical container has 1 to 3 paths");
  }

  static constexpr bool has_room(token128 const& first, token128 const& last, std::size_t parts) {
    return first < last && detail::quotient(detail::difference(last, first), parts) != token128{};
  }

  // A group that no hash can be, as in the text FF, is above all keys, whatever follows it.
  static constexpr detail::multihash_groups ends_of(upper_end<token_multihash> const& upper) {
    auto groups = upper.is_space_end() ? detail::multihash_groups{} : detail::groups_of(upper.at());
    bool is_above = upper.is_space_end();
    for (token128& group : groups) {
      is_above = is_above || group > cosmos_v2_scheme::greatest();
      if (is_above) group = cosmos_v2_scheme::greatest();
    }
    return groups;
  }
};

static_assert(splittable_scheme<cosmos_multihash_scheme> && hex_scheme<cosmos_multihash_scheme> &&
              prefix_scheme<cosmos_multihash_scheme>);

/// MultiHash: `token_of(cosmos_multihash, key)`.
inline constexpr cosmos_multihash_scheme cosmos_multihash{};

}  // namespace keyspan
