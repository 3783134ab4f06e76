// test/support/contracts.hpp — broken promises as something a test can look at.
#pragma once

#include <keyspan/core/contract.hpp>

#include <string>

namespace test {

/// What the handler of this scope throws.
struct broken_promise {
  std::string promise;
  std::source_location where;
};

/// While it lives, a broken promise throws `broken_promise` instead of ending the program.
class throwing_contracts {
 public:
  throwing_contracts()
      : before_{keyspan::set_contract_handler([](keyspan::violation const& broken) {
          throw broken_promise{broken.promise, broken.where};
        })} {}
  ~throwing_contracts() { keyspan::set_contract_handler(before_); }
  throwing_contracts(throwing_contracts const&) = delete;
  throwing_contracts& operator=(throwing_contracts const&) = delete;

 private:
  keyspan::contract_handler before_;
};

/// The promise that `action` breaks, or nothing where it breaks none.
template <class Action>
std::string promise_broken_by(Action&& action) {
  throwing_contracts const scope;
  try {
    static_cast<void>(action());
  } catch (broken_promise const& broken) {
    return broken.promise;
  }
  return {};
}

}  // namespace test
