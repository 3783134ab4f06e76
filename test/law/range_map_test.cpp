// test/law/range_map_test.cpp — the laws of range maps: ours keep them with every scheme, and for
// each law there is a map, a token or a scheme that breaks it and is caught.
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/kafka.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/law/range_map.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_prefix.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::key_value;
using keyspan::owned_range;
using keyspan::range_map;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_range;
using keyspan::law::check_change_is_local;
using keyspan::law::check_full_cover;
using keyspan::law::check_range_map;
using keyspan::law::finding;
using test::check;

void holds(finding const& found) {
  INFO(found.text());
  CHECK(found);
}

void breaks(finding const& found, std::string_view law) {
  INFO(found.text());
  CHECK(found.text().starts_with("broken law: "));
  CHECK(found.text().substr(12).starts_with(law));
}

TEST_CASE("every token of the schemes of Cosmos DB is in exactly one range of a full cover") {
  holds(check_full_cover(keyspan::cosmos_v1));
  holds(check_full_cover(keyspan::cosmos_v2));
  holds(check_full_cover(keyspan::cosmos_multihash));
}

TEST_CASE("every token of a scheme chosen at run time is in exactly one range of a full cover") {
  holds(check_full_cover(keyspan::any_scheme{keyspan::cosmos_v1}));
  holds(check_full_cover(keyspan::any_scheme{keyspan::cosmos_v2}));
  holds(check_full_cover(keyspan::any_scheme{keyspan::cosmos_multihash}));
}

TEST_CASE("every token of the schemes of other systems is in exactly one range of a full cover") {
  using keyspan::number_form;
  holds(check_full_cover(keyspan::redis_cluster));
  holds(check_full_cover(keyspan::kafka));
  holds(check_full_cover(keyspan::kafka_scheme{.numbers = number_form::int32}));
  holds(check_full_cover(keyspan::cassandra));
}

TEST_CASE("every token of the schemes that nobody brought is in exactly one range") {
  holds(check_full_cover(keyspan::fast64));
  holds(check_full_cover(keyspan::identity));
  holds(check_full_cover(keyspan::identity_scheme<16>{}));
}

TEST_CASE("covers are checked over keys of one's own, borrowed or owned") {
  std::vector<keyspan::partition_key> const keys{keyspan::partition_key{"redmond"},
                                                 keyspan::partition_key{"tenant", "user"}};
  holds(check_full_cover(keyspan::cosmos_v2, keys));
  holds(check_full_cover(keyspan::cosmos_v2, std::array{keyspan::partition_key_view{"a"}}, 3));
}

// The greatest tokens there are, each with the token before it.
TEST_CASE("the greatest token of every scheme is in the last range, however narrow that is") {
  constexpr auto last = (std::numeric_limits<std::int64_t>::max)();
  constexpr auto first = (std::numeric_limits<std::int64_t>::min)();
  std::array const of_cassandra{first, first + 1, std::int64_t{0}, last - 1, last};
  auto const narrow = *range_map<std::int64_t, char>::from_boundaries(
      {{first, 'a'}, {first + 1, 'b'}, {last - 1, 'c'}, {last, 'd'}});
  holds(check_range_map(narrow, of_cassandra));
  CHECK(narrow.at(last) == 'd');

  token128 const greatest = keyspan::cosmos_v2.greatest();
  CHECK(greatest == token128{~std::uint64_t{0} >> 2, ~std::uint64_t{0}});
  token128 const before{greatest.high, greatest.low - 1};
  std::array const of_cosmos{token128{}, token128{0, 1}, before, greatest};
  auto const narrow_v2 = *range_map<token128, char>::from_boundaries(
      {{token128{}, 'a'}, {token128{0, 1}, 'b'}, {greatest, 'c'}});
  holds(check_range_map(narrow_v2, of_cosmos));
  CHECK(narrow_v2.at(greatest) == 'c');
}

TEST_CASE("a map of plain integers keeps the laws") {
  std::vector<int> tokens;
  for (int t = -20; t < 30; ++t) tokens.push_back(t);
  using map = range_map<int, char>;
  holds(check_range_map(map{{0, 10}, 'a'}, tokens));
  holds(check_range_map(map{{0, space_end}, 'a'}, tokens));
  holds(check_range_map(*map::from_boundaries({{-5, 'a'}, {0, 'b'}, {1, 'c'}, {9, 'd'}}, 12),
                        tokens));
  holds(check_range_map(map{{0, 10}, 'a'}, {}));
}

