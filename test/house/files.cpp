#include "files.hpp"

#include "run.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace house {

namespace fs = std::filesystem;

std::string text_of(fs::path const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write_text(fs::path const& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream{file, std::ios::binary} << text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    auto const end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> files_under(fs::path const& root, std::string_view folder,
                                     std::initializer_list<std::string_view> endings) {
  std::vector<std::string> files;
  if (!fs::is_directory(root / folder)) return files;
  for (auto const& entry : fs::recursive_directory_iterator{root / folder}) {
    auto const name = entry.path().filename().string();
    if (!entry.is_regular_file()) continue;
    if (endings.size() != 0 &&
        std::ranges::none_of(endings, [&](auto ending) { return name.ends_with(ending); }))
      continue;
    files.push_back(entry.path().lexically_relative(root).generic_string());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> files_of_project(fs::path const& root) {
  std::vector<std::string> files;
  if (fs::exists(root / ".git")) {
    auto const listed = run("git -C " + shell_quoted(root.string()) +
                            " ls-files --cached --others --exclude-standard 2>/dev/null")
                            .output;
    for (auto const line : lines_of(listed))
      if (fs::is_regular_file(root / line)) files.emplace_back(line);
  }
  if (files.empty()) {
    files = files_under(root, ".");
    for (auto& file : files) file = fs::path{file}.lexically_normal().generic_string();
    std::erase_if(files, [](auto const& file) {
      return file.starts_with("build/") || file.starts_with(".git/");
    });
  }
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  return files;
}

}  // namespace house
