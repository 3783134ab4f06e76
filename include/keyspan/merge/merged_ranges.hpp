// keyspan/merge/merged_ranges.hpp — sorted ranges in memory as one sorted range.
//
//   for (trade const& one : keyspan::merge(days, ascending(&trade::time))) …
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>
#include <keyspan/merge/united_run.hpp>
#include <keyspan/merge/winner_tree.hpp>

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// What is looked at in place: elements that stand side by side. Others are copied, a page at a
// time.
template <class Range>
concept stands_in_memory = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;

template <class Source>
struct merged_item_of {
  using type = std::ranges::range_value_t<Source> const;
};
template <stands_in_memory Source>
struct merged_item_of<Source> {
  using type = std::remove_reference_t<std::ranges::range_reference_t<Source>>;
};

// The pages of a source: one, of all that stands in memory.
template <class Source>
class range_pages {
 public:
  using item_type = typename merged_item_of<Source>::type;

  explicit range_pages(Source source)
      : page_{std::ranges::data(source), std::ranges::size(source)} {}

  // `look` is shown what is left out.
  template <class Look>
  void skip(std::uint64_t count, Look look) {
    expects(count <= page_.size(), "a position lies in its range, or at its end");
    auto const size = static_cast<std::size_t>(count);
    for (item_type& one : page_.first(size)) look(one);
    page_ = page_.subspan(size);
    before_ = count;
  }
  std::span<item_type> page() noexcept { return page_; }
  // How many items stand before the page.
  std::uint64_t before() const noexcept { return before_; }

 private:
  std::span<item_type> page_;
  std::uint64_t before_ = 0;
};

// Pages of copies.
template <class Source>
  requires(!stands_in_memory<Source>)
class range_pages<Source> {
 public:
  using item_type = typename merged_item_of<Source>::type;

  explicit range_pages(Source source)
      : at_{std::ranges::begin(source)}, end_{std::ranges::end(source)} {}

  template <class Look>
  void skip(std::uint64_t count, Look look) {
    before_ = count;
    for (; count > 0; --count, ++at_) {
      expects(at_ != end_, "a position lies in its range, or at its end");
      look(*at_);
    }
  }
  std::span<item_type> page() {
    if (page_.empty()) fill();
    return page_;
  }
  // To the next page; false where there is none. `look` is shown the last item of this one and the
  // first of that.
  template <class Look>
  bool turn(Look look) {
    before_ += page_.size();
    std::ranges::range_value_t<Source> const last = std::move(page_.back());
    page_.clear();
    fill();
    if (page_.empty()) return false;
    look(last, page_.front());
    return true;
  }
  std::uint64_t before() const noexcept { return before_; }

 private:
  static constexpr std::size_t page_size = 128;

  void fill() {
    for (; page_.size() < page_size && at_ != end_; ++at_) page_.push_back(*at_);
  }

  std::ranges::iterator_t<Source> at_;
  std::ranges::sentinel_t<Source> end_;
  std::vector<std::ranges::range_value_t<Source>> page_{};
  std::uint64_t before_ = 0;
};

inline constexpr std::size_t merge_batch_size = 256;

// What a merge of ranges holds that unites them.
template <class Item, class Keys>
struct united_ranges {
  given_batch<Item> given{};
  united_run<Item, std::uint32_t, Keys> run{};  // has not ended

  void give() {
    run.give(given, [](std::uint32_t source) { return source; });
  }
};

// How a merge of ranges goes on; stays where it is while its owner moves.
template <class Sources, class Order>
class merging {
  using source_type = std::ranges::range_reference_t<Sources>;
  using pages_type = range_pages<source_type>;

 public:
  using item_type = typename pages_type::item_type;
  using keys_type = typename Order::template keys<item_type>;

