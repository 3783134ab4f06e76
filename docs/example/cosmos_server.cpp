// docs/example/cosmos_server.cpp — the service of cosmos_service.hpp on a port of this machine.
//
//   cosmos_server --port 0 --key BASE64 [--partitions N] [--seed S]
//                 [--connections N] [--request-ms N] [--idle-ms N] [--journal FILE]
//
// It listens on 127.0.0.1 alone and without TLS, says "ready" once it does ("ready 40123" where it
// was given port 0 and has chosen one), and ends on SIGTERM or SIGINT. One thread does all of it.
// A connection that takes longer for a request than --request-ms, or for none than --idle-ms, is
// closed; so is one beyond --connections. Where it is given a journal, what it has answered is
// still true when it was killed and started again with the same one.
#include "cosmos_service.hpp"
#include "cosmos_service_journal.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

struct limits {
  std::size_t connections = 256;
  std::chrono::milliseconds request{10'000};  // from its first byte to its last
  std::chrono::milliseconds idle{60'000};     // between requests
  std::uint32_t header_bytes = 65'536;
  std::uint64_t body_bytes = 4'194'304;
};

// One connection, kept by what it waits for.
class connection : public std::enable_shared_from_this<connection> {
 public:
  connection(tcp::socket socket, cosmos_server::journaled_service& service, limits const& bounds,
             std::shared_ptr<std::size_t> count)
      : stream_{std::move(socket)}, service_{service}, bounds_{bounds}, count_{std::move(count)} {
    ++*count_;
  }
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;
  ~connection() { --*count_; }

  void wait() {
    parser_.emplace();
    parser_->header_limit(bounds_.header_bytes);
    parser_->body_limit(bounds_.body_bytes);
    if (buffer_.size() != 0) return read();  // it has sent the next one already
    stream_.expires_after(bounds_.idle);
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = shared_from_this()](error_code why, std::size_t size) {
                              if (why) return;
                              self->buffer_.commit(size);
                              self->read();
                            });
  }

 private:
  void read() {
    stream_.expires_after(bounds_.request);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](error_code why, std::size_t) {
                              if (why) return self->refuse(why);
                              self->read_body();
                            });
  }
  void read_body() {
    auto const& head = parser_->get();
    bool const is_waiting = beast::iequals(head[http::field::expect], "100-continue");
    if (!is_waiting || parser_->is_done()) return read_rest();
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(go_on),
                      [self = shared_from_this()](error_code why, std::size_t) {
                        if (!why) self->read_rest();
                      });
  }
  void read_rest() {
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code why, std::size_t) {
                       if (why) return self->refuse(why);
                       self->answer();
                     });
  }

  // What is no request, or too large for one: who sent it is told, and the connection is closed.
  void refuse(error_code why) {
    if (why == http::error::end_of_stream || why == beast::error::timeout) return;
    bool const is_http = why.category() == make_error_code(http::error::bad_method).category();
    if (!is_http) return;
    keyspan::response const no =
        why == http::error::body_limit ? cosmos_server::refused(413, "Request size is too large")
        : why == http::error::header_limit || why == http::error::buffer_overflow
            ? cosmos_server::refused(431, "the headers of the request are too large")
            : cosmos_server::refused(400, "this is no request of HTTP: " + why.message());
    send(no, 11, false);
  }

  void answer() {
    auto asked = parser_->release();
    keyspan::request plain;
    plain.method = std::string{asked.method_string()};
    plain.target = std::string{asked.target()};
    for (auto const& field : asked)
      plain.headers.add(std::string{field.name_string()}, std::string{field.value()});
    plain.body = std::move(asked.body());
    bool const has_body = asked.method() != http::verb::head;
    keyspan::response made;
    try {
      made = service_.answer(plain);
    } catch (cosmos_server::journal_failed const&) {
      throw;  // nobody is answered any more
    } catch (std::exception const&) {
      made = cosmos_server::refused(500, "the server could not do it");
    }
    send(made, asked.version(), asked.keep_alive(), has_body);
  }

  void send(keyspan::response const& what, unsigned version, bool keep_alive,
            bool has_body = true) {
    answer_ = {http::status::ok, version};
    answer_.result(what.status);
    for (auto const& field : what.headers) answer_.set(field.name, field.value);
    if (!keep_alive) answer_.set("content-type", "application/json");
    answer_.keep_alive(keep_alive);
    if (has_body) answer_.body() = what.body;
    bool const is_empty = what.status == 204 || what.status == 304;
    if (!is_empty) answer_.prepare_payload();
    stream_.expires_after(bounds_.request);
    http::async_write(stream_, answer_,
                      [self = shared_from_this(), keep_alive](error_code why, std::size_t) {
                        if (why) return;
                        if (keep_alive) return self->wait();
                        error_code ignored;
                        self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                      });
  }

  beast::tcp_stream stream_;
  cosmos_server::journaled_service& service_;
  limits const& bounds_;
  std::shared_ptr<std::size_t> count_;
  beast::flat_buffer buffer_{};
  std::optional<http::request_parser<http::string_body>> parser_{};
  http::response<http::string_body> answer_{};
};

