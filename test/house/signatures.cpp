// Declarations as text: a page quotes them, a header holds them.

#include "docs.hpp"
#include "files.hpp"
#include "text.hpp"

#include <algorithm>

namespace house {

namespace {

// White space goes, but for one blank between two words. Preprocessor lines become a `;`, so that
// what stands around one is not read as one declaration.
std::string folded(std::string_view source) {
  std::string out;
  bool blank = false;
  bool continued = false;
  auto const code = without_comments(source);
  for (auto const line : lines_of(code)) {
    bool const directive = continued || trimmed(line).starts_with('#');
    continued = directive && trimmed(line).ends_with('\\');
    if (directive) {
      if (!out.empty() && out.back() != ';') out += ';';
      blank = false;
      continue;
    }
    for (char const c : line) {
      if (c == ' ' || c == '\t' || c == '\r') {
        blank = true;
        continue;
      }
      if (blank && !out.empty() && is_word_character(out.back()) && is_word_character(c))
        out += ' ';
      blank = false;
      out += c;
    }
    blank = true;
  }
  return out;
}

// The end of what is opened at `at`: just behind the closing bracket. Strings are stepped over.
std::size_t behind_bracket(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    char const c = text[at];
    if (c == '"' || c == '\'') {
      if (c == '\'' && at > 0 && is_word_character(text[at - 1])) continue;  // inside a number
      for (++at; at < text.size() && text[at] != c; ++at)
        if (text[at] == '\\') ++at;
    } else if (c == '(' || c == '{' || c == '[') {
      ++depth;
    } else if ((c == ')' || c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

bool has_members(std::string_view head) {
  auto const brackets_close = [](std::string_view part) {
    return std::ranges::count(part, '<') == std::ranges::count(part, '>');
  };
  for (std::string_view const word : {"class", "struct", "union", "enum", "namespace"}) {
    // Not the `class` of a template's parameter, and nothing that returns one.
    for (auto at = find_word(head, word); at != std::string_view::npos;
         at = find_word(head, word, at + 1))
      if (head.find('(', at) == std::string_view::npos && brackets_close(head.substr(at)) &&
          brackets_close(head.substr(0, at)))
        return true;
  }
  return false;
}

// A default there begins no initialiser of the declaration.
bool is_in_template_parameters(std::string_view head) {
  return head.starts_with("template<") &&
         std::ranges::count(head, '<') > std::ranges::count(head, '>');
}

constexpr std::string_view labels[]{"public:", "private:", "protected:"};

// Splits folded code into declarations without bodies; members follow the head they belong to.
void split(std::string_view code, bool enumerators, std::vector<std::string>& out) {
  auto const add = [&](std::string_view one) {
    while (one.ends_with('=')) one.remove_suffix(1);  // the initialiser was left out on the page
    if (!one.empty()) out.emplace_back(one);
  };
  std::size_t from = 0;
  std::size_t at = 0;
  bool initialised =
      false;  // behind a = or in a requires clause a brace is part of the declaration
  while (at < code.size()) {
    for (auto const label : labels)
      if (at == from && code.substr(at).starts_with(label)) from = at = at + label.size();
    if (at >= code.size()) break;
    char const c = code[at];
    bool const in_number = c == '\'' && at > 0 && is_word_character(code[at - 1]);
    if (in_number) {
      ++at;
    } else if (c == ';' || (c == ',' && enumerators)) {
      add(code.substr(from, at - from));
      from = ++at;
      initialised = false;
    } else if (c == '(' || c == '[' || c == '"' || c == '\'') {
      at = c == '(' || c == '[' ? behind_bracket(code, at)
                                : std::min(code.find(c, at + 1), code.size() - 1) + 1;
    } else if (c == '=' && code.substr(at, 2) != "==" &&
               !is_in_template_parameters(code.substr(from, at - from)) &&
               code.substr(from, at - from).find("operator") == std::string_view::npos) {
      initialised = true;
      ++at;
    } else if (c == '{') {
      auto const head = code.substr(from, at - from);
      auto const end = behind_bracket(code, at);
      auto const before = head.empty() ? '\0' : head.back();
      bool const is_initialiser = end < code.size() && code[end] == ';' &&
                                  is_word_character(before) &&
                                  head.find('(') == std::string_view::npos;
      if (!initialised && has_members(head)) {
        add(head);
        split(code.substr(at + 1, end - at - 2), find_word(head, "enum") != std::string_view::npos,
              out);
        from = at = end;
      } else if (initialised || is_initialiser || head.ends_with(")requires") ||
                 (find_word(head, "requires") != std::string_view::npos && head.ends_with(')') &&
                  end < code.size() && is_word_character(code[end]))) {
        at = end;  // a requires expression, or an initialiser: the declaration goes on
      } else {
        add(head);
        from = at = end;
      }
    } else {
      ++at;
    }
  }
  add(code.substr(from));
}

// The declaration must begin and end where the header's does: `int at(int)` is not `int at(int)
// const`.
bool stands_in(std::string_view header, std::string_view declaration, bool initialiser_left_out) {
  constexpr std::string_view before = ";{}:],";
  constexpr std::string_view after = ";{}:,";
  for (auto at = header.find(declaration); at != std::string_view::npos;
       at = header.find(declaration, at + 1)) {
    auto const end = at + declaration.size();
    bool const begins = at == 0 || before.find(header[at - 1]) != std::string_view::npos;
    bool const ends = end == header.size() || after.find(header[end]) != std::string_view::npos ||
                      (initialiser_left_out && header[end] == '=');
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> missing_declarations(std::string_view signatures,
                                              std::string_view header) {
  std::vector<std::string> missing;
  auto const quoted_code = folded(signatures);
  auto const header_code = folded(header);
  std::vector<std::string> declarations;
  split(quoted_code, false, declarations);
  for (auto const& one : declarations) {
    bool const left_out = quoted_code.find(one + "=;") != std::string::npos;
    if (!stands_in(header_code, one, left_out)) missing.push_back(one);
  }
  return missing;
}

}  // namespace house
