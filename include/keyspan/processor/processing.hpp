// keyspan/processor/processing.hpp — one host at work: the leases it knows, and what it does of
// them.
//
//   look around    members, leases  -->  plan  -->  wanted, given
//   lease machine  -->  write, read back, open, stop reading, cancel
//   lease_work     read ahead, handle, acknowledge  -->  position
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/plan.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/first_leases.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/lease_work.hpp>
#include <keyspan/processor/membership.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/processor/roster.hpp>
#include <keyspan/processor/strand.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace keyspan {

/// How one lease stands, as one host sees it: one that has not ended.
template <token Token>
struct lease_status {
  std::string id{};
  token_range<Token> range;
  lease_state state{};
  lease_phase phase{};
  session_id owner{};
  std::string owner_name{};
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  /// Why nobody handles it; empty where that is not so.
  std::string paused{};
  /// How many changes are not handled, as far as this host knows; none where it does not.
  std::optional<std::uint64_t> lag{};
  /// How many batches were read, and are not acknowledged or behind one that is not.
  std::size_t unacknowledged = 0;
};

namespace detail {

// Tells of a request to stop, once, from whatever thread.
class stop_teller {
  struct telling {
    stop_teller* to;
    void operator()() const noexcept { to->wake(); }
  };

 public:
  explicit stop_teller(stop_token stop) : stop_{std::move(stop)} {}
  void begin(completer<void> done) {
    if (is_told_.load()) {
      done();
      return;
    }
    done_.emplace(std::move(done));
    on_stop_.emplace(stop_, telling{this});
  }
  void wake() {
    if (!is_told_.exchange(true) && done_) (*done_)();
  }

 private:
  stop_token stop_;
  std::optional<completer<void>> done_{};
  std::atomic<bool> is_told_{false};
  std::optional<stop_callback<telling>> on_stop_{};
};

template <page_source Source, lease_store Store, clock Clock, class Handler>
class processing final : membership_listener {
  using work_type = lease_work<Source, Clock, Handler>;

 public:
  using token_type = token_of_source<Source>;
  using batch_type = typename work_type::batch_type;
  using item_type = typename work_type::item_type;
  using options_type = processor_options<token_type>;

  processing(Source& source, Store& store, Clock& clock, options_type const& options,
             Handler& handler)
      : source_{source}, store_{store}, host_{clock, options}, setting_{host_, source, handler} {}

  strand& inside() noexcept { return host_.inside; }
  processor_counters const& counters() const noexcept { return host_.counters; }
  session_id session() const noexcept { return host_.terms.session; }
  std::vector<lease_status<token_type>> status() const {
    std::vector<lease_status<token_type>> all;
    for (auto const& [id, one] : leases_) {
      auto const& facts = one->record.facts;
      if (facts.phase != lease_phase::open) continue;
      all.push_back({id, one->record.range, one->machine.state(), facts.phase, facts.owner,
                     one->record.owner_name, facts.epoch, facts.sequence, one->record.paused,
                     one->work ? one->work->lag() : one->lag,
                     one->work ? one->work->unacknowledged() : 0});
    }
    return all;
  }

  // ---- from the beginning to the end ---------------------------------------------------------

  task<result<void>> run(stop_token stop) {
    co_await host_.inside.enter();
    stop_teller on_stop{std::move(stop)};
    host_.group.spawn(wait_for_stop(on_stop));
    host_.group.spawn(ring_alarms());
    auto begun = co_await begin();
    has_begun_ = true;
    if (begun && host_.asking.stop_requested()) host_.asking = stop_source{};
    if (begun) {
      host_.group.spawn(look_around());
      if constexpr (watchable_lease_store<Store>) host_.group.spawn(watch_layout());
      while (!host_.is_stopping) co_await changed_.wait();
      co_await wind_up();
    }
    host_.is_over = true;
    on_stop.wake();
    look_now_.notify();
    changed_.notify();
    rearmed_.notify();
    setting_.inbox->end();
    host_.asking.request_stop();
    alarm_.request_stop();
    auto joined = host_.group.join();
    co_await std::move(joined);
    co_await host_.inside.leave();
    if (!begun) co_return unexpected{begun.error()};
    co_return result<void>{};
  }

 private:
  using record_type = lease_record<token_type>;
  using range_type = token_range<token_type>;
  using facts_kind = lease_event_kind;

  // A lease that is known.
  struct lease final : lease_keeper<token_type>, std::enable_shared_from_this<lease> {
    lease(processing& by, std::string name, record_type first, std::uint64_t numbers)
        : host{by}, id{std::move(name)}, record{first}, machine{numbers}, sent{std::move(first)} {}

    bool may_go_on() override {
      if (machine.handles(host.host_.now())) return true;
      host.step(this->shared_from_this(), {.kind = facts_kind::deadline});
      return false;
    }
    instant deadline() const override { return machine.situation().deadline; }
    void take(work_progress<token_type> const& progress) override {
      weigh(progress.items);
      told_sequence = progress.sequence;
      told_at = progress.at;
      if (progress.attempts) attempts = progress.attempts;
      host.step(this->shared_from_this(),
                {.kind = facts_kind::acknowledged, .sequence = told_sequence});
    }
    void see_partitions(std::vector<range_type> parts) override {
      host.see_partitions(this->shared_from_this(), std::move(parts));
    }
    void halt(error const& why) override {
      tell(processor_event_kind::halted, &why);
      halted = std::string{why.text.empty() ? meaning_of(why.code) : why.text.view()};
    }
    void tell(processor_event_kind kind, error const* why) override { host.tell(kind, *this, why); }
    void rearm(instant due) override { host.rearm(this->shared_from_this(), due); }
    void has_ended() override { host.finish(this->shared_from_this()); }

    // Its share of the work, in changes a second, over the last minute or so.
    void weigh(std::size_t items) {
      instant const at = host.host_.now();
      double const seconds = std::chrono::duration<double>(at - weighed_at).count();
      weighed_at = at;
      if (seconds <= 0) return;
      double const share = seconds / (seconds + 60);
      weight += (static_cast<double>(items) / seconds - weight) * share;
    }
    bool is_own() const noexcept {
      auto const state = machine.state();
      return state != lease_state::unknown && state != lease_state::watching &&
             state != lease_state::ended;
    }
    // Until when it is held; the end of time where it is not.
    instant held_until() const {
      auto const state = machine.state();
      bool const may_be_held = state >= lease_state::active && state <= lease_state::ending;
      return may_be_held && deadline() != instant{} ? deadline() : (instant::max)();
    }
    instant next_due() const {
      instant const first = (std::min)({held_until(), next_beat, overdue_at});
      return work ? (std::min)(first, work->next_checkpoint()) : first;
    }

