// test/processor/processing_test.cpp — what one host does that no story of several shows.
#include "hosts.hpp"

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/processor/processing.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using test::check;
using test::host;
using test::meeting;
using test::quick_options;
using range_type = keyspan::token_range<std::uint64_t>;

TEST_CASE("neighbours are grouped until there are few enough, and none is left out") {
  for (std::size_t const count : {1U, 2U, 127U, 128U, 129U, 255U, 256U, 300U, 20'000U}) {
    std::vector<range_type> ranges;
    for (std::uint64_t i = 0; i < count; ++i) ranges.push_back({10 * i, 10 * (i + 1)});
    auto const groups = keyspan::detail::grouped(ranges);
    CHECK(groups.size() <= keyspan::detail::most_children);
    CHECK((count > keyspan::detail::most_children || groups == ranges));
    CHECK(groups.front().lower() == 0);
    CHECK(groups.back().upper() == 10 * count);
    for (std::size_t i = 1; i < groups.size(); ++i)
      CHECK(groups[i - 1].upper() == groups[i].lower());
  }
}

TEST_CASE("a container of more partitions than a record has room for is shared out all the same") {
  meeting all{300};
  all.write_some(2);
  host ada{all, quick_options("ada")};
  all.pass(30s);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
  auto const leases = all.leases(true);
  CHECK(leases.size() == 300);
  CHECK(std::none_of(leases.begin(), leases.end(), [](auto const& one) { return is_void(one); }));
}

TEST_CASE("drawn numbers are not alike, and never nobody's") {
  auto const one = keyspan::detail::drawn_number();
  CHECK(one != 0);
  CHECK(one != keyspan::detail::drawn_number());
}

TEST_CASE("the example of processing reads as it should") {
  meeting all{2};
  auto options = quick_options("ada");
  // [region: example]
  keyspan::processor host{all.source, all.store, all.clock, options};
  auto handler = [&](auto& batch) {
    for (auto const& change : batch) all.see(change, "ada", batch.epoch());
  };
  // [end: example]
  keyspan::stop_source stop;
  test::begun running{host.run(handler, stop.token())};
  all.write_some();
  all.pass(5s);
  // [region: status]
  auto const status = keyspan::sync_wait(host.status());
  for (auto const& lease : status.leases)
    check(lease.state == keyspan::lease_state::active && lease.lag == 0U);
  check(status.counters.acquired == 2 && status.counters.items == 16);
  // [end: status]
  stop.request_stop();
  all.pass(5s);
  check(running.is_over());
}

}  // namespace
