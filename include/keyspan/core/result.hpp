// keyspan/core/result.hpp — a value, or the error that stands in its place.
//
// The interface of `std::expected<T, error>`, in C++20, and the same type under every language
// version: `return value;` succeeds, `return fail(errc::not_found, "no range ", id);` does not.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/version.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#if KEYSPAN_STD_EXPECTED
#include <expected>
#endif

namespace keyspan {

template <class T>
class result;

/// An error on its way into a `result`; what `fail` returns.
class unexpected {
 public:
  constexpr explicit unexpected(keyspan::error error) noexcept : error_{error} {}
  constexpr keyspan::error const& error() const noexcept { return error_; }
  friend constexpr bool operator==(unexpected const&, unexpected const&) = default;

 private:
  keyspan::error error_;
};

/// The failure to return: its kind, and the pieces of the sentence that names what was wrong.
template <text_piece... Pieces>
[[nodiscard]] constexpr unexpected fail(errc code, Pieces const&... pieces) {
  return unexpected{error{code, pieces...}};
}

namespace detail {

// A text as a C string, for interfaces that know no other.
template <std::size_t Capacity>
class c_text {
 public:
  explicit c_text(inline_text<Capacity> const& text) noexcept {
    bytes_[text.view().copy(bytes_, text.size())] = '\0';
  }
  char const* c_str() const noexcept { return bytes_; }

 private:
  char bytes_[Capacity + 1];
};

}  // namespace detail

#if KEYSPAN_EXCEPTIONS
/// What `result::value()` throws where there is no value, and the item loop of a feed on an error.
class failed : public std::exception {
 public:
  explicit failed(keyspan::error error) noexcept : error_{error}, what_{error.to_text()} {}
  keyspan::error const& error() const noexcept { return error_; }
  char const* what() const noexcept override { return what_.c_str(); }

 private:
  keyspan::error error_;
  detail::c_text<512> what_;
};
#endif

namespace detail {

[[noreturn]] inline void throw_failed(error const& error) {
#if KEYSPAN_EXCEPTIONS
  throw failed{error};
#else
  promise_broken(c_text{error.to_text()}.c_str(), std::source_location::current());
#endif
}

// The promise names the error too: why there is no value is what its reader wants to know.
[[noreturn]] inline void tell_of_missing_value(error const& error) {
  inline_text<600> const promise{"a result is read where it has a value; this one has the error ",
                                 error.to_text()};
  promise_broken(c_text{promise}.c_str(), std::source_location::current());
}

constexpr void value_is_missing(error const& error) {
  if (std::is_constant_evaluated()) {
    expects(false, "a result is read where it has a value");
  } else {
    tell_of_missing_value(error);
  }
}

template <class>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

// What speaks of an outcome as a whole; a T that can be made of anything must not swallow it.
template <class>
inline constexpr bool is_failure = false;
template <>
inline constexpr bool is_failure<unexpected> = true;
template <class U>
inline constexpr bool is_outcome = is_result<U> || is_failure<U>;

#if KEYSPAN_STD_EXPECTED
template <class E>
inline constexpr bool is_failure<std::unexpected<E>> = true;
template <class T>
inline constexpr bool is_outcome<std::expected<T, error>> = true;
#endif

template <class T>
concept result_value =
    std::is_object_v<T> && !std::is_array_v<T> && std::same_as<T, std::remove_cv_t<T>> &&
    std::destructible<T> && !is_failure<T> && !std::same_as<T, error> &&
    !std::same_as<T, std::in_place_t>;

// What may become the value of a result<T> by itself: a T, or else no tag and no outcome.
template <class U, class T>
concept plain_value =
    (std::same_as<std::remove_cvref_t<U>, T> || !is_outcome<std::remove_cvref_t<U>>) &&
    !std::same_as<std::remove_cvref_t<U>, std::in_place_t> && std::constructible_from<T, U>;

// A result<U> converts by its value. Where T could be made of the whole result as well (std::any,
// std::optional<bool>) it is not guessed which was meant; a bool is always the value's.
template <class U, class T>
concept other_result =
    is_result<std::remove_cvref_t<U>> && !std::same_as<std::remove_cvref_t<U>, result<T>> &&
    (std::same_as<T, bool> || !std::constructible_from<T, U>);

template <class A, class B>
concept equality_comparable_values = requires(A const& a, B const& b) {
  { a == b } -> std::convertible_to<bool>;
};

// Integers are compared as numbers: -1 is not the largest unsigned one.
template <class A, class B>
constexpr bool equal_values(A const& a, B const& b) {
  if constexpr (std::integral<A> && std::integral<B> && std::signed_integral<A> &&
                !std::signed_integral<B>) {
    return a >= 0 && static_cast<std::make_unsigned_t<A>>(a) == b;
  } else if constexpr (std::integral<A> && std::integral<B> && std::signed_integral<B> &&
                       !std::signed_integral<A>) {
    return equal_values(b, a);
  } else {
    return static_cast<bool>(a == b);
  }
}

template <class T, class F, class... Args>
concept returns = std::same_as<std::remove_cvref_t<std::invoke_result_t<F, Args...>>, T>;

struct made_by {};  // the constructor that takes a call, so that its prvalue needs no move

}  // namespace detail

/// A `T`, or an `error`. `T` is an object type that is not itself an error.
///
/// `*r` and `r->` require a value, `error()` requires none; `value()` throws `failed` instead.
/// Copies, moves and destruction are trivial where those of `T` are.
template <class T>
class [[nodiscard]] result {
  static_assert(detail::result_value<T>,
                "result<T> holds an object type without const, and T is not an error type; for a "
                "reference take a pointer");

