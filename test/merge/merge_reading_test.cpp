// test/merge/merge_reading_test.cpp — how a merge goes on, step by step; that what it holds does
// not grow, and that it allocates nothing per item and per page.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merge_reading.hpp>
#include <keyspan/merge/merged_feeds.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include "../feed/journal.hpp"
#include "../feed/suspending_source.hpp"
#include "shelves.hpp"

#include <catch2/catch_test_macros.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::ascending;
using keyspan::detail::merge_step;
using test::check;
using test::counted;
using test::entry;
using test::reviews_in;
using test::reviews_journal;

TEST_CASE("the example of merge_reading reads as it should") {
  auto source = reviews_in(3, 20);
  std::vector<int> numbers;
  // [region: example]
  using keyspan::detail::merge_step;
  keyspan::detail::merge_reading reading{keyspan::detail::feeds_of(source, keyspan::draining{}),
                                         ascending(&entry::number), keyspan::merge_options{}};
  reading.begin_round();
  while (reading.advance() == merge_step::batch)  // this source never makes anybody wait
    for (entry const& one : reading.batch()) numbers.push_back(one.number);
  // [end: example]
  check(numbers == counted(0, 20));
}

TEST_CASE("a step tells a batch, a wait, the end and an error apart") {
  auto journal = reviews_in(2, 20);
  test::suspending_source<reviews_journal, true> source{journal};
  keyspan::detail::merge_reading reading{keyspan::detail::feeds_of(source, keyspan::draining{}),
                                         ascending(&entry::number), keyspan::merge_options{}};
  CHECK(reading.in_flight() == 0);
  reading.begin_round();
  CHECK(reading.in_flight() == 1);
  CHECK(reading.advance() == merge_step::wait);
  CHECK(reading.waits_for() == std::vector<std::size_t>{0});
  while (reading.in_flight() < 2) {
    source.complete();
    CHECK(reading.advance() == merge_step::wait);
  }
  CHECK(reading.sources().size() == 2);
  CHECK(reading.waits_for() == std::vector<std::size_t>{0, 1});
  source.complete();
  CHECK(reading.advance() == merge_step::wait);
  CHECK(reading.waits_for() == std::vector<std::size_t>{1});
  journal.read_errors.emplace_back(keyspan::errc::throttled, "too much was asked");
  source.complete();
  CHECK(reading.advance() == merge_step::batch);
  CHECK(reading.batch().size() > 0);
  CHECK(reading.waits_for().empty());
  merge_step step = reading.advance();
  for (; step == merge_step::batch || step == merge_step::wait; step = reading.advance())
    source.complete();
  CHECK(step == merge_step::failed);
  CHECK(reading.failure().code == keyspan::errc::throttled);
  reading.begin_round();
  for (step = reading.advance(); step != merge_step::end; step = reading.advance()) {
    REQUIRE(step != merge_step::failed);
    source.complete();
  }
  CHECK(reading.in_flight() == 0);
  CHECK(reading.close());
  CHECK(reading.is_closed());
  CHECK_FALSE(reading.close());
}

TEST_CASE("where two sources fail the first error is told, and the next round asks both again") {
  auto first = reviews_in(1, 4);
  auto second = reviews_in(1, 4);
  using late_source = test::suspending_source<reviews_journal, true>;
  late_source left{first};
  late_source right{second};
  std::vector<keyspan::feed<late_source>> feeds;
  feeds.emplace_back(left);
  feeds.emplace_back(right);
  first.topology_errors.emplace_back(keyspan::errc::throttled, "the first");
  second.topology_errors.emplace_back(keyspan::errc::unavailable, "the second");
  keyspan::detail::merge_reading reading{keyspan::detail::feeds_of(feeds, keyspan::draining{}),
                                         ascending(&entry::number), keyspan::merge_options{}};
  reading.begin_round();
  left.complete();
  right.complete();
  REQUIRE(reading.advance() == merge_step::failed);
  CHECK(reading.failure().text.view() == "the first");
  reading.begin_round();
  CHECK(left.in_flight() == 1);
  CHECK(right.in_flight() == 1);
  std::vector<int> numbers;
  merge_step step = reading.advance();
  for (; step == merge_step::batch || step == merge_step::wait; step = reading.advance()) {
    for (entry const& one : reading.batch()) numbers.push_back(one.number);
    left.complete();
    right.complete();
  }
  CHECK(step == merge_step::end);
  CHECK(numbers == std::vector{0, 0, 1, 1, 2, 2, 3, 3});
}

// --- what is held
// -----------------------------------------------------------------------------------

constexpr std::size_t sources = 64;

// Who has how many pages, and the memory of those that are gone, for those that come.
struct press {
  std::size_t alive[sources]{};
  std::size_t most = 0;
  std::vector<std::vector<std::uint64_t>> blank{};
};

