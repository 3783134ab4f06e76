// test/processor/processor_traps_test.cpp — moments at which little is needed to lose something:
// answers that are lost, requests that cross, threads that are held up.
#include "hosts.hpp"

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/processor.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::instant;
using keyspan::result;
using keyspan::task;
using kind = keyspan::processor_event_kind;
using test::batch_type;
using test::begun;
using test::host;
using test::meeting;
using test::quick_options;

TEST_CASE("a lease that was halted by a write whose answer was lost is resumed all the same") {
  meeting all{1};
  bool is_broken = true;
  host ada{
      all, quick_options("ada"), [&](host& self, batch_type& batch) -> task<result<void>> {
        if (!is_broken) co_return result<void>{};
        if (batch.attempt() == 5) {
          std::string id;
          for (auto const& one : all.store.records())
            if (one.id.starts_with("lease.")) id = one.id;
          // The write of the attempt, then the one that says that it is halted.
          self.view.next({.only = keyspan::store_operation::replace, .id = id});
          self.view.next({.only = keyspan::store_operation::replace, .id = id, .is_lost = true});
        }
        co_return keyspan::fail(errc::handler_failed, "full");
      }};
  all.write_some();
  all.pass(20s);
  REQUIRE_FALSE(all.leases()[0].paused.empty());
  is_broken = false;
  keyspan::lease_control control{all.source, all.store};
  CHECK(keyspan::sync_wait(control.resume(all.leases()[0].range)).has_value());
  all.pass(10s);
  CHECK(all.is_all_handled());
  CHECK(all.leases()[0].paused.empty());
}

TEST_CASE("of two resets that cross the later one is done, too") {
  meeting all{1};
  bool is_slow = false;
  host ada{all, quick_options("ada"), [&](host& self, batch_type&) -> task<result<void>> {
             if (is_slow)
               static_cast<void>(co_await self.all.clock.wait_until(self.all.clock.now() + 3500ms));
             co_return result<void>{};
           }};
  all.write_some();
  all.pass(5s);
  is_slow = true;
  all.write_some();
  all.pass(600ms);
  keyspan::lease_control control{all.source, all.store};
  auto const range = all.leases()[0].range;
  CHECK(keyspan::sync_wait(control.reset(range, keyspan::from_now)).has_value());
  all.pass(1500ms);  // the handler is at work, and its lease is being let go of
  CHECK(keyspan::sync_wait(control.reset(range, keyspan::from_beginning)).has_value());
  all.pass(60s);
  CHECK(all.repeated >= 32);
  CHECK_FALSE(all.leases()[0].reset.has_value());
}

// Says each batch of its lane as often as it can; the other lane takes for ever.
struct says_too_much {
  meeting& all;
  bool parks = false;
  std::vector<keyspan::acknowledgement> kept{};
  bool is_held = true;

  static std::uint64_t lane_of(test::note const& one) { return one.book == "book a" ? 0 : 1; }
  task<result<void>> process(batch_type& batch) {
    if (lane_of(batch[0]) == 1) {
      while (is_held) static_cast<void>(co_await all.clock.wait_until(all.clock.now() + 500ms));
      batch.acknowledge();
      co_return result<void>{};
    }
    kept.push_back(batch.acknowledger());
    if (!parks && batch.attempt() == 1) co_return keyspan::fail(errc::handler_failed, "once");
    for (test::note const& one : batch)
      if (parks && one.number == 1) co_return keyspan::fail(errc::handler_failed, "poison");
    for (auto const& done : kept) done();
    co_return result<void>{};
  }
  void park(batch_type&, keyspan::error const&) {}
};

TEST_CASE("a batch counts as handled when each lane has said so, however often one of them does") {
  for (bool const parks : {false, true}) {
    meeting all{1};
    auto options = quick_options("ada");
    options.lanes = 2;
    options.checkpointing = keyspan::checkpointing::manual;
    options.most_attempts = 2;
    if (parks) options.on_poison = keyspan::poison_manner::park;
    keyspan::processor work{all.source, all.store, all.clock, options};
    says_too_much handler{all, parks};
    for (int i = 0; i < 3; ++i) all.write("book a");
    all.write("book b");
    keyspan::stop_source stop;
    begun running{work.run(handler, stop.token())};
    all.pass(10s);
    CHECK(all.leases()[0].facts.sequence == 0);
    handler.is_held = false;
    all.pass(5s);
    CHECK(all.leases()[0].facts.sequence > 0);
    stop.request_stop();
    all.pass(10s);
    CHECK(running.is_over());
  }
}

