// What does writing and reading hexadecimal cost over copying the bytes? The first row is the
// floor.
#include <bench/support/bench.hpp>
#include <keyspan/core/bytes.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <string>

namespace {

using bytes = std::array<unsigned char, 16>;

bytes some_bytes() {
  auto rng = bench::Rng{42};
  bytes made{};
  for (auto& byte : made) byte = static_cast<unsigned char>(rng());
  return made;
}

std::string_view by_snprintf(bytes const& from, std::span<char, 33> to) {
  char* out = to.data();
  for (auto const byte : from) {
    std::snprintf(out, 3, "%02X", static_cast<unsigned>(byte));
    out += 2;
  }
  return {to.data(), 32};
}

std::string by_stream(bytes const& from) {
  std::ostringstream out;
  out << std::hex << std::uppercase << std::setfill('0');
  for (auto const byte : from) out << std::setw(2) << static_cast<unsigned>(byte);
  return out.str();
}

// A byte and two look-ups at a time, into a string: what most programs have somewhere.
std::string by_string(bytes const& from) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (auto const byte : from) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string_view by_table(bytes const& from, std::span<char, 32> to) {
  static constexpr char digits[] = "0123456789ABCDEF";
  char* out = to.data();
  for (auto const byte : from) {
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
  }
  return {to.data(), 32};
}

std::size_t back_by_stoul(std::string const& digits, bytes& to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<unsigned char>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
  return to.size();
}

std::size_t back_by_sscanf(char const* digits, bytes& to) {
  for (auto& byte : to) {
    unsigned value = 0;
    std::sscanf(digits, "%2x", &value);
    byte = static_cast<unsigned char>(value);
    digits += 2;
  }
  return to.size();
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  bytes const id = some_bytes();
  std::string const digits = by_string(id);

  auto& write = run.table("16 bytes to 32 digits", "call").count_allocations();
  std::array<char, 33> to{};
  write.floor("copy 32 bytes", [&] { std::memcpy(to.data(), digits.data(), 32); });
  write.row("keyspan::encode_hex", [&] { return keyspan::encode_hex(std::span{id}, to); });
  write.row("loop, two look-ups", [&] { return by_table(id, std::span{to}.first<32>()); });
  write.row("loop into a std::string", [&] { return by_string(id); });
  write.row("snprintf %02X", [&] { return by_snprintf(id, to); });
  write.row("ostringstream", [&] { return by_stream(id); });
  run.target("core.hex.encode.added_ns",
             write.ns("keyspan::encode_hex") - write.ns("copy 32 bytes"), "<=", 3);
  run.target("core.hex.encode.look_ups", write.ratio("loop, two look-ups", "keyspan::encode_hex"),
             ">=", 4);
  run.target("core.hex.encode.string",
             write.ratio("loop into a std::string", "keyspan::encode_hex"), ">=", 20);
  run.target("core.hex.encode.snprintf", write.ratio("snprintf %02X", "keyspan::encode_hex"),
             ">=", 200);
  run.target("core.hex.encode.allocations", write.allocations_of("keyspan::encode_hex"), "==", 0);

  auto& read = run.table("32 digits to 16 bytes", "call").count_allocations();
  bytes back{};
  read.floor("copy 16 bytes", [&] { std::memcpy(back.data(), id.data(), 16); });
  read.row("keyspan::decode_hex", [&] { return *keyspan::decode_hex(digits, std::span{back}); });
  read.row("std::stoul of each pair", [&] { return back_by_stoul(digits, back); });
  read.row("sscanf %2x", [&] { return back_by_sscanf(digits.c_str(), back); });
  run.target("core.hex.decode.stoul", read.ratio("std::stoul of each pair", "keyspan::decode_hex"),
             ">=", 15);
  run.target("core.hex.decode.sscanf", read.ratio("sscanf %2x", "keyspan::decode_hex"), ">=", 60);
  run.target("core.hex.decode.allocations", read.allocations_of("keyspan::decode_hex"), "==", 0);

  auto& chart = run.chart("Hexadecimal from bytes", "bytes", "ns per byte").log_y();
  auto rng = bench::Rng{43};
  for (std::size_t size = 4; size <= 4096; size *= 4) {
    std::string from(size, '\0');
    for (auto& byte : from) byte = static_cast<char>(rng());
    std::string out(2 * size, '\0');
    std::string const done = out;
    auto& table = run.table(std::to_string(size) + " bytes to digits", "byte").batch(size);
    table.floor("copy the digits", [&] { std::memcpy(out.data(), done.data(), out.size()); });
    table.row("keyspan::encode_hex", [&] { keyspan::encode_hex(std::span{from}, out); });
    for (auto const* name : {"keyspan::encode_hex", "copy the digits"})
      chart.line(name, static_cast<double>(size), table.ns(name));
  }
  return run.finish();
}
