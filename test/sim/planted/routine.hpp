// test/sim/planted/routine.hpp — the least coroutine that can sleep in a world: eager, owned,
// awaiting nothing but sleeps.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace sim {

class routine {
 public:
  struct promise_type {
    routine get_return_object() {
      return routine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const { throw; }  // out of the event that resumed it
  };

  routine(routine&& other) noexcept : frame_{std::exchange(other.frame_, nullptr)} {}
  routine& operator=(routine&&) = delete;
  ~routine() {
    if (frame_) frame_.destroy();
  }
  bool is_done() const { return frame_.done(); }

 private:
  explicit routine(std::coroutine_handle<promise_type> frame) : frame_{frame} {}
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace sim
