// test/house/files.hpp — reading a tree: which files there are, and their text.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace house {

/// The bytes of a file; empty where there is none.
std::string text_of(std::filesystem::path const& file);

void write_text(std::filesystem::path const& file, std::string_view text);

/// The lines without their ends. A final newline does not begin another line.
std::vector<std::string_view> lines_of(std::string_view text);

/// Files below root/folder of one of the endings (all where there are none), relative to `root`,
/// sorted. Empty where there is no such folder.
std::vector<std::string> files_under(std::filesystem::path const& root, std::string_view folder,
                                     std::initializer_list<std::string_view> endings = {});

/// The files that git tracks or would track; where git knows nothing of `root`, all outside build/.
std::vector<std::string> files_of_project(std::filesystem::path const& root);

}  // namespace house
