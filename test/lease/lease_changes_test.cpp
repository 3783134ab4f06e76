// test/lease/lease_changes_test.cpp — what splits and merges leave to do: told as single cases, and
// done by hosts that see it late, in any order.
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::continuation;
using keyspan::is_void;
using keyspan::lease_phase;
using keyspan::session_id;
using keyspan::space_end;
using record = keyspan::lease_record<int>;
using range = keyspan::token_range<int>;
using records = std::vector<record>;
using test::check;

constexpr session_id ada{0xA};

auto created(records const& all) { return keyspan::leases_to_create<int>(all); }
auto removed(records const& all) { return keyspan::leases_to_remove<int>(all); }

continuation at(int position) { return continuation{std::to_string(position)}; }

record open_lease(range const& of, std::uint64_t epoch, int position) {
  record made{of};
  made.facts.epoch = epoch;
  made.position.parts = {{of, at(position)}};
  return made;
}
record ended_lease(range const& of, std::uint64_t epoch, int position,
                   std::vector<range> children) {
  record made = open_lease(of, epoch, position);
  made.facts.phase = lease_phase::ended;
  made.children = std::move(children);
  return made;
}
std::vector<range> ranges_of(records const& all) {
  std::vector<range> found;
  for (auto const& one : all) found.push_back(one.range);
  return found;
}

TEST_CASE("the example of lease_changes.hpp reads as it should") {
  // [region: example]
  using keyspan::continuation;
  using lease = keyspan::lease_record<int>;

  // The range [0, 20) was read as far as "17" when it was split; its owner wrote that.
  lease parent{{0, 20}};
  parent.facts = {.phase = keyspan::lease_phase::ended, .epoch = 4};
  parent.position.parts = {{{0, 20}, continuation{"17"}}};
  parent.children = {{0, 10}, {10, 20}};
  std::vector<lease> all{parent};

  // Whoever sees it makes the children, which stand where it stood.
  for (lease& child : keyspan::leases_to_create<int>(all)) {
    check(child.position.parts.front().from.text() == "17" && child.facts.epoch == 4);
    all.push_back(std::move(child));
  }
  check(all.size() == 3 && keyspan::leases_to_create<int>(all).empty());

  // Once both are somebody's it has nothing to say any more.
  all[1].facts.epoch = 5;
  check(keyspan::leases_to_remove<int>(all).empty());
  all[2].facts.epoch = 5;
  check(keyspan::leases_to_remove<int>(all) == std::vector<std::size_t>{0});
  // [end: example]
}

// ---- creating

TEST_CASE("the children of a split stand where it stood, in its epoch, and are nobody's") {
  auto parent = ended_lease({0, 12}, 7, 30, {{0, 4}, {4, 8}, {8, 12}});
  parent.facts.owner = ada;
  parent.facts.sequence = 99;
  parent.owner_name = "ada";
  parent.weight = 6;
  parent.position.container = "orders";
  parent.position.scheme = "steps";
  parent.position.mode = keyspan::feed_mode::all_versions_and_deletes;
  auto const made = created({parent});
  REQUIRE(ranges_of(made) == parent.children);
  for (auto const& child : made) {
    CHECK(child.facts == keyspan::lease_facts{.epoch = 7});
    CHECK(child.owner_name.empty());
    CHECK(child.position.container == "orders");
    CHECK(child.position.scheme == "steps");
    CHECK(child.position.mode == keyspan::feed_mode::all_versions_and_deletes);
    CHECK(child.position.parts == std::vector<keyspan::cursor<int>>{{child.range, at(30)}});
    CHECK(child.parents == std::vector<range>{{0, 12}});
    CHECK(child.children.empty());
    CHECK(child.weight == 2);
  }
}

TEST_CASE("what comes of a lease that is paused is paused") {
  auto left = ended_lease({0, 8}, 1, 3, {{0, 12}});
  auto right = ended_lease({8, 12}, 1, 3, {{0, 12}});
  right.paused = "maintenance";
  CHECK(created({left, right}).front().paused == "maintenance");
  left.paused = "something else";
  CHECK(created({left, right}).front().paused == "something else");
}

