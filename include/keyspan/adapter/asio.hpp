// keyspan/adapter/asio.hpp — a clock and a transport for programs whose event loop is Boost.Asio.
//
//   send ──> waiting, in order ──> a kept connection, or a new one ──> answer      on a strand;
//                  most_connections of them, idle ones closed          who awaits: in the executor
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/http_request.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/transport.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/ssl/verify_mode.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/system/error_code.hpp>

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// How an `asio_transport` connects, and what it puts up with.
struct asio_options {
  /// For finding the host, connecting and the handshake of TLS together.
  instant::duration connect_timeout = std::chrono::seconds{10};
  /// For a request that has no deadline, from `send` to its answer.
  instant::duration answer_timeout = std::chrono::seconds{65};
  /// Of an answer, in bytes; one with more is an error, `too_large`.
  std::size_t largest_body = std::size_t{128} << 20;
  /// The status line and the headers of an answer together, likewise.
  std::uint32_t largest_header = std::uint32_t{256} << 10;
  /// Further requests wait until one is free, in order. Requires 1 or more.
  std::size_t most_connections = 64;
  /// How long a connection that nobody uses is kept.
  instant::duration idle_timeout = std::chrono::seconds{60};
  /// A file of certificates in PEM that are trusted, in place of those of the system.
  std::string ca_file{};
  /// Whether the service has to prove by a certificate that it is the host of the endpoint.
  bool verify = true;

  friend bool operator==(asio_options const&, asio_options const&) = default;
};

namespace detail {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

using asio_strand = asio::strand<asio::any_io_executor>;

// Posts to the strand that somebody wants to stop, as long as there is who could hear of it: where
// the event loop is gone its handlers are, and so is all they owned.
template <class Operation>
struct asio_stopping {
  void operator()() const noexcept {
    if (auto const operation = of.lock())
      asio::post(operation->strand, [operation] { operation->stop(); });
  }

  std::weak_ptr<Operation> of;
};

// What every operation has: a strand of its own or of others, and who waits for its end.
template <class Value>
class asio_operation {
 public:
  using value_type = Value;

  explicit asio_operation(asio_strand in) : strand{std::move(in)} {}

  // Who awaits goes on in this call, with the value, unless it has gone.
  void resume_with(Value how) {
    if (stage_.exchange(stage::ended) != stage::awaited) return;
    into_->emplace(std::move(how));
    goes_on_.resume();
  }

  asio_strand const strand;

 private:
  template <class>
  friend class asio_awaiter;

  enum class stage : unsigned char { awaited, ended, abandoned };

  std::atomic<stage> stage_{stage::awaited};
  std::coroutine_handle<> goes_on_{};
  std::optional<Value>* into_ = nullptr;
};

// Begins an operation where somebody has been suspended, and stops it where that one goes before
// the end. Meanwhile it does not own it: its timers do not outlive the event loop.
template <class Operation>
class asio_awaiter {
  using stage = typename Operation::stage;

 public:
  explicit asio_awaiter(std::shared_ptr<Operation> operation) noexcept
      : prepared_{std::move(operation)} {}
  asio_awaiter(asio_awaiter const&) = delete;
  asio_awaiter& operator=(asio_awaiter const&) = delete;
  ~asio_awaiter() {
    if (has_resumed_) return;
    auto const operation = started_.lock();
    if (!operation) return;
    stage const before = operation->stage_.exchange(stage::abandoned);
    expects(before == stage::awaited, "who awaits is not destroyed while it is being resumed");
    asio_stopping<Operation>{started_}();
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) {
    started_ = prepared_;
    auto operation = std::move(prepared_);
    operation->goes_on_ = suspended;
    operation->into_ = &value_;
    // Behind the posting who awaits may have gone on elsewhere, and this be gone.
    auto const strand = operation->strand;
    asio::post(strand, [begun = std::move(operation)] { begun->begin(); });
  }
  typename Operation::value_type await_resume() {
    has_resumed_ = true;
    return *std::move(value_);
  }

