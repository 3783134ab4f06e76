// test/range/token_prefix_test.cpp — 64 bits that rise where tokens do.
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
#include <keyspan/range/token_prefix.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace {

using keyspan::any_token;
using keyspan::token128;
using keyspan::token_prefix;
using test::check;

static_assert(keyspan::prefixed_token<int> && keyspan::prefixed_token<std::uint64_t>);
static_assert(keyspan::prefixed_token<keyspan::token_v1> &&
              keyspan::prefixed_token<keyspan::token_multihash> &&
              keyspan::prefixed_token<any_token>);
static_assert(keyspan::prefixed_token<std::string> && keyspan::prefixed_token<std::string_view>);
// What turns into a token that has a prefix may have an order of its own.
struct by_length {
  std::string_view text{};
  operator std::string_view() const { return text; }
  [[maybe_unused]] friend auto operator<=>(by_length const& a, by_length const& b) {
    return a.text.size() <=> b.text.size();
  }
  [[maybe_unused]] friend bool operator==(by_length const& a, by_length const& b) {
    return a.text.size() == b.text.size();
  }
};
struct turned : token128 {
  [[maybe_unused]] friend auto operator<=>(turned const& a, turned const& b) {
    return b.high <=> a.high;
  }
  [[maybe_unused]] friend bool operator==(turned const&, turned const&) = default;
};
static_assert(keyspan::token<by_length> && !keyspan::prefixed_token<by_length>);
static_assert(keyspan::token<turned> && !keyspan::prefixed_token<turned>);
static_assert(!keyspan::token<char const*>);
static_assert(!keyspan::prefixed_token<double> && !keyspan::prefixed_token<bool>);

constexpr bool the_prefix_of_an_integer_is_itself_from_the_least_one_on() {
  check(token_prefix(7U) == 7);
  check(token_prefix(std::uint8_t{255}) == 255);
  check(token_prefix(~std::uint64_t{0}) == ~std::uint64_t{0});
  check(token_prefix(std::numeric_limits<std::int64_t>::min()) == 0);
  check(token_prefix(std::numeric_limits<std::int64_t>::max()) == ~std::uint64_t{0});
  check(token_prefix(-1) + 1 == token_prefix(0) && token_prefix(0) + 1 == token_prefix(1));
  return true;
}
CHECK_BOTH(the_prefix_of_an_integer_is_itself_from_the_least_one_on);

constexpr bool the_prefix_of_bytes_is_the_first_eight_filled_up_with_zeros() {
  using token = keyspan::token_bytes<16>;
  check(token_prefix(token{}) == 0);
  check(token_prefix(*token::from_hex("A1")) == 0xA100'0000'0000'0000);
  check(token_prefix(*token::from_hex("0102030405060708")) == 0x0102'0304'0506'0708);
  check(token_prefix(*token::from_hex("0102030405060708FF")) == 0x0102'0304'0506'0708);
  check(token_prefix(std::string_view{"ab"}) == 0x6162'0000'0000'0000);
  check(token_prefix(std::string_view{"\xFFzzzzzzzzz"}) == 0xFF7A'7A7A'7A7A'7A7A);
  check(token_prefix(token128{3, ~std::uint64_t{0}}) == 3);
  return true;
}
CHECK_BOTH(the_prefix_of_bytes_is_the_first_eight_filled_up_with_zeros);

template <class Draw>
void rises(Draw draw) {
  test::random random{11};
  for (int i = 0; i < 20'000; ++i) {
    auto const a = draw(random);
    auto const b = draw(random);
    if (a < b) REQUIRE(token_prefix(a) <= token_prefix(b));
    if (a == b) REQUIRE(token_prefix(a) == token_prefix(b));
  }
}

template <class Token>
Token random_bytes(test::random& random) {
  unsigned char bytes[12]{};
  auto const size = random.below(sizeof bytes + 1);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = random.chance(50) ? 0 : static_cast<unsigned char>(random());
  return *Token::from_bytes(std::span{bytes}.first(static_cast<std::size_t>(size)));
}

TEST_CASE("a prefix never falls where tokens rise") {
  rises([](test::random& r) { return static_cast<std::int32_t>(r()); });
  rises([](test::random& r) { return token128{r.below(4), r()}; });
  rises([](test::random& r) { return random_bytes<keyspan::token_v1>(r); });
  rises([](test::random& r) { return random_bytes<keyspan::token_multihash>(r); });
  rises([](test::random& r) {
    switch (r.below(3)) {
      case 0:
        return any_token{random_bytes<keyspan::token_v1>(r)};
      case 1:
        return any_token{token128{r() >> r.below(64), r()}};
      default:
        return any_token{random_bytes<keyspan::token_multihash>(r)};
    }
  });
  rises([](test::random& r) {
    std::string text(r.below(11), '\0');
    for (auto& c : text) c = static_cast<char>(r.below(3) * 100);
    return text;
  });
}

TEST_CASE("the example of a token prefix reads as it should") {
  // [region: example]
  // A version of two numbers as a token: the greater one first, so that the prefix rises with it.
  struct version {
    std::uint32_t release = 0;
    std::uint32_t patch = 0;

    std::uint64_t token_prefix() const { return std::uint64_t{release} << 32 | patch; }
    auto operator<=>(version const&) const = default;
  };
  static_assert(keyspan::prefixed_token<version>);
  CHECK(keyspan::token_prefix(version{1, 2}) < keyspan::token_prefix(version{2, 0}));
  // [end: example]
}

}  // namespace
