// test/adapter/asio_test.cpp — the clock and the transport over Boost.Asio, against servers that do
// right and wrong.

// Asio's fences are nothing that ThreadSanitizer knows, and without them there are other ways.
#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#define BOOST_ASIO_DISABLE_STD_ATOMIC
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#define BOOST_ASIO_DISABLE_STD_ATOMIC
#endif
#endif

#include <keyspan/adapter/asio.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/transport.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/retrying.hpp>

#include <adapter/hostile_server.hpp>
#include <async/held.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace hostile = test::hostile;
using namespace std::chrono_literals;

using keyspan::asio_clock;
using keyspan::asio_options;
using keyspan::asio_transport;
using keyspan::errc;
using keyspan::request;
using keyspan::request_kind;
using keyspan::response;
using keyspan::result;
using keyspan::sync_wait;
using keyspan::task;
using test::hostile_connection;
using test::hostile_server;

// An io_context and the threads that run it.
class running_context {
 public:
  explicit running_context(int threads = 1) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { io.run(); });
  }
  running_context(running_context const&) = delete;
  running_context& operator=(running_context const&) = delete;
  ~running_context() {
    work_.reset();
    io.stop();
    for (auto& thread : threads_) thread.join();
  }

  auto executor() { return io.get_executor(); }
  bool runs_here() const {
    return std::any_of(threads_.begin(), threads_.end(), [](auto const& thread) {
      return thread.get_id() == std::this_thread::get_id();
    });
  }

  asio::io_context io{};

 private:
  asio::executor_work_guard<asio::io_context::executor_type> work_{io.get_executor()};
  std::vector<std::thread> threads_{};
};

keyspan::service_endpoint place_of(hostile_server const& server) {
  return *keyspan::service_endpoint::parse(server.url());
}

// A server, and a transport to it.
struct connected {
  explicit connected(hostile_server::script play, asio_options options = {}, int threads = 1)
      : server{std::move(play)}, on{threads}, wire{on.executor(), place_of(server), options} {}

  result<response> send(request what) { return sync_wait(wire.send(std::move(what))); }

  hostile_server server;
  running_context on;
  asio_transport wire;
};

constexpr std::string_view secret = "type=master&sig=0rnc8xYq3kA=";

request asked_for(request_kind kind, std::string body = "a review") {
  request made{.method = kind == request_kind::read ? "GET" : "POST",
               .target = "/reviews",
               .body = kind == request_kind::read ? std::string{} : std::move(body),
               .kind = kind};
  made.headers.add("Authorization", secret);
  made.deadline = std::chrono::steady_clock::now() + 20s;
  return made;
}
request echoed(std::string body) {
  return {.method = "POST", .target = "/echo", .body = std::move(body)};
}

