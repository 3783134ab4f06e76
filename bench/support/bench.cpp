#include <bench/support/bench.hpp>

#include <keyspan/core/contract.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/print.hpp>

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>

namespace bench {

using ankerl::nanobench::Result;
using keyspan::errc;
using keyspan::expects;
using keyspan::fail;

namespace {

constexpr std::string_view usage =
    "  --out DIR    write results and charts to DIR\n"
    "  --rounds N   take N samples of every row (31 unless said)\n"
    "  --quick      few and short samples: does it run at all?\n"
    "  --boxplot    write an HTML box plot of every sample as well (by nanobench)\n";

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

std::string formatted(char const* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// As few digits as a reader needs: 1234, 123, 12.3, 1.23, 0.0123.
std::string three_digits(double value) {
  double const size = std::fabs(value);
  if (size >= 100) return formatted("%.0f", value);
  if (size >= 10) return formatted("%.1f", value);
  if (size >= 1 || size == 0) return formatted("%.2f", value);
  return formatted("%.3g", value);
}

std::string padded_left(std::string const& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

char const* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

}  // namespace

nanoseconds thread_time() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
#else
  return std::chrono::steady_clock::now().time_since_epoch();
#endif
}

bool thread_time_is_cpu_time() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  return true;
#else
  return false;
#endif
}

keyspan::result<session_options> parse_arguments(int argc, char const* const* argv) {
  session_options options;
  if (argc > 0) options.name = std::filesystem::path{argv[0]}.stem().string();
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    if (argument == "--quick") {
      options.rounds = 3;
      options.sample = std::chrono::microseconds{20};
    } else if (argument == "--boxplot") {
      options.boxplot = true;
    } else if (argument == "--help") {
      options.help = true;
    } else if (argument == "--out" || argument == "--rounds") {
      if (++i == argc) return fail(errc::invalid_options, argument, " wants a value");
      std::string_view const value = argv[i];
      if (argument == "--out") {
        options.out = value;
        continue;
      }
      auto const [end, problem] =
          std::from_chars(value.data(), value.data() + value.size(), options.rounds);
      if (problem != std::errc{} || end != value.data() + value.size() || options.rounds < 1)
        return fail(errc::invalid_options, "--rounds wants a number from 1 on, not ", value);
    } else {
      return fail(errc::invalid_options, "unknown argument ", argument);
    }
  }
  return options;
}

// ---- table ----

double table_row::ns() const {
  return result_ ? result_->median(Result::Measure::elapsed) * 1e9 : no_number;
}

std::optional<double> table_row::instructions() const {
  // While a body that times itself ran, the counters stood still.
  if (!result_ || timed_ || !result_->has(Result::Measure::instructions)) return std::nullopt;
  return result_->median(Result::Measure::instructions);
}

table_row& table::add_row(std::string name, bool is_floor) {
  expects(!measured_, "a table takes no rows once it was measured");
  expects(is_floor == rows_.empty(), "the floor is the first row of a table, and the only floor");
  for (auto const& other : rows_) expects(other.name_ != name, "no two rows have the same name");
  rows_.push_back(table_row{std::move(name), is_floor, batch_});
  return rows_.back();
}

void table::left_out(std::string name, std::string why) {
  add_row(std::move(name), false).left_out_ = std::move(why);
}

table_row const& table::measured(std::string_view name) {
  if (!measured_) measure();
  auto const found = std::ranges::find(rows_, name, &table_row::name_);
  expects(found != rows_.end(), "a row of this name is in the table");
  return *found;
}

double table::ns(std::string_view name) { return measured(name).ns(); }

double table::allocations_of(std::string_view name) {
  expects(count_ != nullptr, "the table counts allocations");
  return measured(name).allocations_.value_or(no_number);
}

nanoseconds table::sample(table_row& row) const {
  if (row.timed_) return row.timed_();
  row.repeat_(row.calls_ / 8 + 1);  // caches and predictors still know the row that ran before
  auto& counters = ankerl::nanobench::detail::performanceCounters();
  counters.beginMeasure();
  nanoseconds const before = session_->now_();
  row.repeat_(row.calls_);
  nanoseconds const after = session_->now_();
  counters.endMeasure();
  counters.updateResults(row.calls_);
  return after - before;
}

void table::calibrate(table_row& row) const {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  nanoseconds const wanted = session_->options_.sample;
  for (;;) {
    nanoseconds const took = sample(row);
    if (took >= wanted || row.calls_ >= most) return;
    // Short samples say little about the time of one call, so no step is bigger than tenfold.
    double const factor = 1.2 * static_cast<double>(wanted.count()) /
                          static_cast<double>(std::max<std::int64_t>(took.count(), 1));
    row.calls_ = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(row.calls_) * std::clamp(factor, 1.1, 10.0)));
  }
}

