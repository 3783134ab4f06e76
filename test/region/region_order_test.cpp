// test/region/region_order_test.cpp — which region is asked first: every rule, each with a row.
#include <keyspan/async/instant.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_order.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::account_regions;
using keyspan::instant;
using keyspan::region_marks;
using keyspan::region_preferences;
using keyspan::region_use;
using keyspan::regions_for;
using keyspan::service_endpoint;
using keyspan::service_region;
using namespace std::chrono_literals;

service_endpoint endpoint_of(std::string_view region) {
  std::string host{region};
  std::replace(host.begin(), host.end(), ' ', '-');
  return *service_endpoint::parse("https://" + host + ".example.com");
}
std::vector<service_region> regions(std::vector<std::string> const& names) {
  std::vector<service_region> made;
  for (std::string const& name : names) made.push_back({name, endpoint_of(name)});
  return made;
}
auto const given = *service_endpoint::parse("https://account.example.com");

std::string told(std::vector<service_region> const& order) {
  std::string text;
  for (auto const& one : order)
    text += (text.empty() ? "" : ", ") + (one.name.empty() ? one.endpoint.host : one.name);
  return text;
}

struct row {
  std::string_view rule;
  std::vector<std::string> writable{};
  std::vector<std::string> readable{};
  bool many = false;  // the account takes writes in several regions
  region_preferences like{};
  std::vector<std::string> marked{};
  service_endpoint endpoint = given;
  std::string_view reads{};
  std::string_view writes{};
  std::string_view administers{};
};

TEST_CASE("regions are asked in the order that the rules say") {
  std::vector<std::string> const west{"west"};
  std::vector<std::string> const two{"west", "north"};
  std::vector<std::string> const three{"west", "north", "east"};
  std::vector<row> const rows{
      {.rule = "nothing is known yet: the address that was given",
       .reads = "account.example.com",
       .writes = "account.example.com",
       .administers = "account.example.com"},
      {.rule = "no preference: the account's order",
       .writable = west,
       .readable = three,
       .reads = "west, north, east",
       .writes = "west",
       .administers = "west"},
      {.rule = "preferred order, restricted to what is readable",
       .writable = west,
       .readable = three,
       .like = {.preferred = {"east", "mars", "North"}},
       .reads = "east, north",
       .writes = "west",
       .administers = "west"},
      {.rule = "a preferred region that is named twice is asked once",
       .writable = west,
       .readable = two,
       .like = {.preferred = {"north", "north", "NORTH"}},
       .reads = "north",
       .writes = "west",
       .administers = "west"},
      {.rule = "nothing that is preferred is there: where it is written",
       .writable = west,
       .readable = three,
       .like = {.preferred = {"mars"}},
       .reads = "west",
       .writes = "west",
       .administers = "west"},
      {.rule = "what is marked is asked last, not never",
       .writable = west,
       .readable = three,
       .like = {.preferred = {"east", "north", "west"}},
       .marked = {"east"},
       .reads = "north, west, east",
       .writes = "west",
       .administers = "west"},
      {.rule = "all are marked: in the order of preference",
       .writable = west,
       .readable = three,
       .like = {.preferred = {"east", "north"}},
       .marked = {"north", "east", "west"},
       .reads = "east, north",
       .writes = "west",
       .administers = "west"},
      {.rule = "one region writes: the account's order, whatever is preferred or marked",
       .writable = two,
       .readable = two,
       .like = {.preferred = {"north"}},
       .marked = {"west"},
       .reads = "north",
       .writes = "west, north",
       .administers = "west, north"},
      {.rule = "several write, and nobody has asked for it: the account's order",
       .writable = two,
       .readable = two,
       .many = true,
       .like = {.preferred = {"north", "west"}},
       .reads = "north, west",
       .writes = "west, north",
       .administers = "west, north"},
      {.rule = "asked for, and one region writes: the account's order",
       .writable = west,
       .readable = two,
       .like = {.preferred = {"north", "west"}, .writes_everywhere = true},
       .reads = "north, west",
       .writes = "west",
       .administers = "west"},
      {.rule = "several write, and it is asked for: documents in the preferred order",
       .writable = two,
       .readable = two,
       .many = true,
       .like = {.preferred = {"north", "west"}, .writes_everywhere = true},
       .reads = "north, west",
       .writes = "north, west",
       .administers = "west, north"},
      {.rule = "several write: marks count for documents",
       .writable = three,
       .readable = three,
       .many = true,
       .like = {.preferred = {"north", "west", "east"}, .writes_everywhere = true},
       .marked = {"north"},
       .reads = "west, east, north",
       .writes = "west, east, north",
       .administers = "west, north"},
      {.rule = "several write, no preference: the account's order, marks behind",
       .writable = three,
       .readable = three,
       .many = true,
       .like = {.writes_everywhere = true},
       .marked = {"west"},
       .reads = "north, east, west",
       .writes = "north, east, west",
       .administers = "west, north"},
      {.rule = "the address of a region was given, and no preference: that one alone",
       .writable = west,
       .readable = three,
       .marked = {"north"},
       .endpoint = endpoint_of("north"),
       .reads = "north",
       .writes = "west",
       .administers = "west"},
      {.rule = "the address of a region was given, and preferences: these",
       .writable = west,
       .readable = three,
       .like = {.preferred = {"east"}},
       .endpoint = endpoint_of("north"),
       .reads = "east",
       .writes = "west",
       .administers = "west"},
      {.rule = "excluded regions are not asked",
       .writable = west,
       .readable = three,
       .like = {.preferred = {"east", "north"}, .excluded = {"East"}},
       .reads = "north",
       .writes = "west",
       .administers = "west"},
      {.rule = "the address of a region was given, and it is excluded: the others",
       .writable = west,
       .readable = three,
       .like = {.excluded = {"north"}},
       .endpoint = endpoint_of("north"),
       .reads = "west, east",
       .writes = "west",
       .administers = "west"},
      {.rule = "excluded without preferences",
       .writable = west,
       .readable = three,
       .like = {.excluded = {"west"}},
       .reads = "north, east",
       .writes = "west",
       .administers = "west"},
      {.rule = "all are excluded: where it is written",
       .writable = west,
       .readable = two,
       .like = {.excluded = {"west", "north"}},
       .reads = "west",
       .writes = "west",
       .administers = "west"},
      {.rule = "excluded for writes in several regions, too",
       .writable = two,
       .readable = two,
       .many = true,
       .like = {.preferred = {"west", "north"}, .excluded = {"west"}, .writes_everywhere = true},
       .reads = "north",
       .writes = "north",
       .administers = "west, north"},
      {.rule = "an account that lists nothing to write: the address that was given",
       .readable = {},
       .like = {.preferred = {"west"}},
       .reads = "account.example.com",
       .writes = "account.example.com",
       .administers = "account.example.com"},
  };
  for (row const& one : rows) {
    INFO(one.rule);
    account_regions account{regions(one.writable), regions(one.readable), one.many};
    region_marks marks;
    for (std::string const& name : one.marked) {
      marks.mark(endpoint_of(name), region_use::read, instant{} + 5min);
      marks.mark(endpoint_of(name), region_use::write, instant{} + 5min);
    }
    auto const order = [&](region_use use) {
      return told(regions_for(account, one.like, marks, use, instant{}, one.endpoint));
    };
    CHECK(order(region_use::read) == one.reads);
    CHECK(order(region_use::write) == one.writes);
    CHECK(order(region_use::administer) == one.administers);
  }
}

