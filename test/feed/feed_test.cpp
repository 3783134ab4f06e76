// test/feed/feed_test.cpp — a feed from its beginning to its end: where it starts, what it gives
// while partitions split under it, where it stands, and what happens when something fails.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/divide.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/token_range.hpp>

#include "journal.hpp"

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::from_now;
using keyspan::from_time;
using keyspan::partition_key;
using keyspan::space_end;
using keyspan::token128;
using test::check;
using test::counted;
using test::entry;
using test::numbers_of;
using test::reviews_in;
using test::reviews_journal;
using test::sorted;

using reviews_feed = feed<reviews_journal>;
using position = keyspan::composite_cursor<token128>;

static_assert(std::movable<reviews_feed> && !std::copyable<reviews_feed>);
static_assert(std::ranges::input_range<reviews_feed> && !std::ranges::forward_range<reviews_feed>);
static_assert(!std::ranges::view<reviews_feed>);
static_assert(std::same_as<std::ranges::range_reference_t<reviews_feed>, entry&>);
// Nothing is had of a temporary.
template <class Feed>
concept gives_items = requires(Feed f) { static_cast<Feed&&>(f).items(); };
static_assert(gives_items<reviews_feed&> && !gives_items<reviews_feed>);

// What a loop over items threw.
template <class Loop>
keyspan::error failure_of(Loop&& loop) {
  try {
    loop();
  } catch (keyspan::failed const& thrown) {
    return thrown.error();
  }
  return keyspan::error{errc::malformed, "nothing was thrown"};
}

TEST_CASE("the example of feed reads as it should") {
  auto source = reviews_in(2, 0);
  source.write("redmond");
  source.write("seattle");
  auto const write = [&] { source.write("redmond"); };
  std::vector<int> seen;
  auto const handle = [&](entry const& change) { seen.push_back(change.number); };
  // [region: example]
  feed changes{source};
  for (entry const& change : changes) handle(change);  // until nothing is new
  auto const kept = changes.cursor();

  source.split_in_half("0");  // whatever happens meanwhile
  write();
  for (entry const& change : changes) handle(change);  // what was written since

  feed resumed{source, {.start = kept}};
  check(std::ranges::distance(resumed.items()) == 1);

  // An error comes in the last of the pages. The next loop tries again.
  source.read_errors.emplace_back(errc::throttled, "too much was asked");
  for (auto const& page : changes.pages())
    if (!page) check(page.error().code == errc::throttled);
  // [end: example]
  CHECK(seen.size() == 3);
  CHECK(seen.back() == 2);
}

TEST_CASE("a feed gives all that was written, once, and each key's entries in their order") {
  for (std::size_t const partitions : {1u, 2u, 3u, 7u, 20u}) {
    auto source = reviews_in(partitions, 100);
    feed changes{source};
    auto const numbers = numbers_of(changes);
    CHECK(sorted(numbers) == counted(0, 100));
    CHECK(keeps_order_of_keys(source, numbers));
    CHECK(numbers_of(changes).empty());
    source.write_many(5);
    CHECK(sorted(numbers_of(changes)) == counted(100, 105));
  }
}

TEST_CASE("nothing is asked before the first loop, and a page only when its first item is wanted") {
  auto source = reviews_in(1, 7);  // pages of 3, 3 and 1
  feed changes{source};
  auto const view = changes.items();
  static_cast<void>(changes.pages());
  CHECK(source.topologies.empty());
  CHECK(changes.routing() == nullptr);
  CHECK(changes.charge() == 0);

  auto item = view.begin();
  CHECK(source.topologies == std::vector<std::string>{"", "1"});
  std::vector<std::size_t> reads;
  for (; item != view.end(); ++item) reads.push_back(source.reads.size());
  CHECK(reads == std::vector<std::size_t>{1, 1, 1, 2, 2, 2, 3});
  CHECK(source.reads.size() == 4);  // the last one found nothing new
  CHECK(source.topologies.size() == 2);
  CHECK(changes.routing()->size() == 1);
}

