#include <bench/support/chart.hpp>

#include <keyspan/core/contract.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

namespace bench {

using keyspan::expects;

namespace {

constexpr double width = 760;
constexpr double height = 420;
constexpr double left = 70;
constexpr double top = 66;
constexpr double bottom = 58;
constexpr double label_height = 16;

// Distinct in hue and in lightness, on white and on near-black.
struct shade {
  char const* on_light;
  char const* on_dark;
};
constexpr std::array<shade, 7> colours{{
    {"#0550ae", "#79c0ff"},
    {"#bc4c00", "#ffa657"},
    {"#116329", "#56d364"},
    {"#8250df", "#d2a8ff"},
    {"#a40e26", "#ff7b72"},
    {"#6e7781", "#8b949e"},
    {"#7d4e00", "#e3b341"},
}};

std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string pixel(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// 16000 reads as 16k, 16384 as itself.
std::string short_number(double value) {
  if (value >= 1e6 && std::fmod(value, 1e5) == 0) return number(value / 1e6) + "M";
  if (value >= 1e3 && std::fmod(value, 1e2) == 0) return number(value / 1e3) + "k";
  char text[32];
  std::snprintf(text, sizeof text, value >= 1e6 ? "%.0f" : "%.6g", value);
  return text;
}

// The elements of one SVG file.
class drawing {
 public:
  drawing(std::string_view title, std::size_t series) {
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << ' ' << height
         << "\" width=\"" << width << "\" height=\"" << height << "\" role=\"img\">\n<title>"
         << escaped(title) << "</title>\n<style>\n"
         << "text { font: 13px system-ui, sans-serif }\n"
         << "text.title { font-size: 16px; font-weight: 600 }\n"
         << "polyline { fill: none; stroke-width: 2.2; stroke-linejoin: round }\n";
    colour({"#24292f", "#57606a", "#ffffff", "#d0d7de"}, series, &shade::on_light);
    out_ << "@media (prefers-color-scheme: dark) {\n";
    colour({"#e6edf3", "#9da7b3", "#0d1117", "#30363d"}, series, &shade::on_dark);
    // A page of its own: the picture does not depend on what it is pasted on.
    out_ << "}\n</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n";
  }

  void text(std::string_view kind, std::string_view anchor, double x, double y,
            std::string_view content) {
    out_ << "<text class=\"" << kind << "\" text-anchor=\"" << anchor << "\" x=\"" << pixel(x)
         << "\" y=\"" << pixel(y) << "\">" << escaped(content) << "</text>\n";
  }

  void grid_line(double x1, double y1, double x2, double y2) {
    out_ << "<line class=\"grid\" x1=\"" << pixel(x1) << "\" y1=\"" << pixel(y1) << "\" x2=\""
         << pixel(x2) << "\" y2=\"" << pixel(y2) << "\"/>\n";
  }

  void curve(std::size_t series, std::vector<std::pair<double, double>> const& points) {
    out_ << "<polyline class=\"of" << series << "\" points=\"";
    char const* separator = "";
    for (auto const& [x, y] : points) {
      out_ << separator << pixel(x) << ',' << pixel(y);
      separator = " ";
    }
    out_ << "\"/>\n";
    for (auto const& [x, y] : points)
      out_ << "<circle class=\"of" << series << "\" cx=\"" << pixel(x) << "\" cy=\"" << pixel(y)
           << "\" r=\"3\"/>\n";
  }

  std::string finished() {
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  struct surroundings {
    char const* text;
    char const* label;
    char const* page;
    char const* grid;
  };

  void colour(surroundings const& use, std::size_t series, char const* shade::* side) {
    out_ << ".title { fill: " << use.text << " }\n.label { fill: " << use.label
         << " }\n.page { fill: " << use.page << " }\n.grid { stroke: " << use.grid << " }\n";
    for (std::size_t i = 0; i < series; ++i) {
      char const* const ink = colours[i % colours.size()].*side;
      out_ << "polyline.of" << i << " { stroke: " << ink << " }\ncircle.of" << i << ", text.of" << i
           << " { fill: " << ink << " }\n";
    }
  }

  std::ostringstream out_;
};

struct axis {
  double first;
  double last;
  bool logarithmic;
  double from;  // pixels
  double to;

  double operator()(double value) const {
    double const share = logarithmic ? std::log(value / first) / std::log(last / first)
                                     : (value - first) / (last - first);
    return from + share * (to - from);
  }

  std::vector<double> ticks() const {
    std::vector<double> at;
    if (!logarithmic) {
      double const rough = (last - first) / 5;
      double const power = std::pow(10, std::floor(std::log10(rough)));
      double const step = power * (rough / power < 1.5   ? 1
                                   : rough / power < 3.5 ? 2
                                   : rough / power < 7.5 ? 5
                                                         : 10);
      for (int i = 0; first + i * step <= last * 1.0001; ++i) at.push_back(first + i * step);
      return at;
    }
    for (double power = std::pow(10, std::floor(std::log10(first))); power <= last * 1.0001;
         power *= 10)
      for (double const step : {1.0, 2.0, 5.0})
        if ((step == 1 || last / first < 150) && power * step >= first * 0.9999 &&
            power * step <= last * 1.0001)
          at.push_back(power * step);
    return at;
  }
};

}  // namespace

chart::chart(std::string title, std::string x_label, std::string y_label)
    : title_{std::move(title)}, x_label_{std::move(x_label)}, y_label_{std::move(y_label)} {}

chart& chart::line(std::string const& series, double x, double y) {
  expects(x > 0, "a logarithmic axis has room for positive numbers only");
  expects(log_y_ ? y > 0 : y >= 0, "a chart shows amounts");
  auto found = std::ranges::find(series_, series, &one_series::name);
  if (found == series_.end()) found = series_.insert(found, one_series{series, {}});
  auto const place = std::ranges::lower_bound(found->points, x, {}, &point::x);
  found->points.insert(place, point{x, y});
  return *this;
}

std::string chart::svg() const {
  std::vector<double> xs;
  double lowest = 0;
  double highest = 0;
  std::size_t longest = 0;
  for (auto const& one : series_) {
    longest = std::max(longest, one.name.size());
    for (auto const& [x, y] : one.points) {
      xs.push_back(x);
      lowest = lowest == 0 ? y : std::min(lowest, y);
      highest = std::max(highest, y);
    }
  }
  std::ranges::sort(xs);
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  if (xs.empty()) xs.push_back(1);
  if (highest == 0) highest = 1;
  if (lowest == 0) lowest = highest / 10;

  double const right = 24 + 7.8 * static_cast<double>(longest);
  double const least_x = xs.front();
  double const most_x = xs.back() > least_x ? xs.back() : least_x * 10;
  axis const across{least_x, most_x, true, left, width - right};
  axis const up = log_y_ ? axis{std::pow(10, std::floor(std::log10(lowest))),
                                std::pow(10, std::ceil(std::log10(highest * 1.0001))), true,
                                height - bottom, top}
                         : axis{0, highest * 1.05, false, height - bottom, top};

  drawing page{title_, series_.size()};
  page.text("title", "start", 16, 28, title_);
  page.text("label", "start", 16, top - 17, y_label_);
  page.text("label", "middle", (left + width - right) / 2, height - 14, x_label_);
  for (double const y : up.ticks()) {
    page.grid_line(left, up(y), width - right, up(y));
    page.text("label", "end", left - 8, up(y) + 4, short_number(y));
  }
  // What was measured is what is marked, unless it is too much to read.
  for (double const x : xs.size() <= 9 ? xs : across.ticks()) {
    page.grid_line(across(x), height - bottom, across(x), height - bottom + 5);
    page.text("label", "middle", across(x), height - bottom + 20, short_number(x));
  }

  struct end_label {
    std::size_t series;
    double y;
  };
  std::vector<end_label> labels;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    std::vector<std::pair<double, double>> points;
    for (auto const& [x, y] : series_[i].points) points.emplace_back(across(x), up(y));
    page.curve(i, points);
    labels.push_back({i, points.back().second});
  }

  // Labels stand beside the ends of their lines, moved apart where these are close: first
  // downwards, then back up from the bottom edge.
  std::ranges::sort(labels, {}, &end_label::y);
  for (std::size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + label_height);
  double limit = height - bottom;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    label->y = std::min(label->y, limit);
    limit = label->y - label_height;
  }
  for (auto const& [series, y] : labels)
    page.text("of" + std::to_string(series), "start", width - right + 10, y + 4,
              series_[series].name);
  return page.finished();
}

}  // namespace bench
