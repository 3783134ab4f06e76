// keyspan/async/frame_memory.hpp — where the frames of coroutines come from: what a thread has
// freed it uses again, so that in a steady state nothing is allocated.
#pragma once

#include <keyspan/core/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#if KEYSPAN_ADDRESS_SANITIZER
extern "C" {
void __asan_poison_memory_region(void const volatile* memory, std::size_t size);
void __asan_unpoison_memory_region(void const volatile* memory, std::size_t size);
}
#endif

namespace keyspan {

namespace detail {

// Memory that waits to be used again is poisoned, so that AddressSanitizer sees who touches it.
inline void forbid_memory([[maybe_unused]] void* memory,
                          [[maybe_unused]] std::size_t size) noexcept {
#if KEYSPAN_ADDRESS_SANITIZER
  __asan_poison_memory_region(memory, size);
#endif
}
inline void allow_memory([[maybe_unused]] void* memory,
                         [[maybe_unused]] std::size_t size) noexcept {
#if KEYSPAN_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(memory, size);
#endif
}

// Blocks of memory that this thread has freed, by size: steps of 64 bytes up to 1 KiB, and of 1 KiB
// up to 8 KiB. Nothing here has a destructor: a thread's own objects may be destroyed after its
// lists, and they free plainly then.
struct freed_blocks {
  struct link {
    void* next;
  };

  static constexpr std::size_t fine = 64;
  static constexpr std::size_t coarse = 1024;
  static constexpr std::size_t largest = 8 * coarse;
  static constexpr std::size_t sizes = coarse / fine + largest / coarse - 1;
  // ThreadSanitizer would not see who touches memory that is used again.
  static constexpr bool are_kept = !KEYSPAN_THREAD_SANITIZER;

  static constexpr std::size_t index_of(std::size_t size) noexcept {
    return size <= coarse ? (size - 1) / fine : coarse / fine + (size - 1) / coarse - 1;
  }
  static constexpr std::size_t size_at(std::size_t index) noexcept {
    return index < coarse / fine ? (index + 1) * fine : (index - coarse / fine + 2) * coarse;
  }
  // 32 KiB of each size, or 64 blocks.
  static constexpr std::uint8_t most_at(std::size_t index) noexcept {
    return static_cast<std::uint8_t>(std::min<std::size_t>(64, 32 * 1024 / size_at(index)));
  }

  void* first[sizes]{};
  std::uint8_t room[sizes]{};  // for how many more; none before the first one and behind the end
  bool is_begun = false;

  void begin() noexcept {
    is_begun = true;
    for (std::size_t i = 0; i < sizes; ++i) room[i] = most_at(i);
  }
  void end() noexcept {
    for (std::size_t i = 0; i < sizes; ++i) {
      while (first[i] != nullptr) ::operator delete(taken(i));
      room[i] = 0;
    }
  }

  // Requires one of that size.
  void* taken(std::size_t index) noexcept {
    void* const top = first[index];
    first[index] = link_in(top, index)->next;
    allow_memory(top, size_at(index));
    ++room[index];
    return top;
  }
  // Requires room for it.
  void keep(void* memory, std::size_t index) noexcept {
    ::new (place_in(memory, index)) link{first[index]};
    first[index] = memory;
    --room[index];
    forbid_memory(memory, place_of_link(index));
  }

