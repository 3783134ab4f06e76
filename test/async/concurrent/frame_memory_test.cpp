// test/async/concurrent/frame_memory_test.cpp — what is freed is used again, except where
// ThreadSanitizer is to see who touches it.
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/core/version.hpp>

#include <support/allocations.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstddef>

namespace {

using keyspan::detail::recycle_memory;
using keyspan::detail::recycled_memory;

TEST_CASE("a thread keeps what it has freed, and under ThreadSanitizer nothing") {
  recycle_memory(recycled_memory(100), 100);
  std::size_t const made = test::allocations_in([] { recycle_memory(recycled_memory(100), 100); });
  CHECK(made == (KEYSPAN_THREAD_SANITIZER ? 1 : 0));
}

}  // namespace
