#include "words.hpp"

#include "files.hpp"
#include "text.hpp"

#include <string>
#include <string_view>

namespace house {

namespace {

// The words are put together from pieces, so that this file does not hold them itself.
std::string joined(std::string_view a, std::string_view b) {
  return std::string{a} + std::string{b};
}

enum class kind { path, host, note };

struct unwelcome {
  kind of;
  std::string word;
};

bool begins_a_path(std::string_view line, std::size_t at) {
  if (at == 0) return true;
  char const before = line[at - 1];
  return !is_word_character(before) &&
         std::string_view{".-$})*]/"}.find(before) == std::string_view::npos;
}

bool stands_in(std::string_view line, unwelcome const& one) {
  if (one.of == kind::host) return line.find(one.word) != std::string_view::npos;
  if (one.of == kind::note) return find_word(line, one.word) != std::string_view::npos;
  for (auto at = line.find(one.word); at != std::string_view::npos;
       at = line.find(one.word, at + 1)) {
    auto const end = at + one.word.size();
    if (begins_a_path(line, at) && end < line.size() && line[end] >= 'a' && line[end] <= 'z')
      return true;
  }
  return false;
}

}  // namespace

complaints unwelcome_words(std::filesystem::path const& root) {
  unwelcome const words[]{
      {kind::path, joined("/wo", "rk/")},     {kind::path, joined("/tm", "p/")},
      {kind::host, joined("deb.", "debian")}, {kind::host, joined("registry.", "npmjs")},
      {kind::host, joined("pypi.", "org")},   {kind::note, joined("TO", "DO")},
      {kind::note, joined("FIX", "ME")},      {kind::note, joined("XX", "X")},
  };
  complaints found;
  std::size_t checked = 0;
  for (auto const& file : files_of_project(root)) {
    auto const text = text_of(root / file);
    if (text.find('\0') != std::string::npos) continue;  // not text
    ++checked;
    std::size_t number = 0;
    for (auto const line : lines_of(text)) {
      ++number;
      for (auto const& one : words) {
        if (!stands_in(line, one)) continue;
        switch (one.of) {
          case kind::path:
            found.push_back({file, number, "a path of one machine: " + one.word + "…",
                             "use a path relative to the project, or ask the system for a folder"});
            break;
          case kind::host:
            found.push_back({file, number, "the host name of a registry: " + one.word,
                             "the machine's own configuration knows where packages come from"});
            break;
          case kind::note:
            found.push_back({file, number, "a note of unfinished work: " + one.word,
                             "finish it, or describe what is there"});
        }
      }
    }
  }
  if (checked == 0)
    found.push_back({".", 0, "there is no file to check", "the check looks in the wrong place"});
  return found;
}

}  // namespace house
