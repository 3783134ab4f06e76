// test/law/placement_test.cpp — our placements keep the laws, and those that break one are found.
#include <keyspan/hash/jump.hpp>
#include <keyspan/hash/maglev.hpp>
#include <keyspan/hash/rendezvous.hpp>
#include <keyspan/law/placement.hpp>

#include "draws.hpp"

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::node_id;
using keyspan::node_index;
using keyspan::weighted_node;
using keyspan::law::check_placement;
using keyspan::law::finding;
using keyspan::law::placement_options;
using test::bytes_that_begin_alike;
using test::check;
using test::in_steps_of_a_page;
using test::of_128_bits;
using test::one_after_another;

using node_span = std::span<weighted_node const>;

constexpr auto make_jump = [](std::size_t count) { return keyspan::jump{count}; };
constexpr auto make_rendezvous = [](node_span nodes) { return keyspan::rendezvous::build(nodes); };
constexpr auto make_maglev = [](node_span nodes) { return keyspan::maglev::build(nodes); };

void holds(finding const& found) {
  INFO(found.text());
  CHECK(static_cast<bool>(found));
}

TEST_CASE("jump keeps the laws among any count of nodes") {
  for (std::size_t const nodes : {1U, 2U, 3U, 10U, 99U}) holds(check_placement(make_jump, nodes));
  holds(check_placement(make_jump, 1'000, {.tokens = 200'000}));
  holds(check_placement(make_jump, 10, {}, one_after_another));
  holds(check_placement(make_jump, 10, {}, in_steps_of_a_page));
  holds(check_placement(make_jump, 10, {}, of_128_bits));
  holds(check_placement(make_jump, 10, {}, bytes_that_begin_alike));
}

TEST_CASE("rendezvous keeps the laws among any nodes") {
  for (std::size_t const nodes : {1U, 2U, 3U, 10U, 99U})
    holds(check_placement(make_rendezvous, nodes));
  holds(check_placement(make_rendezvous, 10, {}, one_after_another));
  holds(check_placement(make_rendezvous, 10, {}, in_steps_of_a_page));
  holds(check_placement(make_rendezvous, 10, {}, of_128_bits));
  holds(check_placement(make_rendezvous, 10, {}, bytes_that_begin_alike));
}

TEST_CASE("maglev keeps the laws to within its table") {
  placement_options const coarse{.imbalance = 0.02, .strays = 0.015};
  for (std::size_t const nodes : {1U, 2U, 3U, 10U, 99U})
    holds(check_placement(make_maglev, nodes, coarse));
  holds(check_placement(make_maglev, 10, coarse, one_after_another));
  holds(check_placement(make_maglev, 10, coarse, in_steps_of_a_page));
  holds(check_placement(make_maglev, 10, coarse, of_128_bits));
  holds(check_placement(make_maglev, 10, coarse, bytes_that_begin_alike));
}

constexpr bool a_law_can_be_checked_at_compile_time() {
  placement_options const few{.tokens = 40};
  check(static_cast<bool>(check_placement(make_jump, 3, few)));
  check(static_cast<bool>(check_placement(make_rendezvous, 3, few)));
  auto const small = [](node_span nodes) {
    return keyspan::maglev::build(nodes, {.table_size = 61});
  };
  check(static_cast<bool>(
      check_placement(small, 3, {.tokens = 40, .imbalance = 0.1, .strays = 0.1})));
  return true;
}
CHECK_BOTH(a_law_can_be_checked_at_compile_time);

// A placement of the test's own: what each of them answers is a function of the key, the nodes, and
// how often it was made or asked before.
template <class Answer>
struct made_up {
  std::vector<weighted_node> nodes;
  Answer answer;

  constexpr node_index node_of(std::uint64_t token) const {
    return static_cast<node_index>(answer(keyspan::placement_key(token), nodes));
  }
  constexpr std::size_t node_count() const { return nodes.size(); }
  friend constexpr bool operator==(made_up const& a, made_up const& b) {
    return a.nodes == b.nodes;
  }
};

template <class Answer>
constexpr auto by_list(Answer answer) {
  return
      [answer](node_span nodes) { return made_up<Answer>{{nodes.begin(), nodes.end()}, answer}; };
}
template <class Answer>
constexpr auto by_count(Answer answer) {
  return [answer](std::size_t count) {
    return made_up<Answer>{std::vector<weighted_node>(count, node_id{0}), answer};
  };
}

using node_vector = std::vector<weighted_node>;

constexpr auto ask_rendezvous = [](std::uint64_t key, node_vector const& nodes) {
  return keyspan::rendezvous::build(nodes)->node_of(key);
};

constexpr auto remainder = [](std::uint64_t key, node_vector const& nodes) {
  return key % nodes.size();
};

void breaks(finding const& found, std::string_view law) {
  INFO(found.text());
  CHECK(found.text().starts_with("broken law: "));
  CHECK(found.text().substr(12).starts_with(law));
}

constexpr std::string_view law_of_movement =
    "a token moves only to a node that joins or grows, or from one that leaves; ";
