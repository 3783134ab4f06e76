// The house tests that the build itself makes (each header alone, two units in one program, macros)
// fail by not compiling. Here the faults that they are there for are seen to do so.

#include "compiler.hpp"
#include "planted.hpp"

using namespace house;

namespace {

void check_refused(outcome const& end, std::string_view reason) {
  INFO("status " << end.status << ", expected: " << reason << ", output:\n" << end.output);
  CHECK(end.status > 0);
  CHECK(end.output.find(reason) != std::string::npos);
}
void check_accepted(outcome const& end) {
  INFO(end.output);
  CHECK(end.status == 0);
}

}  // namespace

TEST_CASE("a header that leans on the includes of others does not compile alone") {
  planted_tree tree;
  tree.with("a.hpp", "#pragma once\ninline std::size_t size_of_it() { return 1; }\n")
      .with("alone.cpp", "#include \"a.hpp\"\n");
  check_refused(compile(tree, "-fsyntax-only alone.cpp"), "size_t");
  tree.with("alone.cpp", "#include <cstddef>\n#include \"a.hpp\"\n");
  check_accepted(compile(tree, "-fsyntax-only alone.cpp"));
}

TEST_CASE("a header without a guard does not compile twice") {
  planted_tree tree;
  tree.with("a.hpp", "inline int one() { return 1; }\n")
      .with("twice.cpp", "#include \"a.hpp\"\n#include \"a.hpp\"\n");
  check_refused(compile(tree, "-fsyntax-only twice.cpp"), "redefinition");
}

TEST_CASE("two units with a function that is not inline do not link") {
  planted_tree tree;
  tree.with("first.cpp", "#include \"a.hpp\"\nint main() { return one() - 1; }\n")
      .with("second.cpp", "#include \"a.hpp\"\n");
  tree.with("a.hpp", "inline int one() { return 1; }\n");
  check_accepted(compile(tree, "first.cpp second.cpp -o linked"));
  tree.with("a.hpp", "int one() { return 1; }\n");
  check_refused(compile(tree, "first.cpp second.cpp -o linked"), "one()");
}

TEST_CASE("a name that is a macro elsewhere does not survive the macros") {
  planted_tree tree;
  auto const macros =
      "#include \"" + (real_tree / "test/house/hygiene_macros.hpp").generic_string() + "\"\n";
  auto const after_macros = [&](std::string const& code) {
    tree.with("a.cpp", "#include <algorithm>\n" + macros + code);
    return compile(tree, "-fsyntax-only a.cpp");
  };
  check_accepted(after_macros("inline int least(int a, int b) { return (std::min)(a, b); }\n"));
  check_refused(after_macros("inline int least(int a, int b) { return std::min(a, b); }\n"), "min");
  check_refused(after_macros("inline int twice(int small) { return 2 * small; }\n"), "small");
  check_refused(after_macros("template <class I> I next(I it) { return ++it; }\n"), "class I");
  check_refused(after_macros("enum class kind { OUT };\n"), "OUT");
}

TEST_CASE("code that throws or asks for a type does not compile without exceptions and RTTI") {
  planted_tree tree;
  tree.with("a.cpp", "inline void f() { throw 1; }\n");
  check_accepted(compile(tree, "-fsyntax-only a.cpp"));
  check_refused(compile(tree, "-fsyntax-only -fno-exceptions a.cpp"), "exception");
  tree.with("a.cpp",
            "#include <typeinfo>\ninline char const* f(int i) { return typeid(i).name(); }\n");
  check_accepted(compile(tree, "-fsyntax-only a.cpp"));
  check_refused(compile(tree, "-fsyntax-only -fno-rtti a.cpp"), "typeid");
}

TEST_CASE("an umbrella that includes all of range-v3 costs too much") {
  planted_tree tree;
  tree.with("keyspan/core.hpp", "#include <range/v3/all.hpp>\n")
      .with("keyspan/key.hpp", "#include <cstddef>\n");
  auto const root = shell_quoted(tree.root().string());
  auto const end = run(shell_quoted(HOUSE_INCLUDE_COST) + " " + root + " " + root + " 1 1.1 2>&1");
  INFO(end.output);
  CHECK(end.status == 1);
  CHECK(end.output.find("TOO MUCH") < end.output.find("key.hpp"));
  CHECK(end.output.find("TOO MUCH") == end.output.rfind("TOO MUCH"));
}

TEST_CASE("the cost of nothing is complained about") {
  planted_tree const tree;
  auto const root = shell_quoted(tree.root().string());
  auto const end = run(shell_quoted(HOUSE_INCLUDE_COST) + " " + root + " " + root + " 2>&1");
  check_refused(end, "there is no umbrella");
}
