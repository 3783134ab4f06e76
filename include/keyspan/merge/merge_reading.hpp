// keyspan/merge/merge_reading.hpp — how the merge of many sources goes on. It waits for nobody
// itself: it says when it cannot go on.
//
//   sources --pages--> inbox --> slots --> tree --> batch
#pragma once

#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/version.hpp>
#include <keyspan/merge/held_run.hpp>
#include <keyspan/merge/merge_inbox.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_batch.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/order_words.hpp>
#include <keyspan/merge/source_place.hpp>
#include <keyspan/merge/united_order.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::detail {

// Sources that hear of a stop by a token; others are closed.
template <class Feed>
concept stops_by_token = requires(Feed& feed, stop_token const& token) { feed.stop_by(token); };
// Sources that are asked again and again, in one round that never ends.
template <class Feed>
concept is_followed = requires { requires waits<decltype(std::declval<Feed&>().manner)>; };
template <class Feed>
concept has_watermark = requires(Feed const& feed) { feed.manner.watermark(); };

enum class merge_step : std::uint8_t { batch, wait, end, failed };

template <class Feed, class Order>
class merge_reading {
 public:
  using slot_type = merge_slot<Feed>;
  using item_type = typename slot_type::item_type;
  using keys_type = typename Order::template keys<item_type>;
  using batch_type = merged_batch<item_type>;

  merge_reading(feeds_and_place<Feed> of, Order order, merge_options options)
      : options_{options},
        reads_ahead_{options.reads_ahead.value_or(true)},
        items_(options.batch_size),
        sources_(options.batch_size),
        tree_(of.feeds.size(), keys_type{order}),
        order_(std::move(order)),
        begun_(begun_with(of.feeds)),
        refused_(std::move(of.refused)),
        refused_at_(std::move(of.refused_at)) {
    expects(options.batch_size > 0, "a batch has room for an item");
    if constexpr (stops_by_token<Feed>) {
      for (Feed& one : of.feeds) {
        if (one.stop().stop_possible())
          asked_to_stop_.push_back(
              std::make_unique<stop_callback<pass_on>>(one.stop(), pass_on{&stop_}));
        one.stop_by(stop_.token());
      }
    }
    put_in_place(std::move(of.feeds));
  }
  merge_reading(merge_reading const&) = delete;
  merge_reading& operator=(merge_reading const&) = delete;

  // Sources that had nothing new, or failed, are asked again.
  void begin_round() {
    failure_.reset();
    std::erase_if(failures_, [&](merge_failure const& one) {
      return slots_[one.source]->need != slot_need::retry;  // those are away still
    });
    if (refused_) {
      failure_ = *refused_;
      return;
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slot_type& slot = *slots_[i];
      if (slot.unsorted) {
        fail(slot, *slot.unsorted);
        if (failure_) return;
        continue;
      }
      if (slot.need == slot_need::no_more) need(slot, slot_need::page);
      if (slot.need != slot_need::page || slot.is_asking || slot.has_arrived) continue;
      if (!slot.parts.empty()) continue;  // about to take its place
      slot.feed.begin_round();
      start(slot);
    }
  }

  // The batch before this one is left behind. What is thrown by a source passes through.
  merge_step advance() {
    expects(!is_broken_, "a merge whose order has thrown is read no more");
    is_sources_ = false;
    if constexpr (unites<keys_type>) {
      at_ = shown_ += batch().size();
      if (shown_ < held_.given()) return merge_step::batch;
      shown_ = 0;
    }
#if KEYSPAN_EXCEPTIONS
    try {
      return go_on();
    } catch (...) {
      // Where the order throws, what the tree has given was given to nobody.
      is_broken_ = is_broken_ || !is_sources_;
      throw;
    }
#else
    return go_on();
#endif
  }
  batch_type batch() const noexcept {
    if constexpr (unites<keys_type>) {
      return held_.given(shown_, options_.batch_size);
    } else {
      return tree_batch();
    }
  }
  error const& failure() const noexcept { return *failure_; }
  // The batch, or the error in its place. It stays as long as this does: somebody may look at it
  // while another one closes the merge.
  result<batch_type>& answer(merge_step step) {
    if (step == merge_step::batch) {
      answer_.emplace(batch());
    } else {
      answer_ = unexpected{failure()};
    }
    return answer_;
  }
  std::vector<merge_failure> const& failures() const noexcept { return failures_; }

