// keyspan/lease/memory_store.hpp — a store of leases in memory, shared by hosts that each see it
// through a network of their own: late, cut off, unanswered, by a script or by chance.
//
//   memory_store store{clock};                     no faults: just a store
//   auto host = store.view("host 3", {.lost = 5, .delayed = 50, .seed = 7});
//   host.fail_next(errc::throttled);   host.next({.late = 10s});   host.cut_off();   host.heal();
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/lease/lease_store.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// What a store is asked to do.
enum class store_operation : std::uint8_t { list, read, create, replace, remove, watch };

/// The enumerator's own name: "replace".
constexpr std::string_view name_of(store_operation operation) {
  switch (operation) {
    case store_operation::list:
      return "list";
    case store_operation::read:
      return "read";
    case store_operation::create:
      return "create";
    case store_operation::replace:
      return "replace";
    case store_operation::remove:
      return "remove";
    case store_operation::watch:
      return "watch";
  }
  expects(false, "a store_operation is one of the enumerators");
  return {};
}

/// How a host is cut off from its store.
enum class store_cut : std::uint8_t {
  refusing,    ///< nothing is done: `unavailable`, at once
  silent,      ///< nothing is done, and nobody answers
  unanswered,  ///< everything is done, and nobody answers
};

/// What one operation meets. Whom nobody answers is told `timed_out` at the deadline; who has none
/// `outcome_unknown` of a write and `not_connected` else, at once.
struct store_fault {
  /// Which operation it waits for: of this kind, of a record or a prefix of this name; any where
  /// nothing is said.
  std::optional<store_operation> only{};
  std::string id{};
  /// How long it is on its way. A write that is on its way is done even if its caller has given up.
  instant::duration before{};
  /// How long its answer is on its way.
  instant::duration after{};
  /// It is not done, and fails with this.
  std::optional<error> failure{};
  /// It is done, and its answer is lost; nobody is told of that before the deadline where it is
  /// silent. A watch hears of nothing.
  bool is_lost = false;
  bool is_silent = false;
  /// A write is done so much later, when its caller has long been told that it was lost.
  std::optional<instant::duration> late{};
  /// A write that was done is done again so much later, where its condition holds then.
  std::optional<instant::duration> twice{};
  /// A list is that of so long ago, lacks one record, shows one twice.
  instant::duration stale{};
  bool lacks_one = false;
  bool repeats_one = false;

  friend bool operator==(store_fault const&, store_fault const&) = default;
};

/// How often what goes wrong, in percent of all operations: 5 is one in twenty.
struct store_chances {
  /// With 1 to 50 ms to wait. One operation is throttled, unavailable, lost, late or done twice:
  /// these are no more than 100 together.
  unsigned throttled = 0;
  unsigned unavailable = 0;
  /// Done, but nobody hears of it: half of them are silent until the deadline.
  unsigned lost = 0;
  /// Of writes: done up to `longest_lateness` later, and lost; or done once more by then.
  unsigned late = 0;
  unsigned twice = 0;
  instant::duration longest_lateness = std::chrono::seconds{10};
  /// Whatever else it meets: up to `longest_delay`, half of it on the way, half on the way back.
  unsigned delayed = 0;
  instant::duration longest_delay = std::chrono::milliseconds{100};
  /// Of lists: up to `longest_staleness` old, without one record, with one twice.
  unsigned stale = 0;
  instant::duration longest_staleness = std::chrono::seconds{1};
  unsigned lacking = 0;
  unsigned repeating = 0;
  /// Of watches: they hear of nothing.
  unsigned deaf = 0;
  /// The same one may be given to every host: its name is mixed in.
  std::uint64_t seed = 0;

  friend bool operator==(store_chances const&, store_chances const&) = default;
};

/// A write that was done.
struct store_write {
  /// The first one is 1; the order in which they were done.
  std::uint64_t number = 0;
  /// Who asked for it; empty for the store's own members.
  std::string host{};
  /// `create`, `replace` or `remove`.
  store_operation operation = store_operation::create;
  std::string id{};
  /// What it is behind the write; empty where it was removed.
  std::string body{};
  std::string version{};
  /// The version that it had before; empty where there was none.
  std::string replaced{};
  instant at{};

  friend bool operator==(store_write const&, store_write const&) = default;
};

