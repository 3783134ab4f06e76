// test/law/finding_test.cpp — what a check says where a law holds, and where it does not.
#include <keyspan/law/finding.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <string>
#include <string_view>
#include <type_traits>

namespace {

using keyspan::law::finding;
using test::check;

constexpr bool the_example_reads_as_it_should() {
  // [region: example]
  auto const check_order = [](int a, int b) {
    if (a < b && b < a)
      return finding{"an order has one direction", a, " and ", b, " are less than each other"};
    return finding{};
  };
  check(static_cast<bool>(check_order(1, 2)));
  finding const broken{"an order has one direction", 1, " and ", 2};
  check(!broken);
  check(broken.text() == "broken law: an order has one direction; 1 and 2");
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_reads_as_it_should);

constexpr bool a_law_that_holds_has_nothing_to_say() {
  finding const holds;
  check(static_cast<bool>(holds) && holds.text().empty() && holds.to_text() == "the law holds");
  check(holds == finding{});
  return true;
}
CHECK_BOTH(a_law_that_holds_has_nothing_to_say);

constexpr bool a_broken_law_is_seen_whatever_it_is_called() {
  check(!finding{""} && finding{""}.text() == "broken law: one without a name");
  check(finding{"a"}.text() == "broken law: a" && finding{"a"}.to_text() == finding{"a"}.text());
  check(finding{"a"} != finding{"b"} && finding{"a"} != finding{});
  return true;
}
CHECK_BOTH(a_broken_law_is_seen_whatever_it_is_called);

TEST_CASE("a finding is never taken for a number, and never allocates") {
  STATIC_CHECK(!std::is_convertible_v<finding, bool> && std::is_constructible_v<bool, finding>);
  STATIC_CHECK(std::is_trivially_copyable_v<finding>);
  std::string const long_case(1000, 'x');
  CHECK(test::allocations_in([&] {
          finding const broken{"a law", long_case};
          finding const copy = broken;
          static_cast<void>(copy.to_text());
        }) == 0);
  CHECK(finding{"a law", long_case}.text().ends_with("\xE2\x80\xA6"));
}

}  // namespace
