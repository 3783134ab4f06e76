// keyspan/law/range_map.hpp — whether a map of ranges gives every token one answer, and a change
// moves no other's.
//
// For tokens of your own, whose order and prefix a map relies on, and for schemes of your own. No
// test framework inside: each check answers with a finding.
#pragma once

#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/finding.hpp>
#include <keyspan/law/hash_scheme.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_prefix.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace keyspan::detail {

// What is asked of a map; another type of the same face is checked just as well.
template <class Map>
concept checked_range_map =
    token<typename Map::token_type> && std::copyable<Map> &&
    requires(Map const& map, typename Map::token_type const& t,
             token_range<typename Map::token_type> const& stretch, std::size_t i) {
      { map.size() } -> std::convertible_to<std::size_t>;
      { map.whole() } -> std::convertible_to<token_range<typename Map::token_type>>;
      { map.contains(t) } -> std::convertible_to<bool>;
      { map.index_of(t) } -> std::convertible_to<std::size_t>;
      { map.find(t) } -> std::convertible_to<typename Map::mapped_type const*>;
      { map.at(t) } -> std::same_as<typename Map::mapped_type const&>;
      { map.entry_of(t).range() } -> std::convertible_to<token_range<typename Map::token_type>>;
      { map[i].range() } -> std::convertible_to<token_range<typename Map::token_type>>;
      { map[i].value() } -> std::convertible_to<typename Map::mapped_type const&>;
      map.overlapping(stretch).begin();
      map.begin() == map.end();
    };

template <checked_range_map Map>
class range_map_check {
  using token_type = typename Map::token_type;
  using range_type = token_range<token_type>;

 public:
  constexpr explicit range_map_check(Map const& map) : map_{map}, copy_(map) {}

  constexpr law::finding run(std::span<token_type const> tokens) {
    if (auto found = check_ranges(); !found) return found;
    for (token_type const& t : tokens)
      if (auto found = check_token(t); !found) return found;
    for (range_type const& range : ranges_)
      if (auto found = check_token(range.lower()); !found) return found;
    if (auto const& end = ranges_.back().upper(); !end.is_space_end())
      if (auto found = check_token(end.at()); !found) return found;
    return check_stretches(tokens);
  }

 private:
  // The ranges as such; they are kept, for everything else is held against them.
  constexpr law::finding check_ranges() {
    constexpr std::string_view follow =
        "the ranges follow each other from the beginning of the whole to its end";
    if (map_.size() == 0) return law::finding{"a map has one range at least"};
    range_type const whole = map_.whole();
    ranges_.reserve(map_.size());
    for (std::size_t i = 0; i < map_.size(); ++i) ranges_.push_back(map_[i].range());
    using text = stretch_text<token_type>;
    if (!(ranges_.front().lower() == whole.lower())) {
      text const at{ranges_.front().lower(), whole.lower()};
      return law::finding{follow, "the first begins at ", at.lower, ", the whole at ", at.upper};
    }
    for (std::size_t i = 1; i < ranges_.size(); ++i)
      if (!adjacent(ranges_[i - 1], ranges_[i])) {
        text const at{ranges_[i - 1].upper(), upper_end<token_type>{ranges_[i].lower()}};
        return law::finding{
            follow, "range ", i - 1, " ends at ", at.lower, ", the next begins at ", at.upper};
      }
    if (!(ranges_.back().upper() == whole.upper())) {
      text const at{ranges_.back().upper(), whole.upper()};
      return law::finding{follow, "the last ends at ", at.lower, ", the whole at ", at.upper};
    }

    std::size_t i = 0;
    for (auto const& entry : map_) {
      if (i == ranges_.size() || !shows(entry, i))
        return law::finding{"iteration shows each range once, in token order", "number ", i,
                            " is another one"};
      ++i;
    }
    if (i != ranges_.size())
      return law::finding{"iteration shows each range once, in token order", "it ends after ", i,
                          " of ", ranges_.size()};
    if constexpr (requires { requires std::equality_comparable<Map>; }) {
      if (!(copy_ == map_)) return law::finding{"a copy of a map is equal to it"};
    }
    return {};
  }

