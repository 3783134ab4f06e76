// test/transport/faulty_test.cpp — what goes wrong on demand, and by chance.
#include "reviews.hpp"

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/faulty.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/retry_policy.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::instant;
using keyspan::manual_clock;
using keyspan::task;
using test::by_article;
using test::done;
using test::review;
using test::reviews;
using namespace std::chrono_literals;

using faulty = keyspan::faulty<reviews, manual_clock>;
static_assert(keyspan::page_source<faulty>);

struct world {
  manual_clock clock{};
  keyspan::run_loop loop{};
  reviews truth{cosmos_v2, by_article, {.partitions = 2}};
  faulty in{truth, clock};

  template <class Awaited>
  auto wait(Awaited&& what) {
    return loop.complete(std::forward<Awaited>(what), clock);
  }
  instant::duration passed() const { return clock.now() - instant{}; }
};

TEST_CASE("without faults everything is as in the container itself") {
  world all;
  CHECK(all.wait(all.in.create(review{"r", "a", 1}))->status == 201);
  CHECK(all.wait(all.in.upsert(review{"r", "a", 2}))->status == 200);
  auto const etag = all.wait(all.in.replace(review{"r", "a", 3}))->item.etag();
  CHECK(all.wait(all.in.patch("a", "r", [](review& one) { ++one.rating; }, {.if_match = etag}))
            ->item->rating == 4);
  CHECK(all.wait(all.in.read_item("a", "r"))->item->rating == 4);
  keyspan::item_batch<review> work{"a"};
  work.create(review{"s", "a", 5});
  CHECK(all.wait(all.in.execute(work))->is_done());
  std::vector<keyspan::item_id> const ids{{keyspan::partition_key{"a"}, "s"}};
  CHECK(all.wait(all.in.read_many(ids))->items[0]->rating == 5);
  CHECK(all.wait(all.in.remove("a", "r"))->status == 204);
  CHECK(all.in.container() == all.truth.container());
  CHECK(all.in.struck() == 0);
  CHECK(all.passed() == 0s);
}

TEST_CASE("whatever an operation is told the container is told as well") {
  world all;
  auto const old = all.wait(all.in.create(review{"r", "a", 1}))->item.etag();
  REQUIRE(all.wait(all.in.upsert(review{"r", "a", 2})).has_value());
  review const next{"r", "a", 3};
  auto const add = [](review& one) { ++one.rating; };
  std::vector<errc> met;
  auto const note = [&](auto const& answer) {
    met.push_back(answer ? errc::malformed : answer.error().code);
  };
  note(all.wait(all.in.upsert(next, {.if_match = old})));
  note(all.wait(all.in.replace(next, {.if_match = old})));
  note(all.wait(all.in.remove("a", "r", {.if_match = old})));
  note(all.wait(all.in.patch("a", "r", add, {.if_match = old})));
  note(all.wait(all.in.remove_softly("a", "r", add, 1s, {.if_match = old})));
  CHECK(met == std::vector(5, errc::precondition_failed));
  CHECK(all.wait(all.in.read_item("a", "r"))->item->rating == 2);

  met.clear();
  auto const all_of = all.truth.partitions();
  std::string const ahead = all_of[0].id + ":99," + all_of[1].id + ":99";
  note(all.wait(all.in.read_item("a", "r", {.session_token = ahead})));
  auto const range = all_of[0].range;
  note(all.wait(all.in.read(range, keyspan::from_beginning, {.session_token = ahead})));
  CHECK(met == std::vector(2, errc::session_not_available));
  CHECK(all.wait(all.in.read(range, keyspan::from_beginning, {.partition = "9"})).error().code ==
        errc::range_gone);
  std::size_t told = 0;
  for (std::string const article : {"a", "b"}) {
    keyspan::partition_key const key{article};
    for (auto const& one : all_of)
      told +=
          all.wait(all.in.read(one.range, keyspan::from_beginning, {.key = &key}))->items.size();
  }
  CHECK(told == 1);
}

TEST_CASE("what fails by the script was not done, what is lost was") {
  world all;
  all.in.fail_next(errc::throttled, 2);
  for (int i = 0; i < 2; ++i)
    CHECK(all.wait(all.in.create(review{"r", "a", 1})).error().code == errc::throttled);
  CHECK(all.truth.size() == 0);
  all.in.lose_next();
  CHECK(all.wait(all.in.create(review{"r", "a", 1})).error().code == errc::outcome_unknown);
  CHECK(all.truth.size() == 1);
  all.in.lose_next();
  CHECK(all.wait(all.in.read_item("a", "r")).error().code == errc::not_connected);
  CHECK(all.in.struck() == 4);
}

