// test/feed/scripted_source_test.cpp — a source that does what a script says: what it holds, who
// owns it, what is answered to whom, and what goes wrong when.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::continuation;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::error;
using keyspan::fast64;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::from_time;
using keyspan::key_value;
using keyspan::page_source;
using keyspan::partition_key;
using keyspan::read_request;
using keyspan::scripted_source;
using keyspan::sync_wait;
using keyspan::wall_time;
using keyspan::whole_space;
using namespace std::chrono_literals;
using test::check;
using test::promise_broken_by;

using numbers = std::vector<int>;
using small_source = scripted_source<int, keyspan::fast64_scheme>;

static_assert(page_source<small_source>);
static_assert(page_source<scripted_source<std::string, keyspan::cosmos_v2_scheme>>);
static_assert(page_source<scripted_source<std::string, keyspan::any_scheme>>);
static_assert(!std::is_copy_constructible_v<small_source>);

// The only partition of a source.
template <class Source>
auto read_all_of(Source& source, continuation from, read_request const& request = {}) {
  auto const whole = source.partitions().front().range;
  return *sync_wait(source.read(whole, from, request));
}

// Everything in a range, to where nothing is new; moves `from` there.
template <class Source, class Range>
numbers drain(Source& source, Range const& range, continuation& from, read_request request = {}) {
  numbers all;
  for (int pages = 0;; ++pages) {
    auto const page = sync_wait(source.read(range, from, request));
    REQUIRE(page);
    REQUIRE(pages < 1'000);  // it comes to an end
    all.insert(all.end(), page->items.begin(), page->items.end());
    from.advance(page->continuation);
    if (page->nothing_new) return all;
  }
}

template <class Source>
keyspan::result<std::shared_ptr<keyspan::routing<typename Source::scheme_type> const>> refreshed(
    Source& source, keyspan::routing_refresh<typename Source::scheme_type> refresh) {
  while (refresh.wants_page()) {
    auto page = sync_wait(source.topology(refresh.version()));
    if (!page) return keyspan::unexpected{page.error()};
    refresh.take(*std::move(page));
  }
  return refresh.outcome();
}

TEST_CASE("the example of scripted_source reads as it should") {
  // [region: example]
  keyspan::scripted_source<std::string, keyspan::cosmos_v2_scheme> source{cosmos_v2, 2};
  source.write("redmond", "opened");
  source.write("seattle", "closed");
  source.write_together("redmond", {"moved", "opened again"});  // one transaction, one page

  auto const range = source.owner_of("redmond").range;
  auto const page = keyspan::sync_wait(source.read(range, keyspan::from_beginning, {}));
  check(page->items == std::vector<std::string>{"opened", "moved", "opened again"});

  // The partition splits; what was read before goes on in the parts.
  source.split(source.owner_of("redmond").id);
  check(keyspan::sync_wait(source.read(range, keyspan::from_beginning, {})).error().code ==
        errc::range_gone);
  source.write("redmond", "closed again");
  auto const part = source.owner_of("redmond").range;
  keyspan::continuation const from{page->continuation};
  check(keyspan::sync_wait(source.read(part, from, {}))->items.front() == "closed again");
  // [end: example]

  // [region: script]
  source.fail_next(keyspan::error{errc::throttled, "too many requests"});
  source.before_read([&](std::size_t number) {
    if (number == 6) source.write("redmond", "at the last moment");
  });
  auto const read = [&] { return keyspan::sync_wait(source.read(part, from, {.page_size = 10})); };
  check(read().error().code == errc::throttled);
  check(read()->items.size() == 1);
  check(source.reads().size() == 5 && source.reads()[4].page_size == 10);
  // [end: script]
  CHECK(read()->items.size() == 1);
  CHECK(read()->items.size() == 2);
}

TEST_CASE("keys of all kinds that have a token can be written") {
  scripted_source<int, keyspan::cosmos_v2_scheme> source{cosmos_v2};
  std::string const text = "a";
  partition_key const owned{"a"};
  key_value const value{"a"};
  keyspan::result<keyspan::partition_key_view> const extracted{keyspan::partition_key_view{"a"}};
  source.write("a", 1);
  source.write(text, 2);
  source.write(std::string_view{text}, 3);
  source.write(owned, 4);
  source.write(keyspan::partition_key_view{"a"}, 5);
  source.write(value, 6);
  source.write(std::span{&value, 1}, 7);
  source.write(extracted, 8);
  source.write(keyspan::result<partition_key>{owned}, 9);
  source.write(5, 10);
  source.write(true, 11);
  source.write(keyspan::null, 12);
  source.write(partition_key{"a", "b"}, 13);
  CHECK(source.size() == 13);
  // All of the first nine are of one key.
  CHECK(read_all_of(source, from_beginning, {.key = &owned}).items ==
        numbers{1, 2, 3, 4, 5, 6, 7, 8, 9});
  partition_key const five{5};
  CHECK(read_all_of(source, from_beginning, {.key = &five}).items == numbers{10});
  partition_key const other{"never written"};
  auto const none = read_all_of(source, from_beginning, {.key = &other});
  CHECK(none.items.empty());
  CHECK(none.nothing_new);
  CHECK_FALSE(none.continuation.empty());

  keyspan::result<partition_key> const failed{keyspan::fail(errc::not_a_key, "an array")};
  CHECK(promise_broken_by([&] { source.write(failed, 1); }) == "what is written has a key");
  CHECK(source.size() == 13);
}

TEST_CASE("a key that the scheme refuses is a broken promise") {
  scripted_source<int, keyspan::redis_cluster_scheme> source{keyspan::redis_cluster};
  CHECK(promise_broken_by([&] { source.write(partition_key{"a", "b"}, 1); }) ==
        "the key has a token");
  CHECK(promise_broken_by([&] { source.owner_of(partition_key{"a", "b"}); }) ==
        "the key has a token");
}

TEST_CASE("keys that share a token are told apart") {
  scripted_source<int, keyspan::redis_cluster_scheme> source{keyspan::redis_cluster};
  source.write("{a}1", 1);
  source.write("{a}2", 2);
  source.write("{a}1", 3);
  partition_key const one{"{a}1"};
  CHECK(read_all_of(source, from_beginning, {.key = &one}).items == numbers{1, 3});
}

TEST_CASE("a new container has equal partitions with the ids 0, 1 and so on") {
  small_source const four{fast64, 4};
  REQUIRE(four.partitions().size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(four.partitions()[i].id == std::to_string(i));
    CHECK(four.partitions()[i].parents.empty());
    CHECK(four.partitions()[i].range.lower() == fast64.boundary(i, 4));
  }
  CHECK(four.partitions().back().range.upper().is_space_end());
  CHECK(four.container() == "scripted");
  CHECK(small_source{fast64, 1, "reviews"}.container() == "reviews");
  CHECK(small_source{fast64}.partitions().size() == 1);
  CHECK(small_source{keyspan::fast64_scheme{.seed = 3}}.scheme().seed == 3);
  CHECK(promise_broken_by([] { small_source{fast64, 0}; }) ==
        "a container has one partition at least");
}

// A scheme that does not share its space out.
struct bare_scheme {
  using token_type = int;
  int token_of(std::span<key_value const> values) const {
    return static_cast<int>(values.front().number());
  }
  int minimum() const { return 0; }
  std::string_view name() const { return "bare"; }
  bool operator==(bare_scheme const&) const = default;
};

TEST_CASE(
    "a scheme that does not share its space out has one partition, and splits where it is told") {
  using source_type = scripted_source<int, bare_scheme>;
  static_assert(page_source<source_type>);
  source_type source{bare_scheme{}};
  for (int i = 0; i < 10; ++i) source.write(i, i);
  auto const [left, right] = source.split("0", 4);
  CHECK(left == "1");
  CHECK(right == "2");
  continuation from;
  CHECK(drain(source, source.partitions()[1].range, from) == numbers{4, 5, 6, 7, 8, 9});
  CHECK(promise_broken_by([] { source_type{bare_scheme{}, 2}; }) ==
        "only a scheme that shares its space out has several partitions from the beginning");
}

TEST_CASE("splits and merges give new ids, and name all ancestors, the oldest first") {
  small_source source{fast64, 2};
  auto const [a, b] = source.split("0");
  CHECK(a == "2");
  CHECK(b == "3");
  CHECK(source.partitions()[0].parents == std::vector<std::string>{"0"});
  CHECK(source.partitions()[1].range.lower() == *fast64.midpoint(0, fast64.boundary(1, 2)));
  CHECK(source.split("3").second == "5");
  CHECK(source.partitions()[2].parents == std::vector<std::string>{"0", "3"});
  CHECK(source.merge("5", "1") == "6");
  CHECK(source.partitions().back().parents == std::vector<std::string>{"0", "1", "3", "5"});
  CHECK(source.merge("4", "6") == "7");
  CHECK(source.partitions().back().parents ==
        std::vector<std::string>{"0", "1", "3", "4", "5", "6"});
  CHECK(source.merge("2", "7") == "8");
  CHECK(source.partitions().front().range == whole_space(fast64));
  CHECK(source.split("8", 1).first == "9");
  CHECK(source.partitions().front().range == keyspan::token_range<std::uint64_t>{0, 1});
  CHECK(source.split("10").first == "11");
  CHECK(source.merge("11", "12") == "13");
  // As numbers: 9 comes before 10.
  CHECK(source.partitions().back().parents ==
        std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "10", "11", "12"});
}

