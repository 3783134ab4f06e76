// keyspan/range/routing.hpp — who owns which keys: a snapshot that never changes.
//
//   list of partitions --from_list--> routing --updated(what is new)--> routing
//                                        key --owner_of--> partition
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// What a scheme makes a token of: a key, a value, or a `result` of one, as an extractor gives it.
template <class Key, class Scheme>
concept routable_by = hash_scheme<Scheme> &&
                      requires(Scheme const& scheme, Key const& key) { token_of(scheme, key); };

/// The keys of one partition among many: it, and where they stood in the list, rising from 0.
template <token Token>
struct key_group {
  partition<Token> const& owner;
  std::span<std::uint32_t const> positions;
};

template <hash_scheme Scheme>
class routing;

/// What `routing::group` found: a group for each partition that owns some of the keys, in token
/// order. It looks at the snapshot, which outlives it.
template <token Token>
class key_groups {
 public:
  using iterator = index_iterator<key_groups>;
  using const_iterator = iterator;

  constexpr std::size_t size() const noexcept { return marks_.size(); }
  constexpr bool empty() const noexcept { return marks_.empty(); }
  /// Requires `i < size()`.
  constexpr key_group<Token> operator[](std::size_t i) const& {
    expects(i < size(), "there is a group of this number");
    std::size_t const first = i == 0 ? 0 : marks_[i - 1].end;
    return {partitions_[marks_[i].owner], positions().subspan(first, marks_[i].end - first)};
  }
  constexpr key_group<Token> operator[](std::size_t) const&& = delete;
  constexpr iterator begin() const& noexcept { return {*this, 0}; }
  constexpr iterator end() const& noexcept { return {*this, size()}; }
  constexpr iterator begin() const&& = delete;
  constexpr iterator end() const&& = delete;

  /// Where all keys stood, those of a group together.
  constexpr std::span<std::uint32_t const> positions() const& noexcept { return positions_; }
  constexpr std::span<std::uint32_t const> positions() const&& = delete;

 private:
  template <hash_scheme Scheme>
  friend class routing;

  // Whose keys they are, and where in `positions_` they end.
  struct mark {
    std::uint32_t owner;
    std::uint32_t end;
  };

  constexpr key_groups(std::span<partition<Token> const> partitions,
                       std::span<std::uint64_t const> sorted)
      : partitions_{partitions} {
    positions_.reserve(sorted.size());
    std::size_t groups = 0;
    auto const is_last = [&](std::size_t i) {
      return i + 1 == sorted.size() || sorted[i] >> 32 != sorted[i + 1] >> 32;
    };
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      positions_.push_back(static_cast<std::uint32_t>(sorted[i]));
      if (is_last(i)) ++groups;
    }
    marks_.reserve(groups);
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (is_last(i))
        marks_.push_back(
            {static_cast<std::uint32_t>(sorted[i] >> 32), static_cast<std::uint32_t>(i + 1)});
  }

  std::span<partition<Token> const> partitions_{};
  std::vector<mark> marks_{};
  std::vector<std::uint32_t> positions_{};
};

