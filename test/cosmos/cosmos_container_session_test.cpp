// test/cosmos/cosmos_container_session_test.cpp — what a container's session says to whom, where
// its questions go, and what becomes of both when the container is defined anew.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::from_beginning;
using keyspan::item_batch;
using keyspan::partition_key;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::sync_wait;
using test::account;
using test::door;
using test::review;

using instead_of_an_answer = std::optional<result<response>>;
using reviews_container = keyspan::cosmos::cosmos_container<review>;

template <class Task>
errc code_of(Task&& work) {
  auto const answer = sync_wait(std::forward<Task>(work));
  REQUIRE_FALSE(answer);
  return answer.error().code;
}

std::string sent_token(request const& by) {
  return std::string{by.headers.find("x-ms-session-token").value_or("none")};
}
std::string sent_token(account const& a) { return sent_token(a.to.last()); }
std::string sent_range(account const& a) {
  return std::string{
      a.to.last().headers.find("x-ms-documentdb-partitionkeyrangeid").value_or("none")};
}

bool is_about_documents(request const& one) { return one.target.find("/docs") != one.target.npos; }
bool is_about_definition(request const& one) { return one.target.ends_with("/colls/reviews"); }
bool is_about_partitions(request const& one) { return one.target.ends_with("/pkranges"); }
std::size_t count_of(account const& a, bool (*which)(request const&)) {
  return static_cast<std::size_t>(std::count_if(a.to.asked.begin(), a.to.asked.end(), which));
}

// The token of one range as that of another one.
std::string as_of(std::string_view range, std::string_view token) {
  return std::string{range}.append(token.substr(token.find(':')));
}

void make_anew(account& a, keyspan::cosmos::container_settings how = {}) {
  a.done(keyspan::cosmos::remove_container(
      *keyspan::cosmos::container_address::from("shop", "reviews")));
  a.make("reviews", {"/article"}, how);
}

auto partitions_of(reviews_container& in) { return sync_wait(in.topology("")).value().partitions; }

TEST_CASE("a page shows what was seen: of a partition, of a part of it, of a key") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto const early = sync_wait(in.create({"r-1", "redmond", 1})).value().session_token;
  auto const late = sync_wait(in.create({"r-2", "redmond", 2})).value().session_token;
  REQUIRE(early != late);
  auto const all = partitions_of(in).at(0).range;
  auto const half = keyspan::range_from_hex(in.scheme(), "", "20").value();
  partition_key const key{"redmond"};

  REQUIRE(sync_wait(in.read(all, from_beginning, {.partition = "0", .is_whole_partition = true})));
  CHECK(sent_token(a) == late);
  REQUIRE(sync_wait(in.read(half, from_beginning, {.partition = "0"})));
  CHECK(sent_token(a) == late);
  REQUIRE(sync_wait(in.read(half, from_beginning, {})));
  CHECK(sent_token(a) == late);
  REQUIRE(sync_wait(in.read(all, from_beginning, {.partition = "0", .key = &key})));
  CHECK(sent_token(a) == late);
  CHECK(sent_range(a) == "none");

  // What the caller names is what he is shown.
  REQUIRE(sync_wait(in.read(all, from_beginning, {.partition = "0", .session_token = early})));
  CHECK(sent_token(a) == early);
  REQUIRE(sync_wait(
      in.read(all, from_beginning, {.partition = "0", .key = &key, .session_token = early})));
  CHECK(sent_token(a) == early);
  REQUIRE(sync_wait(in.read_item("redmond", "r-1", {.session_token = early})));
  CHECK(sent_token(a) == early);

  auto careless = a.open<review>("reviews", {.keeps_session = false});
  REQUIRE(sync_wait(careless.create({"r-3", "redmond", 3})));
  REQUIRE(sync_wait(careless.read(all, from_beginning, {.partition = "0"})));
  CHECK(sent_token(a) == "none");
}

