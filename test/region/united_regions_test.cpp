// test/region/united_regions_test.cpp — reading what several regions have written.
#include <transport/reviews.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/region/united_regions.hpp>
#include <keyspan/transport/faulty.hpp>
#include <keyspan/transport/stored.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::error;
using keyspan::instant;
using keyspan::manual_clock;
using keyspan::partition_key;
using keyspan::regional_layout;
using keyspan::whole_container;
using test::done;
using test::review;
using test::reviews;
using namespace std::chrono_literals;

using regional = keyspan::faulty<reviews, manual_clock>;
using united = keyspan::united_regions<regional, manual_clock>;
using changed_review = keyspan::change<review>;

constexpr auto by_id = [](changed_review const& one) { return std::string{one->id}; };

// Three regions; whoever reads is in the second one.
struct world {
  explicit world(keyspan::union_options options = {})
      : all{*regional_layout::from({"West US", "North Europe", "Japan East"}), 1, made(), clock,
            options} {}
  template <class Awaited>
  auto wait(Awaited&& what) {
    return loop.complete(std::forward<Awaited>(what), clock);
  }
  void write(std::size_t account, review one) {
    time.now += 1ms;
    REQUIRE(done(truth[account].upsert(std::move(one))));
  }
  static std::vector<std::string> ids(auto const& answer) {
    std::vector<std::string> made;
    for (auto const& one : answer->items) made.push_back(one->id);
    return made;
  }

  test::test_time time{};
  manual_clock clock{};
  keyspan::run_loop loop{};
  std::deque<reviews> truth{};
  std::deque<regional> accounts{};
  united all;

 private:
  std::vector<regional*> made() {
    std::vector<regional*> each;
    for (std::size_t i = 0; i < 3; ++i) {
      truth.emplace_back(cosmos_v2, test::by_article,
                         time.with({.name = "account", .partitions = 2, .seed = i}));
      each.push_back(&accounts.emplace_back(truth.back(), clock));
    }
    return each;
  }
};

TEST_CASE("a program writes to the account of its region and reads those of all") {
  world w;
  CHECK(&w.all.local() == &w.accounts[1]);
  w.write(0, {"r-3", "redmond", 3});
  w.write(1, {"r-1", "redmond", 1});
  w.write(2, {"r-2", "redmond", 2});
  w.write(2, {"s-1", "seattle", 5});
  auto const of_redmond = w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)));
  REQUIRE(of_redmond);
  CHECK(w.ids(of_redmond) == std::vector<std::string>{"r-1", "r-2", "r-3"});
  CHECK(of_redmond->is_whole());
  auto const everything = w.wait(w.all.read(whole_container, ascending(by_id)));
  CHECK(w.ids(everything) == std::vector<std::string>{"r-1", "r-2", "r-3", "s-1"});
}

TEST_CASE("of a document that several accounts hold the one that was written last is given") {
  world w;
  w.write(0, {"r", "redmond", 1});
  w.write(2, {"r", "redmond", 3});
  w.write(1, {"r", "redmond", 2});
  w.write(1, {"r", "seattle", 9});  // another key: another document
  auto answer = w.wait(w.all.read(whole_container, ascending(by_id)));
  REQUIRE(answer);
  REQUIRE(answer->items.size() == 2);
  int const ratings = answer->items[0]->rating + answer->items[1]->rating;
  CHECK(ratings == 2 + 9);
  CHECK(w.wait(w.all.read_item("redmond", "r"))->item->rating == 2);

  // At the same moment it is the lower account's.
  REQUIRE(done(w.truth[2].upsert({"r", "redmond", 30})));
  REQUIRE(done(w.truth[0].upsert({"r", "redmond", 10})));
  REQUIRE(done(w.truth[1].upsert({"r", "redmond", 20})));
  CHECK(w.wait(w.all.read_item("redmond", "r"))->item->rating == 10);
  answer = w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)));
  REQUIRE(answer->items.size() == 1);
  CHECK(answer->items[0]->rating == 10);
}

