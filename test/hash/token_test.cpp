// test/hash/token_test.cpp — places, the end behind the last one, and their texts.
#include <keyspan/hash/token.hpp>

#include <keyspan/core/print.hpp>
#include <keyspan/hash/token128.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <compare>
#include <concepts>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <type_traits>

namespace {

using keyspan::errc;
using keyspan::from_hex;
using keyspan::hex_token;
using keyspan::space_end;
using keyspan::to_hex;
using keyspan::token;
using keyspan::token128;
using keyspan::upper_end;
using test::check;

struct unordered {
  bool operator==(unordered const&) const = default;
};

// A token that has no default: it is kept another way.
struct numbered {
  constexpr explicit numbered(int n) : number{n} {}
  auto operator<=>(numbered const&) const = default;
  int number;
};

TEST_CASE("a token is what is copied and totally ordered") {
  STATIC_CHECK(token<int> && token<std::uint64_t> && token<token128>);
  STATIC_CHECK(token<std::string_view>);
  STATIC_CHECK(!token<unordered> && !token<double> && !token<int&> && !token<void>);
  STATIC_CHECK(hex_token<token128> && !hex_token<int>);
  STATIC_CHECK(!std::equality_comparable_with<upper_end<int>, upper_end<token128>>);
  STATIC_CHECK(std::is_trivially_copyable_v<upper_end<token128>>);
}

// Small enough to look at every pair.
constexpr bool the_end_is_greater_than_every_token() {
  upper_end<int> const end{space_end};
  check(end.is_space_end() && end == end && end == upper_end<int>{space_end});
  for (int a = -2; a <= 2; ++a) {
    upper_end<int> const at_a{a};
    check(!at_a.is_space_end() && at_a.at() == a);
    check(end > at_a && end > a && a < end && end != a && at_a != end);
    for (int b = -2; b <= 2; ++b) {
      check((at_a <=> upper_end<int>{b}) == (a <=> b));
      check((at_a == upper_end<int>{b}) == (a == b));
      check((at_a <=> b) == (a <=> b) && (b <=> at_a) == (b <=> a));
      check((at_a == b) == (a == b) && (b == at_a) == (a == b));
    }
  }
  return true;
}
CHECK_BOTH(the_end_is_greater_than_every_token);

constexpr bool a_token_without_a_default_has_an_end_too() {
  upper_end<numbered> const end{space_end};
  upper_end<numbered> const at{numbered{1}};
  check(end.is_space_end() && at < end && at == upper_end<numbered>{numbered{1}});
  check(at.at().number == 1 && at < upper_end<numbered>{numbered{2}} && end == end);
  return true;
}
CHECK_BOTH(a_token_without_a_default_has_an_end_too);

TEST_CASE("the end of the space is no token") {
  CHECK(test::promise_broken_by([] { return upper_end<int>{space_end}.at(); }) ==
        "the range ends before the space does");
}

constexpr bool an_end_has_the_text_of_its_token_or_FF() {
  // [region: example]
  using end = keyspan::upper_end<keyspan::token128>;
  auto const half = keyspan::from_hex<keyspan::token128>("20");
  check(keyspan::to_hex(end{*half}) == "20000000000000000000000000000000");
  check(keyspan::to_hex(end{keyspan::space_end}) == "FF");
  check(end::from_hex("FF") == end{keyspan::space_end});
  check(*half < end{keyspan::space_end});
  // [end: example]
  for (auto const* text : {"FF", "ff", "Ff", "fF"}) {
    check(end::from_hex(text) == end{space_end});
    check(from_hex<token128>(text).error().code == errc::not_representable);
  }
  check(end::from_hex("20") == end{*half});
  check(end::from_hex("") == end{token128{}});
  check(end::from_hex("FFF").error().code == errc::malformed);
  check(end::from_hex("0x").error().position == keyspan::text_position{1, 2, 1});
  check(end::from_hex("FF00")->at() == token128{0xFF00'0000'0000'0000, 0});  // not the end
  check(end{*half}.to_text() == to_hex(*half) && end{space_end}.to_text() == "FF");
  return true;
}
CHECK_BOTH(an_end_has_the_text_of_its_token_or_FF);

constexpr bool a_result_has_a_result_of_a_text() {
  keyspan::result<token128> const good{token128{1, 2}};
  check(to_hex(good) == to_hex(token128{1, 2}));
  keyspan::result<token128> const bad = keyspan::fail(errc::too_large, "so");
  check(to_hex(bad).error() == bad.error());
  keyspan::result<upper_end<token128>> const end{upper_end<token128>{space_end}};
  check(to_hex(end) == "FF");
  return true;
}
CHECK_BOTH(a_result_has_a_result_of_a_text);

TEST_CASE("equal ends hash alike, and like their tokens") {
  std::hash<upper_end<int>> const hash{};
  CHECK(hash(upper_end<int>{5}) == std::hash<int>{}(5));
  CHECK(hash(upper_end<int>{space_end}) == hash(upper_end<int>{space_end}));
  CHECK(hash(upper_end<int>{5}) != hash(upper_end<int>{6}));
}

TEST_CASE("ends are streamed as they read") {
  std::ostringstream out;
  out << upper_end<token128>{space_end} << ' ' << upper_end<token128>{token128{0, 1}};
  CHECK(out.str() == "FF 00000000000000000000000000000001");
}

constexpr bool bounds_are_compared_as_two() {
  keyspan::token_bounds<int> const bounds{1, 2};
  check(bounds == keyspan::token_bounds<int>{1, 2});
  check(bounds != keyspan::token_bounds<int>{1, space_end});
  check(bounds != keyspan::token_bounds<int>{0, 2});
  return true;
}
CHECK_BOTH(bounds_are_compared_as_two);

}  // namespace
