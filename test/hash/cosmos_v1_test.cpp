// test/hash/cosmos_v1_test.cpp — version 1: where texts are cut, how numbers sort, what fits.
#include <keyspan/hash/cosmos_v1.hpp>

#include <keyspan/key/partition_key.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::cosmos_v1;
using keyspan::errc;
using keyspan::fail;
using keyspan::key_value;
using keyspan::null;
using keyspan::partition_key;
using keyspan::space_end;
using keyspan::to_hex;
using keyspan::token_of;
using keyspan::token_v1;
using keyspan::undefined;
using keyspan::upper_end;
using test::check;

constexpr bool a_token_is_the_hash_and_then_the_key() {
  // [region: example]
  auto const token = keyspan::token_of(keyspan::cosmos_v1, keyspan::partition_key{"redmond"});
  check(keyspan::to_hex(token) == "05C1EFE313830C087366656E706F6500");
  //                               |  the hash  |08 redmond, + 1 |
  check(keyspan::cosmos_v1.boundary(1, 2).to_hex() == "05C1DFFFFFFFFC");
  // [end: example]
  return true;
}
CHECK_BOTH(a_token_is_the_hash_and_then_the_key);

template <class... Values>
constexpr bool has(std::string_view hex, Values... values) {
  return to_hex(token_of(cosmos_v1, partition_key{values...})) == hex;
}

// Rows of the golden files, in constant expressions.
static_assert(to_hex(token_of(cosmos_v1, partition_key{})) == "");
static_assert(has("05C1D7C5A903D803", true));
static_assert(has("05C1DB857D857C02", false));
static_assert(has("05C1ED45D7475601", null));
static_assert(has("05C1D529E345DC00", undefined));
static_assert(has("05C1BF6DA11560058000", 0));
static_assert(has("05C1BF6DA11560058000", -0.0));
static_assert(has("05C1ED172B6B2605BFF0", 1));
static_assert(has("05C1D1A5BDDF9C054010", -1));
static_assert(has("05C1D93569113805C000", 2));
static_assert(has("05C1E12D450BCC054000", -2));
static_assert(has("05C1D9C1C5517C05C014", 5));
static_assert(has("05C1AB2187CE05C100", 131072));
static_assert(has("05C1ED5B039B6005C1F0", 4294967296));
static_assert(has("05C1E11F8B1390057FFFFFFFFFFFFFFFFE", -5e-324));
static_assert(has("05C1E9A98F414E05C0950DCD673399CD66", 1286.8));
static_assert(has("05C1CF33970FF80800", ""));
static_assert(has("05C1E3D1FD09D4083A00", "9"));
static_assert(has("05C1EFC5737D3408C4A000", "\xC3\x9F"));
static_assert(has("05C1E1B3D9CD2608716273756A756A706F4C667A00", "partitionKey"));
static_assert(has("05C1DDC91391DC05BFF0086200", 1, "a"));
static_assert(has("05C1D3473FC32801086200", null, "a"));
static_assert(has("05C1C93D9931300000", undefined, undefined));
static_assert(has("05C00005C1EFCD8B2D5E", 4241574703.0));
static_assert(has("05800005C1F745BBABE980", 6051255785.0));

// Cut within a character, before one, and at 101 bytes.
static_assert(
    has("05C1E919E5FF6E0879797979797979797979797979797979797979797979797979797979797979797979797979"
        "797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979"
        "7979797979797979797979797979797979F0C0",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxx"
        "\xF0\x9F\x98\x80"));
static_assert(
    has("05C1E919E5FF6E0879797979797979797979797979797979797979797979797979797979797979797979797979"
        "797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979"
        "7979797979797979797979797979797979F0C0",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxx"
        "\xF0\x9F\x98\x80"
        "tail"));
static_assert(
    has("05C1ED099961D20879797979797979797979797979797979797979797979797979797979797979797979797979"
        "797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979"
        "79797979797979797979797979797979F1A099",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxx"
        "\xF0\x9F\x98\x80"
        "tail"));
static_assert(
    has("05C1E18D1B81BA0879797979797979797979797979797979797979797979797979797979797979797979797979"
        "797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979"
        "7979797979797979797979797979797979C4AA",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxx"
        "\xC3\xA9"));

