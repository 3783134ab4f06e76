// test/transport/concurrent/memory_container_test.cpp — many threads at one container while its
// partitions split and merge: every document has one history, and a feed misses nothing of it.
#include "../reviews.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/stored.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using test::by_article;
using test::done;
using test::review;
using test::reviews;
using namespace std::chrono_literals;

std::string key_of(std::uint64_t number) { return "a-" + std::to_string(number); }

// One operation on one document: when it began and when it was over, by a clock that all share, and
// which version it wrote or saw.
struct operation {
  std::uint64_t document = 0;
  bool is_write = false;
  std::uint64_t begun = 0;
  std::uint64_t over = 0;
  std::uint64_t lsn = 0;
};

// Versions of a document have an order, their positions. What was over before something else began
// comes before it: so say all pairs, or somebody has looked at the past.
std::string disorder_in(std::vector<operation> all) {
  std::sort(all.begin(), all.end(),
            [](operation const& a, operation const& b) { return a.begun < b.begun; });
  std::vector<operation const*> by_end;
  for (auto const& one : all) by_end.push_back(&one);
  std::sort(by_end.begin(), by_end.end(),
            [](operation const* a, operation const* b) { return a->over < b->over; });
  std::map<std::uint64_t, std::uint64_t> begun_of;  // of the write of a version
  std::set<std::uint64_t> written;
  for (auto const& one : all)
    if (one.is_write) {
      if (!written.insert(one.lsn).second) return "two writes of one version";
      begun_of[one.lsn] = one.begun;
    }
  std::uint64_t newest = 0;  // of all that were over by now
  auto next = by_end.begin();
  for (auto const& one : all) {
    for (; next != by_end.end() && (*next)->over < one.begun; ++next)
      newest = std::max(newest, (*next)->lsn);
    if (one.is_write ? one.lsn <= newest : one.lsn < newest) return "a look at the past";
    if (!one.is_write && one.lsn != 0) {
      auto const write = begun_of.find(one.lsn);
      if (write == begun_of.end()) return "a version that nobody wrote";
      if (write->second > one.over) return "a version before it was written";
    }
  }
  return {};
}

TEST_CASE("the check of histories finds looks at the past") {
  CHECK(disorder_in({{0, true, 1, 2, 1}, {0, false, 3, 4, 1}}).empty());
  CHECK(disorder_in({{0, true, 1, 5, 1}, {0, false, 2, 3, 1}, {0, false, 2, 4, 0}}).empty());
  CHECK(disorder_in({{0, true, 1, 2, 1}, {0, false, 3, 4, 0}}) == "a look at the past");
  CHECK(disorder_in({{0, true, 1, 2, 2}, {0, true, 3, 4, 1}}) == "a look at the past");
  CHECK(disorder_in({{0, false, 1, 2, 1}, {0, true, 3, 4, 1}}) ==
        "a version before it was written");
  CHECK(disorder_in({{0, false, 1, 2, 1}}) == "a version that nobody wrote");
}

TEST_CASE("every document has one history that all see, while partitions split and merge") {
  constexpr std::uint64_t documents = 6;
  constexpr int rounds = 1'500;
  reviews in{cosmos_v2, by_article, {.partitions = 2}};
  std::atomic<std::uint64_t> clock{1};
  std::atomic<int> writing{4};
  std::atomic<std::uint64_t> increments{0};
  std::vector<std::vector<operation>> logs(8);

  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      test::random random{t};
      auto& log = logs[t];
      for (int i = 0; t < 4 ? i < rounds : writing.load() > 0; ++i) {
        operation one{.document = random.below(documents), .is_write = t < 4};
        std::string const article = key_of(one.document);
        one.begun = clock.fetch_add(1);
        if (t >= 4) {
          auto const seen = done(in.read_item(article, "r"));
          one.lsn = seen ? seen->item.lsn() : 0;
        } else if (random.chance(50)) {
          one.lsn = done(in.upsert(review{"r", article, 0})).value().item.lsn();
        } else {
          auto const patched = done(in.patch(article, "r", [](review& r) { ++r.rating; }));
          if (!patched) continue;
          ++increments;
          one.lsn = patched->item.lsn();
        }
        one.over = clock.fetch_add(1);
        log.push_back(one);
        if (t >= 4 && log.size() > 40'000) break;
      }
      if (t < 4) --writing;
    });
  }
  std::thread structure{[&] {
    test::random random{99};
    for (int i = 0; writing.load() > 0; ++i) {
      auto const all = in.partitions();
      auto const at = static_cast<std::size_t>(random.below(all.size()));
      if (all.size() > 6 || (i % 2 == 1 && at + 1 < all.size())) {
        if (at + 1 < all.size()) static_cast<void>(in.merge(all[at].id, all[at + 1].id));
      } else {
        static_cast<void>(in.split(all[at].id));
      }
      std::this_thread::yield();
    }
  }};
  for (auto& thread : threads) thread.join();
  structure.join();

  std::map<std::uint64_t, std::vector<operation>> by_document;
  for (auto const& log : logs)
    for (auto const& one : log) by_document[one.document].push_back(one);
  for (auto const& [document, all] : by_document) CHECK(disorder_in(all) == "");
  CHECK(increments.load() > 0);
  CHECK(in.size() == documents);
}

