// What does reading and writing JSON cost over looking at each byte once? The first row is the
// floor.
#include <bench/support/bench.hpp>
#include <keyspan/core/json.hpp>

#include <cstring>
#include <numeric>
#include <sstream>
#include <string>

#if KEYSPAN_BENCH_NLOHMANN_JSON
#include <nlohmann/json.hpp>
#endif

namespace {

std::string key_text() { return R"(["tenant-0042","user \"0815\"",1234.5])"; }

// A list of positions, as a cursor over many ranges writes it.
std::string cursor_text(int ranges) {
  std::string text;
  keyspan::json_writer out{text};
  out.begin_object().name("version").integer(1).name("container").string("Vh5bAL5+Xk0=");
  out.name("ranges").begin_array();
  auto rng = bench::Rng{9};
  for (int i = 0; i < ranges; ++i) {
    char digits[32];
    std::array<unsigned char, 16> token{};
    for (auto& byte : token) byte = static_cast<unsigned char>(rng());
    out.begin_object();
    out.name("lower").string(keyspan::encode_hex(std::span{token}, digits));
    out.name("upper").string(keyspan::encode_hex(std::span{token}, digits));
    out.name("continuation").string('"' + std::to_string(rng.bounded(1'000'000)) + '"');
    out.name("read").integer(rng.bounded(1'000'000)).name("done").boolean(i % 2 == 0);
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

unsigned bytes_of(std::string_view text) {
  return std::accumulate(text.begin(), text.end(), 0U,
                         [](unsigned s, char c) { return s + static_cast<unsigned char>(c); });
}

// Every reader returns this: the sizes of the strings and the numbers, added up.
double read_key(std::string_view text) {
  keyspan::json_reader in{text};
  double sum = 0;
  in.begin_array();
  while (in.next_element()) {
    if (in.peek() == keyspan::json_kind::string) {
      sum += static_cast<double>(in.string().size());
    } else {
      sum += in.number();
    }
  }
  return in.finish(sum).value_or(-1);
}

double read_cursor(std::string_view text) {
  keyspan::json_reader in{text};
  std::string_view name;
  double sum = 0;
  in.begin_object();
  while (in.next_member(name)) {
    if (name != "ranges") {
      in.skip();
      continue;
    }
    in.begin_array();
    while (in.next_element()) {
      in.begin_object();
      while (in.next_member(name)) {
        if (name == "read") {
          sum += in.number();
        } else if (name == "done") {
          static_cast<void>(in.boolean());
        } else {
          sum += static_cast<double>(in.string().size());
        }
      }
    }
  }
  return in.finish(sum).value_or(-1);
}

#if KEYSPAN_BENCH_NLOHMANN_JSON

double read_key_with_nlohmann(std::string_view text) {
  auto const key = nlohmann::json::parse(text);
  double sum = 0;
  for (auto const& value : key) {
    if (value.is_string()) {
      sum += static_cast<double>(value.get_ref<std::string const&>().size());
    } else {
      sum += value.get<double>();
    }
  }
  return sum;
}

double read_cursor_with_nlohmann(std::string_view text) {
  auto const cursor = nlohmann::json::parse(text);
  double sum = 0;
  for (auto const& range : cursor["ranges"]) {
    sum += range["read"].get<double>();
    for (auto const* name : {"lower", "upper", "continuation"})
      sum += static_cast<double>(range[name].get_ref<std::string const&>().size());
  }
  return sum;
}

#endif

[[maybe_unused]] constexpr char const* no_nlohmann = "nlohmann/json is not installed";

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};

  std::string const key = key_text();
  auto& read = run.table("reading a partition key of three values", "key").count_allocations();
  read.floor("add up the bytes", [&] { return bytes_of(key); });
  read.row("keyspan::json_reader", [&] { return read_key(key); });
#if KEYSPAN_BENCH_NLOHMANN_JSON
  read.row("nlohmann::json::parse", [&] { return read_key_with_nlohmann(key); });
#else
  read.left_out("nlohmann::json::parse", no_nlohmann);
#endif
  run.target("core.json.read_key.nlohmann",
             read.ratio("nlohmann::json::parse", "keyspan::json_reader"), ">=", 3);

  auto& write = run.table("writing a partition key of three values", "key").count_allocations();
  char room[128];
  write.floor("copy the text", [&] { std::memcpy(room, key.data(), key.size()); });
  write.row("keyspan::json_writer", [&] {
    keyspan::json_writer out{std::span<char>{room}};
    out.begin_array().string("tenant-0042").string("user \"0815\"").number(1234.5).end_array();
    return *out.finish();
  });
#if KEYSPAN_BENCH_NLOHMANN_JSON
  nlohmann::json const value{"tenant-0042", "user \"0815\"", 1234.5};
  write.row("nlohmann::json::dump", [&] { return value.dump(); });
#else
  write.left_out("nlohmann::json::dump", no_nlohmann);
#endif
  write.row("std::ostringstream, unescaped", [&] {
    std::ostringstream out;
    out << "[\"" << "tenant-0042" << "\",\"" << "user \\\"0815\\\"" << "\"," << 1234.5 << ']';
    return out.str();
  });
  run.target("core.json.write_key.nlohmann",
             write.ratio("nlohmann::json::dump", "keyspan::json_writer"), ">=", 1.1);
  run.target("core.json.write_key.allocations", write.allocations_of("keyspan::json_writer"),
             "==", 0);

  auto& chart = run.chart("Reading a cursor", "ranges in the cursor", "ns per byte").log_y();
  for (int const ranges : {1, 10, 100, 1000}) {
    std::string const text = cursor_text(ranges);
    auto& table = run.table("reading a cursor over " + std::to_string(ranges) + " ranges", "byte")
                      .batch(text.size())
                      .count_allocations();
    table.floor("add up the bytes", [&, text] { return bytes_of(text); });
    table.row("keyspan::json_reader", [text] { return read_cursor(text); });
#if KEYSPAN_BENCH_NLOHMANN_JSON
    table.row("nlohmann::json::parse", [text] { return read_cursor_with_nlohmann(text); });
#else
    table.left_out("nlohmann::json::parse", no_nlohmann);
#endif
    for (auto const* name : {"add up the bytes", "keyspan::json_reader", "nlohmann::json::parse"})
      if (double const ns = table.ns(name); ns > 0) chart.line(name, ranges, ns);
    if (ranges == 100)
      run.target("core.json.read_cursor.nlohmann",
                 table.ratio("nlohmann::json::parse", "keyspan::json_reader"), ">=", 5);
  }
  return run.finish();
}
