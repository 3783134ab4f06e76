// test/processor/hosts.hpp — hosts over one store and one source in virtual time, for stories.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/processor.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace test {

using namespace std::chrono_literals;

struct note {
  std::string book;
  int number = 0;
  friend bool operator==(note const&, note const&) = default;
};
using source_type = keyspan::scripted_source<note, keyspan::cosmos_v2_scheme>;
using store_type = keyspan::memory_store<keyspan::manual_clock>;
using view_type = decltype(std::declval<store_type&>().view(std::string{}));
using token = keyspan::token128;
using options_type = keyspan::processor_options<token>;
using lease_info = keyspan::lease_info<token>;
using batch_type = keyspan::change_batch<token, note>;

/// A coroutine that was begun, and its result once it has ended.
class begun {
  struct life {
    struct promise_type {
      life get_return_object() const noexcept { return {}; }
      std::suspend_never initial_suspend() const noexcept { return {}; }
      std::suspend_never final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept { std::terminate(); }
    };
  };

 public:
  explicit begun(keyspan::task<keyspan::result<void>> what) { run(std::move(what), out_); }
  bool is_over() const { return out_->has_value(); }
  keyspan::result<void> const& outcome() const { return **out_; }

 private:
  using place = std::shared_ptr<std::optional<keyspan::result<void>>>;
  static life run(keyspan::task<keyspan::result<void>> what, place out) {
    keyspan::result<void> done = co_await std::move(what);
    out->emplace(std::move(done));
  }
  place out_ = std::make_shared<std::optional<keyspan::result<void>>>();
};

/// Where all hosts meet, and what was handled.
struct meeting {
  explicit meeting(std::size_t partitions = 4) : source{keyspan::cosmos_v2, partitions} {
    clock.advance(1h);
  }
  void write(std::string const& book) { source.write(book, {book, written[book]++}); }
  void write_some(int each = 1) {
    for (; each > 0; --each)
      for (char name = 'a'; name <= 'p'; ++name) write(std::string{"book "} + name);
  }
  void pass(keyspan::instant::duration time) { clock.advance(time); }

  /// What of the written was handled, and whether those of a book came in their order.
  bool is_all_handled() const {
    for (auto const& [book, count] : written) {
      auto const found = handled.find(book);
      if (found == handled.end() || found->second != count) return false;
    }
    return true;
  }
  void see(note const& one, std::string const& host, std::uint64_t epoch) {
    int& next = handled[one.book];
    if (one.number > next) order_is_kept = false;
    if (one.number < next) ++repeated;
    if (one.number == next) ++next;
    if (epoch < epochs[one.book]) ++late;
    epochs[one.book] = std::max(epochs[one.book], epoch);
    last_by[one.book] = host;
  }
  std::vector<keyspan::lease_record<token>> leases(bool with_ended = false) {
    keyspan::lease_control control{source, store};
    return *keyspan::sync_wait(control.list(with_ended));
  }
  std::map<std::string, int> shares() {
    std::map<std::string, int> all;
    for (auto const& one : leases()) ++all[one.owner_name];
    return all;
  }

  keyspan::manual_clock clock{};
  store_type store{clock};
  source_type source;
  std::map<std::string, int> written{};
  std::map<std::string, int> handled{};
  std::map<std::string, std::uint64_t> epochs{};
  std::map<std::string, std::string> last_by{};
  bool order_is_kept = true;
  int repeated = 0;
  int late = 0;
};

/// Seconds where a program would have tens of them.
inline options_type quick_options(std::string name) {
  options_type made;
  made.host_name = std::move(name);
  made.start = keyspan::from_beginning;
  made.lease_renew_interval = 2s;
  made.lease_acquire_interval = 3s;
  made.lease_expiration_interval = 10s;
  made.layout_poll_interval = 1s;
  made.settle_window = 500ms;
  made.leaving_notice = 1s;
  made.feed_poll_delay = 500ms;
  made.store_timeout = 2s;
  made.drain_limit = 4s;
  return made;
}

/// One host, which runs from its making to its stop.
class host {
 public:
  using process_type = std::function<keyspan::task<keyspan::result<void>>(host&, batch_type&)>;

  host(meeting& at, options_type options, process_type process = {})
      : all{at},
        name{options.host_name},
        view{at.store.view(name)},
        work{at.source, view, at.clock, told(std::move(options))},
        process_{std::move(process)},
        running_{work.run(*this, stop_.token())} {}
  host(host const&) = delete;
  host& operator=(host const&) = delete;
  ~host() {
    stop();
    for (int i = 0; i < 400 && !running_.is_over(); ++i) all.pass(500ms);
    if (!running_.is_over()) std::terminate();
  }

  void stop() { stop_.request_stop(); }
  bool is_over() const { return running_.is_over(); }
  keyspan::result<void> const& outcome() const { return running_.outcome(); }
  std::size_t count(keyspan::processor_event_kind kind) const {
    auto const found = events.find(kind);
    return found == events.end() ? 0 : found->second;
  }

  void open(lease_info const& lease) {
    ++opened;
    order_of_calls_is_kept = order_of_calls_is_kept && at_work.insert({lease.id, true}).second;
  }
  void close(lease_info const& lease, keyspan::close_reason why) {
    order_of_calls_is_kept = order_of_calls_is_kept && at_work.erase(lease.id) == 1;
    closed.push_back(why);
  }
  keyspan::task<keyspan::result<void>> process(batch_type& batch) {
    order_of_calls_is_kept = order_of_calls_is_kept && at_work.contains(batch.lease().id);
    ++batches;
    if (process_) {
      auto doing = process_(*this, batch);
      keyspan::result<void> const done = co_await std::move(doing);
      if (!done) co_return done;
    }
    for (note const& one : batch) all.see(one, name, batch.epoch());
    co_return keyspan::result<void>{};
  }

  meeting& all;
  std::string name;
  view_type view;
  std::map<keyspan::processor_event_kind, std::size_t> events{};
  keyspan::processor<source_type, view_type, keyspan::manual_clock> work;
  std::map<std::string, bool> at_work{};
  std::vector<keyspan::close_reason> closed{};
  int opened = 0;
  int batches = 0;
  bool order_of_calls_is_kept = true;

 private:
  options_type told(options_type options) {
    // The same each time, so that a story is always told in the same way.
    std::uint64_t session = 0x5E55;
    for (char const c : options.host_name) session = session * 131 + static_cast<unsigned char>(c);
    options.session = keyspan::session_id{session};
    options.on_event = [this](keyspan::processor_event const& event) { ++events[event.kind]; };
    return options;
  }

  process_type process_;
  keyspan::stop_source stop_{};
  begun running_;
};

}  // namespace test
