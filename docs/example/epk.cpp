// Tells where keys are in the hash space of a container: epk v1|v2|multihash < keys > tokens
//
// A line of standard input is a key, a JSON array such as ["a",1.5,true,null,{}], where {} is a
// value that the document does not have. Each line is answered by one: the token in hexadecimal, or
// `error` where the line is no key; then standard error says why, and the exit status is 2.
#include "epk.hpp"

#include <keyspan/core/print.hpp>
#include <keyspan/keyspan.hpp>

#include <cerrno>
#include <cstddef>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>
#else
#include <io.h>  // where the same function has another name
auto const read = [](int file, char* to, std::size_t size) {
  return _read(file, to, static_cast<unsigned>(size));
};
#endif

namespace {

constexpr std::string_view usage = R"(usage: epk v1|v2|multihash

Reads a partition key from each line, a JSON array: ["a",1.5,true,null,{}], where {} is a value
that the document does not have. Prints the key's token (its effective partition key) in
hexadecimal, or the word error for a line that is no key.

  v1, v2      containers of kind Hash, by the version of their partition key definition
  multihash   containers of kind MultiHash: hierarchical keys of up to three values

Exit status: 2 where a line is no key or the usage is wrong, 1 where it cannot read or write.
)";

// What has arrived on standard input: empty at its end, nothing where it cannot be read. Waits only
// where nothing has arrived, which no function of a standard stream promises.
std::optional<std::string_view> read_some(std::span<char> room) {
  for (;;) {
    auto const size = read(0, room.data(), room.size());
    if (size >= 0) return std::string_view{room.data(), static_cast<std::size_t>(size)};
    if (errno != EINTR) return std::nullopt;
  }
}

template <keyspan::hash_scheme Scheme>
int run(Scheme const& scheme, std::size_t most_values) {
  epk::answering answering{scheme, most_values};
  bool all_good = true;
  auto const complain = [&](epk::refusal const& r) {
    all_good = false;
    std::cerr << "epk: line " << r.line << ", column " << r.column << ": " << r.why << '\n';
  };

  std::vector<char> room(std::size_t{1} << 16);
  std::string lines;  // between two rounds: the beginning of a line whose end has not arrived
  std::string answers;
  auto const answer_lines = [&] {
    answering.answer(lines, answers, complain);
    std::cout << answers << std::flush;  // before waiting for more: somebody may wait for these
    lines.clear();
    answers.clear();
  };
  auto more = read_some(room);
  while (more && !more->empty()) {
    auto const whole = more->rfind('\n') + 1;  // 0 where no line ends
    lines += more->substr(0, whole);
    if (whole != 0) answer_lines();
    if (!std::cout) break;
    lines += more->substr(whole);
    more = read_some(room);
  }
  answer_lines();

  if (!more) std::cerr << "epk: cannot read standard input\n";
  if (!std::cout) std::cerr << "epk: cannot write to standard output\n";
  if (!more || !std::cout) return 1;
  return all_good ? 0 : 2;
}

}  // namespace

int main(int count, char** words) {
  std::string_view const scheme = count == 2 ? words[1] : "";
  // One hash takes any number of values in, a hierarchy has three levels.
  if (scheme == "v1") return run(keyspan::cosmos_v1, epk::any_number);
  if (scheme == "v2") return run(keyspan::cosmos_v2, epk::any_number);
  if (scheme == "multihash") return run(keyspan::cosmos_multihash, keyspan::max_key_values);
  std::cerr << usage;
  return 2;
}
