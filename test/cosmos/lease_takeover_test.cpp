// test/cosmos/lease_takeover_test.cpp — leases as the SDKs' processors leave them, taken over and
// given back, while that fleet runs, while another host does the same, and with every write failing
// once.
#include <cosmos/account.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/base64.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/cosmos_lease_store.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/lease_document.hpp>
#include <keyspan/cosmos/lease_takeover.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/range/partition.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using keyspan::errc;
using keyspan::feed_mode;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::instant;
using keyspan::result;
using keyspan::sync_wait;
using keyspan::task;
using keyspan::wall_time;
using keyspan::cosmos::container_address;
using keyspan::cosmos::cosmos_lease_store;
using keyspan::cosmos::give_back_options;
using keyspan::cosmos::lease_document;
using keyspan::cosmos::lease_form;
using keyspan::cosmos::lease_version;
using keyspan::cosmos::takeover_options;
using keyspan::cosmos::takeover_outcome;
using nlohmann::json;
using test::review;

constexpr std::string_view prefix = "shopcontoso.documents.azure.com_njd5sQ==_njd5sTxu82I=";

// Whoever waits makes the time pass, here and in the service, and what happens meanwhile happen.
struct passing_clock {
  instant now() const noexcept { return at; }
  keyspan::ready<result<void>> wait_until(instant due, keyspan::stop_token stop = {}) {
    if (stop.stop_requested()) return {keyspan::detail::wait_stopped()};
    if (due <= at) return {result<void>{}};
    if (due - at >= 1s) waits.push_back(due - at);
    at = due;
    if (meanwhile) meanwhile();
    return {result<void>{}};
  }

  instant at{};
  std::vector<instant::duration> waits{};
  std::function<void()> meanwhile{};
};

// A coroutine that was begun.
class begun {
  struct life {
    struct promise_type {
      life get_return_object() const noexcept { return {}; }
      std::suspend_never initial_suspend() const noexcept { return {}; }
      std::suspend_never final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept { std::terminate(); }
    };
  };

 public:
  explicit begun(task<result<void>> what) { run(std::move(what), out_); }
  bool is_over() const { return out_->has_value(); }
  result<void> const& outcome() const { return **out_; }

 private:
  using place = std::shared_ptr<std::optional<result<void>>>;
  static life run(task<result<void>> what, place out) {
    result<void> done = co_await std::move(what);
    out->emplace(std::move(done));
  }
  place out_ = std::make_shared<std::optional<result<void>>>();
};

struct handler {
  template <class Batch>
  result<void> process(Batch& batch) {
    for (auto const& one : batch) ++handled[one.item->id];
    return {};
  }
  std::map<std::string, int> handled{};
};

// An account with reviews, and a container of leases where somebody else's fleet was at work.
struct world {
  using account_type = keyspan::cosmos::cosmos_account<test::door, passing_clock>;
  using container_type = keyspan::cosmos::cosmos_container<review>;
  using partition_type = keyspan::partition<keyspan::any_token>;

  explicit world(std::size_t partitions = 2)
      : to{.service = cosmos_server::cosmos_service{
               {.key = *keyspan::cosmos::master_key::from(test::account_key),
                .partitions = partitions,
                .now = [this] { return wall(); }}}} {
    // The service in this process goes by the steady clock where a request has a deadline.
    hosts.advance(began - instant{});
    done(keyspan::cosmos::create_database("shop"));
    make("reviews", "/article");
    make("leases", "/id");
    auto opened = sync_wait(in.open<review>("shop", "reviews"));
    if (!opened) FAIL(opened.error().to_text().view());
    reviews.emplace(*std::move(opened));
    // The service gives the same names each time.
    REQUIRE(prefix.ends_with("_" + reviews->container()));
  }

