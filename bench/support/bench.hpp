// bench/support/bench.hpp — what something costs, told as a ratio to the least it could cost.
//
//   auto run = bench::session{argc, argv};
//   auto& table = run.table("16 bytes to 32 digits", "call");
//   table.floor("copy 32 bytes", [&] { … });        every row is shown as a multiple of this one
//   table.row("keyspan::encode_hex", [&] { … });
//   table.row("snprintf", [&] { … });
//   run.target("core.hex.snprintf", table.ratio("snprintf", "keyspan::encode_hex"), ">=", 20);
//   return run.finish();
//
// The rows of a table take turns: one sample of each per round, in an order that changes from round
// to round, each after a short warm-up, measured in CPU time of this thread. Whatever disturbs the
// machine disturbs neighbours alike, and the median forgets it; so ratios are steadier than times.
#pragma once

#include <bench/support/chart.hpp>
#include <keyspan/core/result.hpp>

#include <nanobench.h>

#include <bit>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

using std::chrono::nanoseconds;

/// The small fast generator of nanobench. Give it a seed, so that every run works on the same data.
using ankerl::nanobench::Rng;

/// Tells the compiler that `value` is used.
template <class T>
inline void keep(T&& value) {
  ankerl::nanobench::doNotOptimizeAway(std::forward<T>(value));
}

/// Tells the compiler that all memory may have been read and changed.
inline void clobber() {
#if defined(__GNUC__)
  asm volatile("" ::: "memory");
#else
  static void* volatile sink;
  static_cast<void>(sink);
#endif
}

/// CPU time of this thread, or time on the wall where the system has no such clock.
nanoseconds thread_time();
/// Whether `thread_time` is CPU time.
bool thread_time_is_cpu_time();

/// Calls of any global `operator new` by this thread since it began. Counting costs each of them
/// one increment of a thread-local number.
std::uint64_t allocations() noexcept;

/// What the command line says.
struct session_options {
  std::string name = "bench";  ///< of the files written
  std::string out{};           ///< the folder for them; none are written where it is empty
  int rounds = 31;
  nanoseconds sample = std::chrono::microseconds{500};  ///< the least time that one sample takes
  bool boxplot = false;
  bool help = false;

  friend bool operator==(session_options const&, session_options const&) = default;
};

/// Reads `--out DIR`, `--rounds N`, `--quick`, `--boxplot` and `--help`.
/// Errors: `invalid_options` for anything else, naming it.
keyspan::result<session_options> parse_arguments(int argc, char const* const* argv);

namespace detail {

// A value that rows can be compared by.
template <class T>
std::optional<std::uint64_t> digest(T const& value) {
  if constexpr (std::convertible_to<T const&, std::string_view>) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (char const c : std::string_view{value})
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return hash;
  } else if constexpr (std::integral<T> || std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (std::floating_point<T>) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  } else {
    return std::nullopt;
  }
}

}  // namespace detail

/// One line of a table.
class table_row {
 public:
  /// One call does the work of `operations`.
  table_row& batch(std::uint64_t operations) {
    batch_ = operations;
    return *this;
  }

 private:
  friend class table;
  friend class session;

  table_row(std::string name, bool is_floor, std::uint64_t batch)
      : name_{std::move(name)}, is_floor_{is_floor}, batch_{batch} {}

  double ns() const;                           // per operation; not a number where it did not run
  std::optional<double> instructions() const;  // per operation, where the machine counts them

  std::string name_;
  bool is_floor_;
  std::uint64_t batch_;
  std::string left_out_{};  // why; empty for a row that runs
  std::function<std::optional<std::uint64_t>()> once_{};
  std::function<void(std::uint64_t)> repeat_{};
  std::function<nanoseconds()> timed_{};
  std::uint64_t calls_ = 1;  // per sample
  std::optional<ankerl::nanobench::Result> result_{};
  std::optional<double> allocations_{};
};

class session;

/// Rows that answer one question, each as a multiple of the floor.
class table {
 public:
  table(session& owner, std::string title, std::string unit)
      : session_{&owner}, title_{std::move(title)}, unit_{std::move(unit)} {}

  /// The least that could be done: a copy, a scan, a bare loop. Every table begins with it.
  template <std::invocable Body>
  table_row& floor(std::string name, Body body) {
    return add(std::move(name), true, std::move(body));
  }

