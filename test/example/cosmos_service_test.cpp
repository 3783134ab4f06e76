// test/example/cosmos_service_test.cpp — the service of docs/example/cosmos_service.hpp, in its own
// process: what it keeps, what it tells, and how it refuses.
#include <example/cosmos_service.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace keyspan::cosmos;
using cosmos_server::cosmos_service;
using cosmos_server::cosmos_service_options;
using keyspan::errc;
using keyspan::partition_key;
using keyspan::request;
using keyspan::response;
using texts = std::vector<std::string>;

constexpr std::string_view secret = "bm90IG11Y2ggb2YgYSBzZWNyZXQ=";
constexpr std::string_view other_secret = "YW5vdGhlciBzZWNyZXQgdGhhbiB0aGF0";
constexpr auto all_versions = keyspan::feed_mode::all_versions_and_deletes;
constexpr auto latest = keyspan::feed_mode::latest_version;

master_key key_of(std::string_view text) { return *master_key::from(text); }
container_address const orders = *container_address::from("shop", "orders");

std::string header(response const& of, std::string_view name) {
  return std::string{of.headers.find(name).value_or("")};
}
int substatus(response const& of) {
  auto const text = header(of, "x-ms-substatus");
  return text.empty() ? 0 : std::stoi(text);
}
// A status and its substatus, once the body says why.
std::pair<int, int> refusal(response const& of) {
  auto const said = keyspan::cosmos::detail::read_complaint(of.body);
  CHECK(said.has_value());
  if (said) CHECK_FALSE((said->code.empty() || said->message.empty()));
  return {of.status, substatus(of)};
}
using said = std::pair<int, int>;

// A service, a clock of its own, and who signs what is sent to it.
struct world {
  keyspan::wall_time now{std::chrono::sys_days{std::chrono::year{2026} / 11 / 19} + 12h};
  cosmos_service service;

  explicit world(std::size_t partitions = 1) : world{options_of(partitions)} {}
  explicit world(cosmos_service_options options)
      : service{[&] {
          options.now = [this] { return now; };
          return std::move(options);
        }()} {}
  world(world const&) = delete;
  world& operator=(world const&) = delete;

  static cosmos_service_options options_of(std::size_t partitions) {
    cosmos_service_options made{.key = key_of(secret)};
    made.partitions = partitions;
    return made;
  }

  response send(service_request what) {
    authorize(what.message, key_of(secret), what.about, what.link, now);
    return service.answer(what.message);
  }
  response send(service_request what, std::string_view name, std::string_view value) {
    what.message.headers.set(name, value);
    return send(std::move(what));
  }
  response post(std::string target, resource about, std::string link, std::string body,
                keyspan::header_list headers = {}) {
    return any("POST", std::move(target), about, std::move(link), std::move(body),
               std::move(headers));
  }
  response any(std::string method, std::string target, resource about, std::string link,
               std::string body = {}, keyspan::header_list headers = {}) {
    service_request made;
    made.message.method = std::move(method);
    made.message.target = std::move(target);
    made.message.body = std::move(body);
    made.message.headers = std::move(headers);
    made.about = about;
    made.link = std::move(link);
    return send(std::move(made));
  }
  response control(std::string words, std::string method = "POST") {
    return service.answer({.method = std::move(method),
                           .target = "/_control/dbs/shop/colls/orders" + std::move(words)});
  }

  // The database shop and in it orders, keyed by shop.
  world& filled(std::size_t count = 0,
                std::string definition = R"({"id":"orders","partitionKey":{"paths":["/shop"],)"
                                         R"("kind":"Hash","version":2}})",
                keyspan::header_list headers = {}) {
    CHECK(post("/dbs", resource::database, "", R"({"id":"shop"})").status == 201);
    CHECK(post("/dbs/shop/colls", resource::container, "dbs/shop", std::move(definition),
               std::move(headers))
              .status == 201);
    for (std::size_t i = 0; i < count; ++i) CHECK(write(i).status == 201);
    return *this;
  }
  static std::string shop(std::size_t i) { return "shop " + std::to_string(i); }
  response write(std::size_t i, std::string more = {}) {
    return send(upsert_document(
        orders, partition_key{shop(i)},
        R"({"id":"o-)" + std::to_string(i) + R"(","shop":")" + shop(i) + "\"" + more + "}"));
  }
  texts ranges() {
    auto const scheme = container_in(send(read_container(orders)))->scheme;
    auto const list = partitions_in(scheme, send(read_partitions(orders)));
    texts made;
    for (auto const& one : list->partitions) made.push_back(one.id);
    return made;
  }
};

texts ids_of(response const& page) {
  texts made;
  auto const all = documents_in(page);
  REQUIRE(all.has_value());
  for (auto const& one : all->documents) made.push_back(one.id);
  return made;
}
texts numbered(std::size_t from, std::size_t to) {
  texts made;
  for (std::size_t i = from; i < to; ++i) made.push_back("o-" + std::to_string(i));
  std::sort(made.begin(), made.end());
  return made;
}
texts sorted(texts all) {
  std::sort(all.begin(), all.end());
  return all;
}
// All pages of a list.
texts listed(world& in, page_target const& at, std::uint32_t most) {
  texts made;
  std::string continuation;
  do {
    auto const page =
        in.send(read_documents(orders, at, {.most = most, .continuation = continuation}));
    auto const ids = ids_of(page);
    CHECK(ids.size() <= most);
    made.insert(made.end(), ids.begin(), ids.end());
    continuation = header(page, "x-ms-continuation");
  } while (!continuation.empty());
  return made;
}
// All changes of a range until nothing is new, and where it was left.
std::pair<texts, std::string> changed(world& in, page_target const& at,
                                      keyspan::continuation behind = {}, std::uint32_t most = 3) {
  texts made;
  for (;;) {
    auto const page = in.send(read_changes(orders, at, behind, latest, {.most = most}));
    auto const etag = header(page, "etag");
    CHECK_FALSE(etag.empty());
    if (page.status == 304) return {made, etag};
    auto const ids = ids_of(page);
    made.insert(made.end(), ids.begin(), ids.end());
    behind.advance(etag);
  }
}

// ---- who may ask -------------------------------------------------------------------------------

