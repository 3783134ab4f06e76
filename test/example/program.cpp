#include "program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace test {

namespace {

void close_end(int& end) {
  if (end >= 0) close(end);
  end = -1;
}

// Other programs that are started must not hold these ends open.
std::array<int, 2> new_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error{"no pipe can be made"};
  for (int const end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return ends;
}

void become(std::vector<std::string>& words, program::settings const& with) {
  signal(SIGPIPE, SIG_DFL);
  if (!with.input.empty()) dup2(open(with.input.c_str(), O_RDONLY), STDIN_FILENO);
  if (!with.output.empty()) dup2(open(with.output.c_str(), O_WRONLY), STDOUT_FILENO);
  if (with.address_space != 0) {
    rlimit const limit{with.address_space, with.address_space};
    setrlimit(RLIMIT_AS, &limit);
  }
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(pointers.front(), pointers.data());
}

}  // namespace

program::program(std::vector<std::string> words, settings const& with)
    : deadline_{std::chrono::steady_clock::now() + std::chrono::seconds{30}} {
  signal(SIGPIPE, SIG_IGN);
  auto in = new_pipe();
  auto out = new_pipe();
  auto err = new_pipe();
  child_ = fork();
  if (child_ < 0) throw std::runtime_error{"no process can be made"};
  if (child_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    become(words, with);
    _exit(127);
  }
  close_end(in[0]);
  close_end(out[1]);
  close_end(err[1]);
  in_ = in[1];
  out_ = out[0];
  err_ = err[0];
  fcntl(in_, F_SETFL, fcntl(in_, F_GETFL) | O_NONBLOCK);
}

program::~program() {
  close_end(in_);
  close_end(out_);
  close_end(err_);
  if (child_ < 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

void program::gather(int& from, std::string& to) {
  std::array<char, 1 << 16> block;
  auto const size = read(from, block.data(), block.size());
  if (size > 0)
    to.append(block.data(), static_cast<std::size_t>(size));
  else if (size == 0 || errno != EINTR)
    close_end(from);
}

template <class Done>
bool program::move_bytes(std::string_view text, Done done) {
  while (!text.empty() || !done()) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    // A negative descriptor is passed over.
    std::array<pollfd, 3> ends{{{text.empty() ? -1 : in_, POLLOUT, 0},  //
                                {out_, POLLIN, 0},
                                {err_, POLLIN, 0}}};
    if (std::all_of(ends.begin(), ends.end(), [](pollfd const& end) { return end.fd < 0; }))
      return done();
    if (poll(ends.data(), ends.size(), static_cast<int>(left.count())) < 0) continue;
    if (ends[1].revents != 0) gather(out_, seen_.out);
    if (ends[2].revents != 0) gather(err_, seen_.err);
    if (ends[0].revents == 0) continue;
    auto const size = ::write(in_, text.data(), text.size());
    if (size > 0)
      text.remove_prefix(static_cast<std::size_t>(size));
    else if (size < 0 && errno != EINTR && errno != EAGAIN)
      text = {};  // nobody reads it any more
  }
  return true;
}

void program::write(std::string_view text) {
  move_bytes(text, [] { return true; });
}

std::string const& program::lines(std::size_t count) {
  move_bytes({}, [&] {
    return static_cast<std::size_t>(std::count(seen_.out.begin(), seen_.out.end(), '\n')) >= count;
  });
  return seen_.out;
}

void program::terminate() {
  if (child_ > 0) kill(child_, SIGTERM);
}

outcome program::finish() {
  close_end(in_);
  // Who does not end in time is ended, and has no status then.
  if (!move_bytes({}, [&] { return out_ < 0 && err_ < 0; })) kill(child_, SIGKILL);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (WIFEXITED(status)) seen_.status = WEXITSTATUS(status);
  return seen_;
}

}  // namespace test
