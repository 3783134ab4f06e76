// test/region/region_retry_test.cpp — every status that concerns regions, with every kind of
// request: what is asked next, and what is remembered.
#include <keyspan/async/instant.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::failed_in_region;
using keyspan::instant;
using keyspan::region_place;
using keyspan::region_policy;
using keyspan::region_step;
using keyspan::region_trouble;
using keyspan::region_use;
using keyspan::request_kind;
using keyspan::step_after;
using keyspan::trouble_of;
using test::check;
using namespace std::chrono_literals;

constexpr error said(errc code, std::uint16_t status, std::uint16_t substatus = 0) {
  error why{code};
  why.wire.status = status;
  why.wire.substatus = substatus;
  return why;
}

// A status as the service says it, and what it is for a read, a write that can be done twice, and
// another one.
struct row {
  error why;
  region_trouble read, repeatable, write;
};

constexpr bool each_status_is_one_trouble() {
  using enum region_trouble;
  row const rows[]{
      {said(errc::region_not_writable, 403, 3), not_writable, not_writable, not_writable},
      {said(errc::unavailable, 403, 1008), not_there, not_there, not_there},
      {said(errc::forbidden, 403, 1014), none, none, none},
      {said(errc::not_found, 404), none, none, none},
      {said(errc::session_not_available, 404, 1002), behind, behind, behind},
      {said(errc::not_found, 404, 1003), none, none, none},
      {said(errc::unavailable, 404, 1013), not_ready, not_ready, not_ready},
      {said(errc::timed_out, 408), unclear, unclear, none},
      {said(errc::timed_out, 0), none, none, none},
      {said(errc::already_exists, 409), none, none, none},
      {said(errc::container_changed, 410, 1000), none, none, none},
      {said(errc::range_gone, 410, 1002), none, none, none},
      {said(errc::range_gone, 410, 1007), none, none, none},
      {said(errc::range_gone, 410, 1008), none, none, none},
      {said(errc::unavailable, 410, 1002), not_ready, not_ready, not_ready},
      {said(errc::unavailable, 410, 1007), not_ready, not_ready, not_ready},
      {said(errc::unavailable, 410, 1008), not_ready, not_ready, not_ready},
      {said(errc::unavailable, 410, 1022), unavailable, unavailable, unavailable},
      {said(errc::unavailable, 410), unavailable, unavailable, unavailable},
      {said(errc::precondition_failed, 412), none, none, none},
      {said(errc::too_large, 413), none, none, none},
      {said(errc::throttled, 429), none, none, none},
      {said(errc::throttled, 429, 3092), none, none, none},
      {said(errc::contended, 449), none, none, none},
      {said(errc::service_failed, 500), unclear, unclear, none},
      {said(errc::unavailable, 503), unavailable, unavailable, unavailable},
      {said(errc::not_connected, 0), unreachable, unreachable, unreachable},
      {said(errc::outcome_unknown, 0), unclear, unclear, none},
      {said(errc::bad_response, 200), unclear, unclear, none},
      {said(errc::bad_request, 400), none, none, none},
      {said(errc::unsupported, 400, 1004), none, none, none},
      {said(errc::key_mismatch, 400, 1001), none, none, none},
      {said(errc::container_changed, 400, 1024), none, none, none},
      {said(errc::unauthorized, 401), none, none, none},
      {said(errc::stopped, 0), none, none, none},
  };
  for (row const& one : rows) {
    check(trouble_of(one.why, request_kind::read) == one.read);
    check(trouble_of(one.why, request_kind::repeatable_write) == one.repeatable);
    check(trouble_of(one.why, request_kind::write) == one.write);
    // Writes in several regions differ in one status alone.
    bool const is_full = one.why.wire.substatus == 3092;
    check(trouble_of(one.why, request_kind::write, true) == (is_full ? unavailable : one.write));
    check(trouble_of(one.why, request_kind::read, true) == one.read);
  }
  return true;
}
CHECK_BOTH(each_status_is_one_trouble);

