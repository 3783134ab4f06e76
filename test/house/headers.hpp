// test/house/headers.hpp — how a public header looks, and what stands beside it: a test and a page.
#pragma once

#include "complaint.hpp"

#include <filesystem>

namespace house {

/// Banner, `#pragma once`, line length, blanks, macros, `using namespace`.
complaints header_forms(std::filesystem::path const& root);

/// A test and a reference page for each public header, and no page without a header.
complaints header_companions(std::filesystem::path const& root);

}  // namespace house
