// test/range/owned_range_test.cpp — a range, and whose it is.
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace {

using keyspan::owned_range;
using keyspan::space_end;
using keyspan::token_range;
using test::check;

TEST_CASE("the example of owned ranges reads as it should") {
  // [region: example]
  auto const [low, high] =
      keyspan::split(keyspan::whole_space(keyspan::cosmos_v2), {0x2000'0000'0000'0000, 0});
  std::vector<keyspan::owned_range<keyspan::token128, std::string>> const partitions{
      {low, "ams-1"}, {high, "fra-1"}};
  auto const& [range, node] = partitions[1];
  check(range.contains({0x3000'0000'0000'0000, 0}) && node == "fra-1");
  // [end: example]
}

constexpr bool owned_ranges_are_compared_as_two() {
  owned_range<int, char> const one{{0, 4}, 'a'};
  check(one == owned_range{token_range{0, 4}, 'a'});
  check(one != owned_range{token_range{0, 4}, 'b'});
  check(one != owned_range{token_range{0, 5}, 'a'});
  check(one != owned_range<int, char>{{0, space_end}, 'a'});
  return true;
}
CHECK_BOTH(owned_ranges_are_compared_as_two);

// What owns a range need not be comparable.
struct handle {};

TEST_CASE("an owned range is a plain pair of a range and a value") {
  STATIC_CHECK(
      std::is_same_v<decltype(owned_range{token_range{0, 4}, 'a'}), owned_range<int, char>>);
  STATIC_CHECK(std::is_aggregate_v<owned_range<int, char>>);
  STATIC_CHECK(std::is_trivially_copyable_v<owned_range<int, char>>);
  owned_range const held{token_range{0, 4}, handle{}};
  CHECK(held.range == token_range{0, 4});
}

}  // namespace
