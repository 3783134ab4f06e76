// test/range/partition_test.cpp — the entries of a list of who owns what.
#include <keyspan/core/text.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/partition.hpp>

#include <support/check.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace {

using keyspan::partition;
using keyspan::token_range;
using test::check;

TEST_CASE("the example of partition reads as it should") {
  // [region: example]
  auto const middle = *keyspan::cosmos_v2.from_hex("20");
  auto const upper_half = keyspan::partition<keyspan::token128>{
      .id = "3", .range = {middle, keyspan::space_end}, .parents = {"1"}};
  check(keyspan::to_text(upper_half) == "3 [20000000000000000000000000000000, FF)");
  // [end: example]
}

TEST_CASE("a partition is equal to one of the same id, range and parents") {
  partition<int> const one{"4", {10, 20}, {"1", "3"}};
  CHECK(one ==
        partition{std::string{"4"}, token_range{10, 20}, std::vector<std::string>{"1", "3"}});
  CHECK(one != partition<int>{"5", {10, 20}, {"1", "3"}});
  CHECK(one != partition<int>{"4", {10, 21}, {"1", "3"}});
  CHECK(one != partition<int>{"4", {10, 20}, {"3", "1"}});
  STATIC_CHECK(std::is_aggregate_v<partition<int>>);
}

TEST_CASE("a partition whose bounds begin alike is printed so that they can be told apart") {
  std::string const tenant(52, '3');
  partition<keyspan::token_multihash> const one{
      "4",
      {*keyspan::cosmos_multihash.from_hex(tenant + "00000000000A"),
       *keyspan::cosmos_multihash.from_hex(tenant + "00000000000B")}};
  CHECK(keyspan::to_text(one) ==
        "4 [333333333333\xE2\x80\xA6"
        "00000000A, 333333333333\xE2\x80\xA6"
        "00000000B)");
}

TEST_CASE("a partition is printed as its id and its range, cut where they are long") {
  CHECK(keyspan::to_text(partition<int>{"4", {10, 20}, {"1"}}) == "4 [10, 20)");
  CHECK(keyspan::to_text(partition<int>{std::string(500, 'x'), {10, 20}, {}}).is_cut());
}

}  // namespace