  constexpr law::finding check_token(token_type const& t) const {
    token_text const name = text_of_token(t);
    std::size_t owners = 0;
    std::size_t owner = 0;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (auto found = check_two_tokens(t, ranges_[i].lower()); !found) return found;
      if (auto found = check_prefixes(t, ranges_[i].lower()); !found) return found;
      if (!ranges_[i].contains(t)) continue;
      ++owners;
      owner = i;
    }
    bool const inside = map_.whole().contains(t);
    if (owners != (inside ? 1U : 0U))
      return law::finding{"every token of the whole is in exactly one range", name, " is in ",
                          owners};

    constexpr std::string_view agree = "what a map answers for a token agrees with its ranges";
    if (static_cast<bool>(map_.contains(t)) != inside)
      return law::finding{agree, "contains(", name, ") is ", inside ? "false" : "true"};
    typename Map::mapped_type const* const value = map_.find(t);
    if (!inside) {
      if (value == nullptr) return {};
      return law::finding{agree, "find(", name, ") has a value outside of the whole"};
    }
    if (value == nullptr) return law::finding{agree, "find(", name, ") has no value"};
    if (value != std::addressof(map_[owner].value()))
      return law::finding{agree, "find(", name, ") has not the value of range ", owner};
    if (std::addressof(map_.at(t)) != value)
      return law::finding{agree, "at(", name, ") has not the value of range ", owner};
    if (static_cast<std::size_t>(map_.index_of(t)) != owner)
      return law::finding{
          agree,    "index_of(", name, ") is ", static_cast<std::size_t>(map_.index_of(t)),
          ", not ", owner};
    if (!shows(map_.entry_of(t), owner))
      return law::finding{agree, "entry_of(", name, ") is not range ", owner};
    if (static_cast<std::size_t>(copy_.index_of(t)) != owner)
      return law::finding{"a copy of a map answers as it does", "index_of(", name, ") is ",
                          static_cast<std::size_t>(copy_.index_of(t))};
    return {};
  }

  // From each token to the next greater one, and to the end.
  constexpr law::finding check_stretches(std::span<token_type const> tokens) const {
    std::vector<token_type> sorted(tokens.begin(), tokens.end());
    // And from border to border: of many borders some, for each is held against all ranges.
    for (std::size_t i = 0; i < ranges_.size(); i += ranges_.size() / 512 + 1)
      sorted.push_back(ranges_[i].lower());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (auto found = check_stretch({sorted[i], space_end}); !found) return found;
      if (i > 0 && sorted[i - 1] < sorted[i])
        if (auto found = check_stretch({sorted[i - 1], sorted[i]}); !found) return found;
    }
    return {};
  }

  constexpr law::finding check_stretch(range_type const& stretch) const {
    stretch_text<token_type> const name{stretch.lower(), stretch.upper()};
    auto const wrong = [&](std::string_view what, std::size_t i) {
      return law::finding{"the ranges that overlap a stretch share a token with it, and no other",
                          "from ",
                          name.lower,
                          " to ",
                          name.upper,
                          what,
                          i};
    };
    std::size_t i = 0;
    auto const skip = [&] {
      while (i < ranges_.size() && !overlaps(ranges_[i], stretch)) ++i;
    };
    skip();
    for (auto const& entry : map_.overlapping(stretch)) {
      if (i == ranges_.size()) return wrong(" there is one too many behind range ", i - 1);
      if (!shows(entry, i)) return wrong(" another one stands in the place of range ", i);
      ++i;
      skip();
    }
    if (i != ranges_.size()) return wrong(" there is no range ", i);
    return {};
  }

  template <class Entry>
  constexpr bool shows(Entry const& entry, std::size_t i) const {
    return entry.range() == ranges_[i] &&
           std::addressof(entry.value()) == std::addressof(map_[i].value());
  }

  static constexpr law::finding check_prefixes(token_type const& a, token_type const& b) {
    if constexpr (prefixed_token<token_type>) {
      std::uint64_t const first = token_prefix(a);
      std::uint64_t const second = token_prefix(b);
      if (a == b ? first != second : a < b ? second < first : first < second)
        return law::finding{"the prefix of a token never falls where tokens rise",
                            text_of_token(a),
                            " has ",
                            first,
                            ", ",
                            text_of_token(b),
                            " has ",
                            second};
    }
    return {};
  }

  Map const& map_;
  Map copy_;
  std::vector<range_type> ranges_{};
};

