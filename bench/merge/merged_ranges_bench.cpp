// What does it cost to merge sorted ranges in memory, over a walk over what is merged already? The
// first row of each table is the floor.
#include <bench/merge/sorted_sources.hpp>
#include <bench/support/bench.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if __has_include(<boost/heap/d_ary_heap.hpp>)
#include <boost/heap/d_ary_heap.hpp>
#endif
// libstdc++ has a loser tree, in its parallel mode, which wants OpenMP also of who uses one thread.
#if defined(_OPENMP) && defined(__GLIBCXX__)
#include <parallel/algorithm>
#define KEYSPAN_BENCH_LOSER_TREE 1
#else
#define KEYSPAN_BENCH_LOSER_TREE 0
#endif
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define KEYSPAN_BENCH_MALLINFO 1
#else
#define KEYSPAN_BENCH_MALLINFO 0
#endif

namespace {

using bench::look_at;
using bench::sorted_sources;
using keyspan::ascending;
using keyspan::token128;

constexpr auto walk = "walk over merged items";
constexpr auto ours = "keyspan::merge";
constexpr auto portable = "keyspan::merge, no inline assembly";
constexpr auto queue_of_cursors = "std::priority_queue of cursors";
constexpr auto queue_of_keys = "std::priority_queue of keys";
constexpr auto heap = "boost::heap::d_ary_heap of cursors";
constexpr auto loser_tree = "__gnu_parallel::multiway_merge";
constexpr auto cascade = "std::merge, two and two";

// ---- the items ----

// With 48 bytes that nobody looks at while they are merged.
struct record {
  token128 key;
  std::array<std::byte, 48> payload{};

  friend bool operator<(record const& a, record const& b) { return a.key < b.key; }
};
static_assert(sizeof(record) == 64);

std::uint64_t word_of(std::uint64_t key) { return key; }
std::uint64_t word_of(record const& one) { return one.key.high ^ one.key.low; }

std::vector<std::uint64_t> some_keys(std::size_t count) {
  auto rng = bench::Rng{42};
  std::vector<std::uint64_t> keys(count);
  for (auto& key : keys) key = rng();
  std::ranges::sort(keys);
  return keys;
}

// `prefixes` of 64 bits that differ; 0 for as many as there are records.
std::vector<record> some_records(std::size_t count, std::uint64_t prefixes) {
  auto rng = bench::Rng{42};
  std::vector<record> records(count);
  for (auto& one : records) {
    auto const high = rng();
    one.key = {prefixes > 0 ? high % prefixes : high, rng()};
  }
  std::ranges::sort(records, {}, &record::key);
  return records;
}

// ---- ways to merge them ----

template <class Item, class Order>
std::uint64_t sum_merged(sorted_sources<Item> const& sources, Order order) {
  std::uint64_t sum = 0;
  for (Item const& one : keyspan::merge(sources, order)) look_at(word_of(one), sum);
  return sum;
}

// What `merge` does, by a minimum that compilers are trusted with.
template <class Item, class Order>
std::uint64_t sum_portably(sorted_sources<Item> const& sources, Order order) {
  using keys_type = typename Order::template keys<Item const>;
  using tree_type =
      keyspan::detail::winner_tree<Item const, keys_type, keyspan::detail::portable_minimum>;
  tree_type tree{sources.size(), keys_type{order}};
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].empty()) tree.show(i, std::span{sources[i]});
  std::array<Item const*, 256> items;
  std::array<std::uint32_t, 256> numbers;
  std::uint64_t sum = 0;
  for (bool is_done = false; !is_done;) {
    auto const run =
        tree.run(items.data(), numbers.data(), items.size(), keyspan::detail::ends_with_page{});
    for (std::size_t i = 0; i < run.count; ++i) look_at(word_of(*items[i]), sum);
    is_done = run.why == keyspan::detail::run_end::done;
  }
  return sum;
}

#if __has_include(<boost/heap/d_ary_heap.hpp>)
template <class T, class ComesAfter>
using four_ary_heap =
    boost::heap::d_ary_heap<T, boost::heap::arity<4>, boost::heap::compare<ComesAfter>>;
#endif

