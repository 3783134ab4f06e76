// test/transport/memory_container_test.cpp — a container in memory, from a single document to
// partitions that split under a feed.
#include "reviews.hpp"

#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/page_source.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/stored.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::change;
using keyspan::change_kind;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed;
using keyspan::item_batch;
using keyspan::partition_key;
using keyspan::wall_time;
using test::by_article;
using test::done;
using test::review;
using test::review_options;
using test::reviews;
using test::test_time;
using namespace std::chrono_literals;

static_assert(keyspan::page_source<reviews>);
static_assert(!std::copyable<reviews> && !std::movable<reviews>);

review numbered(int i) { return {"r-" + std::to_string(i), "a-" + std::to_string(i % 37), i}; }
void write(reviews& to, int first, int last) {
  for (int i = first; i < last; ++i) REQUIRE(done(to.upsert(numbered(i))).has_value());
}
template <class Answer>
errc code_of(keyspan::result<Answer> const& answer) {
  REQUIRE_FALSE(answer.has_value());
  return answer.error().code;
}
std::vector<int> ratings(auto&& changes) {
  std::vector<int> found;
  for (auto const& one : changes) found.push_back(one->rating);
  return found;
}
std::vector<int> sorted(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}
// Keys that a partition owns.
std::vector<std::string> articles_in(keyspan::token_range<reviews::token_type> const& range,
                                     std::size_t count) {
  std::vector<std::string> found;
  for (int i = 0; found.size() < count; ++i) {
    std::string article = std::to_string(i);
    if (range.contains(keyspan::token_of(cosmos_v2, article))) found.push_back(std::move(article));
  }
  return found;
}
std::vector<int> counted(int first, int last) {
  std::vector<int> numbers;
  for (int i = first; i < last; ++i) numbers.push_back(i);
  return numbers;
}

// ---- one document
// --------------------------------------------------------------------------------

TEST_CASE("a document is created once, and read as it was written") {
  reviews in{cosmos_v2, by_article};
  auto const made = done(in.create(review{"r-1", "redmond", 5}));
  REQUIRE(made.has_value());
  CHECK(made->status == 201);
  CHECK(made->charge == 5);
  CHECK(made->partition == "0");
  CHECK(made->item.lsn() == 1);
  auto const read = done(in.read_item("redmond", "r-1"));
  REQUIRE(read.has_value());
  CHECK(*read->item == review{"r-1", "redmond", 5});
  CHECK(read->item == made->item);  // the very version
  CHECK(read->item.key() == partition_key{"redmond"});
  CHECK(read->item.id() == keyspan::key_value{"r-1"});
  CHECK(read->status == 200);
  CHECK(read->charge == 1);

  auto const again = done(in.create(review{"r-1", "redmond", 1}));
  CHECK(code_of(again) == errc::already_exists);
  CHECK(again.error().wire.status == 409);
  CHECK(again.error().text == "item \"r-1\" exists already");
  CHECK(done(in.read_item("redmond", "r-1"))->item->rating == 5);
  // The same id under another key is another document.
  CHECK(done(in.create(review{"r-1", "seattle", 2})).has_value());
  CHECK(in.size() == 2);
}

TEST_CASE("upsert writes what is there and what is not, replace only what is there") {
  reviews in{cosmos_v2, by_article};
  CHECK(code_of(done(in.replace(review{"r-1", "a", 1}))) == errc::not_found);
  CHECK(done(in.upsert(review{"r-1", "a", 1}))->status == 201);
  auto const etag = done(in.read_item("a", "r-1"))->item.etag();
  auto const second = done(in.upsert(review{"r-1", "a", 2}));
  CHECK(second->status == 200);
  CHECK_FALSE(second->item.etag() == etag);
  CHECK(done(in.replace(review{"r-1", "a", 3}))->item->rating == 3);
  CHECK(in.size() == 1);
}

TEST_CASE("a removal needs the document, and gives what it was") {
  reviews in{cosmos_v2, by_article};
  write(in, 0, 3);
  auto const gone = done(in.remove("a-1", "r-1"));
  CHECK(gone->status == 204);
  CHECK(gone->item->rating == 1);
  auto const again = done(in.remove("a-1", "r-1"));
  CHECK(code_of(again) == errc::not_found);
  CHECK(again.error().text == "there is no item \"r-1\" under the key [\"a-1\"]");
  CHECK(again.error().wire.status == 404);
  CHECK(code_of(done(in.read_item("a-1", "r-1"))) == errc::not_found);
  CHECK(in.size() == 2);
  CHECK(done(in.create(numbered(1)))->status == 201);
}

TEST_CASE("a stale etag changes nothing") {
  reviews in{cosmos_v2, by_article};
  auto const first = done(in.create(review{"r", "a", 1}))->item.etag();
  auto const second = done(in.replace(review{"r", "a", 2}, {.if_match = first}))->item.etag();
  auto const late = done(in.replace(review{"r", "a", 3}, {.if_match = first}));
  CHECK(code_of(late) == errc::precondition_failed);
  CHECK(late.error().wire.status == 412);
  CHECK(code_of(done(in.upsert(review{"r", "a", 3}, {.if_match = first}))) ==
        errc::precondition_failed);
  CHECK(code_of(done(in.remove("a", "r", {.if_match = first}))) == errc::precondition_failed);
  CHECK(code_of(done(in.patch("a", "r", [](review& one) { one.rating = 9; },
                              {.if_match = first}))) == errc::precondition_failed);
  CHECK(code_of(done(in.upsert(review{"new", "a", 3}, {.if_match = first}))) ==
        errc::precondition_failed);
  CHECK(done(in.read_item("a", "r"))->item->rating == 2);
  CHECK(in.size() == 1);
  CHECK(done(in.remove("a", "r", {.if_match = second})).has_value());
  // Made anew it is another version, however alike.
  CHECK_FALSE(done(in.create(review{"r", "a", 1}))->item.etag() == first);
}

TEST_CASE("a patch changes a document by a function of it, or refuses to") {
  reviews in{cosmos_v2, by_article};
  write(in, 0, 2);
  CHECK(done(in.patch("a-1", "r-1", [](review& one) { one.rating += 10; }))->item->rating == 11);
  auto const refused = done(in.patch("a-1", "r-1", [](review& one) -> keyspan::result<void> {
    one.rating = 0;
    return keyspan::fail(errc::invalid_options, "not that one");
  }));
  CHECK(code_of(refused) == errc::invalid_options);
  CHECK(code_of(done(in.patch("a-1", "r-9", [](review&) {}))) == errc::not_found);
  for (auto const& change :
       {+[](review& one) { one.id = "other"; }, +[](review& one) { one.article = "other"; }}) {
    auto const moved = done(in.patch("a-1", "r-1", change));
    CHECK(code_of(moved) == errc::key_mismatch);
    CHECK(moved.error().text ==
          "a patch changed the partition key or the id of item \"r-1\": remove it and create it "
          "anew");
  }
  CHECK(done(in.read_item("a-1", "r-1"))->item->rating == 11);
}

TEST_CASE("a patch that was overtaken is made anew upon what is there now") {
  reviews in{cosmos_v2, by_article};
  write(in, 0, 1);
  int calls = 0;
  auto const add = [&](review& one) {
    if (++calls < 3) REQUIRE(done(in.upsert(review{"r-0", "a-0", calls * 100})).has_value());
    one.rating += 1;
  };
  CHECK(done(in.patch("a-0", "r-0", add))->item->rating == 201);
  CHECK(calls == 3);
  // Not where it was asked to be of one version.
  calls = 0;
  auto const etag = done(in.read_item("a-0", "r-0"))->item.etag();
  CHECK(code_of(done(in.patch("a-0", "r-0", add, {.if_match = etag}))) ==
        errc::precondition_failed);
  CHECK(calls == 1);
}

