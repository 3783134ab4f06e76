// test/cosmos/service/hostile_test.cpp — a service behind somebody who answers wrongly, halfway or
// not at all: operations and feeds say so in bounded time, and go on as if nothing had been.
#include "client.hpp"

#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/message.hpp>

#include <adapter/hostile_server.hpp>
#include <catch2/catch_test_macros.hpp>
#include <example/cosmos_service.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace hostile = test::hostile;

using keyspan::errc;
using keyspan::result;
using keyspan::task;
using test::client;
using test::code_of;
using test::drained;
using test::from_to;
using test::good;
using test::hostile_connection;
using test::numbered;
using test::ratings_in;
using test::review;
using test::reviews;
using test::seen_request;

// What is done in the place of an answer. Whether the connection is good for more.
using trouble = std::function<bool(hostile_connection&, seen_request const&)>;

struct row {
  std::string_view name;
  trouble instead;
  errc of_read;
  errc of_write;
  // When to give up: at once where nothing ever comes, and never where something does, however busy
  // the machine is.
  std::chrono::milliseconds patience = 20s;
};

// The connection is kept behind a whole answer: to close it unannounced would be trouble of another
// kind, for the request that is on its way by then.
trouble answers(std::string_view body, std::string_view status = "200 OK") {
  bool const is_page = body.starts_with('<');
  return [bytes = hostile::answer(body, status, is_page ? "Content-Type: text/html\r\n" : "")](
             hostile_connection& with, seen_request const&) { return with.write(bytes); };
}
trouble breaks_off(std::string bytes) {
  return [bytes = std::move(bytes)](hostile_connection& with, seen_request const&) {
    with.write(bytes);
    return false;
  };
}

std::vector<row> troubles() {
  std::string const page = "<html><body>Please log in to use this network</body></html>";
  return {
      {"a proxy's page", answers(page), errc::bad_response, errc::bad_response},
      {"a gateway's page", answers(page, "502 Bad Gateway"), errc::service_failed,
       errc::service_failed},
      {"a page that nobody is served", answers(page, "503 Service Unavailable"), errc::unavailable,
       errc::unavailable},
      {"half a document", answers(R"({"Documents":[{"id":"r-1","artic)"), errc::bad_response,
       errc::bad_response},
      {"nothing", answers(""), errc::bad_response, errc::bad_response},
      {"another way, for ever",
       [](hostile_connection& with, seen_request const& read) {
         return with.write(hostile::answer("", "302 Found", "Location: " + read.target + "\r\n"));
       },
       errc::bad_response, errc::bad_response},
      {"less than it says",
       breaks_off("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"Documents\":["),
       errc::not_connected, errc::outcome_unknown},
      {"no HTTP", breaks_off("220 mail.example ESMTP\r\n"), errc::bad_response, errc::bad_response},
      {"a reset",
       [](hostile_connection& with, seen_request const&) {
         with.reset();
         return false;
       },
       errc::not_connected, errc::outcome_unknown},
      {"a reset amid the answer",
       [](hostile_connection& with, seen_request const&) {
         with.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
         with.pause(20ms);
         with.reset();
         return false;
       },
       errc::not_connected, errc::outcome_unknown},
      {"silence",
       [](hostile_connection& with, seen_request const&) {
         with.wait_for_the_end();
         return false;
       },
       errc::timed_out, errc::outcome_unknown, 600ms},
  };
}

// A service in this process, behind a server that can be asked to answer otherwise.
class troubled_service {
 public:
  troubled_service() = default;

  /// From now on every `often`-th request finds this.
  void begin(trouble instead, int often = 1) {
    std::lock_guard const lock{mutex_};
    instead_ = std::move(instead);
    often_ = often;
    count_ = 0;
  }
  /// All is well again.
  void end() { begin(nullptr); }
  void control(std::string_view what) {
    std::lock_guard const lock{mutex_};
    auto const answer = service_.answer(
        {.method = "POST", .target = "/_control/dbs/shop/colls/reviews/" + std::string{what}});
    REQUIRE(answer.status < 300);
  }

