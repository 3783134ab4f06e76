// test/merge/concurrent/merge_inbox_test.cpp — four threads put in, one coroutine takes out, on
// whichever thread woke it; everything comes once, in the order of each thread.
#include <keyspan/merge/merge_inbox.hpp>

#include "../../async/concurrent/meeting.hpp"
#include "../../async/held.hpp"

#include <support/check.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace {

using keyspan::detail::inbox_node;
using keyspan::detail::merge_inbox;
using test::held;

constexpr int threads = 4;

// What is in a letter is plain: the inbox alone hands it over.
struct letter : inbox_node {
  int from = 0;
  int number = 0;
};

struct post {
  merge_inbox inbox{};
  std::array<int, threads> next{};  // whose letter is expected of each
  int wrong = 0;
  int left = 0;
  std::atomic<bool> is_over{false};

  held read() {
    while (left > 0) {
      co_await inbox.wait();
      auto* one = inbox.take();
      if (one == nullptr) ++wrong;
      while (one != nullptr) {
        auto& read = static_cast<letter&>(*one);
        one = one->behind;
        if (read.number != next[static_cast<std::size_t>(read.from)]++) ++wrong;
        read.number = -1;
        --left;
      }
    }
    is_over = true;
    is_over.notify_all();
  }
};

TEST_CASE("of what 4 threads put in nothing is lost, and nothing comes twice") {
  constexpr int letters_each = 20'000;
  std::vector<std::vector<letter>> letters(threads);
  for (int t = 0; t < threads; ++t)
    for (int n = 0; n < letters_each; ++n) {
      letters[static_cast<std::size_t>(t)].emplace_back();
      letters[static_cast<std::size_t>(t)].back().from = t;
      letters[static_cast<std::size_t>(t)].back().number = n;
    }
  post office;
  office.left = threads * letters_each;
  {
    held const reader = office.read();
    std::vector<std::thread> senders;
    for (auto& own : letters)
      senders.emplace_back([&office, &own] {
        for (int n = 0; n < letters_each; ++n) {
          // Some at once, some with a pause in which the reader may begin to wait.
          for (int spin = 0; spin < n % 16 * 10; ++spin)
            std::atomic_signal_fence(std::memory_order_seq_cst);
          office.inbox.push(own[static_cast<std::size_t>(n)]).resume();
        }
      });
    for (auto& one : senders) one.join();
    office.is_over.wait(false);
    CHECK(reader.is_done());
  }
  CHECK(office.wrong == 0);
  CHECK(office.left == 0);
  for (int const next : office.next) CHECK(next == letters_each);
}

// All at the same moment, and each letter is used again as soon as it was read.
TEST_CASE("of 4 threads that meet one wakes the reader, and all are heard") {
  constexpr int rounds = 5'000;
  std::array<letter, threads> letters;
  post office;
  office.left = threads * rounds;
  test::meeting start{threads};
  {
    held const reader = office.read();
    std::vector<std::thread> senders;
    for (int t = 0; t < threads; ++t)
      senders.emplace_back([&, t] {
        auto& own = letters[static_cast<std::size_t>(t)];
        for (int n = 0; n < rounds; ++n) {
          start.meet();
          own.from = t;
          own.number = n;
          office.inbox.push(own).resume();
          // Whoever woke the reader has come back: so has the letter, but for those that came in
          // while another thread was reading.
          start.meet();
        }
      });
    for (auto& one : senders) one.join();
    office.is_over.wait(false);
  }
  CHECK(office.wrong == 0);
  CHECK(office.left == 0);
}

}  // namespace
