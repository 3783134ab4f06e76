#include "workflows.hpp"

#include "commands.hpp"
#include "planted.hpp"

using namespace house;

namespace {

complaints workflow_of(std::string const& jobs) {
  planted_tree tree;
  tree.with("dev",
            "if [ \"$1 $2\" = 'check --list' ]; then echo 'gcc  g++'; echo 'asan  g++'; fi\n"
            "cat <<'END'\nusage: ./dev COMMAND\n\n  test   runs tests\n  check  checks\nEND\n")
      .with(".github/workflows/ci.yml", "name: ci\non: push\njobs:\n" + jobs);
  return workflows(tree);
}

constexpr auto file = ".github/workflows/ci.yml";

}  // namespace

TEST_CASE("what Linux jobs build and test, ./dev builds and tests") {
  check_content(workflows(real_tree));
}
TEST_CASE("./dev lists its commands and the rows of its table") {
  CHECK(dev_commands(real_tree).size() >= 8);
  CHECK(check_rows(real_tree).size() >= 10);
}

TEST_CASE("jobs that use ./dev are not complained about") {
  check_content(
      workflow_of("  a:\n    runs-on: ubuntu-24.04\n    strategy:\n      matrix:\n        row: "
                  "[gcc, \"asan\"]\n"
                  "    steps:\n      - run: sudo apt-get update && apt-get install cmake\n      - "
                  "run: ./dev test\n"
                  "      - run: ./dev check ${{ matrix.row }}\n"));
}
TEST_CASE("jobs on other systems may call CMake") {
  check_content(workflow_of(
      "  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: ./dev test\n"
      "  b:\n    runs-on: windows-2022\n    steps:\n      - run: cmake -S . -B build\n"));
}
TEST_CASE("a Linux job that calls CMake is complained about") {
  std::string const start =
      "  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: ./dev test\n";
  check_only_complaint(workflow_of(start + "      - run: cmake -S . -B build\n"), file, 8,
                       "without ./dev");
  check_only_complaint(
      workflow_of(start +
                  "      - name: x\n        run: |\n          echo\n          cd x && ctest\n"),
      file, 11, "without ./dev: ctest");
  check_only_complaint(
      workflow_of(
          "  a:\n    runs-on: ${{ matrix.on }}\n    strategy:\n      matrix:\n"
          "        include:\n          - {on: windows-2022}\n          - {on: ubuntu-24.04}\n"
          "    steps:\n      - run: ./dev test\n      - run: ninja\n"),
      file, 13, "without ./dev: ninja");
}
TEST_CASE("a row or a command that ./dev does not know is complained about in a workflow") {
  std::string const start =
      "  a:\n    runs-on: ubuntu-24.04\n    strategy:\n      matrix:\n        row: [gcc, icc]\n    "
      "steps:\n";
  check_only_complaint(workflow_of(start + "      - run: ./dev check ${{ matrix.row }}\n"), file,
                       10, "no row icc");
  check_only_complaint(workflow_of(start + "      - run: ./dev tests\n"), file, 10,
                       "no command tests");
  check_only_complaint(workflow_of(start + "      - run: ./dev check ${{ matrix.line }}\n"), file,
                       10, "no value");
}
TEST_CASE("workflows in which no Linux job runs ./dev are complained about") {
  check_only_complaint(
      workflow_of("  a:\n    runs-on: macos-14\n    steps:\n      - run: ./dev test\n"),
      ".github/workflows", 0, "no Linux job");
}
TEST_CASE("a command that ./dev does not know is complained about in .ci/run") {
  planted_tree tree;
  tree.with("dev", "cat <<'END'\nusage: ./dev COMMAND\n  test   runs tests\nEND\n")
      .with(".github/workflows/ci.yml", "jobs:\n  a:\n    steps:\n      - run: ./dev test\n")
      .with(".ci/run", "#!/bin/sh\n./dev test && ./dev prove\n");
  check_only_complaint(workflows(tree), ".ci/run", 2, "no command prove");
}

// What would be green for nothing if it were lost: no test that runs can see that it does not run.
TEST_CASE("what runs everything says so") {
  auto const says = [](char const* in, std::string_view words) {
    INFO(in << " does not say: " << words);
    CHECK(text_of(real_tree / in).find(words) != std::string::npos);
  };
  says(".ci/run", "\nexport CI=true\n");
  says(".ci/run", "\npart ./dev test\n");
  says(".ci/run", "\npart ./dev check asan tsan libcxx\n");
  says(".ci/run", "\nexit $status\n");
  says("CMakePresets.json", "-DKEYSPAN_TEST_ASAN -fsanitize=address,undefined");
  says("CMakePresets.json", "-DKEYSPAN_TEST_TSAN -fsanitize=thread");
  for (auto const& row : check_rows(real_tree))
    if (row != "gcc") says(".github/workflows/ci.yml", row);
}
