// test/adapter/curl_test.cpp — requests over libcurl to a server that answers as it should.
#include <keyspan/adapter/curl.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/transport.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retrying.hpp>
#include <keyspan/transport/transport.hpp>

#include <adapter/hostile_server.hpp>
#include <async/deaths.hpp>
#include <async/held.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace hostile = test::hostile;

using keyspan::curl_loop;
using keyspan::curl_options;
using keyspan::curl_thread;
using keyspan::curl_transport;
using keyspan::errc;
using keyspan::request;
using keyspan::request_kind;
using keyspan::response;
using keyspan::result;
using keyspan::service_endpoint;
using keyspan::stop_source;
using keyspan::task;
using test::check;
using test::held;
using test::hostile_server;

static_assert(keyspan::transport<curl_transport> && keyspan::transport<curl_transport const>);
static_assert(keyspan::clock<curl_loop> && !std::is_move_constructible_v<curl_loop>);
static_assert(curl_transport::sent::abandonable);

service_endpoint at(hostile_server const& server) {
  return service_endpoint::parse(server.url()).value();
}
curl_options direct() { return {.proxy = ""}; }

request posted(std::string body) {
  return {.method = "POST",
          .target = "/echo",
          .headers = {{"content-type", "application/octet-stream"}},
          .body = std::move(body),
          .kind = request_kind::repeatable_write};
}

// [region: example]
task<std::size_t> sizes_of(curl_transport const& shop, std::vector<std::string> targets) {
  std::size_t bytes = 0;
  for (auto const& target : targets) {
    keyspan::request const what{.target = target};
    result<response> const page = co_await shop.send(what);
    if (page) bytes += page->body.size();
  }
  co_return bytes;
}
// [end: example]

TEST_CASE("the example of curl reads as it should") {
  hostile_server server{hostile::says(hostile::answer("four"), false)};
  std::string const url = server.url();
  // [region: use]
  keyspan::curl_loop loop;
  keyspan::curl_transport const shop{loop, keyspan::service_endpoint::parse(url).value()};
  // Two coroutines on this thread, each with one request at a time.
  auto const sizes = loop.complete(when_all(sizes_of(shop, {"/a", "/b"}), sizes_of(shop, {"/c"})));
  check(sizes == std::tuple{8, 4});
  // [end: use]
  CHECK(server.requests() == 3);
}

TEST_CASE("threads wait for what a loop on a thread of its own carries") {
  hostile_server server{hostile::says(hostile::answer("four"), false)};
  auto const endpoint = at(server);
  // [region: thread]
  keyspan::curl_thread runs;
  keyspan::curl_transport const shop{runs.loop(), endpoint};
  auto const page = keyspan::sync_wait(shop.send({.target = "/reviews"}));
  // [end: thread]
  CHECK(page.value().body == "four");
}

TEST_CASE("what is carried by libcurl keeps the laws of transports") {
  hostile_server server{hostile::echo()};
  curl_thread runs;
  curl_transport over{runs.loop(), at(server), direct()};
  auto const found = keyspan::law::check_transport(
      over, posted,
      {.served = [&] { return server.requests(); },
       .refused = [] { return request{.target = "/refused"}; },
       .unanswered = [] { return request{.target = "/unanswered"}; }});
  INFO(found.text());
  CHECK(found);
}