namespace detail {

// The finalizer of MurmurHash3: no two numbers are stirred into one.
constexpr std::uint64_t stirred(std::uint64_t z) noexcept {
  z = (z ^ z >> 33) * 0xFF51AFD7ED558CCD;
  z = (z ^ z >> 33) * 0xC4CEB9FE1A85EC53;
  return z ^ z >> 33;
}

constexpr bool is_write(store_operation operation) noexcept {
  return operation == store_operation::create || operation == store_operation::replace ||
         operation == store_operation::remove;
}

// What is asked; of a list or a watch the id is a prefix.
struct store_question {
  store_operation operation;
  std::string id;
  std::string body{};
  std::string version{};
};

// The records, their writes, and what they were a while ago. No lock and no clock.
class record_table {
 public:
  explicit record_table(instant::duration remembered) : remembered_{remembered} {}

  result<std::string> write(store_question const& asked, std::string_view host, instant at) {
    auto const found = records_.find(asked.id);
    bool const exists = found != records_.end();
    std::string_view const name = std::string_view{asked.id}.substr(0, 80);
    if (asked.operation == store_operation::create) {
      if (exists) return fail(errc::already_exists, "there is a record ", name, " already");
    } else {
      if (!exists) return fail(errc::not_found, "there is no record ", name);
      if (found->second.version != asked.version)
        return fail(errc::precondition_failed, "record ", name,
                    " has another version: read it again and decide anew");
    }
    return change(asked.operation, asked.id, asked.body, host, at);
  }

  // Requires that it is there where it is removed or replaced.
  std::string change(store_operation operation, std::string const& id, std::string const& body,
                     std::string_view host, instant at) {
    auto const found = records_.find(id);
    std::optional<kept> before;
    if (found != records_.end()) before = std::move(found->second);
    ++written_;
    std::string version;
    if (operation == store_operation::remove) {
      records_.erase(found);
    } else {
      version = version_of(written_);
      records_.insert_or_assign(id, kept{body, version});
    }
    if (listens)
      news.push_back({written_, std::string{host}, operation, id,
                      operation == store_operation::remove ? std::string{} : body, version,
                      before ? before->version : std::string{}, at});
    if (remembered_ > remembered_.zero()) {
      past_.push_back({at, id, std::move(before)});
      while (past_.front().at < instant_after(at, -remembered_)) past_.pop_front();
    }
    return version;
  }

  std::optional<stored_record> find(std::string_view id) const {
    auto const found = records_.find(id);
    if (found == records_.end()) return std::nullopt;
    return stored_record{found->first, found->second.body, found->second.version};
  }
  std::vector<stored_record> list(std::string_view prefix) const {
    return listed(records_, prefix);
  }
  // As it was then, as far as it is remembered.
  std::vector<stored_record> list(std::string_view prefix, instant then) const {
    table old;
    for (auto at = records_.lower_bound(prefix); at != records_.end() && begins(at->first, prefix);
         ++at)
      old.insert(old.end(), *at);
    for (auto undone = past_.rbegin(); undone != past_.rend() && undone->at > then; ++undone) {
      if (!begins(undone->id, prefix)) continue;
      if (undone->before) {
        old.insert_or_assign(undone->id, *undone->before);
      } else {
        old.erase(undone->id);
      }
    }
    return listed(old, prefix);
  }

  static bool begins(std::string_view id, std::string_view prefix) {
    return id.substr(0, prefix.size()) == prefix;
  }

  bool listens = false;             // whether anybody wants the news
  std::vector<store_write> news{};  // not told yet

 private:
  struct kept {
    std::string body;
    std::string version;
  };
  using table = std::map<std::string, kept, std::less<>>;
  struct undoing {
    instant at;
    std::string id;
    std::optional<kept> before;
  };

  // In no order, so that nobody relies on one. Short enough to be kept without an allocation.
  static std::string version_of(std::uint64_t number) {
    std::string text(13, '0');
    std::uint64_t bits = stirred(number);
    for (char& digit : text) {
      digit = "0123456789abcdefghijklmnopqrstuv"[bits & 31];
      bits >>= 5;
    }
    return text;
  }
  static std::vector<stored_record> listed(table const& of, std::string_view prefix) {
    std::vector<stored_record> all;
    for (auto at = of.lower_bound(prefix); at != of.end() && begins(at->first, prefix); ++at)
      all.push_back({at->first, at->second.body, at->second.version});
    return all;
  }

