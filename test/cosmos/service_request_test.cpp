// test/cosmos/service_request_test.cpp — each question as it goes over the wire, header by header.
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/message.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::continuation;
using keyspan::feed_mode;
using keyspan::partition_key;
using keyspan::request_kind;
using keyspan::cosmos::container_address;
using keyspan::cosmos::resource;
using keyspan::cosmos::service_request;
using test::check;
using namespace std::chrono_literals;
namespace cosmos = keyspan::cosmos;
using headers = std::map<std::string, std::string>;

container_address const reviews = container_address::from("shop", "reviews").value();
partition_key const redmond{"redmond"};

// Those that go with every request are looked at here, and left out.
headers own_headers(service_request const& asked) {
  headers all;
  for (auto const& [name, value] : asked.message.headers) CHECK(all.emplace(name, value).second);
  CHECK(all["accept"] == "application/json");
  CHECK(all["x-ms-version"] == "2020-07-15");
  CHECK(all["x-ms-cosmos-sdk-supportedcapabilities"] == "1");
  for (char const* const name : {"accept", "x-ms-version", "x-ms-cosmos-sdk-supportedcapabilities"})
    all.erase(name);
  return all;
}
void is_about(service_request const& asked, std::string_view method, std::string_view target,
              resource about, std::string_view link, request_kind kind) {
  CHECK(asked.message.method == method);
  CHECK(asked.message.target == target);
  CHECK(asked.about == about);
  CHECK(asked.link == link);
  CHECK(asked.message.kind == kind);
}
constexpr std::string_view docs = "/dbs/shop/colls/reviews/docs";
constexpr std::string_view one_doc = "/dbs/shop/colls/reviews/docs/r%201";
constexpr std::string_view in = "dbs/shop/colls/reviews";
constexpr std::string_view one = "dbs/shop/colls/reviews/docs/r 1";

TEST_CASE("a document is written under its key, and what may be repeated says so") {
  auto asked = cosmos::create_document(reviews, redmond, "{}", {.session_token = "0:1#2"});
  is_about(asked, "POST", docs, resource::document, in, request_kind::write);
  CHECK(asked.message.body == "{}");
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkey", "[\"redmond\"]"},
                                      {"x-ms-session-token", "0:1#2"},
                                      {"content-type", "application/json"}});

  asked = cosmos::upsert_document(reviews, redmond, "{}");
  is_about(asked, "POST", docs, resource::document, in, request_kind::repeatable_write);
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkey", "[\"redmond\"]"},
                                      {"x-ms-documentdb-is-upsert", "True"},
                                      {"content-type", "application/json"}});

  asked = cosmos::replace_document(reviews, redmond, "r 1", "{}", {.if_match = "\"7\""});
  is_about(asked, "PUT", one_doc, resource::document, one, request_kind::write);
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkey", "[\"redmond\"]"},
                                      {"if-match", "\"7\""},
                                      {"content-type", "application/json"}});
  CHECK(cosmos::replace_document(reviews, redmond, "r 1", "{}").message.kind ==
        request_kind::repeatable_write);

  asked = cosmos::remove_document(reviews, redmond, "r 1", {.if_match = "\"7\""});
  is_about(asked, "DELETE", one_doc, resource::document, one, request_kind::write);
  CHECK(own_headers(asked) ==
        headers{{"x-ms-documentdb-partitionkey", "[\"redmond\"]"}, {"if-match", "\"7\""}});
}

TEST_CASE("a document is read, or only where it has changed") {
  auto asked = cosmos::read_document(reviews, redmond, "r 1");
  is_about(asked, "GET", one_doc, resource::document, one, request_kind::read);
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkey", "[\"redmond\"]"}});
  asked = cosmos::read_document(reviews, redmond, "r 1",
                                {.session_token = "0:5", .if_none_match = "\"7\""});
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkey", "[\"redmond\"]"},
                                      {"x-ms-session-token", "0:5"},
                                      {"if-none-match", "\"7\""}});
}

TEST_CASE("keys are ASCII in a header, whatever they are") {
  auto const told = [](partition_key const& key) {
    return own_headers(cosmos::read_document(reviews, key, "r 1"))["x-ms-documentdb-partitionkey"];
  };
  CHECK(told({"\u00e9", 1.5, true}) == R"(["\u00E9",1.5,true])");
  CHECK(told({keyspan::null, keyspan::undefined}) == "[null,{}]");
  CHECK(told({}) == "[]");
}

TEST_CASE("a batch is atomic and in order") {
  auto const asked = cosmos::execute_batch(reviews, redmond, "[]");
  is_about(asked, "POST", docs, resource::document, in, request_kind::write);
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkey", "[\"redmond\"]"},
                                      {"x-ms-cosmos-is-batch-request", "True"},
                                      {"x-ms-cosmos-batch-atomic", "True"},
                                      {"x-ms-cosmos-batch-ordered", "True"},
                                      {"content-type", "application/json"}});
}

