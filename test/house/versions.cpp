#include "versions.hpp"

#include "files.hpp"
#include "text.hpp"

#include <keyspan/core/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace house {

namespace fs = std::filesystem;

namespace {

constexpr auto version_header = "include/keyspan/core/version.hpp";

// The rest of the line `#define <name> …`, without quotation marks.
std::string definition_of(std::string_view code, std::string const& name) {
  for (auto line : lines_of(code)) {
    line = trimmed(line);
    if (!line.starts_with("#define " + name + " ")) continue;
    line = trimmed(line.substr(name.size() + 9));
    if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
    return std::string{line};
  }
  return {};
}

// The member "version" of a vcpkg.json, in whichever of its spellings.
keyspan::result<std::string> version_in(std::string_view text) {
  std::string version;
  keyspan::json_reader in{text};
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "version" || name == "version-semver") {
      version = in.string();
    } else {
      in.skip();
    }
  }
  return in.finish(std::move(version));
}

std::vector<std::string> json_files_of(fs::path const& root) {
  auto files = files_of_project(root);
  std::erase_if(files, [](std::string const& file) {
    bool const ours = file.find('/') == std::string::npos || file.starts_with("test/package/");
    return !ours || !file.ends_with(".json");
  });
  return files;
}

complaint unreadable(std::string const& file, keyspan::error const& why) {
  return {file, why.position.line, std::string{why.to_text().view()}, "correct the file"};
}

}  // namespace

complaints versions(fs::path const& root, std::string_view cmake) {
  complaints found;
  auto const header = text_of(root / version_header);
  std::string numbers;
  for (std::string const part : {"MAJOR", "MINOR", "PATCH"})
    numbers += (numbers.empty() ? "" : ".") + definition_of(header, "KEYSPAN_VERSION_" + part);
  if (numbers.find_first_of("0123456789") == std::string::npos)
    return {{version_header, 0, "there are no version numbers to check",
             "KEYSPAN_VERSION_MAJOR, _MINOR and _PATCH are #defined there"}};
  if (auto const text = definition_of(header, "KEYSPAN_VERSION_STRING"); text != numbers)
    found.push_back({version_header, 0,
                     "KEYSPAN_VERSION_STRING is " + text + ", the numbers are " + numbers,
                     "let them say the same"});
  if (cmake != numbers)
    found.push_back({"CMakeLists.txt", 0,
                     "the project's version is " + std::string{cmake} + ", not " + numbers,
                     "configure again; CMakeLists.txt reads the numbers from core/version.hpp"});
  std::size_t manifests = 0;
  for (auto const& file : json_files_of(root)) {
    if (fs::path{file}.filename() != "vcpkg.json") continue;
    ++manifests;
    auto const text = text_of(root / file);
    if (auto const version = version_in(text); !version) {
      found.push_back(unreadable(file, version.error()));
    } else if (*version != numbers) {
      found.push_back(
          {file, 0,
           "the version is " + (version->empty() ? "missing" : *version) + ", not " + numbers,
           "let \"version\" be " + numbers});
    }
  }
  if (manifests == 0)
    found.push_back(
        {"vcpkg.json", 0, "there is no vcpkg.json to check", "the check looks in the wrong place"});
  return found;
}

complaints json_files(fs::path const& root) {
  complaints found;
  auto const files = json_files_of(root);
  for (auto const& file : files) {
    auto const text = text_of(root / file);
    keyspan::json_reader in{text};
    in.skip();
    if (auto const read = in.finish(0); !read) found.push_back(unreadable(file, read.error()));
  }
  if (files.empty())
    found.push_back(
        {".", 0, "there is no JSON file to check", "the check looks in the wrong place"});
  return found;
}

}  // namespace house
