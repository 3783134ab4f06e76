// test/adapter/hostile_server.hpp — a server for tests that does what it is told to, right or
// wrong.
//
// It listens on a port of 127.0.0.1 that the system chooses. Each connection has a thread, which
// runs the script; the destructor ends and awaits them all. What waits looks up every few
// milliseconds whether the server is to end.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace test {

/// A request as it stood on the wire.
struct seen_request {
  std::string head;  ///< the request line and the headers, with their ends of lines
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::optional<std::string> find(std::string_view name) const {
    for (auto const& [key, value] : headers)
      if (std::equal(key.begin(), key.end(), name.begin(), name.end(), [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) ==
                   std::tolower(static_cast<unsigned char>(b));
          }))
        return value;
    return std::nullopt;
  }
};

/// One connection, in the hands of a script. What the peer has ended, or the server ends, makes
/// every further call fail.
class hostile_connection {
 public:
  hostile_connection(int socket, std::size_t number, std::atomic<bool> const& is_over,
                     std::function<void(seen_request const&)> on_request)
      : socket_{socket}, number_{number}, is_over_{is_over}, on_request_{std::move(on_request)} {}
  hostile_connection(hostile_connection const&) = delete;
  hostile_connection& operator=(hostile_connection const&) = delete;
  ~hostile_connection() { close(); }

  /// Which one it is: 0 for the first that came.
  std::size_t number() const noexcept { return number_; }

