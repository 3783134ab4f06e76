// test/example/epk_test.cpp — the program of docs/example/epk.cpp, from outside: what it answers,
// when, and how it ends.
#include "program.hpp"

#include <keyspan/core/version.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::string_literals;
using test::outcome;
using test::program;

outcome epk(std::string const& scheme, std::string_view input) {
  program running{{EPK_PROGRAM, scheme}};
  running.write(input);
  return running.finish();
}

// What it says, of lines whose tokens are known: [1], [2] and [3] in version 2.
std::string const one = "20CD98B339BA78A5D0CF6953B87070B0\n";
std::string const two = "11BEC098BB8A08943F0A144281ACC26C\n";
std::string const three = "192FBBAA0435B36FED85610B205D4DC0\n";

using texts = std::vector<std::string>;

texts lines_of(std::string const& text) {
  texts lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(texts const& lines) {
  std::string text;
  for (auto const& line : lines) text += line + '\n';
  return text;
}

// The columns of test/golden/epk_lines.tsv.
struct table {
  texts keys;
  texts v1;
  texts v2;
  texts multihash;
};

table const& golden() {
  static table const read = [] {
    table made;
    std::ifstream file{EPK_GOLDEN, std::ios::binary};
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream fields{line};
      for (texts* column : {&made.keys, &made.v1, &made.v2, &made.multihash})
        std::getline(fields, column->emplace_back(), '\t');
    }
    return made;
  }();
  return read;
}

// Sanitizers reserve more address space than any limit leaves them.
#if KEYSPAN_ADDRESS_SANITIZER || KEYSPAN_THREAD_SANITIZER
constexpr std::size_t little_memory = 0;
#else
constexpr std::size_t little_memory = std::size_t{48} << 20;
#endif

}  // namespace

TEST_CASE("a line with a key is answered by the token that official clients compute") {
  REQUIRE(golden().keys.size() == 244);
  auto const keys = joined(golden().keys);
  for (auto const& [scheme, tokens] :
       {std::pair{"v1", &golden().v1}, {"v2", &golden().v2}, {"multihash", &golden().multihash}}) {
    auto const ended = epk(scheme, keys);
    auto const answers = lines_of(ended.out);
    REQUIRE(answers.size() == tokens->size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      CAPTURE(scheme, golden().keys[i]);
      CHECK(answers[i] == (*tokens)[i]);
    }
    CHECK(ended.err == "");
    CHECK(ended.status == 0);
  }
}

TEST_CASE("a key may have more values than three where one hash takes them all") {
  auto const key = R"([5,"redmond",true,null])"
                   "\n"
                   R"([2,true,false,null,{},"\u041f\u0440\u0438\u0432\u0435\u0442!"])"
                   "\n"s;
  CHECK(epk("v1", key).out ==
        "05C1ED7F9B95BA05C014087366656E706F65000301\n"
        "05C1D19581B37C05C0000302010008D1A0D281D1B9D1B3D1B6D2832200\n");
  CHECK(epk("v2", "[1,2,3,4]\n").out == "1D75BA575021D5E3523429148D63C937\n");
}

TEST_CASE("the empty key is the minimum, whose text is empty") {
  for (auto const* scheme : {"v1", "v2", "multihash"}) {
    auto const ended = epk(scheme, "[]\n [ ] \n");
    CHECK(ended.out == "\n\n");
    CHECK(ended.status == 0);
  }
}

TEST_CASE("no line at all is no answer and no error") {
  auto const ended = epk("v2", "");
  CHECK(ended.out == "");
  CHECK(ended.err == "");
  CHECK(ended.status == 0);
}

TEST_CASE("lines end as Unix and as Windows end them, the last one in either way or in none") {
  for (auto const* lines : {"[1]\n[2]\n", "[1]\r\n[2]\r\n", "[1]\r\n[2]", "[1]\n[2]\r"}) {
    auto const ended = epk("v2", lines);
    CHECK(ended.out == one + two);
    CHECK(ended.status == 0);
  }
}

TEST_CASE(
    "a line that is no key is answered by a word, named with its place, and the rest goes on") {
  auto const ended =
      epk("v2", "[1]\n[1,x]\n[2]\n\"\xC3\xA9\"\n[\"\xC3\xA9\",{\"a\":1}]\n[[]]\n[3]\n");
  CHECK(ended.out == one + "error\n" + two + "error\nerror\nerror\n" + three);
  CHECK(ended.err ==
        "epk: line 2, column 4: malformed: expected a value, found 'x'\n"
        "epk: line 4, column 1: malformed: expected an array, found a string\n" +
            ended.err.substr(ended.err.find("epk: line 5,")));
  CHECK(ended.err.find("epk: line 5, column 6: not_a_key: ") != std::string::npos);
  CHECK(ended.err.find("epk: line 6, column 2: not_a_key: ") != std::string::npos);
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 4);
  CHECK(ended.status == 2);
}

