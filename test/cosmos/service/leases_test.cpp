// test/cosmos/service/leases_test.cpp — leases in a container over a wire: the laws of stores, many
// writers of one record, and fleets of processors that keep their leases there.
#include "client.hpp"

#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_lease_store.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/law/lease_store.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/processor.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::instant;
using keyspan::result;
using keyspan::sync_wait;
using keyspan::task;
using keyspan::when_all;
using keyspan::cosmos::cosmos_lease_store;
using test::client;
using test::good;
using test::numbered;
using test::review;
using test::reviews;
using test::wire;
using test::world;

using versions = std::vector<result<std::string>>;

// Lets the event loop of a wire run in a thread of its own, for who waits with his.
class running {
 public:
  explicit running(wire& over) : thread_{[this, &over] { over.run(until_stopped(over)); }} {}
  running(running const&) = delete;
  running& operator=(running const&) = delete;
  ~running() {
    stop_.request_stop();
    thread_.join();
  }

 private:
  task<int> until_stopped(wire& over) {
    auto waiting = over.clock().wait_until(std::chrono::steady_clock::now() + 1h, stop_.token());
    auto const waited = co_await std::move(waiting);
    co_return waited ? 1 : 0;
  }

  keyspan::stop_source stop_{};
  std::thread thread_;
};

cosmos_lease_store opened(client& by, std::string const& database,
                          keyspan::cosmos::lease_store_options options = {}) {
  return good(by.run(cosmos_lease_store::open(by.in, database, "leases", std::move(options))));
}

TEST_CASE("a container over a wire is a store that keeps all laws") {
  world w{"preconditions"};
  w.make("leases", {"/id"});
  client other{w.service};
  auto store = opened(*w.by, w.name);
  auto seen = opened(other, w.name);
  running const one{w.by->over};
  running const two{other.over};
  auto const found = keyspan::law::check_lease_store(store, seen, {.records = 60});
  INFO(found.to_text().view());
  CHECK(found);
}

// ---- many writers of one record ----------------------------------------------------------------

template <class Write>
versions raced(world& w, std::vector<cosmos_lease_store> const& stores, Write write) {
  std::vector<task<result<std::string>>> contenders;
  for (std::size_t i = 0; i < stores.size(); ++i) contenders.push_back(write(stores[i], i));
  auto const all = [](auto racing) -> task<versions> { co_return co_await std::move(racing); };
  return w.run(all(when_all(std::move(contenders))));
}
// The one that was done; none where there is not exactly one.
std::optional<std::size_t> winner_of(versions const& came, errc others) {
  std::optional<std::size_t> winner;
  for (std::size_t i = 0; i < came.size(); ++i) {
    if (came[i]) {
      if (winner) return std::nullopt;
      winner = i;
    } else {
      INFO(came[i].error().to_text().view());
      CHECK(came[i].error().code == others);
    }
  }
  return winner;
}

TEST_CASE("of sixteen who write one record one wins, each round") {
  world w{"preconditions"};
  w.make("leases", {"/id"});
  std::vector<cosmos_lease_store> stores;
  for (int i = 0; i < 16; ++i) stores.push_back(opened(*w.by, w.name));
  std::vector<std::string> bodies;
  for (int i = 0; i < 16; ++i) bodies.push_back("body " + std::to_string(i));
  keyspan::store_request const within{std::chrono::steady_clock::now() + 1min, {}};
  auto const read = [&] { return good(w.run(stores[0].read("orders.layout", within))); };
  for (int round = 0; round < 3; ++round) {
    auto const created = raced(w, stores, [&](cosmos_lease_store const& in, std::size_t i) {
      return in.create("orders.layout", bodies[i], within);
    });
    auto winner = winner_of(created, errc::already_exists);
    REQUIRE(winner);
    CHECK(read().body == bodies[*winner]);
    CHECK(read().version == *created[*winner]);
    std::string version = *created[*winner];
    for (int again = 0; again < 3; ++again) {
      auto const replaced = raced(w, stores, [&](cosmos_lease_store const& in, std::size_t i) {
        return in.replace("orders.layout", bodies[i], version, within);
      });
      winner = winner_of(replaced, errc::precondition_failed);
      REQUIRE(winner);
      CHECK(read().body == bodies[*winner]);
      version = *replaced[*winner];
    }
    auto const removed = raced(w, stores, [&](cosmos_lease_store const& in, std::size_t) {
      return [](cosmos_lease_store from, std::string of,
                keyspan::store_request how) -> task<result<std::string>> {
        auto removing = from.remove("orders.layout", of, how);
        auto const gone = co_await std::move(removing);
        if (!gone) co_return keyspan::unexpected{gone.error()};
        co_return std::string{};
      }(in, version, within);
    });
    REQUIRE(winner_of(removed, errc::not_found));
    CHECK(test::code_of(w.run(stores[1].read("orders.layout", within))) == errc::not_found);
  }
}