TEST_CASE("a query goes to one key, or to one partition after another") {
  auto asked = cosmos::query_documents(reviews, {.key = &redmond}, "{\"query\":\"q\"}",
                                       {.most = 10, .continuation = "abc"});
  is_about(asked, "POST", docs, resource::document, in, request_kind::read);
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-isquery", "True"},
                                      {"x-ms-documentdb-partitionkey", "[\"redmond\"]"},
                                      {"x-ms-max-item-count", "10"},
                                      {"x-ms-continuation", "abc"},
                                      {"content-type", "application/query+json"}});
  asked = cosmos::query_documents(reviews, {.partition = "3"}, "{}");
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-isquery", "True"},
                                      {"x-ms-documentdb-query-enablecrosspartition", "True"},
                                      {"x-ms-documentdb-partitionkeyrangeid", "3"},
                                      {"x-ms-max-item-count", "-1"},
                                      {"content-type", "application/query+json"}});
}

TEST_CASE("a page of all documents is of a key, of a partition, or of a part of one") {
  auto asked = cosmos::read_documents(reviews, {.partition = "3"}, {.session_token = "3:1#5"});
  is_about(asked, "GET", docs, resource::document, in, request_kind::read);
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkeyrangeid", "3"},
                                      {"x-ms-max-item-count", "-1"},
                                      {"x-ms-session-token", "3:1#5"}});
  asked =
      cosmos::read_documents(reviews, {.partition = "3", .part = cosmos::epk_range{"05C1", "0F"}});
  CHECK(own_headers(asked) == headers{{"x-ms-documentdb-partitionkeyrangeid", "3"},
                                      {"x-ms-read-key-type", "EffectivePartitionKeyRange"},
                                      {"x-ms-start-epk", "05C1"},
                                      {"x-ms-end-epk", "0F"},
                                      {"x-ms-max-item-count", "-1"}});
  CHECK(test::promise_broken_by([] {
          return cosmos::read_documents(reviews,
                                        {.key = &redmond, .part = cosmos::epk_range{"", "FF"}});
        }) == "a key lies in one place, and is no part of a range");
}

TEST_CASE("changes are read from each start, and from where one was") {
  cosmos::page_target const at{.partition = "3"};
  auto const latest = feed_mode::latest_version;
  auto const told = [&](continuation const& behind, feed_mode mode) {
    auto const asked = cosmos::read_changes(reviews, at, behind, mode);
    is_about(asked, "GET", docs, resource::document, in, request_kind::read);
    auto own = own_headers(asked);
    CHECK(own.erase("x-ms-documentdb-partitionkeyrangeid") == 1);
    CHECK(own["x-ms-max-item-count"] == "-1");
    own.erase("x-ms-max-item-count");
    return own;
  };
  CHECK(told(keyspan::from_beginning, latest) == headers{{"a-im", "Incremental Feed"}});
  CHECK(told(keyspan::from_now, latest) ==
        headers{{"a-im", "Incremental Feed"}, {"if-none-match", "*"}});
  CHECK(told(continuation{"\"12\""}, latest) ==
        headers{{"a-im", "Incremental Feed"}, {"if-none-match", "\"12\""}});
  keyspan::from_time const moment{keyspan::wall_time{std::chrono::hours{24}}};
  CHECK(told(moment, latest) == headers{{"a-im", "Incremental Feed"},
                                        {"if-modified-since", "Fri, 02 Jan 1970 00:00:00 GMT"}});
  CHECK(told(continuation{moment, "\"12\""}, latest) ==
        headers{{"a-im", "Incremental Feed"},
                {"if-modified-since", "Fri, 02 Jan 1970 00:00:00 GMT"},
                {"if-none-match", "\"12\""}});
}

TEST_CASE("all versions are told from now on, or from where one was") {
  cosmos::page_target const at{.partition = "3"};
  auto const all = feed_mode::all_versions_and_deletes;
  auto const own = own_headers(cosmos::read_changes(reviews, at, keyspan::from_now, all));
  CHECK(own == headers{{"a-im", "Full-Fidelity Feed"},
                       {"x-ms-cosmos-changefeed-wire-format-version", "2021-09-15"},
                       {"if-none-match", "*"},
                       {"x-ms-documentdb-partitionkeyrangeid", "3"},
                       {"x-ms-max-item-count", "-1"}});
  CHECK(own_headers(cosmos::read_changes(reviews, at, continuation{"\"9\""},
                                         all))["if-none-match"] == "\"9\"");
  for (continuation const& start :
       {continuation{keyspan::from_beginning}, continuation{keyspan::from_time{}}})
    CHECK(test::promise_broken_by([&] { return cosmos::read_changes(reviews, at, start, all); }) ==
          "all versions are told from now on, or from where one was");
}

