// test/feed/cursor_test.cpp — the text of a cursor: one stable form, and nothing that was altered
// is taken for it.
#include <keyspan/core/print.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/kafka.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::composite_cursor;
using keyspan::continuation;
using keyspan::cosmos_v2;
using keyspan::cursor;
using keyspan::errc;
using keyspan::feed_mode;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::from_time;
using keyspan::null;
using keyspan::partition_key;
using keyspan::redis_cluster;
using keyspan::result;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_of_scheme;
using keyspan::token_range;
using keyspan::undefined;
using keyspan::wall_time;
using test::check;

constexpr wall_time at_ms(std::int64_t ms) { return wall_time{std::chrono::milliseconds{ms}}; }

token128 at(std::string_view digits) { return *cosmos_v2.from_hex(digits); }

using slot_cursor = composite_cursor<std::uint16_t>;

// A scheme of strings: their own bytes.
struct words_scheme {
  using token_type = std::string;
  result<std::string> token_of(std::span<keyspan::key_value const> values) const {
    return values.empty() ? std::string{} : values.front().to_text();
  }
  std::string minimum() const { return {}; }
  std::string_view name() const { return "words"; }
  bool operator==(words_scheme const&) const = default;
};
// The same in four bytes.
struct short_words_scheme {
  using token_type = keyspan::inline_text<4>;
  token_type token_of(std::span<keyspan::key_value const> values) const {
    return values.empty() ? token_type{} : token_type{values.front().to_text()};
  }
  token_type minimum() const { return {}; }
  std::string_view name() const { return "short_words"; }
  bool operator==(short_words_scheme const&) const = default;
};
struct bytes_scheme {
  using token_type = std::int8_t;
  token_type token_of(std::span<keyspan::key_value const>) const { return 0; }
  token_type minimum() const { return -128; }
  std::string_view name() const { return "bytes"; }
  bool operator==(bytes_scheme const&) const = default;
};
struct borrowed_scheme : short_words_scheme {
  using token_type = std::string_view;
  token_type token_of(std::span<keyspan::key_value const>) const { return {}; }
  token_type minimum() const { return {}; }
  bool operator==(borrowed_scheme const&) const = default;
};

static_assert(keyspan::textual<composite_cursor<token128>>);
static_assert(keyspan::textual<composite_cursor<std::int64_t>>);
static_assert(keyspan::scheme_of_cursor_texts<keyspan::any_scheme>);
static_assert(keyspan::scheme_of_cursor_texts<words_scheme>);
static_assert(!keyspan::scheme_of_cursor_texts<borrowed_scheme>);

TEST_CASE("a cursor is kept as text and goes on from it") {
  // [region: example]
  using keyspan::cosmos_v2;
  using cursor = keyspan::composite_cursor<keyspan::token128>;
  auto const half = *cosmos_v2.from_hex("20");
  cursor const kept{.container = "Ab3xAJ",
                    .scheme = "cosmos_v2",
                    .parts = {{{half, keyspan::space_end}, keyspan::continuation{"\"12\""}},
                              {{cosmos_v2.minimum(), half}, keyspan::from_now}}};
  std::string const text = kept.to_text();
  check(cursor::from_text(cosmos_v2, text) == kept);

  std::string changed = text;
  changed.replace(text.find("12"), 2, "21");
  check(cursor::from_text(cosmos_v2, changed).error().code == keyspan::errc::malformed);
  // [end: example]
}

// What programs have kept must be read for ever: this text never changes.
constexpr std::string_view golden =
    R"({"keyspan":1,"container":"Ab3xAJ","scheme":"cosmos_v2","mode":"all_versions_and_deletes",)"
    R"("key":["Zoë \"Z\"",1.5,{}],"parts":[)"
    R"({"lower":"20000000000000000000000000000000","upper":null,"at":"\"12\""},)"
    R"({"lower":"","upper":"08000000000000000000000000000000","start":"beginning"},)"
    R"({"lower":"08000000000000000000000000000000","upper":"10000000000000000000000000000000",)"
    R"("start":"now"},)"
    R"({"lower":"10000000000000000000000000000000","upper":"18000000000000000000000000000000",)"
    R"("start":"time","time":"2009-02-13T23:31:30.123Z"},)"
    R"({"lower":"18000000000000000000000000000000","upper":"20000000000000000000000000000000",)"
    R"("time":"2009-02-13T23:31:30.123Z","at":{"hex":"00FF"}}],"check":"168BE154"})";

