// test/feed/feed_reading_test.cpp — the loops over a feed: by items and by pages, until nothing is
// new and for ever, through the pipes of the standard library and of range-v3.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

#include "journal.hpp"

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <range/v3/range/concepts.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::instant;
using test::check;
using test::counted;
using test::entry;
using test::numbers_of;
using test::reviews_in;
using test::reviews_journal;
using test::sorted;
using namespace std::chrono_literals;

// A clock that is always ready: to wait moves it, and whatever happens meanwhile happens.
struct jumping_clock {
  instant now() const { return at; }
  keyspan::ready<keyspan::result<void>> wait_until(instant due, keyspan::stop_token stop) {
    waits.push_back(due - instant{});
    at = (std::max)(at, due);
    if (meanwhile) meanwhile();
    if (stop.stop_requested())
      return {keyspan::result<void>{keyspan::fail(errc::stopped, "the wait was stopped")}};
    return {keyspan::result<void>{}};
  }
  instant at{};
  std::vector<instant::duration> waits{};
  std::function<void()> meanwhile{};
};
static_assert(keyspan::clock<jumping_clock>);

using item_view = keyspan::feed_reading<reviews_journal>;
using page_view = keyspan::feed_pages<reviews_journal>;
using followed = keyspan::feed_reading<reviews_journal, keyspan::following<jumping_clock>>;

static_assert(std::ranges::view<item_view> && std::ranges::view<page_view> &&
              std::ranges::view<followed>);
static_assert(std::copyable<item_view> && std::copyable<page_view> && std::copyable<followed>);
static_assert(std::ranges::input_range<item_view const> && !std::ranges::forward_range<item_view>);
static_assert(std::ranges::input_range<page_view const> && !std::ranges::forward_range<page_view>);
static_assert(std::ranges::borrowed_range<item_view> && std::ranges::borrowed_range<page_view>);
static_assert(std::same_as<std::ranges::range_reference_t<item_view>, entry&>);
static_assert(std::same_as<std::ranges::range_reference_t<page_view>,
                           keyspan::result<keyspan::page<entry>>&>);
static_assert(::ranges::input_range<item_view> && ::ranges::view_<item_view> &&
              ::ranges::view_<page_view>);
static_assert(::ranges::input_range<feed<reviews_journal>>);
static_assert(std::default_initializable<item_view::iterator>);
static_assert(std::default_initializable<page_view::iterator>);
// An item costs an increment: the iterator holds what it steps through.
static_assert(sizeof(item_view::iterator) <= 3 * sizeof(void*) + sizeof(void*));

TEST_CASE("the example of feed_reading reads as it should") {
  auto source = reviews_in(2, 20);
  feed changes{source};
  std::vector<int> seen;
  // [region: example]
  auto const items = changes.items();  // a view: copied, piped, kept while the feed lives
  for (entry const& one : items) {
    if (one.number == 7) break;
    seen.push_back(one.number);
  }
  for (entry const& one : items) seen.push_back(one.number);  // goes on with 7

  auto evens = changes.items() |
               std::views::filter([](entry const& one) { return one.number % 2 == 0; }) |
               std::views::transform(&entry::number);
  source.write_many(4);  // 20 to 23
  int sum = 0;
  for (int const number : evens) sum += number;
  check(sum == 42);
  // [end: example]
  CHECK(sorted(seen) == counted(0, 20));
}

TEST_CASE("pipes of the standard library take the owner, its view, and the owner moved into them") {
  auto source = reviews_in(3, 40);
  auto const is_even = [](entry const& one) { return one.number % 2 == 0; };
  std::vector<int> evens;
  for (int i = 0; i < 40; i += 2) evens.push_back(i);
  using std::views::filter;
  {
    feed changes{source};
    CHECK(sorted(numbers_of(changes | filter(is_even))) == evens);
  }
  {
    feed changes{source};
    auto const view = changes.items();
    CHECK(sorted(numbers_of(view | filter(is_even))) == evens);
  }
  {
    feed changes{source};
    auto view = std::move(changes) | filter(is_even);
    CHECK(sorted(numbers_of(view)) == evens);
    source.write_many(2);
    CHECK(sorted(numbers_of(view)) == std::vector{40});
  }
  {
    feed changes{source};
    std::size_t count = 0;
    for (std::size_t const size : changes.pages() | std::views::transform([](auto const& page) {
                                    return page->items.size();
                                  }))
      count += size;
    CHECK(count == 42);
  }
}

