// test/merge/merge_options_test.cpp — what a merge does when nobody says anything else.
#include <keyspan/core/error.hpp>
#include <keyspan/merge/merge_options.hpp>

#include <support/check.hpp>

#include <type_traits>

namespace {

using keyspan::errc;
using keyspan::merge_failure;
using keyspan::merge_options;
using keyspan::on_failure;
using test::check;

static_assert(std::is_aggregate_v<merge_options> && std::is_trivially_copyable_v<merge_options>);
static_assert(std::is_aggregate_v<merge_failure>);

constexpr bool the_example_of_merge_options_reads_as_it_should() {
  // [region: example]
  keyspan::merge_options const careful{.batch_size = 64, .reads_ahead = false};
  keyspan::merge_options const tolerant{.failure = keyspan::on_failure::go_on};
  // [end: example]
  check(careful.batch_size == 64 && careful.reads_ahead == false &&
        careful.failure == on_failure::stop);
  check(tolerant.failure == on_failure::go_on && tolerant.batch_size == 256);
  return true;
}
CHECK_BOTH(the_example_of_merge_options_reads_as_it_should);

constexpr bool a_merge_stops_at_failures_and_reads_as_it_usually_does_unless_told() {
  merge_options const usual;
  check(usual.failure == on_failure::stop && usual.batch_size == 256 &&
        !usual.reads_ahead.has_value());
  return true;
}
CHECK_BOTH(a_merge_stops_at_failures_and_reads_as_it_usually_does_unless_told);

TEST_CASE("a failure has a source and a reason") {
  merge_failure const none;
  check(none.source == 0 && none.why.code == errc::stopped);
  merge_failure const one{.source = 3, .why = keyspan::error{errc::throttled, "later"}};
  check(one.source == 3 && one.why.code == errc::throttled);
}

}  // namespace
