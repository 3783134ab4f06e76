// test/processor/concurrent/processor_test.cpp — hosts whose source, store and handlers complete on
// other threads.
#include <keyspan/async/completion.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::instant;
using keyspan::result;
using keyspan::task;

// Threads that resume who waits, at its moment or at once. Real time, for one test.
class threads {
 public:
  explicit threads(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) running_.emplace_back([this] { work(); });
  }
  ~threads() {
    {
      std::lock_guard const lock{mutex_};
      is_over_ = true;
    }
    changed_.notify_all();
    for (auto& one : running_) one.join();
  }

  instant now() const { return std::chrono::steady_clock::now(); }
  task<result<void>> wait_until(instant due, keyspan::stop_token stop) {
    struct waiting {
      std::atomic<bool> is_told{false};
      std::optional<keyspan::completer<void>> done{};
    };
    auto const one = std::make_shared<waiting>();
    auto const tell = [one] {
      if (!one->is_told.exchange(true)) (*one->done)();
    };
    struct stopping {
      std::function<void()> does;
      void operator()() const noexcept { does(); }
    };
    std::optional<keyspan::stop_callback<stopping>> on_stop;
    co_await keyspan::completion_of<void>([&](keyspan::completer<void> done) {
      one->done.emplace(std::move(done));
      on_stop.emplace(stop, stopping{[this, tell] { at(now(), tell); }});
      at(due, tell);
    });
    on_stop.reset();
    if (stop.stop_requested()) co_return keyspan::fail(keyspan::errc::stopped, "stopped");
    co_return result<void>{};
  }
  // To another thread.
  task<> move() {
    co_await keyspan::completion_of<void>(
        [this](keyspan::completer<void> done) { at(now(), [done] { done(); }); });
  }
  void at(instant due, std::function<void()> what) {
    {
      std::lock_guard const lock{mutex_};
      due_.emplace(due, std::move(what));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock{mutex_};
    while (!is_over_) {
      if (due_.empty()) {
        changed_.wait(lock);
      } else if (auto const first = due_.begin()->first; first > now()) {
        changed_.wait_until(lock, first);
      } else {
        auto const what = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        lock.unlock();
        what();
        lock.lock();
      }
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::multimap<instant, std::function<void()>> due_{};
  bool is_over_ = false;
  std::vector<std::thread> running_{};
};
static_assert(keyspan::clock<threads>);

struct note {
  std::string id;
  std::string book;
  int number = 0;
};
auto definition() { return keyspan::documents_container(&note::book).with_row_key(&note::id); }
using notes = keyspan::memory_container<note, keyspan::cosmos_v2_scheme>;
using token = keyspan::token128;

// Each read is answered on another thread.
struct far_source {
  using scheme_type = notes::scheme_type;
  using page_type = notes::page_type;
  std::string const& container() const { return of->container(); }
  scheme_type scheme() const { return of->scheme(); }
  task<result<page_type>> read(keyspan::token_range<token> const& range,
                               keyspan::continuation const& from,
                               keyspan::read_request const& request) {
    co_await on->move();
    auto answer = co_await of->read(range, from, request);
    co_return answer;
  }
  task<result<keyspan::partition_page<token>>> topology(std::string const& known) {
    co_await on->move();
    auto answer = co_await of->topology(known);
    co_return answer;
  }
  notes* of;
  threads* on;
};

// What all hosts have handled.
struct sink {
  std::mutex mutex{};
  std::map<std::string, int> next{};
  std::size_t handled = 0;
  bool is_in_order = true;

  void see(note const& one) {
    std::lock_guard const lock{mutex};
    int& expected = next[one.book];
    if (one.number > expected) is_in_order = false;
    if (one.number == expected) {
      ++expected;
      ++handled;
    }
  }
  std::size_t count() {
    std::lock_guard const lock{mutex};
    return handled;
  }
};

struct handler {
  threads& on;
  sink& to;
  bool by_hand;

  template <class Batch>
  task<result<void>> process(Batch& batch) {
    co_await on.move();
    for (auto const& one : batch) to.see(*one);
    if (by_hand) {
      auto const done = batch.acknowledger();
      on.at(on.now() + 1ms, [done] { done(); });
    }
    co_return result<void>{};
  }
  template <class Item>
  static std::uint64_t lane_of(Item const& one) {
    return std::hash<std::string>{}(one->book);
  }
};

TEST_CASE("hosts go on wherever what they await is done, and lose nothing") {
  for (bool const by_hand : {false, true}) {
    threads pool{4};
    notes truth{keyspan::cosmos_v2, definition(), {.name = "notes", .partitions = 4}};
    far_source source{&truth, &pool};
    keyspan::memory_store store{pool};
    sink all;

    keyspan::processor_options<token> options;
    options.start = keyspan::from_beginning;
    options.lease_renew_interval = 100ms;
    options.lease_acquire_interval = 100ms;
    options.lease_expiration_interval = 5s;
    options.layout_poll_interval = 30ms;
    options.settle_window = 20ms;
    options.store_timeout = 1s;
    options.feed_poll_delay = 5ms;
    options.lanes = 3;
    options.max_item_count = 7;
    if (by_hand) options.checkpointing = keyspan::checkpointing::manual;
    keyspan::processor first{source, store, pool, options};
    keyspan::processor second{source, store, pool, options};
    handler one{pool, all, by_hand};
    handler two{pool, all, by_hand};
    keyspan::stop_source stop_first;
    keyspan::stop_source stop_second;

    constexpr std::size_t count = 400;
    std::thread driver{[&] {
      std::map<std::string, int> numbers;
      for (std::size_t i = 0; i < count; ++i) {
        auto const book = "book " + std::to_string(i % 13);
        int const number = numbers[book]++;
        static_cast<void>(keyspan::sync_wait(
            truth.create(note{book + " " + std::to_string(number), book, number})));
        if (i == count / 4) static_cast<void>(truth.split(truth.partitions().front().id));
        if (i == count / 2) stop_first.request_stop();
        if (i % 8 == 0) std::this_thread::sleep_for(1ms);
        if (i % 50 == 0) static_cast<void>(keyspan::sync_wait(second.status()));
      }
      for (int tries = 0; tries < 4000 && all.count() < count; ++tries)
        std::this_thread::sleep_for(5ms);
      stop_second.request_stop();
    }};
    auto both =
        keyspan::when_all(first.run(one, stop_first.token()), second.run(two, stop_second.token()));
    auto const [a, b] = keyspan::sync_wait(std::move(both));
    driver.join();
    CHECK(a.has_value());
    CHECK(b.has_value());
    CHECK(all.count() == count);
    CHECK(all.is_in_order);
  }
}

}  // namespace
