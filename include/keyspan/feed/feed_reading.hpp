// keyspan/feed/feed_reading.hpp — how a feed is looped over: by items or by pages, until nothing is
// new or for ever.
//
//   state      page: [ a b c d e ]                  at a fixed address, so that a feed can be moved
//   iterator           ^       ^    at, end         holds them itself: an item costs an increment
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/range/routing_refresh.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace keyspan {

/// The manner of reading until each range has answered once that nothing is new.
struct draining {
  static constexpr std::optional<instant> now() noexcept { return std::nullopt; }
  static constexpr instant due() noexcept { return (instant::max)(); }
};

/// The manner of reading for ever: a range that has nothing new is asked again after a delay.
template <clock Clock>
class following {
 public:
  following() = default;
  /// Requires a delay above 0. The clock outlives the reading.
  following(Clock& by, instant::duration delay) : clock_{&by}, delay_{delay} {
    expects(delay > instant::duration::zero(), "a feed is followed with a delay above 0");
  }

  std::optional<instant> now() const { return clock_->now(); }
  instant due() const { return instant_after(clock_->now(), delay_); }
  /// Waits until a moment, or until the reading is stopped.
  auto wait_until(instant due, stop_token const& stop) const {
    return clock_->wait_until(due, stop);
  }

 private:
  Clock* clock_ = nullptr;
  instant::duration delay_{1};
};

namespace detail {

// The manner of fixing where a feed begins, without reading.
struct opening : draining {};

template <class Manner>
concept waits = requires(Manner const& manner, instant due, stop_token const& stop) {
  { manner.wait_until(due, stop) } -> awaitable_of<result<void>>;
};

// An operation that has said that it is not ready, which is not asked a second time.
template <class Awaiter>
struct unready {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> suspended) {
    return operation.await_suspend(suspended);
  }
  decltype(auto) await_resume() { return operation.await_resume(); }

  Awaiter& operation;
};

enum class feed_outcome : std::uint8_t { asking, page, end, failed };

// What the loops over a feed share. One of them fetches at a time:
//
//   ask_anew, then question after question with its answer, until there is an outcome
template <page_source Source>
class feed_state {
 public:
  using page_type = typename Source::page_type;
  using token_type = token_of_source<Source>;
  using items_type = decltype(page_type::items);
  using pointer = decltype(std::ranges::data(std::declval<items_type&>()));

  feed_state(Source& source, feed_request<token_type> request)
      : source_{&source}, progress_{source.scheme(), source.container(), std::move(request)} {}
  feed_state(feed_state const&) = delete;
  feed_state& operator=(feed_state const&) = delete;
  ~feed_state() { expects(streams_ == 0, "a feed outlives the streams that read it"); }

  Source& source() const noexcept { return *source_; }
  feed_progress<typename Source::scheme_type>& progress() noexcept { return progress_; }

  feed_outcome outcome() const noexcept { return outcome_; }
  // The page that was fetched last, or the error that came in its place.
  result<page_type>& answer() noexcept { return *current_; }
  // What of the page is not left behind.
  pointer at() const noexcept { return at_; }
  pointer end() const noexcept { return end_; }
  void leave_behind(pointer items) noexcept { at_ = items; }
  bool is_in_a_page() const noexcept { return outcome_ == feed_outcome::page && is_pending_; }

  // A loop begins. That nothing is new behind the page which an earlier one was left in was said
  // before, so that range is asked again as well.
  void begin_round() noexcept {
    progress_.begin_round();
    is_left_ = is_in_a_page();
  }
  template <class Manner>
  void ask_anew(Manner const& manner) {
    expects(!is_awaited_, "a feed has one reader at a time, and one is waiting for a page");
    pass(manner);
    at_ = end_ = nullptr;
    outcome_ = feed_outcome::asking;
  }
  template <class Manner>
  feed_question question(Manner const& manner) {
    if (outcome_ != feed_outcome::asking) return feed_question::none;
    if (!progress_.sound()) return stop_asking(progress_.sound().error());
    if (progress_.stop().stop_requested())
      return stop_asking(error{errc::stopped, "the reading of the feed was stopped"});
    std::optional<instant> const now = manner.now();
    if (now && progress_.is_late(*now))
      return stop_asking(error{errc::timed_out, "the deadline of the feed has passed"});
    auto const next = next_question(manner, now);
    if (next == feed_question::none) outcome_ = feed_outcome::end;
    return next;
  }
  auto topology() { return source_->topology(progress_.version()); }
  auto page() { return source_->read(progress_.range(), progress_.from(), progress_.request()); }
  void take(result<partition_page<token_type>> answer) {
    if (!answer) {
      progress_.see(answer.error());
      stop_asking(answer.error());
    } else if (auto const taken = progress_.take(*std::move(answer)); !taken) {
      stop_asking(taken.error());
    }
  }
  template <class Manner>
  void take(result<page_type>&& answer, Manner const& manner) {
    current_ = &answer_;
    if (answer) {
      answer_.emplace(*std::move(answer));
    } else {
      answer_ = unexpected{answer.error()};
    }
    look_at_answer(manner);
  }
  template <class Manner>
  void take(result<page_type> const& answer, Manner const& manner) {
    take(result<page_type>{answer}, manner);
  }
  void take(result<void> const& waited) {
    if (!waited) stop_asking(waited.error());
  }

  // The cursor goes behind the page.
  template <class Manner>
  void pass(Manner const& manner) {
    if (!std::exchange(is_pending_, false)) return;
    bool const nothing_new = answer()->nothing_new && !is_left_;
    progress_.pass(answer()->continuation, nothing_new, nothing_new ? manner.due() : instant{});
  }
  // The page is handed out as a whole, so that none of its items are left to be read.
  template <class Manner>
  void hand_out(Manner const& manner) {
    if (outcome_ != feed_outcome::page) return;
    pass(manner);
    at_ = end_ = nullptr;
  }

  template <class Manner>
  void fetch(Manner const& manner) {
    ask_anew(manner);
    for (;;) switch (question(manner)) {
        case feed_question::topology:
          take(sync_wait(topology()));
          break;
        case feed_question::page:
          if constexpr (answers_at_once) {
            current_ = &answer_;  // where the source throws
            at_hand_.emplace(made_in_place{*this});
            current_ = &at_hand_->value;
            look_at_answer(manner);
          } else {
            fetch_page(page(), manner);
          }
          break;
        case feed_question::wait:
          if constexpr (waits<Manner>)
            take(sync_wait(manner.wait_until(progress_.due(), progress_.stop())));
          break;
        case feed_question::none:
          return;
      }
  }

  // A page that is ready is moved once, from where the source has made it.
  template <class Read, class Manner>
  void fetch_page(Read&& read, Manner const& manner) {
    auto&& operation = detail::awaiter_of(std::forward<Read>(read));
    if (operation.await_ready()) [[likely]] {
      take(operation.await_resume(), manner);
    } else {
      take(sync_wait(unready<std::remove_reference_t<decltype(operation)>>{operation}), manner);
    }
  }

  result<void> open() {
    if (is_in_a_page() || is_open()) return {};
    fetch(opening{});
    if (outcome_ == feed_outcome::failed) return unexpected{answer().error()};
    return {};
  }

  bool is_open() {
    return progress_.sound().has_value() && progress_.next_to_open() == feed_question::none;
  }

  // While a stream lives, and while it waits for an answer.
  void begin_stream() noexcept { ++streams_; }
  void end_stream() noexcept { --streams_; }
  void begin_waiting() {
    expects(!is_awaited_, "a feed has one reader at a time, and one is waiting for a page");
    is_awaited_ = true;
  }
  void end_waiting() noexcept { is_awaited_ = false; }
  template <class Manner>
  void take_awaited(result<page_type>&& answer, Manner const& manner) {
    end_waiting();
    take(std::move(answer), manner);
  }

 private:
  using read_type = decltype(std::declval<Source&>().read(
      std::declval<token_range<token_type> const&>(), std::declval<continuation const&>(),
      std::declval<read_request const&>()));
  // An answer that is at hand stays where the source has made it: a page is not moved at all.
  static constexpr bool answers_at_once = std::same_as<read_type, ready<result<page_type>>>;
  struct nothing {};
  struct made_in_place {
    operator read_type() const { return state.page(); }
    feed_state& state;
  };

  template <class Manner>
  void look_at_answer(Manner const& manner) {
    result<page_type>& answer = *current_;
    if (!answer) [[unlikely]] {
      if (!progress_.absorb(answer.error())) outcome_ = feed_outcome::failed;
      return;
    }
    if (auto const sound = progress_.accept(*answer); !sound) [[unlikely]] {
      stop_asking(sound.error());
      return;
    }
    is_pending_ = true;
    is_left_ = false;
    if (std::ranges::empty(answer->items)) return pass(manner);
    at_ = std::ranges::data(answer->items);
    end_ = at_ + std::ranges::size(answer->items);
    outcome_ = feed_outcome::page;
  }

  template <class Manner>
  feed_question next_question(Manner const&, std::optional<instant> now) {
    if constexpr (std::same_as<Manner, opening>) {
      return progress_.next_to_open();
    } else {
      return progress_.next(now);
    }
  }
  feed_question stop_asking(error const& why) {
    answer_ = unexpected{why};
    current_ = &answer_;
    outcome_ = feed_outcome::failed;
    return feed_question::none;
  }

  Source* source_;
  feed_progress<typename Source::scheme_type> progress_;
  result<page_type> answer_{unexpected{error{errc::stopped}}};
  result<page_type>* current_ = &answer_;
  [[no_unique_address]] std::conditional_t<answers_at_once, std::optional<read_type>, nothing>
      at_hand_{};
  pointer at_ = nullptr;
  pointer end_ = nullptr;
  feed_outcome outcome_ = feed_outcome::end;
  bool is_pending_ = false;  // the cursor stands before the page
  bool is_left_ = false;     // it was fetched by a loop that was left
  bool is_awaited_ = false;
  int streams_ = 0;
};

}  // namespace detail

