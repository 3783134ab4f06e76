// keyspan/merge/winner_tree.hpp — the tree that finds the least head of many sorted sources.
//              3 of b                 the winner of all; b's next item replaces it, and only the
//         .------+------.             path of b is decided anew
//       3 of b        7 of d
//      .--+--.       .--+--.
//   9 of a  3 of b  8 of c  7 of d    the heads
#pragma once

#include <keyspan/core/contract.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::detail {

// What the tree compares: 64 or 128 bits of an item's key, then the number of its source.
template <bool Wide>
struct merge_key {
  std::uint64_t first = 0;
};
template <>
struct merge_key<true> {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

inline constexpr std::uint64_t past_all = (std::numeric_limits<std::uint64_t>::max)();
// In the number of a source that has ended: behind every other, also where its bits are the same.
inline constexpr std::uint64_t ended_bit = std::uint64_t{1} << 63;

// So many sources in place of one.
struct replacement {
  std::size_t source = 0;
  std::size_t count = 0;
};

#if defined(__GNUC__)
// Nothing happens, but the compiler cannot tell: it makes no branch of what it does not see
// through.
[[gnu::always_inline]] inline void keep_in_register(std::uint64_t& value) noexcept {
  asm("" : "+r"(value));
}
#else
inline void keep_in_register(std::uint64_t&) noexcept {}
#endif

// The less of two, without a branch: which of them wins is not to be foretold.
struct portable_minimum {
  static void keep(merge_key<false> const& other, std::uint64_t other_source, merge_key<false>& key,
                   std::uint64_t& source) noexcept {
    take_if((other.first < key.first) | ((other.first == key.first) & (other_source < source)),
            other, other_source, key, source);
  }
  static void keep(merge_key<true> const& other, std::uint64_t other_source, merge_key<true>& key,
                   std::uint64_t& source) noexcept {
    take_if(
        (other.first < key.first) | ((other.first == key.first) &
                                     ((other.second < key.second) |
                                      ((other.second == key.second) & (other_source < source)))),
        other, other_source, key, source);
  }
  // Of the two nodes below one: of equal keys the left one's is kept, who has the lesser source.
  // `node` is the one of `key`, which is not the greatest.
  static void keep_sibling(merge_key<false> const& other, std::uint64_t other_source,
                           std::uint64_t node, merge_key<false>& key,
                           std::uint64_t& source) noexcept {
    take_if(other.first < key.first + (node & 1), other, other_source, key, source);
  }
  static void keep_sibling(merge_key<true> const& other, std::uint64_t other_source,
                           std::uint64_t node, merge_key<true>& key,
                           std::uint64_t& source) noexcept {
    bool const is_before =
        (other.second < key.second) | ((other.second == key.second) & static_cast<bool>(node & 1));
    take_if((other.first < key.first) | ((other.first == key.first) & is_before), other,
            other_source, key, source);
  }

