// test/merge/source_place_test.cpp — what a cursor keeps in front of each item of a page, and that
// what is left of the page when it is read again begins with that item.
#include <keyspan/feed/continuation.hpp>
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/source_place.hpp>

#include "../feed/journal.hpp"

#include <catch2/catch_test_macros.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::detail::leave_out_given;
using keyspan::detail::part_before;
using test::check;
using test::entry;
using test::reviews_in;
using test::reviews_journal;

using slot_type =
    keyspan::detail::merge_slot<keyspan::detail::merged_feed_t<reviews_journal, keyspan::draining>>;
template <class Order>
using keys_of = typename Order::template keys<entry>;

// A source that shows a page, and knows where it and the next one begin.
slot_type shows(reviews_journal& source, std::vector<entry> items) {
  slot_type slot{std::move(keyspan::detail::feeds_of(source, keyspan::draining{}).front())};
  slot.shown() = std::move(items);
  slot.begin() = keyspan::continuation{"5"};
  slot.end() = keyspan::continuation{"9"};
  return slot;
}

std::vector<int> left_of(slot_type& slot) {
  std::vector<int> numbers;
  for (auto const& piece : slot.pieces)
    for (entry const& one : piece) numbers.push_back(one.number);
  return numbers;
}

TEST_CASE("the example of source_place reads as it should") {
  auto source = reviews_in(1, 0);
  auto const order = ascending(&entry::key);
  keys_of<std::remove_const_t<decltype(order)>> keys{order};
  // [region: example]
  std::vector<entry> const page{{"a", 0}, {"b", 1}, {"b", 2}, {"c", 3}};
  slot_type slot = shows(source, page);
  auto const part = keyspan::detail::part_before(slot, 2, keys);  // in the midst of a run
  check(part.given.count == 2);                                   // looked at: of those
  check(part.given.alike == 1);                                   // one looks like the next one

  slot_type elsewhere = shows(source, page);
  elsewhere.feed.given = part.given;
  check(keyspan::detail::leave_out_given(elsewhere, keys));
  check(elsewhere.pieces.front().front().number == 2);
  // [end: example]
}

TEST_CASE("behind all of a page a source stands where the next one begins") {
  auto source = reviews_in(1, 0);
  auto const order = ascending(&entry::number);
  keys_of<std::remove_const_t<decltype(order)>> const keys{order};
  slot_type slot = shows(source, {{"a", 0}, {"b", 1}});
  for (std::size_t const item : {0U, 1U}) {
    auto const part = part_before(slot, item, keys);
    CHECK(part.at.from.text() == "5");
    CHECK(part.given.count == item);
  }
  auto const part = part_before(slot, 2, keys);
  CHECK(part.at.from.text() == "9");
  CHECK(part.given == keyspan::given_items{});
  // More than the page was given before: of the next one that many are left out.
  slot.feed.given = {.count = 3, .alike = 1, .image = 7, .state = 0, .identities = {}};
  CHECK(part_before(slot, 2, keys).given == slot.feed.given);
  CHECK(part_before(slot, 1, keys).given.count == 1);
}

