// keyspan/transport/memory_partition.hpp — what one partition of a memory_container holds: its
// documents by name, and the log of what happened to them.
//
//   index   name --> version                     the newest of each
//   log     #7 a  #8 b  (#9 c)  #10 b  #11 c     in the order of writing; what was written anew is
//                                                marked, and swept out when it is half of the log
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/stored.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan::detail {

// A version with what its partition has to know of it. What is mutable is read and written under
// the partition's lock alone.
template <class T, token Token>
struct memory_version : stored_version<T> {
  memory_version(T from, std::string_view named, Token const& place, std::uint64_t size,
                 std::optional<std::chrono::milliseconds> lives)
      : stored_version<T>{.document = std::move(from), .name = std::string{named}},
        token{place},
        bytes{size},
        time_to_live{lives} {}

  Token token;
  std::uint64_t bytes;
  std::optional<std::chrono::milliseconds> time_to_live;
  change_kind kind = change_kind::created;
  bool is_latest = false;
};

// Finds versions by their names: open addressing, so that what is to be put into it can be made
// room for first, and nothing fails later.
template <class Version>
class version_index {
 public:
  using pointer = std::shared_ptr<Version>;

  static std::uint64_t hash_of(std::string_view name) noexcept {
    return std::hash<std::string_view>{}(name);
  }

  std::size_t size() const noexcept { return size_; }
  std::size_t memory() const noexcept { return slots_.size() * sizeof(slot); }

  static constexpr std::size_t nowhere = ~std::size_t{0};
  // Where the name stands, until the next change.
  std::size_t find(std::string_view name) const noexcept {
    if (slots_.empty()) return nowhere;
    std::uint64_t const hash = hash_of(name);
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      slot const& one = slots_[i];
      if (!one.version) return nowhere;
      if (one.hash == hash && one.version->name == name) return i;
    }
  }
  pointer const& at(std::size_t place) const noexcept { return slots_[place].version; }
  // Puts another version of the same name there.
  void exchange(std::size_t place, pointer version) noexcept {
    slots_[place].version = std::move(version);
  }
  // For so many more. Everything that follows finds room.
  void make_room(std::size_t more) {
    std::size_t const wanted = (size_ + more) * 4 / 3 + 1;
    if (wanted <= slots_.size()) return;
    std::vector<slot> old(std::bit_ceil((std::max)(wanted, std::size_t{8})));
    old.swap(slots_);
    for (slot& one : old)
      if (one.version) put(std::move(one));
  }
  // Requires room, and that nobody has the name.
  void insert(pointer version) noexcept {
    std::uint64_t const hash = hash_of(version->name);
    put({hash, std::move(version)});
    ++size_;
  }
  void erase(std::size_t hole) noexcept {
    slots_[hole].version.reset();
    --size_;
    // Whoever would be found no more steps into the hole.
    for (std::size_t i = (hole + 1) & mask(); slots_[i].version; i = (i + 1) & mask()) {
      std::size_t const home = slots_[i].hash & mask();
      if (((i - home) & mask()) < ((i - hole) & mask())) continue;
      slots_[hole] = std::move(slots_[i]);
      slots_[i].version.reset();
      hole = i;
    }
  }

 private:
  struct slot {
    std::uint64_t hash = 0;
    pointer version{};
  };

  std::size_t mask() const noexcept { return slots_.size() - 1; }
  void put(slot one) noexcept {
    std::size_t i = one.hash & mask();
    while (slots_[i].version) i = (i + 1) & mask();
    slots_[i] = std::move(one);
  }

  std::vector<slot> slots_{};
  std::size_t size_ = 0;
};

template <class T, token Token>
struct memory_write {
  using pointer = std::shared_ptr<memory_version<T, Token>>;

  change_kind kind;
  pointer now{};     // null where the document goes
  pointer before{};  // null where there was none
};

// All members but `who` and `made` are used under the lock.
template <class T, token Token>
class memory_partition {
 public:
  using version = memory_version<T, Token>;
  using pointer = std::shared_ptr<version>;
  using write = memory_write<T, Token>;
  using range_type = token_range<Token>;

  // What happened, for feeds of all versions.
  struct happened {
    change_kind kind;
    pointer item;
    pointer before;
    std::uint64_t lsn;
    wall_time at;
  };

  memory_partition(partition<Token> what, std::uint64_t number)
      : who{std::move(what)}, made{number}, forgotten_{{who.range, 0}} {}

