// What does an item of a feed cost over a loop over pages that are all at hand? The first row is
// the floor.
#include <bench/support/bench.hpp>
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::token128;

struct change {
  std::uint64_t key;
  std::uint64_t value;
};

// The body of all loops: each step needs the one before, so that no compiler makes vectors of it.
void look_at(change const& one, std::uint64_t& sum) {
  sum = (sum ^ one.key) * 0x9E37'79B9'7F4A'7C15 + one.value;
}

constexpr std::size_t items = 1'000'000;

// One partition, whose pages are at hand and are handed out as they are, again and again the same
// few, so that the caches hold them: what is measured is not the memory.
struct ready_source {
  using scheme_type = keyspan::cosmos_v2_scheme;
  using page_type = keyspan::page<change, std::span<change const>>;

  explicit ready_source(std::size_t per_page) : size{items / per_page} {
    auto rng = bench::Rng{42};
    for (std::size_t i = 0; i < 16'000 / per_page; ++i)
      for (auto& one : pages.emplace_back(per_page)) one = {rng(), rng()};
  }

  std::vector<change> const& page_of(std::size_t number) const {
    return pages[number % pages.size()];
  }

  std::string_view container() const noexcept { return "bench"; }
  scheme_type scheme() const noexcept { return keyspan::cosmos_v2; }

  keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<token128> const&,
                                                  keyspan::continuation const& from,
                                                  keyspan::read_request const&) const {
    std::uint64_t at = 0;  // a continuation is opaque: here the bytes of a number
    if (!from.is_start()) std::memcpy(&at, from.text().data(), sizeof at);
    keyspan::ready<keyspan::result<page_type>> answer{keyspan::result<page_type>{std::in_place}};
    page_type& made = *answer.value;
    if (at < size) made.items = page_of(at++);
    made.nothing_new = at == size;
    char bytes[sizeof at];
    std::memcpy(bytes, &at, sizeof at);
    made.continuation.assign(bytes, sizeof bytes);
    made.charge = 1;
    return answer;
  }

  keyspan::ready<keyspan::result<keyspan::partition_page<token128>>> topology(
      std::string const& known) const {
    keyspan::partition_page<token128> all;
    all.not_modified = !known.empty();
    if (known.empty()) all.partitions.push_back({"0", keyspan::whole_space(keyspan::cosmos_v2)});
    all.version = "1";
    return {std::move(all)};
  }

  std::size_t size;  // in pages
  std::vector<std::vector<change>> pages{};
};
static_assert(keyspan::page_source<ready_source>);

// The source asked in a loop written by hand, without splits, cursors and errors.
template <class Body>
void each_page(ready_source const& source, Body body) {
  auto const range = keyspan::whole_space(keyspan::cosmos_v2);
  keyspan::continuation at;
  for (bool is_done = false; !is_done;) {
    auto answer = source.read(range, at, {});
    auto const& page = *answer.value;
    body(page);
    at.advance(page.continuation);
    is_done = page.nothing_new;
  }
}

// The least input range of pages that `std::views::join` takes.
class page_iterator {
 public:
  using value_type = std::span<change const>;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  page_iterator() = default;
  explicit page_iterator(ready_source const& source) : source_{&source} { read(); }

  value_type operator*() const { return page_.items; }
  page_iterator& operator++() {
    if (page_.nothing_new) {
      source_ = nullptr;
    } else {
      read();
    }
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(page_iterator const& it, std::default_sentinel_t) noexcept {
    return it.source_ == nullptr;
  }

 private:
  void read() {
    page_ = *source_->read(keyspan::whole_space(keyspan::cosmos_v2), at_, {}).await_resume();
    at_.advance(page_.continuation);
  }

  ready_source const* source_ = nullptr;
  keyspan::continuation at_{};
  ready_source::page_type page_{};
};

// What is often written in place of a stream of pages.
keyspan::async_stream<change> one_by_one(ready_source const& source) {
  auto const range = keyspan::whole_space(keyspan::cosmos_v2);
  keyspan::continuation at;
  for (bool is_done = false; !is_done;) {
    auto answer = co_await source.read(range, at, {});
    for (change const& one : answer->items) co_yield one;
    at.advance(answer->continuation);
    is_done = answer->nothing_new;
  }
}

keyspan::task<std::uint64_t> sum_one_by_one(ready_source const& source) {
  std::uint64_t sum = 0;
  auto stream = one_by_one(source);
  while (change* one = co_await stream.next()) look_at(*one, sum);
  co_return sum;
}

keyspan::task<std::uint64_t> sum_items(ready_source& source) {
  std::uint64_t sum = 0;
  keyspan::feed feed{source};
  auto stream = feed.stream();
  while (auto const one = co_await stream.next()) look_at(*one, sum);
  co_return sum;
}

keyspan::task<std::uint64_t> sum_pages(ready_source& source) {
  std::uint64_t sum = 0;
  keyspan::feed feed{source};
  auto stream = feed.stream();
  while (auto* page = co_await stream.next_page()) {
    if (!*page) break;
    for (change const& one : (*page)->items) look_at(one, sum);
  }
  co_return sum;
}

std::uint64_t sum_raw(ready_source const& source) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < source.size; ++i)
    for (change const& one : source.page_of(i)) look_at(one, sum);
  return sum;
}

