// test/feed/divide_test.cpp — one cursor shared out among readers: exactly, and evenly.
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/divide.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/token_range.hpp>

#include "journal.hpp"

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <catch2/catch_template_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::divide;
using keyspan::errc;
using keyspan::feed;
using keyspan::token128;
using test::check;
using test::counted;
using test::entry;
using test::reviews_in;
using test::sorted;

// Evenly cut, each part at a place of its own.
template <class Scheme>
keyspan::composite_cursor<keyspan::token_of_scheme<Scheme>> cursor_of(Scheme const& scheme,
                                                                      std::size_t parts) {
  keyspan::composite_cursor<keyspan::token_of_scheme<Scheme>> made;
  made.container = "reviews";
  made.scheme = std::string{std::string_view{scheme.name()}};
  made.mode = keyspan::feed_mode::all_versions_and_deletes;
  made.key = keyspan::partition_key{"redmond"};
  auto const source = test::evenly_divided_journal(scheme, parts);
  for (std::size_t i = 0; i < parts; ++i)
    made.parts.push_back({source.live()[i].range, keyspan::continuation{std::to_string(i)}});
  return made;
}

template <class Scheme, class Cursors>
void covers_what_it_was(Scheme const& scheme, std::size_t parts, Cursors const& shares) {
  auto const whole = cursor_of(scheme, parts);
  using range = keyspan::token_range<keyspan::token_of_scheme<Scheme>>;
  std::vector<range> all;
  for (auto const& share : shares) {
    CHECK(share.container == whole.container);
    CHECK(share.scheme == whole.scheme);
    CHECK(share.mode == whole.mode);
    CHECK(share.key == whole.key);
    CHECK_FALSE(share.parts.empty());
    for (std::size_t i = 0; i < share.parts.size(); ++i) {
      auto const& part = share.parts[i];
      if (i > 0) CHECK(adjacent(share.parts[i - 1].range, part.range));  // neighbours
      if (!all.empty() && i == 0) CHECK(adjacent(all.back(), part.range));
      all.push_back(part.range);
      auto const at = static_cast<std::size_t>(std::stoi(part.from.text()));
      CHECK(whole.parts[at].range.contains(part.range));
    }
  }
  CHECK(keyspan::cover_of(std::span<range const>{all}, keyspan::whole_space(scheme)).is_exact());
}

double place_of(token128 const& t) {
  return std::ldexp(static_cast<double>(t.high), 64) + static_cast<double>(t.low);
}
// In partitions: those are as wide as each other.
double width_of(keyspan::token_range<token128> const& range, std::size_t partitions) {
  double const space = std::ldexp(1.0, 126);
  double const end = range.upper().is_space_end() ? space : place_of(range.upper().at());
  return (end - place_of(range.lower())) / space * static_cast<double>(partitions);
}

TEST_CASE("the example of divide reads as it should") {
  auto source = reviews_in(3, 60);
  std::vector<int> seen;
  // [region: example]
  feed changes{source};
  auto const shares = divide(changes, 2).value();  // three partitions for two readers
  for (auto const& share : shares) {               // each of them anywhere, as a text
    feed mine{source, {.start = share}};
    for (entry const& one : mine) seen.push_back(one.number);
  }
  check(shares[0].parts.size() == 2 && shares[1].parts.size() == 2);
  // [end: example]
  CHECK(sorted(seen) == counted(0, 60));
}

TEST_CASE("every reader gets as much as every other, whatever the numbers") {
  for (std::size_t parts = 1; parts <= 9; ++parts)
    for (std::size_t readers = 1; readers <= 20; ++readers) {
      INFO(parts << " parts, " << readers << " readers");
      auto const shares = divide(cosmos_v2, cursor_of(cosmos_v2, parts), readers);
      REQUIRE(shares.has_value());
      REQUIRE(shares->size() == readers);
      covers_what_it_was(cosmos_v2, parts, *shares);
      double const share = static_cast<double>(parts) / static_cast<double>(readers);
      std::size_t pieces = 0;
      for (auto const& one : *shares) {
        double width = 0;
        for (auto const& part : one.parts) width += width_of(part.range, parts);
        CHECK(std::abs(width - share) < 1e-9);
        pieces += one.parts.size();
      }
      CHECK(pieces < parts + readers);  // nothing is cut that need not be
      if (parts % readers == 0) CHECK(pieces == parts);
    }
}

TEMPLATE_TEST_CASE("schemes of every kind are divided exactly", "", keyspan::cosmos_v1_scheme,
                   keyspan::cosmos_multihash_scheme, keyspan::redis_cluster_scheme) {
  for (std::size_t parts = 1; parts <= 9; ++parts)
    for (std::size_t readers = 1; readers <= 20; ++readers) {
      INFO(parts << " parts, " << readers << " readers");
      TestType const scheme{};
      auto const shares = divide(scheme, cursor_of(scheme, parts), readers);
      REQUIRE(shares.has_value());
      REQUIRE(shares->size() == readers);
      covers_what_it_was(scheme, parts, *shares);
    }
}

