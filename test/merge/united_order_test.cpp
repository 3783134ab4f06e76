// test/merge/united_order_test.cpp — what several sources tell of is given once: against a plain
// map, and gone on with from every item.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merged_feeds.hpp>
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>

#include "resumption.hpp"
#include "shelves.hpp"

#include <feed/journal.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::decides_between;
using keyspan::distinct_by;
using keyspan::first_source;
using keyspan::last_writer;
using keyspan::merge;
using keyspan::orders_items;
using keyspan::partition_key;
using keyspan::united_by;
using test::all_manners;
using test::all_of_it;
using test::check;
using test::entry;
using test::journals;
using test::manner;
using test::read_merged;
using test::reading;
using test::reviews_in;
using test::reviews_journal;
using test::sorted;

TEST_CASE("the example of united_order reads as it should") {
  auto west = reviews_in(2, 0);
  auto east = reviews_in(1, 0);
  std::vector<std::string> seen;
  // [region: example]
  // The number of an entry is its id, and what is written behind the slash its time.
  west.write(partition_key{"a"}, "redmond/1");
  west.write(partition_key{"b"}, "seattle/5");
  east.write(partition_key{"a"}, "redmond/3");
  east.write(partition_key{"b"}, "seattle/4");
  auto const time = [](entry const& one) { return one.key.back(); };

  std::vector<reviews_journal*> const both{&west, &east};
  auto const latest = united_by(ascending(&entry::number), &entry::number, last_writer(time));
  std::vector<keyspan::feed<reviews_journal>> feeds;
  for (auto* const region : both) feeds.emplace_back(*region);
  for (entry const& one : merge(feeds, latest)) seen.push_back(one.key);
  check(seen == std::vector<std::string>{"redmond/3", "seattle/5"});

  for (entry const& one : merge(feeds, distinct_by(ascending(&entry::number), &entry::number)))
    seen.push_back(one.key);
  check(seen.back() == "seattle/5");  // the first region's
  // [end: example]
  CHECK(seen == std::vector<std::string>{"redmond/3", "seattle/5", "redmond/1", "seattle/5"});
}

static_assert(decides_between<first_source, entry>);
static_assert(decides_between<decltype(last_writer(&entry::number)), entry>);
static_assert(!decides_between<decltype(last_writer(&entry::number)), int>);
static_assert(orders_items<decltype(distinct_by(ascending(&entry::number), &entry::key)), entry>);
static_assert(!orders_items<decltype(distinct_by(ascending(&entry::number), &entry::key)), int>);
static_assert(
    !orders_items<decltype(united_by(ascending(&entry::number), &entry::key, [](int) {})), entry>);

TEST_CASE("the first source's item stays, and the last writer's") {
  entry const old{"a", 1};
  entry const late{"b", 2};
  CHECK(!first_source{}(old, late));
  CHECK(!first_source{}(late, old));
  auto const last = last_writer(&entry::number);
  CHECK(last(old, late));
  CHECK(!last(late, old));
  CHECK(!last(old, old));
}

int number_of_entry(entry const& one) { return one.number; }
bool is_later(entry const& kept, entry const& other) { return kept.key < other.key; }

TEST_CASE("projections, identities and policies may be functions") {
  std::vector<std::vector<entry>> const sources{{{"a", 1}, {"a", 2}}, {{"b", 1}, {"b", 3}}};
  auto const keys_in = [&](auto const& order) {
    std::string keys;
    for (entry const& one : keyspan::merge(sources, order)) keys += one.key;
    return keys;
  };
  auto const order_of = ascending(number_of_entry);
  CHECK(keys_in(order_of) == "abab");
  CHECK(keys_in(keyspan::by_time(number_of_entry)) == "abab");
  CHECK(keys_in(identified_by(order_of, number_of_entry)) == "abab");
  CHECK(keys_in(distinct_by(order_of, number_of_entry)) == "aab");
  CHECK(keys_in(united_by(order_of, number_of_entry, is_later)) == "bab");
  CHECK(keys_in(united_by(order_of, number_of_entry, last_writer(number_of_entry))) == "aab");
}

// Keys come in runs of `run`, and each identity of a run up to `share` times in one source.
struct world {
  journals sources{};
  int run = 4;
  int share = 2;

  int run_of(entry const& one) const { return one.number / run; }
  int id_of(entry const& one) const { return one.number / share; }
};

