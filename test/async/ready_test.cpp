// test/async/ready_test.cpp — what is ready suspends nobody, and is given away without a copy.
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <concepts>
#include <memory>
#include <string_view>
#include <utility>

namespace {

using keyspan::ready;

static_assert(keyspan::awaitable_of<ready<int>, int>);
static_assert(std::same_as<keyspan::await_result<ready<int>>, int&&>);
static_assert(std::same_as<decltype(ready{std::string_view{"text"}}), ready<std::string_view>>);

// [region: example]
// A table in memory: what it answers is ready, and who asks may be a coroutine or a plain loop.
struct table {
  ready<int> price_of(std::string_view article) const { return {article == "tea" ? 4 : 7}; }
};

keyspan::task<int> bill(table const& prices) {
  int sum = co_await prices.price_of("tea");
  sum += co_await prices.price_of("cake");
  co_return sum;
}
// [end: example]

TEST_CASE("what is ready is the value, in a coroutine and outside") {
  table const prices;
  CHECK(keyspan::sync_wait(bill(prices)) == 11);
  CHECK(keyspan::sync_wait(prices.price_of("tea")) == 4);
}

constexpr bool a_ready_value_is_moved_out_and_never_copied() {
  ready pair{std::pair{1, 2}};
  test::check(pair.await_ready());
  auto&& given = pair.await_resume();
  test::check(&given == &pair.value);
  return given.second == 2;
}
CHECK_BOTH(a_ready_value_is_moved_out_and_never_copied);

TEST_CASE("a ready value that can only be moved reaches who awaits it") {
  auto const fetch = []() -> keyspan::task<int> {
    std::unique_ptr<int> const one = co_await ready{std::make_unique<int>(5)};
    co_return *one;
  };
  CHECK(keyspan::sync_wait(fetch()) == 5);
  auto const owned = keyspan::sync_wait(ready{std::make_unique<int>(6)});
  CHECK(*owned == 6);
}

TEST_CASE("awaiting what is ready from outside makes no coroutine") {
  std::size_t const made = test::allocations_in([] { CHECK(keyspan::sync_wait(ready{3}) == 3); });
  CHECK(made == 0);
}

}  // namespace
