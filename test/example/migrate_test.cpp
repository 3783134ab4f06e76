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
                                 "3000"};
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

// What comes of a command line.
test::outcome ended(std::vector<std::string> words) {
  words.insert(words.begin(), MIGRATE_PROGRAM);
  test::program running{std::move(words)};
  return running.finish();
}

TEST_CASE("a target with documents of somebody else is left as it is, unless that is asked for") {
  shop s;
  auto orders = s.own->open("orders");
  for (std::size_t i = 0; i < 5; ++i)
    REQUIRE(s.own->loop.complete(orders.create(order(i, "oslo", i))));
  s.own->make("by_city", "/city");
  auto copies = s.own->open("by_city");
  json const precious{{"id", "precious"}, {"customer", "x"}, {"city", "lima"}};
  REQUIRE(s.own->loop.complete(copies.create(json(precious))));
  auto const there = s.own->all_of("by_city");
  auto const refused = test::program{s.words()}.finish();
  CAPTURE(refused.out, refused.err);
  CHECK(refused.status == 1);
  CHECK(refused.err.find("--to " + s.url) != refused.err.npos);
  CHECK(refused.err.find("--overwrite takes it so") != refused.err.npos);
  CHECK(s.own->all_of("by_city") == there);
  CHECK(test::program{s.words({"--overwrite"})}.finish().status == 0);
  CHECK(s.own->all_of("by_city") == s.own->all_of("orders"));
  // From now on it is its own.
  REQUIRE(s.own->loop.complete(orders.create(order(6, "rome", 1))));
  CHECK(test::program{s.words()}.finish().status == 0);
  CHECK(s.own->all_of("by_city") == s.own->all_of("orders"));
  // And nobody else's, whatever the leases are called.
  auto const other = test::program{s.words({"--name", "other"})}.finish();
  CHECK(other.status == 1);
  CHECK(other.err.find("--overwrite") != other.err.npos);
}

TEST_CASE("two migrations of one name with the same leases do not know each other's places") {
  shop s;
  auto orders = s.own->open("orders");
  REQUIRE(s.own->loop.complete(orders.create(order(1, "oslo", 1))));
  s.own->make("more", "/customer");
  auto more = s.own->open("more");
  REQUIRE(s.own->loop.complete(more.create(order(2, "rome", 2))));
  REQUIRE(test::program{s.words()}.finish().status == 0);
  auto const end = ended({"--from", s.url + "/shop/more", "--to", s.url + "/shop/more_by_city",
                          "--target-key", "/city", "--poll", "50", "--expiry", "3000"});
  CAPTURE(end.out, end.err);
  CHECK(end.status == 0);
  // By the feed, and not by the comparison, which finds what the feed has left out.
  auto const compared = end.out.find("comparing");
  REQUIRE(compared != end.out.npos);
  CHECK(end.out.substr(0, compared).find("1 created") != end.out.npos);
  CHECK(s.own->all_of("more_by_city") == s.own->all_of("more"));
  // Nor those of one that was made anew.
  s.own->send(cosmos::remove_container(*cosmos::container_address::from("shop", "by_city")));
  auto const again = test::program{s.words()}.finish();
  CHECK(again.status == 0);
  auto const before = again.out.substr(0, again.out.find("comparing"));
  CHECK(before.find("1 created") != before.npos);
}

TEST_CASE("who was killed is waited for as long as --expiry says") {
  shop s;
  auto orders = s.own->open("orders");
  REQUIRE(s.own->loop.complete(orders.create(order(1, "oslo", 1))));
  test::program running{s.words({"--watch", "--expiry", "2468"})};
  REQUIRE(says(running, "ready to cut over"));
  // What its leases say of that.
  auto leases = s.own->open("leases");
  std::string all;
  auto reading = [&]() -> keyspan::task<bool> {
    keyspan::feed every{leases};
    auto stream = every.stream();
    while (auto* const page = co_await stream.next_page()) {
      if (!*page) co_return false;
      for (auto const& change : (*page)->items) all += change->dump();
    }
    co_return true;
  };
  REQUIRE(s.own->loop.complete(reading()));
  CAPTURE(all);
  CHECK(all.find("2468000000") != all.npos);
  running.terminate();
  CHECK(running.finish().status == 0);
}