TEST_CASE("a mark counts until its end, and for its use alone") {
  account_regions const account{regions({"west", "north"}), regions({"west", "north"}), true};
  region_preferences const like{.preferred = {"west", "north"}, .writes_everywhere = true};
  region_marks marks;
  marks.mark(endpoint_of("west"), region_use::read, instant{} + 5min);
  auto const order = [&](region_use use, instant now) {
    return told(regions_for(account, like, marks, use, now, given));
  };
  CHECK(order(region_use::read, instant{} + 299s) == "north, west");
  CHECK(order(region_use::read, instant{} + 300s) == "west, north");
  CHECK(order(region_use::write, instant{}) == "west, north");
}

TEST_CASE("a region is tried once in a round") {
  auto const two = regions({"west", "north"});
  std::vector<service_endpoint> tried;
  CHECK(keyspan::untried_region(two, tried)->name == "west");
  tried.push_back(endpoint_of("west"));
  CHECK(keyspan::untried_region(two, tried)->name == "north");
  tried.push_back(endpoint_of("north"));
  CHECK(keyspan::untried_region(two, tried) == nullptr);
  CHECK(keyspan::untried_region({}, tried) == nullptr);
}

TEST_CASE("documents are written in many regions where account and caller agree on it") {
  for (bool const account : {false, true})
    for (bool const caller : {false, true})
      CHECK(keyspan::writes_in_many({.writes_everywhere = account},
                                    {.writes_everywhere = caller}) == (account && caller));
}

TEST_CASE("the example of region_order reads as it should") {
  // [region: example]
  keyspan::account_regions const account{
      .writable = regions({"West US"}),
      .readable = regions({"West US", "North Europe", "Japan East"})};
  keyspan::region_preferences const like{.preferred = {"japaneast", "West US"}};
  keyspan::region_marks marks;
  marks.mark(endpoint_of("Japan East"), region_use::read, instant{} + 5min);

  auto const order = regions_for(account, like, marks, region_use::read, instant{}, given);
  CHECK(order.front().name == "West US");
  CHECK(order.back().name == "Japan East");  // last, not never
  // [end: example]
  CHECK(order.size() == 2);
}

}  // namespace
