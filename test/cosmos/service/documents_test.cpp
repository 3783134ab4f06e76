// test/cosmos/service/documents_test.cpp — documents of a service, written and read over a wire.
#include "client.hpp"

#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/item_batch.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::item_batch;
using keyspan::item_id;
using keyspan::partition_key;
using keyspan::result;
using keyspan::task;
using keyspan::when_all;
using test::client;
using test::code_of;
using test::good;
using test::numbered;
using test::review;
using test::reviews;
using test::world;

TEST_CASE("a document is created, read, upserted, replaced and taken away over a wire") {
  world w{"documents"};
  reviews in = w.made();
  auto const made = good(w.run(in.create({"r-1", "redmond", 5})));
  CHECK(made.status == 201);
  CHECK_FALSE(made.item.etag().view().empty());
  auto const read = good(w.run(in.read_item("redmond", "r-1")));
  CHECK(*read.item == review{"r-1", "redmond", 5});
  CHECK(read.item.etag() == made.item.etag());
  auto const second = good(w.run(in.upsert({"r-1", "redmond", 4})));
  CHECK(second.status == 200);
  CHECK_FALSE(second.item.etag() == made.item.etag());
  auto const third =
      good(w.run(in.replace({"r-1", "redmond", 3}, {.if_match = second.item.etag()})));
  CHECK(*third.item == review{"r-1", "redmond", 3});
  CHECK(*good(w.run(in.read_item("redmond", "r-1"))).item == review{"r-1", "redmond", 3});
  CHECK(good(w.run(in.remove("redmond", "r-1"))).status == 204);
  CHECK(good(w.run(in.upsert({"r-1", "redmond", 2}))).status == 201);
}

TEST_CASE("ids and texts arrive as they were sent") {
  world w{"documents"};
  reviews in = w.made();
  for (std::string const id :
       {"a b", "é", "100%", "a%20b", "x+y=z&w", "🙂", "a,b;c:d@e$f!g'h(i)*"}) {
    CAPTURE(id);
    review const one{id, "\"å\"\\ \x7F\t🙂", 5};
    REQUIRE(w.run(in.create(one)).has_value());
    CHECK(*good(w.run(in.read_item(one.article, id))).item == one);
  }
}

TEST_CASE("what is not there is not found, and what is there is not created again") {
  world w{"absence"};
  reviews in = w.made();
  CHECK(code_of(w.run(in.read_item("redmond", "r-1"))) == errc::not_found);
  CHECK(code_of(w.run(in.replace({"r-1", "redmond", 3}))) == errc::not_found);
  CHECK(code_of(w.run(in.remove("redmond", "r-1"))) == errc::not_found);
  good(w.run(in.create({"r-1", "redmond", 5})));
  CHECK(code_of(w.run(in.create({"r-1", "redmond", 5}))) == errc::already_exists);
  CHECK(code_of(w.run(in.read_item("seattle", "r-1"))) == errc::not_found);
  CHECK(code_of(w.run(w.by->in.open<review>(w.name, "nothing"))) == errc::not_found);
  CHECK(code_of(w.run(w.by->in.open<review>("keyspan-nothing", "reviews"))) == errc::not_found);
}

TEST_CASE("of many who replace the same version one wins, each round") {
  world w{"preconditions"};
  reviews in = w.made();
  auto etag = good(w.run(in.create({"r-1", "redmond", 0}))).item.etag();
  for (int round = 1; round <= 10; ++round) {
    std::vector<task<result<reviews::answer_type>>> contenders;
    for (int i = 0; i < 16; ++i)
      contenders.push_back(in.replace({"r-1", "redmond", 100 * round + i}, {.if_match = etag}));
    auto const all = [](auto racing) -> task<std::vector<result<reviews::answer_type>>> {
      co_return co_await std::move(racing);
    };
    auto const came = w.run(all(when_all(std::move(contenders))));
    int winner = -1;
    for (std::size_t i = 0; i < came.size(); ++i) {
      if (!came[i]) {
        CHECK(came[i].error().code == errc::precondition_failed);
        continue;
      }
      CHECK(winner == -1);
      winner = 100 * round + static_cast<int>(i);
      etag = came[i]->item.etag();
    }
    REQUIRE(winner != -1);
    auto const read = good(w.run(in.read_item("redmond", "r-1")));
    CHECK(read.item->rating == winner);
    CHECK(read.item.etag() == etag);
  }
}

