// test/lease/lease_record_test.cpp — the text of records: one stable form, and what was mistyped
// in one is told with its place.
#include <keyspan/core/print.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
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
using keyspan::errc;
using keyspan::from_beginning;
using keyspan::from_now;
using keyspan::instant;
using keyspan::layout_record;
using keyspan::lease_phase;
using keyspan::lease_record;
using keyspan::member_phase;
using keyspan::member_record;
using keyspan::redis_cluster;
using keyspan::result;
using keyspan::session_id;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_of_scheme;
using keyspan::token_range;
using test::check;
using namespace std::chrono_literals;

using slot_record = lease_record<std::uint16_t>;

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
using words_record = lease_record<std::string>;

static_assert(keyspan::textual<slot_record>);
static_assert(keyspan::textual<lease_record<token128>>);
static_assert(keyspan::textual<member_record> && keyspan::textual<layout_record>);

token128 at(std::string_view digits) { return *cosmos_v2.from_hex(digits); }

TEST_CASE("the example of lease_record reads as it should") {
  // [region: example]
  using keyspan::cosmos_v2;
  using record = keyspan::lease_record<keyspan::token128>;
  auto const half = *cosmos_v2.from_hex("20");
  record kept{.range = {half, keyspan::space_end}};
  kept.facts.owner = keyspan::session_id{0x1F};
  kept.facts.epoch = 7;
  kept.position = {.container = "Ab3xAJ",
                   .scheme = "cosmos_v2",
                   .parts = {{kept.range, keyspan::continuation{"\"12\""}}}};
  std::string text = kept.to_text();
  check(record::from_text(cosmos_v2, text) == kept);

  // An administrator wants the work on it to rest.
  text.insert(text.rfind('}'), R"(, "paused": "until the sink is mended")");
  check(record::from_text(cosmos_v2, text)->paused == "until the sink is mended");

  text.replace(text.find("paused"), 6, "pausd");
  auto const refused = record::from_text(cosmos_v2, text);
  check(refused.error().text == "the record of a lease has no member \"pausd\"");
  // [end: example]
}

// What stores keep must be read for ever: these texts never change.
constexpr std::string_view golden_lease =
    R"({"keyspan":1,"lease":{"lower":"20000000000000000000000000000000","upper":null},)"
    R"("phase":"ended","detached":true,"owner":"fedcba9876543210",)"
    R"("owner_name":"Zoë \"Z\"","epoch":7,"sequence":18446744073709551615,)"
    R"("stamp":{"session":"0123456789abcdef","number":9007199254740993},)"
    R"("held_for_ns":15000000001,"place":"00000000000000ff",)"
    R"("position":"{\"keyspan\":1,\"container\":\"Ab3xAJ\",\"scheme\":\"cosmos_v2\",)"
    R"(\"mode\":\"latest_version\",\"parts\":[)"
    R"({\"lower\":\"30000000000000000000000000000000\",\"upper\":null,\"start\":\"now\"},)"
    R"({\"lower\":\"20000000000000000000000000000000\",)"
    R"(\"upper\":\"30000000000000000000000000000000\",\"at\":\"\\\"12\\\"\"}],)"
    R"(\"check\":\"5BEB8888\"}",)"
    R"("parents":[{"lower":"20000000000000000000000000000000",)"
    R"("upper":"30000000000000000000000000000000"},)"
    R"({"lower":"30000000000000000000000000000000","upper":null}],)"
    R"("children":[{"lower":"","upper":null}],)"
    R"("attempts":{"sequence":120,"count":4294967295},"weight":0.1,)"
    R"("paused":{"hex":"00FF"},)"
    R"("reset":"{\"keyspan\":1,\"container\":\"Ab3xAJ\",\"scheme\":\"cosmos_v2\",)"
    R"(\"mode\":\"latest_version\",\"parts\":[)"
    R"({\"lower\":\"20000000000000000000000000000000\",\"upper\":null,)"
    R"(\"start\":\"beginning\"}],\"check\":\"2701E47A\"}"})";

