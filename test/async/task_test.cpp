// test/async/task_test.cpp — a task runs when it is awaited, once, and gives its result or what it
// threw to who awaits.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>

#include <async/deaths.hpp>
#include <async/operations.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <coroutine>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using keyspan::result;
using keyspan::sync_wait;
using keyspan::task;
using test::abandonable_operation;
using test::operation;
using test::started;

static_assert(std::is_nothrow_move_constructible_v<task<int>> &&
              std::is_nothrow_move_assignable_v<task<int>> &&
              !std::is_copy_constructible_v<task<int>>);
static_assert(sizeof(task<std::string>) == sizeof(void*));

// [region: example]
task<result<int>> stock_of(std::string article) {
  if (article.empty()) co_return keyspan::fail(keyspan::errc::not_found, "no article has no name");
  co_return static_cast<int>(article.size());
}

task<result<int>> stock_of_both(std::string first, std::string second) {
  auto const a = co_await stock_of(std::move(first));
  if (!a) co_return keyspan::unexpected{a.error()};
  auto const b = co_await stock_of(std::move(second));
  if (!b) co_return keyspan::unexpected{b.error()};
  co_return *a + *b;
}
// [end: example]

TEST_CASE("errors of the world come as results, with no exception") {
  CHECK(sync_wait(stock_of_both("tea", "cake")) == 7);
  CHECK(sync_wait(stock_of_both("tea", "")).error().code == keyspan::errc::not_found);
}

task<> counts(int& calls) {
  ++calls;
  co_return;
}

TEST_CASE("a task that nobody awaits does nothing") {
  int calls = 0;
  {
    auto const never = counts(calls);
  }
  CHECK(calls == 0);
  sync_wait(counts(calls));
  CHECK(calls == 1);
}

TEST_CASE("a task gives values, values that can only be moved, references, and nothing") {
  auto const number = []() -> task<int> { co_return 1; };
  CHECK(sync_wait(number()) == 1);
  auto const owner = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(2); };
  CHECK(*sync_wait(owner()) == 2);
  int place = 0;
  auto const reference = [](int& n) -> task<int&> { co_return n; };
  int& given = sync_wait(reference(place));
  CHECK(&given == &place);
  auto const constant = [](int const& n) -> task<int const&> { co_return n; };
  CHECK(&sync_wait(constant(place)) == &place);
  auto const nothing = []() -> task<> { co_return; };
  static_assert(std::is_void_v<decltype(sync_wait(nothing()))>);
  sync_wait(nothing());
}

TEST_CASE("a result is moved once for each who awaits it, and never copied") {
  struct counter {
    explicit counter(int& n) : moves{&n} {}
    counter(counter&& other) noexcept : moves{other.moves} { ++*moves; }
    counter& operator=(counter&&) = delete;
    counter(counter const&) = delete;
    counter& operator=(counter const&) = delete;
    ~counter() = default;
    int* moves;
  };
  int moves = 0;
  auto const make = [](int& n) -> task<counter> { co_return counter{n}; };
  auto const pass = [](task<counter> inner) -> task<int> {
    auto const got = co_await std::move(inner);
    co_return *got.moves;
  };
  CHECK(sync_wait(pass(make(moves))) == 2);  // into the task, and out of it
}

TEST_CASE("a result is made of what converts to it, braces included") {
  auto const text = []() -> task<std::string> { co_return "text"; };
  CHECK(sync_wait(text()) == "text");
  auto const pair = []() -> task<std::pair<int, int>> { co_return {1, 2}; };
  CHECK(sync_wait(pair()).second == 2);
}

task<int> throws() {
  throw std::runtime_error{"by the user"};
  co_return 0;
}

