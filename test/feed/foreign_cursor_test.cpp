// test/feed/foreign_cursor_test.cpp — positions that the SDKs of Cosmos DB have written.
//
// The texts were made for these tests, in the shapes that the sources of the SDKs show: the .NET v3
// SDK (FeedRange, ChangeFeed/Pagination), azure-cosmos for Java (feedranges, changefeed/common),
// for Python (_change_feed) and for JavaScript (client/ChangeFeed), and azcosmos for Go.
#include <keyspan/core/base64.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/feed/foreign_cursor.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using keyspan::any_scheme;
using keyspan::base64_form;
using keyspan::composite_cursor;
using keyspan::continuation;
using keyspan::cosmos_multihash;
using keyspan::cosmos_v1;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed_mode;
using keyspan::foreign_cursor;
using keyspan::foreign_feed_range;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::from_time;
using keyspan::key_prefix;
using keyspan::null;
using keyspan::partition_key;
using keyspan::routing;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_range;
using keyspan::undefined;
using keyspan::wall_time;
using test::check;

using v2_cursor = composite_cursor<token128>;
using v2_range = token_range<token128>;
using v2_partition = keyspan::partition<token128>;
using parts = std::vector<keyspan::cursor<token128>>;

token128 at(std::string_view digits) { return *cosmos_v2.from_hex(digits); }
wall_time ms(std::int64_t count) { return wall_time{std::chrono::milliseconds{count}}; }

// 0 was split into 1 and 2, 2 into 3 and 4; 5 and 6 were merged into 7.
routing<keyspan::cosmos_v2_scheme> known() {
  std::vector<v2_partition> list;
  list.push_back({"1", {at(""), at("10")}, {"0"}});
  list.push_back({"3", {at("10"), at("18")}, {"0", "2"}});
  list.push_back({"4", {at("18"), at("20")}, {"0", "2"}});
  list.push_back({"7", {at("20"), space_end}, {"5", "6"}});
  return *keyspan::routing_of(cosmos_v2, std::move(list));
}

std::string base64(std::string_view json, base64_form form = base64_form::plain) {
  std::string text(keyspan::base64_size(json.size(), form), ' ');
  keyspan::encode_base64(std::span{json}, text, form);
  return text;
}

v2_cursor reading(std::string_view text, std::size_t paths = 0) {
  auto read = foreign_cursor(known(), text, paths);
  if (!read) FAIL(read.error() << " in " << text);
  return *std::move(read);
}
std::string refusal(std::string_view text, std::size_t paths = 0) {
  auto const read = foreign_cursor(known(), text, paths);
  if (read) return "read as " + read->to_text();
  return std::string{read.error().to_text().view()};
}

TEST_CASE("a position of another SDK becomes a cursor") {
  // [region: example]
  using keyspan::cosmos_v2;
  auto const middle = *cosmos_v2.from_hex("20");
  auto const now = *keyspan::routing_of(cosmos_v2, {{"1", {cosmos_v2.minimum(), middle}, {"0"}},
                                                    {"2", {middle, keyspan::space_end}, {"0"}}});
  auto const moved = keyspan::foreign_cursor(now, R"({"V": 2, "Rid": "Ab3xAJ", "Continuation": [
      {"FeedRange": {"type": "Physical Partition Key Range Id", "value": "0"},
       "State": {"type": "continuation", "value": "\"12\""}}]})");
  check(moved->container == "Ab3xAJ");
  check(moved->parts.size() == 2);  // partition 0 was split since
  check(moved->parts[1].range.lower() == middle);
  check(moved->parts[1].from == keyspan::continuation{"\"12\""});
  // [end: example]
}

// .NET, version 2.

constexpr std::string_view net2 =
    R"({"V":2,"Rid":"Ab3xAJ","Continuation":[)"
    R"({"FeedRange":{"type":"Effective Partition Key Range","value":{"min":"","max":"10"}},)"
    R"("State":{"type":"continuation","value":"\"12\""}},)"
    R"({"FeedRange":{"type":"Effective Partition Key Range","value":{"min":"10","max":"18"}},)"
    R"("State":{"type":"beginning"}},)"
    R"({"FeedRange":{"type":"Effective Partition Key Range","value":{"min":"18","max":"20"}},)"
    R"("State":{"type":"now"}},)"
    R"({"FeedRange":{"type":"Effective Partition Key Range","value":{"min":"20","max":"28"}},)"
    R"("State":{"type":"time","value":"2023-01-15T10:30:00.1234567Z"}},)"
    R"({"FeedRange":{"type":"Effective Partition Key Range","value":{"min":"28","max":"FF"}},)"
    R"("State":{"type":"continuation","value":"\"7\"",)"
    R"("startTime":"2023-01-15T10:30:00.0000000Z"}}]})";

