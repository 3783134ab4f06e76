// What does including an umbrella cost? The first row is the floor, the second what a user includes
// anyway.

#include "compiler.hpp"
#include "files.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace {

struct row {
  std::string name;
  std::string source;
  double bound;  // in times of the standard headers' row; 0: none
  double best = 1e9;

  double times(row const& floor, row const& usual) const {
    return (best - floor.best) / (usual.best - floor.best);
  }
  bool is_within(row const& floor, row const& usual) const {
    return bound == 0 || times(floor, usual) <= bound;
  }
};

// What an umbrella costs is what the umbrellas below it cost, and little of its own.
double bound_of(std::string const& umbrella) {
  if (umbrella == "core.hpp") return 3.5;
  for (std::string const light : {"key.hpp", "hash.hpp", "range.hpp", "async.hpp"})
    if (umbrella == light) return 7;
  if (umbrella == "processor.hpp") return 11;
  return umbrella == "keyspan.hpp" ? 17 : 9;
}

constexpr auto patience = std::chrono::seconds{6};

// Beside other work a compiler takes longer, and not all rows suffer alike. What is too much is
// measured again before it is said, the row that it is compared with as well.
constexpr int second_looks = 6;

std::optional<std::string> measure(row& one, std::filesystem::path const& folder) {
  house::write_text(folder / "cost.cpp", one.source);
  auto const end = house::compile(folder, "-fsyntax-only cost.cpp");
  if (end.status != 0) return end.output;
  one.best = std::min(one.best, end.cpu_seconds);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3 || count > 5) {
    std::fprintf(stderr,
                 "usage: house_include_cost INCLUDE_FOLDER SCRATCH_FOLDER [ROUNDS [BOUND]]\n");
    return 2;
  }
  std::filesystem::path const include = arguments[1];
  std::filesystem::path const scratch = arguments[2];
  int const most_rounds = count >= 4 ? std::atoi(arguments[3]) : 3;
  std::vector<row> rows{{"nothing", "", 0},
                        {"<ranges> <string> <vector>",
                         "#include <ranges>\n#include <string>\n#include <vector>\n", 0}};
  for (auto const& file : house::files_under(include, "keyspan", {".hpp"})) {
    auto const name = file.substr(8);
    // cosmos needs its JSON library.
    if (name.find('/') == std::string::npos && name != "cosmos.hpp")
      rows.push_back({name, "#include \"" + (include / file).generic_string() + "\"\n",
                      count == 5 ? std::atof(arguments[4]) : bound_of(name)});
  }
  if (rows.size() == 2) {
    std::fprintf(stderr, "there is no umbrella under %s\n", arguments[1]);
    return 1;
  }

  // Rounds go through all rows, so that a slow moment of the machine does not fall on one of them.
  auto const begun = std::chrono::steady_clock::now();
  for (int round = 1; round <= most_rounds; ++round) {
    for (auto& one : rows) {
      if (auto const failure = measure(one, scratch)) {
        std::fprintf(stderr, "%s does not compile:\n%s\n", one.name.c_str(), failure->c_str());
        return 1;
      }
    }
    if ((std::chrono::steady_clock::now() - begun) * (round + 1) / round > patience) break;
  }

  for (int look = 0; look < second_looks; ++look) {
    bool looked = false;
    for (auto& one : rows) {
      if (one.is_within(rows[0], rows[1])) continue;
      looked = true;
      if (measure(rows[1], scratch) || measure(one, scratch)) return 1;
    }
    if (!looked) break;
  }

  bool within = true;
  std::printf("%-28s %9s %8s %7s\n", "included", "CPU", "times", "bound");
  for (auto const& one : rows) {
    bool const is_within = one.is_within(rows[0], rows[1]);
    std::printf("%-28s %6.0f ms %8.2f", one.name.c_str(), one.best * 1000,
                one.times(rows[0], rows[1]));
    if (one.bound > 0) std::printf(" %7.1f%s", one.bound, is_within ? "" : "  TOO MUCH");
    std::printf("\n");
    within = within && is_within;
  }
  if (!within)
    std::printf(
        "\nLook for an include of a wide header, or move what needs it into a header of its "
        "own.\n");
  return within ? 0 : 1;
}
