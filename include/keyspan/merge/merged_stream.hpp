// keyspan/merge/merged_stream.hpp — many sources as one stream for coroutines: one suspension a
// page, and only where the source that is needed is not ready.
//
//   while (auto* batch = co_await reader.next_batch()) …        a result of many items
//   while (auto item = co_await reader.next()) use(*item);
//   co_await reader.close();
#pragma once

#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merge_reading.hpp>
#include <keyspan/merge/merged_batch.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

template <class Feed, class Order>
using merge_answer = result<typename merge_reading<Feed, Order>::batch_type>;

template <class Feed, class Order>
async_stream<merge_answer<Feed, Order>> batches_of(merge_reading<Feed, Order>& state) {
  state.begin_round();
  for (;;) {
    merge_step const step = state.advance();
    if (step == merge_step::end) co_return;
    if (step == merge_step::wait) {
      expects(state.in_flight() > 0, "whom a merge waits for was asked");
      co_await state.inbox().wait();
      if (state.is_closed()) co_return;
      continue;
    }
    co_yield state.answer(step);
    if (step == merge_step::failed) co_return;
  }
}

// Awaits the end of a coroutine of batches, whose sources hear of it when it takes no more from
// them.
template <class Feed, class Order>
class closing_batches {
  using batches_type = async_stream<merge_answer<Feed, Order>>;
  using close_type = awaiter_type<decltype(std::declval<batches_type&>().close())>;

 public:
  using checks_itself = void;

  closing_batches(merge_reading<Feed, Order>& state, batches_type& batches, std::size_t& size)
      : state_{state}, size_{size}, close_{awaiter_of(batches.close())} {}
  bool await_ready() {
    bool const is_ready = close_.await_ready();
    if (close_.is_late()) size_ = 0;  // else who awaits takes what he got
    is_first_ = state_.close();       // who awaits may go on inside of this, and end the stream
    return is_ready;
  }
  auto await_suspend(std::coroutine_handle<> who) { return close_.await_suspend(who); }
  bool await_resume() {
    close_.await_resume();
    return is_first_;
  }

 private:
  merge_reading<Feed, Order>& state_;
  std::size_t& size_;
  close_type close_;
  bool is_first_ = false;
};

template <class Feed, class Order>
struct closing_merge {
  closing_batches<Feed, Order> operator co_await() const {
    return closing_batches<Feed, Order>{state, batches, size};
  }
  merge_reading<Feed, Order>& state;
  async_stream<merge_answer<Feed, Order>>& batches;
  std::size_t& size;
};

// Sources that are stopped by closing them, and by nothing else.
template <class Feed>
concept is_closed_itself = requires(Feed const& feed) {
  { feed.close() } -> awaitable;
};

// Whoever closes first waits for what is in flight. `size` is that of the batch that was given.
template <class Feed, class Order>
task<> close_merge(merge_reading<Feed, Order>& state,
                   async_stream<merge_answer<Feed, Order>>& batches, std::size_t& size) {
  bool is_first = false;
  if constexpr (is_closed_itself<Feed>) {
    is_first = state.close();  // before: of what comes nothing is merged
    if (is_first)
      for (auto const& one : state.sources()) co_await one->feed.close();
  }
  closing_merge<Feed, Order> const closing{state, batches, size};
  bool const is_alone = co_await closing;
  if (!is_alone && !is_first) co_return;
  for (state.drop_arrivals(); state.in_flight() > 0; state.drop_arrivals())
    co_await state.inbox().wait();
}
template <class Feed, class Order>
task<> close_merge(merge_reading<Feed, Order>& state,
                   async_stream<merge_answer<Feed, Order>>& batches) {
  std::size_t size = 0;
  co_await close_merge(state, batches, size);
}
// The reading stays until then, also where the stream goes.
template <class Feed, class Order>
task<> close_shared(std::shared_ptr<merge_reading<Feed, Order>> const& of,
                    async_stream<merge_answer<Feed, Order>>& batches, std::size_t& size) {
  auto const state = of;
  co_await close_merge(*state, batches, size);
}

}  // namespace detail

/// What `merge_async` gives: the items of many sources in one order, by batches or one by one,
/// awaited. It is read by batches or by items, not by both in turn. It ends when every source has
/// ended, or has nothing new (never, where they are followed), and after an error. Ended, it can be
/// asked to go on by `again`.
///
/// Cancellation: `close` asks all that is in flight to stop and awaits it. The stop token of a feed
/// that is merged does so from anywhere, as `errc::stopped`.
/// Destruction: at any time when nothing is in flight, so after `close`, and earlier where the
/// sources are always ready, or abandonable. The sources outlive it.
template <class Feed, class Order>
class merged_stream {
  using state_type = detail::merge_reading<Feed, Order>;
  using batches_type = async_stream<detail::merge_answer<Feed, Order>>;
  using next_type = detail::awaiter_type<decltype(std::declval<batches_type&>().next())>;

  class batch_awaiter;
  class item_awaiter;
  template <class Awaiter>
  struct request {
    Awaiter operator co_await() const { return Awaiter{stream}; }
    merged_stream& stream;
  };