composite_cursor<token128> golden_cursor() {
  auto const moment = from_time{at_ms(1'234'567'890'123)};
  composite_cursor<token128> made{.container = "Ab3xAJ",
                                  .scheme = "cosmos_v2",
                                  .mode = feed_mode::all_versions_and_deletes,
                                  .key = partition_key{"Zo\xC3\xAB \"Z\"", 1.5, undefined}};
  made.parts.push_back({{at("20"), space_end}, continuation{"\"12\""}});
  made.parts.push_back({{at(""), at("08")}, from_beginning});
  made.parts.push_back({{at("08"), at("10")}, from_now});
  made.parts.push_back({{at("10"), at("18")}, moment});
  made.parts.push_back({{at("18"), at("20")}, {moment, std::string{"\0\xFF", 2}}});
  return made;
}

TEST_CASE("the text of a cursor is the one it has always been") {
  CHECK(golden_cursor().to_text() == golden);
  CHECK(composite_cursor<token128>::from_text(cosmos_v2, golden) == golden_cursor());
  std::ostringstream out;
  out << golden_cursor();
  CHECK(out.str() == golden);
}

TEST_CASE("others can make the check: it is CRC-32 over the text without it") {
  CHECK(keyspan::detail::crc32("123456789") == 0xCBF4'3926);
  std::string without{golden.substr(0, golden.find(",\"check\""))};
  without += '}';
  CHECK(keyspan::detail::check_of(without) == "168BE154");
}

TEST_CASE("neither the order of members nor white space nor the way of writing matters") {
  slot_cursor const plain{.container = "t",
                          .scheme = "redis_cluster",
                          .key = partition_key{"a", 10, null},
                          .parts = {{{7, 8000}, continuation{"x"}}, {{0, 7}, from_now}}};
  auto const digits = plain.to_text().substr(plain.to_text().size() - 10, 8);
  std::string const other = "\n { \"check\" : \"" + digits +
                            "\", \"parts\" : [ {\"at\":\"\\u0078\", \"upper\":\"8000\",\r\n"
                            "\"lower\":\"7\"} , {\"start\":\"n\\u006fw\",\"lower\":\"0\","
                            "\"upper\":\"7\"}],\t\"key\":[ \"a\" , 1.0e1,null ],"
                            "\"mode\":\"latest_version\",\"scheme\":\"redis_cluster\","
                            "\"c\\u006Fntainer\":\"t\",\"keyspan\":1} \n";
  auto const read = slot_cursor::from_text(redis_cluster, other);
  if (!read) FAIL(read.error());
  CHECK(*read == plain);
}

TEST_CASE("the parts keep their order: the first is read next") {
  slot_cursor const forth{.parts = {{{0, 10}}, {{10, 20}}, {{20, 30}}}};
  slot_cursor const back{.parts = {{{20, 30}}, {{10, 20}}, {{0, 10}}}};
  CHECK(forth.to_text() != back.to_text());
  auto named = back;
  named.scheme = "redis_cluster";
  CHECK(slot_cursor::from_text(redis_cluster, named.to_text())->parts == back.parts);
}

TEST_CASE("bytes that are no UTF-8 are kept as well") {
  std::string const zero{"a\0b", 3};
  std::string const half_pair = "\xED\xA0\x80";
  composite_cursor<std::string> made{.container =
                                         "\xFF"
                                         "name",
                                     .scheme = "words"};
  made.parts.push_back({{std::string{}, zero}, continuation{"\xC0"}});
  made.parts.push_back({{zero, half_pair}, continuation{"{\"hex\":1}"}});
  made.parts.push_back({{half_pair, space_end}, from_beginning});
  CHECK(made.to_text().find(R"("upper":{"hex":"EDA080"})") != std::string::npos);
  CHECK(composite_cursor<std::string>::from_text(words_scheme{}, made.to_text()) == made);
}

// Laws over random cursors.

std::string any_text(test::random& random) {
  std::string text;
  for (auto left = random.below(12); left > 0; --left)
    text += static_cast<char>(random.chance(70) ? 'a' + static_cast<int>(random.below(26))
                                                : static_cast<int>(random.below(256)) - 128);
  return text;
}

partition_key any_key(test::random& random) {
  switch (random.below(6)) {
    case 0:
      return partition_key{};
    case 1:
      return partition_key{undefined};
    case 2:
      return partition_key{std::string_view{"a\"\\\n"}, null, true};
    case 3:
      return partition_key{random.any_finite_double()};
    case 4:
      return partition_key{"", false};
    default:
      return partition_key{"Привет", static_cast<std::int32_t>(random())};
  }
}

continuation any_continuation(test::random& random) {
  auto const time = from_time{wall_time{std::chrono::milliseconds{
      random.chance(50) ? random.between(0, 2'000'000'000'000)
                        : random.between((std::numeric_limits<std::int64_t>::min)(),
                                         (std::numeric_limits<std::int64_t>::max)())}}};
  auto text = "\"" + any_text(random) + "\"";
  switch (random.below(5)) {
    case 0:
      return from_beginning;
    case 1:
      return from_now;
    case 2:
      return time;
    case 3:
      return continuation{std::move(text)};
    default:
      return {time, std::move(text)};
  }
}

template <class Scheme>
std::vector<token_of_scheme<Scheme>> any_tokens(Scheme const& scheme, test::random& random) {
  std::vector<token_of_scheme<Scheme>> tokens{scheme.minimum()};
  for (auto left = 1 + random.below(7); left > 0; --left) {
    std::string const text = "key" + std::to_string(random());
    result<token_of_scheme<Scheme>> const token = keyspan::token_of(scheme, std::string_view{text});
    tokens.push_back(token.value());
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

template <class Scheme>
composite_cursor<token_of_scheme<Scheme>> any_cursor(Scheme const& scheme, test::random& random) {
  composite_cursor<token_of_scheme<Scheme>> made{
      .container = any_text(random), .scheme = std::string{std::string_view{scheme.name()}}};
  if (random.chance(50)) made.mode = feed_mode::all_versions_and_deletes;
  if (random.chance(40)) made.key = any_key(random);
  auto const tokens = any_tokens(scheme, random);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!made.parts.empty() && random.chance(20)) continue;
    if (i + 1 < tokens.size()) {
      made.parts.push_back({{tokens[i], tokens[i + 1]}, any_continuation(random)});
    } else {
      made.parts.push_back({{tokens[i], space_end}, any_continuation(random)});
    }
  }
  random.shuffle(made.parts);
  return made;
}

template <class F>
void each_scheme(F const& f) {
  f(keyspan::cosmos_v1);
  f(keyspan::cosmos_v2);
  f(keyspan::cosmos_multihash);
  f(keyspan::any_scheme{keyspan::cosmos_v1});
  f(keyspan::any_scheme{keyspan::cosmos_v2});
  f(keyspan::any_scheme{keyspan::cosmos_multihash});
  f(redis_cluster);
  f(keyspan::kafka);
  f(keyspan::cassandra);
  f(keyspan::fast64);
  f(keyspan::identity);
  f(words_scheme{});
  f(short_words_scheme{});
  f(bytes_scheme{});
}

TEST_CASE("what is written is read, in every scheme") {
  test::random random{20};
  each_scheme([&](auto const& scheme) {
    using cursor_type = composite_cursor<token_of_scheme<std::decay_t<decltype(scheme)>>>;
    for (int i = 0; i < 60; ++i) {
      auto const made = any_cursor(scheme, random);
      auto const text = made.to_text();
      CHECK(keyspan::is_utf8(text));
      auto const read = cursor_type::from_text(scheme, text);
      if (!read) FAIL(read.error() << " in " << text);
      if (!(*read == made)) FAIL_CHECK("not the same: " << text);
      CHECK(read->to_text() == text);
    }
  });
}

TEST_CASE("the greatest and the least integers are tokens like others") {
  using limits = std::numeric_limits<std::int64_t>;
  composite_cursor<std::int64_t> const made{
      .scheme = "cassandra_murmur3",
      .parts = {{{(limits::max)(), space_end}}, {{(limits::min)(), (limits::max)()}}}};
  CHECK(composite_cursor<std::int64_t>::from_text(keyspan::cassandra, made.to_text()) == made);
  using unsigned_limits = std::numeric_limits<std::uint64_t>;
  composite_cursor<std::uint64_t> const other{.scheme = "fast64",
                                              .parts = {{{0, (unsigned_limits::max)()}}}};
  CHECK(composite_cursor<std::uint64_t>::from_text(keyspan::fast64, other.to_text()) == other);
}

// Corruption.

template <class Cursor, class Scheme>
void is_refused_or_equal(Scheme const& scheme, Cursor const& made, std::string const& changed,
                         std::size_t& refused) {
  auto const read = Cursor::from_text(scheme, changed);
  if (!read) {
    ++refused;
    if (read.error().text.empty() || !read.error().position ||
        read.error().position.offset > changed.size())
      FAIL_CHECK("an error has no words or no place: " << changed);
  } else if (!(*read == made)) {
    FAIL_CHECK("another cursor: " << changed);
  }
}

template <class Cursor, class Scheme>
std::size_t every_byte_changed(Scheme const& scheme, Cursor const& made) {
  std::string const text = made.to_text();
  std::size_t refused = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      auto changed = text;
      if (i < text.size()) {
        changed[i] = static_cast<char>(byte);
        if (changed != text) is_refused_or_equal(scheme, made, changed, refused);
      }
      changed = text;
      changed.insert(i, 1, static_cast<char>(byte));
      is_refused_or_equal(scheme, made, changed, refused);
    }
    if (i == text.size()) break;
    auto shorter = text;
    shorter.erase(i, 1);
    is_refused_or_equal(scheme, made, shorter, refused);
    auto swapped = text;
    if (i + 1 < text.size()) std::swap(swapped[i], swapped[i + 1]);
    if (swapped != text) is_refused_or_equal(scheme, made, swapped, refused);
    if (Cursor::from_text(scheme, std::string_view{text}.substr(0, i))) FAIL_CHECK("cut at " << i);
  }
  return refused;
}