TEST_CASE("a request goes out as it is, with Host, User-Agent and the length of its body alone") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  curl_transport const over{loop, at(server), direct()};
  auto const head = [&](request const& what) {
    REQUIRE(loop.complete(over.send(what)).has_value());
    return server.last().head;
  };
  std::string const host = "Host: " + server.authority() + "\r\n";
  std::string const agent = "User-Agent: keyspan/" KEYSPAN_VERSION_STRING "\r\n";
  CHECK(head({.target = "/a//b/../c?x=%20&y=a;b&&z="}) ==
        "GET /a//b/../c?x=%20&y=a;b&&z= HTTP/1.1\r\n" + host + agent);
  CHECK(head({.target = "/?"}) == "GET /? HTTP/1.1\r\n" + host + agent);
  CHECK(head({.method = "POST", .body = "abc"}) ==
        "POST / HTTP/1.1\r\n" + host + agent + "Content-Length: 3\r\n");
  CHECK(head({.method = "PATCH"}) ==
        "PATCH / HTTP/1.1\r\n" + host + agent + "Content-Length: 0\r\n");
  CHECK(head({.method = "DELETE", .target = "/x"}) == "DELETE /x HTTP/1.1\r\n" + host + agent);
  CHECK(head({.method = "HEAD"}) == "HEAD / HTTP/1.1\r\n" + host + agent);
  CHECK(head({.method = "PUT",
              .headers = {{"content-type", "a/b"},
                          {"Content-Length", "5"},
                          {"X-Empty", ""},
                          {"X-Twice", "1"},
                          {"X-Twice", "2"},
                          {"User-Agent", "mine"},
                          {"accept-encoding", "gzip"},
                          {"Accept", "*/*"}},
              .body = std::string{"a\0b\r\n", 5}}) ==
        "PUT / HTTP/1.1\r\n" + host +
            "content-type: a/b\r\nX-Empty:\r\nX-Twice: 1\r\nX-Twice: 2\r\nUser-Agent: mine\r\n"
            "accept-encoding: gzip\r\nAccept: */*\r\nContent-Length: 5\r\n");
  CHECK(server.last().body == std::string{"a\0b\r\n", 5});
  // What one request had is not the next one's.
  CHECK(head({}) == "GET / HTTP/1.1\r\n" + host + agent);
  // With a body larger than what libcurl sends at once, and no waiting to be told to go on.
  auto const large = posted(std::string(3'000'000, 'x'));
  CHECK(head(large).find("Expect") == std::string::npos);
  CHECK(server.last().body == large.body);
  CHECK(server.connections() == 1);
}

TEST_CASE("an answer is told as it came") {
  hostile_server server{
      hostile::says("HTTP/1.1 418 I'm a teapot\r\nX-A:  one \r\nx-a: two\r\nX-Folded: a\r\n  b\r\n"
                    "X-Empty:\r\nContent-Length: 3\r\n\r\nabc",
                    false)};
  curl_loop loop;
  curl_transport const over{loop, at(server), direct()};
  auto const got = loop.complete(over.send({.target = "/x?secret"}));
  REQUIRE(got.has_value());
  CHECK(got->status == 418);
  CHECK(got->headers == keyspan::header_list{{"X-A", "one"},
                                             {"x-a", "two"},
                                             {"X-Folded", "a b"},
                                             {"X-Empty", ""},
                                             {"Content-Length", "3"}});
  CHECK(got->body == "abc");
  CHECK(got->endpoint == server.authority());
  CHECK(got->attempts == 1);
}

TEST_CASE(
    "one connection serves requests one after the other, and many at once as many as allowed") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  curl_transport const over{loop, at(server), direct()};
  for (int i = 0; i < 50; ++i) {
    auto const body = std::to_string(i);
    auto const got = loop.complete(over.send(posted(body)));
    REQUIRE(got.has_value());
    REQUIRE(got->body == body);
  }
  CHECK(server.connections() == 1);

  hostile_server busy{hostile::echo()};
  auto options = direct();
  options.most_connections = 3;
  curl_transport const narrow{loop, at(busy), options};
  for (int round = 0; round < 3; ++round) {
    std::vector<task<std::size_t>> all;
    for (int i = 0; i < 40; ++i) all.push_back(sizes_of(narrow, {"/a", "/b"}));
    loop.complete(when_all(std::move(all)));
  }
  CHECK(busy.requests() == 240);
  CHECK(busy.connections() <= 3);
  CHECK(busy.connections() > 1);
}

