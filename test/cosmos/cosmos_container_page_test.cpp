// test/cosmos/cosmos_container_page_test.cpp — what pages, batches, patches and many reads tell, to
// the last member.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/item_id.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/stored.hpp>

#include <async/held.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

struct only_named {
  std::string id, article;
};
struct noted {
  std::string id, article;
  std::optional<std::string> note{};
};
struct measured {
  std::string id, article;
  float size = 0;
  std::int64_t count = 0;
};

}  // namespace test

BOOST_HANA_ADAPT_STRUCT(test::only_named, id, article);
BOOST_HANA_ADAPT_STRUCT(test::noted, id, article, note);
BOOST_HANA_ADAPT_STRUCT(test::measured, id, article, size, count);

namespace {

using keyspan::change_kind;
using keyspan::continuation;
using keyspan::errc;
using keyspan::feed_mode;
using keyspan::from_beginning;
using keyspan::item_batch;
using keyspan::item_id;
using keyspan::partition_key;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::sync_wait;
using test::account;
using test::door;
using test::review;

using instead_of_an_answer = std::optional<result<response>>;

template <class Task>
errc code_of(Task&& work) {
  auto const answer = sync_wait(std::forward<Task>(work));
  REQUIRE_FALSE(answer);
  return answer.error().code;
}

std::size_t sent(account const& a, std::string_view method, std::string_view part = "/docs") {
  return static_cast<std::size_t>(
      std::count_if(a.to.asked.begin(), a.to.asked.end(), [&](request const& one) {
        return one.method == method && one.target.find(part) != one.target.npos;
      }));
}

response page_of(std::string documents) {
  response made;
  made.headers.add("etag", "\"7\"");
  made.body = R"({"_rid":"x","Documents":[)" + std::move(documents) + R"(],"_count":1})";
  return made;
}

// All versions of a partition, as this answer tells them.
template <class T>
auto versions(std::string documents) {
  account a;
  a.make("reviews");
  auto in = a.open<T>();
  a.to.instead.push_back(result<response>{page_of(std::move(documents))});
  return sync_wait(in.read(keyspan::whole_space(in.scheme()), continuation{"\"1\""},
                           {.partition = "0", .mode = feed_mode::all_versions_and_deletes}));
}

TEST_CASE("a page has all that its answer says") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto answer = page_of(
      R"({"id":"r-1","article":"redmond","rating":5,"_etag":"\"e\"","_lsn":41,"_ts":1700000000},)"
      R"({"id":"r-2","article":"seattle","rating":6,"_etag":"\"f\"","_lsn":42,"_ts":1700000001})");
  answer.headers.add("x-ms-session-token", "0:1#99");
  answer.headers.add("lsn", "77");
  answer.headers.add("x-ms-request-charge", "2.5");
  answer.headers.add("x-ms-activity-id", "0b7e5c1a-0000-4000-8000-000000000001");
  answer.endpoint = "127.0.0.1:1";
  auto const whole = keyspan::whole_space(in.scheme());
  a.to.instead = {door::status(503), result<response>{answer}};
  auto const page = sync_wait(in.read(whole, continuation{"\"3\""}, {.partition = "0"})).value();
  CHECK(page.continuation == "\"7\"");
  CHECK_FALSE(page.nothing_new);
  CHECK(page.attempts == 2);
  CHECK(page.charge == 2.5);
  CHECK(page.lsn == 77);
  CHECK(page.activity_id == "0b7e5c1a-0000-4000-8000-000000000001");
  CHECK(page.endpoint == "127.0.0.1:1");
  CHECK(page.session_token == "0:1#99");
  REQUIRE(page.items.size() == 2);
  auto const& one = page.items[1];
  CHECK(one.kind == change_kind::replaced);
  CHECK(one.lsn == 42);
  CHECK(one.at.time_since_epoch() == std::chrono::seconds{1'700'000'001});
  CHECK(*one == review{"r-2", "seattle", 6});
  CHECK_FALSE(one.before);
  CHECK(one.item.key() == partition_key{"seattle"});
  CHECK(one.item.id() == keyspan::key_value{"r-2"});
  CHECK(one.item.etag() == "\"f\"");
  CHECK(one.item.lsn() == 42);
  CHECK(one.item.modified_at().time_since_epoch() == std::chrono::seconds{1'700'000'001});

  response none;
  none.status = 304;
  none.headers.add("etag", "\"8\"");
  a.to.instead = {result<response>{none}};
  auto const last = sync_wait(in.read(whole, continuation{"\"7\""}, {.partition = "0"})).value();
  CHECK(last.nothing_new);
  CHECK(last.items.empty());
  CHECK(last.continuation == "\"8\"");
}

TEST_CASE("all versions: what was created, replaced, and what is new to this program") {
  std::string const now =
      R"("current":{"id":"r-1","article":"a","rating":2,"_etag":"\"2\"","_ts":9},)";
  std::string const before =
      R"("previous":{"id":"r-1","article":"a","rating":1,"_etag":"\"1\"","_ts":8},)";
  auto const told = [&](std::string const& parts, std::string const& word) {
    auto page = versions<review>("{" + parts + R"("metadata":{"operationType":")" + word +
                                 R"(","lsn":5,"crts":1700000000}})");
    REQUIRE(page);
    REQUIRE(page->items.size() == 1);
    return page->items[0];
  };
  auto const created = told(now, "create");
  CHECK(created.kind == change_kind::created);
  CHECK_FALSE(created.before);
  CHECK(created->rating == 2);
  CHECK(created.lsn == 5);
  CHECK(created.at.time_since_epoch() == std::chrono::seconds{1'700'000'000});
  auto const replaced = told(now + before, "replace");
  CHECK(replaced.kind == change_kind::replaced);
  CHECK(replaced.before->rating == 1);
  // A word of later is a change of what is there.
  auto const unknown = told(now + before, "reorganise");
  CHECK(unknown.kind == change_kind::replaced);
  CHECK(unknown.before->rating == 1);
  CHECK(unknown->rating == 2);
}

TEST_CASE("all versions: what is gone is what it was last, and was nothing before") {
  std::string const before =
      R"("previous":{"id":"r-1","article":"a","rating":1,"_etag":"\"1\"","_ts":8},)";
  for (bool const is_expired : {false, true}) {
    CAPTURE(is_expired);
    std::string const metadata =
        std::string{R"("metadata":{"operationType":"delete","lsn":6,"crts":1700000000,)"
                    R"("timeToLiveExpired":)"} +
        (is_expired ? "true" : "false") + R"(,"id":"r-1","partitionKey":["a"]}})";
    auto const kind = is_expired ? change_kind::expired : change_kind::removed;
    for (std::string const current : {R"("current":{},)", R"("current":null,)", ""}) {
      auto const page = versions<review>("{" + current + before + metadata);
      REQUIRE(page);
      auto const& one = page->items.at(0);
      CHECK(one.kind == kind);
      CHECK(one->rating == 1);
      CHECK_FALSE(one.before);
      CHECK(one.lsn == 6);
    }
    // Nothing is known any more but what it is called; no review has an id and a key alone.
    auto const nothing = versions<review>("{" + metadata);
    REQUIRE(nothing);
    CHECK(nothing->items.at(0).kind == kind);
    CHECK_FALSE(nothing->items.at(0).item);
    CHECK_FALSE(nothing->items.at(0).before);
    auto const left = versions<test::only_named>("{" + metadata);
    REQUIRE(left);
    auto const& one = left->items.at(0);
    CHECK(one.kind == kind);
    REQUIRE(one.item);
    CHECK(one->id == "r-1");
    CHECK(one->article == "a");
    CHECK(one.item.key() == partition_key{"a"});
    CHECK(one.item.id() == keyspan::key_value{"r-1"});
    CHECK(one.item.lsn() == 6);
    CHECK_FALSE(one.before);
  }
}

