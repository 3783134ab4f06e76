// test/merge/merge_async_test.cpp — many sources awaited as one stream: against sorting everything,
// in every order, through splits and merges of partitions, without allocations, in bounded memory.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/other_orders.hpp>

#include "../feed/journal.hpp"
#include "../feed/suspending_source.hpp"
#include "shelves.hpp"
#include "worlds.hpp"

#include <catch2/catch_template_test_macros.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::as_they_come;
using keyspan::ascending;
using keyspan::by_time;
using keyspan::descending;
using keyspan::feed;
using keyspan::merge_async;
using keyspan::merge_options;
using keyspan::round_robin;
using test::check;
using test::counted;
using test::entry;
using test::placed;
using test::places;
using test::random;
using test::reviews_in;
using test::reviews_journal;
using test::running;
using test::shelves;
using test::sources_of;

// [region: example]
struct change {
  int lsn;
  int value;
};

keyspan::task<int> sum_of_changes(
    keyspan::scripted_source<change, keyspan::fast64_scheme>& container) {
  auto reader = merge_async(container, ascending(&change::lsn));
  int sum = 0;
  while (auto item = co_await reader.next()) sum = 10 * sum + item->value;
  co_await reader.close();
  co_return sum;
}
// [end: example]

TEST_CASE("the example of merge_async reads as it should") {
  keyspan::scripted_source<change, keyspan::fast64_scheme> container{keyspan::fast64, 4};
  for (int n = 1; n <= 6; ++n) container.write("city " + std::to_string(n), change{n, n});
  check(keyspan::sync_wait(sum_of_changes(container)) == 123456);
}

using keyed = placed<std::uint64_t>;
using keyed_sources = sources_of<std::uint64_t>;

merge_options draw_options(random& rng) {
  merge_options options;
  options.batch_size = rng.chance(30) ? 1 : 1 + rng.below(300);
  options.reads_ahead = rng.chance(50);
  return options;
}

// Reads to the end, from a source that is ready now and then, and completes in any order.
template <class Stream, class Source>
auto read_through(Stream& stream, random& rng, std::vector<Source*> const& sources) {
  test::story_of<Stream> got;
  auto const reader = test::read_whole(stream, got, rng.chance(50));
  while (!reader.is_done()) {
    std::vector<Source*> busy;
    for (auto* const one : sources)
      if (one->in_flight() > 0) busy.push_back(one);
    if (busy.empty()) {
      FAIL("a merge waits for somebody who was asked");
      break;
    }
    auto& one = *rng.pick(busy);
    one.is_ready = rng.chance(30);
    one.complete(rng.below(one.in_flight()));
  }
  return got;
}

template <class Order, class Check>
void merge_worlds(std::uint64_t seed, Order order, Check looks_right) {
  constexpr bool is_sorted = requires(keyed const& one) { order(one, one); };
  random rng{seed};
  auto const drawn = [&] {
    if constexpr (is_sorted) {
      return order;
    } else {
      return ascending(&keyed::key);
    }
  }();
  for (std::size_t const k : {1U, 2U, 3U, 8U, 33U, 200U})
    for (auto const how : test::all_sizes)
      for (int round = 0; round < 3; ++round) {
        INFO(k << " sources, sizes " << static_cast<int>(how) << ", round " << round);
        bool const in_runs = rng.chance(30);
        auto const few = rng.chance(50);
        auto const make = [few](random& from) {
          return few ? test::few_numbers{}(from) : test::any_number{}(from);
        };
        auto sources = test::draw_sources<std::uint64_t>(rng, k, 20 + rng.below(400), how, in_runs,
                                                         drawn, make);
        if (!is_sorted)
          for (auto& one : sources) rng.shuffle(one);
        test::number(sources);
        shelves<std::uint64_t> inner{sources, rng()};
        inner.largest_page = 1 + rng.below(40);
        test::suspending_source<shelves<std::uint64_t>, true> source{inner};
        source.is_ready = rng.chance(50);
        auto stream = merge_async(source, order, draw_options(rng));
        auto const got = read_through(stream, rng, std::vector{&source});
        CHECK_FALSE(got.why.has_value());
        bool const of_its_source =
            std::ranges::equal(got.items, got.sources, std::ranges::equal_to{}, &keyed::source);
        CHECK(of_its_source);
        looks_right(sources, got.items);
      }
}

// By the order alone, everything stably sorted.
template <class Order>
void merge_sorted_worlds(std::uint64_t seed, Order order) {
  merge_worlds(seed, order, [&](keyed_sources const& sources, auto const& items) {
    CHECK(places(items) == places(test::sorted_all(sources, order)));
  });
}