  wall_time wall() const {
    auto const passed = (clock.at - instant{}) + (std::max)(0ns, hosts.now() - began);
    return wall_time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 20}} +
           std::chrono::duration_cast<std::chrono::milliseconds>(passed);
  }
  keyspan::response done(keyspan::cosmos::service_request what) {
    auto answer = sync_wait(in.send(std::move(what)));
    REQUIRE(answer);
    INFO(answer->body);
    REQUIRE(answer->status < 300);
    return *std::move(answer);
  }
  void make(std::string_view name, std::string_view path) {
    auto const where = container_address::from("shop", name);
    std::vector<std::string_view> const paths{path};
    done(keyspan::cosmos::create_container(*where, *keyspan::key_paths::parse(paths), {}));
  }
  void control(std::string_view what) {
    auto const answer = to.service.answer(
        {.method = "POST", .target = "/_control/dbs/shop/colls/reviews/" + std::string{what}});
    INFO(answer.body);
    REQUIRE(answer.status < 300);
  }

  // ---- reviews ---------------------------------------------------------------------------------

  void write(int count) {
    for (; count > 0; --count, ++written) {
      std::string const number = std::to_string(written);
      review const one{"r-" + number, "article " + number, 5};
      REQUIRE(sync_wait(reviews->create(one)));
    }
  }
  std::vector<partition_type> partitions() {
    auto known = keyspan::routing_refresh<keyspan::any_scheme>{reviews->scheme()};
    while (known.wants_page()) known.take(sync_wait(reviews->topology(known.version())).value());
    auto const found = known.outcome().value();
    return {found->partitions().begin(), found->partitions().end()};
  }
  // What a reader of all of a range keeps.
  std::string read_all(keyspan::token_range<keyspan::any_token> const& range) {
    keyspan::continuation at = from_beginning;
    for (;;) {
      auto const page = sync_wait(reviews->read(range, at, {}));
      REQUIRE(page);
      at = keyspan::continuation{page->continuation};
      if (page->nothing_new) return page->continuation;
    }
  }

  // ---- leases ----------------------------------------------------------------------------------

  static container_address leases() { return *container_address::from("shop", "leases"); }
  void put(json document) {
    auto const id = document["id"].get<std::string>();
    keyspan::partition_key const key{id};
    done(keyspan::cosmos::upsert_document(leases(), key, document.dump()));
  }
  void erase(std::string const& id) {
    keyspan::partition_key const key{id};
    done(keyspan::cosmos::remove_document(leases(), key, id));
  }
  std::map<std::string, json> documents() {
    std::map<std::string, json> found;
    std::string behind;
    do {
      auto const page =
          done(keyspan::cosmos::read_documents(leases(), {}, {.continuation = behind}));
      auto const body = keyspan::cosmos::json_from(page.body).value();
      for (auto const& one : body["Documents"]) found[one["id"].get<std::string>()] = one;
      behind = page.headers.find("x-ms-continuation").value_or("");
    } while (!behind.empty());
    return found;
  }
  static std::string id_of(std::string_view token) {
    return std::string{prefix} + ".." + std::string{token};
  }
  std::map<std::string, lease_document> lease_documents() {
    std::map<std::string, lease_document> found;
    for (auto const& [id, one] : documents())
      if (id.starts_with(id_of("")))
        found[id.substr(id_of("").size())] = lease_document::from_json(one).value();
    return found;
  }
  static json base_lease(std::string_view token) {
    auto made = json::object();
    made["id"] = id_of(token);
    made["Owner"] = nullptr;
    made["ContinuationToken"] = nullptr;
    made["properties"] = json::object();
    made["timestamp"] = "2026-11-19T22:13:20.1234567Z";
    return made;
  }
  // As .NET 2 writes it.
  static json of_dotnet_2(std::string_view id, std::string_view continuation) {
    auto made = base_lease(id);
    made["PartitionId"] = std::string{id};
    made["gremlincompatid"] = made["id"];
    if (!continuation.empty()) made["ContinuationToken"] = std::string{continuation};
    return made;
  }
  // As .NET 3 writes it, and Java without the range.
  static json of_partition(partition_type const& of, std::string_view continuation,
                           bool has_range = true) {
    auto made = base_lease(of.id);
    made["LeaseToken"] = of.id;
    if (has_range) made["FeedRange"]["Range"] = bounds(of);
    if (has_range) made["Mode"] = "Incremental Feed";
    if (!continuation.empty()) made["ContinuationToken"] = std::string{continuation};
    return made;
  }
  static json of_range(partition_type const& of, std::string_view continuation) {
    auto const range = bounds(of);
    std::string const token =
        range["min"].get<std::string>() + "-" + range["max"].get<std::string>();
    auto made = base_lease(token);
    made["version"] = 1;
    made["LeaseToken"] = token;
    made["FeedRange"]["Range"] = range;
    made["Mode"] = "Incremental Feed";
    if (!continuation.empty()) made["ContinuationToken"] = std::string{continuation};
    return made;
  }
  json of_java(partition_type const& of, std::string_view continuation) const {
    auto made = of_range(of, {});
    made.erase("Mode");
    made.erase("properties");
    auto state = json::object();
    state["V"] = 1;
    state["Rid"] = reviews->container();
    state["Mode"] = "INCREMENTAL";
    state["StartFrom"]["Type"] = "BEGINNING";
    auto part = json::object();
    part["token"] = std::string{continuation};
    part["range"] = bounds(of);
    state["Continuation"]["V"] = 1;
    state["Continuation"]["Rid"] = reviews->container();
    state["Continuation"]["Continuation"] = json::array();
    state["Continuation"]["Continuation"].push_back(std::move(part));
    state["Continuation"]["Range"] = bounds(of);
    made["ContinuationToken"] = base64(state.dump());
    return made;
  }
  static std::string base64(std::string const& bytes) {
    std::string text(keyspan::base64_size(bytes.size()), '=');
    text.resize(
        keyspan::encode_base64(std::span{bytes.data(), bytes.size()}, std::span{text}).size());
    return text;
  }
  static std::string upper_of(partition_type const& of) {
    return std::string{of.range.upper().to_hex().view()};
  }
  static json bounds(partition_type const& of) {
    auto made = json::object();
    made["min"] = std::string{of.range.lower().to_hex().view()};
    made["max"] = upper_of(of);
    return made;
  }
  void put_info() {
    auto made = json::object();
    made["id"] = std::string{prefix} + ".info";
    put(std::move(made));
  }

  // ---- over and back ---------------------------------------------------------------------------

  static takeover_options how() { return {.document_prefix = std::string{prefix}}; }
  result<takeover_outcome> take(takeover_options options = how()) {
    return sync_wait(
        keyspan::cosmos::take_over_leases(in, leases(), *reviews, clock, std::move(options)));
  }
  takeover_outcome taken(takeover_options options = how()) {
    auto const outcome = take(std::move(options));
    if (!outcome) FAIL(outcome.error().to_text().view());
    return *outcome;
  }
  std::string refusal(takeover_options options = how()) {
    auto const outcome = take(std::move(options));
    REQUIRE(!outcome);
    return std::string{outcome.error().to_text().view()};
  }

  static give_back_options back() { return {.document_prefix = std::string{prefix}}; }
  result<takeover_outcome> give(give_back_options options = back()) {
    return sync_wait(
        keyspan::cosmos::give_back_leases(in, leases(), *reviews, clock, std::move(options)));
  }
  takeover_outcome given(give_back_options options = back()) {
    auto const outcome = give(std::move(options));
    if (!outcome) FAIL(outcome.error().to_text().view());
    return *outcome;
  }
  static give_back_options back_as(lease_form form) {
    auto made = back();
    made.form = form;
    return made;
  }

  cosmos_lease_store store() {
    auto opened = sync_wait(cosmos_lease_store::open(
        in, "shop", "leases",
        {.scheme = reviews->scheme(), .document_prefix = std::string{prefix}}));
    if (!opened) FAIL(opened.error().to_text().view());
    return *std::move(opened);
  }
  // What a host that runs for a while handles, how often each.
  std::map<std::string, int> handled_by_a_host(std::function<void()> meanwhile = {},
                                               instant::duration holds = 60s) {
    auto over = store();
    handler what;
    keyspan::processor_options<keyspan::any_token> options;
    options.host_name = "ada";
    options.lease_expiration_interval = holds;
    options.start = from_beginning;  // what was lost would be seen again
    options.on_event = [&](keyspan::processor_event const& event) {
      if (event.kind == keyspan::processor_event_kind::leases_made) FAIL("leases were made anew");
    };
    keyspan::processor work{*reviews, over, hosts, options};
    keyspan::stop_source stop;
    begun running{work.run(what, stop.token())};
    for (int i = 0; i < 20; ++i) hosts.advance(1s);
    if (meanwhile) meanwhile();
    stop.request_stop();
    for (int i = 0; i < 120 && !running.is_over(); ++i) hosts.advance(1s);
    REQUIRE(running.is_over());
    if (!running.outcome()) FAIL(running.outcome().error().to_text().view());
    return what.handled;
  }
  // Whether exactly these were handled, each once.
  static bool are(std::map<std::string, int> const& handled, int first, int last) {
    if (handled.size() != static_cast<std::size_t>(last - first)) return false;
    return std::all_of(handled.begin(), handled.end(), [&](auto const& one) {
      int const number = std::stoi(one.first.substr(2));
      return one.second == 1 && number >= first && number < last;
    });
  }

  instant began = std::chrono::steady_clock::now() + 1h;
  keyspan::manual_clock hosts{};
  passing_clock clock{};
  test::door to;
  account_type in{to, clock, *keyspan::cosmos::master_key::from(test::account_key),
                  keyspan::cosmos::account_options{.now = [this] { return wall(); }}};
  std::optional<container_type> reviews{};
  int written = 0;
};

enum class writer { dotnet_2, dotnet_3, java, dotnet_3_range, java_range };
constexpr auto all_writers = {writer::dotnet_2, writer::dotnet_3, writer::java,
                              writer::dotnet_3_range, writer::java_range};

// Leases of somebody who has read all there is.
void leave_leases(world& at, writer who) {
  for (auto const& one : at.partitions()) {
    auto const behind = at.read_all(one.range);
    switch (who) {
      case writer::dotnet_2:
        at.put(world::of_dotnet_2(one.id, behind));
        break;
      case writer::dotnet_3:
        at.put(world::of_partition(one, behind));
        break;
      case writer::java:
        at.put(world::of_partition(one, behind, false));
        break;
      case writer::dotnet_3_range:
        at.put(world::of_range(one, behind));
        break;
      case writer::java_range:
        at.put(at.of_java(one, behind));
        break;
    }
  }
  at.put_info();
  at.clock.at += 10min;
}

TEST_CASE("a processor goes on exactly behind where a fleet of the SDKs has stopped") {
  for (auto const who : all_writers) {
    INFO(static_cast<int>(who));
    world at{3};
    at.write(40);
    leave_leases(at, who);
    at.write(30);
    auto const outcome = at.taken();
    CHECK(!outcome.was_done);
    CHECK(outcome.leases == 3);
    CHECK(outcome.written == 3);
    CHECK(at.clock.waits.empty());
    CHECK(world::are(at.handled_by_a_host(), 40, 70));
  }
}

TEST_CASE("partitions that were split while nobody read them are read on as well") {
  for (auto const who : all_writers) {
    INFO(static_cast<int>(who));
    world at{2};
    at.write(40);
    leave_leases(at, who);
    at.write(20);
    at.control("split/0");
    at.write(20);
    CHECK(at.taken().leases == (who == writer::dotnet_2 || who == writer::java ? 3U : 2U));
    CHECK(world::are(at.handled_by_a_host(), 40, 80));
  }
}