#if KEYSPAN_BENCH_LOSER_TREE
template <class Item>
std::uint64_t sum_by_loser_tree(sorted_sources<Item>& sources, std::vector<Item>& merged) {
  using iterator = typename std::vector<Item>::iterator;  // of const items it does not compile
  std::vector<std::pair<iterator, iterator>> ranges;
  for (auto& one : sources) ranges.emplace_back(one.begin(), one.end());
  __gnu_parallel::multiway_merge(ranges.begin(), ranges.end(), merged.begin(), merged.size(),
                                 std::less<>{}, __gnu_parallel::sequential_tag{});
  std::uint64_t sum = 0;
  for (Item const& one : merged) look_at(word_of(one), sum);
  return sum;
}
#endif

// Neighbours are merged, then what came of that, until one is left: all items are moved once for
// each time that the sources can be halved.
template <class Item>
std::uint64_t sum_by_cascade(sorted_sources<Item> const& sources, std::vector<Item>& from,
                             std::vector<Item>& to) {
  std::vector<std::size_t> ends;
  auto out = from.begin();
  for (std::size_t i = 0; i < sources.size(); i += 2) {
    if (i + 1 < sources.size()) {
      out = std::merge(sources[i].begin(), sources[i].end(), sources[i + 1].begin(),
                       sources[i + 1].end(), out);
    } else {
      out = std::copy(sources[i].begin(), sources[i].end(), out);
    }
    ends.push_back(static_cast<std::size_t>(out - from.begin()));
  }
  while (ends.size() > 1) {
    std::vector<std::size_t> next;
    std::size_t begin = 0;
    auto const at = [&](std::size_t index) {
      return from.begin() + static_cast<std::ptrdiff_t>(index);
    };
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      std::size_t const middle = ends[i];
      std::size_t const end = i + 1 < ends.size() ? ends[i + 1] : middle;
      std::merge(at(begin), at(middle), at(middle), at(end),
                 to.begin() + static_cast<std::ptrdiff_t>(begin));
      next.push_back(begin = end);
    }
    std::swap(from, to);
    ends = std::move(next);
  }
  std::uint64_t sum = 0;
  for (Item const& one : from) look_at(word_of(one), sum);
  return sum;
}

// ---- the tables ----

// A row for each way to merge what is sorted by `key`. Those that write what they have merged are
// for items which can be written as cheaply as referred to.
template <class Item, class Key>
bench::table& table_of(bench::session& run, std::string title, std::vector<Item> const& items,
                       sorted_sources<Item>& sources, Key key) {
  auto& table = run.table(std::move(title), "item");
  auto const order = ascending(key);
  table.batch(items.size());
  table.floor(walk, [&items] {
    std::uint64_t sum = 0;
    for (Item const& one : items) look_at(word_of(one), sum);
    return sum;
  });
  auto const summed = [](auto merge) {
    return [merge] {
      std::uint64_t sum = 0;
      merge([&sum](Item const& one) { look_at(word_of(one), sum); });
      return sum;
    };
  };
  table.row(ours, [&sources, order] { return sum_merged(sources, order); });
  table.row(portable, [&sources, order] { return sum_portably(sources, order); });
  table.row(queue_of_cursors, summed([&sources, key](auto look) {
              bench::merge_by_cursors<bench::standard_queue>(sources, key, look);
            }));
  table.row(queue_of_keys,
            summed([&sources, key](auto look) { bench::merge_by_keys(sources, key, look); }));
#if __has_include(<boost/heap/d_ary_heap.hpp>)
  table.row(heap, summed([&sources, key](auto look) {
              bench::merge_by_cursors<four_ary_heap>(sources, key, look);
            }));
#else
  table.left_out(heap, "Boost.Heap is not installed");
#endif
  if constexpr (sizeof(Item) <= sizeof(void*)) {
#if KEYSPAN_BENCH_LOSER_TREE
    table.row(loser_tree, [&sources, merged = std::vector<Item>(items.size())]() mutable {
      return sum_by_loser_tree(sources, merged);
    });
#else
    table.left_out(loser_tree, "it is libstdc++'s, and wants OpenMP");
#endif
    table.row(cascade, [&sources, from = std::vector<Item>(items.size()),
                        to = std::vector<Item>(items.size())]() mutable {
      return sum_by_cascade(sources, from, to);
    });
  }
  return table;
}

// ---- the questions ----