TEST_CASE(".NET's ranges and states are read, in their order") {
  auto const moment = from_time{ms(1'673'778'600'000)};
  v2_cursor expected{.container = "Ab3xAJ", .scheme = "cosmos_v2"};
  expected.parts.push_back({{at(""), at("10")}, continuation{"\"12\""}});
  expected.parts.push_back({{at("10"), at("18")}, from_beginning});
  expected.parts.push_back({{at("18"), at("20")}, from_now});
  expected.parts.push_back({{at("20"), at("28")}, from_time{ms(1'673'778'600'123)}});
  expected.parts.push_back({{at("28"), space_end}, {moment, "\"7\""}});
  CHECK(reading(net2) == expected);
  CHECK(reading(base64(net2)) == expected);
  CHECK(reading(" \n" + std::string{net2} + "\t") == expected);
}

std::string net2_of(std::string_view range, std::string_view state = R"({"type":"now"})") {
  return R"({"Continuation":[{"State":)" + std::string{state} + R"(,"FeedRange":)" +
         std::string{range} + R"(,"Extra":{}}],"Unknown":[1],"Rid":"r","V":2})";
}

TEST_CASE(".NET's keys and partitions by id are read") {
  auto const key = reading(net2_of(R"({"type":"Logical Partition Key","value":"[\"a\"]"})"));
  CHECK(key.key == partition_key{"a"});
  auto const token = keyspan::token_of(cosmos_v2, "a");
  CHECK(key.parts == parts{{{token, cosmos_v2.successor(token)}, from_now}});

  auto const by_id = [](std::string_view id) {
    return reading(net2_of(R"({"type":"Physical Partition Key Range Id","value":")" +
                           std::string{id} + "\"}"))
        .parts;
  };
  CHECK(by_id("3") == parts{{{at("10"), at("18")}, from_now}});
  CHECK(by_id("2") == parts{{{at("10"), at("18")}, from_now}, {{at("18"), at("20")}, from_now}});
  CHECK(by_id("0").size() == 3);
  CHECK(by_id("5") == parts{{{at("20"), space_end}, from_now}});  // all that it was merged into
  CHECK(refusal(net2_of(R"({"type":"Physical Partition Key Range Id","value":"9"})")) ==
        "unknown_range: .NET: FeedRange.value: no partition has or had the id 9");
}

TEST_CASE("what .NET's version 2 does not write is refused, with the member") {
  auto const epk = [](std::string_view value) {
    return net2_of(R"({"type":"Effective Partition Key Range","value":)" + std::string{value} +
                   "}");
  };
  CHECK(refusal(epk(R"({"min":"20","max":"20"})")) ==
        "invalid_range: .NET: FeedRange.value: there is no token from "
        "20000000000000000000000000000000 on and before 20000000000000000000000000000000");
  CHECK(refusal(epk(R"({"min":"20"})")) == "malformed: .NET: max: it is missing");
  CHECK(refusal(epk(R"({"min":"2G","max":"FF"})")) ==
        "malformed: .NET: FeedRange.value: not a hexadecimal digit");
  CHECK(
      refusal(epk(R"({"min":"41","max":"FF"})")).starts_with("not_representable: .NET: FeedRange"));
  CHECK(
      refusal(epk(R"({"min":"FF","max":"FF"})")).starts_with("not_representable: .NET: FeedRange"));
  CHECK(refusal(epk("[]")) ==
        "malformed: .NET: FeedRange.value: expected an object, found an array");
  CHECK(refusal(net2_of(R"({"type":"Else","value":""})"))
            .starts_with("unsupported: .NET: FeedRange.type"));
  CHECK(refusal(net2_of(R"({"type":"Logical Partition Key","value":["a"]})")) ==
        "malformed: .NET: FeedRange.value: expected a string, found an array");
  CHECK(refusal(net2_of(R"({"type":"Logical Partition Key","value":"[[]]"})")) ==
        "not_a_key: .NET: FeedRange.value: an array is no key value");
  auto const all = R"({"type":"Effective Partition Key Range","value":{"min":"","max":"FF"}})";
  CHECK(refusal(net2_of(all, R"({"type":"later"})")).starts_with("unsupported: .NET: State.type"));
  CHECK(refusal(net2_of(all, R"({"type":"time","value":"yesterday"})"))
            .starts_with("malformed: .NET: State.value: expected a moment"));
  CHECK(refusal(net2_of(all, R"({"type":"continuation","value":7})")) ==
        "malformed: .NET: State.value: expected a string, found a number");
  CHECK(refusal(net2_of(all, R"({"type":"continuation","value":""})")) ==
        "malformed: .NET: State.value: it is empty");
  CHECK(refusal(net2_of(all, R"({"type":"continuation"})")) ==
        "malformed: .NET: State.value: it is missing");
  CHECK(refusal(R"({"V":3,"Rid":"r","Continuation":[]})") ==
        "unsupported: .NET: V: versions 0 and 2 are read, this is 3");
  CHECK(refusal(R"({"V":2,"Continuation":[]})") == "malformed: .NET: Rid: it is missing");
  CHECK(refusal(R"({"V":2,"Rid":"","Continuation":[]})") == "malformed: .NET: Rid: it is empty");
  CHECK(refusal(R"({"V":2,"Rid":"r"})") == "malformed: .NET: Continuation: it is missing");
  CHECK(refusal(R"({"V":2,"Rid":"r","Continuation":[]})") ==
        "malformed: .NET: Continuation: it is empty");
  CHECK(refusal(R"({"V":2,"Rid":"r","Continuation":{}})") ==
        "malformed: .NET: Continuation: expected an array, found an object");
}

