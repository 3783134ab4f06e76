// test/merge/merged_cursor_test.cpp — where a merge stands: to the item, in every order, whatever
// became of the partitions; and its text.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/merged_feeds.hpp>
#include <keyspan/merge/order_value.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_image.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>

#include "resumption.hpp"
#include "shelves.hpp"
#include "worlds.hpp"

#include <feed/journal.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::as_they_come;
using keyspan::ascending;
using keyspan::by_time;
using keyspan::cosmos_v2;
using keyspan::descending;
using keyspan::distinct_by;
using keyspan::errc;
using keyspan::identified_by;
using keyspan::on_failure;
using keyspan::round_robin;
using keyspan::token128;
using test::all_manners;
using test::all_of_it;
using test::check;
using test::entry;
using test::journals;
using test::kept_cursor;
using test::manner;
using test::read_merged;
using test::reading;
using test::reviews_in;
using test::reviews_journal;
using test::sorted;
using test::take_from;

constexpr auto number = [](entry const& one) { return one.number; };
constexpr auto group = [](entry const& one) { return one.number / 6; };
constexpr auto group_downwards = [](entry const& one) { return -one.number / 6; };
constexpr auto clock_gone_back = [](entry const& one) { return one.number * 7 % 11; };
constexpr auto place_in_group = [](entry const& one) { return one.number % 6; };
// All have the same first eight bytes.
constexpr auto text = [](entry const& one) {
  return "customer " + std::to_string(1000 + one.number / 3);
};
constexpr auto place_in_text = [](entry const& one) { return one.number % 3; };

// What becomes of the partitions between two merges.
using change = void (*)(journals&);
constexpr change nothing = [](journals&) {};
constexpr change a_split = [](journals& all) { all.front().split_in_half("1"); };
constexpr change a_merge = [](journals& all) { all.front().merge("0", "1"); };
constexpr change many = [](journals& all) {
  auto const id = [&](std::size_t at) { return all.front().live()[at].id; };
  all.front().split_in_half(id(2));
  all.front().merge(id(1), id(2));
  for (auto& one : all) one.split_in_half(one.live().front().id);
};

std::vector<int> all_of(journals sources, auto const& order, reading how) {
  std::vector<int> given;
  read_merged(sources, order, how, {}, all_of_it, given);
  return given;
}

journals one_of(int entries) { return {reviews_in(3, entries)}; }
journals three_of(int entries) {
  return {reviews_in(3, entries), reviews_in(1, entries / 3), reviews_in(2, entries / 2)};
}

bool holds_the_same(std::vector<int> const& a, std::vector<int> const& b) {
  return sorted(a) == sorted(b);
}

// Takes n items, goes on elsewhere, and says how the two together differ.
template <class Order>
std::vector<int> resumed(journals sources, Order const& order, reading first, reading second,
                         std::size_t n, change become) {
  std::vector<int> given;
  auto const kept = read_merged(sources, order, first, {}, n, given);
  become(sources);
  read_merged(sources, order, second, kept, all_of_it, given);
  return given;
}

template <class Order>
void goes_on_from_everywhere(journals const& sources, Order const& order, bool is_exact) {
  auto const whole = all_of(sources, order, {});
  test::random rng{7};
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    for (manner const by : all_manners) {
      reading const first{by, 3, 1 + rng.below(9), rng.chance(50)};
      reading const second{all_manners[rng.below(4)], 3, 1 + rng.below(9), rng.chance(50)};
      auto const same = resumed(sources, order, first, second, n, nothing);
      INFO(n << " by " << static_cast<int>(by));
      CHECK((is_exact ? same == whole : holds_the_same(same, whole)));
      change const becomes[] = {a_split, a_merge, many};
      change const become = becomes[(n + static_cast<std::size_t>(by)) % 3];
      CHECK(holds_the_same(resumed(sources, order, first, second, n, become), whole));
      reading other = second;
      other.page_size = static_cast<std::uint32_t>(1 + rng.below(9));
      auto const paged = resumed(sources, order, first, other, n, nothing);
      CHECK((is_exact ? paged == whole : holds_the_same(paged, whole)));
      if (n % 2 == 0) CHECK(holds_the_same(resumed(sources, order, first, other, n, many), whole));
    }
  }
}

TEST_CASE("a merge goes on from every item: by columns, told apart by identity") {
  goes_on_from_everywhere(one_of(40), identified_by(ascending(group), number), true);
  goes_on_from_everywhere(
      three_of(30),
      identified_by(ascending(group), [](entry const& one) { return std::pair{one.number, 0}; }),
      true);
  goes_on_from_everywhere(one_of(40), identified_by(descending(group_downwards), number), true);
}

TEST_CASE("a merge goes on from every item: by columns of which no two items are alike") {
  goes_on_from_everywhere(one_of(40), ascending(number), true);
  goes_on_from_everywhere(one_of(40), descending([](entry const& one) { return -one.number; }),
                          true);
}