  // How much of the batch is dealt with.
  void leave_behind(std::size_t items) noexcept { at_ = shown_ + items; }

  // For whom the merge waits, by their numbers; none where it can go on.
  std::vector<std::size_t> waits_for() const {
    std::vector<std::size_t> numbers;
    if (count_ > 0) return numbers;
    slot_need const wanted = hungry_ > 0 ? slot_need::page : slot_need::more;
    for (auto const& one : slots_)
      if (one->need == wanted) numbers.push_back(one->number);
    return numbers;
  }

  // The number of the feed that a source is a range of.
  std::size_t feed_of(std::size_t source) const {
    expects(source < slots_.size(), "the number is that of a source");
    return feed_of(*slots_[source]);
  }

  // From here on sources are asked to stop, and what they have is not wanted. False where that was
  // so before.
  bool close() noexcept {
    if (is_closed_.exchange(true, std::memory_order_relaxed)) return false;
    stop_.request_stop();
    return true;
  }
  bool is_closed() const noexcept { return is_closed_.load(std::memory_order_relaxed); }

  // Where the merge stands, in front of what of the batch is not left behind.
  auto cursor() const
    requires remembers_given<Feed>
  {
    expects(!is_broken_, "a merge whose order has thrown goes on from where it stood before");
    if (refused_) return *refused_at_;
    merged_cursor<typename Feed::token_type> made;
    made.order = name_of_order(order_);
    made.feeds = begun_;  // of the sources themselves nothing is read: they may be in flight
    for (auto const& one : slots_) {
      auto& parts = made.feeds[one->feed.feed].parts;
      if (one->feed.is_range) {
        parts.clear();
      } else if (!one->is_asking && one->feed.resumed.empty() && !one->feed.refused) {
        parts.clear();  // some of it may be open
        for (auto& part : one->feed.progress.cursor().parts) parts.push_back({std::move(part), {}});
      }
    }
    std::size_t first = at_;  // of the batch, where the merge stands
    if constexpr (unites<keys_type>) first = held_.begin_of_run(at_, count_);
    bool const is_earlier = first == nobody;  // in a run that began in an earlier batch
    std::vector<std::size_t> next(slots_.size(), nobody);
    for (std::size_t i = count_; i-- > (is_earlier ? 0 : first);) {
      slot_type& slot = *slots_[sources_[i]];
      next[sources_[i]] = static_cast<std::size_t>(items_[i] - slot.page().data());
    }
    for (auto const& one : slots_)
      if (one->feed.is_range)
        add_part(made.feeds[one->feed.feed], *one, next[one->number], is_earlier);
    if constexpr (unites<keys_type>) {
      for (auto const& one : held_.orphans()) {
        if (!is_earlier) break;
        auto& part = made.feeds[one.feed].parts.emplace_back(one.part);
        held_.leave_out_given(part.given, at_, tree_.keys());
      }
    }
    return made;
  }

  merge_inbox& inbox() noexcept { return inbox_; }
  std::size_t in_flight() const noexcept { return in_flight_; }
  // Of what arrives nothing is wanted any more.
  void drop_arrivals() {
    for (inbox_node* node = inbox_.take(); node != nullptr; node = node->behind) {
      auto& slot = static_cast<slot_type&>(*node);
      slot.is_asking = false;
      slot.has_arrived = true;
      --in_flight_;
    }
  }
  std::vector<std::unique_ptr<slot_type>> const& sources() const noexcept { return slots_; }

 private:
  static constexpr std::size_t nobody = ~std::size_t{};

  struct pass_on {
    stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

