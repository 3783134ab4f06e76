// test/async/async_stream_test.cpp — a stream gives its items one by one, and is closed or
// destroyed wherever it stands.
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/version.hpp>

#include <async/deaths.hpp>
#include <async/held.hpp>
#include <async/operations.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::async_stream;
using keyspan::own_stop_token;
using keyspan::stop_callback;
using keyspan::stop_token;
using keyspan::sync_wait;
using keyspan::task;
using test::abandonable_operation;
using test::counted;
using test::operation;
using test::started;

static_assert(std::is_nothrow_move_constructible_v<async_stream<int>> &&
              std::is_nothrow_default_constructible_v<async_stream<int>> &&
              !std::is_copy_constructible_v<async_stream<int>>);

// [region: example]
async_stream<std::string> lines_of(std::vector<std::string> pages) {
  for (auto const& page : pages) {
    std::string line;
    for (char const c : page) {
      if (c != '\n') {
        line += c;
      } else {
        co_yield std::exchange(line, {});
      }
    }
  }
}

task<std::string> first_with(char wanted, std::vector<std::string> pages) {
  auto lines = lines_of(std::move(pages));
  std::string found;
  while (std::string* line = co_await lines.next()) {
    if (line->find(wanted) == std::string::npos) continue;
    found = std::move(*line);
    break;
  }
  co_await lines.close();  // needless here, as nothing is in flight; it never does harm
  co_return found;
}
// [end: example]

TEST_CASE("a stream is read until somebody has found what he looks for") {
  std::vector<std::string> const pages{"one\ntwo\n", "three\nfour\n"};
  CHECK(sync_wait(first_with('h', pages)) == "three");
  CHECK(sync_wait(first_with('x', pages)).empty());
}

async_stream<int> up_to(int n) {
  for (int i = 1; i <= n; ++i) co_yield i;
}

int taken(async_stream<int>& from) {
  int const* const item = sync_wait(from.next());
  return item != nullptr ? *item : -1;
}

TEST_CASE("a stream gives null at its end, and again whenever it is asked") {
  auto stream = up_to(2);
  CHECK(taken(stream) == 1);
  CHECK(taken(stream) == 2);
  CHECK(taken(stream) == -1);
  CHECK(taken(stream) == -1);
  CHECK(static_cast<bool>(stream));
}

TEST_CASE("a stream without a coroutine has ended") {
  async_stream<int> none;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK(taken(none) == -1);
  sync_wait(none.close());
  auto stream = up_to(2);
  none = std::move(stream);
  CHECK_FALSE(static_cast<bool>(stream));  // NOLINT(bugprone-use-after-move)
  CHECK(taken(none) == 1);
}

TEST_CASE("items are given where they stand: moved from, changed, or copied where constant") {
  auto const make = []() -> async_stream<std::string> {
    std::string own = "own";
    co_yield own;
    if (own != "changed") throw std::runtime_error{"the change got lost"};
    std::string const constant = "constant";
    co_yield constant;
    if (constant != "constant") throw std::runtime_error{"a constant was changed"};
    co_yield "converted";
    std::string const borrowed = "built " + constant;
    co_yield borrowed + "!";
  };
  auto stream = make();
  std::string* item = sync_wait(stream.next());
  CHECK(*item == "own");
  *item = "changed";
  item = sync_wait(stream.next());
  CHECK(*item == "constant");
  *item = "changed too";
  CHECK(*sync_wait(stream.next()) == "converted");
  CHECK(*sync_wait(stream.next()) == "built constant!");
  CHECK(sync_wait(stream.next()) == nullptr);
}

TEST_CASE("items that can only be moved are moved out of the stream") {
  auto const make = []() -> async_stream<std::unique_ptr<int>> {
    co_yield std::make_unique<int>(1);
    auto second = std::make_unique<int>(2);
    co_yield second;
  };
  auto stream = make();
  auto const first = std::move(*sync_wait(stream.next()));
  auto const second = std::move(*sync_wait(stream.next()));
  CHECK(*first + *second == 3);
  CHECK(sync_wait(stream.next()) == nullptr);
}

