// keyspan/processor/membership.hpp — this host's own record, by which others know that it lives.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/processor_event.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace keyspan {

namespace detail {

// Who is told how the host's session fares. All of it is called inside of the host's strand.
class membership_listener {
 public:
  membership_listener() = default;
  membership_listener(membership_listener const&) = delete;
  membership_listener& operator=(membership_listener const&) = delete;

  // Others know that it lives; `is_first` where they did not before.
  virtual void has_beaten(bool is_first) = 0;
  // Others have fenced it, and it joins anew under this session.
  virtual void has_lost_session() = 0;
  virtual void has_left() = 0;

 protected:
  ~membership_listener() = default;
};

template <token Token, lease_store Store, clock Clock>
class membership {
 public:
  membership(host_context<Token, Clock>& host, Store& store, membership_listener& listener)
      : host_{host}, store_{store}, listener_{listener} {}

  member_state state() const noexcept { return machine_.state(); }
  bool is_live() const noexcept {
    return host_.terms.session_until != instant{} && machine_.state() == member_state::live;
  }
  // The place that others keep for it, or that it has taken over; 0 is none.
  std::uint64_t place() const noexcept { return place_; }
  void set_place(std::uint64_t place) noexcept { place_ = place; }

  member_record record(member_phase phase, std::uint64_t beat) const {
    member_record made;
    made.session = host_.terms.session;
    made.name = host_.options.host_name;
    made.phase = phase;
    made.beat = beat;
    made.held_for = host_.terms.hold;
    made.least = host_.options.min_lease_count;
    made.most = host_.options.max_lease_count;
    made.place = place_;
    return made;
  }

  void join() { step({.kind = member_event_kind::start}); }
  void drain() { step({.kind = member_event_kind::drain}); }
  void leave() { step({.kind = member_event_kind::leave}); }
  // When the next beat is due.
  instant next_beat() const noexcept { return next_beat_; }
  void beat() {
    next_beat_ = host_.in(host_.jittered(host_.options.lease_renew_interval));
    step({.kind = member_event_kind::beat_due});
  }

 private:
  void step(member_event event) {
    event.now = host_.now();
    auto const effects = machine_.step(event, host_.terms);
    if (effects.is_beaten) {
      bool const is_first = host_.terms.session_until == instant{};
      host_.terms.session_until = machine_.holds_until();
      if (is_first) {
        next_beat_ = host_.in(host_.options.lease_renew_interval / 2);
        host_.tell(processor_event_kind::joined);
      }
      listener_.has_beaten(is_first);
    }
    if (effects.is_lost) lose_session();
    if (effects.creates || effects.writes || effects.removes)
      host_.group.spawn(write(effects, host_.terms.session));
    if (effects.reads_back) host_.group.spawn(read_back(machine_.beat(), host_.terms.session));
    if (machine_.state() == member_state::gone) listener_.has_left();
  }
  // Joins anew: where sessions vouch for leases, under another name, since others may hold the
  // first one for over for ever.
  void lose_session() {
    host_.tell(processor_event_kind::session_lost);
    host_.terms.session_until = instant{};
    version_.clear();
    std::uint64_t const beat = machine_.beat();
    if (host_.terms.liveness == liveness::per_session) {
      listener_.has_lost_session();
      host_.terms.session = session_id{host_.draw() | 1};
    }
    machine_ = member_machine{beat};
    if (!host_.is_stopping) join();
  }

  task<> write(member_effects effects, session_id session) {
    auto const body = record(effects.phase, effects.beat).to_text();
    std::string const id = host_.ids.member(session);
    for (std::uint32_t failures = 1;; ++failures) {
      ++host_.counters.writes;
      result<std::string> answer{std::string{}};
      if (effects.creates) {
        answer = co_await store_.create(id, body, host_.request());
      } else if (effects.writes) {
        answer = co_await store_.replace(id, body, version_, host_.request());
      } else {
        result<void> const removed = co_await store_.remove(id, version_, host_.request());
        if (!removed) answer = unexpected{removed.error()};
      }
      co_await host_.inside.enter();
      if (session != host_.terms.session) co_return;
      member_event told{.beat = effects.beat};
      if (answer) {
        if (!effects.removes) version_ = *std::move(answer);
        told.kind = member_event_kind::written;
        step(told);
        co_return;
      }
      auto const code = answer.error().code;
      if (code == errc::precondition_failed || code == errc::already_exists) {
        ++host_.counters.refused;
        auto asking = read_back(effects.beat, session);
        co_await std::move(asking);
        co_return;
      }
      if (code == errc::not_found) {
        told.kind = member_event_kind::vanished;
        step(told);
        co_return;
      }
      host_.tell(processor_event_kind::store_failed, &answer.error());
      if (host_.is_over) co_return;
      if (!was_not_done(code)) {
        told.kind = member_event_kind::unanswered;
        step(told);
        co_return;
      }
      auto waiting = host_.back_off(failures, answer.error());
      co_await std::move(waiting);
      if (host_.is_over || !machine_.is_writing() || machine_.beat() != effects.beat) co_return;
    }
  }
  task<> read_back(std::uint64_t beat, session_id session) {
    std::string const id = host_.ids.member(session);
    for (std::uint32_t failures = 1;; ++failures) {
      ++host_.counters.reads;
      auto answer = co_await store_.read(id, host_.request());
      co_await host_.inside.enter();
      if (host_.is_over || session != host_.terms.session || machine_.beat() != beat) co_return;
      member_event told{.beat = beat};
      if (answer) {
        auto const found = member_record::from_text(answer->body);
        version_ = answer->version;
        bool const is_ours = found && found->phase != member_phase::fenced && found->beat == beat;
        told.kind = is_ours ? member_event_kind::written : member_event_kind::refused;
        told.phase = found ? found->phase : member_phase::live;
        step(told);
        co_return;
      }
      if (answer.error().code == errc::not_found) {
        told.kind = machine_.state() == member_state::leaving ? member_event_kind::written
                                                              : member_event_kind::vanished;
        step(told);
        co_return;
      }
      auto waiting = host_.back_off(failures, answer.error());
      co_await std::move(waiting);
      if (host_.is_over) co_return;
    }
  }

  host_context<Token, Clock>& host_;
  Store& store_;
  membership_listener& listener_;
  member_machine machine_{};
  std::string version_{};
  std::uint64_t place_ = 0;
  instant next_beat_ = (instant::max)();
};

}  // namespace detail
}  // namespace keyspan
