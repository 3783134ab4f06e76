// keyspan/merge/united_run.hpp — of a run of equal items, one of each identity.
//
//   the tree    a3  b3  a3'   the run of 3
//   held        b3  a3'       where a3' takes the place of a3
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::detail {

// What is given of a union: items in order, and whom each came from.
template <class Item>
struct given_batch {
  using copy_type = std::unique_ptr<std::remove_const_t<Item>>;

  std::vector<Item*> items{};
  std::vector<std::uint32_t> sources{};
  std::vector<copy_type> copies{};  // those among them whose page is gone

  void clear() noexcept {
    items.clear();
    sources.clear();
    copies.clear();
  }
};

// `Owner` says whose an item is, until it is given.
template <class Item, class Owner, class Keys>
class united_run {
 public:
  bool empty() const noexcept { return run_.empty(); }
  // Whether an item is not equal to those that are held.
  bool ends_before(Item& item, Keys const& keys) const {
    return !run_.empty() && keys.compare(*run_.back().item, item) != 0;
  }

  // One more, which is equal to all of them.
  void hold(Item& item, Owner owner, Keys const& keys) {
    std::size_t const same = find(item, keys);
    if (same < run_.size()) {
      if (!keys.replaces(*run_[same].item, item)) return;
      run_[same] = {};  // what is given stands in the order of its sources
    }
    run_.push_back({&item, owner, {}});
    if (index_.empty() && run_.size() <= few) return;
    if (2 * run_.size() <= index_.size()) return enter(run_.size() - 1, keys);
    std::erase_if(run_, [](held const& one) { return one.item == nullptr; });
    index_.assign(std::bit_ceil(4 * run_.size()), 0);
    for (std::size_t place = 0; place < run_.size(); ++place) enter(place, keys);
  }
  // The run has ended. Returns how many are given.
  template <class NumberOf>
  std::size_t give(given_batch<Item>& to, NumberOf number_of) {
    std::size_t const before = to.items.size();
    for (held& one : run_) {
      if (one.item == nullptr) continue;
      if (one.copy) to.copies.push_back(std::move(one.copy));
      to.items.push_back(one.item);
      to.sources.push_back(number_of(one.owner));
    }
    run_.clear();
    index_.clear();
    return to.items.size() - before;
  }
  // The page of somebody is about to go.
  void save(Owner owner) {
    for (held& one : run_) {
      if (one.owner != owner || one.item == nullptr || one.copy) continue;
      one.copy = std::make_unique<std::remove_const_t<Item>>(std::move(*one.item));
      one.item = one.copy.get();
    }
  }
  void inherit(Owner from, Owner heir) {
    for (held& one : run_)
      if (one.owner == from) one.owner = heir;
  }

 private:
  struct held {
    Item* item = nullptr;  // none where another one has taken its place
    Owner owner{};
    typename given_batch<Item>::copy_type copy{};  // where its page is gone
  };
  static constexpr std::size_t few = 16;  // are compared one by one

  // The place of the one of the same identity; the size of the run where there is none.
  std::size_t find(Item& item, Keys const& keys) const {
    if (index_.empty()) {
      std::size_t at = 0;
      while (at < run_.size() && !is_same(run_[at], item, keys)) ++at;
      return at;
    }
    for (auto at = static_cast<std::size_t>(keys.identity(item));; ++at) {
      std::uint32_t const place = index_[at & (index_.size() - 1)];
      if (place == 0) return run_.size();
      if (is_same(run_[place - 1], item, keys)) return place - 1;
    }
  }
  static bool is_same(held const& one, Item& item, Keys const& keys) {
    return one.item != nullptr && keys.is_same(*one.item, item);
  }
  void enter(std::size_t place, Keys const& keys) {
    auto at = static_cast<std::size_t>(keys.identity(*run_[place].item));
    while (index_[at & (index_.size() - 1)] != 0) ++at;
    index_[at & (index_.size() - 1)] = static_cast<std::uint32_t>(place + 1);
  }

  std::vector<held> run_{};
  std::vector<std::uint32_t> index_{};  // by identity, where the run is long: places + 1
};

}  // namespace keyspan::detail