TEST_CASE("a merge goes on from every item: by columns of more than what a word tells") {
  goes_on_from_everywhere(one_of(30), identified_by(ascending(text), number), true);
  // What tells items apart that are equal by the order need not do so for others.
  goes_on_from_everywhere(one_of(30), identified_by(ascending(text), place_in_text), true);
  goes_on_from_everywhere(
      one_of(30),
      identified_by(ascending(group).then(ascending([](entry const& one) { return one.number; })),
                    [](entry const&) { return 0; }),
      true);
}

TEST_CASE("a merge goes on from every item: by time") {
  goes_on_from_everywhere(one_of(40), identified_by(by_time(clock_gone_back), number), true);
  goes_on_from_everywhere(three_of(24), identified_by(by_time(clock_gone_back), number), true);
  goes_on_from_everywhere(one_of(30),
                          identified_by(by_time(number), [](entry const&) { return 0; }), true);
}

TEST_CASE("a merge goes on from every item: in turn") {
  goes_on_from_everywhere(one_of(40), identified_by(round_robin, number), true);
  goes_on_from_everywhere(three_of(24), identified_by(round_robin, number), true);
}

TEST_CASE("a merge goes on from every item: as they come") {
  goes_on_from_everywhere(one_of(40), identified_by(as_they_come, number), false);
  goes_on_from_everywhere(three_of(24), identified_by(as_they_come, number), false);
}

// How often each number was given.
std::vector<int> counts(std::vector<int> const& given, std::size_t size) {
  std::vector<int> found(size, 0);
  for (int const one : given) ++found[static_cast<std::size_t>(one)];
  return found;
}

template <class Order, class Run>
void repeats_a_run_at_most(Order const& order, Run run, bool is_exact) {
  auto const sources = one_of(40);
  auto const whole = all_of(sources, order, {});
  bool has_repeated = false;
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (manner const by : all_manners) {
      reading const first{by, 3, 5, n % 2 == 0};
      auto const same = resumed(sources, order, first, {manner::loop, 4}, n, nothing);
      CHECK((is_exact ? same == whole : holds_the_same(same, whole)));
      for (change const become : {a_split, many}) {
        auto const given = resumed(sources, order, first, {manner::items, 2}, n, become);
        auto const often = counts(given, whole.size());
        for (std::size_t i = 0; i < often.size(); ++i) {
          CHECK(often[i] >= 1);
          CHECK(often[i] <= 2);
          if (often[i] < 2) continue;
          has_repeated = true;
          // Only what stands beside an item that was not given.
          CHECK(n < whole.size());
          CHECK(std::any_of(whole.begin() + static_cast<std::ptrdiff_t>(n), whole.end(),
                            [&](int next) { return run(next) == run(static_cast<int>(i)); }));
        }
      }
    }
  CHECK(has_repeated);
}

TEST_CASE(
    "without an identity a split repeats the run that the merge stood in, and loses nothing") {
  auto const run = [](int one) { return one / 6; };
  repeats_a_run_at_most(ascending(group), run, true);
  // Of more than the first column the cursor does not tell.
  repeats_a_run_at_most(ascending(group).then(ascending(place_in_group)), run, true);
}

TEST_CASE("without an identity and an order a split repeats the page, and loses nothing") {
  auto const all = [](int) { return 0; };
  repeats_a_run_at_most(by_time(clock_gone_back), all, true);
  repeats_a_run_at_most(round_robin, all, true);
  repeats_a_run_at_most(as_they_come, all, false);
}

// Three merges, each goes on where the one before it stood, which gave m items, or none.
template <class Order>
void goes_on_twice(journals const& at_first, Order const& order, bool is_exact) {
  auto const whole = all_of(at_first, order, {});
  test::random rng{9};
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (std::size_t const m : {0u, 1u, 2u, 4u, 7u})
      for (bool const has_split : {false, true}) {
        auto sources = at_first;
        auto const any = [&] {
          return reading{rng.pick(all_manners), static_cast<std::uint32_t>(1 + rng.below(8)),
                         1 + rng.below(9), rng.chance(50)};
        };
        std::vector<int> given;
        auto const first = read_merged(sources, order, any(), {}, n, given);
        if (has_split) a_split(sources);
        auto const second = read_merged(sources, order, any(), first, m, given);
        if (has_split) many(sources);
        auto const third = read_merged(sources, order, any(), second, m / 2, given);
        read_merged(sources, order, any(), third, all_of_it, given);
        INFO(n << ", " << m);
        CHECK((is_exact && !has_split ? given == whole : holds_the_same(given, whole)));
      }
}

TEST_CASE("a merge that was gone on with is gone on with again") {
  goes_on_twice(one_of(22), identified_by(ascending(group), number), true);
  goes_on_twice(one_of(20), identified_by(ascending(text), place_in_text), true);
  goes_on_twice(one_of(22), identified_by(by_time(clock_gone_back), number), true);
  goes_on_twice(one_of(22), identified_by(round_robin, number), true);
  goes_on_twice(one_of(22), identified_by(as_they_come, number), false);
  goes_on_twice(three_of(12), identified_by(ascending(group), number), true);
}

