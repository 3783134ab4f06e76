// test/merge/merge_sources_test.cpp — what each source of a merge hands over, one answer after
// another.
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merge_inbox.hpp>
#include <keyspan/merge/merge_sources.hpp>

#include "../feed/journal.hpp"

#include <catch2/catch_test_macros.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace {

using keyspan::detail::fetched;
using keyspan::detail::merge_inbox;
using test::check;
using test::entry;
using test::reviews_in;
using test::reviews_journal;

using feed_type = keyspan::detail::merged_feed_t<reviews_journal, keyspan::draining>;
using slot_type = keyspan::detail::merge_slot<feed_type>;

// What it hands over next, but for "again".
fetched next_of(slot_type& slot, merge_inbox& inbox) {
  if (!slot.asks) slot.asks = ask(slot, inbox);
  do {
    slot.asks.go_on();
    CHECK(inbox.take() == &slot);
  } while (slot.what == fetched::again);
  return slot.what;
}

TEST_CASE("the example of merge_sources reads as it should") {
  auto source = reviews_in(3, 20);
  // [region: example]
  using keyspan::detail::fetched;
  keyspan::detail::merge_inbox inbox;
  auto feeds = keyspan::detail::feeds_of(source, keyspan::draining{});
  keyspan::detail::merge_slot slot{std::move(feeds.front())};
  slot.asks = ask(slot, inbox);
  do {
    slot.asks.go_on();             // asks one question
    check(inbox.take() == &slot);  // and hands over, from whatever thread
  } while (slot.what == fetched::again);
  check(slot.what == fetched::split);  // opened: a feed for each range
  check(slot.parts.size() == 3);
  // [end: example]
}

std::vector<std::unique_ptr<slot_type>> opened(reviews_journal& source, merge_inbox& inbox) {
  slot_type whole{std::move(keyspan::detail::feeds_of(source, keyspan::draining{}).front())};
  CHECK(next_of(whole, inbox) == fetched::split);
  std::vector<std::unique_ptr<slot_type>> made;
  for (auto& one : whole.parts) made.push_back(std::make_unique<slot_type>(std::move(one)));
  return made;
}

TEST_CASE("a range hands over its pages, then its end, in every round") {
  auto source = reviews_in(2, 12);
  merge_inbox inbox;
  auto const ranges = opened(source, inbox);
  REQUIRE(ranges.size() == 2);
  for (auto const& one : ranges) {
    std::vector<int> numbers;
    while (next_of(*one, inbox) == fetched::page) {
      CHECK(one->end() != one->next_end());
      for (entry const& item : one->coming()) numbers.push_back(item.number);
    }
    CHECK(one->what == fetched::end);
    CHECK(numbers == source.numbers_in(one->feed.at.range));
    CHECK(next_of(*one, inbox) == fetched::end);
    one->feed.begin_round();
    source.write_many(17);
    CHECK(next_of(*one, inbox) == fetched::page);
  }
}

TEST_CASE("a range whose partition has split hands over its parts, each from where it stood") {
  auto source = reviews_in(2, 60);
  merge_inbox inbox;
  auto const ranges = opened(source, inbox);
  auto& left = *ranges.front();
  CHECK(next_of(left, inbox) == fetched::page);
  auto const after = left.next_end();
  source.split_in_half("0");
  CHECK(next_of(left, inbox) == fetched::split);
  REQUIRE(left.parts.size() == 2);
  CHECK(left.parts[0].at.range.lower() == left.feed.at.range.lower());
  CHECK(left.parts[0].at.range < left.parts[1].at.range);
  for (auto const& one : left.parts) CHECK(one.at.from == after);
}

TEST_CASE("how many of what was given are in a part nobody knows, but their identities tell") {
  for (bool const has_identities : {false, true})
    for (bool const splits : {false, true}) {
      auto source = reviews_in(1, 60);
      merge_inbox inbox;
      auto ranges = opened(source, inbox);
      auto& whole = *ranges.front();
      whole.feed.given = {5, 3, 7, 0, {}};
      if (has_identities) whole.feed.given.identities = {1, 2, 3};
      if (splits) {
        source.split_in_half("0");
        CHECK(next_of(whole, inbox) == fetched::split);
      } else {
        whole.parts = whole.feed.divided();
      }
      CHECK(whole.parts.size() == (splits ? 2 : 1));
      for (auto const& one : whole.parts) {
        CHECK(one.given.count == 5);
        CHECK(one.given.image == 7);
        CHECK(one.given.alike == (splits && !has_identities ? 0 : 3));
        CHECK(one.given.identities == whole.feed.given.identities);
      }
    }
}

TEST_CASE("a range whose partition was merged into a larger one stays what it is") {
  auto source = reviews_in(2, 60);
  merge_inbox inbox;
  auto const ranges = opened(source, inbox);
  source.merge("0", "1");
  std::vector<int> numbers;
  while (next_of(*ranges[1], inbox) == fetched::page)
    for (entry const& item : ranges[1]->coming()) numbers.push_back(item.number);
  CHECK(ranges[1]->what == fetched::end);
  CHECK(numbers == source.numbers_in(ranges[1]->feed.at.range));
}

TEST_CASE("to divide a feed costs in proportion to its ranges") {
  auto const bytes_of = [](std::size_t partitions, bool resumes) {
    auto source = reviews_in(partitions, 0);
    merge_inbox inbox;
    slot_type whole{std::move(keyspan::detail::feeds_of(source, keyspan::draining{}).front())};
    CHECK(next_of(whole, inbox) == fetched::split);
    if (resumes)
      for (auto const& one : whole.parts) whole.feed.resumed.push_back({one.at, {}});
    std::size_t const before = test::allocated_bytes();
    CHECK(whole.feed.divided().size() == partitions);
    return test::allocated_bytes() - before;
  };
  for (bool const resumes : {false, true})
    CHECK(bytes_of(800, resumes) < 5 * bytes_of(200, resumes));
}

}  // namespace
