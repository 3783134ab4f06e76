// What does a key's token cost over hashing bytes that are encoded already? The first row of each
// table is the floor.
#include <bench/support/bench.hpp>
#include <bench/support/uuids.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iomanip>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#if KEYSPAN_BENCH_ABSL
#include <absl/hash/hash.h>
#endif
#if KEYSPAN_BENCH_XXHASH
#include <xxhash.h>
#endif

namespace {

using keyspan::cosmos_multihash;
using keyspan::cosmos_v2;
using keyspan::key_value;
using keyspan::token128;
using keyspan::token_of;

// The algorithm as it is published: blocks, then a switch over the bytes that are left.
token128 reference_murmur3(unsigned char const* data, std::size_t size) {
  constexpr std::uint64_t c1 = 0x87C37B91114253D5;
  constexpr std::uint64_t c2 = 0x4CF5AD432745937F;
  std::uint64_t h1 = 0;
  std::uint64_t h2 = 0;
  std::size_t const blocks = size / 16;
  for (std::size_t i = 0; i < blocks; ++i) {
    std::uint64_t k1;
    std::uint64_t k2;
    std::memcpy(&k1, data + 16 * i, 8);
    std::memcpy(&k2, data + 16 * i + 8, 8);
    h1 ^= std::rotl(k1 * c1, 31) * c2;
    h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52DCE729;
    h2 ^= std::rotl(k2 * c2, 33) * c1;
    h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495AB5;
  }
  unsigned char const* const tail = data + 16 * blocks;
  std::uint64_t k1 = 0;
  std::uint64_t k2 = 0;
  switch (size % 16) {
    case 15:
      k2 ^= std::uint64_t{tail[14]} << 48;
      [[fallthrough]];
    case 14:
      k2 ^= std::uint64_t{tail[13]} << 40;
      [[fallthrough]];
    case 13:
      k2 ^= std::uint64_t{tail[12]} << 32;
      [[fallthrough]];
    case 12:
      k2 ^= std::uint64_t{tail[11]} << 24;
      [[fallthrough]];
    case 11:
      k2 ^= std::uint64_t{tail[10]} << 16;
      [[fallthrough]];
    case 10:
      k2 ^= std::uint64_t{tail[9]} << 8;
      [[fallthrough]];
    case 9:
      k2 ^= std::uint64_t{tail[8]};
      h2 ^= std::rotl(k2 * c2, 33) * c1;
      [[fallthrough]];
    case 8:
      k1 ^= std::uint64_t{tail[7]} << 56;
      [[fallthrough]];
    case 7:
      k1 ^= std::uint64_t{tail[6]} << 48;
      [[fallthrough]];
    case 6:
      k1 ^= std::uint64_t{tail[5]} << 40;
      [[fallthrough]];
    case 5:
      k1 ^= std::uint64_t{tail[4]} << 32;
      [[fallthrough]];
    case 4:
      k1 ^= std::uint64_t{tail[3]} << 24;
      [[fallthrough]];
    case 3:
      k1 ^= std::uint64_t{tail[2]} << 16;
      [[fallthrough]];
    case 2:
      k1 ^= std::uint64_t{tail[1]} << 8;
      [[fallthrough]];
    case 1:
      k1 ^= std::uint64_t{tail[0]};
      h1 ^= std::rotl(k1 * c1, 31) * c2;
      [[fallthrough]];
    default:
      break;
  }
  h1 ^= size;
  h2 ^= size;
  h1 += h2;
  h2 += h1;
  auto const scatter = [](std::uint64_t h) {
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD;
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53;
    return h ^ h >> 33;
  };
  h1 = scatter(h1);
  h2 = scatter(h2);
  h1 += h2;
  h2 += h1;
  return {h2 & 0x3FFF'FFFF'FFFF'FFFF, h1};
}

using bytes = std::vector<unsigned char>;

void encode_into(bytes& to, std::string_view text) {
  to.push_back(8);
  to.insert(to.end(), text.begin(), text.end());
  to.push_back(0xFF);
}
void encode_into(bytes& to, double number) {
  auto const bits = std::bit_cast<std::uint64_t>(number);
  to.push_back(5);
  for (int shift = 0; shift < 64; shift += 8)
    to.push_back(static_cast<unsigned char>(bits >> shift));
}

template <class Value>
bytes encoded(Value const& value) {
  bytes made;
  made.reserve(64);
  encode_into(made, value);
  return made;
}

std::array<unsigned char, 16> bytes_of(token128 t) {
  std::array<unsigned char, 16> made{};
  for (std::size_t i = 0; i < 8; ++i) {
    made[i] = static_cast<unsigned char>(t.high >> (56 - 8 * i));
    made[8 + i] = static_cast<unsigned char>(t.low >> (56 - 8 * i));
  }
  return made;
}

std::string hex_by_loop(token128 t) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (auto const byte : bytes_of(t)) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}
std::string hex_by_stream(token128 t) {
  std::ostringstream out;
  out << std::hex << std::uppercase << std::setfill('0');
  for (auto const byte : bytes_of(t)) out << std::setw(2) << static_cast<unsigned>(byte);
  return out.str();
}
std::string hex_by_snprintf(token128 t) {
  char text[33];
  char* at = text;
  for (auto const byte : bytes_of(t)) {
    std::snprintf(at, 3, "%02X", static_cast<unsigned>(byte));
    at += 2;
  }
  return {text, 32};
}

// A vector of bytes, the hash, a text: what most programs do, and the clients at hand.
template <class Value>
std::string usual_way(Value const& value) {
  auto const data = encoded(value);
  return hex_by_loop(reference_murmur3(data.data(), data.size()));
}

// A result that is no number, so that rows need not agree on it.
template <class Number>
struct opaque {
  Number value;
};
template <class Number>
opaque(Number) -> opaque<Number>;

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  auto rng = bench::Rng{42};
  std::string const uuid = bench::some_uuid(rng);
  key_value const value{uuid};
  keyspan::partition_key_view const key{uuid};
  bytes const already = encoded(std::string_view{uuid});
  keyspan::any_scheme const chosen = *keyspan::any_scheme::of("Hash", 2);

