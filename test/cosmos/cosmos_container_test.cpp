// test/cosmos/cosmos_container_test.cpp — a container of a service in this process, by the words of
// one in memory.
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/law/page_source.hpp>
#include <keyspan/transport/item_batch.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::change_kind;
using keyspan::errc;
using keyspan::item_batch;
using keyspan::item_id;
using keyspan::partition_key;
using keyspan::sync_wait;
using test::account;
using test::door;
using test::review;

using reviews_container = keyspan::cosmos::cosmos_container<review>;

template <class Task>
errc code_of(Task&& work) {
  auto const answer = sync_wait(std::forward<Task>(work));
  REQUIRE_FALSE(answer);
  return answer.error().code;
}

template <class Container>
std::set<std::string> ids_in(keyspan::feed<Container>& changes) {
  std::set<std::string> seen;
  for (auto const& one : changes) CHECK(seen.insert(std::string{one.item.id().string()}).second);
  return seen;
}

TEST_CASE("a document is created, read, replaced, patched and taken away") {
  account a;
  a.make("reviews");
  auto in = a.open();

  auto const made = sync_wait(in.create({"r-1", "redmond", 5})).value();
  CHECK(made.status == 201);
  CHECK(made.charge > 0);
  CHECK(made.partition == "0");
  CHECK_FALSE(made.session_token.empty());
  CHECK(*made.item == review{"r-1", "redmond", 5});
  CHECK(made.item.key() == partition_key{"redmond"});
  CHECK(made.item.id() == keyspan::key_value{"r-1"});
  CHECK(code_of(in.create({"r-1", "redmond", 4})) == errc::already_exists);

  auto const read = sync_wait(in.read_item("redmond", "r-1")).value();
  CHECK(*read.item == review{"r-1", "redmond", 5});
  CHECK(read.item.etag() == made.item.etag());
  CHECK(read.item.modified_at().time_since_epoch().count() > 0);
  CHECK(code_of(in.read_item("seattle", "r-1")) == errc::not_found);

  auto const etag = read.item.etag();
  auto const second = sync_wait(in.replace({"r-1", "redmond", 4}, {.if_match = etag})).value();
  CHECK(second.status == 200);
  CHECK_FALSE(second.item.etag() == etag);
  CHECK(code_of(in.replace({"r-1", "redmond", 3}, {.if_match = etag})) ==
        errc::precondition_failed);
  CHECK(code_of(in.upsert({"r-1", "redmond", 3}, {.if_match = etag})) == errc::precondition_failed);
  CHECK(code_of(in.replace({"r-2", "redmond", 3})) == errc::not_found);

  auto const patched =
      sync_wait(in.patch("redmond", "r-1", [](review& one) { ++one.rating; })).value();
  CHECK(patched.item->rating == 5);
  CHECK(code_of(in.patch("redmond", "r-1", [](review& one) { ++one.rating; },
                         {.if_match = etag})) == errc::precondition_failed);
  CHECK(code_of(in.patch("redmond", "r-1", [](review& one) { one.article = "x"; })) ==
        errc::key_mismatch);

  CHECK(code_of(in.remove("redmond", "r-1", {.if_match = etag})) == errc::precondition_failed);
  auto const gone = sync_wait(in.remove("redmond", "r-1")).value();
  CHECK(gone.status == 204);
  CHECK_FALSE(gone.item);
  CHECK(code_of(in.remove("redmond", "r-1")) == errc::not_found);
  CHECK(sync_wait(in.upsert({"r-1", "redmond", 1})).value().status == 201);
  CHECK(sync_wait(in.upsert({"r-1", "redmond", 2})).value().status == 200);
}