    processing& host;
    std::string id;
    record_type record;
    std::string version{};
    lease_machine machine;
    record_type sent;  // what is in flight
    bool is_reading_back = false;
    bool is_looking = false;  // a single record is being read
    bool is_listed = false;
    bool is_held_up = false;  // it is to be merged, and another one of those is paused
    std::shared_ptr<work_type> work{};
    std::vector<range_type> children{};
    std::optional<composite_cursor<token_type>> reset{};
    std::uint64_t told_sequence = 0;
    std::vector<cursor<token_type>> told_at{};
    instant next_beat = (instant::max)();
    instant overdue_at = (instant::max)();
    instant rings_at = (instant::max)();
    // What is not written yet.
    std::optional<lease_attempts> attempts{};
    std::string halted{};
    std::optional<instant> ended_since{};
    std::optional<instant> waits_since{};
    double weight = 0;
    instant weighed_at{};
    std::optional<std::uint64_t> lag{};
  };
  using lease_ptr = std::shared_ptr<lease>;

  instant now() const { return host_.now(); }
  void tell(processor_event_kind kind, lease const& about, error const* why = nullptr,
            session_id other = {}) const {
    host_.tell(kind, about.id, about.record.range, about.record.facts, why, other);
  }
  std::string id_of(range_type const& range) const {
    return host_.ids.lease(source_.scheme().name(), range);
  }
  std::vector<lease_ptr> all_leases() const {
    std::vector<lease_ptr> all;
    for (auto const& [id, one] : leases_) all.push_back(one);
    return all;
  }
  // Of one that was forgotten meanwhile nothing is to be heard any more.
  bool is_known(lease_ptr const& one) const {
    auto const known = leases_.find(one->id);
    return known != leases_.end() && known->second == one;
  }

  // ---- waiting -------------------------------------------------------------------------------

  task<> wait_for_stop(stop_teller& on_stop) {
    co_await completion_of<void>([&](completer<void> done) { on_stop.begin(std::move(done)); });
    co_await host_.inside.enter();
    host_.is_stopping = true;
    if (!has_begun_) host_.asking.request_stop();
    changed_.notify();
  }

  // One who waits for the next moment at which something is due.
  task<> ring_alarms() {
    while (!host_.is_over) {
      alarm_at_ = (std::min)(member_.next_beat(), look_at_);
      if (!alarms_.empty()) alarm_at_ = (std::min)(alarm_at_, alarms_.begin()->first);
      if (alarm_at_ <= now()) {
        ring();
        continue;
      }
      if (alarm_at_ == (instant::max)()) {
        co_await rearmed_.wait();
        continue;
      }
      alarm_ = stop_source{};
      static_cast<void>(co_await host_.clock.wait_until(alarm_at_, alarm_.token()));
      co_await host_.inside.enter();
    }
  }
  // Something is due earlier than it was.
  void rearm(instant due) {
    if (due >= alarm_at_) return;
    alarm_at_ = due;
    alarm_.request_stop();
    rearmed_.notify();
  }
  void rearm(lease_ptr const& one, instant due) {
    if (due >= one->rings_at) return;
    alarms_.erase({one->rings_at, one->id});
    one->rings_at = due;
    alarms_.insert({due, one->id});
    rearm(due);
  }
  void ring() {
    instant const at = now();
    if (member_.next_beat() <= at) member_.beat();
    if (look_at_ <= at) {
      look_at_ = (instant::max)();
      is_look_due_ = true;
      look_now_.notify();
    }
    while (!alarms_.empty() && alarms_.begin()->first <= at) {
      auto const [due, id] = *alarms_.begin();
      alarms_.erase(alarms_.begin());
      auto const found = leases_.find(id);
      // It may be of one that was known under this id before.
      if (found == leases_.end() || found->second->rings_at != due) continue;
      lease_ptr const one = found->second;
      one->rings_at = (instant::max)();
      ring(one, at);
      if (is_known(one)) rearm(one, one->next_due());
    }
  }
  void ring(lease_ptr const& one, instant at) {
    if (one->held_until() <= at) step(one, {.kind = facts_kind::deadline});
    if (one->next_beat <= at) {
      one->next_beat = instant_after(at, host_.jittered(host_.options.lease_renew_interval));
      step(one, {.kind = facts_kind::beat_due});
    }
    if (one->overdue_at <= at) {
      one->overdue_at = (instant::max)();
      tell(processor_event_kind::handler_overdue, *one);
      step(one, {.kind = facts_kind::drain_overdue});
    }
    if (one->work && one->work->next_checkpoint() <= at) one->work->checkpoint();
  }

  // ---- the host's own record -----------------------------------------------------------------

  void has_beaten(bool is_first) override {
    if (is_first) {
      joined_at_ = now();
      bump_layout();
    }
    rearm(member_.next_beat());
    for (auto const& one : all_leases()) step(one, {.kind = facts_kind::session_beaten});
  }
  void has_lost_session() override {
    for (auto const& one : all_leases()) step(one, {.kind = facts_kind::session_lost});
  }
  void has_left() override { changed_.notify(); }

  // The record that all hosts look at has another number from here on.
  void bump_layout() {
    wants_bump_ = true;
    if (!is_bumping_) host_.group.spawn(bump());
    is_bumping_ = true;
  }
  task<> bump() {
    std::string const id = host_.ids.layout();
    for (std::uint32_t failures = 0; wants_bump_ && !host_.is_over;) {
      wants_bump_ = false;
      ++host_.counters.reads;
      auto found = co_await store_.read(id, host_.request());
      co_await host_.inside.enter();
      result<std::string> done{std::string{}};
      if (found) {
        auto const before = layout_record::from_text(found->body);
        layout_record next;
        next.number = (before ? before->number : layout_number_) + 1;
        std::string const body = next.to_text();
        ++host_.counters.writes;
        done = co_await store_.replace(id, body, found->version, host_.request());
        co_await host_.inside.enter();
      } else {
        done = unexpected{found.error()};
      }
      if (done || done.error().code == errc::not_found) continue;
      wants_bump_ = true;
      if (done.error().code == errc::precondition_failed) continue;
      auto waiting = host_.back_off(++failures, done.error());
      co_await std::move(waiting);
    }
    is_bumping_ = false;
  }

  // ---- leases: what the machine is told, and what it orders ------------------------------------

  struct seen_record {
    record_type record;
    std::string version;
  };