TEST_CASE("what is delayed is done at once and told later, so that answers overtake each other") {
  world all;
  all.in.delay_next(50ms);
  std::vector<std::string> order;
  auto const create = [&](std::string id) -> task<> {
    auto asked = all.in.create(review{id, "a", 1});
    auto const answer = co_await std::move(asked);
    order.push_back(std::string{answer->item.id().string()});
  };
  auto both = keyspan::when_all(create("slow"), create("quick"));
  all.wait(std::move(both));
  CHECK(order == std::vector<std::string>{"quick", "slow"});
  CHECK(done(all.truth.read_item("a", "slow"))->item.lsn() == 1);
  CHECK(done(all.truth.read_item("a", "quick"))->item.lsn() == 2);
  CHECK(all.passed() == 50ms);
}

TEST_CASE("a partition that splits under a page on its way costs a feed nothing") {
  world all;
  for (int i = 0; i < 100; ++i)
    REQUIRE(done(all.truth.create(review{"r", std::to_string(i), i})).has_value());
  feed changes{all.in, {.page_size = 10}};
  REQUIRE(changes.open().has_value());
  for (int i = 0; i < 5; ++i)
    all.in.during_next([&] { static_cast<void>(all.truth.split(all.truth.partitions()[0].id)); });
  std::vector<int> found;
  for (auto const& one : changes) found.push_back(one->rating);
  std::ranges::sort(found);
  CHECK(found.size() == 100);
  CHECK(std::ranges::unique(found).begin() == found.end());
  CHECK(all.truth.partitions().size() == 7);
}

TEST_CASE("a read whose answer would come behind the deadline times out at the deadline") {
  world all;
  feed changes{all.in, {.deadline = instant{} + 30ms}};
  REQUIRE(changes.open().has_value());
  all.in.delay_next(50ms);
  auto stream = changes.stream();
  auto const read = [&]() -> task<std::optional<errc>> {
    auto* const page = co_await stream.next_page();
    if (page == nullptr || *page) co_return std::nullopt;
    co_return page->error().code;
  };
  CHECK(all.wait(read()) == errc::timed_out);
  CHECK(all.passed() == 30ms);
}

TEST_CASE("a read whose deadline has passed is not done") {
  world all;
  auto const range = all.truth.partitions()[0].range;
  keyspan::read_request const in_time{.deadline = all.clock.now()};
  CHECK(all.wait(all.in.read(range, keyspan::from_beginning, in_time)).has_value());
  keyspan::read_request const late{.deadline = all.clock.now() - 1ns};
  CHECK(all.wait(all.in.read(range, keyspan::from_beginning, late)).error().code ==
        errc::timed_out);
  // An answer at the deadline is in time, one behind it is not.
  keyspan::read_request const soon{.deadline = all.clock.now() + 10ms};
  all.in.delay_next(10ms);
  CHECK(all.wait(all.in.read(range, keyspan::from_beginning, soon)).has_value());
  all.in.delay_next(1ns);
  CHECK(all.wait(all.in.read(range, keyspan::from_beginning, soon)).error().code ==
        errc::timed_out);
  CHECK(all.passed() == 10ms);
}

TEST_CASE("a fault that is named alone has the status of a service, and says where it comes from") {
  world all;
  struct {
    errc code;
    int status, substatus;
  } const wanted[]{{errc::throttled, 429, 0},           {errc::unavailable, 503, 0},
                   {errc::range_gone, 410, 1002},       {errc::service_failed, 500, 0},
                   {errc::precondition_failed, 412, 0}, {errc::session_not_available, 404, 1002},
                   {errc::region_not_writable, 403, 3}, {errc::container_changed, 400, 1024},
                   {errc::bad_request, 400, 0},         {errc::unauthorized, 401, 0},
                   {errc::forbidden, 403, 0},           {errc::not_found, 404, 0},
                   {errc::already_exists, 409, 0},      {errc::too_large, 413, 0},
                   {errc::contended, 449, 0},           {errc::not_connected, 0, 0}};
  for (auto const& one : wanted) {
    all.in.fail_next(one.code);
    auto const wire = all.wait(all.in.read_item("a", "r")).error().wire;
    CHECK(wire.status == one.status);
    CHECK(wire.substatus == one.substatus);
    CHECK(wire.attempts == 1);
    CHECK(wire.endpoint == all.truth.container());
  }
  keyspan::error const whole{errc::throttled, "just so"};
  all.in.fail_next(whole);
  CHECK(all.wait(all.in.read_item("a", "r")).error() == whole);
  faulty by_chance{all.truth, all.clock, {.throttled = 100}};
  auto const wire = all.wait(by_chance.read_item("a", "r")).error().wire;
  CHECK(wire.status == 429);
  CHECK(wire.endpoint == all.truth.container());
  CHECK(wire.retry_after_ms > 0);
  all.in.lose_next();
  CHECK(all.wait(all.in.read_item("a", "r")).error().wire.endpoint == all.truth.container());
}

