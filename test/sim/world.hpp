// test/sim/world.hpp — one deterministic world: a virtual clock, its events, its faults, its
// history.
//
// Everything that happens in a world follows from its seed: time passes only between events, events
// of one instant come in an order that the seed decides, every actor and every kind of fault draws
// from a stream of its own, and whatever happens enters the history. One thread, no real clock, no
// address that could show.
#pragma once

#include <support/random.hpp>

#include <chrono>
#include <compare>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// Virtual time, from the beginning of the world.
struct clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;
};
using duration = clock::duration;
using instant = clock::time_point;

/// What ends a world: an invariant did not hold.
struct violated : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Numbers and texts in one line.
template <class... Pieces>
std::string line(Pieces const&... pieces) {
  std::string text;
  auto const add = [&text](auto const& piece) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(piece)>>) {
      text += std::to_string(piece);
    } else {
      text += std::string_view{piece};
    }
  };
  (add(pieces), ...);
  return text;
}

/// What an event does: any callable once, copyable or not.
class action {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, action> && std::invocable<F&>)
  action(F&& f) : held_{std::make_unique<holding<std::decay_t<F>>>(std::forward<F>(f))} {}
  void operator()() { held_->run(); }

 private:
  struct anything {
    virtual ~anything() = default;
    virtual void run() = 0;
  };
  template <class F>
  struct holding final : anything {
    explicit holding(F from) : f{std::move(from)} {}
    void run() override { static_cast<void>(f()); }
    F f;
  };
  std::unique_ptr<anything> held_;
};

/// One kind of trouble. For each seed the swarm switches whole kinds off, so that every combination
/// of kinds is met, and none hides behind another that strikes first.
class fault {
 public:
  fault(std::string name, unsigned percent, test::random stream)
      : name_{std::move(name)}, percent_{percent}, stream_{stream}, is_on_{stream_.chance(50)} {}

  /// Whether it strikes now. Draws nothing where the kind is off.
  bool strikes() {
    if (!is_on_ || !stream_.chance(percent_)) return false;
    ++struck_;
    return true;
  }
  /// Where and how hard it strikes is drawn from here.
  test::random& stream() { return stream_; }

  std::string_view name() const { return name_; }
  bool is_on() const { return is_on_; }
  std::uint64_t struck() const { return struck_; }
  void heal() { is_on_ = false; }

 private:
  std::string name_;
  unsigned percent_;
  test::random stream_;
  bool is_on_;
  std::uint64_t struck_ = 0;
};

class world {
 public:
  /// Names an event that was scheduled.
  struct ticket {
    instant at;
    std::uint64_t tie;
    std::uint64_t id;
    friend auto operator<=>(ticket const&, ticket const&) = default;
  };

  explicit world(std::uint64_t seed)
      : seed_{seed}, ties_{stream("the order of events of one instant")} {}
  world(world const&) = delete;
  world& operator=(world const&) = delete;

  std::uint64_t seed() const { return seed_; }
  instant now() const { return now_; }
  std::uint64_t steps() const { return steps_; }

  /// The numbers of one actor. They depend on the seed and the name alone: an actor that draws
  /// more, or that comes later, moves nobody else.
  test::random stream(std::string_view actor) const {
    return test::random{hashed(actor, test::random{seed_}())};
  }

  /// Declares a kind of fault that strikes `percent` of 100 times where the swarm left it on.
  fault& declare_fault(std::string name, unsigned percent) {
    auto const numbers = stream(line("fault ", name));
    return faults_.emplace_back(std::move(name), percent, numbers);
  }
  std::deque<fault> const& faults() const { return faults_; }
  /// From now on nothing strikes any more: what must come right in the end gets its chance.
  void heal() {
    note("all faults heal");
    for (auto& kind : faults_) kind.heal();
  }

  /// `does` happens at `at`, or at once where that is past; among events of one instant in an order
  /// that the seed decides. One without a name is not told of.
  ticket schedule_at(instant at, std::string what, action does) {
    ticket const key{std::max(at, now_), ties_(), ++scheduled_};
    events_.emplace(key, event{std::move(what), std::move(does)});
    return key;
  }
  ticket schedule(duration after, std::string what, action does) {
    return schedule_at(now_ + after, std::move(what), std::move(does));
  }
  /// Takes an event back; false where it has happened, or was taken back before.
  bool cancel(ticket const& key) { return events_.erase(key) != 0; }
  bool is_idle() const { return events_.empty(); }

