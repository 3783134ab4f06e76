// test/range/routing_test.cpp — snapshots of who owns what: made of lists, updated, and looked up.
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/token_range.hpp>

#include "partition_history.hpp"

#include <hash/golden.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

// A number is its own token.
struct numbers_as_they_are {
  using token_type = std::int64_t;
  static token_type token_of(std::span<keyspan::key_value const> values) {
    return values.empty() ? minimum() : static_cast<std::int64_t>(values[0].number());
  }
  static token_type minimum() { return std::numeric_limits<std::int64_t>::min(); }
  static std::string_view name() { return "numbers_as_they_are"; }
  [[maybe_unused]] friend bool operator==(numbers_as_they_are, numbers_as_they_are) = default;
};
static_assert(keyspan::hash_scheme<numbers_as_they_are>);

using keyspan::any_scheme;
using keyspan::any_token;
using keyspan::cosmos_multihash;
using keyspan::cosmos_v1;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::partition;
using keyspan::redis_cluster;
using keyspan::routing_of;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_range;
using test::check;
using test::partition_history;

using slot = std::uint16_t;
using slot_list = std::vector<partition<slot>>;
using slot_routing = keyspan::routing<keyspan::redis_cluster_scheme>;

token_range<slot> slot_range(int first, int last) {
  auto const lower = static_cast<slot>(first);
  if (last == 16'384) return {lower, space_end};
  return {lower, static_cast<slot>(last)};
}

template <class Scheme>
auto hex_range(Scheme const& scheme, std::string_view lower, std::string_view upper) {
  return *token_range<keyspan::token_of_scheme<Scheme>>::from(
      *scheme.from_hex(lower), *keyspan::upper_end_from_hex(scheme, upper));
}

struct review {
  std::string article_id;
  int stars = 0;
};

TEST_CASE("the example of routing reads as it should") {
  auto const quarter = *keyspan::cosmos_v2.from_hex("10");
  auto const half = *keyspan::cosmos_v2.from_hex("20");
  // [region: example]
  auto const first = keyspan::cosmos_v2.minimum();
  auto const map = keyspan::routing_of(keyspan::cosmos_v2,
                                       {{"1", {first, keyspan::space_end}, {}},
                                        {"2", {first, half}, {"1"}},
                                        {"3", {half, keyspan::space_end}, {"1"}}},
                                       "version 7");
  check(map.has_value() && map->size() == 2);  // the parent of others is replaced
  check(map->owner_of("redmond")->id == "3");
  check(map->find("1") == nullptr && map->is_gone("1"));

  // Partition 2 was split. The snapshot stays as it is, and another is made.
  auto const newer = map->updated(
      {{"4", {first, quarter}, {"1", "2"}}, {"5", {quarter, half}, {"1", "2"}}}, "version 9");
  check(newer->size() == 3 && map->size() == 2);
  check(newer->overlapping({quarter, keyspan::space_end}).front().id == "5");
  // [end: example]
}

TEST_CASE("the example of equal partitions reads as it should") {
  // [region: equal]
  std::vector<keyspan::partition<keyspan::token128>> list;
  for (auto const& [range, number] : keyspan::evenly_split(keyspan::cosmos_v2, 7))
    list.push_back({.id = std::to_string(number), .range = range});
  auto const map = keyspan::routing_of(keyspan::cosmos_v2, std::move(list)).value();
  check(map.owner_of("redmond")->id == "3");
  // [end: equal]
  CHECK(map.size() == 7);
}

TEST_CASE("the example of a group reads as it should") {
  auto const half = *cosmos_v2.from_hex("20");
  auto const map = *routing_of(
      cosmos_v2, {{"2", {cosmos_v2.minimum(), half}, {}}, {"3", {half, space_end}, {}}});
  std::map<std::string, std::vector<int>> sent;
  // [region: group]
  std::vector<review> const reviews{{"redmond", 5}, {"amsterdam", 4}, {"redmond", 3}};
  for (auto const& [owner, positions] : map.group(reviews, &review::article_id))
    for (auto const i : positions) sent[owner.id].push_back(reviews[i].stars);

  auto const key = keyspan::key_of(&review::article_id);
  auto const groups = map.group(reviews, key);  // a result: a document may have no key
  check(groups.has_value() && groups->positions().size() == 3);
  // [end: group]
  CHECK(map.owner_of("amsterdam")->id == "2");
  CHECK(sent == std::map<std::string, std::vector<int>>{{"2", {4}}, {"3", {5, 3}}});
}

// Every slot is asked for, nothing is sampled.
TEST_CASE("every token has the owner whose range contains it") {
  slot_list const list{{"0", slot_range(0, 1), {}},
                       {"1", slot_range(1, 5'461), {}},
                       {"2", slot_range(5'461, 10'923), {}},
                       {"3", slot_range(10'923, 16'384), {}}};
  auto reversed = list;
  std::ranges::reverse(reversed);
  auto const map = *routing_of(redis_cluster, reversed);
  CHECK(std::ranges::equal(map.partitions(), list));
  bool all = true;
  for (int t = 0; t < 16'384; ++t) {
    auto const token = static_cast<slot>(t);
    auto const& owner = map.at(token);
    all = all && owner.range.contains(token) && &owner == &map.partitions()[map.index_of(token)] &&
          map.find(owner.id) == &owner;
  }
  CHECK(all);
  CHECK(map.version().empty());
  CHECK(map.scheme() == redis_cluster);
}

// A container made with so many partitions, as the service lists it.
template <class Scheme>
void owns_golden_bounds(Scheme const& scheme, std::string_view kind) {
  std::map<std::size_t, std::vector<partition<keyspan::token_of_scheme<Scheme>>>> lists;
  auto const golden = test::golden_lists("epk_boundaries.json");
  for (auto const& row : golden.at("bounds"))
    if (row.kind == kind)
      lists[row.partitions].push_back(
          {std::to_string(row.index), hex_range(scheme, row.lower, row.upper), {}});
  std::size_t whole = 0;
  for (auto const& [count, list] : lists) {
    auto const map = routing_of(scheme, list);
    if (list.size() < count) {  // of large containers the file has some partitions
      CHECK(map.error().code == errc::gap);
      continue;
    }
    ++whole;
    REQUIRE(map.has_value());
    CHECK(map->size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(map->at(scheme.boundary(i, count)).id == std::to_string(i));
      CHECK(map->find(std::to_string(i))->range.lower() == scheme.boundary(i, count));
    }
  }
  CHECK(whole == 8);
}

TEST_CASE("new containers of any scheme and size are whole") {
  owns_golden_bounds(cosmos_v1, "v1");
  owns_golden_bounds(cosmos_v2, "v2");
  owns_golden_bounds(cosmos_multihash, "multihash");
  owns_golden_bounds(any_scheme{cosmos_v1}, "v1");
  owns_golden_bounds(any_scheme{cosmos_v2}, "v2");
  owns_golden_bounds(any_scheme{cosmos_multihash}, "multihash");
}

// 1 was split into 2 and 3, then 3 into 4 and 5.
TEST_CASE("all ancestors that a list names are replaced, listed or not") {
  auto const at = [](std::string_view lower, std::string_view upper) {
    return hex_range(cosmos_v2, lower, upper);
  };
  std::vector<partition<token128>> const list{{"5", at("30", "FF"), {"1", "3"}},
                                              {"2", at("", "20"), {"1"}},
                                              {"4", at("20", "30"), {"1", "3"}}};
  auto const map = *routing_of(cosmos_v2, list);
  CHECK(map.size() == 3);
  CHECK(map.is_gone("1"));
  CHECK(map.is_gone("3"));
  CHECK_FALSE(map.is_gone("2"));
  CHECK_FALSE(map.is_gone("6"));

  auto all = list;
  all.insert(all.begin() + 1, {"3", at("20", "FF"), {"1"}});
  all.push_back({"1", at("", "FF"), {}});
  CHECK(*routing_of(cosmos_v2, all) == map);

  auto const merged = *map.updated({{"6", at("", "30"), {"1", "3", "2", "4"}}}, "");
  CHECK(merged.size() == 2);
  CHECK(merged.owner_of("redmond")->id == "6");
  CHECK(map.owner_of("redmond")->id == "4");
}

template <class Scheme>
auto const* owner_of(keyspan::routing<Scheme> const& map, std::string const& key) {
  auto const found = map.owner_of(key);
  if constexpr (requires { found.has_value(); })
    return *found;
  else
    return found;
}

// What is found by token, key, id, stretch and prefix, against a walk over all partitions.
template <class Scheme>
void agrees(keyspan::routing<Scheme> const& map, partition_history<Scheme> const& history,
            test::random& draw) {
  auto const& live = history.live();
  REQUIRE(std::ranges::equal(map.partitions(), live));
  bool all = true;
  for (int i = 0; i < 20; ++i) {
    auto const t = history.some_token(draw);
    all = all && map.at(t) == history.owner_of(t) &&
          map.partitions()[map.index_of(t)] == history.owner_of(t);
  }
  CHECK(all);
  for (auto const& one : history.log()) {
    bool const is_gone = history.gone().contains(one.id);
    auto const* const found = map.find(one.id);
    all = all && map.is_gone(one.id) == is_gone && (found == nullptr) == is_gone &&
          (is_gone || *found == one);
  }
  CHECK(all);
  CHECK(map.find("") == nullptr);
  CHECK(map.find(std::to_string(history.log().size())) == nullptr);
  CHECK_FALSE(map.is_gone(""));

  for (int i = 0; i < 10; ++i) {
    auto const number = draw.below(1'000'000);
    auto const* const owner = owner_of(map, std::to_string(number));
    CHECK(*owner == history.owner_of(history.token_of_number(number)));
    if constexpr (keyspan::prefix_scheme<Scheme>) {
      auto const prefixed = map.owners_of_prefix(std::to_string(number), 1);
      CHECK((prefixed.has_value() && prefixed->size() == 1 && &prefixed->front() == owner));
    }

    auto lower = history.some_token(draw);
    auto upper = history.some_token(draw);
    if (upper < lower) std::swap(lower, upper);
    using range = typename partition_history<Scheme>::token_range;
    auto const stretch =
        lower == upper || draw.chance(20) ? range{lower, space_end} : range{lower, upper};
    std::vector<std::string> expected;
    for (auto const& one : live)
      if (keyspan::overlaps(one.range, stretch)) expected.push_back(one.id);
    std::vector<std::string> found;
    for (auto const& one : map.overlapping(stretch)) found.push_back(one.id);
    CHECK(found == expected);
  }
  CHECK(map.overlapping(keyspan::whole_space(map.scheme())).size() == live.size());
}

// Splits and merges over many generations. After some of them the list is read: in full, or what is
// new since the snapshot, with entries twice and in any order.
template <class Scheme>
void follows(Scheme const& scheme, std::uint64_t seed) {
  test::random draw{seed};
  partition_history<Scheme> history{scheme};
  auto map = *routing_of(scheme, history.log());
  std::size_t seen = history.log().size();
  for (int round = 0; round < 12; ++round) {
    for (auto changes = draw.below(8); changes > 0; --changes) history.change(draw);
    std::vector<partition<keyspan::token_of_scheme<Scheme>>> changes;
    for (std::size_t i = seen; i < history.log().size(); ++i)
      changes.push_back(history.listed(history.log()[i], draw));
    for (auto twice = draw.below(4); twice > 0; --twice)
      changes.push_back(history.listed(draw.pick(history.log()), draw));
    draw.shuffle(changes);
    auto const before = map;
    auto const newer = map.updated(changes, std::to_string(round));
    REQUIRE(newer.has_value());
    CHECK(map == before);
    agrees(map = *newer, history, draw);
    CHECK(map.version() == std::to_string(round));
    seen = history.log().size();

    auto full = draw.chance(50) ? history.live() : history.log();
    for (auto& one : full) one = history.listed(one, draw);
    draw.shuffle(full);
    auto const read = routing_of(scheme, full, std::to_string(round));
    REQUIRE(read.has_value());
    CHECK(*read == map);
  }
}

TEST_CASE("updates lead where a full list leads, over many splits and merges") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    follows(cosmos_v2, seed);
    follows(cosmos_multihash, seed);
    follows(cosmos_v1, seed);
    follows(any_scheme{cosmos_v2}, seed);
    follows(any_scheme{cosmos_multihash}, seed);
    follows(any_scheme{cosmos_v1}, seed);
    follows(redis_cluster, seed);
    follows(keyspan::cassandra, seed);
  }
}

// The service writes one bound as 32 digits in one range, and with 32 zeros behind in the next.
TEST_CASE("neighbours whose common bound is written in two widths follow each other") {
  std::string const tenant = "0E5C2A4B00000000000000000000BEEF";
  std::string const zeros(32, '0');
  auto const list = [&](auto const& scheme) {
    return std::vector{
        partition{std::string{"0"}, hex_range(scheme, "", tenant), {}},
        partition{std::string{"1"},
                  hex_range(scheme, tenant + zeros, tenant + zeros.substr(1) + "1"),
                  {}},
        partition{
            std::string{"2"}, hex_range(scheme, tenant + zeros.substr(1) + "1" + zeros, "FF"), {}}};
  };
  auto const map = routing_of(cosmos_multihash, list(cosmos_multihash));
  REQUIRE(map.has_value());
  CHECK(map->at(*cosmos_multihash.from_hex(tenant)).id == "1");
  CHECK(map->at(*cosmos_multihash.from_hex(tenant + zeros + zeros)).id == "1");
  CHECK(routing_of(any_scheme{cosmos_multihash}, list(any_scheme{cosmos_multihash})).has_value());
  // The same range in other widths is no other range.
  CHECK(
      map->updated({{"0", hex_range(cosmos_multihash, "00", tenant + zeros), {}}}, "").has_value());
  auto const off = map->updated(
      {{"0", hex_range(cosmos_multihash, "00", tenant + zeros.substr(1) + "1"), {}}}, "");
  CHECK(off.error().code == errc::conflicting_ranges);
}

TEST_CASE("the owners of a prefix are where its keys lie") {
  auto const tenant = *cosmos_multihash.from_hex(
      std::string_view{keyspan::to_hex(keyspan::token_of(cosmos_multihash, "contoso"))});
  auto const inside =
      keyspan::token_of(cosmos_multihash, keyspan::partition_key_view{"contoso", "alice"});
  auto const map = *routing_of(cosmos_multihash, {{"0", {cosmos_multihash.minimum(), tenant}, {}},
                                                  {"1", {tenant, inside}, {}},
                                                  {"2", {inside, space_end}, {}}});
  auto const owners = map.owners_of_prefix("contoso", 2);
  REQUIRE(owners.has_value());
  REQUIRE(owners->size() == 2);
  CHECK(owners->front().id == "1");
  CHECK(owners->back().id == "2");
  CHECK(map.owners_of_prefix(keyspan::partition_key{"contoso", "alice"}, 2)->front().id == "2");
  CHECK(map.owners_of_prefix(keyspan::partition_key{}, 2)->size() == 3);
  CHECK(map.owners_of_prefix(keyspan::partition_key{"a", "b", "c"}, 2).error().code ==
        errc::key_mismatch);
  using key_result = keyspan::result<keyspan::partition_key_view>;
  CHECK(map.owners_of_prefix(key_result{keyspan::partition_key_view{"contoso"}}, 2)->size() == 2);
  key_result const none{keyspan::fail(errc::not_a_key, "no")};
  CHECK(map.owners_of_prefix(none, 2).error().code == errc::not_a_key);
}

TEST_CASE("the owner of a key is asked for in whatever form the key has") {
  auto const map = *routing_of(cosmos_v2, {{"0", hex_range(cosmos_v2, "", "20"), {}},
                                           {"1", hex_range(cosmos_v2, "20", "FF"), {}}});
  auto const* const owner = map.find("1");
  std::string const text{"redmond"};
  keyspan::key_value const value{text};
  CHECK(map.owner_of("redmond") == owner);
  CHECK(map.owner_of(text) == owner);
  CHECK(map.owner_of(std::string{"redmond"}) == owner);
  CHECK(map.owner_of(value) == owner);
  CHECK(map.owner_of(std::span{&value, 1}) == owner);
  CHECK(map.owner_of(keyspan::partition_key_view{text}) == owner);
  CHECK(map.owner_of(keyspan::partition_key{text}) == owner);
  CHECK(*map.owner_of(keyspan::partition_key_view::from(text)) == owner);
  review const document{"redmond", 5};
  CHECK(*map.owner_of(keyspan::key_of(&review::article_id)(document)) == owner);
  CHECK(map.owner_of(keyspan::key_value::from("\xFF")).error().code == errc::invalid_utf8);
  CHECK(map.owner_of(5)->id == "0");

  auto const by_name =
      *routing_of(any_scheme{cosmos_v1}, {{"0", hex_range(any_scheme{cosmos_v1}, "", "FF"), {}}});
  CHECK((*by_name.owner_of("redmond"))->id == "0");
  CHECK(by_name.owner_of(keyspan::key_value::from("\xFF")).error().code == errc::invalid_utf8);
}

keyspan::error refused(slot_list list) {
  auto const made = routing_of(redis_cluster, std::move(list));
  REQUIRE_FALSE(made.has_value());
  return made.error();
}

TEST_CASE("a list that does not share out every token is refused, with ids and tokens") {
  auto const gap = refused({{"7", slot_range(0, 10), {}}, {"9", slot_range(20, 16'384), {}}});
  CHECK(gap.code == errc::gap);
  CHECK(gap.text == "between partitions 7 and 9 nobody owns 10 to 20");
  CHECK(refused({{"7", slot_range(5, 16'384), {}}}).to_text() ==
        "gap: before partition 7 nobody owns 0 to 5");
  CHECK(refused({{"7", slot_range(0, 16'383), {}}}).to_text() ==
        "gap: after partition 7 nobody owns 16383 to the end");
  auto const overlap = refused({{"9", slot_range(8, 16'384), {}}, {"7", slot_range(0, 10), {}}});
  CHECK(overlap.code == errc::overlap);
  CHECK(overlap.text == "partitions 7 and 9 both claim 8 to 10");
  CHECK(refused({{"1", slot_range(0, 16'384), {}}, {"2", slot_range(0, 16'384), {}}}).to_text() ==
        "overlap: partitions 1 and 2 both claim 0 to the end");
  CHECK(refused({{"1", slot_range(0, 16'384), {}}, {"2", slot_range(3, 5), {}}}).to_text() ==
        "overlap: partitions 1 and 2 both claim 3 to 5");
  CHECK(refused({}).to_text() ==
        "gap: the list has no partition, but for those that others replaced");

  auto const hex = routing_of(cosmos_v2, {{"1", hex_range(cosmos_v2, "20", "FF"), {}}});
  CHECK(hex.error().text ==
        "before partition 1 nobody owns \"\" to 20000000000000000000000000000000");
  // A slot behind the last one is a token too; it is not the end.
  CHECK(refused({{"1", {slot{0}, slot{16'384}}, {}}}).text ==
        "after partition 1 nobody owns 16384 to the end");
}

// 1 and 2 name each other, 3 is nobody's parent.
TEST_CASE("parents that go in circles leave nobody") {
  CHECK(refused({{"1", slot_range(0, 16'384), {"2"}}, {"2", slot_range(0, 16'384), {"1"}}}).code ==
        errc::gap);
  CHECK(refused({{"1", slot_range(0, 9), {"2"}},
                 {"2", slot_range(9, 16'384), {"1"}},
                 {"3", slot_range(9, 16'384), {}}})
            .text == "before partition 3 nobody owns 0 to 9");
  CHECK(refused({{"1", slot_range(0, 16'384), {"0", "1"}}}).to_text() ==
        "malformed: partition 1 is among its own parents");
}

TEST_CASE("one id with two ranges is refused, in a list and against the snapshot") {
  auto const whole = slot_range(0, 16'384);
  CHECK(refused({{"1", whole, {}}, {"2", slot_range(3, 5), {}}, {"1", slot_range(0, 9), {}}})
            .to_text() == "conflicting_ranges: partition 1 ends at 9 and at the end");
  CHECK(refused({{"1", slot_range(1, 9), {}}, {"1", slot_range(0, 9), {}}}).text ==
        "partition 1 begins at 0 and at 1");
  // Also of one that is replaced, and of one between others of its id.
  CHECK(refused({{"1", whole, {}}, {"1", slot_range(0, 9), {}}, {"2", whole, {"1"}}}).code ==
        errc::conflicting_ranges);
  CHECK(refused({{"1", whole, {}}, {"1", slot_range(0, 9), {}}, {"1", whole, {}}}).code ==
        errc::conflicting_ranges);

  auto map = *routing_of(redis_cluster, {{"1", whole, {}}}, "7");
  auto const before = map;
  CHECK(map.updated({{"1", slot_range(0, 9), {}}}, "8").error().to_text() ==
        "conflicting_ranges: partition 1 ends at 9 and at the end");
  CHECK(map.updated({{"1", whole, {}}, {"1", slot_range(0, 9), {}}}, "8").error().code ==
        errc::conflicting_ranges);
  CHECK(map.updated({{"1", slot_range(0, 9), {}}, {"2", whole, {"1"}}}, "8").error().code ==
        errc::conflicting_ranges);
  CHECK(map == before);
  CHECK(map.version() == "7");
}

TEST_CASE("of a partition listed twice the last entry counts, and all parents that were named") {
  auto const map = *routing_of(
      redis_cluster, {{"4", slot_range(0, 16'384), {"1"}}, {"4", slot_range(0, 16'384), {"2"}}});
  CHECK(map.find("4")->parents == std::vector<std::string>{"2"});
  CHECK(map.is_gone("1"));
  CHECK(map.is_gone("2"));
  auto const newer = *map.updated({{"4", slot_range(0, 16'384), {}}}, "");
  CHECK(newer.find("4")->parents.empty());
  CHECK(newer.is_gone("1"));
  CHECK(newer.size() == 1);
}

TEST_CASE("who is gone stays gone, however late the list names it again") {
  auto const map = *routing_of(redis_cluster, {{"2", slot_range(0, 16'384), {"1"}}});
  auto const again = map.updated({{"1", slot_range(0, 16'384), {}}}, "");
  REQUIRE(again.has_value());
  CHECK(again->partitions().front().id == "2");
  auto const split = map.updated(
      {{"3", slot_range(0, 9), {"1", "2"}}, {"4", slot_range(9, 16'384), {"1", "2"}}}, "");
  CHECK(split->updated({{"2", slot_range(0, 16'384), {"1"}}}, "")->size() == 2);
}

TEST_CASE("an update that leaves a gap is refused and changes nothing") {
  auto map = *routing_of(redis_cluster,
                         {{"1", slot_range(0, 9), {}}, {"2", slot_range(9, 16'384), {}}}, "7");
  auto const before = map;
  CHECK(map.updated({{"3", slot_range(0, 5), {"1"}}}, "8").error().to_text() ==
        "gap: between partitions 3 and 2 nobody owns 5 to 9");
  CHECK(map.updated({{"3", slot_range(0, 9), {}}}, "8").error().to_text() ==
        "overlap: partitions 1 and 3 both claim 0 to 9");
  CHECK(map == before);
}

TEST_CASE("an entry that cannot be one is refused by name") {
  auto const whole = slot_range(0, 16'384);
  CHECK(refused({{"1", whole, {}}, {"", whole, {}}}).to_text() ==
        "malformed: entry 1 of the list has no id");
  CHECK(refused({{"1", whole, {""}}}).to_text() ==
        "malformed: partition 1 has a parent without id");
  CHECK(refused({{std::string(1000, 'x'), slot_range(0, 9), {}}})
            .text.view()
            .starts_with("after partition xxxxxxxx\xE2\x80\xA6xxxxxxxxx nobody owns"));
  any_scheme const scheme{cosmos_v2};
  auto const middle = any_token{cosmos_multihash.minimum()};
  auto const mixed =
      routing_of(scheme, {{"1", {scheme.minimum(), middle}, {}}, {"2", {middle, space_end}, {}}});
  CHECK(mixed.error().to_text() ==
        "scheme_mismatch: partition 1 has bounds of another scheme than cosmos_v2");
  CHECK(routing_of(scheme, {{"1", {any_token{cosmos_v1.minimum()}, space_end}, {}}}).error().code ==
        errc::scheme_mismatch);
}

TEST_CASE("long ids are named so that they can be told apart") {
  auto const gap_between = [](std::string const& a, std::string const& b) {
    return std::string{
        refused({{a, slot_range(0, 9), {}}, {b, slot_range(12, 16'384), {}}}).text.view()};
  };
  CHECK(gap_between("partition-number-0001", "partition-number-0002") ==
        "between partitions partitio\xE2\x80\xA6mber-0001 and partitio\xE2\x80\xA6mber-0002 nobody "
        "owns 9 to 12");
  CHECK(gap_between("twenty-bytes-of-name", "20") ==
        "between partitions twenty-bytes-of-name and 20 nobody owns 9 to 12");
  // Two uuids that differ in the middle.
  CHECK(
      gap_between("0a1b2c3d-0000-4000-8000-00000000beef", "0a1b2c3d-0000-4001-8000-00000000beef") ==
      "between partitions \xE2\x80\xA6-4000-8000-000\xE2\x80\xA6 and "
      "\xE2\x80\xA6-4001-8000-000\xE2\x80\xA6 nobody owns 9 to 12");
  CHECK(refused({{"0a1b2c3d-0000-4000-8000-00000000beef", slot_range(0, 12), {}},
                 {"0a1b2c3d-0000-4001-8000-00000000beef", slot_range(9, 16'384), {}}})
            .text ==
        "partitions \xE2\x80\xA6-4000-8000-000\xE2\x80\xA6 and "
        "\xE2\x80\xA6-4001-8000-000\xE2\x80\xA6 both claim 9 to 12");
  // Characters stay whole, and every difference is seen, wherever it is.
  std::string const long_id(60, 'x');
  for (std::string_view const character : {"a", "\xD0\xB6", "\xE2\x82\xAC", "\xF0\x9F\x8C\x8D"})
    for (std::size_t at = 0; at <= long_id.size(); ++at) {
      auto one = long_id;
      one.insert(at, character);
      auto other = one;
      other[at + character.size() - 1] = static_cast<char>(other[at + character.size() - 1] + 1);
      keyspan::detail::two_ids const ids{one, other};
      check(ids.first != ids.second);
      check(ids.first.view().find(character) != std::string_view::npos);
      auto const text = std::string{keyspan::detail::text_of_id(one).view()};
      check(keyspan::key_value::from(text).has_value());
    }
}

// Spaces that do not begin at the least value of their type.
struct late_scheme {
  using token_type = int;
  int token_of(std::span<keyspan::key_value const> values) const {
    return static_cast<int>(values.size());
  }
  int minimum() const { return 0; }
  std::string_view name() const { return "late"; }
  friend bool operator==(late_scheme, late_scheme) = default;
};

TEST_CASE("bounds before the first token of the scheme are refused") {
  auto const made = routing_of(late_scheme{}, {{"1", {-5, 3}, {}}, {"2", {3, space_end}, {}}});
  CHECK(made.error().to_text() ==
        "invalid_range: partition 1 begins at -5, before the first token of late");
  auto const map = *routing_of(late_scheme{}, {{"1", {0, 3}, {}}, {"2", {3, space_end}, {}}});
  CHECK(map.scheme() == late_scheme{});
  CHECK(map.overlapping({-5, 0}).empty());
  CHECK(map.overlapping({-5, 1}).size() == 1);
  CHECK(map.overlapping({-5, 4}).size() == 2);
  CHECK(map.overlapping({4, 5}).front().id == "2");
}

TEST_CASE("tokens of another scheme break a promise") {
  any_scheme const scheme{cosmos_v2};
  auto const map = *routing_of(scheme, {{"1", keyspan::whole_space(scheme), {}}});
  std::string const promise = "a routing is asked for tokens of its scheme";
  any_token const foreign{cosmos_multihash.minimum()};
  CHECK(test::promise_broken_by([&] { return map.index_of(foreign); }) == promise);
  CHECK(test::promise_broken_by([&] { return map.at(foreign).id.size(); }) == promise);
  CHECK(test::promise_broken_by([&] { return map.overlapping({foreign, space_end}).size(); }) ==
        promise);
  CHECK(test::promise_broken_by(
            [&] { return map.overlapping({scheme.minimum(), foreign}).size(); }) == promise);
}

// One entry for each id of a chain in which everyone has all before as parents, and lists that are
// nothing but repetitions: the work is that of sorting, so that this ends at once.
TEST_CASE("long lists take the time of sorting them") {
  std::vector<std::string> parents;
  slot_list chain;
  for (int i = 0; i < 700; ++i) {
    chain.push_back({std::to_string(i), slot_range(0, 16'384), parents});
    parents.push_back(std::to_string(i));
  }
  auto const last = routing_of(redis_cluster, chain);
  REQUIRE(last.has_value());
  CHECK(last->partitions().front().id == "699");
  CHECK(last->is_gone("698"));

  slot_list const same(50'000, {"1", slot_range(0, 16'384), {"0"}});
  CHECK(routing_of(redis_cluster, same)->size() == 1);
  slot_list every;
  for (int i = 0; i < 16'384; ++i)
    every.push_back({std::to_string(i), slot_range(i, i + 1), {"x", "y"}});
  test::random{7}.shuffle(every);
  auto const finest = routing_of(redis_cluster, every);
  REQUIRE(finest->size() == 16'384);
  CHECK(finest->at(12'345).id == "12345");
  CHECK(finest->find("12345")->range.lower() == 12'345);
}

template <class Map>
concept shows_what_a_temporary_has =
    requires(Map map) { std::move(map).partitions(); } ||
    requires(Map map, token128 t) { std::move(map).at(t); } ||
    requires(Map map) { std::move(map).find("1"); } ||
    requires(Map map) { std::move(map).owner_of("redmond"); } ||
    requires(Map map, token128 t) { std::move(map).overlapping({t, space_end}); } ||
    requires(Map map) { std::move(map).owners_of_prefix("redmond", 1); } ||
    requires(Map map, std::vector<std::string> keys) { std::move(map).group(keys); } ||
    requires(Map map, std::vector<review> reviews) {
      std::move(map).group(reviews, &review::article_id);
    };
using v2_routing = keyspan::routing<keyspan::cosmos_v2_scheme>;
static_assert(!shows_what_a_temporary_has<v2_routing>);
static_assert(!shows_what_a_temporary_has<v2_routing const>);
static_assert(requires(v2_routing const map, std::vector<std::string> keys) {
  map.group(keys);
  map.owners_of_prefix("redmond", 1);
});

template <class Groups>
concept shows_groups_of_a_temporary = requires(Groups groups) { std::move(groups).begin(); } ||
                                      requires(Groups groups) { std::move(groups).end(); } ||
                                      requires(Groups groups) { std::move(groups)[0]; } ||
                                      requires(Groups groups) { std::move(groups).positions(); };
static_assert(!shows_groups_of_a_temporary<keyspan::key_groups<token128>>);

// By a walk over the keys for each partition.
template <class Scheme>
void groups_as_a_walk_does(keyspan::routing<Scheme> const& map,
                           std::vector<std::string> const& keys,
                           keyspan::key_groups<keyspan::token_of_scheme<Scheme>> const& groups) {
  std::size_t group = 0;
  bool all = true;
  for (auto const& one : map.partitions()) {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t i = 0; i < keys.size(); ++i)
      if (owner_of(map, keys[i]) == &one) positions.push_back(i);
    if (positions.empty()) continue;
    REQUIRE(group < groups.size());
    all = all && &groups[group].owner == &one &&
          std::ranges::equal(groups[group].positions, positions);
    ++group;
  }
  CHECK(all);
  CHECK(group == groups.size());
  CHECK(groups.positions().size() == keys.size());
}

TEST_CASE("a group has the keys of its owner in the order they came in") {
  for (std::size_t const partitions : {1U, 2U, 3U, 255U, 256U, 257U, 300U, 1'000U}) {
    std::vector<partition<token128>> list;
    for (std::size_t i = 0; i < partitions; ++i)
      list.push_back({std::to_string(i),
                      {cosmos_v2.boundary(i, partitions),
                       i + 1 == partitions ? keyspan::upper_end<token128>{space_end}
                                           : cosmos_v2.boundary(i + 1, partitions)},
                      {}});
    auto const map = *routing_of(cosmos_v2, list);
    for (std::size_t const count : {0U, 1U, 2U, 100U, 700U}) {
      std::vector<std::string> keys;
      for (std::size_t i = 0; i < count; ++i) keys.push_back(std::to_string(i % 500));
      auto const groups = map.group(keys);
      groups_as_a_walk_does(map, keys, groups);
      CHECK(groups.empty() == keys.empty());
    }
  }
  auto const slots = *routing_of(
      redis_cluster, {{"0", slot_range(0, 9'000), {}}, {"1", slot_range(9'000, 16'384), {}}});
  std::vector<std::string> const keys{"a", "b", "{a}c", "d", "a"};
  auto const groups = slots.group(keys);
  REQUIRE(groups.has_value());
  groups_as_a_walk_does(slots, keys, *groups);
}

TEST_CASE("many owners are told apart by all digits of their numbers") {
  slot_list list;
  for (int i = 0; i < 16'384; ++i) list.push_back({std::to_string(i), slot_range(i, i + 1), {}});
  auto const map = *routing_of(redis_cluster, list);
  std::vector<std::string> keys;
  for (int i = 0; i < 2'000; ++i) keys.push_back(std::to_string(i % 1'500));
  auto const groups = *map.group(keys);
  CHECK(std::ranges::is_sorted(groups, std::less<>{},
                               [](auto const& group) { return group.owner.range.lower(); }));
  std::size_t total = 0;
  bool all = true;
  for (auto const& [owner, positions] : groups) {
    total += positions.size();
    all = all && std::ranges::is_sorted(positions) &&
          std::ranges::all_of(positions,
                              [&](std::uint32_t i) { return *map.owner_of(keys[i]) == &owner; });
  }
  CHECK(all);
  CHECK(total == keys.size());
}

constexpr bool keys_are_sorted_by_every_digit_of_their_owners() {
  for (std::size_t const owners :
       {std::size_t{1}, std::size_t{2}, std::size_t{256}, std::size_t{257}, std::size_t{65'537},
        std::size_t{0x0100'0001}, std::size_t{0x7FFF'FFFF}}) {
    std::vector<std::uint64_t> keys;
    std::uint64_t seed = 1;
    for (std::uint64_t i = 0; i < 40; ++i) {
      seed = seed * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
      keys.push_back((seed >> 33) % owners << 32 | i);
    }
    keys.push_back(std::uint64_t{owners - 1} << 32 | 40);
    auto sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    keyspan::detail::sort_by_owner(keys, owners);
    check(keys == sorted);
  }
  return true;
}
CHECK_BOTH(keys_are_sorted_by_every_digit_of_their_owners);

TEST_CASE("keys are grouped from any range, by any way to a key") {
  auto const map = *routing_of(cosmos_v2, {{"0", hex_range(cosmos_v2, "", "20"), {}},
                                           {"1", hex_range(cosmos_v2, "20", "FF"), {}}});
  std::vector<review> const reviews{{"redmond", 5}, {"a", 4}, {"b", 5}};
  std::vector<std::string> const names{"redmond", "a", "b"};
  auto const expected = map.group(names);
  auto const same = [&](auto const& groups) {
    return std::ranges::equal(groups.positions(), expected.positions()) &&
           groups.size() == expected.size();
  };
  CHECK(same(map.group(reviews, &review::article_id)));
  CHECK(same(map.group(reviews, [](review const& r) { return r.article_id; })));
  CHECK(same(map.group(reviews,
                       [](review const& r) { return keyspan::partition_key_view{r.article_id}; })));
  CHECK(same(*map.group(reviews, keyspan::key_of(&review::article_id))));
  CHECK(same(*map.group(names, [](auto const& name) { return keyspan::key_value::from(name); })));
  CHECK(same(map.group(std::list<std::string>{"redmond", "a", "b"})));
  char const* const array[]{"redmond", "a", "b"};
  CHECK(same(map.group(array)));
  CHECK(same(map.group(names | std::views::transform([](auto const& name) { return name + ""; }))));
  CHECK(same(map.group(names | std::views::filter([](auto const&) { return true; }))));
  std::vector<keyspan::result<keyspan::partition_key>> found;
  for (auto const& name : names) found.push_back(keyspan::partition_key::from(name));
  CHECK(same(*map.group(found)));
}

TEST_CASE("groups are a range like any other") {
  using groups = keyspan::key_groups<token128>;
  STATIC_CHECK(std::ranges::random_access_range<groups const>);
  STATIC_CHECK(std::ranges::sized_range<groups const>);
  STATIC_CHECK(std::is_copy_assignable_v<groups>);
  auto const map = *routing_of(cosmos_v2, {{"0", hex_range(cosmos_v2, "", "20"), {}},
                                           {"1", hex_range(cosmos_v2, "20", "FF"), {}}});
  auto made = map.group(std::vector{"redmond", "amsterdam"});
  groups const copy = made;
  made = map.group(std::vector{"redmond"});
  CHECK(made.size() == 1);
  REQUIRE(copy.size() == 2);
  CHECK(copy[1].owner.id == "1");
  CHECK(copy[1].positions.front() == 0);
  CHECK(test::promise_broken_by([&] { return copy[2].positions.size(); }) ==
        "there is a group of this number");
}

TEST_CASE("a key that has no owner is named by its position") {
  auto const map = *routing_of(cosmos_v2, {{"0", hex_range(cosmos_v2, "", "FF"), {}}});
  std::vector<std::string> const names{"a", "b", "c", "\xFF", "\xFF"};
  auto const groups =
      map.group(names, [](auto const& name) { return keyspan::key_value::from(name); });
  REQUIRE_FALSE(groups.has_value());
  CHECK(groups.error().code == errc::invalid_utf8);
  auto const why = keyspan::key_value::from("\xFF").error();
  CHECK(groups.error().text == keyspan::inline_text<160>{"key 3: ", why.text});
  CHECK(groups.error().position == why.position);
}

TEST_CASE("look-ups allocate nothing, and a group a few times whatever its size") {
  std::vector<partition<token128>> list;
  for (std::size_t i = 0; i < 1'000; ++i)
    list.push_back(
        {"partition number " + std::to_string(i),
         {cosmos_v2.boundary(i, 1'000),
          i == 999 ? keyspan::upper_end<token128>{space_end} : cosmos_v2.boundary(i + 1, 1'000)},
         {}});
  auto const map = *routing_of(cosmos_v2, list);
  std::string const id = "partition number 500";
  CHECK(test::allocations_in([&] {
          std::size_t all = 0;
          all += map.owner_of("redmond")->id.size();
          all += map.owner_of(keyspan::partition_key_view::from("redmond")).has_value();
          all += map.find(id)->id.size();
          all += map.is_gone(id);
          all += map.at({7, 7}).id.size();
          all += map.overlapping({token128{7, 7}, space_end}).size();
          all += map.owners_of_prefix("redmond", 1)->size();
          all += map.version().size() + map.partitions().size();
          check(all > 0);
        }) == 0);
  for (std::size_t const count : {10U, 10'000U}) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < count; ++i) keys.push_back(std::to_string(i));
    CHECK(test::allocations_in([&] { static_cast<void>(map.group(keys)); }) <= 4);
  }
}

TEST_CASE("a snapshot is a value") {
  auto const list = slot_list{{"0", slot_range(0, 9), {}}, {"1", slot_range(9, 16'384), {"x"}}};
  auto const map = *routing_of(redis_cluster, list, "7");
  auto copy = std::make_unique<slot_routing>(map);
  CHECK(*copy == map);
  auto moved = std::move(*copy);
  copy.reset();
  CHECK(moved == map);
  CHECK(moved.at(100).id == "1");
  moved = *routing_of(redis_cluster, list, "8");
  CHECK(moved != map);
  CHECK(*routing_of(redis_cluster, slot_list{list[0], {"1", list[1].range, {"y"}}}, "7") != map);
  auto const other = slot_list{{"0", slot_range(0, 8), {}}, {"1", slot_range(8, 16'384), {"x"}}};
  CHECK(*routing_of(redis_cluster, other, "7") != map);
  CHECK(*slot_routing::from_list(redis_cluster, list, "7") == map);
  STATIC_CHECK(std::is_nothrow_move_constructible_v<slot_routing>);
  STATIC_CHECK(std::is_copy_assignable_v<slot_routing>);
}

TEST_CASE("keys of more owners than sixteen bits can number are grouped") {
  using wide = keyspan::partition<std::int64_t>;
  constexpr std::int64_t count = 70'000;
  std::vector<wide> list;
  for (std::int64_t i = 0; i < count; ++i) {
    auto const lower = i == 0 ? std::numeric_limits<std::int64_t>::min() : i * 1000;
    list.push_back({.id = std::to_string(i), .range = {lower, space_end}});
    if (i > 0)
      list[static_cast<std::size_t>(i - 1)].range = {
          list[static_cast<std::size_t>(i - 1)].range.lower(), lower};
  }
  auto const map = *routing_of(numbers_as_they_are{}, std::move(list));
  std::vector<int> keys;
  for (int i = 0; i < count; i += 7) keys.push_back(static_cast<int>(count - 1 - i) * 1000);
  auto const groups = map.group(keys);
  REQUIRE(groups.size() == keys.size());
  std::size_t at = keys.size();
  for (auto const& [owner, positions] : groups) {
    --at;  // the keys fall
    REQUIRE(positions.size() == 1);
    REQUIRE(positions[0] == at);
    REQUIRE(owner.id == std::to_string(keys[at] / 1000));
  }
}

TEST_CASE("routings that differ in who is gone are different") {
  auto const with = routing_of(redis_cluster, {{"4", slot_range(0, 16'384), {"1", "2"}}});
  auto const without = routing_of(redis_cluster, {{"4", slot_range(0, 16'384), {"1"}}});
  CHECK(with.value() == with.value());
  CHECK(!(with.value() == without.value()));
}

TEST_CASE("a parent without a name is refused beside others that have one") {
  CHECK(routing_of(redis_cluster, {{"4", slot_range(0, 16'384), {"1", "", "2"}}}).error().code ==
        errc::malformed);
}

}  // namespace