TEST_CASE("increments by many threads are all there in the end") {
  reviews in{cosmos_v2, by_article, {.partitions = 2}};
  REQUIRE(done(in.create(review{"r", "a", 0})).has_value());
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        if (!done(in.patch("a", "r", [](review& one) { ++one.rating; }))) ++failures;
        if (i % 100 == 0) static_cast<void>(in.split(in.partitions().front().id));
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(failures.load() == 0);
  CHECK(done(in.read_item("a", "r"))->item->rating == 2000);
}

TEST_CASE("one of those who replace one version wins, whoever comes first") {
  reviews in{cosmos_v2, by_article};
  for (int round = 0; round < 200; ++round) {
    auto const etag = done(in.upsert(review{"r", "a", -1}))->item.etag();
    std::atomic<int> won{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        auto const mine = done(in.replace(review{"r", "a", t}, {.if_match = etag}));
        if (mine) ++won;
      });
    for (auto& thread : threads) thread.join();
    CHECK(won.load() == 1);
  }
}

TEST_CASE("a feed that is read while others write tells of every document, in order, none twice") {
  reviews in{cosmos_v2, by_article, {.partitions = 4, .keeps_versions = 1h}};
  std::atomic<int> writing{3};
  std::atomic<int> failures{0};
  feed history{in,
               {.start = keyspan::from_now,
                .mode = keyspan::feed_mode::all_versions_and_deletes,
                .page_size = 16}};
  REQUIRE(history.open().has_value());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      test::random random{static_cast<std::uint64_t>(t)};
      for (int i = 0; i < 1'000; ++i) {
        std::string const article = key_of(random.below(20));
        if (random.chance(20)) {
          keyspan::item_batch<review> work{article};
          for (int n = 0; n < 3; ++n)
            work.upsert(review{std::to_string(t) + "-" + std::to_string(n), article, i});
          auto const all = done(in.execute(work));
          if (!all || !all->is_done()) ++failures;
        } else if (!done(in.upsert(review{std::to_string(t), article, i}))) {
          ++failures;
        }
        if (i % 250 == 0) {
          auto const all = in.partitions();
          static_cast<void>(in.split(all[static_cast<std::size_t>(random.below(all.size()))].id));
        }
      }
      --writing;
    });

  feed latest{in, {.page_size = 16}};
  std::map<std::pair<std::string, std::string>, int> seen;
  std::map<std::string, std::uint64_t> last_of_key;
  bool is_in_order = true;
  std::size_t versions = 0;
  bool is_last = false;
  while (!is_last) {
    is_last = writing.load() == 0;
    for (auto const& one : latest) {
      auto const [place, is_new] = seen.try_emplace({one->article, one->id}, one->rating);
      is_in_order = is_in_order && (is_new || place->second < one->rating);
      place->second = one->rating;
    }
    for (auto const& one : history) {
      auto& last = last_of_key[one->article];
      is_in_order = is_in_order && last <= one.lsn;
      last = one.lsn;
      ++versions;
    }
  }
  for (auto& thread : threads) thread.join();
  CHECK(failures.load() == 0);
  CHECK(is_in_order);
  std::size_t written = 0;
  for (int t = 0; t < 3; ++t) {
    test::random random{static_cast<std::uint64_t>(t)};
    for (int i = 0; i < 1'000; ++i) {
      std::string const article = key_of(random.below(20));
      written += random.chance(20) ? 3u : 1u;
      if (i % 250 == 0) static_cast<void>(random.below(1));
    }
  }
  CHECK(versions == written);
  CHECK(seen.size() == in.size());
  for (auto const& [place, rating] : seen)
    CHECK(done(in.read_item(place.first, place.second))->item->rating == rating);
}

}  // namespace