TEST_CASE("a map of texts that are not hashed keeps the laws") {
  std::vector<std::string> tokens{"", "a", "aa", "ab", "b", "pears", "pear", "z", "\xFF\xFF"};
  // Some that differ behind the eight bytes that a table looks at.
  std::string const alike = "a common beginning, ";
  for (char c = 'a'; c < 'k'; ++c) tokens.push_back(alike + c);
  using map = range_map<std::string, int>;
  holds(check_range_map(map{{"", space_end}, 1}, tokens));
  std::vector<std::pair<std::string, int>> firsts{{"", 0}};
  for (char c = 'a'; c < 'k'; c = static_cast<char>(c + 3)) firsts.emplace_back(alike + c, c);
  firsts.emplace_back("pear", 4);
  auto const before = *map::from_boundaries(firsts);
  holds(check_range_map(before, tokens));
  auto after = before;
  after.split(alike + "b", 7, 8);
  holds(check_range_map(after, tokens));
  holds(check_change_is_local(before, after, before.entry_of(alike + "b").range(), tokens));
}

TEST_CASE("a map of tokens of several schemes, chosen at run time, keeps the laws") {
  std::array const schemes{keyspan::any_scheme{keyspan::cosmos_v1},
                           keyspan::any_scheme{keyspan::cosmos_v2},
                           keyspan::any_scheme{keyspan::cosmos_multihash}};
  std::vector<keyspan::any_token> tokens;
  for (auto const& scheme : schemes)
    for (auto const& key : keyspan::law::sample_keys) {
      keyspan::result<keyspan::any_token> const t = scheme.token_of(key.values());
      if (t) tokens.push_back(*t);
    }
  std::vector<keyspan::any_token> sorted{tokens.begin(), tokens.end()};
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<std::pair<keyspan::any_token, int>> firsts;
  for (std::size_t i = 0; i < sorted.size(); i += 9) firsts.emplace_back(sorted[i], 1);
  REQUIRE(firsts.size() > 20);
  auto const map = range_map<keyspan::any_token, int>::from_boundaries(firsts);
  holds(check_range_map(*map, tokens));
}

constexpr bool laws_of_maps_are_checked_in_constant_expressions_too() {
  using map = range_map<int, char>;
  auto const before = *map::from_boundaries({{0, 'a'}, {4, 'b'}}, 9);
  auto after = before;
  after.split(6, 'c', 'd');
  std::array const tokens{-1, 0, 3, 4, 5, 6, 8, 9};
  check(static_cast<bool>(check_range_map(after, tokens)));
  check(static_cast<bool>(check_change_is_local(before, after, {4, 9}, tokens)));
  check(!check_change_is_local(before, after, {0, 4}, tokens));
  std::array few{keyspan::partition_key_view{"a"}, keyspan::partition_key_view{5}};
  check(static_cast<bool>(check_full_cover(keyspan::fast64, few, 2)));
  return true;
}
CHECK_BOTH(laws_of_maps_are_checked_in_constant_expressions_too);

// Splits and joins at random; every tenth state is looked at in full.
template <class Scheme>
void changes_are_local(Scheme const& scheme, std::uint64_t seed) {
  using token = keyspan::token_of_scheme<Scheme>;
  std::vector<token> tokens;
  for (auto const& key : keyspan::law::sample_keys) {
    keyspan::result<token> const t = scheme.token_of(key.values());
    if (t) tokens.push_back(*t);
  }
  test::random random{seed};
  range_map<token, int> map{keyspan::whole_space(scheme), 0};
  for (int step = 1; step <= 60; ++step) {
    auto const before = map;
    auto const i = static_cast<std::size_t>(random.below(map.size()));
    auto stretch = map[i].range();
    if (i + 1 < map.size() && random.chance(35)) {
      stretch = join(stretch, map[i + 1].range());
      map.join(stretch, step);
    } else {
      token const& at = random.pick(tokens);
      stretch = map.entry_of(at).range();
      if (stretch.lower() == at) continue;
      map.split(at, step, -step);
    }
    auto const found = check_change_is_local(before, map, stretch, tokens);
    if (!found) holds(found);
    if (step % 10 == 0) holds(check_range_map(map, tokens));
  }
  CHECK(map.size() > 3);
}

