// keyspan/range/range_map.hpp — which range of tokens a token lies in, and whose it is.
//
//   whole   [=======================================)
//   ranges  [---- a ----)[-- b --)[------- c -------)      no gap, no overlap, nobody empty
//   split                [b1)[b2 )
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/bucket_table.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/token_prefix.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// What a map of tokens without a prefix has for a table.
template <token Token>
struct binary_search {
  static constexpr std::size_t max_size() noexcept { return ~std::size_t{0} / 2; }
  constexpr binary_search() = default;
  constexpr explicit binary_search(std::span<Token const>) {}
  constexpr std::size_t position(std::span<Token const> lowers, Token const& token) const {
    return static_cast<std::size_t>(std::upper_bound(lowers.begin(), lowers.end(), token) -
                                    lowers.begin() - 1);
  }
  constexpr std::size_t memory() const noexcept { return 0; }
};

template <token Token>
struct token_table {
  using type = binary_search<Token>;
};
template <prefixed_token Token>
struct token_table<Token> {
  using type = bucket_table<Token>;
};

}  // namespace detail

/// A range of a map and its value, as iteration shows them: `auto const& [range, value]`. It keeps
/// the range and looks at the value in the map. What is projected by its members lives on when it
/// is gone: `std::views::transform(map, &decltype(map)::entry::value)`.
template <token Token, std::copyable Value>
class range_entry {
 public:
  constexpr range_entry(token_range<Token> range, Value const& value)
      : range_{std::move(range)}, value_{std::addressof(value)} {}

  constexpr token_range<Token> range() const { return range_; }
  constexpr Value const& value() const noexcept { return *value_; }

  /// For structured bindings. Of a temporary the range is a copy.
  template <std::size_t Part>
  constexpr auto const& get() const& noexcept {
    if constexpr (Part == 0) {
      return range_;
    } else {
      return *value_;
    }
  }
  template <std::size_t Part>
  constexpr decltype(auto) get() const&& {
    if constexpr (Part == 0) {
      return range();
    } else {
      return value();
    }
  }

 private:
  token_range<Token> range_;
  Value const* value_;
};

/// A stretch of a space that is shared out whole: every token in it lies in exactly one range, and
/// every range has a value. What was found stays right until the map is changed; a copy is a
/// snapshot and costs three copies of arrays.
///
/// Laws, checked by `law::check_range_map`: the ranges follow each other without a gap; `find`,
/// `at`, `index_of` and the iteration agree; a split or a join changes the answer for tokens of the
/// ranges it names and for no other.
template <token Token, std::copyable Value>
class range_map {
  static_assert(!std::same_as<Value, bool>,
                "a range_map has no room for bare bool; take an enumeration of two values");

 public:
  using token_type = Token;
  using mapped_type = Value;

  using entry = range_entry<Token, Value>;
  using iterator = index_iterator<range_map>;
  using const_iterator = iterator;

  /// One range. It is split as the need arises.
  constexpr range_map(token_range<Token> whole, Value value)
      : upper_{whole.upper()}, lowers_{whole.lower()} {
    values_.push_back(std::move(value));
    table_ = table{lowers_};
  }

  /// The map of these ranges, in whatever order they come.
  /// Errors, with the tokens: `gap`, `overlap`, and `invalid_range` for what lies outside of
  /// `whole`.
  /// Complexity: `n log n`, linear where they are in order.
  [[nodiscard]] static constexpr result<range_map> from_ranges(
      std::vector<owned_range<Token, Value>> ranges, token_range<Token> const& whole) {
    auto const in_order = [](auto const& a, auto const& b) { return a.range < b.range; };
    if (!std::is_sorted(ranges.begin(), ranges.end(), in_order))
      std::sort(ranges.begin(), ranges.end(), in_order);
    auto const range_of = [](auto const& owned) -> token_range<Token> const& {
      return owned.range;
    };
    if (auto const covered = covers_exactly(ranges, whole, range_of); !covered)
      return unexpected{covered.error()};
    return made_of(
        ranges, whole.upper(), [](auto const& owned) { return owned.range.lower(); },
        [](auto& owned) { return std::move(owned.value); });
  }

