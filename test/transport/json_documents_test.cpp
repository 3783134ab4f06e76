// test/transport/json_documents_test.cpp — documents of a JSON library in a container in memory.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/json_documents.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/page_source.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/stored.hpp>

#include <support/check.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::change_kind;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::partition_key;
using keyspan::sync_wait;
using nlohmann::json;
using nlohmann::ordered_json;
using namespace std::chrono_literals;

using documents = keyspan::memory_container<json, keyspan::cosmos_v2_scheme>;
static_assert(keyspan::page_source<documents>);

constexpr auto by_city = keyspan::documents_container<"/address/city">();

json shop(std::string const& id, std::string const& city, int stars) {
  return {{"id", id}, {"address", {{"city", city}}}, {"stars", stars}};
}

TEST_CASE("a JSON document is created, read, changed in part, and taken away") {
  documents in{cosmos_v2, by_city, {.size_of = [](json const& one) { return one.dump().size(); }}};
  auto const made = sync_wait(in.create(shop("s-1", "redmond", 3)));
  REQUIRE(made.has_value());
  CHECK(made->status == 201);
  CHECK(made->item.key() == partition_key{"redmond"});
  CHECK(in.bytes() == shop("s-1", "redmond", 3).dump().size());
  auto const read = sync_wait(in.read_item("redmond", "s-1"));
  CHECK(*read->item == shop("s-1", "redmond", 3));

  auto const patched = sync_wait(in.patch("redmond", "s-1", [](json& one) {
    one["stars"] = 4;
    one["tags"] = {"new", "open"};
  }));
  REQUIRE(patched.has_value());
  CHECK((*patched->item)["tags"].size() == 2);
  CHECK((*read->item)["stars"] == 3);  // what was read stays as it was
  CHECK(in.bytes() == patched->item->dump().size());
  auto const merged = sync_wait(in.patch(
      "redmond", "s-1", [](json& one) { one.merge_patch({{"tags", nullptr}, {"stars", 5}}); },
      {.if_match = patched->item.etag()}));
  CHECK(*merged->item == shop("s-1", "redmond", 5));
  CHECK(sync_wait(in.replace(shop("s-1", "redmond", 1), {.if_match = patched->item.etag()}))
            .error()
            .code == errc::precondition_failed);

  CHECK(sync_wait(in.remove("redmond", "s-1")).has_value());
  CHECK(in.size() == 0);
}

TEST_CASE("a JSON document that has no id or no key for the container changes nothing") {
  documents in{cosmos_v2, by_city};
  REQUIRE(sync_wait(in.create(shop("s-1", "redmond", 3))).has_value());
  CHECK_FALSE(sync_wait(in.create({{"address", {{"city", "redmond"}}}})).has_value());
  CHECK_FALSE(sync_wait(in.create({{"id", 7}, {"address", {{"city", "redmond"}}}})).has_value());
  auto const object = sync_wait(in.create({{"id", "s-2"}, {"address", {{"city", {{"a", 1}}}}}}));
  CHECK(object.error().code == errc::not_a_key);
  CHECK(object.error().wire.status == 400);
  auto const moved =
      sync_wait(in.patch("redmond", "s-1", [](json& one) { one["address"]["city"] = "seattle"; }));
  CHECK(moved.error().code == errc::key_mismatch);
  CHECK(in.size() == 1);
  // A key that is missing is a key as well: undefined.
  CHECK(sync_wait(in.create({{"id", "s-3"}})).has_value());
  CHECK(sync_wait(in.read_item(partition_key{keyspan::undefined}, "s-3")).has_value());
  CHECK_THROWS_AS(sync_wait(in.patch("redmond", "s-1", [](json& one) { one.at("none") = 1; })),
                  json::exception);
  CHECK(*sync_wait(in.read_item("redmond", "s-1"))->item == shop("s-1", "redmond", 3));
}

TEST_CASE("feeds and batches of JSON documents, whose lives are in themselves") {
  keyspan::wall_time now{};
  documents in{cosmos_v2,
               by_city,
               {.partitions = 3,
                .now = [&] { return now; },
                .time_to_live_of = [](json const& one) -> std::optional<std::chrono::milliseconds> {
                  auto const found = one.find("ttl");
                  if (found == one.end()) return std::nullopt;
                  return std::chrono::seconds{found->get<int>()};
                },
                .keeps_versions = 1h}};
  feed history{in,
               {.start = keyspan::from_now, .mode = keyspan::feed_mode::all_versions_and_deletes}};
  REQUIRE(history.open().has_value());
  for (int i = 0; i < 60; ++i)
    REQUIRE(sync_wait(in.upsert(shop("s-" + std::to_string(i), "city " + std::to_string(i % 9), i)))
                .has_value());
  keyspan::item_batch<json> work{"city 0"};
  work.create(shop("new", "city 0", 100))
      .patch("s-0", [](json& one) { one["ttl"] = 10; })
      .patch("new", [](json& one) { one["stars"] = one["stars"].get<int>() + 1; })
      .remove("s-9");
  auto const all = sync_wait(in.execute(work));
  REQUIRE(all.has_value());
  CHECK(all->is_done());
  REQUIRE(in.split(in.partitions()[1].id).has_value());

  feed changes{in, {.page_size = 7}};
  std::size_t count = 0;
  for (auto const& one : changes) {
    ++count;
    if ((*one)["id"] == "new") CHECK((*one)["stars"] == 101);
  }
  CHECK(count == 60);
  now += 10s;
  CHECK(sync_wait(in.read_item("city 0", "s-0")).error().code == errc::not_found);
  int expired = 0;
  int removed = 0;
  std::size_t told = 0;
  for (auto const& one : history) {
    ++told;
    if (one.kind == change_kind::expired) ++expired;
    if (one.kind == change_kind::removed) ++removed;
    if (one.kind == change_kind::replaced) CHECK(*one.before != *one);
  }
  CHECK(told == 60 + 4 + 1);
  CHECK(expired == 1);
  CHECK(removed == 1);
  auto const key_of = [](auto const& one) {
    return partition_key{(*one)["address"]["city"].template get<std::string>()};
  };
  auto const id_of = [](auto const& one) { return (*one)["id"].template get<std::string>(); };
  CHECK(keyspan::law::check_page_source(in, key_of, id_of, {.items = 59}).to_text() ==
        "the law holds");
}

TEST_CASE("any JSON document of the library will do, under any scheme") {
  keyspan::memory_container<ordered_json> in{keyspan::cosmos_multihash,
                                             keyspan::documents_container<"/tenant", "/user">(),
                                             {.partitions = 2}};
  for (int i = 0; i < 20; ++i)
    REQUIRE(sync_wait(in.create({{"user", i}, {"tenant", "t"}, {"id", std::to_string(i)}}))
                .has_value());
  std::vector<keyspan::item_id> const ids{{partition_key{"t", 3}, "3"},
                                          {partition_key{"t", 4}, "3"}};
  auto const found = sync_wait(in.read_many(ids));
  CHECK((*found->items[0])["user"] == 3);
  CHECK(found->items[0]->begin().key() == "user");  // its order is kept
  CHECK_FALSE(found->items[1]);
}

}  // namespace
