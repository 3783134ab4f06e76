// test/adapter/asio_tls_test.cpp — the transport over Boost.Asio and TLS: whom it trusts, and what
// it asks for.

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
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/transport.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <adapter/hostile_server.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch_test_macros.hpp>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

using boost::system::error_code;
using keyspan::asio_options;
using keyspan::asio_transport;
using keyspan::errc;
using keyspan::request;
using keyspan::request_kind;
using keyspan::response;
using keyspan::result;
using keyspan::sync_wait;
using tls_stream = asio::ssl::stream<asio::ip::tcp::socket>;

struct identity {
  std::string certificate;
  std::string key;
};

std::string text_of(BIO* memory) {
  char* bytes = nullptr;
  long const size = BIO_ctrl(memory, BIO_CTRL_INFO, 0, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

// Signed by itself, and good for these names for an hour.
identity fresh_identity(std::string const& names) {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> const key{
      EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &EVP_PKEY_free};
  std::unique_ptr<X509, decltype(&X509_free)> const made{X509_new(), &X509_free};
  REQUIRE(key);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 7);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3'600);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  std::string const own = "a test";
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<unsigned char const*>(own.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  REQUIRE(extension != nullptr);
  X509_add_ext(made.get(), extension, -1);
  X509_EXTENSION_free(extension);
  REQUIRE(X509_sign(made.get(), key.get(), EVP_sha256()) != 0);
  std::unique_ptr<BIO, decltype(&BIO_free)> const first{BIO_new(BIO_s_mem()), &BIO_free};
  std::unique_ptr<BIO, decltype(&BIO_free)> const second{BIO_new(BIO_s_mem()), &BIO_free};
  PEM_write_bio_X509(first.get(), made.get());
  PEM_write_bio_PrivateKey(second.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(first.get()), text_of(second.get())};
}

// A file that goes with its holder.
class written_file {
 public:
  explicit written_file(std::string const& text) {
    static std::atomic<int> number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("keyspan_asio_tls_" +
             std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + '_' +
             std::to_string(number++) + ".pem");
    std::ofstream{path_} << text;
  }
  written_file(written_file const&) = delete;
  written_file& operator=(written_file const&) = delete;
  ~written_file() { std::filesystem::remove(path_); }
  std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

enum class ending { none, rude, good };

// Echoes over TLS, a thread for each connection, on a port that the system chooses.
class tls_server {
 public:
  explicit tls_server(identity const& as, ending behind_first = ending::none)
      : behind_first_{behind_first} {
    context_.use_certificate(asio::buffer(as.certificate), asio::ssl::context::pem);
    context_.use_private_key(asio::buffer(as.key), asio::ssl::context::pem);
    acceptor_thread_ = std::thread{[this] { accept_all(); }};
  }
  tls_server(tls_server const&) = delete;
  tls_server& operator=(tls_server const&) = delete;
  ~tls_server() {
    is_over_ = true;
    // Wakes who accepts, and who reads.
    asio::ip::tcp::socket waking{io_};
    error_code ignored;
    waking.connect(acceptor_.local_endpoint(), ignored);
    acceptor_thread_.join();
    {
      std::lock_guard const lock{mutex_};
      for (auto& one : streams_)
        one.lowest_layer().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    }
    for (auto& one : threads_) one.join();
  }

  std::uint16_t port() { return acceptor_.local_endpoint().port(); }
  std::string asked_name() const {
    std::lock_guard const lock{mutex_};
    return asked_name_;
  }
  std::size_t connections() const { return connections_; }
  std::size_t requests() const { return requests_; }

 private:
  void accept_all() {
    for (;;) {
      asio::ip::tcp::socket socket{io_};
      error_code ec;
      acceptor_.accept(socket, ec);
      if (is_over_) return;
      if (ec) continue;
      std::lock_guard const lock{mutex_};
      auto& stream = streams_.emplace_back(std::move(socket), context_);
      ++connections_;
      threads_.emplace_back([this, &stream] { talk(stream); });
    }
  }

  void talk(tls_stream& stream) {
    error_code ec;
    stream.handshake(asio::ssl::stream_base::server, ec);
    if (!ec) {
      if (char const* const name =
              SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name)) {
        std::lock_guard const lock{mutex_};
        asked_name_ = name;
      }
      answer_all(stream);
    }
    stream.lowest_layer().shutdown(asio::ip::tcp::socket::shutdown_both, ec);
  }
  void answer_all(tls_stream& stream) {
    std::string got;
    std::vector<char> part(65'536);
    error_code ec;
    for (;;) {
      std::size_t const end = got.find("\r\n\r\n");
      std::size_t const field = got.find("Content-Length: ");
      std::size_t const length =
          field < end ? std::strtoul(got.c_str() + field + 16, nullptr, 10) : 0;
      if (end == std::string::npos || got.size() < end + 4 + length) {
        std::size_t const more = stream.read_some(asio::buffer(part), ec);
        if (ec) return;
        got.append(part.data(), more);
        continue;
      }
      ++requests_;
      if (got.starts_with("GET /unanswered")) {
        got.erase(0, end + 4);
        continue;
      }
      test::seen_request seen{.head = {},
                              .method = "POST",
                              .target = {},
                              .headers = {},
                              .body = got.substr(end + 4, length)};
      std::size_t const echo = got.find("X-Echo: ");
      if (echo < end)
        seen.headers.emplace_back("x-echo",
                                  got.substr(echo + 8, got.find("\r\n", echo) - echo - 8));
      std::string answer = test::hostile::echo_of(seen);
      if (behind_first_ != ending::none) answer = "HTTP/1.1 200 OK\r\n\r\nuntil the end";
      got.erase(0, end + 4 + length);
      asio::write(stream, asio::buffer(answer), ec);
      if (behind_first_ == ending::good) stream.shutdown(ec);
      if (ec || behind_first_ != ending::none) return;
    }
  }

  asio::io_context io_{};
  asio::ssl::context context_{asio::ssl::context::tls_server};
  asio::ip::tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  ending behind_first_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::size_t> requests_{0};
  mutable std::mutex mutex_{};
  std::string asked_name_{};
  std::list<tls_stream> streams_{};
  std::list<std::thread> threads_{};
  std::thread acceptor_thread_{};
};

// A transport, and the thread that runs its loop.
class client {
 public:
  client(std::string host, std::uint16_t port, asio_options options, int threads = 1)
      : wire{io_.get_executor(), {.host = std::move(host), .port = port}, std::move(options)} {
    for (int i = 0; i < threads; ++i) runners_.emplace_back([this] { io_.run(); });
  }
  client(client const&) = delete;
  client& operator=(client const&) = delete;
  ~client() {
    io_.stop();
    for (auto& one : runners_) one.join();
  }

  result<response> send(request_kind kind = request_kind::write) {
    return sync_wait(wire.send({.method = "POST",
                                .target = "/echo",
                                .body = "a review",
                                .kind = kind,
                                .deadline = std::chrono::steady_clock::now() + 20s}));
  }

 private:
  asio::io_context io_{};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::vector<std::thread> runners_{};

 public:
  asio_transport wire;
};

TEST_CASE("a certificate that nobody vouches for is refused, with a sentence that says so") {
  identity const own = fresh_identity("IP:127.0.0.1");
  tls_server server{own};
  client by_default{"127.0.0.1", server.port(), {}};
  auto const got = by_default.send();
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_connected);
  CHECK(got.error().text.view().starts_with("the certificate of the service was refused: self"));
  CHECK(server.requests() == 0);

  written_file const trusted{own.certificate};
  client trusting{"127.0.0.1", server.port(), {.ca_file = trusted.name()}};
  auto const echoed = trusting.send();
  REQUIRE(echoed.has_value());
  CHECK(echoed->body == "a review");

  client careless{"127.0.0.1", server.port(), {.verify = false}};
  CHECK(careless.send().has_value());
  CHECK(server.requests() == 2);
}

TEST_CASE("a certificate is good for the names that stand in it alone") {
  identity const local = fresh_identity("DNS:localhost");
  written_file const trusted{local.certificate};
  tls_server server{local};
  client named{"localhost", server.port(), {.ca_file = trusted.name()}};
  CHECK(named.send().has_value());
  CHECK(server.asked_name() == "localhost");
  client other{"127.0.0.1", server.port(), {.ca_file = trusted.name()}};
  auto const got = other.send();
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_connected);
  CHECK(got.error().text.view().find("mismatch") != std::string_view::npos);
  client careless{"127.0.0.1", server.port(), {.ca_file = trusted.name(), .verify = false}};
  CHECK(careless.send().has_value());

  identity const elsewhere = fresh_identity("DNS:shop.example,DNS:*.example");
  written_file const also_trusted{elsewhere.certificate};
  tls_server impostor{elsewhere};
  client fooled{"localhost", impostor.port(), {.ca_file = also_trusted.name()}};
  auto const refused = fooled.send();
  REQUIRE(!refused);
  CHECK(refused.error().text.view().find("ostname mismatch") != std::string_view::npos);
  CHECK(impostor.requests() == 0);
}

TEST_CASE("certificates that cannot be read are options that are wrong") {
  tls_server server{fresh_identity("IP:127.0.0.1")};
  client lost{"127.0.0.1", server.port(), {.ca_file = "no such file"}};
  auto const got = lost.send();
  REQUIRE(!got);
  CHECK(got.error().code == errc::invalid_options);
  CHECK(server.connections() == 0);
}

TEST_CASE("who does not speak TLS is no service") {
  test::hostile_server const plain{test::hostile::says("HTTP/1.1 200 OK\r\n\r\n")};
  client secure{"127.0.0.1", plain.port(), {.connect_timeout = 300ms}};
  auto const begun = std::chrono::steady_clock::now();
  auto const got = secure.send();
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_connected);
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  test::hostile_server const noise{[](test::hostile_connection& with) {
    with.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    with.pause(100ms);
  }};
  client other{"127.0.0.1", noise.port(), {}};
  auto const refused = other.send();
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::not_connected);
  CHECK(refused.error().text.view().starts_with("TLS was not agreed on"));
}

