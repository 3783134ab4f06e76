// test/merge/concurrent/merged_stream_test.cpp — merges whose pages come on four threads, through
// splits, stopped and closed from others.
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/other_orders.hpp>

#include "../../feed/journal.hpp"
#include "../../feed/pooled_source.hpp"

#include <catch2/catch_test_macros.hpp>

#include <support/random.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using keyspan::as_they_come;
using keyspan::ascending;
using keyspan::errc;
using keyspan::feed;
using keyspan::merge_async;
using test::counted;
using test::entry;
using test::pool;
using test::pooled_source;
using test::reviews_journal;

reviews_journal many_keys(std::size_t partitions, int entries) {
  auto made = test::evenly_divided_journal(keyspan::cosmos_v2, partitions);
  for (int i = 0; i < entries; ++i) made.write("key " + std::to_string(i));
  return made;
}

struct story {
  std::vector<int> numbers{};
  std::optional<keyspan::error> why{};
};

// To the end, or until so many items are there.
template <class Stream>
keyspan::task<story> read(Stream& stream, bool by_batches, std::size_t most = ~std::size_t{}) {
  story to;
  while (to.numbers.size() < most) {
    if (by_batches) {
      auto* const batch = co_await stream.next_batch();
      if (batch == nullptr) break;
      if (!*batch) {
        to.why = batch->error();
        continue;
      }
      for (entry const& one : **batch) to.numbers.push_back(one.number);
    } else {
      auto item = co_await stream.next();
      if (item && !item.has_value()) to.why = item.error();
      if (!item.has_value()) break;
      to.numbers.push_back(item->number);
    }
  }
  co_return to;
}

void split_now_and_then(pooled_source& pooled, int count, std::uint64_t seed) {
  test::random rng{seed};
  for (int i = 0; i < count; ++i) {
    pooled.meanwhile([&](reviews_journal& journal) {
      journal.split_in_half(std::string{journal.live()[rng.below(journal.live().size())].id});
    });
    for (int turn = 0; turn < 20; ++turn) std::this_thread::yield();
  }
}

TEST_CASE("a merge is read whose pages come on four threads, through splits") {
  for (bool const by_batches : {false, true})
    for (bool const reads_ahead : {false, true}) {
      pool threads;
      auto source = many_keys(64, 3000);
      pooled_source pooled{source, threads};
      feed changes{pooled, {.page_size = 20}};
      auto stream = merge_async(changes, ascending(&entry::number), {.reads_ahead = reads_ahead});
      std::thread splits{[&] { split_now_and_then(pooled, 20, 7); }};
      auto const got = keyspan::sync_wait(read(stream, by_batches));
      splits.join();
      keyspan::sync_wait(stream.close());
      CHECK_FALSE(got.why.has_value());
      CHECK(got.numbers == counted(0, 3000));
    }
}

TEST_CASE("as they come pages from four threads are given once each") {
  pool threads;
  auto source = many_keys(64, 3000);
  pooled_source pooled{source, threads};
  auto stream = merge_async(pooled, as_they_come);
  std::thread splits{[&] { split_now_and_then(pooled, 20, 8); }};
  auto const got = keyspan::sync_wait(read(stream, true));
  splits.join();
  keyspan::sync_wait(stream.close());
  CHECK(test::sorted(got.numbers) == counted(0, 3000));
}

TEST_CASE("a merge is closed in the middle, at any time, by who reads it") {
  test::random rng{3};
  for (int round = 0; round < 60; ++round) {
    pool threads;
    auto source = many_keys(64, 1000);
    pooled_source pooled{source, threads};
    auto stream = merge_async(pooled, ascending(&entry::number), {.batch_size = 16});
    std::thread splits{[&] { split_now_and_then(pooled, 4, 9); }};
    auto const got = keyspan::sync_wait(read(stream, round % 2 == 0, rng.below(900)));
    keyspan::sync_wait(stream.close());
    splits.join();
    CHECK(got.numbers == counted(0, static_cast<int>(got.numbers.size())));
  }
}

template <class Stream>
keyspan::task<> close_soon(Stream& stream, std::uint64_t turns) {
  for (std::uint64_t i = 0; i < turns; ++i) std::this_thread::yield();
  co_await stream.close();
}
// Asks for more while somebody closes: it comes on another thread, at about that time.
template <class Stream>
keyspan::task<story> raced(Stream& stream, bool by_batches, std::size_t before,
                           std::uint64_t delay) {
  auto got = co_await read(stream, by_batches, before);
  auto both = when_all(read(stream, by_batches, 1), close_soon(stream, delay));
  auto const results = co_await std::move(both);
  for (int const number : std::get<0>(results).numbers) got.numbers.push_back(number);
  auto const rest = co_await read(stream, by_batches);
  if (!rest.numbers.empty()) got.why.emplace(errc::unsupported, "there was more behind a close");
  co_return got;
}

TEST_CASE("a merge is closed while who reads it waits on another thread") {
  test::random rng{4};
  for (int round = 0; round < 300; ++round) {
    pool threads;
    auto source = many_keys(16, 200);
    pooled_source pooled{source, threads};
    auto stream = merge_async(pooled, ascending(&entry::number), {.batch_size = 8});
    auto const got =
        keyspan::sync_wait(raced(stream, round % 2 == 0, rng.below(190), rng.below(30)));
    CHECK_FALSE(got.why.has_value());
    CHECK(got.numbers == counted(0, static_cast<int>(got.numbers.size())));
  }
}

TEST_CASE("a merge is stopped from another thread by the token of its feed") {
  for (int round = 0; round < 60; ++round) {
    pool threads;
    auto source = many_keys(16, 600);
    pooled_source pooled{source, threads};
    keyspan::stop_source stop;
    feed changes{pooled, {.stop = stop.token()}};
    auto stream = merge_async(changes, ascending(&entry::number));
    story got;
    std::thread reader{[&] { got = keyspan::sync_wait(read(stream, round % 2 == 0)); }};
    for (int i = 0; i < round * 20; ++i) std::this_thread::yield();
    stop.request_stop();
    reader.join();
    keyspan::sync_wait(stream.close());
    CHECK((got.why ? got.why->code == errc::stopped : got.numbers.size() == 600));
    CHECK(got.numbers == counted(0, static_cast<int>(got.numbers.size())));
  }
}

TEST_CASE("a source that is not sorted is told of while its next page comes on another thread") {
  for (int round = 0; round < 40; ++round) {
    pool threads;
    auto source = many_keys(8, 200);
    pooled_source pooled{source, threads};
    auto stream = merge_async(pooled, keyspan::descending(&entry::number));
    story got;
    for (int attempt = 0; attempt < 2; ++attempt) {
      got = keyspan::sync_wait(read(stream, true));
      CHECK(got.why.has_value());
      if (got.why) CHECK(got.why->code == errc::out_of_order);
      stream.again();
    }
    keyspan::sync_wait(stream.close());
  }
}

}  // namespace
