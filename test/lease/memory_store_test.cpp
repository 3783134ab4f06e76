// test/lease/memory_store_test.cpp — a store in memory, and everything that can go wrong on the way
// to it: on demand, by chance, and never against the laws.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/memory_store.hpp>

#include "../async/held.hpp"

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::instant;
using keyspan::manual_clock;
using keyspan::memory_store;
using keyspan::result;
using keyspan::store_chances;
using keyspan::store_cut;
using keyspan::store_fault;
using keyspan::store_operation;
using keyspan::store_request;
using keyspan::store_write;
using keyspan::stored_record;
using keyspan::sync_wait;
using keyspan::task;
using test::check;
using test::held;
using namespace std::chrono_literals;

using view = keyspan::memory_view<manual_clock>;
using records = std::vector<stored_record>;
static_assert(keyspan::watchable_lease_store<memory_store<manual_clock>>);
static_assert(keyspan::watchable_lease_store<view> && keyspan::lease_store<view const>);

// An operation that is under way, and what it came to.
template <class T>
class asked {
 public:
  explicit asked(task<result<T>> what) : running_{run(std::move(what), answer_)} {}
  asked(asked&&) = delete;

  bool is_done() const { return answer_.has_value(); }
  result<T> const& answer() const { return *answer_; }
  bool failed_as(errc code) const {
    return answer_ && !answer_->has_value() && answer_->error().code == code;
  }
  void forget() { running_ = {}; }

 private:
  static held run(task<result<T>> what, std::optional<result<T>>& answer) {
    answer = co_await std::move(what);
  }

  std::optional<result<T>> answer_{};
  held running_;
};

struct world {
  manual_clock clock{};
  memory_store<manual_clock> store{clock};
  view host = store.view("host 1");
  view other = store.view("host 2");

  instant at(instant::duration moment) const { return instant{} + moment; }
  store_request until(instant::duration moment) const {
    store_request within;
    within.deadline = at(moment);
    return within;
  }
  std::string body_of(std::string_view id) {
    auto const found = store.find(id);
    return found ? found->body : "nothing";
  }
};

template <class T>
bool failed_as(errc code, result<T> const& answer) {
  return !answer && answer.error().code == code;
}

// ---- a store without faults
// ----------------------------------------------------------------------

TEST_CASE(
    "a view that waits by a clock of its own has deadlines, delays and watches by that clock") {
  manual_clock store_clock;
  memory_store<manual_clock> store{store_clock};
  store_clock.advance(1h);
  manual_clock own;
  own.advance(24h);
  auto host = store.view("host 1", own);
  static_assert(keyspan::watchable_lease_store<decltype(host)>);
  store.put("lease.1", "one");
  auto const by = [&](keyspan::instant::duration time) {
    store_request within;
    within.deadline = own.now() + time;
    return within;
  };
  asked<stored_record> soon{host.read("lease.1", by(1s))};
  CHECK((soon.is_done() && soon.answer().has_value()));

  host.next({.before = 100ms, .after = 200ms});
  asked<stored_record> late{host.read("lease.1", by(1s))};
  store_clock.advance(10s);
  CHECK_FALSE(late.is_done());
  own.advance(299ms);
  CHECK_FALSE(late.is_done());
  own.advance(1ms);
  CHECK((late.is_done() && late.answer().has_value()));

  host.cut_off(store_cut::silent);
  asked<stored_record> unheard{host.read("lease.1", by(1s))};
  store_clock.advance(10s);
  CHECK_FALSE(unheard.is_done());
  own.advance(1s);
  CHECK(unheard.failed_as(errc::timed_out));
  host.heal();

  asked<void> watching{host.watch("lease.", by(5s))};
  CHECK_FALSE(watching.is_done());
  store.put("lease.1", "two");
  CHECK((watching.is_done() && watching.answer().has_value()));
  asked<void> in_vain{host.watch("lease.", by(5s))};
  store_clock.advance(10s);
  CHECK_FALSE(in_vain.is_done());
  own.advance(5s);
  CHECK(in_vain.failed_as(errc::timed_out));
}

TEST_CASE("the example of memory_store reads as it should") {
  // [region: example]
  keyspan::manual_clock clock;
  keyspan::run_loop loop;
  keyspan::memory_store store{clock};
  auto host = store.view("host 3", {.lost = 5, .delayed = 50, .seed = 7});

  // The next write is done ten seconds later, when its caller has long given it up.
  host.next({.only = store_operation::create, .late = 10s});
  auto const answer = loop.complete(host.create("lease-1", "mine", {}), clock);
  check(answer.error().code == errc::outcome_unknown && !store.find("lease-1"));
  clock.advance(10s);
  check(store.find("lease-1")->body == "mine");
  // [end: example]
}

TEST_CASE("without faults nothing suspends, and all hosts see the same") {
  world all;
  auto const created = sync_wait(all.host.create("a", "1", {}));
  REQUIRE(created);
  CHECK(*sync_wait(all.other.read("a", {})) == stored_record{"a", "1", *created});
  CHECK(failed_as(errc::already_exists, sync_wait(all.other.create("a", "2", {}))));
  auto const replaced = sync_wait(all.other.replace("a", "2", *created, {}));
  REQUIRE(replaced);
  CHECK(failed_as(errc::precondition_failed, sync_wait(all.host.replace("a", "3", *created, {}))));
  CHECK(failed_as(errc::precondition_failed, sync_wait(all.host.remove("a", *created, {}))));
  REQUIRE(sync_wait(all.store.create("b", "1", {})));
  CHECK(sync_wait(all.host.list("", {}))->size() == 2);
  CHECK(*sync_wait(all.store.list("a", {})) == records{{"a", "2", *replaced}});
  CHECK(sync_wait(all.store.remove("a", *replaced, {})));
  CHECK(failed_as(errc::not_found, sync_wait(all.store.read("a", {}))));
  CHECK(failed_as(errc::not_found, sync_wait(all.store.remove("a", *replaced, {}))));
  CHECK(failed_as(errc::not_found, sync_wait(all.store.replace("a", "", *replaced, {}))));
  CHECK(all.host.name() == "host 1");
  CHECK(all.host.asked(store_operation::create) == 1);
  CHECK(all.host.asked(store_operation::replace) == 1);
  CHECK(all.other.asked(store_operation::create) == 1);
  CHECK(all.host.struck() + all.other.struck() == 0);
}

