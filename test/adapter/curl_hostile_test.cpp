// test/adapter/curl_hostile_test.cpp — requests over libcurl to servers that do as they please:
// a clear error in bounded time, and a transport that is as good as before.
#include <keyspan/adapter/curl.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <adapter/hostile_server.hpp>
#include <support/check.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace hostile = test::hostile;

using keyspan::curl_loop;
using keyspan::curl_options;
using keyspan::curl_transport;
using keyspan::errc;
using keyspan::error;
using keyspan::request;
using keyspan::request_kind;
using keyspan::response;
using keyspan::result;
using keyspan::service_endpoint;
using keyspan::task;
using test::hostile_server;

constexpr std::string_view secret = "sesame-open";

service_endpoint at(hostile_server const& server) {
  return service_endpoint::parse(server.url()).value();
}
request asked(request_kind kind) {
  request made{.method = kind == request_kind::read ? "GET" : "POST",
               .target = "/reviews?key=" + std::string{secret},
               .headers = {{"authorization", std::string{secret}}},
               .kind = kind};
  if (kind != request_kind::read) made.body = "a review";
  return made;
}

// What comes of one request of this kind, and whether the transport is as good as before.
struct outcome {
  result<response> got;
  std::size_t requests;
};
outcome sent_to(hostile_server::script play, request_kind kind,
                curl_options options = {.answer_timeout = std::chrono::seconds{10},
                                        .largest_body = 1'000'000,
                                        .proxy = ""}) {
  hostile_server server{hostile::at_first(std::move(play), hostile::echo())};
  curl_loop loop;
  curl_transport const over{loop, at(server), std::move(options)};
  auto const begun = loop.now();
  auto got = loop.complete(over.send(asked(kind)));
  CHECK(loop.now() - begun < 5s);
  std::size_t const requests = server.requests();
  CHECK(requests <= 1);
  if (!got) {
    auto const text = got.error().to_text();
    INFO(text.view());
    CHECK(text.view().find(secret) == std::string_view::npos);
    CHECK(text.view().find("reviews") == std::string_view::npos);
    CHECK(got.error().wire.endpoint == server.authority());
    CHECK(got.error().wire.status == 0);
    CHECK_FALSE(got.error().text.empty());
  }
  // The first connection may still be good, and its script not over.
  for (int i = 0; i < 3 && server.connections() < 2; ++i) {
    request again{.target = "/", .deadline = loop.now() + 200ms};
    static_cast<void>(loop.complete(over.send(again)));
  }
  request again{.method = "POST", .body = "again", .kind = request_kind::repeatable_write};
  auto const after = loop.complete(over.send(again));
  if (server.connections() >= 2) CHECK((after && after->body == "again"));
  return {std::move(got), requests};
}

std::optional<errc> error_of(hostile_server::script const& play, request_kind kind) {
  auto const came = sent_to(play, kind);
  if (came.got) return std::nullopt;
  return came.got.error().code;
}

TEST_CASE("an answer that breaks off is a lost connection for a read, and in doubt for a write") {
  struct row {
    std::string_view name;
    hostile_server::script play;
  };
  for (auto const& [name, play] :
       {row{"truncated body", hostile::truncated_body()},
        row{"truncated chunk", hostile::truncated_chunk()},
        row{"reset before headers", hostile::reset_before_headers()},
        row{"reset amid headers", hostile::reset_amid_headers()},
        row{"reset after headers", hostile::reset_after_headers()},
        row{"closes without a word", hostile::closes_without_a_word()}}) {
    CAPTURE(name);
    CHECK(error_of(play, request_kind::read) == errc::not_connected);
    CHECK(error_of(play, request_kind::repeatable_write) == errc::outcome_unknown);
    CHECK(error_of(play, request_kind::write) == errc::outcome_unknown);
  }
}

TEST_CASE("what is no answer of HTTP is a bad response") {
  struct row {
    std::string_view name;
    hostile_server::script play;
  };
  for (auto const& [name, play] :
       {row{"bad chunk", hostile::bad_chunk()}, row{"invalid header", hostile::invalid_header()},
        row{"another protocol", hostile::no_http()}, row{"noise", hostile::binary_noise()},
        row{"a status of nonsense", hostile::status_of_nonsense()},
        row{"a length that is none", hostile::length_is_no_number()},
        row{"two lengths", hostile::two_lengths()}}) {
    CAPTURE(name);
    CHECK(error_of(play, request_kind::read) == errc::bad_response);
    CHECK(error_of(play, request_kind::write) == errc::bad_response);
  }
}