 private:
  template <bool Wide>
  static void take_if(bool is_less, merge_key<Wide> const& other, std::uint64_t other_source,
                      merge_key<Wide>& key, std::uint64_t& source) noexcept {
    std::uint64_t mask = 0 - static_cast<std::uint64_t>(is_less);
    keep_in_register(mask);
    std::uint64_t first = (other.first ^ key.first) & mask;
    std::uint64_t number = (other_source ^ source) & mask;
    keep_in_register(first);
    keep_in_register(number);
    key.first ^= first;
    source ^= number;
    if constexpr (Wide) {
      std::uint64_t second = (other.second ^ key.second) & mask;
      keep_in_register(second);
      key.second ^= second;
    }
  }
};

#if defined(__GNUC__) && defined(__x86_64__)
// The same by a subtraction with borrow and conditional moves, which compilers are loath to write.
struct quickest_minimum {
  [[gnu::always_inline]] static void keep(merge_key<false> const& other, std::uint64_t other_source,
                                          merge_key<false>& key, std::uint64_t& source) noexcept {
    std::uint64_t first = other.first;
    asm("cmp {%[source], %[other_source]|%[other_source], %[source]}\n\t"
        "sbb {%[key], %[first]|%[first], %[key]}\n\t"
        "cmovb {%[other], %[key]|%[key], %[other]}\n\t"
        "cmovb {%[other_source], %[source]|%[source], %[other_source]}"
        : [key] "+&r"(key.first), [source] "+&r"(source), [first] "+&r"(first)
        : [other] "r"(other.first), [other_source] "r"(other_source)
        : "cc");
  }
  [[gnu::always_inline]] static void keep(merge_key<true> const& other, std::uint64_t other_source,
                                          merge_key<true>& key, std::uint64_t& source) noexcept {
    std::uint64_t first = other.first;
    std::uint64_t second = other.second;
    asm("cmp {%[source], %[other_source]|%[other_source], %[source]}\n\t"
        "sbb {%[key_second], %[second]|%[second], %[key_second]}\n\t"
        "sbb {%[key_first], %[first]|%[first], %[key_first]}\n\t"
        "cmovb {%[other_first], %[key_first]|%[key_first], %[other_first]}\n\t"
        "cmovb {%[other_second], %[key_second]|%[key_second], %[other_second]}\n\t"
        "cmovb {%[other_source], %[source]|%[source], %[other_source]}"
        : [key_first] "+&r"(key.first), [key_second] "+&r"(key.second), [source] "+&r"(source),
          [first] "+&r"(first), [second] "+&r"(second)
        : [other_first] "r"(other.first), [other_second] "r"(other.second),
          [other_source] "r"(other_source)
        : "cc");
  }
  // The carry that it begins with is the node's last bit: at hand before the sources are.
  [[gnu::always_inline]] static void keep_sibling(merge_key<false> const& other,
                                                  std::uint64_t other_source, std::uint64_t node,
                                                  merge_key<false>& key,
                                                  std::uint64_t& source) noexcept {
    std::uint64_t first = other.first;
    asm("bt {$0, %[node]|%[node], 0}\n\t"
        "sbb {%[key], %[first]|%[first], %[key]}\n\t"
        "cmovb {%[other], %[key]|%[key], %[other]}\n\t"
        "cmovb {%[other_source], %[source]|%[source], %[other_source]}"
        : [key] "+&r"(key.first), [source] "+&r"(source), [first] "+&r"(first)
        : [other] "r"(other.first), [other_source] "r"(other_source), [node] "r"(node)
        : "cc");
  }
  [[gnu::always_inline]] static void keep_sibling(merge_key<true> const& other,
                                                  std::uint64_t other_source, std::uint64_t node,
                                                  merge_key<true>& key,
                                                  std::uint64_t& source) noexcept {
    std::uint64_t first = other.first;
    std::uint64_t second = other.second;
    asm("bt {$0, %[node]|%[node], 0}\n\t"
        "sbb {%[key_second], %[second]|%[second], %[key_second]}\n\t"
        "sbb {%[key_first], %[first]|%[first], %[key_first]}\n\t"
        "cmovb {%[other_first], %[key_first]|%[key_first], %[other_first]}\n\t"
        "cmovb {%[other_second], %[key_second]|%[key_second], %[other_second]}\n\t"
        "cmovb {%[other_source], %[source]|%[source], %[other_source]}"
        : [key_first] "+&r"(key.first), [key_second] "+&r"(key.second), [source] "+&r"(source),
          [first] "+&r"(first), [second] "+&r"(second)
        : [other_first] "r"(other.first), [other_second] "r"(other.second),
          [other_source] "r"(other_source), [node] "r"(node)
        : "cc");
  }
};
#else
using quickest_minimum = portable_minimum;
#endif

// Keys of tree nodes, each word in an array of its own: side by side, compilers load and store them
// as vectors, which is slower.
template <bool Wide>
class key_array {
 public:
  void resize(std::size_t size) {
    first_.assign(size, past_all);
    if constexpr (Wide) second_.assign(size, past_all);
  }
  merge_key<Wide> operator[](std::size_t at) const noexcept {
    if constexpr (Wide) {
      return {first_[at], second_[at]};
    } else {
      return {first_[at]};
    }
  }
  void set(std::size_t at, merge_key<Wide> const& key) noexcept {
    first_[at] = key.first;
    if constexpr (Wide) second_[at] = key.second;
  }

 private:
  struct nothing {};

