// keyspan/async/completion.hpp — awaits what calls back: Asio's handlers, libraries in C, one's
// own.
//
//   completion_of<int>([&](auto done) { api.start(done); })     …  done(42)  …  co_await gives 42
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/version.hpp>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

// What can make the result: nothing for void, the very object for a reference.
template <class T, class... Args>
concept completes = (std::is_void_v<T> && sizeof...(Args) == 0) ||
                    (std::is_object_v<T> && std::constructible_from<T, Args...>) ||
                    (std::is_lvalue_reference_v<T> && sizeof...(Args) == 1 &&
                     (std::convertible_to<Args&&, T> && ...));

// What the one who awaits and those who may call share; the last of them frees it.
template <class T>
class completion_state {
  static_assert(std::is_void_v<T> || std::is_lvalue_reference_v<T> ||
                    (std::is_object_v<T> &&
                     alignof(outcome<T>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__),
                "a completion gives a value without extended alignment, an lvalue or void");

 public:
  static void* operator new(std::size_t size) { return recycled_memory(size); }
  static void operator delete(void* memory, std::size_t size) noexcept {
    recycle_memory(memory, size);
  }

  explicit completion_state(std::coroutine_handle<> suspended) noexcept : goes_on_{suspended} {}

  void add_owner() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void drop_owner() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Behind the exchange nothing is read here: where the start has not returned yet it is the start
  // that goes on, and where it has, who awaits may be gone.
  template <class... Args>
  void complete(Args&&... args) {
    expects(!is_called_.exchange(true, std::memory_order_acq_rel), "a completion is called once");
#if KEYSPAN_EXCEPTIONS
    try {
      result_.emplace(std::forward<Args>(args)...);
    } catch (...) {
      result_.set_exception();
    }
#else
    result_.emplace(std::forward<Args>(args)...);
#endif
    std::coroutine_handle<> const goes_on = goes_on_;
    if (stage_.exchange(stage::completed, std::memory_order_acq_rel) == stage::suspended)
      goes_on.resume();
  }

  // The start has returned. False where the call came before that.
  bool suspend() noexcept { return leave(stage::starting, stage::suspended); }
  // Nobody waits any more, and what comes is dropped. False where it has come.
  bool abandon() noexcept { return leave(stage::suspended, stage::abandoned); }
  // Whether somebody is left who may call. Asked by who awaits.
  bool may_be_called() const noexcept { return owners_.load(std::memory_order_acquire) > 1; }

  decltype(auto) take() { return result_.take(); }

 private:
  enum class stage : unsigned char { starting, suspended, completed, abandoned };

  bool leave(stage from, stage to) noexcept {
    return stage_.compare_exchange_strong(from, to, std::memory_order_acq_rel,
                                          std::memory_order_acquire);
  }

  std::atomic<std::uint32_t> owners_{1};
  std::atomic<stage> stage_{stage::starting};
  std::atomic<bool> is_called_{false};
  std::coroutine_handle<> goes_on_;
  outcome<T> result_{};
};

template <class T, class Start, bool Abandonable>
class awaiting_completion;

}  // namespace detail

/// What a callback API is given to call, once, from any thread and at any moment: `done(args…)`
/// makes the `T` from `args`, and whoever awaits it goes on inside of the call. Where making it
/// throws, who awaits gets the exception. Copies are handles of the same completion.
template <class T>
class completer {
 public:
  completer(completer const& other) noexcept : state_{other.state_} {
    if (state_ != nullptr) state_->add_owner();
  }
  completer(completer&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {}
  completer& operator=(completer other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~completer() {
    if (state_ != nullptr) state_->drop_owner();
  }

  /// Requires that neither this nor a copy was called before, and that it was not moved from.
  template <class... Args>
    requires detail::completes<T, Args...>
  void operator()(Args&&... args) const {
    expects(state_ != nullptr, "a completer that was moved from is not called");
    state_->complete(std::forward<Args>(args)...);
  }

 private:
  template <class, class, bool>
  friend class detail::awaiting_completion;

  explicit completer(detail::completion_state<T>& state) noexcept : state_{&state} {
    state.add_owner();
  }

  detail::completion_state<T>* state_;
};

namespace detail {

template <class T, class Start, bool Abandonable>
class awaiting_completion {
 public:
  using checks_itself = void;

  explicit awaiting_completion(Start&& start) noexcept(std::is_nothrow_move_constructible_v<Start>)
      : start_(std::move(start)) {}
  awaiting_completion(awaiting_completion const&) = delete;
  awaiting_completion& operator=(awaiting_completion const&) = delete;
  ~awaiting_completion() {
    if (state_ == nullptr) return;
    if (!has_resumed_) give_up();
    state_->drop_owner();
  }

  bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> suspended) {
    state_ = new completion_state<T>{suspended};
    start();
    // From here on who awaits may go on elsewhere, and this be gone.
    return state_->suspend();
  }

  T await_resume() {
    has_resumed_ = true;
    return state_->take();
  }

 private:
  // Where starting throws nobody is suspended, so that a call that comes all the same finds nobody.
  struct starting {
    ~starting() {
      if (!of.is_started_) of.has_resumed_ = true;
    }
    awaiting_completion& of;
  };

  void start() {
    starting const guard{*this};
    static_cast<Start&&>(start_)(completer<T>{*state_});
    is_started_ = true;
  }

  void give_up() const {
    bool const may_be_called = state_->may_be_called();
    expects(state_->abandon(), "who awaits is not destroyed while it is being resumed");
    if constexpr (!Abandonable)
      expects(!may_be_called,
              "an operation in flight is awaited or closed before its coroutine is destroyed");
  }

  Start start_;
  completion_state<T>* state_ = nullptr;
  bool is_started_ = false;
  bool has_resumed_ = false;
};

}  // namespace detail

/// What `completion_of` returns: awaited once, as an rvalue.
template <class T, class Start, bool Abandonable>
class [[nodiscard]] completion {
 public:
  /// Whether the coroutine may be destroyed while the operation is in flight.
  static constexpr bool abandonable = Abandonable;

  explicit completion(Start start) : start_(std::move(start)) {}

  auto operator co_await() && {
    return detail::awaiting_completion<T, Start, Abandonable>{std::move(start_)};
  }

 private:
  Start start_;
};

/// Awaits an operation that calls back, for a `T`, which may be void or an lvalue reference.
/// Awaiting calls `start(done)`, which is to begin the operation and hand on `done`, a
/// `completer<T>`, or a copy; it is called exactly once. That may be at once, inside of `start`,
/// later, or on another thread: who awaits goes on where it is called, and never before `start` has
/// returned. What `start` throws passes through, and a call that comes nevertheless is dropped.
/// Allocates once, of recycled memory.
///
/// Calling twice breaks a contract. Where the last copy of `done` goes without a call nobody is
/// resumed; the coroutine can then be destroyed.
///
/// Cancellation: what the API offers, from a `stop_callback`.
///
/// Destruction: while the operation is in flight it breaks a contract.
template <class T, std::invocable<completer<T>> Start>
auto completion_of(Start start) {
  return completion<T, Start, false>{std::move(start)};
}

/// The same for an operation that reads and writes nothing of the coroutine's: this may be
/// destroyed while it is in flight (abandonable), and the call that comes later is dropped. Not
/// while `done` is being called on another thread.
template <class T, std::invocable<completer<T>> Start>
auto abandonable_completion_of(Start start) {
  return completion<T, Start, true>{std::move(start)};
}

}  // namespace keyspan
