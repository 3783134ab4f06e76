// test/hash/rendezvous_test.cpp — the nodes that exact arithmetic names, and what moves when they
// change.
#include <keyspan/core/text.hpp>
#include <keyspan/hash/rendezvous.hpp>

#include <golden/placement.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::fail;
using keyspan::node_id;
using keyspan::node_index;
using keyspan::rendezvous;
using keyspan::weighted_node;
using test::check;

constexpr node_id numbered_name(std::size_t i) {
  return node_id{keyspan::inline_text<16>{"node-", i}};
}

template <class WeightOf>
constexpr rendezvous named_nodes(std::size_t count, WeightOf weight_of) {
  std::vector<weighted_node> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back({numbered_name(i), weight_of(i)});
  return *rendezvous::build(nodes);
}

constexpr bool places_as(rendezvous const& nodes, std::array<node_index, 32> const& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    check(nodes.node_of(test::placed_tokens[i]) == expected[i]);
  return true;
}

constexpr bool tokens_go_to_the_nodes_that_exact_arithmetic_names() {
  places_as({{"a", 1}, {"b", 2}, {"c", 3}}, test::rendezvous_three_names);
  places_as({{"alone", 7}}, test::rendezvous_one_node);
  places_as({{"heavy", 1e6}, {"light", 1}, {"lighter", 0.001}}, test::rendezvous_heavy_and_light);
  places_as(named_nodes(10, [](std::size_t) { return 1.0; }), test::rendezvous_ten_of_one_weight);
  return true;
}
CHECK_BOTH(tokens_go_to_the_nodes_that_exact_arithmetic_names);

TEST_CASE("tokens go to the nodes that exact arithmetic names, among many") {
  places_as(named_nodes(16, [](std::size_t i) { return i % 2 == 0 ? 1.0 : 2.0; }),
            test::rendezvous_two_weights);
  places_as(named_nodes(40, [](std::size_t i) { return 1 + static_cast<double>(i) / 4; }),
            test::rendezvous_all_weights_differ);
  auto const halved = [](std::size_t i) { return 1 / static_cast<double>(std::uint64_t{1} << i); };
  places_as(named_nodes(30, halved), test::rendezvous_weights_far_apart);
  std::vector<node_id> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(node_id{i});
  places_as(*rendezvous::build(numbers), test::rendezvous_numbers);
}

TEST_CASE("the example of rendezvous reads as it should") {
  // [region: example]
  auto const nodes = keyspan::rendezvous{{"ams-1", 1.0}, {"ams-2", 1.0}, {"fra-1", 2.0}};
  auto const fewer = keyspan::rendezvous{{"ams-1", 1.0}, {"fra-1", 2.0}};
  std::array<std::size_t, 3> counts{};
  for (std::uint64_t token = 0; token < 40'000; ++token) {
    auto const before = nodes.node_of(token);
    ++counts[before];
    // Without the one in the middle fra-1 stands at another place of the list, and keeps its
    // tokens.
    if (before != 1) check(fewer.node_of(token) == (before == 0 ? 0 : 1));
  }
  check(counts[0] > 9'500 && counts[0] < 10'500 && counts[2] > 19'500 && counts[2] < 20'500);

  std::vector<std::string> const names{"ams-1", "ams-2", "ams-1"};
  check(keyspan::rendezvous::build(names).error().to_text() ==
        "invalid_options: nodes 0 and 2 have the same name; name each node once");
  // [end: example]
}

// Every node leaves once, from every place.
constexpr bool a_node_that_leaves_moves_its_own_tokens_only() {
  for (bool const weighted : {false, true}) {
    std::vector<weighted_node> all;
    for (std::size_t i = 0; i < 5; ++i)
      all.push_back({numbered_name(i), weighted ? 0.5 + static_cast<double>(i * i) : 1.0});
    rendezvous const before = *rendezvous::build(all);
    for (std::size_t left = 0; left < all.size(); ++left) {
      auto fewer = all;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(left));
      rendezvous const after = *rendezvous::build(fewer);
      for (std::uint64_t token = 0; token < 10; ++token) {
        auto const from = before.node_of(token);
        if (from != left) check(after.node_of(token) == (from < left ? from : from - 1));
      }
    }
  }
  return true;
}
CHECK_BOTH(a_node_that_leaves_moves_its_own_tokens_only);

