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

// An error's text as a C string, for interfaces that know no other.
class c_text {
 public:
  explicit c_text(error const& error) noexcept {
    auto const text = error.to_text();
    static_assert(sizeof bytes_ > decltype(text)::capacity());
    bytes_[text.view().copy(bytes_, text.size())] = '\0';
  }
  char const* c_str() const noexcept { return bytes_; }

 private:
  char bytes_[513];
};

}  // namespace detail

#if KEYSPAN_EXCEPTIONS
/// What `result::value()` throws where there is no value, and the item loop of a feed on an error.
class failed : public std::exception {
 public:
  explicit failed(keyspan::error error) noexcept : error_{error}, what_{error} {}
  keyspan::error const& error() const noexcept { return error_; }
  char const* what() const noexcept override { return what_.c_str(); }

 private:
  keyspan::error error_;
  detail::c_text what_;
};
#endif

namespace detail {

[[noreturn]] inline void throw_failed(error const& error) {
#if KEYSPAN_EXCEPTIONS
  throw failed{error};
#else
  promise_broken(c_text{error}.c_str(), std::source_location::current());
#endif
}

template <class>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

template <class T>
concept result_value =
    std::is_object_v<T> && !std::is_array_v<T> && std::same_as<T, std::remove_cv_t<T>> &&
    std::destructible<T> && !std::same_as<T, unexpected> && !std::same_as<T, error> &&
    !std::same_as<T, std::in_place_t>;

// What may become the value of a result<T> by itself: no tag, no failure, no other result.
template <class U, class T>
concept plain_value =
    !is_result<std::remove_cvref_t<U>> && !std::same_as<std::remove_cvref_t<U>, std::in_place_t> &&
    !std::same_as<std::remove_cvref_t<U>, unexpected> && std::constructible_from<T, U>;

// A result<U> converts by its value, unless T would rather take the whole result (std::any, bool).
template <class U, class T>
concept other_result = is_result<std::remove_cvref_t<U>> &&
                       !std::same_as<std::remove_cvref_t<U>, result<T>> &&
                       !std::constructible_from<T, U>;

}  // namespace detail

/// A `T`, or an `error`. `T` is an object type that is not itself an error.
///
/// `*r` and `r->` require a value, `error()` requires none; `value()` throws `failed` instead. Copies,
/// moves and destruction are trivial where those of `T` are.
template <class T>
class [[nodiscard]] result {
  static_assert(detail::result_value<T>,
                "result<T> holds an object type without const, and T is not an error type");

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
      : value_(std::forward<U>(value)), has_value_{true} {}

  /// Succeeds with a value made in place.
  template <class... Args>
    requires std::constructible_from<T, Args...>
  constexpr explicit result(std::in_place_t,
                            Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>)
      : value_(std::forward<Args>(args)...), has_value_{true} {}

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

