// test/hash/server/process.hpp — another program, for as long as a test needs it.
//
// It is ended by its own number and by no name, also where the test ends before its time.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace test {

using namespace std::chrono_literals;

/// A new empty folder, removed with all that is in it.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = std::filesystem::temp_directory_path() / "keyspan-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error{errno, std::generic_category()};
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;

  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string text_of_file(std::filesystem::path const& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// A program that was started. What it says, on either way, goes to the file `output`.
class process {
 public:
  process(std::vector<std::string> command, std::filesystem::path const& output,
          std::filesystem::path const& input = "/dev/null") {
    std::vector<char*> arguments;
    for (auto& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = ::fork();
    if (id_ == -1) throw std::system_error{errno, std::generic_category()};
    if (id_ != 0) return;
#if defined(__linux__)
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nobody behind
#endif
    int const in = ::open(input.c_str(), O_RDONLY);
    int const out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  ~process() {
    if (exit_status_) return;
    ::kill(id_, SIGTERM);
    if (wait(3s)) return;
    ::kill(id_, SIGKILL);
    wait(3s);
  }
  process(process const&) = delete;
  process& operator=(process const&) = delete;

  /// The exit status, or nothing where it has not ended in time; 128 and more for a signal.
  std::optional<int> wait(std::chrono::milliseconds at_most) {
    auto const deadline = std::chrono::steady_clock::now() + at_most;
    while (!exit_status_) {
      int status = 0;
      if (::waitpid(id_, &status, WNOHANG) == id_) {
        exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        break;
      }
      if (std::chrono::steady_clock::now() >= deadline) break;
      std::this_thread::sleep_for(5ms);
    }
    return exit_status_;
  }

 private:
  pid_t id_ = -1;
  std::optional<int> exit_status_{};
};

}  // namespace test