TEST_CASE("a cursor reads one key or ranges, not some of each") {
  auto const key =
      R"({"FeedRange":{"type":"Logical Partition Key","value":"[1]"},"State":{"type":"now"}})";
  auto const range =
      R"({"FeedRange":{"type":"Effective Partition Key Range","value":{"min":"","max":"01"}},)"
      R"("State":{"type":"now"}})";
  for (auto const& [first, second] :
       {std::pair{key, key}, std::pair{key, range}, std::pair{range, key}})
    CHECK(refusal(R"({"V":2,"Rid":"r","Continuation":[)" + std::string{first} + "," + second +
                  "]}") ==
          "unsupported: .NET: FeedRange: a cursor reads one key, or ranges; this has more");
}

TEST_CASE("two entries that read the same are refused") {
  auto const entry = [](std::string_view id) {
    return R"({"FeedRange":{"type":"Physical Partition Key Range Id","value":")" + std::string{id} +
           R"("},"State":{"type":"now"}})";
  };
  auto const both = [&](std::string_view a, std::string_view b) {
    return refusal(R"({"V":2,"Rid":"r","Continuation":[)" + entry(a) + "," + entry(b) + "]}");
  };
  CHECK(both("3", "3").starts_with("overlap: .NET: two parts both read 10"));
  CHECK(both("2", "0").starts_with("overlap: .NET: "));
  CHECK(both("5", "6").starts_with("overlap: .NET: "));  // they have become one
  // Ids that are repeated without end make no more parts than there are partitions.
  std::string many = entry("0");
  for (int i = 0; i < 1000; ++i) many += "," + entry("0");
  CHECK(refusal(R"({"V":2,"Rid":"r","Continuation":[)" + many + "]}") ==
        "overlap: .NET: FeedRange: a partition is read twice");
}

// .NET, version 1.

