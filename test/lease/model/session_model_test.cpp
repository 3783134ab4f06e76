// test/lease/model/session_model_test.cpp — a session and somebody who may fence it: every order of
// beats, answers, lists and time, searched to the end, and with one rule broken at a time.
//
// The host runs the very machine that programs run, and the other one the very watch. A write is
// done at the store some time later or refused, and answered some time later or never; one that its
// host has given up may be done long after. Lists may be seen late. Of two states with the same key
// the futures are the same: moments are compared with the clock of whose they are only, and beats
// with each other.
#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/session_id.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using keyspan::instant;
using keyspan::lease_terms;
using keyspan::member_effects;
using keyspan::member_event;
using keyspan::member_event_kind;
using keyspan::member_machine;
using keyspan::member_phase;
using keyspan::member_state;
using keyspan::member_watch;

struct options {
  int hold = 2;                     // in ticks of true time
  int host_rate = 6;                // how far each clock goes in a tick; 6 is true
  int watcher_rate = 6;             //
  std::uint32_t reckoned = 0;       // what the watch reckons with, in millionths
  bool late_lists = true;           // a list may be seen later than it was made
  bool drains = false;              // the host says that it gives everything away
  bool is_erased = false;           // somebody removes the record by hand
  bool has_no_margin = false;       // broken: the watch takes clocks for true
  bool counts_from_before = false;  // broken: a new beat does not begin the wait anew
  std::size_t most_states = 4'000'000;
};

// The record, as far as it matters; beats are versions, since no two writes have one.
struct version {
  bool is_there = false;
  member_phase phase{};
  std::uint64_t beat = 0;

  friend bool operator==(version const&, version const&) = default;
};

struct write {
  enum class where : std::uint8_t { none, sent, done, refused };
  where at = where::none;
  version before{};
  version after{};
};

// Broken: it holds from the answer on.
class machine_that_holds_from_the_answer {
 public:
  member_state state() const { return is_.state(); }
  bool is_writing() const { return is_.is_writing(); }
  std::uint64_t beat() const { return is_.beat(); }
  instant holds_until() const { return is_.holds_until() == instant{} ? instant{} : until_; }
  member_effects step(member_event const& event, lease_terms const& terms) {
    auto const effects = is_.step(event, terms);
    if (effects.is_beaten) until_ = event.now + terms.hold;
    return effects;
  }

 private:
  member_machine is_{};
  instant until_{};
};

template <class Machine>
struct situation {
  Machine machine{};
  instant host_now{instant::duration{1'000'000}};
  instant watcher_now{instant::duration{1'000'000}};
  version record{};
  // The host.
  version known{};
  write pending{};
  write given_up{};
  instant sent{};
  member_phase last_phase{};
  bool reads_back = false;
  bool has_joined = false;
  bool is_to_drain = false;
  bool is_to_leave = false;
  // Who watches.
  member_watch watch{};
  version listed{};  // what its write would be built on
  version late{};    // a list on its way
  bool has_late = false;
  write fence{};
  bool was_fenced = false;
};

struct outcome {
  std::size_t states = 0;
  bool is_complete = true;
  std::string violation{};
  std::vector<std::string> way{};
};

template <class Machine>
class search {
 public:
  explicit search(options const& with) : with_{with} {
    terms_.session = keyspan::session_id{1};
    terms_.hold = instant::duration{with.hold * 6};
  }

  outcome run() {
    add({}, 0, "");
    for (at_ = 0; at_ < all_.size() && out_.violation.empty(); ++at_) {
      if (all_.size() > with_.most_states) {
        out_.is_complete = false;
        break;
      }
      expand(situation_type{all_[at_].is});
    }
    out_.states = all_.size();
    return std::move(out_);
  }

 private:
  using situation_type = situation<Machine>;
  using kind = member_event_kind;
  using where = write::where;
  struct known_state {
    situation_type is;
    std::size_t from;
    char const* what;
  };

  // Who leaves has given away all that it held, and who has lost its session holds nothing: neither
  // comes back.
  static bool is_over(situation_type const& s) {
    return s.machine.state() >= member_state::leaving;
  }
  static bool holds(situation_type const& s) {
    return !is_over(s) && s.host_now < s.machine.holds_until();
  }

