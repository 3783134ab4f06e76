// The pieces of docs/guide/sharing_a_feed.md, each of which checks itself: the program ends with 1
// where something is not as the guide says. change_processor.cpp is the whole, with many workers.
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

struct order {
  std::string id, shop;
  int cents = 0;
};
BOOST_HANA_ADAPT_STRUCT(order, id, shop, cents);

using orders = keyspan::memory_container<order, keyspan::cosmos_v2_scheme>;
using settings = keyspan::processor_options<keyspan::token128>;
constexpr auto by_shop = keyspan::documents_container<"/shop">();

namespace {

void write(orders& to, std::string shop, int cents) {
  static int number = 0;
  static_cast<void>(keyspan::sync_wait(
      to.create(order{"order " + std::to_string(++number), std::move(shop), cents})));
}

bool shortest() {
  orders container{keyspan::cosmos_v2, by_shop, {.partitions = 4}};
  write(container, "oslo", 300);
  write(container, "rome", 200);
  write(container, "oslo", 500);
  keyspan::stop_source stop;
  int handled = 0;
  auto const use = [&](order const& one) {
    std::cout << one.shop << " sold for " << one.cents << '\n';
    if (++handled == 3) stop.request_stop();
  };
  // [region: shortest]
  keyspan::steady_loop loop;           // what wakes it; an event loop of yours will do as well
  keyspan::memory_store leases{loop};  // where all hosts find each other: your database
  keyspan::processor worker{
      container,
      leases,
      loop,
      {.host_name = "worker 1", .start = keyspan::from_beginning, .settle_window = 0s}};

  auto const handle = [&](auto& batch) {
    for (auto const& change : batch) use(*change);
  };
  auto const done = loop.complete(worker.run(handle, stop.token()));
  if (!done) std::cout << done.error() << '\n';
  // [end: shortest]
  return done && handled == 3;
}

// A world of virtual time for the rest: hosts, and somebody who looks on.
struct world {
  keyspan::run_loop loop;
  keyspan::manual_clock clock;
  orders container{keyspan::cosmos_v2, by_shop, {.partitions = 2}};
  keyspan::memory_store<keyspan::manual_clock> store{clock};
  keyspan::stop_source stop;

  world() {
    for (std::string const shop : {"oslo", "rome", "bern", "kiev", "lima", "cork"})
      for (int i = 1; i <= 5; ++i) write(container, shop, i * 100);
  }
  // Runs one host, and `story`, at whose end it is stopped.
  template <class Handler, class Story>
  bool run(Handler& handler, settings with, Story story) {
    with.host_name = "worker 1";
    with.start = keyspan::from_beginning;
    keyspan::processor worker{container, store, clock, std::move(with)};
    auto const tell = [&]() -> keyspan::task<bool> {
      auto telling = story(worker);
      bool const is_so = co_await std::move(telling);
      stop.request_stop();
      co_return is_so;
    };
    auto const [done, is_so] =
        loop.complete(when_all(worker.run(handler, stop.token()), tell()), clock);
    return done.has_value() && is_so;
  }
  keyspan::task<> pass(keyspan::instant::duration time) {
    static_cast<void>(co_await wait_for(clock, time));
  }
};

// [region: by_hand]
// Sends many orders at once, in however many pages they came, and says then that they are done.
struct indexer {
  struct entry {
    order what;
    std::uint64_t epoch;
  };

  void process(auto& batch) {
    for (auto const& change : batch) waiting.push_back({*change, batch.epoch()});
    done.push_back(batch.acknowledger());  // outlives the batch
    if (waiting.size() >= 10) flush();
  }
  void close(auto const&, keyspan::close_reason why) {
    if (why != keyspan::close_reason::lease_lost) flush();  // the last chance to say so
  }
  void flush() {
    index(std::exchange(waiting, {}));
    for (auto const& say : std::exchange(done, {})) say();
  }

  std::function<void(std::vector<entry>)> index;
  std::vector<entry> waiting{};
  std::vector<keyspan::acknowledgement> done{};
};
// [end: by_hand]

bool acknowledges_by_hand() {
  world all;
  std::size_t written = 0;
  indexer handler{[&](std::vector<indexer::entry> some) { written += some.size(); }};
  settings with{.checkpointing = keyspan::checkpointing::manual, .max_item_count = 4};
  bool const is_run = all.run(handler, with, [&](auto&) -> keyspan::task<bool> {
    auto passing = all.pass(1min);
    co_await std::move(passing);
    co_return true;
  });
  keyspan::lease_control control{all.container, all.store};
  auto const lag = keyspan::sync_wait(control.lag());
  if (!is_run || !lag || written != 30) return false;
  for (auto const& one : *lag)
    if (one.changes != 0) return false;
  return true;
}

// [region: lanes]
struct totals {
  // The orders of a shop come in their order, those of different shops at the same time.
  std::uint64_t lane_of(auto const& change) { return std::hash<std::string>{}(change->shop); }