 private:
  std::shared_ptr<Operation> prepared_;
  std::weak_ptr<Operation> started_{};
  std::optional<typename Operation::value_type> value_{};
  bool has_resumed_ = false;
};

template <class Operation>
class [[nodiscard]] asio_awaitable {
 public:
  static constexpr bool abandonable = true;

  explicit asio_awaitable(std::shared_ptr<Operation> operation) noexcept
      : operation_{std::move(operation)} {}

  auto operator co_await() && { return asio_awaiter<Operation>{std::move(operation_)}; }

 private:
  std::shared_ptr<Operation> operation_;
};

// One wait for a moment.
class asio_wait : public asio_operation<result<void>>,
                  public std::enable_shared_from_this<asio_wait> {
 public:
  asio_wait(asio::any_io_executor const& on, instant due, stop_token stop)
      : asio_operation{asio::make_strand(on)}, timer_{strand, due}, stop_{std::move(stop)} {}

  void begin() {
    if (stop_.stop_requested()) return end(wait_stopped());
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec) return self->end(wait_stopped());
      self->end({});
    });
    on_stop_.emplace(stop_, asio_stopping<asio_wait>{weak_from_this()});
  }
  void stop() { timer_.cancel(); }

 private:
  void end(result<void> how) {
    on_stop_.reset();
    resume_with(std::move(how));
  }

  asio::steady_timer timer_;
  stop_token stop_;
  std::optional<stop_callback<asio_stopping<asio_wait>>> on_stop_{};
};

// The line of the request and its headers, as they are sent. No error repeats a value: it may be a
// secret.
inline result<std::string> head_of(request const& what, service_endpoint const& to) {
  if (auto const why = fault_in_http(what)) return unexpected{*why};
  std::string head = what.method + ' ' + what.target + " HTTP/1.1\r\n";
  auto const add = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (!what.headers.find("Host")) {
    std::string host = to.authority();
    if (to.port == (to.is_secure ? 443 : 80)) host.resize(host.rfind(':'));
    add("Host", host);
  }
  if (!what.headers.find("User-Agent")) add("User-Agent", "keyspan/" KEYSPAN_VERSION_STRING);
  std::string const length = std::to_string(what.body.size());
  for (header_field const& field : what.headers) {
    if (!is_same_name(field.name, "Content-Length")) add(field.name, field.value);
  }
  bool const has_body = !what.body.empty() || what.method == "POST" || what.method == "PUT" ||
                        what.method == "PATCH" || what.headers.find("Content-Length");
  if (has_body) add("Content-Length", length);
  return head + "\r\n";
}

inline constexpr error asio_closed{errc::stopped, "the transport was closed"};

// A body in a string. What is only announced is not believed for ever.
struct asio_body {
  using value_type = std::string;

  class reader {
   public:
    template <bool IsRequest, class Fields>
    reader(http::header<IsRequest, Fields>&, std::string& into) : into_{into} {}

    template <class Length>
    void init(Length const& announced, error_code& ec) {
      ec = {};
      constexpr std::uint64_t believed = std::uint64_t{4} << 20;
      if (announced)
        into_.reserve(static_cast<std::size_t>((std::min)(std::uint64_t{*announced}, believed)));
    }
    template <class Buffers>
    std::size_t put(Buffers const& buffers, error_code& ec) {
      ec = {};
      std::size_t const size = into_.size();
      into_.resize(size + asio::buffer_size(buffers));
      return asio::buffer_copy(asio::buffer(into_.data() + size, into_.size() - size), buffers);
    }
    void finish(error_code& ec) { ec = {}; }

   private:
    std::string& into_;
  };
};

class asio_pool;
class asio_connection;

