// test/hash/identity_test.cpp — tokens in the order of keys: every pair of a set that has all the
// borders in it, and many that were drawn.
#include <keyspan/hash/identity.hpp>

#include <keyspan/key/partition_key.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::identity;
using keyspan::identity_scheme;
using keyspan::key_value;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::space_end;
using keyspan::upper_end;
using test::check;

using token = identity_scheme<>::token_type;

constexpr token token_of(partition_key_view const& key) { return *identity.token_of(key.values()); }

constexpr bool the_example_of_identity_reads_as_it_should() {
  // [region: example]
  auto const oslo = keyspan::token_of(identity, partition_key_view{"no", "Oslo"});
  auto const rome = keyspan::token_of(identity, partition_key_view{"it", "Rome"});
  check(*rome < *oslo);
  check(oslo->to_hex() ==
        "066F7000065074"
        "6D7000");

  auto const norway = identity.prefix_bounds(partition_key_view{"no"}.values(), 2);
  check(norway->lower <= *oslo && norway->upper > *oslo);
  check(!(norway->lower <= *rome && norway->upper > *rome));
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_identity_reads_as_it_should);

using number = std::numeric_limits<double>;

constexpr std::array<key_value, 12> few_values{key_value{keyspan::undefined},
                                               key_value{keyspan::null},
                                               key_value{false},
                                               key_value{true},
                                               key_value{-1.0},
                                               key_value{0.0},
                                               key_value{1.0},
                                               key_value{""},
                                               key_value{"a"},
                                               key_value{"b"},
                                               key_value{"\xEE\x80\x80"},
                                               key_value{"\xF0\x90\x80\x80"}};

constexpr bool the_order_of_keys_is_that_of_their_tokens() {
  std::array<partition_key_view, 1 + 12 + 144> keys{};
  std::size_t count = 1;
  for (auto const& a : few_values) {
    keys[count++] = partition_key_view{a};
    for (auto const& b : few_values) keys[count++] = partition_key_view{a, b};
  }
  // The set is in order once it is sorted, so neighbours say it all where order is transitive.
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i + 1 < count; ++i) {
    check(keys[i] < keys[i + 1] && token_of(keys[i]) < token_of(keys[i + 1]));
    check(token_of(keys[i]) == token_of(keys[i]));
  }
  return true;
}
CHECK_BOTH(the_order_of_keys_is_that_of_their_tokens);

// Around every border of UTF-8, of UTF-16 and of doubles.
std::vector<key_value> border_values() {
  static constexpr std::array<std::string_view, 24> texts{"",
                                                          std::string_view{"\0", 1},
                                                          std::string_view{"\0\0", 2},
                                                          "\1",
                                                          "a",
                                                          "aa",
                                                          "ab",
                                                          "b",
                                                          std::string_view{"a\0", 2},
                                                          std::string_view{"a\0b", 3},
                                                          "\x7F",
                                                          "\xC2\x80",
                                                          "\xDF\xBF",
                                                          "\xE0\xA0\x80",
                                                          "\xED\x9F\xBF",
                                                          "\xEE\x80\x80",
                                                          "\xEF\xBF\xBF",
                                                          "\xEF\xBF\xBF"
                                                          "a",
                                                          "\xF0\x90\x80\x80",
                                                          "\xF0\x90\x80\x80"
                                                          "a",
                                                          "\xF1\x80\x80\x80",
                                                          "\xF4\x8F\xBF\xBF",
                                                          "a\xEE\x80\x80",
                                                          "a\xF4\x8F\xBF\xBF"};
  std::vector<key_value> values{keyspan::undefined, keyspan::null, false, true, 0.0};
  for (auto const text : texts) values.push_back(key_value{text});
  for (double const magnitude : {number::denorm_min(), 2 * number::denorm_min(), number::min(), 0.5,
                                 1.0, 1.0 + number::epsilon(), 2.0, 1e300, number::max()}) {
    values.push_back(magnitude);
    values.push_back(-magnitude);
  }
  return values;
}

