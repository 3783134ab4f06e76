// keyspan/lease/plan.hpp — who is to have which lease: the moves that make the shares even. Hosts
// make the same plan; by count, those who act at different times only leave the rest of it.
//
//   free leases, then surplus of those who have too many:   a b | c d e | f
//                                                           \__/ \___/ \_/
//   members who have too few, in the order of their keys:    M1    M2   M3
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/lease/session_id.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace keyspan {

/// Who owns a lease that nobody owns: it may be taken.
inline constexpr std::uint32_t free_lease = ~std::uint32_t{0};

/// Who owns a lease that stays where it is, whoever has it: of somebody dead who may still be
/// active, of a place that is kept, paused. It counts for nobody.
inline constexpr std::uint32_t kept_lease = free_lease - 1;

/// Somebody who may own leases.
struct planned_member {
  session_id session{};     ///< what tells members apart, and what their order goes by
  std::uint32_t least = 0;  ///< has at least so many, where there are enough
  std::uint32_t most = 0;   ///< has at most so many, but never fewer than `least`; 0 is no bound
  bool takes = true;        ///< false: keeps what it has and is given nothing
  bool leaves = false;      ///< gives everything away and is given nothing
  std::uint64_t zone = 0;   ///< where it is; 0 is nowhere

  friend constexpr bool operator==(planned_member const&, planned_member const&) = default;
};

/// A lease, and who has it.
struct planned_lease {
  std::uint64_t id = 0;              ///< a hash of its name: what the order of leases goes by
  std::uint32_t owner = free_lease;  ///< index of a member, `free_lease` or `kept_lease`
  std::uint64_t epoch = 0;           ///< of leases that could move, those of low epochs do
  double weight = 1;                 ///< its work, in any unit: bytes or items a second
  std::uint64_t zone = 0;            ///< whose members it goes to first; 0 is nobody's

  friend constexpr bool operator==(planned_lease const&, planned_lease const&) = default;
};

/// What is to be even.
enum class balance_by : std::uint8_t { count, weight };

/// How to plan. The same on every host.
struct plan_options {
  balance_by by = balance_by::count;
  std::size_t most_moves_of_donor = ~std::size_t{0};  ///< that one member gives away in a plan
  /// Another one for each set of leases, so that it is not always the same members who have one
  /// more.
  std::uint64_t seed = 0;

  friend constexpr bool operator==(plan_options const&, plan_options const&) = default;
};

/// Lease `lease` goes from one member, or from nobody, to another.
struct plan_move {
  std::uint32_t lease = 0;  ///< an index
  std::uint32_t from = free_lease;
  std::uint32_t to = 0;

  friend constexpr bool operator==(plan_move const&, plan_move const&) = default;
};

/// Makes plans, and keeps the room for them: once it has made one as large, it allocates nothing.
class planner {
 public:
  /// The moves that are to be made. They stay valid until the next plan.
  ///
  /// Members who take and do not leave share all leases that are free, theirs, or of somebody who
  /// leaves. Where they have no room for all, free ones come first and the rest stays as it is.
  ///
  /// By count: no two members differ by more than one, but for their bounds, with the fewest moves
  /// that do it. Members who have one more already keep it. Of those who have too many, leases go
  /// that are not of their zone, and then those of the lowest epochs. A lease goes to somebody of
  /// its zone who has too few, if there is one. A balanced state has an empty plan; and after any
  /// part of the moves, in any order, with higher epochs of what moved, the plan is the rest.
  ///
  /// By weight: weights are rounded to powers of the square root of 2, so that those who measure a
  /// little more or less plan the same, and no lease counts for less than a 32nd of the average.
  /// What is free goes heaviest first to the least loaded. A lease moves only from one who is
  /// heavier than the other by a tenth, and if the heavier of the two loads falls by more than the
  /// rounding is worth. Nobody both gives and is given in one plan, so that whatever part of it is
  /// made the sorted loads fall, but for moves that a bound asks for: repeated plans come to an
  /// end.
  ///
  /// Requires that sessions differ, that ids differ, that owners are members, and that weights are
  /// finite and not below zero where it is by weight.
  /// Complexity: linear, and what is given away is sorted; by weight, what its owners have, too.
  [[nodiscard]] std::span<plan_move const> plan(std::span<planned_member const> members,
                                                std::span<planned_lease const> leases,
                                                plan_options const& options = {}) {
    members_ = members;
    leases_ = leases;
    options_ = options;
    moves_.clear();
    too_heavy_.clear();
    without_room_ = 0;
    look_at_members();
    look_at_leases();
    if (options.by == balance_by::weight && !sharers_.empty()) {
      plan_by_weight();
    } else {
      plan_by_count();
    }
    return moves_;
  }

  /// How many leases the last plan left with nobody, or with somebody who leaves, because no member
  /// has room for them.
  std::size_t without_room() const noexcept { return without_room_; }

  /// The leases of the last plan by weight, heaviest first, that are heavier each than an even
  /// share of what is left: whoever has one has too much, and only to split it helps.
  std::span<std::uint32_t const> too_heavy() const noexcept { return too_heavy_; }

 private:
  static constexpr std::uint32_t nobody = free_lease;
  static constexpr std::uint32_t unbounded = ~std::uint32_t{0};

  // A lease that could move. Lower ranks, and then lower ids, go first.
  struct entry {
    std::uint64_t rank;
    std::uint64_t id;
    std::uint32_t lease;
    std::uint32_t to;

    friend bool operator<(entry const& a, entry const& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.id < b.id;
    }
  };

  struct seat {
    std::uint64_t key = 0;     // the order of members
    std::uint32_t member = 0;  // an index
    std::uint32_t count = 0;   // of the leases it has
    std::uint32_t quota = 0;   // how many it is to have
    std::uint32_t least = 0;   // the bounds, in order
    std::uint32_t most = 0;
    std::uint32_t first = 0;  // its entries
    std::uint32_t end = 0;
    std::uint32_t skipped = 0;  // entries before this one are heavier than what was asked for
    std::uint32_t next = 0;     // entries before this one were skipped or have moved
    bool is_sorted = false;
    bool gave = false;
    bool was_given = false;
    std::uint64_t load = 0;
    std::uint64_t zone = 0;
  };

  // One-to-one, so that different sessions have different keys.
  static constexpr std::uint64_t mixed(std::uint64_t a) noexcept {
    a = (a ^ a >> 32) * 0xD6E8'FEB8'6659'FD93;
    a = (a ^ a >> 32) * 0xD6E8'FEB8'6659'FD93;
    return a ^ a >> 32;
  }

  // ---- what there is ----

  void look_at_members() {
    expects(members_.size() < kept_lease && leases_.size() < kept_lease,
            "members and leases are counted by 32 bits");
    sharers_.clear();
    leavers_.clear();
    counts_.assign(members_.size(), 0);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      planned_member const& one = members_[i];
      if (!one.leaves && !one.takes) continue;
      seat made;
      made.key = mixed(one.session.value ^ options_.seed);
      made.member = static_cast<std::uint32_t>(i);
      if (!one.leaves) {
        made.least = one.least;
        made.most = one.most == 0 ? unbounded : (std::max)(one.most, one.least);
        made.zone = one.zone;
      }
      (one.leaves ? leavers_ : sharers_).push_back(made);
    }
    auto const by_key = [](seat const& a, seat const& b) { return a.key < b.key; };
    std::sort(sharers_.begin(), sharers_.end(), by_key);
    std::sort(leavers_.begin(), leavers_.end(), by_key);
    auto const equal = [](seat const& a, seat const& b) { return a.key == b.key; };
    expects(std::adjacent_find(sharers_.begin(), sharers_.end(), equal) == sharers_.end() &&
                std::adjacent_find(leavers_.begin(), leavers_.end(), equal) == leavers_.end(),
            "the sessions of members differ");
  }

  void look_at_leases() {
    free_ = 0;
    for (planned_lease const& one : leases_) {
      if (one.owner < counts_.size()) {
        ++counts_[one.owner];
      } else {
        expects(one.owner == free_lease || one.owner == kept_lease,
                "the owner of a lease is a member");
        free_ += one.owner == free_lease ? 1 : 0;
      }
    }
    shared_ = free_;
    for (seat& one : sharers_) shared_ += one.count = counts_[one.member];
    for (seat& one : leavers_) shared_ += one.count = counts_[one.member];
  }

  // ---- entries, in groups: the free ones, those of members who leave, those of others ----

  void make_room_for(seat& one) {
    one.first = one.end = room_;
    room_ += one.count;
    seat_of_[one.member] = &one;
  }

  // Of what is free, of who leaves and of those sharers for whom `gives` holds.
  template <class Gives>
  void group_entries(Gives gives) {
    room_ = static_cast<std::uint32_t>(free_);
    seat_of_.assign(members_.size(), nullptr);
    for (seat& one : leavers_) make_room_for(one);
    for (seat& one : sharers_)
      if (gives(one)) make_room_for(one);
    entries_.resize(room_);
    if (room_ == 0) return;
    std::uint32_t of_free = 0;
    for (std::size_t i = 0; i < leases_.size(); ++i) {
      planned_lease const& one = leases_[i];
      if (one.owner == free_lease) {
        entries_[of_free++] = entry_of(i, heaviness(i));
      } else if (one.owner < members_.size() && seat_of_[one.owner] != nullptr) {
        seat& holder = *seat_of_[one.owner];
        bool const stays_rather = one.zone == 0 || one.zone == holder.zone;
        std::uint64_t const moved = (std::min)(one.epoch, (std::uint64_t{1} << 54) - 1);
        entries_[holder.end++] =
            entry_of(i, heaviness(i) | (stays_rather ? std::uint64_t{1} << 54 : 0) | moved);
      }
    }
  }

  entry entry_of(std::size_t lease, std::uint64_t rank) const {
    return {rank, leases_[lease].id, static_cast<std::uint32_t>(lease), nobody};
  }

  // The upper part of a rank by weight: less for what is heavier.
  std::uint64_t heaviness(std::size_t lease) const {
    if (options_.by == balance_by::count) return 0;
    return std::uint64_t{255 - step_of(units_[lease])} << 55;
  }
  // Two bits behind the first one tell a power of 2 from its neighbours.
  static unsigned step_of(std::uint64_t weight) {
    auto const width = static_cast<unsigned>(std::bit_width(weight));
    return width * 4 + static_cast<unsigned>(weight >> (width - 3) & 3);
  }

  auto at(std::uint32_t entry_index) {
    return entries_.begin() + static_cast<std::ptrdiff_t>(entry_index);
  }

  // Sorts the first `count` of these to the front.
  void bring_forward(std::uint32_t first, std::uint32_t end, std::uint32_t count) {
    if (count == 0) return;
    if (count < end - first) std::nth_element(at(first), at(first + count), at(end));
    if (count < 1024) {
      std::sort(at(first), at(first + count));
    } else {
      sort_many(first, first + count);
    }
  }

  // Ids are hashes: by their first bits many of one rank fall apart into heaps of a few.
  void sort_many(std::uint32_t first, std::uint32_t end) {
    auto const differs = [rank = entries_[first].rank](entry const& one) {
      return one.rank != rank;
    };
    if (std::any_of(at(first), at(end), differs)) {
      std::sort(at(first), at(end));
      return;
    }
    auto const bits = static_cast<unsigned>(std::bit_width(end - first)) - 4;
    heaps_.assign((std::size_t{1} << bits) + 1, 0);
    unsorted_.assign(at(first), at(end));
    for (entry const& one : unsorted_) ++heaps_[(one.id >> (64 - bits)) + 1];
    for (std::size_t i = 1; i < heaps_.size(); ++i) heaps_[i] += heaps_[i - 1];
    for (entry const& one : unsorted_) entries_[first + heaps_[one.id >> (64 - bits)]++] = one;
    std::uint32_t begin = 0;  // each heap's end has become the begin of the next
    for (std::size_t i = 0; i + 1 < heaps_.size(); ++i) {
      std::sort(at(first + begin), at(first + heaps_[i]));
      begin = heaps_[i];
    }
  }

  void add_move(std::uint32_t lease, std::uint32_t to) {
    std::uint32_t const from = leases_[lease].owner;
    if (from != free_lease && given_[from]++ >= options_.most_moves_of_donor) return;
    moves_.push_back({.lease = lease, .from = from, .to = to});
  }

  // ---- by count ----

  void plan_by_count() {
    share_out_quotas();
    std::uint64_t wanted = 0;
    for (seat const& one : sharers_)
      if (one.count < one.quota) wanted += one.quota - one.count;
    std::uint64_t homeless = free_;
    for (seat const& one : leavers_) homeless += one.count;
    without_room_ = static_cast<std::size_t>(homeless - (std::min)(homeless, wanted));
    if (wanted == 0) return;
    group_entries([](seat const& one) { return one.count > one.quota; });
    gather_pool(wanted);
    receivers_.clear();
    bool has_zones = false;
    for (seat const& one : sharers_) {
      if (one.count >= one.quota) continue;
      receivers_.push_back({one.zone, one.member, one.quota - one.count});
      has_zones = has_zones || one.zone != 0;
    }
    if (has_zones) match_zones();
    std::size_t next = 0;
    given_.assign(members_.size(), 0);
    for (pool_part const& part : pool_) {
      for (entry* one = entries_.data() + part.first; one != entries_.data() + part.end; ++one) {
        if (one->to == nobody) {
          while (receivers_[next].wanted == 0) ++next;
          --receivers_[next].wanted;
          one->to = receivers_[next].member;
        }
        add_move(one->lease, one->to);
      }
    }
  }

  // How many each sharer is to have: as even as the bounds let them be.
  void share_out_quotas() {
    std::uint64_t least = 0;
    for (seat const& one : sharers_) least += one.least;
    bool const is_short = least >= shared_;  // too few for what each has at least
    auto const bottom = [&](seat const& one) { return is_short ? 0 : one.least; };
    auto const top = [&](seat const& one) { return is_short ? one.least : one.most; };
    auto const quota = [&](seat const& one, std::uint32_t level) {
      return (std::min)((std::max)(level, bottom(one)), top(one));
    };
    auto const sum = [&](std::uint32_t level) {
      std::uint64_t added = 0;
      for (seat const& one : sharers_) added += quota(one, level);
      return added;
    };
    // The highest level at which there is enough for all.
    std::uint32_t level = 0;
    for (std::uint32_t step = std::bit_floor(static_cast<std::uint32_t>(shared_)); step > 0;
         step /= 2)
      if (sum(level + step) <= shared_) level += step;
    std::uint64_t left = shared_ - sum(level);
    for (seat& one : sharers_) one.quota = quota(one, level);
    // Some have one more: first those who have it.
    for (bool const has : {true, false}) {
      for (seat& one : sharers_) {
        if (left == 0) return;
        if (one.quota != level || top(one) == level) continue;
        if ((one.count > level) != has) continue;
        ++one.quota;
        --left;
      }
    }
  }

  // The pool: what is given away, in the order in which it is. No more than is wanted.
  void gather_pool(std::uint64_t wanted) {
    pool_.clear();
    auto const add = [&](std::uint32_t first, std::uint32_t end, std::uint32_t surplus) {
      auto const count = static_cast<std::uint32_t>((std::min)(std::uint64_t{surplus}, wanted));
      bring_forward(first, end, count);
      if (count > 0) pool_.push_back({first, first + count});
      wanted -= count;
    };
    auto const free = static_cast<std::uint32_t>(free_);
    add(0, free, free);
    for (seat const& one : leavers_) add(one.first, one.end, one.count);
    for (seat const& one : sharers_)
      if (one.count > one.quota) add(one.first, one.end, one.count - one.quota);
  }

  void match_zones() {
    // Receivers of one zone stand together, in the order of their keys.
    by_zone_.resize(receivers_.size());
    for (std::uint32_t i = 0; i < by_zone_.size(); ++i) by_zone_[i] = i;
    std::sort(by_zone_.begin(), by_zone_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return receivers_[a].zone != receivers_[b].zone ? receivers_[a].zone < receivers_[b].zone
                                                      : a < b;
    });
    auto const zone_of = [&](std::uint32_t i) { return receivers_[i].zone; };
    zone_begin_.assign(by_zone_.size(), 0);  // how far each zone has come, at its first receiver
    for (pool_part const& part : pool_) {
      for (std::uint32_t i = part.first; i < part.end; ++i) {
        std::uint64_t const zone = leases_[entries_[i].lease].zone;
        if (zone == 0) continue;
        auto const found = std::ranges::lower_bound(by_zone_, zone, {}, zone_of);
        auto const first = static_cast<std::size_t>(found - by_zone_.begin());
        if (first == by_zone_.size()) continue;
        std::uint32_t& come = zone_begin_[first];
        for (; first + come < by_zone_.size(); ++come) {
          receiver& one = receivers_[by_zone_[first + come]];
          if (one.zone != zone) break;
          if (one.wanted == 0) continue;
          --one.wanted;
          entries_[i].to = one.member;
          break;
        }
      }
    }
  }

  // ---- by weight ----

  // 1 and the square root of 2. The latter has few digits, so that halves of it are exact.
  static constexpr std::uint64_t one_unit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t root_unit = one_unit / 128 * 181;

  void plan_by_weight() {
    std::uint64_t const level = weigh();
    sort_by_zone();
    group_entries([](seat const&) { return true; });
    for (seat& one : sharers_) one.next = one.skipped = one.first;
    given_.assign(members_.size(), 0);
    build_tree();
    deal_out(level);
    even_out(level);
  }

  bool is_shared(planned_lease const& one) const {
    return one.owner == free_lease || (one.owner < members_.size() &&
                                       (members_[one.owner].takes || members_[one.owner].leaves));
  }

  // Whole numbers for weights, so that sums are the same in every order. Returns an even share of
  // all that is not too heavy.
  std::uint64_t weigh() {
    double heaviest = 0;
    for (planned_lease const& one : leases_) {
      expects(one.weight >= 0 && one.weight <= (std::numeric_limits<double>::max)(),
              "a weight is finite and not below zero");
      if (is_shared(one)) heaviest = (std::max)(heaviest, one.weight);
    }
    units_.resize(leases_.size());
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < leases_.size(); ++i)
      if (is_shared(leases_[i])) total += units_[i] = rounded(leases_[i].weight, heaviest);
    std::uint64_t const average = shared_ > 0 ? total / shared_ : 0;
    std::uint64_t const lightest = (std::max)(std::bit_floor(average / 16), std::uint64_t{4});
    total = 0;
    loads_.assign(members_.size(), 0);
    for (std::size_t i = 0; i < leases_.size(); ++i) {
      if (!is_shared(leases_[i])) continue;
      units_[i] = (std::max)(units_[i], lightest);
      total += units_[i];
      if (leases_[i].owner != free_lease) loads_[leases_[i].owner] += units_[i];
    }
    for (seat& one : sharers_) one.load = loads_[one.member];
    return even_share(total);
  }

  // The nearest power of the square root of 2, where the power of 2 below the heaviest is 2^32.
  static std::uint64_t rounded(double weight, double heaviest) {
    auto const bits = std::bit_cast<std::uint64_t>(weight);
    auto const below = (std::bit_cast<std::uint64_t>(heaviest) >> 52) - (bits >> 52);
    if (below > 32 || bits >> 52 == 0) return 0;
    std::uint64_t const behind_point = bits & 0x000F'FFFF'FFFF'FFFF;
    constexpr std::uint64_t first_quarter = 0x3'06FE'0A31'B715;  // 2^(1/4)
    constexpr std::uint64_t third_quarter = 0xA'E89F'995A'D3AD;  // 2^(3/4)
    std::uint64_t const step = behind_point < first_quarter   ? one_unit
                               : behind_point < third_quarter ? root_unit
                                                              : 2 * one_unit;
    return step >> below;
  }

  // Weights of one step are equal, so those too heavy are all of some steps. Whatever is set apart
  // lowers the share of the others.
  std::uint64_t even_share(std::uint64_t total) {
    std::array<std::uint64_t, 256> of_step{};
    std::array<std::uint64_t, 256> weight_of_step{};
    for (std::size_t i = 0; i < leases_.size(); ++i) {
      if (!is_shared(leases_[i])) continue;
      ++of_step[step_of(units_[i])];
      weight_of_step[step_of(units_[i])] = units_[i];
    }
    std::uint64_t sharers = sharers_.size();
    std::uint64_t bound = ~std::uint64_t{0};
    for (std::size_t step = of_step.size(); step-- > 0;) {
      std::uint64_t const weight = weight_of_step[step];
      for (; of_step[step] > 0 && weight > total / sharers; --of_step[step], --sharers) {
        total -= weight;
        bound = weight;
      }
    }
    for (std::size_t i = 0; i < leases_.size(); ++i)
      if (is_shared(leases_[i]) && units_[i] >= bound)
        too_heavy_.push_back(static_cast<std::uint32_t>(i));
    std::sort(too_heavy_.begin(), too_heavy_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return units_[a] != units_[b] ? units_[a] > units_[b] : leases_[a].id < leases_[b].id;
    });
    return total / sharers;
  }

  // A tournament of sharers: the one that is to be given next, of all or of one zone. The seats
  // stand by zone, then by key.
  void sort_by_zone() {
    std::sort(sharers_.begin(), sharers_.end(), [](seat const& a, seat const& b) {
      return a.zone != b.zone ? a.zone < b.zone : a.key < b.key;
    });
  }

  bool comes_before(std::uint32_t a, std::uint32_t b) const {
    if (a == nobody || b == nobody) return b == nobody && a != nobody;
    seat const& one = sharers_[a];
    seat const& other = sharers_[b];
    bool const needs = one.count < one.least;
    if (needs != (other.count < other.least)) return needs;
    if (one.load != other.load) return one.load < other.load;
    if (one.count != other.count) return one.count < other.count;
    return one.key < other.key;
  }
  std::uint32_t better(std::uint32_t a, std::uint32_t b) const {
    return comes_before(b, a) ? b : a;
  }

  std::uint32_t leaf(std::uint32_t i) const {
    seat const& one = sharers_[i];
    return one.gave || one.count >= one.most ? nobody : i;
  }
  void build_tree() {
    auto const size = static_cast<std::uint32_t>(sharers_.size());
    tree_.resize(std::size_t{2} * size);
    for (std::uint32_t i = 0; i < size; ++i) tree_[size + i] = leaf(i);
    for (std::uint32_t i = size; i-- > 1;) tree_[i] = better(tree_[2 * i], tree_[2 * i + 1]);
  }
  void update_tree(std::uint32_t i) {
    std::size_t place = sharers_.size() + i;
    tree_[place] = leaf(i);
    while ((place /= 2) > 0) tree_[place] = better(tree_[2 * place], tree_[2 * place + 1]);
  }
  std::uint32_t next_of(std::size_t first, std::size_t end) const {
    std::uint32_t found = nobody;
    for (first += sharers_.size(), end += sharers_.size(); first < end; first /= 2, end /= 2) {
      if (first % 2 == 1) found = better(found, tree_[first++]);
      if (end % 2 == 1) found = better(found, tree_[--end]);
    }
    return found;
  }
  std::uint32_t next_receiver() const { return tree_[1]; }
  std::uint32_t next_receiver_of(std::uint64_t zone) const {
    auto const found = std::ranges::equal_range(sharers_, zone, {}, &seat::zone);
    return next_of(static_cast<std::size_t>(found.begin() - sharers_.begin()),
                   static_cast<std::size_t>(found.end() - sharers_.begin()));
  }

  void give(std::uint32_t lease, std::uint32_t to) {
    seat& one = sharers_[to];
    one.load += units_[lease];
    ++one.count;
    one.was_given = true;
    update_tree(to);
    add_move(lease, one.member);
  }

  // What is free, what those who leave have, and what is above somebody's bound.
  void deal_out(std::uint64_t level) {
    std::uint64_t room = 0;
    for (seat const& one : sharers_) room += one.most - (std::min)(one.most, one.count);
    pool_.clear();
    auto const add = [&](std::uint32_t first, std::uint32_t end, std::uint32_t surplus) {
      auto const count = static_cast<std::uint32_t>((std::min)(std::uint64_t{surplus}, room));
      bring_forward(first, end, count);
      if (count > 0) pool_.push_back({first, first + count});
      room -= count;
      without_room_ += surplus - count;
    };
    auto const free = static_cast<std::uint32_t>(free_);
    add(0, free, free);
    for (seat const& one : leavers_) add(one.first, one.end, one.count);
    std::size_t const homeless = without_room_;
    for (std::uint32_t i = 0; i < sharers_.size(); ++i) {
      seat& one = sharers_[i];
      if (one.count <= one.most) continue;
      std::uint32_t const before = static_cast<std::uint32_t>(pool_.size());
      add(one.first, one.end, one.count - one.most);
      if (pool_.size() == before) continue;
      std::uint32_t const gone = pool_.back().end - one.first;
      for (std::uint32_t k = one.first; k < pool_.back().end; ++k)
        one.load -= units_[entries_[k].lease];
      one.count -= gone;
      one.next = one.skipped = one.first + gone;
      update_tree(i);
    }
    without_room_ = homeless;
    dealt_.clear();
    for (pool_part const& part : pool_)
      for (std::uint32_t k = part.first; k < part.end; ++k)
        dealt_.push_back({heaviness(entries_[k].lease), entries_[k].id, entries_[k].lease, nobody});
    std::sort(dealt_.begin(), dealt_.end());
    for (entry const& one : dealt_) {
      std::uint32_t to = next_receiver();
      std::uint64_t const zone = leases_[one.lease].zone;
      if (zone != 0 && sharers_[to].zone != zone && !needs(to)) {
        std::uint32_t const local = next_receiver_of(zone);
        if (local != nobody && sharers_[local].load + units_[one.lease] <= level + level / 20)
          to = local;
      }
      give(one.lease, to);
    }
  }

  bool needs(std::uint32_t i) const { return sharers_[i].count < sharers_[i].least; }

  // Whether the heavier of the two loads would fall by more than a twentieth if they became even.
  static bool is_uneven(std::uint64_t from, std::uint64_t to) {
    return from > to && from - to > from / 10;
  }
  // Whether it falls by so much that it is worth the move: by more than a step of the scale.
  static bool is_worth_it(std::uint64_t from, std::uint64_t to, std::uint64_t weight) {
    std::uint64_t const one_step = weight * 75 / 256;  // 1 - 1 / sqrt(2)
    return is_uneven(from, to) && from - to > weight + one_step;
  }

  void even_out(std::uint64_t level) {
    donors_.clear();
    for (std::uint32_t i = 0; i < sharers_.size(); ++i)
      if (!sharers_[i].was_given) donors_.push_back({sharers_[i].load, sharers_[i].key, i});
    std::make_heap(donors_.begin(), donors_.end());
    while (!donors_.empty()) {
      std::pop_heap(donors_.begin(), donors_.end());
      std::uint32_t const from = donors_.back().seat;
      donors_.pop_back();
      seat& donor = sharers_[from];
      if (donor.was_given || donor.count <= donor.least) continue;
      std::uint32_t to = next_receiver();
      if (to == nobody) return;
      bool const must = needs(to);
      if (!must && !is_uneven(donor.load, sharers_[to].load)) continue;
      std::uint64_t const above = donor.load > level ? donor.load - level : 0;
      std::uint64_t const below = level > sharers_[to].load ? level - sharers_[to].load : 0;
      std::uint32_t const taken = take_from(donor, (std::min)(above, below));
      std::uint32_t const lease = entries_[taken].lease;
      std::uint64_t const weight = units_[lease];
      if (!must && !is_worth_it(donor.load, sharers_[to].load, weight)) continue;
      std::uint64_t const zone = leases_[lease].zone;
      if (!must && zone != 0 && sharers_[to].zone != zone) {
        std::uint32_t const local = next_receiver_of(zone);
        if (local != nobody && local != from &&
            is_worth_it(donor.load, sharers_[local].load, weight))
          to = local;
      }
      donor.load -= weight;
      --donor.count;
      if (!donor.gave) {
        donor.gave = true;
        update_tree(from);
      }
      give(lease, to);
      donors_.push_back({donor.load, donor.key, from});
      std::push_heap(donors_.begin(), donors_.end());
    }
  }

  // Its heaviest lease that is no heavier than this; if there is none, its lightest one. What was
  // too heavy once is passed by, for nobody is asked for more later than before.
  std::uint32_t take_from(seat& donor, std::uint64_t weight) {
    if (!donor.is_sorted) std::sort(at(donor.next), at(donor.end));
    donor.is_sorted = true;
    while (donor.next < donor.end && units_[entries_[donor.next].lease] > weight)
      entries_[donor.skipped++] = entries_[donor.next++];
    return donor.next < donor.end ? donor.next++ : --donor.skipped;
  }

  struct pool_part {
    std::uint32_t first;
    std::uint32_t end;
  };
  struct loaded {
    std::uint64_t load;
    std::uint64_t key;
    std::uint32_t seat;

    friend bool operator<(loaded const& a, loaded const& b) {
      return a.load != b.load ? a.load < b.load : a.key < b.key;
    }
  };
  struct receiver {
    std::uint64_t zone;
    std::uint32_t member;
    std::uint32_t wanted;
  };

  std::span<planned_member const> members_{};
  std::span<planned_lease const> leases_{};
  plan_options options_{};
  std::size_t without_room_ = 0;
  std::uint64_t free_ = 0;
  std::uint64_t shared_ = 0;  // leases that are shared out
  std::uint32_t room_ = 0;
  std::vector<plan_move> moves_{};
  std::vector<std::uint32_t> too_heavy_{};
  std::vector<seat> sharers_{};
  std::vector<seat> leavers_{};
  std::vector<seat*> seat_of_{};
  std::vector<std::uint32_t> counts_{};
  std::vector<std::size_t> given_{};
  std::vector<entry> entries_{};
  std::vector<entry> unsorted_{};
  std::vector<std::uint32_t> heaps_{};
  std::vector<pool_part> pool_{};
  std::vector<receiver> receivers_{};
  std::vector<std::uint32_t> by_zone_{};
  std::vector<std::uint32_t> zone_begin_{};
  std::vector<std::uint64_t> units_{};
  std::vector<std::uint64_t> loads_{};
  std::vector<entry> dealt_{};
  std::vector<std::uint32_t> tree_{};
  std::vector<loaded> donors_{};
};

}  // namespace keyspan