// One request on its way. Seen from the strand of the pool alone.
class asio_exchange : public asio_operation<result<response>>,
                      public std::enable_shared_from_this<asio_exchange> {
 public:
  asio_exchange(std::shared_ptr<asio_pool> const& by, request asked);

  void begin();
  void stop() { give_up(error{errc::stopped, "stopped before the answer came"}); }
  void give_up(error why);
  void end(value_type how);

  error too_late() const;

  request const what;
  bool is_over = false;
  std::string head{};
  std::weak_ptr<asio_connection> on{};  // none while it waits
  std::uint16_t attempts = 0;           // how often a byte of it went out, or was about to
  bool wants_new = false;               // a connection that nobody has used before

 private:
  std::weak_ptr<asio_pool> pool_;
  asio::any_io_executor goes_on_in_;
  asio::steady_timer until_;
  std::optional<stop_callback<asio_stopping<asio_exchange>>> on_stop_{};
};

// Who has which connection. What is in flight owns the pool, by its handlers; the pool owns nothing
// but requests that wait, so that everything goes where an event loop goes with its handlers.
class asio_pool : public std::enable_shared_from_this<asio_pool> {
 public:
  asio_pool(asio::any_io_executor in, service_endpoint to, asio_options with)
      : executor{std::move(in)},
        strand{asio::make_strand(executor)},
        endpoint{std::move(to)},
        authority{endpoint.authority()},
        options{std::move(with)} {
    if (!endpoint.is_secure) return;
    error_code ec;
    tls.set_options(asio::ssl::context::no_sslv2 | asio::ssl::context::no_sslv3 |
                        asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1,
                    ec);
    tls.set_verify_mode(options.verify ? asio::ssl::verify_peer : asio::ssl::verify_none, ec);
    if (!options.verify) return;
    if (options.ca_file.empty()) {
      tls.set_default_verify_paths(ec);
    } else {
      tls.load_verify_file(options.ca_file, ec);
    }
    if (ec)
      refuses = error{errc::invalid_options,
                      "the certificates that are trusted cannot be read: ", ec.message()};
  }

  error said(error why) const {
    why.wire.endpoint = std::string_view{authority};
    return why;
  }

  void enter(std::shared_ptr<asio_exchange> asked) {
    if (is_closed_) return asked->end(unexpected{said(asio_closed)});
    waiting_.push_back(std::move(asked));
    serve();
  }
  // Its connection is gone, and it keeps its turn.
  void enter_again(std::shared_ptr<asio_exchange> asked) {
    asked->on.reset();
    waiting_.push_front(std::move(asked));
  }
  void leave(asio_exchange const& asked) {
    std::erase_if(waiting_, [&](auto const& one) { return one.get() == &asked; });
  }
  void keep(std::shared_ptr<asio_connection> const& idle) {
    idle_.push_back(idle);
    serve();
  }
  void forget(asio_connection const& gone);
  void serve();
  void close();

  asio::any_io_executor executor;
  asio_strand strand;
  service_endpoint const endpoint;
  std::string const authority;
  asio_options const options;
  asio::ssl::context tls{asio::ssl::context::tls_client};
  std::optional<error> refuses{};

 private:
  std::shared_ptr<asio_connection> kept(bool for_new);

  std::deque<std::shared_ptr<asio_exchange>> waiting_{};
  std::vector<std::weak_ptr<asio_connection>> idle_{};  // the one used last is at the end
  std::vector<std::weak_ptr<asio_connection>> all_{};
  bool is_closed_ = false;
};

// One connection, kept alive by what it has in flight: it is opened, or it reads, also where nobody
// asks, so that the end of an idle one is noticed.
class asio_connection : public std::enable_shared_from_this<asio_connection> {
 public:
  explicit asio_connection(std::shared_ptr<asio_pool> of)
      : pool_{std::move(of)},
        timer_{pool_->strand},
        resolver_{pool_->strand},
        socket_{pool_->strand} {
    if (pool_->endpoint.is_secure) tls_.emplace(socket_, pool_->tls);
  }

