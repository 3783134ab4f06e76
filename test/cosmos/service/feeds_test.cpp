// test/cosmos/service/feeds_test.cpp — changes of a service, read over a wire: from where and of
// whom one likes, by a program that is started anew, and through splits and merges.
#include "client.hpp"

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/processor/processor.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::change_kind;
using keyspan::errc;
using keyspan::partition_key;
using keyspan::result;
using keyspan::task;
using keyspan::when_all;
using test::client;
using test::drained;
using test::from_to;
using test::good;
using test::numbered;
using test::ratings_in;
using test::review;
using test::reviews;
using test::world;

using change = keyspan::change<review>;
using feed_request = keyspan::feed_request<keyspan::any_token>;

keyspan::wall_time in_a_while(std::chrono::milliseconds how_long) {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()) + how_long;
}

// What a request gives of a container that is opened for it.
std::vector<change> told(world& w, reviews& in, feed_request request = {}) {
  keyspan::feed changes{in, std::move(request)};
  return good(w.run(drained(changes)));
}

TEST_CASE("a feed begins at the beginning, now, or at a moment") {
  world w{"change_feed"};
  reviews in = w.made();
  keyspan::feed now{in, {.start = keyspan::from_now}};
  good(w.run(test::write(in, 0, 5)));
  CHECK(ratings_in(told(w, in)) == from_to(0, 5));
  // Positions are fixed when it is opened, not when it is made.
  good(w.run(now.open_async()));
  good(w.run(test::write(in, 5, 30)));
  CHECK(ratings_in(good(w.run(drained(now)))) == from_to(5, 30));
  CHECK(good(w.run(drained(now))).empty());
  good(w.run(test::write(in, 30, 35)));
  CHECK(ratings_in(good(w.run(drained(now)))) == from_to(30, 35));
  CHECK(ratings_in(told(w, in, {.start = keyspan::from_time{in_a_while(-1h)}})) == from_to(0, 35));
  CHECK(told(w, in, {.start = keyspan::from_time{in_a_while(1h)}}).empty());
}

TEST_CASE("a feed tells the latest version of what was written, and nothing of what is gone") {
  world w{"change_feed"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 10)));
  auto again = numbered(3);
  again.rating = 100;
  good(w.run(in.upsert(again)));
  good(w.run(in.remove(numbered(4).article, numbered(4).id)));
  CHECK(ratings_in(told(w, in)) == std::vector{0, 1, 2, 5, 6, 7, 8, 9, 100});
}

TEST_CASE("a feed reads one key, or the keys of a range") {
  world w{"change_feed"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 40, 8)));
  feed_request of_key;
  of_key.scope = partition_key{"a-3"};
  of_key.page_size = 2;
  CHECK(ratings_in(told(w, in, of_key)) == std::vector{3, 11, 19, 27, 35});

  // The partition of one key, cut in front of it.
  keyspan::feed whole{in};
  good(w.run(whole.open_async()));
  auto const& partitions = whole.routing()->partitions();
  auto const middle = keyspan::token_of(in.scheme(), partition_key{"a-5"}).value();
  std::size_t count = 0;
  std::vector<change> both;
  for (auto const& one : partitions) {
    feed_request of_part;
    if (one.range.lower() < middle && middle < one.range.upper()) {
      auto const [left, right] = keyspan::split(one.range, middle);
      of_part.scope = left;
      auto const seen = told(w, in, of_part);
      both.insert(both.end(), seen.begin(), seen.end());
      for (auto const& each : seen) CHECK(each->article != "a-5");
      of_part.scope = right;
      ++count;
    } else {
      of_part.scope = one.range;
    }
    auto const seen = told(w, in, of_part);
    both.insert(both.end(), seen.begin(), seen.end());
  }
  CHECK(count == 1);
  CHECK(ratings_in(both) == from_to(0, 40));
}