  void tell(situation_type& s, member_event event) {
    event.now = s.host_now;
    if (event.kind >= kind::written) event.beat = s.machine.beat();
    auto const effects = s.machine.step(event, terms_);
    if (effects.is_beaten) s.has_joined = true;
    if (effects.reads_back) s.reads_back = true;
    if (effects.creates || effects.writes || effects.removes) {
      give_up(s);
      s.pending.at = where::sent;
      s.pending.before = effects.creates ? version{} : s.known;
      s.pending.after = {!effects.removes, effects.phase, effects.beat};
      s.sent = s.host_now;
      s.last_phase = effects.phase;
      s.reads_back = false;
    } else if (!s.machine.is_writing()) {
      give_up(s);
      s.reads_back = false;
    }
  }
  static void give_up(situation_type& s) {
    if (s.pending.at == where::sent && s.given_up.at == where::none) s.given_up = s.pending;
    s.pending = {};
  }
  // What cannot matter any more: no version of the record ever comes again.
  static bool is_past(situation_type const& s, version const& one) {
    return one.is_there && s.record != one;
  }
  static void tidy(situation_type& s) {
    if (is_past(s, s.given_up.before)) s.given_up = {};
    if (s.pending.at == where::sent && is_past(s, s.pending.before)) s.pending.at = where::refused;
    if (s.pending.at == where::refused) {
      s.pending = {};
      s.reads_back = true;
    }
    if (s.machine.is_writing()) s.known = {};
    if (s.was_fenced) {
      s.watch = {};
      s.fence = {};
      s.listed = {};
      s.has_late = false;
    }
    if (is_past(s, s.fence.before)) s.fence = {};
    if (is_past(s, s.listed)) s.listed = {true, {}, 0};  // and nothing is built on that
    bool const is_older =
        s.late.is_there && s.watch.is_seen && !s.watch.is_absent && s.late.beat <= s.watch.beat;
    if (is_older) s.has_late = false;
    if (!s.has_late) s.late = {};
  }
  static bool put(situation_type& s, write const& one) {
    bool const is_same = one.before.is_there ? s.record == one.before : !s.record.is_there;
    if (is_same) s.record = one.after.is_there ? one.after : version{};
    return is_same;
  }
  void read_back(situation_type& s) {
    s.reads_back = false;
    s.pending = {};
    s.known = s.record;
    if (!s.record.is_there) {
      bool const is_leaving = s.machine.state() == member_state::leaving;
      return tell(s, {.kind = is_leaving ? kind::written : kind::vanished});
    }
    bool const is_own = s.record.phase != member_phase::fenced && s.record.beat == s.machine.beat();
    tell(s, {.kind = is_own ? kind::written : kind::refused, .phase = s.record.phase});
  }
  void see(situation_type& s, version const& shown) {
    if (!shown.is_there) {
      if (s.watch.is_seen || s.has_joined) s.watch.miss(s.watcher_now);
      if (!s.watch.is_seen) return;
      if (s.watch.held_for == instant::duration{}) s.watch.held_for = terms_.hold;
      s.listed = version{false, {}, s.watch.beat};
      return;
    }
    auto const before = s.watch;
    s.watch.see(shown.phase, shown.beat, terms_.hold, s.watcher_now);
    if (with_.counts_from_before && before.is_seen && !before.is_absent)
      s.watch.since = before.since;
    s.listed = shown;
  }
  bool may_fence(situation_type const& s) const {
    bool const is_over = !s.watch.is_absent && (s.watch.phase == member_phase::fenced ||
                                                s.watch.phase == member_phase::away);
    return !is_over && (!s.watch.is_absent || s.has_joined) &&
           s.watch.is_overdue(s.watcher_now, with_.has_no_margin ? 0 : with_.reckoned);
  }

  template <class F>
  void go(situation_type const& from, char const* what, F f) {
    if (!out_.violation.empty()) return;
    situation_type s = from;
    f(s);
    tidy(s);
    if (s.was_fenced && holds(s)) {
      out_.violation = from.was_fenced ? "a session holds again that was fenced"
                                       : "a session is fenced that holds";
      out_.way.push_back(what);
      for (std::size_t i = at_; i != 0; i = all_[i].from) out_.way.push_back(all_[i].what);
      std::reverse(out_.way.begin(), out_.way.end());
      return;
    }
    add(s, at_, what);
  }

