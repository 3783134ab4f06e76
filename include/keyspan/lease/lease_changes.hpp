// keyspan/lease/lease_changes.hpp — what is still to be done where ranges were split or merged: any
// host that sees the records can do it, and doing it twice does no harm.
//
//   [=======)          ended, epoch 4, children [===) [===)
//   [===) [===)        created once all their parents have ended, where those stood, in epoch 4
//                      the parent is removed once they are somebody's: in epoch 5
#pragma once

#include <keyspan/feed/cursor.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// The indices of records in the order of their ranges, so that what overlaps a range is found
// without looking at all.
template <token Token>
std::vector<std::size_t> by_range(std::span<lease_record<Token> const> records) {
  std::vector<std::size_t> order(records.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return records[a].range < records[b].range; });
  return order;
}

// The record of exactly this range.
template <token Token>
lease_record<Token> const* record_of(token_range<Token> const& range,
                                     std::span<lease_record<Token> const> records,
                                     std::span<std::size_t const> order) {
  auto const place = std::lower_bound(
      order.begin(), order.end(), range,
      [&](std::size_t i, token_range<Token> const& wanted) { return records[i].range < wanted; });
  if (place == order.end() || records[*place].range != range) return nullptr;
  return &records[*place];
}

// Adds what a parent knows of a child's range.
template <token Token>
void inherit(lease_record<Token>& child, lease_record<Token> const& parent) {
  // Where somebody wants it to be read from anew, that has not come to pass yet.
  auto const& from = parent.reset ? *parent.reset : parent.position;
  for (auto const& part : from.parts)
    if (auto const shared = intersection(part.range, child.range))
      child.position.parts.push_back({*shared, part.from});
  child.parents.push_back(parent.range);
  if (child.paused.empty()) child.paused = parent.paused;
  child.facts.epoch = (std::max)(child.facts.epoch, parent.facts.epoch);
  child.weight +=
      parent.weight / static_cast<double>((std::max)(parent.children.size(), std::size_t{1}));
}

template <token Token>
bool covers(std::vector<cursor<Token>>& parts, token_range<Token> const& range) {
  std::sort(parts.begin(), parts.end(),
            [](auto const& a, auto const& b) { return a.range < b.range; });
  upper_end<Token> covered = range.lower();
  for (auto const& part : parts) {
    if (covered != part.range.lower()) return false;
    covered = part.range.upper();
  }
  return covered == range.upper();
}

// Of each record the stretches that records of a higher epoch cover as well, in token order, none
// of them beginning where another one ends. They may reach beyond the record's own range.
template <token Token>
std::vector<std::vector<token_range<Token>>> covered_by_later(
    std::span<lease_record<Token> const> records, std::span<std::size_t const> order) {
  std::vector<std::vector<token_range<Token>>> stretches(records.size());
  auto const look_at = [&](std::size_t one, std::size_t other) {
    if (records[one].facts.epoch < records[other].facts.epoch)
      stretches[one].push_back(records[other].range);
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1;
         j < order.size() && records[order[j]].range.lower() < records[order[i]].range.upper();
         ++j) {
      look_at(order[i], order[j]);
      look_at(order[j], order[i]);
    }
  }
  for (auto& of_one : stretches) {
    std::sort(of_one.begin(), of_one.end());
    std::vector<token_range<Token>> joined;
    for (auto const& range : of_one) {
      if (joined.empty() || joined.back().upper() < range.lower()) {
        joined.push_back(range);
      } else if (joined.back().upper() < range.upper()) {
        joined.back() = {joined.back().lower(), range.upper()};
      }
    }
    of_one = std::move(joined);
  }
  return stretches;
}

// Whether a token of the range is in one of these stretches, which are in token order.
template <token Token>
bool touches(std::vector<token_range<Token>> const& stretches, token_range<Token> const& range) {
  auto const place = std::partition_point(
      stretches.begin(), stretches.end(),
      [&](token_range<Token> const& one) { return !(range.lower() < one.upper()); });
  return place != stretches.end() && place->lower() < range.upper();
}

// That an ended record names a range as its child.
template <token Token>
struct descent {
  token_range<Token> child;
  std::size_t parent;  // its place among the records in the order of their ranges

  friend bool operator==(descent const&, descent const&) = default;
  friend auto operator<=>(descent const&, descent const&) = default;
};

}  // namespace detail

