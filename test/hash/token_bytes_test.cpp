// test/hash/token_bytes_test.cpp — strings of bytes in both orders.
#include <keyspan/hash/token_bytes.hpp>

#include <keyspan/core/print.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::fail;
using keyspan::token_bytes;
using keyspan::token_order;
using test::check;

using plain = token_bytes<16>;
using padded = token_bytes<16, token_order::padded>;

constexpr bool zeros_at_the_end_count_in_one_order_alone() {
  // [region: example]
  using by_bytes = keyspan::token_bytes<16>;
  using as_padded = keyspan::token_bytes<16, keyspan::token_order::padded>;
  check(*by_bytes::from_hex("22E3") < *by_bytes::from_hex("22E300"));
  check(*as_padded::from_hex("22E3") == *as_padded::from_hex("22E300"));
  check(*as_padded::from_hex("22E3") < *as_padded::from_hex("22E301"));
  check(as_padded::from_hex("22E300")->to_hex() == "22E300");
  // [end: example]
  return true;
}
CHECK_BOTH(zeros_at_the_end_count_in_one_order_alone);

template <class Token>
constexpr Token token_from(std::string_view bytes) {
  return *Token::from_bytes(std::span{bytes.data(), bytes.size()});
}

// Every pair of strings of up to three bytes out of three.
template <class Token, class Compare>
constexpr bool orders_like(Compare compare) {
  constexpr char letters[]{0, 1, static_cast<char>(0xFF)};
  std::array<std::array<char, 3>, 40> strings{};
  std::array<std::size_t, 40> sizes{};
  std::size_t count = 0;
  for (std::size_t size = 0; size <= 3; ++size)
    for (std::size_t n = 0; n < (size == 0 ? 1u : size == 1 ? 3u : size == 2 ? 9u : 27u); ++n) {
      std::size_t left = n;
      for (std::size_t i = 0; i < size; ++i, left /= 3) strings[count][i] = letters[left % 3];
      sizes[count++] = size;
    }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      std::string_view const a{strings[i].data(), sizes[i]};
      std::string_view const b{strings[j].data(), sizes[j]};
      auto const wanted = compare(a, b);
      check((token_from<Token>(a) <=> token_from<Token>(b)) == wanted);
      check((token_from<Token>(a) == token_from<Token>(b)) == (wanted == 0));
    }
  return true;
}

constexpr std::strong_ordering padded_order(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < (std::max)(a.size(), b.size()); ++i) {
    auto const x = static_cast<unsigned char>(i < a.size() ? a[i] : '\0');
    auto const y = static_cast<unsigned char>(i < b.size() ? b[i] : '\0');
    if (x != y) return x <=> y;
  }
  return std::strong_ordering::equal;
}

constexpr bool plain_bytes_sort_like_words_in_a_book() {
  return orders_like<plain>([](std::string_view a, std::string_view b) { return a <=> b; });
}
constexpr bool padded_bytes_sort_as_if_zeros_followed() {
  return orders_like<padded>(padded_order);
}
CHECK_BOTH(plain_bytes_sort_like_words_in_a_book);
CHECK_BOTH(padded_bytes_sort_as_if_zeros_followed);

TEST_CASE("long strings of bytes sort and hash like short ones") {
  using long_plain = token_bytes<336>;
  using long_padded = token_bytes<336, token_order::padded>;
  test::random random{1};
  for (int round = 0; round < 20'000; ++round) {
    auto const any = [&] {
      std::string made(random.below(40), '\0');
      for (char& byte : made) byte = static_cast<char>(random.chance(60) ? 0 : random.below(256));
      return made;
    };
    std::string const a = any();
    std::string b = random.chance(50) ? a : any();
    if (random.chance(50)) b.resize(random.below(40));
    if (random.chance(20) && !b.empty()) b[random.below(b.size())] = 1;
    auto const plain_a = token_from<long_plain>(a);
    auto const plain_b = token_from<long_plain>(b);
    REQUIRE((plain_a <=> plain_b) == (a <=> b));
    REQUIRE((plain_a == plain_b) == (a == b));
    if (a == b) REQUIRE(std::hash<long_plain>{}(plain_a) == std::hash<long_plain>{}(plain_b));
    auto const padded_a = token_from<long_padded>(a);
    auto const padded_b = token_from<long_padded>(b);
    REQUIRE((padded_a <=> padded_b) == padded_order(a, b));
    if (padded_a == padded_b)
      REQUIRE(std::hash<long_padded>{}(padded_a) == std::hash<long_padded>{}(padded_b));
  }
}

