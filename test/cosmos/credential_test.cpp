// test/cosmos/credential_test.cpp — requests are signed as the service signs them, and nothing
// shows a secret.
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/message.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::request;
using keyspan::wall_time;
using keyspan::cosmos::authorize;
using keyspan::cosmos::bearer_token;
using keyspan::cosmos::credential;
using keyspan::cosmos::http_date;
using keyspan::cosmos::master_key;
using keyspan::cosmos::path_name_of;
using keyspan::cosmos::percent_decoded;
using keyspan::cosmos::percent_encoded;
using keyspan::cosmos::resource;
using keyspan::cosmos::resource_token;
using keyspan::cosmos::text_to_sign;
using test::check;

// A key that was made up for this.
constexpr std::string_view key_text =
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

struct vector_row {
  std::string_view method;
  resource what;
  std::string_view link;
  std::string_view date;
  std::string_view signature;
};
constexpr std::string_view april = "Thu, 27 Apr 2017 00:51:12 GMT";
constexpr std::string_view leap_day = "Thu, 29 Feb 2024 23:59:59 GMT";
constexpr std::string_view millennium = "Sat, 01 Jan 2000 00:00:00 GMT";
constexpr vector_row rows[]{
    {"GET", resource::account, "", april, "JSYhHu6IjcMUSoPlOMMjaBtThlkBk+rVQB/bRLD/z+w="},
    {"GET", resource::database, "", leap_day, "wCKBvoGwPhL1NalpimjDaSeEHDIAfSELdIa/70pRGE0="},
    {"GET", resource::database, "dbs/volcanodb1", millennium,
     "8D6hCWTHeh2uBMk6KHo+lGxLyobsyfmwBlMerQn2Ass="},
    {"POST", resource::container, "dbs/volcanodb1", april,
     "qgy1Nlx7EEf9m8TrYXg5lmyv+rq+OaLgr4+ZK7MTKXw="},
    {"GET", resource::container, "dbs/volcanodb1/colls/Volcano1", leap_day,
     "PixgrfwG4Og/LSacz8pYBEFiXYIvjSZm4CKaqCxo8FA="},
    {"GET", resource::partition_range, "dbs/volcanodb1/colls/Volcano1", millennium,
     "kfkC7L2hzZJrh2kbUoOhgfNnBhkWidjH7o8DYN7j6eM="},
    {"GET", resource::document, "dbs/volcanodb1/colls/Volcano1", april,
     "L6BEfjwGS5pmfEex5WszTT5wUdO/bsHJwlcwx0rqzMQ="},
    {"POST", resource::document, "dbs/volcanodb1/colls/Volcano1", leap_day,
     "av4s8/qLsMA2JBpJNPNA1UMNJUbP9EAcwLO6le099VY="},
    {"GET", resource::document, "dbs/volcanodb1/colls/Volcano1/docs/Item-1", millennium,
     "PxKbQX9WLoplbqMpsAfXotBHlHjJwGylMoT42WL6rMM="},
    {"DELETE", resource::document, "dbs/volcanodb1/colls/Volcano1/docs/\u00e9 \u96fb", april,
     "OQ0d0HNJFpZkkOGxGGqX4OG2MQeeBqEXXCD+t5w1zkU="},
    {"PATCH", resource::document, "dbs/d/colls/c/docs/x", leap_day,
     "8SL/cyyvPxia2rn1b9EG6TjBHfJWv1jcrCe/X12qmk0="},
    {"GET", resource::offer, "", millennium, "8J4wrKI7uPXjC0HWKuI4oRojljIIh1t5RS6D6z3iLdE="},
};

TEST_CASE("requests have the signatures that the service's own clients make") {
  auto const key = master_key::from(key_text);
  REQUIRE(key.has_value());
  for (auto const& [method, what, link, date, signature] : rows) {
    auto const text = text_to_sign(method, what, link, date);
    CHECK(key->authorization(text) ==
          percent_encoded("type=master&ver=1.0&sig=" + std::string{signature}));
  }
}

TEST_CASE("what is signed has its letters lowered, but for those of the link") {
  CHECK(text_to_sign("GET", resource::document, "dbs/Shop/colls/Reviews", april) ==
        "get\ndocs\ndbs/Shop/colls/Reviews\nthu, 27 apr 2017 00:51:12 gmt\n\n");
  CHECK(text_to_sign("get", resource::account, "", leap_day) ==
        "get\n\n\nthu, 29 feb 2024 23:59:59 gmt\n\n");
}

