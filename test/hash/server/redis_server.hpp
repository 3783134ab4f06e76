// test/hash/server/redis_server.hpp — a redis-server of our own in cluster mode, and as much of its
// protocol as it takes to ask it something.
#pragma once

#include "process.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace test {

inline sockaddr_in local_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// A socket that is closed.
class tcp_socket {
 public:
  tcp_socket() : number_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    timeval const ten_seconds{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(number_, SOL_SOCKET, SO_RCVTIMEO, &ten_seconds, sizeof ten_seconds);
    ::setsockopt(number_, SOL_SOCKET, SO_SNDTIMEO, &ten_seconds, sizeof ten_seconds);
  }
  ~tcp_socket() { ::close(number_); }
  tcp_socket(tcp_socket const&) = delete;
  tcp_socket& operator=(tcp_socket const&) = delete;

  int number() const { return number_; }

  bool connect(std::uint16_t port) const {
    auto const address = local_address(port);
    return ::connect(number_, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
  }
  /// Takes a port that is free, and says which.
  std::uint16_t bind_to_any() const {
    auto address = local_address(0);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(number_, plain, size) != 0 || ::getsockname(number_, plain, &size) != 0)
      throw std::runtime_error{"no port is free"};
    return ntohs(address.sin_port);
  }

 private:
  int number_;
};

class redis_connection {
 public:
  bool connect(std::uint16_t port) const { return socket_.connect(port); }

  static void add_command(std::string& to, std::span<std::string_view const> words) {
    to += "*" + std::to_string(words.size()) + "\r\n";
    for (auto const word : words) {
      to += "$" + std::to_string(word.size()) + "\r\n";
      to += word;
      to += "\r\n";
    }
  }

  void send(std::string_view commands) const {
    while (!commands.empty()) {
      auto const sent = ::send(socket_.number(), commands.data(), commands.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error{"redis-server does not listen"};
      commands.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// A reply that is one line, with the character that says of which kind it is.
  std::string line() {
    for (;;) {
      auto const end = received_.find("\r\n");
      if (end != received_.npos) {
        std::string const line = received_.substr(0, end);
        received_.erase(0, end + 2);
        return line;
      }
      char bytes[4096];
      auto const got = ::recv(socket_.number(), bytes, sizeof bytes, 0);
      if (got <= 0) throw std::runtime_error{"redis-server does not answer"};
      received_.append(bytes, static_cast<std::size_t>(got));
    }
  }

  /// The slots of the keys, as CLUSTER KEYSLOT tells them.
  std::vector<std::uint16_t> slots_of(std::span<std::string const> keys) {
    std::string commands;
    for (auto const& key : keys) {
      std::string_view const words[]{"CLUSTER", "KEYSLOT", key};
      add_command(commands, words);
    }
    send(commands);
    std::vector<std::uint16_t> slots;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const reply = line();
      if (reply.empty() || reply.front() != ':') throw std::runtime_error{"redis says " + reply};
      slots.push_back(static_cast<std::uint16_t>(std::stoul(reply.substr(1))));
    }
    return slots;
  }

 private:
  tcp_socket socket_;
  std::string received_;
};

/// One node of a cluster that has no others yet, on ports that were free, keeping nothing.
class redis_server {
 public:
  redis_server() {
    // Somebody may take a port between our look and the server's; then another one is tried.
    for (int attempt = 0; attempt < 10; ++attempt)
      if (starts()) return;
    throw std::runtime_error{"redis-server does not start: " + text_of_file(log())};
  }

  std::uint16_t port() const { return port_; }

 private:
  std::filesystem::path log() const { return folder_.path() / "log"; }

  bool starts() {
    std::uint16_t bus = 0;
    {
      tcp_socket const one;
      tcp_socket const other;
      port_ = one.bind_to_any();
      bus = other.bind_to_any();
    }
    process_ = std::make_unique<process>(
        std::vector<std::string>{REDIS_SERVER, "--port", std::to_string(port_), "--bind",
                                 "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port",
                                 std::to_string(bus), "--cluster-config-file", "nodes.conf",
                                 "--dir", folder_.path().string(), "--save", "", "--appendonly",
                                 "no", "--daemonize", "no"},
        log());
    for (int i = 0; i < 200 && !process_->wait(10ms); ++i) {
      redis_connection connection;
      if (!connection.connect(port_)) continue;
      std::string ping;
      std::string_view const words[]{"PING"};
      redis_connection::add_command(ping, words);
      connection.send(ping);
      if (connection.line() == "+PONG") return true;
    }
    process_.reset();
    return false;
  }

  temporary_folder folder_;
  std::uint16_t port_ = 0;
  std::unique_ptr<process> process_{};
};

}  // namespace test