TEST_CASE("different tokens mostly hash differently") {
  std::vector<std::size_t> hashes;
  for (int i = 0; i < 1000; ++i) {
    std::array<unsigned char, 16> bytes{};
    bytes[15] = static_cast<unsigned char>(i);
    bytes[7] = static_cast<unsigned char>(i >> 8);
    hashes.push_back(std::hash<padded>{}(*padded::from_bytes(std::span{bytes})));
  }
  std::ranges::sort(hashes);
  CHECK(std::ranges::unique(hashes).empty());
  // A zero more is another token where zeros count.
  CHECK(std::hash<plain>{}(*plain::from_hex("22")) != std::hash<plain>{}(*plain::from_hex("2200")));
}

constexpr bool bytes_and_digits_go_in_and_come_out() {
  for (std::size_t size = 0; size <= 16; ++size) {
    std::array<std::byte, 16> bytes{};
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(0xF0 + i);
    auto const t = *plain::from_bytes(std::span{bytes}.first(size));
    check(t.size() == size && t.empty() == (size == 0) && t.bytes().size() == size);
    for (std::size_t i = 0; i < size; ++i) check(t.bytes()[i] == 0xF0 + i);
    check(t.to_hex().size() == 2 * size && t.to_text() == t.to_hex());
    check(plain::from_hex(t.to_hex()) == t);
    char lower[32]{};
    std::size_t const digits = t.to_hex().view().copy(lower, 32);
    for (char& c : lower)
      if (c >= 'A' && c <= 'F') c = static_cast<char>(c + ('a' - 'A'));
    check(plain::from_hex({lower, digits}) == t);
  }
  check(plain{}.to_hex() == "" && plain{} == plain::from_hex(""));
  check(plain::capacity() == 16 && plain::order == token_order::bytes);
  return true;
}
CHECK_BOTH(bytes_and_digits_go_in_and_come_out);

constexpr bool what_is_no_token_is_refused() {
  std::array<char, 17> const bytes{};
  check(plain::from_bytes(std::span{bytes}) ==
        fail(errc::too_large, "a token of this kind has at most 16 bytes, these are 17"));
  check(plain::from_hex("0000000000000000000000000000000000") ==
        fail(errc::too_large, "at most 16 bytes fit, the text has 17"));
  check(plain::from_hex("ff").error().code == errc::not_representable);
  check(plain::from_hex("FF00")->size() == 2);
  check(plain::from_hex("123").error().code == errc::malformed);
  check(plain::from_hex("12 4").error().position == keyspan::text_position{1, 3, 2});
  return true;
}
CHECK_BOTH(what_is_no_token_is_refused);

// A refused text must leave nothing behind, and a shorter token no bytes of a longer one.
constexpr bool tokens_are_assigned_whole() {
  padded t = *padded::from_hex("0102030405060708090A");
  t = *padded::from_hex("01");
  check(t == *padded::from_hex("0100") && t.to_hex() == "01");
  return true;
}
CHECK_BOTH(tokens_are_assigned_whole);

TEST_CASE("tokens are plain values") {
  STATIC_CHECK(std::is_trivially_copyable_v<plain> && std::regular<plain>);
  STATIC_CHECK(keyspan::hex_token<plain> && keyspan::hex_token<padded>);
  STATIC_CHECK(!std::equality_comparable_with<plain, padded>);
  STATIC_CHECK(sizeof(token_bytes<336>) == 338);
  std::ostringstream out;
  out << *plain::from_hex("0aff");
  CHECK(out.str() == "0AFF");
  CHECK(test::allocations_in([] {
          auto const t = *plain::from_hex("22E3");
          static_cast<void>(t.to_hex());
          static_cast<void>(std::hash<plain>{}(t));
        }) == 0);
}

}  // namespace
