// test/sim/fleet_world.cpp — hosts that share the changes of a container through a store of leases,
// while everything goes wrong that can: hosts crash, pause, stop and come again, clocks go
// unevenly, the store is late, silent, stale, throttled or gone, partitions split and merge, and
// handlers are slow, throw, and acknowledge when they like.
//
// At every step: no batch is begun by who has been replaced (I1, I13); an epoch is one owner's
// (I2); positions only go forward, and never beyond what was handled (I4); every change of a key
// comes, none before those that were made before it (I5, I7); leases cover the space once (I6);
// handlers are opened and closed once, and given nothing outside of that (I8). In the end, when
// all faults have healed: every lease is somebody's soon (I9), the shares are even (I10), nothing
// moves any more and the store is left in peace (I11, I12).
#include <sim/player.hpp>
#include <sim/request_faults.hpp>
#include <sim/world.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/transport/faulty.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::instant;
using keyspan::result;
using keyspan::task;

struct note {
  std::string id;
  std::string book;
  std::uint32_t number = 0;
};
auto definition() { return keyspan::documents_container(&note::book).with_row_key(&note::id); }

using container = keyspan::memory_container<note, keyspan::cosmos_v2_scheme>;
using faulty = keyspan::faulty<container, keyspan::manual_clock>;
using store_type = keyspan::memory_store<keyspan::manual_clock>;
using view_type = decltype(std::declval<store_type&>().view(std::string{}));
using token = keyspan::token128;
using range_type = keyspan::token_range<token>;
using record_type = keyspan::lease_record<token>;
using lease_info = keyspan::lease_info<token>;

class fleet;

// Where a host stands still while it is paused, or has crashed.
class gate {
 public:
  struct passing {
    bool await_ready() const noexcept { return of.is_open_; }
    void await_suspend(std::coroutine_handle<> waiting) { of.waiting_.push_back(waiting); }
    void await_resume() const noexcept {}
    gate& of;
  };
  passing pass() noexcept { return {*this}; }
  void shut() { is_open_ = false; }
  void open() {
    is_open_ = true;
    for (auto const one : std::exchange(waiting_, {})) one.resume();
  }
  bool is_open() const { return is_open_; }

 private:
  bool is_open_ = true;
  std::vector<std::coroutine_handle<>> waiting_{};
};

// A clock that goes a little faster or slower than true time, behind a gate.
class host_clock {
 public:
  host_clock(keyspan::manual_clock& of, gate& through, std::int64_t ppm, instant::duration ahead)
      : of_{&of}, through_{&through}, begun_{of.now()}, ppm_{ppm}, ahead_{ahead} {}

  instant now() const {
    auto const passed = of_->now() - begun_;
    return begun_ + ahead_ + passed + passed * ppm_ / 1'000'000;
  }
  task<result<void>> wait_until(instant due, keyspan::stop_token stop) {
    while (now() < due) {
      auto const left = due - now();
      instant const moment = of_->now() + left - left * ppm_ / 1'000'000 + 1ns;
      result<void> const waited = co_await of_->wait_until(moment, stop);
      co_await through_->pass();
      if (!waited) co_return waited;
    }
    if (stop.stop_requested()) co_return keyspan::fail(keyspan::errc::stopped, "stopped");
    co_await through_->pass();
    co_return result<void>{};
  }

 private:
  keyspan::manual_clock* of_;
  gate* through_;
  instant begun_;
  std::int64_t ppm_;
  instant::duration ahead_;
};

// A host's way to the store: deadlines are told in true time.
class host_store {
 public:
  host_store(view_type of, host_clock& by, keyspan::manual_clock& clock, gate& through)
      : of_{std::move(of)}, by_{&by}, clock_{&clock}, through_{&through} {}