  std::vector<std::uint64_t> first_{};
  [[no_unique_address]] std::conditional_t<Wide, std::vector<std::uint64_t>, nothing> second_{};
};

// Why a run of the tree ended.
enum class run_end : std::uint8_t {
  full,      // as many items as there was room for
  page_end,  // the source's page has no item left; what comes next is not known
  waiting,   // the source may have the next item, and has none yet
  unsorted,  // the source's item is less than the one before it; that one was given
  done,      // all sources have ended
};

struct tree_run {
  std::size_t count = 0;
  run_end why = run_end::done;
  std::size_t source = 0;
};

// A source ends where its page does.
struct ends_with_page {
  template <class Tree>
  bool operator()(Tree& tree, std::size_t source) const {
    tree.end(source);
    return true;
  }
};
// Somebody has another page, perhaps.
struct stops_at_page_end {
  template <class Tree>
  bool operator()(Tree&, std::size_t) const noexcept {
    return false;
  }
};

// Merges the pages of many sources. `Keys` makes the keys of their items:
//
//   is_wide, is_exact       128 bits or 64; whether equal bits mean equivalent items
//   is_checked              whether a source must be sorted
//   begin_page(source)      told when a page of the source comes
//   key(source, item)       asked once of each item, in the order of its source
//   is_less(item, item)     asked where the bits are equal and not exact
//
// Equal items leave in the order of their sources.
template <class Item, class Keys, class Minimum = quickest_minimum>
class winner_tree {
  static constexpr bool is_wide = Keys::is_wide;
  static constexpr bool is_exact = Keys::is_exact;

 public:
  using key_type = merge_key<is_wide>;

  winner_tree(std::size_t sources, Keys keys) : keys_(std::move(keys)) {
    keys_.resize(sources);
    lay_out(sources);
  }

  std::size_t size() const noexcept { return pages_.size(); }
  Keys& keys() noexcept { return keys_; }
  Keys const& keys() const noexcept { return keys_; }

  // The source's next items. Requires that there is one.
  void show(std::size_t source, std::span<Item> items) {
    page& shown = pages_[source] = {items.data(), items.data() + items.size(), {}};
    keys_.begin_page(source);
    key_type const key = keys_.key(source, items.front());
    look_ahead(shown, source);
    change(source, key, source);
  }
  // The source has no more items.
  void end(std::size_t source) {
    pages_[source] = {};
    key_type none;
    none.first = past_all;
    if constexpr (is_wide) none.second = past_all;
    change(source, none, source | ended_bit);
  }
  // The source has none yet, and none that is less than `floor`.
  void await(std::size_t source, key_type const& floor) {
    pages_[source] = {};
    change(source, floor, source);
  }

  // What of the source's page was not given yet.
  std::span<Item> rest(std::size_t source) const noexcept {
    return {pages_[source].at, pages_[source].end};
  }
  bool has_ended(std::size_t source) const noexcept {
    return (sources_[leaf(source)] & ended_bit) != 0;
  }
  // The key of the source's head, or of the item before it where the page has none left, or what
  // its next item is not less than.
  key_type key_of(std::size_t source) const noexcept { return keys_of_nodes_[leaf(source)]; }

  // What no item that comes next is less than.
  key_type least() {
    build();
    return keys_of_nodes_[1];
  }

  // Puts sources that have ended in place of some, which come in their order. Not while a run asks
  // about a page's end.
  void replace(std::span<replacement const> some) {
    auto const does_not_follow = [](auto const& a, auto const& b) { return a.source >= b.source; };
    expects(some.empty() || some.back().source < pages_.size(), "what is replaced is there");
    expects(std::adjacent_find(some.begin(), some.end(), does_not_follow) == some.end(),
            "what is replaced comes in the order of the sources, each once");
    key_type past{past_all};
    if constexpr (is_wide) past.second = past_all;
    std::size_t size = pages_.size();
    for (replacement const& one : some) size = size - 1 + one.count;
    std::vector<page> pages(size);
    std::vector<std::pair<key_type, std::uint64_t>> leaves(size);
    std::size_t at = 0;
    auto next = some.begin();
    for (std::size_t from = 0; from < pages_.size(); ++from) {
      if (next == some.end() || next->source != from) {
        pages[at] = pages_[from];
        leaves[at] = {key_of(from), has_ended(from) ? at | ended_bit : at};
        ++at;
        continue;
      }
      for (std::size_t const end = at + next->count; at < end; ++at)
        leaves[at] = {past, at | ended_bit};
      ++next;
    }
    keys_.replace(some);
    lay_out(pages.size());
    pages_ = std::move(pages);
    for (std::size_t to = 0; to < leaves.size(); ++to) {
      keys_of_nodes_.set(leaf(to), leaves[to].first);
      sources_[leaf(to)] = leaves[to].second;
    }
    is_built_ = false;
  }