// ---- fleets ------------------------------------------------------------------------------------

// A transport that can be cut, as of a host that has died: what it has asked for is lost.
struct mortal {
  task<result<keyspan::response>> send(keyspan::request what) {
    if (is_dead) co_return keyspan::fail(errc::not_connected, "the host is dead");
    auto sending = to.send(what);
    auto answer = co_await std::move(sending);
    if (is_dead) co_return keyspan::fail(errc::not_connected, "the host is dead");
    co_return answer;
  }

  wire::transport_type& to;
  std::atomic<bool> is_dead{false};
};

// What all hosts have handled.
class ledger {
 public:
  void see(review const& one, std::string const& host, std::uint64_t epoch) {
    std::lock_guard const lock{mutex_};
    if (seen_.insert(one.rating).second) {
      int& last = last_of_[one.article];
      in_order_ = in_order_ && one.rating > last;
      last = one.rating;
    }
    ++by_[host];
    std::uint64_t& known = epochs_[one.article];
    in_order_ = in_order_ && epoch >= known;
    known = epoch;
  }
  bool has(int until) const {
    std::lock_guard const lock{mutex_};
    return seen_.size() == static_cast<std::size_t>(until) && *seen_.rbegin() == until;
  }
  std::size_t size() const {
    std::lock_guard const lock{mutex_};
    return seen_.size();
  }
  std::size_t handled_by(std::string const& host) const {
    std::lock_guard const lock{mutex_};
    auto const found = by_.find(host);
    return found == by_.end() ? 0 : found->second;
  }
  bool in_order() const {
    std::lock_guard const lock{mutex_};
    return in_order_;
  }

 private:
  mutable std::mutex mutex_{};
  std::set<int> seen_{};
  std::map<std::string, int> last_of_{};
  std::map<std::string, std::size_t> by_{};
  std::map<std::string, std::uint64_t> epochs_{};
  bool in_order_ = true;
};

// A host: accounts, a container, a store, a processor, and a thread for its event loop.
class host {
  using account_type = keyspan::cosmos::cosmos_account<mortal, wire::clock_type>;
  using processor_type = keyspan::processor<reviews, cosmos_lease_store, wire::clock_type>;

 public:
  struct place {
    std::string endpoint;
    std::string key;
    std::string database;
  };

  host(std::string name, place const& source, place const& leases, ledger& all)
      : name_{std::move(name)},
        all_{all},
        over_source_{good(keyspan::service_endpoint::parse(source.endpoint))},
        over_leases_{good(keyspan::service_endpoint::parse(leases.endpoint))},
        to_source_{over_source_.transport()},
        to_leases_{over_leases_.transport()},
        source_account_{to_source_, over_source_.clock(),
                        good(keyspan::cosmos::master_key::from(source.key))},
        leases_account_{to_leases_, over_leases_.clock(),
                        good(keyspan::cosmos::master_key::from(leases.key))},
        reviews_{good(over_source_.run(source_account_.open<review>(source.database, "reviews")))},
        store_{good(over_leases_.run(
            cosmos_lease_store::open(leases_account_, leases.database, "leases",
                                     {.scheme = keyspan::any_scheme{keyspan::cosmos_v2}})))},
        processor_{reviews_, store_, over_leases_.clock(), options(name_)},
        source_running_{std::in_place, over_source_},
        thread_{[this] {
          auto const done = over_leases_.run(processor_.run(*this, stop_.token()));
          if (!done) why_ = done.error();
          is_over_ = true;
        }} {}
  host(host const&) = delete;
  host& operator=(host const&) = delete;
  ~host() { end(); }