  task<result<std::vector<keyspan::stored_record>>> list(std::string_view prefix,
                                                         keyspan::store_request request) {
    auto const told = in_true_time(std::move(request));
    auto answer = co_await of_.list(prefix, told);
    co_await through_->pass();
    co_return answer;
  }
  task<result<keyspan::stored_record>> read(std::string_view id, keyspan::store_request request) {
    auto const told = in_true_time(std::move(request));
    auto answer = co_await of_.read(id, told);
    co_await through_->pass();
    co_return answer;
  }
  task<result<std::string>> create(std::string_view id, std::string_view body,
                                   keyspan::store_request request) {
    auto const told = in_true_time(std::move(request));
    auto answer = co_await of_.create(id, body, told);
    co_await through_->pass();
    co_return answer;
  }
  task<result<std::string>> replace(std::string_view id, std::string_view body,
                                    std::string_view version, keyspan::store_request request) {
    auto const told = in_true_time(std::move(request));
    auto answer = co_await of_.replace(id, body, version, told);
    co_await through_->pass();
    co_return answer;
  }
  task<result<void>> remove(std::string_view id, std::string_view version,
                            keyspan::store_request request) {
    auto const told = in_true_time(std::move(request));
    auto answer = co_await of_.remove(id, version, told);
    co_await through_->pass();
    co_return answer;
  }
  task<result<void>> watch(std::string_view prefix, keyspan::store_request request) {
    auto const told = in_true_time(std::move(request));
    auto answer = co_await of_.watch(prefix, told);
    co_await through_->pass();
    co_return answer;
  }

 private:
  keyspan::store_request in_true_time(keyspan::store_request request) const {
    if (request.deadline) request.deadline = clock_->now() + (*request.deadline - by_->now());
    return request;
  }

  view_type of_;
  host_clock* by_;
  keyspan::manual_clock* clock_;
  gate* through_;
};

// And its way to the container.
class host_source {
 public:
  using scheme_type = faulty::scheme_type;
  using page_type = faulty::page_type;

  host_source(faulty& of, gate& through) : of_{&of}, through_{&through} {}
  std::string const& container() const { return of_->container(); }
  scheme_type scheme() const { return of_->scheme(); }
  task<result<page_type>> read(range_type const& range, keyspan::continuation const& from,
                               keyspan::read_request const& request) {
    auto answer = co_await of_->read(range, from, request);
    co_await through_->pass();
    co_return answer;
  }
  task<result<keyspan::partition_page<token>>> topology(std::string const& known) {
    auto answer = co_await of_->topology(known);
    co_await through_->pass();
    co_return answer;
  }

 private:
  faulty* of_;
  gate* through_;
};
static_assert(keyspan::page_source<host_source> && keyspan::lease_store<host_store> &&
              keyspan::clock<host_clock>);

using options_type = keyspan::processor_options<token>;

// One run of one host.
class host {
 public:
  host(fleet& of, std::string own_name, options_type options, std::int64_t ppm,
       keyspan::store_chances chances, keyspan::fault_chances source_chances);

  task<> live();

  // ---- the handler -------------------------------------------------------------------------

  void open(lease_info const& lease);
  task<result<void>> close(lease_info const& lease, keyspan::close_reason why);
  template <class Batch>
  task<result<void>> process(Batch& batch);
  template <class Batch>
  task<result<void>> park(Batch& batch, keyspan::error why);
  template <class Item>
  std::uint64_t lane_of(Item const& one) {
    return std::hash<std::string>{}(one->book);
  }

  fleet& all;
  std::string name;
  test::random numbers;
  gate door{};
  host_clock clock;
  view_type view;
  host_store store;
  faulty way;
  host_source source;
  keyspan::stop_source stop{};
  options_type options;
  keyspan::processor<host_source, host_store, host_clock> work;
  std::map<std::string, lease_info> opened{};
  unsigned fails = 0;    // percent of batches
  unsigned is_slow = 0;  // percent of batches
  bool is_crashed = false;
  bool is_stopped = false;
  bool is_over = false;
};

class fleet {
 public:
  explicit fleet(sim::world& in)
      : w{in},
        numbers{in.stream("fleet")},
        request_faults{in},
        crashing{in.declare_fault("crashes", 100)},
        pausing{in.declare_fault("pauses", 100)},
        stopping{in.declare_fault("hosts stop", 100)},
        splitting{in.declare_fault("splits", 100)},
        merging{in.declare_fault("merges", 100)},
        cutting{in.declare_fault("cuts", 100)},
        losing{in.declare_fault("store: lost", 100)},
        lating{in.declare_fault("store: late", 100)},
        throttling{in.declare_fault("store: throttled", 100)},
        delaying{in.declare_fault("store: slow", 100)},
        staling{in.declare_fault("store: stale", 100)},
        drifting{in.declare_fault("clocks drift", 100)},
        failing{in.declare_fault("handlers fail", 100)},
        slowing{in.declare_fault("handlers are slow", 100)},
        erasing{in.declare_fault("records are removed", 100)},
        steering{in.declare_fault("people steer", 100)},
        truth{keyspan::cosmos_v2,
              definition(),
              {.name = "notes",
               .partitions = 1 + numbers.below(5),
               .seed = numbers(),
               .page_size = 1 + numbers.below(12)}},
        is_manual{numbers.chance(25)},
        lanes{numbers.chance(30) ? 1 + numbers.below(3) : 1},
        is_per_lease{numbers.chance(40)} {
    clock.advance(1h);
    store.on_write([this](keyspan::store_write const& one) { see_write(one); });
  }