// The ranges that begin at these tokens, which rise from the minimum on, and their numbers.
template <token Token>
constexpr std::vector<owned_range<Token, std::size_t>> ranges_that_begin_at(
    std::vector<Token> const& firsts) {
  std::vector<owned_range<Token, std::size_t>> ranges;
  for (std::size_t i = 0; i + 1 < firsts.size(); ++i)
    ranges.push_back({{firsts[i], firsts[i + 1]}, i});
  ranges.push_back({{firsts.back(), space_end}, firsts.size() - 1});
  return ranges;
}

template <hash_scheme Scheme>
class full_cover_check {
  using token_type = token_of_scheme<Scheme>;

 public:
  constexpr full_cover_check(Scheme const& scheme, std::span<partition_key_view const> keys)
      : scheme_{scheme} {
    tokens_.push_back(scheme.minimum());
    for (auto const& key : keys)
      if (auto const t = token_or_error(scheme, key.values()); t) tokens_.push_back(*t);
    if constexpr (requires {
                    { scheme.greatest() } -> std::same_as<token_type>;
                  })
      tokens_.push_back(scheme.greatest());
  }

  constexpr law::finding run(std::size_t parts) {
    // Cut at the tokens of keys, whatever they are.
    std::vector<token_type> firsts = tokens_;
    std::sort(firsts.begin(), firsts.end());
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    if constexpr (splittable_scheme<Scheme>) {
      add_last_before(space_end, scheme_.minimum());
      for (std::size_t count = 1; count <= parts; count = count < 4 ? count + 1 : 2 * count)
        if (auto found = run_with_parts(count); !found) return found;
      if (auto found = run_with_parts(parts); !found) return found;
    }
    return examine(firsts);
  }

 private:
  constexpr law::finding run_with_parts(std::size_t count)
    requires splittable_scheme<Scheme>
  {
    std::vector<token_type> firsts;
    for (std::size_t i = 0; i < count; ++i) {
      firsts.push_back(scheme_.boundary(i, count));
      if (i > 0 && !(firsts[i - 1] < firsts[i]))
        return law::finding{"boundaries rise",       "that of part ", i, " of ", count, " is ",
                            text_of_token(firsts[i])};
    }
    std::size_t const others = tokens_.size();
    for (std::size_t i = 0; i < count; ++i) {
      tokens_.push_back(firsts[i]);
      if (auto const next = scheme_.successor(firsts[i]); !next.is_space_end())
        tokens_.push_back(next.at());
      if (i > 0) add_last_before(firsts[i], firsts[i - 1]);
    }
    auto found = examine(firsts);
    tokens_.erase(tokens_.begin() + static_cast<std::ptrdiff_t>(others), tokens_.end());
    return found;
  }

  // The greatest token before the end that halving leads to: of integers, the last one.
  constexpr void add_last_before(upper_end<token_type> const& end, token_type lower)
    requires splittable_scheme<Scheme>
  {
    for (auto next = scheme_.midpoint(lower, end); next; next = scheme_.midpoint(lower, end))
      lower = *next;
    tokens_.push_back(lower);
  }

  constexpr law::finding examine(std::vector<token_type> const& firsts) const {
    using map_type = range_map<token_type, std::size_t>;
    constexpr std::string_view law =
        "every token of a scheme is in exactly one range of a full cover";
    auto const whole = whole_space(scheme_);
    auto const ranges = ranges_that_begin_at(firsts);
    for (token_type const& t : tokens_) {
      std::size_t owners = 0;
      for (auto const& owned : ranges) owners += owned.range.contains(t) ? 1U : 0U;
      if (!whole.contains(t))
        return law::finding{law, text_of_token(t), " is not in the whole space"};
      if (owners != 1)
        return law::finding{law, text_of_token(t), " is in ", owners, " of ", ranges.size()};
    }
    auto const map = map_type::from_ranges(ranges, whole);
    if (!map) return law::finding{law, map.error().to_text()};
    return range_map_check<map_type>{*map}.run(tokens_);
  }

