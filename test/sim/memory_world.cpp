// test/sim/memory_world.cpp — writers and readers of a container in memory, seen through a world in
// which answers are late, lost and refused, and partitions split and merge under them.
//
// Each document has one writer, who learns of a write whose answer was lost by reading it again.
// Whatever was acknowledged is there, and nothing that was not asked for; a batch is there whole or
// not at all; every feed tells of each document's versions in their order and none of them twice,
// and has come to the newest one in the end.
#include <sim/player.hpp>
#include <sim/request_faults.hpp>
#include <sim/world.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/faulty.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::instant;
using keyspan::task;

struct note {
  std::string id;
  std::string book;
  int version = 0;
};
using container = keyspan::memory_container<note, keyspan::cosmos_v2_scheme>;
using faulty = keyspan::faulty<container, keyspan::manual_clock>;

auto definition() { return keyspan::documents_container(&note::book).with_row_key(&note::id); }

class shelf {
 public:
  explicit shelf(sim::world& in)
      : w{in},
        numbers{in.stream("shelf")},
        faults{in},
        reshaping{in.declare_fault("splits and merges", 100)},
        truth{keyspan::cosmos_v2, definition(), options()},
        world{truth, clock, faults.chances(numbers)} {}

  keyspan::memory_options<note> options() {
    return {.partitions = 1 + numbers.below(4),
            .seed = numbers(),
            .now = [this] { return wall(); },
            .page_size = 1 + numbers.below(20)};
  }
  keyspan::wall_time wall() const {
    return keyspan::wall_time{
        std::chrono::duration_cast<std::chrono::milliseconds>(clock.now().time_since_epoch())};
  }

  sim::world& w;
  test::random numbers;
  sim::request_faults faults;
  sim::fault& reshaping;
  keyspan::manual_clock clock{};
  keyspan::run_loop loop{};
  container truth;
  faulty world;
  int writers = 0;
};

// ---- who writes

class writer {
 public:
  writer(shelf& of, int number)
      : of_{of}, name_{sim::line("writer ", number)}, numbers_{of.w.stream(name_)} {
    for (int i = 0; i < 4; ++i)
      documents_.push_back({sim::line(name_, " ", i), sim::line("book ", numbers_.below(8)), 0});
  }