// The items of a page, which says when it is gone.
class sheet {
 public:
  sheet() = default;
  sheet(press& by, std::size_t source, std::size_t size) : by_{&by}, source_{source} {
    if (by.blank.empty()) {
      items_.resize(size);
    } else {
      items_ = std::move(by.blank.back());
      by.blank.pop_back();
    }
    by.most = std::max(by.most, ++by.alive[source]);
  }
  sheet(sheet&& other) noexcept
      : by_{std::exchange(other.by_, nullptr)},
        source_{other.source_},
        items_{std::exchange(other.items_, {})} {}
  sheet& operator=(sheet&& other) noexcept {
    sheet old{std::move(*this)};
    by_ = std::exchange(other.by_, nullptr);
    source_ = other.source_;
    items_ = std::exchange(other.items_, {});
    return *this;
  }
  ~sheet() {
    if (by_ == nullptr) return;
    --by_->alive[source_];
    by_->blank.push_back(std::move(items_));
  }

  std::uint64_t* data() noexcept { return items_.data(); }
  std::size_t size() const noexcept { return items_.size(); }
  std::uint64_t* begin() noexcept { return items_.data(); }
  std::uint64_t* end() noexcept { return items_.data() + items_.size(); }
  std::uint64_t const* begin() const noexcept { return items_.data(); }
  std::uint64_t const* end() const noexcept { return items_.data() + items_.size(); }

 private:
  press* by_ = nullptr;
  std::size_t source_ = 0;
  std::vector<std::uint64_t> items_{};
};

// Source i has i, i + 64, i + 128 …, made as they are asked for.
class printed_numbers {
 public:
  using scheme_type = keyspan::fast64_scheme;
  using token_type = keyspan::token_of_scheme<scheme_type>;
  using page_type = keyspan::page<std::uint64_t, sheet>;

  printed_numbers(std::size_t pages, std::size_t page_size) : pages_{pages}, page_size_{page_size} {
    by.blank.reserve(4 * sources);
  }

  press by{};
  std::size_t reads = 0;

  std::string_view container() const { return "numbers"; }
  scheme_type scheme() const { return keyspan::fast64; }
  keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<token_type> const&,
                                                  keyspan::continuation const& from,
                                                  keyspan::read_request const& request) {
    ++reads;
    std::size_t const source = number_of(request.partition);
    std::size_t const page = from.is_start() ? 0 : number_of(from.text());
    page_type made{};
    if (page == pages_) {
      made.nothing_new = true;
    } else {
      made.items = sheet{by, source, page_size_};
      std::uint64_t next = page * page_size_ * sources + source;
      for (std::uint64_t& item : made.items) {
        item = next;
        next += sources;
      }
    }
    char digits[12];
    auto const end = std::to_chars(digits, digits + 12, page + (made.nothing_new ? 0 : 1)).ptr;
    made.continuation.assign(digits, end);
    return {keyspan::result<page_type>{std::move(made)}};
  }
  keyspan::ready<keyspan::result<keyspan::partition_page<token_type>>> topology(
      std::string const& known) {
    keyspan::partition_page<token_type> made{};
    made.not_modified = !known.empty();
    made.version = "1";
    if (known.empty()) {
      std::vector<token_type> cuts;
      for (std::size_t i = 1; i < sources; ++i)
        cuts.push_back(keyspan::fast64.boundary(i, sources));
      for (auto const& range : split(keyspan::whole_space(keyspan::fast64), cuts))
        made.partitions.push_back({std::to_string(made.partitions.size()), range, {}});
    }
    return {keyspan::result<keyspan::partition_page<token_type>>{std::move(made)}};
  }

 private:
  static std::size_t number_of(std::string_view digits) {
    std::size_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

  std::size_t pages_;
  std::size_t page_size_;
};
static_assert(keyspan::page_source<printed_numbers>);

struct long_story {
  std::uint64_t next = 0;
  bool in_order = true;
  std::size_t allocations = 0;  // behind the first tenth
  bool is_over = false;
};

test::running read_all(auto& stream, long_story& to, std::uint64_t count) {
  std::size_t before = 0;
  while (auto* const batch = co_await stream.next_batch()) {
    for (std::uint64_t const item : **batch) to.in_order = to.in_order && item == to.next++;
    if (to.next < count / 10) before = test::allocations();
  }
  to.allocations = test::allocations() - before;
  to.is_over = true;
}
test::running read_each(auto& stream, long_story& to, std::uint64_t count) {
  std::size_t before = 0;
  while (auto const item = co_await stream.next()) {
    to.in_order = to.in_order && *item == to.next++;
    if (to.next < count / 10) before = test::allocations();
  }
  to.allocations = test::allocations() - before;
  to.is_over = true;
}