TEST_CASE("the account says where it is") {
  auto options = world::options_of(1);
  options.endpoint = "http://127.0.0.1:4711/";
  world in{std::move(options)};
  auto const answer = in.send(read_account());
  CHECK(answer.status == 200);
  CHECK(answer.body.find(R"("writableLocations":[{"name":"Local",)"
                         R"("databaseAccountEndpoint":"http://127.0.0.1:4711/"}])") !=
        std::string::npos);
  CHECK(answer.body.find(R"("enableMultipleWriteLocations":false)") != std::string::npos);
  CHECK(answer.body.find(R"("defaultConsistencyLevel":"Session")") != std::string::npos);
  CHECK(header(answer, "content-type") == "application/json");
  CHECK(header(answer, "x-ms-activity-id").size() == 36);
  CHECK(header(answer, "x-ms-activity-id") != header(in.send(read_account()), "x-ms-activity-id"));
}

TEST_CASE("what is not signed, or wrongly, is refused") {
  world in;
  auto asked = read_account();
  CHECK(refusal(in.service.answer(asked.message)) == said{401, 0});
  for (std::string_view const wrong :
       {"nonsense", "type=master", "type%3Dresource%26ver%3D1%26sig%3Dabc", "%", "%4",
        "type%3Dmaster%26ver%3D1.0%26sig%3D", "type%3Daad%26ver%3D1.0%26sig%3Djwt"}) {
    CAPTURE(wrong);
    asked.message.headers.set("x-ms-date", http_date(in.now));
    asked.message.headers.set("authorization", wrong);
    CHECK(refusal(in.service.answer(asked.message)) == said{401, 0});
  }
  authorize(asked.message, key_of(other_secret), asked.about, asked.link, in.now);
  auto const answer = in.service.answer(asked.message);
  CHECK(refusal(answer) == said{401, 0});
  CHECK(answer.body.find("payload to sign") != std::string::npos);
  for (auto const* const hidden : {"bm90", "not much", "sig="})
    CHECK(answer.body.find(hidden) == std::string::npos);
}

TEST_CASE("a signature is good for its method, its kind, its link and its date") {
  world in;
  in.filled();
  auto const good = read_container(orders);
  CHECK(in.send(good).status == 200);
  auto const refused_if = [&](auto change) {
    auto asked = good;
    authorize(asked.message, key_of(secret), asked.about, asked.link, in.now);
    change(asked);
    return in.service.answer(asked.message).status == 401;
  };
  CHECK(refused_if([](auto& asked) { asked.message.method = "DELETE"; }));
  CHECK(refused_if([](auto& asked) { asked.message.target += "/docs"; }));
  CHECK(refused_if([](auto& asked) { asked.message.target = "/dbs/shop/colls/Orders"; }));
  CHECK(refused_if([](auto& asked) { asked.message.headers.set("x-ms-date", "yesterday"); }));
  CHECK(refused_if([](auto& asked) { asked.message.headers.remove("x-ms-date"); }));
}

TEST_CASE("a signature may be written in each way that clients have") {
  world in;
  in.filled();
  auto asked = read_container(orders);
  asked.message.target = "//dbs/shop/colls/orders/?ignored=1";
  authorize(asked.message, key_of(secret), asked.about, asked.link, in.now);
  std::string const written{*asked.message.headers.find("authorization")};
  std::string lower = written;
  for (std::size_t i = 0; (i = lower.find('%', i)) != lower.npos; ++i)
    if (lower[i + 2] == 'D') lower[i + 2] = 'd';
  for (auto const& text : {written, lower, *keyspan::cosmos::percent_decoded(written)}) {
    CAPTURE(text);
    asked.message.headers.set("authorization", text);
    CHECK(in.service.answer(asked.message).status == 200);
  }
  // A date of HTTP in the place of the service's own.
  std::string const date{http_date(in.now).view()};
  std::string lower_date = date;
  for (char& c : lower_date) c = keyspan::detail::lower_case(c);
  asked.message.headers.remove("x-ms-date");
  asked.message.headers.set("date", date);
  asked.message.headers.set(
      "authorization",
      key_of(secret).authorization("get\ncolls\ndbs/shop/colls/orders\n\n" + lower_date + "\n"));
  CHECK(in.service.answer(asked.message).status == 200);
}

TEST_CASE("a signature is good for a quarter of an hour") {
  world in;
  auto const signed_at = [&](std::chrono::milliseconds ago) {
    auto asked = read_account();
    authorize(asked.message, key_of(secret), asked.about, asked.link, in.now - ago);
    return in.service.answer(asked.message);
  };
  CHECK(signed_at(14min).status == 200);
  CHECK(signed_at(-14min).status == 200);
  CHECK(refusal(signed_at(16min)) == said{403, 0});
  CHECK(refusal(signed_at(-16min)) == said{403, 0});
}

// ---- databases and containers ------------------------------------------------------------------

TEST_CASE("a database is made, read, listed and deleted") {
  world in;
  auto const made = in.post("/dbs", resource::database, "", R"({"id":"shop","x":[1.0]})");
  CHECK(made.status == 201);
  CHECK(made.body.starts_with(R"({"id":"shop","x":[1.0],"_rid":")"));
  CHECK(refusal(in.post("/dbs", resource::database, "", R"({"id":"shop"})")) == said{409, 0});
  auto const read = in.any("GET", "/dbs/shop", resource::database, "dbs/shop");
  CHECK(read.body == made.body);
  CHECK(read.status == 200);
  auto const list = in.any("GET", "/dbs", resource::database, "");
  CHECK(list.body == R"({"_rid":"","Databases":[)" + made.body + R"(],"_count":1})");
  auto const gone = in.any("DELETE", "/dbs/shop", resource::database, "dbs/shop");
  CHECK(gone.status == 204);
  CHECK(gone.body.empty());
  CHECK(refusal(in.any("GET", "/dbs/shop", resource::database, "dbs/shop")) == said{404, 0});
  CHECK(refusal(in.send(read_container(orders))) == said{404, 1003});
}

TEST_CASE("a database without a name of its own is refused") {
  world in;
  for (auto const* const body :
       {"", "{", "[]", "{}", R"({"id":""})", R"({"id":7})", R"({"id":"a/b"})", R"({"id":"a "})",
        R"({"id":"a","id":"b"})", "{\"id\":\"\xFF\"}"}) {
    CAPTURE(body);
    CHECK(refusal(in.post("/dbs", resource::database, "", body)) == said{400, 0});
  }
}

TEST_CASE("a container tells how it is keyed") {
  world in;
  in.filled();
  struct kind {
    std::string definition;
    keyspan::any_scheme scheme;
    std::size_t paths;
  };
  kind const kinds[]{
      {R"({"paths":["/a"]})", keyspan::cosmos_v1, 1},
      {R"({"paths":["/a/\"b c\""],"kind":"Hash","version":1})", keyspan::cosmos_v1, 1},
      {R"({"paths":["/a"],"kind":"Hash","version":2})", keyspan::cosmos_v2, 1},
      {R"({"paths":["/a","/b"],"kind":"MultiHash","version":2})", keyspan::cosmos_multihash, 2},
  };
  std::set<std::string> rids;
  for (auto const& [definition, scheme, paths] : kinds) {
    CAPTURE(definition);
    auto const body = R"({"id":"c","indexingPolicy":{"n":1.50},"partitionKey":)" + definition + "}";
    CHECK(in.post("/dbs/shop/colls", resource::container, "dbs/shop", body).status == 201);
    auto const read = in.send(read_container(*container_address::from("shop", "c")));
    CHECK(read.body.find(R"({"n":1.50})") != std::string::npos);
    auto const found = container_in(read);
    REQUIRE(found.has_value());
    CHECK(found->scheme == scheme);
    CHECK(found->paths.size() == paths);
    rids.insert(found->resource_id);
    CHECK(in.any("DELETE", "/dbs/shop/colls/c", resource::container, "dbs/shop/colls/c").status ==
          204);
  }
  CHECK(rids.size() == std::size(kinds));
}