TEST_CASE("a lease that came of a merge stands piece by piece where its parents stood") {
  auto right = ended_lease({8, 12}, 9, 3, {{0, 12}});
  right.weight = 1.5;
  auto left = ended_lease({0, 8}, 4, 1, {{0, 12}});
  left.position.parts = {{{0, 5}, at(1)}, {{5, 8}, at(2)}};
  left.weight = 2;
  auto const made = created({right, left});
  REQUIRE(made.size() == 1);
  CHECK(made[0].position.parts ==
        std::vector<keyspan::cursor<int>>{{{0, 5}, at(1)}, {{5, 8}, at(2)}, {{8, 12}, at(3)}});
  CHECK(made[0].facts.epoch == 9);
  CHECK(made[0].parents == std::vector<range>{{0, 8}, {8, 12}});
  CHECK(made[0].weight == 3.5);
}

TEST_CASE("a child has of its parent's pieces what lies in its range") {
  auto parent = ended_lease({0, 12}, 4, 1, {{0, 6}, {6, 12}});
  parent.position.parts = {{{0, 5}, at(1)}, {{5, 9}, at(2)}, {{9, 12}, at(3)}};
  auto const made = created({parent});
  REQUIRE(made.size() == 2);
  CHECK(made[0].position.parts ==
        std::vector<keyspan::cursor<int>>{{{0, 5}, at(1)}, {{5, 6}, at(2)}});
  CHECK(made[1].position.parts ==
        std::vector<keyspan::cursor<int>>{{{6, 9}, at(2)}, {{9, 12}, at(3)}});
}

TEST_CASE("nothing is created while a parent is open, or is not there") {
  range const whole{0, 12};
  auto const left = ended_lease({0, 4}, 4, 1, {whole});
  auto const middle = ended_lease({4, 8}, 4, 1, {whole});
  auto const right = ended_lease({8, 12}, 4, 1, {whole});
  CHECK(created({left, middle, right}).size() == 1);
  CHECK(created({left, open_lease({4, 8}, 4, 1), right}).empty());
  CHECK(created({open_lease({0, 4}, 4, 1), middle, right}).empty());
  CHECK(created({left, middle, open_lease({8, 12}, 4, 1)}).empty());
  CHECK(created({left, right}).empty());
  CHECK(created({left, middle}).empty());
  CHECK(created({middle, right}).empty());
  // Nor of one that is open and names children all the same, as people may write it.
  auto named = ended_lease(whole, 4, 1, {{0, 6}, {6, 12}});
  named.facts.phase = lease_phase::open;
  CHECK(created({named}).empty());
  // One that has ended for something else is none either.
  CHECK(created({left, ended_lease({4, 8}, 4, 1, {{4, 6}, {6, 8}}), right}).size() == 2);
}

TEST_CASE("nothing is created where a record of the range is, whatever it says") {
  auto const parent = ended_lease({0, 12}, 4, 1, {{0, 6}, {6, 12}});
  for (auto const& other : {open_lease({0, 6}, 4, 1), open_lease({0, 6}, 2, 1),
                            ended_lease({0, 6}, 2, 1, {{0, 12}}), ended_lease({0, 6}, 0, 1, {})}) {
    CHECK(ranges_of(created({parent, other})) == std::vector<range>{{6, 12}});
    CHECK(ranges_of(created({other, parent})) == std::vector<range>{{6, 12}});
  }
}