template <class F>
bool is_soon(F const& so, std::chrono::milliseconds within = 5s) {
  auto const end = std::chrono::steady_clock::now() + within;
  while (!so() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  return so();
}

TEST_CASE("a clock by Asio's timers keeps the laws of a clock") {
  running_context on;
  asio_clock const clock{on.executor()};
  SECTION("a wait ends at its moment or later, and one for the past soon") {
    auto const begun = clock.now();
    CHECK(sync_wait(keyspan::wait_for(clock, 10ms)).has_value());
    CHECK(clock.now() >= begun + 10ms);
    CHECK(sync_wait(clock.wait_until(begun)).has_value());
    CHECK(sync_wait(clock.wait_until((keyspan::instant::min)())).has_value());
  }
  SECTION("a stop that was requested before ends it, also where it is for the past") {
    keyspan::stop_source source;
    source.request_stop();
    for (auto const due : {keyspan::instant::min(), clock.now() + 1h}) {
      auto const waited = sync_wait(clock.wait_until(due, source.token()));
      REQUIRE(!waited);
      CHECK(waited.error().code == errc::stopped);
    }
  }
  SECTION("a stop from another thread ends it at once, however late it was to end") {
    for (auto const due : {clock.now() + 1h, keyspan::instant::max()}) {
      keyspan::stop_source source;
      std::thread stopper{[&] {
        std::this_thread::sleep_for(2ms);
        source.request_stop();
      }};
      auto const waited = sync_wait(clock.wait_until(due, source.token()));
      stopper.join();
      REQUIRE(!waited);
      CHECK(waited.error().code == errc::stopped);
    }
  }
}

TEST_CASE("who waits by Asio's clock goes on in the executor, whatever ended the wait") {
  running_context on;
  asio_clock const clock{on.executor()};
  auto const goes_on_there = [](running_context& in, asio_clock const& by, keyspan::instant due,
                                keyspan::stop_token stop) -> task<bool> {
    static_cast<void>(co_await by.wait_until(due, std::move(stop)));
    co_return in.runs_here();
  };
  keyspan::stop_source stopped;
  stopped.request_stop();
  CHECK(sync_wait(goes_on_there(on, clock, clock.now() + 1ms, {})));
  CHECK(sync_wait(goes_on_there(on, clock, {}, {})));
  CHECK(sync_wait(goes_on_there(on, clock, {}, stopped.token())));
}

TEST_CASE("a wait by Asio's clock ends once, whether the moment or the stop comes first") {
  running_context on{2};
  asio_clock const clock{on.executor()};
  int ended = 0;
  for (int round = 0; round < 200; ++round) {
    keyspan::stop_source source;
    auto const due = clock.now() + 200us;
    std::thread stopper{[&] {
      while (clock.now() < due - 50us) std::this_thread::yield();
      source.request_stop();
    }};
    auto const waited = sync_wait(clock.wait_until(due, source.token()));
    stopper.join();
    if (waited || waited.error().code == errc::stopped) ++ended;
  }
  CHECK(ended == 200);
}

TEST_CASE("who waits by Asio's clock may be destroyed, and leaves no timer behind") {
  asio::io_context io;
  asio_clock const clock{io.get_executor()};
  auto const wait = [](asio_clock const& by) -> test::held {
    static_cast<void>(co_await keyspan::wait_for(by, 1h));
  };
  SECTION("before its loop has begun") {
    {
      auto const gone = wait(clock);
    }
    io.run();  // would take an hour
  }
  SECTION("while the timer runs") {
    auto waiting = wait(clock);
    io.poll();
    CHECK(!waiting.is_done());
    waiting = test::held{};
    io.run();
  }
  SECTION("behind its loop") {
    auto lost = std::make_unique<asio::io_context>();
    auto const waiting = wait(asio_clock{lost->get_executor()});
    lost->poll();
    lost.reset();
    CHECK(!waiting.is_done());
  }
}

TEST_CASE("a program whose loop is Asio's sends by it, and waits by its clock between attempts") {
  hostile_server const server{[](hostile_connection& with) {
    for (int i = 0; with.read_request(); ++i)
      with.write(i < 2 ? hostile::answer("", "503 Service Unavailable") : hostile::answer("four"));
  }};
  running_context shop;
  auto const url = server.url();
  // [region: example]
  auto const endpoint = keyspan::service_endpoint::parse(url);
  keyspan::asio_clock clock{shop.io.get_executor()};
  keyspan::asio_transport wire{shop.io.get_executor(), *endpoint, {.most_connections = 8}};
  keyspan::retrying patient{wire, keyspan::retry_policy{.most_attempts = 5}, clock};

  // On a thread that does not run the io_context; in a coroutine it is co_await.
  auto const answer = keyspan::sync_wait(patient.send({.target = "/articles/redmond/reviews"}));
  // [end: example]
  REQUIRE(answer.has_value());
  CHECK(answer->body == "four");
  CHECK(answer->attempts == 3);
}

TEST_CASE("a transport by Asio keeps the laws of a transport") {
  int const threads = GENERATE(1, 3);
  connected to{hostile::echo(), {}, threads};
  // [region: law]
  auto const held = keyspan::law::check_transport(
      to.wire,
      [](std::string body) {
        return request{.method = "POST", .target = "/echo", .body = std::move(body)};
      },
      {.served = [&] { return to.server.requests(); },
       .refused = [] { return request{.target = "/refused"}; },
       .unanswered = [] { return request{.target = "/unanswered"}; }});
  // [end: law]
  INFO(held.text());
  CHECK(held);
}

TEST_CASE("what a request holds stands in the message, and nothing that it does not ask for") {
  connected to{hostile::echo()};
  request asked{.method = "PATCH", .target = "/dbs/shop?x=%20&y", .body = "{}"};
  asked.headers.add("x-ms-date", "Thu, 19 Nov 2026");
  asked.headers.add("Accept", "a");
  asked.headers.add("accept", "b");
  REQUIRE(to.send(asked).has_value());
  CHECK(to.server.last().head ==
        "PATCH /dbs/shop?x=%20&y HTTP/1.1\r\nHost: " + to.server.authority() +
            "\r\nUser-Agent: keyspan/" KEYSPAN_VERSION_STRING
            "\r\nx-ms-date: Thu, 19 Nov 2026\r\nAccept: a\r\naccept: b\r\n"
            "Content-Length: 2\r\n");
  request own{.method = "HEAD", .target = "/"};
  own.headers.add("host", "shop.example");
  own.headers.add("user-agent", "mine/1");
  auto const got = to.send(own);
  REQUIRE(got.has_value());
  CHECK(got->body.empty());
  CHECK(got->endpoint == to.server.authority());
  CHECK(to.server.last().head == "HEAD / HTTP/1.1\r\nhost: shop.example\r\nuser-agent: mine/1\r\n");
  request empty{.method = "POST"};
  empty.headers.add("content-length", "0");
  CHECK(to.send(empty).has_value());
  CHECK(to.server.last().find("content-length") == "0");
}

TEST_CASE("a request that smuggles another one in is refused before anything is sent") {
  connected to{hostile::echo()};
  auto const header = [](std::string name, std::string value) {
    request made;
    made.headers.add(name, value);
    return made;
  };
  std::string const mine{secret};
  std::vector<request> const bad{
      {.method = "GET / HTTP/1.1\r\nX: "},
      {.method = ""},
      {.method = "G\nT"},
      {.target = "/ HTTP/1.1\r\nX: y\r\n\r\n"},
      {.target = "/a b"},
      {.target = "/\n"},
      {.target = std::string{"/\0", 2}},
      {.target = ""},
      {.target = "http://elsewhere/"},
      header("X", mine + "\r\nEvil: 1"),
      header("X", mine + "\n"),
      header("X", mine + "\r"),
      header("X", mine + std::string(1, '\0')),
      header("X: y\r\nEvil", mine),
      header("X Y", mine),
      header("", mine),
      header("X\n", mine),
      header("Transfer-Encoding", "chunked"),
      header("Expect", "100-continue"),
      {.method = "HEAD", .body = "none"},
      {.target = "/a#b"},
      {.target = "/\xC3\xA4"},
      header("content-length", "7"),
  };
  for (auto const& one : bad) {
    auto const got = to.send(one);
    REQUIRE(!got);
    CHECK(got.error().code == errc::bad_request);
    CHECK(got.error().to_text().view().find(secret) == std::string_view::npos);
  }
  CHECK(to.server.connections() == 0);
  CHECK(to.send(echoed("sound")).has_value());
}

// What a server does, and how a read and a write of ours end by it.
struct fault {
  std::string_view name;
  hostile_server::script play;
  errc read;
  errc write;
  bool is_waited_for = false;  // until the deadline
};

std::vector<fault> faults() {
  auto const broken = [](std::string_view name, hostile_server::script play) {
    return fault{name, std::move(play), errc::not_connected, errc::outcome_unknown};
  };
  auto const nonsense = [](std::string_view name, hostile_server::script play) {
    return fault{name, std::move(play), errc::bad_response, errc::bad_response};
  };
  auto const excess = [](std::string_view name, hostile_server::script play) {
    return fault{name, std::move(play), errc::too_large, errc::too_large};
  };
  auto const wait = [](std::string_view name, hostile_server::script play) {
    return fault{name, std::move(play), errc::timed_out, errc::timed_out, true};
  };
  return {
      broken("truncated body", hostile::truncated_body()),
      broken("truncated chunk", hostile::truncated_chunk()),
      broken("reset before headers", hostile::reset_before_headers()),
      broken("reset amid headers", hostile::reset_amid_headers()),
      broken("reset after headers", hostile::reset_after_headers()),
      broken("closed without a word", hostile::closes_without_a_word()),
      nonsense("two lengths", hostile::two_lengths()),
      nonsense("length is no number", hostile::length_is_no_number()),
      nonsense("bad chunk", hostile::bad_chunk()),
      nonsense("invalid header", hostile::invalid_header()),
      nonsense("no HTTP", hostile::no_http()),
      nonsense("noise", hostile::binary_noise()),
      nonsense("status of nonsense", hostile::status_of_nonsense()),
      nonsense("endless continues", hostile::endless_continues()),
      nonsense("another protocol",
               hostile::says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")),
      excess("endless headers", hostile::endless_headers()),
      excess("endless header line", hostile::endless_header_line()),
      excess("large body", hostile::large_body(3'000'000)),
      excess("large body without its length", hostile::large_body(3'000'000, false)),
      excess("endless chunk line",
             [](hostile_connection& with) {
               with.read_request();
               with.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;");
               std::string const more(10'000, 'x');
               while (with.write(more)) {
               }
             }),
      wait("length too long", hostile::length_too_long()),
      wait("slow loris", hostile::slow_loris()),
      wait("never answers", hostile::never_answers()),
      wait("never reads", hostile::never_reads()),
  };
}

TEST_CASE("whatever a server does wrong has a name, ends soon and leaves the transport sound") {
  for (auto const& one : faults()) {
    for (auto const kind : {request_kind::read, request_kind::write}) {
      INFO(one.name << (kind == request_kind::read ? ", a read" : ", a write"));
      connected to{hostile::at_first(one.play, hostile::echo()), {.largest_body = 2'000'000}};
      request asked = asked_for(kind);
      auto begun = std::chrono::steady_clock::now();
      auto const send = [&] {
        begun = std::chrono::steady_clock::now();
        if (one.is_waited_for) asked.deadline = begun + 100ms;
        return to.send(asked);
      };
      auto got = send();
      // On a busy machine the deadline may pass before that, and the fault is still to come.
      while (!got && got.error().text == "the deadline passed before it was sent") got = send();
      REQUIRE(!got);
      CHECK(name_of(got.error().code) ==
            name_of(kind == request_kind::read ? one.read : one.write));
      CHECK(std::chrono::steady_clock::now() - begun < 5s);
      CHECK(got.error().wire.endpoint == to.server.authority());
      CHECK(!got.error().text.empty());
      CHECK(got.error().to_text().view().find(secret) == std::string_view::npos);
      CHECK(to.server.requests() <= 1);
      auto const next = to.send(echoed("again"));
      REQUIRE(next.has_value());
      CHECK(next->body == "again");
    }
  }
}

TEST_CASE("a reset before the request was taken is no connection, or in doubt for a write") {
  connected to{hostile::at_first(hostile::reset_at_once(), hostile::echo(), 2)};
  auto const read = to.send(asked_for(request_kind::read));
  REQUIRE(!read);
  CHECK(read.error().code == errc::not_connected);
  auto const write = to.send(asked_for(request_kind::write));
  REQUIRE(!write);
  CHECK((write.error().code == errc::not_connected || write.error().code == errc::outcome_unknown));
  CHECK(to.send(echoed("again")).has_value());
}

TEST_CASE("a write whose body is cut off by a reset is in doubt") {
  connected to{hostile::at_first(hostile::reset_amid_request(), hostile::echo())};
  auto const got = to.send(asked_for(request_kind::write, std::string(30'000'000, 'w')));
  REQUIRE(!got);
  CHECK(got.error().code == errc::outcome_unknown);
  CHECK(to.send(echoed("again")).has_value());
}

TEST_CASE("whatever a server answers by the rules is a response") {
  SECTION("chunks are put together, and what is behind them is read") {
    connected to{hostile::chunks()};
    for (int i = 0; i < 2; ++i) {
      auto const got = to.send(asked_for(request_kind::read));
      REQUIRE(got.has_value());
      CHECK(got->body == "hello world");
    }
    CHECK(to.server.connections() == 1);
  }
  SECTION("a body may end where the connection does") {
    connected to{hostile::until_closed()};
    for (std::string const body : {"one", ""}) {
      auto const got = to.send(echoed(body));
      REQUIRE(got.has_value());
      CHECK(got->body == body);
    }
    CHECK(to.server.connections() == 2);
  }
  SECTION("what a service says before its answer is left out") {
    connected to{hostile::informs_first()};
    for (int i = 0; i < 3; ++i) {
      auto const got = to.send(echoed("answer"));
      REQUIRE(got.has_value());
      CHECK(got->status == 200);
      CHECK(got->body == "answer");
      CHECK(!got->headers.find("X-Early"));
    }
    CHECK(to.server.connections() == 1);
  }
  SECTION("a redirect is not followed") {
    connected to{hostile::endless_redirects()};
    auto const got = to.send(asked_for(request_kind::read));
    REQUIRE(got.has_value());
    CHECK(got->status == 301);
    CHECK(got->headers.find("location") == "/reviews");
    CHECK(to.server.requests() == 1);
  }
  SECTION("a proxy's page is handed on as it is") {
    connected to{hostile::proxy_page()};
    auto const got = to.send(asked_for(request_kind::write));
    REQUIRE(got.has_value());
    CHECK(got->status == 502);
    CHECK(got->body.starts_with("<html>"));
  }
  SECTION("headers of one name are all there, in their order") {
    connected to{hostile::says(hostile::answer("", "204 No Content", "A: 1\r\nB: 2\r\na: 3\r\n"))};
    auto const got = to.send(asked_for(request_kind::read));
    REQUIRE(got.has_value());
    CHECK(got->status == 204);
    std::string all;
    for (auto const& field : got->headers)
      if (field.name.size() == 1) all += field.name + field.value;
    CHECK(all.find("A1") < all.find("a3"));
    CHECK(all.find("B2") != std::string::npos);
  }
  SECTION("an answer may come before the request was read to its end") {
    connected to{[](hostile_connection& with) {
      if (!with.read_head()) return;
      with.write(hostile::answer("too much", "413 Content Too Large"));
      with.pause(10s);
    }};
    auto const got = to.send(asked_for(request_kind::write, std::string(30'000'000, 'w')));
    REQUIRE(got.has_value());
    CHECK(got->status == 413);
  }
  SECTION("more than its length says is no answer to anything") {
    connected to{hostile::length_too_short()};
    for (int i = 0; i < 5; ++i) {
      auto const got = to.send(asked_for(request_kind::read));
      REQUIRE(got.has_value());
      CHECK(got->body == "four");
    }
    CHECK(to.server.connections() == 5);
  }
  SECTION("an answer that nobody asked for is given to nobody") {
    std::atomic<int> traps = 0;
    connected to{[&](hostile_connection& with) {
      while (auto const read = with.read_request()) {
        with.write(hostile::echo_of(*read));
        with.pause(5ms);
        with.write(hostile::answer("a trap"));
        ++traps;
      }
    }};
    for (int i = 0; i < 20; ++i) {
      auto const got = to.send(echoed("round " + std::to_string(i)));
      REQUIRE(got.has_value());
      CHECK(got->body == "round " + std::to_string(i));
      CHECK(is_soon([&] { return traps > i; }));
    }
  }
}

TEST_CASE("where nobody listens there is no connection") {
  running_context on;
  std::string url;
  {
    hostile_server const gone{hostile::echo()};
    url = gone.url();
  }
  asio_transport wire{on.executor(), *keyspan::service_endpoint::parse(url)};
  auto const got = sync_wait(wire.send(asked_for(request_kind::write)));
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_connected);
  CHECK(url.ends_with(got.error().wire.endpoint.view()));

  asio_transport lost{on.executor(), {.is_secure = false, .host = "nowhere.invalid", .port = 80}};
  auto const unknown = sync_wait(lost.send(asked_for(request_kind::write)));
  REQUIRE(!unknown);
  CHECK(unknown.error().code == errc::not_connected);
}

TEST_CASE("a connection is used again, and closed when nobody has used it for a while") {
  connected to{hostile::echo(), {.idle_timeout = 100ms}};
  for (int i = 0; i < 10; ++i) CHECK(to.send(echoed("one after the other")).has_value());
  CHECK(to.server.connections() == 1);
  std::this_thread::sleep_for(300ms);
  CHECK(to.send(echoed("later")).has_value());
  CHECK(to.server.connections() == 2);
}

TEST_CASE("a kept connection that the service has closed is not used") {
  connected to{hostile::closes_when_idle(1)};
  std::size_t unknown = 0;
  for (int i = 0; i < 50; ++i) {
    if (i % 2 == 1) std::this_thread::sleep_for(3ms);
    auto const got = to.send(asked_for(request_kind::write));
    // It may close when the write is under way.
    if (!got && got.error().code == errc::outcome_unknown) ++unknown;
    CHECK((got || got.error().code == errc::outcome_unknown));
  }
  CHECK(unknown <= 25);
  CHECK(to.server.requests() + unknown == 50);  // nothing twice
}

// Ready when the coroutine is done, on this thread; the loop sleeps before and behind that.
void run_until(asio::io_context& io, bool const& is_done) {
  io.restart();
  while (!is_done) io.run_one_for(10ms);
}

TEST_CASE("what came while the loop slept is no answer, and a connection that ended is not used") {
  bool const is_closed = GENERATE(false, true);
  std::atomic<std::size_t> traps = 0;
  hostile_server const server{[&](hostile_connection& with) {
    while (auto const read = with.read_request()) {
      with.write(hostile::echo_of(*read));
      with.pause(5ms);
      if (is_closed) {
        with.close();
      } else {
        with.write(hostile::answer("a trap"));
      }
      ++traps;
    }
  }};
  asio::io_context io;
  asio_transport wire{io.get_executor(), place_of(server)};
  auto const send = [](asio_transport& over, std::string& got, bool& is_done) -> test::held {
    request const asked{
        .method = "POST", .target = "/", .body = "mine", .kind = request_kind::write};
    auto const answer = co_await over.send(asked);
    got = answer ? answer->body : std::string{name_of(answer.error().code)};
    is_done = true;
  };
  for (std::size_t i = 1; i <= 5; ++i) {
    std::string got;
    bool is_done = false;
    auto const sending = send(wire, got, is_done);
    run_until(io, is_done);
    CHECK(got == "mine");
    CHECK(server.connections() == i);
    CHECK(is_soon([&] { return traps == i; }));
  }
}

// Answers once on each connection, takes the second request, and says nothing to it.
hostile_server::script closes_on_the_second() {
  return [](hostile_connection& with) {
    auto const first = with.read_request();
    if (!first || !with.write(hostile::echo_of(*first))) return;
    with.read_request();
  };
}

TEST_CASE("a read whose kept connection breaks goes once more on a new one, a write does not") {
  connected to{closes_on_the_second()};
  REQUIRE(to.send(echoed("first")).has_value());
  auto const read = to.send(asked_for(request_kind::read));
  REQUIRE(read.has_value());
  CHECK(read->attempts == 2);
  CHECK(to.server.requests() == 3);
  auto const write = to.send(asked_for(request_kind::write));
  REQUIRE(!write);
  CHECK(write.error().code == errc::outcome_unknown);
  CHECK(to.server.requests() == 4);
  CHECK(to.server.connections() == 2);
}

TEST_CASE("a read goes no third time") {
  connected to{[](hostile_connection& with) {
    auto const first = with.read_request();
    if (!first || with.number() > 0) return;
    with.write(hostile::echo_of(*first));
    with.read_request();
  }};
  REQUIRE(to.send(echoed("first")).has_value());
  auto const read = to.send(asked_for(request_kind::read));
  REQUIRE(!read);
  CHECK(read.error().code == errc::not_connected);
  CHECK(to.server.requests() == 3);
}

task<int> send_many(asio_transport& over, int from, int count) {
  int right = 0;
  for (int i = 0; i < count; ++i) {
    std::string const body = std::to_string(from) + ' ' + std::to_string(i);
    request const asked = echoed(body);
    auto const got = co_await over.send(asked);
    if (got && got->body == body) ++right;
  }
  co_return right;
}

TEST_CASE("many at once each get their own answer, over as many connections as are allowed") {
  int const threads = GENERATE(1, 4);
  std::size_t const most = GENERATE(1u, 7u, 64u);
  connected to{hostile::echo(), {.most_connections = most}, threads};
  std::vector<task<int>> all;
  for (int i = 0; i < 64; ++i) all.push_back(send_many(to.wire, i, 10));
  auto const right = sync_wait(keyspan::when_all(std::move(all)));
  CHECK(std::count(right.begin(), right.end(), 10) == 64);
  CHECK(to.server.connections() <= most);
  CHECK(to.server.requests() == 640);
}

TEST_CASE("several threads send over one transport") {
  connected to{hostile::echo(), {.most_connections = 3}, 3};
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { right += sync_wait(send_many(to.wire, i, 50)); });
  for (auto& thread : threads) thread.join();
  CHECK(right == 200);
}

TEST_CASE("who sends goes on in the executor") {
  connected to{hostile::echo()};
  auto const goes_on_there = [](connected& with, request const asked) -> task<bool> {
    static_cast<void>(co_await with.wire.send(asked));
    co_return with.on.runs_here();
  };
  CHECK(sync_wait(goes_on_there(to, echoed("a"))));
  request late = echoed("late");
  late.deadline = keyspan::instant::min();
  CHECK(sync_wait(goes_on_there(to, late)));
}

TEST_CASE("a request that is stopped or late leaves the others alone, and makes room for them") {
  connected to{hostile::echo(), {.most_connections = 1}};
  keyspan::stop_source stopping;
  request silent{.target = "/unanswered"};
  silent.stop = stopping.token();
  auto const late = [](asio_transport& over, std::optional<keyspan::instant> until,
                       keyspan::stop_source then) -> task<result<response>> {
    request asked = echoed("waits for its turn");
    asked.deadline = until;
    auto got = co_await over.send(asked);
    then.request_stop();
    co_return got;
  };
  auto const send = [](asio_transport& over, request const asked) -> task<result<response>> {
    auto got = co_await over.send(asked);
    co_return got;
  };
  auto const soon = std::chrono::steady_clock::now() + 50ms;
  auto const all = sync_wait(
      when_all(send(to.wire, silent), late(to.wire, soon, stopping), late(to.wire, {}, stopping)));
  REQUIRE(!std::get<0>(all));
  CHECK(std::get<0>(all).error().code == errc::stopped);
  REQUIRE(!std::get<1>(all));
  CHECK(std::get<1>(all).error().code == errc::timed_out);
  CHECK(std::get<1>(all).error().wire.status == 0);
  CHECK(std::get<2>(all).has_value());
  CHECK(is_soon([&] { return to.server.requests() == 2; }));  // the late one was never sent
}

TEST_CASE("a stop on another thread ends a request, wherever it is by then") {
  connected to{hostile::echo(), {.most_connections = 2}, 2};
  for (int round = 0; round < 200; ++round) {
    keyspan::stop_source stopping;
    request asked = echoed(std::string(50'000, 'r'));
    asked.stop = stopping.token();
    std::thread stopper{[&] {
      auto const until = std::chrono::steady_clock::now() + round * 3us;
      while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
      stopping.request_stop();
    }};
    auto const got = to.send(asked);
    stopper.join();
    CHECK((got || got.error().code == errc::stopped));
  }
  CHECK(to.send(echoed("again")).has_value());
}

TEST_CASE("a request without a deadline ends by the time that the options allow") {
  connected to{hostile::never_answers(), {.answer_timeout = 50ms}};
  auto const got = to.send({});
  REQUIRE(!got);
  CHECK(got.error().code == errc::timed_out);
  CHECK(got.error().text == "no answer came within 50 ms");
  auto const written = to.send({.method = "POST", .kind = request_kind::write});
  REQUIRE(!written);
  CHECK(written.error().code == errc::outcome_unknown);  // it may have been done
}

test::held begin(asio_transport& over, request const asked, bool& is_answered) {
  static_cast<void>(co_await over.send(asked));
  is_answered = true;
}

TEST_CASE("who sends may be destroyed in flight, and what comes then is dropped") {
  bool is_answered = false;
  asio::io_context io;
  std::atomic<bool> has_ended = false;
  hostile_server const server{[&](hostile_connection& with) {
    auto const read = with.read_request();
    if (!read) return;
    if (read->target == "/echo") return void(with.write(hostile::echo_of(*read)));
    with.wait_for_the_end();
    has_ended = true;
  }};
  std::optional<asio_transport> wire;
  wire.emplace(io.get_executor(), place_of(server));
  SECTION("before the loop has run") {
    {
      auto const gone = begin(*wire, {.target = "/unanswered"}, is_answered);
    }
    io.run_for(50ms);
    CHECK(!is_answered);
  }
  SECTION("when it was sent: its connection is closed") {
    {
      auto const sending = begin(*wire, {.target = "/unanswered"}, is_answered);
      while (server.requests() == 0) io.run_for(1ms);
    }
    CHECK(is_soon([&] {
      io.restart();
      io.run_for(1ms);
      return has_ended.load();
    }));
    CHECK(!is_answered);
  }
  SECTION("and then the transport, and then the loop") {
    auto sending = begin(*wire, {.target = "/unanswered"}, is_answered);
    while (server.requests() == 0) io.run_for(1ms);
    sending = test::held{};
    wire.reset();
    io.restart();
    io.run();  // which has nothing left to wait for
    CHECK(!is_answered);
  }
  if (wire) {
    auto const sending = begin(*wire, echoed("again"), is_answered);
    CHECK(is_soon([&] {
      io.restart();
      io.run_for(1ms);
      return is_answered;
    }));
  }
}

TEST_CASE("a loop that goes with all it has in flight takes what it holds with it") {
  hostile_server const server{hostile::never_answers()};
  bool is_answered = false;
  auto io = std::make_unique<asio::io_context>();
  auto wire = std::make_unique<asio_transport>(io->get_executor(), place_of(server));
  auto const first = begin(*wire, {}, is_answered);
  auto const second = begin(*wire, {}, is_answered);
  io->run_for(20ms);
  auto const third = begin(*wire, {}, is_answered);
  wire.reset();
  io.reset();
  CHECK(!is_answered);
  CHECK(!first.is_done());
}

}  // namespace