constexpr bool a_key_of_six_values_has_all_of_them() {
  std::array<key_value, 6> values{
      2, true, false, null, undefined, "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82!"};
  check(to_hex(token_of(cosmos_v1, values)) ==
        "05C1D19581B37C05C0000302010008D1A0D281D1B9D1B3D1B6D2832200");
  return true;
}
CHECK_BOTH(a_key_of_six_values_has_all_of_them);

// The rules once more, the slow way: code units in a vector, bytes in a string.
namespace model {

std::vector<char16_t> units_of(std::string_view text) {
  std::vector<char16_t> units;
  std::size_t offset = 0;
  while (auto const c = keyspan::decode_utf8(text, offset)) {
    offset += c.size;
    if (c.code_point < 0x1'0000) {
      units.push_back(static_cast<char16_t>(c.code_point));
    } else {
      units.push_back(static_cast<char16_t>(0xD800 + ((c.code_point - 0x1'0000) >> 10)));
      units.push_back(static_cast<char16_t>(0xDC00 + ((c.code_point - 0x1'0000) & 0x3FF)));
    }
  }
  return units;
}

std::string utf8_of(std::vector<char16_t> const& units) {
  std::string text;
  for (std::size_t i = 0; i < units.size(); ++i) {
    char32_t c = units[i];
    if (c >= 0xD800 && c < 0xDC00 && i + 1 < units.size())
      c = 0x1'0000 + ((c - 0xD800) << 10) + (units[++i] - 0xDC00u);
    text += keyspan::is_code_point(c) ? keyspan::encode_utf8(c).view()
                                      : std::string_view{"\xEF\xBF\xBD"};
  }
  return text;
}

std::string cut(std::string_view text) {
  auto units = units_of(text);
  if (units.size() > 100) units.resize(100);
  return utf8_of(units);
}

std::string ordered(double number) {
  auto const bits = std::bit_cast<std::uint64_t>(number);
  std::uint64_t const place = bits >> 63 != 0 ? ~bits + 1 : bits | std::uint64_t{1} << 63;
  std::string digits;  // of base 2
  for (int i = 63; i >= 0; --i) digits += (place >> i & 1) != 0 ? '1' : '0';
  std::string bytes = "\x05";
  auto const byte_of = [](std::string_view eight) {
    int value = 0;
    for (char const digit : eight) value = value * 2 + (digit - '0');
    return static_cast<char>(value);
  };
  bytes += byte_of(digits.substr(0, 8));
  std::string rest = digits.substr(8);
  do {
    std::string seven = rest.substr(0, 7);
    seven.resize(7, '0');
    rest = rest.size() > 7 ? rest.substr(7) : "";
    bool const more = rest.find('1') != rest.npos;
    bytes += byte_of(seven + (more ? '1' : '0'));
    if (!more) break;
  } while (true);
  return bytes;
}

std::string token(std::vector<key_value> const& values) {
  std::string hashed;
  std::string appended;
  for (auto const& value : values) {
    if (value.is_number()) {
      hashed += '\x05';
      auto const bits = std::bit_cast<std::uint64_t>(value.number());
      for (int shift = 0; shift < 64; shift += 8) hashed += static_cast<char>(bits >> shift);
      appended += ordered(value.number());
    } else if (value.is_string()) {
      auto const text = cut(value.string());
      hashed.append(1, '\x08').append(text).append(1, '\0');
      appended += '\x08';
      for (char const c : text.substr(0, 101)) appended += static_cast<char>(c + 1);
      if (text.size() <= 100) appended += '\0';
    } else {
      char const marker = value.is_undefined() ? '\0'
                          : value.is_null()    ? '\1'
                          : value.boolean()    ? '\3'
                                               : '\2';
      hashed += marker;
      appended += marker;
    }
  }
  return ordered(keyspan::murmur3_32(hashed)) + appended;
}

}  // namespace model

std::string bytes_of(token_v1 const& t) { return {t.bytes().begin(), t.bytes().end()}; }

TEST_CASE("texts are cut at 100 code units, after 101 bytes, and within a character") {
  test::random random{1};
  constexpr char32_t letters[]{U'x', 0x7F, 0xE9, 0x43F, 0x65E5, 0xFFFD, 0x1'F600, 0x10'FFFF};
  std::size_t cut_within = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random.below(105), 'a');
    auto const most = 1 + random.below(std::size(letters));
    for (auto left = random.below(60); left > 0; --left)
      text += keyspan::encode_utf8(letters[random.below(most)]).view();
    if (random.chance(50)) text.append(random.below(60), 'z');
    key_value const value{text};
    auto const t = token_of(cosmos_v1, value);
    REQUIRE(t.has_value());
    REQUIRE(bytes_of(*t) == model::token({value}));
    cut_within += keyspan::detail::cosmos_v1_cut(text).is_character_cut;
  }
  CHECK(cut_within > 100);
}

TEST_CASE("100 bytes end with a zero, 101 bytes and more do not") {
  for (std::size_t size = 98; size <= 104; ++size) {
    std::string text(90, 'a');
    text += "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9";  // 94 code units
    text.append(size - text.size(), 'b');
    auto const bytes = bytes_of(*token_of(cosmos_v1, key_value{text}));
    auto const kept = bytes.substr(bytes.find('\x08', 5));
    CAPTURE(size);
    CHECK(kept.size() == (size <= 100 ? size + 2 : 102));
    CHECK((kept.back() == '\0') == (size <= 100));
  }
}

TEST_CASE("any values have the token of the plain rules") {
  test::random random{2};
  for (int round = 0; round < 20'000; ++round) {
    std::string const text(random.below(120), 'q');
    std::vector<key_value> values;
    for (auto left = 1 + random.below(3); left > 0; --left) switch (random.below(7)) {
        case 0:
          values.emplace_back(undefined);
          break;
        case 1:
          values.emplace_back(null);
          break;
        case 2:
          values.emplace_back(random.chance(50));
          break;
        case 3:
          values.emplace_back(text);
          break;
        case 4:
          values.emplace_back(static_cast<std::int32_t>(random()));
          break;
        default:
          values.emplace_back(random.any_finite_double());
      }
    auto const t = token_of(cosmos_v1, values);
    REQUIRE(t.has_value());
    REQUIRE(bytes_of(*t) == model::token(values));
  }
}

TEST_CASE("the ordered form of numbers sorts like the numbers") {
  test::random random{3};
  std::vector<double> numbers{0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308};
  for (int i = 0; i < 2'000; ++i) numbers.push_back(random.any_finite_double() + 0.0);
  for (int i = -300; i < 300; ++i) numbers.push_back(i);
  std::ranges::sort(numbers);
  token_v1 before;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    token_v1 t;
    keyspan::detail::token_writer to{t};
    keyspan::detail::write_ordered_number(to, numbers[i]);
    REQUIRE((t.size() >= 3 && t.size() <= 10));
    if (i > 0)
      REQUIRE((before <=> t) == (numbers[i - 1] < numbers[i] ? std::strong_ordering::less
                                                             : std::strong_ordering::equal));
    before = t;
  }
}

TEST_CASE("a hash is read back from its ordered form") {
  using keyspan::detail::cosmos_v1_hash_in;
  test::random random{4};
  for (int round = 0; round < 20'000; ++round) {
    auto const hash = static_cast<std::uint32_t>(random() >> random.below(40));
    token_v1 t;
    keyspan::detail::token_writer to{t};
    keyspan::detail::write_ordered_number(to, hash);
    REQUIRE(cosmos_v1_hash_in(t) == hash);
    to.add(8);  // whatever follows
    REQUIRE(cosmos_v1_hash_in(t) == hash);
  }
  CHECK(cosmos_v1_hash_in({}) == 0u);
  for (auto const* text : {
           "05", "0580", "06C1DF00", "05C1DF", "05C1DFFF", "05C1F000",
           "05BFE0",                 // a half
           "054010",                 // -1
           "05FFFFFFFFFFFFFFFFFFFF"  // never ends
       })
    CHECK(!cosmos_v1_hash_in(*token_v1::from_hex(text)));
}

TEST_CASE("three values always fit and more may not") {
  std::string longest;
  while (longest.size() < 300) longest += "\xE6\x97\xA5";
  std::vector<key_value> values(3, key_value{longest});
  auto const three = token_of(cosmos_v1, values);
  REQUIRE(three.has_value());
  CHECK(three->size() <= 313);
  values.emplace_back("");
  CHECK(token_of(cosmos_v1, values).has_value());
  values.emplace_back(longest);
  auto const five = token_of(cosmos_v1, values);
  REQUIRE(!five);
  CHECK(five.error().code == errc::too_large);
  CHECK(five.error().text.view().starts_with(
      "a token of cosmos_v1 has at most 336 bytes, this key's has 4"));
  // To the byte: each undefined value takes one.
  values.assign(3, key_value{longest});
  while (token_of(cosmos_v1, values)) values.emplace_back(undefined);
  CHECK(token_of(cosmos_v1, values).error().text.view().ends_with("has 337"));
  CHECK(token_of(cosmos_v1, std::span{values}.first(values.size() - 1))->size() == 336);
}

// Where a count of 16 bits would begin again, and a cut token would look like one that fits.
TEST_CASE("a key is too large for version 1 at 65536 bytes and at twice as many too") {
  std::string longest;
  while (longest.size() < 300) longest += "\xE6\x97\xA5";  // 102 bytes of a token
  for (std::size_t const long_texts : {0u, 600u}) {
    std::vector<key_value> values(long_texts, key_value{longest});
    values.resize(131'072 + 20, key_value{undefined});  // one byte each
    for (std::size_t const bytes : {65'536u, 131'072u}) {
      for (std::size_t beside = 0; beside <= 40; ++beside) {
        // All but the hash, which takes 3 to 10 bytes more.
        std::size_t const without_hash = bytes - 20 + beside;
        auto const count = without_hash - long_texts * 101;
        auto const made = token_of(cosmos_v1, std::span{values}.first(count));
        REQUIRE(!made);
        REQUIRE(made.error().code == errc::too_large);
        auto const said = std::string{made.error().text.view()};
        auto const counted = std::stoul(said.substr(said.rfind(' ')));
        REQUIRE((counted >= without_hash + 3 && counted <= without_hash + 10));
      }
    }
  }
}

constexpr token_v1 hex(std::string_view text) { return *token_v1::from_hex(text); }

constexpr bool the_successor_is_the_bytes_plus_one() {
  check(to_hex(cosmos_v1.successor(hex("05C1D9C1C5517C05C014"))) == "05C1D9C1C5517C05C015");
  check(to_hex(cosmos_v1.successor(hex("05C000"))) == "05C001");
  check(to_hex(cosmos_v1.successor(hex("05FFFF"))) == "06");
  check(to_hex(cosmos_v1.successor({})) == "01");
  check(cosmos_v1.successor(*token_v1::from_hex("FFFF")).is_space_end());
  for (auto const* text : {"", "00", "05", "05C1D9", "05FF", "05C1FE"}) {
    auto const next = cosmos_v1.successor(hex(text));
    check(next > hex(text));
    if (hex(text).empty()) continue;
    // All that begins with the token is before it.
    char longer[16]{};
    auto const size = hex(text).to_hex().view().copy(longer, sizeof longer);
    std::copy_n("FFFF", 4, longer + size);
    check(next > hex({longer, size + 4}));
  }
  return true;
}
CHECK_BOTH(the_successor_is_the_bytes_plus_one);

// What the rule of the successor stands on.
TEST_CASE("no token begins with that of another key of as many values") {
  test::random random{5};
  std::vector<std::string> tokens;
  std::vector<std::string> texts;
  for (std::size_t size = 0; size < 104; ++size) texts.emplace_back(size, 'a');
  for (std::size_t count = 1; count <= 2; ++count) {
    tokens.clear();
    for (int round = 0; round < 3'000; ++round) {
      std::vector<key_value> values;
      while (values.size() < count) {
        if (random.chance(40)) {
          values.emplace_back(texts[random.below(texts.size())]);
        } else if (random.chance(50)) {
          values.emplace_back(static_cast<double>(random.below(64)));
        } else {
          values.emplace_back(undefined);
        }
      }
      // Without the hash, as if all hashes were the same.
      auto const all = bytes_of(*token_of(cosmos_v1, values));
      token_v1 hash;
      keyspan::detail::token_writer to{hash};
      keyspan::detail::write_ordered_number(to, keyspan::detail::cosmos_v1_hash(values));
      tokens.push_back(all.substr(hash.size()));
    }
    std::ranges::sort(tokens);
    auto const [first, last] = std::ranges::unique(tokens);
    tokens.erase(first, last);
    for (std::size_t i = 1; i < tokens.size(); ++i) REQUIRE(!tokens[i].starts_with(tokens[i - 1]));
  }
}

constexpr bool the_space_is_shared_out_by_the_hash() {
  for (std::size_t n : {1u, 2u, 3u, 7u, 50u}) {
    check(cosmos_v1.boundary(0, n) == cosmos_v1.minimum());
    for (std::size_t i = 1; i < n; ++i) {
      check(cosmos_v1.boundary(i - 1, n) < cosmos_v1.boundary(i, n));
      check(cosmos_v1.cut_point({}, space_end, i, n) == cosmos_v1.boundary(i, n));
    }
  }
  return true;
}
CHECK_BOTH(the_space_is_shared_out_by_the_hash);

constexpr bool a_range_of_one_hash_cannot_be_cut() {
  auto const none = fail(errc::invalid_range, "there is no room between the bounds for 2 parts");
  auto const key = *token_of(cosmos_v1, partition_key{"redmond"});
  check(cosmos_v1.midpoint(key, cosmos_v1.successor(key)) == none);
  auto const reversed = fail(errc::invalid_range, "the upper bound is not above the lower one");
  check(cosmos_v1.midpoint(key, key) == reversed);
  check(cosmos_v1.midpoint(hex("05C1DFFFFFFFFC"), hex("05C1CFFFFFFFF8")) == reversed);
  auto const cut = *cosmos_v1.midpoint(key, space_end);
  check(key < cut);
  check(
      cosmos_v1.midpoint(hex("06"), space_end) ==
      fail(errc::not_representable, "a bound of cosmos_v1 begins with a whole number of 32 bits"));
  check(cosmos_v1.midpoint({}, hex("06")).error().code == errc::not_representable);
  check(cosmos_v1.cut_point(key, space_end, 0, 2) == key);
  return true;
}
CHECK_BOTH(a_range_of_one_hash_cannot_be_cut);

TEST_CASE("a part of version 1 that there is not breaks a promise") {
  constexpr auto promise =
      "a boundary is asked of one of the partitions, of which there are fewer than 2^32";
  CHECK(test::promise_broken_by([] { return cosmos_v1.boundary(3, 3); }) == promise);
  if constexpr (sizeof(std::size_t) > 4)
    CHECK(test::promise_broken_by([] {
            return cosmos_v1.boundary(1, static_cast<std::size_t>(std::uint64_t{1} << 32));
          }) == promise);
  CHECK(test::promise_broken_by([] { return cosmos_v1.cut_point({}, space_end, 2, 2); }) ==
        "a cut point is asked of one of the parts");
}

constexpr bool only_a_whole_key_has_bounds_in_version_1() {
  using keyspan::prefix_bounds;
  partition_key const one{"a"};
  auto const token = *token_of(cosmos_v1, one);
  check(prefix_bounds(cosmos_v1, one, 1) ==
        keyspan::token_bounds<token_v1>{token, cosmos_v1.successor(token)});
  check(prefix_bounds(cosmos_v1, partition_key{}, 0)->upper == hex("01"));
  check(prefix_bounds(cosmos_v1, one, 2).error().code == errc::key_mismatch);
  check(prefix_bounds(cosmos_v1, partition_key{"a", "b"}, 1).error().code == errc::key_mismatch);
  check(cosmos_v1.name() == "cosmos_v1" && cosmos_v1 == keyspan::cosmos_v1_scheme{});
  check(cosmos_v1.from_hex("05c1").value() == hex("05C1"));
  check(cosmos_v1.from_hex("FF").error().code == errc::not_representable);
  return true;
}
CHECK_BOTH(only_a_whole_key_has_bounds_in_version_1);

TEST_CASE("a token of version 1 allocates nothing") {
  std::string const text(200, 'x');
  CHECK(test::allocations_in([&] {
          keyspan::partition_key_view const key{text, 5, undefined};
          static_cast<void>(to_hex(token_of(cosmos_v1, key)));
          static_cast<void>(keyspan::prefix_bounds(cosmos_v1, key, 3));
          static_cast<void>(cosmos_v1.midpoint({}, space_end));
        }) == 0);
}

}  // namespace
