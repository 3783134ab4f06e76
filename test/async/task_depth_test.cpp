// test/async/task_depth_test.cpp — awaiting takes no stack, however often and however deep. With
// g++ that needs -O2, or -foptimize-sibling-calls; CMake compiles this file so.
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>

#include <support/check.hpp>

#include <cstdint>

namespace {

using keyspan::async_stream;
using keyspan::sync_wait;
using keyspan::task;

#if KEYSPAN_ADDRESS_SANITIZER || KEYSPAN_THREAD_SANITIZER
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

#if defined(KEYSPAN_TEST_DEEP) || defined(__clang__)
constexpr int often = is_sanitized ? 5'000 : 1'000'000;
constexpr int deep = is_sanitized ? 2'000 : 100'000;
#else
constexpr int often = 5'000;
constexpr int deep = 2'000;
#endif

task<int> one() { co_return 1; }
task<int> many(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await one();
  co_return sum;
}

TEST_CASE("a million tasks are awaited one after the other, without a stack for them") {
  CHECK(sync_wait(many(often)) == often);
}

task<int> chain(int left) {
  if (left == 0) co_return 0;
  int const below = co_await chain(left - 1);
  co_return below + 1;
}

TEST_CASE("a hundred thousand tasks await each the next, without a stack for them") {
  CHECK(sync_wait(chain(deep)) == deep);
}

async_stream<int> numbers(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
}
task<std::int64_t> sum_of(async_stream<int> stream) {
  std::int64_t sum = 0;
  while (int const* item = co_await stream.next()) sum += *item;
  co_return sum;
}

TEST_CASE("a stream gives a million items without a stack for them, optimised or not") {
  std::int64_t const n = 1'000'000;
  CHECK(sync_wait(sum_of(numbers(n))) == n * (n - 1) / 2);
}

}  // namespace
