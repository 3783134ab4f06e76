// keyspan/merge/merge_reading.hpp — how the merge of many sources goes on. It waits for nobody
// itself: it says when it cannot go on.
//
//   sources --pages--> inbox --> slots --> tree --> batch
#pragma once

#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/version.hpp>
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/merge_inbox.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_batch.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::detail {

// What a cursor calls an order: only a merge by one of the same name goes on with it.
template <direction Direction, class Projection, class Less>
std::string name_of_column(sort_column<Direction, Projection, Less> const&) {
  return Direction == direction::ascending ? "ascending" : "descending";
}
template <class... Columns>
std::string name_of_order(sort_order<Columns...> const& order) {
  std::string name;
  std::apply(
      [&](auto const&... column) {
        static_cast<void>(((name += (name.empty() ? "" : ", ") + name_of_column(column)), ...));
      },
      order.columns());
  return name;
}
template <class Projection>
std::string name_of_order(time_order<Projection> const&) {
  return "by time";
}
inline std::string name_of_order(round_robin_order) { return "round robin"; }
inline std::string name_of_order(arrival_order) { return "as they come"; }
template <class Order, class Identity>
std::string name_of_order(identified_order<Order, Identity> const& order) {
  return name_of_order(order.order());
}

// Sources that hear of a stop by a token; others are closed.
template <class Feed>
concept stops_by_token = requires(Feed& feed, stop_token const& token) { feed.stop_by(token); };
template <class Feed>
concept has_watermark = requires(Feed const& feed) { feed.manner.watermark(); };

// Sources that can be left in the middle of a page, and gone on with elsewhere.
template <class Feed>
concept remembers_given = requires(Feed& feed) { feed.given; };

enum class merge_step : std::uint8_t { batch, wait, end, failed };

template <class Feed, class Order>
class merge_reading {
 public:
  using slot_type = merge_slot<Feed>;
  using item_type = typename slot_type::item_type;
  using keys_type = typename Order::template keys<item_type>;
  using batch_type = merged_batch<item_type>;

  merge_reading(std::vector<Feed> feeds, Order order, merge_options options)
      : options_{options},
        items_(options.batch_size),
        sources_(options.batch_size),
        tree_(feeds.size(), keys_type{order}),
        order_name_{name_of_order(order)},
        feeds_{feeds.size()} {
    expects(options.batch_size > 0, "a batch has room for an item");
    if constexpr (stops_by_token<Feed>) {
      for (Feed& one : feeds) {
        if (one.stop().stop_possible())
          asked_to_stop_.push_back(
              std::make_unique<stop_callback<pass_on>>(one.stop(), pass_on{&stop_}));
        one.stop_by(stop_.token());
      }
    }
    put_in_place(std::move(feeds), 0);
  }
  merge_reading(merge_reading const&) = delete;
  merge_reading& operator=(merge_reading const&) = delete;

  // Sources that had nothing new, or failed, are asked again.
  void begin_round() {
    failure_.reset();
    failures_.clear();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slot_type& slot = *slots_[i];
      if (slot.is_unsorted) {
        failure_ = slot.why;
        return;
      }
      if (slot.need == slot_need::no_more) need(slot, slot_need::page);
      if (slot.need != slot_need::page || slot.is_asking || slot.has_arrived) continue;
      slot.feed.begin_round();
      start(slot);
    }
  }

  // The batch before this one is left behind. What is thrown by a source passes through.
  merge_step advance() {
    at_ = count_ = 0;
    for (;;) {
      look_at_ended();
      take_arrivals();
      if (thrown_) rethrow();
      if (failure_) return merge_step::failed;
      if (keys_type::waits_for_all && hungry_ > 0) return merge_step::wait;
      tree_run const run =
          tree_.run(items_.data(), sources_.data(), items_.size(), stops_at_page_end{});
      count_ = run.count;
      if (run.why == run_end::page_end) page_ended(*slots_[run.source]);
      if (run.why == run_end::unsorted) unsorted(*slots_[run.source]);
      if (count_ > 0) return merge_step::batch;
      if (run.why == run_end::done) return left_ == 0 ? merge_step::end : merge_step::wait;
      if (run.why == run_end::waiting && !raise_floor(*slots_[run.source])) return merge_step::wait;
    }
  }
  batch_type batch() const noexcept { return {items_.data(), sources_.data(), count_}; }
  error const& failure() const noexcept { return *failure_; }
  std::vector<merge_failure> const& failures() const noexcept { return failures_; }

  // How much of the batch is dealt with.
  void leave_behind(std::size_t items) noexcept { at_ = items; }

  // For whom the merge waits, by their numbers; none where it can go on.
  std::vector<std::size_t> waits_for() const {
    std::vector<std::size_t> numbers;
    if (count_ > 0) return numbers;
    slot_need const wanted = hungry_ > 0 ? slot_need::page : slot_need::more;
    for (auto const& one : slots_)
      if (one->need == wanted) numbers.push_back(one->number);
    return numbers;
  }

  // From here on sources are asked to stop, and what they have is not wanted.
  void close() noexcept {
    is_closed_.store(true, std::memory_order_relaxed);
    stop_.request_stop();
  }
  bool is_closed() const noexcept { return is_closed_.load(std::memory_order_relaxed); }

  // Where the merge stands, in front of what of the batch is not left behind.
  auto cursor() const
    requires remembers_given<Feed>
  {
    merged_cursor<typename Feed::token_type> made;
    made.order = order_name_;
    made.feeds.resize(feeds_);
    std::vector<std::size_t> next(slots_.size(), nobody);
    for (std::size_t i = count_; i-- > at_;) {
      slot_type& slot = *slots_[sources_[i]];
      next[sources_[i]] = static_cast<std::size_t>(items_[i] - slot.page().data());
    }
    for (auto const& one : slots_) {
      auto& feed = made.feeds[one->feed.feed];
      auto whole = one->feed.progress.cursor();
      feed.container = std::move(whole.container);
      feed.scheme = std::move(whole.scheme);
      feed.mode = whole.mode;
      feed.key = std::move(whole.key);
      if (one->feed.is_range) {
        std::size_t const item = next[one->number];
        feed.parts.push_back(part_before(*one, item == nobody ? first_left(*one) : item));
      } else if (!one->feed.resumed.empty()) {
        feed.parts = one->feed.resumed;
      } else {
        for (auto& part : whole.parts) feed.parts.push_back({std::move(part), {}});
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
  std::vector<std::unique_ptr<slot_type>> const& slots() const noexcept { return slots_; }

 private:
  static constexpr std::size_t nobody = ~std::size_t{};

  struct pass_on {
    stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

  // Sources that were not asked yet, from a number on.
  void put_in_place(std::vector<Feed> feeds, std::size_t at) {
    std::vector<std::unique_ptr<slot_type>> more;
    more.reserve(feeds.size());
    for (Feed& one : feeds) more.push_back(std::make_unique<slot_type>(std::move(one)));
    hungry_ += more.size();
    left_ += more.size();
    using distance = std::ptrdiff_t;
    slots_.insert(slots_.begin() + static_cast<distance>(at), std::move_iterator{more.begin()},
                  std::move_iterator{more.end()});
    for (; at < slots_.size(); ++at) slots_[at]->number = static_cast<std::uint32_t>(at);
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
    slot.asks.go_on();
  }

  void take_arrivals() {
    for (inbox_node* node = inbox_.take(); node != nullptr; node = inbox_.take()) {
      while (node != nullptr) {
        auto& slot = static_cast<slot_type&>(*std::exchange(node, node->behind));
        slot.is_asking = false;
        --in_flight_;
        if (slot.what == fetched::again) {
          start(slot);
        } else if (slot.need == slot_need::nothing) {
          slot.has_arrived = true;
        } else {
          install(slot);
        }
      }
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
    switch (slot.what) {
      case fetched::page:
        return show(slot);
      case fetched::idle:
        need(slot, slot_need::more);
        if constexpr (keys_type::waits_for_all) tree_.await(slot.number, floor_of(slot));
        return start(slot);
      case fetched::end:
        need(slot, slot_need::no_more);
        return tree_.end(slot.number);
      case fetched::split:
        return replace(slot);
      case fetched::failed:
        return fail(slot, *slot.why);
      default:
        thrown_ = std::exchange(slot.thrown, {});
    }
  }
  void show(slot_type& slot) {
    if (keys_type::is_checked && !follows(slot)) return unsorted(slot);
    using std::swap;
    swap(slot.items, slot.next_items);
    swap(slot.at, slot.next_at);
    slot.next_items = {};
    slot.state = tree_.keys().state(slot.number);
    slot.pieces.clear();
    slot.piece = 0;
    if constexpr (remembers_given<Feed>) {
      slot.given_before = slot.feed.given;
      if (slot.feed.given.count > 0 && !leave_out_given(slot)) {
        need(slot, slot_need::page);
        return start(slot);
      }
    }
    need(slot, slot_need::nothing);
    tree_.show(slot.number, slot.pieces.empty() ? slot.page() : slot.pieces.front());
    if (options_.reads_ahead) start(slot);
  }
  // Of a page that was asked for before: whether anything is left of it that was not given.
  bool leave_out_given(slot_type& slot) {
    given_items& given = slot.feed.given;
    std::span<item_type> const page = slot.page();
    std::size_t kept = 0;  // where the items begin that stay
    std::size_t at = 0;
    for (; at < page.size() && given.count > 0; ++at, --given.count) {
      std::uint64_t const image = image_of(page[at]);
      if (image > given.image) break;  // all that were given come before it
      if (image == given.image && !was_given(given, page[at])) continue;
      if (kept != at) slot.pieces.push_back(page.subspan(kept, at - kept));
      kept = at + 1;
    }
    if (at < page.size()) given = {};
    if (kept < page.size()) slot.pieces.push_back(page.subspan(kept));
    return kept < page.size() || !slot.pieces.empty();
  }
  bool was_given([[maybe_unused]] given_items& given, [[maybe_unused]] item_type& item) const {
    if constexpr (tells_apart<keys_type>) {
      if (!given.identities.empty())
        return std::binary_search(given.identities.begin(), given.identities.end(),
                                  tree_.keys().identity(item));
    }
    if (given.alike == 0) return false;
    --given.alike;
    return true;
  }
  std::uint64_t image_of([[maybe_unused]] item_type& item) const {
    if constexpr (keys_type::is_checked) {
      return tree_.keys().key(0, item).first;
    } else {
      return 0;
    }
  }
  // Where a source stands before an item of its page.
  auto part_before(slot_type& slot, std::size_t item) const {
    using part_type = merged_part<typename Feed::token_type>;
    std::span<item_type> const page = slot.page();
    auto const& range = slot.feed.at.range;
    if (item >= page.size()) {
      part_type part{{range, slot.at.after}, {}};
      if (slot.feed.given.count > 0) part.given = slot.feed.given;
      part.given.state = page.empty() ? slot.feed.given.state : tree_.keys().state(slot.number);
      return part;
    }
    part_type part{{range, slot.at.before}, slot.given_before};
    given_items& given = part.given;
    if (item > 0) {
      std::uint64_t const image = image_of(page[item - 1]);
      if (given.image != image) given = {};
      given.image = image;
      given.count = (std::max)(given.count, static_cast<std::uint32_t>(item));
      given.alike = 0;
      for (std::size_t i = item; i > 0 && image_of(page[i - 1]) == image; --i) {
        ++given.alike;
        if constexpr (tells_apart<keys_type>)
          given.identities.push_back(tree_.keys().identity(page[i - 1]));
      }
      std::sort(given.identities.begin(), given.identities.end());
      given.identities.erase(std::unique(given.identities.begin(), given.identities.end()),
                             given.identities.end());
    }
    given.state = slot.state;
    return part;
  }
  // The first item of a source's page that the tree has not given.
  std::size_t first_left(slot_type& slot) const {
    auto const rest = tree_.rest(slot.number);
    if (!rest.empty()) return static_cast<std::size_t>(rest.data() - slot.page().data());
    if (slot.piece + 1 < slot.pieces.size())
      return static_cast<std::size_t>(slot.pieces[slot.piece + 1].data() - slot.page().data());
    return slot.page().size();
  }
  // Whether the page that has come goes on where the one before it has ended.
  bool follows(slot_type& slot) const {
    if (std::ranges::empty(slot.items)) return true;
    return tree_.keys().compare(
               *(std::ranges::data(slot.items) + (std::ranges::size(slot.items) - 1)),
               *std::ranges::data(slot.next_items)) <= 0;
  }
  void unsorted(slot_type& slot) {
    slot.is_unsorted = true;
    slot.why.emplace(errc::out_of_order, "source ", slot.number,
                     " gave an item that comes before the one ahead of it");
    fail(slot, *slot.why);
  }
  void fail(slot_type& slot, error const& why) {
    bool const is_asked_for = why.code == errc::stopped || why.code == errc::timed_out;
    if (options_.failure == on_failure::stop || is_asked_for) {
      need(slot, slot_need::page);
      if (!failure_) failure_ = why;
      return;
    }
    failures_.push_back({slot.number, why});
    need(slot, slot_need::no_more);
    tree_.end(slot.number);
  }
  // Others in its place, in their order.
  void replace(slot_type& slot) {
    std::size_t const number = slot.number;
    std::vector<Feed> parts = std::move(slot.parts);
    std::size_t const count = parts.size();
    need(slot, slot_need::no_more);
    using distance = std::ptrdiff_t;
    slots_.erase(slots_.begin() + static_cast<distance>(number));
    tree_.replace(number, count);
    for (std::size_t i = 0; i < count; ++i)
      if (parts[i].given.state != 0) tree_.keys().set_state(number + i, parts[i].given.state);
    put_in_place(std::move(parts), number);
    for (std::size_t i = 0; i < count; ++i) start(*slots_[number + i]);
  }

  // What the next item of a source that has none is not less than.
  typename winner_tree<item_type, keys_type>::key_type floor_of(slot_type& slot) const {
    if (tree_.has_ended(slot.number)) return {};
    return tree_.key_of(slot.number);
  }
  bool raise_floor(slot_type& slot) {
    if constexpr (has_watermark<Feed>) {
      std::uint64_t const floor = keys_type::image_of(slot.feed.manner.watermark());
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
#if KEYSPAN_EXCEPTIONS
    std::rethrow_exception(thrown);
#endif
  }

  std::vector<std::unique_ptr<slot_type>> slots_{};
  merge_options options_;
  std::vector<item_type*> items_;
  std::vector<std::uint32_t> sources_;
  winner_tree<item_type, keys_type> tree_;
  std::string order_name_;
  std::size_t feeds_;
  merge_inbox inbox_{};
  std::size_t hungry_ = 0;  // sources that the tree cannot go on without
  std::size_t left_ = 0;    // those that have not ended
  std::size_t in_flight_ = 0;
  std::size_t ended_ = nobody;
  std::size_t at_ = 0;  // in the batch
  std::size_t count_ = 0;
  std::optional<error> failure_{};
  std::vector<merge_failure> failures_{};
  std::exception_ptr thrown_{};
  stop_source stop_{};
  std::vector<std::unique_ptr<stop_callback<pass_on>>> asked_to_stop_{};
  std::atomic<bool> is_closed_{false};
};

}  // namespace keyspan::detail