TEST_CASE("a split or a join changes the answer for tokens of the ranges it names and no other") {
  changes_are_local(keyspan::cosmos_v1, 1);
  changes_are_local(keyspan::cosmos_v2, 2);
  changes_are_local(keyspan::cosmos_multihash, 3);
  changes_are_local(keyspan::any_scheme{keyspan::cosmos_v1}, 4);
  changes_are_local(keyspan::any_scheme{keyspan::cosmos_v2}, 5);
  changes_are_local(keyspan::any_scheme{keyspan::cosmos_multihash}, 6);
  changes_are_local(keyspan::redis_cluster, 7);
  changes_are_local(keyspan::kafka, 8);
  changes_are_local(keyspan::cassandra, 9);
  changes_are_local(keyspan::fast64, 10);
  changes_are_local(keyspan::identity, 11);
}

TEST_CASE("the example of the laws of maps reads as it should") {
  // [region: example]
  // A token of one's own, and the prefix by which a map finds it: is it the right one?
  struct reversed {
    std::uint32_t number;
    std::uint64_t token_prefix() const { return number; }
    bool operator==(reversed const&) const = default;
    auto operator<=>(reversed const& other) const { return other.number <=> number; }
  };
  std::vector<reversed> const tokens{{9}, {5}, {1}};
  auto const map = *keyspan::range_map<reversed, int>::from_boundaries({{{9}, 1}, {{5}, 2}});
  auto const found = keyspan::law::check_range_map(map, tokens);
  check(!found);  // no: it must not fall where tokens rise
  check(found.text().starts_with("broken law: the prefix of a token never falls"));

  check(static_cast<bool>(keyspan::law::check_full_cover(keyspan::cosmos_v2)));
  // [end: example]
}

// Every fault is a map that is right but for one answer.
using good = range_map<int, char>;

good three_ranges() { return *good::from_boundaries({{0, 'a'}, {4, 'b'}, {7, 'c'}}, 9); }
constexpr std::array tokens_of_it{-1, 0, 3, 4, 5, 7, 8, 9};

template <class Map>
finding look_at_a() {
  return check_range_map(Map{three_ranges()}, tokens_of_it);
}

struct faulty : good {
  explicit faulty(good const& map) : good{map} {}
};

constexpr std::string_view law_of_sequence =
    "the ranges follow each other from the beginning of the whole to its end; ";
constexpr std::string_view law_of_iteration = "iteration shows each range once, in token order; ";
constexpr std::string_view law_of_answers =
    "what a map answers for a token agrees with its ranges; ";
constexpr std::string_view law_of_overlap =
    "the ranges that overlap a stretch share a token with it, and no other; ";

TEST_CASE("the map that the faulty ones are made of keeps all laws") { holds(look_at_a<faulty>()); }

TEST_CASE("a map without a range is caught") {
  struct fault : faulty {
    using faulty::faulty;
    std::size_t size() const { return 0; }
  };
  breaks(look_at_a<fault>(), "a map has one range at least");
}

TEST_CASE(
    "a map with a gap, one that begins late or ends early, and one that claims twice are caught") {
  struct fault : faulty {
    explicit fault(good const& map, std::size_t number, token_range<int> other)
        : faulty{map}, where{number}, range{other} {}
    entry operator[](std::size_t i) const {
      auto const right = good::operator[](i);
      return {i == where ? range : right.range(), right.value()};
    }
    std::size_t where;
    token_range<int> range;
  };
  auto const look = [](std::size_t i, token_range<int> range) {
    return check_range_map(fault{three_ranges(), i, range}, tokens_of_it);
  };
  holds(look(3, {0, 1}));
  breaks(look(0, {1, 4}), std::string{law_of_sequence} + "the first begins at 1, the whole at 0");
  breaks(look(0, {0, 3}), std::string{law_of_sequence} + "range 0 ends at 3, the next begins at 4");
  breaks(look(1, {3, 7}), std::string{law_of_sequence} + "range 0 ends at 4, the next begins at 3");
  breaks(look(2, {7, 8}), std::string{law_of_sequence} + "the last ends at 8, the whole at 9");
  breaks(look(2, {7, space_end}), std::string{law_of_sequence} + "the last ends at the end");
}