// What of a document matters to that fleet.
struct told_lease {
  lease_version version;
  std::string lease_token, continuation;
  friend bool operator==(told_lease const&, told_lease const&) = default;
};
std::map<std::string, told_lease> told_leases(world& at) {
  std::map<std::string, told_lease> all;
  for (auto const& [token, one] : at.lease_documents()) {
    CHECK(one.owner.empty());
    CHECK(!one.property("keyspan"));
    std::string bytes(one.continuation.size(), '\0');
    auto const size = keyspan::decode_base64(one.continuation, std::span{bytes});
    bool const is_state = size && bytes.starts_with('{');
    all.insert({token,
                {one.version, one.lease_token,
                 is_state ? json::parse(bytes.substr(0, *size)).dump() : one.continuation}});
  }
  return all;
}

TEST_CASE("what was taken over is given back as it was") {
  for (auto const who : all_writers) {
    INFO(static_cast<int>(who));
    world at{3};
    at.write(40);
    leave_leases(at, who);
    auto const before = told_leases(at);
    at.taken();
    auto const outcome = at.given();
    CHECK(outcome.leases == 3);
    CHECK(told_leases(at) == before);
    auto const all = at.documents();
    CHECK(all.size() == 4);
    CHECK(all.contains(std::string{prefix} + ".info"));
    CHECK(at.given().was_done);
    at.write(10);
    at.taken();
    CHECK(world::are(at.handled_by_a_host(), 40, 50));
  }
}

// ---- that fleet is to be stopped ---------------------------------------------------------------

TEST_CASE("leases that were just written are watched for as long as they hold") {
  world at;
  leave_leases(at, writer::dotnet_3_range);
  auto touched = at.documents()[world::id_of("2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-FF")];
  CHECK(touched.is_null());
  auto const lease = at.lease_documents().begin()->second;
  auto const write_again = [&] { at.put(lease.to_json()); };
  struct row {
    instant::duration age, wait;
  };
  for (auto const& [age, wait] : {row{0s, 62s}, row{61s, 1s}, row{62s, 0s}, row{1h, 0s}}) {
    write_again();
    at.clock.at += age;
    at.clock.waits.clear();
    at.taken();
    CHECK(at.clock.waits ==
          (wait == 0s ? std::vector<instant::duration>{} : std::vector<instant::duration>{wait}));
    at.given();
    at.clock.at += 1h;
  }
}

TEST_CASE("while a fleet of the SDKs renews its leases they are not taken over") {
  struct story {
    std::string_view name;
    std::function<void(world&)> does;
  };
  auto const renew = [](world& at, std::string owner) {
    auto lease = at.lease_documents().begin()->second;
    lease.owner = std::move(owner);
    at.put(lease.to_json());
  };
  std::vector<story> const stories{
      {"it renews", [&](world& at) { renew(at, "host-a"); }},
      {"it lets go", [&](world& at) { renew(at, ""); }},
      {"it makes a lease", [](world& at) { at.put(world::of_dotnet_2("77", "x")); }},
  };
  for (auto const& [name, does] : stories) {
    INFO(name);
    world at;
    at.write(10);
    leave_leases(at, writer::dotnet_3);
    renew(at, "host-a");
    auto const before = at.lease_documents();
    bool has_waited = false;
    at.clock.meanwhile = [&] {
      if (!std::exchange(has_waited, true)) does(at);
    };
    auto const why = at.refusal();
    CHECK(has_waited);
    CHECK(
        (why.starts_with("foreign_lease: lease \"") || why.starts_with("unknown_range: lease \"")));
    if (name == "it renews")
      CHECK(why.find("\": host-a still moves it: stop that fleet, then repeat this") != why.npos);
    if (name == "it lets go")
      CHECK(why.find("\": it still moves: stop that fleet, then repeat this") != why.npos);
    for (auto const& [token, one] : at.lease_documents()) CHECK(!one.property("keyspan"));
    // And when it has stopped they are.
    at.clock.meanwhile = {};
    if (name == "it makes a lease") at.erase(world::id_of("77"));
    at.clock.at += 1h;
    at.write(10);
    at.taken();
    CHECK(world::are(at.handled_by_a_host(), 10, 20));
  }
}

TEST_CASE("a lease that comes up while the others are watched is a fleet's that moves") {
  world at;
  at.write(10);
  leave_leases(at, writer::dotnet_3_range);
  auto const wide = at.lease_documents().begin()->second;
  at.put(wide.to_json());
  at.clock.meanwhile = [&] {
    // It splits a lease: those that come of it share out what it had.
    at.erase(wide.id);
    for (auto const& [lower, upper] : {std::pair{wide.range->lower, std::string{"08"}},
                                       std::pair{std::string{"08"}, wide.range->upper}}) {
      auto part = wide;
      part.range = {lower, upper};
      part.lease_token = lower + "-" + upper;
      part.id = world::id_of(part.lease_token);
      at.put(part.to_json());
    }
    at.clock.meanwhile = {};
  };
  auto const why = at.refusal();
  CHECK(why.starts_with("foreign_lease: lease \""));
  CHECK(why.find("still moves: stop that fleet") != why.npos);
  for (auto const& [token, one] : at.lease_documents()) CHECK(!one.property("keyspan"));
  at.clock.at += 1h;
  CHECK(at.taken().leases == 3);
}

TEST_CASE("a fleet that moves while leases are written is noticed, and what it did counts") {
  // Before every write in turn the fleet reads on, behind the back of who takes over.
  for (auto const who : all_writers) {
    INFO(static_cast<int>(who));
    for (int moved_at = 1; moved_at < 9; ++moved_at) {
      INFO(moved_at);
      world at;
      at.write(20);
      leave_leases(at, who);
      at.write(20);
      int writes = 0;
      bool has_begun = false;
      bool has_moved = false;
      at.to.before = [&](keyspan::request const& what) -> std::optional<result<keyspan::response>> {
        if (what.method == "GET" || has_begun || ++writes != moved_at) return std::nullopt;
        has_begun = true;
        auto partitions = at.partitions();
        auto const& last = partitions.back();
        for (auto const& [id, one] : at.documents()) {
          auto const lease = lease_document::from_json(one);
          bool const is_of_last = lease && (lease->lease_token == last.id ||
                                            (lease->range && lease->range->upper == "FF"));
          if (!is_of_last || lease->property("keyspan")) continue;
          auto moved = *lease;
          auto const behind = at.read_all(last.range);
          moved.continuation = behind;
          if (who == writer::java_range)
            moved.continuation = at.of_java(last, behind)["ContinuationToken"];
          moved.owner = "host-a";
          at.put(moved.to_json());
          has_moved = true;
        }
        return std::nullopt;
      };
      auto const outcome = at.take();
      at.to.before = {};
      if (!has_moved) {
        REQUIRE(outcome);
        continue;
      }
      REQUIRE(!outcome);
      CHECK(outcome.error().code == errc::foreign_lease);
      at.clock.at += 1h;
      at.taken();
      // All that it has read is not read again, and nothing else is left out.
      auto const handled = at.handled_by_a_host();
      auto const last = at.partitions().back();
      int of_first = 0;
      for (int i = 20; i < 40; ++i) {
        review const one{"r-" + std::to_string(i), "article " + std::to_string(i), 5};
        keyspan::key_value const key{one.article};
        auto const token = keyspan::token_of(at.reviews->scheme(), key);
        bool const is_of_last = !(token.value() < last.range.lower());
        if (!is_of_last) ++of_first;
        CHECK(handled.contains(one.id) == !is_of_last);
      }
      CHECK(of_first > 0);
      CHECK(handled.size() == static_cast<std::size_t>(of_first));
    }
  }
}