  std::string const& name() const { return name_; }
  /// Without a word to anybody.
  void die() {
    to_source_.is_dead = true;
    to_leases_.is_dead = true;
  }
  bool is_dead() const { return to_leases_.is_dead; }
  void stop() { stop_.request_stop(); }
  bool is_over() const { return is_over_; }
  void end() {
    if (!thread_.joinable()) return;
    stop();
    thread_.join();
    source_running_.reset();
    if (why_ && !is_dead()) FAIL_CHECK(why_->to_text().view());
  }

  template <class Batch>
  void process(Batch& batch) {
    if (is_dead()) return;
    for (auto const& change : batch) all_.see(*change, name_, batch.epoch());
  }

 private:
  static keyspan::processor_options<keyspan::any_token> options(std::string name) {
    keyspan::processor_options<keyspan::any_token> made;
    made.host_name = std::move(name);
    made.lease_prefix = "orders.";
    made.start = keyspan::from_beginning;
    made.lease_renew_interval = 600ms;
    made.lease_acquire_interval = 1s;
    made.lease_expiration_interval = 3s;
    made.layout_poll_interval = 250ms;
    made.settle_window = 300ms;
    made.leaving_notice = 300ms;
    made.feed_poll_delay = 100ms;
    made.store_timeout = 1500ms;
    made.drain_limit = 1s;
    made.max_item_count = 7;
    return made;
  }

  std::string name_;
  ledger& all_;
  wire over_source_;
  wire over_leases_;
  mortal to_source_;
  mortal to_leases_;
  account_type source_account_;
  account_type leases_account_;
  reviews reviews_;
  cosmos_lease_store store_;
  processor_type processor_;
  keyspan::stop_source stop_{};
  std::atomic<bool> is_over_{false};
  std::optional<keyspan::error> why_{};
  std::optional<running> source_running_;
  std::thread thread_;
};

template <class Condition>
bool soon(Condition holds, std::chrono::seconds within = 40s) {
  auto const late = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > late) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

// How far all leases have come together, by their records, and who owns how many.
struct seen_leases {
  std::map<std::string, std::uint64_t> sequences{};
  std::map<std::string, int> owners{};
};
seen_leases look(client& by, reviews& source, cosmos_lease_store& store) {
  keyspan::lease_control control{source, store, "orders."};
  auto const all = good(by.run(control.list(true)));
  seen_leases made;
  for (auto const& one : all) {
    if (one.facts.phase == keyspan::lease_phase::open) ++made.owners[one.owner_name];
    made.sequences[std::string{one.range.lower().to_hex().view()} + '-' +
                   (one.range.upper().is_space_end()
                        ? std::string{"FF"}
                        : std::string{one.range.upper().at().to_hex().view()})] =
        one.facts.sequence;
  }
  return made;
}

