// keyspan/merge/merged_feeds.hpp — feeds and page sources as one lazy range, for plain loops.
//
//   for (auto const& one : keyspan::merge(container, ascending(&change::lsn))) …
#pragma once

#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merge_reading.hpp>
#include <keyspan/merge/merged_stream.hpp>
#include <keyspan/merge/sort_order.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// The batches of a merge for loops that wait, and how much of the last one is left behind.
template <class Feed, class Order>
class awaited_batches {
  using reading_type = merge_reading<Feed, Order>;

 public:
  using item_type = typename reading_type::item_type;
  using answer_type = merge_answer<Feed, Order>;

  awaited_batches(feeds_and_place<Feed> feeds, Order order, merge_options options)
      : reading_(std::move(feeds), std::move(order), as_asked(options)) {}
  awaited_batches(awaited_batches const&) = delete;
  awaited_batches& operator=(awaited_batches const&) = delete;
  // What is still in flight, as after an error, is stopped and waited for.
  ~awaited_batches() {
    if (reading_.in_flight() > 0) sync_wait(close_merge(reading_, batches_));
  }

  reading_type& reading() noexcept { return reading_; }
  // The batch that was merged last, or the error in its place; null at the end.
  answer_type* answer() const noexcept { return answer_; }

  // A loop begins. One that was left is gone on with.
  void begin_round() {
    if (has_begun_ && answer_ != nullptr && *answer_) return;
    batches_ = batches_of(reading_);
    has_begun_ = true;
    turn();
  }
  // The batch that a loop was left in, unless it was handed out.
  void begin_batches() {
    begin_round();
    if (answer_ != nullptr && *answer_ && at_ == size()) turn();
  }
  // To the next batch.
  void turn() {
    at_ = 0;
    answer_ = nullptr;  // where a source throws
    answer_ = sync_wait(batches_.next());
  }
  std::size_t size() const noexcept { return (*answer_)->size(); }
  std::size_t at() const noexcept { return at_; }
  void leave_behind(std::size_t items) {
    at_ = items;
    reading_.leave_behind(items);
  }

 private:
  // Somebody who looks at one item waits for one page.
  static merge_options as_asked(merge_options options) noexcept {
    if (!options.reads_ahead) options.reads_ahead = false;
    return options;
  }

  reading_type reading_;
  async_stream<answer_type> batches_{};
  answer_type* answer_ = nullptr;
  std::size_t at_ = 0;
  bool has_begun_ = false;
};

}  // namespace detail

/// Steps through the items of a merge of feeds. Single pass: a copy is good until another one goes
/// on.
template <class Feed, class Order>
class merged_item_iterator {
  using state_type = detail::awaited_batches<Feed, Order>;
  using item_type = typename state_type::item_type;

 public:
  using value_type = std::remove_cv_t<item_type>;
  using reference = item_type&;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  merged_item_iterator() = default;
  explicit merged_item_iterator(state_type& state) : state_{&state} { look(); }

  /// Throws `failed` where the next batch cannot be had.
  reference operator*() const {
    if (at_ == size_) [[unlikely]]
      turn();
    return batch_[at_];
  }
  item_type* operator->() const { return std::addressof(**this); }
  merged_item_iterator& operator++() {
    if (at_ == size_) [[unlikely]]
      turn();  // of two steps in a row
    state_->leave_behind(++at_);
    return *this;
  }
  void operator++(int) { ++*this; }

  friend bool operator==(merged_item_iterator const& it, std::default_sentinel_t) {
    return it.at_ == it.size_ && it.is_over();
  }

 private:
  bool is_over() const {
    if (state_ != nullptr) turn();
    return at_ == size_;
  }
  // To the next batch, unless another copy has merged it.
  void turn() const {
    if (state_->answer() != nullptr && *state_->answer() && state_->at() == state_->size())
      state_->turn();
    look();
  }
  void look() const {
    at_ = size_ = 0;
    auto* const answer = state_->answer();
    if (answer == nullptr) {
      state_ = nullptr;
      return;
    }
    if (!*answer) throw_failed(answer->error());
    batch_ = **answer;
    at_ = state_->at();
    size_ = batch_.size();
  }
  [[noreturn]] static void throw_failed(error const& why) { detail::throw_failed(why); }

