// test/cosmos/document_page_test.cpp — pages as the service sends them, and as it does not.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/transport/message.hpp>

#include <support/check.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::response;
using keyspan::cosmos::changes_in;
using keyspan::cosmos::document_in;
using keyspan::cosmos::documents_in;
using test::check;

response answered(std::string body, std::uint16_t status = 200) {
  response made;
  made.status = status;
  made.body = std::move(body);
  made.headers = {{"ETag", "\"12\""},
                  {"x-ms-continuation", "more"},
                  {"x-ms-session-token", "3:1#12"},
                  {"x-ms-documentdb-partitionkeyrangeid", "3"},
                  {"lsn", "14"},
                  {"x-ms-request-charge", "2.5"}};
  return made;
}

TEST_CASE("documents are the text that they are, with what the service has written") {
  auto const answer = answered(R"({"_rid":"a=","Documents":[ {"id":"r-1","n":0.1,"_etag":"\"7\"",
    "_ts":1700000000,"_lsn":12}, {"x":{"id":"inner"},"id":"r-2"}],"_count":2})");
  auto const page = documents_in(answer);
  REQUIRE(page.has_value());
  REQUIRE(page->documents.size() == 2);
  auto const& first = page->documents[0];
  CHECK(first.json.starts_with("{\"id\":\"r-1\",\"n\":0.1"));
  CHECK(first.json.ends_with("12}"));
  CHECK(first.id == "r-1");
  CHECK(first.etag == "\"7\"");
  CHECK(first.lsn == 12);
  CHECK(first.changed_at.time_since_epoch() == 1'700'000'000s);
  CHECK(page->documents[1].json == R"({"x":{"id":"inner"},"id":"r-2"})");
  CHECK(page->documents[1].id == "r-2");
  CHECK(page->documents[1].lsn == 0);
  CHECK(page->details.etag == "\"12\"");
  CHECK(page->details.continuation == "more");
  CHECK(page->details.session_token == "3:1#12");
  CHECK(page->details.partition == "3");
  CHECK(page->details.lsn == 14);
  CHECK(page->details.wire.charge == 2.5);
  CHECK_FALSE(page->details.not_modified);
}

TEST_CASE("what users call like the service's members may be of any kind") {
  auto const answer = answered(
      R"({"Documents":[{"id":7,"_etag":null,"_lsn":"x","_ts":{}},{"_lsn":1.5e300,"_ts":-4}]})");
  auto const page = documents_in(answer);
  REQUIRE(page.has_value());
  for (auto const& one : page->documents) {
    CHECK(one.id.empty());
    CHECK(one.etag.empty());
    CHECK(one.lsn == 0);
    CHECK(one.changed_at == std::chrono::sys_seconds{});
    CHECK(one.is_there());
  }
}

TEST_CASE("documents are as deep as the service takes them, and pages end somewhere") {
  auto const page_of = [](std::size_t levels) {
    std::string body = R"({"Documents":[{"id":"deep","a":)";
    body.append(levels - 1, '[').append(levels - 1, ']');
    return body + "}]}";
  };
  auto const deep = answered(page_of(128));
  auto const page = documents_in(deep);
  REQUIRE(page);
  CHECK(page->documents[0].id == "deep");
  CHECK(page->documents[0].json.ends_with("]]}"));
  auto const too_deep = answered(page_of(200));
  CHECK(documents_in(too_deep).error().code == errc::bad_response);
}

TEST_CASE("nothing new is no error, and says where to go on") {
  auto const answer = answered("", 304);
  for (auto const& details : {documents_in(answer)->details, changes_in(answer)->details}) {
    CHECK(details.not_modified);
    CHECK(details.etag == "\"12\"");
  }
  CHECK(documents_in(answer)->documents.empty());
  auto const empty = answered(R"({"Documents":[]})");
  CHECK(documents_in(empty)->documents.empty());
}

TEST_CASE("changes have what a document is and was, and say what happened") {
  auto const answer = answered(R"({"Documents":[
    {"current":{"id":"a","v":2},"previous":{"id":"a","v":1},
     "metadata":{"operationType":"replace","lsn":9,"crts":1700000001,"previousImageLSN":4}},
    {"current":{},"metadata":{"operationType":"delete","lsn":10,"id":"a",
     "partitionKey":{"city":"redmond"},"timeToLiveExpired":true}},
    {"metadata":{"operationType":"delete","partitionKey":["redmond"]},"current":null},
    {"current":{"id":"b"},"metadata":{"operationType":"restore","more":[1]}}]})");
  auto const page = changes_in(answer);
  REQUIRE(page.has_value());
  REQUIRE(page->documents.size() == 4);
  auto const& replaced = page->documents[0];
  CHECK(replaced.operation == "replace");
  CHECK(replaced.current.json == R"({"id":"a","v":2})");
  CHECK(replaced.previous.json == R"({"id":"a","v":1})");
  CHECK(replaced.lsn == 9);
  CHECK(replaced.changed_at.time_since_epoch() == 1'700'000'001s);
  CHECK_FALSE(replaced.is_expired);
  auto const& expired = page->documents[1];
  CHECK(expired.operation == "delete");
  CHECK_FALSE(expired.current.is_there());
  CHECK_FALSE(expired.previous.is_there());
  CHECK(expired.id == "a");
  CHECK(expired.partition_key == R"({"city":"redmond"})");
  CHECK(expired.is_expired);
  CHECK(page->documents[2].partition_key == R"(["redmond"])");
  CHECK_FALSE(page->documents[2].current.is_there());
  CHECK(page->documents[3].operation == "restore");
}

TEST_CASE("one document is read, and none where the answer has none") {
  auto const answer = answered(R"({"id":"r-1","_etag":"\"7\""})", 201);
  auto const made = document_in(answer);
  REQUIRE(made.has_value());
  CHECK(made->json == answer.body);
  CHECK(made->etag == "\"7\"");
  for (std::uint16_t const status : std::vector<std::uint16_t>{204, 304}) {
    auto const empty = answered("", status);
    CHECK_FALSE(document_in(empty)->is_there());
  }
  auto const missing = answered(R"({"code":"NotFound"})", 404);
  CHECK(document_in(missing).error().code == errc::not_found);
}

TEST_CASE("what is no page is refused, with the place") {
  for (std::string const body :
       {"", "<html>", "[]", "{}", R"({"Documents":{}})", R"({"Documents":[1]})",
        R"({"Documents":[{"id":"a"})", R"({"Documents":[{"id":"a"}]} more)",
        R"({"Documents":[{"id":"\ud800"}]})"}) {
    auto const answer = answered(body);
    auto const page = documents_in(answer);
    REQUIRE_FALSE(page.has_value());
    CHECK(page.error().code == errc::bad_response);
    CHECK(page.error().wire.status == 200);
    auto const one = answered(body.empty() ? "[]" : body + "x");
    CHECK_FALSE(document_in(one).has_value());
  }
  auto const answer = answered(R"({"Documents":[{"current":{}}]})");
  CHECK(changes_in(answer).error().text.view() == "the member \"metadata\" is missing");
}

TEST_CASE("the example of document_page reads as it should") {
  auto const answer = answered(R"({"Documents":[{"id":"r-1","stars":5}]})");
  // [region: example]
  auto const page = keyspan::cosmos::documents_in(answer);
  for (auto const& one : page->documents)
    check(one.id == "r-1" && one.json == R"({"id":"r-1","stars":5})");
  auto const next = page->details.etag;  // where a feed goes on
  check(next == "\"12\"");
  // [end: example]
}

}  // namespace