constexpr bool only_the_node_that_grows_heavier_takes_tokens() {
  rendezvous before{{"a"}, {"b"}, {"c"}, {"d"}};
  for (double const weight : {1.0001, 1.5, 3.0, 1e6, 1e100}) {
    rendezvous const after{{"a"}, {"b", weight}, {"c"}, {"d"}};
    for (std::uint64_t token = 0; token < 200; ++token) {
      auto const to = after.node_of(token);
      check(to == before.node_of(token) || to == 1);
      if (weight > 1e50) check(to == 1);
    }
    before = after;
  }
  return true;
}
CHECK_BOTH(only_the_node_that_grows_heavier_takes_tokens);

constexpr bool weights_count_beside_each_other_only() {
  rendezvous const ones{{"a", 1}, {"b", 2}, {"c", 8}};
  rendezvous const large{{"a", 0x1p300}, {"b", 0x1p301}, {"c", 0x1p303}};
  rendezvous const small{{"a", 0x1p-300}, {"b", 0x1p-299}, {"c", 0x1p-297}};
  for (std::uint64_t token = 0; token < 200; ++token) {
    check(large.node_of(token) == ones.node_of(token));
    check(small.node_of(token) == ones.node_of(token));
  }
  return true;
}
CHECK_BOTH(weights_count_beside_each_other_only);