TEST_CASE("ranges are read in turn, a page each") {
  auto source = reviews_in(3, 60);
  feed changes{source, {.page_size = 2}};
  for (auto const& page : changes.pages() | std::views::take(9)) CHECK(page.has_value());
  REQUIRE(source.reads.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(source.reads[i].partition == std::to_string(i % 3));
}

TEST_CASE("a feed begins at the beginning, at a moment, or now") {
  auto source = reviews_in(3, 30);
  feed whole{source, {.start = keyspan::from_beginning}};
  CHECK(sorted(numbers_of(whole)) == counted(0, 30));

  feed later{source, {.start = from_time{reviews_journal::time_of(20)}}};
  CHECK(sorted(numbers_of(later)) == counted(20, 30));
  for (auto const& part : later.cursor().parts) {  // the moment is kept beside the text
    CHECK(part.from.start() == keyspan::start_kind::time);
    CHECK(part.from.time() == reviews_journal::time_of(20));
  }

  feed news{source, {.start = from_now}};
  CHECK(numbers_of(news).empty());
  source.write_many(10);
  CHECK(sorted(numbers_of(news)) == counted(30, 40));
}

TEST_CASE("now is fixed in every range when a feed is opened") {
  auto source = reviews_in(4, 20);
  feed news{source, {.start = from_now}};
  REQUIRE(news.open().has_value());
  CHECK(source.reads.size() == 4);
  for (auto const& part : news.cursor().parts) CHECK_FALSE(part.from.is_start());
  CHECK(news.open().has_value());  // is open
  CHECK(source.reads.size() == 4);
  source.write_many(20);
  CHECK(sorted(numbers_of(news)) == counted(20, 40));
}

TEST_CASE("the first loop fixes now in every range before it gives anything") {
  auto source = reviews_in(3, 9);
  feed news{source, {.start = from_now}};
  source.before_read = [&] { source.write_many(17); };  // ahead of each answer
  std::vector<int> const numbers = numbers_of(news);
  REQUIRE(source.reads.size() >= 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(source.reads[i].from == from_now);
  // Each range begins behind what was there when it was asked, and at nothing later.
  for (auto const& part : news.cursor().parts) CHECK_FALSE(part.from.is_start());
  CHECK(numbers.empty());
}

TEST_CASE(
    "a range that splits while now is being fixed becomes its parts, which are fixed as well") {
  auto source = reviews_in(2, 20);
  feed news{source, {.start = from_now}};
  source.before_read = [&] {
    if (source.reads.size() == 2) source.split_in_half("1");
  };
  REQUIRE(news.open().has_value());
  CHECK(source.reads.size() == 4);  // 0, 1 that is gone, 2 and 3
  auto const cursor = news.cursor();
  REQUIRE(cursor.parts.size() == 3);
  for (auto const& part : cursor.parts) CHECK_FALSE(part.from.is_start());
  source.before_read = {};
  source.write_many(30);
  CHECK(sorted(numbers_of(news)) == counted(20, 50));
}

TEST_CASE("a feed that begins elsewhere than now asks for partitions alone when it is opened") {
  auto source = reviews_in(3, 9);
  feed changes{source};
  REQUIRE(changes.open().has_value());
  CHECK(source.reads.empty());
  CHECK(changes.routing()->size() == 3);
  CHECK(changes.cursor().parts.size() == 3);
  CHECK(sorted(numbers_of(changes)) == counted(0, 9));
}

TEST_CASE("opening a feed in the middle of a loop does not disturb it") {
  auto source = reviews_in(2, 20);
  feed changes{source};
  std::vector<int> numbers;
  for (entry const& one : changes) {
    numbers.push_back(one.number);
    CHECK(changes.open().has_value());
  }
  CHECK(sorted(numbers) == counted(0, 20));
  source.write_many(20);
  for (auto const& page : changes.pages()) {
    for (entry const& one : page->items) numbers.push_back(one.number);
    CHECK(changes.open().has_value());
  }
  CHECK(sorted(numbers) == counted(0, 40));
  // Nor does it take away what a loop was left at.
  source.write_many(10);
  for (entry const& one : changes) {
    numbers.push_back(one.number);
    CHECK(changes.open().has_value());
    break;
  }
  CHECK(changes.open().has_value());
  auto item = changes.begin();
  CHECK(item->number == numbers.back());
  for (++item; item != changes.end(); ++item) numbers.push_back(item->number);
  CHECK(sorted(numbers) == counted(0, 50));
}

TEST_CASE("a scope of one range gives what lies in it, whatever the partitions are") {
  auto source = reviews_in(5, 200);
  for (auto const& [lower, upper] : {std::pair{"", "20"}, {"08", "31"}, {"15", "1502"}}) {
    auto const scope = *range_from_hex(cosmos_v2, lower, upper);
    feed changes{source, {.scope = scope}};
    CHECK(sorted(numbers_of(changes)) == source.numbers_in(scope));
    for (auto const& read : source.reads) CHECK(scope.contains(read.range));
    source.reads.clear();
  }
}

TEST_CASE("a scope of one key reads one partition, and asks for that key") {
  auto source = reviews_in(8, 100);
  feed changes{source, {.scope = partition_key{"key 3"}}};
  auto const numbers = numbers_of(changes);
  CHECK(numbers.size() == 6);
  for (int const number : numbers) CHECK(source.at(number).key == "key 3");
  auto const token = keyspan::token_of(cosmos_v2, "key 3");
  for (auto const& read : source.reads) {
    CHECK(read.key == partition_key{"key 3"});
    CHECK(read.range.lower() == token);
    CHECK_FALSE(read.is_whole_partition);
    CHECK(source.live(read.partition).range.contains(token));
  }
  CHECK(changes.cursor().key == partition_key{"key 3"});
  CHECK(changes.cursor().parts.size() == 1);
}

TEST_CASE("a scope of a prefix gives all keys under it, and no others") {
  auto const scheme = keyspan::cosmos_multihash;
  auto source = test::evenly_divided_journal(scheme, 4);
  std::vector<int> wanted;
  for (int i = 0; i < 120; ++i) {
    std::string const tenant = "tenant " + std::to_string(i % 4);
    std::string const user = "user " + std::to_string(i % 3);
    int const number = source.write(partition_key{tenant, user, i}, tenant + "/" + user);
    if (i % 4 == 2) wanted.push_back(number);
  }
  // Partitions that begin in the midst of the tenant.
  auto const bounds = *keyspan::prefix_bounds(scheme, partition_key{"tenant 2"}, 3);
  keyspan::token_range const range{bounds};
  for (auto const& one : source.live())
    if (one.range.contains(range)) {
      auto const id = one.id;
      source.split_at(id, {source.token_at(wanted[3])});
      break;
    }
  using keyspan::key_prefix;
  feed changes{source, {.scope = key_prefix{partition_key{"tenant 2"}, 3}}};
  CHECK(sorted(numbers_of(changes)) == wanted);
  CHECK(changes.cursor().parts.size() == 2);
  CHECK_FALSE(changes.cursor().key.has_value());

  feed user{source, {.scope = key_prefix{partition_key{"tenant 2", "user 1"}, 3}}};
  for (int const number : numbers_of(user)) CHECK(source.at(number).key == "tenant 2/user 1");
}

TEST_CASE("a feed reads a container whose scheme is chosen at run time") {
  for (keyspan::any_scheme const scheme :
       {keyspan::any_scheme{keyspan::cosmos_v1}, keyspan::any_scheme{cosmos_v2},
        keyspan::any_scheme{keyspan::cosmos_multihash}}) {
    auto source = test::evenly_divided_journal(scheme, 3);
    source.write_many(50);
    feed changes{source, {.page_size = 4}};
    auto item = changes.begin();
    for (int i = 0; i < 9; ++i) ++item;
    source.split_in_half("0");
    source.split_in_half("2");
    std::vector<int> numbers;
    for (auto const& one : changes) numbers.push_back(one.number);
    CHECK(numbers.size() == 41);
    CHECK(changes.cursor().scheme == scheme.name());
    feed one_key{source, {.scope = partition_key{"key 3"}}};
    CHECK(numbers_of(one_key).size() == 3);
    feed resumed{source, {.start = changes.cursor()}};
    CHECK(numbers_of(resumed).empty());
  }
}

TEST_CASE("tokens may be small integers") {
  auto source = test::evenly_divided_journal(keyspan::redis_cluster, 3);
  source.write_many(60);
  feed changes{source};
  CHECK(std::ranges::distance(changes.items() | std::views::take(25)) == 25);
  source.split_in_half("1");
  source.merge("0", "3");
  auto const rest = numbers_of(changes);
  CHECK(rest.size() >= 35);
  CHECK(keeps_order_of_keys(source, rest));
  keyspan::token_range<std::uint16_t> const half{0, std::uint16_t{8192}};
  feed lower{source, {.scope = half}};
  CHECK(sorted(numbers_of(lower)) == source.numbers_in(half));
}

TEST_CASE("a loop that was left goes on with the item that it was left at") {
  auto source = reviews_in(1, 10);
  feed changes{source};
  std::vector<int> numbers;
  for (entry const& one : changes) {
    if (one.number == 4) break;
    numbers.push_back(one.number);
  }
  CHECK(numbers == counted(0, 4));
  std::size_t const reads = source.reads.size();
  auto again = changes.begin();
  CHECK(again->number == 4);
  CHECK(source.reads.size() == reads);  // of the page that is there
  CHECK(numbers_of(changes) == counted(4, 10));
  CHECK(numbers_of(changes).empty());
}

TEST_CASE("a range whose last page a loop was left in is asked again by the next loop") {
  auto source = reviews_in(1, 2);
  source.tells_end_with_items = true;
  feed changes{source};
  for (entry const& one : changes) {
    CHECK(one.number == 0);
    break;
  }
  source.write_many(2);  // behind the page that said there was nothing more
  CHECK(numbers_of(changes) == counted(0, 4));
  CHECK(source.reads.size() == 2);
}

TEST_CASE("the cursor stands before a page until its last item is left behind") {
  auto source = reviews_in(1, 7);
  feed changes{source};
  CHECK(changes.cursor().parts.size() == 1);
  CHECK(changes.cursor().parts[0].from == keyspan::from_beginning);
  std::vector<std::string> stood;
  for (entry const& one : changes) {
    static_cast<void>(one);
    stood.push_back(changes.cursor().parts[0].from.to_text());
  }
  std::string const start = "from the beginning";
  CHECK(stood == std::vector<std::string>{start, start, start, "behind 3", "behind 3", "behind 3",
                                          "behind 6"});
  CHECK(changes.cursor().parts[0].from.text() == "7");
}

TEST_CASE("in a loop over pages the cursor stands behind the page that was handed out") {
  auto source = reviews_in(1, 7);
  feed changes{source};
  std::vector<std::string> stood;
  for (auto const& page : changes.pages()) {
    REQUIRE(page.has_value());
    stood.push_back(changes.cursor().parts[0].from.text());
    CHECK(changes.range() == keyspan::whole_space(cosmos_v2));
  }
  CHECK(stood == std::vector<std::string>{"3", "6", "7"});
  for (auto const& page : changes.pages()) FAIL_CHECK("nothing is new " << page.has_value());
}

TEST_CASE("a page that a loop over items was left in comes again, whole, as a page") {
  auto source = reviews_in(1, 10);
  feed changes{source};
  for (entry const& one : changes)
    if (one.number == 4) break;
  std::vector<int> firsts;
  for (auto const& page : changes.pages()) {
    firsts.push_back(page->items.front().number);
    CHECK(page->items.size() <= 3);
  }
  CHECK(firsts == std::vector<int>{3, 6, 9});

  // A page that was handed out is not gone through again as items.
  source.write_many(6);
  for (auto const& page : changes.pages()) {
    CHECK(page->items.front().number == 10);
    break;
  }
  CHECK(numbers_of(changes) == counted(13, 16));
}

TEST_CASE("whoever goes on from a kept cursor repeats a page at most, and loses nothing") {
  for (int stop_at = 0; stop_at < 40; ++stop_at) {
    auto source = reviews_in(3, 40);
    position kept;
    std::vector<int> done;
    {
      feed changes{source};
      for (entry const& one : changes) {
        done.push_back(one.number);
        kept = changes.cursor();
        if (static_cast<int>(done.size()) > stop_at) break;
      }
    }
    feed resumed{source, {.start = kept}};
    auto const rest = numbers_of(resumed);
    std::vector<int> all = done;
    std::size_t repeated = 0;
    for (int const number : rest) {
      if (std::find(done.begin(), done.end(), number) != done.end()) ++repeated;
      all.push_back(number);
    }
    CHECK(repeated >= 1);  // the item at hand was not left behind
    CHECK(repeated <= 3);
    all = sorted(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    CHECK(all == counted(0, 40));
  }
}

TEST_CASE("a feed goes on from a cursor after splits and merges, clamped to what was asked") {
  auto source = reviews_in(4, 80);
  auto const scope = *range_from_hex(cosmos_v2, "08", "2C");
  position kept;
  std::vector<int> numbers;
  {
    feed changes{source, {.scope = scope}};
    for (auto const& page : changes.pages() | std::views::take(6)) {
      for (entry const& one : page->items) numbers.push_back(one.number);
      kept = changes.cursor();
    }
  }
  source.merge("0", "1");     // 4
  source.merge("4", "2");     // 5
  source.split_in_half("5");  // 6, 7
  source.split_in_half("3");
  source.write_many(40);
  source.reads.clear();
  feed resumed{source, {.start = kept}};
  for (int const number : numbers_of(resumed)) numbers.push_back(number);
  CHECK(sorted(numbers) == source.numbers_in(scope));
  CHECK(keeps_order_of_keys(source, numbers));
  for (auto const& read : source.reads) CHECK(scope.contains(read.range));
}

TEST_CASE("a cursor brings its mode and its key, and a scope beside it narrows its ranges") {
  auto source = reviews_in(3, 60);
  using keyspan::feed_mode;
  feed first{source,
             {.mode = feed_mode::all_versions_and_deletes, .scope = partition_key{"key 3"}}};
  REQUIRE(first.open().has_value());
  feed resumed{source, {.start = first.cursor()}};
  for (int const number : numbers_of(resumed)) CHECK(source.at(number).key == "key 3");
  CHECK(source.reads.back().mode == feed_mode::all_versions_and_deletes);
  CHECK(source.reads.back().key == partition_key{"key 3"});

  feed all{source};
  REQUIRE(all.open().has_value());
  auto const part = *range_from_hex(cosmos_v2, "10", "30");
  feed narrowed{source, {.start = all.cursor(), .scope = part}};
  CHECK(sorted(numbers_of(narrowed)) == source.numbers_in(part));
  feed to_key{source, {.start = all.cursor(), .scope = partition_key{"key 5"}}};
  for (int const number : numbers_of(to_key)) CHECK(source.at(number).key == "key 5");
  CHECK(source.reads.back().key == partition_key{"key 5"});
}

TEST_CASE("a cursor whose ranges begin now beside others fixes now first") {
  auto source = reviews_in(4, 40);
  feed whole{source};
  REQUIRE(whole.open().has_value());
  auto mixed = whole.cursor();
  mixed.parts[1].from = from_now;
  mixed.parts[3].from = from_now;
  feed resumed{source, {.start = mixed}};
  REQUIRE(resumed.open().has_value());
  REQUIRE(source.reads.size() == 2);
  CHECK(source.reads[0].partition == "1");
  CHECK(source.reads[1].partition == "3");
  source.write_many(20);
  auto wanted = source.numbers_in(mixed.parts[0].range);
  for (auto const number : source.numbers_in(mixed.parts[2].range)) wanted.push_back(number);
  for (std::size_t const i : {1u, 3u})
    for (auto const number : source.numbers_in(mixed.parts[i].range, 40)) wanted.push_back(number);
  CHECK(sorted(numbers_of(resumed)) == sorted(wanted));
}

// --- partitions that change under the reader
// -------------------------------------------------------

TEST_CASE("a range that is gone is replaced by its parts, each going on from where it stood") {
  auto source = reviews_in(2, 40);
  feed changes{source};
  std::vector<int> numbers;
  for (auto const& page : changes.pages()) {
    REQUIRE(page.has_value());
    for (entry const& one : page->items) numbers.push_back(one.number);
    if (source.reads.size() == 3) source.split_in_half("0");
    if (source.reads.size() == 9) source.merge("3", "1");
  }
  CHECK(sorted(numbers) == counted(0, 40));
  CHECK(keeps_order_of_keys(source, numbers));
  CHECK(changes.routing()->size() == 2);
  CHECK(changes.routing()->find("4") != nullptr);
}

TEST_CASE(
    "whatever splits and merges, nothing is lost, nothing comes twice, keys keep their order") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    test::random draw{seed};
    auto source = reviews_in(static_cast<std::size_t>(draw.between(1, 6)), 0);
    auto const change_something = [&] {
      if (draw.chance(25)) {
        auto const& some = draw.pick(source.live());
        std::string const id = some.id;
        if (cosmos_v2.midpoint(some.range.lower(), some.range.upper())) source.split_in_half(id);
      } else if (draw.chance(20) && source.live().size() > 1) {
        auto const i = static_cast<std::size_t>(draw.below(source.live().size() - 1));
        std::string const left = source.live()[i].id;
        std::string const right = source.live()[i + 1].id;
        source.merge(left, right);
      }
      if (draw.chance(50)) source.write_many(static_cast<int>(draw.between(1, 7)));
    };
    source.write_many(static_cast<int>(draw.between(1, 90)));
    source.tells_end_with_items = draw.chance(50);
    std::size_t most_parts = 0;
    // Ahead of each answer the world may be another one, for the first 120 of them.
    source.before_read = [&] {
      if (source.reads.size() < 120) change_something();
      if (draw.chance(10)) source.read_errors.emplace_back(draw.pick(keyspan::all_errc), "odd");
    };
    auto whole = keyspan::whole_space(cosmos_v2);
    if (draw.chance(40)) whole = *range_from_hex(cosmos_v2, "0A", "31");
    reviews_feed changes{source,
                         {.scope = whole, .page_size = static_cast<std::uint32_t>(draw.below(5))}};
    std::vector<int> numbers;
    for (int loop = 0; loop < 4000; ++loop) {
      if (loop > 0 && draw.chance(15))  // goes on from a cursor, as another process would
        changes = reviews_feed{source, {.start = changes.cursor()}};
      for (auto const& page : changes.pages()) {
        if (!page) break;
        for (entry const& one : page->items) numbers.push_back(one.number);
        most_parts = (std::max)(most_parts, changes.cursor().parts.size());
        if (draw.chance(3)) break;
      }
      if (source.reads.size() > 120 && numbers.size() == source.numbers_in(whole).size()) break;
    }
    INFO("seed " << seed);
    CHECK(sorted(numbers) == source.numbers_in(whole));
    CHECK(keeps_order_of_keys(source, numbers));
    auto parts = changes.cursor().parts;
    std::sort(parts.begin(), parts.end(),
              [](auto const& a, auto const& b) { return a.range < b.range; });
    CHECK(parts.front().range.lower() == whole.lower());
    CHECK(parts.back().range.upper() == whole.upper());
    for (std::size_t i = 1; i < parts.size(); ++i)
      CHECK(adjacent(parts[i - 1].range, parts[i].range));
    CHECK(most_parts < 200);
  }
}

TEST_CASE("a range that stays gone is told of after 16 questions, and the cursor has not moved") {
  auto source = reviews_in(2, 12);
  feed changes{source};
  auto const pages = changes.pages();
  auto page = pages.begin();
  CHECK((*page)->items.size() == 3);
  auto const before = changes.cursor();
  source.split_in_half("1");
  source.hides_changes = true;
  source.reads.clear();
  source.topologies.clear();
  ++page;
  REQUIRE_FALSE(page->has_value());
  CHECK((*page).error().to_text() == "range_gone: partition 1 is gone");
  CHECK(source.reads.size() == 17);
  CHECK(source.topologies.size() == 16);
  CHECK(changes.cursor() == before);
  ++page;
  CHECK(page == pages.end());

  CHECK(failure_of([&] { numbers_of(changes); }).code == errc::range_gone);
  CHECK(changes.cursor() == before);
  source.hides_changes = false;
  CHECK(numbers_of(changes).size() == 9);
}

TEST_CASE("pages in between begin the count of ranges that are gone anew") {
  auto source = reviews_in(1, 300);
  feed changes{source, {.page_size = 1}};
  keyspan::error const gone{errc::range_gone, "gone"};
  bool is_gone = false;
  source.before_read = [&] {
    if (std::exchange(is_gone, !is_gone)) source.read_errors.push_back(gone);
  };
  CHECK(numbers_of(changes).size() == 300);  // 300 times gone, never twice in a row
}

// --- errors
// ----------------------------------------------------------------------------------------

TEST_CASE("every error but one reaches the caller as it is, and the cursor has not moved") {
  for (errc const code : keyspan::all_errc) {
    if (code == errc::range_gone) continue;
    INFO(keyspan::name_of(code));
    auto source = reviews_in(2, 20);
    keyspan::error why{code, "what ", name_of(code), " says"};
    why.wire = {.status = 418, .substatus = 7, .attempts = 3, .retry_after_ms = 40, .charge = 2.5};
    feed changes{source};
    std::vector<int> numbers;
    position before;
    // By pages: the error is the last of them.
    for (auto const& page : changes.pages()) {
      if (!page) {
        CHECK(page.error() == why);
        CHECK(changes.cursor() == before);
        numbers.push_back(-1);
        continue;
      }
      REQUIRE((numbers.empty() || numbers.back() != -1));
      for (entry const& one : page->items) numbers.push_back(one.number);
      before = changes.cursor();
      if (source.reads.size() == 3) source.read_errors.push_back(why);
    }
    REQUIRE(numbers.back() == -1);
    numbers.pop_back();
    // By items: thrown. Where the source has moved on is where the cursor stands.
    source.read_errors.push_back(why);
    CHECK(failure_of([&] {
            for (entry const& one : changes) numbers.push_back(one.number);
          }) == why);
    CHECK(changes.cursor() == before);
    for (entry const& one : changes) numbers.push_back(one.number);
    CHECK(sorted(numbers) == counted(0, 20));
    CHECK(keeps_order_of_keys(source, numbers));
  }
}

TEST_CASE("an error in the midst of a loop over items is thrown behind the last item of a page") {
  auto source = reviews_in(1, 9);
  feed changes{source};
  std::vector<int> numbers;
  auto const why = failure_of([&] {
    for (entry const& one : changes) {
      numbers.push_back(one.number);
      if (one.number == 4) source.read_errors.emplace_back(errc::unavailable, "out for lunch");
    }
  });
  CHECK(why.to_text() == "unavailable: out for lunch");
  CHECK(numbers == counted(0, 6));
  CHECK(changes.cursor().parts[0].from.text() == "6");
  CHECK(numbers_of(changes) == counted(6, 9));
}

TEST_CASE(
    "every error of the topology reaches the caller, when a feed opens and when it refreshes") {
  for (errc const code : keyspan::all_errc) {
    INFO(keyspan::name_of(code));
    auto source = reviews_in(2, 20);
    keyspan::error const why{code, "the list cannot be had"};
    feed changes{source};
    source.topology_errors.push_back(why);
    CHECK(changes.open().error() == why);
    source.topology_errors.push_back(why);
    CHECK(failure_of([&] { numbers_of(changes); }) == why);
    auto page = changes.pages().begin();
    CHECK((*page)->items.size() == 3);
    auto const before = changes.cursor();
    source.split_in_half("1");
    source.topology_errors.push_back(why);
    ++page;
    CHECK((*page).error() == why);
    CHECK(changes.cursor() == before);
    CHECK(numbers_of(changes).size() == 17);
  }
}

TEST_CASE("a list of partitions that is not whole is an error, and the next loop reads it again") {
  auto source = reviews_in(2, 10);
  struct holed : reviews_journal {
    using reviews_journal::reviews_journal;
    bool is_holed = true;
    auto topology(std::string const& known) {
      auto answer = reviews_journal::topology(known);
      if (is_holed && answer.value && !answer.value->partitions.empty())
        answer.value->partitions.pop_back();
      return answer;
    }
  };
  holed broken{cosmos_v2, {cosmos_v2.boundary(1, 2)}};
  broken.write_many(10);
  feed changes{broken};
  auto const why = changes.open();
  REQUIRE_FALSE(why.has_value());
  CHECK(why.error().code == errc::gap);
  CHECK(failure_of([&] { numbers_of(changes); }).code == errc::gap);
  broken.is_holed = false;
  CHECK(sorted(numbers_of(changes)) == counted(0, 10));
}

TEST_CASE("a page that does not say where to go on is a bad response") {
  auto source = reviews_in(1, 5);
  source.pages.push_back({.items = {{"a", 1}}, .charge = 4});
  feed changes{source};
  auto const why = failure_of([&] { numbers_of(changes); });
  CHECK(why.to_text() ==
        "bad_response: the page of [\"\", FF) does not say where the next one begins");
  CHECK(changes.charge() == 4);  // it was paid for
  CHECK(changes.cursor().parts[0].from == keyspan::from_beginning);
  CHECK(numbers_of(changes) == counted(0, 5));
}

TEST_CASE("a source that gives items from now on has not understood") {
  auto source = reviews_in(2, 5);
  source.pages.push_back({.items = {{"a", 1}}, .continuation = "1"});
  feed news{source, {.start = from_now}};
  auto const why = news.open();
  REQUIRE_FALSE(why.has_value());
  CHECK(why.error().code == errc::bad_response);
  CHECK(why.error().to_text().view().starts_with(
      "bad_response: from now on there is nothing yet in [\"\", "));
  CHECK(news.open().has_value());
}

TEST_CASE("a text that was kept of another container is refused when it is read") {
  auto source = reviews_in(3, 9);
  feed original{source};
  REQUIRE(original.open().has_value());
  auto kept = original.cursor();
  CHECK(keyspan::cursor_of(source, kept.to_text()).value() == kept);
  kept.container = "articles";
  auto const refused = keyspan::cursor_of(source, kept.to_text());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().to_text() ==
        "wrong_container: the cursor was taken from container \"articles\", this one is "
        "\"reviews\"");
}

