// test/processor/processor_test.cpp — hosts that come, go, fail, and are steered: one story each.
// What happens when all of it happens at once is played in test/sim/fleet_world.cpp.
#include "hosts.hpp"

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/processor/processor.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::close_reason;
using keyspan::errc;
using keyspan::result;
using keyspan::task;
using kind = keyspan::processor_event_kind;
using test::batch_type;
using test::check;
using test::host;
using test::meeting;
using test::quick_options;
using test::view_type;

TEST_CASE("a host alone handles all there is, goes on with what comes, and leaves in order") {
  meeting all;
  all.write_some(3);
  {
    host ada{all, quick_options("ada")};
    all.pass(2s);
    CHECK(all.is_all_handled());
    all.write_some();
    all.pass(2s);
    CHECK(all.is_all_handled());
    CHECK(all.order_is_kept);
    CHECK(all.repeated == 0);
    CHECK(all.shares() == std::map<std::string, int>{{"ada", 4}});
    ada.stop();
    all.pass(1s);
    REQUIRE(ada.is_over());
    CHECK(ada.outcome().has_value());
    CHECK(ada.opened == 4);
    CHECK(ada.closed == std::vector(4, close_reason::shutdown));
    CHECK(ada.order_of_calls_is_kept);
  }
  CHECK(all.shares() == std::map<std::string, int>{{"", 4}});  // nobody's
  all.write_some();
  host bob{all, quick_options("bob")};
  all.pass(3s);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
}

TEST_CASE("hosts share evenly, and who comes later is handed its share without a gap") {
  meeting all{8};
  host ada{all, quick_options("ada")};
  all.pass(5s);
  host bob{all, quick_options("bob")};
  all.pass(5s);
  CHECK(all.shares() == std::map<std::string, int>{{"ada", 4}, {"bob", 4}});
  CHECK(ada.count(kind::handed_over) == 4);
  CHECK(ada.closed == std::vector(4, close_reason::handed_over));
  host cyd{all, quick_options("cyd")};
  all.pass(5s);
  auto const shares = all.shares();
  for (auto const& [name, count] : shares) CHECK((count == 2 || count == 3));
  CHECK(shares.size() == 3);
  CHECK(ada.count(kind::handed_over) + bob.count(kind::handed_over) == 6);  // no move too many
  all.write_some(2);
  all.pass(2s);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
}

TEST_CASE("who cannot reach the store stops by itself, before another one begins") {
  for (auto const how : {keyspan::liveness::per_session, keyspan::liveness::per_lease}) {
    meeting all;
    auto options = quick_options("ada");
    options.liveness = how;
    host ada{all, options};
    all.pass(5s);
    options.host_name = "bob";
    host bob{all, options};
    all.pass(6s);
    REQUIRE(all.shares() == std::map<std::string, int>{{"ada", 2}, {"bob", 2}});
    ada.view.cut_off();
    all.pass(7s);
    CHECK(ada.closed.size() == 2);  // of what was handed over
    all.pass(4s);
    CHECK(ada.closed.size() == 4);
    CHECK(ada.closed.back() == close_reason::lease_lost);
    all.pass(8s);
    CHECK(all.shares() == std::map<std::string, int>{{"bob", 4}});
    all.write_some();
    all.pass(2s);
    CHECK(all.is_all_handled());
    ada.view.heal();  // and comes back
    all.pass(20s);
    CHECK(all.shares() == std::map<std::string, int>{{"ada", 2}, {"bob", 2}});
  }
}

TEST_CASE("an outage of the store that is shorter than the expiration costs no lease") {
  meeting all;
  host ada{all, quick_options("ada")};
  all.pass(5s);
  ada.view.cut_off(keyspan::store_cut::refusing);
  all.write_some();
  all.pass(6s);
  CHECK(all.is_all_handled());  // reading goes on, writing waits
  ada.view.heal();
  all.pass(5s);
  CHECK(ada.count(kind::lost) == 0);
  CHECK(ada.opened == 4);
}

TEST_CASE("children go on where the parent stood, in the order of each key") {
  meeting all{1};
  host ada{all, quick_options("ada")};
  host bob{all, quick_options("bob")};
  for (int i = 0; i < 30; ++i) {
    all.write_some(2);
    if (i == 10) all.source.split("0");
    if (i == 15) all.source.split(all.source.partitions().front().id);
    if (i == 20) all.source.merge(all.source.partitions()[1].id, all.source.partitions()[2].id);
    all.pass(300ms);
  }
  all.pass(10s);
  CHECK(all.source.partitions().size() == 2);
  CHECK(all.leases(true).size() == 2);  // those that ended are gone
  CHECK(all.is_all_handled());
  CHECK(all.order_is_kept);
  CHECK(all.late == 0);
  CHECK(all.shares() == std::map<std::string, int>{{"ada", 1}, {"bob", 1}});
}