TEST_CASE("pipes of range-v3 take the owner and its view") {
  auto source = reviews_in(3, 40);
  namespace views = ::ranges::views;
  auto const is_even = [](entry const& one) { return one.number % 2 == 0; };
  std::vector<int> evens;
  for (int i = 0; i < 40; i += 2) evens.push_back(i);
  {
    feed changes{source};
    CHECK(sorted(numbers_of(changes | views::filter(is_even))) == evens);
  }
  {
    feed changes{source};
    CHECK(sorted(numbers_of(changes.items() | views::filter(is_even))) == evens);
  }
  {
    feed changes{source};
    std::vector<int> firsts;
    for (int const number : changes.items() | views::filter(is_even) |
                                views::transform(&entry::number) | views::take(3))
      firsts.push_back(number);
    CHECK(firsts.size() == 3);
  }
  {
    feed changes{source};
    std::size_t count = 0;
    for (std::size_t const size :
         changes.pages() | views::transform([](auto const& page) { return page->items.size(); }))
      count += size;
    CHECK(count == 40);
  }
  {
    jumping_clock clock;
    feed changes{source};
    CHECK(numbers_of(changes.follow(clock, 1s) | views::take(40)).size() == 40);
  }
}

TEST_CASE("a view goes with the feed when that is moved") {
  auto source = reviews_in(2, 30);
  feed first{source};
  auto evens =
      first.items() | std::views::filter([](entry const& one) { return one.number % 2 == 0; });
  auto item = evens.begin();
  std::vector<int> seen;
  for (int i = 0; i < 4; ++i, ++item) seen.push_back(item->number);
  feed second{std::move(first)};
  for (; item != evens.end(); ++item) seen.push_back(item->number);
  CHECK(seen.size() == 15);
  source.write_many(1);
  CHECK(numbers_of(evens) == std::vector{30});
}

TEST_CASE("take fetches no page more than it needs, and does not wait for one") {
  auto source = reviews_in(1, 9);
  feed changes{source};
  CHECK(numbers_of(changes.items() | std::views::take(3)) == counted(0, 3));
  CHECK(source.reads.size() == 1);
  CHECK(changes.cursor().parts[0].from.text() == "3");  // all of the page is left behind
  for (auto const& page : changes.pages() | std::views::take(1))
    CHECK(page->items.front().number == 3);
  CHECK(source.reads.size() == 2);
  jumping_clock clock;
  CHECK(numbers_of(changes.follow(clock, 1s) | std::views::take(3)) == counted(6, 9));
  CHECK(clock.waits.empty());
  CHECK(source.reads.size() == 3);
}

TEST_CASE("what take leaves over is there for the next loop") {
  auto source = reviews_in(2, 40);
  feed changes{source};
  std::vector<int> numbers;
  for (int round = 0; round < 8; ++round)
    for (entry const& one : changes.items() | std::views::take(5)) numbers.push_back(one.number);
  CHECK(sorted(numbers) == counted(0, 40));

  source.write_many(40);
  for (int round = 0; round < 40; ++round)
    for (auto const& page : changes.pages() | std::views::take(1)) {
      REQUIRE(page.has_value());
      for (entry const& one : page->items) numbers.push_back(one.number);
    }
  CHECK(sorted(numbers) == counted(0, 80));
}

TEST_CASE("iterators that are copied do not fetch a page twice") {
  auto source = reviews_in(1, 9);
  feed changes{source};
  auto item = changes.begin();
  ++item;
  ++item;
  ++item;  // behind the page
  auto copy = item;
  CHECK(item != changes.end());
  CHECK(copy != changes.end());
  CHECK(copy->number == 3);
  CHECK((*item).number == 3);
  CHECK(source.reads.size() == 2);
  auto const pages = changes.pages();
  auto page = pages.begin();
  CHECK((*page)->items.size() == 3);
  ++page;
  auto other = page;
  CHECK(page != pages.end());
  CHECK(other != pages.end());
  CHECK((*other)->items.front().number == 6);
  CHECK(source.reads.size() == 3);
}

