// keyspan/processor/processing.hpp — one host at work: its member record, the leases it knows, and
// the readings of those it owns.
//
//   look around    members, leases  -->  plan  -->  wanted, given
//   lease machine  -->  write, read back, open, stop reading, cancel
//   reading        fetch ahead  -->  lanes: handle, acknowledge  -->  position
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/plan.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/lease_reading.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/processor/strand.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// How one lease stands, as one host sees it.
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
};

namespace detail {

// How many children a lease has at most, so that its record stays small.
inline constexpr std::size_t most_children = 128;

// So many neighbours at most in place of all of them.
template <token Token>
std::vector<token_range<Token>> grouped(std::vector<token_range<Token>> ranges) {
  while (ranges.size() > most_children) {
    std::vector<token_range<Token>> groups;
    std::size_t const in_each = (ranges.size() + most_children - 1) / most_children;
    for (std::size_t i = 0; i < ranges.size(); i += in_each) {
      std::size_t const last = (std::min)(i + in_each, ranges.size()) - 1;
      groups.push_back(*token_range<Token>::from(ranges[i].lower(), ranges[last].upper()));
    }
    ranges = std::move(groups);
  }
  return ranges;
}

// A number that nobody else draws.
inline std::uint64_t drawn_number() {
  std::random_device device;
  std::uint64_t const high = device();
  return (high << 32 ^ device()) | 1;
}

template <page_source Source, lease_store Store, clock Clock, class Handler>
class processing {
 public:
  using token_type = token_of_source<Source>;
  using scheme_type = typename Source::scheme_type;
  using page_type = typename Source::page_type;
  using item_type = std::remove_reference_t<std::iter_reference_t<decltype(std::ranges::begin(
      std::declval<decltype(page_type::items)&>()))>>;
  using batch_type = change_batch<token_type, item_type>;
  using record_type = lease_record<token_type>;
  using range_type = token_range<token_type>;
  using position_type = std::vector<cursor<token_type>>;
  using options_type = processor_options<token_type>;
  using batches_type = batches_in_order<token_type, page_type>;

  processing(Source& source, Store& store, Clock& clock, options_type const& options,
             Handler& handler)
      : source_{source},
        store_{store},
        clock_{clock},
        options_{options},
        handler_{handler},
        ids_{options.lease_prefix} {
    terms_.hold = options_.lease_expiration_interval;
    terms_.rate_bound_ppm = options_.clock_rate_bound_ppm;
    terms_.liveness = options_.liveness;
    terms_.session = options_.session ? options_.session : session_id{drawn_number()};
    numbers_ = terms_.session.value;
  }

  strand& inside() noexcept { return strand_; }
  processor_counters const& counters() const noexcept { return counters_; }

  // ---- from the beginning to the end ---------------------------------------------------------

  task<result<void>> run(stop_token stop) {
    co_await strand_.enter();
    stopper on_stop{std::move(stop)};
    group_.spawn(wait_for_stop(on_stop));
    group_.spawn(ring_alarms());
    auto begun = co_await begin();
    has_begun_ = true;
    if (begun && asking_.stop_requested()) asking_ = stop_source{};
    if (begun) {
      group_.spawn(look_around());
      if constexpr (watchable_lease_store<Store>) group_.spawn(watch_layout());
      while (!is_stopping_) co_await changed_.wait();
      co_await wind_up();
    }
    is_over_ = true;
    on_stop.wake();
    look_now_.notify();
    changed_.notify();
    rearmed_.notify();
    inbox_->end();
    asking_.request_stop();
    alarm_.request_stop();
    auto joined = group_.join();
    co_await std::move(joined);
    co_await strand_.leave();
    if (!begun) co_return unexpected{begun.error()};
    co_return result<void>{};
  }

  std::vector<lease_status<token_type>> status() const {
    std::vector<lease_status<token_type>> all;
    for (auto const& [id, one] : leases_) {
      auto const& facts = one->record.facts;
      all.push_back({id, one->record.range, one->machine.state(), facts.phase, facts.owner,
                     one->record.owner_name, facts.epoch, facts.sequence, one->record.paused,
                     lag_of(*one)});
    }
    return all;
  }
  session_id session() const noexcept { return terms_.session; }

 private:
  struct reading;

  // A lease that is known.
  struct lease {
    explicit lease(std::string name, record_type first, std::uint64_t numbers)
        : id{std::move(name)}, record{first}, machine{numbers}, sent{std::move(first)} {}

    std::string id;
    record_type record;
    std::string version{};
    lease_machine machine;
    record_type sent;  // what is in flight
    bool is_reading_back = false;
    bool is_looking = false;  // a single record is being read
    std::shared_ptr<reading> work{};
    close_reason reason = close_reason::shutdown;
    std::vector<range_type> children{};
    std::optional<composite_cursor<token_type>> reset{};
    std::uint64_t told_sequence = 0;
    position_type told_at{};
    instant next_beat = (instant::max)();
    instant overdue_at = (instant::max)();
    // What is not written yet.
    std::optional<lease_attempts> attempts{};
    std::string halted{};
    std::optional<instant> ended_since{};
    std::optional<instant> waits_since{};
    double weight = 0;
    instant weighed_at{};
    bool is_listed = false;
    std::optional<std::uint64_t> lag{};
  };
  using lease_ptr = std::shared_ptr<lease>;

  // Some items of a batch, for one lane.
  struct piece {
    std::shared_ptr<typename batches_type::batch_type> batch{};
    std::vector<std::uint32_t> which{};
    // Whether it was acknowledged: once, however often it was tried.
    std::shared_ptr<std::atomic<bool>> is_said = std::make_shared<std::atomic<bool>>(false);
  };

  // A lease that is read and handled.
  struct reading {
    reading(lease_info<token_type> of, strand& in, scheme_type scheme, std::string_view container,
            feed_request<token_type> request, std::uint64_t sequence, position_type at)
        : info{std::move(of)},
          progress{std::move(scheme), container, std::move(request)},
          batches{sequence, std::move(at)},
          changed{in} {}

    lease_info<token_type> info;
    feed_progress<scheme_type> progress;
    batches_type batches;
    std::vector<std::deque<piece>> lanes{};
    std::size_t queued = 0;   // pieces
    std::size_t at_work = 0;  // coroutines
    bool is_closing = false;  // nothing more is begun
    bool is_parked = false;   // it is paused: closing, and its lease is kept
    stop_source stop{};       // of what is at work
    stop_source asking{};     // of what is asked of the source
    std::uint32_t tried_before = 0;
    std::uint64_t newest = 0;
    std::uint64_t handled = 0;
    bool is_at_end = false;
    instant next_checkpoint = (instant::max)();
    signal changed;
  };

  // Tells of a request to stop, once, from whatever thread.
  class stopper {
    struct telling {
      stopper* to;
      void operator()() const noexcept { to->wake(); }
    };

   public:
    explicit stopper(stop_token stop) : stop_{std::move(stop)} {}
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

  using facts_kind = lease_event_kind;

  instant now() const { return clock_.now(); }
  instant in(instant::duration time) const { return instant_after(now(), time); }
  std::uint64_t draw() {
    numbers_ += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t mixed = numbers_;
    mixed = (mixed ^ mixed >> 30) * 0xBF58'476D'1CE4'E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D0'49BB'1331'11EB;
    return mixed ^ mixed >> 31;
  }
  // A little less or more, so that hosts do not all come at once.
  instant::duration jittered(instant::duration time) {
    return time - time / 10 +
           instant::duration{static_cast<instant::rep>(
               draw() % static_cast<std::uint64_t>(time.count() / 5 + 1))};
  }
  store_request request() const { return {in(options_.store_timeout), asking_.token()}; }

  void tell(processor_event_kind kind, lease const* about = nullptr, error const* why = nullptr,
            session_id other = {}) const {
    if (!options_.on_event) return;
    processor_event event{.kind = kind, .host = terms_.session, .other = other, .why = why};
    if (about != nullptr) {
      event.lease = about->id;
      event.epoch = about->record.facts.epoch;
      event.sequence = about->record.facts.sequence;
    }
    options_.on_event(event);
  }

  // ---- waiting -------------------------------------------------------------------------------

  task<> wait_for_stop(stopper& on_stop) {
    co_await completion_of<void>([&](completer<void> done) { on_stop.begin(std::move(done)); });
    co_await strand_.enter();
    is_stopping_ = true;
    if (!has_begun_) asking_.request_stop();
    changed_.notify();
  }

  // Waits by the clock; ends early where everything ends.
  task<> pause_for(instant::duration time, stop_token stop) {
    static_cast<void>(co_await clock_.wait_until(in(time), std::move(stop)));
    co_await strand_.enter();
  }