  void step(lease_ptr const& one, lease_event event, seen_record const* seen = nullptr) {
    if (!is_known(one)) return;
    event.now = now();
    if (seen != nullptr) event.record = seen->record.facts;
    auto const before = one->machine.state();
    auto const effects = one->machine.step(event, host_.terms);
    if (effects.adopts && seen != nullptr) {
      one->record = seen->record;
      one->version = seen->version;
    }
    auto const state = one->machine.state();
    if (event.kind == facts_kind::written && seen != nullptr) {
      if (one->attempts == seen->record.attempts) one->attempts.reset();
      if (one->halted == seen->record.paused) one->halted.clear();
    }
    if (!one->is_own()) {
      one->attempts.reset();
      one->halted.clear();
    }
    if (effects.writes) order_write(one, effects.facts);
    if (effects.reads_back) order_read_back(one);
    if (effects.opens) open(one);
    if (effects.stops_reading) close_soon(one);
    if (effects.cancels) cancel(one);
    if (effects.restores) {
      bury(*one, effects.facts);
    } else if (effects.forgets) {
      bury(*one);
    }
    if (effects.forgets) leases_.erase(one->id);
    if (state != before) {
      tell_change(one, before);
      if (!one->is_own()) one->next_beat = one->overdue_at = (instant::max)();
    }
    if (effects.adopts && (state == lease_state::active || state == lease_state::draining))
      heed_requests(one);
    if (!effects.forgets) rearm(one, one->next_due());
  }
  void tell_change(lease_ptr const& one, lease_state before) {
    using enum lease_state;
    auto const state = one->machine.state();
    if (state == lost) {
      ++host_.counters.lost;
      tell(processor_event_kind::lost, *one);
    } else if (before == releasing && state == watching) {
      bool const is_given = static_cast<bool>(one->record.facts.owner);
      if (is_given) ++host_.counters.handed_over;
      tell(is_given ? processor_event_kind::handed_over : processor_event_kind::released, *one,
           nullptr, one->record.facts.owner);
      bump_layout();
    } else if (state == ended && before == ending) {
      tell(processor_event_kind::ended, *one);
      bump_layout();
      look_soon();
    }
  }

  // The record with new facts, and with what goes with them.
  record_type record_with(lease const& one, lease_facts const& facts) const {
    record_type made = one.record;
    bool const is_acquired = one.machine.situation().write == lease_write::acquire;
    if (is_acquired) {
      // Whoever held it has died of it, for all that is known.
      std::uint32_t const before =
          made.attempts.sequence == facts.sequence ? made.attempts.count : 0;
      if (made.facts.owner) made.attempts = {facts.sequence, before + 1};
    }
    if (facts.sequence == one.told_sequence && facts.sequence != made.facts.sequence)
      made.position.parts = one.told_at;
    if (one.attempts) made.attempts = *one.attempts;
    if (!one.halted.empty()) made.paused = one.halted;
    if (one.machine.situation().write != lease_write::acquire) made.weight = one.weight;
    made.facts = facts;
    made.owner_name = facts.owner == host_.terms.session ? host_.options.host_name : std::string{};
    switch (one.machine.situation().write) {
      case lease_write::end:
        made.children = one.children;
        break;
      case lease_write::leave:
        if (one.reset && made.reset == one.reset) made.reset.reset();
        break;
      default:
        break;
    }
    return made;
  }
  void order_write(lease_ptr const& one, lease_facts const& facts) {
    one->sent = record_with(*one, facts);
    one->is_reading_back = false;
    host_.group.spawn(write_lease(one, facts.stamp.number, one->version, one->sent.to_text()));
  }
  bool is_awaited(lease const& one, std::uint64_t number) const {
    auto const& at = one.machine.situation();
    return !host_.is_over && at.write != lease_write::none && at.numbers == number;
  }
  task<> write_lease(lease_ptr one, std::uint64_t number, std::string version, std::string body) {
    for (std::uint32_t failures = 1;; ++failures) {
      auto const& at = one->machine.situation();
      bool const is_too_late = at.deadline != instant{} && !one->machine.holds(now());
      if (!is_awaited(*one, number)) co_return;
      if (is_too_late) {
        step(one, {.kind = facts_kind::unanswered, .number = number});
        co_return;
      }
      ++host_.counters.writes;
      auto answer = co_await store_.replace(one->id, body, version, host_.request());
      co_await host_.inside.enter();
      if (!is_awaited(*one, number)) co_return;
      if (answer) {
        seen_record const seen{one->sent, *std::move(answer)};
        if (seen.record.facts.sequence != one->record.facts.sequence)
          host_.tell(processor_event_kind::checkpointed, one->id, one->record.range,
                     seen.record.facts);
        step(one, {.kind = facts_kind::written, .number = number}, &seen);
        co_return;
      }
      auto const code = answer.error().code;
      if (code == errc::precondition_failed) {
        ++host_.counters.refused;
        auto asking = read_lease(one, number, true);
        co_await std::move(asking);
        co_return;
      }
      if (code == errc::not_found) {
        step(one, {.kind = facts_kind::vanished, .number = number});
        co_return;
      }
      tell(processor_event_kind::store_failed, *one, &answer.error());
      if (!was_not_done(code)) {
        step(one, {.kind = facts_kind::unanswered, .number = number});
        co_return;
      }
      auto waiting = host_.back_off(failures, answer.error());
      co_await std::move(waiting);
    }
  }
  void order_read_back(lease_ptr const& one) {
    if (one->is_reading_back) return;
    one->is_reading_back = true;
    host_.group.spawn(read_lease(one, one->machine.situation().numbers, true));
  }
  // Reads one record until it is answered, and tells what it shows of a write, or that it is there.
  task<> read_lease(lease_ptr one, std::uint64_t number, bool is_answer) {
    for (std::uint32_t failures = 1;; ++failures) {
      if (host_.is_over || (is_answer && !is_awaited(*one, number))) break;
      ++host_.counters.reads;
      auto answer = co_await store_.read(one->id, host_.request());
      co_await host_.inside.enter();
      if (host_.is_over || (is_answer && !is_awaited(*one, number))) break;
      if (!answer && answer.error().code != errc::not_found) {
        auto waiting = host_.back_off(failures, answer.error());
        co_await std::move(waiting);
        continue;
      }
      one->is_reading_back = false;
      one->is_looking = false;
      lease_event told{.kind = is_answer ? facts_kind::vanished : facts_kind::missing,
                       .number = number};
      if (answer) {
        auto record = record_type::from_text(source_.scheme(), answer->body);
        if (!record) {
          tell(processor_event_kind::store_failed, *one, &record.error());
          auto waiting = host_.back_off(7, record.error());
          co_await std::move(waiting);
          continue;
        }
        seen_record const seen{*std::move(record), std::move(answer->version)};
        bool const is_ours = seen.record.facts.stamp == lease_stamp{host_.terms.session, number};
        told.kind = !is_answer ? facts_kind::listed
                    : is_ours  ? facts_kind::written
                               : facts_kind::refused;
        step(one, told, &seen);
      } else {
        step(one, told);
      }
      co_return;
    }
    one->is_reading_back = false;
    one->is_looking = false;
  }
  // A record that is gone: removed by hand, or because others have long taken its place. So it is
  // kept in mind, and made anew only where its range turns out to be nobody's.
  void bury(lease const& one, lease_facts const& facts) {
    record_type record = record_with(one, facts);
    record.facts = facts;
    record.owner_name.clear();
    buried_.insert_or_assign(one.id, buried{std::move(record), now()});
    wants_list_ = true;
  }
  void bury(lease const& one) {
    lease_facts facts = one.record.facts;
    if (facts.phase != lease_phase::open) return;
    facts.is_detached = true;
    facts.owner = departed_session;
    facts.epoch += std::uint64_t{1} << 32;
    facts.held_for = host_.terms.hold;
    bury(one, facts);
  }

  // ---- reading and handling ------------------------------------------------------------------

