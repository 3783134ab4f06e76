// test/key/bucketed_test.cpp — one hot key spread over several.
#include <keyspan/key/bucketed.hpp>
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/time_bucket.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct event {
  std::string_view day{};
  std::string_view id{};
  std::optional<int> number{};
};
struct owner {
  std::string day;
  std::string id;
};

using keyspan::bucket_keys;
using keyspan::bucket_of_row;
using keyspan::bucketed;
using keyspan::errc;
using keyspan::key_of;
using keyspan::partition_key;
using keyspan::undefined;
using test::check;

// Computed by the formula in another language.
constexpr bool the_bucket_of_a_row_is_the_same_in_every_language() {
  constexpr std::uint32_t all = 0xFFFF'FFFF;  // shows nearly all of the hash
  check(bucket_of_row("", all) == 2'872'998'923);
  check(bucket_of_row("a", all) == 444'641'715);
  check(bucket_of_row("b", all) == 2'193'908'274);
  check(bucket_of_row("redmond", all) == 2'894'975'844);
  check(bucket_of_row("Z\xC3\xBCrich", all) == 2'908'468'631);
  check(bucket_of_row("\xE6\x97\xA5\xE6\x9C\xAC", all) == 4'026'831'135);
  check(bucket_of_row("17", all) == 823'834'948);
  check(bucket_of_row("order-17", 8) == 0);
  check(bucket_of_row("redmond", 1000) == 844);
  check(bucket_of_row("anything", 1) == 0);
  return true;
}
CHECK_BOTH(the_bucket_of_a_row_is_the_same_in_every_language);

constexpr bool a_hot_key_is_spread_by_row_id() {
  // [region: example]
  constexpr auto spread = bucketed(&event::day, 8, &event::id);
  check(*spread(event{"2026-11-18", "redmond"}) == partition_key{"2026-11-18.4"});
  // All events of the day are in these eight.
  auto const keys = spread.all_keys("2026-11-18");
  check(keys.size() == 8);
  check(keys[4] == partition_key{"2026-11-18.4"});
  // [end: example]
  std::size_t next = 0;
  for (partition_key const key : keys) check(key == keys[next++]);
  check(next == 8);
  check(keys[0] == partition_key{"2026-11-18.0"} && keys[7] == partition_key{"2026-11-18.7"});
  check(spread.buckets() == 8);
  return true;
}
CHECK_BOTH(a_hot_key_is_spread_by_row_id);

constexpr bool numbers_are_spread_and_identify_rows() {
  auto const number = [](event const& e) { return e.id.size() * 17; };
  event const one{"5", "x", 3};
  check(*bucketed(&event::number, 4, &event::day)(one) ==
        partition_key{std::string_view{bucket_of_row("5", 4) == 0   ? "3.0"
                                       : bucket_of_row("5", 4) == 1 ? "3.1"
                                       : bucket_of_row("5", 4) == 2 ? "3.2"
                                                                    : "3.3"}});
  check(*bucketed(&event::day, 8, number)(one) == partition_key{"5.4"});  // by the text "17"
  check(bucketed(&event::day, 2, number).all_keys(1.5)[1] == partition_key{"1.5.1"});
  check(bucketed(&event::day, 2, number).all_keys(true)[0] == partition_key{"true.0"});
  return true;
}
CHECK_BOTH(numbers_are_spread_and_identify_rows);

constexpr bool what_is_missing_is_not_spread() {
  auto const spread = bucketed(&event::number, 8, &event::id);
  check(*spread(event{"d", "x"}) == partition_key{undefined});
  check(spread.all_keys(undefined).size() == 1);
  check(spread.all_keys(undefined)[0] == partition_key{undefined});
  check(spread.all_keys(keyspan::null)[0] == partition_key{keyspan::null});
  // A row without an id is in no bucket.
  auto const refused = bucketed(&event::day, 8, &event::number)(event{"d", "x"});
  check(refused.error().code == errc::not_representable);
  check(refused.error().text == "a row whose id is undefined is in no bucket");
  return true;
}
CHECK_BOTH(what_is_missing_is_not_spread);

constexpr bool a_row_whose_id_is_null_is_in_no_bucket() {
  auto const nothing = [](event const&) { return keyspan::null; };
  auto const refused = bucketed(&event::day, 8, nothing)(event{"d", "x"});
  check(refused.error().code == errc::not_representable);
  check(refused.error().text == "a row whose id is null is in no bucket");
  return true;
}
CHECK_BOTH(a_row_whose_id_is_null_is_in_no_bucket);

TEST_CASE("every row is found among the keys to read") {
  auto const spread = bucketed(&event::day, 13, &event::id);
  auto const keys = spread.all_keys(std::string{"2026-11-18"});
  std::vector<partition_key> const all(keys.begin(), keys.end());
  REQUIRE(all.size() == 13);
  for (int i = 0; i < 1000; ++i) {
    auto const id = std::to_string(i);
    auto const key = spread(event{"2026-11-18", id});
    CHECK(std::ranges::find(all, *key) != all.end());
    CHECK(*key == all[bucket_of_row(id, 13)]);
  }
}

TEST_CASE("the keys to read are a range") {
  static_assert(std::ranges::forward_range<bucket_keys> && std::ranges::sized_range<bucket_keys>);
  auto const keys = bucketed(&event::day, 3, &event::id).all_keys(partition_key{"k"});
  std::string texts;
  for (auto const& text :
       keys | std::views::transform([](partition_key const& key) { return key.to_text(); }))
    texts += text;
  CHECK(texts == R"(["k.0"]["k.1"]["k.2"])");
  CHECK(std::ranges::distance(keys) == 3);
}

// Chi-square over the buckets; far above what chance gives in one of a million.
bool balanced(std::vector<std::size_t> const& counts, std::size_t rows) {
  double const expected = static_cast<double>(rows) / static_cast<double>(counts.size());
  double sum = 0;
  for (auto const count : counts) {
    double const off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  double const freedom = static_cast<double>(counts.size()) - 1;
  return sum < freedom + 5 * std::max(2.0, std::sqrt(2 * freedom)) + 5;
}

TEST_CASE("rows are shared out evenly, whatever their ids look like") {
  test::random random{8};
  auto const guid = [&] {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 32; ++i) text += digits[static_cast<std::size_t>(random.below(16))];
    return text;
  };
  constexpr std::size_t rows = 20'000;
  for (std::uint32_t const buckets : {2u, 3u, 4u, 7u, 8u, 10u, 16u, 64u, 100u}) {
    std::vector<std::size_t> by_number(buckets), by_twin(buckets), by_guid(buckets),
        by_suffix(buckets);
    for (std::size_t i = 0; i < rows; ++i) {
      auto const number = std::to_string(i);
      ++by_number[bucket_of_row(number, buckets)];
      ++by_twin[bucket_of_row(number + number, buckets)];  // an even number of every character
      ++by_guid[bucket_of_row(guid(), buckets)];
      ++by_suffix[bucket_of_row("tenant/device/" + number + "/reading", buckets)];
    }
    CAPTURE(buckets);
    CHECK(balanced(by_number, rows));
    CHECK(balanced(by_twin, rows));
    CHECK(balanced(by_guid, rows));
    CHECK(balanced(by_suffix, rows));
  }
}

TEST_CASE("a bucketed key is one level of a hierarchy") {
  auto const by_host = key_of(
      &event::id,
      bucketed(keyspan::time_bucket([](event const&) { return 0; }, keyspan::time_unit::month), 4,
               &event::day));
  auto const key = by_host(event{"row", "host"});
  REQUIRE(key->size() == 2);
  CHECK((*key)[0] == keyspan::key_value{"host"});
  CHECK((*key)[1].string().starts_with("1970-01."));
}

TEST_CASE("spreading allocates nothing up to 64 bytes") {
  auto const spread = bucketed(&owner::day, 4'000'000'000, &owner::id);
  owner const one{std::string(53, 'd'), std::string(1000, 'i')};
  std::size_t size = 0;
  CHECK(test::allocations_in([&] {
          auto const key = spread(one);
          size = (*key)[0].string().size();
          for (std::size_t i = 0; i < 10; ++i) size = spread.all_keys(one.day)[i].size();
        }) == 0);
  CHECK(size == 1);
  owner const longer{std::string(100, 'd'), "1"};
  auto const key = spread(longer);
  CHECK((*key)[0].string().starts_with(longer.day + "."));
  CHECK(spread.all_keys(longer.day)[3'999'999'999] == partition_key{longer.day + ".3999999999"});
}

TEST_CASE("a key is spread over one bucket at least") {
  constexpr auto promise = "a key is spread over one bucket at least";
  CHECK(test::promise_broken_by([] { return bucketed(&event::day, 0, &event::id); }) == promise);
  CHECK(test::promise_broken_by([] { return bucket_of_row("x", 0); }) == promise);
  CHECK(test::promise_broken_by([] { return bucket_keys{"x", 0}; }) == promise);
  CHECK(test::promise_broken_by([] { return bucket_keys{"x", 2}[2]; }) ==
        "the key has a bucket of this number");
  CHECK(test::promise_broken_by([] {
          return bucketed(&event::day, 2, &event::id).all_keys(partition_key{1, 2});
        }) == "a key that is spread has one value");
  CHECK(*bucketed(&event::day, 1, &event::id)(event{"d", "x"}) == partition_key{"d.0"});
}

}  // namespace