TEST_CASE("a document without a key in a container whose keys the service has put") {
  account a;
  auto const told = [&](std::string body, std::uint16_t status = 200) {
    response made;
    made.status = status;
    made.headers.add("etag", "\"1\"");
    made.body = std::move(body);
    a.to.instead = {result<response>{made}};
  };
  told(R"({"id":"old","_rid":"x","partitionKey":{"paths":["/_partitionKey"],"kind":"Hash",)"
       R"("version":2,"systemKey":true}})");
  auto in = a.open<nlohmann::json>("old");
  CHECK(in.properties().is_system_key);
  std::string_view const key = "x-ms-documentdb-partitionkey";
  told(R"({"id":"d","_etag":"\"1\""})", 201);
  auto const made = sync_wait(in.create({{"id", "d"}}));
  REQUIRE(made);
  CHECK(a.to.last().headers.find(key) == "[]");
  CHECK(made->item.key() == partition_key{});
  told(R"({"id":"d","_etag":"\"1\""})");
  REQUIRE(sync_wait(in.read_item(partition_key{}, "d")));
  CHECK(a.to.last().headers.find(key) == "[]");
  // One that has its key is under that.
  told(R"({"id":"d","_partitionKey":"k","_etag":"\"1\""})", 201);
  REQUIRE(sync_wait(in.create({{"id", "d"}, {"_partitionKey", "k"}})));
  CHECK(a.to.last().headers.find(key) == R"(["k"])");
}

