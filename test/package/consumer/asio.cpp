// test/package/consumer/asio.cpp — a program that uses keyspan::asio.
#include <keyspan/adapter/asio.hpp>
#include <keyspan/async.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <thread>

int main() {
  auto const where = keyspan::service_endpoint::parse("http://127.0.0.1:1");
  if (!where) return 1;
  boost::asio::io_context io;
  auto const work = boost::asio::make_work_guard(io);
  std::thread thread{[&io] { io.run(); }};
  bool waited = false;
  bool answered = true;
  {
    keyspan::asio_clock const clock{io.get_executor()};
    keyspan::asio_transport nobody{io.get_executor(), *where};
    waited = keyspan::sync_wait(keyspan::wait_for(clock, std::chrono::milliseconds{1})).has_value();
    answered = keyspan::sync_wait(nobody.send({})).has_value();
  }
  io.stop();
  thread.join();
  if (!waited || answered) return 1;
  std::cout << "keyspan::asio works\n";
}