TEST_CASE("a partition that came from another one shows what was seen of that one") {
  account a;
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 8; ++i) REQUIRE(sync_wait(in.upsert({"r-1", "a-" + std::to_string(i), i})));
  auto const seen = in.session_token();
  a.control("split/0");
  auto const children = partitions_of(in);
  REQUIRE(children.size() == 2);
  for (auto const& child : children) {
    CAPTURE(child.id);
    REQUIRE(sync_wait(
        in.read(child.range, from_beginning, {.partition = child.id, .is_whole_partition = true})));
    CHECK(sent_token(a) == as_of(child.id, seen));
    CHECK(sent_range(a) == child.id);
  }
}

TEST_CASE("a key that lies in a new partition shows what was seen of the old one") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto const made = sync_wait(in.create({"r-1", "redmond", 1})).value();
  a.control("split/0");
  auto const owner = [&] {
    for (auto const& one : partitions_of(in))
      if (one.range.contains(keyspan::token_of(in.scheme(), partition_key{"redmond"}).value()))
        return one;
    return partitions_of(in).at(0);
  }();
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  CHECK(sent_token(a) == as_of(owner.id, made.session_token));
  partition_key const key{"redmond"};
  auto again = a.open();
  REQUIRE(sync_wait(again.upsert({"r-2", "redmond", 2})));
  REQUIRE(sync_wait(again.read(owner.range, from_beginning, {.key = &key})));
  CHECK(sent_token(a) == again.session_token());
  CHECK(sent_token(a).starts_with(owner.id + ':'));
}

TEST_CASE("behind a split a read shows the write that the new partition has answered") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));  // it is known by now who owns what
  a.control("split/0");
  auto const written = sync_wait(in.upsert({"r-1", "redmond", 2})).value();
  REQUIRE(written.partition != "0");
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  CHECK(sent_token(a) == written.session_token);
  partition_key const key{"redmond"};
  auto const all = keyspan::whole_space(in.scheme());
  REQUIRE(sync_wait(in.read(all, from_beginning, {.key = &key})));
  CHECK(sent_token(a) ==
        as_of(written.partition.view(),
              in.session_token().substr(in.session_token().find(written.partition.view()))));
}

TEST_CASE("the definition is read once, and the list of partitions once, whatever is read then") {
  account a{4};
  a.make("reviews");
  auto in = a.open();
  a.to.asked.clear();
  for (int i = 0; i < 20; ++i) {
    auto const name = std::to_string(i);
    REQUIRE(sync_wait(in.create({name, "a-" + name, i})));
    REQUIRE(sync_wait(in.read_item("a-" + name, name)));
  }
  CHECK(count_of(a, is_about_definition) == 0);
  // A page, and one that says that this is all.
  CHECK(count_of(a, is_about_partitions) == 2);
}

TEST_CASE("a definition that somebody else has read again is not read once more") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto other = in;
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  // While one is told that it is old, another one has it read.
  int told = 0;
  a.to.asked.clear();
  a.to.before = [&](request const& what) -> instead_of_an_answer {
    if (!is_about_documents(what) || ++told > 2) return std::nullopt;
    if (told == 1) CHECK(sync_wait(other.read_item("redmond", "r-1")));
    return door::status(410, 1000);
  };
  CHECK(sync_wait(in.read_item("redmond", "r-1")));
  CHECK(count_of(a, is_about_definition) == 1);
}

TEST_CASE("what a status says of the session is taken, but where the replica is behind") {
  struct row {
    std::uint16_t status, sub;
    bool is_taken;
  };
  row const rows[]{
      {200, 0, true},  {404, 0, true},     {404, 1003, true},  {409, 0, true},
      {412, 0, true},  {404, 1002, false}, {400, 0, false},    {401, 0, false},
      {403, 0, false}, {413, 0, false},    {429, 0, false},    {449, 0, false},
      {500, 0, false}, {503, 0, false},    {410, 1002, false}, {408, 0, false},
  };
  account a;
  a.make("reviews");
  for (row const& each : rows) {
    CAPTURE(each.status, each.sub);
    a.to.before = nullptr;
    auto in = a.open();
    a.to.before = [&](request const&) -> instead_of_an_answer {
      response said;
      said.status = each.status;
      if (each.sub != 0) said.headers.add("x-ms-substatus", std::to_string(each.sub));
      said.headers.add("x-ms-session-token", "0:1#77");
      said.headers.add("etag", "\"1\"");
      if (each.status == 200) said.body = R"({"id":"r-1","article":"redmond","rating":1})";
      return result<response>{said};
    };
    CHECK(sync_wait(in.read_item("redmond", "r-1")).has_value() == (each.status == 200));
    CHECK(in.session_token() == (each.is_taken ? "0:1#77" : ""));
  }
}