TEST_CASE("every two keys of the borders compare as their tokens do") {
  auto const values = border_values();
  std::vector<partition_key_view> keys{partition_key_view{}};
  for (auto const& a : values) {
    keys.emplace_back(a);
    for (auto const& b : values) keys.emplace_back(a, b);
  }
  std::vector<token> tokens;
  for (auto const& key : keys) tokens.push_back(token_of(key));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      wrong += (keys[i] <=> keys[j]) != (tokens[i] <=> tokens[j]);
  CHECK(keys.size() == 1 + 47 + 47 * 47);
  CHECK(wrong == 0);
}

std::string some_text(test::random& random) {
  static constexpr std::array<std::string_view, 9> pieces{"a",
                                                          "b",
                                                          std::string_view{"\0", 1},
                                                          "\x7F",
                                                          "\xD0\x9F",
                                                          "\xED\x9F\xBF",
                                                          "\xEE\x80\x80",
                                                          "\xEF\xBF\xBF",
                                                          "\xF0\x9F\x98\x80"};
  std::string text;
  for (auto left = random.below(8); left > 0; --left) text += random.pick(pieces);
  return text;
}

partition_key some_key(test::random& random) {
  std::array<std::string, 3> texts;
  std::array<key_value, 3> values;
  auto const size = random.below(4);
  for (std::size_t i = 0; i < size; ++i) {
    texts[i] = some_text(random);
    switch (random.below(6)) {
      case 0:
        values[i] = keyspan::undefined;
        break;
      case 1:
        values[i] = random.chance(50);
        break;
      case 2:
        values[i] = random.any_finite_double();
        break;
      case 3:
        values[i] = static_cast<double>(random.between(-3, 3));
        break;
      default:
        values[i] = key_value{texts[i]};
    }
  }
  return partition_key{partition_key_view{std::span{values}.first(size)}};
}

TEST_CASE("keys that were drawn compare as their tokens do, and prefixes as they should") {
  test::random random{34};
  std::vector<partition_key> keys;
  while (keys.size() < 1200) keys.push_back(some_key(random));
  for (std::size_t i = 0; i < 300; ++i)
    keys.emplace_back(keys[i].prefix(random.below(keys[i].size() + 1)));
  std::vector<token> tokens;
  for (auto const& key : keys) tokens.push_back(token_of(key));

  std::size_t wrong = 0;
  std::size_t under = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const bounds = identity.prefix_bounds(keys[i].values(), 3);
    auto const own = identity.prefix_bounds(keys[i].values(), keys[i].size());
    REQUIRE(bounds.has_value());
    for (std::size_t j = 0; j < keys.size(); ++j) {
      wrong += (keys[i] <=> keys[j]) != (tokens[i] <=> tokens[j]);
      bool const starts =
          keys[j].starts_with(keys[i]) && (keys[i].size() < 3 || keys[i] == keys[j]);
      bool const begins =
          tokens[j].size() >= tokens[i].size() &&
          std::ranges::equal(tokens[i].bytes(), tokens[j].bytes().first(tokens[i].size()));
      under += starts;
      wrong += starts && !begins;
      wrong += starts != (bounds->lower <= tokens[j] && bounds->upper > tokens[j]);
      wrong += (keys[i] == keys[j]) != (own->lower <= tokens[j] && own->upper > tokens[j]);
    }
  }
  CHECK(wrong == 0);
  CHECK(under > keys.size());  // others beside each key itself
}

constexpr bool a_token_has_the_bytes_that_its_page_shows() {
  check(token_of(partition_key_view{}).empty());
  check(token_of(partition_key_view{keyspan::undefined, keyspan::null, false}).to_hex() ==
        "010203");
  check(token_of(partition_key_view{true, ""}).to_hex() == "040600");
  check(token_of(partition_key_view{0}).to_hex() == "058000000000000000");
  check(token_of(partition_key_view{-1}).to_hex() == "05400FFFFFFFFFFFFF");
  check(token_of(partition_key_view{"a\xEF\xBF\xBF\xF0\x90\x80\x80"}).to_hex() ==
        "0662F5C0C0EF91818100");
  return true;
}
CHECK_BOTH(a_token_has_the_bytes_that_its_page_shows);

