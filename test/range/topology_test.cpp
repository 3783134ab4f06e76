// test/range/topology_test.cpp — splits and merges as values, made in maps and read off from them.
#include <keyspan/core/print.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/range/topology.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace {

using keyspan::apply;
using keyspan::cover_of;
using keyspan::diff;
using keyspan::errc;
using keyspan::merge_change;
using keyspan::owned_range;
using keyspan::range_map;
using keyspan::result;
using keyspan::space_end;
using keyspan::split_change;
using keyspan::token128;
using keyspan::token_range;
using keyspan::topology_change;
using test::check;

using small_map = range_map<int, char>;
using owned = owned_range<int, char>;
using small_range = token_range<int>;
using small_split = split_change<int, char>;
using small_merge = merge_change<int, char>;
using change = topology_change<int, char>;

constexpr small_range piece(int first, int end, int tokens) {
  return end < tokens ? small_range{first, end} : small_range{first, space_end};
}

// Every map over so many tokens, the last one standing for all from it on, with values of two
// letters.
std::vector<small_map> every_map(int tokens) {
  std::vector<std::vector<owned>> lists{{}};
  std::vector<small_map> maps;
  // Digit t of a number of base 3: token t lies in the range before it, or begins one of a or b.
  auto const extend = [&](auto const& self, std::vector<owned>& ranges, int next) -> void {
    if (next == tokens) {
      maps.push_back(*small_map::from_ranges(ranges, {0, space_end}));
      return;
    }
    for (int end = next + 1; end <= tokens; ++end) {
      for (char const value : {'a', 'b'}) {
        ranges.push_back({piece(next, end, tokens), value});
        self(self, ranges, end);
        ranges.pop_back();
      }
    }
  };
  std::vector<owned> ranges;
  extend(extend, ranges, 0);
  return maps;
}

std::vector<owned> ranges_of(small_map const& m) {
  std::vector<owned> ranges;
  for (auto const& [range, value] : m) ranges.push_back({range, value});
  return ranges;
}

bool has(small_map const& m, owned const& one) {
  auto const ranges = ranges_of(m);
  return std::find(ranges.begin(), ranges.end(), one) != ranges.end();
}

std::vector<owned> parents_of(change const& one) {
  if (auto const* s = std::get_if<small_split>(&one)) return {s->parent};
  return std::get<small_merge>(one).parents;
}
std::vector<owned> children_of(change const& one) {
  if (auto const* m = std::get_if<small_merge>(&one)) return {m->child};
  return std::get<small_split>(one).children;
}

// What a change should do, slowly: a list of ranges with the parents out and the children in.
result<small_map> naively_applied(small_map const& m, change const& one) {
  auto const parents = parents_of(one);
  auto const children = children_of(one);
  for (owned const& parent : parents)
    if (!has(m, parent)) return keyspan::fail(errc::unknown_range);
  bool const splits = std::holds_alternative<small_split>(one);
  std::vector<small_range> parts;
  for (owned const& part : splits ? children : parents) parts.push_back(part.range);
  auto const whole = splits ? parents.front().range : children.front().range;
  auto const covered = cover_of(parts, whole).verdict();
  if (!covered) return keyspan::unexpected{covered.error()};
  auto ranges = ranges_of(m);
  for (owned const& parent : parents) std::erase(ranges, parent);
  ranges.insert(ranges.end(), children.begin(), children.end());
  return *small_map::from_ranges(ranges, m.whole());
}

std::size_t made = 0;
std::size_t refused = 0;

void look_at(small_map const& m, change const& one) {
  small_map changed = m;
  auto const applied = apply(changed, one);
  auto const expected = naively_applied(m, one);
  if (applied.has_value() != expected.has_value()) FAIL("a change is refused by one of two");
  if (applied) {
    check(changed == *expected);
    ++made;
  } else {
    check(applied.error().code == expected.error().code && changed == m);
    check(!applied.error().text.empty() && !applied.error().text.is_cut());
    ++refused;
  }
}

