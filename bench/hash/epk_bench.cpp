// What does the example epk cost over reading its lines and parsing the JSON in them? The first row
// is the floor.
#include <bench/support/bench.hpp>
#include <docs/example/epk.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#if KEYSPAN_BENCH_NLOHMANN_JSON
#include <nlohmann/json.hpp>
#endif

namespace {

constexpr std::size_t line_count = 20'000;

// Keys as containers have them: ids and names, two or three levels, numbers, and what is rare.
std::string many_keys() {
  auto rng = bench::Rng{3};
  auto const id = [&] {
    std::string digits = "00000000-0000-4000-8000-000000000000";
    for (char& c : digits)
      if (c == '0') c = "0123456789abcdef"[rng.bounded(16)];
    return '"' + digits + '"';
  };
  auto const name = [&] {
    constexpr std::string_view names[]{
        "redmond", "USA",     "tenant-0042",       "sensor/17/temperature", "M\xC3\xBCnchen",
        "Contoso", "2024-05", "say \\\"hello\\\"", "S\\u00e3o Paulo",       "alice@example.com"};
    return '"' + std::string{names[rng.bounded(10)]} + '"';
  };
  auto const number = [&] {
    return rng.bounded(2) == 0 ? std::to_string(rng.bounded(1'000'000))
                               : std::to_string(rng.bounded(1'000'000)) + ".25";
  };
  auto const rare = [&] {
    constexpr std::string_view values[]{"null", "true", "false", "{}"};
    return std::string{values[rng.bounded(4)]};
  };
  std::string text;
  for (std::size_t i = 0; i < line_count; ++i) {
    switch (rng.bounded(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        text += '[' + id() + "]\n";
        break;
      case 4:
      case 5:
        text += '[' + name() + "]\n";
        break;
      case 6:
        text += '[' + number() + "]\n";
        break;
      case 7:
        text += '[' + name() + ',' + id() + "]\n";
        break;
      case 8:
        text += '[' + name() + ',' + number() + ',' + id() + "]\n";
        break;
      default:
        text += '[' + name() + ',' + rare() + "]\n";
        break;
    }
  }
  return text;
}

// Calls `parse` with every line and returns how many there were.
template <class Parse>
std::size_t for_each_line(std::string_view text, Parse parse) {
  std::size_t lines = 0;
  for (; !text.empty(); ++lines) {
    auto const end = text.find('\n');
    parse(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// As the program does it, but for the system calls.
template <keyspan::hash_scheme Scheme>
auto answers_of(Scheme const& scheme, std::string const& text) {
  return [&text, answering = epk::answering{scheme, keyspan::max_key_values},
          answers = std::string{}]() mutable {
    answers.clear();
    answering.answer(text, answers, [](epk::refusal const&) { std::abort(); });
    bench::keep(answers);
    return line_count;
  };
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  std::string const text = many_keys();

  auto& table = run.table("a line with a key to its token", "line").batch(line_count);
  table.floor("parse with keyspan::json_reader, no more", [&] {
    return for_each_line(text, [](std::string_view line) {
      keyspan::json_reader in{line};
      bench::keep(in.skip());
      in.finish();
      if (!in.ok()) std::abort();
    });
  });
#if KEYSPAN_BENCH_NLOHMANN_JSON
  table.row("parse with nlohmann::json, no more", [&] {
    return for_each_line(text,
                         [](std::string_view line) { bench::keep(nlohmann::json::parse(line)); });
  });
#else
  table.left_out("parse with nlohmann::json, no more", "nlohmann/json is not installed");
#endif
  table.row("epk v1", answers_of(keyspan::cosmos_v1, text));
  table.row("epk v2", answers_of(keyspan::cosmos_v2, text));
  table.row("epk multihash", answers_of(keyspan::cosmos_multihash, text));

  std::string const floor = "parse with keyspan::json_reader, no more";
  run.target("hash.epk.v1.over_parsing", table.ratio("epk v1", floor), "<=", 3);
  run.target("hash.epk.v2.over_parsing", table.ratio("epk v2", floor), "<=", 3);
  run.target("hash.epk.multihash.over_parsing", table.ratio("epk multihash", floor), "<=", 3);
  return run.finish();
}