  // Opens the connection for this request.
  void open(std::shared_ptr<asio_exchange> asked) {
    exchange_ = std::move(asked);
    exchange_->on = weak_from_this();
    after(pool_->options.connect_timeout, &asio_connection::open_too_late);
    error_code is_name;
    auto const address = asio::ip::make_address(pool_->endpoint.host, is_name);
    if (!is_name) return connect({{address, pool_->endpoint.port}});
    resolver_.async_resolve(pool_->endpoint.host, std::to_string(pool_->endpoint.port),
                            [self = shared_from_this()](error_code ec, auto const& found) {
                              if (self->is_dropped_) return;
                              if (ec) return self->not_opened("the host was not found: ", ec);
                              std::vector<asio::ip::tcp::endpoint> places;
                              for (auto const& one : found) places.push_back(one.endpoint());
                              self->connect(std::move(places));
                            });
  }

  // Sends on a connection that was kept. The reading ends first: what it has read by now is no
  // answer to this request.
  void use(std::shared_ptr<asio_exchange> asked) {
    exchange_ = std::move(asked);
    exchange_->on = weak_from_this();
    is_reused_ = true;
    is_taken_ = true;
    cancel_timer();
    error_code ignored;
    socket_.cancel(ignored);
  }

  // Ends the request by this, and the connection with it.
  void fail_with(error const& why) {
    auto const asked = std::move(exchange_);
    auto const said = pool_->said(why);
    drop();
    if (asked) asked->end(unexpected{said});
  }

  void drop() {
    if (is_dropped_) return;
    is_dropped_ = true;
    exchange_.reset();
    timer_.cancel();
    resolver_.cancel();
    close_socket();
    pool_->forget(*this);
  }

 private:
  using parser = http::response_parser<asio_body>;

  static constexpr std::size_t most_at_once = std::size_t{32} << 10;
  static constexpr int most_interim_answers = 64;

  void after(instant::duration delay, void (asio_connection::*what)()) {
    timer_.expires_at(instant_after(std::chrono::steady_clock::now(), delay));
    timer_.async_wait([self = shared_from_this(), what, turn = ++turn_](error_code ec) {
      if (!ec && turn == self->turn_ && !self->is_dropped_) ((*self).*what)();
    });
  }
  void cancel_timer() {
    ++turn_;
    timer_.cancel();
  }
  void close_socket() {
    error_code ignored;
    socket_.close(ignored);
  }

  void open_too_late() {
    fail_with(error{errc::not_connected, "no connection within the time that is allowed for it"});
  }
  void not_opened(std::string_view sentence, error_code ec) {
    fail_with(error{errc::not_connected, sentence, ec.message()});
  }
  void connect(std::vector<asio::ip::tcp::endpoint> places) {
    asio::async_connect(socket_, places, [self = shared_from_this()](error_code ec, auto const&) {
      if (self->is_dropped_) return;
      if (ec) return self->not_opened("no connection: ", ec);
      error_code ignored;
      self->socket_.set_option(asio::ip::tcp::no_delay{true}, ignored);
      self->socket_.non_blocking(true, ignored);  // for who looks whether it is alive
      if (!self->tls_) return self->opened();
      self->shake_hands();
    });
  }