TEST_CASE("many sources are merged as if everything were stably sorted") {
  merge_sorted_worlds(1, ascending(&keyed::key));
  merge_sorted_worlds(2, descending(&keyed::key));
  merge_sorted_worlds(
      3, ascending([](keyed const& one) { return one.key % 3; }).then(descending(&keyed::key)));
  merge_sorted_worlds(4, ascending([](keyed const& one) {
                           return "redmond-" + std::to_string(one.key % 100);
                         }).then(ascending(&keyed::key)));
}

TEST_CASE("a hundred thousand sources are merged, as partitions and as feeds") {
  constexpr std::size_t count = 100'000;
  random rng{5};
  keyed_sources sources(count);
  for (auto& one : sources)
    for (std::size_t left = rng.below(3); left > 0; --left)
      one.push_back({one.empty() ? rng.below(1000) : one.back().key + rng.below(1000), 0, 0});
  test::number(sources);
  auto const sorted = places(test::sorted_all(sources, ascending(&keyed::key)));
  {
    shelves<std::uint64_t> source{sources};
    auto stream = merge_async(source, ascending(&keyed::key));
    test::story_of<decltype(stream)> got;
    test::read_by_batches(stream, got);
    CHECK(places(got.items) == sorted);
  }
  {
    std::vector<shelves<std::uint64_t>> containers;
    for (auto const& one : sources) containers.emplace_back(keyed_sources{one});
    auto stream = merge_async(containers, ascending(&keyed::key));
    test::story_of<decltype(stream)> got;
    test::read_by_batches(stream, got);
    CHECK(places(got.items) == sorted);
  }
}

TEST_CASE("many feeds that open one after another are merged") {
  constexpr std::size_t count = 20'000;
  using late_source = test::suspending_source<shelves<std::uint64_t>, true>;
  random rng{6};
  keyed_sources sources(count);
  for (auto& one : sources) one.push_back({rng.below(1000), 0, 0});
  test::number(sources);
  std::deque<shelves<std::uint64_t>> containers;
  std::deque<late_source> late;
  for (auto const& one : sources) {
    containers.emplace_back(keyed_sources{one});
    late.emplace_back(containers.back());
  }
  auto stream = merge_async(late, ascending(&keyed::key));
  test::story_of<decltype(stream)> got;
  auto const reader = test::read_by_batches(stream, got);
  for (bool is_any = true; is_any;) {
    is_any = false;
    for (auto& one : late) is_any = one.complete() || is_any;
  }
  CHECK(reader.is_done());
  CHECK_FALSE(got.why.has_value());
  CHECK(places(got.items) == places(test::sorted_all(sources, ascending(&keyed::key))));
}

// What stands in each place of a merge by what a source counts as.
template <class Image>
std::vector<test::place> sorted_by(keyed_sources const& sources, Image image) {
  std::vector<std::pair<std::uint64_t, keyed>> all;
  for (auto const& one : sources) {
    std::uint64_t last = 0;
    for (auto const& item : one) all.emplace_back(last = image(last, item), item);
  }
  test::sort_stably(all, [](auto const& a, auto const& b) { return a.first < b.first; });
  std::vector<test::place> made;
  for (auto const& one : all) made.push_back(place_of(one.second));
  return made;
}

TEST_CASE("by time an item counts as no earlier than the one before it in its source") {
  merge_worlds(5, by_time(&keyed::key), [](auto const& sources, auto const& items) {
    CHECK(places(items) == sorted_by(sources, [](std::uint64_t last, keyed const& one) {
            return std::max(last, one.key);
          }));
  });
}

TEST_CASE("in turn an item of each source is given, whoever has one") {
  merge_worlds(6, round_robin, [](auto const& sources, auto const& items) {
    CHECK(places(items) ==
          sorted_by(sources, [](std::uint64_t last, keyed const&) { return last + 1; }));
  });
}

TEST_CASE("as they come every item is given once, each source's in its order") {
  merge_worlds(7, as_they_come, [](auto const& sources, auto const& items) {
    std::vector<std::uint32_t> next(sources.size());
    bool in_order = true;
    for (auto const& one : items) in_order = in_order && one.number == next[one.source]++;
    CHECK(in_order);
    for (std::size_t i = 0; i < sources.size(); ++i) CHECK(next[i] == sources[i].size());
  });
}

keyed_sources full_sources(std::size_t count, std::size_t size) {
  keyed_sources made(count, std::vector<keyed>(size));
  test::number(made);
  return made;
}

