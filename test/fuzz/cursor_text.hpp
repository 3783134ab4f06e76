// test/fuzz/cursor_text.hpp — what holds of any text that is read as a cursor.
#pragma once

#include "fuzz.hpp"

#include <string>
#include <string_view>

namespace fuzz {

/// Whether a text is a cursor: else an error has a place in it. What is read is written and read
/// again to the same. `look` requires what else holds of a cursor.
template <class Read, class Look>
bool is_cursor(std::string_view text, Read const& read, Look const& look) {
  auto const found = read(text);
  if (!found) {
    auto const& error = found.error();
    require(error.position.offset <= text.size(), "an error lies in the text");
    require(error.position.line >= 1 && error.position.column >= 1,
            "lines and columns count from 1");
    require(!error.text.empty(), "an error says what was wrong");
    return false;
  }
  look(*found);
  auto const written = found->to_text();
  auto const again = read(written);
  require(again.has_value() && *again == *found, "what is written is read to the same");
  require(again->to_text() == written, "and is written to the same text");
  return true;
}

/// The same, and of a text whose values were changed once more with the check that is told of them,
/// so that what stands behind it is met as well.
template <class Read, class Look>
void look_at_cursor(std::string_view text, Read const& read, Look const& look) {
  if (is_cursor(text, read, look)) return;
  auto const why = read(text).error();
  std::string_view const said = why.text.view();
  constexpr std::string_view before = ", that of these values is ";
  auto const at = said.find(before);
  if (!said.starts_with("the check is ") || at == said.npos) return;
  std::string mended{text};
  auto const begin = why.position.offset;
  if (begin >= mended.size() || mended[begin] != '"') return;  // the check of a cursor inside of it
  auto const end = mended.find('"', begin + 1);
  if (end == mended.npos) return;
  mended.replace(begin + 1, end - begin - 1, said.substr(at + before.size(), 8));
  is_cursor(mended, read, look);
}

}  // namespace fuzz
