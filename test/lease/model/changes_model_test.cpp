// test/lease/model/changes_model_test.cpp — what splits and merges leave to do, by two hosts that
// see the records late, in every order, as far as so many states go.
//
// Four tokens, partitions that split and merge, and for each range that a lease may have one record
// of a store. Hosts look at the records now and then, and do what they then see is to be done: make
// children, remove what is of before, open again what waits in vain. Owners take leases, handle a
// change, and end them where the partitions are other ones. What is demanded at every step: each
// token is one lease's that is not of before, or can still be found from one that has ended; its
// changes are handled in their order; and nobody begins in an epoch that is over.
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/range/token_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using range_type = keyspan::token_range<int>;
using record_type = keyspan::lease_record<int>;
constexpr int tokens = 3;
constexpr std::size_t hosts = 2;

// A record in the store: its version is a number that never comes again, its owner is at work.
struct stored {
  record_type record;
  int version = 0;
  bool is_held = false;
};
using table = std::map<std::pair<int, int>, stored>;

struct world {
  int cuts = 0;          // a bit for each border between tokens that is one between partitions
  int changes_left = 2;  // of the partitions
  table records{};
  std::array<table, hosts> seen{};
  std::array<int, tokens> handled{};
  std::array<std::uint64_t, tokens> begun{};  // the latest epoch in which a change was begun
  int versions = 0;
};

struct rules {
  bool removes_early = false;       // broken: what has ended goes at once
  bool reopens_blindly = false;     // broken: nothing is put in the child's place before
  bool takes_one_position = false;  // broken: children stand where the last of their parents did
};

std::vector<range_type> partitions_of(int cuts) {
  std::vector<range_type> all;
  int lower = 0;
  for (int at = 1; at <= tokens; ++at) {
    if (at != tokens && (cuts >> at & 1) == 0) continue;
    all.push_back({lower, at});
    lower = at;
  }
  return all;
}
std::pair<int, int> key_of(range_type const& range) { return {range.lower(), range.upper().at()}; }

// A position is a number for each token, one part each.
int position_of(record_type const& record, int token) {
  for (auto const& part : record.position.parts)
    if (part.range.contains(token)) return part.from.is_start() ? 0 : std::stoi(part.from.text());
  return -1;
}
void advance(record_type& record, int token) {
  std::vector<keyspan::cursor<int>> parts;
  for (auto const& part : record.position.parts) {
    for (int t = part.range.lower(); t < part.range.upper().at(); ++t) {
      keyspan::cursor<int> one{range_type{t, t + 1}, part.from};
      if (t == token) one.from = keyspan::continuation{std::to_string(position_of(record, t) + 1)};
      parts.push_back(one);
    }
  }
  record.position.parts = std::move(parts);
  ++record.facts.sequence;
}

std::vector<record_type> listed(table const& from) {
  std::vector<record_type> all;
  for (auto const& [key, one] : from) all.push_back(one.record);
  return all;
}

// In one text, so that states can be told apart; versions count by their order alone.
void write(std::string& to, table const& of, std::map<int, int> const& ranks) {
  for (auto const& [key, one] : of) {
    to += std::to_string(key.first * 8 + key.second) + ':';
    to += std::to_string(ranks.at(one.version)) + (one.is_held ? 'h' : '-');
    to += one.record.facts.phase == keyspan::lease_phase::open ? 'o' : 'e';
    to += std::to_string(one.record.facts.epoch) + '/';
    for (int t = key.first; t < key.second; ++t) to += std::to_string(position_of(one.record, t));
    for (auto const& child : one.record.children)
      to += '>' + std::to_string(key_of(child).first * 8 + key_of(child).second);
    to += ' ';
  }
  to += '|';
}
std::string text_of(world const& w) {
  std::map<int, int> ranks;
  for (auto const& [key, one] : w.records) ranks[one.version] = 0;
  for (auto const& view : w.seen)
    for (auto const& [key, one] : view) ranks[one.version] = 0;
  int rank = 0;
  for (auto& [version, place] : ranks) place = rank++;
  std::string text = std::to_string(w.cuts) + ',' + std::to_string(w.changes_left) + ',';
  for (int t = 0; t < tokens; ++t)
    text += std::to_string(w.handled[static_cast<std::size_t>(t)]) + '.' +
            std::to_string(w.begun[static_cast<std::size_t>(t)]) + ' ';
  write(text, w.records, ranks);
  for (auto const& view : w.seen) write(text, view, ranks);
  return text;
}

struct outcome {
  std::size_t states = 0;
  bool is_complete = true;
  std::string violation{};
  std::vector<std::string> way{};
};

class search {
 public:
  search(rules broken, int changes, bool are_apart)
      : broken_{broken}, changes_{changes}, are_apart_{are_apart} {}