  instant::duration remembered_;
  table records_{};
  std::deque<undoing> past_{};
  std::uint64_t written_ = 0;
};

// When somebody is cut off.
class cut_times {
 public:
  void add(instant from, instant until, store_cut how) {
    expects(from <= until, "a cut ends after it has begun");
    cuts_.push_back({from, until, how});
  }
  void clear() { cuts_.clear(); }
  std::optional<store_cut> at(instant now) const {
    for (cut const& one : cuts_)
      if (one.from <= now && now < one.until) return one.how;
    return std::nullopt;
  }

 private:
  struct cut {
    instant from;
    instant until;
    store_cut how;
  };
  std::vector<cut> cuts_{};
};

// One who asks, and what its network does to it.
class store_host {
 public:
  store_host(std::string own_name, store_chances chances)
      : name{std::move(own_name)}, chances_{checked(chances)} {
    for (char const c : name) salt_ = stirred(salt_ ^ static_cast<unsigned char>(c));
  }

  void chances(store_chances next) { chances_ = checked(next); }
  void next(store_fault const& met, std::size_t times) {
    expects(met.before >= met.before.zero() && met.after >= met.after.zero() &&
                met.stale >= met.stale.zero() &&
                met.late.value_or(met.before) >= met.before.zero() &&
                met.twice.value_or(met.before) >= met.before.zero(),
            "what is late is late by 0 or more");
    script_.insert(script_.end(), times, met);
  }

  // What the next operation meets: the first of the script that is meant for it, then chance.
  store_fault meet(store_question const& asked) {
    ++asked_[static_cast<std::size_t>(asked.operation)];
    store_fault met;
    auto const scripted = std::find_if(script_.begin(), script_.end(), [&](store_fault const& one) {
      return (!one.only || *one.only == asked.operation) && (one.id.empty() || one.id == asked.id);
    });
    if (scripted != script_.end()) {
      met = std::move(*scripted);
      script_.erase(scripted);
      met.only.reset();
      met.id.clear();
    } else {
      strike(asked.operation, met);
    }
    if (strikes(chances_.delayed)) {
      met.before += part_of(chances_.longest_delay / 2);
      met.after += part_of(chances_.longest_delay / 2);
    }
    if (!(met == store_fault{})) ++struck;
    return met;
  }

  std::size_t asked(store_operation operation) const {
    return asked_[static_cast<std::size_t>(operation)];
  }
  std::uint64_t draw() { return stirred(chances_.seed ^ stirred(salt_ ^ stirred(++drawn_))); }

  std::string const name;
  cut_times cuts{};
  std::size_t struck = 0;

 private:
  static store_chances checked(store_chances const& given) {
    std::uint64_t const faults =
        std::uint64_t{given.throttled} + given.unavailable + given.lost + given.late + given.twice;
    expects(faults <= 100 && (std::max)({given.delayed, given.stale, given.lacking, given.repeating,
                                         given.deaf}) <= 100,
            "of 100 operations 100 meet a fault at most");
    expects((std::min)({given.longest_lateness, given.longest_delay, given.longest_staleness}) >=
                instant::duration::zero(),
            "what is late is late by 0 or more");
    return given;
  }

  bool strikes(unsigned chance) { return chance != 0 && draw() % 100 < chance; }
  instant::duration part_of(instant::duration longest) {
    double const share = static_cast<double>(draw() >> 11) * 0x1p-53;
    return instant::duration{
        static_cast<instant::rep>(static_cast<double>(longest.count()) * share)};
  }

  void strike(store_operation operation, store_fault& met) {
    strike_one(operation, met);
    if (operation == store_operation::watch && strikes(chances_.deaf)) met.is_lost = true;
    if (operation != store_operation::list) return;
    if (strikes(chances_.stale)) met.stale = part_of(chances_.longest_staleness);
    met.lacks_one = strikes(chances_.lacking);
    met.repeats_one = strikes(chances_.repeating);
  }
  // One draw decides between these faults, so that each is as frequent as it was asked to be.
  void strike_one(store_operation operation, store_fault& met) {
    unsigned const unavailable = chances_.throttled + chances_.unavailable;
    unsigned const lost = unavailable + chances_.lost;
    unsigned const late = lost + chances_.late;
    unsigned const twice = late + chances_.twice;
    if (twice == 0) return;
    std::uint64_t const drawn = draw() % 100;
    if (drawn < chances_.throttled) {
      met.failure = error{errc::throttled, "throttled by chance"};
      met.failure->wire.retry_after_ms = static_cast<std::uint32_t>(1 + draw() % 50);
    } else if (drawn < unavailable) {
      met.failure = error{errc::unavailable, "unavailable by chance"};
    } else if (drawn < lost) {
      met.is_lost = true;
      met.is_silent = draw() % 2 == 0;
    } else if (drawn < late && is_write(operation)) {
      met.late = part_of(chances_.longest_lateness);
      met.is_silent = draw() % 2 == 0;
    } else if (drawn >= late && drawn < twice && is_write(operation)) {
      met.twice = part_of(chances_.longest_lateness);
    }
  }

