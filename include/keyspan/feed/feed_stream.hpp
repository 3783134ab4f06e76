// keyspan/feed/feed_stream.hpp — the pages and items of a feed for coroutines: one suspension a
// page, and only where the source is not ready.
//
//   while (auto* page = co_await stream.next_page()) …
//   while (auto item = co_await stream.next()) use(*item);
#pragma once

#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/page_source.hpp>

#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

template <class Source>
concept abandonable_source = requires { requires Source::abandonable; };

// What a source says of all its operations, said of one.
template <class A>
struct abandonable_operation {
  static constexpr bool abandonable = true;
  A operation;
  decltype(auto) operator co_await() && { return awaiter_of(std::move(operation)); }
};

template <class Source, class Ask>
auto operation_of(Ask ask) {
  if constexpr (abandonable_source<Source>) {
    return abandonable_operation<decltype(ask())>{ask()};
  } else {
    return ask();  // in place
  }
}

// A stream's part in the state of its feed: while it asks, it does so with its own stop token,
// which stops where the request's does, too. In between the feed is as it was, for other readers.
template <page_source Source>
class stream_session {
  struct pass_on {
    stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

 public:
  stream_session(feed_state<Source>& state, stop_token own)
      : state_{state}, asked_{state.progress().stop()}, stop_{std::move(own)} {
    if (asked_.stop_possible()) {
      by_request_.emplace(asked_, pass_on{&both_.emplace()});
      by_stream_.emplace(stop_, pass_on{&*both_});
      stop_ = both_->token();
    }
    state_.begin_stream();
  }
  stream_session(stream_session const&) = delete;
  stream_session& operator=(stream_session const&) = delete;
  ~stream_session() {
    state_.end_stream();
    if (!is_asking_) return;
    state_.end_waiting();
    end_asking();
  }

  void begin_asking() {
    state_.progress().stop_by(stop_);
    is_asking_ = true;
  }
  void end_asking() {
    is_asking_ = false;
    state_.progress().stop_by(asked_);
  }

 private:
  feed_state<Source>& state_;
  stop_token asked_;
  stop_token stop_;
  bool is_asking_ = false;
  std::optional<stop_source> both_{};
  std::optional<stop_callback<pass_on>> by_request_{};
  std::optional<stop_callback<pass_on>> by_stream_{};
};

template <page_source Source, class Manner>
async_stream<result<typename Source::page_type>> stream_of(feed_state<Source>& state,
                                                           Manner manner) {
  stop_token own = co_await own_stop_token;
  stream_session<Source> session{state, std::move(own)};
  state.begin_round();
  bool is_left = state.is_in_a_page();
  for (;;) {
    if (!std::exchange(is_left, false)) {
      state.ask_anew(manner);
      session.begin_asking();
      for (auto question = state.question(manner); question != feed_question::none;
           question = state.question(manner)) {
        state.begin_waiting();
        if (question == feed_question::topology) {
          auto asked = operation_of<Source>([&] { return state.topology(); });
          auto answer = co_await std::move(asked);
          state.end_waiting();
          state.take(std::move(answer));
        } else if (question == feed_question::page) {
          auto asked = operation_of<Source>([&] { return state.page(); });
          state.take_awaited(co_await std::move(asked), manner);  // moved once, from its place
        } else if constexpr (waits<Manner>) {
          result<void> const waited =
              co_await manner.wait_until(state.progress().due(), state.progress().stop());
          state.end_waiting();
          state.take(waited);
        }
      }
      session.end_asking();
      if (state.outcome() == feed_outcome::end) co_return;
    }
    bool const is_last = state.outcome() == feed_outcome::failed;
    co_yield state.answer();
    if (is_last) co_return;
  }
}

// A stream that fixes where the feed begins, and gives nothing but an error.
template <page_source Source>
task<result<void>> open_awaited(feed_state<Source>& state) {
  if (state.is_in_a_page() || state.is_open()) co_return result<void>{};
  auto asking = stream_of(state, opening{});
  auto const* const failure = co_await asking.next();
  if (failure) co_return unexpected{failure->error()};
  co_return result<void>{};
}

}  // namespace detail

/// What `feed_stream::next` gives: an item, or the error that came in its place, or, where it is
/// false, the end.
///
///   while (auto item = co_await stream.next()) use(*item);       throws where there is an error
///   … if (!item.has_value()) return item.error(); …                and need not
template <class Item>
class stream_item {
 public:
  /// The end.
  stream_item() = default;
  explicit stream_item(Item* item) : item_{item} {}
  stream_item(unexpected const& why) : item_{why} {}

  /// Whether there is an item, or an error: not the end.
  explicit operator bool() const noexcept { return !item_.has_value() || *item_ != nullptr; }
  /// Whether there is an item.
  bool has_value() const noexcept { return item_.has_value() && *item_ != nullptr; }
  /// The item, which is good until the next one is asked for. Throws `failed` where there is an
  /// error. Requires that it is not the end.
  Item& operator*() const {
    Item* const item = item_.value();
    expects(item != nullptr, "an item is taken where the stream has not ended");
    return *item;
  }
  Item* operator->() const { return std::addressof(**this); }
  /// The error. Requires one: neither an item nor the end.
  keyspan::error const& error() const { return item_.error(); }

 private:
  result<Item*> item_{nullptr};
};

