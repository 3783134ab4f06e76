// test/range/range_map_test.cpp — small spaces in full, long random histories beside a plain model,
// and what must not go wrong halfway.
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/range/range_map.hpp>

#include <range/v3/numeric/accumulate.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/reverse.hpp>
#include <range/v3/view/transform.hpp>

#include <hash/golden.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::evenly_split;
using keyspan::owned_range;
using keyspan::range_map;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_range;
using test::check;

using small_map = range_map<int, int>;

static_assert(std::ranges::random_access_range<small_map const&>);
static_assert(std::ranges::view<keyspan::index_view<small_map>>);
static_assert(std::is_nothrow_move_constructible_v<small_map>);

// A token that knows its order and nothing else: no prefix, no text.
struct bare_token {
  int place = 0;
  friend constexpr auto operator<=>(bare_token const&, bare_token const&) = default;
};
static_assert(keyspan::token<bare_token> && !keyspan::prefixed_token<bare_token>);

constexpr int space = 6;

// The map whose cuts are the bits of `cuts`: bit i cuts before token i + 1. Values name the cuts.
template <class Token = int>
constexpr range_map<Token, int> map_of_cuts(unsigned cuts) {
  std::vector<std::pair<Token, int>> firsts{{Token{0}, 100}};
  for (int at = 1; at < space; ++at)
    if ((cuts >> (at - 1) & 1) != 0) firsts.emplace_back(Token{at}, 100 + at);
  return *range_map<Token, int>::from_boundaries(firsts, Token{space});
}
constexpr unsigned all_cuts = 1U << (space - 1);

// Compilers bound the steps of a constant expression: there every fifth map has to do.
constexpr unsigned next_cuts(unsigned cuts) {
  return cuts + (std::is_constant_evaluated() ? 5 : 1);
}

constexpr int first_of(unsigned cuts, int token) {
  while (token > 0 && (cuts >> (token - 1) & 1) == 0) --token;
  return token;
}

template <class Token>
constexpr bool finds_what_the_cuts_say() {
  for (unsigned cuts = 0; cuts < all_cuts; ++cuts) {
    auto const map = map_of_cuts<Token>(cuts);
    for (int t = -1; t <= space; ++t) {
      bool const inside = t >= 0 && t < space;
      Token const token{t};
      check(map.contains(token) == inside);
      check((map.find(token) != nullptr) == inside);
      if (!inside) continue;
      int const first = first_of(cuts, t);
      check(*map.find(token) == 100 + first);
      check(map.at(token) == 100 + first);
      auto const i = map.index_of(token);
      check(map[i].range().contains(token) && map[i].range().lower() == Token{first});
      check(map[i].value() == 100 + first && map.values()[i] == 100 + first);
      check(map.entry_of(token).range() == map[i].range() &&
            &map.entry_of(token).value() == &map[i].value());
    }
  }
  return true;
}
constexpr bool every_token_of_a_small_space_is_found_by_its_bits() {
  return finds_what_the_cuts_say<int>();
}
constexpr bool every_token_of_a_small_space_is_found_by_its_order_alone() {
  return finds_what_the_cuts_say<bare_token>();
}
CHECK_BOTH(every_token_of_a_small_space_is_found_by_its_bits);
CHECK_BOTH(every_token_of_a_small_space_is_found_by_its_order_alone);

constexpr bool iteration_goes_through_all_ranges_in_token_order() {
  for (unsigned cuts = 0; cuts < all_cuts; ++cuts) {
    auto const map = map_of_cuts(cuts);
    int reached = 0;
    std::size_t count = 0;
    for (auto const& [range, value] : map) {
      check(range.lower() == reached && value == 100 + reached);
      check(map.lowers()[count] == reached);
      reached = range.upper().at();
      ++count;
    }
    check(reached == space && count == map.size());
    check(map.whole() == token_range{0, space});
  }
  return true;
}
CHECK_BOTH(iteration_goes_through_all_ranges_in_token_order);

constexpr bool overlapping_gives_the_ranges_that_share_a_token_and_no_other() {
  for (unsigned cuts = 0; cuts < all_cuts; cuts = next_cuts(cuts)) {
    auto const map = map_of_cuts(cuts);
    for (int lower = -2; lower <= space; ++lower) {
      for (int upper = lower + 1; upper <= space + 2; ++upper) {
        bool const open = upper == space + 2;
        auto const stretch = open ? token_range<int>{lower, space_end} : token_range{lower, upper};
        auto found = map.overlapping(stretch);
        auto next = found.begin();
        for (auto const& each : map) {
          if (!overlaps(each.range(), stretch)) continue;
          check(next != found.end() && next->range() == each.range());
          ++next;
        }
        check(next == found.end());
        check(found.empty() == (found.size() == 0));
      }
    }
  }
  return true;
}
CHECK_BOTH(overlapping_gives_the_ranges_that_share_a_token_and_no_other);

