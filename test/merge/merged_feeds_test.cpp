// test/merge/merged_feeds_test.cpp — feeds in plain loops: left, piped, gone on with and failing;
// and followed.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merged_feeds.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <feed/journal.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::merge;
using test::check;
using test::counted;
using test::entry;
using test::numbers_of;
using test::reviews_in;
using test::reviews_journal;

constexpr auto number = &entry::number;
using by_number = decltype(ascending(number));
using reviews_merged = decltype(merge(std::declval<reviews_journal&>(), std::declval<by_number>()));
using merged_items = decltype(std::declval<reviews_merged&>().items());
using merged_batches = decltype(std::declval<reviews_merged&>().batches());

static_assert(std::movable<reviews_merged> && !std::copyable<reviews_merged>);
static_assert(std::ranges::input_range<reviews_merged>);
static_assert(!std::ranges::forward_range<reviews_merged> && !std::ranges::view<reviews_merged>);
static_assert(std::same_as<std::ranges::range_reference_t<reviews_merged>, entry&>);
static_assert(std::ranges::view<merged_items> && std::ranges::borrowed_range<merged_items>);
static_assert(std::ranges::view<merged_batches> && std::ranges::borrowed_range<merged_batches>);
static_assert(std::ranges::input_range<merged_batches>);
template <class Merged>
concept gives_views = requires(Merged m) { static_cast<Merged&&>(m).items(); } ||
                      requires(Merged m) { static_cast<Merged&&>(m).batches(); };
static_assert(gives_views<reviews_merged&> && !gives_views<reviews_merged>);

template <class Loop>
keyspan::error failure_of(Loop&& loop) {
  try {
    loop();
  } catch (keyspan::failed const& thrown) {
    return thrown.error();
  }
  return keyspan::error{errc::malformed, "nothing was thrown"};
}

TEST_CASE("the example of merged_feeds reads as it should") {
  auto container = reviews_in(3, 30);
  std::vector<int> seen;
  auto const use = [&](entry const& one) { seen.push_back(one.number); };
  // [region: example]
  auto merged = keyspan::merge(container, keyspan::ascending(&entry::number));
  for (entry const& one : merged) {
    if (one.number == 12) break;
    use(one);
  }
  for (entry const& one : merged) use(one);  // goes on with 12

  container.write("redmond");
  container.split_in_half("1");
  for (entry const& one : merged) use(one);  // what is new

  // An error comes in the last of the batches. The next loop tries again.
  container.write("seattle");
  container.read_errors.emplace_back(keyspan::errc::throttled, "too much was asked");
  for (auto const& batch : merged.batches())
    if (!batch) check(batch.error().code == keyspan::errc::throttled);
  for (auto const& batch : merged.batches())
    for (entry const& one : batch.value()) use(one);
  // [end: example]
  CHECK(seen == counted(0, 32));
}

TEST_CASE("a merge of feeds gives all of each, once, in its order, and then what is new") {
  for (std::size_t const partitions : {1u, 2u, 3u, 8u})
    for (std::size_t const batch : {1u, 2u, 5u, 256u})
      for (bool const reads_ahead : {false, true}) {
        auto source = reviews_in(partitions, 50);
        auto merged =
            merge(source, ascending(number), {.batch_size = batch, .reads_ahead = reads_ahead});
        CHECK(source.reads.empty());
        CHECK(numbers_of(merged) == counted(0, 50));
        CHECK(numbers_of(merged).empty());
        source.write_many(7);
        source.split_in_half("0");
        CHECK(numbers_of(merged) == counted(50, 57));
        CHECK(numbers_of(merged.items()).empty());
        source.write_many(1);
        CHECK(numbers_of(merged.items()) == counted(57, 58));
      }
}

TEST_CASE("a loop over feeds that was left goes on with the item that it was left at") {
  for (std::size_t const batch : {1u, 2u, 3u, 7u, 256u})
    for (int first = 0; first < 30; ++first) {
      auto source = reviews_in(3, 30);
      auto merged = merge(source, ascending(number), {.batch_size = batch, .reads_ahead = false});
      std::vector<int> given;
      for (entry const& one : merged) {
        if (one.number == first) break;
        given.push_back(one.number);
      }
      CHECK(given == counted(0, first));
      for (entry const& one : merged) {
        if (one.number == first + 1) break;
        given.push_back(one.number);
      }
      CHECK(given == counted(0, first + 1));
      for (entry const& one : merged) given.push_back(one.number);
      CHECK(given == counted(0, 30));
    }
}