TEST_CASE("without an identity it goes on exactly as often as partitions stay") {
  auto const sources = one_of(30);
  auto const whole = all_of(sources, ascending(group), {});
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (std::uint32_t page = 1; page < 6; ++page) {
      auto world = sources;
      std::vector<int> given;
      auto const first = read_merged(world, ascending(group), {}, {}, n, given);
      auto const second =
          read_merged(world, ascending(group), {manner::items, page}, first, 2, given);
      read_merged(world, ascending(group), {manner::late, 6 - page}, second, all_of_it, given);
      CHECK(given == whole);
    }
}

// --- identities of items whose keys have much in common

// Goes on from every item of two partitions, in an order that tells three items of each key apart.
template <class Order>
void goes_on_by_loops(Order const& order) {
  journals const sources{reviews_in(2, 24)};
  auto at_once = sources;
  std::vector<int> whole;
  test::read_by_loop(at_once, order, 6, {}, all_of_it, whole);
  CHECK(whole.size() == 24);
  for (change const become : {nothing, a_split})
    for (std::size_t n = 0; n <= whole.size(); ++n) {
      auto world = sources;
      std::vector<int> given;
      auto const kept = test::read_by_loop(world, order, 6, {}, n, given);
      become(world);
      test::read_by_loop(world, order, 6, kept, all_of_it, given);
      INFO((become == a_split ? "split " : "from ") << n);
      CHECK(holds_the_same(given, whole));
    }
}
template <class Column>
void goes_on_by_column(Column column) {
  goes_on_by_loops(identified_by(ascending(column), place_in_text));
  goes_on_by_loops(distinct_by(ascending(column), place_in_text));
}

// One text for three items; all have the same first eight bytes.
std::string const& customer_of(entry const& one) {
  static auto const customers = [] {
    std::array<std::string, 8> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = "customer number " + std::to_string(i);
    return made;
  }();
  return customers[static_cast<std::size_t>(one.number / 3)];
}

TEST_CASE("an identity tells items of one text apart, and not of all that begin like it") {
  goes_on_by_column(customer_of);
}

TEST_CASE("an identity tells items of one value of mixed types apart, and of no other") {
  goes_on_by_column([](entry const& one) { return keyspan::order_value{customer_of(one)}; });
  goes_on_by_column([](entry const& one) { return keyspan::key_value{customer_of(one)}; });
}

TEST_CASE("an identity tells items of one text apart where texts may be missing") {
  goes_on_by_column([](entry const& one) { return std::optional{customer_of(one)}; });
}

TEST_CASE("an identity tells items of one key apart where keys differ behind their first word") {
  goes_on_by_column([](entry const& one) {
    std::array<std::byte, 16> bytes{};
    bytes.back() = static_cast<std::byte>(one.number / 3);
    return bytes;
  });
  __extension__ using wide = unsigned __int128;
  goes_on_by_column([](entry const& one) { return static_cast<wide>(one.number / 3); });
  goes_on_by_column([](entry const& one) { return std::pair{1.0, one.number / 3}; });
}

// --- what an order knows of a source that was gone on with

constexpr auto minute_of = [](entry const& one) { return std::stoi(one.key); };
void write_at(journals& all, std::size_t source, int minute) {
  all[source].write(keyspan::partition_key{"a"}, std::to_string(minute));
}
template <class Merged>
std::vector<int> minutes_of(Merged& merged) {
  std::vector<int> minutes;
  for (entry const& one : merged) minutes.push_back(minute_of(one));
  return minutes;
}

TEST_CASE("by time the parts of a source count as no earlier than it did, wherever it began") {
  auto const order = by_time(minute_of);
  for (bool const resumes : {false, true}) {
    INFO("resumes " << resumes);
    journals all{reviews_in(1, 0), reviews_in(1, 0)};
    write_at(all, 0, 40);
    write_at(all, 0, 20);  // counts as of 40
    write_at(all, 1, 45);
    auto feeds = test::feeds_of(all, 1);
    auto first = keyspan::merge(feeds, order);
    take_from(first, 1);
    auto merged =
        resumes ? keyspan::merge(feeds, order, first.cursor()) : keyspan::merge(feeds, order);
    CHECK(minutes_of(merged) == (resumes ? std::vector{20, 45} : std::vector{40, 20, 45}));
    write_at(all, 0, 60);
    CHECK(minutes_of(merged) == std::vector{60});
    all[0].split_in_half("0");
    write_at(all, 0, 50);  // counts as of 60
    write_at(all, 1, 55);
    CHECK(minutes_of(merged) == std::vector{55, 50});
  }
}

