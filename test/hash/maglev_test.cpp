// test/hash/maglev_test.cpp — tables as the paper fills them, and what moves when nodes change.
#include <keyspan/core/text.hpp>
#include <keyspan/hash/maglev.hpp>

#include <golden/placement.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::maglev;
using keyspan::maglev_options;
using keyspan::node_id;
using keyspan::node_index;
using keyspan::weighted_node;
using test::check;

constexpr std::vector<weighted_node> numbered_nodes(std::size_t count) {
  std::vector<weighted_node> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(keyspan::inline_text<16>{"node-", i});
  }
  return nodes;
}

constexpr std::vector<std::size_t> entries_of(maglev const& nodes) {
  std::vector<std::size_t> counts(nodes.node_count(), 0);
  for (auto const node : nodes.table()) ++counts[node];
  return counts;
}

// Table 1 of the paper: three backends, a table of seven, and the same without the second.
constexpr bool tables_are_filled_as_in_the_paper() {
  using keyspan::detail::maglev_claim;
  std::array<std::uint16_t, 7> table{};
  table.fill(keyspan::detail::maglev_free);
  std::array all{maglev_claim{.node = 0, .at = 3, .skip = 4},
                 maglev_claim{.node = 1, .at = 0, .skip = 2},
                 maglev_claim{.node = 2, .at = 3, .skip = 1}};
  std::array two{all[0], all[2]};
  keyspan::detail::fill_maglev(table, all);
  check(table == std::array<std::uint16_t, 7>{1, 0, 1, 0, 2, 2, 0});
  table.fill(keyspan::detail::maglev_free);
  keyspan::detail::fill_maglev(table, two);
  check(table == std::array<std::uint16_t, 7>{0, 0, 0, 0, 2, 2, 2});
  return true;
}
CHECK_BOTH(tables_are_filled_as_in_the_paper);

constexpr bool tables_are_those_that_were_reckoned_elsewhere() {
  check(std::ranges::equal(
      maglev({{"a", 1}, {"b", 2}, {"c", 3}}, maglev_options{.table_size = 31}).table(),
      test::maglev_three_names));
  auto nodes = numbered_nodes(10);
  check(std::ranges::equal(maglev::build(nodes, {.table_size = 101})->table(),
                           test::maglev_ten_of_one_weight));
  nodes = numbered_nodes(16);
  for (std::size_t i = 1; i < nodes.size(); i += 2) nodes[i].weight = 2;
  check(std::ranges::equal(maglev::build(nodes, {.table_size = 97})->table(),
                           test::maglev_two_weights));
  return true;
}
CHECK_BOTH(tables_are_those_that_were_reckoned_elsewhere);

TEST_CASE("the example of maglev reads as it should") {
  // [region: example]
  std::vector<std::string> const names{"ams-1", "ams-2", "fra-1"};
  auto const nodes = keyspan::maglev::build(names);
  check(nodes.has_value() && nodes->node_count() == 3);
  check(nodes->node_of(keyspan::token128{7, 7}) < 3);

  auto const weighted = keyspan::maglev{{"ams-1", 1.0}, {"fra-1", 2.0}};
  check(std::ranges::count(weighted.table(), 0) == 21'846);  // a third of the 65537 entries

  auto const wrong = keyspan::maglev::build(names, {.table_size = 65'536});
  check(wrong.error().to_text() ==
        "invalid_options: a table_size of 65536 is no prime number; the next one is 65537");
  // [end: example]
}

constexpr bool a_token_belongs_to_the_node_of_its_entry() {
  auto const nodes = *maglev::build(numbered_nodes(5), {.table_size = 53});
  for (std::uint64_t token = 0; token < 200; ++token) {
    auto const entry = (keyspan::placement_key(token) >> 32) * 53 >> 32;
    check(nodes.node_of(token) == nodes.table()[static_cast<std::size_t>(entry)]);
  }
  return true;
}
CHECK_BOTH(a_token_belongs_to_the_node_of_its_entry);

constexpr bool nodes_of_one_weight_differ_by_one_entry_at_most() {
  for (std::size_t count = 1; count <= 7; ++count) {
    for (std::uint32_t const size : {7U, 11U, 53U}) {
      auto const entries = entries_of(*maglev::build(numbered_nodes(count), {.table_size = size}));
      auto const [least, most] = std::ranges::minmax(entries);
      check(most - least <= 1);
    }
  }
  return true;
}
CHECK_BOTH(nodes_of_one_weight_differ_by_one_entry_at_most);

TEST_CASE("entries are shared out by weight to within one entry") {
  auto nodes = numbered_nodes(40);
  double whole = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].weight = 0.3 + static_cast<double>(i * i % 17);
    whole += nodes[i].weight;
  }
  auto const built = *maglev::build(nodes);
  auto const entries = entries_of(built);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    double const share = nodes[i].weight / whole * 65'537;
    CHECK(static_cast<double>(entries[i]) > share - 1.5);
    CHECK(static_cast<double>(entries[i]) < share + 1.5);
  }
}

