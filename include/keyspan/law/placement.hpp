// keyspan/law/placement.hpp — whether a placement shares tokens out evenly and moves few of them.
//
// Tokens are drawn, not chosen, and the same in every run: what is found once is found again.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/law/finding.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::law {

/// What a placement is held to.
struct placement_options {
  /// How many are placed. The more, the smaller the faults that are seen: a share is known to six
  /// times the square root of the tokens in it.
  std::size_t tokens = 20'000;
  /// How far the share of a node may be off beyond chance: 0.05 is one in twenty of the share.
  double imbalance = 0;
  /// How many of all tokens may move between nodes that stay: 0.01 is one in a hundred.
  double strays = 0;
};

/// Integers spread over all 64 bits, the same in every run.
struct spread_tokens {
  constexpr std::uint64_t operator()(std::uint64_t i) const noexcept {
    return detail::placement_mix(0x9E37'79B9'7F4A'7C15 * (i + 1));
  }
};

}  // namespace keyspan::law

namespace keyspan::detail {

template <class T>
struct value_of_result {
  using type = T;
};
template <class T>
struct value_of_result<result<T>> {
  using type = T;
};

template <class Make, class Nodes>
using made_placement =
    typename value_of_result<std::remove_cvref_t<std::invoke_result_t<Make const&, Nodes>>>::type;

// Makes a placement of so many nodes, or of the nodes in a list; maybe as a result.
template <class Make, class Nodes, class Token>
concept makes_placement =
    std::invocable<Make const&, Nodes> && placement<made_placement<Make, Nodes>, Token>;

template <class Make, class Draw>
class placement_check {
  using token_type = std::remove_cvref_t<std::invoke_result_t<Draw const&, std::uint64_t>>;
  using list = std::vector<weighted_node>;
  static constexpr bool by_count = makes_placement<Make, std::size_t, token_type>;

 public:
  constexpr placement_check(Make const& make, law::placement_options const& options,
                            Draw const& draw)
      : make_{make}, options_{options} {
    tokens_.reserve(options.tokens);
    for (std::uint64_t i = 0; i < options.tokens; ++i) tokens_.push_back(draw(i));
  }

  constexpr law::finding run(std::size_t nodes) {
    list const some = equal_nodes(nodes);
    list one_more = some;
    one_more.push_back(node_id{nodes});
    if (auto found = compare(some, one_more); !found) return found;
    if constexpr (!by_count) {
      if (auto found = run_with_lists(some); !found) return found;
    }
    return {};
  }

 private:
  static constexpr list equal_nodes(std::size_t count) {
    list nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(node_id{i});
    return nodes;
  }

  constexpr law::finding run_with_lists(list const& some) {
    list turned = some;
    std::reverse(turned.begin(), turned.end());
    if (auto found = compare(some, turned); !found) return found;
    if (some.size() > 1) {
      list one_less = some;
      one_less.erase(one_less.begin() + static_cast<std::ptrdiff_t>(some.size() / 2));
      if (auto found = compare(some, one_less); !found) return found;
    }
    list unlike = some;
    for (std::size_t i = 0; i < unlike.size(); ++i) unlike[i].weight = i % 4 == 0 ? 2.5 : 0.5;
    list heavier = unlike;
    heavier[heavier.size() / 2].weight *= 2;
    if (auto found = compare(unlike, heavier); !found) return found;
    list joined = unlike;
    joined.insert(joined.begin(), weighted_node{node_id{some.size()}, 1.5});
    return compare(unlike, joined);
  }

  // The nodes of all tokens, by their ids, among the nodes of one list and those of another that
  // differs by a node: each shares out well, and between them only that node's tokens move.
  constexpr law::finding compare(list const& before, list const& after) {
    std::vector<std::uint64_t> from;
    std::vector<std::uint64_t> to;
    if (auto found = place_all(before, from); !found) return found;
    if (auto found = place_all(after, to); !found) return found;
    std::size_t strays = 0;
    std::size_t first = 0;
    for (std::size_t i = tokens_.size(); i-- > 0;) {
      if (from[i] == to[i] || grows(to[i], before, after) || grows(from[i], after, before))
        continue;
      ++strays;
      first = i;
    }
    if (static_cast<double>(strays) <= options_.strays * static_cast<double>(tokens_.size()))
      return {};
    return law::finding{"a token moves only to a node that joins or grows, or from one that leaves",
                        "from ",
                        before.size(),
                        " to ",
                        after.size(),
                        " nodes ",
                        strays,
                        " of ",
                        tokens_.size(),
                        " tokens move between others, as token ",
                        first,
                        " from node ",
                        from[first],
                        " to node ",
                        to[first]};
  }

