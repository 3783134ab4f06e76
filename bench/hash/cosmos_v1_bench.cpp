// What does a key's token of version 1 cost over hashing bytes that are encoded already? The first
// row is the floor.
#include <bench/support/bench.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/key/partition_key.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::cosmos_v1;
using keyspan::token_of;

using bytes = std::vector<unsigned char>;

// The algorithm as it is published.
std::uint32_t reference_murmur3(unsigned char const* data, std::size_t size) {
  constexpr std::uint32_t c1 = 0xCC9E2D51;
  constexpr std::uint32_t c2 = 0x1B873593;
  std::uint32_t h = 0;
  std::size_t const blocks = size / 4;
  for (std::size_t i = 0; i < blocks; ++i) {
    std::uint32_t k;
    std::memcpy(&k, data + 4 * i, 4);
    h ^= std::rotl(k * c1, 15) * c2;
    h = std::rotl(h, 13) * 5 + 0xE6546B64;
  }
  unsigned char const* const tail = data + 4 * blocks;
  std::uint32_t k = 0;
  switch (size % 4) {
    case 3:
      k ^= std::uint32_t{tail[2]} << 16;
      [[fallthrough]];
    case 2:
      k ^= std::uint32_t{tail[1]} << 8;
      [[fallthrough]];
    case 1:
      k ^= tail[0];
      h ^= std::rotl(k * c1, 15) * c2;
      [[fallthrough]];
    default:
      break;
  }
  h ^= static_cast<std::uint32_t>(size);
  h = (h ^ h >> 16) * 0x85EBCA6B;
  h = (h ^ h >> 13) * 0xC2B2AE35;
  return h ^ h >> 16;
}

bytes encoded(std::string_view text) {
  bytes made;
  made.reserve(text.size() + 2);
  made.push_back(8);
  made.insert(made.end(), text.begin(), text.end());
  made.push_back(0);
  return made;
}

void append_ordered(bytes& to, double number) {
  auto const bits = std::bit_cast<std::uint64_t>(number);
  std::uint64_t const top = std::uint64_t{1} << 63;
  std::uint64_t left = bits < top ? bits ^ top : ~bits + 1;
  to.push_back(5);
  to.push_back(static_cast<unsigned char>(left >> 56));
  left <<= 8;
  do {
    auto const seven = left >> 56 & 0xFE;
    left <<= 7;
    to.push_back(static_cast<unsigned char>(seven | (left != 0)));
  } while (left != 0);
}

// A vector of bytes to hash, another for the token, a text: what most programs do.
std::string usual_way(std::string_view text) {
  auto const data = encoded(text);
  bytes made;
  append_ordered(made, reference_murmur3(data.data(), data.size()));
  made.push_back(8);
  for (char const c : text) made.push_back(static_cast<unsigned char>(c + 1));
  made.push_back(0);
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (auto const byte : made) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  std::string const uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
  keyspan::partition_key_view const key{uuid};
  auto const already = encoded(uuid);
  constexpr auto ours = "keyspan::token_of(cosmos_v1, key)";

  auto& table = run.table("a string key of 36 bytes", "key").count_allocations();
  struct hash {
    std::uint32_t value;
  };
  table.floor("reference MurmurHash3, bytes encoded already",
              [&] { return hash{reference_murmur3(already.data(), already.size())}; });
  table.row(ours, [&] { return token_of(cosmos_v1, key); });
  table.row("... and 90 digits", [&] { return *keyspan::to_hex(token_of(cosmos_v1, key)); });
  table.row("the usual way: vectors, hash, loop", [&] { return usual_way(uuid); });
  run.target("hash.v1.usual_way", table.ratio("the usual way: vectors, hash, loop", ours), ">=", 4);
  run.target("hash.v1.digits.usual_way",
             table.ratio("the usual way: vectors, hash, loop", "... and 90 digits"), ">=", 2);
  run.target("hash.v1.allocations",
             table.allocations_of(ours) + table.allocations_of("... and 90 digits"), "==", 0);
  return run.finish();
}
