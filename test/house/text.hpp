// test/house/text.hpp — C++ as text: comments out, words and include lines found.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace house {

/// The source with every comment replaced by blanks; strings and line numbers stay as they are.
std::string without_comments(std::string_view source);

std::string_view trimmed(std::string_view text);

/// Letters, digits and underscores.
bool is_word_character(char c);

/// Where `word` stands in `text` from `from` on with no word character on either side, or npos.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0);

/// Characters of UTF-8 text, not its bytes.
std::size_t characters_in(std::string_view text);

/// The line, from 1, that the character at `offset` stands in.
std::size_t line_at(std::string_view text, std::size_t offset);

struct include_line {
  std::size_t line;
  bool quoted;  ///< "…" and not <…>
  std::string path;
};

/// The `#include` lines of a source, those in comments left out.
std::vector<include_line> includes_of(std::string_view source);

}  // namespace house
