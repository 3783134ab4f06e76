// test/processor/lease_work_test.cpp — the work on one lease, with a keeper that only listens.
#include "hosts.hpp"

#include <keyspan/async/instant.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/lease_work.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::acknowledgement;
using keyspan::close_reason;
using keyspan::errc;
using keyspan::error;
using keyspan::instant;
using keyspan::manual_clock;
using keyspan::result;
using keyspan::task;
using keyspan::token_range;
using keyspan::detail::work_progress;
using kind = keyspan::processor_event_kind;
using test::batch_type;
using test::begun;
using test::check;
using test::lease_info;
using test::note;
using test::token;
using context = keyspan::detail::host_context<token, manual_clock>;

struct keeper : keyspan::detail::lease_keeper<token> {
  bool may_go_on() override { return is_held; }
  instant deadline() const override { return holds_until; }
  void take(work_progress<token> const& one) override { taken.push_back(one); }
  void see_partitions(std::vector<token_range<token>> parts) override {
    partitions.push_back(std::move(parts));
    if (on_partitions) on_partitions();
  }
  void halt(error const& why) override { halted.push_back(why); }
  void tell(kind what, error const*) override { ++events[what]; }
  void rearm(instant due) override { rings.push_back(due); }
  void has_ended() override { ++ended; }

  bool is_held = true;
  instant holds_until = (instant::max)();
  std::vector<work_progress<token>> taken{};
  std::vector<std::vector<token_range<token>>> partitions{};
  std::function<void()> on_partitions{};
  std::vector<error> halted{};
  std::map<kind, int> events{};
  std::vector<instant> rings{};
  int ended = 0;
};

// What a test wants of it.
struct handler {
  task<result<void>> process(batch_type& batch) {
    ++batches;
    if (process_) co_return process_(batch);
    for (note const& one : batch) handled.push_back(one.number);
    co_return result<void>{};
  }
  void open(lease_info const&) { ++opened; }
  result<void> close(lease_info const&, close_reason why) {
    closed.push_back(why);
    if (on_close) on_close();
    return {};
  }
  std::uint64_t lane_of(note const& one) {
    if (one.number == throws_at) throw std::runtime_error{"no such lane"};
    return static_cast<std::uint64_t>(one.number);
  }

  std::function<result<void>(batch_type&)> process_{};
  std::function<void()> on_close{};
  std::vector<int> handled{};
  int batches = 0;
  int opened = 0;
  int throws_at = -1;
  std::vector<close_reason> closed{};
};
using work_type = keyspan::detail::lease_work<test::source_type, manual_clock, handler>;

struct world {
  explicit world(test::options_type options = test::quick_options("ada"))
      : host{clock, std::move(options)}, in{host, source, does} {}
  ~world() {
    if (kept->ended != 0) return;
    inside([&] { work->close(close_reason::shutdown); });
    for (int i = 0; i < 100 && kept->ended == 0; ++i) clock.advance(1s);
    if (kept->ended == 0) std::terminate();
  }

  void begin(keyspan::lease_attempts attempts = {}, std::uint64_t sequence = 0) {
    auto const whole = whole_space(keyspan::cosmos_v2);
    keyspan::composite_cursor<token> at;
    at.container = source.container();
    at.scheme = keyspan::cosmos_v2.name();
    at.parts = {{whole, keyspan::from_beginning}};
    keyspan::feed_request<token> request;
    request.start = at;
    request.scope = whole;
    request.page_size = host.options.max_item_count;
    work = std::make_shared<work_type>(in, kept, lease_info{"lease.7", whole, 3}, request, attempts,
                                       sequence);
    inside([&] { work->begin(); });
  }
  template <class F>
  void inside(F does_so) {
    auto const doing = [&]() -> task<result<void>> {
      co_await host.inside.enter();
      does_so();
      co_await host.inside.leave();
      co_return result<void>{};
    };
    begun const done{doing()};
    if (!done.is_over()) std::terminate();
  }
  void write(int count = 1) {
    for (; count > 0; --count, ++next) source.write("book", {"book", next});
  }
  void pass(instant::duration time) { clock.advance(time); }

  manual_clock clock{};
  test::source_type source{keyspan::cosmos_v2, 1};
  handler does{};
  context host;
  work_type::setting in;
  std::shared_ptr<keeper> kept = std::make_shared<keeper>();
  std::shared_ptr<work_type> work{};
  int next = 0;
};