TEST_CASE("pipes of both libraries take as many as they say and leave the rest") {
  auto source = reviews_in(3, 60);
  auto merged = merge(source, ascending(number), {.batch_size = 4, .reads_ahead = false});
  auto const is_even = [](entry const& one) { return one.number % 2 == 0; };
  std::vector<int> given;
  for (int const one : merged.items() | std::views::take(10) | std::views::filter(is_even) |
                           std::views::transform(number))
    given.push_back(one);
  CHECK(given == std::vector<int>{0, 2, 4, 6, 8});
  given = merged.items() | ranges::views::filter(is_even) | ranges::views::transform(number) |
          ranges::views::take(6) | ranges::to<std::vector<int>>();
  CHECK(given == std::vector<int>{10, 12, 14, 16, 18, 20});
  CHECK(numbers_of(merged.items() | std::views::take(4)) == counted(22, 26));  // 21 was looked at
  CHECK(numbers_of(merged) == counted(26, 60));
}

TEST_CASE("a copy of an iterator stands where the other one has gone on to") {
  auto source = reviews_in(2, 20);
  auto merged = merge(source, ascending(number), {.batch_size = 3, .reads_ahead = false});
  auto it = merged.begin();
  CHECK(it->number == 0);
  CHECK((*it).number == 0);
  it++;
  ++it;
  ++it;
  ++it;  // over the end of a batch, unseen
  CHECK(it->number == 4);
  auto const copy = it;
  CHECK(copy->number == 4);
  CHECK(merged.source() < 2);
  std::ranges::iterator_t<reviews_merged> const none{};
  CHECK(none == std::default_sentinel);
}

TEST_CASE("batches hold as many items as they may, and one that was handed out is not again") {
  auto source = reviews_in(3, 30);
  auto merged = merge(source, ascending(number), {.batch_size = 4, .reads_ahead = true});
  std::vector<int> given;
  for (auto const& batch : merged.batches()) {
    REQUIRE(batch.has_value());
    CHECK(!batch->empty());
    CHECK(batch->size() <= 4);
    for (entry const& one : *batch) given.push_back(one.number);
    if (given.size() > 9) break;
  }
  auto const left = given.size();
  for (auto const& batch : merged.batches())
    for (entry const& one : *batch) given.push_back(one.number);
  CHECK(left < given.size());
  CHECK(given == counted(0, 30));

  // Left by a loop over items, it is given whole.
  source.write_many(8);
  for (entry const& one : merged)
    if (one.number == 31) break;
  given.clear();
  for (auto const& batch : merged.batches())
    for (entry const& one : *batch) given.push_back(one.number);
  CHECK(given.back() == 37);
  CHECK((given.front() == 30 || given.front() == 31));

  // And a loop over items goes on behind one that was handed out.
  source.write_many(12);
  std::size_t handed_out = 0;
  for (auto const& batch : merged.batches()) {
    handed_out = batch->size();
    break;
  }
  CHECK(numbers_of(merged) == counted(38 + static_cast<int>(handed_out), 50));
}

TEST_CASE("an error is thrown by loops over items, and the next one tries again") {
  for (bool const reads_ahead : {false, true})
    for (int at = 0; at < 10; ++at) {
      auto source = reviews_in(3, 30);
      auto merged = merge(source, ascending(number), {.batch_size = 3, .reads_ahead = reads_ahead});
      int reads = 0;
      source.before_read = [&] {
        if (reads++ == at) source.read_errors.emplace_back(errc::throttled, "too much");
      };
      std::vector<int> given;
      auto const loop = [&] {
        for (entry const& one : merged) given.push_back(one.number);
      };
      CHECK(failure_of(loop).code == errc::throttled);
      CHECK(given.size() < 30);
      loop();
      CHECK(given == counted(0, 30));
    }
}

TEST_CASE("an error is the last of the batches, and the next loop tries again") {
  for (int at = 0; at < 10; ++at) {
    auto source = reviews_in(3, 30);
    auto merged = merge(source, ascending(number), {.batch_size = 3, .reads_ahead = true});
    int reads = 0;
    source.before_read = [&] {
      if (reads++ == at) source.read_errors.emplace_back(errc::throttled, "too much");
    };
    std::vector<int> given;
    std::size_t failed = 0;
    for (int round = 0; round < 2; ++round)
      for (auto const& batch : merged.batches()) {
        CHECK(failed == static_cast<std::size_t>(round));
        if (batch) {
          for (entry const& one : *batch) given.push_back(one.number);
        } else {
          ++failed;
        }
      }
    CHECK(failed == 1);
    CHECK(given == counted(0, 30));
  }
}

