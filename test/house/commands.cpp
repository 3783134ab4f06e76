#include "commands.hpp"

#include "files.hpp"
#include "run.hpp"
#include "text.hpp"

#include <algorithm>
#include <map>

namespace house {

namespace fs = std::filesystem;

namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_word_character(c) || c == '-' || c == '+' || c == '.';
  });
}

// The words up to what ends a command in a shell.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!(line = trimmed(line)).empty()) {
    auto const end = std::min(line.find_first_of(" \t;|&#>"), line.size());
    if (end == 0) break;
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::string list_of(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "(none)" : text;
}

}  // namespace

std::vector<std::string> dev_commands(fs::path const& root) {
  std::vector<std::string> commands;
  auto const script = text_of(root / "dev");
  bool in_usage = false;
  for (auto const line : lines_of(script)) {
    if (line.starts_with("usage: ./dev")) {
      in_usage = true;
    } else if (line == "END") {
      in_usage = false;
    } else if (in_usage && line.starts_with("  ") && line.size() > 2 && line[2] != ' ') {
      auto const name = line.substr(2, line.find(' ', 2) - 2);
      if (is_name(name)) commands.emplace_back(name);
    }
  }
  return commands;
}

std::vector<std::string> check_rows(fs::path const& root) {
  static std::map<fs::path, std::vector<std::string>> known;  // the script is asked once
  if (auto const at = known.find(root); at != known.end()) return at->second;
  std::vector<std::string> rows;
  auto const listed =
      run("cd " + shell_quoted(root.string()) + " && bash ./dev check --list 2>/dev/null").output;
  for (auto const line : lines_of(listed))
    if (auto const words = words_of(line); !words.empty() && is_name(words[0]))
      rows.push_back(words[0]);
  return known[root] = rows;
}

complaints dev_command(fs::path const& root, std::string_view line) {
  auto const words = words_of(line);
  if (words.size() < 2) return {};
  auto const& command = words[1];
  auto const commands = dev_commands(root);
  if (std::ranges::find(commands, command) == commands.end())
    return {{"", 0, "./dev knows no command " + command, "it knows " + list_of(commands)}};
  complaints found;
  if (command == "example" && words.size() > 2 && is_name(words[2]) && words[2] != "NAME" &&
      !fs::exists(root / ("docs/example/" + words[2] + ".cpp")))
    found.push_back({"", 0, "there is no example " + words[2],
                     "docs/example/" + words[2] + ".cpp does not exist"});
  if (command == "check") {
    auto const rows = check_rows(root);
    for (std::size_t i = 2; i < words.size(); ++i)
      if (is_name(words[i]) && !words[i].starts_with("-") &&
          words[i].find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos &&
          std::ranges::find(rows, words[i]) == rows.end())
        found.push_back(
            {"", 0, "./dev check knows no row " + words[i], "its rows are " + list_of(rows)});
  }
  return found;
}

}  // namespace house
