// test/cosmos/regional_account_test.cpp — an account whose regions come, go, and change places.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/regional_account.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::service_endpoint;
using keyspan::sync_wait;
using keyspan::cosmos::regional_account;
using keyspan::cosmos::regional_options;
using test::review;
using namespace std::chrono_literals;

// One service that listens in several regions, of which each takes all or says what it is told to.
struct account {
  struct wire {
    keyspan::ready<result<response>> send(request const& what) {
      of->asked.push_back(host);
      of->questions.push_back(what);
      if (auto const other = of->instead.find(host); other != of->instead.end())
        if (auto answer = other->second(what)) return {*std::move(answer)};
      if (what.target == "/") return {of->described()};
      return {of->service.answer(what)};
    }
    account* of;
    std::string host;
  };

  account() : service{{.key = *keyspan::cosmos::master_key::from(test::account_key)}} {}

  result<response> described() const {
    response made;
    auto const list = [&](std::vector<std::string> const& names) {
      std::string text{"["};
      for (auto const& name : names)
        text += (text.size() == 1 ? "" : ",") +
                ("{\"name\":\"" + name + "\",\"databaseAccountEndpoint\":\"" + scheme + name +
                 ".example.com:443/\"}");
      return text + "]";
    };
    made.body = "{\"id\":\"shop\",\"writableLocations\":" + list(writable) +
                ",\"readableLocations\":" + list(readable) +
                ",\"enableMultipleWriteLocations\":" + (is_many ? "true" : "false") +
                ",\"userConsistencyPolicy\":{\"defaultConsistencyLevel\":\"Session\"}}";
    return made;
  }
  auto opened(regional_options options = {}) {
    auto const dial = [this](service_endpoint const& to) {
      ++dials[to.host];
      return std::make_unique<wire>(wire{this, to.host});
    };
    return std::make_unique<regional_account<decltype(dial), test::jumping_clock>>(
        dial, clock, *service_endpoint::parse("https://shop.example.com"),
        *keyspan::cosmos::master_key::from(test::account_key), std::move(options));
  }
  void cut(std::string const& host) {
    instead[host] = [](request const&) {
      return std::optional<result<response>>{keyspan::fail(errc::not_connected, "cut off")};
    };
  }
  std::string places() {
    std::string text;
    for (auto const& host : asked)
      text += (text.empty() ? "" : " ") + host.substr(0, host.find('.'));
    asked.clear();
    return text;
  }

  cosmos_server::cosmos_service service;
  test::jumping_clock clock{};
  std::string scheme{"https://"};
  std::vector<std::string> writable{"west"};
  std::vector<std::string> readable{"west", "north"};
  bool is_many = false;
  std::map<std::string, std::function<std::optional<result<response>>(request const&)>> instead{};
  std::map<std::string, int> dials{};
  std::vector<std::string> asked{};
  std::vector<request> questions{};
};

void make_container(auto& in) {
  REQUIRE(sync_wait(in.ask(keyspan::cosmos::create_database("shop"))));
  auto const address = *keyspan::cosmos::container_address::from("shop", "reviews");
  auto const paths = *keyspan::key_paths::parse(std::vector<std::string_view>{"/article"});
  REQUIRE(sync_wait(in.ask(keyspan::cosmos::create_container(address, paths))));
}

TEST_CASE("an account in several regions is read in the nearest and written where it is taken") {
  account a;
  auto in = a.opened({.like = {.preferred = {"north"}}});
  make_container(*in);
  CHECK(a.places() == "shop west west");
  auto reviews = sync_wait(in->open<review>("shop", "reviews"));
  REQUIRE(reviews);
  REQUIRE(sync_wait(reviews->create(review{"r-1", "redmond", 5})));
  CHECK(sync_wait(reviews->read_item("redmond", "r-1"))->item->rating == 5);
  auto const asked = a.places();
  // The definition; the write; where partitions are is asked where they are split; the document.
  CHECK(asked == "north west west west north");
  CHECK(in->regions().known().readable.size() == 2);
  for (auto const& [host, count] : a.dials) CHECK(count == 1);
}

