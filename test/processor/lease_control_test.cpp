// test/processor/lease_control_test.cpp — leases that are looked at and steered from outside: over
// records that are written by hand, a store that fails, and owners who write at the same time.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <transport/reviews.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::lease_control;
using keyspan::lease_phase;
using keyspan::result;
using keyspan::session_id;
using keyspan::store_operation;
using keyspan::store_request;
using keyspan::sync_wait;
using test::check;

// An item that knows its number.
struct numbered {
  std::string key;
  std::uint64_t lsn = 0;
};
// One that does not.
struct plain {
  std::string key;
};

using token = keyspan::token128;
using range_type = keyspan::token_range<token>;
using record_type = keyspan::lease_record<token>;
using cursor_type = keyspan::composite_cursor<token>;
using store_type = keyspan::memory_store<keyspan::manual_clock>;
using view_type = decltype(std::declval<store_type&>().view(std::string{}));
using numbers = std::vector<std::optional<std::uint64_t>>;

range_type const whole = keyspan::whole_space(cosmos_v2);

template <class Source>
struct world {
  // A lease for each partition, at the beginning.
  template <class... Args>
  explicit world(Args&&... args) : source{cosmos_v2, std::forward<Args>(args)...} {
    for (auto const& one : source.partitions()) put(make(one.range));
    layout(1);
  }

  record_type make(range_type const& range) {
    record_type made{.range = range};
    made.position = {
        .container = source.container(), .scheme = "cosmos_v2", .parts = {{range, from_beginning}}};
    return made;
  }
  void put(record_type const& record) { store.put(id_of(record.range), record.to_text()); }
  std::string id_of(range_type const& range) const { return ids.lease("cosmos_v2", range); }
  record_type get(range_type const& range) {
    return *record_type::from_text(cosmos_v2, store.find(id_of(range))->body);
  }
  void layout(std::uint64_t number) {
    store.put(ids.layout(), keyspan::layout_record{number}.to_text());
  }
  std::uint64_t layout() {
    return keyspan::layout_record::from_text(store.find(ids.layout())->body)->number;
  }
  // Handles so many changes of a lease's range, as its owner would.
  void handle(range_type const& range, std::size_t most) {
    auto record = get(range);
    keyspan::feed_request<token> asked;
    asked.start = record.position;
    asked.scope = range;
    asked.page_size = 1;
    keyspan::feed part{source, asked};
    for (auto page : part.pages()) {
      if (most == 0) break;
      most -= (std::min)(most, page->items.size());
      record.position = part.cursor();
      if (most == 0) break;
    }
    record.position = part.cursor();
    ++record.facts.sequence;
    put(record);
  }
  numbers lag() {
    lease_control<Source, store_type> control{source, store};
    auto const told = sync_wait(control.lag());
    REQUIRE(told.has_value());
    numbers all;
    for (auto const& one : *told) all.push_back(one.changes);
    return all;
  }

  keyspan::manual_clock clock{};
  store_type store{clock};
  keyspan::lease_ids ids{};
  Source source;
};
using plain_world = world<keyspan::scripted_source<plain, keyspan::cosmos_v2_scheme>>;
using numbered_world = world<keyspan::scripted_source<numbered, keyspan::cosmos_v2_scheme>>;

void write(numbered_world& all, std::string const& key) {
  all.source.write(key, numbered{key, all.source.size() + 1});
}
range_type part_of(auto& all, std::size_t i) { return all.source.partitions()[i].range; }

// ---- looking -----------------------------------------------------------------------------------

TEST_CASE("leases are listed in token order, without those that have ended and what is none") {
  plain_world all{5U};
  auto ended = all.make(part_of(all, 2));
  ended.facts.phase = lease_phase::ended;
  all.put(ended);
  all.store.put("other.lease.0123456789abcdef0123456789abcdef", "of another set");
  all.store.put("lease.notes", "what somebody wrote");
  lease_control control{all.source, all.store};
  auto const open = sync_wait(control.list());
  REQUIRE(open.has_value());
  REQUIRE(open->size() == 4);
  CHECK(std::is_sorted(open->begin(), open->end(),
                       [](auto const& a, auto const& b) { return a.range < b.range; }));
  for (auto const& one : *open) CHECK(one == all.get(one.range));
  auto const both = sync_wait(control.list(true));
  REQUIRE(both->size() == 5);
  CHECK((*both)[2] == ended);
}

