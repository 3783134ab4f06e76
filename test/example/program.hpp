// test/example/program.hpp — a running program, to talk with over its three streams.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace test {

struct outcome {
  int status = -1;  ///< the exit status; -1 where a signal ended it
  std::string out;
  std::string err;
};

class program {
 public:
  struct settings {
    std::string input{};            ///< a file that is standard input; a pipe where it is empty
    std::string output{};           ///< a file that is standard output
    std::size_t address_space = 0;  ///< in bytes; 0: as much as there is
  };

  /// Starts it; the first word is its path.
  explicit program(std::vector<std::string> words) : program{std::move(words), settings{}} {}
  program(std::vector<std::string> words, settings const& with);
  program(program const&) = delete;
  program& operator=(program const&) = delete;
  ~program();

  /// Hands all of `text` to standard input, and gathers what comes out meanwhile.
  void write(std::string_view text);
  /// All that came out so far, once it is this many lines. What is not there within half a minute
  /// is not waited for any longer.
  std::string const& lines(std::size_t count);
  /// Asks it to end, as an operating system does: SIGTERM.
  void terminate();
  /// Ends standard input and waits for the end of the program.
  outcome finish();

 private:
  // Moves bytes until `text` is written and `done()` says so. False when the time is over.
  template <class Done>
  bool move_bytes(std::string_view text, Done done);
  void gather(int& from, std::string& to);

  std::chrono::steady_clock::time_point deadline_;
  int child_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  outcome seen_;
};

}  // namespace test
