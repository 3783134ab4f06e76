// test/transport/concurrent/memory_container_test.cpp — many threads at one container while its
// partitions split and merge: every document has one history, and a feed misses nothing of it.
#include "../reviews.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/range/token_range.hpp>
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
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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
// what it wrote or saw.
struct operation {
  enum class kind { writes, removes, sees, sees_something, sees_nothing };

  kind what = kind::sees_nothing;
  std::uint64_t begun = 0;
  std::uint64_t over = 0;
  std::uint64_t lsn = 0;         // of what was written or seen
  bool was_there = false;        // before a write
  std::uint64_t lsn_before = 0;  // of what a removal took away

  bool is_write() const { return what == kind::writes || what == kind::removes; }
};
using kind = operation::kind;

// Whether one order of all operations explains what each has seen: writes come in the order of
// their positions, and what was over before something else began comes before it.
//
//   1    2     3    4     5    ...     where each stands: the first write at 2, the second at 4,
//      write      write                a look between them at 3
//
// Each operation stands as early as what was over by then lets it. So if any order explains them
// all this one does.
std::string disorder_in(std::vector<operation> all) {
  std::sort(all.begin(), all.end(),
            [](operation const& a, operation const& b) { return a.begun < b.begun; });
  std::map<std::uint64_t, operation const*> by_lsn;
  for (auto const& one : all)
    if (one.is_write() && !by_lsn.emplace(one.lsn, &one).second) return "two writes of one version";
  std::map<std::uint64_t, std::size_t> place_of;  // of a write
  std::set<std::size_t> with_document;            // between writes
  std::set<std::size_t> without{1};
  operation const* last = nullptr;
  std::size_t place = 0;
  for (auto const& [lsn, write] : by_lsn) {
    bool const was_there = last != nullptr && last->what == kind::writes;
    if (write->was_there != was_there) return "a write upon what was not so";
    if (write->what == kind::removes && write->lsn_before != last->lsn)
      return "a removal of another version";
    place_of[lsn] = place += 2;
    (write->what == kind::writes ? with_document : without).insert(place + 1);
    last = write;
  }

  std::set<std::pair<std::uint64_t, std::size_t>>
      under_way;           // when it is over, and where it stands
  std::size_t newest = 0;  // of all that were over by now
  for (auto const& one : all) {
    while (!under_way.empty() && under_way.begin()->first < one.begun) {
      newest = std::max(newest, under_way.begin()->second);
      under_way.erase(under_way.begin());
    }
    std::size_t stands_at = 0;
    if (one.is_write()) {
      stands_at = place_of[one.lsn];
      if (stands_at <= newest) return "a write into the past";
    } else if (one.what == kind::sees) {
      auto const write = by_lsn.find(one.lsn);
      if (write == by_lsn.end() || write->second->what == kind::removes)
        return "a version that nobody wrote";
      stands_at = place_of[one.lsn] + 1;
      if (stands_at < newest) return "a look at the past";
    } else {
      auto const& places = one.what == kind::sees_nothing ? without : with_document;
      auto const first = places.lower_bound(newest);
      if (first == places.end()) return "a look at the past";
      stands_at = *first;
    }
    under_way.emplace(one.over, stands_at);
  }
  return {};
}

