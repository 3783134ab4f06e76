// test/cosmos/service/asio_wire.hpp — the way to a service over Asio, with an event loop in a
// thread of its own.
#pragma once

#include <keyspan/adapter/asio.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

namespace test {

class wire {
 public:
  using transport_type = keyspan::asio_transport;
  using clock_type = keyspan::asio_clock;
  static constexpr std::string_view name = "asio";

  explicit wire(keyspan::service_endpoint to,
                std::chrono::milliseconds answer_timeout = std::chrono::seconds{20})
      : transport_{context_.get_executor(), std::move(to), {.answer_timeout = answer_timeout}} {}
  wire(wire const&) = delete;
  wire& operator=(wire const&) = delete;
  ~wire() {
    work_.reset();
    context_.stop();
    runner_.join();
  }

  transport_type& transport() { return transport_; }
  clock_type& clock() { return clock_; }
  /// Runs it in the event loop until it is done.
  template <class T>
  T run(keyspan::task<T> work) {
    return keyspan::sync_wait(in_the_loop(std::move(work)));
  }

 private:
  template <class T>
  keyspan::task<T> in_the_loop(keyspan::task<T> work) {
    auto const waited = co_await clock_.wait_until(keyspan::instant{});
    static_cast<void>(waited);
    co_return co_await std::move(work);
  }

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      context_.get_executor()};
  keyspan::asio_clock clock_{context_.get_executor()};
  keyspan::asio_transport transport_;
  std::thread runner_{[this] { context_.run(); }};  // the last, so that it finds the others
};

}  // namespace test
