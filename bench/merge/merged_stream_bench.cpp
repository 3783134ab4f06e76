// What does it cost to merge what comes in pages, awaited, over a merge of the same items in
// memory? The first row of each table is the floor, a walk over what is merged already.
#include <bench/merge/sorted_sources.hpp>
#include <bench/support/bench.hpp>
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
constexpr auto in_memory = "keyspan::merge, all in memory";
constexpr auto by_batches = "merge_async, by batches";
constexpr auto by_items = "merge_async, by items";
constexpr auto generators = "std::priority_queue of a generator each";

struct change {
  std::uint64_t key;
  std::uint64_t value;
};
constexpr auto by_key = ascending(&change::key);

constexpr std::size_t per_page = 100;
constexpr std::size_t items_in_all = std::size_t{1} << 18;

std::vector<change> some_changes(std::size_t count) {
  auto rng = bench::Rng{42};
  std::vector<change> changes(count);
  for (auto& one : changes) one = {rng(), rng()};
  std::ranges::sort(changes, {}, &change::key);
  return changes;
}

// ---- where they come from ----

// A power of two of partitions, all of them as wide. Pages are at hand, and are handed out in
// place.
class paged_changes {
 public:
  using scheme_type = keyspan::cosmos_v2_scheme;
  using page_type = keyspan::page<change, std::span<change const>>;

  explicit paged_changes(sorted_sources<change> const& partitions)
      : partitions_{&partitions}, shift_{62 - std::countr_zero(partitions.size())} {}

  std::string_view container() const noexcept { return "bench"; }
  scheme_type scheme() const noexcept { return keyspan::cosmos_v2; }

  std::vector<keyspan::token_range<token128>> ranges() const {
    auto const whole = keyspan::whole_space(scheme());
    std::vector<keyspan::token_range<token128>> made;
    std::uint64_t const count = partitions_->size();
    for (std::uint64_t i = 0; i < count; ++i) {
      token128 const lower{i << shift_, 0};
      if (i + 1 < count) {
        made.emplace_back(lower, token128{(i + 1) << shift_, 0});
      } else {
        made.emplace_back(lower, whole.upper());
      }
    }
    return made;
  }

  keyspan::ready<keyspan::result<keyspan::partition_page<token128>>> topology(
      std::string const& known) const {
    keyspan::partition_page<token128> all;
    all.not_modified = !known.empty();
    if (known.empty())
      for (auto const& range : ranges())
        all.partitions.push_back({std::to_string(all.partitions.size()), range});
    all.version = "1";
    return {std::move(all)};
  }

 protected:
  void answer(page_type& made, keyspan::token_range<token128> const& range,
              keyspan::continuation const& from) const {
    auto const& items = (*partitions_)[range.lower().high >> shift_];
    std::size_t at = 0;  // a continuation is opaque: here the bytes of a number
    if (!from.is_start()) std::memcpy(&at, from.text().data(), sizeof at);
    std::size_t const end = (std::min)(at + per_page, items.size());
    made.items = std::span{items}.subspan(at, end - at);
    made.nothing_new = end == items.size();
    char bytes[sizeof end];
    std::memcpy(bytes, &end, sizeof end);
    made.continuation.assign(bytes, sizeof bytes);
    made.charge = 1;
  }

 private:
  sorted_sources<change> const* partitions_;
  int shift_;
};

// One that answers at once.
struct ready_changes : paged_changes {
  using paged_changes::paged_changes;

  keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<token128> const& range,
                                                  keyspan::continuation const& from,
                                                  keyspan::read_request const&) const {
    keyspan::ready<keyspan::result<page_type>> made{keyspan::result<page_type>{std::in_place}};
    answer(*made.value, range, from);
    return made;
  }
};
static_assert(keyspan::page_source<ready_changes>);

// One that answers later: who asks is suspended, and has to wait for its turn.
struct waiting_changes : paged_changes {
  waiting_changes(sorted_sources<change> const& partitions, keyspan::run_loop& on)
      : paged_changes{partitions}, loop{&on} {}

  keyspan::task<keyspan::result<page_type>> read(keyspan::token_range<token128> const& range,
                                                 keyspan::continuation const& from,
                                                 keyspan::read_request const&) const {
    keyspan::result<page_type> made{std::in_place};
    answer(*made, range, from);
    co_await loop->schedule();
    co_return made;
  }

  keyspan::run_loop* loop;
};
static_assert(keyspan::page_source<waiting_changes>);

// ---- ways to merge it ----

template <class Source>
keyspan::task<std::uint64_t> sum_batches(Source& source) {
  std::uint64_t sum = 0;
  auto merged = keyspan::merge_async(source, by_key);
  while (auto* batch = co_await merged.next_batch()) {
    if (!*batch) break;
    for (change const& one : **batch) look_at(one.key, sum);
  }
  co_return sum;
}

template <class Source>
keyspan::task<std::uint64_t> sum_items(Source& source) {
  std::uint64_t sum = 0;
  auto merged = keyspan::merge_async(source, by_key);
  while (auto const one = co_await merged.next()) look_at(one->key, sum);
  co_return sum;
}

// What is often written in place of a stream of pages.
template <class Source>
keyspan::async_stream<change> one_by_one(Source& source, keyspan::token_range<token128> range) {
  keyspan::continuation at;
  for (bool is_done = false; !is_done;) {
    auto answer = co_await source.read(range, at, {});
    for (change const& one : answer->items) co_yield one;
    at.advance(answer->continuation);
    is_done = answer->nothing_new;
  }
}