TEST_CASE("a region that is cut off is replaced by the next one, and remembered") {
  account a;
  auto in = a.opened({.like = {.preferred = {"north", "west"}}});
  make_container(*in);
  auto reviews = sync_wait(in->open<review>("shop", "reviews"));
  REQUIRE(sync_wait(reviews->create(review{"r-1", "redmond", 5})));
  a.cut("north.example.com");
  a.places();
  CHECK(sync_wait(reviews->read_item("redmond", "r-1")));
  CHECK(a.places() == "west west north west");
  CHECK(sync_wait(reviews->read_item("redmond", "r-1")));
  CHECK(a.places().find("north") == std::string::npos);
  a.clock.at += 6min;
  a.instead.clear();
  CHECK(sync_wait(reviews->read_item("redmond", "r-1")));
  CHECK(a.places().find("north") != std::string::npos);
}

TEST_CASE("a write follows the account to the region that takes it now") {
  account a;
  auto in = a.opened();
  make_container(*in);
  auto reviews = sync_wait(in->open<review>("shop", "reviews"));
  a.clock.at += 10s;
  a.writable = {"north"};
  a.instead["west.example.com"] = [](request const& what) {
    return what.method == "POST" ? test::door::status(403, 3) : std::nullopt;
  };
  a.places();
  REQUIRE(sync_wait(reviews->create(review{"r-1", "redmond", 5})));
  CHECK(a.places() == "west shop north");
  REQUIRE(sync_wait(reviews->create(review{"r-2", "redmond", 5})));
  CHECK(a.places() == "north");
}

TEST_CASE("where several regions take writes these say that they may be tentative") {
  account a;
  a.writable = {"west", "north"};
  a.is_many = true;
  auto in = a.opened({.like = {.preferred = {"north"}, .writes_everywhere = true}});
  make_container(*in);
  CHECK(a.places() == "shop west west");  // databases and containers are made in one place
  auto reviews = sync_wait(in->open<review>("shop", "reviews"));
  auto const before = a.questions.size();
  REQUIRE(sync_wait(reviews->create(review{"r-1", "redmond", 5})));
  CHECK(a.asked.back() == "north.example.com");
  CHECK(a.questions.back().headers.find("x-ms-cosmos-allow-tentative-writes") == "true");
  for (std::size_t i = 0; i < before; ++i)
    CHECK_FALSE(a.questions[i].headers.find("x-ms-cosmos-allow-tentative-writes"));
}

TEST_CASE("each region is sent a signature of its own time") {
  account a;
  auto time = keyspan::wall_time{std::chrono::hours{24 * 365 * 50}};
  auto in = a.opened(
      {.like = {.preferred = {"north", "west"}}, .account = {.now = [&] { return time += 1s; }}});
  REQUIRE(sync_wait(in->refresh()));
  a.instead["north.example.com"] = [](request const&) { return test::door::status(503); };
  a.instead["west.example.com"] = [](request const&) { return test::door::status(200); };
  a.questions.clear();
  REQUIRE(sync_wait(in->send(keyspan::cosmos::create_database("shop"))));
  REQUIRE(sync_wait(in->send(keyspan::cosmos::read_account()))->status == 200);
  std::set<std::string> dates;
  for (auto const& one : a.questions) dates.emplace(*one.headers.find("x-ms-date"));
  CHECK(dates.size() == a.questions.size());
  CHECK(a.questions.size() == 3);
}

TEST_CASE("what is busy is waited for in its region, and nothing is repeated by two") {
  account a;
  int left = 2;
  a.instead["north.example.com"] = [&](request const&) {
    return left-- > 0 ? test::door::status(429) : std::nullopt;
  };
  auto in = a.opened({.like = {.preferred = {"north", "west"}}});
  REQUIRE(sync_wait(in->ask(keyspan::cosmos::read_account())));
  CHECK(a.places() == "shop north north north");

  a.instead["north.example.com"] = [](request const&) { return test::door::status(503); };
  a.instead["west.example.com"] = a.instead["north.example.com"];
  auto const answer = sync_wait(in->send(keyspan::cosmos::read_account()));
  CHECK(answer->status == 503);
  CHECK(answer->attempts == 10);
  CHECK(a.places() == "north west north west north west north west north west");
}

