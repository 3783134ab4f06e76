// test/house/versions.hpp — one version, and JSON files that are JSON.
#pragma once

#include "complaint.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace house {

/// The three numbers of core/version.hpp against its text, CMake's project (`cmake`), and every
/// vcpkg.json.
complaints versions(std::filesystem::path const& root, std::string_view cmake);

/// Every .json file of the project is read by keyspan's own reader.
complaints json_files(std::filesystem::path const& root);

}  // namespace house
