// test/lease/concurrent/memory_store_test.cpp — one store in memory for hosts on threads of their
// own: one writer wins, nothing that was answered is lost, and who watches is woken.
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/thread_clock.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/memory_store.hpp>

#include "../../async/concurrent/meeting.hpp"

#include <support/check.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::memory_store;
using keyspan::store_operation;
using keyspan::store_request;
using keyspan::store_write;
using keyspan::sync_wait;
using keyspan::thread_clock;
using namespace std::chrono_literals;

constexpr int threads = 4;

template <class F>
void on_threads(F f) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back([&f, t] { f(t); });
  for (auto& one : all) one.join();
}

TEST_CASE("of 4 threads that create and replace at once one wins each round") {
  thread_clock clock;
  memory_store store{clock};
  test::meeting start{threads};
  constexpr int rounds = 2'000;
  std::vector<std::atomic<int>> wins(2 * rounds);
  std::vector<std::atomic<int>> wrong(1);
  on_threads([&](int t) {
    auto const host = store.view("host " + std::to_string(t));
    for (std::size_t round = 0; round < rounds; ++round) {
      std::string const id = "r" + std::to_string(round % 7);
      start.meet();
      auto const made = sync_wait(host.create(id, std::to_string(t), {}));
      if (made) ++wins[2 * round];
      if (!made && made.error().code != errc::already_exists) ++wrong[0];
      start.meet();
      auto const read = sync_wait(host.read(id, {}));
      if (!read) ++wrong[0];
      start.meet();
      auto const replaced = sync_wait(host.replace(id, "x", read->version, {}));
      if (replaced) ++wins[2 * round + 1];
      if (!replaced && replaced.error().code != errc::precondition_failed) ++wrong[0];
      start.meet();
      if (t == 0 && !store.erase(id)) ++wrong[0];
      start.meet();
    }
  });
  CHECK(std::ranges::all_of(wins, [](auto const& one) { return one == 1; }));
  CHECK(wrong[0] == 0);
}

// Each adds to one number, through delays, losses and repetitions, and looks where it does not
// know.
TEST_CASE("what 4 threads add to one number is what it comes to") {
  thread_clock clock;
  memory_store store{clock};
  std::mutex mutex;
  std::vector<store_write> history;
  store.on_write([&](store_write const& one) {
    std::lock_guard const lock{mutex};
    history.push_back(one);
  });
  store.put("number", "0 start");
  constexpr int each = 150;
  on_threads([&](int t) {
    auto const host = store.view("host " + std::to_string(t), {.throttled = 5,
                                                               .unavailable = 5,
                                                               .lost = 10,
                                                               .twice = 20,
                                                               .longest_lateness = 1ms,
                                                               .delayed = 20,
                                                               .longest_delay = 300us,
                                                               .seed = 5});
    for (int i = 0; i < each; ++i) {
      std::string const mark = std::to_string(t) + "/" + std::to_string(i);
      for (;;) {
        auto const read = sync_wait(host.read("number", {}));
        if (!read) continue;
        auto const next = std::to_string(std::stoi(read->body) + 1) + " " + mark;
        auto const made = sync_wait(host.replace("number", next, read->version, {}));
        if (made) break;
        if (keyspan::was_not_done(made.error().code)) continue;
        // Nothing is late here, so what was done is done. Somebody has replaced what was read, or
        // nobody has; who did it is told a little later.
        auto const is_mine = [&]() -> std::optional<bool> {
          if (store.find("number")->version == read->version) return false;
          std::lock_guard const lock{mutex};
          auto const one = std::ranges::find(history, read->version, &store_write::replaced);
          if (one == history.end()) return std::nullopt;
          return one->body == next;
        };
        std::optional<bool> known = is_mine();
        for (; !known; known = is_mine()) std::this_thread::yield();
        if (*known) break;
      }
    }
  });
  CHECK(std::stoi(store.find("number")->body) == threads * each);
  std::ranges::sort(history, {}, &store_write::number);
  std::string version;
  for (std::size_t i = 0; i < history.size(); ++i) {
    CHECK(history[i].number == i + 1);
    CHECK(history[i].replaced == version);
    version = history[i].version;
  }
}

TEST_CASE("a watch on one thread is woken by a write on another, or by a stop") {
  thread_clock clock;
  memory_store store{clock};
  constexpr int rounds = 300;
  std::atomic<int> woken{0};
  std::atomic<int> stopped{0};
  std::atomic<int> other{0};
  std::atomic<bool> is_over{false};
  std::thread writer{[&] {
    while (!is_over) {
      store.put("lease-1", "x");
      store.put("member-1", "x");
      std::this_thread::yield();
    }
  }};
  on_threads([&](int t) {
    auto const host = store.view("host " + std::to_string(t));
    for (int i = 0; i < rounds; ++i) {
      keyspan::stop_source own;
      store_request within;
      within.stop = own.token();
      if (i % 3 == 0) own.request_stop();
      std::thread stops;
      if (i % 30 == 1) stops = std::thread{[&own] { own.request_stop(); }};
      auto const told = sync_wait(host.watch("lease-", within));
      if (told) {
        ++woken;
      } else {
        ++(told.error().code == errc::stopped ? stopped : other);
      }
      if (stops.joinable()) stops.join();
    }
  });
  is_over = true;
  writer.join();
  CHECK(other == 0);
  CHECK(stopped >= threads * rounds / 3);
  CHECK(woken >= threads * rounds / 2);
}

TEST_CASE("cuts, scripts and looks from other threads disturb nobody") {
  thread_clock clock;
  memory_store store{clock};
  std::atomic<bool> is_over{false};
  auto const host = store.view("host", {.lost = 10, .seed = 1});
  std::thread meddler{[&] {
    for (int i = 0; !is_over; ++i) {
      host.cut_off(i % 2 == 0 ? keyspan::store_cut::refusing : keyspan::store_cut::silent);
      host.fail_next(errc::throttled);
      static_cast<void>(store.records());
      host.heal();
      host.chances({.lost = 20, .lacking = 20});
      std::this_thread::yield();
    }
  }};
  std::atomic<std::size_t> done{0};
  on_threads([&](int t) {
    for (int i = 0; i < 1'000; ++i) {
      std::string const id = std::to_string(t) + "-" + std::to_string(i);
      if (sync_wait(host.create(id, "x", {}))) ++done;
      static_cast<void>(sync_wait(host.list(id, {})));
    }
  });
  is_over = true;
  meddler.join();
  CHECK(store.records().size() >= done);
  CHECK(host.asked(store_operation::create) == 4'000);
  CHECK(host.asked(store_operation::list) == 4'000);
}

}  // namespace