TEST_CASE("an answer that is too large ends the transfer") {
  struct row {
    std::string_view name;
    hostile_server::script play;
  };
  for (auto const& [name, play] :
       {row{"a body that is announced", hostile::large_body(1'000'001)},
        row{"one that is not", hostile::large_body(1'000'001, false)},
        row{"one beyond all measure", hostile::large_body(std::size_t{1} << 62)},
        row{"endless headers", hostile::endless_headers()},
        row{"an endless header", hostile::endless_header_line()},
        row{"endless information", hostile::endless_continues()}}) {
    CAPTURE(name);
    CHECK(error_of(play, request_kind::read) == errc::too_large);
  }
  for (bool const is_announced : {true, false}) {
    auto const fits = sent_to(hostile::large_body(1'000'000, is_announced), request_kind::read);
    REQUIRE(fits.got.has_value());
    CHECK(fits.got->body == std::string(1'000'000, 'b'));
  }
}

TEST_CASE("what a proxy, a redirect or an old server says is an answer") {
  auto const page = sent_to(hostile::proxy_page(), request_kind::write);
  REQUIRE(page.got.has_value());
  CHECK(page.got->status == 502);
  CHECK(page.got->body.starts_with("<html>"));
  auto const fine = sent_to(hostile::proxy_page("200 OK"), request_kind::read);
  CHECK(fine.got.value().headers.find("content-type") == "text/html");

  auto const moved = sent_to(hostile::endless_redirects(), request_kind::read);
  REQUIRE(moved.got.has_value());
  CHECK(moved.got->status == 301);
  CHECK(moved.requests == 1);

  auto const old = sent_to(hostile::until_closed(), request_kind::write);
  REQUIRE(old.got.has_value());
  CHECK(old.got->body == "a review");

  auto const informed = sent_to(hostile::informs_first(), request_kind::write);
  REQUIRE(informed.got.has_value());
  CHECK(informed.got->status == 200);
  CHECK(informed.got->body == "a review");
  CHECK_FALSE(informed.got->headers.find("x-early").has_value());
  CHECK_FALSE(informed.got->headers.find("link").has_value());

  auto const chunked = sent_to(hostile::chunks(), request_kind::read);
  REQUIRE(chunked.got.has_value());
  CHECK(chunked.got->body == "hello world");
  CHECK_FALSE(chunked.got->headers.find("x-late").has_value());
}

TEST_CASE("what stands behind an answer is the answer to nothing") {
  hostile_server server{hostile::at_first(hostile::length_too_short(), hostile::echo())};
  curl_loop loop;
  curl_transport const over{loop, at(server), {.proxy = ""}};
  auto const first = loop.complete(over.send({}));
  CHECK(first.value().body == "four");
  request const second{.method = "POST", .body = "mine", .kind = request_kind::repeatable_write};
  auto const got = loop.complete(over.send(second));
  CHECK(got.value().body == "mine");
  CHECK(server.connections() == 2);
}

TEST_CASE("what is never answered, or too slowly, ends at the deadline or behind the timeout") {
  struct row {
    std::string_view name;
    hostile_server::script play;
  };
  for (auto const& [name, play] :
       {row{"never answers", hostile::never_answers()}, row{"slow loris", hostile::slow_loris()},
        row{"never reads", hostile::never_reads()},
        row{"length too long", hostile::length_too_long()}}) {
    CAPTURE(name);
    hostile_server server{hostile::at_first(play, hostile::echo())};
    curl_loop loop;
    curl_transport const over{loop, at(server), {.answer_timeout = 150ms, .proxy = ""}};
    for (bool const has_deadline : {false, true}) {
      auto what = asked(request_kind::write);
      what.body = std::string(has_deadline ? 8 : 6'000'000, 'x');
      auto const begun = loop.now();
      if (has_deadline) what.deadline = begun + 60ms;
      if (has_deadline) {
        hostile_server other{play};
        curl_transport const late{loop, at(other), {.proxy = ""}};
        auto const got = loop.complete(late.send(what));
        REQUIRE(!got);
        CHECK(got.error().code == errc::timed_out);
        CHECK(got.error().text == "the deadline passed before the answer came");
        CHECK(loop.now() >= *what.deadline);
      } else {
        auto const got = loop.complete(over.send(what));
        REQUIRE(!got);
        CHECK(got.error().code == errc::outcome_unknown);  // it may have been done
        CHECK(got.error().text == "no answer came within 150 ms");
        what.kind = request_kind::read;
        hostile_server other{play};
        curl_transport const late{loop, at(other), {.answer_timeout = 100ms, .proxy = ""}};
        auto const read = loop.complete(late.send(what));
        REQUIRE(!read);
        CHECK(read.error().code == errc::timed_out);
        what.kind = request_kind::write;
        CHECK(loop.now() - begun >= 150ms);
      }
      CHECK(loop.now() - begun < 5s);
    }
    // Whoever has little time may come too late on a busy machine.
    bool is_good = false;
    for (int i = 0; i < 20 && !is_good; ++i) {
      auto const again = loop.complete(over.send({.method = "POST", .body = "again"}));
      is_good = again && again->body == "again";
    }
    CHECK(is_good);
  }
}

