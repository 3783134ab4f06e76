#include "docs.hpp"

#include "planted.hpp"

using namespace house;

namespace {

std::string const fence = "```";
std::string const source =
    "int before();\n"
    "// [region: sum]\n"
    "  int sum(int a, int b) {\n"
    "\n"
    "    return a + b;\n"
    "  }\n"
    "// [end: sum]\n";
std::string const shown = "int sum(int a, int b) {\n\n  return a + b;\n}\n";

void build_docs(planted_tree& tree, std::string const& page) {
  tree.with("README.md", page)
      .with("docs/example/sum.cpp", source)
      .with("include/keyspan/core/a.hpp",
            "#pragma once\n"
            "/// A thing; int sum(char);\n"
            "class [[nodiscard]] thing final : public base {\n"
            " public:\n"
            "  constexpr explicit thing(int size) noexcept : size_{size} {}\n"
            "  int size() const { return size_; }\n"
            "  thing(thing const&) = delete;\n"
            " private:\n"
            "  int size_{0};\n"
            "};\n"
            "template <class T>\n"
            "  requires requires(T t) { t.size(); }\n"
            "constexpr auto twice(T const& t,\n"
            "                     int by = 2) -> int { return by * t.size(); }\n"
            "#if A\n"
            "enum class colour : char { red, green };\n"
            "#endif\n"
            "inline constexpr int limit = 0x1'000;\n"
            "template <class T> concept sized = requires(T t) { t.size(); } && true;\n"
            "template <class T>\nclass box : public base<T> {\n  T held() const { return 1; }\n};\n"
            "template <class T, class U = T>\n"
            "struct held_with {\n  U other() const { return 1; }\n};\n")
      .with("dev",
            "#!/usr/bin/env bash\n"
            "if [ \"$1 $2\" = 'check --list' ]; then echo 'gcc  g++'; fi\n"
            "cat <<'END'\nusage: ./dev COMMAND\n\n  test   runs tests\n  check  checks\n  example "
            "NAME\nEND\n");
}

complaints docs_of(std::string const& page) {
  planted_tree tree;
  build_docs(tree, page);
  return docs(tree);
}

std::string code(std::string const& body) {
  return "<!-- code: docs/example/sum.cpp#sum -->\n" + fence + "cpp\n" + body + fence + "\n";
}

std::vector<std::string> missing(std::string const& signatures) {
  planted_tree tree;
  build_docs(tree, "");
  return missing_declarations(signatures, text_of(tree.root() / "include/keyspan/core/a.hpp"));
}

}  // namespace

TEST_CASE("README and docs agree with the code they speak of") { check_content(docs(real_tree)); }

TEST_CASE("the page of error.hpp shows the table of every errc") {
  auto const page = text_of(real_tree / "docs/reference/core/error.md");
  CHECK(page.find("<!-- generated: errc -->") != std::string::npos);
}
TEST_CASE("the page about layers shows their table") {
  auto const page = text_of(real_tree / "docs/design/layers.md");
  CHECK(page.find("<!-- generated: layers -->") != std::string::npos);
}
TEST_CASE("the page of lease_table.hpp shows the table as a chart of states") {
  auto const page = text_of(real_tree / "docs/reference/lease/lease_table.md");
  CHECK(page.find("<!-- generated: lease table -->") != std::string::npos);
}
TEST_CASE("the page of member_machine.hpp shows its table") {
  auto const page = text_of(real_tree / "docs/reference/lease/member_machine.md");
  CHECK(page.find("<!-- generated: member table -->") != std::string::npos);
}

TEST_CASE("a tree without pages is complained about") {
  planted_tree const tree;
  check_only_complaint(docs(tree), "README.md", 0, "no page");
}

