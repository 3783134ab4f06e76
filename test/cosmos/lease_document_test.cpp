// test/cosmos/lease_document_test.cpp — leases as the processors of the SDKs write them, read and
// written again.
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/lease_document.hpp>
#include <keyspan/cosmos/service_request.hpp>

#include <support/check.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace {

using keyspan::cosmos::epk_range;
using keyspan::cosmos::json_from;
using keyspan::cosmos::lease_document;
using keyspan::cosmos::lease_naming;
using keyspan::cosmos::lease_token_of;
using keyspan::cosmos::lease_version;
using keyspan::cosmos::range_of_lease_token;

constexpr std::string_view of_dotnet_2 =
    R"({"id":"shop.documents.azure.com_AbCdAA==_AbCdAOkLmNo=..0",)"
    R"("gremlincompatid":"shop.documents.azure.com_AbCdAA==_AbCdAOkLmNo=..0",)"
    R"("_etag":"\"0000d826-0000-0700-0000-5f3a8c5b0000\"","PartitionId":"0","Owner":"host-a",)"
    R"("ContinuationToken":"\"1203\"","properties":{},"timestamp":"2020-08-17T13:55:39.1234567Z",)"
    R"("_ts":1597672539,"_rid":"AbCdAPqRsTuBAAAAAAAAAA==","_self":"dbs/x/","_attachments":"a/"})";
constexpr std::string_view of_dotnet_3_partition =
    R"({"id":"p1shop.documents.azure.com_AbCdAA==_AbCdAOkLmNo=..0","_etag":"\"2\"",)"
    R"("LeaseToken":"0","FeedRange":{"Range":{"min":"","max":"FF"}},"Owner":null,)"
    R"("ContinuationToken":"\"7\"","properties":{},"timestamp":null,"Mode":"Incremental Feed",)"
    R"("_ts":1700000000})";
constexpr std::string_view of_dotnet_3_range =
    R"({"id":"p1shop.documents.azure.com_AbCdAA==_AbCdAOkLmNo=..05C1-0B81","version":1,)"
    R"("_etag":"\"3\"","LeaseToken":"05C1-0B81",)"
    R"("FeedRange":{"Range":{"min":"05C1","max":"0B81"}},"Owner":"host-b",)"
    R"("ContinuationToken":"\"42\"","properties":{"note":"kept"},)"
    R"("timestamp":"2023-11-14T22:13:20.0000001Z","partitionKey":"k","_ts":1700000000})";
constexpr std::string_view of_java_range =
    R"({"id":"shop.documents.azure.com_AbCdAA==_AbCdAOkLmNo=..-FF","_etag":"\"4\"",)"
    R"("LeaseToken":"-FF","ContinuationToken":"eyJWIjoxfQ==",)"
    R"("timestamp":"2023-11-14T22:13:20.123Z","Owner":"host-c","version":1,)"
    R"("FeedRange":{"Range":{"min":"","max":"FF"}},"_ts":1700000000})";

lease_document reading(std::string_view text) {
  auto made = lease_document::from_text(text);
  INFO(text);
  if (!made) FAIL(made.error().to_text().view());
  return *std::move(made);
}
std::string refusal(std::string_view text) {
  auto const made = lease_document::from_text(text);
  REQUIRE(!made);
  return std::string{made.error().to_text().view()};
}

TEST_CASE("a lease of .NET 2 names its partition as PartitionId") {
  auto const lease = reading(of_dotnet_2);
  CHECK(lease.id == "shop.documents.azure.com_AbCdAA==_AbCdAOkLmNo=..0");
  CHECK(lease.version == lease_version::partition);
  CHECK(lease.naming == lease_naming::partition_id);
  CHECK(lease.lease_token == "0");
  CHECK(!lease.range);
  CHECK(lease.owner == "host-a");
  CHECK(lease.continuation == "\"1203\"");
  CHECK(lease.timestamp == "2020-08-17T13:55:39.1234567Z");
  CHECK(lease.etag == "\"0000d826-0000-0700-0000-5f3a8c5b0000\"");
  CHECK(lease.changed_at == 1597672539);
  CHECK(lease.others["gremlincompatid"] == lease.id);
}

TEST_CASE("a lease of .NET 3 is of a partition or of a range") {
  auto const partition = reading(of_dotnet_3_partition);
  CHECK(partition.version == lease_version::partition);
  CHECK(partition.naming == lease_naming::lease_token);
  CHECK(partition.lease_token == "0");
  CHECK(partition.range == epk_range{"", "FF"});
  CHECK(partition.owner.empty());
  CHECK(partition.timestamp.empty());
  CHECK(partition.mode == "Incremental Feed");

  auto const range = reading(of_dotnet_3_range);
  CHECK(range.version == lease_version::range);
  CHECK(range.range == epk_range{"05C1", "0B81"});
  CHECK(range.property("note") == "kept");
  CHECK(!range.property("keyspan"));
}

TEST_CASE("a lease of Java keeps a state of its own") {
  auto const lease = reading(of_java_range);
  CHECK(lease.range == epk_range{"", "FF"});
  CHECK(lease.continuation == "eyJWIjoxfQ==");
  CHECK(lease.properties.empty());
}

TEST_CASE("a lease that .NET 3 took over from .NET 2 says its partition twice") {
  auto const lease = reading(R"({"id":"a..3","PartitionId":"3","LeaseToken":"3"})");
  CHECK(lease.naming == lease_naming::both);
  CHECK(lease.to_json()["PartitionId"] == "3");
  CHECK(lease.to_json()["LeaseToken"] == "3");
  CHECK(refusal(R"({"id":"a..3","PartitionId":"3","LeaseToken":"4"})") ==
        "malformed: lease \"a..3\": member \"PartitionId\": it says 3, and LeaseToken 4");
}

