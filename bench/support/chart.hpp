// bench/support/chart.hpp — a line chart as one SVG file, readable on light and on dark pages.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// Lines over a logarithmic x axis. Each line is labelled where it ends, so no legend has to be
/// matched by colour.
class chart {
 public:
  chart(std::string title, std::string x_label, std::string y_label);

  /// Adds a point to the line called `series`. Requires a positive `x` and a `y` not below zero;
  /// with `log_y`, above it.
  chart& line(std::string const& series, double x, double y);

  /// Draws y logarithmically as well, for lines that are orders of magnitude apart.
  chart& log_y() {
    log_y_ = true;
    return *this;
  }

  bool empty() const { return series_.empty(); }
  std::string svg() const;

 private:
  struct point {
    double x;
    double y;
  };
  struct one_series {
    std::string name;
    std::vector<point> points;
  };

  std::string title_;
  std::string x_label_;
  std::string y_label_;
  bool log_y_ = false;
  std::vector<one_series> series_{};
};

}  // namespace bench