TEST_CASE("a key with another number of values than the container has paths is refused") {
  reviews in{cosmos_v2, by_article};
  write(in, 0, 1);
  auto const few = done(in.read_item(partition_key{}, "r-0"));
  CHECK(code_of(few) == errc::key_mismatch);
  CHECK(few.error().text == "too few values: the key has 0, the container has 1 path");
  auto const many = done(in.remove(partition_key{"a-0", 1}, "r-0"));
  CHECK(code_of(many) == errc::key_mismatch);
  CHECK(many.error().text == "too many values: the key has 2, the container has 1 path");
  CHECK(in.size() == 1);
}

TEST_CASE("a document without an id, or that is too large, is refused") {
  reviews in{
      cosmos_v2,
      by_article,
      {.size_of = [](review const& one) { return one.article.size(); }, .largest_document = 10}};
  CHECK(code_of(done(in.create(review{"", "a", 1}))) == errc::not_representable);
  auto const large = done(in.create(review{"r", "eleven long", 1}));
  CHECK(code_of(large) == errc::too_large);
  CHECK(large.error().wire.status == 413);
  CHECK(large.error().text == "item \"r\" has 11 bytes, 10 are the most");
  CHECK(done(in.create(review{"r", "ten long!!", 1})).has_value());
  CHECK(in.size() == 1);
  CHECK(in.bytes() == 10);
}

TEST_CASE("what a document costs follows from its size") {
  reviews in{cosmos_v2, by_article, {.size_of = [](review const& one) {
               return static_cast<std::size_t>(one.rating);
             }}};
  for (auto const& [bytes, units] : {std::pair{0, 1}, {1024, 1}, {1025, 2}, {10'240, 10}}) {
    auto const made = done(in.upsert(review{"r", "a", bytes}));
    CHECK(made->charge == 5 * units);
    CHECK(done(in.read_item("a", "r"))->charge == units);
  }
  CHECK(in.bytes() == 10'240);
}

// ---- many documents
// ------------------------------------------------------------------------------

TEST_CASE("a batch is done whole, and told by a feed in one page") {
  reviews in{cosmos_v2, by_article, {.partitions = 4}};
  REQUIRE(done(in.create(review{"old", "a", 1})).has_value());
  feed changes{in, {.page_size = 1}};
  CHECK(ratings(changes) == std::vector{1});
  item_batch<review> work{"a"};
  for (int i = 0; i < 5; ++i) work.create(review{"r-" + std::to_string(i), "a", i});
  work.patch("old", [](review& one) { one.rating = 7; }).read("r-0").remove("r-1");
  auto const all = done(in.execute(work));
  REQUIRE(all.has_value());
  REQUIRE(all->is_done());
  REQUIRE(all->operations.size() == 8);
  CHECK(all->operations[0]->status == 201);
  CHECK(all->operations[5]->item->rating == 7);
  CHECK(all->operations[6]->item->rating == 0);
  CHECK(all->operations[7]->status == 204);
  CHECK(all->charge == 6 * 5 + 1 + 5);
  std::vector<std::size_t> pages;
  for (auto const& page : changes.pages()) pages.push_back(page->items.size());
  CHECK(pages == std::vector<std::size_t>{5});  // r-1 came and went
}

TEST_CASE("a batch of which one operation fails does nothing, and says which") {
  reviews in{cosmos_v2, by_article};
  REQUIRE(done(in.create(review{"old", "a", 1})).has_value());
  auto const etag = done(in.read_item("a", "old"))->item.etag();
  std::vector<std::pair<item_batch<review>, errc>> failing;
  auto const begin = [] { return item_batch<review>{"a"}.create(review{"new", "a", 1}); };
  failing.emplace_back(begin().create(review{"old", "a", 2}), errc::already_exists);
  failing.emplace_back(begin().create(review{"new", "a", 2}), errc::already_exists);
  failing.emplace_back(begin().replace(review{"none", "a", 2}), errc::not_found);
  failing.emplace_back(begin().remove("none"), errc::not_found);
  failing.emplace_back(begin().read("none"), errc::not_found);
  failing.emplace_back(begin().patch("none", [](review&) {}), errc::not_found);
  failing.emplace_back(begin().remove("old", {.if_match = "\"1\""}), errc::precondition_failed);
  failing.emplace_back(begin().create(review{"x", "b", 2}), errc::key_mismatch);
  failing.emplace_back(begin().patch("old", [](review& one) { one.article = "b"; }),
                       errc::key_mismatch);
  for (auto const& [work, code] : failing) {
    auto const all = done(in.execute(work));
    REQUIRE(all.has_value());
    CHECK_FALSE(all->is_done());
    REQUIRE(all->operations.size() == 2);
    CHECK(code_of(all->operations[0]) == errc::not_attempted);
    CHECK(all->operations[0].error().wire.status == 424);
    CHECK(code_of(all->operations[1]) == code);
    CHECK(std::string_view{all->operations[1].error().text}.starts_with("operation 1: "));
    CHECK(in.size() == 1);
    CHECK(done(in.read_item("a", "old"))->item.etag() == etag);
  }
  // Operations see what those before them did.
  auto const seen = done(in.execute(begin()
                                        .replace(review{"new", "a", 2})
                                        .remove("new")
                                        .create(review{"new", "a", 3})
                                        .read("new")));
  REQUIRE(seen->is_done());
  CHECK(seen->operations[4]->item->rating == 3);
}

TEST_CASE("a batch has limits") {
  reviews in{cosmos_v2,
             by_article,
             {.size_of = [](review const&) { return std::size_t{1000}; },
              .largest_batch = 3000,
              .most_operations = 4}};
  auto const none = done(in.execute(item_batch<review>{"a"}));
  CHECK(code_of(none) == errc::invalid_options);
  item_batch<review> work{"a"};
  for (int i = 0; i < 4; ++i) work.upsert(review{std::to_string(i), "a", i});
  auto const large = done(in.execute(work));
  CHECK(code_of(large) == errc::too_large);
  CHECK(large.error().text == "a batch has 3000 bytes at most, this one 4000");
  work.remove("0");
  auto const many = done(in.execute(work));
  CHECK(code_of(many) == errc::too_large);
  CHECK(many.error().text == "a batch has 4 operations at most, this one 5");
  CHECK(code_of(done(in.execute(item_batch<review>{partition_key{"a", 2}}.remove("0")))) ==
        errc::key_mismatch);
  CHECK(in.size() == 0);
}

TEST_CASE("many documents are read at once, each partition asked once") {
  std::vector<std::string> asked;
  reviews in{cosmos_v2, by_article, {.partitions = 4, .on_event = [&](keyspan::event const& one) {
                                       if (one.operation == "read_many")
                                         asked.emplace_back(one.to_text().view());
                                     }}};
  write(in, 0, 100);
  std::vector<keyspan::item_id> ids;
  for (int i = 99; i >= 0; i -= 3)
    ids.push_back({partition_key{numbered(i).article}, numbered(i).id});
  ids.push_back({partition_key{"a-1"}, "none"});
  auto const all = done(in.read_many(ids));
  REQUIRE(all.has_value());
  REQUIRE(all->items.size() == 35);
  for (std::size_t i = 0; i < 34; ++i) CHECK(all->items[i]->rating == 99 - 3 * static_cast<int>(i));
  CHECK_FALSE(all->items[34]);
  CHECK(all->charge == 35);
  CHECK(asked == std::vector<std::string>{
                     "answered read_many from memory: status 200, 34 items, charge 35"});
  CHECK(done(in.read_many({}))->items.empty());
  ids[7].key = partition_key{"a", "b"};
  auto const wrong = done(in.read_many(ids));
  CHECK(code_of(wrong) == errc::key_mismatch);
  CHECK(std::string_view{wrong.error().text}.starts_with("item 7: too many values"));
}

// ---- time
// ----------------------------------------------------------------------------------------

TEST_CASE("documents live as long as they may, counted from their last write") {
  test_time time;
  reviews in{cosmos_v2, by_article,
             time.with({.time_to_live = 10s,
                        .time_to_live_of =
                            [](review const& one) -> std::optional<std::chrono::milliseconds> {
                          if (one.rating == 0) return 1s;
                          return std::nullopt;
                        }})};
  write(in, 0, 3);
  time.now += 999ms;
  CHECK(done(in.read_item("a-0", "r-0")).has_value());
  time.now += 1ms;
  CHECK(code_of(done(in.read_item("a-0", "r-0"))) == errc::not_found);
  REQUIRE(done(in.upsert(numbered(1))).has_value());
  time.now += 9s;
  CHECK(code_of(done(in.read_item("a-2", "r-2"))) == errc::not_found);
  CHECK(done(in.read_item("a-1", "r-1")).has_value());
  feed changes{in};
  CHECK(ratings(changes) == std::vector{1});
  CHECK(in.size() == 1);
  time.now += 1s;
  CHECK(done(in.create(numbered(1)))->status == 201);
}

TEST_CASE("who may live longer than time goes lives for ever") {
  test_time time;
  reviews in{cosmos_v2, by_article,
             time.with({.time_to_live = std::chrono::milliseconds::max(), .keeps_versions = 1h})};
  write(in, 0, 1);
  time.now += 24h * 365'000;
  CHECK(done(in.read_item("a-0", "r-0")).has_value());
}

TEST_CASE("versions that were written anew are not kept until their time would have come") {
  test_time time;
  struct counted_document {
    std::string id, article;
    std::shared_ptr<int> counter;
  };
  keyspan::memory_container<counted_document, keyspan::cosmos_v2_scheme> held{
      cosmos_v2,
      keyspan::documents_container(&counted_document::article).with_row_key(&counted_document::id),
      {.now = [&] { return time.now; }, .time_to_live = 1h}};
  auto const counter = std::make_shared<int>();
  for (int i = 0; i < 20'000; ++i) REQUIRE(done(held.upsert({"r", "a", counter})).has_value());
  CHECK(counter.use_count() < 3'000);
  // Many that come to their end at once, and are swept out meanwhile.
  for (int i = 0; i < 3'000; ++i)
    REQUIRE(done(held.upsert({std::to_string(i), "a", counter})).has_value());
  time.now += 30min;
  for (int i = 0; i < 10; ++i)
    REQUIRE(done(held.upsert({std::to_string(i * 300), "a", counter})).has_value());
  time.now += 30min;
  CHECK(code_of(done(held.read_item("a", "1"))) == errc::not_found);
  CHECK(held.size() == 10);
  time.now += 30min;
  CHECK(code_of(done(held.read_item("a", "0"))) == errc::not_found);
  CHECK(held.size() == 0);
}

TEST_CASE("a document that is removed softly is told of before it goes") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with()};
  write(in, 0, 2);
  feed changes{in};
  CHECK(ratings(changes).size() == 2);
  auto const mark = [](review& one) { one.rating = -1; };
  CHECK(done(in.remove_softly("a-1", "r-1", mark, 30s))->item->rating == -1);
  CHECK(ratings(changes) == std::vector{-1});
  time.now += 30s;
  CHECK(code_of(done(in.read_item("a-1", "r-1"))) == errc::not_found);
  CHECK(ratings(changes).empty());
  CHECK(done(in.read_item("a-0", "r-0")).has_value());
}

TEST_CASE("documents come to their ends through splits and merges") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 2, .time_to_live = 10s})};
  write(in, 0, 20);
  REQUIRE(in.merge("0", "1").has_value());
  time.now += 5s;
  write(in, 10, 20);
  REQUIRE(in.split("2").has_value());
  time.now += 5s;
  for (int i = 0; i < 20; ++i) {
    auto const& one = numbered(i);
    CHECK(done(in.read_item(one.article, one.id)).has_value() == (i >= 10));
  }
  CHECK(in.size() == 10);
}

