// test/async/frame_memory_test.cpp — frames are used again, on whatever thread they are freed, and
// freed when there is nobody to keep them.
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#if KEYSPAN_ADDRESS_SANITIZER
extern "C" int __lsan_do_recoverable_leak_check();
#endif

namespace {

using keyspan::sync_wait;
using keyspan::task;
using keyspan::detail::freed_blocks;
using keyspan::detail::recycle_memory;
using keyspan::detail::recycled_memory;

constexpr bool every_size_has_the_smallest_block_that_holds_it() {
  for (std::size_t size = 1; size <= freed_blocks::largest; ++size) {
    std::size_t const index = freed_blocks::index_of(size);
    test::check(index < freed_blocks::sizes);
    test::check(freed_blocks::size_at(index) >= size);
    test::check(index == 0 || freed_blocks::size_at(index - 1) < size);
  }
  std::size_t all = 0;
  for (std::size_t i = 0; i < freed_blocks::sizes; ++i)
    all += freed_blocks::most_at(i) * freed_blocks::size_at(i);
  return all <= 640 * 1024;
}
CHECK_BOTH(every_size_has_the_smallest_block_that_holds_it);

task<int> answer(int n) { co_return n; }

#if !KEYSPAN_THREAD_SANITIZER
TEST_CASE("a task made where one was freed allocates nothing") {
  // [region: example]
  auto const twice = [](int n) -> task<int> {  // a frame of its own, and one for each answer
    int sum = co_await answer(n);
    sum += co_await answer(n);
    co_return sum;
  };
  test::check(sync_wait(twice(4)) == 8);  // the first time frames are allocated,
  std::size_t const made = test::allocations_in([&] { sync_wait(twice(5)); });
  test::check(made == 0);  // and are used again from then on
  // [end: example]
  CHECK(made == 0);
}

TEST_CASE("memory is as large as it was asked for, at each border of a size") {
  for (std::size_t size = 1; size <= freed_blocks::largest + 64; ++size) {
    auto* const bytes = static_cast<unsigned char*>(recycled_memory(size));
    bytes[0] = 1;
    bytes[size - 1] = 2;
    recycle_memory(bytes, size);
  }
  SUCCEED();
}

TEST_CASE("a thread keeps so many frames of a size and no more") {
  for (std::size_t const size : {std::size_t{64}, std::size_t{1000}, std::size_t{8192}}) {
    std::size_t const most = freed_blocks::most_at(freed_blocks::index_of(size));
    std::vector<void*> taken(2 * most);
    for (void*& one : taken) one = recycled_memory(size);
    for (void* const one : taken) recycle_memory(one, size);
    std::size_t const made = test::allocations_in([&] {
      for (void*& one : taken) one = recycled_memory(size);
    });
    CHECK(made == most);
    for (void* const one : taken) recycle_memory(one, size);
  }
}

TEST_CASE("frames above 8 KiB are not kept") {
  recycle_memory(recycled_memory(freed_blocks::largest + 1), freed_blocks::largest + 1);
  std::size_t const made = test::allocations_in([] {
    recycle_memory(recycled_memory(freed_blocks::largest + 1), freed_blocks::largest + 1);
  });
  CHECK(made == 1);
}

TEST_CASE("a frame that is freed on another thread is used again there") {
  constexpr std::size_t size = 3000;
  void* const made_here = recycled_memory(size);
  void* used_there = nullptr;
  std::thread{[&] {
    recycle_memory(made_here, size);
    used_there = recycled_memory(size);
    recycle_memory(used_there, size);
  }}.join();
  CHECK(used_there == made_here);
}

#endif

#if KEYSPAN_ADDRESS_SANITIZER
TEST_CASE("what a thread keeps is no leak while it lives") {
  std::latch has_kept{1};
  std::latch may_end{1};
  std::thread keeper{[&] {
    std::vector<void*> taken(8);
    for (void*& one : taken) one = recycled_memory(3000);
    for (void* const one : taken) recycle_memory(one, 3000);
    taken = {};
    has_kept.count_down();
    may_end.wait();
  }};
  has_kept.wait();
  CHECK(__lsan_do_recoverable_leak_check() == 0);
  may_end.count_down();
  keeper.join();
}
#endif

// A thread's own object that is older than its lists is destroyed behind them.
struct outlives_the_lists {
  std::optional<task<int>> kept{};
  void* memory = nullptr;
  std::size_t* freed = nullptr;

  ~outlives_the_lists() {
    if (freed == nullptr) return;
    kept.reset();
    recycle_memory(memory, 100);
    // Nothing is kept any more: the next one is allocated.
    *freed = test::allocations_in([] { recycle_memory(recycled_memory(100), 100); });
  }
};
thread_local outlives_the_lists last_of_thread;

TEST_CASE("a frame that outlives its thread's lists is freed all the same") {
  std::size_t allocated_behind_the_end = 0;
  std::thread{[&] {
    last_of_thread.freed = &allocated_behind_the_end;
    last_of_thread.kept.emplace(answer(1));
    last_of_thread.memory = recycled_memory(100);
    sync_wait(answer(2));
  }}.join();
  CHECK(allocated_behind_the_end == 1);
}

// Destroyed when the program ends, behind the lists of its thread; a sanitizer would tell.
std::optional<task<int>> destroyed_by_nobody_else;

TEST_CASE("a task may wait for the end of the program") {
  destroyed_by_nobody_else.emplace(answer(1));
  CHECK(destroyed_by_nobody_else->valid());
}

// Counts what it has given away.
template <class T>
class counting_allocator {
 public:
  using value_type = T;

  explicit counting_allocator(int& alive, int& made) : alive_{&alive}, made_{&made} {}
  template <class U>
  counting_allocator(counting_allocator<U> const& other)
      : alive_{other.alive_}, made_{other.made_} {}

  T* allocate(std::size_t n) {
    ++*alive_;
    ++*made_;
    return std::allocator<T>{}.allocate(n);
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    --*alive_;
    std::allocator<T>{}.deallocate(memory, n);
  }
  friend bool operator==(counting_allocator const&, counting_allocator const&) = default;

 private:
  template <class>
  friend class counting_allocator;

  int* alive_;
  int* made_;
};
using byte_allocator = counting_allocator<std::byte>;

// [region: allocator]
// The frame comes from the allocator, whatever else the coroutine is given.
task<int> sum_in(std::allocator_arg_t, byte_allocator, int a, int b) { co_return a + b; }
// [end: allocator]

class adder {
 public:
  explicit adder(int n) : n_{n} {}
  task<int> plus(std::allocator_arg_t, byte_allocator, int m) const { co_return n_ + m; }

 private:
  int n_;
};

TEST_CASE("a frame is allocated and freed by the allocator that it is given") {
  int alive = 0;
  int made = 0;
  byte_allocator const allocator{alive, made};
  {
    auto sum = sum_in(std::allocator_arg, allocator, 1, 2);
    CHECK(alive == 1);
    CHECK(sync_wait(std::move(sum)) == 3);
  }
  CHECK(alive == 0);
  adder const five{5};
  CHECK(sync_wait(five.plus(std::allocator_arg, allocator, 4)) == 9);
  CHECK(alive == 0);
  CHECK(made == 2);
}

TEST_CASE("a frame that cannot be allocated is reported where it is made") {
  auto const make = [] {
    test::failing_allocation const none{0};
    std::vector<task<int>> all;
    for (int i = 0; i < 100; ++i) all.push_back(answer(i));
  };
  CHECK_THROWS_AS(make(), std::bad_alloc);
}

}  // namespace