TEST_CASE("a region without room for a write leaves it to another one at once") {
  account a;
  a.writable = {"west", "north"};
  a.is_many = true;
  auto in = a.opened({.like = {.preferred = {"north", "west"}, .writes_everywhere = true}});
  make_container(*in);
  auto reviews = sync_wait(in->open<review>("shop", "reviews"));
  a.instead["north.example.com"] = [](request const& what) {
    return what.method == "POST" ? test::door::status(429, 3092) : std::nullopt;
  };
  a.places();
  a.clock.waits.clear();
  REQUIRE(sync_wait(reviews->create(review{"r-1", "redmond", 5})));
  CHECK(a.places() == "north west");
  CHECK(a.clock.waits.empty());
}

TEST_CASE("each status of the service leads to what is done about it in regions") {
  using enum keyspan::region_trouble;
  struct row {
    std::uint16_t status, substatus;
    keyspan::region_trouble read, write, write_in_many;
  };
  for (auto const& one : {row{200, 0, none, none, none},
                          row{304, 0, none, none, none},
                          row{400, 0, none, none, none},
                          row{400, 1001, none, none, none},
                          row{400, 1004, none, none, none},
                          row{400, 1024, none, none, none},
                          row{401, 0, none, none, none},
                          row{403, 3, not_writable, not_writable, not_writable},
                          row{403, 1008, not_there, not_there, not_there},
                          row{403, 1014, none, none, none},
                          row{404, 0, none, none, none},
                          row{404, 1002, behind, behind, behind},
                          row{404, 1003, none, none, none},
                          row{404, 1013, not_ready, not_ready, not_ready},
                          row{408, 0, unclear, none, none},
                          row{409, 0, none, none, none},
                          row{410, 0, unavailable, unavailable, unavailable},
                          row{410, 1000, none, none, none},
                          row{410, 1002, none, none, none},
                          row{410, 1007, none, none, none},
                          row{410, 1008, none, none, none},
                          row{410, 1022, unavailable, unavailable, unavailable},
                          row{412, 0, none, none, none},
                          row{413, 0, none, none, none},
                          row{429, 0, none, none, none},
                          row{429, 3092, none, none, unavailable},
                          row{449, 0, none, none, none},
                          row{500, 0, unclear, none, none},
                          row{503, 0, unavailable, unavailable, unavailable}}) {
    INFO(one.status << '/' << one.substatus);
    response answer;
    answer.status = one.status;
    if (one.substatus != 0) answer.headers.add("x-ms-substatus", std::to_string(one.substatus));
    auto const why = keyspan::cosmos::service_errors{}(answer);
    auto const trouble = [&](keyspan::request_kind kind, bool in_many) {
      return why ? keyspan::trouble_of(*why, kind, in_many) : none;
    };
    CHECK(trouble(keyspan::request_kind::read, false) == one.read);
    CHECK(trouble(keyspan::request_kind::write, false) == one.write);
    CHECK(trouble(keyspan::request_kind::write, true) == one.write_in_many);
  }
}

TEST_CASE("stored procedures run where documents are written") {
  account a;
  a.writable = {"west", "north"};
  a.is_many = true;
  auto in = a.opened({.like = {.preferred = {"north"}, .writes_everywhere = true}});
  REQUIRE(sync_wait(in->refresh()));
  a.places();
  keyspan::cosmos::service_request run;
  run.about = keyspan::cosmos::resource::stored_procedure;
  run.link = "dbs/shop/colls/reviews/sprocs/count";
  run.message.method = "POST";
  run.message.target = "/dbs/shop/colls/reviews/sprocs/count";
  run.message.kind = keyspan::request_kind::write;
  REQUIRE(sync_wait(in->send(run)));
  CHECK(a.places() == "north");
}

TEST_CASE("each answer of a region is waited for no longer than the policy says") {
  account a;
  auto in = a.opened({.like = {.preferred = {"north", "west"}}});
  REQUIRE(sync_wait(in->ask(keyspan::cosmos::read_account())));
  CHECK(a.questions.back().deadline == a.clock.at + 5s);
  auto writing = keyspan::cosmos::create_database("shop");
  REQUIRE(sync_wait(in->ask(std::move(writing))));
  CHECK_FALSE(a.questions.back().deadline);
}