// ---- breaking off, and others ------------------------------------------------------------------

// Something happens at the n-th write to the leases.
struct nth_write {
  enum class what { refused, done_and_not_answered };

  void operator()(world& at, int n, what happens) {
    at.to.before = [this, &at, n, happens](
                       keyspan::request const& asked) -> std::optional<result<keyspan::response>> {
      if (asked.method == "GET" || asked.target.find("/colls/leases/") == asked.target.npos)
        return std::nullopt;
      if (++writes < n) return std::nullopt;
      if (writes == n && happens == what::done_and_not_answered)
        static_cast<void>(at.to.service.answer(asked));
      return test::door::status(403);
    };
  }
  int writes = 0;
};

TEST_CASE("a takeover that breaks off at any write is gone on with") {
  for (auto const who : all_writers)
    for (auto const happens : {nth_write::what::refused, nth_write::what::done_and_not_answered})
      for (int n = 1;; ++n) {
        INFO(static_cast<int>(who) << " " << static_cast<int>(happens) << " " << n);
        world at;
        at.write(20);
        leave_leases(at, who);
        at.control("split/0");
        at.write(10);
        nth_write failing;
        failing(at, n, happens);
        auto const first = at.take();
        at.to.before = {};
        if (failing.writes < n) {
          REQUIRE(first);
          CHECK(n > 4);
          break;
        }
        CHECK(!first);
        // And a partition is split before somebody goes on.
        if (n % 2 == 0) at.control("split/1");
        at.taken();
        CHECK(at.taken().was_done);
        for (auto const& [token, one] : at.lease_documents()) {
          CHECK(one.version == lease_version::range);
          CHECK(one.property("keyspan"));
        }
        CHECK(world::are(at.handled_by_a_host(), 20, 30));
      }
}

TEST_CASE("a fleet that goes on after a takeover broke off has its positions kept") {
  for (auto const who : all_writers)
    for (int n = 2; n < 8; ++n) {
      INFO(static_cast<int>(who) << " " << n);
      world at{3};
      at.write(20);
      leave_leases(at, who);
      at.write(10);
      nth_write failing;
      failing(at, n, nth_write::what::refused);
      auto const first = at.take();
      at.to.before = {};
      if (first) break;
      // It knows nothing of what stands in the properties.
      auto const all = at.partitions();
      std::size_t of_ours = 0;
      for (auto const& [token, lease] : at.lease_documents()) {
        if (lease.property("keyspan_from")) ++of_ours;
        bool const is_by_range = who == writer::dotnet_3_range || who == writer::java_range;
        if ((lease.version == lease_version::range) != is_by_range) continue;
        auto moved = lease;
        moved.owner = "host-a";
        for (auto const& one : all) {
          if (lease.lease_token != one.id &&
              (!lease.range || lease.range->upper != world::upper_of(one)))
            continue;
          moved.continuation = at.read_all(one.range);
          if (who == writer::java_range)
            moved.continuation = at.of_java(one, moved.continuation)["ContinuationToken"];
        }
        at.put(moved.to_json());
      }
      std::size_t const of_theirs = at.lease_documents().size() - of_ours;
      at.clock.at += 1h;
      at.write(10);
      at.taken();
      auto const handled = at.handled_by_a_host();
      // Leases by partition that were taken from it are read from where they stood.
      bool const has_all = of_theirs == 3;
      if (has_all) CHECK(world::are(handled, 30, 40));
      for (int i = 30; i < 40; ++i) CHECK(handled.contains("r-" + std::to_string(i)));
      for (auto const& [id, count] : handled) CHECK((count == 1 && std::stoi(id.substr(2)) >= 20));
    }
}

TEST_CASE("of hosts that take over at once one does it, and all find it done") {
  for (auto const who : all_writers)
    for (int n = 1;; ++n) {
      INFO(static_cast<int>(who) << " " << n);
      world at{3};
      at.write(20);
      leave_leases(at, who);
      at.write(10);
      // The other one does all of it before the n-th request of the first one.
      int requests = 0;
      bool is_within = false;
      std::optional<takeover_outcome> other;
      at.to.before = [&](keyspan::request const&) -> std::optional<result<keyspan::response>> {
        if (is_within || ++requests != n) return std::nullopt;
        is_within = true;
        other = at.taken();
        is_within = false;
        return std::nullopt;
      };
      auto const first = at.taken();
      at.to.before = {};
      if (!other) break;
      CHECK((other->leases == 3 || other->was_done));
      CHECK((first.was_done || first.written + first.removed > 0 || other->was_done));
      CHECK(at.taken().was_done);
      CHECK(world::are(at.handled_by_a_host(), 20, 30));
    }
}

TEST_CASE("what is taken over already costs one question, and a list") {
  world at;
  leave_leases(at, writer::dotnet_3_range);
  at.taken();
  auto const before = at.documents();
  auto const asked = at.to.asked.size();
  auto const outcome = at.taken();
  CHECK(outcome == takeover_outcome{.was_done = true, .leases = 2});
  CHECK(at.to.asked.size() == asked + 2);
  CHECK(at.documents() == before);
}

// ---- that fleet comes back ---------------------------------------------------------------------

// What a store says of the leases; nothing where they are all ours.
std::string told_by_the_store(world& at) {
  auto const over = at.store();
  auto const listed = sync_wait(over.list("", {}));
  return listed ? std::string{} : std::string{listed.error().to_text().view()};
}
// As that fleet writes a lease: with its properties, and without members that it does not know.
void move_a_lease(world& at, std::string_view upper, std::string owner,
                  std::optional<std::string> continuation = {}) {
  for (auto const& [token, lease] : at.lease_documents()) {
    if (!lease.range || lease.range->upper != upper) continue;
    auto moved = lease;
    moved.owner = std::move(owner);
    if (continuation) moved.continuation = *std::move(continuation);
    moved.others = json::object();
    at.put(moved.to_json());
    return;
  }
  FAIL("there is no such lease");
}

TEST_CASE("a lease that the other fleet moves once more is taken over once more") {
  for (bool const has_run : {false, true}) {
    INFO(has_run);
    world at;
    at.write(20);
    leave_leases(at, writer::dotnet_3_range);
    at.taken();
    if (has_run) CHECK(at.handled_by_a_host().empty());
    auto const epoch_of = [&] {
      auto over = at.store();
      keyspan::lease_control control{*at.reviews, over};
      return sync_wait(control.list()).value().back().facts.epoch;
    };
    auto const epoch = epoch_of();
    CHECK((epoch > 0) == has_run);
    at.write(10);
    auto const last = at.partitions().back();
    move_a_lease(at, "FF", "host-a", at.read_all(last.range));
    at.write(10);
    auto const advice = told_by_the_store(at);
    CHECK(advice.find("\"host-a\": stop that fleet, then take them over") != advice.npos);
    auto const back_too_early = at.give();
    REQUIRE(!back_too_early);
    CHECK(back_too_early.error().text.view().find(
              "stop that fleet, then take its leases over again") != std::string_view::npos);
    // As long as it moves they are not.
    at.clock.meanwhile = [&] { move_a_lease(at, "FF", "host-a"); };
    auto const why = at.refusal();
    CHECK(why.starts_with("foreign_lease: lease \""));
    CHECK(why.find("\": host-a still moves it: stop that fleet") != why.npos);
    at.clock.meanwhile = {};
    CHECK(!told_by_the_store(at).empty());
    // It was stopped.
    at.clock.waits.clear();
    auto const outcome = at.taken();
    CHECK(outcome == takeover_outcome{.leases = 2, .written = 1});
    CHECK(at.clock.waits == std::vector<instant::duration>{62s});
    CHECK(told_by_the_store(at).empty());
    CHECK(at.taken().was_done);
    CHECK(epoch_of() >= epoch);
    auto const handled = at.handled_by_a_host();
    for (int i = 20; i < 40; ++i) {
      std::string const article = "article " + std::to_string(i);
      keyspan::key_value const key{article};
      auto const token = keyspan::token_of(at.reviews->scheme(), key);
      bool const was_read = i < 30 && !(token.value() < last.range.lower());
      CHECK(handled.contains("r-" + std::to_string(i)) == !was_read);
    }
    CHECK(at.given().leases == 2);
  }
}