  // The name is asked for, and looked for in the certificate, by OpenSSL itself, which then says
  // what is wrong with it.
  void shake_hands() {
    std::string host = pool_->endpoint.host;
    error_code is_name;
    asio::ip::make_address(host, is_name);
    SSL* const ssl = tls_->native_handle();
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl);
    bool is_set = true;
    if (is_name) {
      is_set =
          SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
      X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      is_set = is_set && X509_VERIFY_PARAM_set1_host(wanted, host.data(), host.size()) == 1;
    } else {
      is_set = X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
    }
    if (!is_set)
      return fail_with(error{errc::not_connected, "the host is no name that TLS can ask for"});
    tls_->async_handshake(asio::ssl::stream_base::client, [self =
                                                               shared_from_this()](error_code ec) {
      if (self->is_dropped_) return;
      if (!ec) return self->opened();
      long const why = SSL_get_verify_result(self->tls_->native_handle());
      if (self->pool_->options.verify && why != X509_V_OK)
        return self->fail_with(error{
            errc::not_connected,
            "the certificate of the service was refused: ", X509_verify_cert_error_string(why)});
      self->not_opened("TLS was not agreed on: ", ec);
    });
  }

  void opened() {
    cancel_timer();
    send();
    read();
  }

  void send() {
    if (auto const why = refusal_of(exchange_->what, std::chrono::steady_clock::now())) {
      auto const asked = std::move(exchange_);
      asked->end(unexpected{pool_->said(*why)});
      return rest();
    }
    begin_answer();
    interim_answers_ = 0;
    has_answer_ = false;
    is_writing_ = true;
    has_written_ = false;
    has_failed_to_write_ = false;
    ++exchange_->attempts;
    auto const written = [self = shared_from_this(), asked = exchange_](
                             error_code ec, std::size_t bytes) { self->written(ec, bytes); };
    std::array<asio::const_buffer, 2> const message{asio::buffer(exchange_->head),
                                                    asio::buffer(exchange_->what.body)};
    if (tls_) {
      asio::async_write(*tls_, message, written);
    } else {
      asio::async_write(socket_, message, written);
    }
  }

  void written(error_code ec, std::size_t bytes) {
    is_writing_ = false;
    has_failed_to_write_ = static_cast<bool>(ec);
    // What TLS has not counted may be on its way all the same.
    has_written_ = bytes != 0 || tls_;
    if (is_dropped_) return;
    if (broken_) return break_off(*broken_);
    // An answer may have come before: a service need not read a body that it refuses.
    if (!exchange_) return ec ? drop() : rest();
  }

  void begin_answer() {
    parser_.emplace();
    parser_->eager(true);
    parser_->header_limit(pool_->options.largest_header);
    parser_->body_limit(pool_->options.largest_body);
    if (exchange_->what.method == "HEAD") parser_->skip(true);
    is_http_ = false;
  }

  void read() {
    auto const some = [self = shared_from_this()](error_code ec, std::size_t bytes) {
      self->received(ec, bytes);
    };
    if (tls_) {
      tls_->async_read_some(bytes_.prepare(most_at_once), some);
    } else {
      socket_.async_read_some(bytes_.prepare(most_at_once), some);
    }
  }

  void received(error_code ec, std::size_t bytes) {
    if (is_dropped_) return;
    if (is_taken_) return taken(ec, bytes);
    if (!exchange_) return drop();  // nobody asked
    bytes_.commit(bytes);
    if (bytes != 0) {
      has_answer_ = true;
      if (!parse()) return;
    }
    if (!ec) return read();
    error_code incomplete = ec;
    if (ec == asio::error::eof && parser_->got_some()) parser_->put_eof(incomplete);
    if (incomplete) return break_off(ec);
    is_at_end_ = true;
    answered();
  }

  void taken(error_code ec, std::size_t bytes) {
    is_taken_ = false;
    char byte;
    error_code peeked;
    if (ec == asio::error::operation_aborted && bytes == 0)
      socket_.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, peeked);
    if (peeked != asio::error::would_block) {
      // Closed meanwhile, or with more to say than it was asked for.
      pool_->enter_again(std::move(exchange_));
      return drop();
    }
    send();
    read();
  }

  // Whether more is to be read.
  bool parse() {
    while (bytes_.size() != 0) {
      if (!is_http_) {
        constexpr std::string_view begin = "HTTP/";
        std::string_view const first{static_cast<char const*>(bytes_.data().data()), bytes_.size()};
        if (!begin.starts_with(first.substr(0, begin.size())))
          return bad("what came does not begin as an answer in HTTP does");
        if (first.size() < begin.size()) return true;
        is_http_ = true;
      }
      error_code ec;
      bytes_.consume(parser_->put(bytes_.data(), ec));
      if (ec == http::error::header_limit) return excessive("header");
      if (ec == http::error::body_limit) return excessive("body");
      if (ec == http::error::need_more) {
        // Lines between the parts of a body have no limit of their own.
        if (bytes_.size() > std::size_t{pool_->options.largest_header} + most_at_once)
          return excessive("header");
        return true;
      }
      if (ec) {
        fail_with(error{errc::bad_response, "the answer is not valid HTTP: ", ec.message()});
        return false;
      }
      if (!parser_->is_done()) continue;
      auto const status = parser_->get().result_int();
      if (status == 101) return bad("the service wants to speak another protocol");
      if (status < 100 || status > 999) return bad("the answer has a status that there is not");
      if (status >= 200) {
        answered();
        return false;
      }
      if (++interim_answers_ > most_interim_answers)
        return bad("the service announces an answer again and again, and gives none");
      begin_answer();
    }
    return true;
  }
  bool bad(std::string_view sentence) {
    fail_with(error{errc::bad_response, sentence});
    return false;
  }
  bool excessive(std::string_view part) {
    fail_with(
        error{errc::too_large, "the ", part, " of the answer is larger than the options allow"});
    return false;
  }

  void answered() {
    bool const is_kept =
        parser_->get().keep_alive() && !is_at_end_ && !has_failed_to_write_ && bytes_.size() == 0;
    auto message = parser_->release();
    parser_.reset();
    response answer{.status = static_cast<std::uint16_t>(message.result_int()),
                    .body = std::move(message.body()),
                    .attempts = exchange_->attempts};
    for (auto const& field : message)
      answer.headers.add({field.name_string().data(), field.name_string().size()},
                         {field.value().data(), field.value().size()});
    answer.endpoint = std::string_view{pool_->authority};
    auto const asked = std::move(exchange_);
    if (!is_kept) {
      drop();
    } else if (is_writing_) {
      // The end of the writing may only not have been heard of yet.
      after(std::chrono::seconds{1}, &asio_connection::drop);
      read();
    } else {
      read();
      rest();
    }
    asked->end(std::move(answer));
  }

  void rest() {
    after(pool_->options.idle_timeout, &asio_connection::drop);
    pool_->keep(shared_from_this());
  }

  // The connection broke under a request. How much of it went out says the end of the writing.
  void break_off(error_code ec) {
    broken_ = ec;
    close_socket();
    if (is_writing_) return;
    auto const asked = std::move(exchange_);
    bool const is_read = asked->what.kind == request_kind::read;
    // What was kept too long: the service has closed it while this was under way, and a new one is
    // as good as this was thought to be.
    bool const again =
        is_reused_ && !has_answer_ && asked->attempts == 1 && (is_read || !has_written_);
    if (again) {
      if (!has_written_) asked->attempts = 0;
      asked->wants_new = true;
      pool_->enter_again(asked);
      return drop();
    }
    std::string const what = ec == asio::error::eof ? "the service closed it" : ec.message();
    error const why = is_read || !has_written_
                          ? error{errc::not_connected,
                                  "the connection broke before the answer was complete: ", what}
                          : error{errc::outcome_unknown,
                                  "the connection broke behind a write that was sent: ", what};
    drop();
    asked->end(unexpected{pool_->said(why)});
  }

  std::shared_ptr<asio_pool> pool_;
  asio::steady_timer timer_;
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  std::optional<asio::ssl::stream<asio::ip::tcp::socket&>> tls_{};
  boost::beast::flat_buffer bytes_{};
  std::optional<parser> parser_{};
  std::shared_ptr<asio_exchange> exchange_{};
  std::optional<error_code> broken_{};
  std::uint64_t turn_ = 0;
  int interim_answers_ = 0;
  bool is_dropped_ = false;
  bool is_taken_ = false;
  bool is_reused_ = false;
  bool is_http_ = false;
  bool has_answer_ = false;
  bool is_at_end_ = false;
  bool is_writing_ = false;
  bool has_written_ = false;
  bool has_failed_to_write_ = false;
};

