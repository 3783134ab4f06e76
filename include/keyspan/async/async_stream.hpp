// keyspan/async/async_stream.hpp — a coroutine that gives many items, one after the other, to who
// awaits them.
//
//   async_stream<int> count() { co_yield 1; co_yield 2; }
//   while (int* n = co_await s.next()) …        null behind the last one
//   co_await s.close();                         stops it before its end
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/version.hpp>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace keyspan {

/// What a coroutine of an `async_stream` awaits to get the `stop_token` that `close()` stops:
/// `auto const stop = co_await own_stop_token;`. Never suspends.
struct own_stop_token_request {};
inline constexpr own_stop_token_request own_stop_token{};

/// A coroutine that gives items, each when it is asked for. It is lazy, and starts with the first
/// `next()`, on the thread that awaits it. It may be awaited from any coroutine, and await
/// anything. An item that the coroutine has ready costs no suspension, and no stack. Allocates
/// nothing where memory is recycled: see `frame_memory`, also for allocators.
///
/// `next()` and `close()` are called by one thread at a time; the call of `next()` is over when who
/// awaits is suspended, or goes on. What the coroutine awaits may be done on any thread, also while
/// `close()` is called.
///
/// Cancellation: `close()`, by who uses the items, or by somebody else while nobody does.
///
/// Destruction: at any time while it does not run and nobody awaits it; what it holds is destroyed
/// with it. While it is suspended in an operation of somebody else that breaks a contract, unless
/// that one is abandonable: see `awaitable`; `co_await close()` before. Who awaits is not destroyed
/// while another thread resumes it.
template <class T>
class [[nodiscard]] async_stream {
  static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>>,
                "a stream gives items of an object type without const: give pointers, or copies");

 public:
  class promise_type;
  using value_type = T;

  /// Without a coroutine: it has ended.
  async_stream() noexcept = default;
  async_stream(async_stream&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  async_stream& operator=(async_stream other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~async_stream() { destroy(frame_); }

  /// Whether there is a coroutine: it was not closed, and not moved from. It may have ended.
  explicit operator bool() const noexcept { return static_cast<bool>(frame_); }

  /// Awaits the next item, a `T*`; null when there is none any more. The item lives until the next
  /// call of `next()` or `close()`, whoever makes it. What the coroutine throws passes through,
  /// once; the stream has ended then. Where who awaits is destroyed meanwhile, the item is kept for
  /// the next one. Requires that nobody else awaits one.
  [[nodiscard]] auto next() noexcept { return next_item{*this}; }

  /// Ends the stream. Requests stop of the coroutine's own token; where `next()` is being awaited,
  /// waits for the operation in flight, and until an item that is on its way there has been taken;
  /// what comes later is null, unless the coroutine throws. Who closes may go on inside of that
  /// `next()`, and neither destroys who reads nor blocks on it. Then destroys the coroutine, and
  /// with it the item that was given last. What the coroutine throws while nobody awaits `next()`
  /// passes through here. Without a coroutine it does nothing, so closing twice does no harm; a
  /// second one does not wait for the first.
  [[nodiscard]] auto close() noexcept { return closing_stream{*this}; }

 private:
  using handle = std::coroutine_handle<promise_type>;

  static void destroy(handle frame) {
    if (!frame) return;
    expects((frame.promise().state() & (promise_type::awaited | promise_type::handing)) == 0 &&
                !frame.promise().runs_below(),
            "a stream that is awaited is closed before it is destroyed");
    frame.destroy();
  }

  class awaiting_item;
  struct next_item {
    awaiting_item operator co_await() const noexcept { return awaiting_item{stream.frame_}; }
    async_stream& stream;
  };

  class awaiting_close;
  struct closing_stream {
    awaiting_close operator co_await() const noexcept {
      return awaiting_close{std::exchange(stream.frame_, {})};
    }
    async_stream& stream;
  };

  explicit async_stream(handle frame) noexcept : frame_{frame} {}

  handle frame_{};
};

template <class T>
class async_stream<T>::promise_type : public frame_memory, public detail::watches_awaits {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "what a stream gives has no greater alignment than operator new");

 public:
  async_stream get_return_object() noexcept { return async_stream{handle::from_promise(*this)}; }
  std::suspend_always initial_suspend() const noexcept { return {}; }

  // Suspends where an item, or the end, is there.
  struct giving {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(handle suspended) const noexcept {
      return suspended.promise().arrive();
    }
    void await_resume() const noexcept {}
  };
  struct giving_copy : giving {
    T copy;

    std::coroutine_handle<> await_suspend(handle suspended) noexcept {
      suspended.promise().item_ = std::addressof(copy);
      return suspended.promise().arrive();
    }
  };

  giving yield_value(T& item) noexcept {
    item_ = std::addressof(item);
    return {};
  }
  // The temporary lives until the coroutine goes on.
  giving yield_value(T&& item) noexcept {
    item_ = std::addressof(item);
    return {};
  }
  giving_copy yield_value(T const& item)
    requires std::copy_constructible<T>
  {
    return giving_copy{{}, item};
  }

  giving final_suspend() noexcept {
    item_ = nullptr;
    return {};
  }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept {
#if KEYSPAN_EXCEPTIONS
    exception_ = std::current_exception();
#else
    std::terminate();
#endif
  }

  template <class A>
  decltype(auto) await_transform(A&& a) {
    if constexpr (std::same_as<std::remove_cvref_t<A>, own_stop_token_request>) {
      return token_awaiter{stop_.token()};
    } else {
      static_assert(awaitable<A>,
                    "what is awaited is an awaiter or has an operator co_await; a task is awaited "
                    "as an rvalue: co_await std::move(t)");
      return detail::watched<detail::awaiter_type<A>, detail::may_be_destroyed_in_flight<A>>{
          static_cast<A&&>(a)};
    }
  }
  // From here on the coroutine may go on, and arrive, on another thread.
  void suspends() noexcept {
    if (!has_suspended_) has_suspended_ = true;  // not written where others may read it
  }

 private:
  friend class async_stream;
  friend class async_stream::awaiting_item;
  friend class async_stream::awaiting_close;

  struct token_awaiter {
    stop_token token;
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    stop_token await_resume() noexcept { return std::move(token); }
  };

  // What is going on, in one word, so that arriving, beginning to wait and closing have an order.
  static constexpr std::uint32_t running = 1;   // asked for an item, and has none yet
  static constexpr std::uint32_t has_item = 2;  // an item or the end is there, and was not taken
  static constexpr std::uint32_t awaited = 4;   // while running: somebody waits in next()
  static constexpr std::uint32_t over = 32;     // the end was taken
  static constexpr std::uint32_t handing = 64;  // who waits was told of an item, and has not got it
  static constexpr std::uint32_t in_flight = running | handing;
  static constexpr std::uint32_t closing = 8;  // in flight: what comes is not wanted any more
  static constexpr std::uint32_t close_awaited = 16;  // in flight: somebody waits in close()

  std::uint32_t state() const noexcept { return state_.load(std::memory_order_acquire); }
  bool is_in_flight() const noexcept { return (state() & in_flight) != 0; }
  // Whether it runs at this moment below who asked for an item, and so asks about itself.
  bool runs_below() const noexcept { return (state() & running) != 0 && !has_suspended_; }

  std::uint32_t behind_item() const noexcept { return item_ != nullptr ? 0 : over; }

  // While one of `these` is there, adds `flag`; false where none is any more.
  bool add_while(std::uint32_t these, std::uint32_t flag) noexcept {
    std::uint32_t now = state();
    while ((now & these) != 0) {
      if (state_.compare_exchange_weak(now, now | flag, std::memory_order_acq_rel,
                                       std::memory_order_acquire))
        return true;
    }
    return false;
  }

  // The coroutine is suspended, with an item or at its end. Returns who goes on.
  std::coroutine_handle<> arrive() noexcept {
    if (!has_suspended_) {  // who asked is below on this stack, and looks when it gets back
      state_.store(has_item, std::memory_order_release);
      return std::noop_coroutine();
    }
    return arrive_late();
  }
  std::coroutine_handle<> arrive_late() noexcept;

  std::atomic<std::uint32_t> state_{0};
  bool has_suspended_ = false;  // since it was asked for an item
  T* item_ = nullptr;
  std::exception_ptr exception_{};
  awaiting_item* waits_for_item_ = nullptr;
  std::coroutine_handle<> waits_for_close_{};
  stop_source stop_{};
};

// Awaits an item. What it gets it holds itself: when it is resumed the stream may be closed.
template <class T>
class async_stream<T>::awaiting_item {
 public:
  using checks_itself = void;

  explicit awaiting_item(handle frame) noexcept : frame_{frame}, goes_on_{} {}
  awaiting_item(awaiting_item const&) = delete;
  awaiting_item& operator=(awaiting_item const&) = delete;
  ~awaiting_item() {
    if (holds_ != nothing) [[unlikely]]
      let_go();
  }

  // Runs the coroutine here, below who awaits: an item that comes at once suspends nobody.
  bool await_ready() {
    if (!frame_) return true;
    promise_type& promise = frame_.promise();
    std::uint32_t state = promise.state();
    if (state == promise_type::over) return true;
    if (state == 0) {
      promise.has_suspended_ = false;
      promise.state_.store(promise_type::running, std::memory_order_relaxed);
      frame_.resume();
      state = promise.state();
    } else {
      expects(
          (state & (promise_type::awaited | promise_type::handing)) == 0 && !promise.runs_below(),
          "one at a time awaits the next item");
    }
    if ((state & promise_type::running) != 0) return false;
    take(promise);
    return true;
  }

  bool await_suspend(std::coroutine_handle<> suspended) {
    promise_type& promise = frame_.promise();
    std::construct_at(&goes_on_, suspended);
    holds_ = who_waits;
    promise.waits_for_item_ = this;
    if (promise.add_while(promise_type::running, promise_type::awaited)) return true;
    holds_ = nothing;
    take(promise);
    return false;
  }

  T* await_resume() {
    if (holds_ != nothing) [[unlikely]] {
      rethrow();
      end_handing(0, [this] { item_ = nullptr; });
    }
    return item_;
  }
  // What `use` makes of the item. Who closes meanwhile waits for that, and for `closed()`.
  template <class Use, class Closed>
  decltype(auto) received_by(Use use, Closed closed) {
    if (holds_ == nothing) [[likely]]
      return use(item_);
    rethrow();
    handing<Closed> const until_it_is_used{*this, closed};
    return use(item_);
  }

 private:
  friend promise_type;

  enum contents : unsigned char { nothing, who_waits, exception, who_is_handed };

  template <class Closed>
  struct handing {
    ~handing() { of.end_handing(0, closed); }
    awaiting_item& of;
    Closed closed;
  };

  // There is one, and nobody else knows of it.
  void take(promise_type& promise) noexcept {
    item_ = promise.item_;
    if (promise.exception_) [[unlikely]]
      hold(std::exchange(promise.exception_, {}));
    promise.state_.store(promise.behind_item(), std::memory_order_relaxed);
  }
  void hold(std::exception_ptr thrown) noexcept {
    std::construct_at(&exception_, std::move(thrown));
    holds_ = exception;
  }
  // Returns who waits.
  std::coroutine_handle<> tell(T* item, std::exception_ptr thrown) noexcept {
    std::coroutine_handle<> const waits = goes_on_;
    item_ = item;
    holds_ = item != nullptr ? who_is_handed : nothing;
    if (thrown) [[unlikely]]
      hold(std::move(thrown));
    return waits;
  }
  void rethrow() const {
#if KEYSPAN_EXCEPTIONS
    if (holds_ == exception) std::rethrow_exception(exception_);
#endif
  }
  // Whoever closes meanwhile waits for this, and behind the exchange the frame is his. Where he is
  // suspended he goes on here.
  template <class Closed>
  void end_handing(std::uint32_t next, Closed closed) noexcept {
    promise_type& promise = frame_.promise();
    std::uint32_t const changes = promise_type::handing | next;
    holds_ = nothing;
    std::uint32_t before = promise.state();
    while ((before & promise_type::closing) == 0)
      if (promise.state_.compare_exchange_weak(before, before ^ changes, std::memory_order_acq_rel,
                                               std::memory_order_acquire))
        return;
    closed();
    before = promise.state_.fetch_xor(changes, std::memory_order_acq_rel);
    if ((before & promise_type::close_awaited) != 0) promise.waits_for_close_.resume();
  }
  void let_go() noexcept {
    if (holds_ == exception) {
      std::destroy_at(&exception_);
    } else if (holds_ == who_is_handed) {
      end_handing(promise_type::has_item, [] {});
    } else {
      frame_.promise().state_.fetch_and(~promise_type::awaited, std::memory_order_acq_rel);
    }
  }

  handle frame_;
  T* item_ = nullptr;
  union {
    std::coroutine_handle<> goes_on_;
    std::exception_ptr exception_;
  };
  contents holds_ = nothing;
};

// Owns the frame from the beginning, so that the stream is closed for everybody else.
template <class T>
class async_stream<T>::awaiting_close {
 public:
  using checks_itself = void;

  explicit awaiting_close(handle frame) noexcept : frame_{frame} {}
  awaiting_close(awaiting_close const&) = delete;
  awaiting_close& operator=(awaiting_close const&) = delete;
  ~awaiting_close() { destroy(frame_); }

  bool await_ready() {
    if (!frame_) return true;
    promise_type& promise = frame_.promise();
    expects(!promise.runs_below(), "a stream does not close itself");
    // Before the request: what comes of it is not wanted, and this may run inside of it.
    is_late_ = !promise.add_while(promise_type::in_flight, promise_type::closing);
    stop_source source = promise.stop_;
    source.request_stop();
    return is_late_ || !promise.is_in_flight();
  }
  // Whether there was a stream to close, and nothing in flight.
  bool is_late() const noexcept { return is_late_; }

  bool await_suspend(std::coroutine_handle<> suspended) {
    promise_type& promise = frame_.promise();
    promise.waits_for_close_ = suspended;
    return promise.add_while(promise_type::in_flight, promise_type::close_awaited);
  }

  void await_resume() {
    if (!frame_) return;
    [[maybe_unused]] std::exception_ptr const thrown =
        std::exchange(frame_.promise().exception_, {});
    destroy(std::exchange(frame_, {}));
#if KEYSPAN_EXCEPTIONS
    if (thrown) [[unlikely]]
      std::rethrow_exception(thrown);
#endif
  }

 private:
  handle frame_;
  bool is_late_ = false;
};

// Who waits is told in its own place, and before anybody who may then destroy the frame: behind the
// exchange nothing of the promise is read. An item is handed over: it stands in the frame, so that
// a close waits until who waits has got it.
template <class T>
std::coroutine_handle<> async_stream<T>::promise_type::arrive_late() noexcept {
  T* const item = item_;
  std::uint32_t const after = item != nullptr ? handing : over;
  std::exception_ptr thrown = std::exchange(exception_, {});
  awaiting_item* waiting = nullptr;
  std::coroutine_handle<> closer;
  std::uint32_t before = state();
  std::uint32_t next = 0;
  do {
    waiting = (before & awaited) != 0 ? waits_for_item_ : nullptr;
    closer = (before & close_awaited) != 0 ? waits_for_close_ : std::noop_coroutine();
    exception_ = waiting == nullptr ? thrown : std::exception_ptr{};  // for who comes later
    next = waiting == nullptr ? has_item : (before & closing) != 0 ? over : after;
  } while (!state_.compare_exchange_weak(before, next, std::memory_order_acq_rel,
                                         std::memory_order_acquire));
  if (waiting == nullptr) return closer;
  std::coroutine_handle<> const waiter =
      waiting->tell((before & closing) != 0 ? nullptr : item, std::move(thrown));
  if ((before & close_awaited) == 0) return waiter;
  waiter.resume();
  return closer;
}

static_assert(awaitable_of<decltype(std::declval<async_stream<int>&>().next()), int*> &&
              awaitable_of<decltype(std::declval<async_stream<int>&>().close()), void>);

}  // namespace keyspan