TEST_CASE("a page that was only stepped to is not passed") {
  auto source = reviews_in(1, 6);
  feed changes{source};
  auto const view = changes.pages();
  auto page = view.begin();
  CHECK(changes.cursor().parts[0].from == keyspan::from_beginning);
  CHECK((*page)->items.size() == 3);
  CHECK(changes.cursor().parts[0].from.text() == "3");
  CHECK(page->value().items.front().number == 0);
  ++page;
  CHECK(changes.cursor().parts[0].from.text() == "3");
  CHECK(numbers_of(changes) == counted(3, 6));
  source.write_many(9);
  CHECK(std::ranges::distance(view) == 3);  // steps past them
  CHECK(changes.cursor().parts[0].from.text() == "15");
}

TEST_CASE("items and pages can be changed and moved out of") {
  auto source = reviews_in(1, 6);
  feed changes{source};
  for (entry& one : changes) {
    one.number += 100;
    std::string const taken = std::move(one.key);
    CHECK(taken.starts_with("key "));
  }
  feed again{source};
  std::vector<std::vector<entry>> kept;
  for (auto& page : again.pages()) kept.push_back(std::move(page->items));
  REQUIRE(kept.size() == 2);
  CHECK(kept[1][2].number == 5);
  CHECK(again.cursor().parts[0].from.text() == "6");
}

TEST_CASE("a loop over a view is another loop each time, over one feed") {
  auto source = reviews_in(1, 9);
  feed changes{source};
  auto const view = changes.items();
  auto const copy = view;
  auto item = view.begin();
  ++item;
  auto other = copy.begin();
  CHECK(other->number == 1);
  CHECK(source.reads.size() == 1);
  CHECK_FALSE(item_view::iterator{} != std::default_sentinel);
  CHECK(page_view::iterator{} == std::default_sentinel);
}

TEST_CASE("empty pages are gone past, as many as there are") {
  auto source = reviews_in(1, 4);
  for (int i = 0; i < 5; ++i) source.pages.push_back({.continuation = "0", .charge = 1});
  feed changes{source};
  int count = 0;
  for (auto const& page : changes.pages()) {
    REQUIRE(page.has_value());
    CHECK_FALSE(page->items.empty());
    ++count;
  }
  CHECK(count == 2);
  CHECK(source.reads.size() == 8);
  CHECK(changes.charge() == 8);
}

TEST_CASE("a page that says itself that nothing is new behind it is the last of its range") {
  auto source = reviews_in(2, 20);
  source.tells_end_with_items = true;
  feed changes{source};
  CHECK(sorted(numbers_of(changes)) == counted(0, 20));
  std::size_t const reads = source.reads.size();
  CHECK(numbers_of(changes).empty());
  CHECK(source.reads.size() == reads + 2);  // each is asked again by another loop
}

// --- draining
// --------------------------------------------------------------------------------------

TEST_CASE("a loop ends when each range has answered once that nothing is new, whoever writes on") {
  auto source = reviews_in(4, 40);
  // Ahead of each answer something is written into every range that has already said so.
  std::vector<std::string> done;
  int written = 0;
  source.before_read = [&] {
    for (auto const& id : done)
      for (int i = 0; i < 200; ++i) {
        std::string const key = "later " + std::to_string(i);
        if (!source.live(id).range.contains(keyspan::token_of(cosmos_v2, key))) continue;
        source.write(key);
        ++written;
        break;
      }
    auto const& read = source.reads.back();
    bool const is_last =
        source.numbers_in(read.range, read.from.is_start() ? 0 : std::stoi(read.from.text()))
            .empty();
    if (is_last) done.push_back(read.partition);
  };
  feed changes{source};
  auto const numbers = numbers_of(changes.drain());
  CHECK(sorted(numbers) == counted(0, 40));
  CHECK(done.size() == 4);
  CHECK(written >= 6);
  // The cursor stands exactly where each range said so.
  auto const cursor = changes.cursor();
  std::vector<std::size_t> left;
  for (auto const& part : cursor.parts)
    left.push_back(source.numbers_in(part.range, std::stoi(part.from.text())).size());
  std::size_t all = 0;
  for (auto const n : left) all += n;
  CHECK(all == static_cast<std::size_t>(written));
  source.before_read = {};
  CHECK(numbers_of(changes).size() == all);
}

TEST_CASE("a range that has nothing new is asked once in a loop, however long the others take") {
  reviews_journal source{cosmos_v2, {*cosmos_v2.from_hex("20")}};
  while (source.numbers_in(source.live("1").range).size() < 30) {
    std::string const key = std::to_string(source.size());
    if (source.live("1").range.contains(keyspan::token_of(cosmos_v2, key)))
      source.write(key);
    else
      source.write("38");
  }
  feed changes{source, {.page_size = 1}};
  auto const quiet = source.numbers_in(source.live("0").range).size();
  static_cast<void>(numbers_of(changes));
  std::size_t asked = 0;
  for (auto const& read : source.reads) asked += read.partition == "0" ? 1u : 0u;
  CHECK(asked == quiet + 1);
}

