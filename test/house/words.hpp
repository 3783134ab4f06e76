// test/house/words.hpp — words that no file of the project may hold.
#pragma once

#include "complaint.hpp"

#include <filesystem>

namespace house {

/// Paths of somebody's machine, names of package registries, and notes of unfinished work.
complaints unwelcome_words(std::filesystem::path const& root);

}  // namespace house