TEST_CASE("what is delayed by chance is partly late before it is done, and partly after") {
  world all;
  faulty in{all.truth, all.clock, {.delayed = 100, .longest_delay = 100ms, .seed = 3}};
  int before = 0;
  for (int i = 0; i < 200; ++i) {
    auto const begun = all.clock.now();
    bool was_there = false;
    auto const look = [&]() -> task<> {
      static_cast<void>(co_await all.clock.wait_until(begun + 1ms));
      was_there = all.truth.size() == static_cast<std::size_t>(i) + 1;
    };
    auto both = keyspan::when_all(in.create(review{std::to_string(i), "a", i}), look());
    all.wait(std::move(both));
    if (!was_there) ++before;
    CHECK(all.clock.now() - begun <= 100ms);
  }
  CHECK(before > 180);
  CHECK(all.passed() > 200 * 35ms);
  CHECK(all.passed() < 200 * 65ms);
}

TEST_CASE("a stop ends a delayed read") {
  world all;
  keyspan::stop_source stopping;
  auto const range = all.truth.partitions()[0].range;
  keyspan::read_request const asked{.stop = stopping.token()};
  all.in.delay_next(1h);
  auto const stop = [&]() -> task<> {
    static_cast<void>(co_await all.clock.wait_until(instant{} + 5ms));
    stopping.request_stop();
  };
  auto both = keyspan::when_all(all.in.read(range, keyspan::from_beginning, asked), stop());
  auto const [page, none] = all.wait(std::move(both));
  CHECK(page.error().code == errc::stopped);
  CHECK(all.passed() == 5ms);
}

TEST_CASE("chance strikes as often as it was told to, and the same each time") {
  auto const play = [](std::uint64_t seed) {
    world all;
    faulty in{all.truth,
              all.clock,
              {.throttled = 10, .unavailable = 10, .lost = 10, .delayed = 50, .seed = seed}};
    std::vector<errc> story;
    for (int i = 0; i < 1000; ++i) {
      auto const answer = all.wait(in.upsert(review{"r", "a", i}));
      story.push_back(answer ? errc::stopped : answer.error().code);
    }
    return std::pair{story, all.passed()};
  };
  auto const [story, passed] = play(7);
  CHECK(play(7) == std::pair{story, passed});
  CHECK_FALSE(play(8).first == story);
  CHECK(std::ranges::count(story, errc::throttled) > 60);
  CHECK(std::ranges::count(story, errc::throttled) < 140);
  CHECK(std::ranges::count(story, errc::unavailable) > 60);
  CHECK(std::ranges::count(story, errc::outcome_unknown) > 60);
  CHECK(passed > 15s);  // half of a thousand, on the average 50 ms
  CHECK(passed < 35s);
}

TEST_CASE("a fault is as frequent as it was asked to be, whatever others there are") {
  world all;
  faulty in{all.truth, all.clock, {.throttled = 50, .unavailable = 30, .lost = 20, .seed = 3}};
  std::map<errc, int> met;
  for (int i = 0; i < 2000; ++i) ++met[all.wait(in.upsert(review{"r", "a", i})).error().code];
  CHECK(std::abs(met[errc::throttled] - 1000) < 80);
  CHECK(std::abs(met[errc::unavailable] - 600) < 80);
  CHECK(std::abs(met[errc::outcome_unknown] - 400) < 80);
}