// ---- many reads --------------------------------------------------------------------------------

// A door that keeps what it is asked until it is told to go on.
struct waiting_room {
  struct visit {
    waiting_room* room;
    std::optional<request> what;

    bool await_ready() const noexcept { return room->is_open; }
    void await_suspend(std::coroutine_handle<> who) {
      room->waiting.push_back(who);
      room->most = (std::max)(room->most, room->waiting.size());
    }
    result<response> await_resume() { return room->to->send(*what).await_resume(); }
  };
  visit send(request const& what) { return {this, what}; }
  // Answers who waits, the first one first, until nobody does.
  void serve() {
    while (!waiting.empty()) {
      auto const next = waiting.front();
      waiting.pop_front();
      next.resume();
    }
  }

  door* to;
  bool is_open = true;
  std::deque<std::coroutine_handle<>> waiting{};
  std::size_t most = 0;
};
using account_behind_a_room = keyspan::cosmos::cosmos_account<waiting_room, test::jumping_clock>;
using patient_reviews = keyspan::cosmos::cosmos_container<review>;
using many = std::optional<result<keyspan::items_answer<review>>>;

test::held read_all(patient_reviews& in, std::vector<item_id> const& ids, many& answer) {
  auto reading = in.read_many(ids);
  answer = co_await std::move(reading);
}

std::vector<item_id> fifty(account& a) {
  auto in = a.open();
  std::vector<item_id> ids;
  for (int i = 0; i < 50; ++i) {
    std::string const name = std::to_string(i);
    REQUIRE(sync_wait(in.create({"r-" + name, "a-" + name, i})));
    ids.push_back({partition_key{"a-" + name}, "r-" + name});
  }
  return ids;
}

TEST_CASE("many documents are read so many at a time, and who owns what is asked once") {
  account a{4};
  a.make("reviews");
  auto const ids = fifty(a);
  waiting_room room{&a.to};
  account_behind_a_room account{room, a.clock,
                                *keyspan::cosmos::master_key::from(test::account_key)};
  for (std::uint16_t const most : {std::uint16_t{1}, std::uint16_t{3}, std::uint16_t{16}}) {
    CAPTURE(most);
    room.is_open = true;
    auto in = sync_wait(account.open<review>("shop", "reviews", {.reads_at_once = most})).value();
    REQUIRE(sync_wait(in.upsert({"r-0", "a-0", 0})));  // a session, which wants to know who owns it
    room.is_open = false;
    room.most = 0;
    a.to.asked.clear();
    many answer;
    auto const reading = read_all(in, ids, answer);
    room.serve();
    REQUIRE(reading.is_done());
    REQUIRE(*answer);
    for (std::size_t i = 0; i < 50; ++i)
      CHECK((*answer)->items.at(i)->rating == static_cast<int>(i));
    CHECK(room.most == most);
    CHECK(sent(a, "GET", "/docs/") == 50);
    CHECK(sent(a, "GET", "/pkranges") == 2);  // a page, and that this is all
    CHECK(sent(a, "GET") == 50);
  }
  // Sixteen where nobody says.
  room.is_open = true;
  auto in = sync_wait(account.open<review>("shop", "reviews")).value();
  room.is_open = false;
  room.most = 0;
  many answer;
  auto const reading = read_all(in, ids, answer);
  room.serve();
  REQUIRE(reading.is_done());
  CHECK(room.most == 16);
}