TEST_CASE("a control sees the leases and members of its prefix alone") {
  plain_world all{2U};
  lease_control orders{all.source, all.store, "orders."};
  CHECK(sync_wait(orders.list())->empty());
  keyspan::lease_ids const ids{"orders."};
  all.store.put(ids.lease("cosmos_v2", whole), all.make(whole).to_text());
  all.store.put(ids.member(session_id{7}),
                keyspan::member_record{.session = session_id{7}, .name = "ada"}.to_text());
  REQUIRE(sync_wait(orders.list())->size() == 1);
  CHECK(sync_wait(orders.list())->front().range == whole);
  REQUIRE(sync_wait(orders.members())->size() == 1);
  CHECK(sync_wait(orders.members())->front().name == "ada");
  lease_control usual{all.source, all.store};
  CHECK(sync_wait(usual.list())->size() == 2);
  CHECK(sync_wait(usual.members())->empty());
  CHECK(sync_wait(orders.pause(whole, "why")) == std::size_t{1});
  CHECK(sync_wait(usual.list())->front().paused.empty());
  CHECK(test::promise_broken_by([&] { return lease_control{all.source, all.store, "orders/"}; }) ==
        "a prefix is at most 100 letters, digits, '.', '-' and '_', the first of them no dot");
}

TEST_CASE("a list that shows a record twice shows each lease and member once") {
  plain_world all{3U};
  for (std::uint64_t i = 1; i <= 3; ++i)
    all.store.put(all.ids.member(session_id{i}),
                  keyspan::member_record{.session = session_id{i}}.to_text());
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto const view = all.store.view("tool", {.repeating = 100, .seed = seed});
    lease_control control{all.source, view};
    CHECK(sync_wait(control.list())->size() == 3);
    CHECK(sync_wait(control.members())->size() == 3);
    CHECK(sync_wait(control.lag())->size() == 3);
    CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{3});
    CHECK(sync_wait(control.reset(whole, from_beginning)) == std::size_t{3});
  }
}

TEST_CASE("records that nobody can read are told, with the place") {
  plain_world all{2U};
  lease_control control{all.source, all.store};
  all.store.put(all.ids.member(session_id{1}), "nonsense");
  CHECK(sync_wait(control.members()).error().code == errc::malformed);
  all.store.put(all.id_of(part_of(all, 0)), "nonsense");
  CHECK(sync_wait(control.list()).error().code == errc::malformed);
  CHECK(sync_wait(control.lag()).error().code == errc::malformed);
  CHECK(sync_wait(control.pause(whole, "why")).error().code == errc::malformed);
  CHECK(sync_wait(control.resume(whole)).error().code == errc::malformed);
  CHECK(sync_wait(control.reset(whole, from_now)).error().code == errc::malformed);
}

// ---- how far behind ----------------------------------------------------------------------------

TEST_CASE("lag is exact before the first checkpoint, at every position, and when nothing is new") {
  numbered_world all{1U};
  CHECK(all.lag() == numbers{0});
  for (int i = 0; i < 20; ++i) write(all, "k" + std::to_string(i));
  CHECK(all.lag() == numbers{20});
  for (std::uint64_t left = 20; left-- > 0;) {
    all.handle(whole, 1);
    CHECK(all.lag() == numbers{left});
  }
  write(all, "k");
  CHECK(all.lag() == numbers{1});  // a single one
}

TEST_CASE("lag of a container is exact for each of its partitions") {
  test::reviews container{cosmos_v2, test::by_article, {.partitions = 4}};
  keyspan::manual_clock clock;
  store_type store{clock};
  keyspan::lease_ids const ids;
  std::vector<range_type> ranges;
  for (auto const& one : container.partitions()) {
    ranges.push_back(one.range);
    record_type made{.range = one.range};
    made.position = {.container = container.container(),
                     .scheme = "cosmos_v2",
                     .parts = {{one.range, from_beginning}}};
    store.put(ids.lease("cosmos_v2", one.range), made.to_text());
  }
  lease_control control{container, store};
  std::map<std::size_t, std::uint64_t> wanted;
  for (int i = 0; i < 200; ++i) {
    std::string const article = "a" + std::to_string(i);
    REQUIRE(test::done(container.create({"r", article, i})).has_value());
    auto const at = keyspan::token_of(cosmos_v2, article);
    for (std::size_t n = 0; n < ranges.size(); ++n)
      if (ranges[n].contains(at)) ++wanted[n];
    if (i % 20 != 0) continue;
    auto const told = sync_wait(control.lag());
    REQUIRE(told->size() == 4);
    for (std::size_t n = 0; n < 4; ++n) CHECK((*told)[n].changes == wanted[n]);
  }
}

