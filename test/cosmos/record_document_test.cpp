// test/cosmos/record_document_test.cpp — records as documents: what people see of them, that the
// record comes back, and that it shows when somebody else has written.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/lease_document.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/record_document.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/range/token_range.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <support/check.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::any_scheme;
using keyspan::any_token;
using keyspan::continuation;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::session_id;
using keyspan::space_end;
using keyspan::wall_time;
using keyspan::cosmos::lease_document;
using keyspan::cosmos::record_in;
using keyspan::cosmos::record_names;
using keyspan::cosmos::text_of_record;
using test::check;

using lease = keyspan::lease_record<any_token>;
using range_type = keyspan::token_range<any_token>;

any_scheme const by_v2{cosmos_v2};
constexpr wall_time noon{std::chrono::sys_days{std::chrono::year{2026} / 11 / 20} +
                         std::chrono::hours{12}};

range_type range_of(std::string_view lower, std::optional<std::string_view> upper = {}) {
  auto const from = *by_v2.from_hex(lower);
  return upper ? range_type{from, *by_v2.from_hex(*upper)} : range_type{from, space_end};
}
lease lease_of(range_type const& range, continuation from = continuation{"\"17\""}) {
  lease made{range};
  made.facts.owner = session_id{0x1F};
  made.facts.epoch = 1;
  made.owner_name = "host 3";
  made.position.container = "AbCd==";
  made.position.scheme = "cosmos_v2";
  made.position.parts.push_back({range, std::move(from)});
  return made;
}
nlohmann::json document_of(lease const& of, std::string_view id = "l") {
  auto const text = text_of_record(id, of.to_text(), by_v2, noon);
  REQUIRE(text);
  return *keyspan::cosmos::json_from(*text);
}
keyspan::cosmos::record_text read(nlohmann::json const& document) {
  auto made = record_in(document.dump());
  if (!made) FAIL(made.error().to_text().view());
  return *std::move(made);
}

TEST_CASE("the example of record_document reads as it should") {
  // [region: example]
  auto const names = *keyspan::cosmos::record_names::from("shop_AbCd==_AbCdEf=", "orders.");
  check(names.document_of("orders.lease.-FF") == "shop_AbCd==_AbCdEf=..-FF");
  check(names.record_of("shop_AbCd==_AbCdEf=..-FF") == "orders.lease.-FF");
  check(names.document_of("orders.layout") == "shop_AbCd==_AbCdEf=.keyspan.orders.layout");

  auto const text = keyspan::cosmos::text_of_record("orders.layout", R"({"keyspan":1,"layout":7})",
                                                    std::nullopt, keyspan::wall_time{});
  auto const said = keyspan::cosmos::record_in(*text);
  check(said->body == R"({"keyspan":1,"layout":7})" && !said->is_foreign);
  // [end: example]
}

TEST_CASE("the document of a lease says in members of its own what the lease says") {
  auto const range = range_of("", "20000000000000000000000000000000");
  auto const made = document_of(lease_of(range), "orders.lease");
  CHECK(made["id"] == "orders.lease");
  CHECK(made["version"] == 1);
  CHECK(made["LeaseToken"] == "-20000000000000000000000000000000");
  CHECK(made["FeedRange"]["Range"]["min"] == "");
  CHECK(made["FeedRange"]["Range"]["max"] == "20000000000000000000000000000000");
  CHECK(made["Owner"] == "host 3");
  CHECK(made["ContinuationToken"] == "\"17\"");
  CHECK(made["timestamp"] == "2026-11-20T12:00:00.000Z");
  CHECK(made["Mode"] == "Incremental Feed");
  CHECK(made["kind"] == "lease");
  CHECK(made["phase"] == "open");
  CHECK(made["properties"]["keyspan"] == lease_of(range).to_text());
  // It is one to those who know theirs.
  auto const theirs = lease_document::from_json(made);
  REQUIRE(theirs);
  CHECK(theirs->owner == "host 3");
  CHECK(theirs->range->upper == "20000000000000000000000000000000");

  auto const last = document_of(lease_of(range_of("20000000000000000000000000000000")));
  CHECK(last["LeaseToken"] == "20000000000000000000000000000000-FF");
  CHECK(last["FeedRange"]["Range"]["max"] == "FF");
}

