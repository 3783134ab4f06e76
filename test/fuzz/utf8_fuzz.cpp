// test/fuzz/utf8_fuzz.cpp — any bytes as UTF-8, fast and slow.
#include "fuzz.hpp"

#include <keyspan/core/utf8.hpp>

#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using fuzz::require;
  auto const text = fuzz::text_of(data, size);

  std::size_t good = 0;
  std::size_t characters = 0;
  std::string copy;
  while (auto const character = keyspan::decode_utf8(text, good)) {
    require(keyspan::is_code_point(character.code_point), "what is decoded is a code point");
    copy += keyspan::encode_utf8(character.code_point).view();
    good += character.size;
    ++characters;
    require(copy.size() == good, "there is one way to encode a character");
  }
  require(copy == text.substr(0, good), "what was decoded is encoded to the same");
  require(keyspan::utf8_prefix(text) == good, "the fast way sees what the slow one sees");
  require(keyspan::is_utf8(text) == (good == size), "well-formed is good to the end");
  require(keyspan::count_characters(copy) == characters, "characters are counted");

  std::size_t ascii = 0;
  while (ascii < size && data[ascii] < 0x80) ++ascii;
  require(keyspan::ascii_prefix(text) == ascii, "ASCII ends where it ends");
  return 0;
}
