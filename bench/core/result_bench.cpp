// What does a result<int> cost over a plain int, when calls succeed and when some fail? The first
// row is the floor.
#include <bench/support/bench.hpp>
#include <keyspan/core/result.hpp>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::result;

// Each of them refuses an odd number and halves an even one.

int plain(int x) { return x % 2 == 0 ? x / 2 : -1; }

result<int> as_result(int x) {
  if (x % 2 != 0) [[unlikely]]
    return keyspan::fail(errc::not_representable, x, " has no half");
  return x / 2;
}

std::optional<int> as_optional(int x) {
  if (x % 2 != 0) [[unlikely]]
    return std::nullopt;
  return x / 2;
}

int by_error_code(int x, std::error_code& code) {
  if (x % 2 != 0) [[unlikely]] {
    code = std::make_error_code(std::errc::invalid_argument);
    return 0;
  }
  code.clear();
  return x / 2;
}

int or_throw(int x) {
  if (x % 2 != 0) [[unlikely]]
    throw std::invalid_argument{std::to_string(x) + " has no half"};
  return x / 2;
}

// Calls go through these, so that nothing is inlined or known about what is called.
auto* volatile call_plain = &plain;
auto* volatile call_result = &as_result;
auto* volatile call_optional = &as_optional;
auto* volatile call_error_code = &by_error_code;
auto* volatile call_throwing = &or_throw;

// 10000 even numbers, but for the given share, which is odd.
std::vector<int> numbers(double odd_share) {
  std::vector<int> made;
  auto rng = bench::Rng{11};
  for (int i = 0; i < 10'000; ++i)
    made.push_back(static_cast<int>(rng.bounded(1'000'000)) * 2 + (rng.uniform01() < odd_share));
  return made;
}

// The sum of the halves, and -1 for each number that has none.
template <class Call>
auto over(std::vector<int> const& numbers, Call call) {
  return [&numbers, call] {
    long sum = 0;
    for (int const x : numbers) sum += call(x);
    return sum;
  };
}

bench::table& all_ways(bench::session& run, std::string title, std::vector<int> const& numbers) {
  auto& table = run.table(std::move(title), "call").batch(numbers.size());
  table.floor("plain int", over(numbers, [](int x) { return call_plain(x); }));
  table.row("keyspan::result<int>",
            over(numbers, [](int x) { return call_result(x).value_or(-1); }));
  table.row("std::optional<int>",
            over(numbers, [](int x) { return call_optional(x).value_or(-1); }));
  table.row("std::error_code&", over(numbers, [](int x) {
              std::error_code code;
              int const half = call_error_code(x, code);
              return code ? -1 : half;
            }));
  table.row("exception", over(numbers, [](int x) {
              try {
                return call_throwing(x);
              } catch (std::invalid_argument const&) {
                return -1;
              }
            }));
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};

  auto const even = numbers(0);
  auto& never = all_ways(run, "a call that never fails", even);
  run.target("core.result.success.added_ns",
             never.ns("keyspan::result<int>") - never.ns("plain int"), "<=", 2);

  auto const few = numbers(0.01);
  auto& seldom = all_ways(run, "1 call in 100 fails", few);
  run.target("core.result.one_percent.exception", seldom.ratio("exception", "keyspan::result<int>"),
             ">=", 3);

  auto const odd = numbers(1);
  auto& always = all_ways(run, "every call fails, saying why", odd);
  run.target("core.result.failure.exception", always.ratio("exception", "keyspan::result<int>"),
             ">=", 12);

  auto& chart = run.chart("What failing costs", "% of calls that fail", "ns per call").log_y();
  for (auto const* share : {"0.1", "0.3", "1", "3", "10", "30", "100"}) {
    double const percent = std::strtod(share, nullptr);
    auto const some = numbers(percent / 100);
    auto& table = all_ways(run, std::string{share} + " % of the calls fail", some);
    for (auto const* name :
         {"plain int", "keyspan::result<int>", "std::optional<int>", "exception"})
      chart.line(name, percent, table.ns(name));
  }
  return run.finish();
}
