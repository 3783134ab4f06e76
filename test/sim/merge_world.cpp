// test/sim/merge_world.cpp — the feeds of some containers as one stream, while they are written,
// answer late or not at all, and their partitions split and merge; left at any item, and gone on
// with from the text of a cursor.
//
// Whoever reads is given everything once, each book in the order in which it was written, and in
// the order of the merge as far as that was there; a union of regions gives the latest of each.
#include <sim/player.hpp>
#include <sim/request_faults.hpp>
#include <sim/world.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>
#include <keyspan/transport/faulty.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::task;

struct note {
  std::string id;
  std::string book;
  int number = 0;
  int written = 0;
  std::size_t region = 0;
};
auto definition() { return keyspan::documents_container(&note::book).with_row_key(&note::id); }

using container = keyspan::memory_container<note, keyspan::cosmos_v2_scheme>;
using faulty = keyspan::faulty<container, keyspan::manual_clock>;
using change = keyspan::change<note>;
using cursor_type = keyspan::merged_cursor<keyspan::token128>;

class library {
 public:
  explicit library(sim::world& in)
      : w{in},
        numbers{in.stream("library")},
        faults{in},
        splitting{in.declare_fault("splits", 100)},
        merging{in.declare_fault("merges", 100)} {
    for (std::size_t i = 1 + numbers.below(3); i > 0; --i) {
      truths.push_back(
          std::make_unique<container>(keyspan::cosmos_v2, definition(), options(truths.size())));
      regions.push_back(
          std::make_unique<faulty>(*truths.back(), clock, faults.chances(numbers, 10)));
    }
    does_split = splitting.strikes();
    does_merge = merging.strikes();
  }

  keyspan::memory_options<note> options(std::size_t region) {
    return {.name = sim::line("region ", region),
            .partitions = 1 + numbers.below(4),
            .seed = numbers(),
            .now =
                [this] {
                  return keyspan::wall_time{std::chrono::duration_cast<std::chrono::milliseconds>(
                      clock.now().time_since_epoch())};
                },
            .page_size = 1 + numbers.below(20)};
  }
  task<> pass(keyspan::instant::duration time) {
    static_cast<void>(co_await clock.wait_until(keyspan::instant_after(clock.now(), time)));
  }
  void write(note one) {
    one.region %= truths.size();
    auto const made = keyspan::sync_wait(truths[one.region]->create(one));
    w.demand(made.has_value(), "a note is written");
    w.note("region ", one.region, ": ", one.id, " in ", one.book, ", number ", one.number);
    all.push_back(std::move(one));
  }

  sim::world& w;
  test::random numbers;
  sim::request_faults faults;
  sim::fault& splitting;
  sim::fault& merging;
  keyspan::manual_clock clock{};
  keyspan::run_loop loop{};
  std::vector<std::unique_ptr<container>> truths{};
  std::vector<std::unique_ptr<faulty>> regions{};
  bool does_split = false;
  bool does_merge = false;
  std::vector<note> all{};
  int busy = 0;  // who writes, or reads what was written
};