task<bool> echoes(curl_transport const& over, std::string name, int times) {
  for (int i = 0; i < times; ++i) {
    auto const body = name + std::to_string(i);
    auto what = posted(body);
    what.headers.set("x-echo", body);
    result<response> const got = co_await over.send(what);
    if (!got || got->body != body || got->headers.find("x-echo") != body) co_return false;
  }
  co_return true;
}

TEST_CASE("many coroutines on one loop each get the answers to what they asked") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  curl_transport const over{loop, at(server), direct()};
  curl_transport const other{loop, at(server), direct()};
  std::vector<task<bool>> all;
  for (int i = 0; i < 64; ++i)
    all.push_back(echoes(i % 2 == 0 ? over : other, std::to_string(i) + '/', 20));
  for (bool const good : loop.complete(when_all(std::move(all)))) CHECK(good);
  CHECK(server.requests() == 64 * 20);
  CHECK(server.connections() <= 64);
}

TEST_CASE("threads send through a loop that runs on a thread of its own") {
  hostile_server server{hostile::echo()};
  curl_thread runs;
  curl_transport const over{runs.loop(), at(server), direct()};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        auto const body = std::to_string(t) + '/' + std::to_string(i);
        auto what = posted(body);
        stop_source stopping;
        what.stop = stopping.token();
        if (i % 5 == 4) {
          std::thread elsewhere{[&] { stopping.request_stop(); }};
          auto const got = keyspan::sync_wait(over.send(what));
          elsewhere.join();
          good += got ? got->body == body : got.error().code == errc::stopped;
        } else {
          auto const got = keyspan::sync_wait(over.send(what));
          good += got && got->body == body;
        }
      }
    });
  for (auto& one : threads) one.join();
  CHECK(good == 100);
}

TEST_CASE("who awaits a transfer goes on in the loop, and its timers run meanwhile") {
  std::atomic<int> rung{0};
  hostile_server server{[&](test::hostile_connection& with) {
    auto const read = with.read_request();
    while (rung < 10 && with.pause(1ms)) {
    }
    if (read) with.write(hostile::echo_of(*read));
  }};
  curl_loop loop;
  curl_transport const over{loop, at(server), direct()};
  auto const rings = [](curl_loop& in, std::atomic<int>& count) -> task<> {
    for (int i = 0; i < 10; ++i) {
      static_cast<void>(co_await wait_for(in, 1ms));
      ++count;
    }
  };
  auto const sends = [](curl_transport const& by) -> task<bool> {
    auto const here = std::this_thread::get_id();
    request const what;
    result<response> const got = co_await by.send(what);
    bool const is_here = here == std::this_thread::get_id();
    co_return got.has_value() && is_here;
  };
  auto const both = loop.complete(when_all(rings(loop, rung), sends(over)));
  CHECK(std::get<1>(both));
}

TEST_CASE("a loop of transfers is a clock") {
  curl_loop loop;
  std::vector<int> log;
  auto const note = [](curl_loop& in, keyspan::instant due, std::vector<int>& to, int number,
                       keyspan::stop_token stop) -> task<result<void>> {
    auto waited = co_await in.wait_until(due, stop);
    to.push_back(waited && in.now() < due ? -1 : number);
    co_return waited;
  };
  stop_source stopping;
  auto const now = loop.now();
  auto const three =
      loop.complete(when_all(note(loop, now + 5ms, log, 2, {}), note(loop, now + 2ms, log, 1, {}),
                             note(loop, keyspan::instant{}, log, 0, {})));
  CHECK(log == std::vector{0, 1, 2});
  CHECK(std::get<0>(three).has_value());
  std::thread elsewhere{[&] {
    std::this_thread::sleep_for(5ms);
    stopping.request_stop();
  }};
  auto const stopped =
      loop.complete(note(loop, (keyspan::instant::max)(), log, 3, stopping.token()));
  elsewhere.join();
  REQUIRE(!stopped);
  CHECK(stopped.error().code == errc::stopped);
}