// --- following
// -------------------------------------------------------------------------------------

TEST_CASE("a feed that is followed asks again after the delay, and not before") {
  auto source = reviews_in(2, 0);
  source.write("redmond");
  keyspan::stop_source stop;
  jumping_clock clock;
  clock.meanwhile = [&] {
    if (clock.waits.size() == 3) source.write("seattle");
    if (clock.waits.size() == 5) stop.request_stop();
  };
  feed changes{source, {.stop = stop.token()}};
  std::vector<int> numbers;
  std::vector<instant::duration> when;
  keyspan::error why{errc::malformed};
  try {
    for (entry const& one : changes.follow(clock, 10s)) {
      numbers.push_back(one.number);
      when.push_back(clock.at - instant{});
    }
  } catch (keyspan::failed const& thrown) {
    why = thrown.error();
  }
  CHECK(why.to_text() == "stopped: the wait was stopped");
  CHECK(numbers == counted(0, 2));
  CHECK(when == std::vector<instant::duration>{0s, 30s});
  for (std::size_t i = 1; i < clock.waits.size(); ++i) CHECK(clock.waits[i] > clock.waits[i - 1]);
  CHECK(clock.waits.front() == 10s);
  CHECK(clock.waits.back() == 50s);
  CHECK(changes.cursor().parts.size() == 2);
}

TEST_CASE("a feed is followed until its deadline, and not slept over it") {
  auto source = reviews_in(2, 4);
  jumping_clock clock;
  feed changes{source, {.deadline = instant{} + 25s}};
  std::vector<int> numbers;
  keyspan::error why{errc::malformed};
  try {
    for (entry const& one : changes.follow(clock, 10s)) numbers.push_back(one.number);
  } catch (keyspan::failed const& thrown) {
    why = thrown.error();
  }
  CHECK(why.to_text() == "timed_out: the deadline of the feed has passed");
  CHECK(test::sorted(numbers) == counted(0, 4));
  CHECK(clock.waits == std::vector<instant::duration>{10s, 20s, 25s});
  CHECK(clock.now() == instant{} + 25s);
}

TEST_CASE("a loop that drains behind one that followed and failed asks every range") {
  keyspan::scripted_source<int, keyspan::cosmos_v2_scheme> source{cosmos_v2, 1};
  source.write("redmond", 1);
  jumping_clock clock;
  feed changes{source};
  REQUIRE(changes.open().has_value());
  source.fail_next(keyspan::error{errc::range_gone, "completing a split"});
  source.fail_topology(keyspan::error{errc::throttled});
  for (auto const& page : changes.follow(clock, 10s).pages())
    CHECK(page.error().code == errc::throttled);
  CHECK(std::ranges::distance(changes.items()) == 1);
  CHECK(clock.waits.empty());
}

TEST_CASE("a range that is busy for ever does not keep idle ones from being asked") {
  reviews_journal source{cosmos_v2, {*cosmos_v2.from_hex("20")}};
  std::string busy_key;
  std::string idle_key;
  for (int i = 0; busy_key.empty() || idle_key.empty(); ++i) {
    bool const is_left =
        source.live("0").range.contains(keyspan::token_of(cosmos_v2, std::to_string(i)));
    (is_left ? busy_key : idle_key) = std::to_string(i);
  }
  jumping_clock clock;
  keyspan::stop_source stop;
  std::size_t idle_asked = 0;
  source.before_read = [&] {
    clock.at += 1s;  // a read takes its time
    source.write(busy_key);
    idle_asked += source.reads.back().partition == "1" ? 1u : 0u;
    if (source.reads.size() == 50) source.write(idle_key);
    if (source.reads.size() == 100) stop.request_stop();
  };
  feed changes{source, {.page_size = 1, .stop = stop.token()}};
  bool is_idle_seen = false;
  for (auto const& page : changes.follow(clock, 5s).pages()) {
    if (!page) {
      CHECK(page.error().code == errc::stopped);
      break;
    }
    for (entry const& one : page->items) is_idle_seen = is_idle_seen || one.key == idle_key;
  }
  CHECK(is_idle_seen);
  CHECK(clock.waits.empty());  // there always was something to do
  CHECK(idle_asked >= 14);     // once in about 6 seconds of 100
  CHECK(idle_asked <= 20);
}