TEST_CASE("code that equals its region is not complained about") {
  check_content(docs_of("# A\n\n" + code(shown)));
}
TEST_CASE("code that differs from its region by one character is complained about") {
  check_only_complaint(docs_of("# A\n\n" + code("int sum(int a, int b) {\n\n  return a - b;\n}\n")),
                       "README.md", 7, "differs from docs/example/sum.cpp#sum");
}
TEST_CASE("code that lacks the last line of its region is complained about") {
  check_only_complaint(docs_of(code("int sum(int a, int b) {\n\n  return a + b;\n")), "README.md",
                       6, "differs");
}
TEST_CASE("a region or a file that does not exist is complained about") {
  check_only_complaint(
      docs_of("<!-- code: docs/example/sum.cpp#total -->\n" + fence + "cpp\n" + fence + "\n"),
      "README.md", 1, "0 lines `[region: total]`");
  check_only_complaint(
      docs_of("<!-- code: docs/example/no.cpp#sum -->\n" + fence + "cpp\n" + fence + "\n"),
      "README.md", 1, "does not exist");
}
TEST_CASE("C++ without a mark is complained about, under any name") {
  for (std::string const name : {"cpp", "c++", "hpp"})
    check_only_complaint(docs_of("text\n" + fence + name + "\nint a;\n" + fence + "\n"),
                         "README.md", 2, "no compiler has seen");
  check_content(docs_of("text\n" + fence + "text\nint a;\n" + fence + "\n"));
}
TEST_CASE("a mark before no fence is complained about") {
  check_only_complaint(docs_of("<!-- code: docs/example/sum.cpp#sum -->\n\ntext\n"), "README.md", 1,
                       "stands before no fence");
}
TEST_CASE("a fence that is not closed is complained about") {
  check_only_complaint(docs_of("text\n" + fence + "text\na\n"), "README.md", 2, "not closed");
}

TEST_CASE("declarations are found whatever their white space, bodies and comments") {
  CHECK(missing("int size( ) const;").empty());
  CHECK(missing("constexpr explicit thing(int size) noexcept;").empty());
  CHECK(missing("thing(thing const&) = delete;").empty());
  CHECK(missing("inline constexpr int limit = /* many */;").empty());
  CHECK(missing("inline constexpr int limit = 0x1'000;").empty());
  CHECK(
      missing("template <class T>\nconcept sized = requires(T t) { t.size(); } && true;").empty());
  CHECK(missing("template <class T> requires requires(T t) { t.size(); }\n"
                "constexpr auto twice(T const& t, int by = 2) -> int;")
            .empty());
  CHECK(missing("class [[nodiscard]] thing final : public base {\n public:\n  int size() const;\n"
                "  int size_{0};\n};\nenum class colour : char { red, green };")
            .empty());
}
TEST_CASE("declarations that differ from the header's are missed") {
  CHECK(missing("template <class T> class box : public base<T> { T held() const; };").empty());
  CHECK(missing("template <class T, class U = T> struct held_with { U other() const; };").empty());
  CHECK(missing("template <class T, class U = T> struct held_with { U other(); };") ==
        std::vector<std::string>{"U other()"});
  CHECK(missing("template <class T> class box : public base<T> { T held(); };") ==
        std::vector<std::string>{"T held()"});
  CHECK(missing("int size();") == std::vector<std::string>{"int size()"});
  CHECK(missing("int size() const noexcept;").size() == 1);
  CHECK(missing("long size() const;").size() == 1);
  CHECK(missing("explicit thing(int size) noexcept;").size() == 1);  // constexpr left out
  CHECK(missing("thing(thing const&);").size() == 1);                // deleted, in truth
  CHECK(missing("inline constexpr int limit = 0x2'000;").size() == 1);
  CHECK(missing("enum class colour : char { red, blue };") == std::vector<std::string>{"blue"});
  CHECK(missing("int sum(char);").size() == 1);  // stands in a comment only
  CHECK(missing("class [[nodiscard]] thing final : public base { int weight() const; };").size() ==
        1);
}
TEST_CASE("a signature that its header has no more is complained about") {
  check_only_complaint(docs_of("<!-- signatures: include/keyspan/core/a.hpp -->\n" + fence +
                               "cpp\nint size() const;\nint weight() const;\n" + fence + "\n"),
                       "README.md", 2,
                       "`int weight()const` does not stand in include/keyspan/core/a.hpp");
}
TEST_CASE("signatures of a header that does not exist are complained about") {
  check_only_complaint(docs_of("<!-- signatures: include/keyspan/core/no.hpp -->\n" + fence +
                               "cpp\nint a;\n" + fence + "\n"),
                       "README.md", 1, "does not exist");
}
TEST_CASE("a signatures fence without a declaration is complained about") {
  check_only_complaint(docs_of("<!-- signatures: include/keyspan/core/a.hpp -->\n" + fence +
                               "cpp\n// nothing\n" + fence + "\n"),
                       "README.md", 2, "no declaration");
}

