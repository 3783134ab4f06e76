// test/merge/merge_feeds_test.cpp — what can be merged, and what cannot go on from a cursor.
#include <keyspan/core/error.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/merged_feeds.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/range/token_range.hpp>

#include "../feed/journal.hpp"
#include "resumption.hpp"
#include "shelves.hpp"

#include <catch2/catch_test_macros.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <concepts>
#include <deque>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::feeds_to_merge;
using keyspan::merge;
using keyspan::merge_async;
using test::check;
using test::entry;
using test::numbers_of;
using test::reviews_in;
using test::reviews_journal;
using test::take_from;

// [region: example]
template <keyspan::feeds_to_merge Feeds>
keyspan::merged_cursor_of<Feeds> start_of(Feeds& feeds) {
  return merge_async(feeds, ascending(&keyspan::merged_item<Feeds>::number)).cursor();
}
// [end: example]

TEST_CASE("the example of merge_feeds reads as it should") {
  auto source = reviews_in(3, 20);
  check(start_of(source).feeds.size() == 1);
  std::vector<feed<reviews_journal>> feeds;
  feeds.emplace_back(source);
  feeds.emplace_back(source);
  check(start_of(feeds).feeds.size() == 2);
}

// Page sources, feeds, and ranges of them that stand somewhere; nothing that is made on the way.
static_assert(feeds_to_merge<reviews_journal>);
static_assert(feeds_to_merge<feed<reviews_journal>>);
static_assert(feeds_to_merge<std::vector<reviews_journal>>);
static_assert(feeds_to_merge<std::list<feed<reviews_journal>>>);
static_assert(feeds_to_merge<std::vector<feed<reviews_journal>>&>);
static_assert(feeds_to_merge<feed<reviews_journal> const>);
static_assert(feeds_to_merge<std::vector<feed<reviews_journal>> const>);
static_assert(!feeds_to_merge<reviews_journal const>);
static_assert(!feeds_to_merge<int>);
static_assert(!feeds_to_merge<std::vector<int>>);
static_assert(!feeds_to_merge<std::vector<std::vector<entry>>>);
static_assert(!feeds_to_merge<std::vector<reviews_journal*>>);
static_assert(std::same_as<keyspan::merged_item<std::vector<feed<reviews_journal>>>, entry>);
static_assert(std::same_as<keyspan::merged_cursor_of<feed<reviews_journal>>,
                           keyspan::merged_cursor<keyspan::token128>>);

template <class Feeds>
std::string refusal(Feeds& feeds, keyspan::merged_cursor_of<Feeds> const& from) {
  auto stream = merge_async(feeds, ascending(&entry::number), from);
  test::merged_story<entry> got;
  CHECK(test::read_by_items(stream, got).is_done());
  CHECK(got.items.empty() == got.why.has_value());
  return got.why ? std::string{got.why->to_text().view()} : "";
}

TEST_CASE("a merge refuses a cursor that is not of these feeds, and says why") {
  auto source = reviews_in(2, 12);
  auto const good = start_of(source);
  CHECK(refusal(source, good).empty());
  CHECK(source.reads.size() > 0);
  source.reads.clear();
  auto from = good;
  from.order = "by time";
  CHECK(refusal(source, from) ==
        "invalid_options: the cursor is of a merge \"by time\", this one is \"ascending\"");
  from = good;
  from.feeds.push_back(from.feeds.front());
  CHECK(refusal(source, from) ==
        "invalid_options: the cursor is of a merge of 2 feeds, this one has 1");
  from.feeds.clear();
  CHECK(refusal(source, from) ==
        "invalid_options: the cursor is of a merge of 0 feeds, this one has 1");
  from = good;
  from.feeds[0].container = "ratings";
  CHECK(refusal(source, from).starts_with("wrong_container"));
  from = good;
  from.feeds[0].scheme = "fast64";
  CHECK(refusal(source, from).starts_with("scheme_mismatch"));
  from = good;
  from.feeds[0].mode = keyspan::feed_mode::all_versions_and_deletes;
  CHECK(refusal(source, from).starts_with("invalid_options: the cursor is of a feed of mode"));
  from = good;
  from.feeds[0].key.emplace("redmond");
  CHECK(refusal(source, from).starts_with("key_mismatch"));
  from = good;
  from.feeds[0].parts.push_back(from.feeds[0].parts.front());
  CHECK(refusal(source, from).starts_with("overlap"));
  CHECK(source.reads.empty());
}