TEST_CASE("a cursor that does not fit is refused, naming what is wrong") {
  auto source = reviews_in(3, 9);
  feed original{source};
  REQUIRE(original.open().has_value());
  auto const sound = original.cursor();
  source.reads.clear();
  source.topologies.clear();

  struct misfit {
    keyspan::feed_request<token128> request;
    std::string says;
  };
  std::vector<misfit> misfits;
  auto other = sound;
  other.container = "articles";
  misfits.push_back({{.start = other},
                     "wrong_container: the cursor was taken from container \"articles\", this one "
                     "is \"reviews\""});
  other = sound;
  other.scheme = "cosmos_v1";
  misfits.push_back({{.start = other},
                     "scheme_mismatch: the cursor's tokens are of scheme cosmos_v1, the source's "
                     "of cosmos_v2"});
  other = sound;
  other.parts[2].range = {*cosmos_v2.from_hex("10"), space_end};
  misfits.push_back({{.start = other}, "overlap: two parts both read "});
  other = sound;
  other.parts[1] = other.parts[0];
  misfits.push_back({{.start = other}, "overlap: two parts both read \"\" to "});
  other = sound;
  other.key = partition_key{"redmond"};
  misfits.push_back({{.start = other, .scope = partition_key{"seattle"}},
                     "key_mismatch: the cursor reads one key, and the scope names another"});
  other = sound;
  other.parts.erase(other.parts.begin() + 1, other.parts.end());
  misfits.push_back({{.start = other, .scope = *range_from_hex(cosmos_v2, "38", "FF")},
                     "invalid_range: the cursor has no token in common with the scope"});
  other.parts.clear();
  misfits.push_back(
      {{.start = other}, "invalid_range: the cursor has no token in common with the scope"});
  misfits.push_back({{.scope = keyspan::key_prefix{partition_key{"redmond"}, 2}},
                     "key_mismatch: too few values: the key has 1, its container 2 paths, and only "
                     "a hierarchical key has prefixes"});
  for (misfit const& one : misfits) {
    INFO(one.says);
    feed changes{source, one.request};
    auto const opened = changes.open();
    REQUIRE_FALSE(opened.has_value());
    CHECK(std::string{opened.error().to_text()}.starts_with(one.says));
    CHECK(failure_of([&] { numbers_of(changes); }) == opened.error());
    int pages = 0;
    for (auto const& page : changes.pages()) {
      ++pages;
      CHECK((!page && page.error() == opened.error()));
    }
    CHECK(pages == 1);
  }
  CHECK(source.reads.empty());
  CHECK(source.topologies.empty());  // nothing was asked
}