  // ---- what happens ------------------------------------------------------------------------

  // It is said some time later that this was done.
  void keep(keyspan::acknowledgement done, test::random& by) {
    unacknowledged.emplace_back(clock.now() + std::chrono::milliseconds{by.below(400)},
                                std::move(done));
  }
  options_type options(std::string name) {
    options_type made;
    made.host_name = std::move(name);
    made.lease_renew_interval = 2s;
    made.lease_acquire_interval = 3s;
    made.lease_expiration_interval = 10s;
    made.feed_poll_delay = 700ms;
    made.layout_poll_interval = numbers.chance(70) ? 1s : 0s;
    made.settle_window = 500ms;
    made.leaving_notice = numbers.chance(50) ? 1s : 0s;
    made.drain_limit = 4s;
    made.store_timeout = 2s;
    made.place_kept_for = 8s;
    made.retry_delay = 50ms;
    made.longest_retry_delay = 1s;
    made.clock_rate_bound_ppm = 20'000;
    made.liveness = is_per_lease ? keyspan::liveness::per_lease : keyspan::liveness::per_session;
    made.start = keyspan::from_beginning;
    made.checkpointing =
        is_manual ? keyspan::checkpointing::manual : keyspan::checkpointing::automatic;
    made.lanes = lanes;
    made.read_ahead = 1 + numbers.below(3);
    made.on_poison =
        numbers.chance(70) ? keyspan::poison_manner::park : keyspan::poison_manner::halt;
    made.most_attempts = 4;
    if (numbers.chance(30)) made.checkpoint_frequency = {.items = 10, .interval = 2s};
    auto const manner = numbers.below(3);
    made.on_stop = manner == 0   ? keyspan::stop_manner::hand_over
                   : manner == 1 ? keyspan::stop_manner::release
                                 : keyspan::stop_manner::keep_place;
    made.session = keyspan::session_id{numbers() | 1};
    return made;
  }
  keyspan::store_chances store_chances() {
    auto const percent = [&](sim::fault& kind, unsigned most) {
      return kind.strikes() ? static_cast<unsigned>(1 + numbers.below(most)) : 0U;
    };
    keyspan::store_chances made;
    made.throttled = percent(throttling, 15);
    made.lost = percent(losing, 12);
    // What is done late, or twice, brings back what somebody has removed by hand, as it was then.
    if (!erasing.is_on()) {
      made.late = percent(lating, 6);
      made.twice = percent(lating, 6);
    }
    made.longest_lateness = 12s;
    made.delayed = percent(delaying, 90);
    made.longest_delay = 60ms;
    made.stale = percent(staling, 40);
    made.longest_staleness = 2s;
    made.lacking = percent(staling, 10);
    made.repeating = percent(staling, 10);
    made.deaf = numbers.chance(30) ? 100 : 0;
    made.seed = numbers();
    return made;
  }

  void start_host() {
    auto const name = sim::line("host ", hosts.size());
    std::int64_t const ppm = drifting.strikes() ? numbers.between(-20'000, 20'000) : 0;
    hosts.push_back(std::make_unique<host>(*this, name, options(name), ppm, store_chances(),
                                           request_faults.chances(numbers)));
    auto& one = *hosts.back();
    if (failing.strikes()) one.fails = static_cast<unsigned>(1 + numbers.below(25));
    if (slowing.strikes()) one.is_slow = static_cast<unsigned>(1 + numbers.below(6));
    tell(name, " starts as session ", one.options.session.to_text().view());
    spawn(one.live());
  }
  // A course of events that goes on beside the others.
  struct life {
    struct promise_type {
      life get_return_object() {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_never initial_suspend() const noexcept { return {}; }
      std::suspend_never final_suspend() const noexcept { return {}; }
      void return_void() const {}
      void unhandled_exception() const { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
  };
  void spawn(task<> what) {
    ++running;
    begin(std::move(what));
  }
  life begin(task<> what) {
    co_await std::move(what);
    --running;
  }

  std::vector<host*> alive() {
    std::vector<host*> all;
    for (auto const& one : hosts)
      if (!one->is_crashed && !one->is_stopped && !one->is_over) all.push_back(one.get());
    return all;
  }
  task<> pass(instant::duration time) {
    static_cast<void>(co_await clock.wait_until(clock.now() + time));
  }

  // ---- what is demanded ----------------------------------------------------------------------

  template <class... Pieces>
  void tell(Pieces const&... pieces) {
    auto const ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock.now().time_since_epoch() - 1h)
            .count();
    w.note("at ", ms, " ms: ", pieces...);
    if (std::getenv("FLEET")) std::fprintf(stderr, "%s\n", w.last_lines().back().c_str());
  }
  // Where it is found out: inside of what is watched, which catches what is thrown there.
  template <class... Pieces>
  void demand(bool holds, Pieces const&... pieces) {
    if (holds || !wrong.empty()) return;
    wrong = sim::line(pieces...);
    tell("WRONG: ", wrong);
  }
  void see_write(keyspan::store_write const& one);
  void begin_batch(host const& by, lease_info const& lease);
  void see_effect(host const& by, lease_info const& lease, note const& one);
  std::string wrong_cover() const;

