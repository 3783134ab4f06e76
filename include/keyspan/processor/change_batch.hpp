// keyspan/processor/change_batch.hpp — some changes of one range, as a handler is given them.
//
//   batch.items()         the changes, in the order they were made for each key
//   batch.epoch()         for the sink: refuse what carries a lower one than you have seen
//   batch.acknowledge()   done, if that is said by hand
#pragma once

#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/token_range.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace keyspan {

/// Says that a batch was handled: the position of its lease may go behind it, once everything
/// before it was handled too. It may be kept and called later, from any thread, in any order, and
/// more than once; where the lease has gone to somebody else meanwhile it does nothing.
class acknowledgement {
 public:
  acknowledgement() = default;
  explicit acknowledgement(std::shared_ptr<std::function<void()>> does) : does_{std::move(does)} {}

  void operator()() const {
    if (does_ && *does_) (*does_)();
  }

 private:
  std::shared_ptr<std::function<void()>> does_{};
};

/// What is told of a lease to who handles it.
template <token Token>
struct lease_info {
  /// The name of its record.
  std::string id{};
  token_range<Token> range;
  /// Grows with every new owner, of this range and of what comes of it by splits and merges.
  std::uint64_t epoch = 0;
};

/// Some changes of one range. It lives until the handler is done with it.
template <token Token, class Item>
class change_batch {
 public:
  using item_type = Item;
  using token_type = Token;

  /// Requires that all of it outlives the batch.
  change_batch(lease_info<Token> const& of, std::span<Item> all,
               std::span<std::uint32_t const> which, std::uint32_t attempt, stop_token stop,
               acknowledgement done)
      : of_{&of},
        all_{all},
        which_{which},
        attempt_{attempt},
        stop_{std::move(stop)},
        done_{std::move(done)} {}

  lease_info<Token> const& lease() const noexcept { return *of_; }
  token_range<Token> const& range() const noexcept { return of_->range; }
  /// What every effect of this batch should carry, so that its sink can refuse those that come from
  /// an owner of before: see the guide.
  std::uint64_t epoch() const noexcept { return of_->epoch; }

  std::size_t size() const noexcept { return which_.size(); }
  /// One of its changes. Requires `i < size()`.
  Item& operator[](std::size_t i) const {
    expects(i < which_.size(), "a change of a batch is one of as many as it has");
    return all_[which_[i]];
  }
  /// Its changes, as a range.
  auto items() const noexcept { return index_view<change_batch>{*this, 0, size()}; }
  auto begin() const noexcept { return items().begin(); }
  auto end() const noexcept { return items().end(); }

  /// 1 for the first time that these changes are handled, then 2, and so on, also where another
  /// host has tried before.
  std::uint32_t attempt() const noexcept { return attempt_; }
  /// Stopped when the lease is somebody else's by now, or is to be let go of: what was done may be
  /// acknowledged while `lease` holds, what was not is handled elsewhere.
  stop_token const& stop() const noexcept { return stop_; }

  /// Says that it was handled. Needed only where that is said by hand; elsewhere it is said when
  /// the handler returns.
  void acknowledge() const { done_(); }
  /// The same for later: outlives the batch.
  acknowledgement acknowledger() const { return done_; }

 private:
  lease_info<Token> const* of_;
  std::span<Item> all_;
  std::span<std::uint32_t const> which_;
  std::uint32_t attempt_;
  stop_token stop_;
  acknowledgement done_;
};

}  // namespace keyspan
