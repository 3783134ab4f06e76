// test/processor/change_handler_test.cpp — what a handler is, what it may return, and what becomes
// of what it throws.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/enumerators.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::change_handler;
using keyspan::close_reason;
using keyspan::errc;
using keyspan::error;
using keyspan::fail;
using keyspan::ready;
using keyspan::result;
using keyspan::sync_wait;
using keyspan::task;
using test::check;

struct change {
  std::string key;
};
using batch_type = keyspan::change_batch<int, change>;
using lease_type = keyspan::lease_info<int>;

static_assert(test::are_named<close_reason>(7));

// ---- who is a handler ------------------------------------------------------------------------

template <class Returned>
struct processes {
  Returned process(batch_type&);
};
template <class Returned>
struct is_called {
  Returned operator()(batch_type&);
};
template <class H>
constexpr bool handles = change_handler<H, batch_type>;

static_assert(handles<processes<void>> && handles<is_called<void>>);
static_assert(handles<processes<result<void>>> && handles<is_called<result<void>>>);
static_assert(handles<processes<task<>>> && handles<is_called<task<>>>);
static_assert(handles<processes<task<result<void>>>> && handles<is_called<task<result<void>>>>);
static_assert(handles<processes<ready<result<void>>>> && handles<is_called<ready<result<void>>>>);
static_assert(handles<processes<result<void> const&>>);
static_assert(handles<void (*)(batch_type&)> && handles<result<void> (*)(batch_type const&)>);

static_assert(!handles<processes<bool>> && !handles<is_called<int>>);
static_assert(!handles<processes<result<int>>> && !handles<processes<error>>);
static_assert(!handles<processes<task<bool>>> && !handles<is_called<task<result<int>>>>);
static_assert(!handles<int> && !handles<void (*)()> && !handles<void (*)(change&)>);

struct takes_by_value {
  void process(batch_type);
};
struct takes_const {
  void process(batch_type const&) const;
};
struct takes_any {
  task<result<void>> process(auto& batch);
};
struct takes_temporary {
  void process(batch_type&&);
};
struct takes_two {
  void process(batch_type&, int);
};
class hidden {
  void process(batch_type&);
};
static_assert(handles<takes_by_value> && handles<takes_const> && handles<takes_any>);
static_assert(handles<takes_const const> && !handles<processes<void> const>);
static_assert(!handles<takes_temporary> && !handles<takes_two> && !handles<hidden>);

// What else it may have is looked for in the same way.
struct complete {
  void process(batch_type&);
  void open(lease_type const&);
  task<> close(lease_type const&, close_reason);
  result<void> park(batch_type&, error const&);
  std::uint64_t lane_of(change const&);
};
struct by_value {
  void open(lease_type);
  void close(lease_type, close_reason);
  void park(batch_type&, error);
  int lane_of(change);
};
struct wrong {
  int open(lease_type const&);
  void close(lease_type const&);
  void park(batch_type&);
  std::string lane_of(change const&);
};
template <class H>
constexpr int has = (keyspan::detail::has_open<H, lease_type> ? 1 : 0) +
                    (keyspan::detail::has_close<H, lease_type> ? 2 : 0) +
                    (keyspan::detail::has_park<H, batch_type> ? 4 : 0) +
                    (keyspan::detail::has_lanes<H, change> ? 8 : 0);
static_assert(has<complete> == 15 && has<by_value> == 15);
static_assert(has<wrong> == 0 && has<processes<void>> == 0);

TEST_CASE("a reason that is none of the enumerators has no name") {
  CHECK(test::promise_broken_by([] { return name_of(static_cast<close_reason>(7)); }) ==
        "a close_reason is one of the enumerators");
}

// ---- what it returns -------------------------------------------------------------------------

// What comes of a function that is called with what it refers to still there.
template <class Call>
result<void> outcome_of(Call call) {
  return sync_wait(keyspan::detail::outcome_of(std::move(call)));
}
error const full{errc::throttled, "the sink is full"};