namespace detail {

// The keys of a group, an owner in the upper half of a word and a position in the lower one, by
// owner; those of one owner stay in their order. A digit of the owners at a time, so that few keys
// among many owners cost as little as many keys among few.
constexpr void sort_by_owner(std::vector<std::uint64_t>& keys, std::size_t owners) {
  std::vector<std::uint64_t> sorted(owners > 1 ? keys.size() : 0, 0);
  std::uint64_t const greatest = owners - 1;
  for (int shift = 0; shift < 32 && greatest >> shift != 0; shift += 8) {
    auto const digit = [&](std::uint64_t key) { return key >> (32 + shift) & 0xFF; };
    std::array<std::uint32_t, 257> begins{};
    for (std::uint64_t const key : keys) ++begins[digit(key) + 1];
    for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    for (std::uint64_t const key : keys) sorted[begins[digit(key)]++] = key;
    keys.swap(sorted);
  }
}

// Whether a token which says what scheme it is of is one of this scheme. Any other always is.
template <hash_scheme Scheme>
constexpr bool is_own_token(Scheme const& scheme, token_of_scheme<Scheme> const& token) {
  if constexpr (requires { token.scheme() == scheme.scheme(); })
    return token.scheme() == scheme.scheme();
  return true;
}
template <hash_scheme Scheme>
constexpr bool has_own_tokens(Scheme const& scheme,
                              token_range<token_of_scheme<Scheme>> const& range) {
  return is_own_token(scheme, range.lower()) &&
         (range.upper().is_space_end() || is_own_token(scheme, range.upper().at()));
}

template <class Items>
using item_of = std::remove_reference_t<decltype(*std::begin(std::declval<Items&>()))>;

template <class Items, class By, class Scheme>
concept groupable_by = requires(Scheme const& scheme, By const& by, item_of<Items> const& item) {
  token_of(scheme, std::invoke(by, item));
};

using id_text = inline_text<20>;

// An id as a message names it: of a long one the beginning and the end.
constexpr id_text text_of_id(std::string_view id) {
  if (id.size() <= id_text::capacity()) return id;
  std::size_t head = 8;
  std::size_t tail = id.size() - 9;
  while (head > 0 && continues_character(id[head])) --head;
  while (tail < id.size() && continues_character(id[tail])) ++tail;
  return {id.substr(0, head), "\xE2\x80\xA6", id.substr(tail)};
}

// Two ids in one message. Where beginnings and ends are the same, what stands around the first
// difference: partitions that look the same tell nobody which ones they are.
struct two_ids {
  constexpr two_ids(std::string_view a, std::string_view b)
      : first{text_of_id(a)}, second{text_of_id(b)} {
    if (first != second || a == b) return;
    std::size_t const shared = (std::min)(a.size(), b.size());
    std::size_t differ = 0;
    while (differ < shared && a[differ] == b[differ]) ++differ;
    std::size_t from = differ - (std::min)(differ, std::size_t{4});
    while (from > 0 && continues_character(a[from])) --from;
    first = {"\xE2\x80\xA6", a.substr(from)};
    second = {"\xE2\x80\xA6", b.substr(from)};
  }

  id_text first;
  id_text second;
};

// What is wrong with an entry of a list, whatever else is in the list.
template <hash_scheme Scheme>
result<void> check_partition(Scheme const& scheme, std::size_t number,
                             partition<token_of_scheme<Scheme>> const& one) {
  if (one.id.empty()) return fail(errc::malformed, "entry ", number, " of the list has no id");
  auto const id = text_of_id(one.id);
  for (std::string const& parent : one.parents) {
    if (parent.empty()) return fail(errc::malformed, "partition ", id, " has a parent without id");
    if (parent == one.id)
      return fail(errc::malformed, "partition ", id, " is among its own parents");
  }
  if (!has_own_tokens(scheme, one.range))
    return fail(errc::scheme_mismatch, "partition ", id, " has bounds of another scheme than ",
                scheme.name());
  if (one.range.lower() < scheme.minimum())
    return fail(errc::invalid_range, "partition ", id, " begins at ",
                text_of_token(one.range.lower()), ", before the first token of ", scheme.name());
  return {};
}

// One id with two ranges, which differ in a bound at least.
template <token Token>
unexpected conflicting_bounds(std::string_view id, token_range<Token> const& a,
                              token_range<Token> const& b) {
  if (!(a.lower() == b.lower())) {
    auto const [one, other] = std::minmax(a.lower(), b.lower());
    stretch_text<Token> const text{one, other};
    return fail(errc::conflicting_ranges, "partition ", text_of_id(id), " begins at ", text.lower,
                " and at ", text.upper);
  }
  auto const [one, other] = std::minmax(a.upper(), b.upper());
  stretch_text<Token> const text{one, other};
  return fail(errc::conflicting_ranges, "partition ", text_of_id(id), " ends at ", text.lower,
              " and at ", text.upper);
}

// Of partitions in token order, none of which begins before the whole: the first trouble, with the
// ids of those it lies between.
template <token Token, class PartitionAt>
result<void> follow_each_other(std::size_t count, PartitionAt partition_at,
                               token_range<Token> const& whole) {
  if (count == 0)
    return fail(errc::gap, "the list has no partition, but for those that others replaced");
  partition<Token> const* before = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    partition<Token> const& one = partition_at(i);
    Token const* const begin = std::addressof(one.range.lower());
    if (before == nullptr) {
      if (!(whole.lower() == *begin)) {
        stretch_text<Token> const text{whole.lower(), *begin};
        return fail(errc::gap, "before partition ", text_of_id(one.id), " nobody owns ", text.lower,
                    " to ", text.upper);
      }
    } else if (before->range.upper() < *begin) {
      stretch_text<Token> const text{token_at(before->range.upper()), begin};
      two_ids const ids{before->id, one.id};
      return fail(errc::gap, "between partitions ", ids.first, " and ", ids.second, " nobody owns ",
                  text.lower, " to ", text.upper);
    } else if (before->range.upper() > *begin) {
      stretch_text<Token> const text{
          begin, token_at((std::min)(before->range.upper(), one.range.upper()))};
      two_ids const ids{before->id, one.id};
      return fail(errc::overlap, "partitions ", ids.first, " and ", ids.second, " both claim ",
                  text.lower, " to ", text.upper);
    }
    before = std::addressof(one);
  }
  if (before->range.upper() == whole.upper()) return {};
  stretch_text<Token> const text{before->range.upper(), whole.upper()};
  return fail(errc::gap, "after partition ", text_of_id(before->id), " nobody owns ", text.lower,
              " to ", text.upper);
}