// Two nodes share the tokens as their weights are, from one to one up to a thousand to one.
TEST_CASE("weights of any ratio are honoured") {
  for (double const weight : {1.0, 1.5, 4.0, 30.0, 1'000.0}) {
    rendezvous const nodes{{"a", weight}, {"b", 1.0}};
    double count = 0;
    for (std::uint64_t token = 0; token < 200'000; ++token) count += nodes.node_of(token);
    double const share = 200'000 / (weight + 1);
    CHECK(std::abs(count - share) < 5 * std::sqrt(share));
  }
}

// Once as few classes of equal weights and once as nodes of which none weighs what another does;
// more of them than are compared at a time.
TEST_CASE("it does not matter whether weights are alike or nearly so") {
  for (int const kinds : {1, 2}) {
    std::vector<weighted_node> alike;
    std::vector<weighted_node> nearly;
    for (int i = 0; i < 10'000; ++i) {
      double const weight = 1 + 2 * (i % kinds);
      alike.push_back({node_id{i}, weight});
      nearly.push_back({node_id{i}, weight + i * 1e-15});
    }
    auto const a = *rendezvous::build(alike);
    auto const b = *rendezvous::build(nearly);
    std::size_t differing = 0;
    node_index last = 0;
    for (std::uint64_t token = 0; token < 2'000; ++token) {
      if (a.node_of(token) != b.node_of(token)) ++differing;
      last = (std::max)(last, a.node_of(token));
    }
    CHECK(differing == 0);
    CHECK(last > 9'900);
  }
}

// The rules of the page, one node after another: the least draw wins, of equal ones that of the
// least seed.
node_index first_of_one_weight(std::vector<node_id> const& nodes, std::uint64_t key) {
  std::pair<std::uint64_t, std::uint64_t> least{};
  node_index winner = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto const seed = keyspan::placement_key(nodes[i].number() + 0x9E37'79B9'7F4A'7C15);
    std::uint64_t const x = (key ^ seed) * 0xBF58'476D'1CE4'E5B9;
    std::uint64_t const y = (x ^ x >> 32) * 0x94D0'49BB'1331'11EB;
    std::pair const draw{y >> 12, seed};
    if (i > 0 && !(draw < least)) continue;
    least = draw;
    winner = static_cast<node_index>(i);
  }
  return winner;
}

// 4096 are compared at a time.
TEST_CASE("among any count of nodes of one weight the least draw wins") {
  for (std::size_t const count : {4095u, 4096u, 4097u, 8192u, 8193u, 9000u}) {
    std::vector<node_id> nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(node_id{i});
    auto const placed = *rendezvous::build(nodes);
    std::size_t differing = 0;
    for (std::uint64_t token = 0; token < 150; ++token)
      differing +=
          placed.node_of(token) != first_of_one_weight(nodes, keyspan::placement_key(token));
    INFO(count << " nodes");
    CHECK(differing == 0);
  }
}

// Every step of a draw can be undone, so nodes can be made that draw the same.
constexpr std::uint64_t unmultiplied(std::uint64_t product, std::uint64_t by) {
  std::uint64_t inverse = by;  // three bits of it are right, and each step doubles them
  for (int i = 0; i < 5; ++i) inverse *= 2 - by * inverse;
  return product * inverse;
}

node_id node_that_draws(std::uint64_t word, std::uint64_t key) {
  std::uint64_t const y = unmultiplied(word, 0x94D0'49BB'1331'11EB);
  std::uint64_t h = unmultiplied(y ^ y >> 32, 0xBF58'476D'1CE4'E5B9) ^ key;
  h = unmultiplied(h ^ h >> 33, 0xC4CE'B9FE'1A85'EC53);
  h = unmultiplied(h ^ h >> 33, 0xFF51'AFD7'ED55'8CCD);
  return node_id{(h ^ h >> 33) - 0x9E37'79B9'7F4A'7C15};
}

TEST_CASE("of equal draws that of the least seed wins, however far apart the nodes stand") {
  constexpr std::uint64_t token = 7;
  auto const key = keyspan::placement_key(token);
  std::vector<node_id> nodes;
  for (std::uint64_t low = 0; low < 12; ++low)  // bits that are no part of the draw, which is 0
    nodes.push_back(node_that_draws(low * 300, key));
  std::size_t const equal = nodes.size();
  for (std::size_t i = 0; i < 9'000; ++i) nodes.push_back(node_id{i});
  // The winner leaves, and the next least seed wins, until but one of them is left.
  for (std::size_t left = equal; left > 0; --left) {
    auto const winner = rendezvous::build(nodes)->node_of(token);
    REQUIRE(winner < left);
    REQUIRE(winner == first_of_one_weight(nodes, key));
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(winner));
  }
}

constexpr bool the_order_of_a_rendezvous_list_decides_indices_alone() {
  rendezvous const one{{"a", 1}, {"b", 2}, {"c", 1}};
  rendezvous const other{{"c", 1}, {"a", 1}, {"b", 2}};
  constexpr node_index places[]{1, 2, 0};
  for (std::uint64_t token = 0; token < 100; ++token)
    check(other.node_of(token) == places[one.node_of(token)]);
  check(one != other && one == rendezvous{{"a", 1}, {"b", 2}, {"c", 1}});
  check(one != rendezvous{{"a", 1}, {"b", 2}, {"c", 2}});
  check(one != rendezvous{{"a", 1}, {"b", 2}, {"d", 1}});
  check(one.node_count() == 3 && rendezvous{"a", "b"}.node_count() == 2);
  return true;
}
CHECK_BOTH(the_order_of_a_rendezvous_list_decides_indices_alone);

constexpr bool what_rendezvous_cannot_place_among_is_refused() {
  auto const refused = [](std::vector<weighted_node> const& nodes) {
    auto const built = rendezvous::build(nodes);
    check(!built && built.error().code == errc::invalid_options);
    return built.error().text;
  };
  check(refused({}) == "there are no nodes; a placement has one at least");
  check(refused({"a", "b", "a"}) == "nodes 0 and 2 have the same name; name each node once");
  check(refused({"a", "b", node_id{"b"}}) ==
        "nodes 1 and 2 have the same name; name each node once");
  check(refused({{"a", 0.0}}) ==
        "the weight of node 0 is zero; give each node a positive, finite weight");
  check(refused({"a", {"b", -0.0}}).view().starts_with("the weight of node 1 is zero;"));
  check(refused({"a", {"b", -1}}).view().starts_with("the weight of node 1 is negative;"));
  using limits = std::numeric_limits<double>;
  check(refused({{"a", limits::quiet_NaN()}})
            .view()
            .starts_with("the weight of node 0 is not a number;"));
  check(refused({{"a", limits::infinity()}})
            .view()
            .starts_with("the weight of node 0 is greater than 1e+100;"));
  check(refused({{"a", -limits::infinity()}})
            .view()
            .starts_with("the weight of node 0 is negative;"));
  check(refused({{"a", 1.1e100}}).view().starts_with("the weight of node 0 is greater than"));
  check(refused({{"a", 0.9e-100}}).view().starts_with("the weight of node 0 is less than 1e-100;"));
  check(refused({{"a", limits::denorm_min()}})
            .view()
            .starts_with("the weight of node 0 is less than 1e-100;"));
  check(rendezvous::build({{"a", 1e100}, {"b", 1e-100}}).has_value());
  check(rendezvous::build({{"a"}, {"b"}}) == rendezvous{"a", "b"});
  return true;
}
CHECK_BOTH(what_rendezvous_cannot_place_among_is_refused);

TEST_CASE("a rendezvous list that cannot be placed among breaks a promise") {
  std::string const promise =
      "a placement has nodes of different names and of positive, finite weights";
  CHECK(test::promise_broken_by([] { return rendezvous{"a", "a"}; }) == promise);
  CHECK(test::promise_broken_by([] { return rendezvous{{"a", 0.0}}; }) == promise);
  CHECK(test::promise_broken_by(
            [] { return rendezvous(std::initializer_list<weighted_node>{}); }) == promise);
}

// Around every border of a piece, and of a halving.
constexpr bool the_logarithm_never_falls_and_never_lies_below_its_first_term() {
  using keyspan::detail::log_one;
  using keyspan::detail::minus_log;
  for (std::uint64_t halvings = 0; halvings < 53; ++halvings) {
    for (std::uint64_t piece = 0; piece <= 32; ++piece) {
      std::uint64_t const rest = (log_one - (piece << 47)) >> halvings;
      for (std::uint64_t by = 0; by < 3; ++by) {
        if (rest < by + 2 || rest - by > log_one - 2) continue;
        std::uint64_t const v = log_one - rest + by;
        check(minus_log(v) <= minus_log(v + 1) && minus_log(v) >= v);
      }
    }
  }
  check(minus_log(1) == 1);  // and the other end, 53 ln 2
  check(minus_log(log_one - 1) == 53 * keyspan::detail::log_two);
  return true;
}
CHECK_BOTH(the_logarithm_never_falls_and_never_lies_below_its_first_term);

TEST_CASE("the logarithm is right to two millionths") {
  test::random random{3};
  for (int i = 0; i < 100'000; ++i) {
    std::uint64_t const v = (random() >> 11 >> random.below(53)) | 1;
    double const got = static_cast<double>(keyspan::detail::minus_log(v)) * 0x1p-53;
    double const right = -std::log1p(-static_cast<double>(v) * 0x1p-53);
    CHECK(std::abs(got / right - 1) < 2e-6);
  }
}

TEST_CASE("to look a token up by rendezvous allocates nothing") {
  auto const alike = named_nodes(50, [](std::size_t) { return 1.0; });
  auto const unlike = named_nodes(50, [](std::size_t i) { return 1 + static_cast<double>(i); });
  CHECK(test::allocations_in([&] {
          for (std::uint64_t token = 0; token < 1'000; ++token)
            static_cast<void>(alike.node_of(token) + unlike.node_of(keyspan::token128{token, 1}));
        }) == 0);
  STATIC_CHECK(noexcept(alike.node_of(7)) && noexcept(alike.node_count()));
  STATIC_CHECK(std::is_nothrow_move_constructible_v<rendezvous>);
  STATIC_CHECK(!std::is_constructible_v<rendezvous, int>);
}

}  // namespace
