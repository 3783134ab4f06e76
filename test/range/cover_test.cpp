// test/range/cover_test.cpp — what ranges leave to nobody, and what they claim twice.
#include <keyspan/core/text.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::cover;
using keyspan::cover_of;
using keyspan::covers_exactly;
using keyspan::errc;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_range;
using test::check;

using range = token_range<int>;
using ranges = std::vector<range>;

constexpr range all{0, space_end};

// A space of six tokens, the last of which stands for all from it on.
constexpr int tokens = 6;
constexpr range between(int first, int last) {
  return last + 1 < tokens ? range{first, last + 1} : range{first, space_end};
}

constexpr ranges every_range() {
  ranges found;
  for (int first = 0; first < tokens; ++first)
    for (int last = first; last < tokens; ++last) found.push_back(between(first, last));
  return found;
}

// The stretches of tokens of which `is_one` is true, token by token.
template <class IsOne>
constexpr ranges stretches_where(IsOne is_one) {
  ranges found;
  for (int first = 0; first < tokens; ++first) {
    if (!is_one(first) || (first > 0 && is_one(first - 1))) continue;
    int last = first;
    while (last + 1 < tokens && is_one(last + 1)) ++last;
    found.push_back(between(first, last));
  }
  return found;
}

constexpr cover<int> naive_cover(ranges const& claims, range const& whole) {
  auto const claimed = [&](int t) {
    return std::count_if(claims.begin(), claims.end(),
                         [t](range const& claim) { return claim.contains(t); });
  };
  return {.whole = whole,
          .gaps = stretches_where([&](int t) { return whole.contains(t) && claimed(t) == 0; }),
          .overlaps = stretches_where([&](int t) { return whole.contains(t) && claimed(t) > 1; }),
          .outside = stretches_where([&](int t) { return !whole.contains(t) && claimed(t) > 0; })};
}

// What comes first among the stretches of one cover, by the tokens one after another.
constexpr keyspan::result<void> naive_verdict(cover<int> const& found) {
  for (int t = 0; t < tokens; ++t) {
    for (auto const& [kind, list] :
         {std::pair{errc::gap, &found.gaps}, std::pair{errc::overlap, &found.overlaps},
          std::pair{errc::invalid_range, &found.outside}})
      for (range const& stretch : *list)
        if (stretch.lower() == t) return keyspan::fail(kind);
  }
  return {};
}

constexpr void look_at(ranges claims, range const& whole) {
  auto const expected = naive_cover(claims, whole);
  auto const found = cover_of(claims, whole);
  check(found == expected);
  check(found.is_exact() == (expected == cover<int>{.whole = whole}));
  auto const verdict = found.verdict();
  auto const first = naive_verdict(expected);
  check(verdict.has_value() == first.has_value() && verdict.has_value() == found.is_exact());
  if (!verdict) check(verdict.error().code == first.error().code);
  std::sort(claims.begin(), claims.end());
  check(covers_exactly(claims, whole) == verdict);
}

TEST_CASE("every set of up to three ranges over six tokens is seen as it is") {
  auto const every = every_range();
  REQUIRE(every.size() == 21);
  for (range const& whole : {all, range{1, 5}, range{2, 3}, range{3, space_end}}) {
    look_at({}, whole);
    for (range const& a : every) {
      look_at({a}, whole);
      for (range const& b : every) {
        look_at({a, b}, whole);
        for (range const& c : every) look_at({a, b, c}, whole);
      }
    }
  }
}

TEST_CASE("four ranges over six tokens are seen as they are, in whatever order they come") {
  auto const every = every_range();
  range const whole{1, 5};
  for (std::size_t a = 0; a < every.size(); ++a)
    for (std::size_t b = a; b < every.size(); ++b)
      for (std::size_t c = b; c < every.size(); ++c)
        for (std::size_t d = c; d < every.size(); ++d)
          look_at({every[c], every[a], every[d], every[b]}, whole);
}

constexpr bool some_covers_are_seen_in_constant_expressions() {
  look_at({}, all);
  look_at({{0, 2}, {2, space_end}}, all);
  look_at({{4, space_end}, {0, 2}, {1, 3}}, all);
  look_at({{0, 5}, {1, 3}, {2, 4}, {1, 2}}, range{1, 4});
  return true;
}
CHECK_BOTH(some_covers_are_seen_in_constant_expressions);