TEST_CASE("a region that is down is reported and not waited for") {
  world w{{.patience = 2s, .mark_lasts = 5s}};
  w.write(0, {"r-1", "redmond", 1});
  w.write(2, {"r-2", "redmond", 2});
  w.accounts[2].delay_next(1h, 100);
  auto answer = w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)));
  REQUIRE(answer);
  CHECK(w.ids(answer) == std::vector<std::string>{"r-1"});
  REQUIRE(answer->outages.size() == 1);
  CHECK(answer->outages[0].account == 2);
  CHECK(answer->outages[0].region == "Japan East");
  CHECK(answer->outages[0].why.code == errc::timed_out);
  CHECK(w.clock.now() == instant{} + 2s);

  // From then on it is not asked for a while.
  std::size_t const struck = w.accounts[2].struck();
  answer = w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)));
  CHECK(answer->outages.size() == 1);
  CHECK(w.wait(w.all.read_item("redmond", "r-1"))->outages.size() == 1);
  CHECK(w.clock.now() == instant{} + 2s);
  CHECK(w.accounts[2].struck() == struck);
}

TEST_CASE("a region that came back is read again when its mark has ended or is forgotten") {
  world w{{.patience = 2s, .mark_lasts = 5s}};
  w.write(2, {"r-2", "redmond", 2});
  w.accounts[2].fail_next(errc::not_connected);
  auto answer = w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)));
  REQUIRE(answer);
  CHECK(answer->items.empty());
  CHECK_FALSE(answer->is_whole());
  w.clock.advance(4999ms);
  CHECK_FALSE(w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)))->is_whole());
  w.clock.advance(1ms);
  answer = w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)));
  CHECK(answer->is_whole());
  CHECK(w.ids(answer) == std::vector<std::string>{"r-2"});

  w.accounts[2].fail_next(errc::unavailable);
  CHECK_FALSE(w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)))->is_whole());
  w.all.forget_outages();
  CHECK(w.wait(w.all.read(partition_key{"redmond"}, ascending(by_id)))->is_whole());
}

TEST_CASE("an account that refuses one request is reported, and asked again at once") {
  world w;
  w.accounts[0].fail_next(errc::unauthorized);
  auto answer = w.wait(w.all.read(whole_container, ascending(by_id)));
  REQUIRE(answer->outages.size() == 1);
  CHECK(answer->outages[0].why.code == errc::unauthorized);
  CHECK(w.wait(w.all.read(whole_container, ascending(by_id)))->is_whole());
}

TEST_CASE("what was read of an account before it failed is given, and the account reported") {
  world w;
  w.write(0, {"r-1", "redmond", 1});
  w.write(0, {"s-1", "seattle", 1});
  w.accounts[0].pass_next(4);  // the partitions, that there are no more, and a page of each
  w.accounts[0].fail_next(errc::not_connected);
  auto const answer = w.wait(w.all.read(whole_container, ascending(by_id)));
  REQUIRE(answer);
  CHECK(w.ids(answer) == std::vector<std::string>{"r-1", "s-1"});
  CHECK(answer->outages.size() == 1);
}

TEST_CASE("a document that no region has is not found only where all have said so") {
  world w;
  CHECK(w.wait(w.all.read_item("redmond", "r")).error().code == errc::not_found);
  w.accounts[0].fail_next(errc::not_connected);
  auto const answer = w.wait(w.all.read_item("redmond", "r"));
  CHECK(answer.error().code == errc::unavailable);
  CHECK(answer.error().text.view() ==
        "no region that answered has the document; West US did not: not_connected");
}

