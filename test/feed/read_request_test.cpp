// test/feed/read_request_test.cpp — what a source is told when nobody says anything, and what it
// makes of what it is told.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/key/partition_key.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::read_request;
using test::check;

TEST_CASE(
    "a request that says nothing asks for all keys, the latest versions, and leaves the rest") {
  read_request const nothing;
  CHECK(nothing.partition.empty());
  CHECK_FALSE(nothing.is_whole_partition);
  CHECK(nothing.mode == keyspan::feed_mode::latest_version);
  CHECK(nothing.page_size == 0);
  CHECK(nothing.key == nullptr);
  CHECK(nothing.session_token.empty());
  CHECK_FALSE(nothing.deadline.has_value());
  CHECK_FALSE(nothing.stop.stop_possible());
}

// [region: example]
struct change {
  keyspan::partition_key key{};
  int number = 0;
};
using answer = keyspan::result<keyspan::page<change>>;

// What a source does with what it is told: it stops, it knows when it is late, it shows one key
// alone where one is asked for, and it gives no more than fits a page.
answer read_all_that_fits(std::vector<change> const& log, keyspan::read_request const& request,
                          keyspan::instant now) {
  if (request.stop.stop_requested()) return keyspan::fail(errc::stopped, "the caller gave up");
  if (request.deadline && *request.deadline <= now)
    return keyspan::fail(errc::timed_out, "the caller wanted the page before");
  keyspan::page<change> page{.continuation = "\"1\""};
  for (change const& one : log) {
    if (request.page_size != 0 && page.items.size() == request.page_size) break;
    if (request.key == nullptr || *request.key == one.key) page.items.push_back(one);
  }
  return page;
}
// [end: example]

TEST_CASE("the example of read_request reads as it should") {
  std::vector<change> const log{{keyspan::partition_key{"a"}, 1},
                                {keyspan::partition_key{"b"}, 2},
                                {keyspan::partition_key{"a"}, 3}};
  keyspan::instant const now{};
  CHECK(read_all_that_fits(log, {}, now)->items.size() == 3);
  CHECK(read_all_that_fits(log, {.page_size = 2}, now)->items.size() == 2);
  keyspan::partition_key const key{"a"};
  auto const of_key = read_all_that_fits(log, {.key = &key}, now);
  REQUIRE(of_key->items.size() == 2);
  CHECK(of_key->items.back().number == 3);
  CHECK(read_all_that_fits(log, {.deadline = now}, now).error().code == errc::timed_out);
  keyspan::stop_source stop;
  read_request const stoppable{.stop = stop.token()};
  CHECK(read_all_that_fits(log, stoppable, now).has_value());
  stop.request_stop();
  CHECK(read_all_that_fits(log, stoppable, now).error().code == errc::stopped);
}

TEST_CASE("a copy of a request is stopped with the request") {
  keyspan::stop_source stop;
  read_request const request{.page_size = 7, .session_token = "0:9", .stop = stop.token()};
  read_request const copy = request;
  stop.request_stop();
  CHECK(copy.stop.stop_requested());
  CHECK(copy.page_size == 7);
  CHECK(copy.session_token == "0:9");
}

}  // namespace