TEST_CASE("an iterator that an error was thrown at throws it again, and a new loop tries again") {
  auto source = reviews_in(1, 9);
  auto merged = merge(source, ascending(number));
  auto it = merged.begin();
  bool is_away = true;
  source.before_read = [&] {
    if (is_away) source.read_errors.emplace_back(errc::throttled, "too much");
  };
  int given = 0;
  auto const go_on = [&] {
    for (; it != std::default_sentinel; ++it) ++given;
  };
  CHECK(failure_of(go_on).code == errc::throttled);
  CHECK(given < 9);
  for (int attempt = 0; attempt < 3; ++attempt)
    CHECK(failure_of([&] { ++it; }).code == errc::throttled);
  is_away = false;
  CHECK(numbers_of(merged) == counted(given, 9));
}

TEST_CASE("a merge without items has no batches") {
  auto source = reviews_in(3, 0);
  auto merged = merge(source, ascending(number));
  for (int round = 0; round < 2; ++round) {
    auto const batches = merged.batches();
    CHECK(batches.begin() == batches.end());
  }
  source.write_many(5);
  std::vector<int> given;
  for (auto const& batch : merged.batches())
    for (entry const& one : batch.value()) given.push_back(one.number);
  CHECK(given == counted(0, 5));
  CHECK(merged.batches().begin() == merged.batches().end());
}

// One of its reads throws.
struct throwing_source : reviews_journal {
  using reviews_journal::reviews_journal;
  int reads_until_throw = 0;
  auto read(range_type const& range, keyspan::continuation const& from,
            keyspan::read_request const& request) {
    if (reads_until_throw > 0 && --reads_until_throw == 0) throw std::runtime_error{"out of paper"};
    return reviews_journal::read(range, from, request);
  }
};

TEST_CASE("what a source throws leaves a loop, and the next one goes on where it was") {
  for (bool const by_batches : {false, true})
    for (int when = 1; when <= 12; ++when) {
      throwing_source source{cosmos_v2, {cosmos_v2.boundary(1, 3), cosmos_v2.boundary(2, 3)}};
      source.write_many(30);
      source.reads_until_throw = when;
      auto merged = merge(source, ascending(number), {.batch_size = 4});
      std::vector<int> given;
      auto const loop = [&] {
        if (by_batches) {
          for (auto const& batch : merged.batches())
            for (entry const& one : batch.value()) given.push_back(one.number);
        } else {
          for (entry const& one : merged) given.push_back(one.number);
        }
      };
      CHECK_THROWS_AS(loop(), std::runtime_error);
      CHECK(given.size() < 30);
      loop();
      CHECK(given == counted(0, 30));
    }
}

TEST_CASE("a merge that goes on without who failed says who that was") {
  auto source = reviews_in(3, 30);
  source.before_read = [&] {
    if (source.reads.back().partition == "1")
      source.read_errors.emplace_back(errc::throttled, "too much");
  };
  auto merged = merge(source, ascending(number), {.failure = keyspan::on_failure::go_on});
  auto const given = numbers_of(merged);
  CHECK(given.size() < 30);
  REQUIRE(merged.failures().size() == 1);
  CHECK(merged.failures().front().source == 1);
  CHECK(merged.failures().front().why.code == errc::throttled);
  source.before_read = {};
  CHECK(given.size() + numbers_of(merged).size() == 30);
  CHECK(merged.failures().empty());
}

TEST_CASE("a source is told by its feed") {
  std::deque<reviews_journal> sources;
  for (int i = 0; i < 3; ++i) sources.push_back(reviews_in(2, 12));
  std::vector<feed<reviews_journal>> feeds;
  for (auto& one : sources) feeds.emplace_back(one);
  auto merged = merge(feeds, ascending(number));
  std::vector<std::size_t> found;
  for (entry const& one : merged)
    if (one.number == 5) found.push_back(merged.feed_of(merged.source()));
  CHECK(found == std::vector<std::size_t>{0, 1, 2});
  CHECK(merged.feed_of(5) == 2);
  CHECK(test::promise_broken_by([&] { return merged.feed_of(6); }) ==
        "the number is that of a source");

  sources[1].topology_errors.emplace_back(errc::unavailable, "nobody knows");
  auto others = merge(feeds, ascending(number), {.failure = keyspan::on_failure::go_on});
  CHECK(numbers_of(others).size() == 24);
  REQUIRE(others.failures().size() == 1);
  CHECK(others.failures().front().feed == 1);
}

TEST_CASE("a plain loop reads ahead only where that is asked for, whatever else is") {
  auto const reads = [](keyspan::merge_options options) {
    auto source = reviews_in(2, 200);
    feed changes{source, {.page_size = 5}};
    auto merged = merge(changes, ascending(number), options);
    CHECK(merged.begin()->number == 0);
    return source.reads.size();
  };
  CHECK(reads({}) == 2);
  CHECK(reads({.failure = keyspan::on_failure::go_on}) == 2);
  CHECK(reads({.reads_ahead = false}) == 2);
  CHECK(reads({.reads_ahead = true}) == 4);
}

