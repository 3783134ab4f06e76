#include "compiler.hpp"

#include "files.hpp"
#include "text.hpp"

namespace house {

outcome compile(std::filesystem::path const& folder, std::string const& arguments) {
  static std::string const flags{trimmed(text_of(HOUSE_FLAGS))};
  return run("cd " + shell_quoted(folder.string()) + " && exec " + shell_quoted(HOUSE_COMPILER) +
             " " + flags + " " + arguments + " 2>&1");
}

}  // namespace house