TEST_CASE("a transport by Asio keeps the laws of a transport over TLS") {
  identity const own = fresh_identity("IP:127.0.0.1");
  written_file const trusted{own.certificate};
  tls_server server{own};
  client to{"127.0.0.1", server.port(), {.ca_file = trusted.name()}, 2};
  auto const held = keyspan::law::check_transport(
      to.wire,
      [](std::string body) {
        return request{.method = "POST", .target = "/echo", .body = std::move(body)};
      },
      {.served = [&] { return server.requests(); },
       .unanswered = [] { return request{.target = "/unanswered"}; }});
  INFO(held.text());
  CHECK(held);
}

TEST_CASE("connections over TLS are used again, by many at once") {
  identity const own = fresh_identity("IP:127.0.0.1");
  written_file const trusted{own.certificate};
  tls_server server{own};
  client to{"127.0.0.1", server.port(), {.most_connections = 5, .ca_file = trusted.name()}, 2};
  for (int i = 0; i < 5; ++i) CHECK(to.send().has_value());
  CHECK(server.connections() == 1);
  auto const send = [](asio_transport& over, std::string body) -> keyspan::task<bool> {
    request const asked{.method = "POST", .target = "/echo", .body = body};
    auto const got = co_await over.send(asked);
    co_return got && got->body == body;
  };
  std::vector<keyspan::task<bool>> all;
  for (std::size_t i = 0; i < 64; ++i) all.push_back(send(to.wire, std::string(i * 1'000, 'x')));
  auto const right = sync_wait(keyspan::when_all(std::move(all)));
  std::size_t count = 0;
  for (bool const one : right) count += one ? 1 : 0;
  CHECK(count == 64);
  CHECK(server.connections() <= 5);
}

TEST_CASE("a body that ends with its connection is whole where TLS says that this is the end") {
  identity const own = fresh_identity("IP:127.0.0.1");
  written_file const trusted{own.certificate};
  {
    tls_server polite{own, ending::good};
    client to{"127.0.0.1", polite.port(), {.ca_file = trusted.name()}};
    auto const got = to.send();
    REQUIRE(got.has_value());
    CHECK(got->body == "until the end");
  }
  tls_server cut{own, ending::rude};
  client to{"127.0.0.1", cut.port(), {.ca_file = trusted.name()}};
  auto const write = to.send();
  REQUIRE(!write);
  CHECK(write.error().code == errc::outcome_unknown);
  auto const read = to.send(request_kind::read);
  REQUIRE(!read);
  CHECK(read.error().code == errc::not_connected);
}

}  // namespace
