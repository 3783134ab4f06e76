// test/merge/following_within_test.cpp — a source that is silent is waited for no longer than it
// may be late; what it shows later all the same counts as of then.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/merge/following_within.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/other_orders.hpp>

#include "resumption.hpp"

#include <feed/journal.hpp>
#include <feed/suspending_source.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::by_time;
using keyspan::following;
using keyspan::following_within;
using keyspan::manual_clock;
using std::chrono::seconds;
using test::check;
using test::entry;
using test::reviews_in;
using test::reviews_journal;
using test::running;

// A minute of a day.
using minutes = std::chrono::sys_time<std::chrono::minutes>;
minutes at(int minute) { return minutes{std::chrono::minutes{minute}}; }

struct by_name {
  minutes operator()(entry const& one) const { return at(std::stoi(one.key)); }
};

using source_list = std::list<reviews_journal>;

// Regions of one partition each; what is written in one is named by its minute.
struct regions {
  source_list all{};
  minutes now = at(0);
  manual_clock clock{};
  std::vector<std::string> given{};
  std::vector<std::size_t> waits{};
  bool is_over = false;

  explicit regions(int count = 2) {
    for (int i = 0; i < count; ++i) all.push_back(reviews_in(1, 0));
  }
  void write(std::size_t region, int minute, std::string_view key = "a") {
    auto& to = *std::next(all.begin(), static_cast<std::ptrdiff_t>(region));
    to.write(keyspan::partition_key{key}, std::to_string(minute));
  }
  // Nobody is waited for longer than five minutes.
  auto within() {
    return following_within{clock, seconds{1}, std::chrono::minutes{5}, [this] { return now; }};
  }
  // Each is asked again.
  void turn() { clock.advance(seconds{1}); }
};

// Gives what there is, until it is stopped.
template <class Stream>
running read(Stream& merged, regions& of) {
  for (;;) {
    auto const one = co_await merged.next();
    if (!one.has_value()) break;  // it was stopped
    of.given.push_back(one->key);
  }
  co_await merged.close();
  of.is_over = true;
}

using texts = std::vector<std::string>;

template <class Manner, class Steps>
void follow(regions& world, Manner manner, Steps steps, test::kept_cursor const* from = nullptr) {
  keyspan::stop_source stop;
  std::vector<keyspan::feed<reviews_journal>> feeds;
  for (auto& one : world.all)
    feeds.emplace_back(one, keyspan::feed_request<keyspan::token128>{.stop = stop.token()});
  auto const order = by_time(by_name{});
  auto merged = from ? keyspan::merge_async(feeds, order, *from, manner)
                     : keyspan::merge_async(feeds, order, manner);
  auto const loop = read(merged, world);
  steps(merged);
  stop.request_stop();
  CHECK(loop.is_done());
  CHECK(world.is_over);
}

TEST_CASE("the example of following_within reads as it should") {
  regions world;
  auto& clock = world.clock;
  auto& feeds = world.all.front();
  auto const now_of_service = [&] { return world.now; };
  // [region: example]
  // Asked each second; nobody is waited for longer than five minutes.
  keyspan::following_within const within{clock, std::chrono::seconds{1}, std::chrono::minutes{5},
                                         now_of_service};
  auto merged = keyspan::merge_async(feeds, keyspan::by_time(by_name{}), within);
  // [end: example]
  world.now = at(60);
  check(within.watermark() == at(55));
  static_cast<void>(merged);
}

TEST_CASE("followed without a watermark, a silent source holds the others back") {
  regions world;
  world.write(0, 10);
  world.write(0, 20);
  follow(world, following{world.clock, seconds{1}}, [&](auto& merged) {
    CHECK(world.given.empty());
    CHECK(merged.waits_for() == std::vector<std::size_t>{1});
    for (int i = 0; i < 100; ++i) world.turn();
    CHECK(world.given.empty());
    world.write(1, 15);
    world.turn();
    CHECK(world.given == texts{"10", "15"});
    CHECK(merged.waits_for() == std::vector<std::size_t>{1});
    world.write(1, 25);
    world.turn();
    CHECK(world.given == texts{"10", "15", "20"});
    CHECK(merged.waits_for() == std::vector<std::size_t>{0});
  });
}

TEST_CASE("a silent source holds the others back as long as it may be late") {
  regions world;
  world.write(0, 10);
  world.write(0, 20);
  world.write(0, 30);
  follow(world, world.within(), [&](auto& merged) {
    CHECK(world.given.empty());
    world.now = at(14);  // nothing is written before 9 any more
    world.turn();
    CHECK(world.given.empty());
    CHECK(merged.waits_for() == std::vector<std::size_t>{1});
    world.now = at(16);
    world.turn();
    CHECK(world.given == texts{"10"});
    world.now = at(29);
    world.turn();
    CHECK(world.given == texts{"10", "20"});
    // What is late all the same counts as of 24: ahead of 30, and of what is written then.
    world.write(1, 11);
    world.write(1, 12);
    world.write(1, 26);
    world.turn();
    CHECK(world.given == texts{"10", "20", "11", "12", "26"});
    world.now = at(34);
    world.turn();
    CHECK(world.given == texts{"10", "20", "11", "12", "26"});
    world.now = at(35);  // of one time, the first source is first
    world.turn();
    CHECK(world.given.back() == "30");
    // A clock that goes back lowers nothing.
    world.now = at(20);
    world.turn();
    world.write(0, 32);
    world.write(1, 31);
    world.turn();
    CHECK(world.given.size() == 7);
    CHECK(world.given.back() == "31");
  });
}