TEST_CASE("an iteration that leaves a range out is caught") {
  struct late : faulty {
    using faulty::faulty;
    iterator begin() const { return good::begin() + 1; }
  };
  struct early : faulty {
    using faulty::faulty;
    iterator end() const { return good::end() - 1; }
  };
  struct elsewhere : faulty {
    explicit elsewhere(good const& map) : faulty{map}, other{map} {}
    iterator begin() const { return other.begin(); }
    iterator end() const { return other.end(); }
    good other;
  };
  breaks(look_at_a<late>(), std::string{law_of_iteration} + "number 0 is another one");
  breaks(look_at_a<early>(), std::string{law_of_iteration} + "it ends after 2 of 3");
  breaks(look_at_a<elsewhere>(), std::string{law_of_iteration} + "number 0 is another one");
}

TEST_CASE("a map whose copy is another one is caught") {
  struct unequal : faulty {
    using faulty::faulty;
    bool operator==(unequal const&) const { return false; }
  };
  struct forgetful : faulty {
    explicit forgetful(good const& map) : faulty{map} {}
    forgetful(forgetful const& other) : faulty{other}, is_copy{true} {}
    forgetful& operator=(forgetful const&) = default;
    std::size_t index_of(int t) const { return is_copy ? 0 : good::index_of(t); }
    bool is_copy = false;
  };
  breaks(look_at_a<unequal>(), "a copy of a map is equal to it");
  breaks(look_at_a<forgetful>(), "a copy of a map answers as it does; index_of(4) is 0");
}

TEST_CASE("an answer for one token that is off by one is caught, whichever it is") {
  struct contained : faulty {
    using faulty::faulty;
    bool contains(int t) const { return good::contains(t) || t == 9; }
  };
  struct not_contained : faulty {
    using faulty::faulty;
    bool contains(int t) const { return good::contains(t) && t != 7; }
  };
  struct found_outside : faulty {
    using faulty::faulty;
    char const* find(int t) const { return t == -1 ? good::find(0) : good::find(t); }
  };
  struct not_found : faulty {
    using faulty::faulty;
    char const* find(int t) const { return t == 8 ? nullptr : good::find(t); }
  };
  struct found_next : faulty {
    using faulty::faulty;
    char const* find(int t) const { return good::find(t == 3 ? 4 : t); }
  };
  struct at_next : faulty {
    using faulty::faulty;
    char const& at(int t) const { return good::at(t == 4 ? 3 : t); }
  };
  struct index_next : faulty {
    using faulty::faulty;
    std::size_t index_of(int t) const { return good::index_of(t == 4 ? 3 : t); }
  };
  struct entry_next : faulty {
    using faulty::faulty;
    entry entry_of(int t) const { return good::entry_of(t == 7 ? 6 : t); }
  };
  std::string const law{law_of_answers};
  breaks(look_at_a<contained>(), law + "contains(9) is true");
  breaks(look_at_a<not_contained>(), law + "contains(7) is false");
  breaks(look_at_a<found_outside>(), law + "find(-1) has a value outside of the whole");
  breaks(look_at_a<not_found>(), law + "find(8) has no value");
  breaks(look_at_a<found_next>(), law + "find(3) has not the value of range 0");
  breaks(look_at_a<at_next>(), law + "at(4) has not the value of range 1");
  breaks(look_at_a<index_next>(), law + "index_of(4) is 0, not 1");
  breaks(look_at_a<entry_next>(), law + "entry_of(7) is not range 2");
  // Also where none of the tokens given is on the border.
  breaks(check_range_map(index_next{three_ranges()}, {}), law + "index_of(4) is 0, not 1");
  breaks(check_range_map(contained{three_ranges()}, {}), law + "contains(9) is true");
}