  // What somebody has asked for in the record.
  void heed_requests(lease_ptr const& one) {
    if (one->machine.state() != lease_state::active) return;
    if (one->record.reset) {
      one->reset = one->record.reset;
      step(one, {.kind = facts_kind::given, .other = host_.terms.session});
      return;
    }
    if (!one->record.paused.empty()) {
      if (one->work && !one->work->is_closing()) one->work->park(close_reason::paused);
    } else if (!one->work && one->halted.empty()) {
      tell(processor_event_kind::resumed, *one);
      begin_reading(one);
    }
  }

  void open(lease_ptr const& one) {
    ++host_.counters.acquired;
    one->children.clear();
    one->reset.reset();
    one->overdue_at = (instant::max)();
    one->told_sequence = one->record.facts.sequence;
    one->told_at = one->record.position.parts;
    one->weight = one->record.weight;
    one->weighed_at = now();
    if (host_.terms.liveness == liveness::per_lease)
      one->next_beat = host_.in(host_.options.lease_renew_interval / 2);
    tell(processor_event_kind::acquired, *one);
    if (host_.is_stopping) {
      step(one, {.kind = facts_kind::stop});
    } else if (one->record.reset) {
      heed_requests(one);
    } else if (one->record.paused.empty()) {
      begin_reading(one);
    }
  }
  void begin_reading(lease_ptr const& one) {
    feed_request<token_type> request;
    request.start = one->record.position;
    if (one->told_sequence > one->record.facts.sequence)
      std::get<composite_cursor<token_type>>(request.start).parts = one->told_at;
    request.scope = one->record.range;
    request.page_size = host_.options.max_item_count;
    request.session_token = host_.options.session_token;
    one->work = std::make_shared<work_type>(
        setting_, one, lease_info<token_type>{one->id, one->record.range, one->record.facts.epoch},
        std::move(request), one->record.attempts,
        (std::max)(one->told_sequence, one->record.facts.sequence));
    one->work->begin();
  }
  // What is at work comes to its end, and the lease goes.
  void close_soon(lease_ptr const& one) {
    one->overdue_at = host_.in(host_.options.drain_limit);
    switch (one->machine.situation().reason) {
      case drain_reason::handover:
        return close(one, one->reset ? close_reason::reset : close_reason::handed_over);
      case drain_reason::range_gone:
        return close(one, close_reason::range_gone);
      default:
        return close(one, close_reason::shutdown);
    }
  }
  void cancel(lease_ptr const& one) {
    one->overdue_at = (instant::max)();
    close(one, close_reason::lease_lost);
  }
  void close(lease_ptr const& one, close_reason why) {
    if (one->work) {
      one->work->close(why);
    } else {
      host_.group.spawn(say_closed(one));
    }
  }
  // Behind what the machine does now.
  task<> say_closed(lease_ptr one) {
    say_closed_now(one);
    co_return;
  }
  void say_closed_now(lease_ptr const& one) {
    if (one->reset && one->machine.state() != lease_state::lost) {
      ++one->told_sequence;
      one->told_at = one->reset->parts;
      tell(processor_event_kind::reset, *one);
    }
    step(one, {.kind = facts_kind::closed, .sequence = one->told_sequence});
  }
  // Nothing of it is at work any more.
  void finish(lease_ptr const& one) {
    auto const work = std::exchange(one->work, nullptr);
    one->told_sequence = work->position();
    one->told_at = work->at();
    one->lag = work->lag();
    if (!work->is_parked() || one->machine.state() != lease_state::active)
      return say_closed_now(one);
    tell(processor_event_kind::paused, *one);
    step(one, {.kind = facts_kind::acknowledged, .sequence = one->told_sequence});
    // Somebody may have wanted it to go on meanwhile.
    if (one->record.paused.empty() && one->halted.empty()) heed_requests(one);
  }
  // Whether its range is no partition's any more: it was split, or is a part of a larger one.
  void see_partitions(lease_ptr const& one, std::vector<range_type> parts) {
    auto const& range = one->record.range;
    // What lies beyond the part of the feed that is handled here is nobody's to read.
    if (host_.options.range)
      for (auto& part : parts) part = *intersection(part, *host_.options.range);
    one->is_held_up = false;
    if (parts.size() == 1) {
      if (parts.front() == range) return;
      one->is_held_up = meets_a_paused_one(*one, parts.front());
      if (one->is_held_up) return;
    } else {
      for (auto& part : parts) part = *intersection(part, range);
    }
    one->children = grouped(std::move(parts));
    step(one, {.kind = facts_kind::gone});
  }
  // Whether a merge waits for one that is paused: until then the others are read on as the parts of
  // a larger range that they are.
  bool meets_a_paused_one(lease const& one, range_type const& merged) const {
    return std::any_of(leases_.begin(), leases_.end(), [&](auto const& entry) {
      auto const& other = entry.second->record;
      return entry.second.get() != &one && other.facts.phase == lease_phase::open &&
             !other.paused.empty() && overlaps(other.range, merged);
    });
  }
  // What is acknowledged by hand comes from any thread.
  task<> take_acknowledgements() {
    while (!host_.is_over) {
      co_await completion_of<void>(
          [&](completer<void> done) { setting_.inbox->wait(std::move(done)); });
      co_await host_.inside.enter();
      work_type::hear(*setting_.inbox);
    }
  }

  // ---- looking around: who is there, and what is whose ---------------------------------------

  task<result<void>> begin() {
    auto ready = sound(host_.options);
    if (!ready) co_return ready;
    if constexpr (!has_park<Handler, batch_type>) {
      if (host_.options.on_poison == poison_manner::park)
        co_return fail(errc::invalid_options,
                       "on_poison is park, and the handler has no park(batch, why)");
    }
    if constexpr (!has_lanes<Handler, item_type>) {
      if (host_.options.lanes > 1)
        co_return fail(errc::invalid_options, "lanes is ", host_.options.lanes,
                       ", and the handler has no lane_of(item)");
    }
    if (host_.options.checkpointing == checkpointing::manual)
      host_.group.spawn(take_acknowledgements());
    for (std::uint32_t failures = 1; !host_.is_stopping; ++failures) {
      auto making = make_first_leases(host_, source_, store_);
      auto const made = co_await std::move(making);
      has_made_leases_ = made && *made;
      if (made) break;
      if (is_for_good(made.error().code)) co_return unexpected{made.error()};
      host_.tell(processor_event_kind::store_failed, &made.error());
      auto waiting = host_.back_off(failures, made.error());
      co_await std::move(waiting);
    }
    bool const discards = host_.options.discard_existing_leases && !has_made_leases_;
    for (std::uint32_t failures = 1; discards && !host_.is_stopping; ++failures) {
      lease_control<Source, Store> control{source_, store_, host_.options.lease_prefix,
                                           [this] { return host_.request(); }};
      auto resetting = control.reset(host_.options.range.value_or(whole_space(source_.scheme())),
                                     host_.options.start);
      auto const done = co_await std::move(resetting);
      co_await host_.inside.enter();
      if (done) break;
      if (is_for_good(done.error().code)) co_return unexpected{done.error()};
      host_.tell(processor_event_kind::store_failed, &done.error());
      // Where leases have ended whose children nobody has made yet.
      auto looking = look_once(true);
      co_await std::move(looking);
      auto waiting = host_.back_off(failures, done.error());
      co_await std::move(waiting);
    }
    if (host_.options.on_stop == stop_manner::keep_place && !host_.is_stopping) {
      std::string const members = host_.ids.members();
      auto const hosts = co_await store_.list(members, host_.request());
      co_await host_.inside.enter();
      member_.set_place(host_.draw() | 1);
      if (hosts) {
        see_members(*hosts);
        auto taking = take_a_place();
        co_await std::move(taking);
      }
    }
    if (!host_.is_stopping) member_.join();
    co_return result<void>{};
  }