TEST_CASE("lag behind a split counts what its parts have not handled, and at most what all had") {
  numbered_world all{1U};
  for (int i = 0; i < 40; ++i) write(all, "k" + std::to_string(i));
  all.handle(whole, 10);
  all.source.split("0");
  auto const told = all.lag();  // one lease, of two partitions
  REQUIRE(told.size() == 1);
  CHECK(*told[0] >= 30);
  CHECK(*told[0] <= 60);
  all.handle(whole, 1'000);
  CHECK(all.lag() == numbers{0});
  for (int i = 0; i < 2; ++i) {
    write(all, "k1");
    CHECK(all.lag() == numbers{static_cast<std::uint64_t>(i) + 1});
  }
}

TEST_CASE("lag behind a merge sees each of the positions that came together") {
  numbered_world all{2U};
  range_type const left = part_of(all, 0);
  for (int i = 0; i < 40; ++i) write(all, "k" + std::to_string(i));
  all.handle(left, 1'000);
  auto const right_only = all.lag();
  CHECK(right_only[0] == 0);
  CHECK(*right_only[1] > 0);
  all.source.merge("0", "1");
  // As the lease that takes the place of both would have it.
  auto merged = all.make(whole);
  merged.position.parts = all.get(left).position.parts;
  merged.position.parts.push_back(
      {range_type{left.upper().at(), keyspan::space_end}, from_beginning});
  for (auto const& one : {left, range_type{left.upper().at(), keyspan::space_end}})
    CHECK(all.store.erase(all.id_of(one)));
  all.put(merged);
  auto const told = all.lag();
  REQUIRE(told.size() == 1);
  CHECK(*told[0] >= *right_only[1]);
  all.handle(whole, 1'000);
  CHECK(all.lag() == numbers{0});
}

TEST_CASE("lags add up, unless one of them is not known") {
  plain_world all{3U};
  auto const record = all.make(part_of(all, 0));
  using lags = std::vector<keyspan::lease_lag<token>>;
  CHECK(keyspan::total_lag(lags{}) == 0U);
  CHECK(keyspan::total_lag(lags{{record, 3}, {record, 0}, {record, 40}}) == 43U);
  CHECK(keyspan::total_lag(lags{{record, 3}, {record, std::nullopt}}) == std::nullopt);
}

TEST_CASE("lag of changes without numbers says only whether there are some") {
  plain_world all{2U};
  CHECK(all.lag() == numbers{0, 0});
  std::string const key = "redmond";
  all.source.write(key, plain{key});
  bool const is_left = part_of(all, 0).contains(keyspan::token_of(cosmos_v2, key));
  CHECK(all.lag() == (is_left ? numbers{std::nullopt, 0} : numbers{0, std::nullopt}));
}

TEST_CASE("lag goes on over empty pages, and reads one page of one change else") {
  numbered_world all{1U};
  for (int i = 0; i < 9; ++i) write(all, "k" + std::to_string(i));
  all.source.empty_pages(3);
  CHECK(all.lag() == numbers{9});
  auto const reads = all.source.reads().size();
  CHECK(reads == 4);
  CHECK(all.source.reads().back().page_size == 1);
  all.source.empty_pages(0);
  CHECK(all.lag() == numbers{9});
  CHECK(all.source.reads().size() == reads + 1);
}

TEST_CASE("lag follows a partition that is gone while it asks") {
  numbered_world all{1U};
  for (int i = 0; i < 9; ++i) write(all, "k" + std::to_string(i));
  all.source.before_read([&](std::size_t number) {
    if (number == 0) all.source.split("0");
  });
  auto const told = all.lag();
  REQUIRE(told.size() == 1);
  CHECK(*told[0] >= 9);
  CHECK(all.source.reads().size() == 3);
}

TEST_CASE("lag tells what source and store say, and a position of another container") {
  numbered_world all{1U};
  write(all, "k");
  auto const view = all.store.view("tool");
  lease_control control{all.source, view};
  all.source.fail_next(keyspan::error{errc::throttled, "too much"});
  CHECK(sync_wait(control.lag()).error().text == "too much");
  all.source.fail_topology(keyspan::error{errc::unavailable, "away"});
  CHECK(sync_wait(control.lag()).error().text == "away");
  view.fail_next(errc::unavailable);
  CHECK(sync_wait(control.lag()).error().code == errc::unavailable);
  auto foreign = all.make(whole);
  foreign.position.container = "another";
  all.put(foreign);
  CHECK(sync_wait(control.lag()).error().code == errc::wrong_container);
}

// ---- steering ----------------------------------------------------------------------------------

TEST_CASE("a pause is written into the leases of its range, and taken back with their attempts") {
  plain_world all{4U};
  auto record = all.make(part_of(all, 1));
  record.facts.owner = session_id{5};
  record.facts.epoch = 9;
  record.facts.stamp = {.session = session_id{5}, .number = 77};
  record.attempts = {.sequence = 4, .count = 5};
  all.put(record);
  lease_control control{all.source, all.store};
  range_type const two{part_of(all, 1).lower(), part_of(all, 2).upper()};
  CHECK(sync_wait(control.pause(two, "the sink is full")) == std::size_t{2});
  CHECK(all.layout() == 2);  // its owners look
  auto paused = record;
  paused.paused = "the sink is full";
  CHECK(all.get(record.range) == paused);  // and nothing else of it
  CHECK(all.get(part_of(all, 2)).paused == "the sink is full");
  CHECK(all.get(part_of(all, 0)).paused.empty());
  CHECK(all.get(part_of(all, 3)).paused.empty());

  CHECK(sync_wait(control.resume(whole)) == std::size_t{4});
  auto resumed = record;
  resumed.attempts = {};
  CHECK(all.get(record.range) == resumed);
  CHECK(all.layout() == 3);
}

TEST_CASE("a part of a lease's range is enough to steer it, and its neighbours stay") {
  plain_world all{4U};
  lease_control control{all.source, all.store};
  for (std::size_t i = 0; i < 4; ++i) {
    range_type const range = part_of(all, i);
    range_type const tip{range.lower(), cosmos_v2.successor(range.lower())};
    CHECK(sync_wait(control.pause(tip, "why")) == std::size_t{1});
    for (std::size_t n = 0; n < 4; ++n)
      CHECK(all.get(part_of(all, n)).paused == (n <= i ? "why" : ""));
  }
}

TEST_CASE("a pause without a reason is refused") {
  plain_world all{2U};
  lease_control control{all.source, all.store};
  auto const refused = sync_wait(control.pause(whole, ""));
  CHECK(refused.error().code == errc::invalid_options);
  CHECK(refused.error().text == "say why it is paused: whoever finds it will ask");
  CHECK(all.layout() == 1);
}

TEST_CASE("what is as it should be is counted and not written again") {
  plain_world all{3U};
  lease_control control{all.source, all.store};
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{3});
  int writes = 0;
  all.store.on_write([&](keyspan::store_write const& one) { writes += one.id != "layout"; });
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{3});
  CHECK(writes == 0);
  CHECK(sync_wait(control.pause(whole, "another why")) == std::size_t{3});
  CHECK(writes == 3);
}

TEST_CASE("leases that have ended are paused and resumed for what comes of them, and not counted") {
  plain_world all{3U};
  auto ended = all.make(part_of(all, 1));
  ended.facts.phase = lease_phase::ended;
  auto const nothing = ended;
  ended.children = {ended.range};
  all.put(ended);
  lease_control control{all.source, all.store};
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{2});
  CHECK(all.get(ended.range).paused == "why");
  CHECK(sync_wait(control.resume(whole)) == std::size_t{2});
  CHECK(all.get(ended.range) == ended);
  all.put(nothing);  // one of which nothing comes
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{2});
  CHECK(all.get(ended.range) == nothing);
}

