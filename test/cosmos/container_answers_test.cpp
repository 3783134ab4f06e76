// test/cosmos/container_answers_test.cpp — containers and their partitions, as the service and its
// emulators describe them, and as a proxy would.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/key_path.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/transport/message.hpp>

#include <support/check.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::any_scheme;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::response;
using keyspan::cosmos::container_in;
using keyspan::cosmos::partitions_in;
using test::check;

response answered(std::string body, std::uint16_t status = 200, std::string etag = "\"8\"") {
  response made;
  made.status = status;
  made.body = std::move(body);
  if (!etag.empty()) made.headers.set("etag", etag);
  return made;
}
std::string container_of(std::string key) {
  return R"({"id":"reviews","indexingPolicy":{"automatic":true,"paths":[{"path":"/*"}]},)" +
         (key.empty() ? "" : "\"partitionKey\":" + key + ",") +
         R"("_rid":"abc=","_ts":1700000000,"_etag":"\"1\"","_docs":"docs\/"})";
}

TEST_CASE("a container says where its keys are, and how they are hashed") {
  struct row {
    std::string_view key;
    any_scheme scheme;
    std::vector<std::string> paths;
  };
  for (auto const& [key, scheme, paths] :
       {row{R"({"paths":["/city"],"kind":"Hash","version":2})", keyspan::cosmos_v2, {"/city"}},
        row{R"({"paths":["/a/b"],"kind":"Hash","version":1})", keyspan::cosmos_v1, {"/a/b"}},
        row{R"({"paths":["/city"],"kind":"Hash"})", keyspan::cosmos_v1, {"/city"}},
        row{R"({"paths":["/city"]})", keyspan::cosmos_v1, {"/city"}},
        row{R"({"paths":["/t","/u","/\"a b\""],"kind":"MultiHash","version":2})",
            keyspan::cosmos_multihash,
            {"/t", "/u", "/\"a b\""}},
        row{"", keyspan::cosmos_v1, {}}}) {
    auto const made = container_in(answered(container_of(std::string{key})));
    REQUIRE(made.has_value());
    CHECK(made->id == "reviews");
    CHECK(made->resource_id == "abc=");
    CHECK(made->scheme == scheme);
    REQUIRE(made->paths.size() == paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i)
      CHECK(made->paths[i] == keyspan::key_path::parse(paths[i]));
    CHECK_FALSE(made->is_system_key);
  }
  CHECK(container_in(answered(container_of(R"({"paths":["/_pk"],"systemKey":true})")))
            ->is_system_key);
}

TEST_CASE("what is no container, or one of a kind that is not known, is refused") {
  auto const refused = [](std::string body) { return container_in(answered(body)).error().code; };
  CHECK(refused("<html>") == errc::bad_response);
  CHECK(refused("") == errc::bad_response);
  CHECK(refused("[]") == errc::bad_response);
  CHECK(refused("{}") == errc::bad_response);
  CHECK(refused(R"({"id":"a"})") == errc::bad_response);
  CHECK(refused(container_of(R"({"kind":"Hash"})")) == errc::bad_response);
  CHECK(refused(container_of(R"({"paths":["/a"],"kind":"Range"})")) == errc::unsupported);
  CHECK(refused(container_of(R"({"paths":["/a"],"kind":"Hash","version":3})")) ==
        errc::unsupported);
  CHECK(refused(container_of(R"({"paths":["a"],"kind":"Hash","version":2})")) == errc::malformed);
  auto const gone = container_in(answered(R"({"code":"NotFound"})", 404));
  CHECK(gone.error().code == errc::not_found);
  auto const whole = container_of("");
  auto const odd = container_in(answered(whole + " and more"));
  CHECK(odd.error().wire.status == 200);
  CHECK(odd.error().position.offset == whole.size() + 1);
}

TEST_CASE("partitions are read with all that they came from, and make a map") {
  auto const made = partitions_in(cosmos_v2, answered(R"({"_rid":"abc=","PartitionKeyRanges":[
    {"id":"1","minInclusive":"","maxExclusive":"1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF","parents":["0"],
     "status":"online","ridPrefix":1,"throughputFraction":0.5,"_lsn":12},
    {"id":"2","minInclusive":"1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF","maxExclusive":"FF",
     "parents":["0"]}],"_count":2})"));
  REQUIRE(made.has_value());
  CHECK(made->version == "\"8\"");
  CHECK_FALSE(made->not_modified);
  REQUIRE(made->partitions.size() == 2);
  CHECK(made->partitions[0].id == "1");
  CHECK(made->partitions[0].parents == std::vector<std::string>{"0"});
  keyspan::routing_refresh refresh{cosmos_v2};
  refresh.take(*made);
  CHECK(refresh.wants_page());
  auto const last = partitions_in(cosmos_v2, answered("", 304, "\"9\""));
  REQUIRE(last.has_value());
  refresh.take(*last);
  REQUIRE_FALSE(refresh.wants_page());
  REQUIRE(refresh.outcome().has_value());
  CHECK((*refresh.outcome())->size() == 2);
}

TEST_CASE("what is not modified says nothing else, whatever its body says") {
  auto const made = partitions_in(cosmos_v2, answered("<html>", 304, ""));
  REQUIRE(made.has_value());
  CHECK(made->not_modified);
  CHECK(made->version.empty());
  CHECK(made->partitions.empty());
}

TEST_CASE("ids that are numbers are taken, and partitions that are not for documents left out") {
  auto const made = partitions_in(cosmos_v2, answered(R"({"PartitionKeyRanges":[
    {"id":0,"minInclusive":"","maxExclusive":"FF","parents":null},
    {"id":"M","minInclusive":"","maxExclusive":"FF"}]})"));
  REQUIRE(made.has_value());
  REQUIRE(made->partitions.size() == 1);
  CHECK(made->partitions[0].id == "0");
  CHECK(made->partitions[0].parents.empty());
}

TEST_CASE("what is no list of partitions is refused, with what is wrong") {
  auto const refused = [](std::string body) {
    auto const made = partitions_in(cosmos_v2, answered(std::move(body)));
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().code == errc::bad_response);
    return std::string{made.error().text.view()};
  };
  CHECK(refused("{}") == "the member \"PartitionKeyRanges\" is missing");
  CHECK(refused(R"({"PartitionKeyRanges":[{"minInclusive":"","maxExclusive":"FF"}]})") ==
        "the member \"id\" is missing");
  CHECK(refused(R"({"PartitionKeyRanges":[{"id":"1","maxExclusive":"FF"}]})") ==
        "the member \"minInclusive\" is missing");
  CHECK(refused(R"({"PartitionKeyRanges":[{"id":"1","minInclusive":""}]})") ==
        "the member \"maxExclusive\" is missing");
  CHECK(refused(R"({"PartitionKeyRanges":[{"id":"7","minInclusive":"","maxExclusive":"XX"}]})")
            .starts_with("range 7: "));
  refused("<html>");
  refused(R"({"PartitionKeyRanges":7})");
  CHECK(partitions_in(cosmos_v2, answered("", 429)).error().code == errc::throttled);
}

TEST_CASE("the example of container_answers reads as it should") {
  auto const answer = answered(container_of(R"({"paths":["/city"],"kind":"Hash","version":2})"));
  auto const list =
      answered(R"({"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]})");
  // [region: example]
  auto const reviews = keyspan::cosmos::container_in(answer);
  check(reviews->scheme.name() == "cosmos_v2" && reviews->paths.size() == 1);

  auto const owners = keyspan::cosmos::partitions_in(reviews->scheme, list);
  check(owners->partitions.front().id == "0");
  // [end: example]
}

}  // namespace