TEST_CASE("an account that is not there says so, with the places that were asked") {
  account a;
  for (std::string const host : {"shop", "west", "north", "shop-north"})
    a.cut(host + ".example.com");
  auto in = a.opened({.like = {.preferred = {"north"}}});
  auto const refreshed = sync_wait(in->refresh());
  REQUIRE_FALSE(refreshed);
  CHECK(refreshed.error().code == errc::not_connected);
  CHECK(a.places() == "shop shop-north");
  CHECK(sync_wait(in->ask(keyspan::cosmos::read_account())).error().code == errc::not_connected);
}

TEST_CASE("nothing is signed for a region in the open where the account is not one") {
  account a;
  a.scheme = "http://";
  auto in = a.opened({.like = {.preferred = {"north"}}});
  REQUIRE(sync_wait(in->refresh()));
  CHECK(in->regions().known().readable.empty());
  REQUIRE(sync_wait(in->ask(keyspan::cosmos::read_account())));
  CHECK(a.places() == "shop shop");
}

TEST_CASE("a body that is no account's moves nothing") {
  account a;
  auto in = a.opened({.like = {.preferred = {"north"}}});
  REQUIRE(sync_wait(in->refresh()));
  a.clock.at += 6min;
  a.instead["shop.example.com"] = [](request const&) {
    response made;
    made.body = "{\"readableLocations\":[{\"name\":\"evil\",\"databaseAccountEndpoint\":17}]}";
    return std::optional<result<response>>{made};
  };
  a.instead["west.example.com"] = a.instead["shop.example.com"];
  a.instead["north.example.com"] = a.instead["shop.example.com"];
  a.instead["shop-north.example.com"] = a.instead["shop.example.com"];
  CHECK(sync_wait(in->refresh()).error().code == errc::bad_response);
  CHECK(in->regions().known().readable.size() == 2);
}

TEST_CASE("a region is asked for its own list of partitions, not for what is new in another's") {
  account a;
  auto in = a.opened({.like = {.preferred = {"north", "west"}}});
  make_container(*in);
  auto reviews = sync_wait(in->open<review>("shop", "reviews"));
  auto const first = sync_wait(reviews->topology(""));
  REQUIRE(first);
  CHECK(a.asked.back() == "west.example.com");  // a split is done there first
  REQUIRE(sync_wait(reviews->topology(first->version)));
  CHECK(a.asked.back() == "west.example.com");
  CHECK(a.questions.back().headers.find("if-none-match"));
  a.cut("west.example.com");
  auto const second = sync_wait(reviews->topology(first->version));
  REQUIRE(second);
  CHECK(a.asked.back() == "north.example.com");
  CHECK_FALSE(a.questions.back().headers.find("if-none-match"));
  // A version is good where it was given, and nowhere else.
  CHECK(second->version == first->version);  // one service: the same words
  REQUIRE(sync_wait(reviews->topology(second->version)));
  CHECK(a.asked.back() == "north.example.com");
  CHECK(a.questions.back().headers.find("if-none-match"));
  REQUIRE(sync_wait(reviews->topology("\"another\"")));
  CHECK_FALSE(a.questions.back().headers.find("if-none-match"));
}

TEST_CASE("the example of regional_account reads as it should") {
  account a;
  auto& clock = a.clock;
  auto const dial = [&](service_endpoint const& to) {
    return std::make_unique<account::wire>(account::wire{&a, to.host});
  };
  auto const endpoint = *service_endpoint::parse("https://shop.example.com");
  auto const key = *keyspan::cosmos::master_key::from(test::account_key);
  make_container(*a.opened());
  // [region: example]
  keyspan::cosmos::regional_account shop{
      dial, clock, endpoint, key, {.like = {.preferred = {"north", "west"}}}};
  auto reviews = sync_wait(shop.open<review>("shop", "reviews"));
  auto const written = sync_wait(reviews->create(review{"r-1", "redmond", 5}));  // in west
  auto const read = sync_wait(reviews->read_item("redmond", "r-1"));             // in north
  // [end: example]
  CHECK(written);
  CHECK(read->item->rating == 5);
  auto const asked = a.places();
  CHECK(asked.size() >= 5);
  CHECK(asked.substr(asked.size() - 5) == "north");
}

}  // namespace