// The law of consistency, with nothing left out: every map, every cut, every token.
constexpr bool a_split_moves_tokens_of_the_range_it_cuts_and_no_other() {
  for (unsigned cuts = 0; cuts < all_cuts; cuts = next_cuts(cuts)) {
    for (int at = 1; at < space; ++at) {
      if ((cuts >> (at - 1) & 1) != 0) continue;
      auto const before = map_of_cuts(cuts);
      auto after = before;
      after.split(at, 1, 2);
      check(after.size() == before.size() + 1);
      auto const cut = before.entry_of(at).range();
      for (int t = 0; t < space; ++t)
        check(after.at(t) == (!cut.contains(t) ? before.at(t) : t < at ? 1 : 2));
      after.join(cut, before.at(at));
      check(after == before);
    }
  }
  return true;
}
CHECK_BOTH(a_split_moves_tokens_of_the_range_it_cuts_and_no_other);

constexpr bool a_join_moves_tokens_of_the_stretch_it_names_and_no_other() {
  for (unsigned cuts = 0; cuts < all_cuts; cuts = next_cuts(cuts)) {
    auto const before = map_of_cuts(cuts);
    for (std::size_t first = 0; first < before.size(); ++first) {
      for (std::size_t last = first; last < before.size(); ++last) {
        token_range<int> const stretch{before[first].range().lower(), before[last].range().upper()};
        auto after = before;
        after.join(stretch, 7);
        check(after.size() == before.size() - (last - first));
        check(after.entry_of(stretch.lower()).range() == stretch);
        for (int t = 0; t < space; ++t)
          check(after.at(t) == (stretch.contains(t) ? 7 : before.at(t)));
      }
    }
  }
  return true;
}
CHECK_BOTH(a_join_moves_tokens_of_the_stretch_it_names_and_no_other);

constexpr bool a_range_is_split_in_as_many_parts_as_there_are_values() {
  auto map = map_of_cuts(0b00010);
  std::array const cuts{3, 4, 5};
  std::array const values{1, 2, 3, 4};
  map.split(cuts, values);
  check(map.size() == 5);
  for (auto const& [token, value] : {std::pair{0, 100}, {1, 100}, {2, 1}, {3, 2}, {4, 3}, {5, 4}})
    check(map.at(token) == value);
  return true;
}
CHECK_BOTH(a_range_is_split_in_as_many_parts_as_there_are_values);

constexpr bool other_parts_take_the_place_of_a_stretch() {
  auto map = map_of_cuts(0b10101);
  std::array const parts{owned_range{token_range{1, 2}, 1}, owned_range{token_range{2, 5}, 2}};
  map.replace({1, 5}, parts);
  check(map ==
        *small_map::from_ranges({{{0, 1}, 100}, {{1, 2}, 1}, {{2, 5}, 2}, {{5, 6}, 105}}, {0, 6}));
  return true;
}
CHECK_BOTH(other_parts_take_the_place_of_a_stretch);

constexpr bool ranges_and_boundaries_make_the_same_map_in_any_order() {
  std::vector<owned_range<int, int>> ranges{{{0, 2}, 1}, {{2, 3}, 2}, {{3, 9}, 3}};
  std::vector<std::pair<int, int>> firsts{{0, 1}, {2, 2}, {3, 3}};
  auto const in_order = *small_map::from_ranges(ranges, {0, 9});
  std::ranges::reverse(ranges);
  std::ranges::reverse(firsts);
  check(*small_map::from_ranges(ranges, {0, 9}) == in_order);
  check(*small_map::from_boundaries(firsts, 9) == in_order);
  check(!(*small_map::from_boundaries(firsts) == in_order));  // that one has no end
  check(small_map::from_boundaries(firsts)->at(std::numeric_limits<int>::max()) == 3);
  return true;
}
CHECK_BOTH(ranges_and_boundaries_make_the_same_map_in_any_order);

