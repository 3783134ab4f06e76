// test/cosmos/concurrent/leases_test.cpp — many threads at one store in a container: none of what
// they count in a record gets lost.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_lease_store.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::ready;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::sync_wait;

// One document under etags, and now and then partitions that are gone.
class service_of_one_document {
 public:
  ready<result<response>> send(request const& what) { return {result<response>{answer(what)}}; }

 private:
  response answer(request const& what) {
    std::lock_guard const lock{mutex_};
    response made;
    made.headers.add("x-ms-session-token", "0:1#" + std::to_string(version_));
    if (what.target == "/") {
      made.body = R"({"userConsistencyPolicy":{"defaultConsistencyLevel":"Session"}})";
    } else if (what.target.ends_with("/colls/leases")) {
      made.body = R"({"id":"leases","_rid":"r","partitionKey":{"paths":["/id"],"kind":"Hash",)"
                  R"("version":2}})";
    } else if (what.target.ends_with("/pkranges")) {
      made.body = R"({"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]})";
    } else if (what.method == "GET" && what.target.ends_with("/docs")) {
      if (++pages_ % 7 == 0) return refused(410, "1002");
      made.body = "{\"Documents\":[" + document() + "]}";
    } else if (what.method == "GET") {
      made.body = document();
    } else if (what.method == "POST") {
      if (version_ != 0) return refused(409);
      write(what, made);
    } else {
      if (what.headers.find("if-match") != std::to_string(version_)) return refused(412);
      write(what, made);
    }
    return made;
  }
  void write(request const& what, response& to) {
    ++version_;
    body_ = what.body;
    to.body = document();
  }
  // What was sent, and the etag in it.
  std::string document() const {
    if (version_ == 0) return {};
    return body_.substr(0, body_.size() - 1) + ",\"_etag\":\"" + std::to_string(version_) + "\"}";
  }
  response refused(std::uint16_t status, std::string_view sub = {}) const {
    response made;
    made.status = status;
    made.headers.add("x-ms-session-token", "0:1#" + std::to_string(version_));
    if (!sub.empty()) made.headers.add("x-ms-substatus", sub);
    return made;
  }

  std::mutex mutex_{};
  std::string body_{};
  std::int64_t version_ = 0;
  int pages_ = 0;
};

struct no_clock {
  keyspan::instant now() const noexcept { return {}; }
  ready<result<void>> wait_until(keyspan::instant, keyspan::stop_token = {}) const {
    return {result<void>{}};
  }
};

TEST_CASE("many threads count in one record by one store") {
  service_of_one_document service;
  no_clock clock;
  keyspan::cosmos::cosmos_account account{
      service, clock,
      *keyspan::cosmos::master_key::from("dGhlIGtleSBvZiBhbiBhY2NvdW50IHRoYXQgaXMgbm90IG9uZQ==")};
  auto const opened =
      sync_wait(keyspan::cosmos::cosmos_lease_store::open(account, "shop", "leases"));
  REQUIRE(opened);
  REQUIRE(sync_wait(opened->create("count", "0", {})));
  std::atomic<int> done{0}, failed{0}, backwards{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      auto const in = *opened;
      int last = 0;
      for (int j = 0; j < 150; ++j) {
        auto const seen = sync_wait(in.read("count", {}));
        if (!seen) {
          ++failed;
          continue;
        }
        int const count = std::stoi(seen->body);
        if (count < last) ++backwards;
        last = count;
        auto const next = std::to_string(count + 1);
        auto const written = sync_wait(in.replace("count", next, seen->version, {}));
        if (written) {
          ++done;
        } else if (written.error().code != errc::precondition_failed) {
          ++failed;
        }
        if (j % 5 == 0 && sync_wait(in.list("", {})).value().size() != 1) ++failed;
      }
    });
  for (auto& one : threads) one.join();
  CHECK(failed == 0);
  CHECK(backwards == 0);
  CHECK(done >= 150);
  CHECK(sync_wait(opened->read("count", {}))->body == std::to_string(done.load()));
}

}  // namespace