  std::string url() const { return server_.url(); }
  std::size_t requests() const { return server_.requests(); }

 private:
  void play(hostile_connection& with) {
    while (auto const read = with.read_request()) {
      trouble instead;
      std::string bytes;
      {
        std::lock_guard const lock{mutex_};
        if (instead_ && ++count_ % often_ == 0)
          instead = instead_;
        else
          bytes = answer_to(*read);
      }
      if (!(instead ? instead(with, *read) : with.write(bytes))) return;
    }
  }
  std::string answer_to(seen_request const& read) {
    keyspan::request asked{.method = read.method, .target = read.target, .body = read.body};
    for (auto const& [name, value] : read.headers) asked.headers.add(name, value);
    keyspan::response const made = service_.answer(asked);
    std::string text = "HTTP/1.1 " + std::to_string(made.status) + " Said\r\n";
    for (auto const& field : made.headers) text += field.name + ": " + field.value + "\r\n";
    bool const is_empty = made.status == 204 || made.status == 304;
    if (!is_empty) text += "Content-Length: " + std::to_string(made.body.size()) + "\r\n";
    return text + "\r\n" + made.body;
  }

  std::mutex mutex_{};
  trouble instead_{};
  int often_ = 1;
  int count_ = 0;
  cosmos_server::cosmos_service service_{
      {.key = *keyspan::cosmos::master_key::from(test::account_key), .partitions = 3}};
  test::hostile_server server_{[this](hostile_connection& with) { play(with); }};
};

// A program that is not patient, and its container of reviews behind all this.
struct troubled {
  explicit troubled(row const& in, int most_attempts = 3)
      : by{at.url(), test::account_key,
           keyspan::cosmos::account_options{.retries = {.most_attempts = most_attempts,
                                                        .budget = 20s,
                                                        .first_wait = 1ms,
                                                        .longest_wait = 4ms},
                                            .on_event = {}},
           in.patience} {
    by.done(keyspan::cosmos::create_database("shop"));
    auto const where = good(keyspan::cosmos::container_address::from("shop", "reviews"));
    std::string_view const paths[]{"/article"};
    by.done(keyspan::cosmos::create_container(where, good(keyspan::key_paths::parse(paths))));
  }
  reviews open() { return by.open("shop", "reviews"); }

  troubled_service at{};
  client by;
};

template <class Work>
auto timed(Work work, std::string_view what) {
  auto const begun = std::chrono::steady_clock::now();
  auto made = work();
  INFO(what);
  CHECK(std::chrono::steady_clock::now() - begun < 15s);
  return made;
}

TEST_CASE("operations say what went wrong, in bounded time, and are done once it is over",
          "[scripted]") {
  for (row const& each : troubles()) {
    auto const& [name, instead, of_read, of_write, patience] = each;
    CAPTURE(name);
    troubled t{each};
    reviews in = t.open();
    good(t.by.run(in.create({"r-0", "redmond", 0})));
    t.at.begin(instead);
    auto const code = [&](auto work) {
      auto const got = timed([&] { return t.by.run(std::move(work)); }, name);
      return got ? std::string{"none"} : std::string{name_of(got.error().code)};
    };
    CHECK(code(in.read_item("redmond", "r-0")) == name_of(of_read));
    CHECK(code(in.create({"r-1", "redmond", 1})) == name_of(of_write));
    CHECK(code(in.upsert({"r-2", "redmond", 2})) == name_of(of_write));
    CHECK(code(in.replace({"r-0", "redmond", 3})) == name_of(of_write));
    CHECK(code(in.remove("redmond", "r-0")) == name_of(of_write));
    keyspan::item_batch<review> batch{"redmond"};
    batch.upsert({"r-3", "redmond", 3});
    CHECK(code(in.execute(batch)) == name_of(of_write));
    std::vector<keyspan::item_id> const ids{{keyspan::partition_key{"redmond"}, "r-0"}};
    CHECK(code(in.read_many(ids)) == name_of(of_read));
    CHECK(code(t.by.in.open<review>("shop", "reviews")) == name_of(of_read));
    std::string const none;
    CHECK(code(in.topology(none)) == name_of(of_read));

    t.at.end();
    CHECK(t.by.run(in.create({"r-1", "redmond", 1})).has_value());
    CHECK(good(t.by.run(in.read_item("redmond", "r-0"))).item->rating == 0);
    keyspan::feed everything{in};
    CHECK(ratings_in(good(t.by.run(drained(everything)))) == std::vector{0, 1});
  }
}