TEST_CASE("nothing is created of what has been there, and was split or merged since") {
  // [0, 12) was split. Its left half was taken, split, and removed; its right half is nobody's yet.
  auto const root = ended_lease({0, 12}, 1, 10, {{0, 6}, {6, 12}});
  auto const right = open_lease({6, 12}, 1, 10);
  CHECK(created({root, right, open_lease({0, 3}, 3, 20), open_lease({3, 6}, 3, 30)}).empty());
  CHECK(created({root, right, open_lease({0, 3}, 3, 20)}).empty());
  // Its quarters are merged again: what stands where they stood, not where the first one did.
  auto const made = created(
      {root, right, ended_lease({0, 3}, 3, 20, {{0, 6}}), ended_lease({3, 6}, 5, 30, {{0, 6}})});
  REQUIRE(ranges_of(made) == std::vector<range>{{0, 6}});
  CHECK(made[0].facts.epoch == 5);
  CHECK(made[0].position.parts ==
        std::vector<keyspan::cursor<int>>{{{0, 3}, at(20)}, {{3, 6}, at(30)}});
  CHECK(made[0].parents == std::vector<range>{{0, 3}, {3, 6}});
}

TEST_CASE("where there are too many children groups of them come first, and end at once") {
  // A lease with more partitions than it may name has groups as children, which are split in turn.
  auto all = records{ended_lease({0, 9}, 4, 1, {{0, 3}, {3, 6}, {6, 9}})};
  for (auto const& group : created(all)) {
    auto ended = group;
    ended.facts.phase = lease_phase::ended;
    ++ended.facts.epoch;
    for (int t = group.range.lower(); t < group.range.upper().at(); ++t)
      ended.children.push_back({t, t + 1});
    all.push_back(ended);
  }
  auto const made = created(all);
  REQUIRE(made.size() == 9);
  for (auto const& one : made) {
    CHECK(one.facts.epoch == 5);
    CHECK(one.parents.size() == 1);
  }
  CHECK(removed(all) == std::vector<std::size_t>{0});
}

TEST_CASE("what was created is not created again") {
  records all{ended_lease({0, 8}, 4, 1, {{0, 12}}), ended_lease({8, 12}, 9, 1, {{0, 12}}),
              ended_lease({12, 20}, 2, 1, {{12, 16}, {16, 20}})};
  auto const made = created(all);
  REQUIRE(made.size() == 3);
  all.insert(all.end(), made.begin(), made.end());
  CHECK(created(all).empty());
  // A parent that names a child twice is one parent.
  all = {ended_lease({0, 8}, 4, 1, {{0, 4}, {0, 4}, {4, 8}})};
  CHECK(created(all).size() == 2);
}

TEST_CASE("the last lease ends with the space") {
  record root{{0, space_end}};
  root.facts.phase = lease_phase::ended;
  root.position.parts = {{{0, 7}, at(1)}, {{7, space_end}, at(2)}};
  root.children = {{0, 7}, {7, space_end}};
  auto all = created({root});
  REQUIRE(ranges_of(all) == root.children);
  for (auto& one : all) ++one.facts.epoch;
  all.push_back(root);
  CHECK(removed(all) == std::vector<std::size_t>{2});
  CHECK(keyspan::ranges_without_a_lease<int>({0, space_end}, all).empty());
}

// ---- removing

TEST_CASE("an ended lease is removed once later ones cover all of its range") {
  auto const parent = ended_lease({0, 12}, 4, 1, {{0, 6}, {6, 12}});
  auto const left = open_lease({0, 6}, 5, 1);
  CHECK(removed({parent}).empty());
  CHECK(removed({parent, left}).empty());
  CHECK(removed({parent, left, open_lease({6, 12}, 4, 1)}).empty());
  CHECK(removed({parent, left, open_lease({6, 11}, 5, 1)}).empty());
  CHECK(removed({parent, left, open_lease({7, 12}, 5, 1)}).empty());
  CHECK(removed({parent, left, open_lease({6, 12}, 5, 1)}) == std::vector<std::size_t>{0});
  CHECK(removed({left, open_lease({6, 20}, 9, 1), parent}) == std::vector<std::size_t>{2});
  CHECK(removed({open_lease({-5, 30}, 5, 1), parent}) == std::vector<std::size_t>{1});
}