  outcome run(std::size_t most) {
    world first;
    first.changes_left = changes_;
    // One partition and its lease, which nobody has yet; or one for each token, all taken.
    if (are_apart_) first.cuts = (1 << tokens) - 2;
    for (auto const& range : partitions_of(first.cuts)) {
      record_type one{range};
      one.position.parts = {{range}};
      if (are_apart_) one.facts.epoch = 1;
      first.records.emplace(key_of(range), stored{one, 0, are_apart_});
    }
    add(first, none, "");
    for (std::size_t next = 0; next < states_.size() && out_.violation.empty(); ++next) {
      if (states_.size() > most) {
        out_.is_complete = false;
        break;
      }
      at_ = next;
      world const now = states_[next];  // by value: more are added meanwhile
      expand(now);
    }
    out_.states = states_.size();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  void demand(bool holds, std::string_view what) {
    if (!holds && out_.violation.empty()) out_.violation = what;
  }
  // What holds at every step.
  void look_at(world const& w) {
    auto const all = listed(w.records);
    auto const old = keyspan::leases_to_remove<int>(all);
    std::vector<bool> is_old(all.size(), false);
    for (std::size_t const i : old) is_old[i] = true;
    for (int t = 0; t < tokens; ++t) {
      int open = 0;
      int found = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].range.contains(t) || is_old[i] || is_void(all[i])) continue;
        bool const is_open = all[i].facts.phase == keyspan::lease_phase::open;
        open += is_open;
        found += 1;
        demand(position_of(all[i], t) <= w.handled[static_cast<std::size_t>(t)],
               "I4: a position is beyond what was handled");
      }
      demand(open <= 1, "I6: a token is two leases'");
      demand(found >= 1, "I6: a token is no lease's");
    }
  }

  template <class F>
  void go(world const& from, std::string what, F f) {
    if (!out_.violation.empty()) return;
    world w = from;
    if (!f(w)) return;
    look_at(w);
    if (out_.violation.empty()) {
      add(std::move(w), at_, std::move(what));
      return;
    }
    out_.way.push_back(std::move(what));
    for (std::size_t i = at_; before_[i].first != none; i = before_[i].first)
      out_.way.push_back(before_[i].second);
    std::reverse(out_.way.begin(), out_.way.end());
  }

  void expand(world const& now) {
    for (int at = 1; at < tokens && now.changes_left > 0; ++at)
      go(now, "the partitions change at " + std::to_string(at), [&](world& w) {
        w.cuts ^= 1 << at;
        --w.changes_left;
        return true;
      });
    for (auto const& [key, one] : now.records) {
      std::string const name =
          "[" + std::to_string(key.first) + "," + std::to_string(key.second) + ")";
      if (one.record.facts.phase != keyspan::lease_phase::open) continue;
      if (!one.is_held) {
        // Whoever takes it has looked: what is of before is nobody's.
        auto const all = listed(now.records);
        auto const old = keyspan::leases_to_remove<int>(all);
        bool const is_old = std::any_of(old.begin(), old.end(), [&](std::size_t i) {
          return all[i].range == one.record.range;
        });
        if (!is_old)
          go(now, name + " is taken", [&](world& w) {
            auto& taken = w.records.at(key);
            ++taken.record.facts.epoch;
            taken.is_held = true;
            taken.version = ++w.versions;
            return true;
          });
        continue;
      }
      auto const whole = partitions_of(now.cuts);
      std::vector<range_type> owners;
      for (auto const& part : whole)
        if (overlaps(part, one.record.range)) owners.push_back(part);
      if (owners.size() == 1 && owners.front() == one.record.range) {
        for (int t = key.first; t < key.second; ++t) {
          if (position_of(one.record, t) >= 1) continue;
          go(now, name + " handles " + std::to_string(t), [&](world& w) {
            auto& holder = w.records.at(key);
            auto const place = static_cast<std::size_t>(t);
            int const number = position_of(holder.record, t);
            demand(holder.record.facts.epoch >= w.begun[place], "I1: who is replaced begins");
            demand(number <= w.handled[place], "I5: a change was never handled");
            w.begun[place] = holder.record.facts.epoch;
            w.handled[place] = std::max(w.handled[place], number + 1);
            advance(holder.record, t);
            holder.version = ++w.versions;
            return true;
          });
        }
      } else {
        go(now, name + " ends", [&](world& w) {
          auto& ending = w.records.at(key);
          ending.record.facts.phase = keyspan::lease_phase::ended;
          for (auto const& owner : owners)
            ending.record.children.push_back(
                owners.size() == 1 ? owner : *intersection(owner, ending.record.range));
          ending.is_held = false;
          ending.version = ++w.versions;
          return true;
        });
      }
    }
    for (std::size_t who = 0; who < hosts; ++who) expand(now, who);
  }

  void expand(world const& now, std::size_t who) {
    std::string const name = who == 0 ? "1 " : "2 ";
    go(now, name + "looks", [&](world& w) {
      w.seen[who] = w.records;
      return true;
    });
    auto const all = listed(now.seen[who]);
    auto const created = keyspan::leases_to_create<int>(all);
    for (auto child : created)
      go(now,
         name + "creates [" + std::to_string(child.range.lower()) + "," +
             std::to_string(child.range.upper().at()) + ")",
         [&](world& w) {
           if (broken_.takes_one_position)
             for (auto& part : child.position.parts) part.from = child.position.parts.back().from;
           return w.records.emplace(key_of(child.range), stored{child, ++w.versions, false}).second;
         });
    std::vector<std::size_t> removed = keyspan::leases_to_remove<int>(all);
    if (broken_.removes_early)
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].facts.phase == keyspan::lease_phase::ended) removed.push_back(i);
    for (std::size_t const i : removed) {
      // What makes a child impossible outlasts everybody who may still try to create it.
      if (is_void(all[i]) && !can_nobody_create(now, all[i].range)) continue;
      go(now,
         name + "removes [" + std::to_string(all[i].range.lower()) + "," +
             std::to_string(all[i].range.upper().at()) + ")",
         [&](world& w) {
           auto const there = w.records.find(key_of(all[i].range));
           if (there == w.records.end() ||
               there->second.version != now.seen[who].at(there->first).version)
             return false;
           w.records.erase(there);
           return true;
         });
    }
    for (auto const& [key, one] : now.seen[who]) {
      auto const& record = one.record;
      if (record.facts.phase != keyspan::lease_phase::ended || record.children.size() != 1)
        continue;
      auto const child = record.children.front();
      bool const is_waiting =
          std::none_of(all.begin(), all.end(),
                       [&](auto const& other) { return other.range == child; }) &&
          std::none_of(created.begin(), created.end(),
                       [&](auto const& other) { return other.range == child; });
      if (!is_waiting) continue;
      go(now,
         name + "opens [" + std::to_string(key.first) + "," + std::to_string(key.second) +
             ") again",
         [&](world& w) {
           if (!broken_.reopens_blindly) {
             record_type nothing{child};
             nothing.facts.phase = keyspan::lease_phase::ended;
             nothing.position.parts = {{child}};
             if (!w.records.emplace(key_of(child), stored{nothing, ++w.versions, false}).second)
               return false;
           }
           auto const there = w.records.find(key);
           if (there == w.records.end() || there->second.version != one.version) return true;
           there->second.record.facts.phase = keyspan::lease_phase::open;
           there->second.record.children.clear();
           there->second.version = ++w.versions;
           return true;
         });
    }
  }
  static bool can_nobody_create(world const& w, range_type const& range) {
    for (auto const& view : w.seen)
      for (auto const& child : keyspan::leases_to_create<int>(listed(view)))
        if (child.range == range) return false;
    return true;
  }

  void add(world w, std::size_t from, std::string what) {
    if (!known_.insert(std::hash<std::string>{}(text_of(w))).second) return;
    states_.push_back(std::move(w));
    before_.emplace_back(from, std::move(what));
  }

  rules broken_;
  int changes_;
  bool are_apart_;
  outcome out_{};
  std::size_t at_ = 0;
  std::vector<world> states_{};
  std::vector<std::pair<std::size_t, std::string>> before_{};
  std::set<std::size_t> known_{};
};