constexpr bool a_value_is_changed_in_its_place() {
  auto map = map_of_cuts(0b00100);
  map.at(4) = 8;
  *map.find(0) = 9;
  check(map.at(5) == 8 && map.at(2) == 9 && map.find(6) == nullptr);
  return true;
}
CHECK_BOTH(a_value_is_changed_in_its_place);

std::string text(keyspan::result<small_map> const& made) {
  REQUIRE(!made.has_value());
  return std::string{made.error().to_text().view()};
}

TEST_CASE("ranges that are no cover are refused by the name of what is wrong") {
  using list = std::vector<owned_range<int, int>>;
  token_range const whole{0, 9};
  CHECK(text(small_map::from_ranges({}, whole)) == "gap: gap between 0 and 9");
  CHECK(text(small_map::from_ranges(list{{{5, 9}, 2}, {{0, 4}, 1}}, whole)) ==
        "gap: gap between 4 and 5");
  CHECK(text(small_map::from_ranges(list{{{0, 9}, 2}, {{3, 4}, 1}}, whole)) ==
        "overlap: two ranges both claim 3 to 4");
  CHECK(small_map::from_ranges(list{{{0, 9}, 2}, {{9, 10}, 1}}, whole).error().code ==
        errc::invalid_range);
  CHECK(small_map::from_ranges(list{{{0, 9}, 1}, {{0, 9}, 1}}, whole).error().code ==
        errc::overlap);
  CHECK(text(small_map::from_boundaries({})) ==
        "invalid_options: there are no boundaries; a map has one range at least");
  CHECK(text(small_map::from_boundaries({{4, 1}, {0, 2}, {4, 3}})) ==
        "overlap: two ranges begin at 4");
  CHECK(text(small_map::from_boundaries({{4, 1}, {0, 2}}, 4)) ==
        "invalid_range: the boundary 4 is not before the end 4");
}

TEST_CASE("an end that a boundary reaches is named so that it can be told apart") {
  using token = keyspan::token_multihash;
  std::string const tenant(52, '3');
  auto const at = [&](std::string_view end) { return *token::from_hex(tenant + std::string{end}); };
  auto const made = range_map<token, int>::from_boundaries({{token{}, 1}, {at("00000000000B"), 2}},
                                                           at("00000000000A"));
  CHECK(made.error().text ==
        "the boundary 333333333333\xE2\x80\xA6"
        "00000000B is not before the end 333333333333\xE2\x80\xA6"
        "00000000A");
}

TEST_CASE("what a caller of a range map promises is checked") {
  using test::promise_broken_by;
  auto map = map_of_cuts(0b00110);  // [0,2) [2,3) [3,6)
  auto const before = map;
  std::array const falling{5, 4};
  std::array const across{1, 2};
  std::array const three{1, 2, 3};
  std::array const two{1, 2};
  auto const inside = "the cuts rise inside of one range, none on its border";
  auto const borders = "ranges of the map begin and end where the stretch does";
  CHECK(promise_broken_by([&] { return map.at(6); }) == "the map covers the token");
  CHECK(promise_broken_by([&] { return map.index_of(-1); }) == "the map covers the token");
  CHECK(promise_broken_by([&] { return map[3].value(); }) == "the map has a range of this number");
  CHECK(promise_broken_by([&] { return map.split(2, 1, 2), 0; }) == inside);
  CHECK(promise_broken_by([&] { return map.split(0, 1, 2), 0; }) == inside);
  CHECK(promise_broken_by([&] { return map.split(falling, three), 0; }) == inside);
  CHECK(promise_broken_by([&] { return map.split(across, three), 0; }) == inside);
  CHECK(promise_broken_by([&] { return map.split(6, 1, 2), 0; }) ==
        "the map covers the token at which it is cut");
  CHECK(promise_broken_by([&] { return map.split(two, two), 0; }) == "every part has a value");
  CHECK(promise_broken_by([&] { return map.split({4, 5}, {1, 2, 3, 4}), 0; }) ==
        "every part has a value");
  std::array const late{owned_range{token_range{4, 6}, 1}};
  CHECK(promise_broken_by([&] { return map.replace({3, 6}, late), 0; }) ==
        "the parts make up the stretch");
  CHECK(promise_broken_by([&] { return map.split(std::span<int>{}, two), 0; }) ==
        "a split has a cut at least");
  for (auto const& off : {token_range{0, 1}, token_range{1, 3}, token_range{0, 5},
                          token_range{0, 7}, token_range{-1, 6}, token_range<int>{0, space_end}})
    CHECK(promise_broken_by([&] { return map.join(off, 1), 0; }) == borders);
  std::array const hole{owned_range{token_range{0, 1}, 1}, owned_range{token_range{2, 3}, 2}};
  CHECK(promise_broken_by([&] { return map.replace({0, 3}, hole), 0; }) ==
        "the parts follow each other");
  CHECK(promise_broken_by([&] { return map.replace({0, 2}, hole), 0; }) ==
        "the parts make up the stretch");
  CHECK(promise_broken_by([&] { return evenly_split(cosmos_v2, 0); }) ==
        "a map has one range at least");
  CHECK(map == before);
}