TEST_CASE("a container that cannot be is refused") {
  world in;
  in.filled();
  for (
      auto const* const body :
      {R"({"id":"c"})", R"({"id":"c","partitionKey":"/a"})", R"({"id":"c","partitionKey":{}})",
       R"({"id":"c","partitionKey":{"paths":[]}})", R"({"id":"c","partitionKey":{"paths":["a"]}})",
       R"({"id":"c","partitionKey":{"paths":["/a"],"kind":"Range"}})",
       R"({"id":"c","partitionKey":{"paths":["/a"],"version":3}})",
       R"({"id":"c","partitionKey":{"paths":["/a","/b","/c","/d"],"kind":"MultiHash","version":2}})",
       R"({"id":"c","defaultTtl":0,"partitionKey":{"paths":["/a"]}})",
       R"({"id":"c","defaultTtl":1.5,"partitionKey":{"paths":["/a"]}})",
       R"({"id":"a#b","partitionKey":{"paths":["/a"]}})"}) {
    CAPTURE(body);
    CHECK(refusal(in.post("/dbs/shop/colls", resource::container, "dbs/shop", body)) ==
          said{400, 0});
  }
  constexpr auto good = R"({"id":"c","partitionKey":{"paths":["/a"]}})";
  for (auto const* const units : {"0", "399", "1000001", "many", "-1"}) {
    CAPTURE(units);
    CHECK(refusal(in.post("/dbs/shop/colls", resource::container, "dbs/shop", good,
                          {{"x-ms-offer-throughput", units}})) == said{400, 0});
    CHECK(refusal(in.post("/dbs/shop/colls", resource::container, "dbs/shop", good,
                          {{"x-ms-cosmos-offer-autopilot-settings",
                            "{\"maxThroughput\":" + std::string{units} + "}"}})) == said{400, 0});
  }
  CHECK(refusal(in.post("/dbs/none/colls", resource::container, "dbs/none", good)) ==
        said{404, 1003});
  CHECK(refusal(in.post("/dbs/shop/colls", resource::container, "dbs/shop",
                        R"({"id":"orders","partitionKey":{"paths":["/a"]}})")) == said{409, 0});
  CHECK(refusal(in.any("PUT", "/dbs/shop/colls/orders", resource::container,
                       "dbs/shop/colls/orders", good)) == said{501, 0});
  CHECK(refusal(in.any("GET", "/dbs/shop/colls/c", resource::container, "dbs/shop/colls/c")) ==
        said{404, 0});
}

TEST_CASE("there are so many databases and containers and no more") {
  auto options = world::options_of(1);
  options.most_databases = 2;
  options.most_containers = 1;
  world in{std::move(options)};
  in.filled();
  CHECK(in.post("/dbs", resource::database, "", R"({"id":"other"})").status == 201);
  CHECK(refusal(in.post("/dbs", resource::database, "", R"({"id":"third"})")) == said{403, 1014});
  CHECK(refusal(in.post("/dbs/other/colls", resource::container, "dbs/other",
                        R"({"id":"c","partitionKey":{"paths":["/a"]}})")) == said{403, 1014});
}

TEST_CASE("more throughput has more ranges") {
  world in;
  in.filled(0, R"({"id":"orders","partitionKey":{"paths":["/shop"],"version":2}})",
            {{"x-ms-offer-throughput", "25000"}});
  CHECK(in.ranges().size() == 3);
}

TEST_CASE("who means a container that was made anew is told so") {
  world in;
  in.filled(1);
  auto const rid = container_in(in.send(read_container(orders)))->resource_id;
  auto const asked = read_document(orders, partition_key{"shop 0"}, "o-0");
  constexpr auto name = "x-ms-cosmos-intended-collection-rid";
  CHECK(in.send(asked, name, rid).status == 200);
  CHECK(refusal(in.send(asked, name, "another=")) == said{400, 1024});
}

// ---- documents ---------------------------------------------------------------------------------

TEST_CASE("a document keeps its own text") {
  world in;
  in.filled();
  std::string const own = R"("id":"o-1","shop":"oslo","n":1.000000000000000000001e+2,)"
                          R"("deep":{"_etag":"x", "a":[ 1.0,-0 ]})";
  auto const made = in.send(create_document(
      orders, partition_key{"oslo"}, "{ " + own + R"(, "_ts":1, "_etag":"mine", "_rid":7 })"));
  REQUIRE(made.status == 201);
  CHECK(made.body.starts_with("{" + own + ",\"_rid\":\""));
  auto const found = document_in(made);
  REQUIRE(found.has_value());
  CHECK(found->etag == header(made, "etag"));
  CHECK(found->etag.size() == 18);
  CHECK(found->changed_at == std::chrono::floor<std::chrono::seconds>(in.now));
  for (auto const* const part : {"\"_self\":\"dbs/", "\"_attachments\":\"attachments/\""})
    CHECK(made.body.find(part) != std::string::npos);
  CHECK(made.body.find("_lsn") == std::string::npos);
  auto const read = in.send(read_document(orders, partition_key{"oslo"}, "o-1"));
  CHECK(read.status == 200);
  CHECK(read.body == made.body);
  CHECK(header(read, "x-ms-documentdb-partitionkeyrangeid") == "0");
  CHECK(header(read, "x-ms-session-token") == "0:-1#1");
  CHECK(header(read, "lsn") == "1");
  CHECK(header(read, "x-ms-request-charge") == "1");
}

TEST_CASE("a document is created once, replaced where it is, and deleted") {
  world in;
  in.filled();
  partition_key const oslo{"oslo"};
  std::string const body = R"({"id":"o-1","shop":"oslo"})";
  CHECK(refusal(in.send(replace_document(orders, oslo, "o-1", body))) == said{404, 0});
  CHECK(refusal(in.send(remove_document(orders, oslo, "o-1"))) == said{404, 0});
  auto const first = in.send(create_document(orders, oslo, body));
  CHECK(first.status == 201);
  auto const again = in.send(create_document(orders, oslo, body));
  CHECK(refusal(again) == said{409, 0});
  CHECK(header(again, "x-ms-session-token") == "0:-1#1");
  CHECK(in.send(replace_document(orders, oslo, "o-1", body)).status == 200);
  auto const second = in.send(upsert_document(orders, oslo, body));
  CHECK(second.status == 200);
  CHECK(first.body.substr(0, first.body.find("_etag")) ==
        second.body.substr(0, second.body.find("_etag")));
  auto const gone = in.send(remove_document(orders, oslo, "o-1"));
  CHECK(gone.status == 204);
  CHECK(gone.body.empty());
  CHECK(header(gone, "x-ms-session-token") == "0:-1#4");
  CHECK(refusal(in.send(read_document(orders, oslo, "o-1"))) == said{404, 0});
  auto const anew = in.send(upsert_document(orders, oslo, body));
  CHECK(anew.status == 201);
  CHECK(first.body.substr(0, first.body.find("_self")) !=
        anew.body.substr(0, anew.body.find("_self")));
}

TEST_CASE("what is no document is refused") {
  world in;
  in.filled();
  for (auto const* const body :
       {"", "{", "7", "[]", "null", R"({"shop":"oslo"})", R"({"id":7,"shop":"oslo"})",
        R"({"id":"","shop":"oslo"})", R"({"id":"a/b","shop":"oslo"})",
        R"({"id":"a\\b","shop":"oslo"})", R"({"id":"a?","shop":"oslo"})",
        R"({"id":"a#","shop":"oslo"})", R"({"id":"a ","shop":"oslo"})",
        R"({"id":"a\n","shop":"oslo"})", R"({"id":"a","shop":{}})", R"({"id":"a","shop":[1]})",
        R"({"id":"a","shop":"oslo"} x)", R"({"id":"a","id":"b","shop":"oslo"})",
        "{\"id\":\"\xC3\",\"shop\":\"oslo\"}"}) {
    CAPTURE(body);
    CHECK(refusal(in.send(create_document(orders, partition_key{"oslo"}, body))) == said{400, 0});
  }
  std::string const long_id(1024, 'x');
  CHECK(in.send(create_document(orders, partition_key{"oslo"},
                                R"({"shop":"oslo","id":")" + long_id + "\"}"))
            .status == 400);
  std::string deep(200, '[');
  deep.append(200, ']');
  CHECK(in.send(create_document(orders, partition_key{"oslo"},
                                R"({"shop":"oslo","id":"a","x":)" + deep + "}"))
            .status == 400);
}

TEST_CASE("the key that is sent is the key that the document has") {
  world in;
  in.filled();
  std::string const body = R"({"id":"o-1","shop":"oslo"})";
  auto const with = [&](std::string_view key) {
    return in.send(create_document(orders, partition_key{"oslo"}, body),
                   "x-ms-documentdb-partitionkey", key);
  };
  CHECK(refusal(with(R"(["rome"])")) == said{400, 1001});
  CHECK(refusal(with(R"([null])")) == said{400, 1001});
  CHECK(refusal(with(R"([])")) == said{400, 1001});
  CHECK(refusal(with(R"(["oslo","oslo"])")) == said{400, 1001});
  for (auto const* const key : {"oslo", "", "[", R"(["oslo"])x", R"([["oslo"]])", R"("Infinity")",
                                R"([{"type":"MinNumber"}])"}) {
    CAPTURE(key);
    CHECK(refusal(with(key)) == said{400, 0});
  }
  auto asked = create_document(orders, partition_key{"oslo"}, body);
  asked.message.headers.remove("x-ms-documentdb-partitionkey");
  CHECK(refusal(in.send(std::move(asked))) == said{400, 0});
  CHECK(with(R"([ "\u006fslo" ])").status == 201);
}

