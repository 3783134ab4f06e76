// test/region/region_directory_test.cpp — when the account is asked for its regions, and where.
#include <keyspan/async/instant.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/region_directory.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::account_regions;
using keyspan::instant;
using keyspan::region_directory;
using keyspan::region_use;
using keyspan::service_endpoint;
using namespace std::chrono_literals;

service_endpoint at(std::string_view host) {
  return *service_endpoint::parse("https://" + std::string{host});
}
auto const given = at("shop.example.com");
account_regions const two{
    {{"West US", at("west.example.com")}},
    {{"West US", at("west.example.com")}, {"North Europe", at("north.example.com")}}};
instant after(std::chrono::milliseconds time) { return instant{} + time; }

std::string first_of(region_directory const& all, region_use use, instant now) {
  return all.order(use, now).front().endpoint.host;
}

TEST_CASE("the account is asked first of all, and then each five minutes") {
  region_directory all{given};
  CHECK(first_of(all, region_use::read, after(0s)) == "shop.example.com");
  REQUIRE(all.turn(after(0s)));
  CHECK_FALSE(all.turn(after(0s)));  // somebody is asking
  all.finish(two, after(1s));
  CHECK(all.known() == two);
  CHECK(first_of(all, region_use::read, after(1s)) == "west.example.com");
  CHECK_FALSE(all.turn(after(1s)));
  CHECK_FALSE(all.turn(after(300'999ms)));
  CHECK(all.turn(after(301s)));
}

TEST_CASE("where the account could not be asked what is known stays, and it is asked soon again") {
  region_directory all{given};
  REQUIRE(all.turn(after(0s)));
  all.finish(two, after(0s));
  REQUIRE(all.turn(after(300s)));
  all.finish(std::nullopt, after(301s));
  CHECK(all.known() == two);
  CHECK_FALSE(all.turn(after(301'499ms)));
  CHECK(all.turn(after(301'500ms)));
}

TEST_CASE("a step that wants a look gets it, but not twice in half a second") {
  region_directory all{given};
  REQUIRE(all.turn(after(0s)));
  all.finish(two, after(0s));
  keyspan::region_step const step{.marks_writes = true, .refreshes = true};
  all.take(step, at("west.example.com"), after(100ms));
  CHECK_FALSE(all.turn(after(499ms)));
  REQUIRE(all.turn(after(500ms)));
  all.finish(two, after(500ms));
  CHECK_FALSE(all.turn(after(10s)));
  all.take(step, at("west.example.com"), after(10s));
  CHECK(all.turn(after(10s)));
}

TEST_CASE("what a step marks is asked last for five minutes") {
  region_directory all{given, {.preferred = {"West US", "North Europe"}}};
  REQUIRE(all.turn(after(0s)));
  all.finish(two, after(0s));
  all.take({.marks_reads = true}, at("west.example.com"), after(1s));
  CHECK(first_of(all, region_use::read, after(300'999ms)) == "north.example.com");
  CHECK(first_of(all, region_use::write, after(2s)) == "west.example.com");
  CHECK(first_of(all, region_use::read, after(301s)) == "west.example.com");
}

TEST_CASE("away from the preferred region the account is asked each half a minute") {
  region_directory all{given, {.preferred = {"West US", "North Europe"}}};
  REQUIRE(all.turn(after(0s)));
  all.finish(two, after(0s));
  CHECK_FALSE(all.turn(after(30s)));
  all.take({.marks_reads = true}, at("west.example.com"), after(31s));
  CHECK(all.turn(after(31s)));
  all.finish(two, after(31s));
  CHECK_FALSE(all.turn(after(60'999ms)));
  CHECK(all.turn(after(61s)));
  all.finish(two, after(61s));
}

TEST_CASE("the account is asked at its own address, then at those of its regions") {
  region_directory all{given, {.preferred = {"Japan East"}}};
  auto const hosts = [&] {
    std::vector<std::string> made;
    for (auto const& one : all.where_to_ask()) made.push_back(one.host);
    return made;
  };
  CHECK(hosts() == std::vector<std::string>{"shop.example.com", "shop-japaneast.example.com"});
  REQUIRE(all.turn(after(0s)));
  all.finish(two, after(0s));
  CHECK(hosts() == std::vector<std::string>{"shop.example.com", "west.example.com",
                                            "north.example.com", "shop-japaneast.example.com"});
}

TEST_CASE("documents are written in many regions where the account says so") {
  region_directory all{given, {.writes_everywhere = true}};
  CHECK_FALSE(all.view(region_use::write, after(0s)).writes_in_many);
  REQUIRE(all.turn(after(0s)));
  auto many = two;
  many.writes_everywhere = true;
  all.finish(many, after(0s));
  CHECK(all.view(region_use::write, after(0s)).writes_in_many);
}

TEST_CASE("a view says where to ask, and where it is written") {
  region_directory all{given, {.preferred = {"North Europe"}}};
  REQUIRE(all.turn(after(0s)));
  all.finish(two, after(0s));
  auto seen = all.view(region_use::read, after(0s));
  CHECK(seen.order.front().name == "North Europe");
  CHECK(seen.writer.name == "West US");
  CHECK_FALSE(seen.is_writer_marked);
  all.take({.marks_reads = true}, at("west.example.com"), after(0s));
  CHECK(all.view(region_use::read, after(1s)).is_writer_marked);
  CHECK_FALSE(all.view(region_use::read, after(300s)).is_writer_marked);
}

TEST_CASE("a turn that was given up is the next one's at once") {
  region_directory all{given};
  REQUIRE(all.turn(after(0s)));
  all.give_up();
  CHECK(all.turn(after(0s)));
}

TEST_CASE("a turn that nobody has cannot be ended") {
  region_directory all{given};
  CHECK(test::promise_broken_by([&] {
          all.finish(two, after(0s));
          return 0;
        }) == "who has the turn to ask ends it");
}

TEST_CASE("the example of region_directory reads as it should") {
  auto const now = after(0s);
  auto const ask_account = [] { return std::optional{two}; };
  // [region: example]
  keyspan::region_directory regions{given, {.preferred = {"North Europe"}}};
  if (regions.turn(now)) regions.finish(ask_account(), now);
  auto const nearest = regions.order(region_use::read, now).front();
  CHECK(nearest.name == "North Europe");

  // It could not be reached: it is asked last for five minutes, and the account anew.
  regions.take({.marks_reads = true, .refreshes = true}, nearest.endpoint, now + 1min);
  CHECK(regions.turn(now + 1min));
  // [end: example]
}

}  // namespace