TEST_CASE("moments are written as HTTP has them, whatever the fraction of the second") {
  using namespace std::chrono;
  auto const at = [](int y, unsigned m, unsigned d, milliseconds of_day) {
    return wall_time{sys_days{year{y} / static_cast<int>(m) / static_cast<int>(d)} + of_day};
  };
  CHECK(http_date(at(2017, 4, 27, 51min + 12s)).view() == april);
  CHECK(http_date(at(2024, 2, 29, 24h - 1ms)).view() == leap_day);
  CHECK(http_date(at(2000, 1, 1, 0ms)).view() == millennium);
  CHECK(http_date(wall_time{}).view() == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(http_date(wall_time{-1ms}).view() == "Wed, 31 Dec 1969 23:59:59 GMT");
  CHECK(http_date(at(1, 1, 1, 0ms)).view() == "Mon, 01 Jan 0001 00:00:00 GMT");
  CHECK(http_date(at(9999, 12, 31, 24h - 1s)).view() == "Fri, 31 Dec 9999 23:59:59 GMT");
  CHECK(test::promise_broken_by([&] { return http_date(at(10'000, 1, 1, 0ms)); }) ==
        "a date of HTTP has a year of four digits");
}

TEST_CASE("text is percent-encoded but for what may stand everywhere") {
  CHECK(percent_encoded("azAZ09-_.~") == "azAZ09-_.~");
  CHECK(percent_encoded("a b/c?d#e%") == "a%20b%2Fc%3Fd%23e%25");
  CHECK(percent_encoded("\u00e9") == "%C3%A9");
  CHECK(percent_encoded(std::string_view{"\0", 1}) == "%00");
  CHECK(percent_decoded("a%20b%2fc%3F") == "a b/c?");
  CHECK(percent_decoded("").value().empty());
  for (std::string_view const bad : {"%", "a%2", "%2g", "%%20", "%-1"}) {
    auto const read = percent_decoded(bad);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::malformed);
    CHECK(read.error().position.offset == bad.find('%'));
  }
}

TEST_CASE("a request is authorized with its date, once, by whatever there is") {
  request what;
  what.headers.set("Authorization", "of before");
  credential const key = *master_key::from(key_text);
  auto const moment =
      wall_time{std::chrono::sys_days{std::chrono::year{2017} / 4 / 27} + 51min + 12s};
  authorize(what, key, resource::document, "dbs/volcanodb1/colls/Volcano1", moment);
  CHECK(what.headers.find("x-ms-date") == april);
  CHECK(what.headers.find("authorization") ==
        "type%3Dmaster%26ver%3D1.0%26sig%3DL6BEfjwGS5pmfEex5WszTT5wUdO%2FbsHJwlcwx0rqzMQ%3D");
  CHECK(what.headers.size() == 2);
  authorize(what, resource_token{"type=resource&ver=1&sig=a+b=;"}, resource::document, "", moment);
  CHECK(what.headers.find("authorization") == "type%3Dresource%26ver%3D1%26sig%3Da%2Bb%3D%3B");
  authorize(what, bearer_token{"ey.J.w"}, resource::document, "", moment);
  CHECK(what.headers.find("authorization") == "type%3Daad%26ver%3D1.0%26sig%3Dey.J.w");
  CHECK(what.headers.size() == 2);
}

TEST_CASE("another function may make the codes") {
  auto const own = [](std::span<unsigned char const> key, std::string_view text) {
    keyspan::cosmos::digest256 made{};
    made[0] = static_cast<unsigned char>(key.size());
    made[1] = static_cast<unsigned char>(text.size());
    return made;
  };
  request what;
  authorize(what, *master_key::from(key_text), resource::account, "", wall_time{}, own);
  CHECK(what.headers.find("authorization")->starts_with("type%3Dmaster%26ver%3D1.0%26sig%3DQC"));
}

TEST_CASE("what is no key is refused without showing any of it") {
  for (std::string_view const text : {"", "secret!", "c2VjcmV0IQ=", "c2Vjc mV0"}) {
    auto const refused = master_key::from(text);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == errc::malformed);
    CHECK(refused.error().text.view() ==
          "the master key of an account is a text in base64, and this one is not");
  }
}

TEST_CASE("every kind of resource has its name in paths") {
  std::map<std::string_view, int> names;
  for (int i = 0; i <= static_cast<int>(resource::offer); ++i)
    ++names[path_name_of(static_cast<resource>(i))];
  CHECK(names.size() == 12);
  CHECK(test::promise_broken_by([] { return path_name_of(static_cast<resource>(12)); }) ==
        "a resource is one of the enumerators");
}

TEST_CASE("the example of credential reads as it should") {
  // [region: example]
  namespace cosmos = keyspan::cosmos;
  auto const key = cosmos::master_key::from(key_text);  // from the environment, say
  check(key.has_value());

  keyspan::request what{.method = "GET", .target = "/dbs/shop/colls/reviews/docs/r-1"};
  auto const now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  cosmos::authorize(what, *key, cosmos::resource::document, "dbs/shop/colls/reviews/docs/r-1", now);
  check(what.headers.find("authorization")->starts_with("type%3Dmaster%26ver%3D1.0%26sig%3D"));
  // [end: example]
}

}  // namespace