  /// Something to compare. What the calls return is kept from the optimiser, and the first call of
  /// each row must return the same where it is a number or a text: all rows compute the same thing.
  template <std::invocable Body>
  table_row& row(std::string name, Body body) {
    return add(std::move(name), false, std::move(body));
  }

  /// A body that measures itself, once per round: it returns how long it took.
  template <std::invocable Body>
  table_row& timed(std::string name, Body body) {
    table_row& added = add_row(std::move(name), rows_.empty());
    added.timed_ = [body = std::move(body)]() mutable { return nanoseconds{body()}; };
    return added;
  }

  /// A row that this machine cannot show, and why.
  void left_out(std::string name, std::string why);

  /// One call of the rows that follow does the work of `operations`.
  table& batch(std::uint64_t operations) {
    batch_ = operations;
    return *this;
  }
  /// Fewer rounds than the session has, for bodies that take long.
  table& rounds(int at_most) {
    rounds_ = at_most;
    return *this;
  }
  /// Shows allocations per operation as well.
  table& count_allocations() {
    count_ = &allocations;
    return *this;
  }

  /// The median of `name`, in nanoseconds per operation. Not a number for a row that was left out.
  double ns(std::string_view name);
  /// How many times as long as `under` takes `over`.
  double ratio(std::string_view over, std::string_view under) { return ns(over) / ns(under); }
  /// Allocations per operation of `name`. Requires `count_allocations`.
  double allocations_of(std::string_view name);

 private:
  friend class session;

  table_row& add_row(std::string name, bool is_floor);

  template <class Body>
  table_row& add(std::string name, bool is_floor, Body body) {
    table_row& added = add_row(std::move(name), is_floor);
    if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
      added.once_ = [body]() mutable -> std::optional<std::uint64_t> {
        body();
        return std::nullopt;
      };
      added.repeat_ = [body](std::uint64_t times) mutable {
        for (; times > 0; --times) {
          body();
          clobber();
        }
      };
    } else {
      added.once_ = [body]() mutable {
        return detail::digest<std::remove_cvref_t<std::invoke_result_t<Body&>>>(body());
      };
      added.repeat_ = [body](std::uint64_t times) mutable {
        for (; times > 0; --times) {
          keep(body());
          clobber();
        }
      };
    }
    return added;
  }

  table_row const& measured(std::string_view name);
  void measure();
  void compare_outcomes();
  void count_allocations_of(table_row& row) const;
  void calibrate(table_row& row) const;
  nanoseconds sample(table_row& row) const;
  double floor_ns() const;
  void print() const;

  session* session_;
  std::string title_;
  std::string unit_;
  std::uint64_t batch_ = 1;
  int rounds_ = 0;  // 0: as the session says
  std::uint64_t (*count_)() noexcept = nullptr;
  std::deque<table_row> rows_{};
  bool measured_ = false;
};

/// One run of one program: its tables, charts and targets, and where they go.
class session {
 public:
  using clock_function = std::function<nanoseconds()>;

  /// Reads the command line; ends the program where it asks for help or cannot be understood.
  session(int argc, char const* const* argv);
  session(session_options options, std::ostream& out, clock_function now = &thread_time);
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  /// A new table of operations called `unit`.
  bench::table& table(std::string title, std::string unit);

  /// A new picture, written as an SVG file beside the results.
  bench::chart& chart(std::string title, std::string x_label, std::string y_label);

  /// Prints `target <name> <measured> <op> <bound> ok|MISSED`, where `op` is >=, <= or ==. What is
  /// printed is what is judged: three significant digits for >= and <=, all of them for ==.
  void target(std::string name, double measured, std::string_view op, double bound);

  /// A line of explanation among the tables.
  void note(std::string_view text);

  int missed() const;

  /// Measures what was not yet measured, writes the files and returns the exit status of the
  /// program: 0 unless rows that should agree differed or a file could not be written. A target
  /// that was missed is an answer and no failure.
  int finish();

 private:
  friend class table;

  struct target_line {
    std::string name;
    double measured;
    std::string op;
    double bound;
    bool ok;
  };

  std::string to_json() const;
  bool write(std::string const& file, std::string const& text);

  session_options options_;
  std::ostream* out_;
  clock_function now_;
  std::deque<bench::table> tables_{};
  std::deque<bench::chart> charts_{};
  std::vector<target_line> targets_{};
  int differing_ = 0;
};

}  // namespace bench