// Takes connections until the program ends.
class listener {
 public:
  listener(asio::io_context& loop, std::uint16_t port)
      : acceptor_{loop, tcp::endpoint{asio::ip::address_v4::loopback(), port}} {}

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void accept(cosmos_server::journaled_service& service, limits const& bounds) {
    acceptor_.async_accept([&](error_code why, tcp::socket socket) {
      if (why == asio::error::operation_aborted) return;
      if (!why && *count_ < bounds.connections) {
        error_code ignored;
        socket.set_option(tcp::no_delay{true}, ignored);
        std::make_shared<connection>(std::move(socket), service, bounds, count_)->wait();
      }
      accept(service, bounds);
    });
  }

 private:
  // Of connections, which go with the loop: later than this.
  std::shared_ptr<std::size_t> count_ = std::make_shared<std::size_t>(0);
  tcp::acceptor acceptor_;
};

struct settings {
  std::uint16_t port = 0;
  std::string key{};
  std::size_t partitions = 1;
  std::uint64_t seed = 0;
  std::string journal{};
  limits bounds{};
};

template <class Number>
bool take(std::string_view text, Number& to, Number least, Number most) {
  auto const number = cosmos_server::number_in<Number>(text);
  if (!number || *number < least || *number > most) return false;
  to = *number;
  return true;
}

std::optional<settings> settings_of(int count, char const* const* words) {
  settings made;
  bool has_port = false;
  for (int i = 1; i < count; i += 2) {
    std::string_view const name{words[i]};
    if (i + 1 == count) return std::nullopt;
    std::string_view const value{words[i + 1]};
    std::int64_t number = 0;
    bool is_good = true;
    if (name == "--key") {
      made.key = value;
    } else if (name == "--port") {
      is_good = has_port = take<std::uint16_t>(value, made.port, 0, 65'535);
    } else if (name == "--partitions") {
      is_good = take<std::size_t>(value, made.partitions, 1, 1000);
    } else if (name == "--seed") {
      is_good = take<std::uint64_t>(value, made.seed, 0, ~std::uint64_t{0});
    } else if (name == "--journal") {
      made.journal = value;
      is_good = !value.empty();
    } else if (name == "--connections") {
      is_good = take<std::size_t>(value, made.bounds.connections, 1, 10'000);
    } else if (name == "--request-ms") {
      is_good = take<std::int64_t>(value, number, 1, 3'600'000);
      made.bounds.request = std::chrono::milliseconds{number};
    } else if (name == "--idle-ms") {
      is_good = take<std::int64_t>(value, number, 1, 3'600'000);
      made.bounds.idle = std::chrono::milliseconds{number};
    } else {
      is_good = false;
    }
    if (!is_good) return std::nullopt;
  }
  return has_port && !made.key.empty() ? std::optional{made} : std::nullopt;
}

int serve(settings const& with) {
  auto key = keyspan::cosmos::master_key::from(with.key);
  if (!key) {
    std::cerr << "cosmos_server: " << key.error().text.view() << '\n';
    return 2;
  }
  asio::io_context loop{1};
  asio::signal_set signals{loop, SIGTERM, SIGINT};
  signals.async_wait([&](error_code, int) { loop.stop(); });
  listener at{loop, with.port};
  std::string const port = std::to_string(at.port());
  cosmos_server::cosmos_service_options options{.key = *std::move(key),
                                                .endpoint = "http://127.0.0.1:" + port + "/",
                                                .partitions = with.partitions,
                                                .seed = with.seed,
                                                .largest_body = with.bounds.body_bytes};
  auto const service = cosmos_server::journaled_service::open(std::move(options), with.journal);
  if (!service) {
    std::cerr << "cosmos_server: " << service.error().text.view() << '\n';
    return 1;
  }
  at.accept(**service, with.bounds);
  std::cout << "ready" << (with.port == 0 ? " " + port : std::string{}) << std::endl;
  loop.run();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  auto const with = settings_of(count, words);
  if (!with) {
    std::cerr << "usage: cosmos_server --port P --key BASE64 [--partitions N] [--seed S]\n"
                 "                     [--connections N] [--request-ms N] [--idle-ms N]\n"
                 "                     [--journal FILE]\n";
    return 2;
  }
  try {
    return serve(*with);
  } catch (std::exception const& why) {
    std::cerr << "cosmos_server: " << why.what() << '\n';
    return 1;
  }
}