TEST_CASE("a script lets operations pass, between faults of any kind") {
  world all;
  std::vector<std::string> story;
  auto const play = [&] {
    story.clear();
    for (int i = 0; i < 8; ++i) {
      auto const begun = all.clock.now();
      auto const answer = all.wait(all.in.upsert(review{"r", "a", i}));
      story.emplace_back(answer ? "done" : name_of(answer.error().code));
      if (all.clock.now() != begun) story.back() += " late";
    }
    return story;
  };
  all.in.fail_next(errc::throttled);
  all.in.pass_next(2);
  all.in.lose_next();
  all.in.delay_next(1ms);
  all.in.pass_next();
  all.in.during_next([&] { story.emplace_back("meanwhile"); });
  CHECK(play() == std::vector<std::string>{"throttled", "done", "done", "outcome_unknown late",
                                           "done", "meanwhile", "done", "done", "done"});
  CHECK(all.in.struck() == 3);
  all.in.pass_next(0);
  all.in.pass_next(7);
  all.in.fail_next(errc::unavailable);
  CHECK(play().back() == "unavailable");
  CHECK(all.in.struck() == 4);
}

TEST_CASE("what is throttled by its kind alone says how long to wait, and is retried by then") {
  world all;
  all.in.fail_next(errc::throttled);
  auto const why = all.wait(all.in.read_item("a", "r")).error();
  CHECK(why.wire.retry_after_ms == 20);
  CHECK(keyspan::wait_before_retry({.jitter = 0}, {.why = why}) ==
        keyspan::instant::duration{20ms});
  all.in.fail_next(errc::unavailable);
  CHECK(all.wait(all.in.read_item("a", "r")).error().wire.retry_after_ms == 0);
}

TEST_CASE("what has healed is not struck any more, and chances are no more than all") {
  world all;
  faulty in{all.truth, all.clock, {.unavailable = 100}};
  CHECK_FALSE(all.wait(in.upsert(review{"r", "a", 1})).has_value());
  in.heal();
  CHECK(all.wait(in.upsert(review{"r", "a", 1})).has_value());
  CHECK(test::promise_broken_by([&] {
          return faulty{all.truth, all.clock, {.lost = 101}}.struck();
        }) == "of 100 operations 100 meet a fault at most, and 100 are late");
  for (keyspan::fault_chances const chances :
       {keyspan::fault_chances{.throttled = 50, .unavailable = 50, .lost = 1},
        {.throttled = 4'294'967'295, .lost = 2},
        {.delayed = 101}})
    CHECK_FALSE(test::promise_broken_by([&] {
                  return faulty{all.truth, all.clock, chances}.struck();
                }).empty());
  CHECK(
      faulty{all.truth, all.clock, {.throttled = 50, .unavailable = 50, .delayed = 100}}.struck() ==
      0);
}

TEST_CASE("a container that is cut off does nothing and says so at once, until it is joined") {
  world all;
  REQUIRE(all.wait(all.in.upsert(review{"r", "a", 1})).has_value());
  all.in.delay_next(1s);
  all.in.cut_off();
  std::vector<errc> met;
  auto const note = [&](auto const& answer) {
    met.push_back(answer ? errc::malformed : answer.error().code);
  };
  note(all.wait(all.in.upsert(review{"r", "a", 2})));
  note(all.wait(all.in.create(review{"s", "a", 2})));
  note(all.wait(all.in.read_item("a", "r")));
  note(all.wait(all.in.topology({})));
  note(all.wait(all.in.read(all.truth.partitions()[0].range, keyspan::from_beginning, {})));
  CHECK(met == std::vector(5, errc::not_connected));
  CHECK(all.passed() == 0s);  // what the script says waits
  CHECK(all.in.struck() == 5);
  all.in.heal();  // has to do with chances alone
  CHECK(all.wait(all.in.read_item("a", "r")).error().code == errc::not_connected);

  all.in.join();
  CHECK(all.wait(all.in.read_item("a", "r"))->item->rating == 1);
  CHECK(all.passed() == 1s);
  CHECK(all.wait(all.in.read_item("a", "s")).error().code == errc::not_found);
}

TEST_CASE("the example of a faulty container reads as it should") {
  manual_clock clock;
  keyspan::run_loop loop;
  reviews container{cosmos_v2, by_article};
  // [region: example]
  keyspan::faulty world{container, clock, {.unavailable = 5, .delayed = 50, .seed = 7}};
  world.fail_next(errc::throttled);  // strikes first
  auto const refused = loop.complete(world.create(review{"r-1", "redmond", 5}), clock);
  // [end: example]
  CHECK(refused.error().code == errc::throttled);
}

}  // namespace
