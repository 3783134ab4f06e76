// keyspan/async/awaitable.hpp — what can be awaited, and what awaiting it gives.
//
//   co_await x      x.operator co_await()  or  operator co_await(x)  or  x itself   ->  an awaiter
//
// Whatever fits is welcome wherever a `task` is, whoever wrote it.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/version.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

template <class T>
inline constexpr bool is_coroutine_handle = false;
template <class Promise>
inline constexpr bool is_coroutine_handle<std::coroutine_handle<Promise>> = true;

// What `await_suspend` may return: nothing, whether to suspend, or who goes on instead.
template <class T>
concept suspension = std::same_as<T, void> || std::same_as<T, bool> || is_coroutine_handle<T>;

}  // namespace detail

/// The three steps of an await: is it ready, suspend, and give the result.
template <class A>
concept awaiter = requires(std::remove_reference_t<A>& a, std::coroutine_handle<> suspended) {
  { a.await_ready() } -> std::convertible_to<bool>;
  { a.await_suspend(suspended) } -> detail::suspension;
  a.await_resume();
};

namespace detail {

template <class A>
concept has_member_co_await = requires(A&& a) { static_cast<A&&>(a).operator co_await(); };
template <class A>
concept has_free_co_await = requires(A&& a) { operator co_await(static_cast<A&&>(a)); };

// What `co_await a` works with outside of a coroutine that transforms it. What is not converted is
// returned by reference.
template <class A>
  requires(has_member_co_await<A> || has_free_co_await<A> || awaiter<A>)
constexpr decltype(auto) awaiter_of(A&& a) {
  if constexpr (has_member_co_await<A>) {
    return static_cast<A&&>(a).operator co_await();
  } else if constexpr (has_free_co_await<A>) {
    return operator co_await(static_cast<A&&>(a));
  } else {
    return static_cast<A&&>(a);
  }
}

template <class A>
using awaiter_type = decltype(detail::awaiter_of(std::declval<A>()));

}  // namespace detail

/// What `co_await` takes. `task<int>` is awaitable, `task<int>&` is not: a task is awaited once.
///
/// An awaitable, or its awaiter, may say `static constexpr bool abandonable = true`: its operation
/// owns its own state, so that the coroutine may be destroyed while it is in flight, and what comes
/// later is dropped.
template <class A>
concept awaitable = requires(A&& a) {
  { detail::awaiter_of(static_cast<A&&>(a)) } -> awaiter;
};

/// The type of `co_await a`: it may be a reference, or void.
template <awaitable A>
using await_result = decltype(std::declval<detail::awaiter_type<A>&>().await_resume());

/// What is awaited for a `T`, by value or by reference.
template <class A, class T>
concept awaitable_of = awaitable<A> && std::same_as<std::remove_cvref_t<await_result<A>>, T>;

namespace detail {

// A result that is kept: an rvalue reference leads into what ends with the await.
template <class T>
using returned = std::conditional_t<std::is_rvalue_reference_v<T>, std::remove_cvref_t<T>, T>;

template <class A>
concept says_abandonable =
    requires { requires static_cast<bool>(std::remove_cvref_t<A>::abandonable); };

// An awaiter of ours, which sees to it itself that nothing is destroyed in flight.
template <class A>
concept checks_itself = requires { typename std::remove_cvref_t<A>::checks_itself; };

template <class A>
inline constexpr bool may_be_destroyed_in_flight =
    says_abandonable<A> || says_abandonable<awaiter_type<A>> || checks_itself<awaiter_type<A>>;

// Stands around an awaiter in a frame, and knows whether its operation is in flight.
template <class Awaiter, bool Abandonable>
class watched {
 public:
  template <class A>
  constexpr explicit watched(A&& a) : awaiter_{detail::awaiter_of(static_cast<A&&>(a))} {}
  watched(watched const&) = delete;
  watched& operator=(watched const&) = delete;
  ~watched() {
    if constexpr (!Abandonable)
      expects(!is_in_flight_,
              "an operation in flight is awaited or closed before its coroutine is destroyed");
  }

  constexpr bool await_ready() { return static_cast<bool>(awaiter_.await_ready()); }

  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> suspended) {
    if constexpr (requires { suspended.promise().suspends(); }) suspended.promise().suspends();
    // Before, and never after: behind the call all this may be gone, or run on another thread.
    is_in_flight_ = true;
#if KEYSPAN_EXCEPTIONS
    if constexpr (!noexcept(awaiter_.await_suspend(suspended))) {
      try {
        return stayed(awaiter_, suspended);
      } catch (...) {
        is_in_flight_ = false;
        throw;
      }
    } else
#endif
      return stayed(awaiter_, suspended);
  }

  decltype(auto) await_resume() {
    is_in_flight_ = false;
    return awaiter_.await_resume();
  }

 private:
  template <class Promise>
  auto stayed(Awaiter& awaiter, std::coroutine_handle<Promise> suspended) {
    return awaiter.await_suspend(suspended);
  }

  Awaiter awaiter_;
  bool is_in_flight_ = false;
};

// For promises: everything can be awaited, and what must not be destroyed in flight is watched.
struct watches_awaits {
  template <class A>
  constexpr decltype(auto) await_transform(A&& a) {
    static_assert(awaitable<A>,
                  "what is awaited is an awaiter or has an operator co_await; a task is awaited as "
                  "an rvalue: co_await std::move(t)");
    if constexpr (may_be_destroyed_in_flight<A>) {
      return detail::awaiter_of(static_cast<A&&>(a));
    } else {
      return watched<awaiter_type<A>, false>{static_cast<A&&>(a)};
    }
  }
};

}  // namespace detail

}  // namespace keyspan