TEST_CASE("steering works without a layout, and where there are no leases") {
  plain_world all{2U};
  all.store.erase("layout");
  lease_control control{all.source, all.store};
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{2});
  CHECK(!all.store.find("layout").has_value());
  lease_control none{all.source, all.store, "none."};
  CHECK(sync_wait(none.pause(whole, "why")) == std::size_t{0});
  CHECK(sync_wait(none.reset(whole, from_now)) == std::size_t{0});
  CHECK(sync_wait(none.lag())->empty());
}

// ---- against others ----------------------------------------------------------------------------

// A store where somebody may do something right before each list, read and replace.
struct meddled_store {
  auto list(std::string_view prefix, store_request const& request) {
    if (before_list) before_list();
    return to->list(prefix, request);
  }
  auto read(std::string_view id, store_request const& request) {
    if (before_read) before_read(std::string{id});
    return to->read(id, request);
  }
  auto create(std::string_view id, std::string_view body, store_request const& request) {
    return to->create(id, body, request);
  }
  auto replace(std::string_view id, std::string_view body, std::string_view version,
               store_request const& request) {
    ++replaces;
    if (meddle) meddle(std::string{id});
    return to->replace(id, body, version, request);
  }
  auto remove(std::string_view id, std::string_view version, store_request const& request) {
    return to->remove(id, version, request);
  }

  store_type* to;
  std::function<void(std::string const& id)> meddle{};
  std::function<void(std::string const& id)> before_read{};
  std::function<void()> before_list{};
  int replaces = 0;
};
static_assert(keyspan::lease_store<meddled_store>);

TEST_CASE("an owner who writes meanwhile loses nothing, and what was asked for is written, too") {
  for (int times = 0; times <= 33; ++times) {
    plain_world all{1U};
    meddled_store store{.to = &all.store};
    int left = times;
    store.meddle = [&](std::string const& id) {
      if (id == "layout" || left == 0) return;
      --left;
      auto record = all.get(whole);
      ++record.facts.sequence;
      all.put(record);
    };
    lease_control control{all.source, store};
    auto const done = sync_wait(control.pause(whole, "why"));
    auto const record = all.get(whole);
    CHECK(record.facts.sequence == static_cast<std::uint64_t>(times));
    if (times <= 32) {
      CHECK(done == std::size_t{1});
      CHECK(record.paused == "why");
    } else {
      CHECK(done.error().code == errc::precondition_failed);
      CHECK(record.paused.empty());
    }
  }
}

