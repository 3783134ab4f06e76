// test/house/commands.hpp — what ./dev can do, and whether a line that calls it makes sense.
#pragma once

#include "complaint.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace house {

/// The commands that the usage text of ./dev lists.
std::vector<std::string> dev_commands(std::filesystem::path const& root);

/// The rows that `./dev check --list` prints.
std::vector<std::string> check_rows(std::filesystem::path const& root);

/// Complaints about one line that begins with ./dev; file and line are left empty.
complaints dev_command(std::filesystem::path const& root, std::string_view line);

}  // namespace house
