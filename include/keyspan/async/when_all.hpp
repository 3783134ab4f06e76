// keyspan/async/when_all.hpp — awaits many at the same time.
//
//   auto both = when_all(first(), second());      by name, as g++ 12 needs it: it copies wrongly
//   auto [a, b] = co_await std::move(both);       both are started, both are awaited
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/task.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace keyspan {

namespace detail {

// How many parts are not done yet, and who goes on when the last one is.
class countdown {
 public:
  // One more than there are parts: nobody goes on before all are started.
  explicit countdown(std::size_t parts) noexcept : left_{parts + 1} {}

  void begin(std::coroutine_handle<> suspended) noexcept { goes_on_ = suspended; }
  // Whether parts are left to wait for.
  bool is_started() noexcept { return left_.fetch_sub(1, std::memory_order_acq_rel) > 1; }
  std::coroutine_handle<> part_done() noexcept {
    std::coroutine_handle<> const last = goes_on_;
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) return last;
    return std::noop_coroutine();
  }

 private:
  std::atomic<std::size_t> left_;
  std::coroutine_handle<> goes_on_{};
};

// Awaits one of many, and keeps its result until all are there.
template <class T>
class part {
 public:
  struct promise_type : frame_memory, watches_awaits, returns_value<T> {
    part get_return_object() noexcept {
      return part{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct counting {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> done) const noexcept {
        return done.promise().all->part_done();
      }
      void await_resume() const noexcept {}
    };
    counting final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { this->result.set_exception(); }

    countdown* all = nullptr;
  };

  explicit part(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

  void start(countdown& all) {
    frame_.handle.promise().all = &all;
    frame_.handle.resume();
  }
  // The result, or a `monostate` where there is none; what was thrown is thrown.
  decltype(auto) take() {
    if constexpr (std::is_void_v<T>) {
      frame_.handle.promise().result.take();
      return std::monostate{};
    } else {
      return frame_.handle.promise().result.take();
    }
  }

 private:
  owned_frame<promise_type> frame_;
};

template <class A>
part<returned<await_result<A>>> part_of(std::remove_reference_t<A>& a) {
  co_return co_await static_cast<A&&>(a);
}

template <class T>
using part_result = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class... As>
class awaiting_each {
 public:
  using checks_itself = void;

  explicit awaiting_each(std::tuple<As...>&& awaitables)
      : awaitables_{std::move(awaitables)},
        parts_{std::apply(
            [](auto&... a) {
              return std::tuple<part<returned<await_result<As>>>...>{part_of<As>(a)...};
            },
            awaitables_)} {}
  awaiting_each(awaiting_each const&) = delete;
  awaiting_each& operator=(awaiting_each const&) = delete;

  bool await_ready() const noexcept { return sizeof...(As) == 0; }
  bool await_suspend(std::coroutine_handle<> suspended) {
    all_.begin(suspended);
    std::apply([this](auto&... each) { (each.start(all_), ...); }, parts_);
    return all_.is_started();
  }
  auto await_resume() {
    return std::apply(
        [](auto&... each) {
          // In braces, so that they are taken in their order.
          return std::tuple<part_result<returned<await_result<As>>>...>{each.take()...};
        },
        parts_);
  }

 private:
  std::tuple<As...> awaitables_;
  std::tuple<part<returned<await_result<As>>>...> parts_;
  countdown all_{sizeof...(As)};
};

template <class... As>
struct [[nodiscard]] each_of {
  awaiting_each<As...> operator co_await() && {
    return awaiting_each<As...>{std::move(awaitables)};
  }

  std::tuple<As...> awaitables;
};

template <class A>
class awaiting_vector {
  using result = returned<await_result<A>>;
  static_assert(!std::is_reference_v<result>,
                "what stands in a vector gives values: let it give a pointer");

 public:
  using checks_itself = void;

  explicit awaiting_vector(std::vector<A>&& awaitables)
      : awaitables_{std::move(awaitables)}, all_{awaitables_.size()} {
    parts_.reserve(awaitables_.size());
    for (A& a : awaitables_) parts_.push_back(part_of<A>(a));
  }
  awaiting_vector(awaiting_vector const&) = delete;
  awaiting_vector& operator=(awaiting_vector const&) = delete;

  bool await_ready() const noexcept { return parts_.empty(); }
  bool await_suspend(std::coroutine_handle<> suspended) {
    all_.begin(suspended);
    for (auto& each : parts_) each.start(all_);
    return all_.is_started();
  }
  std::vector<part_result<result>> await_resume() {
    std::vector<part_result<result>> results;
    results.reserve(parts_.size());
    for (auto& each : parts_) results.push_back(each.take());
    return results;
  }

 private:
  std::vector<A> awaitables_;
  std::vector<part<result>> parts_{};
  countdown all_;
};

template <class A>
struct [[nodiscard]] all_in_vector {
  awaiting_vector<A> operator co_await() && { return awaiting_vector<A>{std::move(awaitables)}; }

  std::vector<A> awaitables;
};

}  // namespace detail

/// Awaits all of `awaitables` at the same time and gives the `std::tuple` of their results, with a
/// `std::monostate` for void. They are started in their order, on the thread that awaits; each is
/// done on whatever thread it likes, and who awaits goes on where the last one is. What any of them
/// throws is thrown when all are done, the first one in their order. An lvalue is awaited where it
/// stands. Recycles a frame for each.
///
/// Destruction: as of a `task` that awaits all of them.
template <awaitable... As>
auto when_all(As&&... awaitables) {
  return detail::each_of<As...>{std::tuple<As...>{std::forward<As>(awaitables)...}};
}

/// The same of as many as there are: gives the `std::vector` of their results. Allocates that, and
/// one for the frames.
template <class A>
  requires awaitable<A>
auto when_all(std::vector<A> awaitables) {
  return detail::all_in_vector<A>{std::move(awaitables)};
}

}  // namespace keyspan