TEST_CASE("what was split and merged while nobody ran is found when somebody does") {
  meeting all{2};
  {
    host ada{all, quick_options("ada")};
    all.write_some(2);
    all.pass(5s);
  }
  all.write_some();
  auto const [left, right] = all.source.split("0");
  all.source.merge(right, "1");
  all.write_some();
  host bob{all, quick_options("bob")};
  all.pass(20s);
  CHECK(all.is_all_handled());
  CHECK(all.order_is_kept);
  CHECK(all.repeated == 0);
  CHECK(all.leases(true).size() == 2);
}

TEST_CASE("a merge waits for a range that is paused, and what comes together with it is handled") {
  meeting all{3};
  host ada{all, quick_options("ada")};
  all.write_some(2);
  all.pass(4s);
  keyspan::lease_control control{all.source, all.store};
  auto const parts = all.source.partitions();
  CHECK(keyspan::sync_wait(control.pause(parts[1].range, "maintenance")) == std::size_t{1});
  all.pass(2s);
  auto const merged = all.source.merge(parts[0].id, parts[1].id);
  auto const opened = ada.opened;
  for (int i = 0; i < 10; ++i) {
    all.write_some();
    all.pass(5s);
  }
  // One is paused, and the others are where they were.
  CHECK(ada.opened == opened);
  CHECK(ada.closed == std::vector{close_reason::paused});
  for (auto const& [book, count] : all.written) {
    auto const token = keyspan::token_of(keyspan::cosmos_v2, book);
    CHECK(all.handled[book] == (parts[1].range.contains(token) ? 2 : count));
  }
  CHECK(keyspan::sync_wait(control.resume(parts[1].range)) == std::size_t{1});
  all.pass(8s);
  CHECK(all.is_all_handled());
  CHECK(all.order_is_kept);
  CHECK(all.repeated == 0);
  CHECK(all.late == 0);
  CHECK(all.leases(true).size() == 2);
  CHECK(ada.count(kind::reopened) == 0);
}

TEST_CASE("ranges that wait for a merge that has been split since are opened again together") {
  meeting all{3};
  auto const parts = all.source.partitions();
  auto options = quick_options("ada");
  options.max_item_count = 1;
  options.read_ahead = 1;
  bool is_held = false;
  host ada{all, options, [&](host&, batch_type& batch) -> task<result<void>> {
             while (is_held && batch.range() == parts[2].range)
               static_cast<void>(co_await keyspan::wait_for(all.clock, 100ms));
             co_return result<void>{};
           }};
  all.write_some();
  all.pass(3s);
  is_held = true;  // so much is read ahead of the third range that nothing more is asked
  all.write_some(2);
  all.pass(1s);
  auto const left = all.source.merge(parts[0].id, parts[1].id);
  auto const whole = all.source.merge(left, parts[2].id);
  all.write_some();
  all.pass(3s);
  CHECK(ada.count(kind::ended) == 2);  // the third has not heard of it
  all.source.split(whole);
  all.write_some();
  is_held = false;
  all.pass(20s);
  CHECK(ada.count(kind::reopened) == 2);
  all.pass(5s);
  CHECK(all.is_all_handled());
  CHECK(all.order_is_kept);
  CHECK(all.late == 0);
  all.pass(15s);
  CHECK(all.leases(true).size() == 2);
}

TEST_CASE("by hand, the position follows what was acknowledged, in any order") {
  meeting all{1};
  std::vector<keyspan::acknowledgement> kept;
  auto options = quick_options("ada");
  options.checkpointing = keyspan::checkpointing::manual;
  options.max_item_count = 4;
  {
    host ada{all, options, [&](host&, batch_type& batch) -> task<result<void>> {
               kept.push_back(batch.acknowledger());
               co_return result<void>{};
             }};
    all.write_some();  // four batches of four
    all.pass(5s);
    REQUIRE(kept.size() == 4);
    auto const first = all.leases().front().facts.sequence;
    kept[2]();
    kept[1]();
    all.pass(1s);
    CHECK(all.leases().front().facts.sequence == first);  // the first is still open
    kept[0]();
    kept[0]();  // once more does nothing
    all.pass(1s);
    CHECK(all.leases().front().facts.sequence == first + 3);
  }
  CHECK(all.repeated == 0);
  auto const before = kept.size();
  options.host_name = "bob";
  host bob{all, options, [&](host&, batch_type& batch) -> task<result<void>> {
             kept.push_back(batch.acknowledger());
             co_return result<void>{};
           }};
  all.pass(5s);
  CHECK(kept.size() == before + 1);  // the one that was not acknowledged comes again
  CHECK(all.repeated == 4);
  kept[3]();  // of a lease that is somebody else's: nothing
  all.pass(1s);
}

