// test/processor/processing_test.cpp — what one host does that no story of several shows.
#include "hosts.hpp"

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/processor/processing.hpp>

#include <support/check.hpp>

#include <algorithm>

namespace {

using namespace std::chrono_literals;
using test::check;
using test::host;
using test::meeting;
using test::quick_options;

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
