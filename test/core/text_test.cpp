// test/core/text_test.cpp — short texts: put together from pieces, cut between characters, never
// inside.
#include <keyspan/core/text.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

using keyspan::inline_text;
using test::check;

constexpr bool pieces_follow_each_other() {
  // [region: example]
  keyspan::inline_text<64> text{"range ", 7, " of ", 16U, ':', ' ', std::string_view{"split"}};
  check(text == "range 7 of 16: split");
  text.append(" at ", inline_text<8>{"05C1"});
  check(text == "range 7 of 16: split at 05C1");
  // [end: example]
  check(text.size() == text.view().size() && !text.empty() && !text.is_cut());
  check(inline_text<3>{}.empty() && inline_text<3>{""}.empty());
  check(inline_text<64>::capacity() == 64);
  return true;
}
CHECK_BOTH(pieces_follow_each_other);

constexpr bool integers_appear_in_decimal_at_their_extremes() {
  check(inline_text<24>{0} == "0");
  check(inline_text<24>{-1} == "-1");
  check(inline_text<24>{std::int8_t{-128}} == "-128");
  check(inline_text<24>{std::uint8_t{255}} == "255");
  check(inline_text<24>{std::numeric_limits<std::int16_t>::min()} == "-32768");
  check(inline_text<24>{std::numeric_limits<int>::min()} == "-2147483648");
  check(inline_text<24>{std::numeric_limits<std::int64_t>::min()} == "-9223372036854775808");
  check(inline_text<24>{std::numeric_limits<std::int64_t>::max()} == "9223372036854775807");
  check(inline_text<24>{std::numeric_limits<std::uint64_t>::max()} == "18446744073709551615");
  check(inline_text<24>{'7'} == "7");  // a char is a character
  return true;
}
CHECK_BOTH(integers_appear_in_decimal_at_their_extremes);

constexpr bool what_could_be_meant_in_two_ways_is_no_piece() {
  check(keyspan::text_piece<char> && keyspan::text_piece<std::uint8_t>);
  check(keyspan::text_piece<std::int64_t> && keyspan::text_piece<char const*>);
  check(!keyspan::text_piece<bool>);
  check(!keyspan::text_piece<char8_t> && !keyspan::text_piece<wchar_t>);
  check(!keyspan::text_piece<char16_t> && !keyspan::text_piece<char32_t>);
  check(!keyspan::text_piece<double> && !keyspan::text_piece<void*>);
  check(!keyspan::text_piece<char8_t const*>);
  check(!std::is_convertible_v<int, inline_text<8>>);  // only when asked: inline_text<8>{5}
  check(std::is_constructible_v<inline_text<8>, int>);
  check(std::is_convertible_v<char const*, inline_text<8>>);
  return true;
}
CHECK_BOTH(what_could_be_meant_in_two_ways_is_no_piece);

constexpr bool is_well_formed(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto const lead = static_cast<unsigned char>(text[i]);
    std::size_t const length = lead < 0x80   ? 1
                               : lead < 0xC0 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                                             : 4;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    i += length;
  }
  return true;
}

constexpr std::string_view mark = "\xE2\x80\xA6";
constexpr std::size_t room = 11;

// What a cut should leave: the longest run of whole characters with room for the mark behind it.
constexpr bool is_rightly_cut(std::string_view whole, inline_text<room> const& text) {
  if (whole.size() <= room) return text == whole && !text.is_cut();
  if (!text.is_cut() || text.size() > room || !text.view().ends_with(mark)) return false;
  auto const kept = text.view().substr(0, text.size() - mark.size());
  if (!is_well_formed(kept) || !whole.starts_with(kept)) return false;
  for (std::size_t longer = kept.size() + 1; longer + mark.size() <= room; ++longer)
    if (is_well_formed(whole.substr(0, longer))) return false;
  return true;
}