TEST_CASE("no more is read than may be handled and not acknowledged") {
  meeting all{1};
  auto options = quick_options("ada");
  options.checkpointing = keyspan::checkpointing::manual;
  options.max_item_count = 1;
  options.most_unacknowledged = 5;
  options.read_ahead = 2;
  std::vector<keyspan::acknowledgement> kept;
  host ada{all, options, [&](host&, batch_type& batch) -> task<result<void>> {
             kept.push_back(batch.acknowledger());
             co_return result<void>{};
           }};
  all.write_some(2);
  all.pass(5s);
  CHECK(kept.size() == 5);
  CHECK(ada.count(kind::unacknowledged) == 1);
  CHECK(keyspan::sync_wait(ada.work.status()).leases.at(0).unacknowledged == 5);
  kept[0]();
  all.pass(1s);
  CHECK(kept.size() == 6);
  CHECK(ada.count(kind::unacknowledged) == 2);
}

TEST_CASE("while a batch is handled so many are read ahead, and no more") {
  meeting all{1};
  auto options = quick_options("ada");
  options.max_item_count = 1;
  options.read_ahead = 3;
  bool is_held = true;
  host ada{all, options, [&](host& self, batch_type&) -> task<result<void>> {
             while (is_held)
               static_cast<void>(co_await self.all.clock.wait_until(self.all.clock.now() + 100ms));
             co_return result<void>{};
           }};
  all.write_some(2);
  all.pass(4s);
  CHECK(ada.batches == 1);
  CHECK(all.source.reads().size() == 1 + 3);
  is_held = false;
  all.pass(4s);
  CHECK(all.is_all_handled());
}