TEST_CASE("the cursor of a feed says of which container and scheme it is, and of what it reads") {
  auto source = reviews_in(2, 4);
  feed changes{source, {.mode = keyspan::feed_mode::all_versions_and_deletes}};
  auto const cursor = changes.cursor();
  CHECK(cursor.container == "reviews");
  CHECK(cursor.scheme == "cosmos_v2");
  CHECK(cursor.mode == keyspan::feed_mode::all_versions_and_deletes);
  CHECK_FALSE(cursor.key.has_value());
  REQUIRE(cursor.parts.size() == 1);
  CHECK(cursor.parts[0].range == keyspan::whole_space(cosmos_v2));
}

TEST_CASE("the range that is read next comes first in the cursor") {
  auto source = reviews_in(3, 40);
  feed changes{source};
  int pages = 0;
  for (auto const& page : changes.pages()) {
    REQUIRE(page.has_value());
    auto const next = changes.cursor().parts.front().range;
    std::size_t const reads = source.reads.size();
    if (++pages == 5) {
      feed resumed{source, {.start = changes.cursor()}};
      REQUIRE(resumed.pages().begin() != std::default_sentinel);
      CHECK(source.reads[reads].range == next);
      break;
    }
  }
}

TEST_CASE("the charge of a list of partitions that failed is summed up as well") {
  keyspan::scripted_source<int, keyspan::cosmos_v2_scheme> source{cosmos_v2, 2};
  keyspan::error why{errc::unavailable};
  why.wire.charge = 7;
  source.fail_topology(why);
  feed changes{source};
  CHECK_FALSE(changes.open().has_value());
  CHECK(changes.charge() == 7);
}