  // What will be no other when it is tried again.
  static bool is_for_good(errc code) {
    switch (code) {
      case errc::unauthorized:
      case errc::forbidden:
      case errc::not_found:
      case errc::bad_request:
      case errc::unsupported:
      case errc::invalid_options:
      case errc::invalid_range:
      case errc::gap:
      case errc::overlap:
      case errc::key_mismatch:
      case errc::wrong_container:
      case errc::scheme_mismatch:
      case errc::foreign_lease:
        return true;
      default:
        return false;
    }
  }

  task<> look_around() {
    instant full_at = now();
    while (!host_.is_over) {
      bool const is_settled = settles_at_ != instant{} && now() >= settles_at_;
      bool const is_full = now() >= full_at || wants_list_ || is_settled;
      if (is_full) full_at = host_.in(host_.jittered(host_.options.lease_acquire_interval));
      was_written_ = false;
      auto looking = look_once(is_full);
      co_await std::move(looking);
      if (host_.is_over) break;
      if (was_written_) continue;  // behind what was read
      auto const poll = host_.options.layout_poll_interval;
      instant next = full_at;
      if (poll != instant::duration::zero())
        next = (std::min)(next, host_.in(host_.jittered(poll)));
      // Soon, but not for ever where it does not help.
      hurries_ = wants_list_ ? (std::min)(hurries_ + 1, 8) : 0;
      if (hurries_ != 0)
        next = (std::min)(
            next, host_.in(host_.jittered(std::chrono::milliseconds{10} * (1 << hurries_))));
      if (expects_leases_) next = (std::min)(next, host_.in(std::chrono::milliseconds{250}));
      if (settles_at_ > now()) next = (std::min)(next, settles_at_);
      look_at_ = next;
      is_look_due_ = false;
      rearm(next);
      while (!is_look_due_ && !host_.is_over) {
        co_await look_now_.wait();
        if (look_at_ <= now()) break;
      }
    }
  }
  task<> watch_layout() {
    std::string const id = host_.ids.layout();
    while (!host_.is_over) {
      store_request const asked{host_.in(host_.options.lease_acquire_interval),
                                host_.asking.token()};
      auto const seen = co_await store_.watch(id, asked);
      co_await host_.inside.enter();
      if (seen) {
        look_at_ = now();
        is_look_due_ = was_written_ = true;
        look_now_.notify();
      }
      auto waiting =
          host_.pause_for(seen ? std::chrono::milliseconds{20} : std::chrono::milliseconds{500},
                          host_.asking.token());
      co_await std::move(waiting);
    }
  }

  void look_soon() {
    wants_list_ = true;
    look_at_ = now();
    look_now_.notify();
  }
  task<> look_once(bool is_full) {
    // The number first: what has changed since is seen by the lists behind it.
    std::string const layout = host_.ids.layout();
    ++host_.counters.reads;
    auto found = co_await store_.read(layout, host_.request());
    co_await host_.inside.enter();
    std::uint64_t number = layout_number_;
    if (found) {
      if (auto const read = layout_record::from_text(found->body)) number = read->number;
    } else if (found.error().code == errc::not_found) {
      auto making = make_first_leases(host_, source_, store_);
      static_cast<void>(co_await std::move(making));
      is_full = true;
    } else {
      host_.tell(processor_event_kind::store_failed, &found.error());
    }
    bool const has_moved = number != layout_number_;
    if (!is_full && !has_moved && !wants_list_) co_return;

    std::string const members = host_.ids.members();
    ++host_.counters.lists;
    auto hosts = co_await store_.list(members, host_.request());
    co_await host_.inside.enter();
    if (!hosts) {
      host_.tell(processor_event_kind::store_failed, &hosts.error());
      co_return;
    }
    bool const has_new_members = see_members(*hosts);
    auto fencing = fence_the_silent();
    bool const has_fenced = co_await std::move(fencing);

    bool const wants_leases = has_moved || wants_list_ || has_new_members || has_fenced ||
                              host_.terms.liveness == liveness::per_lease || has_moves_ ||
                              std::exchange(wants_leases_, false) || ++rounds_ % 4 == 0;
    if (wants_leases) {
      wants_list_ = false;
      std::string const leases = host_.ids.leases();
      instant const began = now();
      ++host_.counters.lists;
      auto listed = co_await store_.list(leases, host_.request());
      co_await host_.inside.enter();
      if (!listed) {
        host_.tell(processor_event_kind::store_failed, &listed.error());
        wants_list_ = true;
        co_return;
      }
      layout_number_ = number;
      see_leases(*listed);
      auto completing = complete_changes(began);
      co_await std::move(completing);
    }
    share_out();
  }