template <class Source, class Manner = draining>
class feed_pages;
template <class Source, class Manner = draining>
class feed_reading;
template <page_source Source, class Manner = draining>
class feed_stream;

/// Steps through the items of a feed, page after page. A step to the next page leaves this one
/// behind, and fetches when it is asked whether there is another item: so `views::take` fetches no
/// page more than it needs. Single pass: a copy is good until another one goes on.
template <class Source, class Manner>
class feed_item_iterator {
  using state_type = detail::feed_state<Source>;
  using pointer_type = typename state_type::pointer;

 public:
  using value_type = item_of_source<Source>;
  using reference = std::iter_reference_t<pointer_type>;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  feed_item_iterator() = default;
  feed_item_iterator(state_type& state, Manner manner)
      : at_{state.at()}, end_{state.end()}, state_{&state}, manner_{std::move(manner)} {}

  /// Throws `failed` where the page cannot be had.
  reference operator*() const {
    if (at_ == end_) [[unlikely]]
      turn();
    return *at_;
  }
  pointer_type operator->() const {
    if (at_ == end_) [[unlikely]]
      turn();
    return at_;
  }

  feed_item_iterator& operator++() {
    if (at_ == end_) [[unlikely]]
      turn();  // of two steps in a row
    state_->leave_behind(++at_);
    if (at_ == end_) [[unlikely]]
      state_->pass(manner_);
    return *this;
  }
  void operator++(int) { ++*this; }