TEST_CASE("a clock that goes back stands still") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.time_to_live = 10s})};
  auto const first = done(in.create(numbered(0)))->item.modified_at();
  time.now -= 5s;
  CHECK(done(in.create(numbered(37)))->item.modified_at() == first);
  REQUIRE(in.split("0").has_value());  // the parts do not forget what time it was
  CHECK(done(in.create(numbered(74)))->item.modified_at() == first);
  REQUIRE(in.merge("1", "2").has_value());
  CHECK(done(in.create(numbered(111)))->item.modified_at() == first);
}

// ---- feeds
// ---------------------------------------------------------------------------------------

TEST_CASE("a feed tells the latest version of each document, in the order of writing") {
  reviews in{cosmos_v2, by_article, {.page_size = 3}};
  write(in, 0, 10);
  REQUIRE(done(in.upsert(review{"r-2", "a-2", 22})).has_value());
  REQUIRE(done(in.remove("a-4", "r-4")).has_value());
  feed changes{in};
  CHECK(ratings(changes) == std::vector{0, 1, 3, 5, 6, 7, 8, 9, 22});
  CHECK(ratings(changes).empty());
  auto const kept = changes.cursor().to_text();
  write(in, 10, 12);
  feed resumed{in, {.start = keyspan::cursor_of(in, kept).value()}};
  std::vector<change_kind> kinds;
  for (auto const& one : resumed) kinds.push_back(one.kind);
  CHECK(kinds == std::vector(2, change_kind::created));
}

TEST_CASE("a feed begins from now, from a moment, and for one key") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 3})};
  write(in, 0, 40);
  feed news{in, {.start = keyspan::from_now}};
  REQUIRE(news.open().has_value());
  time.now += 1min;
  wall_time const later = time.now;
  write(in, 40, 50);
  CHECK(sorted(ratings(news)) == counted(40, 50));
  feed since{in, {.start = keyspan::from_time{later}}};
  CHECK(sorted(ratings(since)) == counted(40, 50));
  feed of_one{in, {.scope = partition_key{"a-3"}, .page_size = 1}};
  CHECK(ratings(of_one) == std::vector{3, 40});
}

TEST_CASE("a page has what was asked for, and says where it comes from") {
  reviews in{cosmos_v2, by_article, {.page_size = 4}};
  write(in, 0, 10);
  REQUIRE(done(in.upsert(review{"r-2", "a-2", 22})).has_value());
  auto const range = in.partitions()[0].range;
  auto const page = [&](keyspan::continuation const& from, std::uint32_t size) {
    return done(in.read(range, from, {.page_size = size})).value();
  };
  auto const first = page(keyspan::from_beginning, 0);
  CHECK(first.items.size() == 4);
  CHECK(first.continuation == "\"5\"");
  CHECK_FALSE(first.nothing_new);
  CHECK(first.lsn == 11);
  CHECK(first.session_token == "0:11");
  CHECK(first.attempts == 1);
  CHECK(first.charge == 4);
  CHECK(first.activity_id.view().starts_with("0-"));
  CHECK_FALSE(page(keyspan::from_beginning, 0).activity_id == first.activity_id);
  auto const second = page(keyspan::continuation{first.continuation}, 5);
  CHECK(second.items.size() == 5);
  CHECK(second.items[4].kind == change_kind::created);
  auto const last = page(keyspan::continuation{second.continuation}, 5);
  REQUIRE(last.items.size() == 1);
  CHECK(last.items[0].kind == change_kind::replaced);
  CHECK_FALSE(last.items[0].before);
  CHECK(last.items[0].lsn == 11);
  CHECK(last.continuation == "\"11\"");
  CHECK(page(keyspan::continuation{last.continuation}, 5).nothing_new);
}

TEST_CASE("a feed from a moment tells nothing older, also where a merge has put that behind it") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 2})};
  auto const old = articles_in(in.partitions()[0].range, 50);
  auto const young = articles_in(in.partitions()[1].range, 20);
  for (auto const& article : old) REQUIRE(done(in.create(review{"r", article, 0})).has_value());
  time.now += 1h;
  auto const later = time.now;
  for (auto const& article : young) REQUIRE(done(in.create(review{"r", article, 1})).has_value());
  REQUIRE(in.merge("0", "1").has_value());
  feed since{in, {.start = keyspan::from_time{later}, .page_size = 5}};
  CHECK(ratings(since) == std::vector(20, 1));
}

