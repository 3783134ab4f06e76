// What does a token of the other schemes cost over looking at the bytes of its key once? The first
// row of each table is the floor.
#include <bench/support/bench.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/kafka.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/key/partition_key.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
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

using keyspan::partition_key_view;
using keyspan::token_of;

// What rows that compute different things return, so that nobody compares them.
struct opaque {
  std::uint64_t value;
};

std::uint64_t look_at(std::string_view bytes) {
  auto const word = [&](std::size_t at) {
    std::uint64_t all;
    std::memcpy(&all, bytes.data() + at, 8);
    return all;
  };
  std::uint64_t all = 0;
  if (bytes.size() < 8) {
    for (char const c : bytes) all += static_cast<unsigned char>(c);
    return all;
  }
  for (std::size_t at = 0; at + 8 < bytes.size(); at += 8) all += word(at);
  return all + word(bytes.size() - 8);
}

// The remainder as it is mostly computed: one table, one byte after another.
constexpr auto crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc << 1 ^ ((crc & 0x8000) != 0 ? 0x1021u : 0u)) & 0xFFFF;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t slot_byte_by_byte(std::string const& key) {
  std::size_t begin = 0;
  std::size_t end = key.size();
  if (auto const open = key.find('{'); open != key.npos)
    if (auto const close = key.find('}', open + 1); close != key.npos && close > open + 1) {
      begin = open + 1;
      end = close;
    }
  unsigned crc = 0;
  for (std::size_t i = begin; i < end; ++i)
    crc = (crc << 8 ^ crc_table[(crc >> 8 ^ static_cast<unsigned char>(key[i])) & 0xFF]) & 0xFFFF;
  return static_cast<std::uint16_t>(crc & 16383);
}

// As Kafka's clients have it: words put together from single bytes, then a switch.
std::uint32_t kafka_from_bytes(std::vector<unsigned char> const& data) {
  constexpr std::uint32_t m = 0x5BD1E995;
  std::size_t const size = data.size();
  std::uint32_t h = 0x9747B28C ^ static_cast<std::uint32_t>(size);
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    std::uint32_t k = data[i] + (std::uint32_t{data[i + 1]} << 8) +
                      (std::uint32_t{data[i + 2]} << 16) + (std::uint32_t{data[i + 3]} << 24);
    k *= m;
    k ^= k >> 24;
    k *= m;
    h *= m;
    h ^= k;
  }
  std::size_t const tail = size & ~std::size_t{3};
  switch (size % 4) {
    case 3:
      h ^= std::uint32_t{data[tail + 2]} << 16;
      [[fallthrough]];
    case 2:
      h ^= std::uint32_t{data[tail + 1]} << 8;
      [[fallthrough]];
    case 1:
      h ^= data[tail];
      h *= m;
  }
  h ^= h >> 13;
  h *= m;
  h ^= h >> 15;
  return h & 0x7FFFFFFF;
}

// What drivers do: the values to buffers, these to one buffer, and that to the hash.
std::int64_t cassandra_from_buffers(std::array<std::string, 3> const& values) {
  std::vector<std::vector<char>> parts;
  std::size_t size = 0;
  for (auto const& value : values) {
    parts.emplace_back(value.begin(), value.end());
    size += value.size() + 3;
  }
  std::vector<char> bytes;
  bytes.reserve(size);
  for (auto const& part : parts) {
    bytes.push_back(static_cast<char>(part.size() >> 8));
    bytes.push_back(static_cast<char>(part.size() & 0xFF));
    bytes.insert(bytes.end(), part.begin(), part.end());
    bytes.push_back(0);
  }
  return keyspan::cassandra_token({bytes.data(), bytes.size()});
}

