// test/merge/merged_batch_test.cpp — a batch is a range of items that stand elsewhere.
#include <keyspan/merge/merged_batch.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <range/v3/range/concepts.hpp>
#include <range/v3/view/reverse.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <vector>

namespace {

using keyspan::merged_batch;
using test::check;

static_assert(std::ranges::random_access_range<merged_batch<int>>);
static_assert(std::ranges::sized_range<merged_batch<int>>);
static_assert(std::ranges::common_range<merged_batch<int>>);
static_assert(std::same_as<std::ranges::range_reference_t<merged_batch<int>>, int&>);
static_assert(std::same_as<std::ranges::range_reference_t<merged_batch<int const>>, int const&>);
static_assert(std::same_as<merged_batch<int>::item_type, int>);
static_assert(ranges::random_access_range<merged_batch<int>>);
static_assert(std::is_trivially_copyable_v<merged_batch<int>>);

struct batch_of_three {
  std::vector<int> odd{1, 3};
  std::vector<int> even{2};
  std::vector<int*> items{&odd[0], &even[0], &odd[1]};
  std::vector<std::uint32_t> sources{0, 1, 0};

  merged_batch<int> batch() const { return {items.data(), sources.data(), items.size()}; }
};

TEST_CASE("the example of merged_batch reads as it should") {
  batch_of_three pages;
  auto const batch = pages.batch();
  // [region: example]
  int sum = 0;
  for (int& item : batch) sum += item;
  check(sum == 6 && batch.size() == 3);
  check(batch[1] == 2 && batch.source(1) == 1);
  // [end: example]
}

TEST_CASE("items are where they were, and may be changed there") {
  batch_of_three pages;
  auto const batch = pages.batch();
  check(!batch.empty() && std::ranges::equal(batch, std::vector{1, 2, 3}));
  for (std::size_t i = 0; i < 3; ++i) check(&batch[i] == pages.items[i]);
  for (int& item : batch) item *= 10;
  check(pages.odd == std::vector{10, 30} && pages.even == std::vector{20});
}

TEST_CASE("each item has its source") {
  batch_of_three pages;
  auto const batch = pages.batch();
  for (std::size_t i = 0; i < 3; ++i) check(batch.source(i) == pages.sources[i]);
  CHECK(test::promise_broken_by([&] { return batch.source(3); }) ==
        "an item of the batch is asked for");
}

TEST_CASE("a batch of nothing is empty") {
  merged_batch<int> const none;
  check(none.empty() && none.size() == 0 && none.begin() == none.end());
  CHECK(test::promise_broken_by([&] { return none.source(0); }) ==
        "an item of the batch is asked for");
}

TEST_CASE("a batch is piped and walked as any range") {
  batch_of_three pages;
  auto const batch = pages.batch();
  auto const twice = [](int n) { return 2 * n; };
  check(std::ranges::equal(batch | std::views::transform(twice) | std::views::reverse,
                           std::vector{6, 4, 2}));
  std::vector<int> found;
  for (int const n : batch | ranges::views::transform(twice) | ranges::views::reverse)
    found.push_back(n);
  check(found == std::vector{6, 4, 2});
  check(batch.end() - batch.begin() == 3 && batch.begin()[2] == 3);
  std::ranges::sort(batch, std::greater<>{});
  check(std::ranges::equal(batch, std::vector{3, 2, 1}));
  auto const copy = batch;
  check(&copy[0] == &batch[0]);
}

TEST_CASE("items that only move are moved out of a batch") {
  auto held = std::make_unique<int>(7);
  std::unique_ptr<int>* const items[] = {&held};
  std::uint32_t const sources[] = {4};
  merged_batch<std::unique_ptr<int>> const batch{items, sources, 1};
  auto const taken = std::move(batch[0]);
  check(*taken == 7 && held == nullptr && batch.source(0) == 4);
}

}  // namespace
