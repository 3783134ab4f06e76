// test/lease/lease_facts_test.cpp — which of two states of a lease is the older one: all pairs of a
// small space, and histories as hosts write them.
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/session_id.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/enumerators.hpp>
#include <support/random.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using keyspan::is_older;
using keyspan::lease_facts;
using keyspan::lease_phase;
using keyspan::lease_stamp;
using keyspan::session_id;
using test::check;

constexpr session_id ada{1};
constexpr session_id bob{2};

constexpr lease_facts facts(session_id owner, std::uint64_t epoch, session_id writer,
                            std::uint64_t number) {
  lease_facts made;
  made.owner = owner;
  made.epoch = epoch;
  made.stamp = {writer, number};
  return made;
}

// Three owners, nobody among them, two epochs, two writers and three numbers.
constexpr std::vector<lease_facts> small_space() {
  std::vector<lease_facts> all;
  for (session_id const owner : {keyspan::no_session, ada, bob})
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (session_id const writer : {ada, bob})
        for (std::uint64_t number = 0; number < 3; ++number)
          all.push_back(facts(owner, epoch, writer, number));
  return all;
}

constexpr bool no_state_of_a_lease_is_older_than_itself() {
  for (auto const& one : small_space()) check(!is_older(one, one));
  return true;
}
CHECK_BOTH(no_state_of_a_lease_is_older_than_itself);

constexpr bool of_two_states_of_a_lease_never_are_both_the_older_one() {
  auto const all = small_space();
  std::size_t told = 0;
  for (auto const& one : all) {
    for (auto const& other : all) {
      check(!is_older(one, other) || !is_older(other, one));
      if (is_older(one, other)) ++told;
    }
  }
  // Of 36 states: 18 × 18 pairs of two epochs; in each epoch, of each writer, 3 owners × 3 owners
  // for each of 3 orders of two numbers; and for each owner 3 × 3 handovers with what he wrote.
  check(told == 18 * 18 + 2 * 2 * 9 * 3 + 2 * 2 * 9);
  return true;
}
CHECK_BOTH(of_two_states_of_a_lease_never_are_both_the_older_one);

constexpr bool a_lower_epoch_is_older_whoever_wrote() {
  for (auto const& one : small_space()) {
    auto later = one;
    ++later.epoch;
    for (session_id const writer : {ada, bob, session_id{3}}) {
      later.stamp = {writer, 0};
      check(is_older(one, later) && !is_older(later, one));
    }
  }
  return true;
}
CHECK_BOTH(a_lower_epoch_is_older_whoever_wrote);

constexpr bool what_a_holder_writes_later_in_its_epoch_is_newer() {
  auto one = facts(ada, 7, ada, 31);
  auto const first = one;
  for (std::uint64_t number = 32; number < 40; ++number) {
    auto next = one;
    next.stamp.number = number;
    check(is_older(one, next) && !is_older(next, one) && is_older(first, next));
    one = next;
  }
  return true;
}
CHECK_BOTH(what_a_holder_writes_later_in_its_epoch_is_newer);

constexpr bool a_handover_that_its_owner_has_confirmed_is_older_than_the_confirmation() {
  auto const handed = facts(bob, 8, ada, 34);
  auto const confirmed = facts(bob, 8, bob, 1);  // a lower number: each session counts for itself
  check(is_older(handed, confirmed) && !is_older(confirmed, handed));
  check(is_older(facts(ada, 7, ada, 33), handed));
  // Nothing tells these two apart: neither is older.
  auto const stranger = facts(bob, 8, session_id{3}, 1);
  check(!is_older(handed, stranger) && !is_older(stranger, handed));
  return true;
}
CHECK_BOTH(a_handover_that_its_owner_has_confirmed_is_older_than_the_confirmation);

constexpr bool only_epochs_owners_and_stamps_tell_which_state_is_older() {
  auto const all = small_space();
  for (auto const& one : all) {
    auto changed = one;
    changed.phase = lease_phase::ended;
    changed.is_detached = true;
    changed.sequence = 99;
    changed.held_for = std::chrono::hours{1};
    changed.place = 5;
    for (auto const& other : all) {
      check(is_older(changed, other) == is_older(one, other));
      check(is_older(other, changed) == is_older(other, one));
    }
  }
  return true;
}
CHECK_BOTH(only_epochs_owners_and_stamps_tell_which_state_is_older);

// A record as hosts write it one after the other, each write built from the one before.
std::vector<lease_facts> history(test::random& rng) {
  std::vector<lease_facts> all{{}};
  std::vector<std::uint64_t> numbers(5, 0);
  while (all.size() < 12) {
    auto next = all.back();
    auto const other = session_id{1 + rng.below(4)};
    bool const is_owned = next.owner != keyspan::no_session;
    // It is taken, by whoever waits long enough or finds it free; else its owner writes.
    bool const is_taken = !is_owned || rng.chance(20);
    auto const writer = is_taken ? other : next.owner;
    next.stamp = {writer, ++numbers[writer.value]};
    if (is_taken) {
      next.owner = other;
      ++next.epoch;
    } else if (rng.chance(25)) {
      next.owner = other;
      ++next.epoch;
    } else if (rng.chance(15)) {
      next.owner = keyspan::no_session;
    }
    all.push_back(next);
  }
  return all;
}

TEST_CASE("of a lease's history no later state is taken for an older one") {
  test::random rng{20};
  std::size_t told = 0;
  std::size_t pairs = 0;
  for (int round = 0; round < 2'000; ++round) {
    auto const all = history(rng);
    for (std::size_t j = 0; j < all.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        REQUIRE(!is_older(all[j], all[i]));
        ++pairs;
        if (is_older(all[i], all[j])) ++told;
        // One case is left open: it was handed over, and its owner has let go of it since.
        if (!is_older(all[i], all[j])) {
          REQUIRE(all[i].epoch == all[j].epoch);
          REQUIRE(all[i].owner == all[j].stamp.session);
          REQUIRE(!all[j].owner);
        }
      }
    }
  }
  CHECK(told < pairs);
  CHECK(told > pairs * 95 / 100);
}

TEST_CASE("every phase of a lease is called by its own name") {
  CHECK(test::are_named<lease_phase>(2));
  CHECK(test::promise_broken_by([] { return name_of(lease_phase{2}); }) ==
        "a lease_phase is one of the enumerators");
}

TEST_CASE("the example of lease_facts reads as it should") {
  // [region: example]
  constexpr keyspan::session_id adas{0xA};
  constexpr keyspan::session_id bobs{0xB};
  keyspan::lease_facts held{.owner = adas, .epoch = 7, .sequence = 120};
  held.stamp = {adas, 31};

  auto later = held;  // Ada writes once more
  later.stamp.number = 32;
  check(is_older(held, later));

  auto handed = later;  // Ada hands it over to Bob
  handed.owner = bobs;
  handed.epoch = 8;
  handed.stamp.number = 33;
  check(is_older(later, handed));

  auto confirmed = handed;  // Bob is there
  confirmed.stamp = {bobs, 1};
  check(is_older(handed, confirmed) && !is_older(confirmed, handed));
  // [end: example]
}

}  // namespace