 private:
  // At the beginning, unless that is to be forbidden: frames say there how they go on, and
  // LeakSanitizer follows no link that is poisoned.
  static constexpr std::size_t place_of_link(std::size_t index) noexcept {
    return KEYSPAN_ADDRESS_SANITIZER ? size_at(index) - sizeof(link) : 0;
  }
  static void* place_in(void* memory, std::size_t index) noexcept {
    return static_cast<std::byte*>(memory) + place_of_link(index);
  }
  static link* link_in(void* memory, std::size_t index) noexcept {
    return std::launder(static_cast<link*>(place_in(memory, index)));
  }
};

inline constinit thread_local freed_blocks blocks_of_thread{};

// Frees what the thread has kept, when it ends.
struct blocks_keeper {
  blocks_keeper() noexcept { blocks_of_thread.begin(); }
  ~blocks_keeper() { blocks_of_thread.end(); }
  blocks_keeper(blocks_keeper const&) = delete;
  blocks_keeper& operator=(blocks_keeper const&) = delete;
};

// Where there is no room: frees, unless this is the first block of the thread.
inline void keep_first_or_free(void* memory, std::size_t index) noexcept {
  freed_blocks& blocks = blocks_of_thread;
  if (blocks.is_begun) return ::operator delete(memory);
  static thread_local blocks_keeper const keeper{};
  static_cast<void>(keeper);
  blocks.keep(memory, index);
}

// Not inline: g++ would see a global `operator new` meet the `operator delete` of a promise, and
// warn of it in the program of a user.
[[gnu::noinline]] inline void* fresh_memory(std::size_t size) { return ::operator new(size); }

// Requires `size > 0`.
inline void* recycled_memory(std::size_t size) {
  if (size > freed_blocks::largest || !freed_blocks::are_kept) return fresh_memory(size);
  freed_blocks& blocks = blocks_of_thread;
  std::size_t const index = freed_blocks::index_of(size);
  if (blocks.first[index] != nullptr) return blocks.taken(index);
  return fresh_memory(freed_blocks::size_at(index));
}

// Takes back what `recycled_memory(size)` gave, on any thread.
inline void recycle_memory(void* memory, std::size_t size) noexcept {
  if (size > freed_blocks::largest || !freed_blocks::are_kept) return ::operator delete(memory);
  freed_blocks& blocks = blocks_of_thread;
  std::size_t const index = freed_blocks::index_of(size);
  if (blocks.room[index] == 0) [[unlikely]]
    return keep_first_or_free(memory, index);
  blocks.keep(memory, index);
}

// A frame made by a user's allocator: the frame, who frees it, and a copy of the allocator.
template <class Allocator>
class allocated_frame {
  struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) unit {
    std::byte bytes[__STDCPP_DEFAULT_NEW_ALIGNMENT__];
  };
  using unit_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<unit>;
  using traits = std::allocator_traits<unit_allocator>;
  static_assert(std::is_pointer_v<typename traits::pointer>,
                "a frame is allocated with an allocator that gives plain pointers");
  static_assert(alignof(unit_allocator) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  static constexpr std::size_t units_for(std::size_t size) noexcept {
    return (size + sizeof(unit) - 1) / sizeof(unit);
  }

 public:
  // `size` is that of the frame with what `frame_memory` adds to it. Not inline: see
  // `fresh_memory`.
  [[gnu::noinline]] static void* allocate(std::size_t size, Allocator const& allocator) {
    unit_allocator copy{allocator};
    unit* const memory = traits::allocate(copy, units_for(size) + units_for(sizeof(copy)));
    ::new (static_cast<void*>(memory + units_for(size))) unit_allocator{std::move(copy)};
    return memory;
  }

  static void release(void* memory, std::size_t size) noexcept {
    unit* const units = static_cast<unit*>(memory);
    auto* const kept = std::launder(reinterpret_cast<unit_allocator*>(units + units_for(size)));
    unit_allocator copy{std::move(*kept)};
    std::destroy_at(kept);
    traits::deallocate(copy, units, units_for(size) + units_for(sizeof(copy)));
  }
};

}  // namespace detail

/// What a promise type inherits from so that its frames are made of recycled memory. A thread keeps
/// what it frees, some 640 KiB at most and nothing above 8 KiB; a frame that is freed on another
/// thread than it was made on is kept there, and one that outlives its thread's lists is freed.
/// Under ThreadSanitizer nothing is kept.
///
/// A coroutine whose first parameters are `std::allocator_arg` and an allocator, behind the object
/// where it is a member function or a lambda, has its frame from that allocator.
class frame_memory {
 public:
  static void* operator new(std::size_t size) {
    return with_release(detail::recycled_memory(total(size)), size, nullptr);
  }
  // Inline even where nothing is optimised, for the reason that `fresh_memory` is not.
  template <class Allocator, class... Args>
  [[gnu::always_inline]] static void* operator new(std::size_t size, std::allocator_arg_t,
                                                   Allocator const& allocator, Args const&...) {
    return allocated(size, allocator);
  }
  template <class Object, class Allocator, class... Args>
  [[gnu::always_inline]] static void* operator new(std::size_t size, Object const&,
                                                   std::allocator_arg_t, Allocator const& allocator,
                                                   Args const&...) {
    return allocated(size, allocator);
  }
  static void operator delete(void* frame, std::size_t size) noexcept {
    if (release_function const release = *release_of(frame, size))
      return release(frame, total(size));
    detail::recycle_memory(frame, total(size));
  }

 private:
  using release_function = void (*)(void*, std::size_t) noexcept;

  // Behind the frame stands who frees it; null for recycled memory.
  static constexpr std::size_t padded(std::size_t size) noexcept {
    return (size + sizeof(release_function) - 1) & ~(sizeof(release_function) - 1);
  }
  static constexpr std::size_t total(std::size_t size) noexcept {
    return padded(size) + sizeof(release_function);
  }
  static release_function* release_of(void* frame, std::size_t size) noexcept {
    return std::launder(
        reinterpret_cast<release_function*>(static_cast<std::byte*>(frame) + padded(size)));
  }
  static void* with_release(void* frame, std::size_t size, release_function release) noexcept {
    ::new (static_cast<void*>(static_cast<std::byte*>(frame) + padded(size)))
        release_function{release};
    return frame;
  }
  template <class Allocator>
  static void* allocated(std::size_t size, Allocator const& allocator) {
    using frames = detail::allocated_frame<Allocator>;
    return with_release(frames::allocate(total(size), allocator), size, &frames::release);
  }
};

}  // namespace keyspan
