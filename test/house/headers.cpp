#include "headers.hpp"

#include "files.hpp"
#include "text.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace house {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view include_folder = "include/";
constexpr std::string_view library_folder = "include/keyspan/";
constexpr std::string_view home_of_macros = "include/keyspan/core/version.hpp";
constexpr std::size_t banner_lines = 6;
constexpr std::size_t columns = 100;

struct exemption {
  std::string_view header;  // below include/keyspan/, without .hpp
  std::string_view reason;
};
constexpr exemption without_test[]{
    {"core/version", "it holds nothing but macros; the house tests compare the version everywhere"},
};

complaint nothing_to_check() {
  return {std::string{library_folder}, 0, "there is no header to check",
          "the check looks in the wrong place, or the library is gone"};
}

void check_banner(complaints& found, std::string const& file,
                  std::vector<std::string_view> const& lines) {
  std::string const start = "// " + file.substr(include_folder.size()) + " — ";
  if (lines.empty() || !lines[0].starts_with(start) || lines[0].size() == start.size())
    found.push_back({file, 1, "the banner is missing or names another file",
                     "let the first line be \"" + start + "what it is.\""});
  auto const end =
      std::ranges::find_if(lines, [](std::string_view line) { return !line.starts_with("//"); });
  auto const size = static_cast<std::size_t>(end - lines.begin());
  if (size > banner_lines)
    found.push_back({file, banner_lines + 1,
                     "the banner is longer than " + std::to_string(banner_lines) + " lines",
                     "move what is said about one name to that name"});
  if (end == lines.end() || *end != "#pragma once")
    found.push_back({file, size + 1, "#pragma once does not follow the banner",
                     "put it on the line after the banner"});
}

void check_lines(complaints& found, std::string const& file, std::string_view text,
                 std::vector<std::string_view> const& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto const line = lines[i];
    if (line.find('\t') != std::string_view::npos)
      found.push_back({file, i + 1, "a tab", "indent with blanks"});
    if (line.find('\r') != std::string_view::npos)
      found.push_back({file, i + 1, "a carriage return", "end lines with a newline alone"});
    if (line.ends_with(' '))
      found.push_back({file, i + 1, "blanks at the end of the line", "take them out"});
    if (auto const width = characters_in(line); width > columns)
      found.push_back({file, i + 1, std::to_string(width) + " columns",
                       "at most " + std::to_string(columns) + ": break the line"});
  }
  if (!text.ends_with('\n'))
    found.push_back({file, lines.size(), "the file does not end with a newline", "add one"});
}

// Directives and words of the code, comments left out.
void check_code(complaints& found, std::string const& file, std::string const& code) {
  std::size_t number = 0;
  for (auto line : lines_of(code)) {
    ++number;
    line = trimmed(line);
    if (line.starts_with('#')) {
      auto const directive = trimmed(line.substr(1));
      bool const defines = directive.starts_with("define");
      if ((defines || directive.starts_with("undef")) && file != home_of_macros) {
        found.push_back({file, number, "a macro is defined here",
                         "macros are defined in keyspan/core/version.hpp only; "
                         "a constant or a template serves better"});
      } else if (defines && !trimmed(directive.substr(6)).starts_with("KEYSPAN_")) {
        found.push_back(
            {file, number, "a macro whose name does not begin with KEYSPAN_", "rename it"});
      }
    }
    if (auto const at = find_word(line, "using"); at != std::string_view::npos)
      if (trimmed(line.substr(at + 5)).starts_with("namespace "))
        found.push_back({file, number, "using namespace in a header",
                         "every including file would inherit it: name what is used"});
  }
}

}  // namespace

complaints header_forms(fs::path const& root) {
  complaints found;
  auto const files = files_under(root, library_folder);
  if (files.empty()) return {nothing_to_check()};
  for (auto const& file : files) {
    auto const text = text_of(root / file);
    auto const lines = lines_of(text);
    check_banner(found, file, lines);
    check_lines(found, file, text, lines);
    check_code(found, file, without_comments(text));
  }
  return found;
}

complaints header_companions(fs::path const& root) {
  complaints found;
  std::size_t checked = 0;
  for (auto const& file : files_under(root, library_folder, {".hpp"})) {
    auto const name = file.substr(library_folder.size(), file.size() - library_folder.size() -
                                                             std::string_view{".hpp"}.size());
    if (name.find('/') == std::string::npos) continue;  // an umbrella has nothing of its own
    ++checked;
    auto const test = "test/" + name + "_test.cpp";
    auto const page = "docs/reference/" + name + ".md";
    bool const exempt =
        std::ranges::any_of(without_test, [&](exemption const& one) { return one.header == name; });
    if (!exempt && !fs::exists(root / test))
      found.push_back({file, 0, "the header has no test", "write " + test});
    if (exempt && fs::exists(root / test))
      found.push_back({test, 0, "the header is listed as one without a test",
                       "take it out of without_test in test/house/headers.cpp"});
    if (!fs::exists(root / page))
      found.push_back({file, 0, "the header has no reference page", "write " + page});
  }
  if (checked == 0) return {nothing_to_check()};
  for (auto const& page : files_under(root, "docs/reference")) {
    constexpr std::string_view folder = "docs/reference/";
    if (page == "docs/reference/README.md" || page == "docs/reference/index.md") continue;
    fs::path header = root / library_folder / page.substr(folder.size());
    if (!page.ends_with(".md") || !fs::exists(header.replace_extension(".hpp")))
      found.push_back({page, 0, "the page describes no header",
                       "there is no " + header.lexically_relative(root).generic_string() +
                           ": rename the page, move it to docs/guide, or remove it"});
  }
  return found;
}

}  // namespace house
