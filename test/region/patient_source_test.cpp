// test/region/patient_source_test.cpp — answers that take too long.
#include <transport/reviews.hpp>

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/law/page_source.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/region/patient_source.hpp>
#include <keyspan/transport/faulty.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <string>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::from_beginning;
using keyspan::instant;
using keyspan::manual_clock;
using test::review;
using test::reviews;
using namespace std::chrono_literals;

using late = keyspan::faulty<reviews, manual_clock>;
using patient = keyspan::patient_source<late, manual_clock>;
static_assert(keyspan::page_source<patient>);
static_assert(keyspan::page_source<keyspan::patient_source<reviews, manual_clock>>);

struct world {
  template <class Awaited>
  auto wait(Awaited&& what) {
    return loop.complete(std::forward<Awaited>(what), clock);
  }

  manual_clock clock{};
  keyspan::run_loop loop{};
  reviews truth{cosmos_v2, test::by_article};
  late slow{truth, clock};
  patient in{slow, clock, 2s};
};

TEST_CASE("an answer that comes in time is the source's own") {
  world w;
  REQUIRE(test::done(w.truth.create(review{"r", "redmond", 1})));
  w.slow.delay_next(1999ms, 2);
  auto const whole = keyspan::whole_space(cosmos_v2);
  auto const page = w.wait(w.in.read(whole, from_beginning, {}));
  REQUIRE(page);
  CHECK(page->items.size() == 1);
  CHECK(w.wait(w.in.topology(""))->partitions.size() == 1);
  CHECK(w.in.container() == w.truth.container());
  CHECK(&w.in.source() == &w.slow);
}

TEST_CASE("an answer that takes longer is not waited for, a list of partitions neither") {
  world w;
  auto const whole = keyspan::whole_space(cosmos_v2);
  w.slow.delay_next(1h, 2);
  CHECK(w.wait(w.in.read(whole, from_beginning, {})).error().code == errc::timed_out);
  CHECK(w.clock.now() == instant{} + 2s);
  CHECK(w.wait(w.in.topology("")).error().code == errc::timed_out);
  CHECK(w.clock.now() == instant{} + 4s);
}

TEST_CASE("an earlier deadline of the request counts") {
  world w;
  keyspan::read_request soon;
  soon.deadline = instant{} + 1s;
  w.slow.delay_next(1h, 2);
  auto const whole = keyspan::whole_space(cosmos_v2);
  CHECK(w.wait(w.in.read(whole, from_beginning, soon)).error().code == errc::timed_out);
  CHECK(w.clock.now() == instant{} + 1s);
  soon.deadline = instant{} + 1h;
  CHECK(w.wait(w.in.read(whole, from_beginning, soon)).error().code == errc::timed_out);
  CHECK(w.clock.now() == instant{} + 3s);
}

TEST_CASE("each answer has a time of its own") {
  world w;
  for (int i = 0; i < 250; ++i)
    REQUIRE(test::done(w.truth.create(review{std::to_string(i), "redmond", 1})));
  w.slow.delay_next(1500ms, 100);
  keyspan::feed changes{w.in};
  auto reading = [&]() -> keyspan::task<int> {
    int count = 0;
    auto pages = changes.stream();
    while (auto* const page = co_await pages.next_page()) count += *page ? 1 : 1000;
    co_return count;
  };
  CHECK(w.wait(reading()) == 3);
  CHECK(w.clock.now() > instant{} + 5s);
}

TEST_CASE("a patience of no time breaks a contract") {
  world w;
  CHECK(test::promise_broken_by([&] { return patient{w.slow, w.clock, 0s}.container(); }) ==
        "an answer takes some time");
}

TEST_CASE("the example of patient_source reads as it should") {
  world w;
  auto& loop = w.loop;
  auto& clock = w.clock;
  auto& reviews_abroad = w.slow;
  w.slow.delay_next(1h);
  // [region: example]
  keyspan::patient_source in_time{reviews_abroad, clock, 2s};
  keyspan::feed changes{in_time};
  auto pages = changes.stream();
  auto* const page = loop.complete(pages.next_page(), clock);
  if (!*page) CHECK(page->error().code == keyspan::errc::timed_out);  // 2 s later, not an hour
  // [end: example]
  CHECK_FALSE(*page);
  CHECK(clock.now() == instant{} + 2s);
}

}  // namespace
