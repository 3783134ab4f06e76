// test/core/error_test.cpp — every error has a name, a meaning and an advice, and says where it
// was.
#include <keyspan/core/error.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::text_position;
using test::check;

// A switch without a default: the compiler complains of an enumerator that is missing here, and the
// name is the enumerator's own by construction.
constexpr std::string_view enumerator_of(errc code) {
#define KIND(name) \
  case errc::name: \
    return #name
  switch (code) {
    KIND(malformed);
    KIND(invalid_utf8);
    KIND(not_representable);
    KIND(not_a_key);
    KIND(too_large);
    KIND(unsupported);
    KIND(invalid_options);
    KIND(key_mismatch);
    KIND(gap);
    KIND(overlap);
    KIND(invalid_range);
    KIND(unknown_range);
    KIND(conflicting_ranges);
    KIND(wrong_container);
    KIND(scheme_mismatch);
    KIND(position_lost);
    KIND(out_of_order);
    KIND(bad_request);
    KIND(unauthorized);
    KIND(forbidden);
    KIND(not_found);
    KIND(already_exists);
    KIND(range_gone);
    KIND(container_changed);
    KIND(precondition_failed);
    KIND(contended);
    KIND(not_attempted);
    KIND(throttled);
    KIND(session_not_available);
    KIND(region_not_writable);
    KIND(service_failed);
    KIND(unavailable);
    KIND(not_connected);
    KIND(bad_response);
    KIND(timed_out);
    KIND(stopped);
    KIND(outcome_unknown);
    KIND(lease_lost);
    KIND(foreign_lease);
    KIND(handler_failed);
  }
#undef KIND
  return {};
}

constexpr bool every_errc_stands_in_the_table_at_its_own_place() {
  for (std::size_t i = 0; i < keyspan::all_errc.size(); ++i) {
    check(static_cast<std::size_t>(keyspan::all_errc[i]) == i);
    check(keyspan::detail::errc_table[i].code == keyspan::all_errc[i]);
    check(name_of(keyspan::all_errc[i]) == enumerator_of(keyspan::all_errc[i]));
    check(!name_of(keyspan::all_errc[i]).empty());
  }
  // No enumerator lies behind the end of the table: one that did would have a name here.
  for (int i = static_cast<int>(keyspan::all_errc.size()); i < 256; ++i)
    check(enumerator_of(static_cast<errc>(i)).empty());
  return true;
}
CHECK_BOTH(every_errc_stands_in_the_table_at_its_own_place);

constexpr bool every_errc_has_words_of_its_own() {
  for (auto const code : keyspan::all_errc) {
    for (char const c : name_of(code))
      check((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
    for (auto const sentence : {meaning_of(code), advice_for(code)}) {
      check(sentence.size() >= 10 && sentence.size() <= 100);
      check(sentence.front() >= 'a' &&
            sentence.front() <= 'z');  // half a sentence: it follows a colon
      check(sentence.back() != '.' && sentence.find('|') == sentence.npos);
    }
    for (auto const other : keyspan::all_errc) {
      if (other == code) continue;
      check(name_of(other) != name_of(code));
      check(meaning_of(other) != meaning_of(code));
    }
  }
  return true;
}
CHECK_BOTH(every_errc_has_words_of_its_own);

TEST_CASE("a number that is no errc has no name") {
  auto const beyond = static_cast<errc>(keyspan::all_errc.size());
  CHECK(test::promise_broken_by([&] { return name_of(beyond); }) ==
        "an errc is one of the enumerators");
}

constexpr bool an_error_says_what_and_where() {
  check(error{errc::gap}.to_text() == "gap: the ranges leave a part of the space to nobody");
  error const e{errc::malformed, "a ", ',', " is missing after ", 3, " members"};
  check(e.to_text() == "malformed: a , is missing after 3 members");
  error const placed = e.at({.line = 2, .column = 7, .offset = 19});
  check(placed.to_text() == "malformed at line 2, column 7: a , is missing after 3 members");
  check(placed.position.offset == 19 && !e.position && placed.position);
  check(placed != e && placed.text == e.text);
  check(text_position{1, 2, 1} < text_position{1, 3, 2} &&
        text_position{1, 9, 8} < text_position{2, 1, 9});
  return true;
}
CHECK_BOTH(an_error_says_what_and_where);

constexpr bool an_error_repeats_what_the_service_said() {
  // [region: example]
  error e{errc::throttled, "range ", 7, " of 16"};
  e.wire = {.status = 429,
            .substatus = 3200,
            .attempts = 4,
            .retry_after_ms = 250,
            .activity_id = "a1b2",
            .endpoint = "localhost:8081"};
  check(e.to_text() ==
        "throttled: range 7 of 16 (status 429/3200, from localhost:8081, activity a1b2, "
        "after 4 attempts, retry after 250 ms)");
  // [end: example]
  error plain{errc::not_found};
  plain.wire.status = 404;
  plain.wire.attempts = 1;
  check(plain.to_text() == "not_found: there is no such item (status 404)");
  plain.wire.status = 0;
  check(plain.to_text() == "not_found: there is no such item");  // one attempt is nothing to tell
  plain.wire.retry_after_ms = 5;
  check(plain.to_text() == "not_found: there is no such item (retry after 5 ms)");
  return true;
}
CHECK_BOTH(an_error_repeats_what_the_service_said);

// The longest error there can be still fits the room that `what()` and `to_text()` have.
constexpr bool the_longest_error_is_not_cut() {
  error e{errc::session_not_available};
  for (int i = 0; i < 30; ++i) e.text.append("1234567890");
  check(e.text.is_cut() && e.text.size() == e.text.capacity());
  e.position = {~0U, ~0U, ~0U};
  e.wire = {.status = 65535,
            .substatus = 65535,
            .attempts = 65535,
            .retry_after_ms = std::numeric_limits<std::uint32_t>::max(),
            .activity_id = "123456789-123456789-123456789-123456",
            .endpoint =
                "1234567890123456789012345678901234567890123456789012345678901234567890123456789:"};
  check(!e.to_text().is_cut());
  return true;
}
CHECK_BOTH(the_longest_error_is_not_cut);

constexpr bool errors_are_equal_when_all_they_say_is() {
  error const one{errc::gap, "a"};
  check(one == error{errc::gap, "a"});
  check(one != error{errc::overlap, "a"} && one != error{errc::gap, "b"});
  check(one != one.at({.line = 1, .column = 1}));
  error other = one;
  other.wire.status = 410;
  check(one != other);
  return true;
}
CHECK_BOTH(errors_are_equal_when_all_they_say_is);

TEST_CASE("equal errors hash alike and others mostly do not") {
  std::hash<error> const hash;
  std::unordered_set<std::size_t> seen;
  for (auto const code : keyspan::all_errc) {
    for (int detail = 0; detail < 20; ++detail) {
      CHECK(hash(error{code, "detail ", detail}) == hash(error{code, "detail ", detail}));
      seen.insert(hash(error{code, "detail ", detail}));
    }
  }
  CHECK(seen.size() >= keyspan::all_errc.size() * 20 - 2);
}

TEST_CASE("an error is copied without an allocation") {
  STATIC_CHECK(std::is_trivially_copyable_v<error>);
  STATIC_CHECK(!std::is_convertible_v<errc, error>);
  CHECK(test::allocations_in([] {
          error const e{errc::gap, "between ", 1, " and ", 2};
          auto const copy = e.at({.line = 1, .column = 1});
          static_cast<void>(copy.to_text());
        }) == 0);
}

}  // namespace
