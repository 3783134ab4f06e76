// test/hash/murmur3_test.cpp — the published hashes, whole and in pieces.
#include <keyspan/hash/murmur3.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace {

using keyspan::murmur3_128;
using keyspan::murmur3_128_result;
using keyspan::murmur3_32;
using test::check;

constexpr std::string_view fox = "The quick brown fox jumps over the lazy dog";

constexpr bool a_text_has_its_hashes() {
  // [region: example]
  check(keyspan::murmur3_32("hello") == 0x248BFA47);
  check(keyspan::murmur3_128("hello") ==
        keyspan::murmur3_128_result{0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19});
  // [end: example]
  return true;
}
CHECK_BOTH(a_text_has_its_hashes);

// What is widely published for these texts.
constexpr bool well_known_hashes_are_met() {
  check(murmur3_32("") == 0);
  check(murmur3_32("", 1) == 0x514E'28B7);
  check(murmur3_32("", 0xFFFF'FFFF) == 0x81F1'6F39);
  check(murmur3_32(std::string_view{"\0\0\0\0", 4}) == 0x2362'F9DE);
  check(murmur3_32("\xFF\xFF\xFF\xFF") == 0x7629'3B50);
  check(murmur3_32("!Ce\x87") == 0xF55B'516B);
  check(murmur3_32("!Ce") == 0x7E4A'8634);
  check(murmur3_32("!C") == 0xA0F7'B07A);
  check(murmur3_32("!") == 0x7266'1CF4);
  check(murmur3_32(fox) == 0x2E4F'F723);
  check(murmur3_128("") == murmur3_128_result{});
  check(murmur3_128(fox) == murmur3_128_result{0xE34B'BC7B'BC07'1B6C, 0x7A43'3CA9'C49A'9347});
  return true;
}
CHECK_BOTH(well_known_hashes_are_met);

// The check that the author's own tests make of an implementation: keys 0, 01, 012, … of 0 to 255
// bytes, each with another seed, and the hash of all these hashes.
template <std::size_t Size, class Write>
std::uint32_t verification(Write write) {
  std::string keys;
  std::string hashes(256 * Size, '\0');
  for (unsigned i = 0; i < 256; ++i) {
    write(keys, 256 - i, hashes.data() + Size * i);
    keys += static_cast<char>(i);
  }
  char last[Size]{};
  write(hashes, 0, last);
  return keyspan::load_le<std::uint32_t>(&last[0]);
}

TEST_CASE("the author's own verification is met") {
  CHECK(verification<4>([](std::string_view key, unsigned seed, char* to) {
          keyspan::store_le(to, murmur3_32(key, seed));
        }) == 0xB0F5'7EE3);
  CHECK(verification<16>([](std::string_view key, unsigned seed, char* to) {
          auto const [h1, h2] = murmur3_128(key, seed);
          keyspan::store_le(to, h1);
          keyspan::store_le(to + 8, h2);
        }) == 0x6384'BA69);
}

constexpr auto some_bytes = [] {
  std::array<char, 48> bytes{};
  test::random random{1};
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}();

constexpr bool pieces_hash_like_the_whole(std::size_t longest) {
  for (std::size_t size = 0; size <= longest; ++size) {
    std::string_view const all{some_bytes.data(), size};
    for (std::size_t cut = 0; cut <= size; ++cut) {
      keyspan::detail::murmur3_128_stream wide;
      wide.add(all.substr(0, cut));
      wide.add(all.substr(cut));
      check(wide.finished() == murmur3_128(all));
      keyspan::detail::murmur3_32_stream narrow;
      narrow.add(all.substr(0, cut));
      narrow.add(all.substr(cut));
      check(narrow.finished() == murmur3_32(all));
    }
  }
  return true;
}
static_assert(pieces_hash_like_the_whole(18));
TEST_CASE("bytes in two pieces hash like the whole, cut anywhere") {
  check(pieces_hash_like_the_whole(some_bytes.size()));
}

TEST_CASE("bytes in many pieces hash like the whole") {
  test::random random{2};
  for (int round = 0; round < 2'000; ++round) {
    std::string all;
    keyspan::detail::murmur3_128_stream wide;
    keyspan::detail::murmur3_32_stream narrow;
    while (!random.chance(10)) {
      std::string piece(random.below(12), '\0');
      for (char& byte : piece) byte = static_cast<char>(random.below(256));
      wide.add(piece);
      narrow.add(piece);
      all += piece;
    }
    REQUIRE(wide.finished() == murmur3_128(all));
    REQUIRE(narrow.finished() == murmur3_32(all));
  }
}

// Each text ends where its allocation does, so that a sanitizer sees a byte read too many.
TEST_CASE("not a byte beyond the text is read") {
  for (std::size_t size = 0; size <= 40; ++size) {
    std::string const text(some_bytes.data(), size);
    auto const exact = std::make_unique<char[]>(size);
    std::copy(text.begin(), text.end(), exact.get());
    CHECK(murmur3_128({exact.get(), size}) == murmur3_128(text));
    CHECK(murmur3_32({exact.get(), size}) == murmur3_32(text));
  }
}

TEST_CASE("hashing allocates nothing") {
  CHECK(test::allocations_in([] {
          static_cast<void>(murmur3_32(fox));
          static_cast<void>(murmur3_128(fox));
        }) == 0);
}

}  // namespace