// What is left of a snapshot and of a list behind it. Partitions have numbers: those of the
// snapshot theirs in token order, those of the list come behind, in its own order. All orders are
// kept by merging, so that an update of many partitions by few sorts few.
template <token Token>
class partition_merge {
 public:
  using numbers = std::vector<std::uint32_t>;

  partition_merge(std::span<partition<Token> const> known, std::vector<partition<Token>>& list)
      : known_{known}, list_{list} {}

  /// Finds those that are not gone, by id; of those with one id the last.
  result<void> find_survivors(std::span<std::uint32_t const> known_by_id,
                              std::span<std::string const> gone) {
    numbers const listed = sorted_list([&](std::uint32_t a, std::uint32_t b) {
      int const order = id_of(a).compare(id_of(b));
      return order != 0 ? order < 0 : a < b;
    });
    by_id_.reserve(known_by_id.size() + listed.size());
    auto const add = [&](std::uint32_t number) {
      while (!gone.empty() && gone.front() < id_of(number)) gone = gone.subspan(1);
      if (gone.empty() || gone.front() != id_of(number)) by_id_.push_back(number);
    };
    auto old = known_by_id.begin();
    for (std::size_t i = 0; i < listed.size(); ++i) {
      auto const id = id_of(listed[i]);
      for (; old != known_by_id.end() && id_of(*old) < id; ++old) add(*old);
      std::uint32_t before = listed[i];
      if (i > 0 && id_of(listed[i - 1]) == id) before = listed[i - 1];
      if (old != known_by_id.end() && id_of(*old) == id) before = *old++;
      if (!(range_of(before) == range_of(listed[i])))
        return conflicting_bounds(id, range_of(before), range_of(listed[i]));
      if (i + 1 == listed.size() || id_of(listed[i + 1]) != id) add(listed[i]);
    }
    for (; old != known_by_id.end(); ++old) add(*old);
    return {};
  }