TEST_CASE("a feed in trouble says so, and goes on where it was: each document once", "[scripted]") {
  for (row const& each : troubles()) {
    auto const& [name, instead, of_read, of_write, patience] = each;
    CAPTURE(name);
    troubled t{each};
    reviews in = t.open();
    good(t.by.run(test::write(in, 0, 40)));
    keyspan::feed changes{in, {.page_size = 4}};
    std::vector<keyspan::change<review>> seen;
    auto const page = [&]() -> task<result<bool>> {
      auto reading = changes.stream();
      auto next = reading.next_page();
      auto const* const one = co_await std::move(next);
      if (one == nullptr) co_return false;
      if (!*one) co_return keyspan::unexpected{one->error()};
      seen.insert(seen.end(), (*one)->items.begin(), (*one)->items.end());
      co_return true;
    };
    // Also in front of the first page, where it is not known yet who owns what.
    for (int i = 0; i < 100; ++i) {
      if (i % 4 == 0) {
        t.at.begin(instead);
        auto const got = timed([&] { return t.by.run(page()); }, name);
        CHECK(code_of(got) == of_read);
        t.at.end();
        if (i == 4) t.at.control("split/1");
      }
      if (!good(t.by.run(page()))) break;
    }
    CHECK(ratings_in(seen) == from_to(0, 40));
    good(t.by.run(test::write(in, 40, 45)));
    CHECK(ratings_in(good(t.by.run(drained(changes)))) == from_to(40, 45));
  }
}

TEST_CASE("trouble now and then is got over by asking again", "[scripted]") {
  for (row const& each : troubles()) {
    auto const& [name, instead, of_read, of_write, patience] = each;
    // What stands in an answer of status 200 is read by who has asked, and never asked for again.
    bool const is_an_answer = name == "a proxy's page" || name == "half a document" ||
                              name == "nothing" || of_read == errc::timed_out;
    if (is_an_answer) continue;
    CAPTURE(name);
    troubled t{each, 4};
    reviews in = t.open();
    t.at.begin(instead, 3);
    std::set<int> written;
    for (int i = 0; i < 30; ++i) {
      auto const done = t.by.run(in.upsert(numbered(i)));
      if (!done) FAIL(done.error().to_text().view());
      written.insert(i);
    }
    keyspan::feed changes{in, {.page_size = 4}};
    CHECK(ratings_in(good(t.by.run(drained(changes)))) == from_to(0, 30));
  }
}

TEST_CASE("a write that may have been done is not done twice behind somebody's back",
          "[scripted]") {
  for (row const& each : troubles()) {
    auto const& [name, instead, of_read, of_write, patience] = each;
    if (of_write != errc::outcome_unknown) continue;
    CAPTURE(name);
    troubled t{each, 8};
    reviews in = t.open();
    t.at.begin(instead);
    auto const before = t.at.requests();
    CHECK(code_of(t.by.run(in.create({"r-1", "redmond", 1}))) == errc::outcome_unknown);
    CHECK(t.at.requests() == before + 1);
    t.at.end();
  }
}

}  // namespace