TEST_CASE("others who write the layout meanwhile are not written over") {
  for (int times : {0, 1, 5, 32, 33}) {
    plain_world all{1U};
    meddled_store store{.to = &all.store};
    int left = times;
    store.meddle = [&](std::string const& id) {
      if (id != "layout" || left == 0) return;
      --left;
      all.layout(all.layout() + 1);
    };
    lease_control control{all.source, store};
    auto const done = sync_wait(control.pause(whole, "why"));
    CHECK(all.layout() == static_cast<std::uint64_t>(times) + (times <= 32 ? 2 : 1));
    CHECK(done.has_value() == (times <= 32));
  }
}

TEST_CASE(
    "lost answers, late writes and writes done twice leave what was asked for, counted once") {
  for (auto const& fault : {keyspan::store_fault{.only = store_operation::replace, .is_lost = true},
                            keyspan::store_fault{.only = store_operation::replace, .late = 1s},
                            keyspan::store_fault{.only = store_operation::replace, .twice = 1s}}) {
    plain_world all{3U};
    auto const view = all.store.view("tool");
    lease_control control{all.source, view};
    view.next(fault, 3);
    CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{3});
    for (std::size_t i = 0; i < 3; ++i) CHECK(all.get(part_of(all, i)).paused == "why");
    auto const before = all.get(part_of(all, 0));
    all.clock.advance(10s);  // what is late comes too late
    CHECK(all.get(part_of(all, 0)) == before);
    CHECK(all.layout() >= 2);
  }
}

TEST_CASE("whatever a store does by chance, what was told to be done is") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    plain_world all{4U};
    auto const view = all.store.view(
        "tool",
        {.throttled = 1, .unavailable = 1, .lost = 6, .twice = 8, .repeating = 50, .seed = seed});
    lease_control control{all.source, view};
    std::string const why = "why " + std::to_string(seed);
    auto paused = sync_wait(control.pause(whole, why));
    for (int i = 0; i < 1'000 && !paused; ++i) paused = sync_wait(control.pause(whole, why));
    REQUIRE(paused == std::size_t{4});
    auto reset = sync_wait(control.reset(whole, from_beginning));
    for (int i = 0; i < 1'000 && !reset; ++i)
      reset = sync_wait(control.reset(whole, from_beginning));
    REQUIRE(reset == std::size_t{4});
    for (std::size_t i = 0; i < 4; ++i) {
      auto const one = all.get(part_of(all, i));
      REQUIRE(one.paused == why);
      REQUIRE(one.reset == one.position);
    }
  }
}

TEST_CASE("a lease that is removed or has ended meanwhile is left alone") {
  for (bool const is_removed : {false, true}) {
    plain_world all{2U};
    meddled_store store{.to = &all.store};
    range_type const first = part_of(all, 0);
    store.meddle = [&, done = false](std::string const& id) mutable {
      if (id != all.id_of(first) || std::exchange(done, true)) return;
      if (is_removed) {
        all.store.erase(id);
      } else {
        auto ended = all.get(first);
        ended.facts.phase = lease_phase::ended;
        all.put(ended);
      }
    };
    lease_control control{all.source, store};
    CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{1});
    CHECK(all.get(part_of(all, 1)).paused == "why");
    if (!is_removed) CHECK(all.get(first).paused.empty());
  }
  // It goes when it has been listed, and is to be read.
  {
    plain_world all{2U};
    meddled_store store{.to = &all.store};
    store.before_read = [&](std::string const& id) {
      if (id == all.id_of(part_of(all, 0))) all.store.erase(id);
    };
    lease_control control{all.source, store};
    CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{1});
  }
  // The layout goes while it is written.
  plain_world all{1U};
  meddled_store store{.to = &all.store};
  store.meddle = [&](std::string const& id) {
    if (id == "layout") all.store.erase(id);
  };
  lease_control control{all.source, store};
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{1});
}

TEST_CASE("what the store refuses is told, and what was done stays done") {
  plain_world all{2U};
  auto const view = all.store.view("tool");
  lease_control control{all.source, view};
  for (auto const what : {store_operation::list, store_operation::read, store_operation::replace}) {
    view.next({.only = what, .failure = keyspan::error{errc::unauthorized, "no right to"}});
    auto const refused = sync_wait(control.pause(whole, "why"));
    CHECK(refused.error().code == errc::unauthorized);
    CHECK(refused.error().text == "no right to");
  }
  view.next({.only = store_operation::list, .failure = keyspan::error{errc::throttled, "wait"}});
  CHECK(sync_wait(control.members()).error().text == "wait");
  view.next({.only = store_operation::read,
             .id = "layout",
             .failure = keyspan::error{errc::throttled, "wait"}});
  CHECK(sync_wait(control.pause(whole, "why")).error().text == "wait");
  for (std::size_t i = 0; i < 2; ++i) CHECK(all.get(part_of(all, i)).paused == "why");
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{2});
}

// ---- another position --------------------------------------------------------------------------

