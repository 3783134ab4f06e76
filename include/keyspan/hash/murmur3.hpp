// keyspan/hash/murmur3.hpp — MurmurHash3, the public algorithm in its 32-bit and 128-bit forms.
//
// Fast, well mixed, and no defence against somebody who looks for collisions. The same on every
// machine: bytes are read little endian wherever the program runs.
#pragma once

#include <keyspan/core/bytes.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keyspan {

/// The two halves of a 128-bit hash, in the order in which the algorithm gives them.
struct murmur3_128_result {
  std::uint64_t h1 = 0;
  std::uint64_t h2 = 0;

  friend constexpr bool operator==(murmur3_128_result const&, murmur3_128_result const&) = default;
};

namespace detail {

// `size` bytes, at most 7, the first one lowest; nothing around them is read.
constexpr std::uint64_t load_few(char const* from, std::size_t size) {
  if (size >= 4)
    return load_le<std::uint32_t>(from) | std::uint64_t{load_le<std::uint32_t>(from + size - 4)}
                                              << 8 * (size - 4);
  if (size == 0) return 0;
  auto const byte = [&](std::size_t i) {
    return std::uint64_t{static_cast<unsigned char>(from[i])} << 8 * i;
  };
  return byte(0) | byte(size / 2) | byte(size - 1);
}

// `size` bytes, at most 8, the first one lowest, where the eight bytes that end with them can be
// read. Two shifts, for one of 64 places is none.
constexpr std::uint64_t load_last(char const* from, std::size_t size) {
  if (size == 8) return load_le<std::uint64_t>(from);
  return load_le<std::uint64_t>(from + size - 8) >> 8 * (7 - size) >> 8;
}

// The rounds of the 128-bit form; whoever has the words hands them over, wherever they came from.
class murmur3_128_rounds {
 public:
  constexpr explicit murmur3_128_rounds(std::uint64_t seed = 0) : h1_{seed}, h2_{seed} {}

  // Sixteen bytes.
  constexpr void block(std::uint64_t k1, std::uint64_t k2) {
    h1_ ^= mixed_first(k1);
    h1_ = (std::rotl(h1_, 27) + h2_) * 5 + 0x52DC'E729;
    h2_ ^= mixed_second(k2);
    h2_ = (std::rotl(h2_, 31) + h1_) * 5 + 0x3849'5AB5;
  }

  // What is left, at most eight bytes or at most fifteen, followed by zeros.
  constexpr void tail(std::uint64_t k1) { h1_ ^= mixed_first(k1); }
  constexpr void tail(std::uint64_t k1, std::uint64_t k2) {
    h1_ ^= mixed_first(k1);
    h2_ ^= mixed_second(k2);
  }

  constexpr murmur3_128_result finished(std::size_t size) const {
    std::uint64_t h1 = h1_ ^ size;
    std::uint64_t h2 = h2_ ^ size;
    h1 += h2;
    h2 += h1;
    h1 = scattered(h1);
    h2 = scattered(h2);
    h1 += h2;
    h2 += h1;
    return {h1, h2};
  }

 private:
  static constexpr std::uint64_t c1 = 0x87C3'7B91'1142'53D5;
  static constexpr std::uint64_t c2 = 0x4CF5'AD43'2745'937F;

  static constexpr std::uint64_t mixed_first(std::uint64_t k) { return std::rotl(k * c1, 31) * c2; }
  static constexpr std::uint64_t mixed_second(std::uint64_t k) {
    return std::rotl(k * c2, 33) * c1;
  }
  static constexpr std::uint64_t scattered(std::uint64_t h) {
    h = (h ^ h >> 33) * 0xFF51'AFD7'ED55'8CCD;
    h = (h ^ h >> 33) * 0xC4CE'B9FE'1A85'EC53;
    return h ^ h >> 33;
  }

