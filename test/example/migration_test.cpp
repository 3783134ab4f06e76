// test/example/migration_test.cpp — docs/example/migration.hpp in memory and in virtual time:
// copiers that are killed at any step, and documents that are hard to move.
#include <example/migration.hpp>
#include <example/migration_rehearsal.hpp>

#include <keyspan/feed/feed.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using moving::document;
using moving::rehearsal;

// What a container has, read here and not there: by id and old key.
std::map<std::string, document> all_of(rehearsal::container& in) {
  std::map<std::string, document> made;
  for (auto const& change : keyspan::feed{in}) {
    std::string const name =
        change->at("customer").get<std::string>() + "/" + change->at("id").get<std::string>();
    // Nothing twice: a copy under a key of before would be.
    CHECK(made.emplace(name, *change).second);
  }
  return made;
}

// The names of those that are not the same in both.
std::vector<std::string> differing(rehearsal::container& a, rehearsal::container& b) {
  auto const left = all_of(a);
  auto const right = all_of(b);
  std::vector<std::string> made;
  for (auto const& [name, one] : left)
    if (!right.contains(name) || right.at(name) != one) made.push_back(name);
  for (auto const& [name, one] : right)
    if (!left.contains(name)) made.push_back(name);
  return made;
}

TEST_CASE("a migration that is killed at any step moves every document, once, as it is") {
  int killed = 0;
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    CAPTURE(seed);
    rehearsal world{{.seed = seed,
                     .writes = 300,
                     .copiers = 1 + static_cast<int>(seed % 3),
                     .sees_removals = seed % 4 == 0}};
    auto const done = world.run();
    REQUIRE(done.has_value());
    CHECK(done->is_same());
    CHECK(done->documents == world.source().size());
    CHECK(world.source().size() > 20);
    REQUIRE(differing(world.source(), world.target()) == std::vector<std::string>{});
    killed += world.killed();
  }
  CHECK(killed > 100);
}

TEST_CASE("documents that would be the same one are told, and none is written over") {
  int collided = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    CAPTURE(seed);
    rehearsal world{
        {.seed = seed, .writes = 300, .kills = 3, .copiers = 2, .has_collisions = true}};
    auto const done = world.run();
    REQUIRE(done.has_value());
    auto const there = all_of(world.source());
    auto const copies = all_of(world.target());
    std::map<std::string, std::vector<std::string>> by_place;
    for (auto const& [name, one] : there)
      by_place[one.at("city").get<std::string>() + "/" + one.at("id").get<std::string>()].push_back(
          name);
    std::size_t too_many = 0;
    for (auto const& [at, names] : by_place) {
      // One of them, whichever, and as it is.
      auto const moved = std::count_if(names.begin(), names.end(), [&](auto const& name) {
        return copies.contains(name) && copies.at(name) == there.at(name);
      });
      CHECK(moved == 1);
      too_many += names.size() - 1;
    }
    CHECK(copies.size() == by_place.size());
    CHECK(done->collided.size() == too_many);
    CHECK(done->is_same() == (too_many == 0));
    collided += static_cast<int>(too_many);
  }
  CHECK(collided > 15);
}

}  // namespace