  static constexpr bool trivially_copied = std::is_trivially_copy_constructible_v<T> &&
                                           std::is_trivially_copy_assignable_v<T> &&
                                           std::is_trivially_destructible_v<T>;
  static constexpr bool trivially_moved = std::is_trivially_move_constructible_v<T> &&
                                          std::is_trivially_move_assignable_v<T> &&
                                          std::is_trivially_destructible_v<T>;
  static constexpr bool nothrow_moved =
      std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;

 public:
  using value_type = T;
  using error_type = keyspan::error;
  using unexpected_type = unexpected;
  template <class U>
  using rebind = result<U>;

  constexpr result() noexcept(std::is_nothrow_default_constructible_v<T>)
    requires std::default_initializable<T>
      : value_(), has_value_{true} {}

  /// Succeeds with `value`.
  template <class U = T>
    requires detail::plain_value<U, T>
  constexpr explicit(!std::convertible_to<U, T>)
      result(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>)
      : value_(static_cast<T>(std::forward<U>(value))), has_value_{true} {}

  /// Succeeds with a value made in place.
  template <class... Args>
    requires std::constructible_from<T, Args...>
  constexpr explicit result(std::in_place_t,
                            Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>)
      : value_(std::forward<Args>(args)...), has_value_{true} {}
  template <class U, class... Args>
    requires std::constructible_from<T, std::initializer_list<U>&, Args...>
  constexpr explicit result(std::in_place_t, std::initializer_list<U> list, Args&&... args)
      : value_(list, std::forward<Args>(args)...), has_value_{true} {}

  /// Fails; see `fail`.
  constexpr result(unexpected const& failure) noexcept : error_{failure.error()} {}

  /// The same outcome, its value converted.
  template <detail::other_result<T> Other>
    requires std::constructible_from<T, decltype(*std::declval<Other>())>
  constexpr explicit(!std::convertible_to<decltype(*std::declval<Other>()), T>)
      result(Other&& other)
      : result{from_other{}, std::forward<Other>(other)} {}

  constexpr result(result const&)
    requires std::is_trivially_copy_constructible_v<T>
  = default;
  constexpr result(result const& other) noexcept(std::is_nothrow_copy_constructible_v<T>)
    requires(std::copy_constructible<T> && !std::is_trivially_copy_constructible_v<T>)
      : result{from_other{}, other} {}

  constexpr result(result&&)
    requires std::is_trivially_move_constructible_v<T>
  = default;
  constexpr result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
    requires(std::move_constructible<T> && !std::is_trivially_move_constructible_v<T>)
      : result{from_other{}, std::move(other)} {}

  constexpr ~result()
    requires std::is_trivially_destructible_v<T>
  = default;
  constexpr ~result()
    requires(!std::is_trivially_destructible_v<T>)
  {
    if (has_value_) std::destroy_at(std::addressof(value_));
  }

  constexpr result& operator=(result const&)
    requires trivially_copied
  = default;
  constexpr result& operator=(result const& other)
    requires(std::copyable<T> && !trivially_copied)
  {
    return other.has_value_ ? assign_value(other.value_) : assign_error(other.error_);
  }
  constexpr result& operator=(result&&)
    requires trivially_moved
  = default;
  constexpr result& operator=(result&& other) noexcept(nothrow_moved)
    requires(std::movable<T> && !trivially_moved)
  {
    return other.has_value_ ? assign_value(std::move(other.value_)) : assign_error(other.error_);
  }
  template <class U = T>
    requires(detail::plain_value<U, T> && std::assignable_from<T&, U>)
  constexpr result& operator=(U&& value) {
    return assign_value(std::forward<U>(value));
  }
  constexpr result& operator=(unexpected const& failure) { return assign_error(failure.error()); }

