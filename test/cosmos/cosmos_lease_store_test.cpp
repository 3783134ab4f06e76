// test/cosmos/cosmos_lease_store_test.cpp — leases in a container: the laws of stores, what is
// asked of the service, and what is made of answers that nobody would expect.
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_lease_store.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/lease_store.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>
#include <nlohmann/json.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::any_scheme;
using keyspan::errc;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::store_request;
using keyspan::stored_record;
using keyspan::sync_wait;
using keyspan::cosmos::cosmos_lease_store;
using keyspan::cosmos::lease_store_options;
using test::account;
using test::check;
using test::door;

using instead_of_an_answer = std::optional<result<response>>;

// What a result holds, or the end of the test with the error's words.
template <class T>
T good(result<T> got) {
  if (!got) FAIL(got.error().to_text().view());
  return *std::move(got);
}
void good(result<void> const& got) {
  if (!got) FAIL(got.error().to_text().view());
}
template <class Task>
keyspan::error error_of(Task&& work) {
  auto const answer = sync_wait(std::forward<Task>(work));
  if (answer) FAIL("it was done");
  return answer.error();
}
template <class Task>
errc code_of(Task&& work) {
  return error_of(std::forward<Task>(work)).code;
}

// An account with a container for leases, and a store in it.
struct world {
  explicit world(std::size_t partitions = 1, lease_store_options options = {})
      : in{partitions}, leases{made(in, std::move(options))} {
    in.to.asked.clear();
  }
  static cosmos_lease_store made(account& a, lease_store_options options) {
    a.make("leases", {"/id"});
    return good(sync_wait(cosmos_lease_store::open(a.in, "shop", "leases", std::move(options))));
  }
  cosmos_lease_store opened(lease_store_options options = {}) {
    return good(sync_wait(cosmos_lease_store::open(in.in, "shop", "leases", std::move(options))));
  }

  stored_record read(std::string_view id) { return good(sync_wait(leases.read(id, {}))); }
  std::string create(std::string_view id, std::string_view body) {
    return good(sync_wait(leases.create(id, body, {})));
  }
  std::string replace(std::string_view id, std::string_view body, std::string_view version) {
    return good(sync_wait(leases.replace(id, body, version, {})));
  }
  std::vector<stored_record> list(std::string_view prefix = {}) {
    return good(sync_wait(leases.list(prefix, {})));
  }

  // The container without the store, as other programs see it.
  keyspan::cosmos::cosmos_container<nlohmann::json> documents() {
    return in.open<nlohmann::json>("leases");
  }
  nlohmann::json document(std::string const& id) {
    auto all = documents();
    return *good(sync_wait(all.read_item(id, id))).item;
  }
  void put(nlohmann::json what) {
    auto all = documents();
    good(sync_wait(all.upsert(std::move(what))));
  }
  void put_text(std::string const& text) { put(*keyspan::cosmos::json_from(text)); }

  // How often who has asked for what since.
  std::size_t count(std::string_view method, std::string_view what = "/docs") const {
    return static_cast<std::size_t>(
        std::count_if(in.to.asked.begin(), in.to.asked.end(), [&](request const& one) {
          return one.method == method && one.target.find(what) != one.target.npos;
        }));
  }

  account in;
  cosmos_lease_store leases;
};

response answered(std::uint16_t status, std::string body = {}) {
  response made;
  made.status = status;
  made.body = std::move(body);
  return made;
}
instead_of_an_answer instead(response made) { return result<response>{std::move(made)}; }
instead_of_an_answer instead(errc code) { return result<response>{keyspan::fail(code, "so")}; }

bool is_touch(request const& what) {
  return what.headers.find("if-match") == "\"00000000-0000-0000-0000-000000000000\"";
}
bool is_account(request const& what) { return what.target == "/"; }

// The account's answer, where it says this of itself.
instead_of_an_answer account_saying(std::string_view level, bool has_several_writers = false) {
  std::string body{R"({"id":"local","enableMultipleWriteLocations":)"};
  body.append(has_several_writers ? "true" : "false");
  body.append(R"(,"userConsistencyPolicy":{"maxStalenessPrefix":100,"defaultConsistencyLevel":")");
  return instead(answered(200, body.append(level).append("\"}}")));
}

// ---- the laws ----------------------------------------------------------------------------------

TEST_CASE("the example of cosmos_lease_store reads as it should") {
  account in;
  auto& account = in.in;
  in.make("leases", {"/id"});
  // [region: example]
  using keyspan::cosmos::cosmos_lease_store;
  auto leases = sync_wait(cosmos_lease_store::open(account, "shop", "leases"));

  auto const first = sync_wait(leases->create("orders.layout", "one", {}));
  auto const second = sync_wait(leases->replace("orders.layout", "two", *first, {}));
  check(second.has_value());
  auto const late = sync_wait(leases->replace("orders.layout", "three", *first, {}));
  check(late.error().code == keyspan::errc::precondition_failed);
  check(sync_wait(leases->read("orders.layout", {}))->body == "two");
  // [end: example]
}