constexpr bool a_key_that_does_not_fit_is_refused_with_the_limit() {
  constexpr identity_scheme<16> small;
  check(small.token_of(partition_key_view{"12345678901234"}.values())->size() == 16);
  check(small.token_of(partition_key_view{"123456789012345"}.values()).error().to_text() ==
        "too_large: the key takes 17 bytes, and a token of this scheme has at most 16");
  check(small.token_of(partition_key_view{1, 2}.values()).error().code == errc::too_large);
  check(small.token_of(partition_key_view{1, "12345"}.values())->size() == 16);
  return true;
}
CHECK_BOTH(a_key_that_does_not_fit_is_refused_with_the_limit);

// Where a count of 16 bits would begin again, and a cut token would look like one that fits.
TEST_CASE("a key is too large at 65536 bytes and at twice as many too") {
  std::string const text(131'072 + 10, 'k');
  for (std::size_t const bytes :
       {65'535u, 65'536u, 65'537u, 65'538u, 65'600u, 131'071u, 131'072u, 131'073u, 131'080u}) {
    auto const refused = "too_large: the key takes " + std::to_string(bytes) +
                         " bytes, and a token of this scheme has at most 128";
    std::string_view const alone = std::string_view{text}.substr(0, bytes - 2);
    CHECK(keyspan::token_of(identity, partition_key_view{alone}).error().to_text() == refused);
    // One byte after another that needs reordering, and values of other kinds.
    std::string_view const less = alone.substr(0, bytes - 2 - 3 - 1 - 9);
    std::string const reordered = std::string{less} + "\xEF\xBF\xBF";
    CHECK(keyspan::token_of(identity, partition_key_view{true, 0.5, reordered}).error().to_text() ==
          refused);
    std::vector<key_value> const values(bytes, key_value{keyspan::undefined});
    CHECK(identity.token_of(values).error().to_text() == refused);
  }
}

using small_scheme = identity_scheme<8>;
using small_token = small_scheme::token_type;

constexpr small_token small_of(std::string_view bytes) {
  return *small_token::from_bytes(std::span{bytes});
}

constexpr bool the_next_token_follows_at_once() {
  constexpr small_scheme scheme;
  check(scheme.successor(small_of("")) == small_of({"\0", 1}));
  check(scheme.successor(small_of("\6a")) == small_of({"\6a\0", 3}));
  check(scheme.successor(small_of("\6abcdefg")) == small_of("\6abcdefh"));
  check(scheme.successor(small_of("\6abcde\xFF\xFF")) == small_of("\6abcdf"));
  check(scheme.successor(small_of("\5\xFF\xFF\xFF\xFF\xFF\xFF\xFF")) == small_of("\6"));
  check(scheme.successor(small_of("\6\xFF\xFF\xFF\xFF\xFF\xFF\xFF")).is_space_end());
  return true;
}
CHECK_BOTH(the_next_token_follows_at_once);

constexpr bool a_midpoint_is_short_and_in_the_middle() {
  constexpr small_scheme scheme;
  auto const middle = [&](std::string_view lower, std::string_view upper) {
    return scheme.midpoint(small_of(lower), small_of(upper));
  };
  check(middle("\6a", "\6c") == small_of("\6b"));
  check(middle("\6a", "\6b") == small_of("\6a\x80"));
  check(middle("\6aaaaaa", "\6zzzzzz") == small_of("\6m\xED"));
  check(middle("\6a", {"\6a\0\0", 4}) == small_of({"\6a\0", 3}));
  check(middle("\6a", {"\6a\0", 3}).error().to_text() ==
        "invalid_range: no token lies between 0661 and 066100");
  check(middle("\6abcdefg", "\6abcdefh").error().code == errc::invalid_range);
  check(middle("\6b", "\6a").error().code == errc::invalid_range);
  check(middle("\6a", "\6a").error().code == errc::invalid_range);
  // Keys lie below 07, so the end of the space is as good as that.
  check(scheme.midpoint(small_of(""), space_end) == small_of("\3\x80"));
  check(scheme.midpoint(small_of("\6"), space_end) == small_of("\6\x80"));
  check(scheme.midpoint(small_of("\6"), small_of("\x30")) == small_of("\6\x80"));
  check(!scheme.midpoint(small_of("\6\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), space_end));
  return true;
}
CHECK_BOTH(a_midpoint_is_short_and_in_the_middle);

TEST_CASE("there is a midpoint wherever the next token is not the other bound") {
  constexpr small_scheme scheme;
  test::random random{35};
  auto const some_token = [&] {
    static constexpr std::string_view bytes{"\0\1\x7F\x80\xFE\xFF", 6};
    std::string made(random.below(9), '\0');
    for (char& byte : made) byte = random.pick(bytes);
    if (!made.empty()) made[0] = static_cast<char>(random.below(7));
    return small_of(made);
  };
  std::size_t wrong = 0;
  std::size_t neighbours = 0;
  for (int i = 0; i < 50'000; ++i) {
    auto const lower = some_token();
    auto const upper = random.chance(10)   ? upper_end<small_token>{space_end}
                       : random.chance(20) ? scheme.successor(lower)
                                           : upper_end<small_token>{some_token()};
    auto const middle = scheme.midpoint(lower, upper);
    wrong += middle.has_value() != (scheme.successor(lower) < upper);
    wrong += middle && !(lower < *middle && upper > *middle);
    neighbours += !middle && upper > lower;
  }
  CHECK(wrong == 0);
  CHECK(neighbours > 1000);
}

constexpr bool parts_share_out_the_strings() {
  check(identity.boundary(0, 4) == token{} && identity.boundary(1, 4).to_hex() == "0621");
  check(identity.boundary(2, 4).to_hex() == "0641" && identity.boundary(3, 4).to_hex() == "0661");
  check(token_of(partition_key_view{"@"}) > identity.boundary(1, 2));
  check(token_of(partition_key_view{"?"}) < identity.boundary(1, 2));
  return true;
}
CHECK_BOTH(parts_share_out_the_strings);

constexpr bool what_no_key_can_have_is_no_token_of_the_scheme() {
  check(identity_scheme<>::from_hex("0641")->to_hex() == "0641");
  check(identity_scheme<>::from_hex("07").error().to_text() ==
        "not_representable: tokens of identity are below 07");
  check(identity_scheme<>::from_hex("FF").error().code == errc::not_representable);
  check(identity_scheme<>::from_hex("0").error().code == errc::malformed);
  check(identity_scheme<8>::from_hex("060606060606060606").error().code == errc::too_large);
  check(identity.prefix_bounds(partition_key_view{1, 2}.values(), 1).error().to_text() ==
        "key_mismatch: too many values: the key has 2, there are 1 path");
  return true;
}
CHECK_BOTH(what_no_key_can_have_is_no_token_of_the_scheme);

constexpr bool a_prefix_that_fills_its_token_has_nothing_under_it() {
  constexpr small_scheme scheme;
  partition_key_view const full{"abcdef"};
  auto const bounds = scheme.prefix_bounds(full.values(), 2);
  check(bounds->lower == *scheme.token_of(full.values()));
  check(bounds->upper == scheme.successor(bounds->lower));
  auto const all = scheme.prefix_bounds({}, 2);
  check(all->lower == scheme.minimum() && all->upper.is_space_end());
  return true;
}
CHECK_BOTH(a_prefix_that_fills_its_token_has_nothing_under_it);

TEST_CASE("bounds where no key can be break a promise") {
  CHECK(test::promise_broken_by([] { return small_scheme{}.successor(small_of("\7")); }) ==
        "keys can have tokens there");
  CHECK(test::promise_broken_by([] {
          return small_scheme{}.midpoint(small_of("\7"), space_end);
        }) == "keys can have tokens there");
  CHECK(test::promise_broken_by([] { return small_scheme{}.boundary(2, 2); }) ==
        "a part has a number below the count of parts");
}

TEST_CASE("a token in the order of keys allocates nothing") {
  std::string const key(100, 'k');
  CHECK(test::allocations_in([&] {
          static_cast<void>(keyspan::token_of(identity, partition_key_view{key, 0.1}));
          static_cast<void>(keyspan::token_of(identity, partition_key_view{key, key}));
          static_cast<void>(identity.midpoint(token{}, space_end));
        }) == 0);
}

}  // namespace
