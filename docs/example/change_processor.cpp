// Workers share the changes of a container while it is written to, split and merged, and while one
// of them hangs, as docs/guide/sharing_a_feed.md tells it. The program ends with 1 where a change
// was not handled, or an effect of a former owner was accepted.
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

// [region: source]
struct order {
  std::string id, shop;
  int number = 0;  // 1 for the first order of a shop, then 2, …
};
BOOST_HANA_ADAPT_STRUCT(order, id, shop, number);

using orders = keyspan::memory_container<order, keyspan::cosmos_v2_scheme>;
// [end: source]

namespace {

using store_of_all = keyspan::memory_store<keyspan::thread_clock>;

// What the handlers write to: the total of every shop, say.
class ledger {
 public:
  enum class answer { done, known, refused };

  // [region: sink]
  answer enter(order const& one, std::uint64_t epoch) {
    std::lock_guard const lock{mutex_};
    auto& shop = shops_[one.shop];
    if (epoch < shop.epoch) return ++refused_, answer::refused;  // from a former owner: too late
    shop.epoch = epoch;
    if (one.number <= shop.last) return ++known_, answer::known;  // handled at least once
    is_in_order_ = is_in_order_ && one.number == shop.last + 1;
    shop.last = one.number;
    return answer::done;
  }
  // [end: sink]

  std::uint64_t epoch_of(std::string const& shop) {
    std::lock_guard const lock{mutex_};
    return shops_[shop].epoch;
  }
  bool has_all(std::map<std::string, int> const& written) {
    std::lock_guard const lock{mutex_};
    return std::all_of(written.begin(), written.end(),
                       [&](auto const& shop) { return shops_[shop.first].last == shop.second; });
  }
  struct counts {
    int known = 0, refused = 0;
    bool is_in_order = true;
  };
  counts counted() {
    std::lock_guard const lock{mutex_};
    return {known_, refused_, is_in_order_};
  }

 private:
  struct line {
    std::uint64_t epoch = 0;
    int last = 0;
  };
  std::mutex mutex_;
  std::map<std::string, line> shops_;
  int known_ = 0, refused_ = 0;
  bool is_in_order_ = true;
};

// A host: a thread, a loop, a processor. A program of yours has one of them, in main.
class worker {
 public:
  worker(std::string name, orders& from, store_of_all& records, ledger& to)
      : name_{std::move(name)}, from_{from}, records_{records}, to_{to}, thread_{[this] {
          run();
        }} {}
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;
  ~worker() {
    go_on();
    stop_.request_stop();
    thread_.join();
  }

  // [region: handler]
  keyspan::task<keyspan::result<void>> process(auto& batch) {
    co_await loop_.schedule();  // on the thread of this worker
    for (auto const& change : batch) {
      if (hangs_ && &change != &batch[0]) hang(*change, batch.epoch());
      if (to_.enter(*change, batch.epoch()) == ledger::answer::refused)
        co_return keyspan::fail(keyspan::errc::lease_lost, "another worker has these by now");
    }
    co_return keyspan::result<void>{};
  }
  // [end: handler]

  // Suspended between two changes, as a process may be at any moment, for any time.
  void hang_in_next_batch() { hangs_ = true; }
  bool is_hanging() const { return is_hanging_; }
  std::string const& shop() const { return shop_; }
  std::uint64_t epoch() const { return epoch_; }
  void go_on() {
    hangs_ = false;
    hangs_.notify_all();
  }

 private:
  // [region: run]
  void run() {
    keyspan::processor_options<keyspan::token128> const options{
        .host_name = name_,
        .lease_renew_interval = 200ms,
        .lease_acquire_interval = 300ms,
        .lease_expiration_interval = 1s,
        .feed_poll_delay = 20ms,
        .start = keyspan::from_beginning,
        .layout_poll_interval = 100ms,
        .settle_window = 100ms,
        .drain_limit = 500ms,
        .store_timeout = 400ms,
        .leaving_notice = 100ms,
    };
    auto leases = records_.view(name_, loop_);  // the store, as this worker waits for it
    keyspan::processor sharing{from_, leases, loop_, options};
    auto const done = loop_.complete(sharing.run(*this, stop_.token()));
    if (!done) std::cout << name_ << ": " << done.error() << '\n';
  }
  // [end: run]

  void hang(order const& with, std::uint64_t epoch) {
    shop_ = with.shop;
    epoch_ = epoch;
    is_hanging_ = true;
    hangs_.wait(true);
  }

