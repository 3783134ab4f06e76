// test/merge/held_run_test.cpp — of a run of equal items one of each identity is held, however long
// the run is and however many batches it takes, and what is held outlives its page.
#include <keyspan/merge/held_run.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merged_batch.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>

#include "../feed/journal.hpp"

#include <catch2/catch_test_macros.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using test::check;
using test::entry;
using test::reviews_in;
using test::reviews_journal;

using slot_type =
    keyspan::detail::merge_slot<keyspan::detail::merged_feed_t<reviews_journal, keyspan::draining>>;

// Of `number` the last digit tells the order, and the rest who it is; the key who wrote last.
struct writers {
  int* compared = nullptr;
  bool operator()(entry const& kept, entry const& other) const { return kept.key < other.key; }
};
int order_of(entry const& one) { return one.number % 10; }
struct name_of {
  int* looked;
  int operator()(entry const& one) const {
    ++*looked;
    return one.number / 10;
  }
};
using order_type = decltype(united_by(ascending(&order_of), name_of{nullptr}, writers{}));
using keys_type = order_type::keys<entry>;

// Two sources, each with its page, and the batch that a tree takes from them.
struct shelf {
  reviews_journal source = reviews_in(1, 0);
  std::vector<std::unique_ptr<slot_type>> slots{};
  int looked = 0;
  keys_type keys{united_by(ascending(&order_of), name_of{&looked}, writers{})};
  keyspan::detail::held_run<slot_type, keys_type> run{};
  std::vector<entry*> items{};
  std::vector<std::uint32_t> from{};

  explicit shelf(std::size_t count = 2) {
    for (std::size_t i = 0; i < count; ++i) {
      slots.push_back(std::make_unique<slot_type>(
          std::move(keyspan::detail::feeds_of(source, keyspan::draining{}).front())));
      slots.back()->number = static_cast<std::uint32_t>(i);
    }
  }
  keyspan::merged_batch<entry> batch() const { return {items.data(), from.data(), items.size()}; }
  void page(std::size_t slot, std::vector<entry> page) {
    run.save(*slots[slot], keys);
    slots[slot]->run_item = run.before;
    slots[slot]->shown() = std::move(page);
  }
  // The tree gives the next items of these sources.
  void next(std::vector<std::pair<std::size_t, std::size_t>> const& places) {
    items.clear();
    from.clear();
    for (auto const& [slot, item] : places) {
      items.push_back(&slots[slot]->page()[item]);
      from.push_back(static_cast<std::uint32_t>(slot));
    }
    run.unite(batch(), slots, keys);
  }
  std::vector<std::string> given() const {
    std::vector<std::string> made;
    auto const all = run.given(0, ~std::size_t{});
    for (std::size_t i = 0; i < all.size(); ++i)
      made.push_back(all[i].key + std::to_string(all[i].number) + "@" +
                     std::to_string(all.source(i)));
    return made;
  }
};
using words = std::vector<std::string>;

TEST_CASE("the example of held_run reads as it should") {
  shelf two;
  two.page(0, {{"b", 13}, {"a", 14}});
  two.page(1, {{"a", 13}, {"a", 23}});
  // [region: example]
  auto& run = two.run;
  two.next({{0, 0}, {1, 0}, {1, 1}});  // b13, and an a13 that was written before it; a23
  check(run.given() == 0);             // what else is equal to them nobody knows yet
  run.settle(two.batch(), two.slots);
  two.next({{0, 1}});  // a14: the run of 3 has ended
  check(two.given() == words{"b13@0", "a23@1"});
  check(!run.empty());  // and that of 4 is held
  // [end: example]
}

TEST_CASE("one takes the place of another one and stands where it came") {
  shelf two;
  two.page(0, {{"a", 13}, {"a", 23}, {"a", 33}});
  two.page(1, {{"b", 13}, {"a", 23}, {"b", 33}});
  two.next({{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}});
  two.run.give();
  CHECK(two.given() == words{"a23@0", "b13@1", "b33@1"});
}

TEST_CASE("what is held outlives its page, and its source's being split") {
  shelf three{3};
  three.page(0, {{"a", 13}, {"a", 23}});
  three.page(1, {{"a", 33}});
  three.next({{0, 0}, {0, 1}, {1, 0}});
  three.run.settle(three.batch(), three.slots);
  CHECK(three.slots[0]->run_item == 0);
  CHECK(three.slots[1]->run_item == 0);
  CHECK(three.slots[2]->run_item == three.run.before);
  three.page(0, {{"x", 99}, {"x", 99}});
  CHECK(three.slots[0]->run_part);
  three.run.split(*three.slots[1], *three.slots[2], three.keys);
  three.slots[1]->shown() = {};
  REQUIRE(three.run.orphans().size() == 1);
  CHECK(three.run.orphans()[0].feed == three.slots[1]->feed.feed);
  three.run.give();
  CHECK(three.given() == words{"a13@0", "a23@0", "a33@2"});
  three.items.clear();
  three.from.clear();
  three.run.settle(three.batch(), three.slots);
  CHECK(three.run.orphans().empty());
  CHECK(three.slots[0]->run_item == three.run.before);
  CHECK_FALSE(three.slots[0]->run_part);
}

// Against the simplest code there is.
TEST_CASE("a run of any length is united as by a map") {
  test::random rng{7};
  for (int world = 0; world < 300; ++world) {
    shelf two;
    int const names = 1 + static_cast<int>(rng.below(world % 3 == 0 ? 5 : 100));
    std::vector<entry> pages[2];
    std::vector<std::pair<std::size_t, std::size_t>> places;
    std::vector<std::string> order;  // of the names
    std::map<int, std::pair<std::string, std::string>> latest;
    for (std::size_t left = rng.below(300); left > 0; --left) {
      std::size_t const of = rng.below(2);
      entry one{std::string(1, static_cast<char>('a' + rng.below(26))),
                static_cast<int>(rng.below(static_cast<std::size_t>(names))) * 10 + 3};
      std::string const text = one.key + std::to_string(one.number) + "@" + std::to_string(of);
      auto const kept = latest.find(one.number);
      if (kept == latest.end() || kept->second.first < one.key) {
        if (kept != latest.end()) std::erase(order, kept->second.second);
        latest[one.number] = {one.key, text};
        order.push_back(text);
      }
      places.emplace_back(of, pages[of].size());
      pages[of].push_back(std::move(one));
    }
    two.page(0, pages[0]);
    two.page(1, pages[1]);
    std::size_t at = 0;
    while (at < places.size()) {
      std::size_t const count = std::min(places.size() - at, 1 + rng.below(50));
      auto const begin = places.begin() + static_cast<std::ptrdiff_t>(at);
      two.next({begin, begin + static_cast<std::ptrdiff_t>(count)});
      CHECK(two.run.given() == 0);
      two.run.settle(two.batch(), two.slots);
      at += count;
    }
    two.run.give();
    CHECK(two.given() == order);
  }
}

TEST_CASE("of a long run each item is looked at a few times, not once for each other one") {
  shelf one{1};
  constexpr int count = 20'000;
  std::vector<entry> page;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (int i = 0; i < count; ++i) {
    page.push_back({"a", i % (count / 2) * 10});
    places.emplace_back(0, i);
  }
  one.page(0, std::move(page));
  one.next(places);
  one.run.give();
  CHECK(one.run.given() == count / 2);
  CHECK(one.looked < 16 * count);
}

}  // namespace
