// What does it cost to route a key over hashing it, and to keep up with a list that changes? The
// first row of each table is the floor.
#include <bench/support/bench.hpp>
#include <bench/support/uuids.hpp>
#include <keyspan/core/bytes.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::space_end;
using keyspan::token128;

using partition = keyspan::partition<token128>;
using routing = keyspan::routing<keyspan::cosmos_v2_scheme>;

// A container that was made with one partition, each of which was split in two `generations` times.
// All ids are in use; the last generation is there.
std::vector<partition> split_evenly(int generations) {
  std::size_t next = 0;
  std::vector<partition> list{{std::to_string(next++), keyspan::whole_space(cosmos_v2), {}}};
  for (int i = 0; i < generations; ++i) {
    std::vector<partition> children;
    for (auto const& parent : list) {
      auto const middle = *cosmos_v2.midpoint(parent.range.lower(), parent.range.upper());
      auto parents = parent.parents;
      parents.push_back(parent.id);
      children.push_back({std::to_string(next++), {parent.range.lower(), middle}, parents});
      children.push_back(
          {std::to_string(next++), {middle, parent.range.upper()}, std::move(parents)});
    }
    list = std::move(children);
  }
  return list;
}

std::vector<partition> children_of(partition const& parent) {
  auto const middle = *cosmos_v2.midpoint(parent.range.lower(), parent.range.upper());
  auto parents = parent.parents;
  parents.push_back(parent.id);
  return {{"100000", {parent.range.lower(), middle}, parents},
          {"100001", {middle, parent.range.upper()}, parents}};
}

// More than a branch predictor can learn by heart.
constexpr std::size_t uuid_count = 1 << 14;
std::vector<std::string> some_uuids() {
  auto rng = bench::Rng{42};
  std::vector<std::string> uuids;
  for (std::size_t i = 0; i < uuid_count; ++i) uuids.push_back(bench::some_uuid(rng));
  return uuids;
}

// A vector of bytes, the hash, a text: what most programs do. The hash is ours, which is no slower.
std::string usual_text(std::string_view key) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::vector<char> bytes;
  bytes.reserve(64);
  bytes.push_back(8);
  bytes.insert(bytes.end(), key.begin(), key.end());
  bytes.push_back(static_cast<char>(0xFF));
  auto const hash = keyspan::murmur3_128(std::string_view{bytes.data(), bytes.size()});
  unsigned char places[16];
  keyspan::store_be(places, hash.h2 & 0x3FFF'FFFF'FFFF'FFFF);
  keyspan::store_be(places + 8, hash.h1);
  std::string text;
  for (auto const place : places) {
    text += digits[place >> 4];
    text += digits[place & 15];
  }
  return text;
}

// Bounds as they come from the service, by text, and the rest of the entry.
class map_of_texts {
 public:
  explicit map_of_texts(std::vector<partition> const& list) {
    for (auto const& one : list) bounds_.emplace(std::string_view{one.range.lower().to_hex()}, one);
  }
  partition const& owner_of(std::string_view key) const {
    return std::prev(bounds_.upper_bound(usual_text(key)))->second;
  }
  std::size_t size() const { return bounds_.size(); }

 private:
  std::map<std::string, partition> bounds_{};
};

// The rule of the service's clients, written down with sets and maps.
map_of_texts built_the_usual_way(std::vector<partition> const& list) {
  std::set<std::string> gone;
  std::map<std::string, partition> left;
  for (auto const& one : list) {
    gone.insert(one.parents.begin(), one.parents.end());
    left.insert_or_assign(one.id, one);
  }
  std::vector<partition> sorted;
  for (auto const& [id, one] : left)
    if (!gone.contains(id)) sorted.push_back(one);
  std::sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) {
    return a.range.lower().to_hex() < b.range.lower().to_hex();
  });
  return map_of_texts{sorted};
}

