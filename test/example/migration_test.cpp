// test/example/migration_test.cpp — docs/example/migration.hpp in memory and in virtual time:
// copiers that are killed at any step, and documents that are hard to move.
#include <example/migration.hpp>
#include <example/migration_rehearsal.hpp>
#include <example/mortal_container.hpp>

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/transport/memory_options.hpp>
#include <keyspan/transport/stored.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
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
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
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
  CHECK(killed > 60);
}

TEST_CASE("no copy is ever replaced by an older version") {
  std::size_t replaced = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    rehearsal world{{.seed = seed,
                     .writes = 1500,
                     .kills = 1,
                     .copiers = 3,
                     .sees_removals = true,
                     .orders = 8,
                     .between_writes = 100ms,
                     .half_step = 200ms}};
    keyspan::feed history{
        world.target(),
        {.start = keyspan::from_now, .mode = keyspan::feed_mode::all_versions_and_deletes}};
    REQUIRE(history.open());
    auto const done = world.run();
    REQUIRE(done.has_value());
    CHECK(done->is_same());
    for (auto const& change : history) {
      if (change.kind != keyspan::change_kind::replaced) continue;
      ++replaced;
      CHECK(change->at("number").get<int>() >= change.before->at("number").get<int>());
    }
  }
  CHECK(replaced > 500);
}

// An order of one customer, in two containers, and two programs that settle it.
struct pair_of_containers {
  using container = rehearsal::container;
  using direct = moving::mover<container, container>;

  container orders{keyspan::cosmos_v2, keyspan::documents_container(moving::path_of("/customer"))};
  container copies{keyspan::cosmos_v2, keyspan::documents_container(moving::path_of("/city"))};
  direct other{orders, moving::path_of("/customer"), copies, moving::path_of("/city")};
  moving::place const from{keyspan::partition_key{"c"}, "o"};
  moving::place const oslo{keyspan::partition_key{"oslo"}, "o"};

  static document order(std::string_view city, int number) {
    return {{"id", "o"}, {"customer", "c"}, {"city", city}, {"number", number}};
  }
  void write(std::string_view city, int number) {
    CHECK(orders.upsert(order(city, number)).value.has_value());
  }
  void settle() { CHECK(keyspan::sync_wait(other.settle(oslo, from)).has_value()); }
  // Settles it, while something else happens before or behind a step.
  void settle_while(int step, std::function<void()> const& happens) {
    moving::life slow;
    int steps = 0;
    slow.wait = [&]() -> keyspan::task<> {
      if (++steps == step) happens();
      co_return;
    };
    moving::mortal_container seen{copies, slow};
    moving::mover by{orders, moving::path_of("/customer"), seen, moving::path_of("/city")};
    CHECK(keyspan::sync_wait(by.settle(oslo, from)).has_value());
  }
  int number_in_oslo() {
    auto const copy = copies.read_item("oslo", "o").value;
    return copy ? copy->item->at("number").get<int>() : -1;
  }
};

TEST_CASE("who is overtaken between reading and writing looks again") {
  for (int step = 1; step <= 8; ++step) {
    CAPTURE(step);
    for (bool const has_copy : {false, true}) {
      pair_of_containers all;
      all.write("oslo", 1);
      if (has_copy) all.settle();
      all.write("oslo", 2);
      all.settle_while(step, [&] {
        all.write("oslo", 3);
        all.settle();
      });
      CHECK(all.number_in_oslo() == all.orders.read_item("c", "o").value->item->at("number"));
    }
    // Away, and back again before the copy is removed.
    pair_of_containers all;
    all.write("oslo", 1);
    all.settle();
    all.write("rome", 2);
    bool is_back = false;
    all.settle_while(step, [&] {
      is_back = true;
      all.write("oslo", 3);
      all.settle();
    });
    if (is_back) CHECK(all.number_in_oslo() == 3);
  }
}

