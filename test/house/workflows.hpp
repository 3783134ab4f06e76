// test/house/workflows.hpp — what a hosted runner does on Linux is what ./dev does at home.
#pragma once

#include "complaint.hpp"

#include <filesystem>

namespace house {

/// Steps of Linux jobs that build or test: each is a line that ./dev understands.
complaints workflows(std::filesystem::path const& root);

}  // namespace house