TEST_CASE("views and iterators stay good when the merge is moved") {
  auto source = reviews_in(3, 30);
  auto merged = merge(source, ascending(number), {.batch_size = 4});
  auto const items = merged.items();
  auto it = items.begin();
  for (int i = 0; i < 5; ++i) ++it;
  auto moved = std::move(merged);
  CHECK(it->number == 5);
  CHECK(numbers_of(items | std::views::take(3)) == counted(5, 8));
  CHECK(numbers_of(moved) == counted(8, 30));
  CHECK(test::promise_broken_by([&] { return merged.cursor().order; }) ==
        "a merge that was moved from is read no more");
  CHECK(test::promise_broken_by([] { return merged_items{}.begin() == std::default_sentinel; }) ==
        "the items are those of a merge");
  CHECK(test::promise_broken_by([] { return merged_batches{}.begin() == std::default_sentinel; }) ==
        "the batches are those of a merge");
}

// Answers on threads of its own, a while later.
class threaded_source {
 public:
  using scheme_type = reviews_journal::scheme_type;
  using page_type = reviews_journal::page_type;

  std::atomic<int> answered{0};

  explicit threaded_source(reviews_journal& journal) : in_{journal} {}
  ~threaded_source() {
    for (auto& one : threads_) one.join();
  }

  std::string_view container() const { return in_.container(); }
  scheme_type scheme() const { return in_.scheme(); }

  template <class T>
  struct operation {
    T answer;
    threaded_source& of;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> who) {
      of.threads_.emplace_back([who, &of = of] {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        ++of.answered;
        who.resume();
      });
    }
    T await_resume() { return std::move(answer); }
  };
  auto read(reviews_journal::range_type const& range, keyspan::continuation const& from,
            keyspan::read_request const& request) {
    return operation<keyspan::result<page_type>>{in_.read(range, from, request).value, *this};
  }
  auto topology(std::string const& known) {
    using page = keyspan::partition_page<keyspan::token128>;
    return operation<keyspan::result<page>>{in_.topology(known).value, *this};
  }

 private:
  reviews_journal& in_;
  std::vector<std::thread> threads_{};
};

TEST_CASE("a merge waits for sources that answer elsewhere, and for those in flight when it goes") {
  auto journal = reviews_in(1, 12);
  {
    threaded_source source{journal};
    auto merged = merge(source, ascending(number), {.batch_size = 5, .reads_ahead = true});
    CHECK(numbers_of(merged) == counted(0, 12));
  }
  threaded_source source{journal};
  auto const before = journal.reads.size() + journal.topologies.size();
  {
    auto merged = merge(source, ascending(number), {.batch_size = 1, .reads_ahead = true});
    for (entry const& one : merged)
      if (one.number == 1) break;
  }
  CHECK(source.answered > 0);
  CHECK(before + static_cast<std::size_t>(source.answered) ==
        journal.reads.size() + journal.topologies.size());
}

TEST_CASE("a merge of followed sources ends when it is stopped") {
  auto source = reviews_in(2, 20);
  keyspan::manual_clock clock;
  keyspan::stop_source stop;
  keyspan::feed changes{source, {.stop = stop.token()}};
  std::atomic<bool> is_over{false};
  std::thread mover{[&] {
    while (!is_over) {
      clock.advance(std::chrono::seconds{1});
      std::this_thread::yield();
    }
  }};
  auto merged =
      merge(changes, keyspan::as_they_come, keyspan::following{clock, std::chrono::seconds{1}});
  std::vector<int> given;
  auto const why = failure_of([&] {
    for (entry const& one : merged) {
      given.push_back(one.number);
      if (given.size() == 20) stop.request_stop();
    }
  });
  is_over = true;
  mover.join();
  CHECK(why.code == errc::stopped);
  CHECK(test::sorted(given) == counted(0, 20));
}

TEST_CASE("a source that times out by itself is gone on without") {
  std::vector<reviews_journal> all;
  all.push_back(reviews_in(1, 3));
  all.push_back(reviews_in(1, 3));
  all[0].read_errors.push_back(keyspan::error{errc::timed_out, "the service answered 408"});
  auto merged = merge(all, ascending(number), {.failure = keyspan::on_failure::go_on});
  std::vector<int> given;
  for (auto const& batch : merged.batches()) {
    REQUIRE(batch.has_value());
    for (entry const& one : *batch) given.push_back(one.number);
  }
  CHECK(given == counted(0, 3));
  CHECK(merged.failures().size() == 1);
}

}  // namespace
