// keyspan/range/provisioning.hpp — how many partitions a container needs, which of them must split,
// and where.
//
//   N = ceil(T / t)     T requests a second are asked for, a partition serves t at most
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// What a container is to serve and to hold. A request unit is what reading one kilobyte costs.
struct container_demand {
  std::uint64_t request_units = 0;  ///< per second
  std::uint64_t bytes = 0;

  friend constexpr bool operator==(container_demand const&, container_demand const&) = default;
};

/// What there is room for: Cosmos DB's figures of 2017, unless said otherwise. All request units
/// are per second. A partition serves and holds at least 1.
struct provisioning_limits {
  std::uint64_t partition_request_units = 10'000;       ///< at most in one partition
  std::uint64_t partition_bytes = 10'000'000'000;       ///< at most in one partition
  std::uint64_t most_fixed_request_units = 10'000;      ///< at most in a fixed container
  std::uint64_t most_fixed_bytes = 10'000'000'000;      ///< at most in a fixed container
  std::uint64_t least_unlimited_request_units = 2'500;  ///< at least for an unlimited one

  friend constexpr bool operator==(provisioning_limits const&,
                                   provisioning_limits const&) = default;
};

namespace detail {

constexpr std::uint64_t rounded_up_quotient(std::uint64_t a, std::uint64_t by) {
  return a / by + (a % by != 0 ? 1 : 0);
}

constexpr std::uint64_t sum_at_most_all(std::uint64_t a, std::uint64_t b) {
  return b > ~std::uint64_t{0} - a ? ~std::uint64_t{0} : a + b;
}

// As few as are below the limit each when they share the bytes evenly. Where a single byte is all
// that fits, nothing is below the limit but nothing.
constexpr std::uint64_t parts_with_room(std::uint64_t held, std::uint64_t limit) {
  if (held < limit) return 1;
  return limit == 1 ? sum_at_most_all(held, 1) : rounded_up_quotient(held, limit - 1);
}

constexpr void expects_partitions_with_room(provisioning_limits const& limits) {
  expects(limits.partition_request_units > 0 && limits.partition_bytes > 0,
          "a partition serves and holds something");
}

}  // namespace detail

/// How many partitions serve so many request units a second: the quotient, rounded up. One where
/// nothing is asked for.
[[nodiscard]] constexpr std::uint64_t partitions_for_throughput(
    std::uint64_t request_units, provisioning_limits const& limits = {}) {
  detail::expects_partitions_with_room(limits);
  return (std::max)(std::uint64_t{1},
                    detail::rounded_up_quotient(request_units, limits.partition_request_units));
}

/// How many partitions hold so many bytes: the quotient, rounded up. One where there are none.
[[nodiscard]] constexpr std::uint64_t partitions_for_storage(
    std::uint64_t bytes, provisioning_limits const& limits = {}) {
  detail::expects_partitions_with_room(limits);
  return (std::max)(std::uint64_t{1}, detail::rounded_up_quotient(bytes, limits.partition_bytes));
}

/// How many partitions a container needs, for its throughput and for its storage: the greater of
/// the two counts.
[[nodiscard]] constexpr std::uint64_t partitions_needed(container_demand const& demand,
                                                        provisioning_limits const& limits = {}) {
  return (std::max)(partitions_for_throughput(demand.request_units, limits),
                    partitions_for_storage(demand.bytes, limits));
}

/// Whether a fixed container, which has one partition for ever, has room for this.
/// Errors: `too_large`, naming what is asked for and the limit.
[[nodiscard]] constexpr result<void> fits_fixed_container(container_demand const& demand,
                                                          provisioning_limits const& limits = {}) {
  if (demand.request_units > limits.most_fixed_request_units)
    return fail(errc::too_large, "a fixed container has ", limits.most_fixed_request_units,
                " request units a second at most, not ", demand.request_units,
                "; ask for less, or for an unlimited one");
  if (demand.bytes > limits.most_fixed_bytes)
    return fail(errc::too_large, "a fixed container holds ", limits.most_fixed_bytes,
                " bytes at most, not ", demand.bytes, "; store less, or in an unlimited one");
  return {};
}

/// Whether this is enough for an unlimited container. Its storage has no limit.
/// Errors: `invalid_options`, naming what is asked for and the limit.
[[nodiscard]] constexpr result<void> fits_unlimited_container(
    container_demand const& demand, provisioning_limits const& limits = {}) {
  if (demand.request_units < limits.least_unlimited_request_units)
    return fail(errc::invalid_options, "an unlimited container has ",
                limits.least_unlimited_request_units, " request units a second at least, not ",
                demand.request_units, "; ask for more, or for a fixed one");
  return {};
}

/// Partition `index`, counted in token order from 0, becomes `parts` partitions.
struct planned_split {
  std::size_t index = 0;
  std::uint64_t parts = 2;

  friend constexpr bool operator==(planned_split const&, planned_split const&) = default;
};

