// keyspan/range/topology.hpp — how a map of ranges becomes another one: by splits and by merges.
//
//   split   [====== parent ======)          merge   [= parent =)[= parent =)
//           [= child =)[= child =)                  [======= child ========)
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace keyspan {

/// One range gives way to others, which together make up what it was. With one child the range
/// stays and changes hands.
template <token Token, std::copyable Value>
struct split_change {
  owned_range<Token, Value> parent;
  std::vector<owned_range<Token, Value>> children;

  /// "[05C1…, 0AAA…) is split in 2".
  constexpr inline_text<136> to_text() const
    requires detail::tells_token<Token>
  {
    if (children.size() == 1) return {parent.range.to_text(), " changes hands"};
    return {parent.range.to_text(), " is split in ", children.size()};
  }

  friend bool operator==(split_change const&, split_change const&) = default;
};

/// Ranges that are neighbours give way to one, which is all that they were.
template <token Token, std::copyable Value>
struct merge_change {
  std::vector<owned_range<Token, Value>> parents;
  owned_range<Token, Value> child;

  /// "[05C1…, 0AAA…) is merged of 2".
  constexpr inline_text<136> to_text() const
    requires detail::tells_token<Token>
  {
    return {child.range.to_text(), " is merged of ", parents.size()};
  }

  friend bool operator==(merge_change const&, merge_change const&) = default;
};

/// Either of them.
template <token Token, std::copyable Value>
using topology_change = std::variant<split_change<Token, Value>, merge_change<Token, Value>>;

namespace detail {

// Whether the map has this range, with this value.
template <token Token, class Value>
constexpr result<void> find_named(range_map<Token, Value> const& map,
                                  owned_range<Token, Value> const& named) {
  Token const* const lower = std::addressof(named.range.lower());
  auto const refuse = [&](std::string_view before, std::string_view after) {
    stretch_text<Token> const text{lower, token_at(named.range.upper())};
    return fail(errc::unknown_range, before, text.lower, " to ", text.upper, after);
  };
  if (!map.contains(*lower)) return refuse("the map does not reach to the range ", "");
  auto const [range, value] = map.entry_of(*lower);
  if (!(range == named.range)) return refuse("the map has no range ", "");
  if (!(value == named.value)) return refuse("the range ", " has another value in the map");
  return {};
}

struct apply_change {
  /// One change, or a list of them: all or none.
  template <token Token, std::copyable Value, class Change>
  [[nodiscard]] constexpr result<void> operator()(range_map<Token, Value>& map,
                                                  Change const& change) const {
    static_assert(std::equality_comparable<Value>,
                  "a change names values, so that values of the map are compared with ==");
    if constexpr (std::same_as<Change, split_change<Token, Value>>) {
      return split(map, change);
    } else if constexpr (std::same_as<Change, merge_change<Token, Value>>) {
      return merge(map, change);
    } else if constexpr (std::same_as<Change, topology_change<Token, Value>>) {
      return std::visit([&](auto const& one) { return (*this)(map, one); }, change);
    } else {
      static_assert(
          std::convertible_to<Change const&, std::span<topology_change<Token, Value> const>>,
          "a change has the tokens and the values of the map that it is applied to");
      return every(map, std::span<topology_change<Token, Value> const>{change});
    }
  }

 private:
  template <class Token, class Value>
  static constexpr result<void> split(range_map<Token, Value>& map,
                                      split_change<Token, Value> const& change) {
    using owned = owned_range<Token, Value>;
    auto const put = [&](std::span<owned const> children) -> result<void> {
      auto const covered = covers_exactly(children, change.parent.range, &owned::range);
      if (covered) map.replace(change.parent.range, children);
      return covered;
    };
    if (auto const known = find_named(map, change.parent); !known) return known;
    auto const in_order = [](owned const& a, owned const& b) { return a.range < b.range; };
    if (std::is_sorted(change.children.begin(), change.children.end(), in_order))
      return put(change.children);
    auto children = change.children;
    std::sort(children.begin(), children.end(), in_order);
    return put(children);
  }

  template <class Token, class Value>
  static constexpr result<void> merge(range_map<Token, Value>& map,
                                      merge_change<Token, Value> const& change) {
    std::vector<token_range<Token> const*> parents;
    parents.reserve(change.parents.size());
    for (auto const& parent : change.parents) {
      if (auto const known = find_named(map, parent); !known) return known;
      parents.push_back(std::addressof(parent.range));
    }
    std::sort(parents.begin(), parents.end(), [](auto const* a, auto const* b) { return *a < *b; });
    auto const range_of = [](auto const* range) -> token_range<Token> const& { return *range; };
    auto const covered = covers_exactly(parents, change.child.range, range_of);
    if (covered) map.join(change.child.range, change.child.value);
    return covered;
  }

  template <class Token, class Value>
  constexpr result<void> every(range_map<Token, Value>& map,
                               std::span<topology_change<Token, Value> const> changes) const {
    auto changed = map;
    for (auto const& change : changes)
      if (auto const applied = (*this)(changed, change); !applied) return applied;
    map = std::move(changed);
    return {};
  }
};

struct diff_of_maps {
  template <token Token, std::copyable Value>
  [[nodiscard]] constexpr result<std::vector<topology_change<Token, Value>>> operator()(
      range_map<Token, Value> const& before, range_map<Token, Value> const& after) const {
    static_assert(std::equality_comparable<Value>,
                  "what changed is found by comparing the values of the maps with ==");
    auto const whole = before.whole();
    if (!(whole == after.whole())) return whole_changed(whole, after.whole());
    std::vector<topology_change<Token, Value>> changes;
    for (auto const& old : before) cut(old, after.overlapping(old.range()), changes);
    for (auto const& made : after) unite(made, before.overlapping(made.range()), changes);
    return changes;
  }

 private:
  // The parts of an old range are whose they will be, even those that are yet to be merged.
  template <class Parts, class Token, class Value>
  static constexpr void cut(range_entry<Token, Value> const& old, Parts const& parts,
                            std::vector<topology_change<Token, Value>>& changes) {
    auto const& [whole, owner] = old;
    auto const first = parts.front();
    bool const changes_hands = first.range() == whole && !(first.value() == owner);
    if (parts.size() == 1 && !changes_hands) return;
    split_change<Token, Value> change{{whole, owner}, {}};
    change.children.reserve(parts.size());
    for (auto const& [range, value] : parts)
      change.children.push_back({*intersection(range, whole), value});
    changes.emplace_back(std::move(change));
  }

  template <class Parts, class Token, class Value>
  static constexpr void unite(range_entry<Token, Value> const& made, Parts const& parts,
                              std::vector<topology_change<Token, Value>>& changes) {
    if (parts.size() == 1) return;
    auto const& [whole, owner] = made;
    merge_change<Token, Value> change{{}, {whole, owner}};
    change.parents.reserve(parts.size());
    for (auto const& [range, value] : parts) {
      bool const was_cut = !whole.contains(range);
      change.parents.push_back({*intersection(range, whole), was_cut ? owner : value});
    }
    changes.emplace_back(std::move(change));
  }

  template <class Token>
  static constexpr unexpected whole_changed(token_range<Token> const& a,
                                            token_range<Token> const& b) {
    if (!(a.lower() == b.lower())) {
      stretch_text<Token> const text{a.lower(), b.lower()};
      return fail(errc::invalid_range, "one map begins at ", text.lower, ", the other at ",
                  text.upper);
    }
    stretch_text<Token> const text{a.upper(), b.upper()};
    return fail(errc::invalid_range, "one map ends at ", text.lower, ", the other at ", text.upper);
  }
};

}  // namespace detail

/// Makes a change in a map: `apply(map, change)` with a `split_change`, a `merge_change`, a
/// `topology_change`, or a list of the last, of which all are made or none. Children and parents
/// may come in any order. On an error, and on an exception of `Value` or an allocator, the map is
/// as it was.
///
/// Errors: `unknown_range` where the map does not have a parent as it is named, with these bounds
/// and this value; `gap`, `overlap` or `invalid_range` where the children do not make up the
/// parent, or the parents the child. Requires `==` of values.
/// Complexity: linear in the size of the map, for every change.
inline constexpr detail::apply_change apply{};

/// The changes that make `after` of `before`, applied one after another: `diff(before, after)`
/// returns a `result<std::vector<topology_change<Token, Value>>>`.
///
/// First the splits, then the merges, each in token order. An old range is split where new ones
/// begin inside of it; a new range is merged where old ones began inside of it. What stays as it
/// was is in no change. Errors: `invalid_range` where the maps do not cover the same stretch.
/// Requires `==` of values. Complexity: linear in both sizes, for tokens that are hashes.
inline constexpr detail::diff_of_maps diff{};

}  // namespace keyspan
