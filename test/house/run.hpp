// test/house/run.hpp — running a program through the shell and seeing how it ended.
#pragma once

#include <string>

namespace house {

struct outcome {
  int status = -1;  ///< the exit status; -1 where a signal ended it
  int signal = 0;
  std::string output;  ///< standard output, and with 2>&1 in the command standard error
  double cpu_seconds = 0;
};

outcome run(std::string const& command);

/// The text in quotation marks for the shell.
std::string shell_quoted(std::string const& text);

}  // namespace house
