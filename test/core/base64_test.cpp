// test/core/base64_test.cpp — bytes as base64 and back, in both alphabets.
#include <keyspan/core/base64.hpp>
#include <keyspan/core/print.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::base64_form;
using keyspan::base64_size;
using keyspan::decode_base64;
using keyspan::encode_base64;
using keyspan::errc;
using test::check;

// The vectors of RFC 4648, section 10.
constexpr std::pair<std::string_view, std::string_view> published[]{{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}};

constexpr bool bytes_become_base64_and_come_back() {
  // [region: example]
  char text[12];
  check(keyspan::encode_base64(std::span{"keyspan", 7}, text) == "a2V5c3Bhbg==");
  std::array<char, 7> bytes{};
  check(keyspan::decode_base64("a2V5c3Bhbg", std::span{bytes}) == 7U);  // padded or not
  check(std::string_view{bytes.data(), 7} == "keyspan");
  // [end: example]
  return true;
}
CHECK_BOTH(bytes_become_base64_and_come_back);

constexpr bool the_published_vectors_are_met() {
  for (auto const& [bytes, text] : published) {
    char room[16]{};
    check(encode_base64(std::span{bytes}, room) == text);
    auto const bare = text.substr(0, text.find('='));
    check(encode_base64(std::span{bytes}, room, base64_form::url) == bare);
    check(base64_size(bytes.size()) == text.size());
    check(base64_size(bytes.size(), base64_form::url) == bare.size());
    for (auto const& written : {text, bare}) {
      std::array<char, 6> read{};
      check(decode_base64(written, std::span{read}) == bytes.size());
      check(std::string_view{read.data(), bytes.size()} == bytes);
    }
  }
  return true;
}
CHECK_BOTH(the_published_vectors_are_met);

constexpr bool the_alphabets_differ_in_two_characters_and_are_read_alike() {
  std::array<unsigned char, 3> const bytes{0xFB, 0xEF, 0xFF};
  char room[4]{};
  check(encode_base64(std::span{bytes}, room) == "++//");
  check(encode_base64(std::span{bytes}, room, base64_form::url) == "--__");
  for (std::string_view const text : {"++//", "--__", "+-/_"}) {
    std::array<unsigned char, 3> read{};
    check(decode_base64(text, std::span{read}) == 3U);
    check(read == bytes);
  }
  return true;
}
CHECK_BOTH(the_alphabets_differ_in_two_characters_and_are_read_alike);

constexpr bool what_is_no_base64_is_refused_with_its_place() {
  std::array<char, 16> room{};
  auto const refused = [&](std::string_view text, std::uint32_t offset, std::string_view why) {
    auto const read = decode_base64(text, std::span{room});
    check(!read && read.error().code == errc::malformed && read.error().text == why);
    check(read.error().position.offset == offset && read.error().position.column == offset + 1);
  };
  refused("Zm9v!", 4, "not a character of base64");
  refused("Zm 9v", 2, "not a character of base64");
  refused("Zg=a", 2, "not a character of base64");
  refused("Zm9vY", 5, "base64 ends within a byte");
  refused("Z", 1, "base64 ends within a byte");
  refused("Z===", 1, "base64 ends within a byte");
  refused("Zm9vYg=", 6, "base64 is padded to a multiple of four characters, or not at all");
  refused("Zm9v====", 4, "base64 is padded to a multiple of four characters, or not at all");
  refused("Zm8==", 3, "base64 is padded to a multiple of four characters, or not at all");
  refused("Zh==", 1, "bits are left behind the last byte");
  refused("Zm9=", 2, "bits are left behind the last byte");
  return true;
}
CHECK_BOTH(what_is_no_base64_is_refused_with_its_place);

TEST_CASE("bytes need as much room as they have") {
  std::array<char, 3> room{};
  CHECK(decode_base64("Zm9v", std::span{room}) == 3U);
  CHECK(decode_base64("Zm9vYg", std::span{room}).error().to_text() ==
        "too_large: the text stands for 4 bytes, there is room for 3");
  CHECK(test::promise_broken_by([&] {
          char text[3];
          return encode_base64(std::span{room}, text);
        }) == "there is room for four characters for each three bytes");
}

TEST_CASE("random bytes of every length come back, and no two texts are one") {
  test::random random{24};
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes;
    while (bytes.size() < size)
      bytes += static_cast<char>(static_cast<int>(random.below(256)) - 128);
    for (auto const form : {base64_form::plain, base64_form::url}) {
      std::string text(base64_size(size, form), '?');
      CHECK(encode_base64(std::span{bytes}, text, form).size() == text.size());
      CHECK(text.find('?') == text.npos);
      std::string read(size, ' ');
      CHECK(decode_base64(text, std::span{read}) == size);
      CHECK(read == bytes);
      if (text.empty()) continue;
      auto changed = text;
      auto& digit = changed[random.below(changed.size())];
      char const other = random.pick(std::string_view{"ABCDabcd0189"});
      if (digit == other) continue;
      digit = other;
      std::string again(size + 3, ' ');
      auto const found = decode_base64(changed, std::span{again});
      CHECK((!found || again.substr(0, *found) != bytes));
    }
  }
}

TEST_CASE("base64 is written and read without allocation") {
  std::array<char, 300> bytes{};
  std::vector<char> text(400);
  CHECK(test::allocations_in([&] {
          auto const written = encode_base64(std::span{bytes}, text);
          if (!decode_base64(written, std::span{bytes})) FAIL("not read");
        }) == 0);
}

}  // namespace
