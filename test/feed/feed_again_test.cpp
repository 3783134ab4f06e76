// test/feed/feed_again_test.cpp — what a feed does where it goes on: after a loop was left, after
// an exception, after neighbours became one.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/redis_cluster.hpp>

#include "journal.hpp"

#include <catch2/catch_test_macros.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {
using namespace keyspan;
using namespace std::chrono_literals;
using test::counted;
using test::entry;
using test::numbers_of;
using test::reviews_in;
using test::reviews_journal;
using test::sorted;
using slot = std::uint16_t;
using slot_progress = feed_progress<redis_cluster_scheme>;
using answer = page<int>;
constexpr std::nullopt_t no_wait = std::nullopt;
token_range<slot> slots(int a, int b) {
  if (b == 16384) return {slot(a), space_end};
  return {slot(a), slot(b)};
}
partition<slot> owner(std::string id, int a, int b, std::vector<std::string> p = {}) {
  return {std::move(id), slots(a, b), std::move(p)};
}
slot_progress opened() {
  slot_progress made{redis_cluster, "c", {}};
  REQUIRE(made.next(no_wait) == feed_question::topology);
  REQUIRE(made.take({{owner("1", 0, 100), owner("2", 100, 200), owner("3", 200, 16384)}, "v1"}));
  REQUIRE(made.next(no_wait) == feed_question::topology);
  REQUIRE(made.take({.not_modified = true}));
  return made;
}
void give(slot_progress& to, std::string_view c, bool n, instant due = {}) {
  REQUIRE(to.accept(answer{.items = {1}, .continuation = std::string{c}}));
  to.pass(c, n, due);
}
std::string parts_of(slot_progress const& of) {
  std::string t;
  for (auto const& p : of.cursor().parts)
    t.append(p.range.to_text().view()).append(" ").append(p.from.to_text()).append("; ");
  return t;
}
error const gone{errc::range_gone, "split"};

// Partition 1 stands behind 7 and is split in two; each part is read once more and has moved no
// further, the first one waiting until `first`, the second one until `second`.
slot_progress split_in_two(bool nothing_new, instant first, instant second) {
  auto made = opened();
  instant const start{};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(made.next(start) == feed_question::page);
    give(made, "7", i != 0, start + 12s);
  }
  REQUIRE(made.next(start) == feed_question::page);
  CHECK(made.absorb(gone));
  REQUIRE(made.take({{owner("4", 0, 40, {"1"}), owner("5", 40, 100, {"1"})}, "v2"}));
  REQUIRE(made.take({.not_modified = true}));
  for (instant const due : {first, second}) {
    REQUIRE(made.next(start) == feed_question::page);
    give(made, "7", nothing_new, due);
    if (!nothing_new) break;
  }
  return made;
}
TEST_CASE("parts are one again whichever of them stands first in the line") {
  auto made = split_in_two(false, {}, {});
  REQUIRE(made.next(no_wait) == feed_question::page);
  CHECK(made.range() == slots(40, 100));  // ahead of [0, 40)
  CHECK(made.absorb(gone));
  REQUIRE(made.take({{owner("6", 0, 100, {"1", "4", "5"})}, "v3"}));
  REQUIRE(made.take({.not_modified = true}));
  CHECK(parts_of(made) == "[0, 100) behind 7; [100, 200) behind 7; [200, the end) behind 7; ");
}
TEST_CASE("idle parts that become one are due when the first of them was") {
  instant const start{};
  auto made = split_in_two(true, start + 15s, start + 14s);
  REQUIRE(made.next(start + 13s) == feed_question::page);  // [100, 200), which waited until 12
  CHECK(made.absorb(gone));
  REQUIRE(made.take({{owner("6", 0, 100, {"1", "4", "5"})}, "v3"}));
  REQUIRE(made.take({.not_modified = true}));
  CHECK(made.size() == 3);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(made.next(start + 13s) == feed_question::page);
    give(made, "8", true, start + 30s);
  }
  REQUIRE(made.next(start + 13s) == feed_question::wait);
  CHECK(made.due() == start + 14s);
}