TEST_CASE("a loop is woken by what other threads complete, also while it looks after transfers") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  curl_transport const over{loop, at(server), direct()};
  for (int i = 0; i < 300; ++i) {
    std::optional<std::thread> elsewhere;
    auto const begun = loop.now();
    auto const done_elsewhere = [&]() -> task<> {
      co_await keyspan::completion_of<void>(
          [&](auto done) { elsewhere.emplace([done] { done(); }); });
    };
    if (i % 2 == 0) static_cast<void>(loop.complete(over.send({})));
    loop.complete(done_elsewhere());
    elsewhere->join();
    REQUIRE(loop.now() - begun < 5s);
  }
}

TEST_CASE("who is destroyed while its request is under way, queued or waiting ends it") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  auto options = direct();
  options.most_connections = 2;
  auto const begin = [](curl_transport const& by, request what, bool& went_on) -> held {
    static_cast<void>(co_await by.send(std::move(what)));
    went_on = true;
  };
  bool went_on = false;
  auto over = std::make_unique<curl_transport>(loop, at(server), options);
  {
    auto const never_awaited = over->send({});
  }
  {
    auto const queued = begin(*over, posted("queued"), went_on);
  }
  CHECK(server.requests() == 0);
  {
    auto const first = begin(*over, {.target = "/unanswered"}, went_on);
    auto const second = begin(*over, {.target = "/unanswered"}, went_on);
    auto const waiting = begin(*over, {.target = "/unanswered"}, went_on);
    while (server.requests() < 2) CHECK(loop.complete(wait_for(loop, 1ms)).has_value());
  }
  // Both places are free again, and the one that waited is not sent.
  CHECK(loop.complete(over->send(posted("again")))->body == "again");
  CHECK(server.requests() == 3);
  {
    auto const finished = begin(*over, posted("finished"), went_on);
    auto const third = begin(*over, {.target = "/unanswered"}, went_on);
    while (server.requests() < 5 || !went_on) {
      CHECK(loop.complete(wait_for(loop, 1ms)).has_value());
    }
    CHECK(std::exchange(went_on, false));
    over.reset();  // before the transfer has ended
  }
  CHECK_FALSE(went_on);
}

TEST_CASE("a transport that sends no more may go before its loop or behind it") {
  hostile_server server{hostile::echo()};
  std::optional<curl_loop> loop{std::in_place};
  std::optional<curl_transport> first{std::in_place, *loop, at(server), direct()};
  curl_transport const last{*loop, at(server), direct()};
  CHECK(loop->complete(first->send(posted("first")))->body == "first");
  first.reset();
  CHECK(loop->complete(last.send(posted("last")))->body == "last");
  loop.reset();
}

#if KEYSPAN_TEST_DEATHS
TEST_CASE("a loop outlives those who wait for its transfers, or the program ends") {
  auto const words = test::last_words_of([] {
    std::optional<curl_loop> loop{std::in_place};
    curl_transport const over{*loop, {.is_secure = false, .host = "127.0.0.1", .port = 1}};
    auto const begin = [](curl_transport const& by) -> held {
      request const what;
      static_cast<void>(co_await by.send(what));
    };
    auto const waits = begin(over);
    loop.reset();
  });
  CHECK(words.find("a loop outlives those who wait for its transfers") != std::string::npos);
}
#endif

TEST_CASE("options of a transport that make no sense break a contract") {
  curl_loop loop;
  for (auto const& options :
       {curl_options{.connect_timeout = 0ms}, curl_options{.answer_timeout = -1ms},
        curl_options{.most_connections = 0}})
    CHECK(test::promise_broken_by([&] {
            static_cast<void>(curl_transport{loop, {.host = "a"}, options});
          }) == "timeouts are above zero, and there is room for a connection");
}