  // Gives items, the least first, until there is no more room or no more to be known. `page_end`
  // is told when the last item of a page was given, and says whether to go on.
  template <class PageEnd>
  tree_run run(Item** items, std::uint32_t* sources, std::size_t room, PageEnd page_end) {
    build();
    std::size_t count = 0;
    std::uint64_t last = std::exchange(runs_on_, past_all);
    std::uint64_t in_a_row = last == past_all ? 0 : most_in_a_row - 1;
    bool is_row = is_in_rows_;  // the next one is looked at alone
    while (count < room) {
      std::uint64_t const winner = sources_[1];
      if ((winner & ended_bit) != 0) [[unlikely]]
        return {count, run_end::done, 0};
      page& from = pages_[winner];
      if (from.at == from.end) [[unlikely]]
        return {count, run_end::waiting, winner};
      if constexpr (is_exact && Keys::is_checked) {
        if (pages_.size() == 2 && room - count > 1 &&
            pages_[1 - winner].at != pages_[1 - winner].end) {
          tree_run const two = run_of_two(items, sources, count, room);
          count = two.count;
          if (two.why == run_end::unsorted) [[unlikely]]
            return two;
          if (two.why == run_end::page_end && !page_end(*this, two.source))
            return {count, run_end::page_end, two.source};
          continue;
        }
      }
      if (is_row) [[unlikely]] {
        tree_run const row = run_of_one(items, sources, count, room, winner);
        is_row = is_in_rows_ = row.count - count >= long_row;
        in_a_row = 0;
        count = row.count;
        if (row.why == run_end::unsorted) [[unlikely]]
          return row;
        if (row.why == run_end::page_end || count == room) runs_on_ = winner;
        if (row.why == run_end::page_end && !page_end(*this, winner))
          return {count, run_end::page_end, winner};
        continue;
      }
      items[count] = from.at;
      sources[count++] = static_cast<std::uint32_t>(winner);
      if (++from.at == from.end) [[unlikely]] {
        if (!page_end(*this, winner)) return {count, run_end::page_end, winner};
        continue;
      }
      key_type const key = from.next;
      if (is_out_of_order(key, keys_of_nodes_[1], from.at)) [[unlikely]]
        return {count, run_end::unsorted, winner};
      decide(winner, key, winner);
      look_ahead(from, winner);
      in_a_row = (in_a_row + 1) & (0 - static_cast<std::uint64_t>(winner == last));
      last = winner;
      is_row = in_a_row == most_in_a_row && sources_[1] == winner;
    }
    return {count, run_end::full, 0};
  }

 private:
  struct page {
    Item* at = nullptr;
    Item* end = nullptr;
    key_type next{};  // of the item behind `at`: loaded before it is known that it is needed
  };
  // How often one source wins before it is looked at alone; less often does not pay.
  static constexpr std::uint64_t most_in_a_row = 1;
  // Behind so many of one source, the next one is looked at alone from its first item on.
  static constexpr std::size_t long_row = 16;

  void look_ahead(page& from, std::size_t source) {
    if (from.end - from.at < 2) return;
    prefetch(from.at);
    from.next = keys_.key(source, from.at[1]);
  }

  // Node i stands above 2i and 2i + 1, and the leaves behind all of them: so the first node stands
  // above every leaf, whatever their number is. From left to right the leaves are in the order of
  // the sources: where some are a level higher, those are the last.
  std::size_t leaf(std::size_t source) const noexcept {
    std::size_t const node = first_leaf_ + source;
    return node < 2 * width_ ? node : node - width_;
  }
  void lay_out(std::size_t sources) {
    expects(sources <= (std::numeric_limits<std::uint32_t>::max)(), "a merge has fewer sources");
    width_ = (std::max)(sources, std::size_t{2});
    first_leaf_ = std::bit_ceil(width_);
    pages_.assign(sources, page{});
    keys_of_nodes_.resize(2 * width_);
    sources_.resize(2 * width_);
    for (std::size_t i = 0; i < width_; ++i) sources_[leaf(i)] = i | ended_bit;
    is_built_ = false;
  }