TEST_CASE("a container is a store that keeps all laws") {
  auto const holds = [](world& w, cosmos_lease_store other) {
    auto const found = keyspan::law::check_lease_store(w.leases, other);
    INFO(found.to_text().view());
    CHECK(found);
  };
  {
    world w;
    holds(w, w.opened());
  }
  {
    world w{4, {.scheme = any_scheme{keyspan::cosmos_v2}}};
    holds(w, w.opened());
  }
  {
    world w{1, {.document_prefix = "shop_AbCd==_AbCdEf=", .lease_prefix = "law."}};
    holds(w, w.leases);
  }
  {
    world w{1, {.reads_are_linearizable = false}};  // this service has one replica
    holds(w, w.leases);
  }
}

// ---- what is asked -----------------------------------------------------------------------------

TEST_CASE("a write is one request, a read two, and a list one a page") {
  world w{3};
  auto const version = w.create("a", "one");
  CHECK(w.in.to.asked.size() == 1);
  CHECK(w.in.to.last().method == "POST");
  auto const next = w.replace("a", "two", version);
  CHECK(w.in.to.asked.size() == 2);
  CHECK(w.in.to.last().headers.find("if-match") == version);
  CHECK(w.in.to.last().kind == keyspan::request_kind::write);
  CHECK(w.read("a").version == next);
  REQUIRE(w.in.to.asked.size() == 4);
  CHECK(is_touch(w.in.to.asked[2]));
  CHECK(w.in.to.asked[2].kind == keyspan::request_kind::repeatable_write);
  CHECK(w.in.to.last().method == "GET");
  CHECK(w.in.to.last().headers.find("x-ms-consistency-level") == "Session");
  CHECK(w.in.to.last().headers.find("x-ms-session-token").has_value());
  // What is not there, the touch tells.
  w.in.to.asked.clear();
  CHECK(code_of(w.leases.read("b", {})) == errc::not_found);
  CHECK(w.in.to.asked.size() == 1);
  // The list of partitions is asked for once.
  w.in.to.asked.clear();
  CHECK(w.list().size() == 1);
  CHECK(w.in.to.asked.size() == 4);
  CHECK(w.list().size() == 1);
  CHECK(w.in.to.asked.size() == 7);
  w.in.to.asked.clear();
  good(sync_wait(w.leases.remove("a", next, {})));
  CHECK(w.in.to.asked.size() == 1);
  CHECK(w.in.to.last().method == "DELETE");
  CHECK(w.in.to.last().headers.find("if-match") == next);
}

TEST_CASE("every request has the deadline and the stop of who asks") {
  world w;
  auto const version = w.create("a", "one");
  keyspan::stop_source stopping;
  store_request const within{std::chrono::steady_clock::now() + 1h, stopping.token()};
  auto const all_have_it = [&] {
    bool const they_do =
        std::all_of(w.in.to.asked.begin(), w.in.to.asked.end(), [&](request const& one) {
          return one.deadline == within.deadline && one.stop == within.stop;
        });
    bool const is_any = !w.in.to.asked.empty();
    w.in.to.asked.clear();
    return is_any && they_do;
  };
  w.in.to.asked.clear();
  good(sync_wait(w.leases.create("b", "x", within)));
  CHECK(all_have_it());
  auto const next = good(sync_wait(w.leases.replace("a", "x", version, within)));
  CHECK(all_have_it());
  good(sync_wait(w.leases.read("a", within)));
  CHECK(all_have_it());
  good(sync_wait(w.leases.list("", within)));
  CHECK(all_have_it());
  good(sync_wait(w.leases.remove("a", next, within)));
  CHECK(all_have_it());
  // Stopped between the two of a read.
  w.in.to.before = [&](request const& what) -> instead_of_an_answer {
    if (is_touch(what)) stopping.request_stop();
    return {};
  };
  CHECK(code_of(w.leases.read("b", within)) == errc::stopped);
}

TEST_CASE("documents of leases say what people look for, those of others stay what they are") {
  world w{1, {.scheme = any_scheme{keyspan::cosmos_v2}, .now = [] {
                return keyspan::wall_time{std::chrono::milliseconds{1500}};
              }}};
  auto const range = keyspan::whole_space(any_scheme{keyspan::cosmos_v2});
  keyspan::lease_record<keyspan::any_token> lease{range};
  lease.facts.owner = keyspan::session_id{7};
  lease.owner_name = "host 3";
  lease.position.container = "AbCd==";
  lease.position.scheme = "cosmos_v2";
  lease.position.parts.push_back({range, keyspan::continuation{"\"17\""}});
  auto const version = w.create("orders.lease.-FF", lease.to_text());
  auto made = w.document("orders.lease.-FF");
  CHECK(made["Owner"] == "host 3");
  CHECK(made["ContinuationToken"] == "\"17\"");
  CHECK(made["timestamp"] == "1970-01-01T00:00:01.500Z");
  CHECK(w.read("orders.lease.-FF").body == lease.to_text());
  lease.owner_name = "host 4";
  w.replace("orders.lease.-FF", lease.to_text(), version);
  CHECK(w.document("orders.lease.-FF")["Owner"] == "host 4");
  CHECK(w.list("orders.")[0].body == lease.to_text());
}

