// test/async/when_all_test.cpp — all are started, all are awaited, and the first that failed is
// heard of.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/version.hpp>

#include <async/deaths.hpp>
#include <async/operations.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

using keyspan::await_result;
using keyspan::ready;
using keyspan::sync_wait;
using keyspan::task;
using keyspan::when_all;
using test::operation;
using test::started;

task<int> number(int n) { co_return n; }
task<> nothing() { co_return; }
task<int&> place(int& n) { co_return n; }

static_assert(std::same_as<await_result<decltype(when_all(number(1), nothing(), ready{2L}))>,
                           std::tuple<int, std::monostate, long>>);
static_assert(std::same_as<await_result<decltype(when_all())>, std::tuple<>>);
static_assert(std::same_as<await_result<decltype(when_all(std::declval<std::vector<task<>>>()))>,
                           std::vector<std::monostate>>);

// [region: example]
task<int> bill(task<int> tea, task<int> cake, std::vector<task<int>> others) {
  auto both = when_all(std::move(tea), std::move(cake));  // both are under way at the same time
  auto const [of_tea, of_cake] = co_await std::move(both);
  int sum = of_tea + of_cake;
  auto rest = when_all(std::move(others));
  for (int const price : co_await std::move(rest)) sum += price;
  co_return sum;
}
// [end: example]

TEST_CASE("results come in the order of what was awaited") {
  std::vector<task<int>> others;
  others.push_back(number(3));
  others.push_back(number(4));
  CHECK(sync_wait(bill(number(1), number(2), std::move(others))) == 10);
  int n = 0;
  auto const [one, text, none, there] =
      sync_wait(when_all(number(1), ready{std::string{"text"}}, nothing(), place(n)));
  CHECK(one == 1);
  CHECK(text == "text");
  CHECK(none == std::monostate{});
  CHECK(&there == &n);
}

TEST_CASE("nothing is awaited at once") {
  CHECK(sync_wait(when_all()) == std::tuple{});
  CHECK(sync_wait(when_all(std::vector<task<int>>{})).empty());
}

TEST_CASE("values that can only be moved reach who awaits them") {
  auto const make = [](int n) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(n); };
  auto const both = sync_wait(when_all(make(1), make(2)));
  CHECK(*std::get<0>(both) + *std::get<1>(both) == 3);
  std::vector<task<std::unique_ptr<int>>> many;
  many.push_back(make(5));
  CHECK(*sync_wait(when_all(std::move(many)))[0] == 5);
}

task<int> await_it(operation& of) { co_return co_await of; }

template <class All>
started run(All all, std::optional<int>& sum, std::string& thrown) {
  try {
    auto const [a, b, c] = co_await std::move(all);
    sum = 100 * a + 10 * b + c;
  } catch (std::exception const& failure) {
    thrown = failure.what();
  }
}

TEST_CASE("all are started before any is done, and they are done in every order") {
  int const orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (auto const& order : orders) {
    operation works[3];
    std::optional<int> sum;
    std::string thrown;
    run(when_all(await_it(works[0]), works[1], await_it(works[2])), sum, thrown);
    for (auto const& work : works) CHECK(work.is_in_flight());
    for (int const i : order) {
      CHECK_FALSE(sum);
      works[i].end_with(i + 1);
    }
    CHECK(sum == 123);
  }
}

TEST_CASE("the first failure in their order is thrown, when all are done") {
  auto const fails = [](operation& of, std::string why) -> task<int> {
    co_await of;
    throw std::runtime_error{why};
  };
  operation works[3];
  std::optional<int> sum;
  std::string thrown;
  run(when_all(await_it(works[0]), fails(works[1], "second"), fails(works[2], "third")), sum,
      thrown);
  works[2].end_with(1);
  works[1].end_with(1);
  CHECK(thrown.empty());
  works[0].end_with(1);
  CHECK(thrown == "second");
  CHECK_FALSE(sum);
}

TEST_CASE("the first failure of a vector is thrown as well") {
  auto const fails = [](int n) -> task<int> {
    if (n > 1) throw std::runtime_error{std::to_string(n)};
    co_return n;
  };
  std::vector<task<int>> all;
  for (int n = 0; n < 4; ++n) all.push_back(fails(n));
  CHECK(test::thrown_by([&] { return sync_wait(when_all(std::move(all))); }) == "2");
}

TEST_CASE("what a part without a result throws is thrown as well, wherever it stands") {
  auto const fails = [](std::string why) -> task<> {
    throw std::runtime_error{why};
    co_return;
  };
  using test::thrown_by;
  CHECK(thrown_by([&] { return sync_wait(when_all(fails("first"), number(1))); }) == "first");
  CHECK(thrown_by([&] { return sync_wait(when_all(number(1), fails("last"))); }) == "last");
  CHECK(thrown_by([&] { return sync_wait(when_all(nothing(), fails("middle"), fails("last"))); }) ==
        "middle");
  for (std::size_t which = 0; which < 3; ++which) {
    std::vector<task<>> all;
    for (std::size_t i = 0; i < 3; ++i) all.push_back(i == which ? fails("one") : nothing());
    CHECK(thrown_by([&] { return sync_wait(when_all(std::move(all))); }) == "one");
  }
}

TEST_CASE("two tasks at a time allocate nothing in a steady state") {
  auto const work = [](int n) -> task<int> {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
      auto both = when_all(number(i), number(1));
      auto const [a, b] = co_await std::move(both);
      sum += a + b;
    }
    co_return sum;
  };
  sync_wait(work(2));
  std::size_t const made = test::allocations_in([&] { CHECK(sync_wait(work(100)) == 5050); });
  CHECK((made == 0 || KEYSPAN_THREAD_SANITIZER));
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("who awaits all is not destroyed while one is in flight") {
  auto const words = test::last_words_of([] {
    operation work;
    auto all = when_all(number(1), await_it(work));
    auto operations = std::move(all).operator co_await();
    static_cast<void>(operations.await_suspend(std::noop_coroutine()));
  });
  CHECK(words.find("an operation in flight is awaited") != std::string::npos);
}
#endif

}  // namespace