  void build() {
    if (is_built_) [[likely]]
      return;
    for (std::size_t node = width_ - 1; node > 0; --node) {
      std::size_t const left = 2 * node;
      key_type key = keys_of_nodes_[left];
      std::uint64_t source = sources_[left];
      challenge(left + 1, key, source);
      keys_of_nodes_.set(node, key);
      sources_[node] = source;
    }
    is_built_ = true;
  }

  void change(std::size_t source, key_type const& key, std::uint64_t number) {
    if (is_built_) return decide(source, key, number);
    keys_of_nodes_.set(leaf(source), key);
    sources_[leaf(source)] = number;
  }
  // Who wins on the path of a source whose head is another one now.
  void decide(std::size_t source, key_type key, std::uint64_t number) {
    if constexpr (is_exact) {
      // No source that has ended is as little as this one.
      if (key.first != past_all) [[likely]]
        return decide_on_keys(source, key, number);
    }
    std::size_t node = leaf(source);
    keys_of_nodes_.set(node, key);
    sources_[node] = number;
    while (node > 1) {
      challenge(node ^ 1, key, number);
      node >>= 1;
      keys_of_nodes_.set(node, key);
      sources_[node] = number;
    }
  }
  void decide_on_keys(std::size_t source, key_type key, std::uint64_t number) {
    std::size_t node = leaf(source);
    keys_of_nodes_.set(node, key);
    sources_[node] = number;
    while (node > 1) {
      key_type const other = keys_of_nodes_[node ^ 1];
      Minimum::keep_sibling(other, sources_[node ^ 1], node, key, number);
      node >>= 1;
      keys_of_nodes_.set(node, key);
      sources_[node] = number;
    }
  }
  // The less of a node and of what it meets.
  void challenge(std::size_t node, key_type& key, std::uint64_t& source) const {
    key_type const other = keys_of_nodes_[node];
    std::uint64_t const other_source = sources_[node];
    if constexpr (is_exact) {
      Minimum::keep(other, other_source, key, source);
    } else if (other.first != key.first) {
      Minimum::keep(other, other_source, key, source);
    } else if (precedes(other_source, source)) {
      source = other_source;
    }
  }
  // Of two sources whose heads have the same bits. One that has no item yet comes first: its next
  // one may have those bits and be less all the same.
  bool precedes(std::uint64_t a, std::uint64_t b) const {
    if (((a | b) & ended_bit) != 0) return a < b;
    page const& left = pages_[a];
    page const& right = pages_[b];
    bool const left_waits = left.at == left.end;
    if (left_waits || right.at == right.end) return left_waits;
    return is_first(*left.at, a, *right.at, b);
  }

  // One comparison, whoever has the less number.
  bool is_first(Item const& a, std::uint64_t source_of_a, Item const& b,
                std::uint64_t source_of_b) const {
    return source_of_a < source_of_b ? !keys_.is_less(b, a) : keys_.is_less(a, b);
  }

  bool is_out_of_order(key_type const& key, key_type const& before, Item* at) const {
    if constexpr (!Keys::is_checked) {
      return false;
    } else if constexpr (is_wide) {
      return key.first < before.first || (key.first == before.first && key.second < before.second);
    } else if constexpr (is_exact) {
      return key.first < before.first;
    } else {
      return key.first < before.first ||
             (key.first == before.first && keys_.is_less(*at, *(at - 1)));
    }
  }

  // Two sources, with an item each: a tree of one node, and no branch on who wins.
  tree_run run_of_two(Item** items, std::uint32_t* sources, std::size_t count, std::size_t room) {
    Item* at[2] = {pages_[0].at, pages_[1].at};
    key_type key[2] = {key_of(0), key_of(1)};
    tree_run end{room, run_end::full, 0};
    while (count < room) {
      std::uint64_t winner = 1;
      key_type least = key[1];
      Minimum::keep(key[0], 0, least, winner);
      items[count] = at[winner];
      sources[count++] = static_cast<std::uint32_t>(winner);
      if (++at[winner] == pages_[winner].end) {
        end = {count, run_end::page_end, winner};
        break;
      }
      key_type const next = keys_.key(winner, *at[winner]);
      if (is_out_of_order(next, least, at[winner])) [[unlikely]] {
        end = {count, run_end::unsorted, winner};
        break;
      }
      key[winner] = next;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      pages_[i].at = at[i];
      decide(i, key[i], i);
      look_ahead(pages_[i], i);
    }
    return end;
  }