TEST_CASE("the example of covers reads as it should") {
  // [region: example]
  using keyspan::token128;
  auto const at = [](std::string_view digits) { return *keyspan::from_hex<token128>(digits); };
  keyspan::token_range const space{token128{}, keyspan::space_end};

  std::vector<keyspan::token_range<token128>> claims{
      {at("0555"), at("0AAA")}, {token128{}, at("05C1")}, {at("0B"), keyspan::space_end}};
  auto const found = keyspan::cover_of(claims, space);
  check(found.gaps == std::vector{keyspan::token_range{at("0AAA"), at("0B")}});
  check(found.overlaps == std::vector{keyspan::token_range{at("0555"), at("05C1")}});
  check(found.outside.empty() && !found.is_exact());
  check(found.verdict().error().to_text() ==
        "overlap: two ranges both claim 05550000000000000000000000000000 to "
        "05C10000000000000000000000000000");

  claims[1] = {token128{}, at("0555")};
  claims[0] = {at("0555"), at("0B")};
  std::sort(claims.begin(), claims.end());
  check(keyspan::covers_exactly(claims, space).has_value());  // sorted already: no allocation
  // [end: example]
}

constexpr bool no_ranges_are_a_gap_of_the_whole() {
  check(cover_of({}, range{3, 7}).gaps == ranges{{3, 7}});
  ranges const none;
  auto const verdict = covers_exactly(none, range{3, 7});
  check(verdict.error().code == errc::gap && verdict.error().text == "gap between 3 and 7");
  check(covers_exactly(none, all).error().text == "gap between 0 and the end");
  return true;
}
CHECK_BOTH(no_ranges_are_a_gap_of_the_whole);

constexpr bool what_is_claimed_by_three_is_told_once() {
  auto const found = cover_of(ranges{{0, 9}, {2, 5}, {3, 7}, {4, 6}}, range{0, 9});
  check(found.overlaps == ranges{{2, 7}});
  check(found.gaps.empty() && found.outside.empty());
  // Claims that touch leave no border behind.
  check(cover_of(ranges{{0, 9}, {2, 5}, {5, 7}}, range{0, 9}).overlaps == ranges{{2, 7}});
  check(cover_of(ranges{{0, 9}, {-3, -1}, {-1, 0}}, range{0, 9}).outside == ranges{{-3, 0}});
  return true;
}
CHECK_BOTH(what_is_claimed_by_three_is_told_once);

constexpr bool the_error_names_what_comes_first() {
  auto const text_of = [](ranges claims, range const& whole) {
    auto const verdict = cover_of(claims, whole).verdict();
    std::sort(claims.begin(), claims.end());
    check(covers_exactly(claims, whole) == verdict);
    return verdict.error().to_text();
  };
  check(text_of({{5, space_end}, {0, 3}}, all) == "gap: gap between 3 and 5");
  check(text_of({{0, 4}, {3, space_end}}, all) == "overlap: two ranges both claim 3 to 4");
  check(text_of({{0, 4}, {3, space_end}, {7, 9}}, all) == "overlap: two ranges both claim 3 to 4");
  check(text_of({{0, space_end}, {3, space_end}}, all) ==
        "overlap: two ranges both claim 3 to the end");
  check(text_of({{-2, 4}, {3, space_end}}, all) ==
        "invalid_range: a range claims -2 to 0, which is outside of the whole");
  check(text_of({{0, 12}}, range{0, 10}) ==
        "invalid_range: a range claims 10 to 12, which is outside of the whole");
  check(text_of({{0, 12}, {4, 6}}, range{0, 10}) == "overlap: two ranges both claim 4 to 6");
  check(text_of({{1, 12}, {4, 6}}, range{0, 10}) == "gap: gap between 0 and 1");
  return true;
}
CHECK_BOTH(the_error_names_what_comes_first);

constexpr bool the_greatest_token_belongs_to_whoever_goes_on_to_the_end() {
  constexpr std::int64_t last = (std::numeric_limits<std::int64_t>::max)();
  token_range<std::int64_t> const whole{(std::numeric_limits<std::int64_t>::min)(), space_end};
  std::vector<token_range<std::int64_t>> const short_of_it{{whole.lower(), last}};
  check(cover_of(short_of_it, whole).gaps ==
        std::vector{token_range<std::int64_t>{last, space_end}});
  check(covers_exactly(std::vector{whole}, whole).has_value());
  return true;
}
CHECK_BOTH(the_greatest_token_belongs_to_whoever_goes_on_to_the_end);