  /// `co_await w.sleep(5ms, "writer 3 wakes")`. Destroying the coroutine meanwhile cancels the
  /// event.
  auto sleep(duration after, std::string what) {
    struct sleeper {
      sleeper(world& w, duration time, std::string text)
          : in{w}, after{time}, what{std::move(text)} {}
      sleeper(sleeper const&) = delete;
      sleeper& operator=(sleeper const&) = delete;
      ~sleeper() { in.cancel(key); }
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> waiting) {
        key = in.schedule(after, std::move(what), [waiting] { waiting.resume(); });
      }
      void await_resume() const noexcept {}

      world& in;
      duration after;
      std::string what;
      ticket key{};
    };
    return sleeper{*this, after, std::move(what)};
  }

  /// Something that holds after every step. `complaint` returns what is wrong, or nothing.
  void always(std::string name, std::function<std::string()> complaint) {
    invariants_.push_back({std::move(name), std::move(complaint)});
  }
  /// Something that holds here and now.
  template <class... Pieces>
  void demand(bool holds, Pieces const&... pieces) const {
    if (!holds) throw violated{line(pieces...)};
  }

  /// Puts a line into the history.
  template <class... Pieces>
  void note(Pieces const&... pieces) {
    write(line(pieces...));
  }
  /// A hash of all that happened, the same for the same seed on every machine.
  std::uint64_t history() const { return history_; }
  std::deque<std::string> const& last_lines() const { return last_lines_; }

  /// Lets events happen until none is left, `stop` is called, or the time is reached.
  void run() { run_until(instant::max()); }
  void run_until(instant end) {
    is_stopped_ = false;
    while (!is_stopped_ && !events_.empty() && events_.begin()->first.at <= end) step();
    if (!is_stopped_ && end != instant::max()) now_ = std::max(now_, end);
  }
  void stop() { is_stopped_ = true; }
  /// A world that has not come to rest after so many events never will.
  void allow_steps(std::uint64_t most) { most_steps_ = most; }

 private:
  struct event {
    std::string what;
    action does;
  };
  struct invariant {
    std::string name;
    std::function<std::string()> complaint;
  };

  void step() {
    auto happening = events_.extract(events_.begin());
    now_ = happening.key().at;
    ++steps_;
    demand(steps_ <= most_steps_, "not at rest after ", most_steps_, " events");
    if (!happening.mapped().what.empty()) write(happening.mapped().what);
    happening.mapped().does();
    for (auto const& [name, complaint] : invariants_) {
      auto const wrong = complaint();
      demand(wrong.empty(), name, ": ", wrong);
    }
  }

  void write(std::string_view text) {
    auto const time = now_.time_since_epoch().count();
    history_ = hashed(text, history_ ^ static_cast<std::uint64_t>(time));
    auto const fraction = std::to_string(1'000'000 + time % 1'000'000).substr(1);
    last_lines_.push_back(line("#", steps_, "  ", time / 1'000'000, ".", fraction, " s  ", text));
    if (last_lines_.size() > 24) last_lines_.pop_front();
  }

  // FNV-1a, with a last step that lets every bit of the text reach every bit of the hash.
  static std::uint64_t hashed(std::string_view text, std::uint64_t from) {
    std::uint64_t hash = from ^ 0xCBF29CE484222325;
    for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x00000100000001B3;
    return test::random{hash}();
  }

  std::uint64_t seed_;
  test::random ties_;
  instant now_{};
  std::uint64_t steps_ = 0;
  std::uint64_t most_steps_ = 1'000'000;
  std::uint64_t scheduled_ = 0;
  std::uint64_t history_ = 0;
  bool is_stopped_ = false;
  std::deque<fault> faults_;
  std::vector<invariant> invariants_;
  std::deque<std::string> last_lines_;
  std::map<ticket, event> events_;  // goes first: what it holds may look at all the others
};

}  // namespace sim