  void expand(situation_type const& s) {
    if (is_over(s)) return;
    go(s, "time passes", [&](situation_type& n) {
      n.host_now += instant::duration{with_.host_rate};
      n.watcher_now += instant::duration{with_.watcher_rate};
    });
    expand_host(s);
    expand_watcher(s);
    if (with_.is_erased && s.record.is_there)
      go(s, "the record is removed by hand", [](situation_type& n) { n.record = {}; });
  }
  void expand_host(situation_type const& s) {
    auto const state = s.machine.state();
    if (state == member_state::absent)
      go(s, "it joins", [&](situation_type& n) { tell(n, {.kind = kind::start}); });
    if (state == member_state::live && !s.machine.is_writing())
      go(s, "it beats", [&](situation_type& n) { tell(n, {.kind = kind::beat_due}); });
    if (with_.drains && !s.is_to_drain &&
        (state == member_state::joining || state == member_state::live))
      go(s, "it drains", [&](situation_type& n) {
        n.is_to_drain = true;
        tell(n, {.kind = kind::drain});
      });
    if (!s.is_to_leave && (state == member_state::joining || state == member_state::live))
      go(s, "it leaves", [&](situation_type& n) {
        n.is_to_leave = true;
        tell(n, {.kind = kind::leave});
      });
    if (s.pending.at == where::sent)
      go(s, "its write is done or refused", [](situation_type& n) {
        n.pending.at = put(n, n.pending) ? where::done : where::refused;
      });
    if (s.pending.at == where::done)
      go(s, "it is answered", [&](situation_type& n) {
        n.known = n.pending.after;
        n.pending = {};
        tell(n, {.kind = kind::written});
      });
    if (s.pending.at == where::sent || s.pending.at == where::done)
      go(s, "it gets no answer", [&](situation_type& n) {
        give_up(n);
        tell(n, {.kind = kind::unanswered});
      });
    if (s.reads_back) go(s, "it reads back", [&](situation_type& n) { read_back(n); });
    if (s.given_up.at == where::sent)
      go(s, "an old write of it is done or refused",
         [](situation_type& n) { put(n, std::exchange(n.given_up, write{})); });
  }
  void expand_watcher(situation_type const& s) {
    if (s.was_fenced) {
      if (s.record.is_there)
        go(s, "the fenced record is removed", [](situation_type& n) { n.record = {}; });
      return;
    }
    go(s, "it is listed", [&](situation_type& n) { see(n, n.record); });
    if (with_.late_lists && !s.has_late)
      go(s, "a list is made", [](situation_type& n) {
        n.has_late = true;
        n.late = n.record;
      });
    if (s.has_late)
      go(s, "the list is seen", [&](situation_type& n) {
        n.has_late = false;
        see(n, std::exchange(n.late, version{}));
      });
    if (s.fence.at == where::none && may_fence(s))
      go(s, "a fence is sent", [](situation_type& n) {
        n.fence.at = where::sent;
        n.fence.before = n.listed;
        n.fence.after = {true, member_phase::fenced, n.listed.beat + 1};
      });
    if (s.fence.at == where::sent) {
      go(s, "the fence is done or refused", [](situation_type& n) {
        if (put(n, std::exchange(n.fence, write{}))) n.was_fenced = true;
      });
      go(s, "the fence is lost", [](situation_type& n) { n.fence = {}; });
    }
  }

  // ---- what was seen

