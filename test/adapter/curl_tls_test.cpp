// test/adapter/curl_tls_test.cpp — whom libcurl believes to be the service. The other side is the
// openssl command, with a certificate that it has signed itself a moment before.
#include <keyspan/adapter/curl.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <adapter/hostile_server.hpp>
#include <support/check.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::curl_loop;
using keyspan::curl_transport;
using keyspan::errc;
using keyspan::request;
using keyspan::request_kind;
using keyspan::service_endpoint;
using namespace std::chrono_literals;

// A folder that goes with its test.
class folder {
 public:
  folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keyspan-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_{};
};

// A program whose output is read, and which ends with this.
class child {
 public:
  explicit child(std::vector<std::string> words) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = ::fork();
    REQUIRE(id_ >= 0);
    if (id_ == 0) {
#ifdef __linux__
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
      int const nothing = ::open("/dev/null", O_RDWR);
      ::dup2(nothing, STDIN_FILENO);
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(nothing, STDERR_FILENO);
      ::close(ends[0]);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  child(child const&) = delete;
  child& operator=(child const&) = delete;
  ~child() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
    }
    ::close(output_);
  }

  /// Its exit status, after at most so long.
  int status() {
    int status = -1;
    for (int i = 0; i < 1'000; ++i) {
      if (::waitpid(id_, &status, WNOHANG) == id_) {
        id_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      ::usleep(10'000);
    }
    return -1;
  }
  /// What stands behind `mark` on a line of its output; nothing where none comes.
  std::string line_behind(std::string_view mark) {
    std::string text;
    for (int i = 0; i < 1'000; ++i) {
      if (auto const at = text.find(mark); at != std::string::npos)
        if (auto const end = text.find('\n', at); end != std::string::npos)
          return text.substr(at + mark.size(), end - at - mark.size());
      pollfd one{output_, POLLIN, 0};
      if (::poll(&one, 1, 10) <= 0) continue;
      char part[512];
      auto const got = ::read(output_, part, sizeof part);
      if (got <= 0) break;
      text.append(part, static_cast<std::size_t>(got));
    }
    return {};
  }

 private:
  pid_t id_ = -1;
  int output_ = -1;
};

// A certificate for `name`, "IP:127.0.0.1" say, and its key; false where there is no openssl.
bool make_certificate(folder const& in, std::string const& name) {
  child makes{{"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=keyspan test",
               "-addext", "subjectAltName=" + name, "-keyout", in / "key.pem", "-out",
               in / "certificate.pem"}};
  return makes.status() == 0;
}

TEST_CASE("a service that nobody vouches for is refused, unless its certificate is given") {
  folder const here;
  if (!make_certificate(here, "IP:127.0.0.1")) SKIP("there is no openssl command");
  child server{{"openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-key", here / "key.pem",
                "-cert", here / "certificate.pem"}};
  std::string const place = server.line_behind("ACCEPT ");
  REQUIRE(place.starts_with("127.0.0.1:"));
  auto const where = service_endpoint::parse("https://" + place).value();
  curl_loop loop;
  request what{.headers = {{"authorization", "sesame"}}, .kind = request_kind::write};

  curl_transport const strict{loop, where, {.proxy = ""}};
  auto const refused = loop.complete(strict.send(what));
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::not_connected);  // and not in doubt
  INFO(refused.error().to_text().view());
  CHECK(refused.error().text.view().find("certificate") != std::string_view::npos);
  CHECK(refused.error().wire.endpoint == place);

  curl_transport const trusting{loop, where, {.proxy = "", .ca_file = here / "certificate.pem"}};
  for (int i = 0; i < 2; ++i) {
    auto const got = loop.complete(trusting.send(what));
    INFO((got ? std::string{} : std::string{got.error().to_text().view()}));
    REQUIRE(got.has_value());
    CHECK(got->status == 200);
  }
  curl_transport const blind{loop, where, {.proxy = "", .verify = false}};
  CHECK(loop.complete(blind.send(what)).value().status == 200);
  // What one transport believes is not what another does.
  auto const again = loop.complete(strict.send(what));
  REQUIRE(!again);
  CHECK(again.error().code == errc::not_connected);

  curl_transport const lost{loop, where, {.proxy = "", .ca_file = here / "nowhere.pem"}};
  auto const no_file = loop.complete(lost.send(what));
  REQUIRE(!no_file);
  CHECK(no_file.error().code == errc::invalid_options);
}