TEST_CASE("what a stream throws passes through next() once, and it has ended") {
  auto const make = []() -> async_stream<int> {
    co_yield 1;
    throw std::runtime_error{"by the user"};
  };
  auto stream = make();
  CHECK(taken(stream) == 1);
  CHECK(test::thrown_by([&] { return taken(stream); }) == "by the user");
  CHECK(taken(stream) == -1);
}

TEST_CASE("a stream destroyed between items destroys what it holds") {
  int alive = 0;
  auto const make = [](counted) -> async_stream<int> {
    co_yield 1;
    co_yield 2;
  };
  {
    auto const never_asked = make(counted{alive});
  }
  CHECK(alive == 0);
  {
    auto stream = make(counted{alive});
    CHECK(taken(stream) == 1);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

// One item of work in each way that there is: at hand, awaited, awaited by a task that it awaits.
template <class Operation>
async_stream<int> steps(Operation& work, int& alive) {
  counted const outer{alive};
  stop_token const stop = co_await own_stop_token;
  co_yield 0;
  int const first = co_await work;
  if (stop.stop_requested()) co_return;
  co_yield first;
  {
    counted const inner{alive};
    auto const of_task = [](Operation& of, int& count) -> task<int> {
      counted const innermost{count};
      co_return co_await of;
    };
    int const second = co_await of_task(work, alive);
    if (stop.stop_requested()) co_return;
    co_yield second;
  }
  int const third = co_await work;
  co_yield third;  // whether it was stopped or not
}

// What next() has given: nothing yet, an item, or null.
struct answer {
  bool is_there = false;
  std::optional<int> item{};
  std::string thrown{};
};

template <class T>
started ask(async_stream<T>& stream, answer& to) {
  try {
    T const* const item = co_await stream.next();
    if (item != nullptr) to.item = *item;
  } catch (std::exception const& thrown) {
    to.thrown = thrown.what();
  }
  to.is_there = true;
}

template <class T>
started close(async_stream<T>& stream, answer& to) {
  try {
    co_await stream.close();
  } catch (std::exception const& thrown) {
    to.thrown = thrown.what();
  }
  to.is_there = true;
}

TEST_CASE("a stream goes on where its operation ends, and items at hand suspend nobody") {
  operation work;
  int alive = 0;
  auto stream = steps(work, alive);
  answer zero;
  ask(stream, zero);
  CHECK(zero.item == 0);
  for (int n = 1; n <= 3; ++n) {
    answer next;
    ask(stream, next);
    CHECK_FALSE(next.is_there);
    work.end_with(n);
    CHECK(next.item == n);
  }
  CHECK(taken(stream) == -1);
  CHECK(alive == 0);
}

// Brings a stream to its n-th operation, which is in flight then.
template <class Operation>
void bring(async_stream<int>& stream, Operation& work, int nth, answer& last) {
  answer at_hand;
  ask(stream, at_hand);
  for (int n = 1; n < nth; ++n) {
    answer passed;
    ask(stream, passed);
    work.end_with(n);
    CHECK(passed.item == n);
  }
  ask(stream, last);
  CHECK(work.is_in_flight());
}

TEST_CASE("close() at every suspension point waits for what is in flight, and ends the stream") {
  for (int nth = 1; nth <= 3; ++nth) {
    operation work;
    int alive = 0;
    auto stream = steps(work, alive);
    answer last;
    bring(stream, work, nth, last);
    answer closed;
    close(stream, closed);
    CHECK_FALSE(closed.is_there);
    CHECK_FALSE(last.is_there);
    CHECK(alive > 0);
    CHECK(taken(stream) == -1);  // nobody gets another item
    work.end_with(nth);
    CHECK(last.is_there);
    CHECK_FALSE(last.item);  // nor the one that came: it is gone
    CHECK(closed.is_there);
    CHECK(alive == 0);
    sync_wait(stream.close());
    CHECK_FALSE(static_cast<bool>(stream));
  }
}

TEST_CASE("close() at every suspension point where nothing is in flight ends the stream at once") {
  for (int given = 0; given <= 5; ++given) {
    int alive = 0;
    auto const make = [](counted, int n) -> async_stream<int> {
      for (int i = 0; i < n; ++i) co_yield i;
    };
    auto stream = make(counted{alive}, 4);
    for (int i = 0; i < given; ++i) static_cast<void>(taken(stream));
    CHECK(alive > 0);
    sync_wait(stream.close());
    CHECK(alive == 0);
    CHECK(taken(stream) == -1);
    sync_wait(stream.close());
  }
}

// An operation that ends at the moment when stop is requested, within the request.
class ends_when_stopped {
 public:
  explicit ends_when_stopped(stop_token stop) : stop_{std::move(stop)} {}
  bool await_ready() const { return stop_.stop_requested(); }
  void await_suspend(std::coroutine_handle<> suspended) {
    told_.emplace(stop_, [suspended] { suspended.resume(); });
  }
  bool await_resume() const { return stop_.stop_requested(); }

 private:
  stop_token stop_;
  std::optional<stop_callback<std::function<void()>>> told_{};
};

TEST_CASE("an operation that ends within close() is waited for just the same") {
  for (bool const gives_item : {false, true}) {
    int alive = 0;
    auto const make = [](counted, bool gives) -> async_stream<int> {
      stop_token const stop = co_await own_stop_token;
      bool const stopped = co_await ends_when_stopped{stop};
      if (gives && stopped) co_yield 5;
    };
    auto stream = make(counted{alive}, gives_item);
    answer last;
    ask(stream, last);
    CHECK_FALSE(last.is_there);
    answer closed;
    close(stream, closed);
    CHECK(last.is_there);
    CHECK_FALSE(last.item);
    CHECK(closed.is_there);
    CHECK(alive == 0);
  }
}

TEST_CASE("what is thrown while a stream is being closed reaches who awaits the item") {
  operation work;
  int alive = 0;
  auto stream = steps(work, alive);
  answer last;
  bring(stream, work, 2, last);
  answer closed;
  close(stream, closed);
  work.fail();
  CHECK(last.thrown == "the operation failed");
  CHECK(closed.is_there);
  CHECK(closed.thrown.empty());
  CHECK(alive == 0);
}

// A coroutine that awaits an item, and that a test may destroy.
class waits_for_item {
 public:
  struct promise_type {
    waits_for_item get_return_object() {
      return waits_for_item{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() { throw; }
  };

  waits_for_item(waits_for_item const&) = delete;
  waits_for_item& operator=(waits_for_item const&) = delete;
  ~waits_for_item() { frame_.destroy(); }

 private:
  explicit waits_for_item(std::coroutine_handle<promise_type> frame) : frame_{frame} {}
  std::coroutine_handle<promise_type> frame_;
};

waits_for_item wait_in(async_stream<int>& stream) { co_await stream.next(); }
waits_for_item own_and_wait(async_stream<int> stream) { co_await stream.next(); }

TEST_CASE("where who awaits is destroyed the item is kept for the next one") {
  operation work;
  int alive = 0;
  auto stream = steps(work, alive);
  CHECK(taken(stream) == 0);
  {
    auto const gone = wait_in(stream);
  }
  work.end_with(7);
  CHECK(taken(stream) == 7);
  {
    auto const gone = wait_in(stream);
  }
  answer next;  // asked for before it is there
  ask(stream, next);
  CHECK_FALSE(next.is_there);
  work.end_with(8);
  CHECK(next.item == 8);
}

TEST_CASE("what is thrown for somebody who is gone is kept for the next one, or for close()") {
  operation work;
  int alive = 0;
  auto const make = [](operation& of, int& count) -> async_stream<int> {
    counted const here{count};
    co_yield co_await of;
  };
  for (bool const closes : {false, true}) {
    auto stream = make(work, alive);
    {
      auto const gone = wait_in(stream);
    }
    answer closed;
    if (closes) {
      close(stream, closed);
      work.fail();
      CHECK(closed.thrown == "the operation failed");
    } else {
      work.fail();
      CHECK(test::thrown_by([&] { return taken(stream); }) == "the operation failed");
      CHECK(taken(stream) == -1);
    }
    CHECK(alive == 0);
  }
}

TEST_CASE("a stream in an abandonable operation is destroyed at every suspension point") {
  for (int nth = 1; nth <= 3; ++nth) {
    abandonable_operation work;
    int alive = 0;
    {
      auto stream = steps(work, alive);
      CHECK(taken(stream) == 0);
      for (int n = 1; n < nth; ++n) {
        answer passed;
        ask(stream, passed);
        work.end_with(n);
      }
      auto const waits = own_and_wait(std::move(stream));
      CHECK(work.is_in_flight());
      CHECK(alive > 0);
    }
    CHECK(alive == 0);
    CHECK_FALSE(work.is_in_flight());
    work.end_with(nth);
  }
}

TEST_CASE("one at a time awaits the next item") {
  operation work;
  int alive = 0;
  auto stream = steps(work, alive);
  answer last;
  bring(stream, work, 1, last);
  auto const broken = test::promise_broken_by([&] { return sync_wait(stream.next()); });
  CHECK(broken == "one at a time awaits the next item");
  work.end_with(1);
  CHECK(last.item == 1);
}

TEST_CASE("a stream does not await itself") {
  std::string broken;
  async_stream<int> stream;
  auto const make = [](async_stream<int>& self, std::string& told) -> async_stream<int> {
    told = test::promise_broken_by([&] { return taken(self); });
    co_yield 1;
  };
  stream = make(stream, broken);
  CHECK(taken(stream) == 1);
  CHECK(broken == "one at a time awaits the next item");
}

#if KEYSPAN_TEST_DEATHS
bool says(std::string const& words, std::string const& sentence) {
  return words.find("broken promise: " + sentence) != std::string::npos;
}

TEST_CASE("destroying a stream in an operation in flight breaks a contract, at every point") {
  for (int nth = 1; nth <= 3; ++nth) {
    auto const words = test::last_words_of([nth] {
      operation work;
      int alive = 0;
      auto stream = steps(work, alive);
      static_cast<void>(taken(stream));
      for (int n = 1; n < nth; ++n) {
        answer passed;
        ask(stream, passed);
        work.end_with(n);
      }
      auto const waits = own_and_wait(std::move(stream));
    });
    CHECK(says(words,
               "an operation in flight is awaited or closed before its coroutine is "
               "destroyed"));
  }
}

TEST_CASE("destroying a stream that somebody awaits breaks a contract, abandonable or not") {
  auto const words = test::last_words_of([] {
    abandonable_operation work;
    int alive = 0;
    answer last;
    auto stream = steps(work, alive);
    bring(stream, work, 1, last);
  });
  CHECK(says(words, "a stream that is awaited is closed before it is destroyed"));
}

TEST_CASE("a stream that closes itself breaks a contract") {
  auto const words = test::last_words_of([] {
    async_stream<int> stream;
    auto const make = [](async_stream<int>& self) -> async_stream<int> {
      co_await self.close();
      co_yield 1;
    };
    stream = make(stream);
    static_cast<void>(taken(stream));
  });
  CHECK(says(words, "a stream does not close itself"));
}
#endif

TEST_CASE("a stream is consumed and closed by two parts of one coroutine") {
  operation work;
  int alive = 0;
  auto const consume = [](async_stream<int>& from) -> task<int> {
    int sum = 0;
    while (int const* item = co_await from.next()) sum += *item;
    co_return sum;
  };
  auto const stop_after = [](async_stream<int>& of, operation& sign) -> task<> {
    co_await sign;
    co_await of.close();
  };
  auto const both = [&](async_stream<int> stream, operation& sign) -> task<int> {
    auto all = keyspan::when_all(consume(stream), stop_after(stream, sign));
    auto const results = co_await std::move(all);
    co_return std::get<0>(results);
  };
  operation sign;
  std::optional<int> got;
  auto const run = [&](task<int> of) -> started { got = co_await std::move(of); };
  run(both(steps(work, alive), sign));
  work.end_with(4);
  sign.end_with(0);
  CHECK_FALSE(got);
  work.end_with(9);
  CHECK(got == 4);
  CHECK(alive == 0);
}

TEST_CASE("a stream may be moved while its next item is awaited") {
  operation work;
  int alive = 0;
  auto stream = steps(work, alive);
  answer last;
  bring(stream, work, 1, last);
  auto moved = std::move(stream);
  work.end_with(6);
  CHECK(last.item == 6);
  sync_wait(moved.close());
  CHECK(alive == 0);
}

TEST_CASE("a stream may await a stream") {
  auto const doubled = [](async_stream<int> from) -> async_stream<int> {
    while (int* item = co_await from.next()) co_yield 2 * *item;
  };
  auto stream = doubled(doubled(up_to(3)));
  CHECK(taken(stream) == 4);
  CHECK(taken(stream) == 8);
  CHECK(taken(stream) == 12);
  CHECK(taken(stream) == -1);
}

TEST_CASE("a stream allocates nothing in a steady state") {
  auto const sum_of = [](int n) -> task<int> {
    int sum = 0;
    auto stream = up_to(n);
    while (int const* item = co_await stream.next()) sum += *item;
    co_await stream.close();
    co_return sum;
  };
  sync_wait(sum_of(3));
  std::size_t const made = test::allocations_in([&] { CHECK(sync_wait(sum_of(1000)) == 500500); });
  CHECK((made == 0 || KEYSPAN_THREAD_SANITIZER));
}

async_stream<int> item_of(test::operation& of) { co_yield co_await of; }
async_stream<int> item_of(test::abandonable_operation& of, test::counted) { co_yield co_await of; }

TEST_CASE("an item that comes between being asked for and being waited for is taken") {
  for (bool const fails : {false, true}) {
    test::operation work;
    auto stream = item_of(work);
    {
      auto asked = keyspan::detail::awaiter_of(stream.next());
      CHECK(!asked.await_ready());
      fails ? work.fail() : work.end_with(3);
      CHECK(!asked.await_suspend(std::noop_coroutine()));
      if (fails) {
        CHECK(test::thrown_by([&] { return asked.await_resume(); }) == "the operation failed");
      } else {
        CHECK(*asked.await_resume() == 3);
      }
    }
    CHECK(sync_wait(stream.next()) == nullptr);
    sync_wait(stream.close());  // throws nothing: what was thrown was heard
  }
}
test::held hear_item(async_stream<int>& of, std::string& log) {
  log += co_await of.next() == nullptr ? "null " : "item ";
}
test::held close_and_log(async_stream<int>& of, std::string& log) {
  co_await of.close();
  log += "closed ";
}
TEST_CASE("who awaits the item hears of the end before who closes") {
  test::operation work;
  auto stream = item_of(work);
  std::string log;
  auto const hearing = hear_item(stream, log);
  auto const ending = close_and_log(stream, log);
  work.end_with(1);
  CHECK(log == "null closed ");
}
TEST_CASE("who closes may be destroyed where what is in flight may be abandoned") {
  test::abandonable_operation work;
  int alive = 0;
  std::string log;
  {
    auto stream = item_of(work, test::counted{alive});
    {
      auto const gone = hear_item(stream, log);
    }
    auto const ending = close_and_log(stream, log);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
  CHECK(!work.is_in_flight());
  CHECK(log.empty());
}

TEST_CASE("what ends between a close and the wait for it is waited for no more") {
  test::abandonable_operation work;
  int alive = 0;
  auto stream = item_of(work, counted{alive});
  {
    auto const gone = wait_in(stream);
  }
  auto closing = keyspan::detail::awaiter_of(stream.close());
  CHECK(!closing.await_ready());
  work.end_with(1);
  CHECK(!closing.await_suspend(std::noop_coroutine()));
  closing.await_resume();
  CHECK(alive == 0);
}

// Two who wait, held at the moment when one was told of an item and does not go on yet, as between
// two threads.
TEST_CASE("a close waits until who was told of an item has got it, and the item is null") {
  test::abandonable_operation work;
  int alive = 0;
  auto stream = item_of(work, counted{alive});
  auto asked = keyspan::detail::awaiter_of(stream.next());
  CHECK(!asked.await_ready());
  CHECK(asked.await_suspend(std::noop_coroutine()));
  work.end_with(3);
  SECTION("where the close is waited for") {
    answer closed;
    close(stream, closed);
    CHECK_FALSE(closed.is_there);
    CHECK(alive == 1);
    CHECK(asked.await_resume() == nullptr);
    CHECK(closed.is_there);
  }
  SECTION("where it is not waited for yet") {
    auto closing = keyspan::detail::awaiter_of(stream.close());
    CHECK(!closing.await_ready());
    CHECK(asked.await_resume() == nullptr);
    CHECK(!closing.await_suspend(std::noop_coroutine()));
    closing.await_resume();
  }
  SECTION("where it comes later, with the item") {
    CHECK(*asked.await_resume() == 3);
    sync_wait(stream.close());
  }
  CHECK(alive == 0);
}

TEST_CASE(
    "an item is whole while it is being received, also where the stream is closed meanwhile") {
  test::abandonable_operation work;
  int alive = 0;
  auto stream = item_of(work, counted{alive});
  auto asked = keyspan::detail::awaiter_of(stream.next());
  CHECK(!asked.await_ready());
  CHECK(asked.await_suspend(std::noop_coroutine()));
  work.end_with(3);
  answer closed;
  bool is_heard_of = false;
  int const got = asked.received_by(
      [&](int const* item) {
        close(stream, closed);
        CHECK_FALSE(closed.is_there);
        CHECK(alive == 1);
        return *item;
      },
      [&] { is_heard_of = !closed.is_there; });
  CHECK(got == 3);
  CHECK(is_heard_of);
  CHECK(closed.is_there);
  CHECK(alive == 0);
}

TEST_CASE("an item that somebody was told of who did not go on is kept for the next one") {
  operation work;
  auto stream = item_of(work);
  {
    auto asked = keyspan::detail::awaiter_of(stream.next());
    CHECK(!asked.await_ready());
    CHECK(asked.await_suspend(std::noop_coroutine()));
    work.end_with(3);
    auto const broken = test::promise_broken_by([&] { return sync_wait(stream.next()); });
    CHECK(broken == "one at a time awaits the next item");
  }
  CHECK(taken(stream) == 3);
  CHECK(taken(stream) == -1);
}

TEST_CASE("a second close does not wait for the first") {
  operation work;
  int alive = 0;
  auto stream = steps(work, alive);
  answer last;
  bring(stream, work, 1, last);
  answer first;
  close(stream, first);
  answer second;
  close(stream, second);
  CHECK(second.is_there);
  CHECK_FALSE(first.is_there);
  CHECK(alive > 0);
  work.end_with(1);
  CHECK(first.is_there);
  CHECK(alive == 0);
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("destroying a stream whose item is being received breaks a contract") {
  auto const words = test::last_words_of([] {
    operation work;
    auto stream = std::make_unique<async_stream<int>>(item_of(work));
    auto asked = keyspan::detail::awaiter_of(stream->next());
    static_cast<void>(asked.await_ready());
    static_cast<void>(asked.await_suspend(std::noop_coroutine()));
    work.end_with(3);
    stream.reset();
  });
  CHECK(says(words, "a stream that is awaited is closed before it is destroyed"));
}
#endif

TEST_CASE("an item that is asked for before a close and awaited behind it is the end") {
  auto const read = [](async_stream<int> from) -> task<bool> {
    auto asked = from.next();
    co_await from.close();
    co_return co_await asked == nullptr;
  };
  test::operation never;
  CHECK(sync_wait(read(item_of(never))));
}

}  // namespace