TEST_CASE("the first item that fails ends the reading of many, and says what all have cost") {
  account a;
  a.make("reviews");
  auto const ids = fifty(a);
  waiting_room room{&a.to};
  account_behind_a_room account{room, a.clock,
                                *keyspan::cosmos::master_key::from(test::account_key)};
  auto in = sync_wait(account.open<review>("shop", "reviews", {.reads_at_once = 5})).value();
  double charged = 0;
  a.to.before = [&](request const& what) -> instead_of_an_answer {
    response said;
    bool const is_first = what.target.ends_with("/docs/r-7");
    bool const is_next = what.target.ends_with("/docs/r-8") || what.target.ends_with("/docs/r-9");
    if (is_first || is_next) {
      said.status = is_first ? 403 : 401;
      said.headers.add("x-ms-request-charge", is_first ? "3.5" : "1.25");
      said.body = R"({"code":"Odd","message":"not today"})";
      charged += is_first ? 3.5 : 1.25;
      return result<response>{said};
    }
    said = a.to.service.answer(what);
    if (what.target.find("/docs/") != what.target.npos)
      charged += std::stod(std::string{said.headers.find("x-ms-request-charge").value()});
    return result<response>{said};
  };
  room.is_open = false;
  a.to.asked.clear();
  many answer;
  auto const reading = read_all(in, ids, answer);
  room.serve();
  REQUIRE(reading.is_done());
  REQUIRE_FALSE(*answer);
  auto const& why = answer->error();
  CHECK(why.code == errc::forbidden);  // not the one of item 8, which came later
  CHECK(why.text == "item 7: Odd: not today");
  CHECK(why.wire.status == 403);
  CHECK(why.wire.charge == charged);
  CHECK(charged > 3.5 + 1.25);
  CHECK(sent(a, "GET", "/docs/") >= 8);
  CHECK(sent(a, "GET", "/docs/") <= 7 + 5);
}

TEST_CASE("what is not there costs what it costs") {
  account a;
  a.make("reviews");
  auto in = a.open();
  a.to.before = [&](request const&) -> instead_of_an_answer {
    response said;
    said.status = 404;
    said.headers.add("x-ms-request-charge", "2");
    return result<response>{said};
  };
  std::vector<item_id> const ids{{partition_key{"a"}, "1"}, {partition_key{"b"}, "2"}};
  auto const read = sync_wait(in.read_many(ids)).value();
  CHECK(read.charge == 4);
  CHECK_FALSE(read.items.at(0));
  CHECK_FALSE(read.items.at(1));
}

// ---- batches -----------------------------------------------------------------------------------