  // One who waits for the next moment at which something is due.
  task<> ring_alarms() {
    while (!is_over_) {
      alarm_at_ = next_alarm();
      if (alarm_at_ <= now()) {
        ring();
        continue;
      }
      if (alarm_at_ == (instant::max)()) {
        co_await rearmed_.wait();
        continue;
      }
      alarm_ = stop_source{};
      static_cast<void>(co_await clock_.wait_until(alarm_at_, alarm_.token()));
      co_await strand_.enter();
    }
  }
  // Something is due earlier than it was.
  void rearm(instant due) {
    if (due >= alarm_at_) return;
    alarm_at_ = due;
    alarm_.request_stop();
    rearmed_.notify();
  }
  // Until when a lease is held; the end of time where it is not.
  static instant deadline_of(lease const& one) {
    auto const state = one.machine.state();
    bool const may_be_held = state >= lease_state::active && state <= lease_state::ending;
    return may_be_held ? one.machine.situation().deadline : (instant::max)();
  }
  instant next_alarm() const {
    instant first = (std::min)(member_beat_, look_at_);
    for (auto const& [id, one] : leases_) {
      first = (std::min)({first, deadline_of(*one), one->next_beat, one->overdue_at});
      if (one->work) first = (std::min)(first, one->work->next_checkpoint);
    }
    return first;
  }
  void ring() {
    instant const at = now();
    if (member_beat_ <= at) {
      member_beat_ = instant_after(at, jittered(options_.lease_renew_interval));
      step_member({.kind = member_event_kind::beat_due});
    }
    if (look_at_ <= at) {
      look_at_ = (instant::max)();
      is_look_due_ = true;
      look_now_.notify();
    }
    // What is told may change which leases there are.
    for (auto const& one : all_leases()) {
      if (deadline_of(*one) <= at) step(one, {.kind = facts_kind::deadline});
      if (one->next_beat <= at) {
        one->next_beat = instant_after(at, jittered(options_.lease_renew_interval));
        step(one, {.kind = facts_kind::beat_due});
      }
      if (one->overdue_at <= at) {
        one->overdue_at = (instant::max)();
        tell(processor_event_kind::handler_overdue, one.get());
        step(one, {.kind = facts_kind::drain_overdue});
      }
      if (one->work && one->work->next_checkpoint <= at) checkpoint(one);
    }
  }

  // ---- the host's own record
  // ---------------------------------------------------------------------

  member_record own_record(member_phase phase, std::uint64_t beat) const {
    member_record made;
    made.session = terms_.session;
    made.name = options_.host_name;
    made.phase = phase;
    made.beat = beat;
    made.held_for = terms_.hold;
    made.least = options_.min_lease_count;
    made.most = options_.max_lease_count;
    made.place = place_;
    return made;
  }
  void step_member(member_event event) {
    event.now = now();
    auto const effects = member_.step(event, terms_);
    if (effects.is_beaten) {
      bool const is_first = terms_.session_until == instant{};
      terms_.session_until = member_.holds_until();
      if (is_first) {
        joined_at_ = now();
        member_beat_ = in(options_.lease_renew_interval / 2);
        rearm(member_beat_);
        tell(processor_event_kind::joined);
        bump_layout();
      }
      for (auto const& one : all_leases()) step(one, {.kind = facts_kind::session_beaten});
      changed_.notify();
    }
    if (effects.is_lost) lose_session();
    if (effects.creates || effects.writes || effects.removes)
      group_.spawn(write_member(effects, terms_.session));
    if (effects.reads_back) group_.spawn(read_member_back(member_.beat(), terms_.session));
    if (member_.state() == member_state::gone) changed_.notify();
  }
  // Joins anew: where sessions vouch for leases, under another name, since others may hold the
  // first one for over for ever.
  void lose_session() {
    tell(processor_event_kind::session_lost);
    terms_.session_until = instant{};
    member_version_.clear();
    std::uint64_t const beat = member_.beat();
    if (terms_.liveness == liveness::per_session) {
      for (auto const& one : all_leases()) step(one, {.kind = facts_kind::session_lost});
      terms_.session = session_id{draw() | 1};
    }
    member_ = member_machine{beat};
    changed_.notify();
    if (!is_stopping_) step_member({.kind = member_event_kind::start});
  }
  bool has_work() const {
    return std::any_of(leases_.begin(), leases_.end(), [](auto const& entry) {
      return entry.second->work != nullptr || is_own(entry.second->machine.state());
    });
  }
  static bool is_own(lease_state state) {
    return state != lease_state::unknown && state != lease_state::watching &&
           state != lease_state::ended;
  }
  std::vector<lease_ptr> all_leases() const {
    std::vector<lease_ptr> all;
    for (auto const& [id, one] : leases_) all.push_back(one);
    return all;
  }

  task<> write_member(member_effects effects, session_id session) {
    auto const record = own_record(effects.phase, effects.beat);
    std::string const id = ids_.member(session);
    std::string const body = record.to_text();
    for (int tries = 0;; ++tries) {
      ++counters_.writes;
      result<std::string> answer{std::string{}};
      if (effects.creates) {
        answer = co_await store_.create(id, body, request());
      } else if (effects.writes) {
        answer = co_await store_.replace(id, body, member_version_, request());
      } else {
        result<void> const removed = co_await store_.remove(id, member_version_, request());
        if (!removed) answer = unexpected{removed.error()};
      }
      co_await strand_.enter();
      if (session != terms_.session) co_return;
      member_event told{.beat = effects.beat};
      if (answer) {
        if (!effects.removes) member_version_ = *std::move(answer);
        told.kind = member_event_kind::written;
        step_member(told);
        co_return;
      }
      auto const code = answer.error().code;
      if (code == errc::precondition_failed || code == errc::already_exists) {
        ++counters_.refused;
        auto asking = read_member_back(effects.beat, session);
        co_await std::move(asking);
        co_return;
      }
      if (code == errc::not_found) {
        told.kind = member_event_kind::vanished;
        step_member(told);
        co_return;
      }
      tell(processor_event_kind::store_failed, nullptr, &answer.error());
      if (is_over_) co_return;
      if (!was_not_done(code)) {
        told.kind = member_event_kind::unanswered;
        step_member(told);
        co_return;
      }
      auto waiting = back_off(tries, answer.error());
      co_await std::move(waiting);
      if (is_over_ || !member_.is_writing() || member_.beat() != effects.beat) co_return;
    }
  }
  task<> read_member_back(std::uint64_t beat, session_id session) {
    std::string const id = ids_.member(session);
    for (int tries = 0;; ++tries) {
      ++counters_.reads;
      auto answer = co_await store_.read(id, request());
      co_await strand_.enter();
      if (is_over_ || session != terms_.session || member_.beat() != beat) co_return;
      member_event told{.beat = beat};
      if (answer) {
        auto const record = member_record::from_text(answer->body);
        member_version_ = answer->version;
        bool const is_ours =
            record && record->phase != member_phase::fenced && record->beat == beat;
        told.kind = is_ours ? member_event_kind::written : member_event_kind::refused;
        told.phase = record ? record->phase : member_phase::live;
        step_member(told);
        co_return;
      }
      if (answer.error().code == errc::not_found) {
        told.kind = member_.state() == member_state::leaving ? member_event_kind::written
                                                             : member_event_kind::vanished;
        step_member(told);
        co_return;
      }
      auto waiting = back_off(tries, answer.error());
      co_await std::move(waiting);
      if (is_over_) co_return;
    }
  }

  // As long as the store says, or longer each time.
  task<> back_off(int tries, error const& why) {
    instant::duration time = std::chrono::milliseconds{why.wire.retry_after_ms};
    if (time == instant::duration::zero())
      time = std::chrono::milliseconds{50} * (1 << (std::min)(tries, 6));
    auto waiting = pause_for(jittered(time), asking_.token());
    co_await std::move(waiting);
  }