namespace detail {

// Gives `extra` more parts away: always to one of those that have the fewest, and among these to
// the fullest one, then to the first.
constexpr void share_out_parts(std::span<std::uint64_t> parts, std::span<std::uint64_t const> bytes,
                               std::uint64_t extra) {
  std::vector<std::size_t> order;
  order.reserve(parts.size());
  while (order.size() < parts.size()) order.push_back(order.size());
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return parts[a] < parts[b]; });
  // Rounds at a time, for there may be more of them than anyone can count: the first `lowest` of
  // the order have `level` parts, or will have when all is written down.
  std::uint64_t level = parts[order.front()];
  std::size_t lowest = 0;
  for (;;) {
    while (lowest < order.size() && parts[order[lowest]] == level) ++lowest;
    std::uint64_t const rounds = extra / lowest;
    if (lowest == order.size() || rounds < parts[order[lowest]] - level) {
      level += rounds;
      break;
    }
    extra -= (parts[order[lowest]] - level) * lowest;
    level = parts[order[lowest]];
  }
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(lowest),
            [&](std::size_t a, std::size_t b) {
              return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
            });
  for (std::size_t i = 0; i < lowest; ++i) parts[order[i]] = level + (i < extra % lowest ? 1 : 0);
}

}  // namespace detail

/// Which partitions split, in token order, where these hold so many bytes each, in token order, and
/// share so many request units a second evenly.
///
/// A partition splits when its storage has reached the limit, into as few parts as have room again.
/// Where all of them together are too few for the throughput then, the fullest ones split as well,
/// each in two before any into more, until they are just enough. Of equally full ones the first
/// splits.
/// Requires one partition at least. Complexity: `n log n`, whatever the numbers.
[[nodiscard]] constexpr std::vector<planned_split> splits_needed(
    std::span<std::uint64_t const> bytes, std::uint64_t request_units,
    provisioning_limits const& limits = {}) {
  detail::expects_partitions_with_room(limits);
  expects(!bytes.empty(), "a container has one partition at least");
  std::vector<std::uint64_t> parts;
  parts.reserve(bytes.size());
  std::uint64_t count = 0;
  for (std::uint64_t const held : bytes) {
    parts.push_back(detail::parts_with_room(held, limits.partition_bytes));
    count = detail::sum_at_most_all(count, parts.back());
  }
  std::uint64_t const needed = partitions_for_throughput(request_units, limits);
  if (needed > count) detail::share_out_parts(parts, bytes, needed - count);

  std::vector<planned_split> splits;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] > 1) splits.push_back({.index = i, .parts = parts[i]});
  return splits;
}

/// Where a range is cut in two when nothing is known of its keys: in the middle, as the scheme has
/// it. Errors: those of the scheme's `midpoint`.
template <splittable_scheme Scheme>
[[nodiscard]] constexpr result<token_of_scheme<Scheme>> split_point(
    Scheme const& scheme, token_range<token_of_scheme<Scheme>> const& range) {
  return scheme.midpoint(range.lower(), range.upper());
}

/// Where a range is cut in two so that each part has half of its keys, as measured: the first token
/// of the right part, which is one of `sample`. That is a sample of the tokens of items or of keys,
/// in any order, each as often as it was met; those outside of the range do not count. Equal tokens
/// stay together, so that the parts may differ by as many as there are of the one in the middle.
/// Errors: `invalid_range` where no token of the sample is in the range; and, naming it, where only
/// one is, for keys of one token cannot be kept apart.
/// Complexity: linear, and a copy of the sample.
template <token Token>
[[nodiscard]] constexpr result<Token> split_point(
    token_range<Token> const& range, std::type_identity_t<std::span<Token const>> sample) {
  std::vector<Token> inside;
  inside.reserve(sample.size());
  for (Token const& token : sample)
    if (range.contains(token)) inside.push_back(token);
  if (inside.empty()) {
    detail::stretch_text<Token> const text{range.lower(), range.upper()};
    return fail(errc::invalid_range, "no token of the sample is in [", text.lower, ", ", text.upper,
                ")");
  }

  auto const middle = inside.begin() + static_cast<std::ptrdiff_t>(inside.size() / 2);
  std::nth_element(inside.begin(), middle, inside.end());
  // What is equal to the token in the middle goes to the one side or to the other.
  Token const median = *middle;
  auto const less =
      std::partition(inside.begin(), middle, [&](Token const& token) { return token < median; });
  auto const greater =
      std::partition(middle, inside.end(), [&](Token const& token) { return !(token > median); });
  auto const left_without = static_cast<std::size_t>(less - inside.begin());
  auto const right_without = static_cast<std::size_t>(inside.end() - greater);
  if (left_without == 0 && right_without == 0)
    return fail(errc::invalid_range, "all ", inside.size(),
                " tokens of the sample in the range are ", detail::text_of_token(median),
                ": keys of one token cannot be kept apart");
  // The smaller part is the greater the better.
  if (left_without >= right_without) return median;
  return *std::min_element(greater, inside.end());
}