TEST_CASE("the older form of .NET is read") {
  v2_cursor expected{.container = "r", .scheme = "cosmos_v2"};
  expected.parts.push_back({{at("10"), at("20")}, continuation{"\"5\""}});
  expected.parts.push_back({{at(""), at("10")}, from_beginning});
  auto const tokens = R"("Continuation":[{"token":"\"5\"","range":{"min":"10","max":"20"}},)"
                      R"({"token":null,"range":{"min":"","max":"10"}}])";
  CHECK(reading(R"({"V":0,"Rid":"r",)" + std::string{tokens} +
                R"(,"Range":{"min":"","max":"FF"}})") == expected);
  CHECK(reading(R"({"Rid":"r",)" + std::string{tokens} + R"(,"PKRangeId":"gone for ever"})") ==
        expected);
  // After a split .NET keeps all of a child; only what was asked for is read.
  expected.parts.front() = {{at("10"), at("18")}, continuation{"\"5\""}};
  expected.parts.back() = {{at("08"), at("10")}, from_beginning};
  CHECK(reading(R"({"V":0,"Rid":"r",)" + std::string{tokens} +
                R"(,"Range":{"min":"08","max":"18"}})") == expected);
  CHECK(
      refusal(R"({"V":0,"Rid":"r",)" + std::string{tokens} + R"(,"Range":{"min":"08","max":"10"}})")
          .starts_with("invalid_range: .NET: range: what begins at 10"));

  auto const token = keyspan::token_of(cosmos_v2, "a");
  auto const point = std::string{token.to_hex().view()};
  auto const keyed = [&](std::string_view key) {
    return reading(R"({"V":0,"Rid":"r","Continuation":[{"token":"\"5\"","range":{"min":")" + point +
                   R"(","max":")" + point + R"("}}],"PK":)" + std::string{key} + "}");
  };
  CHECK(keyed(R"("[\"a\"]")").key == partition_key{"a"});
  CHECK(keyed(R"("[\"a\"]")").parts ==
        parts{{{token, cosmos_v2.successor(token)}, continuation{"\"5\""}}});
  CHECK(keyed(R"("None")").key == partition_key{undefined});
  CHECK(keyed(R"("[]")").key == partition_key{});
  CHECK(keyed(R"("[]")").parts.front().range == v2_range{at(""), token128{0, 1}});
}

TEST_CASE("what contradicts itself is refused, and named") {
  auto const elsewhere = [](std::string_view list) {
    return refusal(R"({"V":0,"Rid":"r","Continuation":)" + std::string{list} +
                   R"(,"PK":"[\"redmond\"]"})");  // 22E3...
  };
  CHECK(elsewhere(R"([{"token":"x","range":{"min":"","max":"10"}},)"
                  R"({"token":"y","range":{"min":"30","max":"FF"}}])") ==
        "invalid_range: .NET: Continuation: none of its ranges holds the key");
  CHECK(elsewhere("[]") == "malformed: .NET: Continuation: it is empty");
  CHECK(refusal(R"({"V":0,"Rid":"r","Continuation":[{"token":"x","range":{"min":"","max":"FF"}}],)"
                R"("Range":{"min":"","max":"FF"},"PK":"[\"a\"]"})") ==
        "malformed: .NET: it has more than one of Range, PK and PKRangeId");
}

TEST_CASE("bounds that count in or out become ranges that are half open") {
  auto const range = [](std::string_view json) {
    return reading(R"({"V":0,"Rid":"r","Continuation":[{"token":"x","range":)" + std::string{json} +
                   "}]}")
        .parts.front()
        .range;
  };
  auto const next = *cosmos_v2.from_hex("20000000000000000000000000000001");
  CHECK(range(R"({"min":"20","max":"20","isMaxInclusive":true})") == v2_range{at("20"), next});
  CHECK(range(R"({"min":"20","max":"20","isMinInclusive":true,"IsMaxInclusive":true})") ==
        v2_range{at("20"), next});
  CHECK(range(R"({"isMinInclusive":false,"min":"20","max":"30"})") == v2_range{next, at("30")});
  CHECK(range(R"({"IsMinInclusive":false,"min":"20","max":"30","isMaxInclusive":false})") ==
        v2_range{next, at("30")});
  CHECK(range(R"({"min":"20","max":"FF","isMaxInclusive":true})") == v2_range{at("20"), space_end});
  CHECK(range(R"({"min":"20","max":"ff"})") == v2_range{at("20"), space_end});
  auto const refused = [](std::string_view json) {
    return refusal(R"({"V":0,"Rid":"r","Continuation":[{"token":"x","range":)" + std::string{json} +
                   "}]}");
  };
  CHECK(refused(R"({"min":"20","max":"20000000000000000000000000000001","isMinInclusive":false})")
            .starts_with("invalid_range: .NET: range"));
  CHECK(
      refused(R"({"min":"3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF","max":"FF","isMinInclusive":false})") ==
      "invalid_range: .NET: range: no token lies behind the last one");
  CHECK(refused(R"({"min":"20","max":"FF","isMaxInclusive":"yes"})") ==
        "malformed: .NET: isMaxInclusive: expected a boolean, found a string");
}

// Java.

std::string java(std::string_view start, std::string_view tail,
                 std::string_view mode = "INCREMENTAL") {
  return R"({"V":1,"Rid":"r","Mode":")" + std::string{mode} + R"(","StartFrom":)" +
         std::string{start} + "," + std::string{tail} + "}";
}
constexpr std::string_view java_tail =
    R"("Continuation":{"V":1,"Rid":"r","Continuation":[)"
    R"({"token":"\"3\"","range":{"min":"","max":"20","isMinInclusive":true}},)"
    R"({"token":null,"range":{"min":"20","max":"FF"}}],"Range":{"min":"","max":"FF"}})";

TEST_CASE("Java's states are read, in either alphabet of base64, padded or not") {
  v2_cursor expected{.container = "r", .scheme = "cosmos_v2"};
  expected.parts.push_back({{at(""), at("20")}, continuation{"\"3\""}});
  expected.parts.push_back({{at("20"), space_end}, from_beginning});
  auto const text = java(R"({"Type":"BEGINNING"})", java_tail);
  CHECK(reading(text) == expected);
  CHECK(reading(base64(text)) == expected);
  CHECK(reading(base64(text, base64_form::url)) == expected);

  expected.parts.back().from = from_now;
  CHECK(reading(base64(java(R"({"Type":"NOW"})", java_tail))) == expected);
  auto const moment = from_time{ms(1'700'000'000'001)};
  expected.parts.front().from = {moment, "\"3\""};
  expected.parts.back().from = moment;
  CHECK(reading(java(R"({"Type":"POINT_IN_TIME","PointInTimeMs":1700000000001})", java_tail)) ==
        expected);
  expected.parts.front().from = continuation{"\"3\""};
  expected.parts.back().from = continuation{"\"99\""};
  CHECK(reading(java(R"({"Type":"LEASE","Etag":"\"99\"","Range":{"min":"","max":"FF"}})",
                     java_tail)) == expected);

  CHECK(reading(java(R"({"Type":"BEGINNING"})", java_tail, "FULL_FIDELITY")).mode ==
        feed_mode::all_versions_and_deletes);
  CHECK(reading(java(R"({"Type":"BEGINNING"})", java_tail, "incremental")).mode ==
        feed_mode::latest_version);
}