TEST_CASE("ten million items of 64 sources: two pages of each are held, and nothing more") {
  constexpr std::size_t page_size = 2000;
  constexpr std::size_t pages = 80;
  constexpr std::uint64_t count = sources * pages * page_size;
  static_assert(count > 10'000'000);
  printed_numbers source{pages, page_size};
  long_story got;
  auto stream = merge_async(source, ascending());
  auto const reader = read_all(stream, got, count);
  CHECK(got.is_over);
  CHECK(got.next == count);
  CHECK(got.in_order);
  CHECK(source.by.most == 2);
  // Each page's memory is that of one that is gone: what is held behind a tenth is all that ever
  // is.
  CHECK(got.allocations == 0);
  CHECK(source.by.blank.size() <= 2 * sources);
}

// How many vectors have memory.
struct vectors_held {
  std::size_t now = 0;
  std::size_t most = 0;
};
vectors_held held_vectors;

template <class T>
struct counting_allocator {
  using value_type = T;

  counting_allocator() = default;
  template <class U>
  counting_allocator(counting_allocator<U> const&) {}

  T* allocate(std::size_t size) {
    held_vectors.most = std::max(held_vectors.most, ++held_vectors.now);
    return std::allocator<T>{}.allocate(size);
  }
  void deallocate(T* at, std::size_t size) {
    --held_vectors.now;
    std::allocator<T>{}.deallocate(at, size);
  }
  friend bool operator==(counting_allocator const&, counting_allocator const&) = default;
};

// Of one partition, whose page n has n a thousand times.
struct vectors_of_numbers {
  using scheme_type = keyspan::fast64_scheme;
  using token_type = keyspan::token_of_scheme<scheme_type>;
  using items_type = std::vector<int, counting_allocator<int>>;
  using page_type = keyspan::page<int, items_type>;

  static constexpr int pages = 20;

  std::string_view container() const { return "vectors"; }
  scheme_type scheme() const { return keyspan::fast64; }
  keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<token_type> const&,
                                                  keyspan::continuation const& from,
                                                  keyspan::read_request const&) {
    int const page = from.is_start() ? 0 : std::stoi(std::string{from.text()});
    page_type made{};
    made.nothing_new = page == pages;
    if (page < pages) made.items = items_type(1000, page);
    made.continuation = std::to_string(std::min(page + 1, pages));
    return {keyspan::result<page_type>{std::move(made)}};
  }
  keyspan::ready<keyspan::result<keyspan::partition_page<token_type>>> topology(
      std::string const& known) {
    keyspan::partition_page<token_type> made{};
    made.not_modified = !known.empty();
    made.version = "1";
    if (known.empty()) made.partitions.push_back({"0", keyspan::whole_space(keyspan::fast64), {}});
    return {keyspan::result<keyspan::partition_page<token_type>>{std::move(made)}};
  }
};
static_assert(keyspan::page_source<vectors_of_numbers>);

TEST_CASE("of a source the memory of two pages is held at most, also where they are vectors") {
  for (bool const reads_ahead : {false, true}) {
    held_vectors = {};
    vectors_of_numbers source;
    auto merged = keyspan::merge(source, ascending(), {.reads_ahead = reads_ahead});
    std::size_t count = 0;
    bool in_order = true;
    for (int const one : merged) in_order = in_order && one == static_cast<int>(count++ / 1000);
    CHECK(in_order);
    CHECK(count == 1000 * vectors_of_numbers::pages);
    INFO("reads ahead " << reads_ahead);
    CHECK(held_vectors.most <= 2);
  }
  CHECK(held_vectors.now == 0);
}

TEST_CASE("a merge allocates nothing per item and per page, however it is read") {
  for (bool const by_items : {false, true})
    for (bool const reads_ahead : {false, true}) {
      printed_numbers source{60, 5};
      constexpr std::uint64_t count = sources * 60 * 5;
      long_story got;
      auto stream =
          merge_async(source, ascending(), {.batch_size = 50, .reads_ahead = reads_ahead});
      auto const reader = by_items ? read_each(stream, got, count) : read_all(stream, got, count);
      CHECK(got.next == count);
      CHECK(got.in_order);
      CHECK(got.allocations == 0);
      CHECK(source.by.most <= 2);
      CHECK(source.reads == sources * 61);  // each page once
    }
  printed_numbers source{60, 5};
  auto turns = merge_async(source, keyspan::round_robin);
  long_story got;
  auto const reader = read_all(turns, got, sources * 60 * 5);
  CHECK(got.in_order);  // the sources in turn have just these
  CHECK(got.allocations == 0);
}

}  // namespace