TEST_CASE("patches that overtake each other are all done") {
  world w{"preconditions"};
  reviews in = w.made();
  good(w.run(in.create({"r-1", "redmond", 0})));
  auto const patching = [](reviews& to) -> task<bool> {
    auto work = to.patch("redmond", "r-1", [](review& one) { ++one.rating; });
    auto const done = co_await std::move(work);
    co_return done.has_value();
  };
  auto const all = [&](reviews& to) -> task<std::vector<bool>> {
    std::vector<task<bool>> patches;
    for (int i = 0; i < 8; ++i) patches.push_back(patching(to));
    auto together = when_all(std::move(patches));
    co_return co_await std::move(together);
  };
  CHECK(w.run(all(in)) == std::vector<bool>(8, true));
  CHECK(good(w.run(in.read_item("redmond", "r-1"))).item->rating == 8);
}

TEST_CASE("a batch is done whole or not at all over a wire") {
  world w{"batch"};
  reviews in = w.made();
  auto const first = good(w.run(in.create({"r-1", "redmond", 1})));
  good(w.run(in.create({"r-2", "redmond", 2})));
  item_batch<review> work{"redmond"};
  work.create({"r-3", "redmond", 3})
      .replace({"r-1", "redmond", 10}, {.if_match = first.item.etag()})
      .patch("r-3", [](review& one) { one.rating *= 10; })
      .remove("r-2")
      .read("r-1");
  auto const done = good(w.run(in.execute(work)));
  REQUIRE(done.is_done());
  CHECK(done.operations[0]->status == 201);
  CHECK(done.operations[4]->item->rating == 10);
  CHECK(good(w.run(in.read_item("redmond", "r-3"))).item->rating == 30);
  CHECK(code_of(w.run(in.read_item("redmond", "r-2"))) == errc::not_found);

  item_batch<review> bad{"redmond"};
  bad.upsert({"r-4", "redmond", 4}).create({"r-1", "redmond", 5}).remove("r-3");
  auto const refused = good(w.run(in.execute(bad)));
  CHECK(code_of(refused.operations[0]) == errc::not_attempted);
  CHECK(code_of(refused.operations[1]) == errc::already_exists);
  CHECK(code_of(refused.operations[2]) == errc::not_attempted);
  CHECK(code_of(w.run(in.read_item("redmond", "r-4"))) == errc::not_found);
  CHECK(w.run(in.read_item("redmond", "r-3")).has_value());
}

TEST_CASE("many documents are read at once over a wire") {
  world w{"absence"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 40)));
  std::vector<item_id> ids;
  for (int i = 0; i < 50; ++i) ids.push_back({partition_key{numbered(i).article}, numbered(i).id});
  auto const read = good(w.run(in.read_many(ids)));
  REQUIRE(read.items.size() == 50);
  for (int i = 0; i < 50; ++i) {
    auto const& one = read.items[static_cast<std::size_t>(i)];
    CHECK(static_cast<bool>(one) == (i < 40));
    if (one) CHECK(one->rating == i);
  }
}

// The list of the documents of each physical partition, a page at a time.
task<result<std::vector<std::string>>> listed(client& by, reviews& in, std::uint32_t most) {
  std::vector<std::string> ids;
  std::string const none;
  auto asking = in.topology(none);
  auto const owners = co_await std::move(asking);
  if (!owners) co_return keyspan::unexpected{owners.error()};
  for (auto const& owner : owners->partitions) {
    std::string continuation;
    do {
      keyspan::cosmos::page_target const target{.partition = owner.id};
      keyspan::cosmos::page_options const how{.most = most, .continuation = continuation};
      auto sending = by.in.send(keyspan::cosmos::read_documents(in.address(), target, how));
      auto const answer = co_await std::move(sending);
      if (!answer) co_return keyspan::unexpected{answer.error()};
      auto const page = keyspan::cosmos::documents_in(*answer);
      if (!page) co_return keyspan::unexpected{page.error()};
      if (most != 0 && page->documents.size() > most)
        co_return keyspan::fail(errc::too_large, "a page has ", page->documents.size());
      for (auto const& one : page->documents) ids.push_back(one.id);
      continuation = page->details.continuation;
    } while (!continuation.empty());
  }
  std::sort(ids.begin(), ids.end());
  co_return ids;
}

