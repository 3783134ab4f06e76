// keyspan/merge/held_run.hpp — what a union holds back: of a run of equal items, one of each
// identity until the run has ended, and where each source stood where the run began.
//
//   the tree    ... a3  a3  b3 | a3  a4 ...      a batch ends in the midst of the run of 3
//   held        a3 b3                            one of each, the latest
//   given                        a3 b3           when 4 comes
#pragma once

#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_batch.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/source_place.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::detail {

template <class Slot, class Keys>
class held_run {
 public:
  using item_type = typename Slot::item_type;
  using batch_type = merged_batch<item_type>;
  using part_type = part_of_feed<decltype(Slot::feed)>;
  struct orphan {
    std::size_t feed;
    part_type part;
  };

  static constexpr std::size_t before = ~std::size_t{};  // in an earlier batch

  bool empty() const noexcept { return run_.empty(); }
  // One of the run.
  item_type& item() const noexcept { return *run_.back().item; }

  // Of what the tree has given, one of each identity in each run that has ended. The last run is
  // held: it may go on.
  template <class Slots>
  void unite(batch_type const& batch, Slots const& slots, Keys const& keys) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Slot& slot = *slots[batch.source(i)];
      if (!run_.empty() && keys.compare(item(), batch[i]) != 0) give();
      if (run_.empty()) begin_ = i;
      std::size_t const same = find(batch[i], keys);
      if (same < run_.size()) {
        if (!keys.replaces(*run_[same].item, batch[i])) continue;
        run_[same] = {};  // what is given stands in the order of its sources
      }
      hold(batch[i], slot, keys);
    }
  }
  // The run has ended.
  void give() {
    for (held& one : run_) {
      if (one.item == nullptr) continue;
      if (one.copy) copies_.push_back(std::move(one.copy));
      items_.push_back(one.item);
      sources_.push_back(one.slot->number);
      runs_.push_back(begin_);
    }
    run_.clear();
    index_.clear();
  }
  batch_type given() const noexcept { return {items_.data(), sources_.data(), items_.size()}; }

  // A batch was left behind, and its pages are about to go: of a run that is held it is kept where
  // it began.
  template <class Slots>
  void settle(batch_type const& batch, Slots const& slots) {
    items_.clear();
    sources_.clear();
    runs_.clear();
    copies_.clear();
    bool const began_before = !run_.empty() && begin_ == before;
    if (!began_before) {
      for (Slot* const slot : slots_) {
        slot->run_item = before;
        slot->run_part.reset();
      }
      slots_.clear();
      orphans_.clear();
    }
    if (run_.empty()) return;
    for (std::size_t i = began_before ? 0 : begin_; i < batch.size(); ++i) {
      Slot& slot = *slots[batch.source(i)];
      if (slot.run_item != before) continue;
      slot.run_item = static_cast<std::size_t>(&batch[i] - slot.page().data());
      slots_.push_back(&slot);
    }
    begin_ = before;
  }
  // The page of a source is about to go, and items of the run that is held stand in it.
  void save(Slot& slot, Keys const& keys) {
    if (slot.run_item == before) return;
    if (!slot.run_part) slot.run_part.emplace(part_before(slot, slot.run_item, keys));
    for (held& one : run_) {
      if (one.slot != &slot || one.item == nullptr || one.copy) continue;
      one.copy = std::make_unique<std::remove_const_t<item_type>>(std::move(*one.item));
      one.item = one.copy.get();
    }
  }
  // The source is about to be split: where it stood stands for its parts.
  void split(Slot& slot, Slot& heir, Keys const& keys) {
    save(slot, keys);
    for (held& one : run_)
      if (one.slot == &slot) one.slot = &heir;  // also those that it was the heir of
    if (slot.run_item == before) return;
    if (!is_orphaned(slot.feed)) orphans_.push_back({slot.feed.feed, *slot.run_part});
    std::erase(slots_, &slot);
  }

  // Where the run begins, in the batch of the tree, that an item that is given is of, or that is
  // held behind them; the end of that batch where none is.
  std::size_t begin_of_run(std::size_t given, std::size_t end) const noexcept {
    if (given < runs_.size()) return runs_[given];
    return run_.empty() ? end : begin_;
  }
  // The sources that were split since the run began, where they stood.
  std::vector<orphan> const& orphans() const noexcept { return orphans_; }
  template <class Feed>
  bool is_orphaned(Feed const& feed) const {
    for (orphan const& one : orphans_)
      if (one.feed == feed.feed && one.part.at.range.contains(feed.at.range)) return true;
    return false;
  }
  // The merge stands behind `given` items, and those of its run were given. A source whose next
  // item comes behind that run has none of it left.
  void leave_out_given(given_items& of, std::size_t given, Keys const& keys,
                       item_type* next = nullptr) const {
    if (given == 0 || runs_[given - 1] != begin_of_run(given, before - 1)) return;
    std::size_t const run = runs_[given - 1];
    std::uint64_t const image = image_of(keys, *items_[given - 1]);
    if (next != nullptr && image_of(keys, *next) != image) return;
    if (of.image != image) of = {};
    of.image = image;
    of.count = (std::numeric_limits<std::uint32_t>::max)();
    for (std::size_t i = given; i > 0 && runs_[i - 1] == run; --i)
      of.identities.push_back(keys.identity(*items_[i - 1]));
    sort_identities(of);
  }

 private:
  using copy_type = std::unique_ptr<std::remove_const_t<item_type>>;
  struct held {
    item_type* item = nullptr;  // none where another one has taken its place
    Slot* slot = nullptr;
    copy_type copy{};  // where its page is gone
  };
  static constexpr std::size_t few = 16;  // are compared one by one

  // The place of the one of the same identity; the size of the run where there is none.
  std::size_t find(item_type& item, Keys const& keys) const {
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
  static bool is_same(held const& one, item_type& item, Keys const& keys) {
    return one.item != nullptr && keys.is_same(*one.item, item);
  }
  void hold(item_type& item, Slot& slot, Keys const& keys) {
    run_.push_back({&item, &slot, {}});
    if (index_.empty() && run_.size() <= few) return;
    if (2 * run_.size() <= index_.size()) return enter(run_.size() - 1, keys);
    std::erase_if(run_, [](held const& one) { return one.item == nullptr; });
    index_.assign(std::bit_ceil(4 * run_.size()), 0);
    for (std::size_t place = 0; place < run_.size(); ++place) enter(place, keys);
  }
  void enter(std::size_t place, Keys const& keys) {
    auto at = static_cast<std::size_t>(keys.identity(*run_[place].item));
    while (index_[at & (index_.size() - 1)] != 0) ++at;
    index_[at & (index_.size() - 1)] = static_cast<std::uint32_t>(place + 1);
  }

  std::vector<held> run_{};             // has not ended
  std::vector<std::uint32_t> index_{};  // of it by identity, where it is long: places + 1
  std::size_t begin_ = before;          // in the batch of the tree
  std::vector<Slot*> slots_{};          // the sources of a run that began in an earlier batch
  std::vector<orphan> orphans_{};       // and those that were split since
  std::vector<std::size_t> runs_{};     // of the items that are given
  std::vector<copy_type> copies_{};     // among those
  std::vector<item_type*> items_{};
  std::vector<std::uint32_t> sources_{};
};

}  // namespace keyspan::detail