constexpr bool elements_of_any_kind_have_a_range() {
  using owned = keyspan::owned_range<int, char>;
  std::array const sorted{owned{{0, 4}, 'a'}, owned{{4, space_end}, 'b'}};
  check(covers_exactly(sorted, all, &owned::range).has_value());
  auto const range_of = [](owned const* one) -> range const& { return one->range; };
  std::array const pointers{&sorted[0], &sorted[1]};
  check(covers_exactly(pointers, all, range_of).has_value());
  range const claims[]{{0, 4}, {4, 5}};
  check(covers_exactly(claims, range{0, 5}).has_value());
  check(cover_of(claims, range{0, 5}).is_exact());
  return true;
}
CHECK_BOTH(elements_of_any_kind_have_a_range);

TEST_CASE("an unsorted list is a broken promise, unless nothing is wrong with it") {
  ranges const unsorted{{4, space_end}, {0, 4}};
  CHECK(test::promise_broken_by([&] { return covers_exactly(unsorted, all); }) ==
        "the ranges are sorted by their lower bounds");
}

TEST_CASE("whether sorted ranges cover a space is found without an allocation") {
  using text_range = token_range<std::string>;
  std::string const x(80, 'x');
  std::vector<text_range> const exact{{"", x + "1"}, {x + "1", x + "2"}, {x + "2", space_end}};
  std::vector<text_range> const wrong{{x, x + "2"}, {x + "1", x + "3"}};
  text_range const whole{"", space_end};
  text_range const within{x + "0", x + "5"};
  keyspan::result<void> verdicts[3];
  CHECK(test::allocations_in([&] {
          verdicts[0] = covers_exactly(exact, whole);
          verdicts[1] = covers_exactly(wrong, whole);
          verdicts[2] = covers_exactly(wrong, within);
        }) == 0);
  CHECK(verdicts[0].has_value());
  CHECK(verdicts[1].error().code == errc::gap);
  CHECK(verdicts[2].error().code == errc::invalid_range);
  CHECK(cover_of(wrong, whole).overlaps == std::vector{text_range{x + "1", x + "2"}});
  CHECK(cover_of(wrong, within).outside == std::vector{text_range{x, x + "0"}});
}

TEST_CASE("long tokens that begin alike are told apart in an error") {
  using text_range = token_range<std::string>;
  auto const between = [](std::string const& lower, std::string const& upper) {
    std::vector<text_range> const claims{{"", lower}, {upper, space_end}};
    auto const found = covers_exactly(claims, text_range{"", space_end});
    REQUIRE(!found);
    CHECK(found.error().code == errc::gap);
    CHECK(!found.error().text.is_cut());
    return std::string{found.error().text.view()};
  };
  std::string const alike = "https://example.org/articles/2026/06/01/a-long-title-";
  CHECK(between(alike + "1", alike + "2") ==
        "gap between https://exam\xE2\x80\xA6g-title-1 and https://exam\xE2\x80\xA6g-title-2");
  // Where the difference is seen in any case, the beginning says more.
  CHECK(between("a" + alike, "b" + alike) ==
        "gap between ahttps://example.org/articles/2026/06/01/a-long-\xE2\x80\xA6 and "
        "bhttps://example.org/articles/2026/06/01/a-long-\xE2\x80\xA6");
  CHECK(between(alike, alike + "2") ==
        "gap between https://exam\xE2\x80\xA6g-title- and https://exam\xE2\x80\xA6g-title-2");
  // What follows the difference may be long too: both names are there all the same.
  std::string const tail(100, 'z');
  CHECK(between(alike + "1" + tail, alike + "2" + tail) ==
        "gap between https://exam\xE2\x80\xA6g-title-1zzzzzzzzzzzzzzzzzzzzzzzz\xE2\x80\xA6 and "
        "https://exam\xE2\x80\xA6g-title-2zzzzzzzzzzzzzzzzzzzzzzzz\xE2\x80\xA6");
  // Characters stay whole, wherever they are cut.
  for (std::size_t shift = 0; shift < 3; ++shift) {
    std::string cyrillic(shift, 'a');
    for (int i = 0; i < 40; ++i) cyrillic += "\xD0\xB6";
    auto const text = between(cyrillic + "1", cyrillic + "2");
    CHECK(
        text.ends_with("\xD0\xB6"
                       "2"));
    CHECK(text.find("\xD0\xB6"
                    "1 and ") != std::string::npos);
    CHECK(text.find("\xE2\x80\xA6\xB6") == std::string::npos);
    CHECK(text.find("\xD0\xE2") == std::string::npos);
  }
  // As here, where they differ in the middle of a character: D0 B6 and D0 B7.
  std::string cyrillic;
  for (int i = 0; i < 40; ++i) cyrillic += "\xD0\xB0";
  auto const of_characters = between(cyrillic + "\xD0\xB6", cyrillic + "\xD0\xB7");
  CHECK(of_characters ==
        "gap between \xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB0\xE2\x80\xA6"
        "\xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB6 and "
        "\xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB0\xE2\x80\xA6"
        "\xD0\xB0\xD0\xB0\xD0\xB0\xD0\xB7");
  // And as here, where a text is cut just before that character.
  std::string const until_the_cut(47, 'a');
  CHECK(between(until_the_cut + "\xD0\xB6" + tail, until_the_cut + "\xD0\xB7" + tail)
            .find("aaaaaaa\xD0\xB7zzz") != std::string::npos);
}