TEST_CASE("an open lease is removed once a later one covers any of its range") {
  auto const late = open_lease({0, 12}, 4, 1);
  CHECK(removed({late, open_lease({12, 20}, 9, 1)}).empty());
  CHECK(removed({late, open_lease({11, 20}, 4, 1)}).empty());
  CHECK(removed({late, open_lease({11, 20}, 5, 1)}) == std::vector<std::size_t>{0});
  CHECK(removed({late, ended_lease({3, 4}, 5, 1, {{3, 8}})}) == std::vector<std::size_t>{0});
}

TEST_CASE("a void record is one that has ended and names nobody, and stays until it is covered") {
  auto const none = ended_lease({0, 12}, 0, 1, {});
  CHECK(is_void(none));
  CHECK(!is_void(open_lease({0, 12}, 0, 1)));
  CHECK(!is_void(ended_lease({0, 12}, 4, 1, {{0, 6}, {6, 12}})));
  auto const left = open_lease({0, 6}, 4, 1);
  CHECK(created({none, ended_lease({0, 6}, 4, 1, {{0, 12}}), ended_lease({6, 12}, 4, 1, {{0, 12}})})
            .empty());
  CHECK(removed({none, left}).empty());
  CHECK(removed({none, left, open_lease({6, 12}, 2, 1)}) == std::vector<std::size_t>{0});
}

// ---- holes

TEST_CASE("the holes between leases are what none of them covers") {
  // Up to three leases of every position and length, on seven tokens.
  range const whole{1, 5};
  std::vector<std::optional<range>> all{std::nullopt};
  for (int lower = 0; lower < 7; ++lower)
    for (int upper = lower + 1; upper <= 7; ++upper) all.emplace_back(range{lower, upper});
  auto const look_at = [&](records const& there) {
    std::vector<range> wanted;
    std::optional<int> from;
    for (int t = 1; t <= 5; ++t) {
      bool const is_covered =
          t == 5 || std::any_of(there.begin(), there.end(), [&](record const& one) {
            return one.range.contains(t) && !is_void(one);
          });
      if (!is_covered && !from) from = t;
      if (is_covered && from) wanted.push_back({*std::exchange(from, std::nullopt), t});
    }
    return keyspan::ranges_without_a_lease<int>(whole, there) == wanted;
  };
  bool holds = true;
  for (auto const& a : all) {
    for (auto const& b : all) {
      for (auto const& c : all) {
        records there;
        if (a) there.push_back(open_lease(*a, 1, 1));
        if (b) there.push_back(ended_lease(*b, 1, 1, {*b}));
        if (c) there.push_back(open_lease(*c, 1, 1));
        holds = holds && look_at(there);
        if (c) there.back() = ended_lease(*c, 1, 1, {});
        holds = holds && look_at(there);
      }
    }
  }
  CHECK(holds);
}

TEST_CASE("a hole before the end of the space reaches up to it") {
  range const whole{0, space_end};
  CHECK(keyspan::ranges_without_a_lease<int>(whole, records{}) == std::vector<range>{whole});
  CHECK(keyspan::ranges_without_a_lease<int>(whole, records{open_lease({3, 8}, 1, 1)}) ==
        std::vector<range>{{0, 3}, {8, space_end}});
  CHECK(keyspan::ranges_without_a_lease<int>(
            whole, records{open_lease({3, space_end}, 1, 1), open_lease({4, 5}, 1, 1)}) ==
        std::vector<range>{{0, 3}});
}

// ---- any order, and seen late

// Partitions that split and merge, a store, and hosts that do all that is to be done, each by what
// it saw some time ago. A lease's position is one number for each of its pieces.
class world {
 public:
  world(std::uint64_t seed, bool creates_late)
      : rng_{seed}, creates_late_{creates_late}, tokens_{static_cast<int>(rng_.between(8, 16))} {
    partitions_ = {{0, tokens_}};
    for (int i = 0; i < 3; ++i) change_partitions();
    truth_.assign(static_cast<std::size_t>(tokens_), 1);
    range const whole{0, tokens_};
    bool const is_one = partitions_.size() == 1;
    put(is_one ? open_lease(whole, 0, 1) : ended_lease(whole, 0, 1, partitions_));
  }

