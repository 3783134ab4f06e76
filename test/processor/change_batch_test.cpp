// test/processor/change_batch_test.cpp — what a handler sees of a page, and how it says that it is
// done.
#include <keyspan/async/stop_token.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/range/token_range.hpp>

#include <range/v3/range/concepts.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/transform.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::acknowledgement;
using keyspan::lease_info;
using test::check;

struct change {
  std::string key;
  int number = 0;
};
using batch_type = keyspan::change_batch<int, change>;
using items_view = decltype(std::declval<batch_type const&>().items());

static_assert(std::same_as<batch_type::item_type, change>);
static_assert(std::same_as<batch_type::token_type, int>);
static_assert(std::ranges::random_access_range<batch_type> && std::ranges::sized_range<batch_type>);
static_assert(std::ranges::view<items_view> && std::ranges::borrowed_range<items_view>);
static_assert(ranges::random_access_range<batch_type> && ranges::view_<items_view>);
static_assert(std::same_as<std::ranges::range_reference_t<batch_type>, change&>);
static_assert(std::same_as<std::ranges::range_reference_t<batch_type const>, change&>);
static_assert(std::semiregular<acknowledgement>);
static_assert(std::invocable<acknowledgement const&>);

// A page of ten, and a batch of some of it.
struct shelf {
  shelf() {
    for (int i = 0; i < 10; ++i) page.push_back({std::string(1, static_cast<char>('a' + i)), i});
  }
  batch_type batch(std::vector<std::uint32_t> some, std::uint32_t attempt = 1) {
    which = std::move(some);
    return {info,
            page,
            which,
            attempt,
            stopping.token(),
            acknowledgement{std::make_shared<std::function<void()>>([this] { ++done; })}};
  }

  lease_info<int> info{.id = "lease-7", .range = {3, 9}, .epoch = 5};
  std::vector<change> page{};
  std::vector<std::uint32_t> which{};
  keyspan::stop_source stopping{};
  int done = 0;
};

std::vector<int> numbers_of(auto&& items) {
  std::vector<int> all;
  for (change const& one : items) all.push_back(one.number);
  return all;
}

TEST_CASE("a batch has the changes that it was told to have, in that order") {
  // Every selection of a page of eight.
  shelf all;
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::vector<std::uint32_t> which;
    std::vector<int> wanted;
    for (std::uint32_t i = 0; i < 8; ++i) {
      if ((bits >> i & 1) == 0) continue;
      which.push_back(i);
      wanted.push_back(static_cast<int>(i));
    }
    auto const batch = all.batch(which);
    check(batch.size() == wanted.size());
    check(batch.items().size() == wanted.size());
    check(batch.items().empty() == wanted.empty());
    check(numbers_of(batch) == wanted);
    check(numbers_of(batch.items()) == wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) check(&batch[i] == &all.page[which[i]]);
  }
}

TEST_CASE("a batch says whose it is, for the how-manieth time, and whether to stop") {
  shelf all;
  auto const batch = all.batch({0, 1}, 3);
  CHECK(batch.lease().id == "lease-7");
  CHECK(&batch.lease() == &all.info);
  CHECK(batch.range() == keyspan::token_range<int>{3, 9});
  CHECK(batch.epoch() == 5);
  CHECK(batch.attempt() == 3);
  CHECK(!batch.stop().stop_requested());
  all.stopping.request_stop();
  CHECK(batch.stop().stop_requested());
}

TEST_CASE("the changes of a batch stand where the page has them, and may be moved from") {
  shelf all;
  auto const batch = all.batch({2, 4});
  std::string const taken = std::move(batch[1].key);
  CHECK(taken == "e");
  batch.begin()->number = 77;
  CHECK(all.page[2].number == 77);
}

TEST_CASE("a change that a batch does not have breaks a promise") {
  shelf all;
  auto const batch = all.batch({2, 4});
  CHECK(test::promise_broken_by([&] { return batch[2].number; }) ==
        "a change of a batch is one of as many as it has");
  auto const none = all.batch({});
  CHECK(test::promise_broken_by([&] { return none[0].number; }) ==
        "a change of a batch is one of as many as it has");
  CHECK(none.begin() == none.end());
}

TEST_CASE("views of the standard library compose over a batch") {
  shelf all;
  auto const batch = all.batch({1, 3, 4, 8});
  auto even = batch.items() |
              std::views::filter([](change const& one) { return one.number % 2 == 0; }) |
              std::views::transform(&change::key);
  std::vector<std::string> const keys(even.begin(), even.end());
  CHECK(keys == std::vector<std::string>{"e", "i"});
  CHECK(numbers_of(batch.items() | std::views::reverse) == std::vector{8, 4, 3, 1});
  CHECK(std::ranges::find(batch, "d", &change::key)->number == 3);
  CHECK(std::ranges::max(batch | std::views::transform(&change::number)) == 8);
  // What was found outlives the view.
  auto const found = std::ranges::find(batch.items(), 4, &change::number);
  CHECK(found->key == "e");
}

TEST_CASE("views of range-v3 compose over a batch") {
  shelf all;
  auto const batch = all.batch({1, 3, 4, 8});
  auto odd = batch.items() |
             ranges::views::filter([](change const& one) { return one.number % 2 == 1; }) |
             ranges::views::transform(&change::key);
  std::vector<std::string> keys;
  for (std::string const& key : odd) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"b", "d"});
}

TEST_CASE("a batch is acknowledged by itself, or by what outlives it") {
  shelf all;
  std::optional<acknowledgement> later;
  {
    auto const batch = all.batch({0});
    CHECK(all.done == 0);
    later = batch.acknowledger();
    CHECK(all.done == 0);  // not by asking for it
    batch.acknowledge();
    CHECK(all.done == 1);
  }
  (*later)();
  CHECK(all.done == 2);  // what it means to be called twice is said by what it does
  acknowledgement const copy = *later;
  later.reset();
  copy();
  CHECK(all.done == 3);
}

TEST_CASE("an acknowledgement of nothing does nothing") {
  acknowledgement const none;
  none();
  acknowledgement const empty{std::make_shared<std::function<void()>>()};
  empty();
  acknowledgement const null{std::shared_ptr<std::function<void()>>{}};
  null();
  shelf all;
  keyspan::change_batch<int, change> const batch{all.info, all.page, all.which, 1, {}, {}};
  batch.acknowledge();
  batch.acknowledger()();
  CHECK(all.done == 0);
}

TEST_CASE("who lets the lease go takes back what all copies of an acknowledgement do") {
  int done = 0;
  auto const does = std::make_shared<std::function<void()>>([&] { ++done; });
  acknowledgement const one{does};
  acknowledgement const copy = one;
  one();
  *does = nullptr;
  one();
  copy();
  CHECK(done == 1);
}

TEST_CASE("the example of change_batch reads as it should") {
  shelf all;
  auto const given = all.batch({0, 3, 5});
  std::vector<std::string> written;
  auto const write = [&](std::uint64_t epoch, std::string const& key) {
    written.push_back(std::to_string(epoch) + key);
  };
  keyspan::acknowledgement later;
  // [region: example]
  auto const process = [&](auto& batch) {
    for (change& one : batch) write(batch.epoch(), one.key);  // with the number of the owner
    later = batch.acknowledger();                             // said when the sink has it
  };
  // [end: example]
  process(given);
  CHECK(written == std::vector<std::string>{"5a", "5d", "5f"});
  CHECK(all.done == 0);
  later();
  CHECK(all.done == 1);
}

}  // namespace