  store_chances chances_;
  std::uint64_t salt_ = 0;
  std::uint64_t drawn_ = 0;
  std::deque<store_fault> script_{};
  std::array<std::size_t, 6> asked_{};
};

// A write on its way, and what came of it.
struct sent_write {
  store_question what;
  std::shared_ptr<store_host const> by;
  std::optional<result<std::string>> answer{};
};

// Somebody who watches; `woken` wakes him.
struct store_watcher {
  std::string prefix;
  std::shared_ptr<store_host> by;
  stop_source woken{};
  bool is_deaf = false;
  bool has_news = false;
};

// What all hosts share, under one lock. Writes on their way are done when their moment has come,
// before anybody looks.
template <clock Clock>
class shared_records {
 public:
  using hook = std::function<void(store_write const&)>;

  shared_records(Clock& by, instant::duration remembered) : clock_{&by}, table_{remembered} {}

  Clock& time() const noexcept { return *clock_; }

  // Calls `f(now)` in the lock. Those who want to hear of writes are told outside of it.
  template <class F>
  auto locked(F f) {
    std::vector<store_write> news;
    std::vector<stop_source> woken;
    std::shared_ptr<hook const> told;
    auto answer = [&] {
      std::lock_guard const lock{mutex_};
      instant const now = clock_->now();
      do_all_until(now);
      auto made = f(now);
      news = std::exchange(table_.news, {});
      woken = std::exchange(woken_, {});
      told = on_write_;
      return made;
    }();
    if (told)
      for (store_write const& one : news) (*told)(one);
    for (stop_source& one : woken) one.request_stop();
    return answer;
  }

  // The same for what is no look at the records: it changes nothing and tells nobody.
  template <class F>
  auto quietly(F f) {
    std::lock_guard const lock{mutex_};
    return f();
  }

  // The rest is called in the lock.

  record_table& table() noexcept { return table_; }
  cut_times& cuts() noexcept { return cuts_; }

  void send(std::shared_ptr<sent_write> write, instant due, instant now) {
    if (due <= now) {
      perform(*write, now);
    } else {
      on_their_way_.emplace(due, std::move(write));
    }
  }
  std::size_t under_way() const { return on_their_way_.size(); }

  std::string put(std::string const& id, std::string const& body, instant now) {
    bool const exists = table_.find(id).has_value();
    std::string version = table_.change(exists ? store_operation::replace : store_operation::create,
                                        id, body, {}, now);
    wake(id, now);
    return version;
  }
  bool erase(std::string const& id, instant now) {
    if (!table_.find(id)) return false;
    table_.change(store_operation::remove, id, {}, {}, now);
    wake(id, now);
    return true;
  }

  std::optional<store_cut> cut_of(store_host const& host, instant now) const {
    auto const own = host.cuts.at(now);
    return own ? own : cuts_.at(now);
  }

  void listen(hook f) {
    table_.listens = static_cast<bool>(f);
    on_write_ = f ? std::make_shared<hook const>(std::move(f)) : nullptr;
  }
  void enter(store_watcher& one) { watchers_.push_back(&one); }
  void leave(store_watcher& one) { std::erase(watchers_, &one); }

 private:
  void do_all_until(instant now) {
    while (!on_their_way_.empty() && on_their_way_.begin()->first <= now) {
      auto const first = on_their_way_.extract(on_their_way_.begin());
      perform(*first.mapped(), first.key());
    }
  }
  void perform(sent_write& write, instant at) {
    // The second time: who was told that it was not done relies on that.
    if (write.answer && !*write.answer) return;
    auto answer = table_.write(write.what, write.by->name, at);
    if (answer) wake(write.what.id, at);
    if (!write.answer) write.answer = std::move(answer);
  }
  void wake(std::string_view id, instant now) {
    for (store_watcher* one : watchers_) {
      if (one->has_news || one->is_deaf || !record_table::begins(id, one->prefix)) continue;
      if (cut_of(*one->by, now)) continue;
      one->has_news = true;
      woken_.push_back(one->woken);
    }
  }