TEST_CASE("a document is replaced under its own id") {
  world in;
  in.filled(1);
  CHECK(refusal(in.send(replace_document(orders, partition_key{"shop 0"}, "o-0",
                                         R"({"id":"o-1","shop":"shop 0"})"))) == said{400, 0});
}

TEST_CASE("an etag lets one writer win, and spares who knows the document") {
  world in;
  in.filled(1);
  partition_key const key{"shop 0"};
  std::string const body = R"({"id":"o-0","shop":"shop 0"})";
  auto const etag = header(in.send(read_document(orders, key, "o-0")), "etag");
  auto const known = in.send(read_document(orders, key, "o-0", {.if_none_match = etag}));
  CHECK(known.status == 304);
  CHECK(known.body.empty());
  CHECK(header(known, "etag") == etag);
  CHECK(in.send(read_document(orders, key, "o-0", {.if_none_match = "\"x\""})).status == 200);
  CHECK(in.send(replace_document(orders, key, "o-0", body, {.if_match = etag})).status == 200);
  std::string const long_etag(100, 'x');
  for (std::string_view const old : {std::string_view{etag}, std::string_view{long_etag}}) {
    document_options const how{.if_match = old};
    CHECK(refusal(in.send(replace_document(orders, key, "o-0", body, how))) == said{412, 0});
    CHECK(refusal(in.send(upsert_document(orders, key, body, how))) == said{412, 0});
    CHECK(refusal(in.send(remove_document(orders, key, "o-0", how))) == said{412, 0});
  }
  CHECK(in.send(replace_document(orders, key, "o-0", body, {.if_match = "*"})).status == 200);
}

TEST_CASE("who wants no body gets none") {
  world in;
  in.filled();
  auto const made =
      in.send(create_document(orders, partition_key{"oslo"}, R"({"id":"o-1","shop":"oslo"})"),
              "prefer", "return=minimal");
  CHECK(made.status == 201);
  CHECK(made.body.empty());
  CHECK_FALSE(header(made, "etag").empty());
}

TEST_CASE("what is too large is refused, and what there is no room for") {
  auto options = world::options_of(1);
  options.largest_document = 3000;
  options.largest_body = 10'000;
  options.most_bytes = 20'000;
  world in{std::move(options)};
  in.filled();
  auto const written = [&](std::size_t i, std::size_t bytes) {
    return in.write(i, R"(,"x":")" + std::string(bytes, 'x') + "\"");
  };
  CHECK(refusal(written(0, 4000)) == said{413, 0});
  CHECK(refusal(written(0, 11'000)) == said{413, 0});
  CHECK(in.service.bytes() == 0);
  std::size_t count = 0;
  while (written(count, 1000).status == 201) REQUIRE(++count < 100);
  CHECK(refusal(written(count, 1000)) == said{507, 0});
  CHECK(count >= 8);
  CHECK(in.service.bytes() <= 20'000);
  // What feeds of all versions still tell counts as well, until it is forgotten.
  CHECK(in.send(remove_document(orders, partition_key{"shop 0"}, "o-0")).status == 204);
  CHECK(refusal(written(count, 1000)) == said{507, 0});
  CHECK(in.any("DELETE", "/dbs/shop", resource::database, "dbs/shop").status == 204);
  CHECK(in.service.bytes() == 0);
}

TEST_CASE("documents live as long as they say, or as their container says") {
  world in;
  in.filled(0,
            R"({"id":"orders","defaultTtl":100,"partitionKey":{"paths":["/shop"],"version":2}})");
  CHECK(in.write(0).status == 201);
  CHECK(in.write(1, R"(,"ttl":10)").status == 201);
  CHECK(in.write(2, R"(,"ttl":-1)").status == 201);
  for (auto const* const ttl : {R"(,"ttl":0)", R"(,"ttl":-2)", R"(,"ttl":1.5)", R"(,"ttl":"1")"})
    CHECK(refusal(in.write(3, ttl)) == said{400, 0});
  in.now += 11s;
  CHECK(sorted(listed(in, {}, 10)) == texts{"o-0", "o-2"});
  in.now += 100s;
  CHECK(listed(in, {}, 10) == texts{"o-2"});
  CHECK(refusal(in.send(read_document(orders, partition_key{"shop 0"}, "o-0"))) == said{404, 0});
}

TEST_CASE("who asks for too much is told when to come again") {
  world in;
  in.filled(0, R"({"id":"orders","partitionKey":{"paths":["/shop"],"version":2}})",
            {{"x-ms-offer-throughput", "400"}});
  response answer;
  for (int i = 0; i < 100 && answer.status != 429; ++i) answer = in.write(1);
  CHECK(refusal(answer) == said{429, 3200});
  auto const ms = std::stoi(header(answer, "x-ms-retry-after-ms"));
  CHECK(ms > 0);
  in.now += std::chrono::milliseconds{ms};
  CHECK(in.write(1).status == 200);
}

// ---- sessions ----------------------------------------------------------------------------------

TEST_CASE("a session is not shown less than it has seen") {
  world in;
  in.filled(1);
  auto const read = [&](std::string_view token) {
    return in.send(read_document(orders, partition_key{"shop 0"}, "o-0", {.session_token = token}));
  };
  CHECK(read("0:-1#1").status == 200);
  CHECK(read("0:1").status == 200);
  CHECK(read("0:1#1#3=1").status == 200);
  CHECK(read("7:-1#99").status == 200);  // it is not about this range
  CHECK(refusal(read("0:-1#2")) == said{404, 1002});
  CHECK(refusal(read("7:-1#99,0:-1#2")) == said{404, 1002});
  for (auto const* const token : {"x", ":", "0:", "0:x", "0:-1#", "0:-1#1#", ":1"}) {
    CAPTURE(token);
    CHECK(refusal(read(token)) == said{400, 0});
  }
  CHECK(refusal(in.send(read_documents(orders, {}, {.session_token = "0:-1#2"}))) ==
        said{404, 1002});
  CHECK(refusal(in.send(read_changes(orders, {}, {}, latest, {.session_token = "0:-1#2"}))) ==
        said{404, 1002});
  CHECK(in.control("/split/0").status == 200);
  CHECK(refusal(read("0:-1#2")) == said{404, 1002});
  CHECK(read("0:-1#1").status == 200);
}

// ---- batches -----------------------------------------------------------------------------------

TEST_CASE("a batch is done whole") {
  world in;
  in.filled(1);
  partition_key const key{"shop 0"};
  auto const etag = header(in.send(read_document(orders, key, "o-0")), "etag");
  auto const done = in.send(execute_batch(
      orders, key,
      R"([{"operationType":"Create","resourceBody":{"id":"a","shop":"shop 0","n":1.0}},)"
      R"({"operationType":"Upsert","resourceBody":{"id":"b","shop":"shop 0"}},)"
      R"({"operationType":"Read","id":"o-0","ifNoneMatch":)" +
          keyspan::key_value{etag}.to_text() +
          R"(},{"operationType":"Replace","id":"o-0","ifMatch":)" +
          keyspan::key_value{etag}.to_text() +
          R"(,"resourceBody":{"id":"o-0","shop":"shop 0","n":2}},)"
          R"({"operationType":"Read","id":"o-0"},{"operationType":"Delete","id":"b"}])"));
  CHECK(done.status == 200);
  texts statuses;
  texts bodies;
  keyspan::json_reader reading{done.body};
  reading.begin_array();
  while (reading.next_element()) {
    bodies.emplace_back();
    reading.begin_object();
    for (std::string_view name; reading.next_member(name);) {
      if (name == "statusCode") {
        statuses.emplace_back(reading.number_text());
      } else if (name == "resourceBody") {
        bodies.back() = reading.skip();
      } else {
        reading.skip();
      }
    }
  }
  reading.finish();
  CHECK(reading.ok());
  CHECK(statuses == texts{"201", "201", "304", "200", "200", "204"});
  CHECK(bodies[0].starts_with(R"({"id":"a","shop":"shop 0","n":1.0,)"));
  CHECK(bodies[2].empty());
  CHECK(bodies[4] == bodies[3]);
  CHECK(header(done, "x-ms-session-token") == "0:-1#2");
  CHECK(sorted(listed(in, {}, 10)) == texts{"a", "o-0"});
}

TEST_CASE("a batch that fails does nothing") {
  world in;
  in.filled(1);
  auto const done = in.send(
      execute_batch(orders, partition_key{"shop 0"},
                    R"([{"operationType":"Create","resourceBody":{"id":"a","shop":"shop 0"}},)"
                    R"({"operationType":"Replace","id":"none",)"
                    R"("resourceBody":{"id":"none","shop":"shop 0"}},)"
                    R"({"operationType":"Delete","id":"o-0"}])"));
  CHECK(done.status == 207);
  CHECK(done.body.find(R"([{"statusCode":424,)") == 0);
  CHECK(done.body.find(R"({"statusCode":404,)") != std::string::npos);
  CHECK(listed(in, {}, 10) == texts{"o-0"});
  // Who is of another key, or has another etag, fails like others.
  auto const stranger = in.send(
      execute_batch(orders, partition_key{"shop 0"},
                    R"([{"operationType":"Create","resourceBody":{"id":"a","shop":"rome"}}])"));
  CHECK(stranger.status == 207);
  CHECK(stranger.body.find(R"("statusCode":400,"subStatusCode":1001)") != std::string::npos);
  auto const late =
      in.send(execute_batch(orders, partition_key{"shop 0"},
                            R"([{"operationType":"Delete","id":"o-0","ifMatch":"\"x\""}])"));
  CHECK(late.body.find(R"("statusCode":412)") != std::string::npos);
}

TEST_CASE("what is no batch is refused") {
  world in;
  in.filled(1);
  auto const sent = [&](std::string body) {
    return refusal(in.send(execute_batch(orders, partition_key{"shop 0"}, std::move(body))));
  };
  for (auto const* const body :
       {"", "{}", "[", "[7]", "[]", R"([{}])", R"([{"operationType":"Patch","id":"o-0"}])",
        R"([{"operationType":"Create"}])", R"([{"operationType":"Create","resourceBody":7}])",
        R"([{"operationType":"Create","resourceBody":{"shop":"shop 0"}}])",
        R"([{"operationType":"Replace","id":"x","resourceBody":{"id":"y","shop":"shop 0"}}])",
        R"([{"operationType":7}])"}) {
    CAPTURE(body);
    CHECK(sent(body) == said{400, 0});
  }
  std::string many = "[";
  for (int i = 0; i < 101; ++i)
    many += std::string{i == 0 ? "" : ","} + R"({"operationType":"Read","id":"o-0"})";
  CHECK(sent(many + "]") == said{413, 0});
  std::string too_many = "[";
  for (int i = 0; i < 1101; ++i) too_many += std::string{i == 0 ? "" : ","} + "{}";
  CHECK(sent(too_many + "]") == said{413, 0});
  CHECK(refusal(in.send(execute_batch(orders, partition_key{"shop 0", 1}, "[]"))) ==
        said{400, 1001});
}

TEST_CASE("operations that are sent together by the way are done each for itself") {
  world in{4};
  in.filled(2);
  auto asked =
      execute_batch(orders, partition_key{"x"},
                    R"([{"operationType":"Create","partitionKey":"[\"shop 1\"]",)"
                    R"("resourceBody":{"id":"o-1","shop":"shop 1"}},)"
                    R"({"operationType":"Upsert","partitionKey":"[\"shop 2\"]",)"
                    R"("resourceBody":{"id":"o-2","shop":"shop 2"}},)"
                    R"({"operationType":"Create","partitionKey":"[\"shop 3\"]",)"
                    R"("resourceBody":{"id":"o-3","shop":"shop 4"}},)"
                    R"({"operationType":"Delete","partitionKey":"[\"shop 0\"]","id":"o-0"},)"
                    R"({"operationType":"Read","partitionKey":"[\"shop 1\"]","id":"o-1"},)"
                    R"({"operationType":"Patch","partitionKey":"[\"shop 1\"]","id":"o-1"},)"
                    R"({"operationType":"Read","partitionKey":"rome","id":"o-1"}])");
  asked.message.headers.remove("x-ms-documentdb-partitionkey");
  asked.message.headers.set("x-ms-cosmos-batch-atomic", "False");
  auto const done = in.send(asked);
  CHECK(done.status == 207);
  texts statuses;
  for (std::size_t at = 0; (at = done.body.find("\"statusCode\":", at)) != done.body.npos; ++at)
    statuses.push_back(done.body.substr(at + 13, 3));
  CHECK(statuses == texts{"409", "201", "400", "204", "200", "400", "400"});
  CHECK(sorted(listed(in, {}, 10)) == texts{"o-1", "o-2"});
  asked.message.headers.set("x-ms-documentdb-partitionkeyrangeid", "9");
  CHECK(refusal(in.send(asked)) == said{410, 1002});
}