TEST_CASE("a feed goes on through splits and merges, each change once") {
  reviews in{cosmos_v2, by_article, {.partitions = 2}};
  write(in, 0, 200);
  feed changes{in, {.page_size = 7}};
  std::vector<int> found;
  for (auto const& one : changes) {
    found.push_back(one->rating);
    if (found.size() == 20) REQUIRE(in.split("0").has_value());
    if (found.size() == 60) REQUIRE(in.split("2").has_value());
    if (found.size() == 100) REQUIRE(in.merge("5", "3").has_value());
  }
  CHECK(sorted(found) == counted(0, 200));
  std::vector<std::string> ids;
  for (auto const& one : in.partitions()) ids.push_back(one.id);
  CHECK(ids == std::vector<std::string>{"4", "6", "1"});
  CHECK(in.partitions()[1].parents == std::vector<std::string>{"0", "2", "3", "5"});
  write(in, 200, 260);
  CHECK(sorted(ratings(changes)) == counted(200, 260));
}

TEST_CASE("the laws of page sources hold, through splits and merges") {
  reviews in{cosmos_v2, by_article, {.partitions = 3, .page_size = 10}};
  write(in, 0, 300);
  for (int i = 0; i < 300; i += 7) REQUIRE(done(in.upsert(numbered(i))).has_value());
  auto const key_of = [](change<review> const& one) { return partition_key{one->article}; };
  auto const id_of = [](change<review> const& one) { return one->id; };
  for (int round = 0; round < 3; ++round) {
    auto const found = keyspan::law::check_page_source(in, key_of, id_of, {.items = 300}, [&] {
      auto const all = in.partitions();
      REQUIRE(in.split(all[0].id).has_value());
      REQUIRE(in.merge(all[1].id, all[2].id).has_value());
    });
    CHECK(found.to_text() == "the law holds");
  }
}

TEST_CASE("a feed of all versions tells every version and removal, as far back as they are kept") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 2, .keeps_versions = 1h})};
  write(in, 0, 1);
  using keyspan::feed_mode;
  feed all{in, {.start = keyspan::from_now, .mode = feed_mode::all_versions_and_deletes}};
  REQUIRE(all.open().has_value());
  REQUIRE(done(in.upsert(review{"r-0", "a-0", 1})).has_value());
  REQUIRE(done(in.upsert(review{"r-0", "a-0", 2})).has_value());
  REQUIRE(done(in.remove("a-0", "r-0")).has_value());
  REQUIRE(done(in.create(review{"r-0", "a-0", 3})).has_value());
  REQUIRE(in.split(in.partitions()[0].id).has_value());
  REQUIRE(in.split(in.partitions().back().id).has_value());
  struct told {
    change_kind kind;
    int now, before;
    bool operator==(told const&) const = default;
  };
  std::vector<told> found;
  for (auto const& one : all)
    found.push_back({one.kind, one->rating, one.before ? one.before->rating : -1});
  CHECK(found == std::vector<told>{{change_kind::replaced, 1, 0},
                                   {change_kind::replaced, 2, 1},
                                   {change_kind::removed, 2, -1},
                                   {change_kind::created, 3, -1}});
  // What is older than an hour is forgotten, and whoever stands before it hears so.
  auto const kept = all.cursor();
  REQUIRE(done(in.upsert(review{"r-0", "a-0", 4})).has_value());
  time.now += 1h;
  REQUIRE(done(in.upsert(review{"r-0", "a-0", 5})).has_value());
  feed in_time{in, {.start = kept}};
  CHECK(ratings(in_time) == std::vector{4, 5});
  time.now += 1ms;
  feed late{in, {.start = kept}};
  auto const lost = (*late.pages().begin());
  CHECK(code_of(lost) == errc::position_lost);
}

TEST_CASE("a merge forgets no version that one of both has kept") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 2, .keeps_versions = 1h})};
  using keyspan::feed_mode;
  auto const quiet = articles_in(in.partitions()[0].range, 1).front();
  auto const busy = articles_in(in.partitions()[1].range, 1).front();
  auto const all = [&](std::string const& article) {
    return feed{in,
                {.start = keyspan::from_now,
                 .mode = feed_mode::all_versions_and_deletes,
                 .scope = partition_key{article}}};
  };
  auto of_quiet = all(quiet);
  auto of_busy = all(busy);
  REQUIRE(of_quiet.open().has_value());
  REQUIRE(of_busy.open().has_value());
  for (int i = 0; i < 50; ++i) REQUIRE(done(in.upsert(review{"r", busy, i})).has_value());
  time.now += 2h;
  REQUIRE(done(in.upsert(review{"r", busy, 50})).has_value());
  REQUIRE(done(in.upsert(review{"r", quiet, 51})).has_value());
  REQUIRE(in.merge("0", "1").has_value());
  CHECK(ratings(of_quiet) == std::vector{51});
  CHECK(code_of(*of_busy.pages().begin()) == errc::position_lost);
  // Split again, each part knows what it has forgotten.
  REQUIRE(in.split("2", keyspan::cosmos_v2.boundary(1, 2)).has_value());
  REQUIRE(done(in.upsert(review{"r", quiet, 52})).has_value());
  CHECK(ratings(of_quiet) == std::vector{52});
  CHECK(code_of(*of_busy.pages().begin()) == errc::position_lost);
}

TEST_CASE("feeds of all versions are refused where none are kept, and from the beginning") {
  using keyspan::feed_mode;
  reviews plain{cosmos_v2, by_article};
  write(plain, 0, 1);
  feed all{plain, {.start = keyspan::from_now, .mode = feed_mode::all_versions_and_deletes}};
  CHECK(code_of(all.open()) == errc::unsupported);
  reviews keeping{cosmos_v2, by_article, {.keeps_versions = 1h}};
  feed beginning{keeping, {.mode = feed_mode::all_versions_and_deletes}};
  CHECK(code_of(*beginning.pages().begin()) == errc::unsupported);
}

TEST_CASE("a read that makes no sense has its own error, and changes nothing") {
  reviews in{cosmos_v2, by_article, {.partitions = 2}};
  write(in, 0, 20);
  auto const whole = keyspan::whole_space(cosmos_v2);
  auto const own = in.partitions()[0].range;
  auto const gone = done(in.read(whole, keyspan::from_beginning, {}));
  CHECK(code_of(gone) == errc::range_gone);
  CHECK(gone.error().wire.status == 410);
  CHECK(gone.error().wire.substatus == 1002);
  auto const stale = done(in.read(own, keyspan::from_beginning, {.partition = "77"}));
  CHECK(code_of(stale) == errc::range_gone);
  CHECK(stale.error().text == "partition 77 does not own the range, partition 0 does");
  for (std::string const text : {"12", "\"\"", "\"x\"", "\"012\"", "\"99999\"", "\"-1\""}) {
    auto const refused = done(in.read(own, keyspan::continuation{text}, {}));
    CHECK(code_of(refused) == errc::malformed);
    CHECK(refused.error().text == "this container never gave the continuation " + text);
  }
  CHECK(code_of(done(in.topology("\"7\""))) == errc::malformed);
  partition_key const two{"a-1", "b"};
  CHECK(code_of(done(in.read(own, keyspan::from_beginning, {.key = &two}))) == errc::key_mismatch);
  keyspan::stop_source stopping;
  stopping.request_stop();
  CHECK(code_of(done(in.read(own, keyspan::from_beginning, {.stop = stopping.token()}))) ==
        errc::stopped);
  // A cursor of another container, or of this one made anew with another seed.
  reviews other{cosmos_v2, by_article, {.seed = 1}};
  feed changes{in};
  CHECK(ratings(changes).size() == 20);
  feed elsewhere{other, {.start = changes.cursor()}};
  CHECK(code_of(elsewhere.open()) == errc::wrong_container);
}