TEST_CASE("a document that was found is given with the regions that were not read") {
  world w;
  w.write(1, {"r", "redmond", 4});
  w.accounts[2].delay_next(1h);
  auto const answer = w.wait(w.all.read_item("redmond", "r"));
  REQUIRE(answer);
  CHECK(answer->item->rating == 4);
  REQUIRE(answer->outages.size() == 1);
  CHECK(answer->outages[0].account == 2);
  CHECK(w.clock.now() == instant{} + 2s);
}

TEST_CASE("where no region answers it is the error of the own one") {
  world w;
  w.accounts[0].fail_next(errc::not_connected);
  w.accounts[1].fail_next(errc::unauthorized);
  w.accounts[2].fail_next(errc::unavailable);
  CHECK(w.wait(w.all.read(whole_container, ascending(by_id))).error().code == errc::unauthorized);
  w.all.forget_outages();
  w.accounts[0].fail_next(errc::not_connected);
  w.accounts[1].fail_next(errc::forbidden);
  w.accounts[2].fail_next(errc::unavailable);
  CHECK(w.wait(w.all.read_item("redmond", "r")).error().code == errc::forbidden);
}

TEST_CASE("a document that is written while its account is read is given once, as it was last") {
  world w;
  w.write(0, {"r-1", "redmond", 1});
  for (int i = 0; i < 250; ++i) w.write(0, {"x-" + std::to_string(i), "redmond", 1});
  w.accounts[0].pass_next(3);  // the partitions, and the page that it is on
  w.accounts[0].during_next([&] { w.write(0, {"r-1", "redmond", 7}); });
  auto const answer = w.wait(w.all.read("redmond", ascending(by_id)));
  REQUIRE(answer);
  CHECK(answer->items.size() == 251);
  CHECK(answer->items.front()->id == "r-1");
  CHECK(answer->items.front()->rating == 7);
}

TEST_CASE("the own region is always asked") {
  world w;
  w.write(1, {"r", "redmond", 1});
  w.accounts[1].fail_next(errc::not_connected);
  CHECK_FALSE(w.wait(w.all.read("redmond", ascending(by_id)))->is_whole());
  auto const answer = w.wait(w.all.read("redmond", ascending(by_id)));
  CHECK(answer->is_whole());
  CHECK(w.ids(answer) == std::vector<std::string>{"r"});
}

TEST_CASE("a deadline of the caller says nothing of the regions") {
  world w;
  w.write(0, {"r", "redmond", 1});
  for (auto& one : w.accounts) one.delay_next(50ms, 20);
  keyspan::read_options const hurried{.deadline = w.clock.now() + 10ms};
  CHECK(w.wait(w.all.read_item("redmond", "r", hurried)).error().code == errc::timed_out);
  CHECK(w.clock.now() == instant{} + 10ms);
  keyspan::read_options const as_hurried{.deadline = w.clock.now() + 10ms};
  CHECK(w.wait(w.all.read("redmond", ascending(by_id), as_hurried)).error().code ==
        errc::timed_out);
  CHECK(w.clock.now() == instant{} + 20ms);
  CHECK(w.wait(w.all.read_item("redmond", "r"))->is_whole());
  CHECK(w.wait(w.all.read("redmond", ascending(by_id)))->is_whole());
}

TEST_CASE("a union that is stopped ends") {
  world w;
  keyspan::stop_source stop;
  stop.request_stop();
  keyspan::read_options const stopped{.stop = stop.token()};
  CHECK(w.wait(w.all.read("redmond", ascending(by_id), stopped)).error().code == errc::stopped);
  CHECK(w.wait(w.all.read_item("redmond", "r", stopped)).error().code == errc::stopped);
}

TEST_CASE("a session token of one account is not shown to the others") {
  world w;
  w.write(0, {"r", "redmond", 1});
  auto const here = done(w.truth[1].create({"x", "redmond", 1}));
  std::string const far{"0:1000000,1:1000000"};
  keyspan::read_options const ahead{.session_token = far};
  CHECK(w.wait(w.all.read_item("redmond", "r", ahead)));
}

