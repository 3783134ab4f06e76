// test/async/deaths.hpp — what a program says when a promise is broken where nothing can be thrown.
#pragma once

#include <string>

#if __has_include(<unistd.h>) && __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#define KEYSPAN_TEST_DEATHS 1
#else
#define KEYSPAN_TEST_DEATHS 0
#endif

namespace test {

#if KEYSPAN_TEST_DEATHS
/// What a child of this process that does `action` writes to standard error before it aborts; a
/// sentence of its own where it ends otherwise.
template <class Action>
std::string last_words_of(Action&& action) {
  int ends[2];
  if (pipe(ends) != 0) return "there is no pipe";
  pid_t const child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the test program has a handler of its own
    dup2(ends[1], STDERR_FILENO);
    action();
    _exit(0);
  }
  close(ends[1]);
  std::string words;
  std::array<char, 512> part;
  for (;;) {
    ssize_t const got = read(ends[0], part.data(), part.size());
    if (got <= 0) break;
    words.append(part.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) return "it was not aborted: " + words;
  return words;
}
#endif

}  // namespace test