  // The record that all hosts look at has another number from here on.
  void bump_layout() {
    wants_bump_ = true;
    if (!is_bumping_) group_.spawn(bump());
    is_bumping_ = true;
  }
  task<> bump() {
    std::string const id = ids_.layout();
    for (int tries = 0; wants_bump_ && !is_over_;) {
      wants_bump_ = false;
      ++counters_.reads;
      auto found = co_await store_.read(id, request());
      co_await strand_.enter();
      result<std::string> done{std::string{}};
      if (found) {
        auto const before = layout_record::from_text(found->body);
        layout_record next;
        next.number = (before ? before->number : layout_number_) + 1;
        std::string const body = next.to_text();
        ++counters_.writes;
        done = co_await store_.replace(id, body, found->version, request());
        co_await strand_.enter();
      } else {
        done = unexpected{found.error()};
      }
      if (done || done.error().code == errc::not_found) continue;
      wants_bump_ = true;
      if (done.error().code == errc::precondition_failed) continue;
      auto waiting = back_off(tries++, done.error());
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
    // Of one that was forgotten meanwhile nothing is to be heard any more.
    auto const known = leases_.find(one->id);
    if (known == leases_.end() || known->second != one) return;
    event.now = now();
    if (seen != nullptr) event.record = seen->record.facts;
    auto const before = one->machine.state();
    auto const effects = one->machine.step(event, terms_);
    if (effects.adopts && seen != nullptr) {
      one->record = seen->record;
      one->version = seen->version;
    }
    auto const state = one->machine.state();
    if (event.kind == facts_kind::written && seen != nullptr) {
      if (one->attempts == seen->record.attempts) one->attempts.reset();
      if (one->halted == seen->record.paused) one->halted.clear();
    }
    if (!is_own(state)) {
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
    if (effects.arms) rearm(one->machine.situation().deadline);
    if (state != before) {
      tell_change(one, before);
      if (!is_own(state)) one->next_beat = one->overdue_at = (instant::max)();
      changed_.notify();
    }
    if (effects.adopts && (state == lease_state::active || state == lease_state::draining))
      heed_requests(one);
  }
  void tell_change(lease_ptr const& one, lease_state before) {
    using enum lease_state;
    auto const state = one->machine.state();
    if (state == lost) {
      ++counters_.lost;
      tell(processor_event_kind::lost, one.get());
    } else if (before == releasing && state == watching) {
      bool const is_given = static_cast<bool>(one->record.facts.owner);
      if (is_given) ++counters_.handed_over;
      tell(is_given ? processor_event_kind::handed_over : processor_event_kind::released, one.get(),
           nullptr, one->record.facts.owner);
      bump_layout();
    } else if (state == ended && before == ending) {
      tell(processor_event_kind::ended, one.get());
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
    made.owner_name = facts.owner == terms_.session ? options_.host_name : std::string{};
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
    group_.spawn(write_lease(one, facts.stamp.number, one->version, one->sent.to_text()));
  }
  bool is_awaited(lease const& one, std::uint64_t number) const {
    auto const& at = one.machine.situation();
    return !is_over_ && at.write != lease_write::none && at.numbers == number;
  }
  task<> write_lease(lease_ptr one, std::uint64_t number, std::string version, std::string body) {
    for (int tries = 0;; ++tries) {
      auto const& at = one->machine.situation();
      bool const is_too_late = at.deadline != instant{} && !one->machine.holds(now());
      if (!is_awaited(*one, number)) co_return;
      if (is_too_late) {
        step(one, {.kind = facts_kind::unanswered, .number = number});
        co_return;
      }
      ++counters_.writes;
      auto answer = co_await store_.replace(one->id, body, version, request());
      co_await strand_.enter();
      if (!is_awaited(*one, number)) co_return;
      if (answer) {
        seen_record const seen{one->sent, *std::move(answer)};
        if (seen.record.facts.sequence != one->record.facts.sequence)
          tell(processor_event_kind::checkpointed, one.get());
        step(one, {.kind = facts_kind::written, .number = number}, &seen);
        co_return;
      }
      auto const code = answer.error().code;
      if (code == errc::precondition_failed) {
        ++counters_.refused;
        auto asking = read_lease(one, number, true);
        co_await std::move(asking);
        co_return;
      }
      if (code == errc::not_found) {
        step(one, {.kind = facts_kind::vanished, .number = number});
        co_return;
      }
      tell(processor_event_kind::store_failed, one.get(), &answer.error());
      if (!was_not_done(code)) {
        step(one, {.kind = facts_kind::unanswered, .number = number});
        co_return;
      }
      auto waiting = back_off(tries, answer.error());
      co_await std::move(waiting);
    }
  }
  void order_read_back(lease_ptr const& one) {
    if (one->is_reading_back) return;
    one->is_reading_back = true;
    group_.spawn(read_lease(one, one->machine.situation().numbers, true));
  }
  // Reads one record until it is answered, and tells what it shows of a write, or that it is there.
  task<> read_lease(lease_ptr one, std::uint64_t number, bool is_answer) {
    for (int tries = 0;; ++tries) {
      if (is_over_ || (is_answer && !is_awaited(*one, number))) break;
      ++counters_.reads;
      auto answer = co_await store_.read(one->id, request());
      co_await strand_.enter();
      if (is_over_ || (is_answer && !is_awaited(*one, number))) break;
      if (!answer && answer.error().code != errc::not_found) {
        auto waiting = back_off(tries, answer.error());
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
          tell(processor_event_kind::store_failed, one.get(), &record.error());
          auto waiting = back_off(6, record.error());
          co_await std::move(waiting);
          continue;
        }
        seen_record const seen{*std::move(record), std::move(answer->version)};
        bool const is_ours = seen.record.facts.stamp == lease_stamp{terms_.session, number};
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
    facts.held_for = terms_.hold;
    bury(one, facts);
  }

  // ---- reading and handling ------------------------------------------------------------------

  // What somebody has asked for in the record.
  void heed_requests(lease_ptr const& one) {
    if (one->machine.state() != lease_state::active) return;
    if (one->record.reset) {
      one->reset = one->record.reset;
      step(one, {.kind = facts_kind::given, .other = terms_.session});
      return;
    }
    if (!one->record.paused.empty()) {
      if (one->work && !one->work->is_closing) {
        one->work->is_parked = true;
        one->reason = close_reason::paused;
        close(*one->work);
      }
    } else if (!one->work && one->halted.empty()) {
      tell(processor_event_kind::resumed, one.get());
      begin_reading(one);
    }
  }

  void open(lease_ptr const& one) {
    ++counters_.acquired;
    one->children.clear();
    one->reset.reset();
    one->overdue_at = (instant::max)();
    one->told_sequence = one->record.facts.sequence;
    one->told_at = one->record.position.parts;
    one->weight = one->record.weight;
    one->weighed_at = now();
    if (terms_.liveness == liveness::per_lease) {
      one->next_beat = in(options_.lease_renew_interval / 2);
      rearm(one->next_beat);
    }
    tell(processor_event_kind::acquired, one.get());
    if (is_stopping_) {
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
    auto& parts = std::get<composite_cursor<token_type>>(request.start).parts;
    if (one->told_sequence > one->record.facts.sequence) parts = one->told_at;
    request.scope = one->record.range;
    request.page_size = options_.max_item_count;
    request.session_token = options_.session_token;
    position_type const at = parts;
    auto const sequence = (std::max)(one->told_sequence, one->record.facts.sequence);
    one->work = std::make_shared<reading>(
        lease_info<token_type>{one->id, one->record.range, one->record.facts.epoch}, strand_,
        source_.scheme(), source_.container(), std::move(request), sequence, at);
    auto& work = *one->work;
    work.lanes.resize(has_lanes<Handler, item_type> ? options_.lanes : 1);
    auto const& attempts = one->record.attempts;
    work.tried_before = attempts.sequence == sequence ? attempts.count : 0;
    group_.spawn(serve(one, one->work));
  }
  // Nothing more is begun: what is at work comes to its end.
  void close(reading& work) {
    work.is_closing = true;
    work.asking.request_stop();
    work.changed.notify();
  }
  void close_soon(lease_ptr const& one) {
    switch (one->machine.situation().reason) {
      case drain_reason::handover:
        one->reason = one->reset ? close_reason::reset : close_reason::handed_over;
        break;
      case drain_reason::range_gone:
        one->reason = close_reason::range_gone;
        break;
      default:
        one->reason = close_reason::shutdown;
        break;
    }
    one->overdue_at = in(options_.drain_limit);
    rearm(one->overdue_at);
    close_for_good(one);
  }
  void cancel(lease_ptr const& one) {
    one->reason = close_reason::lease_lost;
    one->overdue_at = (instant::max)();
    close_for_good(one);
  }
  // The lease goes, too.
  void close_for_good(lease_ptr const& one) {
    if (!one->work) {
      group_.spawn(report_closed(one));
      return;
    }
    one->work->is_parked = false;
    one->work->stop.request_stop();
    close(*one->work);
  }
  // Behind what the machine does now.
  task<> report_closed(lease_ptr one) {
    finish(one, one->told_sequence);
    co_return;
  }
  void finish(lease_ptr const& one, std::uint64_t sequence) {
    if (one->reset) {
      one->told_sequence = ++sequence;
      one->told_at = one->reset->parts;
      tell(processor_event_kind::reset, one.get());
    }
    step(one, {.kind = facts_kind::closed, .sequence = sequence});
  }

  task<> serve(lease_ptr one, std::shared_ptr<reading> work) {
    bool is_open = true;
    if constexpr (has_open<Handler, lease_info<token_type>>) {
      is_open = false;
      for (std::uint32_t tries = 1; !work->is_closing; ++tries) {
        co_await strand_.leave();
        auto opening = outcome_of([&]() -> decltype(auto) { return handler_.open(work->info); });
        result<void> const opened = co_await std::move(opening);
        co_await strand_.enter();
        is_open = opened.has_value();
        if (is_open) break;
        ++counters_.failures;
        tell(processor_event_kind::handler_failed, one.get(), &opened.error());
        if (tries >= options_.most_attempts) halt(one, *work, opened.error());
        if (work->is_closing) break;
        auto waiting = pause_for(delay_behind(tries), work->asking.token());
        co_await std::move(waiting);
      }
    }
    if (is_open) {
      work->at_work = 1 + work->lanes.size();
      group_.spawn(fetch(one, work));
      for (std::size_t lane = 0; lane < work->lanes.size(); ++lane)
        group_.spawn(handle(one, work, lane));
      while (work->at_work != 0) co_await work->changed.wait();
      if constexpr (has_close<Handler, lease_info<token_type>>) {
        auto const why = one->reason;
        co_await strand_.leave();
        auto closing =
            outcome_of([&]() -> decltype(auto) { return handler_.close(work->info, why); });
        result<void> const closed = co_await std::move(closing);
        co_await strand_.enter();
        if (!closed) tell(processor_event_kind::handler_failed, one.get(), &closed.error());
      }
    }
    one->told_sequence = work->batches.position();
    one->told_at = work->batches.at();
    one->lag = lag_of(*work);
    bool const is_parked = work->is_parked && one->machine.state() == lease_state::active;
    one->work.reset();
    if (is_parked) {
      tell(processor_event_kind::paused, one.get());
      step(one, {.kind = facts_kind::acknowledged, .sequence = one->told_sequence});
      // Somebody may have wanted it to go on meanwhile.
      if (one->record.paused.empty() && one->halted.empty()) heed_requests(one);
    } else {
      finish(one, one->told_sequence);
    }
    changed_.notify();
  }

  // Reads ahead of what is handled.
  task<> fetch(lease_ptr one, std::shared_ptr<reading> work) {
    auto& progress = work->progress;
    int failures = 0;
    if (!progress.sound()) {
      tell(processor_event_kind::source_failed, one.get(), &progress.sound().error());
      halt(one, *work, progress.sound().error());
    }
    while (!work->is_closing) {
      bool const is_full = work->queued >= options_.read_ahead * work->lanes.size() ||
                           work->batches.open() >= options_.most_unacknowledged;
      if (is_full) {
        co_await work->changed.wait();
        continue;
      }
      progress.stop_by(work->asking.token());
      auto const question = progress.next(now());
      if (question == feed_question::wait) {
        forgive(one, *work);
        static_cast<void>(co_await clock_.wait_until(progress.due(), work->asking.token()));
        co_await strand_.enter();
        continue;
      }
      std::optional<error> why;
      co_await strand_.leave();
      if (question == feed_question::topology) {
        auto answer = co_await source_.topology(progress.version());
        co_await strand_.enter();
        if (answer) {
          if (auto const taken = progress.take(*std::move(answer)); !taken) why = taken.error();
        } else {
          why = answer.error();
          progress.see(*why);
        }
        if (!why && progress.routing() && is_range_gone(one, *work)) break;
      } else {
        auto answer = co_await source_.read(progress.range(), progress.from(), progress.request());
        co_await strand_.enter();
        if (answer) {
          if (auto const accepted = progress.accept(*answer); !accepted) {
            why = accepted.error();
          } else {
            take_page(one, *work, *std::move(answer));
          }
        } else if (!progress.absorb(answer.error())) {
          why = answer.error();
        }
      }
      if (work->is_closing) break;
      if (!why) {
        failures = 0;
        continue;
      }
      tell(processor_event_kind::source_failed, one.get(), &*why);
      instant::duration delay = std::chrono::milliseconds{why->wire.retry_after_ms};
      if (delay == instant::duration::zero())
        delay = (std::min)(options_.feed_poll_delay,
                           options_.retry_delay * (1 << (std::min)(failures++, 10)));
      auto waiting = pause_for(jittered(delay), work->asking.token());
      co_await std::move(waiting);
    }
    leave_work(*work);
  }
  // Nothing lies behind the position, so whoever held the lease has not died of that.
  void forgive(lease_ptr const& one, reading& work) {
    if (work.tried_before == 0 || work.batches.open() != 0) return;
    work.tried_before = 0;
    one->attempts = lease_attempts{};
    checkpoint(one, true);
  }
  void leave_work(reading& work) {
    --work.at_work;
    work.changed.notify();
  }
  void take_page(lease_ptr const& one, reading& work, page_type page) {
    ++counters_.pages;
    std::string const before = work.progress.from().text();
    bool const has_moved = before != page.continuation || !std::ranges::empty(page.items);
    work.newest = page.lsn;
    work.is_at_end = page.nothing_new;
    instant const due = in(jittered(options_.feed_poll_delay));
    work.progress.pass(page.continuation, page.nothing_new, due);
    if (!has_moved) return;
    auto const size = std::ranges::size(page.items);
    std::vector<std::vector<std::uint32_t>> lanes(work.lanes.size());
    for (std::size_t i = 0; i < size; ++i) {
      std::size_t lane = 0;
      if constexpr (has_lanes<Handler, item_type>)
        lane = static_cast<std::size_t>(
            static_cast<std::uint64_t>(handler_.lane_of(std::ranges::data(page.items)[i])) %
            lanes.size());
      lanes[lane].push_back(static_cast<std::uint32_t>(i));
    }
    auto const pieces = static_cast<std::size_t>(
        std::count_if(lanes.begin(), lanes.end(), [](auto const& lane) { return !lane.empty(); }));
    auto const batch =
        work.batches.push(std::move(page), work.progress.cursor().parts, true, pieces);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      if (lanes[lane].empty()) continue;
      work.lanes[lane].push_back({batch, std::move(lanes[lane])});
      ++work.queued;
    }
    if (pieces == 0) moved(one, work);
    work.changed.notify();
  }
  // Whether the range is no partition's any more: it was split, or is a part of a larger one.
  bool is_range_gone(lease_ptr const& one, reading& work) {
    auto const& range = one->record.range;
    auto owners = work.progress.routing()->overlapping(range);
    std::vector<range_type> ranges;
    for (auto const& owner : owners)
      ranges.push_back(std::ranges::size(owners) == 1 ? owner.range
                                                      : *intersection(owner.range, range));
    if (ranges.size() == 1 && (ranges.front() == range || is_held_up(*one, ranges.front())))
      return false;
    one->children = grouped(std::move(ranges));
    step(one, {.kind = facts_kind::gone});
    return work.is_closing;
  }

  // Whether a merge waits for one that is paused: until then the others are read on as the parts of
  // a larger range that they are.
  bool is_held_up(lease const& one, range_type const& merged) const {
    return std::any_of(leases_.begin(), leases_.end(), [&](auto const& entry) {
      auto const& other = entry.second->record;
      return entry.second.get() != &one && other.facts.phase == lease_phase::open &&
             !other.paused.empty() && overlaps(other.range, merged);
    });
  }

  // Handles what comes on one lane, one piece after the other.
  task<> handle(lease_ptr one, std::shared_ptr<reading> work, std::size_t lane) {
    auto& queue = work->lanes[lane];
    while (!work->is_closing) {
      if (queue.empty()) {
        co_await work->changed.wait();
        continue;
      }
      piece next = std::move(queue.front());
      queue.pop_front();
      --work->queued;
      work->changed.notify();
      auto trying = try_piece(one, work, std::move(next));
      co_await std::move(trying);
    }
    leave_work(*work);
  }
  instant::duration delay_behind(std::uint32_t tries) {
    auto const delay = options_.retry_delay * (std::int64_t{1} << (std::min)(tries - 1, 20U));
    return jittered((std::min)(delay, options_.longest_retry_delay));
  }
  task<> try_piece(lease_ptr one, std::shared_ptr<reading> work, piece next) {
    std::uint32_t tries = 0;
    error last{errc::handler_failed, "hosts that have tried it died"};
    if (next.batch->sequence == work->batches.position() + 1)
      tries = std::exchange(work->tried_before, 0);
    for (;;) {
      if (tries >= options_.most_attempts) {
        auto giving_up = give_up(one, work, std::move(next), last);
        co_await std::move(giving_up);
        co_return;
      }
      if (work->is_closing || !may_go_on(one)) co_return;
      auto handling = hand_over(one, work, next, tries + 1);
      std::optional<result<void>> const outcome = co_await std::move(handling);
      if (!outcome) continue;
      result<void> const& done = *outcome;
      if (done) {
        ++counters_.batches;
        counters_.items += next.which.size();
        if (options_.checkpointing == checkpointing::automatic)
          acknowledge(one, *work, *next.batch);
        co_return;
      }
      ++tries;
      ++counters_.failures;
      last = done.error();
      tell(processor_event_kind::handler_failed, one.get(), &last);
      if (work->is_closing) co_return;
      // Kept with the position, so that it counts for who comes next, too.
      one->attempts = lease_attempts{work->batches.position(), tries};
      checkpoint(one, true);
      if (tries >= options_.most_attempts) continue;
      auto waiting = pause_for(delay_behind(tries), work->asking.token());
      co_await std::move(waiting);
    }
  }
  // Nothing is begun behind the deadline. What is passed over then leaves a gap, so the lease is
  // lost with it, whatever a beat that is on its way says.
  bool may_go_on(lease_ptr const& one) {
    if (one->machine.handles(now())) return true;
    step(one, {.kind = facts_kind::deadline});
    return false;
  }
  static batch_type batch_of(reading& work, piece const& next, std::uint32_t attempt,
                             acknowledgement done) {
    auto& items = next.batch->page.items;
    return {
        work.info,         std::span<item_type>{std::ranges::data(items), std::ranges::size(items)},
        next.which,        attempt,
        work.stop.token(), std::move(done)};
  }
  // None where it was too late to begin: others on this thread came first.
  task<std::optional<result<void>>> hand_over(lease_ptr one, std::shared_ptr<reading> work,
                                              piece const& next, std::uint32_t attempt) {
    instant const deadline = one->machine.situation().deadline;
    batch_type batch = batch_of(*work, next, attempt, acknowledgement_of(one, work, next));
    co_await strand_.leave();
    std::optional<result<void>> outcome;
    if (clock_.now() < deadline) {
      auto handling = outcome_of([&]() -> decltype(auto) {
        if constexpr (has_process<Handler, batch_type>) {
          return handler_.process(batch);
        } else {
          return handler_(batch);
        }
      });
      result<void> const done = co_await std::move(handling);
      outcome.emplace(done);
    }
    co_await strand_.enter();
    co_return outcome;
  }

  // Tried too often: the lease is paused, or each change by itself is tried once more and put
  // aside.
  task<> give_up(lease_ptr one, std::shared_ptr<reading> work, piece whole, error last) {
    if constexpr (has_park<Handler, batch_type>) {
      if (options_.on_poison == poison_manner::park) {
        for (std::uint32_t const which : whole.which) {
          // It says nothing of the whole.
          piece single{whole.batch, {which}, std::make_shared<std::atomic<bool>>(true)};
          result<void> done = unexpected{last};
          for (bool is_tried = whole.which.size() == 1; !is_tried;) {
            if (work->is_closing || !may_go_on(one)) co_return;
            auto handling = hand_over(one, work, single, options_.most_attempts + 1);
            std::optional<result<void>> const outcome = co_await std::move(handling);
            is_tried = outcome.has_value();
            if (is_tried) done = *outcome;
          }
          if (done) continue;
          if (work->is_closing || !may_go_on(one)) co_return;
          for (std::uint32_t tries = 1;; ++tries) {
            auto parking = park(work, single, done.error());
            result<void> const parked = co_await std::move(parking);
            if (parked) break;
            tell(processor_event_kind::handler_failed, one.get(), &parked.error());
            if (work->is_closing) co_return;
            auto waiting = pause_for(delay_behind(tries), work->asking.token());
            co_await std::move(waiting);
            if (work->is_closing || !may_go_on(one)) co_return;
          }
          ++counters_.parked;
          tell(processor_event_kind::parked, one.get(), &done.error());
        }
        ++counters_.batches;
        counters_.items += whole.which.size();
        if (!whole.is_said->exchange(true)) acknowledge(one, *work, *whole.batch);
        co_return;
      }
    }
    halt(one, *work,
         error{errc::handler_failed, "a batch failed ", options_.most_attempts,
               " times: ", last.text.empty() ? meaning_of(last.code) : last.text.view()});
  }
  task<result<void>> park(std::shared_ptr<reading> work, piece const& next, error why) {
    batch_type batch = batch_of(*work, next, options_.most_attempts + 1, {});
    co_await strand_.leave();
    auto parking = outcome_of([&]() -> decltype(auto) { return handler_.park(batch, why); });
    result<void> const done = co_await std::move(parking);
    co_await strand_.enter();
    co_return done;
  }
  void halt(lease_ptr const& one, reading& work, error const& why) {
    tell(processor_event_kind::halted, one.get(), &why);
    one->halted = std::string{why.text.empty() ? meaning_of(why.code) : why.text.view()};
    one->reason = close_reason::handler_failed;
    work.is_parked = true;
    close(work);
  }

  acknowledgement acknowledgement_of(lease_ptr const& one, std::shared_ptr<reading> const& work,
                                     piece const& next) {
    if (options_.checkpointing == checkpointing::automatic) return {};
    return acknowledgement{std::make_shared<std::function<void()>>(
        [inbox = inbox_, one = std::weak_ptr{one}, work = std::weak_ptr{work},
         batch = std::weak_ptr{next.batch}, is_said = next.is_said] {
          if (is_said->exchange(true)) return;
          inbox->push({one, work, batch});
        })};
  }

  void acknowledge(lease_ptr const& one, reading& work, typename batches_type::batch_type& batch) {
    auto const size = std::ranges::size(batch.page.items);
    std::optional<std::uint64_t> last;
    if (size != 0) last = lsn_of(std::ranges::data(batch.page.items)[size - 1]);
    if (!work.batches.acknowledge(batch)) return;
    if (last) work.handled = (std::max)(work.handled, *last);
    moved(one, work);
  }
  void moved(lease_ptr const& one, reading& work) {
    one->lag = lag_of(work);
    work.changed.notify();
    auto const& how = options_.checkpoint_frequency;
    bool const is_each = how.items == 0 && how.interval == instant::duration::zero();
    bool const is_enough = how.items != 0 && work.batches.count() >= how.items;
    // A lease that has not been read yet is to have a position of its own.
    bool const is_first = one->record.facts.sequence == 0;
    if (is_each || is_enough || is_first) {
      checkpoint(one);
    } else if (how.interval != instant::duration::zero() &&
               work.next_checkpoint == (instant::max)()) {
      work.next_checkpoint = in(how.interval);
      rearm(work.next_checkpoint);
    }
  }
  void checkpoint(lease_ptr const& one, bool is_wanted = false) {
    if (!one->work) return;
    auto& work = *one->work;
    work.next_checkpoint = (instant::max)();
    if (!is_wanted && !work.batches.has_news()) return;
    work.batches.clear_news();
    weigh(*one, work.batches.take_count());
    one->told_sequence = work.batches.position();
    one->told_at = work.batches.at();
    step(one, {.kind = facts_kind::acknowledged, .sequence = one->told_sequence});
  }
  // Its share of the work, in changes a second, over the last minute or so.
  void weigh(lease& one, std::size_t items) {
    instant const at = now();
    double const seconds = std::chrono::duration<double>(at - one.weighed_at).count();
    one.weighed_at = at;
    if (seconds <= 0) return;
    double const share = seconds / (seconds + 60);
    one.weight += (static_cast<double>(items) / seconds - one.weight) * share;
  }
  static std::optional<std::uint64_t> lag_of(reading const& work) {
    if (work.is_at_end && work.batches.open() == 0) return 0;
    if (work.newest == 0 || work.handled == 0) return std::nullopt;
    return work.newest > work.handled ? work.newest - work.handled : 0;
  }
  static std::optional<std::uint64_t> lag_of(lease const& one) {
    return one.work ? lag_of(*one.work) : one.lag;
  }

  // What is acknowledged by hand comes from any thread.
  task<> take_acknowledgements() {
    while (!is_over_) {
      co_await completion_of<void>([&](completer<void> done) { inbox_->wait(std::move(done)); });
      co_await strand_.enter();
      for (auto const& [of, from, what] : inbox_->take()) {
        auto const one = of.lock();
        auto const work = from.lock();
        auto const batch = what.lock();
        if (one && work && batch) acknowledge(one, *work, *batch);
      }
    }
  }

  // ---- looking around: who is there, and what is whose ---------------------------------------

  task<result<void>> begin() {
    auto ready = sound(options_);
    if (!ready) co_return ready;
    if constexpr (!has_park<Handler, batch_type>) {
      if (options_.on_poison == poison_manner::park)
        co_return fail(errc::invalid_options,
                       "on_poison is park, and the handler has no park(batch, why)");
    }
    if (options_.checkpointing == checkpointing::manual) group_.spawn(take_acknowledgements());
    for (int tries = 0; !is_stopping_; ++tries) {
      auto making = make_leases();
      result<void> const made = co_await std::move(making);
      if (made) break;
      if (is_for_good(made.error().code)) co_return made;
      tell(processor_event_kind::store_failed, nullptr, &made.error());
      auto waiting = back_off(tries, made.error());
      co_await std::move(waiting);
    }
    for (int tries = 0; options_.discard_existing_leases && !has_made_leases_ && !is_stopping_;
         ++tries) {
      lease_control<Source, Store> control{source_, store_, options_.lease_prefix, request()};
      auto resetting = control.reset(whole_space(source_.scheme()), options_.start);
      auto const done = co_await std::move(resetting);
      co_await strand_.enter();
      if (done) break;
      if (is_for_good(done.error().code)) co_return unexpected{done.error()};
      tell(processor_event_kind::store_failed, nullptr, &done.error());
      // Where leases have ended whose children nobody has made yet.
      auto looking = look_once(true);
      co_await std::move(looking);
      auto waiting = back_off(tries, done.error());
      co_await std::move(waiting);
    }
    if (options_.on_stop == stop_manner::keep_place && !is_stopping_) {
      std::string const members = ids_.members();
      auto const hosts = co_await store_.list(members, request());
      co_await strand_.enter();
      place_ = draw() | 1;
      if (hosts) {
        see_members(*hosts);
        auto taking = take_a_place();
        co_await std::move(taking);
      }
    }
    if (!is_stopping_) step_member({.kind = member_event_kind::start});
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
        return true;
      default:
        return false;
    }
  }

  // The leases of a store that has none: one that has ended before it began, whose children are the
  // ranges of all partitions. Whoever creates it decides for all which these are.
  task<result<void>> make_leases() {
    std::string const layout = ids_.layout();
    ++counters_.reads;
    auto found = co_await store_.read(layout, request());
    co_await strand_.enter();
    if (found) co_return result<void>{};
    if (found.error().code != errc::not_found) co_return unexpected{found.error()};

    std::string const leases = ids_.leases();
    ++counters_.lists;
    auto listed = co_await store_.list(leases, request());
    co_await strand_.enter();
    if (!listed) co_return unexpected{listed.error()};
    if (!listed->empty()) {
      auto marking = mark_leases_made();
      result<void> const marked = co_await std::move(marking);
      co_return marked;
    }

    feed_request<token_type> asked;
    asked.start = options_.start;
    asked.mode = options_.mode;
    asked.session_token = options_.session_token;
    asked.stop = asking_.token();
    co_await strand_.leave();
    auto opening = position_of_start(source_, std::move(asked));
    auto const opened = co_await std::move(opening);
    co_await strand_.enter();
    if (!opened) co_return unexpected{opened.error()};

    auto const& position = *opened;
    std::vector<range_type> ranges;
    for (auto const& part : position.parts) ranges.push_back(part.range);
    auto const range = *range_type::from(ranges.front().lower(), ranges.back().upper());
    record_type root{range};
    root.facts.stamp = {terms_.session, draw()};
    root.facts.held_for = terms_.hold;
    root.position = position;
    if (ranges.size() > 1) {
      root.facts.phase = lease_phase::ended;
      bool const is_large = ranges.size() > most_children;
      root.children = grouped(std::move(ranges));
      // Too many to write down: their leases find them again, from the same start.
      if (is_large) root.position.parts = {cursor<token_type>{range, start_of_leases()}};
    }
    auto creating = create_record(root);
    auto const created = co_await std::move(creating);
    if (!created && created.error().code != errc::already_exists)
      co_return unexpected{created.error()};
    auto marking = mark_leases_made();
    result<void> const marked = co_await std::move(marking);
    if (marked && created) {
      has_made_leases_ = true;
      tell(processor_event_kind::leases_made);
    }
    co_return marked;
  }
  // As long as somebody else waits for what this host holds.
  instant::duration own_wait() const {
    return wait_before_taking(terms_.hold, terms_.rate_bound_ppm);
  }
  std::string id_of(record_type const& record) const {
    return ids_.lease(source_.scheme().name(), record.range);
  }
  // Its version, where nobody has created it before.
  task<result<std::string>> create_record(record_type const& record) {
    std::string const id = id_of(record);
    std::string const body = record.to_text();
    ++counters_.writes;
    auto answer = co_await store_.create(id, body, request());
    co_await strand_.enter();
    co_return answer;
  }
  // From here on nobody makes them anew.
  task<result<void>> mark_leases_made() {
    std::string const id = ids_.layout();
    std::string const body = layout_record{1}.to_text();
    ++counters_.writes;
    auto marked = co_await store_.create(id, body, request());
    co_await strand_.enter();
    if (!marked && marked.error().code != errc::already_exists)
      co_return unexpected{marked.error()};
    co_return result<void>{};
  }
  continuation start_of_leases() const {
    if (std::holds_alternative<from_now_type>(options_.start)) return from_now;
    if (auto const* moment = std::get_if<from_time>(&options_.start)) return *moment;
    return from_beginning;
  }

  task<> look_around() {
    instant full_at = now();
    while (!is_over_) {
      bool const is_settled = settles_at_ != instant{} && now() >= settles_at_;
      bool const is_full = now() >= full_at || wants_list_ || is_settled;
      if (is_full) full_at = in(jittered(options_.lease_acquire_interval));
      auto looking = look_once(is_full);
      co_await std::move(looking);
      if (is_over_) break;
      auto const poll = options_.layout_poll_interval;
      instant next = full_at;
      if (poll != instant::duration::zero()) next = (std::min)(next, in(jittered(poll)));
      // Soon, but not for ever where it does not help.
      hurries_ = wants_list_ ? (std::min)(hurries_ + 1, 8) : 0;
      if (hurries_ != 0)
        next = (std::min)(next, in(jittered(std::chrono::milliseconds{10} * (1 << hurries_))));
      if (expects_leases_) next = (std::min)(next, in(std::chrono::milliseconds{250}));
      if (settles_at_ > now()) next = (std::min)(next, settles_at_);
      look_at_ = next;
      is_look_due_ = false;
      rearm(next);
      while (!is_look_due_ && !is_over_) {
        co_await look_now_.wait();
        if (look_at_ <= now()) break;
      }
    }
  }
  task<> watch_layout() {
    std::string const id = ids_.layout();
    while (!is_over_) {
      store_request const asked{in(options_.lease_acquire_interval), asking_.token()};
      auto const seen = co_await store_.watch(id, asked);
      co_await strand_.enter();
      if (seen) {
        look_at_ = now();
        is_look_due_ = true;
        look_now_.notify();
      }
      auto waiting = pause_for(
          seen ? std::chrono::milliseconds{20} : std::chrono::milliseconds{500}, asking_.token());
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
    std::string const layout = ids_.layout();
    ++counters_.reads;
    auto found = co_await store_.read(layout, request());
    co_await strand_.enter();
    std::uint64_t number = layout_number_;
    if (found) {
      if (auto const read = layout_record::from_text(found->body)) number = read->number;
    } else if (found.error().code == errc::not_found) {
      auto making = make_leases();
      static_cast<void>(co_await std::move(making));
      is_full = true;
    } else {
      tell(processor_event_kind::store_failed, nullptr, &found.error());
    }
    bool const has_moved = number != layout_number_;
    if (!is_full && !has_moved && !wants_list_) co_return;

    std::string const members = ids_.members();
    ++counters_.lists;
    auto hosts = co_await store_.list(members, request());
    co_await strand_.enter();
    if (!hosts) {
      tell(processor_event_kind::store_failed, nullptr, &hosts.error());
      co_return;
    }
    bool const has_new_members = see_members(*hosts);
    auto fencing = fence_the_silent();
    bool const has_fenced = co_await std::move(fencing);

    bool const wants_leases = has_moved || wants_list_ || has_new_members || has_fenced ||
                              terms_.liveness == liveness::per_lease || has_moves_ ||
                              std::exchange(wants_leases_, false) || ++rounds_ % 4 == 0;
    if (wants_leases) {
      wants_list_ = false;
      std::string const leases = ids_.leases();
      instant const began = now();
      ++counters_.lists;
      auto listed = co_await store_.list(leases, request());
      co_await strand_.enter();
      if (!listed) {
        tell(processor_event_kind::store_failed, nullptr, &listed.error());
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
    bool is_new = false;
    std::map<session_id, bool> there;
    for (auto const& one : found) {
      if (ids_.kind_of(one.id) != record_kind::member) continue;
      auto const record = member_record::from_text(one.body);
      if (!record) {
        tell(processor_event_kind::store_failed, nullptr, &record.error());
        continue;
      }
      there[record->session] = true;
      auto& known = members_[record->session];
      auto const before = known.watch.phase;
      bool const was_there = known.watch.is_seen && !known.watch.is_absent;
      known.watch.session = record->session;
      known.watch.see(record->phase, record->beat, record->held_for, now());
      if (!was_there || known.watch.phase != before) {
        is_new = true;
        if (!was_there && record->session != terms_.session && record->phase == member_phase::live)
          last_joined_at_ = now();
      }
      known.record = *record;
      known.version = one.version;
    }
    for (auto& [session, known] : members_) {
      if (there.contains(session) || session == terms_.session) continue;
      if (!known.watch.is_absent) is_new = true;
      known.watch.miss(now());
    }
    return is_new;
  }
  bool is_overdue(session_id session) const {
    auto const found = members_.find(session);
    return found != members_.end() && found->second.watch.is_overdue(now(), terms_.rate_bound_ppm);
  }
  // Whether nothing of that session can be active any more, as the store shows to everybody.
  bool is_fenced(session_id session) const {
    auto const found = members_.find(session);
    if (found == members_.end()) return false;
    auto const& watch = found->second.watch;
    return !watch.is_absent &&
           (watch.phase == member_phase::fenced || watch.phase == member_phase::away);
  }
  // Writes into the records of members who were silent for too long that their sessions are over.
  task<bool> fence_the_silent() {
    bool has_fenced = false;
    // Leases that are held by themselves run out by themselves.
    if (terms_.liveness == liveness::per_lease) co_return false;
    std::vector<session_id> silent;
    for (auto const& [session, known] : members_) {
      if (session == terms_.session || is_fenced(session) || !is_overdue(session)) continue;
      // Of one without a record that owns nothing there is nothing to take.
      if (known.watch.is_absent && !owns_something(session)) continue;
      silent.push_back(session);
    }
    for (session_id const session : silent) {
      auto const known = members_[session];
      std::string const id = ids_.member(session);
      member_record record = known.record;
      record.session = session;
      record.phase = member_phase::fenced;
      ++record.beat;
      std::string const body = record.to_text();
      ++counters_.writes;
      result<std::string> answer{std::string{}};
      if (known.watch.is_absent) {
        answer = co_await store_.create(id, body, request());
      } else {
        answer = co_await store_.replace(id, body, known.version, request());
      }
      co_await strand_.enter();
      if (!answer) {
        if (answer.error().code == errc::precondition_failed) ++counters_.refused;
        continue;
      }
      auto& fenced = members_[session];
      fenced.record = record;
      fenced.version = *std::move(answer);
      fenced.watch.see(member_phase::fenced, record.beat, record.held_for, now());
      has_fenced = true;
      tell(processor_event_kind::member_fenced, nullptr, nullptr, session);
    }
    if (has_fenced) bump_layout();
    co_return has_fenced;
  }
  // Records of members who are gone for good, and own nothing any more.
  task<> remove_the_gone() {
    for (auto const& [session, known] : std::map{members_}) {
      if (session == terms_.session || !known.watch.is_seen || known.watch.is_absent) continue;
      bool is_gone = known.watch.phase == member_phase::fenced;
      if (known.watch.phase == member_phase::away)
        is_gone = now() >= instant_after(known.watch.since, 2 * options_.place_kept_for);
      // Where sessions say nothing of leases nobody fences them.
      if (terms_.liveness == liveness::per_lease && is_overdue(session)) is_gone = true;
      if (!is_gone || owns_something(session)) continue;
      std::string const id = ids_.member(session);
      ++counters_.writes;
      auto const removed = co_await store_.remove(id, known.version, request());
      co_await strand_.enter();
      if (removed) members_[session].watch.miss(now());
    }
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
      if (ids_.kind_of(stored.id) != record_kind::lease) continue;
      auto const known = leases_.find(stored.id);
      bool const is_held = known != leases_.end() && is_own(known->second->machine.state());
      if (known != leases_.end()) known->second->is_listed = true;
      // A list may be stale: of what is this host's the record itself is read.
      if (is_held) {
        if (known->second->version != stored.version) look_at_record(known->second);
        continue;
      }
      if (known != leases_.end() && known->second->version == stored.version &&
          known->second->machine.state() == lease_state::watching &&
          known->second->record.facts.owner != terms_.session)
        continue;
      auto record = record_type::from_text(source_.scheme(), stored.body);
      if (!record) {
        tell(processor_event_kind::store_failed, nullptr, &record.error());
        continue;
      }
      lease_ptr one;
      if (known != leases_.end()) {
        one = known->second;
      } else {
        one = std::make_shared<lease>(stored.id, *record, draw() >> 16);
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
      if (!owner || owner == terms_.session || owner == departed_session) continue;
      auto& known = members_[owner];
      if (known.watch.is_seen) continue;
      known.watch.session = owner;
      known.watch.held_for = one->record.facts.held_for;
      known.watch.miss(now());
    }
  }
  void look_at_record(lease_ptr const& one) {
    if (one->is_looking) return;
    one->is_looking = true;
    group_.spawn(read_lease(one, 0, false));
  }

  // What splits and merges have left to do, and records that were removed by hand.
  task<> complete_changes(instant began) {
    std::vector<record_type> records;
    std::vector<lease_ptr> all = all_leases();
    for (auto const& one : all) records.push_back(one->record);
    auto const created = leases_to_create<token_type>(records);
    auto const removed = leases_to_remove<token_type>(records);
    obsolete_.clear();
    for (std::size_t const i : removed) obsolete_.push_back(all[i]->id);
    bool has_changed = false;
    for (auto child : created) {
      child.facts.stamp = {terms_.session, draw()};
      child.facts.held_for = terms_.hold;
      std::string const id = id_of(child);
      // One that was there before has gone further: somebody has removed it by hand.
      if (auto const found = buried_.find(id); found != buried_.end()) {
        wants_leases_ = true;
        if (now() < instant_after(found->second.since, own_wait())) continue;
        auto const stamp = child.facts.stamp;
        child = found->second.record;
        child.facts.stamp = stamp;
      }
      // What is seen now is not to be acted on much later.
      if (now() >= instant_after(began, terms_.hold)) co_return;
      auto creating = create_record(child);
      auto answer = co_await std::move(creating);
      if (!answer) {
        if (answer.error().code != errc::already_exists)
          tell(processor_event_kind::store_failed, nullptr, &answer.error());
        wants_list_ = true;
        continue;
      }
      has_changed = true;
      auto const one = std::make_shared<lease>(id, child, draw() >> 16);
      leases_.insert_or_assign(id, one);
      seen_record const seen{child, *std::move(answer)};
      step(one, {.kind = facts_kind::listed}, &seen);
      tell(processor_event_kind::created, one.get());
    }
    for (std::size_t const i : removed) {
      auto const& one = all[i];
      if (is_own(one->machine.state())) continue;
      // What makes a child impossible stays until whoever may still try to create it has given up.
      if (is_void(one->record)) {
        if (!one->ended_since) one->ended_since = now();
        wants_leases_ = true;
        if (now() < instant_after(*one->ended_since, own_wait())) continue;
      }
      ++counters_.writes;
      std::string const version = one->version;
      auto answer = co_await store_.remove(one->id, version, request());
      co_await strand_.enter();
      bool const is_gone = answer || answer.error().code == errc::not_found;
      if (!is_gone || is_own(one->machine.state())) {
        look_at_record(one);
        continue;
      }
      if (answer) tell(processor_event_kind::removed, one.get());
      leases_.erase(one->id);
      has_changed = true;
    }
    for (auto const& [which, child] : leases_to_end<token_type>(records)) {
      auto const& one = all[which];
      if (!one->work || one->work->is_closing) continue;
      one->children = {child};
      step(one, {.kind = facts_kind::gone});
    }
    auto reopening = reopen_the_stuck(records, created, removed);
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
  task<> reopen_the_stuck(std::vector<record_type> const& records,
                          std::vector<record_type> const& created,
                          std::vector<std::size_t> const& removed) {
    auto const wait = own_wait();
    auto const all = all_leases();
    for (auto const& one : all) {
      auto const& record = one->record;
      if (record.facts.phase != lease_phase::ended || is_own(one->machine.state())) {
        one->ended_since.reset();
        one->waits_since.reset();
        continue;
      }
      if (!one->ended_since) one->ended_since = now();
      if (record.children.size() != 1) continue;
      auto const range = record.children.front();
      auto const is_of_range = [&](record_type const& other) { return other.range == range; };
      bool const is_waiting = std::none_of(records.begin(), records.end(), is_of_range) &&
                              std::none_of(created.begin(), created.end(), is_of_range);
      bool const is_old = std::any_of(removed.begin(), removed.end(), [&](std::size_t i) {
        return records[i].range == record.range;
      });
      if (!is_waiting || is_old || range == record.range) {
        one->waits_since.reset();
        continue;
      }
      // Where the child was impossible for a while, others have the time to wait for it now, too.
      if (!one->waits_since) one->waits_since = now();
      wants_leases_ = true;
      if (now() < instant_after(*one->waits_since, wait)) continue;

      record_type none{range};
      none.facts = {
          .phase = lease_phase::ended, .stamp = {terms_.session, draw()}, .held_for = terms_.hold};
      none.position = record.position;
      none.position.parts = {cursor<token_type>{range, from_beginning}};
      auto blocking = create_record(none);
      auto const blocked = co_await std::move(blocking);
      wants_list_ = true;
      if (!blocked) continue;

      record_type opened = one->record;
      opened.facts.phase = lease_phase::open;
      opened.facts.stamp = {terms_.session, draw()};
      opened.children.clear();
      std::string const again = opened.to_text();
      ++counters_.writes;
      std::string const version = one->version;
      auto const done = co_await store_.replace(one->id, again, version, request());
      co_await strand_.enter();
      if (done) tell(processor_event_kind::reopened, one.get());
      look_at_record(one);
      bump_layout();
    }
  }

  // Ranges that are nobody's: their records were removed by hand. Epochs of records that are made
  // anew lie beyond all that somebody may have had of whom nobody knows: each takes a step of 2^32,
  // and the layout's number goes up with each. They are made anew where they
  // stood, as far as somebody remembers, and from the start where nobody does; not before the last
  // owner has stopped, and has had the time to say where it stood.
  task<> fill_holes() {
    std::vector<record_type> records;
    for (auto const& [id, one] : leases_) records.push_back(one->record);
    auto const whole = whole_space(source_.scheme());
    auto const holes = ranges_without_a_lease<token_type>(whole, records);
    auto const wait = own_wait();
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
      feed_request<token_type> asked;
      asked.start = options_.start;
      asked.mode = options_.mode;
      asked.scope = range;
      asked.stop = asking_.token();
      co_await strand_.leave();
      auto opening = position_of_start(source_, std::move(asked));
      auto opened = co_await std::move(opening);
      co_await strand_.enter();
      if (!opened) co_return;
      record_type fresh{range};
      fresh.position = *std::move(opened);
      fresh.facts = {.is_detached = true,
                     .owner = departed_session,
                     .epoch = (layout_number_ + 1) << 32,
                     .held_for = terms_.hold};
      made.push_back(std::move(fresh));
    }
    for (auto& record : made) {
      record.facts.stamp = {terms_.session, draw()};
      auto creating = create_record(record);
      auto const answer = co_await std::move(creating);
      if (!answer) continue;
      lease const filled{id_of(record), record, 0};
      tell(processor_event_kind::restored, &filled);
      bump_layout();
    }
    wants_list_ = true;
  }

  // ---- the plan --------------------------------------------------------------------------------

  void share_out() {
    if (terms_.session_until == instant{} || member_.state() != member_state::live) return;
    if (is_stopping_ && !gives_away_) return;
    settles_at_ = instant{};
    if (!is_stopping_) {
      // Who has come waits a little for others that are coming, and so do all others.
      instant const last = (std::max)(last_joined_at_, joined_at_);
      instant const settled = instant_after(last, options_.settle_window);
      if (now() >= settled) {
        unsettled_since_.reset();
      } else {
        if (!unsettled_since_) unsettled_since_ = now();
        instant const at_last = instant_after(*unsettled_since_, options_.lease_acquire_interval);
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
    add(own_record(member_phase::live, 0), is_stopping_);
    for (auto const& [session, known] : members_) {
      bool const is_there =
          !known.watch.is_absent && !is_overdue(session) &&
          (known.watch.phase == member_phase::live || known.watch.phase == member_phase::draining);
      if (session == terms_.session || !is_there) continue;
      add(known.record, known.watch.phase == member_phase::draining);
    }
    std::vector<planned_lease> planned;
    std::vector<lease_ptr> which;
    for (auto const& [id, one] : leases_) {
      auto const& facts = one->record.facts;
      auto const state = one->machine.state();
      bool const is_obsolete = std::find(obsolete_.begin(), obsolete_.end(), id) != obsolete_.end();
      if (facts.phase != lease_phase::open || is_obsolete || state == lease_state::ended) continue;
      std::uint32_t owner = kept_lease;
      if (state == lease_state::acquiring || state == lease_state::active ||
          state == lease_state::draining || state == lease_state::drained) {
        owner = 0;  // what is on its way to somebody counts here until it is there
      } else if (is_own(state)) {
        owner = kept_lease;
      } else if (!facts.owner) {
        owner = owner_of_place(facts.place, index);
        if (owner == 0 && !is_stopping_) step(one, {.kind = facts_kind::wanted});
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
        {.by = options_.balance_by, .most_moves_of_donor = options_.most_moves_of_donor});
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
    if (terms_.liveness == liveness::per_session) {
      if (is_fenced(facts.owner)) return true;
      if (!facts.is_detached) return false;
    }
    auto const wait = wait_before_taking(facts.held_for, terms_.rate_bound_ppm);
    return now() >= instant_after(one.machine.situation().since, wait);
  }
  // Whose a lease is that waits for who takes a place.
  std::uint32_t owner_of_place(std::uint64_t place,
                               std::map<session_id, std::uint32_t> const& index) const {
    if (place == 0) return free_lease;
    if (place == place_) return 0;
    std::uint32_t owner = free_lease;
    for (auto const& [session, known] : members_) {
      if (known.record.place != place || known.watch.is_absent) continue;
      if (auto const found = index.find(session); found != index.end()) return found->second;
      bool const is_kept = known.watch.phase == member_phase::away &&
                           now() < instant_after(known.watch.since, options_.place_kept_for);
      if (is_kept) owner = kept_lease;
    }
    return owner;
  }
  // Takes over the place of somebody who has left it, if there is one.
  task<> take_a_place() {
    for (auto const& [session, known] : std::map{members_}) {
      if (known.watch.is_absent || known.watch.phase != member_phase::away) continue;
      std::string const id = ids_.member(session);
      auto const removed = co_await store_.remove(id, known.version, request());
      co_await strand_.enter();
      if (!removed) continue;
      members_[session].watch.miss(now());
      place_ = known.record.place;
      co_return;
    }
  }

  // ---- the end ---------------------------------------------------------------------------------

  task<> wind_up() {
    is_stopping_ = true;
    if (member_.state() == member_state::absent) co_return;  // it never took part
    instant const at_last = in(options_.drain_limit + options_.lease_expiration_interval);
    if (options_.on_stop == stop_manner::keep_place) terms_.place = place_;
    terms_.is_stopping = true;
    bool const hands_over = options_.on_stop == stop_manner::hand_over;
    if (hands_over) {
      step_member({.kind = member_event_kind::drain});
      bump_layout();
      // Who is to take its leases hears of it first, and then waits for them: it works on
      // meanwhile.
      bool const is_alone = std::none_of(members_.begin(), members_.end(), [&](auto const& entry) {
        return entry.first != terms_.session && !entry.second.watch.is_absent &&
               entry.second.watch.phase == member_phase::live && !is_overdue(entry.first);
      });
      instant const noticed = is_alone ? now() : in(options_.leaving_notice);
      while (now() < noticed) {
        auto waiting = changed_or(noticed);
        co_await std::move(waiting);
      }
      gives_away_ = true;
      auto looking = look_once(true);
      co_await std::move(looking);
    }
    for (auto const& one : all_leases()) step(one, {.kind = facts_kind::stop});
    while (has_work() && now() < at_last) {
      auto waiting = changed_or(at_last);
      co_await std::move(waiting);
    }
    step_member({.kind = member_event_kind::leave});
    while (member_.state() != member_state::gone && member_.state() != member_state::lost &&
           now() < at_last) {
      auto waiting = changed_or(at_last);
      co_await std::move(waiting);
    }
    if (member_.state() == member_state::gone) {
      tell(processor_event_kind::left);
      bump_layout();
      while (is_bumping_ && now() < at_last) {
        auto waiting = changed_or(at_last);
        co_await std::move(waiting);
      }
    }
  }
  // Until something has changed, or for a while.
  task<> changed_or(instant at_last) {
    instant const soon = (std::min)(at_last, in(std::chrono::milliseconds{50}));
    static_cast<void>(co_await clock_.wait_until(soon, {}));
    co_await strand_.enter();
  }

  // Acknowledgements from other threads, and who takes them.
  class inbox {
   public:
    struct entry {
      std::weak_ptr<lease> of;
      std::weak_ptr<reading> from;
      std::weak_ptr<typename batches_type::batch_type> what;
    };

    void push(entry one) {
      std::optional<completer<void>> told;
      {
        std::lock_guard const lock{mutex_};
        if (is_over_) return;
        entries_.push_back(std::move(one));
        told.swap(waiting_);
      }
      if (told) (*told)();
    }
    void wait(completer<void> done) {
      {
        std::lock_guard const lock{mutex_};
        if (entries_.empty() && !is_over_) {
          waiting_.emplace(std::move(done));
          return;
        }
      }
      done();
    }
    std::vector<entry> take() {
      std::lock_guard const lock{mutex_};
      return std::exchange(entries_, {});
    }
    void end() {
      std::optional<completer<void>> told;
      {
        std::lock_guard const lock{mutex_};
        is_over_ = true;
        told.swap(waiting_);
      }
      if (told) (*told)();
    }

   private:
    std::mutex mutex_{};
    bool is_over_ = false;
    std::vector<entry> entries_{};
    std::optional<completer<void>> waiting_{};
  };

  struct member {
    member_record record{};
    std::string version{};
    member_watch watch{};
  };

  Source& source_;
  Store& store_;
  Clock& clock_;
  options_type options_;
  Handler& handler_;
  lease_ids ids_;
  lease_terms terms_{};
  std::uint64_t numbers_ = 0;
  std::uint64_t place_ = 0;

  strand strand_{};
  task_group group_{strand_};
  signal changed_{strand_};
  signal look_now_{strand_};
  signal rearmed_{strand_};
  stop_source asking_{};
  stop_source alarm_{};
  instant alarm_at_ = (instant::max)();
  std::shared_ptr<inbox> inbox_ = std::make_shared<inbox>();

  member_machine member_{};
  std::string member_version_{};
  instant member_beat_ = (instant::max)();
  std::map<session_id, member> members_{};
  instant joined_at_{};
  instant last_joined_at_{};
  instant settles_at_{};
  std::optional<instant> unsettled_since_{};

  std::map<std::string, lease_ptr, std::less<>> leases_{};
  std::vector<std::string> obsolete_{};
  struct buried {
    record_type record;
    instant since;
  };
  std::map<std::string, buried> buried_{};
  std::vector<range_type> holes_{};
  instant holes_since_{};
  std::uint64_t layout_number_ = 0;
  std::uint64_t rounds_ = 0;
  instant look_at_ = (instant::max)();
  bool is_look_due_ = false;
  bool wants_list_ = true;     // soon
  bool wants_leases_ = false;  // with the next look at all of it
  bool wants_bump_ = false;
  bool is_bumping_ = false;
  bool has_moves_ = false;
  bool has_made_leases_ = false;
  bool expects_leases_ = false;
  int hurries_ = 0;  // looks in a row behind which there was more to look at
  planner planner_{};

  bool is_stopping_ = false;
  bool gives_away_ = false;
  bool has_begun_ = false;
  bool is_over_ = false;
  processor_counters counters_{};
};

}  // namespace detail
}  // namespace keyspan