TEST_CASE("a session is shown what it has written, and told where that is not there yet") {
  reviews in{cosmos_v2, by_article, {.partitions = 1}};
  auto const session = done(in.create(numbered(0)))->session_token;
  CHECK(session == "0:1");
  CHECK(done(in.read_item("a-0", "r-0", {.session_token = session})).has_value());
  auto const ahead = done(in.read_item("a-0", "r-0", {.session_token = "0:2"}));
  CHECK(code_of(ahead) == errc::session_not_available);
  CHECK(ahead.error().wire.status == 404);
  CHECK(ahead.error().wire.substatus == 1002);
  CHECK(done(in.read_item("a-0", "r-0", {.session_token = "0:1,8:99"})).has_value());
  auto const batch = done(in.execute(item_batch<review>{"a-0"}.upsert(numbered(0)).read("r-0")));
  for (auto const& one : batch->operations) CHECK(one->session_token == "0:2");
  CHECK(done(in.read_item("a-0", "r-0"))->session_token == "0:2");
  REQUIRE(in.split("0").has_value());
  CHECK(done(in.read_item("a-0", "r-0", {.session_token = session})).has_value());
  CHECK(code_of(done(in.read_item("a-0", "r-0", {.session_token = "0:3"}))) ==
        errc::session_not_available);
  for (std::string_view const text : {"0", ":1", "0:", "0:x", "0:1;1:1", ",", "0:1,,"})
    CHECK(code_of(done(in.read_item("a-0", "r-0", {.session_token = text}))) == errc::bad_request);
  auto const range = in.partitions()[0].range;
  CHECK(code_of(done(in.read(range, keyspan::from_beginning, {.session_token = "0:3"}))) ==
        errc::session_not_available);
}

// ---- partitions
// ----------------------------------------------------------------------------------

TEST_CASE("a split gives each part half of the documents") {
  reviews in{cosmos_v2, by_article};
  for (int i = 0; i < 1000; ++i)
    REQUIRE(done(in.create(review{"r", std::to_string(i), i})).has_value());
  auto const parts = in.split("0");
  REQUIRE(parts.has_value());
  CHECK(*parts == std::vector<std::string>{"1", "2"});
  std::size_t left = 0;
  feed half{in, {.scope = in.partitions()[0].range}};
  for (auto const& page : half.pages()) left += page->items.size();
  CHECK(left == 500);
  for (int i = 0; i < 1000; ++i)
    CHECK(done(in.read_item(std::to_string(i), "r"))->item->rating == i);
}

TEST_CASE("a split or merge that cannot be is refused, and nothing has changed") {
  reviews in{cosmos_v2, by_article, {.partitions = 3}};
  write(in, 0, 10);
  auto const before = in.partitions();
  auto const unknown = in.split("7");
  CHECK(code_of(unknown) == errc::unknown_range);
  CHECK(unknown.error().text == "there is no partition 7 now");
  CHECK(code_of(in.split("1", before[1].range.lower())) == errc::invalid_range);
  CHECK(code_of(in.split("1", before[2].range.lower())) == errc::invalid_range);
  CHECK(code_of(in.merge("0", "2")) == errc::invalid_range);
  CHECK(code_of(in.merge("0", "0")) == errc::invalid_range);
  CHECK(code_of(in.merge("0", "9")) == errc::unknown_range);
  CHECK(in.partitions() == before);
}

TEST_CASE("a partition that is full splits by itself, one key alone never does") {
  std::vector<std::string> events;
  reviews in{cosmos_v2,
             by_article,
             {.limits = {.partition_bytes = 10 * 1024},
              .splits_when_full = true,
              .on_event = [&](keyspan::event const& one) {
                if (one.kind == keyspan::event_kind::split)
                  events.emplace_back(one.to_text().view());
              }}};
  for (int i = 0; i < 100; ++i)
    REQUIRE(done(in.create(review{"r", std::to_string(i), i})).has_value());
  CHECK(in.partitions().size() > 10);
  CHECK(events.size() >= in.partitions().size() / 2);
  CHECK(events.front() == "split in 0 from memory: 2 items");
  for (int i = 0; i < 100; ++i) CHECK(done(in.read_item(std::to_string(i), "r")).has_value());
  auto const count = in.partitions().size();
  for (int i = 0; i < 40; ++i)
    REQUIRE(done(in.create(review{std::to_string(i), "one", i})).has_value());
  CHECK(in.partitions().size() <= count + 2);  // away from both neighbours, and no further
  CHECK(in.size() == 140);
}

TEST_CASE("whoever is told of a split or a merge may ask the container") {
  std::vector<std::size_t> sizes;
  reviews* container = nullptr;
  reviews in{
      cosmos_v2,
      by_article,
      {.limits = {.partition_request_units = 1000, .partition_bytes = 10 * 1024},
       .splits_when_full = true,
       .on_event = [&](keyspan::event const& one) {
         if (one.kind == keyspan::event_kind::split || one.kind == keyspan::event_kind::merged)
           sizes.push_back(container->size() + container->partitions().size());
       }}};
  container = &in;
  for (int i = 0; i < 10; ++i)
    REQUIRE(done(in.create(review{"r", std::to_string(i), i})).has_value());
  CHECK(sizes == std::vector<std::size_t>{12});
  REQUIRE(in.split("1").has_value());
  REQUIRE(in.merge("3", "4").has_value());
  REQUIRE(in.provision(4000).has_value());
  CHECK(sizes == std::vector<std::size_t>{12, 13, 12, 14, 14});
}

TEST_CASE("every version in a batch has an etag of its own") {
  reviews in{cosmos_v2, by_article};
  item_batch<review> work{"a"};
  for (int i = 0; i < 3; ++i) work.upsert(review{"r", "a", i});
  auto const all = done(in.execute(work));
  REQUIRE(all->is_done());
  std::set<std::string> etags;
  for (auto const& one : all->operations) etags.emplace(one->item.etag().view());
  CHECK(etags.size() == 3);
  CHECK(done(in.read_item("a", "r"))->item.etag() == all->operations[2]->item.etag());
}

TEST_CASE("what is refused costs a unit, and says so") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.request_units = 10})};
  CHECK(done(in.remove("a", "r")).error().wire.charge == 1);
  CHECK(done(in.read_item("a", "r")).error().wire.charge == 1);
  CHECK(done(in.patch("a", "r", [](review&) {})).error().wire.charge == 1);
  CHECK(done(in.replace(review{"r", "a", 1})).error().wire.charge == 1);
  CHECK(done(in.create(review{"r", "a", 1}))->charge == 5);
  CHECK(done(in.create(review{"r", "a", 1})).error().wire.charge == 1);
  CHECK(code_of(done(in.read_item("a", "r"))) == errc::throttled);  // ten in all
}

TEST_CASE("provisioned throughput makes as many partitions as it needs") {
  reviews in{cosmos_v2, by_article, {.limits = {.partition_request_units = 1000}}};
  write(in, 0, 500);
  CHECK(in.provision(3500).value() == 4);
  CHECK(in.partitions().size() == 4);
  CHECK(in.provision(1000).value() == 4);  // never fewer
  feed changes{in};
  CHECK(sorted(ratings(changes)) == counted(0, 500));
}

TEST_CASE("who asks for more than is provided is throttled, and told how long to wait") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.request_units = 100})};
  int written = 0;
  while (done(in.create(review{std::to_string(written), "a", written})).has_value()) ++written;
  CHECK(written == 20);  // five units each
  auto const refused = done(in.create(review{"more", "a", 1}));
  CHECK(code_of(refused) == errc::throttled);
  CHECK(refused.error().wire.status == 429);
  CHECK(refused.error().wire.substatus == 3200);
  CHECK(refused.error().wire.retry_after_ms == 1);
  CHECK(code_of(done(in.read_item("a", "0"))) == errc::throttled);
  CHECK(in.size() == 20);
  time.now += std::chrono::milliseconds{refused.error().wire.retry_after_ms};
  CHECK(done(in.create(review{"more", "a", 1})).has_value());
  auto const again = done(in.read_item("a", "0"));  // used ahead: 4.9 units
  CHECK(again.error().wire.retry_after_ms == 50);
  time.now += 49ms;
  CHECK_FALSE(done(in.read_item("a", "0")).has_value());
  time.now += 1ms;
  CHECK(done(in.read_item("a", "0")).has_value());
  time.now += 1h;  // no more than a second's units are saved up
  int more = 0;
  while (done(in.read_item("a", "0")).has_value()) ++more;
  CHECK(more == 100);
}

