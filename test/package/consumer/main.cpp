// test/package/consumer/main.cpp — a program as a user would write it.
#include <keyspan/keyspan.hpp>

#include <array>
#include <iostream>
#include <span>
#include <string_view>

namespace {

keyspan::result<std::size_t> bytes_in(std::string_view digits) {
  std::array<unsigned char, 16> bytes{};
  return keyspan::decode_hex(digits, std::span<unsigned char>{bytes});
}

}  // namespace

int main() {
  auto const good = bytes_in("22E342F3");
  auto const bad = bytes_in("22E3zzzz");
  if (!good || bad) return 1;
  std::cout << *good << " bytes\n" << bad.error() << '\n';
}