/// The pages or the items of a feed, one after another, awaited: suspends where the source is not
/// ready, once a page. It is read by pages or by items, not by both in turn. It ends when nothing
/// is new (or never, where the feed is followed), and after an error.
///
/// Cancellation: `close` asks what is in flight to stop and awaits it; the stream is at its end
/// then. The request's own stop token does so from anywhere, as `errc::stopped`.
/// Destruction: at any time when nothing is in flight; earlier where the source is abandonable. Who
/// awaits is not destroyed while another thread resumes it. The feed outlives it, and the cursor is
/// the feed's.
template <page_source Source, class Manner>
class feed_stream {
  using state_type = detail::feed_state<Source>;
  using pages_type = async_stream<result<typename Source::page_type>>;
  using next_type = detail::awaiter_type<decltype(std::declval<pages_type&>().next())>;
  using close_type = detail::awaiter_type<decltype(std::declval<pages_type&>().close())>;

  class page_awaiter;
  class item_awaiter;
  class close_awaiter;
  // What can be moved, so that it is welcome wherever a task is; the awaiter cannot.
  template <class Awaiter>
  struct request {
    Awaiter operator co_await() const { return Awaiter{stream}; }
    feed_stream& stream;
  };

 public:
  using page_type = typename Source::page_type;
  using item_type = stream_item<std::remove_pointer_t<typename state_type::pointer>>;

  explicit feed_stream(state_type& state, Manner manner = {})
      : state_{&state}, manner_{manner}, pages_{detail::stream_of(state, std::move(manner))} {}

  /// Awaits the next page that has items, or the error in its place, as a pointer to a result; null
  /// at the end. The page is the feed's: it is good until the feed is asked for the next one, also
  /// where the stream is closed.
  [[nodiscard]] auto next_page() { return request<page_awaiter>{*this}; }
  /// Awaits the next item, as a `stream_item`: false at the end. It is good as long as its page is.
  [[nodiscard]] auto next() { return request<item_awaiter>{*this}; }
  /// Asks what is in flight to stop, and waits until that has ended, and a page or an item on its
  /// way to who awaits it has been taken. The stream has ended then. A second one does not wait for
  /// the first.
  [[nodiscard]] auto close() { return request<close_awaiter>{*this}; }

 private:
  // They hold the awaiter of an `async_stream`, which sees to what is destroyed in flight.
  class page_awaiter {
   public:
    using checks_itself = void;

    explicit page_awaiter(feed_stream& stream)
        : stream_{stream}, next_{detail::awaiter_of(stream.pages_.next())} {
      expects(stream.at_ == nullptr || stream.at_ + 1 == stream.end_,
              "a stream is read by pages or by items, not by both in turn");
      stream.at_ = stream.end_ = nullptr;
    }
    bool await_ready() { return next_.await_ready(); }
    auto await_suspend(std::coroutine_handle<> who) { return next_.await_suspend(who); }
    result<page_type>* await_resume() {
      return next_.received_by(
          [this](result<page_type>* answer) {
            if (answer) stream_.state_->hand_out(stream_.manner_);
            return answer;
          },
          [] {});
    }

   private:
    feed_stream& stream_;
    next_type next_;
  };

  class item_awaiter {
    // An optional makes it in place.
    struct next_page_of {
      operator next_type() const { return detail::awaiter_of(pages.next()); }
      pages_type& pages;
    };

   public:
    using checks_itself = void;

    explicit item_awaiter(feed_stream& stream) : stream_{stream} {}
    bool await_ready() {
      if (stream_.at_ != nullptr && ++stream_.at_ != stream_.end_) [[likely]] {
        stream_.state_->leave_behind(stream_.at_);
        return true;
      }
      stream_.at_ = stream_.end_ = nullptr;  // also where nobody waits for what comes
      next_.emplace(next_page_of{stream_.pages_});
      return next_->await_ready();
    }
    auto await_suspend(std::coroutine_handle<> who) { return next_->await_suspend(who); }
    item_type await_resume() {
      if (!next_) return item_type{stream_.at_};
      return next_->received_by([this](result<page_type>* answer) { return stream_.take(answer); },
                                [this] { stream_.at_ = stream_.end_ = nullptr; });
    }

   private:
    feed_stream& stream_;
    std::optional<next_type> next_{};
  };

  class close_awaiter {
   public:
    using checks_itself = void;

    explicit close_awaiter(feed_stream& stream)
        : stream_{stream}, close_{detail::awaiter_of(stream.pages_.close())} {}
    // What is in flight leaves no item at hand, and from here on the stream may go.
    bool await_ready() {
      bool const is_ready = close_.await_ready();
      if (close_.is_late()) stream_.at_ = stream_.end_ = nullptr;
      return is_ready;
    }
    auto await_suspend(std::coroutine_handle<> who) { return close_.await_suspend(who); }
    void await_resume() { close_.await_resume(); }

   private:
    feed_stream& stream_;
    close_type close_;
  };

  // Where there is none the stream may be closed already, and gone.
  item_type take(result<page_type>* answer) {
    if (!answer) return {};
    if (!*answer) return unexpected{answer->error()};
    at_ = state_->at();
    end_ = state_->end();
    return item_type{at_};
  }

  state_type* state_;
  [[no_unique_address]] Manner manner_;
  pages_type pages_;
  typename state_type::pointer at_ = nullptr;  // the item that was given last
  typename state_type::pointer end_ = nullptr;
};

}  // namespace keyspan
