// test/core/bytes_test.cpp — integers from bytes in both orders, every byte to digits and back.
#include <keyspan/core/bytes.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace {

using keyspan::errc;
using keyspan::fail;
using test::check;

template <class Byte>
constexpr std::array<Byte, 8> counting() {
  std::array<Byte, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<Byte>(0xF0 + i + 1);
  return bytes;
}

template <class Byte>
constexpr bool integers_read_and_write(Byte) {
  auto const bytes = counting<Byte>();
  check(keyspan::load_le<std::uint8_t>(bytes.data()) == 0xF1);
  check(keyspan::load_be<std::uint8_t>(bytes.data()) == 0xF1);
  check(keyspan::load_le<std::uint16_t>(bytes.data()) == 0xF2F1);
  check(keyspan::load_be<std::uint16_t>(bytes.data()) == 0xF1F2);
  check(keyspan::load_le<std::uint32_t>(bytes.data()) == 0xF4F3F2F1);
  check(keyspan::load_be<std::uint32_t>(bytes.data()) == 0xF1F2F3F4);
  check(keyspan::load_le<std::uint64_t>(bytes.data()) == 0xF8F7F6F5F4F3F2F1);
  check(keyspan::load_be<std::uint64_t>(bytes.data()) == 0xF1F2F3F4F5F6F7F8);

  std::array<Byte, 8> written{};
  keyspan::store_le(written.data(), std::uint64_t{0xF8F7F6F5F4F3F2F1});
  check(written == bytes);
  written = {};
  keyspan::store_be(written.data(), std::uint64_t{0xF1F2F3F4F5F6F7F8});
  check(written == bytes);
  written = {};
  keyspan::store_be(written.data() + 1, std::uint16_t{0xF1F2});  // and not a byte more
  check(written == std::array<Byte, 8>{Byte{}, bytes[0], bytes[1]});
  written = {};
  keyspan::store_le(written.data() + 7, std::uint8_t{0xF1});
  check(written[7] == bytes[0] && written[6] == Byte{});
  return true;
}

constexpr bool integers_stand_in_bytes_in_both_orders() {
  return integers_read_and_write(char{}) && integers_read_and_write(std::byte{}) &&
         integers_read_and_write(static_cast<unsigned char>(0)) &&
         integers_read_and_write(char8_t{});
}
CHECK_BOTH(integers_stand_in_bytes_in_both_orders);

TEST_CASE("integers are read at any alignment") {
  std::array<unsigned char, 24> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  for (std::size_t at = 0; at + 8 <= bytes.size(); ++at) {
    auto const read = keyspan::load_be<std::uint64_t>(bytes.data() + at);
    CHECK((read >> 56) == at);
    CHECK((read & 0xFF) == at + 7);
  }
}

constexpr std::string_view upper = "0123456789ABCDEF";

constexpr bool every_byte_has_its_two_digits_and_comes_back() {
  for (unsigned value = 0; value < 256; ++value) {
    std::array const byte{static_cast<unsigned char>(value)};
    std::array<char, 2> digits{};
    auto const text = keyspan::encode_hex(std::span{byte}, digits);
    check(text.size() == 2 && text[0] == upper[value / 16] && text[1] == upper[value % 16]);
    std::array<unsigned char, 1> back{};
    check(keyspan::decode_hex(text, std::span{back}) == 1U && back == byte);
    for (char& c : digits)
      if (c >= 'A') c = static_cast<char>(c + ('a' - 'A'));
    back = {};
    check(keyspan::decode_hex(text, std::span{back}) == 1U && back == byte);
  }
  return true;
}
CHECK_BOTH(every_byte_has_its_two_digits_and_comes_back);