TEST_CASE("documents that the service would not take are not sent") {
  account a;
  a.make("reviews");
  a.make("deep", {"/tenant", "/user/id"}, {.scheme = keyspan::cosmos_multihash});
  auto in = a.open();
  auto deep = a.open<nlohmann::json>("deep");
  auto const sent = a.to.asked.size();
  for (std::string const id : {"", "a/b", "a\\b", "a?b", "a#b", "a\nb"})
    CHECK(code_of(in.create({id, "redmond", 1})) == errc::not_representable);
  CHECK(code_of(in.create({std::string(1024, 'x'), "redmond", 1})) == errc::not_representable);
  CHECK(code_of(in.read_item("redmond", "a/b")) == errc::not_representable);
  CHECK(code_of(in.read_item("redmond", 5)) == errc::not_representable);
  CHECK(code_of(in.create({"r", "\xFF", 1})) == errc::invalid_utf8);
  CHECK(code_of(deep.read_item("one", "r")) == errc::key_mismatch);
  CHECK(code_of(deep.create({{"id", "r"}, {"tenant", {1, 2}}})) == errc::not_a_key);
  CHECK(code_of(deep.create(nlohmann::json{1})) == errc::malformed);
  CHECK(a.to.asked.size() == sent);
  // What has no key has the key of those that have none.
  CHECK(sync_wait(deep.create({{"id", "r"}})).value().item.key() ==
        partition_key{keyspan::undefined, keyspan::undefined});
}

TEST_CASE("a document's number takes its key from its text") {
  account a;
  a.make("numbers", {"/n"});
  auto in = a.open<nlohmann::json>("numbers");
  for (std::string const text : {"5", "5.0", "0.1", "1e-7", "1234567890123456800", "-3"}) {
    auto const document = nlohmann::json::parse(R"({"id":"d","n":)" + text + "}");
    REQUIRE(sync_wait(in.upsert(document)));
    auto const key = keyspan::read_number(text).value();
    auto const read = sync_wait(in.read_item(key, "d"));
    REQUIRE(read);
    CHECK(read->item.key() == partition_key{key});
    REQUIRE(sync_wait(in.remove(key, "d")));
  }
}

TEST_CASE("hierarchical keys and containers of the first version are read and written") {
  account a{4};
  a.make("deep", {"/tenant", "/user/id"}, {.scheme = keyspan::cosmos_multihash});
  a.make("old", {"/article"}, {.scheme = keyspan::cosmos_v1});
  auto deep = a.open<nlohmann::json, keyspan::cosmos_multihash_scheme>("deep");
  auto old = a.open<review, keyspan::cosmos_v1_scheme>("old");
  CHECK(deep.properties().paths.size() == 2);
  for (int i = 0; i < 40; ++i) {
    std::string const name = std::to_string(i);
    REQUIRE(sync_wait(deep.create(
        {{"id", name}, {"tenant", "t" + std::to_string(i % 3)}, {"user", {{"id", i}}}})));
    REQUIRE(sync_wait(old.create({name, "a" + name, i})));
  }
  partition_key const key{"t1", 4};
  CHECK((*sync_wait(deep.read_item(key, "4")).value().item)["user"]["id"] == 4);
  keyspan::feed all{deep};
  CHECK(ids_in(all).size() == 40);
  keyspan::feed olds{old};
  CHECK(ids_in(olds).size() == 40);

  // Of one tenant, whose documents are in a part of a partition.
  auto const tenant = keyspan::prefix_bounds(deep.scheme(), partition_key{"t1"}, 2).value();
  keyspan::feed_request<keyspan::token_multihash> request;
  request.scope = keyspan::token_range<keyspan::token_multihash>{tenant};
  keyspan::feed some{deep, request};
  auto const ids = ids_in(some);
  CHECK(ids.size() == 13);
  CHECK(ids.contains("4"));
  CHECK_FALSE(ids.contains("3"));
}

TEST_CASE("a fixed scheme that differs is an error when it is opened") {
  account a;
  a.make("reviews");
  auto const opened =
      sync_wait(a.in.open<review, keyspan::cosmos_multihash_scheme>("shop", "reviews"));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == errc::scheme_mismatch);
  CHECK(a.open<review, keyspan::cosmos_v2_scheme>().scheme() == keyspan::cosmos_v2);
  CHECK(code_of(a.in.open<review>("shop", "none")) == errc::not_found);
  CHECK(code_of(a.in.open<review>("shop", "a/b")) == errc::invalid_options);
  CHECK(code_of(a.in.open<review>("", "reviews")) == errc::invalid_options);
}