  /// Orders them by their tokens, and sees whether they own every token of `whole` exactly once.
  result<void> cover(token_range<Token> const& whole) {
    numbers fresh;
    std::vector<bool> is_left(known_.size(), false);
    for (std::uint32_t const number : by_id_) {
      if (number < known_.size())
        is_left[number] = true;
      else
        fresh.push_back(number);
    }
    auto const in_order = [&](std::uint32_t a, std::uint32_t b) {
      return range_of(a) < range_of(b);
    };
    std::sort(fresh.begin(), fresh.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (in_order(a, b) || in_order(b, a)) return in_order(a, b);
      return at(a).id < at(b).id;
    });
    by_token_.reserve(by_id_.size());
    auto next = fresh.begin();
    for (std::uint32_t number = 0; number < known_.size(); ++number) {
      if (!is_left[number]) continue;
      while (next != fresh.end() && in_order(*next, number)) by_token_.push_back(*next++);
      by_token_.push_back(number);
    }
    by_token_.insert(by_token_.end(), next, fresh.end());
    return follow_each_other(
        by_token_.size(),
        [&](std::size_t i) -> partition<Token> const& { return at(by_token_[i]); }, whole);
  }

  /// In token order. Those of the list are moved out of it.
  std::vector<owned_range<Token, partition<Token>>> taken() {
    std::vector<owned_range<Token, partition<Token>>> owned;
    owned.reserve(by_token_.size());
    for (std::uint32_t const number : by_token_) {
      if (number < known_.size())
        owned.push_back({range_of(number), known_[number]});
      else
        owned.push_back({range_of(number), std::move(list_[number - known_.size()])});
    }
    return owned;
  }

  /// The numbers that they have from now on, in the order of their ids.
  numbers new_numbers_by_id() const {
    numbers now(known_.size() + list_.size());
    for (std::size_t i = 0; i < by_token_.size(); ++i)
      now[by_token_[i]] = static_cast<std::uint32_t>(i);
    numbers by_id;
    by_id.reserve(by_id_.size());
    for (std::uint32_t const number : by_id_) by_id.push_back(now[number]);
    return by_id;
  }

 private:
  partition<Token> const& at(std::uint32_t number) const {
    return number < known_.size() ? known_[number] : list_[number - known_.size()];
  }
  std::string_view id_of(std::uint32_t number) const { return at(number).id; }
  token_range<Token> const& range_of(std::uint32_t number) const { return at(number).range; }

  template <class InOrder>
  numbers sorted_list(InOrder in_order) const {
    numbers sorted;
    sorted.reserve(list_.size());
    for (std::size_t i = 0; i < list_.size(); ++i)
      sorted.push_back(static_cast<std::uint32_t>(known_.size() + i));
    std::sort(sorted.begin(), sorted.end(), in_order);
    return sorted;
  }

  std::span<partition<Token> const> known_;
  std::vector<partition<Token>>& list_;
  numbers by_id_{};
  numbers by_token_{};
};

// All that are named as parents, and those that are known to be gone, in the order of their ids.
template <token Token>
std::vector<std::string> all_gone(std::span<std::string const> known,
                                  std::vector<partition<Token>> const& list) {
  // Every partition names all its ancestors, so that most of them are named by many. Those seen a
  // short while ago are left out here, for they would be sorted only to be thrown away.
  std::vector<std::string_view> seen(std::bit_ceil(list.size() + 1));
  std::vector<std::string_view> parents;
  for (partition<Token> const& one : list)
    for (std::string_view const parent : one.parents) {
      auto& same = seen[std::hash<std::string_view>{}(parent) & (seen.size() - 1)];
      if (same == parent) continue;
      same = parent;
      parents.push_back(parent);
    }
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  std::vector<std::string> gone;
  gone.reserve(known.size() + parents.size());
  auto next = parents.begin();
  for (std::string const& id : known) {
    while (next != parents.end() && *next < id) gone.emplace_back(*next++);
    if (next != parents.end() && *next == id) ++next;
    gone.push_back(id);
  }
  gone.insert(gone.end(), next, parents.end());
  return gone;
}

}  // namespace detail

/// Which partition owns a token, a key, all keys of a prefix: every token exactly one. Made of what
/// a service lists, with the version of that list, and never changed: a newer list gives another
/// snapshot. Look-ups allocate nothing, may run on any number of threads, and return what lives as
/// long as the snapshot.
template <hash_scheme Scheme>
class routing {
 public:
  using scheme_type = Scheme;
  using token_type = token_of_scheme<Scheme>;
  using partition_type = partition<token_type>;

  /// The snapshot of a list that was read in full, in any order. Partitions that others name as
  /// their parents are replaced and left out; of one listed twice the last entry counts.
  /// Errors: `gap` and `overlap`, with ids and tokens, where the rest does not own every token
  /// exactly once; `conflicting_ranges` for an id with two different bounds; `malformed` for one
  /// without an id or with itself as a parent; `scheme_mismatch`, `invalid_range` for bounds that
  /// are not of the scheme. Complexity: that of sorting the list and its parents.
  [[nodiscard]] static result<routing> from_list(Scheme scheme, std::vector<partition_type> list,
                                                 std::string version = {}) {
    return build(std::move(scheme), {}, std::move(list), std::move(version));
  }