  void step() {
    ++now_;
    if (rng_.chance(4)) change_partitions();
    act(static_cast<std::size_t>(rng_.below(hosts)));
  }
  // The partitions change no more, the hosts see what there is, and nobody gives up soon.
  void settle() {
    wait_ = 20 * hold;
    for (int i = 0; i < 6'000 && !is_settled(); ++i) {
      ++now_;
      auto const who = static_cast<std::size_t>(rng_.below(hosts));
      look(who);
      act(who);
    }
  }

  // Of every token the newest lease says how far it was read.
  bool is_sound() const {
    records all;
    for (auto const& [of, one] : store_) all.push_back(one.is);
    auto const old = removed(all);
    for (int t = 0; t < tokens_; ++t) {
      std::uint64_t newest = 0;
      std::vector<record const*> of_token;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].range.contains(t) || is_void(all[i])) continue;
        if (std::binary_search(old.begin(), old.end(), i)) continue;
        newest = (std::max)(newest, all[i].facts.epoch);
        of_token.push_back(&all[i]);
      }
      if (of_token.empty()) return false;
      for (record const* one : of_token)
        if (one->facts.epoch == newest && position_of(*one, t) != truth_of(t)) return false;
    }
    // Those that may be taken do not overlap.
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (is_open(all, old, i) && is_open(all, old, j) && overlaps(all[i].range, all[j].range))
          return false;
    return true;
  }
  // Whether there is one lease for each partition, and nothing else.
  bool is_settled() const {
    std::vector<range> there;
    for (auto const& [of, one] : store_) {
      if (one.is.facts.phase != lease_phase::open) return false;
      there.push_back(of);
    }
    return there == partitions_;
  }
  std::array<int, 7> const& done() const { return done_; }

 private:
  static constexpr std::size_t hosts = 3;
  static constexpr int hold = 25;

  struct stored {
    record is;
    std::uint64_t version;
    int since;
  };
  using view = std::map<range, stored>;
  enum deed : std::uint8_t { acquired, advanced, ended, made, dropped, blocked, reopened };

  static bool is_open(records const& all, std::vector<std::size_t> const& old, std::size_t i) {
    return all[i].facts.phase == lease_phase::open &&
           !std::binary_search(old.begin(), old.end(), i);
  }
  int truth_of(int t) const { return truth_[static_cast<std::size_t>(t)]; }
  static int position_of(record const& one, int t) {
    for (auto const& part : one.position.parts)
      if (part.range.contains(t)) return std::stoi(std::string{part.from.text()});
    return -1;
  }

  void change_partitions() {
    auto const i = static_cast<std::size_t>(rng_.below(partitions_.size()));
    auto const place = partitions_.begin() + static_cast<std::ptrdiff_t>(i);
    int const lower = place->lower();
    int const upper = place->upper().at();
    if (rng_.chance(50) && upper - lower > 1) {
      auto const [left, right] =
          split(*place, static_cast<int>(rng_.between(lower + 1, upper - 1)));
      *place = left;
      partitions_.insert(place + 1, right);
    } else if (i + 1 < partitions_.size()) {
      *place = join(*place, *(place + 1));
      partitions_.erase(place + 1);
    }
  }
  std::vector<range> partitions_for(range const& of) const {
    std::vector<range> found;
    for (auto const& one : partitions_)
      if (overlaps(one, of)) found.push_back(one);
    if (found.size() > 1)
      for (auto& one : found) one = *intersection(one, of);
    return found;
  }

  void put(record const& one) {
    store_.insert_or_assign(one.range, stored{one, ++versions_, now_});
  }
  bool create(record const& one) {
    if (store_.contains(one.range)) return false;
    put(one);
    return true;
  }
  bool replace(stored const& was, record const& one) {
    auto const there = store_.find(one.range);
    if (there == store_.end() || there->second.version != was.version) return false;
    put(one);
    return true;
  }
  void count(deed what, bool is_done) { done_[what] += is_done ? 1 : 0; }

  void look(std::size_t who) {
    views_[who] = store_;
    looked_[who] = now_;
  }
  void act(std::size_t who) {
    if (rng_.chance(20)) return look(who);
    records all;
    std::vector<stored> seen;
    for (auto const& [of, one] : views_[who]) {
      all.push_back(one.is);
      seen.push_back(one);
    }
    if (all.empty()) return;
    auto const old = removed(all);
    auto const i = static_cast<std::size_t>(rng_.below(all.size()));
    switch (rng_.below(5)) {
      case 0:
        if (is_open(all, old, i)) use(who, seen[i]);
        break;
      case 1:
        if (is_open(all, old, i) && all[i].facts.owner == name(who)) end(seen[i]);
        break;
      case 2:
        if (creates_late_ || now_ < looked_[who] + hold) make(created(all));
        break;
      case 3:
        if (!old.empty()) drop(seen[old[static_cast<std::size_t>(rng_.below(old.size()))]]);
        break;
      case 4:
        if (!creates_late_) reopen(seen[i], all, old);
        break;
    }
  }
  static session_id name(std::size_t who) { return session_id{who + 1}; }

  void use(std::size_t who, stored const& one) {
    auto next = one.is;
    if (next.facts.owner != name(who)) {
      next.facts.owner = name(who);
      ++next.facts.epoch;
      return count(acquired, replace(one, next));
    }
    for (auto& part : next.position.parts)
      part.from = at(std::stoi(std::string{part.from.text()}) + static_cast<int>(rng_.below(3)));
    if (!replace(one, next)) return;
    for (int t = next.range.lower(); t < next.range.upper().at(); ++t)
      truth_[static_cast<std::size_t>(t)] = position_of(next, t);
    count(advanced, true);
  }
  void end(stored const& one) {
    auto children = partitions_for(one.is.range);
    if (children == std::vector<range>{one.is.range}) return;
    auto next = one.is;
    next.facts.owner = {};
    next.facts.phase = lease_phase::ended;
    next.children = std::move(children);
    count(ended, replace(one, next));
  }
  void make(records const& children) {
    if (!children.empty())
      count(made, create(children[static_cast<std::size_t>(rng_.below(children.size()))]));
  }
  void drop(stored const& one) {
    if (is_void(one.is) && now_ < one.since + wait_) return;
    auto const there = store_.find(one.is.range);
    if (there == store_.end() || there->second.version != one.version) return;
    store_.erase(there);
    count(dropped, true);
  }
  // One that waits for a child which the partitions have overtaken.
  void reopen(stored const& one, records const& all, std::vector<std::size_t> const& old) {
    auto const& is = one.is;
    if (is.facts.phase != lease_phase::ended || is.children.size() != 1) return;
    auto const child = is.children.front();
    auto const is_child = [&](record const& other) { return other.range == child; };
    auto const to_come = created(all);
    if (std::any_of(all.begin(), all.end(), is_child) ||
        std::any_of(to_come.begin(), to_come.end(), is_child))
      return;
    for (std::size_t const i : old)
      if (all[i].range == is.range) return;
    if (now_ < one.since + wait_) return;
    bool const is_blocked = create(ended_lease(child, 0, 1, {}));
    count(blocked, is_blocked);
    if (!is_blocked) return;
    auto next = is;
    next.facts.phase = lease_phase::open;
    next.children.clear();
    count(reopened, replace(one, next));
  }

  test::random rng_;
  bool creates_late_;
  int tokens_;
  int now_ = 0;
  int wait_ = hold;
  std::uint64_t versions_ = 0;
  std::vector<range> partitions_{};
  std::vector<int> truth_{};
  view store_{};
  std::array<view, hosts> views_{};
  std::array<int, hosts> looked_{};
  std::array<int, 7> done_{};
};