  std::uint64_t h1_;
  std::uint64_t h2_;
};

// The 128-bit hash of bytes that come in pieces, without a buffer: what does not fill a block yet
// waits in two words.
class murmur3_128_stream {
 public:
  // The lowest `count` bytes of `word`, at most 8; above them are zeros.
  constexpr void add(std::uint64_t word, std::size_t count) {
    std::size_t const shift = waiting_ % 8 * 8;
    std::uint64_t const over = word >> (63 - shift) >> 1;  // nothing where nothing is shifted
    size_ += count;
    if (waiting_ < 8) {
      low_ |= word << shift;
      high_ = over;
      waiting_ += count;
      return;
    }
    high_ |= word << shift;
    waiting_ += count;
    if (waiting_ < 16) return;
    rounds_.block(low_, high_);
    low_ = over;
    high_ = 0;
    waiting_ -= 16;
  }
  constexpr void add(std::string_view bytes) {
    char const* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) add(load_le<std::uint64_t>(at), 8);
    add(load_few(at, left), left);
  }

  // With what is left of a block as `tail_word` reads it. First, for not every compiler evaluates a
  // call of it above.
  template <class TailWord>
  constexpr murmur3_128_result finished(TailWord tail_word) const {
    murmur3_128_rounds all = rounds_;
    all.tail(tail_word(low_), tail_word(high_));
    return all.finished(size_);
  }
  constexpr murmur3_128_result finished() const {
    return finished([](std::uint64_t word) { return word; });
  }

 private:
  murmur3_128_rounds rounds_{};
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  std::size_t waiting_ = 0;  // bytes in low_ and high_, fewer than 16
  std::size_t size_ = 0;
};

// The 32-bit hash of bytes that come in pieces.
class murmur3_32_stream {
 public:
  constexpr explicit murmur3_32_stream(std::uint32_t seed = 0) : h_{seed} {}

  // The lowest `count` bytes of `word`, at most 4; above them are zeros.
  constexpr void add(std::uint32_t word, std::size_t count) {
    waiting_bytes_ |= std::uint64_t{word} << 8 * waiting_;
    waiting_ += count;
    size_ += count;
    if (waiting_ < 4) return;
    h_ ^= mixed(static_cast<std::uint32_t>(waiting_bytes_));
    h_ = std::rotl(h_, 13) * 5 + 0xE654'6B64;
    waiting_bytes_ >>= 32;
    waiting_ -= 4;
  }
  constexpr void add(std::string_view bytes) {
    char const* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 4; left -= 4, at += 4) add(load_le<std::uint32_t>(at), 4);
    add(static_cast<std::uint32_t>(load_few(at, left)), left);
  }

  constexpr std::uint32_t finished() const {
    std::uint32_t h = h_ ^ mixed(static_cast<std::uint32_t>(waiting_bytes_));
    h ^= static_cast<std::uint32_t>(size_);
    h = (h ^ h >> 16) * 0x85EB'CA6B;
    h = (h ^ h >> 13) * 0xC2B2'AE35;
    return h ^ h >> 16;
  }

 private:
  static constexpr std::uint32_t mixed(std::uint32_t k) {
    return std::rotl(k * 0xCC9E'2D51, 15) * 0x1B87'3593;
  }

  std::uint32_t h_;
  std::uint64_t waiting_bytes_ = 0;
  std::size_t waiting_ = 0;  // fewer than 4
  std::size_t size_ = 0;
};

}  // namespace detail

/// The 32-bit form (x86_32).
[[nodiscard]] constexpr std::uint32_t murmur3_32(std::string_view bytes, std::uint32_t seed = 0) {
  detail::murmur3_32_stream all{seed};
  all.add(bytes);
  return all.finished();
}

/// The 128-bit form for 64-bit machines (x64_128). Both halves begin with the seed.
[[nodiscard]] constexpr murmur3_128_result murmur3_128(std::string_view bytes,
                                                       std::uint64_t seed = 0) {
  detail::murmur3_128_rounds all{seed};
  char const* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 16; left -= 16, at += 16)
    all.block(load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + 8));
  if (left > 8) {
    all.tail(load_le<std::uint64_t>(at), detail::load_last(at + 8, left - 8));
  } else if (left > 0) {
    all.tail(bytes.size() >= 8 ? detail::load_last(at, left) : detail::load_few(at, left));
  }
  return all.finished(bytes.size());
}

}  // namespace keyspan
