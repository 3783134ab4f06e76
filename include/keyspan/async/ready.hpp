// keyspan/async/ready.hpp — an awaitable whose value is at hand.
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace keyspan {

/// Gives its value to who awaits it and never suspends: what a source in memory answers with, so
/// that the same source serves coroutines and plain loops.
template <class T>
struct [[nodiscard]] ready {
  static_assert(std::is_object_v<T>, "what is ready is a value: return a pointer, or a result");

  // Not an aggregate: `co_await ready{x}` of one destroys x twice with g++ 12.
  constexpr ready()
    requires std::default_initializable<T>
  = default;
  /// Whatever converts to a `T` is ready.
  template <class U = T>
    requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, ready>)
  constexpr ready(U&& from) : value(std::forward<U>(from)) {}

  constexpr bool await_ready() const noexcept { return true; }
  constexpr void await_suspend(std::coroutine_handle<>) const noexcept {}
  /// The value, to be moved from.
  constexpr T&& await_resume() noexcept { return std::move(value); }

  /// Nothing is ever in flight.
  static constexpr bool abandonable = true;

  T value{};
};

template <class T>
ready(T) -> ready<T>;

}  // namespace keyspan