TEST_CASE("many documents are read at once, and those that are not there are none") {
  account a{4};
  a.make("reviews");
  auto in = a.open();
  std::vector<item_id> ids;
  for (int i = 0; i < 50; ++i) {
    std::string const name = std::to_string(i);
    if (i % 5 != 0) REQUIRE(sync_wait(in.create({"r-" + name, "a-" + name, i})));
    ids.push_back({partition_key{"a-" + name}, "r-" + name});
  }
  auto const read = sync_wait(in.read_many(ids)).value();
  REQUIRE(read.items.size() == 50);
  for (std::size_t i = 0; i < 50; ++i) {
    CHECK(static_cast<bool>(read.items[i]) == (i % 5 != 0));
    if (read.items[i]) CHECK(read.items[i]->rating == static_cast<int>(i));
  }
  CHECK(read.charge >= 50);
  CHECK(sync_wait(in.read_many({})).value().items.empty());
  ids[7].id = "a/b";
  auto const refused = sync_wait(in.read_many(ids));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.view().starts_with("item 7: "));
}

TEST_CASE("a batch is done whole or not at all") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto const first = sync_wait(in.create({"r-1", "redmond", 1})).value();
  REQUIRE(sync_wait(in.create({"r-2", "redmond", 2})));
  REQUIRE(sync_wait(in.create({"r-3", "redmond", 3})));

  item_batch<review> work{"redmond"};
  work.create({"r-4", "redmond", 4})
      .replace({"r-1", "redmond", 10}, {.if_match = first.item.etag()})
      .patch("r-2", [](review& one) { one.rating *= 10; })
      .patch("r-4", [](review& one) { one.rating *= 10; })
      .remove("r-3")
      .read("r-2");
  auto const done = sync_wait(in.execute(work)).value();
  REQUIRE(done.is_done());
  CHECK(done.operations[0]->status == 201);
  CHECK(done.operations[1]->item->rating == 10);
  CHECK(done.operations[4]->status == 204);
  CHECK(done.operations[5]->item->rating == 20);
  CHECK(sync_wait(in.read_item("redmond", "r-4")).value().item->rating == 40);
  CHECK(code_of(in.read_item("redmond", "r-3")) == errc::not_found);

  item_batch<review> bad{"redmond"};
  bad.upsert({"r-5", "redmond", 5}).create({"r-1", "redmond", 5}).remove("r-2");
  auto const refused = sync_wait(in.execute(bad)).value();
  CHECK_FALSE(refused.is_done());
  CHECK(refused.operations[0].error().code == errc::not_attempted);
  CHECK(refused.operations[1].error().code == errc::already_exists);
  CHECK(refused.operations[1].error().text.view().starts_with("operation 1: "));
  CHECK(refused.operations[2].error().code == errc::not_attempted);
  CHECK(code_of(in.read_item("redmond", "r-5")) == errc::not_found);
  CHECK(sync_wait(in.read_item("redmond", "r-2")));

  item_batch<review> astray{"redmond"};
  astray.upsert({"r-6", "redmond", 5}).upsert({"r-7", "seattle", 5});
  auto const two_keys = sync_wait(in.execute(astray)).value();
  CHECK(two_keys.operations[0].error().code == errc::not_attempted);
  CHECK(two_keys.operations[1].error().code == errc::key_mismatch);
  CHECK(code_of(in.execute(item_batch<review>{"redmond"})) == errc::invalid_options);
  item_batch<review> large{"redmond"};
  for (int i = 0; i <= 100; ++i) large.read("r");
  CHECK(code_of(in.execute(large)) == errc::too_large);
}