  /// Replaces what is held by a value made from `args`, which do not refer into this result. Where
  /// making it throws, nothing changes.
  template <class... Args>
    requires(std::is_nothrow_constructible_v<T, Args...> ||
             (std::constructible_from<T, Args...> && std::movable<T>))
  constexpr T& emplace(Args&&... args) {
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
      if (has_value_) std::destroy_at(std::addressof(value_));
      std::construct_at(std::addressof(value_), std::forward<Args>(args)...);
      has_value_ = true;
    } else {
      assign_value(T(std::forward<Args>(args)...));
    }
    return value_;
  }

  constexpr void swap(result& other) noexcept(nothrow_moved && std::is_nothrow_swappable_v<T>)
    requires std::movable<T>
  {
    if (has_value_ && other.has_value_) {
      std::ranges::swap(value_, other.value_);
    } else if (has_value_) {
      give_value_to(other);
    } else if (other.has_value_) {
      other.give_value_to(*this);
    } else {
      std::ranges::swap(error_, other.error_);
    }
  }
  friend constexpr void swap(result& a, result& b) noexcept(noexcept(a.swap(b)))
    requires std::movable<T>
  {
    a.swap(b);
  }

  constexpr bool has_value() const noexcept { return has_value_; }
  constexpr explicit operator bool() const noexcept { return has_value_; }

  /// The value. Requires one.
  constexpr T& operator*() & { return expects_value(), value_; }
  constexpr T const& operator*() const& { return expects_value(), value_; }
  constexpr T&& operator*() && { return expects_value(), std::move(value_); }
  constexpr T const&& operator*() const&& { return expects_value(), std::move(value_); }
  constexpr T* operator->() { return expects_value(), std::addressof(value_); }
  constexpr T const* operator->() const { return expects_value(), std::addressof(value_); }

  /// The value; where there is none, throws `failed` with the error.
  constexpr T& value() & { return throw_unless_value(), value_; }
  constexpr T const& value() const& { return throw_unless_value(), value_; }
  constexpr T&& value() && { return throw_unless_value(), std::move(value_); }
  constexpr T const&& value() const&& { return throw_unless_value(), std::move(value_); }

  /// The error. Requires that there is no value.
  constexpr keyspan::error const& error() const {
    expects(!has_value_, "error() is asked where there is no value, and here is one");
    return error_;
  }