TEST_CASE("links to files and headings that exist are not complained about") {
  check_content(
      docs_of("# Two words, one tree\n## Again\n## Again\n[a](docs/example/sum.cpp \"A title\") "
              "[b](#two-words-one-tree) [c](#again-1) [d](https://example.org/x#y) "
              "![e](docs/example) `[f](no)` <a href=\"dev\">\n\n[g]: README.md#again\n"));
}
TEST_CASE("links that lead nowhere are complained about") {
  check_only_complaint(docs_of("[a](docs/no.md)\n"), "README.md", 1, "no docs/no.md");
  check_only_complaint(docs_of("# A\n\n[a](#b)\n"), "README.md", 3, "no heading #b");
  check_only_complaint(docs_of("[a](README.md#b)\n"), "README.md", 1, "no heading #b");
  check_only_complaint(docs_of("![a](docs/chart.svg)\n"), "README.md", 1, "leads nowhere");
  check_only_complaint(docs_of("<img src=\"docs/chart.svg\">\n"), "README.md", 1, "leads nowhere");
  check_only_complaint(docs_of("[a](../outside.md)\n"), "README.md", 1, "leads nowhere");
  check_only_complaint(docs_of("[a](/docs/example/sum.cpp)\n"), "README.md", 1, "leads nowhere");
  check_only_complaint(docs_of("[a]: docs/no.md\n"), "README.md", 1, "leads nowhere");
  check_only_complaint(docs_of(fence + "\n# b\n" + fence + "\n[a](#b)\n"), "README.md", 4,
                       "no heading");
}
TEST_CASE("links of a page lead on from its own folder") {
  planted_tree tree;
  build_docs(tree, "");
  tree.with("docs/guide/a.md", "[b](../example/sum.cpp) [c](b.md)\n");
  check_only_complaint(docs(tree), "docs/guide/a.md", 1, "no docs/guide/b.md");
}
TEST_CASE("an anchor is made of a heading as GitHub makes it") {
  CHECK(anchor_of(" Two commands, one tree") == "two-commands-one-tree");
  CHECK(anchor_of(" 5. `core/result.hpp` — a value") == "5-coreresulthpp--a-value");
  CHECK(anchor_of(" [A link](x.md)") == "a-link");
}

TEST_CASE("commands that ./dev knows are not complained about") {
  check_content(docs_of(
      fence +
      "sh\n$ ./dev test -L quick  # tests\n./dev check gcc && ./dev test\n./dev example sum\n" +
      fence + "\nor `./dev check ROW`, `./dev`\n"));
}
TEST_CASE("commands, rows and examples that ./dev does not know are complained about") {
  check_only_complaint(docs_of(fence + "sh\n./dev tests\n" + fence + "\n"), "README.md", 2,
                       "no command tests");
  check_only_complaint(docs_of("say `./dev build` now\n"), "README.md", 1, "no command build");
  check_only_complaint(docs_of(fence + "sh\n./dev check icc\n" + fence + "\n"), "README.md", 2,
                       "no row icc");
  check_only_complaint(docs_of(fence + "sh\n./dev example no\n" + fence + "\n"), "README.md", 2,
                       "no example no");
}