  merging(Sources sources, Order order, std::span<std::uint64_t const> from)
      : kept_{std::move(sources)},
        pages_{pages_of(kept_)},
        tree_{pages_.size(), keys_type{std::move(order)}} {
    expects(from.empty() || from.size() == pages_.size(), "each source has a position");
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      if (!from.empty()) skip(i, from[i]);
      show(i);
    }
  }
  merging(merging const&) = delete;
  merging& operator=(merging const&) = delete;

  item_type* const* at() const noexcept { return at_; }
  item_type* const* end() const noexcept { return end_; }
  void leave_behind(item_type* const* items) noexcept { at_ = items; }
  std::uint32_t source() {
    fill();
    expects(at_ != end_, "the loop stands at an item");
    if constexpr (unites<keys_type>) {
      return united_.given.sources[static_cast<std::size_t>(at_ - united_.given.items.data())];
    } else {
      return sources_[index(at_)];
    }
  }

  // Merges as many items as there is room for, unless some are left.
  void fill() {
    if (at_ != end_) return;
    expects(!is_broken_, "a merge whose order has thrown is read no more");
    is_broken_ = true;
    if constexpr (unites<keys_type>) {
      united_.given.clear();
      while (united_.given.items.empty()) {
        tree_run const run = take();
        for (std::size_t i = 0; i < run.count; ++i) unite(*items_[i], sources_[i]);
        if (run.count == 0 && run.why == run_end::done) {
          united_.give();
          break;
        }
      }
      at_ = united_.given.items.data();
      end_ = at_ + united_.given.items.size();
    } else {
      tree_run const run = take();
      at_ = items_.data();
      end_ = at_ + run.count;
    }
    is_broken_ = false;
  }

  std::vector<std::uint64_t> positions() {
    expects(!is_broken_, "a merge whose order has thrown is read no more");
    std::vector<std::uint64_t> taken(pages_.size());
    for (std::size_t i = 0; i < pages_.size(); ++i)
      taken[i] = pages_[i].before() + (pages_[i].page().size() - tree_.rest(i).size());
    for (std::size_t i = index(at_); i < index(end_); ++i) --taken[sources_[i]];
    return taken;
  }

 private:
  using tree_type = winner_tree<item_type, keys_type>;
  static constexpr std::size_t nobody = ~std::size_t{};

  static std::vector<pages_type> pages_of(Sources& sources) {
    std::vector<pages_type> pages;
    if constexpr (std::ranges::sized_range<Sources>)
      pages.reserve(static_cast<std::size_t>(std::ranges::size(sources)));
    for (auto&& one : sources) pages.emplace_back(std::forward<decltype(one)>(one));
    return pages;
  }
  std::size_t index(item_type* const* item) const noexcept {
    return static_cast<std::size_t>(item - items_.data());
  }
  // The next batch of the tree.
  tree_run take() {
    if constexpr (!stands_in_memory<source_type>)
      if (ended_ != nobody) turn(std::exchange(ended_, nobody));
    tree_run const run = [&] {
      if constexpr (stands_in_memory<source_type>) {
        return tree_.run(items_.data(), sources_.data(), items_.size(), ends_with_page{});
      } else {
        return tree_.run(items_.data(), sources_.data(), items_.size(), stops_at_page_end{});
      }
    }();
    expects(run.why != run_end::unsorted, "a merge is given ranges that are sorted by its order");
    if (run.why == run_end::page_end) ended_ = run.source;
    return run;
  }
  void unite(item_type& item, std::uint32_t source) {
    if (united_.run.ends_before(item, tree_.keys())) united_.give();
    united_.run.hold(item, source, tree_.keys());
  }
  // An order that sees what came before an item sees what is left out too.
  void skip(std::size_t source, std::uint64_t count) {
    pages_[source].skip(count, [&]([[maybe_unused]] item_type& one) {
      if constexpr (!keys_type::is_checked) static_cast<void>(tree_.keys().key(source, one));
    });
  }
  void show(std::size_t source) {
    auto const page = pages_[source].page();
    if (!page.empty()) tree_.show(source, page);
  }
  void turn(std::size_t source) {
    if constexpr (unites<keys_type>) united_.run.save(static_cast<std::uint32_t>(source));
    bool const has_next = pages_[source].turn(
        [&]([[maybe_unused]] item_type& last, [[maybe_unused]] item_type& first) {
          if constexpr (keys_type::is_checked)
            expects(!tree_.keys().is_less(first, last),
                    "a merge is given ranges that are sorted by its order");
        });
    if (has_next) {
      tree_.show(source, pages_[source].page());
    } else {
      tree_.end(source);
    }
  }

  Sources kept_;
  std::vector<pages_type> pages_;
  tree_type tree_;
  std::array<item_type*, merge_batch_size> items_;
  std::array<std::uint32_t, merge_batch_size> sources_;
  struct nothing {};
  [[no_unique_address]] std::conditional_t<unites<keys_type>, united_ranges<item_type, keys_type>,
                                           nothing> united_{};
  item_type* const* at_ = items_.data();
  item_type* const* end_ = items_.data();
  std::size_t ended_ = nobody;
  bool is_broken_ = false;  // something was thrown while items were on their way out of the tree
};

// Feeds and page sources. They are merged where they stand, not as what was made on the way.
template <class T>
concept read_by_pages = requires {
  typename T::page_type;
  typename T::scheme_type;
};

}  // namespace detail

/// The sentence that a compiler shows for sources that are no ranges, or that would be gone before
/// they are read: each stays where it is while others are looked at, or is a view that borrows what
/// it shows. Nor are feeds ranges in memory.
template <class Sources>
concept ranges_to_merge =
    std::ranges::input_range<Sources> &&
    std::ranges::input_range<std::ranges::range_reference_t<Sources>> &&
    !detail::read_by_pages<std::remove_cvref_t<std::ranges::range_reference_t<Sources>>> &&
    (std::ranges::borrowed_range<std::remove_cvref_t<std::ranges::range_reference_t<Sources>>> ||
     (std::ranges::forward_range<Sources> &&
      std::is_lvalue_reference_v<std::ranges::range_reference_t<Sources>>));