TEST_CASE("what is written is what was read, with all that nobody here knows") {
  for (auto const text : {of_dotnet_2, of_dotnet_3_partition, of_dotnet_3_range, of_java_range}) {
    INFO(text);
    auto const lease = reading(text);
    auto const written = lease.to_json();
    CHECK(lease_document::from_json(written).value() == lease);
    auto const before = json_from(text).value();
    for (auto const& [name, value] : before.items()) {
      INFO(name);
      if (!value.is_null()) CHECK(written[name] == value);
    }
  }
  auto const free = reading(of_dotnet_3_partition).to_json();
  CHECK(free["Owner"].is_null());
  CHECK(!free.contains("version"));
  CHECK(!free.contains("PartitionId"));
}

TEST_CASE("a range that only the lease token says is read from there") {
  auto const lease = reading(R"({"id":"a..","version":1,"LeaseToken":"05C1-FF"})");
  CHECK(lease.range == epk_range{"05C1", "FF"});
  CHECK(lease_token_of(*lease.range) == "05C1-FF");
  CHECK(range_of_lease_token("-FF") == epk_range{"", "FF"});
  for (std::string_view const text : {"", "0", "05C1", "05C1-", "05-C1-FF", "x-FF", "05-G0"})
    CHECK(!range_of_lease_token(text));
  CHECK(reading(R"({"id":"a","version":1,"LeaseToken":"0a-0b",)"
                R"("FeedRange":{"Range":{"min":"0A","max":"0B","isMinInclusive":true}}})")
            .range == epk_range{"0A", "0B"});
}

TEST_CASE("what is no lease is refused, and the lease and the member are named") {
  CHECK(refusal("[]") == "malformed: a lease is an object, this one is array");
  CHECK(refusal("{}") == "malformed: lease \"\": member \"id\": it is missing or empty");
  CHECK(refusal(R"({"id":3})") ==
        "malformed: lease \"\": member \"id\": a text belongs there, not number");
  CHECK(refusal(R"({"id":"a..0"})") ==
        "malformed: lease \"a..0\": member \"LeaseToken\": it is "
        "missing, and PartitionId as well");
  CHECK(refusal(R"({"id":"a..0","LeaseToken":0})") ==
        "malformed: lease \"a..0\": member \"LeaseToken\": a text belongs there, not number");
  CHECK(refusal(R"({"id":"a..0","LeaseToken":"0","version":2})") ==
        "unsupported: lease \"a..0\": member \"version\": 0 and 1 are read, this is 2");
  CHECK(refusal(R"({"id":"a..0","LeaseToken":"0","version":"1"})")
            .starts_with("malformed: lease \"a..0\": member \"version\""));
  CHECK(refusal(R"({"id":"a..0","LeaseToken":"0","version":1})") ==
        "malformed: lease \"a..0\": member \"LeaseToken\": it is two bounds such as 05C1-0B81, not "
        "\"0\"");
  auto const ranged = [](std::string_view range) {
    return refusal(R"({"id":"a","version":1,"LeaseToken":"0A-0B","FeedRange":)" +
                   std::string{range} + "}");
  };
  CHECK(ranged(R"({"Range":{"min":"0A","max":"0C"}})") ==
        "malformed: lease \"a\": member \"FeedRange\": it is another range than LeaseToken says");
  CHECK(ranged(R"({"Range":{"min":"0A"}})") ==
        "malformed: lease \"a\": member \"FeedRange\": a range has the texts min and max");
  CHECK(ranged(R"({"PK":"[1]"})").starts_with("unsupported: lease \"a\": member \"FeedRange\""));
  CHECK(ranged(R"({"Range":{"min":"0A","max":"0B","isMaxInclusive":true}})")
            .starts_with("unsupported: lease \"a\": member \"FeedRange\""));
  for (std::string_view const member : {"Owner", "ContinuationToken", "timestamp", "Mode", "_etag"})
    CHECK(refusal(R"({"id":"a","LeaseToken":"0",")" + std::string{member} + R"(":{}})") ==
          "malformed: lease \"a\": member \"" + std::string{member} +
              "\": a text belongs there, not object");
  CHECK(refusal(R"({"id":"a","LeaseToken":"0","properties":"x"})") ==
        "malformed: lease \"a\": member \"properties\": an object belongs there, not string");
  CHECK(refusal(R"({"id":"a","LeaseToken":"0","_ts":"x"})")
            .starts_with("malformed: lease \"a\": member \"_ts\""));
  CHECK(refusal("{\"id\":").starts_with("malformed"));
}

TEST_CASE("of a long id the end is shown") {
  std::string const id = std::string(100, 'a') + "\u00e4..05C1";
  auto const told = refusal(R"({"id":")" + id + R"("})");
  CHECK(told.find("..05C1\"") != told.npos);
  CHECK(told.find(std::string(60, 'a')) == told.npos);
  std::string umlauts;
  for (int i = 0; i < 60; ++i) umlauts += "\u00e4";
  CHECK(keyspan::is_utf8(refusal(R"({"id":"x)" + umlauts + R"("})")));
}

TEST_CASE("the example of lease_document reads as it should") {
  using test::check;
  std::string_view const text = of_dotnet_3_range;
  // [region: example]
  auto lease = keyspan::cosmos::lease_document::from_text(text);
  check(lease && lease->version == lease_version::range);
  check(lease->range == epk_range{"05C1", "0B81"} && lease->continuation == "\"42\"");

  lease->owner.clear();  // nobody's
  nlohmann::json const document = lease->to_json();
  check(document["Owner"].is_null() && document["partitionKey"] == "k");  // what it had beside
  // [end: example]
}

}  // namespace