  // To the next batch, or to where there is none.
  merge_step go_on() {
    for (;;) {
      if constexpr (unites<keys_type>) held_.settle(tree_batch(), slots_);
      at_ = count_ = 0;
      look_at_ended();
      take_arrivals();
      if (thrown_) rethrow();
      if (failure_) return merge_step::failed;
      if (keys_type::waits_for_all && hungry_ > 0) return merge_step::wait;
      tree_run const run =
          tree_.run(items_.data(), sources_.data(), items_.size(), stops_at_page_end{});
      count_ = run.count;
      if (run.why == run_end::page_end) page_ended(*slots_[run.source]);
      if constexpr (keys_type::is_checked) {
        if (run.why == run_end::unsorted) {
          slot_type& slot = *slots_[run.source];
          item_type* const later = tree_.rest(run.source).data();
          slot.unsorted_item = static_cast<std::size_t>(later - slot.page().data());
          unsorted(slot, *later, *(later - 1));
        }
      }
      if constexpr (unites<keys_type>) {
        held_.unite(tree_batch(), slots_, tree_.keys());
        if (run.count == 0 && run.why == run_end::done) held_.give();
        if (held_.given() > 0) return merge_step::batch;
        if (run.count > 0) continue;
      } else if (count_ > 0) {
        return merge_step::batch;
      }
      if (run.why == run_end::done) return left_ == 0 ? merge_step::end : merge_step::wait;
      if (run.why == run_end::waiting && !raise_floor(*slots_[run.source])) return merge_step::wait;
    }
  }
  static std::vector<cursor_of_feed<Feed>> begun_with(
      [[maybe_unused]] std::vector<Feed> const& feeds) {
    std::vector<cursor_of_feed<Feed>> made;
    if constexpr (remembers_given<Feed>) {
      for (Feed const& one : feeds) {
        if (one.refused_at) {
          made.push_back(*one.refused_at);
          continue;
        }
        auto whole = one.progress.cursor();
        auto& feed = made.emplace_back();
        feed = {std::move(whole.container), std::move(whole.scheme), whole.mode,
                std::move(whole.key), one.resumed};
        if (feed.parts.empty())
          for (auto& part : whole.parts) feed.parts.push_back({std::move(part), {}});
      }
    }
    return made;
  }
  // Sources that were not asked yet.
  void put_in_place(std::vector<Feed> feeds) {
    hungry_ += feeds.size();
    left_ += feeds.size();
    for (Feed& one : feeds) {
      slots_.push_back(std::make_unique<slot_type>(std::move(one)));
      slots_.back()->number = static_cast<std::uint32_t>(slots_.size() - 1);
    }
  }
  void need(slot_type& slot, slot_need now) noexcept {
    hungry_ -= slot.need == slot_need::page ? 1 : 0;
    left_ -= slot.need != slot_need::no_more ? 1 : 0;
    slot.need = now;
    hungry_ += slot.need == slot_need::page ? 1 : 0;
    left_ += slot.need != slot_need::no_more ? 1 : 0;
  }
  void start(slot_type& slot) {
    if (!slot.asks) slot.asks = ask(slot, inbox_);
    slot.is_asking = true;
    ++in_flight_;
    if (holds_up(slot)) ++opening_;
    slot.asks.go_on();
  }

  void take_arrivals() {
    do {
      for (inbox_node* node = inbox_.take(); node != nullptr; node = inbox_.take())
        while (node != nullptr) arrive(static_cast<slot_type&>(*std::exchange(node, node->behind)));
    } while (replace_split());
  }
  void arrive(slot_type& slot) {
    slot.is_asking = false;
    --in_flight_;
    if (holds_up(slot)) --opening_;
    if (slot.unsorted) {
      slot.has_arrived = true;  // what stands behind what it should not is not wanted
    } else if (slot.what == fetched::again) {
      start(slot);
    } else if (slot.need == slot_need::nothing) {
      slot.has_arrived = true;
    } else {
      install(slot);
    }
  }
  // The source whose page the last batch ended with.
  void look_at_ended() {
    if (ended_ == nobody) return;
    slot_type& slot = *slots_[std::exchange(ended_, nobody)];
    if (slot.has_arrived) {
      slot.has_arrived = false;
      install(slot);
    } else if (!slot.is_asking) {
      start(slot);
    }
  }
  void page_ended(slot_type& slot) {
    if (++slot.piece < slot.pieces.size()) return tree_.show(slot.number, slot.pieces[slot.piece]);
    need(slot, slot_need::page);
    ended_ = slot.number;
    if constexpr (!keys_type::waits_for_all) tree_.end(slot.number);
  }

