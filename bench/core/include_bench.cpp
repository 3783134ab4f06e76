// How much compile time does including each umbrella cost? The first row, an empty file, is the
// floor.
#include <bench/support/bench.hpp>

#include "include_cost.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#if __has_include(<spawn.h>) && __has_include(<sys/resource.h>)
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#define KEYSPAN_BENCH_SPAWN 1
extern char** environ;
#else
#define KEYSPAN_BENCH_SPAWN 0
#endif

namespace {

std::vector<std::string> const folders{KEYSPAN_BENCH_FOLDERS};

bool can_be_included(std::string const& header) {
  return std::ranges::any_of(folders, [&](std::string const& folder) {
    return std::filesystem::exists(std::filesystem::path{folder} / header);
  });
}

std::vector<std::string> umbrellas() {
  std::vector<std::string> found;
  for (auto const& folder : folders) {
    auto const ours = std::filesystem::path{folder} / "keyspan";
    if (!std::filesystem::exists(ours / "keyspan.hpp")) continue;
    for (auto const& entry : std::filesystem::directory_iterator{ours})
      if (entry.path().extension() == ".hpp")
        found.push_back("keyspan/" + entry.path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

#if KEYSPAN_BENCH_SPAWN

// CPU time of the compiler on an empty file that includes `header`; an empty name includes nothing.
// Zero where it does not compile.
std::chrono::nanoseconds compiled_with(std::string const& header) {
  std::vector<std::string> words{KEYSPAN_BENCH_COMPILER, KEYSPAN_BENCH_FLAGS, "-O0"};
  for (auto const& folder : folders) {
    words.emplace_back("-idirafter");  // a folder of the compiler's own keeps its place
    words.push_back(folder);
  }
  if (!header.empty()) {
    words.emplace_back("-include");
    words.push_back(header);
  }
  for (auto const* word : {"-x", "c++", "-c", "/dev/null", "-o", "/dev/null"})
    words.emplace_back(word);

  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0) return {};
  int status = 0;
  rusage used{};
  // wait4 asks about this child alone, and its figures include the children it had.
  if (wait4(child, &status, 0, &used) != child || status != 0) return {};
  auto const time = [](timeval const& t) {
    return std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
  };
  return time(used.ru_utime) + time(used.ru_stime);
}

#endif

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
#if KEYSPAN_BENCH_SPAWN
  auto& table = run.table("a file that includes nothing but", "file").rounds(5);
  auto const row = [&](std::string const& name, std::string const& header) {
    if (compiled_with(header).count() == 0) {
      table.left_out(name, "it does not compile here");
    } else {
      table.timed(name, [header] { return compiled_with(header); });
    }
  };
  row("nothing", "");
  for (auto const& umbrella : umbrellas()) row(umbrella, umbrella);
  for (auto const* header : {"string", "vector", "ranges", "iostream"})
    row('<' + std::string{header} + '>', header);
  for (auto const* header : {"range/v3/view/facade.hpp", "boost/hana.hpp", "nlohmann/json.hpp"}) {
    if (can_be_included(header) || compiled_with(header).count() != 0) {
      row('<' + std::string{header} + '>', header);
    } else {
      table.left_out('<' + std::string{header} + '>', "it is not installed");
    }
  }
  run.target("core.include.range_v3", table.ratio("keyspan/core.hpp", "<range/v3/view/facade.hpp>"),
             "<=", 1.7);
#else
  run.note("left out: this system has no posix_spawn to start the compiler with");
#endif
  return run.finish();
}