  /// The value, or `other` in its place.
  template <class U = T>
    requires(std::copy_constructible<T> && std::convertible_to<U, T>)
  constexpr T value_or(U&& other) const& {
    return has_value_ ? value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U = T>
    requires(std::move_constructible<T> && std::convertible_to<U, T>)
  constexpr T value_or(U&& other) && {
    return has_value_ ? std::move(value_) : static_cast<T>(std::forward<U>(other));
  }
  /// The error, or `other` where there is a value.
  constexpr keyspan::error error_or(keyspan::error const& other) const {
    return has_value_ ? other : error_;
  }

  /// `next(value)`, itself a result; an error goes past it.
  template <class F>
  constexpr auto and_then(F&& next) & {
    return and_then_of(*this, std::forward<F>(next));
  }
  template <class F>
  constexpr auto and_then(F&& next) const& {
    return and_then_of(*this, std::forward<F>(next));
  }
  template <class F>
  constexpr auto and_then(F&& next) && {
    return and_then_of(std::move(*this), std::forward<F>(next));
  }

  /// A result of `f(value)`; an error goes past it.
  template <class F>
  constexpr auto transform(F&& f) & {
    return transform_of(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform(F&& f) const& {
    return transform_of(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform(F&& f) && {
    return transform_of(std::move(*this), std::forward<F>(f));
  }

  /// This result, or in place of an error what `recover(error)` returns, itself a `result<T>`.
  template <class F>
    requires(std::copy_constructible<T> && detail::returns<result, F, keyspan::error const&>)
  constexpr result or_else(F&& recover) const& {
    return has_value_ ? *this : std::invoke(std::forward<F>(recover), error_);
  }
  template <class F>
    requires(std::move_constructible<T> && detail::returns<result, F, keyspan::error const&>)
  constexpr result or_else(F&& recover) && {
    return has_value_ ? std::move(*this) : std::invoke(std::forward<F>(recover), error_);
  }

  /// The same value, or `f(error)` as the error.
  template <class F>
    requires(std::copy_constructible<T> &&
             detail::returns<keyspan::error, F, keyspan::error const&>)
  constexpr result transform_error(F&& f) const& {
    if (has_value_) return *this;
    return unexpected{std::invoke(std::forward<F>(f), error_)};
  }
  template <class F>
    requires(std::move_constructible<T> &&
             detail::returns<keyspan::error, F, keyspan::error const&>)
  constexpr result transform_error(F&& f) && {
    if (has_value_) return std::move(*this);
    return unexpected{std::invoke(std::forward<F>(f), error_)};
  }

#if KEYSPAN_STD_EXPECTED
  template <class Other>
    requires(std::same_as<std::remove_cvref_t<Other>, std::expected<T, keyspan::error>> &&
             std::constructible_from<T, decltype(*std::declval<Other>())>)
  constexpr result(Other&& other) : result{from_other{}, std::forward<Other>(other)} {}
  constexpr result(std::unexpected<keyspan::error> const& other) noexcept : error_{other.error()} {}
  constexpr operator std::expected<T, keyspan::error>() const&
    requires std::copy_constructible<T>
  {
    if (has_value_) return std::expected<T, keyspan::error>{std::in_place, value_};
    return std::unexpected{error_};
  }
  constexpr operator std::expected<T, keyspan::error>() &&
    requires std::move_constructible<T>
  {
    if (has_value_) return std::expected<T, keyspan::error>{std::in_place, std::move(value_)};
    return std::unexpected{error_};
  }
#endif

 private:
  template <class>
  friend class result;

  template <class F, class... Args>
  constexpr result(detail::made_by, F&& f, Args&&... args)
      : value_(std::invoke(std::forward<F>(f), std::forward<Args>(args)...)), has_value_{true} {}

  struct from_other {};

  template <class Other>
  constexpr result(from_other, Other&& other) {
    if (other.has_value()) {
      std::construct_at(std::addressof(value_), *std::forward<Other>(other));
      has_value_ = true;
    } else {
      std::construct_at(std::addressof(error_), other.error());
    }
  }

  constexpr void expects_value() const {
    if (!has_value_) [[unlikely]]
      detail::value_is_missing(error_);
  }
  constexpr void throw_unless_value() const {
    if (!has_value_) [[unlikely]]
      detail::throw_failed(error_);
  }

  template <class U>
  constexpr result& assign_value(U&& value) {
    if (has_value_) {
      if constexpr (std::is_arithmetic_v<T>) {
        value_ = static_cast<T>(std::forward<U>(value));
      } else {
        value_ = std::forward<U>(value);
      }
    } else if constexpr (std::move_constructible<T>) {
      // Made aside first: `value` may be a part of the error.
      T made = static_cast<T>(std::forward<U>(value));
      construct_over_error(std::move(made));
    } else {
      construct_over_error(std::forward<U>(value));
    }
    return *this;
  }

  // Where the construction throws, the error is put back.
  template <class U>
  constexpr void construct_over_error(U&& value) {
    if constexpr (std::is_nothrow_constructible_v<T, U> || !KEYSPAN_EXCEPTIONS) {
      std::construct_at(std::addressof(value_), std::forward<U>(value));
    } else {
#if KEYSPAN_EXCEPTIONS
      keyspan::error const kept = error_;
      try {
        std::construct_at(std::addressof(value_), std::forward<U>(value));
      } catch (...) {
        std::construct_at(std::addressof(error_), kept);
        throw;
      }
#endif
    }
    has_value_ = true;
  }

  constexpr void give_value_to(result& failed) {
    keyspan::error const kept = failed.error_;
    failed.construct_over_error(std::move(value_));
    assign_error(kept);
  }

  constexpr result& assign_error(keyspan::error const& error) {
    if (has_value_) {
      keyspan::error const copy = error;  // it may live in the value that goes
      std::destroy_at(std::addressof(value_));
      std::construct_at(std::addressof(error_), copy);
      has_value_ = false;
    } else {
      error_ = error;
    }
    return *this;
  }

  template <class Self, class F>
  static constexpr auto and_then_of(Self&& self, F&& next) {
    using next_result =
        std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::declval<Self>())>>;
    static_assert(detail::is_result<next_result>,
                  "and_then takes a function that returns a result");
    if (!self.has_value_) return next_result(unexpected{self.error_});
    return static_cast<next_result>(std::invoke(std::forward<F>(next), *std::forward<Self>(self)));
  }

  template <class Self, class F>
  static constexpr auto transform_of(Self&& self, F&& f) {
    using U = std::remove_cv_t<std::invoke_result_t<F, decltype(*std::declval<Self>())>>;
    if (!self.has_value_) return result<U>{unexpected{self.error_}};
    if constexpr (std::is_void_v<U>) {
      std::invoke(std::forward<F>(f), *std::forward<Self>(self));
      return result<U>{};
    } else {
      return result<U>(detail::made_by{}, std::forward<F>(f), *std::forward<Self>(self));
    }
  }

  union {
    T value_;
    keyspan::error error_;
  };
  bool has_value_ = false;
};

// Not friends: a value that converts to a result is compared as a value, and asking whether it can
// be does not end in asking the same again.
template <class T, class U>
  requires detail::equality_comparable_values<T, U>
constexpr bool operator==(result<T> const& a, result<U> const& b) {
  if (a.has_value() != b.has_value()) return false;
  return a.has_value() ? detail::equal_values(*a, *b) : a.error() == b.error();
}
template <class T, class U>
  requires(!detail::is_result<U> && detail::equality_comparable_values<T, U>)
constexpr bool operator==(result<T> const& a, U const& b) {
  return a.has_value() && detail::equal_values(*a, b);
}
template <class T>
constexpr bool operator==(result<T> const& a, unexpected const& b) {
  return !a.has_value() && a.error() == b.error();
}

/// Success without a value, or an `error`.
template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;
  using error_type = keyspan::error;
  using unexpected_type = unexpected;
  template <class U>
  using rebind = result<U>;

  constexpr result() noexcept : nothing_{} {}
  constexpr explicit result(std::in_place_t) noexcept : result{} {}
  constexpr result(unexpected const& failure) noexcept
      : error_{failure.error()}, has_value_{false} {}

  constexpr void emplace() noexcept { *this = result{}; }
  friend constexpr void swap(result& a, result& b) noexcept {
    result const held = a;
    a = b;
    b = held;
  }

  constexpr bool has_value() const noexcept { return has_value_; }
  constexpr explicit operator bool() const noexcept { return has_value_; }
  constexpr void operator*() const {
    if (!has_value_) [[unlikely]]
      detail::value_is_missing(error_);
  }
  constexpr void value() const {
    if (!has_value_) [[unlikely]]
      detail::throw_failed(error_);
  }
  constexpr keyspan::error const& error() const {
    expects(!has_value_, "error() is asked where there is no value, and here is one");
    return error_;
  }
  constexpr keyspan::error error_or(keyspan::error const& other) const {
    return has_value_ ? other : error_;
  }

  template <class F>
  constexpr auto and_then(F&& next) const {
    using next_result = std::remove_cvref_t<std::invoke_result_t<F>>;
    static_assert(detail::is_result<next_result>,
                  "and_then takes a function that returns a result");
    if (!has_value_) return next_result(unexpected{error_});
    return static_cast<next_result>(std::invoke(std::forward<F>(next)));
  }
  template <class F>
  constexpr auto transform(F&& f) const {
    using U = std::remove_cv_t<std::invoke_result_t<F>>;
    if (!has_value_) return result<U>{unexpected{error_}};
    if constexpr (std::is_void_v<U>) {
      std::invoke(std::forward<F>(f));
      return result<U>{};
    } else {
      return result<U>(detail::made_by{}, std::forward<F>(f));
    }
  }
  template <class F>
    requires detail::returns<result, F, keyspan::error const&>
  constexpr result or_else(F&& recover) const {
    return has_value_ ? *this : std::invoke(std::forward<F>(recover), error_);
  }
  template <class F>
    requires detail::returns<keyspan::error, F, keyspan::error const&>
  constexpr result transform_error(F&& f) const {
    if (has_value_) return *this;
    return unexpected{std::invoke(std::forward<F>(f), error_)};
  }

  friend constexpr bool operator==(result const& a, result const& b) {
    return a.has_value_ == b.has_value_ && (a.has_value_ || a.error_ == b.error_);
  }
  friend constexpr bool operator==(result const& a, unexpected const& b) {
    return !a.has_value_ && a.error_ == b.error();
  }

#if KEYSPAN_STD_EXPECTED
  constexpr result(std::expected<void, keyspan::error> const& other) : result{} {
    if (!other.has_value()) *this = unexpected{other.error()};
  }
  constexpr result(std::unexpected<keyspan::error> const& other) noexcept
      : error_{other.error()}, has_value_{false} {}
  constexpr operator std::expected<void, keyspan::error>() const {
    if (has_value_) return {};
    return std::unexpected{error_};
  }
#endif

 private:
  struct nothing {};
  union {
    nothing nothing_;
    keyspan::error error_;
  };
  bool has_value_ = true;
};

}  // namespace keyspan