TEST_CASE("a state of Java that was not read yet has its range outside") {
  auto const start = R"({"Type":"NOW"})";
  CHECK(reading(java(start, R"("Range":{"min":"10","max":"20"})")).parts ==
        parts{{{at("10"), at("20")}, from_now}});
  auto const key = reading(java(start, R"("PK":["a"])"));
  CHECK(key.key == partition_key{"a"});
  CHECK(key.parts.size() == 1);
  CHECK(reading(java(start, R"("PKRangeId":"2")")).parts.size() == 2);
  CHECK(refusal(java(start, R"("PKRangeId":"M")")) ==
        "unknown_range: Java: PKRangeId: no partition has or had the id M");
  CHECK(refusal(java(start, R"("Other":1)")) ==
        "malformed: Java: Continuation: it is missing, and no range stands there");
}

TEST_CASE("what Java does not write is refused, with the member") {
  CHECK(refusal(java(R"({"Type":"BEGINNING"})", java_tail, "SOME")) ==
        "unsupported: Java: Mode: there is incremental and full fidelity, not SOME");
  CHECK(refusal(java(R"({"Type":"SOMEWHERE"})", java_tail)) ==
        "unsupported: Java: StartFrom: its Type is none that is known: SOMEWHERE");
  CHECK(refusal(java(R"({"Type":"POINT_IN_TIME"})", java_tail)) ==
        "malformed: Java: PointInTimeMs: it is missing");
  CHECK(refusal(java(R"({"Type":"LEGACY_CHECKPOINT"})", java_tail)) ==
        "unsupported: Java: token: a range was not read since a checkpoint of an old kind");
  auto const read_since = std::string{java_tail}.replace(java_tail.find("null"), 4, R"("\"4\"")");
  CHECK(reading(java(R"({"Type":"LEGACY_CHECKPOINT"})", read_since)).parts[1].from ==
        continuation{"\"4\""});
  CHECK(refusal(R"({"V":2,"Rid":"r","Mode":"INCREMENTAL","StartFrom":{"Type":"NOW"},)"
                R"("Range":{"min":"","max":"FF"}})") ==
        "unsupported: Java: V: version 1 is read, this is 2");
  auto const other = std::string{java_tail}.replace(java_tail.find("\"r\""), 3, "\"s\"");
  CHECK(refusal(java(R"({"Type":"NOW"})", other)) ==
        "malformed: Java: Rid: the text names two containers, r and s");
}

// Python.

std::string python(std::string_view mode, std::string_view start, std::string_view scope) {
  return R"({"v": "v2", "containerRid": "r", "mode": ")" + std::string{mode} +
         R"(", "startFrom": )" + std::string{start} +
         R"(, "continuation": {"v": "v2", "rid": "r", "continuation": [)"
         R"({"token": "\"3\"", "range": {"min": "", "max": "20", "isMinInclusive": true, )"
         R"("isMaxInclusive": false}}, )"
         R"({"token": null, "range": {"min": "20", "max": "FF", "isMinInclusive": true, )"
         R"("isMaxInclusive": false}}], )" +
         std::string{scope} + "}}";
}
constexpr std::string_view python_all =
    R"("Range": {"min": "", "max": "FF", "isMinInclusive": true, "isMaxInclusive": false}, )"
    R"("Container": "dbs/d/colls/c")";

TEST_CASE("Python's states are read, whatever they call the mode") {
  v2_cursor expected{.container = "r", .scheme = "cosmos_v2"};
  expected.parts.push_back({{at(""), at("20")}, continuation{"\"3\""}});
  expected.parts.push_back({{at("20"), space_end}, from_now});
  for (std::string_view const mode : {"LatestVersion", "Incremental", "Incremental Feed"})
    CHECK(reading(base64(python(mode, R"({"Type": "Now"})", python_all))) == expected);
  expected.mode = feed_mode::all_versions_and_deletes;
  for (std::string_view const mode : {"AllVersionsAndDeletes", "Full-Fidelity Feed"})
    CHECK(reading(base64(python(mode, R"({"Type": "Now"})", python_all))) == expected);
  auto const moment = from_time{ms(1'700'000'000'001)};
  expected.parts.front().from = {moment, "\"3\""};
  expected.parts.back().from = moment;
  CHECK(reading(python("AllVersionsAndDeletes",
                       R"({"Type": "PointInTime", "PointInTimeMs": 1700000000001})", python_all)) ==
        expected);
}

TEST_CASE("versions are looked at inside as well") {
  CHECK(refusal(java(R"({"Type":"BEGINNING"})",
                     R"("Continuation":{"V":2,"Rid":"r","Continuation":[]})")) ==
        "unsupported: Java: V: version 1 is read, this is 2");
  CHECK(
      refusal(R"({"v":"v2","containerRid":"r","mode":"LatestVersion",)"
              R"("startFrom":{"Type":"Beginning"},"continuation":{"v":"v9","continuation":[]}})") ==
      "unsupported: Python: v: version v2 is read, this is v9");
}

