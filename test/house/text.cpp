#include "text.hpp"

#include "files.hpp"

#include <algorithm>

namespace house {

bool is_word_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string without_comments(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  std::size_t i = 0;
  auto const blank_until = [&](std::size_t end) {
    for (; i < end; ++i) out += source[i] == '\n' ? '\n' : ' ';
  };
  auto const keep_until = [&](std::size_t end) {
    end = std::min(end, source.size());
    out += source.substr(i, end - i);
    i = end;
  };
  auto const find_from = [&](std::string_view what, std::size_t from) {
    return std::min(source.find(what, from), source.size());
  };
  while (i < source.size()) {
    char const c = source[i];
    if (source.substr(i, 2) == "//") {
      blank_until(find_from("\n", i));
    } else if (source.substr(i, 2) == "/*") {
      blank_until(std::min(find_from("*/", i + 2) + 2, source.size()));
    } else if (c == '"' || c == '\'') {
      std::size_t end = i + 1;
      while (end < source.size() && source[end] != c && source[end] != '\n')
        end += source[end] == '\\' ? 2u : 1u;
      keep_until(end + 1);
    } else if (c >= '0' && c <= '9') {  // a number may hold a ' that opens nothing
      std::size_t end = i + 1;
      while (end < source.size() && (is_word_character(source[end]) || source[end] == '.' ||
                                     (source[end] == '\'' && end + 1 < source.size() &&
                                      is_word_character(source[end + 1]))))
        ++end;
      keep_until(end);
    } else if (is_word_character(c)) {
      std::size_t end = i + 1;
      while (end < source.size() && is_word_character(source[end])) ++end;
      auto const word = source.substr(i, end - i);
      if (end < source.size() && source[end] == '"' &&
          (word == "R" || word == "u8R" || word == "LR" || word == "uR" || word == "UR")) {
        auto const open = find_from("(", end);
        auto const close = ")" + std::string{source.substr(end + 1, open - end - 1)} + "\"";
        end = find_from(close, open) + close.size();
      }
      keep_until(end);
    } else {
      keep_until(i + 1);
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  auto const first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  for (auto at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    auto const end = at + word.size();
    if ((at == 0 || !is_word_character(text[at - 1])) &&
        (end == text.size() || !is_word_character(text[end])))
      return at;
  }
  return std::string_view::npos;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::size_t line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

std::vector<include_line> includes_of(std::string_view source) {
  std::vector<include_line> found;
  auto const code = without_comments(source);
  std::size_t number = 0;
  for (auto line : lines_of(code)) {
    ++number;
    line = trimmed(line);
    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = trimmed(line.substr(std::string_view{"include"}.size()));
    if (line.empty() || (line.front() != '<' && line.front() != '"')) continue;
    bool const quoted = line.front() == '"';
    auto const end = line.find(quoted ? '"' : '>', 1);
    if (end != std::string_view::npos)
      found.push_back({number, quoted, std::string{line.substr(1, end - 1)}});
  }
  return found;
}

}  // namespace house