  static std::uint8_t clipped(instant::duration of, instant::duration at) {
    return static_cast<std::uint8_t>(std::clamp(of, instant::duration{}, at).count());
  }
  std::string key_of(situation_type const& s) const {
    std::string key;
    auto const put_in = [&](auto value) { key += static_cast<char>(value); };
    bool const is_writing = s.machine.is_writing();
    auto const wait = keyspan::wait_before_taking(terms_.hold, with_.reckoned);
    put_in(s.machine.state());
    put_in(is_writing | s.reads_back << 1 | s.has_joined << 2 | s.is_to_drain << 3 |
           s.is_to_leave << 4 | s.has_late << 5 | s.was_fenced << 6);
    put_in(s.last_phase);
    put_in(is_writing ? clipped(s.host_now - s.sent, terms_.hold) : 0);
    put_in(clipped(s.machine.holds_until() - s.host_now, terms_.hold));
    put_in(s.watch.is_seen | s.watch.is_absent << 1);
    put_in(s.watch.phase);
    put_in(s.watch.is_seen ? clipped(s.watcher_now - s.watch.since, wait) : 0);
    // Beats by their order, and by whether one follows another.
    std::array<std::uint64_t, 12> const beats{
        s.machine.beat(),      s.record.beat,        s.known.beat,
        s.pending.before.beat, s.pending.after.beat, s.given_up.before.beat,
        s.given_up.after.beat, s.watch.beat,         s.listed.beat,
        s.late.beat,           s.fence.before.beat,  s.fence.after.beat};
    auto sorted = beats;
    std::sort(sorted.begin(), sorted.end());
    for (std::uint64_t const beat : beats) {
      // 0 is none of them, and stays what it is.
      std::uint8_t rank = 0;
      std::uint64_t before = 0;
      for (std::uint64_t const one : sorted) {
        if (one > beat) break;
        rank = static_cast<std::uint8_t>(rank + (std::min)(one - before, std::uint64_t{2}));
        before = one;
      }
      put_in(rank);
    }
    for (version const* one : {&s.record, &s.known, &s.listed, &s.late})
      put_in(static_cast<int>(one->phase) | (one->is_there ? 16 : 0));
    for (write const* one : {&s.pending, &s.given_up, &s.fence}) {
      put_in(one->at);
      for (version const* of : {&one->before, &one->after})
        put_in(static_cast<int>(of->phase) | (of->is_there ? 16 : 0));
    }
    return key;
  }
  void add(situation_type const& s, std::size_t from, char const* what) {
    if (seen_.insert(key_of(s)).second) all_.push_back({s, from, what});
  }

  options with_;
  lease_terms terms_{};
  outcome out_{};
  std::size_t at_ = 0;
  std::vector<known_state> all_{};
  std::unordered_set<std::string> seen_{};
};

template <class Machine = member_machine>
outcome found(std::string_view name, options const& with) {
  auto const out = search<Machine>{with}.run();
  std::cout << name << ": " << out.states << " states" << (out.is_complete ? "" : ", cut off");
  if (!out.violation.empty()) std::cout << "; " << out.violation;
  std::cout << '\n';
  for (auto const& step : out.way) std::cout << "    " << step << '\n';
  return out;
}

void holds(std::string_view name, options const& with) {
  auto const out = found(name, with);
  CHECK(out.violation.empty());
  CHECK(out.is_complete);
}
template <class Machine = member_machine>
void is_caught(std::string_view name, options const& with) {
  CHECK(!found<Machine>(name, with).violation.empty());
}

// Clocks at the two ends of what the watch reckons with, a third apart.
options drifting(options with) {
  with.host_rate = 5;
  with.watcher_rate = 7;
  with.reckoned = 166'667;
  return with;
}

TEST_CASE("a session is fenced only when it holds no more, and never holds again") {
  holds("a session", {});
  holds("a session that drains", {.drains = true});
  holds("a session with a longer hold", {.hold = 3});
}

TEST_CASE("nor is it where one clock is as slow and the other as fast as they may be") {
  holds("a session, and clocks that drift", drifting({}));
}

// Unless a list is older than a hold: who is seen not to be there has no version to go by.
TEST_CASE("nor is it where its record is removed by hand") {
  holds("a session whose record is removed", {.late_lists = false, .is_erased = true});
}

TEST_CASE("each rule of a session is needed: the search notices when one is broken") {
  is_caught<machine_that_holds_from_the_answer>("holds from the answer on", {});
  is_caught("watches without a margin", drifting({.has_no_margin = true}));
  is_caught("counts from before the last beat", {.counts_from_before = true});
}

}  // namespace