TEST_CASE("partitions are throttled each for itself, with an even share") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 4, .request_units = 400})};
  std::map<std::string, int> done_by;
  std::set<std::string> throttled;
  for (int i = 0; throttled.size() < 4 && i < 10'000; ++i) {
    std::string const article = std::to_string(i);
    auto const answer = done(in.create(review{"r", article, i}));
    if (answer)
      ++done_by[std::string{answer->partition.view()}];
    else
      throttled.insert(std::string{answer.error().text.view()});
  }
  for (auto const& [id, count] : done_by) CHECK(count == 20);
  CHECK(done_by.size() == 4);
}

TEST_CASE("who waits as long as told is served, whatever the share and the charge") {
  for (std::uint64_t units = 7; units < 3'000; units = units * 5 / 4 + 1) {
    test_time time;
    reviews in{cosmos_v2, by_article, time.with({.partitions = 3, .request_units = units})};
    int waits = 0;
    for (int i = 0; i < 2'000 && waits < 40; ++i) {
      auto const answer = done(in.upsert(review{"r", "a", i}));
      if (answer) continue;
      ++waits;
      auto const told = answer.error().wire.retry_after_ms;
      time.now += std::chrono::milliseconds{told - 1};
      if (told > 1) CHECK(code_of(done(in.read_item("a", "r"))) == errc::throttled);
      time.now += 1ms;
      CHECK(done(in.read_item("a", "r")).has_value());
    }
    CHECK(waits == 40);
  }
}

TEST_CASE("a patch is throttled like all others, whether there is a document or not") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.request_units = 5})};
  REQUIRE(done(in.create(review{"r", "a", 1})).has_value());
  int calls = 0;
  auto const count = [&](review&) { ++calls; };
  CHECK(code_of(done(in.patch("a", "r", count))) == errc::throttled);
  CHECK(code_of(done(in.patch("a", "none", count))) == errc::throttled);
  CHECK(calls == 0);
}

TEST_CASE("a patch that was overtaken pays for what it did") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.request_units = 16})};
  REQUIRE(done(in.create(review{"r", "a", 0})).has_value());
  int calls = 0;
  auto const patched = done(in.patch("a", "r", [&](review& one) {
    if (++calls == 1) REQUIRE(done(in.upsert(review{"r", "a", 10})).has_value());
    ++one.rating;
  }));
  CHECK(patched->charge == 5);
  CHECK(patched->item->rating == 11);
  CHECK(done(in.read_item("a", "r")).has_value());  // the last unit of 16
  CHECK(code_of(done(in.read_item("a", "r"))) == errc::throttled);
}

TEST_CASE("what was used while there was no limit is not paid back under one") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.request_units = 100})};
  write(in, 0, 1);
  REQUIRE(in.provision(0).has_value());
  write(in, 1, 1'000);
  REQUIRE(in.provision(100).has_value());
  int written = 0;
  while (done(in.upsert(review{"more", "a", written})).has_value()) ++written;
  CHECK(written == 20);
}

TEST_CASE("a split shares what is left of the request units, and a merge adds it up") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 2, .request_units = 200})};
  auto const left = articles_in(in.partitions()[0].range, 1).front();
  auto const right = articles_in(in.partitions()[1].range, 1).front();
  auto const writes = [&](std::string const& article) {
    int count = 0;
    while (done(in.upsert(review{"r", article, count})).has_value()) ++count;
    return count;
  };
  CHECK(writes(right) == 20);
  REQUIRE(in.merge("0", "1").has_value());
  CHECK(writes(right) == 20);  // those of the left one, which had done nothing
  CHECK(writes(left) == 0);
  time.now += 500ms;
  REQUIRE(in.split("2", keyspan::cosmos_v2.boundary(1, 2)).has_value());
  CHECK(writes(left) == 10);
  CHECK(writes(right) == 10);
  // What one partition has left of 100 units is half for each of two.
  reviews one{cosmos_v2, by_article, time.with({.request_units = 100})};
  for (int i = 0; i < 10; ++i) REQUIRE(done(one.upsert(review{"r", left, i})).has_value());
  REQUIRE(one.split("0", keyspan::cosmos_v2.boundary(1, 2)).has_value());
  int reads = 0;
  while (done(one.read_item(left, "r")).has_value()) ++reads;
  CHECK(reads == 25);
}

TEST_CASE("whatever is done uses up what it says that it costs, and is throttled behind that") {
  test_time time;
  review const one{"r", "a", 1};
  std::vector<keyspan::item_id> const ids{
      {partition_key{"a"}, "r"}, {partition_key{"a"}, "none"}, {partition_key{"b"}, "r"}};
  auto const add = [](review& r) { ++r.rating; };
  auto const cost = [](auto const& answer) {
    return answer ? answer->charge : answer.error().wire.charge;
  };
  auto const is_throttled = [](auto const& answer) {
    return !answer && answer.error().code == errc::throttled;
  };
  auto const check = [&](double charge, auto const& ask) {
    reviews in{cosmos_v2, by_article, time.with({.request_units = 100})};
    REQUIRE(done(in.create(one)).has_value());
    CHECK(cost(ask(in)) == charge);
    int reads = 0;
    while (done(in.read_item("b", "none")).error().code != errc::throttled) ++reads;
    CHECK(reads == 95 - static_cast<int>(charge));
    CHECK(is_throttled(ask(in)));
  };
  check(1, [&](reviews& in) { return done(in.create(one)); });
  check(5, [&](reviews& in) { return done(in.create(review{"s", "a", 1})); });
  check(5, [&](reviews& in) { return done(in.upsert(one)); });
  check(5, [&](reviews& in) { return done(in.replace(one)); });
  check(5, [&](reviews& in) { return done(in.remove("a", "r")); });
  check(5, [&](reviews& in) { return done(in.patch("a", "r", add)); });
  check(1, [&](reviews& in) { return done(in.patch("a", "none", add)); });
  check(5, [&](reviews& in) { return done(in.remove_softly("a", "r", add, 1s)); });
  check(1, [&](reviews& in) { return done(in.read_item("a", "r")); });
  check(3, [&](reviews& in) { return done(in.read_many(ids)); });
  check(1, [&](reviews& in) {
    return done(in.read(in.partitions()[0].range, keyspan::from_beginning, {}));
  });
  check(11, [&](reviews& in) {
    return done(in.execute(item_batch<review>{"a"}.upsert(one).read("r").patch("r", add)));
  });
  check(1, [&](reviews& in) {
    return done(in.execute(item_batch<review>{"a"}.upsert(one).create(one)));
  });
}

TEST_CASE("a read of many that is throttled says what it has cost by then") {
  test_time time;
  reviews in{cosmos_v2, by_article, time.with({.partitions = 2, .request_units = 100})};
  std::vector<keyspan::item_id> ids;
  for (std::size_t i = 0; i < 2; ++i)
    for (auto const& article : articles_in(in.partitions()[i].range, 3))
      ids.push_back({partition_key{article}, "r"});
  auto const& last = ids.back().key;
  while (done(in.upsert(review{"r", std::string{last[0].string()}, 1})).has_value()) continue;
  auto const refused = done(in.read_many(ids));
  CHECK(code_of(refused) == errc::throttled);
  CHECK(refused.error().wire.charge == 3);
}

