// keyspan/hash/rendezvous.hpp — rendezvous hashing: each node draws a number for the token, and
// the best draw wins.
//
// Nodes have names and weights, and any of them may come and go: nothing else moves. No table is
// built, every node is asked; for many nodes there is `maglev`.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/placement.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// -ln(1 - v / 2^53) in units of 2^-53, for v from 1 to 2^53 - 1, in integers alone: <cmath> differs
// from one library to the next, and one different digit would place a token elsewhere.
//
// The number is halved until v is at most a half, and from each 64th on three terms of the series
// are taken. They are all positive and every step is rounded down, so that the outcome never falls
// where v rises and is never less than v; what is left out is less than two millionths of it.
struct minus_log_piece {
  std::uint64_t start = 0;   // -ln(1 - s) - s where the piece begins, in units of 2^-53
  std::uint32_t first = 0;   // the terms of the series, in units of 2^-38, each for a step as long
  std::uint32_t second = 0;  // as the piece
  std::uint32_t third = 0;
};

inline constexpr std::uint64_t log_one = std::uint64_t{1} << 53;
inline constexpr std::uint64_t log_two = 0x16'2E42'FEFA'39EF;  // ln 2 in units of 2^-53

inline constexpr auto minus_log_pieces = [] {
  std::array<minus_log_piece, 33> pieces{};
  for (std::uint32_t i = 0; i < 32; ++i) {
    minus_log_piece& piece = pieces[i];
    std::uint64_t power = std::uint64_t{i} << 51;  // of i / 64, in units of 2^-57
    for (std::uint64_t n = 2; n <= 60; ++n) {
      power = power * i >> 6;
      piece.start += power / n;
    }
    piece.start >>= 4;
    std::uint64_t const left = 64 - i;  // 64 * (1 - s)
    piece.first = static_cast<std::uint32_t>((std::uint64_t{i} << 32) / left);
    piece.second = static_cast<std::uint32_t>((std::uint64_t{1} << 37) / (left * left));
    piece.third = static_cast<std::uint32_t>((std::uint64_t{1} << 38) / (3 * left * left * left));
  }
  pieces[32].start = log_two - log_one / 2;  // a half itself
  return pieces;
}();

constexpr std::uint64_t minus_log(std::uint64_t v) noexcept {
  std::uint64_t const rest = log_one - v;
  int const halvings = std::countl_zero(rest) - 11;
  std::uint64_t const s = log_one - (rest << halvings);
  minus_log_piece const& piece = minus_log_pieces[static_cast<std::size_t>(s >> 47)];
  std::uint64_t const step = (s & ((std::uint64_t{1} << 47) - 1)) >> 15;  // of 2^32 in a piece
  std::uint64_t curve = piece.third * step >> 32;
  curve = (piece.second + curve) * step >> 32;
  curve = (piece.first + curve) * step >> 32;
  return static_cast<std::uint64_t>(halvings) * log_two + s + piece.start + (curve << 15);
}

}  // namespace detail

/// Places tokens among nodes of any names and weights. What a node draws depends on the token and
/// on the node alone, so that a node that joins or grows heavier takes tokens, one that leaves or
/// grows lighter gives tokens away, and no token moves between the others.
///
/// The arithmetic is exact and the same on every machine with IEEE doubles: a token has the same
/// node everywhere. The order of the list decides the indices and nothing else.
class rendezvous {
 public:
  /// Among these nodes: `rendezvous{{"a", 1.0}, {"b", 2.0}}`.
  /// Requires what `build` has errors for.
  constexpr rendezvous(std::initializer_list<weighted_node> nodes)
      : rendezvous{checked(build(nodes))} {}

