// bench/adapter/answering_server.hpp — a server that answers at once what it was given to say: one
// thread, kept connections, nothing read of a request but its end.
//
//   answering_server server{[](std::string_view request) { return std::string_view{…}; }};
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// Listens on a port of 127.0.0.1 that the system chooses. Requests have no bodies.
class answering_server {
 public:
  /// The whole message to say to a request, which is its first line and its headers; it outlives
  /// the server.
  using answers = std::function<std::string_view(std::string_view request)>;

  explicit answering_server(answers say) : say_{std::move(say)} {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, plain, size) != 0 || ::listen(listener_, 1'024) != 0 ||
        ::getsockname(listener_, plain, &size) != 0 || ::pipe(over_.data()) != 0)
      throw std::runtime_error{"a bench cannot listen on 127.0.0.1"};
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { serve(); }};
  }
  answering_server(answering_server const&) = delete;
  answering_server& operator=(answering_server const&) = delete;
  ~answering_server() {
    ::close(over_[1]);
    thread_.join();
    ::close(over_[0]);
    ::close(listener_);
  }

  /// "http://127.0.0.1:40123"
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void serve() {
    std::vector<pollfd> all{{over_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    std::vector<std::string> read(2);
    for (;;) {
      if (::poll(all.data(), all.size(), -1) < 0) continue;
      if (all[0].revents != 0) break;
      for (std::size_t i = all.size(); i-- > 2;) {
        if (all[i].revents == 0 || answer(all[i].fd, read[i])) continue;
        ::close(all[i].fd);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        read.erase(read.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (all[1].revents == 0) continue;
      int const socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      int const at_once = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
      all.push_back({socket, POLLIN, 0});
      read.emplace_back();
    }
    for (std::size_t i = 2; i < all.size(); ++i) ::close(all[i].fd);
  }

  // False where the peer is gone.
  bool answer(int socket, std::string& read) const {
    char part[16'384];
    auto const got = ::recv(socket, part, sizeof part, 0);
    if (got <= 0) return false;
    read.append(part, static_cast<std::size_t>(got));
    for (;;) {
      std::size_t const end = read.find("\r\n\r\n");
      if (end == std::string::npos) return true;
      std::string_view const said = say_({read.data(), end + 2});
      if (::send(socket, said.data(), said.size(), MSG_NOSIGNAL) !=
          static_cast<std::ptrdiff_t>(said.size()))
        return false;
      read.erase(0, end + 4);
    }
  }

  answers say_;
  int listener_ = -1;
  std::array<int, 2> over_{-1, -1};  // a pipe that is closed when it is over
  std::uint16_t port_ = 0;
  std::thread thread_{};
};

}  // namespace bench
