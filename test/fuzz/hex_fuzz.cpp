// test/fuzz/hex_fuzz.cpp — any bytes to digits, and any bytes as digits.
#include "fuzz.hpp"

#include <keyspan/core/bytes.hpp>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using fuzz::require;
  std::vector<char> digits(size * 2);
  auto const written = keyspan::encode_hex(std::span{data, size}, digits);
  require(written.size() == size * 2, "a byte has two digits");
  std::vector<std::uint8_t> bytes(size);
  require(keyspan::decode_hex(written, std::span{bytes}) == size, "what is written is read");
  require(std::equal(bytes.begin(), bytes.end(), data), "what is written is read to the same");

  auto const text = fuzz::text_of(data, size);
  bool const are_digits = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
  auto const read = keyspan::decode_hex(text, std::span{bytes});
  require(read.has_value() == (are_digits && size % 2 == 0),
          "pairs of digits are taken, nothing else");
  if (!read) {
    require(read.error().position.offset <= size, "an error lies in the text");
    return 0;
  }
  std::string upper{text};
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  require(keyspan::encode_hex(std::span{bytes}.first(*read), digits) == upper,
          "what is read is written in upper case");
  return 0;
}