TEST_CASE("a lease without a text begins at the beginning") {
  CHECK(reading(java(R"({"Type":"LEASE","Etag":""})", R"("Range":{"min":"","max":"FF"})"))
            .parts.front()
            .from == from_beginning);
}

TEST_CASE("of Python's children only what was asked for is read") {
  auto const clamped = reading(python(
      "LatestVersion", R"({"Type": "Beginning"})",
      R"("Range": {"min": "18", "max": "28", "isMinInclusive": true, "isMaxInclusive": false})"));
  CHECK(clamped.parts == parts{{{at("18"), at("20")}, continuation{"\"3\""}},
                               {{at("20"), at("28")}, from_beginning}});
  // A key lies in one child alone.
  auto const token = keyspan::token_of(cosmos_v2, "redmond");  // 22E3...
  auto const keyed =
      reading(python("LatestVersion", R"({"Type": "Beginning"})", R"("PK": "redmond")"));
  CHECK(keyed.key == partition_key{"redmond"});
  CHECK(keyed.parts == parts{{{token, cosmos_v2.successor(token)}, from_beginning}});
}

TEST_CASE("Python's keys stand as values, alone or in an array") {
  auto const key = [](std::string_view json) {
    return *reading(python("LatestVersion", R"({"Type": "Beginning"})",
                           R"("PK": )" + std::string{json}))
                .key;
  };
  CHECK(key(R"("a")") == partition_key{"a"});
  CHECK(key(R"("None")") == partition_key{"None"});
  CHECK(key("5") == partition_key{5});
  CHECK(key("true") == partition_key{true});
  CHECK(key("null") == partition_key{null});
  CHECK(key(R"(["a", 2])") == partition_key{"a", 2});
  CHECK(key("[{}]") == partition_key{undefined});
}

TEST_CASE("what Python does not write is refused, with the member") {
  CHECK(refusal(R"({"v":"v1","containerRid":"r"})")
            .starts_with("unsupported: Python: v: version v2 is read"));
  CHECK(refusal(R"({"v":"v2","containerRid":"r","startFrom":{"Type":"Now"}})") ==
        "malformed: Python: continuation: it is missing");
  CHECK(refusal(R"({"v":"v2","startFrom":{"Type":"Now"}})") ==
        "malformed: Python: containerRid: it is missing");
  CHECK(refusal(python("Everything", R"({"Type": "Now"})", python_all))
            .starts_with("unsupported: Python: mode"));
}

// JavaScript and Go.

TEST_CASE("JavaScript's and Go's positions are read") {
  v2_cursor expected{.container = "r", .scheme = "cosmos_v2"};
  expected.parts.push_back({{at("10"), at("20")}, continuation{"\"5\""}});
  expected.parts.push_back({{at("20"), space_end}, from_beginning});
  auto const entries =
      std::string{R"([{"minInclusive":"10","maxExclusive":"20","continuationToken":"\"5\""},)"
                  R"({"minInclusive":"20","maxExclusive":"FF"}])"};
  CHECK(reading(R"({"rid":"r","Continuation":)" + entries + "}") == expected);
  CHECK(reading(R"({"version":1,"resourceId":"r","continuation":)" + entries + "}") == expected);
  CHECK(reading(R"({"resourceId":"r","continuation":)" + entries + "}") == expected);
  CHECK(refusal(R"({"version":2,"resourceId":"r","continuation":)" + entries + "}") ==
        "unsupported: Go: version: version 1 is read, this is 2");
  CHECK(refusal(R"({"rid":"r","Continuation":[{"minInclusive":"10"}]})") ==
        "malformed: JavaScript: maxExclusive: it is missing");
}

TEST_CASE("of JavaScript's partitions only the part is read that it asks for") {
  auto const entry = [](std::string_view first, std::string_view last) {
    return R"({"rid":"r","Continuation":[{"minInclusive":"10","maxExclusive":"20",)"
           R"("continuationToken":"x",)"
           R"("epkMinHeader":")" +
           std::string{first} + R"(","epkMaxHeader":")" + std::string{last} + "\"}]}";
  };
  CHECK(reading(entry("12", "14")).parts.front().range == v2_range{at("12"), at("14")});
  CHECK(reading(entry("08", "14")).parts.front().range == v2_range{at("10"), at("14")});
  CHECK(refusal(entry("22", "24"))
            .starts_with("invalid_range: JavaScript: epkMinHeader: what begins at 22"));
}