  /// The map whose ranges begin at these tokens and have these values, in whatever order they come;
  /// each reaches to the next, the last one to `end`.
  /// Errors: `invalid_options` for no boundaries; `overlap` for a token given twice;
  /// `invalid_range` for one that is not before `end`.
  [[nodiscard]] static constexpr result<range_map> from_boundaries(
      std::vector<std::pair<Token, Value>> firsts, upper_end<Token> const& end = space_end) {
    auto const in_order = [](auto const& a, auto const& b) { return a.first < b.first; };
    if (!std::is_sorted(firsts.begin(), firsts.end(), in_order))
      std::sort(firsts.begin(), firsts.end(), in_order);
    if (firsts.empty())
      return fail(errc::invalid_options, "there are no boundaries; a map has one range at least");
    for (std::size_t i = 1; i < firsts.size(); ++i)
      if (firsts[i - 1].first == firsts[i].first)
        return fail(errc::overlap, "two ranges begin at ", detail::text_of_token(firsts[i].first));
    if (!(end > firsts.back().first)) {
      detail::stretch_text<Token> const text{firsts.back().first, end};
      return fail(errc::invalid_range, "the boundary ", text.lower, " is not before the end ",
                  text.upper);
    }
    return made_of(
        firsts, end, [](auto& pair) { return std::move(pair.first); },
        [](auto& pair) { return std::move(pair.second); });
  }

  constexpr range_map(range_map const&) = default;
  constexpr range_map& operator=(range_map const& other) {
    if (this != &other) *this = range_map{other};  // all of it or nothing
    return *this;
  }
  /// What was moved from can be assigned to and destroyed, nothing else.
  constexpr range_map(range_map&&) = default;
  constexpr range_map& operator=(range_map&&) = default;
  constexpr ~range_map() = default;

  /// How many ranges there are; never 0.
  constexpr std::size_t size() const noexcept { return lowers_.size(); }
  /// All ranges joined.
  constexpr token_range<Token> whole() const { return {lowers_.front(), upper_}; }
  constexpr bool contains(Token const& token) const {
    return lowers_.front() <= token && upper_ > token;
  }

  /// The value of the range that the token lies in, or null outside of `whole()`. Allocates
  /// nothing.
  /// Complexity: constant for tokens that are hashes; logarithmic for others.
  constexpr Value const* find(Token const& token) const& {
    return contains(token) ? &values_[position(token)] : nullptr;
  }
  constexpr Value* find(Token const& token) & {
    return contains(token) ? &values_[position(token)] : nullptr;
  }
  constexpr Value const* find(Token const&) const&& = delete;
  /// The same of a token that `whole()` contains. Requires that it does.
  constexpr Value const& at(Token const& token) const& { return values_[index_of(token)]; }
  constexpr Value& at(Token const& token) & { return values_[index_of(token)]; }
  constexpr Value const& at(Token const&) const&& = delete;
  /// Which range it is, counted in token order from 0. Requires that `whole()` contains the token.
  constexpr std::size_t index_of(Token const& token) const {
    expects(contains(token), "the map covers the token");
    return position(token);
  }
  /// The range and its value. Requires that `whole()` contains the token.
  constexpr entry entry_of(Token const& token) const& { return entry_at(index_of(token)); }
  constexpr entry entry_of(Token const&) const&& = delete;

  /// Requires `i < size()`.
  constexpr entry operator[](std::size_t i) const& {
    expects(i < size(), "the map has a range of this number");
    return entry_at(i);
  }
  constexpr entry operator[](std::size_t) const&& = delete;
  constexpr iterator begin() const& noexcept { return {*this, 0}; }
  constexpr iterator end() const& noexcept { return {*this, size()}; }
  constexpr iterator begin() const&& = delete;
  constexpr iterator end() const&& = delete;
  /// The first token of each range, in token order.
  constexpr std::span<Token const> lowers() const& noexcept { return lowers_; }
  constexpr std::span<Token const> lowers() const&& = delete;
  /// The value of each range, in token order.
  constexpr std::span<Value const> values() const& noexcept { return values_; }
  constexpr std::span<Value const> values() const&& = delete;

  /// The ranges that share a token with `stretch`, in token order, found now and looked at in
  /// place: a view of `std::ranges` and of range-v3, until the map is changed.
  constexpr index_view<range_map> overlapping(token_range<Token> const& stretch) const& {
    if (!(upper_ > stretch.lower() && stretch.upper() > lowers_.front())) return {*this, 0, 0};
    auto const first = stretch.lower() <= lowers_.front() ? 0 : position(stretch.lower());
    auto const last =
        std::partition_point(lowers_.begin() + static_cast<std::ptrdiff_t>(first), lowers_.end(),
                             [&](Token const& lower) { return stretch.upper() > lower; });
    return {*this, first, static_cast<std::size_t>(last - lowers_.begin())};
  }
  constexpr index_view<range_map> overlapping(token_range<Token> const&) const&& = delete;