// ---- reads that are not older than what was written --------------------------------------------

// A replica that answers as it was when it was asked to stand still, to who does not ask for more.
struct behind {
  explicit behind(world& w) : in{w} {
    in.in.to.before = [this](request const& what) -> instead_of_an_answer {
      if (what.method != "GET" || what.target.find("/docs/") == what.target.npos) return {};
      auto const token = what.headers.find("x-ms-session-token");
      if (token && *token != seen) return {};
      ++stale;
      return instead(then);
    };
  }
  void stand_still(std::string const& id) {
    auto& service = in.in.to;
    auto const before = std::exchange(service.before, nullptr);
    in.read(id);
    then = service.service.answer(service.last());
    REQUIRE(then.status == 200);
    seen = std::string{*then.headers.find("x-ms-session-token")};
    service.before = before;
  }

  world& in;
  response then{};
  std::string seen{};
  int stale = 0;
};

TEST_CASE("a read shows what another host has written, whatever a replica has seen") {
  world w;
  auto other = w.opened();
  auto const version = w.create("a", "old");
  behind replica{w};
  replica.stand_still("a");
  good(sync_wait(other.replace("a", "new", version, {})));
  CHECK(w.read("a").body == "new");
  CHECK(replica.stale == 0);
  // Who does not ask for that has what the replica has.
  auto plain = w.opened({.reads_are_linearizable = false});
  CHECK(good(sync_wait(plain.read("a", {}))).body == "old");
  CHECK(replica.stale == 1);
}

TEST_CASE("a replica that is behind, or a partition that has gone, is asked anew") {
  world w;
  w.create("a", "one");
  std::vector<std::string> sent;
  int times = 2;
  w.in.to.before = [&](request const& what) -> instead_of_an_answer {
    if (what.method != "GET") return {};
    sent.emplace_back(what.headers.find("x-ms-session-token").value_or(""));
    if (times-- > 0) return door::status(404, 1002);
    return {};
  };
  w.in.to.asked.clear();
  CHECK(w.read("a").body == "one");
  CHECK(sent.size() == 3);
  CHECK(w.count("PUT") == 3);
  times = 100;
  CHECK(code_of(w.leases.read("a", {})) == errc::session_not_available);
  CHECK(times > 90);
}

TEST_CASE("a service without session tokens is asked once a read, but for the first") {
  world w;
  w.create("a", "one");
  auto store = w.opened();
  // As one that knows none: they are taken out of all answers.
  bool is_inside = false;
  bool tells = false;
  w.in.to.before = [&](request const& what) -> instead_of_an_answer {
    if (is_inside || tells) return {};
    is_inside = true;
    auto made = w.in.to.service.answer(what);
    is_inside = false;
    made.headers.remove("x-ms-session-token");
    return instead(std::move(made));
  };
  w.in.to.asked.clear();
  CHECK(good(sync_wait(store.read("a", {}))).body == "one");
  CHECK(w.in.to.asked.size() == 2);
  CHECK(good(sync_wait(store.read("a", {}))).body == "one");
  CHECK(w.in.to.asked.size() == 3);
  CHECK(code_of(store.read("b", {})) == errc::not_found);
  CHECK(w.in.to.asked.size() == 4);
  // One that has told of them once, has them.
  tells = true;
  good(sync_wait(store.create("c", "x", {})));
  w.in.to.asked.clear();
  good(sync_wait(store.read("a", {})));
  CHECK(w.in.to.asked.size() == 2);
  tells = false;
  w.in.to.asked.clear();
  good(sync_wait(store.read("a", {})));
  good(sync_wait(store.read("a", {})));
  CHECK(w.in.to.asked.size() == 4);
}

TEST_CASE("what else a touch is answered is no reason to break") {
  world w;
  w.create("a", "one");
  instead_of_an_answer touch;
  w.in.to.before = [&](request const& what) {
    return is_touch(what) ? touch : instead_of_an_answer{};
  };
  // Nobody there knows what to make of it: then it is a plain read.
  for (auto const status : std::vector<std::uint16_t>{400, 405, 415}) {
    touch = door::status(status);
    CHECK(w.read("a").body == "one");
  }
  for (auto const& [status, code] :
       std::vector<std::pair<std::uint16_t, errc>>{{403, errc::forbidden},
                                                   {401, errc::unauthorized},
                                                   {404, errc::not_found},
                                                   {500, errc::service_failed},
                                                   {503, errc::unavailable},
                                                   {429, errc::throttled}}) {
    CAPTURE(status);
    touch = door::status(status);
    CHECK(code_of(w.leases.read("a", {})) == code);
  }
  touch = door::status(404, 1003);
  CHECK(code_of(w.leases.read("a", {})) == errc::container_changed);
  touch = instead(errc::not_connected);
  CHECK(code_of(w.leases.read("a", {})) == errc::not_connected);
  touch = instead(errc::outcome_unknown);  // nothing that is said of a read
  CHECK(code_of(w.leases.read("a", {})) == errc::not_connected);
  // Whoever does that has overwritten the record.
  touch = instead(answered(200, "{}"));
  CHECK(code_of(w.leases.read("a", {})) == errc::unsupported);
  touch = {};
  CHECK(w.read("a").body == "one");
}