inline asio_exchange::asio_exchange(std::shared_ptr<asio_pool> const& by, request asked)
    : asio_operation{by->strand},
      what{std::move(asked)},
      pool_{by},
      goes_on_in_{by->executor},
      until_{by->strand} {}

inline void asio_exchange::begin() {
  auto const pool = pool_.lock();
  if (!pool) return end(unexpected{asio_closed});
  if (pool->refuses) return end(unexpected{pool->said(*pool->refuses)});
  instant const now = std::chrono::steady_clock::now();
  if (auto const why = refusal_of(what, now)) return end(unexpected{pool->said(*why)});
  auto made = head_of(what, pool->endpoint);
  if (!made) return end(unexpected{made.error()});
  head = *std::move(made);
  until_.expires_at(what.deadline ? *what.deadline
                                  : instant_after(now, pool->options.answer_timeout));
  until_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->give_up(self->too_late());
  });
  on_stop_.emplace(what.stop, asio_stopping<asio_exchange>{weak_from_this()});
  pool->enter(shared_from_this());
}

inline error asio_exchange::too_late() const {
  if (what.deadline) return error{errc::timed_out, "the deadline passed before the answer came"};
  auto const pool = pool_.lock();
  auto const waited = pool ? pool->options.answer_timeout : instant::duration{};
  bool const may_be_done = what.kind != request_kind::read && attempts > 0;
  return error{may_be_done ? errc::outcome_unknown : errc::timed_out, "no answer came within ",
               std::chrono::ceil<std::chrono::milliseconds>(waited).count(), " ms"};
}

