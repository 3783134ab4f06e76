// test/range/concurrent/routing_test.cpp — many threads that ask, refresh and replace one routing
// while the service behind it splits.
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/published.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/random.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::token128;
using routing = keyspan::routing<keyspan::cosmos_v2_scheme>;
using partition = keyspan::partition<token128>;
using page = keyspan::partition_page<token128>;

// Lists its partitions since a version, which is the count of those it ever had.
class service {
 public:
  service() { all_.push_back({.id = "0", .range = whole_space(cosmos_v2)}); }

  page fetch(std::string const& version) {
    std::lock_guard const lock{lock_};
    std::size_t const seen = version.empty() ? 0 : std::stoul(version);
    if (seen == all_.size()) return {.not_modified = true};
    // A page at a time, and a split is never torn: both children come on one page.
    std::size_t const end = seen == 0 ? 1 : seen + 2;
    using distance = std::ptrdiff_t;
    return {{all_.begin() + static_cast<distance>(seen), all_.begin() + static_cast<distance>(end)},
            std::to_string(end)};
  }

  // Whether the partition still serves; where not, the caller hears that it is gone.
  bool serves(std::string const& id) {
    std::lock_guard const lock{lock_};
    return !is_gone(id);
  }

  void split_one(test::random& random) {
    std::lock_guard const lock{lock_};
    partition parent = random.pick(all_);
    if (is_gone(parent.id) || all_.size() > 1'000) return;
    auto const middle = cosmos_v2.midpoint(parent.range.lower(), parent.range.upper());
    if (!middle) return;
    auto const [left, right] = split(parent.range, *middle);
    parent.parents.push_back(parent.id);
    for (auto const& range : {left, right})
      all_.push_back(
          {.id = std::to_string(all_.size()), .range = range, .parents = parent.parents});
    gone_.push_back(parent.id);
  }

 private:
  bool is_gone(std::string const& id) const {
    for (auto const& each : gone_)
      if (each == id) return true;
    return false;
  }

  std::mutex lock_{};
  std::vector<partition> all_{};
  std::vector<std::string> gone_{};
};

std::shared_ptr<routing const> refreshed(
    service& from, keyspan::routing_refresh<keyspan::cosmos_v2_scheme> refresh) {
  while (refresh.wants_page()) refresh.take(from.fetch(refresh.version()));
  return refresh.outcome().value();
}

struct tally {
  std::uint64_t served = 0;
  std::uint64_t refreshes = 0;
  std::uint64_t replaced = 0;
  std::uint64_t wrong = 0;
};

// Asks with the snapshot pinned until the service says "gone", as a client does.
void ask(service& from, keyspan::published<routing>& current, std::uint64_t seed, tally& mine,
         std::latch& start) {
  test::random random{seed};
  start.arrive_and_wait();
  auto pin = current.pin();
  while (mine.served < 400 || pin->size() == 1) {
    std::string const key = "key-" + std::to_string(random.below(1000));
    auto const token = keyspan::token_of(cosmos_v2, key);
    auto const* const owner = pin->owner_of(key);
    if (!owner->range.contains(token) || &pin->at(token) != owner) ++mine.wrong;
    if (from.serves(owner->id)) {
      ++mine.served;
      continue;
    }
    ++mine.refreshes;
    if (current.is_current(pin) &&
        current.replace(pin, refreshed(from, keyspan::routing_refresh{pin})) != nullptr)
      ++mine.replaced;
    auto later = current.pin();
    // Every id that was gone once is gone in all later snapshots.
    for (auto const& one : pin->partitions())
      if ((later->find(one.id) == nullptr) != later->is_gone(one.id)) ++mine.wrong;
    pin = std::move(later);
  }
}

TEST_CASE("clients of one routing follow the splits of a service and are never lost") {
  service container;
  keyspan::published current{refreshed(container, keyspan::routing_refresh{cosmos_v2})};
  std::vector<tally> tallies(3);
  std::latch start{4};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < tallies.size(); ++i)
    threads.emplace_back([&, i] { ask(container, current, i, tallies[i], start); });
  std::thread splitting{[&] {
    test::random random{99};
    start.arrive_and_wait();
    while (!done) {
      container.split_one(random);
      std::this_thread::yield();
    }
  }};
  for (auto& thread : threads) thread.join();
  done = true;
  splitting.join();

  std::uint64_t replaced = 0;
  for (auto const& mine : tallies) {
    CHECK(mine.wrong == 0);
    CHECK(mine.replaced <= mine.refreshes);
    replaced += mine.replaced;
  }
  CHECK(replaced > 0);
  auto const last = refreshed(container, keyspan::routing_refresh{current.pin()});
  CHECK(*last == *refreshed(container, keyspan::routing_refresh{cosmos_v2}));
  CHECK(last->size() > 1);
}

}  // namespace