TEST_CASE("no byte can be changed, left out or added so that another cursor is read") {
  composite_cursor<token128> made{
      .container = "c", .scheme = "cosmos_v2", .key = partition_key{"a", 5, undefined}};
  made.parts.push_back({{at("20"), space_end}, continuation{"\"12\""}});
  made.parts.push_back({{at(""), at("10")}, from_time{at_ms(1'234'567'890'123)}});
  auto const refused = every_byte_changed(cosmos_v2, made);
  CHECK(refused > 100'000);

  slot_cursor const slots{.container = "\xFF",
                          .scheme = "redis_cluster",
                          .parts = {{{1000, 1001}, from_now}, {{11, 110}, {from_time{}, "1"}}}};
  CHECK(every_byte_changed(redis_cluster, slots) > 80'000);
}

TEST_CASE("two or three bytes changed at random give no other cursor") {
  test::random random{21};
  std::size_t refused = 0;
  each_scheme([&](auto const& scheme) {
    for (int i = 0; i < 20; ++i) {
      auto const made = any_cursor(scheme, random);
      auto const text = made.to_text();
      for (int j = 0; j < 30; ++j) {
        auto changed = text;
        for (auto left = 2 + random.below(2); left > 0; --left)
          changed[random.below(changed.size())] = static_cast<char>(
              random.chance(70) ? static_cast<int>(text[random.below(text.size())])
                                : static_cast<int>(random.below(128)));
        if (changed != text) is_refused_or_equal(scheme, made, changed, refused);
      }
    }
  });
  CHECK(refused > 5'000);
}

// What is wrong, and where.

std::string refusal_of(std::string_view text) {
  auto const read = slot_cursor::from_text(redis_cluster, text);
  return read ? std::string{} : std::string{read.error().to_text().view()};
}

// A text of slots with these parts, and anything for a check.
std::string with_parts(std::string_view parts) {
  return R"({"keyspan":1,"container":"t","scheme":"redis_cluster",)"
         R"("mode":"latest_version","parts":)" +
         std::string{parts} + R"(,"check":"00000000"})";
}
std::string with_part(std::string_view part) { return with_parts("[" + std::string{part} + "]"); }

std::string part_refusal(std::string_view part) {
  auto const text = refusal_of(with_part(part));
  auto const colon = text.find(": ");
  return text.substr(0, text.find(" at line")) + ": " + text.substr(colon + 2);
}

TEST_CASE("another version and another scheme are named, whatever else the text has") {
  CHECK(refusal_of(R"({"keyspan":2,"cells":[]})") ==
        "unsupported at line 1, column 12: the cursor is of version 2; this library reads version "
        "1");
  CHECK(refusal_of("{\"new\":[{}],\n \"keyspan\": 7}")
            .starts_with("unsupported at line 2, column 13"));
  CHECK(refusal_of(R"({"keyspan":1,"parts":[3],"scheme":"cosmos_v2"})") ==
        "scheme_mismatch at line 1, column 35: the cursor's tokens are of scheme cosmos_v2, they "
        "are read by redis_cluster");
  CHECK(refusal_of(R"({"V":2,"Rid":"x"})") ==
        "malformed at line 1, column 17: no cursor: the member \"keyspan\" is missing");
  CHECK(refusal_of(R"({"keyspan":1})").ends_with("no cursor: the member \"scheme\" is missing"));
  CHECK(refusal_of(R"({"keyspan":1,"merged":"ascending","feeds":[],"check":"00000000"})")
            .ends_with("this is the cursor of a merge, not of a feed: merged_cursor reads it"));
  CHECK(refusal_of(R"({"keyspan":"1"})").ends_with("expected a number, found a string"));
  CHECK(refusal_of("[]").ends_with("expected an object, found an array"));
  CHECK(refusal_of("").ends_with("found the end of the text"));
}

TEST_CASE("every member stands there once, and no other") {
  slot_cursor const made{
      .container = "t", .scheme = "redis_cluster", .parts = {{{1, 2}, from_now}}};
  auto const text = made.to_text();
  for (std::string_view const member :
       {R"("keyspan":1,)", R"("container":"t",)", R"("scheme":"redis_cluster",)",
        R"("mode":"latest_version",)", R"("lower":"1",)", R"("upper":"2",)"}) {
    auto without = text;
    without.erase(without.find(member), member.size());
    auto const name = member.substr(0, member.find(':'));
    CHECK(refusal_of(without).ends_with("the member " + std::string{name} + " is missing"));
    auto twice = text;
    twice.insert(text.find(member), member);
    CHECK(refusal_of(twice).find("expected each name once in an object") != std::string::npos);
    auto other = text;
    other.insert(text.find(member), R"("extra":null,)");
    CHECK(refusal_of(other).ends_with(R"( has no member "extra")"));
  }
  CHECK(refusal_of(text.substr(0, text.find(",\"parts\"")) + "}")
            .ends_with("the member \"parts\" is missing"));
  CHECK(refusal_of(text.substr(0, text.find(",\"check\"")) + "}")
            .ends_with("the member \"check\" is missing"));
  CHECK(refusal_of(text + "x").ends_with("expected the end of the text, found 'x'"));
}

TEST_CASE("a check that differs is told with both") {
  slot_cursor const made{
      .container = "t", .scheme = "redis_cluster", .parts = {{{1, 2}, from_now}}};
  auto text = made.to_text();
  text.replace(text.size() - 10, 8, "00000000");
  auto const read = slot_cursor::from_text(redis_cluster, text);
  CHECK(read.error().code == errc::malformed);
  CHECK(read.error().position.offset == text.size() - 11);
  CHECK(read.error().text == "the check is 00000000, that of these values is " +
                                 made.to_text().substr(text.size() - 10, 8) +
                                 ": something was changed after the text was written");
}

TEST_CASE("a part that no feed has is refused with its place") {
  CHECK(part_refusal(R"({"lower":"2","upper":"2","start":"now"})") ==
        "invalid_range: there is no token from 2 on and before 2");
  CHECK(part_refusal(R"({"lower":"3","upper":"2","start":"now"})") ==
        "invalid_range: there is no token from 3 on and before 2");
  CHECK(part_refusal(R"({"lower":null,"upper":"2","start":"now"})") ==
        "malformed: expected a string, found null");
  CHECK(part_refusal(R"({"lower":1,"upper":"2","start":"now"})") ==
        "malformed: expected a string, found a number");
  CHECK(part_refusal(R"({"lower":"16384","upper":null,"start":"now"})") ==
        "not_representable: no token of redis_cluster is 16384");
  CHECK(part_refusal(R"({"lower":"1","upper":"65536","start":"now"})") ==
        "not_representable: a token is from 0 to 65535, not 65536");
  CHECK(part_refusal(R"({"lower":"99999999999999999999","upper":null,"start":"now"})") ==
        "not_representable: a token is from 0 to 65535, not 99999999999999999999");
  for (std::string_view const digits :
       {"", "-1", "-0", "01", "+1", " 1", "1 ", "1.0", "1e1", "0x1", "one"})
    CHECK(
        part_refusal(R"({"lower":")" + std::string{digits} + R"(","upper":null,"start":"now"})") ==
        "malformed: a token is a whole number in decimal, not \"" + std::string{digits} + "\"");
  CHECK(part_refusal(R"({"lower":"1","upper":"2"})") ==
        "malformed: a part has \"start\" or \"at\"");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","start":"now","at":"x"})") ==
        "malformed: a part has \"start\" or \"at\", not both");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","at":""})") ==
        "malformed: \"at\" is a text, or is left out");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","start":"soon"})") ==
        "malformed: a start is beginning, now or time, not \"soon\"");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","start":"time"})") ==
        "malformed: a part has \"time\" where its start is time, and nowhere else");
  CHECK(part_refusal(
            R"({"lower":"1","upper":"2","start":"now","time":"2009-02-13T23:31:30.123Z"})") ==
        "malformed: a part has \"time\" where its start is time, and nowhere else");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","start":"time","time":"2009-02-13T23:31:30Z"})") ==
        "malformed: the time is written as 2009-02-13T23:31:30.000Z, not \"2009-02-13T23:31:30Z\"");
  CHECK(
      part_refusal(R"({"lower":"1","upper":"2","start":"time","time":"2009-02-30T23:31:30.000Z"})")
          .starts_with("malformed: expected a moment such as"));
  CHECK(part_refusal(R"({"lower":"1","upper":"2","at":{"hex":"61"}})") ==
        "malformed: what can be written as a string is not written in hexadecimal");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","at":{}})") ==
        "malformed: the member \"hex\" is missing");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","at":{"hex":"FG"}})") ==
        "malformed: not a hexadecimal digit");
  CHECK(part_refusal(R"({"lower":"1","upper":"2","at":{"oct":"FG"}})").ends_with("member \"oct\""));
  CHECK(part_refusal("7") == "malformed: expected an object, found a number");
  CHECK(refusal_of(with_parts("[]")).ends_with("a cursor has a part at least"));
  CHECK(refusal_of(with_part("\n{\"lower\":\"3\",\n\"upper\":\"2\",\"start\":\"now\"}"))
            .starts_with("invalid_range at line 3, column 26: "));
}

