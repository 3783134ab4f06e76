// test/cosmos/concurrent/session_test.cpp — many threads at one handle of a container: each reads
// what it has written, and the session has seen what was seen last.
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::ready;
using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::sync_wait;

// Answers everybody by the same words, but that its log goes on. Now and then it says that the
// container was made anew.
class canned_service {
 public:
  ready<result<response>> send(request const& what) {
    response made;
    if (what.target.ends_with("/pkranges")) {
      bool const is_known = what.headers.find("if-none-match").has_value();
      made.status = is_known ? 304 : 200;
      made.headers.add("etag", "\"1\"");
      if (!is_known)
        made.body = R"({"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]})";
    } else if (what.target.ends_with("/colls/c")) {
      made.body = R"({"id":"c","_rid":"r","partitionKey":{"paths":["/k"],"kind":"Hash",)"
                  R"("version":2}})";
    } else {
      // Never twice in a row to the same one.
      thread_local int asked = 0;
      if (++asked % 50 == 0) {
        made.status = 410;
        made.headers.add("x-ms-substatus", "1000");
        return {result<response>{std::move(made)}};
      }
      auto const lsn = std::to_string(++lsn_);
      made.headers.add("etag", '"' + lsn + '"');
      made.headers.add("x-ms-session-token", "0:1#" + lsn);
      made.headers.add("x-ms-documentdb-partitionkeyrangeid", "0");
      bool const is_page = what.headers.find("a-im").has_value();
      made.body = is_page ? R"({"Documents":[]})" : R"({"id":"d","k":"a","_etag":"\"1\""})";
    }
    return {result<response>{std::move(made)}};
  }
  std::int64_t lsn() const { return lsn_; }

 private:
  std::atomic<std::int64_t> lsn_{0};
};

struct no_clock {
  keyspan::instant now() const noexcept { return {}; }
  ready<result<void>> wait_until(keyspan::instant, keyspan::stop_token = {}) const {
    return {result<void>{}};
  }
};

TEST_CASE("many threads write, read and page by one session") {
  canned_service service;
  no_clock clock;
  keyspan::cosmos::cosmos_account account{
      service, clock,
      *keyspan::cosmos::master_key::from("dGhlIGtleSBvZiBhbiBhY2NvdW50IHRoYXQgaXMgbm90IG9uZQ==")};
  auto const opened = sync_wait(account.open<nlohmann::json>("shop", "c"));
  REQUIRE(opened);
  auto const lsn_in = [](std::string const& token) {
    auto const at = token.rfind('#');
    return at == token.npos ? std::int64_t{0} : std::stoll(token.substr(at + 1));
  };
  std::atomic<int> failed{0}, behind{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      auto in = *opened;
      auto const whole = keyspan::whole_space(in.scheme());
      for (int j = 0; j < 250; ++j) {
        nlohmann::json document{{"id", "d"}, {"k", "a"}};
        auto const written = sync_wait(in.upsert(std::move(document)));
        if (!written || lsn_in(in.session_token()) < lsn_in(written->session_token)) ++behind;
        if (!sync_wait(in.read_item("a", "d"))) ++failed;
        if (j % 10 == i && !sync_wait(in.read(whole, keyspan::from_beginning, {}))) ++failed;
        if (j % 10 == i && !sync_wait(in.topology(""))) ++failed;
        if (j % 50 == i) account.set_credential(*keyspan::cosmos::master_key::from("c2VjcmV0"));
      }
    });
  for (auto& one : threads) one.join();
  CHECK(failed == 0);
  CHECK(behind == 0);
  CHECK(lsn_in(opened->session_token()) == service.lsn());
}

}  // namespace