TEST_CASE("a version of before makes no copy, and takes the one away that it had") {
  keyspan::memory_options<document> keeps;
  keeps.keeps_versions = 24h;
  rehearsal::container orders{keyspan::cosmos_v2,
                              keyspan::documents_container(moving::path_of("/customer")), keeps};
  pair_of_containers all;
  moving::mover by{orders, moving::path_of("/customer"), all.copies, moving::path_of("/city")};
  keyspan::feed history{
      orders, {.start = keyspan::from_now, .mode = keyspan::feed_mode::all_versions_and_deletes}};
  REQUIRE(history.open());
  auto const copies = [&] { return all.copies.size(); };
  for (auto const* const city : {"oslo", "rome", "oslo", "bern"})
    REQUIRE(orders.upsert(pair_of_containers::order(city, 1)).value.has_value());
  for (auto const& change : history) {
    REQUIRE(keyspan::sync_wait(by.handle(change, false)));
    CHECK(copies() == 1);
    CHECK(all.copies.read_item("bern", "o").value.has_value());
  }
  REQUIRE(orders.remove("c", "o").value.has_value());
  for (auto const& change : history) REQUIRE(keyspan::sync_wait(by.handle(change, false)));
  CHECK(copies() == 0);
}

TEST_CASE("a change of a document that has a copy is copied at once") {
  pair_of_containers all;
  all.write("oslo", 1);
  all.settle();
  all.write("oslo", 2);
  for (auto const& change : keyspan::feed{all.orders})
    CHECK(keyspan::sync_wait(all.other.handle(change, true)));
  CHECK(all.number_in_oslo() == 2);
}

TEST_CASE("a comparison finds what is missing, other, and too much") {
  pair_of_containers all;
  auto const order = [](std::string_view id, std::string_view customer, std::string_view city) {
    return document{{"id", id}, {"customer", customer}, {"city", city}};
  };
  auto const compared = [&] {
    moving::comparison both{all.orders, all.copies, all.other};
    auto const found = keyspan::sync_wait(both.run());
    REQUIRE(found);
    return *found;
  };
  for (auto const* const id : {"same", "missing", "other", "moved"})
    REQUIRE(all.orders.upsert(order(id, "c", "oslo")).value.has_value());
  REQUIRE(all.orders.upsert(order("claimed", "c", "rome")).value.has_value());
  REQUIRE(all.orders.upsert(order("claimed", "d", "rome")).value.has_value());
  auto other = order("other", "c", "oslo");
  other["more"] = 1;
  for (auto const& copy : {order("same", "c", "oslo"), other, order("moved", "c", "rome"),
                           order("gone", "c", "oslo"), order("claimed", "d", "rome")})
    REQUIRE(all.copies.upsert(copy).value.has_value());
  auto const first = compared();
  CHECK(first.documents == 6);
  CHECK(first.copies == 5);
  CHECK(first.repaired == 5);  // two of them one that was moved
  CHECK(first.collided.size() == 1);
  CHECK(first.collided.contains("[\"c\"] claimed"));
  CHECK_FALSE(first.is_same());
  auto const second = compared();
  CHECK(second.repaired == 0);
  CHECK_FALSE(second.is_same());
  CHECK(second.collided == first.collided);
  REQUIRE(all.orders.remove("c", "claimed").value.has_value());
  auto const third = compared();
  CHECK(third.is_same());
  CHECK(third.documents == 5);
  CHECK(third.source_sum == third.target_sum);
}

// A container that tells of its partitions two by two.
struct leafing_container : rehearsal::container {
  using rehearsal::container::container;
  using partitions_page = keyspan::partition_page<token_type>;

  keyspan::ready<keyspan::result<partitions_page>> topology(std::string const& known) {
    auto const all = partitions();
    std::size_t const first = known.empty() ? 0 : std::stoul(known);
    partitions_page page{.version = known, .not_modified = first == all.size()};
    for (std::size_t i = first; i < all.size() && i < first + 2; ++i) {
      page.partitions.push_back(all[i]);
      page.version = std::to_string(i + 1);
    }
    return {std::move(page)};
  }
};

TEST_CASE("a comparison sees all partitions, in however many pages they are told") {
  keyspan::memory_options<document> many;
  many.partitions = 5;
  leafing_container orders{keyspan::cosmos_v2,
                           keyspan::documents_container(moving::path_of("/customer")), many};
  pair_of_containers all;
  moving::mover by{orders, moving::path_of("/customer"), all.copies, moving::path_of("/city")};
  for (int i = 0; i < 100; ++i) {
    document const one{
        {"id", std::to_string(i)}, {"customer", std::to_string(i)}, {"city", "oslo"}};
    REQUIRE(orders.create(one).value.has_value());
    if (i % 2 == 0) REQUIRE(all.copies.create(one).value.has_value());
  }
  moving::comparison both{orders, all.copies, by};
  auto const found = keyspan::sync_wait(both.run());
  REQUIRE(found);
  CHECK(found->documents == 100);
  CHECK(found->repaired == 50);
  CHECK(all.copies.size() == 100);
}