TEST_CASE("whoever does what in whatever order, and by what it saw long ago, no position is lost") {
  for (bool const creates_late : {false, true}) {
    std::array<int, 7> done{};
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      world all{seed, creates_late};
      CAPTURE(seed, creates_late);
      for (int step = 0; step < 600; ++step) {
        all.step();
        CAPTURE(step);
        REQUIRE(all.is_sound());
      }
      if (!creates_late) all.settle();
      REQUIRE(all.is_sound());
      // Who creates at any time cannot be waited for, so what waits for a child is left to wait.
      if (!creates_late) REQUIRE(all.is_settled());
      for (std::size_t i = 0; i < done.size(); ++i) done[i] += all.done()[i];
    }
    for (std::size_t i = 0; i < done.size(); ++i)
      if (!creates_late || i < 5) CHECK(done[i] > 50);
  }
}

// ---- many of them

// An integer that counts how often it is compared, so that a count is not a matter of the machine.
struct counted {
  int value = 0;
  static inline std::uint64_t comparisons = 0;

  friend bool operator==(counted a, counted b) {
    ++comparisons;
    return a.value == b.value;
  }
  friend auto operator<=>(counted a, counted b) {
    ++comparisons;
    return a.value <=> b.value;
  }
};
using counted_record = keyspan::lease_record<counted>;

