// test/example/cosmos_server_test.cpp — the program of docs/example/cosmos_server.cpp, from
// outside: how it begins and ends, and that whoever sends what is no request does no harm.
#include "program.hpp"

#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

std::string const secret = "bm90IG11Y2ggb2YgYSBzZWNyZXQ=";

// One connection to a port of this machine, by hand.
class wire {
 public:
  explicit wire(std::uint16_t port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  wire(wire const&) = delete;
  wire& operator=(wire const&) = delete;
  ~wire() { ::close(socket_); }

  bool is_open() const { return is_open_; }
  // False where nobody takes it any more.
  bool write(std::string_view text) {
    while (!text.empty()) {
      auto const size = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (size <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }
  void end_writing() { ::shutdown(socket_, SHUT_WR); }
  // All that comes until the other side closes, or until `enough` stands in it. What has not come
  // within some seconds does not come.
  std::string read(std::string_view enough = {}) {
    std::string all;
    auto const until = steady_clock::now() + 10s;
    while (enough.empty() || all.find(enough) == all.npos) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now());
      pollfd ready{socket_, POLLIN, 0};
      if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
        all += "(the connection stays open)";
        break;
      }
      std::array<char, 65'536> block;
      auto const size = ::recv(socket_, block.data(), block.size(), 0);
      if (size <= 0) break;
      all.append(block.data(), static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  int socket_;
  bool is_open_ = false;
};

struct server {
  test::program program;
  std::uint16_t port = 0;

  explicit server(std::vector<std::string> more = {}, std::uint16_t at = 0)
      : program{words(std::move(more), at)}, port{at} {
    std::string const& said = program.lines(1);
    REQUIRE(said.starts_with("ready"));
    if (at == 0) port = static_cast<std::uint16_t>(std::stoi(said.substr(6)));
  }
  static std::vector<std::string> words(std::vector<std::string> more, std::uint16_t at) {
    std::vector<std::string> all{COSMOS_SERVER_PROGRAM, "--port", std::to_string(at), "--key",
                                 secret};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // What comes back for some bytes, after which nothing more is sent.
  std::string answer(std::string_view bytes) {
    wire to{port};
    REQUIRE(to.is_open());
    to.write(bytes);
    to.end_writing();
    return to.read();
  }
  bool serves() { return answer(account()).starts_with("HTTP/1.1 200 "); }

  // A request that is answered by 200.
  static std::string account(std::string_view more = "connection: close\r\n") {
    return bytes_of(keyspan::cosmos::read_account(), more);
  }
  static std::string bytes_of(keyspan::cosmos::service_request asked, std::string_view more) {
    auto const now =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    auto& message = asked.message;
    authorize(message, *keyspan::cosmos::master_key::from(secret), asked.about, asked.link, now);
    std::string text = message.method + " " + message.target + " HTTP/1.1\r\nhost: x\r\n";
    for (auto const& field : message.headers)
      text.append(field.name).append(": ").append(field.value).append("\r\n");
    if (!message.body.empty())
      text.append("content-length: ").append(std::to_string(message.body.size())).append("\r\n");
    return text.append(more).append("\r\n").append(message.body);
  }
};

bool refuses(std::string const& answer, std::string_view status) {
  CAPTURE(answer);
  CHECK(answer.find("{\"code\":\"") != std::string::npos);
  CHECK(answer.find("\"message\":\"") != std::string::npos);
  return answer.starts_with("HTTP/1.1 " + std::string{status});
}

TEST_CASE("the server says where it listens, and ends when it is asked to") {
  server running;
  CHECK(running.port != 0);
  CHECK(running.serves());
  auto const told = running.answer(server::account());
  CHECK(told.find("http://127.0.0.1:" + std::to_string(running.port) + "/") != told.npos);
  CHECK(told.find("content-type: application/json") != told.npos);
  wire idle{running.port};
  running.program.terminate();
  CHECK(running.program.finish().status == 0);
}

TEST_CASE("a server that is started wrongly says how it is started") {
  for (std::vector<std::string> const& words :
       std::vector<std::vector<std::string>>{{},
                                             {"--port"},
                                             {"--port", "0"},
                                             {"--key", secret},
                                             {"--port", "0", "--key", "not base64!"},
                                             {"--port", "65536", "--key", secret},
                                             {"--port", "x", "--key", secret},
                                             {"--port", "0", "--key", secret, "--partitions", "0"},
                                             {"--port", "0", "--key", secret, "--journal", ""},
                                             {"--port", "0", "--key", secret, "--sing", "1"}}) {
    std::vector<std::string> all{COSMOS_SERVER_PROGRAM};
    all.insert(all.end(), words.begin(), words.end());
    test::program running{all};
    auto const end = running.finish();
    CHECK(end.status == 2);
    CHECK(end.out.empty());
    CHECK_FALSE(end.err.empty());
    CHECK(end.err.find(secret) == end.err.npos);
  }
}

TEST_CASE("a second server on a port says that it is taken") {
  server running;
  test::program second{
      {COSMOS_SERVER_PROGRAM, "--port", std::to_string(running.port), "--key", secret}};
  auto const end = second.finish();
  CHECK(end.status == 1);
  CHECK_FALSE(end.err.empty());
}

TEST_CASE("a connection serves one request after another") {
  server running;
  wire to{running.port};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(to.write(server::account("")));
    CHECK(to.read("queryEngineConfiguration").starts_with("HTTP/1.1 200 "));
  }
  // Two at once.
  wire other{running.port};
  CHECK(other.write(server::account("") + server::account()));
  auto const both = other.read();
  CHECK(both.find("HTTP/1.1 200 ", 20) != both.npos);
}

TEST_CASE("what is not signed is refused") {
  server running;
  CHECK(
      refuses(running.answer("GET /dbs HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"), "401"));
  CHECK(refuses(running.answer("BREW / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"), "401"));
}

TEST_CASE("what is no request of HTTP is refused") {
  server running;
  for (std::string_view const bytes :
       {"nonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\nx",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nhost: x\r\n\x01: y\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        "GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET / HTTP/1.1\r\nhost: x\r\ncontent"}) {
    CAPTURE(bytes);
    CHECK(refuses(running.answer(bytes), "400"));
  }
  CHECK(running.serves());
}

TEST_CASE("a body that ends too soon is refused") {
  server running;
  CHECK(
      refuses(running.answer("POST /dbs HTTP/1.1\r\ncontent-length: 100\r\n\r\n{\"id\":"), "400"));
  CHECK(refuses(running.answer("POST /dbs HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab"),
                "400"));
  CHECK(running.serves());
}

TEST_CASE("what is too large is refused before it is read") {
  server running;
  {
    wire to{running.port};
    to.write("POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n\r\n");
    CHECK(refuses(to.read(), "413"));
  }
  {
    wire to{running.port};
    to.write("GET / HTTP/1.1\r\nx: ");
    std::string const much(10'000, 'x');
    for (int i = 0; i < 20 && to.write(much); ++i) {
    }
    auto const answer = to.read();
    // Who is still writing when the connection is closed may not see why.
    CHECK((answer.empty() || refuses(answer, "431")));
  }
  {
    wire to{running.port};
    to.write("POST /dbs HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    std::string chunk = "10000\r\n" + std::string(65'536, 'x') + "\r\n";
    int sent = 0;
    while (sent < 1000 && to.write(chunk)) ++sent;
    CHECK(sent < 1000);
    auto const answer = to.read();
    CHECK((answer.empty() || refuses(answer, "413")));
  }
  CHECK(running.serves());
}

TEST_CASE("a large body is taken, and asked for where its sender waits") {
  server running;
  std::string const body(3'000'000, 'x');
  wire to{running.port};
  to.write(
      "POST /dbs HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: 100-continue\r\n"
      "content-length: 3000000\r\n\r\n");
  CHECK(to.read("\r\n\r\n").starts_with("HTTP/1.1 100 "));
  CHECK(to.write(body));
  CHECK(refuses(to.read(), "401"));
}

TEST_CASE("who is slow is waited for, but not for ever") {
  server running{{"--request-ms", "300", "--idle-ms", "600"}};
  // A byte now and then: it is the whole request that has its time.
  wire slow{running.port};
  auto const began = steady_clock::now();
  auto const request = server::account();
  std::size_t sent = 0;
  while (sent < request.size() && steady_clock::now() - began < 10s) {
    if (!slow.write(request.substr(sent++, 1))) break;
    std::array<pollfd, 1> closed{{{-1, 0, 0}}};
    poll(closed.data(), closed.size(), 20);
  }
  CHECK(sent < request.size());
  CHECK(steady_clock::now() - began < 5s);
  CHECK(slow.read().empty());
  // And who says nothing at all.
  wire silent{running.port};
  auto const from = steady_clock::now();
  CHECK(silent.read().empty());
  CHECK(steady_clock::now() - from >= 400ms);
  CHECK(steady_clock::now() - from < 5s);
  // And who does not send the body.
  wire half{running.port};
  half.write("POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{");
  CHECK(half.read().empty());
  CHECK(running.serves());
}

TEST_CASE("there are so many connections and no more") {
  server running{{"--connections", "4"}};
  {
    std::vector<std::unique_ptr<wire>> flood;
    for (int i = 0; i < 100; ++i) flood.push_back(std::make_unique<wire>(running.port));
    std::size_t closed = 0;
    for (std::size_t i = 4; i < flood.size(); ++i) closed += flood[i]->read().empty() ? 1u : 0u;
    CHECK(closed == flood.size() - 4);
    flood[0]->write(server::account());
    CHECK(flood[0]->read().starts_with("HTTP/1.1 200 "));
  }
  auto const until = steady_clock::now() + 5s;
  bool serves = false;
  while (!serves && steady_clock::now() < until) serves = running.serves();
  CHECK(serves);
}

// ---- with a journal ----------------------------------------------------------------------------

// A file that goes with the test.
struct journal {
  std::string file = (std::filesystem::temp_directory_path() /
                      ("keyspan-server-" + std::to_string(::getpid()) + ".journal"))
                         .string();

  journal() { std::filesystem::remove(file); }
  journal(journal const&) = delete;
  journal& operator=(journal const&) = delete;
  ~journal() { std::filesystem::remove(file); }
};

keyspan::cosmos::container_address const orders =
    *keyspan::cosmos::container_address::from("shop", "orders");

// What a server says to a request: its status, or 0 where nothing whole came, headers and body.
struct told {
  int status = 0;
  std::string head{};
  std::string body{};

  std::string header(std::string_view name) const {
    auto const at = head.find("\r\n" + std::string{name} + ": ");
    if (at == head.npos) return {};
    auto const from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
};
told ask(std::uint16_t port, keyspan::cosmos::service_request what) {
  wire to{port};
  if (!to.is_open()) return {};
  to.write(server::bytes_of(std::move(what), "connection: close\r\n"));
  auto const all = to.read();
  auto const end = all.find("\r\n\r\n");
  if (!all.starts_with("HTTP/1.1 ") || end == all.npos) return {};
  told made{std::stoi(all.substr(9, 3)), all.substr(0, end + 2), all.substr(end + 4)};
  auto const size = made.header("Content-Length");
  if (!size.empty() && made.body.size() != std::stoul(size)) return {};
  return made;
}
void split(std::uint16_t port, std::string const& range) {
  wire to{port};
  to.write("POST /_control/dbs/shop/colls/orders/split/" + range +
           " HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
  CHECK(to.read().starts_with("HTTP/1.1 200 "));
}
keyspan::cosmos::service_request order(std::size_t i) {
  std::string const shop = "shop " + std::to_string(i % 7);
  return upsert_document(orders, keyspan::partition_key{shop},
                         R"({"id":"o-)" + std::to_string(i) + R"(","shop":")" + shop + R"("})");
}

TEST_CASE("what a server has answered is true when it was killed, whenever that was") {
  journal const kept;
  std::vector<std::string> const words{"--journal", kept.file};
  auto running = std::make_unique<server>(words);
  auto const port = running->port;
  REQUIRE(ask(port, keyspan::cosmos::create_database("shop")).status == 201);
  constexpr std::string_view path[]{"/shop"};
  REQUIRE(ask(port, create_container(orders, *keyspan::key_paths::parse(path))).status == 201);

  std::map<std::size_t, std::string> etags;  // of what was answered
  std::size_t next = 0;
  std::string session;
  std::string place;
  std::size_t seen = 0;  // by the feed of range 0, until it is split
  for (int round = 0; round < 6; ++round) {
    // Several write until nobody answers any more.
    std::mutex mutex;
    std::vector<std::thread> writers;
    auto const before = etags.size();
    for (int i = 0; i < 3; ++i)
      writers.emplace_back([&] {
        for (;;) {
          std::size_t number = 0;
          {
            std::lock_guard const lock{mutex};
            number = next++;
          }
          auto const said = ask(port, order(number));
          std::lock_guard const lock{mutex};
          if (said.status != 201) return;
          etags[number] = said.header("etag");
          session = said.header("x-ms-session-token");
        }
      });
    auto const enough = [&] {
      std::lock_guard const lock{mutex};
      return etags.size() >= before + 30 + static_cast<std::size_t>(round) * 7;
    };
    for (auto const until = steady_clock::now() + 20s; !enough() && steady_clock::now() < until;)
      std::this_thread::sleep_for(1ms);
    running.reset();  // as kill -9 does it
    for (auto& one : writers) one.join();
    REQUIRE(etags.size() > before);

    running = std::make_unique<server>(words, port);
    for (auto const& [number, etag] : etags) {
      std::string const shop = "shop " + std::to_string(number % 7);
      auto const there =
          ask(port, read_document(orders, keyspan::partition_key{shop},
                                  "o-" + std::to_string(number), {.session_token = session}));
      CAPTURE(number, there.head, there.body);
      REQUIRE(there.status == 200);
      REQUIRE(there.header("etag") == etag);
    }
    if (round >= 4) continue;  // the range is no more
    // The feed goes on where it was.
    for (;;) {
      auto const from = place.empty() ? keyspan::continuation{} : keyspan::continuation{place};
      auto const page = ask(port, read_changes(orders, {.partition = "0"}, from,
                                               keyspan::feed_mode::latest_version, {.most = 20}));
      place = page.header("etag");
      REQUIRE_FALSE(place.empty());
      if (page.status == 304) break;
      REQUIRE(page.status == 200);
      for (auto at = page.body.find("\"shop\":"); at != page.body.npos;
           at = page.body.find("\"shop\":", at + 1))
        ++seen;
    }
    CHECK(seen >= etags.size());
    CHECK(seen <= etags.size() + 3 * (static_cast<std::size_t>(round) + 1));
    if (round == 3) split(port, "0");
  }
  auto const list = ask(port, read_partitions(orders));
  CHECK(list.body.find(R"("id":"2")") != list.body.npos);
}

TEST_CASE("a server whose journal is damaged says so and does not serve") {
  journal const kept;
  {
    server running{{"--journal", kept.file}};
    CHECK(ask(running.port, keyspan::cosmos::create_database("shop")).status == 201);
    CHECK(ask(running.port, keyspan::cosmos::create_database("other")).status == 201);
  }
  {
    std::fstream file{kept.file, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(150);
    file.put('!');
  }
  test::program second{
      {COSMOS_SERVER_PROGRAM, "--port", "0", "--key", secret, "--journal", kept.file}};
  auto const end = second.finish();
  CHECK(end.status == 1);
  CHECK(end.out.empty());
  CHECK(end.err.find("is damaged") != end.err.npos);
}

}  // namespace