  void install(slot_type& slot) {
    if (slot.need == slot_need::retry && slot.what != fetched::failed) {
      forgive(slot);
      need(slot, slot_need::page);
    }
    switch (slot.what) {
      case fetched::page:
        return show(slot);
      case fetched::idle:
        pass_over(slot);
        need(slot, slot_need::more);
        if constexpr (keys_type::waits_for_all) tree_.await(slot.number, floor_of(slot));
        return start(slot);
      case fetched::end:
        pass_over(slot);
        need(slot, slot_need::no_more);
        return tree_.end(slot.number);
      case fetched::split:
        return split_.push_back(slot.number);
      case fetched::failed:
        pass_over(slot);
        return fail(slot, *slot.why);
      default:
        need(slot, slot_need::page);
        thrown_ = std::exchange(slot.thrown, {});
    }
  }
  // Behind the page that is shown were others, without items.
  static void pass_over(slot_type& slot) {
    if constexpr (remembers_given<Feed>)
      if (std::exchange(slot.has_passed, false)) slot.end() = slot.next_end();
  }
  void show(slot_type& slot) {
    if constexpr (keys_type::is_checked) {
      if (!follows(slot))
        return unsorted(slot, *std::ranges::data(slot.coming()), slot.page().back());
    }
    if constexpr (unites<keys_type>) held_.save(slot, tree_.keys());
    slot.turn_over();
    slot.state = tree_.keys().state(slot.number);
    slot.pieces.clear();
    slot.piece = 0;
    if constexpr (remembers_given<Feed>) {
      if (slot.given_before.count > 0) slot.given_before = {};
      if (slot.feed.given.count > 0) {
        slot.given_before = slot.feed.given;
        if (!leave_out_given(slot, tree_.keys())) {
          need(slot, slot_need::page);
          return start(slot);
        }
      }
    }
    need(slot, slot_need::nothing);
    if constexpr (keys_type::is_checked && keys_type::is_exact)
      tell_key(slot.last, slot.page().back());
    tree_.show(slot.number, slot.pieces.empty() ? slot.page() : slot.pieces.front());
    if (reads_ahead_) start(slot);
  }
  batch_type tree_batch() const noexcept { return {items_.data(), sources_.data(), count_}; }
  // Where a source stands, to a cursor. Its next item stands in the batch, or behind it.
  void add_part(cursor_of_feed<Feed>& to, slot_type& slot, std::size_t next,
                [[maybe_unused]] bool is_earlier) const {
    std::size_t const item = next == nobody ? first_left(slot) : next;
    if constexpr (unites<keys_type>) {
      if (is_earlier && held_.is_orphaned(slot.feed)) return;
      if (is_earlier && slot.run_item != nobody) {
        auto& part = to.parts.emplace_back(
            slot.run_part ? *slot.run_part : part_before(slot, slot.run_item, tree_.keys()));
        return held_.leave_out_given(part.given, at_, tree_.keys());
      }
      auto& part = to.parts.emplace_back(part_before(slot, item, tree_.keys()));
      if (next != nobody) held_.leave_out_given(part.given, at_, tree_.keys(), &slot.page()[next]);
    } else {
      to.parts.push_back(part_before(slot, item, tree_.keys()));
    }
  }
  // The first item of a source's page that the tree has not given.
  std::size_t first_left(slot_type& slot) const {
    if (slot.unsorted_item != nobody) return slot.unsorted_item;
    auto const rest = tree_.rest(slot.number);
    if (!rest.empty()) return static_cast<std::size_t>(rest.data() - slot.page().data());
    return slot.page().size();
  }
  static std::size_t feed_of(slot_type const& slot) noexcept {
    if constexpr (remembers_given<Feed>) {
      return slot.feed.feed;
    } else {
      return slot.number;
    }
  }
  // Whether the page that has come goes on where the one before it has ended. Where keys tell all,
  // nobody looks at an item that was given, and may be moved out.
  bool follows(slot_type& slot) const {
    std::span<item_type> const before = slot.page();
    if (before.empty()) return true;
    item_type& next = *std::ranges::data(slot.coming());
    if constexpr (keys_type::is_exact) {
      std::uint64_t key[2]{};
      tell_key(key, next);
      return slot.last[0] < key[0] || (slot.last[0] == key[0] && slot.last[1] <= key[1]);
    } else {
      return tree_.keys().compare(before.back(), next) <= 0;
    }
  }
  void tell_key(std::uint64_t (&to)[2], item_type& item) const {
    auto const key = tree_.keys().key(0, item);
    to[0] = key.first;
    if constexpr (keys_type::is_wide) to[1] = key.second;
  }
  void unsorted(slot_type& slot, item_type& later, item_type& earlier) {
    auto const words = words_of_items(order_, later, earlier);
    inline_text<40> of_feed;
    if (begun_.size() > 1) of_feed = {" (of feed ", feed_of(slot), ")"};
    slot.unsorted.emplace(errc::out_of_order, "source ", slot.number, of_feed, " gave ",
                          words.later, " behind ", words.earlier, words.where);
    fail(slot, *slot.unsorted);
  }
  static bool is_refused([[maybe_unused]] slot_type const& slot) noexcept {
    if constexpr (remembers_given<Feed>) {
      return static_cast<bool>(slot.feed.refused);
    } else {
      return false;
    }
  }
  // Whether that was asked for: a stop, or the deadline of a feed that has one.
  static bool is_asked_for([[maybe_unused]] slot_type const& slot, error const& why) {
    if constexpr (remembers_given<Feed>)
      if (why.code == errc::timed_out) return slot.feed.progress.has_deadline();
    return why.code == errc::stopped;
  }
  void fail(slot_type& slot, error const& why) {
    if (options_.failure == on_failure::stop || is_asked_for(slot, why)) {
      need(slot, slot_need::page);
      if (!failure_) failure_ = why;
      return;
    }
    if (slot.need == slot_need::retry) forgive(slot);
    failures_.push_back({slot.number, feed_of(slot), why});
    if constexpr (is_followed<Feed>) {
      if (!slot.unsorted && !is_refused(slot)) {
        need(slot, slot_need::retry);
        tree_.end(slot.number);
        slot.feed.waits_first = true;
        return start(slot);
      }
    }
    need(slot, slot_need::no_more);
    tree_.end(slot.number);
  }
  // It is there again, or says anew why not.
  void forgive(slot_type const& slot) noexcept {
    std::erase_if(failures_, [&](merge_failure const& one) { return one.source == slot.number; });
  }
  // Feeds are opened one after another, and nothing can be given before all are: so their ranges
  // take their places many at a time.
  bool is_opening() const {
    return keys_type::waits_for_all && opening_ > 0 && 16 * split_.size() < slots_.size();
  }
  // Whether nothing can be given before this feed is open. One that has failed holds nobody up.
  static bool holds_up(slot_type const& slot) noexcept {
    if constexpr (remembers_given<Feed>) {
      return !slot.feed.is_range && slot.need == slot_need::page;
    } else {
      return false;
    }
  }
  // Others in place of those that were split, in their order: of all at once, since it takes as
  // long as there are sources.
  bool replace_split() {
    if (split_.empty() || is_opening()) return false;
    std::sort(split_.begin(), split_.end());
    std::vector<replacement> by;
    for (std::size_t const number : split_) by.push_back({number, slots_[number]->parts.size()});
    tree_.replace(by);
    std::vector<slot_type const*> failed;
    for (merge_failure const& one : failures_) failed.push_back(slots_[one.source].get());
    std::vector<std::unique_ptr<slot_type>> before = std::exchange(slots_, {});
    std::vector<slot_type*> more;
    auto next = by.begin();
    for (auto& one : before) {
      if (next == by.end() || next->source != one->number) {
        slots_.push_back(std::move(one));
        continue;
      }
      need(*one, slot_need::no_more);
      std::size_t const first = slots_.size();
      put_in_place(std::exchange(one->parts, {}));
      if constexpr (unites<keys_type> && remembers_given<Feed>)
        held_.split(*one, *slots_[first], tree_.keys());
      for (std::size_t i = first; i < slots_.size(); ++i) more.push_back(slots_[i].get());
      ++next;
    }
    for (std::size_t i = 0; i < slots_.size(); ++i)
      slots_[i]->number = static_cast<std::uint32_t>(i);
    split_.clear();
    for (std::size_t i = 0; i < failed.size(); ++i) failures_[i].source = failed[i]->number;
    for (slot_type* const slot : more) {
      if constexpr (remembers_given<Feed>) {
        std::uint64_t const known = std::exchange(slot->feed.given.state, 0);
        if (known > tree_.keys().state(slot->number)) tree_.keys().set_state(slot->number, known);
      }
      start(*slot);
    }
    return true;
  }

