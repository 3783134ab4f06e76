// keyspan/async/stop_token.hpp — a request to stop, and who hears of it.
//
//   stop_source --request_stop()--> stop_token, stop_token, …      asked: stop_requested()
//                                   stop_callback{token, f}        told: f() is called, once
#pragma once

#include <keyspan/async/frame_memory.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

// One callback in the list of a `stop_state`.
struct stop_node {
  explicit stop_node(void (*function)(stop_node&) noexcept) noexcept : call{function} {}
  stop_node(stop_node const&) = delete;
  stop_node& operator=(stop_node const&) = delete;

  void (*call)(stop_node&) noexcept;
  stop_node* next = nullptr;
  stop_node** link = nullptr;  // what points here; null while this is in no list
};

// Different in every thread that runs.
inline constinit thread_local char place_of_thread = 0;

// What sources, tokens and callbacks of one request share.
class stop_state {
 public:
  static void* operator new(std::size_t size) { return recycled_memory(size); }
  static void operator delete(void* memory, std::size_t size) noexcept {
    recycle_memory(memory, size);
  }

  bool is_requested() const noexcept {
    return (word_.load(std::memory_order_acquire) & requested) != 0;
  }
  bool is_possible() const noexcept {
    return is_requested() || sources_.load(std::memory_order_acquire) != 0;
  }

  void add_owner() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void drop_owner() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  void add_source() noexcept { sources_.fetch_add(1, std::memory_order_relaxed); }
  void drop_source() noexcept { sources_.fetch_sub(1, std::memory_order_release); }

  bool request() noexcept {
    lock();
    if (is_requested()) {
      unlock();
      return false;
    }
    requester_ = &place_of_thread;
    word_.fetch_or(requested, std::memory_order_release);
    while (first_ != nullptr) {
      stop_node& node = *first_;
      unlink(node);
      running_.store(&node, std::memory_order_relaxed);
      unlock();
      node.call(node);
      // The node may be gone: its own call may destroy it.
      running_.store(nullptr, std::memory_order_release);
      running_.notify_all();
      lock();
    }
    unlock();
    return true;
  }

  // False where stop is requested already; the node is in no list then.
  bool add(stop_node& node) noexcept {
    if (is_requested()) return false;
    lock();
    bool const is_in_time = !is_requested();
    if (is_in_time) {
      node.next = first_;
      node.link = &first_;
      if (first_ != nullptr) first_->link = &node.next;
      first_ = &node;
    }
    unlock();
    return is_in_time;
  }

  // Of a node that was added. Behind it the node is in no list and its call is over, unless this is
  // the thread that makes it.
  void remove(stop_node& node) noexcept {
    lock();
    bool const was_waiting = node.link != nullptr;
    if (was_waiting) unlink(node);
    bool const is_requester = requester_ == &place_of_thread;
    unlock();
    if (was_waiting || is_requester) return;
    while (running_.load(std::memory_order_acquire) == &node)
      running_.wait(&node, std::memory_order_acquire);
  }

 private:
  static constexpr std::uint32_t requested = 1;
  static constexpr std::uint32_t locked = 2;

  void lock() noexcept {
    for (;;) {
      std::uint32_t const before = word_.fetch_or(locked, std::memory_order_acquire);
      if ((before & locked) == 0) return;
      word_.wait(before, std::memory_order_relaxed);
    }
  }
  void unlock() noexcept {
    word_.fetch_and(~locked, std::memory_order_release);
    word_.notify_one();
  }

  static void unlink(stop_node& node) noexcept {
    *node.link = node.next;
    if (node.next != nullptr) node.next->link = node.link;
    node.link = nullptr;
  }

  std::atomic<std::uint32_t> owners_{1};
  std::atomic<std::uint32_t> sources_{1};
  std::atomic<std::uint32_t> word_{0};
  stop_node* first_ = nullptr;       // under the lock
  char const* requester_ = nullptr;  // under the lock
  std::atomic<stop_node*> running_{nullptr};
};

}  // namespace detail

template <class F>
class stop_callback;

/// Says whether to stop. Copies are cheap and say the same; one without a source, as it is made by
/// default, never says so. Safe to use from any thread; each object by one thread at a time.
class stop_token {
 public:
  stop_token() noexcept = default;
  stop_token(stop_token const& other) noexcept : state_{other.state_} {
    if (state_ != nullptr) state_->add_owner();
  }
  stop_token(stop_token&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {}
  stop_token& operator=(stop_token other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~stop_token() {
    if (state_ != nullptr) state_->drop_owner();
  }

  /// Whether stop was requested: one atomic load.
  [[nodiscard]] bool stop_requested() const noexcept {
    return state_ != nullptr && state_->is_requested();
  }
  /// Whether stop was requested or still may be.
  [[nodiscard]] bool stop_possible() const noexcept {
    return state_ != nullptr && state_->is_possible();
  }

  /// Whether both hear the same request, or both none.
  friend bool operator==(stop_token const&, stop_token const&) noexcept = default;

 private:
  friend class stop_source;
  template <class>
  friend class stop_callback;

  explicit stop_token(detail::stop_state* state) noexcept : state_{state} {
    if (state_ != nullptr) state_->add_owner();
  }

  detail::stop_state* state_ = nullptr;
};

/// Requests stop of all who hold a token of it. Copies are sources of the same request.
class stop_source {
 public:
  /// Allocates what its tokens share, of recycled memory.
  stop_source() : state_{new detail::stop_state} {}
  stop_source(stop_source const& other) noexcept : state_{other.state_} {
    if (state_ == nullptr) return;
    state_->add_owner();
    state_->add_source();
  }
  stop_source(stop_source&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {}
  stop_source& operator=(stop_source other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~stop_source() {
    if (state_ == nullptr) return;
    state_->drop_source();
    state_->drop_owner();
  }

  [[nodiscard]] stop_token token() const noexcept { return stop_token{state_}; }

  /// Requests stop and calls the callbacks here, one after the other, the latest first. Returns
  /// whether this was the first request. Does nothing in a source that was moved from.
  bool request_stop() noexcept {
    if (state_ == nullptr) return false;
    stop_token const alive = token();  // a callback may destroy this source
    return alive.state_->request();
  }

  [[nodiscard]] bool stop_requested() const noexcept {
    return state_ != nullptr && state_->is_requested();
  }

  friend bool operator==(stop_source const&, stop_source const&) noexcept = default;

 private:
  detail::stop_state* state_;
};

/// Calls `f` when stop is requested, on the thread that does so; at once and here where it was
/// requested already. `f` throws nothing. The destructor forgets it: behind it `f` does not run and
/// will not, so it waits for a call on another thread; one that is destroyed by its own call is
/// not waited for.
template <class F>
class stop_callback : private detail::stop_node {
  static_assert(std::invocable<F&>, "a stop callback is called without arguments");

 public:
  stop_callback(stop_token token, F f)
      : stop_node{&call_it}, token_{std::move(token)}, function_(std::move(f)) {
    if (!token_.stop_possible()) return;
    is_added_ = token_.state_->add(*this);
    if (!is_added_) call_it(*this);
  }
  stop_callback(stop_callback const&) = delete;
  stop_callback& operator=(stop_callback const&) = delete;
  ~stop_callback() {
    if (is_added_) token_.state_->remove(*this);
  }

 private:
  static void call_it(stop_node& node) noexcept {
    static_cast<void>(static_cast<stop_callback&>(node).function_());
  }

  stop_token token_;
  F function_;
  bool is_added_ = false;
};

template <class F>
stop_callback(stop_token, F) -> stop_callback<F>;

}  // namespace keyspan
