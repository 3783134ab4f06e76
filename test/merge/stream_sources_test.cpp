// Streams that are merged: feeds' streams and coroutines that give items, pages or results of them.
#include <catch2/catch_test_macros.hpp>
#include <feed/journal.hpp>
#include <feed/suspending_source.hpp>
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/stream_sources.hpp>
#include <keyspan/merge/united_order.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::async_stream;

static_assert(keyspan::streams_to_merge<std::vector<async_stream<int>>>);
static_assert(!keyspan::streams_to_merge<std::vector<int>>);
static_assert(!keyspan::streams_to_merge<async_stream<int>>);

async_stream<int> each(int from, int step, int last) {
  for (int n = from; n < last; n += step) co_yield n;
}
async_stream<std::vector<int>> by_threes(std::vector<int> all) {
  for (std::size_t at = 0; at < all.size(); at += 3) {
    auto const from = all.begin() + static_cast<std::ptrdiff_t>(at);
    auto const size = std::min<std::ptrdiff_t>(3, all.end() - from);
    std::vector<int> page(from, from + size);
    co_yield page;
    page.clear();
    co_yield page;  // one without items ends nothing
  }
}
async_stream<std::string> texts(std::vector<std::string> all) {
  for (std::string& one : all) co_yield one;
}

template <class Reader>
keyspan::task<std::vector<int>> all_of(Reader& reader) {
  std::vector<int> given;
  while (auto const item = co_await reader.next()) given.push_back(*item);
  co_return given;
}

}  // namespace

TEST_CASE("streams of items and of pages are merged in one order") {
  // [region: example]
  std::vector<async_stream<int>> streams;
  streams.push_back(each(0, 3, 10));  // 0 3 6 9
  streams.push_back(each(1, 3, 10));  // 1 4 7
  auto reader = keyspan::merge_async(streams, keyspan::ascending());
  auto const given = keyspan::sync_wait(all_of(reader));
  keyspan::sync_wait(reader.close());
  // [end: example]
  CHECK(given == std::vector{0, 1, 3, 4, 6, 7, 9});

  std::vector<async_stream<std::vector<int>>> pages;
  pages.push_back(by_threes({1, 2, 3, 9, 9}));
  pages.push_back(by_threes({}));
  pages.push_back(by_threes({0, 2, 5, 7, 8, 10, 11}));
  auto paged = keyspan::merge_async(pages, keyspan::ascending(), {.reads_ahead = false});
  CHECK(keyspan::sync_wait(all_of(paged)) == std::vector{0, 1, 2, 2, 3, 5, 7, 8, 9, 9, 10, 11});
}

TEST_CASE("a text is an item, not a page of characters") {
  std::vector<async_stream<std::string>> streams;
  streams.push_back(texts({"b", "d"}));
  streams.push_back(texts({"a", "c"}));
  auto reader = keyspan::merge_async(streams, keyspan::ascending());
  auto const joined = keyspan::sync_wait([](auto& from) -> keyspan::task<std::string> {
    std::string all;
    while (auto const item = co_await from.next()) all += *item;
    co_return all;
  }(reader));
  CHECK(joined == "abcd");
}

TEST_CASE("a stream without coroutine, and no stream at all, have no items") {
  std::vector<async_stream<int>> streams(2);
  auto reader = keyspan::merge_async(streams, keyspan::ascending());
  CHECK(keyspan::sync_wait(all_of(reader)).empty());
  std::vector<async_stream<int>> none;
  auto nothing = keyspan::merge_async(none, keyspan::ascending());
  CHECK(keyspan::sync_wait(all_of(nothing)).empty());
}

namespace {

using page_or_not = keyspan::result<std::vector<int>>;

async_stream<page_or_not> failing_behind(std::vector<int> items) {
  page_or_not given{std::move(items)};
  co_yield given;
  given = keyspan::fail(keyspan::errc::throttled, "no more of these");
  co_yield given;
}

}  // namespace

TEST_CASE("an error of a stream ends the merge, or the others go on without it") {
  for (auto const policy : {keyspan::on_failure::stop, keyspan::on_failure::go_on}) {
    std::vector<async_stream<page_or_not>> streams;
    streams.push_back(failing_behind({1, 4}));
    streams.push_back(failing_behind({2, 3, 6, 8}));
    auto reader = keyspan::merge_async(streams, keyspan::ascending(), {.failure = policy});
    std::vector<int> given;
    std::optional<keyspan::error> why;
    keyspan::sync_wait([](auto& from, auto& items, auto& error) -> keyspan::task<> {
      while (auto const item = co_await from.next()) {
        if (!item.has_value()) {
          error = item.error();
        } else {
          items.push_back(*item);
        }
      }
      co_await from.close();
    }(reader, given, why));
    if (policy == keyspan::on_failure::stop) {
      REQUIRE(why);
      CHECK(why->code == keyspan::errc::throttled);
      CHECK(given == std::vector{1, 2, 3, 4});
    } else {
      CHECK(!why);
      CHECK(given == std::vector{1, 2, 3, 4, 6, 8});
      REQUIRE(reader.failures().size() == 2);
      CHECK(reader.failures()[0].source == 0);
      CHECK(reader.failures()[1].source == 1);
      CHECK(reader.failures()[1].feed == 1);
      CHECK(reader.feed_of(1) == 1);
    }
  }
}