// The life of a fleet: it starts, partitions split, a host dies, another one comes, one leaves.
void live(client& source, std::string const& database, host::place const& source_place,
          client& leases, host::place const& lease_place,
          std::function<void(std::string)> const& control) {
  ledger all;
  reviews in = source.open(database, "reviews");
  auto store = opened(leases, lease_place.database);
  int written = 0;
  // From 1 on, and few articles, so that each has many changes.
  auto const write = [&](int count) {
    for (int i = 0; i < count; ++i) {
      review one = numbered(++written, 12);
      good(source.run(in.create(one)));
    }
  };
  auto const all_handled = [&] {
    bool const they_are = soon([&] { return all.has(written); });
    INFO("handled " << all.size() << " of " << written);
    CHECK(they_are);
    return they_are;
  };
  std::map<std::string, std::uint64_t> sequences;
  auto const positions_have_only_moved_forward = [&] {
    auto now = look(leases, in, store);
    for (auto const& [range, sequence] : now.sequences) CHECK(sequence >= sequences[range]);
    sequences = now.sequences;
  };
  auto const begin = [&](std::string name) {
    return std::make_unique<host>(std::move(name), source_place, lease_place, all);
  };

  write(30);
  auto ada = begin("ada");
  auto bob = begin("bob");
  REQUIRE(all_handled());
  CHECK(soon([&] {
    auto const owners = look(leases, in, store).owners;
    return owners.size() == 2 && owners.contains("ada") && owners.contains("bob");
  }));

  control("split/1");
  write(30);
  REQUIRE(all_handled());
  positions_have_only_moved_forward();

  // What people see of it in the container.
  auto const documents = leases.open<nlohmann::json>(lease_place.database, "leases");
  auto const owned = [&] {
    auto const page = good(leases.run(leases.in.ask(
        keyspan::cosmos::read_documents(documents.address(), keyspan::cosmos::page_target{}))));
    auto const told = good(keyspan::cosmos::json_from(page.body));
    std::size_t count = 0;
    for (auto const& one : told["Documents"]) {
      if (one.value("kind", "") != "lease" || one.value("phase", "") != "open") continue;
      CHECK(one["id"] == "orders.lease." + one["LeaseToken"].get<std::string>());
      if (one["Owner"] == "ada" || one["Owner"] == "bob") ++count;
    }
    return count;
  };
  CHECK(soon([&] { return owned() == 5; }));

  ada->die();
  write(30);
  REQUIRE(all_handled());
  positions_have_only_moved_forward();
  ada->end();

  // Started again it is another session, and has its share again.
  ada = begin("ada again");
  CHECK(soon([&] { return look(leases, in, store).owners.contains("ada again"); }));
  write(30);
  REQUIRE(all_handled());

  bob->stop();
  CHECK(soon([&] { return bob->is_over(); }));
  bob->end();
  CHECK(soon([&] { return !look(leases, in, store).owners.contains("bob"); }));
  write(10);
  REQUIRE(all_handled());
  CHECK(soon([&] {
    auto const owners = look(leases, in, store).owners;
    return owners.size() == 1 && owners.contains("ada again");
  }));
  positions_have_only_moved_forward();
  CHECK(all.handled_by("ada") > 0);
  CHECK(all.handled_by("bob") > 0);
  CHECK(all.handled_by("ada again") > 0);
  CHECK(all.in_order());
  ada->end();
}

TEST_CASE("a fleet keeps its leases where what it handles is") {
  world w{"control"};
  w.make();
  w.make("leases", {"/id"});
  host::place const there{w.service.endpoint(), w.service.key(), w.name};
  live(*w.by, w.name, there, *w.by, there, [&](std::string what) { good(w.run(w.control(what))); });
}

TEST_CASE("a fleet keeps its leases at one service, and handles changes of another") {
  world leases{"preconditions"};
  leases.make("leases", {"/id"});
  test::own_server const own{4};
  std::string const key{test::account_key};
  client source{own.endpoint(), key};
  source.done(keyspan::cosmos::create_database("shop"));
  auto const where = good(keyspan::cosmos::container_address::from("shop", "reviews"));
  std::vector<std::string_view> const paths{"/article"};
  source.done(keyspan::cosmos::create_container(where, good(keyspan::key_paths::parse(paths))));
  auto const control = [&](std::string what) {
    keyspan::request const asked{.method = "POST",
                                 .target = "/_control/dbs/shop/colls/reviews/" + what};
    auto const send = [](client& by, keyspan::request how) -> task<result<keyspan::response>> {
      auto sending = by.over.transport().send(how);
      co_return co_await std::move(sending);
    };
    REQUIRE(good(source.run(send(source, asked))).status < 300);
  };
  live(source, "shop", {own.endpoint(), key, "shop"}, *leases.by,
       {leases.service.endpoint(), leases.service.key(), leases.name}, control);
}

}  // namespace
