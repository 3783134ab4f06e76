// test/example/migrate_test.cpp — the program that moves a container to another key, from outside:
// in memory, and against the server of the examples, killed again and again.
#include "program.hpp"

#include <keyspan/adapter/curl.hpp>
#include <keyspan/cosmos.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <support/random.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace cosmos = keyspan::cosmos;
using nlohmann::json;

std::string const key = "bm90IG11Y2ggb2YgYSBzZWNyZXQ=";

// Somebody who uses the account, on a thread of its own.
struct client {
  explicit client(std::string const& url)
      : wire{loop, keyspan::service_endpoint::parse(url).value()} {}

  void make(std::string_view container, std::string_view path) {
    auto const where = cosmos::container_address::from("shop", container).value();
    send(cosmos::create_container(where, *keyspan::key_paths::parse(std::span{&path, 1})));
  }
  void send(cosmos::service_request what) { REQUIRE(loop.complete(account.ask(std::move(what)))); }
  auto open(std::string container) {
    auto made = loop.complete(account.open<json>(std::string{"shop"}, std::move(container)));
    REQUIRE(made);
    return *std::move(made);
  }
  void split(std::string_view range) {
    keyspan::request const what{
        .method = "POST", .target = "/_control/dbs/shop/colls/orders/split/" + std::string{range}};
    auto const answer = loop.complete(wire.send(what));
    REQUIRE(answer);
    REQUIRE(answer->status == 200);
  }
  // All documents of a container as their owners wrote them, by id and customer.
  std::map<std::string, json> all_of(std::string container) {
    auto in = open(std::move(container));
    std::map<std::string, json> made;
    auto reading = [&]() -> keyspan::task<bool> {
      keyspan::feed all{in};
      auto stream = all.stream();
      while (auto* const page = co_await stream.next_page()) {
        if (!*page) co_return false;
        for (auto const& change : (*page)->items) {
          json one = *change;
          for (auto const* const name : {"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"})
            one.erase(name);
          std::string const name = one.value("customer", "") + "/" + one.value("id", "");
          CHECK(made.emplace(name, one).second);
        }
      }
      co_return true;
    };
    REQUIRE(loop.complete(reading()));
    return made;
  }

  keyspan::curl_loop loop{};
  keyspan::curl_transport wire;
  cosmos::cosmos_account<keyspan::curl_transport, keyspan::curl_loop> account{
      wire, loop, *cosmos::master_key::from(key)};
};

// The server with a container "orders" of two ranges.
class shop {
 public:
  shop() : server_{{COSMOS_SERVER_PROGRAM, "--port", "0", "--key", key, "--partitions", "2"}} {
    std::istringstream said{server_.lines(1)};
    std::string ready, port;
    said >> ready >> port;
    REQUIRE(ready == "ready");
    url = "http://127.0.0.1:" + port;
    ::setenv("COSMOS_KEY", key.c_str(), 1);
    own.emplace(url);
    own->send(cosmos::create_database("shop"));
    own->make("orders", "/customer");
  }