TEST_CASE("a read says all that was seen where nobody tells who owns what") {
  account a{2};
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 8; ++i) REQUIRE(sync_wait(in.upsert({"r-1", "a-" + std::to_string(i), i})));
  auto const all = in.session_token();
  REQUIRE(all.find(',') != all.npos);
  int lists = 0;
  a.to.before = [&](request const& what) -> instead_of_an_answer {
    if (!is_about_partitions(what)) return std::nullopt;
    ++lists;
    return door::status(503);
  };
  auto const read = sync_wait(in.read_item("a-1", "r-1"));
  CHECK(read);
  CHECK(sent_token(a) == all);
  CHECK(lists > 0);
  a.to.before = nullptr;
  // Which is no lasting state of affairs.
  REQUIRE(sync_wait(in.read_item("a-1", "r-1")));
  CHECK(sent_token(a) == read->session_token);
}

TEST_CASE("a container that was made anew is used on, and hears nothing of the old one") {
  account a;
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(in.upsert({"r-1", "redmond", i})));
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  auto const old = in.session_token();
  CHECK(sent_token(a) == old);
  make_anew(a);
  // As a gateway says it that knows the old one by its name.
  int told = 0;
  a.to.asked.clear();
  a.to.before = [&](request const& what) -> instead_of_an_answer {
    if (!is_about_documents(what) || ++told > 1) return std::nullopt;
    return door::status(410, 1000);
  };
  auto const made = sync_wait(in.create({"r-2", "redmond", 1})).value();
  CHECK(told == 2);
  CHECK(count_of(a, is_about_definition) == 1);
  CHECK(in.session_token() == made.session_token);
  CHECK(made.session_token != old);
  a.to.asked.clear();
  REQUIRE(sync_wait(in.read_item("redmond", "r-2")));
  CHECK(sent_token(a) == made.session_token);
  REQUIRE(sync_wait(in.replace({"r-2", "redmond", 2})));
  REQUIRE(sync_wait(in.patch("redmond", "r-2", [](review& one) { ++one.rating; })));
  CHECK(sync_wait(in.read_item("redmond", "r-2")).value().item->rating == 3);
  CHECK(code_of(in.read_item("redmond", "r-1")) == errc::not_found);
  for (auto const& one : a.to.asked) CHECK(sent_token(one) != old);
}

TEST_CASE("a container that was made anew is found out by a read that comes too early for it") {
  account a;
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(in.upsert({"r-1", "redmond", i})));
  make_anew(a);
  // Nobody tells: the name leads to the new one, which has not come as far as the old one.
  REQUIRE(sync_wait(in.create({"r-2", "redmond", 1})));
  REQUIRE(sync_wait(in.read_item("redmond", "r-2")));
  CHECK(sync_wait(in.read_item("redmond", "r-2")).value().item->rating == 1);
}

TEST_CASE("a read that is asked again computes its token anew") {
  account a;
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(in.upsert({"r-1", "redmond", i})));
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  make_anew(a);
  auto other = a.open();
  REQUIRE(sync_wait(other.create({"r-1", "redmond", 7})));
  a.to.instead = {door::status(410, 1000)};
  auto const read = sync_wait(in.read_item("redmond", "r-1"));
  REQUIRE(read);
  CHECK(read->item->rating == 7);
  CHECK(sent_token(a) == "none");
  CHECK(in.session_token() == read->session_token);
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  CHECK(sent_token(a) == read->session_token);
}

TEST_CASE("the partitions of a container that was made anew are its own") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  a.control("split/0");
  REQUIRE(sync_wait(in.upsert({"r-1", "redmond", 1})));
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  CHECK_FALSE(sent_token(a).starts_with("0:"));
  make_anew(a);
  a.to.instead = {door::status(410, 1000)};
  auto const made = sync_wait(in.upsert({"r-1", "redmond", 2})).value();
  CHECK(made.partition == "0");
  a.to.asked.clear();
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  CHECK(sent_token(a) == made.session_token);
  // Nobody is asked what is new since a version of the old one.
  for (auto const& one : a.to.asked)
    if (is_about_partitions(one)) {
      CHECK_FALSE(one.headers.find("if-none-match"));
      break;
    }
  CHECK(count_of(a, is_about_partitions) == 2);
}

