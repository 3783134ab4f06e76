// keyspan/async/task.hpp — a coroutine that gives one result to who awaits it.
//
//   task<int> answer();             nothing runs yet
//   co_await answer();              runs it, here; goes on when it is done, wherever that is
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/version.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

// Nothing yet, the result of a coroutine, or what it threw.
template <class T>
class outcome {
  static_assert(std::is_void_v<T> || std::is_lvalue_reference_v<T> ||
                    (std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>>),
                "a coroutine gives an object type without const, an lvalue reference, or void");
  static_assert(alignof(std::conditional_t<std::is_object_v<T>, T, char>) <=
                    __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "what a coroutine gives has no greater alignment than operator new");

  struct nothing {};

  using stored = std::conditional_t<
      std::is_void_v<T>, nothing,
      std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;
  enum class what : unsigned char { nothing, value, exception };

 public:
  outcome() noexcept : nothing_{} {}
  outcome(outcome const&) = delete;
  outcome& operator=(outcome const&) = delete;
  ~outcome() { clear(); }

  void clear() noexcept {
    if (what_ == what::value) {
      std::destroy_at(std::addressof(value_));
    } else if (what_ == what::exception) {
      std::destroy_at(std::addressof(exception_));
    }
    what_ = what::nothing;
  }

  template <class... Args>
  void emplace(Args&&... args) {
    clear();
    if constexpr (std::is_reference_v<T>) {
      std::construct_at(std::addressof(value_), std::addressof(args)...);
    } else {
      std::construct_at(std::addressof(value_), std::forward<Args>(args)...);
    }
    what_ = what::value;
  }
  void set_exception() noexcept {
#if KEYSPAN_EXCEPTIONS
    clear();
    std::construct_at(std::addressof(exception_), std::current_exception());
    what_ = what::exception;
#else
    std::terminate();
#endif
  }

  // The exception is thrown, the value moved out of here. Requires that there is one of them.
  T take() {
#if KEYSPAN_EXCEPTIONS
    if (what_ == what::exception) [[unlikely]]
      std::rethrow_exception(exception_);
#endif
    if constexpr (std::is_reference_v<T>) {
      return *value_;
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(value_);
    }
  }

 private:
  union {
    nothing nothing_;
    stored value_;
    std::exception_ptr exception_;
  };
  what what_ = what::nothing;
};

template <class T>
struct returns_value {
  outcome<T> result{};

  template <class U = T>
    requires std::convertible_to<U, T>
  void return_value(U&& value) {
    result.emplace(std::forward<U>(value));
  }
};
template <class T>
struct returns_value<T&> {
  outcome<T&> result{};

  void return_value(T& value) noexcept { result.emplace(value); }
};
template <>
struct returns_value<void> {
  outcome<void> result{};

  void return_void() noexcept { result.emplace(); }
};

template <class Promise>
struct owned_frame {
  explicit owned_frame(std::coroutine_handle<Promise> frame) noexcept : handle{frame} {}
  owned_frame(owned_frame&& other) noexcept : handle{std::exchange(other.handle, {})} {}
  owned_frame& operator=(owned_frame other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~owned_frame() {
    if (handle) handle.destroy();
  }

  std::coroutine_handle<Promise> handle;
};

}  // namespace detail

/// Of nothing, where no type is named.
template <class T = void>
class task;

/// A coroutine that gives a `T`, which may be move-only, a reference, or void. It is lazy: awaiting
/// starts it, on the thread that awaits, and is done once: `co_await std::move(t)`. What it throws
/// passes through to who awaits it. It may be awaited from any coroutine, and await anything.
/// Allocates nothing where frames are recycled: see `frame_memory`, also for allocators.
///
/// Cancellation: it stops when what it awaits does; give it a `stop_token`.
///
/// Destruction: at any time while it does not run and nothing is in flight; what it holds is
/// destroyed with it. Destroying it, or who awaits it, while it is suspended in an operation of
/// somebody else breaks a contract, unless that one is abandonable: see `awaitable`.
template <class T>
class [[nodiscard]] task {
 public:
  class promise_type;
  using value_type = T;

  task(task&&) noexcept = default;
  task& operator=(task&&) noexcept = default;

  /// Whether this may be awaited: it was not yet, and was not moved from.
  bool valid() const noexcept { return static_cast<bool>(frame_.handle); }

  /// Awaits it. Requires that it was neither awaited nor moved from.
  auto operator co_await() && {
    expects(static_cast<bool>(frame_.handle), "a task is awaited once");
    return awaiting{std::move(frame_)};
  }

 private:
  using handle = std::coroutine_handle<promise_type>;

  // Owns the frame, so that it goes with who awaits it.
  class awaiting {
   public:
    using checks_itself = void;

    explicit awaiting(detail::owned_frame<promise_type>&& frame) noexcept
        : frame_{std::move(frame)} {}

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> suspended) noexcept {
      frame_.handle.promise().goes_on_ = suspended;
      return frame_.handle;
    }
    T await_resume() { return frame_.handle.promise().result.take(); }

   private:
    detail::owned_frame<promise_type> frame_;
  };

  explicit task(handle frame) noexcept : frame_{frame} {}

  detail::owned_frame<promise_type> frame_;
};

template <class T>
class task<T>::promise_type : public frame_memory,
                              public detail::watches_awaits,
                              public detail::returns_value<T> {
 public:
  task get_return_object() noexcept { return task{handle::from_promise(*this)}; }
  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct going_on {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(handle done) const noexcept {
      return done.promise().goes_on_;
    }
    void await_resume() const noexcept {}
  };
  going_on final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { this->result.set_exception(); }

 private:
  friend class task;

  std::coroutine_handle<> goes_on_{};
};

static_assert(awaitable_of<task<int>, int> && awaitable_of<task<>, void> && !awaitable<task<int>&>);

}  // namespace keyspan