  task<> write() {
    for (int step = 0; step < 40; ++step) {
      note& one = numbers_.pick(documents_);
      auto const due = keyspan::instant_after(of_.clock.now(),
                                              std::chrono::microseconds{numbers_.below(20'000)});
      static_cast<void>(co_await of_.clock.wait_until(due));
      switch (numbers_.below(6)) {
        case 0:
          co_await removed(one);
          break;
        case 1:
          co_await together();
          break;
        default:
          co_await written(one);
      }
    }
    --of_.writers;
  }

  void look_at_all() const {
    for (note const& one : documents_) {
      auto const there = keyspan::sync_wait(of_.truth.read_item(one.book, one.id));
      of_.w.demand(there.has_value() == (one.version > 0), one.id, " is there, or it is not");
      if (there)
        of_.w.demand(there->item->version == one.version, one.id, " is at version ",
                     there->item->version, ", written was ", one.version);
    }
  }

 private:
  // Versions rise for ever, so that whoever reads can tell which one came first.
  task<> written(note& one) {
    note next = one;
    next.version = ++newest_;
    for (;;) {
      auto asked = of_.world.upsert(next);
      auto const answer = co_await std::move(asked);
      if (answer || co_await happened(next)) {
        one = next;
        of_.w.note(one.id, " at version ", one.version);
        co_return;
      }
    }
  }
  task<> removed(note& one) {
    for (;;) {
      auto asked = of_.world.remove(one.book, one.id);
      auto const answer = co_await std::move(asked);
      if (answer || answer.error().code == errc::not_found) {
        one.version = 0;
        of_.w.note(one.id, " is removed");
        co_return;
      }
    }
  }
  // All documents of one book, or none.
  task<> together() {
    std::string const book = documents_[0].book;
    keyspan::item_batch<note> work{book};
    std::vector<note> next = documents_;
    int const version = ++newest_;
    for (note& one : next) {
      if (one.book != book) continue;
      one.version = version;
      work.upsert(one);
    }
    for (;;) {
      auto asked = of_.world.execute(work);
      auto const answer = co_await std::move(asked);
      if (answer) of_.w.demand(answer->is_done(), "nothing in the batch can fail");
      if (answer || co_await happened(next[0])) {
        documents_ = next;
        of_.w.note(name_, " has written a batch at version ", version);
        co_return;
      }
    }
  }
  // Whether a write whose answer did not come was done.
  task<bool> happened(note const& wanted) {
    for (;;) {
      auto asked = of_.world.read_item(wanted.book, wanted.id);
      auto const answer = co_await std::move(asked);
      if (answer) co_return answer->item->version == wanted.version;
      if (answer.error().code == errc::not_found) co_return false;
    }
  }

  shelf& of_;
  std::string name_;
  test::random numbers_;
  std::vector<note> documents_;
  int newest_ = 0;
};

// ---- who reads

class reader {
 public:
  reader(shelf& of, int number)
      : of_{of},
        name_{sim::line("reader ", number)},
        numbers_{of.w.stream(name_)},
        changes_{of.world, {.page_size = static_cast<std::uint32_t>(numbers_.below(12))}} {}

  task<> read() {
    bool is_last = false;
    while (!is_last) {
      is_last = of_.writers == 0;
      bool const is_whole = co_await drained();
      is_last = is_last && is_whole;
      auto const due = keyspan::instant_after(of_.clock.now(), 5ms);
      static_cast<void>(co_await of_.clock.wait_until(due));
    }
  }

  void look_at_all() const {
    std::size_t there = 0;
    for (auto const& [id, last] : seen_) {
      auto const now = keyspan::sync_wait(of_.truth.read_item(last->book, last->id));
      if (!now) continue;  // a removal is not told
      ++there;
      of_.w.demand(now->item == last, name_, " has not seen the newest version of ", id);
    }
    of_.w.demand(there == of_.truth.size(), name_, " has seen ", there, " of ", of_.truth.size());
  }

 private:
  // Whether each range has answered that nothing is new.
  task<bool> drained() {
    auto stream = changes_.stream();
    for (;;) {
      auto* const page = co_await stream.next_page();
      if (page == nullptr) co_return true;
      if (!*page) {
        of_.w.note(name_, " met ", name_of(page->error().code));
        co_return false;
      }
      for (auto const& one : (*page)->items) see(one);
    }
  }
  void see(keyspan::change<note> const& one) {
    auto& last = seen_[one->id];
    of_.w.demand(!last || last->version < one->version, name_, " was told of ", one->id,
                 " at version ", one->version, " behind ", last ? last->version : 0);
    last = one.item;
  }

  shelf& of_;
  std::string name_;
  test::random numbers_;
  keyspan::feed<faulty> changes_;
  std::map<std::string, keyspan::stored<note>> seen_{};
};

// Partitions come and go, also under answers that are on their way.
task<> reshape(shelf& of) {
  auto numbers = of.w.stream("partitions");
  while (of.writers > 0) {
    auto const due = keyspan::instant_after(of.clock.now(), 12ms);
    static_cast<void>(co_await of.clock.wait_until(due));
    auto const change = [&of, drawn = numbers.fork()]() mutable {
      auto const all = of.truth.partitions();
      auto const at = static_cast<std::size_t>(drawn.below(all.size()));
      if (all.size() < 9 && drawn.chance(60)) {
        of.w.note("split ", all[at].id, of.truth.split(all[at].id) ? "" : ", which has no room");
      } else if (at + 1 < all.size()) {
        of.w.note("merge ", all[at].id, of.truth.merge(all[at + 1].id, all[at].id) ? "" : " not");
      }
    };
    if (numbers.chance(50)) {
      of.world.during_next(change);
    } else {
      auto now = change;
      now();
    }
  }
}

void play(sim::world& w) {
  shelf of{w};
  std::vector<std::unique_ptr<writer>> writers;
  std::vector<std::unique_ptr<reader>> readers;
  std::vector<task<>> lives;
  for (int i = 0; i < 3; ++i) {
    writers.push_back(std::make_unique<writer>(of, i));
    lives.push_back(writers.back()->write());
    ++of.writers;
  }
  for (int i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<reader>(of, i));
    lives.push_back(readers.back()->read());
  }
  if (of.reshaping.strikes()) lives.push_back(reshape(of));
  auto all = keyspan::when_all(std::move(lives));
  of.loop.complete(std::move(all), of.clock);

  for (auto const& one : writers) one->look_at_all();
  for (auto const& one : readers) one->look_at_all();
  w.note("in the end there are ", of.truth.size(), " in ", of.truth.partitions().size(),
         " partitions, after ", of.world.struck(), " faults");
}

sim::registered const memory{
    "memory", "a container in memory, written and read through splits, merges and faults", play};

}  // namespace