template <class Source>
keyspan::task<std::uint64_t> sum_by_generators(Source& source) {
  struct head {
    change const* item;
    std::size_t source;
  };
  auto const comes_after = [](head const& a, head const& b) { return b.item->key < a.item->key; };
  std::priority_queue<head, std::vector<head>, decltype(comes_after)> heads{comes_after};
  std::vector<keyspan::async_stream<change>> streams;
  for (auto const& range : source.ranges()) streams.push_back(one_by_one(source, range));
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (change const* first = co_await streams[i].next()) heads.push({first, i});
  std::uint64_t sum = 0;
  while (!heads.empty()) {
    head const least = heads.top();
    heads.pop();
    look_at(least.item->key, sum);
    if (change const* next = co_await streams[least.source].next())
      heads.push({next, least.source});
  }
  co_return sum;
}

// ---- the questions ----

// `complete` awaits a task.
template <class Source, class Complete>
bench::table& table_of(bench::session& run, std::string title, std::vector<change> const& items,
                       sorted_sources<change> const& partitions, Source& source,
                       Complete complete) {
  auto& table = run.table(std::move(title), "item");
  table.batch(items.size()).count_allocations();
  table.floor(walk, [&items] {
    std::uint64_t sum = 0;
    for (change const& one : items) look_at(one.key, sum);
    return sum;
  });
  table.row(in_memory, [&partitions] {
    std::uint64_t sum = 0;
    for (change const& one : keyspan::merge(partitions, by_key)) look_at(one.key, sum);
    return sum;
  });
  table.row(by_batches, [&source, complete] { return complete(sum_batches(source)); });
  table.row(by_items, [&source, complete] { return complete(sum_items(source)); });
  table.row(generators, [&source, complete] { return complete(sum_by_generators(source)); });
  return table;
}

struct promised {
  std::size_t sources;
  std::size_t run;
  std::string_view name;
  double generators;  // times a merge by batches
};

void ask(bench::session& run) {
  auto const items = some_changes(items_in_all);
  for (auto const& one : {promised{64, 1, "random", 4}, promised{64, 128, "runs_of_128", 10},
                          promised{8, 1, "random", 0}, promised{2, 1, "random", 0},
                          promised{1'024, 1, "random", 0}}) {
    auto const partitions = bench::shared_out(items, one.sources, one.run);
    auto const of = std::to_string(one.sources) + " partitions, " +
                    (one.run == 1 ? "at random" : "128 in a row from each") + ", 100 a page";
    ready_changes source{partitions};
    auto& table = table_of(run, of, items, partitions, source,
                           [](auto task) { return keyspan::sync_wait(std::move(task)); });
    auto const name =
        "merge.stream." + std::to_string(one.sources) + '.' + std::string{one.name} + '.';
    double const against_memory = table.ratio(by_batches, in_memory);
    if (one.generators > 0)
      run.target(name + "generators", table.ratio(generators, by_batches), ">=", one.generators);
    if (one.sources <= 64) run.target(name + "in_memory", against_memory, "<=", 1.3);
  }
}

void ask_who_waits(bench::session& run) {
  auto const items = some_changes(items_in_all);
  for (std::size_t const length : {1u, 128u}) {
    auto const partitions = bench::shared_out(items, 64, length);
    keyspan::run_loop loop;
    waiting_changes source{partitions, loop};
    auto& table = table_of(
        run,
        std::string{"64 partitions, "} + (length == 1 ? "at random" : "128 in a row from each") +
            ", 100 a page, each read suspended once",
        items, partitions, source, [&loop](auto task) { return loop.complete(std::move(task)); });
    table.ns(walk);
  }
}

// Of the whole program, where the system says.
std::size_t memory_in_use() {
#if KEYSPAN_BENCH_MALLINFO
  auto const info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

struct memory_of_merge {
  std::size_t bytes = 0;          // that it holds when it gives its first batch
  std::size_t bytes_later = 0;    // the same when it gives its last but one
  std::uint64_t allocations = 0;  // between the two
};

keyspan::task<memory_of_merge> memory_of(ready_changes& source, std::size_t items) {
  memory_of_merge memory;
  std::uint64_t sum = 0;
  std::size_t seen = 0;
  std::uint64_t allocations = 0;
  std::size_t const before = memory_in_use();
  auto merged = keyspan::merge_async(source, by_key);
  while (auto* batch = co_await merged.next_batch()) {
    for (change const& one : **batch) look_at(one.key, sum);
    if (seen == 0) {
      memory.bytes = memory_in_use() - before;
      allocations = bench::allocations();
    }
    seen += (*batch)->size();
    if (seen < items) {
      memory.bytes_later = memory_in_use() - before;
      memory.allocations = bench::allocations() - allocations;
    }
  }
  bench::keep(sum);
  co_return memory;
}

void ask_for_memory(bench::session& run) {
  for (std::size_t const count : {64u, 1'024u}) {
    std::size_t const size = 400 * count;
    auto const partitions = bench::shared_out(some_changes(size), count);
    ready_changes source{partitions};
    auto const memory = keyspan::sync_wait(memory_of(source, size));
    auto const name = "merge.stream." + std::to_string(count) + '.';
#if KEYSPAN_BENCH_MALLINFO
    run.note("a merge of " + std::to_string(count) + " ranges holds " +
             std::to_string(memory.bytes / count) +
             " bytes for each of them: its coroutine, how far it was read, and two positions");
    run.target(name + "bytes_grown",
               static_cast<double>(memory.bytes_later) - static_cast<double>(memory.bytes),
               "<=", 0);
#endif
    run.target(name + "allocations_after_the_start", static_cast<double>(memory.allocations),
               "==", 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  ask_for_memory(run);
  ask(run);
  ask_who_waits(run);
  return run.finish();
}