// The same by trying all orders.
bool is_explained(std::vector<operation> const& all) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::uint64_t lsn = 0;
    bool is_there = false;
    bool is_good = true;
    for (std::size_t i = 0; i < order.size() && is_good; ++i) {
      operation const& one = all[order[i]];
      for (std::size_t later = i + 1; later < order.size(); ++later)
        is_good = is_good && all[order[later]].over >= one.begun;
      switch (one.what) {
        case kind::sees:
          is_good = is_good && is_there && one.lsn == lsn;
          break;
        case kind::sees_something:
          is_good = is_good && is_there;
          break;
        case kind::sees_nothing:
          is_good = is_good && !is_there;
          break;
        case kind::writes:
        case kind::removes:
          is_good = is_good && one.was_there == is_there && one.lsn > lsn &&
                    (one.what == kind::writes || one.lsn_before == lsn);
          lsn = one.lsn;
          is_there = one.what == kind::writes;
      }
    }
    if (is_good) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST_CASE("the check of histories finds looks at the past") {
  operation const first{kind::writes, 1, 2, 1};
  operation const second{kind::writes, 3, 4, 2, true};
  CHECK(disorder_in({first, {kind::sees, 3, 4, 1}}).empty());
  CHECK(disorder_in({{kind::writes, 1, 5, 1}, {kind::sees, 2, 3, 1}, {kind::sees_nothing, 2, 4}})
            .empty());
  CHECK(disorder_in({first, second, {kind::sees, 5, 6, 1}}) == "a look at the past");
  CHECK(disorder_in({first, {kind::sees_nothing, 3, 4}}) == "a look at the past");
  CHECK(disorder_in({{kind::writes, 1, 2, 2, true}, {kind::writes, 3, 4, 1}}) ==
        "a write into the past");
  CHECK(disorder_in({{kind::sees, 1, 2, 1}, {kind::writes, 3, 4, 1}}) == "a write into the past");
  CHECK(disorder_in({{kind::sees, 1, 2, 1}}) == "a version that nobody wrote");
  CHECK(disorder_in({first, {kind::writes, 3, 4, 2}}) == "a write upon what was not so");
  CHECK(disorder_in({first, second, {kind::removes, 5, 6, 3, true, 1}}) ==
        "a removal of another version");
  // Between two looks at nothing the document came, and went by a removal that is over too late.
  operation const removal{kind::removes, 3, 9, 2, true, 1};
  CHECK(disorder_in({first, removal, {kind::sees_nothing, 4, 5}, {kind::sees_nothing, 6, 7}})
            .empty());
  CHECK(disorder_in({first, removal, {kind::sees_nothing, 4, 5}, {kind::sees_something, 6, 7}}) ==
        "a look at the past");
}

TEST_CASE("the check of histories says what trying all orders says") {
  int good = 0;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    test::random random{seed};
    // A history as it may be, and then a little wrong.
    std::vector<operation> all;
    std::uint64_t lsn = 0;
    bool is_there = false;
    for (std::uint64_t i = 0; i < 6; ++i) {
      std::uint64_t const moment = 10 * (i + 1);
      operation one{.begun = moment - random.below(25) % moment, .over = moment + random.below(25)};
      if (random.chance(55)) {
        one.was_there = is_there;
        one.lsn_before = lsn;
        one.what = is_there && random.chance(50) ? kind::removes : kind::writes;
        is_there = one.what == kind::writes;
        one.lsn = lsn += 1 + random.below(2);
      } else {
        one.what = !is_there           ? kind::sees_nothing
                   : random.chance(50) ? kind::sees
                                       : kind::sees_something;
        one.lsn = lsn;
      }
      all.push_back(one);
    }
    auto& wrong = all[static_cast<std::size_t>(random.below(all.size()))];
    switch (random.below(4)) {
      case 0:
        wrong.lsn = 1 + random.below(lsn + 1);
        break;
      case 1:
        if (!wrong.is_write()) wrong.what = kind::sees_nothing;
        break;
      case 2:
        wrong.over = wrong.begun + 1;
        break;
      default:
        wrong.begun += random.below(40);
        wrong.over += 40;
    }
    bool const is_good = is_explained(all);
    CHECK(disorder_in(all).empty() == is_good);
    good += is_good ? 1 : 0;
  }
  CHECK(good > 500);
  CHECK(good < 2'500);
}

std::uint64_t lsn_of(test::reviews::answer_type const& written) {
  std::string_view const token = written.session_token;
  return std::stoull(std::string{token.substr(token.find(':') + 1)});
}

