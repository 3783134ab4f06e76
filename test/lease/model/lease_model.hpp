// test/lease/model/lease_model.hpp — two hosts, one lease and a store that may do anything a store
// can: every order of everything, searched to the end.
//
// The hosts run the very machine that programs run. Around it stands the least that drives it: a
// write is sent, done at the store some time later or refused, and answered some time later or
// never; a write that its host has given up may be done long after. Lists and reads may be seen
// late. Handlers begin and end whenever they like. A pause, a crash or a delay is an order in which
// that host, or that message, does not get its turn.
//
// Time, numbers and epochs grow without bound, so states are compared in a canonical form:
//
// - A machine compares moments only with its own *now*: by how long it has seen its record, when
//   it ordered its write, and when its deadline is. Each is kept as a distance from now, and as one
//   that is long enough once no comparison can tell it from a longer one. Those that the machine
//   does not look at in its state are left out.
// - Of the numbers of one session's writes a machine takes the order, and the next one. So each is
//   kept as its rank among those that are still written or remembered anywhere.
// - Of epochs it takes the order, the next one, and whether two are the same. So they are kept with
//   the least of them as 0, and a gap of more than one as a gap of two.
//
// Two states with one canonical form therefore have the same futures, but for names of moments,
// numbers and epochs, and none of what is demanded depends on those.
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_table.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/session_id.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace model {

using keyspan::lease_event;
using keyspan::lease_event_kind;
using keyspan::lease_facts;
using keyspan::lease_situation;
using keyspan::lease_state;
using keyspan::lease_write;

inline constexpr std::size_t hosts = 2;

/// What a search goes through, and what is broken on purpose.
struct options {
  keyspan::liveness liveness = keyspan::liveness::per_lease;
  int items = 1;                       ///< how many changes there are to handle
  int hold = 3;                        ///< D, in ticks of true time
  std::array<int, hosts> rates{6, 6};  ///< how far each clock goes in a tick; 6 is true
  std::uint32_t rate_bound_ppm = 0;    ///< what the machines reckon with
  bool late_writes = true;             ///< a write that was given up may be done later
  bool late_lists = false;             ///< a list may be seen later than it was made
  bool handovers = false;              ///< the plan moves the lease
  bool stops = false;                  ///< hosts stop
  bool old_answers = false;            ///< an answer may come once more, or when it was given up
  bool erased = false;                 ///< somebody removes the record by hand
  bool checkpoints_what_was_read = false;  ///< broken: the position is what was handed out
  bool delivers_late = false;              ///< broken: nobody asks whether the deadline has passed
  bool retries_blindly = false;            ///< broken: a refused write is sent at the new version
  bool takes_unanswered_as_done = false;   ///< broken: a write without an answer counts as done
  std::size_t most_states = 40'000'000;
};

/// A write on its way.
struct message {
  enum class where : std::uint8_t { none, sent, done, refused };
  where at = where::none;
  lease_facts facts{};
  keyspan::lease_stamp condition{};  ///< what the record has to be stamped with

  friend bool operator==(message const&, message const&) = default;
};

/// Who reads and handles for a host.
struct handler {
  bool is_open = false;
  bool is_busy = false;        ///< a change is being handled
  bool reads_no_more = false;  ///< it is to close
  std::uint8_t handed = 0;     ///< how many changes were handed out, from the first one on
  std::uint8_t done = 0;       ///< how many of those were handled
  std::uint64_t epoch = 0;

  friend bool operator==(handler const&, handler const&) = default;
};

template <class Machine>
struct host {
  Machine machine{};
  message pending{};
  message orphan{};  ///< given up by the host
  message echo{};    ///< an answer that comes late, or again
  bool reads_back = false;
  bool has_seen = false;  ///< a list was made, and is not seen yet
  bool seen_none = false;
  lease_facts seen{};
  handler work{};
  bool is_stopping = false;
  keyspan::instant now{};
  // Where sessions show that hosts live: this one's member record, and what it knows of the
  // other's.
  message::where beat = message::where::none;
  keyspan::instant beat_sent{};
  keyspan::instant session_until{};
  bool is_fenced = false;      ///< somebody has written into the record that the session is over
  bool has_seen_beat = false;  ///< the record of the other is as it was seen
  bool knows_fence = false;    ///< that of the other
  keyspan::instant seen_since{};
};

template <class Machine>
struct state {
  bool exists = true;
  lease_facts record{};
  std::array<host<Machine>, hosts> each{};
  std::uint8_t handled = 0;        ///< so many changes were handled by somebody, from the first on
  std::uint64_t opened_epoch = 0;  ///< of the last opening
  std::uint8_t opened_by = 0;
};

using bytes = std::array<std::uint8_t, 80>;

/// What was found: how many states there are, and a way to the first one that must not be.
struct outcome {
  std::size_t states = 0;
  bool is_complete = true;
  std::string violation{};
  std::vector<std::string> way{};
};

template <class Machine>
class search {
 public:
  using state_type = state<Machine>;

  explicit search(options const& with) : with_{with} {}

  outcome run() {
    state_type first;
    first.record.stamp = {keyspan::session_id{9}, 0};
    first.record.held_for = hold();
    for (auto& one : first.each) one.session_until = keyspan::instant{};
    visited_.assign(std::size_t{1} << 16, 0);
    add(first, none, "");
    for (std::size_t next = 0; next < frontier_.size() && out_.violation.empty(); ++next) {
      if (frontier_.size() > with_.most_states) {
        out_.is_complete = false;
        break;
      }
      at_ = next;
      expand(decoded(frontier_[next]));
    }
    out_.states = frontier_.size();
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{};
  static constexpr int true_rate = 6;

  struct step_before {
    std::uint32_t from;
    char const* what;
  };

  // ---- time
  // --------------------------------------------------------------------------------------

  keyspan::instant::duration hold() const {
    return keyspan::instant::duration{with_.hold * true_rate};
  }
  keyspan::instant::duration wait() const {
    return keyspan::wait_before_taking(hold(), with_.rate_bound_ppm);
  }
  keyspan::lease_terms terms_of(state_type const& s, std::size_t who) const {
    keyspan::lease_terms terms;
    terms.session = name(who);
    terms.hold = hold();
    terms.rate_bound_ppm = with_.rate_bound_ppm;
    terms.liveness = with_.liveness;
    terms.session_until = s.each[who].session_until;
    terms.is_stopping = s.each[who].is_stopping;
    return terms;
  }
  static keyspan::session_id name(std::size_t who) { return keyspan::session_id{who + 1}; }

  // ---- what is demanded
  // --------------------------------------------------------------------------

  static bool handles(host<Machine> const& one) {
    return one.work.is_open && one.machine.handles(one.now);
  }
  void demand(bool holds, char const* what) {
    if (!holds && out_.violation.empty()) out_.violation = what;
  }
  void look_at(state_type const& s) {
    demand(!(handles(s.each[0]) && handles(s.each[1])), "I1: two hosts handle one lease");
    demand(s.record.sequence <= s.handled, "I4: the position is beyond what was handled");
    for (auto const& one : s.each)
      if (one.work.is_open)
        demand(one.machine.state() >= lease_state::active,
               "I8: a handler is open that was never opened");
  }

  // ---- what may happen
  // ---------------------------------------------------------------------------

  void tell(state_type& s, std::size_t who, lease_event event) {
    auto& one = s.each[who];
    event.now = one.now;
    auto const terms = terms_of(s, who);
    auto const effects = one.machine.step(event, terms);
    auto const& at = one.machine.situation();
    if (effects.writes) {
      bool const is_last = at.write == lease_write::leave || at.write == lease_write::end;
      demand(!is_last || !one.work.is_open,
             "I8: a lease is let go of before its handler is closed");
      if (at.write != lease_write::acquire && event.kind != lease_event_kind::listed &&
          at.state != lease_state::acquiring)
        demand(one.machine.holds(one.now), "I13: a write is ordered behind the deadline");
      one.pending = {message::where::sent, effects.facts, at.base.stamp};
      one.reads_back = false;
    }
    if (effects.reads_back) one.reads_back = true;
    if (at.write == lease_write::none) {
      if (one.pending.at == message::where::sent && with_.late_writes &&
          one.orphan.at == message::where::none)
        one.orphan = one.pending;
      one.pending = {};
      one.reads_back = false;
    }
    if (effects.opens) open(s, who);
    if (effects.stops_reading || effects.cancels) one.work.reads_no_more = true;
    if (effects.restores && !s.exists) {
      s.exists = true;
      s.record = effects.facts;
    }
  }
  void open(state_type& s, std::size_t who) {
    auto& one = s.each[who];
    auto const& base = one.machine.situation().base;
    demand(!one.work.is_open, "I8: a handler is opened twice");
    bool const is_next =
        base.epoch > s.opened_epoch || (base.epoch == s.opened_epoch && s.opened_by == who + 1);
    demand(is_next, "I2: an epoch is used again");
    demand(base.sequence <= (with_.erased ? s.handled : s.record.sequence),
           "I4: a reader starts beyond the position");
    s.opened_epoch = base.epoch;
    s.opened_by = static_cast<std::uint8_t>(who + 1);
    one.work = {};
    one.work.is_open = true;
    one.work.epoch = base.epoch;
    one.work.handed = one.work.done = static_cast<std::uint8_t>(base.sequence);
  }

  bool put(state_type& s, message const& write) {
    if (!s.exists || s.record.stamp != write.condition) return false;
    demand(write.facts.sequence >= s.record.sequence || with_.erased, "I4: the position goes back");
    bool const is_new_owner = write.facts.owner != s.record.owner && write.facts.owner;
    std::uint64_t const epochs = write.facts.epoch - s.record.epoch;
    demand(epochs == 1 || (epochs == 0 && !is_new_owner),
           "I2: the epoch does not follow the owner");
    s.record = write.facts;
    return true;
  }

  template <class F>
  void go(state_type const& from, char const* what, F f) {
    if (!out_.violation.empty()) return;
    state_type s = from;
    f(s);
    look_at(s);
    if (out_.violation.empty()) {
      add(s, static_cast<std::uint32_t>(at_), what);
      return;
    }
    out_.way.push_back(what);
    for (std::uint32_t i = static_cast<std::uint32_t>(at_); i != none; i = before_[i].from)
      if (before_[i].from != none) out_.way.push_back(before_[i].what);
    std::reverse(out_.way.begin(), out_.way.end());
  }

  void expand(state_type const& s) {
    go(s, "time passes", [&](state_type& n) {
      for (std::size_t i = 0; i < hosts; ++i)
        n.each[i].now += keyspan::instant::duration{with_.rates[i]};
    });
    for (std::size_t who = 0; who < hosts && out_.violation.empty(); ++who) {
      expand(s, who);
      if (with_.liveness == keyspan::liveness::per_session) expand_session(s, who);
    }
    if (with_.erased && s.exists)
      go(s, "the record is removed by hand", [&](state_type& n) {
        n.exists = false;
        n.record = {};
      });
  }

  void expand(state_type const& s, std::size_t who) {
    auto const& one = s.each[who];
    auto const& at = one.machine.situation();
    auto const called = [&](char const* first, char const* second) {
      return who == 0 ? first : second;
    };
    auto const event = [&](lease_event_kind kind) {
      lease_event made;
      made.kind = kind;
      made.number = at.numbers;
      return made;
    };
    using kind = lease_event_kind;

    if (s.exists)
      go(s, called("1 lists", "2 lists"), [&](state_type& n) {
        auto told = event(kind::listed);
        told.record = n.record;
        tell(n, who, told);
      });
    if (with_.late_lists && s.exists && !one.has_seen)
      go(s, called("a list for 1 is made", "a list for 2 is made"), [&](state_type& n) {
        n.each[who].has_seen = true;
        n.each[who].seen = n.record;
      });
    if (one.has_seen)
      go(s, called("1 sees its list", "2 sees its list"), [&](state_type& n) {
        auto told = event(kind::listed);
        told.record = n.each[who].seen;
        n.each[who].has_seen = false;
        n.each[who].seen = {};
        tell(n, who, told);
      });
    if (at.state == lease_state::watching)
      go(s, called("1 wants it", "2 wants it"), [&](state_type& n) {
        auto told = event(kind::wanted);
        if (one.knows_fence) told.other = name(1 - who);
        tell(n, who, told);
      });

    if (one.pending.at == message::where::sent)
      go(s, called("the write of 1 is done or refused", "the write of 2 is done or refused"),
         [&](state_type& n) {
           auto& write = n.each[who].pending;
           write.at = put(n, write) ? message::where::done : message::where::refused;
         });
    if (one.pending.at == message::where::done || one.pending.at == message::where::refused)
      go(s, called("1 is answered", "2 is answered"),
         [&](state_type& n) { answer(n, who, event(kind::written)); });
    // That of a refused write is the same as an answer that comes late.
    bool const may_be_lost =
        one.pending.at == message::where::sent || one.pending.at == message::where::done;
    if (may_be_lost)
      go(s, called("1 gets no answer", "2 gets no answer"), [&](state_type& n) {
        auto& mine = n.each[who];
        if (with_.takes_unanswered_as_done) {
          auto told = event(kind::written);
          told.record = mine.pending.facts;
          mine.pending = {};
          tell(n, who, told);
          return;
        }
        if (mine.pending.at == message::where::sent && with_.late_writes &&
            mine.orphan.at == message::where::none)
          mine.orphan = mine.pending;
        if (with_.old_answers && mine.pending.at == message::where::done) mine.echo = mine.pending;
        mine.pending = {};
        tell(n, who, event(kind::unanswered));
      });
    if (one.reads_back)
      go(s, called("1 reads back", "2 reads back"),
         [&](state_type& n) { read_back(n, who, event(kind::written)); });
    if (one.orphan.at == message::where::sent) {
      go(s, called("an old write of 1 is done or refused", "an old write of 2 is done or refused"),
         [&](state_type& n) {
           auto const write = std::exchange(n.each[who].orphan, message{});
           put(n, write);
         });
    }

    if (one.echo.at == message::where::done)
      go(s, called("1 gets an old answer", "2 gets an old answer"), [&](state_type& n) {
        auto told = event(kind::written);
        told.record = one.echo.facts;
        told.number = one.echo.facts.stamp.number;
        n.each[who].echo = {};
        tell(n, who, told);
      });

    if (at.state == lease_state::active || at.state == lease_state::draining) {
      go(s, called("1 beats", "2 beats"),
         [&](state_type& n) { tell(n, who, event(kind::beat_due)); });
      if (at.acknowledged < one.work.done ||
          (with_.checkpoints_what_was_read && at.acknowledged < one.work.handed))
        go(s, called("1 acknowledges", "2 acknowledges"), [&](state_type& n) {
          auto told = event(kind::acknowledged);
          told.sequence = with_.checkpoints_what_was_read ? one.work.handed : one.work.done;
          tell(n, who, told);
        });
    }
    if (at.state >= lease_state::active && at.state <= lease_state::ending &&
        one.now >= at.deadline)
      go(s, called("1 sees its deadline", "2 sees its deadline"),
         [&](state_type& n) { tell(n, who, event(kind::deadline)); });
    if (with_.handovers && at.state == lease_state::active)
      go(s, called("1 hands over", "2 hands over"), [&](state_type& n) {
        auto told = event(kind::given);
        told.other = name(1 - who);
        tell(n, who, told);
      });
    if (with_.handovers && at.state == lease_state::draining && !at.is_stalled)
      go(s, called("1 is slow", "2 is slow"),
         [&](state_type& n) { tell(n, who, event(kind::drain_overdue)); });
    if (with_.stops && !one.is_stopping)
      go(s, called("1 stops", "2 stops"), [&](state_type& n) {
        n.each[who].is_stopping = true;
        tell(n, who, event(kind::stop));
      });

    if (one.work.is_open && !one.work.is_busy) {
      bool const may = one.machine.handles(one.now) || with_.delivers_late;
      if (may && !one.work.reads_no_more && one.work.handed < with_.items)
        go(s, called("1 is handed a change", "2 is handed a change"), [&](state_type& n) {
          demand(!handles(n.each[1 - who]),
                 "I1: a change is handed out while another host handles");
          demand(n.each[who].machine.handles(n.each[who].now),
                 "I13: a change is handed out behind the deadline");
          ++n.each[who].work.handed;
          n.each[who].work.is_busy = true;
        });
      if (one.work.reads_no_more)
        go(s, called("1 closes", "2 closes"), [&](state_type& n) {
          auto told = event(kind::closed);
          told.sequence = n.each[who].work.done;
          n.each[who].work = {};
          tell(n, who, told);
        });
    }
    if (one.work.is_busy)
      go(s, called("1 has handled a change", "2 has handled a change"), [&](state_type& n) {
        auto& work = n.each[who].work;
        work.is_busy = false;
        work.done = work.handed;
        n.handled = std::max(n.handled, work.done);
      });
  }

  void answer(state_type& s, std::size_t who, lease_event told) {
    auto& mine = s.each[who];
    bool const is_done = mine.pending.at == message::where::done;
    if (is_done) {
      told.record = mine.pending.facts;
      if (with_.old_answers) mine.echo = mine.pending;
      mine.pending = {};
      tell(s, who, told);
      return;
    }
    if (with_.retries_blindly && s.exists) {  // at the version that is there now, with the old body
      mine.pending.at = message::where::sent;
      mine.pending.condition = s.record.stamp;
      return;
    }
    mine.pending = {};
    told.kind = s.exists ? lease_event_kind::refused : lease_event_kind::vanished;
    told.record = s.record;
    tell(s, who, told);
  }
  void read_back(state_type& s, std::size_t who, lease_event told) {
    auto& mine = s.each[who];
    mine.reads_back = false;
    keyspan::lease_stamp const own{name(who), told.number};
    told.record = s.record;
    told.kind = !s.exists               ? lease_event_kind::vanished
                : s.record.stamp == own ? lease_event_kind::written
                                        : lease_event_kind::refused;
    tell(s, who, told);
  }

  // ---- sessions
  // ----------------------------------------------------------------------------------

  void expand_session(state_type const& s, std::size_t who) {
    using where = message::where;
    auto const& one = s.each[who];
    auto const called = [&](char const* first, char const* second) {
      return who == 0 ? first : second;
    };
    if (one.beat == where::none)
      go(s, called("the session of 1 beats", "the session of 2 beats"), [&](state_type& n) {
        n.each[who].beat = where::sent;
        n.each[who].beat_sent = n.each[who].now;
      });
    if (one.beat == where::sent)
      go(s, called("the beat of 1 is done or refused", "the beat of 2 is done or refused"),
         [&](state_type& n) {
           n.each[who].beat = one.is_fenced ? where::refused : where::done;
           if (!one.is_fenced) n.each[1 - who].has_seen_beat = false;
         });
    if (one.beat == where::done || one.beat == where::refused)
      go(s, called("the beat of 1 is answered", "the beat of 2 is answered"), [&](state_type& n) {
        auto& mine = n.each[who];
        mine.beat = where::none;
        lease_event told;
        told.kind = lease_event_kind::session_lost;
        if (one.beat == where::done) {
          told.kind = lease_event_kind::session_beaten;
          mine.session_until = std::max(mine.session_until, one.beat_sent + hold());
        }
        tell(n, who, told);
      });
    if (one.beat != where::none)
      go(s, called("the beat of 1 is not answered", "the beat of 2 is not answered"),
         [&](state_type& n) { n.each[who].beat = where::none; });
    auto const& other = s.each[1 - who];
    if (!one.has_seen_beat && !one.knows_fence)
      go(s, called("1 sees the session of 2", "2 sees the session of 1"), [&](state_type& n) {
        n.each[who].has_seen_beat = true;
        n.each[who].seen_since = n.each[who].now;
        n.each[who].knows_fence = other.is_fenced;
      });
    if (one.has_seen_beat && !one.knows_fence && one.now - one.seen_since >= wait())
      go(s, called("1 fences 2", "2 fences 1"), [&](state_type& n) {
        n.each[1 - who].is_fenced = true;
        n.each[who].knows_fence = true;
      });
  }

  // ---- canonical form
  // ----------------------------------------------------------------------------

  template <class F>
  static void each_facts(state_type& s, std::array<lease_situation, hosts>& at, F f) {
    f(s.record);
    for (std::size_t i = 0; i < hosts; ++i) {
      f(at[i].base);
      for (message* const one : {&s.each[i].pending, &s.each[i].orphan, &s.each[i].echo})
        if (one->at != message::where::none) f(one->facts);
      if (s.each[i].has_seen) f(s.each[i].seen);
    }
  }

  static bool may_be_deadline(lease_state state) {
    return state >= lease_state::active && state <= lease_state::ending;
  }
  // So much before now, and no further than `most`.
  static std::uint8_t age(keyspan::instant at, keyspan::instant now,
                          keyspan::instant::duration most) {
    return static_cast<std::uint8_t>(
        std::clamp(now - at, keyspan::instant::duration{}, most).count());
  }

  // Ranks, from 1 on, of the numbers that are still written or remembered anywhere.
  void rank_numbers(state_type& s, std::array<lease_situation, hosts>& at) const {
    for (std::size_t who = 0; who < hosts; ++who) {
      std::array<std::uint64_t*, 16> places{};
      std::size_t size = 0;
      auto const note = [&](keyspan::lease_stamp& stamp) {
        if (stamp.session == name(who)) places[size++] = &stamp.number;
      };
      each_facts(s, at, [&](lease_facts& facts) { note(facts.stamp); });
      for (auto& one : s.each) {
        note(one.pending.condition);
        note(one.orphan.condition);
      }
      places[size++] = &at[who].numbers;
      std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(size),
                [](auto const* a, auto const* b) { return *a < *b; });
      std::uint64_t rank = 0;
      std::uint64_t before = 0;
      for (std::size_t i = 0; i < size; ++i) {
        if (i == 0 || *places[i] != before) ++rank;
        before = std::exchange(*places[i], rank);
      }
    }
  }
  // From 0 on, with gaps of one, or of two where they were larger.
  void lower_epochs(state_type& s, std::array<lease_situation, hosts>& at) const {
    std::array<std::uint64_t*, 24> places{};
    std::size_t size = 0;
    each_facts(s, at, [&](lease_facts& facts) { places[size++] = &facts.epoch; });
    for (auto& one : s.each)
      if (one.work.is_open) places[size++] = &one.work.epoch;
    places[size++] = &s.opened_epoch;
    std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(size),
              [](auto const* a, auto const* b) { return *a < *b; });
    std::uint64_t lowered = 0;
    std::uint64_t before = *places[0];
    for (std::size_t i = 0; i < size; ++i) {
      lowered += std::min<std::uint64_t>(*places[i] - before, with_.erased ? 30 : 2);
      before = std::exchange(*places[i], lowered);
    }
  }

  class writer {
   public:
    explicit writer(bytes& to) : to_{to} {}
    void put(std::uint64_t value) {
      if (value > 255) throw std::logic_error{"a value of the model does not fit into a byte"};
      to_.at(size_++) = static_cast<std::uint8_t>(value);
    }
    void put(keyspan::lease_stamp const& stamp) { put(stamp.session.value << 4 | stamp.number); }
    void put(lease_facts const& facts) {
      put(static_cast<unsigned>(facts.phase) | (facts.is_detached ? 2U : 0U) |
          (facts.owner == keyspan::departed_session ? 3U : facts.owner.value) << 2 |
          facts.sequence << 4);
      put(facts.epoch);
      put(facts.stamp);
    }
    void put(message const& one) {
      put(static_cast<unsigned>(one.at));
      put(one.facts);
      put(one.condition);
    }

   private:
    bytes& to_;
    std::size_t size_ = 0;
  };
  class reader {
   public:
    reader(bytes const& from, keyspan::instant::duration hold) : from_{from}, hold_{hold} {}
    std::uint8_t get() { return from_.at(size_++); }
    keyspan::lease_stamp get_stamp() {
      auto const both = get();
      return {keyspan::session_id{static_cast<std::uint64_t>(both >> 4)},
              static_cast<std::uint64_t>(both & 15)};
    }
    lease_facts get_facts() {
      lease_facts facts;
      auto const bits = get();
      facts.phase = static_cast<keyspan::lease_phase>(bits & 1);
      facts.is_detached = (bits & 2) != 0;
      auto const owner = static_cast<std::uint64_t>(bits >> 2 & 3);
      facts.owner = owner == 3 ? keyspan::departed_session : keyspan::session_id{owner};
      facts.sequence = static_cast<std::uint64_t>(bits >> 4);
      facts.epoch = get();
      facts.stamp = get_stamp();
      facts.held_for = hold_;
      return facts;
    }
    message get_message() {
      message one;
      one.at = static_cast<message::where>(get());
      one.facts = get_facts();
      one.condition = get_stamp();
      if (one.at == message::where::none) one = {};
      return one;
    }

   private:
    bytes const& from_;
    keyspan::instant::duration hold_;
    std::size_t size_ = 0;
  };

  // A write whose condition does not hold will never be done: no stamp comes back.
  static void simplify(state_type const& s, message& one, message const& doomed) {
    using where = message::where;
    if (one.at == where::none) one = {};
    if (one.at == where::done) one.condition = {};
    if (one.at == where::refused ||
        (one.at == where::sent && (!s.exists || one.condition != s.record.stamp)))
      one = doomed;
  }

  bytes encoded(state_type s) const {
    std::array<lease_situation, hosts> at{};
    for (std::size_t i = 0; i < hosts; ++i) {
      at[i] = s.each[i].machine.situation();
      if (at[i].state == lease_state::unknown) at[i].base = {};
      simplify(s, s.each[i].pending, message{message::where::refused});
      simplify(s, s.each[i].orphan, message{});
      simplify(s, s.each[i].echo, message{});
    }
    rank_numbers(s, at);
    lower_epochs(s, at);
    bytes made{};
    writer out{made};
    out.put(s.exists ? 1 : 0);
    out.put(s.record);
    out.put(static_cast<std::uint64_t>(s.handled << 4 | s.opened_by));
    out.put(s.opened_epoch);
    for (std::size_t i = 0; i < hosts; ++i) {
      auto const& one = s.each[i];
      auto const state = at[i].state;
      bool const is_held = may_be_deadline(state);
      out.put(static_cast<std::uint64_t>(state) << 4 |
              static_cast<std::uint64_t>(at[i].reason) << 1 | (at[i].is_stalled ? 1U : 0U));
      out.put(static_cast<std::uint64_t>(at[i].write) << 5 | (at[i].is_missed ? 16U : 0U) |
              (at[i].has_news ? 8U : 0U) | at[i].heir.value);
      out.put(at[i].base);
      out.put(state == lease_state::watching ? age(at[i].since, one.now, wait()) : 0U);
      out.put(is_held ? age(one.now, at[i].deadline, hold()) : 0U);
      out.put(at[i].write != lease_write::none ? age(at[i].sent, one.now, hold()) : 0U);
      out.put(at[i].acknowledged << 4 | at[i].numbers);
      out.put(one.pending);
      out.put(one.orphan);
      out.put(one.echo);
      out.put((one.reads_back ? 1U : 0U) | (one.has_seen ? 2U : 0U) | (one.is_stopping ? 4U : 0U) |
              (one.work.is_open ? 8U : 0U) | (one.work.is_busy ? 16U : 0U) |
              (one.work.reads_no_more ? 32U : 0U));
      out.put(one.has_seen ? one.seen : lease_facts{});
      out.put(static_cast<std::uint64_t>(one.work.handed << 4 | one.work.done));
      out.put(one.work.is_open ? one.work.epoch : 0U);
      bool const is_seen = one.has_seen_beat && !one.knows_fence;
      out.put(age(one.now, one.session_until, hold()));
      out.put(static_cast<std::uint64_t>(one.beat) | (one.is_fenced ? 4U : 0U) |
              (one.has_seen_beat ? 8U : 0U) | (one.knows_fence ? 16U : 0U));
      out.put(one.beat == message::where::none ? 0U : age(one.beat_sent, one.now, hold()));
      out.put(is_seen ? age(one.seen_since, one.now, wait()) : 0U);
    }
    return made;
  }
  state_type decoded(bytes const& from) const {
    using keyspan::instant;
    state_type s;
    reader in{from, hold()};
    s.exists = in.get() != 0;
    s.record = in.get_facts();
    auto const both = in.get();
    s.handled = static_cast<std::uint8_t>(both >> 4);
    s.opened_by = static_cast<std::uint8_t>(both & 15);
    s.opened_epoch = in.get();
    for (auto& one : s.each) {
      lease_situation at;
      auto const first = in.get();
      at.state = static_cast<lease_state>(first >> 4);
      at.reason = static_cast<keyspan::drain_reason>(first >> 1 & 7);
      at.is_stalled = (first & 1) != 0;
      auto const second = in.get();
      at.write = static_cast<lease_write>(second >> 5);
      at.is_missed = (second & 16) != 0;
      at.has_news = (second & 8) != 0;
      at.heir = keyspan::session_id{static_cast<std::uint64_t>(second & 7)};
      at.base = in.get_facts();
      at.since = instant{-instant::duration{in.get()}};
      at.deadline = instant{instant::duration{in.get()}};
      at.sent = instant{-instant::duration{in.get()}};
      auto const third = in.get();
      at.acknowledged = static_cast<std::uint64_t>(third >> 4);
      at.numbers = static_cast<std::uint64_t>(third & 15);
      one.machine = Machine{at};
      one.pending = in.get_message();
      one.orphan = in.get_message();
      one.echo = in.get_message();
      auto const bits = in.get();
      one.reads_back = (bits & 1) != 0;
      one.has_seen = (bits & 2) != 0;
      one.is_stopping = (bits & 4) != 0;
      one.work.is_open = (bits & 8) != 0;
      one.work.is_busy = (bits & 16) != 0;
      one.work.reads_no_more = (bits & 32) != 0;
      one.seen = in.get_facts();
      auto const counts = in.get();
      one.work.handed = static_cast<std::uint8_t>(counts >> 4);
      one.work.done = static_cast<std::uint8_t>(counts & 15);
      one.work.epoch = in.get();
      one.session_until = instant{instant::duration{in.get()}};
      auto const beat = in.get();
      one.beat = static_cast<message::where>(beat & 3);
      one.is_fenced = (beat & 4) != 0;
      one.has_seen_beat = (beat & 8) != 0;
      one.knows_fence = (beat & 16) != 0;
      one.beat_sent = instant{-instant::duration{in.get()}};
      one.seen_since = instant{-instant::duration{in.get()}};
    }
    return s;
  }

  // ---- what was seen
  // -----------------------------------------------------------------------------

  static std::uint64_t fingerprint(bytes const& of) {
    std::uint64_t hash = 0x9E37'79B9'7F4A'7C15;
    for (std::size_t i = 0; i < of.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, of.data() + i, 8);
      hash = (hash ^ word) * 0xBF58'476D'1CE4'E5B9;
      hash ^= hash >> 32;
      hash *= 0x94D0'49BB'1331'11EB;
      hash ^= hash >> 29;
    }
    return hash == 0 ? 1 : hash;
  }
  bool is_new(std::uint64_t print) {
    if (2 * (frontier_.size() + 1) > visited_.size()) {
      auto const before = std::exchange(visited_, std::vector<std::uint64_t>(visited_.size() * 2));
      for (std::uint64_t const one : before)
        if (one != 0) place(one);
    }
    return place(print);
  }
  bool place(std::uint64_t print) {
    for (std::size_t i = print & (visited_.size() - 1);; i = (i + 1) & (visited_.size() - 1)) {
      if (visited_[i] == print) return false;
      if (visited_[i] != 0) continue;
      visited_[i] = print;
      return true;
    }
  }
  void add(state_type const& s, std::uint32_t from, char const* what) {
    bytes const made = encoded(s);
    if (!is_new(fingerprint(made))) return;
    frontier_.push_back(made);
    before_.push_back({from, what});
  }

  options with_;
  outcome out_{};
  std::size_t at_ = 0;
  std::vector<bytes> frontier_{};
  std::vector<step_before> before_{};
  std::vector<std::uint64_t> visited_{};
};

}  // namespace model
