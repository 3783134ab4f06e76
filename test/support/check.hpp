// test/support/check.hpp — one test body for both worlds: a constant expression and a running
// program.
#pragma once

#include <keyspan/core/version.hpp>

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>

#include <source_location>

// A row of ./dev check that has lost its sanitizer would be green for nothing.
#if (defined(KEYSPAN_TEST_ASAN) && !KEYSPAN_ADDRESS_SANITIZER) || \
    (defined(KEYSPAN_TEST_TSAN) && !KEYSPAN_THREAD_SANITIZER)
#error "this preset is there for a sanitizer, and it is not on"
#endif

namespace test {

// Not constexpr on purpose: a check that fails in a constant expression does not compile.
inline void check_failed(std::source_location where) {
  FAIL_CHECK("check failed at " << where.file_name() << ":" << where.line());
}

/// A claim inside a body that runs at compile time too.
constexpr void check(bool holds, std::source_location where = std::source_location::current()) {
  if (!holds) check_failed(where);
}

}  // namespace test

/// Runs `constexpr bool body()` in a static_assert and once more as a test case of its name.
#define CHECK_BOTH(body) \
  static_assert(body()); \
  TEST_CASE(#body) { ::test::check(body()); }
