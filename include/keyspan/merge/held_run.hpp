// keyspan/merge/held_run.hpp — what a union of feeds holds back: the run of equal items that has
// not ended, and where each source stood where it began.
//
//   the tree    ... a3  b3 | a3  a4 ...      a batch ends in the midst of the run of 3
//   held        a3 b3                        one of each
//   given                        a3 b3       when 4 comes
#pragma once

#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_batch.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/source_place.hpp>
#include <keyspan/merge/united_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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

  // Of what the tree has given, one of each identity in each run that has ended. The last run is
  // held: it may go on.
  template <class Sources>
  void unite(batch_type const& batch, Sources const& sources, Keys const& keys) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (run_.ends_before(batch[i], keys)) give();
      if (run_.empty()) begin_ = i;
      run_.hold(batch[i], sources[batch.source(i)].get(), keys);
    }
  }
  // The run has ended.
  void give() {
    runs_.insert(runs_.end(), run_.give(given_, [](Slot* slot) { return slot->number; }), begin_);
  }
  // Some of what is given.
  batch_type given(std::size_t from, std::size_t most) const noexcept {
    return {given_.items.data() + from, given_.sources.data() + from,
            (std::min)(most, given_.items.size() - from)};
  }
  std::size_t given() const noexcept { return given_.items.size(); }

  // A batch was left behind, and its pages are about to go: of a run that is held it is kept where
  // it began.
  template <class Sources>
  void settle(batch_type const& batch, Sources const& sources) {
    given_.clear();
    runs_.clear();
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
      Slot& slot = *sources[batch.source(i)];
      if (slot.run_item != before) continue;
      slot.run_item = static_cast<std::size_t>(&batch[i] - slot.page().data());
      slots_.push_back(&slot);
    }
    begin_ = before;
  }
  // The page of a source is about to go, and items of the run that is held stand in it.
  void save(Slot& slot, [[maybe_unused]] Keys const& keys) {
    if (slot.run_item == before) return;
    if constexpr (remembers_given<decltype(slot.feed)>)
      if (!slot.run_part) slot.run_part.emplace(part_before(slot, slot.run_item, keys));
    run_.save(&slot);
  }
  // The source is about to be split: where it stood stands for its parts.
  void split(Slot& slot, Slot& heir, Keys const& keys) {
    save(slot, keys);
    run_.inherit(&slot, &heir);  // also what it was the heir of
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
  void leave_out_given([[maybe_unused]] given_items& of, [[maybe_unused]] std::size_t given,
                       [[maybe_unused]] Keys const& keys,
                       [[maybe_unused]] item_type* next = nullptr) const {
    if constexpr (tells_apart<Keys>) {
      if (given == 0 || given == runs_.size() || runs_[given - 1] != runs_[given]) return;
      std::uint64_t const image = image_of(keys, *given_.items[given - 1]);
      if (next != nullptr && image_of(keys, *next) != image) return;
      if (of.image != image) of = {};
      of.image = image;
      of.count = (std::numeric_limits<std::uint32_t>::max)();
      for (std::size_t i = given; i > 0 && runs_[i - 1] == runs_[given]; --i)
        of.identities.push_back(keys.identity(*given_.items[i - 1]));
      sort_identities(of);
    }
  }

 private:
  united_run<item_type, Slot*, Keys> run_{};
  std::size_t begin_ = before;     // of the run, in the batch of the tree
  std::vector<Slot*> slots_{};     // the sources of a run that began in an earlier batch
  std::vector<orphan> orphans_{};  // and those that were split since
  given_batch<item_type> given_{};
  std::vector<std::size_t> runs_{};  // the beginning of its run, for each that is given
};

}  // namespace keyspan::detail