TEST_CASE("a batch that fails comes again, later each time, and then the rest") {
  meeting all{1};
  int failures = 3;
  std::vector<std::uint32_t> attempts;
  host ada{all, quick_options("ada"), [&](host&, batch_type& batch) -> task<result<void>> {
             attempts.push_back(batch.attempt());
             if (failures-- > 0) {
               if (failures % 2 == 0) throw std::runtime_error{"out of order"};
               co_return keyspan::fail(errc::handler_failed, "out of order");
             }
             co_return result<void>{};
           }};
  all.write_some();
  all.pass(5s);
  CHECK(attempts == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(ada.count(kind::handler_failed) == 3);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
}

TEST_CASE("a batch that was tried too often halts its lease, until somebody resumes it") {
  meeting all{2};
  bool is_broken = true;
  std::string broken_book;
  host ada{all, quick_options("ada"), [&](host&, batch_type& batch) -> task<result<void>> {
             if (broken_book.empty()) broken_book = batch[0].book;
             if (is_broken && std::any_of(batch.begin(), batch.end(),
                                          [&](auto const& one) { return one.book == broken_book; }))
               co_return keyspan::fail(errc::handler_failed, "the sink is full");
             co_return result<void>{};
           }};
  all.write_some();
  all.pass(20s);
  CHECK(ada.count(kind::halted) == 1);
  auto const leases = all.leases();
  auto const halted = std::find_if(leases.begin(), leases.end(),
                                   [](auto const& one) { return !one.paused.empty(); });
  REQUIRE(halted != leases.end());
  CHECK(halted->paused == "a batch failed 5 times: the sink is full");
  CHECK(halted->owner_name == "ada");
  CHECK(halted->attempts.count == 5);
  CHECK(ada.closed == std::vector{close_reason::handler_failed});
  all.write_some();
  all.pass(5s);
  CHECK(all.handled["book a"] + all.handled["book b"] + all.handled["book c"] > 0);  // others go on

  is_broken = false;
  keyspan::lease_control control{all.source, all.store};
  CHECK(keyspan::sync_wait(control.resume(halted->range)).has_value());
  all.pass(5s);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
}

// A handler that can put aside what it cannot handle.
struct parker {
  meeting& all;
  std::vector<int> parked{};
  std::vector<std::size_t> sizes{};

  task<result<void>> process(batch_type& batch) {
    sizes.push_back(batch.size());
    for (test::note const& one : batch)
      if (one.number == 5) co_return keyspan::fail(errc::handler_failed, "five is poison");
    for (test::note const& one : batch) all.see(one, "ada", batch.epoch());
    co_return result<void>{};
  }
  void park(batch_type& batch, keyspan::error const& why) {
    check(why.code == errc::handler_failed && batch.size() == 1);
    parked.push_back(batch[0].number);
    all.see(batch[0], "ada", batch.epoch());
  }
};

TEST_CASE("what is poison is put aside change by change, and the rest goes on") {
  meeting all{1};
  auto options = quick_options("ada");
  options.on_poison = keyspan::poison_manner::park;
  options.most_attempts = 3;
  keyspan::processor work{all.source, all.store, all.clock, options};
  parker handler{all};
  keyspan::stop_source stop;
  for (int i = 0; i < 10; ++i) all.write("book a");
  test::begun running{work.run(handler, stop.token())};
  all.pass(10s);
  CHECK(handler.parked == std::vector{5});
  CHECK(handler.sizes == std::vector<std::size_t>{10, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(all.is_all_handled());
  stop.request_stop();
  all.pass(5s);
  CHECK(running.is_over());
}

TEST_CASE("an attempt that a host died of counts for who comes next") {
  meeting all{1};
  all.write_some();
  std::vector<std::uint32_t> attempts;
  auto const dies = [&](host& self, batch_type& batch) -> task<result<void>> {
    attempts.push_back(batch.attempt());
    self.view.cut_off();  // and is heard of no more
    static_cast<void>(co_await self.all.clock.wait_until(self.all.clock.now() + 30s));
    co_return keyspan::fail(errc::handler_failed, "dead");
  };
  host ada{all, quick_options("ada"), dies};
  all.pass(2s);
  host bob{all, quick_options("bob"), dies};
  all.pass(25s);
  host cyd{all, quick_options("cyd"), dies};
  all.pass(25s);
  CHECK(attempts == std::vector<std::uint32_t>{1, 2, 3});
}

TEST_CASE("what each host dies of is put aside without another try, on every lane") {
  for (std::size_t const lanes : {1U, 3U}) {
    meeting all{1};
    struct deadly {
      meeting& all;
      view_type& view;
      std::vector<int>& parked;
      int tried = 0;
      std::uint64_t lane_of(test::note const& one) {
        return static_cast<std::uint64_t>(one.number);
      }
      task<result<void>> process(batch_type& batch) {
        for (test::note const& one : batch) {
          if (one.number != 2) continue;
          ++tried;
          view.cut_off();
          static_cast<void>(co_await all.clock.wait_until(all.clock.now() + 30s));
          co_return keyspan::fail(errc::handler_failed, "dead");
        }
        co_return result<void>{};
      }
      void park(batch_type& batch, keyspan::error const& why) {
        CHECK(why.text.view() == "hosts that have tried it died");
        parked.push_back(batch[0].number);
      }
    };
    for (int i = 0; i < 5; ++i) all.write("book a");
    std::vector<int> parked;
    int tried = 0;
    for (int life = 0; life < 6; ++life) {
      auto options = quick_options("host " + std::to_string(life));
      options.on_poison = keyspan::poison_manner::park;
      options.most_attempts = 3;
      options.lanes = lanes;
      options.session = keyspan::session_id{static_cast<std::uint64_t>(life + 1)};
      auto view = all.store.view(options.host_name);
      deadly handler{all, view, parked};
      keyspan::processor work{all.source, view, all.clock, options};
      keyspan::stop_source stop;
      test::begun const running{work.run(handler, stop.token())};
      all.pass(25s);
      tried += handler.tried;
      stop.request_stop();
      for (int i = 0; i < 100 && !running.is_over(); ++i) all.pass(1s);
      REQUIRE(running.is_over());
    }
    CHECK(tried == 3);
    CHECK(std::count(parked.begin(), parked.end(), 2) == 1);
    auto const lag = keyspan::sync_wait(keyspan::lease_control{all.source, all.store}.lag());
    CHECK(lag->front().changes == 0U);
  }
}

TEST_CASE("hosts that died while nothing was new are no attempts") {
  meeting all{1};
  all.write("book a");
  std::vector<std::unique_ptr<host>> hosts;
  for (char name = 'a'; name <= 'g'; ++name) {
    hosts.push_back(std::make_unique<host>(all, quick_options(std::string{"host "} + name)));
    all.pass(40s);
    CHECK(all.leases()[0].owner_name.back() == name);
    CHECK(all.leases()[0].attempts.count == 0);
    if (name < 'g') hosts.back()->view.cut_off();
  }
  all.write("book a");
  all.pass(5s);
  CHECK(all.is_all_handled());
  CHECK(all.leases()[0].paused.empty());
  for (auto const& one : hosts) one->view.heal();
}

TEST_CASE("a lease is paused, resumed and set back while its host runs") {
  meeting all{2};
  host ada{all, quick_options("ada")};
  all.write_some(2);
  all.pass(4s);
  keyspan::lease_control control{all.source, all.store};
  auto const whole = whole_space(keyspan::cosmos_v2);
  CHECK(keyspan::sync_wait(control.pause(whole, "maintenance")) == result<std::size_t>{2u});
  all.pass(3s);
  CHECK(ada.closed == std::vector(2, close_reason::paused));
  all.write_some();
  all.pass(5s);
  CHECK_FALSE(all.is_all_handled());
  CHECK(all.shares() == std::map<std::string, int>{{"ada", 2}});  // it keeps them
  CHECK(keyspan::sync_wait(control.resume(whole)).has_value());
  all.pass(3s);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);

  auto const epoch = all.leases().front().facts.epoch;
  auto const sequence = all.leases().front().facts.sequence;
  CHECK(keyspan::sync_wait(control.reset(whole, keyspan::from_beginning)).has_value());
  all.pass(5s);
  CHECK(all.repeated == 16 * 3);  // all of it once more
  CHECK(all.leases().front().facts.epoch == epoch + 1);
  CHECK(all.leases().front().facts.sequence > sequence);
  CHECK(all.late == 0);
}

TEST_CASE("a host that keeps its place finds its leases again, and nothing moves") {
  meeting all{6};
  auto const keeping = [](std::string name) {
    auto options = quick_options(std::move(name));
    options.on_stop = keyspan::stop_manner::keep_place;
    options.place_kept_for = 10s;
    return options;
  };
  host ada{all, keeping("ada")};
  host bob{all, keeping("bob")};
  all.pass(5s);
  REQUIRE(all.shares() == std::map<std::string, int>{{"ada", 3}, {"bob", 3}});
  auto const before = all.leases();
  bob.stop();
  all.pass(4s);
  REQUIRE(bob.is_over());
  CHECK(all.shares() == std::map<std::string, int>{{"", 3}, {"ada", 3}});  // ada takes nothing
  host cyd{all, keeping("cyd")};
  all.pass(4s);
  auto const after = all.leases();
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(after[i].owner_name == (before[i].owner_name == "bob" ? "cyd" : "ada"));
  CHECK(ada.count(kind::handed_over) == 0);

  cyd.stop();  // and nobody comes
  all.pass(20s);
  CHECK(all.shares() == std::map<std::string, int>{{"ada", 6}});
}

TEST_CASE("a host that hands over leaves no gap: its heirs wait for its leases") {
  meeting all{6};
  host ada{all, quick_options("ada")};
  host bob{all, quick_options("bob")};
  host cyd{all, quick_options("cyd")};
  all.pass(6s);
  REQUIRE(all.shares() == std::map<std::string, int>{{"ada", 2}, {"bob", 2}, {"cyd", 2}});
  bob.stop();
  for (int i = 0; i < 30 && !bob.is_over(); ++i) {
    all.write_some();
    all.pass(100ms);
  }
  all.pass(1s);
  CHECK(bob.is_over());
  CHECK(bob.count(kind::handed_over) == 2);
  CHECK(all.shares() == std::map<std::string, int>{{"ada", 3}, {"cyd", 3}});
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
}

TEST_CASE("who lets go of its leases leaves them for whoever comes first") {
  meeting all{4};
  auto options = quick_options("ada");
  options.on_stop = keyspan::stop_manner::release;
  host ada{all, options};
  options.host_name = "bob";
  host bob{all, options};
  all.pass(5s);
  ada.stop();
  all.pass(5s);
  CHECK(ada.count(kind::released) == 2);
  CHECK(ada.count(kind::handed_over) == 0);
  CHECK(all.shares() == std::map<std::string, int>{{"bob", 4}});
}

TEST_CASE("what is let go of is heard of with the next poll, not with the next look at all of it") {
  meeting all{4};
  auto options = quick_options("ada");
  options.on_stop = keyspan::stop_manner::release;
  options.lease_acquire_interval = 60s;
  options.lease_expiration_interval = 120s;
  options.lease_renew_interval = 30s;
  host ada{all, options};
  options.host_name = "bob";
  host bob{all, options};
  all.pass(10s);
  REQUIRE(all.shares() == std::map<std::string, int>{{"ada", 2}, {"bob", 2}});
  ada.stop();
  all.pass(3s);
  CHECK(ada.is_over());
  CHECK(all.shares() == std::map<std::string, int>{{"bob", 4}});
  all.source.split(all.source.partitions()[0].id);
  all.write_some();
  all.pass(4s);
  CHECK(all.is_all_handled());
}

TEST_CASE("whatever was not written yet is written when a lease is let go of") {
  for (auto const manner : {keyspan::stop_manner::hand_over, keyspan::stop_manner::release}) {
    meeting all{2};
    auto options = quick_options("ada");
    options.checkpoint_frequency.items = 1000;
    options.on_stop = manner;
    options.max_item_count = 3;
    {
      host ada{all, options};
      all.pass(2s);
      for (int i = 0; i < 5; ++i) {
        all.write_some();
        all.pass(1s);
      }
      REQUIRE(all.is_all_handled());
    }
    options.host_name = "bob";
    host bob{all, options};
    all.pass(5s);
    all.write_some();
    auto const [left, right] = all.source.split("0");
    all.pass(5s);
    CHECK(all.is_all_handled());
    CHECK(all.repeated == 0);
  }
}

TEST_CASE("the position is written as often as the options say") {
  for (bool const by_items : {false, true}) {
    meeting all{1};
    auto options = quick_options("ada");
    options.max_item_count = 1;
    if (by_items) {
      options.checkpoint_frequency.items = 10;
    } else {
      options.checkpoint_frequency.interval = 5s;
    }
    host ada{all, options};
    all.pass(2s);
    all.write("book a");  // a first position is always written
    all.pass(1s);
    auto const before = ada.count(kind::checkpointed);
    for (int i = 0; i < 25; ++i) all.write("book a");
    all.pass(3s);
    CHECK(all.is_all_handled());
    CAPTURE(by_items, before, ada.batches);
    CHECK(ada.count(kind::checkpointed) - before == (by_items ? 2u : 0u));
    all.pass(5s);
    CHECK(ada.count(kind::checkpointed) - before == (by_items ? 2u : 1u));
  }
}

// Lanes: what has one number is handled in its order, others at the same time.
struct in_lanes {
  meeting& all;
  std::set<std::string> at_work{};
  std::size_t most = 0;

  static std::uint64_t lane_of(test::note const& one) {
    return static_cast<std::uint64_t>(one.book.back());
  }
  task<result<void>> process(batch_type& batch) {
    for (test::note const& one : batch) check(at_work.insert(one.book).second || true);
    most = std::max(most, ++busy);
    static_cast<void>(co_await all.clock.wait_until(all.clock.now() + 100ms));
    --busy;
    for (test::note const& one : batch) all.see(one, "ada", batch.epoch());
    co_return result<void>{};
  }
  std::size_t busy = 0;
};

TEST_CASE("lanes of one lease are handled at the same time, each key in its order") {
  meeting all{1};
  auto options = quick_options("ada");
  options.lanes = 4;
  options.max_item_count = 16;
  keyspan::processor work{all.source, all.store, all.clock, options};
  in_lanes handler{all};
  keyspan::stop_source stop;
  all.write_some(6);
  test::begun running{work.run(handler, stop.token())};
  all.pass(8s);
  CHECK(handler.most == 4);
  CHECK(all.is_all_handled());
  CHECK(all.order_is_kept);
  stop.request_stop();
  all.pass(5s);
  CHECK(running.is_over());
}

TEST_CASE("a handler that takes too long keeps its lease until it returns, and then it goes") {
  meeting all{1};
  bool is_held = true;
  host ada{all, quick_options("ada"), [&](host& self, batch_type& batch) -> task<result<void>> {
             while (is_held && !batch.stop().stop_requested())
               static_cast<void>(co_await self.all.clock.wait_until(self.all.clock.now() + 100ms));
             if (!is_held) co_return result<void>{};
             static_cast<void>(co_await self.all.clock.wait_until(self.all.clock.now() + 6s));
             co_return result<void>{};
           }};
  all.write_some();
  all.pass(3s);
  CHECK(ada.batches == 1);
  ada.stop();
  all.pass(5s);
  CHECK_FALSE(ada.is_over());
  CHECK(ada.count(kind::handler_overdue) == 1);
  all.pass(5s);
  CHECK(ada.is_over());
  CHECK(all.is_all_handled());
}

TEST_CASE("leases whose records somebody removes are made anew, where they stood") {
  meeting all{2};
  host ada{all, quick_options("ada")};
  all.write_some(2);
  all.pass(5s);
  auto const before = all.leases();
  for (auto const& one : all.store.records())
    if (one.id.starts_with("lease.")) all.store.erase(one.id);
  all.pass(40s);
  auto const after = all.leases();
  REQUIRE(after.size() == before.size());
  CHECK(after[0].facts.epoch > before[0].facts.epoch);
  all.write_some();
  all.pass(3s);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
}

TEST_CASE("a range without a lease is filled when its last owner has had the time to stop") {
  meeting all{2};
  host ada{all, quick_options("ada")};
  host bob{all, quick_options("bob")};
  all.write_some(2);
  all.pass(8s);
  auto const restored = [&] { return ada.count(kind::restored) + bob.count(kind::restored); };
  for (auto const& one : all.store.records())
    if (one.id.starts_with("lease.")) all.store.erase(one.id);
  all.pass(9s);
  CHECK(restored() == 0);
  all.pass(20s);
  CHECK(restored() == 2);
}

TEST_CASE(
    "a range of which nobody remembers anything is filled from the start, in an epoch of its own") {
  meeting all{2};
  all.write_some();
  {
    host ada{all, quick_options("ada")};
    all.pass(5s);
  }
  auto const record = keyspan::layout_record::from_text(all.store.find("layout")->body);
  REQUIRE(record.has_value());
  auto const gone = all.leases().front();
  for (auto const& one : all.store.records())
    if (auto const lease =
            keyspan::lease_record<test::token>::from_text(keyspan::cosmos_v2, one.body);
        lease && lease->range == gone.range)
      all.store.erase(one.id);
  host bob{all, quick_options("bob")};
  all.pass(30s);
  CHECK(bob.count(kind::restored) == 0);
  all.pass(20s);
  CHECK(bob.count(kind::restored) == 1);
  auto const filled = all.leases().front();
  CHECK(filled.range == gone.range);
  // Beyond all that was, and all that others fill while the layout is as it is.
  CHECK(filled.facts.epoch > ((record->number + 1) << 32));
  CHECK(all.is_all_handled());
}

TEST_CASE("who is resumed while its handler still closes goes on") {
  meeting all{1};
  bool is_slow = false;
  host ada{all, quick_options("ada"), [&](host&, batch_type&) -> task<result<void>> {
             if (is_slow) static_cast<void>(co_await keyspan::wait_for(all.clock, 5s));
             co_return result<void>{};
           }};
  all.write_some();
  all.pass(2s);
  is_slow = true;
  all.write_some();
  all.pass(1s);
  keyspan::lease_control control{all.source, all.store};
  CHECK(keyspan::sync_wait(control.pause(whole_space(keyspan::cosmos_v2), "why")).has_value());
  all.pass(2s);
  CHECK(keyspan::sync_wait(control.resume(whole_space(keyspan::cosmos_v2))).has_value());
  is_slow = false;
  all.pass(10s);
  all.write_some();
  all.pass(3s);
  CHECK(all.is_all_handled());
  CHECK(ada.closed == std::vector{close_reason::paused});
  CHECK(ada.opened == 2);
}

TEST_CASE("hosts that handle a part of the feed read and fill that part alone") {
  meeting all{4};
  auto const parts = all.source.partitions();
  auto options = quick_options("ada");
  options.range = {parts[1].range.lower(), parts[2].range.upper()};
  host ada{all, options};
  all.write_some(2);
  all.pass(5s);
  REQUIRE(all.leases().size() == 2);
  CHECK(all.leases()[0].range == parts[1].range);
  CHECK(all.leases()[1].range == parts[2].range);
  // One of them comes together with what lies beyond, and the lease stays what it is.
  all.source.merge(parts[2].id, parts[3].id);
  all.source.split(parts[1].id);
  all.write_some(2);
  all.pass(40s);
  CHECK(all.leases(true).size() == 3);
  CHECK(ada.count(kind::restored) == 0);
  for (auto const& [book, count] : all.written)
    CHECK(all.handled[book] ==
          (options.range->contains(keyspan::token_of(keyspan::cosmos_v2, book)) ? count : 0));
}

TEST_CASE("notice that is longer than everything else does not cut the handing over short") {
  meeting all{4};
  auto options = quick_options("ada");
  options.leaving_notice = 20s;
  host ada{all, options};
  all.pass(3s);
  host bob{all, quick_options("bob")};
  all.pass(8s);
  ada.stop();
  all.pass(25s);
  CHECK(ada.is_over());
  CHECK(ada.count(kind::handed_over) == 4);
  CHECK(ada.count(kind::left) == 1);
  CHECK(all.shares() == std::map<std::string, int>{{"bob", 4}});
}

TEST_CASE("from now means from when the leases were made, not from the first read") {
  meeting all{2};
  all.write_some();
  for (auto& [book, count] : all.written) all.handled[book] = count;  // nobody is to see them
  auto options = quick_options("ada");
  options.start = keyspan::from_now;
  host ada{all, options};
  all.write_some();  // while it is settling
  all.pass(5s);
  CHECK(all.is_all_handled());
  CHECK(all.repeated == 0);
}

TEST_CASE("existing leases can be discarded at the start") {
  meeting all{2};
  {
    host ada{all, quick_options("ada")};
    all.write_some();
    all.pass(5s);
  }
  auto options = quick_options("bob");
  options.discard_existing_leases = true;
  host bob{all, options};
  all.pass(5s);
  CHECK(all.repeated == 16);
  CHECK(all.late == 0);
}

TEST_CASE("options that contradict each other are refused before anything is touched") {
  meeting all;
  auto options = quick_options("ada");
  options.lease_renew_interval = 8s;
  host ada{all, options};
  REQUIRE(ada.is_over());
  REQUIRE_FALSE(ada.outcome().has_value());
  CHECK(ada.outcome().error().code == errc::invalid_options);
  CHECK(all.store.records().empty());

  auto parking = quick_options("bob");
  parking.on_poison = keyspan::poison_manner::park;  // a handler without park
  host bob{all, parking};
  REQUIRE(bob.is_over());
  CHECK(bob.outcome().error().text.view().find("park") != std::string_view::npos);

  auto in_lanes = quick_options("eve");
  in_lanes.lanes = 4;  // a handler without lane_of
  host eve{all, in_lanes};
  REQUIRE(eve.is_over());
  CHECK(eve.outcome().error().text.view() == "lanes is 4, and the handler has no lane_of(item)");

  auto elsewhere = quick_options("kim");
  elsewhere.lease_prefix = "orders/";
  host kim{all, elsewhere};
  REQUIRE(kim.is_over());
  CHECK(kim.outcome().error().code == errc::invalid_options);
  CHECK(all.store.records().empty());
}

TEST_CASE("a host that owns nothing and cannot reach the store stops soon") {
  meeting all{2};
  host ada{all, quick_options("ada")};
  all.pass(5s);
  ada.view.cut_off(keyspan::store_cut::silent);
  all.pass(1min);
  CHECK(ada.count(kind::lost) == 2);
  CHECK(ada.count(kind::session_lost) == 0);  // nobody else was there to notice
  ada.stop();
  all.pass(2 * quick_options("ada").store_timeout + 100ms);
  CHECK(ada.is_over());
}

TEST_CASE("events name the range, and the position as it is written by then") {
  meeting all{1};
  std::vector<std::string> told;
  auto options = quick_options("ada");
  options.session = keyspan::session_id{1};
  options.on_event = [&](keyspan::processor_event const& event) {
    if (event.kind == kind::checkpointed)
      told.push_back(std::string{event.range} + " " + std::to_string(event.sequence));
    CHECK((event.lease.empty() == event.range.empty()));
  };
  keyspan::processor host{all.source, all.store, all.clock, options};
  auto handler = [](auto&) {};
  keyspan::stop_source stop;
  test::begun const running{host.run(handler, stop.token())};
  all.write_some();
  all.pass(5s);
  auto const lease = all.leases().front();
  REQUIRE_FALSE(told.empty());
  CHECK(told.back() ==
        std::string{lease.range.to_text().view()} + " " + std::to_string(lease.facts.sequence));
  stop.request_stop();
  all.pass(10s);
  CHECK(running.is_over());
}

TEST_CASE("a host tells what it knows, from anywhere") {
  meeting all{2};
  host ada{all, quick_options("ada")};
  all.write_some();
  all.pass(5s);
  auto const told = keyspan::sync_wait(ada.work.status());
  CHECK(told.session);
  CHECK(told.leases.size() == 2);
  CHECK(told.counters.items == 16);
  CHECK(told.counters.acquired == 2);
  for (auto const& one : told.leases) CHECK(one.state == keyspan::lease_state::active);
  ada.stop();
  all.pass(2s);
  CHECK(keyspan::sync_wait(ada.work.status()).leases.empty());
}

TEST_CASE("at rest nothing is written but that the hosts live") {
  meeting all{8};
  host ada{all, quick_options("ada")};
  host bob{all, quick_options("bob")};
  all.write_some();
  all.pass(10s);
  auto const written = [&] {
    return ada.view.asked(keyspan::store_operation::replace) +
           bob.view.asked(keyspan::store_operation::replace);
  };
  auto const before = written();
  all.pass(60s);
  CHECK(written() - before <= 70);  // two hosts, every two seconds
}

TEST_CASE("the example of processor reads as it should") {
  using namespace std::chrono_literals;
  // [region: example]
  struct word {
    std::string text;
  };
  keyspan::scripted_source<word, keyspan::cosmos_v2_scheme> source{keyspan::cosmos_v2, 4};
  keyspan::manual_clock clock;  // in a program: a loop with timers
  keyspan::memory_store store{clock};

  std::size_t words = 0;
  auto handler = [&](auto& batch) { words += batch.size(); };
  keyspan::stop_source stop;
  keyspan::processor host{source, store, clock, {.start = keyspan::from_beginning}};

  auto const day = [&]() -> keyspan::task<> {
    for (int i = 0; i < 100; ++i) source.write(std::to_string(i), word{"a word"});
    static_cast<void>(co_await keyspan::wait_for(clock, 1min));
    stop.request_stop();
  };
  keyspan::run_loop loop;
  auto both = keyspan::when_all(host.run(handler, stop.token()), day());
  auto const [done, nothing] = loop.complete(std::move(both), clock);
  check(done.has_value() && words == 100);
  // [end: example]
  static_cast<void>(nothing);
}

}  // namespace
