// test/example/feed_tail_test.cpp — the program that prints what changes, against the server of the
// examples, from outside.
#include "program.hpp"

#include <keyspan/adapter/curl.hpp>
#include <keyspan/cosmos.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

namespace cosmos = keyspan::cosmos;

std::string const key = "bm90IG11Y2ggb2YgYSBzZWNyZXQ=";

// The server with a container "events" of two ranges, and a file for a cursor.
class shop {
 public:
  shop() : server_{{COSMOS_SERVER_PROGRAM, "--port", "0", "--key", key, "--partitions", "2"}} {
    std::istringstream said{server_.lines(1)};
    std::string ready, port;
    said >> ready >> port;
    REQUIRE(ready == "ready");
    url = "http://127.0.0.1:" + port;
    ::setenv("COSMOS_KEY", key.c_str(), 1);
    ::unsetenv("COSMOS_TOKEN");
    wire.emplace(loop, keyspan::service_endpoint::parse(url).value());
    account.emplace(*wire, loop, *cosmos::master_key::from(key));
    send(cosmos::create_database("shop"));
    auto const where = cosmos::container_address::from("shop", "events").value();
    send(cosmos::create_container(where, keyspan::documents_container<"/device">().paths()));
  }
  ~shop() {
    std::filesystem::remove(cursor);
    server_.terminate();
  }
  shop(shop const&) = delete;
  shop& operator=(shop const&) = delete;

  void write(int from, int to) {
    auto events =
        loop.complete(account->open<nlohmann::json>(std::string{"shop"}, std::string{"events"}));
    REQUIRE(events);
    for (int i = from; i < to; ++i) {
      auto const name = std::to_string(i);
      REQUIRE(loop.complete(events->create({{"id", name}, {"device", "d-" + name}})));
    }
  }
  void split(std::string_view range) {
    keyspan::request const what{
        .method = "POST", .target = "/_control/dbs/shop/colls/events/split/" + std::string{range}};
    auto const answer = loop.complete(wire->send(what));
    REQUIRE(answer);
    REQUIRE(answer->status == 200);
  }
  std::vector<std::string> words(std::vector<std::string> more) const {
    std::vector<std::string> all{FEED_TAIL_PROGRAM, "--endpoint", url,      "--database", "shop",
                                 "--container",     "events",     "--poll", "20"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::string url{};
  std::string cursor =
      (std::filesystem::temp_directory_path() / ("keyspan_tail_" + std::to_string(::getpid())))
          .string();
  keyspan::curl_loop loop{};
  std::optional<keyspan::curl_transport> wire{};
  std::optional<cosmos::cosmos_account<keyspan::curl_transport, keyspan::curl_loop>> account{};

 private:
  void send(cosmos::service_request what) {
    auto const answer = loop.complete(account->send(std::move(what)));
    REQUIRE(answer);
    REQUIRE(answer->status == 201);
  }

  test::program server_;
};

struct line {
  std::string range, document;
  int lsn = 0, lag = 0;
};
std::vector<line> lines_in(std::string const& text) {
  std::vector<line> all;
  std::istringstream in{text};
  for (std::string one; std::getline(in, one);) {
    std::istringstream columns{one};
    line made;
    std::string lsn, lag;
    REQUIRE(std::getline(columns, made.range, '\t'));
    REQUIRE(std::getline(columns, lsn, '\t'));
    REQUIRE(std::getline(columns, lag, '\t'));
    REQUIRE(std::getline(columns, made.document));
    made.lsn = std::stoi(lsn);
    made.lag = std::stoi(lag);
    all.push_back(made);
  }
  return all;
}
std::set<std::string> ids_in(std::vector<line> const& lines) {
  std::set<std::string> all;
  for (auto const& one : lines) {
    auto const document = nlohmann::json::parse(one.document);
    CHECK(document["device"] == "d-" + document["id"].get<std::string>());
    CHECK(all.insert(document["id"].get<std::string>()).second);
  }
  return all;
}

TEST_CASE("feed_tail prints changes with range, position and lag, and goes on from its file") {
  shop s;
  s.write(0, 10);
  {
    test::program tail{s.words({"--from", "beginning", "--cursor", s.cursor})};
    auto const first = lines_in(tail.lines(10));
    CHECK(ids_in(first).size() == 10);
    std::set<std::string> ranges;
    for (auto const& one : first) {
      ranges.insert(one.range);
      CHECK(one.lsn > 0);
      if (one.range == first.front().range)
        CHECK(one.lsn + one.lag == first.front().lsn + first.front().lag);
    }
    CHECK(ranges.size() == 2);
    // As they come, through a split.
    s.split("0");
    s.write(10, 20);
    CHECK(ids_in(lines_in(tail.lines(20))).size() == 20);
    tail.terminate();
    auto const end = tail.finish();
    CHECK(end.status == 0);
    CHECK(end.err.empty());
    CHECK(end.out.find(key) == std::string::npos);
  }
  s.write(20, 25);
  {
    // What it was killed over is in the file, too.
    test::program killed{s.words({"--cursor", s.cursor})};
    CHECK(ids_in(lines_in(killed.lines(5))) == std::set<std::string>{"20", "21", "22", "23", "24"});
  }
  test::program again{s.words({"--once", "--cursor", s.cursor})};
  auto const rest = again.finish();
  CHECK(rest.status == 0);
  CHECK(lines_in(rest.out).size() <= 5);
}

TEST_CASE("feed_tail begins now where nothing else is said, and keeps that place") {
  shop s;
  s.write(0, 3);
  test::program first{s.words({"--once", "--cursor", s.cursor})};
  CHECK(first.finish().out.empty());
  s.write(3, 6);
  test::program second{s.words({"--once", "--cursor", s.cursor})};
  CHECK(ids_in(lines_in(second.finish().out)) == std::set<std::string>{"3", "4", "5"});
}

TEST_CASE("feed_tail says what is wrong, and never the key") {
  shop s;
  auto const ended = [&](std::vector<std::string> more) {
    test::program tail{s.words(std::move(more))};
    return tail.finish();
  };
  CHECK(ended({"--from", "yesterday"}).status == 2);
  CHECK(ended({"--poll"}).status == 2);
  CHECK(ended({"--page", "-1"}).status == 2);
  auto const odd = ended({"--odd", "1"});
  CHECK(odd.status == 2);
  CHECK(odd.err.starts_with("usage: feed_tail"));

  std::ofstream{s.cursor} << "{\"keyspan\":1";
  auto const damaged = ended({"--once", "--cursor", s.cursor});
  CHECK(damaged.status == 1);
  CHECK(damaged.err.find("malformed") != std::string::npos);
  std::filesystem::remove(s.cursor);

  std::string const wrong = "d3Jvbmcgd3Jvbmcgd3Jvbmc=";
  ::setenv("COSMOS_KEY", wrong.c_str(), 1);
  auto const refused = ended({"--once"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("unauthorized") != std::string::npos);
  CHECK((refused.err + refused.out).find(wrong) == std::string::npos);
  ::setenv("COSMOS_KEY", "no base64!", 1);
  auto const no_key = ended({"--once"});
  CHECK(no_key.status == 1);
  CHECK(no_key.err.find("no base64!") == std::string::npos);
}

}  // namespace