  partition<Token> const who;
  std::uint64_t const made;  // how many partitions were made before it
  std::mutex mutex{};
  bool is_gone = false;

  std::uint64_t lsn() const noexcept { return lsn_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  // Whether it has come to its limit, and once more for each tenth that it grows beyond: what
  // cannot be split is not tried at every write.
  bool has_become_full(std::uint64_t limit) noexcept {
    if (bytes_ < (std::max)(limit, full_again_at_)) return false;
    full_again_at_ = bytes_ + limit / 10 + 1;
    return true;
  }
  std::size_t size() const noexcept { return index_.size(); }
  std::size_t memory() const noexcept {
    return index_.memory() + log_.capacity() * sizeof(pointer);
  }
  // The number of the operation that is under way, by which a service knows it.
  std::uint64_t operation() const noexcept { return operations_; }
  std::uint64_t begin_operation() noexcept { return ++operations_; }

  // Time goes on, and what comes to its end goes. Returns how many did.
  std::size_t live_until(wall_time now, std::optional<std::chrono::milliseconds> keeps) {
    now_ = (std::max)(now_, now);
    std::size_t expired = 0;
    while (!ends_.empty() && ends_.front().first <= now_) {
      pointer const item = ends_.front().second;
      if (item->is_latest) {
        commit({{change_kind::expired, nullptr, item}}, keeps.has_value());
        ++expired;
      }
      if (ends_.empty() || ends_.front().second != item) continue;  // swept out
      std::pop_heap(ends_.begin(), ends_.end(), later_end);
      ends_.pop_back();
    }
    if (keeps)
      while (!history_.empty() && history_.front().at < now_ - *keeps) {
        forget(history_.front());
        history_.pop_front();
      }
    return expired;
  }

  // The newest version of this name, or null.
  pointer find(std::string_view name) const {
    std::size_t const place = index_.find(name);
    return place != index_.nowhere ? index_.at(place) : nullptr;
  }

  // The position that the next write will have.
  std::uint64_t next_lsn() const noexcept { return lsn_ + 1; }

  // Makes all of them, at one position, or where it throws none.
  void commit(std::vector<write> const& writes, bool keeps_history) {
    if (writes.empty()) return;
    index_.make_room(writes.size());
    make_room(log_, writes.size());
    make_room(ends_, writes.size());
    if (keeps_history) write_history(writes);
    ++lsn_;
    for (write const& one : writes) make(one);
    sweep();
  }

  // ---- reading ---------------------------------------------------------------------------------

  struct asked {
    range_type const& range;
    bool is_whole;
    std::string_view key_prefix;  // of the names of one key; empty for all
    std::uint64_t behind;
    std::optional<wall_time> since;
    std::size_t most;
  };
  struct found {
    std::uint64_t reached;
    bool nothing_new;
    std::uint64_t bytes = 0;
  };

  // The newest version of each document, where it was written last. What was written together comes
  // together. It looks at so many entries at most, so that writers do not wait for long: then the
  // page is what was found, and goes on behind it.
  found read_latest(asked const& what, std::vector<change<T>>& items) const {
    auto const put = [&](pointer const& one) -> change<T> {
      return {one->kind, stored<T>{one}, {}, one->lsn, one->at};
    };
    return read(
        log_, what, items, [](pointer const& one) -> auto const& { return one; },
        [](pointer const& one) { return one->is_latest; }, put);
  }
  // Every version and removal, as far back as it is kept.
  found read_history(asked const& what, std::vector<change<T>>& items) const {
    auto const put = [](happened const& one) -> change<T> {
      return {one.kind, stored<T>{one.item}, stored<T>{one.before}, one.lsn, one.at};
    };
    return read(
        history_, what, items, [](happened const& one) -> auto const& { return one.item; },
        [](happened const&) { return true; }, put);
  }
  // Whether all that follows a position is still kept.
  bool remembers(range_type const& range, std::uint64_t behind) const {
    return std::none_of(forgotten_.begin(), forgotten_.end(), [&](auto const& part) {
      return behind < part.up_to && overlaps(part.range, range);
    });
  }

  // ---- request units ---------------------------------------------------------------------------

  // How long to wait until there is something left of so many units a second; 0 where there is.
  std::chrono::milliseconds refill(double units_per_second) {
    left_ = left_at(now_, units_per_second);
    is_metered_ = true;
    refilled_at_ = now_;
    if (left_ > 0) return {};
    double const ms = std::floor(-left_ / units_per_second * 1000) + 1;
    return std::chrono::milliseconds{static_cast<std::int64_t>((std::min)(ms, 1e12))};
  }
  void charge(double units) noexcept { left_ -= units; }
  // There is no limit: what is used meanwhile is never paid back.
  void forget_charges() noexcept { is_metered_ = false; }

  // ---- splits and merges -----------------------------------------------------------------------

  std::vector<Token> tokens() const {
    std::vector<Token> all;
    all.reserve(index_.size());
    for (pointer const& one : log_)
      if (one->is_latest) all.push_back(one->token);
    return all;
  }

  // Gives all it has to `parts`, which own what it owned: each document to the one that has its
  // token. Who throws leaves this as it was.
  void hand_over(std::vector<std::shared_ptr<memory_partition>> const& parts) const {
    auto const owner = [&](Token const& token) -> memory_partition& {
      auto const behind = std::upper_bound(
          parts.begin(), parts.end(), token,
          [](Token const& t, auto const& part) { return t < part->who.range.lower(); });
      return **(behind - 1);
    };
    for (pointer const& one : log_) owner(one->token).receive(one);
    for (happened const& one : history_) owner(one.item->token).history_.push_back(one);
    for (auto const& end : ends_)
      if (end.second->is_latest) owner(end.second->token).ends_.push_back(end);
    for (auto const& part : parts) part->begin_as(*this, parts.size());
  }
  // Takes all that both have, which are neighbours. Each has so many units a second, 0 for no
  // limit, and brings what it has left of them by now.
  void unite(memory_partition const& left, memory_partition const& right, double units_per_second) {
    lsn_ = (std::max)(left.lsn_, right.lsn_);
    now_ = (std::max)(left.now_, right.now_);
    forgotten_ = left.forgotten_;
    for (auto const& part : right.forgotten_) remember_less(part);
    is_metered_ = units_per_second > 0;
    left_ = left.left_at(now_, units_per_second) + right.left_at(now_, units_per_second);
    refilled_at_ = now_;
    std::vector<pointer> both;
    both.reserve(left.log_.size() + right.log_.size());
    std::merge(left.log_.begin(), left.log_.end(), right.log_.begin(), right.log_.end(),
               std::back_inserter(both),
               [](pointer const& a, pointer const& b) { return a->lsn < b->lsn; });
    for (pointer const& one : both) receive(one);
    std::merge(left.history_.begin(), left.history_.end(), right.history_.begin(),
               right.history_.end(), std::back_inserter(history_),
               [](happened const& a, happened const& b) { return a.lsn < b.lsn; });
    for (auto const* side : {&left, &right})
      for (auto const& end : side->ends_)
        if (end.second->is_latest) ends_.push_back(end);
    std::make_heap(ends_.begin(), ends_.end(), later_end);
  }

 private:
  using end_of_life = std::pair<wall_time, pointer>;
  // A merge has two histories in one: what one of them has forgotten the other one may still know.
  struct forgotten_part {
    range_type range;
    std::uint64_t up_to;
  };

  static bool later_end(end_of_life const& a, end_of_life const& b) { return a.first > b.first; }

  template <class Vector>
  static void make_room(Vector& in, std::size_t more) {
    if (in.capacity() - in.size() < more)
      in.reserve((std::max)(in.size() + more, in.capacity() * 2));
  }

  // What is left of so many units a second, by this time.
  double left_at(wall_time time, double units_per_second) const {
    if (!is_metered_) return units_per_second;
    auto const passed = std::chrono::duration<double>(time - refilled_at_).count();
    return (std::min)(units_per_second, left_ + passed * units_per_second);
  }

  void forget(happened const& one) noexcept {
    for (auto& part : forgotten_)
      if (part.range.contains(one.item->token)) part.up_to = one.lsn;
  }
  // Of the next part, in token order.
  void remember_less(forgotten_part const& part) {
    if (!forgotten_.empty() && forgotten_.back().up_to == part.up_to) {
      forgotten_.back().range = join(forgotten_.back().range, part.range);
    } else {
      forgotten_.push_back(part);
    }
  }

  // All of them, or where that throws none.
  void write_history(std::vector<write> const& writes) {
    struct taking_back {
      ~taking_back() {
        while (history.size() > keep) history.pop_back();
      }
      std::deque<happened>& history;
      std::size_t keep;
    } unless_all_are_there{history_, history_.size()};
    for (write const& one : writes)
      history_.push_back({one.kind, one.now ? one.now : one.before, one.now ? one.before : nullptr,
                          next_lsn(), now_});
    unless_all_are_there.keep = history_.size();
  }

  void make(write const& one) noexcept {
    std::size_t const place = one.before ? index_.find(one.before->name) : index_.nowhere;
    if (one.before) {
      one.before->is_latest = false;
      bytes_ -= one.before->bytes;
      ++superseded_;
    }
    if (!one.now) {
      index_.erase(place);
      return;
    }
    one.now->lsn = lsn_;
    one.now->at = now_;
    one.now->kind = one.kind;
    one.now->is_latest = true;
    bytes_ += one.now->bytes;
    if (place != index_.nowhere) {
      index_.exchange(place, one.now);
    } else {
      index_.insert(one.now);
    }
    log_.push_back(one.now);
    if (!one.now->time_to_live) return;
    if (*one.now->time_to_live > (wall_time::max)() - now_) return;  // for ever
    ends_.emplace_back(now_ + *one.now->time_to_live, one.now);
    std::push_heap(ends_.begin(), ends_.end(), later_end);
  }
  void sweep() noexcept {
    if (superseded_ < 1024 || superseded_ < log_.size() / 2) return;
    std::erase_if(log_, [](pointer const& one) { return !one->is_latest; });
    superseded_ = 0;
    if (std::erase_if(ends_, [](end_of_life const& one) { return !one.second->is_latest; }) != 0)
      std::make_heap(ends_.begin(), ends_.end(), later_end);
  }

  template <class Log, class VersionOf, class IsWanted, class Put>
  found read(Log const& log, asked const& what, std::vector<change<T>>& items,
             VersionOf const& version_of, IsWanted const& is_wanted, Put const& put) const {
    std::size_t const most_entries = what.most * 4 + 4096;
    auto at = std::partition_point(log.begin(), log.end(), [&](auto const& entry) {
      return position_of(entry) <= what.behind;
    });
    found answer{.reached = lsn_, .nothing_new = false};
    std::uint64_t reached = what.behind;
    std::size_t looked_at = 0;
    for (; at != log.end(); ++at) {
      std::uint64_t const position = position_of(*at);
      if (position != reached && (items.size() >= what.most || looked_at >= most_entries)) {
        answer.reached = reached;
        return answer;
      }
      ++looked_at;
      reached = position;
      if (!is_wanted(*at)) continue;
      version const& one = *version_of(*at);
      if (!what.is_whole && !what.range.contains(one.token)) continue;
      if (!what.key_prefix.empty() && !std::string_view{one.name}.starts_with(what.key_prefix))
        continue;
      if (what.since && time_of(*at) < *what.since) continue;
      items.push_back(put(*at));
      answer.bytes += one.bytes;
    }
    answer.nothing_new = items.empty();
    return answer;
  }
  static std::uint64_t position_of(pointer const& one) noexcept { return one->lsn; }
  static std::uint64_t position_of(happened const& one) noexcept { return one.lsn; }
  static wall_time time_of(pointer const& one) noexcept { return one->at; }
  static wall_time time_of(happened const& one) noexcept { return one.at; }

  // While it is made of others: an entry of their logs, in its order.
  void receive(pointer const& one) {
    if (!one->is_latest) return;
    log_.push_back(one);
    index_.make_room(1);
    index_.insert(one);
    bytes_ += one->bytes;
  }
  void begin_as(memory_partition const& parent, std::size_t parts) {
    lsn_ = parent.lsn_;
    forgotten_.clear();
    for (auto const& part : parent.forgotten_)
      if (auto const own = intersection(part.range, who.range)) remember_less({*own, part.up_to});
    now_ = parent.now_;
    refilled_at_ = parent.refilled_at_;
    is_metered_ = parent.is_metered_;
    left_ = parent.left_ / static_cast<double>(parts);
    std::make_heap(ends_.begin(), ends_.end(), later_end);
  }

  version_index<version> index_{};
  std::vector<pointer> log_{};
  std::size_t superseded_ = 0;
  std::deque<happened> history_{};
  std::vector<forgotten_part> forgotten_;  // of the history, in token order
  std::vector<end_of_life> ends_{};
  std::uint64_t lsn_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t full_again_at_ = 0;
  std::uint64_t operations_ = 0;
  wall_time now_{};

  bool is_metered_ = false;
  double left_ = 0;  // request units; below 0 what was used ahead
  wall_time refilled_at_{};
};

}  // namespace keyspan::detail
