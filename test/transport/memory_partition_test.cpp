// test/transport/memory_partition_test.cpp — the index and the log of one partition.
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/memory_partition.hpp>
#include <keyspan/transport/stored.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::change;
using keyspan::change_kind;
using keyspan::key_value;
using keyspan::partition_key_view;
using keyspan::detail::item_name;
using token = std::uint32_t;
using partition = keyspan::detail::memory_partition<int, token>;
using version = keyspan::detail::memory_version<int, token>;
using index = keyspan::detail::version_index<version>;
using namespace std::chrono_literals;

std::shared_ptr<version> made(int document, std::string const& name, token place = 0) {
  return std::make_shared<version>(document, name, place, 10, std::nullopt);
}

TEST_CASE("an index finds what is in it, and nothing that was taken out") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    test::random random{seed};
    index found;
    std::map<std::string, int> model;
    for (int step = 0; step < 3'000; ++step) {
      std::string const name = std::to_string(random.below(400));
      std::size_t const place = found.find(name);
      CHECK((place != index::nowhere) == model.contains(name));
      if (place == index::nowhere) {
        found.make_room(1);
        found.insert(made(step, name));
        model[name] = step;
      } else if (random.chance(60)) {
        found.erase(place);
        model.erase(name);
      } else {
        found.exchange(place, made(step, name));
        model[name] = step;
      }
    }
    CHECK(found.size() == model.size());
    for (auto const& [name, document] : model)
      CHECK(found.at(found.find(name))->document == document);
  }
}

TEST_CASE("an index without anything in it has no memory, and finds nothing") {
  index const none;
  CHECK(none.find("a") == index::nowhere);
  CHECK(none.memory() == 0);
}

std::string name_of_item(int number) {
  item_name const name{partition_key_view{number}, key_value{"id"}};
  return std::string{name.view()};
}
void put(partition& in, int number, int document) {
  auto const name = name_of_item(number);
  auto before = in.find(name);
  auto const kind = before ? change_kind::replaced : change_kind::created;
  in.commit({{kind, made(document, name, static_cast<token>(number)), std::move(before)}}, false);
}
std::vector<int> latest(partition const& in, std::uint64_t behind, std::size_t most) {
  auto const range = in.who.range;
  std::vector<change<int>> items;
  in.read_latest({range, true, {}, behind, {}, most}, items);
  std::vector<int> documents;
  for (auto const& one : items) documents.push_back(*one);
  return documents;
}

TEST_CASE("what was written anew is swept out of the log, and the positions stay") {
  auto in = std::make_unique<partition>(
      keyspan::partition<token>{"0", {token{0}, keyspan::space_end}}, 0u);
  for (int round = 0; round < 100; ++round)
    for (int i = 0; i < 100; ++i) put(*in, i, round * 100 + i);
  CHECK(in->lsn() == 10'000);
  CHECK(in->size() == 100);
  CHECK(in->bytes() == 1000);
  CHECK(in->memory() < 100'000);
  CHECK(latest(*in, 0, 3) == std::vector{9900, 9901, 9902});
  CHECK(latest(*in, 9'998, 10) == std::vector{9998, 9999});
  CHECK(latest(*in, 10'000, 10).empty());
}

TEST_CASE("a look at a small part of a long log ends, and goes on where it ended") {
  auto in = std::make_unique<partition>(
      keyspan::partition<token>{"0", {token{0}, keyspan::space_end}}, 0u);
  for (int i = 0; i < 20'000; ++i) put(*in, i, i);
  keyspan::token_range<token> const last{19'999u, keyspan::space_end};
  std::uint64_t behind = 0;
  std::vector<change<int>> items;
  int looks = 0;
  for (; items.empty() && looks < 100; ++looks) {
    auto const found = in->read_latest({last, false, {}, behind, {}, 10}, items);
    CHECK(found.reached > behind);
    CHECK_FALSE((found.nothing_new && items.empty() && found.reached < 20'000));
    behind = found.reached;
  }
  REQUIRE(items.size() == 1);
  CHECK(*items[0] == 19'999);
  CHECK(looks > 2);
  CHECK(looks < 10);
}

}  // namespace