// ---- lists -------------------------------------------------------------------------------------

TEST_CASE("a list has each document once, whatever its pages are") {
  world in{4};
  in.filled(40);
  for (std::uint32_t const most : {1U, 7U, 39U, 40U, 41U, 1000U}) {
    CAPTURE(most);
    CHECK(sorted(listed(in, {}, most)) == numbered(0, 40));
  }
  texts together;
  for (auto const& id : in.ranges()) {
    auto const own = listed(in, {.partition = id}, 3);
    CHECK_FALSE(own.empty());
    together.insert(together.end(), own.begin(), own.end());
  }
  CHECK(sorted(together) == numbered(0, 40));
  partition_key const key{"shop 7"};
  CHECK(listed(in, {.key = &key}, 3) == texts{"o-7"});
  auto const lower = listed(in, {.part = epk_range{"", "20"}}, 3);
  auto const upper = listed(in, {.part = epk_range{"20", "FF"}}, 3);
  together = lower;
  together.insert(together.end(), upper.begin(), upper.end());
  CHECK(lower.size() > 5);
  CHECK(upper.size() > 5);
  CHECK(sorted(together) == numbered(0, 40));
}

TEST_CASE("a list goes on where it was, whatever is written and split meanwhile") {
  world in{2};
  in.filled(30);
  auto const first = in.send(read_documents(orders, {}, {.most = 10}));
  auto seen = ids_of(first);
  for (std::size_t i = 30; i < 60; ++i) in.write(i);
  for (auto const& id : texts{seen[0], seen[1]})
    CHECK(in.send(remove_document(orders, partition_key{"shop " + id.substr(2)}, id)).status ==
          204);
  CHECK(in.control("/split/0").status == 200);
  auto continuation = header(first, "x-ms-continuation");
  while (!continuation.empty()) {
    auto const page =
        in.send(read_documents(orders, {}, {.most = 10, .continuation = continuation}));
    auto const ids = ids_of(page);
    seen.insert(seen.end(), ids.begin(), ids.end());
    continuation = header(page, "x-ms-continuation");
  }
  std::set<std::string> const each{seen.begin(), seen.end()};
  CHECK(each.size() == seen.size());
  for (auto const& id : numbered(0, 30)) CHECK(each.contains(id));
}