  // What the next item of a source that has none is not less than.
  typename winner_tree<item_type, keys_type>::key_type floor_of(slot_type& slot) const {
    if (tree_.has_ended(slot.number)) return {};
    return tree_.key_of(slot.number);
  }
  bool raise_floor(slot_type& slot) {
    if constexpr (has_watermark<Feed>) {
      static_assert(
          requires { keys_type::image_of(slot.feed.manner.watermark()); },
          "sources are followed within a time by a merge that is by_time, of the same type");
      std::uint64_t const floor = (std::max)(keys_type::image_of(slot.feed.manner.watermark()),
                                             tree_.keys().state(slot.number));
      if (floor <= tree_.key_of(slot.number).first) return false;
      tree_.keys().set_state(slot.number, floor);
      tree_.await(slot.number, {floor});
      return true;
    } else {
      return false;
    }
  }
  void rethrow() {
    std::exception_ptr const thrown = std::exchange(thrown_, {});
    is_sources_ = true;
#if KEYSPAN_EXCEPTIONS
    std::rethrow_exception(thrown);
#endif
  }

  std::vector<std::unique_ptr<slot_type>> slots_{};
  merge_options options_;
  bool reads_ahead_;
  std::vector<item_type*> items_;
  std::vector<std::uint32_t> sources_;
  winner_tree<item_type, keys_type> tree_;
  [[no_unique_address]] Order order_;
  std::vector<cursor_of_feed<Feed>> begun_;
  boxed<error> refused_;  // to go on from there:
  boxed<cursor_of_merge<Feed>> refused_at_;
  struct nothing {};
  [[no_unique_address]] std::conditional_t<unites<keys_type>, held_run<slot_type, keys_type>,
                                           nothing> held_{};
  merge_inbox inbox_{};
  std::size_t hungry_ = 0;  // sources that the tree cannot go on without
  std::size_t left_ = 0;    // those that have not ended
  std::size_t in_flight_ = 0;
  std::size_t opening_ = 0;  // feeds of those that are not open yet, and hold up all others
  std::size_t ended_ = nobody;
  std::vector<std::size_t> split_{};  // their numbers
  std::size_t shown_ = 0;             // of what a union has given, where the batch begins
  std::size_t at_ = 0;                // in all of it, or in the batch
  std::size_t count_ = 0;
  std::optional<error> failure_{};
  result<batch_type> answer_{std::in_place};
  std::vector<merge_failure> failures_{};
  std::exception_ptr thrown_{};
  bool is_sources_ = false;  // what was thrown last
  bool is_broken_ = false;
  stop_source stop_{};
  std::vector<std::unique_ptr<stop_callback<pass_on>>> asked_to_stop_{};
  std::atomic<bool> is_closed_{false};
};

template <class Feed, class Order>
merge_reading(std::vector<Feed>, Order, merge_options) -> merge_reading<Feed, Order>;

}  // namespace keyspan::detail