TEST_CASE("tokens that a scheme does not have are refused in its own words") {
  composite_cursor<token128> const made{.scheme = "cosmos_v2", .parts = {{{at("20"), space_end}}}};
  auto text = made.to_text();
  text.replace(text.find("\"2000"), 2, "\"4");
  auto const read = composite_cursor<token128>::from_text(cosmos_v2, text);
  CHECK(read.error().code == errc::not_representable);
  CHECK(read.error().text.view().starts_with("a token of cosmos_v2 is below 40"));

  composite_cursor<keyspan::inline_text<4>> wide{.scheme = "short_words"};
  wide.parts.push_back({{keyspan::inline_text<4>{"abcd"}, space_end}});
  auto longer = wide.to_text();
  longer.insert(longer.find("abcd"), 1, 'a');
  CHECK(composite_cursor<keyspan::inline_text<4>>::from_text(short_words_scheme{}, longer)
            .error()
            .code == errc::too_large);
}

TEST_CASE("a key that is none is refused") {
  auto const with_key = [](std::string_view key) {
    auto text = with_part(R"({"lower":"1","upper":"2","start":"now"})");
    text.insert(text.find("\"parts\""), "\"key\":" + std::string{key} + ",");
    return refusal_of(text);
  };
  CHECK(with_key("[[]]").starts_with("not_a_key at line 1, column "));
  CHECK(with_key("[{\"a\":1}]").starts_with("not_a_key"));
  CHECK(with_key("[1,2,3,4]").starts_with("too_large"));
  CHECK(with_key("[1e999]").starts_with("not_representable"));
  CHECK(with_key("\"a\"").ends_with("expected an array, found a string"));
  CHECK(with_key("[\"a\",]").starts_with("malformed"));
  CHECK(with_key("[\"\\ud800\"]").starts_with("invalid_utf8"));
}