TEST_CASE("an owner that may be at work is asked to go where the other fleet has come to") {
  world at;
  at.write(10);
  leave_leases(at, writer::dotnet_3_range);
  at.taken();
  std::map<std::string, int> seen;
  auto const handled = at.handled_by_a_host([&] {
    at.write(10);
    auto const last = at.partitions().back();
    move_a_lease(at, "FF", "", at.read_all(last.range));
    at.clock.at += 1h;
    CHECK(at.taken().written == 1);
    auto over = at.store();
    keyspan::lease_control control{*at.reviews, over};
    auto const lease = sync_wait(control.list()).value().back();
    CHECK(lease.facts.owner);
    REQUIRE(lease.reset);
    CHECK(lease.reset->parts.front().from.text() == at.read_all(last.range));
    for (int i = 0; i < 60; ++i) at.hosts.advance(1s);
    auto const later = sync_wait(control.list()).value().back();
    CHECK(later.facts.epoch > lease.facts.epoch);
    CHECK(!later.reset);
    CHECK(told_by_the_store(at).empty());
  });
  for (int i = 10; i < 20; ++i) {
    std::string const article = "article " + std::to_string(i);
    keyspan::key_value const key{article};
    auto const token = keyspan::token_of(at.reviews->scheme(), key);
    if (token.value() < at.partitions().back().range.lower())
      CHECK(handled.contains("r-" + std::to_string(i)));
  }
}

TEST_CASE("leases that the other fleet makes beside those taken over go, and theirs stay") {
  world at;
  at.write(20);
  leave_leases(at, writer::dotnet_2);
  at.taken();
  at.write(10);
  at.put(world::of_dotnet_2("0", ""));
  CHECK(told_by_the_store(at).find("is one of another processor, and was not taken over") !=
        std::string::npos);
  auto const early = at.give();
  REQUIRE(!early);
  CHECK(early.error().text.view().find("stop that fleet, then take its leases over") !=
        std::string_view::npos);
  CHECK(at.taken() == takeover_outcome{.leases = 2, .removed = 1});
  CHECK(told_by_the_store(at).empty());
  CHECK(at.taken().was_done);
  CHECK(world::are(at.handled_by_a_host(), 20, 30));
}

TEST_CASE("leases of a split that is under way are in nobody's way") {
  world at;
  at.write(10);
  leave_leases(at, writer::dotnet_3_range);
  at.taken();
  auto const over = at.store();
  auto const stored = sync_wait(over.list("lease.", {})).value();
  using record_type = keyspan::lease_record<keyspan::any_token>;
  auto const first = *std::find_if(stored.begin(), stored.end(),
                                   [](auto const& one) { return !one.id.ends_with("-FF"); });
  auto parent = record_type::from_text(at.reviews->scheme(), first.body).value();
  auto const middle =
      keyspan::range_from_hex(at.reviews->scheme(), "", "10000000000000000000000000000000").value();
  std::vector<keyspan::token_range<keyspan::any_token>> const halves{
      middle, {middle.upper().at(), parent.range.upper()}};
  parent.facts.phase = keyspan::lease_phase::ended;
  parent.children = halves;
  REQUIRE(sync_wait(over.replace(first.id, parent.to_text(), first.version, {})));
  for (std::size_t made = 0; made <= halves.size(); ++made) {
    INFO(made);
    CHECK(at.taken().was_done);
    move_a_lease(at, "FF", "host-a");
    at.clock.at += 1h;
    CHECK(at.taken() == takeover_outcome{.leases = 1 + made, .written = 1});
    // The one that has ended as well: it stays what it was.
    auto const upper = std::string{parent.range.upper().to_hex().view()};
    for (auto const& [token, lease] : at.lease_documents())
      if (token == "-" + upper) {
        auto moved = lease;
        moved.owner = "host-a";
        at.put(moved.to_json());
      }
    at.clock.at += 1h;
    CHECK(at.taken() == takeover_outcome{.leases = 1 + made, .written = 1});
    CHECK(sync_wait(over.read(first.id, {})).value().body == parent.to_text());
    if (made == halves.size()) break;
    record_type child{halves[made]};
    child.position = parent.position;
    child.position.parts.front().range = halves[made];
    child.parents = {parent.range};
    keyspan::lease_ids const ids{""};
    auto const id = ids.lease("cosmos_v2", halves[made]);
    REQUIRE(sync_wait(over.create(id, child.to_text(), {})));
  }
}

TEST_CASE("a fleet that comes back is taken over again also where that breaks off") {
  for (auto const happens : {nth_write::what::refused, nth_write::what::done_and_not_answered})
    for (int n = 1;; ++n) {
      INFO(static_cast<int>(happens) << " " << n);
      world at;
      at.write(10);
      leave_leases(at, writer::dotnet_2);
      at.taken();
      for (auto const& one : at.partitions()) move_a_lease(at, world::upper_of(one), "host-a");
      at.put(world::of_dotnet_2("0", ""));
      at.clock.at += 1h;
      nth_write failing;
      failing(at, n, happens);
      auto const first = at.take();
      at.to.before = {};
      if (failing.writes < n) {
        REQUIRE(first);
        CHECK(n > 4);
        break;
      }
      CHECK(!first);
      at.taken();
      CHECK(at.taken().was_done);
      CHECK(at.lease_documents().size() == 2);
      at.write(10);
      CHECK(world::are(at.handled_by_a_host(), 10, 20));
    }
}

TEST_CASE("leases that processors made themselves are no other fleet's") {
  world at;
  at.write(10);
  CHECK(at.refusal().starts_with("not_found: there is no lease of"));
  auto const over = at.store();
  {
    handler what;
    keyspan::processor_options<keyspan::any_token> options;
    options.start = from_beginning;
    keyspan::processor work{*at.reviews, over, at.hosts, options};
  }
  leave_leases(at, writer::dotnet_3_range);
  CHECK(at.taken().written == 2);
  CHECK(at.handled_by_a_host().empty());
  at.erase(std::string{prefix} + ".takeover");
  CHECK(at.taken().was_done);
  auto other = world::how();
  other.lease_prefix = "orders.";
  CHECK(at.refusal(other) ==
        "invalid_options: the leases are those of another lease_prefix: there is layout");
}

// ---- what is refused ---------------------------------------------------------------------------