  Scheme const& scheme_;
  std::vector<token_type> tokens_{};
};

}  // namespace keyspan::detail

namespace keyspan::law {

/// Whether `map` keeps the laws of `range_map`, and its tokens those of `token`, for these tokens
/// and the bounds of its ranges: every token is in one range and all answers agree on which; the
/// order, the hash and the prefix of tokens agree with each other.
/// Complexity: tokens times ranges.
template <detail::checked_range_map Map>
constexpr finding check_range_map(Map const& map,
                                  std::span<typename Map::token_type const> tokens) {
  return detail::range_map_check<Map>{map}.run(tokens);
}

/// Whether a change of the ranges that make up `stretch`, a split, a join or a replacement, changed
/// the answers there and nowhere else: outside of it every range and its value is what it was, for
/// these tokens and for all ranges. Complexity: tokens and ranges.
template <detail::checked_range_map Map>
  requires std::equality_comparable<typename Map::mapped_type>
constexpr finding check_change_is_local(Map const& before, Map const& after,
                                        token_range<typename Map::token_type> const& stretch,
                                        std::span<typename Map::token_type const> tokens) {
  using token_type = typename Map::token_type;
  constexpr std::string_view law =
      "a change of a map changes the answer for tokens of the ranges it names and for no other";
  if (!(before.whole() == after.whole()))
    return finding{"a change of a map leaves the whole as it was"};
  for (auto const* map : {&before, &after}) {
    constexpr std::string_view borders = "a change of a map names whole ranges";
    std::string_view const when = map == &before ? " before it" : " after it";
    if (!map->whole().contains(stretch)) return finding{borders, "it reaches beyond the map"};
    if (!(map->entry_of(stretch.lower()).range().lower() == stretch.lower()))
      return finding{borders, "none begins at ", detail::text_of_token(stretch.lower()), when};
    if (stretch.upper() == map->whole().upper()) continue;
    if (!(map->entry_of(stretch.upper().at()).range().lower() == stretch.upper().at()))
      return finding{borders, "none ends at ", detail::text_of_token(stretch.upper()), when};
  }

  auto const examine = [&](token_type const& t) -> finding {
    if (stretch.contains(t)) return {};
    bool const contained = before.contains(t);
    if (contained != static_cast<bool>(after.contains(t)))
      return finding{law, detail::text_of_token(t), contained ? " went" : " came"};
    if (!contained) return {};
    auto const was = before.entry_of(t);
    auto const is = after.entry_of(t);
    if (!(was.range() == is.range()))
      return finding{law, detail::text_of_token(t), " is in another range"};
    if (!(was.value() == is.value()) || !(before.at(t) == after.at(t)) ||
        !(*before.find(t) == *after.find(t)))
      return finding{law, detail::text_of_token(t), " has another value"};
    return {};
  };
  for (token_type const& t : tokens)
    if (auto found = examine(t); !found) return found;
  for (auto const* map : {&before, &after})
    for (std::size_t i = 0; i < map->size(); ++i)
      if (auto found = examine((*map)[i].range().lower()); !found) return found;
  return {};
}

/// Whether every token of `scheme` is in exactly one range where its space is shared out: cut at
/// the tokens of these keys and, where it is a `splittable_scheme`, into equal parts, up to
/// `parts` of them. The tokens are those of the keys, the minimum, the boundaries with their
/// neighbours on both sides, and the greatest. Each cover is made a `range_map` and held to
/// `check_range_map`.
/// Requires room for so many parts. Complexity: tokens times ranges.
template <hash_scheme Scheme>
constexpr finding check_full_cover(Scheme const& scheme,
                                   std::span<partition_key_view const> keys = sample_keys,
                                   std::size_t parts = 64) {
  expects(parts > 0, "a space is shared out into one part at least");
  return detail::full_cover_check<Scheme>{scheme, keys}.run(parts);
}

/// As above, for keys that are owned.
template <hash_scheme Scheme>
finding check_full_cover(Scheme const& scheme, std::span<partition_key const> keys,
                         std::size_t parts = 64) {
  std::vector<partition_key_view> views(keys.begin(), keys.end());
  return check_full_cover(scheme, std::span<partition_key_view const>{views}, parts);
}

}  // namespace keyspan::law