TEST_CASE("a request over an old connection that breaks is not sent twice") {
  for (auto const kind :
       {request_kind::read, request_kind::repeatable_write, request_kind::write}) {
    hostile_server server{[](test::hostile_connection& with) {
      auto const first = with.read_request();
      if (!first || !with.write(hostile::echo_of(*first))) return;
      with.read_request();  // done, and never told
    }};
    curl_loop loop;
    curl_transport const over{loop, at(server), {.proxy = ""}};
    REQUIRE(loop.complete(over.send(asked(kind))).has_value());
    auto const got = loop.complete(over.send(asked(kind)));
    REQUIRE(!got);
    CHECK(got.error().code ==
          (kind == request_kind::read ? errc::not_connected : errc::outcome_unknown));
    CHECK(got.error().text == "the connection was closed before an answer came");
    CHECK(server.requests() == 2);
    CHECK(loop.complete(over.send(asked(kind))).has_value());
    CHECK(server.requests() == 3);
  }
}

TEST_CASE("connections that a server has closed meanwhile cost nothing but a new one") {
  hostile_server server{hostile::closes_when_idle(1)};
  curl_loop loop;
  curl_transport const over{loop, at(server), {.proxy = ""}};
  for (int i = 0; i < 5; ++i) {
    auto const got = loop.complete(over.send(asked(request_kind::write)));
    REQUIRE(got.has_value());
    CHECK(got->body == "a review");
    CHECK(loop.complete(wait_for(loop, 20ms)).has_value());
  }
  CHECK(server.requests() == 5);
  CHECK(server.connections() == 5);
}

TEST_CASE("a reset amid a request's body leaves a write in doubt") {
  hostile_server server{hostile::at_first(hostile::reset_amid_request(), hostile::echo())};
  curl_loop loop;
  curl_transport const over{loop, at(server), {.proxy = ""}};
  auto what = asked(request_kind::write);
  what.body = std::string(8'000'000, 'x');
  auto const got = loop.complete(over.send(what));
  REQUIRE(!got);
  CHECK(got.error().code == errc::outcome_unknown);
  CHECK(loop.complete(over.send(what)).value().body == what.body);
}

TEST_CASE("where nobody listens nothing is connected, and curl says why") {
  std::optional<hostile_server> server{hostile::echo()};
  auto const gone = at(*server);
  server.reset();
  curl_loop loop;
  for (auto const kind : {request_kind::read, request_kind::write}) {
    curl_transport const over{loop, gone, {.proxy = ""}};
    auto const got = loop.complete(over.send(asked(kind)));
    REQUIRE(!got);
    CHECK(got.error().code == errc::not_connected);
    INFO(got.error().to_text().view());
    CHECK(got.error().text.view().find("onnect") != std::string_view::npos);
  }
  curl_transport const unknown{loop,
                               {.is_secure = false, .host = "no.invalid", .port = 80},
                               {.connect_timeout = 3s, .proxy = ""}};
  auto const begun = loop.now();
  auto const got = loop.complete(unknown.send(asked(request_kind::write)));
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_connected);
  CHECK(loop.now() - begun < 5s);
}

TEST_CASE("connecting takes as long as it may, and what was not sent is not in doubt") {
  // A listener whose queue is full answers nobody.
  hostile_server server{hostile::echo()};
  int const listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener, plain, size) == 0);
  REQUIRE(::listen(listener, 0) == 0);
  REQUIRE(::getsockname(listener, plain, &size) == 0);
  std::vector<int> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    static_cast<void>(::connect(waiting.back(), plain, size));
  }
  curl_loop loop;
  service_endpoint const full{
      .is_secure = false, .host = "127.0.0.1", .port = ntohs(address.sin_port)};
  curl_transport const over{loop, full, {.connect_timeout = 100ms, .proxy = ""}};
  auto const begun = loop.now();
  auto const got = loop.complete(over.send(asked(request_kind::write)));
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_connected);
  CHECK(loop.now() - begun >= 99ms);
  CHECK(loop.now() - begun < 5s);
  for (int const one : waiting) ::close(one);
  ::close(listener);
}

