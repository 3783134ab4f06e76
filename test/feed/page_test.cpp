// test/feed/page_test.cpp — what a page holds, and what is one.
#include <keyspan/feed/page.hpp>

#include <support/check.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::page;
using keyspan::page_of_items;
using test::check;

static_assert(page_of_items<page<int>> && page_of_items<page<std::string>>);
static_assert(page_of_items<page<int, std::array<int, 4>>>);
static_assert(page_of_items<page<int, std::span<int const>>>);
static_assert(page_of_items<page<std::unique_ptr<int>>>);
static_assert(!page_of_items<page<int, std::list<int>>> &&
              !page_of_items<page<int, std::deque<int>>>);
static_assert(!page_of_items<page<bool>>);  // they share bytes
static_assert(!page_of_items<page<int, std::vector<long>>>);
static_assert(!page_of_items<std::vector<int>> && !page_of_items<int>);

struct stays_where_it_is {
  stays_where_it_is() = default;
  stays_where_it_is(stays_where_it_is const&) = delete;
  stays_where_it_is& operator=(stays_where_it_is const&) = delete;
  int* begin() const { return nullptr; }
  int* end() const { return nullptr; }
};
static_assert(!page_of_items<page<int, stays_where_it_is>>);

TEST_CASE("the example of page reads as it should") {
  // [region: example]
  // A page that shows what stands in somebody's buffer, and keeps the buffer alive.
  struct shared_numbers {
    std::shared_ptr<std::vector<int> const> block{};
    int const* begin() const { return block ? block->data() : nullptr; }
    int const* end() const { return block ? block->data() + block->size() : nullptr; }
  };
  using page_type = keyspan::page<int, shared_numbers>;
  static_assert(keyspan::page_of_items<page_type>);

  auto const block = std::make_shared<std::vector<int> const>(std::vector{1, 2, 3});
  page_type const answer{.items = {block}, .continuation = "\"17\"", .charge = 2.5};
  int sum = 0;
  for (int const n : answer.items) sum += n;
  check(sum == 6 && !answer.nothing_new && answer.attempts == 1);
  // [end: example]
}

TEST_CASE("a page that says nothing is empty, came at the first attempt and cost nothing") {
  page<int> const empty;
  CHECK(empty.items.empty());
  CHECK(empty.continuation.empty());
  CHECK_FALSE(empty.nothing_new);
  CHECK(empty.attempts == 1);
  CHECK(empty.charge == 0);
  CHECK(empty.lsn == 0);
  CHECK(empty.activity_id.empty());
  CHECK(empty.endpoint.empty());
  CHECK(empty.session_token.empty());
}

TEST_CASE("pages are equal when all that they say is") {
  page<int> const one{.items = {1, 2}, .continuation = "a", .nothing_new = true};
  CHECK(one == page<int>(one));
  auto const differs = [&](auto change) {
    page<int> other = one;
    change(other);
    return !(other == one);
  };
  CHECK(differs([](auto& p) { p.items.push_back(3); }));
  CHECK(differs([](auto& p) { p.continuation = "b"; }));
  CHECK(differs([](auto& p) { p.nothing_new = false; }));
  CHECK(differs([](auto& p) { p.attempts = 2; }));
  CHECK(differs([](auto& p) { p.charge = 1; }));
  CHECK(differs([](auto& p) { p.lsn = 1; }));
  CHECK(differs([](auto& p) { p.activity_id = {"x"}; }));
  CHECK(differs([](auto& p) { p.endpoint = {"localhost:8081"}; }));
  CHECK(differs([](auto& p) { p.session_token = "0:1"; }));
}

TEST_CASE("a page of items that cannot be copied is moved") {
  page<std::unique_ptr<int>> from;
  from.items.push_back(std::make_unique<int>(7));
  page<std::unique_ptr<int>> const to = std::move(from);
  CHECK(*to.items.front() == 7);
}

}  // namespace
