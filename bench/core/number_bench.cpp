// What does reading and writing a double cost over passing over its text? The first row is the
// floor.
#include <bench/support/bench.hpp>
#include <keyspan/core/number.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace {

struct sample {
  char const* name;
  std::vector<double> values;
  std::vector<std::string> texts;
  std::size_t bytes = 0;
};

template <class Draw>
sample drawn(char const* name, Draw draw) {
  sample made{name, {}, {}};
  char text[keyspan::max_number_text];
  while (made.values.size() < 1000) {
    double const value = draw();
    made.values.push_back(value);
    made.texts.emplace_back(*keyspan::write_number(value, text));
    made.bytes += made.texts.back().size();
  }
  return made;
}

std::vector<sample> samples() {
  auto rng = bench::Rng{5};
  std::vector<sample> made;
  made.push_back(drawn("whole numbers up to a million",
                       [&] { return static_cast<double>(rng.bounded(1'000'000)); }));
  made.push_back(drawn("prices", [&] { return static_cast<double>(rng.bounded(100'000)) / 100; }));
  made.push_back(drawn("any doubles", [&] {
    for (;;) {
      double const value = std::bit_cast<double>(rng());
      if (value - value == 0) return value;
    }
  }));
  return made;
}

// What all readers return: the bits of every value, added up.
template <class Read>
auto reading(sample const& from, Read read) {
  return [&from, read] {
    std::uint64_t sum = 0;
    for (auto const& text : from.texts) sum += std::bit_cast<std::uint64_t>(read(text));
    return sum;
  };
}

template <class Write>
auto writing(sample const& from, Write write) {
  return [&from, write] {
    char text[64];
    for (double const value : from.values) {
      write(value, text);
      bench::clobber();
    }
  };
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  auto const all = samples();

  for (auto const& numbers : all) {
    auto& table = run.table(std::string{"reading "} + numbers.name, "number")
                      .batch(numbers.values.size())
                      .count_allocations();
    table.floor("add up the bytes of the text", [&] {
      unsigned sum = 0;
      for (auto const& text : numbers.texts)
        sum = std::accumulate(text.begin(), text.end(), sum,
                              [](unsigned s, char c) { return s + static_cast<unsigned char>(c); });
      return sum;
    });
    table.row("keyspan::read_number", reading(numbers, [](std::string const& text) {
                return *keyspan::read_number(text);
              }));
#if KEYSPAN_STD_FROM_CHARS_DOUBLE
    table.row("std::from_chars", reading(numbers, [](std::string const& text) {
                double value = 0;
                std::from_chars(text.data(), text.data() + text.size(), value);
                return value;
              }));
#else
    table.left_out("std::from_chars", "this standard library has none for double");
#endif
    table.row("strtod", reading(numbers, [](std::string const& text) {
                return std::strtod(text.c_str(), nullptr);
              }));
    std::string const mark = &numbers == &all[0] ? "whole" : &numbers == &all[1] ? "prices" : "any";
    run.target("core.number.read." + mark + ".strtod",
               table.ratio("strtod", "keyspan::read_number"), ">=", 2);
    run.target("core.number.read." + mark + ".from_chars",
               table.ratio("keyspan::read_number", "std::from_chars"),
               "<=", mark == "any" ? 3.5 : 1.25);
    run.target("core.number.read." + mark + ".allocations",
               table.allocations_of("keyspan::read_number"), "==", 0);
  }

  for (auto const& numbers : all) {
    auto& table = run.table(std::string{"writing "} + numbers.name, "number")
                      .batch(numbers.values.size())
                      .count_allocations();
    table.floor("copy the text", [&] {
      char text[64];
      for (auto const& written : numbers.texts) {
        std::memcpy(text, written.data(), written.size());
        bench::keep(text);
      }
    });
    table.row("keyspan::write_number", writing(numbers, [](double value, std::span<char> to) {
                bench::keep(keyspan::write_number(value, to));
              }));
    table.row("std::to_chars", writing(numbers, [](double value, std::span<char> to) {
                bench::keep(std::to_chars(to.data(), to.data() + to.size(), value).ptr);
              }));
    table.row("snprintf %.17g", writing(numbers, [](double value, std::span<char> to) {
                bench::keep(std::snprintf(to.data(), to.size(), "%.17g", value));
              }));
    std::string const mark = &numbers == &all[0] ? "whole" : &numbers == &all[1] ? "prices" : "any";
    run.target("core.number.write." + mark + ".snprintf",
               table.ratio("snprintf %.17g", "keyspan::write_number"),
               ">=", mark == "whole" ? 10 : 3.5);
    run.target("core.number.write." + mark + ".to_chars",
               table.ratio("keyspan::write_number", "std::to_chars"),
               "<=", mark == "whole" ? 1 : 2);
    run.target("core.number.write." + mark + ".allocations",
               table.allocations_of("keyspan::write_number"), "==", 0);
  }
  return run.finish();
}