void table::compare_outcomes() {
  std::optional<std::uint64_t> expected;
  std::string_view by;
  for (auto& row : rows_) {
    if (!row.once_) continue;
    auto const outcome = row.once_();
    if (row.is_floor_ || !outcome) continue;
    if (!expected) {
      expected = outcome;
      by = row.name_;
    } else if (outcome != expected) {
      ++session_->differing_;
      *session_->out_ << "DIFFERS: in \"" << title_ << "\", \"" << row.name_
                      << "\" does not compute what \"" << by << "\" does\n";
    }
  }
}

void table::count_allocations_of(table_row& row) const {
  constexpr std::uint64_t calls = 64;
  row.repeat_(1);  // what is allocated once and kept is no cost per operation
  std::uint64_t const before = count_();
  row.repeat_(calls);
  row.allocations_ =
      static_cast<double>(count_() - before) / static_cast<double>(calls * row.batch_);
}

void table::measure() {
  expects(!rows_.empty(), "a table has a floor");
  measured_ = true;
  compare_outcomes();

  std::vector<table_row*> running;
  for (auto& row : rows_) {
    if (!row.left_out_.empty()) continue;
    if (!row.timed_) calibrate(row);
    ankerl::nanobench::Bench config;
    config.title(title_).name(row.name_).unit(unit_).output(nullptr);
    row.result_.emplace(config.config());
    running.push_back(&row);
  }

  // Another row begins each round, and every other round runs backwards: nobody always follows the
  // same neighbour.
  int const rounds =
      rounds_ > 0 ? std::min(rounds_, session_->options_.rounds) : session_->options_.rounds;
  std::size_t const count = running.size();
  for (std::size_t round = 0; round < static_cast<std::size_t>(rounds); ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const step = round % 2 == 0 ? i : count - i;
      table_row& row = *running[(round / 2 + step) % count];
      nanoseconds const took = sample(row);
      row.result_->add(std::chrono::duration_cast<ankerl::nanobench::Clock::duration>(took),
                       row.timed_ ? row.batch_ : row.calls_ * row.batch_,
                       ankerl::nanobench::detail::performanceCounters());
    }
  }
  if (count_ != nullptr)
    for (auto* row : running)
      if (row->repeat_) count_allocations_of(*row);
  print();
}

double table::floor_ns() const { return rows_.front().ns(); }

void table::print() const {
  auto& out = *session_->out_;
  double const floor = floor_ns();
  auto const [unit, scale] = floor >= 1e6   ? std::pair{"ms/", 1e-6}
                             : floor >= 1e4 ? std::pair{"us/", 1e-3}
                                            : std::pair{"ns/", 1.0};
  bool const instructions =
      std::ranges::any_of(rows_, [](auto const& row) { return row.instructions().has_value(); });
  std::size_t width = 0;
  for (auto const& row : rows_)
    if (row.result_) width = std::max(width, row.name_.size());

  out << '\n'
      << title_ << '\n'
      << "  " << std::string(width, ' ') << padded_left(unit + unit_, 14)
      << padded_left("x floor", 10) << padded_left("spread", 9);
  if (instructions) out << padded_left("instr.", 10);
  if (count_ != nullptr) out << padded_left("allocs", 9);
  out << '\n';

  for (auto const& row : rows_) {
    if (!row.result_) {
      out << "  left out: " << row.name_ << " (" << row.left_out_ << ")\n";
      continue;
    }
    double const spread = row.result_->medianAbsolutePercentError(Result::Measure::elapsed);
    out << "  " << row.name_ << std::string(width - row.name_.size(), ' ')
        << padded_left(three_digits(row.ns() * scale), 14)
        << padded_left(row.is_floor_ ? "floor" : three_digits(row.ns() / floor), 10)
        << padded_left(formatted("%.1f %%", spread * 100), 9);
    if (instructions) {
      auto const number = row.instructions();
      out << padded_left(number ? three_digits(*number) : "", 10);
    }
    if (auto const number = row.allocations_)
      out << padded_left(*number > 0 && *number < 0.01 ? "<0.01" : formatted("%.3g", *number), 9);
    out << '\n';
  }
  out.flush();
}

// ---- session ----

session::session(session_options options, std::ostream& out, clock_function now)
    : options_{std::move(options)}, out_{&out}, now_{std::move(now)} {
  out << options_.name << ": medians of " << options_.rounds << " interleaved rounds, "
      << (thread_time_is_cpu_time() ? "CPU time of the thread" : "time on the wall") << ", "
      << compiler() << '\n';
}