// A source that counts each partition for itself, from its beginning: "1:4" is behind four items of
// whatever partition of the first generation the text was given for. A merged partition has its own
// order. So a text is good for its range and for parts of it, and for no larger one.
class generations {
 public:
  using scheme_type = fast64_scheme;
  using page_type = page<int>;
  using range_type = token_range<std::uint64_t>;

  scheme_type scheme() const { return fast64; }
  std::string_view container() const { return "generations"; }

  // Item n has the token n, which is as good as any hash here.
  void write(std::vector<std::uint64_t> items) {
    for (auto const n : items) logs_.back()[n < border ? 0 : logs_.back().size() - 1].push_back(n);
  }
  void merge() {
    std::vector<std::uint64_t> both = logs_.back()[1];
    both.insert(both.end(), logs_.back()[0].begin(), logs_.back()[0].end());
    logs_.push_back({both});
  }

  ready<result<page_type>> read(range_type const& range, continuation const& from,
                                read_request const& request) {
    bool const is_merged = logs_.back().size() == 1;
    bool const is_left = range.upper() <= upper_end<std::uint64_t>{border};
    std::string const owner = is_merged ? "2" : is_left ? "0" : "1";
    if (request.partition != owner || (!is_merged && !is_left && range.lower() < border))
      return {fail(errc::range_gone, "merged")};
    auto const& log = is_left ? logs_.back().front() : logs_.back().back();
    std::vector<std::uint64_t> known;
    if (!from.is_start()) {
      auto const generation = static_cast<std::size_t>(from.text()[0] - '1');
      auto const& logs = logs_[generation];
      if (logs.size() == 2 && !is_left && range.lower() < border)
        return {fail(errc::malformed, "no partition of this generation had all of the range")};
      auto const& then = is_left ? logs.front() : logs.back();
      known.assign(then.begin(), then.begin() + std::stoi(from.text().substr(2)));
    }
    page_type made;
    for (auto const n : log)
      if (range.contains(n) && std::ranges::find(known, n) == known.end() && made.items.size() < 2)
        made.items.push_back(static_cast<int>(n));
    made.nothing_new = made.items.empty();
    std::size_t end = 0;
    for (std::size_t i = 0; i < log.size(); ++i)
      if (std::ranges::find(known, log[i]) != known.end() ||
          std::ranges::find(made.items, static_cast<int>(log[i])) != made.items.end())
        end = i + 1;
    made.continuation = std::to_string(logs_.size()) + ":" + std::to_string(end);
    return {made};
  }
  ready<result<partition_page<std::uint64_t>>> topology(std::string const& known) {
    partition_page<std::uint64_t> list{.version = std::to_string(logs_.size())};
    list.not_modified = known == list.version;
    if (logs_.back().size() == 2) {
      list.partitions = {{"0", {0, border}}, {"1", {border, space_end}}};
    } else {
      list.partitions = {{"2", {std::uint64_t{0}, space_end}, {"0", "1"}}};
    }
    return {list};
  }

  static constexpr std::uint64_t border = 100;

 private:
  std::vector<std::vector<std::vector<std::uint64_t>>> logs_{{{}, {}}};
};
static_assert(page_source<generations>);

TEST_CASE(
    "a text is asked of no more than the range that it was given for, behind a merge as well") {
  for (bool const is_resumed : {false, true}) {
    generations source;
    source.write({1, 2, 3, 4, 101, 102, 103, 104});
    feed first{source};
    std::vector<int> numbers;
    for (int const n : first.items() | std::views::take(4)) numbers.push_back(n);
    auto const kept = first.cursor();
    CHECK(kept.parts.size() == 2);
    CHECK(kept.parts[0].from == kept.parts[1].from);
    source.merge();
    feed second{source, {.start = kept}};
    for (int const n : is_resumed ? second : first) numbers.push_back(n);
    CHECK(sorted(numbers) == std::vector{1, 2, 3, 4, 101, 102, 103, 104});
  }
}