TEST_CASE("what a task throws passes through all who await it") {
  auto const passes = []() -> task<int> { co_return 1 + co_await throws(); };
  CHECK(test::thrown_by([&] { return sync_wait(passes()); }) == "by the user");
  auto const catches = []() -> task<int> {
    try {
      co_await throws();
    } catch (std::runtime_error const&) {
      co_return 5;
    }
    co_return 0;
  };
  CHECK(sync_wait(catches()) == 5);
}

TEST_CASE("a result that cannot be made is thrown, and destroys nothing that was never there") {
  struct picky {
    explicit picky(int n) {
      if (n < 0) throw std::invalid_argument{"negative"};
    }
    picky(picky const&) { throw std::invalid_argument{"copied"}; }
    picky& operator=(picky const&) = delete;
    ~picky() = default;
  };
  auto const copies = [](picky const& from) -> task<picky> { co_return from; };
  picky const one{1};
  CHECK(test::thrown_by([&] { return sync_wait(copies(one)); }) == "copied");
}

TEST_CASE("a task is awaited once, and not after it was moved from") {
  auto first = throws();
  auto second = std::move(first);
  CHECK_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
  CHECK(second.valid());
  CHECK(test::promise_broken_by([&] { return sync_wait(std::move(first)); }) ==
        "a task is awaited once");
  CHECK_THROWS(sync_wait(std::move(second)));
  CHECK(test::promise_broken_by([&] { return sync_wait(std::move(second)); }) ==
        "a task is awaited once");
}

TEST_CASE("a task assigned over is destroyed") {
  int alive = 0;
  auto const holds = [](test::counted) -> task<> { co_return; };
  auto kept = holds(test::counted{alive});
  CHECK(alive == 1);
  kept = []() -> task<> { co_return; }();
  CHECK(alive == 0);
}

// Awaits two operations one after the other, with something to destroy at each point.
task<int> two_steps(operation& first, operation& second, int& alive) {
  test::counted const outer{alive};
  int sum = co_await first;
  {
    test::counted const inner{alive};
    sum += co_await second;
  }
  co_return sum;
}

started drive(task<int> of, std::optional<int>& got) { got = co_await std::move(of); }

TEST_CASE("a task goes on where its operation ends") {
  operation first;
  operation second;
  int alive = 0;
  std::optional<int> got;
  drive(two_steps(first, second, alive), got);
  CHECK(first.is_in_flight());
  first.end_with(3);
  CHECK_FALSE(got);
  CHECK(second.is_in_flight());
  CHECK(alive == 2);
  second.end_with(4);
  CHECK(got == 7);
  CHECK(alive == 0);
}

TEST_CASE("an operation that fails throws into the task that awaits it") {
  operation work;
  std::optional<int> got;
  auto const tries = [](operation& of) -> task<int> {
    try {
      co_return co_await of;
    } catch (std::runtime_error const&) {
    }
    co_return -7;
  };
  drive(tries(work), got);
  work.fail();
  CHECK(got == -7);
}