TEST_CASE("charges of pages and errors are summed up") {
  auto source = reviews_in(1, 4);  // two pages, then nothing new: a charge of 1 each
  feed changes{source};
  CHECK(numbers_of(changes).size() == 4);
  CHECK(changes.charge() == 3);
  source.split_in_half("0");  // one that is gone: 0.25, and two that have nothing
  CHECK(numbers_of(changes).empty());
  CHECK(changes.charge() == 5.25);
  keyspan::error throttled{errc::throttled, "too much"};
  throttled.wire.charge = 10;
  source.read_errors.push_back(throttled);
  CHECK(failure_of([&] { numbers_of(changes); }) == throttled);
  CHECK(changes.charge() == 15.25);
}

TEST_CASE("what users throw passes through, and the feed goes on where it stood") {
  struct odd {};
  struct throwing : reviews_journal {
    using reviews_journal::reviews_journal;
    auto read(range_type const& range, keyspan::continuation const& from,
              keyspan::read_request const& request) {
      if (throws) throw odd{};
      return reviews_journal::read(range, from, request);
    }
    bool throws = false;
  };
  throwing source{cosmos_v2};
  source.write_many(7);
  feed changes{source};
  std::vector<int> numbers;
  CHECK_THROWS_AS(
      [&] {
        for (entry const& one : changes) {
          numbers.push_back(one.number);
          source.throws = numbers.size() >= 4;
        }
      }(),
      odd);
  source.throws = false;
  for (entry const& one : changes) numbers.push_back(one.number);
  CHECK(numbers == counted(0, 7));
}

