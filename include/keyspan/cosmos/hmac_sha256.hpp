// keyspan/cosmos/hmac_sha256.hpp — the keyed hash that requests are signed with: SHA-256 of FIPS
// 180-4, HMAC of RFC 2104. For who has a cryptographic library anyway: any function of a key and a
// text will do.
#pragma once

#include <keyspan/core/bytes.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keyspan::cosmos {

/// What SHA-256 and an HMAC of it come to.
using digest256 = std::array<unsigned char, 32>;

/// The sentence that a compiler shows for what makes no HMAC: it is called with a key and a text,
/// and returns 32 bytes.
template <class H>
concept makes_hmac_sha256 =
    requires(H const& h, std::span<unsigned char const> key, std::string_view text) {
      { h(key, text) } -> std::convertible_to<digest256>;
    };

/// SHA-256 of what comes in pieces. Allocates nothing.
class sha256 {
 public:
  template <byte_like Byte>
  constexpr void add(std::span<Byte const> bytes) {
    size_ += bytes.size();
    for (Byte const byte : bytes) {
      block_[used_++] = static_cast<unsigned char>(byte);
      if (used_ == block_.size()) work();
    }
  }
  constexpr void add(std::string_view text) { add(std::span<char const>{text}); }

  /// The digest of all that was added. Nothing is added behind that.
  constexpr digest256 finish() {
    std::uint64_t const bits = std::uint64_t{size_} * 8;
    block_[used_++] = 0x80;
    if (used_ > block_.size() - 8) {
      while (used_ < block_.size()) block_[used_++] = 0;
      work();
    }
    while (used_ < block_.size() - 8) block_[used_++] = 0;
    for (unsigned shift = 64; shift > 0; shift -= 8)
      block_[used_++] = static_cast<unsigned char>(bits >> (shift - 8));
    work();
    digest256 made{};
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return made;
  }

 private:
  static constexpr std::uint32_t rounds[64]{
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};

  // Takes the block in, and begins the next one.
  constexpr void work() {
    std::uint32_t words[64]{};
    for (std::size_t i = 0; i < 16; ++i) words[i] = load_be<std::uint32_t>(block_.data() + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
      std::uint32_t const a = words[i - 15];
      std::uint32_t const b = words[i - 2];
      words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
                 (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      std::uint32_t const one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + rounds[i] + words[i];
      std::uint32_t const other =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + one;
      d = c;
      c = b;
      b = a;
      a = one + other;
    }
    std::uint32_t const worked[8]{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += worked[i];
    used_ = 0;
  }

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::size_t used_ = 0;
  std::size_t size_ = 0;
};

/// HMAC-SHA256, as `hmac_sha256(key, text)`. Allocates nothing.
struct hmac_sha256_function {
  constexpr digest256 operator()(std::span<unsigned char const> key, std::string_view text) const {
    std::array<unsigned char, 64> own{};
    if (key.size() > own.size()) {
      sha256 shortened;
      shortened.add(key);
      auto const digest = shortened.finish();
      for (std::size_t i = 0; i < digest.size(); ++i) own[i] = digest[i];
    } else {
      for (std::size_t i = 0; i < key.size(); ++i) own[i] = key[i];
    }
    sha256 inner;
    for (auto& byte : own) byte ^= 0x36;
    inner.add(std::span<unsigned char const>{own});
    inner.add(text);
    auto const within = inner.finish();
    sha256 outer;
    for (auto& byte : own) byte ^= 0x36 ^ 0x5C;
    outer.add(std::span<unsigned char const>{own});
    outer.add(std::span<unsigned char const>{within});
    return outer.finish();
  }
};
inline constexpr hmac_sha256_function hmac_sha256{};
static_assert(makes_hmac_sha256<hmac_sha256_function>);

}  // namespace keyspan::cosmos
