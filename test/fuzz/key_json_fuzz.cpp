// test/fuzz/key_json_fuzz.cpp — any bytes as a key's text on the wire: an error with a place, or a
// key that is written in ASCII and read again to the same.
#include "fuzz.hpp"

#include <keyspan/key/key_json.hpp>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using fuzz::require;
  using keyspan::partition_key;
  auto const text = fuzz::text_of(data, size);
  auto const key = keyspan::read_key_json(text);
  keyspan::json_reader in{text};
  in.skip();
  in.finish();
  if (!key) {
    auto const& error = key.error();
    require(error.position.offset <= size, "an error lies in the text");
    require(error.position.line >= 1 && error.position.column >= 1,
            "lines and columns count from 1");
    require(!error.text.empty(), "an error says what was wrong");
    return 0;
  }
  require(in.ok(), "a key is legal JSON");
  require(key->size() <= keyspan::max_key_values, "a key has three values at most");

  auto const wire = keyspan::to_key_json(*key);
  require(std::all_of(wire.begin(), wire.end(), [](char c) { return c >= ' ' && c < '\x7F'; }),
          "a key is written in ASCII");
  std::vector<char> room(wire.size());
  require(keyspan::write_key_json(*key, std::span{room}).value_or("") == wire,
          "the text just fits into as much room");
  require(!keyspan::write_key_json(*key, std::span{room}.first(wire.size() - 1)),
          "and into no less");
  auto const again = keyspan::read_key_json(wire);
  require(again.has_value() && *again == *key, "what is written is read to the same key");
  require(keyspan::to_key_json(*again) == wire, "and is written to the same text");
  require(keyspan::read_key_json(key->to_text()) == *key, "the text for people is the same key");
  std::hash<partition_key> const hash;
  require(hash(*again) == hash(*key) && (*again <=> *key) == 0, "equal keys hash alike");
  return 0;
}
