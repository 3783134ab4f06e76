#include "layers.hpp"

#include "planted.hpp"

using namespace house;

namespace {

// Two modules, their umbrellas and the whole: nothing to complain about.
void build_house(planted_tree& tree) {
  tree.with("include/keyspan/keyspan.hpp",
            "#include <keyspan/core.hpp>\n#include <keyspan/range.hpp>\n")
      .with("include/keyspan/core.hpp", "#include <keyspan/core/a.hpp>\n")
      .with("include/keyspan/range.hpp", "#include <keyspan/range/b.hpp>\n")
      .with("include/keyspan/core/a.hpp", "#include <vector>\n")
      .with("include/keyspan/range/b.hpp", "#include <keyspan/core/a.hpp>\n");
}

}  // namespace

TEST_CASE("every header includes only modules on the floors below") {
  check_content(layers(real_tree));
}
TEST_CASE("every umbrella includes all it stands for and nothing else") {
  check_content(umbrellas(real_tree));
}
TEST_CASE("headers include narrow headers, and third-party code only where it is at home") {
  check_content(narrow_includes(real_tree));
}

TEST_CASE("a house in order is not complained about") {
  planted_tree tree;
  build_house(tree);
  check_content(layers(tree));
  check_content(umbrellas(tree));
  check_content(narrow_includes(tree));
}

TEST_CASE("a header of core that includes range is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/core/a.hpp", "// about ranges\n#  include <keyspan/range/b.hpp>\n");
  check_only_complaint(layers(tree), "include/keyspan/core/a.hpp", 2, "may not include");
}

TEST_CASE("an include in a comment is none") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/core/a.hpp",
            "// #include <keyspan/range/b.hpp>\n/*\n#include <keyspan/range/b.hpp>\n*/\n");
  check_content(layers(tree));
}

TEST_CASE("a header of a folder that is no module is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/cellar/c.hpp", "#include <vector>\n");
  check_only_complaint(layers(tree), "include/keyspan/cellar/c.hpp", 0, "not in the table");
}

TEST_CASE("an umbrella of no module is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/cellar.hpp", "");
  check_only_complaint(layers(tree), "include/keyspan/cellar.hpp", 0, "no module is called");
}

TEST_CASE("an umbrella included inside a module is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/range/b.hpp", "#include <keyspan/core.hpp>\n");
  check_only_complaint(layers(tree), "include/keyspan/range/b.hpp", 1,
                       "only users include umbrellas");
}

TEST_CASE("a header that includes one that does not exist is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/range/b.hpp", "#include <keyspan/core/gone.hpp>\n");
  check_only_complaint(layers(tree), "include/keyspan/range/b.hpp", 1, "does not exist");
}

TEST_CASE("an include in quotes is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/core/a.hpp", "#include \"../range/b.hpp\"\n");
  check_only_complaint(layers(tree), "include/keyspan/core/a.hpp", 1, "not written with <>");
}

TEST_CASE("lease may include cursors from feed and nothing else of it") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/feed/cursor.hpp", "").with("include/keyspan/feed/page.hpp", "");
  tree.with("include/keyspan/lease/lease.hpp",
            "#include <keyspan/feed/cursor.hpp>\n#include <keyspan/feed/page.hpp>\n");
  check_only_complaint(layers(tree), "include/keyspan/lease/lease.hpp", 2, "may not include");
}

TEST_CASE("only the store of lease may include async") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/async/task.hpp", "")
      .with("include/keyspan/lease/lease_store.hpp", "#include <keyspan/async/task.hpp>\n")
      .with("include/keyspan/lease/machine.hpp", "#include <keyspan/async/task.hpp>\n");
  check_only_complaint(layers(tree), "include/keyspan/lease/machine.hpp", 1, "may not include");
}

TEST_CASE("nobody may include law, the adapters included") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/law/order.hpp", "")
      .with("include/keyspan/adapter/curl.hpp", "#include <keyspan/law/order.hpp>\n");
  check_only_complaint(layers(tree), "include/keyspan/adapter/curl.hpp", 1, "may not include");
}

TEST_CASE("a tree without headers is complained about") {
  planted_tree const tree;
  check_only_complaint(layers(tree), "include/keyspan/", 0, "no header to check");
  check_only_complaint(umbrellas(tree), "include/keyspan/keyspan.hpp", 0, "no umbrella to check");
  check_only_complaint(narrow_includes(tree), "include/keyspan/", 0, "no include line to check");
}

