// test/feed/feed_progress_test.cpp — the machine behind a feed, driven by hand: what it asks, and
// what it makes of the answers.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include "journal.hpp"

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::feed_question;
using keyspan::from_now;
using keyspan::instant;
using keyspan::partition;
using keyspan::redis_cluster;
using keyspan::space_end;
using test::check;
using test::counted;
using test::entry;
using test::reviews_in;
using namespace std::chrono_literals;

using slot = std::uint16_t;
using slot_progress = keyspan::feed_progress<keyspan::redis_cluster_scheme>;
using request = keyspan::feed_request<slot>;
using slot_range = keyspan::token_range<slot>;
using answer = keyspan::page<int>;

slot_range slots(int first, int last) {
  if (last == 16'384) return {static_cast<slot>(first), space_end};
  return {static_cast<slot>(first), static_cast<slot>(last)};
}
partition<slot> owner(std::string id, int first, int last, std::vector<std::string> parents = {}) {
  return {std::move(id), slots(first, last), std::move(parents)};
}
constexpr std::nullopt_t draining = std::nullopt;

// Opened over the partitions 1 = [0, 100), 2 = [100, 200), 3 = [200, the end).
slot_progress opened(request what = {}) {
  slot_progress made{redis_cluster, "c", std::move(what)};
  CHECK(made.next(draining) == feed_question::topology);
  CHECK(made.version().empty());
  REQUIRE(made.take({{owner("1", 0, 100), owner("2", 100, 200), owner("3", 200, 16'384)}, "v1"}));
  CHECK(made.next(draining) == feed_question::topology);
  CHECK(made.version() == "v1");
  REQUIRE(made.take({.not_modified = true}));
  return made;
}
void give(slot_progress& to, std::string_view continuation, bool nothing_new, instant due = {}) {
  REQUIRE(to.accept(answer{.items = {1}, .continuation = std::string{continuation}, .charge = 1}));
  to.pass(continuation, nothing_new, due);
}
std::string parts_of(slot_progress const& of) {
  std::string text;
  for (auto const& part : of.cursor().parts)
    text.append(part.range.to_text().view()).append(" ").append(part.from.to_text()).append("; ");
  return text;
}
keyspan::error const gone{errc::range_gone, "split"};

TEST_CASE("the example of feed_progress reads as it should") {
  auto source = reviews_in(3, 20);
  std::vector<int> numbers;
  // [region: example]
  keyspan::feed_progress progress{source.scheme(), source.container(), {}};
  for (;;) {
    auto const question = progress.next(std::nullopt);  // none: who does not wait
    if (question == feed_question::none) break;
    if (question == feed_question::topology) {
      auto list = source.topology(progress.version()).value;
      if (!list || !progress.take(*std::move(list))) break;
      continue;
    }
    auto page = source.read(progress.range(), progress.from(), progress.request()).value;
    if (!page) {
      if (progress.absorb(page.error())) continue;  // the range is gone: asks who has it now
      break;                                        // the caller's
    }
    if (!progress.accept(*page)) break;
    for (entry const& one : page->items) numbers.push_back(one.number);
    progress.pass(page->continuation, page->nothing_new, {});  // dealt with: the cursor moves
  }
  // [end: example]
  CHECK(test::sorted(numbers) == counted(0, 20));
}

TEST_CASE("who owns what is asked first, then every range in turn") {
  auto made = opened();
  CHECK(made.size() == 3);
  CHECK(made.routing()->size() == 3);
  CHECK(parts_of(made) ==
        "[0, 100) from the beginning; [100, 200) from the beginning; [200, the end) from the "
        "beginning; ");
  for (int const lower : {0, 100, 200, 0, 100}) {
    REQUIRE(made.next(draining) == feed_question::page);
    CHECK(made.range().lower() == lower);
    give(made, "7", false);
  }
  CHECK(parts_of(made) == "[200, the end) behind 7; [0, 100) behind 7; [100, 200) behind 7; ");
}

TEST_CASE("a read is told of the partition, and of all that the request asks for") {
  keyspan::stop_source stop;
  auto made = opened({.mode = keyspan::feed_mode::all_versions_and_deletes,
                      .scope = slots(50, 300),
                      .page_size = 7,
                      .session_token = "s:1",
                      .deadline = instant{} + 9s,
                      .stop = stop.token()});
  std::vector<std::string> owners;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(made.next(draining) == feed_question::page);
    auto const& read = made.request();
    owners.emplace_back(read.partition);
    CHECK(read.is_whole_partition == (i == 1));
    CHECK(read.mode == keyspan::feed_mode::all_versions_and_deletes);
    CHECK(read.page_size == 7);
    CHECK(read.session_token == "s:1");
    CHECK(read.deadline == instant{} + 9s);
    CHECK(read.stop == stop.token());
    CHECK(read.key == nullptr);
    give(made, "1", false);
  }
  CHECK(owners == std::vector<std::string>{"1", "2", "3"});
  CHECK(made.stop() == stop.token());
  keyspan::stop_source other;
  made.stop_by(other.token());
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.request().stop == other.token());
}

TEST_CASE("a page that was accepted does not move the cursor, and is asked for again") {
  auto made = opened();
  REQUIRE(made.next(draining) == feed_question::page);
  auto const before = made.cursor();
  REQUIRE(made.accept(answer{.items = {1}, .continuation = "3"}));
  CHECK(made.cursor() == before);
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.range() == slots(0, 100));
  CHECK(made.from() == keyspan::from_beginning);
}

TEST_CASE("who does not wait is done when every range has said once that nothing is new") {
  auto made = opened();
  std::vector<int> order;
  while (made.next(draining) == feed_question::page) {
    order.push_back(made.range().lower());
    bool const is_third = order.size() > 3 || made.range().lower() != 100;
    give(made, "9", is_third);
  }
  CHECK(order == std::vector{0, 100, 200, 100});
  CHECK(made.next(draining) == feed_question::none);
  made.begin_round();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(made.next(draining) == feed_question::page);
    give(made, "10", true);
  }
  CHECK(made.next(draining) == feed_question::none);
}

TEST_CASE("who waits is told until when, and asks the first that is due first") {
  auto made = opened();
  instant const start{};
  for (auto const delay : {5s, 6s, 9s}) {
    REQUIRE(made.next(start) == feed_question::page);
    give(made, "1", true, start + delay);
  }
  REQUIRE(made.next(start) == feed_question::wait);
  CHECK(made.due() == start + 5s);
  REQUIRE(made.next(start + 4999ms) == feed_question::wait);
  REQUIRE(made.next(start + 5s) == feed_question::page);
  CHECK(made.range() == slots(0, 100));
  give(made, "2", true, start + 10s);
  REQUIRE(made.next(start + 5s) == feed_question::wait);
  CHECK(made.due() == start + 6s);
  // Two at once, in their order.
  REQUIRE(made.next(start + 9s) == feed_question::page);
  CHECK(made.range() == slots(100, 200));
  give(made, "2", true, start + 14s);
  REQUIRE(made.next(start + 9s) == feed_question::page);
  CHECK(made.range() == slots(200, 16'384));
}

TEST_CASE(
    "a range that is gone becomes its parts in the new partitions, at its place in the line") {
  auto made = opened();
  REQUIRE(made.next(draining) == feed_question::page);
  give(made, "5", false);
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.range() == slots(100, 200));
  CHECK(made.absorb(gone));
  REQUIRE(made.next(draining) == feed_question::topology);
  CHECK(made.version() == "v1");
  REQUIRE(made.take({{owner("4", 100, 130, {"2"}), owner("5", 130, 200, {"2"})}, "v2"}));
  REQUIRE(made.next(draining) == feed_question::topology);
  REQUIRE(made.take({.not_modified = true}));
  CHECK(parts_of(made) ==
        "[100, 130) from the beginning; [130, 200) from the beginning; [200, the end) from the "
        "beginning; [0, 100) behind 5; ");
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.request().partition == "4");
  CHECK(made.request().is_whole_partition);
}

TEST_CASE("a new partition that is larger is read no further than was asked") {
  auto made = opened({.scope = slots(150, 250)});
  CHECK(made.size() == 2);
  REQUIRE(made.next(draining) == feed_question::page);
  give(made, "5", false);  // [150, 200) behind 5
  CHECK(made.absorb(gone));
  REQUIRE(made.take({{owner("4", 0, 16'384, {"1", "2", "3"})}, "v2"}));
  REQUIRE(made.take({.not_modified = true}));
  CHECK(parts_of(made) == "[200, 250) from the beginning; [150, 200) behind 5; ");
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.request().partition == "4");
  CHECK_FALSE(made.request().is_whole_partition);
}

// What has replaced the range that was to be read next.
void replaced(slot_progress& in, std::vector<partition<slot>> by) {
  REQUIRE(in.next(draining) == feed_question::page);
  REQUIRE(in.absorb(gone));
  REQUIRE(in.take({std::move(by), "v" + in.version()}));
  REQUIRE(in.take({.not_modified = true}));
}

TEST_CASE("the parts of a range that was split are one again where it is merged") {
  auto made = opened();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(made.next(draining) == feed_question::page);
    give(made, i == 2 ? "8" : "7", false);
  }
  replaced(made, {owner("4", 0, 40, {"1"}), owner("5", 40, 100, {"1"})});
  CHECK(made.size() == 4);
  CHECK(made.next(draining) == feed_question::page);
  give(made, "7", false);  // it stands where it stood
  replaced(made, {owner("6", 0, 100, {"1", "4", "5"})});
  CHECK(parts_of(made) == "[0, 100) behind 7; [100, 200) behind 7; [200, the end) behind 8; ");
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.request().is_whole_partition);
  // So are those that were not read at all.
  auto fresh = opened();
  replaced(fresh, {owner("4", 0, 200, {"1", "2"})});
  CHECK(parts_of(fresh) == "[0, 200) from the beginning; [200, the end) from the beginning; ");
}

TEST_CASE("neighbours whose texts are merely equal stay two, in one partition as well") {
  auto made = opened();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(made.next(draining) == feed_question::page);
    give(made, "7", false);
  }
  replaced(made, {owner("4", 0, 16'384, {"1", "2", "3"})});
  CHECK(parts_of(made) == "[0, 100) behind 7; [100, 200) behind 7; [200, the end) behind 7; ");
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK_FALSE(made.request().is_whole_partition);

  auto resumed = opened({.start = made.cursor()});
  CHECK(resumed.size() == 3);
  replaced(resumed, {owner("4", 0, 16'384, {"1", "2", "3"})});
  CHECK(parts_of(resumed) == parts_of(made));
}

TEST_CASE("nobody is waited for beyond the deadline") {
  instant const start{};
  auto made = opened({.deadline = start + 3s});
  for (auto const delay : {2s, 9s, 9s}) {
    REQUIRE(made.next(start) == feed_question::page);
    give(made, "1", true, start + delay);
  }
  REQUIRE(made.next(start) == feed_question::wait);
  CHECK(made.due() == start + 2s);
  REQUIRE(made.next(start + 2s) == feed_question::page);
  give(made, "2", true, start + 11s);
  REQUIRE(made.next(start + 2s) == feed_question::wait);
  CHECK(made.due() == start + 3s);
  CHECK_FALSE(made.is_late(start + 2s));
  CHECK(made.is_late(start + 3s));
  CHECK_FALSE(opened().is_late((instant::max)()));
}

TEST_CASE("pages that lead nowhere are counted in a row") {
  auto made = opened({.scope = slots(0, 100)});
  auto const stand_still = [&](int times) {
    for (int i = 0; i < times; ++i) {
      REQUIRE(made.next(draining) == feed_question::page);
      REQUIRE(made.accept(answer{.items = {}, .continuation = made.from().text()}));
      made.pass(made.from().text(), false, {});
    }
  };
  REQUIRE(made.next(draining) == feed_question::page);
  give(made, "1", false);
  stand_still(slot_progress::most_refreshes - 1);
  REQUIRE(made.next(draining) == feed_question::page);
  give(made, "2", false);
  stand_still(slot_progress::most_refreshes - 1);
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.accept(answer{.items = {}, .continuation = "2"}).error().code == errc::bad_response);
}

TEST_CASE("no range is shown behind a change of owners, until one is asked for") {
  auto made = opened();
  replaced(made, {owner("4", 0, 40, {"1"}), owner("5", 40, 100, {"1"})});
  CHECK(test::promise_broken_by([&] { return made.range().lower(); }) ==
        "the range of a page is asked for while there is one");
}

TEST_CASE("parts of an idle range stay idle, and are due when it was") {
  auto made = opened();
  instant const start{};
  REQUIRE(made.next(start) == feed_question::page);
  give(made, "1", true, start + 5s);
  REQUIRE(made.next(start) == feed_question::page);
  CHECK(made.absorb(gone));
  REQUIRE(made.take({{owner("4", 0, 40, {"1"}), owner("5", 40, 100, {"1"}),
                      owner("6", 100, 150, {"2"}), owner("7", 150, 200, {"2"})},
                     "v2"}));
  REQUIRE(made.take({.not_modified = true}));
  for (int const lower : {100, 150, 200}) {
    REQUIRE(made.next(start) == feed_question::page);
    CHECK(made.range().lower() == lower);
    give(made, "1", true, start + 9s);
  }
  REQUIRE(made.next(start) == feed_question::wait);
  CHECK(made.due() == start + 5s);
  REQUIRE(made.next(start + 5s) == feed_question::page);
  CHECK(made.range() == slots(0, 40));
  give(made, "2", false);
  REQUIRE(made.next(start + 5s) == feed_question::page);
  CHECK(made.range() == slots(40, 100));
}

TEST_CASE(
    "where nothing has changed the parts are as they were, and after 16 times the caller hears") {
  auto made = opened();
  REQUIRE(made.next(draining) == feed_question::page);
  auto const before = made.cursor();
  for (int i = 0; i < slot_progress::most_refreshes; ++i) {
    REQUIRE(made.absorb(gone));
    REQUIRE(made.next(draining) == feed_question::topology);
    REQUIRE(made.take({.not_modified = true}));
    REQUIRE(made.next(draining) == feed_question::page);
    CHECK(made.range() == slots(0, 100));
  }
  CHECK_FALSE(made.absorb(gone));
  CHECK(made.cursor() == before);
  CHECK(made.next(draining) == feed_question::page);
  CHECK(made.absorb(gone));  // counted anew
}

TEST_CASE("a page, and an error that the caller hears of, begin the count anew") {
  auto made = opened();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < slot_progress::most_refreshes; ++i) {
      REQUIRE(made.next(draining) == feed_question::page);
      REQUIRE(made.absorb(gone));
      REQUIRE(made.take({.not_modified = true}));
    }
    REQUIRE(made.next(draining) == feed_question::page);
    if (round == 0) {
      give(made, "1", false);
    } else {
      CHECK_FALSE(made.absorb(keyspan::error{errc::throttled}));
    }
  }
}

TEST_CASE("only that a range is gone is dealt with") {
  for (errc const code : keyspan::all_errc) {
    auto made = opened();
    REQUIRE(made.next(draining) == feed_question::page);
    auto const before = made.cursor();
    CHECK(made.absorb(keyspan::error{code}) == (code == errc::range_gone));
    CHECK(made.cursor() == before);
    CHECK(made.next(draining) ==
          (code == errc::range_gone ? feed_question::topology : feed_question::page));
  }
}

TEST_CASE("a list that is not whole is an error, and the next question is the same") {
  slot_progress made{redis_cluster, "c", {}};
  REQUIRE(made.next(draining) == feed_question::topology);
  REQUIRE(made.take({{owner("1", 0, 100)}, "v1"}));
  auto const taken = made.take({.not_modified = true});
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().code == errc::gap);
  REQUIRE(made.next(draining) == feed_question::topology);
  CHECK(made.version().empty());

  auto open = opened();
  REQUIRE(open.next(draining) == feed_question::page);
  REQUIRE(open.absorb(gone));
  REQUIRE(open.take({{owner("4", 0, 40, {"1"})}, "v2"}));
  REQUIRE(open.take({.not_modified = true}));  // read in full now
  REQUIRE(open.next(draining) == feed_question::topology);
  CHECK(open.version().empty());
  REQUIRE(open.take({{owner("4", 0, 40, {"1"})}, "v2"}));
  CHECK(open.take({.not_modified = true}).error().code == errc::gap);
  CHECK(open.next(draining) == feed_question::page);  // what was known is still known
  CHECK(open.routing()->version() == "v1");
}

TEST_CASE("to open is to learn who owns what, and where now is") {
  slot_progress made{redis_cluster, "c", {}};
  REQUIRE(made.next_to_open() == feed_question::topology);
  REQUIRE(made.take({{owner("1", 0, 16'384)}, "v1"}));
  REQUIRE(made.take({.not_modified = true}));
  CHECK(made.next_to_open() == feed_question::none);

  auto news = opened({.start = from_now});
  for (int const lower : {0, 100, 200}) {
    REQUIRE(news.next_to_open() == feed_question::page);
    CHECK(news.range().lower() == lower);
    CHECK(news.from() == from_now);
    REQUIRE(news.accept(answer{.continuation = "44", .nothing_new = true}));
    news.pass("44", lower != 100, {});
  }
  CHECK(news.next_to_open() == feed_question::none);
}

TEST_CASE("a page from now on has no items, and every page says where the next one begins") {
  auto made = opened({.start = from_now});
  REQUIRE(made.next(draining) == feed_question::page);
  CHECK(made.accept(answer{.items = {1}, .continuation = "4"}).error().to_text() ==
        "bad_response: from now on there is nothing yet in [0, 100), its page has items");
  CHECK(made.accept(answer{.nothing_new = true}).error().to_text() ==
        "bad_response: the page of [0, 100) does not say where the next one begins");
  CHECK(made.accept(answer{.continuation = "4"}).has_value());
}

TEST_CASE("charges of pages and of errors are summed up, whoever deals with them") {
  auto made = opened();
  REQUIRE(made.next(draining) == feed_question::page);
  REQUIRE(made.accept(answer{.continuation = "1", .charge = 2.5}));
  CHECK_FALSE(made.accept(answer{.charge = 4}).has_value());
  keyspan::error costly = gone;
  costly.wire.charge = 8;
  CHECK(made.absorb(costly));
  CHECK_FALSE(made.absorb(keyspan::error{errc::stopped}));
  CHECK(made.charge() == 14.5);
}

TEST_CASE("a progress that is copied goes on twice") {
  auto one = opened();
  REQUIRE(one.next(draining) == feed_question::page);
  auto other = one;
  give(one, "6", true);
  CHECK(parts_of(other).starts_with("[0, 100) from the beginning; "));
  REQUIRE(other.next(draining) == feed_question::page);
  CHECK(other.range() == slots(0, 100));
  give(other, "7", false);
  CHECK(parts_of(one).ends_with("[0, 100) behind 6; "));
}

TEST_CASE("a request that makes no sense is not sound, and where it stands is still told") {
  slot_progress const made{
      redis_cluster, "c", {.scope = keyspan::key_prefix{keyspan::partition_key{"a"}, 2}}};
  REQUIRE_FALSE(made.sound().has_value());
  CHECK(made.sound().error().code == errc::key_mismatch);
  CHECK(made.cursor().container == "c");
  CHECK(made.cursor().parts.empty());
  CHECK(opened().sound().has_value());
}

TEST_CASE("a progress is asked for what it has") {
  auto made = opened();
  CHECK(test::promise_broken_by([&] { return made.range().lower(); }) ==
        "the range of a page is asked for while there is one");
  CHECK(test::promise_broken_by([&] { return made.due(); }) == "somebody is waited for");
  CHECK(test::promise_broken_by([&] { return made.take({.not_modified = true}).has_value(); }) ==
        "partitions are taken when they were asked for");
}

// What a machine reads to its end.
std::vector<int> drained(test::reviews_journal& source,
                         keyspan::feed_progress<keyspan::cosmos_v2_scheme>& progress) {
  std::vector<int> numbers;
  for (;;) {
    auto const question = progress.next(std::nullopt);
    if (question == feed_question::none) return numbers;
    if (question == feed_question::topology) {
      CHECK(progress.take(*source.topology(progress.version()).value));
      continue;
    }
    auto page = source.read(progress.range(), progress.from(), progress.request()).value;
    if (!page) {
      CHECK(progress.absorb(page.error()));
      continue;
    }
    CHECK(progress.accept(*page));
    for (test::entry const& one : page->items) numbers.push_back(one.number);
    progress.pass(page->continuation, page->nothing_new, {});
  }
}

TEST_CASE("readings of a progress are machines of their own, one for each owner of a part") {
  auto source = test::reviews_in(4, 100);
  keyspan::feed_progress whole{source.scheme(), source.container(), {}};
  CHECK(test::promise_broken_by([&] { return whole.readings({}); }) ==
        "a reading is opened before it is divided");
  while (whole.next_to_open() == feed_question::topology)
    CHECK(whole.take(*source.topology(whole.version()).value));
  auto const all = whole.cursor().parts;
  auto const& live = source.live();
  // The whole space is owned by four; two ranges, the right one first, come in token order.
  auto readings = whole.readings({{keyspan::whole_space(keyspan::cosmos_v2)}});
  REQUIRE(readings.size() == 4);
  auto const two = whole.readings({{live[3].range}, {live[1].range}});
  REQUIRE(two.size() == 2);
  CHECK(two[0].cursor().parts[0].range == live[1].range);
  CHECK(two[1].cursor().parts[0].range == live[3].range);
  CHECK(whole.readings({}).empty());
  CHECK(readings[0].charge() == 0);
  std::size_t const topologies = source.topologies.size();
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(readings[i].size() == 1);
    CHECK(drained(source, readings[i]) == source.numbers_in(live[i].range));
  }
  CHECK(source.topologies.size() == topologies);  // they know who owns what
  CHECK(whole.cursor().parts == all);             // and have moved nobody else
  // Each goes on through a split by itself.
  source.split_in_half("2");
  source.write_many(50);
  std::vector<int> numbers;
  for (auto& one : readings) {
    one.begin_round();
    for (int const number : drained(source, one)) numbers.push_back(number);
  }
  CHECK(test::sorted(numbers) == test::counted(100, 150));
}

}  // namespace