  /// Throws `failed` where the next page cannot be had.
  friend bool operator==(feed_item_iterator const& it, std::default_sentinel_t) {
    return it.at_ == it.end_ && it.is_over();
  }

 private:
  bool is_over() const {
    if (state_ != nullptr) turn();
    return at_ == end_;
  }
  // To the next page, unless another copy has fetched it.
  void turn() const {
    if (!state_->is_in_a_page()) state_->fetch(manner_);
    if (state_->outcome() == detail::feed_outcome::failed)
      detail::throw_failed(state_->answer().error());
    at_ = state_->at();
    end_ = state_->end();
    if (at_ == end_) state_ = nullptr;
  }

  mutable pointer_type at_ = nullptr;
  mutable pointer_type end_ = nullptr;
  mutable state_type* state_ = nullptr;
  [[no_unique_address]] Manner manner_{};
};

/// Steps through the pages of a feed; fetches one when it is asked whether it is there. Single
/// pass.
template <class Source, class Manner>
class feed_page_iterator {
  using state_type = detail::feed_state<Source>;

 public:
  using value_type = result<typename Source::page_type>;
  using reference = value_type&;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  feed_page_iterator() = default;
  feed_page_iterator(state_type& state, Manner manner)
      : state_{state.outcome() == detail::feed_outcome::end ? nullptr : &state},
        manner_{std::move(manner)} {}