  /// Among the nodes of a list of names, ids or `weighted_node`s.
  /// Errors: `invalid_options` for no nodes, for two of the same name and for a weight that is not
  /// a number from 1e-100 to 1e+100.
  template <detail::node_list Nodes>
  [[nodiscard]] static constexpr result<rendezvous> build(Nodes const& nodes) {
    auto const list = detail::listed_nodes(nodes);
    auto const order = detail::ordered_nodes(list, (std::numeric_limits<node_index>::max)());
    if (!order) return unexpected{order.error()};
    return rendezvous{list};
  }
  [[nodiscard]] static constexpr result<rendezvous> build(
      std::initializer_list<weighted_node> nodes) {
    return build<std::initializer_list<weighted_node>>(nodes);
  }

  /// The node with the best draw for the token's `placement_key`. Allocates nothing.
  /// Complexity: linear in the count of nodes.
  template <placeable Token>
  constexpr node_index node_of(Token const& token) const noexcept(noexcept(placement_key(token))) {
    return node_of_key(placement_key(token));
  }
  constexpr std::size_t node_count() const noexcept { return seeds_.size(); }

  friend constexpr bool operator==(rendezvous const&, rendezvous const&) = default;

 private:
  // What the node at `place` draws for a token: half of an odd number below 2^53.
  struct draw {
    std::uint64_t bits;
    std::size_t place;

    // An odd multiple of 2^-53, so neither 0 nor 1.
    constexpr double fraction() const noexcept {
      return std::bit_cast<double>(bits | 0x3FF0'0000'0000'0000) - (1 - 0x1p-53);
    }
    constexpr double minus_log() const noexcept {
      return static_cast<double>(static_cast<std::int64_t>(detail::minus_log(bits << 1 | 1))) *
             0x1p-53;
    }
  };

  // What a node is for all tokens. In this order nodes of one weight stand together.
  struct drawer {
    double inverse_weight;
    std::uint64_t seed;
    node_index index;

    friend constexpr auto operator<=>(drawer const&, drawer const&) = default;
  };

  constexpr explicit rendezvous(std::span<weighted_node const> list) {
    std::vector<drawer> drawers;
    drawers.reserve(list.size());
    for (weighted_node const& node : list)
      drawers.push_back({.inverse_weight = 1 / node.weight,
                         .seed = detail::node_seed(node.id),
                         .index = static_cast<node_index>(drawers.size())});
    std::sort(drawers.begin(), drawers.end());
    seeds_.reserve(list.size());
    inverse_weights_.reserve(list.size());
    indices_.reserve(list.size());
    for (drawer const& each : drawers) {
      if (!seeds_.empty() && inverse_weights_.back() != each.inverse_weight)
        class_ends_.push_back(seeds_.size());
      seeds_.push_back(each.seed);
      inverse_weights_.push_back(each.inverse_weight);
      indices_.push_back(each.index);
    }
    class_ends_.push_back(seeds_.size());
  }

  static constexpr rendezvous checked(result<rendezvous> built) {
    expects(built.has_value(),
            "a placement has nodes of different names and of positive, finite weights");
    return *std::move(built);
  }

  // A node waits for the token a time of exponential distribution, the shorter the heavier the node
  // is, and the first to come wins. The time is -ln(1 - s) / weight where s is the fraction drawn,
  // so among nodes of one weight the least draw wins, and there is nothing to reckon.
  constexpr node_index node_of_key(std::uint64_t key) const noexcept {
    std::size_t const place =
        class_ends_.size() == 1 ? least_draw(key, 0, seeds_.size()).place : first_to_come(key);
    return indices_[place];
  }

  // 52 bits that the node draws for the token, above twelve of no meaning.
  static constexpr std::uint64_t drawn_word(std::uint64_t key, std::uint64_t seed) noexcept {
    std::uint64_t const x = (key ^ seed) * 0xBF58'476D'1CE4'E5B9;
    return (x ^ x >> 32) * 0x94D0'49BB'1331'11EB;
  }
  static constexpr std::uint64_t drawn_bits(std::uint64_t key, std::uint64_t seed) noexcept {
    return drawn_word(key, seed) >> 12;
  }