TEST_CASE("what was late goes on as late where another merge goes on") {
  regions world;
  world.write(0, 10);
  world.write(0, 40);
  world.now = at(35);
  std::string kept;
  follow(world, world.within(), [&](auto& merged) {
    CHECK(world.given == texts{"10"});
    kept = merged.cursor().to_text();
  });
  auto const from = test::kept_cursor::from_text(keyspan::cosmos_v2, kept);
  world.write(1, 20);  // counts as of 30
  world.write(0, 41);
  world.write(1, 42);
  std::vector<keyspan::feed<reviews_journal>> feeds;
  for (auto& one : world.all) feeds.emplace_back(one);
  std::vector<std::string> rest;
  auto merged = keyspan::merge(feeds, by_time(by_name{}), from.value());
  for (entry const& one : merged) {
    rest.push_back(one.key);
    if (one.key != "20") continue;
    std::size_t number = 0;
    for (auto const& feed : merged.cursor().feeds)
      for (auto const& part : feed.parts)
        if (number++ == 1) CHECK(part.given.state == keyspan::sort_image<minutes>::of(at(30)));
  }
  CHECK(rest == texts{"20", "40", "41", "42"});
}

TEST_CASE("a clock that goes back lowers nothing, nor what late items count as of") {
  regions world;
  world.now = at(35);
  follow(world, world.within(), [&](auto&) {
    world.turn();  // nothing comes before 30 any more
    world.now = at(20);
    world.turn();
    world.write(0, 17);  // both count as of 30: the first source is first
    world.write(1, 16);
    world.turn();
    CHECK(world.given == texts{"17"});
    world.now = at(60);
    world.turn();
    world.turn();
    CHECK(world.given == texts{"17", "16"});
  });
}

TEST_CASE("what is late counts as of then also where another merge goes on whose clock is behind") {
  regions world{3};
  world.write(2, 30);
  world.now = at(36);
  std::string kept;
  follow(world, world.within(), [&](auto& merged) {
    world.turn();  // nothing comes before 31 any more
    CHECK(world.given == texts{"30"});
    kept = merged.cursor().to_text();
  });
  auto const from = test::kept_cursor::from_text(keyspan::cosmos_v2, kept);
  world.now = at(32);
  auto const steps = [&](auto&) {
    world.turn();
    world.write(0, 29);  // both count as of 31: the first source is first
    world.write(1, 28);
    world.turn();
    world.now = at(60);
    world.turn();
    world.turn();
    CHECK(world.given == texts{"30", "29", "28"});
  };
  follow(world, world.within(), steps, &from.value());
}

TEST_CASE("the parts of a source count as no earlier than it did, also with a watermark below") {
  regions world{1};
  auto& source = world.all.front();
  auto const& range = source.live().front().range;
  auto const middle = keyspan::cosmos_v2.midpoint(range.lower(), range.upper()).value();
  std::string left;
  std::string right;
  for (int i = 0; left.empty() || right.empty(); ++i) {
    auto const key = "key " + std::to_string(i);
    auto const token = keyspan::token_of(keyspan::cosmos_v2, keyspan::partition_key{key});
    (token < middle ? left : right) = key;
  }
  world.write(0, 40);
  world.now = at(35);  // what comes is ahead of the watermark
  follow(world, world.within(), [&](auto&) {
    world.turn();
    CHECK(world.given == texts{"40"});
    source.split_in_half("0");
    world.turn();
    world.turn();
    world.write(0, 39, left);  // both count as of 40: the left part is first
    world.write(0, 33, right);
    world.turn();
    world.turn();
    world.now = at(90);
    world.turn();
    world.turn();
    CHECK(world.given == texts{"40", "39", "33"});
  });
}

TEST_CASE("nobody is late by a negative time") {
  manual_clock clock;
  auto const now = [] { return at(0); };
  CHECK(test::promise_broken_by([&] {
          return following_within{clock, seconds{1}, std::chrono::minutes{-1}, now}.watermark();
        }) == "nobody is late by a negative time");
  CHECK(test::promise_broken_by([&] {
          return following_within{clock, seconds{0}, std::chrono::minutes{1}, now}.watermark();
        }) == "a feed is followed with a delay above 0");
  CHECK(following_within{clock, seconds{1}, std::chrono::minutes{0}, now}.watermark() == at(0));
  CHECK(following_within{clock, seconds{1}, std::chrono::hours{1}, now}.watermark() == at(-60));
}

}  // namespace