constexpr std::string_view law_of_shares = "every node has its share of the tokens; ";
constexpr placement_options some{.tokens = 2'000};

TEST_CASE("the example of the laws of placement reads as it should") {
  // [region: example]
  // Is the remainder of a division a good placement? The tokens say what is wrong with it.
  struct by_remainder {
    std::size_t nodes;
    keyspan::node_index node_of(std::uint64_t token) const {
      return static_cast<keyspan::node_index>(token % nodes);
    }
    std::size_t node_count() const { return nodes; }
    bool operator==(by_remainder const&) const = default;
  };
  auto const found =
      keyspan::law::check_placement([](std::size_t count) { return by_remainder{count}; }, 10);
  check(!found);
  check(found.text() ==
        "broken law: a token moves only to a node that joins or grows, or from one that leaves; "
        "from 10 to 11 nodes 16362 of 20000 tokens move between others, as token 0 from node 4 to "
        "node 5");

  check(static_cast<bool>(
      keyspan::law::check_placement([](std::size_t count) { return keyspan::jump{count}; }, 10)));
  // [end: example]
}

TEST_CASE("a placement by remainder moves nearly every token") {
  breaks(check_placement(by_count(remainder), 10, some), law_of_movement);
  breaks(check_placement(by_list(remainder), 10, some), law_of_movement);
  holds(check_placement(by_count(remainder), 1, some));  // the second node takes what it takes
}

TEST_CASE("one stray token is found") {
  auto const with_a_stray = [](std::uint64_t key, node_vector const& nodes) {
    bool const stray = key == keyspan::placement_key(keyspan::law::spread_tokens{}(1'234));
    return stray ? node_index{nodes.size() % 2 == 0} : ask_rendezvous(key, nodes);
  };
  auto const found = check_placement(by_list(with_a_stray), 4, some);
  breaks(found, law_of_movement);
  CHECK(
      found.text().ends_with("from 4 to 5 nodes 1 of 2000 tokens move between others, as token "
                             "1234 from node 1 to node 0"));
  holds(check_placement(by_list(with_a_stray), 4, {.tokens = 2'000, .strays = 0.0005}));
  breaks(check_placement(by_list(with_a_stray), 4, {.tokens = 2'000, .strays = 0.0004}),
         law_of_movement);
}

TEST_CASE("nodes that are known by their place alone are found") {
  // Well behaved as long as only the last one comes and goes.
  auto const by_place = [](std::uint64_t key, node_vector const& nodes) {
    return keyspan::jump{nodes.size()}.node_of(key);
  };
  holds(check_placement(by_count(by_place), 5, some));
  breaks(check_placement(by_list(by_place), 5, some), law_of_movement);
}

TEST_CASE("an order of the list that decides is found") {
  auto const by_order = [](std::uint64_t key, node_vector const& nodes) {
    bool const falls = nodes.size() > 1 && nodes[0].id.number() == nodes[1].id.number() + 1;
    return ask_rendezvous(falls ? keyspan::placement_key(key) : key, nodes);
  };
  auto const found = check_placement(by_list(by_order), 5, some);
  breaks(found, law_of_movement);
  CHECK(found.text().find("from 5 to 5 nodes") != std::string_view::npos);
}

TEST_CASE("a node in the middle whose leaving moves others is found") {
  // Right in any order, and wrong where a number is missing.
  auto const by_greatest = [](std::uint64_t key, node_vector nodes) -> std::size_t {
    auto const whole = nodes;
    bool const gap = std::ranges::max(nodes, {}, &weighted_node::id).id.number() >= nodes.size();
    if (gap) key = keyspan::placement_key(key);
    return ask_rendezvous(key, whole);
  };
  auto const found = check_placement(by_list(by_greatest), 5, some);
  breaks(found, law_of_movement);
  CHECK(found.text().find("from 5 to 4 nodes") != std::string_view::npos);
}

TEST_CASE("weights that are passed over are found") {
  auto const without_weights = [](std::uint64_t key, node_vector nodes) {
    for (auto& node : nodes) node.weight = 1;
    return ask_rendezvous(key, nodes);
  };
  breaks(check_placement(by_list(without_weights), 5, some), law_of_shares);
}

TEST_CASE("a weight whose growth moves others is found") {
  // Shares are right, but what the heaviest weighs decides for all.
  auto const by_heaviest = [](std::uint64_t key, node_vector const& nodes) {
    double const heaviest = std::ranges::max(nodes, {}, &weighted_node::weight).weight;
    if (heaviest > 4) key = keyspan::placement_key(key);
    return ask_rendezvous(key, nodes);
  };
  auto const found = check_placement(by_list(by_heaviest), 9, some);
  breaks(found, law_of_movement);
  CHECK(found.text().find("from 9 to 9 nodes") != std::string_view::npos);
}

TEST_CASE("a node with too much or too little is found") {
  auto const unfair = [](std::uint64_t key, node_vector const& nodes) {
    auto const node = ask_rendezvous(key, nodes);
    return node == 1 && key % 4 == 0 ? node_index{0} : node;
  };
  auto const found = check_placement(by_list(unfair), 5, {.tokens = 20'000});
  breaks(found, law_of_shares);
  CHECK(found.text().find("of 5 nodes, node 0 has ") != std::string_view::npos);
  CHECK(found.text().ends_with(" of 20000 tokens and should have about 4000"));
  auto const hungry = [](std::uint64_t key, node_vector const& nodes) {
    return nodes.size() == 6 ? 0 : ask_rendezvous(key, nodes);
  };
  breaks(check_placement(by_list(hungry), 5, some), law_of_shares);
  auto const starving = [](std::uint64_t key, node_vector const& nodes) {
    return keyspan::jump{std::max<std::size_t>(1, nodes.size() - 1)}.node_of(key);
  };
  breaks(check_placement(by_count(starving), 5, some), law_of_shares);
}

TEST_CASE("what chance may do is told from what it may not") {
  // Of two nodes one has 55 in a hundred: seen among many tokens, not among few.
  auto const leaning = [](std::uint64_t key, node_vector const& nodes) {
    return nodes.size() == 2 ? node_index{key < 0x8CCC'CCCC'CCCC'CCCC} : node_index{0};
  };
  auto const all_to_one = placement_options{.tokens = 100'000};
  breaks(check_placement(by_count(leaning), 1, all_to_one), law_of_shares);
  holds(check_placement(by_count(leaning), 1, {.tokens = 100}));
  holds(check_placement(by_count(leaning), 1, {.tokens = 100'000, .imbalance = 0.11}));
}

TEST_CASE("an index that is none is found") {
  auto const beyond = [](std::uint64_t key, node_vector const& nodes) {
    return key % (nodes.size() + 1);
  };
  breaks(check_placement(by_count(beyond), 5, some), "every token belongs to one of the nodes; ");
}

TEST_CASE("a placement that changes its mind is found") {
  static std::uint64_t asked = 0;
  auto const moody = [](std::uint64_t key, node_vector const& nodes) {
    return ++asked % 1'000 == 0 ? 0 : ask_rendezvous(key, nodes);
  };
  breaks(check_placement(by_list(moody), 5, some), "nothing but the token and the nodes decides; ");
}

struct counted {
  std::size_t nodes;
  std::size_t made = 0;

  template <class Token>
  constexpr node_index node_of(Token const& token) const {
    return keyspan::jump{nodes}.node_of(static_cast<std::uint64_t>(token) + made);
  }
  constexpr std::size_t node_count() const { return nodes; }
  friend constexpr bool operator==(counted const& a, counted const& b) {
    return a.nodes == b.nodes;
  }
};
struct never_equal : counted {
  friend constexpr bool operator==(never_equal const&, never_equal const&) { return false; }
};
struct unlike_its_copy {
  constexpr unlike_its_copy() = default;
  constexpr unlike_its_copy(unlike_its_copy const& other) : copies{other.copies + 1} {}
  constexpr unlike_its_copy& operator=(unlike_its_copy const&) = default;
  constexpr node_index node_of(std::uint64_t) const { return 0; }
  constexpr std::size_t node_count() const { return 1; }
  friend constexpr bool operator==(unlike_its_copy const&, unlike_its_copy const&) = default;
  int copies = 0;
};

TEST_CASE("placements that differ though their nodes do not are found") {
  std::size_t made = 0;
  breaks(check_placement([&](std::size_t count) { return counted{count, made++}; }, 3, some),
         "nothing but the token and the nodes decides; ");
  breaks(check_placement([](std::size_t count) { return never_equal{{count}}; }, 3, some),
         "placements of the same nodes are equal; ");
  breaks(check_placement([](std::size_t) { return unlike_its_copy{}; }, 1, some),
         "placements of the same nodes are equal; ");
  breaks(check_placement([](std::size_t count) { return keyspan::jump{count + 1}; }, 3, some),
         "a placement has the nodes it was made of; 3 nodes became 4");
}

TEST_CASE("a placement that cannot be made is an answer, not the end of the program") {
  auto const small = [](node_span nodes) {
    return keyspan::maglev::build(nodes, {.table_size = 3});
  };
  auto const found = check_placement(small, 3, {.tokens = 10, .imbalance = 9, .strays = 1});
  breaks(found, "nodes of distinct ids and positive weights can be placed among; with 4 nodes: ");
  CHECK(found.text().find("a table_size of 3 is too small for 4 nodes") != std::string_view::npos);
}

TEST_CASE("a law is asked of one node at least") {
  CHECK(test::promise_broken_by([] { return check_placement(make_jump, 0); }) ==
        "a placement has one node at least");
}

TEST_CASE("only what makes placements can be checked") {
  using check_type = decltype(check_placement);
  STATIC_CHECK(std::invocable<check_type, decltype(make_jump), int>);
  STATIC_CHECK(std::invocable<check_type, decltype(make_maglev), int>);
  auto const makes_numbers = [](std::size_t count) { return count; };
  STATIC_CHECK(!std::invocable<check_type, decltype(makes_numbers), int>);
}

}  // namespace
