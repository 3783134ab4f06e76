// keyspan/core/contract.hpp — promises a caller makes, and what happens when one is broken.
//
// A broken promise is a bug in the calling program, never a state of the world, so it is not an
// error to return: the handler hears of it and the program ends. In a constant expression it does
// not compile. NDEBUG changes nothing.
#pragma once

#include <keyspan/core/version.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace keyspan {

/// A promise that was not kept, and where that was found.
struct violation {
  char const* promise;  ///< the sentence that should have been true
  std::source_location where;
};

/// Hears of a broken promise. It may throw (tests do); when it returns the program is aborted.
using contract_handler = void (*)(violation const&);

/// Prints the violation to standard error; the handler in place until another one is set.
inline void print_violation(violation const& broken) noexcept {
  std::fprintf(stderr, "keyspan: broken promise: %s\n  %s:%u: in %s\n", broken.promise,
               broken.where.file_name(), static_cast<unsigned>(broken.where.line()),
               broken.where.function_name());
}

namespace detail {

inline std::atomic<contract_handler> current_contract_handler{&print_violation};

// Not constexpr on purpose: a constant expression that gets here does not compile.
[[noreturn]] inline void promise_broken(char const* promise, std::source_location where) {
  current_contract_handler.load(std::memory_order_acquire)(violation{promise, where});
  std::abort();
}

}  // namespace detail

/// Installs `handler` for the whole program and returns the one before it. Null means
/// `print_violation`. Safe to call from any thread.
inline contract_handler set_contract_handler(contract_handler handler) noexcept {
  return detail::current_contract_handler.exchange(handler ? handler : &print_violation,
                                                   std::memory_order_acq_rel);
}

/// States what the caller promised: `expects(!range.empty(), "a token range holds a token")`.
/// Where `kept` is false the handler is called with the sentence and the caller's place.
constexpr void expects(bool kept, char const* promise,
                       std::source_location where = std::source_location::current()) {
  if (!kept) [[unlikely]]
    detail::promise_broken(promise, where);
}

}  // namespace keyspan