TEST_CASE("what people look for in a lease stands beside its owner") {
  auto one = lease_of(range_of(""));
  one.facts.epoch = 12;
  one.facts.sequence = 7;
  auto made = document_of(one);
  CHECK(made["epoch"] == 12);
  CHECK(!made.contains("paused"));
  CHECK(!made.contains("attempts"));
  one.paused = "the sink is full";
  one.attempts = {7, 3};
  made = document_of(one);
  CHECK(made["paused"] == "the sink is full");
  CHECK(made["attempts"] == 3);
  // Attempts at what lies behind are over; that it is paused shows, whatever the reason.
  one.attempts = {6, 3};
  one.paused = "\xFF";
  made = document_of(one);
  CHECK(made["paused"] == "");
  CHECK(!made.contains("attempts"));
  CHECK(lease_document::from_json(made).has_value());
}

TEST_CASE("what the members cannot say is left out of them") {
  auto const range = range_of("");
  auto one = lease_of(range);
  one.facts.owner = keyspan::no_session;
  CHECK(document_of(one)["Owner"].is_null());
  CHECK(document_of(one)["ContinuationToken"] == "\"17\"");
  one = lease_of(range);
  one.owner_name.clear();
  CHECK(document_of(one)["Owner"] == "000000000000001f");
  one.owner_name = "\xFF";
  CHECK(document_of(one)["Owner"] == "000000000000001f");
  for (auto const& start : {continuation{from_now}, continuation{from_beginning},
                            continuation{std::string{"\xFF\xFE"}}})
    CHECK(document_of(lease_of(range, start))["ContinuationToken"].is_null());
  // Read by two parts, it stands in two places.
  one = lease_of(range);
  one.position.parts = {{range_of("", "20000000000000000000000000000000"), continuation{"1"}},
                        {range_of("20000000000000000000000000000000"), continuation{"2"}}};
  CHECK(document_of(one)["ContinuationToken"].is_null());
  CHECK(document_of(one)["Owner"] == "host 3");
  one.position.mode = keyspan::feed_mode::all_versions_and_deletes;
  one.facts.phase = keyspan::lease_phase::ended;
  CHECK(document_of(one)["Mode"] == "Full-Fidelity Feed");
  CHECK(document_of(one)["phase"] == "ended");
}

TEST_CASE("members and the layout can be read as well") {
  keyspan::member_record member{.session = session_id{7}, .name = "host 3"};
  auto const of = [](std::string_view body) {
    auto const text = text_of_record("x", body, by_v2, noon);
    REQUIRE(text);
    return *keyspan::cosmos::json_from(*text);
  };
  auto const made = of(member.to_text());
  CHECK(made["kind"] == "member");
  CHECK(made["name"] == "host 3");
  CHECK(made["phase"] == "live");
  CHECK(made["timestamp"] == "2026-11-20T12:00:00.000Z");
  CHECK(of(keyspan::layout_record{.number = 3}.to_text())["kind"] == "layout");
  for (std::string const body :
       {"x", "{}", "{\"keyspan\":1}", "[", "{\"keyspan\":1,\"lease\":{}}"}) {
    auto const other = of(body);
    CHECK_FALSE(other.contains("kind"));
    CHECK(other["properties"]["keyspan"] == body);
  }
}

TEST_CASE("without a scheme, or with another one, the record alone is there") {
  auto const body = lease_of(range_of("")).to_text();
  for (auto const& scheme :
       {std::optional<any_scheme>{}, std::optional{any_scheme{keyspan::cosmos_v1}}}) {
    auto const text = text_of_record("x", body, scheme, noon);
    REQUIRE(text);
    auto const made = *keyspan::cosmos::json_from(*text);
    CHECK_FALSE(made.contains("LeaseToken"));
    CHECK_FALSE(made.contains("Owner"));
    CHECK(read(made).body == body);
    CHECK_FALSE(read(made).is_foreign);
  }
}

