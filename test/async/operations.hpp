// test/async/operations.hpp — operations whose end the test decides on, as hand-made awaitables.
#pragma once

#include <keyspan/async/stop_token.hpp>

#include <coroutine>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace test {

/// One operation at a time: whoever awaits it is suspended until the test ends it, or stop is
/// requested. It does not let itself be abandoned.
class operation {
 public:
  explicit operation(keyspan::stop_token stop = {}) : stop_{std::move(stop)} {}
  operation(operation const&) = delete;
  operation& operator=(operation const&) = delete;

  bool is_in_flight() const { return static_cast<bool>(suspended_); }
  void end_with(int value) {
    value_ = value;
    go_on();
  }
  void fail() {
    fails_ = true;
    go_on();
  }

  /// The value it was ended with; -1 where it was stopped.
  struct awaiter {
    operation& of;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) { of.suspended_ = suspended; }
    int await_resume() const {
      if (std::exchange(of.fails_, false)) throw std::runtime_error{"the operation failed"};
      return std::exchange(of.value_, -1);
    }
  };
  awaiter operator co_await() noexcept { return {*this}; }

 private:
  void go_on() { std::exchange(suspended_, {}).resume(); }

  keyspan::stop_token stop_;
  std::coroutine_handle<> suspended_{};
  int value_ = -1;
  bool fails_ = false;
};

/// The same of one that may be abandoned: what ends then resumes nobody.
class abandonable_operation {
 public:
  abandonable_operation() = default;
  abandonable_operation(abandonable_operation const&) = delete;
  abandonable_operation& operator=(abandonable_operation const&) = delete;

  bool is_in_flight() const { return waits_ != nullptr; }
  void end_with(int value) {
    if (waits_ == nullptr) return;
    waits_->value = value;
    std::exchange(waits_, nullptr)->suspended.resume();
  }

  class awaiter {
   public:
    static constexpr bool abandonable = true;

    explicit awaiter(abandonable_operation& of) : of_{of} {}
    awaiter(awaiter const&) = delete;
    awaiter& operator=(awaiter const&) = delete;
    ~awaiter() {
      if (of_.waits_ == this) of_.waits_ = nullptr;
    }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> who) {
      suspended = who;
      of_.waits_ = this;
    }
    int await_resume() const noexcept { return value; }

    std::coroutine_handle<> suspended{};
    int value = -1;

   private:
    abandonable_operation& of_;
  };
  awaiter operator co_await() noexcept { return awaiter{*this}; }

 private:
  awaiter* waits_ = nullptr;
};

/// Counts how many of them are alive, to see what a frame destroys.
class counted {
 public:
  explicit counted(int& alive) : alive_{&alive} { ++*alive_; }
  counted(counted const& other) : alive_{other.alive_} { ++*alive_; }
  counted(counted&& other) noexcept : alive_{other.alive_} { ++*alive_; }
  counted& operator=(counted const&) = delete;
  ~counted() { --*alive_; }

 private:
  int* alive_;
};

/// What the exception says that `action` throws; nothing where it throws none.
template <class Action>
std::string thrown_by(Action&& action) {
  try {
    static_cast<void>(action());
  } catch (std::exception const& thrown) {
    return thrown.what();
  }
  return {};
}

/// A coroutine that somebody has started and left to itself: the test knows that it ends.
struct started {
  struct promise_type {
    started get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace test