// ---- opening -----------------------------------------------------------------------------------

TEST_CASE("an account says whether reads must be looked after") {
  world w;
  w.create("a", "one");
  for (std::string_view const level : {"Strong", "Session", "BoundedStaleness", ""}) {
    CAPTURE(level);
    w.in.to.before = [&](request const& what) {
      return is_account(what) ? account_saying(level) : instead_of_an_answer{};
    };
    auto store = w.opened();
    w.in.to.asked.clear();
    good(sync_wait(store.read("a", {})));
    CHECK(w.in.to.asked.size() == (level == "Strong" ? 1 : 2));
  }
  for (std::string_view const level : {"Eventual", "ConsistentPrefix"}) {
    w.in.to.before = [&](request const& what) {
      return is_account(what) ? account_saying(level) : instead_of_an_answer{};
    };
    auto const why = error_of(cosmos_lease_store::open(w.in.in, "shop", "leases"));
    CHECK(why.code == errc::unsupported);
    CHECK(why.text.view().find(level) != std::string_view::npos);
    CHECK(sync_wait(
        cosmos_lease_store::open(w.in.in, "shop", "leases", {.reads_are_linearizable = false})));
  }
  w.in.to.before = [&](request const& what) {
    return is_account(what) ? account_saying("Session", true) : instead_of_an_answer{};
  };
  CHECK(code_of(cosmos_lease_store::open(w.in.in, "shop", "leases")) == errc::unsupported);
  CHECK(sync_wait(cosmos_lease_store::open(w.in.in, "shop", "leases", {.is_in_one_region = true})));
}

TEST_CASE("an account that does not say is taken for one whose reads may be old") {
  world w;
  w.create("a", "one");
  for (auto const& said :
       {door::status(404), door::status(403), door::status(401), instead(answered(200, "[]")),
        instead(answered(200, "{")), instead(answered(200, R"({"userConsistencyPolicy":5})"))}) {
    w.in.to.before = [&](request const& what) {
      return is_account(what) ? said : instead_of_an_answer{};
    };
    auto store = w.opened();
    w.in.to.asked.clear();
    good(sync_wait(store.read("a", {})));
    CHECK(w.in.to.asked.size() == 2);
  }
  for (auto const& said : {instead(errc::not_connected), door::status(429), door::status(503)}) {
    w.in.to.before = [&](request const& what) {
      return is_account(what) ? said : instead_of_an_answer{};
    };
    CHECK_FALSE(sync_wait(cosmos_lease_store::open(w.in.in, "shop", "leases")));
  }
}

TEST_CASE("only a container by id, whose documents stay, holds leases") {
  account a;
  auto const why_not = [&](std::string name) {
    return error_of(cosmos_lease_store::open(a.in, "shop", std::move(name)));
  };
  a.make("by_pk", {"/pk"});
  a.make("by_two", {"/id", "/pk"});
  a.make("passing", {"/id"}, {.time_to_live = 60s});
  auto why = why_not("by_pk");
  CHECK(why.code == errc::wrong_container);
  CHECK(why.text ==
        "container \"by_pk\" is not partitioned by /id: make one for the leases with the key path "
        "/id");
  CHECK(why_not("by_two").code == errc::wrong_container);
  why = why_not("passing");
  CHECK(why.code == errc::wrong_container);
  CHECK(why.text.view().find("60 s") != std::string_view::npos);
  CHECK(why_not("nothing").code == errc::not_found);
  CHECK(why_not("a/b").code == errc::invalid_options);
  a.make("leases", {"/id"});
  CHECK(code_of(cosmos_lease_store::open(a.in, "shop", "leases", {.document_prefix = "a/b"})) ==
        errc::invalid_options);
  CHECK(code_of(cosmos_lease_store::open(a.in, "shop", "leases", {.lease_prefix = "a/b"})) ==
        errc::invalid_options);
  auto store = sync_wait(cosmos_lease_store::open(a.in, "shop", "leases"));
  REQUIRE(store);
  CHECK(store->address().container() == "leases");
  CHECK(store->names().document_prefix().empty());
}

TEST_CASE("a container that is gone is another thing than a record that is") {
  world w;
  auto const version = w.create("a", "one");
  w.in.done(keyspan::cosmos::remove_container(w.leases.address()));
  CHECK(code_of(w.leases.read("a", {})) == errc::container_changed);
  CHECK(code_of(w.leases.create("b", "x", {})) == errc::container_changed);
  CHECK(code_of(w.leases.replace("a", "x", version, {})) == errc::container_changed);
  CHECK(code_of(w.leases.remove("a", version, {})) == errc::container_changed);
  CHECK(code_of(w.leases.list("", {})) == errc::container_changed);
}

// ---- writes ------------------------------------------------------------------------------------