// ----- long histories
// -------------------------------------------------------------------------------

template <class Token>
Token token_of_number(std::uint64_t number) {
  if constexpr (std::is_same_v<Token, token128>)
    return {number >> 20, number << 44};
  else if constexpr (std::is_same_v<Token, std::string>)
    return {static_cast<char>(number >> 56),
            static_cast<char>(number >> 48),
            static_cast<char>(number >> 40),
            'x',
            'x',
            'x',
            'x',
            'x',
            'x',
            static_cast<char>(number >> 32)};
  else
    return static_cast<Token>(number - (std::is_signed_v<Token> ? std::uint64_t{1} << 63 : 0));
}

// Cuts at places of the kind that make an index work: spread out, one beside the other, in one
// corner, and such that agree in their first bits.
std::uint64_t some_number(test::random& random) {
  switch (random.below(4)) {
    case 0:
      return random();
    case 1:
      return 0x7777'0000'0000'0000 + random.below(64);
    case 2:
      return random() >> random.below(64);
    default:
      return (random.below(16) << 60) + (random.below(3) << 20);
  }
}

struct tally {
  int changes = 0;
  int splits_in_more = 0;  // than two
  int replacements = 0;

  tally& operator+=(tally const& other) {
    changes += other.changes;
    splits_in_more += other.splits_in_more;
    replacements += other.replacements;
    return *this;
  }
};

template <class Token>
class history {
 public:
  explicit history(std::uint64_t seed) : random_{seed} {}

  tally run(int changes) {
    while (made_.changes < changes) {
      std::uint64_t const number = some_number(random_);
      bool const grows = model_.size() < 2 || random_.chance(model_.size() < 200 ? 60 : 40);
      if (!(grows ? split(number) : random_.chance(75) ? join() : replace(number))) continue;
      ++made_.changes;
      for (int i = 0; i < 3; ++i) agree_at(token_of_number<Token>(some_number(random_)));
      agree_at(token_of_number<Token>(number));
      REQUIRE(map_.size() == model_.size());
      if (made_.changes % 500 == 0) agree_in_full();
    }
    return made_;
  }

 private:
  using place = typename std::map<Token, int>::iterator;

  place owner_of(Token const& token) { return std::prev(model_.upper_bound(token)); }

  // Tokens between two places, near to a number, rising; few or none.
  std::vector<Token> cuts_between(place from, place behind, std::uint64_t number) {
    std::vector<Token> cuts;
    auto const add = [&](Token const& at) {
      if (from->first < at && (behind == model_.end() || at < behind->first)) cuts.push_back(at);
    };
    add(token_of_number<Token>(number));
    if (random_.chance(30))
      for (auto more = random_.below(2) + 1; more > 0; --more)
        add(token_of_number<Token>(number + (random_() >> random_.below(64))));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  }

  bool split(std::uint64_t number) {
    auto const whole = owner_of(token_of_number<Token>(number));
    auto const cuts = cuts_between(whole, std::next(whole), number);
    if (cuts.empty()) return false;
    std::vector<int> values{next_++};
    while (values.size() <= cuts.size()) values.push_back(next_++);
    if (cuts.size() == 1) {
      map_.split(cuts[0], values[0], values[1]);
    } else {
      map_.split(cuts, values);
      ++made_.splits_in_more;
    }
    whole->second = values[0];
    for (std::size_t i = 0; i < cuts.size(); ++i) model_.emplace(cuts[i], values[i + 1]);
    return true;
  }

  // Up to four neighbours, and what lies behind them.
  std::pair<place, place> neighbours() {
    auto const count = std::min<std::size_t>(random_.below(3) + 2, model_.size());
    auto const first = random_.below(model_.size() - count + 1);
    auto const from = std::next(model_.begin(), static_cast<std::ptrdiff_t>(first));
    return {from, std::next(from, static_cast<std::ptrdiff_t>(count))};
  }
  token_range<Token> stretch_of(place from, place behind) const {
    if (behind == model_.end()) return {from->first, space_end};
    return {from->first, behind->first};
  }

