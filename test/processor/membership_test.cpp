// test/processor/membership_test.cpp — how a host's own record fares in a store that answers, loses
// answers, and is written by others.
#include "hosts.hpp"

#include <keyspan/async/instant.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/membership.hpp>

#include <support/check.hpp>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::manual_clock;
using keyspan::member_phase;
using keyspan::member_record;
using keyspan::member_state;
using keyspan::result;
using keyspan::session_id;
using keyspan::store_operation;
using keyspan::task;
using test::begun;
using test::check;
using context = keyspan::detail::host_context<test::token, manual_clock>;
using view_type = keyspan::memory_view<manual_clock>;
using membership_type = keyspan::detail::membership<test::token, view_type, manual_clock>;

struct heard : keyspan::detail::membership_listener {
  void has_beaten(bool is_first) override {
    ++beats;
    firsts += is_first;
  }
  void has_lost_session() override { ++lost; }
  void has_left() override { ++left; }

  int beats = 0;
  int firsts = 0;
  int lost = 0;
  int left = 0;
};

struct world {
  world() { clock.advance(1h); }

  static test::options_type options() {
    auto made = test::quick_options("ada");
    made.session = session_id{0xADA};
    return made;
  }
  // Does something inside, and lets what it begins go on.
  template <class F>
  void inside(F does) {
    auto const doing = [&]() -> task<result<void>> {
      co_await host.inside.enter();
      does();
      co_await host.inside.leave();
      co_return result<void>{};
    };
    begun const done{doing()};
    clock.advance(0s);
    REQUIRE(done.is_over());
  }
  void beat() {
    inside([&] { own.beat(); });
  }
  member_record record() const {
    auto const found = const_cast<world*>(this)->store.find(host.ids.member(host.terms.session));
    REQUIRE(found.has_value());
    return *member_record::from_text(found->body);
  }

  manual_clock clock{};
  keyspan::memory_store<manual_clock> store{clock};
  view_type view = store.view("ada");
  context host{clock, options()};
  heard told{};
  membership_type own{host, view, told};
};

TEST_CASE("a host joins, beats, drains and leaves, and its record says so") {
  world all;
  CHECK_FALSE(all.own.is_live());
  all.inside([&] { all.own.join(); });
  CHECK(all.own.is_live());
  CHECK(all.told.firsts == 1);
  CHECK(all.record().phase == member_phase::live);
  CHECK(all.record().name == "ada");
  auto const first = all.record().beat;
  CHECK(all.host.terms.session_until == all.clock.now() + 10s);
  CHECK(all.own.next_beat() == all.clock.now() + 1s);
  all.clock.advance(2s);
  all.beat();
  CHECK(all.record().beat > first);
  CHECK(all.told.beats == 2);
  CHECK(all.told.firsts == 1);
  CHECK(all.host.terms.session_until == all.clock.now() + 10s);
  CHECK(all.own.next_beat() >= all.clock.now() + 1'800ms);
  CHECK(all.own.next_beat() <= all.clock.now() + 2'200ms);
  all.inside([&] { all.own.drain(); });
  CHECK(all.record().phase == member_phase::draining);
  all.inside([&] { all.own.leave(); });
  CHECK(all.own.state() == member_state::gone);
  CHECK(all.told.left == 1);
  CHECK(all.store.records().empty());
}

TEST_CASE("a beat whose answer is lost counts from when it was sent, once it was seen to be done") {
  world all;
  all.inside([&] { all.own.join(); });
  all.clock.advance(2s);
  auto const sent = all.clock.now();
  all.view.next({.only = store_operation::replace, .after = 300ms, .is_lost = true});
  all.beat();
  CHECK(all.host.terms.session_until < sent + 10s);
  all.clock.advance(400ms);
  CHECK(all.host.terms.session_until == sent + 10s);
  CHECK(all.told.beats == 2);
}

TEST_CASE("what the store refuses for a moment is tried again, later each time") {
  world all;
  all.inside([&] { all.own.join(); });
  all.clock.advance(2s);
  all.view.fail_next(errc::unavailable, 3);
  auto const writes = all.host.counters.writes;
  all.beat();
  CHECK(all.told.beats == 1);
  all.clock.advance(1s);
  CHECK(all.told.beats == 2);
  CHECK(all.host.counters.writes == writes + 4);
}

TEST_CASE("who was fenced joins anew under another name, and once") {
  world all;
  all.inside([&] { all.own.join(); });
  auto fenced = all.record();
  fenced.phase = member_phase::fenced;
  ++fenced.beat;
  auto const before = all.host.terms.session;
  all.store.put(all.host.ids.member(before), fenced.to_text());
  all.clock.advance(2s);
  all.beat();
  CHECK(all.told.lost == 1);
  CHECK(all.host.terms.session != before);
  CHECK(all.own.is_live());
  CHECK(all.told.firsts == 2);
  CHECK(all.record().phase == member_phase::live);
  all.clock.advance(2s);
  all.beat();
  CHECK(all.told.lost == 1);
}

TEST_CASE("a host whose record was removed by hand goes on, or joins anew") {
  world all;
  all.inside([&] { all.own.join(); });
  all.store.erase(all.host.ids.member(all.host.terms.session));
  all.clock.advance(2s);
  all.beat();
  all.clock.advance(2s);
  all.beat();
  CHECK(all.own.is_live());
  CHECK(all.record().phase == member_phase::live);
}

TEST_CASE("who leaves and keeps its place leaves a record that says so") {
  world all;
  all.own.set_place(77);
  all.inside([&] { all.own.join(); });
  CHECK(all.record().place == 77);
  all.host.terms.is_stopping = true;
  all.host.terms.place = 77;
  all.inside([&] { all.own.leave(); });
  CHECK(all.own.state() == member_state::gone);
  CHECK(all.record().phase == member_phase::away);
  CHECK(all.record().place == 77);
}

TEST_CASE("the example of membership reads as it should") {
  manual_clock clock;
  keyspan::memory_store<manual_clock> store{clock};
  auto view = store.view("ada");
  context host{clock, world::options()};
  heard listener;
  auto const joins = [&]() -> task<result<void>> {
    co_await host.inside.enter();
    // [region: example]
    keyspan::detail::membership<test::token, view_type, manual_clock> own{host, view, listener};
    own.join();
    co_await host.inside.leave();  // the record is written meanwhile
    check(own.is_live() && listener.beats == 1);
    // [end: example]
    co_return result<void>{};
  };
  begun const done{joins()};
  check(done.is_over());
}

}  // namespace