// Does something to a document, and says what it was. None where it came to nothing that tells.
std::optional<operation> written(reviews& in, std::string const& article, test::random& random) {
  operation one{.what = kind::writes};
  auto const what = random.below(100);
  if (what < 30) {
    auto const gone = done(in.remove(article, "r"));
    if (!gone && gone.error().code != errc::not_found) return std::nullopt;
    one.what = gone ? kind::removes : kind::sees_nothing;
    if (!gone) return one;
    one.was_there = true;
    one.lsn_before = gone->item.lsn();
    one.lsn = lsn_of(*gone);
    return one;
  }
  auto const answer = [&] {
    if (what < 50) return done(in.create(review{"r", article, 0}));
    if (what < 70) return done(in.upsert(review{"r", article, 0}));
    if (what < 80) return done(in.replace(review{"r", article, 0}));
    return done(in.patch(article, "r", [](review& seen) { ++seen.rating; }));
  }();
  if (answer) {
    one.was_there = answer->status == 200;
    one.lsn = lsn_of(*answer);
    if (answer->item.lsn() != one.lsn) return std::nullopt;
    return one;
  }
  if (answer.error().code == errc::not_found) {
    one.what = kind::sees_nothing;
    return one;
  }
  one.what = kind::sees_something;
  if (answer.error().code == errc::already_exists) return one;
  return std::nullopt;
}

TEST_CASE("every document has one history that all see, while partitions split and merge") {
  constexpr std::uint64_t documents = 6;
  constexpr int rounds = 1'500;
  reviews in{cosmos_v2, by_article, {.partitions = 2}};
  std::atomic<std::uint64_t> clock{1};
  std::atomic<int> writing{4};
  std::atomic<int> unexplained{0};
  std::vector<std::map<std::uint64_t, std::vector<operation>>> logs(8);

  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      test::random random{t};
      auto& log = logs[t];
      for (int i = 0; t < 4 ? i < rounds : writing.load() > 0 && i < 40'000; ++i) {
        std::uint64_t const document = random.below(documents);
        std::string const article = key_of(document);
        std::optional<operation> one;
        std::uint64_t const begun = clock.fetch_add(1);
        if (t < 4) {
          one = written(in, article, random);
        } else if (auto const seen = done(in.read_item(article, "r"))) {
          one = operation{.what = kind::sees, .lsn = seen->item.lsn()};
        } else if (seen.error().code == errc::not_found) {
          one = operation{.what = kind::sees_nothing};
        }
        if (one) {
          one->begun = begun;
          one->over = clock.fetch_add(1);
          log[document].push_back(*one);
        } else {
          ++unexplained;
        }
      }
      if (t < 4) --writing;
    });
  }
  int changes = 0;
  std::thread structure{[&] {
    test::random random{99};
    for (int i = 0; i == 0 || writing.load() > 0; ++i) {
      auto const all = in.partitions();
      auto const at = static_cast<std::size_t>(random.below(all.size()));
      bool is_done = false;
      if (all.size() > 6 || (i % 2 == 1 && at + 1 < all.size())) {
        if (at + 1 < all.size()) is_done = in.merge(all[at].id, all[at + 1].id).has_value();
      } else {
        is_done = in.split(all[at].id).has_value();
      }
      if (is_done) ++changes;
      std::this_thread::yield();
    }
  }};
  for (auto& thread : threads) thread.join();
  structure.join();

  CHECK(unexplained.load() == 0);
  CHECK(changes > 0);
  std::map<std::uint64_t, std::vector<operation>> by_document;
  for (auto const& log : logs)
    for (auto const& [document, some] : log)
      by_document[document].insert(by_document[document].end(), some.begin(), some.end());
  std::size_t there = 0;
  std::map<kind, std::size_t> count;
  for (auto const& [document, all] : by_document) {
    CHECK(disorder_in(all) == "");
    operation const* oldest = nullptr;
    operation const* newest = nullptr;
    for (auto const& one : all) {
      ++count[one.what];
      if (one.what == kind::writes && (oldest == nullptr || one.lsn < oldest->lsn)) oldest = &one;
      if (one.is_write() && (newest == nullptr || newest->lsn < one.lsn)) newest = &one;
    }
    REQUIRE(newest != nullptr);
    bool const is_there = newest->what == kind::writes;
    there += is_there ? 1u : 0u;
    // A look that is too old is noticed, whoever has looked and whenever.
    auto planted = all;
    std::uint64_t const now = clock.load();
    planted.push_back({.what = kind::sees, .begun = now, .over = now + 1, .lsn = oldest->lsn});
    CHECK(disorder_in(planted) == "a look at the past");
    planted.back().what = is_there ? kind::sees_nothing : kind::sees_something;
    CHECK(disorder_in(planted) == "a look at the past");
  }
  for (auto const what :
       {kind::writes, kind::removes, kind::sees, kind::sees_something, kind::sees_nothing})
    CHECK(count[what] > 0);
  CHECK(in.size() == there);
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