  Clock* clock_;
  std::mutex mutex_{};
  record_table table_;
  cut_times cuts_{};
  std::multimap<instant, std::shared_ptr<sent_write>> on_their_way_{};  // equal ones as they came
  std::vector<store_watcher*> watchers_{};
  std::vector<stop_source> woken_{};
  std::shared_ptr<hook const> on_write_{};
};

}  // namespace detail

template <clock Clock>
class memory_store;

/// A `memory_store` as one host sees it: a `watchable_lease_store` with faults of its own. Copies
/// are the same host, and all may be used from several threads. Store and clock outlive it, and all
/// operations that are under way.
///
/// What a script says strikes first: each operation takes the first fault that is meant for it.
/// Where there is none chance strikes, drawn from the seed: the same for the same operations of
/// this host in the same order, whatever others do.
///
/// An operation is lazy, owns what it was asked, and never suspends where nothing is late.
///
/// Destruction: that of a task which waits by the clock. A write that is on its way is done.
template <clock Clock, clock Own = Clock>
class memory_view {
 public:
  template <class Answer>
  using answering = task<result<Answer>>;

  std::string const& name() const noexcept { return host_->name; }

  // ---- a lease_store ---------------------------------------------------------------------------

  answering<std::vector<stored_record>> list(std::string_view prefix,
                                             store_request const& request) const {
    return perform<std::vector<stored_record>>(
        *this, {store_operation::list, std::string{prefix}}, request,
        [](memory_view const& own, detail::store_question const& asked, store_fault const& met,
           instant now) { return own.listed(asked.id, met, now); });
  }
  answering<stored_record> read(std::string_view id, store_request const& request) const {
    return perform<stored_record>(*this, question(store_operation::read, id), request,
                                  [](memory_view const& own, detail::store_question const& asked,
                                     store_fault const&, instant) -> result<stored_record> {
                                    if (auto found = own.all_->table().find(asked.id))
                                      return *std::move(found);
                                    return fail(errc::not_found, "there is no record ",
                                                std::string_view{asked.id}.substr(0, 80));
                                  });
  }
  answering<std::string> create(std::string_view id, std::string_view body,
                                store_request const& request) const {
    return perform<std::string>(*this, question(store_operation::create, id, body), request,
                                nothing_to_look_at{});
  }
  answering<std::string> replace(std::string_view id, std::string_view body,
                                 std::string_view version, store_request const& request) const {
    return perform<std::string>(*this, question(store_operation::replace, id, body, version),
                                request, nothing_to_look_at{});
  }
  answering<void> remove(std::string_view id, std::string_view version,
                         store_request const& request) const {
    return removed(*this, question(store_operation::remove, id, {}, version), request);
  }
  /// Goes on inside of the call that writes. Sees writes that are on their way when somebody next
  /// asks the store for something.
  answering<void> watch(std::string_view prefix, store_request const& request) const {
    return watched(*this, {store_operation::watch, std::string{prefix}}, request);
  }

  // ---- what goes wrong -------------------------------------------------------------------------

  /// The next operations that it is meant for meet this.
  void next(store_fault const& met, std::size_t times = 1) const {
    in_lock([&](instant) { host_->next(met, times); });
  }
  /// The next operations are not done, and fail so; throttled with 20 ms to wait.
  void fail_next(errc why, std::size_t times = 1) const {
    store_fault met;
    met.failure = error{why};
    if (why == errc::throttled) met.failure->wire.retry_after_ms = 20;
    next(met, times);
  }
  /// From now on chance strikes so.
  void chances(store_chances of) const {
    in_lock([&](instant) { host_->chances(of); });
  }
  /// Cuts this host off until `heal`. Answers that are on their way do not arrive either, but where
  /// it is refused.
  void cut_off(store_cut how = store_cut::silent) const {
    in_lock([&](instant now) { host_->cuts.add(now, (instant::max)(), how); });
  }
  /// The same from one moment until another.
  void cut_off(instant from, instant until, store_cut how = store_cut::silent) const {
    in_lock([&](instant) { host_->cuts.add(from, until, how); });
  }
  /// Ends all cuts of this host, those to come as well. Script and chances stay.
  void heal() const {
    in_lock([&](instant) { host_->cuts.clear(); });
  }