TEST_CASE(
    "where one of several feeds refuses its cursor the others are merged, if that is wished") {
  std::deque<reviews_journal> sources;
  sources.push_back(reviews_in(2, 12));
  sources.push_back(reviews_in(2, 12));
  auto from = start_of(sources);
  from.feeds[1].container = "ratings";
  auto stream = merge_async(sources, ascending(&entry::number), from,
                            {.failure = keyspan::on_failure::go_on});
  test::merged_story<entry> got;
  CHECK(test::read_by_items(stream, got).is_done());
  CHECK(got.items.size() == 12);
  REQUIRE(stream.failures().size() == 1);
  CHECK(stream.failures()[0].why.code == errc::wrong_container);
  CHECK(stream.failures()[0].feed == 1);
}

TEST_CASE("a cursor of another merge is an error of all, whatever the policy") {
  std::deque<reviews_journal> sources;
  sources.push_back(reviews_in(2, 12));
  sources.push_back(reviews_in(2, 12));
  auto from = start_of(sources);
  from.order = "descending";
  auto stream = merge_async(sources, ascending(&entry::number), from,
                            {.failure = keyspan::on_failure::go_on});
  test::merged_story<entry> got;
  CHECK(test::read_by_items(stream, got).is_done());
  CHECK(got.items.empty());
  REQUIRE(got.why.has_value());
  CHECK(got.why->code == errc::invalid_options);
  CHECK(stream.failures().empty());
}

// That of the merge which goes on from it, once it has refused it.
template <class Feeds>
keyspan::merged_cursor_of<Feeds> refused_cursor(Feeds& feeds,
                                                keyspan::merged_cursor_of<Feeds> const& from) {
  auto merged = merge(feeds, ascending(&entry::number), from);
  CHECK(merged.cursor() == from);
  auto const got = test::loop_over_batches(merged);
  CHECK(got.items.empty());
  CHECK(got.why.has_value());
  return merged.cursor();
}

TEST_CASE("a merge that refuses its cursor leaves it where it was") {
  auto source = reviews_in(2, 20);
  auto first = merge(source, ascending(&entry::number));
  take_from(first, 7);
  auto const good = first.cursor();
  auto from = good;
  from.feeds[0].container = "ratings";
  CHECK(refused_cursor(source, from) == from);
  from = good;
  from.feeds[0].parts.clear();
  CHECK(refused_cursor(source, from) == from);
  from = good;
  from.order = "descending";
  CHECK(refused_cursor(source, from) == from);
  from = good;
  from.feeds.push_back(from.feeds.front());
  CHECK(refused_cursor(source, from) == from);
  from.feeds.clear();
  CHECK(refused_cursor(source, from) == from);
}

TEST_CASE("where the others are merged, the part of a cursor that is refused stays as it was") {
  std::deque<reviews_journal> sources;
  sources.push_back(reviews_in(2, 12));
  sources.push_back(reviews_in(2, 12));
  auto const order = ascending(&entry::number);
  auto first = merge(sources, order);
  take_from(first, 7);
  auto const good = first.cursor();
  auto from = good;
  from.feeds[1].container = "ratings";
  auto merged = merge(sources, order, from, {.failure = keyspan::on_failure::go_on});
  CHECK(numbers_of(merged).size() == 8);
  auto kept = merged.cursor();
  CHECK(kept.feeds[1] == from.feeds[1]);
  // Put right, it goes on where both stood.
  kept.feeds[1].container = good.feeds[1].container;
  CHECK(numbers_of(merge(sources, order, kept)) == test::counted(3, 12));
}

TEST_CASE("a feed of some tokens goes on with what of a cursor lies in them") {
  auto source = reviews_in(4, 60);
  auto const order = ascending(&entry::number);
  auto whole = merge(source, order);
  for (int given = 0; given <= 60; given += 10) {
    auto const kept = whole.cursor();
    INFO("behind " << given);
    // A partition, and halves of two.
    for (auto const& range :
         {source.live()[1].range,
          keyspan::token_range{cosmos_v2.boundary(3, 8), cosmos_v2.boundary(5, 8)}}) {
      feed some{source, {.scope = range}};
      CHECK(numbers_of(merge(some, order, kept)) == source.numbers_in(range, given));
      // As a feed does that goes on from whole pages.
      feed alone{source, {.start = kept.feeds[0].whole_pages(), .scope = range}};
      auto const again = numbers_of(merge(alone, order));
      CHECK(std::ranges::includes(again, source.numbers_in(range, given)));
      CHECK(std::ranges::includes(source.numbers_in(range), again));
    }
    take_from(whole, 10);
  }
}