TEST_CASE("in turn the parts of a source go on with its turn, wherever it began") {
  for (bool const resumes : {false, true}) {
    INFO("resumes " << resumes);
    journals all{reviews_in(1, 0), reviews_in(1, 0)};
    auto const write = [&](int count) {
      for (; count > 0; --count)
        for (std::size_t source = 0; source < 2; ++source)
          write_at(all, source, static_cast<int>(source));
    };
    write(10);
    auto feeds = test::feeds_of(all, 1);
    auto first = keyspan::merge(feeds, round_robin);
    take_from(first, 2);
    auto merged = resumes ? keyspan::merge(feeds, round_robin, first.cursor())
                          : keyspan::merge(feeds, round_robin);
    CHECK(minutes_of(merged).size() == (resumes ? 18 : 20));
    all[0].split_in_half("0");
    write(6);
    CHECK(minutes_of(merged) == std::vector{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  }
}

TEST_CASE("the cursor of a part says what its source counted as, wherever that began") {
  auto const order = by_time(minute_of);
  journals all{reviews_in(1, 0)};
  write_at(all, 0, 40);
  write_at(all, 0, 20);
  auto feeds = test::feeds_of(all, 1);
  auto first = keyspan::merge(feeds, order);
  take_from(first, 1);
  auto merged = keyspan::merge(feeds, order, first.cursor());
  CHECK(minutes_of(merged) == std::vector{20});
  write_at(all, 0, 60);
  CHECK(minutes_of(merged) == std::vector{60});
  all[0].split_in_half("0");
  CHECK(minutes_of(merged).empty());
  auto const kept = merged.cursor();
  CHECK(kept.feeds.front().parts.size() == 2);
  for (auto const& part : kept.feeds.front().parts)
    CHECK(part.given.state == keyspan::sort_image<int>::of(60));
}

// --- behind an error, and behind pages without items

using keyed = test::placed<std::uint64_t>;

// The second source is not sorted: 30 stands behind 40.
test::sources_of<std::uint64_t> badly_sorted() {
  test::sources_of<std::uint64_t> items(2);
  for (std::uint64_t const key : {1U, 50U, 60U}) items[0].push_back({key, 0, 0});
  for (std::uint64_t const key : {10U, 40U, 30U, 45U, 70U}) items[1].push_back({key, 0, 0});
  test::number(items);
  return items;
}
std::vector<std::uint64_t> keys_in(std::vector<keyed> const& items) {
  std::vector<std::uint64_t> keys;
  for (keyed const& one : items) keys.push_back(one.key);
  return keys;
}

bool has_each_once(std::vector<keyed> const& items, std::vector<std::uint64_t> const& keys) {
  return std::ranges::all_of(
      keys, [&](std::uint64_t key) { return std::ranges::count(items, key, &keyed::key) == 1; });
}

template <class Order>
void keeps_what_is_not_sorted(Order const& order, std::vector<std::uint64_t> const& until_stopped) {
  for (auto const policy : {on_failure::stop, on_failure::go_on})
    for (std::size_t const largest_page : {100U, 1U}) {
      INFO("pages of " << largest_page << ", goes on " << (policy == on_failure::go_on));
      test::shelves<std::uint64_t> source{badly_sorted()};
      source.largest_page = largest_page;
      auto merged = keyspan::merge(source, order, {.failure = policy});
      auto const got = test::loop_over_batches(merged);
      if (policy == on_failure::stop) {
        CHECK(keys_in(got.items) == until_stopped);
        CHECK((got.why && got.why->code == errc::out_of_order));
      } else {
        CHECK(keys_in(got.items) == std::vector<std::uint64_t>{1, 10, 40, 50, 60});
        CHECK(merged.failures().size() == 1);
      }

      // It is told again, or, where the page of 30 is not that of 40, the rest comes.
      auto same = keyspan::merge(source, order, merged.cursor());
      auto const rest = test::loop_over_batches(same);
      if (rest.why) {
        CHECK(rest.why->text.view().find("gave 30 behind 40") != std::string_view::npos);
      } else {
        CHECK(largest_page == 1);
        CHECK(has_each_once(rest.items, {30, 45, 70}));
      }

      // Somebody has put it right.
      auto items = badly_sorted();
      items[1][2].key = 42;
      test::shelves<std::uint64_t> right{items};
      right.largest_page = largest_page;
      auto again = keyspan::merge(right, order, merged.cursor());
      auto const mended = test::loop_over_batches(again);
      CHECK_FALSE(mended.why.has_value());
      CHECK(has_each_once(mended.items, {42, 45, 70}));
    }
}

TEST_CASE("a merge that goes on behind a source that was not sorted loses nothing of it") {
  keeps_what_is_not_sorted(ascending(&keyed::key), {1, 10, 40});
  // A union holds 40 until its run has ended.
  keeps_what_is_not_sorted(distinct_by(ascending(&keyed::key), &keyed::key), {1, 10});
}

TEST_CASE("a merge that began now, and failed while it was opened, goes on from there") {
  for (int failing = 1; failing <= 3; ++failing) {
    INFO("read " << failing);
    auto source = reviews_in(3, 10);
    int reads = 0;
    source.before_read = [&] {
      if (++reads == failing) source.read_errors.emplace_back(errc::throttled, "too much");
    };
    keyspan::feed news{source, {.start = keyspan::from_now}};
    auto merged = keyspan::merge(news, ascending(number));
    auto const got = test::loop_over_batches(merged);
    CHECK(got.items.empty());
    CHECK((got.why && got.why->code == errc::throttled));
    auto const kept = merged.cursor();
    source.write_many(20);
    CHECK(test::numbers_of(keyspan::merge(news, ascending(number), kept)) ==
          test::numbers_of(merged));
  }
}

TEST_CASE("a cursor moves on over pages without items") {
  auto source = reviews_in(1, 20);
  for (int i = 0; i < 200; ++i) source.write("another key");
  auto const where = [](auto& merged) { return merged.cursor().feeds[0].parts.front().at.from; };
  keyspan::feed one_key{source, {.scope = keyspan::partition_key{"key 3"}}};
  auto merged = keyspan::merge(one_key, ascending(number));
  CHECK(test::numbers_of(merged) == std::vector{3});
  CHECK(where(merged).text() == "220");
  keyspan::feed no_key{source, {.scope = keyspan::partition_key{"nobody"}}};
  auto without = keyspan::merge(no_key, ascending(number));
  CHECK(test::numbers_of(without).empty());
  CHECK(where(without).text() == "220");
}

// --- the text

TEST_CASE("the example of merged_cursor reads as it should") {
  auto container = reviews_in(3, 0);
  container.write_many(20);
  std::vector<int> seen;
  auto const use = [&](entry const& one) { seen.push_back(one.number); };
  // [region: example]
  auto const order = identified_by(ascending(group), &entry::number);
  auto some = keyspan::merge(container, order);
  for (entry const& one : some) {
    if (one.number == 7) break;
    use(one);
  }
  std::string const kept = some.cursor().to_text();

  container.split_in_half("1");  // whatever happens meanwhile
  auto const from = keyspan::merged_cursor<token128>::from_text(cosmos_v2, kept);
  for (entry const& one : keyspan::merge(container, order, from.value())) use(one);
  // [end: example]
  CHECK(sorted(seen) == test::counted(0, 20));
}

token128 at(std::string_view digits) { return *cosmos_v2.from_hex(digits); }

// What programs have kept must be read for ever: this text never changes.
constexpr std::string_view golden =
    R"({"keyspan":1,"merged":"ascending, descending","feeds":[{"cursor":"{\"keyspan\":1,\"c)"
    R"(ontainer\":\"Ab3xAJ\",\"scheme\":\"cosmos_v2\",\"mode\":\"latest_version\",\"parts\")"
    R"(:[{\"lower\":\"\",\"upper\":\"20000000000000000000000000000000\",\"at\":\"17\"},{\"l)"
    R"(ower\":\"20000000000000000000000000000000\",\"upper\":null,\"start\":\"beginning\"}])"
    R"(,\"check\":\"8FA71DBC\"}","given":[{"part":0,"count":3,"alike":2,"image":"8000000000)"
    R"(000011","identities":["0000000000000007","FFFFFFFFFFFFFFFF"]}]},{"cursor":"{\"keyspa)"
    R"(n\":1,\"container\":\"Ab3xAJ\",\"scheme\":\"cosmos_v2\",\"mode\":\"all_versions_and_)"
    R"(deletes\",\"key\":[\"redmond\"],\"parts\":[{\"lower\":\"1000000000000000000000000000)"
    R"(0000\",\"upper\":\"11000000000000000000000000000000\",\"at\":\"\\\"4\\\"\"}],\"check)"
    R"(\":\"7C7B5654\"}","given":[{"part":0,"count":0,"alike":0,"state":"000000000000000C"})"
    R"(]}],"check":"933C4742"})";

kept_cursor golden_cursor() {
  keyspan::merged_feed_cursor<token128> first{.container = "Ab3xAJ", .scheme = "cosmos_v2"};
  first.parts.push_back({{{at(""), at("20")}, keyspan::continuation{"17"}},
                         {3, 2, 0x8000'0000'0000'0011, 0, {7, 0xFFFF'FFFF'FFFF'FFFF}}});
  first.parts.push_back({{{at("20"), keyspan::space_end}, keyspan::from_beginning}, {}});
  keyspan::merged_feed_cursor<token128> second{.container = "Ab3xAJ",
                                               .scheme = "cosmos_v2",
                                               .mode = keyspan::feed_mode::all_versions_and_deletes,
                                               .key = keyspan::partition_key{"redmond"}};
  second.parts.push_back(
      {{{at("10"), at("11")}, keyspan::continuation{"\"4\""}}, {0, 0, 0, 12, {}}});
  return {"ascending, descending", {first, second}};
}

TEST_CASE("the text of a merged cursor is the one it has always been") {
  CHECK(golden_cursor().to_text() == golden);
  CHECK(kept_cursor::from_text(cosmos_v2, golden) == golden_cursor());
  static_assert(keyspan::textual<kept_cursor>);
}

TEST_CASE("a feed goes on from whole pages of a merged cursor") {
  auto const whole = golden_cursor().feeds.back().whole_pages();
  CHECK(whole.container == "Ab3xAJ");
  CHECK(whole.mode == keyspan::feed_mode::all_versions_and_deletes);
  CHECK(whole.key == keyspan::partition_key{"redmond"});
  REQUIRE(whole.parts.size() == 1);
  CHECK(whole.parts.front() == golden_cursor().feeds.back().parts.front().at);
}

kept_cursor any_cursor(test::random& rng) {
  kept_cursor made;
  made.order = rng.chance(50) ? "by time" : "x\"\\\n\xD0\x9F";
  for (auto feeds = rng.below(4); feeds > 0; --feeds) {
    auto& feed = made.feeds.emplace_back();
    feed.container = "c" + std::to_string(rng.below(9));
    feed.scheme = "cosmos_v2";
    if (rng.chance(30)) feed.key = keyspan::partition_key{rng.any_finite_double()};
    auto const parts = 1 + rng.below(5);
    for (std::size_t i = 0; i < parts; ++i) {
      auto const lower = cosmos_v2.boundary(i, parts + 1);
      auto const upper = cosmos_v2.boundary(i + 1, parts + 1);
      auto& part = feed.parts.emplace_back(test::kept_part{{{lower, upper}}, {}});
      if (rng.chance(60)) part.at.from = keyspan::continuation{std::to_string(rng())};
      if (rng.chance(40)) continue;
      part.given.count = static_cast<std::uint32_t>(rng() >> rng.between(32, 60));
      part.given.alike = static_cast<std::uint32_t>(rng.below(part.given.count + 1ULL));
      if (rng.chance(50)) part.given.image = rng();
      if (rng.chance(50)) part.given.state = rng();
      for (auto left = rng.below(5); left > 0; --left) part.given.identities.push_back(rng());
      std::sort(part.given.identities.begin(), part.given.identities.end());
    }
  }
  return made;
}

TEST_CASE("what is written of a merged cursor is read") {
  test::random rng{20};
  for (int i = 0; i < 500; ++i) {
    auto const made = any_cursor(rng);
    auto const written = made.to_text();
    auto const read = kept_cursor::from_text(cosmos_v2, written);
    if (!read) FAIL(read.error() << " in " << written);
    CHECK(*read == made);
    CHECK(read->to_text() == written);
  }
}

std::size_t refused_or_equal(kept_cursor const& made, std::string const& changed) {
  auto const read = kept_cursor::from_text(cosmos_v2, changed);
  if (read) {
    if (!(*read == made)) FAIL_CHECK("another cursor: " << changed);
    return 0;
  }
  if (read.error().text.empty() || !read.error().position ||
      read.error().position.offset > changed.size())
    FAIL_CHECK("an error has no words or no place: " << changed);
  return 1;
}

TEST_CASE("no byte of a merged cursor can be changed so that another one is read") {
  auto const made = golden_cursor();
  std::string const written{golden};
  std::size_t refused = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (int byte = static_cast<int>(i % 7); byte < 256; byte += 7) {
      auto changed = written;
      changed[i] = static_cast<char>(byte);
      if (changed != written) refused += refused_or_equal(made, changed);
    }
    auto changed = written;
    changed.erase(i, 1);
    refused += refused_or_equal(made, changed);
    changed = written;
    changed.insert(i, 1, written[i]);
    refused += refused_or_equal(made, changed);
    CHECK(!kept_cursor::from_text(cosmos_v2, std::string_view{written}.substr(0, i)));
  }
  CHECK(refused > written.size() * 30);
}

std::string refusal_of(std::string_view from) {
  auto const read = kept_cursor::from_text(cosmos_v2, from);
  return read ? std::string{} : std::string{read.error().to_text().view()};
}

// The golden text with something in place of something else.
std::string with(std::string_view old, std::string_view other) {
  std::string changed{golden};
  auto const place = changed.find(old);
  REQUIRE(place != changed.npos);
  changed.replace(place, old.size(), other);
  return refusal_of(changed);
}

TEST_CASE("a text that is no merged cursor is refused with its place and the reason") {
  CHECK(with(R"("keyspan":1)", R"("keyspan":2)") ==
        "unsupported at line 1, column 12: the cursor is of version 2; this library reads version "
        "1");
  CHECK(with(R"("keyspan":1,)", "").ends_with("the member \"keyspan\" is missing"));
  CHECK(with(R"("merged":"ascending, descending",)", "")
            .ends_with("no merged cursor: the member \"merged\" is missing"));
  CHECK(with(R"("merged")", R"("united")").ends_with("a merged cursor has no member \"united\""));
  CHECK(with(R"("merged")", R"("container")")
            .ends_with("this is the cursor of a feed, not of a merge: composite_cursor reads it"));
  CHECK(with(R"({"cursor")", R"({"place")").ends_with("has no member \"place\""));
  CHECK(with(R"("count":3)", R"("many":3)").ends_with("what was given has no member \"many\""));
  CHECK(with(R"("part":0,)", "").ends_with("the member \"part\" is missing"));
  CHECK(with(R"("part":0)", R"("part":2)").ends_with("part 2 is none of the 2 of its feed"));
  CHECK(with(R"("part":0)", R"("part":-1)").starts_with("not_representable at line 1, column "));
  CHECK(with(R"("count":3)", R"("count":1)").ends_with("of 1 items given no more are alike"));
  CHECK(with(R"("count":3)", R"("count":4294967296)").starts_with("not_representable"));
  CHECK(with(R"("0000000000000007","FFFFFFFFFFFFFFFF")", R"("FFFFFFFFFFFFFFFF","0000000000000007")")
            .ends_with("identities are in ascending order"));
  CHECK(with(R"("0000000000000007")", R"("07")")
            .ends_with("a word is 16 hexadecimal digits, not \"07\""));
  CHECK(with(R"("0000000000000007")", R"("000000000000000x")")
            .ends_with("a word is 16 hexadecimal digits, not \"000000000000000x\""));
  CHECK(with(R"("given":[)", R"("given":[{"part":0,"count":1,"alike":0},)")
            .ends_with("of part 0 it is told twice what was given"));
  CHECK(with(R"("count":3)", R"("count":4)").find("something was changed") != std::string::npos);
  CHECK(refusal_of(std::string{golden} + "x").ends_with("found 'x'"));
  CHECK(refusal_of("").ends_with("found the end of the text"));
  CHECK(refusal_of("[]").ends_with("expected an object, found an array"));
  CHECK(refusal_of("{\n\"keyspan\": 1,\n \"feeds\": 3}").starts_with("malformed at line 3, "));
  std::string without{golden.substr(0, golden.rfind(",\"check\""))};
  CHECK(refusal_of(without + "}").ends_with("the member \"check\" is missing"));
  // The places of what is wrong inside of the cursor of a feed are those of that cursor's text.
  CHECK(with("cosmos_v2", "cosmos_v1").starts_with("scheme_mismatch at line 1, column "));
  CHECK(with("cosmos_v2", "cosmos_v1").find("tokens are of scheme cosmos_v1") != std::string::npos);
}

// What the first result of a merge of two journals is that goes on from a cursor.
template <class Order>
std::string first_error(kept_cursor const& from, Order const& order) {
  auto source = reviews_in(2, 9);
  auto other = reviews_in(2, 9);
  std::vector<keyspan::feed<test::reviews_journal>> feeds;
  feeds.emplace_back(source);
  feeds.emplace_back(other);
  std::string said;
  auto merged = keyspan::merge(feeds, order, from);
  for (auto const& batch : merged.batches()) {
    CHECK(said.empty());
    said = batch ? "" : std::string{batch.error().to_text().view()};
  }
  CHECK(other.reads.empty());
  return said;
}

TEST_CASE("a merge goes on from no cursor of another one") {
  journals sources{reviews_in(2, 9), reviews_in(2, 9)};
  std::vector<int> given;
  auto const order = ascending(number);
  auto const kept =
      *kept_cursor::from_text(cosmos_v2, read_merged(sources, order, {}, {}, 5, given));
  CHECK(first_error(kept, descending(number)) ==
        "invalid_options: the cursor is of a merge \"ascending\", this one is \"descending\"");
  CHECK(first_error(kept, by_time(number)).ends_with("this one is \"by time\""));
  CHECK(first_error(kept, round_robin).ends_with("this one is \"round robin\""));
  CHECK(first_error(kept, as_they_come).ends_with("this one is \"as they come\""));
  CHECK(first_error(kept, ascending(number).then(descending(number)))
            .ends_with("this one is \"ascending, descending\""));
  CHECK(first_error(kept, distinct_by(ascending(number), number))
            .ends_with("this one is \"ascending, united\""));
  auto fewer = kept;
  fewer.feeds.pop_back();
  CHECK(first_error(fewer, order) ==
        "invalid_options: the cursor is of a merge of 1 feeds, this one has 2");
  auto changed = kept;
  changed.feeds.back().container = "orders";
  CHECK(first_error(changed, order).starts_with("wrong_container: "));
  changed = kept;
  changed.feeds.back().scheme = "cosmos_v1";
  CHECK(first_error(changed, order).starts_with("scheme_mismatch: "));
  changed = kept;
  changed.feeds.back().mode = keyspan::feed_mode::all_versions_and_deletes;
  CHECK(first_error(changed, order).starts_with("invalid_options: the cursor is of a feed of "));
  changed = kept;
  changed.feeds.back().key = keyspan::partition_key{"redmond"};
  CHECK(first_error(changed, order).starts_with("key_mismatch: "));
  changed = kept;
  changed.feeds.back().parts.push_back(changed.feeds.back().parts.front());
  CHECK(first_error(changed, order).starts_with("overlap: "));
}

TEST_CASE("a merge that began now goes on from there, though nothing had come") {
  auto source = reviews_in(3, 10);
  keyspan::feed news{source, {.start = keyspan::from_now}};
  auto merged = keyspan::merge(news, ascending(number));
  CHECK(merged.begin() == merged.end());
  auto const kept = merged.cursor();
  source.write_many(10);
  CHECK(test::numbers_of(keyspan::merge(news, ascending(number), kept)) == test::counted(10, 20));
}
// --- pages without items, and those that were given

TEST_CASE("a page behind one of which all was given before is looked at like any other one") {
  for (std::uint32_t const page_size : {3U, 2U, 1U}) {
    INFO("pages of " << page_size);
    journals all{reviews_in(1, 0)};
    for (char const* const one : {"5", "6", "3", "7"})
      all[0].write(keyspan::partition_key{"a"}, one);
    auto const order = ascending([](entry const& one) { return std::stoi(one.key); });
    auto feeds = test::feeds_of(all, 3);
    auto first = keyspan::merge(feeds, order);
    CHECK(test::take_from(first, 1).size() == 1);
    auto const kept = first.cursor();  // in front of 6, in the page of 5, 6 and 3
    auto again = test::feeds_of(all, page_size);
    auto second = keyspan::merge(again, order, kept);
    auto const got = test::loop_over_batches(second);
    REQUIRE(got.why);
    CHECK(got.why->code == errc::out_of_order);
  }
}

TEST_CASE("behind a page of which all was given before, what comes is still in order or an error") {
  journals all{reviews_in(1, 0)};
  for (char const* const one : {"5", "6", "6", "3", "7"})
    all[0].write(keyspan::partition_key{"a"}, one);
  auto const order = ascending([](entry const& one) { return std::stoi(one.key); });
  auto feeds = test::feeds_of(all, 4);
  auto first = keyspan::merge(feeds, order);
  CHECK(test::take_from(first, 2).size() == 2);
  auto const kept = first.cursor();
  for (std::uint32_t const page_size : {4U, 3U, 2U, 1U}) {
    INFO("pages of " << page_size);
    auto again = test::feeds_of(all, page_size);
    auto second = keyspan::merge(again, order, kept);
    auto const got = test::loop_over_batches(second);
    REQUIRE(got.why);
    CHECK(got.why->code == errc::out_of_order);
    CHECK(got.items.size() == 1);
  }
}

void add_page(reviews_journal& to, std::vector<int> const& numbers, std::string behind,
              bool nothing_new = false) {
  reviews_journal::page_type page{};
  for (int const one : numbers) page.items.push_back({"key", one});
  page.continuation = std::move(behind);
  page.nothing_new = nothing_new;
  to.pages.push_back(std::move(page));
}
template <class Merged>
std::string place_of(Merged& merged) {
  return merged.cursor().feeds[0].parts.front().at.from.text();
}

TEST_CASE("a cursor stands behind the page whose items say that nothing is new") {
  auto source = reviews_in(1, 0);
  add_page(source, {}, "1");
  add_page(source, {7, 8}, "2", true);
  auto merged = keyspan::merge(source, ascending(&entry::number));
  CHECK(test::numbers_of(merged) == std::vector{7, 8});
  CHECK(place_of(merged) == "2");
}

TEST_CASE("a cursor moves on over pages without items while a source is idle") {
  auto source = reviews_in(1, 0);
  add_page(source, {7, 8}, "1");
  add_page(source, {}, "2");
  add_page(source, {}, "3", true);
  keyspan::manual_clock clock;
  keyspan::stop_source stop;
  keyspan::feed of{source, {.stop = stop.token()}};
  auto merged = keyspan::merge_async(of, ascending(&entry::number),
                                     keyspan::following{clock, std::chrono::seconds{1}});
  test::merged_story<entry> got;
  auto const loop = test::read_by_items(merged, got);
  CHECK(got.items.size() == 2);
  CHECK(place_of(merged) == "3");
  stop.request_stop();
  CHECK(loop.is_done());
}

TEST_CASE("a cursor moves on over pages without items in front of an error") {
  auto source = reviews_in(1, 0);
  add_page(source, {7, 8}, "1");
  add_page(source, {}, "2");
  source.before_read = [&] {
    if (source.reads.size() == 3)
      source.read_errors.push_back(keyspan::error{errc::unavailable, "away"});
  };
  auto merged = keyspan::merge(source, ascending(&entry::number));
  auto const got = test::loop_over_batches(merged);
  CHECK(got.items.size() == 2);
  REQUIRE(got.why);
  CHECK(place_of(merged) == "2");
}

struct release {
  int major;
  int minor;
  friend auto operator<=>(release const&, release const&) = default;
};
TEST_CASE("a merge by keys of one's own, told apart by identity, has a cursor") {
  auto source = reviews_in(2, 8);
  auto const key = [](entry const& one) { return release{one.number / 4, one.number % 4}; };
  auto merged = keyspan::merge(source, identified_by(ascending(key), &entry::number));
  CHECK(test::numbers_of(merged) == test::counted(0, 8));
  CHECK(merged.cursor().feeds.size() == 1);
}

}  // namespace