TEST_CASE("what is no request of HTTP is refused before anybody is asked") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  curl_transport const over{loop, at(server), direct()};
  using namespace std::string_literals;
  std::vector<request> const bad{
      {.method = "GET / HTTP/1.1\r\nX: y\r\n\r\nGET"},
      {.method = ""},
      {.method = "G T"},
      {.target = ""},
      {.target = "echo"},
      {.target = "http://other.example/"},
      {.target = "/a b"},
      {.target = "/a\r\nX-Sesame: 1"},
      {.target = "/a\0b"s},
      {.target = "/a#b"},
      {.target = "/\xC3\xA4"},
      {.method = "HEAD", .body = "x"},
      {.headers = {{"X-A", "sesame\r\nX-B: 1"}}},
      {.headers = {{"X-A", "sesame\n"}}},
      {.headers = {{"X-A", "sesame\0"s}}},
      {.headers = {{"X-A: b\r\nX-B", "sesame"}}},
      {.headers = {{"", "sesame"}}},
      {.headers = {{"X A", "sesame"}}},
      {.headers = {{"Transfer-Encoding", "chunked"}}},
      {.headers = {{"Expect", "100-continue"}}},
      {.method = "POST", .headers = {{"Content-Length", "4"}}, .body = "abc"}};
  for (auto const& what : bad) {
    CAPTURE(what.method, what.target);
    auto const got = loop.complete(over.send(what));
    REQUIRE(!got);
    CHECK(got.error().code == errc::bad_request);
    CHECK(got.error().wire.endpoint == server.authority());
    CHECK(got.error().to_text().view().find("esame") == std::string_view::npos);
  }
  CHECK(server.connections() == 0);
}

TEST_CASE("a transfer that finds no memory ends alone, whichever allocation it is that fails") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  std::size_t failures = 0;
  for (std::size_t behind = 0; behind < 60; ++behind) {
    curl_transport const over{loop, at(server), direct()};
    auto const what = posted("a body that is longer than what fits into a string itself");
    auto sends = [](curl_transport::sent one) -> task<result<response>> {
      result<response> got = co_await std::move(one);
      co_return got;
    };
    auto work = sends(over.send(what));
    try {
      test::failing_allocation const fails{behind};
      auto const got = loop.complete(std::move(work));
      if (!got) {
        ++failures;
        CHECK((got.error().code == errc::not_connected || got.error().code == errc::too_large));
      }
    } catch (std::bad_alloc const&) {
      ++failures;  // before it was begun
    }
    REQUIRE(loop.complete(over.send(what)).value().body == what.body);
  }
  CHECK(failures > 3);
  CHECK(failures < 60);
}

TEST_CASE("a request that is stopped or late while others hold all connections is not sent") {
  hostile_server server{hostile::echo()};
  curl_loop loop;
  auto options = direct();
  options.most_connections = 1;
  curl_transport const over{loop, at(server), options};
  stop_source stopping;
  request first{.target = "/unanswered", .stop = stopping.token()};
  request late{.target = "/late", .deadline = loop.now() + 20ms};
  stop_source second;
  request stopped{.target = "/stopped", .stop = second.token()};
  request same{.target = "/same", .stop = stopping.token()};
  auto const next = posted("next");
  auto const send = [](curl_transport const& by, request what) -> task<result<response>> {
    result<response> got = co_await by.send(std::move(what));
    co_return got;
  };
  auto const stops = [](curl_loop& in, stop_source a, stop_source b) -> task<> {
    static_cast<void>(co_await wait_for(in, 10ms));
    b.request_stop();
    static_cast<void>(co_await wait_for(in, 30ms));
    a.request_stop();
  };
  auto const got =
      loop.complete(when_all(send(over, first), send(over, late), send(over, stopped),
                             send(over, same), send(over, next), stops(loop, stopping, second)));
  CHECK(std::get<0>(got).error().code == errc::stopped);
  CHECK(std::get<1>(got).error().code == errc::timed_out);
  CHECK(std::get<2>(got).error().code == errc::stopped);
  CHECK(std::get<3>(got).error().code == errc::stopped);
  CHECK(std::get<4>(got).value().body == "next");
  CHECK(server.requests() == 2);
  CHECK(loop.complete(over.send(posted("again")))->body == "again");
}

}  // namespace
