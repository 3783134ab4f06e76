// test/cosmos/hmac_sha256_test.cpp — against the vectors of FIPS 180 and RFC 4231, and in pieces.
#include <keyspan/core/bytes.hpp>
#include <keyspan/cosmos/hmac_sha256.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::cosmos::digest256;
using keyspan::cosmos::hmac_sha256;
using keyspan::cosmos::sha256;
using test::check;

std::string hex(digest256 const& digest) {
  std::string text;
  for (unsigned char const byte : digest) {
    text.push_back("0123456789abcdef"[byte >> 4]);
    text.push_back("0123456789abcdef"[byte & 15]);
  }
  return text;
}
constexpr digest256 digest_of(std::string_view text) {
  sha256 all;
  all.add(text);
  return all.finish();
}
std::span<unsigned char const> bytes_of(std::string const& text) {
  return {reinterpret_cast<unsigned char const*>(text.data()), text.size()};
}

TEST_CASE("texts have the digests that the standard gives") {
  CHECK(hex(digest_of("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(digest_of("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(digest_of(std::string(1'000'000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  STATIC_REQUIRE(digest_of("abc")[0] == 0xBA);  // also where the compiler works it out
}

TEST_CASE("of every length around a block, the pieces in which a text comes do not matter") {
  test::random numbers{7};
  for (std::size_t size = 0; size <= 200; ++size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(numbers.below(256)));
    auto const whole = digest_of(text);
    for (int round = 0; round < 3; ++round) {
      sha256 pieces;
      std::string_view left = text;
      while (!left.empty()) {
        auto const some = static_cast<std::size_t>(1 + numbers.below(left.size()));
        pieces.add(left.substr(0, some));
        left.remove_prefix(some);
      }
      REQUIRE(pieces.finish() == whole);
    }
    text.push_back('x');
    REQUIRE(digest_of(text) != whole);
  }
}

TEST_CASE("keys of every size have the codes of the RFC") {
  std::string const key_of_20(20, '\x0b');
  CHECK(hex(hmac_sha256(bytes_of(key_of_20), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_sha256(bytes_of("Jefe"), "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  std::string const key_of_131(131, '\xaa');
  CHECK(hex(hmac_sha256(bytes_of(key_of_131),
                        "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  // A key as long as a block is taken as it is, a longer one by its digest.
  std::string const key_of_64(64, 'k');
  std::string const key_of_65(65, 'k');
  digest256 const shortened = digest_of(key_of_65);
  CHECK(hmac_sha256(bytes_of(key_of_65), "text") == hmac_sha256(std::span{shortened}, "text"));
  CHECK(hmac_sha256(bytes_of(key_of_64), "text") !=
        hmac_sha256(std::span<unsigned char const>{digest_of(key_of_64)}, "text"));
}

TEST_CASE("the example of hmac_sha256 reads as it should") {
  // [region: example]
  std::array<unsigned char, 4> const key{'J', 'e', 'f', 'e'};
  auto const code = keyspan::cosmos::hmac_sha256(key, "what do ya want for nothing?");
  check(code[0] == 0x5B && code[31] == 0x43);
  // [end: example]
}

}  // namespace
