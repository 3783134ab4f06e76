// test/merge/merge_feeds_test.cpp — what can be merged, and what cannot go on from a cursor.
#include <keyspan/core/error.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merge_feeds.hpp>

#include "../feed/journal.hpp"
#include "shelves.hpp"

#include <catch2/catch_test_macros.hpp>

#include <support/check.hpp>

#include <concepts>
#include <deque>
#include <list>
#include <string>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::errc;
using keyspan::feed;
using keyspan::feeds_to_merge;
using keyspan::merge_async;
using test::check;
using test::entry;
using test::reviews_in;
using test::reviews_journal;

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

}  // namespace
