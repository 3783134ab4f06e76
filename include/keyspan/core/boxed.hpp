// keyspan/core/boxed.hpp — an optional value in memory of its own: where it is not there it takes
// the place of a pointer.
#pragma once

#include <keyspan/core/contract.hpp>

#include <memory>
#include <utility>

namespace keyspan::detail {

// For what is large and rarely there, in objects of which there are many. Copies are independent.
template <class T>
class boxed {
 public:
  boxed() noexcept = default;
  boxed(boxed const& other) : value_{other ? std::make_unique<T>(*other) : nullptr} {}
  boxed(boxed&&) noexcept = default;
  boxed& operator=(boxed const& other) { return *this = boxed{other}; }
  boxed& operator=(boxed&&) noexcept = default;
  ~boxed() = default;

  template <class... Parts>
  T& emplace(Parts&&... parts) {
    value_ = std::make_unique<T>(std::forward<Parts>(parts)...);
    return *value_;
  }
  void reset() noexcept { value_.reset(); }

  explicit operator bool() const noexcept { return value_ != nullptr; }
  T& operator*() { return *operator->(); }
  T const& operator*() const { return *operator->(); }
  T* operator->() {
    expects(value_ != nullptr, "a boxed value is looked at where it is there");
    return value_.get();
  }
  T const* operator->() const {
    expects(value_ != nullptr, "a boxed value is looked at where it is there");
    return value_.get();
  }

 private:
  std::unique_ptr<T> value_{};
};

}  // namespace keyspan::detail
