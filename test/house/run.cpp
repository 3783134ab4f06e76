#include "run.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace house {

namespace {

double seconds_of(timeval const& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

outcome run(std::string const& command) {
  outcome ended;
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) return ended;
  pid_t const child = fork();
  if (child == 0) {
    rlimit const no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(pipe_ends[1]);
  std::array<char, 4096> block{};
  for (;;) {
    auto const size = read(pipe_ends[0], block.data(), block.size());
    if (size > 0)
      ended.output.append(block.data(), static_cast<std::size_t>(size));
    else if (size == 0 || errno != EINTR)
      break;
  }
  close(pipe_ends[0]);
  int status = 0;
  rusage used{};
  if (child < 0 || wait4(child, &status, 0, &used) != child) return ended;
  ended.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

std::string shell_quoted(std::string const& text) {
  std::string out = "'";
  for (char const c : text) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

}  // namespace house
