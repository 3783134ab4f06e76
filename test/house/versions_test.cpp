#include "versions.hpp"

#include "planted.hpp"

using namespace house;

namespace {

void build_versions(planted_tree& tree) {
  tree.with("include/keyspan/core/version.hpp",
            "#define KEYSPAN_VERSION_MAJOR 1\n#define KEYSPAN_VERSION_MINOR 2\n"
            "#define KEYSPAN_VERSION_PATCH 3\n#define KEYSPAN_VERSION_STRING \"1.2.3\"\n")
      .with("vcpkg.json", "{\"name\": \"keyspan\", \"version\": \"1.2.3\"}\n")
      .with("test/package/ports/keyspan/vcpkg.json", "{\"version-semver\": \"1.2.3\"}\n");
}

}  // namespace

TEST_CASE("one version stands everywhere") { check_content(versions(real_tree, HOUSE_VERSION)); }
TEST_CASE("the JSON files of the project are read by keyspan's own reader") {
  check_content(json_files(real_tree));
}

TEST_CASE("versions that agree are not complained about") {
  planted_tree tree;
  build_versions(tree);
  check_content(versions(tree, "1.2.3"));
}
TEST_CASE("a version that differs is complained about, wherever it stands") {
  planted_tree tree;
  build_versions(tree);
  check_only_complaint(versions(tree, "1.2.4"), "CMakeLists.txt", 0, "1.2.4, not 1.2.3");
  tree.with("vcpkg.json", "{\"version\": \"1.2.2\"}");
  check_only_complaint(versions(tree, "1.2.3"), "vcpkg.json", 0, "1.2.2, not 1.2.3");
  build_versions(tree);
  tree.with("test/package/ports/keyspan/vcpkg.json", "{\"name\": \"keyspan\"}");
  check_only_complaint(versions(tree, "1.2.3"), "test/package/ports/keyspan/vcpkg.json", 0,
                       "missing");
  build_versions(tree);
  auto const header = "include/keyspan/core/version.hpp";
  auto text = text_of(tree.root() / header);
  tree.with(header, text.replace(text.find("\"1.2.3\""), 7, "\"1.2.0\""));
  check_only_complaint(versions(tree, "1.2.3"), header, 0, "KEYSPAN_VERSION_STRING is 1.2.0");
}
TEST_CASE("a tree without version or manifest is complained about") {
  planted_tree tree;
  check_only_complaint(versions(tree, "1.2.3"), "include/keyspan/core/version.hpp", 0,
                       "no version numbers");
  check_only_complaint(json_files(tree), ".", 0, "no JSON file");
  build_versions(tree);
  tree.without("vcpkg.json").without("test/package");
  check_only_complaint(versions(tree, "1.2.3"), "vcpkg.json", 0, "no vcpkg.json");
}
TEST_CASE("a JSON file that is none is complained about with its line") {
  planted_tree tree;
  build_versions(tree);
  tree.with("CMakePresets.json", "{\n  \"version\": 6,\n}\n");
  check_only_complaint(json_files(tree), "CMakePresets.json", 3, "malformed");
  tree.with("CMakePresets.json", "{}").with("vcpkg.json", "{\n\"version\": \"1.2.3\"\n");
  CHECK(versions(tree, "1.2.3").size() == 1);
}
