// test/feed/feed_mode_test.cpp — the modes of a feed and their names.
#include <keyspan/core/error.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/feed/feed_mode.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <string_view>

namespace {

using keyspan::errc;
using keyspan::feed_mode;
using keyspan::feed_mode_of;
using keyspan::name_of;
using test::check;

constexpr bool a_mode_is_found_by_its_name() {
  // [region: example]
  check(keyspan::name_of(keyspan::feed_mode::latest_version) == "latest_version");
  check(keyspan::feed_mode_of("latest_version") == keyspan::feed_mode::latest_version);
  // [end: example]
  check(feed_mode_of(name_of(feed_mode::all_versions_and_deletes)) ==
        feed_mode::all_versions_and_deletes);
  return true;
}
CHECK_BOTH(a_mode_is_found_by_its_name);

constexpr bool a_name_that_no_mode_has_is_refused_with_those_there_are() {
  for (std::string_view const name : {"", "latest", "Latest_version", "latest_version "})
    check(feed_mode_of(name).error().code == errc::malformed);
  check(feed_mode_of("latest").error().text ==
        "a mode is latest_version or all_versions_and_deletes, not \"latest\"");
  return true;
}
CHECK_BOTH(a_name_that_no_mode_has_is_refused_with_those_there_are);

TEST_CASE("what is no mode has no name") {
  CHECK(test::promise_broken_by([] { return name_of(static_cast<feed_mode>(7)); }) ==
        "a feed_mode is one of the enumerators");
}

}  // namespace
