// test/fuzz/replay.cpp — runs a body without a fuzzer: over files, then over seeded changes of
// them.
//
//   replay_json [--changes N] [--seed S] PATH...
//
// A path is a file, or a folder whose files are all taken. The same arguments give the same run.
// Where a claim does not hold, the input is printed and, on a file by itself, is what to run again.
#include "fuzz.hpp"

#include <support/random.hpp>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct input {
  std::string name;
  std::string bytes;
};

// What is being run, for the one who reads of its failure.
std::string_view running_name;
std::string_view running_bytes;

extern "C" void tell_what_ran(int) {
  std::fprintf(stderr, "while running %.*s, %zu bytes:\n", static_cast<int>(running_name.size()),
               running_name.data(), running_bytes.size());
  for (char const c : running_bytes) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7F && c != '\\')
      std::fputc(c, stderr);
    else
      std::fprintf(stderr, "\\x%02X", static_cast<unsigned>(byte));
  }
  std::fputc('\n', stderr);
}

void run(std::string_view name, std::string_view bytes) {
  running_name = name;
  running_bytes = bytes;
  // In memory of its exact size, so that a sanitizer sees every step too far.
  std::vector<std::uint8_t> const exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void take(fs::path const& path, std::vector<input>& inputs) {
  if (fs::is_directory(path)) {
    std::vector<fs::path> files;
    for (auto const& entry : fs::directory_iterator{path}) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (auto const& file : files) take(file, inputs);
    return;
  }
  std::ifstream in{path, std::ios::binary};
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.string().c_str());
    std::exit(2);
  }
  inputs.push_back({path.filename().string(), {std::istreambuf_iterator<char>{in}, {}}});
}

// One to eight small changes: bits, bytes, parts left out, doubled, or taken from another input.
std::string changed(std::vector<input> const& inputs, test::random& random) {
  std::string bytes = random.pick(inputs).bytes;
  for (auto left = 1 + random.below(8); left > 0; --left) {
    auto const at = random.below(bytes.size() + 1);
    auto const length = random.below(std::min<std::uint64_t>(bytes.size() - at, 12) + 1);
    switch (random.below(6)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random.below(256));
        break;
      case 2:
        bytes.insert(at, 1, static_cast<char>(random.below(256)));
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(at, length));
        break;
      default: {
        auto const& other = random.pick(inputs).bytes;
        auto const from = random.below(other.size() + 1);
        bytes.insert(at, other.substr(from, random.below(24)));
      }
    }
    if (bytes.size() > 4096) bytes.resize(4096);
  }
  return bytes;
}

std::uint64_t number_after(std::string_view option, char const* text) {
  std::uint64_t value = 0;
  std::string_view const digits = text ? text : "";
  auto const [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc{} || end != digits.data() + digits.size()) {
    std::fprintf(stderr, "%.*s wants a number\n", static_cast<int>(option.size()), option.data());
    std::exit(2);
  }
  return value;
}

}  // namespace

int main(int, char** arguments) {
  std::uint64_t changes = 0;
  std::uint64_t seed = 1;
  std::vector<input> inputs;
  for (char** at = arguments + 1; *at != nullptr; ++at) {
    std::string_view const argument = *at;
    if (argument == "--changes")
      changes = number_after(argument, *++at);
    else if (argument == "--seed")
      seed = number_after(argument, *++at);
    else
      take(argument, inputs);
    if (*at == nullptr) break;
  }
  if (inputs.empty()) {
    std::fprintf(stderr, "no input: name a file, or a folder that has some\n");
    return 2;
  }
  std::signal(SIGABRT, tell_what_ran);
  std::signal(SIGSEGV, tell_what_ran);
  for (auto const& one : inputs) run(one.name, one.bytes);
  test::random random{seed};
  for (std::uint64_t i = 0; i < changes; ++i)
    run("change " + std::to_string(i), changed(inputs, random));
  std::printf("%zu inputs and %llu changes of them\n", inputs.size(),
              static_cast<unsigned long long>(changes));
}