/// Whether a record is of a range that is to have no lease: it has ended, and nothing came of it.
/// Where a child cannot be made any more, because a range that it was to cover was split or merged
/// otherwise meanwhile, such a record in its place makes sure that nobody makes it, and its parents
/// can be opened again.
template <token Token>
[[nodiscard]] bool is_void(lease_record<Token> const& record) {
  return record.facts.phase == lease_phase::ended && record.children.empty();
}

/// The leases that are to be created, in the order of their ranges: those which ended ones name as
/// their children, which have no record, and all parents of which have ended. Each stands where its
/// parents stood, piece by piece, in the latest of their epochs, paused where one of them was, and
/// is nobody's. Its stamp is the creator's to choose. A parent whose part of the child later leases
/// cover is none: the child has been there, and has ended since. Complexity: that of sorting the
/// records and their children, and linear in the pairs of records that overlap.
template <token Token>
[[nodiscard]] std::vector<lease_record<Token>> leases_to_create(
    std::span<lease_record<Token> const> records) {
  auto const order = detail::by_range(records);
  auto const later = detail::covered_by_later<Token>(records, order);
  std::vector<detail::descent<Token>> descents;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const& record = records[order[i]];
    if (record.facts.phase != lease_phase::ended) continue;
    for (auto const& range : record.children) {
      // One of the range from before has to go first: they would have one id.
      if (detail::record_of<Token>(range, records, order) != nullptr) continue;
      auto const own = intersection(range, record.range);
      if (own && !detail::touches(later[order[i]], *own)) descents.push_back({range, i});
    }
  }
  std::sort(descents.begin(), descents.end());
  descents.erase(std::unique(descents.begin(), descents.end()), descents.end());
  std::vector<lease_record<Token>> made;
  for (std::size_t i = 0; i < descents.size();) {
    auto const range = descents[i].child;
    lease_record<Token> child{range};
    child.position = records[order[descents[i].parent]].position;
    child.position.parts.clear();
    for (; i < descents.size() && descents[i].child == range; ++i)
      detail::inherit(child, records[order[descents[i].parent]]);
    if (detail::covers(child.position.parts, range)) made.push_back(std::move(child));
  }
  return made;
}

/// Which of the leases are of before, and to be removed, as indices that rise: ended ones whose
/// whole range later ones cover, and open ones a part of whose range a later one covers. Later is
/// what has a higher epoch: what comes of a lease has its epoch, and a higher one once it was
/// taken. So what is of before stays so, and a list that is stale removes nothing that is needed.
/// Open ones are of before where a store has done a write so late that what it was for had long
/// ended; they are nobody's to take. Complexity: that of sorting the records, and linear in the
/// pairs of them that overlap.
template <token Token>
[[nodiscard]] std::vector<std::size_t> leases_to_remove(
    std::span<lease_record<Token> const> records) {
  std::vector<std::size_t> done;
  auto const later = detail::covered_by_later<Token>(records, detail::by_range(records));
  for (std::size_t i = 0; i < records.size(); ++i) {
    bool const is_covered = std::any_of(later[i].begin(), later[i].end(), [&](auto const& stretch) {
      return stretch.contains(records[i].range);
    });
    bool const is_open = records[i].facts.phase == lease_phase::open;
    if (is_covered || (is_open && !later[i].empty())) done.push_back(i);
  }
  return done;
}

/// The stretches of `whole` that no lease covers: somebody has removed records by hand. Complexity:
/// that of sorting the records.
template <token Token>
[[nodiscard]] std::vector<token_range<Token>> ranges_without_a_lease(
    token_range<Token> const& whole, std::span<lease_record<Token> const> records) {
  std::vector<token_range<Token>> holes;
  upper_end<Token> covered = whole.lower();
  for (std::size_t const i : detail::by_range(records)) {
    auto const& range = records[i].range;
    if (is_void(records[i])) continue;
    if (covered.is_space_end() || !(range.lower() < whole.upper())) break;
    if (covered < range.lower()) holes.push_back({covered.at(), range.lower()});
    covered = (std::max)(covered, range.upper());
  }
  if (covered < whole.upper()) holes.push_back({covered.at(), whole.upper()});
  return holes;
}

}  // namespace keyspan