TEST_CASE("migrate says what is wrong, and never a key") {
  shop s;
  auto const from = s.url + "/shop/orders";
  auto const to = s.url + "/shop/by_city";
  auto const moving = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"--from", from, "--to", to, "--target-key", "/city"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  struct wrong_line {
    std::vector<std::string> words;
    std::string says;
  };
  for (wrong_line const& one : std::vector<wrong_line>{
           {{"--sing"}, "there is no option --sing\n"},
           {{"--sing=" + key}, "there is no option --sing\n"},
           {moving({key}), "word 7 of the command line is no option"},
           {{"--from", from}, "--to is missing: --from needs --from, --to and --target-key"},
           {{"--from", from, "--to", to}, "--target-key is missing"},
           {{"--target-key", "/city"}, "--from is missing: --target-key needs"},
           {{"--watch"}, "--from is missing: --watch needs"},
           {{"--watch", "--seed", "1"}, "--seed is for the rehearsal, and that has no --watch"},
           {{"--seed", "one"}, "--seed is a number"},
           {{"--kills", "1001"}, "--kills is a number, 1000 at most"},
           {{"--from", "shop/orders", "--to", to}, "--from is URL/DATABASE/CONTAINER"},
           {{"--from", "shop/shop/orders", "--to", to}, "--from: "},
           {{"--from", from, "--to", to, "--target-key", "city"}, "--target-key: "},
           {{"--poll", "0"}, "--poll is a number of milliseconds, 10 at least"},
           {moving({"--expiry", "999"}), "--expiry is a number of milliseconds, 1000 at least"},
           {{"--target-key"}, "--target-key is followed by a value"},
           {moving({"--name", "a b"}), "--name is 1 to 60 letters"},
           {moving({"--name", std::string(61, 'a')}), "--name is 1 to 60 letters"},
           {moving({"--leases", "leases"}), "--leases is DATABASE/CONTAINER"},
           {moving({"--from-key", key}), "--from-key is the name of an environment variable"},
           {moving({"--to-key", "NO_SUCH_KEY"}),
            "--to: its account's key is not in the environment variable NO_SUCH_KEY; --to-key"},
           {{"--from", from, "--to", from, "--target-key", "/city"},
            "--from and --to are the same container"},
           {{"--from", from, "--to", s.url + "/shop/leases", "--target-key", "/id"},
            "--to and --leases are the same container"},
           {moving({"--leases", "shop/by_city"}), "--to and --leases are the same container"},
           {moving({"--leases", "shop/orders"}), "--from and --leases are the same container"}}) {
    CAPTURE(one.words);
    auto const end = ended(one.words);
    CHECK(end.status == 2);
    CHECK(end.err.starts_with("migrate: " + one.says));
    CHECK(end.err.find("\n\nusage: migrate") != end.err.npos);
    CHECK(end.out.empty());
    CHECK(end.err.find(key) == end.err.npos);
  }
  auto const help = ended({"--help"});
  CHECK(help.status == 0);
  CHECK(help.out.starts_with("usage: migrate"));
  CHECK(help.err.empty());
  s.own->make("by_shop", "/shop");
  auto const other =
      ended({"--from", from, "--to", s.url + "/shop/by_shop", "--target-key", "/city"});
  CHECK(other.status == 1);
  CHECK(other.err.find("another key") != other.err.npos);
  auto const missing = ended({"--from", s.url + "/shop/none", "--to", to, "--target-key", "/city"});
  CHECK(missing.status == 1);
  CHECK(missing.err.starts_with("migrate: --from " + s.url + "/shop/none, its key in COSMOS_KEY"));
  CHECK(missing.err.find("not_found") != missing.err.npos);
  ::setenv("ANOTHER_KEY", "no base64 ...", 1);
  auto const no_key = ended(moving({"--to-key", "ANOTHER_KEY"}));
  CHECK(no_key.status == 2);
  CHECK(no_key.err.starts_with("migrate: --to: the environment variable ANOTHER_KEY has no key"));
  CHECK(no_key.err.find("no base64 ...") == no_key.err.npos);
  std::string const wrong = "d3Jvbmcgd3Jvbmcgd3Jvbmc=";
  ::setenv("ANOTHER_KEY", wrong.c_str(), 1);
  auto const refused = ended(moving({"--to-key", "ANOTHER_KEY"}));
  CHECK(refused.status == 1);
  CHECK(refused.err.find("unauthorized") != refused.err.npos);
  CHECK(refused.err.starts_with("migrate: --to " + to + ", its key in ANOTHER_KEY"));
  CHECK((refused.out + refused.err).find(wrong) == std::string::npos);
}

TEST_CASE("the rehearsal of a migration ends well") {
  test::program running{{MIGRATE_PROGRAM, "--seed", "5", "--kills", "4"}};
  auto const end = running.finish();
  CHECK(end.status == 0);
  CHECK(end.out.find("* the program was killed, and is started again\n") != end.out.npos);
  CHECK(end.out.find("ready to cut over") != end.out.npos);
  CHECK(end.out.find("since this start") != end.out.npos);
  CHECK(end.out.find("rehearsed: both were the same in the end\n") != end.out.npos);
  CHECK(end.out.find("verified") == end.out.npos);
}

}  // namespace
