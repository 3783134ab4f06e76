// test/feed/feed_request_test.cpp — what a request asks for, and that a source is told all of it.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <variant>

namespace {

using keyspan::cosmos_v2;
using keyspan::feed;
using keyspan::feed_mode;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::from_time;
using keyspan::partition_key;
using keyspan::token128;
using test::check;
using namespace std::chrono_literals;

using ratings_source = keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>;
using request = keyspan::feed_request<token128>;

ratings_source ratings(int count) {
  ratings_source made{cosmos_v2, 3};
  for (int i = 0; i < count; ++i) made.write("article " + std::to_string(i % 7), i);
  return made;
}

TEST_CASE("the example of feed_request reads as it should") {
  auto source = ratings(20);
  // [region: example]
  keyspan::stop_source stop;
  feed changes{source,
               {.start = from_now,  // from_beginning, from_time{…}, or a cursor
                .mode = feed_mode::all_versions_and_deletes,
                .scope = partition_key{"article 3"},  // a range, a prefix, whole_container
                .page_size = 50,
                .session_token = "0:-1#12",
                .deadline = keyspan::instant{} + 30s,  // by the source's clock
                .stop = stop.token()}};
  check(changes.open().has_value());
  auto const& read = source.reads().back();
  check(read.page_size == 50 && read.key == partition_key{"article 3"});
  // [end: example]
  CHECK(read.mode == feed_mode::all_versions_and_deletes);
  CHECK(read.session_token == "0:-1#12");
  CHECK(read.deadline == keyspan::instant{} + 30s);
  CHECK(read.stop == stop.token());
  CHECK(read.from == from_now);
}

TEST_CASE("a request that says nothing asks for all of the latest version, from the beginning") {
  request const plain{};
  CHECK(std::holds_alternative<keyspan::from_beginning_type>(plain.start));
  CHECK(std::holds_alternative<keyspan::whole_container_type>(plain.scope));
  auto source = ratings(5);
  feed changes{source};
  int sum = 0;
  for (int const one : changes) sum += one;
  CHECK(sum == 10);
  for (auto const& read : source.reads()) {
    CHECK(read.mode == feed_mode::latest_version);
    CHECK(read.page_size == 0);
    CHECK_FALSE(read.key.has_value());
    CHECK(read.session_token.empty());
    CHECK_FALSE(read.deadline.has_value());
    CHECK(read.stop == keyspan::stop_token{});
    CHECK(read.is_whole_partition);
  }
}

TEST_CASE("every read and every page is told what the request asks for") {
  auto source = ratings(60);
  keyspan::stop_source stop;
  feed changes{source,
               {.mode = feed_mode::all_versions_and_deletes,
                .page_size = 4,
                .session_token = "s",
                .deadline = keyspan::instant{} + 1s,
                .stop = stop.token()}};
  for (auto const& page : changes.pages()) CHECK((page && page->items.size() <= 4));
  source.split("1");
  source.write("article 3", 60);
  for (int const one : changes) CHECK(one == 60);
  CHECK(source.reads().size() > 20);
  for (auto const& read : source.reads()) {
    CHECK(read.mode == feed_mode::all_versions_and_deletes);
    CHECK(read.page_size == 4);
    CHECK(read.session_token == "s");
    CHECK(read.deadline == keyspan::instant{} + 1s);
    CHECK(read.stop == stop.token());
  }
}

TEST_CASE("what was changed in one transaction comes in one page, beyond the hint") {
  ratings_source source{cosmos_v2, 1};
  source.write("redmond", 0);
  source.write_together("redmond", {1, 2, 3, 4, 5});
  source.write("redmond", 6);
  feed changes{source, {.page_size = 2}};
  std::size_t largest = 0;
  std::string numbers;
  for (auto const& page : changes.pages()) {
    REQUIRE(page.has_value());
    largest = (std::max)(largest, page->items.size());
    for (int const one : page->items) numbers.append(std::to_string(one));
  }
  CHECK(numbers == "0123456");
  CHECK(largest >= 5);
}

TEST_CASE("each start is told to the source as it is, and a text takes its place") {
  for (keyspan::feed_start<token128> const& start :
       {keyspan::feed_start<token128>{from_beginning}, keyspan::feed_start<token128>{from_now},
        keyspan::feed_start<token128>{from_time{keyspan::wall_time{5ms}}}}) {
    auto source = ratings(0);
    feed changes{source, {.start = start}};
    for (int i = 0; i < 2; ++i)
      for (int const one : changes) FAIL_CHECK("nothing was written: " << one);
    REQUIRE(source.reads().size() == 6);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(source.reads()[i].from.is_start());
      CHECK_FALSE(source.reads()[i + 3].from.is_start());
    }
    auto const& first = source.reads()[0].from;
    if (std::holds_alternative<from_time>(start)) {
      CHECK(first == from_time{keyspan::wall_time{5ms}});
      CHECK(source.reads()[3].from.time() == keyspan::wall_time{5ms});  // beside the text
    } else {
      CHECK((first == from_now) == std::holds_alternative<keyspan::from_now_type>(start));
    }
  }
}

}  // namespace