TEST_CASE("holes and overlaps are found before anything is written") {
  for (auto const who : all_writers) {
    INFO(static_cast<int>(who));
    world at{3};
    leave_leases(at, who);
    auto const all = at.lease_documents();
    auto const refused = [&](std::string_view beginning, std::string_view end) {
      auto const before = at.documents();
      auto const why = at.refusal();
      INFO(why);
      CHECK(why.starts_with(beginning));
      CHECK(why.ends_with(end));
      CHECK(at.documents() == before);
    };
    at.erase(std::next(all.begin())->second.id);
    refused("gap: the leases: gap between 15555555555555555555555555555555 and ",
            " 2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    at.put(std::next(all.begin())->second.to_json());
    auto wide = world::base_lease("0-");
    wide["id"] = world::id_of("-20");
    wide["LeaseToken"] = "-20";
    wide["version"] = 1;
    wide["ContinuationToken"] = "\"1\"";
    at.put(wide);
    refused("overlap: lease \"", "\" has a part of it, too");
  }
}

TEST_CASE("what a lease says and cannot be gone on with is refused, and the lease is named") {
  struct row {
    std::string_view member;
    json value;
    std::string_view why;
  };
  auto state = [](std::string_view rid, std::string_view max) {
    return world::base64(R"({"V":1,"Rid":")" + std::string{rid} +
                         R"(","Mode":"INCREMENTAL","StartFrom":{"Type":"BEGINNING"},)" +
                         R"("Continuation":{"V":1,"Rid":")" + std::string{rid} +
                         R"(","Continuation":[{"token":"\"1\"","range":{"min":"","max":")" +
                         std::string{max} + R"("}}],"Range":{"min":"","max":")" + std::string{max} +
                         R"("}}})");
  };
  world at{1};
  at.write(3);
  leave_leases(at, writer::dotnet_3_range);
  auto const lease = at.lease_documents().begin()->second.to_json();
  auto const rid = at.reviews->container();
  for (auto const& [member, value, why] :
       {row{"version", 7,
            "unsupported: lease \"...cuments.azure.com_njd5sQ==_njd5sTxu82I=..-FF\": member "
            "\"version\": 0 and 1 are read, this is 7"},
        row{"Mode", "Sometimes", "\": member \"Mode\": it is Sometimes"},
        row{"ContinuationToken", nullptr, "\": it was not read yet: say where from, by start"},
        row{"ContinuationToken", state("other", "FF"), "\": it is of the container other, not "},
        row{"ContinuationToken", state(rid, "20"),
            "\": member \"ContinuationToken\": gap between "},
        row{"ContinuationToken", world::base64("{\"V\":7}"), "\": member \"ContinuationToken\": "},
        row{"FeedRange", 7, "\": member \"FeedRange\": "},
        row{"Owner", 7, "\": member \"Owner\": a text belongs there"}}) {
    INFO(member << " " << value.dump());
    auto changed = lease;
    changed[std::string{member}] = value;
    at.put(changed);
    at.clock.at += 1h;
    auto const before = at.documents();
    auto const told = at.refusal();
    INFO(told);
    CHECK(told.find(why) != told.npos);
    CHECK(at.documents() == before);
  }
  at.erase(lease["id"]);
  at.put(world::of_dotnet_2("44", "\"3\""));
  CHECK(at.refusal().ends_with("_njd5sTxu82I=..44\": no partition has or had the id 44"));
}

TEST_CASE("what is no such fleet's is told") {
  world at;
  CHECK(at.refusal() ==
        "not_found: there is no lease of \"...so.documents.azure.com_njd5sQ==_njd5sTxu82I=\" "
        "in the container");
  auto other = json::object();
  other["id"] = "other..0";
  at.put(other);
  CHECK(at.refusal().ends_with("_njd5sTxu82I=\", but of \"other\""));
  CHECK(at.refusal({}).starts_with("invalid_options: document_prefix is what stands before"));
  auto bad = world::how();
  bad.lease_prefix = "/";
  CHECK(at.refusal(bad).starts_with("invalid_options: "));
  bad = world::how();
  bad.document_prefix = "a/b";
  CHECK(at.refusal(bad).starts_with("invalid_options: document_prefix"));
  bad.document_prefix = "shop.documents.azure.com_AbCdAA==_AbCdAOkLmNo=";
  CHECK(at.refusal(bad) ==
        "wrong_container: document_prefix is of leases of the container AbCdAOkLmNo=, not of "
        "njd5sTxu82I=");
  bad.document_prefix = "/";
  CHECK(at.refusal(bad).starts_with("invalid_options: document_prefix"));
  auto const outcome = sync_wait(keyspan::cosmos::take_over_leases(
      at.in, *container_address::from("shop", "reviews"), *at.reviews, at.clock, world::how()));
  REQUIRE(!outcome);
  CHECK(outcome.error().to_text().view() ==
        "wrong_container: leases are taken over in a container whose key is /id; copy them into "
        "such a one first");
  keyspan::stop_source stop;
  stop.request_stop();
  auto stopped = world::how();
  stopped.stop = stop.token();
  CHECK(at.refusal(stopped).starts_with("stopped"));
}

// ---- positions ---------------------------------------------------------------------------------

TEST_CASE("a lease that was not read yet is read from where the caller says") {
  for (auto const who : {writer::dotnet_2, writer::dotnet_3_range}) {
    for (bool const is_from_now : {false, true}) {
      INFO(is_from_now);
      world at;
      at.write(10);
      for (auto const& one : at.partitions())
        at.put(who == writer::dotnet_2 ? world::of_dotnet_2(one.id, "") : world::of_range(one, ""));
      at.clock.at += 1h;
      auto options = world::how();
      options.start = keyspan::continuation{from_beginning};
      if (is_from_now) options.start = keyspan::continuation{from_now};
      at.control("split/0");
      at.taken(options);
      at.write(10);  // not lost, though no processor has begun to read
      CHECK(world::are(at.handled_by_a_host(), is_from_now ? 10 : 0, 20));
    }
  }
}

TEST_CASE("continuations are kept byte by byte") {
  world at{1};
  std::string const odd = "\"17\" \u00e4 not a state";
  at.put(world::of_range(at.partitions().front(), odd));
  at.clock.at += 1h;
  at.taken();
  auto over = at.store();
  keyspan::lease_control control{*at.reviews, over};
  auto const leases = sync_wait(control.list()).value();
  REQUIRE(leases.size() == 1);
  REQUIRE(leases[0].position.parts.size() == 1);
  CHECK(leases[0].position.parts[0].from.text() == odd);
  CHECK(leases[0].position.container == at.reviews->container());
  CHECK(!leases[0].facts.owner);
}

TEST_CASE("feeds of all versions stay such feeds, and are not mixed with others") {
  world at{2};
  auto const all = at.partitions();
  for (auto const& one : all) {
    auto lease = world::of_range(one, "\"1\"");
    lease["Mode"] = "Full-Fidelity Feed";
    at.put(std::move(lease));
  }
  at.clock.at += 1h;
  at.taken();
  auto over = at.store();
  keyspan::lease_control control{*at.reviews, over};
  auto const all_leases = sync_wait(control.list()).value();
  for (auto const& one : all_leases)
    CHECK(one.position.mode == feed_mode::all_versions_and_deletes);
  at.given();
  for (auto const& [token, one] : at.lease_documents()) CHECK(one.mode == "Full-Fidelity Feed");
  auto lease = world::of_range(all[0], "");
  lease["Mode"] = "Full-Fidelity Feed";
  at.put(std::move(lease));
  at.clock.at += 1h;
  auto options = world::how();
  options.start = keyspan::continuation{from_beginning};
  CHECK(at.refusal(options).ends_with("\": it was not read yet, and all versions begin now"));
  options.start = keyspan::continuation{from_now};
  CHECK(at.taken(options).leases == 2);
  at.given();
  at.put(world::of_range(all[0], "\"1\""));
  at.clock.at += 1h;
  CHECK(at.refusal().starts_with("unsupported: lease \""));
}

TEST_CASE("members that nobody here knows stay in leases that keep their document") {
  world at{1};
  auto lease = world::of_range(at.partitions().front(), "\"1\"");
  lease["partitionKey"] = "a";
  lease["properties"]["note"] = "b";
  at.put(lease);
  at.clock.at += 1h;
  at.taken();
  auto const kept = at.lease_documents().begin()->second;
  CHECK(kept.others["partitionKey"] == "a");
  CHECK(kept.property("note") == "b");
  CHECK(kept.others["kind"] == "lease");
  CHECK(kept.others["epoch"] == 0);
  // Until a processor writes it.
  at.handled_by_a_host();
  auto const written = at.lease_documents().begin()->second;
  CHECK(!written.others.contains("partitionKey"));
  CHECK(!written.property("note"));
  CHECK(written.others["epoch"] == 1);
}