inline void asio_exchange::give_up(error why) {
  if (is_over) return;
  auto const pool = pool_.lock();
  if (pool) why = pool->said(why);
  end(unexpected{why});
  if (auto const connection = on.lock()) {
    connection->drop();
  } else if (pool) {
    pool->leave(*this);
  }
}

inline void asio_exchange::end(value_type how) {
  if (std::exchange(is_over, true)) return;
  until_.cancel();
  on_stop_.reset();
  // Not in the strand, which belongs to all: who awaits may take long.
  asio::post(goes_on_in_, [self = shared_from_this(), how = std::move(how)]() mutable {
    self->resume_with(std::move(how));
  });
}

inline void asio_pool::forget(asio_connection const& gone) {
  auto const is_it = [&](std::weak_ptr<asio_connection> const& one) {
    auto const connection = one.lock();
    return !connection || connection.get() == &gone;
  };
  std::erase_if(idle_, is_it);
  std::erase_if(all_, is_it);
  serve();
}

// One to send on, or to close in favour of a new one.
inline std::shared_ptr<asio_connection> asio_pool::kept(bool for_new) {
  if (idle_.empty()) return nullptr;
  auto const which = for_new ? idle_.begin() : idle_.end() - 1;
  auto found = which->lock();
  idle_.erase(which);
  return found;
}

inline void asio_pool::serve() {
  while (!waiting_.empty() && !is_closed_) {
    auto const next = waiting_.front();
    bool const is_full = all_.size() >= options.most_connections;
    if (!next->wants_new || is_full) {
      if (auto const found = kept(next->wants_new)) {
        if (next->wants_new) return found->drop();  // which comes back here
        waiting_.pop_front();
        found->use(next);
        continue;
      }
    }
    if (is_full) return;
    waiting_.pop_front();
    auto const made = std::make_shared<asio_connection>(shared_from_this());
    all_.push_back(made);
    made->open(next);
  }
}

