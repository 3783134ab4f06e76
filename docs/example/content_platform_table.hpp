// docs/example/content_platform_table.hpp — the regions of the content platform as a table.
#pragma once

#include "content_platform_story.hpp"

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <numeric>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace content {

/// How a terminal shows it; nothing of it elsewhere.
struct table_colours {
  std::string_view dim{}, name{}, bad{}, off{}, clear_rest{};

  static table_colours of_terminal() {
    return {"\033[2m", "\033[36m", "\033[33m", "\033[0m", "\033[K"};
  }
};

namespace detail {

// Where a range begins, in a few digits.
inline std::string beginning_of(std::string const& range) {
  std::string const lower = range.substr(1, range.find(',') - 1);
  return lower == "\"\"" ? "the start" : lower.substr(0, 8);
}

}  // namespace detail

/// What was written in each region and what is read there, and who has which lease.
inline void print_table(std::ostream& out, std::vector<region_figures> const& regions,
                        table_colours with = {}) {
  bool const has_copies = !regions.empty() && regions.front().held.front().has_value();
  out << with.dim << "  written in     articles  reviews  told";
  if (has_copies) {
    out << "    reviews read here, of";
    for (auto const& one : regions) out << std::setw(8) << one.name;
    out << "   on their way here";
  }
  out << with.off << with.clear_rest << '\n';
  for (auto const& one : regions) {
    out << "  " << with.name << std::setw(14) << std::left << one.name << std::right << with.off
        << std::setw(9) << one.articles << std::setw(9) << one.reviews << std::setw(6)
        << one.notified;
    if (has_copies) {
      out << std::setw(25) << "";
      for (auto const& held : one.held) out << std::setw(8) << held.value_or(0);
      out << std::setw(20) << std::accumulate(one.behind.begin(), one.behind.end(), std::size_t{0});
    }
    if (one.is_cut) out << with.bad << "  cut off" << with.off;
    if (one.failed != 0) out << with.bad << "  " << one.failed << " to be repeated" << with.off;
    if (one.owed != 0) out << with.bad << "  " << one.owed << " to be told of" << with.off;
    out << with.clear_rest << '\n';
  }
  out << with.clear_rest << '\n'
      << with.dim << "  articles of    from             who tells of them  epoch" << with.off
      << with.clear_rest << '\n';
  for (auto const& one : regions)
    for (auto const& lease : one.leases)
      out << "  " << with.name << std::setw(15) << std::left << one.name << with.off << with.dim
          << std::setw(17) << detail::beginning_of(lease.range) << with.off << std::setw(17)
          << lease.owner << std::right << std::setw(7) << lease.epoch << with.clear_rest << '\n';
  out << with.dim
      << "  leases: each is a range that begins at a token; epoch: how often it changed hands"
      << with.off << with.clear_rest << '\n';
}

}  // namespace content