// --- moving
// ----------------------------------------------------------------------------------------

TEST_CASE("moving a feed keeps what it gave out valid") {
  auto source = reviews_in(1, 9);
  feed first{source};
  auto const view = first.items();
  auto item = view.begin();
  ++item;
  feed second{std::move(first)};
  CHECK(item->number == 1);
  ++item;
  std::vector<reviews_feed> kept;
  kept.push_back(std::move(second));
  ++item;
  CHECK(item->number == 3);
  CHECK(numbers_of(view) == counted(3, 9));
  CHECK(kept.front().cursor().parts[0].from.text() == "9");
}

TEST_CASE("a loop over a source that allocates nothing allocates nothing") {
  // Items that lie there, and continuations that are short.
  struct ready_made {
    using scheme_type = keyspan::cosmos_v2_scheme;
    using page_type = keyspan::page<int, std::span<int const>>;
    std::string_view container() const { return "numbers"; }
    scheme_type scheme() const { return cosmos_v2; }
    keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<token128> const&,
                                                    keyspan::continuation const& from,
                                                    keyspan::read_request const&) {
      std::size_t const at = from.is_start() ? 0 : std::stoul(from.text());
      keyspan::result<page_type> made{std::in_place};
      made->nothing_new = at == 1000;
      if (!made->nothing_new) made->items = items;
      char digits[8];
      char* end = digits + 8;
      char* first = end;
      for (auto n = made->nothing_new ? at : at + 1; n > 0; n /= 10)
        *--first = static_cast<char>('0' + n % 10);
      made->continuation.assign(first, end);
      return {std::move(made)};
    }
    keyspan::ready<keyspan::result<keyspan::partition_page<token128>>> topology(
        std::string const& known) {
      keyspan::partition_page<token128> made{};
      if (known.empty()) {
        made.partitions.push_back({"0", keyspan::whole_space(cosmos_v2), {}});
        made.version = "1";
      } else {
        made.not_modified = true;
      }
      return {keyspan::result<keyspan::partition_page<token128>>{std::move(made)}};
    }
    std::vector<int> items = counted(0, 10);
  };
  ready_made source;
  feed changes{source};
  int sum = 0;
  auto item = changes.begin();  // the first page and the list are there
  CHECK(test::allocations_in([&] {
          for (int i = 0; i < 4000; ++i, ++item) sum += *item;
        }) == 0);
  auto const pages = changes.pages();
  CHECK(test::allocations_in([&] {
          for (auto const& page : pages)
            for (int const one : page->items) sum += one;
        }) == 0);
  CHECK(sum == 1000 * 45);
}

TEST_CASE("a feed shows what it knows and where it stands to who drives its ranges") {
  auto source = reviews_in(3, 30);
  feed changes{source, {.page_size = 4}};
  CHECK(changes.progress().routing() == nullptr);
  for (entry const& one : changes) {
    static_cast<void>(one);
    break;
  }
  CHECK(changes.progress().size() == 3);
  CHECK(changes.progress().routing() == changes.routing());
  CHECK(changes.progress().cursor() == changes.cursor());
}

}  // namespace