TEST_CASE("the account, a container and its partitions are asked for") {
  auto asked = cosmos::read_account();
  is_about(asked, "GET", "/", resource::account, "", request_kind::read);
  CHECK(own_headers(asked).empty());
  asked = cosmos::read_container(reviews);
  is_about(asked, "GET", "/dbs/shop/colls/reviews", resource::container, in, request_kind::read);
  CHECK(own_headers(asked).empty());
  asked = cosmos::read_partitions(reviews);
  is_about(asked, "GET", "/dbs/shop/colls/reviews/pkranges", resource::partition_range, in,
           request_kind::read);
  CHECK(own_headers(asked) == headers{{"a-im", "Incremental Feed"}, {"x-ms-max-item-count", "-1"}});
  CHECK(own_headers(cosmos::read_partitions(reviews, "\"5\""))["if-none-match"] == "\"5\"");
}

TEST_CASE("databases and containers are made and taken away") {
  auto asked = cosmos::create_database("a \"b\"");
  is_about(asked, "POST", "/dbs", resource::database, "", request_kind::write);
  CHECK(asked.message.body == R"({"id":"a \"b\""})");
  CHECK(own_headers(asked) == headers{{"content-type", "application/json"}});
  asked = cosmos::remove_database("a b");
  is_about(asked, "DELETE", "/dbs/a%20b", resource::database, "dbs/a b", request_kind::write);
  CHECK(test::promise_broken_by([] { return cosmos::create_database("a/b"); }) ==
        "a database has a name that it may have");

  auto const two =
      keyspan::key_paths::parse(std::vector<std::string_view>{"/tenant", "/\"user id\"/x"}).value();
  asked = cosmos::create_container(
      reviews, two,
      {.scheme = keyspan::cosmos_multihash, .request_units = 400, .time_to_live = 24h});
  is_about(asked, "POST", "/dbs/shop/colls", resource::container, "dbs/shop", request_kind::write);
  CHECK(asked.message.body ==
        R"({"id":"reviews","partitionKey":{"paths":["/tenant","/\"user id\"/x"],)"
        R"("kind":"MultiHash","version":2},"defaultTtl":86400})");
  CHECK(own_headers(asked) ==
        headers{{"content-type", "application/json"}, {"x-ms-offer-throughput", "400"}});
  auto const one_path = keyspan::key_paths::parse(std::vector<std::string_view>{"/a"}).value();
  CHECK(cosmos::create_container(reviews, one_path).message.body ==
        R"({"id":"reviews","partitionKey":{"paths":["/a"],"kind":"Hash","version":2}})");
  CHECK(cosmos::create_container(reviews, one_path, {.scheme = keyspan::cosmos_v1}).message.body ==
        R"({"id":"reviews","partitionKey":{"paths":["/a"],"kind":"Hash","version":1}})");
  CHECK(cosmos::create_container(reviews, two, {.keeps_versions = 24h}).message.body ==
        R"({"id":"reviews","partitionKey":{"paths":["/tenant","/\"user id\"/x"],)"
        R"("kind":"MultiHash","version":2},"changeFeedPolicy":{"retentionDuration":1440}})");
  CHECK(cosmos::create_container(reviews, two, {.scheme = keyspan::cosmos_v2}).message.body ==
        R"({"id":"reviews","partitionKey":{"paths":["/tenant","/\"user id\"/x"],)"
        R"("kind":"Hash","version":2}})");
  asked = cosmos::remove_container(reviews);
  is_about(asked, "DELETE", "/dbs/shop/colls/reviews", resource::container, in,
           request_kind::write);
}

TEST_CASE("pages can be asked of one container and no other that has its name") {
  auto const asked = cosmos::read_changes(reviews, {.partition = "3", .container = "AAAA="},
                                          keyspan::from_beginning, feed_mode::latest_version);
  CHECK(asked.message.headers.find("x-ms-cosmos-intended-collection-rid") == "AAAA=");
}

TEST_CASE("a moment that no service knows is told as the nearest that it does") {
  auto const since = [](keyspan::wall_time at) {
    auto const asked = cosmos::read_changes(reviews, {.partition = "3"}, keyspan::from_time{at},
                                            feed_mode::latest_version);
    return std::string{asked.message.headers.find("if-modified-since").value()};
  };
  CHECK(since(keyspan::wall_time{} - 1h) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(since((keyspan::wall_time::min)()) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(since((keyspan::wall_time::max)()) == "Fri, 31 Dec 9999 00:00:00 GMT");
}

TEST_CASE("the example of service_request reads as it should") {
  // [region: example]
  namespace cosmos = keyspan::cosmos;
  auto const shop = cosmos::container_address::from("shop", "reviews").value();
  auto const asked = cosmos::read_document(shop, partition_key{"redmond"}, "r-1");
  check(asked.message.target == "/dbs/shop/colls/reviews/docs/r-1");
  check(asked.message.headers.find("x-ms-documentdb-partitionkey") == "[\"redmond\"]");
  check(asked.link == "dbs/shop/colls/reviews/docs/r-1");  // which is signed
  // [end: example]
}

}  // namespace