TEST_CASE("a page has no more bytes than it may have") {
  auto options = world::options_of(1);
  options.largest_body = 10'000;
  world in{std::move(options)};
  in.filled();
  for (std::size_t i = 0; i < 20; ++i) in.write(i, R"(,"x":")" + std::string(3000, 'x') + "\"");
  auto const page = in.send(read_documents(orders, {}, {}));
  CHECK(page.body.size() < 12'000);
  CHECK(sorted(listed(in, {}, 100)) == numbered(0, 20));
  auto const changes = in.send(read_changes(orders, {}, {}, latest));
  CHECK(changes.body.size() < 12'000);
  CHECK(sorted(changed(in, {}, {}, 100).first) == numbered(0, 20));
}

TEST_CASE("a list is asked for as it can be") {
  world in;
  in.filled(10);
  for (auto const* const count : {"0", "-2", "x", "", "99999999999", "1.5"}) {
    CAPTURE(count);
    CHECK(refusal(in.send(read_documents(orders, {}), "x-ms-max-item-count", count)) ==
          said{400, 0});
  }
  CHECK(ids_of(in.send(read_documents(orders, {}), "x-ms-max-item-count", "-1")).size() == 10);
  auto const good = header(in.send(read_documents(orders, {}, {.most = 1})), "x-ms-continuation");
  REQUIRE_FALSE(good.empty());
  for (auto const& text : {std::string{"x"}, std::string{"!!!"}, good.substr(1), good + "AAAA"}) {
    CAPTURE(text);
    CHECK(refusal(in.send(read_documents(orders, {}, {.continuation = text}))) == said{400, 0});
  }
  CHECK(in.any("DELETE", "/dbs/shop/colls/orders", resource::container, "dbs/shop/colls/orders")
            .status == 204);
  CHECK(in.post("/dbs/shop/colls", resource::container, "dbs/shop",
                R"({"id":"orders","partitionKey":{"paths":["/shop"],"version":2}})")
            .status == 201);
  CHECK(refusal(in.send(read_documents(orders, {}, {.continuation = good}))) == said{400, 0});
}

TEST_CASE("a query is answered where it asks for all there is") {
  world in{4};
  in.filled(20);
  for (auto const* const query : {"SELECT * FROM c", "select  *\nfrom root"}) {
    auto const body = R"({"query":)" + keyspan::key_value{query}.to_text() + R"(,"parameters":[]})";
    CHECK(sorted(ids_of(in.send(query_documents(orders, {}, body)))) == numbered(0, 20));
  }
  auto const refused = [&](std::string body) {
    return refusal(in.send(query_documents(orders, {}, std::move(body)))) == said{400, 0};
  };
  CHECK(refused(R"({"query":"SELECT * FROM c WHERE c.x = 1"})"));
  CHECK(refused(R"({"query":"SELECT c.id FROM c"})"));
  CHECK(refused(R"({"query":"SELECT * FROM c","parameters":[{"name":"@a","value":1}]})"));
  CHECK(refused(R"({"query":7})"));
  CHECK(refused(R"({})"));
  CHECK(refused(""));
  CHECK(refusal(in.send(query_documents(orders, {}, R"({"query":"SELECT * FROM c"})"),
                        "x-ms-cosmos-is-query-plan-request", "True")) == said{400, 0});
}

// ---- partitions --------------------------------------------------------------------------------

TEST_CASE("partitions are told, and then what is new of them") {
  world in{3};
  in.filled();
  keyspan::any_scheme const scheme{keyspan::cosmos_v2};
  auto const all = in.send(read_partitions(orders));
  auto const list = partitions_in(scheme, all);
  REQUIRE(list.has_value());
  REQUIRE(list->partitions.size() == 3);
  CHECK(list->partitions[0].range.lower() == scheme.minimum());
  CHECK(list->partitions[1].range.lower() == scheme.boundary(1, 3));
  CHECK(list->partitions[2].range.upper().is_space_end());
  CHECK(all.body.find(R"("status":"online","parents":[])") != std::string::npos);
  CHECK(all.body.find(R"("throughputFraction":0.3333333333333333)") != std::string::npos);
  auto const same = in.send(read_partitions(orders, list->version));
  CHECK(same.status == 304);
  CHECK(same.body.empty());
  CHECK(header(same, "etag") == list->version);
  CHECK(in.control("/split/1").body == R"({"ranges":["3","4"]})");
  auto const news = partitions_in(scheme, in.send(read_partitions(orders, list->version)));
  REQUIRE(news.has_value());
  REQUIRE(news->partitions.size() == 2);
  CHECK(news->partitions[0].parents == texts{"1"});
  CHECK(in.ranges() == texts{"0", "3", "4", "2"});
  CHECK(in.control("/merge/4/3").body == R"({"ranges":["5"]})");
  auto const merged = partitions_in(scheme, in.send(read_partitions(orders, news->version)));
  REQUIRE(merged->partitions.size() == 1);
  CHECK(merged->partitions[0].parents == texts{"1", "3", "4"});
  CHECK(refusal(in.send(read_partitions(orders, "\"99\""))) == said{400, 0});
  CHECK(refusal(in.send(read_partitions(orders, "nonsense"))) == said{400, 0});
}

TEST_CASE("partitions are split where they can be, and merged with neighbours") {
  world in{3};
  in.filled();
  CHECK(in.control("/split/0?at=0A").body == R"({"ranges":["3","4"]})");
  CHECK(refusal(in.control("/split/0")) == said{404, 0});
  CHECK(refusal(in.control("/split/9")) == said{404, 0});
  CHECK(refusal(in.control("/split/1?at=01")) == said{400, 0});
  CHECK(refusal(in.control("/split/1?at=xyz")) == said{400, 0});
  CHECK(refusal(in.control("/split/1?where=20")) == said{400, 0});
  CHECK(refusal(in.control("/merge/3/1")) == said{400, 0});
  CHECK(refusal(in.control("/merge/3/3")) == said{400, 0});
  CHECK(refusal(in.control("/merge/3/9")) == said{404, 0});
  CHECK(refusal(in.control("/merge/3")) == said{404, 0});
  CHECK(refusal(in.control("/sing")) == said{404, 0});
  CHECK(refusal(in.control("/split/1", "GET")) == said{405, 0});
  CHECK(refusal(in.control("", "POST")) == said{405, 0});
  CHECK(in.control("", "GET").body.find("\"documents\":0") != std::string::npos);
  CHECK(refusal(in.service.answer({.target = "/_control"})) == said{404, 0});
  CHECK(refusal(in.service.answer({.target = "/_control/dbs/x/colls/y"})) == said{404, 0});
  CHECK(refusal(in.service.answer({.target = "/_control/dbs/shop/colls/y"})) == said{404, 0});
}

// ---- changes -----------------------------------------------------------------------------------

TEST_CASE("changes are told of each range, of a key and of a part") {
  world in{4};
  in.filled(40);
  texts together;
  for (auto const& id : in.ranges()) {
    auto const own = changed(in, {.partition = id}).first;
    CHECK_FALSE(own.empty());
    together.insert(together.end(), own.begin(), own.end());
  }
  CHECK(sorted(together) == numbered(0, 40));
  partition_key const key{"shop 7"};
  CHECK(changed(in, {.key = &key}).first == texts{"o-7"});
  auto const lower = changed(in, {.partition = "0", .part = epk_range{"", "08"}}).first;
  auto const upper = changed(in, {.partition = "0", .part = epk_range{"08", "0F"}}).first;
  CHECK_FALSE(lower.empty());
  CHECK_FALSE(upper.empty());
  CHECK(lower != upper);
  CHECK(changed(in, {.part = epk_range{"", "08"}}).first == lower);
}

TEST_CASE("changes are told behind a position, from now, and from a moment") {
  world in;
  in.filled(5);
  auto const [all, etag] = changed(in, {}, {}, 2);
  CHECK(all == texts{"o-0", "o-1", "o-2", "o-3", "o-4"});
  CHECK(etag == "\"5\"");
  auto const now = in.send(read_changes(orders, {}, keyspan::from_now, latest));
  CHECK(now.status == 304);
  CHECK(now.body.empty());
  CHECK(header(now, "etag") == etag);
  in.now += 10s;
  in.write(2);
  in.write(9);
  for (auto const& from : {etag, std::string{"5"}}) {
    auto const page = in.send(read_changes(orders, {}, keyspan::continuation{from}, latest));
    CHECK(ids_of(page) == texts{"o-2", "o-9"});
    CHECK(header(page, "lsn") == "7");
    CHECK(header(page, "x-ms-session-token") == "0:-1#7");
    CHECK(header(page, "x-ms-item-count") == "2");
    auto const list = documents_in(page);
    CHECK(list->documents[0].lsn == 6);
    CHECK(list->documents[1].lsn == 7);
  }
  CHECK(changed(in, {}, keyspan::from_time{in.now - 5s}).first == texts{"o-2", "o-9"});
  CHECK(changed(in, {}, keyspan::continuation{keyspan::from_time{in.now - 5s}, "\"6\""}).first ==
        texts{"o-9"});
  CHECK(changed(in, {}, keyspan::from_time{in.now + 5s}).first.empty());
  auto asked = read_changes(orders, {}, {}, latest);
  CHECK(in.send(asked, "a-im", "INCREMENTAL feed").status == 200);
  CHECK(refusal(in.send(asked, "a-im", "Feed")) == said{400, 0});
  CHECK(refusal(in.send(asked, "if-modified-since", "yesterday")) == said{400, 0});
  for (auto const* const place : {"\"8\"", "x", "\"x\"", "\"-1\"", "\""}) {
    CAPTURE(place);
    CHECK(refusal(in.send(asked, "if-none-match", place)) == said{400, 0});
  }
}

TEST_CASE("a range that is gone is told as such, and its places go on in its parts") {
  world in;
  in.filled(20);
  auto const etag = changed(in, {.partition = "0"}).second;
  CHECK(in.control("/split/0").status == 200);
  auto const gone = [&](page_target const& at) {
    return refusal(in.send(read_changes(orders, at, {}, latest)));
  };
  CHECK(gone({.partition = "0"}) == said{410, 1002});
  CHECK(gone({.partition = "99"}) == said{410, 1002});
  CHECK(gone({.part = epk_range{"", "FF"}}) == said{410, 1002});
  CHECK(gone({.partition = "1", .part = epk_range{"3FFF", "FF"}}) == said{410, 1002});
  CHECK(gone({.partition = "other=,1"}) == said{410, 1000});
  CHECK(gone({}) == said{400, 0});
  CHECK(refusal(in.send(read_documents(orders, {.partition = "0"}))) == said{410, 1002});
  for (std::size_t i = 20; i < 40; ++i) in.write(i);
  auto both = changed(in, {.partition = "1"}, keyspan::continuation{etag}).first;
  auto const right = changed(in, {.partition = "2"}, keyspan::continuation{etag}).first;
  both.insert(both.end(), right.begin(), right.end());
  CHECK(sorted(both) == numbered(20, 40));
  CHECK(in.control("/merge/1/2").status == 200);
  CHECK(gone({.partition = "1"}) == said{410, 1002});
  CHECK(sorted(changed(in, {.partition = "3"}).first) == numbered(0, 40));
}

TEST_CASE("a part of the keys is asked for by all three headers") {
  world in;
  in.filled(1);
  auto asked = read_changes(orders, {.part = epk_range{"", "FF"}}, {}, latest);
  CHECK(in.send(asked).status == 200);
  CHECK(refusal(in.send(asked, "x-ms-read-key-type", "EffectivePartitionKey")) == said{400, 0});
  CHECK(refusal(in.send(asked, "x-ms-start-epk", "xyz")) == said{400, 0});
  CHECK(refusal(in.send(asked, "x-ms-start-epk", "FF")) == said{400, 0});
  CHECK(refusal(in.send(asked, "x-ms-end-epk", "")) == said{400, 0});
  CHECK(refusal(in.send(asked, "x-ms-documentdb-partitionkey", "[\"a\"]")) == said{400, 0});
  for (auto const* const name : {"x-ms-read-key-type", "x-ms-start-epk", "x-ms-end-epk"}) {
    CAPTURE(name);
    auto without = asked;
    without.message.headers.remove(name);
    CHECK(refusal(in.send(without)) == said{400, 0});
  }
}

TEST_CASE("the first values of a hierarchical key are asked for as it is") {
  world in;
  in.filled(0, R"({"id":"orders","partitionKey":{"paths":["/tenant","/user/id"],)"
               R"("kind":"MultiHash","version":2}})");
  for (int i = 0; i < 12; ++i) {
    auto const tenant = "t-" + std::to_string(i % 3);
    CHECK(in.send(create_document(orders, partition_key{tenant, i},
                                  R"({"id":"same","tenant":")" + tenant + R"(","user":{"id":)" +
                                      std::to_string(i) + "}}"))
              .status == 201);
  }
  partition_key const prefix{"t-1"};
  partition_key const whole{"t-1", 4};
  partition_key const other{"t-1", 5};
  CHECK(listed(in, {.key = &prefix}, 3).size() == 4);
  CHECK(listed(in, {.key = &whole}, 3).size() == 1);
  CHECK(listed(in, {.key = &other}, 3).empty());
  CHECK(changed(in, {.key = &prefix}).first.size() == 4);
  CHECK(changed(in, {.key = &whole}).first.size() == 1);
  CHECK(refusal(in.send(read_document(orders, prefix, "same"))) == said{400, 1001});
  CHECK(in.send(read_document(orders, whole, "same")).status == 200);
  partition_key const three{"t-1", 5, 6};
  CHECK(refusal(in.send(read_documents(orders, {.key = &three}))) == said{400, 1001});
  for (int i = 0; i < 3; ++i)
    for (auto const& id : in.ranges()) CHECK(in.control("/split/" + id).status == 200);
  CHECK(listed(in, {.key = &prefix}, 3).size() == 4);
  CHECK(refusal(in.send(read_changes(orders, {.key = &prefix}, {}, latest))).first == 400);
}

TEST_CASE("a feed of all versions tells what there was, and what is gone") {
  world in;
  in.filled(1, R"({"id":"orders","defaultTtl":-1,"partitionKey":{"paths":["/shop"],"version":2}})");
  auto const start = header(in.send(read_changes(orders, {}, keyspan::from_now, latest)), "etag");
  in.write(0, R"(,"n":1.0)");
  in.write(1, R"(,"n":2,"ttl":5)");
  CHECK(in.send(remove_document(orders, partition_key{"shop 0"}, "o-0")).status == 204);
  in.now += 6s;
  auto const page = in.send(read_changes(orders, {}, keyspan::continuation{start}, all_versions));
  auto const list = changes_in(page);
  REQUIRE(list.has_value());
  REQUIRE(list->documents.size() == 4);
  auto const& [replaced, created, removed, expired] =
      std::tie(list->documents[0], list->documents[1], list->documents[2], list->documents[3]);
  CHECK(replaced.operation == "replace");
  CHECK(replaced.current.json.find("\"n\":1.0") != std::string::npos);
  CHECK(replaced.current.lsn == 2);
  CHECK(replaced.previous.lsn == 1);
  CHECK(replaced.lsn == 2);
  CHECK(created.operation == "create");
  CHECK_FALSE(created.previous.is_there());
  CHECK(removed.operation == "delete");
  CHECK_FALSE(removed.current.is_there());
  CHECK(removed.previous.id == "o-0");
  CHECK(removed.id == "o-0");
  CHECK(removed.partition_key == R"({"shop":"shop 0"})");
  CHECK_FALSE(removed.is_expired);
  CHECK(expired.operation == "delete");
  CHECK(expired.is_expired);
  CHECK(expired.id == "o-1");
  CHECK(page.body.find(R"("previousImageLSN":1,)") != std::string::npos);
}

TEST_CASE("a feed of all versions begins from now, or where it was, and not too long ago") {
  auto options = world::options_of(1);
  options.keeps_versions = 60s;
  world in{std::move(options)};
  in.filled(1);
  auto asked = read_changes(orders, {}, keyspan::from_now, all_versions);
  CHECK(in.send(asked).status == 304);
  CHECK(in.send(asked, "a-im", "full-fidelity FEED").status == 304);
  auto plain = asked;
  plain.message.headers.remove("if-none-match");
  CHECK(refusal(in.send(plain)) == said{400, 0});
  auto unversioned = asked;
  unversioned.message.headers.remove("x-ms-cosmos-changefeed-wire-format-version");
  CHECK(refusal(in.send(unversioned)) == said{400, 0});
  in.write(0);
  in.now += 61s;
  in.write(1);
  CHECK(refusal(in.send(asked, "if-none-match", "\"1\"")) == said{400, 0});
  CHECK(in.send(asked, "if-none-match", "\"2\"").status == 200);
}

TEST_CASE("a container may keep its versions longer, or not at all") {
  for (auto const& [minutes, status] :
       std::vector<std::pair<std::string, int>>{{"60", 200}, {"0", 400}}) {
    world in;
    in.filled(1, R"({"id":"orders","changeFeedPolicy":{"retentionDuration":)" + minutes +
                     R"(},"partitionKey":{"paths":["/shop"],"version":2}})");
    in.write(0);
    in.now += 50min;
    in.write(1);
    auto const asked = read_changes(orders, {}, keyspan::continuation{"\"1\""}, all_versions);
    CHECK(in.send(asked).status == status);
  }
}

// ---- what is not served ------------------------------------------------------------------------

TEST_CASE("what is not served is refused as such") {
  world in;
  in.filled(1);
  std::string const link = orders.link();
  auto const asked = [&](std::string method, std::string target, std::string kind,
                         std::string owner) {
    request made{.method = method, .target = std::move(target)};
    auto const date = http_date(in.now);
    made.headers.set("x-ms-date", date);
    std::string text = method + "\n" + kind + "\n";
    for (char& c : text) c = keyspan::detail::lower_case(c);
    text += owner + "\n" + std::string{date.view()} + "\n\n";
    for (std::size_t i = text.size() - date.size() - 2; i < text.size(); ++i)
      text[i] = keyspan::detail::lower_case(text[i]);
    made.headers.set("authorization", key_of(secret).authorization(text));
    return refusal(in.service.answer(made)).first;
  };
  CHECK(asked("GET", "/offers", "offers", "") == 501);
  CHECK(asked("GET", "/dbs/shop/users", "users", "dbs/shop") == 501);
  CHECK(asked("GET", orders.path() + "/sprocs", "sprocs", link) == 501);
  CHECK(asked("POST", orders.path() + "/triggers", "triggers", link) == 501);
  CHECK(asked("GET", "/nonsense", "nonsense", "") == 404);
  CHECK(asked("GET", "/dbs/shop/nonsense", "nonsense", "dbs/shop") == 404);
  CHECK(asked("GET", orders.path() + "/nonsense", "nonsense", link) == 404);
  CHECK(asked("GET", orders.path() + "/docs/a/b", "b", link + "/docs/a") == 404);
  CHECK(asked("PATCH", orders.path("o-0"), "docs", orders.link("o-0")) == 501);
  CHECK(asked("HEAD", orders.path("o-0"), "docs", orders.link("o-0")) == 405);
  CHECK(asked("POST", "/", "", "") == 405);
  CHECK(asked("PUT", "/dbs", "dbs", "") == 405);
  CHECK(asked("PUT", "/dbs/shop", "dbs", "dbs/shop") == 405);
  CHECK(asked("DELETE", "/dbs/shop/colls", "colls", "dbs/shop") == 405);
  CHECK(asked("POST", orders.path(), "colls", link) == 405);
  CHECK(asked("PUT", orders.path() + "/docs", "docs", link) == 405);
  CHECK(asked("POST", orders.path("o-0"), "docs", orders.link("o-0")) == 405);
  CHECK(asked("POST", orders.path() + "/pkranges", "pkranges", link) == 405);
}

TEST_CASE("a path that is none is refused before anything is looked at") {
  world in;
  std::string long_path;
  for (int i = 0; i < 20; ++i) long_path += "/a";
  for (auto const& target :
       {std::string{}, std::string{"dbs"}, std::string{"/dbs/%"}, std::string{"/dbs/%4"},
        std::string{"/dbs/%xx"}, std::string{"/dbs/%FF"}, std::string{"/dbs//colls"}, long_path,
        std::string{"http://127.0.0.1/dbs"}, std::string{"*"}}) {
    CAPTURE(target);
    CHECK(refusal(in.service.answer({.target = target})) == said{400, 0});
  }
}

TEST_CASE("names may have any letters") {
  world in;
  auto const address = *container_address::from("käse & co", "100% \xF0\x9F\x99\x82");
  CHECK(in.post("/dbs", resource::database, "", R"({"id":"käse & co"})").status == 201);
  CHECK(in.post("/dbs/k%C3%A4se%20%26%20co/colls/", resource::container, "dbs/käse & co",
                "{\"id\":\"100% \xF0\x9F\x99\x82\",\"partitionKey\":{\"paths\":[\"/shop\"]}}")
            .status == 201);
  std::string const id = "a+b%20c=d&e";
  CHECK(in.send(create_document(address, partition_key{"x"}, R"({"id":"a+b%20c=d&e","shop":"x"})"))
            .status == 201);
  CHECK(in.send(read_document(address, partition_key{"x"}, id)).status == 200);
}

TEST_CASE("the service is a transport of its own process") {
  auto options = world::options_of(1);
  options.endpoint = "http://127.0.0.1:4711/";
  world in{std::move(options)};
  auto asked = read_account();
  authorize(asked.message, key_of(secret), asked.about, asked.link, in.now);
  auto const answer = in.service.send(asked.message).value;
  REQUIRE(answer.has_value());
  CHECK(answer->status == 200);
  CHECK(answer->endpoint == "127.0.0.1:4711");
  asked.message.deadline = std::chrono::steady_clock::now() - 1s;
  auto const late = in.service.send(asked.message).value;
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == errc::timed_out);
  keyspan::stop_source stop;
  stop.request_stop();
  asked.message.deadline.reset();
  asked.message.stop = stop.token();
  auto const stopped = in.service.send(asked.message).value;
  REQUIRE_FALSE(stopped.has_value());
  CHECK(stopped.error().code == errc::stopped);
}