TEST_CASE("what was sent again and then refused may have been done before") {
  world w;
  auto const version = w.create("a", "one");
  auto const others = w.replace("a", "two", version);
  auto const once_more = [&] { w.in.to.instead.push_back(door::status(429)); };
  // Sent once, the answer is the whole truth.
  CHECK(code_of(w.leases.replace("a", "x", version, {})) == errc::precondition_failed);
  CHECK(code_of(w.leases.remove("a", version, {})) == errc::precondition_failed);
  CHECK(code_of(w.leases.create("a", "x", {})) == errc::already_exists);
  CHECK(code_of(w.leases.replace("b", "x", version, {})) == errc::not_found);
  CHECK(code_of(w.leases.remove("b", version, {})) == errc::not_found);
  // Sent twice, it is not.
  once_more();
  auto const why = error_of(w.leases.replace("a", "x", version, {}));
  CHECK(why.code == errc::outcome_unknown);
  CHECK(why.text == "record \"a\": sent 2 times, and refused by precondition_failed");
  CHECK(why.wire.attempts == 2);
  CHECK(why.wire.status == 412);
  once_more();
  CHECK(code_of(w.leases.remove("a", version, {})) == errc::outcome_unknown);
  once_more();
  CHECK(code_of(w.leases.create("a", "x", {})) == errc::outcome_unknown);
  once_more();
  CHECK(code_of(w.leases.replace("b", "x", version, {})) == errc::outcome_unknown);
  once_more();
  CHECK(code_of(w.leases.remove("b", version, {})) == errc::outcome_unknown);
  CHECK(w.read("a").version == others);
  // A read that is sent again is a read.
  once_more();
  CHECK(code_of(w.leases.read("b", {})) == errc::not_found);
}

TEST_CASE("a write that was throttled is sent again, and done once") {
  world w;
  w.in.to.instead.push_back(door::status(429));
  auto const version = w.create("a", "one");
  w.in.to.instead.push_back(door::status(449));
  auto const next = w.replace("a", "two", version);
  w.in.to.instead.push_back(instead(errc::not_connected));
  CHECK(w.read("a").body == "two");
  w.in.to.instead.push_back(door::status(429));
  CHECK(w.list().size() == 1);
  w.in.to.instead.push_back(instead(answered(503, R"({"code":"ServiceUnavailable"})")));
  good(sync_wait(w.leases.remove("a", next, {})));
  w.in.to.before = [](request const&) { return door::status(429); };
  for (auto const code :
       {code_of(w.leases.create("a", "x", {})), code_of(w.leases.replace("a", "x", next, {})),
        code_of(w.leases.remove("a", next, {})), code_of(w.leases.read("a", {})),
        code_of(w.leases.list("", {}))})
    CHECK(code == errc::throttled);
}

TEST_CASE("only the service's own word says that a write was not taken") {
  world w;
  auto const version = w.create("a", "one");
  auto const told = [&](instead_of_an_answer const& said) {
    w.in.to.asked.clear();
    w.in.to.instead.push_back(said);
    auto const answer = sync_wait(w.leases.replace("a", "one", version, {}));
    return answer ? std::optional<errc>{} : answer.error().code;
  };
  // A proxy may have passed it on, and a replica that is gone may have begun: it is not sent again.
  for (auto const& said : {door::status(503), instead(answered(503, "<html>busy</html>")),
                           instead(answered(503, "{}")), door::status(410), door::status(410, 1022),
                           door::status(500), instead(errc::outcome_unknown), door::status(408)}) {
    auto const code = told(said);
    REQUIRE(code);
    CHECK_FALSE(keyspan::was_not_done(*code));
    CHECK(w.in.to.asked.size() == 1);
  }
  CHECK(w.read("a").version == version);
  w.in.to.instead.push_back(door::status(503));
  CHECK(code_of(w.leases.remove("a", version, {})) == errc::service_failed);
  w.in.to.instead.push_back(door::status(503));
  CHECK(code_of(w.leases.create("b", "x", {})) == errc::service_failed);
  // A partition that moves has not begun.
  CHECK(told(door::status(410, 1007)) == std::nullopt);
  CHECK(w.in.to.asked.size() == 2);
  CHECK(w.read("a").version != version);
}