namespace detail {

template <class Sources>
using item_of_sources = typename merged_item_of<std::ranges::range_reference_t<Sources>>::type;

template <class Sources, class Order>
class merged_range_iterator {
  using state_type = merging<Sources, Order>;
  using item_type = typename state_type::item_type;

 public:
  using value_type = std::remove_cv_t<item_type>;
  using reference = item_type&;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  merged_range_iterator() = default;
  explicit merged_range_iterator(state_type& state)
      : at_{state.at()}, end_{state.end()}, state_{&state} {}

  reference operator*() const {
    if (at_ == end_) [[unlikely]]
      turn();
    return **at_;
  }
  item_type* operator->() const { return std::addressof(**this); }
  merged_range_iterator& operator++() {
    if (at_ == end_) [[unlikely]]
      turn();  // of two steps in a row
    state_->leave_behind(++at_);
    return *this;
  }
  void operator++(int) { ++*this; }

  friend bool operator==(merged_range_iterator const& it, std::default_sentinel_t) {
    return it.at_ == it.end_ && it.is_over();
  }

 private:
  bool is_over() const {
    if (state_ != nullptr) turn();
    return at_ == end_;
  }
  // To the next batch, unless another copy has merged it.
  void turn() const {
    state_->fill();
    at_ = state_->at();
    end_ = state_->end();
    if (at_ == end_) state_ = nullptr;
  }

  mutable item_type* const* at_ = nullptr;
  mutable item_type* const* end_ = nullptr;
  mutable state_type* state_ = nullptr;
};

}  // namespace detail

/// The items of a merge as a copyable view of `std::ranges` and of range-v3; the merge outlives it.
template <class Sources, class Order>
class merged_range_view : public std::ranges::view_interface<merged_range_view<Sources, Order>> {
 public:
  using iterator = detail::merged_range_iterator<Sources, Order>;

  merged_range_view() = default;
  explicit merged_range_view(detail::merging<Sources, Order>& state) : state_{&state} {}

  iterator begin() const {
    expects(state_ != nullptr, "the items are those of a merge");
    state_->fill();
    return iterator{*state_};
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  detail::merging<Sources, Order>* state_ = nullptr;
};

/// Sorted ranges as one: a single-pass range of their items, in place where they stand side by
/// side, else of copies, up to 128 of each source at a time. A loop that was left goes on with the
/// item that it was left at. Equal items leave in the order of their sources.
///
/// Allocates when it is made, 80 bytes a source where keys have 64 bits, 104 where they have 128,
/// and nothing an item. Moving it keeps what it gave out valid; sources that it was not given as
/// temporaries outlive it. What a projection or a comparison throws passes through, and the merge
/// is read no more: another one goes on from positions that were asked for before.
template <class Sources, class Order>
class merged_ranges {
  using state_type = detail::merging<Sources, Order>;

 public:
  using item_type = typename state_type::item_type;

  merged_ranges(Sources sources, Order order, std::span<std::uint64_t const> from = {})
      : state_{std::make_unique<state_type>(std::move(sources), std::move(order), from)} {}

  auto begin() { return items().begin(); }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// The same as a copyable view, for pipes.
  merged_range_view<Sources, Order> items() & { return merged_range_view<Sources, Order>{state()}; }
  void items() && = delete;  // would outlive the merge

  /// How many items of each source were left behind: where a merge of the same sources goes on. A
  /// union has none: what it has given of equal items no position tells.
  std::vector<std::uint64_t> positions() const
    requires(!detail::unites<typename state_type::keys_type>)
  {
    return state().positions();
  }
  /// The number of the source that the item comes from which the loop stands at. Requires one.
  std::size_t source() const { return state().source(); }

 private:
  state_type& state() const {
    expects(state_ != nullptr, "a merge that was moved from is read no more");
    return *state_;
  }

  std::unique_ptr<state_type> state_;
};

/// Merges ranges that are sorted by `order` each; by default by themselves, the least item first.
/// `from` are positions that a merge of the same sources had. Breaks a contract where a range turns
/// out not to be sorted.
///
/// Complexity: the logarithm of their number an item; one comparison an item where a source has
/// many in a row.
template <std::ranges::viewable_range Sources, class Order = decltype(ascending())>
  requires ranges_to_merge<Sources> &&
           orders_items<Order, detail::item_of_sources<std::views::all_t<Sources>>>
[[nodiscard]] auto merge(Sources&& sources, Order order = {},
                         std::span<std::uint64_t const> from = {}) {
  using kept = std::views::all_t<Sources>;
  return merged_ranges<kept, Order>{std::views::all(std::forward<Sources>(sources)),
                                    std::move(order), from};
}

}  // namespace keyspan

template <class Sources, class Order>
inline constexpr bool
    std::ranges::enable_borrowed_range<keyspan::merged_range_view<Sources, Order>> = true;

template <typename Sources, typename Order>
struct ranges::ext::enable_view<keyspan::merged_range_view<Sources, Order>> : std::true_type {};