TEST_CASE("every partition tells its own share, and all of them together each document once") {
  world w{"ranges"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 60)));
  std::string const none;
  auto const owners = good(w.run(in.topology(none)));
  REQUIRE(owners.partitions.size() > 1);
  CHECK_FALSE(owners.version.empty());
  CHECK(good(w.run(in.topology(owners.version))).not_modified);
  std::vector<change> all;
  for (auto const& owner : owners.partitions) {
    auto const seen = told(w, in, {.scope = owner.range});
    CHECK_FALSE(seen.empty());
    all.insert(all.end(), seen.begin(), seen.end());
  }
  CHECK(ratings_in(all) == from_to(0, 60));
}

TEST_CASE("a cursor's text goes on in another program where the first one was left") {
  world w{"change_feed"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 60)));
  keyspan::feed first{in, {.page_size = 4}};
  std::vector<change> seen;
  auto const some = [&](auto& changes) -> task<std::string> {
    auto reading = changes.stream();
    for (int i = 0; i < 7; ++i) {
      auto next = reading.next_page();
      auto const* const page = co_await std::move(next);
      if (page == nullptr || !*page) break;
      seen.insert(seen.end(), (*page)->items.begin(), (*page)->items.end());
    }
    co_return changes.cursor().to_text();
  };
  std::string kept = w.run(some(first));
  REQUIRE(seen.size() < 60);
  for (int program = 0; program < 40 && seen.size() < 80; ++program) {
    if (program == 1) good(w.run(test::write(in, 60, 80)));
    client other{w.service};
    reviews there = other.open(w.name, "reviews");
    keyspan::feed resumed{there, {.start = good(keyspan::cursor_of(there, kept)), .page_size = 4}};
    kept = other.run(some(resumed));
  }
  CHECK(ratings_in(seen) == from_to(0, 80));
}

TEST_CASE("a cursor's text of before a split and a merge goes on behind them") {
  world w{"control"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 60)));
  keyspan::feed first{in, {.page_size = 5}};
  auto reading = first.stream();
  std::vector<change> seen;
  auto const two = [&]() -> task<void> {
    for (int i = 0; i < 2; ++i) {
      auto next = reading.next_page();
      auto const* const page = co_await std::move(next);
      seen.insert(seen.end(), (*page)->items.begin(), (*page)->items.end());
    }
  };
  w.run(two());
  std::string const kept = first.cursor().to_text();
  good(w.run(w.control("split/0")));
  good(w.run(w.control("merge/2/3")));
  good(w.run(test::write(in, 60, 90)));
  client other{w.service};
  reviews there = other.open(w.name, "reviews");
  keyspan::feed resumed{there, {.start = good(keyspan::cursor_of(there, kept))}};
  auto const rest = good(other.run(drained(resumed)));
  seen.insert(seen.end(), rest.begin(), rest.end());
  CHECK(ratings_in(seen) == from_to(0, 90));
  CHECK(resumed.routing()->size() == 4);
}

// The ids of the partitions that there are, by their ranges.
task<result<std::vector<std::string>>> owners_of(reviews& in) {
  std::string const none;
  auto asking = in.topology(none);
  auto page = co_await std::move(asking);
  if (!page) co_return keyspan::unexpected{page.error()};
  std::sort(page->partitions.begin(), page->partitions.end(),
            [](auto const& a, auto const& b) { return a.range.lower() < b.range.lower(); });
  std::vector<std::string> ids;
  for (auto const& one : page->partitions) ids.push_back(one.id);
  co_return ids;
}

// Splits and merges, one after another, with some time in between.
task<result<void>> rearrange(world& w, reviews& in, int times) {
  for (int i = 0; i < times; ++i) {
    auto asking = owners_of(in);
    auto const owners = co_await std::move(asking);
    if (!owners) co_return keyspan::unexpected{owners.error()};
    std::size_t const at = static_cast<std::size_t>(i * 7) % (owners->size() - 1);
    auto changing = w.control(i % 3 == 2 ? "merge/" + (*owners)[at] + '/' + (*owners)[at + 1]
                                         : "split/" + (*owners)[at]);
    auto const changed = co_await std::move(changing);
    if (!changed) co_return changed;
    auto waiting = keyspan::wait_for(w.by->over.clock(), 10ms);
    auto const waited = co_await std::move(waiting);
    if (!waited) co_return keyspan::unexpected{waited.error()};
  }
  co_return result<void>{};
}

