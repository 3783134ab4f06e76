// test/hash/golden_test.cpp — every row that the service's clients agree on, under the fixed
// schemes and under the one chosen at run time.
#include <keyspan/hash/any_scheme.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include "golden.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace {

using keyspan::any_scheme;
using keyspan::cosmos_multihash;
using keyspan::cosmos_multihash_scheme;
using keyspan::cosmos_v1;
using keyspan::cosmos_v2;
using keyspan::space_end;
using keyspan::token_of;
using keyspan::upper_end_from_hex;
using test::golden;
using test::golden_lists;
using test::golden_row;
using test::golden_rows;

template <class Token>
std::string hex_of(Token const& t) {
  return std::string{std::string_view{t.to_hex()}};
}

template <class T>
T const& plain(T const& t) {
  return t;
}
template <class T>
T const& plain(keyspan::result<T> const& t) {
  REQUIRE(t.has_value());
  return *t;
}

// Each row: the token, its text and back, the same by the scheme chosen at run time, no allocation.
template <class Scheme>
void every_row_has_its_token(Scheme const& scheme, golden_rows const& rows) {
  any_scheme const chosen{scheme};
  std::size_t minus_zeros = 0;
  for (auto const& row : rows) {
    CAPTURE(row.epk, row.values.size());
    REQUIRE(row.is_key);
    minus_zeros += row.has_minus_zero;
    auto const token = plain(token_of(scheme, row.values));
    CHECK(hex_of(token) == row.epk);
    CHECK(scheme.from_hex(row.epk) == token);
    CHECK(scheme.minimum() < token);
    auto const any = plain(token_of(chosen, row.values));
    CHECK(any == keyspan::any_token{token});
    CHECK(hex_of(any) == row.epk);
    CHECK(chosen.from_hex(row.epk) == any);
    CHECK(test::allocations_in([&] {
            auto const fixed = token_of(scheme, row.values);
            static_cast<void>(keyspan::to_hex(fixed));
            auto const found = token_of(chosen, row.values);
            static_cast<void>(keyspan::to_hex(found));
          }) == 0);
  }
  CHECK(rows.size() == 1200);
  CHECK(minus_zeros == 0);  // which would count as +0 here; see the disagreements
}

TEST_CASE("all 1200 keys have their tokens of version 1") {
  every_row_has_its_token(cosmos_v1, golden("epk_v1.json"));
}
TEST_CASE("all 1200 keys have their tokens of version 2") {
  every_row_has_its_token(cosmos_v2, golden("epk_v2.json"));
}
TEST_CASE("all 1200 hierarchical keys have their tokens") {
  every_row_has_its_token(cosmos_multihash, golden("epk_multihash.json"));
}

// Texts of one width sort like the bytes, so they are what the order is compared with.
template <class Scheme>
void tokens_sort_like_their_texts(Scheme const& scheme, golden_rows const& rows,
                                  std::size_t padded_width) {
  using token = typename Scheme::token_type;
  struct entry {
    token place;
    std::string text;
  };
  std::vector<entry> entries;
  std::unordered_set<token> known;
  for (auto const& row : rows) {
    std::string text = row.epk;
    if (text.size() < padded_width) text.resize(padded_width, '0');
    entries.push_back({plain(token_of(scheme, row.values)), text});
    known.insert(entries.back().place);
  }
  std::ranges::sort(entries, {}, &entry::text);
  std::size_t different = 1;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    auto const& [before, text_before] = entries[i - 1];
    auto const& [here, text] = entries[i];
    CAPTURE(text_before, text);
    CHECK((before <=> here) == (text_before <=> text));
    CHECK((before == here) == (text_before == text));
    different += before != here;
    // Nothing but the token itself lies before its successor.
    auto const next = scheme.successor(before);
    CHECK(next > before);
    CHECK((before == here || next <= here));
  }
  CHECK(known.size() == different);
}

TEST_CASE("tokens of version 1 sort like their bytes and are alone before their successors") {
  tokens_sort_like_their_texts(cosmos_v1, golden("epk_v1.json"), 0);
}
TEST_CASE("tokens of version 2 sort like their bytes and are alone before their successors") {
  tokens_sort_like_their_texts(cosmos_v2, golden("epk_v2.json"), 32);
}
TEST_CASE("hierarchical tokens sort as if zeros followed and are alone before their successors") {
  tokens_sort_like_their_texts(cosmos_multihash, golden("epk_multihash.json"), 96);
}

TEST_CASE("all 31 hierarchical prefixes have their bounds") {
  auto const rows = golden("epk_prefix_ranges.json");
  for (auto const& row : rows) {
    CAPTURE(row.lower);
    auto const bounds = keyspan::prefix_bounds(cosmos_multihash, row.values, row.paths);
    REQUIRE(bounds.has_value());
    CHECK(hex_of(bounds->lower) == row.lower);
    CHECK(hex_of(bounds->upper) == row.upper);
    auto const any = keyspan::prefix_bounds(any_scheme{cosmos_multihash}, row.values, row.paths);
    REQUIRE(any.has_value());
    CHECK(hex_of(any->lower) == row.lower);
    CHECK(hex_of(any->upper) == row.upper);
  }
  CHECK(rows.size() == 31);
}