  mutable merged_batch<item_type> batch_{};
  mutable std::size_t at_ = 0;
  mutable std::size_t size_ = 0;
  mutable state_type* state_ = nullptr;
};

/// Steps through the batches of a merge of feeds. Single pass.
template <class Feed, class Order>
class merged_batch_iterator {
  using state_type = detail::awaited_batches<Feed, Order>;

 public:
  using value_type = typename state_type::answer_type;
  using reference = value_type&;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  merged_batch_iterator() = default;
  explicit merged_batch_iterator(state_type& state)
      : state_{state.answer() == nullptr ? nullptr : &state} {}

  /// Hands the batch out: the cursor moves behind it.
  reference operator*() const {
    if (*state_->answer()) state_->leave_behind(state_->size());
    return *state_->answer();
  }
  value_type* operator->() const { return std::addressof(**this); }
  merged_batch_iterator& operator++() {
    bool const is_last = !*state_->answer();
    if (!is_last) state_->turn();
    if (is_last || state_->answer() == nullptr) state_ = nullptr;
    return *this;
  }
  void operator++(int) { ++*this; }

  friend bool operator==(merged_batch_iterator const& it, std::default_sentinel_t) noexcept {
    return it.state_ == nullptr;
  }

 private:
  state_type* state_ = nullptr;
};

/// The items of a merge of feeds as a copyable view of `std::ranges` and of range-v3; the merge
/// outlives it. A loop that was left goes on with the item that it was left at.
template <class Feed, class Order>
class merged_items : public std::ranges::view_interface<merged_items<Feed, Order>> {
 public:
  using iterator = merged_item_iterator<Feed, Order>;

  merged_items() = default;
  explicit merged_items(detail::awaited_batches<Feed, Order>& state) : state_{&state} {}

  /// Asks every source for its first page. Throws `failed` where one cannot be had.
  iterator begin() const {
    expects(state_ != nullptr, "the items are those of a merge");
    state_->begin_round();
    return iterator{*state_};
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  detail::awaited_batches<Feed, Order>* state_ = nullptr;
};

/// The same by batches, each as a result; an error is the last of them.
template <class Feed, class Order>
class merged_batches : public std::ranges::view_interface<merged_batches<Feed, Order>> {
 public:
  using iterator = merged_batch_iterator<Feed, Order>;

  merged_batches() = default;
  explicit merged_batches(detail::awaited_batches<Feed, Order>& state) : state_{&state} {}

  iterator begin() const {
    expects(state_ != nullptr, "the batches are those of a merge");
    state_->begin_batches();
    return iterator{*state_};
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  detail::awaited_batches<Feed, Order>* state_ = nullptr;
};

/// What `merge` makes of feeds and page sources: a single-pass range of their items in one order.
/// It ends when each source has answered, since the loop began, that nothing is new; a loop that
/// begins anew goes on from there, and one that was left goes on with the item it was left at. An
/// error reaches loops over items as `failed` and loops over batches as their last result.
///
/// Plain loops block the thread while a source is not ready, so they do not run on a thread that
/// the source needs to become so. The sources outlive it. Moving it keeps what it gave out valid.
/// Destroying it waits for what is still in flight, as it may be after an error.
template <class Feed, class Order>
class merged_feeds {
  using state_type = detail::awaited_batches<Feed, Order>;

 public:
  using item_type = typename state_type::item_type;

  merged_feeds(detail::feeds_and_place<Feed> feeds, Order order, merge_options options)
      : state_{std::make_unique<state_type>(std::move(feeds), std::move(order), options)} {}