TEST_CASE("a cursor that has no token in common with a feed is refused") {
  auto source = reviews_in(4, 60);
  feed left{source, {.scope = source.live()[0].range}};
  feed right{source, {.scope = source.live()[2].range}};
  auto from = start_of(left);
  CHECK(refusal(left, from).empty());
  source.reads.clear();
  CHECK(refusal(right, from) == "invalid_range: the cursor has no token in common with feed 0");
  from.feeds[0].parts.clear();
  CHECK(refusal(left, from) == "invalid_range: the cursor has no token in common with feed 0");
  CHECK(source.reads.empty());
}

TEST_CASE("a feed of one key goes on from no cursor of all keys, nor of another key") {
  auto source = reviews_in(2, 40);
  feed one_key{source, {.scope = keyspan::partition_key{"key 3"}}};
  feed other_key{source, {.scope = keyspan::partition_key{"key 4"}}};
  CHECK(refusal(one_key, start_of(source)).starts_with("key_mismatch"));
  CHECK(refusal(one_key, start_of(other_key)).starts_with("key_mismatch"));
  CHECK(refusal(source, start_of(one_key)).starts_with("key_mismatch"));
  CHECK(source.reads.empty());
}

TEST_CASE("sources stand in the order of their ranges, however the parts of a cursor stand") {
  auto source = reviews_in(4, 40);
  auto const all_equal = ascending([](entry const&) { return 0; });
  auto first = merge(source, all_equal);
  take_from(first, 5);
  auto kept = first.cursor();
  auto const rest = numbers_of(merge(source, all_equal, kept));
  CHECK(rest.size() == 35);
  auto& parts = kept.feeds[0].parts;
  REQUIRE(parts.size() == 4);
  std::ranges::reverse(parts);
  CHECK(numbers_of(merge(source, all_equal, kept)) == rest);
  std::swap(parts[0], parts[2]);
  CHECK(numbers_of(merge(source, all_equal, kept)) == rest);
}

TEST_CASE("feeds are copied, so that they may be constant") {
  auto source = reviews_in(2, 12);
  std::vector<feed<reviews_journal>> made;
  made.emplace_back(source);
  auto const& feeds = made;
  auto stream = merge_async(feeds, ascending(&entry::number));
  test::merged_story<entry> got;
  CHECK(test::read_by_items(stream, got).is_done());
  CHECK(got.items.size() == 12);
}

TEST_CASE("a cursor of some feeds is refused where there are none") {
  std::deque<reviews_journal> feeds;
  feeds.push_back(reviews_in(1, 3));
  feeds.push_back(reviews_in(1, 3));
  auto const order = ascending(&entry::number);
  auto const kept = merge(feeds, order).cursor();
  feeds.clear();
  auto merged = merge(feeds, order, kept);
  std::size_t errors = 0;
  for (auto const& batch : merged.batches()) errors += batch ? 0U : 1U;
  CHECK(errors == 1);
  CHECK(merged.cursor() == kept);
}

TEST_CASE("a feed that cannot be read says why also where a cursor is gone on with") {
  auto source = reviews_in(1, 3);
  feed good{source};
  auto const kept = merge(good, ascending(&entry::number)).cursor();
  auto other = reviews_in(1, 3);
  other.container_id = "others";
  feed elsewhere{other};
  auto const foreign = merge(elsewhere, ascending(&entry::number)).cursor();
  feed bad{source, {.start = foreign.feeds.front().whole_pages()}};
  auto alone = merge(bad, ascending(&entry::number));
  auto const why = test::loop_over_batches(alone).why;
  auto resumed = merge(bad, ascending(&entry::number), kept);
  auto const why_resumed = test::loop_over_batches(resumed).why;
  REQUIRE(why);
  REQUIRE(why_resumed);
  CHECK(why->code == errc::wrong_container);
  CHECK(why_resumed->code == why->code);
}

TEST_CASE("a merge goes on in all parts of a feed that begins with several, in whatever order") {
  auto source = reviews_in(2, 20);
  feed whole{source};
  auto const order = ascending(&entry::number);
  auto first = merge(whole, order);
  static_cast<void>(take_from(first, 1));  // it is open: two parts
  auto start = first.cursor().feeds.front().whole_pages();
  REQUIRE(start.parts.size() == 2);
  for (bool const is_reversed : {false, true}) {
    INFO("reversed " << is_reversed);
    if (is_reversed) std::reverse(start.parts.begin(), start.parts.end());
    feed parts{source, {.start = start, .page_size = 3}};
    auto merged = merge(parts, order);
    auto given = take_from(merged, 5);
    auto rest = merge(parts, order, merged.cursor());
    for (int const one : numbers_of(rest)) given.push_back(one);
    CHECK(given == test::counted(0, 20));
  }
}

}  // namespace
