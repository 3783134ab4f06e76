// test/async/awaitable_test.cpp — who can be awaited, in each of the three ways, and for what.
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>

#include <support/check.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <string>
#include <type_traits>

namespace {

using keyspan::await_result;
using keyspan::awaitable;
using keyspan::awaitable_of;
using keyspan::awaiter;

struct plain {
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) const {}
  int await_resume() const { return 1; }
};

struct by_member {
  plain operator co_await() const& { return {}; }
};

struct by_member_of_an_rvalue {
  plain operator co_await() && { return {}; }
};

struct by_function {};
[[maybe_unused]] plain operator co_await(by_function) { return {}; }

struct jumps : plain {
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> suspended) const {
    return suspended;
  }
};

struct stays : plain {
  bool await_suspend(std::coroutine_handle<>) const { return false; }
};

struct gives_a_number_to_suspend : plain {
  int await_suspend(std::coroutine_handle<>) const { return 0; }
};

struct without_an_end {
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) const {}
};

struct leads_to_no_awaiter {
  int operator co_await() const { return 1; }
};

struct refers : plain {
  std::string& await_resume() const;
};

static_assert(awaiter<plain> && awaiter<plain&> && awaiter<plain const&>);
static_assert(awaiter<jumps> && awaiter<stays>);
static_assert(!awaiter<by_member> && !awaiter<int> && !awaiter<gives_a_number_to_suspend> &&
              !awaiter<without_an_end>);
static_assert(awaiter<std::suspend_always> && awaiter<std::suspend_never>);

static_assert(awaitable<plain> && awaitable<plain&> && awaitable<by_member> &&
              awaitable<by_member const&> && awaitable<by_function>);
static_assert(awaitable<by_member_of_an_rvalue> && !awaitable<by_member_of_an_rvalue&>);
static_assert(!awaitable<int> && !awaitable<leads_to_no_awaiter> && !awaitable<without_an_end>);

static_assert(std::same_as<await_result<by_function>, int>);
static_assert(std::same_as<await_result<std::suspend_never>, void>);
static_assert(std::same_as<await_result<refers>, std::string&>);
static_assert(awaitable_of<refers, std::string> && !awaitable_of<refers, std::string&>);
static_assert(awaitable_of<by_member, int> && !awaitable_of<by_member, long>);
static_assert(awaitable_of<std::suspend_never, void> && !awaitable_of<int, int>);

// [region: example]
// What a source answers with is its own affair: a value at hand, a task, a library's operation.
template <awaitable_of<std::string> Answer>
keyspan::task<std::size_t> length_of(Answer answer) {
  std::string const text = co_await std::move(answer);
  co_return text.size();
}
// [end: example]

TEST_CASE("who gives a text is awaited for it, whatever it is") {
  auto const answer = []() -> keyspan::task<std::string> { co_return "a task"; };
  CHECK(keyspan::sync_wait(length_of(answer())) == 6);
  CHECK(keyspan::sync_wait(length_of(keyspan::ready{std::string{"ready"}})) == 5);
}

TEST_CASE("an awaitable is awaited by its member, by its function, or itself") {
  auto const sum = []() -> keyspan::task<int> {
    plain own;
    by_member const member;
    int all = co_await own;
    all += co_await member;
    all += co_await by_member_of_an_rvalue{};
    all += co_await by_function{};
    all += co_await jumps{};
    all += co_await stays{};
    co_return all;
  };
  CHECK(keyspan::sync_wait(sum()) == 6);
}

// Neither copied nor moved, and told how often it is destroyed: an awaiter of others is used where
// it was made.
struct pinned_awaiter : plain {
  explicit pinned_awaiter(int& destroyed) : destroyed_{destroyed} {}
  pinned_awaiter(pinned_awaiter const&) = delete;
  pinned_awaiter& operator=(pinned_awaiter const&) = delete;
  ~pinned_awaiter() { ++destroyed_; }

 private:
  int& destroyed_;
};
struct gives_pinned {
  int& destroyed;
  pinned_awaiter operator co_await() const { return pinned_awaiter{destroyed}; }
};

TEST_CASE("an awaiter is never copied, and destroyed once") {
  int destroyed = 0;
  auto const once = [](gives_pinned from) -> keyspan::task<int> { co_return co_await from; };
  CHECK(keyspan::sync_wait(once(gives_pinned{destroyed})) == 1);
  CHECK(destroyed == 1);
}

struct knows_who_waits : plain {
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise>) {
    is_typed = !std::is_void_v<Promise>;
    return false;
  }
  bool await_ready() const { return false; }
  bool await_resume() const { return is_typed; }
  bool is_typed = false;
};

TEST_CASE("an awaiter is told the promise of who waits, as without a task between") {
  auto const ask = []() -> keyspan::task<bool> { co_return co_await knows_who_waits{}; };
  CHECK(keyspan::sync_wait(ask()));
}

}  // namespace
