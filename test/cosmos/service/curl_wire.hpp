// test/cosmos/service/curl_wire.hpp — the way to a service over libcurl, with its event loop.
#pragma once

#include <keyspan/adapter/curl.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <chrono>
#include <string_view>
#include <utility>

namespace test {

class wire {
 public:
  using transport_type = keyspan::curl_transport;
  using clock_type = keyspan::curl_loop;
  static constexpr std::string_view name = "curl";

  explicit wire(keyspan::service_endpoint to,
                std::chrono::milliseconds answer_timeout = std::chrono::seconds{20})
      : transport_{loop_, std::move(to), {.answer_timeout = answer_timeout, .proxy = ""}} {}

  transport_type& transport() { return transport_; }
  clock_type& clock() { return loop_; }
  /// Runs it in the event loop until it is done.
  template <class T>
  T run(keyspan::task<T> work) {
    return loop_.complete(std::move(work));
  }

 private:
  keyspan::curl_loop loop_{};
  keyspan::curl_transport transport_;
};

}  // namespace test