// A scheme that takes its time to find the middle of a range.
struct slow_scheme : keyspan::fast64_scheme {
  static inline std::function<void()> meanwhile{};

  keyspan::result<std::uint64_t> midpoint(std::uint64_t lower,
                                          keyspan::upper_end<std::uint64_t> const& upper) const {
    if (meanwhile) meanwhile();
    return keyspan::fast64_scheme::midpoint(lower, upper);
  }
};

TEST_CASE("who waits at a partition while it is split writes into the part of it") {
  std::atomic<bool> is_cutting{false};
  std::atomic<bool> has_come{false};
  keyspan::memory_container<review, slow_scheme> in{slow_scheme{}, by_article, {.now = [&] {
                                                      if (is_cutting.load()) has_come = true;
                                                      return keyspan::wall_time{};
                                                    }}};
  std::thread writer;
  slow_scheme::meanwhile = [&] {
    is_cutting = true;
    writer = std::thread{[&] { static_cast<void>(done(in.create(review{"r", "a", 7}))); }};
    while (!has_come.load()) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);  // it stands at the lock
  };
  auto const parts = in.split("0");
  writer.join();
  slow_scheme::meanwhile = nullptr;
  REQUIRE(parts.has_value());
  CHECK(in.size() == 1);
  CHECK(done(in.read_item("a", "r"))->item->rating == 7);
}

TEST_CASE("who waits at two partitions while they are merged writes into what they become") {
  std::atomic<int> coming{0};
  reviews in{cosmos_v2, by_article, {.partitions = 2, .now = [&] {
                                       ++coming;
                                       return keyspan::wall_time{};
                                     }}};
  auto const article_in = [&](std::size_t partition) {
    std::uint64_t number = 0;
    while (!in.partitions()[partition].range.contains(keyspan::token_of(cosmos_v2, key_of(number))))
      ++number;
    return key_of(number);
  };
  std::string const articles[]{article_in(0), article_in(1)};
  REQUIRE(done(in.create(review{"held", articles[1], 1})).has_value());
  std::atomic<bool> is_held{false};
  std::atomic<bool> may_go{false};
  keyspan::item_batch<review> work{articles[1]};
  work.patch("held", [&](review& one) {
    is_held = true;
    while (!may_go.load()) std::this_thread::yield();
    ++one.rating;
  });
  std::vector<std::thread> threads;
  threads.emplace_back([&] { static_cast<void>(done(in.execute(work))); });
  while (!is_held.load()) std::this_thread::yield();
  bool is_merged = false;
  threads.emplace_back([&] { is_merged = in.merge("0", "1").has_value(); });
  std::this_thread::sleep_for(20ms);  // it has the left one, and stands at the right one
  coming = 0;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back(
        [&, i] { static_cast<void>(done(in.create(review{"r", articles[i], i}))); });
  while (coming.load() < 2) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  may_go = true;
  for (auto& thread : threads) thread.join();
  CHECK(is_merged);
  CHECK(in.size() == 3);
  for (int i = 0; i < 2; ++i) CHECK(done(in.read_item(articles[i], "r"))->item->rating == i);
  CHECK(done(in.read_item(articles[1], "held"))->item->rating == 2);
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