 public:
  using item_type = typename state_type::item_type;
  using batch_type = typename state_type::batch_type;

  merged_stream(detail::feeds_and_place<Feed> feeds, Order order, merge_options options)
      : state_{std::make_shared<state_type>(std::move(feeds), std::move(order), options)},
        batches_{detail::batches_of(*state_)} {}
  merged_stream(merged_stream&&) noexcept = default;
  merged_stream& operator=(merged_stream&&) = delete;
  ~merged_stream() = default;

  /// Awaits the next batch, or the error in its place, as a pointer to a result; null at the end.
  /// The batch and its items are good until the next one is asked for, or the stream is closed.
  [[nodiscard]] auto next_batch() { return request<batch_awaiter>{*this}; }
  /// Awaits the next item, as a `stream_item`: false at the end. It is good as long as its batch.
  [[nodiscard]] auto next() { return request<item_awaiter>{*this}; }
  /// Asks what is in flight to stop, and waits until all of that has ended. The stream has ended
  /// then. A second one does not wait for the first. Who awaits `next` meanwhile is given the end,
  /// and may end with the stream at once.
  [[nodiscard]] task<> close() { return detail::close_shared(state_, batches_, size_); }

  /// Behind the end, or an error: begins anew, with what has come meanwhile. Requires that it was
  /// not closed.
  void again() {
    expects(!state_->is_closed(), "a stream that was closed is read no more");
    expects(at_ + 1 >= size_, "a stream begins anew behind its end, or behind an error");
    at_ = size_ = 0;
    batches_ = detail::batches_of(*state_);
  }

  /// Where the merge stands: what to keep, and to go on from. It moves behind a batch when that is
  /// handed out, and behind an item when the next one is asked for: whoever goes on from a cursor
  /// that was kept after the work was done loses nothing.
  auto cursor() const { return state_->cursor(); }
  /// The number of the source that the item came from which was given last.
  std::size_t source() const { return state_->batch().source(at_); }
  /// The numbers of the sources that the next item is waited for.
  std::vector<std::size_t> waits_for() const { return state_->waits_for(); }
  /// The number of the feed, or stream, that a source is a range of.
  std::size_t feed_of(std::size_t source) const { return state_->feed_of(source); }
  /// The sources that it went on without.
  std::vector<merge_failure> const& failures() const noexcept { return state_->failures(); }

 private:
  class batch_awaiter {
   public:
    using checks_itself = void;

    explicit batch_awaiter(merged_stream& stream)
        : stream_{stream}, next_{detail::awaiter_of(stream.batches_.next())} {
      expects(stream.size_ == 0 || stream.at_ + 1 == stream.size_,
              "a stream is read by batches or by items, not by both in turn");
      stream.at_ = stream.size_ = 0;
    }
    bool await_ready() { return next_.await_ready(); }
    auto await_suspend(std::coroutine_handle<> who) { return next_.await_suspend(who); }
    detail::merge_answer<Feed, Order>* await_resume() {
      return next_.received_by(
          [this](detail::merge_answer<Feed, Order>* answer) {
            if (answer && *answer) stream_.state_->leave_behind((*answer)->size());
            return answer;
          },
          [] {});
    }

   private:
    merged_stream& stream_;
    next_type next_;
  };

  class item_awaiter {
    // An optional makes it in place.
    struct next_batch_of {
      operator next_type() const { return detail::awaiter_of(batches.next()); }
      batches_type& batches;
    };

   public:
    using checks_itself = void;

    explicit item_awaiter(merged_stream& stream) : stream_{stream} {}
    bool await_ready() {
      if (++stream_.at_ < stream_.size_) [[likely]] {
        stream_.state_->leave_behind(stream_.at_);
        return true;
      }
      stream_.at_ = stream_.size_ = 0;  // also where nobody waits for what comes
      next_.emplace(next_batch_of{stream_.batches_});
      return next_->await_ready();
    }
    auto await_suspend(std::coroutine_handle<> who) { return next_->await_suspend(who); }
    stream_item<item_type> await_resume() {
      if (!next_) return stream_item<item_type>{stream_.item()};
      return next_->received_by(
          [this](detail::merge_answer<Feed, Order>* answer) { return stream_.take(answer); },
          [this] { stream_.size_ = 0; });
    }

   private:
    merged_stream& stream_;
    std::optional<next_type> next_{};
  };

  item_type* item() const { return std::addressof(state_->batch()[at_]); }
  stream_item<item_type> take(detail::merge_answer<Feed, Order>* answer) {
    if (!answer) return {};
    if (!*answer) return unexpected{answer->error()};
    at_ = 0;
    size_ = (*answer)->size();
    return stream_item<item_type>{item()};
  }

  std::shared_ptr<state_type> state_;  // and of who closes
  batches_type batches_;               // refers to it, and goes first
  std::size_t at_ = 0;                 // the item that was given last, in its batch
  std::size_t size_ = 0;               // of that batch
};

}  // namespace keyspan