// All texts of one to twelve characters whose lengths follow a pattern, as one piece, as a piece
// per byte, and in two pieces divided anywhere.
constexpr bool a_cut_falls_between_characters_wherever_the_pieces_end(unsigned first,
                                                                      unsigned last) {
  constexpr std::array<std::string_view, 4> characters{"a", "\xC3\xA4", "\xE2\x82\xAC",
                                                       "\xF0\x9F\x98\x80"};
  for (unsigned pattern = first; pattern < last; ++pattern) {
    char bytes[32]{};
    std::size_t size = 0;
    for (unsigned i = 0, rest = pattern; i < 6; ++i, rest /= 4)
      for (char const c : characters[rest % 4]) bytes[size++] = c;
    std::string_view const whole{bytes, size};

    check(is_rightly_cut(whole, inline_text<room>{whole}));
    inline_text<room> by_byte;
    for (char const c : whole) by_byte.append(c);
    check(is_rightly_cut(whole, by_byte));
    for (std::size_t at = 0; at <= size; ++at) {
      inline_text<room> in_two{whole.substr(0, at), whole.substr(at)};
      check(is_rightly_cut(whole, in_two));
      auto const once_cut = in_two;
      if (in_two.is_cut()) check(in_two.append("more", 1) == once_cut);
    }
  }
  return true;
}
static_assert(a_cut_falls_between_characters_wherever_the_pieces_end(900, 960));
TEST_CASE("a cut falls between characters wherever the pieces end") {
  check(a_cut_falls_between_characters_wherever_the_pieces_end(0, 4096));
}

constexpr bool the_smallest_room_holds_the_mark() {
  check(inline_text<3>{"abc"} == "abc");
  check(inline_text<3>{"abcd"} == mark);
  check(inline_text<4>{"abcde"}.view() == "a\xE2\x80\xA6");
  check(inline_text<4>{"\xC3\xA4xyz"}.view() == mark);  // a character is kept whole or not at all
  check(inline_text<4>{"\x80\x80\x80\x80\x80"}.is_cut());  // ill-formed text is cut all the same
  return true;
}
CHECK_BOTH(the_smallest_room_holds_the_mark);

constexpr bool a_text_can_be_appended_to_itself() {
  inline_text<8> text{"abc"};
  text.append(text);
  check(text == "abcabc");
  text.append(text.view());
  check(text == "abcab\xE2\x80\xA6" && text.is_cut());
  return true;
}
CHECK_BOTH(a_text_can_be_appended_to_itself);

constexpr bool texts_compare_by_their_bytes_and_with_any_other_text() {
  inline_text<8> const b{"b"};
  inline_text<16> const long_b{"b"};
  check(b == "b" && "b" == b && b == std::string_view{"b"} && b == long_b && long_b == b);
  check(b != "a" && b > "a" && "a" < b && b < std::string_view{"c"} && std::string_view{"c"} > b);
  check(b < inline_text<16>{"c"} && inline_text<16>{"a"} < b);
  check(inline_text<8>{"\xFF"} > inline_text<8>{"a"});  // as unsigned bytes
  // The other side is not cut first.
  check(inline_text<3>{"abc"} < "abcdef" && inline_text<3>{"abc"} != "abcdef");
  check(inline_text<3>{"b"} > "aaaa" && "aaaa" < inline_text<3>{"b"});
  check((b <=> "b") == std::strong_ordering::equal);
  return true;
}
CHECK_BOTH(texts_compare_by_their_bytes_and_with_any_other_text);

TEST_CASE("a text hashes like the string view of its characters") {
  inline_text<16> const text{"range ", 7};
  CHECK(std::hash<inline_text<16>>{}(text) == std::hash<std::string_view>{}("range 7"));
  CHECK(text == std::string{"range 7"});
}

TEST_CASE("a text is copied like an int and allocates nothing") {
  STATIC_CHECK(std::is_trivially_copyable_v<inline_text<100>>);
  CHECK(test::allocations_in([] {
          inline_text<16> text{"a", 1, 'b'};
          text.append("a text that is longer than sixteen bytes");
          auto const copy = text;
          static_cast<void>(copy);
        }) == 0);
}

struct place {
  int n;
  constexpr inline_text<16> to_text() const { return {"place ", n}; }
};

constexpr bool a_value_that_can_say_itself_is_textual() {
  check(keyspan::textual<place> && !keyspan::textual<int>);
  check(keyspan::to_text(place{3}) == "place 3");
  return true;
}
CHECK_BOTH(a_value_that_can_say_itself_is_textual);

}  // namespace