// A coroutine that a test may destroy when it likes.
class held {
 public:
  struct promise_type {
    held get_return_object() {
      return held{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() { throw; }
  };

  held(held const&) = delete;
  held& operator=(held const&) = delete;
  ~held() { destroy(); }
  void destroy() {
    if (frame_) std::exchange(frame_, {}).destroy();
  }
  bool is_done() const { return frame_.done(); }

 private:
  explicit held(std::coroutine_handle<promise_type> frame) : frame_{frame} {}
  std::coroutine_handle<promise_type> frame_;
};

held hold(task<int> of) { co_await std::move(of); }

task<int> nested(abandonable_operation& work, int depth, int& alive) {
  test::counted const here{alive};
  if (depth == 0) co_return co_await work;
  co_return co_await nested(work, depth - 1, alive);
}

TEST_CASE("a task in an abandonable operation is destroyed with all that it awaits") {
  abandonable_operation work;
  int alive = 0;
  {
    auto const root = hold(nested(work, 5, alive));
    CHECK(alive == 6);
    CHECK(work.is_in_flight());
  }
  CHECK(alive == 0);
  CHECK_FALSE(work.is_in_flight());
  work.end_with(1);  // too late: it is dropped
  auto const root = hold(nested(work, 5, alive));
  work.end_with(1);
  CHECK(root.is_done());
}

TEST_CASE("an operation whose start throws was never in flight") {
  struct refuses {
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error{"full"}; }
    void await_resume() const {}
  };
  auto const start = []() -> task<> { co_await refuses{}; };
  CHECK(test::thrown_by([&] { return sync_wait(start()); }) == "full");
}

TEST_CASE("an operation that is done at once was never in flight") {
  struct at_once {
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<>) const { return false; }
    int await_resume() const { return 3; }
  };
  auto const start = []() -> task<int> { co_return co_await at_once{}; };
  CHECK(sync_wait(start()) == 3);
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("destroying a task in an operation in flight breaks a contract") {
  auto const words = test::last_words_of([] {
    operation first;
    operation second;
    int alive = 0;
    auto root = hold(two_steps(first, second, alive));
    root.destroy();
  });
  CHECK(words.find("broken promise: an operation in flight is awaited or closed before its "
                   "coroutine is destroyed") != std::string::npos);
}

TEST_CASE("that holds for what a task awaits, and at every operation") {
  auto const words = test::last_words_of([] {
    operation first;
    operation second;
    int alive = 0;
    auto const outer = [](task<int> inner) -> task<int> { co_return co_await std::move(inner); };
    auto root = hold(outer(two_steps(first, second, alive)));
    first.end_with(1);
    root.destroy();
  });
  CHECK(words.find("an operation in flight is awaited") != std::string::npos);
}

TEST_CASE("without exceptions thrown, a handler that returns ends the program all the same") {
  auto const words = test::last_words_of([] {
    keyspan::set_contract_handler(
        [](keyspan::violation const&) { std::fputs("the handler was here", stderr); });
    operation work;
    auto const waits = [](operation& of) -> task<int> { co_return co_await of; };
    auto root = hold(waits(work));
    root.destroy();
  });
  CHECK(words == "the handler was here");
}
#endif

TEST_CASE("a task between operations is destroyed at any suspension point without harm") {
  // Suspended before it began, and when it is done: nothing is in flight.
  int alive = 0;
  operation first;
  operation second;
  {
    auto const unstarted = two_steps(first, second, alive);
  }
  std::optional<int> got;
  drive(two_steps(first, second, alive), got);
  first.end_with(1);
  second.end_with(1);
  CHECK(alive == 0);
}

TEST_CASE("tasks allocate nothing in a steady state, whatever they await") {
  auto const work = [](int n) -> task<int> {
    auto const leaf = [](int m) -> task<int> { co_return m; };
    int sum = 0;
    for (int i = 0; i < n; ++i) {
      sum += co_await leaf(i);
      sum += co_await keyspan::ready{1};
    }
    co_return sum;
  };
  CHECK(sync_wait(work(10)) == 55);
  std::size_t const made = test::allocations_in([&] { sync_wait(work(1000)); });
  CHECK((made == 0 || KEYSPAN_THREAD_SANITIZER));
}

struct throws_at_its_end {
  ~throws_at_its_end() noexcept(false) { throw std::runtime_error{"at the end"}; }
};

TEST_CASE("a result that is replaced before anybody has it is destroyed") {
  int alive = 0;
  auto const failing = [](int& of) -> task<test::counted> {
    throws_at_its_end const last;
    co_return test::counted{of};
  };
  auto const replaced = [](int& of) -> task<test::counted> {
    try {
      throws_at_its_end const last;
      co_return test::counted{of};
    } catch (std::runtime_error const&) {
    }
    co_return test::counted{of};
  };
  CHECK_THROWS_AS(sync_wait(failing(alive)), std::runtime_error);
  CHECK(alive == 0);
  {
    auto const kept = sync_wait(replaced(alive));
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

}  // namespace