outcome found(std::string_view name, rules broken, int changes, bool are_apart) {
  auto out = search{broken, changes, are_apart}.run(150'000);
  std::cout << name << ": " << out.states << " states" << (out.is_complete ? "" : ", cut off");
  if (!out.violation.empty()) std::cout << "; " << out.violation;
  std::cout << '\n';
  for (auto const& step : out.way) std::cout << "    " << step << '\n';
  return out;
}

TEST_CASE("splits and merges are completed by whoever sees them, however late") {
  CHECK(found("one partition, two changes", {}, 2, false).violation.empty());
  CHECK(found("one partition, three changes", {}, 3, false).violation.empty());
  CHECK(found("three partitions, two changes", {}, 2, true).violation.empty());
  CHECK(found("three partitions, three changes", {}, 3, true).violation.empty());
}

TEST_CASE("each rule of splits and merges is needed: the search notices when one is broken") {
  CHECK(found("removes what has ended", {.removes_early = true}, 2, false)
            .violation.starts_with("I6"));
  CHECK(found("takes the position of one parent", {.takes_one_position = true}, 2, true)
            .violation.starts_with("I4"));
  CHECK(
      found("opens again blindly", {.reopens_blindly = true}, 1, true).violation.starts_with("I6"));
}

}  // namespace