#if KEYSPAN_EXCEPTIONS
namespace {
async_stream<int> throwing_behind(int item) {
  co_yield item;
  throw std::string{"a stream's own"};
}
}  // namespace

TEST_CASE("what a stream throws passes through the merge") {
  std::vector<async_stream<int>> streams;
  streams.push_back(each(0, 1, 3));
  streams.push_back(throwing_behind(1));
  auto reader = keyspan::merge_async(streams, keyspan::ascending());
  std::vector<int> given;
  CHECK_THROWS_AS(keyspan::sync_wait([](auto& from, auto& items) -> keyspan::task<> {
                    while (auto const item = co_await from.next()) items.push_back(*item);
                  }(reader, given)),
                  std::string);
  CHECK(given == std::vector{0, 1, 1});
}
#endif

TEST_CASE("items that can only be moved are moved out of a stream") {
  using owned = std::unique_ptr<int>;
  auto const give = [](int from) -> async_stream<owned> {
    co_yield std::make_unique<int>(from);
    co_yield std::make_unique<int>(from + 10);
  };
  std::vector<async_stream<owned>> streams;
  streams.push_back(give(1));
  streams.push_back(give(0));
  auto reader =
      keyspan::merge_async(streams, keyspan::ascending([](owned const& one) { return *one; }));
  auto const given = keyspan::sync_wait([](auto& from) -> keyspan::task<std::vector<int>> {
    std::vector<int> all;
    while (auto const item = co_await from.next()) all.push_back(**item);
    co_return all;
  }(reader));
  CHECK(given == std::vector{0, 1, 10, 11});
}

TEST_CASE("owners that are moved out of a merge are not looked at again") {
  using owned = std::unique_ptr<int>;
  auto const give = [](int from) -> async_stream<owned> {
    for (int i = 0; i < 3; ++i) co_yield std::make_unique<int>(from + 10 * i);
  };
  std::vector<async_stream<owned>> streams;
  streams.push_back(give(1));
  streams.push_back(give(0));
  bool was_empty = false;
  auto reader = keyspan::merge_async(streams, keyspan::ascending([&](owned const& one) {
                                       was_empty = was_empty || !one;
                                       return one ? *one : -1;
                                     }));
  auto const given = keyspan::sync_wait([](auto& from) -> keyspan::task<std::vector<int>> {
    std::vector<int> all;
    while (auto const item = co_await from.next()) {
      owned const mine = std::move(*item);
      all.push_back(*mine);
    }
    co_return all;
  }(reader));
  CHECK(given == std::vector{0, 1, 10, 11, 20, 21});
  CHECK_FALSE(was_empty);
}

namespace {

// Some numbers, and how often any were copied.
struct copied_numbers {
  using value_type = int;

  static inline int copies = 0;

  copied_numbers() = default;
  explicit copied_numbers(std::vector<int> numbers) : all{std::move(numbers)} {}
  copied_numbers(copied_numbers const& other) : all{other.all} { ++copies; }
  copied_numbers(copied_numbers&&) = default;
  copied_numbers& operator=(copied_numbers const& other) {
    all = other.all;
    ++copies;
    return *this;
  }
  copied_numbers& operator=(copied_numbers&&) = default;
  ~copied_numbers() = default;

  int* data() { return all.data(); }
  std::size_t size() const { return all.size(); }
  int* begin() { return all.data(); }
  int* end() { return all.data() + all.size(); }
  int const* begin() const { return all.data(); }
  int const* end() const { return all.data() + all.size(); }

  std::vector<int> all{};
};
using copied_page = keyspan::page<int, copied_numbers>;

async_stream<copied_page> pages_of_two(int from) {
  for (int n = from; n < from + 40; n += 20) {
    copied_page made{};
    made.items = copied_numbers{{n, n + 10}};
    co_yield made;
  }
}

}  // namespace

TEST_CASE("pages of a stream are moved, not copied") {
  std::vector<async_stream<copied_page>> streams;
  streams.push_back(pages_of_two(1));
  streams.push_back(pages_of_two(0));
  copied_numbers::copies = 0;
  auto reader = keyspan::merge_async(streams, keyspan::ascending());
  CHECK(keyspan::sync_wait(all_of(reader)) == std::vector{0, 1, 10, 11, 20, 21, 30, 31});
  CHECK(copied_numbers::copies == 0);
}