// From each item of a page, also of one that was cut into two by where its items belong.
template <class Order>
void go_on_from_each(Order order, std::vector<entry> const& page, bool tells_apart) {
  auto source = reviews_in(1, 0);
  keys_of<Order> keys{order};
  keys.resize(1);
  for (std::size_t item = 0; item <= page.size(); ++item) {
    INFO("from item " << item);
    slot_type before = shows(source, page);
    auto const part = part_before(before, item, keys);
    if (item == page.size()) continue;
    std::vector<int> expected;
    for (std::size_t i = item; i < page.size(); ++i) expected.push_back(page[i].number);
    {
      slot_type slot = shows(source, page);
      slot.feed.given = part.given;
      bool const is_left = item == 0 || leave_out_given(slot, keys);
      CHECK(is_left);
      CHECK((item == 0 || left_of(slot) == expected));
      CHECK(slot.feed.given.count == (item == 0 ? part.given.count : 0));
    }
    if (!tells_apart) continue;
    std::vector<int> numbers;
    for (int const half : {0, 1}) {
      std::vector<entry> of_half;
      for (entry const& one : page)
        if (one.number % 2 == half) of_half.push_back(one);
      slot_type slot = shows(source, of_half);
      slot.feed.given = part.given;
      if (item == 0) continue;
      leave_out_given(slot, keys);
      for (int const one : left_of(slot)) numbers.push_back(one);
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<int> all = expected;
    std::sort(all.begin(), all.end());
    CHECK((item == 0 || numbers == all));
  }
}

TEST_CASE("what is left of a page begins with the item that a part stands in front of") {
  std::vector<entry> const page{{"a", 0}, {"a", 1}, {"a", 2}, {"b", 3},
                                {"c", 4}, {"c", 5}, {"c", 6}, {"c", 7}};
  go_on_from_each(ascending(&entry::key), page, false);
  go_on_from_each(identified_by(ascending(&entry::key), &entry::number), page, true);
  go_on_from_each(ascending(&entry::number), page, true);
  go_on_from_each(keyspan::round_robin, page, false);
  go_on_from_each(keyspan::as_they_come, page, false);
}

TEST_CASE("a page of which all was given leaves nothing, and the next one what was not") {
  auto source = reviews_in(1, 0);
  auto const order = ascending(&entry::key);
  keys_of<std::remove_const_t<decltype(order)>> keys{order};
  slot_type before = shows(source, {{"a", 0}, {"a", 1}, {"a", 2}, {"b", 3}});
  auto const part = part_before(before, 3, keys);  // three of "a", and none that looks like "b"
  CHECK(part.given.count == 3);
  CHECK(part.given.alike == 0);

  // The page comes in two: the items that are left out are those of both.
  slot_type slot = shows(source, {{"a", 0}, {"a", 1}});
  slot.feed.given = part.given;
  CHECK_FALSE(leave_out_given(slot, keys));
  CHECK(slot.feed.given.count == 1);
  slot.shown() = {{"a", 2}, {"b", 3}};
  slot.pieces.clear();
  CHECK(leave_out_given(slot, keys));
  CHECK(left_of(slot) == std::vector{3});
  CHECK(slot.feed.given == keyspan::given_items{});
}

TEST_CASE("items that look alike are left out as often as they were given") {
  auto source = reviews_in(1, 0);
  auto const order = ascending(&entry::key);
  keys_of<std::remove_const_t<decltype(order)>> keys{order};
  slot_type before = shows(source, {{"a", 0}, {"a", 1}, {"a", 2}});
  auto given = part_before(before, 2, keys).given;
  CHECK(given.alike == 2);
  slot_type slot = shows(source, {{"a", 0}});
  slot.feed.given = given;
  CHECK_FALSE(leave_out_given(slot, keys));
  CHECK(slot.feed.given.alike == 1);
  slot.shown() = {{"a", 1}, {"a", 2}};
  CHECK(leave_out_given(slot, keys));
  CHECK(left_of(slot) == std::vector{2});
}

TEST_CASE(
    "what was given of a page before stays told, also behind the item that a part stands at") {
  auto source = reviews_in(1, 0);
  auto const order = identified_by(ascending(&entry::key), &entry::number);
  keys_of<std::remove_const_t<decltype(order)>> const keys{order};
  slot_type slot = shows(source, {{"a", 0}, {"a", 1}, {"a", 2}});
  auto& given = slot.given_before;  // the last one, before a split dealt them out anew
  given.count = 3;
  given.image = keyspan::detail::image_of(keys, slot.page()[0]);
  given.identities = {keys.identity(slot.page()[2])};
  auto const part = part_before(slot, 1, keys);
  CHECK(part.given.count == 3);
  std::vector<std::uint64_t> expected{keys.identity(slot.page()[0]), keys.identity(slot.page()[2])};
  std::sort(expected.begin(), expected.end());
  CHECK(part.given.identities == expected);
}

}  // namespace
