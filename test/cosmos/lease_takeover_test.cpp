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

constexpr std::string_view prefix = "shopcontoso.documents.azure.com_AbCdAA==_AbCdAOkLmNo=";

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
  static json bounds(partition_type const& of) {
    auto made = json::object();
    made["min"] = std::string{of.range.lower().to_hex().view()};
    made["max"] = std::string{of.range.upper().to_hex().view()};
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

  cosmos_lease_store store() {
    auto opened = sync_wait(cosmos_lease_store::open(
        in, "shop", "leases",
        {.scheme = reviews->scheme(), .document_prefix = std::string{prefix}}));
    if (!opened) FAIL(opened.error().to_text().view());
    return *std::move(opened);
  }
  // What a host that runs for a while handles, how often each.
  std::map<std::string, int> handled_by_a_host(std::function<void()> meanwhile = {}) {
    auto over = store();
    handler what;
    keyspan::processor_options<keyspan::any_token> options;
    options.host_name = "ada";
    options.start = from_beginning;  // what was lost would be seen again
    options.on_event = [&](keyspan::processor_event const& event) {
      if (event.kind == keyspan::processor_event_kind::leases_made) FAIL("leases were made anew");
    };
    keyspan::processor work{*reviews, over, hosts, options};
    keyspan::stop_source stop;
    begun running{work.run(what, stop.token())};
    for (int i = 0; i < 60; ++i) hosts.advance(1s);
    if (meanwhile) {
      meanwhile();
      for (int i = 0; i < 60; ++i) hosts.advance(1s);
    }
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

}  // namespace