lease_record<token128> golden_record() {
  lease_record<token128> made{.range = {at("20"), space_end}};
  made.facts = {.phase = lease_phase::ended,
                .is_detached = true,
                .owner = {0xFEDC'BA98'7654'3210},
                .epoch = 7,
                .sequence = ~std::uint64_t{0},
                .stamp = {{0x0123'4567'89AB'CDEF}, 9'007'199'254'740'993},
                .held_for = std::chrono::duration_cast<instant::duration>(15s + 1ns),
                .place = 0xFF};
  made.owner_name = "Zo\xC3\xAB \"Z\"";
  made.position = {.container = "Ab3xAJ", .scheme = "cosmos_v2"};
  made.position.parts.push_back({{at("30"), space_end}, from_now});
  made.position.parts.push_back({{at("20"), at("30")}, continuation{"\"12\""}});
  made.parents = {{at("20"), at("30")}, {at("30"), space_end}};
  made.children = {{at(""), space_end}};
  made.attempts = {.sequence = 120, .count = 4'294'967'295};
  made.weight = 0.1;
  made.paused = std::string{"\0\xFF", 2};
  made.reset = composite_cursor<token128>{.container = "Ab3xAJ", .scheme = "cosmos_v2"};
  made.reset->parts.push_back({{at("20"), space_end}, from_beginning});
  return made;
}

constexpr std::string_view golden_slots =
    R"({"keyspan":1,"lease":{"lower":"0","upper":"100"},"phase":"open",)"
    R"("owner":"0000000000000000","epoch":0,"sequence":0,)"
    R"("stamp":{"session":"0000000000000000","number":0},"held_for_ns":0,)"
    R"("position":"{\"keyspan\":1,\"container\":\"t\",\"scheme\":\"redis_cluster\",)"
    R"(\"mode\":\"latest_version\",\"parts\":[)"
    R"({\"lower\":\"0\",\"upper\":\"100\",\"start\":\"beginning\"}],\"check\":\"574C1A9D\"}"})";

// Slots with a position of these borders.
slot_record slots(token_range<std::uint16_t> const& range, std::vector<std::uint16_t> cuts = {}) {
  slot_record made{.range = range};
  made.position = {.container = "t", .scheme = "redis_cluster"};
  for (auto const& part : split(range, std::span<std::uint16_t const>{cuts}))
    made.position.parts.push_back({part, from_beginning});
  return made;
}

TEST_CASE("the text of a lease is the one it has always been") {
  CHECK(golden_record().to_text() == golden_lease);
  CHECK(lease_record<token128>::from_text(cosmos_v2, golden_lease) == golden_record());
  CHECK(slots({0, 100}).to_text() == golden_slots);
  CHECK(slot_record::from_text(redis_cluster, golden_slots) == slots({0, 100}));
  std::ostringstream out;
  out << golden_record();
  CHECK(out.str() == golden_lease);
}

constexpr std::string_view golden_member =
    R"({"keyspan":1,"member":"00000000000000ff","name":"Zoë","phase":"draining",)"
    R"("beat":18446744073709551615,"held_for_ns":9223372036854775807,"least":1,)"
    R"("most":4294967295,"place":"fedcba9876543210","zone":"0000000000000001"})";
constexpr std::string_view golden_new_member =
    R"({"keyspan":1,"member":"0000000000000001","phase":"live","beat":0,"held_for_ns":0})";

member_record golden_host() {
  return {
      .session = {0xFF},
      .name = "Zo\xC3\xAB",
      .phase = member_phase::draining,
      .beat = ~std::uint64_t{0},
      .held_for = std::chrono::duration_cast<instant::duration>((std::chrono::nanoseconds::max)()),
      .least = 1,
      .most = 4'294'967'295,
      .place = 0xFEDC'BA98'7654'3210,
      .zone = 1};
}

TEST_CASE("the text of a member is the one it has always been") {
  CHECK(golden_host().to_text() == golden_member);
  CHECK(member_record::from_text(golden_member) == golden_host());
  CHECK(member_record{.session = {1}}.to_text() == golden_new_member);
  CHECK(member_record::from_text(golden_new_member) == member_record{.session = {1}});
  std::ostringstream out;
  out << golden_host();
  CHECK(out.str() == golden_member);
}

TEST_CASE("the text of the layout is the one it has always been") {
  CHECK(layout_record{}.to_text() == R"({"keyspan":1,"layout":0})");
  constexpr std::string_view greatest = R"({"keyspan":1,"layout":18446744073709551615})";
  CHECK(layout_record{~std::uint64_t{0}}.to_text() == greatest);
  CHECK(layout_record::from_text(greatest) == layout_record{~std::uint64_t{0}});
  CHECK(layout_record::from_text(" { \"layout\" : 7 ,\n\"keyspan\":1 }") == layout_record{7});
}

TEST_CASE("every phase has a name that is read again") {
  for (auto const phase :
       {member_phase::live, member_phase::draining, member_phase::away, member_phase::fenced}) {
    member_record const made{.session = {5}, .phase = phase};
    CHECK(made.to_text().find(name_of(phase)) != std::string::npos);
    CHECK(member_record::from_text(made.to_text()) == made);
  }
  for (auto const phase : {lease_phase::open, lease_phase::ended}) {
    auto made = slots({0, 1});
    made.facts.phase = phase;
    CHECK(slot_record::from_text(redis_cluster, made.to_text()) == made);
  }
}

TEST_CASE("records are read in any order of members, with any white space and escapes") {
  auto plain = slots({7, space_end}, {8000});
  plain.owner_name = "ada";
  plain.facts.stamp = {{2}, 3};
  plain.attempts = {4, 5};
  plain.parents = {{7, 8}};
  plain.weight = 12;
  std::string escaped;
  for (char const c : plain.position.to_text()) (escaped += c == '"' ? "\\" : "") += c;
  std::string const other =
      "\n{\t\"weight\" : 1.2e1 , \"parents\":[ {\"upper\":\"8\",\"lower\" : \"7\"} ],\r\n"
      "\"position\":\"" +
      escaped +
      "\",\"held_for_ns\":0,\"attempts\":{\"count\":5,\"sequence\":4},"
      "\"stamp\":{\"number\":3,\"session\":\"0000000000000002\"},\"sequence\":0,\"epoch\":0,"
      "\"owner_n\\u0061me\":\"\\u0061da\",\"owner\":\"0000000000000000\",\"phase\":\"\\u006fpen\","
      "\"lease\":{\"upper\":null,\"lower\":\"7\"},\"keyspan\":1} ";
  auto const read = slot_record::from_text(redis_cluster, other);
  if (!read) FAIL(read.error());
  CHECK(*read == plain);

  auto const host = member_record::from_text(
      "{\"zone\":\"0000000000000002\", \"beat\":3,\"held_for_ns\":4, \"phase\":\"away\",\n"
      "\"keyspan\":1, \"member\":\"0000000000000009\"}");
  if (!host) FAIL(host.error());
  CHECK(*host == member_record{.session = {9},
                               .phase = member_phase::away,
                               .beat = 3,
                               .held_for = std::chrono::duration_cast<instant::duration>(4ns),
                               .zone = 2});
}

TEST_CASE("what is left out because it says nothing may be written all the same") {
  auto text = slots({0, 100}).to_text();
  text.insert(text.size() - 1,
              R"(,"detached":false,"owner_name":"","place":"0000000000000000","parents":[],)"
              R"("children":[],"attempts":{"sequence":0,"count":0},"weight":-0,"paused":"")");
  auto const read = slot_record::from_text(redis_cluster, text);
  if (!read) FAIL(read.error());
  CHECK(*read == slots({0, 100}));
  CHECK(read->to_text() == golden_slots);

  std::string host{golden_new_member};
  host.insert(host.size() - 1, R"(,"name":"","least":0,"most":0,"place":"0000000000000000",)"
                               R"("zone":"0000000000000000")");
  CHECK(member_record::from_text(host)->to_text() == golden_new_member);
}

TEST_CASE("names and tokens that are no UTF-8 are kept as well") {
  std::string const zero{"a\0b", 3};
  std::string const half_pair = "\xED\xA0\x80";
  words_record made{.range = {zero, half_pair}};
  made.owner_name = "\xFF";
  made.paused = "\xC0 because";
  made.parents = {{std::string{}, half_pair}, {half_pair, space_end}};
  made.position = {.container = "\xFE", .scheme = "words"};
  made.position.parts.push_back({made.range, continuation{"\xC0"}});
  auto const text = made.to_text();
  CHECK(keyspan::is_utf8(text));
  CHECK(text.find('\0') == std::string::npos);
  CHECK(text.find(R"("lease":{"lower":"a\u0000b","upper":{"hex":"EDA080"}})") != std::string::npos);
  CHECK(text.find(R"("owner_name":{"hex":"FF"})") != std::string::npos);
  CHECK(words_record::from_text(words_scheme{}, text) == made);

  member_record const host{.session = {1}, .name = half_pair + zero};
  CHECK(member_record::from_text(host.to_text()) == host);
}

// Laws over random records.

std::string any_text(test::random& random) {
  std::string text;
  for (auto left = random.below(12); left > 0; --left)
    text += static_cast<char>(random.chance(90) ? 'a' + static_cast<int>(random.below(26))
                                                : static_cast<int>(random.below(256)) - 128);
  return text;
}

// Small numbers, numbers of each length, the greatest.
std::uint64_t any_number(test::random& random) {
  if (random.chance(30)) return random.below(3);
  return random.chance(10) ? ~std::uint64_t{0} : random() >> random.below(64);
}

instant::duration any_duration(test::random& random) {
  return std::chrono::duration_cast<instant::duration>(
      std::chrono::nanoseconds{static_cast<std::int64_t>(any_number(random) >> 1)});
}

template <class Token>
composite_cursor<Token> any_position(token_range<Token> const& range, std::string_view scheme,
                                     std::vector<Token> const& tokens, test::random& random) {
  composite_cursor<Token> made{.container = any_text(random), .scheme = std::string{scheme}};
  std::vector<Token> cuts;
  for (Token const& token : tokens)
    if (range.lower() < token && range.upper() > token && random.chance(40)) cuts.push_back(token);
  for (auto const& part : split(range, std::span<Token const>{cuts})) {
    if (random.chance(50)) {
      made.parts.push_back({part, continuation{"\"" + any_text(random) + "\""}});
    } else {
      made.parts.push_back({part, from_now});
    }
  }
  random.shuffle(made.parts);
  return made;
}

template <class Scheme>
lease_record<token_of_scheme<Scheme>> any_record(Scheme const& scheme, test::random& random) {
  using token_type = token_of_scheme<Scheme>;
  std::vector<token_type> tokens{scheme.minimum()};
  for (auto left = 1 + random.below(7); left > 0; --left) {
    std::string const text = "key" + std::to_string(random());
    result<token_type> const token = keyspan::token_of(scheme, std::string_view{text});
    tokens.push_back(token.value());
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  auto const any_range = [&]() -> token_range<token_type> {
    auto const lower = random.below(tokens.size());
    auto const upper = lower + 1 + random.below(tokens.size() - lower);
    if (upper == tokens.size()) return {tokens[lower], space_end};
    return {tokens[lower], tokens[upper]};
  };
  std::string_view const name{scheme.name()};
  lease_record<token_type> made{.range = any_range()};
  made.facts = {.phase = random.chance(30) ? lease_phase::ended : lease_phase::open,
                .is_detached = random.chance(30),
                .owner = {any_number(random)},
                .epoch = any_number(random),
                .sequence = any_number(random),
                .stamp = {{any_number(random)}, any_number(random)},
                .held_for = any_duration(random),
                .place = any_number(random)};
  made.owner_name = any_text(random);
  made.position = any_position(made.range, name, tokens, random);
  for (auto left = random.below(3); left > 0; --left) made.parents.push_back(any_range());
  for (auto left = random.below(3); left > 0; --left) made.children.push_back(any_range());
  made.attempts = {any_number(random), static_cast<std::uint32_t>(any_number(random))};
  if (double const weight = random.any_finite_double(); weight > 0) made.weight = weight;
  made.paused = any_text(random);
  if (random.chance(30)) made.reset = any_position(made.range, name, tokens, random);
  return made;
}

member_record any_member(test::random& random) {
  return {.session = {any_number(random) % 0xFFFF'FFFF + 1},
          .name = any_text(random),
          .phase = static_cast<member_phase>(random.below(4)),
          .beat = any_number(random),
          .held_for = any_duration(random),
          .least = static_cast<std::uint32_t>(any_number(random)),
          .most = static_cast<std::uint32_t>(any_number(random)),
          .place = any_number(random),
          .zone = any_number(random)};
}

template <class F>
void each_scheme(F const& f) {
  f(keyspan::cosmos_v1);
  f(keyspan::cosmos_v2);
  f(keyspan::cosmos_multihash);
  f(keyspan::any_scheme{keyspan::cosmos_v2});
  f(redis_cluster);
  f(keyspan::cassandra);
  f(keyspan::fast64);
  f(keyspan::identity);
  f(words_scheme{});
}

TEST_CASE("leases that are written are read, in every scheme") {
  test::random random{40};
  each_scheme([&](auto const& scheme) {
    using record = lease_record<token_of_scheme<std::decay_t<decltype(scheme)>>>;
    for (int i = 0; i < 60; ++i) {
      auto const made = any_record(scheme, random);
      auto const text = made.to_text();
      CHECK(keyspan::is_utf8(text));
      auto const read = record::from_text(scheme, text);
      if (!read) FAIL(read.error() << " in " << text);
      if (!(*read == made)) FAIL_CHECK("not the same: " << text);
      CHECK(read->to_text() == text);
    }
  });
}

TEST_CASE("members that are written are read") {
  test::random random{41};
  for (int i = 0; i < 300; ++i) {
    auto const made = any_member(random);
    auto const read = member_record::from_text(made.to_text());
    if (!read) FAIL(read.error() << " in " << made.to_text());
    CHECK(*read == made);
  }
}

TEST_CASE("no two records that differ have one text") {
  auto const differs = [](auto const& change) {
    auto made = slots({0, 100});
    change(made);
    CHECK(made.to_text() != golden_slots);
    CHECK(slot_record::from_text(redis_cluster, made.to_text()) == made);
  };
  differs([](slot_record& r) { r.facts.phase = lease_phase::ended; });
  differs([](slot_record& r) { r.facts.is_detached = true; });
  differs([](slot_record& r) { r.facts.owner = {1}; });
  differs([](slot_record& r) { r.facts.epoch = 1; });
  differs([](slot_record& r) { r.facts.sequence = 1; });
  differs([](slot_record& r) { r.facts.stamp.session = {1}; });
  differs([](slot_record& r) { r.facts.stamp.number = 1; });
  differs([](slot_record& r) { r.facts.held_for = 1ms; });
  differs([](slot_record& r) { r.facts.place = 1; });
  differs([](slot_record& r) { r.owner_name = "a"; });
  differs([](slot_record& r) { r.position.container = "a"; });
  differs([](slot_record& r) { r.position.parts[0].from = from_now; });
  differs([](slot_record& r) { r.parents = {{0, 1}}; });
  differs([](slot_record& r) { r.children = {{0, 1}}; });
  differs([](slot_record& r) { r.attempts.sequence = 1; });
  differs([](slot_record& r) { r.attempts.count = 1; });
  differs([](slot_record& r) { r.weight = 0x1p-1074; });
  differs([](slot_record& r) { r.paused = "a"; });
  differs([](slot_record& r) { r.reset = r.position; });
}

TEST_CASE("a weight that is no finite number has no text") {
  auto made = slots({0, 100});
  for (double const weight :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    made.weight = weight;
    CHECK(test::promise_broken_by([&] { return made.to_text(); }) ==
          "the weight of a lease is a finite number");
  }
}

// What is wrong, and where.

template <class Read>
std::string said_of(Read const& read) {
  return read ? std::string{} : std::string{read.error().to_text().view()};
}
std::string refusal_of(std::string_view text) {
  return said_of(slot_record::from_text(redis_cluster, text));
}
std::string member_refusal_of(std::string_view text) {
  return said_of(member_record::from_text(text));
}
std::string layout_refusal_of(std::string_view text) {
  return said_of(layout_record::from_text(text));
}

// A text with the first `from` in it replaced.
std::string changed(std::string_view text, std::string_view from, std::string_view to) {
  std::string made{text};
  auto const begin = made.find(from);
  keyspan::expects(begin != made.npos, "what is to be changed is there");
  return made.replace(begin, from.size(), to);
}
std::string with(std::string_view member) {
  std::string made{golden_slots};
  return made.insert(made.size() - 1, "," + std::string{member});
}

TEST_CASE("another version and another kind of record are named, whatever else the text has") {
  CHECK(refusal_of(R"({"keyspan":2,"cells":[]})") ==
        "unsupported at line 1, column 12: the record is of version 2; this library reads version "
        "1");
  CHECK(refusal_of("{\"lease\":[{}],\n \"keyspan\": 7}")
            .starts_with("unsupported at line 2, column 13"));
  CHECK(refusal_of(golden_member) ==
        "malformed at line 1, column 14: this is the record of a member, not of a lease: "
        "member_record reads it");
  CHECK(refusal_of(R"({"keyspan":1,"layout":1})")
            .ends_with("this is the record of the layout, not of a lease: layout_record reads it"));
  CHECK(member_refusal_of(golden_slots)
            .ends_with("this is the record of a lease, not of a member: lease_record reads it"));
  CHECK(layout_refusal_of(golden_member)
            .ends_with("this is the record of a member, not of the layout: member_record reads "
                       "it"));
  CHECK(refusal_of(R"({"keyspan":1,"phase":"open","member":3})")
            .starts_with("malformed at line 1, column 29: this is the record of a member"));
  CHECK(refusal_of(slots({0, 1}).position.to_text())
            .ends_with("no record of a lease: the member \"lease\" is missing"));
  CHECK(member_refusal_of("{\"keyspan\":1}") ==
        "malformed at line 1, column 13: no record of a member: the member \"member\" is missing");
  CHECK(layout_refusal_of(R"({"V":2,"Rid":"x"})") ==
        "malformed at line 1, column 17: no record: the member \"keyspan\" is missing");
  CHECK(refusal_of(R"({"keyspan":"1"})").ends_with("expected a number, found a string"));
  CHECK(refusal_of("[]").ends_with("expected an object, found an array"));
  CHECK(refusal_of("").ends_with("found the end of the text"));
  CHECK(member_refusal_of("").ends_with("found the end of the text"));
  CHECK(layout_refusal_of("7").ends_with("expected an object, found a number"));
}

// Every member of an object, as it stands in its text.
std::vector<std::string> members_of(std::string_view text) {
  keyspan::json_reader in{text};
  std::vector<std::string> made;
  std::string_view name;
  in.begin_object();
  while (in.next_member(name)) {
    auto const value = in.skip();
    made.push_back("\"" + std::string{name} + "\":" + std::string{value});
  }
  return made;
}
std::string object_of(std::vector<std::string> const& members) {
  std::string text = "{";
  for (auto const& member : members) text.append(member).append(1, ',');
  text.back() = '}';
  return text;
}

template <class Refusal>
void every_member_stands_there_once(std::string_view text, std::string_view kind,
                                    std::string_view may_be_missing, Refusal const& refusal) {
  auto const members = members_of(text);
  CHECK(object_of(members) == text);
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto const name = members[i].substr(0, members[i].find(':'));
    auto some = members;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(i));
    auto const said = refusal(object_of(some));
    if (may_be_missing.find(name) != may_be_missing.npos) {
      CHECK(said == "");
    } else {
      CHECK(said.ends_with("the member " + name + " is missing"));
    }
    for (std::size_t j = 0; j <= members.size(); ++j) {
      auto twice = members;
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(j), members[i]);
      CHECK(refusal(object_of(twice)).find("expected each name once in an object") !=
            std::string::npos);
    }
    auto other = members;
    other.insert(other.begin() + static_cast<std::ptrdiff_t>(i), "\"extra\":null");
    auto const place = " at line 1, column " + std::to_string(object_of(other).find("\"ex") + 1);
    // Columns count characters, and one of the names has one of two bytes.
    CHECK(refusal(object_of(other))
              .ends_with(": the record of " + std::string{kind} + " has no member \"extra\""));
    if (text.find("\xC3") == text.npos) CHECK(refusal(object_of(other)).find(place) != place.npos);
  }
  CHECK(refusal(std::string{text} + "x").ends_with("expected the end of the text, found 'x'"));
  for (std::size_t i = 0; i < text.size(); ++i)
    if (refusal(text.substr(0, i)).empty()) FAIL_CHECK("cut at " << i);
}

TEST_CASE("every member of a record stands there once, and no other") {
  every_member_stands_there_once(
      golden_lease, "a lease",
      R"("detached" "owner_name" "place" "parents" "children" "attempts" "weight" "paused" "reset")",
      [](std::string_view text) {
        return said_of(lease_record<token128>::from_text(cosmos_v2, text));
      });
  every_member_stands_there_once(golden_slots, "a lease", "", refusal_of);
  every_member_stands_there_once(golden_member, "a member",
                                 R"("name" "least" "most" "place" "zone")", member_refusal_of);
  every_member_stands_there_once(R"({"keyspan":1,"layout":5})", "the layout", "",
                                 layout_refusal_of);
}

// What is said, without the place.
std::string words_of(std::string_view said) {
  auto const colon = said.find(": ");
  return std::string{said.substr(0, said.find(" at line"))}.append(said.substr(colon));
}

TEST_CASE("a range that is none is refused with its place") {
  auto const range = [](std::string_view text) {
    return words_of(refusal_of(changed(golden_slots, R"({"lower":"0","upper":"100"})", text)));
  };
  CHECK(range(R"({"lower":"2","upper":"2"})") ==
        "invalid_range: there is no token from 2 on and before 2");
  CHECK(range(R"({"lower":"3","upper":"2"})") ==
        "invalid_range: there is no token from 3 on and before 2");
  CHECK(range(R"({"lower":"3"})") == "malformed: the member \"upper\" is missing");
  CHECK(range(R"({"upper":null})") == "malformed: the member \"lower\" is missing");
  CHECK(range(R"({"lower":null,"upper":"2"})") == "malformed: expected a string, found null");
  CHECK(range(R"({"lower":"1","upper":2})") == "malformed: expected a string, found a number");
  CHECK(range(R"({"lower":"1","upper":"2","at":"x"})") ==
        "malformed: a range has no member \"at\"");
  CHECK(range(R"({"lower":"16384","upper":null})") ==
        "not_representable: no token of redis_cluster is 16384");
  CHECK(range(R"({"lower":"0","upper":"16384"})") ==
        "not_representable: no token of redis_cluster is 16384");
  CHECK(range(R"({"lower":"0","upper":"65536"})") ==
        "not_representable: a token is from 0 to 65535, not 65536");
  CHECK(range(R"({"lower":"01","upper":null})") ==
        "malformed: a token is a whole number in decimal, not \"01\"");
  CHECK(range("[0,100]") == "malformed: expected an object, found an array");
  CHECK(refusal_of(changed(golden_slots, R"("lower":"0",)", "\n\"lower\":\"200\",\n"))
            .starts_with("invalid_range at line 3, column 14: "));

  CHECK(refusal_of(with(R"("parents":[{"lower":"2","upper":"1"}])"))
            .ends_with("there is no token from 2 on and before 1"));
  CHECK(refusal_of(with(R"("children":[{"lower":"1","upper":"2"},{"lower":"1"}])"))
            .ends_with("the member \"upper\" is missing"));
  CHECK(refusal_of(with(R"("children":[{"lower":"1","upper":"2"},7])"))
            .ends_with("expected an object, found a number"));
  CHECK(refusal_of(with(R"("parents":{})")).ends_with("expected an array, found an object"));
}

TEST_CASE("tokens that a scheme does not have are refused in its own words in leases too") {
  auto const read = lease_record<token128>::from_text(
      cosmos_v2, changed(golden_lease, R"("lower":"2)", R"("lower":"4)"));
  CHECK(read.error().code == errc::not_representable);
  CHECK(read.error().text.view().starts_with("a token of cosmos_v2 is below 40"));
}

TEST_CASE("a session, a place and a zone are sixteen digits") {
  for (std::string_view const digits :
       {"", "0", "00000000000000f", "00000000000000fff", "00000000000000FF", "0x000000000000ff"}) {
    std::string const quoted = "\"" + std::string{digits} + "\"";
    std::string const why = "is 16 hexadecimal digits in lower case, not " + quoted;
    CHECK(words_of(refusal_of(changed(golden_slots, R"("0000000000000000")", quoted))) ==
          "malformed: \"owner\" " + why);
    CHECK(words_of(refusal_of(
              changed(golden_slots, R"("session":"0000000000000000")", "\"session\":" + quoted))) ==
          "malformed: \"session\" " + why);
    CHECK(words_of(refusal_of(with("\"place\":" + quoted))) == "malformed: \"place\" " + why);
    CHECK(words_of(member_refusal_of(changed(golden_member, R"("00000000000000ff")", quoted))) ==
          "malformed: \"member\" " + why);
    CHECK(words_of(member_refusal_of(changed(golden_member, R"("fedcba9876543210")", quoted))) ==
          "malformed: \"place\" " + why);
    CHECK(words_of(member_refusal_of(changed(golden_member, R"("0000000000000001")", quoted))) ==
          "malformed: \"zone\" " + why);
  }
  CHECK(refusal_of(with("\"place\":7")).ends_with("expected a string, found a number"));
  for (std::string_view const nobody : {R"("0000000000000000")", R"("ffffffffffffffff")"})
    CHECK(words_of(member_refusal_of(changed(golden_member, R"("00000000000000ff")", nobody))) ==
          "malformed: \"member\" is the session of a host: neither all 0 nor all f");
}

TEST_CASE("numbers are whole, and not larger than they can be") {
  constexpr std::string_view too_large = "18446744073709551616";
  auto const number = [](std::string_view from, std::string_view to) {
    return words_of(refusal_of(changed(golden_slots, from, to)));
  };
  std::string const of_64 =
      "not_representable: expected a whole number from 0 to "
      "18446744073709551615, found ";
  for (std::string_view const found : {"18446744073709551616", "-1", "1.5", "1e3"}) {
    std::string const text{found};
    CHECK(number("\"epoch\":0", "\"epoch\":" + text) == of_64 + text);
    CHECK(number("\"sequence\":0", "\"sequence\":" + text) == of_64 + text);
    CHECK(number("\"number\":0", "\"number\":" + text) == of_64 + text);
    CHECK(words_of(refusal_of(with("\"attempts\":{\"sequence\":" + text + ",\"count\":0}"))) ==
          of_64 + text);
    CHECK(words_of(layout_refusal_of("{\"keyspan\":1,\"layout\":" + text + "}")) == of_64 + text);
    CHECK(words_of(member_refusal_of(
              changed(golden_new_member, "\"beat\":0", "\"beat\":" + text))) == of_64 + text);
  }
  CHECK(number("\"epoch\":0", "\"epoch\":\"7\"") == "malformed: expected a number, found a string");
  std::string const of_32 =
      "not_representable: expected a whole number from 0 to 4294967295, "
      "found 4294967296";
  CHECK(words_of(refusal_of(with(R"("attempts":{"sequence":0,"count":4294967296})"))) == of_32);
  CHECK(words_of(member_refusal_of(
            changed(golden_member, "\"least\":1", "\"least\":4294967296"))) == of_32);
  CHECK(words_of(member_refusal_of(changed(golden_member, "4294967295", "4294967296"))) == of_32);
  CHECK(refusal_of(with(R"("attempts":{"sequence":0})")).ends_with("\"count\" is missing"));
  CHECK(refusal_of(with(R"("attempts":{"count":0})")).ends_with("\"sequence\" is missing"));
  CHECK(refusal_of(with(R"("attempts":{"sequence":0,"count":0,"a":0})"))
            .ends_with("attempts have no member \"a\""));
  CHECK(words_of(refusal_of(changed(golden_slots, ",\"number\":0", ""))) ==
        "malformed: the member \"number\" is missing");
  CHECK(words_of(refusal_of(changed(golden_slots, "\"number\"", "\"count\""))) ==
        "malformed: a stamp has no member \"count\"");
  CHECK(words_of(refusal_of(changed(golden_slots, R"({"session":"0000000000000000",)", "{"))) ==
        "malformed: the member \"session\" is missing");

  CHECK(number("\"held_for_ns\":0", "\"held_for_ns\":-1") ==
        "malformed: \"held_for_ns\" is 0 or more, not -1");
  CHECK(number("\"held_for_ns\":0", "\"held_for_ns\":" + std::string{too_large})
            .starts_with("not_representable: expected a whole number from "));
  CHECK(words_of(member_refusal_of(
            changed(golden_new_member, "\"held_for_ns\":0", "\"held_for_ns\":-5"))) ==
        "malformed: \"held_for_ns\" is 0 or more, not -5");

  CHECK(words_of(refusal_of(with("\"weight\":-1e-300"))) == "malformed: \"weight\" is 0 or more");
  CHECK(words_of(refusal_of(with("\"weight\":1e999"))).starts_with("not_representable: "));
  CHECK(words_of(refusal_of(with("\"weight\":\"1\""))) ==
        "malformed: expected a number, found a string");
}

TEST_CASE("phases and names are what they can be") {
  CHECK(words_of(refusal_of(changed(golden_slots, "\"open\"", "\"Open\""))) ==
        "malformed: a lease is open or ended, not \"Open\"");
  CHECK(words_of(member_refusal_of(changed(golden_member, "\"draining\"", "\"gone\""))) ==
        "malformed: a member is live, draining, away or fenced, not \"gone\"");
  CHECK(refusal_of(with("\"detached\":1")).ends_with("expected a boolean, found a number"));
  CHECK(words_of(refusal_of(with(R"("owner_name":{"hex":"61"})"))) ==
        "malformed: what can be written as a string is not written in hexadecimal");
  CHECK(words_of(refusal_of(with(R"("paused":{"hex":"FG"})"))) ==
        "malformed: not a hexadecimal digit");
  CHECK(words_of(refusal_of(with(R"("paused":{})"))) == "malformed: the member \"hex\" is missing");
  CHECK(words_of(refusal_of(with(R"("paused":{"oct":"7"})"))) ==
        "malformed: bytes are {\"hex\":\"...\"}, without a member \"oct\"");
  CHECK(refusal_of(with("\"paused\":true")).find("expected a string") != std::string::npos);
}

TEST_CASE("what is wrong inside of a position is told with its place in both texts") {
  auto const said = refusal_of(changed(golden_slots, "574C1A9D", "00000000"));
  auto const inside = slots({0, 100}).position.to_text();
  CHECK(said == "malformed at line 1, column " +
                    std::to_string(golden_slots.find("\"{\\\"keyspan") + 1) +
                    ": in the text of \"position\", line 1, column " +
                    std::to_string(inside.find("\"574C1A9D") + 1) +
                    ": the check is 00000000, that of these values is 574C1A9D: something was "
                    "changed after the text was written");
  auto other = slots({0, 100});
  other.position.scheme = "cosmos_v2";
  CHECK(words_of(refusal_of(other.to_text()))
            .starts_with("scheme_mismatch: in the text of \"position\", line 1, column 39: the "
                         "cursor's tokens are of scheme cosmos_v2"));
  other = slots({0, 100});
  other.position.parts.push_back({{10, 20}, from_now});
  CHECK(words_of(refusal_of(other.to_text())).starts_with("overlap: in the text of \"position\""));
  CHECK(refusal_of(other.to_text()).ends_with(": two parts both read 10 to 20"));
  CHECK(refusal_of(with("\"reset\":\"\""))
            .ends_with("in the text of \"reset\", line 1, column 1: expected an object, found the "
                       "end of the text"));
  CHECK(refusal_of(with("\"reset\":null")).ends_with("expected a string, found null"));
  CHECK(refusal_of(with("\"reset\":{}")).ends_with("expected a string, found an object"));
}

TEST_CASE("a position covers the range of its lease, and nothing else") {
  auto const place =
      " at line 1, column " + std::to_string(golden_slots.find("\"{\\\"keyspan") + 1) + ": ";
  auto const fits = [](std::uint16_t lower, std::uint16_t upper,
                       std::vector<token_range<std::uint16_t>> const& parts) {
    slot_record made{.range = {lower, upper}};
    made.position = {.container = "t", .scheme = "redis_cluster"};
    for (auto const& part : parts) made.position.parts.push_back({part, from_now});
    return said_of(slot_record::from_text(redis_cluster, made.to_text()));
  };
  CHECK(fits(10, 20, {{10, 20}}) == "");
  CHECK(fits(10, 20, {{15, 20}, {10, 12}, {12, 15}}) == "");
  auto said = fits(10, 20, {{11, 20}});
  CHECK(words_of(said) == "gap: \"position\" does not fit \"lease\": gap between 10 and 11");
  CHECK(words_of(fits(10, 20, {{10, 15}})) ==
        "gap: \"position\" does not fit \"lease\": gap between 15 and 20");
  CHECK(words_of(fits(10, 20, {{17, 20}, {10, 15}})) ==
        "gap: \"position\" does not fit \"lease\": gap between 15 and 17");
  CHECK(words_of(fits(10, 20, {{10, 21}})) ==
        "invalid_range: \"position\" does not fit \"lease\": a range claims 20 to 21, which is "
        "outside of the whole");
  CHECK(words_of(fits(10, 20, {{0, 5}, {10, 20}})) ==
        "invalid_range: \"position\" does not fit \"lease\": a range claims 0 to 5, which is "
        "outside of the whole");
  CHECK(words_of(fits(10, 20, {{10, 20}, {20, 30}})).starts_with("invalid_range: "));

  auto wide = slots({0, 100});
  wide.position.parts.front().range = {0, 99};
  CHECK(refusal_of(wide.to_text()) ==
        "gap" + place + "\"position\" does not fit \"lease\": gap between 99 and 100");

  auto open = slots({0, space_end}, {50});
  CHECK(refusal_of(open.to_text()) == "");
  open.position.parts.pop_back();
  CHECK(refusal_of(open.to_text()).ends_with("gap between 50 and the end"));
  auto nothing = slots({0, 100});
  nothing.position.parts.clear();
  CHECK(refusal_of(nothing.to_text()).ends_with("a cursor has a part at least"));

  auto again = slots({0, 100});
  again.reset = slots({0, 100}, {7}).position;
  CHECK(refusal_of(again.to_text()) == "");
  again.reset = slots({0, 101}).position;
  CHECK(refusal_of(again.to_text()) ==
        "invalid_range at line 1, column " + std::to_string(golden_slots.size() + 9) +
            ": \"reset\" does not fit \"lease\": a range claims 100 to 101, which is outside of "
            "the whole");
}

TEST_CASE(
    "a byte changed, left out or added gives an error with a place, or a record with a text") {
  auto made = slots({10, 20}, {12});
  made.facts.stamp.number = 12;
  made.owner_name = "ada";
  made.parents = {{10, 15}};
  made.attempts = {1, 2};
  made.weight = 1.5;
  std::string const text = made.to_text();
  std::size_t refused = 0;
  std::size_t taken = 0;
  auto const look = [&](std::string const& other) {
    auto const read = slot_record::from_text(redis_cluster, other);
    if (!read) {
      ++refused;
      if (read.error().text.empty() || !read.error().position ||
          read.error().position.offset > other.size())
        FAIL_CHECK("an error has no words or no place: " << other);
      return;
    }
    ++taken;
    if (!(slot_record::from_text(redis_cluster, read->to_text()) == *read))
      FAIL_CHECK("not read again: " << other);
  };
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      if (byte > 127 && byte % 16 != 0) continue;
      auto other = text;
      if (i < text.size()) {
        other[i] = static_cast<char>(byte);
        look(other);
        other = text;
      }
      other.insert(i, 1, static_cast<char>(byte));
      look(other);
    }
    if (i < text.size()) look(std::string{text}.erase(i, 1));
  }
  CHECK(refused > 80'000);
  CHECK(taken > 1'000);
}

TEST_CASE("a lease of many parts is read in few allocations") {
  slot_record made{.range = {0, 16000}};
  made.position = {.container = "t", .scheme = "redis_cluster"};
  for (std::uint16_t slot = 16000; slot > 0; --slot)
    made.position.parts.push_back(
        {{static_cast<std::uint16_t>(slot - 1), slot}, continuation{"12"}});
  auto const text = made.to_text();
  CHECK(text.size() > 500'000);
  bool is_same = false;
  auto const allocations =
      test::allocations_in([&] { is_same = slot_record::from_text(redis_cluster, text) == made; });
  CHECK(is_same);
  CHECK(allocations < 80);
}

TEST_CASE("a record that nests without end or has names without end is refused") {
  auto const deep = std::string(100'000, '[');
  std::string names = "{";
  for (int i = 0; i < 5000; ++i) names += "\"n" + std::to_string(i) + "\":0,";
  for (auto const& text : {"{\"a\":" + deep, names + "\"keyspan\":1}"}) {
    CHECK(refusal_of(text).starts_with("too_large"));
    CHECK(member_refusal_of(text).starts_with("too_large"));
    CHECK(layout_refusal_of(text).starts_with("too_large"));
  }
}

}  // namespace