  // Returns whether somebody has come or gone.
  bool see_members(std::vector<stored_record> const& found) {
    return members_.see(found, host_.ids, host_.terms.session, now(), [&](error const& why) {
      host_.tell(processor_event_kind::store_failed, &why);
    });
  }
  bool is_overdue(seen_member const& one) const {
    return one.watch.is_overdue(now(), host_.terms.rate_bound_ppm);
  }
  // Writes into the records of members who were silent for too long that their sessions are over.
  task<bool> fence_the_silent() {
    bool has_fenced = false;
    // Leases that are held by themselves run out by themselves.
    if (host_.terms.liveness == liveness::per_lease) co_return false;
    std::vector<session_id> silent;
    for (auto const& [session, known] : members_) {
      if (session == host_.terms.session || known.is_fenced() || !is_overdue(known)) continue;
      // Of one without a record that owns nothing there is nothing to take.
      if (!known.is_there() && !owns_something(session)) continue;
      silent.push_back(session);
    }
    for (session_id const session : silent) {
      auto const* const still = members_.find(session);
      if (still == nullptr) continue;
      seen_member const known = *still;
      std::string const id = host_.ids.member(session);
      member_record record = known.record;
      record.session = session;
      record.phase = member_phase::fenced;
      ++record.beat;
      std::string const body = record.to_text();
      ++host_.counters.writes;
      result<std::string> answer{std::string{}};
      if (known.is_there()) {
        answer = co_await store_.replace(id, body, known.version, host_.request());
      } else {
        answer = co_await store_.create(id, body, host_.request());
      }
      co_await host_.inside.enter();
      if (!answer) {
        if (answer.error().code == errc::precondition_failed) ++host_.counters.refused;
        continue;
      }
      members_.write(std::move(record), *std::move(answer), now());
      has_fenced = true;
      host_.tell(processor_event_kind::member_fenced, nullptr, session);
    }
    if (has_fenced) bump_layout();
    co_return has_fenced;
  }
  // Records of members who are gone for good, and own nothing any more.
  task<> remove_the_gone() {
    std::vector<std::pair<session_id, std::string>> gone;
    for (auto const& [session, known] : members_) {
      if (session == host_.terms.session || !known.is_there()) continue;
      bool is_gone = known.watch.phase == member_phase::fenced;
      if (known.is_away())
        is_gone = now() >= instant_after(known.watch.since, 2 * host_.options.place_kept_for);
      // Where sessions say nothing of leases nobody fences them.
      if (host_.terms.liveness == liveness::per_lease && is_overdue(known)) is_gone = true;
      if (is_gone && !owns_something(session)) gone.emplace_back(session, known.version);
    }
    for (auto const& [session, version] : gone) {
      std::string const id = host_.ids.member(session);
      ++host_.counters.writes;
      auto const removed = co_await store_.remove(id, version, host_.request());
      co_await host_.inside.enter();
      if (removed) members_.remove(session, now());
    }
    members_.forget(now() - 4 * longest_wait(),
                    [&](session_id session) { return owns_something(session); });
  }
  bool owns_something(session_id session) const {
    return std::any_of(leases_.begin(), leases_.end(), [&](auto const& entry) {
      auto const& facts = entry.second->record.facts;
      return facts.owner == session && facts.phase == lease_phase::open;
    });
  }

  void see_leases(std::vector<stored_record> const& found) {
    for (auto const& [id, one] : leases_) one->is_listed = false;
    for (auto const& stored : found) {
      if (host_.ids.kind_of(stored.id) != record_kind::lease) continue;
      auto const known = leases_.find(stored.id);
      bool const is_held = known != leases_.end() && known->second->is_own();
      if (known != leases_.end()) known->second->is_listed = true;
      // A list may be stale: of what is this host's the record itself is read.
      if (is_held) {
        if (known->second->version != stored.version) look_at_record(known->second);
        continue;
      }
      if (known != leases_.end() && known->second->version == stored.version &&
          known->second->machine.state() == lease_state::watching &&
          known->second->record.facts.owner != host_.terms.session)
        continue;
      auto record = record_type::from_text(source_.scheme(), stored.body);
      if (!record) {
        host_.tell(processor_event_kind::store_failed, &record.error());
        continue;
      }
      lease_ptr one;
      if (known != leases_.end()) {
        one = known->second;
      } else {
        one = std::make_shared<lease>(*this, stored.id, *record, host_.draw() >> 16);
        leases_.emplace(stored.id, one);
      }
      one->is_listed = true;
      seen_record const seen{*std::move(record), stored.version};
      step(one, {.kind = facts_kind::listed}, &seen);
    }
    for (auto const& one : all_leases()) {
      if (!one->is_listed) look_at_record(one);
      // An owner that has no record was here before, or has never been.
      auto const owner = one->record.facts.owner;
      if (!owner || owner == host_.terms.session || owner == departed_session) continue;
      members_.see_owner(owner, one->record.facts.held_for, now());
    }
  }
  void look_at_record(lease_ptr const& one) {
    if (one->is_looking) return;
    one->is_looking = true;
    host_.group.spawn(read_lease(one, 0, false));
  }

  // What splits and merges have left to do, and records that were removed by hand.
  task<> complete_changes(instant began) {
    std::vector<record_type> records;
    std::vector<lease_ptr> all = all_leases();
    for (auto const& one : all) records.push_back(one->record);
    auto const created = leases_to_create<token_type>(records);
    auto const removed = leases_to_remove<token_type>(records);
    obsolete_.clear();
    for (std::size_t const i : removed) obsolete_.insert(all[i]->id);
    bool has_changed = false;
    for (auto child : created) {
      child.facts.stamp = {host_.terms.session, host_.draw()};
      child.facts.held_for = host_.terms.hold;
      std::string const id = id_of(child.range);
      // One that was there before has gone further: somebody has removed it by hand.
      if (auto const found = buried_.find(id); found != buried_.end()) {
        wants_leases_ = true;
        if (now() < instant_after(found->second.since, host_.own_wait())) continue;
        auto const stamp = child.facts.stamp;
        child = found->second.record;
        child.facts.stamp = stamp;
      }
      // What is seen now is not to be acted on much later.
      if (now() >= instant_after(began, host_.terms.hold)) co_return;
      auto creating = create_record(host_, store_, source_.scheme(), child);
      auto answer = co_await std::move(creating);
      if (!answer) {
        if (answer.error().code != errc::already_exists)
          host_.tell(processor_event_kind::store_failed, &answer.error());
        wants_list_ = true;
        continue;
      }
      has_changed = true;
      auto const one = std::make_shared<lease>(*this, id, child, host_.draw() >> 16);
      leases_.insert_or_assign(id, one);
      seen_record const seen{child, *std::move(answer)};
      step(one, {.kind = facts_kind::listed}, &seen);
      tell(processor_event_kind::created, *one);
    }
    for (std::size_t const i : removed) {
      auto const& one = all[i];
      if (one->is_own()) continue;
      // What makes a child impossible stays until whoever may still try to create it has given up.
      if (is_void(one->record)) {
        if (!one->ended_since) one->ended_since = now();
        wants_leases_ = true;
        if (now() < instant_after(*one->ended_since, host_.own_wait())) continue;
      }
      ++host_.counters.writes;
      std::string const version = one->version;
      auto answer = co_await store_.remove(one->id, version, host_.request());
      co_await host_.inside.enter();
      bool const is_gone = answer || answer.error().code == errc::not_found;
      if (!is_gone || one->is_own()) {
        look_at_record(one);
        continue;
      }
      if (answer) tell(processor_event_kind::removed, *one);
      leases_.erase(one->id);
      has_changed = true;
    }
    for (auto const& one : all)
      if (one->is_held_up && one->work) one->work->look_at_partitions();
    auto reopening = reopen_the_stuck(created);
    co_await std::move(reopening);
    auto filling = fill_holes();
    co_await std::move(filling);
    auto tidying = remove_the_gone();
    co_await std::move(tidying);
    if (has_changed) bump_layout();
  }
  // A range that was merged while another one of the merge was split, or merged otherwise, waits
  // for a child that will never be. It is opened again, so that who takes it looks anew. Before,
  // the child is made impossible: whoever creates its record first decides, for good.
  task<> reopen_the_stuck(std::vector<record_type> const& created) {
    std::set<std::string> awaited;
    for (auto const& child : created) awaited.insert(id_of(child.range));
    std::map<std::string, std::vector<lease_ptr>> stuck;  // by what they wait for
    std::set<std::string> due;
    for (auto const& one : all_leases()) {
      auto const& record = one->record;
      if (record.facts.phase != lease_phase::ended || one->is_own()) {
        one->ended_since.reset();
        one->waits_since.reset();
        continue;
      }
      if (!one->ended_since) one->ended_since = now();
      if (record.children.size() != 1) continue;
      auto const id = id_of(record.children.front());
      if (leases_.contains(id) || awaited.contains(id) || obsolete_.contains(one->id)) {
        one->waits_since.reset();
        continue;
      }
      // Where the child was impossible for a while, others have the time to wait for it now, too.
      if (!one->waits_since) one->waits_since = now();
      wants_leases_ = true;
      stuck[id].push_back(one);
      if (now() >= instant_after(*one->waits_since, host_.own_wait())) due.insert(id);
    }
    for (auto const& id : due) {
      wants_list_ = true;
      auto blocking = block(stuck.at(id).front()->record);
      bool const is_blocked = co_await std::move(blocking);
      if (!is_blocked) continue;
      // All of them: who was left would wait for a child that the others do not want any more.
      for (auto const& one : stuck.at(id)) {
        auto opening = reopen(one);
        co_await std::move(opening);
      }
    }
  }
  // Makes the one child of a record impossible. False where somebody was faster.
  task<bool> block(record_type waiting) {
    auto const range = waiting.children.front();
    record_type none{range};
    none.facts = {.phase = lease_phase::ended,
                  .stamp = {host_.terms.session, host_.draw()},
                  .held_for = host_.terms.hold};
    none.position = std::move(waiting.position);
    none.position.parts = {cursor<token_type>{range, from_beginning}};
    auto creating = create_record(host_, store_, source_.scheme(), none);
    auto const made = co_await std::move(creating);
    co_return made.has_value();
  }
  task<> reopen(lease_ptr one) {
    record_type opened = one->record;
    opened.facts.phase = lease_phase::open;
    opened.facts.stamp = {host_.terms.session, host_.draw()};
    opened.children.clear();
    std::string const body = opened.to_text();
    std::string const version = one->version;
    ++host_.counters.writes;
    auto const done = co_await store_.replace(one->id, body, version, host_.request());
    co_await host_.inside.enter();
    if (done) tell(processor_event_kind::reopened, *one);
    look_at_record(one);
    bump_layout();
  }

