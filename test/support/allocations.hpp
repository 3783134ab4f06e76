// test/support/allocations.hpp — how often this thread has allocated, to prove that something does
// not.
#pragma once

#include <cstddef>

namespace test {

/// Calls of any global `operator new` by this thread since it began.
std::size_t allocations() noexcept;

/// How many bytes these asked for.
std::size_t allocated_bytes() noexcept;

/// How many allocations `action` makes on this thread.
template <class Action>
std::size_t allocations_in(Action&& action) {
  std::size_t const before = allocations();
  action();
  return allocations() - before;
}

/// While it lives, the allocation behind so many others of this thread fails.
class failing_allocation {
 public:
  explicit failing_allocation(std::size_t behind) noexcept;
  ~failing_allocation();
  failing_allocation(failing_allocation const&) = delete;
  failing_allocation& operator=(failing_allocation const&) = delete;
};

}  // namespace test
