// test/async/completion_test.cpp — callbacks that come at once, later, twice, never.
#include <keyspan/async/completion.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>

#include <async/deaths.hpp>
#include <async/held.hpp>
#include <async/operations.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::abandonable_completion_of;
using keyspan::completer;
using keyspan::completion_of;
using keyspan::errc;
using keyspan::result;
using keyspan::task;
using test::check;
using test::held;

static_assert(keyspan::awaitable_of<decltype(completion_of<int>([](auto) {})), int>);
static_assert(keyspan::awaitable_of<decltype(completion_of<void>([](auto) {})), void>);
static_assert(std::is_invocable_v<completer<int>, int> &&
              std::is_invocable_v<completer<int> const&> &&
              !std::is_invocable_v<completer<int>, std::string>);
static_assert(std::is_invocable_v<completer<void>> && !std::is_invocable_v<completer<void>, int>);
static_assert(std::is_invocable_v<completer<int&>, int&> &&
              !std::is_invocable_v<completer<int&>, int> &&
              !std::is_invocable_v<completer<int const&>, int, int>);
static_assert(std::is_nothrow_move_constructible_v<completer<int>> &&
              std::is_nothrow_copy_constructible_v<completer<int>>);

// An API as there are many: it keeps what it is to call.
// [region: api]
class slow_adder {
 public:
  void add(int a, int b, std::function<void(int)> when_done) {
    queue_.push_back([=] { when_done(a + b); });
  }
  void work() {
    for (auto const& each : std::exchange(queue_, {})) each();
  }

 private:
  std::vector<std::function<void()>> queue_{};
};
// [end: api]

// [region: example]
keyspan::task<int> sum_of_three(slow_adder& adder, int a, int b, int c) {
  int const two = co_await keyspan::completion_of<int>([&](auto done) { adder.add(a, b, done); });
  int const three =
      co_await keyspan::completion_of<int>([&](auto done) { adder.add(two, c, done); });
  co_return three;
}
// [end: example]

TEST_CASE("the example of completion reads as it should") {
  slow_adder adder;
  std::optional<int> sum;
  auto const run = [](slow_adder& by, std::optional<int>& to) -> held {
    to = co_await sum_of_three(by, 1, 2, 3);
  };
  auto const running = run(adder, sum);
  adder.work();
  CHECK(!sum);
  adder.work();
  CHECK(sum == 6);
}

template <class T>
using kept = std::optional<completer<T>>;

template <class T>
held get(kept<T>& done, std::optional<T>& to) {
  to = co_await completion_of<T>([&done](auto given) { done = std::move(given); });
}

TEST_CASE("who awaits goes on inside of the call") {
  kept<int> done;
  std::optional<int> got;
  auto const getting = get(done, got);
  REQUIRE(done);
  CHECK(!got);
  (*done)(4);
  CHECK(got == 4);
}