TEST_CASE("each operation of a batch says what it cost, and what it has shown") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  response said;
  said.headers.add("x-ms-session-token", "0:1#55");
  said.headers.add("x-ms-request-charge", "12.5");
  said.headers.add("x-ms-documentdb-partitionkeyrangeid", "0");
  said.body = R"([{"statusCode":201,"requestCharge":7.25,"eTag":"\"e\"","resourceBody":)"
              R"({"id":"r-2","article":"redmond","rating":2,"_etag":"\"e\"","_ts":1700000000}},)"
              R"({"statusCode":204,"requestCharge":5.25}])";
  a.to.instead = {door::status(503), result<response>{said}};
  item_batch<review> work{"redmond"};
  work.create({"r-2", "redmond", 2}).remove("r-1");
  auto const done = sync_wait(in.execute(work)).value();
  REQUIRE(done.is_done());
  CHECK(done.charge == 12.5);
  CHECK(done.operations[0]->status == 201);
  CHECK(done.operations[0]->charge == 7.25);
  CHECK(done.operations[0]->item.etag() == "\"e\"");
  CHECK(done.operations[0]->item.key() == partition_key{"redmond"});
  CHECK(done.operations[0]->item.modified_at().time_since_epoch() ==
        std::chrono::seconds{1'700'000'000});
  CHECK(done.operations[1]->status == 204);
  CHECK(done.operations[1]->charge == 5.25);
  CHECK_FALSE(done.operations[1]->item);
  for (auto const& one : done.operations) {
    CHECK(one->session_token == "0:1#55");
    CHECK(one->partition == "0");
    CHECK(one->attempts == 2);
  }
}

TEST_CASE("a patch and a batch that are always overtaken give up") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  a.to.before = [](request const& what) -> instead_of_an_answer {
    if (what.method == "PUT") return door::status(412);
    if (!what.headers.find("x-ms-cosmos-is-batch-request")) return std::nullopt;
    response said;
    said.status = 207;
    said.body = R"([{"statusCode":412,"requestCharge":1}])";
    return result<response>{said};
  };
  a.to.asked.clear();
  CHECK(code_of(in.patch("redmond", "r-1", [](review& one) { ++one.rating; })) ==
        errc::precondition_failed);
  CHECK(sent(a, "PUT") == 65);
  CHECK(sent(a, "GET", "/docs/") == 65);

  item_batch<review> work{"redmond"};
  work.patch("r-1", [](review& one) { ++one.rating; });
  a.to.asked.clear();
  auto const refused = sync_wait(in.execute(work)).value();
  REQUIRE_FALSE(refused.is_done());
  CHECK(refused.operations[0].error().code == errc::precondition_failed);
  CHECK(sent(a, "POST") == 65);
  CHECK(sent(a, "GET", "/docs/") == 65);
}

TEST_CASE("a patch of one version is not made of another one") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto const first = sync_wait(in.create({"r-1", "redmond", 1})).value().item.etag();
  REQUIRE(sync_wait(in.replace({"r-1", "redmond", 2})));
  item_batch<review> work{"redmond"};
  work.patch("r-1", [](review& one) { one.rating = 50; }, {.if_match = first});
  a.to.asked.clear();
  auto const refused = sync_wait(in.execute(work)).value();
  REQUIRE_FALSE(refused.is_done());
  CHECK(refused.operations[0].error().code == errc::precondition_failed);
  CHECK(sent(a, "POST") <= 1);
  CHECK(sync_wait(in.read_item("redmond", "r-1")).value().item->rating == 2);
}

TEST_CASE("a batch patches what it has written itself, not what it has taken away") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto const plus_one = [](review& one) { ++one.rating; };
  item_batch<review> gone{"redmond"};
  gone.upsert({"r-1", "redmond", 5}).remove("r-1").patch("r-1", plus_one);
  a.to.asked.clear();
  auto const refused = sync_wait(in.execute(gone)).value();
  REQUIRE_FALSE(refused.is_done());
  CHECK(refused.operations[0].error().code == errc::not_attempted);
  CHECK(refused.operations[1].error().code == errc::not_attempted);
  CHECK(refused.operations[2].error().code == errc::not_found);
  CHECK(sent(a, "POST") == 0);  // what is in vain is not sent
  CHECK(code_of(in.read_item("redmond", "r-1")) == errc::not_found);

  item_batch<review> anew{"redmond"};
  anew.upsert({"r-1", "redmond", 5}).remove("r-1").create({"r-1", "redmond", 7});
  anew.patch("r-1", plus_one).patch("r-1", plus_one);
  a.to.asked.clear();
  auto const done = sync_wait(in.execute(anew)).value();
  REQUIRE(done.is_done());
  CHECK(sent(a, "GET", "/docs/") == 0);
  CHECK(sync_wait(in.read_item("redmond", "r-1")).value().item->rating == 9);
}