  /// How many operations of a kind this host has begun, and how many of all have met a fault or a
  /// cut.
  std::size_t asked(store_operation operation) const {
    return all_->locked([&](instant) { return host_->asked(operation); });
  }
  std::size_t struck() const {
    return all_->locked([&](instant) { return host_->struck; });
  }

 private:
  friend memory_store<Clock>;
  using shared = detail::shared_records<Clock>;

  struct nothing_to_look_at {};
  // An operation that has begun, by the host's own clock.
  struct journey {
    instant begun;
    store_fault met{};
    std::optional<store_cut> cut{};
    std::shared_ptr<detail::sent_write> write{};
  };

  memory_view(shared& all, std::string name, Own& by, store_chances chances)
      : all_{&all},
        by_{&by},
        host_{std::make_shared<detail::store_host>(std::move(name), chances)} {}

  static detail::store_question question(store_operation operation, std::string_view id,
                                         std::string_view body = {},
                                         std::string_view version = {}) {
    expects(is_record_id(id),
            "an id has 1 to 200 letters, digits, dots, hyphens and underscores, and no dot at its "
            "ends");
    return {operation, std::string{id}, std::string{body}, std::string{version}};
  }

  template <class F>
  void in_lock(F f) const {
    all_->locked([&](instant now) {
      f(now);
      return true;
    });
  }

  static std::optional<error> refusal(Own& by, store_request const& within) {
    if (within.stop.stop_requested()) return error{errc::stopped, "the operation was stopped"};
    if (within.deadline && by.now() > *within.deadline)
      return error{errc::timed_out, "the deadline had passed before it was asked"};
    return std::nullopt;
  }

  bool is_unheard() const {
    return all_->locked([&](instant now) {
      auto const cut = all_->cut_of(*host_, now);
      return cut && *cut != store_cut::refusing;
    });
  }
  journey begin(detail::store_question const& asked) const {
    return all_->locked([&](instant now) {
      journey on{by_->now(), host_->meet(asked)};
      on.cut = all_->cut_of(*host_, now);
      if (on.cut && on.met == store_fault{}) ++host_->struck;
      if (on.cut == store_cut::unanswered) {
        on.met.failure.reset();
        on.met.is_lost = on.met.is_silent = true;
      }
      if (on.met.failure) on.met.late.reset();
      bool const arrives = !on.met.failure && (!on.cut || on.cut == store_cut::unanswered);
      if (!arrives || !detail::is_write(asked.operation)) return on;
      on.write = std::make_shared<detail::sent_write>(detail::sent_write{asked, host_});
      instant const due = instant_after(instant_after(now, on.met.before),
                                        on.met.late.value_or(instant::duration::zero()));
      all_->send(on.write, due, now);
      if (on.met.twice) all_->send(on.write, instant_after(due, *on.met.twice), now);
      return on;
    });
  }

  // Waits until then; at the deadline it is too late.
  static task<result<void>> wait(Own& by, instant until, store_request within) {
    if (until <= by.now()) co_return result<void>{};
    bool const is_too_late = within.deadline && until > *within.deadline;
    result<void> const waited =
        co_await by.wait_until(is_too_late ? *within.deadline : until, within.stop);
    if (!waited || !is_too_late) co_return waited;
    co_return fail(errc::timed_out, "no answer came before the deadline");
  }
  // What is told to whom nobody answers.
  static task<result<void>> unheard(Own& by, bool is_silent, errc otherwise, store_request within) {
    if (is_silent && within.deadline) {
      result<void> const waited = co_await by.wait_until(*within.deadline, within.stop);
      if (!waited) co_return waited;
      co_return fail(errc::timed_out, "no answer came before the deadline");
    }
    co_return fail(otherwise, "the answer was lost");
  }

