// keyspan/merge/merged_batch.hpp — some items of a merge, in its order, each where its page has it.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/index_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace keyspan {

/// The next items of a merge: a random-access range of references. Good until the next batch is
/// asked for.
template <class Item>
class merged_batch {
 public:
  using item_type = Item;
  using iterator = index_iterator<merged_batch>;

  merged_batch() = default;
  merged_batch(Item* const* items, std::uint32_t const* sources, std::size_t size) noexcept
      : items_{items}, sources_{sources}, size_{size} {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Item& operator[](std::size_t at) const noexcept { return *items_[at]; }
  iterator begin() const noexcept { return {*this, 0}; }
  iterator end() const noexcept { return {*this, size_}; }

  /// The number of the source that an item came from, in the order of the sources.
  std::size_t source(std::size_t at) const {
    expects(at < size_, "an item of the batch is asked for");
    return sources_[at];
  }

 private:
  Item* const* items_ = nullptr;
  std::uint32_t const* sources_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace keyspan
