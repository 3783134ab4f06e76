#include <bench/support/chart.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Elements open and close in pairs, attributes are quoted, and no bare & or < stands in a text.
bool is_well_formed(std::string_view xml) {
  std::vector<std::string> open;
  while (!xml.empty()) {
    auto const begin = xml.find('<');
    auto const text = xml.substr(0, begin);
    if (text.find('>') != text.npos) return false;
    for (auto at = text.find('&'); at != text.npos; at = text.find('&', at + 1)) {
      auto const entity = text.substr(at, text.find(';', at) - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;")
        return false;
    }
    if (begin == xml.npos) break;
    std::size_t end = begin + 1;
    bool quoted = false;
    for (; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      if (xml[end] == '<') return false;
    }
    if (end == xml.size()) return false;
    auto const tag = xml.substr(begin + 1, end - begin - 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
    xml.remove_prefix(end + 1);
  }
  return open.empty();
}

// The numbers of every attribute called `name`, in the order of the file.
std::vector<double> numbers_of(std::string_view svg, std::string_view name) {
  std::vector<double> found;
  std::string const mark = ' ' + std::string{name} + "=\"";
  for (auto at = svg.find(mark); at != svg.npos; at = svg.find(mark, at + 1))
    found.push_back(std::strtod(svg.data() + at + mark.size(), nullptr));
  return found;
}

bench::chart three_lines() {
  bench::chart chart{"Time over size", "items", "ns per item"};
  for (double const n : {1.0, 10.0, 100.0}) {
    chart.line("std::map<int, \"text\"> & co", n, 3 * n);
    chart.line("ours", n, 2);
    chart.line("floor", n, 1.9);
  }
  return chart;
}

}  // namespace

TEST_CASE("the check of XML sees what is wrong") {
  CHECK(is_well_formed("<a x=\"1\"><b/>text &amp; more</a>\n"));
  CHECK_FALSE(is_well_formed("<a><b></a></b>"));
  CHECK_FALSE(is_well_formed("<a>"));
  CHECK_FALSE(is_well_formed("<a>fish & chips</a>"));
  CHECK_FALSE(is_well_formed("<a x=\"<\"/>"));
}

TEST_CASE("a chart is well-formed, whatever its lines are called") {
  auto const svg = three_lines().svg();
  CHECK(is_well_formed(svg));
  CHECK(is_well_formed(three_lines().log_y().svg()));
  CHECK(svg.find("std::map&lt;int, &quot;text&quot;&gt; &amp; co") != std::string::npos);
  CHECK(is_well_formed(bench::chart{"nothing yet", "x", "y"}.svg()));
  CHECK(is_well_formed(bench::chart{"one point", "x", "y"}.line("a", 5, 0).svg()));
}

TEST_CASE("a chart has colours for light and for dark pages and asks for no font of its own") {
  auto const svg = three_lines().svg();
  CHECK(svg.find("@media (prefers-color-scheme: dark)") != std::string::npos);
  CHECK(svg.find("class=\"page\"") != std::string::npos);
  CHECK(svg.find("@import") == std::string::npos);
  CHECK(svg.find("url(") == std::string::npos);
}

TEST_CASE("equal factors are equal distances across, and more stands higher") {
  auto const svg =
      bench::chart{"t", "x", "y"}.line("a", 100, 4).line("a", 1, 1).line("a", 10, 2).svg();
  auto const x = numbers_of(svg, "cx");
  auto const y = numbers_of(svg, "cy");
  REQUIRE(x.size() == 3);
  CHECK(std::abs((x[1] - x[0]) - (x[2] - x[1])) < 0.2);  // points are sorted by x
  CHECK(x[1] > x[0]);
  CHECK(y[1] < y[0]);
  CHECK(std::abs(2 * (y[0] - y[1]) - (y[1] - y[2])) < 0.3);

  auto const doubling =
      bench::chart{"t", "x", "y"}.log_y().line("a", 1, 1).line("a", 2, 2).line("a", 4, 4).svg();
  auto const up = numbers_of(doubling, "cy");
  REQUIRE(up.size() == 3);
  CHECK(std::abs((up[0] - up[1]) - (up[1] - up[2])) < 0.2);
}

TEST_CASE("the names of lines that end close together do not cover each other") {
  // At the lower edge there is room above only, at the upper edge below.
  for (double const end : {0.001, 1.0}) {
    bench::chart chart{"t", "x", "y"};
    for (auto const* name : {"a", "b", "c", "d", "e"}) chart.line(name, 1, 1).line(name, 10, end);
    chart.line("high", 1, 1).line("high", 10, 1);
    auto const svg = chart.svg();
    std::vector<double> heights;
    for (int i = 0; i < 6; ++i) {
      auto const at = svg.find("<text class=\"of" + std::to_string(i));
      REQUIRE(at != std::string::npos);
      heights.push_back(numbers_of(std::string_view{svg}.substr(at), "y").front());
    }
    std::ranges::sort(heights);
    for (std::size_t i = 1; i < heights.size(); ++i) CHECK(heights[i] - heights[i - 1] > 12);
    CHECK(heights.front() > 50);  // below the title
    CHECK(heights.back() < 370);  // above the marks of the axis
  }
}

TEST_CASE("a chart refuses what a logarithm cannot show") {
  bench::chart chart{"t", "x", "y"};
  CHECK(test::promise_broken_by([&] { chart.line("a", 0, 1); }) ==
        "a logarithmic axis has room for positive numbers only");
  CHECK(test::promise_broken_by([&] { chart.line("a", 1, -1); }) == "a chart shows amounts");
  CHECK(test::promise_broken_by([&] { chart.log_y().line("a", 1, 0); }) == "a chart shows amounts");
}