bench::table& table_of_loops(bench::session& run, std::size_t per_page, ready_source& source) {
  auto& table = run.table("1M items, " + std::to_string(per_page) + " a page, plain loops", "item");
  table.batch(items).count_allocations();
  table.floor("loop over pages and items", [&] { return sum_raw(source); });
  table.row("the same over what the source answers", [&] {
    std::uint64_t sum = 0;
    each_page(source, [&](auto const& page) {
      for (change const& one : page.items) look_at(one, sum);
    });
    return sum;
  });
  table.row("feed.pages()", [&] {
    std::uint64_t sum = 0;
    keyspan::feed feed{source};
    for (auto const& page : feed.pages())
      for (change const& one : page->items) look_at(one, sum);
    return sum;
  });
  table.row("feed", [&] {
    std::uint64_t sum = 0;
    keyspan::feed feed{source};
    for (change const& one : feed) look_at(one, sum);
    return sum;
  });
  table.row("feed.items(), filtered and transformed", [&] {
    std::uint64_t sum = 0;
    keyspan::feed feed{source};
    for (change const& one : feed.items() | std::views::filter([](change const& c) {
                               return c.key != 0;
                             }) | std::views::transform([](change const& c) { return c; }))
      look_at(one, sum);
    return sum;
  });
  table.row("std::views::join over a range of pages", [&] {
    std::uint64_t sum = 0;
    std::ranges::subrange const pages{page_iterator{source}, std::default_sentinel};
    for (change const& one : pages | std::views::join) look_at(one, sum);
    return sum;
  });
  return table;
}

bench::table& table_of_awaits(bench::session& run, std::size_t per_page, ready_source& source) {
  auto& table = run.table("1M items, " + std::to_string(per_page) + " a page, awaited", "item");
  table.batch(items).count_allocations();
  table.floor("loop over pages and items", [&] { return sum_raw(source); });
  table.row("stream.next_page()", [&] { return keyspan::sync_wait(sum_pages(source)); });
  table.row("stream.next()", [&] { return keyspan::sync_wait(sum_items(source)); });
  table.row("a generator that is awaited for each item",
            [&] { return keyspan::sync_wait(sum_one_by_one(source)); });
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  constexpr auto raw = "loop over pages and items";
  for (std::size_t const per_page : {std::size_t{1'000}, std::size_t{100}}) {
    ready_source source{per_page};
    auto const name = [&](std::string_view noun) {
      return "feed." + std::string{noun} + "." + std::to_string(per_page) + "_a_page";
    };
    auto& loops = table_of_loops(run, per_page, source);
    if (per_page == 1'000) run.target(name("items"), loops.ratio("feed", raw), "<=", 1.1);
    run.target(name("pages"), loops.ratio("feed.pages()", raw),
               "<=", per_page == 1'000 ? 1.05 : 1.25);
    run.target(name("allocations_per_page"),
               loops.allocations_of("feed") * static_cast<double>(per_page), "<=", 0.5);
    auto& awaits = table_of_awaits(run, per_page, source);
    run.target(name("awaited_item"),
               awaits.ratio("stream.next()", "a generator that is awaited for each item"),
               "<=", 0.75);
    run.target(name("awaited_allocations_per_page"),
               awaits.allocations_of("stream.next()") * static_cast<double>(per_page), "<=", 0.5);
  }
  return run.finish();
}