TEST_CASE("a page is handled, and its position taken, before the next one comes") {
  world all;
  all.write(3);
  all.begin();
  all.pass(1s);
  CHECK(all.does.opened == 1);
  CHECK(all.does.handled == std::vector{0, 1, 2});
  REQUIRE(all.kept->taken.size() >= 1);
  CHECK(all.kept->taken.front().sequence == 1);
  CHECK(all.kept->taken.front().items == 3);
  CHECK_FALSE(all.kept->taken.front().attempts.has_value());
  CHECK(all.work->lag() == 0U);
  CHECK(all.kept->partitions.size() == 1);
  CHECK(all.kept->partitions.front() == std::vector{whole_space(keyspan::cosmos_v2)});
  all.inside([&] { all.work->close(close_reason::handed_over); });
  CHECK(all.does.closed == std::vector{close_reason::handed_over});
  CHECK(all.kept->ended == 1);
}

TEST_CASE("nothing is begun that the keeper does not let begin") {
  world all;
  all.write(3);
  all.kept->is_held = false;
  all.begin();
  all.pass(5s);
  CHECK(all.does.batches == 0);
  CHECK(all.kept->taken.empty());
}

TEST_CASE("nothing is begun behind the deadline, and what was too late is asked for again") {
  world all;
  all.kept->holds_until = all.clock.now();
  int asked = 0;
  struct counting : keeper {
    explicit counting(int& count) : asked{count} {}
    bool may_go_on() override { return ++asked < 3; }
    int& asked;
  };
  auto const held = std::make_shared<counting>(asked);
  held->holds_until = all.clock.now();
  all.kept = held;
  all.write();
  all.begin();
  all.pass(1s);
  CHECK(asked == 3);
  CHECK(all.does.batches == 0);
}

TEST_CASE("a lane that cannot be told halts the lease, with the words of who threw") {
  auto options = test::quick_options("ada");
  options.lanes = 2;
  world all{options};
  all.does.throws_at = 1;
  all.write(3);
  all.begin();
  all.pass(1s);
  REQUIRE(all.kept->halted.size() == 1);
  CHECK(all.kept->halted[0].code == errc::handler_failed);
  CHECK(std::string{all.kept->halted[0].text.view()} == "lane_of threw: no such lane");
  CHECK(all.does.closed == std::vector{close_reason::handler_failed});
  CHECK(all.work->is_parked());
  CHECK(all.does.handled.empty());
  CHECK(all.kept->taken.empty());
}

TEST_CASE("what is acknowledged while the handler closes counts") {
  auto options = test::quick_options("ada");
  options.checkpointing = keyspan::checkpointing::manual;
  world all{options};
  std::vector<acknowledgement> given;
  all.does.process_ = [&](batch_type& batch) -> result<void> {
    given.push_back(batch.acknowledger());
    return {};
  };
  all.does.on_close = [&] {
    for (auto const& one : given) one();
  };
  all.write(3);
  all.begin();
  all.pass(1s);
  REQUIRE(given.size() == 1);
  CHECK(all.work->position() == 0);
  all.inside([&] { all.work->close(close_reason::shutdown); });
  CHECK(all.kept->ended == 1);
  CHECK(all.work->position() == 1);
}

TEST_CASE("what is acknowledged when the lease has gone does nothing, and so does a second time") {
  auto options = test::quick_options("ada");
  options.checkpointing = keyspan::checkpointing::manual;
  world all{options};
  std::vector<acknowledgement> given;
  all.does.process_ = [&](batch_type& batch) -> result<void> {
    given.push_back(batch.acknowledger());
    return {};
  };
  all.write(1);
  all.begin();
  all.pass(1s);
  all.write(1);
  all.pass(1s);
  REQUIRE(given.size() == 2);
  given[0]();
  given[0]();
  all.inside([&] { work_type::hear(*all.in.inbox); });
  CHECK(all.work->position() == 1);
  all.inside([&] { all.work->close(close_reason::lease_lost); });
  auto const taken = all.kept->taken.size();
  given[1]();
  all.inside([&] { work_type::hear(*all.in.inbox); });
  CHECK(all.work->position() == 1);
  CHECK(all.kept->taken.size() == taken);
}

TEST_CASE("attempts are told with the position, from where the last owner left them") {
  auto options = test::quick_options("ada");
  options.most_attempts = 3;
  world all{options};
  all.does.process_ = [](batch_type& batch) -> result<void> {
    return keyspan::fail(errc::handler_failed, "attempt ", batch.attempt());
  };
  all.write();
  all.begin({4, 1}, 4);
  all.pass(30s);
  REQUIRE(all.kept->taken.size() == 2);
  CHECK(all.kept->taken[0].attempts == keyspan::lease_attempts{4, 2});
  CHECK(all.kept->taken[1].attempts == keyspan::lease_attempts{4, 3});
  REQUIRE(all.kept->halted.size() == 1);
  CHECK(std::string{all.kept->halted[0].text.view()} == "a batch failed 3 times: attempt 3");
  CHECK(all.does.closed == std::vector{close_reason::handler_failed});
}