TEST_CASE("a list that is read page by page has each document once") {
  world w{"paging"};
  reviews in = w.made();
  good(w.run(test::write(in, 0, 50)));
  std::vector<std::string> wanted;
  for (int i = 0; i < 50; ++i) wanted.push_back(numbered(i).id);
  std::sort(wanted.begin(), wanted.end());
  for (std::uint32_t const most : {1U, 7U, 50U, 0U}) {
    CAPTURE(most);
    CHECK(good(w.run(listed(*w.by, in, most))) == wanted);
  }
}

TEST_CASE("documents of keys of several values are told apart by all of them") {
  world w{"hierarchical"};
  w.make("visits", {"/tenant", "/user/id", "/day"}, {.scheme = keyspan::cosmos_multihash});
  auto in = w.open<nlohmann::json>("visits");
  for (int i = 0; i < 30; ++i)
    good(w.run(in.create({{"id", "same"},
                          {"tenant", "t-" + std::to_string(i % 3)},
                          {"user", {{"id", i % 5}}},
                          {"day", i}})));
  partition_key const key{"t-1", 4, 4};
  CHECK((*good(w.run(in.read_item(key, "same"))).item)["day"] == 4);
  partition_key const other{"t-1", 4, 5};
  CHECK(code_of(w.run(in.read_item(other, "same"))) == errc::not_found);
  keyspan::feed_request<keyspan::any_token> request;
  request.scope = keyspan::key_prefix{partition_key{"t-1"}, 3};
  keyspan::feed of_tenant{in, request};
  auto const seen = good(w.run(test::drained(of_tenant)));
  CHECK(seen.size() == 10);
  for (auto const& one : seen) CHECK((*one.item)["tenant"] == "t-1");
}

TEST_CASE("sixty-four at once share one transport") {
  world w{"documents"};
  reviews in = w.made();
  auto const life = [](reviews& at, int i) -> task<result<void>> {
    for (int turn = 0; turn < 5; ++turn) {
      review one = numbered(100 * i + turn);
      auto creating = at.create(one);
      auto const made = co_await std::move(creating);
      if (!made) co_return keyspan::unexpected{made.error()};
      ++one.rating;
      auto replacing = at.replace(one, {.if_match = made->item.etag()});
      auto const replaced = co_await std::move(replacing);
      if (!replaced) co_return keyspan::unexpected{replaced.error()};
      auto reading = at.read_item(one.article, one.id);
      auto const read = co_await std::move(reading);
      if (!read) co_return keyspan::unexpected{read.error()};
      if (*read->item != one) co_return keyspan::fail(errc::malformed, "another one was read");
      auto removing = at.remove(one.article, one.id);
      auto const removed = co_await std::move(removing);
      if (!removed) co_return keyspan::unexpected{removed.error()};
    }
    co_return result<void>{};
  };
  auto const all = [&](reviews& at) -> task<std::vector<result<void>>> {
    std::vector<task<result<void>>> lives;
    for (int i = 0; i < 64; ++i) lives.push_back(life(at, i));
    auto together = when_all(std::move(lives));
    co_return co_await std::move(together);
  };
  for (auto const& one : w.run(all(in))) good(one);
}

TEST_CASE("a wrong key opens nothing, and is told to nobody") {
  world w{"authorization"};
  w.make();
  std::string const wrong{"d3Jvbmcgd3Jvbmcgd3Jvbmcgd3Jvbmc="};
  client stranger{w.service.endpoint(), wrong};
  auto const opened = stranger.run(stranger.in.open<review>(w.name, "reviews"));
  CHECK(code_of(opened) == errc::unauthorized);
  std::string const told{opened.error().to_text().view()};
  CHECK(told.find("key") != std::string::npos);
  CHECK(told.find(wrong) == std::string::npos);
  CHECK(opened.error().wire.status == 401);
  // The same program with the right one.
  stranger.in.set_credential(good(keyspan::cosmos::master_key::from(w.service.key())));
  CHECK(stranger.run(stranger.in.open<review>(w.name, "reviews")).has_value());
}

TEST_CASE("a clock that is an hour off is told as such") {
  world w{"authorization"};
  w.make();
  for (auto const off : {-1h, 1h}) {
    client astray{w.service, {.now = [off] {
                    return std::chrono::floor<std::chrono::milliseconds>(
                        std::chrono::system_clock::now() + off);
                  }}};
    auto const opened = astray.run(astray.in.open<review>(w.name, "reviews"));
    CHECK(code_of(opened) == errc::forbidden);
    CHECK(opened.error().text.view().find("time") != std::string_view::npos);
    CHECK(opened.error().wire.status == 403);
  }
}