TEST_CASE("as they come nobody is passed over, however quick the others are") {
  for (bool const reads_ahead : {false, true}) {
    shelves<std::uint64_t> source{full_sources(9, 200)};
    auto stream = merge_async(source, as_they_come, {.reads_ahead = reads_ahead});
    test::story_of<decltype(stream)> got;
    CHECK(test::read_by_items(stream, got).is_done());
    CHECK(got.items.size() == 9 * 200);
    // Between two pages of a source each other one has a page, as long as it has any.
    std::map<std::size_t, std::size_t> pages;
    std::size_t before = ~std::size_t{};
    for (std::size_t i = 0; i < 9 * 100; ++i) {
      if (got.sources[i] != before) ++pages[got.sources[i]];
      before = got.sources[i];
    }
    CHECK(pages.size() == 9);
    for (auto const& [one, count] : pages) CHECK(count + 2 >= pages.begin()->second);
    for (auto const& [one, count] : pages) CHECK(count <= pages.begin()->second + 2);
  }
}

TEST_CASE("as they come the page that is there first is given first") {
  shelves<std::uint64_t> inner{full_sources(3, 5)};
  inner.largest_page = 1;
  test::suspending_source<shelves<std::uint64_t>, true> source{inner};
  auto stream = merge_async(source, as_they_come, {.reads_ahead = false});
  test::story_of<decltype(stream)> got;
  auto const reader = test::read_by_items(stream, got);
  while (source.in_flight() == 1) source.complete();  // who owns what
  REQUIRE(source.in_flight() == 3);
  while (got.items.empty()) source.complete(2);
  CHECK(got.sources == std::vector<std::size_t>{2});
  while (got.items.size() < 2) source.complete(1);
  CHECK(got.sources.back() != 0);
}

TEST_CASE("several feeds are merged, their sources in the order of the feeds") {
  random rng{11};
  for (int round = 0; round < 60; ++round) {
    auto const order = ascending(&keyed::key);
    auto all = test::draw_sources<std::uint64_t>(rng, 1 + rng.below(12), 200, test::sizes::uneven,
                                                 rng.chance(30), order, test::few_numbers{});
    std::vector<shelves<std::uint64_t>> inner;
    for (std::size_t at = 0; at < all.size();) {
      std::size_t const end = std::min(all.size(), at + 1 + rng.below(4));
      using distance = std::ptrdiff_t;
      inner.emplace_back(keyed_sources(all.begin() + static_cast<distance>(at),
                                       all.begin() + static_cast<distance>(end)),
                         rng());
      at = end;
    }
    using source_type = test::suspending_source<shelves<std::uint64_t>, true>;
    std::deque<source_type> sources;
    std::vector<source_type*> pointers;
    for (auto& one : inner) pointers.push_back(&sources.emplace_back(one));
    std::vector<test::place> const expected = places(test::sorted_all(all, order));
    if (rng.chance(50)) {
      auto stream = merge_async(sources, order, draw_options(rng));
      CHECK(places(read_through(stream, rng, pointers).items) == expected);
    } else {
      std::vector<feed<source_type>> feeds;
      for (auto& one : sources) feeds.emplace_back(one);
      auto stream = merge_async(feeds, order, draw_options(rng));
      CHECK(places(read_through(stream, rng, pointers).items) == expected);
    }
  }
}

TEST_CASE("a merge of no feeds has ended, and one of sources without items ends") {
  std::vector<shelves<std::uint64_t>> none;
  auto stream = merge_async(none, ascending(&keyed::key));
  test::story_of<decltype(stream)> got;
  CHECK(test::read_by_items(stream, got).is_done());
  CHECK(got.items.empty());
  CHECK_FALSE(got.why.has_value());
  shelves<std::uint64_t> empty{full_sources(5, 0)};
  auto other = merge_async(empty, round_robin);
  CHECK(test::read_by_batches(other, got).is_done());
  CHECK(got.batches == 0);
}

// --- partitions that split and merge ------------------------------------------------------------

std::vector<int> numbers_of_entries(std::vector<entry> const& items) {
  std::vector<int> numbers;
  for (auto const& one : items) numbers.push_back(one.number);
  return numbers;
}

void change_partitions(random& rng, reviews_journal& source) {
  auto const& live = source.live();
  std::size_t const at = rng.below(live.size());
  if (live.size() > 1 && rng.chance(40)) {
    std::size_t const left = at == live.size() - 1 ? at - 1 : at;
    source.merge(std::string{live[left].id}, std::string{live[left + 1].id});
  } else if (live.size() < 40) {
    source.split_in_half(std::string{live[at].id});
  }
}

template <class Order, class Check>
void merge_through_changes(std::uint64_t seed, Order order, Check looks_right) {
  random rng{seed};
  for (int round = 0; round < 60; ++round) {
    INFO("round " << round);
    auto inner = reviews_in(1 + rng.below(6), 300);
    inner.before_read = [&] {
      if (rng.chance(12)) change_partitions(rng, inner);
    };
    test::suspending_source<reviews_journal, true> source{inner};
    source.is_ready = rng.chance(50);
    feed changes{source, {.page_size = static_cast<std::uint32_t>(1 + rng.below(9))}};
    auto stream = merge_async(changes, order, draw_options(rng));
    auto const got = read_through(stream, rng, std::vector{&source});
    CHECK_FALSE(got.why.has_value());
    looks_right(inner, numbers_of_entries(got.items));
  }
}

