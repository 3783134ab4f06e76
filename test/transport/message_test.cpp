// test/transport/message_test.cpp — requests and responses as values, and headers by name.
#include <keyspan/transport/message.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::header_list;

TEST_CASE("a header is found whatever the case of its name") {
  header_list const headers{{"ETag", "\"7\""}, {"x-ms-request-charge", "2.5"}, {"etag", "\"8\""}};
  for (std::string_view const name : {"ETag", "etag", "ETAG"})
    CHECK(headers.find(name) == "\"7\"");  // the first one
  CHECK(headers.find("X-MS-Request-Charge") == "2.5");
  CHECK(headers.find("x-ms-request-charg") == std::nullopt);
  CHECK(headers.find("etags") == std::nullopt);
  header_list const letters{{"AZ-az", "1"}, {"[", "2"}, {"@", "3"}};
  CHECK(letters.find("az-AZ") == "1");
  CHECK(letters.find("{") == std::nullopt);  // as far from [ as a letter from its capital
  CHECK(letters.find("`") == std::nullopt);
  CHECK(headers.find("") == std::nullopt);
  CHECK(headers.find("\xC5TAG") == std::nullopt);
}

TEST_CASE("setting a header takes the place of all that it had") {
  header_list headers{{"Accept", "a"}, {"accept", "b"}, {"Host", "h"}};
  headers.set("ACCEPT", "c");
  CHECK(headers == header_list{{"Host", "h"}, {"ACCEPT", "c"}});
  headers.set("Host", *headers.find("ACCEPT"));  // a text of its own
  CHECK(headers == header_list{{"ACCEPT", "c"}, {"Host", "c"}});
}

TEST_CASE("adding a header keeps those that are there, and removing takes all") {
  header_list headers;
  CHECK(headers.empty());
  headers.add("Set-Cookie", "a");
  headers.add("set-cookie", "b");
  headers.add("Host", "h");
  std::vector<std::string> values;
  for (auto const& field : headers) values.push_back(field.value);
  CHECK(values == std::vector<std::string>{"a", "b", "h"});
  CHECK(headers.remove("SET-COOKIE") == 2);
  CHECK(headers.remove("SET-COOKIE") == 0);
  CHECK(headers.size() == 1);
}

template <class Headers>
concept looks_into_temporary =
    requires(Headers headers) { static_cast<Headers&&>(headers).find(""); };
static_assert(!looks_into_temporary<header_list>);

TEST_CASE("the example of messages reads as it should") {
  // [region: example]
  keyspan::request asked{.method = "POST",
                         .target = "/dbs/shop/colls/reviews/docs",
                         .headers = {{"content-type", "application/json"}},
                         .body = R"({"id":"r-1"})",
                         .kind = keyspan::request_kind::write};
  asked.headers.set("Content-Type", "text/json");

  keyspan::response const answer{.status = 201, .headers = {{"ETag", "\"7\""}}};
  std::string const etag{answer.headers.find("etag").value_or("")};
  // [end: example]
  CHECK(asked.headers.size() == 1);
  CHECK(etag == "\"7\"");
}

}  // namespace
