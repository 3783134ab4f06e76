// keyspan/hash/placement.hpp — which of n nodes a token belongs to.
//
//   token --placement_key--> 64 mixed bits --jump, rendezvous or maglev--> index of a node
//
// A placement is good when every node has its share and when few tokens move as nodes come and go.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/token128.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// Where a node stands in the list that a placement was made of, counted from 0.
using node_index = std::uint32_t;

/// Says which node each token belongs to.
///
/// Laws, checked by `law::check_placement`: the index is less than the count of nodes; nothing but
/// the token and the placement's own value decides; every node has its share of the tokens, in
/// proportion to its weight; a node that joins takes tokens from the others and none moves between
/// these; a node that leaves gives its tokens to the others and none moves between these.
template <class P, class Token = std::uint64_t>
concept placement = std::copyable<P> && std::equality_comparable<P> &&
                    requires(P const& nodes, Token const& token) {
                      { nodes.node_of(token) } -> std::same_as<node_index>;
                      { nodes.node_count() } -> std::convertible_to<std::size_t>;
                    };

namespace detail {

// The last steps of MurmurHash3: every bit of the outcome depends on every bit given, no two
// numbers have the same outcome, and 0 stays 0.
constexpr std::uint64_t placement_mix(std::uint64_t x) noexcept {
  x = (x ^ x >> 33) * 0xFF51'AFD7'ED55'8CCD;
  x = (x ^ x >> 33) * 0xC4CE'B9FE'1A85'EC53;
  return x ^ x >> 33;
}

template <class T>
concept keyed_token = requires(T const& token) {
  { token.placement_key() } -> std::same_as<std::uint64_t>;
};

template <class T>
concept integer_token =
    std::integral<T> && !std::same_as<T, bool> && !odd_character<T> && sizeof(T) <= 8;

template <class T>
concept bytes_token = requires(T const& token) {
  requires byte_like<std::remove_cvref_t<decltype(*std::data(token.bytes()))>>;
  { std::size(token.bytes()) } -> std::convertible_to<std::size_t>;
};

struct placement_key_of {
  template <integer_token Token>
  constexpr std::uint64_t operator()(Token token) const noexcept {
    return placement_mix(static_cast<std::uint64_t>(token));
  }
  constexpr std::uint64_t operator()(token128 const& token) const noexcept {
    return placement_mix(placement_mix(token.low) ^ token.high);
  }
  template <keyed_token Token>
  constexpr std::uint64_t operator()(Token const& token) const
      noexcept(noexcept(token.placement_key())) {
    return token.placement_key();
  }
  // From the last word to the first: zeros at the end change nothing, as in tokens that are equal
  // when one of them goes on with zeros.
  template <bytes_token Token>
    requires(!keyed_token<Token>)
  constexpr std::uint64_t operator()(Token const& token) const noexcept(noexcept(token.bytes())) {
    auto const& bytes = token.bytes();
    auto const* const from = std::data(bytes);
    std::size_t const size = std::size(bytes);
    std::uint64_t key = 0;
    if (std::size_t const rest = size % 8; rest != 0) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8; ++i)
        word = word << 8 | (i < rest ? static_cast<unsigned char>(from[size - rest + i]) : 0U);
      key = placement_mix(word);
    }
    for (std::size_t at = size / 8 * 8; at > 0; at -= 8)
      key = placement_mix(key ^ load_be<std::uint64_t>(from + at - 8));
    return key;
  }
};

}  // namespace detail

/// The 64 bits by which a token is placed: the same on every machine, and spread evenly for tokens
/// that are small numbers too. Allocates nothing.
///
/// An integer is one word, a `token128` two, and what has `bytes()` as many words of eight bytes,
/// most significant first and filled up with zeros, as it takes; a word after another, from the
/// last to the first, is xor-ed to the key, which begins at 0, and mixed by MurmurHash3's `fmix64`.
/// So a token has the same key in each of these forms. A token of one's own may have a member
/// `std::uint64_t placement_key() const` instead.
inline constexpr detail::placement_key_of placement_key{};

/// A token that has a placement key.
template <class T>
concept placeable = requires(T const& token) {
  { placement_key(token) } -> std::same_as<std::uint64_t>;
};