TEST_CASE("few tokens move between nodes that stay") {
  for (std::size_t const count : {std::size_t{10}, std::size_t{100}}) {
    auto all = numbered_nodes(count + 1);
    auto const after = *maglev::build(all);
    all.pop_back();
    auto const before = *maglev::build(all);
    std::size_t strays = 0;
    for (std::size_t i = 0; i < before.table().size(); ++i) {
      auto const [from, to] = std::pair{before.table()[i], after.table()[i]};
      strays += from != to && to != count ? 1 : 0;
    }
    CHECK(static_cast<double>(strays) < 0.008 * 65'537);
  }
}

constexpr bool the_order_of_a_maglev_list_decides_indices_alone() {
  auto const options = maglev_options{.table_size = 37};
  maglev const one({{"a", 1}, {"b", 2}, {"c", 1}}, options);
  maglev const other({{"c", 1}, {"a", 1}, {"b", 2}}, options);
  constexpr node_index places[]{1, 2, 0};
  for (std::size_t i = 0; i < 37; ++i) check(other.table()[i] == places[one.table()[i]]);
  check(one != other && one == maglev({{"a", 2}, {"b", 4}, {"c", 2}}, options));
  check(one != maglev({{"a", 1}, {"b", 2}, {"c", 1}}, {.table_size = 41}));
  check(one.node_count() == 3);
  return true;
}
CHECK_BOTH(the_order_of_a_maglev_list_decides_indices_alone);

constexpr keyspan::error refused(std::vector<weighted_node> const& nodes, std::uint32_t size) {
  auto const built = maglev::build(nodes, {.table_size = size});
  check(!built.has_value());
  return built.error();
}

constexpr bool what_maglev_cannot_place_among_is_refused() {
  auto const sentence = [](keyspan::error const& error) {
    check(error.code == errc::invalid_options);
    return error.text;
  };
  check(sentence(refused({}, 7)) == "there are no nodes; a placement has one at least");
  check(sentence(refused({"a", "a"}, 7)) ==
        "nodes 0 and 1 have the same name; name each node once");
  check(sentence(refused({{"a", std::numeric_limits<double>::quiet_NaN()}}, 7)) ==
        "the weight of node 0 is not a number; give each node a positive, finite weight");
  check(sentence(refused({"a"}, 0)) == "a table_size of 0 is no prime number; the next one is 2");
  check(sentence(refused({"a"}, 1)) == "a table_size of 1 is no prime number; the next one is 2");
  check(sentence(refused({"a"}, 9)) == "a table_size of 9 is no prime number; the next one is 11");
  check(sentence(refused({"a", "b", "c"}, 2)) ==
        "a table_size of 2 is too small for 3 nodes; take a prime number a hundred times as large "
        "as their count");
  check(sentence(refused({{"a", 1}, {"b", 0.01}}, 31)) ==
        "node 1 has no entry in a table of 31, so light is it beside the others; take a larger "
        "table_size");
  check(sentence(refused({{"a", 1e100}, {"b", 1e-100}}, 31)).view().starts_with("node 1 has no"));
  check(maglev::build({{"a"}, {"b"}}, {.table_size = 2}).has_value());
  check(maglev::build({{"a"}, {"b"}, {"c"}}, {.table_size = 3}).has_value());
  return true;
}
CHECK_BOTH(what_maglev_cannot_place_among_is_refused);

TEST_CASE("sizes at the end of 32 bits are refused or named") {
  CHECK(refused({"a"}, 0xFFFF'FFFA).text ==
        "a table_size of 4294967290 is no prime number; the next one is 4294967291");
  CHECK(refused({"a"}, 0xFFFF'FFFF).text ==
        "a table_size of 4294967295 is no prime number, nor is any larger one there is room for");
}

TEST_CASE("there are at most as many nodes as an entry can name") {
  std::vector<weighted_node> nodes;
  for (int i = 0; i < 65'535; ++i) nodes.push_back(node_id{i});
  auto const most = maglev::build(nodes);
  REQUIRE(most.has_value());
  CHECK(std::ranges::count(most->table(), 65'534) >= 1);
  nodes.push_back(node_id{65'535});
  CHECK(refused(nodes, 65'537).text == "at most 65535 nodes can be placed among, these are 65536");
}

constexpr bool a_prime_has_no_divisors() {
  std::size_t primes = 0;
  for (std::uint32_t n = 0; n < 1'000; ++n) {
    bool divided = n < 2;
    for (std::uint32_t d = 2; d < n; ++d) divided = divided || n % d == 0;
    check(keyspan::detail::is_prime(n) == !divided);
    primes += divided ? 0 : 1;
  }
  return primes == 168;
}
TEST_CASE("a prime has no divisors") {
  CHECK(a_prime_has_no_divisors());
  CHECK(keyspan::detail::is_prime(65'537));
  CHECK(!keyspan::detail::is_prime(65'521u * 65'521u));
  CHECK(keyspan::detail::is_prime(0xFFFF'FFFB));
}

TEST_CASE("a maglev list that cannot be placed among breaks a promise") {
  std::string const promise =
      "a placement has nodes of different names and of positive, finite weights, and a table of "
      "prime size with entries for all of them";
  CHECK(test::promise_broken_by([] { return maglev{"a", "a"}; }) == promise);
  CHECK(test::promise_broken_by([] { return maglev({"a"}, {.table_size = 8}); }) == promise);
}

TEST_CASE("to look a token up by maglev allocates nothing") {
  auto const nodes = *maglev::build(numbered_nodes(100));
  CHECK(test::allocations_in([&] {
          for (std::uint64_t token = 0; token < 1'000; ++token)
            static_cast<void>(nodes.node_of(token) + nodes.node_of(keyspan::token128{token, 1}));
        }) == 0);
  STATIC_CHECK(noexcept(nodes.node_of(7)) && noexcept(nodes.node_count()));
  STATIC_CHECK(std::is_nothrow_move_constructible_v<maglev>);
}

}  // namespace
