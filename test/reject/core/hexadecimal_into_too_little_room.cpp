// reject: promise_broken
// reject-gcc: in 'constexpr' expansion of .*there is room for two digits per byte
// reject-clang: in call to 'expects\(.*there is room for two digits per byte
#include <keyspan/core/bytes.hpp>

#ifdef KEYSPAN_GOOD_TWIN
constexpr std::size_t room = 4;
#else
constexpr std::size_t room = 3;
#endif

constexpr bool encoded = [] {
  unsigned char const bytes[2]{0x22, 0xE3};
  char digits[room]{};
  return keyspan::encode_hex(std::span{bytes}, digits) == "22E3";
}();