TEST_CASE("a definition that is read again and is the same keeps the session") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto const made = sync_wait(in.create({"r-1", "redmond", 1})).value();
  a.to.asked.clear();
  a.to.before = [told = 0](request const& what) mutable -> instead_of_an_answer {
    if (!is_about_documents(what) || ++told > 1) return std::nullopt;
    return door::status(410, 1000);
  };
  REQUIRE(sync_wait(in.read_item("redmond", "r-1")));
  CHECK(count_of(a, is_about_definition) == 1);
  CHECK(sent_token(a) == made.session_token);
  CHECK(in.session_token() == made.session_token);
}

TEST_CASE("a container that was made anew is read by its new id, or not at all") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  auto const say_old = [&] {
    a.to.before = [told = 0](request const& what) mutable -> instead_of_an_answer {
      if (!is_about_documents(what) || ++told > 1) return std::nullopt;
      return door::status(410, 1000);
    };
  };
  // The same definition of another container.
  make_anew(a);
  say_old();
  CHECK(sync_wait(in.create({"r-1", "redmond", 2})));
  // Another way of hashing is none that this program was told of.
  make_anew(a, {.scheme = keyspan::cosmos_v1});
  say_old();
  CHECK(code_of(in.create({"r-1", "redmond", 2})) == errc::scheme_mismatch);
  say_old();
  CHECK(code_of(in.read_item("redmond", "r-1")) == errc::scheme_mismatch);
  a.to.before = nullptr;
  CHECK(sync_wait(a.open().create({"r-1", "redmond", 2})));
}

TEST_CASE("a read of a part of a partition has the keys of that part alone") {
  account a;
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 40; ++i) REQUIRE(sync_wait(in.upsert({"r", "a-" + std::to_string(i), i})));
  std::size_t all = 0;
  for (auto const& [lower, upper] : {std::pair{"", "20"}, std::pair{"20", "FF"}}) {
    auto const part = keyspan::range_from_hex(in.scheme(), lower, upper).value();
    auto const page = sync_wait(in.read(part, from_beginning, {})).value();
    CHECK(page.items.size() > 0);
    for (auto const& one : page.items)
      CHECK(part.contains(keyspan::token_of(in.scheme(), one.item.key()).value()));
    all += page.items.size();
    // No end of a part is empty on the wire.
    auto const& headers = a.to.last().headers;
    CHECK(headers.find("x-ms-read-key-type") == "EffectivePartitionKeyRange");
    CHECK(headers.find("x-ms-start-epk")->starts_with(*lower == '\0' ? "00" : "20"));
    CHECK_FALSE(headers.find("x-ms-end-epk")->empty());
  }
  CHECK(all == 40);
  // All that a partition has is no part of it.
  auto const whole = keyspan::whole_space(in.scheme());
  CHECK(sync_wait(in.read(whole, from_beginning, {})).value().items.size() == 40);
  CHECK_FALSE(a.to.last().headers.find("x-ms-start-epk"));
}

TEST_CASE("a page of a container that was made anew is asked for once, and is an error") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  auto const all = partitions_of(in).at(0).range;
  make_anew(a);
  for (int i = 0; i < 2; ++i) {
    a.to.asked.clear();
    CHECK(code_of(in.read(all, from_beginning, {.partition = "0"})) == errc::container_changed);
    CHECK(count_of(a, is_about_documents) == 1);
  }
}

TEST_CASE("a part that begins where all begins is named \"00\"") {
  auto const half = keyspan::range_from_hex(keyspan::cosmos_v2, "", "20").value();
  CHECK(keyspan::cosmos::detail::epk_range_of(half).lower == "00");
  auto const other = keyspan::range_from_hex(keyspan::cosmos_v2, "20", "FF").value();
  CHECK(keyspan::cosmos::detail::epk_range_of(other).lower.starts_with("20"));
  CHECK(keyspan::cosmos::detail::epk_range_of(other).upper == "FF");
}