TEST_CASE("parts that overlap are named by what both read") {
  auto const parts = [](std::string_view first, std::string_view second) {
    return with_parts("[{\"lower\":\"500\",\"upper\":\"600\",\"start\":\"now\"}," +
                      std::string{first} + "," + std::string{second} + "]");
  };
  CHECK(refusal_of(parts(R"({"lower":"0","upper":"20","at":"x"})",
                         R"({"lower":"10","upper":"30","at":"y"})")) ==
        "overlap at line 1, column 168: two parts both read 10 to 20");
  CHECK(refusal_of(parts(R"({"lower":"10","upper":null,"at":"x"})",
                         R"({"lower":"0","upper":"11","at":"y"})"))
            .ends_with("two parts both read 10 to 11"));
  CHECK(refusal_of(
            parts(R"({"lower":"7","upper":"8","at":"x"})", R"({"lower":"7","upper":"8","at":"x"})"))
            .ends_with("two parts both read 7 to 8"));
  CHECK(refusal_of(parts(R"({"lower":"0","upper":"10","at":"x"})",
                         R"({"lower":"10","upper":"30","at":"y"})"))
            .find("the check is") != std::string::npos);
}

TEST_CASE("a cursor of many parts is read in few allocations and little time") {
  slot_cursor made{.container = "t", .scheme = "redis_cluster"};
  for (std::uint16_t slot = 16382; slot > 0; --slot)
    made.parts.push_back({{slot, static_cast<std::uint16_t>(slot + 1)}, continuation{"12"}});
  auto const text = made.to_text();
  CHECK(text.size() > 500'000);
  bool is_same = false;
  auto const allocations =
      test::allocations_in([&] { is_same = slot_cursor::from_text(redis_cluster, text) == made; });
  CHECK(is_same);
  CHECK(allocations < 60);
}

TEST_CASE("a text that nests without end or has names without end is refused") {
  auto const deep = std::string(100'000, '[');
  CHECK(refusal_of("{\"a\":" + deep).starts_with("too_large"));
  std::string names = "{";
  for (int i = 0; i < 5000; ++i) names += "\"n" + std::to_string(i) + "\":0,";
  CHECK(refusal_of(names + "\"keyspan\":1}").starts_with("too_large"));
}

}  // namespace