TEST_CASE("JavaScript's and Go's positions of a key are read") {
  auto const token = keyspan::token_of(cosmos_v2, "a");
  v2_cursor const expected{
      .container = "r",
      .scheme = "cosmos_v2",
      .key = partition_key{"a"},
      .parts = {{{token, cosmos_v2.successor(token)}, continuation{"\"14\""}}}};
  CHECK(reading(R"({"rid":"r","partitionKey":"a","Continuation":"\"14\""})") == expected);
  CHECK(reading(R"({"rid":"r","partitionKey":["a"],"Continuation":"\"14\""})") == expected);
  CHECK(reading(R"({"resourceId":"r","partitionKey":["a"],"continuation":"\"14\""})") == expected);
  CHECK(reading(R"({"rid":"r","partitionKey":null,"Continuation":"x"})").key ==
        partition_key{null});
  CHECK(refusal(R"({"rid":"r","partitionKey":[[]],"Continuation":"x"})") ==
        "not_a_key: JavaScript: partitionKey: an array is no key value");
}

// All of them.

TEST_CASE("what is no position of an SDK is told apart") {
  CHECK(refusal(R"({"keyspan":1})").starts_with("unsupported: this is a cursor of keyspan"));
  CHECK(refusal(R"({"Range":{"min":"","max":"FF"}})")
            .starts_with("unsupported: this is a feed range"));
  CHECK(refusal(R"({"a":1})").starts_with("malformed: this is JSON, but no continuation"));
  CHECK(refusal("\"12\"").starts_with("malformed: the text is neither JSON nor base64 of it"));
  CHECK(refusal("").starts_with("malformed at line 1") == false);
  CHECK(refusal("").starts_with("malformed: "));
  CHECK(refusal("{\n \"V\":2,}").starts_with("malformed at line 2, column 8: "));
  CHECK(refusal(base64("{\n \"V\":2,}")).starts_with("malformed: expected"));
  CHECK(refusal(base64("[1]")).starts_with("malformed: expected an object"));
  CHECK(refusal(R"({"V":2,"V":2})").find("expected each name once") != std::string::npos);
}

