// test/async/held.hpp — a coroutine that has been started and is destroyed when its holder goes,
// wherever it is suspended then.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace test {

class held {
 public:
  struct promise_type {
    held get_return_object() noexcept {
      return held{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };

  held() noexcept = default;
  held(held&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  held& operator=(held other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~held() {
    if (frame_) frame_.destroy();
  }

  bool is_done() const noexcept { return frame_.done(); }

 private:
  explicit held(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

  std::coroutine_handle<promise_type> frame_{};
};

}  // namespace test