inline void asio_pool::close() {
  is_closed_ = true;
  for (auto const& one : std::exchange(waiting_, {})) one->end(unexpected{said(asio_closed)});
  for (auto const& one : std::exchange(all_, {}))
    if (auto const connection = one.lock()) connection->fail_with(asio_closed);
}

}  // namespace detail

/// A `clock` by Asio's timers, on the steady clock of the machine. Who awaits goes on in the
/// executor, also where a moment is past or stop was requested. Safe to use from several threads.
/// What the executor runs on outlives it, and those who wait.
///
/// Cancellation: by the token, from any thread.
/// Destruction: of who waits, at any time (abandonable): it is forgotten, and its timer cancelled.
/// Not while another thread resumes it.
class asio_clock {
 public:
  /// What `wait_until` returns.
  using wait = detail::asio_awaitable<detail::asio_wait>;

  explicit asio_clock(boost::asio::any_io_executor in) noexcept : executor_{std::move(in)} {}

  [[nodiscard]] instant now() const noexcept { return std::chrono::steady_clock::now(); }

  /// Waits until `due`; the error is `stopped` where stop is requested first.
  wait wait_until(instant due, stop_token stop = {}) const {
    return wait{std::make_shared<detail::asio_wait>(executor_, due, std::move(stop))};
  }

 private:
  boost::asio::any_io_executor executor_;
};

static_assert(clock<asio_clock> && clock<asio_clock const>);

/// A `transport` over HTTP/1.1 and TLS, by Asio and Beast, to one endpoint. It keeps connections
/// and uses them again, follows no redirect and no proxy, and sends the headers of the request as
/// they are, with `Host`, `User-Agent` and `Content-Length` where the request has none.
///
/// A request is sent once. Where a kept connection turns out to have been closed, before a byte of
/// the answer came, it goes once more on a new one: if none of it was written, or it is a read;
/// `attempts` then says so.
///
/// Who awaits goes on in the executor. Safe to use from several threads, also of the executor. What
/// the executor runs on outlives it, and those who wait.
///
/// Cancellation: by the request's stop token and its deadline; the connection is closed, others are
/// not disturbed.
/// Destruction: of who waits, at any time (abandonable): the request is stopped. Not while another
/// thread resumes it.
class asio_transport {
 public:
  /// What `send` returns.
  using sending = detail::asio_awaitable<detail::asio_exchange>;

  /// Opens nothing yet. Requires timeouts above zero, and one connection or more.
  asio_transport(boost::asio::any_io_executor in, service_endpoint to, asio_options options = {}) {
    constexpr auto none = instant::duration::zero();
    expects(options.most_connections > 0, "a transport has one connection at least");
    expects(options.connect_timeout > none && options.answer_timeout > none &&
                options.idle_timeout > none && options.largest_header > 0,
            "timeouts of a transport, and its largest header, are above zero");
    pool_ = std::make_shared<detail::asio_pool>(std::move(in), std::move(to), std::move(options));
  }
  asio_transport(asio_transport const&) = delete;
  asio_transport& operator=(asio_transport const&) = delete;
  /// Closes the connections, soon.
  ~asio_transport() {
    boost::asio::post(pool_->strand, [pool = pool_] { pool->close(); });
  }

  service_endpoint const& endpoint() const noexcept { return pool_->endpoint; }
  asio_options const& options() const noexcept { return pool_->options; }

  /// Errors: as the concept has them; `bad_request` for one that is no request of HTTP, `too_large`
  /// for an answer, `invalid_options` where `ca_file` cannot be read. No connection within its
  /// timeout is `not_connected`, and so is a certificate that was refused.
  sending send(request what) {
    return sending{std::make_shared<detail::asio_exchange>(pool_, std::move(what))};
  }

 private:
  std::shared_ptr<detail::asio_pool> pool_;
};

static_assert(transport<asio_transport>);

}  // namespace keyspan