TEST_CASE("following begins by asking every range, also those that were idle a moment ago") {
  auto source = reviews_in(3, 9);
  jumping_clock clock;
  feed changes{source};
  CHECK(numbers_of(changes).size() == 9);  // drained: all are idle
  source.write_many(1);
  for (entry const& one : changes.follow(clock, 1h)) {
    CHECK(one.number == 9);
    break;
  }
  CHECK(clock.waits.empty());
  // And a loop that drains asks those again that the other one would have waited for.
  CHECK(numbers_of(changes) == std::vector{9});
  CHECK(clock.waits.empty());
}

TEST_CASE("a feed is followed through splits, and what is split while it is idle waits as it did") {
  auto source = reviews_in(2, 10);
  jumping_clock clock;
  keyspan::stop_source stop;
  clock.meanwhile = [&] {
    std::size_t const waits = clock.waits.size();
    if (waits == 2) source.split_in_half("0");
    if (waits == 4) source.merge("3", "1");
    if (waits == 12) stop.request_stop();
    source.write_many(3);
  };
  feed changes{source, {.stop = stop.token()}};
  std::vector<int> numbers;
  for (auto const& page : changes.follow(clock, 1s).pages())
    if (page)
      for (entry const& one : page->items) numbers.push_back(one.number);
  CHECK(sorted(numbers) == counted(0, static_cast<int>(source.size()) - 3));
  CHECK(keeps_order_of_keys(source, numbers));
}

TEST_CASE("a delay that reaches behind the end of time waits until then") {
  auto source = reviews_in(1, 1);
  jumping_clock clock;
  clock.at = instant{} + 1s;
  keyspan::stop_source stop;
  clock.meanwhile = [&] { stop.request_stop(); };
  feed changes{source, {.stop = stop.token()}};
  for (auto const& page : changes.follow(clock, (instant::duration::max)()).pages())
    if (!page) CHECK(page.error().code == errc::stopped);
  CHECK(clock.waits == std::vector<instant::duration>{(instant::duration::max)()});
}

TEST_CASE("an error of the clock ends the loop") {
  struct broken_clock : jumping_clock {
    keyspan::ready<keyspan::result<void>> wait_until(instant, keyspan::stop_token) {
      return {keyspan::result<void>{keyspan::fail(errc::unavailable, "the clock has stopped")}};
    }
  };
  auto source = reviews_in(1, 1);
  broken_clock clock;
  feed changes{source};
  int pages_seen = 0;
  for (auto const& page : changes.follow(clock, 1s).pages())
    if (page)
      ++pages_seen;
    else
      CHECK(page.error().to_text() == "unavailable: the clock has stopped");
  CHECK(pages_seen == 1);
}

TEST_CASE("a feed is followed with a delay") {
  auto source = reviews_in(1, 1);
  jumping_clock clock;
  feed changes{source};
  CHECK(test::promise_broken_by([&] { return changes.follow(clock, 0s).begin()->number; }) ==
        "a feed is followed with a delay above 0");
}

// --- stopping
// --------------------------------------------------------------------------------------

TEST_CASE("a feed that is stopped asks nothing more, and goes on where it stood by its cursor") {
  auto source = reviews_in(2, 30);
  keyspan::stop_source stop;
  feed changes{source, {.stop = stop.token()}};
  std::vector<int> numbers;
  keyspan::error why{errc::malformed};
  try {
    for (entry const& one : changes) {
      numbers.push_back(one.number);
      if (numbers.size() == 7) stop.request_stop();
    }
  } catch (keyspan::failed const& thrown) {
    why = thrown.error();
  }
  CHECK(why.to_text() == "stopped: the reading of the feed was stopped");
  CHECK(numbers.size() == 9);  // to the end of the page
  std::size_t const reads = source.reads.size();
  CHECK(changes.open().has_value());  // it is open, so nothing has to be asked
  for (auto const& page : changes.pages()) CHECK(page.error() == why);
  CHECK(source.reads.size() == reads);
  feed resumed{source, {.start = changes.cursor()}};
  for (entry const& one : resumed) numbers.push_back(one.number);
  CHECK(sorted(numbers) == counted(0, 30));
}

}  // namespace