task<> write_now_and_then(library& of) {
  auto numbers = of.w.stream("writer");
  for (int i = 0; i < 150; ++i) {
    co_await of.pass(std::chrono::microseconds{numbers.below(4'000)});
    of.write({sim::line("note ", i), sim::line("book ", numbers.below(12)), i, i,
              numbers.below(of.truths.size())});
  }
  --of.busy;
}

// Partitions come and go, also under answers that are on their way.
task<> reshape(library& of) {
  auto numbers = of.w.stream("partitions");
  while (of.busy > 0) {
    co_await of.pass(9ms);
    std::size_t const region = numbers.below(of.truths.size());
    auto const happens = [&of, region, drawn = numbers.fork()]() mutable {
      container& one = *of.truths[region];
      auto const parts = one.partitions();
      auto const at = static_cast<std::size_t>(drawn.below(parts.size()));
      if (of.does_split && parts.size() < 12 && (!of.does_merge || drawn.chance(60))) {
        of.w.note("split ", parts[at].id, one.split(parts[at].id) ? "" : ", which has no room");
      } else if (of.does_merge && at + 1 < parts.size()) {
        of.w.note("merge ", parts[at].id, one.merge(parts[at + 1].id, parts[at].id) ? "" : " not");
      }
    };
    if (numbers.chance(50)) {
      of.regions[region]->during_next(happens);
    } else {
      auto now = happens;
      now();
    }
  }
}

// Reads one merge after another: each goes on where the one before it was left.
template <class Order>
class reader {
 public:
  // What is wrong with one item behind another one of the same round.
  using judge = std::function<bool(change const& before, change const& after)>;

  reader(library& of, std::string name, Order order, judge in_order, bool can_do_without = true)
      : of_{of},
        name_{std::move(name)},
        numbers_{of.w.stream(name_)},
        order_{std::move(order)},
        in_order_{std::move(in_order)},
        can_do_without_{can_do_without} {
    for (auto const& one : of_.regions)
      feeds_.emplace_back(*one, keyspan::feed_request<keyspan::token128>{
                                    .page_size = static_cast<std::uint32_t>(numbers_.below(9))});
  }

  // Until a whole round has begun behind the last thing that was written.
  task<> read() {
    for (bool is_last = false; !is_last;) {
      is_last = of_.busy == 0;
      is_last = co_await round() && is_last;
      co_await of_.pass(3ms);
    }
  }
  std::vector<note> const& given() const { return given_; }

 private:
  // Whether the merge came to its end, with all of its sources.
  task<bool> round() {
    keyspan::merge_options const options{.failure = can_do_without_ && numbers_.chance(30)
                                                        ? keyspan::on_failure::go_on
                                                        : keyspan::on_failure::stop,
                                         .batch_size = 1 + numbers_.below(12),
                                         .reads_ahead = numbers_.chance(70)};
    auto merged = [&] {
      if (kept_.empty()) return merge_async(feeds_, order_, options);
      auto from = cursor_type::from_text(keyspan::cosmos_v2, kept_);
      of_.w.demand(from.has_value(), name_, " reads its cursor");
      return merge_async(feeds_, order_, *std::move(from), options);
    }();
    bool const by_batches = numbers_.chance(40);
    std::size_t left = numbers_.chance(50) ? numbers_.below(40) : 100'000;
    bool const is_whole =
        by_batches ? co_await batches(merged, left) : co_await items(merged, left);
    kept_ = merged.cursor().to_text();
    co_await merged.close();
    return_to_order();
    has_failed_ = false;
    co_return is_whole;
  }
  template <class Merged>
  task<bool> items(Merged& merged, std::size_t left) {
    for (;; --left) {
      auto one = co_await merged.next();
      if (!one) {
        if (!co_await begins_anew(merged)) co_return merged.failures().empty();
      } else if (!one.has_value()) {
        if (!goes_on_behind(one.error())) co_return false;
      } else if (left == 0) {
        co_return false;  // this one comes again
      } else {
        see(*one);
      }
    }
  }
  template <class Merged>
  task<bool> batches(Merged& merged, std::size_t left) {
    for (;;) {
      auto* const batch = co_await merged.next_batch();
      if (batch == nullptr) {
        if (!co_await begins_anew(merged)) co_return merged.failures().empty();
        continue;
      }
      if (!*batch) {
        if (!goes_on_behind(batch->error())) co_return false;
        continue;
      }
      for (change const& one : **batch) see(one);
      left -= std::min(left, (*batch)->size());
      if (left == 0) co_return false;
    }
  }
  // An error is the last result of its round. The merge is asked again, or left.
  bool goes_on_behind(keyspan::error const& why) {
    of_.w.note(name_, " met ", name_of(why.code));
    of_.w.demand(why.code != keyspan::errc::out_of_order, why.text.view());
    has_failed_ = true;
    return numbers_.chance(60);
  }
  template <class Merged>
  task<bool> begins_anew(Merged& merged) {
    return_to_order();
    if (!std::exchange(has_failed_, false)) co_return false;
    co_await of_.pass(2ms);
    merged.again();
    co_return true;
  }
  void return_to_order() { last_.reset(); }
  void see(change const& one) {
    of_.w.note(name_, " was given ", one->id, " of region ", one->region);
    of_.w.demand(seen_.emplace(one->region, one->id).second, name_, " was given ", one->id,
                 " twice");
    if (last_)
      of_.w.demand(in_order_(*last_, one), name_, " was given ", one->id, " behind ", (*last_)->id);
    last_ = one;
    given_.push_back(*one);
  }

  library& of_;
  std::string name_;
  test::random numbers_;
  Order order_;
  judge in_order_;
  bool can_do_without_;  // sources that fail are left out for a round
  std::vector<keyspan::feed<faulty>> feeds_{};
  std::string kept_{};
  std::optional<change> last_{};
  bool has_failed_ = false;  // in this round
  std::set<std::pair<std::size_t, std::string>> seen_{};
  std::vector<note> given_{};
};

// Each thing once, and those of a book as they were written.
template <class Order>
void look_at_all(library const& of, reader<Order> const& by, std::string_view name) {
  of.w.demand(by.given().size() == of.all.size(), name, " was given ", by.given().size(), " of ",
              of.all.size());
  std::map<std::pair<std::size_t, std::string>, int> last;
  for (note const& one : by.given()) {
    auto const [before, is_first] = last.try_emplace({one.region, one.book}, one.number);
    of.w.demand(is_first || before->second < one.number, name, " was given ", one.id,
                " before number ", before->second);
    before->second = one.number;
  }
}

void finish(library& of, std::vector<task<>> lives) {
  if (of.does_split || of.does_merge) lives.push_back(reshape(of));
  auto all = keyspan::when_all(std::move(lives));
  of.loop.complete(std::move(all), of.clock);
  std::size_t struck = 0;
  for (auto const& one : of.regions) struck += one->struck();
  of.w.note("in the end there are ", of.all.size(), ", after ", struck, " faults");
}

void play_live(sim::world& w) {
  library of{w};
  auto const anyhow = [](change const&, change const&) { return true; };
  auto const id = [](change const& one) { return std::string_view{one->id}; };
  reader sorted{of, "who sorts", identified_by(keyspan::ascending(&change::lsn), id),
                [](change const& a, change const& b) { return a.lsn <= b.lsn; }};
  reader timed{of, "who goes by time", identified_by(keyspan::by_time(&change::at), id),
               [&](change const& a, change const& b) { return of.does_merge || a.at <= b.at; }};
  reader in_turn{of, "who goes in turn", identified_by(keyspan::round_robin, id), anyhow};
  reader in_haste{of, "who takes what comes", identified_by(keyspan::as_they_come, id), anyhow};
  std::vector<task<>> lives;
  lives.push_back(write_now_and_then(of));
  ++of.busy;
  lives.push_back(sorted.read());
  lives.push_back(timed.read());
  lives.push_back(in_turn.read());
  lives.push_back(in_haste.read());
  finish(of, std::move(lives));
  look_at_all(of, sorted, "who sorts");
  look_at_all(of, timed, "who goes by time");
  look_at_all(of, in_turn, "who goes in turn");
  look_at_all(of, in_haste, "who takes what comes");
}

// Regions have written some of the same notes, each its own version.
void play_united(sim::world& w) {
  library of{w};
  of.does_merge = false;  // the log of a merged partition is in no order of numbers
  auto numbers = w.stream("writer");
  std::map<std::string, note> latest;
  int number = 0;
  for (int i = 0; i < 80; ++i) {
    number += numbers.chance(40) ? 1 : 0;
    auto const book = sim::line("book ", numbers.below(12));
    for (std::size_t region = 0; region < of.truths.size(); ++region) {
      if (numbers.chance(30)) continue;
      note const one{sim::line("note ", i), book, number, static_cast<int>(numbers.below(4)),
                     region};
      of.write(one);
      auto& kept = latest.try_emplace(one.id, one).first->second;
      if (kept.written < one.written) kept = one;
    }
  }
  reader united{of, "who unites",
                united_by(
                    keyspan::ascending([](change const& one) { return one->number; }),
                    [](change const& one) { return std::string_view{one->id}; },
                    keyspan::last_writer([](change const& one) { return one->written; })),
                [](change const& a, change const& b) { return a->number <= b->number; }, false};
  std::vector<task<>> lives;
  lives.push_back([](library& all, auto& by) -> task<> {
    ++all.busy;
    while (by.given().empty()) co_await all.pass(1ms);
    co_await all.pass(100ms);
    --all.busy;
  }(of, united));
  lives.push_back(united.read());
  finish(of, std::move(lives));

  w.demand(united.given().size() == latest.size(), "of ", latest.size(), " notes ",
           united.given().size(), " were given");
  int before = 0;
  for (note const& one : united.given()) {
    w.demand(one.region == latest.at(one.id).region, one.id, " was given as region ", one.region,
             " has it, and region ", latest.at(one.id).region, " wrote last");
    w.demand(before <= one.number, one.id, " was given behind number ", before);
    before = one.number;
  }
}

void play(sim::world& w) {
  if (w.stream("kind").chance(30)) {
    play_united(w);
  } else {
    play_live(w);
  }
}

sim::registered const merge{
    "merge", "containers merged and united, through splits, merges, faults and new beginnings",
    play};

}  // namespace