TEST_CASE("a feed that is read page by page through splits and merges tells each document once") {
  world w{"control"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 200)));
  keyspan::feed changes{in, {.page_size = 3}};
  auto const both = [&]() -> task<result<void>> {
    std::vector<change> seen;
    auto reading = changes.stream();
    for (int pages = 0;; ++pages) {
      if (pages % 5 == 4 && pages < 60) {
        auto changing = rearrange(w, in, 3);
        auto const changed = co_await std::move(changing);
        if (!changed) co_return changed;
      }
      auto next = reading.next_page();
      auto const* const page = co_await std::move(next);
      if (page == nullptr) break;
      if (!*page) co_return keyspan::unexpected{page->error()};
      seen.insert(seen.end(), (*page)->items.begin(), (*page)->items.end());
    }
    CHECK(ratings_in(seen) == from_to(0, 200));
    co_return result<void>{};
  };
  good(w.run(both()));
  CHECK(changes.routing()->size() > 4);
}

TEST_CASE("many write while partitions split and merge, and every change is told in its order") {
  world w{"control"};
  reviews in = w.made();
  constexpr int writers = 24;
  constexpr int each = 25;
  std::map<std::string, int> last;
  std::size_t seen = 0;
  bool is_in_order = true;
  auto const write = [](reviews& to, int writer) -> task<result<void>> {
    for (int i = 0; i < each; ++i) {
      std::string const name = std::to_string(writer);
      review one{"r-" + name + "-" + std::to_string(i), "a-" + name, i};
      auto creating = to.create(std::move(one));
      auto const made = co_await std::move(creating);
      if (!made) co_return keyspan::unexpected{made.error()};
    }
    co_return result<void>{};
  };
  auto const read = [&]() -> task<result<void>> {
    auto const late = w.by->over.clock().now() + 30s;
    keyspan::feed changes{in, {.page_size = 10, .deadline = late}};
    auto reading = changes.follow(w.by->over.clock(), 5ms).stream();
    while (seen < std::size_t{writers * each}) {
      auto next = reading.next_page();
      auto const* const page = co_await std::move(next);
      if (page == nullptr) break;
      if (!*page) co_return keyspan::unexpected{page->error()};
      for (auto const& one : (*page)->items) {
        auto const [at, is_first] = last.try_emplace(one->article, -1);
        is_in_order = is_in_order && one->rating == at->second + 1;
        at->second = one->rating;
        ++seen;
      }
    }
    auto closing = reading.close();
    co_await std::move(closing);
    co_return result<void>{};
  };
  auto const all = [&]() -> task<std::vector<result<void>>> {
    std::vector<task<result<void>>> work;
    work.push_back(read());
    work.push_back(rearrange(w, in, 15));
    for (int i = 0; i < writers; ++i) work.push_back(write(in, i));
    auto together = when_all(std::move(work));
    co_return co_await std::move(together);
  };
  for (auto const& one : w.run(all())) good(one);
  CHECK(seen == std::size_t{writers * each});
  CHECK(last.size() == std::size_t{writers});
  CHECK(is_in_order);
  CHECK(good(w.run(owners_of(in))).size() > 4);
}

TEST_CASE("a feed of all versions tells what was created, replaced and taken away over a wire") {
  world w{"all_versions"};
  reviews in = w.made();
  keyspan::feed changes{
      in, {.start = keyspan::from_now, .mode = keyspan::feed_mode::all_versions_and_deletes}};
  good(w.run(changes.open_async()));
  good(w.run(in.create({"r-1", "redmond", 1})));
  good(w.run(in.replace({"r-1", "redmond", 2})));
  good(w.run(in.remove("redmond", "r-1")));
  auto const seen = good(w.run(drained(changes)));
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].kind == change_kind::created);
  CHECK(seen[0]->rating == 1);
  CHECK(seen[1].kind == change_kind::replaced);
  CHECK(seen[1]->rating == 2);
  CHECK(seen[1].before->rating == 1);
  CHECK(seen[2].kind == change_kind::removed);
  CHECK(seen[2].item.key() == partition_key{"redmond"});
  // And on from there, elsewhere.
  client other{w.service};
  reviews there = other.open(w.name, "reviews");
  auto const text = changes.cursor().to_text();
  keyspan::feed resumed{there,
                        {.start = good(keyspan::cursor_of(there, text)),
                         .mode = keyspan::feed_mode::all_versions_and_deletes}};
  good(w.run(in.create({"r-2", "seattle", 3})));
  auto const later = good(other.run(drained(resumed)));
  REQUIRE(later.size() == 1);
  CHECK(later[0]->rating == 3);
}