TEST_CASE("splits and merges of what is not there are broken promises, and change nothing") {
  small_source source{fast64, 3};
  std::string const unknown = "there is a partition of this id now";
  CHECK(promise_broken_by([&] { source.split("3"); }) == unknown);
  CHECK(promise_broken_by([&] { source.split("", 1); }) == unknown);
  CHECK(promise_broken_by([&] { source.merge("0", "7"); }) == unknown);
  std::string const neighbours = "partitions that are merged are neighbours, the left one first";
  CHECK(promise_broken_by([&] { source.merge("1", "0"); }) == neighbours);
  CHECK(promise_broken_by([&] { source.merge("0", "2"); }) == neighbours);
  CHECK(promise_broken_by([&] { source.merge("0", "0"); }) == neighbours);
  CHECK(promise_broken_by([&] { source.split("1", 0); }) ==
        "a range is cut inside, not on a border");
  source.split("0", 1);
  CHECK(promise_broken_by([&] { source.split("3"); }) ==
        "a partition that is split has room for two");
  CHECK(promise_broken_by([&] { source.split("0"); }) == unknown);
  CHECK(source.partitions().size() == 4);
}

TEST_CASE("the partition that is named may be named by the source's own words") {
  small_source source{fast64, 2};
  for (int i = 0; i < 50; ++i) source.write(i, i);
  source.split(source.partitions()[0].id);
  source.split(source.partitions()[0].id, source.partitions()[0].range.upper().at() / 2);
  source.merge(source.partitions()[0].id, source.partitions()[1].id);
  auto const all = refreshed(source, keyspan::routing_refresh{fast64});
  REQUIRE(all);
  CHECK((*all)->size() == 3);
  CHECK(source.owner_of(7) == *(*all)->owner_of(7));
}