  auto& text = run.table("a string key of 36 bytes", "key").count_allocations();
  text.floor("reference MurmurHash3, bytes encoded already",
             [&] { return reference_murmur3(already.data(), already.size()); });
  text.row("keyspan::token_of(cosmos_v2, key)", [&] { return token_of(cosmos_v2, key); });
  text.row("... the same by any_scheme", [&] { return token_of(chosen, key); });
  text.row("... from a std::string, UTF-8 checked",
           [&] { return token_of(cosmos_v2, keyspan::partition_key_view::from(uuid)); });
  text.row("... and 32 digits", [&] { return keyspan::to_hex(token_of(cosmos_v2, key)); });
  text.row("the usual way: vector, hash, loop", [&] { return usual_way(std::string_view{uuid}); });
  text.row("the usual way, snprintf", [&] {
    auto const data = encoded(std::string_view{uuid});
    return hex_by_snprintf(reference_murmur3(data.data(), data.size()));
  });
  text.row("the usual way, ostringstream", [&] {
    auto const data = encoded(std::string_view{uuid});
    return hex_by_stream(reference_murmur3(data.data(), data.size()));
  });
#if KEYSPAN_BENCH_XXHASH
  text.row("XXH3, 128 bits (another hash)", [&] {
    auto const hash = XXH3_128bits(uuid.data(), uuid.size());
    return token128{hash.high64, hash.low64};
  });
#else
  text.left_out("XXH3, 128 bits (another hash)", "xxhash is not installed");
#endif
  text.row("std::hash (64 bits)", [&] { return opaque{std::hash<std::string>{}(uuid)}; });
#if KEYSPAN_BENCH_ABSL
  text.row("absl::Hash (64 bits)", [&] { return opaque{absl::Hash<std::string>{}(uuid)}; });
#else
  text.left_out("absl::Hash (64 bits)", "absl is not installed");
#endif
  constexpr auto ours = "keyspan::token_of(cosmos_v2, key)";
  run.target("hash.token.usual_way", text.ratio("the usual way: vector, hash, loop", ours),
             ">=", 6);
  run.target("hash.token.snprintf", text.ratio("the usual way, snprintf", ours), ">=", 45);
  run.target("hash.token.ostringstream", text.ratio("the usual way, ostringstream", ours),
             ">=", 45);
  run.target("hash.token.reference",
             text.ratio(ours, "reference MurmurHash3, bytes encoded already"), "<=", 1.2);
  run.target("hash.token.digits.usual_way",
             text.ratio("the usual way: vector, hash, loop", "... and 32 digits"), ">=", 5);
  run.target("hash.token.digits.added_ns", text.ns("... and 32 digits") - text.ns(ours), "<=", 3);
  run.target("hash.token.allocations",
             text.allocations_of(ours) + text.allocations_of("... and 32 digits") +
                 text.allocations_of("... from a std::string, UTF-8 checked") +
                 text.allocations_of("... the same by any_scheme"),
             "==", 0);

