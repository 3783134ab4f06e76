#include "headers.hpp"

#include "planted.hpp"

using namespace house;

namespace {

constexpr auto header = "include/keyspan/core/a.hpp";
std::string const good = "// keyspan/core/a.hpp — a thing.\n#pragma once\n";

complaints forms_of(std::string const& text) {
  planted_tree tree;
  tree.with(header, text);
  return header_forms(tree);
}

}  // namespace

TEST_CASE("every header has its banner and keeps to the form") {
  check_content(header_forms(real_tree));
}
TEST_CASE("every header has a test and a page, and every page has a header") {
  check_content(header_companions(real_tree));
}

TEST_CASE("a header in good form is not complained about") {
  check_content(forms_of(good + "\n// using namespace std;\n#include <vector>\n"));
}
TEST_CASE("a tree without any header is complained about") {
  planted_tree const tree;
  check_only_complaint(header_forms(tree), "include/keyspan/", 0, "no header to check");
  check_only_complaint(header_companions(tree), "include/keyspan/", 0, "no header to check");
}
TEST_CASE("a banner that names another file is complained about") {
  check_only_complaint(forms_of("// keyspan/core/b.hpp — a thing.\n#pragma once\n"), header, 1,
                       "banner");
}
TEST_CASE("a banner that says nothing is complained about") {
  check_only_complaint(forms_of("// keyspan/core/a.hpp\n#pragma once\n"), header, 1, "banner");
}
TEST_CASE("a banner of seven lines is complained about") {
  check_only_complaint(
      forms_of("// keyspan/core/a.hpp — a thing.\n//\n//\n//\n//\n//\n//\n#pragma once\n"), header,
      7, "longer than 6");
}
TEST_CASE("a header without a guard is complained about") {
  check_only_complaint(forms_of("// keyspan/core/a.hpp — a thing.\n#include <vector>\n"), header, 2,
                       "#pragma once");
}
TEST_CASE("a line of 101 columns is complained about, one of 100 characters is not") {
  std::string characters;
  for (int i = 0; i < 97; ++i) characters += "é";
  check_content(forms_of(good + "// " + characters + "\n"));
  check_only_complaint(forms_of(good + "// " + characters + "e\n"), header, 3, "101 columns");
}
TEST_CASE("tabs, carriage returns and blanks at the end of a line are complained about") {
  check_only_complaint(forms_of(good + "\tint a;\n"), header, 3, "tab");
  check_only_complaint(forms_of(good + "int a;\r\n"), header, 3, "carriage");
  check_only_complaint(forms_of(good + "int a; \n"), header, 3, "blanks");
}
TEST_CASE("a file that does not end with a newline is complained about") {
  check_only_complaint(forms_of(good + "int a;"), header, 3, "newline");
}
TEST_CASE("a macro outside version.hpp is complained about") {
  check_only_complaint(forms_of(good + "#define KEYSPAN_A 1\n"), header, 3, "macro");
  check_only_complaint(forms_of(good + "#  undef min\n"), header, 3, "macro");
}
TEST_CASE("a macro of a foreign name is complained about in version.hpp too") {
  planted_tree tree;
  tree.with(
      "include/keyspan/core/version.hpp",
      "// keyspan/core/version.hpp — a thing.\n#pragma once\n#define KEYSPAN_A\n#define A 1\n");
  check_only_complaint(header_forms(tree), "include/keyspan/core/version.hpp", 4, "KEYSPAN_");
}
TEST_CASE("using namespace in a header is complained about") {
  check_only_complaint(forms_of(good + "inline void f() { using  namespace std; }\n"), header, 3,
                       "using namespace");
}

TEST_CASE("a header without a test, or without a page, is complained about") {
  planted_tree tree;
  tree.with(header, good).with("include/keyspan/core.hpp", "");
  tree.with("test/core/a_test.cpp", "").with("docs/reference/core/a.md", "");
  check_content(header_companions(tree));
  tree.without("test/core/a_test.cpp");
  check_only_complaint(header_companions(tree), header, 0, "no test");
  tree.with("test/core/a_test.cpp", "").without("docs/reference/core/a.md");
  check_only_complaint(header_companions(tree), header, 0, "no reference page");
}
TEST_CASE("a reference page without a header is complained about") {
  planted_tree tree;
  tree.with(header, good).with("test/core/a_test.cpp", "").with("docs/reference/core/a.md", "");
  tree.with("docs/reference/core/gone.md", "").with("docs/reference/README.md", "");
  check_only_complaint(header_companions(tree), "docs/reference/core/gone.md", 0, "no header");
}
