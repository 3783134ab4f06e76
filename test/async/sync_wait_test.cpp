// test/async/sync_wait_test.cpp — a thread waits for what another one ends.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/version.hpp>

#include <async/operations.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace {

using keyspan::ready;
using keyspan::sync_wait;
using keyspan::task;

// Goes on in a thread of its own, which the test joins.
class new_thread {
 public:
  explicit new_thread(std::thread& place) : place_{&place} {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const {
    *place_ = std::thread{[suspended] { suspended.resume(); }};
  }
  std::thread::id await_resume() const { return std::this_thread::get_id(); }

 private:
  std::thread* place_;
};

TEST_CASE("a thread waits until the task is done on another one") {
  std::thread other;
  // [region: example]
  auto const report = [&other]() -> task<std::string> {
    co_await new_thread{other};  // goes on over there
    co_return "done";
  };
  std::string const told = sync_wait(report());  // this thread waits for it
  // [end: example]
  CHECK(told == "done");
  other.join();
}

TEST_CASE("what is awaited directly gives its result in the thread that waited") {
  std::thread other;
  CHECK(sync_wait(new_thread{other}) == std::this_thread::get_id());
  other.join();
}

TEST_CASE("results come by value, references as references, and nothing as nothing") {
  static_assert(std::same_as<decltype(sync_wait(ready{1})), int>);
  int n = 0;
  auto const place = [](int& of) -> task<int&> { co_return of; };
  static_assert(std::same_as<decltype(sync_wait(place(n))), int&>);
  CHECK(&sync_wait(place(n)) == &n);
  static_assert(std::same_as<decltype(sync_wait(std::suspend_never{})), void>);
  sync_wait(std::suspend_never{});
}

TEST_CASE("what is thrown on another thread reaches the one that waits") {
  std::thread other;
  auto const fails = [&other]() -> task<> {
    co_await new_thread{other};
    throw std::runtime_error{"over there"};
  };
  CHECK(test::thrown_by([&] {
          sync_wait(fails());
          return 0;
        }) == "over there");
  other.join();
}

TEST_CASE("an operation that cannot be started throws in the thread that would have waited") {
  struct refuses {
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error{"full"}; }
    void await_resume() const {}
  };
  CHECK(test::thrown_by([] {
          sync_wait(refuses{});
          return 0;
        }) == "full");
}

TEST_CASE("an awaitable that stays elsewhere is awaited where it stands") {
  ready owner{std::make_unique<int>(4)};
  auto const moved = sync_wait(owner);
  CHECK(*moved == 4);
  CHECK(owner.value == nullptr);
}

TEST_CASE("waiting allocates nothing in a steady state") {
  auto const number = []() -> task<int> { co_return 1; };
  sync_wait(number());
  std::size_t const made = test::allocations_in([&] { sync_wait(number()); });
  CHECK((made == 0 || KEYSPAN_THREAD_SANITIZER));
}

}  // namespace