// A thread that is held up: time goes on, and nothing is fired.
struct lagging_clock {
  keyspan::manual_clock& of;
  instant::duration ahead{};

  instant now() const { return of.now() + ahead; }
  task<result<void>> wait_until(instant due, keyspan::stop_token stop) {
    while (now() < due) {
      result<void> const waited = co_await of.wait_until(of.now() + (due - now()), stop);
      if (!waited) co_return waited;
    }
    if (stop.stop_requested()) co_return keyspan::fail(errc::stopped, "stopped");
    co_return result<void>{};
  }
};

TEST_CASE("handlers that block each other begin nothing behind the deadline") {
  meeting all{8};
  lagging_clock clock{all.clock};
  instant last_beat{};
  all.store.on_write([&](keyspan::store_write const& one) {
    if (one.id.starts_with("member.")) last_beat = clock.now();
  });
  keyspan::processor work{all.source, all.store, clock, quick_options("ada")};
  int late = 0;
  int batches = 0;
  bool is_blocking = true;
  auto handler = [&](batch_type&) {
    ++batches;
    if (clock.now() - last_beat >= 10s) ++late;
    if (is_blocking) clock.ahead += 3s;
  };
  all.write_some();
  keyspan::stop_source stop;
  begun running{work.run(handler, stop.token())};
  all.pass(2s);
  CHECK(batches > 2);
  CHECK(late == 0);
  is_blocking = false;
  stop.request_stop();
  for (int i = 0; i < 60 && !running.is_over(); ++i) all.pass(1s);
  CHECK(running.is_over());
  all.store.on_write({});
}

TEST_CASE("what was passed over behind the deadline comes again before what lies behind it") {
  meeting all{1};
  all.source.page_size(1);
  lagging_clock clock{all.clock};
  auto view = all.store.view("ada");
  instant beat{};
  bool is_armed = false;
  all.store.on_write([&](keyspan::store_write const& one) {
    if (is_armed && one.id.starts_with("member.")) {
      beat = all.clock.now();
      is_armed = false;
    }
  });
  auto options = quick_options("ada");
  options.session = keyspan::session_id{77};
  options.checkpoint_frequency.items = 1000;
  keyspan::processor work{all.source, view, clock, options};
  bool is_released = false;
  auto handler = [&](batch_type& batch) -> task<result<void>> {
    if (batch[0].number == 2 && !is_released) {
      while (!is_released) static_cast<void>(co_await all.clock.wait_until(all.clock.now() + 10ms));
      clock.ahead += 6700ms;  // the process is suspended for a while
    }
    for (test::note const& one : batch) all.see(one, "ada", batch.epoch());
    co_return result<void>{};
  };
  for (int i = 0; i < 6; ++i) all.write("book a");
  keyspan::stop_source stop;
  begun running{work.run(handler, stop.token())};
  all.pass(5s);
  // A beat whose answer takes long, and comes when the deadline of the one before has passed.
  view.next({.only = keyspan::store_operation::replace,
             .id = "member." + std::string{options.session.to_text().view()},
             .after = 1500ms});
  is_armed = true;
  for (int i = 0; i < 500 && is_armed; ++i) all.pass(10ms);
  REQUIRE_FALSE(is_armed);
  all.pass(1380ms);
  is_released = true;
  all.pass(1s);
  for (int i = 0; i < 3; ++i) all.write("book a");
  all.pass(30s);
  CHECK(all.is_all_handled());
  CHECK(all.order_is_kept);
  stop.request_stop();
  for (int i = 0; i < 60 && !running.is_over(); ++i) all.pass(1s);
  CHECK(running.is_over());
  all.store.on_write({});
}

TEST_CASE("a store that refuses, or has what cannot be read, is not asked without pause") {
  meeting all{2};
  {
    host bob{all, quick_options("bob")};
    all.pass(5s);
  }
  for (auto const& one : all.store.records()) {
    if (!one.id.starts_with("lease.")) continue;
    all.store.put(one.id, one.body.substr(0, one.body.size() - 3));
    break;
  }
  host ada{all, quick_options("ada")};
  all.pass(10s);
  auto const asked = [&] {
    return ada.view.asked(keyspan::store_operation::read) +
           ada.view.asked(keyspan::store_operation::list);
  };
  auto before = asked();
  all.pass(10s);
  CHECK(asked() - before < 100);
  ada.view.cut_off(keyspan::store_cut::refusing);
  before = asked();
  all.pass(9s);
  CHECK(asked() - before < 200);
  ada.view.heal();
}

}  // namespace