TEST_CASE("a line without anything is no key") {
  auto const ended = epk("v2", "\n\r\n \n[1]\n\n");
  CHECK(ended.out == "error\nerror\nerror\n" + one + "error\n");
  CHECK(ended.err ==
        "epk: line 1, column 1: malformed: expected an array, found the end of the text\n"
        "epk: line 2, column 1: malformed: expected an array, found the end of the text\n"
        "epk: line 3, column 2: malformed: expected an array, found the end of the text\n"
        "epk: line 5, column 1: malformed: expected an array, found the end of the text\n");
  CHECK(ended.status == 2);
}

TEST_CASE("a byte that belongs in no line is refused where it stands") {
  auto const ended = epk("v2", "[1,\0]\n[\"a\0b\"]\n[\"\xFF\"]\n[1]\r[2]\n[1]\n"s);
  CHECK(ended.out == "error\nerror\nerror\nerror\n" + one);
  for (auto const* place : {"line 1, column 4: malformed", "line 2, column 4: malformed",
                            "line 3, column 3: invalid_utf8", "line 4, column 5: malformed"})
    CHECK(ended.err.find("epk: "s + place) != std::string::npos);
  CHECK(ended.status == 2);
}

TEST_CASE("a number that no double can be is refused, one that has too many digits is rounded") {
  auto const ended = epk("v2", "[1e999]\n[1.00000000000000000000000000000000000001]\n");
  CHECK(ended.out == "error\n" + one);
  CHECK(ended.err.starts_with("epk: line 1, column 2: not_representable: "));
  CHECK(ended.status == 2);
}

TEST_CASE("a hierarchical key of four values is refused") {
  auto const ended = epk("multihash", "[1,2,3,4]\n[1]\n");
  CHECK(ended.out == "error\n" + one);
  CHECK(ended.err == "epk: line 1, column 8: too_large: such a key has at most 3 values\n");
  CHECK(ended.status == 2);
}

TEST_CASE("a line of a hundred thousand values is a key in version 2, and too long in version 1") {
  std::string line = "[";
  for (int i = 0; i < 100'000; ++i) {
    std::string const values[]{std::to_string(i), "\"v" + std::to_string(i) + "\"", "null"};
    line += values[i % 3] + (i + 1 < 100'000 ? "," : "]\n");
  }
  CHECK(epk("v2", line).out == "220BD8F8AF2E4631AD3ECE144A787230\n");
  auto const refused = epk("v1", line + "[]\n");
  CHECK(refused.out == "error\n\n");
  CHECK(refused.err.starts_with("epk: line 1, column " + std::to_string(line.size() - 1) +
                                ": too_large: "));
  CHECK(refused.err.find("336") != std::string::npos);
  CHECK(refused.status == 2);
}

TEST_CASE("a string of a million characters is a key") {
  auto const long_key = "[\"" + std::string(1'000'000, 'x') + "\"]";
  auto const ended = epk("v2", long_key + '\n' + long_key);
  CHECK(ended.out == "2454BC0D95B4CE713BE4EE42E8D28E25\n2454BC0D95B4CE713BE4EE42E8D28E25\n");
  CHECK(ended.status == 0);
}

TEST_CASE("who waits for an answer before the next line gets it") {
  program running{{EPK_PROGRAM, "v2"}};
  running.write("[1]\n");
  CHECK(running.lines(1) == one);
  running.write("nothing\n");
  CHECK(running.lines(2) == one + "error\n");
  running.write("[2]\n[");  // the next line has begun, and is finished when this one is answered
  CHECK(running.lines(3) == one + "error\n" + two);
  running.write("3");
  running.write("]\n");
  CHECK(running.lines(4) == one + "error\n" + two + three);
  auto const ended = running.finish();
  CHECK(ended.out == one + "error\n" + two + three);
  CHECK(ended.err.starts_with("epk: line 2, column 1: "));
  CHECK(ended.status == 2);
}

TEST_CASE("no more is kept than a line") {
  auto const line = "[" + std::string(64 << 10, ' ') + "1]\n";
  program running{{EPK_PROGRAM, "v2"}, {.address_space = little_memory}};
  std::string answers;
  for (int i = 0; i < 1024; ++i) {
    running.write(line);
    answers += one;
  }
  auto const ended = running.finish();
  CHECK((ended.out == answers));  // too long to be shown
  CHECK(ended.status == 0);
}

TEST_CASE("who does not name one scheme is told how") {
  for (texts const& words : {texts{}, {"v3"}, {""}, {"v1", "v2"}, {"--help"}}) {
    auto line = texts{EPK_PROGRAM};
    line.insert(line.end(), words.begin(), words.end());
    auto const ended = program{line}.finish();
    CHECK(ended.out == "");
    CHECK(ended.err.starts_with("usage: epk v1|v2|multihash\n"));
    CHECK(ended.status == 2);
  }
}

TEST_CASE("what cannot be read or written is told from what is no key") {
  auto const unread = program{{EPK_PROGRAM, "v2"}, {.input = "/"}}.finish();
  CHECK(unread.err == "epk: cannot read standard input\n");
  CHECK(unread.status == 1);
  if (!std::filesystem::exists("/dev/full")) return;
  program unwritten{{EPK_PROGRAM, "v2"}, {.output = "/dev/full"}};
  unwritten.write("[1]\nno key\n");
  auto const ended = unwritten.finish();
  CHECK(ended.err.ends_with("epk: cannot write to standard output\n"));
  CHECK(ended.status == 1);
}
