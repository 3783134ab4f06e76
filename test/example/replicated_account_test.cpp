// test/example/replicated_account_test.cpp — containers in memory that are read in every region.
#include <example/replicated_account.hpp>

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>

#include <boost/hana/adapt_struct.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

struct note {
  std::string id, author;
  int version = 0;
};

}  // namespace
BOOST_HANA_ADAPT_STRUCT(note, id, author, version);

namespace {

using notes = example::replicated_container<note, keyspan::cosmos_v2_scheme>;
constexpr auto by_author = keyspan::documents_container<"/author">();

// Notes whose home is the second of three regions, and virtual time.
struct world {
  keyspan::manual_clock clock{};
  keyspan::run_loop loop{};
  example::region_links links{3};
  notes all{keyspan::cosmos_v2, by_author, 3, 1, {.partitions = 2}};
  keyspan::stop_source stop{};

  void write(std::string id, int version) {
    note const one{std::move(id), "ada", version};
    REQUIRE(keyspan::sync_wait(all.home().upsert(one)));
  }
  // The version that a region has; 0 for none.
  int seen(std::size_t region, std::string const& id) {
    auto const found = keyspan::sync_wait(all.in(region).read_item("ada", id));
    return found ? found->item->version : 0;
  }
  keyspan::task<> pass(keyspan::instant::duration time) {
    static_cast<void>(co_await keyspan::wait_for(clock, time));
  }
  // Replicates until the story is over.
  template <class Story>
  void run(Story story) {
    auto const tell = [&]() -> keyspan::task<> {
      auto telling = story();
      co_await std::move(telling);
      stop.request_stop();
    };
    auto copying = all.replicate(links, clock, {.delay = 80ms, .tick = 20ms}, stop.token());
    auto both = keyspan::when_all(std::move(copying), tell());
    auto const [done, told] = loop.complete(std::move(both), clock);
    static_cast<void>(told);
    CHECK(done);
  }
};

TEST_CASE("what is written at home is everywhere a little later, and not before") {
  world w;
  w.run([&]() -> keyspan::task<> {
    w.write("a", 1);
    auto early = w.pass(60ms);
    co_await std::move(early);
    CHECK(w.seen(1, "a") == 1);
    CHECK(w.seen(0, "a") == 0);
    CHECK(w.all.behind(0) == 1);
    auto later = w.pass(60ms);
    co_await std::move(later);
    CHECK(w.seen(0, "a") == 1);
    CHECK(w.seen(2, "a") == 1);
    CHECK(w.all.behind(0) + w.all.behind(1) + w.all.behind(2) == 0);
  });
}

TEST_CASE("a region that is cut off hears of nothing, and of all once it is joined") {
  world w;
  w.run([&]() -> keyspan::task<> {
    w.write("a", 1);
    auto first = w.pass(200ms);
    co_await std::move(first);
    w.links.cut(2);
    w.write("a", 2);
    w.write("b", 1);
    auto second = w.pass(10s);
    co_await std::move(second);
    CHECK(w.seen(0, "a") == 2);
    CHECK(w.seen(2, "a") == 1);
    CHECK(w.seen(2, "b") == 0);
    CHECK(w.all.behind(2) == 2);
    w.links.join(2);
    auto third = w.pass(200ms);
    co_await std::move(third);
    CHECK(w.seen(2, "a") == 2);
    CHECK(w.seen(2, "b") == 1);
  });
}

TEST_CASE("nobody hears of a home that is cut off, and nothing that is written there is lost") {
  world w;
  w.run([&]() -> keyspan::task<> {
    w.links.cut(1);
    for (int i = 1; i <= 50; ++i) w.write("a", i);
    auto first = w.pass(1s);
    co_await std::move(first);
    CHECK(w.seen(0, "a") == 0);
    CHECK(w.seen(2, "a") == 0);
    w.links.join(1);
    auto second = w.pass(200ms);
    co_await std::move(second);
    CHECK(w.seen(0, "a") == 50);
    CHECK(w.seen(2, "a") == 50);
  });
}

TEST_CASE("removals and splits of the home reach the copies") {
  world w;
  w.run([&]() -> keyspan::task<> {
    w.write("a", 1);
    w.write("b", 1);
    auto first = w.pass(200ms);
    co_await std::move(first);
    CHECK(w.seen(0, "a") == 1);
    REQUIRE(keyspan::sync_wait(w.all.home().remove("ada", "a")));
    for (auto const& part : w.all.home().partitions()) REQUIRE(w.all.home().split(part.id));
    w.write("b", 2);
    w.write("c", 1);
    auto second = w.pass(200ms);
    co_await std::move(second);
    for (std::size_t const region : {std::size_t{0}, std::size_t{2}}) {
      CHECK(w.seen(region, "a") == 0);
      CHECK(w.seen(region, "b") == 2);
      CHECK(w.seen(region, "c") == 1);
      CHECK(w.all.in(region).size() == 2);
    }
  });
}

}  // namespace