TEST_CASE("a patch within a batch changes neither id nor key") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  for (bool const is_id : {true, false}) {
    item_batch<review> work{"redmond"};
    work.upsert({"r-3", "redmond", 3}).patch("r-1", [is_id](review& one) {
      (is_id ? one.id : one.article) = "other";
    });
    a.to.asked.clear();
    auto const refused = sync_wait(in.execute(work)).value();
    CHECK(refused.operations[0].error().code == errc::not_attempted);
    REQUIRE_FALSE(refused.operations[1]);
    CHECK(refused.operations[1].error().code == errc::key_mismatch);
    CHECK(sent(a, "POST") == 0);
  }
  CHECK(code_of(in.patch("redmond", "r-1", [](review& one) { one.id = "other"; })) ==
        errc::key_mismatch);
}

TEST_CASE("a batch that was done is told as done, also where it has read what is no such thing") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto raw = a.open<nlohmann::json>();
  REQUIRE(sync_wait(raw.create({{"id", "odd"}, {"article", "redmond"}, {"rating", "five"}})));
  item_batch<review> work{"redmond"};
  work.create({"r-9", "redmond", 9}).read("odd");
  auto const done = sync_wait(in.execute(work)).value();
  REQUIRE(done.is_done());
  CHECK(done.operations[0]->item->rating == 9);
  CHECK(done.operations[1]->status == 200);
  CHECK_FALSE(done.operations[1]->item);
  CHECK(sync_wait(in.read_item("redmond", "r-9")));
}

// ---- patches -----------------------------------------------------------------------------------

TEST_CASE("a patch leaves alone what the type does not know, and takes away what it empties") {
  account a;
  a.make("reviews");
  auto raw = a.open<nlohmann::json>();
  auto in = a.open<test::noted>();
  auto const there = [&] { return *sync_wait(raw.read_item("redmond", "r-1")).value().item; };
  REQUIRE(sync_wait(raw.create({{"id", "r-1"},
                                {"article", "redmond"},
                                {"author", {{"name", "anna"}, {"since", 1999}}},
                                {"note", "old"},
                                {"tags", {1, 2}}})));
  REQUIRE(sync_wait(in.patch("redmond", "r-1", [](test::noted& one) { one.note = "new"; })));
  CHECK(there()["note"] == "new");
  CHECK(there()["author"]["since"] == 1999);
  CHECK(there()["tags"] == nlohmann::json{1, 2});
  REQUIRE(sync_wait(in.patch("redmond", "r-1", [](test::noted& one) { one.note.reset(); })));
  CHECK_FALSE(there().contains("note"));
  CHECK(there()["author"]["name"] == "anna");

  item_batch<test::noted> work{"redmond"};
  work.patch("r-1", [](test::noted& one) { one.note = "again"; });
  REQUIRE(sync_wait(in.execute(work)).value().is_done());
  CHECK(there()["note"] == "again");
  CHECK(there()["author"]["name"] == "anna");
  // Who replaces says all of it.
  REQUIRE(sync_wait(in.replace({"r-1", "redmond", "all"})));
  CHECK_FALSE(there().contains("author"));
}

// ---- what is not sent, and what cannot be held -------------------------------------------------

TEST_CASE("an id that stands for a folder is none") {
  account a;
  a.make("reviews");
  auto in = a.open();
  a.to.asked.clear();
  for (std::string const id : {".", ".."}) {
    CAPTURE(id);
    CHECK(code_of(in.create({id, "redmond", 1})) == errc::not_representable);
    CHECK(code_of(in.upsert({id, "redmond", 1})) == errc::not_representable);
    CHECK(code_of(in.replace({id, "redmond", 1})) == errc::not_representable);
    CHECK(code_of(in.read_item("redmond", id)) == errc::not_representable);
    CHECK(code_of(in.remove("redmond", id)) == errc::not_representable);
    item_batch<review> work{"redmond"};
    work.remove(id);
    CHECK(sync_wait(in.execute(work)).value().operations[0].error().code ==
          errc::not_representable);
    CHECK(code_of(in.read_many(std::vector<item_id>{{partition_key{"redmond"}, id}})) ==
          errc::not_representable);
  }
  CHECK(a.to.asked.empty());
  for (std::string const id : {"...", ".a", "a."}) {
    CHECK(sync_wait(in.create({id, "redmond", 1})));
    CHECK(sync_wait(in.read_item("redmond", id)));
  }
}