  bool join() {
    auto const [from, behind] = neighbours();
    from->second = next_++;
    map_.join(stretch_of(from, behind), from->second);
    model_.erase(std::next(from), behind);
    return true;
  }

  bool replace(std::uint64_t number) {
    auto const [from, behind] = neighbours();
    auto const stretch = stretch_of(from, behind);
    auto const cuts = cuts_between(from, behind, number);
    std::vector<owned_range<Token, int>> parts;
    for (auto const& part : keyspan::split(stretch, cuts)) parts.push_back({part, next_++});
    map_.replace(stretch, parts);
    model_.erase(std::next(from), behind);
    for (auto const& part : parts) model_[part.range.lower()] = part.value;
    ++made_.replacements;
    return true;
  }

  void agree_at(Token const& token) { REQUIRE(map_.at(token) == owner_of(token)->second); }

  void agree_in_full() const {
    auto expected = model_.begin();
    for (auto const& [range, value] : map_) {
      REQUIRE(range.lower() == expected->first);
      REQUIRE(value == expected->second);
      ++expected;
      REQUIRE(range.upper() == (expected == model_.end()
                                    ? keyspan::upper_end<Token>{space_end}
                                    : keyspan::upper_end<Token>{expected->first}));
    }
  }

  test::random random_;
  range_map<Token, int> map_{{token_of_number<Token>(0), space_end}, 0};
  std::map<Token, int> model_{{token_of_number<Token>(0), 0}};
  int next_ = 1;
  tally made_{};
};

