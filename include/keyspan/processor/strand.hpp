// keyspan/processor/strand.hpp — lets coroutines go on one at a time, on whatever threads they come
// back.
//
//   co_await strand.enter();   in: nobody else is
//   co_await strand.leave();   out: for what may take long
#pragma once

#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace keyspan {

namespace detail {
class signal;
}

/// A queue of coroutines that share what needs no lock then: of those who have entered one goes on
/// at a time, and until it suspends nobody else does. It has no thread: they go on in whoever
/// enters, which runs those who come meanwhile, one after the other, never one inside of another.
/// All members may be called from any thread. It outlives those who are queued, and stays where it
/// is.
class strand {
  struct link {
    std::coroutine_handle<> goes_on{};
    link* after = nullptr;
  };
  struct line {
    bool is_empty() const noexcept { return first == nullptr; }
    void push(link& one) noexcept {
      one.after = nullptr;
      (first == nullptr ? first : last->after) = &one;
      last = &one;
    }
    link* pop() noexcept {
      link* const one = first;
      if (one != nullptr) first = one->after;
      return one;
    }
    link* first = nullptr;
    link* last = nullptr;
  };
  // Stays as long as somebody runs it: the last of those may be who lets the strand go.
  struct shared {
    std::mutex mutex{};
    line queue{};
    bool is_taken = false;
  };
  // One call that runs those who are queued, on the stack of its thread.
  struct turn {
    std::shared_ptr<shared> of;
    turn* below;
    bool is_inside = false;
    line outside{};
  };

 public:
  strand() : shared_{std::make_shared<shared>()} {}
  strand(strand const&) = delete;
  strand& operator=(strand const&) = delete;

  class [[nodiscard]] entering : link {
   public:
    explicit entering(strand& in) noexcept : in_{in} {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) {
      goes_on = suspended;
      in_.enqueue(*this);
    }
    void await_resume() const noexcept {}

   private:
    strand& in_;
  };
  class [[nodiscard]] leaving : link {
   public:
    explicit leaving(strand& from) noexcept : from_{from} {}
    bool await_ready() const noexcept { return !from_.is_inside(); }
    void await_suspend(std::coroutine_handle<> suspended) noexcept {
      goes_on = suspended;
      from_.own_turn()->outside.push(*this);
    }
    void await_resume() const noexcept {}

   private:
    strand& from_;
  };

  /// Goes on when nobody else is inside, behind all who have come before: also where it was inside
  /// itself.
  entering enter() noexcept { return entering{*this}; }
  /// Goes on outside, on the same thread, once all who are inside or have come are through.
  leaving leave() noexcept { return leaving{*this}; }
  /// Whether the call comes from inside.
  bool is_inside() const noexcept {
    turn const* const own = own_turn();
    return own != nullptr && own->is_inside;
  }

 private:
  static turn*& top() noexcept {
    static thread_local turn* innermost = nullptr;
    return innermost;
  }
  turn* own_turn() const noexcept {
    turn* one = top();
    while (one != nullptr && one->of != shared_) one = one->below;
    return one;
  }

  void enqueue(link& one) {
    std::shared_ptr<shared> const own = shared_;
    {
      std::lock_guard const lock{own->mutex};
      own->queue.push(one);
    }
    // Behind that, who enters may have gone on elsewhere already, and this be gone. Who runs the
    // queue further up this stack goes on with it.
    for (turn* it = top(); it != nullptr; it = it->below)
      if (it->of == own) return;
    run(own);
  }

  static void run(std::shared_ptr<shared> of) {
    turn own{std::move(of), top()};
    top() = &own;
    for (;;) {
      if (std::coroutine_handle<> const goes_on = next(own)) {
        goes_on.resume();
        continue;
      }
      link* const out = own.outside.pop();
      if (out == nullptr) break;
      out->goes_on.resume();
    }
    top() = own.below;
  }
  // The next who is inside; none where nobody waits, or somebody else runs the queue. Where that is
  // so, it is no longer this turn that is inside.
  static std::coroutine_handle<> next(turn& own) {
    std::lock_guard const lock{own.of->mutex};
    if (!own.is_inside && own.of->is_taken) return {};
    link* const one = own.of->queue.pop();
    own.is_inside = own.of->is_taken = one != nullptr;
    return one != nullptr ? one->goes_on : std::coroutine_handle<>{};
  }

  friend detail::signal;

  std::shared_ptr<shared> shared_;
};

namespace detail {

// Coroutines inside of a strand that wait until something has changed. All of it is called from
// inside.
class signal {
 public:
  explicit signal(strand& in) noexcept : in_{in} {}
  signal(signal const&) = delete;
  signal& operator=(signal const&) = delete;

  class [[nodiscard]] waiting : strand::link {
   public:
    explicit waiting(signal& of) noexcept : of_{of} {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) noexcept {
      goes_on = suspended;
      of_.waiting_.push(*this);
    }
    void await_resume() const noexcept {}

   private:
    signal& of_;
  };
  /// Until the next `notify`.
  waiting wait() noexcept { return waiting{*this}; }
  /// All who wait go on, behind all who are queued in the strand.
  void notify() {
    for (auto* one = waiting_.pop(); one != nullptr; one = waiting_.pop()) in_.enqueue(*one);
  }

 private:
  strand& in_;
  strand::line waiting_{};
};

// Coroutines that were begun together and are awaited together. All of it is called from inside of
// one strand, and each ends inside of it.
class task_group {
  struct spawned {
    struct promise_type : frame_memory, watches_awaits {
      spawned get_return_object() noexcept {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_always initial_suspend() const noexcept { return {}; }
      std::suspend_never final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
  };

 public:
  explicit task_group(strand& in) noexcept : in_{in}, ended_{in} {}

  /// Begins a task, behind all who are queued.
  void spawn(task<> work) {
    ++running_;
    run(std::move(work)).frame.resume();
  }
  std::size_t size() const noexcept { return running_; }
  /// Until none is left.
  task<> join() {
    while (running_ != 0) co_await ended_.wait();
  }

 private:
  spawned run(task<> work) {
    co_await in_.enter();
    co_await std::move(work);
    co_await in_.enter();
    if (--running_ == 0) ended_.notify();
  }

  strand& in_;
  std::size_t running_ = 0;
  signal ended_;
};

}  // namespace detail
}  // namespace keyspan