  // One source won again and again: it gives items as long as they precede the least head of all
  // others. Compared in a row, that is one comparison an item.
  tree_run run_of_one(Item** items, std::uint32_t* sources, std::size_t count, std::size_t room,
                      std::uint64_t winner) {
    key_type limit;
    limit.first = past_all;
    if constexpr (is_wide) limit.second = past_all;
    std::uint64_t challenger = past_all;
    for (std::size_t node = leaf(winner); node > 1; node >>= 1)
      challenge(node ^ 1, limit, challenger);
    page& from = pages_[winner];
    Item* const first = from.at;
    Item* const stop = first + (std::min)(room - count, static_cast<std::size_t>(from.end - first));
    key_type key = keys_of_nodes_[1];
    run_end why = run_end::full;
    auto const number = static_cast<std::uint32_t>(winner);
    items[count] = first;
    sources[count++] = number;
    Item* at = first + 1;
    key_type next = from.next;
    if constexpr (is_exact && Keys::is_checked) {
      std::size_t const more =
          run_of_eights(items + count, sources + count, at, stop, key, winner, limit, challenger);
      count += more;
      at += more;
      if (more > 0 && at != from.end) next = keys_.key(winner, *at);
    }
    while (at != from.end) {
      if (is_out_of_order(next, key, at)) [[unlikely]] {
        why = run_end::unsorted;
        break;
      }
      key = next;
      if (at == stop || !is_before(key, winner, at, limit, challenger)) break;
      items[count] = at;
      sources[count++] = number;
      if (++at != from.end) next = keys_.key(winner, *at);
    }
    if (at == from.end) why = run_end::page_end;
    from.at = at;
    if (why == run_end::unsorted) return {count, why, winner};
    decide(winner, key, winner);
    look_ahead(from, winner);
    return {count, why, winner};
  }
  // Eight at a time, as long as the last of them precedes the head: returns how many. Items out of
  // order end it, and are looked at one by one. The loops are of a length that compilers unroll.
  std::size_t run_of_eights(Item** items, std::uint32_t* sources, Item* const first, Item* stop,
                            key_type& key, std::uint64_t winner, key_type const& limit,
                            std::uint64_t challenger) {
    constexpr int all = 8;
    auto const number = static_cast<std::uint32_t>(winner);
    Item* at = first;
    for (; stop - at > all; at += all, items += all, sources += all) {
      key_type last = key;
      for (int i = 0; i < all; ++i) {
        key_type const next = keys_.key(winner, at[i]);
        if (is_out_of_order(next, last, at + i)) [[unlikely]]
          return static_cast<std::size_t>(at - first);
        last = next;
      }
      if (!is_before(last, winner, at, limit, challenger)) break;
      key = last;
      for (int i = 0; i < all; ++i) items[i] = at + i;
      for (int i = 0; i < all; ++i) sources[i] = number;
    }
    return static_cast<std::size_t>(at - first);
  }
  bool is_before(key_type const& key, std::uint64_t source, Item* at, key_type const& limit,
                 std::uint64_t challenger) const {
    if (key.first != limit.first) return key.first < limit.first;
    if constexpr (is_wide) {
      if (key.second != limit.second) return key.second < limit.second;
    } else if constexpr (!is_exact) {
      if ((challenger & ended_bit) == 0) {
        page const& other = pages_[challenger];
        if (other.at == other.end) return false;
        return is_first(*at, source, *other.at, challenger);
      }
    }
    return source < challenger;
  }

  // There are more sources than the machine notices by itself that are read in a row.
  static void prefetch([[maybe_unused]] Item* item) noexcept {
#if defined(__GNUC__)
    // Faults nowhere, also behind the end.
    __builtin_prefetch(reinterpret_cast<std::byte const*>(item) +
                       (std::max)(2 * sizeof(Item), std::size_t{128}));
#endif
  }

  [[no_unique_address]] Keys keys_;
  std::size_t width_ = 0;
  std::size_t first_leaf_ = 0;  // of the first source
  key_array<is_wide> keys_of_nodes_{};
  std::vector<std::uint64_t> sources_{};
  std::vector<page> pages_{};
  bool is_built_ = false;
  std::uint64_t runs_on_ = past_all;  // whose run the end of a page or of the room has cut
  bool is_in_rows_ = false;           // the last run was a long one
};

}  // namespace keyspan::detail