TEST_CASE("what a batch patches is patched anew where somebody else was faster") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto other = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  int times = 0;
  a.to.before =
      [&](keyspan::request const& what) -> std::optional<keyspan::result<keyspan::response>> {
    if (!what.headers.find("x-ms-cosmos-is-batch-request") || ++times > 2) return std::nullopt;
    REQUIRE(sync_wait(other.patch("redmond", "r-1", [](review& one) { one.rating += 100; })));
    return std::nullopt;
  };
  item_batch<review> work{"redmond"};
  work.patch("r-1", [](review& one) { ++one.rating; });
  auto const done = sync_wait(in.execute(work)).value();
  CHECK(done.is_done());
  CHECK(times == 3);
  CHECK(sync_wait(in.read_item("redmond", "r-1")).value().item->rating == 202);
}

TEST_CASE("a patch is made anew where somebody else was faster") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto other = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  int times = 0;
  a.to.before =
      [&](keyspan::request const& what) -> std::optional<keyspan::result<keyspan::response>> {
    if (what.method != "PUT" || ++times > 1) return std::nullopt;
    auto const before = std::exchange(a.to.before, nullptr);
    REQUIRE(sync_wait(other.upsert({"r-1", "redmond", 50})));
    return std::nullopt;
  };
  auto const done = sync_wait(in.patch("redmond", "r-1", [](review& one) { ++one.rating; }));
  CHECK(done.value().item->rating == 51);
}

TEST_CASE("a soft delete is told of, and takes the document away behind its time") {
  account a;
  a.make("reviews", {"/article"}, {.time_to_live = std::chrono::hours{24}});
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  auto const marked = sync_wait(in.remove_softly(
      "redmond", "r-1", [](review& one) { one.rating = -1; }, std::chrono::milliseconds{1500}));
  CHECK(marked.value().item->rating == -1);
  auto const raw = a.open<nlohmann::json>();
  auto read = raw;
  CHECK((*sync_wait(read.read_item("redmond", "r-1")).value().item)["ttl"] == 2);
}

TEST_CASE("a feed reads every partition, through splits and merges, and resumes from text") {
  account a{2};
  a.make("reviews");
  auto in = a.open();
  auto const write = [&](int from, int to) {
    for (int i = from; i < to; ++i)
      REQUIRE(sync_wait(in.create({std::to_string(i), "a-" + std::to_string(i), i})));
  };
  write(0, 100);
  keyspan::feed changes{in, {.page_size = 7}};
  CHECK(ids_in(changes).size() == 100);
  CHECK(changes.routing()->size() == 2);
  a.control("split/0");
  write(100, 200);
  CHECK(ids_in(changes).size() == 100);
  CHECK(changes.routing()->size() == 3);
  std::string const kept = changes.cursor().to_text();
  a.control("merge/2/3");
  a.control("split/1");
  write(200, 250);
  auto again = a.open();
  keyspan::feed resumed{again, {.start = keyspan::cursor_of(again, kept).value()}};
  auto const ids = ids_in(resumed);
  CHECK(ids.size() == 50);
  CHECK(*std::min_element(ids.begin(), ids.end()) == "200");
  CHECK(resumed.charge() > 0);
}

TEST_CASE("a feed begins now, at a moment, or at one key") {
  account a{2};
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 20; ++i)
    REQUIRE(sync_wait(in.create({std::to_string(i), "a-" + std::to_string(i % 4), i})));
  keyspan::feed now{in, {.start = keyspan::from_now}};
  REQUIRE(now.open());
  REQUIRE(sync_wait(in.create({"20", "a-0", 20})));
  CHECK(ids_in(now) == std::set<std::string>{"20"});

  keyspan::feed_request<keyspan::any_token> one_key;
  one_key.scope = partition_key{"a-0"};
  keyspan::feed of_key{in, one_key};
  CHECK(ids_in(of_key) == std::set<std::string>{"0", "4", "8", "12", "16", "20"});
  CHECK(a.to.last().headers.find("x-ms-documentdb-partitionkey") == R"(["a-0"])");

  keyspan::feed_request<keyspan::any_token> later;
  later.start = keyspan::from_time{std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::system_clock::now() + std::chrono::hours{1})};
  keyspan::feed from_then{in, later};
  CHECK(ids_in(from_then).empty());
  CHECK(a.to.last().headers.find("if-modified-since"));
}