// Every byte in every lane of the four that are handled at once, and in the rest behind them.
constexpr bool every_length_up_to_nineteen_survives() {
  test::random random{1};
  for (std::size_t size = 0; size <= 19; ++size) {
    std::array<std::byte, 19> bytes{};
    for (auto& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    std::array<char, 40> digits{};
    digits.fill('#');
    auto const text = keyspan::encode_hex(std::span{bytes}.first(size), digits);
    check(text.data() == digits.data() && text.size() == 2 * size);
    check(digits[2 * size] == '#');  // and not a digit more
    for (std::size_t i = 0; i < size; ++i) {
      auto const value = static_cast<unsigned>(bytes[i]);
      check(text[2 * i] == upper[value / 16] && text[2 * i + 1] == upper[value % 16]);
    }
    std::array<std::byte, 19> back{};
    check(keyspan::decode_hex(text, std::span{back}) == size);
    for (std::size_t i = 0; i < back.size(); ++i)
      check(back[i] == (i < size ? bytes[i] : std::byte{}));
  }
  return true;
}
CHECK_BOTH(every_length_up_to_nineteen_survives);

constexpr bool is_digit(unsigned c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

// Every one of the 256 characters at every position of four bytes' digits.
constexpr bool what_is_no_digit_is_refused_at_its_place() {
  for (unsigned c = 0; c < 256; ++c) {
    for (std::uint32_t at = 0; at < 8; ++at) {
      std::array<char, 8> digits{'0', '1', '2', '3', '4', '5', '6', '7'};
      digits[at] = static_cast<char>(c);
      std::array<std::byte, 4> bytes{};
      auto const read =
          keyspan::decode_hex(std::string_view{digits.data(), digits.size()}, std::span{bytes});
      check(read.has_value() == is_digit(c));
      if (read) continue;
      check(read.error().code == errc::malformed);
      check(read.error().position == keyspan::text_position{1, at + 1, at});
    }
  }
  return true;
}
CHECK_BOTH(what_is_no_digit_is_refused_at_its_place);

constexpr bool the_example_reads_as_it_should() {
  // [region: example]
  std::array<std::byte, 4> bytes{};
  check(keyspan::decode_hex("22e342F3", std::span{bytes}) == 4U);
  check(keyspan::load_be<std::uint32_t>(bytes.data()) == 0x22E342F3);
  char digits[8];
  check(keyspan::encode_hex(std::span{bytes}, digits) == "22E342F3");
  auto const wrong = keyspan::decode_hex("22x3", std::span{bytes});
  check(wrong.error().to_text() == "malformed at line 1, column 3: not a hexadecimal digit");
  // [end: example]
  return true;
}
TEST_CASE("the example reads as it should") { check(the_example_reads_as_it_should()); }

constexpr bool sizes_that_do_not_fit_are_refused() {
  std::array<unsigned char, 2> bytes{7, 7};
  check(keyspan::decode_hex("ABC", std::span{bytes}) ==
        fail(errc::malformed, "hexadecimal text has two digits per byte, this one has 3 in all"));
  check(keyspan::decode_hex("AABBCC", std::span{bytes}) ==
        fail(errc::too_large, "at most 2 bytes fit, the text has 3"));
  check(bytes[0] == 7 && bytes[1] == 7);  // neither touched them
  check(keyspan::decode_hex("", std::span{bytes}) == 0U);
  check(keyspan::decode_hex("", std::span<char>{}) == 0U);
  std::array<unsigned char, 4> spacious{};
  check(keyspan::decode_hex("AABB", std::span{spacious}.subspan(1)) == 2U && spacious[1] == 0xAA);
  return true;
}
CHECK_BOTH(sizes_that_do_not_fit_are_refused);

TEST_CASE("digits without room break a promise") {
  std::array<std::byte, 3> const bytes{};
  std::array<char, 5> digits{};
  CHECK(test::promise_broken_by([&] { return keyspan::encode_hex(std::span{bytes}, digits); }) ==
        "there is room for two digits per byte");
}

template <class Bytes>
concept decodable = requires(Bytes bytes) { keyspan::decode_hex("", bytes); };
template <class Bytes>
concept encodable =
    requires(Bytes bytes, std::span<char> digits) { keyspan::encode_hex(bytes, digits); };

TEST_CASE("bytes are read from what is const and written to what is not") {
  STATIC_CHECK(encodable<std::span<std::byte>> && encodable<std::span<std::byte const>>);
  STATIC_CHECK(encodable<std::span<char const, 4>> && encodable<std::span<unsigned char const>>);
  STATIC_CHECK(encodable<std::span<char8_t const>> && !encodable<std::span<int const>>);
  STATIC_CHECK(decodable<std::span<std::byte>> && decodable<std::span<std::byte, 16>>);
  STATIC_CHECK(!decodable<std::span<std::byte const>> && !decodable<std::span<int>>);
}

TEST_CASE("hexadecimal both ways allocates nothing") {
  CHECK(test::allocations_in([] {
          std::array<std::byte, 16> bytes{};
          std::array<char, 32> digits{};
          auto const text = keyspan::encode_hex(std::span{bytes}, digits);
          static_cast<void>(keyspan::decode_hex(text, std::span{bytes}));
          static_cast<void>(keyspan::decode_hex("xx", std::span{bytes}));
        }) == 0);
}

}  // namespace