constexpr auto ours = "keyspan::routing::owner_of, a std::string";
constexpr auto usual = "std::map by 32 digits, the usual way";

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  auto const uuids = some_uuids();

  auto& chart = run.chart("A uuid to its partition", "partitions", "ns per key").log_y();
  for (int const generations : {6, 10, 14}) {
    auto const list = split_evenly(generations);
    routing const map = *keyspan::routing_of(cosmos_v2, list);
    auto const chosen = *keyspan::routing_of(keyspan::any_scheme{cosmos_v2}, [&] {
      std::vector<keyspan::partition<keyspan::any_token>> same;
      for (auto const& one : list) {
        keyspan::any_token const lower{one.range.lower()};
        if (one.range.upper().is_space_end())
          same.push_back({one.id, {lower, space_end}, {}});
        else
          same.push_back({one.id, {lower, keyspan::any_token{one.range.upper().at()}}, {}});
      }
      return same;
    }());
    map_of_texts const texts{list};
    std::size_t at = 0;
    auto const next = [&]() -> std::string const& { return uuids[at++ & (uuid_count - 1)]; };

    auto& table = run.table("a uuid among " + std::to_string(list.size()) + " partitions", "key")
                      .count_allocations();
    table.floor("keyspan::token_of alone", [&] { return keyspan::token_of(cosmos_v2, next()); });
    table.row(ours, [&] { return map.owner_of(next()); });
    table.row("... as a result: key_value::from",
              [&] { return *map.owner_of(keyspan::key_value::from(next())); });
    table.row("... by any_scheme", [&] { return *chosen.owner_of(next()); });
    table.row(usual, [&] { return &texts.owner_of(next()); });
    for (auto const* name : {"keyspan::token_of alone", ours, usual})
      chart.line(name, static_cast<double>(list.size()), table.ns(name));
    if (generations < 14) continue;
    run.target("range.routing.uuid", table.ratio(usual, ours), ">=", 9);
    run.target("range.routing.allocations",
               table.allocations_of(ours) +
                   table.allocations_of("... as a result: key_value::from") +
                   table.allocations_of("... by any_scheme"),
               "==", 0);
  }

  auto const list = split_evenly(14);
  routing const map = *keyspan::routing_of(cosmos_v2, list, "1");
  map_of_texts const texts{list};
  auto const in_groups = [&](std::size_t count) {
    std::span const keys{uuids.data(), count};
    auto& groups = run.table("group " + std::to_string(count) + " uuids by owner, of 16384", "key")
                       .batch(count)
                       .count_allocations();
    groups.floor("owner_of for each", [&] {
      std::uintptr_t all = 0;
      for (auto const& key : keys) all ^= reinterpret_cast<std::uintptr_t>(map.owner_of(key));
      bench::keep(all);
    });
    groups.row("keyspan::routing::group", [&] { bench::keep(map.group(keys)); });
    groups.row("owner_of into a std::map of vectors", [&] {
      std::map<std::string_view, std::vector<std::size_t>> made;
      for (std::size_t i = 0; i < count; ++i) made[map.owner_of(keys[i])->id].push_back(i);
      bench::keep(made);
    });
    groups.row("the usual way: texts, a hash map of vectors", [&] {
      std::unordered_map<std::string, std::vector<std::string>> made;
      for (auto const& key : keys) made[texts.owner_of(key).id].push_back(key);
      bench::keep(made);
    });
    run.target(
        "range.routing.group." + std::to_string(count),
        groups.ratio("the usual way: texts, a hash map of vectors", "keyspan::routing::group"),
        ">=", 6);
  };
  in_groups(100);
  in_groups(uuids.size());

  auto const children = children_of(list[5'000]);
  auto shuffled = list;
  auto rng = bench::Rng{7};
  rng.shuffle(shuffled);
  auto all = list;
  all.erase(all.begin() + 5'000);
  all.insert(all.end(), children.begin(), children.end());
  auto& build = run.table("a list of 16384 partitions, 14 parents each", "partition")
                    .batch(list.size())
                    .rounds(7);
  build.floor("copy the list", [&] { bench::keep(std::vector<partition>{list}); });
  build.row("copy the snapshot", [&] { bench::keep(routing{map}); });
  build.row("update by one split", [&] { bench::keep(map.updated(children, "2")); });
  build.row("from_list, in token order",
            [&] { bench::keep(keyspan::routing_of(cosmos_v2, list)); });
  build.row("from_list, in any order",
            [&] { bench::keep(keyspan::routing_of(cosmos_v2, shuffled)); });
  build.row("the usual way: sets and maps of texts",
            [&] { bench::keep(built_the_usual_way(shuffled)); });
  run.target("range.routing.update", build.ratio("update by one split", "copy the list"), "<=", 3);
  run.target("range.routing.from_list",
             build.ratio("the usual way: sets and maps of texts", "from_list, in any order"),
             ">=", 2);
  return run.finish();
}