TEST_CASE("a feed range of each SDK is a scope") {
  using scope = keyspan::feed_scope<token128>;
  auto const read = [](std::string_view text) {
    auto const found = foreign_feed_range(known(), text);
    if (!found) FAIL(found.error() << " in " << text);
    return *found;
  };
  auto const refused = [](std::string_view text) {
    return std::string{foreign_feed_range(known(), text).error().to_text().view()};
  };
  scope const range = v2_range{at("10"), space_end};
  CHECK(read(R"({"Range":{"min":"10","max":"FF"}})") == range);
  CHECK(read(base64(
            R"({"Range":{"min":"10","max":"FF","isMinInclusive":true,"isMaxInclusive":false}})")) ==
        range);
  CHECK(read(base64(R"({"Range":{"min":"10","max":"FF"}})", base64_form::url)) == range);
  CHECK(read(R"({"minInclusive":"10","maxExclusive":"FF"})") == range);
  CHECK(read(R"({"min":"10","max":"FF"})") == range);
  CHECK(read(R"({"type":"Effective Partition Key Range","value":{"min":"10","max":"FF"}})") ==
        range);
  CHECK(read(R"({"PK":"[\"a\"]"})") == scope{partition_key{"a"}});
  CHECK(read(R"({"PK":"None"})") == scope{partition_key{undefined}});
  CHECK(read(base64(R"({"PK":["a"]})")) == scope{partition_key{"a"}});
  CHECK(read(base64(R"({"PK":"None"})")) == scope{partition_key{"None"}});
  CHECK(read(base64(R"({"PK":[{}]})")) == scope{partition_key{undefined}});
  CHECK(read(R"({"PKRangeId":"3"})") == scope{v2_range{at("10"), at("18")}});
  CHECK(read(R"({"PKRangeId":"2"})") == scope{v2_range{at("10"), at("20")}});
  CHECK(read(R"({"PKRangeId":"0"})") == scope{v2_range{at(""), at("20")}});
  CHECK(refused(R"({"PKRangeId":"8"})") ==
        "unknown_range: feed range: PKRangeId: no partition has or had the id 8");
  CHECK(refused(net2).starts_with("unsupported: this is a continuation"));
  CHECK(refused(java(R"({"Type":"NOW"})", R"("Range":{"min":"","max":"FF"})"))
            .starts_with("unsupported: this is a continuation"));
  CHECK(refused("{}").starts_with("malformed: a feed range has a member"));
  CHECK(refused(R"({"Range":{"min":"","max":"FF"},"PK":"[\"a\"]"})") ==
        "malformed: feed range: it has more than one of Range, PK and PKRangeId");
  CHECK(refused(R"({"Range":{"min":"10"}})") == "malformed: feed range: max: it is missing");
  CHECK(refused(R"({"PK":"a"})").starts_with("malformed: feed range: PK: "));
}

TEST_CASE("a partition whose descendants lie apart is no single range") {
  // 1 gave its middle away to a merge that a test makes up.
  std::vector<v2_partition> list;
  list.push_back({"2", {at(""), at("10")}, {"1"}});
  list.push_back({"3", {at("10"), at("20")}, {}});
  list.push_back({"4", {at("20"), space_end}, {"1"}});
  auto const apart = *keyspan::routing_of(cosmos_v2, std::move(list));
  CHECK(foreign_feed_range(apart, R"({"PKRangeId":"1"})").error().code == errc::gap);
  CHECK(foreign_cursor(apart, net2_of(R"({"type":"Physical Partition Key Range Id","value":"1"})"))
            ->parts.size() == 2);
}

TEST_CASE("with the paths known, fewer values are a prefix, and more are refused") {
  any_scheme const scheme{cosmos_multihash};
  auto const all = *keyspan::routing_of(
      scheme, {keyspan::partition<keyspan::any_token>{"0", keyspan::whole_space(scheme)}});
  auto const text = java(R"({"Type":"NOW"})", R"("PK":["a"])");
  auto const prefix = foreign_cursor(all, text, 2);
  CHECK(!prefix->key);
  CHECK(prefix->scheme == "cosmos_multihash");
  auto const bounds = *keyspan::prefix_bounds(scheme, "a", 2);
  CHECK(prefix->parts.front().range == token_range{bounds});
  CHECK(foreign_feed_range(all, R"({"PK":"[\"a\"]"})", 2) ==
        keyspan::feed_scope<keyspan::any_token>{key_prefix{partition_key{"a"}, 2}});
  CHECK(foreign_cursor(all, text, 1)->key == partition_key{"a"});
  CHECK(foreign_cursor(all, text)->key == partition_key{"a"});
  // Where the paths are not told, the range holds all keys that begin so.
  CHECK(foreign_cursor(all, text)->parts.front().range.contains(
      keyspan::token_of(scheme, partition_key{"a", "b"}).value()));
  auto const longer = foreign_cursor(all, java(R"({"Type":"NOW"})", R"("PK":["a","b","c"])"), 2);
  CHECK(longer.error().code == errc::key_mismatch);
  CHECK(foreign_cursor(known(), text, 2).error().code == errc::key_mismatch);  // no hierarchy
  CHECK(foreign_cursor(all, java(R"({"Type":"NOW"})", R"("PK":[])")).has_value());
  // Whoever asks for the scope of a key without values gets one, in a hierarchy as well.
  auto const empty = *foreign_feed_range(all, R"({"PK":"[]"})");
  CHECK(keyspan::scope_of(scheme, empty)->range.lower() == scheme.minimum());
  CHECK(foreign_cursor(all, java(R"({"Type":"NOW"})", R"("PK":[])"), 3)->parts.front().range ==
        keyspan::whole_space(scheme));
  CHECK(test::promise_broken_by([&] { return foreign_cursor(all, text, 4); }) ==
        "a container's key has at most three paths");
}

TEST_CASE("every scheme with tokens in hexadecimal is read") {
  auto const whole = [](auto const& scheme, std::string_view range) {
    using token_type = keyspan::token_of_scheme<std::decay_t<decltype(scheme)>>;
    auto const all = *keyspan::routing_of(
        scheme, {keyspan::partition<token_type>{"0", keyspan::whole_space(scheme)}});
    auto const read =
        foreign_cursor(all, R"({"rid":"r","Continuation":[)" + std::string{range} + "]}");
    if (!read) FAIL(read.error());
    using cursor_type = composite_cursor<token_type>;
    CHECK(cursor_type::from_text(scheme, read->to_text()) == *read);
    auto const key = foreign_cursor(all, R"({"rid":"r","partitionKey":"a","Continuation":"x"})");
    CHECK(key->parts.front().range.contains(
        keyspan::result<token_type>{keyspan::token_of(scheme, "a")}.value()));
  };
  whole(cosmos_v1, R"({"minInclusive":"05C1D7","maxExclusive":"FF"})");
  whole(cosmos_multihash,
        R"({"minInclusive":"","maxExclusive":"20000000000000000000000000000000"})");
  whole(any_scheme{cosmos_v1}, R"({"minInclusive":"","maxExclusive":"05C1E0"})");
  whole(keyspan::identity, R"({"minInclusive":"","maxExclusive":"0661"})");
}

TEST_CASE("texts of SDKs with bytes changed never break a promise") {
  test::random random{22};
  std::vector<std::string> const seeds{std::string{net2}, java(R"({"Type":"NOW"})", java_tail),
                                       python("Incremental", R"({"Type": "Now"})", python_all)};
  auto const now = known();
  std::size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto text = random.pick(seeds);
    for (auto left = 1 + random.below(4); left > 0; --left)
      text[random.below(text.size())] = text[random.below(text.size())];
    auto const read = foreign_cursor(now, random.chance(20) ? base64(text) : text);
    if (read) {
      CHECK(v2_cursor::from_text(cosmos_v2, read->to_text()) == *read);
    } else {
      ++refused;
      CHECK(!read.error().text.empty());
    }
  }
  CHECK(refused > 10'000);
}

}  // namespace