TEST_CASE("a reset says where each lease is read from anew, whatever is asked for") {
  plain_world all{3U};
  auto const first = keyspan::wall_time{1'000ms};
  all.source.set_time(first);
  for (int i = 0; i < 30; ++i) all.source.write("k" + std::to_string(i), plain{});
  lease_control control{all.source, all.store};
  for (auto const& start :
       {keyspan::feed_start<token>{from_beginning}, keyspan::feed_start<token>{from_now},
        keyspan::feed_start<token>{keyspan::from_time{first}}}) {
    CHECK(sync_wait(control.reset(whole, start)) == std::size_t{3});
    for (std::size_t i = 0; i < 3; ++i) {
      range_type const range = part_of(all, i);
      auto const one = all.get(range);
      REQUIRE(one.reset.has_value());
      keyspan::feed_request<token> asked;
      asked.start = start;
      asked.scope = range;
      keyspan::feed wanted{all.source, asked};
      REQUIRE(wanted.open().has_value());
      CHECK(*one.reset == wanted.cursor());
      CHECK(one.position == all.make(range).position);  // until its owner heeds it
    }
  }
  CHECK(all.layout() > 1);
  // From a time, what was written since is counted as not handled.
  CHECK(sync_wait(control.reset(part_of(all, 1), from_beginning)) == std::size_t{1});
}

TEST_CASE("leases are settled when each is somebody's and has gone where it was set back to") {
  plain_world all{2U};
  for (int i = 0; i < 30; ++i) all.source.write("k" + std::to_string(i), plain{});
  lease_control control{all.source, all.store};
  auto const is_settled = [&](range_type range) {
    auto const told = sync_wait(control.settled(range));
    if (!told) CHECK(told.error().code == errc::contended);
    return told.has_value();
  };
  CHECK_FALSE(is_settled(whole));  // nobody has them
  std::uint64_t epoch = 6;
  auto const own = [&](std::size_t i) {
    auto one = all.get(part_of(all, i));
    if (one.reset) one.position = *std::exchange(one.reset, std::nullopt);
    one.facts.owner = keyspan::session_id{7};
    one.facts.epoch = ++epoch;
    all.put(one);
  };
  own(0);
  own(1);
  CHECK(is_settled(whole));
  CHECK(sync_wait(control.reset(whole, from_now)) == std::size_t{2});
  CHECK_FALSE(is_settled(whole));
  auto const lag = sync_wait(control.lag());
  REQUIRE(lag.has_value());
  for (auto const& one : *lag) CHECK(one.changes == 0U);  // from where it was set to
  own(0);
  CHECK_FALSE(is_settled(whole));
  CHECK(is_settled(part_of(all, 0)));
  own(1);
  auto const told = sync_wait(control.settled(whole));
  REQUIRE(told.has_value());
  CHECK((*told)[0].facts.epoch == 9);
  CHECK((*told)[1].facts.epoch == 10);
}

TEST_CASE("what is settled is read as it is now, whatever a list shows") {
  plain_world all{1U};
  auto one = all.get(whole);
  one.facts.owner = keyspan::session_id{7};
  one.facts.epoch = 3;
  all.put(one);
  all.clock.advance(1s);
  auto const view = all.store.view("tool");
  lease_control control{all.source, view};
  REQUIRE(sync_wait(control.reset(whole, from_beginning)) == std::size_t{1});
  view.next({.only = store_operation::list, .stale = 500ms}, 100);
  CHECK(sync_wait(control.settled(whole)).error().code == errc::contended);
  one.facts.epoch = 4;
  all.put(one);
  CHECK(sync_wait(control.settled(whole))->front().facts.epoch == 4);
  one.facts.phase = lease_phase::ended;
  all.put(one);
  CHECK(sync_wait(control.settled(whole)).error().code == errc::contended);
  all.store.erase(all.id_of(whole));
  CHECK(sync_wait(control.settled(whole)).error().code == errc::contended);
}

TEST_CASE("a reset to a cursor takes of it what is each lease's own") {
  plain_world all{3U};
  for (int i = 0; i < 30; ++i) all.source.write("k" + std::to_string(i), plain{});
  keyspan::feed reading{all.source};
  REQUIRE(reading.open().has_value());
  for (auto page : reading.pages())
    if (page->nothing_new) break;
  auto const at = reading.cursor();
  lease_control control{all.source, all.store};
  CHECK(sync_wait(control.reset(whole, at)) == std::size_t{3});
  auto const leases = sync_wait(control.list());
  for (auto const& lease : *leases) {
    REQUIRE(lease.reset.has_value());
    REQUIRE(lease.reset->parts.size() == 1);
    auto const found = std::find_if(at.parts.begin(), at.parts.end(), [&](auto const& one) {
      return one.range.contains(lease.range);
    });
    CHECK(lease.reset->parts.front().from == found->from);
  }
}

TEST_CASE("a lease over several partitions is set back in each of them") {
  plain_world all{1U};
  all.source.split("0");
  all.source.split("1");
  lease_control control{all.source, all.store};
  CHECK(sync_wait(control.reset(whole, from_now)) == std::size_t{1});
  CHECK(all.get(whole).reset->parts.size() == 3);
}

TEST_CASE("a cursor that does not fit the leases is refused before anything is written") {
  plain_world all{3U};
  lease_control control{all.source, all.store};
  auto const before = all.store.records();
  auto at = all.make(whole).position;
  auto const refused = [&] {
    auto const done = sync_wait(control.reset(whole, at));
    REQUIRE(!done.has_value());
    CHECK(all.store.records() == before);
    return done.error();
  };
  // Without the middle of the last lease.
  range_type const last = part_of(all, 2);
  auto const middle = *cosmos_v2.midpoint(last.lower(), last.upper());
  at.parts = {{{whole.lower(), middle}, from_beginning}};
  auto const gap = refused();
  CHECK(gap.code == errc::gap);
  CHECK(gap.text.view().find("the cursor does not cover a lease: ") == 0);
  CHECK(!gap.text.is_cut());
  // Of the first two alone.
  at.parts = {{{whole.lower(), last.lower()}, from_beginning}};
  CHECK(refused().code == errc::invalid_range);
  // Of one key.
  at = all.make(whole).position;
  at.key = keyspan::partition_key{"redmond"};
  CHECK(refused().text == "a lease is of all keys of its range, not of one");
  // In another mode.
  at = all.make(whole).position;
  at.mode = keyspan::feed_mode::all_versions_and_deletes;
  auto const mode = refused();
  CHECK(mode.code == errc::invalid_options);
  CHECK(mode.text ==
        "the cursor is of mode all_versions_and_deletes, the lease of mode latest_version");
  at = all.make(whole).position;
  at.container = "another";
  CHECK(refused().code == errc::wrong_container);
}

// A lease becomes two, as its owner would do it, in so many of the steps.
void split_lease(plain_world& all, range_type const& range, int steps) {
  auto const middle = *cosmos_v2.midpoint(range.lower(), range.upper());
  range_type const left{range.lower(), middle};
  range_type const right{middle, range.upper()};
  auto ended = all.get(range);
  ended.facts.phase = lease_phase::ended;
  ended.children = {left, right};
  if (steps > 0) all.put(ended);
  if (steps > 1) all.put(all.make(left));
  if (steps > 2) all.put(all.make(right));
  if (steps > 3) all.store.erase(all.id_of(range));
}

TEST_CASE("what comes of a lease that is split meanwhile is set back as well") {
  for (int const steps : {3, 4}) {
    plain_world all{2U};
    meddled_store store{.to = &all.store};
    range_type const first = part_of(all, 0);
    store.meddle = [&, done = false](std::string const& id) mutable {
      if (id == all.id_of(first) && !std::exchange(done, true)) split_lease(all, first, steps);
    };
    lease_control control{all.source, store};
    CHECK(sync_wait(control.reset(whole, from_beginning)) == std::size_t{3});
    auto const leases = sync_wait(control.list());
    REQUIRE(leases.has_value());  // so each has a position that covers it
    REQUIRE(leases->size() == 3);
    for (auto const& one : *leases) CHECK(one.reset == all.make(one.range).position);
  }
}

TEST_CASE("no lease is given the position of another, whenever it is split or merged") {
  // At each of the questions up to the last list that a reset asks for.
  for (int moment = 1; moment <= 5; ++moment) {
    for (bool const is_merge : {false, true}) {
      plain_world all{2U};
      meddled_store store{.to = &all.store};
      range_type const first = part_of(all, 0);
      int questions = 0;
      auto const meddle = [&] {
        if (++questions != moment) return;
        if (!is_merge) return split_lease(all, first, 4);
        auto merged = all.make(whole);
        for (std::size_t i = 0; i < 2; ++i) all.store.erase(all.id_of(part_of(all, i)));
        all.put(merged);
      };
      store.before_list = meddle;
      store.before_read = [&](std::string const&) { meddle(); };
      lease_control control{all.source, store};
      auto const done = sync_wait(control.reset(whole, from_beginning));
      CHECK(done.has_value());
      CHECK(questions >= moment);
      auto const leases = sync_wait(control.list());
      REQUIRE(leases.has_value());  // so each has a position that covers it
      for (auto const& one : *leases) CHECK(one.reset.has_value());
    }
  }
}

TEST_CASE("a pause follows what lists do not show yet, and asks for patience where it cannot") {
  // A split that is done, half done, and whose parent has gone; the list is from before it.
  for (int const steps : {1, 2, 3, 4}) {
    plain_world all{2U};
    range_type const first = part_of(all, 0);
    all.clock.advance(1s);
    split_lease(all, first, steps);
    auto const view = all.store.view("tool");
    view.next({.only = store_operation::list, .stale = 500ms}, 100);
    lease_control control{all.source, view};
    auto const done = sync_wait(control.pause(whole, "why"));
    CHECK(done.has_value() == (steps == 3));
    if (done) CHECK(*done == 3);
    if (!done) CHECK(done.error().code == errc::contended);
    CHECK(all.get(part_of(all, 1)).paused == "why");
    view.chances({});
    lease_control later{all.source, all.store};
    if (steps < 3) split_lease(all, first, 3);
    CHECK(sync_wait(later.pause(whole, "why")) == std::size_t{3});
    auto const leases = sync_wait(later.list());
    REQUIRE(leases.has_value());
    for (auto const& one : *leases) CHECK(one.paused == "why");
  }
}

TEST_CASE("steering reads each lease it steers once, and no other") {
  plain_world all{64U};
  meddled_store store{.to = &all.store};
  int lists = 0;
  int reads = 0;
  store.before_list = [&] { ++lists; };
  store.before_read = [&](std::string const& id) { reads += id != "layout"; };
  lease_control control{all.source, store};
  CHECK(sync_wait(control.reset(whole, from_beginning)) == std::size_t{64});
  CHECK(reads == 64);
  CHECK(lists == 2);
  CHECK(sync_wait(control.pause(part_of(all, 7), "why")) == std::size_t{1});
  CHECK(reads == 65);
  CHECK(lists == 3);
}

TEST_CASE("a control that asks for a long time may have a deadline for each question") {
  plain_world all{8U};
  auto const view = all.store.view("tool");
  lease_control short_of_time{all.source, view, "", {all.clock.now() + 1s, {}}};
  lease_control patient{all.source, view, "",
                        [&] { return store_request{all.clock.now() + 1s, {}}; }};
  for (bool const is_patient : {false, true}) {
    view.next({.before = 400ms}, 6);
    auto& control = is_patient ? patient : short_of_time;
    keyspan::run_loop loop;
    auto const done = loop.complete(control.pause(whole, "why"), all.clock);
    CHECK(done.has_value() == is_patient);
  }
}

TEST_CASE("a reset asks for patience while what takes a lease's place is not there") {
  for (int const steps : {1, 2}) {
    plain_world all{2U};
    split_lease(all, part_of(all, 0), steps);
    lease_control control{all.source, all.store};
    auto const refused = sync_wait(control.reset(whole, from_beginning));
    REQUIRE(!refused.has_value());
    CHECK(refused.error().code == errc::contended);
    CHECK(refused.error().text == "leases are being split or merged: ask again");
    CHECK(!all.get(part_of(all, 1)).reset.has_value());
    // Others do not have to wait for that.
    CHECK(sync_wait(control.reset(part_of(all, 1), from_beginning)) == std::size_t{1});
    split_lease(all, part_of(all, 0), 3);
    CHECK(sync_wait(control.reset(whole, from_beginning)) == std::size_t{3});
  }
}

TEST_CASE("a reset tells what source and store say") {
  plain_world all{2U};
  auto const view = all.store.view("tool");
  lease_control control{all.source, view};
  all.source.fail_topology(keyspan::error{errc::unavailable, "away"});
  CHECK(sync_wait(control.reset(whole, from_now)).error().text == "away");
  all.source.fail_next(keyspan::error{errc::throttled, "too much"});
  CHECK(sync_wait(control.reset(whole, from_now)).error().text == "too much");
  view.fail_next(errc::unavailable);
  CHECK(sync_wait(control.reset(whole, from_now)).error().code == errc::unavailable);
  view.next({.only = store_operation::replace,
             .failure = keyspan::error{errc::forbidden, "only owners"}});
  CHECK(sync_wait(control.reset(whole, from_now)).error().text == "only owners");
  CHECK(sync_wait(control.reset(whole, from_now)) == std::size_t{2});
}

TEST_CASE("the example of lease_control reads as it should") {
  numbered_world all{2U};
  auto& source = all.source;
  auto& store = all.store;
  for (int i = 0; i < 20; ++i) write(all, "k" + std::to_string(i));
  auto const first = part_of(all, 0);
  all.handle(first, 1'000);
  // [region: example]
  keyspan::lease_control control{source, store};
  auto const behind = keyspan::sync_wait(control.lag());
  check(behind->size() == 2);
  check(behind->front().changes == 0U && behind->back().changes > 0U);

  // The sink of the first range is to be filled anew, once it is mended.
  check(keyspan::sync_wait(control.pause(first, "the sink is mended")) == std::size_t{1});
  check(keyspan::sync_wait(control.list())->front().paused == "the sink is mended");
  check(keyspan::sync_wait(control.reset(first, keyspan::from_beginning)) == std::size_t{1});
  check(keyspan::sync_wait(control.resume(first)) == std::size_t{1});
  // [end: example]
}

}  // namespace
