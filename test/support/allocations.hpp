// test/support/allocations.hpp — how often this thread has allocated, to prove that something does
// not.
#pragma once

#include <cstddef>

namespace test {

/// Calls of any global `operator new` by this thread since it began.
std::size_t allocations() noexcept;

/// How many allocations `action` makes on this thread.
template <class Action>
std::size_t allocations_in(Action&& action) {
  std::size_t const before = allocations();
  action();
  return allocations() - before;
}

}  // namespace test