  /// Hands the page out: the cursor moves behind it. One that was not even looked at is kept for
  /// the next loop.
  reference operator*() const {
    settle();
    state_->hand_out(manner_);
    return state_->answer();
  }
  value_type* operator->() const { return std::addressof(**this); }

  feed_page_iterator& operator++() {
    settle();
    if (state_->outcome() == detail::feed_outcome::failed) {
      state_ = nullptr;
    } else {
      state_->hand_out(manner_);
      is_behind_ = true;
    }
    return *this;
  }
  void operator++(int) { ++*this; }

  friend bool operator==(feed_page_iterator const& it, std::default_sentinel_t) {
    it.settle();
    return it.state_ == nullptr;
  }

 private:
  // Goes to the next page, unless another copy has fetched it.
  void settle() const {
    if (!is_behind_) return;
    if (!state_->is_in_a_page()) state_->fetch(manner_);
    is_behind_ = false;  // not where that threw: the page before is not given again
    if (state_->outcome() == detail::feed_outcome::end) state_ = nullptr;
  }

  mutable state_type* state_ = nullptr;
  mutable bool is_behind_ = false;  // the page is left, and the next one was not looked at
  [[no_unique_address]] Manner manner_{};
};

/// The pages of a feed that have items, each as a result; an error is the last of them. A copyable
/// view of `std::ranges` and of range-v3; the feed outlives it. Whoever wants to keep the items
/// moves them out of the page.
template <class Source, class Manner>
class feed_pages : public std::ranges::view_interface<feed_pages<Source, Manner>> {
 public:
  using iterator = feed_page_iterator<Source, Manner>;

  feed_pages() = default;
  explicit feed_pages(detail::feed_state<Source>& state, Manner manner = {})
      : state_{&state}, manner_{std::move(manner)} {}

  /// Fetches the first page; a page that a loop over items was left in comes again, whole.
  iterator begin() const {
    expects(state_ != nullptr, "the pages are those of a feed");
    state_->begin_round();
    if (!state_->is_in_a_page()) state_->fetch(manner_);
    return {*state_, manner_};
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  detail::feed_state<Source>* state_ = nullptr;
  [[no_unique_address]] Manner manner_{};
};

/// The items of a feed, read in some manner: a copyable view of `std::ranges` and of range-v3; the
/// feed outlives it. Single pass: a loop that was left goes on with the item it was left at.
template <class Source, class Manner>
class feed_reading : public std::ranges::view_interface<feed_reading<Source, Manner>> {
 public:
  using iterator = feed_item_iterator<Source, Manner>;

  feed_reading() = default;
  explicit feed_reading(detail::feed_state<Source>& state, Manner manner = {})
      : state_{&state}, manner_{std::move(manner)} {}

  /// Fetches the first page with an item. Throws `failed` where it cannot be had.
  iterator begin() const {
    expects(state_ != nullptr, "the reading is that of a feed");
    state_->begin_round();
    if (!state_->is_in_a_page() || state_->at() == state_->end()) state_->fetch(manner_);
    if (state_->outcome() == detail::feed_outcome::failed)
      detail::throw_failed(state_->answer().error());
    return {*state_, manner_};
  }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// The same by pages.
  feed_pages<Source, Manner> pages() const { return feed_pages<Source, Manner>{*state_, manner_}; }
  /// The same for coroutines; what it gives is complete with feed_stream.hpp.
  feed_stream<Source, Manner> stream() const {
    return feed_stream<Source, Manner>{*state_, manner_};
  }

 private:
  detail::feed_state<Source>* state_ = nullptr;
  [[no_unique_address]] Manner manner_{};
};

}  // namespace keyspan

template <class Source, class Manner>
inline constexpr bool std::ranges::enable_borrowed_range<keyspan::feed_reading<Source, Manner>> =
    true;
template <class Source, class Manner>
inline constexpr bool std::ranges::enable_borrowed_range<keyspan::feed_pages<Source, Manner>> =
    true;

template <typename Source, typename Manner>
struct ranges::ext::enable_view<keyspan::feed_reading<Source, Manner>> : std::true_type {};
template <typename Source, typename Manner>
struct ranges::ext::enable_view<keyspan::feed_pages<Source, Manner>> : std::true_type {};