TEST_CASE("a loop asks again behind a page that was left in and said nothing is new") {
  auto source = reviews_in(1, 3);
  source.tells_end_with_items = true;
  feed changes{source};
  for (entry const& one : changes)
    if (one.number == 1) break;
  source.write_many(2);
  CHECK(numbers_of(changes) == counted(1, 5));
  for (entry const& one : changes) static_cast<void>(one);
  source.write_many(3);
  for (entry const& one : changes)
    if (one.number == 6) break;
  source.write_many(1);
  std::vector<int> numbers;
  for (auto const& page : changes.pages())
    for (entry const& one : page->items) numbers.push_back(one.number);
  CHECK(numbers == counted(5, 9));
}
TEST_CASE("ranges that stand still for a page each are no range that does so for ever") {
  auto made = opened();
  for (int i = 0; i < 45; ++i) {
    REQUIRE(made.next(no_wait) == feed_question::page);
    std::string const at = made.from().is_start() ? "1" : made.from().text();
    REQUIRE(made.accept(answer{.continuation = at}));
    made.pass(at, false, {});
  }
}
struct threaded {
  using scheme_type = cosmos_v2_scheme;
  using page_type = reviews_journal::page_type;
  template <class T>
  struct operation {
    threaded& of;
    result<T> value;
    int asked = 0;
    bool await_ready() { return ++asked > 1; }  // is not to be asked twice
    void await_suspend(std::coroutine_handle<> who) {
      of.threads.emplace_back([who] { who.resume(); });
    }
    result<T> await_resume() {
      CHECK(asked == 1);
      return std::move(value);
    }
  };
  explicit threaded(reviews_journal& journal) : in{journal} {}
  reviews_journal& in;
  std::vector<std::thread> threads{};
  ~threaded() {
    for (auto& one : threads) one.join();
  }
  std::string_view container() const { return in.container(); }
  scheme_type scheme() const { return cosmos_v2; }
  auto read(token_range<token128> const& r, continuation const& f, read_request const& q) {
    return operation<page_type>{*this, in.read(r, f, q).value};
  }
  auto topology(std::string const& k) {
    return operation<partition_page<token128>>{*this, in.topology(k).value};
  }
};
TEST_CASE("a plain loop waits for a source that is not ready, and asks each operation once") {
  auto source = reviews_in(2, 20);
  threaded slow{source};
  feed changes{slow};
  CHECK(sorted(numbers_of(changes)) == counted(0, 20));
  CHECK(slow.threads.size() >= source.reads.size());
}
TEST_CASE("a stream begins by asking every range, also those that were idle a moment ago") {
  auto source = reviews_in(3, 9);
  feed changes{source};
  CHECK(numbers_of(changes).size() == 9);  // drained: all are idle
  source.write_many(4);
  std::vector<int> numbers;
  auto const read = [](auto stream, std::vector<int>& to) -> keyspan::task<void> {
    while (auto* const page = co_await stream.next_page())
      for (entry const& one : (*page)->items) to.push_back(one.number);
  };
  keyspan::sync_wait(read(changes.stream(), numbers));
  CHECK(sorted(numbers) == counted(9, 13));
  source.write_many(2);
  keyspan::sync_wait(read(changes.stream(), numbers));
  CHECK(sorted(numbers) == counted(9, 15));
}
TEST_CASE("a page that came before an exception is not given again") {
  struct odd {};
  struct throwing : reviews_journal {
    using reviews_journal::reviews_journal;
    auto read(range_type const& r, continuation const& f, read_request const& q) {
      if (std::exchange(throws, false)) throw odd{};
      return reviews_journal::read(r, f, q);
    }
    bool throws = false;
  } source{cosmos_v2};
  source.write_many(6);
  feed changes{source};
  auto const pages = changes.pages();
  auto page = pages.begin();
  CHECK((*page)->items.front().number == 0);
  source.throws = true;
  ++page;
  CHECK_THROWS_AS(page == pages.end(), odd);
  REQUIRE(page != pages.end());
  CHECK((*page)->items.front().number == 3);
}
TEST_CASE("a scope of what are no tokens of the scheme is refused") {
  auto source = reviews_in(2, 20);
  feed changes{source, {.scope = token_range{token128{}, token128{~0ull, ~0ull}}}};
  auto const opened_so = changes.open();
  REQUIRE(!opened_so);
  CHECK(opened_so.error().code == errc::not_representable);
}
TEST_CASE("a page is passed once") {
  auto made = opened();
  REQUIRE(made.next(no_wait) == feed_question::page);
  give(made, "1", false);
  CHECK(test::promise_broken_by([&] {
          made.pass("2", true, {});
          return 0;
        }) != "");
}
}  // namespace