  template <class Answer, class Look>
  static task<result<Answer>> perform(memory_view own, detail::store_question asked,
                                      store_request within, Look look) {
    Own& by = *own.by_;
    if (auto const why = refusal(by, within)) co_return unexpected{*why};
    bool const writes = detail::is_write(asked.operation);
    errc const unknown = writes ? errc::outcome_unknown : errc::not_connected;
    journey const on = own.begin(asked);
    if (on.cut == store_cut::refusing)
      co_return fail(errc::unavailable, "the store takes no requests");
    if (on.cut == store_cut::silent) {
      result<void> const silence = co_await unheard(by, true, errc::not_connected, within);
      co_return unexpected{silence.error()};
    }
    instant const arrival = instant_after(on.begun, on.met.before);
    if (arrival > on.begun) {
      result<void> const waited = co_await wait(by, arrival, within);
      if (!waited) co_return unexpected{waited.error()};
    }
    result<Answer> answer{unexpected{error{unknown}}};
    if (on.met.failure) {
      answer = unexpected{*on.met.failure};
    } else if (!on.met.late) {
      answer = own.all_->locked([&](instant now) -> result<Answer> {
        if constexpr (std::is_same_v<Look, nothing_to_look_at>) {
          return *on.write->answer;
        } else {
          return look(own, asked, on.met, now);
        }
      });
    }
    instant const back = instant_after(arrival, on.met.after);
    if (back > arrival) {
      result<void> const waited = co_await wait(by, back, within);
      if (!waited) co_return unexpected{waited.error()};
    }
    bool const is_cut = back > on.begun && own.is_unheard();
    if (is_cut || on.met.late || (on.met.is_lost && !on.met.failure)) {
      result<void> const silence =
          co_await unheard(by, is_cut || on.met.is_silent, unknown, within);
      co_return unexpected{silence.error()};
    }
    co_return answer;
  }

  static task<result<void>> removed(memory_view own, detail::store_question asked,
                                    store_request within) {
    auto removing =
        perform<std::string>(own, std::move(asked), std::move(within), nothing_to_look_at{});
    result<std::string> const answer = co_await std::move(removing);
    if (!answer) co_return unexpected{answer.error()};
    co_return result<void>{};
  }

  // In the lock.
  result<std::vector<stored_record>> listed(std::string_view prefix, store_fault const& met,
                                            instant now) const {
    auto all = met.stale > met.stale.zero()
                   ? all_->table().list(prefix, instant_after(now, -met.stale))
                   : all_->table().list(prefix);
    if (met.lacks_one && !all.empty()) all.erase(all.begin() + drawn_below(all.size()));
    if (met.repeats_one && !all.empty()) {
      auto const at = all.begin() + drawn_below(all.size());
      stored_record const copy = *at;
      all.insert(at, copy);
    }
    return all;
  }
  std::ptrdiff_t drawn_below(std::size_t bound) const {
    return static_cast<std::ptrdiff_t>(host_->draw() % bound);
  }

  // In the list of those who watch as long as it lives.
  class watching {
   public:
    watching(shared& all, detail::store_watcher& one) : all_{all}, one_{one} {
      all_.quietly([&] { all_.enter(one_); });
    }
    watching(watching const&) = delete;
    watching& operator=(watching const&) = delete;
    ~watching() {
      all_.quietly([&] { all_.leave(one_); });
    }

   private:
    shared& all_;
    detail::store_watcher& one_;
  };
  struct wakes {
    void operator()() const noexcept { stop_source{source}.request_stop(); }
    stop_source source;
  };

  static task<result<void>> watched(memory_view own, detail::store_question asked,
                                    store_request within) {
    Own& by = *own.by_;
    if (auto const why = refusal(by, within)) co_return unexpected{*why};
    journey const on = own.begin(asked);
    if (on.cut == store_cut::refusing)
      co_return fail(errc::unavailable, "the store takes no requests");
    if (on.met.failure) {
      result<void> const waited = co_await wait(
          by, instant_after(instant_after(on.begun, on.met.before), on.met.after), within);
      if (!waited) co_return waited;
      co_return unexpected{*on.met.failure};
    }
    bool has_news = false;
    {
      detail::store_watcher one{asked.id, own.host_};
      one.is_deaf = on.cut.has_value() || on.met.is_lost;
      watching const entered{*own.all_, one};
      stop_callback const stops{within.stop, wakes{one.woken}};
      // Who wakes it stops the wait; that is no error.
      static_cast<void>(
          co_await by.wait_until(within.deadline.value_or((instant::max)()), one.woken.token()));
      has_news = own.all_->quietly([&] { return one.has_news; });
    }
    if (!has_news) {
      if (within.stop.stop_requested()) co_return fail(errc::stopped, "the watch was stopped");
      co_return fail(errc::timed_out, "nothing was written before the deadline");
    }
    result<void> const told = co_await wait(by, instant_after(by.now(), on.met.after), within);
    co_return told;
  }

  shared* all_;
  Own* by_;
  std::shared_ptr<detail::store_host> host_;
};

