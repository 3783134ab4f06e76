// test/fuzz/json_fuzz.cpp — any bytes to the JSON reader: an error with a place, or a value that is
// written and read again to the same.
#include "fuzz.hpp"

#include <keyspan/core/json.hpp>
#include <keyspan/core/utf8.hpp>

#include <support/copy_value.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace {

using fuzz::require;
using keyspan::json_reader;
using keyspan::json_writer;
using test::copy_value;

// The text of what was read, or nothing where it was refused.
std::optional<std::string> rewritten(std::string_view text, bool ascii) {
  json_reader in{text};
  std::string copy;
  json_writer out{copy, {.ascii = ascii}};
  copy_value(in, out);
  in.finish();
  if (!in.ok()) return std::nullopt;
  require(out.finish().has_value(), "what was read can be written");
  return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = fuzz::text_of(data, size);
  json_reader in{text};
  auto const skipped = in.skip();
  in.finish();
  auto const plain = rewritten(text, false);
  require(plain.has_value() == in.ok(), "skipping is as strict as reading");
  if (!in.ok()) {
    auto const& error = in.error();
    auto const& at = error.position;
    require(at.offset <= size, "an error lies in the text");
    require(at.line >= 1 && at.column >= 1, "lines and columns count from 1");
    require(at.line - 1 + at.column - 1 <= at.offset, "no character is less than a byte");
    require(!error.text.empty() && keyspan::is_utf8(error.text), "an error says what was wrong");
    return 0;
  }
  require(keyspan::is_utf8(text), "what is taken is UTF-8");
  require(text.find(skipped) != text.npos && !skipped.empty(),
          "a value skipped is part of the text");
  require(rewritten(*plain, false) == plain, "writing what was read changes nothing any more");
  auto const ascii = rewritten(text, true);
  require(std::all_of(ascii->begin(), ascii->end(), [](char c) { return c >= ' ' && c < '\x7F'; }),
          "ascii is what was asked for");
  require(rewritten(*ascii, false) == plain, "escaped or not, the value is the same");
  return 0;
}
