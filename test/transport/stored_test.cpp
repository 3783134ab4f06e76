// test/transport/stored_test.cpp — names of documents, and the handles that show them.
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/stored.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::change_kind;
using keyspan::key_value;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::stored;
using keyspan::detail::item_name;
using keyspan::detail::named_item;

// All kinds of values, among them such as would run into each other if they were only put together.
std::vector<partition_key> values() {
  std::vector<partition_key> all{partition_key{keyspan::undefined},
                                 partition_key{keyspan::null},
                                 partition_key{true},
                                 partition_key{false},
                                 partition_key{0},
                                 partition_key{-1.5},
                                 partition_key{1e300}};
  for (std::string_view const text : {"", "a", "b", "ab", "\x04", "\x01", "0"})
    all.emplace_back(text);
  all.emplace_back(std::string(300, 'x'));
  all.emplace_back(std::string("a\0b", 3));
  return all;
}

TEST_CASE("a name tells its key and its id, whatever they are") {
  auto const all = values();
  std::set<std::string> names;
  std::size_t made = 0;
  for (auto const& id : all) {
    for (auto const& one : all) {
      for (auto const& other : all) {
        std::vector<partition_key> keys{partition_key{}, partition_key{one[0]},
                                        partition_key{one[0], other[0]},
                                        partition_key{one[0], other[0], one[0]}};
        for (auto const& key : keys) {
          item_name const name{key, id[0]};
          named_item const back{name.view()};
          CHECK(back.key == key);
          CHECK(back.id == id[0]);
          CHECK(name.view().starts_with(item_name{key}.view()));
          if (key.size() == 2 || &one == &all.front()) names.emplace(name.view());
        }
        ++made;
        if (&one == &all.front()) continue;
      }
    }
  }
  CHECK(made == all.size() * all.size() * all.size());
  // Two values, or the first one and anything: no two have one name.
  std::size_t const n = all.size();
  CHECK(names.size() == n * (n * n + 1 + 1 + n));
}

TEST_CASE("no name under a key begins with another key") {
  auto const all = values();
  for (auto const& one : all)
    for (auto const& other : all) {
      if (one == other) continue;
      item_name const name{one, key_value{"id"}};
      CHECK_FALSE(name.view().starts_with(item_name{other}.view()));
    }
}

std::shared_ptr<keyspan::detail::stored_version<int> const> version(int document,
                                                                    std::string_view etag = {}) {
  item_name const name{partition_key_view{"redmond"}, key_value{"r-1"}};
  return std::make_shared<keyspan::detail::stored_version<int> const>(
      keyspan::detail::stored_version<int>{.document = document,
                                           .name = std::string{name.view()}.append(etag),
                                           .etag = 0xAB,
                                           .lsn = 7});
}

TEST_CASE("a stored document shows itself and what is known of it") {
  stored<int> const item{version(5)};
  REQUIRE(item);
  CHECK(*item == 5);
  CHECK(item.key() == partition_key{"redmond"});
  CHECK(item.id() == key_value{"r-1"});
  CHECK(item.etag() == "\"00000000000000AB\"");
  CHECK(item.lsn() == 7);
  auto const copy = item;
  CHECK(copy == item);
  CHECK(&*copy == &*item);
  CHECK_FALSE(item == stored<int>{version(5)});  // another version
}

TEST_CASE("an etag that somebody else has given is kept as it was") {
  stored<int> const item{version(5, "\"0d00-ab\"")};
  CHECK(item.etag() == "\"0d00-ab\"");
  CHECK(item.key() == partition_key{"redmond"});
  CHECK(item.id() == key_value{"r-1"});
}

TEST_CASE("nothing stored is looked at in vain") {
  stored<int> const nothing;
  CHECK_FALSE(nothing);
  CHECK(test::promise_broken_by([&] { return *nothing; }) ==
        "a document is looked at where there is one");
  CHECK(test::promise_broken_by([&] { return nothing.etag(); }) ==
        "a document is looked at where there is one");
}

template <class Item>
concept gives_borrowed_id = requires(Item&& item) { static_cast<Item&&>(item).id(); };
static_assert(gives_borrowed_id<stored<int> const&> && !gives_borrowed_id<stored<int>>);

TEST_CASE("every kind of change has a name of its own") {
  std::set<std::string> names;
  for (auto const kind :
       {change_kind::created, change_kind::replaced, change_kind::removed, change_kind::expired})
    names.emplace(name_of(kind));
  CHECK(names.size() == 4);
}

TEST_CASE("the example of stored documents reads as it should") {
  stored<std::string> const item{
      std::make_shared<keyspan::detail::stored_version<std::string> const>(
          keyspan::detail::stored_version<std::string>{.document = "hello"})};
  // [region: example]
  keyspan::change<std::string> const told{.kind = keyspan::change_kind::created, .item = item};
  std::size_t const length = told->size();  // the document itself
  std::string const text = *told.item;
  // [end: example]
  CHECK(length == text.size());
}

}  // namespace