TEST_CASE("a lease that was taken over holds for as long as the caller has said") {
  world at{1};
  leave_leases(at, writer::dotnet_3_range);
  auto options = world::how();
  options.expiry = 90s;
  at.taken(options);
  auto over = at.store();
  keyspan::lease_control control{*at.reviews, over};
  CHECK(sync_wait(control.list()).value().front().facts.held_for == 90s);
}

// ---- the way back ------------------------------------------------------------------------------

// A fleet of ours that was at work, and was stopped.
void work_and_stop(world& at, std::function<void()> meanwhile = {}, instant::duration holds = 60s) {
  static_cast<void>(at.handled_by_a_host(std::move(meanwhile), holds));
}

TEST_CASE("leases of processors are given back in each form, with the positions they have") {
  for (auto const form :
       {lease_form::range, lease_form::java_range, lease_form::partition, lease_form::partition_id})
    for (auto const who : {writer::dotnet_2, writer::java_range}) {
      INFO(name_of(form));
      world at{3};
      at.write(20);
      leave_leases(at, who);
      at.write(10);
      at.taken();
      work_and_stop(at);
      at.given(world::back_as(form));
      auto const all = at.documents();
      CHECK(all.size() == 4);
      for (auto const& [id, one] : all) {
        INFO(one.dump());
        CHECK(id.find(".keyspan.") == id.npos);
        if (id.ends_with(".info")) continue;
        auto const lease = lease_document::from_json(one).value();
        CHECK(one["Owner"].is_null());
        CHECK(!lease.property("keyspan"));
        CHECK(!lease.property("keyspan_check"));
        CHECK(!lease.others.contains("kind"));
        CHECK(lease.timestamp.starts_with("2026-11-20T"));
        CHECK(one.contains("version") ==
              (form == lease_form::range || form == lease_form::java_range));
        CHECK(one.contains("PartitionId") == (form == lease_form::partition_id));
        CHECK(one.contains("gremlincompatid") == (form == lease_form::partition_id));
        CHECK(one.contains("LeaseToken") == (form != lease_form::partition_id));
        CHECK(one.contains("FeedRange") == (form != lease_form::partition_id));
      }
      // That fleet reads on.
      std::size_t partitions_found = 0;
      for (auto const& one : at.partitions()) {
        auto const behind = at.read_all(one.range);
        for (auto const& [token, lease] : at.lease_documents()) {
          bool const is_of_it = lease.lease_token == one.id ||
                                (lease.range && lease.range->upper == world::upper_of(one));
          if (!is_of_it) continue;
          ++partitions_found;
          if (form != lease_form::java_range) CHECK(lease.continuation == behind);
        }
      }
      CHECK(partitions_found == 3);
      at.clock.at += 1h;
      at.write(10);
      at.taken();
      // A sink that goes by epochs has seen those of before.
      auto over = at.store();
      keyspan::lease_control control{*at.reviews, over};
      auto const all_leases = sync_wait(control.list()).value();
      for (auto const& one : all_leases) CHECK(one.facts.epoch > 0);
      CHECK(world::are(at.handled_by_a_host(), 30, 40));
    }
}

TEST_CASE("while a processor lives its leases are not given back") {
  world at;
  at.write(10);
  leave_leases(at, writer::dotnet_3_range);
  at.taken();
  std::string why;
  std::size_t documents = 0;
  work_and_stop(at, [&] {
    // Its clock goes on while somebody waits for it to stand still.
    at.clock.meanwhile = [&] {
      for (int i = 0; i < 40; ++i) at.hosts.advance(1s);
    };
    auto const before = at.documents().size();
    auto const outcome = at.give();
    at.clock.meanwhile = {};
    REQUIRE(!outcome);
    why = outcome.error().to_text().view();
    documents = at.documents().size() - before;
  });
  INFO(why);
  CHECK(why.starts_with("foreign_lease: lease \"..."));
  CHECK(why.find("\": ada still moves it: stop every processor of these leases") != why.npos);
  CHECK(documents == 0);
  at.given();
}

TEST_CASE("who is refused to give back leaves it to new hosts to begin") {
  for (bool const has_marker : {false, true}) {
    INFO(has_marker);
    world at;
    at.write(10);
    leave_leases(at, writer::dotnet_3_range);
    at.taken();
    if (!has_marker) at.erase(std::string{prefix} + ".takeover");
    work_and_stop(at, [&] {
      at.clock.meanwhile = [&] {
        for (int i = 0; i < 40; ++i) at.hosts.advance(1s);
      };
      CHECK(!at.give());
      at.clock.meanwhile = {};
      auto const marker = at.documents()[std::string{prefix} + ".takeover"];
      CHECK(marker["keyspan.takeover"]["stage"] == "done");
      CHECK(at.taken().was_done);
    });
    at.given();
  }
}

TEST_CASE("a lease that was to be read from elsewhere is given back so") {
  for (auto const form : {lease_form::range, lease_form::partition}) {
    world at;
    at.write(10);
    leave_leases(at, writer::dotnet_3_range);
    at.taken();
    auto over = at.store();
    keyspan::lease_control control{*at.reviews, over};
    auto const all = keyspan::whole_space(at.reviews->scheme());
    REQUIRE(sync_wait(control.reset(all, from_beginning)));
    at.given(world::back_as(form));
    for (auto const& [token, one] : at.lease_documents()) CHECK(one.continuation.empty());
    CHECK(at.lease_documents().size() == 2);
  }
}

TEST_CASE("a processor that has died is waited for, and its leases are given back") {
  world at;
  at.write(10);
  leave_leases(at, writer::dotnet_3_range);
  at.taken();
  std::map<std::string, json> as_it_died;
  work_and_stop(at, [&] { as_it_died = at.documents(); }, 200s);
  // Whoever died leaves it all as it was in the middle of its work.
  for (auto const& [id, one] : as_it_died) at.put(one);
  bool has_member = false;
  for (auto const& [id, one] : at.documents())
    has_member = has_member || id.find(".keyspan.member.") != id.npos;
  CHECK(has_member);
  at.clock.waits.clear();
  at.given();
  CHECK(at.clock.waits == std::vector<instant::duration>{202s});
  for (auto const& [id, one] : at.documents()) CHECK(id.find(".keyspan.") == id.npos);
}

TEST_CASE("who has died is waited for as long as its leases say, and as long as it says itself") {
  for (bool const says_it_itself : {false, true}) {
    INFO(says_it_itself);
    world at;
    at.write(10);
    leave_leases(at, writer::dotnet_3_range);
    at.taken();
    std::map<std::string, json> as_it_died;
    work_and_stop(at, [&] { as_it_died = at.documents(); }, 200s);
    for (auto const& [id, one] : as_it_died) {
      bool const is_member = id.find(".keyspan.member.") != id.npos;
      if (is_member == says_it_itself || id.ends_with(".layout")) at.put(one);
    }
    for (auto [id, one] : at.documents()) {
      if (!says_it_itself || id.find("..") == id.npos) continue;
      auto text = one["properties"]["keyspan"].get<std::string>();
      std::string const held = "\"held_for_ns\":200000000000";
      REQUIRE(text.find(held) != text.npos);
      one["properties"]["keyspan"] =
          text.replace(text.find(held), held.size(), "\"held_for_ns\":0");
      at.put(one);
    }
    at.clock.waits.clear();
    at.given();
    CHECK(at.clock.waits == std::vector<instant::duration>{202s});
  }
}