TEST_CASE("an overlap that is answered wrong is caught") {
  struct more : faulty {
    using faulty::faulty;
    auto overlapping(token_range<int> const& stretch) const {
      return good::overlapping({stretch.lower(), space_end});
    }
  };
  struct earlier : faulty {
    using faulty::faulty;
    auto overlapping(token_range<int> const& stretch) const {
      return good::overlapping({stretch.lower() - 1, stretch.upper()});
    }
  };
  struct shorter : faulty {
    using faulty::faulty;
    auto overlapping(token_range<int> const& stretch) const {
      return good::overlapping({stretch.lower(), stretch.lower() + 1});
    }
  };
  struct none : faulty {
    using faulty::faulty;
    auto overlapping(token_range<int> const&) const {
      return keyspan::index_view<good>{*this, 0, 0};
    }
  };
  struct touching : faulty {  // takes a range along that begins where the stretch ends
    using faulty::faulty;
    auto overlapping(token_range<int> const& stretch) const {
      if (stretch.upper().is_space_end()) return good::overlapping(stretch);
      return good::overlapping({stretch.lower(), stretch.upper().at() + 1});
    }
  };
  // At the borders also where no token of theirs is asked for.
  constexpr std::array inner{1, 5, 8};
  CHECK(!check_range_map(none{three_ranges()}, {}));
  CHECK(!check_range_map(touching{three_ranges()}, inner));
  breaks(look_at_a<more>(), std::string{law_of_overlap} + "from -1 to 0 there is one too many");
  breaks(look_at_a<earlier>(), std::string{law_of_overlap} + "from 4 to the end another one");
  breaks(look_at_a<shorter>(),
         std::string{law_of_overlap} + "from -1 to the end there is no range 0");
}

TEST_CASE("tokens of a map whose comparisons contradict each other are caught") {
  struct odd {
    int n;
    bool operator==(odd const& other) const { return n / 2 == other.n / 2; }
    std::strong_ordering operator<=>(odd const& other) const { return n <=> other.n; }
  };
  range_map<odd, int> const map{{odd{0}, space_end}, 1};
  breaks(check_range_map(map, std::vector{odd{1}}),
         "the comparisons of tokens agree with each other");
}

TEST_CASE("tokens that go round in circles are caught") {
  struct hand {  // paper beats rock, scissors beat paper, rock beats scissors
    int n;
    bool operator==(hand const&) const = default;
    std::strong_ordering operator<=>(hand const& other) const {
      if (n == other.n) return std::strong_ordering::equal;
      return (n + 1) % 3 == other.n ? std::strong_ordering::less : std::strong_ordering::greater;
    }
  };
  auto const map = *range_map<hand, int>::from_boundaries({{hand{0}, 1}, {hand{1}, 2}});
  breaks(check_range_map(map, std::vector{hand{2}}),
         "every token of the whole is in exactly one range; (a token without a text) is in 1");
}