  double const number = 1286.8;
  key_value const number_value{number};
  bytes const number_already = encoded(number);
  auto& numbers = run.table("a number key", "key").count_allocations();
  numbers.floor("reference MurmurHash3, bytes encoded already",
                [&] { return reference_murmur3(number_already.data(), number_already.size()); });
  numbers.row(ours, [&] { return token_of(cosmos_v2, number_value); });
  numbers.row("... from a double", [&] { return token_of(cosmos_v2, key_value::from(number)); });
  numbers.row("the usual way", [&] { return usual_way(number); });
  run.target("hash.token.number.usual_way", numbers.ratio("the usual way", ours), ">=", 10);
  run.target("hash.token.number.allocations", numbers.allocations_of(ours), "==", 0);

  std::string const tenant = bench::some_uuid(rng);
  std::string const session = bench::some_uuid(rng);
  keyspan::partition_key_view const three{tenant, uuid, session};
  bytes const levels[]{encoded(std::string_view{tenant}), already,
                       encoded(std::string_view{session})};
  auto& hierarchy = run.table("a hierarchical key of three strings", "key").count_allocations();
  hierarchy.floor("reference MurmurHash3, bytes encoded already", [&] {
    std::array<token128, 3> made;
    for (std::size_t i = 0; i < 3; ++i)
      made[i] = reference_murmur3(levels[i].data(), levels[i].size());
    return made;
  });
  hierarchy.row("keyspan::token_of(cosmos_multihash, key)",
                [&] { return token_of(cosmos_multihash, three); });
  hierarchy.row("... and 96 digits",
                [&] { return keyspan::to_hex(token_of(cosmos_multihash, three)); });
  hierarchy.row("the usual way", [&] {
    std::string made;
    for (std::string_view const level :
         {std::string_view{tenant}, std::string_view{uuid}, std::string_view{session}})
      made += usual_way(level);
    return made;
  });
  run.target("hash.token.hierarchical.usual_way",
             hierarchy.ratio("the usual way", "keyspan::token_of(cosmos_multihash, key)"), ">=", 9);
  run.target("hash.token.hierarchical.allocations",
             hierarchy.allocations_of("keyspan::token_of(cosmos_multihash, key)") +
                 hierarchy.allocations_of("... and 96 digits"),
             "==", 0);

  std::vector<std::string> ids;
  std::vector<bytes> ids_encoded;
  for (int i = 0; i < 1000; ++i) {
    ids.push_back(bench::some_uuid(rng));
    ids_encoded.push_back(encoded(std::string_view{ids.back()}));
  }
  std::vector<token128> places(ids.size());
  auto& many = run.table("1000 strings of 36 bytes, one after another", "key").batch(ids.size());
  many.floor("reference MurmurHash3, bytes encoded already", [&] {
    for (std::size_t i = 0; i < ids.size(); ++i)
      places[i] = reference_murmur3(ids_encoded[i].data(), ids_encoded[i].size());
  });
  many.row("strings to keys to tokens", [&] {
    for (std::size_t i = 0; i < ids.size(); ++i)
      places[i] = *token_of(cosmos_v2, key_value::from(ids[i]));
  });
  many.row("strings to keys", [&] {
    std::size_t good = 0;
    for (auto const& id : ids) good += key_value::from(id).has_value();
    return opaque{good};
  });
  many.row("the usual way", [&] {
    for (std::size_t i = 0; i < ids.size(); ++i) bench::keep(usual_way(std::string_view{ids[i]}));
  });
  run.target("hash.token.many.usual_way", many.ratio("the usual way", "strings to keys to tokens"),
             ">=", 5);

  auto& chart = run.chart("A token of a string", "bytes", "ns per key").log_y();
  for (std::size_t size = 4; size <= 256; size *= 2) {
    std::string const id(size, 'x');
    key_value const same{id};
    bytes const known = encoded(std::string_view{id});
    auto& table = run.table("a string key of " + std::to_string(size) + " bytes", "key");
    table.floor("reference, encoded already",
                [&] { return reference_murmur3(known.data(), known.size()); });
    table.row("keyspan::token_of", [&] { return token_of(cosmos_v2, same); });
    table.row("UTF-8 check alone", [&] { return opaque{keyspan::is_utf8(id)}; });
    table.row("the usual way", [&] { bench::keep(usual_way(std::string_view{id})); });
    for (auto const* name : {"keyspan::token_of", "reference, encoded already", "the usual way"})
      chart.line(name, static_cast<double>(size), table.ns(name));
  }
  return run.finish();
}