// Numbers are those of the journal: 0, 1, …; what is written is a version that has to decide.
world draw(test::random& rng, std::size_t most_sources, std::uint64_t most_items) {
  world made;
  made.run = static_cast<int>(1 + rng.below(9));
  made.share = static_cast<int>(1 + rng.below(4));
  for (std::size_t k = 1 + rng.below(most_sources); k > 0; --k) {
    auto& source = made.sources.emplace_back(reviews_in(1 + rng.below(3), 0));
    for (std::uint64_t left = rng.below(most_items + 1); left > 0; --left)
      source.write(partition_key{static_cast<double>(rng.below(17))},
                   std::to_string(100 + rng.below(40)));
  }
  return made;
}

using version = std::pair<std::string, int>;  // what decides, and the number
version version_of(entry const& one) { return {one.key, one.number}; }

// The model: of each run and identity the greatest.
std::map<std::pair<int, int>, version> latest_of(world const& all) {
  std::map<std::pair<int, int>, version> found;
  for (auto const& source : all.sources)
    for (std::size_t i = 0; i < source.size(); ++i) {
      entry const& one = source.at(static_cast<int>(i));
      auto& kept = found[{all.run_of(one), all.id_of(one)}];
      kept = std::max(kept, version_of(one));
    }
  return found;
}

auto order_of(world const& all) {
  return united_by(
      ascending([run = all.run](entry const& one) { return one.number / run; }),
      [share = all.share](entry const& one) { return one.number / share; },
      [](entry const& kept, entry const& other) { return version_of(kept) < version_of(other); });
}

reading any(test::random& rng) {
  return {rng.pick(all_manners), static_cast<std::uint32_t>(1 + rng.below(6)), 1 + rng.below(9),
          rng.chance(50)};
}

TEST_CASE("of each identity in a run one is given, the one that the policy says") {
  test::random rng{1};
  for (int drawn = 0; drawn < 150; ++drawn) {
    auto all = draw(rng, 20, 30);
    auto expected = latest_of(all);
    auto const how = any(rng);
    std::vector<keyspan::feed<reviews_journal>> feeds;
    for (auto& one : all.sources)
      feeds.emplace_back(one, keyspan::feed_request<keyspan::token128>{.page_size = how.page_size});
    int last = 0;
    for (entry const& one : merge(feeds, order_of(all), how.options())) {
      CHECK(all.run_of(one) >= last);
      last = all.run_of(one);
      auto const at = expected.find({last, all.id_of(one)});
      REQUIRE(at != expected.end());
      CHECK(at->second == version_of(one));
      expected.erase(at);
    }
    CHECK(expected.empty());
  }
}

TEST_CASE("distinct items are those of the first source that has them") {
  test::random rng{2};
  for (int drawn = 0; drawn < 100; ++drawn) {
    auto all = draw(rng, 20, 20);
    std::map<std::pair<int, int>, std::size_t> expected;
    for (std::size_t i = 0; i < all.sources.size(); ++i)
      for (std::size_t n = 0; n < all.sources[i].size(); ++n) {
        entry const& one = all.sources[i].at(static_cast<int>(n));
        expected.emplace(std::pair{all.run_of(one), all.id_of(one)}, i);
      }
    std::vector<std::size_t> partitions;
    for (auto const& one : all.sources) partitions.push_back(one.live().size());
    auto merged = merge(all.sources,
                        distinct_by(ascending([&](entry const& one) { return all.run_of(one); }),
                                    [&](entry const& one) { return all.id_of(one); }),
                        {.batch_size = 1 + rng.below(9), .reads_ahead = rng.chance(50)});
    std::size_t count = 0;
    for (entry const& one : merged) {
      std::size_t source = merged.source();
      std::size_t feed = 0;
      for (; source >= partitions[feed]; ++feed) source -= partitions[feed];
      auto const at = expected.find({all.run_of(one), all.id_of(one)});
      REQUIRE(at != expected.end());
      CHECK(at->second == feed);
      ++count;
    }
    CHECK(count == expected.size());
  }
}

TEST_CASE("a union goes on from every item, however it is read, whatever became of partitions") {
  test::random rng{3};
  for (int drawn = 0; drawn < 60; ++drawn) {
    auto const all = draw(rng, 4, 16);
    auto const order = order_of(all);
    auto sources = all.sources;
    std::vector<int> whole;
    read_merged(sources, order, {}, {}, all_of_it, whole);
    for (std::size_t n = 0; n <= whole.size(); ++n) {
      auto world = all.sources;
      bool const has_split = rng.chance(50);
      std::vector<int> given;
      auto kept = read_merged(world, order, any(rng), {}, n, given);
      if (has_split) world.front().split_in_half("0");
      for (std::uint64_t more = rng.below(3); more > 0; --more) {
        kept = read_merged(world, order, any(rng), kept, rng.below(4), given);
        if (has_split) world.back().split_in_half(world.back().live().front().id);
      }
      read_merged(world, order, any(rng), kept, all_of_it, given);
      INFO("world " << drawn << " from " << n);
      CHECK((has_split ? sorted(given) == sorted(whole) : given == whole));
    }
  }
}

