// docs/example/migration_rehearsal.hpp — a migration in memory and in virtual time, while customers
// write, partitions split, and the program that copies is killed again and again. A seed makes the
// same one each time.
#pragma once

#include "migration.hpp"
#include "mortal_container.hpp"

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/json_documents.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace moving {

using namespace std::chrono_literals;

inline key_paths path_of(std::string_view text) { return *key_paths::parse(std::span{&text, 1}); }

struct rehearsal_options {
  std::uint64_t seed = 1;
  int writes = 600;
  int kills = 6;
  /// Programs that copy at the same time.
  int copiers = 1;
  bool sees_removals = false;
  /// Customers whose orders have the same ids, and come together in one city.
  bool has_collisions = false;
  bool has_splits = true;
  std::size_t orders = 44;  ///< as many as there are
  /// At most: between two writes of customers, and for half a step of those who copy.
  std::chrono::milliseconds between_writes{400};
  std::chrono::milliseconds half_step{30};
  std::function<void(std::string_view)> on_event{};
  std::function<void(progress const&)> on_progress{};
};

/// Orders, keyed by customer, that move to a container keyed by city.
class rehearsal {
 public:
  using container = keyspan::memory_container<document, keyspan::cosmos_v2_scheme>;

  explicit rehearsal(rehearsal_options how) : how_{std::move(how)} {}

  /// What the last comparison has found, when all that copied have ended.
  result<verification> run() {
    keyspan::run_loop loop;
    auto copying = [&]() -> task<result<verification>> {
      std::vector<task<result<verification>>> copiers;
      for (int i = 0; i < how_.copiers; ++i) copiers.push_back(copy());
      auto all = when_all(std::move(copiers));
      auto done = co_await std::move(all);
      for (auto const& one : done)
        if (!one) co_return keyspan::unexpected{one.error()};
      if (how_.copiers == 1) co_return done[0];
      auto comparing = last_comparison();
      auto found = co_await std::move(comparing);
      co_return found;
    };
    auto all = when_all(write(), copying());
    auto done = loop.complete(std::move(all), clock_);
    return std::get<1>(std::move(done));
  }

  container& source() noexcept { return orders_; }
  container& target() noexcept { return copies_; }
  int killed() const noexcept { return killed_; }

 private:
  using clock_type = keyspan::manual_clock;

  std::uint64_t below(std::uint64_t bound) {
    random_ += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t mixed = random_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58'476D'1CE4'E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D0'49BB'1331'11EB;
    return (mixed ^ (mixed >> 31)) % bound;
  }
  std::chrono::milliseconds up_to(std::chrono::milliseconds most) {
    return std::chrono::milliseconds{below(static_cast<std::uint64_t>(most.count()))};
  }
  void tell(std::string_view what) const {
    if (how_.on_event) how_.on_event(what);
  }
  template <class Rep, class Period>
  task<> pass(std::chrono::duration<Rep, Period> time) {
    auto waiting = wait_for(clock_, time);
    static_cast<void>(co_await std::move(waiting));
  }
  keyspan::memory_options<document> options(std::string name, std::size_t partitions) {
    keyspan::memory_options<document> made;
    made.name = std::move(name);
    made.partitions = partitions;
    made.seed = how_.seed;
    made.keeps_versions = 24h;
    made.now = [this] {
      return keyspan::wall_time{} +
             std::chrono::floor<std::chrono::milliseconds>(clock_.now().time_since_epoch());
    };
    return made;
  }

  // ---- who writes, and does not stop for anybody -----------------------------------------------

  task<> write() {
    for (int i = 0; i < how_.writes; ++i) {
      write_one(i);
      if (how_.has_splits && i % 97 == 96) split();
      auto passing = pass(up_to(how_.between_writes));
      co_await std::move(passing);
    }
    // What nobody can move is put right by people.
    for (std::size_t i = 0; i < cities_lost_.size(); ++i)
      if (cities_lost_[i]) write_order(i, "bern", how_.writes);
    tell("the customers have stopped writing");
    finish_.request_stop();
  }
  void write_one(int number) {
    auto const which = static_cast<std::size_t>(below(how_.orders));
    constexpr std::string_view cities[]{"oslo", "rome", "bern", "lima"};
    if (below(10) == 0) {
      cities_lost_[which] = false;
      static_cast<void>(orders_.remove(customer_of(which), id_of(which)));
    } else if (number < how_.writes / 3 && below(15) == 0) {
      write_order(which, {}, number);
    } else {
      write_order(which, cities[below(4)], number);
    }
  }
  void write_order(std::size_t which, std::string_view city, int number) {
    document order{{"id", id_of(which)}, {"customer", customer_of(which)}, {"number", number}};
    if (!city.empty()) order["city"] = city;
    cities_lost_[which] = city.empty();
    static_cast<void>(orders_.upsert(std::move(order)));
  }
  static std::string customer_of(std::size_t which) { return "c-" + std::to_string(which % 11); }
  std::string id_of(std::size_t which) const {
    if (how_.has_collisions) return "o-" + std::to_string(which / 11);
    return "o-" + std::to_string(which);
  }
  void split() {
    auto const all = orders_.partitions();
    auto const& one = all[static_cast<std::size_t>(below(all.size()))];
    if (all.size() < 8 && orders_.split(one.id))
      tell("partition " + one.id + " of the source has split");
  }

  // ---- who copies, and is killed ---------------------------------------------------------------

  task<result<verification>> copy() {
    for (;;) {
      bool const is_mortal = killed_ < how_.kills;
      auto living = live(is_mortal);
      auto done = co_await std::move(living);
      if (done || !is_mortal) co_return done;
      ++killed_;
      tell("the program was killed, and is started again");
    }
  }
  // Of what somebody who was held up has written after all.
  task<result<verification>> last_comparison() {
    mover by{orders_, path_of("/customer"), copies_, path_of("/city")};
    for (int i = 0;; ++i) {
      comparison both{orders_, copies_, by};
      auto comparing = both.run();
      auto found = co_await std::move(comparing);
      if (!found || found->repaired == 0 || i == 5) co_return found;
    }
  }
  // Mostly it is quick; some time it is away for longer than it has its leases.
  task<> take_time() {
    auto passing = pass(below(300) == 0 ? 15s : up_to(how_.half_step));
    co_await std::move(passing);
  }
  // [region: kill]
  task<result<verification>> live(bool is_mortal) {
    auto leases = store_.view("copier " + std::to_string(++lives_), clock_);
    keyspan::stop_source killed;
    life own;
    if (is_mortal) own.steps = 1 + below(400);
    own.is_last_done = below(2) == 0;  // and nobody was told
    own.wait = [this] { return take_time(); };
    own.at_end = [&] {
      leases.cut_off();
      killed.request_stop();
    };
    mortal_container to{copies_, own};
    migration_options<keyspan::token128> options;
    options.stop = killed.token();
    options.finish = finish_.token();
    options.goes_on = true;
    options.sees_removals = how_.sees_removals;
    options.poll = 500ms;
    options.small_lag = 5;
    options.on_progress = how_.on_progress;
    options.processing = {.host_name = "copier",
                          .lease_renew_interval = 2s,
                          .lease_acquire_interval = 3s,
                          .lease_expiration_interval = 10s,
                          .feed_poll_delay = 200ms,
                          .max_item_count = 5,
                          .layout_poll_interval = 1s,
                          .settle_window = 0s,
                          .drain_limit = 4s,
                          .store_timeout = 2s,
                          .lanes = 3};
    options.processing.session = keyspan::session_id{below(1'000'000'000)};
    migration all{orders_, path_of("/customer"), to, path_of("/city"), leases, clock_, options};
    auto running = all.run();
    auto found = co_await std::move(running);
    co_return found;
  }
  // [end: kill]

  rehearsal_options how_;
  std::uint64_t random_ = how_.seed;
  clock_type clock_{};
  container orders_{keyspan::cosmos_v2, keyspan::documents_container(path_of("/customer")),
                    options("orders", 2)};
  container copies_{keyspan::cosmos_v2, keyspan::documents_container(path_of("/city")),
                    options("copies", 3)};
  keyspan::memory_store<clock_type> store_{clock_};
  keyspan::stop_source finish_{};
  std::vector<bool> cities_lost_ = std::vector<bool>(how_.orders);  // of which orders
  int killed_ = 0;
  int lives_ = 0;
};

}  // namespace moving
