// test/core/contract_test.cpp — a broken promise reaches the handler with its sentence and its
// place.
#include <keyspan/core/contract.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <source_location>
#include <string_view>

namespace {

constexpr bool a_kept_promise_costs_nothing_to_state() {
  keyspan::expects(true, "this is so");
  return true;
}
CHECK_BOTH(a_kept_promise_costs_nothing_to_state);

// [region: example]
/// Requires `parts` to be positive.
constexpr int share_of(int whole, int parts,
                       std::source_location where = std::source_location::current()) {
  keyspan::expects(parts > 0, "there is at least one part", where);
  return whole / parts;
}
// [end: example]
static_assert(share_of(12, 3) == 4);

TEST_CASE("the handler hears the sentence and the caller's place") {
  test::throwing_contracts const scope;
  unsigned line = 0;
  try {
    line = std::source_location::current().line() + 1;
    static_cast<void>(share_of(12, 0));
    FAIL("a broken promise passed");
  } catch (test::broken_promise const& broken) {
    CHECK(broken.promise == "there is at least one part");
    CHECK(broken.where.line() == line);
    CHECK(std::string_view{broken.where.file_name()}.ends_with("contract_test.cpp"));
  }
}

TEST_CASE("setting a handler returns the one before it, and null means the printing one") {
  static constexpr keyspan::contract_handler silent = [](keyspan::violation const&) {};
  auto const first = keyspan::set_contract_handler(silent);
  CHECK(keyspan::set_contract_handler(nullptr) == silent);
  CHECK(keyspan::set_contract_handler(first) == &keyspan::print_violation);
  CHECK(first == &keyspan::print_violation);
}

TEST_CASE("printing a violation does not end the program by itself") {
  keyspan::print_violation({"this line belongs to a test", std::source_location::current()});
  SUCCEED();
}

}  // namespace
