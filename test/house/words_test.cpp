#include "words.hpp"

#include "planted.hpp"

using namespace house;

namespace {

complaints words_of(std::string const& text) {
  planted_tree tree;
  tree.with("docs/a.md", text)
      .with("build/ignored.md",
            "TO"
            "DO\n");
  return unwelcome_words(tree);
}

}  // namespace

TEST_CASE("no file names a machine's paths, a registry's host or unfinished work") {
  check_content(unwelcome_words(real_tree));
}
TEST_CASE("a tree without files is complained about by the words test") {
  planted_tree const tree;
  check_only_complaint(unwelcome_words(tree), ".", 0, "no file");
}
TEST_CASE("a path of one machine is complained about") {
  check_only_complaint(words_of("fine\nsee /wo"
                                "rk/main\n"),
                       "docs/a.md", 2, "path of one machine");
  check_only_complaint(words_of("x=\"/tm"
                                "p/scratch\"\n"),
                       "docs/a.md", 1, "path of one machine");
  check_content(
      words_of("net/wo"
               "rk/card and ${dir}/tm"
               "p/x and /tm"
               "p/ alone\n"));
}
TEST_CASE("the host of a registry is complained about") {
  check_only_complaint(words_of("http://deb."
                                "debian.org/debian\n"),
                       "docs/a.md", 1, "registry");
  check_only_complaint(words_of("registry."
                                "npmjs.org\n"),
                       "docs/a.md", 1, "registry");
  check_only_complaint(words_of("pypi."
                                "org\n"),
                       "docs/a.md", 1, "registry");
}
TEST_CASE("a note of unfinished work is complained about") {
  check_only_complaint(words_of("// TO"
                                "DO: later\n"),
                       "docs/a.md", 1, "unfinished");
  check_only_complaint(words_of("(FIX"
                                "ME)\n"),
                       "docs/a.md", 1, "unfinished");
  check_only_complaint(words_of("XX"
                                "X\n"),
                       "docs/a.md", 1, "unfinished");
  check_content(
      words_of("mktemp file.XX"
               "XXXX\n"));
}