  keyspan::task<keyspan::result<void>> process(auto& batch) {
    for (auto const& change : batch)
      if (change->cents == 300) co_return keyspan::fail(keyspan::errc::handler_failed, "300?");
    for (auto const& change : batch) cents[change->shop] += change->cents;
    co_return keyspan::result<void>{};
  }
  // Given up after `most_attempts`: one change, and why. The rest of its batch goes on.
  void park(auto& batch, keyspan::error const& why) {
    std::cout << batch[0]->id << " is put aside: " << why.text.view() << '\n';
    aside.push_back(*batch[0]);
  }

  std::map<std::string, int> cents{};
  std::vector<order> aside{};
};
// [end: lanes]

bool parks_what_fails() {
  world all;
  totals handler;
  // [region: lanes_options]
  settings const with{
      .lanes = 4, .most_attempts = 3, .retry_delay = 1s, .on_poison = keyspan::poison_manner::park};
  // [end: lanes_options]
  bool const is_run = all.run(handler, with, [&](auto&) -> keyspan::task<bool> {
    auto passing = all.pass(1min);
    co_await std::move(passing);
    co_return true;
  });
  for (auto const& [shop, cents] : handler.cents)
    if (cents != 1'200) return false;
  return is_run && handler.cents.size() == 6 && handler.aside.size() == 6;
}

bool watches() {
  world all;
  int handled = 0;
  auto handler = [&](auto& batch) { handled += static_cast<int>(batch.size()); };
  int acquired = 0;
  // [region: on_event]
  settings with;
  with.on_event = [&](keyspan::processor_event const& event) {
    if (event.why != nullptr) std::cout << name_of(event.kind) << ": " << *event.why << '\n';
    if (event.kind == keyspan::processor_event_kind::acquired) ++acquired;
  };
  // [end: on_event]
  bool const is_run = all.run(handler, with, [&](auto& worker) -> keyspan::task<bool> {
    auto passing = all.pass(1min);
    co_await std::move(passing);
    // [region: status]
    auto asking = worker.status();
    auto const status = co_await std::move(asking);
    std::cout << status.counters.items << " changes handled, " << status.counters.failures
              << " failures\n";
    for (auto const& lease : status.leases)
      std::cout << lease.range << ": " << lease.owner_name << ", epoch " << lease.epoch << '\n';

    auto control = worker.control();
    auto counting = control.lag();
    auto const lag = co_await std::move(counting);
    if (!lag) co_return false;
    for (auto const& [lease, changes] : *lag)
      if (changes) std::cout << lease.range << " is " << *changes << " behind\n";
    if (auto const changes = total_lag(*lag)) std::cout << "all are " << *changes << " behind\n";
    // [end: status]
    co_return status.counters.items == 30 && lag->size() == 2;
  });
  return is_run && handled == 30 && acquired == 2;
}

bool is_steered() {
  world all;
  int handled = 0;
  auto handler = [&](auto& batch) { handled += static_cast<int>(batch.size()); };
  return all.run(handler, {}, [&](auto& worker) -> keyspan::task<bool> {
    auto first = all.pass(1min);
    co_await std::move(first);
    int const before = handled;
    // [region: steer]
    auto control = worker.control();
    auto const everything = keyspan::whole_space(keyspan::cosmos_v2);
    auto pausing = control.pause(everything, "the index is rebuilt, ask Ada");
    auto const paused = co_await std::move(pausing);  // how many leases
    // [end: steer]
    auto second = all.pass(1min);
    co_await std::move(second);
    write(all.container, "oslo", 1);
    auto third = all.pass(1min);
    co_await std::move(third);
    bool const is_still = paused.has_value() && *paused == 2 && handled == before;
    auto const wait_a_little = [&] { return all.pass(1s); };
    std::uint64_t floors = 0;
    auto const empty_the_sink = [&](auto const&, std::uint64_t epoch) { floors += epoch; };
    // [region: again]
    auto resetting = control.reset(everything, keyspan::from_beginning);
    auto const reset = co_await std::move(resetting);
    for (;;) {
      auto settling = control.settled(everything);
      auto const leases = co_await std::move(settling);
      if (!leases) {  // not yet
        auto waiting = wait_a_little();
        co_await std::move(waiting);
        continue;
      }
      // From here on it refuses what carries a lower epoch than this, for any key of the range.
      for (auto const& one : *leases) empty_the_sink(one.range, one.facts.epoch);
      break;
    }
    auto resuming = control.resume(everything);
    auto const resumed = co_await std::move(resuming);
    // [end: again]
    auto fourth = all.pass(1min);
    co_await std::move(fourth);
    if (!reset || !resumed || floors != 4) co_return false;
    bool const is_right = is_still && handled == before + 31;
    co_return is_right;
  });
}

}  // namespace

int main() {
  bool is_as_said = true;
  auto const show = [&](std::string_view name, bool is_so) {
    if (!is_so) std::cout << "NOT AS THE GUIDE SAYS: " << name << '\n';
    is_as_said = is_as_said && is_so;
  };
  show("shortest", shortest());
  show("by hand", acknowledges_by_hand());
  show("lanes", parks_what_fails());
  show("watching", watches());
  show("steering", is_steered());
  return is_as_said ? 0 : 1;
}