  /// The snapshot after `changes`, which list what is new since this one: children of splits and
  /// merges, also of several generations, and repetitions. This one stays as it is, and what was
  /// replaced once stays away for ever.
  /// Errors: those of `from_list`; then read the list in full.
  /// Complexity: linear in the snapshot, and that of sorting the changes.
  [[nodiscard]] result<routing> updated(std::vector<partition_type> changes,
                                        std::string version) const {
    return build(scheme_, {partitions(), by_id_, gone_}, std::move(changes), std::move(version));
  }

  /// How many partitions there are; never 0.
  std::size_t size() const noexcept { return ranges_.size(); }
  /// All of them in token order.
  std::span<partition_type const> partitions() const& noexcept { return ranges_.values(); }
  std::span<partition_type const> partitions() const&& = delete;
  /// What the service called the list, to ask it for what is new since; an ETag, or nothing.
  std::string const& version() const noexcept { return version_; }
  Scheme const& scheme() const noexcept { return scheme_; }

  /// The partition that owns a token, which is one of the scheme's.
  partition_type const& at(token_type const& token) const& { return partitions()[index_of(token)]; }
  partition_type const& at(token_type const&) const&& = delete;
  /// Which one that is, counted in token order from 0.
  std::size_t index_of(token_type const& token) const {
    expects_own(token);
    return ranges_.index_of(token);
  }

  /// The partition of this id; null for one that is gone or was never seen. Complexity:
  /// logarithmic.
  partition_type const* find(std::string_view) const&& = delete;
  partition_type const* find(std::string_view id) const& {
    auto const found = std::lower_bound(
        by_id_.begin(), by_id_.end(), id,
        [&](std::uint32_t i, std::string_view wanted) { return partitions()[i].id < wanted; });
    if (found == by_id_.end() || partitions()[*found].id != id) return nullptr;
    return &partitions()[*found];
  }
  /// Whether a partition of this id was replaced by others. Complexity: logarithmic.
  bool is_gone(std::string_view id) const {
    return std::binary_search(gone_.begin(), gone_.end(), id, std::less<>{});
  }

  /// The partition that owns a key, never null: of whatever `token_of` takes, as a `result` where
  /// the token is one. Errors: those of `token_of`.
  template <routable_by<Scheme> Key>
  [[nodiscard]] auto owner_of(Key const& key) const& {
    auto const token = token_of(scheme_, key);
    if constexpr (detail::is_result<std::remove_const_t<decltype(token)>>) {
      using owner = result<partition_type const*>;
      if (!token) [[unlikely]]
        return owner{unexpected{token.error()}};
      return owner{&ranges_.at(*token)};
    } else {
      return &ranges_.at(token);
    }
  }

  template <routable_by<Scheme> Key>
  void owner_of(Key const& key) const&& = delete;

  /// The partitions that share a token with `stretch`, in token order.
  std::span<partition_type const> overlapping(token_range<token_type> const&) const&& = delete;
  std::span<partition_type const> overlapping(token_range<token_type> const& stretch) const& {
    expects(detail::has_own_tokens(scheme_, stretch), asked_of_own);
    auto const found = ranges_.overlapping(stretch);
    return partitions().subspan(found.begin().index(), found.size());
  }
  /// The partitions where keys lie that begin with this one, in a container of so many paths: one
  /// for a whole key. Errors: those of `prefix_bounds`.
  template <class Key>
    requires requires(Scheme const& scheme, Key const& key) { prefix_bounds(scheme, key, 1); }
  [[nodiscard]] result<std::span<partition_type const>> owners_of_prefix(Key const& key,
                                                                         std::size_t paths) const& {
    auto const bounds = prefix_bounds(scheme_, key, paths);
    if (!bounds) return unexpected{bounds.error()};
    return overlapping(token_range<token_type>{*bounds});
  }
  template <class Key>
    requires requires(Scheme const& scheme, Key const& key) { prefix_bounds(scheme, key, 1); }
  void owners_of_prefix(Key const&, std::size_t) const&& = delete;