  // The least draw of a class; of equal ones the first, which has the least seed. The place stands
  // in the twelve bits, so that one comparison keeps both.
  constexpr draw least_draw(std::uint64_t key, std::size_t begin, std::size_t end) const noexcept {
    if (end - begin == 1) return {.bits = drawn_bits(key, seeds_[begin]), .place = begin};
    constexpr std::uint64_t block = 1 << 12;
    draw least{.bits = ~std::uint64_t{0}, .place = begin};
    for (std::uint64_t left = end - begin; left > 0;) {
      std::uint64_t const count = (std::min)(left, block);
      std::uint64_t const* const seeds = seeds_.data() + begin;
      std::uint64_t word = ~std::uint64_t{0};
      for (std::uint64_t i = 0; i < count; ++i)
        word = (std::min)(word, (drawn_word(key, seeds[i]) & ~(block - 1)) | i);
      if (word >> 12 < least.bits)
        least = {.bits = word >> 12, .place = begin + static_cast<std::size_t>(word & (block - 1))};
      begin += static_cast<std::size_t>(count);
      left -= count;
    }
    return least;
  }

  // As -ln(1 - s) is never less than s, and hardly more where s is small, the least s / weight
  // names the winner nearly always, and the runner-up tells whether it did. Positive doubles have
  // the order of their bits, and the lowest of these make room for the place, so that the loop has
  // no branch to mispredict.
  constexpr std::size_t first_to_come(std::uint64_t key) const noexcept {
    std::uint64_t const place_bits = std::bit_ceil(std::uint64_t{seeds_.size()}) - 1;
    auto least = std::bit_cast<std::uint64_t>((std::numeric_limits<double>::max)());
    std::uint64_t second = least;
    std::size_t begin = 0;
    for (std::size_t const end : class_ends_) {
      draw const drawn = least_draw(key, begin, end);
      auto const bound = std::bit_cast<std::uint64_t>(drawn.fraction() * inverse_weights_[begin]);
      std::uint64_t const candidate = (bound & ~place_bits) | drawn.place;
      std::uint64_t const lesser = (std::min)(least, candidate);
      second = (std::min)(second, least ^ candidate ^ lesser);  // the greater of the two
      least = lesser;
      begin = end;
    }
    auto const place = static_cast<std::size_t>(least & place_bits);
    draw const first{.bits = drawn_bits(key, seeds_[place]), .place = place};
    if (time_of(first) < std::bit_cast<double>(second & ~place_bits)) [[likely]]
      return place;
    return first_by_time(key, first);
  }

  // Reckons the time of every node that may come before `first`.
  constexpr std::size_t first_by_time(std::uint64_t key, draw first) const noexcept {
    double least = time_of(first);
    std::size_t begin = 0;
    for (std::size_t const end : class_ends_) {
      draw const drawn = least_draw(key, begin, end);
      bool const late = drawn.fraction() * inverse_weights_[begin] > least;
      begin = end;
      if (late) continue;
      double const time = time_of(drawn);
      // At the same time the draws decide, then the seeds: never the place, which moves as nodes
      // come and go.
      if (time < least || (time == least && std::pair{drawn.bits, seeds_[drawn.place]} <
                                                std::pair{first.bits, seeds_[first.place]})) {
        least = time;
        first = drawn;
      }
    }
    return first.place;
  }

  constexpr double time_of(draw const& drawn) const noexcept {
    return drawn.minus_log() * inverse_weights_[drawn.place];
  }

  std::vector<std::uint64_t> seeds_{};
  std::vector<double> inverse_weights_{};
  std::vector<node_index> indices_{};      // where the node of each seed stands in the list
  std::vector<std::size_t> class_ends_{};  // behind the last node of each weight
};

static_assert(placement<rendezvous> && placement<rendezvous, token128>);

}  // namespace keyspan