TEST_CASE("behind a split a range finds its new partition without being told") {
  account a;
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(in.upsert({"r", "a-" + std::to_string(i), i})));
  auto const whole = keyspan::whole_space(in.scheme());
  REQUIRE(sync_wait(in.read(whole, from_beginning, {})));
  a.control("split/0");
  auto other = a.open();
  std::size_t all = 0;
  for (auto const& child : partitions_of(other)) {
    CAPTURE(child.id);
    auto const page = sync_wait(in.read(child.range, from_beginning, {}));
    if (!page) {
      // Once at most, and it is known then.
      CHECK(page.error().code == errc::range_gone);
      auto const again = sync_wait(in.read(child.range, from_beginning, {}));
      REQUIRE(again);
      all += again->items.size();
    } else {
      all += page->items.size();
    }
    CHECK(sent_range(a) == child.id);
    CHECK_FALSE(a.to.last().headers.find("x-ms-start-epk"));
  }
  CHECK(all == 20);
  // What lies in two partitions now is in none.
  a.to.asked.clear();
  CHECK(code_of(in.read(whole, from_beginning, {})) == errc::range_gone);
  CHECK(count_of(a, is_about_documents) == 0);
}

TEST_CASE("behind a merge a range that lies in one partition now is found there") {
  account a{2};
  a.make("reviews");
  auto in = a.open();
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(in.upsert({"r", "a-" + std::to_string(i), i})));
  auto const whole = keyspan::whole_space(in.scheme());
  CHECK(code_of(in.read(whole, from_beginning, {})) == errc::range_gone);
  a.control("merge/0/1");
  auto const page = sync_wait(in.read(whole, from_beginning, {}));
  REQUIRE(page);
  CHECK(page->items.size() == 20);
  CHECK(sent_range(a) == "2");
}

TEST_CASE("what was asked of the old container tells nothing of the new one") {
  account a;
  a.make("reviews");
  auto in = a.open();
  auto other = in;
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  // While it is on its way, somebody else finds out that the container was made anew.
  a.to.before = [&](request const& what) -> instead_of_an_answer {
    if (!is_about_documents(what)) return std::nullopt;
    auto const own = std::exchange(a.to.before, nullptr);
    make_anew(a);
    a.to.instead = {door::status(410, 1000)};
    REQUIRE(sync_wait(other.create({"r-2", "redmond", 2})));
    response said;
    said.headers.add("etag", "\"5\"");
    said.headers.add("x-ms-session-token", "0:1#5000");
    return result<response>{said};
  };
  REQUIRE(sync_wait(in.upsert({"r-1", "redmond", 2})));
  CHECK_FALSE(in.session_token().empty());
  CHECK(in.session_token().find("5000") == std::string::npos);
  CHECK(sync_wait(in.read_item("redmond", "r-2")));
}

TEST_CASE("a list of partitions outlives the handle that asked for it") {
  account a{3};
  a.make("reviews");
  std::optional<reviews_container> in{a.open()};
  auto listing = in->topology("");
  in.reset();
  auto const page = sync_wait(std::move(listing));
  REQUIRE(page);
  CHECK(page->partitions.size() == 3);
  // The version known is the coroutine's own.
  in.emplace(a.open());
  auto const from = [&] {
    std::string const known = page->version;
    return in->topology(known);
  };
  auto later = from();
  in.reset();
  CHECK(sync_wait(std::move(later)).value().not_modified);
}

