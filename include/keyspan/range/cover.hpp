// keyspan/range/cover.hpp — whether ranges share a space out: every token to exactly one of them.
//
//   whole    [=============================)
//   ranges      [=======)    [========)[======)
//                    [===)
//            gap     overlap gap           outside
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace keyspan {

namespace detail {

// Stretches are looked for by pointers into the ranges, so that a token which owns memory is not
// copied. Where one ends and there is no token is the end of the space.
template <token Token>
constexpr bool ends_before(Token const* a, Token const* b) {
  return a != nullptr && (b == nullptr || *a < *b);
}

template <token Token>
constexpr token_range<Token> range_between(Token const* lower, Token const* upper) {
  if (upper == nullptr) return {*lower, space_end};
  return {*lower, *upper};
}

// Of all that is wrong, what comes first in token order.
template <token Token>
class first_trouble {
 public:
  constexpr void see(errc kind, Token const* lower, Token const* upper) {
    if (lower_ != nullptr && !(*lower < *lower_)) return;
    kind_ = kind;
    lower_ = lower;
    upper_ = upper;
  }

  constexpr result<void> verdict() const {
    if (lower_ == nullptr) return {};
    stretch_text<Token> const text{lower_, upper_};
    if (kind_ == errc::gap) return fail(kind_, "gap between ", text.lower, " and ", text.upper);
    if (kind_ == errc::overlap)
      return fail(kind_, "two ranges both claim ", text.lower, " to ", text.upper);
    return fail(kind_, "a range claims ", text.lower, " to ", text.upper,
                ", which is outside of the whole");
  }

 private:
  errc kind_ = errc::gap;
  Token const* lower_ = nullptr;
  Token const* upper_ = nullptr;
};

// Stretches that come in token order and may touch or overlap, told as one where they do.
template <token Token, class Found>
class stretch_joiner {
 public:
  constexpr explicit stretch_joiner(Found& found) : found_{found} {}

  constexpr void add(Token const* lower, Token const* upper) {
    if (lower_ != nullptr && !ends_before(upper_, lower)) {
      if (ends_before(upper_, upper)) upper_ = upper;
      return;
    }
    finish();
    lower_ = lower;
    upper_ = upper;
  }
  constexpr void finish() {
    if (lower_ != nullptr) found_(lower_, upper_);
    lower_ = nullptr;
  }

 private:
  Found& found_;
  Token const* lower_ = nullptr;
  Token const* upper_ = nullptr;
};

// What is wrong with ranges sorted by their lower bounds as a cover of `whole`, each kind by
// itself, in token order.
template <token Token, class Ranges, class Project>
class cover_search {
 public:
  constexpr cover_search(Ranges const& sorted, token_range<Token> const& whole,
                         Project const& range_of)
      : sorted_{sorted},
        range_of_{range_of},
        first_{std::addressof(whole.lower())},
        end_{token_at(whole.upper())} {}

  /// What no range claims.
  template <class Found>
  constexpr void each_gap(Found found) const {
    Token const* reached = first_;
    for (auto const& element : sorted_) {
      token_range<Token> const& range = std::invoke(range_of_, element);
      Token const* const lower = std::addressof(range.lower());
      if (reached == nullptr || !ends_before(lower, end_)) break;
      if (*reached < *lower) found(reached, lower);
      reached = later(reached, token_at(range.upper()));
    }
    if (ends_before(reached, end_)) found(reached, end_);
  }

  /// What two ranges claim, or more.
  template <class Found>
  constexpr void each_overlap(Found found) const {
    stretch_joiner<Token, Found> stretches{found};
    Token const* reached = first_;
    for (auto const& element : sorted_) {
      token_range<Token> const& range = std::invoke(range_of_, element);
      Token const* const lower = later(std::addressof(range.lower()), first_);
      if (!ends_before(lower, end_)) break;
      Token const* const upper = sooner(token_at(range.upper()), end_);
      Token const* const twice = sooner(upper, reached);
      if (ends_before(lower, twice)) stretches.add(lower, twice);
      reached = later(reached, upper);
    }
    stretches.finish();
  }

  /// What is claimed although it is not in the whole.
  template <class Found>
  constexpr void each_outside(Found found) const {
    stretch_joiner<Token, Found> stretches{found};
    for (auto const& element : sorted_) {
      token_range<Token> const& range = std::invoke(range_of_, element);
      if (!(range.lower() < *first_)) break;
      stretches.add(std::addressof(range.lower()), sooner(token_at(range.upper()), first_));
    }
    stretches.finish();
    for (auto const& element : sorted_) {
      token_range<Token> const& range = std::invoke(range_of_, element);
      if (ends_before(end_, token_at(range.upper())))
        stretches.add(later(std::addressof(range.lower()), end_), token_at(range.upper()));
    }
    stretches.finish();
  }

  constexpr bool is_exact() const {
    Token const* reached = first_;
    for (auto const& element : sorted_) {
      token_range<Token> const& range = std::invoke(range_of_, element);
      if (reached == nullptr || !(range.lower() == *reached)) return false;
      reached = token_at(range.upper());
    }
    if (reached == nullptr || end_ == nullptr) return reached == end_;
    return *reached == *end_;
  }

  constexpr bool is_sorted() const {
    Token const* before = nullptr;
    for (auto const& element : sorted_) {
      token_range<Token> const& range = std::invoke(range_of_, element);
      if (before != nullptr && range.lower() < *before) return false;
      before = std::addressof(range.lower());
    }
    return true;
  }

 private:
  static constexpr Token const* sooner(Token const* a, Token const* b) {
    return ends_before(b, a) ? b : a;
  }
  static constexpr Token const* later(Token const* a, Token const* b) {
    return ends_before(a, b) ? b : a;
  }

  Ranges const& sorted_;
  Project const& range_of_;
  Token const* first_;
  Token const* end_;
};

}  // namespace detail

/// What ranges make of a space: the stretches of `whole` that nobody claims or more than one range
/// does, and what is claimed outside of it. Each list is in token order, and its stretches are as
/// long as can be: no two of them touch.
template <token Token>
struct cover {
  token_range<Token> whole;
  std::vector<token_range<Token>> gaps{};
  std::vector<token_range<Token>> overlaps{};
  std::vector<token_range<Token>> outside{};

  /// Whether every token of the whole is in exactly one range, and no other token in any.
  constexpr bool is_exact() const noexcept {
    return gaps.empty() && overlaps.empty() && outside.empty();
  }

  /// Success where the cover is exact, else what comes first in token order.
  /// Errors: `gap`, `overlap`; `invalid_range` for what is claimed outside of the whole.
  constexpr result<void> verdict() const {
    detail::first_trouble<Token> first;
    auto const see = [&](errc kind, std::vector<token_range<Token>> const& stretches) {
      if (stretches.empty()) return;
      token_range<Token> const& range = stretches.front();
      first.see(kind, std::addressof(range.lower()), detail::token_at(range.upper()));
    };
    see(errc::gap, gaps);
    see(errc::overlap, overlaps);
    see(errc::invalid_range, outside);
    return first.verdict();
  }

  friend bool operator==(cover const&, cover const&) = default;
};

/// How `ranges`, in any order, cover `whole`; no ranges leave all of it as a gap.
/// Complexity: that of sorting them.
template <token Token>
[[nodiscard]] constexpr cover<Token> cover_of(
    std::type_identity_t<std::span<token_range<Token> const>> ranges,
    token_range<Token> const& whole) {
  using pointer = token_range<Token> const*;
  std::vector<pointer> sorted;
  sorted.reserve(ranges.size());
  for (token_range<Token> const& range : ranges) sorted.push_back(&range);
  std::sort(sorted.begin(), sorted.end(), [](pointer a, pointer b) { return *a < *b; });

  auto const range_of = [](pointer range) -> token_range<Token> const& { return *range; };
  detail::cover_search const search{sorted, whole, range_of};
  auto const into = [](std::vector<token_range<Token>>& stretches) {
    return [&stretches](Token const* lower, Token const* upper) {
      stretches.push_back(detail::range_between(lower, upper));
    };
  };
  cover<Token> found{.whole = whole};
  search.each_gap(into(found.gaps));
  search.each_overlap(into(found.overlaps));
  search.each_outside(into(found.outside));
  return found;
}

/// Whether the ranges of `sorted`, each `range_of(element)`, cover `whole` exactly; the same answer
/// as `cover_of(…).verdict()`. Allocates nothing.
/// Requires that they are sorted by their lower bounds, and that `range_of` returns a reference.
/// Errors: `gap`, `overlap`, `invalid_range`: what comes first in token order. Complexity: linear.
template <token Token, class Ranges, class Project = std::identity>
[[nodiscard]] constexpr result<void> covers_exactly(Ranges const& sorted,
                                                    token_range<Token> const& whole,
                                                    Project range_of = {}) {
  using element = decltype(*std::begin(sorted));
  static_assert(
      std::same_as<std::invoke_result_t<Project const&, element>, token_range<Token> const&>,
      "range_of returns a reference to the range of an element");
  detail::cover_search const search{sorted, whole, range_of};
  if (search.is_exact()) return {};

  expects(search.is_sorted(), "the ranges are sorted by their lower bounds");
  detail::first_trouble<Token> first;
  auto const as = [&first](errc kind) {
    return
        [&first, kind](Token const* lower, Token const* upper) { first.see(kind, lower, upper); };
  };
  search.each_gap(as(errc::gap));
  search.each_overlap(as(errc::overlap));
  search.each_outside(as(errc::invalid_range));
  return first.verdict();
}

}  // namespace keyspan