template <class Scheme>
void this_boundary(Scheme const& scheme, golden_row const& row) {
  CHECK(hex_of(scheme.boundary(row.index, row.partitions)) == row.lower);
  if (row.index + 1 < row.partitions)
    CHECK(hex_of(scheme.boundary(row.index + 1, row.partitions)) == row.upper);
  else
    CHECK(row.upper == "FF");
  auto const cut = scheme.cut_point(scheme.minimum(), space_end, row.index, row.partitions);
  CHECK(cut == scheme.boundary(row.index, row.partitions));
}

// In one row the bounds are a tenant and the next possible one. The value there is the lower bound
// with zeros behind it, so by the service's own order the lower bound itself, and would leave a
// part without keys. service_midpoint says so to the letter; midpoint cuts between the tenant's
// users.
int midpoints_that_are_no_cut = 0;

template <class Scheme>
void this_midpoint(Scheme const& scheme, golden_row const& row) {
  auto const lower = plain(scheme.from_hex(row.lower));
  auto const upper = plain(upper_end_from_hex(scheme, row.upper));
  auto const mid = plain([&] {
    if constexpr (requires { scheme.midpoint(lower, upper, 2); }) {
      return scheme.midpoint(lower, upper, 2);  // the rows have two paths, where that matters
    } else {
      return scheme.midpoint(lower, upper);
    }
  }());
  CHECK(lower < mid);
  CHECK(upper > mid);
  if constexpr (std::same_as<Scheme, cosmos_multihash_scheme>)
    CHECK(hex_of(scheme.service_midpoint(lower, upper, 2)) == row.mid);
  if (auto const theirs = scheme.from_hex(row.mid); theirs == lower) {
    ++midpoints_that_are_no_cut;
  } else {
    CHECK(hex_of(mid) == row.mid);
  }
}

template <class Scheme>
void these_parts(Scheme const& scheme, golden_row const& row) {
  auto const lower = plain(scheme.from_hex(row.lower));
  auto const upper = plain(upper_end_from_hex(scheme, row.upper));
  REQUIRE(row.points.size() + 1 == row.parts);
  CHECK(scheme.cut_point(lower, upper, 0, row.parts) == lower);
  for (std::size_t i = 1; i < row.parts; ++i)
    CHECK(hex_of(plain(scheme.cut_point(lower, upper, i, row.parts))) == row.points[i - 1]);
}

// Under the fixed scheme of its kind, and under the one chosen at run time.
template <class Check>
void by_kind(golden_row const& row, Check&& check_row) {
  CAPTURE(row.kind, row.partitions, row.index, row.lower, row.upper);
  if (row.kind == "v1") {
    check_row(cosmos_v1);
    check_row(any_scheme{cosmos_v1});
  } else if (row.kind == "v2") {
    check_row(cosmos_v2);
    check_row(any_scheme{cosmos_v2});
  } else {
    REQUIRE(row.kind == "multihash");
    check_row(cosmos_multihash);
    check_row(any_scheme{cosmos_multihash});
  }
}

TEST_CASE("all 361 bounds of fresh containers, midpoints and equal parts are where others cut") {
  auto const lists = golden_lists("epk_boundaries.json");
  for (auto const& row : lists.at("bounds"))
    by_kind(row, [&](auto scheme) { this_boundary(scheme, row); });
  midpoints_that_are_no_cut = 0;
  for (auto const& row : lists.at("midpoints"))
    by_kind(row, [&](auto scheme) { this_midpoint(scheme, row); });
  for (auto const& row : lists.at("equal"))
    by_kind(row, [&](auto scheme) { these_parts(scheme, row); });
  CHECK(midpoints_that_are_no_cut == 2);  // one row, by two schemes
  CHECK(lists.at("bounds").size() == 219);
  CHECK(lists.at("midpoints").size() == 130);
  CHECK(lists.at("equal").size() == 12);
}

TEST_CASE("where other clients disagree ours gives what the service does") {
  std::size_t recommended = 0;
  std::size_t refused = 0;
  std::size_t minus_zero = 0;
  auto const rows = golden("epk_disagreements.json");
  for (auto const& row : rows) {
    CAPTURE(row.kind, row.recommended.value_or("none"));
    if (!row.recommended) {
      CHECK(!row.is_key);  // so it has no token: key_value refuses it
      ++refused;
      continue;
    }
    REQUIRE(row.is_key);
    by_kind(row, [&](auto scheme) {
      auto const hex = hex_of(plain(token_of(scheme, row.values)));
      if (row.has_minus_zero) {
        CHECK(hex == hex_of(plain(token_of(scheme, keyspan::key_value{0}))));
        CHECK(hex != *row.recommended);
      } else {
        CHECK(hex == *row.recommended);
      }
    });
    ++(row.has_minus_zero ? minus_zero : recommended);
  }
  CHECK(rows.size() == 48);
  CHECK(recommended == 24);
  CHECK(refused == 21);
  CHECK(minus_zero == 3);  // some hash its sign; a key value has none
}

}  // namespace