  /// Replaces what is held by a value made from `args`. Where making it throws, nothing changes.
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
    } else {
      result held{std::move(*this)};
      *this = std::move(other);
      other = std::move(held);
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
    expects(!has_value_, "error() is asked of a result that has one");
    return error_;
  }

  /// The value, or `other` in its place.
  template <class U>
    requires(std::copy_constructible<T> && std::convertible_to<U, T>)
  constexpr T value_or(U&& other) const& {
    return has_value_ ? value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
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
  constexpr auto and_then(F&& next) & { return and_then_of(*this, std::forward<F>(next)); }
  template <class F>
  constexpr auto and_then(F&& next) const& { return and_then_of(*this, std::forward<F>(next)); }
  template <class F>
  constexpr auto and_then(F&& next) && {
    return and_then_of(std::move(*this), std::forward<F>(next));
  }

  /// A result of `f(value)`; an error goes past it.
  template <class F>
  constexpr auto transform(F&& f) & { return transform_of(*this, std::forward<F>(f)); }
  template <class F>
  constexpr auto transform(F&& f) const& { return transform_of(*this, std::forward<F>(f)); }
  template <class F>
  constexpr auto transform(F&& f) && { return transform_of(std::move(*this), std::forward<F>(f)); }

  /// This result, or in place of an error what `recover(error)` returns, itself a `result<T>`.
  template <class F>
    requires std::same_as<std::remove_cvref_t<std::invoke_result_t<F, keyspan::error const&>>, result>
  constexpr result or_else(F&& recover) const& {
    return has_value_ ? *this : std::invoke(std::forward<F>(recover), error_);
  }
  template <class F>
    requires std::same_as<std::remove_cvref_t<std::invoke_result_t<F, keyspan::error const&>>, result>
  constexpr result or_else(F&& recover) && {
    return has_value_ ? std::move(*this) : std::invoke(std::forward<F>(recover), error_);
  }

  /// The same value, or `f(error)` as the error.
  template <class F>
    requires std::convertible_to<std::invoke_result_t<F, keyspan::error const&>, keyspan::error>
  constexpr result transform_error(F&& f) const& {
    if (has_value_) return *this;
    return unexpected{std::invoke(std::forward<F>(f), error_)};
  }
  template <class F>
    requires std::convertible_to<std::invoke_result_t<F, keyspan::error const&>, keyspan::error>
  constexpr result transform_error(F&& f) && {
    if (has_value_) return std::move(*this);
    return unexpected{std::invoke(std::forward<F>(f), error_)};
  }

  template <class U>
    requires requires(T const& a, U const& b) { { a == b } -> std::convertible_to<bool>; }
  friend constexpr bool operator==(result const& a, result<U> const& b) {
    if (a.has_value() != b.has_value()) return false;
    return a.has_value() ? static_cast<bool>(*a == *b) : a.error() == b.error();
  }
  template <class U>
    requires(!detail::is_result<U> && requires(T const& a, U const& b) {
      { a == b } -> std::convertible_to<bool>;
    })
  friend constexpr bool operator==(result const& a, U const& b) {
    return a.has_value() && static_cast<bool>(*a == b);
  }
  friend constexpr bool operator==(result const& a, unexpected const& b) {
    return !a.has_value() && a.error() == b.error();
  }

#if KEYSPAN_STD_EXPECTED
  constexpr result(std::expected<T, keyspan::error> other)
      : result{from_other{}, std::move(other)} {}
  constexpr result(std::unexpected<keyspan::error> const& other) noexcept
      : error_{other.error()} {}
  constexpr operator std::expected<T, keyspan::error>() const& {
    if (has_value_) return std::expected<T, keyspan::error>{std::in_place, value_};
    return std::unexpected{error_};
  }
  constexpr operator std::expected<T, keyspan::error>() && {
    if (has_value_) return std::expected<T, keyspan::error>{std::in_place, std::move(value_)};
    return std::unexpected{error_};
  }
#endif

 private:
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
    expects(has_value_, "a result is read where it has a value");
  }
  constexpr void throw_unless_value() const {
    if (!has_value_) [[unlikely]]
      detail::throw_failed(error_);
  }

  template <class U>
  constexpr result& assign_value(U&& value) {
    if (has_value_) {
      value_ = std::forward<U>(value);
    } else if constexpr (std::is_nothrow_constructible_v<T, U>) {
      std::construct_at(std::addressof(value_), std::forward<U>(value));
      has_value_ = true;
    } else {
      // Made aside first: the error is still there when this throws.
      T made(std::forward<U>(value));
      construct_over_error(std::move(made));
    }
    return *this;
  }

  constexpr void construct_over_error(T&& made) {
    if constexpr (std::is_nothrow_move_constructible_v<T> || !KEYSPAN_EXCEPTIONS) {
      std::construct_at(std::addressof(value_), std::move(made));
    } else {
#if KEYSPAN_EXCEPTIONS
      keyspan::error const kept = error_;
      try {
        std::construct_at(std::addressof(value_), std::move(made));
      } catch (...) {
        std::construct_at(std::addressof(error_), kept);
        throw;
      }
#endif
    }
    has_value_ = true;
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
    using next_result = std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::declval<Self>())>>;
    static_assert(detail::is_result<next_result>, "and_then takes a function that returns a result");
    if (self.has_value_) {
      return next_result{std::invoke(std::forward<F>(next), *std::forward<Self>(self))};
    }
    return next_result{unexpected{self.error_}};
  }

  template <class Self, class F>
  static constexpr auto transform_of(Self&& self, F&& f) {
    using U = std::remove_cv_t<std::invoke_result_t<F, decltype(*std::declval<Self>())>>;
    if (!self.has_value_) return result<U>{unexpected{self.error_}};
    if constexpr (std::is_void_v<U>) {
      std::invoke(std::forward<F>(f), *std::forward<Self>(self));
      return result<U>{};
    } else {
      return result<U>{std::in_place, std::invoke(std::forward<F>(f), *std::forward<Self>(self))};
    }
  }

  union {
    T value_;
    keyspan::error error_;
  };
  bool has_value_ = false;
};

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
  constexpr void operator*() const { expects(has_value_, "a result is read where it has a value"); }
  constexpr void value() const {
    if (!has_value_) [[unlikely]]
      detail::throw_failed(error_);
  }
  constexpr keyspan::error const& error() const {
    expects(!has_value_, "error() is asked of a result that has one");
    return error_;
  }
  constexpr keyspan::error error_or(keyspan::error const& other) const {
    return has_value_ ? other : error_;
  }

  template <class F>
  constexpr auto and_then(F&& next) const {
    using next_result = std::remove_cvref_t<std::invoke_result_t<F>>;
    static_assert(detail::is_result<next_result>, "and_then takes a function that returns a result");
    if (has_value_) return next_result{std::invoke(std::forward<F>(next))};
    return next_result{unexpected{error_}};
  }
  template <class F>
  constexpr auto transform(F&& f) const {
    using U = std::remove_cv_t<std::invoke_result_t<F>>;
    if (!has_value_) return result<U>{unexpected{error_}};
    if constexpr (std::is_void_v<U>) {
      std::invoke(std::forward<F>(f));
      return result<U>{};
    } else {
      return result<U>{std::in_place, std::invoke(std::forward<F>(f))};
    }
  }
  template <class F>
    requires std::same_as<std::remove_cvref_t<std::invoke_result_t<F, keyspan::error const&>>, result>
  constexpr result or_else(F&& recover) const {
    return has_value_ ? *this : std::invoke(std::forward<F>(recover), error_);
  }
  template <class F>
    requires std::convertible_to<std::invoke_result_t<F, keyspan::error const&>, keyspan::error>
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