TEST_CASE("an error names the record") {
  world all;
  all.store.put("lease-7", "x");
  auto const answer = sync_wait(all.host.replace("lease-7", "y", "?", {}));
  CHECK(answer.error().text ==
        std::string_view{"record lease-7 has another version: read it again and decide anew"});
}

TEST_CASE("an operation runs when it is awaited, and owns what it was asked") {
  world all;
  std::optional<task<result<std::string>>> asking;
  {
    std::string const id = "a-record-with-a-name-that-is-not-short";
    std::string const body(100, 'x');
    asking.emplace(all.host.create(id, body, {}));
  }
  CHECK(all.store.records().empty());
  CHECK(sync_wait(*std::move(asking)));
  CHECK(all.body_of("a-record-with-a-name-that-is-not-short") == std::string(100, 'x'));
}

TEST_CASE("no version comes twice, and none tells which is newer") {
  world all;
  std::set<std::string> versions;
  std::string version = all.store.put("a", "x");
  std::size_t rises = 0;
  for (int i = 0; i < 10'000; ++i) {
    versions.insert(version);
    bool const is_removed = i % 100 == 99;
    if (is_removed) REQUIRE(sync_wait(all.host.remove("a", version, {})));
    auto next = is_removed ? sync_wait(all.host.create("a", "x", {}))
                           : sync_wait(all.host.replace("a", "x", version, {}));
    REQUIRE(next);
    if (version < *next) ++rises;
    version = *std::move(next);
  }
  CHECK(versions.size() == 10'000);
  CHECK((rises > 4'000 && rises < 6'000));
}

TEST_CASE("what was stopped before, or is asked behind its deadline, is not done") {
  world all;
  all.clock.advance(10s);
  keyspan::stop_source stopping;
  stopping.request_stop();
  store_request stopped;
  stopped.stop = stopping.token();
  CHECK(failed_as(errc::stopped, sync_wait(all.host.create("a", "", stopped))));
  CHECK(failed_as(errc::stopped, sync_wait(all.host.list("a", stopped))));
  CHECK(failed_as(errc::stopped, sync_wait(all.host.watch("a", stopped))));
  CHECK(failed_as(errc::timed_out, sync_wait(all.host.create("a", "", all.until(9s)))));
  CHECK(failed_as(errc::timed_out, sync_wait(all.host.watch("a", all.until(9s)))));
  CHECK(all.store.records().empty());
  CHECK(all.host.asked(store_operation::create) == 0);
  CHECK(sync_wait(all.host.create("a", "", all.until(10s))));
}

TEST_CASE("ids that stores refuse, chances above 100 and delays below 0 are broken promises") {
  world all;
  constexpr std::string_view id_promise =
      "an id has 1 to 200 letters, digits, dots, hyphens and underscores, and no dot at its ends";
  for (std::string_view const id : {"", "a/b", ".", "a."}) {
    CHECK(test::promise_broken_by([&] { return all.host.read(id, {}); }) == id_promise);
    CHECK(test::promise_broken_by([&] { return all.host.create(id, "", {}); }) == id_promise);
    CHECK(test::promise_broken_by([&] { return all.host.replace(id, "", "", {}); }) == id_promise);
    CHECK(test::promise_broken_by([&] { return all.host.remove(id, "", {}); }) == id_promise);
    CHECK(test::promise_broken_by([&] { return all.store.put(std::string{id}, ""); }) ==
          "an administrator writes records that hosts can read");
  }
  for (store_chances const& bad :
       {store_chances{.throttled = 50, .unavailable = 51}, store_chances{.lost = 60, .late = 41},
        store_chances{.lost = 1, .twice = 100}, store_chances{.delayed = 101},
        store_chances{.stale = 101}, store_chances{.lacking = 101}, store_chances{.repeating = 101},
        store_chances{.deaf = 101}, store_chances{.throttled = 0xFFFFFFFF, .lost = 1}}) {
    CHECK(test::promise_broken_by([&] { return all.store.view("x", bad); }) ==
          "of 100 operations 100 meet a fault at most");
    CHECK(test::promise_broken_by([&] { return all.host.chances(bad), true; }) ==
          "of 100 operations 100 meet a fault at most");
  }
  for (store_chances const& bad :
       {store_chances{.longest_lateness = -1ns}, store_chances{.longest_delay = -1ns},
        store_chances{.longest_staleness = -1ns}})
    CHECK(test::promise_broken_by([&] { return all.store.view("x", bad); }) ==
          "what is late is late by 0 or more");
  for (store_fault const& bad :
       {store_fault{.before = -1ns}, store_fault{.after = -1ns}, store_fault{.late = -1ns},
        store_fault{.twice = -1ns}, store_fault{.stale = -1ns}})
    CHECK(test::promise_broken_by([&] { return all.host.next(bad), true; }) ==
          "what is late is late by 0 or more");
  CHECK(test::promise_broken_by([&] { return all.host.cut_off(all.at(2s), all.at(1s)), true; }) ==
        "a cut ends after it has begun");
}

TEST_CASE("an operation and a cut have names") {
  CHECK(name_of(store_operation::list) == "list");
  CHECK(name_of(store_operation::read) == "read");
  CHECK(name_of(store_operation::create) == "create");
  CHECK(name_of(store_operation::replace) == "replace");
  CHECK(name_of(store_operation::remove) == "remove");
  CHECK(name_of(store_operation::watch) == "watch");
}

// ---- what is late
// --------------------------------------------------------------------------------

TEST_CASE("a delayed write is done in between, and answered at the end") {
  world all;
  all.host.next({.before = 30ms, .after = 20ms});
  asked<std::string> write{all.host.create("a", "1", {})};
  CHECK(!write.is_done());
  CHECK(all.store.under_way() == 1);
  all.clock.advance(29ms);
  CHECK(!all.store.find("a"));
  all.clock.advance(1ms);
  CHECK(all.store.find("a"));
  CHECK(!write.is_done());
  all.clock.advance(19ms);
  CHECK(!write.is_done());
  all.clock.advance(1ms);
  REQUIRE(write.is_done());
  CHECK(*write.answer() == all.store.find("a")->version);
  CHECK(all.store.under_way() == 0);
  CHECK(all.host.struck() == 1);
}

TEST_CASE("a delayed read shows what is there when it arrives") {
  world all;
  all.store.put("a", "1");
  all.host.next({.before = 30ms, .after = 20ms}, 2);
  asked<stored_record> read{all.host.read("a", {})};
  asked<records> list{all.host.list("a", {})};
  all.clock.advance(20ms);
  all.store.put("a", "2");
  all.clock.advance(20ms);
  all.store.put("a", "3");
  all.clock.advance(10ms);
  REQUIRE((read.is_done() && list.is_done()));
  CHECK(read.answer()->body == "2");
  CHECK(list.answer()->front().body == "2");
}

TEST_CASE("a write on its way is done even if its caller has given up") {
  for (int how = 0; how < 3; ++how) {
    world all;
    keyspan::stop_source stopping;
    store_request within = all.until(10s);
    if (how == 0) within.deadline = all.at(1s);
    within.stop = stopping.token();
    all.host.next({.before = 5s});
    asked<std::string> write{all.host.create("a", "1", within)};
    all.clock.advance(1s);
    if (how == 0) CHECK(write.failed_as(errc::timed_out));
    if (how == 1) {
      stopping.request_stop();
      CHECK(write.failed_as(errc::stopped));
    }
    if (how == 2) write.forget();  // its host has crashed
    CHECK(!all.store.find("a"));
    CHECK(all.store.under_way() == 1);
    all.clock.advance(4s);
    CHECK(all.body_of("a") == "1");
    CHECK(all.store.under_way() == 0);
  }
}

TEST_CASE("an answer that comes behind the deadline does not come") {
  world all;
  all.host.next({.after = 5s}, 2);
  asked<std::string> write{all.host.create("a", "1", all.until(1s))};
  asked<stored_record> read{all.host.read("a", all.until(1s))};
  CHECK(all.store.find("a"));
  all.clock.advance(999ms);
  CHECK((!write.is_done() && !read.is_done()));
  all.clock.advance(1ms);
  CHECK((write.failed_as(errc::timed_out) && read.failed_as(errc::timed_out)));
  all.host.next({.after = 5s});
  asked<stored_record> in_time{all.host.read("a", all.until(6s))};
  all.clock.advance(5s);
  CHECK(in_time.answer()->body == "1");
}

TEST_CASE("a late write is lost to its caller, and done where its condition holds then") {
  world all;
  std::string const version = all.store.put("a", "1");
  all.host.next({.late = 10s}, 2);
  asked<std::string> first{all.host.replace("a", "2", version, {})};
  CHECK(first.failed_as(errc::outcome_unknown));
  asked<std::string> second{all.host.create("b", "1", {})};
  all.clock.advance(9s);
  CHECK(all.body_of("a") == "1");
  CHECK(sync_wait(all.other.create("b", "other", {})));
  all.clock.advance(1s);
  CHECK(all.body_of("a") == "2");
  CHECK(all.body_of("b") == "other");
}

TEST_CASE("a late write that nobody speaks of times out at the deadline") {
  world all;
  all.host.next({.is_silent = true, .late = 10s});
  asked<std::string> write{all.host.create("a", "1", all.until(2s))};
  CHECK(!write.is_done());
  all.clock.advance(2s);
  CHECK(write.failed_as(errc::timed_out));
  all.clock.advance(8s);
  CHECK(all.store.find("a"));
}

TEST_CASE(
    "a write that is done twice is answered once, and its second time finds another version") {
  world all;
  std::vector<store_write> history;
  all.store.on_write([&](store_write const& one) { history.push_back(one); });
  std::string const version = all.store.put("a", "1");
  for (auto const again : {instant::duration{0}, instant::duration{5s}}) {
    auto const before = all.store.find("a")->version;
    all.host.next({.twice = again});
    auto const written = sync_wait(all.host.replace("a", "2", before, {}));
    REQUIRE(written);
    all.clock.advance(10s);
    CHECK(all.store.find("a")->version == *written);
  }
  CHECK(history.size() == 3);
  // What was removed meanwhile is there again.
  all.host.next({.twice = 5s});
  auto const created = sync_wait(all.host.create("b", "1", {}));
  REQUIRE(created);
  CHECK(sync_wait(all.other.remove("b", *created, {})));
  CHECK(!all.store.find("b"));
  all.clock.advance(5s);
  CHECK(all.body_of("b") == "1");
  CHECK(all.store.find("b")->version != *created);
  // A removal, too: of a record that is another one by then it does nothing.
  all.host.next({.twice = 5s});
  CHECK(sync_wait(all.host.remove("b", all.store.find("b")->version, {})));
  all.store.put("b", "2");
  all.clock.advance(5s);
  CHECK(all.body_of("b") == "2");
}

TEST_CASE("the second time of a write comes behind its first one, however late that is") {
  world all;
  all.host.next({.before = 2s, .twice = 1s});
  asked<std::string> write{all.host.create("a", "1", {})};
  all.clock.advance(2s);
  REQUIRE(write.answer());
  CHECK(all.store.erase("a"));
  all.clock.advance(999ms);
  CHECK(!all.store.find("a"));
  all.clock.advance(1ms);
  CHECK(all.store.find("a"));
}

TEST_CASE("a write that was refused is not done the second time either") {
  world all;
  std::string const version = all.store.put("a", "1");
  all.host.next({.twice = 5s});
  CHECK(failed_as(errc::already_exists, sync_wait(all.host.create("a", "2", {}))));
  CHECK(sync_wait(all.other.remove("a", version, {})));
  all.clock.advance(5s);
  CHECK(!all.store.find("a"));
}

TEST_CASE("writes on their way are done in the order of their moments, before anybody looks") {
  world all;
  std::vector<store_write> history;
  all.store.on_write([&](store_write const& one) { history.push_back(one); });
  std::vector<int> const delays{50, 10, 30, 10, 40};
  for (int const delay : delays) {
    all.host.next({.late = std::chrono::milliseconds{delay}});
    static_cast<void>(
        sync_wait(all.host.create("a" + std::to_string(delay), std::to_string(delay), {})));
  }
  CHECK(history.empty());
  all.clock.advance(1s);
  CHECK(history.empty());  // nobody has looked
  CHECK(sync_wait(all.other.list("", {}))->size() == 4);
  REQUIRE(history.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    int const delay = std::array{10, 30, 40, 50}[i];
    CHECK(history[i].number == i + 1);
    CHECK(history[i].at == all.at(std::chrono::milliseconds{delay}));
    CHECK(history[i].body == std::to_string(delay));
  }
}

TEST_CASE("operations that are begun together are answered in another order") {
  world all;
  all.host.next({.after = 50ms});
  all.host.next({.before = 20ms});
  asked<std::string> slow{all.host.create("a", "1", {})};
  asked<std::string> quick{all.host.create("a", "2", {})};
  all.clock.advance(20ms);
  CHECK((quick.failed_as(errc::already_exists) && !slow.is_done()));
  all.clock.advance(30ms);
  CHECK(slow.answer());
}

// ---- what is lost, and what fails
// ----------------------------------------------------------------

TEST_CASE("a lost answer leaves a write done, and unknown") {
  world all;
  all.host.next({.is_lost = true}, 3);
  CHECK(failed_as(errc::outcome_unknown, sync_wait(all.host.create("a", "1", {}))));
  CHECK(all.body_of("a") == "1");
  CHECK(failed_as(errc::not_connected, sync_wait(all.host.read("a", {}))));
  CHECK(failed_as(errc::not_connected, sync_wait(all.host.list("a", all.until(1s)))));
  all.host.next({.is_lost = true, .is_silent = true}, 2);
  asked<void> removal{all.host.remove("a", all.store.find("a")->version, all.until(1s))};
  CHECK((!removal.is_done() && !all.store.find("a")));
  keyspan::stop_source stopping;
  store_request within = all.until(2s);
  within.stop = stopping.token();
  asked<stored_record> read{all.host.read("a", within)};
  all.clock.advance(1s);
  CHECK(removal.failed_as(errc::timed_out));
  stopping.request_stop();
  CHECK(read.failed_as(errc::stopped));
}

TEST_CASE("a failure that was asked for is the answer, and nothing is done") {
  world all;
  all.host.fail_next(errc::throttled);
  auto const answer = sync_wait(all.host.create("a", "1", {}));
  CHECK(failed_as(errc::throttled, answer));
  CHECK(answer.error().wire.retry_after_ms == 20);
  keyspan::error const own{errc::forbidden, "not you"};
  all.host.next({.after = 1s, .failure = own, .is_lost = true, .late = 1s});
  asked<std::string> refused{all.host.create("a", "1", {})};
  CHECK(!refused.is_done());
  all.clock.advance(1s);
  CHECK(refused.answer().error() == own);
  all.clock.advance(1h);
  CHECK(!all.store.find("a"));
  all.host.fail_next(errc::unavailable, 2);
  CHECK(failed_as(errc::unavailable, sync_wait(all.host.read("a", {}))));
  CHECK(failed_as(errc::unavailable, sync_wait(all.host.watch("a", {}))));
  CHECK(sync_wait(all.host.create("a", "1", {})));
  CHECK(all.host.struck() == 4);
  CHECK(all.other.struck() == 0);
}

TEST_CASE("a fault waits for the operation that it is meant for") {
  world all;
  all.store.put("a", "1");
  all.host.next({.only = store_operation::replace, .failure = keyspan::error{errc::contended}});
  all.host.next({.id = "b", .failure = keyspan::error{errc::throttled}});
  all.host.next({.only = store_operation::read, .id = "b", .is_lost = true});
  all.host.fail_next(errc::unavailable);
  auto const version = all.store.find("a")->version;
  CHECK(failed_as(errc::unavailable, sync_wait(all.host.read("a", {}))));
  CHECK(sync_wait(all.host.read("a", {})));
  CHECK(failed_as(errc::throttled, sync_wait(all.host.read("b", {}))));
  CHECK(failed_as(errc::contended, sync_wait(all.host.replace("a", "2", version, {}))));
  CHECK(sync_wait(all.host.replace("a", "2", version, {})));
  CHECK(sync_wait(all.host.list("b", {})));
  CHECK(failed_as(errc::not_connected, sync_wait(all.host.read("b", {}))));
  CHECK(failed_as(errc::not_found, sync_wait(all.host.read("b", {}))));
}

// ---- who is cut off
// ------------------------------------------------------------------------------

TEST_CASE("a host that is cut off hears nothing and does nothing, and others do") {
  world all;
  all.store.put("a", "1");
  all.host.cut_off();
  asked<std::string> write{all.host.create("b", "1", all.until(1s))};
  asked<stored_record> read{all.host.read("a", all.until(2s))};
  CHECK(failed_as(errc::not_connected, sync_wait(all.host.create("b", "1", {}))));
  CHECK(failed_as(errc::not_connected, sync_wait(all.host.list("b", {}))));
  CHECK((!write.is_done() && !read.is_done()));
  CHECK(sync_wait(all.other.read("a", {})));
  all.clock.advance(1s);
  CHECK((write.failed_as(errc::timed_out) && !all.store.find("b")));
  all.host.heal();
  CHECK(sync_wait(all.host.read("a", {})));
  CHECK(!read.is_done());  // nobody has heard of it
  all.clock.advance(1s);
  CHECK(read.failed_as(errc::timed_out));
  CHECK(all.host.struck() == 4);
}

TEST_CASE("a host that is refused is told so, and one that is unanswered has written") {
  world all;
  all.host.cut_off(store_cut::refusing);
  CHECK(failed_as(errc::unavailable, sync_wait(all.host.create("a", "1", all.until(1s)))));
  CHECK(failed_as(errc::unavailable, sync_wait(all.host.watch("a", {}))));
  CHECK(!all.store.find("a"));
  all.host.heal();
  all.host.cut_off(store_cut::unanswered);
  all.host.fail_next(errc::throttled);  // which nobody hears of: it is done like the others
  asked<std::string> write{all.host.create("a", "1", all.until(1s))};
  CHECK((!write.is_done() && all.store.find("a")));
  CHECK(failed_as(errc::outcome_unknown, sync_wait(all.host.create("b", "1", {}))));
  CHECK((all.store.find("b") && failed_as(errc::not_connected, sync_wait(all.host.read("a", {})))));
  all.clock.advance(1s);
  CHECK(write.failed_as(errc::timed_out));
}

TEST_CASE("answers that are on their way when a host is cut off do not arrive") {
  for (store_cut const how : {store_cut::silent, store_cut::unanswered, store_cut::refusing}) {
    world all;
    all.host.next({.after = 1s}, 2);
    all.host.next({.after = 1s, .failure = keyspan::error{errc::throttled}});
    all.host.next({.before = 1s});
    asked<std::string> write{all.host.create("a", "1", {})};
    asked<stored_record> read{all.host.read("a", all.until(3s))};
    asked<std::string> refused{all.host.create("b", "1", {})};
    asked<std::string> coming{all.host.create("c", "1", {})};
    all.clock.advance(500ms);
    all.host.cut_off(how);
    all.clock.advance(500ms);
    CHECK(all.store.find("c"));  // it had been sent
    if (how == store_cut::refusing) {
      CHECK((write.answer() && read.answer() && coming.answer()));
      CHECK(refused.failed_as(errc::throttled));
      continue;
    }
    CHECK(write.failed_as(errc::outcome_unknown));
    CHECK(refused.failed_as(errc::outcome_unknown));
    CHECK(coming.failed_as(errc::outcome_unknown));
    CHECK(!read.is_done());
    all.clock.advance(2s);
    CHECK(read.failed_as(errc::timed_out));
  }
}

TEST_CASE("who is healed keeps script and chances") {
  world all;
  all.host.chances({.unavailable = 100});
  all.host.fail_next(errc::forbidden);
  all.host.cut_off();
  all.host.heal();
  CHECK(failed_as(errc::forbidden, sync_wait(all.host.read("a", {}))));
  CHECK(failed_as(errc::unavailable, sync_wait(all.host.read("a", {}))));
  all.host.chances({});
  CHECK(failed_as(errc::not_found, sync_wait(all.host.read("a", {}))));
}

TEST_CASE("a cut may have its time, and meet everybody") {
  world all;
  all.store.cut_off(all.at(1s), all.at(2s), store_cut::refusing);
  all.host.cut_off(all.at(1500ms), all.at(3s), store_cut::unanswered);
  auto const ask = [&](auto& in) { return sync_wait(in.create("a", "1", {})); };
  struct moment {
    instant::duration at;
    std::optional<errc> store, host, other;
  };
  auto const exists = errc::already_exists;
  all.store.put("a", "1");
  for (moment const& now :
       {moment{999ms, exists, exists, exists},
        moment{1s, errc::unavailable, errc::unavailable, errc::unavailable},
        moment{1500ms, errc::unavailable, errc::outcome_unknown, errc::unavailable},
        moment{2s, exists, errc::outcome_unknown, exists},
        moment{2999ms, exists, errc::outcome_unknown, exists},
        moment{3s, exists, exists, exists}}) {
    all.clock.advance_to(instant{} + now.at);
    CHECK(failed_as(*now.store, ask(all.store)));
    CHECK(failed_as(*now.host, ask(all.host)));
    CHECK(failed_as(*now.other, ask(all.other)));
  }
  all.store.cut_off(store_cut::silent);
  all.store.cut_off(all.at(1h), all.at(2h), store_cut::silent);
  CHECK(failed_as(errc::not_connected, ask(all.other)));
  all.other.heal();
  CHECK(failed_as(errc::not_connected, ask(all.other)));
  all.store.heal();
  CHECK(failed_as(exists, ask(all.other)));
  all.clock.advance(90min);
  CHECK(failed_as(exists, ask(all.other)));
}

// ---- lists
// ---------------------------------------------------------------------------------------

TEST_CASE("a stale list is what was there then, records that came and went since included") {
  world all;
  std::vector<records> states{all.store.records()};
  test::random random{5};
  for (int second = 1; second <= 40; ++second) {
    all.clock.advance(1s);
    std::string const id = "r" + std::to_string(random.below(6));
    if (random.chance(30)) {
      all.store.erase(id);
    } else {
      all.store.put(id, std::to_string(second));
    }
    states.push_back(all.store.records());
  }
  for (std::size_t age = 1; age <= 40; ++age) {
    all.host.next({.stale = std::chrono::seconds{age}});
    CHECK(*sync_wait(all.host.list("r", {})) == states[40 - age]);
    // In between two changes the older one counts.
    all.host.next({.stale = std::chrono::seconds{age} - 1ms});
    CHECK(*sync_wait(all.host.list("r", {})) == states[40 - age]);
  }
  // Only lists are.
  all.host.next({.only = store_operation::read, .stale = 40s});
  auto const now = all.store.records().front();
  CHECK(*sync_wait(all.host.read(now.id, {})) == now);
}

TEST_CASE("a list is no older than the store remembers") {
  manual_clock clock;
  memory_store store{clock, 10s};
  auto host = store.view("h");
  for (int second = 0; second <= 30; ++second) {
    store.put("a", std::to_string(second));
    clock.advance(1s);
  }
  host.next({.stale = 1h});
  CHECK(sync_wait(host.list("", {}))->front().body == "19");
  memory_store forgetful{clock, 0s};
  auto none = forgetful.view("h");
  forgetful.put("a", "1");
  none.next({.stale = 1h});
  CHECK(sync_wait(none.list("", {}))->size() == 1);
}

TEST_CASE("a list may lack a record or show one twice, and is in order all the same") {
  world all;
  for (int i = 0; i < 10; ++i) all.store.put("r" + std::to_string(i), "x");
  auto const whole = all.store.records();
  std::set<std::string> lacked;
  std::set<std::string> repeated;
  for (int i = 0; i < 200; ++i) {
    all.host.next({.lacks_one = true});
    auto const fewer = *sync_wait(all.host.list("r", {}));
    REQUIRE(fewer.size() == 9);
    CHECK(std::ranges::includes(whole, fewer, {}, &stored_record::id, &stored_record::id));
    for (auto const& one : whole)
      if (std::ranges::find(fewer, one) == fewer.end()) lacked.insert(one.id);
    all.host.next({.repeats_one = true});
    auto const more = *sync_wait(all.host.list("r", {}));
    REQUIRE(more.size() == 11);
    CHECK(std::ranges::is_sorted(more, {}, &stored_record::id));
    repeated.insert(std::ranges::adjacent_find(more)->id);
  }
  CHECK((lacked.size() == 10 && repeated.size() == 10));
  all.host.next({.lacks_one = true, .repeats_one = true});
  CHECK(sync_wait(all.host.list("none", {}))->empty());
}

// ---- for who looks on
// ----------------------------------------------------------------------------

TEST_CASE("each write is told of once, with who did it and what it took the place of") {
  world all;
  std::vector<store_write> history;
  all.store.on_write([&](store_write const& one) {
    CHECK((one.operation == store_operation::remove) == !all.store.find(one.id));  // may look
    history.push_back(one);
  });
  auto const first = *sync_wait(all.host.create("a", "1", {}));
  CHECK(!sync_wait(all.host.create("a", "1", {})));
  all.clock.advance(1s);
  auto const second = *sync_wait(all.other.replace("a", "2", first, {}));
  CHECK(!sync_wait(all.other.replace("a", "3", first, {})));
  auto const third = all.store.put("a", "by hand");
  CHECK(all.store.erase("a"));
  CHECK(!all.store.erase("a"));
  auto const fourth = all.store.put("a", "anew");
  CHECK(sync_wait(all.store.remove("a", fourth, {})));
  using enum store_operation;
  CHECK(history ==
        std::vector<store_write>{{1, "host 1", create, "a", "1", first, "", all.at(0s)},
                                 {2, "host 2", replace, "a", "2", second, first, all.at(1s)},
                                 {3, "", replace, "a", "by hand", third, second, all.at(1s)},
                                 {4, "", remove, "a", "", "", third, all.at(1s)},
                                 {5, "", create, "a", "anew", fourth, "", all.at(1s)},
                                 {6, "", remove, "a", "", "", fourth, all.at(1s)}});
  all.store.on_write({});
  all.store.put("a", "x");
  CHECK(history.size() == 6);
}

// ---- watches
// -------------------------------------------------------------------------------------

TEST_CASE("a watch is done when something was written, and not before") {
  world all;
  asked<void> watch{all.host.watch("lease-", all.until(10s))};
  asked<void> one{all.other.watch("lease-1", {})};
  all.store.put("member-1", "x");
  CHECK((!watch.is_done() && !one.is_done()));
  all.clock.advance(1s);
  CHECK(sync_wait(all.other.create("lease-2", "x", {})));
  CHECK((watch.is_done() && watch.answer()));
  CHECK(!one.is_done());
  CHECK(!sync_wait(all.other.create("lease-2", "x", {})));
  all.store.put("lease-1", "x");
  CHECK(one.answer());
  asked<void> gone{all.host.watch("lease-1", {})};
  all.store.erase("lease-1");
  CHECK(gone.answer());
}

TEST_CASE("a watch ends at its deadline, and when it is stopped or forgotten") {
  world all;
  asked<void> ends{all.host.watch("a", all.until(1s))};
  keyspan::stop_source stopping;
  store_request within;
  within.stop = stopping.token();
  asked<void> stops{all.host.watch("a", within)};
  asked<void> goes{all.host.watch("a", {})};
  all.clock.advance(999ms);
  CHECK(!ends.is_done());
  all.clock.advance(1ms);
  CHECK(ends.failed_as(errc::timed_out));
  CHECK(!stops.is_done());
  stopping.request_stop();
  CHECK(stops.failed_as(errc::stopped));
  goes.forget();
  all.store.put("a", "nobody is there to hear of it");
}

TEST_CASE("a watch hears of a late write when somebody looks, and is told late itself") {
  world all;
  all.other.next({.late = 5s});
  CHECK(!sync_wait(all.other.create("a", "1", {})));
  all.host.next({.after = 1s});
  asked<void> watch{all.host.watch("a", {})};
  all.clock.advance(5s);
  CHECK(!watch.is_done());
  CHECK(sync_wait(all.other.list("", {})));
  CHECK(!watch.is_done());
  all.clock.advance(1s);
  CHECK(watch.answer());
}

TEST_CASE("a host that is cut off, or deaf, hears of nothing") {
  world all;
  all.host.cut_off(all.at(0s), all.at(1s));
  asked<void> begun_within{all.host.watch("a", all.until(5s))};
  asked<void> cut_later{all.other.watch("a", all.until(5s))};
  auto deaf = all.store.view("deaf", {.deaf = 100});
  asked<void> of_the_deaf{deaf.watch("a", all.until(5s))};
  all.clock.advance(1s);
  all.other.cut_off();
  all.store.put("a", "1");
  CHECK((!begun_within.is_done() && !cut_later.is_done() && !of_the_deaf.is_done()));
  all.other.heal();
  all.store.put("a", "2");
  CHECK(cut_later.answer());
  all.clock.advance(4s);
  CHECK((begun_within.failed_as(errc::timed_out) && of_the_deaf.failed_as(errc::timed_out)));
}

TEST_CASE("who is woken may write, watch again and stop others") {
  world all;
  std::vector<std::uint64_t> numbers;
  all.store.on_write([&](store_write const& one) { numbers.push_back(one.number); });
  int woken = 0;
  auto const echo = [&]() -> held {
    while (woken < 5) {
      task<result<void>> watch = all.host.watch("a", {});
      if (!co_await std::move(watch)) co_return;
      ++woken;
      task<result<std::string>> write = all.host.create("b" + std::to_string(woken), "", {});
      static_cast<void>(co_await std::move(write));
    }
  };
  held const echoing = echo();
  for (int i = 0; i < 7; ++i) all.store.put("a", std::to_string(i));
  CHECK(woken == 5);
  CHECK(echoing.is_done());
  CHECK(all.store.records().size() == 6);
  CHECK(std::ranges::is_sorted(numbers));
  CHECK(numbers.size() == 12);
}

// ---- by chance
// -----------------------------------------------------------------------------------

// All that a host was told, for a thousand operations one after the other.
std::vector<std::string> told(std::string const& name, store_chances const& chances,
                              bool with_another = false) {
  manual_clock clock;
  keyspan::run_loop loop;
  memory_store store{clock};
  auto host = store.view(name, chances);
  auto other = store.view("other", chances);
  std::vector<std::string> all;
  for (int i = 0; i < 1'000; ++i) {
    std::string const id = "r" + std::to_string(i);
    store_request within;
    within.deadline = clock.now() + 80ms;
    auto const made = loop.complete(host.create(id, "x", within), clock);
    all.push_back(made ? "done" : std::string{made.error().to_text().view()});
    auto const list = loop.complete(host.list("r", within), clock);
    all.push_back(list ? std::to_string(list->size()) : std::string{list.error().to_text().view()});
    if (with_another) static_cast<void>(sync_wait(other.read("none", {})));
  }
  return all;
}

TEST_CASE("chance is the same for the same seed and name, and another one for others") {
  store_chances const chances{.throttled = 5,
                              .unavailable = 5,
                              .lost = 10,
                              .late = 10,
                              .twice = 5,
                              .delayed = 0,
                              .lacking = 20,
                              .repeating = 20,
                              .seed = 11};
  auto const first = told("host", chances);
  CHECK(first == told("host", chances));
  CHECK(first == told("host", chances, true));
  CHECK(first != told("tsoh", chances));
  store_chances other = chances;
  other.seed = 12;
  CHECK(first != told("host", other));
  other.delayed = 50;
  CHECK(told("host", other) == told("host", other));
}

TEST_CASE("late writes come at any moment up to the longest lateness") {
  world all;
  std::vector<instant> moments;
  all.store.on_write([&](store_write const& one) { moments.push_back(one.at); });
  all.host.chances({.late = 100, .longest_lateness = 10s, .seed = 3});
  for (int i = 0; i < 400; ++i)
    CHECK(failed_as(errc::outcome_unknown,
                    sync_wait(all.host.create("r" + std::to_string(i), "x", {}))));
  all.clock.advance(10s);
  CHECK(all.store.records().size() == 400);
  for (int second = 0; second < 10; ++second) {
    auto const within = std::ranges::count_if(moments, [&](instant at) {
      return at >= instant{} + second * 1s && at < instant{} + (second + 1) * 1s;
    });
    CHECK((within > 15 && within < 75));
  }
}

TEST_CASE("each fault is as frequent as it was asked to be") {
  world all;
  std::map<std::uint64_t, int> writes;
  all.store.on_write([&](store_write const& one) {
    if (!one.body.empty()) ++writes[std::stoull(one.body)];
  });
  constexpr int count = 20'000;
  all.host.chances({.throttled = 10,
                    .unavailable = 10,
                    .lost = 10,
                    .late = 10,
                    .twice = 10,
                    .longest_lateness = 1s,
                    .seed = 1});
  std::map<errc, int> met;
  int fine = 0;
  std::set<std::uint32_t> waits;
  int twice = 0;
  for (int i = 0; i < count; ++i) {
    auto const made = sync_wait(all.host.create("r", std::to_string(i), {}));
    made ? ++fine : ++met[made.error().code];
    if (failed_as(errc::throttled, made)) waits.insert(made.error().wire.retry_after_ms);
    all.store.erase("r");
    all.clock.advance(1s);
    if (all.store.find("r")) ++twice;  // late, or done again
    all.store.erase("r");
  }
  auto const about = [](int found, int percent) {
    int const wanted = count / 100 * percent;
    return found > wanted * 9 / 10 && found < wanted * 11 / 10;
  };
  CHECK((about(met[errc::throttled], 10) && about(met[errc::unavailable], 10)));
  CHECK(about(met[errc::outcome_unknown], 20));
  CHECK(about(fine, 60));
  CHECK(about(twice, 20));
  CHECK((*waits.begin() == 1 && *waits.rbegin() == 50 && waits.size() == 50));
  CHECK(std::ranges::count_if(writes, [](auto const& one) { return one.second == 2; }) > 1'500);

  met.clear();
  for (int i = 0; i < count; ++i)
    if (auto const read = sync_wait(all.host.read("r", {})); !read) ++met[read.error().code];
  CHECK(about(met[errc::not_connected], 10));
  CHECK(about(met[errc::not_found], 70));  // reads are never late, nor done twice

  all.host.chances({.stale = 10, .lacking = 20, .repeating = 30, .seed = 1});
  for (int i = 0; i < 10; ++i) all.store.put("r" + std::to_string(i), "1");
  all.clock.advance(1h);
  all.store.put("r0", "2");
  std::map<std::size_t, int> sizes;
  int stale = 0;
  all.clock.advance(1ns);
  for (int i = 0; i < count; ++i) {
    auto const list = *sync_wait(all.host.list("r", {}));
    ++sizes[list.size()];
    if (std::ranges::find(list, "1", [](auto const& one) {
          return one.id == "r0" ? one.body : std::string{};
        }) != list.end())
      ++stale;
  }
  CHECK(about(sizes[9], 14));
  CHECK(about(sizes[10], 6 + 56));
  CHECK(about(sizes[11], 24));
  // Sometimes the one record that tells is lacking.
  CHECK((stale > count / 100 * 8 && stale < count / 100 * 11));

  all.host.chances({.delayed = 30, .longest_delay = 100ms, .seed = 2});
  int delayed = 0;
  instant::duration longest{};
  keyspan::run_loop loop;
  for (int i = 0; i < count; ++i) {
    instant const before = all.clock.now();
    REQUIRE(loop.complete(all.host.read("r0", {}), all.clock));
    auto const took = all.clock.now() - before;
    if (took > 0ns) ++delayed;
    longest = (std::max)(longest, took);
  }
  CHECK(about(delayed, 30));
  CHECK((longest > 90ms && longest <= 100ms));
}

// A world of hosts that write, read and list what they like, through everything that can go wrong.
// Each body is written by one attempt alone.
struct crowd {
  struct known {
    bool is_sure_not = false;
    bool is_sure = false;
    std::string version{};
    int times = 0;
  };
  struct told_record {
    stored_record what;
    instant begun;
    instant ended;
  };

  explicit crowd(std::uint64_t seed) : random{seed} {
    store.on_write([this](store_write const& one) {
      history.push_back(one);
      if (!one.body.empty()) ++attempts[one.body].times;
    });
  }

  held live(view host, test::random draws) {
    for (int i = 0; i < 60; ++i) {
      std::string const id = "r" + std::to_string(draws.below(3));
      store_request within;
      if (draws.chance(70))
        within.deadline = clock.now() + std::chrono::milliseconds{draws.between(1, 400)};
      instant const begun = clock.now();
      task<result<stored_record>> reading = host.read(id, within);
      result<stored_record> const read = co_await std::move(reading);
      if (read) reads.push_back({*read, begun, clock.now()});
      std::string const body = host.name() + "/" + std::to_string(i);
      if (read && draws.chance(15)) {
        task<result<void>> removing = host.remove(id, read->version, within);
        static_cast<void>(co_await std::move(removing));
      } else {
        within.deadline = within.deadline ? std::optional{clock.now() + 300ms} : std::nullopt;
        task<result<std::string>> writing =
            read ? host.replace(id, body, read->version, within) : host.create(id, body, within);
        result<std::string> const made = co_await std::move(writing);
        known& attempt = attempts[body];
        attempt.is_sure = made.has_value();
        if (made) attempt.version = *made;
        if (!made) attempt.is_sure_not = keyspan::was_not_done(made.error().code);
      }
      task<result<records>> listing = host.list("r", within);
      result<records> const list = co_await std::move(listing);
      if (list) lists.insert(lists.end(), list->begin(), list->end());
      result<void> const pause =
          co_await clock.wait_until(clock.now() + std::chrono::milliseconds{draws.between(0, 90)});
      static_cast<void>(pause);
    }
    ++over;
  }

  test::random random;
  manual_clock clock{};
  memory_store<manual_clock> store{clock};
  std::vector<store_write> history{};
  std::map<std::string, known> attempts{};
  std::vector<told_record> reads{};
  records lists{};
  int over = 0;
};

TEST_CASE("whatever goes wrong, what is told is true") {
  std::size_t writes = 0;
  std::size_t sure = 0;
  std::size_t unsure = 0;
  std::size_t sure_not = 0;
  std::size_t doubled = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    crowd all{seed};
    INFO("seed " << seed);
    std::vector<held> hosts;
    auto const some = [&](unsigned most) {
      return all.random.chance(50) ? static_cast<unsigned>(all.random.below(most)) : 0;
    };
    for (int i = 0; i < 4; ++i) {
      auto const host = all.store.view("host " + std::to_string(i), {.throttled = some(10),
                                                                     .unavailable = some(10),
                                                                     .lost = some(20),
                                                                     .late = some(20),
                                                                     .twice = some(20),
                                                                     .longest_lateness = 2s,
                                                                     .delayed = some(80),
                                                                     .longest_delay = 200ms,
                                                                     .stale = some(50),
                                                                     .longest_staleness = 1s,
                                                                     .lacking = some(20),
                                                                     .repeating = some(20),
                                                                     .seed = seed});
      if (all.random.chance(50)) {
        instant const from = instant{} + std::chrono::milliseconds{all.random.between(0, 5'000)};
        host.cut_off(from, from + 1s,
                     all.random.pick(std::array{store_cut::refusing, store_cut::silent,
                                                store_cut::unanswered}));
      }
      hosts.push_back(all.live(host, all.random.fork()));
    }
    while (all.over < 4) {
      auto const next = all.clock.next();
      REQUIRE(next);
      all.clock.advance_to(*next);
    }
    all.clock.advance(1h);
    CHECK(all.store.under_way() == 0);

    std::map<std::string, store_write> by_version;
    std::map<std::string, instant> until;  // when a version was replaced
    std::map<std::string, std::string> current;
    instant last{};
    std::uint64_t number = 0;
    for (store_write const& one : all.history) {
      CHECK(one.number == ++number);
      CHECK(one.at >= last);
      last = one.at;
      CHECK(current[one.id] == one.replaced);  // a chain without a fork
      CHECK(one.replaced.empty() == (one.operation == store_operation::create));
      if (!one.replaced.empty()) until[one.replaced] = one.at;
      current[one.id] = one.version;
      if (!one.version.empty()) CHECK(by_version.emplace(one.version, one).second);
    }
    for (auto const& [body, attempt] : all.attempts) {
      if (attempt.is_sure_not) CHECK(attempt.times == 0);
      if (attempt.is_sure) {
        CHECK(attempt.times >= 1);
        REQUIRE(by_version.contains(attempt.version));
        CHECK(by_version.at(attempt.version).body == body);
      }
      CHECK(attempt.times <= 2);
      doubled += attempt.times == 2 ? 1 : 0;
      sure += attempt.is_sure ? 1 : 0;
      sure_not += attempt.is_sure_not ? 1 : 0;
      unsure += !attempt.is_sure && !attempt.is_sure_not ? 1 : 0;
    }
    // A read is what was there at a moment while it was under way.
    for (auto const& read : all.reads) {
      REQUIRE(by_version.contains(read.what.version));
      store_write const& made = by_version.at(read.what.version);
      CHECK((made.id == read.what.id && made.body == read.what.body && made.at <= read.ended));
      auto const gone = until.find(read.what.version);
      CHECK((gone == until.end() || gone->second >= read.begun));
    }
    for (stored_record const& one : all.lists) {
      REQUIRE(by_version.contains(one.version));
      CHECK(
          (by_version.at(one.version).body == one.body && by_version.at(one.version).id == one.id));
    }
    writes += all.history.size();
  }
  // All of it happens.
  CHECK((writes > 2'000 && sure > 1'000 && unsure > 200 && sure_not > 500 && doubled > 0));
}

}  // namespace