std::string some_text(std::size_t size, std::uint64_t seed) {
  auto rng = bench::Rng{seed};
  std::string text(size, '\0');
  for (auto& c : text) c = "0123456789abcdef"[rng() & 15];
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  std::string const text = some_text(36, 42);
  std::string const tagged = "{" + some_text(12, 43) + "}:" + some_text(21, 44);
  partition_key_view const key{text};
  partition_key_view const tagged_key{tagged};

  auto& redis = run.table("a slot of Redis Cluster, 36 bytes", "key").count_allocations();
  redis.floor("look at the bytes", [&] { return opaque{look_at(text)}; });
  redis.row("keyspan::redis_cluster",
            [&] { return std::uint64_t{*token_of(keyspan::redis_cluster, key)}; });
  redis.row("one table, byte by byte", [&] { return std::uint64_t{slot_byte_by_byte(text)}; });
  run.target("hash.redis.bytewise",
             redis.ratio("one table, byte by byte", "keyspan::redis_cluster"), ">=", 3);
  run.target("hash.redis.allocations", redis.allocations_of("keyspan::redis_cluster"), "==", 0);

  auto& tag = run.table("a slot of a key with a tag of 12 bytes", "key");
  tag.floor("look at the tag",
            [&] { return opaque{look_at(std::string_view{tagged}.substr(1, 12))}; });
  tag.row("keyspan::redis_cluster",
          [&] { return std::uint64_t{*token_of(keyspan::redis_cluster, tagged_key)}; });
  tag.row("one table, byte by byte", [&] { return std::uint64_t{slot_byte_by_byte(tagged)}; });
  run.target("hash.redis.tag", tag.ratio("one table, byte by byte", "keyspan::redis_cluster"),
             ">=", 1.2);

  std::vector<unsigned char> const bytes{text.begin(), text.end()};
  auto& kafka = run.table("a token of Kafka, 36 bytes", "key").count_allocations();
  kafka.floor("look at the bytes", [&] { return opaque{look_at(text)}; });
  kafka.row("keyspan::kafka", [&] { return *token_of(keyspan::kafka, key); });
  kafka.row("the hash alone", [&] { return keyspan::kafka_scheme::token_of_bytes(text); });
  kafka.row("word by word from bytes", [&] { return kafka_from_bytes(bytes); });
  run.target("hash.kafka.over_the_hash", kafka.ratio("keyspan::kafka", "the hash alone"),
             "<=", 1.3);
  run.target("hash.kafka.plain", kafka.ratio("word by word from bytes", "keyspan::kafka"),
             ">=", 0.9);
  run.target("hash.kafka.allocations", kafka.allocations_of("keyspan::kafka"), "==", 0);

  auto& cassandra = run.table("a token of Cassandra, 36 bytes", "key").count_allocations();
  cassandra.floor("look at the bytes", [&] { return opaque{look_at(text)}; });
  cassandra.row("keyspan::cassandra", [&] { return *token_of(keyspan::cassandra, key); });
  cassandra.row("keyspan::murmur3_128",
                [&] { return static_cast<std::int64_t>(keyspan::murmur3_128(text).h1); });
  run.target("hash.cassandra.over_murmur3",
             cassandra.ratio("keyspan::cassandra", "keyspan::murmur3_128"), "<=", 1.9);
  run.target("hash.cassandra.allocations", cassandra.allocations_of("keyspan::cassandra"), "==", 0);

  std::array<std::string, 3> const values{some_text(12, 45), some_text(8, 46), text};
  partition_key_view const composite{values[0], values[1], values[2]};
  auto& columns = run.table("a token of three columns, 56 bytes", "key").count_allocations();
  columns.floor("look at the bytes", [&] {
    return opaque{look_at(values[0]) + look_at(values[1]) + look_at(values[2])};
  });
  columns.row("keyspan::cassandra", [&] { return *token_of(keyspan::cassandra, composite); });
  columns.row("buffers into a buffer", [&] { return cassandra_from_buffers(values); });
  run.target("hash.cassandra.columns", columns.ratio("buffers into a buffer", "keyspan::cassandra"),
             ">=", 2);
  run.target("hash.cassandra.columns.allocations", columns.allocations_of("keyspan::cassandra"),
             "==", 0);

  auto& identity = run.table("a token in the order of keys, 36 bytes", "key").count_allocations();
  identity.floor("copy into a cleared token", [&] {
    std::array<unsigned char, 136> token{};
    std::memcpy(token.data(), text.data(), text.size());
    return token;
  });
  identity.row("keyspan::identity", [&] { return token_of(keyspan::identity, key)->bytes()[20]; });
  identity.row("byte by byte into a string", [&] {
    std::string made{'\6'};
    for (char const c : text) {
      auto byte = static_cast<unsigned char>(c);
      if (byte >= 0xEE) byte = static_cast<unsigned char>(byte < 0xF0 ? byte + 5 : byte - 2);
      made.push_back(static_cast<char>(byte + 1));
    }
    made.push_back('\0');
    return static_cast<unsigned char>(made[20]);
  });
  run.target("hash.identity.string",
             identity.ratio("byte by byte into a string", "keyspan::identity"), ">=", 2);
  run.target("hash.identity.allocations", identity.allocations_of("keyspan::identity"), "==", 0);

  auto& fast = run.table("a fast token, 36 bytes", "key").count_allocations();
  fast.floor("look at the bytes", [&] { return opaque{look_at(text)}; });
  fast.row("keyspan::fast64", [&] { return opaque{token_of(keyspan::fast64, key)}; });
  fast.row("std::hash", [&] { return opaque{std::hash<std::string_view>{}(text)}; });
#if KEYSPAN_BENCH_XXHASH
  fast.row("XXH3_64bits", [&] { return opaque{XXH3_64bits(text.data(), text.size())}; });
#else
  fast.left_out("XXH3_64bits", "no xxhash");
#endif
#if KEYSPAN_BENCH_ABSL
  fast.row("absl::Hash", [&] { return opaque{absl::Hash<std::string_view>{}(text)}; });
#else
  fast.left_out("absl::Hash", "no Abseil");
#endif
  run.target("hash.fast64.std_hash", fast.ratio("std::hash", "keyspan::fast64"), ">=", 1.2);
  run.target("hash.fast64.xxh3", fast.ratio("XXH3_64bits", "keyspan::fast64"), ">=", 0.8);
  run.target("hash.fast64.absl", fast.ratio("absl::Hash", "keyspan::fast64"), ">=", 0.8);
  run.target("hash.fast64.allocations", fast.allocations_of("keyspan::fast64"), "==", 0);

  auto& chart = run.chart("A fast token of a string", "bytes", "ns per key").log_y();
  for (std::size_t size = 4; size <= 1024; size *= 2) {
    std::string const of_size = some_text(size, size);
    partition_key_view const sized{of_size};
    auto& table = run.table(std::to_string(size) + " bytes to a token", "key");
    table.floor("look at the bytes", [&] { return opaque{look_at(of_size)}; });
    table.row("keyspan::fast64", [&] { return opaque{token_of(keyspan::fast64, sized)}; });
    table.row("std::hash", [&] { return opaque{std::hash<std::string_view>{}(of_size)}; });
#if KEYSPAN_BENCH_XXHASH
    table.row("XXH3_64bits", [&] { return opaque{XXH3_64bits(of_size.data(), of_size.size())}; });
    chart.line("XXH3_64bits", static_cast<double>(size), table.ns("XXH3_64bits"));
#endif
    for (auto const* name : {"keyspan::fast64", "std::hash", "look at the bytes"})
      chart.line(name, static_cast<double>(size), table.ns(name));
  }
  return run.finish();
}