namespace {

session_options options_or_exit(int argc, char const* const* argv) {
  auto const options = parse_arguments(argc, argv);
  if (options && !options->help) return *options;
  if (!options) std::cerr << options.error() << '\n';
  (options ? std::cout : std::cerr) << "usage: " << (argc > 0 ? argv[0] : "bench") << " [options]\n"
                                    << usage;
  std::exit(options ? 0 : 2);
}

}  // namespace

session::session(int argc, char const* const* argv)
    : session{options_or_exit(argc, argv), std::cout} {}

bench::table& session::table(std::string title, std::string unit) {
  return tables_.emplace_back(*this, std::move(title), std::move(unit));
}

bench::chart& session::chart(std::string title, std::string x_label, std::string y_label) {
  return charts_.emplace_back(std::move(title), std::move(x_label), std::move(y_label));
}

void session::target(std::string name, double measured, std::string_view op, double bound) {
  expects(op == ">=" || op == "<=" || op == "==", "a target compares with >=, <= or ==");
  if (std::isnan(measured)) {
    *out_ << "left out: target " << name << ", its rows were not measured\n";
    return;
  }
  std::string const shown = op == "==" ? formatted("%.10g", measured) : three_digits(measured);
  double const judged = std::strtod(shown.c_str(), nullptr);
  bool const ok = op == ">=" ? judged >= bound : op == "<=" ? judged <= bound : judged == bound;
  *out_ << "target " << name << ' ' << shown << ' ' << op << ' ' << formatted("%.10g", bound) << ' '
        << (ok ? "ok" : "MISSED") << std::endl;
  targets_.push_back({std::move(name), judged, std::string{op}, bound, ok});
}

void session::note(std::string_view text) { *out_ << text << '\n'; }

int session::missed() const {
  return static_cast<int>(std::ranges::count(targets_, false, &target_line::ok));
}

std::string session::to_json() const {
  std::string text;
  keyspan::json_writer json{text};
  auto const number = [&](std::string_view name, double value) {
    json.name(name);
    if (std::isfinite(value)) {
      json.number(value);
    } else {
      json.null();
    }
  };
  json.begin_object();
  json.name("name").string(options_.name).name("compiler").string(compiler());
  json.name("rounds").integer(options_.rounds);
  json.name("tables").begin_array();
  for (auto const& table : tables_) {
    double const floor = table.floor_ns();
    json.begin_object().name("title").string(table.title_).name("unit").string(table.unit_);
    json.name("rows").begin_array();
    for (auto const& row : table.rows_) {
      json.begin_object().name("name").string(row.name_);
      if (row.result_) {
        number("ns", row.ns());
        number("over_floor", row.ns() / floor);
        number("spread", row.result_->medianAbsolutePercentError(Result::Measure::elapsed));
        number("fastest_ns", row.result_->minimum(Result::Measure::elapsed) * 1e9);
        if (auto const count = row.instructions()) number("instructions", *count);
        if (row.allocations_) number("allocations", *row.allocations_);
      } else {
        json.name("left_out").string(row.left_out_);
      }
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().name("targets").begin_array();
  for (auto const& target : targets_) {
    json.begin_object().name("name").string(target.name);
    number("measured", target.measured);
    json.name("op").string(target.op);
    number("bound", target.bound);
    json.name("ok").boolean(target.ok).end_object();
  }
  json.end_array().end_object();
  expects(json.finish().has_value(), "names of rows, tables and targets are UTF-8");
  return text + '\n';
}

bool session::write(std::string const& file, std::string const& text) {
  std::error_code ignored;
  std::filesystem::create_directories(options_.out, ignored);
  auto const path = std::filesystem::path{options_.out} / file;
  std::ofstream stream{path, std::ios::binary};
  stream << text;
  stream.close();
  if (!stream) std::cerr << "could not write " << path.string() << '\n';
  return static_cast<bool>(stream);
}

int session::finish() {
  for (auto& table : tables_)
    if (!table.measured_) table.measure();

  bool written = true;
  if (!options_.out.empty()) {
    written = write(options_.name + ".json", to_json());
    int number = 0;
    for (auto const& chart : charts_) {
      std::string file = options_.name;
      if (++number > 1) file += '_' + std::to_string(number);
      written = write(file + ".svg", chart.svg()) && written;
    }
    if (options_.boxplot) {
      std::vector<Result> results;
      for (auto const& table : tables_)
        for (auto const& row : table.rows_)
          if (row.result_) results.push_back(*row.result_);
      std::ostringstream html;
      ankerl::nanobench::render(ankerl::nanobench::templates::htmlBoxplot(), results, html);
      written = write(options_.name + ".html", html.str()) && written;
    }
  }
  if (!targets_.empty())
    *out_ << "targets missed: " << missed() << " of " << targets_.size() << '\n';
  out_->flush();
  return differing_ == 0 && written ? 0 : 1;
}

}  // namespace bench
