// test/fuzz/fuzz.hpp — what the bodies share: one entry point each, and claims that stop the
// program.
//
// A body is one file, test/fuzz/<name>_fuzz.cpp, with seeds in test/fuzz/corpus/<name>/. It is
// given any bytes, claims what must hold for all of them, and returns 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace fuzz {

/// Ends the program where `holds` is false: the fuzzer keeps the input that did it.
inline void require(bool holds, char const* claim,
                    std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: does not hold: %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), claim);
  std::abort();
}

/// The input as text.
inline std::string_view text_of(std::uint8_t const* data, std::size_t size) {
  return {reinterpret_cast<char const*>(data), size};
}

}  // namespace fuzz
