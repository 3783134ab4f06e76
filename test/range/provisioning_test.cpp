// test/range/provisioning_test.cpp — small numbers all of them, great ones at their ends, and cuts
// under every scheme.
#include <keyspan/core/error.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/provisioning.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using keyspan::container_demand;
using keyspan::errc;
using keyspan::planned_split;
using keyspan::provisioning_limits;
using keyspan::space_end;
using keyspan::split_point;
using keyspan::splits_needed;
using keyspan::token_range;
using keyspan::whole_space;
using test::check;

constexpr std::uint64_t most = (std::numeric_limits<std::uint64_t>::max)();
constexpr std::uint64_t gigabyte = 1'000'000'000;

constexpr bool the_example_of_provisioning_reads_as_it_should() {
  // [region: example]
  constexpr std::uint64_t gb = 1'000'000'000;
  check(keyspan::partitions_needed({.request_units = 45'000, .bytes = 12 * gb}) == 5);
  check(keyspan::partitions_needed({.request_units = 45'000, .bytes = 120 * gb}) == 12);

  // Three partitions, and what each holds: the second one is full.
  std::vector<std::uint64_t> const bytes{4 * gb, 10 * gb, 6 * gb};
  auto const now = keyspan::splits_needed(bytes, 30'000);
  check(now == std::vector<keyspan::planned_split>{{.index = 1, .parts = 2}});
  auto const more = keyspan::splits_needed(bytes, 48'000);  // the fullest of the others as well
  check(more == std::vector<keyspan::planned_split>{{.index = 1, .parts = 2}, {.index = 2}});
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_provisioning_reads_as_it_should);

TEST_CASE("the example of a split point reads as it should") {
  // [region: split_point]
  auto const range = whole_space(keyspan::cosmos_v2);
  auto const middle = keyspan::split_point(keyspan::cosmos_v2, range);
  check(keyspan::to_hex(middle)->view() == "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");

  // What was read from the container: one tenant has most of the items.
  std::vector<keyspan::token128> sample;
  for (auto const* const tenant : {"fabrikam", "fabrikam", "contoso", "fabrikam", "redmond"})
    sample.push_back(keyspan::token_of(keyspan::cosmos_v2, tenant));
  auto const cut = keyspan::split_point(keyspan::cosmos_v2, range, sample);
  check(cut == keyspan::token_of(keyspan::cosmos_v2, "fabrikam"));
  // [end: split_point]
}

// By repeated subtraction: no quotient is rounded here.
constexpr std::uint64_t counted_out(std::uint64_t asked_for, std::uint64_t one) {
  std::uint64_t count = 1;
  for (; asked_for > one; asked_for -= one) ++count;
  return count;
}

constexpr bool as_many_are_needed_as_serve_and_hold_it_all(std::uint64_t room_at_most,
                                                           std::uint64_t asked_at_most) {
  for (std::uint64_t t = 1; t <= room_at_most; ++t) {
    for (std::uint64_t room = 1; room <= room_at_most; ++room) {
      provisioning_limits const limits{.partition_request_units = t, .partition_bytes = room};
      for (std::uint64_t units = 0; units <= asked_at_most; ++units) {
        check(partitions_for_throughput(units, limits) == counted_out(units, t));
        for (std::uint64_t bytes = 0; bytes <= asked_at_most; ++bytes) {
          check(partitions_for_storage(bytes, limits) == counted_out(bytes, room));
          check(keyspan::partitions_needed({.request_units = units, .bytes = bytes}, limits) ==
                (std::max)(counted_out(units, t), counted_out(bytes, room)));
        }
      }
    }
  }
  return true;
}
static_assert(as_many_are_needed_as_serve_and_hold_it_all(3, 8));
TEST_CASE("as many partitions are needed as serve and hold it all") {
  check(as_many_are_needed_as_serve_and_hold_it_all(7, 22));
}

constexpr bool the_limits_are_those_of_the_documents() {
  provisioning_limits const limits;
  check(limits.partition_request_units == 10'000 && limits.partition_bytes == 10 * gigabyte);
  check(limits.most_fixed_request_units == 10'000 && limits.most_fixed_bytes == 10 * gigabyte);
  check(limits.least_unlimited_request_units == 2'500);
  check(keyspan::partitions_for_throughput(10'000) == 1);
  check(keyspan::partitions_for_throughput(10'001) == 2);
  check(keyspan::partitions_for_storage(10 * gigabyte) == 1);
  check(keyspan::partitions_for_storage(10 * gigabyte + 1) == 2);
  // Today's partitions are larger.
  check(keyspan::partitions_for_storage(120 * gigabyte, {.partition_bytes = 50 * gigabyte}) == 3);
  return true;
}
CHECK_BOTH(the_limits_are_those_of_the_documents);

constexpr bool a_container_that_is_asked_for_nothing_has_one_partition() {
  check(keyspan::partitions_needed({}) == 1);
  check(keyspan::partitions_for_throughput(0) == 1 && keyspan::partitions_for_storage(0) == 1);
  check(splits_needed(std::vector<std::uint64_t>{0}, 0).empty());
  check(keyspan::fits_fixed_container({}).has_value());
  check(!keyspan::fits_unlimited_container({}));
  return true;
}
CHECK_BOTH(a_container_that_is_asked_for_nothing_has_one_partition);

constexpr bool the_greatest_numbers_do_not_overflow() {
  provisioning_limits const ones{.partition_request_units = 1, .partition_bytes = 1};
  check(partitions_for_throughput(most, ones) == most);
  check(partitions_for_storage(most, ones) == most);
  provisioning_limits const twos{.partition_request_units = 2, .partition_bytes = most};
  check(partitions_for_throughput(most, twos) == most / 2 + 1);
  check(partitions_for_storage(most, twos) == 1);
  check(keyspan::partitions_needed({.request_units = most, .bytes = most}) == most / 10'000 + 1);

  std::uint64_t const half = most / 2 + 1;  // 2^63
  std::vector<std::uint64_t> const two{half, half - 1};
  check(splits_needed(two, most, ones) ==
        std::vector<planned_split>{{0, half + 1}, {1, half}});  // its storage wants more than that
  check(splits_needed(std::vector<std::uint64_t>{most, most, most}, most, ones).size() == 3);
  check(splits_needed(std::vector<std::uint64_t>{0}, most, ones) ==
        std::vector<planned_split>{{0, most}});
  check(splits_needed(std::vector<std::uint64_t>{0, 0, 1}, most, {.partition_request_units = 1}) ==
        std::vector<planned_split>{{0, most / 3}, {1, most / 3}, {2, most / 3}});
  check(splits_needed(std::vector<std::uint64_t>{0, 1}, most, {.partition_request_units = 1}) ==
        std::vector<planned_split>{{0, most / 2}, {1, most / 2 + 1}});
  return true;
}
CHECK_BOTH(the_greatest_numbers_do_not_overflow);

constexpr bool a_container_fits_where_its_numbers_are_within_the_limits() {
  provisioning_limits const limits{
      .most_fixed_request_units = 5, .most_fixed_bytes = 3, .least_unlimited_request_units = 4};
  for (std::uint64_t units = 0; units <= 7; ++units) {
    for (std::uint64_t bytes = 0; bytes <= 5; ++bytes) {
      container_demand const demand{.request_units = units, .bytes = bytes};
      auto const fixed = fits_fixed_container(demand, limits);
      check(fixed.has_value() == (units <= 5 && bytes <= 3));
      if (!fixed) check(fixed.error().code == errc::too_large);
      auto const unlimited = fits_unlimited_container(demand, limits);
      check(unlimited.has_value() == (units >= 4));
      if (!unlimited) check(unlimited.error().code == errc::invalid_options);
    }
  }
  return true;
}
CHECK_BOTH(a_container_fits_where_its_numbers_are_within_the_limits);

TEST_CASE("what does not fit is named with its limit and with what to do") {
  CHECK(keyspan::fits_fixed_container({.request_units = 12'000}).error().text ==
        "a fixed container has 10000 request units a second at most, not 12000; ask for less, or "
        "for an unlimited one");
  CHECK(
      keyspan::fits_fixed_container({.request_units = 400, .bytes = 11 * gigabyte}).error().text ==
      "a fixed container holds 10000000000 bytes at most, not 11000000000; store less, or in an "
      "unlimited one");
  CHECK(keyspan::fits_unlimited_container({.request_units = 400}).error().text ==
        "an unlimited container has 2500 request units a second at least, not 400; ask for more, "
        "or for a fixed one");
  // The longest numbers have room as well.
  provisioning_limits const limits{.most_fixed_request_units = most - 1,
                                   .most_fixed_bytes = most - 1,
                                   .least_unlimited_request_units = most};
  CHECK(!fits_fixed_container({.request_units = most}, limits).error().text.is_cut());
  CHECK(!fits_fixed_container({.bytes = most}, limits).error().text.is_cut());
  CHECK(!fits_unlimited_container({.request_units = most - 1}, limits).error().text.is_cut());
}

// One part after another, by the words of the rule.
constexpr std::vector<planned_split> planned_one_by_one(std::vector<std::uint64_t> const& bytes,
                                                        std::uint64_t units,
                                                        provisioning_limits const& limits) {
  std::vector<std::uint64_t> parts(bytes.size(), 1);
  std::uint64_t count = bytes.size();
  // The largest of even parts is full; where a single byte fills one, as many as have none.
  auto const is_full = [&](std::uint64_t held, std::uint64_t in) {
    return limits.partition_bytes == 1 ? in <= held
                                       : (held + in - 1) / in >= limits.partition_bytes;
  };
  for (std::size_t i = 0; i < bytes.size(); ++i)
    while (is_full(bytes[i], parts[i])) ++parts[i], ++count;
  while (units > count * limits.partition_request_units) {
    std::size_t chosen = 0;
    for (std::size_t i = 1; i < bytes.size(); ++i)
      if (parts[i] < parts[chosen] || (parts[i] == parts[chosen] && bytes[i] > bytes[chosen]))
        chosen = i;
    ++parts[chosen];
    ++count;
  }
  std::vector<planned_split> splits;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (parts[i] > 1) splits.push_back({i, parts[i]});
  return splits;
}

// Every container of up to so many partitions that hold less than `bytes_below` each.
constexpr bool plans_are_those_made_one_by_one(std::size_t partitions_at_most,
                                               std::uint64_t bytes_below,
                                               std::uint64_t units_at_most) {
  for (std::size_t partitions = 1; partitions <= partitions_at_most; ++partitions) {
    std::vector<std::uint64_t> bytes(partitions, 0);
    for (bool is_last = false; !is_last;) {
      for (std::uint64_t t = 1; t <= 3; ++t) {
        for (std::uint64_t room = 1; room <= 3; ++room) {
          provisioning_limits const limits{.partition_request_units = t, .partition_bytes = room};
          for (std::uint64_t units = 0; units <= units_at_most; ++units)
            check(splits_needed(bytes, units, limits) == planned_one_by_one(bytes, units, limits));
        }
      }
      is_last = true;
      for (auto& held : bytes) {
        if (++held < bytes_below) {
          is_last = false;
          break;
        }
        held = 0;
      }
    }
  }
  return true;
}
static_assert(plans_are_those_made_one_by_one(2, 2, 4));
TEST_CASE("plans are those made one by one") { check(plans_are_those_made_one_by_one(4, 5, 20)); }

constexpr bool plans_of_many_partitions_are_those_made_one_by_one() {
  test::random random{11};
  for (int round = 0; round < 40; ++round) {
    std::vector<std::uint64_t> bytes(1 + random.below(30));
    for (auto& held : bytes) held = random.below(random.chance(20) ? 1'000 : 60);
    provisioning_limits const limits{.partition_request_units = 1 + random.below(9),
                                     .partition_bytes = 1 + random.below(100)};
    std::uint64_t const units = random.below(1'500);
    check(splits_needed(bytes, units, limits) == planned_one_by_one(bytes, units, limits));
  }
  return true;
}
TEST_CASE("plans of many partitions are those made one by one") {
  check(plans_of_many_partitions_are_those_made_one_by_one());
}

constexpr bool a_plan_that_was_carried_out_leaves_nothing_to_split() {
  test::random random{12};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> bytes(1 + random.below(8));
    for (auto& held : bytes) held = random.below(500'000);
    provisioning_limits const limits{.partition_request_units = 7, .partition_bytes = 75'000};
    std::uint64_t const units = random.below(70);
    auto const plan = splits_needed(bytes, units, limits);
    std::vector<std::uint64_t> after;
    std::size_t next = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bool const is_split = next < plan.size() && plan[next].index == i;
      std::uint64_t const parts = is_split ? plan[next++].parts : 1;
      for (std::uint64_t part = 0; part < parts; ++part)  // as evenly as bytes can be shared out
        after.push_back(bytes[i] / parts + (part < bytes[i] % parts ? 1 : 0));
    }
    check(next == plan.size());
    check(splits_needed(after, units, limits).empty());
  }
  return true;
}
TEST_CASE("a plan that was carried out leaves nothing to split") {
  check(a_plan_that_was_carried_out_leaves_nothing_to_split());
}

TEST_CASE("limits without room and a container without partitions break a promise") {
  auto const promise = "a partition serves and holds something";
  for (auto const& limits : {provisioning_limits{.partition_request_units = 0},
                             provisioning_limits{.partition_bytes = 0}}) {
    CHECK(test::promise_broken_by([&] { return partitions_for_throughput(1, limits); }) == promise);
    CHECK(test::promise_broken_by([&] { return partitions_for_storage(1, limits); }) == promise);
    CHECK(test::promise_broken_by([&] { return partitions_needed({}, limits); }) == promise);
    CHECK(test::promise_broken_by(
              [&] { return splits_needed(std::vector<std::uint64_t>{1}, 1, limits); }) == promise);
  }
  CHECK(test::promise_broken_by([&] { return splits_needed({}, 1); }) ==
        "a container has one partition at least");
}

// All samples of so many tokens below `tokens_below`, under all ranges of these.
constexpr bool a_measured_cut_is_the_most_even_one(int sample_at_most, int tokens_below) {
  for (int size = 0; size <= sample_at_most; ++size) {
    std::vector<int> sample(static_cast<std::size_t>(size), 0);
    for (bool is_last = false; !is_last;) {
      for (int lower = 0; lower < tokens_below; ++lower) {
        for (int upper = lower + 1; upper <= tokens_below; ++upper) {
          auto const range = upper == tokens_below ? token_range<int>{lower, space_end}
                                                   : token_range<int>{lower, upper};
          auto const smaller_part = [&](int at) {
            std::ptrdiff_t const left =
                std::ranges::count_if(sample, [&](int t) { return range.contains(t) && t < at; });
            std::ptrdiff_t const right =
                std::ranges::count_if(sample, [&](int t) { return range.contains(t) && t >= at; });
            return (std::min)(left, right);
          };
          std::ptrdiff_t best = 0;
          for (int at = lower + 1; at < upper; ++at) best = (std::max)(best, smaller_part(at));
          auto const cut = split_point(range, sample);
          check(cut.has_value() == (best > 0));
          if (cut) {
            check(lower < *cut && *cut < upper);
            check(smaller_part(*cut) == best);
            check(std::ranges::count(sample, *cut) > 0);
          } else {
            check(cut.error().code == errc::invalid_range);
          }
        }
      }
      is_last = true;
      for (auto& token : sample) {
        if (++token < tokens_below) {
          is_last = false;
          break;
        }
        token = 0;
      }
    }
  }
  return true;
}
static_assert(a_measured_cut_is_the_most_even_one(3, 3));
TEST_CASE("a measured cut is the most even one") {
  check(a_measured_cut_is_the_most_even_one(5, 5));
}

constexpr bool the_order_of_a_sample_does_not_matter() {
  std::vector<int> sample{1, 2, 2, 3, 7, 7, 7, 9};
  token_range<int> const range{0, 100};
  do {
    check(split_point(range, sample) == 7);
  } while (std::ranges::next_permutation(sample).found);
  // Of two cuts that are as even, the lower one.
  check(split_point(range, std::vector{5, 6, 6, 7}) == 6);
  return true;
}
TEST_CASE("the order of a sample does not matter") {
  check(the_order_of_a_sample_does_not_matter());
}

TEST_CASE("a sample that cannot be cut is named") {
  token_range<int> const range{10, 20};
  CHECK(split_point(range, std::vector<int>{}).error().text ==
        "no token of the sample is in [10, 20)");
  CHECK(split_point(range, std::vector{9, 20}).error().text ==
        "no token of the sample is in [10, 20)");
  CHECK(split_point(range, std::vector{15, 15, 9, 15}).error().text ==
        "all 3 tokens of the sample in the range are 15: keys of one token cannot be kept apart");
  std::vector const one{keyspan::token_of(keyspan::cosmos_v2, "redmond")};
  CHECK(split_point(keyspan::cosmos_v2, whole_space(keyspan::cosmos_v2), one).error().text ==
        "all 1 tokens of the sample in the range are 22E342F38A486A088463DFF7838A5963: keys of one "
        "token cannot be kept apart");
  keyspan::token_range<keyspan::token128> const upper_half{{1, 0}, space_end};
  CHECK(split_point(upper_half, {}).error().text ==
        "no token of the sample is in [00000000000000010000000000000000, FF)");
  // The first token of a range may be the only one, and the last one of the space as well.
  CHECK(split_point(token_range<int>{15, 20}, std::vector{15, 15}).error().code ==
        errc::invalid_range);
  CHECK(split_point(token_range<int>{15, 20}, std::vector{15, 16}) == 16);
}

template <class Scheme>
void check_cuts_under(Scheme const& scheme) {
  using token = typename Scheme::token_type;
  auto const whole = whole_space(scheme);
  auto const middle = split_point(scheme, whole);
  REQUIRE(middle.has_value());
  check(middle == scheme.midpoint(scheme.minimum(), space_end));
  auto const [left, right] = split(whole, *middle);

  std::vector<token> sample;
  for (int i = 0; i < 1'001; ++i) {
    auto const made = keyspan::token_of(scheme, "key-" + std::to_string(i));
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(made)>, token>) {
      sample.push_back(made);
    } else {
      sample.push_back(made.value());
    }
  }
  for (auto const& range : {whole, left, right}) {
    auto const cut = split_point(scheme, range, sample);
    REQUIRE(cut.has_value());
    check(cut == split_point(range, sample));
    auto const parts = split(range, *cut);  // breaks a promise where it is not inside
    auto const in = [&](auto const& part) {
      return std::ranges::count_if(sample, [&](token const& t) { return part.contains(t); });
    };
    check(in(parts.first) + in(parts.second) == in(range));
    check(in(parts.second) - in(parts.first) <= 3 && in(parts.first) - in(parts.second) <= 3);
  }
  // Where nothing was measured the scheme decides: in the left half there is no token of the right.
  std::erase_if(sample, [&](token const& t) { return left.contains(t); });
  check(split_point(scheme, left, sample) == split_point(scheme, left));
  check(split_point(scheme, left, {}) == split_point(scheme, left));
  check(!split_point(left, sample));
  // Where all is one, the middle would help nobody.
  std::vector<token> const equal(5, sample.front());
  check(split_point(scheme, right, equal).error().code == errc::invalid_range);
}

TEST_CASE("a sample that is not in the range is refused by bounds that can be told apart") {
  std::string const tenant(52, '3');
  auto const at = [&](std::string_view end) {
    return *keyspan::cosmos_multihash.from_hex(tenant + std::string{end});
  };
  token_range const range{at("00000000000A"), at("00000000000B")};
  CHECK(keyspan::split_point(range, {}).error().text ==
        "no token of the sample is in [333333333333\xE2\x80\xA6"
        "00000000A, 333333333333\xE2\x80\xA6"
        "00000000B)");
}

TEST_CASE("every scheme cuts in its middle and at the measured one") {
  check_cuts_under(keyspan::cosmos_v1);
  check_cuts_under(keyspan::cosmos_v2);
  check_cuts_under(keyspan::cosmos_multihash);
  check_cuts_under(keyspan::any_scheme{keyspan::cosmos_v1});
  check_cuts_under(keyspan::any_scheme{keyspan::cosmos_v2});
  check_cuts_under(keyspan::any_scheme{keyspan::cosmos_multihash});
  check_cuts_under(keyspan::redis_cluster);
  check_cuts_under(keyspan::fast64);
  check_cuts_under(keyspan::cassandra_scheme{});
}

TEST_CASE("a range without a middle says so") {
  token_range<std::uint16_t> const one{7, 8};
  CHECK(split_point(keyspan::redis_cluster, one).error().to_text() ==
        "invalid_range: no token lies between 7 and 8");
  CHECK(split_point(keyspan::redis_cluster, one, std::vector<std::uint16_t>{6, 8}).error().code ==
        errc::invalid_range);
}

TEST_CASE("a partition splits into as few parts as are below the limit") {
  auto const parts_of = [](std::uint64_t held, std::uint64_t limit) {
    auto const plan = splits_needed(std::array{held}, 1, {.partition_bytes = limit});
    return plan.empty() ? std::uint64_t{1} : plan.front().parts;
  };
  for (std::uint64_t limit = 2; limit < 30; ++limit) {
    for (std::uint64_t held = 0; held < 200; ++held) {
      std::uint64_t fewest = 1;
      while ((held + fewest - 1) / fewest >= limit) ++fewest;  // the largest of even parts is full
      CHECK(parts_of(held, limit) == fewest);
    }
  }
  CHECK(parts_of(most, 1) == most);
  CHECK(parts_of(most - 1, 1) == most);
  CHECK(parts_of(most, 2) == most);
  CHECK(parts_of(most, most) == 2);
  CHECK(parts_of(19'999'999'999, 10'000'000'000) == 3);
}

// ----- cuts into many parts
// -------------------------------------------------------------------------

template <class Scheme>
void is_cut_into_parts(Scheme const& scheme) {
  auto const whole = whole_space(scheme);
  for (std::size_t parts = 1; parts <= 40; ++parts) {
    auto const cuts = keyspan::split_points(scheme, whole, parts);
    REQUIRE(cuts.has_value());
    REQUIRE(cuts->size() == parts - 1);
    CHECK(split(whole, *cuts).size() == parts);  // they rise inside of the range, or this throws
    auto map = keyspan::range_map{whole, 0};
    std::vector<int> values(parts, 1);
    if (parts > 1) map.split(*cuts, values);
    CHECK(map.size() == parts);
  }
}

TEST_CASE("the space of every scheme is cut into any number of parts") {
  is_cut_into_parts(keyspan::cosmos_v1);
  is_cut_into_parts(keyspan::cosmos_v2);
  is_cut_into_parts(keyspan::cosmos_multihash);
  is_cut_into_parts(keyspan::any_scheme{keyspan::cosmos_v2});
  is_cut_into_parts(keyspan::redis_cluster);
  is_cut_into_parts(keyspan::cassandra);
  is_cut_into_parts(keyspan::fast64);
}

TEST_CASE("parts of equal size begin where a container of so many partitions is cut") {
  auto const whole = whole_space(keyspan::cosmos_v2);
  auto const cuts = keyspan::split_points(keyspan::cosmos_v2, whole, 5).value();
  for (std::size_t i = 1; i < 5; ++i) CHECK(cuts[i - 1] == keyspan::cosmos_v2.boundary(i, 5));
  // A scheme that knows midpoints alone: halves, and the first one halved once more.
  auto const slots =
      keyspan::split_points(keyspan::redis_cluster, whole_space(keyspan::redis_cluster), 3);
  CHECK(slots.value() == std::vector<std::uint16_t>{4096, 8192});
}

TEST_CASE("a range without room for so many parts is told so") {
  auto const slots = token_range<std::uint16_t>{16'380, space_end};
  CHECK(keyspan::split_points(keyspan::redis_cluster, slots, 4).has_value());
  CHECK(keyspan::split_points(keyspan::redis_cluster, slots, 5).error().code ==
        errc::invalid_range);
  token_range const narrow{keyspan::token128{0, 7}, keyspan::token128{0, 9}};
  CHECK(keyspan::split_points(keyspan::cosmos_v2, narrow, 2).has_value());
  CHECK(keyspan::split_points(keyspan::cosmos_v2, narrow, 3).error().code == errc::invalid_range);
}

// Of every small sample, in every number of parts: the parts are what the names say, and no other
// cut between its neighbours is nearer to the share wanted.
constexpr bool a_sample_is_shared_out_among_any_number_of_parts() {
  token_range const range{0, 4};
  // Compilers bound the steps of a constant expression: there a few samples have to do.
  int step = 1;
  if (std::is_constant_evaluated()) step = 61;
  for (int code = 0; code < 5 * 5 * 5 * 5; code += step) {
    std::vector<int> sample;
    for (int left = code, i = 0; i < 4; ++i, left /= 5) sample.push_back(left % 5);
    auto inside = sample;
    std::erase(inside, 4);  // outside of the range
    std::sort(inside.begin(), inside.end());
    auto distinct = inside;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (std::size_t parts = 1; parts <= 4; ++parts) {
      auto const cuts = keyspan::split_points(range, parts, sample);
      check(cuts.has_value() == (distinct.size() >= parts));
      if (!cuts) {
        check(cuts.error().code == errc::invalid_range);
        continue;
      }
      check(cuts->size() == parts - 1);
      int before = inside.front();
      for (int const cut : *cuts) {
        check(cut > before && std::binary_search(inside.begin(), inside.end(), cut));
        before = cut;
      }
      if (parts != 2) continue;
      auto const less = [&](int at) {
        return std::lower_bound(inside.begin(), inside.end(), at) - inside.begin();
      };
      auto const off = [&](int at) {
        auto const distance = 2 * less(at) - static_cast<std::ptrdiff_t>(inside.size());
        return distance < 0 ? -distance : distance;
      };
      for (std::size_t i = 1; i < distinct.size(); ++i)
        check(off(cuts->front()) <= off(distinct[i]));
    }
  }
  return true;
}
CHECK_BOTH(a_sample_is_shared_out_among_any_number_of_parts);

constexpr bool parts_of_tokens_that_differ_are_of_equal_size() {
  std::size_t count = 9;
  if (!std::is_constant_evaluated()) count = 20;  // more than constants have steps for
  std::vector<int> sample;
  for (std::size_t n = 1; n <= count; ++n) {
    sample.push_back(static_cast<int>(n) - 1);
    token_range const all{0, static_cast<int>(n)};
    for (std::size_t parts = 1; parts <= n; ++parts) {
      auto const ranges = split(all, *keyspan::split_points(all, parts, sample));
      check(ranges.size() == parts);
      auto const size_of = [](token_range<int> const& part) {
        return part.upper().at() - part.lower();
      };
      int least = size_of(ranges.front());
      int greatest = least;
      for (auto const& part : ranges) {
        least = std::min(least, size_of(part));
        greatest = std::max(greatest, size_of(part));
      }
      check(greatest - least <= 1);
    }
  }
  return true;
}
CHECK_BOTH(parts_of_tokens_that_differ_are_of_equal_size);

// Every way in which up to six different tokens are met up to three times each, into every number
// of parts: between the neighbours of a cut there is no other that is nearer to the share, and
// none that is as near and comes first.
TEST_CASE("no other cut between its neighbours is nearer to the share") {
  token_range const all{0, 6};
  int looked_at = 0;
  int equally_near = 0;
  for (int code = 0; code < 4 * 4 * 4 * 4 * 4 * 4; ++code) {
    std::vector<int> sample;
    for (int left = code, token = 0; token < 6; ++token, left /= 4)
      sample.insert(sample.end(), static_cast<std::size_t>(left % 4), token);
    auto distinct = sample;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    auto const size = static_cast<std::ptrdiff_t>(sample.size());
    for (std::size_t parts = 2; parts <= distinct.size(); ++parts) {
      auto const cuts = keyspan::split_points(all, parts, sample).value();
      for (std::size_t i = 1; i < parts; ++i) {
        auto const off = [&](int cut) {
          auto const before = std::lower_bound(sample.begin(), sample.end(), cut) - sample.begin();
          auto const count = static_cast<std::ptrdiff_t>(parts);
          return std::abs(before * count - size * static_cast<std::ptrdiff_t>(i));
        };
        int const taken = cuts[i - 1];
        int const from = i == 1 ? distinct.front() : cuts[i - 2];
        for (int const other : distinct) {
          if (other <= from || (i + 1 < parts && other >= cuts[i]) || other == taken) continue;
          ++looked_at;
          if (off(other) < off(taken) || (off(other) == off(taken) && other < taken))
            FAIL("of sample " << code << " in " << parts << " parts, " << other << " is nearer");
          equally_near += off(other) == off(taken);
        }
      }
    }
  }
  CHECK(looked_at > 10'000);
  CHECK(equally_near > 1'000);
}

TEST_CASE("of two cuts that are equally near to an even share the first is taken") {
  token_range const all{0, 10};
  CHECK(keyspan::split_points(all, 2, std::vector{1, 2, 3}).value() == std::vector{2});
  CHECK(keyspan::split_points(all, 4, std::vector{1, 2, 3, 4, 5, 6}).value() ==
        std::vector{2, 4, 5});
}

TEST_CASE("a large sample is shared out evenly, however its tokens lie") {
  test::random random{17};
  std::vector<std::uint64_t> sample;
  for (int i = 0; i < 10'000; ++i) sample.push_back(random() >> random.below(50));
  token_range<std::uint64_t> const all{0, space_end};
  for (std::size_t const parts : {2U, 3U, 7U, 64U}) {
    auto const cuts = keyspan::split_points(all, parts, sample).value();
    auto const ranges = split(all, cuts);
    REQUIRE(ranges.size() == parts);
    for (auto const& part : ranges) {
      auto const held = std::count_if(sample.begin(), sample.end(),
                                      [&](std::uint64_t t) { return part.contains(t); });
      CHECK(std::abs(held - static_cast<std::ptrdiff_t>(10'000 / parts)) < 30);
    }
  }
  CHECK(test::promise_broken_by([&] { return keyspan::split_points(all, 0, sample); }) ==
        "a range is cut into one part at least");
}

}  // namespace