TEST_CASE("a hundred thousand splits and joins leave what a plain model has") {
  tally made;
  made += history<std::uint64_t>{1}.run(30'000);
  made += history<token128>{2}.run(40'000);
  made += history<std::int64_t>{3}.run(20'000);
  made += history<std::string>{4}.run(10'000);
  CHECK(made.changes == 100'000);
  CHECK(made.splits_in_more > 1'000);
  CHECK(made.replacements > 5'000);
}

// ----- tokens of the schemes
// ------------------------------------------------------------------------

template <class Scheme>
void parts_begin_at(Scheme const& scheme, test::golden_rows const& rows, std::string_view kind) {
  std::map<std::size_t, std::vector<std::string>> lowers;
  for (auto const& row : rows)
    if (row.kind == kind) lowers[row.partitions].push_back(row.lower);
  REQUIRE(lowers.size() > 5);
  for (auto const& [count, texts] : lowers) {
    auto const map = evenly_split(scheme, count);
    if (texts.size() != count) continue;  // of the large ones there are some rows only
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(std::string_view{map[i].range().lower().to_hex()} == texts[i]);
      CHECK(map[i].value() == i);
      CHECK(map.at(map[i].range().lower()) == i);
    }
    CHECK(map.whole() == whole_space(scheme));
  }
}

TEST_CASE("a fresh container is cut where the service cuts it") {
  auto const lists = test::golden_lists("epk_boundaries.json");
  auto const& rows = lists.at("bounds");
  parts_begin_at(keyspan::cosmos_v1, rows, "v1");
  parts_begin_at(cosmos_v2, rows, "v2");
  parts_begin_at(keyspan::cosmos_multihash, rows, "multihash");
  parts_begin_at(keyspan::any_scheme{keyspan::cosmos_v2}, rows, "v2");
}

TEST_CASE("bounds of other lengths are the same bounds where zeros are all that differs") {
  using token = keyspan::token_multihash;
  auto const at = [](std::string_view hex) { return *token::from_hex(hex); };
  std::string const zeros(32, '0');
  std::string const border = "1A00000000000000000000000000000F";
  auto map = *range_map<token, char>::from_ranges(
      {{{at(""), at(border)}, 'a'}, {{at(border + zeros), space_end}, 'b'}}, {at(""), space_end});
  CHECK(map.at(at(border)) == 'b');
  CHECK(map.at(at(border + zeros)) == 'b');
  CHECK(map.at(at(border + "01")) == 'b');
  CHECK(map.at(at("1A0000000000000000000000000000")) == 'a');
  map.join({at("00"), space_end}, 'c');
  CHECK(map.size() == 1);
}

TEST_CASE("the greatest and the least token of every kind lie in the last and the first range") {
  auto const slots = evenly_split(keyspan::redis_cluster, 3);
  CHECK(slots.at(slots.lowers().front()) == 0);
  CHECK(slots.at(16383) == 2);
  auto const ring = evenly_split(keyspan::cassandra, 7);
  CHECK(ring.at(std::numeric_limits<std::int64_t>::min()) == 0);
  CHECK(ring.at(std::numeric_limits<std::int64_t>::max()) == 6);
  auto const v2 = evenly_split(cosmos_v2, 5);
  CHECK(v2.at({}) == 0);
  CHECK(v2.at({~std::uint64_t{0} >> 2, ~std::uint64_t{0}}) == 4);
  CHECK(v2.at({~std::uint64_t{0}, ~std::uint64_t{0}}) == 4);  // beyond what the scheme makes
}

TEST_CASE("texts are tokens too, in the order of their characters") {
  auto names = *range_map<std::string, std::string>::from_boundaries(
      {{"", "a to l"}, {"m", "m"}, {"ma", "m and more"}, {"n", "the rest"}});
  CHECK(names.at("") == "a to l");
  CHECK(names.at("lzzzzzzzzzzzzzzz") == "a to l");
  CHECK(names.at("m") == "m");
  CHECK(names.at("maaaaaaaaaaaaaaaaa") == "m and more");
  CHECK(names.at("\xC3\xA9") == "the rest");
  names.split("maaaaaaaaaaaaaaab", "before", "after");
  CHECK(names.at("maaaaaaaaaaaaaaaa") == "before");
  CHECK(names.at("maaaaaaaaaaaaaaac") == "after");
}

// ----- what a map costs and what it survives
// --------------------------------------------------------

TEST_CASE("a lookup allocates nothing") {
  auto const map = evenly_split(cosmos_v2, 1000);
  test::random random{5};
  CHECK(test::allocations_in([&] {
          std::uint64_t sum = 0;
          for (int i = 0; i < 1000; ++i) {
            token128 const token{random() >> 2, random()};
            sum += map.at(token) + map.index_of(token) + *map.find(token);
            for (auto const& each : map.overlapping({token, space_end})) {
              sum += each.value();
              break;
            }
          }
          CHECK(sum > 0);
        }) == 0);
}

TEST_CASE("the index takes sixteen bytes for each range at most") {
  for (std::size_t count = 1; count < 1100; ++count) {
    auto const memory = evenly_split(cosmos_v2, count).index_memory();
    if (memory > 16 * count || memory < 4 * count) FAIL(count << " ranges: " << memory);
  }
  auto skewed = evenly_split(cosmos_v2, 2);
  for (std::uint32_t i = 2; i < 50; ++i) {
    auto const first = skewed[0].range();
    skewed.split(*cosmos_v2.midpoint(first.lower(), first.upper()), i, i + 100);
    CHECK(skewed.index_memory() <= 16 * skewed.size());
  }
}

TEST_CASE("a copy is a snapshot that later changes do not reach") {
  auto map = evenly_split(cosmos_v2, 4);
  auto const snapshot = map;
  auto const cut = *cosmos_v2.midpoint(map[1].range().lower(), map[1].range().upper());
  map.split(cut, 40, 41);
  CHECK(snapshot == evenly_split(cosmos_v2, 4));
  CHECK(snapshot.at(cut) == 1);
  CHECK(map.at(cut) == 41);
  auto assigned = evenly_split(cosmos_v2, 2);
  assigned = map;
  CHECK(assigned == map);
  auto const& same = assigned;
  assigned = same;
  CHECK(assigned == map);
  auto const moved = std::move(assigned);
  CHECK(moved == map);
}

// Throws when it is copied for the n-th time.
struct fragile {
  int id = 0;
  static inline int copies_left = 1'000'000;

  explicit fragile(int number) : id{number} {}
  fragile(fragile const& other) : id{other.id} { count(); }
  fragile& operator=(fragile const& other) {
    count();
    id = other.id;
    return *this;
  }
  ~fragile() = default;
  static void count() {
    if (--copies_left < 0) throw std::runtime_error{"no more copies"};
  }
  friend bool operator==(fragile const& a, fragile const& b) { return a.id == b.id; }
};

template <class Change>
void leaves_the_map_alone_when_it_fails(Change change) {
  using map = range_map<int, fragile>;
  auto make = [] {
    return *map::from_boundaries({{0, fragile{1}}, {3, fragile{2}}, {6, fragile{3}}}, 9);
  };
  for (int copies = 0;; ++copies) {
    REQUIRE(copies < 100);
    auto changed = make();
    auto const before = make();
    fragile::copies_left = copies;
    try {
      change(changed);
      fragile::copies_left = 1'000'000;
      CHECK(copies > 0);  // it did fail before
      CHECK(!(changed == before));
      return;
    } catch (std::runtime_error const&) {
      fragile::copies_left = 1'000'000;
      REQUIRE(changed == before);
      REQUIRE(changed.at(4) == fragile{2});
    }
  }
}

TEST_CASE("a copy that throws leaves the map as it was") {
  using map = range_map<int, fragile>;
  leaves_the_map_alone_when_it_fails([](map& m) { m.split(4, fragile{7}, fragile{8}); });
  leaves_the_map_alone_when_it_fails([](map& m) {
    std::array const cuts{4, 5};
    std::vector const values{fragile{7}, fragile{8}, fragile{9}};
    m.split(cuts, values);
  });
  leaves_the_map_alone_when_it_fails([](map& m) { m.join({0, 6}, fragile{7}); });
  leaves_the_map_alone_when_it_fails([](map& m) {
    std::vector const parts{owned_range{token_range{3, 9}, fragile{7}}};
    m.replace({3, 9}, parts);
  });
  leaves_the_map_alone_when_it_fails([](map& m) {
    map const other{{0, 9}, fragile{5}};
    m = other;
  });
}

TEST_CASE("an allocation that fails leaves the map as it was") {
  auto const before = map_of_cuts(0b10010);
  std::size_t failures = 0;
  for (auto const change : {+[](small_map& m) { m.split(4, 1, 2); },  //
                            +[](small_map& m) { m.join({0, 5}, 3); },
                            +[](small_map& m) { m.split({3, 4}, {1, 2, 3}); }}) {
    for (std::size_t allocation = 0;; ++allocation) {
      REQUIRE(allocation < 20);
      auto map = before;
      bool failed = false;
      try {
        test::failing_allocation const fails{allocation};
        change(map);
      } catch (std::bad_alloc const&) {
        failed = true;
      }
      if (!failed) break;
      ++failures;
      REQUIRE(map == before);
      for (int t = 0; t < space; ++t) REQUIRE(map.at(t) == before.at(t));
    }
  }
  CHECK(failures >= 9);  // bounds, values and the index of three changes
}

template <class Map>
concept shows_what_a_temporary_has =
    requires(Map map) { std::move(map).overlapping(map.whole()); } ||
    requires(Map map) { std::move(map).lowers(); } ||
    requires(Map map) { std::move(map).values(); } ||
    requires(Map map) { std::move(map).find(map.lowers()[0]); } ||
    requires(Map map) { std::move(map).at(map.lowers()[0]); } ||
    requires(Map map) { std::move(map).entry_of(map.lowers()[0]); } ||
    requires(Map map) { std::move(map)[0]; } || requires(Map map) { std::move(map).begin(); } ||
    requires(Map map) { std::move(map).end(); };
static_assert(!shows_what_a_temporary_has<small_map>);
static_assert(!shows_what_a_temporary_has<small_map const>);

template <class Whole>
using part_of = decltype(std::declval<Whole>().template get<0>());
using small_entry = small_map::entry;
static_assert(std::is_same_v<part_of<small_entry const&>, token_range<int> const&>);
static_assert(std::is_same_v<part_of<small_entry>, token_range<int>>);
static_assert(std::is_same_v<part_of<small_entry const>, token_range<int>>);

// Long enough to be kept elsewhere, so that a look at what is gone is seen to be one.
range_map<std::string, std::string> map_of_long_texts() {
  std::string const x(80, 'x');
  return *range_map<std::string, std::string>::from_boundaries(
      {{"", x + "first"}, {x + "1", x + "second"}, {x + "2", x + "third"}});
}

TEST_CASE("ranges and values are projected by the members of an entry") {
  auto const map = map_of_long_texts();
  using entry = decltype(map)::entry;
  std::vector<token_range<std::string>> expected;
  for (std::size_t i = 0; i < map.size(); ++i) expected.push_back(map[i].range());

  static_assert(
      std::is_same_v<
          std::ranges::range_reference_t<decltype(map | std::views::transform(&entry::range))>,
          token_range<std::string>>);
  std::vector<token_range<std::string>> found;
  for (auto&& range : map | std::views::transform(&entry::range)) found.push_back(range);
  CHECK(found == expected);
  found.clear();
  for (auto&& range : map | ranges::views::transform(&entry::range)) found.push_back(range);
  CHECK(found == expected);

  std::vector<std::string const*> values;
  for (auto&& value : map | std::views::transform(&entry::value)) values.push_back(&value);
  for (auto&& value : map | ranges::views::transform(&entry::value)) values.push_back(&value);
  REQUIRE(values.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(values[i] == &map.values()[i % 3]);

  auto const all = map.overlapping(map.whole());
  CHECK(std::ranges::equal(all, expected, {}, &entry::range));
  CHECK(std::ranges::max_element(map, {}, &entry::value)->range() == expected.back());
}

TEST_CASE("an entry is taken apart into its range and its value") {
  auto const map = map_of_long_texts();
  auto const& [range, value] = map[1];
  CHECK(range == map[1].range());
  CHECK(&value == &map.values()[1]);
  auto const [copied, same] = map.entry_of(map.lowers()[2]);
  CHECK(copied == map[2].range());
  CHECK(&same == &map.values()[2]);
  std::size_t seen = 0;
  for (auto const& [each, owner] : map.overlapping(map.whole())) {
    CHECK(each == map[seen].range());
    CHECK(&owner == &map.values()[seen++]);
  }
  CHECK(seen == 3);
}

TEST_CASE("the ranges of a map pipe through std::ranges and range-v3") {
  auto const map = evenly_split(cosmos_v2, 8);
  auto const from = map[2].range().lower();
  auto const value_of = [](auto const& each) { return each.value(); };
  auto const odd = [](std::uint32_t value) { return value % 2 == 1; };

  std::vector<std::uint32_t> found;
  for (auto const value : map.overlapping({from, space_end}) | std::views::transform(value_of) |
                              std::views::filter(odd))
    found.push_back(value);
  CHECK(found == std::vector<std::uint32_t>{3, 5, 7});

  found.clear();
  for (auto const value : map.overlapping({from, space_end}) | ranges::views::transform(value_of) |
                              ranges::views::filter(odd) | ranges::views::reverse)
    found.push_back(value);
  CHECK(found == std::vector<std::uint32_t>{7, 5, 3});
  CHECK(ranges::accumulate(map | ranges::views::transform(value_of), 0U) == 28);
  CHECK(std::ranges::distance(map | std::views::transform(value_of)) == 8);
}

TEST_CASE("the example of a range map reads as it should") {
  // [region: example]
  // Four partitions share the space of a container; which one has this key?
  auto owners = keyspan::evenly_split<std::string>(keyspan::cosmos_v2, {"0", "1", "2", "3"});
  auto const token = keyspan::token_of(keyspan::cosmos_v2, "redmond");
  CHECK(owners.at(token) == "2");

  // It splits in the middle: its two halves have names of their own, all others stay as they are.
  auto const full = owners.entry_of(token).range();
  auto const middle = *keyspan::cosmos_v2.midpoint(full.lower(), full.upper());
  owners.split(middle, "4", "5");
  CHECK(owners.at(token) == "4");

  // Whom does one ask for the second half of the space?
  std::vector<std::string> asked;
  token_range<token128> const half{keyspan::cosmos_v2.boundary(1, 2), space_end};
  for (auto const& [range, name] : owners.overlapping(half)) asked.push_back(name);
  CHECK(asked == std::vector<std::string>{"4", "5", "3"});

  // And back again.
  owners.join(full, "6");
  CHECK(owners.size() == 4);
  // [end: example]
}

TEST_CASE("the example of a map of texts reads as it should") {
  std::ostringstream out;
  // [region: texts]
  using namespace std::string_literals;
  using shelves = keyspan::range_map<std::string, int>;
  keyspan::token_range const all{""s, keyspan::space_end};
  auto const names = shelves::from_ranges(
      {{{"", "g"s}, 1}, {{"g", "p"s}, 2}, {{"p", keyspan::space_end}, 3}}, all);
  check(names->at("keyspan") == 2);

  auto const wrong = shelves::from_ranges({{{"", "g"s}, 1}, {{"p", keyspan::space_end}, 3}}, all);
  for (auto const& [range, shelf] : *names) out << range << " is on " << shelf << '\n';
  out << wrong.error();  // with <keyspan/core/print.hpp>
  // [end: texts]
  check(out.str() ==
        "[\"\", g) is on 1\n"
        "[g, p) is on 2\n"
        "[p, the end) is on 3\n"
        "gap: gap between g and p");
}

}  // namespace
