// test/feed/continuation_test.cpp — where a reading of one range begins, and goes on.
#include <keyspan/core/print.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/wall_time.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <sstream>
#include <string>
#include <type_traits>

namespace {

using keyspan::continuation;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::from_time;
using keyspan::start_kind;
using keyspan::wall_time;
using test::check;

constexpr from_time moment{wall_time{std::chrono::seconds{1'700'000'000}}};

static_assert(std::is_nothrow_default_constructible_v<continuation> &&
              std::is_nothrow_move_constructible_v<continuation>);
static_assert(moment == from_time{moment.at} && !(moment == from_time{}));

constexpr bool a_start_has_a_name() {
  check(keyspan::name_of(start_kind::beginning) == "beginning");
  check(keyspan::name_of(start_kind::now) == "now");
  check(keyspan::name_of(start_kind::time) == "time");
  return true;
}
CHECK_BOTH(a_start_has_a_name);

TEST_CASE("a continuation is a start until it was read from") {
  // [region: example]
  keyspan::continuation from = keyspan::from_now;
  check(from.is_start() && from.start() == keyspan::start_kind::now);
  from.advance("\"12\"");
  check(!from.is_start() && from.text() == "\"12\"");
  check(from == keyspan::continuation{"\"12\""});  // how it began no longer matters
  check(from.to_text() == "behind \"12\"");
  // [end: example]
}

TEST_CASE("it begins at the beginning where nothing else is said") {
  CHECK(continuation{} == continuation{from_beginning});
  CHECK(continuation{}.start() == start_kind::beginning);
  CHECK_FALSE(continuation{} == continuation{from_now});
}

TEST_CASE("a moment is kept beside the text, since some sources want it each time") {
  continuation from = moment;
  CHECK(from.start() == start_kind::time);
  CHECK(from.time() == moment.at);
  from.advance("1");
  from.advance("2");
  CHECK(from == continuation{moment, "2"});
  CHECK(from.time() == moment.at);
  CHECK_FALSE(from == continuation{"2"});
}

TEST_CASE("it says itself in words") {
  CHECK(continuation{}.to_text() == "from the beginning");
  CHECK(continuation{from_now}.to_text() == "from now");
  CHECK(continuation{moment}.to_text() == "from 2023-11-14T22:13:20.000Z");
  CHECK(continuation{moment, "7"}.to_text() == "from 2023-11-14T22:13:20.000Z, behind 7");
  std::ostringstream out;
  out << continuation{"7"};
  CHECK(out.str() == "behind 7");
}

TEST_CASE("a text that is empty, and a moment that is not there, break a promise") {
  CHECK(test::promise_broken_by([] { return continuation{std::string{}}; }) ==
        "a continuation that was read from has a text");
  CHECK(test::promise_broken_by([] { return continuation{moment, ""}; }) ==
        "a continuation that was read from has a text");
  CHECK(test::promise_broken_by([] {
          continuation from;
          from.advance("");
          return 0;
        }) == "a continuation goes on to a text");
  CHECK(test::promise_broken_by([] { return continuation{from_now}.time(); }) ==
        "only a start from a moment has one");
}

}  // namespace