TEST_CASE("the same seed and requests give the same answers") {
  auto const told = [](std::uint64_t seed) {
    auto options = world::options_of(2);
    options.seed = seed;
    world in{std::move(options)};
    in.filled(3);
    return in.send(read_documents(orders, {})).body;
  };
  CHECK(told(1) == told(1));
  CHECK(told(1) != told(2));
}

TEST_CASE("a date of HTTP is read as it is written") {
  keyspan::wall_time const at{std::chrono::sys_days{std::chrono::year{2017} / 4 / 27} + 51min +
                              12s};
  CHECK(cosmos_server::read_http_date("Thu, 27 Apr 2017 00:51:12 GMT") == at);
  CHECK(cosmos_server::read_http_date("thu, 27 apr 2017 00:51:12 gmt") == at);
  for (auto const* const text : {"", "Thu, 27 Apr 2017 00:51:12 UTC",
                                 "Thu, 31 Apr 2017 00:51:12 GMT", "Thu, 27 Apx 2017 00:51:12 GMT",
                                 "Thu, 27 Apr 2017 24:51:12 GMT", "Thu, 27 Apr 2017 00:5x:12 GMT",
                                 "Thu, 27 Apr  017 00:51:12 GMT", "Thu, 27 pr  2017 00:51:12 GMT"})
    CHECK_FALSE(cosmos_server::read_http_date(text).has_value());
}

}  // namespace