TEST_CASE("a migration whose leases no store would take says so") {
  pair_of_containers all;
  keyspan::manual_clock clock;
  keyspan::memory_store store{clock};
  auto leases = store.view("copier", clock);
  moving::migration_options<keyspan::token128> options;
  options.processing.lease_prefix = "a b";
  moving::migration moved{
      all.orders, moving::path_of("/customer"), all.copies, moving::path_of("/city"), leases, clock,
      options};
  keyspan::run_loop loop;
  auto const done = loop.complete(moved.run(), clock);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == keyspan::errc::invalid_options);
}

TEST_CASE("a target is a migration's own that nobody has written to, or that has its leases") {
  pair_of_containers all;
  keyspan::manual_clock clock;
  keyspan::memory_store store{clock};
  auto leases = store.view("copier", clock);
  auto const is_own = [&] {
    auto const found = keyspan::sync_wait(moving::is_its_own_target(all.copies, leases, "a."));
    REQUIRE(found);
    return *found;
  };
  CHECK(is_own());
  all.write("oslo", 1);
  all.settle();
  CHECK_FALSE(is_own());
  keyspan::store_request const patiently;
  REQUIRE(keyspan::sync_wait(leases.create("b.layout", "{}", patiently)));
  CHECK_FALSE(is_own());
  REQUIRE(keyspan::sync_wait(leases.create("a.layout", "{}", patiently)));
  CHECK(is_own());
}

TEST_CASE("an outage is no fault of a document") {
  pair_of_containers all;
  moving::life over{.steps = 0};
  moving::mortal_container gone{all.copies, over};
  int told = 0;
  moving::mover by{all.orders, moving::path_of("/customer"), gone, moving::path_of("/city"),
                   [&](std::string_view, moving::place const&, keyspan::error const&) { ++told; }};
  all.write("oslo", 1);
  for (auto const& change : keyspan::feed{all.orders}) {
    auto const done = keyspan::sync_wait(by.handle(change, true));
    REQUIRE_FALSE(done);
    CHECK(done.error().code == keyspan::errc::not_connected);
  }
  CHECK(told == 0);
  CHECK(by.counted().parked == 0);
  // A key that is none is.
  REQUIRE(all.orders.upsert({{"id", "p"}, {"customer", "c"}}).value.has_value());
  for (auto const& change : keyspan::feed{all.orders})
    if (change->at("id") == "p") CHECK(keyspan::sync_wait(by.handle(change, true)));
  CHECK(told == 1);
  CHECK(by.counted().parked == 1);
}

TEST_CASE("checksums are of what is said, not of how") {
  auto const sum = [](std::string_view text) { return moving::checksum(document::parse(text)); };
  CHECK(sum(R"({"a":5,"b":[1,{"c":2}]})") == sum(R"({"b":[1.0,{"c":2e0}],"a":5.0})"));
  CHECK(sum(R"({"a":1,"_ts":1,"_etag":"x","_rid":"r"})") == sum(R"({"a":1,"_ts":2})"));
  CHECK(sum(R"({"a":1,"_mine":1})") != sum(R"({"a":1,"_mine":2})"));
  std::vector<std::string_view> const others{
      R"({})",        R"({"a":null})",    R"({"a":""})",    R"({"a":[]})",      R"({"a":{}})",
      R"({"a":0})",   R"({"a":"0"})",     R"({"a":[0]})",   R"({"a":[[0]]})",   R"({"a":[0,0]})",
      R"({"a":0.5})", R"({"a":{"b":0}})", R"({"a":false})", R"({"a":0,"b":0})", R"({"a":"0,b:0"})"};
  for (std::size_t i = 0; i < others.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(sum(others[i]) != sum(others[j]));
}

TEST_CASE("documents that would be the same one are told, and none is written over") {
  int collided = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
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
  CHECK(collided > 10);
}

}  // namespace