  // As long as anybody is waited for who may still hold something.
  instant::duration longest_wait() const {
    auto hold = (std::max)(host_.terms.hold, members_.longest_hold());
    for (auto const& [id, one] : buried_) hold = (std::max)(hold, one.record.facts.held_for);
    // No longer than anybody may choose, whatever stands in a record.
    return wait_before_taking((std::min)(hold, longest_interval), host_.terms.rate_bound_ppm);
  }

  // Ranges that are nobody's: their records were removed by hand. Epochs of records that are made
  // anew lie beyond all that somebody may have had of whom nobody knows: each takes a step of 2^32,
  // and the layout's number goes up with each. They are made anew where they
  // stood, as far as somebody remembers, and from the start where nobody does; not before the last
  // owner has stopped, and has had the time to say where it stood.
  task<> fill_holes() {
    std::vector<record_type> records;
    for (auto const& [id, one] : leases_) records.push_back(one->record);
    auto const whole = host_.options.range.value_or(whole_space(source_.scheme()));
    auto const holes = ranges_without_a_lease<token_type>(whole, records);
    auto const wait = longest_wait();
    std::erase_if(buried_, [&](auto const& entry) {
      return leases_.contains(entry.first) || now() >= instant_after(entry.second.since, 8 * wait);
    });
    if (holes != holes_) {
      holes_ = holes;
      holes_since_ = now();
    }
    if (holes.empty()) co_return;
    wants_leases_ = true;
    if (now() < instant_after(holes_since_, wait)) co_return;
    std::vector<record_type> made;
    for (auto const& range : holes) {
      bool is_remembered = false;
      for (auto const& [id, one] : buried_) {
        if (!range.contains(one.record.range)) continue;
        is_remembered = true;
        made.push_back(one.record);
      }
      if (is_remembered || now() < instant_after(holes_since_, 3 * wait)) continue;
      auto opening = first_position(host_, source_, std::optional{range});
      auto opened = co_await std::move(opening);
      if (!opened) co_return;
      record_type fresh{range};
      fresh.position = *std::move(opened);
      fresh.facts = {.is_detached = true,
                     .owner = departed_session,
                     .epoch = (layout_number_ + 1) << 32,
                     .held_for = host_.terms.hold};
      made.push_back(std::move(fresh));
    }
    for (auto& record : made) {
      record.facts.stamp = {host_.terms.session, host_.draw()};
      auto creating = create_record(host_, store_, source_.scheme(), record);
      auto const answer = co_await std::move(creating);
      if (!answer) continue;
      host_.tell(processor_event_kind::restored, id_of(record.range), record.range, record.facts);
      bump_layout();
    }
    wants_list_ = true;
  }

  // ---- the plan --------------------------------------------------------------------------------

