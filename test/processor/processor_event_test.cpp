// test/processor/processor_event_test.cpp — names of what happens, and counts of how often.
#include <keyspan/core/error.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/processor_event.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/enumerators.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <type_traits>

namespace {

using keyspan::processor_counters;
using keyspan::processor_event;
using keyspan::processor_event_kind;
using test::check;

static_assert(test::are_named<processor_event_kind>(25));
static_assert(std::is_trivially_copyable_v<processor_event>);
static_assert(std::is_trivially_copyable_v<processor_counters>);

TEST_CASE("a kind of event without an enumerator has no name") {
  CHECK(test::promise_broken_by([] { return name_of(static_cast<processor_event_kind>(25)); }) ==
        "a processor_event_kind is one of the enumerators");
  CHECK(test::promise_broken_by([] { return name_of(static_cast<processor_event_kind>(255)); }) ==
        "a processor_event_kind is one of the enumerators");
}

TEST_CASE("an event says nothing of what it is not about") {
  constexpr processor_event event;
  STATIC_REQUIRE(event.lease.empty());
  STATIC_REQUIRE(event.range.empty());
  STATIC_REQUIRE(event.epoch == 0);
  STATIC_REQUIRE(event.sequence == 0);
  STATIC_REQUIRE(event.why == nullptr);
  CHECK(event.host == keyspan::session_id{});
  CHECK(event.other == keyspan::session_id{});
}

TEST_CASE("counters are equal where each of them is") {
  constexpr std::uint64_t processor_counters::* members[]{
      &processor_counters::batches,     &processor_counters::items,
      &processor_counters::failures,    &processor_counters::parked,
      &processor_counters::pages,       &processor_counters::writes,
      &processor_counters::refused,     &processor_counters::reads,
      &processor_counters::lists,       &processor_counters::acquired,
      &processor_counters::handed_over, &processor_counters::lost};
  static_assert(sizeof(processor_counters) == sizeof(std::uint64_t) * std::size(members));
  processor_counters const none;
  for (auto const member : members) {
    CHECK(none.*member == 0);
    processor_counters one;
    one.*member = 1;
    CHECK(one != none);
    for (auto const other : members) CHECK((one.*other == 1) == (other == member));
  }
}

TEST_CASE("the example of processor_event reads as it should") {
  // [region: example]
  std::map<std::string, int> counts;
  std::string alarm;
  auto const on_event = [&](keyspan::processor_event const& event) {
    ++counts[std::string{name_of(event.kind)}];
    if (event.kind == keyspan::processor_event_kind::halted)
      alarm = std::string{event.lease}.append(": ").append(event.why->text.view());
  };
  // [end: example]
  keyspan::error const why{keyspan::errc::handler_failed, "the sink is full"};
  on_event({.kind = processor_event_kind::acquired, .lease = "lease-1", .epoch = 3});
  on_event({.kind = processor_event_kind::halted, .lease = "lease-1", .epoch = 3, .why = &why});
  CHECK(counts == std::map<std::string, int>{{"acquired", 1}, {"halted", 1}});
  CHECK(alarm == "lease-1: the sink is full");
}

}  // namespace