  std::string name_;
  orders& from_;
  store_of_all& records_;
  ledger& to_;
  keyspan::steady_loop loop_;
  keyspan::stop_source stop_;
  std::atomic<bool> hangs_{false}, is_hanging_{false};
  std::string shop_;  // with which it hangs
  std::uint64_t epoch_ = 0;
  std::thread thread_;
};

// Who writes, splits and looks on.
class office {
 public:
  // What happens goes on meanwhile: orders come, and a line is printed now and then.
  bool until(std::string_view what, std::function<bool()> const& is_so) {
    auto const patience = std::chrono::steady_clock::now() + 20s;
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > patience) {
        std::cout << "in vain: " << what << '\n';
        return false;
      }
      if (is_open_) write();
      print({});
      std::this_thread::sleep_for(10ms);
    }
    print(what);
    return true;
  }
  void close() { is_open_ = false; }

  // Whether just these own leases, and there are so many.
  bool is_shared_by(std::set<std::string> const& names, std::size_t leases) {
    auto const all = keyspan::sync_wait(control_.list());
    if (!all) return false;
    std::set<std::string> owners;
    for (auto const& one : *all) owners.insert(one.owner_name);
    return owners == names && all->size() == leases;
  }
  bool tell_the_end() {
    auto const [known, refused, is_in_order] = book.counted();
    std::cout << next_ << " orders were handled, " << known << " of them once more, and " << refused
              << " came too late and were refused\n";
    return is_in_order && known > 0 && refused > 0;
  }

  orders container{keyspan::cosmos_v2, keyspan::documents_container<"/shop">(), {.partitions = 4}};
  keyspan::thread_clock clock;
  store_of_all store{clock};
  ledger book;
  std::map<std::string, int> written;

 private:
  void write() {
    for (int i = 0; i < 5; ++i) {
      std::string const shop = "shop " + std::to_string(next_++ * 7 % 40);
      int const number = ++written[shop];
      static_cast<void>(keyspan::sync_wait(
          container.create(order{shop + '/' + std::to_string(number), shop, number})));
    }
  }
  // [region: table]
  void print(std::string_view what) {
    auto const at = std::chrono::steady_clock::now();
    if (what.empty() && at < next_line_) return;
    next_line_ = at + 200ms;
    auto const behind = keyspan::sync_wait(control_.lag());
    if (!behind) return;
    std::string owners;
    for (auto const& [lease, changes] : *behind) {
      owners += lease.facts.owner ? lease.owner_name + std::to_string(lease.facts.epoch) : "--";
      owners += ' ';
    }
    std::cout << std::setw(5) << (at - began_) / 1ms << " ms" << std::setw(7) << next_
              << std::setw(6) << keyspan::total_lag(*behind).value_or(0) << "   " << std::setw(28)
              << std::left << owners << std::right << what << std::endl;
  }
  // [end: table]

  keyspan::lease_control<orders, store_of_all> control_{container, store};
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), next_line_{};
  int next_ = 0;
  bool is_open_ = true;
};

bool story() {
  office all;
  auto const hire = [&](std::string name) {
    return std::make_unique<worker>(std::move(name), all.container, all.store, all.book);
  };
  auto a = hire("A");
  auto b = hire("B");
  if (!all.until("A and B share", [&] { return all.is_shared_by({"A", "B"}, 4); })) return false;

  auto const parts = all.container.split(all.container.partitions()[1].id);
  if (!parts || !all.until("one was split", [&] { return all.is_shared_by({"A", "B"}, 5); }))
    return false;

  a->hang_in_next_batch();
  if (!all.until("A hangs", [&] { return a->is_hanging(); })) return false;
  auto c = hire("C");
  if (!all.until("A's are taken over", [&] { return all.is_shared_by({"B", "C"}, 5); }))
    return false;
  // What A was in the middle of was not acknowledged: somebody else is given all of it again.
  if (!all.until("handled elsewhere", [&] { return all.book.epoch_of(a->shop()) > a->epoch(); }))
    return false;

  a->go_on();
  if (!all.until("A comes too late", [&] { return all.book.counted().refused > 0; })) return false;
  a.reset();
  if (!all.until("A has left", [&] { return all.is_shared_by({"B", "C"}, 5); })) return false;

  auto const whole = all.container.merge(parts->front(), parts->back());
  if (!whole || !all.until("two were merged", [&] { return all.is_shared_by({"B", "C"}, 4); }))
    return false;

  all.close();
  return all.until("all is handled", [&] { return all.book.has_all(all.written); }) &&
         all.tell_the_end();
}

}  // namespace

int main() { return story() ? EXIT_SUCCESS : EXIT_FAILURE; }