TEST_CASE("a merge goes on through splits and merges: nothing is lost, repeated or out of order") {
  merge_through_changes(21, ascending(&entry::number), [](auto const&, auto const& numbers) {
    CHECK(numbers == counted(0, 300));
  });
  merge_through_changes(22, by_time(&entry::number), [](auto const&, auto const& numbers) {
    CHECK(numbers == counted(0, 300));
  });
}

TEST_CASE("in orders that do not sort each key keeps its own through splits and merges") {
  auto const keeps = [](auto const& source, auto const& numbers) {
    CHECK(test::sorted(numbers) == counted(0, 300));
    CHECK(keeps_order_of_keys(source, numbers));
  };
  merge_through_changes(23, round_robin, keeps);
  merge_through_changes(24, as_they_come, keeps);
}

TEST_CASE("the parts of a source stand in its place, in their order") {
  auto source = reviews_in(3, 90);
  auto const one_for_all = ascending([](entry const&) { return 0; });
  auto stream = merge_async(source, one_for_all, {.reads_ahead = false});
  test::story_of<decltype(stream)> got;
  source.before_read = [&] {
    if (source.reads.size() == 8) source.split_in_half("1");
    if (source.reads.size() == 20) source.split_in_half("4");  // the right part
  };
  CHECK(test::read_by_items(stream, got).is_done());
  // Of equal items all of the first source come first, then all of the first part of the second.
  std::vector<keyspan::token128> lower;
  for (auto const& one : source.live()) lower.push_back(one.range.lower());
  REQUIRE(lower.size() == 5);
  CHECK(std::is_sorted(got.sources.begin(), got.sources.end()));
  CHECK(test::sorted(numbers_of_entries(got.items)) == counted(0, 90));
  CHECK(got.sources.back() == 4);
  for (std::size_t i = 0; i < got.items.size(); ++i) {
    auto const& token = source.token_at(got.items[i].number);
    if (got.sources[i] == 0) CHECK(token < lower[1]);
    if (got.sources[i] == 4) CHECK(token >= lower[4]);
  }
}

// --- again
// ----------------------------------------------------------------------------------------

TEST_CASE("a merge that has ended goes on with what was written since") {
  for (bool const reads_ahead : {false, true}) {
    auto source = reviews_in(4, 50);
    auto stream = merge_async(source, ascending(&entry::number), {.reads_ahead = reads_ahead});
    test::story_of<decltype(stream)> got;
    for (int round = 1; round <= 4; ++round) {
      CHECK(test::read_whole(stream, got, round % 2 == 0).is_done());
      CHECK(numbers_of_entries(got.items) == counted(0, 50 * round));
      CHECK(test::read_by_items(stream, got).is_done());  // it has ended
      CHECK(got.items.size() == static_cast<std::size_t>(50 * round));
      source.write_many(50);
      if (round == 2) source.split_in_half("1");
      if (round == 3) source.merge("2", "3");
      stream.again();
    }
  }
}

TEST_CASE("a feed says what is merged of it: from where, and which keys") {
  auto source = reviews_in(4, 100);
  feed one_key{source, {.scope = keyspan::partition_key{"key 3"}}};
  auto stream = merge_async(one_key, ascending(&entry::number));
  test::story_of<decltype(stream)> got;
  CHECK(test::read_by_items(stream, got).is_done());
  CHECK(got.items.size() == 6);
  CHECK(std::ranges::all_of(got.items, [](entry const& one) { return one.key == "key 3"; }));

  feed late{source, {.start = keyspan::from_now}};
  auto news = merge_async(late, ascending(&entry::number));
  got = {};
  CHECK(test::read_by_items(news, got).is_done());
  CHECK(got.items.empty());
  source.write_many(20);
  news.again();
  CHECK(test::read_by_items(news, got).is_done());
  CHECK(numbers_of_entries(got.items) == counted(100, 120));

  // A feed that was read on its own goes on where it stands, and is not moved.
  feed begun{source, {.page_size = 5}};
  for (auto const& page : begun.pages()) {
    static_cast<void>(page);
    break;
  }
  auto const before = begun.cursor();
  auto rest = merge_async(begun, ascending(&entry::number));
  got = {};
  CHECK(test::read_by_items(rest, got).is_done());
  CHECK(got.items.size() == 115);
  CHECK(begun.cursor() == before);
}

}  // namespace