TEST_CASE("a union goes on from where its partitions were split while it held a run") {
  test::random rng{4};
  for (int drawn = 0; drawn < 100; ++drawn) {
    auto all = draw(rng, 3, 24);
    all.run = static_cast<int>(4 + rng.below(20));
    auto const order = order_of(all);
    auto sources = all.sources;
    std::vector<int> whole;
    read_merged(sources, order, {}, {}, all_of_it, whole);
    for (std::size_t n = 0; n <= whole.size(); ++n) {
      auto world = all.sources;
      // At some reads a partition of whose source is split.
      std::size_t reads = 0;
      for (auto& one : world)
        one.before_read = [&one, &reads, every = 3 + rng.below(5)] {
          if (++reads % every == 0 && one.live().size() < 9)
            one.split_in_half(one.live()[reads % one.live().size()].id);
        };
      std::vector<int> given;
      auto const kept = read_merged(world, order, any(rng), {}, n, given);
      read_merged(world, order, any(rng), kept, all_of_it, given);
      INFO("world " << drawn << " from " << n);
      CHECK(sorted(given) == sorted(whole));
    }
  }
}

TEST_CASE("of one identity under keys with the same first bytes none is taken for another") {
  auto const text = [](entry const& one) { return "customer " + std::to_string(one.number / 4); };
  auto const order =
      distinct_by(ascending(text), [](entry const& one) { return one.number % 4 / 2; });
  journals const sources{reviews_in(2, 16), reviews_in(1, 16)};
  auto copy = sources;
  std::vector<int> whole;
  read_merged(copy, order, {}, {}, all_of_it, whole);
  CHECK(whole.size() == 8);
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (manner const by : all_manners) {
      auto world = sources;
      std::vector<int> given;
      auto const kept = read_merged(world, order, {by, 2, 3}, {}, n, given);
      world.front().split_in_half("0");
      read_merged(world, order, {by, 5, 4}, kept, all_of_it, given);
      CHECK(sorted(given) == sorted(whole));
    }
}

// --- runs that are longer than a batch

// All are told apart, in three runs of 20.
constexpr auto run_of_twenty = [](entry const& one) { return one.number / 20; };
auto const in_long_runs = distinct_by(ascending(run_of_twenty), &entry::number);

void add_to(std::vector<int>& numbers, auto const& batch) {
  for (entry const& one : batch) numbers.push_back(one.number);
}
// What there is without limits, in its order.
std::vector<int> long_runs_of(reviews_journal const& source) {
  journals copy{source};
  std::vector<int> whole;
  read_merged(copy, in_long_runs, {manner::loop, 3, 1000}, {}, all_of_it, whole);
  CHECK(sorted(whole) == test::counted(0, 60));
  return whole;
}

TEST_CASE("a batch of a union has no more items than it may have, however long its run is") {
  for (std::size_t const most : {1U, 2U, 3U, 7U, 20U, 256U})
    for (bool const reads_ahead : {false, true}) {
      INFO("batches of " << most << ", reads ahead " << reads_ahead);
      auto source = reviews_in(2, 60);
      auto const whole = long_runs_of(source);
      keyspan::merge_options const options{.batch_size = most, .reads_ahead = reads_ahead};

      auto merged = merge(source, in_long_runs, options);
      std::vector<int> given;
      for (auto const& batch : merged.batches()) {
        REQUIRE(batch.has_value());
        CHECK(!batch->empty());
        CHECK(batch->size() <= most);
        add_to(given, *batch);
      }
      CHECK(given == whole);
      auto one_by_one = merge(source, in_long_runs, options);
      CHECK(test::numbers_of(one_by_one) == whole);

      auto stream = keyspan::merge_async(source, in_long_runs, options);
      given.clear();
      while (auto* const batch = keyspan::sync_wait(stream.next_batch())) {
        REQUIRE(batch->has_value());
        CHECK(!(*batch)->empty());
        CHECK((*batch)->size() <= most);
        add_to(given, **batch);
      }
      CHECK(given == whole);
      auto items = keyspan::merge_async(source, in_long_runs, options);
      test::merged_story<entry> got;
      CHECK(test::read_by_items(items, got).is_done());
      CHECK(test::numbers_of(got.items) == whole);
    }
}

