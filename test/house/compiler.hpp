// test/house/compiler.hpp — the compiler of this build, for sources that a test makes up.
#pragma once

#include "run.hpp"

#include <filesystem>
#include <string>

namespace house {

/// Runs the compiler in `folder` with the flags and include folders that keyspan's tests have.
outcome compile(std::filesystem::path const& folder, std::string const& arguments);

}  // namespace house