  /// The next request with its body; none where the peer has closed, or sends nonsense.
  std::optional<seen_request> read_request() {
    auto read = read_head();
    if (!read) return std::nullopt;
    auto const length = read->find("content-length");
    std::size_t const size = length ? std::strtoul(length->c_str(), nullptr, 10) : 0;
    while (buffer_.size() < size)
      if (!receive()) return std::nullopt;
    read->body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    on_request_(*read);
    return read;
  }
  /// The head alone; the body stays where it is.
  std::optional<seen_request> read_head() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!receive()) return std::nullopt;
    seen_request read;
    read.head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    std::size_t line = read.head.find("\r\n");
    std::string const first = read.head.substr(0, line);
    std::size_t const blank = first.find(' ');
    std::size_t const last = first.rfind(' ');
    if (blank == std::string::npos || last == blank) return std::nullopt;
    read.method = first.substr(0, blank);
    read.target = first.substr(blank + 1, last - blank - 1);
    for (line += 2; line < read.head.size();) {
      std::size_t const stop = read.head.find("\r\n", line);
      std::string const field = read.head.substr(line, stop - line);
      std::size_t const colon = field.find(':');
      if (colon == std::string::npos) return std::nullopt;
      std::size_t value = colon + 1;
      while (value < field.size() && field[value] == ' ') ++value;
      read.headers.emplace_back(field.substr(0, colon), field.substr(value));
      line = stop + 2;
    }
    return read;
  }

  /// Whether all of it went out.
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!wait_for(POLLOUT)) return false;
      auto const sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// One byte after the other.
  bool write_slowly(std::string_view bytes, std::chrono::milliseconds between) {
    for (char const& one : bytes) {
      if (!write({&one, 1})) return false;
      if (!pause(between)) return false;
    }
    return true;
  }

  /// Waits; false where the server is to end before that.
  bool pause(std::chrono::milliseconds how_long) const {
    auto const end = std::chrono::steady_clock::now() + how_long;
    while (std::chrono::steady_clock::now() < end) {
      if (is_over_) return false;
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      std::this_thread::sleep_for(std::clamp(left, std::chrono::milliseconds{1}, slice));
    }
    return !is_over_;
  }
  /// Waits until the peer closes, or the server is to end; reads on meanwhile.
  void wait_for_the_end() {
    while (receive()) {
      buffer_.clear();
    }
  }
  /// Closes in good order.
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  /// Closes with a reset: the peer's next read fails.
  void reset() {
    if (socket_ < 0) return;
    linger const at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

 private:
  static constexpr std::chrono::milliseconds slice{10};

  bool wait_for(short what) const {
    while (!is_over_ && socket_ >= 0) {
      pollfd one{socket_, what, 0};
      int const ready = ::poll(&one, 1, static_cast<int>(slice.count()));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }
  bool receive() {
    if (!wait_for(POLLIN)) return false;
    char part[65'536];
    auto const got = ::recv(socket_, part, sizeof part, 0);
    if (got <= 0) return false;
    buffer_.append(part, static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  std::size_t number_;
  std::atomic<bool> const& is_over_;
  std::function<void(seen_request const&)> on_request_;
  std::string buffer_{};
};

/// Runs its script over each connection that comes.
class hostile_server {
 public:
  using script = std::function<void(hostile_connection&)>;

  explicit hostile_server(script play) : play_{std::move(play)} {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, plain, size) != 0 || ::listen(listener_, 1'024) != 0 ||
        ::getsockname(listener_, plain, &size) != 0)
      throw std::runtime_error{"a test cannot listen on 127.0.0.1"};
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread{[this] { accept_all(); }};
  }
  hostile_server(hostile_server const&) = delete;
  hostile_server& operator=(hostile_server const&) = delete;
  ~hostile_server() {
    is_over_ = true;
    acceptor_.join();
    for (auto& one : threads_) one.join();
    ::close(listener_);
  }

  std::uint16_t port() const noexcept { return port_; }
  /// "127.0.0.1:40123"
  std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "http://" + authority(); }
  /// How many connections came.
  std::size_t connections() const noexcept { return connections_; }
  /// How many requests `read_request` has given.
  std::size_t requests() const noexcept { return requests_; }
  /// The latest of them.
  seen_request last() const {
    std::lock_guard const lock{mutex_};
    return last_;
  }

 private:
  void accept_all() {
    while (!is_over_) {
      pollfd one{listener_, POLLIN, 0};
      if (::poll(&one, 1, 10) <= 0) continue;
      int const socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      int const at_once = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
      threads_.emplace_back([this, socket, number = connections_++] {
        hostile_connection connection{socket, number, is_over_, [this](seen_request const& read) {
                                        std::lock_guard const lock{mutex_};
                                        last_ = read;
                                        ++requests_;
                                      }};
        play_(connection);
      });
    }
  }

  script play_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_over_{false};
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::size_t> requests_{0};
  mutable std::mutex mutex_{};
  seen_request last_{};
  std::list<std::thread> threads_{};  // of the acceptor alone
  std::thread acceptor_{};
};

/// What a server can do, right and wrong. Each is a script for all connections.
namespace hostile {

/// A response with a right Content-Length.
inline std::string answer(std::string_view body, std::string_view status = "200 OK",
                          std::string_view more_headers = {}) {
  std::string text{"HTTP/1.1 "};
  text.append(status).append("\r\nContent-Length: ").append(std::to_string(body.size()));
  return text.append("\r\n").append(more_headers).append("\r\n").append(body);
}

/// The right answer to a request of `law::check_transport`: its body, and its header x-echo.
inline std::string echo_of(seen_request const& read) {
  auto const value = read.find("x-echo");
  return answer(read.method == "HEAD" ? std::string_view{} : std::string_view{read.body}, "200 OK",
                value ? "X-Echo: " + *value + "\r\n" : std::string{});
}

/// Gives back what it is sent, over connections that stay open; 404 for /refused, and nothing for
/// /unanswered while the peer waits.
inline hostile_server::script echo() {
  return [](hostile_connection& with) {
    while (auto const read = with.read_request()) {
      if (read->target == "/unanswered") return with.wait_for_the_end();
      if (!with.write(read->target == "/refused" ? answer("no such thing", "404 Not Found")
                                                 : echo_of(*read)))
        return;
    }
  };
}

/// Echoes, and closes each connection without a word behind so many answers, after a while.
inline hostile_server::script closes_when_idle(std::size_t answers,
                                               std::chrono::milliseconds after = {}) {
  return [=](hostile_connection& with) {
    for (std::size_t i = 0; i < answers; ++i) {
      auto const read = with.read_request();
      if (!read || !with.write(echo_of(*read))) return;
    }
    with.pause(after);
  };
}

/// Says `bytes` to each request whatever it is, and closes behind the first where `closes`.
inline hostile_server::script says(std::string bytes, bool closes = true) {
  return [=](hostile_connection& with) {
    while (with.read_request())
      if (!with.write(bytes) || closes) return;
  };
}

/// Sends less than Content-Length says, and closes.
inline hostile_server::script truncated_body() {
  return says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
}
/// The same, and the connection stays open: the rest never comes.
inline hostile_server::script length_too_long() {
  return [](hostile_connection& with) {
    if (!with.read_request()) return;
    with.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    with.wait_for_the_end();
  };
}
/// Sends more than Content-Length says: what is left over is no response to anything.
inline hostile_server::script length_too_short() {
  return says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour and more", false);
}
inline hostile_server::script two_lengths() {
  return says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 7\r\n\r\nfour...");
}
inline hostile_server::script length_is_no_number() {
  return says("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nfour");
}
/// Sound chunks, one of them empty of meaning for the body: a trailer.
inline hostile_server::script chunks() {
  return says(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;note=x\r\n world\r\n0\r\nX-Late: yes\r\n\r\n",
      false);
}
inline hostile_server::script bad_chunk() {
  return says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\nworld\r\n");
}
inline hostile_server::script truncated_chunk() {
  return says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nff\r\nwor");
}
inline hostile_server::script invalid_header() {
  return says("HTTP/1.1 200 OK\r\nthis is no header\r\nContent-Length: 2\r\n\r\nok");
}
inline hostile_server::script no_http() { return says("220 mail.example ESMTP\r\n"); }
inline hostile_server::script binary_noise() {
  std::string noise;
  std::uint32_t state = 7;
  for (int i = 0; i < 4'096; ++i) {
    state = state * 1'103'515'245 + 12'345;
    noise += static_cast<char>(state >> 16 & 0xFF);
  }
  return says(noise);
}
inline hostile_server::script status_of_nonsense() {
  return says("HTTP/1.1 abc Odd\r\nContent-Length: 2\r\n\r\nok");
}
/// Headers that never end.
inline hostile_server::script endless_headers() {
  return [](hostile_connection& with) {
    if (!with.read_request() || !with.write("HTTP/1.1 200 OK\r\n")) return;
    std::string const value(1'000, 'a');
    for (std::size_t i = 0; with.write("X-" + std::to_string(i) + ": " + value + "\r\n"); ++i) {
    }
  };
}
/// One line of a header that never ends.
inline hostile_server::script endless_header_line() {
  return [](hostile_connection& with) {
    if (!with.read_request() || !with.write("HTTP/1.1 200 OK\r\nX-Long: ")) return;
    std::string const value(10'000, 'a');
    while (with.write(value)) {
    }
  };
}
/// Informs of going on, and never does.
inline hostile_server::script endless_continues() {
  return [](hostile_connection& with) {
    if (!with.read_request()) return;
    while (with.write("HTTP/1.1 100 Continue\r\n\r\n")) {
    }
  };
}
/// Sends everybody to where they are.
inline hostile_server::script endless_redirects() {
  return [](hostile_connection& with) {
    while (auto const read = with.read_request())
      if (!with.write(answer("", "301 Moved Permanently", "Location: " + read->target + "\r\n")))
        return;
  };
}
/// The page of a proxy in between, which is an answer, if not the service's.
inline hostile_server::script proxy_page(std::string status = "502 Bad Gateway") {
  return says(answer("<html><body>the gateway is at lunch</body></html>", status,
                     "Content-Type: text/html\r\n"),
              false);
}
/// Resets as soon as somebody has connected.
inline hostile_server::script reset_at_once() {
  return [](hostile_connection& with) { with.reset(); };
}
/// Resets when the request is there.
inline hostile_server::script reset_before_headers() {
  return [](hostile_connection& with) {
    with.read_request();
    with.reset();
  };
}
inline hostile_server::script reset_amid_headers() {
  return [](hostile_connection& with) {
    with.read_request();
    with.write("HTTP/1.1 200 OK\r\nContent-Le");
    with.pause(std::chrono::milliseconds{20});  // so that it is read before the reset
    with.reset();
  };
}
inline hostile_server::script reset_after_headers() {
  return [](hostile_connection& with) {
    with.read_request();
    with.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly");
    with.pause(std::chrono::milliseconds{20});
    with.reset();
  };
}
/// Resets in the middle of a request's body, which is left unread.
inline hostile_server::script reset_amid_request() {
  return [](hostile_connection& with) {
    with.read_head();
    with.reset();
  };
}
inline hostile_server::script closes_without_a_word() {
  return [](hostile_connection& with) { with.read_request(); };
}
/// A byte now and then, for as long as somebody waits.
inline hostile_server::script slow_loris(
    std::chrono::milliseconds between = std::chrono::milliseconds{50}) {
  return [=](hostile_connection& with) {
    if (!with.read_request()) return;
    with.write_slowly(answer(std::string(100'000, 'z')), between);
  };
}
/// Reads, and never says anything.
inline hostile_server::script never_answers() {
  return [](hostile_connection& with) { with.wait_for_the_end(); };
}
/// Does not even read: buffers fill up.
inline hostile_server::script never_reads() {
  return [](hostile_connection& with) { with.pause(std::chrono::minutes{5}); };
}
/// A body of so many bytes, announced or not.
inline hostile_server::script large_body(std::size_t size, bool is_announced = true) {
  return [=](hostile_connection& with) {
    while (with.read_request()) {
      std::string const length = "Content-Length: " + std::to_string(size) + "\r\n";
      if (!with.write("HTTP/1.1 200 OK\r\n" + (is_announced ? length : std::string{}) + "\r\n"))
        return;
      std::string const part((std::min)(size, std::size_t{65'536}), 'b');
      for (std::size_t left = size; left > 0; left -= (std::min)(left, part.size()))
        if (!with.write(std::string_view{part}.substr(0, left))) return;
      if (!is_announced) return;
    }
  };
}
/// Informs twice before it answers, whether it was asked to or not.
inline hostile_server::script informs_first() {
  return [](hostile_connection& with) {
    while (auto const read = with.read_request())
      if (!with.write("HTTP/1.1 100 Continue\r\nX-Early: no\r\n\r\n"
                      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" +
                      echo_of(*read)))
        return;
  };
}
/// As the first version did it: the body ends where the connection does.
inline hostile_server::script until_closed() {
  return [](hostile_connection& with) {
    auto const read = with.read_request();
    if (read) with.write("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + read->body);
  };
}
/// Takes the first so many connections as `first` says, and the others as `then` does.
inline hostile_server::script at_first(hostile_server::script first, hostile_server::script then,
                                       std::size_t how_many = 1) {
  return [=](hostile_connection& with) { (with.number() < how_many ? first : then)(with); };
}

}  // namespace hostile

}  // namespace test