  void share_out() {
    if (!member_.is_live()) return;
    if (host_.is_stopping && !gives_away_) return;
    settles_at_ = instant{};
    if (!host_.is_stopping) {
      // Who has come waits a little for others that are coming, and so do all others.
      instant const last = (std::max)(members_.last_joined_at(), joined_at_);
      instant const settled = instant_after(last, host_.options.settle_window);
      if (now() >= settled) {
        unsettled_since_.reset();
      } else {
        if (!unsettled_since_) unsettled_since_ = now();
        instant const at_last =
            instant_after(*unsettled_since_, host_.options.lease_acquire_interval);
        if (now() < at_last) {
          settles_at_ = (std::min)(settled, at_last);
          wants_leases_ = true;
          has_moves_ = true;
          return;
        }
      }
    }
    std::vector<planned_member> members;
    std::map<session_id, std::uint32_t> index;
    auto const add = [&](member_record const& one, bool leaves) {
      index[one.session] = static_cast<std::uint32_t>(members.size());
      members.push_back({.session = one.session,
                         .least = one.least,
                         .most = one.most,
                         .leaves = leaves,
                         .zone = one.zone});
    };
    add(member_.record(member_phase::live, 0), host_.is_stopping);
    for (auto const& [session, known] : members_) {
      if (session == host_.terms.session || !known.takes_part(now(), host_.terms.rate_bound_ppm))
        continue;
      add(known.record, known.watch.phase == member_phase::draining);
    }
    std::vector<planned_lease> planned;
    std::vector<lease_ptr> which;
    for (auto const& [id, one] : leases_) {
      auto const& facts = one->record.facts;
      auto const state = one->machine.state();
      if (facts.phase != lease_phase::open || obsolete_.contains(id) || state == lease_state::ended)
        continue;
      std::uint32_t owner = kept_lease;
      if (state == lease_state::acquiring || state == lease_state::active ||
          state == lease_state::draining || state == lease_state::drained) {
        owner = 0;  // what is on its way to somebody counts here until it is there
      } else if (one->is_own()) {
        owner = kept_lease;
      } else if (!facts.owner) {
        owner = owner_of_place(facts.place, index);
        if (owner == 0 && !host_.is_stopping) step(one, {.kind = facts_kind::wanted});
      } else if (may_be_taken(*one)) {
        owner = free_lease;
      } else if (auto const found = index.find(facts.owner); found != index.end()) {
        owner = found->second;
      }
      planned.push_back({.id = order_of(id),
                         .owner = owner,
                         .epoch = facts.epoch,
                         .weight = (std::max)(one->record.weight, 1.0),
                         .zone = 0});
      which.push_back(one);
    }
    auto const moves = planner_.plan(
        members, planned,
        {.by = host_.options.balance_by, .most_moves_of_donor = host_.options.most_moves_of_donor});
    has_moves_ = !moves.empty();
    std::vector<plan_move> const own{moves.begin(), moves.end()};
    expects_leases_ = false;
    for (auto const& move : own) {
      auto const& one = which[move.lease];
      if (move.to == 0 && move.from != free_lease) expects_leases_ = true;
      if (move.to == 0) {
        if (move.from == free_lease)
          step(one, {.kind = facts_kind::wanted, .other = one->record.facts.owner});
      } else if (move.from == 0) {
        step(one, {.kind = facts_kind::given, .other = members[move.to].session});
      }
    }
  }
  // Whether the owner of a lease cannot be active any more.
  bool may_be_taken(lease const& one) const {
    auto const& facts = one.record.facts;
    if (host_.terms.liveness == liveness::per_session) {
      if (members_.is_fenced(facts.owner)) return true;
      if (!facts.is_detached) return false;
    }
    auto const wait = wait_before_taking(facts.held_for, host_.terms.rate_bound_ppm);
    return now() >= instant_after(one.machine.situation().since, wait);
  }
  // Whose a lease is that waits for who takes a place.
  std::uint32_t owner_of_place(std::uint64_t place,
                               std::map<session_id, std::uint32_t> const& index) const {
    if (place == 0) return free_lease;
    if (place == member_.place()) return 0;
    std::uint32_t owner = free_lease;
    for (auto const& [session, known] : members_) {
      if (known.record.place != place || !known.is_there()) continue;
      if (auto const found = index.find(session); found != index.end()) return found->second;
      if (known.is_away() && now() < instant_after(known.watch.since, host_.options.place_kept_for))
        owner = kept_lease;
    }
    return owner;
  }
  // Takes over the place of somebody who has left it, if there is one.
  task<> take_a_place() {
    std::vector<seen_member> away;
    for (auto const& [session, known] : members_)
      if (known.is_away()) away.push_back(known);
    for (auto const& one : away) {
      std::string const id = host_.ids.member(one.watch.session);
      auto const removed = co_await store_.remove(id, one.version, host_.request());
      co_await host_.inside.enter();
      if (!removed) continue;
      members_.remove(one.watch.session, now());
      member_.set_place(one.record.place);
      co_return;
    }
  }

  // ---- the end ---------------------------------------------------------------------------------

  bool has_work() const {
    return std::any_of(leases_.begin(), leases_.end(), [](auto const& entry) {
      return entry.second->work != nullptr || entry.second->is_own();
    });
  }
  task<> wind_up() {
    host_.is_stopping = true;
    if (member_.state() == member_state::absent) co_return;  // it never took part
    if (host_.options.on_stop == stop_manner::keep_place) host_.terms.place = member_.place();
    host_.terms.is_stopping = true;
    bool const hands_over = host_.options.on_stop == stop_manner::hand_over;
    if (hands_over && has_work()) {
      member_.drain();
      bump_layout();
      // Who is to take its leases hears of it first, and then waits for them: it works on
      // meanwhile.
      bool const is_alone = std::none_of(members_.begin(), members_.end(), [&](auto const& entry) {
        auto const& [session, known] = entry;
        return session != host_.terms.session && known.watch.phase == member_phase::live &&
               known.takes_part(now(), host_.terms.rate_bound_ppm);
      });
      auto noticing = wait_while(is_alone ? now() : host_.in(host_.options.leaving_notice),
                                 [] { return true; });
      co_await std::move(noticing);
      gives_away_ = true;
      auto looking = look_once(true);
      co_await std::move(looking);
    }
    for (auto const& one : all_leases()) step(one, {.kind = facts_kind::stop});
    auto letting_go =
        wait_while(host_.in(host_.options.drain_limit + host_.options.lease_expiration_interval),
                   [this] { return has_work(); });
    co_await std::move(letting_go);
    // Its record runs out by itself where the store takes no requests.
    instant const at_last = host_.in(2 * host_.options.store_timeout);
    member_.leave();
    auto leaving = wait_while(at_last, [this] {
      auto const state = member_.state();
      return state != member_state::gone && state != member_state::lost &&
             state != member_state::absent;
    });
    co_await std::move(leaving);
    if (member_.state() == member_state::gone) {
      host_.tell(processor_event_kind::left);
      bump_layout();
      auto bumping = wait_while(at_last, [this] { return is_bumping_; });
      co_await std::move(bumping);
    }
  }
  // For as long as something is so, up to a moment.
  template <class Condition>
  task<> wait_while(instant at_last, Condition is_so) {
    while (is_so() && now() < at_last) {
      instant const soon = (std::min)(at_last, host_.in(std::chrono::milliseconds{50}));
      static_cast<void>(co_await host_.clock.wait_until(soon, {}));
      co_await host_.inside.enter();
    }
  }

  struct buried {
    record_type record;
    instant since;
  };

  Source& source_;
  Store& store_;
  host_context<token_type, Clock> host_;
  typename work_type::setting setting_;
  membership<token_type, Store, Clock> member_{host_, store_, *this};
  roster members_{};

  signal changed_{host_.inside};
  signal look_now_{host_.inside};
  signal rearmed_{host_.inside};
  stop_source alarm_{};
  instant alarm_at_ = (instant::max)();
  std::set<std::pair<instant, std::string>> alarms_{};  // of leases

  instant joined_at_{};
  instant settles_at_{};
  std::optional<instant> unsettled_since_{};

  std::map<std::string, lease_ptr, std::less<>> leases_{};
  std::set<std::string, std::less<>> obsolete_{};
  std::map<std::string, buried> buried_{};
  std::vector<range_type> holes_{};
  instant holes_since_{};
  std::uint64_t layout_number_ = 0;
  std::uint64_t rounds_ = 0;
  instant look_at_ = (instant::max)();
  bool is_look_due_ = false;
  bool was_written_ = false;   // the layout, since the look was begun
  bool wants_list_ = true;     // soon
  bool wants_leases_ = false;  // with the next look at all of it
  bool wants_bump_ = false;
  bool is_bumping_ = false;
  bool has_moves_ = false;
  bool has_made_leases_ = false;
  bool expects_leases_ = false;
  int hurries_ = 0;  // looks in a row behind which there was more to look at
  planner planner_{};

  bool gives_away_ = false;
  bool has_begun_ = false;
};

}  // namespace detail
}  // namespace keyspan