void ask_by_count(bench::session& run, std::size_t most) {
  auto& chart = run.chart("Sorted sources as one, their items interleaved at random", "sources",
                          "ns per item")
                    .log_y();
  for (std::size_t const count : {2u, 8u, 64u, 256u, 1'024u, 4'096u, 16'384u, 65'536u}) {
    if (count > most) break;
    auto const keys = some_keys((std::max)(std::size_t{1} << 18, 32 * count));
    auto sources = bench::shared_out(keys, count);
    auto const of = std::to_string(count);
    auto& table = table_of(run, "64-bit keys of " + of + " sources, at random", keys, sources,
                           std::identity{});
    table.rounds(count > 4'096 ? 5 : 31);
    for (auto const* name :
         {walk, ours, queue_of_cursors, queue_of_keys, heap, loser_tree, cascade})
      if (auto const ns = table.ns(name); !std::isnan(ns))
        chart.line(name, static_cast<double>(count), ns);

    auto const name = "merge.ranges." + of + '.';
    auto const against_queue = [&](double bound) {
      run.target(name + "priority_queue", table.ratio(queue_of_cursors, ours), ">=", bound);
    };
    if (count == 8) against_queue(2.5);
    if (count == 1'024) against_queue(4.5);
    if (count == 64) {
      against_queue(4);
      run.target(name + "portable.priority_queue", table.ratio(queue_of_cursors, portable),
                 ">=", 3);
      run.target(name + "loser_tree", table.ratio(ours, loser_tree), "<=", 0.45);
      run.target(name + "portable.loser_tree", table.ratio(portable, loser_tree), "<=", 0.55);
    }
  }
}

void ask_by_key(bench::session& run) {
  constexpr std::size_t records = std::size_t{1} << 16;
  struct shape {
    char const* name;
    char const* what;
    std::uint64_t prefixes;
  };
  for (auto const& shape : {shape{"random", "at random", 0},
                            shape{"prefix_ties", "64 of a prefix of 64 bits", records / 64}}) {
    auto const items = some_records(records, shape.prefixes);
    auto sources = bench::shared_out(items, 64);
    auto& table =
        table_of(run, std::string{"16-byte keys of 64 sources, 48 bytes beside, "} + shape.what,
                 items, sources, &record::key);
    run.target(std::string{"merge.ranges.wide."} + shape.name + ".priority_queue",
               table.ratio(queue_of_cursors, ours), ">=", 3);
  }
}

void ask_by_run(bench::session& run) {
  auto const keys = some_keys(std::size_t{1} << 18);
  for (std::size_t const length : {2u, 8u, 128u}) {
    auto sources = bench::shared_out(keys, 64, length);
    auto const of = std::to_string(length);
    auto& table = table_of(run, "64-bit keys of 64 sources, " + of + " in a row from each", keys,
                           sources, std::identity{});
    double const ratio = table.ratio(queue_of_cursors, ours);
    if (length == 128) run.target("merge.ranges.runs_of_128.priority_queue", ratio, ">=", 12);
  }
}

#if KEYSPAN_BENCH_MALLINFO
std::size_t memory_in_use() {
  auto const info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
#endif

void ask_for_memory(bench::session& run) {
  for (std::size_t const count : {64u, 1'000u}) {
    auto const sources = bench::shared_out(some_keys(200 * count), count);
    auto const name = "merge.ranges." + std::to_string(count) + '.';
#if KEYSPAN_BENCH_MALLINFO
    // Of a merge of two, what does not depend on the sources.
    auto const two = bench::shared_out(some_keys(2), 2);
    auto const bytes_of = [](auto const& merged) {
      std::size_t const before = memory_in_use();
      auto made = keyspan::merge(merged);
      std::size_t const bytes = memory_in_use() - before;
      bench::keep(*made.begin());
      return static_cast<double>(bytes);
    };
    run.target(name + "bytes_per_source",
               (bytes_of(sources) - bytes_of(two)) / static_cast<double>(count - 2), "<=", 96);
#endif
    auto made = keyspan::merge(sources);
    auto at = made.begin();
    std::uint64_t const before = bench::allocations();
    std::uint64_t sum = 0;
    for (; at != made.end(); ++at) look_at(*at, sum);
    bench::keep(sum);
    run.target(name + "allocations_after_the_start",
               static_cast<double>(bench::allocations() - before), "==", 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  bool const quick = bench::parse_arguments(argc, argv)->rounds < 5;
  ask_for_memory(run);
  ask_by_key(run);
  ask_by_run(run);
  ask_by_count(run, quick ? 1'024 : 65'536);
  return run.finish();
}