TEST_CASE("items that the order calls equal come in the order of their keys and ids") {
  world w;
  w.write(2, {"b", "redmond", 1});
  w.write(0, {"c", "redmond", 1});
  w.write(1, {"a", "redmond", 1});
  auto const by_rating = [](changed_review const& one) { return one->rating; };
  CHECK(w.ids(w.wait(w.all.read("redmond", ascending(by_rating)))) ==
        std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a region that is none of its account's is reported and remembered") {
  world w;
  error why{errc::unavailable};
  why.wire.status = 403;
  why.wire.substatus = 1008;
  w.accounts[0].fail_next(why);
  CHECK_FALSE(w.wait(w.all.read("redmond", ascending(by_id)))->is_whole());
  CHECK_FALSE(w.wait(w.all.read("redmond", ascending(by_id)))->is_whole());
}

TEST_CASE("the feeds of all accounts are merged in an order of one's own") {
  world w;
  w.write(0, {"a", "redmond", 1});
  w.write(2, {"b", "seattle", 2});
  w.write(1, {"c", "redmond", 3});
  w.write(0, {"d", "seattle", 4});
  auto feeds = w.all.feeds();
  auto const in_time = keyspan::by_time([](changed_review const& one) { return one.at; });
  auto reader = keyspan::merge_async(feeds, in_time, {.failure = keyspan::on_failure::go_on});
  auto reading = [&]() -> keyspan::task<std::string> {
    std::string told;
    while (auto const one = co_await reader.next()) told += (*one)->id;
    co_await reader.close();
    co_return told;
  };
  CHECK(w.wait(reading()) == "abcd");
}

TEST_CASE("regions and containers that do not fit the layout break a contract") {
  world w;
  auto const layout = *regional_layout::from({"West US", "North Europe"});
  regional& one = w.accounts[0];
  using accounts = std::vector<regional*>;
  auto const united_of = [&](std::size_t here, accounts of, instant::duration patience) {
    return test::promise_broken_by([&] {
      united const made{layout, here, std::move(of), w.clock, {.patience = patience}};
      return made.here();
    });
  };
  CHECK(united_of(1, {&one, &one}, 1s).empty());
  CHECK(united_of(2, {&one, &one}, 1s) == "a program runs in a region of the layout");
  CHECK(united_of(0, {&one}, 1s) == "there are as many accounts as regions");
  CHECK(united_of(0, {&one, nullptr}, 1s) == "every account has its container");
  CHECK(united_of(0, {&one, &one}, 0s) == "an answer takes some time");
  CHECK(test::promise_broken_by([&] { return &w.all.account(3); }) ==
        "there are as many accounts as regions");
}

TEST_CASE("the example of united_regions reads as it should") {
  world w;
  auto& loop = w.loop;
  auto& clock = w.clock;
  regional &usa = w.accounts[0], &europe = w.accounts[1], &japan = w.accounts[2];
  w.write(0, {"r-1", "redmond", 5});
  japan.delay_next(1h, 100);
  // [region: example]
  auto const layout = *keyspan::regional_layout::from({"West US", "North Europe", "Japan East"});
  std::vector const accounts{&usa, &europe, &japan};
  keyspan::united_regions all{layout, 1, accounts, clock, {.patience = 2s}};
  static_cast<void>(loop.complete(all.local().create(review{"r-2", "redmond", 4}), clock));

  auto const of_redmond =
      loop.complete(all.read(partition_key{"redmond"}, ascending(by_id)), clock);
  for (changed_review const& one : of_redmond->items) CHECK(one->article == "redmond");
  for (keyspan::region_outage const& one : of_redmond->outages) CHECK(one.region == "Japan East");
  // [end: example]
  CHECK(w.ids(of_redmond) == std::vector<std::string>{"r-1", "r-2"});
  CHECK(of_redmond->outages.size() == 1);
}

}  // namespace
