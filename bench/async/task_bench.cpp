// What does a result cost that is awaited, over one that a function returns? The first row is the
// floor.
#include <bench/support/bench.hpp>
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>

#if defined(__GNUC__)
#define KEYSPAN_BENCH_NOINLINE __attribute__((noinline))
#else
#define KEYSPAN_BENCH_NOINLINE
#endif

namespace {

using keyspan::async_stream;
using keyspan::ready;
using keyspan::sync_wait;
using keyspan::task;
using keyspan::when_all;

constexpr std::uint64_t times = 1024;

KEYSPAN_BENCH_NOINLINE std::uint64_t called(std::uint64_t n) {
  bench::clobber();
  return n * 3;
}

// Tasks and streams as short as they can be written, with frames of `operator new`: what is left
// where nothing is recycled and nothing watched.
class plain_task {
 public:
  struct promise_type {
    plain_task get_return_object() noexcept { return plain_task{handle::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct going_on {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> done) const noexcept {
        return done.promise().goes_on;
      }
      void await_resume() const noexcept {}
    };
    going_on final_suspend() const noexcept { return {}; }
    void return_value(std::uint64_t given) noexcept { value = given; }
    void unhandled_exception() noexcept { thrown = std::current_exception(); }

    std::coroutine_handle<> goes_on{};
    std::uint64_t value = 0;
    std::exception_ptr thrown{};
  };
  using handle = std::coroutine_handle<promise_type>;

  plain_task(plain_task&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  plain_task& operator=(plain_task&&) = delete;
  ~plain_task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> suspended) noexcept {
    frame_.promise().goes_on = suspended;
    return frame_;
  }
  std::uint64_t await_resume() {
    if (frame_.promise().thrown) std::rethrow_exception(frame_.promise().thrown);
    return frame_.promise().value;
  }

 private:
  explicit plain_task(handle frame) noexcept : frame_{frame} {}
  handle frame_;
};

// The same with both ways by symmetric transfer: who awaits is suspended for each item.
class plain_stream {
 public:
  struct promise_type {
    plain_stream get_return_object() noexcept { return plain_stream{handle::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct giving {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> suspended) const noexcept {
        return suspended.promise().goes_on;
      }
      void await_resume() const noexcept {}
    };
    giving yield_value(std::uint64_t&& given) noexcept {
      item = std::addressof(given);
      return {};
    }
    giving final_suspend() noexcept {
      item = nullptr;
      return {};
    }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { thrown = std::current_exception(); }

    std::coroutine_handle<> goes_on{};
    std::uint64_t* item = nullptr;
    std::exception_ptr thrown{};
  };
  using handle = std::coroutine_handle<promise_type>;

  plain_stream(plain_stream&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  plain_stream& operator=(plain_stream&&) = delete;
  ~plain_stream() {
    if (frame_) frame_.destroy();
  }

  struct next_item {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> suspended) noexcept {
      frame.promise().goes_on = suspended;
      return frame;
    }
    std::uint64_t* await_resume() {
      if (frame.promise().thrown) std::rethrow_exception(frame.promise().thrown);
      return frame.promise().item;
    }
    handle frame;
  };
  next_item next() noexcept { return {frame_}; }

 private:
  explicit plain_stream(handle frame) noexcept : frame_{frame} {}
  handle frame_;
};

task<std::uint64_t> one(std::uint64_t n) { co_return called(n); }
task<std::uint64_t> one_of(std::allocator_arg_t, std::allocator<std::byte>, std::uint64_t n) {
  co_return called(n);
}
plain_task plain_one(std::uint64_t n) { co_return called(n); }
ready<std::uint64_t> ready_one(std::uint64_t n) { return {called(n)}; }

template <class One>
task<std::uint64_t> awaited(One make) {
  std::uint64_t sum = 0;
  for (std::uint64_t n = 0; n < times; ++n) sum += co_await make(n);
  co_return sum;
}

std::uint64_t called_often() {
  std::uint64_t sum = 0;
  for (std::uint64_t n = 0; n < times; ++n) sum += called(n);
  return sum;
}

bench::table& tasks(bench::session& run) {
  auto& table = run.table("create, await and destroy a task", "task").batch(times);
  table.count_allocations();
  table.floor("call a function", &called_often);
  table.row("keyspan::ready", [] { return sync_wait(awaited(&ready_one)); });
  table.row("keyspan::task", [] { return sync_wait(awaited(&one)); });
  table.row("keyspan::task, by std::allocator", [] {
    return sync_wait(awaited([](std::uint64_t n) {
      return one_of(std::allocator_arg, std::allocator<std::byte>{}, n);
    }));
  });
  table.row("the shortest task, malloc'd frames", [] { return sync_wait(awaited(&plain_one)); });
  return table;
}

task<std::uint64_t> pairs() {
  std::uint64_t sum = 0;
  for (std::uint64_t n = 0; n < times; n += 2) {
    auto both = when_all(one(n), one(n + 1));
    auto const [a, b] = co_await std::move(both);
    sum += a + b;
  }
  co_return sum;
}

bench::table& all(bench::session& run) {
  auto& table = run.table("await two tasks", "task").batch(times);
  table.count_allocations();
  table.floor("call two functions", &called_often);
  table.row("one after the other", [] { return sync_wait(awaited(&one)); });
  table.row("when_all", [] { return sync_wait(pairs()); });
  return table;
}

async_stream<std::uint64_t> stream() {
  for (std::uint64_t n = 0; n < times; ++n) co_yield called(n);
}
plain_stream plain() {
  for (std::uint64_t n = 0; n < times; ++n) co_yield called(n);
}

template <class Stream>
task<std::uint64_t> sum_of(Stream from) {
  std::uint64_t sum = 0;
  while (std::uint64_t const* item = co_await from.next()) sum += *item;
  co_return sum;
}

bench::table& items(bench::session& run) {
  auto& table = run.table("an item of a stream that never waits", "item").batch(times);
  table.count_allocations();
  table.floor("call a function", &called_often);
  table.row("keyspan::async_stream", [] { return sync_wait(sum_of(stream())); });
  table.row("the shortest stream, suspends for each", [] { return sync_wait(sum_of(plain())); });
  table.row("a keyspan::task for each", [] { return sync_wait(awaited(&one)); });
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  auto& of_tasks = tasks(run);
  run.target("async.task.malloc",
             of_tasks.ratio("keyspan::task", "the shortest task, malloc'd frames"), "<=", 0.65);
  run.target("async.task.allocations", of_tasks.allocations_of("keyspan::task"), "==", 0);
  auto& of_all = all(run);
  run.target("async.when_all.one_by_one", of_all.ratio("when_all", "one after the other"), "<=", 3);
  run.target("async.when_all.allocations", of_all.allocations_of("when_all"), "==", 0);
  auto& of_items = items(run);
  run.target("async.stream.plain",
             of_items.ratio("keyspan::async_stream", "the shortest stream, suspends for each"),
             "<=", 1.25);
  run.target("async.stream.allocations", of_items.allocations_of("keyspan::async_stream"), "==", 0);
  return run.finish();
}
