// test/fuzz/number_fuzz.cpp — any bytes as the text of a number, and as the bits of one.
#include "fuzz.hpp"

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/number.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using fuzz::require;

void there_and_back(double value) {
  char room[keyspan::max_number_text];
  auto const text = keyspan::write_number(value, room);
  if (!std::isfinite(value)) return require(!text.has_value(), "what is not finite has no text");
  auto const again = keyspan::read_number(text.value());
  require(again.has_value(), "what is written is read");
  require(std::bit_cast<std::uint64_t>(*again) == std::bit_cast<std::uint64_t>(value),
          "what is written is read to the same bits");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  for (std::size_t i = 0; i + 8 <= size; i += 8)
    there_and_back(std::bit_cast<double>(keyspan::load_le<std::uint64_t>(data + i)));

  auto const text = fuzz::text_of(data, size);
  auto const read = keyspan::read_number(text);
  if (!read && read.error().code == keyspan::errc::malformed) {
    require(read.error().position.offset <= size, "an error lies in the text");
    require(!read.error().text.empty(), "an error says what was wrong");
    return 0;
  }
  // Our grammar is a part of strtod's, and that one is exact too.
  double const expected = std::strtod(std::string{text}.c_str(), nullptr);
  if (!read) {
    require(std::isinf(expected), "only what is too large is not representable");
    return 0;
  }
  require(std::bit_cast<std::uint64_t>(*read) == std::bit_cast<std::uint64_t>(expected),
          "the nearest double is read");
  there_and_back(*read);
  return 0;
}
