// test/hash/jump_test.cpp — the published values, and every token as nodes join one after another.
#include <keyspan/hash/jump.hpp>

#include <golden/placement.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using keyspan::jump;
using keyspan::jump_hash;
using test::check;

constexpr bool the_function_gives_the_published_values() {
  for (auto const& [key, nodes, node] : test::published_jumps) check(jump_hash(key, nodes) == node);
  for (auto const& [key, nodes, node] : test::reckoned_jumps) check(jump_hash(key, nodes) == node);
  return true;
}
CHECK_BOTH(the_function_gives_the_published_values);

// The formula as it was published, in doubles throughout.
constexpr std::uint64_t published_target(std::uint64_t node, std::uint64_t draw) {
  return static_cast<std::uint64_t>(
      static_cast<double>(node) *
      (static_cast<double>(std::uint64_t{1} << 31) / static_cast<double>(draw)));
}
constexpr bool same_target(std::uint64_t node, std::uint64_t draw) {
  std::uint64_t const published = published_target(node, draw);
  std::uint64_t const target = keyspan::detail::jump_target(node, draw);
  return target == published || (target >> 31 != 0 && published >> 31 != 0);
}

// Quotients that are integers are where a double may be rounded to either side.
constexpr bool whole_numbers_jump_where_doubles_do() {
  for (std::uint64_t node = 1; node < 60; ++node)
    for (std::uint64_t draw = 1; draw < 60; ++draw)
      for (int shift = 0; shift < 26; shift += 5) check(same_target(node, draw << shift));
  check(same_target(0x7FFF'FFFF, 1) && same_target(0x7FFF'FFFF, std::uint64_t{1} << 31));
  check(same_target(1, 1) && same_target(1, std::uint64_t{1} << 31));
  return true;
}
CHECK_BOTH(whole_numbers_jump_where_doubles_do);

TEST_CASE("jumps of any length are those of doubles") {
  test::random random{4};
  for (int i = 0; i < 2'000'000; ++i) {
    auto const node = 1 + (random() >> (33 + random.below(31)));
    auto const draw = 1 + (random() >> (33 + random.below(31)));
    if (!same_target(node, draw)) FAIL("node " << node << ", draw " << draw);
    // And beside an integer: node * 2^31 / draw is as near to `near` as it can be.
    auto const near = 1 + random.below(0x7FFF'FFFE);
    auto const beside = (node << 31) / near;
    for (std::uint64_t by = 0; by < 2; ++by)
      if (beside + by > 0 && beside + by <= std::uint64_t{1} << 31 &&
          !same_target(node, beside + by))
        FAIL("node " << node << ", draw " << beside + by);
  }
}

constexpr bool a_placement_mixes_the_token_first() {
  for (auto const& [key, nodes, node] : test::published_jumps)
    check(jump{nodes}.node_of(key) == jump_hash(keyspan::placement_key(key), nodes));
  check(jump{100}.node_of(keyspan::token128{7, 0}) == jump{100}.node_of(7));
  return true;
}
CHECK_BOTH(a_placement_mixes_the_token_first);

TEST_CASE("the example of jump reads as it should") {
  // [region: example]
  auto const ten = keyspan::jump{10};
  auto const eleven = keyspan::jump{11};
  std::size_t moved = 0;
  for (std::uint64_t token = 0; token < 11'000; ++token) {
    if (eleven.node_of(token) == ten.node_of(token)) continue;
    check(eleven.node_of(token) == 10);  // the node that joined
    ++moved;
  }
  check(moved > 900 && moved < 1'100);  // and an eleventh of the tokens is its share
  // [end: example]
}

constexpr bool a_token_stays_or_goes_to_the_node_that_joins() {
  test::random random{2};
  for (int i = 0; i < 30; ++i) {
    std::uint64_t const token = i < 10 ? static_cast<std::uint64_t>(i) : random();
    auto before = jump{1}.node_of(token);
    check(before == 0);
    for (std::uint32_t nodes = 2; nodes <= 60; ++nodes) {
      auto const after = jump{nodes}.node_of(token);
      check(after == before || after == nodes - 1);
      before = after;
    }
  }
  return true;
}
CHECK_BOTH(a_token_stays_or_goes_to_the_node_that_joins);

TEST_CASE("there may be as many nodes as the function was published for") {
  jump const most{0x7FFF'FFFF};
  CHECK(most.node_count() == 0x7FFF'FFFF);
  std::uint64_t upper_half = 0;
  for (std::uint64_t token = 0; token < 1'000; ++token) {
    auto const node = most.node_of(token);
    CHECK(node < 0x7FFF'FFFF);
    upper_half += node >> 30;
  }
  CHECK((upper_half > 400 && upper_half < 600));
  CHECK(jump_hash(0, 0x7FFF'FFFF) == 0);
}

TEST_CASE("no node, or more than the function is for, break a promise") {
  CHECK(test::promise_broken_by([] { return jump{0}; }) == "a placement has one node at least");
  CHECK(test::promise_broken_by([] { return jump_hash(1, 0); }) ==
        "a placement has one node at least");
  CHECK(test::promise_broken_by([] { return jump{0x8000'0000}; }) ==
        "jump hash is published for less than 2^31 nodes");
  CHECK(test::promise_broken_by([] { return jump_hash(1, 0x8000'0000); }) ==
        "jump hash is published for less than 2^31 nodes");
}

constexpr bool placements_among_as_many_nodes_are_equal() {
  check(jump{7} == jump{7} && jump{7} != jump{8});
  check(jump{std::size_t{7}}.node_count() == 7);
  return true;
}
CHECK_BOTH(placements_among_as_many_nodes_are_equal);

TEST_CASE("a jump is a number and allocates nothing") {
  STATIC_CHECK(sizeof(jump) == 4 && std::is_trivially_copyable_v<jump>);
  constexpr jump three{3};
  STATIC_CHECK(noexcept(three.node_of(7)) && noexcept(three.node_count()));
  STATIC_CHECK(!std::is_convertible_v<int, jump>);
  CHECK(test::allocations_in([] { static_cast<void>(jump{100}.node_of(7)); }) == 0);
}

}  // namespace