/// Who a node is, wherever it stands in a list: its name, or a number.
class node_id {
 public:
  /// The node of this name: the first half of the name's MurmurHash3 (x64, 128 bits, seed 0).
  template <std::convertible_to<std::string_view> Name>
  constexpr node_id(Name const& name) noexcept : number_{murmur3_128(std::string_view(name)).h1} {}
  /// The node of this number.
  template <detail::integer_token Number>
  constexpr explicit node_id(Number number) noexcept
      : number_{static_cast<std::uint64_t>(number)} {}

  constexpr std::uint64_t number() const noexcept { return number_; }

  friend constexpr bool operator==(node_id const&, node_id const&) = default;
  friend constexpr std::strong_ordering operator<=>(node_id const&, node_id const&) = default;

 private:
  std::uint64_t number_;
};

/// A node, and how much it takes beside the others: one of weight 2 has twice the tokens of one of
/// weight 1.
struct weighted_node {
  template <std::convertible_to<node_id> Id>
  constexpr weighted_node(Id const& node, double its_weight = 1) noexcept
      : id{node}, weight{its_weight} {}

  node_id id;
  double weight;

  friend constexpr bool operator==(weighted_node const&, weighted_node const&) = default;
};

namespace detail {

inline constexpr double least_weight = 1e-100;
inline constexpr double greatest_weight = 1e+100;

// Null for a weight that one can reckon with.
constexpr char const* trouble_with_weight(double weight) {
  if (weight != weight) return "is not a number";
  if (weight == 0) return "is zero";
  if (weight < 0) return "is negative";
  if (weight < least_weight) return "is less than 1e-100";
  if (weight > greatest_weight) return "is greater than 1e+100";
  return nullptr;
}

// The order in which the nodes stand by their ids, or what keeps them from being placed among.
constexpr result<std::vector<node_index>> ordered_nodes(std::span<weighted_node const> nodes,
                                                        std::size_t at_most) {
  if (nodes.empty())
    return fail(errc::invalid_options, "there are no nodes; a placement has one at least");
  if (nodes.size() > at_most)
    return fail(errc::invalid_options, "at most ", at_most,
                " nodes can be placed among, these are ", nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (auto const* const trouble = trouble_with_weight(nodes[i].weight))
      return fail(errc::invalid_options, "the weight of node ", i, " ", trouble,
                  "; give each node a positive, finite weight");
  std::vector<node_index> order;
  order.reserve(nodes.size());
  while (order.size() < nodes.size()) order.push_back(static_cast<node_index>(order.size()));
  std::sort(order.begin(), order.end(), [&](node_index a, node_index b) {
    return std::pair{nodes[a].id, a} < std::pair{nodes[b].id, b};
  });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (nodes[order[i - 1]].id == nodes[order[i]].id)
      return fail(errc::invalid_options, "nodes ", order[i - 1], " and ", order[i],
                  " have the same name; name each node once");
  return order;
}

template <class Nodes>
concept node_list = requires(Nodes const& nodes) {
  { *std::begin(nodes) } -> std::convertible_to<weighted_node>;
  std::end(nodes);
};

template <node_list Nodes>
constexpr std::vector<weighted_node> listed_nodes(Nodes const& nodes) {
  std::vector<weighted_node> list;
  for (auto const& node : nodes) list.push_back(node);
  return list;
}

// A node's own bits. Moved aside, so that no token is mixed like the node of the same number.
constexpr std::uint64_t node_seed(node_id id) noexcept {
  return placement_mix(id.number() + 0x9E37'79B9'7F4A'7C15);
}

// Which of `size` entries a key spread over all 64 bits points at: by its upper half, for one
// multiplication is enough then, and that some entries have one key more in 2^32 is no node's gain.
constexpr std::size_t entry_of_key(std::uint64_t key, std::uint32_t size) noexcept {
  return static_cast<std::size_t>((key >> 32) * size >> 32);
}

}  // namespace detail

}  // namespace keyspan

/// Equal ids hash alike.
template <>
struct std::hash<keyspan::node_id> {
  std::size_t operator()(keyspan::node_id const& id) const noexcept {
    return static_cast<std::size_t>(keyspan::detail::node_seed(id));
  }
};