TEST_CASE("attempts of before are of the first batch alone") {
  auto options = test::quick_options("ada");
  options.most_attempts = 3;
  options.max_item_count = 1;
  world all{options};
  all.does.process_ = [&](batch_type& batch) -> result<void> {
    all.does.handled.push_back(static_cast<int>(batch.attempt()));
    if (batch[0].number == 1) return keyspan::fail(errc::handler_failed, "no");
    return {};
  };
  all.write(2);
  all.begin({4, 2}, 4);
  all.pass(30s);
  CHECK(all.does.handled == std::vector{3, 1, 2, 3});
  CHECK(all.kept->halted.size() == 1);
}

TEST_CASE("what hosts have died of too often is not tried again") {
  world all;
  all.write(2);
  all.begin({4, 5}, 4);
  all.pass(5s);
  CHECK(all.does.batches == 0);
  REQUIRE(all.kept->halted.size() == 1);
  CHECK(std::string{all.kept->halted[0].text.view()} ==
        "a batch failed 5 times: hosts that have tried it died");
}

TEST_CASE("pages that are too large for the source are asked for smaller, until one was not") {
  auto options = test::quick_options("ada");
  options.max_item_count = 8;
  world all{options};
  all.source.fail_next(error{errc::too_large}, 2);
  all.write(20);
  all.begin();
  all.pass(5s);
  CHECK(all.does.handled.size() == 20);
  std::vector<std::uint32_t> sizes;
  for (auto const& one : all.source.reads()) sizes.push_back(one.page_size);
  REQUIRE(sizes.size() >= 5);
  CHECK(std::vector(sizes.begin(), sizes.begin() + 5) == std::vector<std::uint32_t>{8, 4, 2, 8, 8});
  CHECK(all.kept->events[kind::source_failed] == 0);
}

TEST_CASE("a change that is too large by itself is told, and asked for later each time") {
  auto options = test::quick_options("ada");
  options.max_item_count = 2;
  options.retry_delay = 0s;  // it does not spin
  world all{options};
  all.source.fail_next(error{errc::too_large}, 1'000);
  all.write(1);
  all.begin();
  all.pass(60s);
  CHECK(all.kept->events[kind::source_failed] > 10);
  CHECK(all.kept->events[kind::source_failed] < 200);
}

TEST_CASE("who held the lease has not died of what is not there") {
  world all;
  all.begin({4, 2}, 4);
  all.pass(2s);
  REQUIRE(all.kept->taken.size() == 2);
  CHECK_FALSE(all.kept->taken[0].attempts.has_value());  // the end of an empty feed
  CHECK(all.kept->taken[1].attempts == keyspan::lease_attempts{});
}

TEST_CASE("positions are told as often as the options say, and the first one at once") {
  auto options = test::quick_options("ada");
  options.checkpoint_frequency = {.items = 0, .interval = 10s};
  world all{options};
  all.write();
  all.begin();
  all.pass(1s);
  CHECK(all.kept->taken.size() == 1);
  all.write();
  all.pass(1s);
  CHECK(all.kept->taken.size() == 1);
  REQUIRE(all.kept->rings.size() == 1);
  CHECK(all.work->next_checkpoint() == all.kept->rings[0]);
  all.inside([&] { all.work->checkpoint(); });
  CHECK(all.kept->taken.size() == 2);
  CHECK(all.work->next_checkpoint() == (instant::max)());
  all.inside([&] { all.work->checkpoint(); });  // nothing is new
  CHECK(all.kept->taken.size() == 2);
}

TEST_CASE("what the source says is told, and asked again, later each time") {
  world all;
  all.source.fail_next(error{errc::unavailable}, 3);
  all.write();
  all.begin();
  all.pass(5s);
  CHECK(all.kept->events[kind::source_failed] == 3);
  CHECK(all.does.handled == std::vector{0});
}

TEST_CASE("work that is closed as its partitions are seen reads nothing") {
  world all;
  all.write();
  all.kept->on_partitions = [&] { all.work->close(close_reason::range_gone); };
  all.begin();
  all.pass(5s);
  CHECK(all.source.reads().empty());
  CHECK(all.does.closed == std::vector{close_reason::range_gone});
  CHECK(all.kept->ended == 1);
}

TEST_CASE("the example of lease_work reads as it should") {
  world all;
  all.write(2);
  all.begin();
  auto& work = *all.work;
  auto& kept = all.kept;
  all.pass(1s);
  // [region: example]
  check(work.position() == 1 && work.lag() == 0U);
  all.inside([&] { work.park(close_reason::paused); });  // the lease is kept
  check(work.is_parked() && kept->ended == 1);
  // [end: example]
}

}  // namespace
