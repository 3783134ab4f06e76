// test/feed/feed_again_test.cpp — what a feed does where it goes on: after a loop was left, after
// an exception, after neighbours became one.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/redis_cluster.hpp>

#include "journal.hpp"

#include <catch2/catch_test_macros.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <optional>
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

TEST_CASE("neighbours are one again whichever of them stands first in the line") {
  auto made = opened();
  for (int i = 0; i < 4; ++i) {
    REQUIRE(made.next(no_wait) == feed_question::page);
    give(made, i == 2 ? "8" : "7", i == 2);
  }
  REQUIRE(made.next(no_wait) == feed_question::page);
  CHECK(made.range() == slots(100, 200));  // ahead of [0, 100)
  CHECK(made.absorb(gone));
  REQUIRE(made.take({{owner("4", 0, 16'384, {"1", "2", "3"})}, "v2"}));
  REQUIRE(made.take({.not_modified = true}));
  CHECK(parts_of(made) == "[0, 200) behind 7; [200, the end) behind 8; ");
}
TEST_CASE("idle neighbours that become one are due when the first of them was") {
  auto made = opened();
  instant const start{};
  for (auto const delay : {5s, 9s}) {
    REQUIRE(made.next(start) == feed_question::page);
    give(made, "1", true, start + delay);
  }
  REQUIRE(made.next(start) == feed_question::page);
  CHECK(made.absorb(gone));
  REQUIRE(made.take({{owner("4", 0, 200, {"1", "2"}), owner("5", 200, 16'384, {"3"})}, "v2"}));
  REQUIRE(made.take({.not_modified = true}));
  REQUIRE(made.next(start) == feed_question::page);
  give(made, "1", true, start + 12s);
  CHECK(made.size() == 2);
  REQUIRE(made.next(start) == feed_question::wait);
  CHECK(made.due() == start + 5s);
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