  std::vector<std::string> words(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{MIGRATE_PROGRAM,
                                 "--from",
                                 url + "/shop/orders",
                                 "--to",
                                 url + "/shop/by_city",
                                 "--target-key",
                                 "/city",
                                 "--poll",
                                 "50",
                                 "--expiry",
                                 "1000"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::string url{};
  std::optional<client> own{};

 private:
  test::program server_;
};

// Whether a program comes to say something.
bool says(test::program& running, std::string_view what) {
  for (std::size_t lines = 1;; ++lines) {
    std::string const& all = running.lines(lines);
    if (all.find(what) != all.npos) return true;
    if (static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n')) < lines) {
      UNSCOPED_INFO(all);
      return false;
    }
  }
}

json order(std::size_t i, std::string_view city, std::uint64_t number) {
  return {{"id", "o-" + std::to_string(i)},
          {"customer", "c-" + std::to_string(i % 13)},
          {"city", city},
          {"weight", static_cast<double>(number) / 4},
          {"lines", {{{"what", "\u00e9\u20ac"}, {"count", number}}}}};
}

// Writes until it is stopped.
class writer {
 public:
  explicit writer(std::string url) : url_{std::move(url)} {}
  ~writer() { stop(); }
  writer(writer const&) = delete;
  writer& operator=(writer const&) = delete;

  void stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t written() const { return written_; }

 private:
  void run() {
    client by{url_};
    auto orders = by.open("orders");
    test::random random{7};
    constexpr std::string_view cities[]{"oslo", "rome", "bern", "lima"};
    while (!is_over_) {
      auto const i = static_cast<std::size_t>(random.below(150));
      if (random.below(8) == 0) {
        auto const one = order(i, "", 0);
        static_cast<void>(by.loop.complete(
            orders.remove(one["customer"].get<std::string>(), one["id"].get<std::string>())));
      } else if (!by.loop.complete(orders.upsert(order(i, cities[random.below(4)], written_)))) {
        return;
      }
      ++written_;
    }
  }

  std::string url_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> written_{0};
  std::thread thread_{[this] { run(); }};
};

TEST_CASE("a container is moved while it is written, and the program killed again and again") {
  shop s;
  writer orders{s.url};
  while (orders.written() < 100) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 4; ++i) {
    test::program killed{s.words({"--watch"})};
    // Somewhere in between: the one is just beginning, the other one follows already.
    killed.lines(static_cast<std::size_t>(1 + i * 2));
    std::this_thread::sleep_for(std::chrono::milliseconds{i * 70});
    if (i < 2) s.own->split(std::to_string(i));
  }
  test::program last{s.words({"--watch"})};
  REQUIRE(says(last, "ready to cut over"));
  auto const before = orders.written();
  while (orders.written() < before + 50) std::this_thread::sleep_for(1ms);
  orders.stop();
  last.terminate();
  auto const end = last.finish();
  CAPTURE(end.out, end.err);
  CHECK(end.status == 0);
  CHECK(end.out.find("verified: cut over") != end.out.npos);
  CHECK((end.out + end.err).find(key) == std::string::npos);

  auto const there = s.own->all_of("orders");
  CHECK(there.size() > 50);
  CHECK(s.own->all_of("by_city") == there);
}

TEST_CASE("documents that cannot be moved are named, and all others are moved") {
  shop s;
  auto orders = s.own->open("orders");
  auto const write = [&](json one) {
    REQUIRE(s.own->loop.complete(orders.upsert(std::move(one))));
  };
  for (std::size_t i = 0; i < 20; ++i) write(order(i, "oslo", i));
  write({{"id", "o-1"}, {"customer", "another"}, {"city", "oslo"}});
  write({{"id", "nowhere"}, {"customer", "c-1"}});
  write({{"id", "odd"}, {"customer", "c-1"}, {"city", {1, 2}}});
  {
    test::program running{s.words()};
    auto const end = running.finish();
    CAPTURE(end.out, end.err);
    CHECK(end.status == 1);
    CHECK(end.out.find("parked [\"c-1\"] nowhere: there is nothing at /city") != end.out.npos);
    CHECK(end.out.find("parked [\"c-1\"] odd: ") != end.out.npos);
    CHECK(end.out.find("another document is at [\"oslo\"] o-1") != end.out.npos);
    CHECK(end.out.find("NOT the same") != end.out.npos);
  }
  CHECK(s.own->all_of("by_city").size() == 20);
  // Put right, and gone on with.
  auto const remove = [&](std::string customer, std::string id) {
    REQUIRE(s.own->loop.complete(orders.remove(customer, id)));
  };
  remove("another", "o-1");
  remove("c-1", "odd");
  write({{"id", "nowhere"}, {"customer", "c-1"}, {"city", nullptr}});
  test::program again{s.words()};
  auto const end = again.finish();
  CAPTURE(end.out, end.err);
  CHECK(end.status == 0);
  CHECK(s.own->all_of("by_city") == s.own->all_of("orders"));
}

TEST_CASE("what is removed or gets another key is gone at once where all versions are read") {
  shop s;
  s.own->send(cosmos::remove_container(*cosmos::container_address::from("shop", "orders")));
  constexpr std::string_view path[]{"/customer"};
  s.own->send(cosmos::create_container(*cosmos::container_address::from("shop", "orders"),
                                       *keyspan::key_paths::parse(path),
                                       {.keeps_versions = 10min}));
  auto orders = s.own->open("orders");
  REQUIRE(s.own->loop.complete(orders.create(order(1, "oslo", 1))));
  REQUIRE(s.own->loop.complete(orders.create(order(2, "oslo", 2))));
  test::program running{s.words({"--watch", "--all-versions"})};
  REQUIRE(says(running, "ready to cut over"));
  REQUIRE(s.own->loop.complete(orders.upsert(order(1, "rome", 3))));
  REQUIRE(s.own->loop.complete(orders.remove("c-2", "o-2")));
  CHECK(says(running, "2 removed"));
  running.terminate();
  CHECK(running.finish().status == 0);
  CHECK(s.own->all_of("by_city") == s.own->all_of("orders"));
}

TEST_CASE("migrate says what is wrong, and never a key") {
  shop s;
  auto const ended = [&](std::vector<std::string> words) {
    words.insert(words.begin(), MIGRATE_PROGRAM);
    test::program running{std::move(words)};
    return running.finish();
  };
  auto const from = s.url + "/shop/orders";
  auto const to = s.url + "/shop/by_city";
  for (std::vector<std::string> const& words :
       std::vector<std::vector<std::string>>{{"--sing"},
                                             {"--sing", "1"},
                                             {"--from", from},
                                             {"--from", from, "--to", to},
                                             {"--from", "shop/orders", "--to", to},
                                             {"--poll", "0"},
                                             {"--target-key"}}) {
    auto const end = ended(words);
    CHECK(end.status == 2);
    CHECK(end.err.starts_with("usage: migrate"));
  }
  s.own->make("by_shop", "/shop");
  auto const other =
      ended({"--from", from, "--to", s.url + "/shop/by_shop", "--target-key", "/city"});
  CHECK(other.status == 1);
  CHECK(other.err.find("another key") != other.err.npos);
  auto const missing = ended({"--from", s.url + "/shop/none", "--to", to, "--target-key", "/city"});
  CHECK(missing.status == 1);
  CHECK(missing.err.find("not_found") != missing.err.npos);
  std::string const wrong = "d3Jvbmcgd3Jvbmcgd3Jvbmc=";
  ::setenv("ANOTHER_KEY", wrong.c_str(), 1);
  auto const refused = ended({"--from", from, "--to", to, "--target-key", "/city", "--from-key",
                              "ANOTHER_KEY", "--to-key", "ANOTHER_KEY"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("unauthorized") != refused.err.npos);
  CHECK((refused.out + refused.err).find(wrong) == std::string::npos);
}

TEST_CASE("the rehearsal of a migration ends well") {
  test::program running{{MIGRATE_PROGRAM, "--seed", "5", "--kills", "4"}};
  auto const end = running.finish();
  CHECK(end.status == 0);
  CHECK(end.out.find("* the program was killed, and is started again\n") != end.out.npos);
  CHECK(end.out.find("ready to cut over") != end.out.npos);
  CHECK(end.out.find("verified: cut over\n") != end.out.npos);
}

}  // namespace