TEST_CASE("every split of every map over four tokens is made as named or refused") {
  constexpr int tokens = 4;
  std::vector<owned> every;
  std::vector<std::vector<owned>> families{{}};
  for (int first = 0; first < tokens; ++first)
    for (int end = first + 1; end <= tokens; ++end)
      for (char const value : {'a', 'b'}) every.push_back({piece(first, end, tokens), value});
  for (owned const& a : every) {
    families.push_back({a});
    for (owned const& b : every) families.push_back({a, b});
  }
  families.push_back({{{2, 3}, 'a'}, {{0, 1}, 'b'}, {{1, 2}, 'a'}});
  families.push_back({{{2, 3}, 'a'}, {{0, 1}, 'b'}, {{1, 3}, 'a'}});
  families.push_back({{{3, space_end}, 'c'}, {{0, 1}, 'b'}, {{1, 2}, 'a'}, {{2, 3}, 'd'}});
  made = refused = 0;
  for (small_map const& m : every_map(tokens)) {
    // Of the parents that the map does not have, one for each reason.
    auto parents = ranges_of(m);
    parents.push_back({m[0].range(), 'x'});
    parents.push_back({{1, 3}, 'a'});
    for (owned const& parent : parents)
      for (auto const& children : families) look_at(m, small_split{parent, children});
  }
  CHECK(made > 700);
  CHECK(refused > 50'000);
}

TEST_CASE("every merge in every map over four tokens is made as named or refused") {
  constexpr int tokens = 4;
  std::vector<small_range> every;
  for (int first = 0; first < tokens; ++first)
    for (int end = first + 1; end <= tokens; ++end) every.push_back(piece(first, end, tokens));
  made = refused = 0;
  for (small_map const& m : every_map(tokens)) {
    auto const ranges = ranges_of(m);
    for (small_range const& child : every) {
      look_at(m, small_merge{{}, {child, 'c'}});
      for (owned const& a : ranges) {
        look_at(m, small_merge{{a}, {child, 'c'}});
        for (owned const& b : ranges) {
          look_at(m, small_merge{{a, b}, {child, 'c'}});
          for (owned const& c : ranges) look_at(m, small_merge{{a, b, c}, {child, 'c'}});
        }
      }
      look_at(m, small_merge{{{ranges[0].range, 'x'}}, {child, 'c'}});
      look_at(m, small_merge{{ranges[0], {{1, 3}, 'a'}}, {child, 'c'}});
    }
  }
  CHECK(made > 500);
  CHECK(refused > 5'000);
}

bool begins_inside(small_map const& m, small_range const& stretch) {
  return std::any_of(m.lowers().begin(), m.lowers().end(),
                     [&](int lower) { return stretch.lower() < lower && stretch.contains(lower); });
}

// How many changes there should be, and that they say nothing about what stayed.
void check_that_it_is_minimal(small_map const& before, small_map const& after,
                              std::vector<change> const& changes) {
  std::size_t splits = 0;
  std::size_t merges = 0;
  for (owned const& old : ranges_of(before))
    splits += begins_inside(after, old.range) ||
              (after.entry_of(old.range.lower()).range() == old.range && !has(after, old));
  for (owned const& next : ranges_of(after)) merges += begins_inside(before, next.range);
  std::size_t found = 0;
  for (change const& one : changes) {
    found += std::holds_alternative<small_split>(one);
    auto const parents = parents_of(one);
    auto const children = children_of(one);
    check(parents != children && !parents.empty() && !children.empty());
    for (owned const& parent : parents) check(!(has(before, parent) && has(after, parent)));
    check(std::is_sorted(children.begin(), children.end(),
                         [](owned const& a, owned const& b) { return a.range < b.range; }));
  }
  check(found == splits && changes.size() == splits + merges);
}

// Compares each map with each.
void check_differences_of(std::vector<small_map> const& maps) {
  std::size_t empty = 0;
  for (small_map const& before : maps) {
    for (small_map const& after : maps) {
      auto const changes = diff(before, after);
      if (!changes) FAIL(changes.error().to_text().view());
      small_map changed = before;
      for (change const& one : *changes) {
        auto const applied = apply(changed, one);
        if (!applied) FAIL(applied.error().to_text().view());
      }
      if (!(changed == after)) FAIL("the changes made another map");
      check_that_it_is_minimal(before, after, *changes);
      empty += changes->empty();
    }
  }
  CHECK(empty == maps.size());
}

TEST_CASE("the difference of any two maps over five tokens makes one of the other") {
  auto const maps = every_map(5);
  REQUIRE(maps.size() == 162);
  check_differences_of(maps);
}

TEST_CASE("the difference of any two ways to cut seven tokens makes one of the other") {
  std::vector<small_map> maps;
  for (unsigned cuts = 0; cuts < 64; ++cuts) {
    std::vector<std::pair<int, char>> alike{{0, 'a'}};
    std::vector<std::pair<int, char>> in_turn{{0, 'b'}};
    for (int at = 1; at < 7; ++at) {
      if ((cuts >> (at - 1) & 1) == 0) continue;
      alike.emplace_back(at, 'a');
      in_turn.emplace_back(at, in_turn.size() % 2 == 0 ? 'b' : 'a');
    }
    maps.push_back(*small_map::from_boundaries(alike));
    maps.push_back(*small_map::from_boundaries(in_turn));
  }
  check_differences_of(maps);
}

std::size_t changes_between(std::vector<std::pair<int, char>> before,
                            std::vector<std::pair<int, char>> after) {
  small_map from = *small_map::from_boundaries(std::move(before), 10);
  small_map const to = *small_map::from_boundaries(std::move(after), 10);
  auto const changes = diff(from, to);
  check(changes.has_value() && apply(from, *changes).has_value() && from == to);
  return changes->size();
}

TEST_CASE("what one change does is one change") {
  check(changes_between({{0, 'a'}}, {{0, 'a'}}) == 0);
  check(changes_between({{0, 'a'}}, {{0, 'b'}}) == 1);
  check(changes_between({{0, 'a'}, {5, 'b'}}, {{0, 'a'}, {5, 'c'}}) == 1);
  check(changes_between({{0, 'a'}, {5, 'b'}}, {{0, 'a'}, {5, 'c'}, {7, 'd'}}) == 1);
  check(changes_between({{0, 'a'}, {5, 'b'}}, {{0, 'a'}, {5, 'c'}, {7, 'd'}, {9, 'e'}}) == 1);
  check(changes_between({{0, 'a'}, {5, 'b'}, {7, 'c'}}, {{0, 'x'}}) == 1);
  check(changes_between({{0, 'a'}, {5, 'b'}, {7, 'c'}}, {{0, 'a'}, {5, 'x'}}) == 1);
  check(changes_between({{0, 'a'}, {3, 'b'}}, {{0, 'x'}, {2, 'y'}}) == 2);  // a border moves
}

TEST_CASE("a border that moves is a split and a merge") {
  auto const before = *small_map::from_boundaries({{0, 'a'}, {3, 'b'}}, 6);
  auto const after = *small_map::from_boundaries({{0, 'x'}, {2, 'y'}}, 6);
  std::vector<change> const expected{small_split{{{0, 3}, 'a'}, {{{0, 2}, 'x'}, {{2, 3}, 'y'}}},
                                     small_merge{{{{2, 3}, 'y'}, {{3, 6}, 'b'}}, {{2, 6}, 'y'}}};
  CHECK(*diff(before, after) == expected);
}

TEST_CASE("the example of changes reads as it should") {
  // [region: example]
  using partitions = keyspan::range_map<keyspan::token128, char>;
  auto const at = [](auto digits) { return *keyspan::from_hex<keyspan::token128>(digits); };
  partitions map{keyspan::whole_space(keyspan::cosmos_v2), 'a'};
  partitions const before = map;

  keyspan::split_change<keyspan::token128, char> const split{
      .parent = {map.whole(), 'a'},
      .children = {{{keyspan::token128{}, at("20")}, 'b'}, {{at("20"), keyspan::space_end}, 'c'}}};
  check(keyspan::apply(map, split).has_value());
  check(map.at(at("1F")) == 'b' && map.at(at("20")) == 'c');

  auto const again = keyspan::apply(map, split);  // the parent is gone by now
  check(again.error().to_text() == "unknown_range: the map has no range \"\" to FF");

  auto const back = keyspan::diff(map, before);
  check(back->size() == 1);
  auto const& merge = std::get<keyspan::merge_change<keyspan::token128, char>>(back->front());
  check(merge.to_text() == "[\"\", FF) is merged of 2");
  check(keyspan::apply(map, *back).has_value() && map == before);
  // [end: example]
}

constexpr bool changes_are_made_in_constant_expressions_too() {
  small_map m{{0, space_end}, 'a'};
  check(apply(m, small_split{{{0, space_end}, 'a'}, {{{4, space_end}, 'c'}, {{0, 4}, 'b'}}})
            .has_value());
  check(m.at(3) == 'b' && m.at(4) == 'c' && m.size() == 2);
  check(apply(m, small_merge{{{{4, space_end}, 'c'}, {{0, 4}, 'b'}}, {{0, space_end}, 'd'}})
            .has_value());
  check(m == small_map{{0, space_end}, 'd'});
  return true;
}
CHECK_BOTH(changes_are_made_in_constant_expressions_too);

TEST_CASE("the error says which range is not there, or what does not fit") {
  auto const text_of = [](auto const& one) {
    auto m = *small_map::from_boundaries({{0, 'a'}, {3, 'b'}, {6, 'c'}}, 9);
    auto const before = m;
    auto const applied = apply(m, one);
    REQUIRE(!applied);
    CHECK(m == before);
    return std::string{applied.error().to_text().view()};
  };
  CHECK(text_of(small_split{{{0, 2}, 'a'}, {{{0, 2}, 'x'}}}) ==
        "unknown_range: the map has no range 0 to 2");
  CHECK(text_of(small_split{{{1, 3}, 'a'}, {{{1, 3}, 'x'}}}) ==
        "unknown_range: the map has no range 1 to 3");
  CHECK(text_of(small_split{{{0, 3}, 'b'}, {{{0, 3}, 'x'}}}) ==
        "unknown_range: the range 0 to 3 has another value in the map");
  CHECK(text_of(small_split{{{9, 12}, 'b'}, {{{9, 12}, 'x'}}}) ==
        "unknown_range: the map does not reach to the range 9 to 12");
  CHECK(text_of(small_split{{{6, space_end}, 'c'}, {{{6, space_end}, 'x'}}}) ==
        "unknown_range: the map has no range 6 to the end");
  CHECK(text_of(small_split{{{0, 3}, 'a'}, {}}) == "gap: gap between 0 and 3");
  CHECK(text_of(small_split{{{0, 3}, 'a'}, {{{2, 3}, 'x'}, {{0, 1}, 'y'}}}) ==
        "gap: gap between 1 and 2");
  CHECK(text_of(small_split{{{0, 3}, 'a'}, {{{0, 2}, 'x'}, {{1, 3}, 'y'}}}) ==
        "overlap: two ranges both claim 1 to 2");
  CHECK(text_of(small_split{{{0, 3}, 'a'}, {{{0, 4}, 'x'}}}) ==
        "invalid_range: a range claims 3 to 4, which is outside of the whole");
  CHECK(text_of(small_merge{{}, {{0, 3}, 'x'}}) == "gap: gap between 0 and 3");
  CHECK(text_of(small_merge{{{{0, 3}, 'a'}, {{6, 9}, 'c'}}, {{0, 9}, 'x'}}) ==
        "gap: gap between 3 and 6");
  CHECK(text_of(small_merge{{{{0, 3}, 'a'}, {{3, 6}, 'b'}}, {{0, 7}, 'x'}}) ==
        "gap: gap between 6 and 7");
  CHECK(text_of(small_merge{{{{0, 3}, 'a'}, {{3, 6}, 'b'}}, {{0, 5}, 'x'}}) ==
        "invalid_range: a range claims 5 to 6, which is outside of the whole");
  CHECK(text_of(small_merge{{{{0, 3}, 'a'}, {{0, 3}, 'a'}}, {{0, 3}, 'x'}}) ==
        "overlap: two ranges both claim 0 to 3");
}

TEST_CASE("of several changes all are made or none") {
  auto m = *small_map::from_boundaries({{0, 'a'}, {3, 'b'}}, 6);
  auto const before = m;
  std::vector<change> changes{small_split{{{0, 3}, 'a'}, {{{0, 1}, 'x'}, {{1, 3}, 'y'}}},
                              small_merge{{{{1, 3}, 'y'}, {{3, 6}, 'b'}}, {{1, 6}, 'z'}},
                              small_split{{{0, 3}, 'a'}, {{{0, 3}, 'b'}}}};
  auto const applied = apply(m, changes);
  CHECK(applied.error().text == "the map has no range 0 to 3");
  CHECK(m == before);
  changes.pop_back();
  CHECK(apply(m, changes).has_value());
  CHECK(m == *small_map::from_boundaries({{0, 'x'}, {1, 'z'}}, 6));
  CHECK(apply(m, std::vector<change>{}).has_value());
  change const array[]{small_split{{{0, 1}, 'x'}, {{{0, 1}, 'y'}}}};
  CHECK(apply(m, array).has_value());
  CHECK(apply(m, array[0]).error().code == errc::unknown_range);
}

TEST_CASE("maps of different stretches have no difference") {
  auto const text_of = [](small_range const& a, small_range const& b) {
    auto const changes = diff(small_map{a, 'a'}, small_map{b, 'b'});
    REQUIRE(!changes);
    return std::string{changes.error().to_text().view()};
  };
  CHECK(text_of({0, 5}, {1, 5}) == "invalid_range: one map begins at 0, the other at 1");
  CHECK(text_of({0, 5}, {0, space_end}) ==
        "invalid_range: one map ends at 5, the other at the end");
  CHECK(text_of({0, 5}, {1, 6}) == "invalid_range: one map begins at 0, the other at 1");
}

TEST_CASE("changes are values with a text") {
  small_split const in_two{{{0, 4}, 'a'}, {{{0, 2}, 'b'}, {{2, 4}, 'c'}}};
  small_split other = in_two;
  CHECK(in_two == other);
  other.children[1].value = 'd';
  CHECK(in_two != other);
  CHECK(in_two.to_text() == "[0, 4) is split in 2");
  CHECK(small_split{{{0, 4}, 'a'}, {{{0, 4}, 'c'}}}.to_text() == "[0, 4) changes hands");
  small_merge const of_two{{{{0, 2}, 'b'}, {{2, 4}, 'c'}}, {{0, 4}, 'a'}};
  CHECK(of_two.to_text() == "[0, 4) is merged of 2");
  CHECK(change{in_two} != change{of_two});
  std::ostringstream out;
  out << in_two << "; " << of_two;
  CHECK(out.str() == "[0, 4) is split in 2; [0, 4) is merged of 2");
  // Two long bounds and the count have room.
  token_range<token128> const long_one{{1, 1}, token128{2, 2}};
  split_change<token128, int> const long_split{{long_one, 0}, {{long_one, 1}, {long_one, 2}}};
  CHECK(!long_split.to_text().is_cut());
}

TEST_CASE("changes of hierarchical ranges that begin alike can be told apart") {
  using token = keyspan::token_multihash;
  std::string const tenant(52, '3');
  auto const at = [&](std::string_view end) { return *token::from_hex(tenant + std::string{end}); };
  token_range<token> const range{at("00000000000A"), at("00000000000C")};
  std::vector<owned_range<token, int>> const halves{{{at("00000000000A"), at("00000000000B")}, 1},
                                                    {{at("00000000000B"), at("00000000000C")}, 2}};
  std::string const text =
      "[333333333333\xE2\x80\xA6"
      "00000000A, 333333333333\xE2\x80\xA6"
      "00000000C)";
  CHECK(split_change<token, int>{{range, 0}, halves}.to_text() == text + " is split in 2");
  CHECK(merge_change<token, int>{halves, {range, 0}}.to_text() == text + " is merged of 2");

  using map = range_map<token, int>;
  auto const text_of = [](token_range<token> const& a, token_range<token> const& b) {
    return std::string{diff(map{a, 1}, map{b, 1}).error().text.view()};
  };
  CHECK(text_of(range, {at("00000000000B"), at("00000000000C")}) ==
        "one map begins at 333333333333\xE2\x80\xA6"
        "00000000A, the other at 333333333333\xE2\x80\xA6"
        "00000000B");
  CHECK(text_of(range, {at("00000000000A"), at("00000000000B")}) ==
        "one map ends at 333333333333\xE2\x80\xA6"
        "00000000C, the other at 333333333333\xE2\x80\xA6"
        "00000000B");
  CHECK(text_of({at("00000000000A"), space_end}, range).starts_with("one map ends at FF, the "));
}

// Borders are drawn from a few so that many are common, or from all so that none is.
range_map<token128, int> random_map(test::random& random, std::size_t ranges, bool few_borders) {
  std::set<token128> borders{token128{}};
  while (borders.size() < ranges) {
    borders.insert(few_borders ? token128{random.below(2 * ranges) << 40, 0}
                               : token128{random(), random()});
  }
  std::vector<std::pair<token128, int>> firsts;
  for (auto const& border : borders) firsts.emplace_back(border, static_cast<int>(random.below(3)));
  return *range_map<token128, int>::from_boundaries(std::move(firsts));
}

TEST_CASE("the difference of large maps makes one of the other") {
  test::random random{20260611};
  for (int round = 0; round < 40; ++round) {
    bool const few_borders = round % 2 == 0;
    auto before = random_map(random, 1 + random.below(300), few_borders);
    auto const after = random_map(random, 1 + random.below(300), few_borders);
    auto const changes = diff(before, after);
    REQUIRE(changes.has_value());
    REQUIRE(apply(before, *changes).has_value());
    CHECK(before == after);
  }
}

TEST_CASE("a long history of splits and merges is undone by one difference") {
  test::random random{7};
  range_map<token128, int> m{{token128{}, space_end}, 0};
  auto const first = m;
  for (int step = 1; step <= 500; ++step) {
    auto const before = m;
    auto const [range, value] = m[random.below(m.size())];
    if (m.size() > 1 && random.chance(40)) {
      std::size_t const left = random.below(m.size() - 1);
      auto const a = m[left];
      auto const b = m[left + 1];
      merge_change<token128, int> const one{{{a.range(), a.value()}, {b.range(), b.value()}},
                                            {join(a.range(), b.range()), step}};
      REQUIRE(apply(m, one).has_value());
      CHECK(*diff(before, m) == std::vector<topology_change<token128, int>>{one});
    } else {
      token128 const at{random(), random()};
      if (!range.contains(at) || at == range.lower()) continue;
      auto const [left, right] = keyspan::split(range, at);
      split_change<token128, int> const one{{range, value}, {{left, step}, {right, -step}}};
      REQUIRE(apply(m, one).has_value());
      CHECK(*diff(before, m) == std::vector<topology_change<token128, int>>{one});
    }
  }
  auto const back = diff(m, first);
  CHECK(back->size() == 1);
  CHECK(apply(m, *back).has_value());
  CHECK(m == first);
}

// A value whose copies run out.
struct rationed {
  static inline int copies_left = 1'000'000;

  explicit rationed(int n) : number{n} {}
  rationed(rationed const& other) : number{other.number} { spend(); }
  rationed(rationed&&) noexcept = default;
  rationed& operator=(rationed const& other) {
    spend();
    number = other.number;
    return *this;
  }
  rationed& operator=(rationed&&) noexcept = default;
  ~rationed() = default;
  friend bool operator==(rationed const&, rationed const&) = default;

  static void spend() {
    if (--copies_left < 0) throw std::runtime_error{"no more copies"};
  }

  int number;
};

TEST_CASE("where the copy of a value throws the map is as it was") {
  using owner = owned_range<int, rationed>;
  using changes_of_it = std::vector<topology_change<int, rationed>>;
  std::vector<owner> ranges{
      {{0, 3}, rationed{1}}, {{3, 6}, rationed{2}}, {{6, 9}, rationed{3}}, {{9, 12}, rationed{4}}};
  auto m = *range_map<int, rationed>::from_ranges(ranges, {0, 12});
  auto const before = m;
  split_change<int, rationed> const in_order{{{0, 3}, rationed{1}},
                                             {{{0, 2}, rationed{5}}, {{2, 3}, rationed{6}}}};
  split_change<int, rationed> const unordered{{{6, 9}, rationed{3}},
                                              {{{8, 9}, rationed{5}}, {{6, 8}, rationed{6}}}};
  merge_change<int, rationed> const merged{{{{3, 6}, rationed{2}}, {{6, 9}, rationed{3}}},
                                           {{3, 9}, rationed{7}}};
  changes_of_it const several{in_order, merged};

  auto const survives = [&](auto const& one) {
    int thrown = 0;
    for (int copies = 0;; ++copies) {
      rationed::copies_left = copies;
      try {
        bool const applied = apply(m, one).has_value();
        rationed::copies_left = 1'000'000;
        REQUIRE(applied);
        CHECK(!(m == before));
        m = before;
        return thrown;
      } catch (std::runtime_error const&) {
        rationed::copies_left = 1'000'000;
        ++thrown;
        if (!(m == before)) FAIL("the map was changed by half");
      }
    }
  };
  CHECK(survives(in_order) >= 5);
  CHECK(survives(unordered) >= 5);
  CHECK(survives(merged) >= 3);
  CHECK(survives(several) >= 8);
  auto const changes = [&] {
    auto changed = before;
    REQUIRE(apply(changed, several).has_value());
    return diff(before, changed);
  }();
  CHECK(survives(*changes) >= 8);
}

}  // namespace
