// keyspan/processor/lease_reading.hpp — what was read of one lease, and how much of it was handled.
//
//   [ done ][ done ][      ][ done ][      ]      batches, in the order they were read
//                  ^ the position goes here: behind the last of those before which none is open
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/hash/token.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

/// One page, on its way through a handler, in one piece or in several.
template <token Token, class Page>
struct read_batch {
  std::uint64_t sequence = 0;           ///< of the position behind it
  Page page{};                          ///< empty where only the position has moved
  std::vector<cursor<Token>> behind{};  ///< where the lease stands behind it
  std::size_t pieces = 0;               ///< not acknowledged
  bool has_news = true;                 ///< the position behind it is another one
};

/// The batches of a lease that are not behind its position yet.
template <token Token, class Page>
class batches_in_order {
 public:
  using batch_type = read_batch<Token, Page>;

  /// Where reading begins.
  batches_in_order(std::uint64_t sequence, std::vector<cursor<Token>> at)
      : last_{sequence}, position_{sequence}, at_{std::move(at)} {}

  /// Adds what was read next. It is done when it has been acknowledged in so many pieces.
  std::shared_ptr<batch_type> push(Page page, std::vector<cursor<Token>> behind, bool has_news,
                                   std::size_t pieces) {
    auto made = std::make_shared<batch_type>();
    made->sequence = ++last_;
    made->page = std::move(page);
    made->behind = std::move(behind);
    made->has_news = has_news;
    made->pieces = pieces;
    open_.push_back(made);
    if (pieces == 0) advance();
    return made;
  }
  /// One piece of it was handled. Whether the position has moved.
  bool acknowledge(batch_type& one) {
    if (one.pieces == 0) return false;
    --one.pieces;
    return one.pieces == 0 && advance();
  }

  /// The sequence of the position: what is before it was handled.
  std::uint64_t position() const noexcept { return position_; }
  std::vector<cursor<Token>> const& at() const noexcept { return at_; }
  /// How many changes were handled since the position was asked for with `take_count`.
  std::size_t take_count() noexcept { return std::exchange(count_, 0); }
  std::size_t count() const noexcept { return count_; }
  /// Whether the position has moved to another place since then.
  bool has_news() const noexcept { return has_news_; }
  void clear_news() noexcept { has_news_ = false; }
  /// The batches that are not acknowledged, or behind one that is not.
  std::size_t open() const noexcept { return open_.size(); }

 private:
  bool advance() {
    bool has_moved = false;
    while (!open_.empty() && open_.front()->pieces == 0) {
      auto& first = *open_.front();
      position_ = first.sequence;
      at_ = std::move(first.behind);
      count_ += first.page.items.size();
      has_news_ = has_news_ || first.has_news;
      open_.pop_front();
      has_moved = true;
    }
    return has_moved;
  }

  std::uint64_t last_;
  std::uint64_t position_;
  std::vector<cursor<Token>> at_;
  std::deque<std::shared_ptr<batch_type>> open_{};
  std::size_t count_ = 0;
  bool has_news_ = false;
};

}  // namespace detail
}  // namespace keyspan