TEST_CASE("whatever becomes of requests, what is said not to have been done was not") {
  world w;
  auto plain = w.opened({.reads_are_linearizable = false});
  test::random draw{20261120};
  // Done or not, and what is said of it.
  w.in.to.before = [&](request const& what) -> instead_of_an_answer {
    if (what.method == "GET" || is_touch(what)) return {};
    auto const kind = draw.below(24);
    bool const is_done = kind < 7;
    if (is_done) static_cast<void>(w.in.to.service.answer(what));
    switch (kind) {
      case 0:
        return instead(answered(503, "<html>"));
      case 1:
        return door::status(503);
      case 2:
        return door::status(410);
      case 3:
        return door::status(408);
      case 4:
        return door::status(500);
      case 5:
        return instead(errc::outcome_unknown);
      case 6:
        return instead(errc::timed_out);
      case 7:
        return door::status(429);
      case 8:
        return door::status(449);
      case 9:
        return door::status(410, 1002);
      case 10:
        return instead(answered(503, R"({"code":"ServiceUnavailable"})"));
      case 11:
        return instead(errc::not_connected);
      default:
        return {};
    }
  };
  auto const now = [&]() -> std::optional<stored_record> {
    auto seen = sync_wait(plain.read("a", {}));
    if (!seen) return std::nullopt;
    return *std::move(seen);
  };
  std::size_t done = 0, refused = 0, unknown = 0;
  std::vector<std::string> versions{"\"none\""};
  for (int i = 0; i < 1'000; ++i) {
    auto const before = now();
    if (before) versions.push_back(before->version);
    // The one that it has, or an old one.
    auto const version =
        versions[versions.size() - 1 - (draw.below(4) == 0 && versions.size() > 1)];
    std::string const body = std::to_string(i);
    result<std::string> answer = std::string{};
    auto const what = draw.below(4);
    if (what == 0) {
      answer = sync_wait(w.leases.create("a", body, {}));
    } else if (what == 1) {
      auto const gone = sync_wait(w.leases.remove("a", version, {}));
      if (!gone) answer = keyspan::unexpected{gone.error()};
    } else {
      answer = sync_wait(w.leases.replace("a", body, version, {}));
    }
    auto const after = now();
    CAPTURE(i, what, version);
    if (answer) {
      ++done;
      REQUIRE(after.has_value() == (what != 1));
      if (after) REQUIRE(*after == stored_record{"a", body, *answer});
    } else if (keyspan::was_not_done(answer.error().code)) {
      ++refused;
      INFO(answer.error().to_text().view());
      REQUIRE(after == before);
    } else {
      ++unknown;
    }
  }
  CHECK(done > 100);
  CHECK(refused > 100);
  CHECK(unknown > 100);
}

TEST_CASE("a write whose answer has no etag was done, as far as one knows") {
  world w;
  w.in.to.instead.push_back(instead(answered(201)));
  CHECK(code_of(w.leases.create("a", "x", {})) == errc::outcome_unknown);
  auto told = answered(201);
  told.headers.add("etag", "\"5\"");
  w.in.to.instead.push_back(instead(told));
  CHECK(good(sync_wait(w.leases.create("a", "x", {}))) == "\"5\"");
  told.body = "no JSON";
  w.in.to.instead.push_back(instead(told));
  CHECK(good(sync_wait(w.leases.create("a", "x", {}))) == "\"5\"");
}