TEST_CASE("between the batches of a run a cursor of a union stands exactly there") {
  for (std::size_t const most : {1U, 3U, 7U, 20U})
    for (bool const is_awaited : {false, true}) {
      INFO("batches of " << most << ", awaited " << is_awaited);
      auto source = reviews_in(2, 60);
      auto const whole = long_runs_of(source);
      keyspan::merge_options const options{.batch_size = most};
      auto merged = merge(source, in_long_runs, options);
      auto stream = keyspan::merge_async(source, in_long_runs, options);
      auto const batches = merged.batches();
      auto at = batches.begin();
      std::vector<int> given;
      std::size_t places = 0;
      for (;; ++places) {
        auto const kept = is_awaited ? stream.cursor() : merged.cursor();
        auto both = given;
        for (entry const& one : merge(source, in_long_runs, kept)) both.push_back(one.number);
        CHECK(both == whole);
        if (is_awaited) {
          auto* const batch = keyspan::sync_wait(stream.next_batch());
          if (batch == nullptr) break;
          add_to(given, batch->value());
        } else {
          if (places > 0) ++at;
          if (at == batches.end()) break;
          add_to(given, at->value());
        }
      }
      CHECK(given == whole);
      CHECK(places >= whole.size() / most);
    }
}

TEST_CASE("a union that was gone on with, and left at once, knows all that was given before") {
  // Of each entry the first letter is its id, and the second one its version.
  journals all{reviews_in(1, 0), reviews_in(1, 0)};
  for (char const* const one : {"B1", "A1", "D1"}) all[0].write(partition_key{"a"}, one);
  all[1].write(partition_key{"a"}, "A2");
  auto feeds = test::feeds_of(all);
  auto const order = united_by(
      ascending([](entry const&) { return 0; }), [](entry const& one) { return one.key[0] - 'A'; },
      last_writer([](entry const& one) { return one.key[1]; }));
  auto first = merge(feeds, order);
  std::vector<std::string> given;
  for (entry const& one : first) {
    if (given.size() == 2) break;
    given.push_back(one.key);
  }
  auto second = merge(feeds, order, first.cursor());
  CHECK(second.begin()->key == "A2");  // what it was left at comes again
  for (entry const& one : merge(feeds, order, second.cursor())) given.push_back(one.key);
  CHECK(given == std::vector<std::string>{"B1", "D1", "A2"});
}

TEST_CASE("a union gives the run of the last key that there can be") {
  auto source = reviews_in(2, 6);
  auto const downwards = [](entry const& one) {
    return static_cast<std::uint64_t>(5 - one.number) / 3;
  };
  auto const order = distinct_by(keyspan::descending(downwards), &entry::number);
  CHECK(sorted(test::numbers_of(merge(source, order))) == test::counted(0, 6));
}

// Each key has the ids 0 and 1. A cursor of which no hash tells one key from another knows nothing
// of the run that it stands in: that comes again, and nothing is lost.
template <class Order>
void loses_nothing_from_any_item(Order const& order) {
  journals const all{reviews_in(2, 12)};
  auto copy = all;
  std::vector<int> whole;
  test::read_by_loop(copy, order, 3, {}, all_of_it, whole);
  REQUIRE(sorted(whole) == test::counted(0, 12));
  for (bool const splits : {false, true})
    for (std::size_t n = 0; n <= whole.size(); ++n) {
      INFO("from " << n << (splits ? " behind a split" : ""));
      auto world = all;
      std::vector<int> given;
      auto const kept = test::read_by_loop(world, order, 3, {}, n, given);
      if (splits) world.front().split_in_half("0");
      test::read_by_loop(world, order, 3, kept, all_of_it, given);
      CHECK(given.size() <= whole.size() + (splits ? 3 : 1));
      auto found = sorted(given);
      found.erase(std::unique(found.begin(), found.end()), found.end());
      CHECK(found == test::counted(0, 12));
    }
}
struct release {
  int major;
  int minor;
  friend auto operator<=>(release const&, release const&) = default;
};

TEST_CASE("a union by keys that no hash tells apart repeats a run, and loses nothing") {
  auto const id = [](entry const& one) { return one.number % 2; };
  auto const less = [](int a, int b) { return a < b; };
  auto const half = [](entry const& one) { return one.number / 2; };
  auto const release_of = [](entry const& one) {
    return release{one.number / 4, one.number / 2 % 2};
  };
  loses_nothing_from_any_item(distinct_by(ascending(half, less), id));
  loses_nothing_from_any_item(distinct_by(ascending(release_of), id));
}

}  // namespace