TEST_CASE("hierarchical tokens of one tenant are told apart in an error") {
  using token = keyspan::token_of_scheme<keyspan::cosmos_multihash_scheme>;
  auto const token_of = [](auto const&... values) {
    return keyspan::token_of(keyspan::cosmos_multihash, keyspan::partition_key{values...});
  };
  auto ordered = std::pair{token_of("tenant", "user", "a"), token_of("tenant", "user", "b")};
  if (ordered.second < ordered.first) std::swap(ordered.first, ordered.second);
  std::vector<token_range<token>> const claims{{token{}, ordered.first},
                                               {ordered.second, space_end}};
  auto const found = covers_exactly(claims, keyspan::whole_space(keyspan::cosmos_multihash));
  auto const first = ordered.first.to_hex();
  auto const second = ordered.second.to_hex();
  auto const digits_of = [](std::string_view text) { return text.substr(64, 8); };
  std::string_view const text = found.error().text;
  CHECK(text.find(digits_of(first)) != std::string_view::npos);
  CHECK(text.find(digits_of(second)) != std::string_view::npos);
}

struct shelf {
  int number;
  friend constexpr auto operator<=>(shelf const&, shelf const&) = default;
};
struct numbered_shelf : shelf {
  keyspan::inline_text<80> to_text() const {
    return {"the shelf in the third room on the left of the hall, number ", number};
  }
  friend constexpr auto operator<=>(numbered_shelf const&, numbered_shelf const&) = default;
};

struct nameless_shelf : shelf {
  std::string_view to_text() const { return "a shelf"; }
  friend constexpr auto operator<=>(nameless_shelf const&, nameless_shelf const&) = default;
};

TEST_CASE("a token is named by whatever text it has") {
  std::vector<token_range<shelf>> const plain{{shelf{1}, shelf{2}}};
  CHECK(covers_exactly(plain, token_range{shelf{0}, shelf{2}}).error().text ==
        "gap between (a token without a text) and (a token without a text)");
  // Where two have the same text there is nothing to tell them apart by.
  std::vector<token_range<nameless_shelf>> const alike{{nameless_shelf{{1}}, nameless_shelf{{2}}}};
  CHECK(covers_exactly(alike, token_range{nameless_shelf{{0}}, nameless_shelf{{2}}}).error().text ==
        "gap between a shelf and a shelf");
  numbered_shelf const one{{1}};
  numbered_shelf const two{{2}};
  std::vector<token_range<numbered_shelf>> const named{{numbered_shelf{{0}}, one}};
  CHECK(covers_exactly(named, token_range{numbered_shelf{{0}}, two}).error().text ==
        "gap between the shelf in\xE2\x80\xA6 number 1 and the shelf in\xE2\x80\xA6 number 2");
}

}  // namespace