TEST_CASE("what no store takes is not sent") {
  world w;
  auto const version = w.create("a", "one");
  w.in.to.asked.clear();
  for (std::string const& id : {std::string{}, std::string{"a/b"}, std::string{".a"},
                                std::string{"a."}, std::string(201, 'a'), std::string{"a b"}}) {
    CHECK(code_of(w.leases.read(id, {})) == errc::invalid_options);
    CHECK(code_of(w.leases.create(id, "x", {})) == errc::invalid_options);
    CHECK(code_of(w.leases.replace(id, "x", version, {})) == errc::invalid_options);
    CHECK(code_of(w.leases.remove(id, version, {})) == errc::invalid_options);
  }
  for (std::string const& body : {std::string{}, std::string{"a\0b", 3}, std::string{"\xFF"}}) {
    CHECK(code_of(w.leases.create("b", body, {})) == errc::invalid_options);
    CHECK(code_of(w.leases.replace("a", body, version, {})) == errc::invalid_options);
  }
  CHECK(code_of(w.leases.create("b", std::string(60'001, 'x'), {})) == errc::too_large);
  // A condition that is none, or that always holds, is no condition.
  for (std::string const none : {"", "*", "a b", "\r\nx: y"}) {
    CHECK(code_of(w.leases.replace("a", "x", none, {})) == errc::precondition_failed);
    CHECK(code_of(w.leases.remove("a", none, {})) == errc::precondition_failed);
  }
  CHECK(w.in.to.asked.empty());
  CHECK(w.read("a").version == version);
}

// ---- what others have written ------------------------------------------------------------------

TEST_CASE("a lease that a processor of the SDKs has written is not read as ours") {
  world w{1, {.scheme = any_scheme{keyspan::cosmos_v2}}};
  auto const range = keyspan::whole_space(any_scheme{keyspan::cosmos_v2});
  keyspan::lease_record<keyspan::any_token> lease{range};
  lease.position.container = "AbCd==";
  lease.position.scheme = "cosmos_v2";
  lease.position.parts.push_back({range, keyspan::continuation{"\"17\""}});
  auto const version = w.create("orders.lease.-FF", lease.to_text());
  w.create("orders.layout", "x");
  auto document = w.document("orders.lease.-FF");
  document["Owner"] = "their host";
  w.put(document);
  auto const why = error_of(w.leases.read("orders.lease.-FF", {}));
  CHECK(why.code == errc::foreign_lease);
  CHECK(why.text ==
        "lease \"orders.lease.-FF\" was written by another processor, \"their host\": stop that "
        "fleet, then take them over");
  CHECK(code_of(w.leases.list("", {})) == errc::foreign_lease);
  CHECK(code_of(w.leases.list("orders.lease.", {})) == errc::foreign_lease);
  CHECK(w.list("orders.layout").size() == 1);
  // It is not undone either.
  CHECK(code_of(w.leases.replace("orders.lease.-FF", "x", version, {})) ==
        errc::precondition_failed);
  // Read back where the position alone has moved.
  document["Owner"] = nullptr;
  document["ContinuationToken"] = "\"18\"";
  w.put(document);
  CHECK(code_of(w.leases.read("orders.lease.-FF", {})) == errc::foreign_lease);
  document["ContinuationToken"] = "\"17\"";
  w.put(document);
  CHECK(w.read("orders.lease.-FF").body == lease.to_text());
}

TEST_CASE("in a container of theirs, leases that were not taken over are told") {
  world w{1, {.document_prefix = "p=", .lease_prefix = "orders."}};
  w.create("orders.lease.A-B", "x");
  w.create("orders.layout", "x");
  w.put_text(R"({"id":"p=.info"})");
  w.put_text(R"({"id":"p=.lock","Owner":"host"})");
  w.put_text(R"({"id":"q=..0","LeaseToken":"0"})");
  w.put_text(R"({"id":"orders.lease.C-D","Owner":"other"})");
  CHECK(w.document("p=..A-B")["properties"]["keyspan"] == "x");
  CHECK(w.document("p=.keyspan.orders.layout")["properties"]["keyspan"] == "x");
  CHECK(w.list().size() == 2);
  w.put_text(R"({"id":"p=..B-FF","LeaseToken":"B-FF","Owner":null,"version":1})");
  auto why = error_of(w.leases.list("orders.", {}));
  CHECK(why.code == errc::foreign_lease);
  CHECK(why.text ==
        "lease \"orders.lease.B-FF\" is one of another processor, and was not taken over");
  CHECK(code_of(w.leases.read("orders.lease.B-FF", {})) == errc::foreign_lease);
  CHECK(code_of(w.leases.create("orders.lease.B-FF", "x", {})) == errc::already_exists);
  // And one by the id of a partition, which no record is called.
  auto all = w.documents();
  good(sync_wait(all.remove("p=..B-FF", "p=..B-FF")));
  CHECK(w.list().size() == 2);
  w.put_text(R"({"id":"p=..0","PartitionId":"0","Owner":"their host"})");
  why = error_of(w.leases.list("orders.layout", {}));
  CHECK(why.code == errc::foreign_lease);
  CHECK(why.text.view().find("p=..0") != std::string_view::npos);
}

TEST_CASE("a processor does not begin beside leases that were not taken over") {
  world w{1, {.document_prefix = "p=", .lease_prefix = "orders."}};
  w.put_text(R"({"id":"p=..0","PartitionId":"0","Owner":"their host"})");
  w.in.make("reviews");
  auto reviews = w.in.open();
  w.in.clock.at = std::chrono::steady_clock::now();  // by which the service goes
  keyspan::stop_source stop;
  keyspan::processor_options<keyspan::any_token> options{.lease_prefix = "orders."};
  options.on_event = [&](keyspan::processor_event const& event) {
    if (event.kind == keyspan::processor_event_kind::store_failed) stop.request_stop();
  };
  keyspan::processor work{reviews, w.leases, w.in.clock, options};
  auto const handle = [](auto&) {};
  auto const why = error_of(work.run(handle, stop.token()));
  CHECK(why.code == errc::foreign_lease);
  CHECK(why.text.view().find("p=..0") != std::string_view::npos);
}

TEST_CASE("documents that are no records are nobody's business, and those that were say so") {
  world w;
  auto const version = w.create("orders.layout", "x");
  w.put_text(R"({"id":"a b","properties":{"keyspan":"x"}})");
  w.put_text(R"({"id":"orders.note","text":"for people"})");
  w.put_text(R"({"id":"orders.null","properties":null})");
  w.put_text(R"({"id":"orders.list","properties":["keyspan"]})");
  w.put_text(R"({"id":"orders.number","properties":{"keyspan":5}})");
  w.put_text(R"({"id":"orders.empty","properties":{"keyspan":""}})");
  w.put_text(R"({"id":"orders.object","properties":{"keyspan":{"keyspan":"x"}}})");
  std::string deep(100, '[');
  deep.append(100, ']');
  w.put_text(R"({"id":"orders.deep","properties":)" + deep + "}");
  w.put_text(R"({"id":"orders.huge","text":")" + std::string(1'000'000, 'x') + "\"}");
  CHECK(w.list() == std::vector<stored_record>{{"orders.layout", "x", version}});
  for (std::string const id : {"orders.note", "orders.null", "orders.list", "orders.number",
                               "orders.empty", "orders.object", "orders.deep", "orders.huge"}) {
    CAPTURE(id);
    auto const why = error_of(w.leases.read(id, {}));
    CHECK(why.code == errc::malformed);
    CHECK(why.text.view().find(id) != std::string_view::npos);
    CHECK(code_of(w.leases.create(id, "x", {})) == errc::already_exists);
  }
}

TEST_CASE("an answer that is none of the service's is no record") {
  world w;
  w.create("a", "one");
  instead_of_an_answer said;
  w.in.to.before = [&](request const& what) {
    return what.method == "GET" && what.target.find("pkranges") == what.target.npos
               ? said
               : instead_of_an_answer{};
  };
  std::string deep(5'000, '[');
  for (std::string const& body :
       {std::string{}, std::string{"x"}, std::string{"[]"}, "{\"id\":\"a\",\"b\":" + deep,
        std::string{"{\"id\":\"\xFF\"}"}, std::string{"{\"id\":\"a\"} {}"}}) {
    CAPTURE(body.substr(0, 20));
    said = instead(answered(200, body));
    CHECK_FALSE(sync_wait(w.leases.read("a", {})));
    CHECK(code_of(w.leases.list("", {})) == errc::bad_response);
  }
  // Without an etag nobody could ever write it.
  said = instead(answered(200, R"({"id":"a","properties":{"keyspan":"one"}})"));
  CHECK(code_of(w.leases.read("a", {})) == errc::bad_response);
  said = instead(
      answered(200, R"({"Documents":[{"id":"a","properties":{"keyspan":"one"}}],"_count":1})"));
  CHECK(code_of(w.leases.list("", {})) == errc::bad_response);
  // A list that goes round.
  auto round = answered(200, R"({"Documents":[],"_count":0})");
  round.headers.add("x-ms-continuation", "there");
  said = instead(round);
  CHECK(code_of(w.leases.list("", {})) == errc::bad_response);
}

// ---- lists -------------------------------------------------------------------------------------

TEST_CASE("a list goes through all partitions, also while they are split and merged") {
  world w{2};
  std::vector<std::string> ids;
  for (int i = 0; i < 250; ++i) {
    ids.push_back("many." + std::to_string(i));
    w.create(ids.back(), "x");
  }
  std::sort(ids.begin(), ids.end());
  auto const listed = [&] {
    std::vector<std::string> made;
    for (auto const& one : w.list("many.")) made.push_back(one.id);
    return made;
  };
  CHECK(listed() == ids);
  w.in.control("split/0", "leases");
  CHECK(listed() == ids);
  w.in.control("merge/1/3", "leases");
  CHECK(listed() == ids);
  // In the middle of it.
  int pages = 0;
  w.in.to.before = [&](request const& what) -> instead_of_an_answer {
    bool const is_page = what.method == "GET" && what.target.ends_with("/docs");
    if (is_page && ++pages == 2) w.in.control("split/4", "leases");
    return {};
  };
  CHECK(listed() == ids);
  CHECK(pages == 5);
  // Never for ever.
  w.in.to.before = [&](request const& what) {
    return what.target.ends_with("/docs") ? door::status(410, 1002) : instead_of_an_answer{};
  };
  CHECK(code_of(w.leases.list("", {})) == errc::unavailable);
}

TEST_CASE("a record that comes on two pages is listed once") {
  world w;
  w.create("a", "one");
  int pages = 0;
  w.in.to.before = [&](request const& what) -> instead_of_an_answer {
    if (!what.target.ends_with("/docs")) return {};
    auto made = answered(
        200, R"({"Documents":[{"id":"b","_etag":"2","properties":{"keyspan":"x"}},)"
             R"({"id":"a","_etag":")" +
                 std::to_string(++pages) + R"(","properties":{"keyspan":"x"}}],"_count":2})");
    if (pages < 3) made.headers.add("x-ms-continuation", "page " + std::to_string(pages));
    return instead(std::move(made));
  };
  auto const all = w.list();
  REQUIRE(all.size() == 2);
  CHECK(all[0] == stored_record{"a", "x", "3"});
  CHECK(all[1].id == "b");
}

TEST_CASE("partitions that were split are not walked through") {
  world w;
  std::vector<std::string> walked;
  w.in.to.before = [&](request const& what) -> instead_of_an_answer {
    if (what.target.ends_with("/pkranges"))
      return instead(answered(
          200,
          R"({"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF","parents":[]},)"
          R"({"id":"1","minInclusive":"","maxExclusive":"20","parents":["0"]},)"
          R"({"id":"2","minInclusive":"20","maxExclusive":"FF","parents":["0"]}],"_count":3})"));
    walked.emplace_back(what.headers.find("x-ms-documentdb-partitionkeyrangeid").value_or("none"));
    return instead(answered(200, R"({"Documents":[],"_count":0})"));
  };
  CHECK(w.list().empty());
  CHECK(walked == std::vector<std::string>{"1", "2"});
}

TEST_CASE("a list of partitions that cannot be read is a container of one") {
  world w;
  w.create("a", "one");
  for (auto const& said : {instead(answered(200, "{}")),
                           instead(answered(200, R"({"PartitionKeyRanges":[],"_count":0})"))}) {
    auto store = w.opened();
    w.in.to.before = [&](request const& what) {
      return what.target.ends_with("/pkranges") ? said : instead_of_an_answer{};
    };
    CHECK(good(sync_wait(store.list("", {}))).size() == 1);
    CHECK_FALSE(w.in.to.last().headers.find("x-ms-documentdb-partitionkeyrangeid"));
    w.in.to.before = nullptr;
  }
}

}  // namespace