TEST_CASE("pages follow each other to where nothing is new, and go on when something is") {
  small_source source{fast64};
  for (int i = 1; i <= 5; ++i) source.write(i, i);
  source.page_size(2);
  continuation at;
  auto const next = [&] {
    auto page = read_all_of(source, at);
    at.advance(page.continuation);
    return page;
  };
  auto page = next();
  CHECK(page.items == numbers{1, 2});
  CHECK(page.continuation == "\"2\"");
  CHECK_FALSE(page.nothing_new);
  CHECK(next().items == numbers{3, 4});
  page = next();
  CHECK(page.items == numbers{5});
  CHECK_FALSE(page.nothing_new);  // the next one says so
  page = next();
  CHECK(page.items.empty());
  CHECK(page.nothing_new);
  CHECK(page.continuation == "\"5\"");
  source.write(1, 6);
  CHECK(next().items == numbers{6});
  CHECK(next().nothing_new);
}

TEST_CASE("where it is told so, the page with the last items says that nothing is new") {
  small_source source{fast64};
  for (int i = 1; i <= 4; ++i) source.write(i, i);
  source.ends_with_items();
  auto const first = read_all_of(source, from_beginning, {.page_size = 2});
  CHECK_FALSE(first.nothing_new);
  // Full, but nothing is left.
  auto const last = read_all_of(source, continuation{first.continuation}, {.page_size = 2});
  CHECK(last.items == numbers{3, 4});
  CHECK(last.nothing_new);
  source.ends_with_items(false);
  CHECK_FALSE(read_all_of(source, continuation{first.continuation}).nothing_new);
}