TEST_CASE("whatever a handler returns, what it did is done, and what failed is told") {
  int done = 0;
  CHECK(outcome_of([&] { ++done; }).has_value());
  CHECK(outcome_of([&]() -> task<> {
          ++done;
          co_return;
        }).has_value());
  CHECK(outcome_of([&]() -> result<void> {
          ++done;
          return {};
        }).has_value());
  CHECK(outcome_of([&]() -> task<result<void>> {
          ++done;
          co_return result<void>{};
        }).has_value());
  CHECK(outcome_of([&] {
          ++done;
          return ready<result<void>>{result<void>{}};
        }).has_value());
  result<void> kept;
  CHECK(outcome_of([&]() -> result<void>& {
          ++done;
          return kept;
        }).has_value());
  CHECK(done == 6);

  CHECK(outcome_of([]() -> result<void> { return keyspan::unexpected{full}; }).error() == full);
  CHECK(outcome_of([]() -> task<result<void>> { co_return keyspan::unexpected{full}; }).error() ==
        full);
  CHECK(outcome_of([] {
          return ready<result<void>>{result<void>{keyspan::unexpected{full}}};
        }).error() == full);
  kept = keyspan::unexpected{full};
  CHECK(outcome_of([&]() -> result<void> const& { return kept; }).error() == full);
}

#if KEYSPAN_EXCEPTIONS
TEST_CASE("what a handler throws, at once or when it is awaited, is a failure with its words") {
  std::string const words = "the handler threw: no room";
  auto const at_once = outcome_of([] { throw std::runtime_error{"no room"}; });
  CHECK(at_once.error().code == errc::handler_failed);
  CHECK(at_once.error().text == words);
  auto const before = outcome_of([]() -> result<void> { throw std::runtime_error{"no room"}; });
  CHECK(before.error().text == words);
  auto const later = outcome_of([]() -> task<> {
    throw std::runtime_error{"no room"};
    co_return;
  });
  CHECK(later.error().code == errc::handler_failed);
  CHECK(later.error().text == words);
  auto const with_result = outcome_of([]() -> task<result<void>> {
    throw std::runtime_error{"no room"};
    co_return result<void>{};
  });
  CHECK(with_result.error().text == words);
  auto const before_awaiting = outcome_of([]() -> task<result<void>> {
    throw std::logic_error{"no room"};  // not a coroutine
  });
  CHECK(before_awaiting.error().text == words);
}

TEST_CASE("what is thrown and is no std::exception is a failure, too") {
  auto const at_once = outcome_of([] { throw 7; });
  CHECK(at_once.error().code == errc::handler_failed);
  CHECK(at_once.error().text == "the handler threw what is no std::exception");
  auto const later = outcome_of([]() -> task<result<void>> {
    throw std::string{"no room"};
    co_return result<void>{};
  });
  CHECK(later.error().code == errc::handler_failed);
  CHECK(later.error().text == "the handler threw what is no std::exception");
}

TEST_CASE("a long complaint is cut, and still a failure") {
  auto const failed = outcome_of([] { throw std::runtime_error{std::string(10'000, 'x')}; });
  CHECK(failed.error().code == errc::handler_failed);
  CHECK(failed.error().text.is_cut());
}
#endif

// [region: example]
struct copier {
  task<result<void>> process(auto& batch) {
    for (auto const& one : batch) {
      if (copied.size() == room) co_return fail(errc::throttled, "the sink is full");
      copied.push_back(one.key);
    }
    co_return result<void>{};
  }
  void close(auto const& lease, close_reason why) {
    log.append(lease.id).append(": ").append(name_of(why));
  }

  std::size_t room = 2;
  std::vector<std::string> copied{};
  std::string log{};
};
// [end: example]
static_assert(handles<copier> && has<copier> == 2);

TEST_CASE("the example of change_handler reads as it should") {
  lease_type const lease{.id = "lease-1", .range = {0, 8}, .epoch = 1};
  std::vector<change> page{{"a"}, {"b"}, {"c"}};
  std::vector<std::uint32_t> const two{0, 1};
  std::vector<std::uint32_t> const one{2};
  batch_type first{lease, page, two, 1, {}, {}};
  batch_type second{lease, page, one, 1, {}, {}};
  copier handler;
  CHECK(outcome_of([&] { return handler.process(first); }).has_value());
  CHECK(outcome_of([&] { return handler.process(second); }).error().text == "the sink is full");
  CHECK(handler.copied == std::vector<std::string>{"a", "b"});
  CHECK(outcome_of([&] { handler.close(lease, close_reason::handed_over); }).has_value());
  CHECK(handler.log == "lease-1: handed_over");
}

}  // namespace