  /// A copyable view for pipes.
  merged_items<Feed, Order> items() & { return merged_items<Feed, Order>{state()}; }
  /// The same by batches, as results.
  merged_batches<Feed, Order> batches() & { return merged_batches<Feed, Order>{state()}; }
  // What they give would outlive a temporary merge.
  void items() && = delete;
  void batches() && = delete;

  auto begin() { return items().begin(); }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// Where the merge stands: what to keep, and to go on from. It moves behind an item when that is
  /// left behind in a loop over items, and behind a batch when it is handed out.
  auto cursor() const { return state().reading().cursor(); }
  /// The number of the source that the item comes from which the loop stands at. Requires one.
  std::size_t source() const { return state().reading().batch().source(state().at()); }
  /// The number of the feed that a source is a range of.
  std::size_t feed_of(std::size_t source) const { return state().reading().feed_of(source); }
  /// The sources that it went on without.
  std::vector<merge_failure> const& failures() const { return state().reading().failures(); }

 private:
  state_type& state() const {
    expects(state_ != nullptr, "a merge that was moved from is read no more");
    return *state_;
  }

  std::unique_ptr<state_type> state_;
};

/// Merges a page source, a feed, or many of them, by `order`, each range of each a source of its
/// own: sources are in the order of the feeds, then of their ranges. A feed says what to read, from
/// where and how; it is not moved by this. When a partition splits, its parts take its place.
/// A page is asked for when its first item is needed; `reads_ahead` asks for the next ones as well.
template <feeds_to_merge Feeds, class Order>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge(Feeds& feeds, Order order, merge_options options = {}) {
  using feed_type = detail::merged_feed_t<Feeds, draining>;
  return merged_feeds<feed_type, Order>{detail::feeds_of(feeds, draining{}), std::move(order),
                                        options};
}

/// The same, going on with the next item behind where another merge of the same feeds stood. Errors
/// reach the loop: those of `merge_async`.
template <feeds_to_merge Feeds, class Order>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge(Feeds& feeds, Order order, merged_cursor_of<Feeds> from,
                         merge_options options = {}) {
  auto made = detail::resumed(detail::feeds_of(feeds, draining{}), std::move(from),
                              detail::name_of_order(order));
  return merged_feeds<detail::merged_feed_t<Feeds, draining>, Order>{std::move(made),
                                                                     std::move(order), options};
}

/// The same for ever: a source that has nothing new is asked again as `manner` says, a `following`.
template <feeds_to_merge Feeds, class Order, detail::waits Manner>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge(Feeds& feeds, Order order, Manner manner, merge_options options = {}) {
  using feed_type = detail::merged_feed_t<Feeds, Manner>;
  return merged_feeds<feed_type, Order>{detail::feeds_of(feeds, manner), std::move(order), options};
}
template <feeds_to_merge Feeds, class Order, detail::waits Manner>
  requires orders_items<Order, merged_item<Feeds>>
[[nodiscard]] auto merge(Feeds& feeds, Order order, merged_cursor_of<Feeds> from, Manner manner,
                         merge_options options = {}) {
  auto made = detail::resumed(detail::feeds_of(feeds, manner), std::move(from),
                              detail::name_of_order(order));
  return merged_feeds<detail::merged_feed_t<Feeds, Manner>, Order>{std::move(made),
                                                                   std::move(order), options};
}

}  // namespace keyspan

template <class Feed, class Order>
inline constexpr bool std::ranges::enable_borrowed_range<keyspan::merged_items<Feed, Order>> = true;
template <class Feed, class Order>
inline constexpr bool std::ranges::enable_borrowed_range<keyspan::merged_batches<Feed, Order>> =
    true;

template <typename Feed, typename Order>
struct ranges::ext::enable_view<keyspan::merged_items<Feed, Order>> : std::true_type {};
template <typename Feed, typename Order>
struct ranges::ext::enable_view<keyspan::merged_batches<Feed, Order>> : std::true_type {};