TEST_CASE("a position of several parts becomes several leases, and fits no partition") {
  world at{1};
  at.write(10);
  // Java keeps both halves of a partition that was split and merged again in one lease.
  auto lease = world::of_range(at.partitions().front(), {});
  at.control("split/0");
  std::string parts;
  for (auto const& one : at.partitions()) {
    at.write(5);
    auto part = json::object();
    part["token"] = at.read_all(one.range);
    part["range"] = world::bounds(one);
    parts += (parts.empty() ? "" : ",") + part.dump();
  }
  std::string const rid = at.reviews->container();
  lease["ContinuationToken"] = world::base64(
      R"({"V":1,"Rid":")" + rid + R"(","Mode":"INCREMENTAL","StartFrom":{"Type":"BEGINNING"},)" +
      R"("Continuation":{"V":1,"Rid":")" + rid + R"(","Continuation":[)" + parts +
      R"(],"Range":{"min":"","max":"FF"}}})");
  at.put(lease);
  at.control("merge/1/2");
  at.clock.at += 1h;
  CHECK(at.taken().leases == 1);
  auto const document = at.lease_documents().begin()->second;
  CHECK(document.continuation.empty());

  auto const refused = at.give(world::back_as(lease_form::partition));
  REQUIRE(!refused);
  CHECK(refused.error().to_text().view() ==
        "unsupported: partition 3 is read in parts: give the leases back by range");
  CHECK(at.given(world::back_as(lease_form::range)).leases == 2);
  auto const given = at.lease_documents();
  REQUIRE(given.size() == 2);
  CHECK(given.begin()->second.continuation != std::next(given.begin())->second.continuation);
  CHECK(parts.find(json(given.begin()->second.continuation).dump()) != parts.npos);
  at.clock.at += 1h;
  CHECK(at.taken().leases == 2);
  // What of the last five lies in the first half was not read.
  auto const handled = at.handled_by_a_host();
  CHECK(!handled.empty());
  for (auto const& [id, count] : handled) CHECK((std::stoi(id.substr(2)) >= 15 && count == 1));
}

TEST_CASE("giving back that breaks off at any write is gone on with") {
  for (auto const form :
       {lease_form::range, lease_form::java_range, lease_form::partition, lease_form::partition_id})
    for (auto const happens : {nth_write::what::refused, nth_write::what::done_and_not_answered})
      for (int n = 1;; ++n) {
        INFO(name_of(form) << " " << static_cast<int>(happens) << " " << n);
        world at;
        at.write(20);
        leave_leases(at, writer::dotnet_3);
        at.taken();
        nth_write failing;
        failing(at, n, happens);
        auto const first = at.give(world::back_as(form));
        at.to.before = {};
        if (failing.writes < n) {
          REQUIRE(first);
          CHECK(n > 5);
          break;
        }
        CHECK(!first);
        bool const was_begun = at.documents().contains(std::string{prefix} + ".takeover");
        if (was_begun && n > 2) {
          auto const taken = at.take();
          if (!taken)
            CHECK(taken.error().text.view() ==
                  "these leases are being given back: finish that before, by give_back_leases");
        }
        at.given(world::back_as(form));
        auto const all = at.documents();
        CHECK(all.size() == 3);
        for (auto const& [id, one] : all) CHECK(id.find(".keyspan.") == id.npos);
        at.clock.at += 1h;
        at.write(10);
        at.taken();
        CHECK(world::are(at.handled_by_a_host(), 20, 30));
      }
}

TEST_CASE("partitions that are split while leases are given back by partition are all there") {
  for (int n = 1;; ++n) {
    INFO(n);
    world at;
    at.write(20);
    leave_leases(at, writer::dotnet_3);
    at.taken();
    at.erase(std::string{prefix} + ".info");
    nth_write failing;
    failing(at, n, nth_write::what::refused);
    auto const first = at.give(world::back_as(lease_form::partition));
    at.to.before = {};
    if (first) break;
    at.control("split/0");
    at.given(world::back_as(lease_form::partition));
    std::set<std::string> ids;
    for (auto const& one : at.partitions()) ids.insert(one.id);
    std::set<std::string> found;
    for (auto const& [token, lease] : at.lease_documents()) found.insert(token);
    // Once all of them were written they are those of before, which that fleet splits by itself.
    CHECK((found == ids || found == std::set<std::string>{"0", "1"}));
    CHECK((n > 4 || found == ids));
    CHECK(at.documents().contains(std::string{prefix} + ".info"));
    at.clock.at += 1h;
    at.write(10);
    at.taken();
    CHECK(world::are(at.handled_by_a_host(), 20, 30));
  }
}

TEST_CASE("of hosts that give back at once one does it, and all find it done") {
  for (auto const form : {lease_form::range, lease_form::partition})
    for (int n = 1;; ++n) {
      INFO(name_of(form) << " " << n);
      world at;
      at.write(20);
      leave_leases(at, writer::dotnet_3);
      at.taken();
      int requests = 0;
      bool is_within = false;
      bool has_been = false;
      at.to.before = [&](keyspan::request const&) -> std::optional<result<keyspan::response>> {
        if (is_within || ++requests != n) return std::nullopt;
        is_within = has_been = true;
        at.given(world::back_as(form));
        is_within = false;
        return std::nullopt;
      };
      at.given(world::back_as(form));
      at.to.before = {};
      if (!has_been) break;
      CHECK(at.documents().size() == 3);
      CHECK(at.given().was_done);
      at.clock.at += 1h;
      at.write(10);
      at.taken();
      CHECK(world::are(at.handled_by_a_host(), 20, 30));
    }
}

TEST_CASE("what is not there, or not whole, is not given back") {
  world at;
  auto const none = at.give();
  REQUIRE(!none);
  CHECK(none.error().code == errc::not_found);
  leave_leases(at, writer::dotnet_3_range);
  CHECK(at.given().was_done);
  at.taken();
  auto other = world::back();
  other.lease_prefix = "orders.";
  auto const strange = at.give(other);
  REQUIRE(!strange);
  CHECK(strange.error().code == errc::invalid_options);
  auto const all = at.lease_documents();
  at.erase(all.begin()->second.id);
  auto const hole = at.give();
  REQUIRE(!hole);
  CHECK(hole.error().code == errc::gap);
  at.put(all.begin()->second.to_json());
  auto touched = all.begin()->second;
  touched.owner = "host-a";
  at.put(touched.to_json());
  auto const foreign = at.give();
  REQUIRE(!foreign);
  CHECK(foreign.error().code == errc::foreign_lease);
}

TEST_CASE("the example of lease_takeover reads as it should") {
  world at{3};
  at.write(20);
  leave_leases(at, writer::dotnet_2);
  at.write(10);
  auto& account = at.in;
  auto& reviews = *at.reviews;
  auto& clock = at.clock;
  auto const check = [](bool holds) { CHECK(holds); };
  // [region: example]
  // The ids of their leases are this, two dots, and what the lease is of.
  std::string const theirs = "shopcontoso.documents.azure.com_njd5sQ==_njd5sTxu82I=";
  auto const where = container_address::from("shop", "leases");

  takeover_options how{.document_prefix = theirs};
  auto taking = keyspan::cosmos::take_over_leases(account, *where, reviews, clock, how);
  auto const taken = sync_wait(std::move(taking));
  check(taken && (taken->was_done || taken->leases == 3));

  // From here on a processor is what it is over any other store.
  auto const leases = sync_wait(cosmos_lease_store::open(
      account, "shop", "leases", {.scheme = reviews.scheme(), .document_prefix = theirs}));
  check(leases.has_value());
  // [end: example]
  // [region: back]
  auto giving = keyspan::cosmos::give_back_leases(account, *where, reviews, clock,
                                                  {.document_prefix = theirs});
  auto const given = sync_wait(std::move(giving));
  check(given && given->leases == 3);
  // [end: back]
}

}  // namespace