  /// Cuts the range that `at` lies in: `at` becomes the first token of the right part.
  /// Requires that `whole()` contains `at` and that no range begins there. An exception leaves the
  /// map as it was, here and in all that change it.
  /// Complexity: linear in the count of ranges, as in all that change the map.
  constexpr void split(Token const& at, Value left, Value right) {
    std::pair const values{std::move(left), std::move(right)};
    split_at(std::span{&at, 1},
             [&](std::size_t i) -> Value const& { return i == 0 ? values.first : values.second; });
  }
  /// Cuts the range that the cuts lie in at each of them; the parts have the values in this order.
  /// Requires rising cuts inside of one range, at least one, and a value more than cuts.
  constexpr void split(std::type_identity_t<std::span<Token const>> cuts,
                       std::type_identity_t<std::span<Value const>> values) {
    expects(!cuts.empty(), "a split has a cut at least");
    expects(values.size() == cuts.size() + 1, "every part has a value");
    split_at(cuts, [&](std::size_t i) -> Value const& { return values[i]; });
  }
  constexpr void split(std::initializer_list<Token> cuts, std::initializer_list<Value> values) {
    split(std::span<Token const>{cuts.begin(), cuts.size()},
          std::span<Value const>{values.begin(), values.size()});
  }

  /// Makes one range of those that make up `stretch`. Requires that ranges begin and end where it
  /// does.
  constexpr void join(token_range<Token> const& stretch, Value value) {
    auto const [first, last] = borders(stretch);
    exchange(
        first, last, 1, [&](std::size_t) -> Token const& { return stretch.lower(); },
        [&](std::size_t) -> Value const& { return value; });
  }

  /// Puts `parts` in the place of the ranges that make up `stretch`. Requires that ranges begin and
  /// end where it does, and that the parts follow each other from its lower bound to its upper one.
  constexpr void replace(token_range<Token> const& stretch,
                         std::type_identity_t<std::span<owned_range<Token, Value> const>> parts) {
    auto const [first, last] = borders(stretch);
    expects(!parts.empty() && parts.front().range.lower() == stretch.lower() &&
                parts.back().range.upper() == stretch.upper(),
            "the parts make up the stretch");
    for (std::size_t i = 1; i < parts.size(); ++i)
      expects(adjacent(parts[i - 1].range, parts[i].range), "the parts follow each other");
    exchange(
        first, last, parts.size(),
        [&](std::size_t i) -> Token const& { return parts[i].range.lower(); },
        [&](std::size_t i) -> Value const& { return parts[i].value; });
  }

  /// How many bytes the index takes beside bounds and values.
  constexpr std::size_t index_memory() const noexcept { return table_.memory(); }

  /// Whether both have the same ranges with the same values.
  friend constexpr bool operator==(range_map const& a, range_map const& b)
    requires std::equality_comparable<Value>
  {
    return a.upper_ == b.upper_ && a.lowers_ == b.lowers_ && a.values_ == b.values_;
  }

 private:
  using table = typename detail::token_table<Token>::type;

  constexpr explicit range_map(upper_end<Token> upper) : upper_{std::move(upper)} {}

  // Of parts that are in order and make up a whole; their tokens and values are taken.
  template <class Parts, class TakeLower, class TakeValue>
  static constexpr result<range_map> made_of(Parts& parts, upper_end<Token> const& upper,
                                             TakeLower take_lower, TakeValue take_value) {
    if (parts.size() > table::max_size())
      return fail(errc::too_large, "a map has at most ", table::max_size(), " ranges, these are ",
                  parts.size());
    range_map made{upper};
    made.lowers_.reserve(parts.size());
    made.values_.reserve(parts.size());
    for (auto& part : parts) {
      made.lowers_.push_back(take_lower(part));
      made.values_.push_back(take_value(part));
    }
    made.table_ = table{made.lowers_};
    return made;
  }