TEST_CASE("a key that does not fit is found out here, and nobody is asked about it") {
  account a;
  a.make("deep", {"/tenant", "/user"});
  auto in = a.open<nlohmann::json>("deep");
  a.to.asked.clear();
  CHECK(code_of(in.read_item("t", "d")) == errc::key_mismatch);
  CHECK(code_of(in.remove("t", "d")) == errc::key_mismatch);
  CHECK(code_of(in.patch("t", "d", [](nlohmann::json&) {})) == errc::key_mismatch);
  item_batch<nlohmann::json> work{"t"};
  work.remove("d");
  CHECK(code_of(in.execute(work)) == errc::key_mismatch);
  CHECK(a.to.asked.empty());
  // Also not where the transport itself has said so: no service has.
  a.to.before = [](request const&) -> instead_of_an_answer {
    return result<response>{keyspan::fail(errc::key_mismatch, "says the transport")};
  };
  CHECK(code_of(in.read_item(partition_key{"t", "u"}, "d")) == errc::key_mismatch);
  CHECK(a.to.asked.size() == 1);
}

TEST_CASE("a number that a member cannot hold is an error that names the member") {
  account a;
  a.make("reviews");
  auto raw = a.open<nlohmann::json>();
  auto whole = a.open();
  auto real = a.open<test::measured>();
  auto const refused = [](auto work) {
    auto const answer = sync_wait(std::move(work));
    REQUIRE_FALSE(answer);
    return std::pair{answer.error().code, std::string{answer.error().text.view()}};
  };
  for (double const number : {1e300, -1e300, 0x1p63, 0x1p54, 1e19}) {
    CAPTURE(number);
    REQUIRE(sync_wait(raw.upsert(
        {{"id", "r"}, {"article", "a"}, {"rating", number}, {"size", number}, {"count", 1}})));
    auto const [code, text] = refused(whole.read_item("a", "r"));
    CHECK(code == errc::not_representable);
    CHECK(text.find("member \"rating\": ") != text.npos);
    auto const read = sync_wait(real.read_item("a", "r"));
    bool const fits = number <= static_cast<double>((std::numeric_limits<float>::max)()) &&
                      number >= static_cast<double>(std::numeric_limits<float>::lowest());
    REQUIRE(read.has_value() == fits);
    if (read) continue;
    CHECK(read.error().code == errc::not_representable);
    CHECK(read.error().text.view().find("member \"size\": ") != std::string_view::npos);
  }
  for (double const number : {1e300, -1e300, 1e19, 0x1p54}) {
    CAPTURE(number);
    REQUIRE(sync_wait(raw.upsert({{"id", "r"}, {"article", "a"}, {"size", 1}, {"count", number}})));
    auto const [code, text] = refused(real.read_item("a", "r"));
    CHECK(code == errc::not_representable);
    CHECK(text.find("member \"count\": ") != text.npos);
  }
  struct row {
    double number;
    bool is_whole;
  };
  for (row const& each : {row{5.0, true}, row{-7.0, true}, row{5.5, false}}) {
    REQUIRE(sync_wait(raw.upsert({{"id", "r"}, {"article", "a"}, {"rating", each.number}})));
    CHECK(sync_wait(whole.read_item("a", "r")).has_value() == each.is_whole);
  }
}

TEST_CASE("a member that stands twice in a document is named") {
  auto const read = keyspan::cosmos::json_from(R"({"id":"d","rating":1,"rating":2})");
  REQUIRE_FALSE(read);
  CHECK(read.error().code == errc::malformed);
  CHECK(read.error().text.view().find("rating") != std::string_view::npos);
}

}  // namespace