TEST_CASE("one server that is bad does not hold up another") {
  hostile_server bad{hostile::never_answers()};
  hostile_server good{hostile::echo()};
  curl_loop loop;
  curl_transport const to_bad{loop, at(bad), {.proxy = ""}};
  curl_transport const to_good{loop, at(good), {.proxy = ""}};
  auto const many = [](curl_transport const& by, keyspan::stop_source then) -> task<int> {
    int answered = 0;
    for (int i = 0; i < 50; ++i) {
      request const what = asked(request_kind::write);
      result<response> const got = co_await by.send(what);
      answered += got.has_value();
    }
    then.request_stop();
    co_return answered;
  };
  auto const one = [](curl_transport const& by, keyspan::stop_token stop) -> task<bool> {
    request what = asked(request_kind::write);
    what.stop = std::move(stop);
    result<response> const got = co_await by.send(what);
    co_return !got.has_value() && got.error().code == errc::stopped;
  };
  keyspan::stop_source stopping;
  auto const ends = loop.complete(when_all(one(to_bad, stopping.token()), many(to_good, stopping)));
  CHECK(ends == std::tuple{true, 50});
}

// A proxy of one's own, as the environment of the test has perhaps another one.
TEST_CASE("a proxy is told the whole address, and what is for the service alone is not for it") {
  hostile_server proxy{hostile::echo()};
  curl_loop loop;
  service_endpoint const shop{.is_secure = false, .host = "shop.invalid", .port = 8'081};
  curl_transport const over{loop, shop, {.proxy = proxy.url()}};
  auto const got = loop.complete(over.send({.target = "/a/../b?c=%20"}));
  REQUIRE(got.has_value());
  CHECK(got->endpoint == "shop.invalid:8081");
  CHECK(proxy.last().target == "http://shop.invalid:8081/a/../b?c=%20");
  CHECK(proxy.last().find("host") == "shop.invalid:8081");

  // With TLS it is asked for a tunnel, and refuses it.
  hostile_server refusing{hostile::says(hostile::answer("no", "403 Forbidden"))};
  service_endpoint const safe{.host = "shop.invalid"};
  curl_transport const tunnel{
      loop, safe, {.proxy = "http://me:" + std::string{secret} + "@" + refusing.authority()}};
  auto const refused = loop.complete(tunnel.send(asked(request_kind::write)));
  REQUIRE(!refused);
  INFO(refused.error().to_text().view());
  CHECK(refused.error().code == errc::not_connected);
  CHECK(refused.error().to_text().view().find(secret) == std::string_view::npos);
  CHECK(refusing.last().method == "CONNECT");
  CHECK(refusing.last().target == "shop.invalid:443");
  CHECK_FALSE(refusing.last().find("authorization").has_value());

  struct row {
    std::string proxy;
    errc code;
  };
  for (auto const& [bad, code] :
       {row{"ftp://me:" + std::string{secret} + "@127.0.0.1:1", errc::invalid_options},
        row{"://" + std::string{secret}, errc::invalid_options},
        row{"http://me:" + std::string{secret} + "@127.0.0.1:1", errc::not_connected},
        row{"http://" + std::string{secret} + "@proxy.invalid:1", errc::not_connected}}) {
    curl_transport const broken{loop, shop, {.proxy = bad}};
    auto const failed = loop.complete(broken.send(asked(request_kind::write)));
    REQUIRE(!failed);
    INFO(failed.error().to_text().view());
    CHECK(failed.error().code == code);
    CHECK(failed.error().to_text().view().find(secret) == std::string_view::npos);
  }
}

TEST_CASE("without an option the environment says which proxy there is, and an empty one is none") {
  hostile_server proxy{hostile::echo()};
  hostile_server server{hostile::echo()};
  REQUIRE(::setenv("http_proxy", proxy.url().c_str(), 1) == 0);
  REQUIRE(::setenv("no_proxy", "", 1) == 0);
  curl_loop loop;
  curl_transport const by_environment{loop, at(server)};
  REQUIRE(loop.complete(by_environment.send({.target = "/a?b"})).has_value());
  CHECK(proxy.last().target == server.url() + "/a?b");
  curl_transport const direct{loop, at(server), {.proxy = ""}};
  REQUIRE(loop.complete(direct.send({.target = "/a?b"})).has_value());
  CHECK(server.last().target == "/a?b");
  ::unsetenv("http_proxy");
  ::unsetenv("no_proxy");
  // The same handle, asked for without a proxy, and as exact.
  curl_transport const plain{loop, at(server)};
  REQUIRE(loop.complete(plain.send({.target = "/a/../b//?"})).has_value());
  CHECK(server.last().target == "/a/../b//?");
}

}  // namespace
