// test/key/container_definition_test.cpp — where containers of each API have their keys.
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/time_bucket.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <boost/hana/adapt_struct.hpp>

#include "tree.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

struct order {
  std::string_view id, tenant;
  int number = 0;
  std::int64_t ts = 0;
};
struct not_described {
  std::string_view name, tenant;
};
struct entity {
  std::string PartitionKey, RowKey;
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(order, id, tenant, number, ts);
BOOST_HANA_ADAPT_STRUCT(entity, PartitionKey, RowKey);

namespace {

using keyspan::container_api;
using keyspan::documents_container;
using keyspan::errc;
using keyspan::graph_container;
using keyspan::key_path;
using keyspan::key_path_of_shard_key;
using keyspan::key_paths;
using keyspan::key_value;
using keyspan::mongodb_container;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::path;
using keyspan::table_container;
using keyspan::undefined;
using test::check;
using test::tree;
using test::tree_view;

constexpr bool each_api_has_its_partition_key_and_its_row_key() {
  // [region: example]
  constexpr auto orders = documents_container<"/tenant", "/number">();
  constexpr order one{"o1", "contoso", 17};
  check(*orders.key(one) == partition_key{"contoso", 17});
  check(orders.row_key(one)->string() == "o1");

  check(orders.fits(partition_key{"contoso", 17}).has_value());
  check(orders.is_prefix(partition_key{"contoso"}));
  check(orders.fits(partition_key{"contoso"}).error().text ==
        "too few values: the key has 1, the container has 2 paths; "
        "a prefix is for queries and feeds");
  // [end: example]
  tree const home[]{tree::leaf("city", "Oslo")};
  tree const members[]{tree::leaf("id", "row"),     tree::leaf("_id", 7),
                       tree::leaf("RowKey", "r"),   tree::leaf("PartitionKey", "p"),
                       tree::leaf("city", "Paris"), tree::object("address", home)};
  auto const document = tree::object("", members);

  constexpr auto mongo = mongodb_container<"address.city">();
  check(*mongo.key(document) == partition_key{"Oslo"});
  check(*mongo.row_key(document) == key_value{7});

  constexpr auto graph = graph_container<"city">();
  check(*graph.key(document) == partition_key{"Paris"});
  check(*graph.row_key(document) == key_value{"row"});
  check(*graph_container<"/city">().key(document) == partition_key{"Paris"});

  constexpr auto table = table_container();
  check(*table.key(document) == partition_key{"p"});
  check(*table.row_key(document) == key_value{"r"});

  static_assert(orders.api() == container_api::documents && mongo.api() == container_api::mongodb &&
                graph.api() == container_api::graph && table.api() == container_api::table);
  static_assert(orders.row_key_path() == "/id" && mongo.row_key_path() == "/_id" &&
                graph.row_key_path() == "/id" && table.row_key_path() == "/RowKey");
  return true;
}
CHECK_BOTH(each_api_has_its_partition_key_and_its_row_key);

TEST_CASE("a struct is as good as a document") {
  entity const one{"p", "r"};
  CHECK(*table_container().key(one) == partition_key{"p"});
  CHECK(table_container().row_key(one)->string().data() == one.RowKey.data());
  CHECK(*documents_container(&order::tenant).key(order{"o", "t"}) == partition_key{"t"});
}

constexpr bool paths_are_told() {
  auto const paths = documents_container<"/tenant", R"(/"user id"/a)">().paths();
  check(paths.size() == 2);
  check(paths[0] == key_path{path<"/tenant">} && paths[1][0] == "user id" && paths[1][1] == "a");
  check(mongodb_container<"address.city">().paths()[0] == key_path{path<"/address/city">});
  check(table_container().paths()[0] == key_path{path<"/PartitionKey">});
  check(documents_container().paths().size() == 0);
  check(documents_container(*key_path::parse("/a"), path<"/b">).paths()[0][0] == "a");
  return true;
}
CHECK_BOTH(paths_are_told);

template <class T>
concept has_paths = requires(T const& t) { t.paths(); };
static_assert(has_paths<decltype(documents_container<"/a">())>);
static_assert(!has_paths<decltype(documents_container(&order::tenant))>);

constexpr bool a_key_fits_or_is_a_prefix_or_neither() {
  constexpr auto three = documents_container<"/a", "/b", "/c">();
  constexpr auto one = documents_container<"/a">();
  constexpr auto none = documents_container();
  auto const error_of = [](auto const& container, auto const& key) {
    return container.fits(key).error();
  };
  check(three.fits(partition_key{1, 2, 3}).has_value() && !three.is_prefix(partition_key{1, 2, 3}));
  check(three.is_prefix(partition_key{1, 2}) && three.is_prefix(partition_key{}));
  check(error_of(three, partition_key{1, 2}).code == errc::key_mismatch);
  check(error_of(one, partition_key{1, 2}).text ==
        "too many values: the key has 2, the container has 1 path");
  check(error_of(one, partition_key{}).text ==
        "too few values: the key has 0, the container has 1 path");
  check(!one.is_prefix(partition_key{}));  // only a hierarchy has prefixes
  check(none.fits(partition_key{}).has_value() && !none.is_prefix(partition_key{}));
  check(error_of(none, partition_key{1}).text ==
        "too many values: the key has 1, the container has 0 paths");
  check(one.fits(partition_key_view{"borrowed"}).has_value());

  check(three.none_key() == partition_key{undefined} && none.none_key() == partition_key{});
  return true;
}
CHECK_BOTH(a_key_fits_or_is_a_prefix_or_neither);

constexpr bool a_key_is_held_against_the_document() {
  constexpr auto orders = documents_container<"/tenant", "/number">();
  constexpr order one{"o1", "contoso", 17};
  check(orders.fits(partition_key{"contoso", 17}, one).has_value());
  check(orders.fits(partition_key{"contoso", 18}, one).error().text ==
        "value 2 of the key is not the one that the document has");
  check(orders.fits(partition_key{"contoso"}, one).error().code == errc::key_mismatch);
  return true;
}
CHECK_BOTH(a_key_is_held_against_the_document);

constexpr bool each_of_three_values_is_held_against_the_document() {
  constexpr auto orders = documents_container<"/tenant", "/number", "/ts">();
  constexpr order one{"o1", "contoso", 17, 5};
  check(orders.fits(partition_key{"contoso", 17, 5}, one).has_value());
  check(orders.fits(partition_key{"fabrikam", 17, 5}, one).error().text ==
        "value 1 of the key is not the one that the document has");
  check(orders.fits(partition_key{"contoso", 18, 5}, one).error().text ==
        "value 2 of the key is not the one that the document has");
  auto const third = orders.fits(partition_key{"contoso", 17, 6}, one);
  check(third.error().code == errc::key_mismatch);
  check(third.error().text == "value 3 of the key is not the one that the document has");
  return true;
}
CHECK_BOTH(each_of_three_values_is_held_against_the_document);

constexpr bool a_row_key_is_text_that_is_not_empty() {
  auto const said = [](auto const& container, key_value const& value) {
    tree const members[]{tree::leaf("id", value), tree::leaf("_id", value),
                         tree::leaf("RowKey", value)};
    auto const document = tree::object("", members);
    auto const row = container.row_key(document);
    return row ? keyspan::inline_text<160>{} : row.error().text;
  };
  auto const documents = documents_container<"/a">();
  auto const mongo = mongodb_container<"a">();
  check(said(documents, "x").empty());
  check(said(documents, "") ==
        "the row key at /id is a string that is not empty; this one is empty");
  check(said(documents, undefined) ==
        "the row key at /id is a string that is not empty; this one is undefined");
  check(said(graph_container<"a">(), keyspan::null) ==
        "the row key at /id is a string that is not empty; this one is null");
  check(said(table_container(), 5) ==
        "the row key at /RowKey is a string that is not empty; this one is a number");
  check(said(table_container(), true) ==
        "the row key at /RowKey is a string that is not empty; this one is a boolean");
  // MongoDB takes any value that there is.
  check(said(mongo, 5).empty() && said(mongo, "").empty() && said(mongo, keyspan::null).empty());
  check(said(mongo, undefined) == "the row key at /_id is undefined");
  return true;
}
CHECK_BOTH(a_row_key_is_text_that_is_not_empty);

constexpr bool a_table_is_partitioned_by_text() {
  tree const members[]{tree::leaf("PartitionKey", 5)};
  auto const document = tree::object("", members);
  auto const refused = table_container().key(document);
  check(refused.error().code == errc::not_representable);
  check(refused.error().text == "the PartitionKey of a table is a string, not a number");
  return true;
}
CHECK_BOTH(a_table_is_partitioned_by_text);

constexpr bool a_table_takes_no_row_without_its_partition_key() {
  tree const members[]{tree::leaf("RowKey", "r")};
  auto const document = tree::object("", members);
  auto const refused = table_container().key(document);
  check(refused.error().code == errc::not_representable);
  check(refused.error().text == "the PartitionKey of a table is a string, not undefined");
  return true;
}
CHECK_BOTH(a_table_takes_no_row_without_its_partition_key);

constexpr bool the_row_key_can_be_elsewhere() {
  constexpr auto container =
      documents_container(&not_described::tenant).with_row_key(&not_described::name);
  constexpr not_described one{"n", "t"};
  check(*container.key(one) == partition_key{"t"});
  check(container.row_key(one)->string() == "n");
  auto const made = container.with_row_key([](not_described const&) { return partition_key{"m"}; });
  check(*made.row_key(one) == partition_key{"m"});
  return true;
}
CHECK_BOTH(the_row_key_can_be_elsewhere);

constexpr bool new_text_makes_an_owned_key() {
  constexpr auto by_month = documents_container(
      &order::tenant, keyspan::time_bucket(&order::ts, keyspan::time_unit::month));
  check(*by_month.key(order{"o", "t", 1, 86'400}) == partition_key{"t", "1970-01"});
  check(by_month.fits(partition_key{"t", "1970-01"}, order{"o", "t", 1, 86'400}).has_value());
  return true;
}
CHECK_BOTH(new_text_makes_an_owned_key);

TEST_CASE("a container opened by name has its paths from run time") {
  std::vector<std::string_view> const texts{"/tenant", "/user/id"};
  auto const paths = key_paths::parse(texts);
  REQUIRE(paths);
  auto const container = documents_container(*paths);
  tree const user[]{tree::leaf("id", "u")};
  tree const members[]{tree::leaf("id", "row"), tree::leaf("tenant", "t"),
                       tree::object("user", user)};
  auto const document = tree::object("", members);
  CHECK(container.path_count() == 2);
  CHECK(*container.key(document) == partition_key{"t", "u"});
  CHECK(*container.row_key(document) == key_value{"row"});
  CHECK(container.paths() == *paths);
  CHECK(container.fits(partition_key{"t"}).error().code == errc::key_mismatch);
  auto const by_number = keyspan::documents_container<"/a">().with_row_key(path<"/number">);
  CHECK(by_number.row_key_path() == "/number");
  std::array<std::string_view, 2> const second_wrong{"/tenant", "user"};
  CHECK(keyspan::key_paths::parse(second_wrong).error().to_text() ==
        "malformed at line 1, column 1: path 2: a path begins with '/'");
  CHECK(keyspan::key_path_of_shard_key("/address/city").error().to_text() ==
        "malformed at line 1, column 1: a shard key is names with dots between them, this is a "
        "path");
  CHECK(container.is_prefix(partition_key{"t"}));
  CHECK(test::allocations_in([&] { static_cast<void>(container.key(document)); }) == 0);
  CHECK(*container.key(tree_view{&document}) == partition_key{"t", "u"});
  static_assert(!std::invocable<key_paths const&, tree> &&
                !std::invocable<key_paths const&, order>);

  auto const none = documents_container(key_paths{});
  CHECK(none.key(document)->empty());
  CHECK(none.none_key() == partition_key{});
  auto const wrong =
      documents_container(*key_paths::parse(std::array<std::string_view, 1>{"/user"}));
  CHECK(wrong.key(document).error().text == "at /user: an object is no key value");
}

TEST_CASE("a key has three paths at most, all of them well formed") {
  std::array<std::string_view, 4> const four{"/a", "/b", "/c", "/d"};
  auto const refused = key_paths::parse(four);
  CHECK(refused.error().code == errc::too_large);
  CHECK(refused.error().text == "a partition key has three paths at most, not 4");
  std::array<std::string_view, 2> const broken{"/a", "b"};
  CHECK(key_paths::parse(broken).error().position == key_path::parse("b").error().position);
  std::vector<key_path> const many(4, key_path{path<"/a">});
  CHECK(test::promise_broken_by([&] { return key_paths{many}; }) ==
        "a partition key has three paths at most");
  CHECK(test::promise_broken_by([] { return key_paths{}[0]; }) == "there is a path of this number");
}

constexpr bool shard_keys_are_written_with_dots() {
  check(*key_path_of_shard_key("city") == key_path{path<"/city">});
  check(*key_path_of_shard_key("address.city") == key_path{path<"/address/city">});
  check(*key_path_of_shard_key("a b.c/d.\"e\"") == key_path{path<R"(/"a b"/"c/d"/"\"e\"")">});
  check(*key_path_of_shard_key("_id.$oid") == key_path{path<R"(/_id/"$oid")">});
  for (auto const wrong : {"", ".a", "a.", "a..b"})
    check(key_path_of_shard_key(wrong).error().code == errc::malformed);
  check(mongodb_container<"a b.c">().paths()[0] == key_path{path<R"(/"a b"/c)">});
  check(mongodb_container(*key_path_of_shard_key("a.b")).paths()[0] == key_path{path<"/a/b">});
  return true;
}
CHECK_BOTH(shard_keys_are_written_with_dots);

constexpr bool quotes_and_backslashes_of_a_shard_key_are_in_its_names() {
  auto const paths = {*key_path_of_shard_key(R"(a\b.it's."c".\.\")"),
                      mongodb_container<R"(a\b.it's."c".\.\")">().paths()[0]};
  for (key_path const& read : paths) {
    check(read.size() == 5);
    check(read[0] == R"(a\b)" && read[1] == "it's" && read[2] == R"("c")");
    check(read[3] == R"(\)" && read[4] == R"(\")");
  }
  tree const inner[]{tree::leaf("\"c\"", 5)};
  tree const members[]{tree::object("a\\b", inner)};
  auto const document = tree::object("", members);
  check(*mongodb_container<"a\\b.\"c\"">().key(document) == partition_key{5});
  return true;
}
CHECK_BOTH(quotes_and_backslashes_of_a_shard_key_are_in_its_names);

// A document that ends with the expression keeps its keys.
template <class Container, class Document>
concept gives_key =
    requires(Container const& c, Document&& d) { c.key(static_cast<Document&&>(d)); };
template <class Container, class Document>
concept gives_row_key =
    requires(Container const& c, Document&& d) { c.row_key(static_cast<Document&&>(d)); };
using table = decltype(table_container());
static_assert(gives_key<table, entity&> && gives_row_key<table, entity const&>);
static_assert(!gives_key<table, entity> && !gives_row_key<table, entity>);
static_assert(!gives_key<table, order> && !gives_row_key<table, order&>);
using orders = decltype(documents_container<"/number">());
static_assert(gives_key<orders, order> && gives_row_key<orders, order>);  // views of text elsewhere

}  // namespace