TEST_CASE("a feed of all versions tells what was created, replaced and taken away") {
  account a;
  a.make("reviews");
  auto in = a.open();
  keyspan::feed changes{
      in, {.start = keyspan::from_now, .mode = keyspan::feed_mode::all_versions_and_deletes}};
  REQUIRE(changes.open());
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  REQUIRE(sync_wait(in.replace({"r-1", "redmond", 2})));
  REQUIRE(sync_wait(in.remove("redmond", "r-1")));
  std::vector<keyspan::change<review>> told;
  for (auto const& one : changes) told.push_back(one);
  REQUIRE(told.size() == 3);
  CHECK(told[0].kind == change_kind::created);
  CHECK_FALSE(told[0].before);
  CHECK(told[1].kind == change_kind::replaced);
  CHECK(told[1].before->rating == 1);
  CHECK(told[1]->rating == 2);
  CHECK(told[2].kind == change_kind::removed);
  CHECK(told[2]->rating == 2);
  CHECK(told[2].item.key() == partition_key{"redmond"});
  CHECK(told[1].lsn < told[2].lsn);

  keyspan::feed from_the_first{in, {.mode = keyspan::feed_mode::all_versions_and_deletes}};
  auto const pages = from_the_first.pages();
  auto const page = *pages.begin();
  REQUIRE_FALSE(page);
  CHECK(page.error().code == errc::unsupported);
}

TEST_CASE("a document that is none of the type is named, and the feed stays where it is") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto raw = a.open<nlohmann::json>();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  REQUIRE(sync_wait(raw.create({{"id", "odd"}, {"article", "redmond"}, {"rating", "five"}})));
  CHECK(code_of(in.read_item("redmond", "odd")) == errc::malformed);
  keyspan::feed changes{in};
  auto const pages = changes.pages();
  auto const page = *pages.begin();
  REQUIRE_FALSE(page);
  CHECK(page.error().code == errc::malformed);
  CHECK(page.error().text.view().starts_with("document \"odd\": member \"rating\": "));
}

TEST_CASE("what was seen is shown by later reads, and told to readers elsewhere") {
  account a{2};
  a.make("reviews");
  auto in = a.open();
  CHECK(in.session_token().empty());
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  CHECK_FALSE(a.to.last().headers.find("x-ms-session-token"));  // writes need none
  auto const made = sync_wait(in.create({"r-2", "redmond", 1})).value();
  CHECK(in.session_token() == made.session_token);
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  CHECK(a.to.last().headers.find("x-ms-session-token") == made.session_token);

  // Of a partition that came from another one by a split it has seen as much as of that one.
  a.control("split/" + std::string{made.partition.view()});
  keyspan::feed changes{in};
  CHECK(ids_in(changes).size() == 2);
  auto fresh = a.open();
  REQUIRE(sync_wait(fresh.read_item("redmond", "r-1")));
  CHECK_FALSE(a.to.last().headers.find("x-ms-session-token"));
  auto const told = in.session_token();
  REQUIRE(sync_wait(fresh.read_item("redmond", "r-1", {.session_token = made.session_token})));
  CHECK(a.to.last().headers.find("x-ms-session-token") == made.session_token);

  auto careless = a.open<review>("reviews", {.keeps_session = false});
  REQUIRE(sync_wait(careless.create({"r-3", "redmond", 1})));
  REQUIRE(sync_wait(careless.read_item("redmond", "r-3")));
  CHECK_FALSE(a.to.last().headers.find("x-ms-session-token"));
}