TEST_CASE("a stream in the place of one that has ended is read in the next round") {
  std::vector<async_stream<int>> streams;
  streams.push_back(each(0, 1, 3));
  streams.push_back(each(0, 1, 2));
  auto reader = keyspan::merge_async(streams, keyspan::ascending());
  CHECK(keyspan::sync_wait(all_of(reader)) == std::vector{0, 0, 1, 1, 2});
  streams[0] = each(3, 1, 5);
  reader.again();
  CHECK(keyspan::sync_wait(all_of(reader)) == std::vector{3, 4});
  streams[1] = each(5, 1, 6);
  reader.again();
  CHECK(keyspan::sync_wait(all_of(reader)) == std::vector{5});
}

TEST_CASE("streams are united: what several of them give is given once") {
  std::vector<async_stream<std::vector<int>>> pages;
  pages.push_back(by_threes({1, 2, 2, 2, 2, 2, 2, 3}));
  pages.push_back(by_threes({2, 2, 5, 7}));
  auto reader = keyspan::merge_async(
      pages, keyspan::distinct_by(keyspan::ascending(), std::identity{}), {.batch_size = 2});
  CHECK(keyspan::sync_wait(all_of(reader)) == std::vector{1, 2, 3, 5, 7});

  // What is held while its page goes is moved, also where it cannot be copied.
  using owned = std::unique_ptr<int>;
  auto const give = [](int from) -> async_stream<owned> {
    for (int i = 0; i < 6; ++i) co_yield std::make_unique<int>(from + i / 3 * 10);
  };
  std::vector<async_stream<owned>> streams;
  streams.push_back(give(1));
  streams.push_back(give(1));
  auto const value = [](owned const& one) { return *one; };
  auto united = keyspan::merge_async(streams, distinct_by(keyspan::ascending(value), value));
  auto const given = keyspan::sync_wait([](auto& from) -> keyspan::task<std::vector<int>> {
    std::vector<int> all;
    while (auto const item = co_await from.next()) all.push_back(**item);
    co_return all;
  }(united));
  CHECK(given == std::vector{1, 11});
}

TEST_CASE("streams of feeds are merged, and closing the merge closes them") {
  auto first = test::reviews_in(1, 20);
  auto second = test::reviews_in(1, 20);
  keyspan::feed one{first};
  keyspan::feed other{second};
  std::vector<keyspan::feed_stream<test::reviews_journal>> streams;
  streams.push_back(one.stream());
  streams.push_back(other.stream());
  auto reader = keyspan::merge_async(streams, keyspan::ascending(&test::entry::number));
  std::vector<int> numbers;
  keyspan::sync_wait([](auto& from, auto& all) -> keyspan::task<> {
    while (auto const item = co_await from.next()) all.push_back(item->number);
    co_await from.close();
  }(reader, numbers));
  std::vector<int> twice;
  for (int n = 0; n < 20; ++n) twice.insert(twice.end(), 2, n);
  CHECK(numbers == twice);
  CHECK(keyspan::sync_wait(streams[0].next_page()) == nullptr);
}

TEST_CASE("closing a merge in the middle closes every stream of it") {
  std::deque<test::reviews_journal> sources;
  std::deque<keyspan::feed<test::reviews_journal>> feeds;
  std::vector<keyspan::feed_stream<test::reviews_journal>> streams;
  for (int i = 0; i < 3; ++i) {
    sources.push_back(test::reviews_in(1, 20));
    streams.push_back(feeds.emplace_back(sources.back()).stream());
  }
  auto reader = keyspan::merge_async(streams, keyspan::ascending(&test::entry::number));
  CHECK(keyspan::sync_wait(reader.next())->number == 0);
  keyspan::sync_wait(reader.close());
  for (auto& stream : streams) CHECK(keyspan::sync_wait(stream.next_page()) == nullptr);
}

TEST_CASE("closing a merge stops streams that are in flight, after any number of answers") {
  for (int answers = 0; answers < 12; ++answers) {
    auto first = test::reviews_in(1, 10);
    auto second = test::reviews_in(1, 10);
    test::suspending_source<test::reviews_journal, false> slow{first};
    test::suspending_source<test::reviews_journal, false> slower{second};
    keyspan::feed one{slow};
    keyspan::feed other{slower};
    using stream_type = keyspan::feed_stream<test::suspending_source<test::reviews_journal, false>>;
    std::vector<stream_type> streams;
    streams.push_back(one.stream());
    streams.push_back(other.stream());
    auto reader = keyspan::merge_async(streams, keyspan::ascending(&test::entry::number));
    std::size_t given = 0;
    auto reading = [](auto& from, std::size_t& count) -> test::running {
      while (auto const item = co_await from.next()) {
        if (!item.has_value()) break;
        ++count;
      }
    }(reader, given);
    for (int i = 0; i < answers; ++i) {
      bool const has_answered = i % 2 == 0 ? slow.complete() : slower.complete();
      if (!has_answered && !slow.complete()) slower.complete();
    }
    auto closing = [](auto& of) -> test::running { co_await of.close(); }(reader);
    slow.complete_all();  // of what does not hear of a stop
    slower.complete_all();
    CHECK(closing.is_done());
    CHECK(reading.is_done());
    CHECK(slow.in_flight() + slower.in_flight() == 0);
  }
}