// A small scheme that keeps the laws, for others to break one of them each.
struct small_scheme {
  using token_type = int;
  int token_of(std::span<key_value const> values) const {
    return values.empty() ? 0 : static_cast<int>(keyspan::fast64.token_of(values) % 1'000);
  }
  int minimum() const { return 0; }
  std::string_view name() const { return "small"; }
  keyspan::upper_end<int> successor(int t) const { return space.successor(t); }
  int boundary(std::size_t part, std::size_t parts) const { return space.boundary(part, parts); }
  keyspan::result<int> midpoint(int lower, keyspan::upper_end<int> const& upper) const {
    return space.midpoint(lower, upper);
  }
  bool operator==(small_scheme const&) const = default;

  static constexpr keyspan::integer_space<int> space{0, 999};
};

TEST_CASE("a scheme of one's own is checked, and each way to lose a token is caught") {
  constexpr std::string_view law =
      "every token of a scheme is in exactly one range of a full cover; ";
  struct begins_late : small_scheme {
    int minimum() const { return 10; }
    bool operator==(begins_late const&) const = default;
  };
  struct first_part_late : small_scheme {
    int boundary(std::size_t part, std::size_t parts) const {
      return small_scheme::boundary(part, parts) + (part == 0 && parts == 8 ? 1 : 0);
    }
    bool operator==(first_part_late const&) const = default;
  };
  struct falling : small_scheme {
    int boundary(std::size_t part, std::size_t parts) const {
      return part == 3 ? 1 : small_scheme::boundary(part, parts);
    }
    bool operator==(falling const&) const = default;
  };
  struct below : small_scheme {
    int token_of(std::span<key_value const> values) const {
      return small_scheme::token_of(values) - 5;
    }
    bool operator==(below const&) const = default;
  };
  holds(check_full_cover(small_scheme{}));
  breaks(check_full_cover(begins_late{}), std::string{law} + "0 is ");
  breaks(check_full_cover(first_part_late{}), std::string{law} + "0 is in 0 of 8");
  breaks(check_full_cover(falling{}), "boundaries rise; that of part 3 of 4 is 1");
  breaks(check_full_cover(below{}), std::string{law} + "-5 is ");
}

TEST_CASE("a cover of no parts is a broken promise") {
  CHECK(test::promise_broken_by([] {
          return keyspan::law::check_full_cover(keyspan::cosmos_v2, keyspan::law::sample_keys, 0);
        }) == "a space is shared out into one part at least");
}

TEST_CASE("a change that reaches beyond the ranges it names is caught") {
  constexpr std::string_view law =
      "a change of a map changes the answer for tokens of the ranges it names and for no other; ";
  constexpr std::string_view borders = "a change of a map names whole ranges; ";
  auto const before = three_ranges();
  auto const look = [&](good const& after, token_range<int> stretch) {
    return check_change_is_local(before, after, stretch, tokens_of_it);
  };
  auto split = before;
  split.split(5, 'x', 'y');
  holds(look(split, {4, 7}));
  holds(look(split, {0, 7}));
  holds(look(before, {4, 7}));
  auto joined = before;
  joined.join({0, 7}, 'x');
  holds(look(joined, {0, 7}));
  holds(look(joined, {0, 9}));

  breaks(look(split, {7, 9}), std::string{law} + "4 is in another range");
  breaks(look(joined, {7, 9}), std::string{law} + "0 is in another range");
  breaks(look(joined, {0, 4}), std::string{borders} + "none ends at 4 after it");
  breaks(look(joined, {4, 7}), std::string{borders} + "none begins at 4 after it");
  breaks(look(split, {4, 5}), std::string{borders} + "none ends at 5 before it");
  breaks(look(split, {5, 7}), std::string{borders} + "none begins at 5 before it");
  breaks(look(split, {7, 12}), std::string{borders} + "it reaches beyond the map");
  auto other_value = split;
  other_value.at(8) = 'z';
  breaks(look(other_value, {4, 7}), std::string{law} + "7 has another value");
  // Even where none of the tokens that are asked for lies there.
  breaks(check_change_is_local(before, other_value, {4, 7}, {}),
         std::string{law} + "7 has another value");
  breaks(look(*good::from_boundaries({{0, 'a'}, {4, 'b'}, {7, 'c'}}, 10), {4, 7}),
         "a change of a map leaves the whole as it was");

  struct moves_one : faulty {
    using faulty::faulty;
    char const* find(int t) const { return good::find(is_after && t == 8 ? 4 : t); }
    bool is_after = false;
  };
  struct answers_otherwise : faulty {
    using faulty::faulty;
    char const& at(int t) const { return good::at(by_at && t == 8 ? 4 : t); }
    entry entry_of(int t) const {
      auto const right = good::entry_of(t);
      return {right.range(), by_entry && t == 8 ? good::at(4) : right.value()};
    }
    bool contains(int t) const { return good::contains(t) && !(by_contains && t == 8); }
    bool by_at = false;
    bool by_entry = false;
    bool by_contains = false;
  };
  answers_otherwise const right{before};
  for (int fault = 0; fault < 4; ++fault) {
    answers_otherwise wrong{split};
    wrong.by_at = fault == 1;
    wrong.by_entry = fault == 2;
    wrong.by_contains = fault == 3;
    CHECK(static_cast<bool>(check_change_is_local(right, wrong, {4, 7}, tokens_of_it)) ==
          (fault == 0));
  }
  moves_one const was{before};
  moves_one is{split};
  holds(check_change_is_local(was, is, {4, 7}, tokens_of_it));
  is.is_after = true;
  breaks(check_change_is_local(was, is, {4, 7}, tokens_of_it),
         std::string{law} + "8 has another value");
}

}  // namespace
