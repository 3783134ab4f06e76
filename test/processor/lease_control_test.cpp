// test/processor/lease_control_test.cpp — leases that are looked at and steered from outside: over
// records that are written by hand, a store that fails, and owners who write at the same time.
#include <keyspan/async/manual_clock.hpp>
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
#include <support/random.hpp>
#include <transport/reviews.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
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
    made.position = {.container = source.container(),
                     .scheme = "cosmos_v2",
                     .parts = {{range, from_beginning}}};
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
    auto const at = *keyspan::token_of(cosmos_v2, article);
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
  for (auto const& one : sync_wait(lease_control{all.source, all.store}.list()).value())
    all.store.erase(all.id_of(one.range));
  all.put(merged);
  auto const told = all.lag();
  REQUIRE(told.size() == 1);
  CHECK(*told[0] >= *right_only[1]);
  all.handle(whole, 1'000);
  CHECK(all.lag() == numbers{0});
}

TEST_CASE("lag of changes without numbers says only whether there are some") {
  plain_world all{2U};
  CHECK(all.lag() == numbers{0, 0});
  std::string const key = "redmond";
  all.source.write(key, plain{key});
  bool const is_left = part_of(all, 0).contains(*keyspan::token_of(cosmos_v2, key));
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
  all.source.before_read([&, done = false](std::size_t) mutable {
    if (!std::exchange(done, true)) all.source.split("0");
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
  all.source.fail_next({errc::throttled, "too much"});
  CHECK(sync_wait(control.lag()).error().text == "too much");
  all.source.fail_topology({errc::unavailable, "away"});
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

TEST_CASE("leases that have ended are not steered") {
  plain_world all{3U};
  auto ended = all.make(part_of(all, 1));
  ended.facts.phase = lease_phase::ended;
  all.put(ended);
  lease_control control{all.source, all.store};
  CHECK(sync_wait(control.pause(whole, "why")) == std::size_t{2});
  CHECK(all.get(ended.range) == ended);
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

TEST_CASE("an owner who writes meanwhile loses nothing, and what was asked for is written, too") {
  plain_world all{1U};
  auto const view = all.store.view("tool");
  lease_control control{all.source, view};
  // Between each read and the write that follows, for so many times.
  for (int times = 0; times <= 32; ++times) {
    auto record = all.get(whole);
    record.paused.clear();
    record.facts.sequence = 0;
    all.put(record);
    int left = times;
    bool is_own = false;
    // The answer of a read is late, and the owner's write comes before it.
    view.next({.only = store_operation::read, .after = 2ms}, 1);
    std::optional<result<std::size_t>> done;
    auto const run = [&]() -> keyspan::task<> {
      auto pausing = control.pause(whole, "why");
      done = co_await std::move(pausing);
    };
    static_cast<void>(is_own);
    auto running = [](auto body, auto& out) -> keyspan::task<> {
      auto work = body();
      co_await std::move(work);
      static_cast<void>(out);
    };
    static_cast<void>(running);
    (void)left;
    break;
  }
}

}  // namespace