TEST_CASE("headers that include nothing of keyspan at all are complained about") {
  planted_tree tree;
  tree.with("include/keyspan/core/a.hpp", "#include <vector>\n");
  check_only_complaint(layers(tree), "include/keyspan/", 0, "no header includes another");
}

TEST_CASE("a header that its umbrella forgets is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/core/new.hpp", "");
  check_only_complaint(umbrellas(tree), "include/keyspan/core.hpp", 0,
                       "does not include keyspan/core/new.hpp");
}

TEST_CASE("a module without an umbrella is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.without("include/keyspan/range.hpp");
  check_only_complaint(umbrellas(tree), "include/keyspan/range.hpp", 0, "no umbrella");
}

TEST_CASE("an umbrella that keyspan.hpp forgets is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/keyspan.hpp", "#include <keyspan/core.hpp>\n");
  check_only_complaint(umbrellas(tree), "include/keyspan/keyspan.hpp", 0,
                       "does not include keyspan/range.hpp");
}

TEST_CASE("law, cosmos and adapters in keyspan.hpp are complained about") {
  for (std::string const apart : {"law.hpp", "cosmos.hpp", "adapter/curl.hpp", "law/order.hpp"}) {
    planted_tree tree;
    build_house(tree);
    tree.with("include/keyspan/keyspan.hpp",
              "#include <keyspan/core.hpp>\n#include <keyspan/range.hpp>\n#include <keyspan/" +
                  apart + ">\n");
    check_only_complaint(umbrellas(tree), "include/keyspan/keyspan.hpp", 3, "not its");
  }
}

TEST_CASE("an umbrella of the adapters is complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/adapter.hpp", "");
  check_only_complaint(umbrellas(tree), "include/keyspan/adapter.hpp", 0, "has an umbrella");
}

TEST_CASE("the traits of a JSON library in an umbrella are complained about") {
  planted_tree tree;
  build_house(tree);
  tree.with("include/keyspan/key/json_documents.hpp", "#include <nlohmann/json.hpp>\n")
      .with("include/keyspan/key/path.hpp", "")
      .with(
          "include/keyspan/keyspan.hpp",
          "#include <keyspan/core.hpp>\n#include <keyspan/key.hpp>\n#include <keyspan/range.hpp>\n")
      .with("include/keyspan/key.hpp", "#include <keyspan/key/path.hpp>\n");
  check_content(umbrellas(tree));
  check_content(narrow_includes(tree));
  tree.with("include/keyspan/key.hpp",
            "#include <keyspan/key/json_documents.hpp>\n#include <keyspan/key/path.hpp>\n");
  check_only_complaint(umbrellas(tree), "include/keyspan/key.hpp", 1, "not its");
}

TEST_CASE("wide headers are complained about wherever they stand") {
  for (std::string const wide : {"range/v3/all.hpp", "range/v3/view.hpp", "boost/hana.hpp"}) {
    planted_tree tree;
    build_house(tree);
    tree.with("include/keyspan/merge/m.hpp", "#include <" + wide + ">\n");
    check_only_complaint(narrow_includes(tree), "include/keyspan/merge/m.hpp", 1,
                         "brings in everything");
  }
}

TEST_CASE("range-v3 is complained about in core, key, hash and range, and welcome in feed") {
  for (std::string const module : {"core", "key", "hash", "range"}) {
    planted_tree tree;
    tree.with("include/keyspan/" + module + "/a.hpp", "#include <range/v3/view/facade.hpp>\n");
    check_only_complaint(narrow_includes(tree), "include/keyspan/" + module + "/a.hpp", 1,
                         "half a second");
  }
  planted_tree tree;
  tree.with("include/keyspan/feed/a.hpp", "#include <range/v3/view/facade.hpp>\n");
  check_content(narrow_includes(tree));
}

TEST_CASE("third-party code below cosmos and the adapters is complained about") {
  planted_tree tree;
  tree.with("include/keyspan/transport/t.hpp", "#include <boost/asio/io_context.hpp>\n");
  check_only_complaint(narrow_includes(tree), "include/keyspan/transport/t.hpp", 1, "third-party");
}

TEST_CASE("a header that includes iostream is complained about") {
  planted_tree tree;
  tree.with("include/keyspan/core/a.hpp", "#include <iostream>\n");
  check_only_complaint(narrow_includes(tree), "include/keyspan/core/a.hpp", 1, "<iostream>");
}
