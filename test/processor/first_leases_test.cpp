// test/processor/first_leases_test.cpp — how the leases of a new store come to be, once.
#include "hosts.hpp"

#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/first_leases.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::result;
using keyspan::session_id;
using test::check;
using test::meeting;
using context = keyspan::detail::host_context<test::token, keyspan::manual_clock>;
using range_type = keyspan::token_range<std::uint64_t>;

test::options_type options_of(std::uint64_t session) {
  auto made = test::quick_options("ada");
  made.session = session_id{session};
  return made;
}
result<bool> make(meeting& all, context& host) {
  auto making = [&]() -> keyspan::task<result<bool>> {
    co_await host.inside.enter();
    auto working = keyspan::detail::make_first_leases(host, all.source, all.store);
    auto made = co_await std::move(working);
    co_await host.inside.leave();
    co_return made;
  };
  return keyspan::sync_wait(making());
}

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

TEST_CASE("the first record has ended, and names the range of every partition") {
  meeting all{4};
  context host{all.clock, options_of(1)};
  CHECK(make(all, host) == true);
  auto const leases = all.leases(true);
  REQUIRE(leases.size() == 1);
  CHECK(leases[0].facts.phase == keyspan::lease_phase::ended);
  CHECK(leases[0].facts.epoch == 0);
  CHECK(leases[0].position.parts.size() == 4);
  auto const made = keyspan::leases_to_create<test::token>(leases);
  REQUIRE(made.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(made[i].range == all.source.partitions()[i].range);
  // And once only.
  context other{all.clock, options_of(2)};
  CHECK(make(all, other) == false);
  CHECK(all.leases(true) == leases);
}

TEST_CASE("a container of one partition has one lease, and it is open") {
  meeting all{1};
  context host{all.clock, options_of(1)};
  CHECK(make(all, host) == true);
  REQUIRE(all.leases().size() == 1);
  CHECK_FALSE(all.leases().front().facts.owner);
}

TEST_CASE("too many partitions for one record come in generations, from the same start") {
  meeting all{300};
  auto options = options_of(1);
  options.start = keyspan::from_time{keyspan::wall_time{5s}};
  context host{all.clock, options};
  CHECK(make(all, host) == true);
  auto const first = all.leases(true).front();
  CHECK(first.children.size() <= keyspan::detail::most_children);
  REQUIRE(first.position.parts.size() == 1);
  CHECK(first.position.parts.front().from ==
        keyspan::continuation{keyspan::from_time{keyspan::wall_time{5s}}});
}

TEST_CASE("of two hosts that come at once one decides, wherever the other is interrupted") {
  // The first host's writes go nowhere, one after the other, and the second one comes meanwhile.
  for (int lost = 0; lost < 2; ++lost) {
    meeting all{3};
    auto view = all.store.view("ada");
    context host{all.clock, options_of(1)};
    context other{all.clock, options_of(2)};
    view.next({.only = keyspan::store_operation::create,
               .id = lost == 0 ? "" : host.ids.layout(),
               .failure = keyspan::error{errc::unavailable}});
    auto making = [&]() -> keyspan::task<result<bool>> {
      co_await host.inside.enter();
      auto working = keyspan::detail::make_first_leases(host, all.source, view);
      auto made = co_await std::move(working);
      co_await host.inside.leave();
      co_return made;
    };
    auto const interrupted = keyspan::sync_wait(making());
    REQUIRE_FALSE(interrupted.has_value());
    CHECK(interrupted.error().code == errc::unavailable);
    auto const before = all.leases(true);
    CHECK(before.size() == static_cast<std::size_t>(lost));
    CHECK(make(all, other) == (lost == 0));
    CHECK((before.empty() || all.leases(true) == before));
    CHECK(make(all, host) == false);
    CHECK(all.leases(true).size() == 1);
  }
}

TEST_CASE("what the source says is told") {
  meeting all{3};
  all.source.fail_topology(keyspan::error{errc::unauthorized});
  context host{all.clock, options_of(1)};
  auto const made = make(all, host);
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().code == errc::unauthorized);
  CHECK(all.leases(true).empty());
}

TEST_CASE("the example of first_leases reads as it should") {
  meeting all{2};
  context host{all.clock, options_of(1)};
  auto& source = all.source;
  auto& store = all.store;
  auto const begin = [&]() -> keyspan::task<> {
    co_await host.inside.enter();
    // [region: example]
    auto making = keyspan::detail::make_first_leases(host, source, store);
    auto const made = co_await std::move(making);
    check(made == true);  // nobody else was faster
    // [end: example]
    co_await host.inside.leave();
  };
  keyspan::sync_wait(begin());
  check(all.leases(true).front().children.size() == 2);
}

}  // namespace