constexpr bool an_error_is_repeated_at_its_endpoint_or_in_another_region_and_not_by_both() {
  keyspan::retry_policy const policy{.only_where_busy = true, .jitter = 0};
  for (errc const code : keyspan::all_errc)
    for (std::uint16_t const status : {std::uint16_t{0}, std::uint16_t{500}})
      for (auto const kind :
           {request_kind::read, request_kind::repeatable_write, request_kind::write}) {
        auto const why = said(code, status);
        bool const at_endpoint =
            keyspan::wait_before_retry(policy, {.why = why, .kind = kind}).has_value();
        bool const elsewhere = trouble_of(why, kind) != region_trouble::none;
        check(!(at_endpoint && elsewhere));
        // What an account in one region repeats, one in several repeats, too.
        if (keyspan::may_repeat(why, kind)) check(at_endpoint || elsewhere);
      }
  return true;
}
CHECK_BOTH(an_error_is_repeated_at_its_endpoint_or_in_another_region_and_not_by_both);

constexpr failed_in_region failed(region_trouble trouble, region_use use, int alike,
                                  std::size_t untried = 2, bool in_many = false) {
  failed_in_region made;
  made.trouble = trouble;
  made.use = use;
  made.alike = alike;
  made.untried = untried;
  made.writes_in_many = in_many;
  return made;
}
constexpr region_policy policy{};

constexpr bool a_region_that_takes_no_writes_is_marked_and_the_account_read_anew() {
  using enum region_trouble;
  auto next = step_after(policy, failed(not_writable, region_use::write, 1));
  check(next ==
        region_step{
            .goes_on = true, .place = region_place::next, .marks_writes = true, .refreshes = true});
  // A second from then on, 120 times in all.
  next = step_after(policy, failed(not_writable, region_use::write, 2));
  check(next.goes_on && next.wait == 1s && next.place == region_place::next);
  check(step_after(policy, failed(not_writable, region_use::administer, 119)).goes_on);
  check(!step_after(policy, failed(not_writable, region_use::administer, 120)).goes_on);
  check(step_after(policy, failed(not_writable, region_use::write, 1, 0)).goes_on);
  return true;
}
CHECK_BOTH(a_region_that_takes_no_writes_is_marked_and_the_account_read_anew);

constexpr bool a_region_that_is_none_of_the_account_is_marked_for_what_was_asked() {
  using enum region_trouble;
  auto next = step_after(policy, failed(not_there, region_use::read, 1, 2));
  check(next ==
        region_step{
            .goes_on = true, .place = region_place::next, .marks_reads = true, .refreshes = true});
  check(step_after(policy, failed(not_there, region_use::read, 2, 1)).goes_on);
  check(!step_after(policy, failed(not_there, region_use::read, 3, 0)).goes_on);
  next = step_after(policy, failed(not_there, region_use::write, 1, 2, true));
  check(next.goes_on && next.marks_writes && !next.marks_reads);
  // Nobody else takes a write that one region takes; the mark and the look are worth it.
  next = step_after(policy, failed(not_there, region_use::write, 1, 1));
  check(!next.goes_on && next.marks_writes && next.refreshes);
  return true;
}
CHECK_BOTH(a_region_that_is_none_of_the_account_is_marked_for_what_was_asked);

constexpr bool what_a_region_has_not_seen_is_read_where_it_is_written() {
  using enum region_trouble;
  auto next = step_after(policy, failed(behind, region_use::read, 1, 0));
  check(next == region_step{.goes_on = true, .place = region_place::write_region});
  check(step_after(policy, failed(behind, region_use::read, 2, 0)).goes_on);
  check(!step_after(policy, failed(behind, region_use::read, 3, 2)).goes_on);
  // Where many take writes each one is asked once.
  next = step_after(policy, failed(behind, region_use::read, 1, 1, true));
  check(next == region_step{.goes_on = true, .place = region_place::next});
  check(step_after(policy, failed(behind, region_use::read, 5, 1, true)).goes_on);
  check(!step_after(policy, failed(behind, region_use::read, 2, 0, true)).goes_on);
  return true;
}
CHECK_BOTH(what_a_region_has_not_seen_is_read_where_it_is_written);