TEST_CASE("a certificate for another name is refused, whoever vouches for it") {
  folder const here;
  if (!make_certificate(here, "DNS:shop.example")) SKIP("there is no openssl command");
  child server{{"openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-key", here / "key.pem",
                "-cert", here / "certificate.pem"}};
  std::string const place = server.line_behind("ACCEPT ");
  REQUIRE(place.starts_with("127.0.0.1:"));
  curl_loop loop;
  curl_transport const over{loop,
                            service_endpoint::parse("https://" + place).value(),
                            {.proxy = "", .ca_file = here / "certificate.pem"}};
  auto const got = loop.complete(over.send({}));
  REQUIRE(!got);
  INFO(got.error().to_text().view());
  CHECK(got.error().code == errc::not_connected);
  CHECK(got.error().text.view().find("certificate") != std::string_view::npos);
}

// A server of node's that says what it was asked by, once it is asked by this many at a time.
constexpr std::string_view speaks_http2 = R"js(
const [, folder] = process.argv;
const { readFileSync } = require("fs");
const server = require("http2").createSecureServer({
  allowHTTP1: true,
  key: readFileSync(`${folder}/key.pem`),
  cert: readFileSync(`${folder}/certificate.pem`),
});
let connections = 0;
server.on("secureConnection", () => ++connections);
server.on("request", (request, answer) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    answer.setHeader("x-version", request.httpVersion);
    answer.setHeader("x-connections", connections);
    setTimeout(() => answer.end(Buffer.concat(chunks)), 20);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
)js";

TEST_CASE("requests share a connection by HTTP/2 where a service offers it") {
  if ((curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP2) == 0)
    SKIP("this libcurl has no HTTP/2");
  folder const here;
  if (!make_certificate(here, "IP:127.0.0.1")) SKIP("there is no openssl command");
  child server{{"node", "-e", std::string{speaks_http2}, here / "."}};
  std::string const port = server.line_behind("port ");
  if (port.empty()) SKIP("there is no node");
  auto const where = service_endpoint::parse("https://127.0.0.1:" + port).value();
  curl_loop loop;
  for (bool const http2 : {true, false}) {
    keyspan::curl_options options{.http2 = http2, .proxy = "", .ca_file = here / "certificate.pem"};
    curl_transport const over{loop, where, options};
    auto const send = [&](int number) {
      request what{.method = "POST", .kind = request_kind::write};
      what.body = std::string(20'000, static_cast<char>('a' + number % 26));
      return over.send(std::move(what));
    };
    auto const first = loop.complete(send(0));
    REQUIRE(first.has_value());
    CHECK(first->headers.find("x-version") == (http2 ? "2.0" : "1.1"));
    if (!http2) continue;  // node closes such connections when it likes, also under a request
    std::vector<decltype(send(0))> all;
    for (int i = 0; i < 24; ++i) all.push_back(send(i));
    auto const answers = loop.complete(keyspan::when_all(std::move(all)));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      INFO((answers[i] ? std::string{} : std::string{answers[i].error().to_text().view()}));
      REQUIRE(answers[i].has_value());
      CHECK(answers[i]->status == 200);
      CHECK(answers[i]->body == std::string(20'000, static_cast<char>('a' + i % 26)));
      CHECK(answers[i]->headers.find("x-version") == "2.0");
      CHECK(answers[i]->headers.find("x-connections") == "1");
    }
  }
}

TEST_CASE("who speaks plainly where TLS is expected is not connected, and nothing is told him") {
  test::hostile_server server{[](test::hostile_connection& with) {
    with.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    with.read_request();
  }};
  curl_loop loop;
  curl_transport const over{
      loop, {.host = "127.0.0.1", .port = server.port()}, {.proxy = "", .verify = false}};
  request const what{.headers = {{"authorization", "sesame"}}, .kind = request_kind::write};
  auto const got = loop.complete(over.send(what));
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_connected);
  CHECK(server.requests() == 0);
}

}  // namespace
