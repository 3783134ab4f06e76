// test/processor/roster_test.cpp — what lists of members say, and for how long.
#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/roster.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::instant;
using keyspan::member_phase;
using keyspan::session_id;
using keyspan::stored_record;
using keyspan::detail::roster;
using test::check;
using phase = keyspan::member_phase;

constexpr session_id ada{0xADA};
constexpr session_id bob{0xB0B};
constexpr session_id eve{0xE5E};
constexpr instant begin{1h};
constexpr std::uint32_t even = 0;  // clocks that go as true time does

keyspan::lease_ids const ids{"jobs"};

stored_record record_of(session_id session, phase is, std::uint64_t beat) {
  keyspan::member_record made;
  made.session = session;
  made.phase = is;
  made.beat = beat;
  made.held_for = 10s;
  return {ids.member(session), made.to_text(), "v" + std::to_string(beat)};
}
struct watched {
  roster all{};
  int unreadable = 0;

  bool see(std::vector<stored_record> const& found, instant::duration at) {
    return all.see(found, ids, ada, begin + at, [&](keyspan::error const&) { ++unreadable; });
  }
};

TEST_CASE("who has come, changed its phase or gone is news, and who goes on is none") {
  watched by;
  CHECK(by.see({record_of(ada, phase::live, 1)}, 0s));
  CHECK(by.all.last_joined_at() == instant{});  // that is the host itself
  CHECK(by.see({record_of(ada, phase::live, 2), record_of(bob, phase::live, 1)}, 1s));
  CHECK(by.all.last_joined_at() == begin + 1s);
  CHECK_FALSE(by.see({record_of(ada, phase::live, 3), record_of(bob, phase::live, 2)}, 2s));
  CHECK(by.see({record_of(bob, phase::draining, 3)}, 3s));
  CHECK(by.all.find(bob)->takes_part(begin + 3s, even));
  CHECK(by.see({}, 4s));
  CHECK_FALSE(by.see({}, 5s));
  CHECK_FALSE(by.all.find(bob)->is_there());
  CHECK(by.all.find(ada)->is_there());  // of itself a host knows better than a list
  CHECK(by.all.find(eve) == nullptr);
  CHECK(by.see({record_of(bob, phase::live, 4)}, 6s));
  CHECK(by.all.last_joined_at() == begin + 6s);
}

TEST_CASE("a member takes part for as long as its beats are heard, and is there for longer") {
  watched by;
  by.see({record_of(bob, phase::live, 1)}, 0s);
  by.see({record_of(bob, phase::live, 2)}, 5s);
  auto const wait = keyspan::wait_before_taking(10s, 1'000);
  CHECK(by.all.find(bob)->takes_part(begin + 5s + wait - 1ns, 1'000));
  CHECK_FALSE(by.all.find(bob)->takes_part(begin + 5s + wait, 1'000));
  CHECK(by.all.find(bob)->is_there());
  CHECK_FALSE(by.all.is_fenced(bob));
  // A list from before says nothing, however late it comes.
  by.see({record_of(bob, phase::live, 1)}, 15s);
  CHECK_FALSE(by.all.find(bob)->takes_part(begin + 5s + wait, 1'000));
}

TEST_CASE("who was fenced, or has left, cannot be active any more") {
  watched by;
  by.see({record_of(bob, phase::fenced, 2), record_of(eve, phase::away, 9)}, 0s);
  CHECK(by.all.is_fenced(bob));
  CHECK(by.all.is_fenced(eve));
  CHECK(by.all.find(eve)->is_away());
  CHECK_FALSE(by.all.find(bob)->is_away());
  CHECK_FALSE(by.all.find(bob)->takes_part(begin, even));
  // Without a record nobody else can see it.
  by.see({}, 1s);
  CHECK_FALSE(by.all.is_fenced(bob));
}

TEST_CASE("what a host writes and removes it need not be shown") {
  watched by;
  by.see({record_of(bob, phase::live, 4)}, 0s);
  auto fenced = by.all.find(bob)->record;
  fenced.phase = phase::fenced;
  ++fenced.beat;
  by.all.write(fenced, "v5", begin + 30s);
  CHECK(by.all.is_fenced(bob));
  CHECK(by.all.find(bob)->version == "v5");
  // The list was asked for before.
  by.see({record_of(bob, phase::live, 4)}, 31s);
  CHECK(by.all.is_fenced(bob));
  by.all.remove(bob, begin + 32s);
  CHECK_FALSE(by.all.find(bob)->is_there());
}

TEST_CASE("an owner without a record is waited for, from when it was first heard of") {
  watched by;
  by.all.see_owner(eve, 10s, begin);
  by.all.see_owner(eve, 10s, begin + 8s);
  CHECK_FALSE(by.all.find(eve)->is_there());
  CHECK_FALSE(by.all.find(eve)->watch.is_overdue(begin + 10s - 1ns, even));
  CHECK(by.all.find(eve)->watch.is_overdue(begin + 10s + 1s, even));
  CHECK(by.all.longest_hold() == 10s);
}

TEST_CASE("who has long gone is forgotten, unless something is still wanted of it") {
  watched by;
  by.see({record_of(bob, phase::live, 1), record_of(eve, phase::live, 1)}, 0s);
  by.see({record_of(bob, phase::live, 2)}, 10s);
  by.all.forget(begin + 10s, [](session_id) { return false; });
  CHECK(by.all.find(eve) != nullptr);
  by.all.forget(begin + 11s, [](session_id one) { return one == eve; });
  CHECK(by.all.find(eve) != nullptr);
  by.all.forget(begin + 11s, [](session_id) { return false; });
  CHECK(by.all.find(eve) == nullptr);
  CHECK(by.all.find(bob) != nullptr);
}

TEST_CASE("records that are no members are passed over, and those that nobody can read are told") {
  watched by;
  auto broken = record_of(bob, phase::live, 1);
  broken.body = "{";
  CHECK_FALSE(by.see({broken, {ids.layout(), "{}", "v1"}}, 0s));
  CHECK(by.unreadable == 1);
  CHECK(by.all.begin() == by.all.end());
}

TEST_CASE("the example of roster reads as it should") {
  keyspan::lease_ids const names{};
  std::vector<stored_record> listed;
  keyspan::member_record record;
  record.session = bob;
  record.held_for = 60s;
  listed.push_back({names.member(bob), record.to_text(), "1"});
  instant const now{24h};
  std::uint32_t const rate_bound_ppm = 1'000;
  auto const on_unreadable = [](keyspan::error const&) {};
  // [region: example]
  keyspan::detail::roster members;
  bool const has_changed = members.see(listed, names, ada, now, on_unreadable);
  check(has_changed && members.find(bob)->takes_part(now, rate_bound_ppm));
  // Its beat was not heard again for as long as a taker waits.
  check(!members.find(bob)->takes_part(now + 61s, rate_bound_ppm));
  // [end: example]
}

}  // namespace
