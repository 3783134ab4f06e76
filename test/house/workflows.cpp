#include "workflows.hpp"

#include "commands.hpp"
#include "files.hpp"
#include "text.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace house {

namespace fs = std::filesystem;

namespace {

struct numbered_line {
  std::size_t number;
  std::string_view text;
};
using numbered_lines = std::vector<numbered_line>;

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// "key: value" or "- key: value" with this key: the value, else nothing.
bool value_of(std::string_view line, std::string_view key, std::string_view& value) {
  line = trimmed(line);
  if (line.starts_with("- ")) line = trimmed(line.substr(2));
  if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") return false;
  value = trimmed(line.substr(key.size() + 1));
  return true;
}

std::string_view without_quotes(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\''))
    text = text.substr(1, text.size() - 2);
  return text;
}

// Every value that the job's matrix gives `key`: from `key: [a, b]`, `{key: a}` and lists over
// several lines.
std::vector<std::string> matrix_values(numbered_lines const& job, std::string_view key) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < job.size(); ++i) {
    auto const line = job[i].text;
    std::string_view value;
    auto const in_braces = line.find('{');
    if (value_of(line, key, value)) {
      if (value.starts_with('[')) {
        value = value.substr(1, value.find(']') - 1);
        while (!value.empty()) {
          auto const end = std::min(value.find(','), value.size());
          values.emplace_back(without_quotes(value.substr(0, end)));
          value.remove_prefix(std::min(end + 1, value.size()));
        }
      } else if (!value.empty()) {
        values.emplace_back(without_quotes(value));
      } else {
        for (auto j = i + 1; j < job.size() && trimmed(job[j].text).starts_with("- "); ++j)
          values.emplace_back(without_quotes(trimmed(job[j].text).substr(2)));
      }
    } else if (in_braces != std::string_view::npos && line.find("${{") == std::string_view::npos) {
      if (auto const at = find_word(line, key, in_braces); at != std::string_view::npos) {
        auto const from = line.find(':', at) + 1;
        values.emplace_back(
            without_quotes(line.substr(from, line.find_first_of(",}", from) - from)));
      }
    }
  }
  return values;
}

// The line once for each value of the first ${{ matrix.x }} in it; other expressions stay.
std::vector<std::string> expanded(numbered_lines const& job, std::string const& line) {
  auto const from = line.find("${{");
  auto const to = line.find("}}", from);
  if (from == std::string::npos || to == std::string::npos) return {line};
  auto const expression = trimmed(std::string_view{line}.substr(from + 3, to - from - 3));
  if (!expression.starts_with("matrix.")) return {line};
  std::vector<std::string> lines;
  for (auto const& value : matrix_values(job, expression.substr(7)))
    for (auto const& one : expanded(job, line.substr(0, from) + value + line.substr(to + 2)))
      lines.push_back(one);
  return lines;
}

bool is_linux(numbered_lines const& job) {
  for (auto const& line : job) {
    std::string_view value;
    if (!value_of(line.text, "runs-on", value)) continue;
    return std::ranges::any_of(expanded(job, std::string{value}), [](std::string const& on) {
      return on.find("macos") == std::string::npos && on.find("windows") == std::string::npos;
    });
  }
  return true;
}

struct command_line {
  std::size_t number;
  std::string text;
};

std::vector<command_line> commands_of(numbered_lines const& job) {
  std::vector<command_line> commands;
  for (std::size_t i = 0; i < job.size(); ++i) {
    std::string_view value;
    if (!value_of(job[i].text, "run", value)) continue;
    if (!value.starts_with('|') && !value.starts_with('>')) {
      commands.push_back({job[i].number, std::string{without_quotes(value)}});
      continue;
    }
    bool const is_folded = value.starts_with('>');
    auto indent = indent_of(job[i].text);
    if (trimmed(job[i].text).starts_with("- ")) indent += 2;
    for (bool first = true; i + 1 < job.size() && indent_of(job[i + 1].text) > indent;
         first = false) {
      ++i;
      if (is_folded && !first)
        commands.back().text += " " + std::string{trimmed(job[i].text)};
      else
        commands.push_back({job[i].number, std::string{trimmed(job[i].text)}});
    }
  }
  return commands;
}

// The parts of a shell line between &&, || and ;.
std::vector<std::string_view> parts_of(std::string_view line) {
  std::vector<std::string_view> parts;
  while (!line.empty()) {
    auto const end = std::min({line.find("&&"), line.find("||"), line.find(';'), line.size()});
    auto part = trimmed(line.substr(0, end));
    if (part.starts_with("sudo ")) part = trimmed(part.substr(5));
    if (!part.empty()) parts.push_back(part);
    line.remove_prefix(std::min(line.find_first_not_of("&|;", end), line.size()));
  }
  return parts;
}

bool builds_or_tests(std::string_view part) {
  auto const program = part.substr(0, part.find(' '));
  for (auto const name :
       {"cmake", "ctest", "cpack", "ninja", "make", "g++", "gcc", "c++", "conan", "vcpkg"})
    if (program == name) return true;
  return program.starts_with("clang") || program.starts_with("build/") ||
         program.starts_with("./build/");
}

void check_job(complaints& found, std::size_t& dev_lines, fs::path const& root,
               std::string const& file, numbered_lines const& job) {
  if (!is_linux(job)) return;
  for (auto const& [number, text] : commands_of(job)) {
    for (auto const part : parts_of(text)) {
      if (part.starts_with("./dev")) {
        ++dev_lines;
        auto const lines = expanded(job, std::string{part});
        if (lines.empty())
          found.push_back({file, number, "no value is found for the matrix of " + std::string{part},
                           "list the values under strategy, matrix"});
        for (auto const& line : lines)
          for (auto const& wrong : dev_command(root, line))
            found.push_back({file, number, wrong.what, wrong.advice});
      } else if (builds_or_tests(part)) {
        found.push_back({file, number,
                         "a Linux job builds or tests without ./dev: " + std::string{part},
                         "make it a row of ./dev check, so that it can be run at home"});
      }
    }
  }
}

}  // namespace

complaints workflows(fs::path const& root) {
  complaints found;
  std::size_t dev_lines = 0;
  for (auto const& file : files_under(root, ".github/workflows", {".yml", ".yaml"})) {
    auto const text = text_of(root / file);
    numbered_lines job;
    bool in_jobs = false;
    std::size_t number = 0;
    for (auto const line : lines_of(text)) {
      ++number;
      if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
      if (indent_of(line) == 0) in_jobs = line.starts_with("jobs:");
      if (!in_jobs) continue;
      if (indent_of(line) <= 2) {
        check_job(found, dev_lines, root, file, job);
        job.clear();
      }
      job.push_back({number, line});
    }
    check_job(found, dev_lines, root, file, job);
  }
  if (dev_lines == 0)
    found.push_back(
        {".github/workflows", 0, "no Linux job runs ./dev", "the check looks in the wrong place"});
  std::size_t number = 0;
  auto const script = text_of(root / ".ci/run");
  for (auto const line : lines_of(script)) {
    ++number;
    for (auto const part : parts_of(trimmed(line)))
      if (part.starts_with("./dev"))
        for (auto const& wrong : dev_command(root, part))
          found.push_back({".ci/run", number, wrong.what, wrong.advice});
  }
  return found;
}

}  // namespace house