  sim::world& w;
  std::string wrong{};
  test::random numbers;
  sim::request_faults request_faults;
  sim::fault& crashing;
  sim::fault& pausing;
  sim::fault& stopping;
  sim::fault& splitting;
  sim::fault& merging;
  sim::fault& cutting;
  sim::fault& losing;
  sim::fault& lating;
  sim::fault& throttling;
  sim::fault& delaying;
  sim::fault& staling;
  sim::fault& drifting;
  sim::fault& failing;
  sim::fault& slowing;
  sim::fault& erasing;
  sim::fault& steering;
  keyspan::manual_clock clock{};
  container truth;
  store_type store{clock};
  bool is_manual;
  std::size_t lanes;
  bool is_per_lease;
  std::vector<std::unique_ptr<host>> hosts{};
  std::size_t running = 0;

  std::map<std::string, std::uint32_t> written{};  // how many of each book
  std::map<std::string, std::uint32_t> next{};     // the first that was not handled
  std::map<std::string, std::uint64_t> sink{};     // the latest epoch that wrote of each book
  std::uint64_t effects = 0;
  std::uint64_t refused = 0;
  bool was_erased = false;
  bool is_quiet = false;  // nothing is written any more
  bool is_done = false;   // nor acknowledged
  std::uint64_t resets = 0;
  instant rests_since = (instant::max)();
  std::size_t writes_at_rest = 0;
  struct begun {
    range_type range;
    std::uint64_t epoch;
    keyspan::session_id session;
  };
  std::vector<begun> latest{};
  struct pause {
    range_type range;
    instant since;
  };
  std::vector<pause> paused{};  // what people have paused, and nobody resumed since
  std::map<std::string, record_type> known{};
  std::vector<std::pair<instant, keyspan::acknowledgement>> unacknowledged{};
};

host::host(fleet& of, std::string own_name, options_type own_options, std::int64_t ppm,
           keyspan::store_chances chances, keyspan::fault_chances source_chances)
    : all{of},
      name{std::move(own_name)},
      numbers{of.w.stream(name)},
      clock{of.clock, door, ppm, std::chrono::seconds{numbers.below(100'000)}},
      view{of.store.view(name, chances)},
      store{view, clock, of.clock, door},
      way{of.truth, of.clock, source_chances},
      source{way, door},
      options{std::move(own_options)},
      work{source, store, clock, [&] {
             options_type told = options;
             told.on_event = [this](keyspan::processor_event const& event) {
               all.tell(name, " ", name_of(event.kind), " ", event.lease, " epoch ", event.epoch,
                        " sequence ", event.sequence,
                        event.why != nullptr
                            ? sim::line(": ", name_of(event.why->code), " ", event.why->text.view())
                            : "");
             };
             return told;
           }()} {}

task<> host::live() {
  result<void> const done = co_await work.run(*this, stop.token());
  all.demand(done.has_value(), name,
             " has failed: ", done ? std::string_view{} : done.error().text.view());
  all.demand(opened.empty(), "I8: ", name, " has left a handler open");
  is_over = true;
  all.tell(name, " is over");
}

void host::open(lease_info const& lease) {
  all.tell(name, " opens ", lease.range.to_text().view(), " in epoch ", lease.epoch);
  all.demand(opened.emplace(lease.id, lease).second, "I8: ", name, " opens twice");
}
// It takes a while, and until then nobody else is let in.
task<result<void>> host::close(lease_info const& lease, keyspan::close_reason why) {
  if (numbers.chance(50))
    static_cast<void>(
        co_await clock.wait_until(clock.now() + std::chrono::milliseconds{numbers.below(200)}, {}));
  all.tell(name, " closes ", lease.range.to_text().view(), ": ", name_of(why));
  // The last chance to say what was done.
  if (numbers.chance(30))
    for (auto const& [moment, done] : std::exchange(all.unacknowledged, {})) done();
  all.demand(opened.erase(lease.id) == 1, "I8: ", name, " closes what is not open");
  co_return result<void>{};
}

template <class Batch>
task<result<void>> host::process(Batch& batch) {
  auto const found = opened.find(batch.lease().id);
  all.demand(found != opened.end() && found->second.epoch == batch.epoch(), "I8: ", name,
             " is given a batch of a lease that is not open");
  all.begin_batch(*this, batch.lease());
  bool const does_fail = numbers.chance(fails);
  bool const is_late = numbers.chance(is_slow);
  auto const time = is_late ? instant::duration{numbers.below(15'000) * 1ms}
                            : instant::duration{numbers.below(30) * 1ms};
  if (is_late && door.is_open() && numbers.chance(30)) {
    // A handler that blocks its thread: nothing else of this host goes on meanwhile.
    door.shut();
    co_await all.pass(time);
    if (!is_crashed) door.open();
    co_await door.pass();
  } else if (time != 0ms) {
    static_cast<void>(co_await clock.wait_until(clock.now() + time, {}));
  }
  if (does_fail) {
    // It has done a part of it, or all of it and even said so.
    auto left = numbers.below(2 * batch.size() + 1);
    bool const is_done = left >= batch.size();
    for (auto const& one : batch)
      if (left != 0) --left, all.see_effect(*this, batch.lease(), *one);
    if (is_done && all.is_manual && numbers.chance(50)) all.keep(batch.acknowledger(), numbers);
    if (numbers.chance(50)) throw std::runtime_error{"the handler is out of order"};
    co_return keyspan::fail(keyspan::errc::handler_failed, "the handler is out of order");
  }
  for (auto const& one : batch) all.see_effect(*this, batch.lease(), *one);
  if (all.is_manual) all.keep(batch.acknowledger(), numbers);
  co_return result<void>{};
}
template <class Batch>
task<result<void>> host::park(Batch& batch, keyspan::error) {
  for (auto const& one : batch) all.see_effect(*this, batch.lease(), *one);
  co_return result<void>{};
}

// Who is replaced begins nothing more; and no epoch is two hosts'.
void fleet::begin_batch(host const& by, lease_info const& lease) {
  auto const session = by.options.session;
  // Owners hear of it when they look next, at the latest where they cannot and lose the lease.
  for (auto const& one : paused)
    demand(was_erased || !overlaps(one.range, lease.range) || clock.now() < one.since + 20s,
           by.name, " begins a batch of ", lease.range.to_text().view(), ", which is paused");
  for (auto const& one : latest) {
    if (!overlaps(one.range, lease.range)) continue;
    demand(one.epoch <= lease.epoch, "I1: ", by.name, " begins a batch of ",
           lease.range.to_text().view(), " in epoch ", lease.epoch, ", and epoch ", one.epoch,
           " has begun one");
    static_cast<void>(session);
  }
  std::erase_if(latest, [&](auto const& one) { return lease.range.contains(one.range); });
  latest.push_back({lease.range, lease.epoch, session});
}
void fleet::see_effect(host const& by, lease_info const& lease, note const& one) {
  ++effects;
  auto& epoch = sink[one.book];
  if (lease.epoch < epoch) {
    ++refused;
    tell("the sink refuses ", one.id, " of ", by.name, ": epoch ", lease.epoch, " is before ",
         epoch);
    return;
  }
  epoch = lease.epoch;
  auto& expected = next[one.book];
  demand(one.number <= expected, "I5, I7: ", by.name, " handles ", one.id, " of ", one.book,
         ", and number ", expected, " was never handled");
  if (one.number == expected) ++expected;
}

void fleet::see_write(keyspan::store_write const& one) {
  if (!one.id.starts_with("lease.")) return;
  if (one.operation == keyspan::store_operation::remove) {
    known.erase(one.id);
    return;
  }
  auto record = record_type::from_text(keyspan::cosmos_v2, one.body);
  demand(record.has_value(), "a record is written that cannot be read: ", one.body);
  auto const before = known.find(one.id);
  if (before != known.end()) {
    auto const& was = before->second.facts;
    auto const& is = record->facts;
    demand(is.epoch == was.epoch || is.epoch == was.epoch + 1, "I2: the epoch of ", one.id,
           " goes from ", was.epoch, " to ", is.epoch);
    demand(is.owner == was.owner || !is.owner || is.epoch == was.epoch + 1, "I2: ", one.id,
           " has a new owner in epoch ", is.epoch);
    // I8: who lets go has closed before.
    for (auto const& by : hosts)
      demand(by->name != one.host || is.owner == was.owner || !by->opened.contains(one.id) ||
                 by->opened.at(one.id).epoch != was.epoch,
             "I8: ", by->name, " lets go of ", one.id, " before its handler is closed");
    demand(is.sequence >= was.sequence, "I4: the position of ", one.id, " goes back from ",
           was.sequence, " to ", is.sequence);
  }
  known.insert_or_assign(one.id, *std::move(record));
  if (one.at >= rests_since) ++writes_at_rest;
  auto const cover = wrong_cover();
  demand(cover.empty(), "I6: ", cover);
}

// What is wrong with the leases that there are, or nothing.
std::string fleet::wrong_cover() const {
  std::vector<record_type> all;
  for (auto const& [id, one] : known) all.push_back(one);
  if (all.empty()) return {};
  auto const obsolete = leases_to_remove<token>(all);
  std::vector<record_type> open;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].facts.phase == keyspan::lease_phase::open &&
        std::find(obsolete.begin(), obsolete.end(), i) == obsolete.end())
      open.push_back(all[i]);
  std::sort(open.begin(), open.end(),
            [](auto const& a, auto const& b) { return a.range < b.range; });
  for (std::size_t i = 1; i < open.size(); ++i)
    if (overlaps(open[i - 1].range, open[i].range))
      return sim::line("two leases cover ", open[i].range.to_text().view());
  auto const whole = whole_space(keyspan::cosmos_v2);
  if (!was_erased && !ranges_without_a_lease<token>(whole, all).empty())
    return "a range is no lease's";
  return {};
}

// ---- the course of things
// --------------------------------------------------------------------------

void write_some(fleet& of, test::random& numbers) {
  for (auto left = 1 + numbers.below(6); left > 0; --left) {
    auto const book = sim::line("book ", numbers.below(14));
    auto& number = of.written[book];
    note const one{sim::line(book, " note ", number), book, number};
    auto const made = keyspan::sync_wait(of.truth.create(one));
    of.demand(made.has_value(), "a note is written");
    ++number;
  }
}

task<> write_now_and_then(fleet& of) {
  auto numbers = of.w.stream("writer");
  while (!of.is_quiet) {
    co_await of.pass(std::chrono::milliseconds{numbers.below(1'500)});
    write_some(of, numbers);
  }
}

// What was handled is acknowledged some time later, in any order.
task<> acknowledge_later(fleet& of) {
  auto numbers = of.w.stream("who acknowledges");
  while (!of.is_done) {
    co_await of.pass(50ms);
    std::vector<keyspan::acknowledgement> due;
    for (auto& [moment, done] : of.unacknowledged) {
      if (moment > of.clock.now()) continue;
      if (numbers.chance(10)) {
        moment += 2s;
        continue;
      }
      due.push_back(done);
    }
    std::erase_if(of.unacknowledged, [&](auto const& one) { return one.first <= of.clock.now(); });
    for (auto const& done : due) done();
  }
}

task<> open_again(fleet& of, host& one, instant::duration time) {
  co_await of.pass(time);
  of.tell(one.name, " goes on");
  if (!one.is_crashed) one.door.open();
}

// What people do: they pause leases, resume them, and set them back.
task<> steer(fleet& of, test::random numbers) {
  keyspan::lease_control control{of.truth, of.store};
  auto const parts = of.truth.partitions();
  range_type const range = parts[static_cast<std::size_t>(numbers.below(parts.size()))].range;
  // Where the store is gone they try again.
  auto const until_done = [&of](auto what) -> task<> {
    for (;;) {
      auto doing = what();
      auto const done = co_await std::move(doing);
      if (done) co_return;
      of.tell("that failed: ", name_of(done.error().code));
      co_await of.pass(700ms);
    }
  };
  if (numbers.below(3) == 0) {
    of.tell("somebody sets ", range.to_text().view(), " back");
    ++of.resets;
    co_await until_done([&] { return control.reset(range, keyspan::from_beginning); });
    co_return;
  }
  of.tell("somebody pauses ", range.to_text().view());
  co_await until_done([&] { return control.pause(range, "we look into it"); });
  of.paused.push_back({range, of.clock.now()});
  co_await of.pass(std::chrono::milliseconds{numbers.below(numbers.chance(50) ? 8'000 : 45'000)});
  of.tell("somebody resumes ", range.to_text().view());
  of.paused.clear();  // a lease may cover what somebody else has paused as well
  co_await until_done([&] { return control.resume(range); });
}

// One thing after the other goes wrong.
task<> trouble(fleet& of) {
  auto numbers = of.w.stream("trouble");
  for (auto left = 6 + numbers.below(14); left > 0; --left) {
    co_await of.pass(std::chrono::milliseconds{200 + numbers.below(6'000)});
    auto alive = of.alive();
    auto const parts = of.truth.partitions();
    auto const at = static_cast<std::size_t>(numbers.below(parts.size()));
    switch (numbers.below(11)) {
      case 0:
        if (of.hosts.size() < 9) of.start_host();
        break;
      case 1:
        if (alive.empty() || !of.crashing.strikes()) break;
        {
          auto& one = *numbers.pick(alive);
          of.tell(one.name, " crashes");
          one.is_crashed = true;
          one.door.shut();
        }
        break;
      case 2:
        if (alive.empty() || !of.pausing.strikes()) break;
        {
          auto& one = *numbers.pick(alive);
          if (!one.door.is_open()) break;
          auto const time =
              std::chrono::milliseconds{numbers.below(numbers.chance(50) ? 2'000 : 30'000)};
          of.tell(one.name, " pauses for ", time.count(), " ms");
          one.door.shut();
          of.spawn(open_again(of, one, time));
        }
        break;
      case 3:
        if (alive.empty() || !of.stopping.strikes()) break;
        {
          auto& one = *numbers.pick(alive);
          of.tell(one.name, " stops");
          one.is_stopped = true;
          one.stop.request_stop();
        }
        break;
      case 4:
        if (of.splitting.strikes() && parts.size() < 12)
          of.tell("split ", parts[at].id,
                  of.truth.split(parts[at].id) ? "" : ", which has no room");
        break;
      case 5:
        if (of.merging.strikes() && at + 1 < parts.size())
          of.tell("merge ", parts[at].id,
                  of.truth.merge(parts[at + 1].id, parts[at].id) ? "" : " not");
        break;
      case 6:
        if (alive.empty() || !of.cutting.strikes()) break;
        {
          auto& one = *numbers.pick(alive);
          auto const how = static_cast<keyspan::store_cut>(numbers.below(3));
          instant const until = of.clock.now() + std::chrono::milliseconds{numbers.below(25'000)};
          of.tell(one.name, " is cut off from the store");
          one.view.cut_off(of.clock.now(), until, how);
        }
        break;
      case 7:
        if (!of.cutting.strikes()) break;
        of.tell("the store is gone for all");
        of.store.cut_off(of.clock.now(),
                         of.clock.now() + std::chrono::milliseconds{numbers.below(15'000)},
                         static_cast<keyspan::store_cut>(numbers.below(3)));
        break;
      case 9:
      case 10:
        if (of.known.empty() || !of.steering.strikes()) break;
        of.spawn(steer(of, numbers.fork()));
        break;
      case 8:
        // Where an ended lease is left, what comes of it is made again from there.
        if (of.known.empty() || !of.erasing.strikes() || !numbers.chance(30) ||
            std::any_of(of.known.begin(), of.known.end(), [](auto const& one) {
              return one.second.facts.phase == keyspan::lease_phase::ended;
            }))
          break;
        {
          auto victim = of.known.begin();
          std::advance(victim, static_cast<std::ptrdiff_t>(numbers.below(of.known.size())));
          std::string const id = victim->first;
          of.tell("somebody removes ", id);
          of.was_erased = true;
          of.store.erase(id);
        }
        break;
    }
  }
}

// All heals: what must come right in the end gets its chance, and a bounded time for it.
task<> course(fleet& of) {
  auto numbers = of.w.stream("course");
  for (auto left = 1 + numbers.below(3); left > 0; --left) of.start_host();
  of.spawn(write_now_and_then(of));
  of.spawn(acknowledge_later(of));
  co_await trouble(of);

  of.w.heal();
  of.store.heal();
  for (auto const& one : of.hosts) {
    one->fails = one->is_slow = 0;
    if (one->is_crashed) continue;
    one->view.heal();
    one->view.chances({});
    one->door.open();
  }
  if (of.alive().empty()) of.start_host();
  of.hosts.back()->view.chances({});
  co_await of.pass(5s);
  of.is_quiet = true;
  if (of.was_erased) co_await of.pass(45s);
  // A record that was removed while its lease was paused has come back as it was.
  keyspan::lease_control control{of.truth, of.store};
  of.paused.clear();
  for (int tries = 1;; ++tries) {
    auto resuming = control.resume(whole_space(keyspan::cosmos_v2));
    auto const resumed = co_await std::move(resuming);
    if (resumed) break;
    of.demand(tries < 60, "a resumption fails: ", resumed.error().text.view());
    co_await of.pass(1s);
  }
  co_await of.pass(65s);

  // I5, I9: everything was handled, and every lease is somebody's who lives.
  auto const alive = of.alive();
  for (auto const& [book, count] : of.written)
    of.demand(of.next[book] == count, "I5, I9: of ", count, " notes of ", book, " only ",
              of.next[book], " were handled in time");
  std::map<std::string, std::size_t> shares;
  for (host* const one : alive) shares[one->name] = 0;
  for (auto const& [id, one] : of.known) {
    of.demand(one.facts.phase == keyspan::lease_phase::open, "I9: ", id, " has ended, and is left");
    of.demand(one.paused.empty(), id, " is paused: ", one.paused);
    of.demand(shares.contains(one.owner_name), "I9: ", id, " of ", one.range.to_text().view(),
              " is of \"", one.owner_name, "\"");
    ++shares[one.owner_name];
  }
  of.demand(of.known.size() == of.truth.partitions().size(), "there are ", of.known.size(),
            " leases for ", of.truth.partitions().size(), " partitions");
  std::size_t most = 0;
  std::size_t least = ~std::size_t{0};
  for (auto const& [name, count] : shares) {
    most = std::max(most, count);
    least = std::min(least, count);
  }
  of.demand(most - least <= 1, "I10: one host has ", most, " leases, and one has ", least);

  // The lag of each lease is told right, whether it was handled or not.
  auto asking = control.lag();
  auto const lags = co_await std::move(asking);
  of.demand(lags.has_value(), "the lag cannot be told");
  if (lags)
    for (auto const& one : *lags)
      of.demand(one.changes == 0U, "the lag of ", one.lease.range.to_text().view(), " is ",
                one.changes.value_or(0));

  // I11, I12: nothing moves any more, and nothing is written but what shows that hosts live.
  of.rests_since = of.clock.now();
  co_await of.pass(20s);
  std::size_t const beats = of.is_per_lease ? of.known.size() * 14 : 0;
  of.demand(of.writes_at_rest <= beats, "I12: at rest there were ", of.writes_at_rest,
            " writes of leases");
  of.rests_since = (instant::max)();
  of.is_done = true;

  // Those that crashed wake up in the end, far behind their deadlines, and touch nothing.
  for (auto const& one : of.hosts) {
    if (one->is_crashed) {
      one->view.cut_off(keyspan::store_cut::refusing);
      one->door.open();
    }
    one->stop.request_stop();
  }
}

// The fleet's time is the world's: whatever is due next happens as an event of it.
void let_time_pass(sim::world& w, fleet& of) {
  if (of.running == 0 || !of.wrong.empty()) return;
  auto const moment = of.clock.next();
  of.demand(moment.has_value(), "nothing goes on any more, and ", of.running, " are not over");
  if (!moment) return;
  auto const since = std::chrono::duration_cast<sim::duration>(moment->time_since_epoch() - 1h);
  w.schedule_at(sim::instant{since}, {}, [&w, &of, moment] {
    of.clock.advance_to(*moment);
    let_time_pass(w, of);
  });
}

void play(sim::world& w) {
  auto of = std::make_unique<fleet>(w);
  w.allow_steps(400'000);
  of->spawn(course(*of));
  let_time_pass(w, *of);
  w.run();
  w.note("effects: ", of->effects, ", refused by the sink: ", of->refused);
  if (of->wrong.empty()) return;
  std::string const wrong = of->wrong;
  static_cast<void>(of.release());  // with all that is in flight
  w.demand(false, wrong);
}

sim::registered const fleet_world{
    "fleet", "hosts that share the changes of a container, through everything that can go wrong",
    play};

}  // namespace