TEST_CASE(
    "errors reach who asked, with what the service said, and are repeated once at most here") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  struct row {
    std::uint16_t status, sub;
    errc code;
    std::size_t requests;  // of a read; 10 where it is repeated at this endpoint
  };
  // The definition is read again, and the question asked again once.
  std::size_t const refreshed = 2;
  row const rows[]{
      {400, 0, errc::bad_request, 1},
      {400, 1001, errc::key_mismatch, 1},  // the definition is the same: asking again is in vain
      {400, 1004, errc::unsupported, 1},
      {400, 1024, errc::container_changed, refreshed},
      {401, 0, errc::unauthorized, 1},
      {403, 0, errc::forbidden, 1},
      {403, 3, errc::region_not_writable, 1},
      {403, 1008, errc::unavailable, 10},
      {403, 1014, errc::forbidden, 1},
      {404, 0, errc::not_found, 1},
      {404, 1002, errc::session_not_available, 1},
      {404, 1003, errc::not_found, 1},
      {404, 1013, errc::unavailable, 10},
      {408, 0, errc::timed_out, 10},
      {409, 0, errc::already_exists, 1},
      {410, 0, errc::unavailable, 10},
      {410, 1000, errc::container_changed, refreshed},
      {410, 1002, errc::unavailable, 10},
      {410, 1007, errc::unavailable, 10},
      {410, 1008, errc::unavailable, 10},
      {410, 1022, errc::unavailable, 10},
      {412, 0, errc::precondition_failed, 1},
      {413, 0, errc::too_large, 1},
      {429, 3200, errc::throttled, 6},  // five seconds each, where the service does not say
      {449, 0, errc::contended, 10},
      {500, 0, errc::service_failed, 10},
      {503, 0, errc::unavailable, 10},
  };
  for (row const& each : rows) {
    CAPTURE(each.status, each.sub);
    a.to.asked.clear();
    a.to.before = [&](keyspan::request const& what) {
      bool const is_document = what.target.find("/docs/") != std::string::npos;
      return is_document ? door::status(each.status, each.sub) : std::nullopt;
    };
    auto const answer = sync_wait(in.read_item("redmond", "r-1"));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == each.code);
    CHECK(answer.error().wire.status == each.status);
    CHECK(answer.error().wire.substatus == each.sub);
    auto const count = static_cast<std::size_t>(
        std::count_if(a.to.asked.begin(), a.to.asked.end(), [](keyspan::request const& one) {
          return one.target.find("/docs/") != std::string::npos;
        }));
    if (each.code == errc::throttled) {
      CHECK(count > 1);
      CHECK(count < 10);
    } else {
      CHECK(count == each.requests);
    }
  }
  a.to.before = nullptr;
  CHECK(sync_wait(in.read_item("redmond", "r-1")));
}

TEST_CASE(
    "a range that is gone is told at once, one whose successors are yet to come is waited for") {
  account a;
  a.make("reviews");
  auto in = a.open();
  keyspan::feed changes{in};
  REQUIRE(changes.open());
  auto const range = changes.routing()->partitions()[0].range;
  a.to.instead = {door::status(410, 1002)};
  auto const gone = sync_wait(in.read(range, keyspan::from_beginning, {.partition = "0"}));
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == errc::range_gone);
  CHECK(a.clock.waits.empty());
  a.to.instead = {door::status(410, 1007), door::status(410, 1008), door::status(410, 1007)};
  CHECK(sync_wait(in.read(range, keyspan::from_beginning, {.partition = "0"})));
  CHECK(a.clock.waits.size() == 3);
}

TEST_CASE("a list of partitions that nobody can follow is not asked for at every read") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  int lists = 0;
  a.to.before =
      [&](keyspan::request const& what) -> std::optional<keyspan::result<keyspan::response>> {
    if (!what.target.ends_with("/pkranges")) return std::nullopt;
    ++lists;
    keyspan::response made;  // without an etag, as emulators have it
    made.body =
        R"({"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF","parents":[]}]})";
    return keyspan::result<keyspan::response>{made};
  };
  for (int i = 0; i < 3; ++i) {
    REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
    CHECK(a.to.last().headers.find("x-ms-session-token") == in.session_token());
  }
  CHECK(lists == 1);
}

