// test/cosmos/session_token_test.cpp — how far each range was seen, read, merged and told.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/session_token.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::result;
using keyspan::cosmos::range_session;
using keyspan::cosmos::session_tokens;
using test::check;

range_session session(std::string_view text) { return range_session::from_text(text).value(); }
std::string merged(std::string_view a, std::string_view b) {
  auto const both = range_session::merged(session(a), session(b));
  CHECK(range_session::merged(session(b), session(a)) == both);
  return both ? both->to_text() : std::string{name_of(both.error().code)};
}

TEST_CASE("both forms are read and written, and regions stand in order") {
  for (std::string_view const text :
       {"12", "-5", "0", "1#12", "-1#5", "1#12#3=11", "2#1200#0=5#3=1190#5=1200", "1#-3#2=-4",
        "9223372036854775807#-9223372036854775808"})
    CHECK(session(text).to_text() == text);
  CHECK(session("12").is_simple);
  CHECK_FALSE(session("1#12").is_simple);
  CHECK(session("1#12#5=2#3=1").to_text() == "1#12#3=1#5=2");
}

TEST_CASE("what is no token is refused, with the place") {
  struct row {
    std::string_view text;
    std::uint32_t offset;
  };
  for (auto const& [text, offset] :
       {row{"", 0}, row{"x", 0}, row{"1x", 1}, row{"1#", 2}, row{"1#x", 2}, row{"1#2x", 3},
        row{"1#2#", 4}, row{"1#2#x=1", 4}, row{"1#2#-1=1", 4}, row{"1#2#3", 5}, row{"1#2#3=", 6},
        row{"1#2#3=4 ", 7}, row{"9223372036854775808", 0}, row{" 1", 0}, row{"+1", 0}}) {
    auto const refused = range_session::from_text(text);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == errc::malformed);
    CHECK(refused.error().position.offset == offset);
  }
  CHECK(range_session::from_text("1#2#3=4#3=5").error().text.view() ==
        "a session token names region 3 twice");
}

TEST_CASE("what is merged has seen as much as both") {
  CHECK(merged("5", "7") == "7");
  CHECK(merged("1#10#1=8#2=9", "1#12#1=11#2=7") == "1#12#1=11#2=9");
  // The later version says which regions there are, and how far all have come.
  CHECK(merged("1#90#1=80#2=90", "2#50#2=40#3=50") == "2#50#2=90#3=50");
  CHECK(merged("-1#5", "1#3") == "1#3");
  CHECK(merged("1#10#1=8", "1#12#2=7") == "malformed");
  CHECK(merged("1#10#1=8", "1#12#1=8#2=7") == "malformed");
  CHECK(merged("5", "1#10") == "unsupported");
}

TEST_CASE("merging with oneself, in any order and any grouping, comes to one") {
  test::random numbers{11};
  for (int round = 0; round < 2'000; ++round) {
    std::vector<range_session> three;
    for (int i = 0; i < 3; ++i) {
      range_session one;
      one.version = static_cast<std::int64_t>(numbers.below(2));
      one.lsn = static_cast<std::int64_t>(numbers.below(50));
      for (std::uint32_t region = 0; region < 3; ++region)
        one.regions.push_back({region, static_cast<std::int64_t>(numbers.below(50))});
      three.push_back(one);
    }
    auto const& [a, b, c] = std::tie(three[0], three[1], three[2]);
    auto const join = [](range_session const& x, range_session const& y) {
      return range_session::merged(x, y).value();
    };
    REQUIRE(join(a, a) == a);
    REQUIRE(join(a, b) == join(b, a));
    REQUIRE(join(join(a, b), c) == join(a, join(b, c)));
    REQUIRE(session(join(a, b).to_text()) == join(a, b));
  }
}

TEST_CASE("responses are taken one range or several at a time, all of one or nothing") {
  session_tokens seen;
  CHECK(seen.empty());
  CHECK(seen.take("0:1#10").has_value());
  CHECK(seen.take("1:1#5,0:1#8,2:7").has_value());
  CHECK(seen.to_text() == "0:1#10,1:1#5,2:7");
  for (std::string_view const text : {"", ":1#5", "1", "3:1#5,", "3:1#5,,4:1#2", "3:1#5,4:x"}) {
    CHECK_FALSE(seen.take(text).has_value());
    CHECK(seen.to_text() == "0:1#10,1:1#5,2:7");
  }
  auto const refused = seen.take("3:1#5,4:1#x");
  CHECK(refused.error().code == errc::malformed);
  CHECK(refused.error().position.offset == 10);
  seen.clear();
  CHECK(seen.empty());
}

TEST_CASE("a range that came of others begins with what was seen of those") {
  session_tokens seen;
  REQUIRE(seen.take("1:1#10,2:1#30,9:1#99").has_value());
  std::vector<std::string> const parents{"0", "1", "2"};
  CHECK(seen.token_for("7", parents) == std::string{"7:1#30"});
  CHECK(seen.token_for("7") == std::string{});
  CHECK(seen.token_for("2", parents) == std::string{"2:1#30"});
  REQUIRE(seen.take("7:1#40").has_value());
  CHECK(seen.token_for("7", parents) == std::string{"7:1#40"});
  REQUIRE(seen.take("0:5").has_value());
  CHECK(seen.token_for("8", parents).error().code == errc::unsupported);
}

TEST_CASE("the example of session_token reads as it should") {
  // [region: example]
  keyspan::cosmos::session_tokens seen;
  check(seen.take("0:1#1200#3=1190").has_value());  // as responses say it
  check(seen.take("0:1#1180#3=1195").has_value());  // of a replica that is behind
  check(seen.token_for("0") == std::string{"0:1#1200#3=1195"});
  // Range 0 was split: its parts are to show what was seen of it.
  std::vector<std::string> const parents{"0"};
  check(seen.token_for("2", parents) == std::string{"2:1#1200#3=1195"});
  // [end: example]
}

TEST_CASE("a range that others came from has to be as far as they are") {
  session_tokens seen;
  REQUIRE(seen.take("0:-1#10,1:-1#14,2:-1#12"));
  std::vector<std::string> const children{"1", "2", "3"};
  CHECK(seen.ranges() == std::vector<std::string>{"0", "1", "2"});
  CHECK(*seen.token_for("0", {}, children) == "0:-1#14");
  CHECK(*seen.token_for("0") == "0:-1#10");
  // Nothing was seen of the range itself, nor of what it came from.
  std::vector<std::string> const parents{"7"};
  CHECK(*seen.token_for("9", parents, children) == "9:-1#14");
  CHECK(seen.token_for("9", parents)->empty());
}

}  // namespace