TEST_CASE("what an answer says decides what is asked again, and how often: writes and pages") {
  account a;
  a.make("reviews");
  auto in = a.open();
  REQUIRE(sync_wait(in.create({"r-1", "redmond", 1})));
  auto const all = partitions_of(in).at(0).range;
  auto const etag = sync_wait(in.read_item("redmond", "r-1")).value().item.etag();
  struct kind {
    std::string_view name;
    std::function<result<void>()> ask;
    bool is_repeatable;  // whatever has become of the one before
    bool is_page = false;
  };
  auto const told = [](auto work) -> result<void> {
    auto const answer = sync_wait(std::move(work));
    if (!answer) return keyspan::unexpected{answer.error()};
    return {};
  };
  item_batch<review> batch{"redmond"};
  batch.upsert({"r-2", "redmond", 2});
  kind const kinds[]{
      {"create", [&] { return told(in.create({"r-2", "redmond", 2})); }, false},
      {"upsert", [&] { return told(in.upsert({"r-1", "redmond", 2})); }, true},
      {"upsert of an etag",
       [&] { return told(in.upsert({"r-1", "redmond", 2}, {.if_match = etag})); }, false},
      {"replace", [&] { return told(in.replace({"r-1", "redmond", 2})); }, true},
      {"replace of an etag",
       [&] { return told(in.replace({"r-1", "redmond", 2}, {.if_match = etag})); }, false},
      {"remove", [&] { return told(in.remove("redmond", "r-1")); }, false},
      {"execute", [&] { return told(in.execute(batch)); }, false},
      {"page", [&] { return told(in.read(all, from_beginning, {.partition = "0"})); }, true, true},
  };
  struct row {
    std::uint16_t status, sub;
    errc code;
    std::size_t of_repeatable;  // requests: of what may be done twice
    std::size_t of_write;       // and of what may not
    errc of_page;
    std::size_t of_pages;
  };
  row const rows[]{
      {400, 0, errc::bad_request, 1, 1, errc::bad_request, 1},
      // The definition is the same: asking again is in vain.
      {400, 1001, errc::key_mismatch, 1, 1, errc::key_mismatch, 1},
      {400, 1024, errc::container_changed, 2, 2, errc::container_changed, 2},
      {401, 0, errc::unauthorized, 1, 1, errc::unauthorized, 1},
      {403, 3, errc::region_not_writable, 1, 1, errc::region_not_writable, 1},
      {403, 1008, errc::unavailable, 10, 10, errc::unavailable, 10},
      {404, 0, errc::not_found, 1, 1, errc::not_found, 1},
      {404, 1013, errc::unavailable, 10, 10, errc::unavailable, 10},
      {408, 0, errc::timed_out, 10, 1, errc::timed_out, 10},
      {409, 0, errc::already_exists, 1, 1, errc::already_exists, 1},
      {410, 0, errc::unavailable, 10, 10, errc::unavailable, 10},
      {410, 1000, errc::container_changed, 2, 2, errc::container_changed, 2},
      {410, 1002, errc::unavailable, 10, 10, errc::range_gone, 1},
      {410, 1007, errc::unavailable, 10, 10, errc::unavailable, 10},
      {410, 1008, errc::unavailable, 10, 10, errc::unavailable, 10},
      {412, 0, errc::precondition_failed, 1, 1, errc::precondition_failed, 1},
      {413, 0, errc::too_large, 1, 1, errc::too_large, 1},
      {429, 3200, errc::throttled, 6, 6, errc::throttled, 6},
      {449, 0, errc::contended, 10, 10, errc::contended, 10},
      {500, 0, errc::service_failed, 10, 1, errc::service_failed, 10},
      {503, 0, errc::unavailable, 10, 10, errc::unavailable, 10},
  };
  for (kind const& one : kinds) {
    for (row const& each : rows) {
      CAPTURE(one.name, each.status, each.sub);
      a.to.asked.clear();
      a.to.before = [&](request const& what) {
        return is_about_documents(what) ? door::status(each.status, each.sub) : std::nullopt;
      };
      auto const answer = one.ask();
      REQUIRE_FALSE(answer);
      CHECK(answer.error().code == (one.is_page ? each.of_page : each.code));
      CHECK(answer.error().wire.status == each.status);
      CHECK(answer.error().wire.substatus == each.sub);
      auto const wanted = one.is_page         ? each.of_pages
                          : one.is_repeatable ? each.of_repeatable
                                              : each.of_write;
      CHECK(count_of(a, is_about_documents) == wanted);
      CHECK(count_of(a, is_about_definition) <= 1);
      if (wanted == 2) CHECK(count_of(a, is_about_definition) == 1);
    }
  }
  a.to.before = nullptr;
  CHECK(sync_wait(in.read_item("redmond", "r-1")).value().item->rating == 1);
}

}  // namespace