  /// The keys of a list by the partitions that own them, in one pass. Of items that are no keys,
  /// `by` gives what `token_of` takes: an extractor, a member, a function. The groups, or a
  /// `result` of them where tokens are results. Errors: the first of `by` and `token_of`, naming
  /// the key, counted from 0. Complexity: linear in the keys; a few allocations, however many
  /// groups there are.
  template <class Items, class By = std::identity>
    requires detail::groupable_by<Items, By, Scheme>
  [[nodiscard]] auto group(Items&& items, By const& by = {}) const& {
    using groups = key_groups<token_type>;
    using item_type = detail::item_of<Items> const&;
    using token = decltype(token_of(scheme_, std::invoke(by, std::declval<item_type>())));
    std::vector<std::uint64_t> keys;
    if constexpr (requires { std::size(items); }) keys.reserve(std::size(items));
    for (auto&& each : items) {
      item_type item = each;
      std::uint64_t const at = keys.size();
      expects(at < 0xFFFF'FFFF, "there are less than 2^32 keys");
      if constexpr (detail::is_result<token>) {
        token const found = token_of(scheme_, std::invoke(by, item));
        if (!found) [[unlikely]]
          return result<groups>{of_key(at, found.error())};
        keys.push_back(std::uint64_t{ranges_.index_of(*found)} << 32 | at);
      } else {
        keys.push_back(
            std::uint64_t{ranges_.index_of(token_of(scheme_, std::invoke(by, item)))} << 32 | at);
      }
    }
    detail::sort_by_owner(keys, size());
    groups made{partitions(), keys};
    if constexpr (detail::is_result<token>) {
      return result<groups>{std::move(made)};
    } else {
      return made;
    }
  }
  template <class Items, class By = std::identity>
    requires detail::groupable_by<Items, By, Scheme>
  void group(Items&&, By const& = {}) const&& = delete;

  /// Whether both have the same partitions, the same that are gone, and the same version.
  friend bool operator==(routing const&, routing const&) = default;

 private:
  using range_map_type = range_map<token_type, partition_type>;
  using numbers = typename detail::partition_merge<token_type>::numbers;

  routing(Scheme scheme, range_map_type ranges, numbers by_id, std::vector<std::string> gone,
          std::string version)
      : scheme_{std::move(scheme)},
        ranges_{std::move(ranges)},
        by_id_{std::move(by_id)},
        gone_{std::move(gone)},
        version_{std::move(version)} {}

  static constexpr char const* asked_of_own = "a routing is asked for tokens of its scheme";

  void expects_own(token_type const& token) const {
    expects(detail::is_own_token(scheme_, token), asked_of_own);
  }

  static unexpected of_key(std::uint64_t at, error why) {
    error named = why;
    named.text = {"key ", at, ": ", why.text};
    return unexpected{named};
  }

  // Of an earlier snapshot: its partitions, their order, and who is gone.
  struct earlier {
    std::span<partition_type const> partitions{};
    std::span<std::uint32_t const> by_id{};
    std::span<std::string const> gone{};
  };

  static result<routing> build(Scheme scheme, earlier const& before,
                               std::vector<partition_type> list, std::string version) {
    constexpr std::size_t most = 0x7FFF'FFFF;
    if (list.size() > most - before.partitions.size())
      return fail(errc::too_large, "a routing has at most ", most, " partitions, these are ",
                  before.partitions.size() + list.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      if (auto const sound = detail::check_partition(scheme, i, list[i]); !sound)
        return unexpected{sound.error()};

    auto gone = detail::all_gone(before.gone, list);
    detail::partition_merge<token_type> merge{before.partitions, list};
    if (auto const found = merge.find_survivors(before.by_id, gone); !found)
      return unexpected{found.error()};
    auto const whole = whole_space(scheme);
    if (auto const covered = merge.cover(whole); !covered) return unexpected{covered.error()};
    auto by_id = merge.new_numbers_by_id();
    auto ranges = range_map_type::from_ranges(merge.taken(), whole);
    if (!ranges) return unexpected{ranges.error()};
    return routing{std::move(scheme), *std::move(ranges), std::move(by_id), std::move(gone),
                   std::move(version)};
  }

  Scheme scheme_;
  range_map_type ranges_;
  numbers by_id_;                  // the numbers of the partitions in the order of their ids
  std::vector<std::string> gone_;  // sorted
  std::string version_;
};

/// `routing<Scheme>::from_list`, its type taken from the scheme: `routing_of(cosmos_v2, list)`.
template <hash_scheme Scheme>
[[nodiscard]] result<routing<Scheme>> routing_of(
    Scheme const& scheme, std::vector<partition<token_of_scheme<Scheme>>> list,
    std::string version = {}) {
  return routing<Scheme>::from_list(scheme, std::move(list), std::move(version));
}

}  // namespace keyspan
