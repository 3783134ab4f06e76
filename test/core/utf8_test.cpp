// test/core/utf8_test.cpp — every code point there and back, and every short run of bytes that is
// none.
#include <keyspan/core/utf8.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace {

using keyspan::ascii_prefix;
using keyspan::count_characters;
using keyspan::decode_utf8;
using keyspan::encode_utf8;
using keyspan::is_utf8;
using keyspan::utf8_character;
using keyspan::utf8_prefix;
using test::check;

// The borders of every length and of the surrogates.
constexpr char32_t borders[] = {0x0,      0x7F,     0x80,     0x7FF,     0x800,    0xFFF,
                                0x1000,   0xD7FF,   0xE000,   0xFFFD,    0xFFFF,   0x1'0000,
                                0x3'FFFF, 0x4'0000, 0xF'FFFF, 0x10'0000, 0x10'FFFF};

constexpr bool the_borders_of_every_length_are_characters() {
  for (char32_t const c : borders) {
    auto const bytes = encode_utf8(c);
    check(bytes.size() == (c < 0x80 ? 1u : c < 0x800 ? 2u : c < 0x1'0000 ? 3u : 4u));
    check(decode_utf8(bytes) == utf8_character{c, bytes.size()});
    check(is_utf8(bytes));
    check(count_characters(bytes) == 1);
    // Not one byte may be missing.
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
      check(!decode_utf8(bytes.view().substr(0, cut)));
  }
  return true;
}
CHECK_BOTH(the_borders_of_every_length_are_characters);

constexpr bool a_text_says_where_it_breaks_first() {
  using namespace std::string_view_literals;
  check(utf8_prefix("") == 0 && is_utf8(""));
  check(utf8_prefix("plain") == 5);
  check(utf8_prefix("h\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80!") == 11);
  check(utf8_prefix("ab\xC0\x80") == 2);        // overlong NUL
  check(utf8_prefix("\xC1\xBF") == 0);          // overlong DEL
  check(utf8_prefix("\xE0\x9F\xBF") == 0);      // overlong U+07FF
  check(utf8_prefix("\xF0\x8F\xBF\xBF") == 0);  // overlong U+FFFF
  check(utf8_prefix("\xED\xA0\x80") == 0);      // U+D800
  check(utf8_prefix("\xED\xBF\xBF") == 0);      // U+DFFF
  check(utf8_prefix("\xF4\x90\x80\x80") == 0);  // U+110000
  check(utf8_prefix("\xF5\x80\x80\x80") == 0);
  check(utf8_prefix("12345678901\xBF") == 11);  // a continuation of nothing
  check(utf8_prefix("\xC3\xA9\xC3") == 2);      // cut off
  check(utf8_prefix("\xE2\x82"
                    "a") == 0);
  check(utf8_prefix("\0\0"sv) == 2);
  return true;
}
CHECK_BOTH(a_text_says_where_it_breaks_first);

// [region: characters]
constexpr bool a_text_is_walked_character_by_character() {
  std::string_view const text = "5 \xE2\x82\xAC";
  std::size_t offset = 0;
  char32_t last = 0;
  while (auto const character = keyspan::decode_utf8(text, offset)) {
    last = character.code_point;
    offset += character.size;
  }
  return last == U'\u20AC' && offset == keyspan::utf8_prefix(text) &&
         keyspan::count_characters(text) == 3;
}
// [end: characters]
CHECK_BOTH(a_text_is_walked_character_by_character);

constexpr bool ascii_ends_where_it_ends() {
  char text[40];
  for (std::size_t size = 0; size <= 40; ++size)
    for (std::size_t at = 0; at <= size; ++at) {
      for (auto& c : text) c = 'a';
      if (at < size) text[at] = '\x80';
      check(ascii_prefix({text, size}) == at);
    }
  return true;
}
CHECK_BOTH(ascii_ends_where_it_ends);

constexpr bool characters_are_counted_not_bytes() {
  check(count_characters("") == 0);
  check(count_characters("h\xC3\xA9llo, \xE2\x82\xAC 5 and \xF0\x9F\x98\x80") == 16);
  check(count_characters("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9") == 5);
  check(keyspan::utf16_size(0xFFFF) == 1 && keyspan::utf16_size(0x1'0000) == 2);
  return true;
}
CHECK_BOTH(characters_are_counted_not_bytes);

// The definition of the Unicode standard, told the other way round: encoding is simple, so what
// decodes is exactly what some character encodes to.
TEST_CASE("every code point is encoded and decoded") {
  std::size_t count = 0;
  for (char32_t c = 0; c <= 0x11'0000; ++c) {
    if (!keyspan::is_code_point(c)) continue;
    ++count;
    auto const bytes = encode_utf8(c);
    if (decode_utf8(bytes) != utf8_character{c, bytes.size()}) FAIL("U+" << std::hex << +c);
  }
  CHECK(count == 0x11'0000 - 0x800);
}

TEST_CASE("of all runs of up to three bytes exactly the characters decode") {
  std::size_t accepted[4]{};
  for (unsigned run = 0; run < 0x100'0000; ++run) {
    char const bytes[3]{static_cast<char>(run >> 16), static_cast<char>(run >> 8),
                        static_cast<char>(run)};
    auto const character = decode_utf8({bytes, 3});
    if (!character) continue;
    ++accepted[character.size];
    if (encode_utf8(character.code_point) != std::string_view{bytes, character.size})
      FAIL("bytes " << std::hex << run);
  }
  CHECK(accepted[1] == 0x80u * 0x1'0000);
  CHECK(accepted[2] == (0x800u - 0x80) * 0x100);
  CHECK(accepted[3] == 0x1'0000u - 0x800 - 0x800);
}

TEST_CASE("of all runs of four bytes from F0 on exactly the characters decode") {
  // The last byte is looked at in the same way as the third, so its borders are enough.
  std::size_t accepted = 0;
  for (unsigned run = 0xF0'0000; run <= 0xFF'FFFF; ++run)
    for (unsigned const last : {0x00u, 0x7Fu, 0x80u, 0xBFu, 0xC0u, 0xFFu}) {
      char const bytes[4]{static_cast<char>(run >> 16), static_cast<char>(run >> 8),
                          static_cast<char>(run), static_cast<char>(last)};
      auto const character = decode_utf8({bytes, 4});
      if (!character) continue;
      ++accepted;
      if (encode_utf8(character.code_point) != std::string_view{bytes, 4})
        FAIL("bytes " << std::hex << run);
    }
  CHECK(accepted == (0x11'0000u - 0x1'0000) / 64 * 2);
}

TEST_CASE("the prefix of a text is found like one character after another") {
  test::random random{1};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    std::size_t characters = 0;
    for (std::uint64_t left = random.below(30); left > 0; --left, ++characters) {
      char32_t const c =
          random.chance(70) ? static_cast<char32_t>('a' + random.below(26)) : random.pick(borders);
      text += encode_utf8(c).view();
    }
    if (utf8_prefix(text) != text.size() || count_characters(text) != characters) FAIL(text);
    if (text.empty()) continue;
    text[random.below(text.size())] = static_cast<char>(random.below(256));
    std::size_t slow = 0;
    while (auto const character = decode_utf8(text, slow)) slow += character.size;
    if (utf8_prefix(text) != slow) FAIL(text);
  }
}

TEST_CASE("only characters are encoded") {
  for (char32_t const c : {0xD800u, 0xDFFFu, 0x11'0000u})
    CHECK(test::promise_broken_by([&] { return encode_utf8(c); }) ==
          "a character is at most U+10FFFF and no surrogate");
}

}  // namespace