TEST_CASE("a record comes back byte by byte") {
  for (std::string const& body :
       {std::string{"{\"a\":\"b \\\" ' \\\\ \",\n\t\"c\":[1,2.50,null]}"}, std::string{" "},
        std::string{"\x01\x1F\x7F"}, std::string{"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\x91"},
        std::string(60'000, '"'), lease_of(range_of("")).to_text()}) {
    auto const text = text_of_record("x", body, by_v2, noon);
    REQUIRE(text);
    CHECK(record_in(*text)->body == body);
    CHECK_FALSE(record_in(*text)->is_foreign);
  }
  CHECK(text_of_record("x", "\xFF", by_v2, noon).error().code == errc::invalid_utf8);
}

TEST_CASE("it shows when a processor of the SDKs has written a lease") {
  auto const ours = document_of(lease_of(range_of("")));
  CHECK_FALSE(read(ours).is_foreign);
  // What the service adds, and people, is nobody's business.
  auto other = ours;
  other["_etag"] = "\"1\"";
  other["timestamp"] = "later";
  other["note"] = nlohmann::json::array();
  other["properties"]["note"] = "for people";
  CHECK_FALSE(read(other).is_foreign);

  for (auto const& [member, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"Owner", nlohmann::json("host 4")},
           {"Owner", nlohmann::json{}},
           {"Owner", nlohmann::json("")},
           {"Owner", nlohmann::json(5)},
           {"ContinuationToken", nlohmann::json("\"18\"")},
           {"ContinuationToken", nlohmann::json{}},
           {"ContinuationToken", nlohmann::json::object()}}) {
    CAPTURE(member, value.dump());
    other = ours;
    other[member] = value;
    CHECK(read(other).is_foreign);
    other.erase(member);
    CHECK(read(other).is_foreign);
  }
  other = ours;
  other["Owner"] = "host 4";
  CHECK(read(other).owner == "host 4");
  // What moves from the one into the other is no less another's.
  other = ours;
  other["Owner"] = "host 3\"17\"";
  other["ContinuationToken"] = "";
  CHECK(read(other).is_foreign);

  // A lease that nobody owned.
  auto nobodys = lease_of(range_of(""), from_beginning);
  nobodys.facts.owner = keyspan::no_session;
  other = document_of(nobodys);
  CHECK_FALSE(read(other).is_foreign);
  CHECK_FALSE(other["properties"].contains("keyspan_check"));
  other["Owner"] = "host 4";
  CHECK(read(other).is_foreign);
  other["Owner"] = 5;
  CHECK(read(other).is_foreign);
  other["Owner"] = "";
  other["ContinuationToken"] = "";
  CHECK_FALSE(read(other).is_foreign);
}

TEST_CASE("a lease of theirs that we have never written is theirs") {
  auto const theirs = nlohmann::json::parse(
      R"({"id":"x..20-40","version":1,"LeaseToken":"20-40","Owner":null,"properties":{}})");
  CHECK(read(theirs).is_foreign);
  CHECK_FALSE(read(theirs).body);
  auto const older = nlohmann::json::parse(R"({"id":"x..0","PartitionId":"0"})");
  CHECK(read(older).is_foreign);
  CHECK_FALSE(read(nlohmann::json::parse(R"({"id":"x.info"})")).is_foreign);

  // Taken over: our record and the check beside what is there.
  auto taken = *lease_document::from_json(theirs);
  taken.continuation = "\"9\"";
  keyspan::cosmos::put_record(taken, "body");
  CHECK_FALSE(read(taken.to_json()).is_foreign);
  CHECK(read(taken.to_json()).body == "body");
  taken.owner = "host 4";
  CHECK(read(taken.to_json()).is_foreign);
  keyspan::cosmos::put_record(taken, "body");
  CHECK_FALSE(read(taken.to_json()).is_foreign);
  taken.owner.clear();
  taken.continuation.clear();
  keyspan::cosmos::put_record(taken, "body");
  CHECK_FALSE(read(taken.to_json()).is_foreign);
  CHECK_FALSE(taken.properties.contains("keyspan_check"));
}

TEST_CASE("a document of any form is read as what it is") {
  for (std::string const text :
       {"{}", R"({"properties":null})", R"({"properties":[]})", R"({"properties":{"keyspan":5}})",
        R"({"properties":{"keyspan":""}})", R"({"properties":{"keyspan":{"a":1}}})",
        R"({"keyspan":"x","properties":"y"})"}) {
    CAPTURE(text);
    auto const said = record_in(text);
    REQUIRE(said);
    CHECK_FALSE(said->body);
    CHECK_FALSE(said->is_foreign);
  }
  std::string deep(100'000, '[');
  for (std::string const& text :
       {std::string{}, std::string{"x"}, std::string{"5"}, std::string{"[]"}, deep,
        "{\"a\":" + deep, std::string{R"({"properties":{"keyspan":"a","keyspan":"b"}})"},
        std::string{"{\"properties\":{\"keyspan\":\"\xFF\"}}"}, std::string{"{} {}"}}) {
    CAPTURE(text.substr(0, 40));
    CHECK_FALSE(record_in(text));
  }
}

TEST_CASE("no two records have one document, and a document has the record that it was made for") {
  std::vector<std::string> const records{"lease.-FF",
                                         "orders.lease.-FF",
                                         "orders.lease.A-B",
                                         "orders.lease.a-B",
                                         "orders.layout",
                                         "orders.member.000000000000001f",
                                         "x",
                                         "orders.lease.",
                                         "a..b",
                                         ".keyspan",
                                         std::string(200, 'x')};
  for (auto const& names : {record_names{}, *record_names::from("p", "orders."),
                            *record_names::from("p=.", ""), *record_names::from("", "orders.")}) {
    std::vector<std::string> documents;
    for (std::string const& record : records) {
      if (!keyspan::is_record_id(record)) continue;
      auto const document = names.document_of(record);
      CAPTURE(names.document_prefix(), record, document);
      CHECK(keyspan::cosmos::is_document_id(document));
      CHECK(names.record_of(document) == record);
      documents.push_back(document);
    }
    std::sort(documents.begin(), documents.end());
    CHECK(std::adjacent_find(documents.begin(), documents.end()) == documents.end());
    // And the other way.
    for (std::string const document :
         {"p..A-B", "p..-FF", "p..0", "p..", "p..a-b", "p.keyspan.orders.lease.A-B",
          "p.keyspan.lease.A-B", "p.keyspan.", "p.keyspan..a", "p.info", "p.lock", "q..A-B", "p",
          "orders.layout", "a b", "p=...-FF", "p=..keyspan.lease.-FF"})
      if (auto const record = names.record_of(document)) {
        CAPTURE(names.document_prefix(), document, *record);
        CHECK(names.document_of(*record) == document);
      }
  }
}

TEST_CASE("documents of a fleet of the SDKs are told from others by how they begin") {
  auto const names = *record_names::from("p", "orders.");
  CHECK(names.document_prefix() == "p");
  CHECK(names.document_of("orders.lease.A-B") == "p..A-B");
  CHECK(names.document_of("other.lease.A-B") == "p.keyspan.other.lease.A-B");
  CHECK(names.document_of("orders.lease.0b0c0e6e4b1e4f37a1c7e2a5d3f0c9b8") ==
        "p.keyspan.orders.lease.0b0c0e6e4b1e4f37a1c7e2a5d3f0c9b8");
  CHECK(names.is_lease_of_theirs("p..0"));
  CHECK(names.is_lease_of_theirs("p..A-B"));
  CHECK_FALSE(names.is_lease_of_theirs("p.info"));
  CHECK_FALSE(names.is_lease_of_theirs("q..0"));
  CHECK_FALSE(record_names{}.is_lease_of_theirs("..0"));
  CHECK(names == *record_names::from("p", "orders."));
  CHECK_FALSE(names == *record_names::from("p", ""));

  for (std::string const& prefix : {std::string{"a/b"}, std::string{"a?"}, std::string(701, 'x'),
                                    std::string{"\xFF"}, std::string{"a\n"}})
    CHECK(record_names::from(prefix, "").error().code == errc::invalid_options);
  CHECK(record_names::from(std::string(700, 'x'), ""));
  CHECK(record_names::from("p", "or/ders").error().code == errc::invalid_options);
}

}  // namespace