/// The same, but in the middle of the range where the sample has no token in it.
/// Errors: `invalid_range`, naming it, where there is only one; those of the scheme's `midpoint`.
template <splittable_scheme Scheme>
[[nodiscard]] constexpr result<token_of_scheme<Scheme>> split_point(
    Scheme const& scheme, token_range<token_of_scheme<Scheme>> const& range,
    std::type_identity_t<std::span<token_of_scheme<Scheme> const>> sample) {
  for (auto const& token : sample)
    if (range.contains(token)) return split_point(range, sample);
  return split_point(scheme, range);
}

namespace detail {

template <class Scheme>
concept cuts_equal_parts =
    requires(Scheme const& scheme, token_range<token_of_scheme<Scheme>> const& range) {
      {
        scheme.cut_point(range.lower(), range.upper(), std::size_t{}, std::size_t{})
      } -> std::same_as<result<token_of_scheme<Scheme>>>;
    };

// Halves, and halves of halves, until there are enough parts; added in token order.
template <splittable_scheme Scheme>
constexpr result<void> halve(Scheme const& scheme,
                             token_range<token_of_scheme<Scheme>> const& range, std::size_t parts,
                             std::vector<token_of_scheme<Scheme>>& cuts) {
  if (parts == 1) return {};
  auto const middle = scheme.midpoint(range.lower(), range.upper());
  if (!middle) return unexpected{middle.error()};
  auto const [left, right] = split(range, *middle);
  if (auto const halved = halve(scheme, left, parts - parts / 2, cuts); !halved) return halved;
  cuts.push_back(*middle);
  return halve(scheme, right, parts / 2, cuts);
}

}  // namespace detail

/// Where a range is cut into so many parts when nothing is known of its keys: into equal ones where
/// the scheme has a `cut_point`, as those of Cosmos DB do; else into halves, and halves of these.
/// There is one cut less than parts, as `range_map::split` takes them. Requires one part at least.
/// Errors: those of the scheme, where there is no room for so many.
template <splittable_scheme Scheme>
[[nodiscard]] constexpr result<std::vector<token_of_scheme<Scheme>>> split_points(
    Scheme const& scheme, token_range<token_of_scheme<Scheme>> const& range, std::size_t parts) {
  expects(parts > 0, "a range is cut into one part at least");
  std::vector<token_of_scheme<Scheme>> cuts;
  if constexpr (detail::cuts_equal_parts<Scheme>) {
    for (std::size_t i = 1; i < parts; ++i) {
      auto const cut = scheme.cut_point(range.lower(), range.upper(), i, parts);
      if (!cut) return unexpected{cut.error()};
      if (!(*cut > (i == 1 ? range.lower() : cuts.back())))
        return detail::nothing_between_bounds(parts);
      cuts.push_back(*cut);
    }
  } else if (auto const halved = detail::halve(scheme, range, parts, cuts); !halved) {
    return unexpected{halved.error()};
  }
  return cuts;
}

/// Where a range is cut into so many parts that have about the same share of a measured sample,
/// which is taken as `split_point` takes it: every part has some of it, and begins at one of it.
/// One after another the cuts are as near to an even share as those before them allow; of two that
/// are equally near, the first is taken. Of tokens that all differ, no part has two more than
/// another. Requires one part at least.
/// Errors: `invalid_range` where fewer tokens of the sample in the range differ than there are to
/// be parts. Complexity: `n log n`, and a copy of the sample.
template <token Token>
[[nodiscard]] constexpr result<std::vector<Token>> split_points(
    token_range<Token> const& range, std::size_t parts,
    std::type_identity_t<std::span<Token const>> sample) {
  expects(parts > 0, "a range is cut into one part at least");
  std::vector<Token> inside;
  for (Token const& token : sample)
    if (range.contains(token)) inside.push_back(token);
  std::sort(inside.begin(), inside.end());
  // Where tokens begin that differ from those before them: a cut is at one of these.
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < inside.size(); ++i)
    if (i == 0 || inside[i - 1] < inside[i]) begins.push_back(i);
  if (begins.size() < parts)
    return fail(errc::invalid_range, "the sample has ", begins.size(),
                " different tokens in the range, which is to be cut into ", parts,
                " parts: keys of one token cannot be kept apart");
  std::vector<Token> cuts;
  cuts.reserve(parts - 1);
  std::size_t next = 1;  // the first of `begins` that may be a cut
  for (std::size_t i = 1; i < parts; ++i) {
    // The one nearest to the share, with as many behind it as there are parts to come.
    auto const off = [&](std::size_t begin) {
      std::uint64_t const cut = std::uint64_t{begin} * parts;
      std::uint64_t const share = std::uint64_t{inside.size()} * i;
      return cut < share ? share - cut : cut - share;
    };
    std::size_t const last = begins.size() - (parts - i);
    while (next < last && off(begins[next + 1]) < off(begins[next])) ++next;
    cuts.push_back(inside[begins[next++]]);
  }
  return cuts;
}

}  // namespace keyspan
