#include "allocations.hpp"

#include <cstdlib>
#include <new>

#if defined(_MSC_VER)
#include <malloc.h>
#endif

namespace {

thread_local std::size_t count = 0;
thread_local std::size_t bytes = 0;
constexpr std::size_t never = ~std::size_t{0};
thread_local std::size_t left_until_failure = never;

void* allocate(std::size_t size, std::size_t alignment) {
  ++count;
  bytes += size;
  if (left_until_failure != never && left_until_failure-- == 0) return nullptr;
#if defined(_MSC_VER)
  return _aligned_malloc(size, alignment);
#else
  // aligned_alloc wants a multiple of the alignment; where that does not exist there is no such
  // size.
  std::size_t const rounded =
      size < alignment ? alignment : (size + alignment - 1) & ~(alignment - 1);
  return rounded < size ? nullptr : std::aligned_alloc(alignment, rounded);
#endif
}

void release(void* memory) {
#if defined(_MSC_VER)
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

namespace test {
std::size_t allocations() noexcept { return count; }
std::size_t allocated_bytes() noexcept { return bytes; }

failing_allocation::failing_allocation(std::size_t behind) noexcept { left_until_failure = behind; }
failing_allocation::~failing_allocation() { left_until_failure = never; }
}  // namespace test

void* operator new(std::size_t size) { return allocate_or_throw(size, usual); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, usual); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  return allocate(size, usual);
}
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept {
  return allocate(size, usual);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