TEST_CASE("whatever is refused says its status, who refused it, and that it was asked once") {
  test_time time;
  reviews in{cosmos_v2, by_article,
             time.with({.size_of = [](review const& one) { return one.article.size(); },
                        .largest_document = 5})};
  REQUIRE(done(in.create(review{"r", "a", 1})).has_value());
  auto const wrong = partition_key{"a", "b"};
  auto const range = in.partitions()[0].range;
  std::vector<keyspan::error> refused{
      done(in.create(review{"r", "a", 1})).error(),
      done(in.create(review{"", "a", 1})).error(),
      done(in.create(review{"r", "too long", 1})).error(),
      done(in.replace(review{"s", "a", 1})).error(),
      done(in.upsert(review{"r", "a", 1}, {.if_match = "\"1\""})).error(),
      done(in.remove(wrong, "r")).error(),
      done(in.patch(wrong, "r", [](review&) {})).error(),
      done(in.patch("a", "r", [](review& one) { one.id.clear(); })).error(),
      done(in.read_item(wrong, "r")).error(),
      done(in.read_item("a", "r", {.session_token = "0:9"})).error(),
      done(in.read(range, keyspan::continuation{"x"}, {})).error(),
      done(in.read(range, keyspan::from_beginning, {.partition = "9"})).error(),
      done(in.read(range, keyspan::from_beginning, {.key = &wrong})).error(),
      done(in.execute(item_batch<review>{wrong}.read("r"))).error(),
      done(in.execute(item_batch<review>{"a"}.create(review{"", "a", 1})))->operations[0].error(),
      done(in.topology("x")).error(),
      in.split("9").error(),
      in.split("0", range.lower()).error(),
      in.merge("0", "0").error()};
  for (auto const& one : refused) {
    CHECK(one.wire.status >= 400);
    CHECK(one.wire.attempts == 1);
    CHECK(one.wire.endpoint == "memory");
  }
  CHECK(in.size() == 1);
}

TEST_CASE("what is not there and what does not belong into a batch is named, with its key") {
  reviews in{cosmos_v2, by_article};
  auto const text = [](keyspan::error const& why) { return std::string{why.text.view()}; };
  std::string const none = "there is no item \"r\" under the key [\"a\"]";
  CHECK(text(done(in.read_item("a", "r")).error()) == none);
  CHECK(text(done(in.remove("a", "r")).error()) == none);
  CHECK(text(done(in.replace(review{"r", "a", 1})).error()) == none);
  CHECK(text(done(in.patch("a", "r", [](review&) {})).error()) == none);
  auto const in_batch = [&](item_batch<review> const& work) {
    return text(done(in.execute(work))->operations[0].error());
  };
  CHECK(in_batch(item_batch<review>{"a"}.read("r")) == "operation 0: " + none);
  CHECK(in_batch(item_batch<review>{"a"}.remove("r")) == "operation 0: " + none);
  CHECK(in_batch(item_batch<review>{"a"}.create(review{"r", "b", 1})) ==
        "operation 0: item \"r\" has the key [\"b\"] and the batch another one: put it into a "
        "batch of its own key");
  std::string const long_one(500, 'x');
  auto const cut = text(done(in.read_item(long_one, long_one)).error());
  CHECK(cut.starts_with("there is no item \"xxx"));
  CHECK(cut.find("\" under the key [\"xxx") != cut.npos);
}

TEST_CASE("a feed of a key that the container cannot have says so, in every mode") {
  reviews in{cosmos_v2, by_article, {.partitions = 2, .keeps_versions = 1h}};
  write(in, 0, 10);
  feed of_two{in, {.scope = partition_key{"x", "y"}}};
  std::vector<errc> met;
  for (auto const& page : of_two.pages()) met.push_back(page ? errc::stopped : page.error().code);
  feed of_changes{in,
                  {.start = keyspan::from_now,
                   .mode = keyspan::feed_mode::all_versions_and_deletes,
                   .scope = partition_key{"x", "y"}}};
  for (auto const& page : of_changes.pages())
    met.push_back(page ? errc::stopped : page.error().code);
  CHECK(met == std::vector(2, errc::key_mismatch));
}

TEST_CASE("an etag and a page stay what they are when what gave them is gone") {
  reviews in{cosmos_v2, by_article, {.name = "shop"}};
  keyspan::write_options seen;
  {
    auto const made = done(in.create(review{"r", "a", 1}));
    seen = {.if_match = made->item.etag()};
    CHECK(seen.if_match == made->item.etag());
  }
  CHECK(done(in.replace(review{"r", "a", 2}, seen)).has_value());
  CHECK(code_of(done(in.replace(review{"r", "a", 3}, seen))) == errc::precondition_failed);
  // What is longer than any etag is none.
  std::string const longer =
      std::string{done(in.read_item("a", "r"))->item.etag().view()} + std::string(200, 'x');
  CHECK(code_of(done(in.replace(review{"r", "a", 3}, {.if_match = longer}))) ==
        errc::precondition_failed);
  feed changes{in};
  std::vector<std::string> from;
  for (auto const& page : changes.pages()) {
    from.emplace_back(page->endpoint.view());
    from.emplace_back(page->activity_id.view());
  }
  CHECK(from == std::vector<std::string>{"shop", "0-6"});
}

TEST_CASE("an event says what a service calls the operation, its substatus and how long it took") {
  test_time time;
  std::vector<std::string> told;
  std::vector<keyspan::instant::duration> elapsed;
  auto options = time.with({.request_units = 5});
  options.on_event = [&](keyspan::event const& one) {
    told.emplace_back(one.to_text().view());
    elapsed.push_back(one.elapsed);
  };
  options.size_of = [&](review const& one) {
    time.now += one.rating * 1ms;  // takes so long
    return std::size_t{1};
  };
  reviews in{cosmos_v2, by_article, options};
  REQUIRE(done(in.create(review{"r", "a", 7})).has_value());
  auto const refused = done(in.read_item("a", "r"));
  CHECK(refused.error().wire.activity_id == "0-2");
  time.now += 1s;
  auto const range = in.partitions()[0].range;
  auto const page = done(in.read(range, keyspan::from_beginning, {}));
  CHECK(page->activity_id == "0-3");
  CHECK_FALSE(done(in.read(range, keyspan::from_beginning, {.partition = "9"})).has_value());
  CHECK(code_of(done(in.patch("a", "r", [](review&) -> keyspan::result<void> {
          return keyspan::fail(errc::invalid_options, "not so");
        }))) == errc::invalid_options);
  CHECK_FALSE(done(in.remove(partition_key{}, "r")).has_value());
  CHECK(told == std::vector<std::string>{
                    "answered create in 0 from memory: status 201, activity 0-1, 1 item, charge 5",
                    "failed read in 0 from memory: throttled, status 429/3200, activity 0-2",
                    "answered feed in 0 from memory: status 200, activity 0-3, 1 item, charge 1",
                    "failed feed in 0 from memory: range_gone, status 410/1002, activity 0-4",
                    "failed patch in 0 from memory: invalid_options, activity 0-5",
                    "failed remove from memory: key_mismatch, status 400"});
  REQUIRE(elapsed.size() == 6);
  CHECK(elapsed[0] == 7ms);
  CHECK(elapsed[1] == 0ms);
  // Where nobody says what time it is, it is measured.
  reviews alone{cosmos_v2, by_article, {.on_event = [&](keyspan::event const& one) {
                  elapsed.push_back(one.elapsed);
                }}};
  REQUIRE(done(alone.create(review{"r", "a", 1})).has_value());
  CHECK(elapsed.back() > 0s);
  CHECK(elapsed.back() < 1h);
}

TEST_CASE("a batch that was not done is told as the failure that it is") {
  std::vector<std::string> told;
  reviews in{cosmos_v2, by_article, {.on_event = [&](keyspan::event const& one) {
               told.emplace_back(one.to_text().view());
             }}};
  item_batch<review> work{"a"};
  work.create(review{"r", "a", 1}).create(review{"s", "a", 1});
  REQUIRE(done(in.execute(work))->is_done());
  REQUIRE_FALSE(done(in.execute(work))->is_done());
  CHECK(told == std::vector<std::string>{"answered execute in 0 from memory: status 200, activity "
                                         "0-1, 2 items, charge 10",
                                         "failed execute in 0 from memory: already_exists, status "
                                         "409, activity 0-2, charge 1"});
}