  // Whether this node is heavier in the second list, or was not in the first.
  static constexpr bool grows(std::uint64_t id, list const& before, list const& after) {
    return weight_in(before, id) < weight_in(after, id);
  }
  static constexpr double weight_in(list const& nodes, std::uint64_t id) {
    for (weighted_node const& node : nodes)
      if (node.id == node_id{id}) return node.weight;
    return 0;
  }

  constexpr law::finding place_all(list const& nodes, std::vector<std::uint64_t>& ids) {
    auto made = make(nodes);
    auto again = make(nodes);
    if constexpr (is_result<decltype(made)>) {
      if (!made) return refused(nodes, made.error());
      if (!again) return refused(nodes, again.error());
      return place_all(nodes, *made, *again, ids);
    } else {
      return place_all(nodes, made, again, ids);
    }
  }
  static constexpr law::finding refused(list const& nodes, error const& why) {
    return law::finding{"nodes of distinct ids and positive weights can be placed among", "with ",
                        nodes.size(), " nodes: ", why.to_text()};
  }

  constexpr auto make(list const& nodes) const {
    if constexpr (by_count) {
      return make_(nodes.size());
    } else {
      return make_(std::span<weighted_node const>{nodes});
    }
  }

  template <class Placement>
  constexpr law::finding place_all(list const& nodes, Placement const& made, Placement const& again,
                                   std::vector<std::uint64_t>& ids) {
    if (static_cast<std::size_t>(made.node_count()) != nodes.size())
      return law::finding{"a placement has the nodes it was made of", nodes.size(),
                          " nodes became ", static_cast<std::size_t>(made.node_count())};
    if (!(made == again) || !(made == Placement(made)))
      return law::finding{"placements of the same nodes are equal", "made twice of ", nodes.size(),
                          " nodes"};
    std::vector<std::size_t> counts(nodes.size(), 0);
    ids.reserve(tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      node_index const at = made.node_of(tokens_[i]);
      if (at >= nodes.size())
        return law::finding{"every token belongs to one of the nodes",
                            "of ",
                            nodes.size(),
                            " nodes, token ",
                            i,
                            " is given number ",
                            at};
      if (made.node_of(tokens_[i]) != at || again.node_of(tokens_[i]) != at)
        return law::finding{"nothing but the token and the nodes decides",
                            "token ",
                            i,
                            " among ",
                            nodes.size(),
                            " nodes is given to node ",
                            at,
                            " and to another"};
      ++counts[at];
      ids.push_back(nodes[at].id.number());
    }
    return weigh(nodes, counts);
  }

  constexpr law::finding weigh(list const& nodes, std::vector<std::size_t> const& counts) const {
    double whole = 0;
    for (weighted_node const& node : nodes) whole += node.weight;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      double const part = nodes[i].weight / whole;
      double const share = part * static_cast<double>(tokens_.size());
      double const count = static_cast<double>(counts[i]);
      double const off =
          (count < share ? share - count : count - share) - options_.imbalance * share - 1;
      // Chance alone goes further than six standard deviations once in five hundred million cases.
      if (off > 0 && off * off > 36 * share * (1 - part))
        return law::finding{"every node has its share of the tokens",
                            "of ",
                            nodes.size(),
                            " nodes, node ",
                            i,
                            " has ",
                            counts[i],
                            " of ",
                            tokens_.size(),
                            " tokens and should have about ",
                            static_cast<std::size_t>(share)};
    }
    return {};
  }

  Make const& make_;
  law::placement_options const& options_;
  std::vector<token_type> tokens_{};
};

struct check_placement_of {
  template <class Make, class Draw = law::spread_tokens,
            class Token = std::remove_cvref_t<std::invoke_result_t<Draw const&, std::uint64_t>>>
    requires makes_placement<Make, std::size_t, Token> ||
             makes_placement<Make, std::span<weighted_node const>, Token>
  constexpr law::finding operator()(Make const& make, std::size_t nodes,
                                    law::placement_options const& options = {},
                                    Draw const& draw = {}) const {
    expects(nodes > 0, "a placement has one node at least");
    return placement_check<Make, Draw>{make, options, draw}.run(nodes);
  }
};

}  // namespace keyspan::detail

namespace keyspan::law {

/// Whether the placements that `make` makes keep the laws of `placement`, with `nodes` nodes and
/// as one joins, leaves or changes its weight.
///
/// `make(count)` returns a placement, or a result of one, among `count` nodes of equal weight, of
/// which the last joins and leaves; `make(list)`, with a `std::span<weighted_node const>`, one
/// among these, and is asked for lists with other weights, in another order and without one in the
/// middle. `draw(i)` returns the token that is drawn as number `i`.
inline constexpr detail::check_placement_of check_placement{};

}  // namespace keyspan::law