TEST_CASE("a generated table that differs from the code is complained about") {
  check_only_complaint(docs_of("<!-- generated: errc -->\n\n| errc |\n\n<!-- end -->\n"),
                       "README.md", 3, "table differs");
  check_only_complaint(docs_of("<!-- generated: errc -->\n"), "README.md", 1, "no end");
  check_only_complaint(docs_of("<!-- generated: moons -->\n<!-- end -->\n"), "README.md", 1,
                       "nothing is generated");
}

TEST_CASE("writing puts code and tables where they belong and changes nothing else") {
  planted_tree tree;
  std::string const indented = "- one\n\n  <!-- code: docs/example/sum.cpp#sum -->\n  " + fence +
                               "cpp\n  old\n  " + fence + "\n";
  build_docs(tree, "# A\n\n" + code("old\nolder\n") + "\n" + indented +
                       "\n<!-- generated: layers -->\nold\n<!-- end -->\nafter\n");
  CHECK(docs(tree).size() == 3);
  CHECK(write_docs(tree) == std::vector<std::string>{"README.md"});
  check_content(docs(tree));
  auto const text = text_of(tree.root() / "README.md");
  INFO(text);
  CHECK(text.starts_with("# A\n\n" + code(shown) + "\n- one\n\n"));
  CHECK(text.find("\n  int sum(int a, int b) {\n\n    return a + b;\n  }\n  " + fence) !=
        std::string::npos);
  CHECK(text.find("| `key` | `core` |\n") != std::string::npos);
  CHECK(text.ends_with("\n<!-- end -->\nafter\n"));
  CHECK(write_docs(tree).empty());
}
TEST_CASE(
    "every pair of a state and an event where something happens stands in the chart of leases") {
  planted_tree tree;
  build_docs(tree, "<!-- generated: lease table -->\n<!-- end -->\n");
  write_docs(tree);
  auto const text = text_of(tree.root() / "README.md");
  INFO(text);
  auto const stands = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  CHECK(stands(
      "\n\n### unknown\n\n| event | where | does | goes to |\n|---|---|---|---|\n| `listed` |"));
  CHECK(stands(
      "| `wanted` | may take | acquire | `acquiring` |\n| `wanted` | otherwise | - | - |\n"));
  CHECK(stands("| `given` | always | hand over, stop reading | `draining` |\n"));
  CHECK(stands("\n\n### ended\n\n| event | where | does | goes to |\n|---|---|---|---|\n"));
  CHECK(stands("| `missing` | always | forget | `unknown` |\n\n<!-- end -->\n"));
  CHECK(!stands("| always | - | - |"));
  check_only_complaint(docs_of("<!-- generated: lease table -->\n\n### unknown\n\n<!-- end -->\n"),
                       "README.md", 5, "table differs");
}
TEST_CASE("every state of a member stands in its table with what each event comes to") {
  planted_tree tree;
  build_docs(tree, "<!-- generated: member table -->\n<!-- end -->\n");
  write_docs(tree);
  auto const text = text_of(tree.root() / "README.md");
  INFO(text);
  CHECK(text.find("\n\n| | `start` | `beat_due` | ") != std::string::npos);
  CHECK(text.find("| `live` | - | beat | drain | leave | confirm | look | lose | read back |\n") !=
        std::string::npos);
  CHECK(text.find("| `lost` | - | - | - | be gone | - | - | - | - |\n\n<!-- end -->\n") !=
        std::string::npos);
}
TEST_CASE("every errc and what to do about it stands in the generated table") {
  planted_tree tree;
  build_docs(tree, "<!-- generated: errc -->\n<!-- end -->\n");
  write_docs(tree);
  CHECK(text_of(tree.root() / "README.md")
            .find("| `range_gone` | the range was split, merged or moved | refresh the list") !=
        std::string::npos);
}