// ---- any scheme, any documents
// -------------------------------------------------------------------

TEST_CASE("a container has any scheme, hierarchical keys, and numbers that are no hashes") {
  struct order {
    std::string id, tenant;
    int user;
  };
  auto const keys =
      keyspan::documents_container(&order::tenant, &order::user).with_row_key(&order::id);
  keyspan::memory_container<order> chosen_late{keyspan::cosmos_multihash, keys, {.partitions = 3}};
  keyspan::memory_container<order, keyspan::cosmos_multihash_scheme> fixed{
      keyspan::cosmos_multihash, keys, {.partitions = 3}};
  keyspan::memory_container<order, keyspan::redis_cluster_scheme> slots{
      keyspan::redis_cluster,
      keyspan::documents_container(&order::tenant).with_row_key(&order::id),
      {.partitions = 3}};
  for (int i = 0; i < 50; ++i) {
    order const one{std::to_string(i), i % 2 == 0 ? "even" : "odd", i / 2};
    CHECK(done(chosen_late.create(one)).has_value());
    CHECK(done(fixed.create(one)).has_value());
    CHECK(done(slots.create(one)).has_value());
  }
  CHECK(done(fixed.read_item(partition_key{"odd", 3}, "7"))->item->user == 3);
  CHECK(code_of(done(fixed.read_item("odd", "7"))) == errc::key_mismatch);
  feed of_tenant{fixed, {.scope = keyspan::key_prefix{partition_key{"odd"}, 2}}};
  std::size_t count = 0;
  for (auto const& one : of_tenant) {
    CHECK(one->tenant == "odd");
    ++count;
  }
  CHECK(count == 25);
  REQUIRE(chosen_late.split("1").has_value());
  REQUIRE(slots.split(slots.partitions()[0].id).has_value());
  feed all{chosen_late};
  CHECK(std::ranges::distance(all) == 50);
}

TEST_CASE("the same seed, operations and times give the same container") {
  auto const play = [](std::uint64_t seed) {
    test_time time;
    std::string story;
    auto options = time.with({.partitions = 2, .seed = seed, .request_units = 500});
    options.on_event = [&](keyspan::event const& one) {
      story.append(one.to_text().view()).append("\n");
    };
    reviews in{cosmos_v2, by_article, options};
    for (int i = 0; i < 300; ++i) {
      if (auto const made = done(in.upsert(numbered(i % 90))))
        story.append(made->item.etag().view());
      time.now += 3ms;
      if (i == 150) REQUIRE(in.split("0").has_value());
    }
    return story.append(in.container());
  };
  CHECK(play(1) == play(1));
  CHECK(play(1) != play(2));
}

TEST_CASE("an exception of a document changes nothing") {
  struct fragile {
    std::string id, key;
    int* copies_left = nullptr;
    fragile(std::string a, std::string b, int* c)
        : id{std::move(a)}, key{std::move(b)}, copies_left{c} {}
    fragile(fragile const& other) : id{other.id}, key{other.key}, copies_left{other.copies_left} {
      if (copies_left && --*copies_left < 0) throw std::bad_alloc{};
    }
    fragile(fragile&&) = default;
    fragile& operator=(fragile const&) = default;
  };
  keyspan::memory_container<fragile, keyspan::fast64_scheme> in{
      keyspan::fast64, keyspan::documents_container(&fragile::key).with_row_key(&fragile::id)};
  int copies = 1'000;
  CHECK(done(in.create({"1", "a", &copies})).has_value());
  copies = 0;
  CHECK_THROWS_AS(done(in.patch("a", "1", [](fragile& one) { one.key = "b"; })), std::bad_alloc);
  copies = 1'000;
  CHECK_THROWS_AS(done(in.patch("a", "1", [](fragile&) { throw std::bad_alloc{}; })),
                  std::bad_alloc);
  CHECK(done(in.read_item("a", "1")).has_value());
  CHECK(in.size() == 1);
}

TEST_CASE("a container is made with a partition at least") {
  CHECK(test::promise_broken_by([] {
          return reviews{cosmos_v2, by_article, {.partitions = 0}}.size();
        }) == "a container has one partition at least");
  CHECK(test::promise_broken_by([] {
          return reviews{cosmos_v2, by_article, {.page_size = 0}}.size();
        }) == "a page has room for an item");
}

// Against a plain map, step by step: whatever was asked, both have the same documents, and a feed
// tells of each change since it looked last.
TEST_CASE("random operations leave what a plain map has, and a feed that keeps up with them") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test::random random{seed};
    reviews in{cosmos_v2, by_article, {.partitions = 1 + random.below(4), .seed = seed}};
    std::map<std::pair<std::string, std::string>, int> model;
    std::map<std::pair<std::string, std::string>, int> seen;
    feed changes{in, {.page_size = static_cast<std::uint32_t>(1 + random.below(9))}};
    for (int step = 0; step < 600; ++step) {
      std::string const article = std::to_string(random.below(12));
      std::string const id = std::to_string(random.below(12));
      auto const place = std::pair{article, id};
      bool const is_there = model.contains(place);
      switch (random.below(9)) {
        case 0:
          CHECK(done(in.create({id, article, step})).has_value() == !is_there);
          model.emplace(place, step);
          break;
        case 1:
        case 2:
          CHECK(done(in.upsert({id, article, step})).has_value());
          model[place] = step;
          break;
        case 3:
          CHECK(done(in.replace({id, article, step})).has_value() == is_there);
          if (is_there) model[place] = step;
          break;
        case 4:
          CHECK(done(in.remove(article, id)).has_value() == is_there);
          model.erase(place);
          break;
        case 5:
          CHECK(done(in.patch(article, id, [](review& one) { one.rating += 1000; })).has_value() ==
                is_there);
          if (is_there) model[place] += 1000;
          break;
        case 6: {
          auto const all = in.partitions();
          auto const i = static_cast<std::size_t>(random.below(all.size()));
          if (all.size() < 8) static_cast<void>(in.split(all[i].id));
          break;
        }
        case 7: {
          auto const all = in.partitions();
          if (all.size() < 2) break;
          auto const i = static_cast<std::size_t>(random.below(all.size() - 1));
          CHECK(in.merge(all[i].id, all[i + 1].id).has_value());
          break;
        }
        default:
          for (auto const& one : changes) seen[{one->article, one->id}] = one->rating;
      }
      auto const read = done(in.read_item(article, id));
      CHECK(read.has_value() == model.contains(place));
      if (read) CHECK(read->item->rating == model.at(place));
    }
    for (auto const& one : changes) seen[{one->article, one->id}] = one->rating;
    for (auto const& [place, rating] : model) CHECK(seen.at(place) == rating);
    CHECK(in.size() == model.size());
    CHECK(in.bytes() == model.size() * 1024);
  }
}

TEST_CASE("the example of a container in memory reads as it should") {
  // [region: example]
  keyspan::memory_container<review, keyspan::cosmos_v2_scheme> container{
      cosmos_v2, keyspan::documents_container<"/article">(), {.partitions = 4}};

  auto const made = keyspan::sync_wait(container.create(review{"r-1", "redmond", 5}));
  auto const etag = made->item.etag();
  auto const changed =
      keyspan::sync_wait(container.replace(review{"r-1", "redmond", 4}, {.if_match = etag}));
  auto const late = keyspan::sync_wait(
      container.replace(review{"r-1", "redmond", 3}, {.if_match = etag}));  // precondition_failed

  int sum = 0;
  keyspan::feed changes{container};
  for (auto const& change : changes) sum += change->rating;
  // [end: example]
  CHECK(changed.has_value());
  CHECK(code_of(late) == errc::precondition_failed);
  CHECK(sum == 4);
}

}  // namespace