TEST_CASE("a document may have as many members as it has room for") {
  account a;
  a.make("reviews");
  auto in = a.open<nlohmann::json>();
  nlohmann::json large{{"id", "large"}, {"article", "a"}};
  for (int i = 0; i < 20'000; ++i) large["map"]["member " + std::to_string(i)] = i;
  REQUIRE(sync_wait(in.create(large)));
  CHECK((*sync_wait(in.read_item("a", "large")).value().item)["map"] == large["map"]);
  keyspan::feed changes{in};
  CHECK(ids_in(changes) == std::set<std::string>{"large"});
}

TEST_CASE("a feed of a key that is none of the container is refused, not empty") {
  account a;
  a.make("flat", {"/tenant", "/user"}, {.scheme = keyspan::cosmos_v2});
  a.make("deep", {"/tenant", "/user"});  // a hierarchy, where nothing is said
  auto const first_of = [](auto& in, partition_key key) {
    keyspan::feed_request<keyspan::any_token> request;
    request.scope = std::move(key);
    keyspan::feed changes{in, request};
    auto const pages = changes.pages();
    auto const first = pages.begin();
    return first == pages.end() ? std::optional<errc>{} : std::optional{(*first).error().code};
  };
  auto flat = a.open<nlohmann::json>("flat");
  auto deep = a.open<nlohmann::json>("deep");
  REQUIRE(sync_wait(flat.create({{"id", "1"}, {"tenant", "t"}, {"user", "u"}})));
  CHECK(first_of(flat, partition_key{"t"}) == errc::key_mismatch);
  CHECK(first_of(flat, partition_key{"t", "u", "v"}) == errc::key_mismatch);
  CHECK(first_of(deep, partition_key{"t", "u", "v"}) == errc::key_mismatch);
  CHECK_FALSE(first_of(deep, partition_key{"t"}));  // a prefix, of which there is nothing yet
}

TEST_CASE("a key that is defined anew is taken from its new place, once") {
  account a;
  a.make("reviews");
  auto in = a.open();
  // What the service says when the definition that a client knows is old.
  std::string const rid = in.container();
  bool is_old = true;
  a.to.before =
      [&](keyspan::request const& what) -> std::optional<keyspan::result<keyspan::response>> {
    if (what.target.ends_with("/colls/reviews")) {
      is_old = false;
      keyspan::response made;
      made.body = R"({"id":"reviews","_rid":")" + rid +
                  R"(","partitionKey":{"paths":["/rating"],"kind":"Hash","version":2}})";
      return keyspan::result<keyspan::response>{made};
    }
    if (is_old) return door::status(400, 1001);
    CHECK(what.headers.find("x-ms-documentdb-partitionkey") == "[5]");
    keyspan::response made;
    made.status = 201;
    made.headers.add("etag", "\"5\"");
    return keyspan::result<keyspan::response>{made};
  };
  auto const made = sync_wait(in.create({"r-1", "redmond", 5}));
  REQUIRE(made);
  CHECK(made->item.key() == partition_key{5});
  CHECK(*made->item == review{"r-1", "redmond", 5});
}

TEST_CASE("a container that was made anew is written on, and its feed is not that of the old one") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  keyspan::feed changes{in};
  CHECK(ids_in(changes).size() == 1);
  auto const address = in.address();
  a.done(keyspan::cosmos::remove_container(address));
  a.make("reviews");
  auto const pages = changes.pages();
  auto const page = *pages.begin();
  REQUIRE_FALSE(page);
  CHECK(page.error().code == errc::container_changed);
  // Writes go to whichever has the name.
  CHECK(sync_wait(in.create({"r-2", "redmond", 1})));
}