TEST_CASE("a document beyond the service's limit is too large, and the next one is taken") {
  world w{"limits"};
  reviews in = w.made();
  for (std::size_t const size : {std::size_t{2'200'000}, std::size_t{6'000'000}}) {
    review const large{"r-1", "redmond" + std::string(size, 'x'), 5};
    w.make("by-id-" + std::to_string(size), {"/id"});
    reviews by_id = w.open("by-id-" + std::to_string(size));
    CHECK(code_of(w.run(by_id.create(large))) == errc::too_large);
    CHECK(code_of(w.run(by_id.upsert(large))) == errc::too_large);
    CHECK(w.run(by_id.create({"r-1", "redmond", 5})).has_value());
  }
}

TEST_CASE("who was told of a write sees it through another program") {
  world w{"session"};
  reviews in = w.made();
  auto const made = good(w.run(in.create({"r-1", "redmond", 5})));
  REQUIRE_FALSE(made.session_token.empty());
  client elsewhere{w.service};
  reviews there = elsewhere.open(w.name, "reviews");
  auto reading = there.read_item("redmond", "r-1", {.session_token = made.session_token});
  CHECK(*good(elsewhere.run(std::move(reading))).item == review{"r-1", "redmond", 5});
}

TEST_CASE("what the service has not seen yet is not shown as if it had") {
  world w{"session"};
  reviews in = w.made();
  auto const made = good(w.run(in.create({"r-1", "redmond", 5})));
  // The same partition, a thousand million writes later.
  std::string const token{made.session_token};
  auto const last = token.find_last_of("#") + 1;
  auto const end = token.find('#', last);
  std::string const later =
      token.substr(0, last) +
      std::to_string(std::strtoull(token.c_str() + last, nullptr, 10) + 1'000'000'000) +
      (end == std::string::npos ? "" : token.substr(end));
  auto reading = in.read_item("redmond", "r-1", {.session_token = later});
  CHECK(code_of(w.run(std::move(reading))) == errc::session_not_available);
}

TEST_CASE("who asks for more than is provisioned waits, and is served in the end") {
  world w{"throttling", 1};
  w.make("narrow", {"/article"}, {.request_units = 400});
  std::atomic<int> waits{0};
  std::atomic<int> idle_waits{0};
  std::atomic<std::int64_t> longest{0};
  client hasty{w.service,
               {.retries = {.most_attempts = 1'000}, .on_event = [&](keyspan::event const& one) {
                  if (one.kind != keyspan::event_kind::repeating) return;
                  if (one.code != errc::throttled || one.status != 429) return;
                  ++waits;
                  if (one.wait <= keyspan::instant::duration::zero()) ++idle_waits;
                  longest = (std::max)(longest.load(), std::int64_t{one.wait / 1ms});
                }}};
  using documents = keyspan::cosmos::cosmos_container<nlohmann::json>;
  auto in = hasty.open<nlohmann::json>(w.name, "narrow");
  auto const one = [](documents& to, int i) -> task<result<documents::answer_type>> {
    nlohmann::json document{{"id", "r-" + std::to_string(i)}, {"article", "redmond"}};
    document["text"] = std::string(20'000, 'x');
    auto writing = to.upsert(std::move(document));
    co_return co_await std::move(writing);
  };
  auto const all = [&](documents& to) -> task<std::vector<result<documents::answer_type>>> {
    std::vector<task<result<documents::answer_type>>> writers;
    for (int i = 0; i < 12; ++i) writers.push_back(one(to, i));
    auto together = when_all(std::move(writers));
    co_return co_await std::move(together);
  };
  double charge = 0;
  for (auto const& each : hasty.run(all(in))) {
    if (!each) FAIL(each.error().to_text().view());
    charge += each->charge;
  }
  INFO("charge " << charge << ", " << waits << " waits, the longest of " << longest << " ms");
  CHECK(charge > 400);
  CHECK(waits > 0);
  CHECK(idle_waits == 0);
  keyspan::feed everything{in};
  CHECK(good(hasty.run(test::drained(everything))).size() == 12);
}

}  // namespace