TEST_CASE("two containers are merged into one stream in the order of their numbers") {
  world w{"change_feed"};
  reviews odd = w.made("odd");
  reviews even = w.made("even");
  for (int i = 0; i < 60; ++i) {
    reviews& to = i % 2 == 0 ? even : odd;
    good(w.run(to.create(numbered(i))));
  }
  std::vector<reviews> both{odd, even};
  auto const merged = [&]() -> task<result<std::vector<int>>> {
    std::vector<int> numbers;
    auto reader = keyspan::merge_async(
        both, keyspan::ascending([](change const& one) { return one->rating; }));
    std::optional<keyspan::error> why;
    for (;;) {
      auto next = reader.next_batch();
      auto const* const batch = co_await std::move(next);
      if (batch == nullptr) break;
      if (!*batch) {
        why = batch->error();
        break;
      }
      for (change const& one : **batch) numbers.push_back(one->rating);
    }
    auto closing = reader.close();
    co_await std::move(closing);
    if (why) co_return keyspan::unexpected{*why};
    co_return numbers;
  };
  CHECK(good(w.run(merged())) == from_to(0, 60));
}

// Counts what is handled, and asks both hosts to end once all is.
struct tally {
  template <class Batch>
  result<void> process(Batch& batch) {
    for (auto const& one : batch) handled.insert(one->rating);
    if (handled.size() == wanted) over.request_stop();
    return {};
  }

  std::size_t wanted;
  std::set<int> handled{};
  keyspan::stop_source over{};
};

TEST_CASE("two hosts share the changes of a container that splits, and all are handled") {
  world w{"control"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 100)));
  auto& clock = w.by->over.clock();
  keyspan::memory_store store{clock};
  tally book{.wanted = 200};
  auto const host = [&](std::string name) -> task<result<void>> {
    keyspan::processor_options<keyspan::any_token> const options{
        .host_name = name,
        .lease_renew_interval = 200ms,
        .lease_acquire_interval = 100ms,
        .lease_expiration_interval = 1s,
        .feed_poll_delay = 10ms,
        .start = keyspan::from_beginning,
        .layout_poll_interval = 50ms,
        .settle_window = 50ms,
        .drain_limit = 500ms,
        .store_timeout = 400ms,
        .leaving_notice = 50ms,
    };
    auto leases = store.view(name, clock);
    keyspan::processor sharing{in, leases, clock, options};
    auto running = sharing.run(book, book.over.token());
    co_return co_await std::move(running);
  };
  auto const late = [&]() -> task<result<void>> {
    auto waiting = clock.wait_until(clock.now() + 20s, book.over.token());
    static_cast<void>(co_await std::move(waiting));
    book.over.request_stop();
    co_return result<void>{};
  };
  auto const work = [&]() -> task<result<void>> {
    auto changing = rearrange(w, in, 3);
    auto const changed = co_await std::move(changing);
    if (!changed) co_return changed;
    auto writing = test::write(in, 100, 200);
    co_return co_await std::move(writing);
  };
  auto const all = [&]() -> task<std::vector<result<void>>> {
    std::vector<task<result<void>>> together;
    together.push_back(host("first"));
    together.push_back(host("second"));
    together.push_back(work());
    together.push_back(late());
    auto running = when_all(std::move(together));
    co_return co_await std::move(running);
  };
  for (auto const& one : w.run(all())) good(one);
  CHECK(book.handled.size() == 200);
}

}  // namespace