TEST_CASE("a page without an etag, an answer that is none, and a proxy's page are told as such") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  keyspan::feed changes{in};
  REQUIRE(changes.open());
  auto const range = changes.routing()->partitions()[0].range;
  auto const answered = [&](std::string body, std::uint16_t status = 200) {
    keyspan::response made;
    made.status = status;
    made.body = std::move(body);
    a.to.before = [made](keyspan::request const&) {
      return std::optional{keyspan::result<keyspan::response>{made}};
    };
    return sync_wait(in.read(range, keyspan::from_beginning, {.partition = "0"}));
  };
  for (std::string const body :
       {R"({"Documents":[],"_count":0})", R"({"Documents":[)", "", "[]", "<html>502</html>",
        R"({"Documents":[1]})", R"({"Documents":{}})"}) {
    CAPTURE(body);
    auto const page = answered(body);
    REQUIRE_FALSE(page);
    CHECK(page.error().code == errc::bad_response);
  }
  CHECK(answered("<html>", 407).error().code == errc::unauthorized);
  a.to.before = nullptr;
  CHECK(ids_in(changes).size() == 1);
}

TEST_CASE("a status of success is none where somebody else has said it") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  for (std::string const body : {"", "<html>log in</html>", R"({"id":"r-1","artic)", "[]"}) {
    CAPTURE(body);
    keyspan::response said;
    said.body = body;
    a.to.before = [&](keyspan::request const&) {
      return std::optional{keyspan::result<keyspan::response>{said}};
    };
    CHECK(code_of(in.create({"r-2", "redmond", 2})) == errc::bad_response);
    CHECK(code_of(in.upsert({"r-1", "redmond", 2})) == errc::bad_response);
    CHECK(code_of(in.replace({"r-1", "redmond", 2})) == errc::bad_response);
    CHECK(code_of(in.remove("redmond", "r-1")) == errc::bad_response);
    CHECK(code_of(in.read_item("redmond", "r-1")) == errc::bad_response);
    // An etag is the service's own word, also where the document is left out.
    said.headers.add("etag", "\"7\"");
    if (!body.empty()) continue;
    CHECK(sync_wait(in.upsert({"r-1", "redmond", 2})).value().item.etag() == "\"7\"");
  }
  a.to.before = nullptr;
  CHECK(sync_wait(in.read_item("redmond", "r-1")).value().item->rating == 1);
}

TEST_CASE("a stop and a deadline end a page that is asked for") {
  account a;
  a.make("reviews");
  auto in = a.open();
  keyspan::feed changes{in};
  REQUIRE(changes.open());
  auto const range = changes.routing()->partitions()[0].range;
  keyspan::stop_source stop;
  stop.request_stop();
  CHECK(code_of(in.read(range, keyspan::from_beginning,
                        {.partition = "0", .stop = stop.token()})) == errc::stopped);
  CHECK(code_of(in.read(range, keyspan::from_beginning,
                        {.partition = "0", .deadline = keyspan::instant{}})) == errc::timed_out);
}

TEST_CASE("the session is one for all handles, and coroutines outlive the handle") {
  account a;
  a.make("reviews");
  std::optional<reviews_container> in{a.open()};
  auto const copy = *in;
  auto writing = in->create({"r-1", "redmond", 1});
  in.reset();
  REQUIRE(sync_wait(std::move(writing)));
  CHECK_FALSE(copy.session_token().empty());
}

TEST_CASE("a container of the service keeps what a page source promises") {
  account a{3};
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 60; ++i)
    REQUIRE(sync_wait(in.create({std::to_string(i), "a-" + std::to_string(i % 9), i})));
  auto const by_article = [](keyspan::change<review> const& one) { return one.item.key(); };
  auto const by_id = [](keyspan::change<review> const& one) {
    return std::string{one.item.id().string()};
  };
  auto const found =
      keyspan::law::check_page_source(in, by_article, by_id, {}, [&] { a.control("split/1"); });
  CHECK(found.to_text().view() == "the law holds");
}

}  // namespace