  constexpr std::size_t position(Token const& token) const {
    return table_.position(lowers_, token);
  }
  constexpr upper_end<Token> upper_of(std::size_t i) const {
    if (i + 1 == lowers_.size()) return upper_;
    return lowers_[i + 1];
  }
  constexpr entry entry_at(std::size_t i) const { return {{lowers_[i], upper_of(i)}, values_[i]}; }

  // The numbers of the ranges that make up the stretch: of the first, and one behind the last.
  constexpr std::pair<std::size_t, std::size_t> borders(token_range<Token> const& stretch) const {
    constexpr auto promise = "ranges of the map begin and end where the stretch does";
    expects(whole().contains(stretch), promise);
    std::size_t const first = position(stretch.lower());
    expects(lowers_[first] == stretch.lower(), promise);
    if (stretch.upper() == upper_) return {first, lowers_.size()};
    std::size_t const last = position(stretch.upper().at());
    expects(lowers_[last] == stretch.upper().at(), promise);
    return {first, last};
  }

  template <class ValueOf>
  constexpr void split_at(std::span<Token const> cuts, ValueOf value_of) {
    expects(contains(cuts.front()), "the map covers the token at which it is cut");
    std::size_t const whole = position(cuts.front());
    Token const* before = &lowers_[whole];
    for (Token const& cut : cuts) {
      expects(*before < cut && upper_of(whole) > cut,
              "the cuts rise inside of one range, none on its border");
      before = &cut;
    }
    exchange(
        whole, whole + 1, cuts.size() + 1,
        [&](std::size_t i) -> Token const& { return i == 0 ? lowers_[whole] : cuts[i - 1]; },
        value_of);
  }

  // Puts `count` ranges in the place of those from `first` on and before `last`. Everything is made
  // before anything is changed.
  template <class LowerOf, class ValueOf>
  constexpr void exchange(std::size_t first, std::size_t last, std::size_t count, LowerOf lower_of,
                          ValueOf value_of) {
    std::size_t const ranges = lowers_.size() - (last - first) + count;
    expects(ranges <= table::max_size(), "a map has less than 2^31 ranges");
    auto const exchanged = [&](auto const& all, auto const& part_of) {
      std::remove_cvref_t<decltype(all)> made;
      made.reserve(ranges);
      auto const at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
      made.insert(made.end(), all.begin(), at(first));
      for (std::size_t i = 0; i < count; ++i) made.push_back(part_of(i));
      made.insert(made.end(), at(last), all.end());
      return made;
    };
    auto lowers = exchanged(lowers_, lower_of);
    auto values = exchanged(values_, value_of);
    auto index = table{lowers};
    lowers_ = std::move(lowers);
    values_ = std::move(values);
    table_ = std::move(index);
  }

  upper_end<Token> upper_;
  std::vector<Token> lowers_{};
  std::vector<Value> values_{};
  table table_{};
};

/// The space of a scheme in equal parts, which have these values in token order: how a new
/// container is shared out. Requires one value at least, and no more than the space has tokens.
template <std::copyable Value, splittable_scheme Scheme>
[[nodiscard]] constexpr range_map<token_of_scheme<Scheme>, Value> evenly_split(
    Scheme const& scheme, std::vector<Value> values) {
  expects(!values.empty(), "a map has one range at least");
  std::vector<std::pair<token_of_scheme<Scheme>, Value>> firsts;
  firsts.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    firsts.emplace_back(scheme.boundary(i, values.size()), std::move(values[i]));
  auto made = range_map<token_of_scheme<Scheme>, Value>::from_boundaries(std::move(firsts));
  expects(made.has_value(), "the boundaries of a splittable scheme rise");
  return *std::move(made);
}

/// The same with the parts numbered from 0.
template <splittable_scheme Scheme>
[[nodiscard]] constexpr range_map<token_of_scheme<Scheme>, std::uint32_t> evenly_split(
    Scheme const& scheme, std::size_t count) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(count);
  while (numbers.size() < count) numbers.push_back(static_cast<std::uint32_t>(numbers.size()));
  return evenly_split(scheme, std::move(numbers));
}

}  // namespace keyspan

template <class Token, class Value>
struct std::tuple_size<keyspan::range_entry<Token, Value>>
    : std::integral_constant<std::size_t, 2> {};
template <class Token, class Value>
struct std::tuple_element<0, keyspan::range_entry<Token, Value>> {
  using type = keyspan::token_range<Token> const;
};
template <class Token, class Value>
struct std::tuple_element<1, keyspan::range_entry<Token, Value>> {
  using type = Value const&;
};