constexpr bool a_region_that_cannot_serve_something_yet_is_waited_for_itself() {
  using enum region_trouble;
  instant::duration const waits[]{100ms, 200ms, 400ms, 800ms, 1s, 1s, 1s, 1s, 1s};
  for (int i = 0; i < 9; ++i)
    check(step_after(policy, failed(not_ready, region_use::read, i + 1)) ==
          region_step{.goes_on = true, .place = region_place::same, .wait = waits[i]});
  check(!step_after(policy, failed(not_ready, region_use::read, 10)).goes_on);
  return true;
}
CHECK_BOTH(a_region_that_cannot_serve_something_yet_is_waited_for_itself);

constexpr bool each_region_is_tried_at_once_and_then_with_growing_waits() {
  using enum region_trouble;
  for (auto const trouble : {unavailable, unclear, unreachable})
    for (auto const use : {region_use::read, region_use::write, region_use::administer}) {
      auto one = failed(trouble, use, 1, 1);
      bool const marks = trouble == unreachable;
      check(step_after(policy, one) == region_step{.goes_on = true,
                                                   .place = region_place::next,
                                                   .marks_reads = marks,
                                                   .marks_writes = marks,
                                                   .refreshes = marks});
      instant::duration const waits[]{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1s, 1s};
      one.untried = 0;
      for (int i = 0; i < 9; ++i) {
        one.rounds = i;
        one.alike = i + 1;
        check(step_after(policy, one).wait == waits[i]);
      }
      one.alike = 10;
      check(!step_after(policy, one).goes_on);
    }
  return true;
}
CHECK_BOTH(each_region_is_tried_at_once_and_then_with_growing_waits);

constexpr bool what_another_region_cannot_mend_ends_there() {
  check(step_after(policy, failed(region_trouble::none, region_use::read, 1)) == region_step{});
  return true;
}
CHECK_BOTH(what_another_region_cannot_mend_ends_there);

constexpr bool a_wait_that_would_end_behind_the_budget_is_not_begun() {
  auto late = failed(region_trouble::not_writable, region_use::write, 2);
  late.elapsed = 29s;
  check(step_after(policy, late).goes_on);
  late.elapsed = 29s + 1ms;
  auto const next = step_after(policy, late);
  check(!next.goes_on && next.wait == 0s && next.marks_writes && next.refreshes);
  return true;
}
CHECK_BOTH(a_wait_that_would_end_behind_the_budget_is_not_begun);

constexpr bool waits_are_no_longer_than_the_longest_whatever_is_asked_for() {
  region_policy const odd{.budget = (instant::duration::max)(),
                          .most_unavailable = 2'000'000'000,
                          .first_wait = 3s,
                          .longest_wait = 2s};
  auto late = failed(region_trouble::unavailable, region_use::read, 3, 0);
  check(step_after(odd, late).wait == 2s);
  late.rounds = 1'999'999'999;
  check(step_after(odd, late).wait == 2s);
  region_policy const at_once{.most_unavailable = 2'000'000'000, .first_wait = 0s};
  check(step_after(at_once, late).wait == 0s);
  return true;
}
CHECK_BOTH(waits_are_no_longer_than_the_longest_whatever_is_asked_for);

constexpr bool the_example_of_region_retry_reads_as_it_should() {
  // [region: example]
  error why{errc::unavailable};
  why.wire.status = 503;
  failed_in_region failed{.trouble = trouble_of(why, request_kind::read), .untried = 1};
  region_step next = step_after(region_policy{}, failed);
  check(next.goes_on && next.place == region_place::next && next.wait == 0ms);  // at once

  failed.alike = 2;
  failed.untried = 0;
  next = step_after(region_policy{}, failed);
  check(next.goes_on && next.wait == 10ms);  // all of them again, by and by
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_region_retry_reads_as_it_should);

}  // namespace