TEST_CASE("a page is as large as is asked for, else as the source likes, which is a hundred") {
  small_source source{fast64};
  for (int i = 0; i < 250; ++i) source.write(i, i);
  CHECK(read_all_of(source, from_beginning).items.size() == 100);
  CHECK(read_all_of(source, from_beginning, {.page_size = 7}).items.size() == 7);
  CHECK(read_all_of(source, from_beginning, {.page_size = 1'000}).items.size() == 250);
  source.page_size(30);
  CHECK(read_all_of(source, from_beginning).items.size() == 30);
  CHECK(promise_broken_by([&] { source.page_size(0); }) == "a page has room for an item");
}

TEST_CASE("a transaction comes in one page, even beyond its size") {
  small_source source{fast64};
  source.write("a", 1);
  source.write_together("b", {2, 3, 4, 5});
  source.write("c", 6);
  auto page = read_all_of(source, from_beginning, {.page_size = 2});
  CHECK(page.items == numbers{1, 2, 3, 4, 5});
  CHECK(page.continuation == "\"2\"");
  page = read_all_of(source, continuation{page.continuation}, {.page_size = 2});
  CHECK(page.items == numbers{6});
  source.write_together("b", {7, 8});
  page = read_all_of(source, continuation{page.continuation}, {.page_size = 1});
  CHECK(page.items == numbers{7, 8});
  CHECK(promise_broken_by([&] { source.write_together("b", {}); }) ==
        "a transaction writes one item at least");
}

TEST_CASE("a part of a range has what lies in it, and so has every part of that") {
  small_source source{fast64};
  for (int i = 0; i < 100; ++i) source.write(i, i);
  auto const [left, right] =
      keyspan::split(whole_space(fast64), *fast64.midpoint(0, keyspan::space_end));
  continuation from;
  auto both = drain(source, left, from, {.page_size = 3});
  CHECK(from.text() == "\"100\"");
  from = from_beginning;
  auto const others = drain(source, right, from, {.page_size = 3});
  CHECK(both.size() > 20);
  CHECK(others.size() > 20);
  CHECK(std::is_sorted(both.begin(), both.end()));
  both.insert(both.end(), others.begin(), others.end());
  std::sort(both.begin(), both.end());
  CHECK(both.size() == 100);
  CHECK(both.back() == 99);
}

TEST_CASE("from now on only what is written later is read, wherever the range is split") {
  small_source source{fast64};
  auto page = read_all_of(source, from_now);
  CHECK(page.nothing_new);
  CHECK(page.continuation == "\"0\"");
  for (int i = 0; i < 20; ++i) source.write(i, i);
  page = read_all_of(source, from_now);
  CHECK(page.items.empty());
  CHECK(page.nothing_new);
  CHECK(page.continuation == "\"20\"");
  for (int i = 20; i < 30; ++i) source.write(i, i);
  source.split("0");
  std::size_t count = 0;
  for (auto const& one : source.partitions()) {
    continuation from{page.continuation};
    for (int const item : drain(source, one.range, from)) {
      CHECK(item >= 20);
      ++count;
    }
  }
  CHECK(count == 10);
}

TEST_CASE("from a moment on what was written then and later is read") {
  small_source source{fast64};
  wall_time const noon{std::chrono::days{20'000} + 12h};
  source.write("a", 1);
  source.set_time(noon);
  source.write_together("a", {2, 3});
  source.write("b", 4);
  source.set_time(noon + 1ms);
  source.write("a", 5);

  CHECK(read_all_of(source, from_time{noon}).items == numbers{2, 3, 4, 5});
  CHECK(read_all_of(source, from_time{noon + 1ms}).items == numbers{5});
  CHECK(read_all_of(source, from_time{wall_time{}}).items == numbers{1, 2, 3, 4, 5});
  CHECK(read_all_of(source, from_time{noon - 1ms}, {.page_size = 1}).items == numbers{2, 3});
  auto const later = read_all_of(source, from_time{noon + 1s});
  CHECK(later.nothing_new);
  // The moment still counts where it is in the future when the reading begins.
  source.write("a", 6);
  continuation at{from_time{noon + 1s}, later.continuation};
  CHECK(read_all_of(source, at).nothing_new);
  source.set_time(noon + 1s);
  source.write("a", 7);
  CHECK(read_all_of(source, at).items == numbers{7});
  CHECK(promise_broken_by([&] { source.set_time(noon); }) == "time goes on, and not back");
}

TEST_CASE("a continuation that the source never gave is malformed") {
  small_source source{fast64};
  source.write("a", 1);
  for (std::string const text :
       {"1", "\"1", "\"\"", "\"", "\"a\"", "\"01\"", "\"+1\"", "\"1+\"", "\"1+0\"", "\"1+1+1\"",
        "\"1 \"", "\"2\"", "\"-1\"", "\"99999999999999999999\"", "\"1\"x", "1+1"}) {
    auto const answer = sync_wait(source.read(whole_space(fast64), continuation{text}, {}));
    INFO(text);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == errc::malformed);
    CHECK(answer.error().text == "this source never gave the continuation " + text);
  }
  CHECK(sync_wait(source.read(whole_space(fast64), continuation{"\"0\""}, {}))->items.size() == 1);
  CHECK(sync_wait(source.read(whole_space(fast64), continuation{"\"1\""}, {}))->nothing_new);
}

TEST_CASE("a range that is not inside of one partition is gone") {
  small_source source{fast64, 2};
  auto const left = source.partitions()[0].range;
  auto const gone = sync_wait(source.read(whole_space(fast64), from_beginning, {}));
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == errc::range_gone);
  CHECK(gone.error().wire.status == 410);
  CHECK(gone.error().wire.substatus == 1002);
  CHECK(gone.error().wire.activity_id == "read-0");
  CHECK(gone.error().text == "the range from 0 to the end is not inside of one partition");
  source.split("0");
  CHECK(sync_wait(source.read(left, from_beginning, {})).error().code == errc::range_gone);
  // After a merge the range is inside of one again.
  source.merge("2", "3");
  CHECK(sync_wait(source.read(left, from_beginning, {})));
}

TEST_CASE("a partition that is named and does not own the range is gone") {
  small_source source{fast64, 2};
  auto const left = source.partitions()[0].range;
  auto const read = [&](std::string_view partition, bool is_whole) {
    return sync_wait(source.read(left, from_beginning,
                                 {.partition = partition, .is_whole_partition = is_whole}));
  };
  CHECK(read("0", true));
  CHECK(read("0", false));
  CHECK(read("1", false).error().code == errc::range_gone);
  source.merge("0", "1");
  auto const merged = read("0", true);
  CHECK(merged.error().code == errc::range_gone);
  CHECK(merged.error().wire.substatus == 1002);
  CHECK(merged.error().text == "partition 0 does not own the range, partition 2 does");
  CHECK(read("2", false));
  CHECK(promise_broken_by([&] { return read("2", true); }) ==
        "a range that is said to be a whole partition is one");
}

TEST_CASE("a range of another scheme is a broken promise") {
  scripted_source<int, keyspan::any_scheme> source{keyspan::any_scheme{cosmos_v2}, 2};
  auto const other = whole_space(keyspan::any_scheme{keyspan::cosmos_v1});
  CHECK(promise_broken_by([&] { return source.read(other, from_beginning, {}); }) ==
        "a source is asked for ranges of its scheme");
}

TEST_CASE("what is planned to fail fails just so, and then no more") {
  small_source source{fast64};
  source.write("a", 1);
  error throttled{errc::throttled, "wait"};
  throttled.wire.charge = 2;
  error const lost{errc::position_lost, "too old"};
  source.fail_next(throttled, 2);
  source.fail_next(lost);
  source.fail_read(1, error{errc::service_failed, "number 1"});
  auto const outcome = [&] {
    auto const answer = sync_wait(source.read(whole_space(fast64), from_beginning, {}));
    return answer ? std::optional<error>{} : std::optional{answer.error()};
  };
  CHECK(outcome() == throttled);
  CHECK(outcome()->text == "number 1");
  CHECK(outcome() == throttled);
  CHECK(outcome() == lost);
  CHECK_FALSE(outcome());
  CHECK(source.reads().size() == 5);
}

TEST_CASE("every kind of error can be planned") {
  small_source source{fast64};
  for (errc const code : keyspan::all_errc) {
    source.fail_next(error{code});
    CHECK(sync_wait(source.read(whole_space(fast64), from_beginning, {})).error().code == code);
  }
}

TEST_CASE("what is called before a read may do anything to the source, itself included") {
  small_source source{fast64, 2};
  keyspan::stop_source stop;
  std::vector<std::size_t> calls;
  source.before_read([&](std::size_t number) {
    calls.push_back(number);
    if (number == 0) source.write("a", 1);
    if (number == 1) source.split("0");
    if (number == 2) stop.request_stop();
    if (number == 3) source.fail_next(error{errc::unavailable});
    if (number == 4) source.before_read({});
  });
  auto const read = [&](keyspan::stop_token token = {}) {
    // By reference into what is changed meanwhile.
    return sync_wait(source.read(source.partitions()[0].range, from_beginning, {.stop = token}));
  };
  CHECK(read());
  CHECK(read().error().code == errc::range_gone);
  CHECK(read(stop.token()).error().code == errc::stopped);
  CHECK(read().error().code == errc::unavailable);
  CHECK(read());
  CHECK(read());
  CHECK(calls == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("a read in a read has the next number") {
  small_source source{fast64};
  source.write("a", 1);
  std::size_t inner = 0;
  source.before_read([&](std::size_t number) {
    if (number < 20) inner += read_all_of(source, source.reads().front().from).items.size();
  });
  // The first is what all others refer to, while the list of reads grows.
  CHECK(read_all_of(source, from_beginning).activity_id == "read-0");
  CHECK(source.reads().size() == 21);
  CHECK(inner == 20);
}

TEST_CASE("what is thrown before a read passes through, and the next read is as good") {
  small_source source{fast64};
  source.write("a", 1);
  source.before_read([](std::size_t number) {
    if (number == 0) throw std::runtime_error{"a test"};
  });
  CHECK_THROWS_AS(source.read(whole_space(fast64), from_beginning, {}), std::runtime_error);
  CHECK(read_all_of(source, from_beginning).items == numbers{1});
}

TEST_CASE("a read that is stopped is stopped before all that else may fail") {
  small_source source{fast64, 2};
  keyspan::stop_source stop;
  stop.request_stop();
  source.fail_next(error{errc::throttled});
  auto const range = source.partitions()[0].range;
  CHECK(sync_wait(source.read(range, from_beginning, {.stop = stop.token()})).error().code ==
        errc::stopped);
  CHECK(sync_wait(source.read(range, from_beginning, {})).error().code == errc::throttled);
  CHECK(sync_wait(source.read(range, from_beginning, {})));
}

TEST_CASE("empty pages come where a reading begins, and do not say that nothing is new") {
  small_source source{fast64};
  for (int i = 1; i <= 3; ++i) source.write(i, i);
  source.empty_pages(2);
  auto const first = read_all_of(source, from_beginning);
  CHECK(first.items.empty());
  CHECK_FALSE(first.nothing_new);
  CHECK(first.continuation == "\"0+1\"");
  auto const second = read_all_of(source, continuation{first.continuation});
  CHECK(second.items.empty());
  CHECK_FALSE(second.nothing_new);
  for (int times = 0; times < 2; ++times)
    CHECK(read_all_of(source, continuation{second.continuation}).items == numbers{1, 2, 3});
  CHECK(read_all_of(source, continuation{"\"1\""}).items == numbers{2, 3});  // it has begun
  CHECK(read_all_of(source, from_time{wall_time{}}).continuation == "\"0+1\"");
  CHECK(read_all_of(source, from_now).nothing_new);
  source.empty_pages(0);
  CHECK(read_all_of(source, continuation{first.continuation}).items == numbers{1, 2, 3});
}

TEST_CASE("pages say what they cost, who they are, and how far the partition is") {
  small_source source{fast64, 2};
  source.write("a", 1);
  source.write("a", 2);
  auto const& owner = source.owner_of("a");
  auto const& other = source.partitions()[owner.id == "0" ? 1 : 0];
  auto page = *sync_wait(source.read(owner.range, from_beginning, {.page_size = 1}));
  CHECK(page.charge == 1);
  CHECK(page.attempts == 1);
  CHECK(page.lsn == 2);  // of the newest, not of the page
  CHECK(page.activity_id == "read-0");
  CHECK(page.session_token == owner.id + ":2");
  source.charge_per_page(2.5);
  page = *sync_wait(source.read(other.range, from_beginning, {}));
  CHECK(page.charge == 2.5);
  CHECK(page.lsn == 0);
  CHECK(page.activity_id == "read-1");
}

TEST_CASE("what was asked is written down, with all that it referred to") {
  small_source source{fast64};
  keyspan::stop_source stop;
  keyspan::instant const due{std::chrono::seconds{5}};
  {
    std::string const partition = "0";
    std::string const session = "0:17, and longer than a short text";
    partition_key const key{"a"};
    continuation const from{from_time{wall_time{1s}}, "\"0\""};
    static_cast<void>(source.read(whole_space(fast64), from,
                                  {partition, true, keyspan::feed_mode::all_versions_and_deletes, 9,
                                   &key, session, due, stop.token()}));
  }
  REQUIRE(source.reads().size() == 1);
  auto const& read = source.reads().front();
  CHECK(read.range == whole_space(fast64));
  CHECK(read.from == continuation{from_time{wall_time{1s}}, "\"0\""});
  CHECK(read.partition == "0");
  CHECK(read.is_whole_partition);
  CHECK(read.mode == keyspan::feed_mode::all_versions_and_deletes);
  CHECK(read.page_size == 9);
  CHECK(read.key == partition_key{"a"});
  CHECK(read.session_token == "0:17, and longer than a short text");
  CHECK(read.deadline == due);
  CHECK(read.stop == stop.token());
  static_cast<void>(source.read(whole_space(fast64), from_now, {}));
  CHECK_FALSE(source.reads().back() == read);  // which is still where it was
  CHECK_FALSE(source.reads()[1].key);
}

TEST_CASE("both modes tell the log as it is") {
  small_source source{fast64};
  for (int i = 0; i < 6; ++i) source.write(i % 2, i);
  read_request request;
  auto const latest = read_all_of(source, from_beginning, request);
  request.mode = keyspan::feed_mode::all_versions_and_deletes;
  CHECK(latest.items == numbers{0, 1, 2, 3, 4, 5});
  CHECK(read_all_of(source, from_beginning, request).items == latest.items);
}

TEST_CASE("the list of partitions is read in full, then what is new, then not at all") {
  small_source source{fast64, 2};
  auto list = *sync_wait(source.topology(""));
  CHECK(list.partitions == source.partitions());
  CHECK(list.version == "\"2\"");
  CHECK_FALSE(list.not_modified);
  list = *sync_wait(source.topology("\"2\""));
  CHECK(list.partitions.empty());
  CHECK(list.version == "\"2\"");
  CHECK(list.not_modified);
  source.split("0");
  list = *sync_wait(source.topology("\"2\""));
  REQUIRE(list.partitions.size() == 2);
  CHECK(list.partitions[0].id == "2");
  CHECK(list.partitions[1].id == "3");
  CHECK_FALSE(list.not_modified);
  CHECK(list.version == "\"4\"");
  // Of several generations only those that are still there.
  source.split("3");
  source.merge("2", "4");
  list = *sync_wait(source.topology("\"2\""));
  REQUIRE(list.partitions.size() == 2);
  CHECK(list.partitions[0].id == "5");
  CHECK(list.partitions[1].id == "6");
  CHECK(source.topologies() == std::vector<std::string>{"", "\"2\"", "\"2\"", "\"2\""});
  for (std::string const version : {"2", "\"8\"", "\"2+1\"", "\"x\""})
    CHECK(sync_wait(source.topology(version)).error().code == errc::malformed);
}

TEST_CASE("the list comes page by page where it is told to, also while it changes") {
  small_source source{fast64, 7};
  source.list_page_size(2);
  source.before_topology([&](std::size_t number) {
    if (number == 1) source.split("0");  // listed already
    if (number == 2) source.split("6");  // not yet
    if (number == 3) source.merge("1", "2");
  });
  auto const all = refreshed(source, keyspan::routing_refresh{fast64});
  REQUIRE(all);
  CHECK(std::ranges::equal((*all)->partitions(), source.partitions()));
  CHECK(source.topologies().size() > 5);
  source.before_topology({});
  source.split("3");
  source.split("5");
  source.merge("4", source.partitions()[source.partitions().size() - 4].id);
  auto const newer = refreshed(source, keyspan::routing_refresh{*all});
  REQUIRE(newer);
  CHECK(std::ranges::equal((*newer)->partitions(), source.partitions()));
}

TEST_CASE("the list fails when it is told to, and then no more") {
  small_source source{fast64};
  source.fail_topology(error{errc::unavailable, "not now"}, 2);
  for (int times = 0; times < 2; ++times)
    CHECK(sync_wait(source.topology("")).error() == error{errc::unavailable, "not now"});
  CHECK(sync_wait(source.topology("")));
}

TEST_CASE("a source that is moved is as good as before") {
  auto const filled = [] {
    small_source source{fast64, 2};
    for (int i = 0; i < 40; ++i) source.write(i, i);
    return source;
  };
  small_source source = filled();
  small_source other{fast64};
  other = std::move(source);
  other.split("0");
  other.write(3, 100);
  std::size_t count = 0;
  for (auto const& one : other.partitions()) {
    continuation from;
    count += drain(other, one.range, from).size();
  }
  CHECK(count == 41);
  partition_key const key{3};
  continuation from;
  CHECK(drain(other, other.owner_of(3).range, from, {.key = &key}) == numbers{3, 100});
}

// Held against the simplest model there is, a list of what was written: whatever is split, merged
// and written in between, each part of the space has its own items, from any place on, in order.
template <class Scheme>
void tells_what_was_written(Scheme const& scheme, std::uint64_t seed) {
  using token = keyspan::token_of_scheme<Scheme>;
  test::random draw{seed};
  scripted_source<int, Scheme> source{scheme, 1 + static_cast<std::size_t>(draw.below(4))};
  struct written {
    token at;
    std::uint64_t number;
    int item;
  };
  std::vector<written> log;
  std::vector<token> tokens;
  std::uint64_t last = 0;
  auto const token_of_text = [&](std::string const& text) {
    keyspan::result<token> const made = keyspan::token_of(scheme, text);
    return *made;
  };
  auto known = refreshed(source, keyspan::routing_refresh{scheme});
  REQUIRE(known);
  for (int step = 0; step < 300; ++step) {
    std::string const key = std::to_string(draw.below(40));
    switch (draw.below(8)) {
      case 0: {
        auto const& one = draw.pick(source.partitions());
        if (scheme.midpoint(one.range.lower(), one.range.upper()))
          source.split(std::string{one.id});
        break;
      }
      case 1:
        if (source.partitions().size() > 1) {
          auto const i = static_cast<std::size_t>(draw.below(source.partitions().size() - 1));
          source.merge(source.partitions()[i].id, source.partitions()[i + 1].id);
        }
        break;
      case 2: {
        numbers items;
        ++last;
        for (auto count = draw.below(5) + 1; count > 0; --count) {
          items.push_back(step * 10 + static_cast<int>(count));
          log.push_back({token_of_text(key), last, items.back()});
        }
        source.write_together(key, items);
        break;
      }
      case 3: {
        source.list_page_size(static_cast<std::size_t>(draw.below(4)));
        known = refreshed(source, keyspan::routing_refresh{*known});
        REQUIRE(known);
        if (!std::ranges::equal((*known)->partitions(), source.partitions())) FAIL("seed " << seed);
        break;
      }
      default:
        log.push_back({token_of_text(key), ++last, step * 10});
        source.write(key, step * 10);
    }
    auto range = draw.pick(source.partitions()).range;
    token const at = token_of_text(key);
    if (range.lower() < at && range.contains(at)) {
      auto const parts = keyspan::split(range, at);
      range = draw.chance(50) ? parts.first : parts.second;
    }
    std::uint64_t const behind = draw.below(last + 1);
    numbers expected;
    for (auto const& one : log)
      if (one.number > behind && range.contains(one.at)) expected.push_back(one.item);
    continuation from{"\"" + std::to_string(behind) + "\""};
    auto const size = static_cast<std::uint32_t>(draw.below(6));
    if (drain(source, range, from, {.page_size = size}) != expected)
      FAIL("seed " << seed << ", step " << step);
  }
}

TEST_CASE("a source tells what was written, whatever is split and merged") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    tells_what_was_written(keyspan::cosmos_multihash, seed);
    tells_what_was_written(keyspan::any_scheme{keyspan::cosmos_v1}, seed);
    tells_what_was_written(fast64, seed);
  }
}

// What is left of a range is not looked through for every page.
TEST_CASE("a hundred thousand items in a hundred partitions are read as fast as they are copied") {
  small_source source{fast64, 64};
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) source.write(i % 1'000, i);
  for (int i = 0; i < 36; ++i) source.split(std::to_string(i));
  std::map<int, int> last;
  int seen = 0;
  for (auto const& one : source.partitions()) {
    continuation from;
    for (int const item : drain(source, one.range, from, {.page_size = 1'000})) {
      auto const [at, is_new] = last.try_emplace(item % 1'000, item);
      if (!is_new && at->second >= item) FAIL("the order of a key is kept");
      at->second = item;
      ++seen;
    }
  }
  CHECK(seen == count);
}

}  // namespace
