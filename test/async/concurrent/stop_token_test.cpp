// test/async/concurrent/stop_token_test.cpp — callbacks come and go on four threads while stop is
// requested.
#include <keyspan/async/stop_token.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace {

using keyspan::stop_callback;
using keyspan::stop_source;
using keyspan::stop_token;

TEST_CASE("each callback that stays is called once, by whoever requests first") {
  for (int round = 0; round < 300; ++round) {
    stop_source source;
    std::atomic<int> calls = 0;
    std::atomic<int> firsts = 0;
    std::latch all_here{4};
    std::latch all_done{4};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, stop = source.token(), own = source]() mutable {
        all_here.arrive_and_wait();
        stop_callback const told{stop, [&] { ++calls; }};
        if (own.request_stop()) ++firsts;
        all_done.arrive_and_wait();
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(calls == 4);
    CHECK(firsts == 1);
  }
}

TEST_CASE("behind its destructor a callback is not running on any thread") {
  for (int round = 0; round < 300; ++round) {
    stop_source source;
    std::latch all_here{4};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i, stop = source.token()] {
        all_here.arrive_and_wait();
        for (int n = 0; n < 20; ++n) {
          int written = 0;  // gone with the turn: a call that came later would be seen
          {
            stop_callback const told{stop, [&] { ++written; }};
            if (n % 4 == i) std::this_thread::yield();
          }
          if (written > 1) throw 0;
        }
      });
    }
    all_here.arrive_and_wait();
    std::this_thread::yield();
    source.request_stop();
    for (auto& thread : threads) thread.join();
    CHECK(source.stop_requested());
  }
}

TEST_CASE("callbacks of eight threads that come and go at once all get their turn") {
  stop_source source;
  std::atomic<int> done = 0;
  std::latch all_here{8};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, stop = source.token()] {
      all_here.arrive_and_wait();
      for (int n = 0; n < 20'000; ++n) stop_callback const told{stop, [] {}};
      ++done;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(done == 8);
}

TEST_CASE("what was written before the request is read by who is asked to stop") {
  for (int round = 0; round < 200; ++round) {
    stop_source source;
    int reason = 0;
    std::thread reader{[&, stop = source.token()] {
      while (!stop.stop_requested()) std::this_thread::yield();
      if (reason != 7) throw 0;
    }};
    reason = 7;
    source.request_stop();
    reader.join();
  }
  SUCCEED();
}

TEST_CASE("the destructor of a callback waits for its call on another thread") {
  stop_source source;
  std::latch is_called{1};
  bool has_ended = false;  // written plainly: the destructor's end is what orders it
  auto const slow = [&] {
    is_called.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    has_ended = true;
  };
  std::optional<stop_callback<decltype(slow)>> told;
  told.emplace(source.token(), slow);
  std::thread stopper{[&] { source.request_stop(); }};
  is_called.wait();
  told.reset();
  CHECK(has_ended);
  stopper.join();
}

}  // namespace