TEST_CASE("a call that comes at once suspends nobody, however many there are") {
  int sum = 0;
  auto const many = [](int& to) -> task<> {
    for (int i = 0; i < 100'000; ++i) to += co_await completion_of<int>([](auto done) { done(1); });
  };
  keyspan::sync_wait(many(sum));
  CHECK(sum == 100'000);
}

TEST_CASE("who awaits does not go on before the start has returned") {
  std::string log;
  auto const run = [](std::string& to) -> task<> {
    co_await completion_of<void>([&to](auto done) {
      done();
      to += "started ";
    });
    to += "gone on";
  };
  keyspan::sync_wait(run(log));
  CHECK(log == "started gone on");
}

TEST_CASE("the start is called when it is awaited, once, and on what it captured") {
  int starts = 0;
  auto owned = std::make_unique<int>(3);
  auto later = completion_of<int>([&starts, owned = std::move(owned)](auto done) {
    ++starts;
    done(*owned);
  });
  CHECK(starts == 0);
  CHECK(keyspan::sync_wait(std::move(later)) == 3);
  CHECK(starts == 1);
}

TEST_CASE("a result is made of whatever the callback is given") {
  using read = std::tuple<std::string, std::size_t>;
  auto const got =
      keyspan::sync_wait(completion_of<read>([](auto done) { done("bytes", std::size_t{5}); }));
  CHECK(got == read{"bytes", 5});

  auto const refused = keyspan::sync_wait(completion_of<result<int>>(
      [](auto done) { done(keyspan::fail(errc::throttled, "too much")); }));
  CHECK(refused.error().code == errc::throttled);

  int place = 0;
  int& same = keyspan::sync_wait(completion_of<int&>([&](auto done) { done(place); }));
  CHECK(&same == &place);

  auto moved = keyspan::sync_wait(
      completion_of<std::unique_ptr<int>>([](auto done) { done(std::make_unique<int>(9)); }));
  CHECK(*moved == 9);
}

TEST_CASE("a value that cannot be made is an exception of who awaits") {
  struct picky {
    explicit picky(int from) : value{from} {
      if (from < 0) throw std::domain_error{"negative"};
    }
    int value;
  };
  kept<picky> done;
  std::string caught;
  auto const run = [](kept<picky>& to, std::string& what) -> held {
    try {
      static_cast<void>(
          co_await completion_of<picky>([&to](auto given) { to = std::move(given); }));
    } catch (std::domain_error const& e) {
      what = e.what();
    }
  };
  auto const running = run(done, caught);
  CHECK_NOTHROW((*done)(-1));
  CHECK(caught == "negative");
}

// Who holds the API holds the last completer, and lets go of both where he goes on.
struct adder_with_memory {
  std::optional<completer<int>> done{};
};

TEST_CASE("what calls may be gone as soon as who awaits goes on, inside of the call") {
  adder_with_memory* called = nullptr;
  int got = 0;
  auto const run = [](adder_with_memory*& at, int& to) -> held {
    auto api = std::make_unique<adder_with_memory>();
    at = api.get();
    auto sum = completion_of<int>([&](auto done) { api->done.emplace(done); });
    int const five = co_await std::move(sum);
    api.reset();
    to = five;
  };
  {
    auto const waiting = run(called, got);
    (*called->done)(5);
    CHECK(waiting.is_done());
  }
  CHECK(got == 5);
}

TEST_CASE("what the start throws passes through, and a call that comes nevertheless is dropped") {
  kept<int> done;
  auto const run = [](kept<int>& to, bool calls) -> task<int> {
    co_return co_await completion_of<int>([&to, calls](auto given) {
      to = given;
      if (calls) given(1);
      throw std::runtime_error{"not today"};
    });
  };
  SECTION("later") {
    CHECK_THROWS_AS(keyspan::sync_wait(run(done, false)), std::runtime_error);
    CHECK_NOTHROW((*done)(2));
  }
  SECTION("never") {
    CHECK_THROWS_AS(keyspan::sync_wait(run(done, false)), std::runtime_error);
    done.reset();
  }
  SECTION("before") { CHECK_THROWS_AS(keyspan::sync_wait(run(done, true)), std::runtime_error); }
}

TEST_CASE("a completion is called once, by whichever copy and whenever") {
  constexpr auto promise = "a completion is called once";
  kept<int> done;
  std::optional<int> got;
  SECTION("after the coroutine has gone on, and has ended") {
    {
      auto const getting = get(done, got);
      auto const copy = *done;
      copy(1);
      CHECK(test::promise_broken_by([&] { copy(2); }) == promise);
    }
    CHECK(test::promise_broken_by([&] { (*done)(3); }) == promise);
    CHECK(got == 1);
  }
  SECTION("inside of the start") {
    std::string broken;
    auto const run = [](std::string& to) -> task<int> {
      co_return co_await completion_of<int>([&to](auto given) {
        given(1);
        to = test::promise_broken_by([&] { given(2); });
      });
    };
    CHECK(keyspan::sync_wait(run(broken)) == 1);
    CHECK(broken == promise);
  }
}

TEST_CASE("a completer that was moved from is not called") {
  kept<int> done;
  std::optional<int> got;
  auto const getting = get(done, got);
  auto const moved = std::move(*done);
  CHECK(test::promise_broken_by([&] { (*done)(1); }) ==
        "a completer that was moved from is not called");
  moved(2);
  CHECK(got == 2);
}

TEST_CASE("where nobody is left to call, nobody goes on, and the coroutine can be destroyed") {
  int alive = 0;
  kept<int> done;
  auto const wait = [](kept<int>& to, test::counted) -> task<> {
    static_cast<void>(co_await completion_of<int>([&to](auto given) { to = std::move(given); }));
  };
  auto const run = [](task<> inner) -> held { co_await std::move(inner); };
  {
    auto const running = run(wait(done, test::counted{alive}));
    CHECK(alive == 1);
    done.reset();
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("an operation that may be abandoned is, and a call that comes later is dropped") {
  kept<std::shared_ptr<int>> done;
  auto value = std::make_shared<int>(1);
  bool goes_on = false;
  auto const wait = [](kept<std::shared_ptr<int>>& to, bool& went) -> task<> {
    static_cast<void>(co_await abandonable_completion_of<std::shared_ptr<int>>(
        [&to](auto given) { to = std::move(given); }));
    went = true;
  };
  auto const run = [](task<> inner) -> held { co_await std::move(inner); };
  {
    auto const running = run(wait(done, goes_on));
  }
  (*done)(value);
  CHECK(!goes_on);
  done.reset();
  CHECK(value.use_count() == 1);  // what was dropped is gone
}

TEST_CASE("many operations are in flight at the same time, and end in any order") {
  kept<int> first;
  kept<int> second;
  std::optional<std::tuple<int, int>> got;
  auto const run = [](kept<int>& a, kept<int>& b, std::optional<std::tuple<int, int>>& to) -> held {
    auto both = when_all(completion_of<int>([&a](auto done) { a = std::move(done); }),
                         completion_of<int>([&b](auto done) { b = std::move(done); }));
    to = co_await std::move(both);
  };
  auto const running = run(first, second, got);
  (*second)(2);
  CHECK(!got);
  (*first)(1);
  CHECK(got == std::tuple{1, 2});
}

TEST_CASE("what calls back may be destroyed by who goes on") {
  struct api {
    std::function<void(int)> call;
  };
  auto owner = std::make_unique<api>();
  int got = 0;
  auto const run = [](std::unique_ptr<api>& own, int& to) -> held {
    to = co_await completion_of<int>([&own](auto done) { own->call = done; });
    own.reset();  // while its function is being called
  };
  auto const running = run(owner, got);
  auto const call = owner->call;
  call(8);
  CHECK(got == 8);
  CHECK(owner == nullptr);
}

TEST_CASE("a completion allocates once, and from then on nothing") {
  auto const once = [](int& to) -> task<> {
    to += co_await completion_of<int>([](auto done) { done(1); });
  };
  int sum = 0;
  keyspan::sync_wait(once(sum));
  std::size_t const made = test::allocations_in([&] {
    for (int i = 0; i < 100; ++i) keyspan::sync_wait(once(sum));
  });
  CHECK((made == 0 || KEYSPAN_THREAD_SANITIZER));
  CHECK(sum == 101);
}

// [region: stop]
class slow_search {  // of a library: it ends with -1 when it is cancelled
 public:
  void find(std::function<void(int)> when_done) { when_done_ = std::move(when_done); }
  void cancel() {
    if (when_done_) std::exchange(when_done_, nullptr)(-1);
  }
  void end_with(int place) { std::exchange(when_done_, nullptr)(place); }

 private:
  std::function<void(int)> when_done_{};
};

keyspan::task<keyspan::result<int>> found_by(slow_search& search, keyspan::stop_token stop) {
  using cancelling = std::function<void()>;
  std::optional<keyspan::stop_callback<cancelling>> on_stop;
  int const place = co_await keyspan::completion_of<int>([&](auto done) {
    search.find(done);
    on_stop.emplace(stop, [&] { search.cancel(); });  // at once where stop was requested before
  });
  if (place < 0) co_return keyspan::fail(keyspan::errc::stopped, "the search was cancelled");
  co_return place;
}
// [end: stop]

TEST_CASE("a request to stop cancels what the API can cancel") {
  slow_search search;
  keyspan::stop_source source;
  std::optional<result<int>> got;
  auto const run = [](slow_search& in, keyspan::stop_token stop,
                      std::optional<result<int>>& to) -> held {
    to = co_await found_by(in, std::move(stop));
  };
  SECTION("while it is in flight") {
    auto const running = run(search, source.token(), got);
    CHECK(!got);
    source.request_stop();
    REQUIRE(got);
    CHECK(got->error().code == errc::stopped);
  }
  SECTION("before it is started") {
    source.request_stop();
    auto const running = run(search, source.token(), got);
    REQUIRE(got);
    CHECK(got->error().code == errc::stopped);
  }
  SECTION("or comes too late") {
    auto const running = run(search, source.token(), got);
    search.end_with(12);
    source.request_stop();
    REQUIRE(got);
    CHECK(got->value() == 12);
  }
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("who awaits an operation in flight is not destroyed, or the program ends") {
  auto const run = [](task<> inner) -> held { co_await std::move(inner); };
  auto const wait = [](kept<int>& to) -> task<> {
    static_cast<void>(co_await completion_of<int>([&to](auto given) { to = std::move(given); }));
  };
  kept<int> done;
  auto const words = test::last_words_of([&] { auto const running = run(wait(done)); });
  CHECK(words.find("an operation in flight is awaited or closed before") != std::string::npos);
}
#endif

}  // namespace