template <class F>
std::uint64_t comparisons_of(F f) {
  auto const before = counted::comparisons;
  f();
  return counted::comparisons - before;
}
counted_record big_lease(int lower, int upper, std::uint64_t epoch) {
  counted_record made{{counted{lower}, counted{upper}}};
  made.facts.epoch = epoch;
  made.position.parts = {{made.range, at(1)}};
  return made;
}

TEST_CASE(
    "what is to be done with twenty thousand records is seen without comparing all with all") {
  constexpr int leases = 20'000;
  constexpr std::uint64_t bound = 200 * std::uint64_t{leases};  // all with all are 400,000,000
  keyspan::token_range<counted> const whole{counted{0}, counted{4 * leases}};

  // All are split at once, all are merged in pairs at once, and half of a large one's children are
  // there and taken.
  std::vector<counted_record> split_all;
  std::vector<counted_record> merged_all;
  std::vector<counted_record> grown{big_lease(0, 4 * leases, 1)};
  grown[0].facts.phase = lease_phase::ended;
  for (int i = 0; i < leases; ++i) {
    int const lower = 4 * i;
    auto one = big_lease(lower, lower + 4, 3);
    grown[0].children.push_back(one.range);
    if (i % 2 == 0) grown.push_back(one);
    one.facts.phase = lease_phase::ended;
    one.children = {{counted{lower}, counted{lower + 2}}, {counted{lower + 2}, counted{lower + 4}}};
    split_all.push_back(one);
    one.children = {{counted{lower / 8 * 8}, counted{lower / 8 * 8 + 8}}};
    merged_all.push_back(one);
  }
  struct expectation {
    std::vector<counted_record>* all;
    std::size_t created;
  };
  test::random rng{1};
  for (auto const& [all, wanted] :
       {expectation{&split_all, 2 * leases}, expectation{&merged_all, leases / 2},
        expectation{&grown, leases / 2}}) {
    rng.shuffle(*all);
    std::size_t count = 0;
    CHECK(comparisons_of([&, from = all] {
            count = keyspan::leases_to_create<counted>(*from).size();
          }) < bound);
    CHECK(count == wanted);
    CHECK(comparisons_of([&, from = all] {
            count = keyspan::leases_to_remove<counted>(*from).size();
          }) < bound);
    CHECK(count == 0);
    CHECK(comparisons_of([&, from = all] {
            count = keyspan::ranges_without_a_lease<counted>(whole, *from).size();
          }) < bound);
    CHECK(count == 0);
  }
}

}  // namespace
