// test/feed/suspending_source.hpp — a source that is never ready: its answers come when a test says
// so; and a coroutine that awaits them, and can be destroyed wherever it is suspended.
#pragma once

#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/range/token_range.hpp>

#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace test {

/// What an operation in flight does when it is asked to stop.
enum class on_stop : unsigned char { ends_at_once, ends_later, goes_on };

/// Reads from `inner`, and answers when `complete` is called. Where it is abandonable, what nobody
/// waits for any more is dropped; where not, nobody may stop waiting.
template <class Source, bool Abandonable>
class suspending_source {
 public:
  using scheme_type = typename Source::scheme_type;
  using page_type = typename Source::page_type;
  using token_type = keyspan::token_of_source<Source>;

  static constexpr bool abandonable = Abandonable;

  on_stop when_stopped = on_stop::ends_at_once;
  bool is_ready = false;  // answers without suspending
  std::size_t suspensions = 0;
  std::size_t dropped = 0;

  explicit suspending_source(Source& inner) : inner_{inner} {}
  suspending_source(suspending_source const&) = delete;
  suspending_source& operator=(suspending_source const&) = delete;

  std::string_view container() const { return inner_.container(); }
  scheme_type scheme() const { return inner_.scheme(); }

 private:
  // Shared by who waits and who completes: either may be gone first.
  struct flight {
    std::coroutine_handle<> who;
    bool is_stopped = false;
  };

  template <class T>
  class operation {
   public:
    operation(suspending_source& source, keyspan::result<T> answer, keyspan::stop_token stop)
        : source_{source}, answer_{std::move(answer)}, stop_{std::move(stop)} {}
    operation(operation&& other) noexcept
        : source_{other.source_}, answer_{std::move(other.answer_)}, stop_{other.stop_} {}
    ~operation() {
      stopped_.reset();
      if (!flight_) return;
      keyspan::expects(Abandonable, "who waits for a pinned source waits on");
      flight_->who = nullptr;
    }

    bool await_ready() const { return source_.is_ready; }
    void await_suspend(std::coroutine_handle<> who) {
      ++source_.suspensions;
      flight_ = std::make_shared<flight>(who);
      source_.flights_.push_back(flight_);
      stopped_.emplace(stop_, stopping{&source_, flight_.get()});  // last: all this may be gone
    }
    keyspan::result<T> await_resume() {
      stopped_.reset();
      if (auto const ended = std::exchange(flight_, nullptr); ended && ended->is_stopped)
        return keyspan::fail(keyspan::errc::stopped, "the source was stopped");
      return std::move(answer_);
    }

   private:
    struct stopping {
      suspending_source* source;
      flight* which;
      void operator()() const noexcept { source->stop(which); }
    };

    suspending_source& source_;
    keyspan::result<T> answer_;
    keyspan::stop_token stop_;
    std::shared_ptr<flight> flight_{};
    std::optional<keyspan::stop_callback<stopping>> stopped_{};
  };

 public:
  auto read(keyspan::token_range<token_type> const& range, keyspan::continuation const& from,
            keyspan::read_request const& request) {
    return operation<page_type>{*this, inner_.read(range, from, request).value, request.stop};
  }
  auto topology(std::string const& known) {
    return operation<keyspan::partition_page<token_type>>{*this, inner_.topology(known).value, {}};
  }

  /// Operations that were begun and not completed, whether or not somebody waits for them.
  std::size_t in_flight() const { return flights_.size(); }
  /// Completes what was begun first, behind so many others; false where nothing was.
  bool complete(std::size_t which = 0) {
    if (which >= flights_.size()) return false;
    auto const at = flights_.begin() + static_cast<std::ptrdiff_t>(which);
    auto const one = std::move(*at);
    flights_.erase(at);
    if (one->who) {
      std::exchange(one->who, nullptr).resume();
    } else {
      ++dropped;
    }
    return true;
  }
  void complete_all() {
    while (complete()) {
    }
  }

 private:
  void stop(flight* which) {
    if (when_stopped == on_stop::goes_on) return;
    which->is_stopped = true;
    if (when_stopped == on_stop::ends_later) return;
    for (auto at = flights_.begin(); at != flights_.end(); ++at)
      if (at->get() == which) {
        auto const one = std::move(*at);
        flights_.erase(at);
        if (one->who) std::exchange(one->who, nullptr).resume();
        return;
      }
  }

  Source& inner_;
  std::deque<std::shared_ptr<flight>> flights_{};
};

/// A coroutine that runs at once, and is destroyed with this.
class running {
 public:
  struct promise_type {
    running get_return_object() {
      return running{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  running(running&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  running& operator=(running other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~running() {
    if (frame_) frame_.destroy();
  }

  bool is_done() const { return !frame_ || frame_.done(); }

 private:
  explicit running(std::coroutine_handle<promise_type> frame) : frame_{frame} {}

  std::coroutine_handle<promise_type> frame_;
};

}  // namespace test