/// A `watchable_lease_store` in memory, that several threads may use at once. Its clock outlives
/// it, and it outlives all operations that are under way.
///
/// Asked itself it has no faults but `cut_off`, and never suspends. Hosts get a `view` each.
template <clock Clock>
class memory_store {
 public:
  template <class Answer>
  using answering = task<result<Answer>>;

  /// `remembered`: how old a list may be.
  explicit memory_store(Clock& by, instant::duration remembered = std::chrono::minutes{1})
      : all_{by, remembered}, own_{all_, {}, by, {}} {}
  memory_store(memory_store const&) = delete;
  memory_store& operator=(memory_store const&) = delete;

  /// The store as a host of this name sees it, with what goes wrong on its way. Each call makes
  /// another host; copies of what it returns are the same one.
  [[nodiscard]] memory_view<Clock> view(std::string name, store_chances chances = {}) {
    return memory_view<Clock>{all_, std::move(name), all_.time(), chances};
  }
  /// The same for a host that waits by a clock of its own, as each does that has a thread and a
  /// loop of its own: its watches and its deadlines go by that clock, which outlives the view.
  template <clock Own>
  [[nodiscard]] memory_view<Clock, Own> view(std::string name, Own& by,
                                             store_chances chances = {}) {
    return memory_view<Clock, Own>{all_, std::move(name), by, chances};
  }

  // ---- a lease_store ---------------------------------------------------------------------------

  answering<std::vector<stored_record>> list(std::string_view prefix,
                                             store_request const& request) const {
    return own_.list(prefix, request);
  }
  answering<stored_record> read(std::string_view id, store_request const& request) const {
    return own_.read(id, request);
  }
  answering<std::string> create(std::string_view id, std::string_view body,
                                store_request const& request) const {
    return own_.create(id, body, request);
  }
  answering<std::string> replace(std::string_view id, std::string_view body,
                                 std::string_view version, store_request const& request) const {
    return own_.replace(id, body, version, request);
  }
  answering<void> remove(std::string_view id, std::string_view version,
                         store_request const& request) const {
    return own_.remove(id, version, request);
  }
  answering<void> watch(std::string_view prefix, store_request const& request) const {
    return own_.watch(prefix, request);
  }

  // ---- trouble for everybody -------------------------------------------------------------------

  /// Cuts everybody off until `heal`, or from one moment until another. A host's own cuts come
  /// before this.
  void cut_off(store_cut how) {
    in_lock([&](instant now) { all_.cuts().add(now, (instant::max)(), how); });
  }
  void cut_off(instant from, instant until, store_cut how) {
    in_lock([&](instant) { all_.cuts().add(from, until, how); });
  }
  /// Ends these cuts, those to come as well; not those of single hosts.
  void heal() {
    in_lock([&](instant) { all_.cuts().clear(); });
  }

  // ---- for who looks on ------------------------------------------------------------------------

  /// What is there, in the order of ids, whatever is cut off.
  std::vector<stored_record> records() {
    return all_.locked([&](instant) { return all_.table().list({}); });
  }
  /// One record; none where there is none.
  std::optional<stored_record> find(std::string_view id) {
    return all_.locked([&](instant) { return all_.table().find(id); });
  }
  /// How many writes are on their way.
  std::size_t under_way() {
    return all_.locked([&](instant) { return all_.under_way(); });
  }
  /// `f` is told of each write when it is done and before it is answered, on the thread that does
  /// it: that of whoever next asks for something where it was late. It throws nothing, and may use
  /// the store. With several threads it is called from all of them, and the numbers of the writes
  /// tell their order. `{}` takes it back.
  void on_write(std::function<void(store_write const&)> f) {
    in_lock([&](instant) { all_.listen(std::move(f)); });
  }
  /// Writes a record, whatever was there, as an administrator does by hand. Returns its version.
  std::string put(std::string const& id, std::string const& body) {
    expects(is_record_id(id), "an administrator writes records that hosts can read");
    return all_.locked([&](instant now) { return all_.put(id, body, now); });
  }
  /// Removes a record by hand; false where there is none.
  bool erase(std::string const& id) {
    return all_.locked([&](instant now) { return all_.erase(id, now); });
  }

 private:
  template <class F>
  void in_lock(F f) {
    all_.locked([&](instant now) {
      f(now);
      return true;
    });
  }

  detail::shared_records<Clock> all_;
  memory_view<Clock> own_;
};

}  // namespace keyspan