TEST_CASE("a scheme that is chosen at run time is divided as the fixed one is") {
  keyspan::any_scheme const scheme{cosmos_v2};
  for (std::size_t readers = 1; readers <= 20; ++readers) {
    auto const any = *divide(scheme, cursor_of(scheme, 7), readers);
    auto const fixed = *divide(cosmos_v2, cursor_of(cosmos_v2, 7), readers);
    covers_what_it_was(scheme, 7, any);
    for (std::size_t i = 0; i < readers; ++i) {
      REQUIRE(any[i].parts.size() == fixed[i].parts.size());
      for (std::size_t j = 0; j < any[i].parts.size(); ++j) {
        CHECK(*any[i].parts[j].range.lower().template get_if<token128>() ==
              fixed[i].parts[j].range.lower());
        CHECK(any[i].parts[j].from == fixed[i].parts[j].from);
      }
    }
  }
}

TEST_CASE("slots are shared out as evenly as halves allow") {
  auto const shares = *divide(keyspan::redis_cluster, cursor_of(keyspan::redis_cluster, 3), 6);
  for (auto const& share : shares) {
    REQUIRE(share.parts.size() == 1);
    auto const& range = share.parts[0].range;
    int const end = range.upper().is_space_end() ? 16384 : range.upper().at();
    CHECK(std::abs(end - range.lower() - 16384 / 6) <= 2);
  }
}

// It knows the order of its tokens, and nothing between them.
struct uncut_scheme {
  using token_type = int;
  constexpr int token_of(std::span<keyspan::key_value const> values) const {
    return static_cast<int>(values.size());
  }
  constexpr int minimum() const { return 0; }
  constexpr std::string_view name() const { return "uncut"; }
  bool operator==(uncut_scheme const&) const = default;
};
static_assert(keyspan::hash_scheme<uncut_scheme> && !keyspan::splittable_scheme<uncut_scheme>);

TEST_CASE("a scheme that cannot cut shares out whole parts") {
  uncut_scheme const scheme;
  keyspan::composite_cursor<int> whole;
  for (auto const& range : split(keyspan::whole_space(scheme), {10, 20, 30, 40}))
    whole.parts.push_back({range});
  for (std::size_t readers = 1; readers <= 5; ++readers) {
    auto const shares = divide(scheme, whole, readers);
    REQUIRE(shares.has_value());
    std::size_t next = 0;
    for (auto const& share : *shares) {
      CHECK(share.parts.size() >= 5 / readers);
      CHECK(share.parts.size() <= 5 / readers + 1);
      for (auto const& part : share.parts) CHECK(part == whole.parts[next++]);
    }
    CHECK(next == 5);
  }
  CHECK(divide(scheme, whole, 6).error().to_text() ==
        "unsupported: scheme uncut cannot cut ranges: 5 of them are too few for 6 readers");
}

TEST_CASE("parts are shared out in token order, in whatever order they are read") {
  auto whole = cursor_of(cosmos_v2, 6);
  auto const sorted_shares = *divide(cosmos_v2, whole, 4);
  std::rotate(whole.parts.begin(), whole.parts.begin() + 4, whole.parts.end());
  CHECK(*divide(cosmos_v2, whole, 4) == sorted_shares);
}

TEST_CASE("a part that has no room for a cut is an error") {
  keyspan::composite_cursor<std::uint16_t> whole;
  whole.parts.push_back({keyspan::token_range<std::uint16_t>{7, std::uint16_t{9}}});
  CHECK(divide(keyspan::redis_cluster, whole, 2).has_value());
  auto const none = divide(keyspan::redis_cluster, whole, 3);
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == errc::invalid_range);
}

TEST_CASE("a cursor is divided among one reader at least") {
  CHECK(test::promise_broken_by([] {
          return divide(cosmos_v2, cursor_of(cosmos_v2, 1), 0).has_value();
        }) == "a cursor is divided among one reader at least");
}

TEST_CASE("a feed that is divided is opened, and its shares go on from where it stood") {
  auto source = reviews_in(3, 90);
  feed changes{source};
  std::vector<int> numbers;
  for (auto const& page : changes.pages()) {
    for (entry const& one : page->items) numbers.push_back(one.number);
    if (source.reads.size() == 7) break;
  }
  auto const shares = *divide(changes, 5);
  source.split_in_half("1");
  source.write_many(30);
  for (auto const& share : shares) {
    feed mine{source, {.start = share}};
    for (entry const& one : mine) numbers.push_back(one.number);
  }
  CHECK(sorted(numbers) == counted(0, 120));
  CHECK(keeps_order_of_keys(source, numbers));

  auto fresh_source = reviews_in(3, 9);
  feed fresh{fresh_source, {.start = keyspan::from_now}};
  auto const fixed = *divide(fresh, 6);
  fresh_source.write_many(12);
  numbers.clear();
  for (auto const& share : fixed) {
    feed mine{fresh_source, {.start = share}};
    for (entry const& one : mine) numbers.push_back(one.number);
  }
  CHECK(sorted(numbers) == counted(9, 21));
}

TEST_CASE("a feed that cannot be opened is not divided") {
  auto source = reviews_in(3, 9);
  source.topology_errors.emplace_back(errc::forbidden, "not you");
  feed changes{source};
  CHECK(divide(changes, 2).error().to_text() == "forbidden: not you");
}

}  // namespace
